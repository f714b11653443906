# SPDX-License-Identifier: BSD-3-Clause
"""A volume in the shape of BigBrain's, 770 x 605 x 700 of uint16 in 125 blocks, merged and split again inside a budget of 64 MiB.

A fifth of each length, and a fifth of the budget's power, by default; the real one with RESPLIT_FULL=1.
"""

import os

import nibabel as nib
import numpy as np
import pytest

from nifti_support import FULL, header
from test_memory import ALLOWED, MiB, peak_rss

SHAPE, BLOCK, BUDGET = ((770, 605, 700), (154, 121, 140), 64) if FULL else ((310, 242, 280), (62, 49, 56), 4)
SPACE = {"qform_code": 1, "sform_code": 1, "pixdim": [1, 0.2, 0.2, 0.2, 1, 1, 1, 1], "qoffset_x": -72, "qoffset_y": -73.5,
         "qoffset_z": -58, "srow_x": [0.2, 0, 0, -72], "srow_y": [0, 0.2, 0, -73.5], "srow_z": [0, 0, 0.2, -58], "xyzt_units": 2}

pytestmark = pytest.mark.skipif("RESPLIT_SANITIZED" in os.environ, reason="sanitizers use memory of their own")


def make(path):
    """Slices that differ, without holding the volume."""
    with open(path, "wb") as file:
        file.write(header(SHAPE, "<u2", **SPACE))
        x, y = np.indices(SHAPE[:2], dtype="<u2")
        for z in range(SHAPE[2]):
            file.write((x * 7 + y * 13 + z * 31).astype("<u2").tobytes("F"))


@pytest.mark.timeout(3600 if FULL else 300)
@pytest.mark.parametrize("end", [".nii", ".nii.gz"])
def test_bigbrain(run, tmp_path, resplit_path, environment, end):
    make(tmp_path / "in.nii")
    memory = ["--memory", f"{BUDGET}MiB", "--quiet"]
    cut = ["--chunks", ",".join(map(str, BLOCK))]
    pattern = ["--pattern", "brain_{0}_{1}_{2}" + end] + (["--codec", "gzip:1"] if end == ".nii.gz" else [])
    # in blocks, merged, split again, merged from that
    steps = [["in.nii", "a", *cut, *pattern], ["merge", "a", "b" + end], ["b" + end, "c", *cut, *pattern], ["merge", "c", "d.nii"],
             ["a", "e", "--chunks", ",".join(str(n // 3 + 1) for n in SHAPE), *pattern]]
    for step in steps:
        used = peak_rss(resplit_path, [*step, *memory], tmp_path, environment)
        print(f"{step[:2]}: {used / MiB:.1f} MiB resident")
        assert used <= BUDGET * MiB + ALLOWED, step
    assert len(list((tmp_path / "a").glob(f"*{end}"))) == 125
    with open(tmp_path / "in.nii", "rb") as one, open(tmp_path / "d.nii", "rb") as two:
        while True:
            part = one.read(1 << 22)
            assert two.read(1 << 22) == part
            if not part:
                break
    last = nib.load(tmp_path / "c" / f"brain_4_4_4{end}")
    start = [n * 4 for n in BLOCK]
    assert np.allclose(last.affine[:3, 3], np.array([-72, -73.5, -58]) + 0.2 * np.array(start), atol=1e-4)
    assert np.asarray(last.dataobj)[1, 2, 3] == (start[0] * 7 + 7 + start[1] * 13 + 26 + start[2] * 31 + 93) % 65536
