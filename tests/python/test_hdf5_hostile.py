# SPDX-License-Identifier: BSD-3-Clause
"""Files that are broken, or meant to break something: exit code 0 or 1, one sentence, nothing left behind, no more memory than given.

Bytes of small files are changed, and files are cut anywhere. Over some of them libhdf5 crashes; resplit must not. What it says is good must be
what h5py reads of the same file, or, where h5py reads nothing, what the file had before. RESPLIT_FULL=1 for every byte.
"""

import os
import random
import re
import shutil

import h5py
import netCDF4
import numpy as np
import pytest
import zarr

from conftest import sample
from hdf5_support import MEMORY, oracle  # noqa: F401
from minc_support import IMAGE, plain, write
from recovery import FULL, SEED

OLD, NEW = ("earliest", "v108"), ("v110", "v110")
CODED = {"compression": "gzip", "shuffle": True, "fletcher32": True}


def make(folder, version, values=sample((12, 10), "<u2"), name="in.h5", alone=False, **options):
    with h5py.File(folder / name, "w", libver=version) as f:
        f.create_dataset("data", data=values, fillvalue=3, **options)
        f["data"].attrs["text"] = "of some length"
        f["data"].attrs["fixed"] = np.bytes_(b"of this one")
        if not alone:
            f["group/other"] = np.arange(5)
    return name, "data"


def make_attributes(folder):
    """Strings and lists of any length, objects of several kinds, many attributes in a table of their own."""
    make(folder, NEW)
    with h5py.File(folder / "in.h5", "a", libver=NEW) as f:
        d = f["data"]
        d.attrs["list"] = np.array(["a", "bc", "def"], dtype=h5py.string_dtype())
        d.attrs["ragged"] = np.array([np.arange(3), np.arange(2)], dtype=object).astype(h5py.vlen_dtype("i4"))
        d.attrs["record"] = np.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8")])
        for i in range(12):
            d.attrs[f"number {i}"] = i
        f["group"].attrs["text"] = "of a group"
        f["strings"] = np.array(["x", "yy", "zzz"], dtype=h5py.string_dtype())
        f["type"] = np.dtype("<i4")
        f["soft"] = h5py.SoftLink("/data")
        f["away"] = h5py.ExternalLink("other.h5", "/there")
    return "in.h5", "data"


def make_scales(folder):
    make(folder, OLD)
    with h5py.File(folder / "in.h5", "a", libver=OLD) as f:
        for d, n in enumerate(f["data"].shape):
            f[f"axis {d}"] = np.arange(n, dtype="f4")
            f[f"axis {d}"].make_scale(f"of {d}")
            f["data"].dims[d].attach_scale(f[f"axis {d}"])
        f["data"].attrs["to"] = f["group"].ref
    return "in.h5", "data"


def make_virtual(folder, damaged="in.h5"):
    values = sample((12, 10), "<u2")
    layout = h5py.VirtualLayout(shape=values.shape, dtype=values.dtype)
    for i in range(2):
        make(folder, NEW if i else OLD, values[6 * i:6 * i + 6], f"part{i}.h5", chunks=(4, 4), **(CODED if i else {}))
        layout[6 * i:6 * i + 6] = h5py.VirtualSource(f"part{i}.h5", "data", shape=(6, 10))
    with h5py.File(folder / "in.h5", "w", libver=NEW) as f:
        f.create_virtual_dataset("data", layout, fillvalue=7)
    return damaged, "data"


def make_external(folder):
    values = sample((12, 10), "<u2")
    (folder / "a.raw").write_bytes(values.tobytes()[:100])
    (folder / "b.raw").write_bytes(b"head" + values.tobytes()[100:])
    with h5py.File(folder / "in.h5", "w", libver=OLD) as f:
        f.create_dataset("data", shape=values.shape, dtype=values.dtype, external=[("a.raw", 0, 100), ("b.raw", 4, 140)])
    return "in.h5", "data"


def make_minc(folder):
    write(folder / "in.mnc", sample((2, 3, 4), "<i2"), plain((2, 3, 4)), [1.0, 2.0], [4.0, 5.0], ["zspace"])
    return "in.mnc", IMAGE


def make_netcdf(folder):
    values = sample((5, 6), "<i2")
    with netCDF4.Dataset(folder / "in.nc", "w") as f:
        f.createDimension("t", None)
        f.createDimension("x", 6)
        f.createVariable("x", "f4", ("x",))[:] = np.arange(6)
        one = f.createVariable("data", "i2", ("t", "x"), zlib=True, chunksizes=(2, 4), fill_value=-9)
        one.set_auto_maskandscale(False)
        one.units = "of text"
        one[:] = values
    return "in.nc", "data"


