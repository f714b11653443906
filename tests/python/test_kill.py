# SPDX-License-Identifier: BSD-3-Clause
"""Killed at some moment and resumed, again and again: the result is what it would have been.

A kill counts as inside when the journal had grown since the run began and the target was not there yet. By default there
are 12 kills; with RESPLIT_FULL=1 at least 200, of which at least 150 inside. Half of them are with --sync end, half with
--sync each.
"""

import os
import random
import shutil
import subprocess
import time

import numpy as np
import pytest

from conftest import blocks_of, name_of, sample, write_blocks, written
from recovery import FULL, PART, PATTERN, SEED, Abilities, slow_disk

SHAPE = (512, 512, 512)  # of uint16: 256 MiB
SOURCE, TARGET = (128, 128, 128), (96, 256, 64)
N_KILLS, N_INSIDE, N_MOST = (100, 75, 200) if FULL else (6, 1, 60)
N_IN_A_ROW = 3


class Watched:
    """The command at work, and what can be seen of it from outside."""

    def __init__(self, folder, args, env):
        self.folder, self.args, self.env = folder, args, env
        self.journal = folder / f"out{PART}" / "journal"
        self.target = folder / "out"

    def written(self):
        """Bytes of the journal; space that is only reserved does not count."""
        try:
            return len(self.journal.read_bytes().rstrip(b"\0"))
        except OSError:
            return 0

    def start(self, *more):
        return subprocess.Popen([*self.args, *more], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def undisturbed(self):
        """When the journal first grew, when it was over, in seconds, and the journal's bytes before it grew."""
        begin, first, head = time.monotonic(), None, 0
        process = self.start()
        while process.poll() is None:
            n = self.written()
            head = head or n
            if first is None and n > head > 0:
                first = time.monotonic() - begin
            time.sleep(0.001)
        end = time.monotonic() - begin
        assert process.returncode == 0, process.stderr.read()
        return first, end, head

    def killed(self, delay, *more):
        """Kills a run after some seconds; False when it had ended before."""
        process = self.start(*more)
        try:
            process.wait(delay)
        except subprocess.TimeoutExpired:
            process.kill()
        said = process.communicate(timeout=60)[1]
        assert process.returncode in (0, -9), (process.returncode, said)
        return process.returncode != 0


def check_result(folder, array, pattern=PATTERN):
    """Bit by bit, by NumPy, and nothing beside it."""
    names = {"resplit.json"}
    for index, start, values in blocks_of(array, TARGET):
        path = folder / "out" / name_of(pattern, index, start, array.shape)
        names.add(path.name)
        block = np.load(path, mmap_mode="r")
        assert block.dtype == values.dtype and block.shape == values.shape and np.array_equal(block, values), path
    assert {p.name for p in (folder / "out").iterdir()} == names
    assert {p.name for p in folder.iterdir()} == {"in", "out"}


class Timing:
    """When to kill: by what undisturbed runs took, corrected by what was hit."""

    def __init__(self, rnd, first, end):
        self.rnd, self.first, self.end, self.scale = rnd, first, end, 1.0

    def delay(self, done):
        """Of a run that begins when this share of all work is done."""
        return self.scale * (self.first + self.rnd.uniform(0, 0.95) * (self.end - self.first) * (1 - done))

    def correct(self, hit, was_early):
        """Too late: earlier; too early: later."""
        self.scale *= 1.0 if hit else 1.1 if was_early else 0.9
        self.scale = min(max(self.scale, 0.2), 5)


@pytest.fixture
def large_folder(tmp_path):
    """Emptied at the end: pytest keeps the folders of some runs."""
    yield tmp_path
    for path in tmp_path.iterdir():
        shutil.rmtree(path)


@pytest.mark.timeout(7200 if FULL else 600)
@pytest.mark.parametrize("sync", ["end", "each"])
def test_killed_runs_go_on(run, resplit_path, large_folder, sync):
    able = Abilities(run)
    if not able.resume:
        pytest.skip("this command has no --resume")
    rnd = random.Random(f"{SEED} {sync}")
    array = sample(SHAPE, "<u2")
    write_blocks(large_folder / "in", array, SOURCE, PATTERN)
    args = [resplit_path, "in", "out", "--chunks", written(TARGET), "--memory", "24MiB",
            *able.usual(sync=sync)]
    slow = {} if FULL else slow_disk(resplit_path, large_folder, 0.002)
    watched = Watched(large_folder, list(map(str, args)), {**run.env, **slow})
    watched.undisturbed()  # the first one is slower
    check_result(large_folder, array)
    shutil.rmtree(large_folder / "out")
    first, end, head = watched.undisturbed()
    assert head > 0, "there was no journal"
    timing = Timing(rnd, first if first is not None else 0.3 * end, end)
    n_kills = n_inside = n_rounds = 0
    while (n_kills < N_KILLS or n_inside < N_INSIDE) and n_kills < N_MOST and n_rounds < 2 * N_MOST:
        shutil.rmtree(large_folder / "out")
        done = 0.0
        for i in range(rnd.randint(1, N_IN_A_ROW)):
            before = watched.written()
            delay = timing.delay(done)
            was_killed = watched.killed(delay, *(["--resume"] if i else []))
            after = watched.written()
            inside = was_killed and after > head and after != before and not os.path.lexists(watched.target)
            timing.correct(inside, was_killed and not os.path.lexists(watched.target))
            n_kills += was_killed
            n_inside += inside
            done = min(0.9, done + (1 - done) * max(0, delay - timing.first) / end)
            if os.path.lexists(watched.target):
                break
        last = watched.start("--resume")
        said = last.communicate(timeout=120)[1]
        # Published before it was killed: to be refused is as good, as long as it is whole.
        refused = last.returncode == 1 and "is there already" in said and not os.path.lexists(watched.journal)
        assert last.returncode == 0 or refused, (n_rounds, last.returncode, said)
        check_result(large_folder, array)
        n_rounds += 1
    print(f"seed {SEED}, --sync {sync}: {n_kills} kills, {n_inside} inside, {n_rounds} rounds; undisturbed {end:.2f} s, "
          f"journal from {timing.first:.2f} s, delays x {timing.scale:.2f}")
    assert n_kills >= N_KILLS and n_inside >= N_INSIDE, "too few kills hit a run at work"


def test_resume_with_nothing_to_resume_starts_from_scratch(run, tmp_path):
    able = Abilities(run)
    if not able.resume:
        pytest.skip("this command has no --resume")
    array = sample((40, 30, 20))
    write_blocks(tmp_path / "in", array, (9, 8, 7), PATTERN)
    run("in", "out", "--chunks", written((11, 30, 6)), "--memory", "8MiB", "--quiet", "--resume")
    for index, start, values in blocks_of(array, (11, 30, 6)):
        assert np.array_equal(np.load(tmp_path / "out" / name_of(PATTERN, index, start, array.shape)), values)
    assert {p.name for p in tmp_path.iterdir()} == {"in", "out"}
