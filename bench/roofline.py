# SPDX-License-Identifier: BSD-3-Clause
"""What no program can do without: the disk's time for the stored bytes, and the codecs' for these chunks on all cores."""

import functools
import json
import math
import os
import subprocess
from dataclasses import dataclass

from measure import Contender, execute
from tables import listed

HERE = os.path.dirname(os.path.abspath(__file__))
DEVICE_MOST = 4 << 30
LOOKED_AT = "device, looked at"


@dataclass
class Floor:
    """The bytes that go in and out, and what times the codecs alone: a command, nothing where there are none, or why there is none."""
    source_bytes: int
    target_bytes: int
    codecs: tuple = ()
    values: str = "" # the file that the command reads
    why: str = ""

    def remove(self):
        if self.values:
            os.remove(self.values)


def rivals(bench, floor):
    """What has a turn beside the programs: the disk, for nobody and for who looks, and the codecs where there are any."""
    def seconds(said):
        return said["seconds"]
    codecs = [Contender("codecs", list(floor.codecs), seconds_of=seconds)] if floor.codecs else []
    program, _ = compiled(bench.folder, "looks", "-lpthread")
    sizes = [str(min(n, DEVICE_MOST)) for n in (floor.source_bytes, floor.target_bytes)]
    looks = [Contender(LOOKED_AT, [program, bench.folder, *sizes], seconds_of=seconds)] if program else []
    return [*codecs, *looks, device_of(bench, floor)]


def roofline_of(found, device="device"):
    """The result that took longer, of the disk's and the codecs'."""
    there = [found[name] for name in (device, "codecs") if name in found and found[name].seconds]
    return max(there, key=lambda result: result.median, default=None)


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
def compiled(folder, name, *libraries):
    """The path of a program that is beside this file in C, or nothing and why."""
    program = os.path.join(folder, name)
    command = ["cc", "-O2", "-std=c11", "-o", program, os.path.join(HERE, name + ".c"), *libraries]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as e:
        return None, getattr(e, "stderr", None) or str(e)
    return program, ""


def codecs_floor(bench, path, source, chunks, codec):
    """Of the values at `path`, a source as resplit opens it. Once without a clock, to know the bytes."""
    sizes = [grid_bytes(source.shape, c, source.itemsize) for c in (source.chunks, chunks)]
    if source.codec == codec == "none":
        return Floor(*sizes)
    program, why = compiled(bench.folder, "codecs", "-lzstd", "-ldeflate", "-lz", "-lpthread")
    if not program:
        return Floor(*sizes, why=why)
    raw = os.path.join(bench.folder, "values.raw")
    command = (program, raw, str(source.itemsize), listed(source.shape), listed(source.chunks), source.codec, listed(chunks), codec,
               str(len(os.sched_getaffinity(0))))
    for each in ([bench.resplit, "merge", path, raw, "--quiet", "--sync", "none", "--overwrite"], command):
        done = execute(each)
        if done.code:
            return Floor(*sizes, values=raw if os.path.exists(raw) else "", why=done.err.strip())
    said = json.loads(done.out)
    return Floor(said["source_bytes"], said["target_bytes"], command, raw)
