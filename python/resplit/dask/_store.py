# SPDX-License-Identifier: BSD-3-Clause
# mypy: allow-untyped-calls
"""Dask arrays from stored ones, and stored ones from Dask arrays."""

from __future__ import annotations

import builtins
import math
import os
import uuid
from typing import Any

import dask.array as da
import numpy as np

from .. import _api
from .._array import Array
from .._plan import Result
from .._words import Memory
from . import _log
from ._hook import optimize
from ._move import Cells, _are_files, copy, link, memory_of
from ._portions import NotOurs, Portion
from ._sinks import beside, plain, roi_of
from ._stored import LazyArray
from ._trace import trace_array

_ANY_CHUNKS = (
    ".npy",
    ".raw",
    ".bin",
    ".nii",
    ".nii.gz",
    ".img",
    ".hdr",
    ".mnc",
)  # one file, one block, unless asked for


def open(path: str | os.PathLike[str], *, chunks: Any = None, stored_chunks: Any = None, **spec: Any) -> da.Array:  # noqa: A001
    """A Dask array from a stored one.

    It is opened again where it is read, so it can be sent to workers that see the same files.

    Parameters
    ----------
    path : path-like
        As in :func:`resplit.open`.
    chunks : optional
        As Dask has them. Without, whole blocks, several together where they are small.
    stored_chunks : optional
        The `chunks` of :func:`resplit.open`: how a folder of raw files is cut.
    **spec
        The other parameters of :func:`resplit.open`.

    Examples
    --------
    >>> import numpy, resplit, resplit.dask
    >>> _ = resplit.resplit(numpy.arange(24).reshape(4, 6), "a.zarr", chunks=(2, 3))
    >>> resplit.dask.open("a.zarr", chunks=(2, 3)).sum().compute()
    np.int64(276)
    """
    if stored_chunks is not None:
        spec["chunks"] = stored_chunks
    lazy = LazyArray(os.path.abspath(os.fspath(path)), spec)
    array = lazy.array
    if chunks is None:
        regular = all(len(set(c[:-1])) <= 1 and c[-1] <= c[0] for c in array.chunks)
        stored = array.shards or array.chunksize
        chunks = (
            da.core.normalize_chunks("auto", array.shape, dtype=array.dtype, previous_chunks=stored)
            if regular and array.size
            else array.chunks
        )
    meta = np.empty((0,) * array.ndim, array.dtype)
    made: da.Array = da.from_array(lazy, chunks=chunks, inline_array=True, meta=meta, asarray=True)
    return made


def store(
    x: da.Array, dst: Any, *, memory: Memory | None = None, compute: dict[str, Any] | None = None, **options: Any
) -> Result | None:
    """Stores a Dask array inside a memory budget.

    An array that was only read, sliced, concatenated, stacked and rechunked is moved by the engine, without Dask. Any
    other is computed by Dask, each chunk is written as it arrives to a temporary grid of files beside the target,
    and the engine resplits that grid into place: chunks of `x` need not be those of the target.

    Parameters
    ----------
    x : dask.array.Array
    dst : path-like, zarr.Array, h5py.Dataset or numpy.ndarray
        A path as in :func:`resplit.resplit`. An array that is there already is written as by ``dask.array.store``.
    memory : int or str, optional
        The budget of the engine. What Dask needs to compute chunks is beside it.
    compute : dict, optional
        Options of ``dask.compute``, as ``{"scheduler": "processes"}``.
    **options
        Of :func:`resplit.resplit`. Chunks are those of `x` without.

    Returns
    -------
    Result or None
        What the last run did; None for an array that was there already.

    Examples
    --------
    >>> import dask.array, resplit.dask
    >>> x = dask.array.arange(24, chunks=7).reshape(4, 6)
    >>> resplit.dask.store(x + 1, "sum.zarr", chunks=(2, 3), memory="64MiB").cost.write_seeks
    4
    """
    if not isinstance(x, da.Array):
        raise TypeError(f"x is a {type(x).__name__}: give an array of dask")
    if any(math.isnan(n) for n in x.shape):
        raise ValueError(f"the shape of x, {x.shape}, is not known: call x.compute_chunk_sizes() first")
    if not isinstance(dst, (str, os.PathLike)):
        if options:
            raise TypeError(
                f"{sorted(options)} say how an array is made, and there is one already: give a path, or no such options"
            )
        with optimize(memory):
            da.store(x, dst, **(compute or {}))
        return None
    path, budget = os.fspath(dst), memory_of(memory)
    options.setdefault("chunks", _chunks_for(path, x, options))
    try:
        _, shape, portions = trace_array(x)
        if not portions:
            raise NotOurs("there is nothing to store")
    except NotOurs as reason:
        _log.decide(False, f"{path}: computed by dask, since {reason}")
        return _write(x, path, budget, compute or {}, options)
    _log.decide(True, f"{path}: taken over, {shape}, portions: {len(portions)}")
    return _move(portions, x, path, budget, options)


