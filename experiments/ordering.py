# SPDX-License-Identifier: BSD-3-Clause
"""Experiment 7: in which order buffers are visited.

Writes ordering.csv, elements held in the order of the drafts' rule, in C order, by the ratio of leftover to extent, and in the best of all
loops, for random problems where the order matters and for those of the papers, with buffers of the aggregate and all axes kept; and anyorder.csv: on
tiny problems all cuts and all kept sets are tried, in loops by the rule, in the best loops, and in any order at all.
"""

import itertools
import random
from math import prod

import numpy as np

import exact
from common import shown, write_csv
from drafts import aggregate, leftovers, rule_orders
from estimate import ALL, draw
from papers import CASES

# ---- loops -------------------------------------------------------------------------------------------------------


def ratio_order(shape, target, buffer):
    """The largest leftover by extent innermost."""
    omega = leftovers(shape, target, buffer)
    return tuple(sorted(range(len(shape)), key=lambda d: (omega[d] / shape[d], d)))


def loops_row(name, shape, source, target):
    buffer = aggregate(shape, source, target)

    def held(order):
        return exact.held(shape, target, buffer, order, ALL)

    least, order = exact.best_order(shape, target, buffer, ALL)
    rule, *ties = rule_orders(shape, target, buffer)
    return {"problem": name, "shape": shown(shape), "from": shown(source), "to": shown(target), "buffer": shown(buffer),
            "c_order_held": held((0, 1, 2)), "rule_order": "".join(map(str, rule)), "rule_held": held(rule),
            "rule_worst_tie_held": max(map(held, (rule, *ties))), "ratio_held": held(ratio_order(shape, target, buffer)), "best_order": "".join(map(str, order)), "best_held": least,
            "most_held": max(map(held, itertools.permutations(range(3))))}


def loops_rows(n, seed=2):
    for case in CASES:
        if case.group != "bigbrain": # nothing is left over in a merge
            yield loops_row(f"{case.group} {case.name}", case.shape, case.source, case.target)
    rnd = random.Random(seed)
    while n:
        row = loops_row("random", *draw(rnd))
        if row["most_held"] > row["best_held"]: # the order matters
            n -= 1
            yield row


# ---- any order ---------------------------------------------------------------------------------------------------

MOST_BUFFERS = 12
_layers: dict = {}


def layers(n):
    """All sets of n buffers, as bits, by how many are in them."""
    if n not in _layers:
        every = np.arange(1 << n)
        count = np.array([bin(s).count("1") for s in every])
        _layers[n] = [every[count == k] for k in range(1, n + 1)]
    return _layers[n]


def any_order(sizes, units):
    """The least that can be held at most: the best way into each set of buffers that have been read. units: (elements, set of buffers)."""
    n = len(sizes)
    every = np.arange(1 << n)
    held = sum(((every >> b) & 1) * size for b, size in enumerate(sizes))
    for elements, needs in units:
        held = held - elements * ((every & needs) == needs)
    most = np.full(1 << n, np.iinfo(np.int64).max)
    most[0] = 0
    for sets in layers(n):
        for b, size in enumerate(sizes):
            with_b = sets[(sets >> b) & 1 == 1]
            before = with_b ^ (1 << b)
            most[with_b] = np.minimum(most[with_b], np.maximum(most[before], held[before] + size))
    return int(most[-1])


def taken_apart(shape, target, buffer, kept):
    """Sizes of buffers, and of each unit its size and its buffers."""
    cut = [exact.borders(n, c) for n, c in zip(shape, buffer)]
    blocks = [exact.borders(n, c) for n, c in zip(shape, target)]
    units = [blocks[d] if d in kept else np.union1d(blocks[d], cut[d]) for d in range(len(shape))]
    every = list(exact.boxes(cut))
    bit = {box: 1 << b for b, box in enumerate(every)}
    needs = [(exact.volume(unit), sum(bit[whole] for _, whole in exact.inside(unit, cut))) for unit in exact.boxes(units)]
    return [exact.volume(box) for box in every], needs


def all_cuts(n):
    """All ways to cut n elements, as lengths."""
    for bits in range(1 << (n - 1)):
        at = [0] + [x for x in range(1, n) if bits >> (x - 1) & 1] + [n]
        yield tuple(b - a for a, b in zip(at, at[1:]))


def rule_of(target, buffer):
    """The drafts' rule where buffers are of any lengths: leftovers as they are, volumes with the longest buffers."""
    left = []
    for o, lengths in zip(target, buffer):
        left.append(max((int(x) % o for x in np.cumsum(lengths)[:-1]), default=0))
    longest = [max(b) for b in buffer]
    volumes = [left[d] * prod(longest[:d] + longest[d + 1:]) for d in range(len(buffer))]
    return tuple(sorted(range(len(buffer)), key=lambda d: (volumes[d], d)))


def every_plan(shape, source, target):
    """(seeks, held by the rule, held in the best loops, held in any order)."""
    axes = range(len(shape))
    kept_sets = [frozenset(s) for k in range(len(shape) + 1) for s in itertools.combinations(axes, k)]
    for buffer in itertools.product(*(list(all_cuts(n)) for n in shape)):
        for kept in kept_sets:
            seeks = sum(exact.seeks(shape, source, target, buffer, kept))
            loops = exact.best_order(shape, target, buffer, kept)[0]
            rule = exact.held(shape, target, buffer, rule_of(target, buffer), kept)
            yield seeks, rule, loops, any_order(*taken_apart(shape, target, buffer, kept))


def any_row(rnd):
    shape = (rnd.randint(2, 3), rnd.randint(2, 4))
    source, target = (tuple(rnd.randint(1, n) for n in shape) for _ in range(2))
    plans = list(every_plan(shape, source, target))
    smallest = min(p[3] for p in plans)
    memory = rnd.randint(smallest, max(smallest, prod(shape) - 1))

    def fewest(column):
        return min((p[0] for p in plans if p[column] <= memory), default="")

    return {"shape": shown(shape), "from": shown(source), "to": shown(target), "memory": memory, "plans": len(plans),
            "plans_any_holds_less": sum(p[3] < p[2] for p in plans), "worst_loops_by_any": f"{max(p[2] / p[3] for p in plans):.4f}",
            "plans_rule_holds_more": sum(p[1] > p[2] for p in plans), "worst_rule_by_loops": f"{max(p[1] / p[2] for p in plans):.4f}",
            "rule_seeks": fewest(1), "loops_seeks": fewest(2), "any_seeks": fewest(3)}


def any_rows(n, seed=3):
    rnd = random.Random(seed)
    return [any_row(rnd) for _ in range(n)]


def main(options=None):
    few = getattr(options, "quick", False)
    write_csv("ordering", list(loops_rows(100 if few else 2000)))
    write_csv("anyorder", any_rows(10 if few else 400))


if __name__ == "__main__":
    main()
