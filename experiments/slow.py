# SPDX-License-Identifier: BSD-3-Clause
"""A slow disk, by slowfs.c: a folder in memory seen through FUSE, where every seek and every byte take their time."""

import contextlib
import json
import mmap
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

from common import ROOT, plan, shown
from measure import execute
from running import TIMEOUT, command, generate

SEEK_SECONDS = 0.002
BANDWIDTH = 200e6
MOST_SEEKS = 100_000 # beyond, seconds are computed from what the disk was measured to do
MOST_SEEKS_QUICK = 3_000
PROBE_BYTES, PAGE, N_PROBES = 64 << 20, 4096, 250
MEMORY = "/dev/shm"


def build():
    """The program; compiled if it is not there or old."""
    source, program = os.path.join(ROOT, "experiments", "slowfs.c"), os.path.join(ROOT, "build", "slowfs")
    if not os.path.exists(program) or os.path.getmtime(program) < os.path.getmtime(source):
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "fuse3"], check=True, capture_output=True, text=True).stdout.split()
        os.makedirs(os.path.dirname(program), exist_ok=True)
        subprocess.run(["cc", "-O2", "-Wall", "-Wextra", source, "-o", program, *flags], check=True)
    return program


class SlowDisk:
    def __init__(self, folder):
        self.program = build()
        self.backing = os.path.join(folder, "backing")
        self.mount = os.path.join(folder, "mount")
        self.statistics = os.path.join(folder, "statistics")
        self.counted = {}
        os.mkdir(self.backing)
        os.mkdir(self.mount)

    @contextlib.contextmanager
    def mounted(self):
        """The folder as it looks through the disk; what the disk counted is known afterwards."""
        process = subprocess.Popen([self.program, self.backing, self.mount, self.statistics, str(SEEK_SECONDS), str(BANDWIDTH)])
        try:
            while not os.path.ismount(self.mount):
                if process.poll() is not None:
                    raise SystemExit(f"experiments: {self.program} ended with {process.returncode}")
                time.sleep(0.01)
            yield self.mount
        finally:
            for _ in range(50):
                if subprocess.run(["fusermount3", "-u", self.mount], capture_output=True).returncode == 0:
                    break
                time.sleep(0.1)
            process.wait()
        with open(self.statistics, encoding="ascii") as f:
            self.counted = json.load(f)

    def calibrate(self):
        """What the disk does, by a clock: seconds of a seek, bytes per second of a long read and a long write."""
        path = os.path.join(self.backing, "probe")
        with open(path, "wb") as f:
            f.write(bytes(PROBE_BYTES))
        with self.mounted() as mount:
            file = os.open(os.path.join(mount, "probe"), os.O_RDWR | os.O_DIRECT)
            read = self._pass(file, os.preadv)
            written = self._pass(file, os.pwritev)
            rnd, page = random.Random(1), mmap.mmap(-1, PAGE)
            start = time.monotonic()
            for _ in range(N_PROBES):
                os.preadv(file, [page], rnd.randrange(PROBE_BYTES // PAGE) * PAGE)
            seek = (time.monotonic() - start) / N_PROBES - PAGE / read
            os.close(file)
        os.remove(path)
        return {"told_seek_seconds": SEEK_SECONDS, "told_bytes_per_second": BANDWIDTH, "seek_seconds": f"{seek:.6f}",
                "read_bytes_per_second": round(read), "write_bytes_per_second": round(written)}

    @staticmethod
    def _pass(file, call):
        buffer = mmap.mmap(-1, 1 << 20)
        start = time.monotonic()
        for at in range(0, PROBE_BYTES, 1 << 20):
            call(file, [buffer], at)
        return PROBE_BYTES / (time.monotonic() - start)

    def run(self, resplit, case, source, strategy, budget):
        """Seconds of one run, cold; what it wrote is compared."""
        name = "target" + (".npy" if case.target == case.shape else "")
        with self.mounted() as mount:
            there, target = os.path.join(mount, source), os.path.join(mount, name)
            done = execute(command(resplit, case, there, target, strategy, budget, "--threads", "1"), TIMEOUT)
        if done.code:
            raise SystemExit(f"experiments: {strategy} on the slow disk: {done.err or done.out}")
        pair = [os.path.join(self.backing, each) for each in (source, name)]
        if execute([resplit, "verify", *pair, "--memory", "512MiB"]).code:
            raise SystemExit(f"experiments: {strategy} on the slow disk: what it wrote differs")
        shutil.rmtree(pair[1]) if os.path.isdir(pair[1]) else os.remove(pair[1])
        return done.seconds


def modelled(cost, probe):
    """What a run should take: its seeks and its bytes on the disk that was measured."""
    return (cost.seeks * float(probe["seek_seconds"]) + cost.bytes_read / probe["read_bytes_per_second"]
            + cost.bytes_written / probe["write_bytes_per_second"])


def row_of(disk, options, case, source, strategy, budget, probe):
    made = plan(case, strategy, budget)
    row = {"group": case.group, "case": case.name, "shape": shown(case.shape), "from": shown(case.source), "to": shown(case.target),
           "bytes": case.n_bytes, "budget_bytes": budget, "strategy": strategy, "how": "does not fit", "seeks": "", "disk_seeks": "",
           "model_seconds": "", "seconds": ""}
    if made:
        model = modelled(made.predicted, probe)
        row.update(how="computed", seeks=made.seeks, model_seconds=f"{model:.3f}", seconds=f"{model:.3f}")
        if made.seeks <= (MOST_SEEKS_QUICK if options.quick else MOST_SEEKS):
            row.update(how="measured", seconds=f"{disk.run(options.resplit, case, source, strategy, budget):.3f}")
            row["disk_seeks"] = disk.counted["seeks"]
        print(f"experiments: slow disk: {case.group} {case.name}, {budget / 1e6:g} MB, {strategy}: {row['seconds']} s, {row['how']}",
              file=sys.stderr, flush=True)
    return row


def slow_rows(options, problems):
    """Rows, and what the disk does. problems: (case, budgets, strategies)."""
    folder = tempfile.mkdtemp(prefix="resplit-slow-", dir=MEMORY)
    try:
        disk = SlowDisk(folder)
        probe = disk.calibrate()
        rows = []
        for case, budgets, strategies in problems:
            source = "source" + (".npy" if case.source == case.shape else "")
            path = os.path.join(disk.backing, source)
            generate(path, case)
            rows += [row_of(disk, options, case, source, strategy, budget, probe) for budget in budgets for strategy in strategies]
            shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
        return rows, probe
    finally:
        shutil.rmtree(folder)
