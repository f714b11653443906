# SPDX-License-Identifier: BSD-3-Clause
"""Installs the peers of the benchmark, each into an environment of its own.

usage: install.py FOLDER [NAME ...]                    of rechunker, dask, tensorstore, zarr, hdf5, zarrs_reencode; default: all

What is there already, by the same requirements, is left alone. What cannot be installed is said, and is no failure: the
benchmark goes on without it. FOLDER/NAME.log has what the installers printed. Nothing outside of FOLDER is changed.
"""

import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
VENVS = ("rechunker", "dask", "tensorstore", "zarr", "hdf5")
ZARRS_TOOLS = "0.8.1"
ZARRS = "zarrs_reencode"
NAMES = (*VENVS, ZARRS)
TOO_LONG = 3600 # seconds to build from source


def python_of(folder, name):
    return os.path.join(folder, name, "bin", "python")


def program_of(folder, name):
    return os.path.join(folder, name, "bin", name)


def is_there(folder, name):
    return os.path.exists(os.path.join(folder, name, "complete"))


def wanted_of(name):
    """What the environment should hold, as text."""
    if name == ZARRS:
        return f"zarrs_tools {ZARRS_TOOLS}\n"
    with open(os.path.join(HERE, f"requirements-{name}.txt"), encoding="ascii") as f:
        return f.read()


def run(log, *command, **env):
    subprocess.run(["nice", "-n", "15", *command], stdout=log, stderr=log, stdin=subprocess.DEVNULL, check=True, timeout=TOO_LONG,
                   env={**os.environ, **env})


def install(folder, name):
    """None, or why it cannot be installed."""
    place, wanted = os.path.join(folder, name), wanted_of(name)
    mark = os.path.join(place, "complete")
    if is_there(folder, name):
        with open(mark, encoding="ascii") as f:
            if f.read() == wanted:
                return None
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place)
    with open(place + ".log", "w", encoding="utf-8") as log:
        try:
            if name == ZARRS:
                run(log, "cargo", "install", "--locked", "--jobs", "2", "zarrs_tools", "--version", ZARRS_TOOLS, "--root", place,
                    CARGO_TARGET_DIR=os.path.join(folder, "cargo-target"))
                shutil.rmtree(os.path.join(folder, "cargo-target"), ignore_errors=True)
            else:
                run(log, sys.executable, "-m", "venv", place)
                run(log, python_of(folder, name), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r",
                    os.path.join(HERE, f"requirements-{name}.txt"))
        except (subprocess.SubprocessError, OSError) as e:
            return f"{e}, see '{place}.log'"
    with open(mark, "w", encoding="ascii") as f:
        f.write(wanted)
    return None


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-") or not set(sys.argv[2:]) <= set(NAMES):
        sys.exit(f"usage: install.py FOLDER [NAME ...], of {', '.join(NAMES)}")
    folder = os.path.abspath(sys.argv[1])
    os.makedirs(folder, exist_ok=True)
    for name in sys.argv[2:] or NAMES:
        print(f"install: {name}", file=sys.stderr, flush=True)
        why = install(folder, name)
        if why:
            print(f"install: {name} cannot be installed: {why}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
