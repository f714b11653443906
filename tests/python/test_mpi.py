# SPDX-License-Identifier: BSD-3-Clause
"""resplit-mpi: ranks make partitions of one array; one is killed or fails, and they go on. NumPy says what the result should be."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from conftest import check_blocks, same, sample, write_blocks, written
from recovery import PART, shim, slow_disk
from zarr_support import read as read_zarr

pytestmark = [pytest.mark.skipif(shutil.which("mpirun") is None, reason="there is no mpirun"),
              pytest.mark.skipif("RESPLIT_SANITIZED" in os.environ, reason="MPI leaks, and a sanitizer is slow to say so")]

CHUNKS, SHAPE, PATTERN = (16, 11, 13), (64, 60, 50), "{0}_{1}_{2}.npy"
OPTIONS = ["--chunks", written(CHUNKS), "--memory", "8MiB"]


@pytest.fixture(scope="session")
def mpirun(resplit_path):
    """The words before those of the command, for so many ranks."""
    program = resplit_path.parent / "resplit-mpi"
    if not program.is_file():
        pytest.skip(f"there is no '{program}': the command was built without MPI")
    said = subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout
    allow = ["--allow-run-as-root", "--oversubscribe"] if "Open MPI" in said else []
    return lambda n: ["mpirun", *allow, "-n", str(n), str(program)]


class Team:
    """A source in a folder, and commands run there by several ranks."""

    def __init__(self, run, mpirun, seed=1):
        self.run, self.mpirun, self.folder = run, mpirun, run.folder
        self.array = sample(SHAPE, "<u4", seed)
        write_blocks(self.folder / "in", self.array, (20, 30, 17), PATTERN)

    def start(self, n, *args, env=None):
        return subprocess.Popen([*self.mpirun(n), *map(str, args)], cwd=self.folder, env={**self.run.env, **(env or {})},
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def __call__(self, n, *args, code=0, env=None):
        process = self.start(n, *args, env=env)
        out, said = process.communicate(timeout=120)
        assert (process.returncode == 0) == (code == 0), (out, said)
        return out if code == 0 else said

    def check(self):
        check_blocks(self.folder / "out", self.array, CHUNKS, PATTERN)
        assert not (self.folder / ("out" + PART)).exists()


@pytest.fixture
def team(run, mpirun):
    return Team(run, mpirun)


def ranks_of(process):
    """The processes that mpirun has started: (pid, rank)."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rsplit(")", 1)[1].split()[1])
            if parent == process.pid and b"resplit-mpi" in (stat.parent / "cmdline").read_bytes():
                env = dict(v.split(b"=", 1) for v in (stat.parent / "environ").read_bytes().split(b"\0") if b"=" in v)
                found.append((int(stat.parent.name), int(env.get(b"OMPI_COMM_WORLD_RANK", env.get(b"PMI_RANK", b"0")))))
        except (OSError, ValueError):
            pass
    return found


def wait_for(condition, process):
    while not condition():
        assert process.poll() is None, process.communicate()
        time.sleep(0.002)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_ranks_make_one_array(team, n):
    whole = team.run.json("in", "whole", *OPTIONS)
    done = json.loads(team(n, "in", "out", *OPTIONS, "--json"))
    assert done["ranks"] == n and done["parts"] == n and done["fingerprint"] == whole["fingerprint"]
    assert done["actual"]["bytes_written"] == team.array.nbytes
    team.check()


def test_more_partitions_than_ranks_and_the_other_way_round(team):
    done = json.loads(team(2, "in", "out", *OPTIONS, "--parts", 7, "--json"))
    assert done["parts"] == 7 and done["ranks"] == 2
    team.check()
    np.save(team.folder / "small.npy", np.arange(10))
    team(3, "small.npy", "small", "--chunks", "5", "--memory", "1MiB", "--quiet")
    check_blocks(team.folder / "small", np.arange(10), (5,), "{0}.npy")


