#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints what llvm-cov says of files, room by room, and fails where less than 90 % of the lines of a room at the core are executed.

usage: coverage.py coverage.json
"""

import collections
import json
import os
import sys

CORE = ("geometry", "plan", "codec", "engine")
ENOUGH = 90


def room_of(path):
    """src/plan/cost.c is in plan, src/api.c in api, cli/main.c in cli; tests are in none."""
    parts = os.path.relpath(path).split(os.sep)
    if parts[0] == "src":
        return parts[1] if len(parts) > 2 else "api"
    return "cli" if parts[0] == "cli" else None


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        files = json.load(f)["data"][0]["files"]
    rooms = collections.defaultdict(collections.Counter)
    for file in files:
        room = room_of(file["filename"])
        for what in ("lines", "branches") if room else ():
            rooms[room][what] += file["summary"][what]["count"]
            rooms[room][what, "run"] += file["summary"][what]["covered"]
    print(f"{'room':<10} {'lines':>7} {'run':>7} {'%':>6} {'branches':>9} {'taken':>7} {'%':>6}")
    poor = []
    for room, n in sorted(rooms.items()):
        lines, branches = (100 * n[what, "run"] / max(1, n[what]) for what in ("lines", "branches"))
        print(f"{room:<10} {n['lines']:>7} {n['lines', 'run']:>7} {lines:>6.1f} {n['branches']:>9} {n['branches', 'run']:>7} {branches:>6.1f}")
        poor += [room] if room in CORE and lines < ENOUGH else []
    if poor:
        print(f"less than {ENOUGH} % of the lines: {', '.join(poor)}")
    sys.exit(1 if poor else 0)


if __name__ == "__main__":
    main()
