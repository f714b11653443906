# SPDX-License-Identifier: BSD-3-Clause
"""Virtual datasets that are made, over grids of HDF5 files and over datasets: h5py reads through them what is in the files."""

import os
import shutil

import h5py
import numpy as np
import pytest

from conftest import sample, written
from hdf5_support import MEMORY, read, same_stored
from minc_support import IMAGE, plain, write

SHAPE = (12, 10, 7)
GRIDS = {"even": (5, 4, 7), "uneven": ([3, 8, 1], 10, [2, 5]), "one": (12, 10, 7), "single elements": (6, 5, 1)}


def make_grid(run, values, chunks, name="grid"):
    np.save(run.folder / "in.npy", values)
    run("in.npy", name, "--chunks", written(chunks), "--format", "hdf5", "--overwrite", *MEMORY)
    (run.folder / "in.npy").unlink()


def mappings(path, name="data"):
    with h5py.File(path) as f:
        assert f[name].is_virtual
        return f[name].virtual_sources()


@pytest.mark.parametrize("grid", GRIDS)
def test_h5py_reads_what_is_in_the_files(run, tmp_path, grid):
    values = sample(SHAPE, "<u2")
    make_grid(run, values, GRIDS[grid])
    run("merge", "grid", "whole.h5", "--virtual", *MEMORY)
    assert same_stored(read(tmp_path / "whole.h5"), values)
    found = mappings(tmp_path / "whole.h5")
    assert len(found) == len(list((tmp_path / "grid").glob("*.h5"))) and all(m.file_name.startswith("grid/") for m in found)
    assert (tmp_path / "whole.h5").stat().st_size < 1 << 16
    run("verify", "whole.h5", "grid", "--memory", "32MiB")


def test_moving_both_together_and_a_part_that_is_missing(run, tmp_path):
    values = sample(SHAPE, ">f4")
    (tmp_path / "here/below").mkdir(parents=True)
    make_grid(run, values, (5, 4, 7), "here/below/grid")
    run("merge", "here/below/grid", "here/whole.h5", "--virtual", *MEMORY)
    shutil.move(tmp_path / "here", tmp_path / "there")
    assert same_stored(read(tmp_path / "there/whole.h5"), values)
    run("there/whole.h5", "out.npy", *MEMORY)
    assert np.array_equal(np.load(tmp_path / "out.npy").view("u4"), values.view("u4"))
    (tmp_path / "there/below/grid/1_0_0.h5").unlink()
    assert "1_0_0.h5" in run.error("info", "there/whole.h5")


def test_files_elsewhere_are_named_in_full(run, tmp_path):
    values = sample(SHAPE, "<u2")
    make_grid(run, values, (12, 5, 7))
    (tmp_path / "other").mkdir()
    run("merge", "grid", "other/whole.h5", "--virtual", *MEMORY)
    assert {m.file_name for m in mappings(tmp_path / "other/whole.h5")} == {str(tmp_path / f"grid/0_{i}_0.h5") for i in range(2)}
    shutil.move(tmp_path / "other/whole.h5", tmp_path / "moved.h5")
    assert same_stored(read(tmp_path / "moved.h5"), values)


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("roi", ["3:9,:,2:5", "0:12,0:10,0:7", "11:12,9:10,6:7", ":,2:3,:"])
def test_regions(run, tmp_path, grid, roi):
    values = sample(SHAPE, "<i4")
    make_grid(run, values, GRIDS[grid])
    run("extract", "grid", "part.h5:/a/b", "--virtual", "--roi", roi, *MEMORY)
    box = tuple(slice(*(int(x) if x else None for x in s.split(":"))) for s in roi.split(","))
    assert same_stored(read(tmp_path / "part.h5", "a/b"), values[box])
    assert len(mappings(tmp_path / "part.h5", "a/b")) <= len(list((tmp_path / "grid").glob("*.h5")))


@pytest.mark.parametrize("options", [{}, {"chunks": (5, 4, 3)}, {"chunks": (5, 4, 3), "compression": "gzip", "shuffle": True}])
def test_one_dataset(run, tmp_path, options):
    """Which keeps its attributes, but for those of dimensions; nothing else of its file is copied."""
    values = sample(SHAPE, "<f8")
    with h5py.File(tmp_path / "in.h5", "w") as f:
        f.create_dataset("a/data", data=values, fillvalue=-1, **options).attrs["text"] = "of it"
        f["other"] = np.arange(1000)
    run("in.h5:/a/data", "all.h5", "--virtual", *MEMORY)
    run("extract", "in.h5:/a/data", "some.h5:/data", "--virtual", "--roi", "2:7,:,1:", *MEMORY)
    assert same_stored(read(tmp_path / "all.h5", "a/data"), values)
    assert same_stored(read(tmp_path / "some.h5"), values[2:7, :, 1:])
    with h5py.File(tmp_path / "all.h5") as f:
        assert dict(f["a/data"].attrs) == {"text": "of it"} and f["a/data"].fillvalue == -1 and "other" not in f
        assert [m.file_name for m in f["a/data"].virtual_sources()] == ["in.h5"]


