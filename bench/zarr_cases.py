# SPDX-License-Identifier: BSD-3-Clause
"""Zarr arrays, against the programs that others use for it, each as its users call it and as an expert would.

A table per cap of memory: a column per case, a row per program. The peers are in peers/, with how they are installed and called.
"""

import math
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Optional

from measure import Contender, execute, ratio
from roofline import LOOKED_AT, Floor, codecs_floor, rivals, roofline_of, stored_bytes
from tables import MISSED, Table, human, judged, lengths, listed

HERE = os.path.dirname(os.path.abspath(__file__))
PEERS_FOLDER = os.path.join(HERE, "peers")
CODECS = ("none", "zstd")
LEVELS = {"none": "none", "zstd": "zstd:1"}
ITEMSIZES = {"uint16": 2, "float32": 4, "float64": 8}


@dataclass(frozen=True)
class Peer:
    place: str # where it is installed
    script: str
    flags: tuple = ()
    shards: bool = True # can it write them?
    v2: bool = False # knows only Zarr v2
    one_chunk_shards: bool = False # writes these where there are to be none


PEERS = {
    "tensorstore": Peer("tensorstore", "tensorstore_peer.py"),
    "tensorstore-panels": Peer("tensorstore", "tensorstore_peer.py", ("--panels",)),
    "zarr": Peer("zarr", "zarr_peer.py"),
    "zarr-panels": Peer("zarr", "zarr_peer.py", ("--panels",)),
    "zarrs": Peer("zarr", "zarr_peer.py", ("--pipeline", "zarrs")),
    "zarrs-panels": Peer("zarr", "zarr_peer.py", ("--panels", "--pipeline", "zarrs")),
    "reencode": Peer("zarrs_reencode", "zarrs_reencode_peer.py", one_chunk_shards=True),
    "reencode-cache": Peer("zarrs_reencode", "zarrs_reencode_peer.py", ("--cache",), one_chunk_shards=True),
    "rechunker": Peer("rechunker", "rechunker_peer.py", shards=False, v2=True),
    "rechunker-careful": Peer("rechunker", "rechunker_peer.py", ("--careful",), shards=False, v2=True),
    "dask": Peer("dask", "dask_peer.py"),
    "dask-panels": Peer("dask", "dask_peer.py", ("--how", "panels")),
    "dask-p2p": Peer("dask", "dask_peer.py", ("--how", "p2p")),
}


@dataclass(frozen=True)
class Source:
    shape: tuple
    dtype: str
    chunks: tuple
    codec: str

    @property
    def itemsize(self):
        return ITEMSIZES[self.dtype]

    @property
    def n_bytes(self):
        return math.prod(self.shape) * self.itemsize


@dataclass(frozen=True)
class ZarrSource(Source):
    shards: Optional[tuple]
    python: str # that of an environment with zarr-python
    suffix: str = ".zarr"

    def generator(self, folder, path):
        return [self.python, os.path.join(folder, "peers", "generate.py"), path, listed(self.shape), self.dtype, listed(self.chunks),
                self.codec, *([listed(self.shards)] if self.shards else [])]


@dataclass(frozen=True)
class ZarrJob:
    title: str
    text: str
    source: ZarrSource
    chunks: tuple
    codec: str
    shards: Optional[tuple] = None


# ---- the cases ----------------------------------------------------------------------------------------------------


def grids(shape, before, after, factor):
    """Shape and chunks with every length times the factor, in about as many chunks."""
    small = [max(1, round(n * factor)) for n in shape]
    cut = [tuple(min(m, max(1, round(c * factor))) for c, m in zip(chunks, small)) for chunks in (before, after)]
    return tuple(small), *cut


def grid_case(shape, dtype, before, after):
    def make(factor, codec):
        small, source, target = grids(shape, before, after, factor)
        return (small, dtype, source, LEVELS[codec], None), target, LEVELS[codec], None
    return make


