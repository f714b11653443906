# SPDX-License-Identifier: BSD-3-Clause
"""Killed in the middle and resumed, with a target of compressed chunks and one of shards: the result is what it would have been.

By default 3 kills each; with RESPLIT_FULL=1 there are 50. A kill counts as inside when the journal had grown since the run began and
the target was not there yet.
"""

import os
import random
import shutil

import numpy as np
import pytest

from conftest import sample
from recovery import FULL, PART, SEED, Abilities, slow_disk
from test_kill import Timing, Watched
from zarr_support import make, read, read_zarrs

SHAPE = (256, 256, 512)  # of uint16: 64 MiB
SOURCE = (64, 64, 128)
TARGETS = {
    "compressed": ("--chunks", "48,128,64", "--codec", "zstd:3"),
    "spilled": ("--chunks", "256,32,64", "--codec", "zstd:1", "--strategy", "spill"),
    "packed": ("--chunks", "256,32,64", "--codec", "zstd:1", "--strategy", "spill-lz4"),
    "gzip": ("--chunks", "48,128,64", "--codec", "gzip:1"),
    "sharded": ("--chunks", "16,64,64", "--shards", "64,128,128", "--codec", "zstd:1"),
    "sharded, long": ("--chunks", "64,128,128", "--shards", "128,256,256", "--codec", "zstd:1"),
    "resharded": ("--shards", "128,128,256"),
}
N_KILLS, N_INSIDE, N_MOST = (50, 35, 150) if FULL else (3, 1, 30)


class WatchedZarr(Watched):
    def __init__(self, folder, args, env):
        super().__init__(folder, args, env)
        self.journal = folder / f"out.zarr{PART}" / "journal"
        self.target = folder / "out.zarr"


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Values with six bits of noise, in a folder that is emptied at the end."""
    folder = tmp_path_factory.mktemp("source")
    values = sample(SHAPE, "<u2") & 0x3f
    make(folder / "in.zarr", values, SOURCE)
    make(folder / "shards.zarr", values, (16, 64, 64), shards=(64, 64, 128))
    yield folder, values
    shutil.rmtree(folder)


def check_result(folder, values):
    assert np.array_equal(read_zarrs(folder / "out.zarr"), values)
    assert {p.name for p in folder.iterdir()} == {"out.zarr"}


@pytest.mark.timeout(3600 if FULL else 300)
@pytest.mark.parametrize("kind", TARGETS)
def test_killed_runs_go_on(run, resplit_path, tmp_path, source, kind):
    able = Abilities(run)
    place, values = source
    rnd = random.Random(f"{SEED} {kind}")
    path = place / ("shards.zarr" if kind == "resharded" else "in.zarr")
    args = [resplit_path, path, "out.zarr", *TARGETS[kind], "--memory", "24MiB", *able.usual()]
    watched = WatchedZarr(tmp_path, list(map(str, args)), {**run.env, **slow_disk(resplit_path, tmp_path, 0.005)})
    first, end, head = watched.undisturbed()
    check_result(tmp_path, values)
    assert head > 0, "there was no journal"
    undisturbed = {p.relative_to(tmp_path) for p in tmp_path.rglob("*")}
    timing = Timing(rnd, first if first is not None else 0.3 * end, end)
    n_kills = n_inside = n_rounds = 0
    while (n_kills < N_KILLS or n_inside < N_INSIDE) and n_kills < N_MOST and n_rounds < 2 * N_MOST:
        shutil.rmtree(tmp_path / "out.zarr")
        for i in range(rnd.randint(1, 2)):
            before = watched.written()
            was_killed = watched.killed(timing.delay(0.4 * i), *(["--resume"] if i else []))
            after, published = watched.written(), os.path.lexists(watched.target)
            inside = was_killed and after > head and after != before and not published
            timing.correct(inside, was_killed and not published)
            n_kills += was_killed
            n_inside += inside
            if published:
                break
        last = watched.start("--resume")
        said = last.communicate(timeout=120)[1]
        refused = last.returncode == 1 and "is there already" in said and not os.path.lexists(watched.journal)
        assert last.returncode == 0 or refused, (n_kills, last.returncode, said)
        check_result(tmp_path, values)
        assert {p.relative_to(tmp_path) for p in tmp_path.rglob("*")} == undisturbed
        n_rounds += 1
    print(f"seed {SEED}, {kind}: {n_kills} kills, {n_inside} inside; undisturbed {end:.2f} s")
    assert n_kills >= N_KILLS and n_inside >= N_INSIDE, "too few kills hit a run at work"


def test_a_resumed_run_with_other_options_begins_anew_or_is_refused(run, tmp_path, source, resplit_path):
    """What a killed run left is used only by the same run."""
    place, values = source
    able = Abilities(run)
    args = [resplit_path, place / "in.zarr", "out.zarr", *TARGETS["compressed"], "--memory", "24MiB", *able.usual()]
    watched = WatchedZarr(tmp_path, list(map(str, args)), {**run.env, **slow_disk(resplit_path, tmp_path, 0.005)})
    first, end, _ = watched.undisturbed()
    shutil.rmtree(tmp_path / "out.zarr")
    watched.killed((first or 0.3 * end) + 0.3 * (end - (first or 0)))
    done = run.anyhow(place / "in.zarr", "out.zarr", *TARGETS["sharded"], "--memory", "24MiB", "--resume", *able.usual())
    assert done.returncode in (0, 1), done.stderr
    if done.returncode == 0:
        assert np.array_equal(read(tmp_path / "out.zarr"), values)
