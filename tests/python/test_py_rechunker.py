# SPDX-License-Identifier: BSD-3-Clause
"""resplit.rechunker, by what users of the package rechunker expect of that call. Arrays are made and read by zarr-python and xarray."""

import os

import numpy as np
import pytest
import xarray as xr
import zarr
from numcodecs import Blosc, GZip
from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec
from zarr.storage import FsspecStore, LocalStore, MemoryStore

import resplit
from conftest import sample
from resplit.rechunker import Rechunked, rechunk

pytestmark = pytest.mark.filterwarnings("ignore")
MEMORY = "25.6MB"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(params=[2, 3])
def version(request):
    return request.param


def make_array(version, shape=(80, 60), chunks=(2, 60), names=None, path="source.zarr", **options):
    named = {"dimension_names": names} if version == 3 and names else {}
    array = zarr.create_array(path, shape=shape, chunks=chunks, dtype="f4", zarr_format=version, **named, **options)
    array[...] = sample(shape, "f4")
    array.attrs["foo"] = "bar"
    if version == 2 and names:
        array.attrs["_ARRAY_DIMENSIONS"] = names
    return array


def check(result, source, chunks):
    assert isinstance(result, zarr.Array) and result.chunks == chunks and dict(result.attrs) == dict(source.attrs)
    assert result[...].tobytes() == source[...].tobytes() and result.metadata.zarr_format == source.metadata.zarr_format


# ---- Arrays --------------------------------------------------------------------------------------


@pytest.mark.parametrize("names, wanted, chunks", [
    (None, (80, 3), (80, 3)), (None, (-1, 3), (80, 3)), (None, (1000, 7), (80, 7)), (None, None, (2, 60)),
    (["y", "x"], (80, 3), (80, 3)), (["y", "x"], {"y": 80, "x": 3}, (80, 3)), (["y", "x"], {"x": 3}, (2, 3)),
    (["y", "x"], {"y": -1, "x": 9999}, (80, 60))], ids=str)
def test_an_array(version, names, wanted, chunks):
    source = make_array(version, names=names)
    planned = rechunk(source, wanted, MEMORY, "target.zarr", temp_store="temp.zarr")
    assert isinstance(planned, Rechunked) and os.listdir(".") == ["source.zarr"]
    check(planned.execute(), source, chunks)
    assert sorted(os.listdir(".")) == ["source.zarr", "target.zarr"]


@pytest.mark.parametrize("wanted, error", [({"y": 8, "x": 3}, "names none"), ((1, 2, 3), "longer|shorter")])
def test_chunks_that_fit_no_axis(version, wanted, error):
    with pytest.raises(ValueError, match=error):
        rechunk(make_array(version), wanted, MEMORY, "target.zarr")


def test_an_axis_that_is_not_there(version):
    with pytest.raises(KeyError, match="'z'; there are y, x"):
        rechunk(make_array(version, names=["y", "x"]), {"z": 1}, MEMORY, "target.zarr")


@pytest.mark.parametrize("store", [lambda: "t.zarr", lambda: LocalStore("t.zarr"), lambda: FsspecStore.from_url("file://" + os.path.abspath("t.zarr")),
                                   lambda: "file://" + os.path.abspath("t.zarr")], ids=["path", "local", "fsspec", "url"])
def test_stores(version, store):
    source = make_array(version)
    rechunk(source, (80, 3), MEMORY, store()).execute()
    check(zarr.open_array("t.zarr"), source, (80, 3))


def test_into_a_group(version):
    source = make_array(version)
    group = zarr.open_group("group.zarr", mode="w", zarr_format=version)
    with pytest.raises(ValueError, match="without a name for the array"):
        rechunk(source, (80, 3), MEMORY, group)
    result = rechunk(source, (80, 3), MEMORY, group, array_name="made").execute()
    check(result, source, (80, 3))
    check(zarr.open_group("group.zarr")["made"], source, (80, 3))


@pytest.mark.parametrize("store", [lambda: "s3://bucket/target.zarr", MemoryStore], ids=["url", "memory"])
def test_stores_that_are_no_folders(version, store):
    with pytest.raises(ValueError, match="local file system"):
        rechunk(make_array(version), (80, 3), MEMORY, store())
    with pytest.raises(ValueError, match="local file system"):
        rechunk(zarr.create_array(MemoryStore(), shape=(3,), dtype="i2"), (1,), MEMORY, "target.zarr")


