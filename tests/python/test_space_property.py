# SPDX-License-Identifier: BSD-3-Clause
"""Where an element is stays the same in every format, whatever the affine, the shape, the region and the grid: NIfTI by nibabel, MINC by
libminc's own tools and nibabel, Zarr by zarr-python and OME-Zarr's rules."""

import nibabel as nib
import numpy as np
import zarr
from hypothesis import strategies as st

import minc_support
from conftest import blocks_of, name_of, sample, written
from nifti_support import equal, read, values, write
from property_support import examples, reals
from space_support import check_image, near, nifti_place, ome_place, space_place

MEMORY = ("--memory", "8MiB")
CODECS = ["none", "none", "gzip:1", "zstd"]


@st.composite
def affines(draw):
    """Scales and translations, with axes in any order, any rotation, or anything."""
    kind = draw(st.sampled_from(["plain", "ordered", "turned", "sheared"]))
    steps = [draw(reals(0.0625, 8, width=32)) * draw(st.sampled_from([-1, 1])) for _ in range(3)]
    rng = np.random.default_rng(draw(st.integers(0, 9999)))
    turn = {"plain": np.eye(3), "ordered": np.eye(3)[draw(st.permutations(range(3)))],
            "turned": np.linalg.qr(rng.normal(size=(3, 3)))[0], "sheared": np.eye(3) + rng.uniform(-0.4, 0.4, (3, 3))}[kind]
    affine = np.eye(4)
    affine[:3, :3] = turn * steps
    affine[:3, 3] = [draw(reals(-500, 500, width=32)) for _ in range(3)]
    return kind, affine


@st.composite
def images(draw):
    """(kind, nibabel's image) of 2 to 5 axes."""
    kind, affine = draw(affines())
    shape = tuple(draw(st.integers(2, 7)) for _ in range(3)) + tuple(draw(st.integers(1, 4)) for _ in range(draw(st.integers(0, 2))))
    if kind == "plain" and draw(st.booleans()):
        shape, affine[2, 3] = shape[:2], 0
    data = values(shape, draw(st.sampled_from(["<i2", ">f4", "u1"])))
    made = (nib.Nifti1Image if draw(st.booleans()) else nib.Nifti2Image)(data, affine)
    if kind != "sheared" and draw(st.booleans()): # the qform alone, which holds rotations
        made.set_qform(affine, code=1)
        made.set_sform(None, code=0)
    made.header.set_xyzt_units(draw(st.sampled_from(["mm", "meter", "micron"])), draw(st.sampled_from(["sec", "msec", "unknown"])))
    if len(shape) > 3:
        made.header["pixdim"][4] = draw(st.sampled_from([0.5, 2.25, 3]))
        made.header["toffset"] = draw(st.sampled_from([0, 1.5]))
    return kind, made


def region(draw, shape):
    """(option, starts, stops)"""
    starts = [draw(st.integers(0, n - 1)) for n in shape]
    stops = [draw(st.integers(s + 1, n)) for s, n in zip(starts, shape)]
    return ["--roi", ",".join(f"{a}:{b}" for a, b in zip(starts, stops))], np.array(starts), np.array(stops)


def some(rng, shape, n=4):
    return [tuple(int(rng.integers(0, k)) for k in shape) for _ in range(n)]


@examples(60)
def test_nifti_to_zarr_and_back(run, folder, data):
    kind, image = data.draw(images())
    nib.save(image, folder / "in.nii")
    image, stored, rng = nib.load(folder / "in.nii"), read(folder / "in.nii"), np.random.default_rng(1)
    option, starts, stops = region(data.draw, stored.shape)
    part, affine = stored[tuple(map(slice, starts, stops))], image.affine
    version, ome = data.draw(st.sampled_from([2, 3])), data.draw(st.booleans())
    option += ["--chunks", written([data.draw(st.integers(1, 4)) for _ in stored.shape]), "--codec", data.draw(st.sampled_from(CODECS))]
    done = run.json("extract", "in.nii", "out.zarr", *option, "--format", f"zarr{version}", *(["--ome"] if ome else []), *MEMORY)
    array = check_image(folder / "out.zarr") if ome else zarr.open_array(folder / "out.zarr", mode="r")
    turn = array.attrs["nifti"]["axes"]
    assert equal(np.asarray(array[...]), part.transpose(turn))
    if ome:
        assert ("more than a scale" in done.get("notes", "")) == (kind in ("turned", "sheared"))
    for own in some(rng, part.shape):
        index = [own[d] for d in turn]
        wants = nifti_place(folder / "in.nii", starts + own)
        assert near(space_place(array, index), wants, affine, stored.shape)
        if ome and kind not in ("turned", "sheared"):
            place = ome_place(folder / "out.zarr", index)
            assert near([place.get(n, w) for n, w in zip("xyz", wants)], wants, affine, stored.shape)
        if ome and len(own) > 3:
            time = image.header["toffset"] + image.header["pixdim"][4] * (starts[3] + own[3])
            assert np.isclose(ome_place(folder / "out.zarr", index)["t"], time, rtol=1e-6)
    check_pieces(run, folder, "out.zarr/0" if ome else "out.zarr", array, data)
    run("out.zarr/0" if ome else "out.zarr", "back.nii", *MEMORY)
    run("extract", "in.nii", "wants.nii", *option[:2], *MEMORY)
    assert (folder / "back.nii").read_bytes() == (folder / "wants.nii").read_bytes()


