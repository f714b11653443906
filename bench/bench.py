# SPDX-License-Identifier: BSD-3-Clause
"""Times resplit against cp, against the device and against itself, and says which bars are met.

usage: bench.py [--only cp,budget] [--scale 0.1] [--reps 3] [--dir DIR] [--out FILE] ...        (--help; bench/README.md)

A case is a table of ratios. Whatever is compared takes turns within each repetition, from caches that were just emptied
where root allows it. Cases are in cases.py, how a command is timed is in measure.py.
"""

import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import machine
from cases import CASES, CONFIGS
from hdf5_cases import BARS as HDF5_PEERS, HDF5_CASES, LEVELS as HDF5_CODECS
from measure import Arena, execute
from tables import MARGIN, MISSED, Table, human
from zarr_cases import CODECS, PEERS, ZARR_CASES

UNITS = {"MB": 10**6, "GB": 10**9, "MiB": 2**20, "GiB": 2**30}


SETTLE = 8 # seconds: the disk of a virtual machine goes on writing, and who has the first turn would pay for that


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.resplit = options.resplit
        self.folder = folder
        self.caches = machine.Caches(options.drop)
        self.groups = machine.MemoryGroups()
        out = os.path.join(folder, "out")
        os.mkdir(out)
        self.arena = Arena(options.resplit, out, self.caches, self.groups, options.reps, options.timeout)
        self.contest = self.arena.contest
        self.paths = {} # of the sources that are there
        self.n_generated = 0
        self.tables = []
        version = execute([self.resplit, "--version"])
        if version.code:
            sys.exit(f"bench: {self.resplit}: {version.err}")
        self.facts = machine.facts(folder, version.out.strip().splitlines()[0])

    # ---- what the cases use ---------------------------------------------------------------------------------------

    def target(self):
        return os.path.join(self.arena.folder, "target")

    def path(self, source):
        return self.paths[source]

    def prepare(self, table, job, beside=0):
        """Generates the source of a job if it is not there. False, with a note, if that and as many bytes beside it do not
        fit on the disk."""
        source = job.source
        needed = beside + (0 if source in self.paths else source.n_bytes) + (64 << 20) # and a little for folders
        free = shutil.disk_usage(self.folder).free
        if free < needed:
            table.notes.append(f"{job.title}: SKIPPED, {human(needed)} are needed on the disk and {human(free)} are free.")
            return False
        if source not in self.paths:
            self.generate(source)
        return True

    def generate(self, source):
        self.n_generated += 1
        path = os.path.join(self.folder, f"source-{self.n_generated}{source.suffix}")
        print(f"bench: generating {human(source.n_bytes)}", file=sys.stderr, flush=True)
        self.paths[source] = path
        subprocess.run(source.generator(os.path.dirname(os.path.abspath(__file__)), path), check=True)
        os.sync()
        time.sleep(SETTLE)

    def forget(self, source):
        path = self.paths.pop(source, None)
        if path and os.path.isdir(path):
            shutil.rmtree(path)
            shutil.rmtree(path + ".v2", ignore_errors=True) # of a Zarr array
        elif path:
            os.remove(path)

    # ---- all of it ------------------------------------------------------------------------------------------------

    def run(self):
        wanted = [name for name in CASES if name in self.options.only]
        self.show(self.head())
        for i, name in enumerate(wanted):
            run_case, _ = CASES[name]
            made = run_case(self)
            for table in made if isinstance(made, list) else [made]:
                if table not in self.tables: # long cases show what they have on the way
                    self.tables.append(table)
                self.show(table.markdown())
            self.write()
            later = {source for other in wanted[i + 1:] for source in CASES[other][1](self.options)}
            for source in [s for s in self.paths if s not in later]:
                self.forget(source)
        self.show(self.memory().markdown())
        self.write()
        return 1 if self.arena.failures else 0

    @staticmethod
    def show(text):
        print(text, flush=True)

    def head(self):
        options = self.options
        cache = "dropped before each run"
        if not self.caches.cold:
            cache = f"**NOT dropped** ({self.caches.why_warm}), so figures say little"
        facts = self.facts + [
            ("repetitions", f"{options.reps}; medians, and for ratios the median of the repetitions' ratios"),
            ("caches", cache), ("blocks", f"{options.format} files where not said otherwise, of random uint16")]
        if options.scale != 1:
            facts.append(("scale", f"**{options.scale:g}** of the bytes, the budgets unchanged: only a trial"))
        if options.extra:
            facts.append(("options", shlex.join(options.extra)))
        return "\n".join(f"- {name}: {value}" for name, value in facts) + "\n"

    def memory(self):
        """The most that any run had over its budget."""
        table = Table("memory: resident", ["case", "run", "budget", "resident", "over the budget"],
                      f"Peak resident memory against the budget and {human(MARGIN)}, in all runs above; the five that "
                      f"came closest or went over.")
        runs = [(r.resident - c.budget, case, c, r) for case, c, r in self.arena.log if c.budget and r.resident]
        for over, case, c, r in sorted(runs, key=lambda run: -run[0])[:5]:
            table.rows.append([case, c.name, human(c.budget), f"{r.resident / 2**20:.0f} MiB",
                               f"{over / 2**20:+.1f} MiB" + (f" {MISSED}" if over > MARGIN else "")])
        n_missed = sum(over > MARGIN for over, *_ in runs)
        table.notes.append(f"{len(runs) - n_missed} of {len(runs)} commands kept within it.")
        return table

    def repetitions(self):
        table = Table("Every repetition", ["case", "run", "seconds", "resident"])
        for case, c, r in self.arena.log:
            seconds = ", ".join(f"{r.seconds[i]:.3f}" for i in sorted(r.seconds))
            table.rows.append([case, c.name, " ".join(filter(None, [seconds, r.note])), f"{r.resident / 2**20:.0f} MiB"])
        return table

    def write(self):
        if not self.options.out:
            return
        parts = [self.head(), *(t.markdown() for t in self.tables), self.memory().markdown()]
        if self.arena.remarks:
            parts.append("## What peers said\n\n" + "\n".join(f"- {text}" for text in self.arena.remarks) + "\n")
        if self.arena.failures:
            parts.append("## Failures\n\n" + "\n".join(f"- {text}" for text in self.arena.failures) + "\n")
        parts.append(self.repetitions().markdown())
        with open(self.options.out + ".part", "w", encoding="utf-8") as f:
            f.write("\n".join(parts))
        os.rename(self.options.out + ".part", self.options.out)


