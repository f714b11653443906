# SPDX-License-Identifier: BSD-3-Clause
"""A run through a temporary file, from the command line: the values, the counts, and nothing left behind."""

import os
import re
import subprocess
import time

import numpy as np
import pytest
import zarr
from hypothesis import strategies as st

from conftest import check_blocks, sample, written
from property_support import examples
from test_memory import ALLOWED, MiB, peak_rss
from zarr_support import equal, make, read


def least(run, *args):
    return int(re.search(r"at least (\d+) bytes", run.error(*args, "--memory", "1B")).group(1))


@pytest.mark.parametrize("more", [0, 3000, 20000])
@pytest.mark.parametrize("order", "CF")
def test_a_spill_moves_every_value(run, tmp_path, more, order):
    array = sample((40, 31, 22), "<f4")
    np.save(tmp_path / "in.npy", np.asarray(array, order=order))
    (tmp_path / "scratch").mkdir()
    args = ["in.npy", "out", "--chunks", "40,7,5", "--strategy", "spill", "--temp", "scratch"]
    budget = least(run, "plan", *args) + more
    done = run.json(*args, "--memory", f"{budget}B")
    check_blocks(tmp_path / "out", array, (40, 7, 5), "{0}_{1}_{2}.npy")
    assert done["strategy"] == "spill"
    assert done["actual"]["temp_bytes"] == done["predicted"]["temp_bytes"] > 0
    for key in ("read_seeks", "write_seeks", "bytes_read", "bytes_written", "held_bytes"):
        assert done["actual"][key] == done["predicted"][key], key
    assert done["actual"]["bytes_written"] == array.nbytes + done["predicted"]["temp_bytes"]
    assert done["actual"]["peak_bytes"] <= done["predicted"]["peak_bytes"] <= budget
    assert list((tmp_path / "scratch").iterdir()) == []
    assert {p.name for p in tmp_path.iterdir()} == {"in.npy", "out", "scratch"}


def test_parts_of_the_temporary_file_do_not_meet(run, tmp_path):
    """512 stretches that are two bytes longer than whole sectors make each part as long as it can be."""
    rows, blocks, row = 512, 10, 32769
    array = np.arange(rows * blocks * row, dtype="<u4").reshape(rows, blocks, row).astype("<u2")
    np.save(tmp_path / "in.npy", array)
    done = run.json("in.npy", "out", "--chunks", f"{rows},1,{row}", "--strategy", "spill", "--memory", "60MB")
    assert done["actual"]["temp_bytes"] == (blocks - 1) * rows * row * 2
    check_blocks(tmp_path / "out", array, (rows, 1, row), "{0}_{1}_{2}.npy")


def test_a_scratch_folder_that_is_not_there_is_named(run, tmp_path):
    np.save(tmp_path / "in.npy", sample((40, 31, 22), "<f4"))
    args = ["in.npy", "out", "--chunks", "40,7,5", "--strategy", "spill", "--temp", "nowhere"]
    said = run.error(*args, "--memory", f"{least(run, 'plan', *args)}B")
    assert "'nowhere'" in said
    assert {p.name for p in tmp_path.iterdir()} == {"in.npy"}


def test_equal_grids_are_copied(run, tmp_path):
    array = sample((30, 20), "<u2")
    np.save(tmp_path / "in.npy", array)
    run("split", "in.npy", "a", "--chunks", "7,20", "--memory", "1MiB")
    done = run.json("a", "b", "--chunks", "7,20", "--memory", "1MiB")
    assert done["strategy"] == "copy"
    assert done["actual"]["read_seeks"] == done["actual"]["write_seeks"] == 5
    check_blocks(tmp_path / "b", array, (7, 20), "{0}_{1}.npy")


