# SPDX-License-Identifier: BSD-3-Clause
"""What the peers share: their arguments, and how an expert cuts an array into panels that fit in memory.

usage of every peer: python PEER.py SRC DST CHUNKS MEMORY [--shards SHARDS] [--codec zstd:1|none] [...]

SRC is a Zarr v3 array; DST is written anew, as Zarr v3 where the peer can. MEMORY is in bytes.
"""

import argparse
import itertools
import math
import os

CORES = len(os.sched_getaffinity(0))


def numbers(text):
    return tuple(int(n) for n in text.split(","))


def arguments(*flags, **choices):
    """The arguments of a peer; flags are switches of its own, choices are options with the values they may have."""
    parser = argparse.ArgumentParser()
    parser.add_argument("src")
    parser.add_argument("dst")
    parser.add_argument("chunks", type=numbers)
    parser.add_argument("memory", type=int)
    parser.add_argument("--shards", type=numbers)
    parser.add_argument("--codec", default="none")
    for flag in flags:
        parser.add_argument(f"--{flag}", action="store_true")
    for name, values in choices.items():
        parser.add_argument(f"--{name}", choices=values, default=values[0])
    options = parser.parse_args()
    options.level = 0 if options.codec == "none" else int(options.codec.partition(":")[2])
    options.unit = options.shards or options.chunks # what is written at once
    return options


def touched(begin, end, chunk):
    return (end - 1) // chunk - begin // chunk + 1


def panel_shape(shape, itemsize, source, unit, room):
    """Multiples of whole target units, within room bytes, with the fewest source chunks read; among those the largest, then the
    longest in the last axes. This is what an expert works out by hand; one unit where none fits."""
    steps = []
    for n, u in zip(shape, unit):
        count = -(-n // u)
        sizes = {-(-count // parts) for parts in range(1, count + 1)} # as equal as can be
        steps.append(sorted(min(n, k * u) for k in sizes))
    best, best_cost = None, None
    for panel in itertools.product(*steps):
        if math.prod(panel) * itemsize > room:
            continue
        reads = 1
        for n, p, c in zip(shape, panel, source):
            reads *= sum(touched(at, min(n, at + p), c) for at in range(0, n, p))
        cost = (reads, -math.prod(panel), *(-p for p in reversed(panel)))
        if best is None or cost < best_cost:
            best, best_cost = panel, cost
    return best or tuple(min(n, u) for n, u in zip(shape, unit))


def panels(shape, panel):
    """The boxes, as tuples of slices, in C order."""
    axes = [[slice(at, min(n, at + p)) for at in range(0, n, p)] for n, p in zip(shape, panel)]
    return itertools.product(*axes)
