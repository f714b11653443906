# SPDX-License-Identifier: BSD-3-Clause
"""Datasets of HDF5 files: every layout, type and filter in, and out, judged by h5py; names; what goes with the values."""

import ctypes
import glob
import os
import subprocess
import zlib

import h5py
import hdf5plugin  # noqa: F401, before netCDF4, which brings a library of its own
import netCDF4
import numpy as np
import pytest
import zarr

from conftest import blocks_of, sample, same
from hdf5_support import FILTERS, MEMORY, TYPES, h5dump, read, same_stored
from zarr_support import equal, make as make_zarr


def some(dtype="<u2", shape=(20, 15, 11)):
    return sample(shape, dtype)


def make(path, values, name="data", file=None, **options):
    with h5py.File(path, "a", **(file or {})) as f:
        f.create_dataset(name, data=values, **options)


# ---- in --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TYPES)
def test_types_in_and_out(run, tmp_path, dtype):
    """A round trip keeps the stored type; .npy has the same values."""
    values = some(dtype, (7, 5))
    make(tmp_path / "in.h5", values, chunks=(3, 5), compression="gzip")
    run("in.h5", "out.npy", *MEMORY)
    found = np.load(tmp_path / "out.npy")
    assert found.dtype == values.dtype and found.tobytes() == values.tobytes()
    run("out.npy", "out.h5", "--chunks", "4,2", "--codec", "zlib:1", *MEMORY)
    made = read(tmp_path / "out.h5")
    assert made.dtype == values.dtype and made.tobytes() == values.tobytes()


@pytest.mark.parametrize("name", FILTERS)
def test_filters_in(run, tmp_path, name):
    values = some() & 0x3ff
    make(tmp_path / "in.h5", values, chunks=(6, 7, 11), **FILTERS[name])
    run("in.h5", "out.npy", *MEMORY)
    assert same(np.load(tmp_path / "out.npy"), values)
    codec = run.json("info", "in.h5")["codec"]
    assert (codec or "none").split(":")[0].split("+")[0].split("-")[0] == name.split()[0].split("+")[0]


@pytest.mark.parametrize("codec", ["none", "zlib:1", "gzip:9", "deflate:4", "shuffle+zlib:6", "fletcher32", "shuffle+zlib:1+fletcher32",
                                   "zstd:3", "bz2:9", "blosc:lz4:5:shuffle", "blosc:zstd:3:bitshuffle", "shuffle+zstd:1", "lzf", "shuffle+lzf",
                                   "lz4", "lz4-hdf5:512", "shuffle+lz4"])
def test_codecs_out(run, tmp_path, codec):
    """h5py decodes what we encoded, with the plugins of others where it has no filter of its own."""
    values = some() & 0x3ff
    np.save(tmp_path / "in.npy", values)
    run("in.npy", "out.h5:/a/b", "--chunks", "6,7,5", "--codec", codec, *MEMORY)
    with h5py.File(tmp_path / "out.h5") as f:
        assert f["a/b"].chunks == (6, 7, 5) and np.array_equal(f["a/b"][...], values)
    run("verify", "in.npy", "out.h5:/a/b", "--memory", "32MiB")


def test_codecs_that_hdf5_has_not_are_refused(run, tmp_path):
    np.save(tmp_path / "in.npy", some())
    for codec in ("crc32c", "lzma", "zlib:1+shuffle", "shuffle:4+zlib:1"):
        assert "HDF5" in run.error("in.npy", "out.h5", "--chunks", "6,7,5", "--codec", codec, *MEMORY)
    assert "give --chunks" in run.error("in.npy", "out.h5", "--codec", "zlib:1", *MEMORY)
    with open(tmp_path / "in.raw", "w") as f:
        f.truncate(5 << 30)
    assert "4 GiB" in run.error("plan", "in.raw", "out.h5", "--shape", f"{5 << 10},{1 << 20}", "--dtype", "u1", "--chunks", "-1,-1",
                                "--codec", "zlib:1", "--memory", "32MiB")
    assert not (tmp_path / "out.h5").exists()


