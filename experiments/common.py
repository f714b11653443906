# SPDX-License-Identifier: BSD-3-Clause
"""What the experiments share: plans of the library, tables as CSV, where things are."""

import csv
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OUT = os.path.join(ROOT, "docs", "experiments")
sys.path.append(os.path.join(ROOT, "bench")) # caches, cgroups, timing

import resplit # noqa: E402

DEVICES = ("hdd", "ssd", "nvme", "nfs")
TYPES = {1: "uint8", 2: "uint16", 4: "float32"}


def folder():
    """Where tables and plots go; RESPLIT_EXPERIMENTS for another place than docs/experiments."""
    path = os.environ.get("RESPLIT_EXPERIMENTS", OUT)
    os.makedirs(path, exist_ok=True)
    return path


def write_csv(name, rows):
    """Rows are dicts with the same keys."""
    path = os.path.join(folder(), name + ".csv")
    with open(path + ".part", "w", encoding="utf-8", newline="") as f:
        writer = csv.DictWriter(f, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    os.rename(path + ".part", path)
    print(f"experiments: {name}.csv, {len(rows)} rows", file=sys.stderr, flush=True)


def number(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def read_csv(name):
    """Rows as dicts; numbers as numbers, what is empty as None."""
    with open(os.path.join(folder(), name + ".csv"), encoding="utf-8", newline="") as f:
        return [{k: number(v) if v else None for k, v in row.items()} for row in csv.DictReader(f)]


def shown(shape):
    return "x".join(map(str, shape))


def plan(case, strategy, memory, device="hdd", minimize="seeks"):
    """The library's plan, or None where it has none: the strategy is not for such a problem, or needs more memory."""
    source = resplit.describe(case.shape, TYPES[case.itemsize], chunks=case.source)
    try:
        return resplit.plan(source, chunks=case.target, memory=memory, strategy=strategy, device=device, minimize=minimize)
    except resplit.ResplitError:
        return None


def seconds_on(name, cost):
    """Section 7 of docs/algorithm.md, for a plan that was not made for this device."""
    device = find_device(name)
    apart = cost.bytes_read / device.read_bandwidth + cost.bytes_written / device.write_bandwidth
    return cost.seeks * device.latency / device.depth + apart


def find_device(name):
    if name not in _devices:
        one = resplit.describe((1,), "uint8", chunks=(1,))
        _devices[name] = resplit.plan(one, chunks=(1,), memory=1 << 20, device=name).device
    return _devices[name]


_devices: dict = {}
