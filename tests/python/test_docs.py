# SPDX-License-Identifier: BSD-3-Clause
"""What the pages of the documentation and the manuals of functions show is what happens: doc_support.py runs them."""

import doctest
import importlib
import inspect
import re

import h5py
import hdf5plugin  # noqa: F401  before netCDF4, whose libhdf5 its filters would take for that of h5py
import nibabel as nib
import netCDF4
import numpy as np
import pytest
import zarr

import minc_support as minc
from conftest import ROOT, sample, write_blocks
from doc_support import Page, blocks_of, commands_of, run_doctest

import resplit.dask
import resplit.dask._log
import resplit.dask._store

PAGES = {}  # name: who makes its files; returns more arguments of Page, or None


def page(name):
    def keep(function):
        PAGES[name] = function
        return function

    return keep


def write_nifti(path, shape=(40, 30, 20), seed=1):
    nib.save(nib.Nifti1Image(sample(shape, "<i2", seed), np.diag([-2.0, 2, 2.5, 1])), path)


def write_scan(path):
    minc.write(path, sample((24, 20, 30), "<i2"), minc.plain((24, 20, 30)), lows=-5.0, highs=90.0, valid=(-32768, 32767))


def write_grid(folder):
    """HDF5 files, one beside the other."""
    folder.mkdir()
    for k in range(3):
        with h5py.File(folder / f"{k}_0.h5", "w") as f:
            f.create_dataset("data", data=sample((10, 20), seed=k))


# ---- The files that each page speaks of ---------------------------------------------------------------------------


@page("docs/neuroimaging.md")
def bigbrain(folder):
    """Blocks as another program writes them: no manifest, a place in each header."""
    values, affine = sample((154, 121, 140), "<u2"), np.diag([0.5, 0.5, 0.5, 1])
    affine[:3, 3] = -38.5, -30.25, -35
    (folder / "blocks").mkdir()
    for i, j, k in np.ndindex(5, 5, 5):
        start = 31 * i, 25 * j, 28 * k
        own = affine.copy()
        own[:, 3] = affine @ [*start, 1]
        part = values[tuple(slice(s, s + n) for s, n in zip(start, (31, 25, 28)))]
        nib.save(nib.Nifti1Image(part, own), folder / f"blocks/bigbrain_{i}_{j}_{k}.nii")
    write_scan(folder / "scan.mnc")


@page("docs/python.md")
@page("docs/zarr.md")
def climate(folder):
    group = zarr.open_group(folder / "climate.zarr", mode="w")
    group.attrs["title"] = "climate"
    group.create_array("t", shape=(365, 20, 20), chunks=(1, 20, 20), dtype="f4", dimension_names=["time", "y", "x"])[...] = 1
    group.create_array("lat", shape=(20,), dtype="f4")[...] = 2


@page("docs/dask.md")
def nothing(folder):
    resplit.dask.reset_stats()


@page("docs/distributed.md")
def chunks(folder):
    zarr.create_array(folder / "in.zarr", data=sample((150, 140, 130), "<u2"), chunks=(50, 50, 50))
    return {"fresh": True, "instead": {
        "resplit run p.json --part 1/16": "for k in $(seq 16); do resplit run p.json --part $k/16 --quiet || break; done",
        # the petabyte is on no disk
        "resplit plan in.zarr out.zarr --chunks 100,100,100 --memory 16GiB --parts 64": None,
        "mpirun -n 8 resplit-mpi p.json": "rm -rf out.zarr; mpirun -n 8 resplit-mpi p.json",
    }}


@page("docs/plan-file.md")
def arrays(folder):
    np.save(folder / "SRC.npy", sample((100, 90, 80)))
    return {"instead": {"resplit plan SRC DST --chunks 64,64,64 --memory 2GiB --save p.json":
                        "resplit plan SRC.npy DST --chunks 64,64,64 --memory 2GiB --save p.json"}}


