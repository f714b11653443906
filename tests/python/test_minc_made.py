# SPDX-License-Identifier: BSD-3-Clause
"""MINC images that are made of other formats. nibabel reads source and target, libminc's tools the target: values, what they mean, and where
voxels are must be the same."""

import itertools

import h5py
import nibabel as nib
import numpy as np
import pytest
import zarr
from hypothesis import strategies as st

import minc_support as minc
from conftest import blocks_of, name_of, sample, same, written
from minc_support import load, stored, tool, world
from nifti_support import values
from property_support import examples
from test_space_property import affines, near, region

MEMORY = ("--memory", "32MiB")
TYPES = ["u1", "i1", "<i2", ">i2", "<u2", ">u4", "<i4", "<f4", ">f4", "<f8"]
FACTORS = {"mm": 1, "meter": 1e3, "micron": 1e-3}


def names(path):
    with h5py.File(path) as f:
        return f[minc.IMAGE].attrs["dimorder"].decode().split(",")


def turn_of(source, target):
    """Which axis of one array each axis of another is, by their values alone."""
    found = [p for p in itertools.permutations(range(source.ndim)) if same(np.ascontiguousarray(source.transpose(p)), target)]
    assert found
    return found


def meant(path):
    """What voxels mean, by nibabel and by libminc."""
    ours = np.asarray(load(path).dataobj, "f8")
    theirs = minc.real_values(path, ours.shape)
    assert np.allclose(ours, theirs, rtol=1e-12, atol=0, equal_nan=True)
    return ours


def place(path, index):
    """x, y, z of a voxel; index along all axes of the file."""
    at = np.array([i for i, name in zip(index, names(path)) if name.endswith("space")])
    here = (load(path).affine @ [*at, 1])[:3]
    if len(index) == 3:  # more, voxeltoworld does not take
        assert np.allclose(world(path, at), here, rtol=1e-9, atol=1e-9)
    return here


def check_places(path, source, affine, turn, start=(0,) * 7, n=4):
    """Voxels of a file are where those of the source are; the file begins at `start`, along its own axes."""
    shape, rng = stored(path).shape, np.random.default_rng(0)
    for _ in range(n):
        index = [int(rng.integers(k)) for k in shape]
        own = np.zeros(len(shape), int)
        own[list(turn)] = np.add(index, start[:len(shape)])
        assert near(place(path, index), (affine @ [*own[:3], 1])[:3], affine, source.shape), (path, index)


@st.composite
def images(draw):
    """(nibabel's image, its scaling, factor of its units)"""
    kind, affine = draw(affines())
    shape = tuple(draw(st.integers(2, 7)) for _ in range(3)) + tuple(draw(st.integers(2, 4)) for _ in range(draw(st.integers(0, 2))))
    dtype = draw(st.sampled_from(TYPES))
    image = nib.Nifti1Image(values(shape, dtype), affine, nib.Nifti1Header(endianness=">" if dtype[0] == ">" else "<"))
    image.set_data_dtype(dtype)
    unit = draw(st.sampled_from(["mm", "meter", "micron"]))
    image.header.set_xyzt_units(unit, "sec")
    if len(shape) > 3:
        image.header["pixdim"][4], image.header["toffset"] = 2.25, 1.5
    scaling = None
    if np.dtype(dtype).kind in "iu" and np.dtype(dtype).itemsize < 4 and draw(st.booleans()):
        scaling = draw(st.sampled_from([(0.5, 0), (-2, 10), (0.1, -3), (1, 0.75)]))
    return image, scaling, FACTORS[unit]


def save(image, path, scaling=None):
    """Stored values as they are, and a scaling, which nibabel would apply."""
    nib.save(image, path)
    assert nib.load(path).get_data_dtype() == np.asarray(image.dataobj).dtype
    if scaling is not None:
        text = bytearray(path.read_bytes())
        text[112:120] = np.array(scaling, image.header.endianness + "f4").tobytes()
        path.write_bytes(bytes(text))


