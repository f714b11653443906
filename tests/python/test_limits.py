# SPDX-License-Identifier: BSD-3-Clause
"""What a machine may refuse: descriptors, a place to write, room on the disk, a source that stays as it is."""

import os
import resource
import signal
import subprocess
import time

import numpy as np
import pytest

from conftest import check_blocks, same, sample, write_blocks

PATTERN = "{0}_{1}_{2}.npy"


def test_few_descriptors_are_enough(run, tmp_path):
    array = sample((40, 40, 40))
    write_blocks(tmp_path / "in", array, (4, 40, 40), PATTERN)
    for n in (24, 40, 64):
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        done = subprocess.run([run.path, "in", f"out{n}", "--chunks", "40,4,8", "--memory", "8MiB", "--threads", "8",
                               "--quiet"], cwd=tmp_path, env=run.env, capture_output=True, text=True,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (n, limits[1])))
        assert done.returncode == 0, (n, done.stderr)
        check_blocks(tmp_path / f"out{n}", array, (40, 4, 8), PATTERN)


def test_too_few_descriptors_are_an_error(run, tmp_path):
    write_blocks(tmp_path / "in", sample((8, 8, 8)), (4, 4, 4), PATTERN)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    done = subprocess.run([run.path, "in", "out", "--chunks", "8,2,2", "--memory", "8MiB", "--quiet"], cwd=tmp_path,
                          env=run.env, capture_output=True, text=True,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4, limits[1])))
    assert done.returncode == 1 and "Too many open files" in done.stderr and done.stderr.count("\n") == 1
    assert sorted(os.listdir(tmp_path)) == ["in"]


def test_a_place_that_cannot_be_written(run, tmp_path):
    np.save(tmp_path / "in.npy", sample((8, 8)))
    message = run.error("in.npy", "/proc/out", "--chunks", "4,4", "--memory", "1MiB")
    assert "/proc/out" in message


def test_files_that_may_not_grow(run, tmp_path):
    """A limit on the size of files stands for a full disk or a quota: the error names the file, a resume then works."""
    array = sample((64, 64, 64), "<f8")
    np.save(tmp_path / "in.npy", array)
    args = ["in.npy", "out.npy", "--memory", "1MiB", "--quiet"]

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))

    done = subprocess.run([run.path, *args], cwd=tmp_path, env=run.env, capture_output=True, text=True,
                          preexec_fn=limit)
    assert done.returncode == 1 and "File too large" in done.stderr and "out.npy" in done.stderr
    assert not (tmp_path / "out.npy").exists()
    run(*args, "--resume")
    assert same(np.load(tmp_path / "out.npy"), array)
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "out.npy"]


def test_a_source_that_shrinks_while_it_is_read(run, tmp_path):
    """The last block is cut once the run has noted progress: it was looked at before, and is read at the end."""
    write_blocks(tmp_path / "in", np.zeros((100, 400, 400), "u1"), (5, 400, 400), PATTERN)
    args = ("in", "out", "--chunks", "1,400,1", "--strategy", "naive", "--memory", "4MiB", "--quiet")
    process = subprocess.Popen([run.path, *args], cwd=tmp_path, env=run.env, stderr=subprocess.PIPE, text=True)
    journal = tmp_path / "out.resplit-part/journal"
    until = time.monotonic() + 60
    while not (journal.exists() and journal.stat().st_size > 200) and time.monotonic() < until:
        time.sleep(0.005)
    whole = (tmp_path / "in/19_0_0.npy").read_bytes()
    os.truncate(tmp_path / "in/19_0_0.npy", 4000)
    message = process.communicate(timeout=120)[1]
    assert process.returncode == 1, message
    assert "19_0_0.npy' ends before" in message and "it shrank while it was read" in message and "--resume" in message
    assert not (tmp_path / "out").exists()
    (tmp_path / "in/19_0_0.npy").write_bytes(whole)
    assert "the source was changed meanwhile" in run.error(*args, "--resume")


@pytest.mark.parametrize("io", ["threads", "uring"])
@pytest.mark.parametrize("direct", ["on", "off", "auto"])
@pytest.mark.parametrize("chunks", [(150, 33, 120), (150, 100, 117)], ids=["short", "long"])
def test_every_way_of_input_and_output(run, tmp_path, io, direct, chunks):
    """Long writes are shared by the workers; they begin and end anywhere in a sector."""
    array = sample((150, 100, 120), "<f4")
    write_blocks(tmp_path / "in", array, (64, 100, 120), PATTERN)
    done = subprocess.run([run.path, "in", "out", "--chunks", ",".join(map(str, chunks)), "--memory", "16MiB", "--io",
                           io, "--direct", direct, "--json"], cwd=tmp_path, env=run.env, capture_output=True, text=True)
    if done.returncode != 0 and (io == "uring" or direct == "on"):
        assert "choose --io threads" in done.stderr or "Invalid argument" in done.stderr
        pytest.skip("not allowed here")
    assert done.returncode == 0, done.stderr
    check_blocks(tmp_path / "out", array, chunks, PATTERN)


@pytest.mark.parametrize("direct", ["on", "off"])
@pytest.mark.parametrize("shape,dtype,before,after,strategy", [
    ((210, 300, 300), "u1", (105, 105, 105), (150, 150, 150), "auto"), # rows end anywhere in a sector
    ((150, 150, 200), "V3", (105, 105, 105), (75, 100, 200), "auto"), # and so do elements
    ((60, 90, 101), "V100", (21, 33, 101), (32, 50, 101), "auto"),
    ((20, 30, 7), "V5000", (9, 11, 7), (13, 30, 3), "auto"), # longer than a sector
    ((640, 200, 100), "<f4", (640, 200, 10), (640, 200, 100), "auto"), # so long that all workers write it
    ((24, 701, 403), "<f4", (24, 351, 403), (24, 701, 403), "naive"), # the same, in 24 runs
], ids=["u1", "V3", "V100", "V5000", "f4", "runs"])
def test_what_is_written_directly_is_gathered_from_pieces(run, tmp_path, direct, shape, dtype, before, after, strategy):
    array = sample(shape, dtype)
    write_blocks(tmp_path / "in", array, before, PATTERN)
    done = subprocess.run([run.path, "in", "out", "--chunks", ",".join(map(str, after)), "--memory", "96MiB", "--direct", direct,
                           "--strategy", strategy], cwd=tmp_path, env=run.env, capture_output=True, text=True)
    if done.returncode != 0 and direct == "on":
        assert "Invalid argument" in done.stderr
        pytest.skip("not allowed here")
    assert done.returncode == 0, done.stderr
    check_blocks(tmp_path / "out", array, after, PATTERN)
