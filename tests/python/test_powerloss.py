# SPDX-License-Identifier: BSD-3-Clause
"""The power fails: at any call of a run, with any of the states that a disk may then be in (powerloss.py).

A reader finds nothing, an error, or a complete and right array; never wrong values. A resumed run ends with the right one.
States are random: RESPLIT_SEED, RESPLIT_FULL=1 for many more.
"""

import os
import random
import shutil
import subprocess
import sys

import pytest

from powerloss import MODELS, History, Snapshot, materialise, tree_of
from recovery import FULL, PART, PROBLEMS, SEED, Abilities, Workspace, boot, no_preload, shim

N_STATES = 1000 if FULL else 60
N_TWICE = 4  # of so many states, one has the power fail again while the run goes on


def recorded(library, folder, log, start):
    """Runs start(env) and returns what it did to the folder; the log must explain all of it."""
    if log.exists():
        log.unlink()
    snapshot = Snapshot(folder)
    env = {"LD_PRELOAD": library, "RESPLIT_RECORD_ROOT": str(folder), "RESPLIT_RECORD_LOG": str(log)}
    done = start(env)
    assert done.returncode == 0, done.stderr
    history = History(snapshot, log)
    assert history.crash(len(history), random.Random(0), "kill") == tree_of(folder), "the log misses something"
    return history


# ---- The model: it must find what is wrong with programs that are known to be wrong ---------------------------------

WRITE = """
import os, sys, threading
def put(path, data, sync, flags=os.O_CREAT | os.O_WRONLY):
    fd = os.open(path, flags, 0o666)
    for at in range(0, len(data), 1000):
        os.pwrite(fd, data[at:at + 1000], at)
    if sync:
        os.fsync(fd)
    os.close(fd)
def sync_folder(path):
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(fd)
    os.close(fd)
data = bytes(range(1, 251)) * 20
"""

PROGRAMS = {
    # name: (the program, the models in which it can go wrong)
    "right": ("put('tmp', data, True); os.rename('tmp', 'out'); sync_folder('.')", ()),
    "link and unlink": ("put('tmp', data, True); os.link('tmp', 'out'); os.unlink('tmp'); sync_folder('.')", ()),
    "a thread syncs": ("""
t = threading.Thread(target=put, args=('tmp', data, True)); t.start(); t.join()
os.rename('tmp', 'out'); sync_folder('.')""", ()),
    "rename before sync": ("put('tmp', data, False); os.rename('tmp', 'out'); put('out', b'', True); sync_folder('.')",
                           ("posix", "ext4")),
    "never synced": ("put('tmp', data, False); os.rename('tmp', 'out'); sync_folder('.')", ("posix", "ext4")),
    "written in place": ("put('out', data, True); sync_folder('.')", ("posix", "ext4", "kill")),
    "sync of another file": ("put('tmp', data, False); put('x', b'1', True); os.rename('tmp', 'out'); sync_folder('.')",
                             ("posix", "ext4")),
    "the name is not synced": ("put('tmp', data, True); os.rename('tmp', 'out')", ("posix", "ext4")),
    "a file after the last sync brings the name": (
        "put('tmp', data, True); os.rename('tmp', 'out'); put('x', b'1', True)", ("posix",)),
    "a folder that was not synced": (
        "os.mkdir('tmp'); put('tmp/a', data, True); os.rename('tmp', 'out'); sync_folder('.')", ("posix",)),
    "a folder that was synced": (
        "os.mkdir('tmp'); put('tmp/a', data, True); sync_folder('tmp'); os.rename('tmp', 'out'); sync_folder('.')", ()),
    "truncated and written again": (
        "put('tmp', data[::-1], True); put('tmp', data, False, os.O_WRONLY | os.O_TRUNC); "
        "os.rename('tmp', 'out'); sync_folder('.')", ("posix", "ext4")),
    "a mark before the data": (
        "put('tmp', data, False); put('done', b'1', True); put('tmp', b'', True); sync_folder('.'); "
        "os.rename('tmp', 'out'); sync_folder('.')", ("posix", "ext4")),
}


def wrong(state, is_end):
    """Is this what a program must never leave? It has ended: 'out' must be there."""
    data = bytes(range(1, 251)) * 20
    out = state.get("out", {"a": data} if "done" not in state else None)
    if out is None:  # a mark says that 'tmp' is whole
        out = state.get("tmp")
    return (is_end and "out" not in state) or out not in (data, {"a": data})


@no_preload
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_model_finds_what_is_wrong(resplit_path, tmp_path, name):
    library, root = shim(resplit_path, "record"), tmp_path.resolve() / "root"
    program, expected = PROGRAMS[name]
    root.mkdir()
    history = recorded(library, root, tmp_path / "log", lambda env: subprocess.run(
        [sys.executable, "-c", WRITE + program], cwd=root, env={**os.environ, **env}, capture_output=True, text=True))
    for model in MODELS:
        rnd = random.Random(SEED)
        n_wrong = 0
        for i in range(600):
            k = len(history) if i % 4 == 0 else history.crash_point(rnd)
            n_wrong += wrong(history.crash(k, rnd, model), k == len(history))
        assert (n_wrong > 0) == (model in expected), (model, n_wrong)


