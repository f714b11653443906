# SPDX-License-Identifier: BSD-3-Clause
"""Writes an HDF5 file with a dataset of smooth data with three bits of noise, and dimension scales, by which netCDF knows its axes.

usage: hdf5_generate.py PATH SHAPE DTYPE CHUNKS CODEC          as in: hdf5_generate.py x.h5 1024,1024,1024 uint16 1,1024,1024 zlib:1
"""

import itertools
import sys

import h5py
import numpy as np

from smooth import slab_of, values


def main():
    path, dtype, codec = sys.argv[1], np.dtype(sys.argv[3]), sys.argv[5]
    shape, chunks = (tuple(int(n) for n in text.split(",")) for text in (sys.argv[2], sys.argv[4]))
    more = {} if codec == "none" else {"compression": "gzip", "compression_opts": int(codec.partition(":")[2])}
    rng = np.random.default_rng(1)
    step = slab_of(shape, chunks)
    with h5py.File(path, "w", rdcc_nbytes=256 << 20) as f:
        data = f.create_dataset("data", shape=shape, dtype=dtype, chunks=chunks, **more)
        for at in itertools.product(*(range(0, n, s) for n, s in zip(shape, step))):
            box = tuple(slice(a, min(n, a + s)) for a, n, s in zip(at, shape, step))
            data[box] = values(shape, box, dtype, rng)
        for axis, name in enumerate(("z", "y", "x")):
            f[name] = np.arange(shape[axis], dtype="f4")
            f[name].make_scale(name)
            data.dims[axis].attach_scale(f[name])


if __name__ == "__main__":
    main()
