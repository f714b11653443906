# SPDX-License-Identifier: BSD-3-Clause
"""What can go wrong, as classes; each is also the class of Python that it is most like."""

from __future__ import annotations

import errno as _errno

HINT = "what is done is kept: go on by the same call with resume=True"


class ResplitError(Exception):
    """Anything that the library refuses, or fails in.

    Attributes
    ----------
    code : str
        The name of the status in C: ``"EINVAL"``, ``"EBUDGET"``, ...
    errno : int or None
        Of the system call that failed, if one did.
    resumable : bool
        A run failed, and what it had done is kept: the same call with ``resume=True`` goes on there.
    """

    code: str = "EINTERNAL"
    errno: int | None = None
    resumable: bool = False


class InvalidError(ResplitError, ValueError):
    """An argument is wrong."""

    code = "EINVAL"


class NoMemoryError(ResplitError, MemoryError):
    """The system has no memory left."""

    code = "ENOMEM"


class BudgetError(ResplitError, MemoryError):
    """No plan fits the memory budget; `needed` bytes would do, and one byte less would not."""

    code = "EBUDGET"
    needed: int = 0


class FormatError(ResplitError, ValueError):
    """What is on disk is not what it should be."""

    code = "EFORMAT"


class UnsupportedError(ResplitError, NotImplementedError):
    """Valid, but not something that this build can handle."""

    code = "EUNSUPPORTED"


class SystemFailure(ResplitError, OSError):
    """The system refused; `errno` says why."""

    code = "EIO"


class MissingError(SystemFailure, FileNotFoundError):
    """There is no such file."""


class DeniedError(SystemFailure, PermissionError):
    """The system does not permit it."""


class ExistsError(ResplitError, FileExistsError):
    """The target is there already, or another run is at work on it."""

    code = "EEXISTS"


class Canceled(ResplitError):
    """For progress callbacks to raise: it stops a run, and says whether that can be gone on with."""

    code = "ECANCELED"


class InternalError(ResplitError, RuntimeError):
    """A bug in resplit."""


_CLASSES: dict[str, type[ResplitError]] = {
    cls.code: cls
    for cls in (
        InvalidError,
        NoMemoryError,
        BudgetError,
        FormatError,
        UnsupportedError,
        SystemFailure,
        ExistsError,
        Canceled,
        InternalError,
    )
}
_SYSTEM: dict[int, type[SystemFailure]] = {
    _errno.ENOENT: MissingError,
    _errno.ENOTDIR: MissingError,
    _errno.EACCES: DeniedError,
    _errno.EPERM: DeniedError,
}

# The library speaks of the command's options.
_WORDS = {
    "--resume": "resume=True",
    "--overwrite": "overwrite=True",
    "--temp": "temp=",
    "--chunks": "chunks=",
    "--shape": "shape=",
    "--dtype": "dtype=",
}


def from_core(code: str, message: str, errno: int, needed: int, resumable: bool) -> ResplitError:
    """The exception for an error of the C library, which calls this."""
    cls = _SYSTEM.get(errno, SystemFailure) if code == "EIO" else _CLASSES.get(code, InternalError)
    for option, argument in _WORDS.items():
        message = message.replace("without " + option, "without " + argument.rstrip("=")).replace(option, argument)
    error = cls(f"{message}; {HINT}" if resumable else message)
    error.code = code
    error.errno = errno or None
    error.resumable = resumable
    if isinstance(error, BudgetError):
        error.needed = needed
    return error


def mark(error: BaseException, resumable: bool) -> None:
    """Tells whoever stopped a run, Ctrl-C for one, what is left of it. The extension module calls this."""
    if resumable:
        error.add_note(HINT)
    try:
        error.resumable = resumable  # type: ignore[attr-defined]
    except AttributeError:
        pass
