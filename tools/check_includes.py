#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks who includes whom, that no banned function is called, and that formats are nobody else's business.

usage: check_includes.py [ROOT]

The table is the architecture: a room is added or widened by editing it, in a change of its own.
"""

import os
import re
import sys

# room -> what its files may include besides the C library and their own room: rooms, or single headers.
# resplit.h comes with base.
ROOMS = {
    "base": ["resplit.h"],
    "geometry": ["resplit.h", "base"],
    "plan": ["resplit.h", "base", "geometry"],
    "codec": ["resplit.h", "base"],
    "format": ["resplit.h", "base", "geometry", "codec"],
    "engine": ["resplit.h", "base", "geometry", "plan", "codec", "format/format.h", "format/dtype.h"],
    "api": ["resplit.h", "api.h", "base", "geometry", "plan", "codec", "format", "engine"],
    "cli": ["resplit.h"],
    "python": ["resplit.h"],
}

# Libraries that are not the system's, and who may use them.
LIBRARIES = {
    "zstd.h": ["codec"],
    "zstd_errors.h": ["codec"],
    "lz4.h": ["codec"],
    "blosc.h": ["codec"],
    "libdeflate.h": ["codec"],
    "bzlib.h": ["codec"],
    "lzma.h": ["codec"],
    "hdf5.h": ["format"],
    "H5FDdevelop.h": ["format"],
    "zlib.h": ["codec"],
    "Python.h": ["python"],
    "mpi.h": ["cli"],
}

BANNED = {
    "strcpy": "snprintf, or rs_strdup",
    "strcat": "snprintf, or rs_text_add",
    "sprintf": "snprintf",
    "vsprintf": "vsnprintf",
    "atoi": "strtoll, and check",
    "atol": "strtoll, and check",
    "atof": "strtod, and check",
    "strtok": "strtok_r, or strcspn",
    "gets": "fgets",
    "alloca": "the heap, or a fixed size",
}

# Rooms that ask an array, and do not look which format it is of.
BLIND = ("base", "geometry", "codec", "plan", "engine")
LOOK = re.compile(r"->\s*(zarr|hdf5|nifti|minc)\b")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]')
CALL = re.compile(r"(?<![\w.>])(" + "|".join(BANNED) + r")\s*\(")
NOISE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def blank(match):
    """Comments and literals become spaces, so that line numbers stay."""
    return re.sub(r"[^\n]", " ", match.group())


def check_include(room, bracket, name):
    """None, or what is wrong with it."""
    library = name.split("/")[0]
    if bracket == "<":
        users = LIBRARIES.get(library)
        if users is not None and room not in users:
            return f"<{name}> is for {' and '.join(users)} only"
        if library in ROOMS or name == "resplit.h":
            return f"<{name}> is ours: write it in quotes"
        return None
    if room in ("cli", "python"):
        allowed = name == "resplit.h" or "/" not in name
    elif "/" not in name and name not in ("resplit.h", "api.h"):
        return f'"{name}" must be written with its room, as "{room}/{name}"'
    else:
        allowed = name in ROOMS[room] or (library in ROOMS[room] and "/" in name) or library == room
    return None if allowed else f'{room} may not include "{name}"'


def check_file(root, path, room):
    errors = []
    with open(os.path.join(root, path), encoding="utf-8") as f:
        text = f.read()
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            wrong = check_include(room, *match.groups())
            if wrong:
                errors.append(f"{path}:{number}: {wrong}")
            elif match.group(1) == '"' and not find_header(root, room, match.group(2)):
                errors.append(f'{path}:{number}: there is no "{match.group(2)}"')
    for number, line in enumerate(NOISE.sub(blank, text).splitlines(), 1):
        for match in CALL.finditer(line):
            errors.append(f"{path}:{number}: {match.group(1)} is banned; use {BANNED[match.group(1)]}")
        for match in LOOK.finditer(line) if room in BLIND else ():
            errors.append(f"{path}:{number}: {room} looks at {match.group(1)}; a function of format/format.h may tell what it wants to know")
    return errors


def find_header(root, room, name):
    folders = ["include", {"cli": "cli", "python": "python/core"}.get(room, "src")]
    return any(os.path.exists(os.path.join(root, folder, name)) for folder in folders)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    errors, n = [], 0
    for top in ("src", "cli", "python"):
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                path = os.path.relpath(os.path.join(folder, name), root)
                if not name.endswith((".c", ".h")):
                    continue
                room = path.split(os.sep)[1] if top == "src" else top
                room = "api" if re.fullmatch(r"api(_\w+)?\.[ch]", room) else room
                n += 1
                if room not in ROOMS:
                    errors.append(f"{path}: '{room}' is not a room; see ROOMS in tools/check_includes.py")
                else:
                    errors += check_file(root, path, room)
    print("\n".join(errors) if errors else f"{n} files keep to the rooms")
    if n == 0:
        print("no file found")
    sys.exit(1 if errors or n == 0 else 0)


if __name__ == "__main__":
    main()
