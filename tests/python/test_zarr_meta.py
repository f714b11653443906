# SPDX-License-Identifier: BSD-3-Clause
"""What goes with the values of a Zarr array: fill values and missing chunks, attributes, groups, levels, codecs nobody knows."""

import json
import struct

import numpy as np
import pytest
import zarr

from conftest import same, sample
from zarr_support import (MEMORY, check_readers, chunk_files, grid_cells, make, metadata_of, native, read, tokens, v2_metadata,
                          v3_metadata, write_json)

NAN = 0x7fc00000
OTHER_NAN = 0x7fc00123
MINUS_ZERO = 0x80000000


def floats(bits):
    return np.array(bits, "<u4").view("<f4")


# ---- fill values and missing chunks -----------------------------------------------------------------------------


def blocks_of_bits(bits):
    """A 1-d array in chunks of 4, each of one pattern of bits."""
    return np.repeat(floats(bits), 4)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("fill, bits", [(0.0, 0), (-0.0, MINUS_ZERO), (float("nan"), NAN), (1.5, 0x3fc00000)])
def test_only_what_is_fill_bit_by_bit_is_left_out(run, tmp_path, version, fill, bits):
    patterns = [0, MINUS_ZERO, NAN, OTHER_NAN, 0x3fc00000]
    values = blocks_of_bits(patterns)
    make(tmp_path / "in.zarr", values, (10,), "none", version, fill_value=fill)
    run("in.zarr", "out.zarr", "--chunks", "4", *MEMORY)
    assert native(read(tmp_path / "out.zarr")).tobytes() == values.tobytes()
    names = {name.rpartition("/")[2] for name in chunk_files(tmp_path / "out.zarr")}
    stored_fill = metadata_of(tmp_path / "out.zarr")["fill_value"]
    assert stored_fill == metadata_of(tmp_path / "in.zarr")["fill_value"]
    if stored_fill == 0 and bits == MINUS_ZERO and not str(json.dumps(stored_fill)).startswith("-"):
        bits = 0 # zarr-python wrote it as 0.0
    assert names == {str(i) for i, pattern in enumerate(patterns) if pattern != bits}
    run("in.zarr", "full.zarr", "--chunks", "4", "--write-empty", *MEMORY)
    assert len(chunk_files(tmp_path / "full.zarr")) == len(patterns)
    assert native(read(tmp_path / "full.zarr")).tobytes() == values.tobytes()


def test_the_payload_of_a_nan_as_fill(run, tmp_path):
    values = blocks_of_bits([NAN, OTHER_NAN, 0])
    write_json(tmp_path / "in.zarr" / "zarr.json", v3_metadata((12,), (6,), "float32", fill_value="0x7fc00123"))
    (tmp_path / "in.zarr" / "c").mkdir()
    (tmp_path / "in.zarr" / "c" / "0").write_bytes(values[:6].tobytes())
    (tmp_path / "in.zarr" / "c" / "1").write_bytes(values[6:].tobytes())
    run("in.zarr", "out.zarr", "--chunks", "4", *MEMORY)
    assert set(chunk_files(tmp_path / "out.zarr")) == {"c/0", "c/2"}
    assert metadata_of(tmp_path / "out.zarr")["fill_value"] == "0x7fc00123"
    run("in.zarr", "out.npy", *MEMORY)
    assert np.load(tmp_path / "out.npy").tobytes() == values.tobytes()


@pytest.mark.parametrize("data_type, fill, dtype, value", [
    ("uint64", 2**64 - 1, "<u8", 2**64 - 1), ("int64", -2**63, "<i8", -2**63), ("bool", True, "?", True),
    ("float64", "-Infinity", "<f8", -np.inf), ("complex64", [1.5, "NaN"], "<c8", None), ("float16", "NaN", "<f2", np.nan)])