@examples(40)
def test_nifti_to_minc(run, folder, data):
    """One file, a region and a grid, from NIfTI and from NIfTI that went through OME-Zarr."""
    image, scaling, factor = data.draw(images())
    save(image, folder / "a.nii", scaling)
    raw, affine = np.asarray(image.dataobj), image.affine.copy()
    affine[:3] *= factor
    run("a.nii", "b.mnc", *MEMORY)
    turn = turn_of(raw, stored(folder / "b.mnc"))[0]
    check_places(folder / "b.mnc", raw, affine, turn)
    real = np.asarray(nib.load(folder / "a.nii").dataobj, "f8").transpose(turn)
    assert np.allclose(meant(folder / "b.mnc"), real, rtol=1e-6, atol=0 if scaling is None else 1e-6 * np.abs(real).max(), equal_nan=True)
    option, starts, stops = region(data.draw, raw.shape)
    run("extract", "a.nii", "roi.mnc", *option, *MEMORY)
    piece = raw[tuple(slice(a, b) for a, b in zip(starts, stops))]
    assert same(np.ascontiguousarray(piece.transpose(turn)), stored(folder / "roi.mnc"))
    check_places(folder / "roi.mnc", raw, affine, turn, starts[list(turn)])
    chunks = [data.draw(st.integers((n + 1) // 2, n)) for n in stored(folder / "b.mnc").shape]
    run("a.nii", "grid", "--format", "minc2", "--chunks", written(chunks), *MEMORY)
    for index, start, block in blocks_of(raw.transpose(turn), chunks):
        name = name_of("_".join(f"{{{d}}}" for d in range(raw.ndim)) + ".mnc", index, start, raw.transpose(turn).shape)
        assert same(np.ascontiguousarray(block), stored(folder / "grid" / name))
        if sum(index) in (1, 3):
            check_places(folder / "grid" / name, raw, affine, turn, start, n=1)
    run("a.nii", "c.zarr", *MEMORY)
    run("c.zarr", "d.mnc", *MEMORY)
    assert minc.objects(folder / "d.mnc") == minc.objects(folder / "b.mnc")
    run("merge", "grid", "whole.nii", *MEMORY)
    assert np.allclose(nib.load(folder / "whole.nii").affine[:3, 3], affine[:3, 3], rtol=1e-5, atol=1e-4 * (1 + np.abs(affine).max()))


def test_what_tools_say(run, tmp_path):
    """Names, orders, steps and starts of an image that is turned and mirrored, with time."""
    affine = np.array([[0, -2.0, 0, 90], [3, 0, 0, -126], [0, 0, 1.5, -72], [0, 0, 0, 1]])
    image = nib.Nifti1Image(sample((4, 5, 6, 3), "<i2"), affine)
    image.header.set_xyzt_units("mm", "msec")
    image.header["pixdim"][4] = 2500
    nib.save(image, tmp_path / "a.nii")
    done = run("a.nii", "b.mnc", *MEMORY)
    assert "axes are t, z, y, x, as MINC lists them: axes 3, 2, 0, 1 of the source" in done.stdout
    assert "axis time, in units of a millisecond, is in s in MINC" in done.stdout
    said = tool("mincinfo", tmp_path / "b.mnc").decode()
    assert "short -32768 to 32767" in said and "image dimensions: time zspace yspace xspace" in said
    for name, length, step, start in (("time", 3, 2.5, 0), ("zspace", 6, 1.5, -72), ("yspace", 4, 3, -126), ("xspace", 5, -2, 90)):
        assert [name, str(length), f"{step:g}", f"{start:g}"] in [line.split() for line in said.splitlines()]
    with h5py.File(tmp_path / "b.mnc") as f:
        history = f["minc-2.0"].attrs["history"].decode()
        assert history.startswith("resplit ") and history.rstrip().endswith("made from nifti1")
        assert np.array_equal(f["minc-2.0/dimensions/xspace"].attrs["direction_cosines"], [1, 0, 0])


@pytest.mark.parametrize("kind", ["npy", "raw", "hdf5", "zarr"])
def test_arrays_without_a_place(run, tmp_path, kind):
    """Steps of 1 from 0 on, and a note says so."""
    array = sample((6, 5, 4), "<u2")
    if kind == "npy":
        np.save(tmp_path / "a.npy", array)
    elif kind == "raw":
        array.tofile(tmp_path / "a.raw")
    elif kind == "hdf5":
        with h5py.File(tmp_path / "a.h5", "w") as f:
            f.create_dataset("x", data=array, chunks=(2, 3, 4), maxshape=(None, 5, 4), compression="gzip").attrs["note"] = "here"
    else:
        zarr.create_array(tmp_path / "a.zarr", data=array, chunks=(4, 4, 4))
    name = {"npy": "a.npy", "raw": "a.raw", "hdf5": "a.h5", "zarr": "a.zarr"}[kind]
    described = ["--shape", "6,5,4", "--dtype", "uint16"] if kind == "raw" else []
    done = run(name, "b.mnc", *described, *MEMORY)
    assert "where the image is, is not known: it begins at 0 along every axis" in done.stdout
    assert same(stored(tmp_path / "b.mnc"), array) and names(tmp_path / "b.mnc") == ["zspace", "yspace", "xspace"]
    assert np.array_equal(meant(tmp_path / "b.mnc"), array)
    assert np.array_equal(place(tmp_path / "b.mnc", (1, 2, 3)), (3, 2, 1))
    done = run(name, "c", *described, "--format", "minc2", "--chunks", "3,3,3", *MEMORY)
    assert np.array_equal(place(tmp_path / "c" / "1_1_1.mnc", (0, 0, 0)), (3, 3, 3))


def test_chunks_and_casts(run, tmp_path):
    np.save(tmp_path / "a.npy", np.arange(6000.0).reshape(10, 20, 30))
    run("a.npy", "b.mnc", "--to-dtype", "int16", "--chunks", "5,10,10", "--codec", "zlib:4", *MEMORY)
    with h5py.File(tmp_path / "b.mnc") as f:
        assert f[minc.IMAGE].chunks == (5, 10, 10) and f[minc.IMAGE].compression == "gzip" and f[minc.IMAGE].dtype == "<i2"
    assert np.array_equal(meant(tmp_path / "b.mnc"), np.load(tmp_path / "a.npy"))


def test_what_minc_cannot_hold_is_refused(run, tmp_path):
    def nifti(data, affine=np.eye(4), slope=None):
        save(nib.Nifti1Image(data, affine), tmp_path / "a.nii", slope)

    np.save(tmp_path / "a.npy", np.zeros((3, 4, 5), "i8"))
    assert "no voxels of type <i8: give --to-dtype" in run.error("a.npy", "b.mnc", *MEMORY)
    np.save(tmp_path / "a.npy", np.zeros((3, 4, 5, 6), "i2"))
    assert "a MINC image is made of 2, 3 or 5 axes" in run.error("a.npy", "b.mnc", *MEMORY)
    nifti(np.zeros((3, 4, 5), "f4"), slope=(2, 1))
    assert "slope 2 and inter 1, but real numbers of MINC are what they are" in run.error("a.nii", "b.mnc", *MEMORY)
    nifti(np.zeros((3, 4, 5), "i4"), slope=(1.1, 0.001))
    assert "do not come out the same of image-min and image-max" in run.error("a.nii", "b.mnc", *MEMORY)
    flat = np.eye(4)
    flat[:3, 2] = 1, 1, 0
    nifti(np.zeros((3, 4, 5), "i2"), flat)
    assert "lie in a plane" in run.error("a.nii", "b.mnc", *MEMORY)
    assert not (tmp_path / "b.mnc").exists()