@pytest.mark.parametrize("dtype", ["?", "<c8", ">i2", "S5", "V3", [("a", "<i4"), ("b", "<f8")]])
def test_types(run, tmp_path, dtype):
    values = sample(SHAPE, dtype)
    (tmp_path / "grid").mkdir()
    for i in range(2):
        with h5py.File(tmp_path / f"grid/{i}_0_0.h5", "w") as f:
            f[f"any name {i}"] = values[6 * i:6 * i + 6]
    run("merge", "grid", "whole.h5", "--virtual", *MEMORY)
    assert same_stored(read(tmp_path / "whole.h5"), values)
    with h5py.File(tmp_path / "whole.h5") as a, h5py.File(tmp_path / "grid/0_0_0.h5") as b:
        assert a["data"].id.get_type() == b["any name 0"].id.get_type()


def test_images_of_minc(run, tmp_path):
    values = sample((4, 6, 5), "<i2")
    write(tmp_path / "in.mnc", values, plain((4, 6, 5)))
    run("in.mnc", "grid", "--chunks", "2,6,5", *MEMORY)
    for source in ("in.mnc", "grid"):
        run(source, "whole.h5:/data", "--virtual", "--overwrite", *MEMORY)
        assert same_stored(read(tmp_path / "whole.h5"), values)
        assert {m.dset_name for m in mappings(tmp_path / "whole.h5")} == {f"/{IMAGE}"}
    assert "cannot have metadata of MINC" in run.error("grid", "whole.mnc", "--virtual", *MEMORY)


def test_what_cannot_be(run, tmp_path):
    values = sample(SHAPE, "<u2")
    make_grid(run, values, (5, 4, 7))
    np.save(tmp_path / "in.npy", values)
    for options, said in ((["--chunks", "4,4,4"], "chunks"), (["--codec", "zlib"], "a codec"), (["--to-dtype", "u1"], "a type")):
        assert f"it cannot have {said}" in run.error("grid", "whole.h5", "--virtual", *options, *MEMORY)
    for target in ("out.npy", "out.zarr"):
        assert "only one HDF5 file can be virtual" in run.error("grid", target, "--virtual", *MEMORY)
    assert "only one HDF5 file can be virtual" in run.error("grid", "out", "--chunks", "4,4,4", "--virtual", *MEMORY)
    assert "it is not HDF5" in run.error("in.npy", "whole.h5", "--virtual", *MEMORY)
    assert not any((tmp_path / name).exists() for name in ("whole.h5", "out", "out.npy", "out.zarr"))
    run("merge", "grid", "whole.h5", "--virtual", *MEMORY)
    assert "it is virtual, too" in run.error("whole.h5", "again.h5", "--virtual", *MEMORY)
    assert "is there already" in run.error("merge", "grid", "whole.h5", "--virtual", *MEMORY) # and stays
    assert same_stored(read(tmp_path / "whole.h5"), values)
    assert "made of itself" in run.error("grid", "grid/0_0_0.h5", "--virtual", "--overwrite", *MEMORY)
    shutil.move(tmp_path / "grid", tmp_path / "100%")
    assert "has a % in its name" in run.error("100%", "more.h5", "--virtual", *MEMORY)
    (tmp_path / "100%" / "1_1_0.h5").write_bytes(b"")
    assert "1_1_0.h5" in run.error("100%", "more.h5", "--virtual", *MEMORY)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["100%", "in.npy", "whole.h5"]


def test_nothing_is_moved(run, tmp_path):
    values = sample(SHAPE, "<u2")
    make_grid(run, values, (5, 4, 7))
    whole = run.json("fingerprint", "grid", "--memory", "32MiB")["fingerprint"]
    done = run.json("merge", "grid", "whole.h5", "--virtual", "--memory", "100KiB")
    assert done["actual"]["bytes_read"] == done["actual"]["bytes_written"] == 0 and done["fingerprint"] == whole
    assert run.json("extract", "grid", "some.h5", "--roi", "0:1,:,:", "--virtual", "--memory", "1MiB")["fingerprint"] is None
    assert run.json("fingerprint", "whole.h5", "--memory", "32MiB")["fingerprint"] == whole


def test_plans_that_are_saved(run, tmp_path):
    values = sample(SHAPE, "<u2")
    make_grid(run, values, (5, 4, 7))
    run("plan", "grid", "whole.h5", "--virtual", "--roi", "1:9,:,:", "--save", "plan.json", *MEMORY)
    run("run", "plan.json", "--quiet")
    assert same_stored(read(tmp_path / "whole.h5"), values[1:9])
    run("grid", "whole.h5", "--virtual", "--overwrite", "--resume", *MEMORY)
    assert same_stored(read(tmp_path / "whole.h5"), values)


def test_many_files(run, tmp_path):
    """More than may be open at once: they are looked at one by one."""
    values = sample((700, 3), "<u2")
    make_grid(run, values, (1, 3))
    run("merge", "grid", "whole.h5", "--virtual", *MEMORY, preexec_fn=lambda: __import__("resource").setrlimit(7, (64, 64)))
    assert len(mappings(tmp_path / "whole.h5")) == 700
    with h5py.File(tmp_path / "whole.h5") as f:
        assert np.array_equal(f["data"][100:200], values[100:200])
    assert os.path.getsize(tmp_path / "whole.h5") < 1 << 20
