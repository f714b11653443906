# SPDX-License-Identifier: BSD-3-Clause
"""What is measured. A case is a function that takes the bench and returns a table; CASES has them in order."""

import math
import os
import sys
from dataclasses import dataclass
from typing import Optional

from generate import ITEMSIZE
from dask_cases import against_dask
from hdf5_cases import against_hdf5
from machine import memory_bytes
from measure import Contender, ratio
from tables import Table, human, judged, lengths, listed, resident
from nifti_cases import nifti, nifti_jobs
from zarr_cases import against_peers

MIB = 1 << 20
BUDGET = 512 * MIB
LOW_BUDGET = 64 * MIB
DEVICE_MOST = 4 << 30 # bytes to measure a device with, where several sizes are compared

# Configurations of the papers, 3500^3, here for 1400^3: source blocks, target blocks.
CONFIGS = [
    ((350, 350, 350), (350, 700, 350)),
    ((350, 350, 350), (280, 350, 280)),
    ((140, 140, 140), (200, 200, 200)),
    ((140, 140, 140), (100, 100, 100)),
    ((70, 70, 70), (100, 100, 100)),
    ((140, 350, 140), (200, 350, 200)),
    ((140, 350, 140), (140, 200, 140)),
]


@dataclass(frozen=True)
class Source:
    """An array to be generated: a folder of blocks or, without chunks, one .npy file."""
    shape: tuple
    chunks: Optional[tuple]
    format: str

    @property
    def n_bytes(self):
        return math.prod(self.shape) * ITEMSIZE

    @property
    def suffix(self):
        return "" if self.chunks else ".npy"

    def generator(self, folder, path):
        return [sys.executable, os.path.join(folder, "generate.py"), path, self.format, listed(self.shape),
                listed(self.chunks or self.shape)]


@dataclass(frozen=True)
class Job:
    """A source and what it becomes."""
    title: str
    source: Source
    chunks: Optional[tuple] # of the target; None: one .npy file

    def cells(self):
        def shown(chunks):
            return lengths(chunks) if chunks else "one file"
        return [self.title, f"{lengths(self.source.shape)}, {human(self.source.n_bytes)}",
                f"{shown(self.source.chunks)} -> {shown(self.chunks)}"]


