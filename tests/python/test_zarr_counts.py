# SPDX-License-Identifier: BSD-3-Clause
"""Encoded blocks are decoded as often as the plan says, and memory, codecs included, is the budget."""

import os
import re
import shutil

import numpy as np
import pytest

from test_memory import ALLOWED, MiB, peak_rss
from zarr_support import equal, make, read

# maps to series, slices to cubes, blocks to blocks, coprime tiles: as in bench, but small
CASES = {
    "series": ((128, 96, 96), "float32", (1, 96, 96), (128, 16, 16)),
    "cubes": ((96, 96, 96), "uint16", (1, 96, 96), (16, 16, 16)),
    "blocks": ((105, 105, 105), "uint16", (21, 21, 21), (30, 30, 30)),
    "tiles": ((512, 512), "float64", (100, 100), (70, 130)),
}


def smooth(shape, dtype):
    grid = np.indices(shape, sparse=True)
    return (sum(np.sin(g / 9) for g in grid) * 500 + np.random.default_rng(1).integers(0, 4, shape)).astype(dtype)


@pytest.mark.parametrize("strategy", ["auto", "spill", "spill-lz4", "best"])
@pytest.mark.parametrize("case", CASES)
def test_counts_are_what_was_predicted(run, tmp_path, case, strategy):
    shape, dtype, chunks, target = CASES[case]
    values = smooth(shape, dtype)
    make(tmp_path / "in.zarr", values, chunks)
    args = ["in.zarr", "out.zarr", "--chunks", ",".join(map(str, target)), "--strategy", strategy]
    done = run.json(*args, "--memory", f"{max(values.nbytes // 2, 8 * MiB if strategy == 'spill-lz4' else 4 * MiB)}B")
    for key in ("read_seeks", "write_seeks", "bytes_read", "bytes_written", "held_bytes", "temp_bytes"):
        assert done["actual"][key] == done["predicted"][key], key
    assert done["actual"]["peak_bytes"] <= done["predicted"]["peak_bytes"]
    n_chunks = int(np.prod([-(-n // c) for n, c in zip(shape, chunks)]))
    temp_reads = done["actual"]["write_seeks"] - int(np.prod([-(-n // c) for n, c in zip(shape, target)]))
    if strategy.startswith("spill"):
        assert done["actual"]["read_seeks"] == n_chunks + temp_reads, "each chunk of the source is decoded once"
    assert np.array_equal(read(tmp_path / "out.zarr"), values)


@pytest.mark.parametrize("version", [2, 3])
def test_chunks_at_the_border_are_read_and_written_whole(run, tmp_path, version):
    """Without codecs a part of a chunk could be, too: at the border it is rows, which are many accesses. Where there is no
    memory for whole chunks, that is what is done."""
    values = smooth((100, 90, 110), "uint16")
    make(tmp_path / "in.zarr", values, (32, 32, 32), codec="none", version=version)
    args = ["in.zarr", "out.zarr", "--chunks", "25,40,26", "--json"]
    done = run.json(*args, "--memory", "64MiB")["actual"]
    assert (done["read_seeks"], done["write_seeks"]) == (4 * 3 * 4, 4 * 3 * 5)
    assert equal(read(tmp_path / "out.zarr"), values)
    assert {p.stat().st_size for p in (tmp_path / "out.zarr").rglob("*") if p.is_file() and p.suffix != ".json" and p.name[0] != "."} == {
        25 * 40 * 26 * 2}
    shutil.rmtree(tmp_path / "out.zarr")
    needed = int(re.search(r"at least (\d+) bytes", run.error(*args, "--memory", "1B")).group(1))
    least = run.json(*args, "--memory", f"{needed}B")
    assert needed < 32**3 * 2 + 25 * 40 * 26 * 2 + (1 << 20) and least["actual"]["seeks"] == least["predicted"]["seeks"] > 1000
    assert equal(read(tmp_path / "out.zarr"), values)


@pytest.mark.parametrize("codec", ["zstd:1", "none"])
def test_no_plan_is_below_the_floor(run, tmp_path, codec):
    """Which has codecs in it, and the bytes that are stored: with memory for everything, a plan is at the floor."""
    make(tmp_path / "in.zarr", smooth((120, 120, 120), "uint16"), (24, 24, 24))
    args = ["plan", "in.zarr", "out.zarr", "--chunks", "30,30,30", "--codec", codec]
    plan = run.json(*args, "--memory", "1GiB", "--minimize", "seeks")
    assert plan["predicted"]["seeks"] == plan["floor"]["seeks"]
    assert plan["predicted_seconds"] == pytest.approx(plan["floor_seconds"])
    for strategy in run.json(*args, "--memory", "8MiB")["strategies"]:
        assert strategy["seconds"] >= plan["floor_seconds"] * 0.999, strategy


@pytest.mark.skipif("RESPLIT_SANITIZED" in os.environ, reason="sanitizers use memory of their own")
@pytest.mark.parametrize("codec, budget", [("none", 8), ("zstd:1", 8), ("zstd:19", 96), ("gzip:6", 16), ("bz2:9", 32),
                                           ("lzma:3", 160), ("blosc:lz4:5:shuffle", 16), ("blosc:zstd:5:bitshuffle", 24)])
def test_resident_memory_with_codecs(run, tmp_path, resplit_path, environment, codec, budget):
    values = smooth((120, 500, 500), "uint16")
    make(tmp_path / "in.zarr", values, (1, 500, 500))
    args = ["in.zarr", "out.zarr", "--chunks", "40,50,50", "--codec", codec, "--memory", f"{budget}MiB", "--quiet"]
    assert peak_rss(resplit_path, args, tmp_path, environment) <= budget * MiB + ALLOWED
    args = ["out.zarr", "back.zarr", "--chunks", "7,100,500", "--codec", "zstd:1", "--memory", f"{budget}MiB", "--quiet"]
    assert peak_rss(resplit_path, args, tmp_path, environment) <= budget * MiB + ALLOWED
    assert np.array_equal(read(tmp_path / "back.zarr"), values)
    shutil.rmtree(tmp_path / "out.zarr")
