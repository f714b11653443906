# SPDX-License-Identifier: BSD-3-Clause
"""The frame of property tests: so many examples, each in a folder of its own; 2000 with RESPLIT_FULL=1, RESPLIT_SEED for others."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from recovery import FULL, SEED

UNCHECKED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def reals(lo, hi, width=64):
    return st.floats(lo, hi, allow_nan=False, width=width)


def examples(n):
    """A test of (run, folder, data): what it draws from data is one of n examples."""

    def frame(one):
        @pytest.mark.timeout(3600 if FULL else 300)
        @pytest.mark.filterwarnings("ignore")
        @seed(SEED)
        @settings(max_examples=2000 if FULL else n, deadline=None, database=None, suppress_health_check=UNCHECKED)
        @given(data=st.data())
        def test(run, tmp_path, data):
            run.folder = Path(tempfile.mkdtemp(dir=tmp_path))
            try:
                one(run, run.folder, data)
            finally:
                shutil.rmtree(run.folder)

        test.__name__, test.__doc__ = one.__name__, one.__doc__
        return test

    return frame
