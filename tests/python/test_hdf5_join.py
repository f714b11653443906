# SPDX-License-Identifier: BSD-3-Clause
"""Grids of HDF5 files whose datasets are in chunks: what h5py wrote into the files is what comes out, whatever it becomes."""

import shutil

import h5py
import numpy as np
import pytest
import zarr

from conftest import blocks_of, same, sample
from hdf5_support import FILTERS, MEMORY, read, same_stored
from minc_support import IMAGE, plain, write

SHAPE = (12, 10, 7)

# Files, and chunks of all of them, or by their index along each axis.
GRIDS = {
    "even": ((6, 4, 7), (3, 2, 3)),
    "last is shorter": ((8, 4, 7), (4, 4, 5)),
    "uneven files": (([8, 2, 2], 10, [2, 5]), (2, 3, [2, 5])),
    "a chunk each": (([5, 4, 3], [3, 7], 7), ([5, 4, 3], [3, 7], 7)),
    "chunks of all lengths": (([6, 4, 2], 5, 7), ([3, 4, 1], [5, 2], 7)),
    "one file": ((12, 10, 7), (5, 4, 3)),
}


def chunk_of(chunks, index, shape):
    return tuple(min(c[i] if isinstance(c, list) else c, n) for c, i, n in zip(chunks, index, shape))


def make(folder, values, files, chunks, grow=True, **options):
    folder.mkdir()
    for index, _, part in blocks_of(values, files):
        chunk = tuple(c[i] if isinstance(c, list) else c for c, i in zip(chunks, index))
        with h5py.File(folder / ("_".join(map(str, index)) + ".h5"), "w") as f:
            f.create_dataset(f"of {index[0]}", data=part, chunks=chunk, maxshape=(None,) * part.ndim if grow else None, **options)


@pytest.mark.parametrize("codec", ["none", "shuffle+zlib+fletcher32", "zstd"])
@pytest.mark.parametrize("grid", GRIDS)
def test_what_is_in_the_files_comes_out(run, tmp_path, grid, codec):
    values = sample(SHAPE, "<u2")
    make(tmp_path / "grid", values, *GRIDS[grid], **FILTERS[codec])
    run("grid", "out.npy", *MEMORY)
    assert same(np.load(tmp_path / "out.npy"), values)
    run("grid", "out.h5:/data", "--chunks", "5,5,5", *MEMORY)
    run("grid", "kept.h5:/data", *MEMORY)
    for name in ("out.h5", "kept.h5"):
        run("verify", "grid", name, "--memory", "32MiB")
    if codec != "zstd": # h5py needs a plugin, and has it here
        assert same_stored(read(tmp_path / "out.h5"), values) and same_stored(read(tmp_path / "kept.h5"), values)
    run("grid", "out.zarr", "--chunks", "4,4,4", "--codec", "zstd", *MEMORY)
    assert np.array_equal(zarr.open(tmp_path / "out.zarr")[...], values)
    run("extract", "grid", "part.npy", "--roi", "3:11,1:,2:6", *MEMORY)
    assert same(np.load(tmp_path / "part.npy"), values[3:11, 1:, 2:6])


def test_what_it_is(run, tmp_path):
    values = sample(SHAPE, "<u2")
    make(tmp_path / "grid", values, *GRIDS["even"], **FILTERS["zlib"])
    known = run.json("info", "grid")
    assert known["shape"] == list(SHAPE) and known["chunks"] == [3, 2, 3] and known["codec"] == "zlib:1"
    assert known["n_blocks"] == 4 * 5 * 3 and known["n_missing"] == 0 and known["pattern"] == "{0}_{1}_{2}.h5"
    stored = 0
    for path in (tmp_path / "grid").iterdir():
        with h5py.File(path) as f:
            stored += next(iter(f.values())).id.get_storage_size()
    assert known["stored_bytes"] == stored


def test_a_merge_copies_chunks_as_they_are(run, tmp_path):
    values = sample(SHAPE, "<u2")
    make(tmp_path / "grid", values, *GRIDS["last is shorter"], compression="gzip", compression_opts=9)
    done = run.json("merge", "grid", "out.h5", "--memory", "32MiB")
    assert done["strategy"] == "copy" and done["actual"]["read_seeks"] == done["predicted"]["read_seeks"] == 3 * 3 * 2
    with h5py.File(tmp_path / "out.h5") as out, h5py.File(tmp_path / "grid/1_2_0.h5") as f:
        assert out["data"].chunks == (4, 4, 5) and np.array_equal(out["data"], values)
        assert out["data"].id.read_direct_chunk((8, 8, 5)) == f["of 1"].id.read_direct_chunk((0, 0, 5))