def _chunks_for(path: str, x: da.Array, options: dict[str, Any]) -> Any:
    """Those of the array, or the nearest that the format has."""
    if path.lower().endswith(_ANY_CHUNKS):
        return None
    if any(path.lower().endswith(s) for s in (".zarr", ".h5", ".hdf5", ".nc")) or options.get("format", "") in (
        "zarr2",
        "zarr3",
        "hdf5",
    ):
        return x.chunksize
    return x.chunks


def _move(portions: tuple[Portion, ...], x: da.Array, path: str, memory: int, options: dict[str, Any]) -> Result:
    (first, *others) = portions
    if not others and plain(first):
        return _finish(first.source.open(), path, memory, roi=roi_of(first), **options)
    with beside(path) as folder:
        gather = link if _are_files(portions) else copy
        return _finish(gather(folder, portions, x.shape, x.dtype, memory), path, memory, **options)


def _write(x: da.Array, path: str, memory: int, compute: dict[str, Any], options: dict[str, Any]) -> Result:
    """Block by block as they are computed, then into place."""
    if x.ndim == 0 or x.size == 0:
        return _finish(np.asarray(x.compute(**compute)), path, memory, **options)
    with beside(path) as folder:
        grid = Grid(folder, x)
        da.store([x], [grid], lock=False, **compute)  # type: ignore[list-item, unused-ignore]
        return _finish(grid.open(), path, memory, **options)


def _finish(source: Any, path: str, memory: int, **options: Any) -> Result:
    result = _api.resplit(source, path, memory=memory, **options)
    _log.add(runs=1, bytes=result.cost.bytes_written)
    return result


class Grid:
    """A grid of .npy files, as something that ``dask.array.store`` writes to.

    Blocks come in any order, from any process, and twice if a task is done again.
    """

    def __init__(self, folder: str, x: da.Array) -> None:
        self.folder, self.shape, self.dtype, self.ndim = folder, x.shape, x.dtype, x.ndim
        self.cells = Cells(x.shape, [tuple(int(n) for n in lengths) for lengths in x.chunks])
        os.mkdir(os.path.join(folder, "grid"))

    def open(self) -> Array:
        return self.cells.open(os.path.join(self.folder, "grid"), "npy", self.dtype)

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(value, np.ma.MaskedArray):
            raise ValueError(
                "the array is masked, and no format has masks: fill it, as by dask.array.ma.filled(x, value)"
            )
        value = np.asarray(value)
        index = [starts[item.indices(n)[0]] for starts, item, n in zip(self.cells.starts, key, self.shape)]
        expected = tuple(axis[i] for axis, i in zip(self.cells.lengths, index))
        if value.shape != expected or value.dtype != self.dtype:
            raise ValueError(
                f"block {tuple(index)} was computed as {value.shape} {value.dtype}, "
                f"and should be {expected} {self.dtype}"
            )
        unfinished = os.path.join(self.folder, uuid.uuid4().hex)
        with builtins.open(unfinished, "wb") as file:
            np.save(file, value)
        os.replace(unfinished, os.path.join(self.folder, "grid", self.cells.name(index, "npy")))
