# SPDX-License-Identifier: BSD-3-Clause
"""What a target should be, and the plan that leads there."""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import _core, _words
from ._array import Array
from ._plan import Device, Plan, find_device
from ._words import Chunks, Memory


@dataclass(frozen=True)
class Target:
    """As a user asks for it; None: as the source, or as the path says."""

    chunks: Chunks | None = None
    shards: int | Sequence[int] | None = None
    codec: str | None = None
    dtype: Any = None
    order: str | None = None
    format: str | None = None
    roi: Any = None
    pattern: str | None = None
    write_empty: bool = False
    overwrite: bool = False
    whole: bool = False  # of blocks that are handed over

    def create(self, path: str | os.PathLike[str] | None, source: Array, folder: bool = False) -> Array:
        """The array that a run will make; touches nothing."""
        start, stop = _words.normalize_roi(self.roi, source.shape) or (None, None)
        shards = [self.shards] * source.ndim if isinstance(self.shards, int) else self.shards
        handle = _core.array_create(
            None if path is None else os.fspath(path),
            source._handle,
            self.format,
            _words.normalize_chunks(self.chunks, source.ndim, source._info["chunks"]),
            start,
            stop,
            self.pattern,
            folder,
            self.overwrite,
            self.codec,
            None if shards is None else [operator.index(n) for n in shards],
            self.order,
            _words.type_word(self.dtype),
            self.write_empty,
            self.whole,
        )
        return Array(handle)


@dataclass(frozen=True)
class How:
    """How a plan is to be made."""

    memory: Memory | None = None
    strategy: str | None = None
    minimize: str | None = None
    temp: str | os.PathLike[str] | None = None
    device: str | Device | None = None

    def fix(self, path: str | None) -> How:
        """Memory in bytes and a device that is known, for several plans."""
        return How(
            _words.memory_or_default(self.memory),
            self.strategy,
            self.minimize,
            self.temp,
            find_device(self.device, path),
        )

    def plan(self, source: Array, target: Array, resume: bool = False) -> Plan:
        """A plan; with `resume`, that of the run that left a part of the target, if there is one."""
        handle = _core.plan_resume(source._handle, target._handle) if resume and source.path is not None else None
        if handle is None:
            temp = None if self.temp is None else os.fspath(self.temp)
            handle = _core.plan_make(
                source._handle,
                target._handle,
                _words.memory_or_default(self.memory),
                self.strategy,
                self.minimize,
                find_device(self.device, target.path),
                temp,
            )
        return Plan(handle, source, target)
