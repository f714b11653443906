# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of HDF5 share: datasets made by h5py, and what h5py and h5dump read from what resplit wrote."""

import shutil
import subprocess

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
