# SPDX-License-Identifier: BSD-3-Clause
"""Programs that know nothing of resplit, as Dask's documentation and its users write them. The oracles are NumPy, zarr-python and h5py."""

import time

import dask
import dask.array as da
import h5py
import numpy as np
import pytest
import resplit.dask
import zarr
from dask_support import MEMORY, folder, left_alone, sample, taken_over  # noqa: F401

SHAPE = (24, 30, 20)


@pytest.fixture
def data():
    return sample(SHAPE)


@pytest.fixture
def source(data):
    """A Zarr array whose chunks do not divide its shape."""
    zarr.create_array("in.zarr", shape=SHAPE, chunks=(5, 30, 7), dtype=data.dtype)[...] = data
    return "in.zarr"


@pytest.fixture
def hdf5(data):
    with h5py.File("in.h5", "w") as file:
        file.create_dataset("x", data=data, chunks=(4, 8, 20), compression="gzip", shuffle=True)
        file.create_dataset("plain", data=data)
    with h5py.File("in.h5", "r") as file:
        yield file


def equal(found, expected):
    assert found.dtype == expected.dtype and np.array_equal(found, expected)


# ---- Taken over ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("before", "after"), [(2, 2), (2, 3), (3, 2), (3, 3)])
def test_from_zarr_to_zarr(data, before, after):
    zarr.create_array("in.zarr", shape=SHAPE, chunks=(5, 30, 7), dtype=data.dtype, zarr_format=before)[...] = data
    with zarr.config.set(default_zarr_format=after):
        taken_over(lambda: da.from_zarr("in.zarr").rechunk((24, 8, 8)).to_zarr("out.zarr"))
    found = zarr.open_array("out.zarr")
    assert found.chunks == (24, 8, 8)
    equal(found[...], data)


def test_rechunk_of_whole_axes(source, data):
    taken_over(lambda: da.from_zarr(source, chunks=(10, 10, 20)).rechunk({0: -1, 1: 6}).to_zarr("out.zarr"))
    assert zarr.open_array("out.zarr").chunks == (24, 6, 20)
    equal(zarr.open_array("out.zarr")[...], data)


def test_rechunk_auto(source, data):
    with dask.config.set({"array.chunk-size": "8KiB"}):
        taken_over(lambda: da.from_zarr(source).rechunk("auto", balance=True).to_zarr("out.zarr"))
    equal(zarr.open_array("out.zarr")[...], data)


def test_slices_before_and_after(source, data):
    taken_over(lambda: da.from_zarr(source)[3:, 1:-1].rechunk((8, 8, 8))[..., :17].rechunk((4, 9, 17)).to_zarr("out.zarr"))
    equal(zarr.open_array("out.zarr")[...], data[3:, 1:-1, :17])


def test_an_axis_less_and_one_more(source, data):
    taken_over(lambda: da.from_zarr(source)[:, 4].rechunk((6, 20)).to_zarr("less.zarr"))
    equal(zarr.open_array("less.zarr")[...], data[:, 4])
    taken_over(lambda: da.from_zarr(source)[None, ..., 3].rechunk((1, 6, -1)).to_zarr("both.zarr"))
    equal(zarr.open_array("both.zarr")[...], data[None, ..., 3])


def test_store_into_zarr(source, data):
    target = zarr.create_array("out.zarr", shape=SHAPE, chunks=(6, 6, 20), dtype=data.dtype, attributes={"unit": "K"},
                               compressors=zarr.codecs.BloscCodec(cname="lz4", shuffle="bitshuffle"), fill_value=7)
    taken_over(lambda: da.store(da.from_zarr(source).rechunk((12, 12, 20)), target))
    equal(target[...], data)
    equal(zarr.open_array("out.zarr")[...], data)
    assert dict(zarr.open_array("out.zarr").attrs) == {"unit": "K"}


