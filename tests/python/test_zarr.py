# SPDX-License-Identifier: BSD-3-Clause
"""Zarr arrays: what resplit writes is what zarr-python, tensorstore and zarrs read; and from one format to another.

By default every combination of a version and a codec meets every type, shape, order and sharding, though not all at once;
RESPLIT_FULL=1 for all of them.
"""

import itertools
import json
import math

import numpy as np
import pytest
import zarr

from conftest import check_blocks, same, sample, write_blocks, written
from zarr_support import (FULL, MEMORY, check_readers, chunk_files, equal, grid_cells, make, metadata_of, read, write_json,
                          written_chunks, v2_metadata)

CODECS = ["none", "zstd:3", "gzip:6", "blosc:lz4:5:bitshuffle", "blosc:zstd:1:shuffle", "shuffle+zlib:1"]
DTYPES = ["bool", "int8", "uint8", "<i2", ">i2", "<u4", ">u8", "<f2", "<f4", ">f8", "<c8", ">c16"]
SHAPES = [((), (), ()), ((0,), (4,), (8,)), ((5, 0, 3), (2, 2, 2), (4, 2, 4)), ((97,), (10,), (30,)), ((20, 31), (7, 31), (14, 31)),
          ((13, 17, 19), (4, 6, 5), (8, 6, 10)), ((5, 6, 7, 8), (2, 3, 7, 3), (4, 6, 7, 6))] # shape, chunks, shards
STRIDE = 1 if FULL else 5  # shares no factor with the number of shapes, shardings or orders


def combinations(version, codec):
    """(type, (shape, chunks, shards or None), order), every so many of all there are."""
    shardings = (False, True) if version == 3 else (False,)
    every = list(itertools.product(DTYPES, SHAPES, shardings, "CF"))
    for i, (dtype, (shape, chunks, shards), sharded, order) in enumerate(every):
        skipped = (order == "F" and len(shape) < 2) or (sharded and not shape)
        if not skipped and (i + CODECS.index(codec)) % STRIDE == 0:
            yield dtype, (shape, chunks, shards if sharded else None), order


def order_of(metadata):
    """C or F, as the metadata of either version say."""
    if metadata["zarr_format"] == 2:
        return metadata["order"]
    n = len(metadata["shape"])
    transposed = [c["configuration"]["order"] for c in metadata["codecs"] if c["name"] == "transpose"]
    for codec in metadata["codecs"]:
        inner = codec.get("configuration", {}).get("codecs", []) if codec["name"] == "sharding_indexed" else []
        transposed += [c["configuration"]["order"] for c in inner if c["name"] == "transpose"]
    return "F" if transposed == [list(range(n))[::-1]] else "C"


# ---- what is written --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("version", [2, 3])
def test_others_read_what_is_written(run, tmp_path, version, codec):
    n_by_tensorstore = 0
    for number, (dtype, (shape, chunks, shards), order) in enumerate(combinations(version, codec)):
        values = sample(shape, dtype, seed=number + 1)
        np.save(tmp_path / "in.npy", values)
        out = tmp_path / f"{number}.zarr"
        args = ["in.npy", out, *written_chunks(chunks), "--codec", codec, "--format", f"zarr{version}", "--to-order", order, *MEMORY]
        context = (dtype, shape, chunks, shards, order)
        run(*args, *(["--shards", written(shards)] if shards else []))
        n_by_tensorstore += check_readers(out, values, context)
        array = zarr.open_array(out, mode="r")
        assert (array.metadata.zarr_format, array.chunks, array.shards) == (version, chunks, shards), context
        assert len(shape) < 2 or order_of(metadata_of(out)) == order, context
    assert n_by_tensorstore or "shuffle+" in codec


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("dtype", ["S5", "V12", "<U3", "<M8[ns]", ">m8[10us]"])
def test_other_types_keep_their_bits(run, tmp_path, version, dtype):
    values = sample((9, 10), dtype) if dtype != "<U3" else np.array([["a", "bcd", "é"], ["", "xyz", "\u4e2d"]])
    if version == 3 and dtype == "V12":
        pytest.skip("zarr-python has no r96")
    np.save(tmp_path / "in.npy", values)
    run("in.npy", "a.zarr", "--chunks", "2,2", "--format", f"zarr{version}", "--codec", "zstd:1", *MEMORY)
    run("a.zarr", "b.zarr", "--chunks", "3,1", *MEMORY)
    run("b.zarr", "out.npy", *MEMORY)
    assert equal(np.load(tmp_path / "out.npy"), values)
    assert equal(read(tmp_path / "b.zarr"), values)


