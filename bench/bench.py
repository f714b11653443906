# SPDX-License-Identifier: BSD-3-Clause
"""Times resplit against `cp -r` and `sync` of the same bytes, on the seven workloads of the papers, scaled down.

usage: bench.py --resplit COMMAND [--full] [--sizes 700,1400] [--configs 0-6] [--budgets 1/20,1/10,3]
                [--strategies naive,auto] [--repeat 3] [--dir DIR] [--timeout SECONDS]

The papers' array is 3500^3 of 2 bytes; 700^3 (0.7 GB) and 1400^3 (5.5 GB) keep its proportions, so that seeks per
block, not seeks, shrink with it. A budget is a share of the array's bytes: the papers' 4, 8 and 256 GB are about 1/20,
1/10 and 3 of their array. Without --full: 700^3, configurations 0, 2 and 6, and one budget.

One repetition runs cp and every strategy one after the other, each from a cold cache where root allows it, each followed
by sync, all of it timed; the table has medians. Outputs are deleted at once. Every output is verified once.
Results also go to results.csv in DIR. Read bench/README.md before comparing with anything.
"""

import argparse
import csv
import datetime
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import time
from fractions import Fraction

ITEMSIZE = 2

# Configurations of the papers, for 3500^3: source blocks, target blocks.
CONFIGS = [
    ((875, 875, 875), (875, 1750, 875)),
    ((875, 875, 875), (700, 875, 700)),
    ((350, 350, 350), (500, 500, 500)),
    ((350, 350, 350), (250, 250, 250)),
    ((175, 175, 175), (250, 250, 250)),
    ((350, 875, 350), (500, 875, 500)),
    ((350, 875, 350), (350, 500, 350)),
]

COLUMNS = ["date", "cpu", "cpus", "memory_gb", "kernel", "filesystem", "cache", "version", "size", "config", "from",
           "to", "budget_share", "budget_bytes", "strategy", "seconds_median", "seconds_min", "runs", "cp_seconds_median",
           "ratio_to_cp", "seeks", "floor_seeks", "peak_bytes", "note"]


def scaled(shape, size):
    """A shape of the 3500^3 array on an array of size^3; every configuration must scale to whole numbers."""
    lengths = [Fraction(n * size, 3500) for n in shape]
    if any(n.denominator != 1 for n in lengths):
        sys.exit(f"bench: {shape} does not scale to {size}^3")
    return tuple(int(n) for n in lengths)


def comma(shape):
    return ",".join(map(str, shape))


def number_list(text):
    """'0-2,6' is [0, 1, 2, 6]."""
    numbers = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def human(n):
    for unit in ("B", "kB", "MB", "GB"):
        if n < 1000 or unit == "GB":
            return f"{n:.3g} {unit}"
        n /= 1000


class Machine:
    """Where this runs, and whether its cache can be emptied."""

    def __init__(self, folder):
        self.cold = os.access("/proc/sys/vm/drop_caches", os.W_OK) and self._drop()
        with open("/proc/meminfo", encoding="ascii") as f:
            self.memory = int(f.readline().split()[1]) * 1024
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            models = [line.partition(":")[2].strip() for line in f if line.startswith("model name")]
        self.cpu = models[0] if models else platform.machine()
        found = subprocess.run(["df", "--output=fstype", folder], text=True, capture_output=True)
        self.filesystem = (found.stdout.split() or ["?"])[-1]

    @staticmethod
    def _drop():
        try:
            with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as f:
                f.write("3\n")
            return True
        except OSError:
            return False

    def settle(self):
        os.sync()
        if self.cold:
            self._drop()

    def row(self):
        return {"date": datetime.datetime.now().isoformat(timespec="seconds"), "cpu": self.cpu,
                "cpus": os.cpu_count(), "memory_gb": round(self.memory / 1e9, 1), "kernel": platform.release(),
                "filesystem": self.filesystem, "cache": "cold" if self.cold else "warm"}


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.exists(path):
        os.remove(path)


def timed(arguments, machine, timeout):
    """Seconds of a command and the sync after it, and its output; None for a command that took too long."""
    machine.settle()
    start = time.monotonic()
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        return None, None
    if process.returncode:
        sys.exit(f"bench: {' '.join(arguments)}\n{err or out}")
    os.sync()
    return time.monotonic() - start, out


