# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of HDF5 share: datasets made by h5py, and what h5py and h5dump read from what resplit wrote."""

import os
import pickle
import shutil
import subprocess
import sys

import h5py
import hdf5plugin
import numpy as np
import pytest

MEMORY = ("--memory", "32MiB", "--quiet")

# Filters as h5py is told of them, by what resplit calls them.
FILTERS = {
    "none": {},
    "zlib": {"compression": "gzip", "compression_opts": 1},
    "shuffle+zlib": {"compression": "gzip", "compression_opts": 4, "shuffle": True},
    "shuffle+zlib+fletcher32": {"compression": "gzip", "compression_opts": 1, "shuffle": True, "fletcher32": True},
    "fletcher32": {"fletcher32": True},
    "shuffle": {"shuffle": True},
    "lzf": {"compression": "lzf"},
    "shuffle+lzf": {"compression": "lzf", "shuffle": True},
    "lz4": dict(hdf5plugin.LZ4(nbytes=0)),
    "lz4 in blocks": dict(hdf5plugin.LZ4(nbytes=512)),
    "zstd": dict(hdf5plugin.Zstd(clevel=3)),
    "bz2": dict(hdf5plugin.BZip2(blocksize=5)),
    "blosc": dict(hdf5plugin.Blosc(cname="lz4", clevel=5, shuffle=hdf5plugin.Blosc.SHUFFLE)),
    "blosc zstd": dict(hdf5plugin.Blosc(cname="zstd", clevel=3, shuffle=hdf5plugin.Blosc.BITSHUFFLE)),
}

TYPES = ["<i1", "<u1", "<i2", ">i2", "<u2", ">u2", "<i4", ">i4", "<u4", "<i8", ">u8", "<f2", ">f2", "<f4", ">f4", "<f8", ">f8",
         "<c8", ">c8", "<c16", "?", "S5", "V3"]


def read(path, name="data"):
    """Stored values: h5py converts nothing of these types."""
    with h5py.File(path, "r") as f:
        return f[name][()]


def attributes(node):
    """As they can be compared, with their types."""
    found = {}
    for key in node.attrs:
        value = node.attrs[key]
        if isinstance(value, h5py.Empty):
            found[key] = ("empty", str(value.dtype))
        elif getattr(value, "dtype", None) is not None and (value.dtype.kind == "O" or value.dtype.names):
            continue # strings of any length, references: looked at by the tests that make them
        else:
            array = np.asarray(value)
            found[key] = (array.dtype.str, array.shape, array.tobytes())
    return found


def same_stored(a, b):
    """Same type with its byte order, shape and bits."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def h5dump(path, *args):
    """What h5dump says; it complains of what is wrong in a file."""
    if not shutil.which("h5dump"):
        pytest.skip("there is no h5dump")
    done = subprocess.run(["h5dump", *args, str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "error" not in done.stderr.lower(), done.stderr
    return done.stdout


# ---- What h5py says of files that are damaged ------------------------------------------------------------------

ORACLE = """
import pickle, signal, sys
import h5py, numpy as np

def plain(value):
    if isinstance(value, h5py.Empty):
        return "empty", str(value.dtype)
    value = np.asarray(value)
    if value.dtype.kind != "O":
        return str(value.dtype), value.shape, value.tobytes()
    return "objects", value.shape, [v if isinstance(v, (str, bytes)) else "?" for v in value.ravel().tolist()]

def look(path, name):
    with h5py.File(path, "r") as f:
        data = f[name]
        found = {"dtype": data.dtype, "shape": data.shape, "values": data[()].tobytes(), "attrs": {}}
        for key in data.attrs:
            try:
                found["attrs"][key] = plain(data.attrs[key])
            except Exception:
                found["attrs"][key] = None
    return found

while True:
    path, name = pickle.load(sys.stdin.buffer)
    signal.alarm(20)
    try:
        found = look(path, name)
    except Exception as why:
        found = {"why": str(why)}
    pickle.dump(found, sys.stdout.buffer)
    sys.stdout.buffer.flush()
"""


class Oracle:
    """h5py in a process of its own, since what libhdf5 does with damaged files may end that."""

    def __init__(self):
        self.process = None

    def __call__(self, path, name):
        """Type, shape, values and attributes of a dataset; why it cannot be read; or that h5py died over it."""
        if self.process is None:
            self.process = subprocess.Popen([sys.executable, "-c", ORACLE], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.DEVNULL, env={**os.environ, "HDF5_EXTFILE_PREFIX": "${ORIGIN}"})
        try:
            pickle.dump((str(path), name), self.process.stdin)
            self.process.stdin.flush()
            return pickle.load(self.process.stdout)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            self.close()
            return {"why": "it crashes"}

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


@pytest.fixture(scope="module")
def oracle():
    one = Oracle()
    yield one
    one.close()