def test_store_into_shards(source, data):
    target = zarr.create_array("out.zarr", shape=SHAPE, chunks=(4, 5, 5), shards=(8, 15, 20), dtype=data.dtype)
    taken_over(lambda: da.from_zarr(source).rechunk((8, 15, 20)).store(target, lock=False))
    equal(zarr.open_array("out.zarr")[...], data)


def test_regions(source, data):
    """Two stores into one array, each of which begins and ends where chunks do."""
    target = zarr.create_array("out.zarr", shape=(48, 30, 20), chunks=(8, 10, 20), dtype=data.dtype, fill_value=-1)
    array = da.from_zarr(source).rechunk((8, 10, 20))
    regions = [(slice(24, 48), slice(None), slice(None)), (slice(0, 8), slice(10, 30), slice(None))]
    taken_over(lambda: da.store([array, array[16:, :20]], [target, target], regions=regions), runs=2)
    expected = np.full(target.shape, -1, data.dtype)
    expected[24:], expected[:8, 10:] = data, data[16:, :20]
    equal(target[...], expected)


def test_an_array_of_a_group(data):
    """Nothing else in the group is touched, its copies of metadata neither."""
    zarr.create_group("in.zarr").create_array("a/b", shape=SHAPE, chunks=(5, 30, 7), dtype=data.dtype)[...] = data
    group = zarr.create_group("out.zarr", attributes={"title": "x"})
    group.create_array("deep/c", shape=SHAPE, chunks=(24, 5, 5), dtype=data.dtype)
    zarr.consolidate_metadata("out.zarr")
    with open("out.zarr/zarr.json", "rb") as file:
        before = file.read()
    target = zarr.open_group("out.zarr", mode="r+")["deep/c"]
    taken_over(lambda: da.from_zarr("in.zarr", component="a/b").rechunk((24, 5, 5)).store(target))
    with open("out.zarr/zarr.json", "rb") as file:
        assert file.read() == before
    equal(zarr.open_group("out.zarr")["deep/c"][...], data)


def test_many_arrays_at_once(source, data):
    array = da.from_zarr(source)
    targets = [zarr.create_array(f"out{i}.zarr", shape=SHAPE, chunks=c, dtype=data.dtype) for i, c in enumerate([(24, 5, 5), (3, 30, 20)])]
    taken_over(lambda: da.store([array.rechunk(t.chunks) for t in targets], targets), runs=2)
    for target in targets:
        equal(target[...], data)


def test_chunks_that_are_empty(data):
    """Old chunks go away where the new array has nothing but the fill value."""
    some = np.zeros(SHAPE, "i2")
    some[:8] = 3
    zarr.create_array("in.zarr", shape=SHAPE, chunks=(8, 30, 20), dtype="i2")[...] = some
    for fill in (0, 9):
        target = zarr.create_array("out.zarr", shape=SHAPE, chunks=(8, 10, 20), dtype="i2", fill_value=fill, overwrite=True)
        target[...] = 5
        taken_over(lambda: da.from_zarr("in.zarr").rechunk((8, 10, 20)).store(target))  # noqa: B023
        equal(target[...], some)


@pytest.mark.parametrize("fill", [0, 3])
def test_chunks_of_hdf5_that_were_never_written(fill):
    with h5py.File("in.h5", "w") as file:
        source = file.create_dataset("x", shape=(20, 30), chunks=(5, 10), dtype="i2", fillvalue=fill)
        source[:5, :10] = 7
        target = zarr.create_array("out.zarr", shape=(20, 30), chunks=(4, 30), dtype="i2", fill_value=5)
        taken_over(lambda: da.from_array(source, chunks=(5, 10)).rechunk((4, 30)).store(target))
        equal(target[...], source[...])


TYPES = ["?", "i1", ">i4", "u8", "f2", "<c8", "S5", "U3", "M8[ns]"]
ODD = TYPES[2], *TYPES[6:]  # some versions of zarr-python write them as others cannot read; they are at least right


