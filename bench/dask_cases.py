# SPDX-License-Identifier: BSD-3-Clause
"""One program of dask, load, rechunk, store: as it is, with workers that have a limit, under resplit.dask.optimize; and rechunker."""

import os
import subprocess
import sys
from dataclasses import dataclass

from hdf5_cases import Hdf5Source
from measure import Contender, execute, ratio
from tables import Table, human, judged, lengths, listed
from zarr_cases import PEERS_FOLDER, ZarrSource, grids

DASK_CASES = {
    "A": ("maps to series", (2048, 1024, 512), "float32", (1, 1024, 512), (2048, 16, 16)),
    "B": ("slices to cubes", (2048, 1024, 1024), "uint16", (1, 1024, 1024), (128,) * 3),
}
CODECS = {"zarr": "zstd:1", "hdf5": "none"}
NAMES = ("hook", "threads", "workers", "workers-x4", "rechunker")
BARS = {"threads": 1 / 3, "workers": 1 / 3, "workers-x4": 1 / 3, "rechunker": 1.0} # the hook by each, at most
TIMES = {"workers-x4": 4} # the memory of the others, where that is too little


@dataclass(frozen=True)
class DaskJob:
    title: str
    text: str
    source: object
    chunks: tuple
    format: str


def dask_jobs(options):
    """Sources are written, and programs run, by this Python: it has dask, zarr, h5py, and resplit."""
    found = []
    for letter, (text, shape, dtype, before, after) in DASK_CASES.items():
        small, source, target = grids(shape, before, after, options.scale ** (1 / 3))
        zarr = ZarrSource(small, dtype, source, CODECS["zarr"], None, sys.executable)
        hdf5 = Hdf5Source(small, dtype, source, CODECS["hdf5"], sys.executable)
        found += [DaskJob(f"zarr {letter}", text, zarr, target, "zarr"), DaskJob(f"hdf5 {letter}", text, hdf5, target, "hdf5")]
    return found


def check_of(job, source, target):
    script = "check.py" if job.format == "zarr" else "hdf5_check.py"
    return [sys.executable, os.path.join(PEERS_FOLDER, script), source, target, listed(job.chunks), job.source.codec]


def contender(bench, job, name):
    options = bench.options
    source, target = bench.path(job.source), bench.target() + job.source.suffix
    memory = options.zarr_memory * TIMES.get(name, 1)
    arguments = [source, target, listed(job.chunks), str(memory), "--codec", job.source.codec]
    if name == "rechunker":
        start = [os.path.join(os.path.abspath(options.peers_dir), "rechunker", "bin", "python"),
                 os.path.join(PEERS_FOLDER, "rechunker_peer.py")]
        arguments[0] += ".v2"
    else:
        start = [sys.executable, os.path.join(PEERS_FOLDER, "hook_peer.py"), "--how", name.partition("-")[0]]
    return Contender(name, [*start, *arguments], sync=True, makes=target, source=source, peer=name != "hook",
                     check=check_of(job, source, target), timeout=options.peer_timeout, prime=[*start, "--help"], group=True,
                     env={"PYTHONDONTWRITEBYTECODE": "1"})


def available(bench, table):
    """Who can be called: rechunker has an environment of its own, the others need the package."""
    missing = execute([sys.executable, "-c", "import dask.array, distributed, h5py, zarr, resplit.dask"])
    if missing.code:
        table.notes.append(f"SKIPPED: {missing.err.strip().splitlines()[-1]}")
        return ()
    folder = os.path.abspath(bench.options.peers_dir)
    if bench.options.install:
        subprocess.run([sys.executable, os.path.join(PEERS_FOLDER, "install.py"), folder, "rechunker"], check=False)
    if os.path.exists(os.path.join(folder, "rechunker", "complete")):
        return NAMES
    table.notes.append(f"Not installed here, see {folder}/*.log: rechunker.")
    return NAMES[:-1]


def can(job, name):
    """rechunker knows Zarr alone."""
    return job.format == "zarr" or name != "rechunker"


def cell(result):
    if result.note or not result.seconds:
        return result.shown().replace("FAILED", "fails")
    return f"{result.median:.2f} ({result.resident / 2**20:.0f})"


def row_of(job, found):
    row = [job.title]
    for name in NAMES:
        row.append(cell(found[name]) if name in found else "-")
    for name in NAMES[1:]:
        factor = ratio(found["hook"], found[name]) if name in found else None
        row.append(judged(factor, BARS[name]) if factor else "-")
    return row


def against_dask(bench):
    options = bench.options
    table = Table("dask: load, rechunk, store", ["case", *NAMES, *(f"hook / {name} (<= {bar:.2f})" for name, bar in BARS.items())],
                  f"Seconds (MiB: anonymous and shared memory of all processes, at its peak), cold cache. hook: the program of threads, "
                  f"unchanged, under resplit.dask.optimize with {human(options.zarr_memory)}; workers: distributed, one per core, or, for HDF5, one of threads, each with "
                  f"{human(options.zarr_memory)}, or four times that; rechunker with as much as the hook. dies: killed for want of memory; > {options.peer_timeout:g}: stopped.")
    names = available(bench, table)
    if not names:
        return table
    bench.tables.append(table)
    told = []
    for job in dask_jobs(options):
        if not bench.prepare(table, job, 3 * job.source.n_bytes):
            continue
        source = job.source
        told.append(f"- {job.title}: {job.text}, {lengths(source.shape)} {source.dtype}, {human(source.n_bytes)}, "
                    f"{lengths(source.chunks)} -> {lengths(job.chunks)}, {source.codec}")
        table.rows.append(row_of(job, bench.contest(f"dask {job.title}", [contender(bench, job, n) for n in names if can(job, n)])))
        bench.forget(source)
        bench.write()
    table.notes.insert(0, "\n".join(told))
    return table