@page("README.md")
def everything(folder):
    """Small, and of the shapes that its examples speak of."""
    write_blocks(folder / "scan", sample((40, 50, 60)), (1, 50, 60), "{0}_{1}_{2}.npy")
    np.save(folder / "brain.npy", sample((200, 30, 512)))
    maps = sample((8760, 20, 20), "<i2")
    zarr.create_array(folder / "maps.zarr", data=maps, chunks=(730, 20, 20))
    zarr.create_array(folder / "old.zarr", data=maps[:50], chunks=(10, 20, 20), zarr_format=2)
    image = zarr.open_group(folder / "image.zarr", mode="w", zarr_format=2)
    for level in range(2):
        image.create_array(str(level), data=sample((2, 3, 300 >> level, 400 >> level)), chunks=(1, 1, 64, 64))
    image.attrs["multiscales"] = [{"version": "0.4", "axes": [{"name": n} for n in "tcyx"],
                                   "datasets": [{"path": str(level)} for level in range(2)]}]
    with h5py.File(folder / "brain.h5", "w") as f:
        f.create_dataset("data", data=sample((60, 50, 40)), chunks=(20, 20, 20), compression="gzip")
    with netCDF4.Dataset(folder / "maps.nc", "w") as f:
        for name, length in zip("nyx", maps.shape):
            f.createDimension(name, length)
        f.createVariable("t", "i2", tuple("nyx"), chunksizes=(730, 20, 20))[...] = maps
    write_nifti(folder / "brain.nii.gz", (100, 70, 80))
    write_nifti(folder / "brain.nii", (100, 70, 80))
    write_scan(folder / "brain.mnc")
    sample((240, 220, 200)).tofile(folder / "volume.raw")
    write_grid(folder / "pieces")
    return {"fresh": True, "names": {"client": None}, "instead": {
        "resplit bench-disk . --size 4GiB": "resplit bench-disk . --size 16MiB",
        "mpirun -n 16 resplit-mpi blocks slabs --chunks 16,-1,-1": "rm -rf slabs*; mpirun -n 4 resplit-mpi blocks slabs --chunks 16,-1,-1",
    }}


# ---- All pages ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PAGES)
def test_page(name, tmp_path, monkeypatch, resplit_path, environment):
    monkeypatch.chdir(tmp_path)
    more = PAGES[name](tmp_path) or {}
    assert Page(ROOT / name, tmp_path, resplit_path, environment, **more).run() > 0


def test_no_page_is_left_out():
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        code = [language == "python" or (not language and commands_of(text)) for language, text in blocks_of(path.read_text())]
        assert not any(code) or str(path.relative_to(ROOT)) in PAGES, f"{path.name} has examples that nobody runs"


# ---- Manuals of functions -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["open", "resplit", "plan"])
def test_manuals(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("brain.npy", np.arange(40 * 30 * 20, dtype="i2").reshape(40, 30, 20))
    run_doctest(doctest.DocTestFinder().find(getattr(resplit, name), name, globs={})[0])


@pytest.mark.parametrize("module", [resplit.dask._log, resplit.dask._store], ids=lambda module: module.__name__)
def test_manuals_of_dask(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    resplit.dask.reset_stats()
    with np.printoptions(legacy=False):
        found = doctest.testmod(module)
    assert found.attempted and not found.failed


def test_everything_has_a_manual():
    for name in resplit.__all__:
        thing = getattr(resplit, name)
        if callable(thing):
            assert thing.__doc__ and not thing.__doc__.startswith(f"{name}("), name
    for name in ("rechunker", "_api", "_array", "_plan", "_group"):
        assert importlib.import_module(f"resplit.{name}").__doc__


def test_manuals_name_every_parameter():
    """Of the functions that list them."""
    for function in (resplit.open, resplit.resplit, resplit.plan, resplit.verify, resplit.describe, resplit.Array.read):
        parameters = set(inspect.signature(function).parameters) - {"self"}
        listed = set(re.findall(r"\w+", re.split(r"Returns\n|\Z", function.__doc__.split("Parameters")[1])[0]))
        assert parameters <= listed, (function, parameters - listed)