@pytest.mark.parametrize("shape, chunks, to", [
    ((24, 700, 600), (1, 700, 600), (24, 50, 60)), # long stretches, in whole sectors
    ((9, 700, 600), (1, 700, 600), (9, 7, 600)), # short ones
    ((40, 300, 500), (7, 300, 500), (40, 45, 70)), # more than what a map leaves for a group lies in its last chunk
])
@pytest.mark.parametrize("more", [0, 1, 5, 12])
def test_what_decoded_blocks_leave_is_put_together(run, tmp_path, shape, chunks, to, more):
    values = np.random.default_rng(more).integers(0, 4096, shape).astype("<u2")
    make(tmp_path / "in.zarr", values, chunks)
    args = ["in.zarr", "out.zarr", "--chunks", ",".join(map(str, to)), "--strategy", "spill"]
    budget = least(run, "plan", *args) + more * MiB
    done = run.json(*args, "--memory", f"{budget}B")
    assert np.array_equal(read(tmp_path / "out.zarr"), values)
    for key in ("read_seeks", "write_seeks", "bytes_read", "bytes_written", "temp_bytes"):
        assert done["actual"][key] == done["predicted"][key], key
    assert done["actual"]["peak_bytes"] <= done["predicted"]["peak_bytes"] <= budget


@pytest.mark.parametrize("shape, to, memory", [
    ((2001, 150, 200), (2001, 15, 20), 96), # short stretches
    ((501, 300, 370), (501, 30, 37), 96), # long ones, in whole sectors
    ((501, 300, 370), (250, 33, 370), 96), # blocks end with the rows of maps, and every other map has nothing of half of them
])
@pytest.mark.parametrize("killed", [False, True])
def test_maps_leave_what_they_have_two_at_a_time(run, resplit_path, environment, tmp_path, shape, to, memory, killed):
    """There is memory for sheaves: of an odd number of maps, with a missing one."""
    values = np.random.default_rng(5).integers(0, 4096, shape).astype(">u2")
    values[40] = 0
    make(tmp_path / "in.zarr", values, (1, *shape[1:]), "zstd", 2)
    args = ["in.zarr", "out.zarr", "--chunks", written(to), "--strategy", "spill", "--memory", f"{memory}MiB"]
    if killed: # while blocks of a group are written
        process = subprocess.Popen([resplit_path, *args, "--sync", "each"], cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL)
        while process.poll() is None and len(list(tmp_path.glob("out.zarr.resplit-part/data/*.*.*"))) < 20:
            time.sleep(0.001)
        process.kill()
        process.wait()
        args.append("--resume")
    done = run.json(*args)
    assert np.array_equal(read(tmp_path / "out.zarr"), values)
    assert done["fingerprint"] == run("fingerprint", "in.zarr").stdout.split()[0]
    if not killed:
        for key in ("read_seeks", "write_seeks", "bytes_read", "bytes_written", "temp_bytes"):
            assert done["actual"][key] == done["predicted"][key], key
        assert done["actual"]["temp_bytes"] > 0


@pytest.mark.parametrize("more", [0, 60_000, 70_000, 100_000, 130_000, 200_000, 300_000, 600_000])
def test_long_stretches_in_little_staging(run, tmp_path, more):
    """100,000 bytes are no whole sectors, and may be all that staging has room for."""
    values = np.random.default_rng(1).integers(0, 256, (32, 200_000)).astype("u1")
    np.save(tmp_path / "in.npy", values)
    args = ["in.npy", "out", "--chunks", "32,100000", "--strategy", "spill"]
    done = run.json(*args, "--memory", f"{least(run, 'plan', *args) + more}B")
    assert done["actual"]["temp_bytes"] == done["predicted"]["temp_bytes"] > 0
    check_blocks(tmp_path / "out", values, (32, 100_000), "{0}_{1}.npy")


# ---- Packed ----------------------------------------------------------------------------------------------------

MAPS = (256, 128, 128)


@pytest.fixture
def maps(tmp_path):
    """16 MiB in maps, of values with 12 bits of noise in 32."""
    values = np.random.default_rng(1).integers(0, 4096, MAPS).astype("<u4")
    make(tmp_path / "in.zarr", values, (1, 128, 128))
    return values


