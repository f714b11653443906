# SPDX-License-Identifier: BSD-3-Clause
"""Zarr groups: opened, and made anew around arrays that are cut anew."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from . import _core
from ._array import Array, open_array
from ._errors import ResplitError, mark
from ._options import RunOptions
from ._plan import Cost, Losses, Plan, Result
from ._target import How, Target

# What becomes of an array, by its name and itself; `is_level`: of an image.
Choice = Callable[[str, Array, bool], Target]


class Group(Mapping[str, Array]):
    """A Zarr group and all that is below it, as a mapping from the names of arrays to :class:`Array`.

    Made by :func:`resplit.open_group`.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._group = _core.group_open(self.path)
        self._places = {name: place for name, place, _, _ in _core.group_list(self._group)}

    @cached_property
    def attrs(self) -> dict[str, Any]:
        """The attributes of the group."""
        attrs = json.loads(_core.group_attributes(self._group))
        assert isinstance(attrs, dict)
        return attrs

    def __getitem__(self, name: str) -> Array:
        return open_array(self._places[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return f"<resplit.Group {self.path!r}: {', '.join(self) or 'no arrays'}>"


# ---- Choices -------------------------------------------------------------------------------------


def choose_by_axes(target: Target, all_levels: bool) -> Choice:
    """Chunks and shards for arrays of as many axes, or by name; with `all_levels`, for levels of an image only."""
    chunks, shards = target.chunks, target.shards
    named = isinstance(chunks, Mapping) and all(isinstance(key, str) for key in chunks)
    plain = Target(format=target.format, overwrite=target.overwrite, write_empty=target.write_empty)

    def fits(lengths: Any, array: Array) -> bool:
        return isinstance(lengths, (int, Mapping)) or (lengths is not None and len(lengths) == array.ndim)

    def choose(name: str, array: Array, is_level: bool) -> Target:
        if all_levels:
            return target if is_level else plain
        if named:
            assert isinstance(chunks, Mapping)
            return replace(target, chunks=chunks.get(name))  # type: ignore[call-overload]
        return replace(
            target, chunks=chunks if fits(chunks, array) else None, shards=shards if fits(shards, array) else None
        )

    return choose


def check_choices(target: Target, chosen: Mapping[str, Target], path: str) -> None:
    """Whether what is asked for was of use."""
    chunks = target.chunks
    if isinstance(chunks, Mapping) and all(isinstance(key, str) for key in chunks):
        unknown = [key for key in map(str, chunks) if key not in chosen]
        if unknown:
            raise ValueError(f"'{path}' has no array {unknown[0]!r}; there are {', '.join(chosen) or 'none'}")
    for word, lengths, found in (
        ("chunks", chunks, any(t.chunks is not None for t in chosen.values())),
        ("shards", target.shards, any(t.shards is not None for t in chosen.values())),
    ):
        if lengths is not None and not found and chosen:
            raise ValueError(f"no array of '{path}' has as many axes as {word} has lengths: {lengths}")
    for word, given in (("roi", target.roi), ("pattern", target.pattern)):
        if given is not None:
            raise ValueError(f"'{path}' is a group, and {word} is about one array: give one, as '{path}/NAME'")


# ---- Running -------------------------------------------------------------------------------------


class Job:
    """A group that is being made: source and target, and a plan for each array."""

    def __init__(
        self, source: str, path: str, choice: Choice, target: Target, how: How, all_levels: bool = False
    ) -> None:
        self.path = path
        self.how = how.fix(path)
        self.arrays: list[tuple[str, str, str, Target]] = []  # name, where it is, where it goes, what it becomes
        self.source = _core.group_open(source)
        if all_levels:
            _core.group_levels(self.source)
        self.handle = _core.group_create(path, self.source, target.format, target.overwrite)
        pairs = zip(_core.group_list(self.source), _core.group_list(self.handle))
        for (name, there, _, is_level), (_, place, kind, _) in pairs:
            wanted = choice(name, open_array(there), is_level)
            self.arrays.append((name, there, place, replace(wanted, format=kind, overwrite=True)))

    def plan(self, i: int, resume: bool = False) -> Plan:
        name, there, place, wanted = self.arrays[i]
        try:
            source = open_array(there)
            return self.how.plan(source, wanted.create(place, source, folder=True), resume)
        except ResplitError as error:
            raise name_it(name, error)

    def expect(self) -> list[Plan]:
        """The first pass: what cannot be done is told before anything is written."""
        plans = [self.plan(i) for i in range(len(self.arrays))]
        for plan in plans:
            _core.group_expect(self.handle, plan.source._handle, plan.target._handle)
        return plans

    def run(self, options: RunOptions) -> Result:
        start = time.monotonic()
        plans = self.expect()
        bytes_of = [plan.predicted.bytes_written for plan in plans]
        done: dict[str, Result] = {}
        first = i = _core.group_begin(self.handle, options.core())
        try:
            if options.reporter is not None:
                options.reporter.total = sum(bytes_of)
            for i in range(first, len(plans)):
                if options.reporter is not None:
                    options.reporter.next(sum(bytes_of[:i]))
                done[self.arrays[i][0]] = self._make(i, plans[i], options)
            _core.group_finish(self.handle)
        except BaseException as error:
            if i > 0 and not getattr(error, "resumable", False):
                mark(error, True)
            raise
        return sum_up(self.path, done, first > 0, time.monotonic() - start)

    def _make(self, i: int, plan: Plan, options: RunOptions) -> Result:
        try:
            result = (self.plan(i, True) if options.resume else plan)._run(options)
            _core.group_done(self.handle)
        except ResplitError as error:
            raise name_it(self.arrays[i][0], error)
        return result

    def close(self) -> None:
        """Lets go of the place, also when a traceback still holds this."""
        _core.group_close(self.handle)


def name_it(name: str, error: ResplitError) -> ResplitError:
    """The same error, which says which array it is about."""
    if f"/{name}'" not in str(error) and f"'{name}'" not in str(error):
        error.args = (f"array '{name}': {error}",)
    return error


def sum_up(path: str, done: dict[str, Result], resumed: bool, seconds: float) -> Result:
    """What all arrays of a group took together."""

    def add(cls: Any, parts: list[Any], most: tuple[str, ...] = ()) -> Any:
        names = cls.__dataclass_fields__
        return cls(**{n: (max if n in most else sum)([getattr(p, n) for p in parts] or [0]) for n in names})

    results = list(done.values())
    return Result(
        path=path,
        cost=add(Cost, [r.cost for r in results], ("held_bytes", "peak_bytes")),
        seconds=seconds,
        fingerprint=None,
        losses=add(Losses, [r.losses for r in results]),
        stored_read=sum(r.stored_read for r in results),
        stored_written=sum(r.stored_written for r in results),
        resumed=resumed or any(r.resumed for r in results),
        threads=max((r.threads for r in results), default=0),
        io=next((r.io for r in results if r.io), None),
        strategy=", ".join(sorted({r.strategy for r in results})),
        arrays=done,
    )