class Bench:
    def __init__(self, options):
        self.options = options
        self.folder = options.dir
        os.makedirs(self.folder, exist_ok=True)
        self.machine = Machine(self.folder)
        self.rows = []
        self.version = self.resplit("--version").strip().splitlines()[0]

    def resplit(self, *arguments):
        done = subprocess.run([self.options.resplit, *arguments], text=True, capture_output=True)
        if done.returncode:
            sys.exit(f"bench: resplit {' '.join(arguments)}\n{done.stderr}")
        return done.stdout

    def path(self, name):
        return os.path.join(self.folder, name)

    # ---- input --------------------------------------------------------------------------------------------------

    def make_volume(self, size):
        """One raw file of noise, slab by slab; made once, and kept for the next time."""
        import numpy as np

        path = self.path(f"volume-{size}.raw")
        if os.path.exists(path) and os.path.getsize(path) == size**3 * ITEMSIZE:
            return path
        rng = np.random.default_rng(size)
        with open(path + ".part", "wb") as f:
            for _ in range(size):
                f.write(rng.bytes(size * size * ITEMSIZE))
        os.rename(path + ".part", path)
        return path

    def make_source(self, size, chunks):
        path = self.path(f"source-{size}")
        remove(path)
        memory = min(self.machine.memory // 4, 2 * size**3 * ITEMSIZE + (64 << 20))
        self.resplit("split", self.make_volume(size), path, "--shape", comma([size] * 3), "--dtype", "uint16",
                     "--chunks", comma(chunks), "--memory", f"{memory}", "--quiet")
        return path

    def check_space(self, size):
        # The volume, the source, one output, and its unfinished twin.
        needed, free = 4 * size**3 * ITEMSIZE, shutil.disk_usage(self.folder).free
        for name in os.listdir(self.folder):
            if name.startswith("volume-"):
                free += os.path.getsize(self.path(name))
        if free < needed:
            sys.exit(f"bench: {self.folder} has {human(free)} free, {size}^3 needs {human(needed)}")

    # ---- one configuration --------------------------------------------------------------------------------------

    def run_config(self, size, number):
        source_chunks, target_chunks = (scaled(shape, size) for shape in CONFIGS[number])
        source, target = self.make_source(size, source_chunks), self.path(f"target-{size}")
        for share in self.options.budgets:
            budget = int(share * size**3 * ITEMSIZE)
            self.run_budget(size, number, share, budget, source, target, source_chunks, target_chunks)
        remove(source)

    def run_budget(self, size, number, share, budget, source, target, source_chunks, target_chunks):
        commands = {"cp": ["cp", "-r", source, target]}
        plans = {}
        notes = {}
        for strategy in self.options.strategies:
            arguments = [source, target, "--chunks", comma(target_chunks), "--memory", str(budget),
                         "--strategy", strategy, "--json"]
            planned = subprocess.run([self.options.resplit, "plan", *arguments], text=True, capture_output=True)
            if planned.returncode:
                notes[strategy] = planned.stderr.strip().splitlines()[-1] if planned.stderr.strip() else "refused"
                continue
            plans[strategy] = json.loads(planned.stdout)
            commands[strategy] = [self.options.resplit, *arguments, "--quiet"]

        seconds = {name: [] for name in commands}
        for repetition in range(self.options.repeat):
            for name in list(commands):
                remove(target)
                took, _ = timed(commands[name], self.machine, self.options.timeout)
                if took is None:
                    notes[name] = f"> {self.options.timeout:g} s"
                    del commands[name]
                    self.clean_up(size)
                    continue
                seconds[name].append(took)
                if repetition == 0 and name != "cp":
                    self.verify(size, source, target)
                self.progress(size, number, share, name, took)
        remove(target)

        cp = statistics.median(seconds["cp"])
        self.report(size, number, share, budget, source_chunks, target_chunks, "cp", seconds["cp"], cp, None, "")
        for strategy in self.options.strategies:
            self.report(size, number, share, budget, source_chunks, target_chunks, strategy, seconds.get(strategy, []), cp,
                        plans.get(strategy), notes.get(strategy, ""))

    def clean_up(self, size):
        """What an interrupted run may leave next to its target."""
        for name in os.listdir(self.folder):
            if f"target-{size}" in name:
                remove(self.path(name))

    def verify(self, size, source, target):
        if self.options.verify:
            self.resplit("verify", source, target, "--memory", "1GiB", "--quiet")

    @staticmethod
    def progress(size, number, share, name, took):
        if sys.stderr.isatty():
            print(f"  {size}^3, configuration {number}, budget {share}: {name} {took:.2f} s", file=sys.stderr)

    # ---- results ------------------------------------------------------------------------------------------------

    def report(self, size, number, share, budget, source_chunks, target_chunks, strategy, seconds, cp, plan, note):
        median = statistics.median(seconds) if seconds else None
        predicted, floor = (plan["predicted"], plan["floor"]) if plan else ({}, {})
        chosen = plan["strategy"] if plan and plan["strategy"] != strategy else ""
        row = self.machine.row()
        row.update({
            "version": self.version, "size": size, "config": number, "from": comma(source_chunks),
            "to": comma(target_chunks), "budget_share": str(share), "budget_bytes": budget, "strategy": strategy,
            "seconds_median": f"{median:.3f}" if seconds else "", "seconds_min": f"{min(seconds):.3f}" if seconds else "",
            "runs": len(seconds), "cp_seconds_median": f"{cp:.3f}",
            "ratio_to_cp": f"{median / cp:.2f}" if seconds else "", "seeks": predicted.get("seeks", ""),
            "floor_seeks": floor.get("seeks", ""), "peak_bytes": predicted.get("peak_bytes", ""),
            "note": " ".join(filter(None, [chosen, note]))})
        self.rows.append(row)
        self.write_row(row)
        shown = f"{median:8.2f} {median / cp:7.2f}" if seconds else f"{'-':>8} {'-':>7}"
        seeks = f"{predicted['seeks']:,}" if plan else ""
        low = f"{floor['seeks']:,}" if plan else ""
        print(f"{size:5} {number:4} {str(share):>6} {human(budget):>8} {strategy:10} {shown} {seeks:>12} {low:>7}  "
              f"{row['note']}", flush=True)

    def write_row(self, row):
        path = self.path("results.csv")
        is_new = not os.path.exists(path)
        with open(path, "a", newline="", encoding="utf-8") as f:
            writer = csv.DictWriter(f, COLUMNS)
            if is_new:
                writer.writeheader()
            writer.writerow(row)

    def run(self):
        cache = "cold cache" if self.machine.cold else "WARM cache (root is needed to empty it)"
        print(f"{self.version}, {self.machine.cpu}, {os.cpu_count()} cpus, {human(self.machine.memory)}, "
              f"{self.machine.filesystem}, kernel {platform.release()}, {cache}, median of {self.options.repeat}")
        print(f"{'size':>5} {'cfg':>4} {'share':>6} {'budget':>8} {'what':10} {'seconds':>8} {'x cp':>7} {'seeks':>12} "
              f"{'floor':>7}  note")
        for size in self.options.sizes:
            self.check_space(size)
            for number in self.options.configs:
                self.run_config(size, number)
            if not self.options.keep:
                remove(self.path(f"volume-{size}.raw"))
        print(f"written to {os.path.relpath(self.path('results.csv'))}")


def read_options():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser = argparse.ArgumentParser(description="resplit against cp")
    parser.add_argument("--resplit", default=os.path.join(root, "build", "release", "resplit"), help="the command")
    parser.add_argument("--full", action="store_true", help="all sizes, configurations and budgets")
    parser.add_argument("--quick", action="store_true", help="the opposite, and the default")
    parser.add_argument("--sizes", help="of the cube's edge: 700,1400")
    parser.add_argument("--configs", help="0-6")
    parser.add_argument("--budgets", help="shares of the array's bytes: 1/20,1/10,3")
    parser.add_argument("--strategies", default="naive,auto")
    parser.add_argument("--repeat", type=int, help="default: 3")
    parser.add_argument("--dir", default=os.path.join(root, "build", "bench"), help="on the disk that is measured")
    parser.add_argument("--timeout", type=float, help="seconds for one run")
    parser.add_argument("--keep", action="store_true", help="keep the volumes for the next time")
    parser.add_argument("--no-verify", dest="verify", action="store_false")
    options = parser.parse_args()
    full = options.full and not options.quick
    options.resplit = os.path.abspath(options.resplit)
    options.dir = os.path.abspath(options.dir)
    options.sizes = number_list(options.sizes or ("700,1400" if full else "700"))
    options.configs = number_list(options.configs or ("0-6" if full else "0,2,6"))
    options.budgets = [Fraction(b) for b in (options.budgets or ("1/20,1/10,3" if full else "1/10")).split(",")]
    options.strategies = options.strategies.split(",")
    options.repeat = options.repeat or 3
    options.timeout = options.timeout or (300 if full else 120)
    return options


if __name__ == "__main__":
    Bench(read_options()).run()
