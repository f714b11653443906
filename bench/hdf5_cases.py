# SPDX-License-Identifier: BSD-3-Clause
"""Datasets of HDF5 files in other chunks: h5repack and nccopy, which are made for it, and a loop over panels with h5py."""

import math
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass

from measure import Contender, execute, ratio
from roofline import LOOKED_AT, codecs_floor, rivals, roofline_of
from tables import Table, human, judged, lengths, listed
from zarr_cases import PEERS_FOLDER, Source, grids

LEVELS = {"none": "none", "deflate": "zlib:1"}
AXES = ("z", "y", "x")
HDF5_CASES = {
    "A": ("maps to series", (2048, 512, 512), "float32", (1, 512, 512), (2048, 16, 16)),
    "B": ("slices to cubes", (1024,) * 3, "uint16", (1, 1024, 1024), (128,) * 3),
    "C": ("blocks to blocks", (1050,) * 3, "uint16", (105,) * 3, (150,) * 3),
}
BARS = {"h5repack": 1 / 3, "nccopy": 1 / 3, "h5py-panels": 1 / 2} # resplit by each, at most


@dataclass(frozen=True)
class Hdf5Source(Source):
    python: str # that of an environment with h5py
    suffix: str = ".h5"

    def generator(self, folder, path):
        return [self.python, os.path.join(folder, "peers", "hdf5_generate.py"), path, listed(self.shape), self.dtype, listed(self.chunks),
                self.codec]


@dataclass(frozen=True)
class Hdf5Job:
    title: str
    text: str
    source: Hdf5Source
    chunks: tuple


def hdf5_jobs(options):
    python = os.path.join(os.path.abspath(options.peers_dir), "hdf5", "bin", "python")
    found = []
    for letter in options.hdf5_cases:
        text, shape, dtype, before, after = HDF5_CASES[letter]
        small, source, target = grids(shape, before, after, options.scale ** (1 / 3))
        for codec in options.hdf5_codecs:
            found.append(Hdf5Job(letter + ("d" if codec == "deflate" else ""), text,
                                 Hdf5Source(small, dtype, source, LEVELS[codec], python), target))
    return found


# ---- contenders ---------------------------------------------------------------------------------------------------