@pytest.mark.parametrize("dtype", TYPES)
def test_types(dtype):
    values = np.arange(60).reshape(6, 10)
    values = (values % 2 == 0) if dtype == "?" else values.astype(dtype)
    zarr.create_array("in.zarr", shape=(6, 10), chunks=(4, 3), dtype=values.dtype, zarr_format=2)[...] = values
    resplit.dask.reset_stats()
    with resplit.dask.optimize(memory=MEMORY), zarr.config.set(default_zarr_format=2):  # which has them all
        da.from_zarr("in.zarr").rechunk((2, 5)).to_zarr("out.zarr")
    assert resplit.dask.stats().taken == 1 or dtype in ODD, resplit.dask.explain()
    found = zarr.open_array("out.zarr")[...]
    assert found.dtype.kind == values.dtype.kind and np.array_equal(found, values)


def test_from_hdf5(hdf5, data):
    taken_over(lambda: da.from_array(hdf5["x"], chunks=(12, 8, 20)).rechunk((6, 30, 5)).to_zarr("out.zarr"))
    equal(zarr.open_array("out.zarr")[...], data)


def test_from_hdf5_with_a_lock(hdf5, data):
    taken_over(lambda: da.from_array(hdf5["plain"], chunks=(7, -1, -1), lock=True).rechunk((24, 6, 6)).to_zarr("out.zarr"))
    equal(zarr.open_array("out.zarr")[...], data)


def test_to_hdf5(source, data):
    taken_over(lambda: da.from_zarr(source).rechunk((6, 10, 10)).to_hdf5("out.h5", "/group/x", compression="gzip", shuffle=True))
    with h5py.File("out.h5") as file:
        assert file["group/x"].chunks == (6, 10, 10)
        equal(file["group/x"][...], data)


def test_to_hdf5_several(hdf5, data):
    arrays = {"/a": da.from_array(hdf5["x"]).rechunk((24, 5, 5)), "/b": da.from_array(hdf5["plain"])[2:, 3]}
    taken_over(lambda: da.to_hdf5("out.h5", arrays), runs=2)
    with h5py.File("out.h5") as file:
        equal(file["a"][...], data)
        equal(file["b"][...], data[2:, 3])


@pytest.mark.parametrize("options", [{}, {"chunks": (6, 10, 20)}, {"chunks": (6, 10, 20), "compression": "lzf", "fletcher32": True}])
def test_store_into_hdf5(source, data, options):
    data[6:12] = 0
    zarr.open_array(source)[...] = data
    with h5py.File("out.h5", "w") as file:
        file.create_dataset("other", data=data)
        target = file.create_dataset("x", shape=SHAPE, dtype=data.dtype, **options)
        target[:, 5:] = 9  # is in h5py's cache of chunks
        taken_over(lambda: da.from_zarr(source).rechunk((12, 30, 20)).store(target))
        equal(target[...], data)
    with h5py.File("out.h5") as file:
        equal(file["x"][...], data)
        equal(file["other"][...], data)


def test_from_a_memory_map(data):
    np.save("in.npy", data)
    array = da.from_array(np.load("in.npy", mmap_mode="r"), chunks=(4, 30, 20))
    taken_over(lambda: array.rechunk((24, 5, 20)).to_zarr("out.zarr"))
    equal(zarr.open_array("out.zarr")[...], data)


def test_into_a_memory_map(source, data):
    target = np.lib.format.open_memmap("out.npy", "w+", dtype=data.dtype, shape=(20, 30))
    taken_over(lambda: da.from_zarr(source)[2:22, :, 5].rechunk((20, 6)).store(target))
    target.flush()
    equal(np.load("out.npy"), data[2:22, :, 5])


def test_npy_stacks(source, data):
    taken_over(lambda: da.to_npy_stack("stack", da.from_zarr(source).rechunk((24, 7, 20)), axis=1))
    assert np.load("stack/4.npy").shape == (24, 2, 20)
    equal(da.from_npy_stack("stack").compute(), data)
    taken_over(lambda: da.from_npy_stack("stack").rechunk((8, 10, 10)).to_zarr("out.zarr"))
    assert "linked" in resplit.dask.explain()[-1]
    equal(zarr.open_array("out.zarr")[...], data)


