# SPDX-License-Identifier: BSD-3-Clause
"""Are two arrays the same?"""

from __future__ import annotations

from dataclasses import dataclass

from . import _core, _words
from ._options import run_options
from ._progress import Progress
from ._sources import Source, as_array
from ._words import Memory


@dataclass(frozen=True)
class Difference:
    """What :func:`verify` found. It is true when the arrays are equal."""

    equal: bool
    n_different: int
    index: tuple[int, ...]

    def __bool__(self) -> bool:
        return self.equal


def verify(
    a: Source,
    b: Source,
    *,
    memory: Memory | None = None,
    threads: int | None = None,
    io: str | None = None,
    direct: str | bool | None = None,
    progress: Progress = None,
) -> Difference:
    """Do two arrays hold the same values, whatever their blocks, formats, orders and byte orders?

    Values are equal when their bits are: NaN equals the same NaN, 0.0 differs from -0.0.

    Parameters
    ----------
    a, b
        As `src` in :func:`resplit`. Of unequal shape or type they are an error.
    memory, threads, io, direct, progress
        As in :func:`resplit`.

    Returns
    -------
    Difference
        ``equal``, ``n_different`` elements, and the ``index`` of one of them.
    """
    with run_options(progress, io=io, direct=direct, threads=threads) as options:
        found = _core.verify(as_array(a)._handle, as_array(b)._handle, _words.memory_or_default(memory), options.core())
    return Difference(*found)


def fingerprint(
    src: Source,
    *,
    memory: Memory | None = None,
    threads: int | None = None,
    io: str | None = None,
    direct: str | bool | None = None,
    progress: Progress = None,
) -> str:
    """16 digits for the values of an array: the same for the same values, shape and type, whatever the layout.

    Reads everything once. The parameters are those of :func:`verify`.
    """
    with run_options(progress, io=io, direct=direct, threads=threads) as options:
        found = _core.fingerprint(as_array(src)._handle, _words.memory_or_default(memory), options.core())
    return f"{found:016x}"