@pytest.mark.parametrize("source", [[[1, 2], [3, 4]], np.zeros((3, 3)), "source.zarr"], ids=str)
def test_sources_that_are_none(source):
    with pytest.raises(ValueError, match="Source must be a Zarr Array"):
        rechunk(source, (10, 10), MEMORY, "target.zarr")


def test_memory_is_kept(version):
    """Where rechunker would go through a store: 6.4 MB of rows to columns, in half of that."""
    source = make_array(version, (2000, 800), (20, 800))
    planned = rechunk(source, (2000, 8), 3_000_000, "target.zarr")
    assert planned.plan.memory == 3_000_000 and planned.plan.peak_bytes <= 3_000_000
    check(planned.execute(threads=2), source, (2000, 8))
    with pytest.raises(resplit.BudgetError) as refused:
        rechunk(source, (2000, 8), 1600, "other.zarr")
    assert refused.value.needed > 1600


@pytest.mark.parametrize("given, memory", [(25600000, 25600000), ("25.6MB", 25600000), ("25M", 25000000), ("1GiB", 1 << 30), ("2G", 2 * 10**9)])
def test_words_for_memory(given, memory):
    assert rechunk(make_array(3), None, given, "target.zarr").plan.memory == memory


def test_names_of_executors(version):
    source = make_array(version)
    with pytest.raises(ValueError, match="unrecognized executor"):
        rechunk(source, None, MEMORY, "target.zarr", executor="unknown")
    for name in ("dask", "python"):
        check(rechunk(source, None, MEMORY, f"{name}.zarr", executor=name).execute(scheduler="threads"), source, (2, 60))


def test_interrupted_and_resumed(version):
    source = make_array(version, (400, 600), (1, 600), compressors=None)

    def stop(done, total):
        if done > 0:
            raise KeyboardInterrupt

    planned = rechunk(source, (1, 100), "1MB", "target.zarr")
    with pytest.raises(KeyboardInterrupt):
        planned.execute(progress=stop, threads=1)
    check(rechunk(source, (1, 100), "1MB", "target.zarr").execute(resume=True), source, (1, 100))


# ---- Options -------------------------------------------------------------------------------------


def test_overwriting(version):
    source = make_array(version)
    rechunk(source, (80, 3), MEMORY, "target.zarr").execute()
    with pytest.raises(FileExistsError, match="path .* contains an array"):
        rechunk(source, (80, 5), MEMORY, "target.zarr")
    check(rechunk(source, (80, 5), MEMORY, "target.zarr", target_options={"overwrite": True}).execute(), source, (80, 5))


@pytest.mark.parametrize("made, options", [
    (2, {"compressor": Blosc("zstd", 9, Blosc.BITSHUFFLE)}), (2, {"compressor": GZip(3)}), (2, {"compressor": None}),
    (2, {"compressor": Blosc("lz4", 5, Blosc.NOSHUFFLE), "filters": None}),
    (3, {"compressors": [BloscCodec(cname="zstd", clevel=9, shuffle="bitshuffle")]}), (3, {"compressors": ZstdCodec(level=5)}),
    (3, {"compressors": GzipCodec(level=1)}), (3, {"compressors": None})], ids=str)
def test_codecs(made, options):
    source = make_array(made)
    result = rechunk(source, (80, 3), MEMORY, "target.zarr", target_options=options).execute()
    check(result, source, (80, 3))
    wanted = next(options[k] for k in ("compressor", "compressors") if k in options)
    wanted = wanted if isinstance(wanted, list) else [] if wanted is None else [wanted]
    assert [settings(c) for c in result.compressors] == [settings(c) for c in wanted]


def settings(codec):
    """What a codec was told, but for what it can find out itself."""
    told = codec.to_dict()["configuration"] if hasattr(codec, "to_dict") else codec.get_config()
    return type(codec), {k: v for k, v in told.items() if k not in ("typesize", "blocksize", "checksum")}


def test_order_and_empty_chunks():
    source = make_array(2)
    source[...] = 0
    result = rechunk(source, (8, 6), MEMORY, "target.zarr", target_options={"order": "F", "write_empty_chunks": True}).execute()
    assert result.order == "F" and len([f for f in os.listdir("target.zarr") if not f.startswith(".")]) == 100


