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

import machine

SLOW = 3.0 # a peer that takes so many times as long as the best of them has one turn only
SAMPLED = 0.1 # seconds from one look at the memory of a program to the next: at 0.02, looks took it 1 % of two processors

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
    check: list = field(default_factory=list) # a command that compares, instead of resplit's own
    peer: bool = False # of others: that it fails is a result, and no failure of the benchmark
    group: bool = False # in a group, limited or not: resident is the sum of its processes, without page cache
    env: dict = field(default_factory=dict)
    timeout: float = 0 # seconds; 0: the arena's
    prime: list = field(default_factory=list) # a command that loads the program from disk, before the time starts


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
    n_killed: int = 0 # processes, for want of memory


def execute(command, timeout=None, sync=False, env=None, processes=None, place=None):
    """Runs a command, started inside `place`, a context, if there is one. Its peak resident memory is that of the largest process,
    this one included until it starts; where processes, a function that lists those of the command, is given, that of all of them at one
    time, without page cache."""
    too_long = threading.Event()
    ended = threading.Event()
    pid = None
    peak = 0

    def watch():
        for wait, sent in ((timeout, signal.SIGINT), (30 if not processes else 2, signal.SIGKILL)):
            if ended.wait(wait):
                return
            too_long.set()
            for each in processes(pid) if processes else [pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(each, sent)

    def sample():
        nonlocal peak
        while not ended.wait(SAMPLED):
            peak = max(peak, machine.held(processes(pid)))

    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        with place or contextlib.nullcontext():
            start = time.monotonic()
            process = subprocess.Popen(command, stdout=out, stderr=err, stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})})
        pid = process.pid
        if processes:
            threading.Thread(target=sample, daemon=True).start()
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
        resident = peak if processes else usage.ru_maxrss * 1024
        return Done(process.returncode, seconds, resident, out.read(), err.read(), too_long.is_set())


def renew(folder):
    """An empty folder of that name, made anew elsewhere on the disk: ext4 looks at every inode that was deleted in the last minutes
    before it makes another one beside it, which no user waits for."""
    parent = os.path.dirname(folder)
    subprocess.run(["chattr", "+T", parent], check=False, stderr=subprocess.DEVNULL) # folders in it are spread out
    shutil.rmtree(folder, ignore_errors=True)
    os.rename(tempfile.mkdtemp(dir=parent), folder) # where it is depends on its first name


class Arena:
    """Runs contests. Everything that a contender writes goes to one folder, which is made anew after each."""

    def __init__(self, resplit, folder, caches, groups, repetitions, timeout):
        self.resplit = resplit
        self.folder = folder
        self.caches = caches
        self.groups = groups
        self.repetitions = repetitions
        self.timeout = timeout
        self.failures = []
        self.remarks = [] # what peers did that they should not
        self.log = [] # (case, contender, result)

    def contest(self, case, contenders):
        """Results by name. Within a repetition everyone has a turn; every other one goes backwards."""
        results = {c.name: Result() for c in contenders}
        checked = set()
        for repetition in range(self.repetitions):
            for c in contenders if repetition % 2 == 0 else contenders[::-1]:
                result = results[c.name]
                if result.note or (c.most and repetition >= c.most) or (c.peer and self._slow(result, contenders, results)):
                    continue
                done = self._turn(c)
                self._take(case, c, result, repetition, done)
                if c.makes and not result.note and c.name not in checked:
                    checked.add(c.name)
                    self._check(case, c, result)
                renew(self.folder)
        self.log += [(case, c, results[c.name]) for c in contenders]
        return results

    @staticmethod
    def _slow(result, contenders, results):
        """So slow at its first turn that there is no need to know it better."""
        best = min((results[c.name].median for c in contenders if c.makes and c.peer and results[c.name].seconds), default=None)
        return bool(result.seconds) and best is not None and result.median > SLOW * best

    def _turn(self, c):
        if c.warm:
            os.sync()
            self.caches.fill(c.warm)
        else:
            self.caches.settle()
        if c.prime:
            execute(c.prime, env=c.env)
        timeout = c.timeout or self.timeout
        if (c.limit or c.group) and self.groups.root:
            with self.groups.group(c.limit) as group:
                done = execute(c.command, timeout, c.sync, c.env, (lambda _: self.groups.processes(group)) if c.group else None,
                               self.groups.joined(group))
                done.n_killed = self.groups.n_killed(group)
                for pid in self.groups.processes(group): # whatever a peer left running
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                return done
        return execute(c.command, timeout, c.sync, c.env, machine.descendants if c.group else None)

    def _take(self, case, c, result, repetition, done):
        if done.too_long:
            result.note = f"> {c.timeout or self.timeout:g}"
        elif done.code and c.peer:
            result.note = "dies" if done.n_killed else "fails"
            if not done.n_killed:
                self.remark(f"{case}: {c.name}: exit code {done.code}: {(done.err or done.out).strip()[-400:]}")
        elif done.code:
            result.note = "FAILED"
            self.fail(f"{case}: {' '.join(c.command)}: exit code {done.code}: {(done.err or done.out).strip()}")
        else:
            result.said = json.loads(done.out) if done.out.startswith("{") and not c.peer else {}
            result.seconds[repetition] = c.seconds_of(result.said) if c.seconds_of else done.seconds
            result.resident = max(result.resident, done.resident)
        took = f"{result.seconds[repetition]:.2f} s" if repetition in result.seconds else result.note
        print(f"bench: {case}: {c.name}, {repetition + 1}: {took}", file=sys.stderr, flush=True)

    def _check(self, case, c, result):
        done = execute(c.check or [self.resplit, "verify", c.source, c.makes, "--memory", "512MiB"])
        if done.code:
            result.note = "WRONG"
            tell = self.remark if c.peer else self.fail
            tell(f"{case}: {c.name}: what it wrote differs: {(done.out + done.err).strip()}")

    def fail(self, text):
        text = " ".join(text.split())
        self.failures.append(text)
        print(f"bench: {text}", file=sys.stderr, flush=True)

    def remark(self, text):
        text = " ".join(text.split())
        self.remarks.append(text)
        print(f"bench: {text}", file=sys.stderr, flush=True)
