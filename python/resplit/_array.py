# SPDX-License-Identifier: BSD-3-Clause
"""Arrays that are stored somewhere."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from . import _core, _slicing, _words
from ._errors import BudgetError
from ._options import RunOptions, run_options
from ._progress import Progress
from ._words import Memory

# Of a few elements: it takes longer to find out how much memory there is than to read them.
_SMALL = 1 << 20
_SMALL_MEMORY = 64 << 20


class Array:
    """An array that is stored as a grid of blocks: one file, a folder of files, a Zarr array, a dataset of HDF5.

    Made by :func:`resplit.open`, which reads headers, names and sizes, and no data. Indexing with NumPy's basic slicing
    reads what is asked for, and nothing else but the rest of encoded blocks.

    Attributes
    ----------
    shape, dtype, ndim, size, nbytes
        As of a NumPy array.
    chunks : tuple of tuple of int
        Lengths of the blocks along each axis.
    chunksize : tuple of int
        Lengths of the largest block.
    path : str or None
        Where it is; with the dataset, for HDF5: ``"x.h5:/data"``. None: in memory, or only described.
    format : str
        ``"npy"``, ``"raw"``, ``"zarr2"``, ``"zarr3"``, ``"hdf5"``, ``"nifti1"``, ``"nifti2"``, ``"minc2"``, or
        ``"memory"``.
    order : str or None
        ``"C"`` or ``"F"``, of the elements in a block; None: of a Zarr array, any other.
    codec : str or None
        Of encoded blocks, as ``"zstd:3"``.
    shards : tuple of int or None
        Lengths of files that hold several blocks.
    fingerprint : str or None
        Of the values, where it is stored with the array: see :func:`resplit.fingerprint`.
    """

    def __init__(self, handle: Any, keep: Any = None) -> None:
        self._handle = handle
        self._keep = keep  # how it was opened, for pickle
        self._info = _core.array_info(handle)

    # ---- What it is ----

    @property
    def shape(self) -> tuple[int, ...]:
        return self._info["shape"]

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        return _words.dtype_of(self._info["dtype"])

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return self._info["n_elements"]

    @property
    def nbytes(self) -> int:
        return self._info["bytes"]

    @property
    def itemsize(self) -> int:
        return self._info["itemsize"]

    @cached_property
    def chunks(self) -> tuple[tuple[int, ...], ...]:
        return tuple(_words.lengths_of(n, c) for n, c in zip(self.shape, self._info["chunks"]))

    @property
    def chunksize(self) -> tuple[int, ...]:
        return tuple(max(c) if isinstance(c, tuple) else c for c in self._info["chunks"])

    @property
    def n_blocks(self) -> int:
        return self._info["n_blocks"]

    @property
    def path(self) -> str | None:
        path, dataset = self._info["path"], self._info["dataset"]
        return path if path is None or dataset is None else f"{path}:{dataset}"

    @property
    def format(self) -> str:
        return self._info["format"]

    @property
    def order(self) -> str | None:
        return self._info["order"]

    @property
    def codec(self) -> str | None:
        return self._info["codec"]

    @property
    def shards(self) -> tuple[int, ...] | None:
        return self._info["shards"]

    @property
    def pattern(self) -> str | None:
        """Names of the files in a folder; None for other arrays."""
        return self._info["pattern"]

    @property
    def header(self) -> str | None:
        """What the header of a NIfTI or MINC image says, in words."""
        return self._info["header"]

    @property
    def notes(self) -> str | None:
        """What is not kept, or was chosen, one sentence a line."""
        return self._info["notes"]

    @property
    def fingerprint(self) -> str | None:
        return f"{self._info['fingerprint']:016x}" if self._info["fingerprint"] else None

    @cached_property
    def attrs(self) -> dict[str, Any]:
        """Attributes of a Zarr array, or those of an HDF5 dataset that are texts, numbers or truth values."""
        attrs = json.loads(_core.array_attributes(self._handle))
        assert isinstance(attrs, dict)
        return attrs

    # ---- What it holds ----

    def read(
        self,
        roi: Any = None,
        *,
        out: np.ndarray[Any, Any] | None = None,
        memory: Memory | None = None,
        threads: int | None = None,
        io: str | None = None,
        direct: str | bool | None = None,
        progress: Progress = None,
    ) -> np.ndarray[Any, Any]:
        """Reads a region.

        Parameters
        ----------
        roi : tuple of slices, integers or pairs, optional
            One for each axis; an integer is an axis of length 1. All of the array without.
        out : numpy.ndarray, optional
            Where elements go: of the region's shape and the array's type, of any strides. A new array without.
        memory : int or str, optional
            The budget, beside the result. Half of what is available without.
        threads, io, direct, progress
            See :func:`resplit.resplit`.

        Returns
        -------
        numpy.ndarray
        """
        box = _words.normalize_roi(roi, self.shape) or ([0] * self.ndim, list(self.shape))
        shape = tuple(b - a for a, b in zip(*box))
        if out is None:
            out = np.empty(shape, self.dtype, order="F" if self.order == "F" else "C")
        elif out.shape != shape or out.dtype != self.dtype:
            raise ValueError(f"out has shape {out.shape} and type {out.dtype}, what is read {shape} and {self.dtype}")
        with run_options(progress, io=io, direct=direct, threads=threads) as options:
            self._read_box(*box, out, _words.memory_or_default(memory), options)
        return out

    def _read_box(
        self, start: Sequence[int], stop: Sequence[int], out: np.ndarray[Any, Any], memory: int, options: RunOptions
    ) -> None:
        # elements as bytes: buffers have no word for some types, dates for one
        _core.array_read(self._handle, start, stop, out.view(f"V{out.itemsize}"), memory, options.core())

    def __getitem__(self, key: Any) -> Any:
        selection = _slicing.parse(key, self.shape)
        small = _words.count(selection.count) * self.itemsize < _SMALL
        if small:
            try:
                return self._select(selection, _SMALL_MEMORY)
            except BudgetError:
                pass  # blocks are large
        return self._select(selection, _words.memory_or_default(None))

    def _select(self, selection: _slicing.Selection, memory: int) -> Any:
        options = RunOptions()
        stepped = max(selection.step, default=1) > 1
        whole = self.codec is not None  # blocks have to be read as a whole
        return _slicing.select(
            lambda start, stop, out: self._read_box(start, stop, out, memory, options),
            selection,
            [list(itertools.accumulate(c)) if whole else None for c in self.chunks] if stepped else (),
            self.dtype,
            self.order or "C",
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("an array that is stored cannot become one in memory without a copy")
        array = self.read()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        facts = [f"{self.shape} {self.dtype}", self.format]
        if self.n_blocks > 1:
            facts.append(f"{self.n_blocks:,} blocks of {self.chunksize}")
        if self.shards is not None:
            facts.append(f"shards of {self.shards}")
        if self.codec is not None:
            facts.append(self.codec)
        return f"<resplit.Array{'' if self.path is None else ' ' + repr(self.path)}: {', '.join(facts)}>"

    def __reduce__(self) -> Any:
        if self._keep is None:
            raise TypeError("only an array that was opened by its path can be pickled")
        return _reopen, self._keep


def _reopen(path: str, spec: dict[str, Any]) -> Array:
    return open_array(path, **spec)


def open_array(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    dtype: Any = None,
    order: str | None = None,
    shape: Sequence[int] | None = None,
    chunks: _words.Chunks | None = None,
    pattern: str | None = None,
    skip: int = 0,
) -> Array:
    """The array at a path: see :func:`resplit.open`."""
    if shape is None and isinstance(chunks, (int, Mapping)):
        raise ValueError("chunks without a shape are given for each axis, as (64, 64, 64)")
    ndim = len(shape) if shape is not None else 0
    cuts = _words.normalize_chunks(chunks, ndim)
    spec = {
        "format": format,
        "dtype": dtype,
        "order": order,
        "shape": shape,
        "chunks": cuts,
        "pattern": pattern,
        "skip": skip,
    }
    word = _words.type_word(dtype)
    handle = _core.array_open(os.fspath(path), format, word, order, shape, cuts, pattern, skip)
    return Array(handle, (os.path.abspath(path), spec))


def describe(
    shape: Sequence[int],
    dtype: Any,
    *,
    chunks: _words.Chunks | None = None,
    order: str | None = None,
    format: str | None = None,
    pattern: str | None = None,
) -> Array:
    """An array that exists only as a description, for plans without files.

    Parameters
    ----------
    shape, dtype
        What it would be.
    chunks : int, sequence or mapping, optional
        How it would be cut; not at all without.
    order : {"C", "F"}, optional
    format, pattern : str, optional
        As in :func:`resplit.open`.
    """
    cuts = _words.normalize_chunks(chunks, len(shape))
    return Array(_core.array_open(None, format, _words.type_word(dtype), order, shape, cuts, pattern, 0))