def test_missing_chunks_are_fill_and_stay_missing(run, tmp_path, data_type, fill, dtype, value):
    write_json(tmp_path / "in.zarr" / "zarr.json", v3_metadata((9, 9), (3, 3), data_type, fill_value=fill))
    expected = read(tmp_path / "in.zarr")
    run("in.zarr", "out.zarr", "--chunks", "2,9", *MEMORY)
    assert not chunk_files(tmp_path / "out.zarr")
    assert tokens(json.dumps(metadata_of(tmp_path / "out.zarr")["fill_value"])) == tokens(json.dumps(fill))
    check_readers(tmp_path / "out.zarr", expected)
    run("in.zarr", "out.npy", *MEMORY)
    flat = np.load(tmp_path / "out.npy")
    assert flat.dtype == np.dtype(dtype) and native(flat).tobytes() == native(expected).tobytes()
    assert value is None or np.isnan(value) or (flat == value).all()


@pytest.mark.parametrize("version", [2, 3])
def test_some_chunks_are_missing(run, tmp_path, version):
    values = sample((20, 20))
    array = make(tmp_path / "in.zarr", values, (5, 5), version=version, fill_value=9)
    files = chunk_files(tmp_path / "in.zarr")
    for name in sorted(files)[::3]:
        files[name].unlink()
    expected = array[...]
    run("in.zarr", "out.zarr", "--chunks", "3,20", *MEMORY)
    check_readers(tmp_path / "out.zarr", expected)
    run("in.zarr", "same.zarr", *MEMORY) # missing ones stay so
    assert set(chunk_files(tmp_path / "same.zarr")) == set(chunk_files(tmp_path / "in.zarr"))


def test_empty_inner_chunks_are_not_in_shards(run, tmp_path):
    values = np.zeros((16, 16), "<u2")
    values[0, 0] = 1
    np.save(tmp_path / "in.npy", values)
    run("in.npy", "out.zarr", "--chunks", "4,4", "--shards", "8,8", "--codec", "none", *MEMORY)
    assert set(chunk_files(tmp_path / "out.zarr")) == {"c/0/0"}
    shard = (tmp_path / "out.zarr" / "c" / "0" / "0").read_bytes()
    index = struct.unpack("<8Q", shard[-68:-4]) if len(shard) == 32 + 68 else None
    assert index and index[1] == 32 and set(index[2:]) == {2**64 - 1}
    check_readers(tmp_path / "out.zarr", values)
    run("in.npy", "full.zarr", "--chunks", "4,4", "--shards", "8,8", "--codec", "none", "--write-empty", *MEMORY)
    assert len(chunk_files(tmp_path / "full.zarr")) == 4
    check_readers(tmp_path / "full.zarr", values)


# ---- attributes and names ---------------------------------------------------------------------------------------

ATTRIBUTES = ('{"z": 1.0, "a": 1, "big": 123456789012345678901234567890, "small": 1e-400, "exact": 0.1000, "text": "\\u00e9 \\"q\\" /",'
              ' "nested": {"b": [1, 2.50, null, true], "a": {}}, "empty": [], "": "no name"}')


def test_attributes_and_dimension_names_are_kept_as_written(run, tmp_path):
    values = sample((6, 7))
    metadata = json.dumps(v3_metadata((6, 7), (6, 7), dimension_names=["y", None]))
    write_json(tmp_path / "in.zarr" / "zarr.json", metadata[:-1] + f', "attributes": {ATTRIBUTES}}}')
    (tmp_path / "in.zarr" / "c" / "0").mkdir(parents=True)
    (tmp_path / "in.zarr" / "c" / "0" / "0").write_bytes(values.tobytes())
    run("in.zarr", "out.zarr", "--chunks", "4,2", *MEMORY)
    after = dict(tokens((tmp_path / "out.zarr" / "zarr.json").read_text()))
    assert after["attributes"] == tokens(ATTRIBUTES)
    assert after["dimension_names"] == ["y", None]
    assert same(read(tmp_path / "out.zarr"), values)


def test_attributes_of_version_2_are_the_same_file(run, tmp_path):
    values = sample((6, 7))
    write_json(tmp_path / "in.zarr" / ".zarray", v2_metadata((6, 7), (6, 7)))
    write_json(tmp_path / "in.zarr" / ".zattrs", ATTRIBUTES + "\n")
    (tmp_path / "in.zarr" / "0.0").write_bytes(values.tobytes())
    run("in.zarr", "out.zarr", "--chunks", "4,2", *MEMORY)
    assert (tmp_path / "out.zarr" / ".zattrs").read_bytes() == (tmp_path / "in.zarr" / ".zattrs").read_bytes()
    assert same(read(tmp_path / "out.zarr"), values)
    run("in.zarr", "three.zarr", "--format", "zarr3", *MEMORY)
    assert dict(tokens((tmp_path / "three.zarr" / "zarr.json").read_text()))["attributes"] == tokens(ATTRIBUTES)


