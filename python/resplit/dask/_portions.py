# SPDX-License-Identifier: BSD-3-Clause
"""Blocks that are known without being computed: of which elements of which stored arrays they are. Integers only."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._stored import Stored

Shape = tuple[int, ...]
Box = tuple[Shape, Shape]  # where it begins, and its lengths


class NotOurs(Exception):
    """A graph is left to Dask; the message says why."""


@dataclass(frozen=True)
class Portion:
    """A box of a stored array, and where it lies in a block.

    Attributes
    ----------
    source : Stored
        Which stored array.
    axes : tuple
        For each axis of the block, that of the source, or None: one that the source does not have, of length 1.
    origin : tuple of int
        Where the box begins, along each axis of the source. Along axes that the block does not have, its length is 1.
    at, shape : tuple of int
        Where it lies in the block, and its lengths, along each axis of the block.
    """

    source: Stored
    axes: tuple[int | None, ...]
    origin: Shape
    at: Shape
    shape: Shape

    def moved(self, by: Sequence[int]) -> Portion:
        return replace(self, at=tuple(map(operator.add, self.at, by)))

    def family(self) -> Hashable:
        """The same for portions that one copy of one box would bring: their source and the way from it are the same."""
        shift = list(self.origin)
        for axis, at in zip(self.axes, self.at):
            if axis is not None:
                shift[axis] -= at
        new = tuple(
            at for axis, at in zip(self.axes, self.at) if axis is None
        )  # along these, the same elements could come again
        return self.source, self.axes, tuple(shift), new

    def source_box(self) -> Box:
        lengths = [1] * len(self.origin)
        for axis, length in zip(self.axes, self.shape):
            if axis is not None:
                lengths[axis] = length
        return self.origin, tuple(lengths)


@dataclass(frozen=True)
class Block:
    """What a task returns, as portions that cover it exactly once."""

    shape: Shape
    portions: tuple[Portion, ...]


def whole(source: Stored, shape: Sequence[int]) -> Block:
    """All of a stored array."""
    n = len(shape)
    return Block(tuple(shape), (Portion(source, tuple(range(n)), (0,) * n, (0,) * n, tuple(shape)),))


# ---- Indexing ------------------------------------------------------------------------------------


def _expanded(index: Any, ndim: int) -> list[Any]:
    """An index with one entry for each axis, and None for new ones."""
    items = list(index) if isinstance(index, tuple) else [index]
    for item in items:
        if not (item is None or item is Ellipsis or isinstance(item, (slice, Integral))):
            raise NotOurs(f"an index is no slice and no integer, but a {type(item).__name__}")
    named = sum(item is not None and item is not Ellipsis for item in items)
    rest = [slice(None)] * (ndim - named)
    at = next((i for i, item in enumerate(items) if item is Ellipsis), None)
    return items + rest if at is None else items[:at] + rest + items[at + 1 :]


def index_block(block: Block, index: Any) -> Block:
    """``block[index]``, for integers, new axes and slices without steps."""
    if any(isinstance(item, bool) for item in (index if isinstance(index, tuple) else (index,))):
        raise NotOurs("an index is a truth value")
    start: list[int] = []  # along each axis of the block
    stop: list[int] = []
    made: list[int | None] = []  # for each axis of the result, that of the block
    for item in _expanded(index, len(block.shape)):
        if item is None:
            made.append(None)
            continue
        d = len(start)
        if isinstance(item, slice):
            lo, hi, step = item.indices(block.shape[d])
            if step != 1:
                raise NotOurs(f"a slice has a step of {step}")
            made.append(d)
        else:
            lo = operator.index(item)
            lo += block.shape[d] if lo < 0 else 0
            hi = lo + 1
        start.append(lo)
        stop.append(max(lo, hi))
    shape = tuple(1 if d is None else stop[d] - start[d] for d in made)
    found = (_cut(portion, start, stop, made) for portion in block.portions)
    return Block(shape, tuple(portion for portion in found if portion is not None))


def _cut(portion: Portion, start: Sequence[int], stop: Sequence[int], made: Sequence[int | None]) -> Portion | None:
    """What of a portion is in a box of its block, in the axes of the result; None: nothing."""
    lo = tuple(map(max, portion.at, start))
    hi = tuple(min(a + n, b) for a, n, b in zip(portion.at, portion.shape, stop))
    if any(a >= b for a, b in zip(lo, hi)):
        return None
    origin = list(portion.origin)
    for axis, before, after in zip(portion.axes, portion.at, lo):
        if axis is not None:
            origin[axis] += after - before
    return Portion(
        portion.source,
        tuple(None if d is None else portion.axes[d] for d in made),
        tuple(origin),
        tuple(0 if d is None else lo[d] - start[d] for d in made),
        tuple(1 if d is None else hi[d] - lo[d] for d in made),
    )


# ---- Putting together ----------------------------------------------------------------------------


def concatenate(parts: Any) -> Block:
    """A block from nested lists of blocks, which are as deep as blocks have axes."""
    depth, first = 0, parts
    while isinstance(first, list):
        if not first:
            raise NotOurs("nothing is concatenated")
        first, depth = first[0], depth + 1
    if not isinstance(first, Block) or len(first.shape) != depth:
        raise NotOurs("what is concatenated are not lists as deep as arrays have axes")
    return _concatenate(parts, 0, depth)


def _concatenate(parts: Any, axis: int, depth: int) -> Block:
    if axis == depth:
        if not isinstance(parts, Block):
            raise NotOurs("lists that are concatenated are not of one depth")
        return parts
    if not isinstance(parts, list):
        raise NotOurs("lists that are concatenated are not of one depth")
    blocks = [_concatenate(part, axis + 1, depth) for part in parts]
    shape = list(blocks[0].shape)
    portions: list[Portion] = []
    extent = 0
    for block in blocks:
        if block.shape[:axis] + block.shape[axis + 1 :] != tuple(shape[:axis] + shape[axis + 1 :]):
            raise NotOurs(f"blocks of shapes {blocks[0].shape} and {block.shape} are concatenated")
        by = [extent if d == axis else 0 for d in range(depth)]
        portions += [portion.moved(by) for portion in block.portions]
        extent += block.shape[axis]
    shape[axis] = extent
    return Block(tuple(shape), join(portions))


def join(portions: Iterable[Portion]) -> tuple[Portion, ...]:
    """The same in fewer portions: of each family one, where its boxes tile a box."""
    families: dict[Hashable, list[Portion]] = {}
    for portion in portions:
        families.setdefault(portion.family(), []).append(portion)
    return tuple(itertools.chain.from_iterable(_join_family(family) for family in families.values()))


def _join_family(family: list[Portion]) -> list[Portion]:
    first = min(family, key=lambda portion: portion.at)
    if len(family) == 1 or not tiles([(portion.at, portion.shape) for portion in family]):
        return family
    stop = [max(portion.at[d] + portion.shape[d] for portion in family) for d in range(len(first.at))]
    return [replace(first, shape=tuple(map(operator.sub, stop, first.at)))]


def tiles(boxes: Sequence[Box]) -> bool:
    """Do the boxes make up a grid, each cell once? Then their union is a box."""
    intervals = [sorted({(at[d], at[d] + shape[d]) for at, shape in boxes}) for d in range(len(boxes[0][0]))]
    if any(before[1] != after[0] for axis in intervals for before, after in itertools.pairwise(axis)):
        return False
    return len(set(boxes)) == len(boxes) == math.prod(map(len, intervals))


def grid_portions(blocks: Iterable[tuple[Shape, Block]]) -> tuple[Shape, Shape, tuple[Portion, ...]]:
    """An array from blocks and where they begin: where it begins itself, its shape, and its portions."""
    placed = [(at, block) for at, block in blocks]
    boxes = [(at, block.shape) for at, block in placed]
    if not boxes or not tiles(boxes):
        raise NotOurs("what is stored is not a whole grid of blocks")
    start = min(at for at, _ in boxes)
    stop = [max(at[d] + shape[d] for at, shape in boxes) for d in range(len(start))]
    shape = tuple(map(operator.sub, stop, start))
    by = [[a - b for a, b in zip(at, start)] for at, _ in boxes]
    portions = join(portion.moved(offset) for offset, (_, block) in zip(by, placed) for portion in block.portions)
    if sum(math.prod(portion.shape) for portion in portions) != math.prod(shape):
        raise NotOurs("portions do not cover what is stored")
    return start, shape, portions


def cuts(portions: Sequence[Portion], shape: Shape) -> list[tuple[int, ...]]:
    """Lengths along each axis of the coarsest grid that has no cell in two portions."""
    found = []
    for d, extent in enumerate(shape):
        borders = sorted({0, extent, *(p.at[d] for p in portions), *(p.at[d] + p.shape[d] for p in portions)})
        found.append(tuple(b - a for a, b in itertools.pairwise(borders)))
    return found