def test_a_concatenation_of_files(data):
    """As in dask #6745: files whose last chunks are short, one after the other."""
    for i in range(3):
        zarr.create_array(f"in{i}.zarr", shape=SHAPE, chunks=(7, 15, 20), dtype=data.dtype)[...] = data + i
    array = da.concatenate([da.from_zarr(f"in{i}.zarr") for i in range(3)], axis=0)
    taken_over(lambda: array.rechunk((16, 30, 5)).to_zarr("out.zarr"))
    assert "temporary grid" in resplit.dask.explain()[-1]
    equal(zarr.open_array("out.zarr")[...], np.concatenate([data, data + 1, data + 2]))


def test_a_concatenation_where_chunks_end(data):
    for i in range(2):
        zarr.create_array(f"in{i}.zarr", shape=SHAPE, chunks=(7, 15, 20), dtype=data.dtype)[...] = data + i
    array = da.concatenate([da.from_zarr(f"in{i}.zarr") for i in range(2)], axis=2)
    taken_over(lambda: array.rechunk((24, 30, 10)).to_zarr("out.zarr"))
    assert resplit.dask.explain()[-1].endswith("portions: 2")
    equal(zarr.open_array("out.zarr")[...], np.concatenate([data, data + 1], axis=2))


@pytest.mark.parametrize(("axis", "chunks"), [(0, (1, 12, 12, 12)), (0, (2, 24, 10, 10)), (-1, (24, 30, 5, 3)), (2, (5, 30, 1, 20))])
def test_a_stack_of_files(data, axis, chunks):
    with h5py.File("in.h5", "w") as file:
        for i in range(3):
            file.create_dataset(f"x{i}", data=data + i, chunks=(8, 8, 8))
        array = da.stack([da.from_array(file[f"x{i}"], chunks=(8, 30, 20)) for i in range(3)], axis=axis)
        taken_over(lambda: array.rechunk(chunks).to_zarr("out.zarr"))
    equal(zarr.open_array("out.zarr")[...], np.stack([data, data + 1, data + 2], axis=axis))


def test_an_array_that_is_stacked_with_itself(source, data):
    array = da.from_zarr(source)
    taken_over(lambda: da.stack([array, array, array[::1]]).rechunk((3, 6, 30, 20)).to_zarr("out.zarr"))
    equal(zarr.open_array("out.zarr")[...], np.stack([data] * 3))


def test_blocks_of_arrays(source, data):
    array = da.from_zarr(source)[:, :, 0]
    taken_over(lambda: da.block([[array, array[:, :7]], [array[5:], array[5:, 23:]]]).rechunk((10, 10)).to_zarr("out.zarr"))
    flat = data[:, :, 0]
    equal(zarr.open_array("out.zarr")[...], np.block([[flat, flat[:, :7]], [flat[5:], flat[5:, 23:]]]))


def test_later(source, data):
    """compute=False: what is stored is decided when it is computed."""
    target = zarr.create_array("out.zarr", shape=SHAPE, chunks=(24, 5, 20), dtype=data.dtype)
    later = da.from_zarr(source).rechunk((24, 5, 20)).store(target, compute=False)
    taken_over(lambda: dask.compute(later))
    equal(target[...], data)


def test_a_source_that_changes_before_it_is_read(source, data, monkeypatch):
    """Decided, and then another array is there: an error, and not some of its elements."""
    from resplit.dask import _move

    run = _move.Move.run

    def late(move):
        zarr.create_array("in.zarr", shape=(9, 30, 20), chunks=(5, 30, 7), dtype=data.dtype, overwrite=True)
        run(move)

    array = da.from_zarr(source).rechunk((24, 5, 20))
    resplit.dask.self_test()
    monkeypatch.setattr(_move.Move, "run", late)
    with pytest.raises(RuntimeError, match=r"is \(9, 30, 20\) float32 now"), resplit.dask.optimize(memory=MEMORY):
        array.to_zarr("out.zarr")