def test_fields_that_need_not_be_understood_stay_and_others_stop_it(run, tmp_path):
    write_json(tmp_path / "a.zarr" / "zarr.json", v3_metadata((4,), (4,), extra={"must_understand": False, "x": 1}))
    run("a.zarr", "out.zarr", "--chunks", "2", *MEMORY)
    write_json(tmp_path / "b.zarr" / "zarr.json", v3_metadata((4,), (4,), extra={"x": 1}))
    assert "extra" in run.error("b.zarr", "other.zarr", "--chunks", "2", *MEMORY)
    assert not (tmp_path / "other.zarr").exists()


# ---- groups -----------------------------------------------------------------------------------------------------


def a_group(path, version):
    group = zarr.create_group(path, zarr_format=version, attributes={"who": "me"})
    inner = group.create_group("deep", attributes={"level": 1})
    values = {"one": sample((12, 13), seed=1), "deep/two": sample((20, 9), "<f4", seed=2)}
    make(path, values["one"], (5, 5), version=version, name="one", attributes={"n": 1})
    make(path, values["deep/two"], (4, 9), version=version, name="deep/two")
    assert inner.name == "/deep"
    return values


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("args", [("--chunks", "7,4"), ("--codec", "gzip:1"), ()])
def test_a_group_is_all_its_arrays(run, tmp_path, version, args):
    values = a_group(tmp_path / "in.zarr", version)
    run("in.zarr", "out.zarr", *args, *MEMORY)
    group = zarr.open_group(tmp_path / "out.zarr", mode="r")
    assert dict(group.attrs) == {"who": "me"} and dict(group["deep"].attrs) == {"level": 1} and dict(group["one"].attrs) == {"n": 1}
    for name, expected in values.items():
        check_readers(tmp_path / "out.zarr" / name, expected)
        if "--chunks" in args:
            assert group[name].chunks == (7, 4)


@pytest.mark.parametrize("version", [2, 3])
def test_one_array_of_a_group(run, tmp_path, version):
    values = a_group(tmp_path / "in.zarr", version)
    run("in.zarr/deep/two", "out.zarr", "--chunks", "7,4", *MEMORY)
    check_readers(tmp_path / "out.zarr", values["deep/two"])
    run("in.zarr/one", "out.npy", *MEMORY)
    assert same(np.load(tmp_path / "out.npy"), values["one"])


def consolidated_chunks(path, name):
    """The chunks as a reader of consolidated metadata sees them, or None where there are none."""
    try:
        return zarr.open_consolidated(path)[name].chunks
    except ValueError:
        return None


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.filterwarnings("ignore:.*onsolidated")
def test_consolidated_metadata_are_never_stale(run, tmp_path, version):
    values = a_group(tmp_path / "in.zarr", version)
    zarr.consolidate_metadata(tmp_path / "in.zarr")
    assert consolidated_chunks(tmp_path / "in.zarr", "one") == (5, 5)
    run("in.zarr", "out.zarr", "--chunks", "7,4", *MEMORY)
    for name in values:
        assert consolidated_chunks(tmp_path / "out.zarr", name) in (None, (7, 4))
    assert same(np.asarray(zarr.open_group(tmp_path / "out.zarr", mode="r")["one"][...]), values["one"])


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.filterwarnings("ignore:.*onsolidated")
def test_an_array_replaced_inside_a_consolidated_store(run, tmp_path, version):
    values = a_group(tmp_path / "store.zarr", version)
    zarr.consolidate_metadata(tmp_path / "store.zarr")
    new = sample((15, 16), seed=5)
    make(tmp_path / "new.zarr", new, (5, 5), version=version)
    run("new.zarr", "store.zarr/deep/two", "--chunks", "8,3", "--overwrite", *MEMORY)
    assert consolidated_chunks(tmp_path / "store.zarr", "deep/two") in (None, (8, 3))
    group = zarr.open_group(tmp_path / "store.zarr", mode="r")
    assert same(np.asarray(group["deep/two"][...]), new) and same(np.asarray(group["one"][...]), values["one"])