def same_grid(factor, codec):
    """The other codec."""
    chunk = (max(1, round(128 * factor)),) * 3
    other = LEVELS["none" if codec == "zstd" else "zstd"]
    return (tuple(8 * c for c in chunk), "uint16", chunk, LEVELS[codec], None), chunk, other, None


def reshard(multiples):
    """The same inner chunks in other shards, of so many each."""
    def make(factor, codec):
        chunk = (max(1, round(64 * factor)),) * 3
        shards = tuple(c * m for c, m in zip(chunk, multiples))
        before = (tuple(16 * c for c in chunk), "uint16", chunk, LEVELS[codec], tuple(2 * c for c in chunk))
        return before, chunk, LEVELS[codec], shards
    return make


ZARR_CASES = {
    "A": ("maps to series", grid_case((2048, 512, 512), "float32", (1, 512, 512), (2048, 16, 16))),
    "B": ("slices to cubes", grid_case((1024,) * 3, "uint16", (1, 1024, 1024), (128,) * 3)),
    "C": ("blocks to blocks", grid_case((1050,) * 3, "uint16", (105,) * 3, (150,) * 3)),
    "E": ("coprime tiles", grid_case((16384,) * 2, "float64", (1000, 1000), (700, 1300))),
    "S": ("the same grid, another codec", same_grid),
    "R": ("shards to larger shards", reshard((8, 8, 8))),
    "T": ("shards to flat shards", reshard((1, 16, 16))),
}


def zarr_jobs(options):
    python = os.path.join(os.path.abspath(options.peers_dir), "zarr", "bin", "python")
    found = []
    for letter in options.zarr_cases:
        text, make = ZARR_CASES[letter]
        for codec in options.zarr_codecs:
            n_axes = 2 if letter == "E" else 3
            (shape, dtype, chunks, before, shards), target, after, to_shards = make(options.scale ** (1 / n_axes), codec)
            found.append(ZarrJob(letter + ("z" if codec == "zstd" else ""), text,
                                 ZarrSource(shape, dtype, chunks, before, shards, python), target, after, to_shards))
    return found


# ---- contenders ---------------------------------------------------------------------------------------------------


def check_of(bench, job, source, target, peer=None):
    return [job.source.python, os.path.join(PEERS_FOLDER, "check.py"), source, target, listed(job.chunks), job.codec,
            *([listed(job.shards)] if job.shards else []), *(["--one-chunk-shards"] if peer and peer.one_chunk_shards else [])]


def ours(bench, job, cap):
    source, target = bench.path(job.source), bench.target() + ".zarr"
    command = [bench.resplit, source, target, "--memory", str(bench.options.zarr_memory), "--json", "--quiet", *bench.options.extra]
    if job.chunks != job.source.chunks:
        command += ["--chunks", listed(job.chunks)]
    if job.shards:
        command += ["--shards", listed(job.shards)]
    if job.codec != job.source.codec:
        command += ["--codec", job.codec]
    return Contender("resplit", command, budget=bench.options.zarr_memory, limit=cap, makes=target, source=source, group=True,
                     check=check_of(bench, job, source, target), timeout=bench.options.peer_timeout, prime=[bench.resplit, "--version"])


def theirs(bench, job, cap, name):
    peer, place = PEERS[name], os.path.join(os.path.abspath(bench.options.peers_dir), PEERS[name].place)
    source, target = bench.path(job.source), bench.target() + ".zarr"
    program = peer.place == "zarrs_reencode"
    start = [sys.executable if program else os.path.join(place, "bin", "python"), os.path.join(PEERS_FOLDER, peer.script)]
    command = [*start, source + (".v2" if peer.v2 else ""), target, listed(job.chunks), str(bench.options.zarr_memory),
               "--codec", job.codec, *(["--shards", listed(job.shards)] if job.shards else []), *peer.flags]
    env = {"PEER_PROGRAM": os.path.join(place, "bin", "zarrs_reencode"), "PYTHONDONTWRITEBYTECODE": "1"}
    prime = [env["PEER_PROGRAM"], "--version"] if program else [*start, *peer.flags, "--help"]
    return Contender(name, command, sync=True, limit=cap, makes=target, source=source, group=True, peer=True, env=env, prime=prime,
                     check=check_of(bench, job, source, target, peer), timeout=bench.options.peer_timeout)