def test_a_plan_file_and_shards(team):
    team.run("plan", "in", "out.zarr", "--chunks", "8,10,10", "--shards", "32,20,50", "--codec", "zstd:1", "--memory", "8MiB",
             "--parts", 5, "--save", "p.json")
    team(2, "p.json", "--quiet")
    assert same(read_zarr(team.folder / "out.zarr"), team.array)
    team.run("plan", "in", "out2", *OPTIONS, "--save", "whole.json")
    assert "is not of all partitions" in team(2, "whole.json", code=1)


def test_what_is_wrong_is_told_once(team):
    for args in (["nothing", "out", *OPTIONS], ["in", "out", "--chunks", "1,2", "--memory", "8MiB"], ["in", "out", *OPTIONS, "--prats", "2"],
                 ["in", "out", "--chunks", "16,16,16", "--memory", "10KiB"], ["in", "out"], ["in", "out", "x", *OPTIONS],
                 ["in", "out", *OPTIONS, "--part", "1/2"]):
        said = team(3, *args, code=1)
        assert said.count("resplit-mpi: ") == 1, said
        assert "go on by the same command" not in said
    assert not (team.folder / "out").exists()


def test_an_array_that_is_there_is_replaced_only_on_demand(team):
    write_blocks(team.folder / "out", sample((4, 4)), (2, 4), "{0}_{1}.npy")
    assert "is there already" in team(2, "in", "out", *OPTIONS, code=1)
    team(2, "in", "out", *OPTIONS, "--overwrite", "--quiet")
    team.check()


@pytest.mark.parametrize("who", [0, 1])
def test_a_rank_that_is_killed(team, resplit_path, who):
    env = slow_disk(resplit_path, team.folder, 0.01)
    process = team.start(2, "in", "out", *OPTIONS, "--threads", 1, "--sync", "each", "--quiet", env=env)
    parts = [team.folder / ("out" + PART) / f"{k}-of-2" / "journal" for k in (1, 2)]
    wait_for(lambda: all(p.exists() and p.stat().st_size > 150 for p in parts), process)
    for pid, rank in ranks_of(process):
        if rank == who:
            os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=60)
    assert process.returncode != 0 and not (team.folder / "out").exists()
    before = [p.read_bytes() for p in parts]
    done = json.loads(team(3, "in", "out", *OPTIONS, "--resume", "--json"))  # with other ranks, as many partitions as before
    assert done["parts"] == 2 and all(len(b) > 150 for b in before)
    assert done["actual"]["bytes_written"] < team.array.nbytes  # not all of it again
    team.check()


def test_a_rank_that_fails_stops_the_others(team, resplit_path):
    """The disk fails for the second partition only, by the shim that the tests of faults use."""
    fail = {"LD_PRELOAD": shim(resplit_path, "fail"), "RESPLIT_FAIL_ROOT": str((team.folder / ("out" + PART) / "2-of-3").resolve()),
            "RESPLIT_FAIL_REPORT": str(team.folder / "report"), "RESPLIT_FAIL_KIND": "write", "RESPLIT_FAIL_AT": "2",
            "RESPLIT_FAIL_LASTING": "1"}
    said = team(3, "in", "out", *OPTIONS, "--threads", 1, "--io", "threads", code=1, env=fail)
    assert said.count("resplit-mpi: ") == 1, said
    assert not (team.folder / "out").exists()
    team(2, "in", "out", *OPTIONS, "--resume", "--quiet")
    team.check()


def test_interrupted_by_a_signal(team, resplit_path):
    env = slow_disk(resplit_path, team.folder, 0.1)
    process = team.start(2, "in", "out", *OPTIONS, "--threads", 1, "--quiet", env=env)
    journal = team.folder / ("out" + PART) / "1-of-2" / "journal"
    wait_for(lambda: journal.exists() and journal.stat().st_size > 150, process)
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode != 0 and not (team.folder / "out").exists()
    team(2, "in", "out", *OPTIONS, "--resume", "--quiet")
    team.check()