# ---- Left alone ----------------------------------------------------------------------------------

COMPUTED = {
    "a sum": (lambda x: x + 1, lambda x: x + 1, "add"),
    "another type": (lambda x: x.astype("f8"), lambda x: x.astype("f8"), "astype"),
    "blocks": (lambda x: x.map_blocks(np.negative), lambda x: -x, "negative"),
    "a reduction": (lambda x: x.max(axis=0, keepdims=True), lambda x: x.max(axis=0, keepdims=True), "computation"),
    "backwards": (lambda x: x[::-1], lambda x: x[::-1], "step of -1"),
    "every other": (lambda x: x[:, 1::2], lambda x: x[:, 1::2], "step of 2"),
    "a list": (lambda x: x[:, [3, 1, 2]], lambda x: x[:, [3, 1, 2]], "since"),
    "transposed": (lambda x: x.T, lambda x: x.T, "transpose"),
    "persisted": (lambda x: x.persist(), lambda x: x, "memory"),
    "masked": (lambda x: da.ma.filled(da.ma.masked_greater(x, 0), 5), lambda x: np.where(x > 0, np.float32(5), x), "computation"),
    "joined with a sum": (lambda x: da.concatenate([x, x + 1]), lambda x: np.concatenate([x, x + 1]), "add"),
}


@pytest.mark.parametrize("case", COMPUTED)
def test_computation_is_left_to_dask(data, case):
    zarr.create_array("in.zarr", shape=SHAPE, chunks=(5, 30, 7), dtype=data.dtype)[...] = data
    mine, numpys, why = COMPUTED[case]
    array = mine(da.from_zarr("in.zarr"))
    left_alone(lambda: array.rechunk(tuple(min(10, n) for n in array.shape)).to_zarr("out.zarr"), why)
    equal(zarr.open_array("out.zarr")[...], numpys(data))


def test_some_is_taken_over_and_some_is_left(data):
    """Two stores of one graph; what the second one needs is still computed."""
    zarr.create_array("in.zarr", shape=SHAPE, chunks=(5, 30, 7), dtype=data.dtype)[...] = data
    array = da.from_zarr("in.zarr").rechunk((8, 10, 10))
    targets = [zarr.create_array(f"out{i}.zarr", shape=SHAPE, chunks=(8, 10, 10), dtype=data.dtype) for i in range(2)]
    resplit.dask.reset_stats()
    with resplit.dask.optimize(memory=MEMORY):
        stores = [da.store(a, t, compute=False) for a, t in zip([array, array * 2], targets)]
        *_, mean = dask.compute(*stores, array.astype("f8").mean())
    assert resplit.dask.stats().taken == resplit.dask.stats().left == 1
    equal(targets[0][...], data)
    equal(targets[1][...], data * 2)
    assert np.isclose(mean, data.astype("f8").mean())


def test_targets_that_are_not_ours(source, data):
    array = da.from_zarr(source)
    memory = zarr.create_array(zarr.storage.MemoryStore(), shape=SHAPE, chunks=(5, 5, 5), dtype=data.dtype)
    left_alone(lambda: array.rechunk((10, 10, 10)).store(memory), "MemoryStore")
    equal(memory[...], data)
    wider = zarr.create_array("wide.zarr", shape=SHAPE, chunks=(10, 10, 10), dtype="f8")
    left_alone(lambda: array.rechunk((10, 10, 10)).store(wider), "float32 is stored as float64")
    equal(wider[...], data.astype("f8"))