def floor_of(bench, job):
    source = job.source
    if job.shards: # chunks stay as they are
        n = stored_bytes(bench.path(source))
        return Floor(n, n)
    return codecs_floor(bench, bench.path(source), source, job.chunks, job.codec)


# ---- the tables ---------------------------------------------------------------------------------------------------


@dataclass
class Column:
    job: ZarrJob
    found: dict # results, by name

    def cell(self, name):
        result = self.found.get(name)
        if result is None:
            return "-"
        if result.note or not result.seconds:
            return result.shown().replace("FAILED", "fails")
        return f"{result.median:.2f} ({result.resident / 2**20:.0f})"

    def fastest(self):
        """Of the peers that got there: name and seconds."""
        ended = [(r.median, name) for name, r in self.found.items() if name in PEERS and r.seconds and not r.note]
        return min(ended, default=(None, None))

    def resplit(self):
        result = self.found["resplit"]
        return result.median if result.seconds and not result.note else None

    def alone(self, name):
        """Seconds of the disk, or of the codecs."""
        return f"{self.found[name].median:.2f}" if name in self.found and self.found[name].seconds else "-"

    def by_fastest(self, capped):
        best, name = self.fastest()
        if name is None or self.resplit() is None:
            return "-"
        floor, found = roofline_of(self.found), ratio(self.found["resplit"], self.found[name])
        room = capped and floor is not None and floor.median <= best / 2
        return judged(found, 0.5) + " (<= 0.5)" if room else judged(found, 1, below=True) + " (< 1)"

    def by_roofline(self):
        floor = roofline_of(self.found)
        return "-" if self.resplit() is None or floor is None else judged(ratio(self.found["resplit"], floor), 1.3)

    def by_looks(self):
        """By a disk whose bytes are looked at: for information."""
        floor = roofline_of(self.found, LOOKED_AT)
        return "-" if self.resplit() is None or floor is None else judged(ratio(self.found["resplit"], floor), math.inf)


def fill(table, columns, names, capped):
    """All rows, from the columns that are there."""
    table.columns = ["", *(c.job.title for c in columns)]
    table.rows = [[name, *(c.cell(name) for c in columns)] for name in names]
    table.rows += [
        ["cp -r, no change", *(c.cell("cp") for c in columns)],
        ["device", *(c.alone("device") for c in columns)],
        [LOOKED_AT, *(c.alone(LOOKED_AT) for c in columns)],
        ["codecs", *(c.alone("codecs") for c in columns)],
        ["resplit / roofline, looked at", *(c.by_looks() for c in columns)],
        ["fastest peer", *(c.fastest()[1] or "-" for c in columns)],
        ["resplit / fastest peer", *(c.by_fastest(capped) for c in columns)],
        ["resplit / roofline (<= 1.3)", *(c.by_roofline() for c in columns)],
    ]
    cells = [cell for row in table.rows[-2:] for cell in row[1:] if cell != "-"]
    n_missed = sum(MISSED in cell for cell in cells)
    verdict = f"{len(cells) - n_missed} of {len(cells)} bars are kept."
    table.notes = [note for note in table.notes if not note.endswith("bars are kept.")] + [verdict]


def describe(job):
    def grid(chunks, shards):
        return lengths(chunks) + (f" in shards of {lengths(shards)}" if shards else "")
    source = job.source
    return (f"- {job.title}: {job.text}, {lengths(source.shape)} {source.dtype}, {human(source.n_bytes)}, "
            f"{grid(source.chunks, source.shards)} -> {grid(job.chunks, job.shards)}, {source.codec} -> {job.codec}")


