# SPDX-License-Identifier: BSD-3-Clause
"""The drafts' own planner, as a baseline: Equation 1 and the staged stretching of the buffer, in three dimensions.

It is their method with its slips corrected: comparisons that lose a row or leave an empty buffer, flags that are set on the wrong
side, letters that change places. Not corrected is what the method is made of: leftovers have the lengths that they have when the
buffer is the input aggregate, and memory is a sum of volumes, each times how often it is kept. Where that fails is experiment 6.

Axes are i, j, k, slowest first; memory is in elements. Omega is the leftover along an axis, Theta what of the aggregate is complete.
"""

from dataclasses import dataclass
from itertools import permutations
from math import prod


@dataclass(frozen=True)
class Draft:
    """What the drafts' planner proposes, and how much memory it thinks that takes. Loops are i, j, k; k is the innermost."""
    buffer: tuple
    kept: frozenset
    stage: int
    estimate: int


def aggregate(shape, source, target):
    """The fewest source blocks that cover a target block."""
    return tuple(min(n, i * -(-o // i)) for n, i, o in zip(shape, source, target))


def leftovers(shape, target, buffer):
    """The longest leftover along each axis: over all borders of buffers, how far the target block there has come."""
    return tuple(max((x % o for x in range(b, n, b)), default=0) for n, o, b in zip(shape, target, buffer))


def clamp(value, low, high):
    return max(low, min(value, high))


def stretch(shape, source, target, m):
    """The four stages. What the buffer has when memory ends is what it gets; beyond the aggregate no seek is left to save."""
    whole = aggregate(shape, source, target)
    omega = leftovers(shape, target, whole)
    theta = tuple(w - o for w, o in zip(whole, omega))
    (l_i, l_j, l_k), (_, o_j, o_k), (t_i, t_j, _) = whole, omega, theta
    n = -(-shape[2] // l_k) # buffers in a row of them
    n_slice = n * -(-shape[1] // l_j)
    row = o_k + l_k

    def made(b_i, b_j, stage, estimate):
        kept = {2} | ({1} if b_j > t_j else set()) | ({0} if b_i > t_i else set())
        return Draft((b_i, b_j, l_k), frozenset(kept), stage, estimate)

    b_j = clamp(m // row, 1, t_j)
    if b_j < t_j or m < b_j * row:
        return made(1, b_j, 1, b_j * row)
    b_j = min(l_j, t_j + (m - t_j * row) // (l_k * (n + 1)))
    if b_j < l_j:
        return made(1, b_j, 2, t_j * row + (b_j - t_j) * l_k * (n + 1))
    slab = o_k * t_j + n * o_j * l_k + l_j * l_k
    b_i = clamp(m // slab, 1, t_i)
    if b_i < t_i or m < b_i * slab:
        return made(b_i, l_j, 3, b_i * slab)
    b_i = min(l_i, t_i + (m - t_i * slab) // ((n_slice + 1) * l_j * l_k))
    return made(b_i, l_j, 4, t_i * slab + (b_i - t_i) * (n_slice + 1) * l_j * l_k)


def equation_1(shape, target, buffer):
    """F1 + n (F2 + F3) + N (F4 + F5 + F6 + F7) + the buffer; F1 has one leftover, along k, and so on in binary."""
    omega = leftovers(shape, target, buffer)
    theta = tuple(b - o for b, o in zip(buffer, omega))

    def volume(number):
        lengths = [(theta, omega)[number >> bit & 1][2 - bit] for bit in range(3)]
        return prod(lengths)

    n = -(-shape[2] // buffer[2])
    n_slice = n * -(-shape[1] // buffer[1])
    return (volume(1) + n * (volume(2) + volume(3)) + n_slice * sum(volume(f) for f in (4, 5, 6, 7)) + prod(buffer))


def rule_orders(shape, target, buffer):
    """The drafts' order of loops: the axis with the largest leftover volume is the innermost, then the next. They do not say what to do
    with equal volumes: the first order takes the faster axis for the inner one, the others are all else that the rule allows."""
    omega = leftovers(shape, target, buffer)
    theta = [max(1, b - o) for b, o in zip(buffer, omega)]
    axes = range(len(shape))
    volumes = [omega[d] * prod(theta[e] for e in axes if e != d) for d in axes]
    allowed = [order for order in permutations(axes) if all(volumes[a] <= volumes[b] for a, b in zip(order, order[1:]))]
    return allowed # of permutations in lexicographic order the first has the slower axes outside