# ---- OME ---------------------------------------------------------------------------------------------------------


def an_image(path, version):
    """Three levels and a mask."""
    multiscales = [{"version": "0.4", "axes": [{"name": n, "type": "space"} for n in "zyx"], "datasets": [
        {"path": str(i), "coordinateTransformations": [{"type": "scale", "scale": [1.0, 2.0**i, 2.0**i]}]} for i in range(3)]}]
    attributes = {"multiscales": multiscales} if version == 2 else {"ome": {"version": "0.5", "multiscales": multiscales}}
    zarr.create_group(path, zarr_format=version, attributes=attributes)
    values = {str(i): sample((4, 40 >> i, 48 >> i), seed=i) for i in range(3)}
    keys = {"dimension_names": ["z", "y", "x"]} if version == 3 else {"chunk_key_encoding": {"name": "v2", "separator": "/"}}
    for name, level in values.items():
        make(path, level, (1, *level.shape[1:]), version=version, name=name, **keys)
    return values, attributes


@pytest.mark.parametrize("version", [2, 3])
def test_all_levels_of_an_image(run, tmp_path, version):
    values, attributes = an_image(tmp_path / "in.zarr", version)
    run("in.zarr", "out.zarr", "--all-levels", "--chunks", "4,16,16", *MEMORY)
    group = zarr.open_group(tmp_path / "out.zarr", mode="r")
    assert dict(group.attrs) == attributes
    for name, level in values.items():
        check_readers(tmp_path / "out.zarr" / name, level)
        assert group[name].chunks in ((4, 16, 16), tuple(min(c, n) for c, n in zip((4, 16, 16), level.shape)))
        if version == 2:
            assert metadata_of(tmp_path / "out.zarr" / name)["dimension_separator"] == "/"
        else:
            assert metadata_of(tmp_path / "out.zarr" / name)["dimension_names"] == ["z", "y", "x"]


# ---- codecs that nobody knows -----------------------------------------------------------------------------------


def an_unknown(path, version):
    """Chunks of a codec that resplit cannot know."""
    if version == 3:
        codecs = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "acme.squeeze", "configuration": {"q": 1.50}}]
        write_json(path / "zarr.json", v3_metadata((8, 8), (4, 4), codecs=codecs))
    else:
        write_json(path / ".zarray", v2_metadata((8, 8), (4, 4), compressor={"id": "acme.squeeze", "q": 1.50}))
    for i, j in grid_cells((8, 8), (4, 4)):
        name = path / (f"c/{i}/{j}" if version == 3 else f"{i}.{j}")
        name.parent.mkdir(parents=True, exist_ok=True)
        name.write_bytes(f"secret {i} {j}".encode() * (i + 1))


@pytest.mark.parametrize("version", [2, 3])
def test_an_unknown_codec_is_copied_and_never_rechunked(run, tmp_path, version):
    an_unknown(tmp_path / "in.zarr", version)
    run("in.zarr", "out.zarr", *MEMORY)
    before, after = (chunk_files(tmp_path / name) for name in ("in.zarr", "out.zarr"))
    assert {n: p.read_bytes() for n, p in before.items()} == {n: p.read_bytes() for n, p in after.items()}
    old, new = metadata_of(tmp_path / "in.zarr"), metadata_of(tmp_path / "out.zarr")
    assert old.get("codecs") == new.get("codecs") and old.get("compressor") == new.get("compressor")
    for number, args in enumerate((("--chunks", "2,2"), ("--codec", "zstd:1"), ("--roi", "1:3,:"))):
        assert "acme.squeeze" in run.error("in.zarr", f"{number}.zarr", *args, *MEMORY)
    assert "acme.squeeze" in run.error("in.zarr", "out.npy", *MEMORY)
    assert {p.name for p in tmp_path.iterdir()} == {"in.zarr", "out.zarr"}
