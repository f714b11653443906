# SPDX-License-Identifier: BSD-3-Clause
"""Zarr groups through the Python package, read by zarr-python."""

import os

import numpy as np
import pytest
import zarr

import resplit
from conftest import sample

QUICK = {"memory": "32MiB", "sync": "none"}
ARRAYS = {"t": (24, 8, 10), "deep/u": (24, 8, 10), "lat": (8,), "deep/er/lon": (10,)}


@pytest.fixture(params=[2, 3])
def group(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = zarr.open_group("in.zarr", mode="w", zarr_format=request.param)
    made.attrs["title"] = "sample"
    for i, (name, shape) in enumerate(ARRAYS.items()):
        array = made.create_array(name, shape=shape, chunks=(1, *shape[1:]), dtype="f4")
        array[...] = sample(shape, "f4", seed=i)
        array.attrs["number"] = i
    return made


def check(path, chunks):
    made = zarr.open_group(path, mode="r")
    assert dict(made.attrs) == {"title": "sample"}
    for i, (name, shape) in enumerate(ARRAYS.items()):
        array = made[name]
        assert array[...].tobytes() == sample(shape, "f4", seed=i).tobytes()
        assert array.chunks == chunks[name] and dict(array.attrs) == {"number": i}
    return made


OLD = {name: (1, *shape[1:]) for name, shape in ARRAYS.items()}


def test_a_group_is_a_mapping(group):
    opened = resplit.open_group("in.zarr")
    assert sorted(opened) == sorted(ARRAYS) and len(opened) == 4 and opened.attrs == {"title": "sample"}
    assert opened["deep/u"].attrs == {"number": 1} and "lat" in opened and "nothing" not in opened
    assert np.array_equal(opened["lat"][...], group["lat"][...], equal_nan=True)
    assert repr(opened).startswith("<resplit.Group 'in.zarr': ")
    assert sorted(resplit.open_group(group)) == sorted(ARRAYS)
    with pytest.raises(ValueError, match="is a group of arrays"):
        resplit.open("in.zarr")
    with pytest.raises(ValueError, match="no Zarr group"):
        resplit.open_group("in.zarr/lat")


def test_chunks_by_number_of_axes(group):
    done = resplit.resplit("in.zarr", "out.zarr", chunks=(24, 4, 5), **QUICK)
    check("out.zarr", {**OLD, "t": (24, 4, 5), "deep/u": (24, 4, 5)})
    assert set(done.arrays) == set(ARRAYS) and done.cost.bytes_written == sum(r.cost.bytes_written for r in done.arrays.values())
    assert done.cost.peak_bytes == max(r.cost.peak_bytes for r in done.arrays.values()) and done.path == "out.zarr"


def test_chunks_by_name(group):
    resplit.resplit(resplit.open_group("in.zarr"), "out.zarr", chunks={"t": (24, 2, 2), "lat": 4}, **QUICK)
    check("out.zarr", {**OLD, "t": (24, 2, 2), "lat": (4,)})
    with pytest.raises(ValueError, match="no array 'nothing'"):
        resplit.resplit("in.zarr", "other.zarr", chunks={"nothing": 3})


def test_other_versions_and_codecs(group):
    resplit.resplit(group, "out.zarr", format="zarr2", codec="zlib:1", **QUICK)
    made = check("out.zarr", OLD)
    assert made.metadata.zarr_format == 2 and made["t"].compressors[0].codec_id == "zlib"


def test_what_is_about_one_array(group):
    for word in ({"roi": np.s_[:1]}, {"pattern": "{0}.npy"}):
        with pytest.raises(ValueError, match="is about one array"):
            resplit.resplit("in.zarr", "out.zarr", **word)
    with pytest.raises(ValueError, match="as many axes"):
        resplit.resplit("in.zarr", "out.zarr", chunks=(1, 2, 3, 4))
    with pytest.raises(ValueError, match="group"):
        resplit.plan("in.zarr", "out.zarr", chunks=3)
    with pytest.raises(resplit.InvalidError, match="one inside the other"):
        resplit.resplit("in.zarr", "in.zarr/t")
    with pytest.raises(resplit.BudgetError, match="array '"):
        resplit.resplit("in.zarr", "out.zarr", memory="8KiB")
    assert os.listdir(".") == ["in.zarr"]


def test_progress_is_of_all_arrays(group):
    told = []
    resplit.resplit("in.zarr", "out.zarr", chunks={"t": 4}, progress=lambda done, total: told.append((done, total)), **QUICK)
    assert told == sorted(told) and len({total for _, total in told}) == 1 and told[-1][0] == told[-1][1] > 0


def test_stopped_and_resumed(group):
    def stop(done, total):
        if done > 10_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as stopped:
        resplit.resplit("in.zarr", "out.zarr", chunks=(24, 1, 1), threads=1, progress=stop, **QUICK)
    assert not os.path.exists("out.zarr") and stopped.value.resumable
    done = resplit.resplit("in.zarr", "out.zarr", chunks=(24, 1, 1), resume=True, **QUICK)  # while the traceback is alive
    assert done.resumed and set(done.arrays) < set(ARRAYS)
    check("out.zarr", {**OLD, "t": (24, 1, 1), "deep/u": (24, 1, 1)})


def test_levels_of_an_image(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = zarr.open_group("image.zarr", mode="w", zarr_format=2)
    made.attrs["multiscales"] = [{"version": "0.4", "datasets": [{"path": "0"}, {"path": "1"}]}]
    for name, n in (("0", 16), ("1", 8), ("labels/0", 16)):
        made.create_array(name, shape=(n, n), chunks=(4, 4), dtype="u1")[...] = sample((n, n), "u1")
    resplit.resplit("image.zarr", "out.zarr", chunks=(8, 8), all_levels=True, **QUICK)
    out = zarr.open_group("out.zarr")
    assert [out[name].chunks for name in ("0", "1", "labels/0")] == [(8, 8), (8, 8), (4, 4)]
    assert all((out[n][...] == made[n][...]).all() for n in ("0", "1", "labels/0")) and dict(out.attrs) == dict(made.attrs)
    with pytest.raises(ValueError, match="all_levels"):
        resplit.resplit("image.zarr/0", "x.zarr", all_levels=True)
