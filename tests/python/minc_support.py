# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of MINC share: images made by h5py as libminc makes them, and what nibabel and libminc's own tools read of them."""

import os
import shutil
import subprocess

import h5py
import nibabel as nib
import numpy as np
import pytest

from hdf5_support import same_stored  # noqa: F401
from zarr_support import unpacked  # noqa: F401

FULL = os.environ.get("RESPLIT_FULL", "") not in ("", "0")
MEMORY = ("--memory", "32MiB", "--quiet")

ROOT, IMAGE = "minc-2.0", "minc-2.0/image/0/image"
TYPES = ["u1", "i1", "<i2", ">i2", "<u2", "<i4", "<u4", "<f4", ">f4", "<f8"]
COMMON = {"varid": b"MINC standard variable", "version": b"MINC Version    1.0"}


class Axis:
    """One axis of an image, as MINC describes it."""

    def __init__(self, name, length, start=0.0, step=1.0, cosines=None, offsets=None, widths=None, **others):
        self.name, self.length, self.start, self.step = name, length, start, step
        self.cosines, self.offsets, self.widths, self.others = cosines, offsets, widths, others

    def write(self, group):
        # without coordinates it is an object that holds nothing but attributes
        data = np.int32(0) if self.offsets is None else np.asarray(self.offsets, "<f8")
        one = group.create_dataset(self.name, data=data)
        own = {**COMMON, "vartype": b"dimension____", "length": np.uint32(self.length), "alignment": b"centre", **self.others}
        if self.name != "vector_dimension":
            own |= {"start": np.float64(self.start), "step": np.float64(self.step), "units": b"mm",
                    "spacing": b"irregular" if self.offsets is not None else b"regular__", **self.others}
        if self.cosines is not None:
            own["direction_cosines"] = np.asarray(self.cosines, "<f8")
        for key, value in own.items(): # strings of a length of their own, as libminc has them
            one.attrs[key] = np.bytes_(value) if isinstance(value, bytes) else value
        if self.widths is not None:
            width = group.create_dataset(f"{self.name}-width", data=np.asarray(self.widths, "<f8"))
            width.attrs["length"] = np.uint32(self.length)
            width.attrs["dimorder"] = np.bytes_(self.name.encode())


def write(path, data, axes, lows=0.0, highs=1.0, scaled=(), valid=None, dtype=None, levels=False, **storage):
    """An image. lows and highs are image-min and image-max, along the axes of the names in `scaled`."""
    with h5py.File(path, "w", libver="earliest") as f:
        root = f.create_group(ROOT)
        root.attrs["ident"] = np.bytes_(b"someone:somewhere:2016.03.14.10.35.56:24301:1")
        root.attrs["minc_version"] = np.bytes_(b"2.3.00")
        root.attrs["history"] = np.bytes_(b"Tue Apr 16 19:15:53 2002>>> rawtominc of old\n")
        for axis in axes:
            axis.write(root.require_group("dimensions"))
        image = root.create_dataset("image/0/image", data=data, dtype=dtype, **storage)
        image.attrs["dimorder"] = np.bytes_(",".join(a.name for a in axes).encode())
        image.attrs["complete"] = np.bytes_(b"true_")
        if valid is not None:
            image.attrs["valid_range"] = np.asarray(valid, "<f8")
        for name, value in (("image-min", lows), ("image-max", highs)):
            one = root.create_dataset(f"image/0/{name}", data=np.asarray(value, "<f8"))
            if scaled:
                one.attrs["dimorder"] = np.bytes_(",".join(scaled).encode())
            one.attrs["varid"] = np.bytes_(COMMON["varid"])
        study = root.create_dataset("info/study", data=np.int32(0))
        study.attrs["modality"] = np.bytes_(b"MRI__")
        root.create_dataset("info/anything", data=np.arange(5, dtype="u1"))
        if levels:
            root.create_dataset("image/1/image", data=data[tuple(slice(None, None, 2) for _ in data.shape)])
    return path


def plain(shape=(4, 6, 5), names=("zspace", "yspace", "xspace")):
    """Axes with places, steps and directions that are all different."""
    turned = {"xspace": (0.8, 0.6, 0.0), "yspace": (-0.6, 0.8, 0.0), "zspace": (0.0, 0.0, 1.0)}
    return [Axis(n, k, -10.5 + d, (-1.5, 2.25, 0.7, 3.0)[d % 4], turned.get(n)) for d, (n, k) in enumerate(zip(names, shape))]


def stored(path):
    """The voxels as they are stored, by h5py."""
    with h5py.File(path, "r") as f:
        return f[IMAGE][()]


def table(path, name):
    with h5py.File(path, "r") as f:
        return f[f"minc-2.0/image/0/{name}"][()]


def objects(path, but=()):
    """Everything that is in a file but voxels, as it can be compared. History and ident are ours; `but` names what else is left out."""
    found = {}

    def visit(name, node):
        for key in node.attrs:
            if (name, key) not in {(ROOT, "history"), (ROOT, "ident")} and (name, key) not in but:
                value = np.asarray(node.attrs[key])
                found[name, key] = (value.dtype.kind, value.shape, value.tobytes())
        if isinstance(node, h5py.Dataset):
            value = node[()] if name != IMAGE else np.zeros(0)
            found[name] = (str(node.dtype), node.shape, np.asarray(value).tobytes())
        else:
            found[name] = "group"

    with h5py.File(path, "r") as f:
        f.visititems(visit)
    return found


def load(path):
    return nib.minc2.Minc2Image.from_filename(str(path))


def tool(name, *args):
    """What one of libminc's tools prints, as bytes."""
    if not shutil.which(name):
        pytest.skip(f"there is no {name}")
    done = subprocess.run([name, *map(str, args)], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def world(path, voxel):
    """Where libminc says that a voxel is; its numbers in the order of the file."""
    return np.array([float(x) for x in tool("voxeltoworld", path, *voxel).split()])


def real_values(path, shape):
    """What libminc says that all voxels mean."""
    return np.frombuffer(tool("mincextract", "-double", path), "=f8").reshape(shape)