def available(bench, table):
    """Names of the peers that can be called; a note for those that cannot."""
    options = bench.options
    wanted = [name for name in PEERS if name in options.peers]
    folder = os.path.abspath(options.peers_dir)
    places = sorted({PEERS[name].place for name in wanted} | {"zarr"}) # which generates and checks
    if options.install:
        subprocess.run([sys.executable, os.path.join(PEERS_FOLDER, "install.py"), folder, *places], check=False)
    there = {place for place in places if os.path.exists(os.path.join(folder, place, "complete"))}
    absent = [name for name in wanted if PEERS[name].place not in there]
    if absent:
        table.notes.append(f"Not installed here, see {folder}/*.log: {', '.join(absent)}.")
    return [name for name in wanted if name not in absent], "zarr" in there


def versions(bench):
    folder = os.path.abspath(bench.options.peers_dir)
    found = ["zarrs_tools 0.8.1"]
    for place in ("zarr", "tensorstore", "rechunker", "dask"):
        python = os.path.join(folder, place, "bin", "python")
        if os.path.exists(python):
            code = ("import importlib.metadata as m\nfor n in ('zarr', 'zarrs', 'tensorstore', 'rechunker', 'dask', 'numcodecs'):\n"
                    "  try: print(n, m.version(n))\n  except m.PackageNotFoundError: pass")
            done = execute([python, "-c", code])
            found.append(f"{place}: " + ", ".join(done.out.split("\n")).strip(", "))
    return "; ".join(found)


def against_peers(bench):
    options = bench.options
    tables = []
    for cap in options.caps:
        limit = f"all memory, page cache included, within {human(cap)}" if cap else "no limit"
        table = Table(f"zarr: against other programs, {limit}", [""],
                      f"Seconds (MiB: anonymous and shared memory of all processes, at its peak), cold cache, budget "
                      f"{human(options.zarr_memory)}. dies: killed for want of memory; > {options.peer_timeout:g}: stopped. `z`: zstd level 1. "
                      "Roofline: the larger of device, direct I/O of the stored bytes, and codecs, zstd alone on all cores.")
        if cap and not bench.groups.root:
            table.text += f" **Nothing is limited**: {bench.groups.why_not}."
        tables.append(table)
    peers, can_generate = available(bench, tables[0])
    if not can_generate:
        tables[0].notes.append("SKIPPED: zarr-python, which writes the sources, cannot be installed.")
        return tables
    tables[0].notes.append(versions(bench))
    bench.tables += tables
    columns = {cap: [] for cap in options.caps}
    told = []
    for job in zarr_jobs(options):
        if not bench.prepare(tables[0], job, 4 * job.source.n_bytes): # a peer's temporary copy, and padding
            continue
        told.append(describe(job))
        floor = floor_of(bench, job)
        if floor.why:
            tables[0].notes.append(f"{job.title}: codecs were not timed: {' '.join(floor.why.split())[:200]}")
        for cap, table in zip(options.caps, tables):
            contenders = [ours(bench, job, cap)]
            contenders += [theirs(bench, job, cap, name) for name in peers if PEERS[name].shards or not job.shards]
            contenders += [Contender("cp", ["cp", "-r", bench.path(job.source), bench.target()], sync=True, limit=cap, group=True,
                                     peer=True, timeout=options.peer_timeout), *rivals(bench, floor)]
            found = bench.contest(f"zarr {job.title}, {human(cap) if cap else 'no cap'}", contenders)
            columns[cap].append(Column(job, found))
            fill(table, columns[cap], ["resplit", *peers], bool(cap))
        floor.remove()
        bench.forget(job.source)
        bench.write()
    tables[0].notes.insert(0, "\n".join(told))
    return tables
