# SPDX-License-Identifier: BSD-3-Clause
"""The functions of the package."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any, TypedDict, Union, Unpack

import numpy as np

from . import _core, _words
from ._array import Array, open_array
from ._group import Group, Job, check_choices, choose_by_axes
from ._options import RunOptions, run_options
from ._plan import Cost, Device, Losses, Plan, Result
from ._progress import Progress
from ._sources import Source, as_array, path_of
from ._target import How, Target
from ._words import Chunks, Memory

PathLike = Union[str, "os.PathLike[str]"]
Destination = Union[PathLike, "np.ndarray[Any, Any]"]


class Options(TypedDict, total=False):
    """The keywords of :func:`resplit`, but for chunks and roi."""

    memory: Memory | None
    shards: int | Sequence[int] | None
    codec: str | None
    dtype: Any
    order: str | None
    format: str | None
    pattern: str | None
    write_empty: bool
    overwrite: bool
    resume: bool
    strategy: str | None
    minimize: str | None
    temp: PathLike | None
    device: str | Device | None
    threads: int | None
    io: str | None
    direct: str | bool | None
    sync: str | None
    progress: Progress


# ---- Opening -------------------------------------------------------------------------------------


def open(  # noqa: A001
    path: Source,
    *,
    format: str | None = None,
    dtype: Any = None,
    order: str | None = None,
    shape: Sequence[int] | None = None,
    chunks: Chunks | None = None,
    pattern: str | None = None,
    skip: int = 0,
) -> Array:
    """Opens an array. Reads headers, names and sizes, never data; every block is checked to be there.

    Parameters
    ----------
    path : path-like or object
        A raw, .npy, NIfTI or MINC file, or a folder of them, a Zarr array, a dataset of an HDF5 file as
        ``"x.h5:/data"``; or an array of NumPy, zarr or h5py.
    format : str, optional
        One of ``resplit.formats``; by content and name without.
    dtype : str or numpy.dtype, optional
        Raw files need it.
    order : {"C", "F"}, optional
    shape : sequence of int, optional
        Raw files need it.
    chunks : int, sequence or mapping, optional
        How the array is cut into files; a folder of raw files named by index needs it.
    pattern : str, optional
        Names of the files in a folder: ``"brain_{2}_{1}_{0}.raw"``.
    skip : int, optional
        Bytes before the data of each raw file.

    Returns
    -------
    Array

    Examples
    --------
    >>> import numpy, resplit
    >>> numpy.save("a.npy", numpy.arange(12).reshape(3, 4))
    >>> resplit.open("a.npy")[1:, ::-2]
    array([[ 7,  5],
           [11,  9]])
    """
    spec = (format, dtype, order, shape, chunks, pattern, skip)
    if not isinstance(path, (str, bytes, os.PathLike)):
        if spec != (None,) * 6 + (0,):
            raise TypeError(
                f"a {type(path).__name__} says itself what it is: give no format, dtype, order, shape or chunks"
            )
        return as_array(path)
    return open_array(
        os.fsdecode(path),
        format=format,
        dtype=dtype,
        order=order,
        shape=shape,
        chunks=chunks,
        pattern=pattern,
        skip=skip,
    )


def open_group(path: PathLike | Any) -> Group:
    """Opens a Zarr group: a mapping from the names of all arrays below it to :class:`Array`.

    Parameters
    ----------
    path : path-like or zarr.Group
    """
    return Group(path if isinstance(path, (str, os.PathLike)) else path_of(path) or path)


# ---- Resplitting ---------------------------------------------------------------------------------


def resplit(
    src: Source,
    dst: Destination,
    *,
    chunks: Chunks | None = None,
    memory: Memory | None = None,
    shards: int | Sequence[int] | None = None,
    codec: str | None = None,
    dtype: Any = None,
    order: str | None = None,
    format: str | None = None,
    roi: Any = None,
    pattern: str | None = None,
    write_empty: bool = False,
    overwrite: bool = False,
    resume: bool = False,
    strategy: str | None = None,
    minimize: str | None = None,
    temp: PathLike | None = None,
    device: str | Device | None = None,
    threads: int | None = None,
    io: str | None = None,
    direct: str | bool | None = None,
    sync: str | None = None,
    progress: Progress = None,
    all_levels: bool = False,
    client: Any = None,
    partitions: int | None = None,
) -> Result:
    """Rewrites an array with other blocks: splits, merges, rechunks, converts, compresses, inside a memory budget.

    The target appears under its name when it is complete and on disk, or not at all. Ctrl-C stops the run cleanly; what
    it has done is kept, and the same call with ``resume=True`` goes on.

    Parameters
    ----------
    src : path-like, Array, numpy.ndarray, zarr.Array, zarr.Group or h5py.Dataset
        A NumPy array is read where it lies; it must not be changed meanwhile. A memory map of a whole file is read as
        that file. Of zarr, stores on a local file system.
    dst : path-like or numpy.ndarray
        A path that ends in ``.npy``, ``.raw``, ``.bin``, ``.nii``, ``.nii.gz``, ``.hdr`` or ``.img`` is one file,
        ``.zarr`` a Zarr array, ``.h5``, ``.hdf5`` or ``.nc`` an HDF5 file, ``.mnc`` a MINC file, and any other a folder
        of files. An array of NumPy is filled.
    chunks : int, sequence or mapping, optional
        Lengths of blocks: one number for all axes, or one per axis, where -1 or None is the whole axis and a sequence
        an uneven cut, or a mapping from axes to these, the other axes staying as they are. Without, one block, or, for
        Zarr and HDF5, as the source. Of a group: for arrays of as many axes, or a mapping from names of arrays.
    memory : int or str, optional
        The budget: bytes, or ``"1GiB"``. Half of what is available without.
    shards : int or sequence of int, optional
        Of Zarr 3, and of a folder of HDF5 or MINC files, lengths of a file that holds several blocks.
    codec : str, optional
        ``"zstd:3"``, ``"blosc:lz4:5:bitshuffle"``, ``"shuffle+zlib:6"``, ``"none"``; as the source without.
    dtype : str or numpy.dtype, optional
        That values are cast to; ``Result.losses`` says how many changed by that.
    order : {"C", "F"}, optional
        Of the elements in a block.
    format : str, optional
        One of ``resplit.formats``; by the path without.
    roi : tuple of slices, integers or pairs, optional
        The region that becomes the target.
    pattern : str, optional
        Names of the files in a folder: ``"brain_{0}_{1}_{2}.npy"``.
    write_empty : bool, optional
        Write also blocks of a Zarr array that hold nothing but its fill value.
    overwrite : bool, optional
        Replace what is at `dst`, when the new array is complete.
    resume : bool, optional
        Go on with what a run of the same call left that failed or was killed; without such a run, start anew.
    strategy : str, optional
        One of ``resplit.strategies``; the fastest that fits without.
    minimize : {"seconds", "seeks", "bytes", "memory"}, optional
        What the best plan has least of.
    temp : path-like, optional
        Folder for a temporary file, should the plan need one. Beside the target without.
    device : str or Device, optional
        What seconds are predicted for: one of ``resplit.devices``, or ``"measure"``.
    threads : int, optional
        At most so many; by the machine without.
    io : {"uring", "threads"}, optional
    direct : bool or {"on", "off", "auto"}, optional
        Pass by the page cache.
    sync : {"end", "each", "none"}, optional
        When data is brought to disk.
    progress : bool, callable or tqdm, optional
        True for a progress bar; a callable of bytes done and bytes in all, which stops the run when it raises; or an
        object with ``total`` and ``update``.
    all_levels : bool, optional
        Of an OME-Zarr image: cut all its levels, and no other array of the group.
    client : distributed.Client, optional
        Have the workers of a Dask cluster do it: see :mod:`resplit.distributed`. Then `memory` and `threads` are
        those of each worker, as much as it can spare without.
    partitions : int, optional
        Into how many the target is divided for them; four for each without. Those beyond its files are empty.

    Returns
    -------
    Result
        What the run did: seeks, bytes, memory, seconds, fingerprint.

    Raises
    ------
    BudgetError
        Nothing fits `memory`; ``needed`` says what would.
    ExistsError
        The target is there already.
    FormatError, UnsupportedError, InvalidError, SystemFailure
        See the classes.

    Examples
    --------
    >>> import numpy, resplit
    >>> resplit.resplit(numpy.arange(12).reshape(3, 4), "a.zarr", chunks=(2, 2), codec="zstd:3").cost.write_seeks
    4
    >>> resplit.resplit("a.zarr", "b.npy").cost.read_seeks
    4
    >>> numpy.load("b.npy")
    array([[ 0,  1,  2,  3],
           [ 4,  5,  6,  7],
           [ 8,  9, 10, 11]])
    """
    target = Target(chunks, shards, codec, dtype, order, format, roi, pattern, write_empty, overwrite)
    how = How(memory, strategy, minimize, temp, device)
    with run_options(progress, io=io, direct=direct, sync=sync, threads=threads, resume=resume) as options:
        if client is not None:
            from . import distributed

            return distributed.run(client, src, dst, target, how, options, partitions)
        if partitions is not None:
            raise ValueError("partitions are made by the workers of a cluster: give its client, too")
        if isinstance(dst, np.ndarray):
            return _read_into(dst, src, target, how, options)
        group = _group_of(src)
        if group is not None:
            return _resplit_group(group, dst, target, how, options, all_levels)
        if all_levels:
            raise ValueError(f"all_levels is about the levels of an image, which is a Zarr group, and {src!r} is none")
        return _make_plan(src, dst, target, how, resume)._run(options)


def split(src: Source, dst: PathLike, chunks: Chunks, *, roi: Any = None, **options: Unpack[Options]) -> Result:
    """Cuts an array of one block into several. All parameters are those of :func:`resplit`, which cuts any grid."""
    source = as_array(src)
    if source.n_blocks > 1:
        raise ValueError(
            f"{source!r} is a grid of {source.n_blocks} blocks and split takes one: resplit cuts any grid anew"
        )
    return resplit(source, dst, chunks=chunks, roi=roi, **options)


def merge(
    src: Source, dst: Destination, *, chunks: Chunks | None = None, roi: Any = None, **options: Unpack[Options]
) -> Result:
    """Puts an array together: in one block, unless `chunks` are given. All parameters are those of :func:`resplit`."""
    source = as_array(src)
    if chunks is None and not isinstance(dst, np.ndarray):
        chunks = [-1] * source.ndim
    return resplit(source, dst, chunks=chunks, roi=roi, **options)


def extract(
    src: Source, dst: Destination, roi: Any, *, chunks: Chunks | None = None, **options: Unpack[Options]
) -> Result:
    """Takes a region out of an array. All parameters are those of :func:`resplit`."""
    return resplit(src, dst, chunks=chunks, roi=roi, **options)


def plan(
    src: Source,
    dst: PathLike | None = None,
    *,
    chunks: Chunks | None = None,
    memory: Memory | None = None,
    shards: int | Sequence[int] | None = None,
    codec: str | None = None,
    dtype: Any = None,
    order: str | None = None,
    format: str | None = None,
    roi: Any = None,
    pattern: str | None = None,
    write_empty: bool = False,
    overwrite: bool = False,
    resume: bool = False,
    strategy: str | None = None,
    minimize: str | None = None,
    temp: PathLike | None = None,
    device: str | Device | None = None,
) -> Plan:
    """Finds out how an array would be resplit, and what that would cost. Touches nothing.

    Parameters
    ----------
    src
        As in :func:`resplit`, or :func:`describe`.
    dst : path-like, optional
        Without, the plan cannot be run.
    resume : bool, optional
        The plan of the run that left a part of the target, if there is one.
    chunks, memory, shards, codec, dtype, order, format, roi, pattern, write_empty, overwrite, strategy, minimize, temp,
    device
        As in :func:`resplit`.

    Returns
    -------
    Plan

    Examples
    --------
    >>> import resplit
    >>> volume = resplit.describe((3500, 3500, 3500), "uint16", chunks=350)
    >>> resplit.plan(volume, chunks=500, memory="1GB").seeks
    3274
    """
    target = Target(chunks, shards, codec, dtype, order, format, roi, pattern, write_empty, overwrite)
    if _group_of(src) is not None:
        raise ValueError(f"{src!r} is a group of arrays, and a plan is for one of them")
    return _make_plan(src, dst, target, How(memory, strategy, minimize, temp, device), resume)


def _make_plan(src: Source, dst: PathLike | None, target: Target, how: How, resume: bool) -> Plan:
    source = as_array(src)
    made = target.create(dst, source)
    if dst is not None and made.pattern is not None and target.chunks is None and target.roi is None:
        raise ValueError(
            f"'{os.fspath(dst)}' is to be a folder of blocks, so say how to cut it, as chunks=(64, 64, 64); "
            f"for one file, name it '{os.fspath(dst)}.npy'"
        )
    return how.plan(source, made, resume)


def _group_of(src: Source) -> str | None:
    path = (
        src.path if isinstance(src, Group) else os.fspath(src) if isinstance(src, (str, os.PathLike)) else path_of(src)
    )
    return path if path is not None and _core.is_group(path) else None


def _resplit_group(path: str, dst: PathLike, target: Target, how: How, options: RunOptions, all_levels: bool) -> Result:
    job = Job(path, os.fspath(dst), choose_by_axes(target, all_levels), target, how, all_levels)
    try:
        check_choices(target, {name: wanted for name, _, _, wanted in job.arrays}, path)
        return job.run(options)
    finally:
        job.close()


# ---- Into memory ---------------------------------------------------------------------------------


def _read_into(out: np.ndarray[Any, Any], src: Source, target: Target, how: How, options: RunOptions) -> Result:
    given = [
        n
        for n in ("chunks", "shards", "codec", "dtype", "order", "format", "pattern")
        if getattr(target, n) is not None
    ]
    if given:
        raise ValueError(f"{given[0]} is about arrays in files, and an array in memory is what it is")
    source = as_array(src)
    start, stop = _words.normalize_roi(target.roi, source.shape) or ([0] * source.ndim, list(source.shape))
    shape = tuple(b - a for a, b in zip(start, stop))
    swapped = out.dtype != source.dtype and out.dtype.newbyteorder() == source.dtype
    if out.shape != shape or not (out.dtype == source.dtype or swapped):
        raise ValueError(
            f"the target has shape {out.shape} and type {out.dtype}, what is to be read {shape} and {source.dtype}"
        )
    if not out.flags.writeable:
        raise ValueError("the target is an array that cannot be written")
    begin = time.monotonic()
    source._read_box(start, stop, out, _words.memory_or_default(how.memory), options)
    if swapped:
        out.byteswap(inplace=True)
    if isinstance(out, np.memmap):
        out.flush()
    n = _words.count(shape) * source.itemsize
    nothing = Cost(0, 0, n, n, 0, 0, 0)
    return Result(
        None,
        nothing,
        time.monotonic() - begin,
        None,
        Losses(0, 0, 0, 0),
        0,
        0,
        False,
        options.threads,
        options.io,
        "read",
    )
