# SPDX-License-Identifier: BSD-3-Clause
"""Experiment 5: one program of Dask, load, rechunk, store, as it is and under resplit.dask.optimize; three shapes, three budgets.

Writes dask.csv: seconds and memory. The program is bench/peers/hook_peer.py; memory is that of all its processes without page cache.
Once nothing is limited; once memory and page cache together are capped at the budget and what Python and its libraries take.
"""

import os
import shutil
import subprocess
import sys

from common import shown, write_csv
from running import BENCH, workshop

from measure import Contender
from zarr_cases import ZarrSource, grids

MIB = 1 << 20
SHAPES = {
    "maps to series": ((1024, 512, 512), "float32", (1, 512, 512), (1024, 16, 16)),
    "slices to cubes": ((1024, 1024, 512), "uint16", (1, 1024, 512), (128, 128, 128)),
    "cubes to cubes": ((840, 840, 840), "uint16", (105, 105, 105), (150, 150, 150)),
}
BUDGETS = [64 * MIB, 256 * MIB, 512 * MIB]
PYTHON_BYTES = 512 * MIB # what the program takes before it has read anything, and some page cache
TIMEOUT = 90
WAYS = {"off": "threads", "on": "hook"}


def listed(shape):
    return ",".join(map(str, shape))


def contender(name, hook, source, target, chunks, budget, limit):
    peers = os.path.join(BENCH, "peers")
    start = [sys.executable, os.path.join(peers, "hook_peer.py"), "--how", WAYS[hook]]
    arguments = [source, target, listed(chunks), str(budget), "--codec", "none"]
    check = [sys.executable, os.path.join(peers, "check.py"), source, target, listed(chunks), "none"]
    return Contender(name, [*start, *arguments], sync=hook == "off", makes=target, source=source, check=check, peer=hook == "off",
                     timeout=TIMEOUT, prime=[*start, "--help"], group=True, limit=limit, env={"PYTHONDONTWRITEBYTECODE": "1"})


def row_of(shape, array, chunks, budget, cache, hook, result):
    return {"shape": shape, "array": f"{shown(array.shape)} {array.dtype}", "from": shown(array.chunks), "to": shown(chunks),
            "bytes": array.n_bytes, "budget_bytes": budget, "cache": cache, "hook": hook,
            "seconds": f"{result.median:.3f}" if result.seconds and not result.note else "", "repetitions": len(result.seconds),
            "memory_bytes": result.resident or "", "note": result.note}


def rows_of(shop, shape, array, chunks):
    source, target = os.path.join(shop.folder, "source.zarr"), os.path.join(shop.arena.folder, "target.zarr")
    subprocess.run(array.generator(BENCH, source), check=True)
    free = [("off", "off", BUDGETS[0])] + [(f"on, {b / MIB:g} MiB", "on", b) for b in BUDGETS]
    found = shop.arena.contest(f"dask: {shape}, free", [contender(n, h, source, target, chunks, b, 0) for n, h, b in free])
    for name, hook, budget in free:
        yield row_of(shape, array, chunks, budget if hook == "on" else "", "free", hook, found[name])
    if shop.groups.root:
        for budget in BUDGETS:
            found = shop.arena.contest(f"dask: {shape}, capped, {budget / MIB:g} MiB", [
                contender(hook, hook, source, target, chunks, budget, budget + PYTHON_BYTES) for hook in WAYS])
            for hook in WAYS:
                yield row_of(shape, array, chunks, budget, "capped", hook, found[hook])
    for path in (source, source + ".v2"): # the generator makes a twin for readers of version 2
        shutil.rmtree(path, ignore_errors=True)


def main(options):
    rows = []
    with workshop(options) as shop:
        for shape, (whole, dtype, before, after) in SHAPES.items():
            small, source, target = grids(whole, before, after, options.scale)
            rows += rows_of(shop, shape, ZarrSource(small, dtype, source, "none", None, sys.executable), target)
    write_csv("dask", rows)
