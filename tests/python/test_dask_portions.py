# SPDX-License-Identifier: BSD-3-Clause
"""What a graph is made of, found without running it, against what Dask computes from it."""

import os

import dask.array as da
import numpy as np
import pytest
import resplit
from dask_support import MEMORY, folder, taken_over  # noqa: F401
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from resplit.dask._portions import NotOurs, Portion, concatenate, index_block, join, tiles, whole
from resplit.dask._stored import LazyArray, Stored
from resplit.dask._trace import trace_array

STEPS = ("slice", "integer", "new axis", "rechunk", "concatenate", "stack", "with itself")


def lengths(draw, extent):
    found = []
    while sum(found) < extent:
        found.append(draw(st.integers(1, extent - sum(found))))
    return tuple(found)


def one_step(draw, array, others):
    step = draw(st.sampled_from(STEPS))
    if step == "slice":
        return array[tuple(slice(a, draw(st.integers(a + 1, n))) for n in array.shape for a in [draw(st.integers(0, n - 1))])]
    if step == "integer" and array.ndim > 1:
        axis = draw(st.integers(0, array.ndim - 1))
        return array[(slice(None),) * axis + (draw(st.integers(-array.shape[axis], array.shape[axis] - 1)),)]
    if step == "new axis" and array.ndim < 4:
        return array[(slice(None),) * draw(st.integers(0, array.ndim)) + (None,)]
    if step == "rechunk":
        return array.rechunk(tuple(lengths(draw, n) for n in array.shape))
    axis = draw(st.integers(0, array.ndim - 1))
    if step == "with itself":
        return da.concatenate([array, array[(slice(None),) * axis + (slice(0, draw(st.integers(1, array.shape[axis]))),)]], axis=axis)
    fitting = [o for o in others if o.ndim == array.ndim and all(a == b for d, (a, b) in enumerate(zip(o.shape, array.shape)) if d != axis)]
    if step == "concatenate" and fitting:
        return da.concatenate([array, draw(st.sampled_from(fitting))], axis=axis)
    if step == "stack" and array.ndim < 4:
        same = [o for o in fitting if o.shape == array.shape]
        return da.stack([array, draw(st.sampled_from([array, *same]))], axis=axis)
    return array


@st.composite
def programs(draw):
    """Arrays in files, and what some steps make of them."""
    shape = tuple(draw(st.lists(st.integers(1, 9), min_size=1, max_size=3)))
    bases = []
    for i in range(3):
        data = np.arange(np.prod(shape), dtype="i4").reshape(shape) + 10000 * i
        np.save(f"{i}.npy", data)
        chunks = tuple(lengths(draw, n) for n in shape)
        bases.append(da.from_array(LazyArray(os.path.abspath(f"{i}.npy"), {}), chunks=chunks))
    array = bases[0]
    for _ in range(draw(st.integers(1, 6))):
        array = one_step(draw, array, bases)
        if array.size > 4000:
            break
    return array


def assembled(shape, portions):
    """By NumPy, from the portions."""
    out, written = np.zeros(shape, "i4"), np.zeros(shape, int)
    for portion in portions:
        source = np.load(portion.source.path)[tuple(slice(a, a + n) for a, n in zip(*portion.source_box()))]
        box = tuple(slice(a, a + n) for a, n in zip(portion.at, portion.shape))
        out[box] = source.reshape(portion.shape)
        written[box] += 1
    assert (written == 1).all()
    return out


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(programs())
def test_portions_are_what_dask_computes(folder, array):
    _, shape, portions = trace_array(array)
    assert np.array_equal(assembled(shape, portions), array.compute(scheduler="sync"))


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(programs(), st.sampled_from(["zarr", "memory", "path"]), st.data())
def test_the_engine_makes_what_dask_computes(folder, array, kind, data):
    import zarr

    expected = array.compute(scheduler="sync")
    if kind == "memory":
        found = np.zeros_like(expected)
        taken_over(lambda: array.store(found))
    elif kind == "zarr":
        chunks = tuple(data.draw(st.integers(1, n)) for n in array.shape)
        found = zarr.create_array("out.zarr", shape=array.shape, chunks=chunks, dtype="i4", overwrite=True)
        taken_over(lambda: array.rechunk(chunks).store(found))
    else:
        resplit.dask.store(array, "out.npy", memory=MEMORY, overwrite=True)
        found = np.load("out.npy")
    assert np.array_equal(found[...], expected)


@pytest.mark.parametrize("index", [(None, 1), (1, None), (None, 1, None), (1,)], ids=str)
def test_one_element_goes_to_memory(folder, index):
    """An index of integers alone is a copy in NumPy, where a view is meant."""
    np.save("0.npy", np.arange(4, dtype="i4"))
    array = da.from_array(LazyArray(os.path.abspath("0.npy"), {}), chunks=2)[index]
    found = np.zeros(array.shape, "i4")
    taken_over(lambda: array.store(found))
    assert np.array_equal(found, np.arange(4)[index])


# ---- Rules ---------------------------------------------------------------------------------------


def block(name="a", shape=(4, 6)):
    return whole(Stored(name), shape)


@pytest.mark.parametrize("index", [slice(None, None, 2), slice(None, None, -1), ([1, 2],), (np.array([0]),), (True,), ("field",)])
def test_indices_that_are_refused(index):
    with pytest.raises(NotOurs):
        index_block(block(), index)


def test_an_index_outside_has_no_portions():
    assert index_block(block(), (9,)).portions == ()


def test_the_same_elements_twice_are_two_portions():
    """Along a new axis, neighbours are not neighbours in the source."""
    one = index_block(block(), (None,))
    both = concatenate([[[one]], [[one]]])
    assert both.shape == (2, 4, 6) and len(both.portions) == 2


def test_neighbours_become_one_portion():
    halves = [index_block(block(), (slice(0, 4), slice(a, a + 3))) for a in (0, 3)]
    assert concatenate([halves]) == block()
    assert len(concatenate([halves[::-1]]).portions) == 2


def test_what_cannot_be_concatenated():
    for parts in ([], [[]], block(), [block()], [[block()], block()], [[block(), block(shape=(3, 6))]]):
        with pytest.raises(NotOurs):
            concatenate(parts)


def test_boxes_that_are_no_grid():
    assert tiles([((0, 0), (2, 2)), ((2, 0), (1, 2))])
    assert not tiles([((0, 0), (2, 2)), ((3, 0), (1, 2))])  # a gap
    assert not tiles([((0, 0), (2, 2)), ((0, 0), (2, 2))])  # the same twice
    assert not tiles([((0, 0), (2, 2)), ((1, 0), (2, 2))])  # one over the other
    assert not tiles([((0, 0), (1, 1)), ((1, 1), (1, 1))])  # cells that nobody has
    corner = [Portion(Stored("a"), (0, 1), at, at, (1, 1)) for at in ((0, 0), (0, 1), (1, 0))]
    assert len(join(corner)) == 3