def command_of(bench, job, name, source, target):
    memory, deflate = bench.options.zarr_memory, job.source.codec != "none"
    if name == "resplit":
        return [bench.resplit, source + ":/data", target, "--chunks", listed(job.chunks), "--memory", str(memory), "--json", "--quiet",
                *bench.options.extra]
    if name == "h5repack":
        return ["h5repack", "-l", "data:CHUNK=" + "x".join(map(str, job.chunks)), "-f", "data:GZIP=1" if deflate else "data:NONE", source,
                target]
    if name == "nccopy":
        # its own buffer, and the cache of chunks, half of the memory each
        return ["nccopy", "-c", ",".join(f"{axis}/{n}" for axis, n in zip(AXES, job.chunks)), "-d", "1" if deflate else "0", "-m",
                str(memory // 2), "-h", str(memory // 2), "-e", "100003", source, target]
    return [job.source.python, os.path.join(PEERS_FOLDER, "hdf5_peer.py"), source, target, listed(job.chunks), str(memory), "--codec",
            job.source.codec]


def contender(bench, job, name, cap):
    source, target = bench.path(job.source), bench.target() + ".h5"
    command = command_of(bench, job, name, source, target)
    prime = {"resplit": [bench.resplit, "info", source + ":/data"], "h5py-panels": [*command[:2], "--help"]}.get(name, [command[0], "-V"])
    check = [job.source.python, os.path.join(PEERS_FOLDER, "hdf5_check.py"), source, target, listed(job.chunks), job.source.codec]
    ours = name == "resplit"
    return Contender(name, command, sync=not ours, budget=bench.options.zarr_memory if ours else 0, makes=target, source=source,
                     peer=not ours, check=check, timeout=bench.options.peer_timeout, prime=prime, limit=cap, group=True)


# ---- the table ----------------------------------------------------------------------------------------------------


def available(bench, table):
    """Names of the peers that can be called, and whether sources can be made."""
    folder = os.path.abspath(bench.options.peers_dir)
    if bench.options.install:
        subprocess.run([sys.executable, os.path.join(PEERS_FOLDER, "install.py"), folder, "hdf5"], check=False)
    has_h5py = os.path.exists(os.path.join(folder, "hdf5", "complete"))
    wanted = [name for name in BARS if name in bench.options.hdf5_peers]
    there = [name for name in wanted if (has_h5py if name == "h5py-panels" else shutil.which(name))]
    absent = [name for name in wanted if name not in there]
    if absent:
        table.notes.append(f"Not installed here: {', '.join(absent)}.")
    return there, has_h5py


def versions():
    found = []
    for command in (["h5repack", "-V"], ["nc-config", "--version"]):
        if shutil.which(command[0]):
            found.append(execute(command).out.strip())
    return "; ".join(found)


def bar_of(found, name, roofline):
    """Ours by theirs, and what it should be at most: the bar, where the roofline leaves that room."""
    factor = ratio(found["resplit"], found[name])
    if not factor:
        return "-"
    room = roofline is not None and roofline.median <= found[name].median * BARS[name]
    return judged(factor, BARS[name]) if room else judged(factor, 1, below=True) + " (< 1)"


def row_of(job, found):
    roofline, mine = roofline_of(found), found["resplit"]
    row = [job.title, mine.shown(), *(found[name].shown() if name in found else "-" for name in ("device", LOOKED_AT, "codecs"))]
    for floor, bar in ((roofline, 1.3), (roofline_of(found, LOOKED_AT), math.inf)):
        row.append(judged(ratio(mine, floor) if floor is not None else None, bar))
    for name in BARS:
        row += [found[name].shown(), bar_of(found, name, roofline)] if name in found else ["-", "-"]
    return row + [f"{mine.resident / 2**20:.0f} MiB"]


def table_of(bench, cap):
    options = bench.options
    columns = ["case", "resplit s", "device", LOOKED_AT, "codecs", "resplit / roofline (<= 1.3)", "resplit / roofline, looked at"]
    for name, bar in BARS.items():
        columns += [f"{name} s", f"resplit / {name} (<= {bar:.2f})"]
    limit = f"all memory, page cache included, within {human(cap)}" if cap else "no limit"
    table = Table(f"hdf5: chunks of a dataset, {limit}", [*columns, "resident"],
                  f"Seconds, cold cache, budget {human(options.zarr_memory)}; `d`: deflate level 1 on both sides, else none. Roofline: the "
                  "larger of device, direct I/O of the stored bytes, and codecs, libdeflate alone on all cores.")
    if cap and not bench.groups.root:
        table.text += f" **Nothing is limited**: {bench.groups.why_not}."
    return table


def against_hdf5(bench):
    options = bench.options
    tables = [table_of(bench, cap) for cap in options.caps]
    peers, can_generate = available(bench, tables[0])
    if not can_generate:
        tables[0].notes.append("SKIPPED: h5py, which writes the sources, cannot be installed.")
        return tables
    bench.tables += tables
    told = []
    for job in hdf5_jobs(options):
        if not bench.prepare(tables[0], job, 2 * job.source.n_bytes):
            continue
        source = job.source
        told.append(f"- {job.title}: {job.text}, {lengths(source.shape)} {source.dtype}, {human(source.n_bytes)}, "
                    f"{lengths(source.chunks)} -> {lengths(job.chunks)}, {source.codec}")
        floor = codecs_floor(bench, bench.path(source) + ":/data", source, job.chunks, source.codec)
        if floor.why:
            tables[0].notes.append(f"{job.title}: codecs were not timed: {' '.join(floor.why.split())[:200]}")
        for cap, table in zip(options.caps, tables):
            contenders = [contender(bench, job, name, cap) for name in ("resplit", *peers)] + rivals(bench, floor)
            found = bench.contest(f"hdf5 {job.title}, {human(cap) if cap else 'no cap'}", contenders)
            table.rows.append(row_of(job, found))
        floor.remove()
        bench.forget(source)
        bench.write()
    tables[0].notes = ["\n".join(told), versions(), *tables[0].notes]
    return tables
