# SPDX-License-Identifier: BSD-3-Clause
"""Plans that hand their blocks to a function: every element once, as it would have been stored, and whatever is raised."""

import threading
import zlib

import h5py
import numpy as np
import pytest
import resplit
from hypothesis import given, settings
from hypothesis import strategies as st
from resplit._target import How, Target


def volume(shape, dtype="<u2"):
    return np.arange(np.prod(shape)).astype(dtype).reshape(shape)


def receive(plan, shape, dtype, order="C", decode=bytes):
    """What is handed over, put together; counts how often each element came."""
    out, times = np.zeros(shape, dtype), np.zeros(shape, int)

    def take(start, lengths, data, encoded):
        values = np.frombuffer(decode(data) if encoded else bytes(data), dtype).reshape(lengths, order=order)
        box = tuple(slice(a, min(a + n, extent)) for a, n, extent in zip(start, lengths, shape))
        out[box] = values[tuple(slice(0, s.stop - s.start) for s in box)]
        times[box] += 1

    result = plan.deliver(take)
    assert (times == 1).all()
    return out, result


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_every_element_comes_once(data):
    ndim = data.draw(st.integers(1, 3))
    shape = tuple(data.draw(st.lists(st.integers(1, 12), min_size=ndim, max_size=ndim)))
    after = [data.draw(st.integers(1, n)) for n in shape]
    order = data.draw(st.sampled_from("CF"))
    start = [data.draw(st.integers(0, n - 1)) for n in shape]
    roi = tuple(slice(a, data.draw(st.integers(a + 1, n))) for a, n in zip(start, shape))
    values = volume(shape)
    source = resplit.open(values)
    plan = resplit.plan(source, chunks=after, order=order, roi=roi, format="raw", memory=data.draw(st.sampled_from(["1MiB", "64MiB"])))
    wanted = values[roi]
    found, result = receive(plan, wanted.shape, values.dtype, order)
    assert np.array_equal(found, wanted) and result.cost.bytes_written == wanted.nbytes


@pytest.mark.parametrize("codec, decode", [("none", bytes), ("zlib:1", zlib.decompress)])
@pytest.mark.parametrize("memory", ["8MiB", "64MiB"])
def test_whole_chunks_of_hdf5(tmp_path, codec, decode, memory):
    """As libhdf5 stores them, with what reaches out of the array."""
    values = volume((96, 130, 140))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("data", data=values, chunks=(1, 130, 140))
    source = resplit.open(tmp_path / "a.h5:/data")
    target = Target(chunks=(96, 32, 32), codec=codec, format="hdf5", whole=True).create(tmp_path / "b.h5:/data", source)
    plan = How(memory).plan(source, target)
    pieces = []
    plan.deliver(lambda start, shape, data, encoded: pieces.append((shape, encoded)))
    assert set(pieces) == {((96, 32, 32), True)} and len(pieces) == 25
    found, _ = receive(plan, values.shape, values.dtype, decode=decode)
    assert np.array_equal(found, values)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.h5"]
    with pytest.raises(ValueError, match="handed over, but not written"):
        plan.run()


def test_a_plan_that_spills(tmp_path):
    values = volume((256, 64, 64), "<f4")
    resplit.resplit(values, tmp_path / "a.zarr", chunks=(1, 64, 64), codec="zstd:1")
    plan = resplit.plan(tmp_path / "a.zarr", tmp_path / "b.zarr", chunks=(256, 8, 8), codec="none", strategy="spill", memory="2MiB")
    assert plan.strategy == "spill" and plan.predicted.temp_bytes > 0
    found, result = receive(plan, values.shape, values.dtype)
    assert np.array_equal(found, values) and result.cost.temp_bytes == plan.predicted.temp_bytes
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.zarr"]


def test_blocks_that_are_missing_or_empty_come_too(tmp_path):
    import zarr

    source = zarr.create_array(str(tmp_path / "a.zarr"), shape=(8, 8), chunks=(4, 4), dtype="i4", fill_value=7, compressors=None)
    source[:4, :4] = 1
    for chunks in ((4, 4), (8, 2)):
        plan = resplit.plan(tmp_path / "a.zarr", tmp_path / "b.zarr", chunks=chunks, format="zarr2", codec="none")
        found, _ = receive(plan, (8, 8), "i4")
        assert np.array_equal(found, source[:])


def test_one_at_a_time():
    busy, most = threading.Lock(), []

    def take(*piece):
        most.append(busy.acquire(blocking=False))
        busy.release()

    resplit.plan(volume((64, 256, 256)), chunks=(8, 64, 64), format="raw", memory="64MiB").deliver(take)
    assert len(most) >= 128 and all(most)


def test_what_is_raised_stops_it():
    calls = []

    def take(*piece):
        calls.append(piece)
        raise KeyError("full")

    with pytest.raises(KeyError, match="full"):
        resplit.plan(volume((64, 64)), chunks=(8, 8), format="raw").deliver(take)
    assert len(calls) == 1


def test_memory_is_gone_afterwards():
    kept = []
    resplit.plan(volume((64, 64)), chunks=(8, 8), format="raw").deliver(lambda start, shape, data, encoded: kept.append(data))
    with pytest.raises(ValueError, match="released"):
        bytes(kept[0])


@pytest.mark.parametrize("options, why", [
    ({"chunks": (8, 8), "shards": (16, 16), "format": "zarr3"}, "has shards"),
    ({"chunks": (8, 8), "dtype": "f8", "format": "npy"}, "another type"),
])
def test_what_cannot_be_handed_over(tmp_path, options, why):
    plan = resplit.plan(volume((16, 16)), tmp_path / "b", **options)
    with pytest.raises(resplit.UnsupportedError, match=why):
        plan.deliver(lambda *piece: pytest.fail("something came"))


def test_a_copy_as_it_is_stored_is_refused(tmp_path):
    resplit.resplit(volume((16, 16)), tmp_path / "a.zarr", chunks=(8, 8), codec="zstd:1")
    plan = resplit.plan(tmp_path / "a.zarr", tmp_path / "b.zarr")
    with pytest.raises(resplit.UnsupportedError, match="as it is stored"):
        plan.deliver(lambda *piece: pytest.fail("something came"))
