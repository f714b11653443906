# SPDX-License-Identifier: BSD-3-Clause
"""Runs on MINC images that are killed and go on: one file and grids of them, chunked and compressed or not. 4 kills of each, 40 with RESPLIT_FULL=1."""

import random
import subprocess
import time

import numpy as np
import pytest

from conftest import blocks_of, name_of
from minc_support import FULL, load, objects, plain, same_stored, stored, table, write
from recovery import SEED

SHAPE, BLOCK = (170, 200, 180), (40, 70, 60)
PATTERN = "{0}_{1}_{2}.mnc"
CUT = ("--chunks", ",".join(map(str, BLOCK)))
CASES = {
    "split": ("in.mnc", "out", CUT),
    "unpacked": ("packed.mnc", "out", CUT),
    "merged": ("grid", "out.mnc", ()),
    "packed": ("grid", "out.mnc", ("--chunks", "32,48,64", "--codec", "shuffle+zlib:4")),
}


@pytest.fixture(scope="module")
def source(tmp_path_factory, resplit_path, environment):
    folder = tmp_path_factory.mktemp("source")
    rng = np.random.default_rng(1)
    data, lows = rng.integers(0, 64, SHAPE).astype("<i2"), rng.normal(size=SHAPE[0])
    for name, storage in (("in", {}), ("packed", {"chunks": (30, 40, 50), "compression": "gzip", "compression_opts": 1})):
        write(folder / f"{name}.mnc", data, plain(SHAPE), lows, lows + 2, ("zspace",), (0, 63), **storage)
    subprocess.run([str(resplit_path), "in.mnc", "grid", *CUT, "--quiet"], cwd=folder, env=environment, check=True)
    return folder, data


def check(place, data, whole):
    """All of it is there, and nothing else, by h5py; where its voxels are and what they mean, by nibabel."""
    if place.name == "out.mnc":
        assert same_stored(stored(place), data) and objects(place) == objects(whole)
        assert np.array_equal(load(place).affine, load(whole).affine) and {p.name for p in place.parent.iterdir()} == {"out.mnc"}
        return
    assert {p.name for p in place.parent.iterdir()} == {"out"}
    names, affine, tables = {"resplit.json"}, load(whole).affine, [table(whole, n) for n in ("image-min", "image-max")]
    for index, start, block in blocks_of(data, BLOCK):
        name = name_of(PATTERN, index, start, SHAPE)
        names.add(name)
        assert same_stored(stored(place / name), block), name
        assert np.allclose(load(place / name).affine[:, 3], affine @ [*start, 1], rtol=1e-12)
        for key, values in zip(("image-min", "image-max"), tables):
            assert np.array_equal(table(place / name, key), values[start[0]:start[0] + len(block)])
    assert {p.name for p in place.iterdir()} == names


def kill_on_the_way(command, folder, env, journal, wait):
    """Kills a run some time after its first block may have been written. Whether it left something to go on with."""
    child = subprocess.Popen(command, cwd=folder, env=env, stderr=subprocess.DEVNULL)
    while child.poll() is None and not journal.exists():
        time.sleep(0.0005)
    time.sleep(wait)
    child.kill()
    child.wait()
    return journal.exists()


@pytest.mark.timeout(3600 if FULL else 300)
@pytest.mark.parametrize("case", CASES)
def test_killed_runs_go_on(run, tmp_path, source, case):
    folder, data = source
    name, place, more = CASES[case]
    rnd = random.Random(f"{SEED} {case}")
    command = [str(run.path), str(folder / name), place, *more, "--memory", "8MiB", "--quiet"]
    start = time.monotonic()
    run(*command[1:])
    whole, n_left = time.monotonic() - start, 0
    check(tmp_path / place, data, folder / "in.mnc")
    for attempt in range(60 if FULL else 30):
        if n_left >= (40 if FULL else 4):
            break
        for path in sorted(tmp_path.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        for again in range(2):
            left = kill_on_the_way(command + ["--resume"] * again, tmp_path, run.env, tmp_path / f"{place}.resplit-part" / "journal",
                                   rnd.uniform(0, 0.5) * whole)
        n_left += left
        done = run.anyhow(*command[1:], "--resume")
        assert done.returncode == 0 or "is there already" in done.stderr, done.stderr
        check(tmp_path / place, data, folder / "in.mnc")
    assert n_left > 0, "no kill came in time"
