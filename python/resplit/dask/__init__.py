# SPDX-License-Identifier: BSD-3-Clause
"""Dask arrays that are stored and loaded by resplit.

:func:`open` and :func:`store` are what ``dask.array.from_zarr`` and ``to_zarr`` are, for all formats and inside a
memory budget; ``with`` :func:`optimize` does the same for programs that use Dask's own functions.
"""

from ._hook import optimize, self_test
from ._log import Stats, explain, reset_stats, stats
from ._store import open, store  # noqa: A004

__all__ = ["Stats", "explain", "open", "optimize", "reset_stats", "self_test", "stats", "store"]
