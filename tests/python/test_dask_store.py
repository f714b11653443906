# SPDX-License-Identifier: BSD-3-Clause
"""resplit.dask.open and store: what they take, give and refuse. The oracle is NumPy, or the format's own reader."""

import pickle

import dask
import dask.array as da
import h5py
import numpy as np
import pytest
import resplit
import resplit.dask
import zarr
from dask_support import folder, no_remains, sample  # noqa: F401

SHAPE = (24, 30, 20)
MEMORY = "32MiB"


@pytest.fixture
def data():
    return sample(SHAPE, "<i4")


@pytest.fixture
def source(data):
    zarr.create_array("in.zarr", shape=SHAPE, chunks=(5, 30, 7), dtype=data.dtype, attributes={"unit": "m"})[...] = data
    return "in.zarr"


def reader(path):
    """With the format's own library."""
    if path.endswith(".zarr"):
        return zarr.open_array(path, mode="r")[...]
    if path.endswith(".h5"):
        with h5py.File(path) as file:
            return file["data"][...]
    return np.load(path)


# ---- Opening -------------------------------------------------------------------------------------


def test_open(source, data):
    array = resplit.dask.open(source)
    assert array.shape == SHAPE and array.dtype == data.dtype and array.numblocks == (1, 1, 1)
    assert np.array_equal(array.compute(), data)
    assert np.array_equal((array[3:, ::-2, [1, 5]] * 2).compute(), data[3:, ::-2][:, :, [1, 5]] * 2)


def test_chunks_are_whole_blocks(source, data):
    with dask.config.set({"array.chunk-size": "8KiB"}):
        array = resplit.dask.open(source)
    assert array.npartitions > 1
    for chunks, block in zip(array.chunks, (5, 30, 7)):
        assert all(n % block == 0 for n in chunks[:-1])
    assert resplit.dask.open(source, chunks=(6, -1, 10)).chunks == ((6,) * 4, (30,), (10, 10))


def test_irregular_blocks_are_chunks(data):
    resplit.resplit(data, "grid", chunks=((4, 20), (30,), (7, 1, 12)))
    assert resplit.dask.open("grid").chunks == ((4, 20), (30,), (7, 1, 12))
    assert np.array_equal(resplit.dask.open("grid").compute(), data)


def test_raw_files_are_described(data):
    resplit.resplit(data, "raw", chunks=(8, 30, 20), format="raw")
    (folder_of_raw := resplit.dask.open("raw", format="raw", dtype="i4", shape=SHAPE, stored_chunks=(8, 30, 20)))
    assert np.array_equal(folder_of_raw.compute(), data)


def test_processes(source, data):
    """Tasks open the array where they run."""
    array = resplit.dask.open(source, chunks=(12, 30, 20))
    again = pickle.loads(pickle.dumps(array))
    assert again.name == array.name
    with dask.config.set(scheduler="processes", num_workers=2):
        assert again.sum(dtype="i8").compute() == data.sum(dtype="i8")


def test_a_new_array_has_a_new_name(source, data):
    """Names are by content, as far as can be told: what is kept by name must not be that of an older array."""
    before = resplit.dask.open(source).name
    resplit.resplit(data + 1, source, chunks=(5, 30, 20), overwrite=True)
    array = resplit.dask.open(source)
    assert array.name != before and np.array_equal(array.compute(), data + 1)


def test_blocks_that_come_later():
    """What is read is what is there then, not what was there when the array was opened."""
    target = zarr.create_array("late.zarr", shape=(8, 8), chunks=(4, 4), dtype="i4", fill_value=-1)
    array = resplit.dask.open("late.zarr", chunks=(4, 8))
    assert (array.compute() == -1).all()
    for i in (0, 4):
        target[i : i + 4] = i
        assert np.array_equal(array.compute(), target[...])
    target[2:6] = 9
    assert np.array_equal(array.compute(), target[...])


def test_an_array_that_became_another(source, data):
    array = resplit.dask.open(source)
    resplit.resplit(data[:20], source, chunks=(5, 30, 20), overwrite=True)
    with pytest.raises(RuntimeError, match=r"is \(20, 30, 20\) int32 now, and was \(24, 30, 20\) int32"):
        array.compute()


# ---- Storing what was only moved -----------------------------------------------------------------


@pytest.mark.parametrize("path", ["out.zarr", "out.h5", "out.npy"])
def test_store_what_was_moved(source, data, path):
    resplit.dask.reset_stats()
    array = resplit.dask.open(source)[2:, 5:].rechunk((11, 5, 20))
    codec = {"codec": "zlib:1"} if path == "out.h5" else {}  # that h5py can read without plugins
    result = resplit.dask.store(array, path, memory=MEMORY, **codec)
    assert result.cost.peak_bytes <= 32 << 20 and resplit.dask.stats().taken == 1
    assert np.array_equal(reader(path), data[2:, 5:])
    assert path == "out.npy" or resplit.open(path).chunksize == (11, 5, 20)
    assert path != "out.zarr" or resplit.open(path).attrs == {"unit": "m"}
    no_remains()


