# SPDX-License-Identifier: BSD-3-Clause
"""NumPy's basic slicing, as boxes that are read into memory.

a[10:2:-3, ..., None, 5]
    -- parse --> of every axis: first, step > 0, count, backwards?   and what the result is made of them
    -- read  --> boxes of the array, straight into their place in the result
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# A dense box of at most so many bytes is read at once, and what is wanted taken out of it.
SMALL = 4 << 20

Reader = Callable[[Sequence[int], Sequence[int], "np.ndarray[Any, Any]"], None]


@dataclass(frozen=True)
class Selection:
    """Positions ``first, first + step, ...`` along every axis, and how the result looks."""

    first: tuple[int, ...]
    step: tuple[int, ...]
    count: tuple[int, ...]
    backwards: tuple[bool, ...]
    shape: tuple[int, ...]  # of the result: without integers, with new axes
    scalar: bool  # nothing but integers


def _expand(key: Any, ndim: int) -> tuple[list[Any], bool]:
    items = list(key) if isinstance(key, tuple) else [key]
    ellipses = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(ellipses) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    axes = sum(item is not None and item is not Ellipsis for item in items)
    if axes > ndim:
        raise IndexError(f"too many indices for array: array is {ndim}-dimensional, but {axes} were indexed")
    at = ellipses[0] if ellipses else len(items)
    items[at : at + 1] = [slice(None)] * (ndim - axes)
    return items, bool(ellipses)


def _index(item: Any, extent: int, axis: int) -> int:
    if isinstance(item, (bool, np.bool_)) or not hasattr(item, "__index__") or getattr(item, "ndim", 0) != 0:
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`) and numpy.newaxis (`None`) are valid indices: "
            "read a region, and index the result"
        )
    index = operator.index(item)
    if not -extent <= index < extent:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {extent}")
    return index % extent


def parse(key: Any, shape: tuple[int, ...]) -> Selection:
    """What a key selects of an array of this shape, by the rules of NumPy."""
    items, has_ellipsis = _expand(key, len(shape))
    first: list[int] = []
    steps: list[int] = []
    counts: list[int] = []
    backwards: list[bool] = []
    out: list[int] = []
    for item in items:
        axis = len(first)
        if item is None:
            out.append(1)
            continue
        if isinstance(item, slice):
            start, stop, step = item.indices(shape[axis])
            count = len(range(start, stop, step))
            first.append(start if step > 0 else start + step * max(count - 1, 0))
            steps.append(abs(step))
            out.append(count)
        else:
            step, count = 1, 1
            first.append(_index(item, shape[axis], axis))
            steps.append(1)
        counts.append(count)
        backwards.append(step < 0)
    if 0 in counts:
        first = [0] * len(first)
    scalar = not out and not has_ellipsis
    return Selection(tuple(first), tuple(steps), tuple(counts), tuple(backwards), tuple(out), scalar)


def _ends(first: Sequence[int], step: Sequence[int], count: Sequence[int]) -> list[int]:
    return [f + s * (n - 1) + 1 for f, s, n in zip(first, step, count)]


def _groups(first: int, step: int, count: int, cuts: Sequence[int] | None) -> list[tuple[int, int]]:
    """Positions that are read together, as (from, to): those in the same block, or each by itself."""
    if cuts is None:
        return [(i, i + 1) for i in range(count)]
    where = np.searchsorted(cuts, first + step * np.arange(count), side="right")
    borders = [0, *(np.flatnonzero(np.diff(where)) + 1).tolist(), count]
    return list(zip(borders, borders[1:]))


def read_steps(
    read: Reader,
    first: list[int],
    step: list[int],
    count: list[int],
    cuts: Sequence[Sequence[int] | None],
    out: np.ndarray[Any, Any],
) -> None:
    """Reads every `step`-th element along each axis into `out`.

    Parameters
    ----------
    read
        Reads a box, from start to stop, into an array.
    cuts
        Of each axis, the ends of its blocks, where blocks have to be read whole; None where they need not.
    """
    stop = _ends(first, step, count)
    dense = [b - a for a, b in zip(first, stop)]
    axis = next((d for d, s in enumerate(step) if s > 1 and count[d] > 1), None)
    if axis is None:
        read(first, stop, out)
        return
    if np.prod(dense, dtype=float) * out.itemsize <= SMALL:
        box = np.empty(dense, out.dtype)
        read(first, stop, box)
        out[...] = box[tuple(slice(None, None, s if n > 1 else 1) for s, n in zip(step, count))]
        return
    for lo, hi in _groups(first[axis], step[axis], count[axis], cuts[axis]):
        part = out[(slice(None),) * axis + (slice(lo, hi),)]
        begin = first[:axis] + [first[axis] + lo * step[axis]] + first[axis + 1 :]
        length = (hi - lo - 1) * step[axis] + 1
        steps = step[:axis] + [1] + step[axis + 1 :]
        counts = count[:axis] + [length] + count[axis + 1 :]
        if hi - lo == 1:
            read_steps(read, begin, steps, counts, cuts, part)
        else:
            box = np.empty(counts, out.dtype)
            read_steps(read, begin, steps, counts, cuts, box)
            part[...] = box[(slice(None),) * axis + (slice(None, None, step[axis]),)]


def select(
    read: Reader, selection: Selection, cuts: Sequence[Sequence[int] | None], dtype: np.dtype[Any], order: str
) -> Any:
    """The elements of a selection, as NumPy would give them."""
    out = np.empty(selection.count, dtype, order="F" if order == "F" else "C")
    if out.size:
        turn: Any = (*(slice(None, None, -1 if back else 1) for back in selection.backwards), ...)
        turned = out[turn]
        read_steps(read, list(selection.first), list(selection.step), list(selection.count), cuts, turned)
    out = out.reshape(selection.shape, order="A")
    return out[()] if selection.scalar else out
