# SPDX-License-Identifier: BSD-3-Clause
"""Is what a program wrote what it was asked for? By h5py: shape, type, chunks, compression, and all values, bit by bit.

usage: hdf5_check.py SRC DST CHUNKS CODEC

Prints what is wrong, and exits with 1.
"""

import sys

import h5py
import numpy as np

SLAB = 64 << 20


def problems(src, dst, chunks, codec):
    if dst.shape != src.shape or dst.dtype != src.dtype:
        return f"{dst.shape} of {dst.dtype} instead of {src.shape} of {src.dtype}"
    if dst.chunks != chunks:
        return f"chunks {dst.chunks} instead of {chunks}"
    wanted = (None, None) if codec == "none" else ("gzip", int(codec.partition(":")[2]))
    if (dst.compression, dst.compression_opts) != wanted:
        return f"compression {dst.compression} instead of {wanted[0]}"
    step = max(1, SLAB // max(1, src.nbytes // src.shape[0]))
    step = -(-step // chunks[0]) * chunks[0] # whole chunks: each is decoded once
    for at in range(0, src.shape[0], step):
        if not np.array_equal(src[at:at + step], dst[at:at + step]):
            return f"other values at {at}"
    return None


def main():
    chunks = tuple(int(n) for n in sys.argv[3].split(","))
    with h5py.File(sys.argv[1], "r", rdcc_nbytes=SLAB) as f, h5py.File(sys.argv[2], "r", rdcc_nbytes=SLAB) as g:
        found = problems(f["data"], g["data"], chunks, sys.argv[4])
    if found:
        sys.exit(f"check: {found}")


if __name__ == "__main__":
    main()
