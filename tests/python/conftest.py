# SPDX-License-Identifier: BSD-3-Clause
"""What the tests share: the command under test, and grids of files made and read by NumPy alone."""

import itertools
import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]

# Of the Python package, which is always an optimised build: where another one is looked into, it is not even installed.
PACKAGE_TESTS = ["test_py_*.py", "test_dask_*.py", "test_xarray.py", "test_docs.py", "test_experiments.py"]
collect_ignore_glob = PACKAGE_TESTS if os.environ.get("RESPLIT_NO_PACKAGE") == "1" else []

# A batch job's limits would change the defaults that tests look at.
BATCH_VARIABLES = ("SLURM_MEM_PER_NODE", "SLURM_MEM_PER_CPU", "SLURM_CPUS_ON_NODE", "PBS_RESC_MEM", "LSB_CG_MEMLIMIT")


@pytest.fixture(scope="session")
def resplit_path():
    """The command: $RESPLIT, or the release build of this checkout."""
    path = Path(os.environ.get("RESPLIT", ROOT / "build" / "release" / "resplit")).resolve()
    if not path.is_file():
        pytest.exit(f"there is no command at '{path}': run 'make', or set RESPLIT", returncode=1)
    return path


@pytest.fixture(scope="session")
def environment():
    env = {k: v for k, v in os.environ.items() if k not in BATCH_VARIABLES}
    return {**env, "LC_ALL": "C"}


class Runner:
    """Runs the command in a folder of its own; the exit code is always checked."""

    def __init__(self, path, folder, env):
        self.path, self.folder, self.env = path, folder, env

    def anyhow(self, *args, env=None, **options):
        """Whatever comes of it."""
        return subprocess.run([str(self.path), *map(str, args)], cwd=self.folder, env={**self.env, **(env or {})},
                              stdin=subprocess.DEVNULL, stdout=options.pop("stdout", subprocess.PIPE),
                              stderr=subprocess.PIPE, text=True, timeout=120, **options)

    def __call__(self, *args, code=0, env=None, **options):
        done = self.anyhow(*args, env=env, **options)
        assert done.returncode == code, f"exit {done.returncode}, expected {code}: {done.stderr}\n{done.args}"
        return done

    def json(self, *args, **options):
        done = self(*args, "--json", **options)
        return json.loads(done.stdout)

    def error(self, *args, code=1, **options):
        """The message of a run that must fail, and must print no result."""
        done = self(*args, code=code, **options)
        assert done.stdout == ""
        assert done.stderr.startswith("resplit: ") or "\nresplit: " in done.stderr
        return done.stderr


@pytest.fixture
def run(resplit_path, environment, tmp_path):
    return Runner(resplit_path, tmp_path, environment)


# ---- Arrays, by NumPy ------------------------------------------------------------------------------------------


def sample(shape, dtype="uint16", seed=1):
    """Random bits of any fixed-size type: NaNs with payloads and all."""
    dtype = np.dtype(dtype)
    n = int(np.prod(shape)) * dtype.itemsize
    bits = np.random.default_rng(seed).integers(0, 256, n, dtype=np.uint8)
    if dtype == bool:
        bits &= 1
    return bits.view(dtype).reshape(shape)


def same(a, b):
    """Same type, shape and bits."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def lengths_of(extent, chunk):
    """The lengths that a chunk, as written after --chunks, cuts an axis into."""
    if isinstance(chunk, (list, tuple)):
        return list(chunk)
    if chunk == -1:
        return [extent]
    return [min(chunk, extent - start) for start in range(0, extent, chunk)]


def blocks_of(array, chunks):
    """(indices, starts, values) of every block, in C order of the grid."""
    axes = []
    for extent, chunk in zip(array.shape, chunks):
        lengths = lengths_of(extent, chunk)
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(int)
        axes.append([(i, int(s), int(n)) for i, (s, n) in enumerate(zip(starts, lengths))])
    for cell in itertools.product(*axes):
        box = tuple(slice(s, s + n) for _, s, n in cell)
        yield tuple(i for i, _, _ in cell), tuple(s for _, s, _ in cell), array[box]


def name_of(pattern, index, start, shape):
    """A block's file name, by the rules of --pattern."""
    offset = int(np.ravel_multi_index(start, shape))

    def value(match):
        what, width = match.group(1), match.group(2)
        number = offset if what == "offset" else start[int(what[:-6])] if what.endswith(".start") else index[int(what)]
        return f"{number:0{int(width)}d}" if width else str(number)

    return re.sub(r"\{(offset|\d+(?:\.start)?)(?::0?(\d+))?\}", value, pattern)


def write_blocks(folder, array, chunks, pattern, order="C", skip=b""):
    """A folder of blocks, as some other program would leave it: no manifest."""
    folder.mkdir()
    for index, start, values in blocks_of(array, chunks):
        path = folder / name_of(pattern, index, start, array.shape)
        if path.suffix == ".npy":
            np.save(path, np.asarray(values, order=order))
        else:
            path.write_bytes(skip + values.tobytes(order))


def check_blocks(folder, array, chunks, pattern, order="C"):
    """The folder holds exactly these blocks, and the manifest."""
    expected = {"resplit.json"}
    for index, start, values in blocks_of(array, chunks):
        path = folder / name_of(pattern, index, start, array.shape)
        expected.add(path.name)
        if path.suffix == ".npy":
            assert same(np.load(path), values), path
        else:
            assert path.read_bytes() == values.tobytes(order), path
    assert {p.name for p in folder.iterdir()} == expected


def written(chunks):
    """Chunks as text for the command line."""
    return ",".join("+".join(map(str, c)) if isinstance(c, (list, tuple)) else str(c) for c in chunks)
