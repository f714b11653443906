# SPDX-License-Identifier: BSD-3-Clause
"""Objects in graphs that stand for stored arrays: of zarr, h5py, NumPy, xarray and ourselves."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import _slicing, _sources
from .._array import Array, open_array
from .._errors import BudgetError, ResplitError
from ._portions import Block, NotOurs, index_block, whole

_TASK_MEMORY = 64 << 20


@dataclass(frozen=True)
class Stored:
    """A stored array: how to open it."""

    path: str
    spec: tuple[tuple[str, Any], ...] = ()
    memory: Any = field(default=None, compare=False)  # an array that is nowhere else; `path` tells it from others

    def open(self) -> Array:
        if self.memory is not None:
            return _sources.from_memory(self.memory)
        return open_array(self.path, **dict(self.spec))


class LazyArray:
    """An array that is opened where it is used: what :func:`resplit.dask.open` puts into graphs."""

    def __init__(self, path: str, spec: dict[str, Any]) -> None:
        self.path, self.spec = path, spec
        array = open_array(path, **spec)
        self.shape, self.dtype, self.chunks = array.shape, array.dtype, array.chunks
        self.ndim = len(self.shape)

    @property
    def array(self) -> Array:
        array = _opened(self.path, _hashable(self.spec))
        if (array.shape, array.dtype) != (self.shape, self.dtype):
            raise RuntimeError(
                f"'{self.path}' is {array.shape} {array.dtype} now, and was {self.shape} {self.dtype} "
                "when it was opened: open it again"
            )
        return array

    def __getitem__(self, key: Any) -> Any:
        """As of the array, but with little memory beside: there are as many tasks at a time as Dask has threads."""
        array = self.array
        try:
            return array._select(_slicing.parse(key, array.shape), _TASK_MEMORY)
        except BudgetError:
            return array[key]  # blocks are large

    def __dask_tokenize__(self) -> Any:
        return "resplit", self.path, sorted(self.spec.items(), key=str), _stamp(self.path)


def _hashable(spec: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """A specification of an array, which may have lists, as a key."""

    def freeze(value: Any) -> Any:
        return tuple(map(freeze, value)) if isinstance(value, (list, tuple)) else value

    return tuple((name, freeze(value)) for name, value in spec.items())


_kept: dict[Any, Array] = {}
_KEPT = 64


def _opened(path: str, spec: tuple[tuple[str, Any], ...]) -> Array:
    """Opens an array, unless it is kept: with many blocks that takes longer than to read some of them.

    One of Zarr is not kept: its chunks may come and change while its folder looks the same.
    """
    key = path, spec, _stamp(path)
    array = _kept.get(key)
    if array is None:
        array = open_array(path, **dict(spec))
        if not array.format.startswith("zarr"):
            while len(_kept) >= _KEPT:
                _kept.pop(next(iter(_kept)), None)
            _kept[key] = array
    return array


def _stamp(path: str) -> Any:
    """What changes when the array at a path is another one."""
    while not os.path.exists(path) and ":" in path:
        path = path.rpartition(":")[0]  # of "x.h5:/data", the file
    found = os.stat(path)
    return found.st_ino, found.st_mtime_ns


# ---- From objects --------------------------------------------------------------------------------


def block_of(source: Any) -> Block:
    """All of the array that an object stands for."""
    for module, name, unwrap in _WRAPPERS:
        if is_a(source, module, name):
            return unwrap(source)
    stored = find(source)
    array = opened(stored)
    if array.shape != tuple(source.shape) or array.dtype != source.dtype:
        raise NotOurs(f"{stored.path} is {array.shape} {array.dtype}, and {source.shape} {source.dtype} in the graph")
    return whole(stored, array.shape)


def find(source: Any) -> Stored:
    """The stored array that an object is."""
    if isinstance(source, LazyArray):
        return Stored(source.path, _hashable(source.spec))
    if isinstance(source, Array):
        if source._keep is None:
            raise NotOurs("an array of ours has no path")
        path, spec = source._keep
        return Stored(path, _hashable(spec))
    if isinstance(source, np.ndarray):
        return _from_numpy(source)
    path = path_of(source)
    if path is None:
        raise NotOurs(f"a {type(source).__module__}.{type(source).__name__} is no stored array that we know")
    return Stored(os.path.abspath(path))


def path_of(source: Any) -> str | None:
    """Where an array of zarr or h5py is, on a local file system; None: it is something else."""
    if is_a(source, "zarr", "Array"):
        _no_mapping(source)
        fs = getattr(source.store, "fs", None)
        inner = getattr(fs, "sync_fs", fs)  # a local file system that is called asynchronously
        if type(inner).__name__ == "LocalFileSystem":
            return os.path.join(str(source.store.path), *source.path.split("/"))
    elif is_a(source, "h5py", "Dataset"):
        if source.file.driver not in ("sec2", "stdio"):
            raise NotOurs(f"an HDF5 file is open through the driver {source.file.driver}")
        if source.external or source.is_virtual and source.file.mode != "r":
            raise NotOurs(f"data of '{source.name}' are in other files")
    try:
        return _sources.path_of(source)
    except ValueError as error:
        raise NotOurs(str(error)) from None


def _no_mapping(source: Any) -> None:
    if not all(isinstance(n, int) for n in getattr(source, "chunks", ())):
        raise NotOurs("a Zarr array has chunks of unequal lengths")


def _from_numpy(source: np.ndarray[Any, Any]) -> Stored:
    if isinstance(source, np.ma.MaskedArray):
        raise NotOurs("an array is masked")
    array = _sources._from_memmap(source)
    if array is not None and array._keep is not None:
        path, spec = array._keep
        return Stored(path, _hashable(spec))
    if source.dtype.hasobject:
        raise NotOurs("an array holds objects of Python")
    return Stored(f"<memory {id(source):x}>", (), source)


def opened(stored: Stored) -> Array:
    """Opens it, or leaves the graph to Dask."""
    try:
        return stored.open()
    except (ResplitError, OSError, TypeError, ValueError) as error:
        raise NotOurs(f"{stored.path} cannot be opened: {error}") from None


def is_a(source: Any, module: str, name: str) -> bool:
    cls = getattr(sys.modules.get(module), name, None)
    return isinstance(cls, type) and isinstance(source, cls)


# ---- xarray --------------------------------------------------------------------------------------


def _unwrap_lazy(source: Any) -> Block:
    return index_block(block_of(source.array), tuple(source.key.tuple))


def _unwrap_function(source: Any) -> Block:
    """Data that are decoded, if that does not change them: NaN that stands for NaN."""
    func = source.func
    masks = getattr(sys.modules.get("xarray.coding.variables"), "_apply_mask", None)
    inner = source.array
    if masks is None or getattr(func, "func", None) is not masks or func.args:
        raise NotOurs(f"values are decoded by {getattr(func, 'func', func)!r}")
    known = {"encoded_fill_values", "decoded_fill_value", "dtype"}
    fills = func.keywords.get("encoded_fill_values", [0])
    if set(func.keywords) != known or any(fill == fill for fill in fills):
        raise NotOurs("values that stand for missing ones are masked")
    if not np.dtype(func.keywords["dtype"]) == np.dtype(source.dtype) == np.dtype(inner.dtype):
        raise NotOurs("values become another type when they are decoded")
    return block_of(inner)


def _unwrap_zarr(source: Any) -> Block:
    if np.dtype(source._array.dtype) != np.dtype(source.dtype):
        raise NotOurs("values become another type when they are read")
    return block_of(source._array)


def _unwrap_netcdf(source: Any) -> Block:
    """A variable of a netCDF-4 file, which is an HDF5 dataset."""
    store = source.datastore
    path = getattr(store, "_filename", None)
    if not isinstance(path, str) or not os.path.isfile(path):
        raise NotOurs("a netCDF file is not on a local file system")
    groups = [name for name in (getattr(store, "_group", None) or "").split("/") if name]
    stored = Stored(f"{os.path.abspath(path)}:/{'/'.join([*groups, source.variable_name])}")
    array = opened(stored)
    if array.shape != tuple(source.shape) or array.dtype != source.dtype:
        raise NotOurs(f"{stored.path} is {array.shape} {array.dtype}, and {source.shape} {source.dtype} in the graph")
    return whole(stored, array.shape)


_WRAPPERS: list[tuple[str, str, Callable[[Any], Block]]] = [
    ("xarray.core.indexing", "ImplicitToExplicitIndexingAdapter", lambda source: block_of(source.array)),
    ("xarray.core.indexing", "CopyOnWriteArray", lambda source: block_of(source.array)),
    ("xarray.core.indexing", "MemoryCachedArray", lambda source: block_of(source.array)),
    ("xarray.core.indexing", "LazilyIndexedArray", _unwrap_lazy),
    ("xarray.coding.common", "_ElementwiseFunctionArray", _unwrap_function),
    ("xarray.coding.variables", "_ElementwiseFunctionArray", _unwrap_function),
    ("xarray.backends.zarr", "ZarrArrayWrapper", _unwrap_zarr),
    ("xarray.backends.h5netcdf_", "H5NetCDFArrayWrapper", _unwrap_netcdf),
    ("xarray.backends.netCDF4_", "NetCDF4ArrayWrapper", _unwrap_netcdf),
]
