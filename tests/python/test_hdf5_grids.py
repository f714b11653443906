# SPDX-License-Identifier: BSD-3-Clause
"""Grids of HDF5 files that are written: one dataset in each, contiguous or in chunks, with the attributes of the whole."""

import json
import shutil

import h5py
import numpy as np
import pytest
from hypothesis import note
from hypothesis import strategies as st

from conftest import blocks_of, sample, written
from hdf5_support import MEMORY, TYPES, attributes, h5dump, read, same_stored
from property_support import examples

SHAPE = (20, 15, 11)


def some(dtype="<u2", shape=SHAPE):
    return sample(shape, dtype)


def make(path, values, name="data", **options):
    """With attributes of the kinds that h5py writes."""
    with h5py.File(path, "w") as f:
        d = f.create_dataset(name, data=values, **options)
        d.attrs["unit"] = "mm"
        d.attrs["list"] = np.arange(5, dtype=">i2")
        d.attrs["texts"] = ["one", "two"]
        d.attrs["nothing"] = h5py.Empty("f4")
    return d


def all_attributes(node):
    """Also texts of any length."""
    return {**attributes(node), "texts": list(node.attrs["texts"]), "unit": node.attrs["unit"]}


def check(folder, values, lengths, like, name="data"):
    """Every file has its values, by h5py, and the attributes of the dataset that it comes from."""
    n = 0
    for index, _, block in blocks_of(values, lengths):
        path = folder / ("_".join(map(str, index)) + ".h5")
        assert same_stored(read(path, name), block), index
        with h5py.File(path) as f, h5py.File(like) as whole:
            assert all_attributes(f[name]) == all_attributes(whole[name])
            assert f[name].id.get_type() == whole[name].id.get_type()
        n += 1
    assert len(list(folder.glob("*.h5"))) == n


# ---- What is in the files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [("--chunks", "8,15,4"), ("--chunks", "8,15,4", "--codec", "zlib:1"),
                                   ("--shards", "8,15,4", "--chunks", "4,3,2", "--codec", "shuffle+zlib:1+fletcher32"),
                                   ("--shards", "8,15,4", "--chunks", "4,3,2", "--codec", "none")])
@pytest.mark.parametrize("options", [{}, {"chunks": (3, 4, 5), "compression": "gzip"}])
def test_split_and_merged(run, tmp_path, options, asked):
    values = some(">f4")
    make(tmp_path / "in.h5", values, "a/volume", **options)
    run("in.h5", "grid", "--format", "hdf5", *asked, *MEMORY)
    check(tmp_path / "grid", values, (8, 15, 4), tmp_path / "in.h5", "a/volume")
    with h5py.File(tmp_path / "grid/0_0_0.h5") as f:
        assert f["a/volume"].chunks == ((4, 3, 2) if "--shards" in asked else (8, 15, 4) if "--codec" in asked else None)
        assert (f["a/volume"].compression == "gzip") == ("zlib" in asked[-1])
    h5dump(tmp_path / "grid/2_0_2.h5")
    run("merge", "grid", "back.h5", *MEMORY)
    check_whole(tmp_path, values, "a/volume")
    run("verify", "in.h5", "grid", "--memory", "32MiB")


def check_whole(folder, values, name):
    assert same_stored(read(folder / "back.h5", name), values)
    with h5py.File(folder / "back.h5") as f, h5py.File(folder / "in.h5") as whole:
        assert all_attributes(f[name]) == all_attributes(whole[name])


@examples(60)
def test_any_dataset_in_any_grid_of_files(run, folder, data):
    shape = tuple(data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=4)))
    values = sample(shape, np.dtype(data.draw(st.sampled_from(TYPES))), seed=data.draw(st.integers(0, 99)))
    options = {"chunks": True, "compression": "gzip"} if data.draw(st.booleans()) else {}
    make(folder / "in.h5", values, **options)
    chunk = tuple(data.draw(st.integers(1, n)) for n in shape)
    files = tuple(c * data.draw(st.integers(1, 3)) for c in chunk)
    codec = data.draw(st.sampled_from(["none", "zlib:1", "shuffle+zlib:2", "fletcher32"]))
    asked = ("--shards", written(files), "--chunks", written(chunk)) if data.draw(st.booleans()) else ("--chunks", written(chunk))
    note(f"{values.dtype.str} {shape} {asked} {codec}")
    run("in.h5", "grid", "--format", "hdf5", *asked, "--codec", codec, *MEMORY)
    lengths = files if "--shards" in asked else chunk
    check(folder / "grid", values, lengths, folder / "in.h5")
    run("merge", "grid", "back.h5", *MEMORY)
    check_whole(folder, values, "data")
    other = tuple(data.draw(st.integers(1, n)) for n in shape)
    run("grid", "other", "--format", "hdf5", "--chunks", written(other), "--codec", codec, *MEMORY)
    check(folder / "other", values, other, folder / "in.h5")
    start = [data.draw(st.integers(0, n - 1)) for n in shape]
    stop = [data.draw(st.integers(a + 1, n)) for a, n in zip(start, shape)]
    roi = ",".join(f"{a}:{b}" for a, b in zip(start, stop))
    run("extract", "grid", "region", "--format", "hdf5", "--roi", roi, "--chunks", written(chunk), "--codec", codec, *MEMORY)
    check(folder / "region", values[tuple(map(slice, start, stop))], chunk, folder / "in.h5")