# ---- options ------------------------------------------------------------------------------------------------------


def size(text):
    for unit, factor in UNITS.items():
        if text.endswith(unit):
            return int(float(text[:-len(unit)]) * factor)
    raise argparse.ArgumentTypeError(f"'{text}' is not a size: 256MB, 1GiB")


def list_of(kind, allowed=None):
    def parse(text):
        items = [kind(part) for part in text.split(",")]
        for item in items:
            if allowed is not None and item not in allowed:
                raise argparse.ArgumentTypeError(f"'{item}' is none of {', '.join(map(str, allowed))}")
        return items
    return parse


def above_zero(kind):
    def parse(text):
        if kind(text) <= 0:
            raise argparse.ArgumentTypeError(f"'{text}' is not above 0")
        return kind(text)
    return parse


def scratch_parent():
    """A folder on a disk: $TMPDIR, unless that is memory, or /var/tmp."""
    named = os.environ.get("TMPDIR", "")
    return named if os.path.isdir(named) and machine.file_system(named)[0] not in ("tmpfs", "ramfs") else "/var/tmp"


def read_options():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser = argparse.ArgumentParser(description="times resplit against cp, the device, itself and its peers")
    add = parser.add_argument
    add("--resplit", default=os.path.join(root, "build", "release", "resplit"), help="the command")
    add("--only", type=list_of(str, CASES), default=list(CASES), metavar="CASES",
        help=f"of {','.join(CASES)}; default: all")
    add("--rows", type=list_of(str, "abcd"), default=list("abcd"),
        help="of cp, budget, warm and fingerprint: a,d; default: all")
    add("--scale", type=above_zero(float), default=1.0, help="so much of the bytes of every array, 0.1: for trials")
    add("--reps", type=above_zero(int), default=3, help="repetitions; default: 3")
    add("--dir", help="folder to work in, on the disk to measure; default: $TMPDIR or /var/tmp")
    add("--out", help="file to write the tables to, as markdown")
    add("--format", choices=("npy", "raw"), default="npy", help="of blocks; default: npy")
    add("--configs", type=list_of(int, range(len(CONFIGS))), default=list(range(len(CONFIGS))),
        help="of papers: 0,2,6; default: all")
    add("--budgets", type=list_of(size), default=[size(s) for s in ("256MB", "512MB", "1GB", "2GB", "4GB")],
        help="of papers: 256MB,1GB; default: 256MB,512MB,1GB,2GB,4GB")
    add("--naive-reps", type=above_zero(int), default=1, help="of naive in papers; default: 1")
    add("--no-naive", dest="naive", action="store_false", help="not in cp")
    add("--sizes", type=list_of(above_zero(float)), default=[1.0, 2.0, 4.0, 8.0, 16.0],
        help="of linear, in GiB; default: 1,2,4,8,16")
    add("--zarr-cases", type=list_of(str, ZARR_CASES), default=list(ZARR_CASES),
        help=f"of zarr: A,B; default: {','.join(ZARR_CASES)}")
    add("--hdf5-cases", type=list_of(str, HDF5_CASES), default=list(HDF5_CASES),
        help=f"of hdf5: A,B; default: {','.join(HDF5_CASES)}")
    add("--hdf5-codecs", type=list_of(str, HDF5_CODECS), default=list(HDF5_CODECS), help=f"of hdf5; default: {','.join(HDF5_CODECS)}")
    add("--hdf5-peers", type=list_of(str, [*HDF5_PEERS, "none"]), default=list(HDF5_PEERS),
        help=f"of hdf5: some of {','.join(HDF5_PEERS)}, or none; default: all")
    add("--zarr-codecs", type=list_of(str, CODECS), default=list(CODECS), help=f"of zarr; default: {','.join(CODECS)}")
    add("--peers", type=list_of(str, [*PEERS, "none"]), default=list(PEERS), help=f"of zarr: some of {','.join(PEERS)}, or none; default: all")
    add("--caps", type=list_of(lambda text: 0 if text == "none" else size(text)), default=[1 << 30, 0],
        help="of zarr and hdf5: limits of all memory of a program, page cache included; default: 1GiB,none")
    add("--zarr-memory", type=size, default=512 << 20, help="of zarr and hdf5: the budget; default: 512MiB")
    add("--peer-timeout", type=above_zero(float), default=120.0, help="of zarr and hdf5: seconds for one run; default: 120")
    add("--peers-dir", default=os.path.join(root, "build", "peers"), help="of zarr: where the peers are, or are installed")
    add("--no-install", dest="install", action="store_false", help="of zarr: only peers that are there")
    add("--timeout", type=above_zero(float), default=1800.0, help="seconds for one run, which is stopped then; default: 1800")
    add("--no-drop", dest="drop", action="store_false", help="leave the caches of the machine alone, which spoils the figures")
    add("--extra", type=shlex.split, default=[], metavar="OPTIONS",
        help="more options for every resplit: --extra='--device nvme'")
    options = parser.parse_args()
    options.resplit = os.path.abspath(options.resplit)
    return options


def main():
    options = read_options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143)) # so that the scratch folder is removed
    parent = options.dir or scratch_parent()
    os.makedirs(parent, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="resplit-bench-", dir=parent)
    try:
        bench = Bench(options, folder)
        if not bench.caches.cold:
            print(f"bench: caches are not dropped: {bench.caches.why_warm}", file=sys.stderr)
        return bench.run()
    except KeyboardInterrupt:
        return 130
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
