# SPDX-License-Identifier: BSD-3-Clause
"""Writes NIfTI images of noise, as the benchmark's input.

usage: nifti_generate.py PATH SHAPE [CHUNKS]      as in: nifti_generate.py DIR 770,605,700 154,121,140

PATH is one file, .nii or .nii.gz, or with chunks a folder of .nii blocks without a manifest. A process of its own, as generate.py.
"""

import gzip
import itertools
import os
import struct
import sys

from generate import ITEMSIZE, Noise

UINT16 = 512


def header(shape, start):
    """NIfTI-1, a fifth of a millimetre, with both forms."""
    head = bytearray(352)
    struct.pack_into("<i", head, 0, 348)
    struct.pack_into("<8h", head, 40, len(shape), *shape, *[1] * (7 - len(shape)))
    struct.pack_into("<hh", head, 70, UINT16, 8 * ITEMSIZE)
    struct.pack_into("<8f", head, 76, 1, 0.2, 0.2, 0.2, 1, 1, 1, 1)
    struct.pack_into("<fff", head, 108, 352, 1, 0)
    struct.pack_into("<hh", head, 252, 1, 1)
    struct.pack_into("<3f", head, 268, *(0.2 * s for s in start))
    for k in range(3):
        row = [0.0] * 4
        row[k], row[3] = 0.2, 0.2 * start[k]
        struct.pack_into("<4f", head, 280 + 16 * k, *row)
    head[344:348] = b"n+1\0"
    return bytes(head)


class SomeBits(Noise):
    """Six bits of each value, so that gzip has something to do."""

    def __init__(self, n_bytes):
        super().__init__(n_bytes)
        pool = bytearray(self.pool)
        pool[1::2] = bytes(len(pool) // 2)
        pool[0::2] = bytes(pool[0::2]).translate(bytes(i & 0x3f for i in range(256)))
        self.pool = memoryview(pool)


def write_block(path, shape, start, noise):
    n_bytes = ITEMSIZE
    for n in shape:
        n_bytes *= n
    opened = gzip.open(path, "wb", compresslevel=1) if path.endswith(".gz") else open(path, "wb")
    with opened as f:
        f.write(header(shape, start))
        noise.write(f, n_bytes)


def main():
    path, shape = sys.argv[1], [int(n) for n in sys.argv[2].split(",")]
    n_bytes = ITEMSIZE
    for n in shape:
        n_bytes *= n
    noise = SomeBits(n_bytes)
    if len(sys.argv) == 3:
        write_block(path, shape, (0, 0, 0), noise)
        return
    chunks = [int(n) for n in sys.argv[3].split(",")]
    os.mkdir(path)
    for index in itertools.product(*(range(-(-n // c)) for n, c in zip(shape, chunks))):
        start = [i * c for i, c in zip(index, chunks)]
        block = [min(c, n - s) for s, n, c in zip(start, shape, chunks)]
        write_block(os.path.join(path, "_".join(map(str, index)) + ".nii"), block, start, noise)


if __name__ == "__main__":
    main()
