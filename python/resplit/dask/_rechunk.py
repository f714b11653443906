# SPDX-License-Identifier: BSD-3-Clause
# mypy: allow-untyped-calls
"""A rechunk whose tasks are made when somebody asks for them.

Dask makes them at once, hundreds of thousands for a rechunk of some size. Under the hook, most are never run: what they
would do follows from the two grids.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import dask.array as da
from dask._task_spec import Alias
from dask.highlevelgraph import HighLevelGraph, Layer, MaterializedLayer
from dask.tokenize import tokenize

# dask.array.rechunk is a function, too, so the module is not where its name says
_module = importlib.import_module("dask.array.rechunk")
_NAME = "_compute_rechunk"
_make_tasks: Any = getattr(_module, _NAME, None)


class RechunkLayer(Layer):
    """The layer of one step of a rechunk, as Dask would make it."""

    def __init__(self, array: da.Array, chunks: Any) -> None:
        super().__init__()
        self.name = f"rechunk-merge-{tokenize(array, chunks)}"
        self.chunks = chunks
        self.name_input, self.chunks_input = array.name, array.chunks
        self._input = da.Array({}, array.name, array.chunks, meta=array._meta)  # without its graph

    @cached_property
    def _tasks(self) -> dict[Any, Any]:
        made = _make_tasks(self._input, self.chunks)
        tasks = dict(made.dask.layers[made.name])
        if made.name != self.name:  # another version, another name
            tasks.update({key: Alias(key, (made.name, *key[1:])) for key in self.get_output_keys()})
        return tasks

    def __getitem__(self, key: Any) -> Any:
        return self._tasks[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._tasks)

    def __len__(self) -> int:
        return len(self._tasks)

    def is_materialized(self) -> bool:
        return "_tasks" in vars(self)

    def get_output_keys(self) -> set[Any]:
        return set(itertools.product([self.name], *(range(len(c)) for c in self.chunks)))

    def __reduce__(self) -> Any:
        return MaterializedLayer, (self._tasks, self.annotations)  # whoever gets it may not know us


def _rechunk(array: Any, chunks: Any) -> Any:
    if array.size == 0:
        return _make_tasks(array, chunks)
    layer = RechunkLayer(array, chunks)
    graph = HighLevelGraph.from_collections(layer.name, layer, dependencies=[array])
    return da.Array(graph, layer.name, chunks, meta=array)


@contextmanager
def lazily() -> Iterator[None]:
    """Rechunks within are lazy, where this Dask makes their tasks as others do."""
    before = getattr(_module, _NAME, None)
    if before is not _make_tasks or before is None:  # somebody else's, or ours already
        yield
        return
    setattr(_module, _NAME, _rechunk)
    try:
        yield
    finally:
        setattr(_module, _NAME, before)