@pytest.mark.parametrize("grid", ["even", "chunks of all lengths"])
@pytest.mark.parametrize("coded", [{}, {"compression": "gzip"}])
def test_chunks_that_are_missing(run, tmp_path, grid, coded):
    values = np.full(SHAPE, 9, "<u2")
    files, chunks = GRIDS[grid]
    make(tmp_path / "grid", values, files, chunks, fillvalue=9, **coded)
    with h5py.File(tmp_path / "grid/0_0_0.h5", "w") as f:
        n = [part.shape for index, _, part in blocks_of(values, files) if index == (0, 0, 0)][0]
        d = f.create_dataset("any", shape=n, dtype="<u2", chunks=chunk_of(chunks, (0, 0, 0), n), fillvalue=9, **coded)
        d[:1, :1, :1] = 5
        part = d[...]
    for index, start, block in blocks_of(values, files):
        if index == (0, 0, 0):
            values[start[0]:start[0] + block.shape[0], start[1]:start[1] + block.shape[1], start[2]:start[2] + block.shape[2]] = part
    run("grid", "out.npy", *MEMORY)
    assert same(np.load(tmp_path / "out.npy"), values)
    assert not coded or run.json("info", "grid")["n_missing"] > 0


def test_files_that_do_not_go_together(run, tmp_path):
    values = sample(SHAPE, "<u2")

    def refused(said, files=(6, 10, 7), chunks=(3, 5, 7), change=None, **options):
        shutil.rmtree(tmp_path / "grid", ignore_errors=True)
        make(tmp_path / "grid", values, files, chunks, **options)
        if change is not None:
            (tmp_path / "grid/1_0_0.h5").unlink()
            with h5py.File(tmp_path / "grid/1_0_0.h5", "w") as f:
                change(f)
        assert said in run.error("info", "grid")

    refused("end inside of a chunk: along axis 0 they have 6 elements, and chunks of 4", chunks=(4, 5, 7))
    refused("has chunks of length 2 along axis 1", change=lambda f: f.create_dataset("a", data=values[6:], chunks=(3, 2, 7)))
    refused("other filters", change=lambda f: f.create_dataset("a", data=values[6:], chunks=(3, 5, 7), compression="gzip"))
    refused("another fill value", change=lambda f: f.create_dataset("a", data=values[6:], chunks=(3, 5, 7), fillvalue=3))
    refused("is in chunks, and", change=lambda f: f.create_dataset("a", data=values[6:]))
    refused("has type <i2", change=lambda f: f.create_dataset("a", data=values[6:].view("<i2"), chunks=(3, 5, 7)))
    refused("only libhdf5 can undo", scaleoffset=0)
    refused("has shape", files=(6, 5, 7), change=lambda f: f.create_dataset("a", data=values[7:, :5], chunks=(3, 5, 7)))


def test_a_virtual_dataset_over_them(run, tmp_path):
    values = sample(SHAPE, "<u2")
    make(tmp_path / "grid", values, *GRIDS["chunks of all lengths"], **FILTERS["zlib"])
    run("merge", "grid", "whole.h5", "--virtual", *MEMORY)
    assert same_stored(read(tmp_path / "whole.h5"), values)
    with h5py.File(tmp_path / "whole.h5") as f:
        assert len(f["data"].virtual_sources()) == 6


def test_plans_that_are_saved(run, tmp_path):
    values = sample(SHAPE, "<u2")
    make(tmp_path / "grid", values, *GRIDS["chunks of all lengths"], **FILTERS["zlib"])
    run("plan", "grid", "out.npy", "--save", "plan.json", *MEMORY)
    run("run", "plan.json", "--quiet")
    assert same(np.load(tmp_path / "out.npy"), values)


@pytest.mark.parametrize("storage", [{"chunks": (2, 3, 5)}, {"chunks": (2, 3, 5), "compression": "gzip"}])
def test_images_of_minc(run, tmp_path, storage):
    values = sample((4, 6, 5), "<i2")
    write(tmp_path / "in.mnc", values, plain((4, 6, 5)))
    run("in.mnc", "grid", "--chunks", "2,6,5", *MEMORY)
    for path in (tmp_path / "grid").glob("*.mnc"):
        with h5py.File(path, "a") as f: # as libminc writes it
            old = f[IMAGE]
            new = f.create_dataset("new", data=old[...], **storage)
            for key, value in old.attrs.items():
                new.attrs.create(key, value, dtype=old.attrs.get_id(key).dtype)
            del f[IMAGE]
            f.move("new", IMAGE)
    run("grid", "out.mnc", *MEMORY)
    assert same_stored(read(tmp_path / "out.mnc", IMAGE), values)
    with h5py.File(tmp_path / "out.mnc") as a, h5py.File(tmp_path / "in.mnc") as b:
        for axis in ("zspace", "yspace", "xspace"):
            for key in ("start", "step", "length"):
                assert a[f"minc-2.0/dimensions/{axis}"].attrs[key] == b[f"minc-2.0/dimensions/{axis}"].attrs[key]
    run("grid", "again", "--chunks", "4,3,5", *MEMORY)
    run("again", "out.npy", *MEMORY)
    assert same(np.load(tmp_path / "out.npy"), values)


def test_many_files(run, tmp_path):
    values = sample((300, 8), "<u4")
    make(tmp_path / "grid", values, (1, 8), (1, 3), compression="gzip")
    run("grid", "out.npy", *MEMORY)
    assert same(np.load(tmp_path / "out.npy"), values)
