# SPDX-License-Identifier: BSD-3-Clause
"""What measured experiments share: a folder, sources in it, and runs that are timed as in bench/."""

import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

from common import ROOT, plan, shown
from papers import GB, Case

import machine # of bench/, which common has put on the path
from measure import Arena, Contender

BENCH = os.path.join(ROOT, "bench")
EDGE = 3500 # of the papers' arrays
BESIDE = 64 << 20 # page cache, and the program itself, beside the budget where memory is capped
STRATEGIES = ("naive", "keep", "best")
TIMEOUT = 900


def scaled(case, edge):
    """A copy of a problem of the papers with the same blocks, but smaller."""
    def small(shape):
        if any(n * edge % EDGE for n in shape):
            raise SystemExit(f"experiments: {shown(case.shape)} cannot be made {edge}/{EDGE} as large: {shown(shape)} would not be whole")
        return tuple(n * edge // EDGE for n in shape)
    return Case(case.name, case.group, small(case.shape), small(case.source), small(case.target), case.itemsize)


def budget_of(gigabytes, edge):
    """Memory that is to the scaled copy what so much is to the papers' array."""
    return round(gigabytes * GB * (edge / EDGE) ** 3)


class Workshop:
    """A folder on a disk, with sources that are made when they are asked for and one target at a time."""

    def __init__(self, options, folder):
        self.resplit = options.resplit
        self.folder = folder
        self.groups = machine.MemoryGroups()
        out = os.path.join(folder, "out")
        os.mkdir(out)
        self.arena = Arena(self.resplit, out, machine.Caches(True), self.groups, options.reps, TIMEOUT)
        if not self.arena.caches.cold:
            print(f"experiments: caches are not dropped: {self.arena.caches.why_warm}", file=sys.stderr)
        self.sources = {}

    def source(self, case):
        """The path of a problem's source: a folder of blocks, or one file."""
        key = case.shape, case.source
        if key not in self.sources:
            path = os.path.join(self.folder, f"source-{len(self.sources)}" + ("" if case.source != case.shape else ".npy"))
            generate(path, case)
            self.sources[key] = path
        return self.sources[key]

    def forget(self):
        for path in self.sources.values():
            shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
        self.sources = {}

    def contender(self, case, strategy, budget, capped, **more):
        source, target = self.source(case), os.path.join(self.arena.folder, "target")
        target += ".npy" if case.target == case.shape else ""
        return Contender(strategy, command(self.resplit, case, source, target, strategy, budget), budget=budget, makes=target, source=source,
                         limit=budget + BESIDE if capped else 0, **more)

    def contest(self, case, strategies, budget, capped, **more):
        """Rows of a table, one for each strategy that has a plan in this memory."""
        plans = {name: plan(case, name, budget) for name in strategies}
        able = [name for name in strategies if plans[name]]
        title = f"{case.group} {case.name}, {shown(case.shape)}, {budget / 1e6:g} MB, {'capped' if capped else 'free'}"
        found = self.arena.contest(title, [self.contender(case, name, budget, capped, **more) for name in able])
        return [row_of(case, name, budget, capped, plans[name], found.get(name)) for name in strategies]


def command(resplit, case, source, target, strategy, budget, *extra):
    chunks = [] if case.target == case.shape else ["--chunks", ",".join(map(str, case.target))]
    return [resplit, source, target, *chunks, "--memory", str(budget), "--strategy", strategy, "--json", "--quiet", *extra]


def generate(path, case):
    print(f"experiments: making {case.n_bytes / 1e6:.0f} MB in blocks of {shown(case.source)}", file=sys.stderr, flush=True)
    listed = [",".join(map(str, shape)) for shape in (case.shape, case.source)]
    kind = "npy" if path.endswith(".npy") else "raw" # blocks without headers, whose reads no paper counts
    subprocess.run([sys.executable, os.path.join(BENCH, "generate.py"), path, kind, *listed], check=True)


def row_of(case, strategy, budget, capped, made, result):
    row = {"group": case.group, "case": case.name, "shape": shown(case.shape), "from": shown(case.source), "to": shown(case.target),
           "bytes": case.n_bytes, "budget_bytes": budget, "cache": "capped" if capped else "free", "strategy": strategy,
           "seeks": made.seeks if made else "", "floor_seeks": made.floor.seeks if made else ""}
    times = sorted(result.seconds.values()) if result else []
    row["seconds"] = f"{statistics.median(times):.3f}" if times else ""
    row["least_seconds"], row["most_seconds"] = (f"{times[0]:.3f}", f"{times[-1]:.3f}") if times else ("", "")
    row["repetitions"] = len(times)
    row["resident_bytes"] = result.resident if result else ""
    row["note"] = result.note if result else "does not fit"
    counted = result.said.get("actual", {}).get("seeks") if result else None
    if counted is not None and counted != made.seeks:
        raise SystemExit(f"experiments: {strategy} was to make {made.seeks} seeks and made {counted}")
    return row


@contextlib.contextmanager
def workshop(options):
    parent = options.dir or "/var/tmp"
    os.makedirs(parent, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="resplit-experiments-", dir=parent)
    try:
        shop = Workshop(options, folder)
        yield shop
        if shop.arena.failures:
            raise SystemExit("experiments: " + "; ".join(shop.arena.failures))
    finally:
        shutil.rmtree(folder)
