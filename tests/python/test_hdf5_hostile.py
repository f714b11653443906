# SPDX-License-Identifier: BSD-3-Clause
"""Files that are broken, or meant to break something: exit code 0 or 1, one sentence, nothing left behind, no more memory than given.

Bytes of small files are changed, and files are cut anywhere. RESPLIT_FULL=1 for every byte: then libhdf5 itself is among what crashes,
since 1.10 does so over some damaged fill values, global heaps and messages of objects; that is counted, and has to stay rare.
"""

import os
import random

import h5py
import numpy as np
import pytest

from conftest import sample
from hdf5_support import MEMORY
from recovery import FULL, SEED


def make(path, kind):
    values = sample((12, 10), "<u2")
    version = ("v110", "v110") if kind.startswith("new") else ("earliest", "v108")
    with h5py.File(path, "w", libver=version) as f:
        more = {"compression": "gzip", "shuffle": True, "fletcher32": True} if kind.endswith("coded") else {}
        chunks = None if kind.endswith("contiguous") else (5, 4)
        f.create_dataset("data", data=values, chunks=chunks, maxshape=(None, 10) if chunks else None, fillvalue=3, **more)
        f["data"].attrs["text"] = "of some length"
        f["group/other"] = np.arange(5)
    return values


def check(run, name, *context):
    """However it ends, it ends well."""
    out = run.folder / "out.npy"
    out.unlink(missing_ok=True)
    done = run.anyhow(f"{name}:/data", out, *MEMORY)
    if FULL and done.returncode < 0:
        return done.returncode
    assert done.returncode in (0, 1), (*context, done.returncode, done.stderr)
    lines = done.stderr.strip().splitlines()
    assert done.returncode == 0 or (len(lines) == 1 and lines[0].startswith("resplit: ")), (*context, done.stderr)
    assert done.returncode == 0 or not out.exists()
    left = [p.name for p in run.folder.iterdir() if p.name not in (name, "out.npy", "good.h5")]
    assert not left, (*context, left)
    return done.returncode


@pytest.fixture(autouse=True)
def leaks_of_the_library(run, tmp_path_factory):
    """libhdf5 loses some memory over object headers that are damaged; the sanitizers are to tell of ours."""
    path = tmp_path_factory.mktemp("leaks") / "suppressions"
    path.write_text("leak:libhdf5\n")
    run.env["LSAN_OPTIONS"] = f"suppressions={path}:print_suppressions=0"
    yield
    del run.env["LSAN_OPTIONS"]


KINDS = ["old contiguous", "old chunked", "old coded", "new chunked", "new coded"]


@pytest.mark.timeout(3600 if FULL else 300)
@pytest.mark.parametrize("kind", KINDS)
def test_bytes_that_are_changed(run, tmp_path, kind):
    make(tmp_path / "good.h5", kind)
    good = (tmp_path / "good.h5").read_bytes()
    rnd = random.Random(f"{SEED} {kind}")
    places = range(len(good)) if FULL else sorted(rnd.sample(range(len(good)), 60))
    n_refused = n_crashed = 0
    for at in places:
        bad = bytearray(good)
        bad[at] = rnd.choice([0, 1, 0x7f, 0x80, 0xff, good[at] ^ (1 << rnd.randrange(8))])
        (tmp_path / "bad.h5").write_bytes(bad)
        code = check(run, "bad.h5", kind, at, bad[at])
        n_refused += code == 1
        n_crashed += code < 0
    print(f"{kind}: {n_refused} of {len(places)} refused, over {n_crashed} the library crashed")
    assert n_crashed <= len(places) // 200


@pytest.mark.parametrize("kind", KINDS)
def test_files_that_are_cut(run, tmp_path, kind):
    make(tmp_path / "good.h5", kind)
    good = (tmp_path / "good.h5").read_bytes()
    rnd = random.Random(f"{SEED} {kind} cut")
    for n in (sorted({*range(0, len(good), 7)}) if FULL else [0, 7, 8, 95, *rnd.sample(range(len(good)), 8), len(good) - 1]):
        (tmp_path / "bad.h5").write_bytes(good[:n])
        assert check(run, "bad.h5", kind, n) == 1, n


def test_chunks_that_are_damaged(run, tmp_path):
    make(tmp_path / "good.h5", "old coded")
    with h5py.File(tmp_path / "good.h5") as f:
        chunk = f["data"].id.get_chunk_info(2)
    good = (tmp_path / "good.h5").read_bytes()
    for at in range(chunk.byte_offset, chunk.byte_offset + chunk.size, 3):
        (tmp_path / "bad.h5").write_bytes(good[:at] + bytes([good[at] ^ 0x55]) + good[at + 1:])
        said = run.error("bad.h5:/data", "out.npy", *MEMORY)
        assert "block " in said and "fletcher32" in said


@pytest.mark.skipif("RESPLIT_SANITIZED" in os.environ, reason="sanitizers use memory of their own")
def test_sizes_that_are_absurd_cost_no_memory(run, tmp_path, resplit_path):
    """A shape, or a chunk, of which a header says that it is huge."""
    with h5py.File(tmp_path / "in.h5", "w") as f:
        f.create_dataset("grid", shape=(1 << 40, 1 << 20), dtype="u1", chunks=(1, 1))
        f.create_dataset("chunk", shape=(1 << 30,), dtype="u1", chunks=((1 << 30) - 1,), maxshape=(None,))
        f.create_dataset("sparse", shape=(1 << 30, 1 << 10), dtype="f8")
    said = run.error("info", "in.h5:/grid")
    assert "chunks" in said and "at most" in said
    assert run.json("info", "in.h5:/chunk")["n_missing"] == 2
    assert "needs" in run.error("in.h5:/sparse", "out.npy", "--memory", "8MiB", "--quiet")