@pytest.mark.parametrize("version", [2, 3])
def test_the_command_names_what_it_wrote(run, tmp_path, version):
    values = sample((20, 31))
    make(tmp_path / "in.zarr", values, (7, 7), version=version)
    result = run.json("in.zarr", "out.zarr", "--chunks", "9,31", "--memory", "4MiB")
    assert result["shape"] == [20, 31]
    info = run.json("info", "out.zarr")
    assert info["chunks"] == [9, 31] and info["format"] == f"zarr{version}" and info["shape"] == [20, 31]
    assert run("verify", "in.zarr", "out.zarr", "--memory", "4MiB").stdout == "equal\n"


@pytest.mark.parametrize("codec, changed", [("bitround:5+zstd:1", True), ("zstd:1", False), ("shuffle+zlib:1", False)])
def test_a_codec_that_loses_digits_is_told(run, tmp_path, codec, changed):
    values = sample((20, 30), "<f4", seed=1)
    np.save(tmp_path / "in.npy", values)
    said = run.json("in.npy", "out.zarr", "--chunks", "7,9", "--codec", codec, "--format", "zarr2", *MEMORY)
    assert (not same(read(tmp_path / "out.zarr"), values)) == changed
    assert ("does not keep every value" in said.get("notes", "")) == changed and (said["fingerprint"] is None) == changed


@pytest.mark.parametrize("options", [(), ("--codec", "zstd:1"), ("--to-order", "F"), ("--to-dtype", "f8"), ("--roi", "5:60,3:,:70")],
                         ids=["plain", "zstd", "F", "cast", "region"])
@pytest.mark.parametrize("dtype,chunks", [("<f4", (61, 4, 16)), ("<i2", (20, 7, 9)), ("V3", (61, 5, 5))], ids=["lines", "ragged", "odd"])
def test_maps_become_series(run, tmp_path, dtype, chunks, options):
    """Every map has a little of every series, of which hundreds wait side by side; in one buffer, and in several."""
    if dtype == "V3" and "--to-dtype" in options:
        pytest.skip("is no number")
    array = sample((61, 50, 80), dtype)
    write_blocks(tmp_path / "in", array, (1, 50, 80), "{0}_{1}_{2}.npy")
    with np.errstate(invalid="ignore"): # NaNs that signal
        expected = array.astype("f8") if "--to-dtype" in options else array[5:60, 3:, :70] if "--roi" in options else array
    for memory in ("64MiB", "1MiB", "500KiB"):
        out = tmp_path / f"{memory}.zarr"
        run("in", out, "--chunks", written(chunks), "--memory", memory, *options)
        assert same(read(out), expected), memory


# ---- what is kept without being asked ---------------------------------------------------------------------------


@pytest.mark.parametrize("version, codec", [(3, "zstd"), (3, "gzip"), (3, "blosc"), (3, "none"), (2, "zstd"), (2, "zlib"), (2, "lz4"),
                                            (2, "bz2"), (2, "blosc"), (2, "none")])
def test_codecs_and_version_are_kept(run, tmp_path, version, codec):
    values = sample((20, 31), "<f4")
    make(tmp_path / "in.zarr", values, (7, 7), codec, version)
    run("in.zarr", "out.zarr", "--chunks", "5,31", *MEMORY)
    before, after = metadata_of(tmp_path / "in.zarr"), metadata_of(tmp_path / "out.zarr")
    for key in ("codecs", "compressor", "filters", "order", "fill_value", "data_type", "dtype"):
        assert before.get(key) == after.get(key), key
    check_readers(tmp_path / "out.zarr", values)


@pytest.mark.parametrize("version", [2, 3])
def test_the_same_grid_and_codecs_copy_chunks_as_they_are(run, tmp_path, version):
    make(tmp_path / "in.zarr", sample((20, 31)), (7, 7), version=version)
    run("in.zarr", "out.zarr", *MEMORY)
    before, after = chunk_files(tmp_path / "in.zarr"), chunk_files(tmp_path / "out.zarr")
    assert {name: p.read_bytes() for name, p in before.items()} == {name: p.read_bytes() for name, p in after.items()}
    assert metadata_of(tmp_path / "in.zarr") == metadata_of(tmp_path / "out.zarr")


