# SPDX-License-Identifier: BSD-3-Clause
"""Indexing an array that is stored, against the same index of the same array in NumPy."""

import os

import h5py
import nibabel as nib
import numpy as np
import pytest
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import resplit
from conftest import sample, write_blocks
from resplit import _slicing

FULL = os.environ.get("RESPLIT_FULL", "") not in ("", "0")
SHAPE = (7, 12, 9)
DTYPE = ">i4"


def write_nifti(path, array):
    nib.Nifti1Image(array, np.eye(4), dtype=array.dtype).to_filename(path)


def make_npy(path, array):
    np.save(path, array)


def make_fortran(path, array):
    np.save(path, np.asfortranarray(array))


def make_grid(path, array):
    write_blocks(path, array, (3, [5, 1, 6], 4), "{0}_{1}_{2}.npy")


def make_zarr(path, array, **options):
    made = zarr.create_array(path, shape=array.shape, chunks=(3, 5, 4), dtype=array.dtype, **options)
    made[...] = array


def make_sharded(path, array):
    make_zarr(path, array, shards=(6, 10, 8))


def make_holed(path, array):
    """Chunks that are not there, in an array without codecs."""
    make_zarr(path, array, compressors=None, fill_value=5)
    assert not (array[:3, :5, :4] != 5).any()


def make_zarr2(path, array):
    make_zarr(path, array, zarr_format=2, order="F")


def make_hdf5(path, array):
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=array, chunks=(2, 6, 9), compression="gzip")


def make_contiguous(path, array):
    with h5py.File(path, "w") as file:
        file["x"] = array


STORES = {
    "npy": ("a.npy", make_npy),
    "fortran": ("a.npy", make_fortran),
    "grid": ("a", make_grid),
    "zarr3": ("a.zarr", make_zarr),
    "sharded": ("a.zarr", make_sharded),
    "holed": ("a.zarr", make_holed),
    "zarr2": ("a.zarr", make_zarr2),
    "hdf5": ("a.h5", make_hdf5),
    "contiguous": ("a.h5", make_contiguous),
    "nifti": ("a.nii", write_nifti),
    "gzipped": ("a.nii.gz", write_nifti),
}


@pytest.fixture(scope="module", params=STORES)
def stored(request, tmp_path_factory):
    """An array of NumPy, and the same in a file."""
    name, make = STORES[request.param]
    array = sample(SHAPE, DTYPE)
    array[:3, :5, :4] = 5
    path = tmp_path_factory.mktemp("stored") / name
    make(path, array)
    opened = resplit.open(path)
    assert opened.dtype.newbyteorder("=") == array.dtype.newbyteorder("=")
    return array.astype(opened.dtype), opened  # not every format keeps the byte order


def same(got, wanted):
    assert type(got) is type(wanted)
    assert got.shape == wanted.shape and got.dtype == wanted.dtype
    assert got.tobytes() == wanted.tobytes()


KEYS = [np.s_[...], np.s_[:], np.s_[2], np.s_[-1], np.s_[1, 2, 3], np.s_[1, 2, 3, ...], np.s_[..., 1, 2, 3], np.s_[::-1],
        np.s_[::2, ::-3], np.s_[5:1:-2, None, ..., 4], np.s_[None, None], np.s_[3:3], np.s_[..., 0:0], np.s_[10:2:-1],
        np.s_[-100:100], np.s_[np.int8(2), np.uint64(3)], np.s_[:, 11], np.s_[6:0:-5, ::11, 8::-8], ()]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_keys(stored, key):
    array, opened = stored
    same(opened[key], array[key])


