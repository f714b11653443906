# SPDX-License-Identifier: BSD-3-Clause
# mypy: allow-untyped-calls
"""Stores in graphs of Dask, found and handed to the engine.

A hook on ``array_optimize``, Dask's own setting. It looks at layers that store (by the function that their tasks call),
and where all that leads there is known replaces the layer by one task; what only that layer needed is culled by Dask's
own optimization, which follows.
"""

from __future__ import annotations

import itertools
import math
import os
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.metadata import version
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask._task_spec import Alias, DataNode, Task, TaskRef
from dask.array.core import load_store_chunk
from dask.array.optimization import fuse_slice
from dask.array.optimization import optimize as dask_optimize
from dask.blockwise import Blockwise
from dask.core import flatten
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

from . import _log
from ._move import Move, memory_of
from ._portions import NotOurs, Shape, grid_portions
from ._rechunk import lazily
from ._stored import LazyArray
from ._targets import StackSink, sink_of
from ._trace import Tracer, bind

OLDEST = "2025.4.0"


class Hook:
    """What ``array_optimize`` is set to; can be pickled: with a distributed client, the scheduler calls it."""

    def __init__(self, memory: int, then: Any = None) -> None:
        self.memory = memory
        self.then = then

    def __call__(self, dsk: Any, keys: Any, **kwargs: Any) -> Any:
        if isinstance(dsk, HighLevelGraph):
            dsk = _needed(rewrite(dsk, self.memory), keys)
        return (self.then or dask_optimize)(dsk, keys, **kwargs)


def rewrite(graph: HighLevelGraph, memory: int) -> HighLevelGraph:
    """The graph, with stores that were recognised as tasks of the engine."""
    found = {name: read for name, layer in graph.layers.items() if (read := _reader_of(layer)) is not None}
    if not found:
        return graph
    layers, dependencies = dict(graph.layers), dict(graph.dependencies)
    tracer = Tracer(graph)
    for name, read in found.items():
        try:
            moves = read(tracer, graph.layers[name], memory)
        except NotOurs as reason:
            _log.decide(False, f"{name}: left to dask, since {reason}")
            continue
        except Exception as error:  # a graph that surprises us is still Dask's to run
            _log.decide(False, f"{name}: left to dask, since reading it failed: {error!r}")
            _log.logger.warning("a graph could not be read and is left to dask", exc_info=True)
            continue
        layers[name] = _replacement(graph.layers[name], moves)
        dependencies[name] = set()
        for move in moves:
            way = {"direct": "", "link": ", files linked to a grid", "gather": ", gathered in a temporary grid"}[
                move.way
            ]
            _log.decide(
                True, f"{name}: taken over, {move.shape} into {move.sink.path}, portions: {len(move.portions)}{way}"
            )
    return HighLevelGraph(layers, dependencies)


def _needed(graph: HighLevelGraph, keys: Any) -> HighLevelGraph:
    """Without the layers that nobody asks for any more: to cull them task by task, their tasks would have to be made."""
    names = {key[0] if isinstance(key, tuple) else key for key in flatten(keys)}
    return graph.cull_layers(names) if names <= set(graph.layers) else graph


def _replacement(layer: Any, moves: list[Move]) -> MaterializedLayer:
    """A layer with the same keys, which all wait for the engine."""
    tasks: dict[Any, Any] = {}
    for move in moves:
        key = f"resplit-store-{uuid.uuid4().hex}"
        tasks[key] = Task(key, run_move, DataNode(None, move))
    engine = [TaskRef(key) for key in tasks]
    tasks.update({key: Task(key, wait_for, *engine) for key in layer.get_output_keys()})
    return MaterializedLayer(tasks, annotations=layer.annotations)


def run_move(move: Move) -> None:
    """A task of a graph."""
    move.run()
    _log.add(runs=1, bytes=math.prod(move.shape) * move.sink.dtype.itemsize)


def wait_for(*_: Any) -> None:
    """What a task that stores a chunk returns."""


# ---- Layers that store ---------------------------------------------------------------------------


def _reader_of(layer: Any) -> Any:
    """The function that reads a layer, if the layer stores."""
    if isinstance(layer, Blockwise):
        return _read_stores if getattr(layer.task, "func", None) is load_store_chunk else None
    if isinstance(layer, MaterializedLayer):
        first = next(iter(layer.mapping.values()), None)
        func = first[0] if isinstance(first, tuple) and first else getattr(first, "func", None)
        if func is np.save:
            return _read_stack
        if func is load_store_chunk:
            return _read_stores
    return None


def _arguments(tracer: Tracer, key: Any, func: Any) -> dict[str, Any]:
    task = tracer.nodes[key]
    if not isinstance(task, Task) or task.func is not func:
        raise NotOurs("a layer that stores does something else, too")
    return bind(task)