@no_preload
def test_what_was_synced_is_there(resplit_path, tmp_path):
    """Of two halves of a file one was synced: it is there in every state; the other one in some, and torn in some."""
    library, root = shim(resplit_path, "record"), tmp_path.resolve() / "root"
    root.mkdir()
    (root / "f").write_bytes(b"old")
    program = """
import os
fd = os.open('f', os.O_WRONLY)
os.pwrite(fd, b'a' * 2048, 0); os.fdatasync(fd); os.pwrite(fd, b'b' * 2048, 2048); os.ftruncate(fd, 5000)
os.posix_fallocate(fd, 0, 6000)"""
    history = recorded(library, root, tmp_path / "log", lambda env: subprocess.run(
        [sys.executable, "-c", program], cwd=root, env={**os.environ, **env}, capture_output=True, text=True))
    rnd = random.Random(SEED)
    states = [history.crash(len(history), rnd, "posix")["f"] for _ in range(500)]
    assert all(s[:2048] == b"a" * 2048 and len(s) >= 2048 and set(s[2048:]) <= set(b"b\0") for s in states)
    second = {s[2048:4096] for s in states}
    assert {b"", b"b" * 2048, bytes(2048)} < second and any(0 < s.count(b"b") < 2048 for s in second)
    assert {2048, 4096, 5000, 6000} < {len(s) for s in states}
    early = [history.crash(1, rnd, "posix")["f"] for _ in range(100)]
    assert b"old" in early and b"a" * 2048 in early


# ---- The command ---------------------------------------------------------------------------------------------------


class Crashes:
    """States of a problem's folder after a crash, each in a folder of its own."""

    def __init__(self, space, library, place):
        self.space, self.library, self.place = space, library, place
        self.n = {"nothing": 0, "old": 0, "new": 0, "wrong": 0, "part": 0}

    def record(self, folder, *more, boots=0):
        return recorded(self.library, folder, self.place / "log", lambda env: self.space.start(
            *more, env={**env, **boot(boots)}, folder=folder))

    def make(self, history, k, rnd, model):
        folder = self.place / "state"
        if folder.exists():
            shutil.rmtree(folder)
        materialise(history.crash(k, rnd, model), folder)
        return folder

    def check_reader(self, folder, is_end, context):
        """What somebody who knows nothing of the crash finds."""
        problem, run = self.space.problem, self.space.run
        found = problem.found(folder)
        self.n[found] += 1
        self.n["part"] += os.path.lexists(folder / (problem.place + PART))
        assert found == "new" or not is_end, f"{context}: the run had ended, and its array is not there"
        if problem.old:
            assert found in ("old", "new"), context
        if found == "new":
            return
        run.folder = folder
        source = problem.command()[0]
        equal = subprocess.run([run.path, "verify", source, problem.place, "--memory", "8MiB"], cwd=folder, env=run.env,
                               capture_output=True, text=True)
        assert equal.returncode > 0, f"{context}: an array that is not right passes for it"
        if found != "old":
            info = subprocess.run([run.path, "info", problem.place], cwd=folder, env=run.env, capture_output=True,
                                  text=True)
            assert info.returncode > 0, f"{context}: an array that is not right can be read: {info.stdout}"

    def check(self, history, k, rnd, model, context, again):
        """A state, and how a run goes on from there; `again`: it is cut off too."""
        folder = self.make(history, k, rnd, model)
        self.check_reader(folder, k == len(history), context)
        boots = 0 if model == "kill" else 1
        if again and self.space.able.resume and self.space.problem.found(folder) != "new":
            history = self.record(folder, "--resume", boots=boots)
            k = history.crash_point(rnd)
            context += f"; then crash {k} of {len(history)} in\n{history.describe(k)}"
            folder = self.make(history, k, rnd, model)
            self.check_reader(folder, k == len(history), context)
            boots += model != "kill"
        self.space.go_on(context, env=boot(boots), folder=folder)


@no_preload
@pytest.mark.timeout(7200 if FULL else 600)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("sync", ["end", "each"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_after_a_crash_nothing_is_wrong(run, resplit_path, tmp_path, name, sync, model):
    tmp_path = tmp_path.resolve()
    library, able = shim(resplit_path, "record"), Abilities(run)
    if sync == "each" and "--sync" not in able.options:
        pytest.skip("this command has no --sync")
    if name == "overwrite" and model == "posix" and not able.resume:
        pytest.skip("this command removes the old array before the new name is on disk")
    space = Workspace(run, tmp_path / "w", PROBLEMS[name], able, sync=sync)
    crashes = Crashes(space, library, tmp_path)
    history = crashes.record(space.folder)
    rnd = random.Random(f"{SEED} {name} {sync} {model}")
    for i in range(N_STATES if model == "posix" else N_STATES // 2):
        seed = rnd.getrandbits(64)
        own = random.Random(seed)
        k = len(history) if i == 0 else history.crash_point(own)
        context = f"{model}, seed {seed}, crash {k} of {len(history)} in\n{history.describe(k)}\n"
        crashes.check(history, k, own, model, context, again=i % N_TWICE == 1)
    print(f"{len(history)} calls; found at the target: {crashes.n}")


@no_preload
@pytest.mark.skipif(not FULL, reason="only with RESPLIT_FULL=1")
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", PROBLEMS)
def test_killed_after_each_call(run, resplit_path, tmp_path, name):
    tmp_path = tmp_path.resolve()
    library, able = shim(resplit_path, "record"), Abilities(run)
    space = Workspace(run, tmp_path / "w", PROBLEMS[name], able)
    crashes = Crashes(space, library, tmp_path)
    history = crashes.record(space.folder)
    for k in range(len(history) + 1):
        context = f"killed after {k} calls of {len(history)} in\n{history.describe(k)}\n"
        crashes.check(history, k, random.Random(0), "kill", context, again=False)
