# SPDX-License-Identifier: BSD-3-Clause
"""What docs/python.md, the README and the manuals of functions show is what happens."""

import doctest
import importlib
import re

import numpy as np
import pytest
import zarr

import resplit
from conftest import ROOT

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.fixture(autouse=True)
def samples(tmp_path, monkeypatch):
    """Files that the examples speak of."""
    monkeypatch.chdir(tmp_path)
    group = zarr.open_group("climate.zarr", mode="w")
    group.attrs["title"] = "climate"
    group.create_array("t", shape=(365, 20, 20), chunks=(1, 20, 20), dtype="f4", dimension_names=["time", "y", "x"])[...] = 1
    group.create_array("lat", shape=(20,), dtype="f4")[...] = 2
    np.save("brain.npy", np.arange(40 * 30 * 20, dtype="i2").reshape(40, 30, 20))


def run(test):
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    said = []
    runner.run(test, out=said.append)
    assert test.examples and runner.failures == 0, "".join(said)


@pytest.mark.parametrize("document", ["docs/python.md", "README.md"])
def test_documents(document):
    text = "\n".join(re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(), re.S))
    run(doctest.DocTestParser().get_doctest(text, {}, document, document, 0))


@pytest.mark.parametrize("name", ["open", "resplit", "plan"])
def test_manuals(name):
    run(doctest.DocTestFinder().find(getattr(resplit, name), name, globs={})[0])


def test_everything_has_a_manual():
    for name in resplit.__all__:
        thing = getattr(resplit, name)
        if callable(thing):
            assert thing.__doc__ and not thing.__doc__.startswith(f"{name}("), name
    for name in ("rechunker", "_api", "_array", "_plan", "_group"):
        assert importlib.import_module(f"resplit.{name}").__doc__


def test_manuals_name_every_parameter():
    """Of the functions that list them."""
    import inspect

    for function in (resplit.open, resplit.resplit, resplit.plan, resplit.verify, resplit.describe, resplit.Array.read):
        parameters = set(inspect.signature(function).parameters) - {"self"}
        listed = set(re.findall(r"\w+", re.split(r"Returns\n|\Z", function.__doc__.split("Parameters")[1])[0]))
        assert parameters <= listed, (function, parameters - listed)
