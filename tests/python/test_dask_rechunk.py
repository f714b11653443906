# SPDX-License-Identifier: BSD-3-Clause
"""Rechunks whose tasks are made late are the rechunks that Dask makes: by their values, keys and tasks; and most are never made."""

import pickle

import dask
import dask.array as da
import numpy as np
import pytest
import resplit.dask
import zarr
from dask_support import MEMORY, folder, sample  # noqa: F401
from hypothesis import given, settings
from hypothesis import strategies as st
from resplit.dask._rechunk import RechunkLayer, lazily

SHAPE = (24, 30, 20)


def layers_of(array):
    return [layer for layer in array.dask.layers.values() if isinstance(layer, RechunkLayer)]


@pytest.fixture
def made():
    """Two rechunks of one array, one after the other, made lazily; and the values."""
    data = sample(SHAPE, "<i4")
    with lazily():
        array = da.from_array(data, chunks=(5, 30, 7)).rechunk((24, 8, 8)).rechunk((7, 30, 20))
    assert len(layers_of(array)) >= 2 and not any(layer.is_materialized() for layer in layers_of(array))
    return array, data


@settings(max_examples=50, deadline=None, database=None)
@given(data=st.data())
def test_any_rechunk(data):
    shape = tuple(data.draw(st.integers(0, 12)) for _ in range(data.draw(st.integers(1, 3))))
    before, after = (tuple(data.draw(st.integers(1, max(1, n))) for n in shape) for _ in range(2))
    values = np.arange(np.prod(shape)).reshape(shape)
    array = da.from_array(values, chunks=before, name=f"values-{shape}-{before}")
    usual = array.rechunk(after)
    with lazily():
        late = array.rechunk(after)
    assert late.name == usual.name and late.chunks == usual.chunks and late.dtype == usual.dtype
    assert set(late.dask.keys()) == set(usual.dask.keys())
    assert np.array_equal(late.compute(scheduler="synchronous"), values)


def test_computed_as_usual(made):
    array, data = made
    assert np.array_equal((array + 1).compute(), data + 1)
    assert np.array_equal(array[3:, ::2].sum(axis=0).compute(), data[3:, ::2].sum(axis=0))
    assert np.array_equal(array.blocks[1].compute(), data[7:14])


def test_kept_and_sent(made):
    array, data = made
    assert np.array_equal(dask.persist(array)[0].compute(), data)
    again = pickle.loads(pickle.dumps(array))
    assert layers_of(again) == [] # whoever gets it may not have us
    assert np.array_equal(again.compute(), data)


def test_outputs_are_known_without_tasks(made):
    array, _ = made
    for layer in layers_of(array):
        keys = layer.get_output_keys()
        assert not layer.is_materialized() and keys <= set(layer)


def test_tasks_that_are_not_needed_are_never_made(folder):  # noqa: F811
    data = sample(SHAPE)
    zarr.create_array("in.zarr", shape=SHAPE, chunks=(1, 30, 20), dtype=data.dtype)[...] = data
    resplit.dask.reset_stats()
    with resplit.dask.optimize(memory=MEMORY):
        array = da.from_zarr("in.zarr").rechunk((24, 5, 5))
        array.to_zarr("out.zarr")
    assert resplit.dask.stats().runs == 1
    assert layers_of(array) and not any(layer.is_materialized() for layer in layers_of(array))
    assert np.array_equal(zarr.open_array("out.zarr")[...], data)


def test_only_within(folder):  # noqa: F811
    array = da.ones(SHAPE, chunks=(5, 30, 7))
    with resplit.dask.optimize(memory=MEMORY):
        with resplit.dask.optimize(memory=MEMORY):
            assert layers_of(array.rechunk((24, 8, 8)))
        assert layers_of(array.rechunk((24, 8, 8)))
    assert not layers_of(array.rechunk((24, 8, 8)))


def test_another_name(made, monkeypatch):
    """Of a Dask that calls its layers differently."""
    import resplit.dask._rechunk as ours

    array, data = made
    usual = ours._make_tasks

    monkeypatch.setattr(ours, "_make_tasks", lambda x, chunks: _Renamed(usual(x, chunks)))
    assert np.array_equal(array.compute(), data)


class _Renamed:
    """An array whose outermost layer has another name."""

    def __init__(self, array):
        self.name = "other-" + array.name
        tasks = dict(array.dask.layers[array.name])
        for key in [key for key in tasks if key[0] == array.name]:
            task = tasks.pop(key)
            tasks[(self.name, *key[1:])] = task.substitute({}, key=(self.name, *key[1:]))
        self.dask = type("Graph", (), {"layers": {self.name: tasks}})
