# SPDX-License-Identifier: BSD-3-Clause
"""MINC files that are broken, as one image and as one of a grid: exit code 0 or 1, one sentence. RESPLIT_FULL=1 for many more of them."""

import random

import pytest

from conftest import sample
from minc_support import FULL, MEMORY, plain, write
from recovery import SEED
from test_hdf5_hostile import check_said, leaks_of_the_library  # noqa: F401

SHAPE = (2, 3, 4)


def check(run, source, *context):
    done = run.anyhow(source, "out", "--chunks", "1,2,4", "--overwrite", *MEMORY, errors="replace")
    check_said(done, context)
    return done.returncode


@pytest.mark.timeout(3600 if FULL else 300)
@pytest.mark.parametrize("source", ["in.mnc", "grid"])
@pytest.mark.parametrize("how", ["changed", "cut"])
def test_bytes_that_are_changed_or_missing(run, tmp_path, how, source):
    write(tmp_path / "in.mnc", sample(SHAPE, "<i2"), plain(SHAPE), [1.0, 2.0], [4.0, 5.0], ["zspace"])
    if source == "grid":
        run("in.mnc", "grid", "--chunks", "1,3,2", *MEMORY)
    path = tmp_path / ("in.mnc" if source == "in.mnc" else "grid/1_0_1.mnc")
    good = path.read_bytes()
    rng, codes = random.Random(f"{SEED} {how} {source}"), []
    for _ in range(6000 if FULL else 100):
        bad, at = bytearray(good), rng.randrange(len(good))
        if how == "cut":
            bad = bad[:at]
        else:
            bad[at] = rng.choice([0, 1, 0x7f, 0xff, bad[at] ^ 1 << rng.randrange(8)])
        path.write_bytes(bad)
        codes.append(check(run, source, how, at))
    print(f"{source}, {how}: {codes.count(1)} of {len(codes)} refused")
    assert 1 in codes and (how == "cut" or 0 in codes)