def check_pieces(run, folder, source, array, data):
    """Cut into NIfTI files, whose axes are those of the header that the array keeps, each has its values and its place."""
    turn = array.attrs["nifti"]["axes"]
    whole = np.asarray(array[...]).transpose(np.argsort(turn))
    chunks = tuple(data.draw(st.integers(1, n)) for n in whole.shape)
    pattern = "_".join(f"{{{d}}}" for d in range(whole.ndim)) + ".nii"
    run(source, "pieces", "--chunks", written(chunks), "--pattern", pattern, *MEMORY)
    for index, start, block in blocks_of(whole, chunks):
        path = folder / "pieces" / name_of(pattern, index, start, whole.shape)
        assert equal(read(path), block)
        wants = space_place(array, [start[d] for d in turn])
        assert near(nifti_place(path, [0] * whole.ndim), wants, np.array(array.attrs["space"]["affine"]), whole.shape)


def check_forms(image):
    """Both ways in which a header tells places tell the same, where both do."""
    (one, one_code), (two, two_code) = image.get_sform(coded=True), image.get_qform(coded=True)
    assert one_code == two_code == 1
    assert near(one, two, one, image.shape[:3])


@st.composite
def ome_images(draw):
    """(axes, scales, translations) of an image that somebody else made."""
    names = draw(st.sampled_from(["zyx", "yx", "tzyx", "czyx", "tczyx", "xyz", "tyx"]))
    kinds = {"t": "time", "c": "channel"}
    unit = draw(st.sampled_from(["micrometer", "millimeter", "nanometer", None]))
    axes = [{"name": n, "type": kinds.get(n, "space")} for n in names]
    for axis in axes:
        if axis["type"] == "space" and unit:
            axis["unit"] = unit
        if axis["type"] == "time":
            axis["unit"] = "second"
    scales = [draw(reals(0.125, 4)) for _ in names]
    return names, axes, scales, [draw(reals(-100, 100)) for _ in names]


UNITS = {"micrometer": (1, "micron"), "millimeter": (1, "mm"), "nanometer": (1e-3, "micron"), None: (1, "unknown")}


@examples(60)
def test_ome_zarr_to_nifti(run, folder, data):
    names, axes, scales, moves = data.draw(ome_images())
    shape = tuple(data.draw(st.integers(1, 6)) for _ in names)
    stored, version = sample(shape, "<u2"), data.draw(st.sampled_from([2, 3]))
    image = {"axes": axes, "datasets": [{"path": "deep/0", "coordinateTransformations": [{"type": "scale", "scale": scales}]}],
             "coordinateTransformations": [{"type": "scale", "scale": [2.0] * len(names)}, {"type": "translation", "translation": moves}]}
    group = zarr.create_group(folder / "in.zarr", zarr_format=version)
    group.attrs.update({"multiscales": [{"version": "0.4", **image}]} if version == 2 else {"ome": {"version": "0.5", "multiscales": [image]}})
    parts = tuple(data.draw(st.integers(1, 4)) for _ in names)
    shards = tuple(n * data.draw(st.integers(1, 2)) for n in parts) if version == 3 and data.draw(st.booleans()) else None
    group.create_group("deep").create_array("0", data=stored, chunks=parts, shards=shards)
    option, starts, stops = region(data.draw, shape)
    part = stored[tuple(map(slice, starts, stops))]
    order = sorted(range(len(names)), key=lambda d: "xyztc".index(names[d]))
    chunks = tuple(data.draw(st.integers(1, part.shape[d])) for d in order)
    pattern = "_".join(f"{{{d}}}" for d in range(len(names))) + ".nii"
    run("extract", "in.zarr/deep/0", "out", *option, "--chunks", written(chunks), "--format", "nifti", "--pattern", pattern, *MEMORY)
    factor, unit = UNITS[axes[-1].get("unit")]
    for index, start, block in blocks_of(part.transpose(order), chunks):
        piece = folder / "out" / name_of(pattern, index, start, tuple(part.shape[d] for d in order))
        assert equal(read(piece), block)
        wants = {names[d]: 2 * scales[d] * (starts[d] + start[k]) + moves[d] for k, d in enumerate(order)}
        has = nifti_place(piece, [0] * 3)
        for k, name in enumerate("xyz"[:2] if "z" not in names else "xyz"):
            assert np.isclose(has[k], wants[name] * factor, rtol=1e-5, atol=1e-3 * factor)
        header = nib.load(piece).header
        check_forms(nib.load(piece))
        assert header.get_xyzt_units()[0] == unit and np.allclose(header.get_zooms()[:2], [2 * scales[names.index(n)] * factor for n in "xy"])
        if names in ("tzyx", "tczyx"):
            assert np.isclose(header["toffset"], wants["t"], rtol=1e-5, atol=1e-4) and header.get_xyzt_units()[1] == "sec"


