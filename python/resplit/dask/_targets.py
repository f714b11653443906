# SPDX-License-Identifier: BSD-3-Clause
"""The sinks: arrays of zarr, datasets of h5py, arrays of NumPy and stacks of .npy files."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import _api
from .._array import Array, open_array
from .._errors import ResplitError, UnsupportedError
from .._target import How, Target
from ._portions import NotOurs, Portion, Shape
from ._sinks import Sink, beside, by_source, plain, roi_of
from ._stored import Stored, is_a, path_of

# ---- Zarr ----------------------------------------------------------------------------------------

# What has to be equal for chunks of one array to be chunks of another.
_ZARR_FACTS = {3: ("data_type", "codecs", "storage_transformers"), 2: ("dtype", "compressor", "filters", "order")}


class ZarrSink(Sink):
    """Chunks, or shards, of an array of zarr-python; its metadata stay as they are."""

    def __init__(self, array: Any, start: Shape) -> None:
        path = path_of(array)
        assert path is not None
        self.array, self.path, self.start = array, os.path.abspath(path), start
        self.dtype, self.extents = np.dtype(array.dtype), tuple(array.shape)
        self.lengths = tuple(getattr(array, "shards", None) or array.chunks)
        self._found: dict[str, Any] | None = None

    def options(self, portion: Portion) -> dict[str, Any]:
        if self._found is None:
            try:
                array = open_array(self.path)
            except (ResplitError, OSError) as error:
                raise NotOurs(f"{self.path} cannot be opened: {error}") from None
            if array.order is None:
                raise NotOurs(f"{self.path} has its elements in an order that is neither C nor F")
            self._found = {"format": array.format, "codec": array.codec or "none", "order": array.order}
        found = dict(
            self._found, chunks=by_source(portion, self.array.chunks), write_empty=not self.leaves_out(portion)
        )
        if getattr(self.array, "shards", None):
            found["shards"] = by_source(portion, self.array.shards)
        return found

    def leaves_out(self, portion: Portion) -> bool:
        """May blocks that hold nothing but a fill value be left out? The engine has that of the source, or 0."""
        if self.array.fill_value is None or getattr(getattr(self.array, "config", None), "write_empty_chunks", False):
            return False
        fill = _fill_value(portion.source, self.dtype)
        return fill is not None and np.array(self.array.fill_value, self.dtype).tobytes() == fill

    def name(self, folder: str) -> str:
        return os.path.join(folder, "made.zarr")

    def takes(self, portion: Portion) -> bool:
        sharded = getattr(self.array, "shards", None) is not None
        return super().takes(portion) and (plain(portion) or not sharded)

    def probe(self) -> None:
        """Makes an array of one chunk and looks whether it is like ours."""
        if getattr(self.array, "read_only", False):
            raise NotOurs(f"{self.path} is read-only")
        n = len(self.extents)
        empty = np.broadcast_to(np.zeros((), self.dtype), self.lengths)
        portion = Portion(Stored("<memory>"), tuple(range(n)), (0,) * n, (0,) * n, self.lengths)
        with tempfile.TemporaryDirectory() as folder:
            made = self.name(folder)
            try:
                _api.resplit(empty, made, sync="none", **dict(self.options(portion), write_empty=False))
            except (ResplitError, ValueError, TypeError) as error:
                raise NotOurs(f"no array like {self.path} can be made: {error}") from None
            self.compare(made, portion)

    def compare(self, made: str, portion: Portion) -> Any:
        """The array that the engine made, if its chunks can be ours."""
        import zarr

        array = zarr.open_array(made, mode="r")
        mine, other = self.array.metadata.to_dict(), array.metadata.to_dict()
        facts = _ZARR_FACTS[mine["zarr_format"]]
        for fact in facts:
            if _text(mine.get(fact)) != _text(other.get(fact)):
                raise NotOurs(f"{self.path} has {fact} {mine.get(fact)}, and we would write {other.get(fact)}")
        wanted = tuple(by_source(portion, self.lengths))
        if tuple(getattr(array, "shards", None) or array.chunks) != wanted:
            raise NotOurs(f"{self.path} has chunks of {self.lengths}, and we would write {array.chunks}")
        return array

    def move(self, portion: Portion, made: str, memory: int) -> None:
        array = self.compare(made, portion)
        filled = _bytes(array.fill_value, self.dtype) == _bytes(self.array.fill_value, self.dtype)
        for index, place in self.blocks(portion):
            old = os.path.join(made, array.metadata.encode_chunk_key(index))
            new = os.path.join(self.path, self.array.metadata.encode_chunk_key(place))
            if os.path.exists(old):
                os.makedirs(os.path.dirname(new), exist_ok=True)
                os.replace(old, new)
            elif not filled:
                raise RuntimeError(f"a chunk of {self.path} was left out, though fill values differ")
            elif os.path.exists(new):
                os.remove(new)


def _text(fact: Any) -> str:
    return json.dumps(
        fact, sort_keys=True, default=lambda x: getattr(x, "to_dict", getattr(x, "get_config", lambda: str(x)))()
    )


def _bytes(value: Any, dtype: np.dtype[Any]) -> bytes | None:
    return None if value is None else np.array(value, dtype).tobytes()


def _fill_value(stored: Stored, dtype: np.dtype[Any]) -> bytes | None:
    """That the engine gives to an array that it makes from this one; None: not known."""
    if stored.memory is not None or stored.path.startswith("<"):
        return bytes(dtype.itemsize)
    format = stored.open().format
    if format in ("zarr2", "zarr3"):
        import zarr

        return _bytes(zarr.open_array(stored.path, mode="r").fill_value, dtype)
    return bytes(dtype.itemsize) if format in ("npy", "raw") else None


# ---- HDF5 ----------------------------------------------------------------------------------------


_WRITE_BEHIND = 64 << 20


class Hdf5Sink(Sink):
    """Chunks of a dataset of h5py, as they are stored; elements, where it has none."""

    def __init__(self, dataset: Any, start: Shape) -> None:
        path = path_of(dataset)
        assert path is not None
        self.dataset, self.start = dataset, start
        self.path = os.path.abspath(dataset.file.filename)
        self.dtype, self.extents = dataset.dtype, tuple(dataset.shape)
        self.lengths = tuple(dataset.chunks or (1,) * len(self.extents))
        self._codec: str | None = None

    def is_source(self, stored: Stored) -> bool:
        return os.path.realpath(f"{self.path}:{self.dataset.name}") == os.path.realpath(stored.path)

    def name(self, folder: str) -> str:
        return os.path.join(folder, "made.h5:/data") if self.dataset.chunks else os.path.join(folder, "made.npy")

    def options(self, portion: Portion) -> dict[str, Any]:
        if not self.dataset.chunks:
            return {"order": "C"}
        if self._codec is None:
            try:
                self._codec = open_array(f"{self.path}:{self.dataset.name}").codec or "none"
            except (ResplitError, OSError) as error:
                raise NotOurs(f"{self.path}:{self.dataset.name} cannot be opened: {error}") from None
        return {"chunks": by_source(portion, self.lengths), "codec": self._codec, "format": "hdf5"}

    def probe(self) -> None:
        if self.dataset.file.mode == "r":
            raise NotOurs(f"{self.path} is open for reading only")
        if self.dataset.chunks is None:
            return
        n = len(self.extents)
        empty = np.broadcast_to(
            np.zeros((), self.dtype), (2 * self.lengths[0], *self.lengths[1:])
        )  # one chunk would be none
        with tempfile.TemporaryDirectory() as folder:
            made = self.name(folder)
            try:
                portion = Portion(Stored("<memory>"), tuple(range(n)), (0,) * n, (0,) * n, empty.shape)
                _api.resplit(empty, made, sync="none", **self.options(portion))
            except (ResplitError, ValueError, TypeError) as error:
                raise NotOurs(f"no dataset like {self.path}:{self.dataset.name} can be made: {error}") from None
            with self.opened(made):
                pass

    @contextmanager
    def opened(self, made: str) -> Iterator[Any]:
        """The dataset that the engine made, if its chunks can be ours."""
        import h5py  # type: ignore[import-untyped, unused-ignore]

        with h5py.File(made.rpartition(":")[0], "r") as file:
            dataset = file["data"]
            mine, other = (_filters(d) for d in (self.dataset, dataset))
            if mine != other or dataset.dtype != self.dtype:
                raise NotOurs(f"{self.path}:{self.dataset.name} has filters {mine}, and we would write {other}")
            if dataset.chunks is not None and math.prod(dataset.chunks) != math.prod(self.lengths):
                raise NotOurs(f"chunks are {self.lengths}, and we would write {dataset.chunks}")
            yield dataset

    def take(self, portion: Portion, source: Array, memory: int) -> None:
        """Chunks are written by who has the file open, h5py, as the engine hands them over."""
        with beside(self.path) as folder:
            target = Target(roi=roi_of(portion), whole=True, **self.options(portion))
            plan = How(memory).plan(source, target.create(self.name(folder), source))
            try:
                with self._written_behind() as wrote:
                    plan.deliver(lambda *piece: wrote(self._put(portion, *piece)))
                return
            except UnsupportedError:  # it is copied as it is stored, for which there has to be a file
                pass
        super().take(portion, source, memory)

    def _put(self, portion: Portion, start: Shape, shape: Shape, data: memoryview, encoded: bool) -> int:
        axes = portion.axes
        to = [s + at + (0 if a is None else start[a]) for s, at, a in zip(self.start, portion.at, axes)]
        if encoded:
            self.dataset.id.write_direct_chunk(tuple(to), data)
            return len(data)
        lengths = [1 if a is None else shape[a] for a in axes]
        if self._is_chunk(to, lengths):
            self.dataset.id.write_direct_chunk(tuple(to), data)
        else:
            box = tuple(slice(a, a + n) for a, n in zip(to, lengths))
            self.dataset[box] = np.frombuffer(data, self.dtype).reshape(lengths)
        return len(data)

    @contextmanager
    def _written_behind(self) -> Iterator[Callable[[int], None]]:
        """Lets the disk begin with what was written, and the system forget it: the page cache is not for all of it."""
        written = 0

        def wrote(n: int) -> None:
            nonlocal written
            written += n
            if written >= _WRITE_BEHIND:
                written = 0
                os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)

        handle = self.dataset.file.id.get_vfd_handle()
        yield wrote

    def _is_chunk(self, to: Sequence[int], lengths: Sequence[int]) -> bool:
        """Is it a whole one, and stored as it is? h5py would copy it once more."""
        plain = self.dataset.chunks is not None and not _filters(self.dataset)
        return plain and tuple(lengths) == self.lengths and not any(a % n for a, n in zip(to, lengths))

    def move(self, portion: Portion, made: str, memory: int) -> None:
        if self.dataset.chunks is None:
            return self._copy(portion, made, memory)
        with self.opened(made) as dataset:
            if dataset.chunks is None:
                return self._copy(portion, made, memory)
            for index, place in self.blocks(portion):
                at = tuple(i * n for i, n in zip(index, dataset.chunks))
                to = tuple(i * n for i, n in zip(place, self.lengths))
                if dataset.id.get_chunk_info_by_coord(at).size:
                    mask, data = dataset.id.read_direct_chunk(at)
                    self.dataset.id.write_direct_chunk(to, data, mask)
                else:  # it holds nothing but the fill value
                    self.dataset[tuple(slice(a, min(a + n, e)) for a, n, e in zip(to, self.lengths, self.extents))] = (
                        dataset.fillvalue
                    )

    def _copy(self, portion: Portion, made: str, memory: int) -> None:
        array = open_array(made)
        rows = max(1, memory // 4 // max(1, array.nbytes // max(1, array.shape[0])))
        lead = next((d for d, axis in enumerate(portion.axes) if axis == 0), None)
        for at in range(0, array.shape[0], rows):
            stop = min(at + rows, array.shape[0])
            data = array.read((slice(at, stop), *(slice(None),) * (array.ndim - 1)), memory=memory // 2)
            shape = list(portion.shape)
            box = [slice(s + a, s + a + n) for s, a, n in zip(self.start, portion.at, portion.shape)]
            if lead is not None:
                shape[lead] = stop - at
                box[lead] = slice(box[lead].start + at, box[lead].start + stop)
            self.dataset[tuple(box)] = data.reshape(shape)


def _filters(dataset: Any) -> list[Any]:
    plist = dataset.id.get_create_plist()
    return [plist.get_filter(i)[:3] for i in range(plist.get_nfilters())]


# ---- NumPy ---------------------------------------------------------------------------------------


class MemorySink(Sink):
    """An array of NumPy, or a memory map: elements are read to their places."""

    def __init__(self, array: np.ndarray[Any, Any], start: Shape) -> None:
        if not array.flags.writeable:
            raise NotOurs("an array is read-only")
        self.array, self.path, self.start = array, "<memory>", start
        self.dtype, self.extents = array.dtype, array.shape
        self.lengths = (1,) * array.ndim

    def is_source(self, stored: Stored) -> bool:
        if stored.memory is not None:
            return np.may_share_memory(self.array, stored.memory)
        file = getattr(self.array, "filename", None)
        return file is not None and os.path.realpath(file) == os.path.realpath(stored.path)

    def check(self, portion: Portion, source: Array, memory: int) -> None:
        pass

    def take(self, portion: Portion, source: Array, memory: int) -> None:
        box: list[Any] = []
        for axis, s, a, n in zip(portion.axes, self.start, portion.at, portion.shape):
            box.append(s + a if axis is None else slice(s + a, s + a + n))
        view = self.array[(*box, ...)]  # without the ellipsis, integers alone would give a copy
        gone = [s for s in range(len(portion.origin)) if s not in portion.axes]
        source.read(roi_of(portion), out=np.expand_dims(view, gone) if gone else view, memory=memory)


class StackSink(Sink):
    """The files of ``dask.array.to_npy_stack``."""

    def __init__(self, paths: list[str], axis: int, lengths: Shape, shape: Shape, dtype: np.dtype[Any]) -> None:
        self.paths, self.axis, self.cuts = paths, axis, lengths
        self.path, self.start, self.dtype, self.extents = paths[0], (0,) * len(shape), dtype, shape
        self.lengths = shape

    def is_source(self, stored: Stored) -> bool:
        return os.path.realpath(stored.path).startswith(os.path.realpath(os.path.dirname(self.path)) + os.sep)

    def takes(self, portion: Portion) -> bool:
        return plain(portion) and portion.shape == self.extents

    def options(self, portion: Portion) -> dict[str, Any]:
        chunks = [self.cuts if d == self.axis else n for d, n in enumerate(self.extents)]
        return {"chunks": chunks, "format": "npy", "order": "C", "pattern": f"{{{self.axis}}}.npy"}

    def name(self, folder: str) -> str:
        return os.path.join(folder, "made")

    def move(self, portion: Portion, made: str, memory: int) -> None:
        for i, path in enumerate(self.paths):
            os.replace(os.path.join(made, f"{i}.npy"), path)


def sink_of(target: Any, start: Shape) -> Sink:
    """The sink that an object is."""
    if is_a(target, "zarr", "Array"):
        return ZarrSink(target, start)
    if is_a(target, "h5py", "Dataset"):
        return Hdf5Sink(target, start)
    if type(target) in (np.ndarray, np.memmap):
        return MemorySink(target, start)
    raise NotOurs(f"a {type(target).__module__}.{type(target).__name__} is nothing that we can write to")
