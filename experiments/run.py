# SPDX-License-Identifier: BSD-3-Clause
"""Runs the experiments, draws their plots and writes their page.

usage: run.py [--only computed,ordering] [--resplit COMMAND] [--dir DIR] [--reps N] [--quick] ...

Tables, plots and page go to docs/experiments, or to where RESPLIT_EXPERIMENTS says. --quick computes less and runs copies that are so
small that their seconds mean nothing: it tries the experiments.
"""

import argparse
import os
import signal
import sys
import time

import common
import computed
import estimate
import measured
import ordering
import page
import plots
import published
import splitmerge
import through_dask

import machine # of bench/

PARTS = {"computed": computed, "published": published, "estimate": estimate, "ordering": ordering, "splitmerge": splitmerge,
         "measured": measured, "dask": through_dask}
QUICK = {"edges": (140, 280), "scale": 0.25, "reps": 1}


def numbers(text):
    return tuple(int(n) for n in text.split(","))


def names(text):
    wanted = text.split(",")
    for name in wanted:
        if name not in PARTS:
            raise argparse.ArgumentTypeError(f"'{name}' is none of {', '.join(PARTS)}")
    return wanted


def read_options():
    parser = argparse.ArgumentParser(description="Runs the experiments.")
    add = parser.add_argument
    add("--only", type=names, default=list(PARTS), help=f"some of {', '.join(PARTS)}")
    add("--resplit", default=os.path.join(common.ROOT, "build", "release", "resplit"), help="the command")
    add("--dir", help="a folder on the disk that is measured; default: /var/tmp")
    add("--edges", type=numbers, default=(700, 1400), help="of the scaled copies, small and large; multiples of 140")
    add("--configs", type=numbers, default=tuple(range(7)), help="of the seven, those that are run")
    add("--scale", type=float, default=1.0, help="of every length of the arrays for Dask")
    add("--reps", type=int, default=3, help="repetitions of what is timed")
    add("--no-slow", dest="slow", action="store_false", help="without the slow disk, which needs FUSE")
    add("--no-runs", dest="runs", action="store_false", help="only what is computed")
    add("--quick", action="store_true", help="a trial")
    options = parser.parse_args()
    if options.quick:
        vars(options).update(QUICK)
    options.resplit = os.path.abspath(options.resplit)
    if not options.runs:
        options.only = [name for name in options.only if name not in ("measured", "dask")]
    return options


def note(options, seconds):
    """The machine and how long each part took; of parts that were not run now, what is known from before."""
    try:
        known = {row["part"]: row for row in common.read_csv("parts")}
    except OSError:
        known = {}
    facts = dict(machine.facts(options.dir or "/var/tmp", common.resplit.__version__))
    for name, took in seconds.items():
        known[name] = {"part": name, "seconds": f"{took:.1f}", "trial": "yes" if options.quick else "no", "date": facts["date"][:10],
                       "resplit": facts["resplit"], "cpu": facts["CPU"], "cores": facts["cores"].partition(",")[0],
                       "memory": facts["memory"], "kernel": facts["kernel"].partition("-")[0], "file_system": facts["file system"].partition(" ")[0]}
    common.write_csv("parts", [known[name] for name in PARTS if name in known])


def main():
    options = read_options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143)) # so that folders are removed and the slow disk is unmounted
    seconds = {}
    for name in options.only:
        start = time.monotonic()
        PARTS[name].main(options)
        seconds[name] = time.monotonic() - start
        note(options, seconds)
    plots.main()
    page.main()
    for name, took in seconds.items():
        print(f"{name:<12}{took:8.1f} s")


if __name__ == "__main__":
    main()
