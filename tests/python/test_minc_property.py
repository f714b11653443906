# SPDX-License-Identifier: BSD-3-Clause
"""Any MINC image, cut in any way: it comes back with the same stored values, attributes and places, and every piece has its values and
its place, by h5py, by nibabel and by libminc's own tools."""

import numpy as np
from hypothesis import strategies as st

from conftest import blocks_of, name_of, sample, written
from minc_support import MEMORY, TYPES, Axis, load, objects, real_values, same_stored, stored, table, world, write
from property_support import examples, reals

SPACES = ["xspace", "yspace", "zspace"]


@st.composite
def turns(draw):
    """Direction cosines of three axes: a rotation, which may be a reflection, too."""
    rng = np.random.default_rng(draw(st.integers(0, 9999)))
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return dict(zip(SPACES, q.T if draw(st.booleans()) else np.eye(3)))


@st.composite
def image_axes(draw):
    """Three axes in space in any order, maybe one of time, which may be irregular, maybe vectors."""
    names = draw(st.permutations(SPACES))
    time, vector = draw(st.sampled_from(["none", "regular", "irregular"])), draw(st.booleans())
    turn, most = draw(turns()), 8 if time == "none" else 5
    axes = [Axis(n, draw(st.integers(1, most)), draw(reals(-300, 300)),
                 draw(reals(0.01, 10)) * draw(st.sampled_from([-1, 1])), turn[n]) for n in names]
    if time != "none":
        k = draw(st.integers(1, 4))
        offsets = np.cumsum([draw(reals(0.1, 9)) for _ in range(k)]) if time == "irregular" else None
        axes.insert(draw(st.integers(0, 1)), Axis("time", k, draw(reals(0, 9)) if offsets is None else offsets[0], draw(reals(0.1, 3)),
                                                  offsets=offsets, widths=offsets))
    return axes + ([Axis("vector_dimension", draw(st.integers(1, 3)))] if vector else [])


def check_piece(part, voxels, start, whole, axes, scaled, rng):
    """Its stored values, scalings and, for some voxels, places are those of the whole."""
    assert same_stored(stored(part), voxels)
    inside = tuple(slice(s, s + n) for a, s, n in zip(axes, start, voxels.shape) if a.name in scaled)
    for name in ("image-min", "image-max"):
        assert np.array_equal(table(part, name), table(whole, name)[inside])
    irregular, vector = any(a.offsets is not None for a in axes), any(a.name == "vector_dimension" for a in axes)
    if irregular or vector: # nibabel has neither
        return
    a, b = load(whole), load(part)
    local = np.array([int(rng.integers(0, n)) for n in voxels.shape])
    space = [d for d, axis in enumerate(axes) if axis.name in SPACES]
    first, second = a.affine @ [*(local + start)[space], 1], b.affine @ [*local[space], 1]
    assert np.allclose(first, second, rtol=1e-12, atol=1e-9)
    box = tuple(slice(s, s + n) for s, n in zip(start, voxels.shape))
    # integers, whose real values nibabel computes by slices
    assert np.array_equal(np.asarray(a.dataobj)[box], np.asarray(b.dataobj), equal_nan=True)


def check_by_libminc(part, voxels, start, whole, shape, axes, rng):
    local = np.array([int(rng.integers(0, n)) for n in voxels.shape])
    space = [d for d, axis in enumerate(axes) if axis.name in SPACES]
    assert np.allclose(world(part, local[space]), world(whole, (local + start)[space]), rtol=1e-6, atol=1e-6)
    box = tuple(slice(s, s + n) for s, n in zip(start, voxels.shape))
    assert np.array_equal(real_values(part, voxels.shape), real_values(whole, shape)[box], equal_nan=True)


@examples(60)
def test_any_image_in_any_grid(run, folder, data):
    axes = data.draw(image_axes())
    shape, dtype = tuple(a.length for a in axes), np.dtype(data.draw(st.sampled_from(TYPES)))
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    voxels = sample(shape, dtype, seed=1)
    if dtype.kind == "f":
        voxels = rng.normal(size=shape).astype(dtype)
    usual = [a.name for a in axes[:-1] if a.name != "vector_dimension"]
    scaled = usual[:data.draw(st.integers(0, min(2, len(usual))))]
    lengths = [a.length for a in axes[:len(scaled)]]
    lows = rng.normal(size=lengths)
    info = np.iinfo(dtype) if dtype.kind != "f" else None
    valid = (info.min, info.max) if info else data.draw(st.sampled_from([None, (-5.0, 5.0)]))
    storage = data.draw(st.sampled_from([{}, {"compression": "gzip", "chunks": tuple(max(1, n // 2) for n in shape)}]))
    whole = write(folder / "in.mnc", voxels, axes, lows, lows + 1 + rng.random(lengths), scaled, valid, **storage)
    chunks = tuple(data.draw(st.integers(1, n)) for n in shape)
    run(whole, "grid", "--chunks", written(chunks), "--codec", data.draw(st.sampled_from(["none", "zlib:1"])), *MEMORY)
    pattern, pieces = "_".join(f"{{{d}}}" for d in range(len(shape))) + ".mnc", list(blocks_of(voxels, chunks))
    for index, start, block in pieces:
        check_piece(folder / "grid" / name_of(pattern, index, start, shape), block, start, whole, axes, scaled, rng)
    index, start, block = pieces[int(rng.integers(0, len(pieces)))]
    check_by_libminc(folder / "grid" / name_of(pattern, index, start, shape), block, start, whole, shape, axes, rng)
    codec = data.draw(st.sampled_from(["none", "shuffle+zlib:4"]))
    again = ("--chunks", written(chunks), "--codec", codec) if data.draw(st.booleans()) else ()
    run("grid", "back.mnc", *again, *MEMORY)
    assert same_stored(stored(folder / "back.mnc"), voxels)
    assert objects(folder / "back.mnc") == objects(whole)
    check_by_libminc(folder / "back.mnc", voxels, np.zeros(len(shape), int), whole, shape, axes, rng)
