# SPDX-License-Identifier: BSD-3-Clause
"""Datasets of any shape, type, byte order, grid and filters, to any other: stored values and attributes stay the same."""

import h5py
import numpy as np
from hypothesis import note
from hypothesis import strategies as st

from conftest import sample, written
from hdf5_support import FILTERS, MEMORY, TYPES, attributes, h5dump, read, same_stored
from property_support import examples

CODECS = ["none", "zlib:1", "gzip:6", "shuffle+zlib:2", "shuffle+zlib:1+fletcher32", "fletcher32"]


def chunks_of(draw, shape, most):
    return tuple(draw(st.integers(1, max(1, n if m is not None else n + 3))) for n, m in zip(shape, most))


@st.composite
def datasets(draw):
    """(values, options of create_dataset, of the file)"""
    shape = tuple(draw(st.lists(st.integers(0, 9), min_size=0, max_size=4)))
    dtype = np.dtype(draw(st.sampled_from(TYPES)))
    values = sample(shape, dtype, seed=draw(st.integers(0, 99)))
    options = {}
    if shape and draw(st.booleans()):
        most = tuple(draw(st.sampled_from([None, n, n + 5])) or None for n in shape)
        options = {"maxshape": most, "chunks": chunks_of(draw, [max(n, 1) for n in shape], most)}
        options.update(FILTERS[draw(st.sampled_from(sorted(FILTERS)))])
        if dtype.kind in "iuf" and draw(st.booleans()):
            options["fillvalue"] = np.array(draw(st.integers(0, 100))).astype(dtype)[()]
    file = {"libver": draw(st.sampled_from([None, ("earliest", "v108"), ("v110", "v110")])),
            "userblock_size": draw(st.sampled_from([None, None, 512, 2048]))}
    return values, options, file, draw(st.integers(0, 3))


def make(path, values, options, file, n_missing):
    """A dataset, of which the first rows may never have been written; what it then holds."""
    with h5py.File(path, "w", **file) as f:
        f.create_dataset("before", data=np.arange(7))
        d = f.create_dataset("data", shape=values.shape, dtype=values.dtype, **options)
        if values.ndim and n_missing:
            d[n_missing:] = values[n_missing:]
        else:
            d[...] = values
        d.attrs["number"] = np.float32(1.5)
        d.attrs["list"] = np.arange(5, dtype=">i2")
        d.attrs["text"] = np.bytes_("some text")
        f.attrs["of the file"] = 7
        f.create_group("group").attrs["of a group"] = np.arange(3)
        f["group/more"] = np.arange(4.0)
    return read(path)


@examples(100)
def test_any_dataset_to_any_other(run, folder, data):
    values, options, file, n_missing = data.draw(datasets())
    note(f"{values.dtype.str} {values.shape} {options} {file}")
    stored = make(folder / "in.h5", values, options, file, n_missing)
    chunks = tuple(data.draw(st.integers(1, n + 2)) for n in values.shape)
    args = ["--codec", data.draw(st.sampled_from(CODECS))] if values.ndim else []
    args += ["--chunks", written(chunks)] if chunks else []
    run("in.h5:/data", "out.h5", *args, *MEMORY)
    assert same_stored(read(folder / "out.h5"), stored), args
    h5dump(folder / "out.h5")
    with h5py.File(folder / "in.h5") as a, h5py.File(folder / "out.h5") as b:
        assert attributes(a["data"]) == attributes(b["data"])
        assert attributes(a) == attributes(b) and attributes(a["group"]) == attributes(b["group"])
        assert np.array_equal(a["before"], b["before"]) and np.array_equal(a["group/more"], b["group/more"])
        assert b["data"].maxshape == a["data"].maxshape or b["data"].chunks is None
        assert b["data"].fillvalue.tobytes() == a["data"].fillvalue.tobytes()
    run("verify", "in.h5:/data", "out.h5:/data", "--memory", "32MiB")
    # to a grid of files and back
    if values.ndim:
        run("out.h5:/data", "parts", "--format", "npy", "--chunks", written(chunks), *MEMORY)
        run("parts", "back.h5:/data", *MEMORY)
        assert np.array_equal(read(folder / "back.h5").view("u1") if stored.dtype.kind == "V" else
                              read(folder / "back.h5").tobytes(),
                              stored.view("u1") if stored.dtype.kind == "V" else stored.tobytes())
