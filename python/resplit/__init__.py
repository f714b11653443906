# SPDX-License-Identifier: BSD-3-Clause
"""Split, merge and resplit (rechunk) N-dimensional arrays that are larger than memory, inside a memory budget.

    >>> import resplit
    >>> resplit.resplit("maps.zarr", "series.zarr", chunks=(8760, 16, 16), memory="1GiB")  # doctest: +SKIP
    >>> resplit.open("series.zarr")[:, 3, 5]  # doctest: +SKIP

:func:`resplit` does it, :func:`plan` tells what it would cost, :func:`open` reads any of it.
"""

from ._api import extract, merge, open, open_group, plan, resplit, split
from ._array import Array, describe
from ._compare import Difference, fingerprint, verify
from ._core import codecs, devices, formats, memory_available, strategies
from ._core import version as __version__
from ._errors import (
    BudgetError,
    Canceled,
    DeniedError,
    ExistsError,
    FormatError,
    InternalError,
    InvalidError,
    MissingError,
    NoMemoryError,
    ResplitError,
    SystemFailure,
    UnsupportedError,
)
from ._group import Group
from ._plan import Cost, Device, Losses, Plan, Result, load_plan
from ._words import parse_bytes

__all__ = [
    "Array",
    "BudgetError",
    "Canceled",
    "Cost",
    "DeniedError",
    "Device",
    "Difference",
    "ExistsError",
    "FormatError",
    "Group",
    "InternalError",
    "InvalidError",
    "Losses",
    "MissingError",
    "NoMemoryError",
    "Plan",
    "ResplitError",
    "Result",
    "SystemFailure",
    "UnsupportedError",
    "__version__",
    "codecs",
    "describe",
    "devices",
    "extract",
    "fingerprint",
    "formats",
    "load_plan",
    "memory_available",
    "merge",
    "open",
    "open_group",
    "parse_bytes",
    "plan",
    "resplit",
    "split",
    "strategies",
    "verify",
]