@pytest.mark.parametrize("option", ["shape", "chunks", "dtype", "store", "name", "unknown"])
def test_options_that_are_none(version, option):
    source = make_array(version)
    for which in ("target_options", "temp_options"):
        with pytest.raises(ValueError, match=f"Zarr options must not include {option}"):
            rechunk(source, (80, 3), MEMORY, "target.zarr", **{which: {option: True}})


# ---- Groups --------------------------------------------------------------------------------------


@pytest.fixture
def group(version):
    made = zarr.open_group("source.zarr", mode="w", zarr_format=version)
    made.attrs["description"] = "root"
    for path in ("foo", "foo/bar", "foo/bar/baz", "alone"):
        made.require_group(path).attrs["description"] = path
    for name, shape, chunks in (("a", (5, 10, 20), (1, 10, 20)), ("foo/bar/baz/b", (20,), (10,)), ("foo/other", (4,), (2,))):
        array = made.create_array(name, shape=shape, chunks=chunks, dtype="f4")
        array[...] = sample(shape, "f4")
        array.attrs["description"] = name
    return made


def test_a_group(group):
    chunks = {"a": (5, 10, 4), "foo/bar/baz/b": (20,)}
    planned = rechunk(group, chunks, "1MB", "target.zarr", temp_store="temp.zarr")
    assert set(planned.plan) == set(chunks) and not os.path.exists("target.zarr")
    result = planned.execute()
    assert isinstance(result, zarr.Group) and result.metadata.zarr_format == group.metadata.zarr_format
    assert dict(result.attrs) == dict(group.attrs)
    for path in ("foo", "foo/bar", "foo/bar/baz", "alone", *chunks):
        assert result[path].attrs["description"] == path
    for name, wanted in chunks.items():
        assert result[name].chunks == wanted and result[name][...].tobytes() == group[name][...].tobytes()
    assert "foo/other" not in result, "what is not named is left out"


def test_options_of_a_group(group):
    options = {"a": {"order": "F"} if group.metadata.zarr_format == 2 else {"compressors": None}}
    result = rechunk(group, {"a": None, "foo/other": None}, "1MB", "target.zarr", target_options=options).execute()
    assert result["a"].order == "F" if group.metadata.zarr_format == 2 else result["a"].compressors == ()
    with pytest.raises(ValueError, match="Zarr options must not include shape"):
        rechunk(group, {"a": None}, "1MB", "other.zarr", target_options={"a": {"shape": 3}})
    with pytest.raises(FileExistsError):
        rechunk(group, {"a": (1, 1, 1)}, "1MB", "target.zarr")
    again = rechunk(group, {"a": (5, 5, 5)}, "1MB", "target.zarr", target_options={"a": {"overwrite": True}}).execute()
    assert again["a"].chunks == (5, 5, 5) and again["foo/other"].chunks == (2,)


def test_what_a_group_is_not(group):
    with pytest.raises(ValueError, match="You must specify ``target-chunks`` as a dict"):
        rechunk(group, (10, 10), "1MB", "target.zarr")
    with pytest.raises(ValueError, match="Can't specify `array_name`"):
        rechunk(group, {"a": None}, "1MB", "target.zarr", array_name="a")
    with pytest.raises(KeyError):
        rechunk(group, {"nothing": None}, "1MB", "target.zarr")


# ---- Datasets ------------------------------------------------------------------------------------


def make_dataset(shape=(100, 50)):
    values = np.arange(np.prod(shape)).reshape(shape).astype("f4")
    values[-1] = np.nan
    return xr.Dataset({"a": (("x", "y"), values, {"a1": 1, "a2": [1, 2, 3], "a3": "x"}), "b": ("x", np.ones(shape[0])),
                       "c": ("y", np.ones(shape[1]))},
                      coords={"cx": ("x", np.arange(shape[0], dtype="f8")), "time": ("y", np.arange(0, shape[1]).astype("M8[D]"))},
                      attrs={"a1": 1, "a2": [1, 2, 3], "a3": "x"})


ENCODING = {"a": {"dtype": "int32", "scale_factor": 0.1, "_FillValue": -9999}}


