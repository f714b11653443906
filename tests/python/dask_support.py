# SPDX-License-Identifier: BSD-3-Clause
"""What the tests with Dask share."""

import os
import warnings

import numpy as np
import pytest

import dask
import resplit.dask

MEMORY = "64MiB"


def sample(shape, dtype="<f4", seed=0):
    """Noise of all bits, but for NaN, which would be unequal to itself."""
    generator = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return generator.standard_normal(shape).astype(dtype)
    return generator.integers(0, 256, (*shape, dtype.itemsize), dtype="u1").view(dtype).reshape(shape)


def taken_over(call, runs=1):
    """Calls it with the hook, and makes sure that the engine did all that was stored."""
    resplit.dask.reset_stats()
    with resplit.dask.optimize(memory=MEMORY), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Consolidated metadata")
        call()
    stats = resplit.dask.stats()
    assert (stats.taken, stats.left, stats.runs) == (runs, 0, runs), resplit.dask.explain()
    no_remains()


def left_alone(call, why):
    """The same for what Dask has to do itself."""
    resplit.dask.reset_stats()
    with resplit.dask.optimize(memory=MEMORY):
        call()
    stats = resplit.dask.stats()
    assert stats.taken == stats.runs == 0 and stats.left >= 1, resplit.dask.explain()
    assert why in resplit.dask.explain()[-1], resplit.dask.explain()
    no_remains()


def no_remains():
    """No temporary folder is left, here or below."""
    found = [name for _, folders, files in os.walk(".") for name in folders + files if "resplit-" in name]
    assert not found


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with dask.config.set(scheduler="threads"):
        yield tmp_path
