# SPDX-License-Identifier: BSD-3-Clause
"""Exact seeks and memory of any plan of nested loops (docs/algorithm.md, sections 3 and 4), written apart from the library, so that
each can be held against the other; and the same by walking over all buffers.

A plan is a list of cuts for each axis (a length, or lengths), the order of loops, outermost first, and the set of kept axes.
"""

import itertools
from math import prod

import numpy as np


def borders(n, cut):
    """0, ..., n: where an axis of n elements is cut; cut is one length or all of them."""
    if isinstance(cut, (tuple, list)):
        at = np.concatenate([[0], np.cumsum(cut)])
        if at[-1] != n:
            raise ValueError(f"lengths add up to {at[-1]}, not to {n}")
        return at
    return np.append(np.arange(0, n, min(cut, n)), n)


def pieces(blocks, buffers):
    """How many pieces buffers cut the blocks of an axis into: those that are whole blocks, and the others."""
    n_all = len(np.union1d(blocks, buffers)) - 1
    inside = np.searchsorted(buffers, blocks[1:]) - np.searchsorted(buffers, blocks[:-1], side="right")
    full = int(np.count_nonzero(inside == 0))
    return full, n_all - full


def runs(shape, blocks, buffers):
    """Contiguous runs over all blocks, each accessed in the pieces that the buffers cut it into."""
    full, part = zip(*map(pieces, blocks, buffers))
    return prod(full) + sum(prod(shape[:t]) * part[t] * prod(full[t + 1:]) for t in range(len(shape)))


def seeks(shape, source, target, buffer, kept):
    """(read, written)."""
    cut = [borders(n, b) for n, b in zip(shape, buffer)]
    blocks = [borders(n, b) for n, b in zip(shape, target)]
    units = [blocks[d] if d in kept else cut[d] for d in range(len(shape))]
    return runs(shape, [borders(n, b) for n, b in zip(shape, source)], cut), runs(shape, blocks, units)


def undominated(read, done):
    """Of all pairs, those that could lead to a maximum of read - done: none has more read and less done."""
    order = np.lexsort((done, -read))
    read, done = read[order], done[order]
    least = np.minimum.accumulate(done)
    first = np.append(True, done[1:] < least[:-1])
    return read[first], done[first]


def held(shape, target, buffer, order, kept):
    """The most elements held: leftovers and the buffer just read."""
    read, done = np.array([1.0]), np.array([0.0]) # exact: below 2**53
    n_inside = 1
    for d in reversed(order):
        cut, blocks = borders(shape[d], buffer[d]), borders(shape[d], target[d])
        ended = blocks[np.searchsorted(blocks, cut, side="right") - 1] if d in kept else cut
        lo, hi, lo_ended, hi_ended = (x.astype(float)[:, None] for x in (cut[:-1], cut[1:], ended[:-1], ended[1:]))
        read, done = undominated((lo * n_inside + (hi - lo) * read).ravel(),
                                 (lo_ended * n_inside + (hi_ended - lo_ended) * done).ravel())
        n_inside *= shape[d]
    return int((read - done).max())


def best_order(shape, target, buffer, kept):
    """(elements held, order) of the loops that hold least."""
    return min((held(shape, target, buffer, order, kept), order) for order in itertools.permutations(range(len(shape))))


# ---- the same, by walking ----------------------------------------------------------------------------------------


def boxes(cuts):
    return itertools.product(*(zip(c[:-1], c[1:]) for c in cuts))


def box_runs(box, block):
    """Runs of a box in the block that it lies in."""
    cut = [d for d in range(len(box)) if tuple(box[d]) != tuple(block[d])]
    return prod(hi - lo for lo, hi in box[:cut[-1]]) if cut else 1


def inside(box, cuts):
    """The parts of a box, each with the cell of the grid that it lies in."""
    per_axis = []
    for (lo, hi), cut in zip(box, cuts):
        per_axis.append([((max(lo, a), min(hi, b)), (a, b)) for a, b in zip(cut[:-1], cut[1:]) if a < hi and b > lo])
    for cell in itertools.product(*per_axis):
        yield tuple(part for part, _ in cell), tuple(whole for _, whole in cell)


def volume(box):
    return prod(int(hi - lo) for lo, hi in box)


def walk(shape, source, target, buffer, order, kept):
    """(read seeks, write seeks, most elements held), buffer by buffer, without any of the arithmetic above."""
    axes = range(len(shape))
    cut, sources, targets = ([borders(n, c) for n, c in zip(shape, grid)] for grid in (buffer, source, target))
    units = [targets[d] if d in kept else np.union1d(targets[d], cut[d]) for d in axes]
    missing, n_read, n_written, now, most = {}, 0, 0, 0, 0
    in_order = sorted(boxes(cut), key=lambda box: [box[d][0] for d in order])
    for box in in_order:
        n_read += sum(box_runs(part, block) for part, block in inside(box, sources))
        now += volume(box)
        most = max(most, now)
        for part, unit in inside(box, units):
            missing[unit] = missing.get(unit, volume(unit)) - volume(part)
            if missing[unit] == 0:
                block = next(whole for _, whole in inside(unit, targets))
                n_written += box_runs(unit, block)
                now -= volume(unit)
    return int(n_read), int(n_written), int(most)