def make_grid(folder, **options):
    """One of four files is damaged."""
    values = sample((6, 10), "<u2")
    (folder / "grid").mkdir()
    for i in range(4):
        make(folder / "grid", OLD, values[i:i + 2, 5 * (i % 2):][:, :5], f"{i // 2}_{i % 2}.h5", alone=True, **options)
    return "grid/1_0.h5", "data"


# How a file is made, which returns its name, and that of the dataset; what is opened, where that is not the same.
KINDS = {
    "old contiguous": lambda f: make(f, OLD),
    "old chunked": lambda f: make(f, OLD, chunks=(5, 4), maxshape=(None, 10)),
    "old coded": lambda f: make(f, OLD, chunks=(5, 4), **CODED),
    "new contiguous": lambda f: make(f, NEW),
    "new single": lambda f: make(f, NEW, chunks=(12, 10)),
    "new fixed": lambda f: make(f, NEW, chunks=(5, 4)),
    "new fixed coded": lambda f: make(f, NEW, chunks=(5, 4), **CODED),
    "new extensible": lambda f: make(f, NEW, chunks=(5, 4), maxshape=(None, 10), **CODED),
    "new tree": lambda f: make(f, NEW, chunks=(5, 4), maxshape=(None, None)),
    "scaleoffset": lambda f: make(f, OLD, chunks=(5, 4), scaleoffset=0),
    "attributes": make_attributes,
    "scales": make_scales,
    "virtual": make_virtual,
    "part of a virtual": lambda f: make_virtual(f, "part0.h5"),
    "other part of a virtual": lambda f: make_virtual(f, "part1.h5"),
    "external": make_external,
    "minc": make_minc,
    "netcdf": make_netcdf,
    "grid": make_grid,
    "grid in chunks": lambda f: make_grid(f, chunks=(1, 5)),
    "grid in coded chunks": lambda f: make_grid(f, chunks=(2, 5), **CODED),
}
OPENED = {"part of a virtual": "in.h5:/data", "other part of a virtual": "in.h5:/data", "minc": "in.mnc",
          **{kind: "grid" for kind in KINDS if kind.startswith("grid")}}
TARGETS = ["out.npy", "out.h5", "out.zarr"]


def blames_libhdf5(report):
    """Of the sanitizers: the first frame that is not theirs."""
    frames = re.findall(r"#\d+ 0x\w+ (.*)", report)
    own = [f for f in frames if "libasan" not in f and "sanitizer" not in f and "interceptor" not in f]
    return bool(own) and "libhdf5" in own[0]


def check_said(done, context):
    """However it ends, it ends well."""
    said = done.stderr
    if "RESPLIT_SANITIZED" in os.environ and "AddressSanitizer" in said:
        assert blames_libhdf5(said), (*context, said)
        said = said[said.rfind("resplit: "):]
    assert done.returncode in (0, 1), (*context, done.returncode, said)
    lines = said.strip().splitlines()
    assert done.returncode == 0 or (len(lines) == 1 and lines[0].startswith("resplit: ")), (*context, said)


def is_plain(key):
    """References are numbers of one file, and h5py shows them as objects of no value."""
    return key not in ("DIMENSION_LIST", "REFERENCE_LIST")


def load(path):
    """An array that is not HDF5, as the oracle tells of one that is."""
    try:
        array = np.load(path) if path.suffix == ".npy" else zarr.open(path)[...]
    except Exception as why:
        return {"why": str(why)}
    return {"shape": array.shape, "values": array.tobytes()}


def chunks_of(path, name):
    """Where the bytes of chunks are: what filters make of those that are damaged is theirs to say, and they say less in some versions."""
    with h5py.File(path) as f:
        d = f[name]
        if d.chunks is None:
            return set()
        places = [d.id.get_chunk_info(i) for i in range(d.id.get_num_chunks())]
    return {at for p in places for at in range(p.byte_offset, p.byte_offset + p.size)}