@pytest.mark.parametrize("wanted", [{"a": (20, 10), "b": (20,)}, {"a": {"x": 20, "y": 10}, "b": {"x": 20}}], ids=["tuples", "names"])
def test_a_dataset(wanted):
    dataset = make_dataset().chunk({"x": 10, "y": 50})
    result = rechunk(dataset, wanted, "10MB", "target.zarr", target_options=ENCODING, temp_store="temp.zarr").execute()
    assert isinstance(result, zarr.Group) and os.listdir(".") == ["target.zarr"]
    raw = xr.open_zarr("target.zarr", decode_cf=False, consolidated=False)
    assert raw.a.dtype == "int32" and (raw.a.values[-1] == -9999).all()
    read = xr.open_zarr("target.zarr", consolidated=False)
    assert read.a.data.chunksize == (20, 10) and read.b.data.chunksize == (20,) and read.c.data.chunksize == (50,)
    xr.testing.assert_allclose(dataset.compute(), read.compute())
    assert read.attrs == dataset.attrs and read.a.attrs == dataset.a.attrs


@pytest.mark.parametrize("chunked", [(10, 50), (100, 5), None])
@pytest.mark.parametrize("wanted, y", [({"x": 20}, None), ({"x": 20, "y": 100_000}, 50), ({"x": 20, "y": -1}, 50), ({"x": 20, "y": 7}, 7)])
def test_a_dataset_by_axes(chunked, wanted, y):
    dataset = make_dataset()
    if chunked:
        dataset = dataset.chunk(dict(zip("xy", chunked)))
    rechunk(dataset, wanted, "10MB", "target.zarr").execute()
    read = xr.open_zarr("target.zarr", consolidated=False)
    y = y or (chunked[1] if chunked else 50)
    assert read.a.data.chunksize == (20, y) and read.b.data.chunksize == (20,) and read.c.data.chunksize == (y,)
    xr.testing.assert_identical(dataset.compute(), read.compute())


def test_a_dataset_from_a_file():
    dataset = make_dataset()
    dataset.to_netcdf("source.nc", engine="netcdf4")
    with xr.open_dataset("source.nc") as opened:
        rechunk(opened.isel(x=slice(None, None, -1)), {"x": 30, "y": 20}, "1MB", "target.zarr").execute()
    xr.testing.assert_equal(xr.open_zarr("target.zarr", consolidated=False).compute(), dataset.isel(x=slice(None, None, -1)))


def test_what_a_dataset_is_not():
    dataset = make_dataset()
    with pytest.raises(ValueError, match="You must specify ``target-chunks`` as a dict"):
        rechunk(dataset, (10, 10), "10MB", "target.zarr")
    with pytest.raises(ValueError, match="Chunks must be provided in ``target_chunks`` rather than options"):
        rechunk(dataset, {"x": 10}, "10MB", "target.zarr", target_options={"a": {"chunks": 10}})
    with pytest.raises(KeyError, match="no variable 'q'"):
        rechunk(dataset, {"q": (3,)}, "10MB", "target.zarr")
    rechunk(dataset, {"x": 10}, "10MB", "target.zarr").execute()
    with pytest.raises(FileExistsError):
        rechunk(dataset, {"x": 10}, "10MB", "target.zarr")
    with pytest.raises(ValueError, match="stored anew"):
        rechunk(dataset, {"x": 10}, "10MB", "other.zarr").execute(resume=True)
    every = {name: {"overwrite": True} for name in dataset.variables}
    rechunk(dataset, {"x": 50}, "10MB", "target.zarr", target_options=every).execute()
    assert zarr.open_group("target.zarr")["a"].chunks == (50, 50) and os.listdir(".") == ["target.zarr"]


# ---- Showing -------------------------------------------------------------------------------------


def test_how_it_looks(version):
    source = make_array(version, (400, 400), (400, 1))
    planned = rechunk(source, (1, 400), MEMORY, "target.zarr")
    text = repr(planned)
    assert text.startswith("<Rechunked>\n* Source      : ") and "* Target      : <resplit.Array 'target.zarr'" in text
    assert "Intermediate" not in text and "<h2>Rechunked</h2>" in planned._repr_html_() and "<svg" in planned._repr_html_()
    assert "Intermediate" in repr(rechunk(make_dataset(), {"x": 10}, "10MB", "dataset.zarr"))
    assert "Intermediate" not in rechunk(make_array(version, path="other.zarr"), None, MEMORY, "t2.zarr")._repr_html_()
