# SPDX-License-Identifier: BSD-3-Clause
"""Runs on compressed NIfTI images that are killed and go on: unpacking, moving, packing. 4 kills of each, 40 with RESPLIT_FULL=1."""

import gzip
import random
import subprocess
import time

import numpy as np
import pytest

from nifti_support import FULL, check_grid, write
from recovery import SEED

SHAPE = (256, 160, 150)
CASES = {
    "packed": ("in.nii.gz", "out.nii.gz", ("--codec", "gzip:6")),
    "copied": ("in.nii.gz", "out.nii.gz", ()),
    "grid": ("in.nii.gz", "out", ("--chunks", "100,70,60", "--pattern", "{0}_{1}_{2}.nii")),
    "packed_grid": ("in.nii", "out", ("--chunks", "100,70,60", "--codec", "gzip:6")),
    "pair": ("in.nii.gz", "out.hdr", ()),
}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("source")
    data = np.random.default_rng(1).integers(0, 64, SHAPE).astype("<i2")
    write(folder / "in.nii", data, qform_code=1)
    (folder / "in.nii.gz").write_bytes(gzip.compress((folder / "in.nii").read_bytes(), 1))
    return folder, data


def check(folder, place, data, plain):
    names = {p.name for p in folder.iterdir()}
    if place == "out":
        ends = {p.name.partition(".")[2] for p in (folder / "out").iterdir()} - {"json"}
        check_grid(folder / "out", data, (100, 70, 60), "{0}_{1}_{2}." + ends.pop())
        assert names == {"out"}
    elif place == "out.hdr":
        assert (folder / "out.img").read_bytes() == data.tobytes("F") and names == {"out.img", "out.hdr"}
    else:
        assert gzip.decompress((folder / place).read_bytes()) == plain and names == {place}


@pytest.mark.timeout(3600 if FULL else 300)
@pytest.mark.parametrize("case", CASES)
def test_killed_runs_go_on(run, tmp_path, source, case):
    folder, data = source
    name, place, more = CASES[case]
    rnd = random.Random(f"{SEED} {case}")
    command = [str(run.path), str(folder / name), place, *more, "--memory", "6MiB", "--quiet"]
    start = time.monotonic()
    run(*command[1:])
    whole, plain = time.monotonic() - start, (folder / "in.nii").read_bytes()
    check(tmp_path, place, data, plain)
    for _ in range(40 if FULL else 4):
        for path in sorted(tmp_path.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        for again in range(2):
            child = subprocess.Popen(command + ["--resume"] * again, cwd=tmp_path, env=run.env, stderr=subprocess.DEVNULL)
            time.sleep(rnd.uniform(0.02, 1) * whole)
            child.kill()
            child.wait()
        done = run.anyhow(*command[1:], "--resume")
        assert done.returncode == 0 or "is there already" in done.stderr, done.stderr
        check(tmp_path, place, data, plain)