class Hostile:
    """A file that is made once and damaged again and again."""

    def __init__(self, run, folder, kind, oracle):
        self.run, self.folder, self.oracle, self.kind = run, folder, oracle, kind
        self.damaged, self.dataset = KINDS[kind](folder)
        self.opened = OPENED.get(kind, f"{self.damaged}:/{self.dataset}")
        self.path = folder / self.damaged
        self.good = self.path.read_bytes()
        self.names = {p.name for p in folder.iterdir()}
        self.whole = self.opened.partition(":")[0] # what h5py reads, unless it is a folder
        self.before = self.read()
        self.filtered = chunks_of(self.path, self.dataset) if kind == "scaleoffset" else set()

    def read(self):
        """What h5py says of it, as it is now."""
        if self.opened != "grid":
            return self.oracle(self.folder / self.whole, self.dataset)
        found = [self.oracle(self.folder / "grid" / f"{i}_{j}.h5", "data") for i, j in ((0, 0), (0, 1), (1, 0), (1, 1))]
        if any("why" in f or f["shape"] != (2, 5) for f in found):
            return {"why": "one of them"}
        a, b, c, d = (np.frombuffer(f["values"], f["dtype"]).reshape(f["shape"]) for f in found)
        return {**found[0], "shape": (4, 10), "values": np.block([[a, b], [c, d]]).tobytes(), "attrs": {}}

    def check(self, bad, target, *context):
        context = (self.kind, target, *context)
        self.path.write_bytes(bad)
        out = self.folder / target
        done = self.run.anyhow(self.opened, target, *MEMORY, errors="replace")
        check_said(done, context)
        assert done.returncode == 0 or not out.exists(), context
        if done.returncode == 0:
            if not (len(context) > 2 and context[2] in self.filtered):
                self.compare(out, context)
            shutil.rmtree(out) if out.is_dir() else out.unlink()
        if "--resume" in done.stderr: # it was at work when it found the damage
            shutil.rmtree(self.folder / f"{target}.resplit-part")
        left = {p.name for p in self.folder.iterdir()} - self.names
        assert not left, (*context, left)
        return done.returncode

    def compare(self, out, context):
        """What is written is what h5py reads of the damaged file. Blocks that are copied as they are stored are damaged there, too."""
        there = self.read()
        got = self.oracle(out, self.dataset) if out.suffix == ".h5" else load(out)
        if "why" in got:
            assert "why" in there, (*context, got)
            return
        wanted = self.before if "why" in there else there
        assert (got["shape"], got["values"]) == (wanted["shape"], wanted["values"]), (*context, there.get("why"), got["shape"])
        for key, value in there["attrs"].items() if "attrs" in got and "attrs" in there else ():
            assert not is_plain(key) or value is None or got["attrs"].get(key) == value, (*context, key, value, got["attrs"].get(key))


@pytest.fixture
def hostile(run, tmp_path, oracle):  # noqa: F811
    folder = tmp_path / "here"
    folder.mkdir()
    run.folder = folder
    return lambda kind: Hostile(run, folder, kind, oracle)


@pytest.fixture(autouse=True)
def leaks_of_the_library(run, tmp_path_factory):
    """libhdf5 loses some memory over object headers that are damaged; the sanitizers are to tell of ours."""
    path = tmp_path_factory.mktemp("leaks") / "suppressions"
    path.write_text("leak:libhdf5\n")
    run.env["LSAN_OPTIONS"] = f"suppressions={path}:print_suppressions=0"
    yield
    del run.env["LSAN_OPTIONS"]


@pytest.mark.timeout(7200 if FULL else 300)
@pytest.mark.parametrize("kind", KINDS)
def test_bytes_that_are_changed(hostile, kind):
    one = hostile(kind)
    assert [one.check(one.good, target) for target in TARGETS] == [0] * len(TARGETS)
    rnd = random.Random(f"{SEED} {kind}")
    places = range(len(one.good)) if FULL else sorted(rnd.sample(range(len(one.good)), 80))
    codes = []
    for i, at in enumerate(places):
        bad = bytearray(one.good)
        bad[at] = rnd.choice([0, 1, 0x7f, 0x80, 0xff, bad[at] ^ (1 << rnd.randrange(8))])
        for target in TARGETS if FULL else [TARGETS[i % len(TARGETS)]]:
            codes.append(one.check(bad, target, at, bad[at]))
    print(f"{kind}: {codes.count(1)} of {len(codes)} refused")
    assert 0 in codes


@pytest.mark.parametrize("kind", ["old contiguous", "old chunked", "new extensible", "attributes", "minc", "netcdf"])
def test_files_that_are_cut(hostile, kind):
    one = hostile(kind)
    n = len(one.good)
    rnd = random.Random(f"{SEED} {kind} cut")
    for k in sorted({*range(0, n, 7)}) if FULL else [0, 7, 8, 95, *rnd.sample(range(n), 8), n - 1]:
        assert one.check(one.good[:k], "out.h5" if k % 2 else "out.npy", k) == 1, k
    for k in (n // 2, n - 1):
        one.path.write_bytes(one.good[:k])
        assert f"'{one.damaged}' is truncated: it has {k} bytes, and says that it has {n}" in one.run.error("info", one.opened)


def test_chunks_that_are_damaged(run, tmp_path):
    make(tmp_path, OLD, chunks=(5, 4), **CODED)
    with h5py.File(tmp_path / "in.h5") as f:
        chunk = f["data"].id.get_chunk_info(2)
    good = (tmp_path / "in.h5").read_bytes()
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