def scaled(shape, chunks, scale):
    """Shape and chunks of scale times as many elements, in no more blocks."""
    factor = scale ** (1 / len(shape))
    small = tuple(max(1, round(n * factor)) for n in shape)
    cut = []
    for n, c, m in zip(shape, chunks, small):
        n_blocks = -(-n // c)
        cut.append(min(m, max(round(c * factor), -(-m // n_blocks))))
    return small, tuple(cut)


def jobs(options, wanted="abcd"):
    """The jobs of cp, by their letters: those that are wanted and were not deselected."""
    cube, plane = (1291,) * 3, (131072, 16384)

    def cut(shape, chunks):
        return scaled(shape, chunks, options.scale)[1]

    def source(shape, chunks):
        small = scaled(shape, shape, options.scale)[0]
        return Source(small, cut(shape, chunks) if chunks else None, options.format if chunks else "npy")

    bricks, columns = cut(cube, (130,) * 3), cut(plane, (8192, 256))
    every = {
        "a": Job("(a) resplit", source(cube, (323,) * 3), cut(cube, (187, 211, 401))),
        "b": Job("(b) split", source(cube, None), bricks),
        "c": Job("(c) merge", source(cube, (130,) * 3), None),
        "d": Job("(d) slabs to columns", source(plane, (64, 16384)), columns),
    }
    return {letter: every[letter] for letter in wanted if letter in options.rows}


# ---- contenders ---------------------------------------------------------------------------------------------------


def resplit(bench, job, name="resplit", budget=BUDGET, extra=(), **more):
    source, target = bench.path(job.source), bench.target()
    if job.chunks:
        command = [bench.resplit, source, target, "--chunks", ",".join(map(str, job.chunks))]
    else:
        target += ".npy"
        command = [bench.resplit, source, target]
    command += ["--memory", str(budget), "--json", "--quiet", *extra, *bench.options.extra]
    return Contender(name, command, budget=budget, makes=target, source=source, **more)


def copy(bench, job, **more):
    source = bench.path(job.source)
    return Contender("cp", ["cp", "-r", source, bench.target()], sync=True, **more)


def device(bench, n_bytes, name="device"):
    """Direct I/O of that many bytes each way at once."""
    def seconds(said):
        return said["both_seconds"] * n_bytes / said["bytes"]
    size = min(n_bytes, DEVICE_MOST) if name == "device, a part" else n_bytes
    return Contender(name, [bench.resplit, "bench-disk", bench.folder, "--size", str(size), "--json", "--quiet"],
                     seconds_of=seconds)


# ---- cases --------------------------------------------------------------------------------------------------------


def against_cp(bench):
    table = Table("cp: against cp and against the device",
                  ["case", "array", "blocks", "resplit s", "cp + sync s", "device s", "resplit / device (<= 1.3)",
                   "resplit / cp (< 1)", "--io threads s", "naive s", "resident"],
                  f"Budget {human(BUDGET)}. device: direct I/O that reads and writes as many bytes at once "
                  "(`resplit bench-disk`). naive: `--strategy naive --io threads`, once. Both of the last are for information.")
    for job in jobs(bench.options).values():
        if not bench.prepare(table, job, 2 * job.source.n_bytes):
            continue
        contenders = [resplit(bench, job), copy(bench, job), device(bench, job.source.n_bytes),
                      resplit(bench, job, "--io threads", extra=("--io", "threads"))]
        if bench.options.naive:
            contenders.append(resplit(bench, job, "naive", extra=("--strategy", "naive", "--io", "threads"), most=1))
        found = bench.contest("cp: " + job.title, contenders)
        if found["device"].said.get("direct") is False:
            table.notes.append(f"{job.title}: no direct I/O here; the device was measured through the page cache.")
        ours = [found[name] for name in ("resplit", "--io threads", "naive") if name in found]
        table.rows.append(job.cells() + [
            found["resplit"].shown(), found["cp"].shown(), found["device"].shown(),
            judged(ratio(found["resplit"], found["device"]), 1.3),
            judged(ratio(found["resplit"], found["cp"]), 1, below=True), found["--io threads"].shown(),
            found["naive"].shown() if "naive" in found else "-", resident(ours, BUDGET)])
    return table


def little_memory(bench):
    high, low = human(BUDGET), human(LOW_BUDGET)
    table = Table("budget: an eighth of the memory",
                  ["case", "array", "blocks", f"{high} s", f"{low} s", f"{low} / {high} (<= 1.5)", f"resident, {high}",
                   f"resident, {low}"])
    for job in jobs(bench.options, "ad").values():
        if not bench.prepare(table, job, 2 * job.source.n_bytes):
            continue
        found = bench.contest("budget: " + job.title, [resplit(bench, job, high), resplit(bench, job, low, LOW_BUDGET)])
        table.rows.append(job.cells() + [
            found[high].shown(), found[low].shown(), judged(ratio(found[low], found[high]), 1.5),
            resident([found[high]], BUDGET), resident([found[low]], LOW_BUDGET)])
    return table


def from_cache(bench):
    table = Table("warm: from the page cache",
                  ["case", "array", "blocks", "resplit s", "cp + sync s", "resplit / cp (<= 1.0)", "resident"],
                  f"Budget {human(BUDGET)}. The source is read into the cache before each run, and nothing is dropped.")
    for job in jobs(bench.options, "ad").values():
        if not bench.prepare(table, job, job.source.n_bytes):
            continue
        if job.source.n_bytes > memory_bytes() / 2:
            table.notes.append(f"{job.title}: the source takes more than half of the memory and may not stay in the cache.")
        path = bench.path(job.source)
        found = bench.contest("warm: " + job.title, [resplit(bench, job, warm=path), copy(bench, job, warm=path)])
        table.rows.append(job.cells() + [
            found["resplit"].shown(), found["cp"].shown(), judged(ratio(found["resplit"], found["cp"]), 1),
            resident([found["resplit"]], BUDGET)])
    return table


def small_jobs(options):
    """100,000 raw blocks of 32 KiB and 1000 of a hundred times that; a scale makes them fewer, not smaller."""
    small, large = (16, 32, 32), (80, 160, 128)
    edge = max(1, round(10 * options.scale ** (1 / 3)))
    shape = tuple(edge * n for n in large)
    return [Job("32 KiB to 3.1 MiB", Source(shape, small, "raw"), large),
            Job("3.1 MiB to 32 KiB", Source(shape, large, "raw"), small)]


def small_blocks(bench):
    table = Table("small: many small blocks",
                  ["case", "array", "blocks", "number", "resplit s", "cp + sync s", "resplit / cp (<= 1.0)", "resident"],
                  f"Budget {human(BUDGET)}, raw files. A block of 16x32x32 has 32 KiB, one of 80x160x128 has 3.1 MiB.")
    for job in small_jobs(bench.options):
        if not bench.prepare(table, job, job.source.n_bytes):
            continue
        found = bench.contest("small: " + job.title, [resplit(bench, job), copy(bench, job)])
        size = math.prod(job.source.shape)
        counts = [f"{size // math.prod(chunks):,}" for chunks in (job.source.chunks, job.chunks)]
        table.rows.append(job.cells() + [
            " -> ".join(counts), found["resplit"].shown(), found["cp"].shown(),
            judged(ratio(found["resplit"], found["cp"]), 1), resident([found["resplit"]], BUDGET)])
    return table


def paper_jobs(options):
    found = []
    for number in options.configs:
        before, after = CONFIGS[number]
        shape, chunks = scaled((1400,) * 3, before, options.scale)
        after = scaled((1400,) * 3, after, options.scale)[1]
        found.append(Job(f"{number}", Source(shape, chunks, options.format), after))
    return found


def papers(bench):
    table = Table("papers: naive against auto",
                  ["configuration", "array", "blocks", "budget", "naive s", "auto s", "naive / auto", "chosen",
                   "resident, naive", "resident, auto"],
                  "The seven configurations of the papers, 3500^3 made 1400^3. "
                  f"Naive is run {bench.options.naive_reps} time(s).")
    if bench.groups.root:
        table.text += " Memory and page cache together are limited to the budget and 64 MiB, by a cgroup."
    else:
        table.text += f" **The page cache is not limited**: {bench.groups.why_not}."
    every = paper_jobs(bench.options)
    for i, job in enumerate(every):
        if not bench.prepare(table, job, 2 * job.source.n_bytes):
            continue
        for budget in bench.options.budgets:
            limit = budget + 64 * MIB
            found = bench.contest(f"papers: {job.title}, {budget / 1e6:g} MB", [
                resplit(bench, job, "naive", budget, ("--strategy", "naive"), limit=limit, most=bench.options.naive_reps),
                resplit(bench, job, "auto", budget, ("--strategy", "auto"), limit=limit)])
            naive, auto = found["naive"], found["auto"]
            gain = ratio(naive, auto)
            table.rows.append(job.cells() + [
                f"{budget / 1e6:g} MB", naive.shown(), auto.shown(), f"{gain:.2f}" if gain else "-",
                auto.said.get("strategy", "-"), resident([naive], budget), resident([auto], budget)])
        if job.source not in [later.source for later in every[i + 1:]]:
            bench.forget(job.source)
    return table


def linear_jobs(options):
    """Larger arrays of the same blocks."""
    found = []
    for size in options.sizes:
        edge = math.ceil((size * 2**30 * options.scale / ITEMSIZE) ** (1 / 3) - 1e-9)
        before, after = (scaled((1291,) * 3, chunks, options.scale)[1] for chunks in ((323,) * 3, (187, 211, 401)))
        found.append(Job(f"{size:g} GiB" + (f" * {options.scale:g}" if options.scale != 1 else ""),
                         Source((edge,) * 3, tuple(min(edge, c) for c in before), options.format),
                         tuple(min(edge, c) for c in after)))
    return found


def linear(bench):
    table = Table("linear: seconds per GiB",
                  ["size", "array", "blocks", "resplit s", "resplit s/GiB", "device s/GiB", "resplit / device", "resident"],
                  f"Budget {human(BUDGET)}. Larger arrays have more blocks, not larger ones. The device, for information, "
                  f"is measured beside each with at most {human(DEVICE_MOST)}.")
    rates = []
    for job in linear_jobs(bench.options):
        if not bench.prepare(table, job, max(job.source.n_bytes, 2 * min(job.source.n_bytes, DEVICE_MOST))):
            continue
        found = bench.contest("linear: " + job.title,
                              [resplit(bench, job), device(bench, job.source.n_bytes, "device, a part")])
        ours, disk = found["resplit"], found["device, a part"]
        gib = job.source.n_bytes / 2**30
        factor = ratio(ours, disk)
        if ours.median and not ours.note:
            rates.append(ours.median / gib)
        table.rows.append(job.cells() + [
            ours.shown(), f"{ours.median / gib:.2f}" if ours.median else "-",
            f"{disk.median / gib:.2f}" if disk.median else "-", f"{factor:.2f}" if factor else "-",
            resident([ours], BUDGET)])
        bench.forget(job.source)
    if len(rates) > 1:
        table.notes.append(f"Largest by smallest seconds per GiB (<= 1.2): {judged(max(rates) / min(rates), 1.2)}")
    return table


def fingerprints(bench):
    table = Table("fingerprint: resplit fingerprint",
                  ["case", "array", "blocks", "warm s", "warm GB/s", "cold s", "cold GB/s", "resident"],
                  f"Budget {human(BUDGET)}. What fingerprints cost in a run is part of every other table.")
    for job in jobs(bench.options, "ad").values():
        if not bench.prepare(table, job):
            continue
        path = bench.path(job.source)
        command = [bench.resplit, "fingerprint", path, "--memory", str(BUDGET), "--json", "--quiet"]
        found = bench.contest("fingerprint: " + job.title, [
            Contender("warm", command, warm=path, budget=BUDGET), Contender("cold", command, budget=BUDGET)])
        row = job.cells()
        row[2] = lengths(job.source.chunks)
        for result in found.values():
            row += [result.shown(), f"{job.source.n_bytes / 1e9 / result.median:.2f}" if result.median else "-"]
        table.rows.append(row + [resident(found.values(), BUDGET)])
    return table


def letters(wanted):
    return lambda options: [job.source for job in jobs(options, wanted).values()]


# name: the case, and the sources that it needs, so that those that later cases share are generated once
CASES = {
    "cp": (against_cp, letters("abcd")),
    "budget": (little_memory, letters("ad")),
    "warm": (from_cache, letters("ad")),
    "fingerprint": (fingerprints, letters("ad")),
    "small": (small_blocks, lambda options: [job.source for job in small_jobs(options)]),
    "linear": (linear, lambda options: [job.source for job in linear_jobs(options)]),
    "papers": (papers, lambda options: [job.source for job in paper_jobs(options)]),
    "nifti": (nifti, lambda options: [job.source for job in nifti_jobs(options)]),
    "zarr": (against_peers, lambda options: []),
    "hdf5": (against_hdf5, lambda options: []),
    "dask": (against_dask, lambda options: []),
}
