# SPDX-License-Identifier: BSD-3-Clause
"""Options of everything that reads or writes data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ._progress import Progress, Reporter

_Core = tuple[Any, "str | None", "str | None", "str | None", int, bool]


@dataclass(frozen=True)
class RunOptions:
    """As the core takes them."""

    reporter: Reporter | None = None
    io: str | None = None
    direct: str | None = None
    sync: str | None = None
    threads: int = 0
    resume: bool = False

    def core(self) -> _Core:
        callback = self.reporter.callback if self.reporter is not None else None
        return (callback, self.io, self.direct, self.sync, self.threads, self.resume)


@contextmanager
def run_options(
    progress: Progress = None,
    *,
    io: str | None = None,
    direct: str | bool | None = None,
    sync: str | None = None,
    threads: int | None = None,
    resume: bool = False,
) -> Iterator[RunOptions]:
    """Options from a user, while their progress bar is open."""
    if threads is not None and threads < 1:
        raise ValueError(f"threads cannot be {threads}: give at least 1, or None to leave it to resplit")
    if isinstance(direct, bool):
        direct = "on" if direct else "off"
    with Reporter(progress) as reporter:
        yield RunOptions(reporter, io, direct, sync, threads or 0, resume)
