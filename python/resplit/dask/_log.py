# SPDX-License-Identifier: BSD-3-Clause
"""What became of stores that were seen: counted, remembered and logged."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

logger = logging.getLogger("resplit.dask")


@dataclass(frozen=True)
class Stats:
    """Counts of this process, since it began or :func:`resplit.dask.reset_stats`.

    Attributes
    ----------
    taken, left : int
        Stores that were recognised and that were left to Dask.
    runs : int
        Of the engine, that are complete.
    bytes : int
        That these runs stored.
    """

    taken: int = 0
    left: int = 0
    runs: int = 0
    bytes: int = 0


_lock = threading.Lock()
_stats = Stats()
_decisions: deque[str] = deque(maxlen=100)
_trial = threading.local()  # of a thread that tries something: its decisions


def stats() -> Stats:
    """How many stores were taken over, and how many were left to Dask.

    Examples
    --------
    >>> import resplit.dask
    >>> resplit.dask.stats().runs
    0
    """
    return _stats


def reset_stats() -> None:
    """Counts from 0 again, and forgets why."""
    global _stats
    with _lock:
        _stats = Stats()
        _decisions.clear()


def explain() -> list[str]:
    """What became of the last stores that were seen, and why: one sentence each, the last one last."""
    return list(_decisions)


def add(**counts: int) -> None:
    global _stats
    if getattr(_trial, "taken", None) is not None:
        return
    with _lock:
        _stats = replace(_stats, **{name: getattr(_stats, name) + n for name, n in counts.items()})


def decide(taken: bool, sentence: str) -> None:
    trial: list[bool] | None = getattr(_trial, "taken", None)
    if trial is not None:
        trial.append(taken)
        return
    with _lock:
        _decisions.append(sentence)
    add(taken=int(taken), left=int(not taken))
    logger.log(logging.INFO if taken else logging.DEBUG, sentence)


@contextmanager
def trial() -> Iterator[list[bool]]:
    """What this thread does is not counted; gives its decisions."""
    _trial.taken = []
    try:
        yield _trial.taken
    finally:
        _trial.taken = None
