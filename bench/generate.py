# SPDX-License-Identifier: BSD-3-Clause
"""Writes arrays of noise, as the benchmark's input.

usage: generate.py PATH FORMAT SHAPE CHUNKS       as in: generate.py DIR npy 599,599,599 150,150,150

A process of its own, because the peak memory of a command that is started counts the memory of whoever starts it: the
benchmark itself has to stay small. PATH is a folder of blocks with a manifest, or one file if it ends in .npy.
"""

import itertools
import json
import os
import random
import sys

ITEMSIZE = 2
POOL_BYTES = 128 << 20
NPY_HEADER = 128


def npy_header(shape):
    text = repr({"descr": "<u2", "fortran_order": False, "shape": tuple(shape)}).encode("ascii")
    length = NPY_HEADER - 10
    if len(text) >= length:
        sys.exit(f"generate: a header of {NPY_HEADER} bytes is too short for {shape}")
    return b"\x93NUMPY\x01\x00" + length.to_bytes(2, "little") + text.ljust(length - 1) + b"\n"


class Noise:
    """Bytes that do not compress: pieces of one pool, each from a place drawn at random."""

    def __init__(self, n_bytes):
        self.random = random.Random(n_bytes)
        size = min(POOL_BYTES, max(n_bytes, 1 << 20))
        pool = bytearray(size)
        for at in range(0, size, 1 << 20):
            pool[at:at + (1 << 20)] = self.random.randbytes(min(1 << 20, size - at))
        self.pool = memoryview(pool)

    def write(self, f, n_bytes):
        while n_bytes:
            start = self.random.randrange(len(self.pool))
            n_bytes -= f.write(self.pool[start:start + n_bytes])


def write_block(path, fmt, shape, noise):
    n_bytes = ITEMSIZE
    for n in shape:
        n_bytes *= n
    with open(path, "wb", buffering=0) as f:
        if fmt == "npy":
            f.write(npy_header(shape))
        noise.write(f, n_bytes)


def write_folder(path, fmt, shape, chunks, noise):
    os.mkdir(path)
    for index in itertools.product(*(range(-(-n // c)) for n, c in zip(shape, chunks))):
        block = [min(c, n - i * c) for i, n, c in zip(index, shape, chunks)]
        write_block(os.path.join(path, "_".join(map(str, index)) + "." + fmt), fmt, block, noise)
    manifest = {"resplit": 1, "format": fmt, "dtype": "<u2", "order": "C", "shape": shape, "chunks": chunks,
                "pattern": "_".join(f"{{{d}}}" for d in range(len(shape))) + "." + fmt,
                "data_offset": NPY_HEADER if fmt == "npy" else 0}
    with open(os.path.join(path, "resplit.json"), "w", encoding="ascii") as f:
        json.dump(manifest, f)


def main():
    path, fmt = sys.argv[1:3]
    shape, chunks = ([int(n) for n in text.split(",")] for text in sys.argv[3:5])
    n_bytes = ITEMSIZE
    for n in shape:
        n_bytes *= n
    noise = Noise(n_bytes)
    if path.endswith(".npy"):
        write_block(path, "npy", shape, noise)
    else:
        write_folder(path, fmt, shape, chunks, noise)


if __name__ == "__main__":
    main()
