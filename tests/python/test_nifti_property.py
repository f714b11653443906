# SPDX-License-Identifier: BSD-3-Clause
"""Any NIfTI image, cut in any way: it comes back byte for byte, and every piece has its values and its place, by nibabel."""

import gzip

import nibabel as nib
import numpy as np
from hypothesis import strategies as st

from conftest import blocks_of, name_of, written
from nifti_support import MEMORY, TYPES, dtype_of, equal, position, read, values, write
from property_support import examples, reals as any_reals

ENDS = [".nii", ".nii", ".nii.gz", ".img", ".img.gz"]


def reals(lo, hi):
    return any_reals(lo, hi, width=32)


@st.composite
def fields(draw, axes, version):
    """Scalings, affines, units, slices, texts: what a header may say."""
    turn = np.array([draw(reals(-1, 1)) for _ in range(3)])
    turn /= max(1, np.linalg.norm(turn) * 1.000001)  # nearer to 1, nibabel's turn is another than that of the NIfTI library
    one = {"scl_slope": draw(st.sampled_from([0, 1, 2.5, -0.125, np.nan])), "scl_inter": draw(reals(-1000, 1000)),
           "pixdim": [draw(st.sampled_from([-1, 1])), *(draw(reals(0.01171875, 50)) for _ in range(7))],
           "qform_code": draw(st.integers(0, 5)), "sform_code": draw(st.integers(0, 5)), "quatern_b": turn[0], "quatern_c": turn[1],
           "quatern_d": turn[2], "toffset": draw(reals(-10, 10)), "xyzt_units": draw(st.sampled_from([0, 2, 10, 18])),
           "cal_max": draw(reals(0, 5)), "descrip": draw(st.binary(max_size=79)).replace(b"\0", b"x"),
           "dim_info": draw(st.integers(0, 63)), "slice_start": draw(st.integers(0, 5)), "slice_end": draw(st.integers(0, 12)),
           "slice_code": draw(st.integers(0, 6)), "intent_code": draw(st.sampled_from([0, 1001, 1002, 2001])),
           "extensions": draw(st.lists(st.tuples(st.sampled_from([0, 4, 6, 44]), st.binary(max_size=60)), max_size=3))}
    for k, name in enumerate("xyz"):
        one[f"qoffset_{name}"] = draw(reals(-500, 500))
        one[f"srow_{name}"] = [*(draw(reals(-5, 5)) for _ in range(3)), draw(reals(-500, 500))]
    return one


def check_places(whole, part, start, shape, rng):
    """Where a voxel is does not depend on the piece it is looked at in, for either form."""
    for form in ("get_qform", "get_sform"):
        a, code = getattr(whole, form)(coded=True)
        b, same_code = getattr(part, form)(coded=True)
        assert code == same_code
        for _ in range(3 if code else 0):
            local = [int(rng.integers(0, n)) for n in shape[:3]] + [0] * (3 - len(shape[:3]))
            outside = [i + s for i, s in zip(local, [*start[:3], 0, 0, 0])]
            scale = 1 + np.abs(a).max() * (1 + max(outside))
            assert np.allclose(position(b, local), position(a, outside), rtol=0, atol=3e-6 * scale), form


@examples(60)
def test_any_image_in_any_grid(run, folder, data):
    axes, version = data.draw(st.integers(1, 5)), data.draw(st.sampled_from([1, 2]))
    shape = tuple(data.draw(st.integers(1, 13 - 2 * axes)) for _ in range(axes))
    code = data.draw(st.sampled_from([c for c in TYPES if TYPES[c][0] != "V"]))
    order, end = data.draw(st.sampled_from("<>")), data.draw(st.sampled_from(ENDS))
    voxels = values(shape, dtype_of(code, order), seed=data.draw(st.integers(0, 99)))
    source = write(folder / "in.nii", voxels, version=version, order=order, **data.draw(fields(axes, version)))
    chunks = tuple(data.draw(st.integers(1, n)) for n in shape)
    pattern = "_".join(f"{{{d}}}" for d in range(axes)) + end
    run(source, "grid", "--chunks", written(chunks), "--pattern", pattern, *MEMORY)
    whole, rng = nib.load(source), np.random.default_rng(1)
    for index, start, block in blocks_of(voxels, chunks):
        part = folder / "grid" / name_of(pattern, index, start, shape)
        assert equal(read(part), block)
        image = nib.load(part)
        assert np.array_equal([image.dataobj.slope, image.dataobj.inter], [whole.dataobj.slope, whole.dataobj.inter])
        check_places(whole.header, image.header, start, block.shape, rng)
    run("grid", "back.nii", *MEMORY)
    assert (folder / "back.nii").read_bytes() == source.read_bytes()
    again = tuple(data.draw(st.integers(1, n)) for n in shape)
    run("grid", "other", "--chunks", written(again), "--pattern", pattern.removesuffix(end) + ".nii.gz", *MEMORY)
    run("other", "back.nii.gz", *MEMORY)
    assert gzip.decompress((folder / "back.nii.gz").read_bytes()) == source.read_bytes()