def test_store_several(source, data):
    array = da.concatenate([resplit.dask.open(source), da.from_zarr(source)[:7]])
    resplit.dask.reset_stats()
    resplit.dask.store(array, "out.zarr", memory=MEMORY, chunks=(10, 10, 10), codec="zstd:1")
    assert resplit.dask.stats().taken == 1 and np.array_equal(reader("out.zarr"), np.concatenate([data, data[:7]]))
    resplit.dask.store(da.stack([array, array], axis=1), "stack.npy", memory=MEMORY)
    assert np.array_equal(np.load("stack.npy"), np.stack([reader("out.zarr")] * 2, axis=1))
    no_remains()


def test_store_files(data):
    for i in range(3):
        np.save(f"{i}.npy", data[8 * i : 8 * i + 8])
    array = da.concatenate([resplit.dask.open(f"{i}.npy", format="npy") for i in range(3)])
    result = resplit.dask.store(array, "out.zarr", memory=MEMORY, chunks=(24, 5, 5))
    assert result.cost.bytes_read == data.nbytes  # once, though files are several
    assert np.array_equal(reader("out.zarr"), data)


def test_store_with_a_cast(source, data):
    resplit.dask.store(resplit.dask.open(source), "out.npy", memory=MEMORY, dtype="f8")
    assert np.array_equal(np.load("out.npy"), data.astype("f8"))


# ---- Storing what was computed -------------------------------------------------------------------


@pytest.mark.parametrize(("path", "scheduler"), [("out.zarr", "threads"), ("out.h5", "threads"), ("out.npy", "threads"), ("out.zarr", "processes")])
def test_store_what_was_computed(source, data, path, scheduler):
    resplit.dask.reset_stats()
    array = (da.from_zarr(source, chunks=(7, 11, 20)) + 1)[::-1]
    chunks = None if path == "out.npy" else (24, 4, 5)
    result = resplit.dask.store(array, path, memory=MEMORY, chunks=chunks, compute={"scheduler": scheduler})
    assert resplit.dask.stats().left == 1 and result.cost.peak_bytes <= 32 << 20
    assert np.array_equal(reader(path), (data + 1)[::-1])
    no_remains()


@pytest.mark.parametrize("dtype", ["u1", ">i2", "f8", "c16", "M8[ns]", [("a", "i2"), ("b", "f8")]])
def test_types(dtype):
    values = sample((9, 7), "u1").astype(np.dtype(dtype)) if not isinstance(dtype, list) else np.zeros((9, 7), dtype)
    array = da.from_array(values, chunks=(4, 3))
    resplit.dask.store(array, "out.npy", memory=MEMORY)
    found = np.load("out.npy")
    assert found.dtype == values.dtype and np.array_equal(found, values)


def test_small_arrays():
    resplit.dask.store(da.from_array(np.float32(4)), "zero.npy", memory=MEMORY)
    assert np.load("zero.npy") == 4
    resplit.dask.store(da.zeros((0, 3)), "empty.npy", memory=MEMORY)
    assert np.load("empty.npy").shape == (0, 3)


def test_a_task_that_fails_leaves_nothing(source, data):
    def fail(block):
        raise KeyError("no")

    with pytest.raises(KeyError):
        resplit.dask.store(da.from_zarr(source).map_blocks(fail, meta=data[:0]), "out.zarr", memory=MEMORY)
    assert not (zarr.storage.LocalStore("out.zarr").root).exists()
    no_remains()


def test_blocks_that_are_not_what_was_promised():
    wrong = da.ones((8, 8), chunks=4).map_blocks(lambda block: block[:2], meta=np.ones((0, 0)))
    with pytest.raises(ValueError, match=r"computed as \(2, 4\) float64, and should be \(4, 4\) float64"):
        resplit.dask.store(wrong, "out.npy", memory=MEMORY)
    with pytest.raises(ValueError, match="masked"):
        resplit.dask.store(da.ma.masked_equal(da.arange(8, chunks=4), 3), "out.npy", memory=MEMORY)


def test_unknown_shapes(source):
    array = da.from_zarr(source)
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        resplit.dask.store(array[array > 0], "out.npy")
    with pytest.raises(TypeError, match="array of dask"):
        resplit.dask.store(np.zeros(3), "out.npy")


def test_the_target_is_there(source, data):
    np.save("out.npy", np.zeros(3))
    for array in (resplit.dask.open(source), resplit.dask.open(source) + 1):
        with pytest.raises(resplit.ExistsError):
            resplit.dask.store(array, "out.npy", memory=MEMORY)
    assert np.load("out.npy").shape == (3,)
    resplit.dask.store(resplit.dask.open(source) + 1, "out.npy", memory=MEMORY, overwrite=True)
    assert np.array_equal(np.load("out.npy"), data + 1)
    no_remains()


def test_into_an_array_that_is_there(source, data):
    target = zarr.create_array("out.zarr", shape=SHAPE, chunks=(24, 5, 20), dtype=data.dtype)
    resplit.dask.reset_stats()
    resplit.dask.store(resplit.dask.open(source), target, memory=MEMORY)
    assert resplit.dask.stats().runs == 1 and np.array_equal(target[...], data)
    with pytest.raises(TypeError, match="codec"):
        resplit.dask.store(resplit.dask.open(source), target, codec="zstd:1")