def test_types_that_only_hdf5_has(run, tmp_path):
    """An enumeration stays one, and so does what NumPy has no word for."""
    values = np.arange(12, dtype="u1").reshape(6, 2) % 3
    colours = h5py.enum_dtype({"red": 0, "green": 1, "blue": 2}, basetype="u1")
    with h5py.File(tmp_path / "in.h5", "w") as f:
        f.create_dataset("data", data=values.astype(colours), dtype=colours)
        strange = h5py.h5t.STD_I32LE.copy()
        strange.set_precision(20)
        space = h5py.h5s.create_simple((6, 2))
        h5py.h5d.create(f.id, b"strange", strange, space).write(space, space, values.astype("<i4"))
    for name in ("data", "strange"):
        run(f"in.h5:/{name}", name, "--format", "hdf5", "--chunks", "4,2", "--codec", "zlib", *MEMORY)
        run(name, f"{name}.h5", *MEMORY)
        for path in (tmp_path / name / "1_0.h5", tmp_path / f"{name}.h5"):
            with h5py.File(path) as f, h5py.File(tmp_path / "in.h5") as whole:
                assert f[name].id.get_type() == whole[name].id.get_type()
                assert np.array_equal(f[name][()], values[4:] if path.name == "1_0.h5" else values)
    assert "cannot hold it" in run.error("strange", "out.npy", *MEMORY)


def test_fill_values(run, tmp_path):
    """Chunks that are full of it are left out, and files of nothing else are there all the same."""
    values = some()
    values[8:] = 7
    make(tmp_path / "in.h5", values, fillvalue=7)
    run("in.h5", "grid", "--format", "hdf5", "--chunks", "8,15,4", "--codec", "zlib", *MEMORY)
    check(tmp_path / "grid", values, (8, 15, 4), tmp_path / "in.h5")
    with h5py.File(tmp_path / "grid/1_0_0.h5") as f:
        assert f["data"].id.get_num_chunks() == 0 and f["data"].fillvalue == 7
    run("merge", "grid", "back.h5", *MEMORY)
    check_whole(tmp_path, values, "data")


def test_arrays_without_elements(run, tmp_path):
    make(tmp_path / "in.h5", np.zeros((0, 4), "<f8"))
    for codec in ("none", "zlib"):
        run("in.h5", codec, "--format", "hdf5", "--chunks", "2,4", "--codec", codec, *MEMORY)
        assert read(tmp_path / codec / "0_0.h5").shape == (0, 4)
        run(codec, f"{codec}.h5", *MEMORY)
        assert read(tmp_path / f"{codec}.h5").shape == (0, 4)


def test_files_of_others(run, tmp_path):
    """Of attributes that differ those of the first file are kept, and that is said; so is a name that all have."""
    values = some("<i4", (10, 9))
    for folder in ("same", "other"):
        (tmp_path / folder).mkdir()
        for index, _, block in blocks_of(values, (4, 5)):
            name = "volume" if folder == "same" else f"volume of {index[0]}"
            make(tmp_path / folder / f"{index[0]}_{index[1]}.h5", block, name)
    with h5py.File(tmp_path / "other/1_0.h5", "a") as f:
        f["volume of 1"].attrs["unit"] = "inch"
    assert "differ" not in run("merge", "same", "same.h5", "--memory", "32MiB").stdout
    assert same_stored(read(tmp_path / "same.h5", "volume"), values)
    said = run("merge", "other", "other.h5", "--memory", "32MiB").stdout
    assert "'other/1_0.h5'): those of the first, 'other/0_0.h5', are kept" in said
    with h5py.File(tmp_path / "other.h5") as f:
        assert np.array_equal(f["data"], values) and f["data"].attrs["unit"] == "mm"
    shutil.rmtree(tmp_path / "same")
    (tmp_path / "same").mkdir()
    for i, colours in enumerate(({"red": 0, "green": 1}, {"green": 0, "red": 1})):
        make(tmp_path / f"same/{i}.h5", np.arange(2).astype("u1"), dtype=h5py.enum_dtype(colours, basetype="u1"))
    assert "another type" in run.error("info", "same")


def test_other_objects_are_left_and_that_is_said(run, tmp_path):
    make(tmp_path / "in.h5", some(), "a/volume")
    whole = ("in.h5:/a/volume", "grid", "--format", "hdf5", "--chunks", "8,15,4", "--memory", "32MiB", "--overwrite")
    assert "do not go along" not in run(*whole).stdout
    with h5py.File(tmp_path / "in.h5", "a") as f:
        f["a/volumes"] = np.arange(3)
    assert "other objects of 'in.h5' do not go along" in run(*whole).stdout
    assert "do not go along" in run("extract", "in.h5:/a/volume", "part.h5", "--roi", "0:3,:,:", "--memory", "32MiB").stdout
    assert "do not go along" not in run("in.h5:/a/volume", "out.h5", "--memory", "32MiB").stdout


