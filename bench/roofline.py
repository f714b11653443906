# SPDX-License-Identifier: BSD-3-Clause
"""What no program can do without: the disk's time for the stored bytes, and the codecs' for these chunks on all cores."""

import functools
import json
import math
import os
import subprocess
from dataclasses import dataclass
from statistics import median
from typing import Optional

from measure import Contender, execute
from tables import listed

HERE = os.path.dirname(os.path.abspath(__file__))
DEVICE_MOST = 4 << 30


@dataclass
class Floor:
    """What the codecs alone take, and the bytes that go in and out."""
    seconds: Optional[float]
    source_bytes: int
    target_bytes: int
    why: str = ""


def roofline_of(device, floor):
    """The larger of both, of what is known."""
    times = [t for t in (device, floor.seconds) if t is not None]
    return max(times, default=None)


def device_of(bench, floor):
    """Direct I/O that reads the stored bytes of the source and writes those of the target, at once as far as both go."""
    before, after = floor.source_bytes, floor.target_bytes

    def seconds(said):
        both = min(before, after)
        rest = said["read_seconds" if before > after else "write_seconds"]
        return (said["both_seconds"] * both + rest * abs(before - after)) / said["bytes"]
    size = min(max(before, after, 1 << 20), DEVICE_MOST)
    return Contender("device", [bench.resplit, "bench-disk", bench.folder, "--size", str(size), "--json", "--quiet"],
                     seconds_of=seconds)


def stored_bytes(path):
    return sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names)


def grid_bytes(shape, chunks, itemsize):
    return math.prod(-(-n // c) * c for n, c in zip(shape, chunks)) * itemsize


@functools.lru_cache(maxsize=None)
def codecs_program(folder):
    """The path of the program that times codecs, or nothing and why."""
    program = os.path.join(folder, "codecs")
    command = ["cc", "-O2", "-std=c11", "-o", program, os.path.join(HERE, "codecs.c"), "-lzstd", "-ldeflate", "-lz", "-lpthread"]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as e:
        return None, getattr(e, "stderr", None) or str(e)
    return program, ""


def time_codecs(bench, path, source, chunks, codec, program):
    """Of the values at `path`, a source as resplit opens it."""
    raw = os.path.join(bench.folder, "values.raw")
    command = [program, raw, str(source.itemsize), listed(source.shape), listed(source.chunks), source.codec, listed(chunks), codec,
               str(len(os.sched_getaffinity(0)))]
    said = []
    try:
        runs = [execute([bench.resplit, "merge", path, raw, "--quiet", "--sync", "none", "--overwrite"])]
        runs += [execute(command) for _ in range(bench.options.reps) if not runs[0].code]
        failed = [run.err.strip() for run in runs if run.code]
        said = [json.loads(run.out) for run in runs[1:]] if not failed else []
    finally:
        if os.path.exists(raw):
            os.remove(raw)
    return said, failed[0] if failed else ""


def codecs_floor(bench, path, source, chunks, codec):
    sizes = [grid_bytes(source.shape, c, source.itemsize) for c in (source.chunks, chunks)]
    if source.codec == codec == "none":
        return Floor(0.0, *sizes)
    program, why = codecs_program(bench.folder)
    said, why = time_codecs(bench, path, source, chunks, codec, program) if program else ([], why)
    if not said:
        return Floor(None, *sizes, why)
    return Floor(median(s["seconds"] for s in said), said[0]["source_bytes"], said[0]["target_bytes"])