def _read_stores(tracer: Tracer, layer: Any, memory: int) -> list[Move]:
    """``dask.array.store`` and what is built on it: to_zarr, to_hdf5, xarray."""
    blocks = []
    targets: dict[int, Any] = {}
    locks = []
    for key in layer.get_output_keys():
        given = {name: tracer.value(argument) for name, argument in _arguments(tracer, key, load_store_chunk).items()}
        if given["return_stored"]:
            raise NotOurs("what is stored is used afterwards")
        targets[id(given["out"])] = given["out"]
        if given["lock"] and given["lock"] not in locks:
            locks.append(given["lock"])
        blocks.append((_place(given["index"], given["region"], given["out"]), given["x"]))
    if len(targets) != 1:
        raise NotOurs(f"one layer stores into {len(targets)} targets")
    (target,) = targets.values()
    for (_, shape), block in blocks:
        if getattr(block, "shape", None) != shape:
            raise NotOurs(f"a block of shape {getattr(block, 'shape', None)} is stored at a place of shape {shape}")
    start, shape, portions = grid_portions((at, block) for (at, _), block in blocks)
    move = Move(sink_of(target, start), shape, portions, memory, _in_order(locks + tracer.locks))
    return [move.prepare()]


def _place(index: Any, region: Any, target: Any) -> tuple[Shape, Shape]:
    """Where a block is stored: its first element and its lengths."""
    if region:
        index = fuse_slice(region, index) if index else region
    index = index if isinstance(index, tuple) else (index,)
    if len(index) != len(target.shape) or not all(isinstance(item, slice) for item in index):
        raise NotOurs("blocks are stored at places that are no slices")
    found = [item.indices(extent) for item, extent in zip(index, target.shape)]
    if any(step != 1 for _, _, step in found):
        raise NotOurs("blocks are stored with steps")
    return tuple(lo for lo, _, _ in found), tuple(max(0, hi - lo) for lo, hi, _ in found)


def _in_order(locks: list[Any]) -> list[Any]:
    """Each lock once, in an order that is the same for all, so that two tasks cannot wait for each other."""
    unique = {getattr(lock, "token", id(lock)): lock for lock in locks}
    return [unique[token] for token in sorted(unique, key=str)]


def _read_stack(tracer: Tracer, layer: Any, memory: int) -> list[Move]:
    """``dask.array.to_npy_stack``: one file for each block along an axis."""
    keys = sorted(layer.mapping, key=lambda key: key[1:])
    paths, blocks, indices = [], [], []
    for key in keys:
        given = _arguments(tracer, key, np.save)
        paths.append(os.path.abspath(tracer.value(given["file"])))
        blocks.append(tracer.value(given["arr"]))
        block = given["arr"]
        key_of_block: Any = block.target if isinstance(block, Alias) else block.key
        indices.append(key_of_block[1:])
    axis = next((d for d, values in enumerate(zip(*indices)) if len(set(values)) > 1), 0)
    if len({os.path.dirname(path) for path in paths}) != 1 or not all(path.endswith(".npy") for path in paths):
        raise NotOurs("files are not .npy files of one folder")
    lengths = tuple(block.shape[axis] for block in blocks)
    starts = itertools.accumulate(lengths, initial=0)
    placed = [(tuple(at if d == axis else 0 for d in range(len(b.shape))), b) for at, b in zip(starts, blocks)]
    _, shape, portions = grid_portions(placed)
    dtype = portions[0].source.open().dtype
    move = Move(StackSink(paths, axis, lengths, shape, dtype), shape, portions, memory, _in_order(tracer.locks))
    return [move.prepare()]


# ---- Switching it on -----------------------------------------------------------------------------


@contextmanager
def optimize(memory: int | float | str | None = None) -> Iterator[None]:
    """Hands stores that only move data to the engine, within a ``with`` statement, in code that knows nothing of it.

    ``da.from_zarr(...).rechunk(...).to_zarr(...)`` and the like: arrays of zarr, HDF5 or .npy files that are read,
    sliced,
    concatenated, stacked and rechunked, and stored by ``store``, ``to_zarr``, ``to_hdf5`` or ``to_npy_stack``,
    become one task each. Any other graph is Dask's, as ever; :func:`explain` says why.

    Parameters
    ----------
    memory : int or str, optional
        The budget of the engine: bytes, or ``"1GiB"``. Half of what is available without.
    """
    why_not = self_test()
    if why_not:
        warnings.warn(f"resplit.dask.optimize does nothing, since {why_not}", RuntimeWarning, stacklevel=3)
        yield
        return
    then = dask.config.get("array_optimize", None)
    hook = Hook(memory_of(memory), None if isinstance(then, Hook) else then)
    with dask.config.set(array_optimize=hook), lazily():
        yield


@lru_cache(maxsize=1)
def self_test() -> str | None:
    """Is this a Dask that we understand? Tries what should be recognised, and what should not; says what is wrong."""
    found = version("dask")
    if _numbers(found) < _numbers(OLDEST):
        return f"dask {found} is older than {OLDEST}"
    with tempfile.TemporaryDirectory() as folder, _log.trial() as taken:
        path = os.path.join(folder, "a.npy")
        data = np.arange(35, dtype="i4").reshape(5, 7)
        np.save(path, data)
        array = da.from_array(LazyArray(path, {}), chunks=(2, 7), inline_array=True)
        for stored, expected, name in [(array, data, "a rechunk"), (array + 1, data + 1, "a sum")]:
            result = np.zeros_like(data)
            with dask.config.set(scheduler="synchronous", array_optimize=Hook(1 << 26)), lazily():
                da.store(stored.rechunk((5, 3)), result, lock=False)
            if not np.array_equal(result, expected):
                return f"{name} was stored wrongly with dask {found}"
        if taken != [True, False]:
            return f"graphs of dask {found} are not as those of versions that are known"
    return None


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:3] if part.isdigit())
