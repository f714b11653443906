# SPDX-License-Identifier: BSD-3-Clause
# mypy: allow-untyped-calls
"""Follows a graph from what is stored back to the arrays it was read from.

Tasks are not run but read: each that only moves elements (reading, slicing, concatenating) gives a :class:`Block`,
by the function it calls and never by its name; any other ends the search with :class:`NotOurs`.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import dask.array.chunk
import dask.array.core
import numpy as np
from dask._task_spec import Alias, DataNode, GraphNode, NestedContainer, Task, TaskRef, convert_legacy_graph
from dask.core import reshapelist
from dask.highlevelgraph import HighLevelGraph

from ._portions import Block, NotOurs, Shape, concatenate, grid_portions, index_block, whole
from ._rechunk import RechunkLayer
from ._stored import Stored, block_of, is_a, opened

_SHUFFLE = "distributed.shuffle._rechunk", "P2PRechunkLayer"
GETTERS = (dask.array.core.getter, dask.array.core.getter_nofancy, dask.array.core.getter_inline)


class Tracer:
    """The blocks of a graph, found as they are asked for."""

    def __init__(self, graph: HighLevelGraph) -> None:
        self.rechunks = {
            name: layer
            for name, layer in graph.layers.items()
            if isinstance(layer, RechunkLayer) or is_a(layer, *_SHUFFLE)
        }
        plain: dict[Any, Any] = {}
        for name, layer in graph.layers.items():
            if name not in self.rechunks:
                plain.update(layer)
        keys = set(plain).union(*(layer.get_output_keys() for layer in self.rechunks.values()))
        self.nodes: Mapping[Any, GraphNode] = convert_legacy_graph(plain, keys)
        self.locks: list[Any] = []
        self._known: dict[Any, Any] = {}
        self._objects: dict[int, Block] = {}

    def block(self, key: Any) -> Block:
        """What a key will be."""
        value = self.value(TaskRef(key))
        if not isinstance(value, Block):
            raise NotOurs(
                "data are in memory" if isinstance(value, np.ndarray) else f"{type(value).__name__} is no array"
            )
        return value

    def value(self, node: Any) -> Any:
        """What an argument will be: a block, a list of them, or an object."""
        if isinstance(node, (TaskRef, Alias)):
            key = node.key if isinstance(node, TaskRef) else node.target
            if key not in self._known:
                self._known[key] = self._find(key)
            return self._known[key]
        if isinstance(node, DataNode):
            return node.value
        if isinstance(node, NestedContainer):
            return node.constructor(self.value(item) for item in node.args)
        if isinstance(node, Task):
            return self._call(node)
        if isinstance(node, list):
            return [self.value(item) for item in node]
        return node

    def _find(self, key: Any) -> Any:
        if key in self.nodes:
            return self.value(self.nodes[key])
        name = key[0] if isinstance(key, tuple) else None
        if name in self.rechunks:
            return self._rechunked(self.rechunks[name], key[1:])
        raise NotOurs("something is computed already, and kept elsewhere")

    def _call(self, task: Task) -> Any:
        read = _KNOWN.get(task.func)
        if read is None:
            name = getattr(task.func, "__name__", None) or type(task.func).__name__
            raise NotOurs(f"there is computation: {name}")
        given = bind(task)
        return read(self, **{name: self.value(argument) for name, argument in given.items()})

    # ---- What functions do ----

    def _get(self, a: Any, b: Any, asarray: Any = None, lock: Any = None) -> Block:
        if lock and lock not in self.locks:
            self.locks.append(lock)
        if not isinstance(a, Block):
            if id(a) not in self._objects:
                self._objects[id(a)] = block_of(a)
            a = self._objects[id(a)]
        return index_block(a, b)

    def _getitem(self, a: Any, b: Any) -> Any:
        if not isinstance(a, Block):
            raise NotOurs("data are in memory")
        return index_block(a, b)

    def _load(self, file: Any, mmap_mode: Any = None, **_: Any) -> Block:
        stored = Stored(str(file), (("format", "npy"),))
        return whole(stored, opened(stored).shape)

    def _shaped(self, arrays: Any, shape: Any) -> Block:
        return concatenate(reshapelist(shape, list(arrays)))

    def _rechunked(self, layer: Any, index: Shape) -> Block:
        """A block of what was rechunked as a whole, by shuffling or lazily: a part of all that goes in."""
        if layer.name not in self._known:
            keys = itertools.product([layer.name_input], *(range(len(c)) for c in layer.chunks_input))
            blocks = zip(starts_of(layer.chunks_input), map(self.block, keys))
            _, shape, portions = grid_portions(blocks)
            self._known[layer.name] = Block(shape, portions)
        start = [sum(c[:i]) for c, i in zip(layer.chunks, index)]
        return index_block(
            self._known[layer.name], tuple(slice(a, a + c[i]) for a, c, i in zip(start, layer.chunks, index))
        )


_KNOWN: dict[Callable[..., Any], Callable[..., Any]] = {
    **dict.fromkeys(GETTERS, Tracer._get),
    operator.getitem: Tracer._getitem,
    dask.array.chunk.getitem: lambda tracer, obj, index: tracer._getitem(obj, index),
    dask.array.core.concatenate3: lambda tracer, arrays: concatenate(arrays),
    dask.array.core.concatenate_shaped: Tracer._shaped,
    np.load: Tracer._load,
}


@functools.lru_cache(maxsize=16)
def _signature(func: Any) -> inspect.Signature:
    return inspect.signature(func)


def bind(task: Task) -> dict[str, Any]:
    """The arguments of a task by their names."""
    given = _signature(task.func).bind(*task.args, **task.kwargs)
    given.apply_defaults()
    return given.arguments


def starts_of(chunks: Iterable[Iterable[int]]) -> Iterable[Shape]:
    """Where the blocks of a grid begin, in the order of their keys."""
    return itertools.product(*([0, *itertools.accumulate(lengths)][:-1] for lengths in map(tuple, chunks)))


def trace_array(array: dask.array.core.Array) -> tuple[Tracer, Shape, tuple[Any, ...]]:
    """A collection, as portions of stored arrays."""
    tracer = Tracer(array.dask)
    keys = itertools.product([array.name], *map(range, array.numblocks))
    placed = [(at, tracer.block(key)) for at, key in zip(starts_of(array.chunks), keys)]
    _, shape, portions = grid_portions(placed)
    if shape != array.shape:
        raise NotOurs(f"the array has shape {array.shape}, and its blocks make up {shape}")
    return tracer, shape, portions
