# SPDX-License-Identifier: BSD-3-Clause
"""Stores that are broken, or meant to break something: exit code 1, one sentence, and nothing is left behind."""

import json
import os
import struct

import numcodecs
import numpy as np
import pytest
import zarr

from conftest import same, sample
from zarr_support import MEMORY, below, chunk_files, make, metadata_of, read, v2_metadata, v3_metadata, write_json

SHAPE, CHUNKS, SHARDS = (16, 16), (4, 4), (8, 8)
INDEX = 4 * 16 + 4  # bytes of a shard's index: four inner chunks, and the checksum


def refused(run, source, *args, target="out.zarr"):
    """What it said, after a look at what it left."""
    before = below(run.folder)
    said = run.error(source, target, *args, *MEMORY)
    lines = said.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("resplit: ") and len(lines[0]) < 500, said
    assert below(run.folder) == before, "something was left behind, or the source was touched"
    return said


def checksum(data):
    return bytes(numcodecs.CRC32C(location="end").encode(data))[-4:]


# ---- chunks -----------------------------------------------------------------------------------------------------


def short(data):
    return data[:-1]


def empty(data):
    return b""


def garbage(data):
    return bytes(range(1, 1 + min(200, len(data)))) * (len(data) // 200 + 1)


def long(data):
    return data + b"x"


BROKEN = [short, empty, garbage, long]


@pytest.mark.parametrize("how", BROKEN)
@pytest.mark.parametrize("version, codec", [(2, "none"), (2, "zlib"), (2, "lz4"), (2, "blosc"), (2, "bz2"), (3, "none"), (3, "zstd"),
                                            (3, "gzip"), (3, "blosc")])
def test_a_broken_chunk(run, tmp_path, version, codec, how):
    if how is garbage and codec == "none":
        pytest.skip("any bytes are values")
    if how is long and codec != "none":
        pytest.skip("a codec may not see what follows its end")
    make(tmp_path / "in.zarr", sample(SHAPE), CHUNKS, codec, version)
    files = chunk_files(tmp_path / "in.zarr")
    name = sorted(files)[5]
    files[name].write_bytes(how(files[name].read_bytes()))
    assert name in refused(run, "in.zarr", "--chunks", "3,16")
    refused(run, "in.zarr", target="out.npy")


@pytest.mark.parametrize("codec", ["zstd", "gzip"])
@pytest.mark.parametrize("n_bytes", [16, 1 << 26])
def test_a_chunk_that_decodes_to_another_length(run, tmp_path, codec, n_bytes):
    """Too little, or a bomb: memory is what was given, whatever a file says."""
    make(tmp_path / "in.zarr", sample(SHAPE), CHUNKS, codec)
    coder = numcodecs.Zstd(level=1) if codec == "zstd" else numcodecs.GZip(level=1)
    (tmp_path / "in.zarr" / "c" / "1" / "1").write_bytes(bytes(coder.encode(bytes(n_bytes))))
    assert "c/1/1" in refused(run, "in.zarr", "--chunks", "3,16")


def test_a_chunk_that_is_a_folder(run, tmp_path):
    make(tmp_path / "in.zarr", sample(SHAPE), CHUNKS)
    (tmp_path / "in.zarr" / "c" / "1" / "1").unlink()
    (tmp_path / "in.zarr" / "c" / "1" / "1").mkdir()
    assert "c/1/1" in refused(run, "in.zarr", "--chunks", "3,16")


# ---- shards -----------------------------------------------------------------------------------------------------


def change_index(path, change, fix_checksum=True):
    """Entries of a shard's index as a list of [offset, bytes]."""
    data = path.read_bytes()
    numbers = list(struct.unpack("<8Q", data[-INDEX:-4]))
    change(numbers)
    index = struct.pack("<8Q", *numbers)
    path.write_bytes(data[:-INDEX] + index + (checksum(index) if fix_checksum else data[-4:]))


def outside(numbers):
    numbers[0] = 10**6


def beyond(numbers):
    numbers[1] = 10**9


def wrapping(numbers):
    numbers[0], numbers[1] = 2**64 - 16, 32


def halfway(numbers):
    numbers[0] = 2**64 - 1


def signed(numbers):
    numbers[1] = 2**63


@pytest.mark.parametrize("change", [outside, beyond, wrapping, halfway, signed])
@pytest.mark.parametrize("args", [("--chunks", "3,16"), ("--shards", "16,16")])
def test_a_shard_whose_index_leads_out(run, tmp_path, change, args):
    make(tmp_path / "in.zarr", sample(SHAPE), CHUNKS, shards=SHARDS)
    change_index(tmp_path / "in.zarr" / "c" / "1" / "0", change)
    assert "c/1/0" in refused(run, "in.zarr", *args)


def test_a_shard_whose_checksum_is_wrong(run, tmp_path):
    make(tmp_path / "in.zarr", sample(SHAPE), CHUNKS, shards=SHARDS)
    path = tmp_path / "in.zarr" / "c" / "0" / "1"
    change_index(path, lambda numbers: numbers.__setitem__(0, numbers[0] ^ 1), fix_checksum=False)
    assert "c/0/1" in refused(run, "in.zarr", "--chunks", "3,16")
    assert "c/0/1" in refused(run, "in.zarr", "--shards", "16,16")


@pytest.mark.parametrize("n_bytes", [0, 10, INDEX - 1])
def test_a_shard_shorter_than_its_index(run, tmp_path, n_bytes):
    make(tmp_path / "in.zarr", sample(SHAPE), CHUNKS, shards=SHARDS)
    path = tmp_path / "in.zarr" / "c" / "0" / "1"
    path.write_bytes(path.read_bytes()[:n_bytes])
    assert "c/0/1" in refused(run, "in.zarr", "--chunks", "3,16")


# ---- metadata ---------------------------------------------------------------------------------------------------


def grid(chunks):
    return {"name": "regular", "configuration": {"chunk_shape": chunks}}


V3 = {
    "shape negative": {"shape": [-1, 16]}, "shape huge": {"shape": [2**62, 2**62]}, "shape text": {"shape": "16"},
    "shape fraction": {"shape": [1.5, 16]}, "chunks zero": {"chunk_grid": grid([0, 4])}, "chunks rank": {"chunk_grid": grid([4])},
    "chunks huge": {"chunk_grid": grid([2**62, 2**62])}, "chunks negative": {"chunk_grid": grid([-4, 4])},
    "grid unknown": {"chunk_grid": {"name": "spiral", "configuration": {}}}, "type unknown": {"data_type": "float17"},
    "no codecs": {"codecs": []}, "codecs text": {"codecs": "bytes"}, "codec number": {"codecs": [7]},
    "keys unknown": {"chunk_key_encoding": {"name": "roman"}}, "fill text": {"fill_value": "zero"}, "fill range": {"fill_value": 70000},
    "transformers": {"storage_transformers": [{"name": "x"}]}, "names rank": {"dimension_names": ["x"]},
    "inner chunk": {"codecs": [{"name": "sharding_indexed", "configuration": {"chunk_shape": [3, 4], "codecs": [
        {"name": "bytes", "configuration": {"endian": "little"}}], "index_codecs": [
            {"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]}}]},
    "node": {"node_type": "tree"}, "version": {"zarr_format": 4},
}
TEXTS = ["", "{", "[]", "null", "nonsense", '{"zarr_format": 3', "[" * 100000, "\x00", '{"zarr_format": 3, "node_type": "array"}']


@pytest.mark.parametrize("change", V3.values(), ids=V3)
def test_metadata_of_version_3_that_mean_nothing(run, tmp_path, change):
    write_json(tmp_path / "in.zarr" / "zarr.json", {**v3_metadata(SHAPE, CHUNKS), **change})
    refused(run, "in.zarr", "--chunks", "3,16")


@pytest.mark.parametrize("change", [{"shape": [-1, 16]}, {"chunks": [0, 4]}, {"chunks": [4]}, {"dtype": "<q9"}, {"dtype": "|O"},
                                    {"order": "X"}, {"compressor": 5}, {"filters": "delta"}, {"zarr_format": 1}, {"fill_value": "x"},
                                    {"dimension_separator": "-"}, {"dtype": [["a", "<i2"], 5]}], ids=str)
def test_metadata_of_version_2_that_mean_nothing(run, tmp_path, change):
    write_json(tmp_path / "in.zarr" / ".zarray", {**v2_metadata(SHAPE, CHUNKS), **change})
    refused(run, "in.zarr", "--chunks", "3,16")


@pytest.mark.parametrize("name", ["zarr.json", ".zarray"])
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_metadata_that_are_none(run, tmp_path, name, text):
    write_json(tmp_path / "in.zarr" / name, text)
    assert name in refused(run, "in.zarr", "--chunks", "3,16") or name == ".zarray"


@pytest.mark.parametrize("shards, chunks", [("7,8", "4,4"), ("8", "4,4"), ("2,2", "4,4")])
def test_shards_that_chunks_do_not_divide(run, tmp_path, shards, chunks):
    make(tmp_path / "in.zarr", sample(SHAPE), CHUNKS)
    done = run.anyhow("in.zarr", "out.zarr", "--chunks", chunks, "--shards", shards, *MEMORY)
    assert done.returncode in (1, 2) and done.stderr.startswith("resplit: ")
    assert [p.name for p in tmp_path.iterdir()] == ["in.zarr"]


# ---- paths that lead out ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["../secret", "/etc", "a/../../secret", ".."])
def test_levels_that_lead_out_of_the_store(run, tmp_path, path):
    make(tmp_path / "secret", sample(SHAPE), CHUNKS)
    ome = {"version": "0.5", "multiscales": [{"axes": [{"name": "y"}, {"name": "x"}], "datasets": [{"path": path}]}]}
    zarr.create_group(tmp_path / "in.zarr", attributes={"ome": ome})
    make(tmp_path / "in.zarr", sample(SHAPE), CHUNKS, name="0")
    refused(run, "in.zarr", "--all-levels", "--chunks", "3,16")


def test_names_in_consolidated_metadata_do_not_lead_out(run, tmp_path):
    make(tmp_path / "secret", sample(SHAPE), CHUNKS)
    zarr.create_group(tmp_path / "in.zarr")
    values = sample(SHAPE)
    make(tmp_path / "in.zarr", values, CHUNKS, name="0")
    metadata = metadata_of(tmp_path / "in.zarr")
    metadata["consolidated_metadata"] = {"kind": "inline", "must_understand": False, "metadata": {
        "../secret": metadata_of(tmp_path / "secret"), "0": metadata_of(tmp_path / "in.zarr" / "0")}}
    write_json(tmp_path / "in.zarr" / "zarr.json", metadata)
    done = run.anyhow("in.zarr", "out.zarr", "--chunks", "3,16", *MEMORY)
    assert done.returncode in (0, 1), done.stderr
    assert {p.name for p in tmp_path.iterdir()} <= {"in.zarr", "out.zarr", "secret"}
    assert (tmp_path / "secret" / "zarr.json").exists() and not (tmp_path / "out.zarr" / "secret").exists()
    if done.returncode == 0:
        assert same(read(tmp_path / "out.zarr" / "0"), values)


@pytest.mark.parametrize("args", [(), ("--overwrite",)])
def test_a_link_inside_the_target_leads_nowhere(run, tmp_path, args):
    """What a link in an old target points to is not written, and not removed."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "thesis.txt").write_text("years of work")
    (tmp_path / "outside" / "0").write_text("a chunk of work")
    make(tmp_path / "in.zarr", sample(SHAPE), CHUNKS)
    make(tmp_path / "out.zarr", sample(SHAPE, seed=2), CHUNKS)
    for name in ("0", "1", "2", "3"):
        (tmp_path / "out.zarr" / "c" / "0" / name).unlink()
    (tmp_path / "out.zarr" / "c" / "0").rmdir()
    (tmp_path / "out.zarr" / "c" / "0").symlink_to(tmp_path / "outside")
    before = below(tmp_path / "outside")
    done = run.anyhow("in.zarr", "out.zarr", "--chunks", "3,16", *args, *MEMORY)
    assert done.returncode in (0, 1), done.stderr
    assert below(tmp_path / "outside") == before
    if done.returncode == 0:
        assert args and same(read(tmp_path / "out.zarr"), read(tmp_path / "in.zarr"))
        assert not any(os.path.islink(p) for p in (tmp_path / "out.zarr").rglob("*"))


def test_a_foreign_file_in_the_target_is_never_lost(run, tmp_path):
    make(tmp_path / "in.zarr", sample(SHAPE), CHUNKS)
    make(tmp_path / "out.zarr", sample(SHAPE, seed=2), CHUNKS)
    (tmp_path / "out.zarr" / "thesis.txt").write_text("years of work")
    done = run.anyhow("in.zarr", "out.zarr", "--chunks", "3,16", "--overwrite", *MEMORY)
    assert done.returncode == 1 and (tmp_path / "out.zarr" / "thesis.txt").read_text() == "years of work"


def test_a_source_that_is_no_array(run, tmp_path):
    (tmp_path / "in.zarr").mkdir()
    assert "in.zarr" in refused(run, "in.zarr", "--chunks", "3,16")
    assert "nowhere.zarr" in refused(run, "nowhere.zarr", "--chunks", "3,16")
    zarr.create_group(tmp_path / "group.zarr")
    refused(run, "group.zarr/nothing", "--chunks", "3,16")
    assert json.loads((tmp_path / "group.zarr" / "zarr.json").read_text())["node_type"] == "group"
    np.save(tmp_path / "in.npy", sample(SHAPE))
    refused(run, "in.npy", "--chunks", "3,16", target="in.npy/out.zarr")
