# SPDX-License-Identifier: BSD-3-Clause
"""How far a run has come, to whoever wants to know."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol, Union, runtime_checkable


@runtime_checkable
class Bar(Protocol):
    """What a progress bar of tqdm has."""

    total: Any

    def update(self, n: Any = ..., /) -> Any: ...


Progress = Union[bool, Callable[[int, int], object], Bar, None]


class _Line:
    """A line on stderr, where there is no tqdm."""

    total = 0

    def __init__(self) -> None:
        self.done = 0

    def update(self, n: int = 1, /) -> None:
        self.done += n
        part = self.done / self.total if self.total else 1.0
        sys.stderr.write(f"\rresplit: {part:4.0%}")
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\n")


def _make_bar() -> Any:
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        return _Line()
    return tqdm(total=0, unit="B", unit_scale=True, desc="resplit")


class Reporter:
    """Tells one receiver of several runs as if they were one: bytes before, bytes in all."""

    def __init__(self, progress: Progress) -> None:
        self.own = progress is True
        nobody = progress is None or progress is False  # a bar of nothing is not true
        self.receiver: Any = _make_bar() if self.own else None if nobody else progress
        self.is_bar = isinstance(self.receiver, Bar)
        self.told = self.before = 0
        self.total: int | None = None

    def __enter__(self) -> Reporter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.own:
            self.receiver.close()

    def next(self, done: int) -> None:
        """So many bytes are done by runs that have ended."""
        self.before = done

    def report(self, done: int, total: int, memory: int) -> None:
        done += self.before
        total = self.total if self.total is not None else total
        if self.is_bar:
            self.receiver.total = total
            self.receiver.update(done - self.told)
        else:
            self.receiver(done, total)
        self.told = done

    @property
    def callback(self) -> Callable[[int, int, int], object] | None:
        return self.report if self.receiver is not None else None