@examples(60)
def test_packed_spills_move_every_value(run, folder, data):
    axes = data.draw(st.integers(1, 4))
    shape = [data.draw(st.integers(2, (600, 60, 16, 9)[axes - 1])) for _ in range(axes)]
    dtype = data.draw(st.sampled_from(["u1", "<i2", ">f4", "<f8", "<c16", "S5", "<U9", "?"]))
    values = sample(shape, dtype) if dtype not in ("S5", "<U9") else np.resize(np.array(["", "a", "bcd"], dtype), shape)
    if data.draw(st.booleans()):
        values = np.zeros_like(values) # of nothing but the fill value: its chunks are missing
    chunks = [data.draw(st.integers(1, n)) for n in shape]
    version, codec = data.draw(st.sampled_from([(2, "zlib"), (2, "zstd"), (3, "zstd"), (3, "blosc")]))
    make(folder / "in.zarr", values, chunks, codec, version, order=data.draw(st.sampled_from("CF")) if version == 2 else None)
    start = [data.draw(st.integers(0, n - 2)) for n in shape]
    stop = [data.draw(st.integers(s + 2, n)) for s, n in zip(start, shape)]
    target = [data.draw(st.integers(1, b - a - 1)) for a, b in zip(start, stop)]
    args = ["in.zarr", "out.zarr", "--chunks", written(target), "--roi", ",".join(f"{a}:{b}" for a, b in zip(start, stop)), "--strategy",
            "spill-lz4", "--codec", data.draw(st.sampled_from(["none", "zstd:1"]))]
    budget = least(run, "plan", *args) + data.draw(st.sampled_from([0, 1, 5000, 100000, 20000000]))
    done = run.json(*args, "--memory", f"{budget}B")
    for key in ("read_seeks", "write_seeks", "bytes_read", "bytes_written", "held_bytes", "temp_bytes"):
        assert done["actual"][key] == done["predicted"][key], key
    assert done["actual"]["peak_bytes"] <= done["predicted"]["peak_bytes"] <= budget
    assert equal(read(folder / "out.zarr"), values[tuple(map(slice, start, stop))])


@pytest.mark.skipif("RESPLIT_SANITIZED" in os.environ, reason="sanitizers use memory of their own")
def test_packed_spills_hold_their_memory(maps, resplit_path, environment, tmp_path):
    args = ["in.zarr", "out.zarr", "--chunks", "256,8,8", "--strategy", "spill-lz4", "--memory", "8MiB", "--quiet"]
    assert peak_rss(resplit_path, args, tmp_path, environment) <= 8 * MiB + ALLOWED
    assert np.array_equal(read(tmp_path / "out.zarr"), maps)


def test_packed_where_the_disk_is_slow(run, tmp_path):
    """By cost: a processor packs faster than a slow disk writes, and slower than a fast one. A plan looks at the sizes of files only."""
    zarr.create_array(tmp_path / "in.zarr", shape=(2048, 512, 512), dtype="f4", chunks=(1, 512, 512))
    for i in range(2048):
        chunk = tmp_path / "in.zarr" / "c" / str(i) / "0" / "0"
        chunk.parent.mkdir(parents=True)
        with open(chunk, "wb") as f:
            f.truncate(475_000)
    args = ["plan", "in.zarr", "out.zarr", "--chunks", "2048,16,16", "--memory", "512MiB"]
    chosen = {device: run.json(*args, "--device", device)["strategy"] for device in ("nfs", "ssd", "nvme")}
    assert chosen == {"nfs": "spill-lz4", "ssd": "spill", "nvme": "spill"}


def test_packed_is_for_packed_sources(run, tmp_path):
    np.save(tmp_path / "in.npy", sample((40, 31, 22), "<f4"))
    assert "is for several target blocks, from a source whose blocks are compressed, not for these" in run.error(
        "in.npy", "out", "--chunks", "40,7,5", "--strategy", "spill-lz4", "--memory", "1MiB")
