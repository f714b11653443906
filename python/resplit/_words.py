# SPDX-License-Identifier: BSD-3-Clause
"""What users write, as the core wants it: sizes, types, chunks, regions; and numbers as users read them."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Mapping, Sequence
from typing import Any, Union

import numpy as np

from . import _core

Chunks = Union[int, Sequence[Union[int, None, Sequence[int]]], Mapping[int, Union[int, None, Sequence[int]]]]
Memory = Union[int, float, str]

_UNITS = {"": 1, "b": 1}
for _i, _letter in enumerate("kmgtp", start=1):
    _UNITS[_letter + "ib"] = 1024**_i
    _UNITS[_letter + "b"] = 1000**_i


def parse_bytes(size: Memory) -> int:
    """Bytes, from a number or from words: ``1 << 30``, ``"1GiB"``, ``"1.5 GB"``."""
    if not isinstance(size, str):
        return int(size)
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-zA-Z]*)\s*", size)
    unit = match[2].lower() if match else ""
    if match is None or (unit not in _UNITS and unit + "b" not in _UNITS):
        raise ValueError(f"{size!r} is not a size: write it as '512MiB', '1.5GB' or a number of bytes")
    if unit not in _UNITS:
        raise ValueError(
            f"{size!r} has two meanings: write {unit.upper()}B (powers of 1000) or {unit.upper()}iB (of 1024)"
        )
    return int(match[1]) * _UNITS[unit] if match[1].isdigit() else int(float(match[1]) * _UNITS[unit])


def memory_or_default(memory: Memory | None) -> int:
    """A budget in bytes; half of what this process may still use when none is given."""
    if memory is not None:
        return parse_bytes(memory)
    half = _core.memory_available() // 2
    if half <= 0:
        raise ValueError("cannot tell how much memory is available: say how much to use, as memory='1GiB'")
    return half


def format_bytes(n: float) -> str:
    """``1536`` is ``"1.5 KiB"``."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if abs(n) < 1024 or unit == "PiB":
            break
        n /= 1024
    return f"{n:.0f} {unit}" if unit == "B" else f"{n:.1f} {unit}"


def format_seconds(seconds: float) -> str:
    """``125.0`` is ``"2 min 05 s"``."""
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


# ---- Types ---------------------------------------------------------------------------------------


def dtype_of(descr: str) -> np.dtype[Any]:
    """NumPy's type, from the words of a .npy header."""
    if descr.startswith("["):
        return np.lib.format.descr_to_dtype(ast.literal_eval(descr))
    return np.dtype(descr)


def descr_of(dtype: Any) -> str:
    """The other way around."""
    dtype = np.dtype(dtype)
    if dtype.isbuiltin == 2:
        raise TypeError(f"{dtype} is no type of NumPy itself: view the array as one of the same size")
    if dtype.hasobject:
        raise TypeError(f"elements of type {dtype} are objects of Python, not values")
    descr = np.lib.format.dtype_to_descr(dtype)
    return descr if isinstance(descr, str) else str(descr)


def type_word(dtype: Any) -> str | None:
    """A type that a user asks for; words are left to the core, which knows ``"uint16"`` from ``"<u2"``."""
    return dtype if dtype is None or isinstance(dtype, str) else descr_of(dtype)


# ---- Chunks --------------------------------------------------------------------------------------


def _one_axis(chunk: Any) -> int | tuple[int, ...]:
    if chunk is None:
        return -1
    if isinstance(chunk, Sequence) and not isinstance(chunk, str) or isinstance(chunk, np.ndarray):
        return tuple(operator.index(length) for length in chunk)
    return operator.index(chunk)


def normalize_chunks(
    chunks: Chunks | None, ndim: int, current: Sequence[int | tuple[int, ...]] | None = None
) -> tuple[int | tuple[int, ...], ...] | None:
    """Chunks of every axis: a length, -1 for the whole axis, or a tuple of lengths.

    A mapping names some axes; the others stay as `current` says.
    """
    if chunks is None:
        return None
    if isinstance(chunks, Mapping):
        axes: list[Any] = [-1] * ndim if current is None else list(current)
        for axis, chunk in chunks.items():
            if not -ndim <= axis < ndim:
                raise ValueError(f"chunks are given for axis {axis}, and the array has {ndim}")
            axes[axis] = chunk
        chunks = axes
    elif isinstance(chunks, (int, np.integer)):
        chunks = [int(chunks)] * ndim
    elif isinstance(chunks, str):
        raise ValueError(f"chunks cannot be {chunks!r}: give one length per axis, as (64, 64, -1)")
    return tuple(_one_axis(chunk) for chunk in chunks)


def lengths_of(extent: int, chunk: int | tuple[int, ...]) -> tuple[int, ...]:
    """All lengths along an axis."""
    if isinstance(chunk, tuple):
        return chunk
    if extent == 0:
        return (0,)
    whole, rest = divmod(extent, chunk)
    return (chunk,) * whole + ((rest,) if rest else ())


# ---- Regions -------------------------------------------------------------------------------------


def normalize_roi(roi: Any, shape: tuple[int, ...]) -> tuple[list[int], list[int]] | None:
    """Where a region begins and where it ends, from slices, integers (an axis of length 1), or pairs."""
    if roi is None:
        return None
    items = list(roi) if isinstance(roi, (tuple, list)) else [roi]
    if Ellipsis in items:
        at = items.index(Ellipsis)
        items[at : at + 1] = [slice(None)] * (len(shape) - len(items) + 1)
    if len(items) != len(shape):
        raise ValueError(
            f"the region names {len(items)} axes and the array has {len(shape)}: write ':' for a whole axis"
        )
    start, stop = [], []
    for axis, (item, extent) in enumerate(zip(items, shape)):
        if isinstance(item, (tuple, list)):
            item = slice(*item)
        if isinstance(item, slice):
            lo, hi, step = item.indices(extent)
            if step != 1:
                raise ValueError(f"the region has a step of {step} along axis {axis}: a region is a box")
            start.append(lo)
            stop.append(max(lo, hi))
        else:
            index = operator.index(item)
            if not -extent <= index < extent:
                raise IndexError(f"index {index} is outside axis {axis}, which has length {extent}")
            start.append(index % extent)
            stop.append(index % extent + 1)
    return start, stop


def count(shape: Sequence[int]) -> int:
    """Elements of a shape."""
    return math.prod(shape)
