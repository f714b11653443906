#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that the shared library exports what the header declares RESPLIT_API, and nothing else.

usage: check_exports.py resplit.h libresplit.so
"""

import re
import subprocess
import sys

DECLARATION = re.compile(r"^RESPLIT_API\b[^;{]*?\b(\w+)\s*\(", re.M)


def declared(header):
    with open(header, encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    return set(DECLARATION.findall(text))


def exported(library):
    listing = subprocess.run(["nm", "-D", "--defined-only", library], check=True, text=True, stdout=subprocess.PIPE)
    names = {line.split()[-1].split("@")[0] for line in listing.stdout.splitlines()}
    # Names with two underscores are the compiler's: sanitizers leave some.
    return {name for name in names if not name.startswith("__") and name not in ("_init", "_fini")}


def main():
    wanted, found = declared(sys.argv[1]), exported(sys.argv[2])
    for name in sorted(wanted - found):
        print(f"declared, not exported: {name}")
    for name in sorted(found - wanted):
        print(f"exported, not declared: {name}")
    if wanted == found and wanted:
        print(f"{len(found)} functions, as declared")
    sys.exit(0 if wanted == found and wanted else 1)


if __name__ == "__main__":
    main()
