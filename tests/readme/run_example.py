# SPDX-License-Identifier: BSD-3-Clause
"""Compiles the example of a document against the installed tree and runs it.

usage: run_example.py README.md | resplit.h      (environment: CC CFLAGS STAGE LIBDIR WORK)

README.md: the first ```c block that contains `int main`, run as `example in.npy out`, where in.npy is a small 3-D array.
resplit.h: the code after "A whole program:" in the first comment, put into a main; its in.npy is 2-D.
Both must exit with 0, print nothing on stderr, and leave an array at `out` that equals in.npy.
"""

import os
import re
import shutil
import struct
import subprocess
import sys


def fail(text):
    print(text)
    sys.exit(1)


def readme_code(text):
    for block in re.findall(r"^```c\n(.*?)^```", text, re.S | re.M):
        if "int main" in block:
            return block
    fail("README.md has no ```c block with `int main`: the library's example is missing")


def header_code(text):
    match = re.search(r"^ \* A whole program:\n(.*?)^ \* Rules ", text, re.S | re.M)
    if not match:
        fail("resplit.h has no `A whole program:` in its first comment")
    body = "\n".join(line[7:] for line in match.group(1).splitlines())
    return f"#include <resplit.h>\n#include <stdio.h>\n\nint main(void)\n{{\n{body}\nreturn 0;\n}}\n"


def write_npy(path, shape):
    """A .npy file of uint16, without NumPy, which this test does not need."""
    count = 1
    for n in shape:
        count *= n
    header = f"{{'descr': '<u2', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        f.write(struct.pack(f"<{count}H", *((i * 2654435761) >> 7 & 0xFFFF for i in range(count))))


def main():
    document = sys.argv[1]
    stage, libdir = os.environ["STAGE"], os.environ["LIBDIR"]
    is_header = document.endswith(".h")
    if not os.path.exists(document):
        fail(f"{document} is missing")
    with open(document, encoding="utf-8") as f:
        code = (header_code if is_header else readme_code)(f.read())

    work = os.path.join(os.environ["WORK"], "example-header" if is_header else "example-readme")
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    with open(os.path.join(work, "example.c"), "w", encoding="utf-8") as f:
        f.write(code)
    env = dict(os.environ, PKG_CONFIG_PATH=os.path.join(stage, libdir, "pkgconfig"))
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "resplit"], check=True, env=env, text=True,
                           stdout=subprocess.PIPE).stdout.split()
    compiler = [env["CC"], "-std=c11", "-Wall", "-Wextra", "-Werror", *env["CFLAGS"].split(), "example.c", *flags]
    if subprocess.run([*compiler, "-o", "example"], cwd=work).returncode:
        fail(f"the example of {os.path.basename(document)} does not compile")

    write_npy(os.path.join(work, "in.npy"), (130, 90) if is_header else (70, 60, 50))
    env["LD_LIBRARY_PATH"] = os.path.join(stage, libdir)
    ran = subprocess.run(["./example", "in.npy", "out"], cwd=work, env=env, text=True, capture_output=True, timeout=60)
    print(ran.stdout, ran.stderr, sep="", end="")
    if ran.returncode or ran.stderr:
        fail(f"the example of {os.path.basename(document)} failed, exit code {ran.returncode}")
    verify = [os.path.join(stage, "bin", "resplit"), "verify", "in.npy", "out"]
    if subprocess.run(verify, cwd=work).returncode:
        fail("the example's output does not equal its input")


main()