def test_virtual_over_them(run, tmp_path):
    values = some()
    make(tmp_path / "in.h5", values)
    run("in.h5", "grid", "--format", "hdf5", "--shards", "8,15,4", "--chunks", "4,5,2", "--codec", "zlib", *MEMORY)
    run("merge", "grid", "back.h5", "--virtual", *MEMORY)
    check_whole(tmp_path, values, "data")


# ---- How they are made -------------------------------------------------------------------------------------------


def test_chunks_are_copied_as_they_are(run, tmp_path):
    values = some()
    make(tmp_path / "in.h5", values, chunks=(4, 5, 11), compression="gzip", compression_opts=9)
    done = run.json("in.h5", "grid", "--format", "hdf5", "--shards", "8,15,11", "--chunks", "4,5,11", "--codec", "zlib:9", "--memory", "32MiB")
    assert done["strategy"] == "copy"
    check(tmp_path / "grid", values, (8, 15, 11), tmp_path / "in.h5")
    with h5py.File(tmp_path / "grid/1_0_0.h5") as f, h5py.File(tmp_path / "in.h5") as whole:
        assert f["data"].id.read_direct_chunk((4, 10, 0)) == whole["data"].id.read_direct_chunk((12, 10, 0))


@pytest.mark.parametrize("codec", ["none", "zlib"])
@pytest.mark.parametrize("chunks", ["4,5,2", None])
def test_in_partitions(run, tmp_path, codec, chunks):
    values = some()
    make(tmp_path / "in.h5", values)
    asked = ("--shards", "8,5,4", "--chunks", chunks) if chunks else ("--chunks", "8,5,4")
    target = ("in.h5", "grid", "--format", "hdf5", *asked, "--codec", codec, "--memory", "32MiB")
    run("plan", *target, "--parts", "3", "--save", "plan.json", "--quiet")
    for part in (3, 1, 2):
        run("run", "plan.json", "--part", f"{part}/3", "--quiet")
        assert not (tmp_path / "grid").exists()
    run("finish", "plan.json", "--quiet")
    check(tmp_path / "grid", values, (8, 5, 4), tmp_path / "in.h5")


def test_a_plan_knows_the_files(run, tmp_path):
    values = some()
    make(tmp_path / "in.h5", values)
    target = ("in.h5", "grid", "--format", "hdf5", "--shards", "8,15,4", "--chunks", "4,5,2", "--codec", "zlib:2", "--memory", "32MiB")
    run("plan", *target, "--save", "plan.json", "--quiet")
    assert json.loads((tmp_path / "plan.json").read_text())["target"]["shards"] == [8, 15, 4]
    run("run", "plan.json", "--quiet")
    check(tmp_path / "grid", values, (8, 15, 4), tmp_path / "in.h5")
    assert "already" in run.error(*target)
    run(*target[:-2], *MEMORY, "--overwrite")
    check(tmp_path / "grid", values, (8, 15, 4), tmp_path / "in.h5")
    (tmp_path / "grid/notes.txt").write_text("mine")
    run.error(*target, "--overwrite")
    assert (tmp_path / "grid/notes.txt").exists()


def test_what_cannot_be(run, tmp_path):
    make(tmp_path / "in.h5", some())
    grid = ("in.h5", "grid", "--format", "hdf5")
    for asked, said in ((("--chunks", "8+12,15,11", "--codec", "zlib"), "cut unevenly"),
                        (("--shards", "8,15,11", "--chunks", "3,15,11"), "not whole chunks"),
                        (("--chunks", "8,15,11", "--codec", "lzma"), "HDF5"),
                        (("--chunks", "8,15,11", "--virtual"), "only one HDF5 file")):
        assert said in run.error(*grid, *asked, *MEMORY), asked
        assert not (tmp_path / "grid").exists()
    assert "one file" in run.error("in.h5", "out.h5", "--shards", "8,15,11", "--chunks", "4,5,11", *MEMORY)
    run(*grid, "--chunks", "8+12,15,11", *MEMORY)
    assert same_stored(read(tmp_path / "grid/1_0_0.h5"), some()[8:])


@pytest.mark.parametrize("codec", ["none", "zlib"])
def test_counts(run, tmp_path, codec):
    """Every file is written once, in one access, but for what libhdf5 puts around it."""
    values = some("<u2", (64, 64, 64))
    make(tmp_path / "in.h5", values)
    done = run.json("in.h5", "grid", "--format", "hdf5", "--chunks", "16,64,64", "--codec", codec, "--memory", "32MiB")
    assert done["actual"]["write_seeks"] == done["predicted"]["write_seeks"] == 4
    assert done["actual"]["bytes_written"] == values.nbytes
