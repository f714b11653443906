# SPDX-License-Identifier: BSD-3-Clause
"""Contests: commands that take turns, each timed from a cold or from a warm cache."""

import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field


@dataclass
class Contender:
    name: str
    command: list
    sync: bool = False # bring everything to disk afterwards, and count that
    warm: str = "" # a path that is read into the cache before
    limit: int = 0 # of its memory and its page cache together, in bytes
    budget: int = 0 # what it was told to use
    most: int = 0 # repetitions, if fewer than the others'
    makes: str = "" # the array that it writes, compared once with its source
    source: str = ""
    seconds_of: object = None # takes the seconds from what it printed


@dataclass
class Result:
    seconds: dict = field(default_factory=dict) # by repetition
    resident: int = 0
    said: dict = field(default_factory=dict)
    note: str = ""

    @property
    def median(self):
        return statistics.median(self.seconds.values()) if self.seconds else None

    def shown(self):
        return self.note or (f"{self.median:.2f}" if self.seconds else "-")


def ratio(above, below):
    """The median over the repetitions of one by the other; of medians, if one ran less often."""
    if above.note or below.note or not above.seconds or not below.seconds:
        return None
    if above.seconds.keys() == below.seconds.keys():
        return statistics.median(above.seconds[i] / below.seconds[i] for i in above.seconds)
    return above.median / below.median


@dataclass
class Done:
    code: int
    seconds: float
    resident: int
    out: str
    err: str
    too_long: bool


def execute(command, timeout=None, sync=False):
    """Runs a command. Its peak resident memory is that of the largest process, this one included until it starts."""
    too_long = threading.Event()
    ended = threading.Event()
    pid = None

    def watch():
        for wait, sent in ((timeout, signal.SIGINT), (30, signal.SIGKILL)):
            if ended.wait(wait):
                return
            too_long.set()
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, sent)

    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        start = time.monotonic()
        process = subprocess.Popen(command, stdout=out, stderr=err, stdin=subprocess.DEVNULL)
        pid = process.pid
        if timeout:
            threading.Thread(target=watch, daemon=True).start()
        try:
            _, status, usage = os.wait4(pid, 0)
        except BaseException: # interrupted: leave no child behind
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise
        finally:
            ended.set()
        process.returncode = os.waitstatus_to_exitcode(status)
        if sync:
            os.sync()
        seconds = time.monotonic() - start
        out.seek(0)
        err.seek(0)
        return Done(process.returncode, seconds, usage.ru_maxrss * 1024, out.read(), err.read(), too_long.is_set())


def empty(folder):
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.remove(entry.path)


class Arena:
    """Runs contests. Everything that a contender writes goes to one folder, which is emptied after each."""

    def __init__(self, resplit, folder, caches, groups, repetitions, timeout):
        self.resplit = resplit
        self.folder = folder
        self.caches = caches
        self.groups = groups
        self.repetitions = repetitions
        self.timeout = timeout
        self.failures = []
        self.log = [] # (case, contender, result)

    def contest(self, case, contenders):
        """Results by name. Within a repetition everyone has a turn; every other one goes backwards."""
        results = {c.name: Result() for c in contenders}
        checked = set()
        for repetition in range(self.repetitions):
            for c in contenders if repetition % 2 == 0 else contenders[::-1]:
                result = results[c.name]
                if result.note or (c.most and repetition >= c.most):
                    continue
                done = self._turn(c)
                self._take(case, c, result, repetition, done)
                if c.makes and not result.note and c.name not in checked:
                    checked.add(c.name)
                    self._check(case, c, result)
                empty(self.folder)
        self.log += [(case, c, results[c.name]) for c in contenders]
        return results

    def _turn(self, c):
        if c.warm:
            os.sync()
            self.caches.fill(c.warm)
        else:
            self.caches.settle()
        if c.limit and self.groups.root:
            with self.groups.group(c.limit) as group:
                return execute(self.groups.inside(group, c.command), self.timeout, c.sync)
        return execute(c.command, self.timeout, c.sync)

    def _take(self, case, c, result, repetition, done):
        if done.too_long:
            result.note = f"> {self.timeout:g}"
        elif done.code:
            result.note = "FAILED"
            self.fail(f"{case}: {' '.join(c.command)}: exit code {done.code}: {(done.err or done.out).strip()}")
        else:
            result.said = json.loads(done.out) if done.out.startswith("{") else {}
            result.seconds[repetition] = c.seconds_of(result.said) if c.seconds_of else done.seconds
            result.resident = max(result.resident, done.resident)
        took = f"{result.seconds[repetition]:.2f} s" if repetition in result.seconds else result.note
        print(f"bench: {case}: {c.name}, {repetition + 1}: {took}", file=sys.stderr, flush=True)

    def _check(self, case, c, result):
        done = execute([self.resplit, "verify", c.source, c.makes, "--memory", "512MiB"])
        if done.code:
            result.note = "WRONG"
            self.fail(f"{case}: {c.name}: what it wrote differs: {(done.out + done.err).strip()}")

    def fail(self, text):
        text = " ".join(text.split())
        self.failures.append(text)
        print(f"bench: {text}", file=sys.stderr, flush=True)
