#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that what programs are compiled against changes only with the version: types, constants and functions of the header.

usage: check_abi.py resplit.h record.txt [--write]

The record has the version that the declarations are those of. Declarations that differ from it want another minor version (another major
one from 1.0 on, unless there are only new functions), and then a new record: --write. Comments, blanks and names of parameters may change.
"""

import difflib
import re
import sys

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
VERSION = re.compile(r"#define RESPLIT_VERSION_(MAJOR|MINOR) (\d+)")
CONSTANT = re.compile(r"^#define (RESPLIT_(?!VERSION|API|MUST_CHECK|H$)\w+ .*)$", re.M)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", re.M)
PARAMETER = re.compile(r"\s*\b(?!int\b|bool\b|char\b|double\b|\w+_t\b|resplit_\w+\b)\w+(?=\s*[,)\[])")


def without_names(declaration):
    """A function by its types: names of parameters are nobody's business."""
    if not declaration.startswith("RESPLIT_API"):
        return declaration
    head, bracket, rest = declaration.partition("(")
    return head + bracket + PARAMETER.sub("", rest)


def declarations(text):
    """Each on a line, in the order of the header."""
    text = COMMENT.sub(" ", text)
    found = CONSTANT.findall(text)
    body = DIRECTIVE.sub("", text)
    body = re.sub(r'extern "C" \{', "", body)
    depth, start = 0, 0
    for i, c in enumerate(body):
        depth += (c == "{") - (c == "}")
        if c == ";" and depth == 0:
            found.append(" ".join(body[start:i].split()))
            start = i + 1
    return [without_names(declaration) for declaration in found]


def main():
    header, record = sys.argv[1:3]
    with open(header, encoding="utf-8") as f:
        text = f.read()
    version = ".".join(number for _, number in sorted(VERSION.findall(text))) # MAJOR, MINOR
    now = declarations(text)
    if "--write" in sys.argv[3:]:
        with open(record, "w", encoding="utf-8") as f:
            f.write("\n".join([version, *now]) + "\n")
    with open(record, encoding="utf-8") as f:
        of, *then = f.read().splitlines()
    if now == then and version == of:
        print(f"{len(now)} declarations, those of {of}")
        sys.exit(0)
    print("\n".join(difflib.unified_diff(then, now, f"declared in {of}", f"declared now, in {version}", lineterm="", n=0)))
    print(f"the header differs from {record}: "
          + (f"raise RESPLIT_VERSION_MINOR beyond {of}, then --write" if version == of else "it is another version; if that is meant: --write"))
    sys.exit(1)


if __name__ == "__main__":
    main()
