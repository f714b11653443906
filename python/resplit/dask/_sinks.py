# SPDX-License-Identifier: BSD-3-Clause
"""Where Dask stores arrays: in objects that are there already.

A sink has the engine make blocks beside them, and moves these in.
"""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import _api
from .._array import Array
from .._errors import ResplitError
from ._portions import NotOurs, Portion, Shape
from ._stored import Stored

Indices = Iterator[tuple[tuple[int, ...], tuple[int, ...]]]


# What a folder has that is a group of Zarr, or an array.
_ZARR_FILES = ("zarr.json", ".zgroup", ".zarray", ".zmetadata")


def folder_beside(path: str) -> tuple[str, str]:
    """Where something temporary can be made for a path, and after what to name it.

    Outside of Zarr groups: an array that is made within one changes the group, whose copies of metadata it is not in.
    """
    folder, name = os.path.split(os.path.abspath(path))
    while any(os.path.exists(os.path.join(folder, file)) for file in _ZARR_FILES):
        folder, name = os.path.split(folder)
    return folder, name


@contextmanager
def beside(path: str) -> Iterator[str]:
    """A temporary folder on the file system of a path, hidden, and gone afterwards."""
    folder, name = folder_beside(path)
    made = tempfile.mkdtemp(prefix=f".{name}.resplit-", dir=folder)
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def by_source(portion: Portion, values: Any, others: Any = 1) -> list[Any]:
    """Values for axes of the target, as values for axes of the source; `others` for those that are gone."""
    found = [others] * len(portion.origin)
    for axis, value in zip(portion.axes, values):
        if axis is not None:
            found[axis] = value
    return found


def roi_of(portion: Portion) -> tuple[slice, ...]:
    return tuple(slice(a, a + n) for a, n in zip(*portion.source_box()))


def plain(portion: Portion) -> bool:
    """Has the target the axes of the source?"""
    return portion.axes == tuple(range(len(portion.origin)))


class Sink:
    """Where elements go: a box, from `start` on, of an array that is at `path`.

    Attributes
    ----------
    lengths : tuple
        Of what has to be written at once, along each axis; a tuple of lengths where they differ.
    """

    path: str
    start: Shape
    dtype: np.dtype[Any]
    extents: Shape  # of the whole array
    lengths: tuple[Any, ...]

    def takes(self, portion: Portion) -> bool:
        """Can the portion be made without any other?"""
        for d, axis in enumerate(portion.axes):
            lo = self.start[d] + portion.at[d]
            hi = lo + portion.shape[d]
            if axis is None and self.lengths[d] != 1:
                return False
            if lo % self.lengths[d] or hi != self.extents[d] and hi % self.lengths[d]:
                return False
        return True

    def is_source(self, stored: Stored) -> bool:
        """Is it the array that is read? Some of it would be replaced before it is."""
        return os.path.realpath(self.path) == os.path.realpath(stored.path)

    def options(self, portion: Portion) -> dict[str, Any]:
        """Of the engine, which makes the blocks of a portion."""
        raise NotImplementedError

    def name(self, folder: str) -> str:
        """What the engine should make."""
        raise NotImplementedError

    def probe(self) -> None:
        """Is this a place that we can write to as its owner would?"""

    def check(self, portion: Portion, source: Array, memory: int) -> None:
        """Is there a plan?"""
        try:
            _api.plan(source, self.name("."), memory=memory, roi=roi_of(portion), **self.options(portion))
        except (ResplitError, ValueError, TypeError) as error:
            raise NotOurs(f"no plan was found: {error}") from None

    def take(self, portion: Portion, source: Array, memory: int) -> None:
        """Makes the blocks of a portion and moves them to their places."""
        with beside(self.path) as folder:
            made = self.name(folder)
            _api.resplit(source, made, memory=memory, roi=roi_of(portion), **self.options(portion))
            self.move(portion, made, memory)

    def move(self, portion: Portion, made: str, memory: int) -> None:
        raise NotImplementedError

    def blocks(self, portion: Portion) -> Indices:
        """Of each block of a portion: its indices among those that were made, and at its place."""
        first = [(s + a) // n for s, a, n in zip(self.start, portion.at, self.lengths)]
        counts = [-(-extent // n) for extent, n in zip(portion.shape, self.lengths)]
        for index in itertools.product(*map(range, counts)):
            yield tuple(by_source(portion, index, 0)), tuple(map(sum, zip(first, index)))
