# SPDX-License-Identifier: BSD-3-Clause
"""Runs with HDF5: counts are as predicted, memory is the budget, and one that is killed goes on to the same result."""

import errno
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

from conftest import blocks_of, sample, written
from hdf5_support import MEMORY
from recovery import PART, Abilities, no_preload, shim
from test_kill import Watched
from test_memory import ALLOWED, MiB, peak_rss
from test_zarr_counts import CASES, smooth

COUNTS = ("read_seeks", "write_seeks", "bytes_read", "bytes_written", "held_bytes", "temp_bytes")


def make(path, values, chunks, **options):
    with h5py.File(path, "w") as f:
        f.create_dataset("data", data=values, chunks=chunks, **options)


def read(path):
    with h5py.File(path) as f:
        return f["data"][...]


@pytest.mark.parametrize("codec, strategy", [(c, s) for c in ("none", "zlib:1") for s in ("auto", "spill", "best")] + [("zlib:1", "spill-lz4")])
@pytest.mark.parametrize("case", CASES)
def test_counts_are_what_was_predicted(run, tmp_path, case, strategy, codec):
    shape, dtype, chunks, target = CASES[case]
    values = smooth(shape, dtype)
    make(tmp_path / "in.h5", values, chunks, **({} if codec == "none" else {"compression": "gzip", "compression_opts": 1}))
    done = run.json("in.h5", "out.h5", "--chunks", written(target), "--codec", codec, "--strategy", strategy, "--memory",
                    f"{max(values.nbytes // 2, 8 * MiB if strategy == 'spill-lz4' else 4 * MiB)}B")
    for key in COUNTS:
        assert done["actual"][key] == done["predicted"][key], key
    assert done["actual"]["peak_bytes"] <= done["predicted"]["peak_bytes"]
    assert np.array_equal(read(tmp_path / "out.h5"), values)


@pytest.mark.parametrize("target", ["out.h5:/data", "grid"])
def test_chunks_at_the_border_are_written_whole(run, tmp_path, target):
    """Without filters, too, in one access each, with the fill value behind the border; also by partitions, since all have places."""
    values = smooth((50, 50, 50), "<u2")
    with h5py.File(tmp_path / "in.h5", "w") as f:
        f.create_dataset("data", data=values, chunks=(1, 50, 50), fillvalue=9)
    files = ("--shards", "32,32,50", "--format", "hdf5") if target == "grid" else ()
    args = ("in.h5", target, "--chunks", "16,16,16", "--codec", "none", *files, "--memory", "8MiB")
    done = run.json(*args)
    assert done["actual"]["write_seeks"] == done["predicted"]["write_seeks"] == 4**3
    check_border(tmp_path, target, values)
    run("plan", *args, "--parts", "2", "--save", "plan.json", "--quiet")
    for part in ("2/2", "1/2"):
        run("run", "plan.json", "--part", part, "--overwrite", "--quiet")
    run("finish", "plan.json", "--overwrite", "--quiet")
    check_border(tmp_path, target, values)