@pytest.mark.parametrize("shards", [(8, 12), (4, 24), (20, 36)])
def test_shards_change_and_inner_chunks_stay(run, tmp_path, shards):
    values = sample((19, 31))
    make(tmp_path / "in.zarr", values, (4, 6), shards=(8, 12))
    run("in.zarr", "out.zarr", "--shards", written(shards), *MEMORY)
    array = zarr.open_array(tmp_path / "out.zarr", mode="r")
    assert (array.chunks, array.shards) == ((4, 6), shards)
    check_readers(tmp_path / "out.zarr", values)
    assert len(chunk_files(tmp_path / "out.zarr")) == len(grid_cells((19, 31), shards))


@pytest.mark.parametrize("chunks, sector", [((64, 80, 80), 4096), ((64, 160, 40), 4096), ((8, 80, 80), 1)],
                         ids=["as they are", "encoded anew", "short"])
def test_blocks_follow_one_another_in_a_shard(run, tmp_path, chunks, sector):
    """Long ones, which are written past the page cache into room that was made ahead, have whole sectors; others have no gaps."""
    values = np.random.default_rng(5).integers(0, 1 << 14, (128, 160, 160), dtype="<u2")
    make(tmp_path / "in.zarr", values, (64, 80, 80), shards=(64, 160, 160))
    run("in.zarr", "out.zarr", "--chunks", written(chunks), "--shards", "128,160,80", *MEMORY)
    check_readers(tmp_path / "out.zarr", values)
    files = chunk_files(tmp_path / "out.zarr")
    assert len(files) == 2
    n = math.prod(s // c for s, c in zip((128, 160, 80), chunks))
    for path in files.values():
        stored = path.read_bytes()
        entries = np.frombuffer(stored[-16 * n - 4:-4], "<u8").reshape(n, 2).tolist()  # offset and bytes of each, then a checksum
        at = 0
        for begin, length in sorted(entries):
            assert begin == at and (length > 256 << 10) == (sector > 1)
            at = -(-(begin + length) // sector) * sector
            assert not any(stored[begin + length:at])
        assert len(stored) == at + 16 * n + 4


@pytest.mark.parametrize("codec", ["none", "gzip:1", "blosc:zlib:3:noshuffle"])
def test_only_the_codec_changes(run, tmp_path, codec):
    values = sample((19, 31))
    make(tmp_path / "in.zarr", values, (4, 6))
    run("in.zarr", "out.zarr", "--codec", codec, *MEMORY)
    assert zarr.open_array(tmp_path / "out.zarr", mode="r").chunks == (4, 6)
    names = [c["name"] for c in metadata_of(tmp_path / "out.zarr")["codecs"]]
    assert names == ["bytes"] + ([codec.partition(":")[0]] if codec != "none" else [])
    check_readers(tmp_path / "out.zarr", values)


PLAIN = {"zarr": ["--codec", "none"], "npy": ["--format", "npy"], "raw": ["--format", "raw"]}


def read_plain(folder, kind, like, chunks):
    """What is in blocks of the same grid, as NumPy reads them."""
    if kind == "zarr":
        return read(folder)
    values = np.empty_like(like)
    for cell in grid_cells(like.shape, chunks):
        box = tuple(slice(i * c, min((i + 1) * c, n)) for i, c, n in zip(cell, chunks, like.shape))
        path = next(folder.glob("_".join(map(str, cell)) + ".*"))
        values[box] = np.load(path) if kind == "npy" else np.fromfile(path, like.dtype).reshape(values[box].shape)
    return values


@pytest.mark.parametrize("kind", PLAIN)
@pytest.mark.parametrize("shape, chunks", [((1024, 512), (256, 256)), ((700, 515), (256, 256)), ((19, 31, 7), (4, 6, 3)), ((5,), (8,))])
def test_the_same_grid_is_decoded_where_it_is_written_from(run, tmp_path, shape, chunks, kind):
    """Blocks inside and at the border of the array, long and short ones, one that is missing."""
    values = sample(shape, "<u4")
    values[tuple(slice(0, c) for c in chunks)] = 0
    make(tmp_path / "in.zarr", values, chunks)
    out = tmp_path / ("out.zarr" if kind == "zarr" else "out")
    said = json.loads(run("plan", "in.zarr", out.name, "--chunks", written(chunks), *PLAIN[kind], "--json").stdout)
    ragged = any(n % c for n, c in zip(shape, chunks))
    assert (said["strategy"] == "copy") == (kind == "zarr" or not ragged) # other formats have shorter blocks at the border
    run("in.zarr", out.name, "--chunks", written(chunks), *PLAIN[kind], *MEMORY)
    assert equal(read_plain(out, kind, values, chunks), values)
    if kind != "raw":
        assert run("verify", "in.zarr", out.name, "--exact", "--memory", "8MiB").stdout == "equal\n"
        assert run("verify", out.name, "in.zarr", "--exact", "--memory", "8MiB").stdout == "equal\n"


@pytest.mark.parametrize("to, copied", [(">u4", True), ("uint8", True), ("float64", False)])
def test_the_same_grid_in_another_type(run, tmp_path, to, copied):
    """Cast where it lies, if it becomes no longer there."""
    values = sample((768, 512), "<u4") % 200
    make(tmp_path / "in.zarr", values, (256, 256))
    more = ["--chunks", "256,256", "--format", "npy", "--to-dtype", to]
    said = json.loads(run("plan", "in.zarr", "out", *more, "--json").stdout)
    assert (said["strategy"] == "copy") == copied
    run("in.zarr", "out", *more, *MEMORY)
    assert equal(read_plain(tmp_path / "out", "npy", values.astype(to), (256, 256)), values.astype(to))


# ---- v2 and v3 --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("codec", ["none", "zstd", "gzip", "blosc"])
@pytest.mark.parametrize("version", [2, 3])
def test_one_version_becomes_the_other_and_back(run, tmp_path, version, codec, order):
    values = sample((12, 13, 14), ">f4")
    array = make(tmp_path / "a.zarr", values, (5, 13, 4), codec, version, fill_value=7.5, attributes={"unit": "m"}, order=order)
    other = 5 - version
    run("a.zarr", "b.zarr", "--format", f"zarr{other}", *MEMORY)
    made = zarr.open_array(tmp_path / "b.zarr", mode="r")
    assert (made.metadata.zarr_format, made.chunks, made.fill_value) == (other, array.chunks, 7.5)
    assert dict(made.attrs) == {"unit": "m"}
    check_readers(tmp_path / "b.zarr", values)
    run("b.zarr", "c.zarr", "--format", f"zarr{version}", "--chunks", "12,3,14", *MEMORY)
    check_readers(tmp_path / "c.zarr", values)


@pytest.mark.parametrize("separator", ["/", ".", None])
def test_keys_of_version_2(run, tmp_path, separator):
    """The separator is kept; a nested store that does not say so is found out."""
    values = sample((9, 10))
    metadata = v2_metadata((9, 10), (4, 5), **({"dimension_separator": separator} if separator else {}))
    write_json(tmp_path / "in.zarr" / ".zarray", metadata)
    for i, j in grid_cells((9, 10), (4, 5)):
        block = np.zeros((4, 5), "<u2")
        part = values[4 * i:4 * i + 4, 5 * j:5 * j + 5]
        block[:part.shape[0], :part.shape[1]] = part
        path = tmp_path / "in.zarr" / (separator or "/").join((str(i), str(j)))
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(block.tobytes())
    run("in.zarr", "out.zarr", "--chunks", "3,10", *MEMORY)
    assert same(read(tmp_path / "out.zarr"), values)
    if separator:
        assert metadata_of(tmp_path / "out.zarr").get("dimension_separator", ".") == separator


def test_what_lies_behind_the_border_never_leaks(run, tmp_path):
    """A border chunk of version 2 holds anything outside of the array."""
    values = np.arange(30, dtype="<u2").reshape(5, 6)
    write_json(tmp_path / "in.zarr" / ".zarray", v2_metadata((5, 6), (4, 4)))
    for i, j in grid_cells((5, 6), (4, 4)):
        block = np.full((4, 4), 0xDEAD, "<u2")
        part = values[4 * i:4 * i + 4, 4 * j:4 * j + 4]
        block[:part.shape[0], :part.shape[1]] = part
        (tmp_path / "in.zarr" / f"{i}.{j}").write_bytes(block.tobytes())
    run("in.zarr", "out.zarr", "--chunks", "3,4", "--format", "zarr3", *MEMORY)
    check_readers(tmp_path / "out.zarr", values)
    assert all(b"\xad\xde" not in p.read_bytes() for p in chunk_files(tmp_path / "out.zarr").values())


# ---- other formats, types, regions ------------------------------------------------------------------------------


@pytest.mark.parametrize("shards", [None, (8, 8, 10)])
def test_npy_raw_and_blocks_to_zarr_and_back(run, tmp_path, shards):
    values = sample((11, 13, 17), "<f4")
    np.save(tmp_path / "in.npy", values)
    (tmp_path / "in.raw").write_bytes(values.tobytes("F"))
    write_blocks(tmp_path / "blocks", values, (4, 5, 6), "{0}_{1}_{2}.npy")
    more = ["--shards", written(shards)] if shards else []
    raw = ["--dtype", "float32", "--shape", "11,13,17", "--order", "F"]
    for number, source in enumerate((["in.npy"], ["in.raw", *raw], ["blocks"])):
        out = f"{number}.zarr"
        run(source[0], out, *source[1:], "--chunks", "4,4,5", *more, "--codec", "zstd:1", *MEMORY)
        check_readers(tmp_path / out, values)
        run(out, f"{number}.npy", *MEMORY)
        assert equal(np.load(tmp_path / f"{number}.npy"), values)
    run("0.zarr", "back", "--format", "npy", "--chunks", "6,13,5", *MEMORY)
    check_blocks(tmp_path / "back", values, (6, 13, 5), "{0}_{1}_{2}.npy")
    run("0.zarr", "back.raw", *MEMORY)
    assert (tmp_path / "back.raw").read_bytes() in (values.tobytes(), values.tobytes("F"))


@pytest.mark.parametrize("roi", ["2:9,:,4:16", "5,:,-3:", ":,3:4,:"])
@pytest.mark.parametrize("shards", [None, (6, 8, 10)])
def test_regions(run, tmp_path, roi, shards):
    values = sample((11, 13, 17))
    box = []
    for text in roi.split(","):
        bounds = [int(t) if t else None for t in text.split(":")]
        box.append(slice(bounds[0], bounds[0] + 1) if len(bounds) == 1 else slice(*bounds))
    make(tmp_path / "in.zarr", values, (3, 4, 5), shards=shards)
    run("in.zarr", "out.npy", "--roi", roi, *MEMORY)
    assert equal(np.load(tmp_path / "out.npy"), values[tuple(box)])
    run("in.zarr", "out.zarr", "--roi", roi, "--chunks", "2,2,2", *MEMORY)
    check_readers(tmp_path / "out.zarr", values[tuple(box)])


@pytest.mark.parametrize("to", ["float64", ">i4", "uint8"])
def test_types_change_on_the_way(run, tmp_path, to):
    values = sample((11, 13)) % 200
    make(tmp_path / "in.zarr", values, (3, 4))
    run("in.zarr", "out.zarr", "--chunks", "5,5", "--to-dtype", to, *MEMORY)
    check_readers(tmp_path / "out.zarr", values.astype(to))


@pytest.mark.parametrize("order", "CF")
def test_order_changes_on_the_way(run, tmp_path, order):
    values = sample((11, 13))
    for version in (2, 3):
        make(tmp_path / f"{version}.zarr", values, (3, 4), version=version, order="F" if order == "C" else "C")
        run(f"{version}.zarr", f"out{version}.zarr", "--to-order", order, *MEMORY)
        assert order_of(metadata_of(tmp_path / f"out{version}.zarr")) == order
        check_readers(tmp_path / f"out{version}.zarr", values)


# ---- what is said about it ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("shards", [None, (6, 8)])
def test_info_says_how_it_is_stored(run, tmp_path, shards):
    values = np.zeros((12, 16), "<u2")
    values[:5, :5] = 7
    array = make(tmp_path / "in.zarr", values, (3, 4), shards=shards)
    info = run.json("info", "in.zarr")
    assert (info["codec"], info["shards"], info["order"]) == ("zstd:1", list(shards) if shards else None, "C")
    assert (info["n_blocks"], info["n_stored"], info["n_missing"]) == (16, 4, 12)
    if shards is None:
        assert info["stored_bytes"] == sum(p.stat().st_size for p in chunk_files(tmp_path / "in.zarr").values())
        assert array.nchunks_initialized == 4
    assert info["ratio"] == pytest.approx(values.nbytes / info["stored_bytes"], abs=1e-5)
    text = run("info", "in.zarr").stdout
    assert "zarr3, zstd:1" + (", in shards of 6 x 8" if shards else "") + ", 'in.zarr'" in text
    assert f"{info['stored_bytes']} B" in text and "4 of 16 blocks, 12 missing" in text


def test_info_of_odd_arrays(run, tmp_path):
    make(tmp_path / "none.zarr", np.zeros((6, 6)), (3, 3), codec="none")
    info = run.json("info", "none.zarr")
    assert (info["codec"], info["n_missing"], info["stored_bytes"], info["ratio"]) == (None, 4, 0, None)
    assert "not compressed" in run("info", "none.zarr").stdout
    make(tmp_path / "turned.zarr", sample((4, 5, 6)), (2, 3, 4), filters=[zarr.codecs.TransposeCodec(order=(1, 0, 2))])
    assert run.json("info", "turned.zarr")["order"] is None
    assert "in neither C nor F order" in run("info", "turned.zarr").stdout


def test_a_run_says_what_it_stored(run, tmp_path):
    values = sample((12, 16)) % 3
    make(tmp_path / "in.zarr", values, (3, 4))
    done = run.json("in.zarr", "out.zarr", "--chunks", "6,8", "--codec", "zlib:9", "--memory", "32MiB")
    assert (done["codec"], done["shards"]) == ("zlib:9", None)
    for key, name in (("stored_read", "in.zarr"), ("stored_written", "out.zarr")):
        assert done[key] == run.json("info", name)["stored_bytes"], key
    text = run("in.zarr", "again.zarr", "--chunks", "6,8", "--codec", "zlib:9", "--memory", "32MiB").stdout
    assert f"{done['stored_read']} B read; {done['stored_written']} B written" in text
    assert "to            4 blocks of 6 x 8, zarr3, zlib:9, 'again.zarr'" in text


def test_the_version_lists_formats_and_codecs(run):
    lines = run("--version").stdout.splitlines()
    assert "formats: raw, npy, zarr2, zarr3, hdf5, nifti, nifti1, nifti2, minc2" in lines
    assert next(line for line in lines if line.startswith("codecs: none, blosc, zstd"))


# ---- what is already there --------------------------------------------------------------------------------------


def test_an_array_that_is_there_is_refused_and_replaced_on_request(run, tmp_path):
    old, new = sample((8, 8), seed=1), sample((9, 9), seed=2)
    make(tmp_path / "old.zarr", old, (2, 2))
    make(tmp_path / "new.zarr", new, (4, 4))
    assert "old.zarr" in run.error("new.zarr", "old.zarr", "--chunks", "5,5", *MEMORY)
    assert same(read(tmp_path / "old.zarr"), old)
    run("new.zarr", "old.zarr", "--chunks", "5,5", "--overwrite", *MEMORY)
    check_readers(tmp_path / "old.zarr", new)
    assert len(chunk_files(tmp_path / "old.zarr")) == 4
    assert {p.name for p in tmp_path.iterdir()} == {"old.zarr", "new.zarr"}


def test_the_source_is_never_its_own_target(run, tmp_path):
    values = sample((8, 8))
    make(tmp_path / "a.zarr", values, (2, 2))
    run.error("a.zarr", "./a.zarr", "--chunks", "5,5", "--overwrite", *MEMORY)
    run.error("a.zarr", "a.zarr/c", "--chunks", "5,5", "--overwrite", *MEMORY)
    assert same(read(tmp_path / "a.zarr"), values)


def test_little_memory_is_enough_and_less_is_refused(run, tmp_path):
    values = sample((64, 64, 64), "<f4")
    make(tmp_path / "in.zarr", values, (1, 64, 64))
    assert "at least" in run.error("in.zarr", "out.zarr", "--chunks", "64,8,8", "--memory", "1KiB", "--quiet")
    assert not (tmp_path / "out.zarr").exists()
    run("in.zarr", "out.zarr", "--chunks", "64,8,8", "--memory", "1MiB", "--quiet")
    check_readers(tmp_path / "out.zarr", values)


def test_a_codec_that_loses_values_leaves_no_fingerprint(run, tmp_path):
    np.save(tmp_path / "in.npy", np.random.default_rng(1).normal(size=(40, 40)))
    for codec, kept in (("zstd:1", True), ("quantize:2:f8+zstd:1", False)):
        run("in.npy", "out.zarr", "--chunks", "10,10", "--codec", codec, "--overwrite", *MEMORY)
        assert (run.json("info", "out.zarr")["fingerprint"] is not None) == kept, codec
        said = run.anyhow("verify", "in.npy", "out.zarr", "--memory", "32MiB")
        assert (said.returncode == 0) == kept, codec
