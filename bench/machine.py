# SPDX-License-Identifier: BSD-3-Clause
"""The machine: what it is, its caches, and groups of processes whose memory is limited."""

import contextlib
import datetime
import os
import platform
import subprocess
import time

CGROUP = "/sys/fs/cgroup"


def write_text(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def said_by(*command):
    """The output of a command, or nothing if it cannot be run."""
    try:
        return subprocess.run(command, text=True, capture_output=True).stdout.strip()
    except OSError:
        return ""


def file_system(folder):
    """Its kind and its device."""
    return (said_by("df", "--output=fstype,source", folder).splitlines() or ["? ?"])[-1].split()


class Caches:
    def __init__(self, may_drop):
        self.cold = may_drop
        self.why_warm = "asked for by --no-drop"
        if may_drop:
            try:
                self.drop()
            except OSError as e:
                self.cold = False
                self.why_warm = f"{e.strerror}: root is needed"

    @staticmethod
    def drop():
        os.sync()
        write_text("/proc/sys/vm/drop_caches", "3\n")

    def settle(self):
        """What the last command left is on disk and, if possible, nothing is in memory."""
        if self.cold:
            self.drop()
        else:
            os.sync()

    @staticmethod
    def fill(path):
        """Reads a file, or all files of a folder."""
        buffer = bytearray(1 << 20)
        paths = [e.path for e in os.scandir(path)] if os.path.isdir(path) else [path]
        for each in paths:
            with open(each, "rb", buffering=0) as f:
                while f.readinto(buffer):
                    pass


class MemoryGroups:
    """Groups (cgroups) below the root of the memory controller, version 1 or 2. Page cache counts in both."""

    def __init__(self):
        self.root = self.limit_name = None
        self.why_not = "no cgroup memory controller"
        try:
            self._find()
            if self.root:
                with self.group(64 << 20):
                    pass
        except OSError as e:
            self.root, self.why_not = None, f"'{e.filename}': {e.strerror}"

    def _find(self):
        first, second = os.path.join(CGROUP, "memory"), CGROUP
        if os.path.exists(os.path.join(first, "memory.limit_in_bytes")):
            self.root, self.limit_name = first, "memory.limit_in_bytes"
            return
        controllers = os.path.join(second, "cgroup.controllers")
        if os.path.exists(controllers):
            with open(controllers, encoding="ascii") as f:
                if "memory" not in f.read().split():
                    return
            with open(os.path.join(second, "cgroup.subtree_control"), encoding="ascii") as f:
                enabled = "memory" in f.read().split()
            if not enabled:
                self.why_not = f"the memory controller is not enabled in {second}/cgroup.subtree_control"
                return
            self.root, self.limit_name = second, "memory.max"

    @contextlib.contextmanager
    def group(self, limit):
        """A folder of the group, removed at the end; limit 0: none, the group is only for looking at it."""
        path = os.path.join(self.root, f"resplit-bench-{os.getpid()}")
        os.mkdir(path)
        try:
            if limit:
                write_text(os.path.join(path, self.limit_name), f"{limit}\n")
                second = self.limit_name == "memory.max"
                with contextlib.suppress(OSError): # a kernel without swap has no such file
                    write_text(os.path.join(path, "memory.swap.max" if second else "memory.memsw.limit_in_bytes"),
                               "0\n" if second else f"{limit}\n")
            yield path
        finally:
            for _ in range(50):
                try:
                    os.rmdir(path)
                    break
                except OSError: # the kernel is not done with the last process
                    time.sleep(0.1)

    @staticmethod
    def n_killed(path):
        """Processes of the group that the kernel killed because of its limit."""
        for name in ("memory.events", "memory.oom_control"):
            with contextlib.suppress(OSError), open(os.path.join(path, name), encoding="ascii") as f:
                return sum(int(line.split()[1]) for line in f if line.startswith("oom_kill "))
        return 0

    @staticmethod
    def processes(path):
        with contextlib.suppress(OSError), open(os.path.join(path, "cgroup.procs"), encoding="ascii") as f:
            return [int(line) for line in f]
        return []

    @contextlib.contextmanager
    def joined(self, path):
        """What is started meanwhile is in the group. Not by a shell that joins it: that takes 15 ms, which are nobody's."""
        try:
            write_text(os.path.join(path, "cgroup.procs"), f"{os.getpid()}\n")
            yield
        finally:
            write_text(os.path.join(self.root, "cgroup.procs"), f"{os.getpid()}\n")


def descendants(pid):
    """A process and all that it started."""
    found = [pid]
    for parent in found:
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{parent}/task"):
                with open(f"/proc/{parent}/task/{task}/children", encoding="ascii") as f:
                    found += map(int, f.read().split())
    return found


def held(pids):
    """Anonymous and shared memory of some processes, in bytes: all that is not page cache."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/status", encoding="utf-8") as f:
            total += sum(int(line.split()[1]) for line in f if line.startswith(("RssAnon:", "RssShmem:")))
    return total * 1024


def memory_bytes():
    with open("/proc/meminfo", encoding="ascii") as f:
        return int(f.readline().split()[1]) * 1024


def facts(folder, version):
    """Pairs of a name and what it is, for the head of a report."""
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        models = [line.partition(":")[2].strip() for line in f if line.startswith("model name")]
    kind, device = file_system(folder)
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    commit = said_by("git", "-C", root, "rev-parse", "--short=10", "HEAD")
    changed = ", with changes" if said_by("git", "-C", root, "status", "--porcelain", "--untracked-files=no") else ""
    return [("date", datetime.datetime.now().strftime("%Y-%m-%d %H:%M")),
            ("resplit", f"{version} (commit {commit}{changed})" if commit else version),
            ("CPU", models[0] if models else platform.machine()),
            ("cores", f"{len(os.sched_getaffinity(0))}, load {os.getloadavg()[0]:.1f} at the start"),
            ("memory", f"{memory_bytes() / 2**30:.1f} GiB"),
            ("kernel", f"{platform.system()} {platform.release()}"),
            ("file system", f"{kind} on {device}")]
