# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of failures share: small problems, what may be found at a target after a failure, and how a run goes on.

Nothing here knows the engine: only the command, the names beside a target, and NumPy.
"""

import os
import re
import shutil
import subprocess

import numpy as np
import pytest

from powerloss import LONG_AGO
from conftest import check_blocks, same, sample, write_blocks, written

FULL = os.environ.get("RESPLIT_FULL", "") not in ("", "0")
SEED = int(os.environ.get("RESPLIT_SEED", "20261115"))
PART = ".resplit-part"
PATTERN = "{0}_{1}_{2}.npy"
SHAPE = (24, 20, 16)

no_preload = pytest.mark.skipif("RESPLIT_SANITIZED" in os.environ, reason="a sanitizer wants to be loaded first")


def shim(resplit_path, name):
    """A library of tests/faults, which is built beside the command."""
    path = resplit_path.parent / "tests" / f"fault_{name}.so"
    if not path.is_file():
        pytest.skip(f"there is no '{path}': the command was built without the tests, or not on Linux")
    return str(path)


def slow_disk(resplit_path, folder, seconds):
    """The environment of a run whose writes under a folder all wait: it can be hit at work, however fast the machine is."""
    if "RESPLIT_SANITIZED" in os.environ:  # slow enough
        return {}
    return {"LD_PRELOAD": shim(resplit_path, "fail"), "RESPLIT_FAIL_ROOT": str(folder.resolve()),
            "RESPLIT_FAIL_REPORT": str(folder) + ".report", "RESPLIT_FAIL_SLEEP": str(round(1e6 * seconds))}


def boot(number):
    """The environment of a run after so many boots: the id that the kernel draws anew at each."""
    return {"RESPLIT_BOOT_ID": f"{number:08x}-1234-4abc-8def-0123456789ab"}


class Abilities:
    """What the command can do: its options, as its help lists them."""

    def __init__(self, run):
        self.options = set(re.findall(r"^  (--[a-z-]+)", run("--help").stdout, re.M))
        self.resume = "--resume" in self.options

    def usual(self, **values):
        """Options of a run whose I/O can be watched, and others by name, where they exist."""
        args = ["--quiet"]
        for name, value in {"io": "threads", "threads": 2, **values}.items():
            if f"--{name}" in self.options:
                args += [f"--{name}", str(value)]
        return args


class Problem:
    """A source and a target of 15 KB; `old`: how an array that is replaced was cut."""

    def __init__(self, source, target, *args, old=None):
        self.source, self.target, self.args, self.old = source, target, args, old
        self.place = "out.npy" if target is None else "out"
        self.array = sample(SHAPE, "<u2", seed=1)
        self.old_array = sample(SHAPE, "<u2", seed=2)

    def prepare(self, folder):
        if self.source is None:
            np.save(folder / "in.npy", self.array)
        else:
            write_blocks(folder / "in", self.array, self.source, PATTERN)
        for path in [folder / "in.npy"] if self.source is None else (folder / "in").iterdir():
            os.utime(path, (LONG_AGO, LONG_AGO))  # the same source in every folder

    def prepare_old(self, run):
        """The array that is to be replaced, as the command leaves it."""
        np.save(run.folder / "old.npy", self.old_array)
        if self.target is None:
            (run.folder / "old.npy").rename(run.folder / self.place)
        else:
            run("old.npy", self.place, "--chunks", written(self.old), "--memory", "8MiB", "--quiet")
            (run.folder / "old.npy").unlink()

    def command(self):
        args = ["in.npy" if self.source is None else "in", self.place, *self.args]
        if self.target is not None:
            args += ["--chunks", written(self.target)]
        return args + (["--overwrite"] if self.old else [])

    def holds(self, folder, array, chunks):
        """Is exactly this array there?"""
        path = folder / self.place
        try:
            if self.target is None:
                return same(np.load(path), array)
            check_blocks(path, array, chunks, PATTERN)
            return True
        except (AssertionError, OSError, ValueError, EOFError):
            return False

    def found(self, folder):
        """What is at the target: 'nothing', 'new', 'old', or 'wrong'."""
        if not os.path.lexists(folder / self.place):
            return "nothing"
        if self.holds(folder, self.array, self.target):
            return "new"
        return "old" if self.old and self.holds(folder, self.old_array, self.old) else "wrong"


KEEP = ("--strategy", "keep")
PROBLEMS = {
    "blocks": Problem((10, 9, 8), (7, 13, 6), *KEEP),
    "split": Problem(None, (9, 8, 7), *KEEP),
    "merge": Problem((10, 9, 8), None),  # the strategy is left to the search, which allocates a lot
    "copy": Problem((10, 9, 16), (10, 9, 16)),
    "spill": Problem(None, (24, 5, 4), "--strategy", "spill"),
    "overwrite": Problem((10, 9, 8), (7, 13, 6), *KEEP, old=(9, 9, 9)),
    "overwrite_file": Problem((10, 9, 8), None, *KEEP, old=(-1, -1, -1)),
}


class Workspace:
    """A folder with a problem in it, that is brought back to its beginning after every run."""

    def __init__(self, run, folder, problem, able, **values):
        self.run, self.folder, self.problem, self.able = run, folder, problem, able
        folder.mkdir()
        run.folder = folder
        problem.prepare(folder)
        self.kept = None
        if problem.old:
            self.kept = folder.with_name(folder.name + ".old")
            problem.prepare_old(run)
            (folder / problem.place).rename(self.kept)
        self.command = [*problem.command(), *able.usual(**values), "--memory", f"{self.budget()}B"]
        self.reset()
        self.before = set(os.listdir(folder))

    def budget(self):
        """Little more than the least that works, so that there are many steps."""
        args = [a for a in self.problem.command() if a != "--overwrite"]
        refusal = self.run.error("plan", *args, "--memory", "1B")
        return int(re.search(r"at least (\d+) bytes", refusal).group(1)) + self.problem.array.nbytes // 4

    def reset(self):
        for path in self.folder.iterdir():
            if path.name not in ("in", "in.npy"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        if self.kept:
            place = self.folder / self.problem.place
            shutil.copytree(self.kept, place) if self.kept.is_dir() else shutil.copy(self.kept, place)

    def start(self, *more, env=None, folder=None):
        """Runs the command, whatever comes of it."""
        return subprocess.run([str(self.run.path), *self.command, *more], cwd=folder or self.folder,
                              env={**self.run.env, **(env or {})}, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=120)

    def go_on(self, context, env=None, folder=None):
        """The command again, after a failure: it ends well, with the new array there and nothing beside it. Only what is
        complete may be refused. Where it cannot resume, it begins anew."""
        folder = folder or self.folder
        was = self.problem.found(folder)
        done = self.start(*(["--resume"] if self.able.resume else []), env=env, folder=folder)
        if done.returncode == 1 and was == "new" and not self.problem.old:
            assert "is there already" in done.stderr, (context, done.stderr)
        else:
            assert done.returncode == 0, (context, done.returncode, done.stderr)
        beside = set(os.listdir(folder)) - self.before - {self.problem.place}
        if not self.able.resume:  # a kill while the temporary file still has a name
            beside = {name for name in beside if not name.startswith("resplit-spill-")}
        assert not beside, (context, beside)
        assert self.problem.found(folder) == "new", context
