# SPDX-License-Identifier: BSD-3-Clause
"""A store that was recognised: what is moved, and how."""

from __future__ import annotations

import itertools
import math
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import _api, _words
from .._array import Array, describe, open_array
from ._portions import NotOurs, Portion, Shape, cuts, tiles
from ._sinks import Sink, beside, by_source, folder_beside, plain, roi_of
from ._stored import Stored, opened

_ENGINE = threading.Lock()  # one budget: one run at a time in a process
SHARE = 0.6  # of the limit of a worker; Dask spills at 0.6, pauses at 0.8 and kills at 0.95
_CHECKED = 64  # portions that are planned for before anything is done


@dataclass
class Move:
    """Portions of stored arrays that go to a sink.

    Attributes
    ----------
    way : str
        ``"direct"``: each portion is made at its place. ``"link"``: portions are whole .npy files, which are a grid.
        ``"gather"``: portions are first gathered as blocks of a grid in a temporary folder, since some blocks of the
        target are made of several.
    """

    sink: Sink
    shape: Shape
    portions: tuple[Portion, ...]
    memory: int
    locks: list[Any] = field(default_factory=list)
    way: str = "direct"
    shapes: dict[Stored, Shape] = field(default_factory=dict)  # of the sources, as they were found

    def prepare(self) -> Move:
        """Finds the way, and makes sure as far as can be known that it will work."""
        if not self.portions or math.prod(self.shape) == 0:
            raise NotOurs("there is nothing to store")
        for portion in self.portions:
            array = opened(portion.source)
            self.shapes[portion.source] = array.shape
            if array.dtype != self.sink.dtype:
                raise NotOurs(f"{array.dtype} is stored as {self.sink.dtype}")
            if self.sink.is_source(portion.source):
                raise NotOurs(f"{self.sink.path} is both read and written")
        self.sink.probe()
        self._check_place()
        whole = self._whole()
        if _are_files(self.portions) and self.sink.takes(whole):
            self.way = "link"
        elif all(self.sink.takes(portion) for portion in self.portions):
            for portion in self.portions[:_CHECKED]:
                self.sink.check(portion, opened(portion.source), self.memory)
            return self
        elif self.sink.takes(whole):
            self.way = "gather"
        else:
            raise NotOurs("what is stored does not begin and end where chunks of the target do")
        grid = describe(
            self.shape,
            self.sink.dtype,
            chunks=cuts(self.portions, self.shape),
            format="npy" if self.way == "link" else "raw",
        )
        self.sink.check(whole, grid, self.memory)
        return self

    def _check_place(self) -> None:
        """Temporary files are renamed to their places, so they have to be on the same file system."""
        if not os.path.isabs(self.sink.path):
            return  # it is in memory
        folder, _ = folder_beside(self.sink.path)
        target = self.sink.path if os.path.isdir(self.sink.path) else os.path.dirname(self.sink.path)
        if not os.access(folder, os.W_OK) or os.stat(folder).st_dev != os.stat(target).st_dev:
            raise NotOurs(f"nothing can be made in '{folder}' and moved to '{target}'")

    def _look_again(self) -> None:
        """Between planning and running, on other machines even, an array may become another one."""
        for stored, shape in self.shapes.items():
            array = stored.open()
            if array.shape != shape or array.dtype != self.sink.dtype:
                raise RuntimeError(
                    f"'{stored.path}' is {array.shape} {array.dtype} now, and was {shape} {self.sink.dtype} before"
                )

    def _whole(self) -> Portion:
        n = len(self.shape)
        return Portion(Stored("<grid>"), tuple(range(n)), (0,) * n, (0,) * n, self.shape)

    def run(self) -> None:
        with ExitStack() as stack:
            for lock in self.locks:
                stack.enter_context(lock)
            stack.enter_context(_ENGINE)
            self.memory = min(self.memory, memory_of_worker() or self.memory)
            self._look_again()
            if self.way == "direct":
                for portion in self.portions:
                    self.sink.take(portion, portion.source.open(), self.memory)
                return
            with beside(self.sink.path if os.path.isabs(self.sink.path) else "gather") as folder:
                gather = link if self.way == "link" else copy
                grid = gather(folder, self.portions, self.shape, self.sink.dtype, self.memory)
                self.sink.take(self._whole(), grid, self.memory)