def test_codecs_that_only_hdf5_has(run, tmp_path):
    make(tmp_path / "in.h5", some(), chunks=(6, 7, 11), compression="lzf")
    assert "Zarr has no codec 'lzf'" in run.error("in.h5", "out.zarr", *MEMORY)
    run("in.h5", "out.zarr", "--codec", "zstd:1", *MEMORY)
    run("in.h5", "out.h5", "--chunks", "5,5,5", *MEMORY)
    with h5py.File(tmp_path / "out.h5") as f:
        assert f["data"].compression == "lzf" and np.array_equal(f["data"][...], some())


def test_filters_that_only_the_library_has(run, tmp_path):
    """What we lack and libhdf5 has is read through it; what nobody has is refused."""
    values = some("<i4") & 0xff
    make(tmp_path / "in.h5", values, chunks=(6, 7, 5), scaleoffset=0)
    run("in.h5", "out.npy", *MEMORY)
    assert same(np.load(tmp_path / "out.npy"), values)
    done = run.json("in.h5", "out.h5", "--chunks", "5,5,5", "--codec", "zlib:1", "--memory", "32MiB")
    assert np.array_equal(read(tmp_path / "out.h5"), values)
    for key in ("read_seeks", "write_seeks", "bytes_read", "bytes_written"):
        assert done["actual"][key] == done["predicted"][key]
    make(tmp_path / "no.h5", values, chunks=(6, 7, 5), **hdf5plugin.Bitshuffle())
    message = run.error("no.h5", "out.npy", "--overwrite", *MEMORY)
    assert "filter 32008 (bitshuffle)" in message and "h5repack" in message


def test_external_files(run, tmp_path):
    values = some("<f4", (300, 200, 100))  # several of the blocks that are read at once
    (tmp_path / "a.raw").write_bytes(b"head" + values.tobytes()[:8000000])
    (tmp_path / "b.raw").write_bytes(values.tobytes()[8000000:])
    with h5py.File(tmp_path / "in.h5", "w") as f:
        f.create_dataset("data", shape=values.shape, dtype=values.dtype, external=[("a.raw", 4, 8000000), ("b.raw", 0, values.nbytes - 8000000)])
    run("in.h5", "out.h5", "--chunks", "70,200,33", "--memory", "32MiB", "--quiet")
    assert same_stored(read(tmp_path / "out.h5"), values)
    run("in.h5", "out.npy", *MEMORY)
    assert same(np.load(tmp_path / "out.npy"), values)
    os.truncate(tmp_path / "b.raw", 1000)
    assert "'b.raw' from byte 0 on, which has 1000" in run.error("info", "in.h5")
    (tmp_path / "b.raw").unlink()
    assert "'b.raw'" in run.error("info", "in.h5")


