# SPDX-License-Identifier: BSD-3-Clause
"""The examples of docs/dask.md and of the docstrings, one after the other, as they are printed."""

import doctest
import re
import subprocess
import sys

import numpy as np
import pytest
import resplit.dask._log
import resplit.dask._store
from conftest import ROOT
from dask_support import folder  # noqa: F401


def test_the_document(folder):
    text = (ROOT / "docs" / "dask.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 4
    said = [run(folder, code) for code in ("\n".join(blocks[:3]), blocks[3])]  # workers import the program that starts them
    assert "left to dask, since there is computation: mul" in said[0]
    assert "taken over, (365, 40, 60)" in said[0]


def run(folder, code):
    (folder / "example.py").write_text(code, encoding="utf-8")
    done = subprocess.run([sys.executable, "example.py"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("module", [resplit.dask._log, resplit.dask._store], ids=lambda module: module.__name__)
def test_docstrings(module):
    resplit.dask.reset_stats()
    with np.printoptions(legacy=False):
        found = doctest.testmod(module)
    assert found.attempted and not found.failed