@settings(max_examples=300 if FULL else 60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(key=npst.basic_indices(SHAPE, allow_newaxis=True, allow_ellipsis=True))
def test_any_basic_index(stored, key):
    array, opened = stored
    same(opened[key], array[key])


@pytest.mark.parametrize("small", [0, 200])
@settings(max_examples=200 if FULL else 40, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(key=st.tuples(*(st.slices(n) for n in SHAPE)))
def test_steps_of_an_array_that_is_too_large_for_one_box(stored, small, key):
    array, opened = stored
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_slicing, "SMALL", small)
        same(opened[key], array[key])


@pytest.mark.parametrize("key, error", [
    (np.s_[7], "out of bounds"), (np.s_[-8], "out of bounds"), (np.s_[0, 0, 0, 0], "too many indices"),
    (np.s_[..., ...], "single ellipsis"), ([0, 1], "valid indices"), (np.s_[np.array([1, 2])], "valid indices"),
    (True, "valid indices"), (np.s_[1.0], "valid indices"), ("x", "valid indices")], ids=str)
def test_what_is_no_index(stored, key, error):
    with pytest.raises(IndexError, match=error):
        stored[1][key]


def test_a_step_of_nothing(stored):
    with pytest.raises(ValueError, match="zero"):
        stored[1][::0]


def test_reading_reads_no_more_than_it_has_to(tmp_path):
    """Every hundredth row of a file is not worth reading the others: a file with nothing in between would fail."""
    rows = np.lib.format.open_memmap(tmp_path / "a.npy", "w+", "u1", (10_000, 100_000))  # 1 GB, of which nothing is there
    rows[::1000] = np.arange(100_000) % 251
    rows.flush()
    opened = resplit.open(tmp_path / "a.npy")
    got = opened[::1000, ::7]
    assert (got == (np.arange(100_000) % 251)[::7]).all() and got.shape == (10, 14286)


def test_iteration_and_length(stored):
    array, opened = stored
    assert len(opened) == len(array)
    for got, wanted in zip(opened, array, strict=True):
        same(got, wanted)


def test_as_array(stored):
    array, opened = stored
    same(np.asarray(opened), array)
    same(np.asarray(opened, "f8"), array.astype("f8"))
    assert np.sum(opened, dtype="i8") == array.sum(dtype="i8")
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        with pytest.raises(ValueError, match="copy"):
            np.array(opened, copy=False)


def test_scalars_of_no_axes(tmp_path):
    np.save(tmp_path / "a.npy", np.float32(3))
    opened = resplit.open(tmp_path / "a.npy")
    assert opened.shape == () and opened[()] == 3 and isinstance(opened[()], np.float32) and opened[...].shape == ()
    assert opened[None].shape == (1,)
    with pytest.raises(TypeError):
        len(opened)


@pytest.mark.parametrize("dtype", ["?", "<f2", ">c16", "<M8[ns]", ">m8[D]", "S5", "<U3", "V7", [("a", "<i2"), ("b", ">f8", (2,))]])
def test_every_type(tmp_path, dtype):
    array = sample((4, 5), dtype)
    np.save(tmp_path / "a.npy", array)
    opened = resplit.open(tmp_path / "a.npy")
    assert opened.dtype == array.dtype
    same(opened[1:, ::-2], array[1:, ::-2])


# ---- read(...) ----


def test_regions(stored):
    array, opened = stored
    same(opened.read(np.s_[1:3, :, 2]), array[1:3, :, 2:3])
    same(opened.read([(0, 2), (3, 9), slice(None)]), array[:2, 3:9])
    same(opened.read(np.s_[..., -1]), array[..., -1:])


def test_into_memory_of_any_strides(stored):
    array, opened = stored
    room = np.zeros((18, 12, 7), opened.dtype)
    out = room[::-2].T
    assert opened.read(out=out) is out
    assert np.array_equal(out, array)
    assert not room[::2].any()  # nothing beside its place


def test_a_wrong_place(stored):
    opened = stored[1]
    for out in (np.empty((7, 12), opened.dtype), np.empty(SHAPE, "i8"), np.empty(SHAPE, opened.dtype.newbyteorder())):
        with pytest.raises(ValueError, match="out has shape"):
            opened.read(out=out)
    frozen = np.empty(SHAPE, opened.dtype)
    frozen.flags.writeable = False
    with pytest.raises((ValueError, BufferError)):
        opened.read(out=frozen)


def test_too_little_memory_says_how_much(stored):
    with pytest.raises(resplit.BudgetError) as refused:
        stored[1].read(memory=1000)
    assert refused.value.needed > 1000
    same(stored[1].read(memory=refused.value.needed), stored[0])
    with pytest.raises(resplit.BudgetError):
        stored[1].read(memory=refused.value.needed - 1)