def virtual(path, values, n, fill=-1):
    """Of n files, each with some rows."""
    layout = h5py.VirtualLayout(shape=values.shape, dtype=values.dtype)
    step = -(-len(values) // n)
    for i in range(n):
        rows = values[i * step:(i + 1) * step]
        with h5py.File(path.parent / f"part{i}.h5", "w") as f:
            f.create_dataset("rows", data=rows, chunks=(1, *rows.shape[1:]), compression="gzip")
        layout[i * step:i * step + len(rows)] = h5py.VirtualSource(f"part{i}.h5", "rows", shape=rows.shape)
    with h5py.File(path, "w", libver=("v110", "v110")) as f:
        f.create_virtual_dataset("data", layout, fillvalue=fill)


def test_virtual_datasets(run, tmp_path):
    """A source that is missing is an error, and not full of the fill value."""
    values = some("<i2", (200, 90))
    (tmp_path / "there").mkdir()
    virtual(tmp_path / "there" / "in.h5", values, 20)
    run("there/in.h5", "out.h5", "--chunks", "33,44", *MEMORY)
    assert np.array_equal(read(tmp_path / "out.h5"), values)
    run("verify", "there/in.h5", "out.h5", "--memory", "32MiB")
    limited = ["bash", "-c", f"ulimit -n 64; exec {run.path} info there/in.h5"]
    done = subprocess.run(limited, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and "ulimit -n" in done.stderr
    with h5py.File(tmp_path / "there" / "part7.h5", "a") as f:
        f.move("rows", "other")
    assert "has no dataset 'rows'" in run.error("there/in.h5", "no.h5", *MEMORY)
    (tmp_path / "there" / "part7.h5").unlink()
    assert "part7.h5" in run.error("there/in.h5", "no.h5", *MEMORY)
    assert not (tmp_path / "no.h5").exists()


def test_chunks_with_filters_left_out(run, tmp_path):
    """The mask of a chunk says which: none, all, the first, the last."""
    values = some(shape=(16, 8))
    with h5py.File(tmp_path / "in.h5", "w") as f:
        d = f.create_dataset("data", shape=values.shape, dtype=values.dtype, chunks=(4, 8), compression="gzip", shuffle=True)
        d[:4] = values[:4]
        shuffled = np.frombuffer(values[4:8].tobytes(), "u1").reshape(-1, 2).T.tobytes()
        d.id.write_direct_chunk((4, 0), shuffled, filter_mask=2)
        d.id.write_direct_chunk((8, 0), zlib.compress(values[8:12].tobytes()), filter_mask=1)
        d.id.write_direct_chunk((12, 0), values[12:].tobytes(), filter_mask=3)
        assert np.array_equal(d[...], values)
    run("in.h5", "out.npy", *MEMORY)
    assert same(np.load(tmp_path / "out.npy"), values)
    run("in.h5", "out.h5", *MEMORY)  # the same grid and filters, and yet not verbatim
    assert np.array_equal(read(tmp_path / "out.h5"), values)


def unfiltered_border(path, values, chunk):
    """As h5py cannot ask for it: by the library itself."""
    name = next(iter(sorted(glob.glob("/usr/lib/*/libhdf5_serial.so.*"))), None)
    if name is None:
        pytest.skip("there is no libhdf5_serial")
    h5 = ctypes.CDLL(name)
    for call in ("H5Fcreate", "H5Pcreate", "H5Screate_simple", "H5Dcreate2"):
        getattr(h5, call).restype = ctypes.c_int64
    h5.H5open()
    glb = lambda n: ctypes.c_int64(ctypes.c_int64.in_dll(h5, n).value)
    sizes = lambda n: (ctypes.c_uint64 * len(n))(*n)
    creation = ctypes.c_int64(h5.H5Pcreate(glb("H5P_CLS_DATASET_CREATE_ID_g")))
    assert h5.H5Pset_chunk(creation, values.ndim, sizes(chunk)) >= 0 and h5.H5Pset_deflate(creation, 4) >= 0
    assert h5.H5Pset_chunk_opts(creation, 2) >= 0
    access = ctypes.c_int64(h5.H5Pcreate(glb("H5P_CLS_FILE_ACCESS_ID_g")))
    assert h5.H5Pset_libver_bounds(access, 2, 2) >= 0
    file = ctypes.c_int64(h5.H5Fcreate(str(path).encode(), 2, ctypes.c_int64(0), access))
    space = ctypes.c_int64(h5.H5Screate_simple(values.ndim, sizes(values.shape), None))
    data = ctypes.c_int64(h5.H5Dcreate2(file, b"data", glb("H5T_STD_U16LE_g"), space, ctypes.c_int64(0), creation, ctypes.c_int64(0)))
    all_of_it = ctypes.c_int64(0)
    assert h5.H5Dwrite(data, glb("H5T_STD_U16LE_g"), all_of_it, all_of_it, all_of_it, values.ctypes.data_as(ctypes.c_void_p)) >= 0
    assert h5.H5Dclose(data) >= 0 and h5.H5Fclose(file) >= 0


def test_chunks_at_the_border_without_filters(run, tmp_path):
    """They are left alone, and their mask does not say so."""
    values = some(shape=(10, 9))
    unfiltered_border(tmp_path / "in.h5", values, (4, 4))
    with h5py.File(tmp_path / "in.h5") as f:
        assert np.array_equal(f["data"][...], values) and f["data"].id.get_chunk_info_by_coord((8, 8)).size == 32
    run("in.h5", "out.npy", *MEMORY)
    assert same(np.load(tmp_path / "out.npy"), values)
    run("in.h5", "out.h5", *MEMORY)
    assert np.array_equal(read(tmp_path / "out.h5"), values)


def test_missing_chunks_are_full_of_the_fill_value(run, tmp_path):
    values = np.full((20, 20), -7, "<i2")
    values[8:12, 4:8] = 5
    for name, more in [("plain", {}), ("coded", {"compression": "gzip"})]:
        with h5py.File(tmp_path / "in.h5", "a") as f:
            d = f.create_dataset(name, shape=values.shape, dtype=values.dtype, chunks=(4, 4), fillvalue=-7, **more)
            d[8:12, 4:8] = 5
        assert run.json("info", f"in.h5:/{name}")["n_missing"] == 24
        run(f"in.h5:{name}", f"{name}.npy", *MEMORY)
        assert same(np.load(tmp_path / f"{name}.npy"), values)
        run(f"in.h5:{name}", f"{name}.h5:/x", "--chunks", "2,10", "--codec", "zlib:1", *MEMORY)
        with h5py.File(tmp_path / f"{name}.h5") as f:
            assert np.array_equal(f["x"][...], values) and f["x"].fillvalue == -7
            assert f["x"].id.get_num_chunks() == 2 # of 20: the others are full of it


def test_compact_and_scalar_and_empty(run, tmp_path):
    dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    dcpl.set_layout(h5py.h5d.COMPACT)
    values = some("<f4", (5, 4))
    with h5py.File(tmp_path / "in.h5", "w") as f:
        h5py.h5d.create(f.id, b"compact", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple(values.shape), dcpl=dcpl)
        f["compact"][...] = values
        f["scalar"] = np.float64(2.5)
        f.create_dataset("none", shape=(0, 5), dtype="<i2", maxshape=(None, 5), chunks=(4, 5))
        f["null"] = h5py.Empty("f4")
    for name in ("compact", "scalar", "none"):
        run(f"in.h5:/{name}", f"{name}.npy", *MEMORY)
        assert same(np.load(tmp_path / f"{name}.npy"), np.asarray(read(tmp_path / "in.h5", name)))
        run(f"in.h5:/{name}", f"{name}.h5", *MEMORY)
        assert same_stored(np.asarray(read(tmp_path / f"{name}.h5", name)), np.asarray(read(tmp_path / "in.h5", name)))
    assert "no elements and no shape" in run.error("info", "in.h5:/null")


def test_old_and_new_indices_of_chunks(run, tmp_path):
    """v1 and v2 trees, fixed and extensible arrays, implicit and single: the library knows them, we find what is in them."""
    values = some("<u2", (30, 20))
    grids = {"fixed": {}, "grows": {"maxshape": (None, 20)}, "grows inside": {"maxshape": (30, None)}, "grows both": {"maxshape": (None, None)},
             "single": {"chunks": (30, 20)}, "rests": {"chunks": (7, 3)}}
    for version in (("earliest", "v108"), ("v110", "v110")):
        with h5py.File(tmp_path / "in.h5", "w", libver=version) as f:
            for name, more in grids.items():
                for coded in ("", "gzip"):
                    f.create_dataset(f"{name}{coded}", data=values, **{"chunks": (10, 5), **more, "compression": coded or None})
            names = list(f)
        for name in names:
            run(f"in.h5:/{name}", "out.npy", "--overwrite", *MEMORY)
            assert same(np.load(tmp_path / "out.npy"), values), (version, name)


def test_types_that_have_no_words_stay_in_hdf5(run, tmp_path):
    records = np.zeros((6, 5), [("a", "<i4"), ("b", ">f8", (2,)), ("c", [("d", "S3"), ("e", "?")])])
    records["a"] = np.arange(30).reshape(6, 5)
    with h5py.File(tmp_path / "in.h5", "w") as f:
        f["records"] = records
        f.create_dataset("enum", data=np.arange(30).reshape(6, 5) % 3, dtype=h5py.enum_dtype({"x": 0, "y": 1, "z": 2}, "i2"))
        odd = h5py.h5t.STD_I32LE.copy()
        odd.set_precision(17)
        h5py.h5d.create(f.id, b"odd", odd, h5py.h5s.create_simple((6, 5)))
        f["odd"][...] = np.arange(30).reshape(6, 5)
        f.create_dataset("vlen", (2,), dtype=h5py.string_dtype())
        f.create_dataset("times", data=np.arange(30).astype("M8[s]").reshape(6, 5).astype(h5py.opaque_dtype("M8[s]")))
    for name in ("records", "enum", "odd", "times"):
        run(f"in.h5:/{name}", f"{name}.h5:/{name}", "--chunks", "4,2", "--codec", "zlib:1", *MEMORY)
        with h5py.File(tmp_path / "in.h5") as a, h5py.File(tmp_path / f"{name}.h5") as b:
            assert a[name].id.get_type() == b[name].id.get_type() and a[name][...].tobytes() == b[name][...].tobytes()
    run("in.h5:/records", "records.npy", *MEMORY)
    found = np.load(tmp_path / "records.npy")
    assert found.dtype == records.dtype and found.tobytes() == records.tobytes()
    run("in.h5:/times", "times.npy", *MEMORY)
    assert np.load(tmp_path / "times.npy").dtype == np.dtype("<M8[s]")
    assert "only HDF5 has" in run.error("in.h5:/odd", "odd.npy", *MEMORY)
    assert "varying length" in run.error("in.h5:/vlen", "vlen.h5", *MEMORY)


def test_records_out(run, tmp_path):
    """With members that are arrays, records and booleans, and with gaps."""
    packed = np.dtype([("a", "<i4"), ("b", ">f8", (2, 3)), ("c", [("d", "S3"), ("e", "?")]), ("f", "<c8")])
    for dtype in (packed, np.dtype({"names": ["x", "y"], "formats": ["u1", "<f8"], "offsets": [0, 8], "itemsize": 24})):
        values = np.zeros((6, 5), dtype)
        values[dtype.names[0]] = np.arange(30).reshape(6, 5)
        values[dtype.names[1]] = np.arange(30).reshape(6, 5, *[1] * (dtype[1].ndim))
        np.save(tmp_path / "in.npy", values)
        run("in.npy", "out.h5", "--chunks", "4,2", "--codec", "zlib:1", "--overwrite", *MEMORY)
        found = read(tmp_path / "out.h5")
        assert found.dtype == dtype and all(np.array_equal(found[n], values[n]) for n in dtype.names)
        run("out.h5", "back.npy", "--overwrite", *MEMORY)
        assert np.load(tmp_path / "back.npy").tobytes() == values.tobytes()


# ---- names -----------------------------------------------------------------------------------------------------


def test_which_dataset_is_meant(run, tmp_path):
    make(tmp_path / "in.h5", some())
    assert run.json("info", "in.h5")["dataset"] == "/data"
    make(tmp_path / "in.h5", some("<f4", (3,)), name="group/other")
    message = run.error("info", "in.h5")
    assert "2 datasets" in message and "/data" in message and "/group/other" in message
    assert run.json("info", "in.h5:group/other")["shape"] == [3]
    assert "no dataset 'nope'" in run.error("info", "in.h5:nope")
    (tmp_path / "in.h5").rename(tmp_path / "brain.mat")  # content decides
    assert run.json("info", "brain.mat:/data")["format"] == "hdf5"
    (tmp_path / "text.h5").write_text("no")
    assert "as HDF5" in run.error("info", "text.h5")
    assert "cannot open" in run.error("info", "none.h5:/data")


def test_a_file_without_a_suffix_is_made_by_format(run, tmp_path):
    np.save(tmp_path / "in.npy", some())
    run("in.npy", "out:/data", "--format", "hdf5", *MEMORY)
    assert np.array_equal(read(tmp_path / "out"), some())
    assert "is the name of a" in run.error("in.npy", "x.h5", "--format", "npy", "--chunks", "20,15,11", *MEMORY)
    assert "C order only" in run.error("in.npy", "x.h5", "--to-order", "F", *MEMORY)
    assert "is one file" in run.error("in.npy", "x.h5", "--chunks", "4,5,11", "--shards", "8,5,11", *MEMORY)


def test_overwrite_and_refusal(run, tmp_path):
    make(tmp_path / "in.h5", some())
    (tmp_path / "out.h5").write_text("mine")
    assert "is there already" in run.error("in.h5", "out.h5", *MEMORY)
    run("in.h5", "out.h5", "--overwrite", *MEMORY)
    assert np.array_equal(read(tmp_path / "out.h5"), some())
    assert "are the same" in run.error("in.h5", "in.h5:/other", "--overwrite", *MEMORY)


def test_plans_in_files_know_the_dataset(run, tmp_path):
    make(tmp_path / "in.h5", some(), name="a/b")
    run("plan", "in.h5:/a/b", "out.h5:/c", "--chunks", "5,5,5", "--save", "p.json", "--memory", "32MiB")
    run("run", "p.json", "--quiet")
    assert np.array_equal(read(tmp_path / "out.h5", "c"), some())


# ---- other formats ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [2, 3])
def test_to_zarr_and_back_verbatim(run, tmp_path, version):
    """Deflate and shuffle are zlib and shuffle: chunks are copied as they are stored."""
    values = some() & 0x3ff
    make(tmp_path / "in.h5", values, chunks=(6, 7, 11), compression="gzip", compression_opts=4, shuffle=True, fillvalue=3)
    there = run.json("in.h5", "out.zarr", "--format", f"zarr{version}", "--memory", "32MiB")
    back = run.json("out.zarr", "back.h5", "--memory", "32MiB")
    assert there["strategy"] == back["strategy"] == "copy" and "fingerprint" not in back or back["fingerprint"] is None
    assert equal(np.asarray(zarr.open_array(tmp_path / "out.zarr", mode="r")[...]), values)
    assert zarr.open_array(tmp_path / "out.zarr", mode="r").fill_value == 3
    with h5py.File(tmp_path / "in.h5") as a, h5py.File(tmp_path / "back.h5") as b:
        assert b["data"].compression_opts == 4 and b["data"].shuffle and b["data"].fillvalue == 3
        for index in np.ndindex(4, 3, 1):
            at = tuple(i * c for i, c in zip(index, (6, 7, 11)))
            assert a["data"].id.read_direct_chunk(at) == b["data"].id.read_direct_chunk(at)


@pytest.mark.parametrize("order", ["C", "F"])
def test_from_zarr_in_any_order(run, tmp_path, order):
    values = some(">i4")
    make_zarr(tmp_path / "in.zarr", values, (6, 7, 30), version=2, order=order, fill_value=5)
    run("in.zarr", "out.h5", "--chunks", "9,4,11", "--codec", "shuffle+zlib:1", *MEMORY)
    with h5py.File(tmp_path / "out.h5") as f:
        assert same_stored(f["data"][...], values) and f["data"].fillvalue == 5
    run("in.zarr", "kept.h5", "--codec", "none", *MEMORY)
    with h5py.File(tmp_path / "kept.h5") as f:
        assert f["data"].chunks == (6, 7, 11) and same_stored(f["data"][...], values)


def test_from_zarr_with_gzip(run, tmp_path):
    values = some()
    make_zarr(tmp_path / "in.zarr", values, (6, 7, 11), codec="gzip")
    run("in.zarr", "out.h5", *MEMORY)
    with h5py.File(tmp_path / "out.h5") as f:
        assert f["data"].compression == "gzip" and np.array_equal(f["data"][...], values)


def test_raw_in_fortran_order_and_casts(run, tmp_path):
    values = some("<i2", (9, 8, 7))
    (tmp_path / "in.raw").write_bytes(values.tobytes("F"))
    run("in.raw", "out.h5", "--shape", "9,8,7", "--dtype", "<i2", "--order", "F", "--chunks", "4,4,4", "--codec", "zlib:1",
        "--to-dtype", "<f4", *MEMORY)
    assert same_stored(read(tmp_path / "out.h5"), values.astype("<f4"))
    for codec in ("none", "zlib:1"):
        run("out.h5", "back.h5", "--to-dtype", ">i4", "--chunks", "3,8,2", "--codec", codec, "--overwrite", *MEMORY)
        assert same_stored(read(tmp_path / "back.h5"), values.astype(">i4"))


def test_regions(run, tmp_path):
    values = some()
    make(tmp_path / "in.h5", values, chunks=(6, 7, 11), compression="gzip")
    with h5py.File(tmp_path / "in.h5", "a") as f:
        f["data"].attrs["kept"] = 1
        f["other"] = 2
    run("extract", "in.h5:/data", "out.h5", "--roi", "3:17,2:9,:", *MEMORY)
    with h5py.File(tmp_path / "out.h5") as f:
        assert np.array_equal(f["data"][...], values[3:17, 2:9]) and f["data"].attrs["kept"] == 1
        assert list(f) == ["data"] # other objects are for all of the dataset


# ---- what goes with the values ---------------------------------------------------------------------------------


def test_other_objects_and_links(run, tmp_path):
    values = some()
    with h5py.File(tmp_path / "in.h5", "w") as f:
        d = f.create_dataset("a/data", data=values, chunks=(6, 7, 11))
        d.attrs["text"] = "of any length"
        d.attrs["list"] = ["one", "two"]
        d.attrs["self"] = d.ref
        d.attrs["empty"] = h5py.Empty("f4")
        f["a/other"] = np.arange(5)
        f["a/other"].attrs["about"] = d.ref
        f["again"] = d
        f["other again"] = f["a/other"]
        f["soft"] = h5py.SoftLink("/a/data")
        f["elsewhere"] = h5py.ExternalLink("none.h5", "/x")
        f["circle"] = f["/"]
        f["type"] = np.dtype([("x", "<i4")])
        f["many"] = ["strings", "of", "any length"]
        f.attrs["group"] = f["a"].ref
    run("in.h5:/a/data", "out.h5", "--chunks", "5,5,5", *MEMORY)
    h5dump(tmp_path / "out.h5")
    with h5py.File(tmp_path / "out.h5") as f:
        d = f["a/data"]
        assert np.array_equal(d[...], values) and d.chunks == (5, 5, 5)
        assert d.attrs["text"] == "of any length" and list(d.attrs["list"]) == ["one", "two"]
        assert d.attrs["empty"] == h5py.Empty("f4")
        assert f[d.attrs["self"]] == d and f[f["a/other"].attrs["about"]] == d and f[f.attrs["group"]] == f["a"]
        assert f["again"] == d and f["other again"] == f["a/other"] and f["circle/a/data"] == d
        assert f.get("soft", getlink=True).path == "/a/data" and f.get("elsewhere", getlink=True).filename == "none.h5"
        assert f["type"].dtype == np.dtype([("x", "<i4")]) and [s.decode() for s in f["many"][...]] == ["strings", "of", "any length"]


def test_dimension_scales_stay_attached(run, tmp_path):
    values = some("<f4", (6, 5))
    with h5py.File(tmp_path / "in.h5", "w") as f:
        d = f.create_dataset("data", data=values, chunks=(2, 5))
        for axis, name in enumerate(("y", "x")):
            f[name] = np.arange(values.shape[axis]) * 1.5
            f[name].make_scale(name)
            d.dims[axis].attach_scale(f[name])
            d.dims[axis].label = name
    assert run.json("info", "in.h5")["dataset"] == "/data" # scales are not meant
    run("in.h5", "out.h5", "--chunks", "3,2", *MEMORY)
    with h5py.File(tmp_path / "out.h5") as f:
        assert [f["data"].dims[i].label for i in (0, 1)] == ["y", "x"]
        assert [f["data"].dims[i][0].name for i in (0, 1)] == ["/y", "/x"]
        assert [f[n].is_scale for n in "xy"] == [True, True]
        assert f[f["x"].attrs["REFERENCE_LIST"][0][0]] == f["data"]


def netcdf(path):
    with netCDF4.Dataset(path, "w") as f:
        f.title = "a test"
        f.createDimension("time", None)
        f.createDimension("y", 6)
        f.createDimension("x", 5)
        for name, n in (("time", 8), ("y", 6), ("x", 5)):
            f.createVariable(name, "f8", (name,))[:] = np.arange(n) * 0.5
        v = f.createVariable("t", "f4", ("time", "y", "x"), zlib=True, complevel=1, chunksizes=(1, 6, 5), fill_value=-99.0)
        v.units = "K"
        v[:] = np.arange(240).reshape(8, 6, 5)
        g = f.createGroup("inner")
        g.createVariable("n", "i4", ("x",))[:] = np.arange(5)


def test_netcdf_still_opens(run, tmp_path):
    netcdf(tmp_path / "in.nc")
    run("in.nc:/t", "out.nc", "--chunks", "8,2,5", *MEMORY)
    with netCDF4.Dataset(tmp_path / "in.nc") as a, netCDF4.Dataset(tmp_path / "out.nc") as b:
        assert list(a.variables) == list(b.variables) and list(a.dimensions) == list(b.dimensions) and b.title == "a test"
        t = b["t"]
        assert t.dimensions == ("time", "y", "x") and t.chunking() == [8, 2, 5] and t.units == "K" and t._FillValue == -99
        assert np.array_equal(t[:], a["t"][:]) and np.array_equal(b["inner/n"][:], np.arange(5))
        assert b.dimensions["time"].isunlimited() and np.array_equal(b["time"][:], a["time"][:])
    with netCDF4.Dataset(tmp_path / "out.nc", "a") as f: # and can be written to
        f["t"][8] = 1
        f["inner/n"][0] = 9
    subprocess.run(["ncdump", "out.nc"], cwd=tmp_path, check=True, capture_output=True)


def test_h5dump_shows_the_same(run, tmp_path):
    make(tmp_path / "in.h5", some("<i2", (4, 6)), chunks=(2, 3), compression="gzip")
    run("in.h5", "out.h5", "--chunks", "3,4", *MEMORY)
    assert h5dump(tmp_path / "in.h5").splitlines()[1:] == h5dump(tmp_path / "out.h5").splitlines()[1:]


def test_a_file_of_ours_can_be_written_to(run, tmp_path):
    """Space that libhdf5 was not told of is not taken for free."""
    values = some()
    np.save(tmp_path / "in.npy", values)
    for codec in ("none", "zlib:1"):
        run("in.npy", "out.h5", "--chunks", "6,7,5", "--codec", codec, "--overwrite", *MEMORY)
        with h5py.File(tmp_path / "out.h5", "a") as f:
            f["more"] = np.arange(5000)
            f["data"][3] = 7
            f["data"].attrs["more"] = "x" * 5000
        expected = values.copy()
        expected[3] = 7
        assert np.array_equal(read(tmp_path / "out.h5"), expected)
        assert np.array_equal(read(tmp_path / "out.h5", "more"), np.arange(5000))


# ---- grids of files --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["<u2", ">f8", "?", "<c8", "S3"])
def test_a_grid_of_files(run, tmp_path, dtype):
    """One contiguous dataset in each: written for h5py, and read from what h5py wrote, with other things behind the data."""
    values = some(dtype)
    np.save(tmp_path / "in.npy", np.asfortranarray(values))
    run("in.npy", "parts", "--format", "hdf5", "--chunks", "8,15,4", "--pattern", "b_{0}_{1}_{2}.h5", *MEMORY)
    for index, start, block in blocks_of(values, (8, 15, 4)):
        path = tmp_path / "parts" / f"b_{index[0]}_{index[1]}_{index[2]}.h5"
        assert same_stored(read(path), block)
        h5dump(path)
        with h5py.File(path, "a") as f:
            f["data"].attrs["more"] = "x" * 3000
            f.create_group("other")
    (tmp_path / "parts" / "resplit.json").unlink()
    run("merge", "parts", "out.h5", *MEMORY)
    assert same_stored(read(tmp_path / "out.h5"), values)
    run("verify", "parts", "in.npy", "--memory", "32MiB")


def test_grids_of_files_by_h5py(run, tmp_path):
    values = some("<i4", (10, 9))
    (tmp_path / "parts").mkdir()
    for index, start, block in blocks_of(values, (4, 5)):
        make(tmp_path / "parts" / f"{index[0]}_{index[1]}.h5", block, name="volume", file={"userblock_size": 512} if index[0] else {})
    run("parts", "out.npy", *MEMORY)
    assert same(np.load(tmp_path / "out.npy"), values)
    (tmp_path / "parts" / "1_1.h5").unlink()
    assert "is missing" in run.error("info", "parts")
    make(tmp_path / "parts" / "1_1.h5", values[4:8, 5:], name="volume", chunks=(2, 2))
    assert "1_1.h5' is in chunks, and" in run.error("info", "parts")


def test_fortran_order_in_grids_is_refused(run, tmp_path):
    np.save(tmp_path / "in.npy", some())
    assert "C order only" in run.error("in.npy", "parts", "--format", "hdf5", "--chunks", "8,15,4", "--to-order", "F", *MEMORY)


def test_virtual_datasets_that_the_library_cannot_follow(run, tmp_path):
    """It is told to look elsewhere, and would read the fill value."""
    values = some("<i2", (20, 9))
    virtual(tmp_path / "in.h5", values, 4)
    (tmp_path / "elsewhere").mkdir()
    for i in range(4):
        with h5py.File(tmp_path / "elsewhere" / f"part{i}.h5", "w") as f:
            f["other"] = 1
    assert "does not find" in run.error("info", "in.h5", env={"HDF5_VDS_PREFIX": str(tmp_path / "elsewhere")})