@st.composite
def minc_axes(draw):
    """Three axes in space in any order, in any directions, maybe one of time."""
    names = draw(st.permutations(["xspace", "yspace", "zspace"]))
    rng = np.random.default_rng(draw(st.integers(0, 9999)))
    turned = draw(st.booleans())
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0] if turned else np.eye(3)
    axes = [minc_support.Axis(n, draw(st.integers(2, 6)), draw(reals(-300, 300)), draw(reals(0.05, 10)) * draw(st.sampled_from([-1, 1])),
                              turn["xyz".index(n[0])]) for n in names]
    if draw(st.booleans()):
        axes.insert(0, minc_support.Axis("time", draw(st.integers(1, 3)), draw(reals(0, 9)), draw(reals(0.1, 3)), units=b"s"))
    return turned, axes


@examples(40)
def test_minc_to_ome_zarr_and_nifti(run, folder, data):
    turned, axes = data.draw(minc_axes())
    names = ["t" if a.name == "time" else a.name[0] for a in axes]
    voxels = sample(tuple(a.length for a in axes), data.draw(st.sampled_from(["<i2", "u1", "<f4"])))
    voxels = np.nan_to_num(voxels, nan=0, posinf=0, neginf=0)
    valid = (np.iinfo(voxels.dtype).min, np.iinfo(voxels.dtype).max) if voxels.dtype.kind != "f" else None
    minc_support.write(folder / "in.mnc", voxels, axes, -2.5, 7.25, (), valid)
    space, rng = [d for d, n in enumerate(names) if n != "t"], np.random.default_rng(2)
    option, starts, stops = region(data.draw, voxels.shape)
    part = voxels[tuple(map(slice, starts, stops))]
    run("extract", "in.mnc", "out.ome.zarr", *option, "--chunks", written([data.draw(st.integers(1, 4)) for _ in names]), *MEMORY)
    run("extract", "in.mnc", "out.nii", *option, *MEMORY)
    level, image, reals_of = check_image(folder / "out.ome.zarr"), nib.load(folder / "out.nii"), minc_support.load(folder / "in.mnc")
    zyx, xyz = sorted(range(len(names)), key=lambda d: "tzyx".index(names[d])), sorted(range(len(names)), key=lambda d: "xyzt".index(names[d]))
    assert equal(np.asarray(level[...]), part.transpose(zyx)) and equal(read(folder / "out.nii"), part.transpose(xyz))
    affine = reals_of.affine
    for own in some(rng, part.shape, 2):
        voxel = [int((starts + own)[d]) for d in space]
        wants = minc_support.world(folder / "in.mnc", voxel)
        assert np.allclose((affine @ [*voxel, 1])[:3], wants, rtol=1e-6, atol=1e-6)
        assert near(space_place(level, [own[d] for d in zyx]), wants, affine, voxels.shape)
        assert near(nifti_place(folder / "out.nii", [own[d] for d in xyz]), wants, affine, voxels.shape)
        place = ome_place(folder / "out.ome.zarr", [own[d] for d in zyx])
        if not turned:
            assert near([place[n] for n in "xyz"], wants, affine, voxels.shape)
        if "t" in names:
            assert np.isclose(place["t"], axes[0].start + axes[0].step * (starts + own)[0])
    meant = np.asarray(reals_of.dataobj)[tuple(map(slice, starts, stops))].transpose(xyz)
    assert np.allclose(image.get_fdata(), meant, rtol=1e-5, atol=1e-5)
    assert image.header.get_xyzt_units()[0] == "mm"
    check_forms(image)