def check_border(folder, target, values):
    files = [(folder / "out.h5", values)]
    if target == "grid":
        files = [(folder / "grid" / "{}_{}_{}.h5".format(*index), block) for index, _, block in blocks_of(values, (32, 32, 50))]
    for path, block in files:
        assert np.array_equal(read(path), block)
    with h5py.File(files[-1][0]) as f:
        last = tuple((n - 1) // 16 * 16 for n in f["data"].shape)
        stored = np.frombuffer(f["data"].id.read_direct_chunk(last)[1], "<u2").reshape(16, 16, 16)
        assert np.all(stored[2:] == 9) and np.all(stored[:2, :2, :2] == block[-2:, -2:, -2:])


def test_chunks_at_the_border_are_read_whole(run, tmp_path):
    """Without filters their rows could be read one by one. One chunk is missing."""
    values = smooth((100, 90, 110), "uint16")
    with h5py.File(tmp_path / "in.h5", "w") as f:
        data = f.create_dataset("data", values.shape, values.dtype, chunks=(32, 32, 32), fillvalue=7)
        values[96:, 64:, 96:] = 7
        data[:96], data[96:, :64], data[96:, 64:, :96] = values[:96], values[96:, :64], values[96:, 64:, :96]
        assert data.id.get_num_chunks() == 4 * 3 * 4 - 1
    done = run.json("in.h5", "out", "--format", "npy", "--chunks", "25,40,26", "--memory", "64MiB")["actual"]
    assert (done["read_seeks"], done["write_seeks"]) == (4 * 3 * 4, 4 * 3 * 5)
    run("merge", "out", "all.npy", "--memory", "64MiB", "--quiet")
    assert np.array_equal(np.load(tmp_path / "all.npy"), values)
    done = run.json("in.h5", "least", "--format", "npy", "--chunks", "25,40,26", "--memory", "200kB")["actual"]
    assert done["read_seeks"] > 1000, "there is no memory for whole chunks"
    run("verify", "least", "all.npy", "--exact")


def test_contiguous_counts_and_memory(run, tmp_path, resplit_path, environment):
    """In parts, like any raw file: to another grid and back, in a fraction of the memory."""
    values = smooth((64, 256, 256), "uint16")
    np.save(tmp_path / "in.npy", values)
    for source, target, chunks in (("in.npy", "a.h5", ()), ("a.h5", "b.h5", ("--chunks", "16,64,64")),
                                   ("b.h5", "c.h5:/data", ("--chunks", "-1,-1,-1"))):
        done = run.json(source, target, *chunks, "--memory", "2MiB")
        for key in COUNTS:
            assert done["actual"][key] == done["predicted"][key], (target, key)
        assert np.array_equal(read(tmp_path / target.partition(":")[0]), values)
    with h5py.File(tmp_path / "a.h5") as a, h5py.File(tmp_path / "c.h5") as c:
        assert a["data"].chunks is None and c["data"].chunks is None


def tree_pss(resplit, args, folder, env):
    """Memory of a run and of the processes that it starts, together, as far as one can see it while it runs."""
    process, most = subprocess.Popen([str(resplit), *args], cwd=folder, env=env), 0
    while process.poll() is None:
        total, pids = 0, [process.pid]
        try:
            pids += Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            for pid in pids:
                total += int(re.search(r"^Pss: +(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M).group(1))
        except (OSError, AttributeError):
            continue  # one of them has ended
        most = max(most, total)
    assert process.returncode == 0
    return most * 1024


@pytest.mark.skipif("RESPLIT_SANITIZED" in os.environ, reason="sanitizers use memory of their own")
@pytest.mark.parametrize("codec, budget", [("none", 8), ("zlib:1", 8), ("shuffle+zlib:6+fletcher32", 16), ("lzf", 8), ("blosc:lz4:5", 16)])
def test_resident_memory(run, tmp_path, resplit_path, environment, codec, budget):
    values = smooth((120, 500, 500), "uint16")
    make(tmp_path / "in.h5", values, (1, 500, 500), compression="gzip", compression_opts=1)
    args = ["in.h5", "out.h5", "--chunks", "40,50,50", "--codec", codec, "--memory", f"{budget}MiB", "--quiet"]
    assert peak_rss(resplit_path, args, tmp_path, environment) <= budget * MiB + ALLOWED
    args = ["out.h5", "back.h5", "--chunks", "7,100,500", "--codec", "zlib:1", "--memory", f"{budget}MiB", "--quiet"]
    assert peak_rss(resplit_path, args, tmp_path, environment) <= budget * MiB + ALLOWED
    assert np.array_equal(read(tmp_path / "back.h5"), values)


def make_grid(path, values):
    path.mkdir()
    for i in range(len(values)):
        make(path / f"{i}_0_0.h5", values[i:i + 1], None)


def make_virtual(path, values):
    layout = h5py.VirtualLayout(shape=values.shape, dtype=values.dtype)
    for i in range(0, len(values), 30):
        make(path.parent / f"part{i}.h5", values[i:i + 30], (1, 500, 500), compression="gzip")
        layout[i:i + 30] = h5py.VirtualSource(f"part{i}.h5", "data", shape=values[i:i + 30].shape)
    with h5py.File(path, "w", libver=("v110", "v110")) as f:
        f.create_virtual_dataset("data", layout)


# Where libhdf5 is at work during the run: it makes heads of files, or reads what only it can read.
SOURCES = {
    "grid": make_grid,
    "in.h5": lambda path, values: make(path, values, (1, 100, 500), scaleoffset=0),
    "virtual.h5": make_virtual,
}


@pytest.mark.skipif("RESPLIT_SANITIZED" in os.environ, reason="sanitizers use memory of their own")
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("measure", [peak_rss, tree_pss])
def test_resident_memory_with_the_library_at_work(run, tmp_path, resplit_path, environment, source, measure):
    values = smooth((120, 500, 500), "uint16")
    SOURCES[source](tmp_path / source, values)
    budget = 32 if source == "virtual.h5" else 16
    args = [source, "out", "--chunks", "40,250,250", "--format", "hdf5", "--memory", f"{budget}MiB", "--quiet"]
    used = measure(resplit_path, args, tmp_path, environment)
    print(f"{used / MiB:.1f} MiB")
    assert used <= budget * MiB + ALLOWED
    run("out", "back.npy", "--memory", "64MiB", "--quiet")
    assert np.array_equal(np.load(tmp_path / "back.npy"), values)


@pytest.mark.skipif("RESPLIT_SANITIZED" in os.environ, reason="sanitizers are slow here")
def test_many_chunks_are_found_and_indexed_in_little_time(run, tmp_path):
    """By calls that walk the whole index for each chunk this would take minutes."""
    values = np.arange(1 << 18, dtype="<u4").reshape(512, 512)
    make(tmp_path / "in.h5", values, (2, 2), compression="gzip")
    begin = time.monotonic()
    assert run.json("info", "in.h5")["n_stored"] == 1 << 16
    assert time.monotonic() - begin < 5
    run("in.h5", "out.h5", "--chunks", "2,4", "--memory", "32MiB", "--quiet")
    assert time.monotonic() - begin < 60
    assert np.array_equal(read(tmp_path / "out.h5"), values)


class WatchedFile(Watched):
    def __init__(self, folder, name, args, env):
        super().__init__(folder, args, env)
        self.journal = folder / f"{name}{PART}" / "journal"
        self.target = folder / name

    def killed_at_work(self, n_records, *more):
        """Kills a run when its journal has grown by some records; False: it had ended before."""
        process, head = self.start(*more), 0
        while process.poll() is None:
            n = self.written()
            head = head or n
            if head > 0 and n >= head + 40 * n_records:
                process.kill()
                break
        said = process.communicate(timeout=60)[1]
        assert process.returncode in (0, -9), (process.returncode, said)
        return process.returncode == -9


def kill_and_go_on(watched):
    n_killed = watched.killed_at_work(1) + watched.killed_at_work(2, "--resume")
    assert n_killed > 0, "no kill hit a run at work"
    assert not os.path.lexists(watched.target)
    last = watched.start("--resume")
    assert last.communicate(timeout=120)[1] is not None and last.returncode == 0


@pytest.mark.timeout(300)
@pytest.mark.parametrize("codec", ["none", "zlib:1"])
def test_killed_runs_go_on(run, resplit_path, tmp_path, codec):
    values = sample((128, 256, 512), "<u2") & 0x3f
    make(tmp_path / "in.h5", values, (32, 64, 128), compression="gzip", compression_opts=1)
    with h5py.File(tmp_path / "in.h5", "a") as f:
        f["data"].attrs["kept"] = "text"
        f["other"] = np.arange(100)
    able = Abilities(run)
    args = [resplit_path, "in.h5:/data", "out.h5", "--chunks", "48,128,64", "--codec", codec, "--memory", "24MiB", *able.usual()]
    kill_and_go_on(WatchedFile(tmp_path, "out.h5", list(map(str, args)), run.env))
    assert np.array_equal(read(tmp_path / "out.h5"), values)
    with h5py.File(tmp_path / "out.h5") as f:
        assert f["data"].attrs["kept"] == "text" and np.array_equal(f["other"], np.arange(100))
    assert {p.name for p in tmp_path.iterdir()} == {"in.h5", "out.h5"}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("how", [("--chunks", "48,128,64"), ("--shards", "48,128,128", "--chunks", "48,64,64", "--codec", "zlib:1")])
def test_killed_runs_of_grids_go_on(run, resplit_path, tmp_path, how):
    values = sample((128, 256, 512), "<u2") & 0x3f
    make(tmp_path / "in.h5", values, (32, 64, 128), compression="gzip", compression_opts=1)
    with h5py.File(tmp_path / "in.h5", "a") as f:
        f["data"].attrs["kept"] = "text"
    args = [resplit_path, "in.h5", "grid", "--format", "hdf5", *how, "--memory", "24MiB", *Abilities(run).usual()]
    kill_and_go_on(WatchedFile(tmp_path, "grid", list(map(str, args)), run.env))
    assert {p.name for p in tmp_path.iterdir()} == {"in.h5", "grid"}
    lengths = tuple(map(int, how[1].split(",")))
    for index, _, block in blocks_of(values, lengths):
        with h5py.File(tmp_path / "grid" / "{}_{}_{}.h5".format(*index)) as f:
            assert np.array_equal(f["data"], block) and f["data"].attrs["kept"] == "text"


@no_preload
@pytest.mark.parametrize("kind", ["write", "open", "truncate"])
@pytest.mark.parametrize("codec", ["none", "zlib:1"])
def test_a_call_that_fails_in_either_process(run, resplit_path, tmp_path, codec, kind):
    """Also while libhdf5 writes around the blocks: nothing that is not whole gets the name, and the run goes on."""
    values = sample((24, 20, 16), "<u2")
    make(tmp_path / "in.h5", values, (8, 20, 16))
    args = ("in.h5", "grid", "--format", "hdf5", "--chunks", "12,10,16", "--codec", codec, *MEMORY)
    fail = {"LD_PRELOAD": shim(resplit_path, "fail"), "RESPLIT_FAIL_ROOT": str(tmp_path.resolve()),
            "RESPLIT_FAIL_REPORT": str(tmp_path) + ".report", "RESPLIT_FAIL_KIND": kind, "RESPLIT_FAIL_ERRNO": str(errno.ENOSPC)}
    n_failed = 0
    for n in range(1, 60):
        done = run.anyhow(*args, env={**fail, "RESPLIT_FAIL_AT": str(n)})
        assert done.returncode in (0, 1) and (done.returncode == 0) == (tmp_path / "grid").exists(), (n, done.stderr)
        if done.returncode:
            assert len(done.stderr.splitlines()) == 1, done.stderr
            n_failed += 1
            run(*args, "--resume")
        for index, _, block in blocks_of(values, (12, 10, 16)):
            assert np.array_equal(read(tmp_path / "grid" / "{}_{}_{}.h5".format(*index)), block), n
        shutil.rmtree(tmp_path / "grid")
        assert {p.name for p in tmp_path.iterdir()} == {"in.h5"}
    assert n_failed >= {"truncate": 1}.get(kind, 6)
