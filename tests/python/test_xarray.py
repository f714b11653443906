# SPDX-License-Identifier: BSD-3-Clause
"""Datasets of xarray, stored as its users do. The oracle is xarray without us."""

import warnings

import dask
import numpy as np
import pytest
from dask_support import MEMORY, folder, no_remains, sample  # noqa: F401

import resplit.dask
import resplit.xarray
import xarray as xr

warnings.filterwarnings("ignore", message="Consolidated metadata")


@pytest.fixture
def dataset():
    """Times, a variable without and one with missing values, and coordinates."""
    t = sample((24, 12, 10), "f4")
    with_gaps = sample((24, 12, 10), "f8", seed=1)
    with_gaps[3:5] = np.nan
    return xr.Dataset(
        {"t": (("time", "y", "x"), t, {"units": "K"}), "gaps": (("time", "y", "x"), with_gaps), "n": (("y", "x"), sample((12, 10), "i2"))},
        coords={"time": np.arange("2001-01-01", "2001-01-25", dtype="M8[D]").astype("M8[ns]"), "x": np.arange(10.0)},
        attrs={"title": "a sample"},
    )


@pytest.fixture
def registered():
    resplit.xarray.register(memory=MEMORY)
    resplit.dask.reset_stats()
    yield
    resplit.xarray.unregister()


def check(path, expected, runs, consolidated=True):
    """With copies of metadata, which xarray writes before data are stored."""
    stats = resplit.dask.stats()
    assert (stats.taken, stats.runs) == (runs, runs), resplit.dask.explain()
    resplit.xarray.unregister()
    with xr.open_zarr(path, consolidated=consolidated) as found:
        xr.testing.assert_identical(found.load(), expected)
    no_remains()


@pytest.mark.parametrize("version", [2, 3])
def test_from_zarr_to_zarr(dataset, registered, version):
    dataset.to_zarr("in.zarr", zarr_format=version)
    stored = xr.open_zarr("in.zarr").chunk(time=-1, x=5, y=6).drop_encoding()
    stored.to_zarr("out.zarr", zarr_format=version)
    check("out.zarr", dataset, runs=3)


def test_with_encoding(dataset, registered):
    dataset.to_zarr("in.zarr")
    stored = xr.open_zarr("in.zarr").chunk({"time": 8}).drop_encoding()
    stored.to_zarr("out.zarr", encoding={"t": {"chunks": (4, 12, 10)}})
    check("out.zarr", dataset, runs=3)


@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
def test_from_netcdf(dataset, registered, engine):
    dataset.to_netcdf("in.nc", engine=engine, encoding={"t": {"zlib": True, "chunksizes": (5, 6, 10)}})
    with xr.open_dataset("in.nc", engine=engine, chunks={}) as opened:
        opened.chunk(time=-1, x=5).drop_encoding().to_zarr("out.zarr")
    check("out.zarr", dataset, runs=3)


def test_a_selection(dataset, registered):
    dataset.to_zarr("in.zarr")
    xr.open_zarr("in.zarr").isel(time=slice(3, 20), y=5).chunk(time=17, x=4).drop_encoding().to_zarr("out.zarr")
    check("out.zarr", dataset.isel(time=slice(3, 20), y=5), runs=3)


def test_a_selection_before_chunks(dataset, registered):
    """xarray keeps slices to itself until there are chunks."""
    dataset.to_zarr("in.zarr")
    xr.open_dataset("in.zarr", engine="zarr").isel(time=slice(3, 20), y=5).chunk(time=9).drop_encoding().to_zarr("out.zarr")
    check("out.zarr", dataset.isel(time=slice(3, 20), y=5), runs=3)


def test_several_files(dataset, registered):
    dataset[["t"]].isel(time=slice(0, 14)).to_zarr("a.zarr")
    dataset[["t"]].isel(time=slice(14, 24)).to_zarr("b.zarr")
    both = xr.open_mfdataset(["a.zarr", "b.zarr"], engine="zarr", combine="nested", concat_dim="time")
    both.chunk(time=12, x=5).drop_encoding().to_zarr("out.zarr")
    check("out.zarr", dataset[["t"]], runs=1)


def test_appending(dataset, registered):
    dataset[["t"]].isel(time=slice(0, 16)).to_zarr("in.zarr")
    dataset[["t"]].isel(time=slice(16, 24)).to_zarr("more.zarr")
    xr.open_zarr("in.zarr").chunk(time=8).drop_encoding().to_zarr("out.zarr")
    xr.open_zarr("more.zarr").chunk(time=8).drop_encoding().to_zarr("out.zarr", append_dim="time")
    check("out.zarr", dataset[["t"]], runs=2)


def test_values_that_are_decoded_are_left(dataset, registered):
    """Scaled integers: their values are computed, so they are Dask's."""
    dataset[["gaps"]].to_zarr("in.zarr", encoding={"gaps": {"dtype": "i2", "scale_factor": 0.01, "_FillValue": -1}})
    with xr.open_zarr("in.zarr") as opened:
        expected = opened.load()
    xr.open_zarr("in.zarr").chunk(time=6).drop_encoding().to_zarr("out.zarr")
    assert "values are decoded" in resplit.dask.explain()[-1]
    check("out.zarr", expected, runs=0)


def test_missing_values_that_are_masked_are_left(dataset, registered):
    values = sample((24, 10), "f4")
    values[2] = 9
    xr.Dataset({"v": (("time", "x"), values, {"_FillValue": np.float32(9)})}).to_zarr("in.zarr")
    xr.open_zarr("in.zarr").chunk(time=6).drop_encoding().to_zarr("out.zarr")
    assert "masked" in resplit.dask.explain()[-1]
    values[2] = np.nan
    check("out.zarr", xr.Dataset({"v": (("time", "x"), values)}), runs=0)


def test_computation_is_left(dataset, registered):
    dataset.to_zarr("in.zarr")
    (xr.open_zarr("in.zarr")[["t"]] * 2).chunk(time=6).drop_encoding().to_zarr("out.zarr")
    check("out.zarr", dataset[["t"]] * 2, runs=0)


def test_unregistered(dataset):
    resplit.dask.reset_stats()
    resplit.xarray.register()
    resplit.xarray.unregister()
    dataset.to_zarr("in.zarr")
    xr.open_zarr("in.zarr").chunk(time=6).drop_encoding().to_zarr("out.zarr")
    assert resplit.dask.stats() == resplit.dask.Stats() and dask.config.get("array_optimize", None) is None
