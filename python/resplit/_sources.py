# SPDX-License-Identifier: BSD-3-Clause
"""What can be an array: paths, and objects of NumPy, zarr and h5py, none of which but NumPy is imported here."""

from __future__ import annotations

import mmap
import os
import sys
from typing import Any, Union

import numpy as np

from . import _core, _words
from ._array import Array, open_array

Source = Union[str, "os.PathLike[str]", Array, "np.ndarray[Any, Any]", Any]


def as_array(source: Source) -> Array:
    """The array that a path or an object stands for."""
    if isinstance(source, Array):
        return source
    if isinstance(source, (str, bytes, os.PathLike)):
        return open_array(os.fsdecode(source))
    if isinstance(source, np.ndarray):
        mapped = _from_memmap(source)
        return mapped if mapped is not None else from_memory(source)
    path = path_of(source)
    if path is not None:
        return open_array(path)
    raise TypeError(
        f"{type(source).__name__} is no array that can be read: give a path, an array of NumPy, a zarr.Array in a "
        "folder, or an h5py.Dataset"
    )


# ---- NumPy ---------------------------------------------------------------------------------------


def from_memory(array: np.ndarray[Any, Any]) -> Array:
    """An array in memory, without a copy. It must not be changed while it is used."""
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    descr = _words.descr_of(array.dtype)
    return Array(_core.array_wrap(np.asarray(array).view(f"V{array.itemsize}"), descr, order))


def _from_memmap(array: np.ndarray[Any, Any]) -> Array | None:
    """The file of a memory map, if the map is all that is in it from some byte on; None: it is not."""
    if not isinstance(array, np.memmap) or not isinstance(array.base, mmap.mmap) or array.mode == "c":
        return None
    name = array.filename
    if name is None or not (array.flags.c_contiguous or array.flags.f_contiguous):
        return None
    array.flush()
    try:
        if os.path.getsize(name) != array.offset + array.nbytes:
            return None
    except OSError:
        return None
    return open_array(
        name,
        format="raw",
        dtype=array.dtype,
        shape=array.shape,
        order="C" if array.flags.c_contiguous else "F",
        skip=array.offset,
    )


# ---- Others --------------------------------------------------------------------------------------


def _is_a(source: Any, module: str, name: str) -> bool:
    """Is it an object of a class of a module, which nobody need have imported?"""
    cls = getattr(sys.modules.get(module), name, None)
    return isinstance(cls, type) and isinstance(source, cls)


def path_of(source: Any) -> str | None:
    """Where an array or a group of zarr, or a dataset of h5py, is; None: it is something else."""
    if _is_a(source, "zarr", "Array") or _is_a(source, "zarr", "Group"):
        return os.path.join(store_path(source.store), *filter(None, source.path.split("/")))
    if _is_a(source, "h5py", "Dataset"):
        if source.file.mode != "r":
            source.file.flush()
        return f"{source.file.filename}:{source.name}"
    return None


def store_path(store: Any) -> str:
    """The folder of a store of zarr, version 2 or 3 of that package."""
    if isinstance(store, (str, os.PathLike)):
        return _local(os.fspath(store))
    name = type(store).__name__
    if name == "LocalStore":
        return str(store.root)
    if name in ("DirectoryStore", "NestedDirectoryStore"):
        return str(store.path)
    if name in ("FSStore", "FsspecStore", "FSMap"):
        fs = getattr(store, "fs", None)
        protocol = getattr(fs, "protocol", ())
        if "file" in ((protocol,) if isinstance(protocol, str) else protocol):
            return _local(str(getattr(store, "path", None) or getattr(store, "root", "")))
    raise ValueError(f"a {name} is no folder on a local file system: only those can be read and written")


def _local(path: str) -> str:
    if path.startswith("file://"):
        return path[len("file://") :]
    if "://" in path:
        raise ValueError(f"'{path}' is no folder on a local file system: only those can be read and written")
    return path