def _are_files(portions: tuple[Portion, ...]) -> bool:
    """Are they whole .npy files that make up a grid?"""
    for portion in portions:
        stored = portion.source
        if not isinstance(stored, Stored) or dict(stored.spec).get("format") != "npy" or not plain(portion):
            return False
        if any(portion.origin) or opened(stored).shape != portion.shape:
            return False
    return len(portions) > 1 and tiles([(portion.at, portion.shape) for portion in portions])


# ---- Gathering portions ----------------------------------------------------------------------------


def link(folder: str, portions: tuple[Portion, ...], shape: Shape, dtype: np.dtype[Any], memory: int) -> Array:
    """A grid of files that are somewhere else."""
    grid = Cells(shape, cuts(portions, shape))
    for portion in portions:
        first, _ = grid.range_of(portion)
        os.symlink(os.path.abspath(portion.source.path), os.path.join(folder, grid.name(first, "npy")))
    return grid.open(folder, "npy", dtype)


def copy(folder: str, portions: tuple[Portion, ...], shape: Shape, dtype: np.dtype[Any], memory: int) -> Array:
    """A grid of raw blocks, made portion by portion. Raw: a block has as many axes as whoever opens it says."""
    grid = Cells(shape, cuts(portions, shape))
    for i, portion in enumerate(portions):
        first, lengths = grid.range_of(portion)
        made = os.path.join(folder, f"portion-{i}")
        axes = len(portion.origin)
        _api.resplit(
            portion.source.open(),
            made,
            memory=memory,
            roi=roi_of(portion),
            chunks=by_source(portion, lengths),
            format="raw",
            order="C",
            pattern="_".join(f"{{{d}}}" for d in range(axes)) + ".raw" if axes else None,
            sync="none",
        )
        for index in np.ndindex(*map(len, lengths)):
            old = "_".join(map(str, by_source(portion, index, 0))) + ".raw"
            name = grid.name([a + b for a, b in zip(first, index)], "raw")
            os.rename(os.path.join(made, old), os.path.join(folder, name))
    return grid.open(folder, "raw", dtype)


class Cells:
    """A grid of files that are named by their indices. `lengths`: of its cells, along each axis."""

    def __init__(self, shape: Shape, lengths: Sequence[tuple[int, ...]]) -> None:
        self.shape, self.lengths = shape, lengths
        self.starts = [{at: i for i, at in enumerate([0, *itertools.accumulate(axis)][:-1])} for axis in lengths]

    def range_of(self, portion: Portion) -> tuple[list[int], list[tuple[int, ...]]]:
        """Index of the first cell of a portion, and lengths of its cells."""
        first = [starts[at] for starts, at in zip(self.starts, portion.at)]
        lengths = []
        for d, i in enumerate(first):
            stop = i
            while sum(self.lengths[d][i:stop]) < portion.shape[d]:
                stop += 1
            lengths.append(self.lengths[d][i:stop])
        return first, lengths

    def name(self, index: Any, suffix: str) -> str:
        return "_".join(map(str, index)) + "." + suffix

    def open(self, folder: str, suffix: str, dtype: np.dtype[Any]) -> Array:
        pattern = "_".join(f"{{{d}}}" for d in range(len(self.shape))) + "." + suffix
        return open_array(folder, format=suffix, dtype=dtype, shape=self.shape, chunks=self.lengths, pattern=pattern)


def memory_of_worker() -> int | None:
    """What a worker of Dask can spare, if this is one that has a limit."""
    distributed = sys.modules.get("distributed")
    try:
        limit = distributed.get_worker().memory_manager.memory_limit if distributed is not None else None
    except (AttributeError, ValueError):  # this is no worker
        return None
    return None if not limit else max(1 << 20, int(SHARE * limit) - resident())


def resident() -> int:
    """Bytes that this process has in memory."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def memory_of(memory: Any) -> int:
    return _words.memory_or_default(memory)
