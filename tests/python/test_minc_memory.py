# SPDX-License-Identifier: BSD-3-Clause
"""One memory number, truly held, for MINC images: a volume many times the budget, split, cut anew, merged and packed; libhdf5 and all.

A budget of 8 MiB by default, six of which libhdf5 has, a volume of BigBrain's shape in 64 MiB with RESPLIT_FULL=1.
"""

import os

import h5py
import numpy as np
import pytest

from minc_support import FULL, IMAGE, load, plain, stored, write
from test_memory import ALLOWED, MiB, peak_rss

SHAPE, BLOCK, BUDGET = ((770, 605, 700), (154, 121, 140), 64) if FULL else ((310, 242, 280), (62, 49, 56), 8)

pytestmark = pytest.mark.skipif("RESPLIT_SANITIZED" in os.environ, reason="sanitizers use memory of their own")


def make(path, **storage):
    """Slices that differ, scaled one by one, without holding the volume."""
    lows = np.arange(SHAPE[0]) / 8
    write(path, np.zeros((1, 1, 1), "<u2"), plain(SHAPE), lows, lows + 3, ("zspace",), (0, 65535))
    with h5py.File(path, "r+") as f:
        old = dict(f[IMAGE].attrs)
        del f[IMAGE]
        image = f.create_dataset(IMAGE, shape=SHAPE, dtype="<u2", **storage)
        for key, value in old.items():
            image.attrs[key] = np.bytes_(value) if isinstance(value, bytes) else value
        y, x = np.indices(SHAPE[1:], dtype="<u2")
        for z in range(SHAPE[0]):
            image[z] = x * 7 + y * 13 + z * 31


def voxels(start, shape):
    z, y, x = np.ogrid[tuple(slice(s, s + n) for s, n in zip(start, shape))]
    return (x * 7 + y * 13 + z * 31).astype("<u2")


@pytest.mark.timeout(3600 if FULL else 300)
@pytest.mark.parametrize("storage", [{}, {"chunks": (16, 32, 64), "compression": "gzip", "compression_opts": 1}], ids=["plain", "packed"])
def test_resident_memory_is_the_budget(run, tmp_path, resplit_path, environment, storage):
    make(tmp_path / "in.mnc", **storage)
    assert np.prod(SHAPE) * 2 > 5 * BUDGET * MiB
    memory = ["--memory", f"{BUDGET}MiB", "--quiet"]
    cut = ["--chunks", ",".join(map(str, BLOCK))]
    other = ["--chunks", ",".join(str(n // 3 + 1) for n in SHAPE)]
    steps = [["in.mnc", "a", *cut], ["merge", "a", "b.mnc"], ["a", "c", *other], ["a", "d.mnc", "--chunks", "16,48,64", "--codec", "zlib:1"],
             ["verify", "d.mnc", "c"], ["d.mnc", "e.ome.zarr", "--chunks", "32,32,32"]]
    for step in steps:
        used = peak_rss(resplit_path, [*step, *memory], tmp_path, environment)
        print(f"{step[:2]}: {used / MiB:.1f} MiB resident")
        assert used <= BUDGET * MiB + ALLOWED, step
    with h5py.File(tmp_path / "b.mnc") as f:
        for z in range(0, SHAPE[0], 37):
            assert np.array_equal(f[IMAGE][z:z + 1], voxels((z, 0, 0), (1, *SHAPE[1:])))
    start = [n * 3 for n in BLOCK]
    piece = tmp_path / "a" / "3_3_3.mnc"
    assert np.array_equal(stored(piece), voxels(start, BLOCK))
    assert np.allclose(load(piece).affine[:, 3], load(tmp_path / "in.mnc").affine @ [*start, 1])
