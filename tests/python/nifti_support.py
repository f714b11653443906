# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of NIfTI share: images made by nibabel, or byte by byte, and what other programs read of them."""

import os
import struct

import nibabel as nib
import numpy as np

from conftest import blocks_of, name_of, same
from zarr_support import unpacked  # noqa: F401

FULL = os.environ.get("RESPLIT_FULL", "") not in ("", "0")
MEMORY = ("--memory", "8MiB", "--quiet")

# NIfTI's code of each type, and what NumPy calls it
TYPES = {2: "u1", 4: "i2", 8: "i4", 16: "f4", 32: "c8", 64: "f8", 128: "RGB", 256: "i1", 512: "u2", 768: "u4", 1024: "i8",
         1280: "u8", 1536: "V16", 1792: "c16", 2048: "V32", 2304: "RGBA"}
COLOURS = {"RGB": [("R", "u1"), ("G", "u1"), ("B", "u1")], "RGBA": [("R", "u1"), ("G", "u1"), ("B", "u1"), ("A", "u1")]}


def dtype_of(code, order="<"):
    name = TYPES[code]
    return np.dtype(COLOURS[name]) if name in COLOURS else np.dtype(order + name)


def values(shape, dtype, seed=1):
    """Random bits."""
    dtype, rng = np.dtype(dtype), np.random.default_rng(seed)
    bits = rng.integers(0, 256, int(np.prod(shape)) * dtype.itemsize, dtype=np.uint8)
    return bits.view(dtype).reshape(shape)


def header(shape, dtype="<i2", version=1, pair=False, extensions=(), **fields):
    """All bytes before the voxels. Fields are nibabel's; vox_offset follows from the extensions, (code, bytes) each."""
    dtype = np.dtype(dtype)
    order = fields.pop("order", "<")
    order = ">" if dtype.str[0] == ">" else order
    kind = {(1, False): nib.Nifti1Header, (1, True): nib.nifti1.Nifti1PairHeader, (2, False): nib.Nifti2Header,
            (2, True): nib.nifti2.Nifti2PairHeader}[version, pair]
    head = kind(endianness=order)
    head["dim"] = [len(shape), *shape, *[1] * (7 - len(shape))]
    head["datatype"] = fields.pop("code", 0) or next(c for c in TYPES if dtype_of(c, order).newbyteorder("=") == dtype.newbyteorder("="))
    head["bitpix"] = dtype.itemsize * 8
    blob = b""
    for code, text in extensions:
        size = (len(text) + 8 + 15) // 16 * 16
        blob += struct.pack(order + "ii", size, code) + text + bytes(size - 8 - len(text))
    start = (348 if version == 1 else 540) + 4 + len(blob)
    head["vox_offset"] = 0 if pair else start
    for name, value in fields.items():
        head[name] = value
    return head.binaryblock + (b"\1\0\0\0" if extensions else bytes(4)) + blob


def write(path, data, **fields):
    """An image, by its bytes: a .nii, or an .img and its .hdr."""
    pair = path.suffix == ".img"
    head = header(data.shape, data.dtype, pair=pair, **fields)
    if pair:
        path.with_suffix(".hdr").write_bytes(head)
        head = b""
    path.write_bytes(head + data.tobytes("F"))
    return path


def read(path):
    """The stored values, unscaled, in the byte order of the file."""
    return np.asarray(nib.load(path).dataobj.get_unscaled())


def equal(a, b):
    return same(np.asarray(a), np.asarray(b))


def check_grid(folder, data, chunks, pattern):
    """The folder has exactly these blocks, as nibabel reads them."""
    names = {"resplit.json"}
    for index, start, block in blocks_of(data, chunks):
        name = name_of(pattern, index, start, data.shape)
        names.add(name)
        if name.endswith(".img"):
            names.add(name[:-4] + ".hdr")
        assert equal(read(folder / name), block), name
    assert {p.name for p in folder.iterdir()} == names


def position(affine, voxel):
    return affine[:3, :3] @ np.asarray(voxel, float)[:3] + affine[:3, 3]