def test_chunks_that_others_are_in_too(source, data):
    """A region that ends within a chunk: the rest of that chunk is not ours to write."""
    target = zarr.create_array("out.zarr", shape=(30, 30, 20), chunks=(10, 30, 20), dtype=data.dtype)
    target[...] = 8
    left_alone(lambda: da.from_zarr(source).rechunk((24, 30, 20)).store(target, regions=(slice(0, 24), slice(None), slice(None))), "begin and end")
    equal(target[:24], data)
    assert (target[24:] == 8).all()


def test_codecs_that_we_do_not_write(source, data):
    target = zarr.create_array("out.zarr", shape=SHAPE, chunks=(6, 30, 20), dtype=data.dtype,
                               filters=[zarr.codecs.TransposeCodec(order=(1, 2, 0))])
    left_alone(lambda: da.from_zarr(source).rechunk((6, 30, 20)).store(target), "since")
    equal(target[...], data)


def test_an_array_onto_itself(source, data):
    target = zarr.open_array(source, mode="r+")
    array = da.from_zarr(source)
    left_alone(lambda: array.store(target), "both read and written")
    equal(target[...], data)


def test_what_is_stored_is_used(source, data):
    target = zarr.create_array("out.zarr", shape=SHAPE, chunks=(24, 5, 20), dtype=data.dtype)
    found = []
    left_alone(lambda: found.append(da.from_zarr(source).rechunk((24, 5, 20)).store(target, return_stored=True)), "used afterwards")
    equal(found[0].compute(), data)


def test_a_budget_that_is_too_small(source, data):
    resplit.dask.reset_stats()
    with resplit.dask.optimize(memory=1000):
        da.from_zarr(source).rechunk((24, 5, 20)).to_zarr("out.zarr")
    assert resplit.dask.stats().left == 1 and "no plan was found" in resplit.dask.explain()[-1]
    equal(zarr.open_array("out.zarr")[...], data)


# ---- Switching on and off ------------------------------------------------------------------------


def test_only_within_the_statement(source, data):
    resplit.dask.reset_stats()
    with resplit.dask.optimize():
        assert dask.config.get("array_optimize") is not None
    assert dask.config.get("array_optimize", None) is None
    da.from_zarr(source).rechunk((24, 5, 20)).to_zarr("out.zarr")
    assert resplit.dask.stats() == resplit.dask.Stats()


def test_other_optimizations_are_kept(source, data):
    seen = []

    def mine(graph, keys, **options):
        seen.append(len(graph.layers))
        return da.optimization.optimize(graph, keys, **options)

    with dask.config.set(array_optimize=mine):
        taken_over(lambda: da.from_zarr(source).rechunk((24, 5, 20)).to_zarr("out.zarr"))
    assert seen
    equal(zarr.open_array("out.zarr")[...], data)


def test_a_dask_that_is_not_understood(source, data, monkeypatch):
    """The hook is not switched on, and says so; everything works as without."""
    from resplit.dask import _hook

    _hook.self_test.cache_clear()
    monkeypatch.setattr(_hook, "_reader_of", lambda layer: None)
    with pytest.warns(RuntimeWarning, match="not as those of versions that are known"), resplit.dask.optimize():
        da.from_zarr(source).rechunk((24, 5, 20)).to_zarr("out.zarr")
    _hook.self_test.cache_clear()
    equal(zarr.open_array("out.zarr")[...], data)


def test_an_old_dask(monkeypatch):
    from resplit.dask import _hook

    _hook.self_test.cache_clear()
    monkeypatch.setattr(_hook, "version", lambda name: "2024.1.0")
    assert "older than" in _hook.self_test()
    _hook.self_test.cache_clear()


def test_one_budget_for_all_threads(source, data, monkeypatch):
    """Two stores of one graph do not run at the same time: their budget is one."""
    from resplit.dask._targets import ZarrSink

    take, at_work, most = ZarrSink.take, [], []

    def watched(*args):
        at_work.append(1)
        most.append(len(at_work))
        time.sleep(0.1)
        take(*args)
        at_work.pop()

    monkeypatch.setattr(ZarrSink, "take", watched)
    test_many_arrays_at_once(source, data)
    assert most == [1, 1]
