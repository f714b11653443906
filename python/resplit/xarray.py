# SPDX-License-Identifier: BSD-3-Clause
"""xarray datasets that are stored by resplit.

``ds.chunk(...).to_zarr(...)`` of data that come from files ends in a store of Dask arrays. :func:`register` has
those stores go through :func:`resplit.dask.optimize`; values that xarray decodes or computes are left to Dask, as ever.
"""

from __future__ import annotations

from typing import Any

from xarray.namedarray import parallelcompat
from xarray.namedarray.daskmanager import DaskManager

from ._words import Memory
from .dask import optimize
from .dask._move import memory_of

__all__ = ["register", "unregister"]


class Manager(DaskManager):  # type: ignore[type-arg, misc, unused-ignore]
    """xarray's own way to Dask, but for stores."""

    def __init__(self, memory: int) -> None:
        super().__init__()
        self.memory = memory

    def store(self, sources: Any, targets: Any, **options: Any) -> Any:
        with optimize(self.memory):
            return super().store(sources, targets, **options)


def register(memory: Memory | None = None) -> None:
    """Has xarray store chunked arrays through resplit, from now on, in this process.

    Parameters
    ----------
    memory : int or str, optional
        The budget of the engine. Half of what is available now without.

    Examples
    --------
    >>> import xarray, resplit.xarray  # doctest: +SKIP
    >>> resplit.xarray.register(memory="1GiB")  # doctest: +SKIP
    >>> maps = xarray.open_zarr("maps.zarr").drop_encoding()  # doctest: +SKIP
    >>> maps.chunk(time=-1, x=16, y=16).to_zarr("series.zarr")  # doctest: +SKIP
    """
    _managers()["dask"] = Manager(memory_of(memory))


def unregister() -> None:
    """Has xarray store as it did before."""
    _managers()["dask"] = DaskManager()


def _managers() -> dict[str, Any]:
    """The table in which xarray looks: made once, and kept. There can be only one that knows arrays of Dask."""
    found = parallelcompat.list_chunkmanagers()
    if found is not parallelcompat.list_chunkmanagers() or "dask" not in found:
        raise RuntimeError("this xarray has no table of chunk managers: use 'with resplit.dask.optimize():' instead")
    return found  # type: ignore[return-value, unused-ignore]
