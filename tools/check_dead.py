#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that every function shared between files is called by another file, and that every one declared is there.

usage: check_dead.py BUILD          a folder of CMake, built; in the root of the project

The compiler knows of functions that nobody calls only when they are static.
"""

import collections
import glob
import os
import re
import subprocess
import sys

# Only tests call them, and why they are here all the same.
FOR_TESTS = {
    "rs_crc32c_portable": "what machines without the instruction get",
    "rs_fingerprint_plain": "what machines without the instructions get",
}

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
SHARED = re.compile(r"\brs_\w+")
DECLARED = re.compile(r"^(?!static|typedef|#|\s)[^;{}=()]*?\b(rs_\w+)\s*\([^;{}]*\);", re.M)


def symbols(build):
    """Who defines a name, and who needs it, by object file."""
    defined, needed = collections.defaultdict(set), collections.defaultdict(set)
    for path in glob.glob(os.path.join(build, "CMakeFiles", "**", "*.o"), recursive=True):
        listing = subprocess.run(["nm", "-g", path], check=True, text=True, stdout=subprocess.PIPE).stdout
        for line in listing.splitlines():
            kind, name = line.split()[-2:]
            if kind == "U":
                needed[name].add(path)
            elif kind in "TDBR":
                defined[name].add(path)
    return defined, needed


def text_of(path):
    with open(path, encoding="utf-8") as f:
        return COMMENT.sub(" ", f.read())


def words_in(*patterns):
    """How often each shared name is in these files."""
    paths = (path for pattern in patterns for path in glob.glob(pattern, recursive=True))
    return collections.Counter(word for path in paths for word in SHARED.findall(text_of(path)))


def fault_of(name, here, tested):
    """What is wrong with a function that no other file needs; None: nothing."""
    calls = words_in(here)[name] - 1
    if name in FOR_TESTS or (calls > 0 and tested[name]):
        return None
    if calls > 0:
        return "only its own file calls it: static"
    return "only tests call it" if tested[name] else "nobody calls it"


def main():
    defined, needed = symbols(sys.argv[1])
    shared = {name: places for name, places in defined.items() if name.startswith("rs_")}
    tested = words_in("tests/**/*.c")
    faults = []
    for name, places in sorted(shared.items()):
        here = re.sub(r".*\.dir/(.*)\.o$", r"\1", next(iter(places)))
        left_over = not os.path.exists(here) # of a file that is no more
        fault = None if left_over or needed[name] - places else fault_of(name, here, tested)
        faults += [f"{here}: {name}: {fault}"] if fault else []
    for path in sorted(glob.glob("src/**/*.h", recursive=True)):
        faults += [f"{path}: {name}: declared, not defined" for name in DECLARED.findall(text_of(path)) if name not in shared]
    print("\n".join(faults) or f"{len(shared)} names, all of them needed")
    sys.exit(1 if faults or not shared else 0)


if __name__ == "__main__":
    main()
