# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of Zarr share: arrays made by zarr-python, and what three other programs read from what resplit wrote."""

import io
import itertools
import json
import os
import tarfile
from pathlib import Path

import numcodecs
import numpy as np
import pytest
import tensorstore as ts
import zarr
import zarrs  # noqa: F401, which registers its pipeline
from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec
from zarr.core.buffer.cpu import NDBuffer

from conftest import ROOT

FULL = os.environ.get("RESPLIT_FULL", "") not in ("", "0")
MEMORY = ("--memory", "32MiB", "--quiet")
PIPELINES = {"zarr": "zarr.core.codec_pipeline.BatchedCodecPipeline", "zarrs": "zarrs.ZarrsCodecPipeline"}


# ---- reading ----------------------------------------------------------------------------------------------------


def native(values):
    """The same values in this machine's byte order."""
    values = np.asarray(values)
    return values.astype(values.dtype.newbyteorder("="))


def equal(a, b):
    """Same shape, same type whatever its byte order, same bits."""
    a, b = native(a), native(b)
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def read(path):
    with zarr.config.set({"codec_pipeline.path": PIPELINES["zarr"]}):
        return np.asarray(zarr.open_array(path, mode="r")[...])


def read_zarrs(path):
    """Into memory in C order, because zarrs fills no other."""
    with zarr.config.set({"codec_pipeline.path": PIPELINES["zarrs"]}):
        array = zarr.open_array(path, mode="r")
        values = np.empty(array.shape, array.dtype.newbyteorder("="))
        array.get_basic_selection(..., out=NDBuffer.from_numpy_array(values))
    return values


def read_tensorstore(path):
    """What tensorstore reads; None for what it does not know."""
    driver = "zarr3" if (Path(path) / "zarr.json").exists() else "zarr"
    try:
        store = ts.open({"driver": driver, "kvstore": {"driver": "file", "path": str(path)}}, open=True).result()
    except ValueError as e:
        unknown = ("not registered", "not one of the supported", "not supported", "unsupported", "data type", "dtype", "filters", "not unique")
        if any(text in str(e).lower() for text in unknown):
            return None
        raise
    return np.asarray(store.read().result())


def check_readers(path, values, context=None):
    """Every other program reads the same."""
    assert equal(read(path), values), ("zarr-python", context)
    # zarrs reverses a big-endian complex number as a whole, so that it takes one part for the other
    if not (values.dtype.kind == "c" and values.dtype.byteorder == ">"):
        assert equal(read_zarrs(path), values), ("zarrs", context)
    other = read_tensorstore(path)
    assert other is None or equal(other, values), ("tensorstore", context)
    return other is not None


def metadata_of(path):
    """Of an array or a group, either version."""
    for name in ("zarr.json", ".zarray", ".zgroup"):
        if (Path(path) / name).exists():
            return json.loads((Path(path) / name).read_text())
    raise AssertionError(f"{path} has no metadata")


def tokens(text):
    """JSON as it is written: the order of keys, the spelling of numbers."""
    return json.loads(text, object_pairs_hook=list, parse_float=str, parse_int=str, parse_constant=str)


def chunk_files(path):
    """Files below an array that are no metadata, by their names below it."""
    found = {str(p.relative_to(path)): p for p in Path(path).rglob("*") if p.is_file()}
    return {name: p for name, p in found.items() if not p.name.startswith((".z", ".resplit")) and p.name != "zarr.json"}


def below(folder):
    """All there is below a folder, with the bytes of each file."""
    return {str(p.relative_to(folder)): None if p.is_dir() else p.read_bytes() for p in sorted(Path(folder).rglob("*"))}


# ---- making -----------------------------------------------------------------------------------------------------

COMPRESSORS = {
    3: {"none": None, "zstd": ZstdCodec(level=1), "gzip": GzipCodec(level=1), "blosc": BloscCodec(cname="lz4", clevel=5)},
    2: {"none": None, "zstd": numcodecs.Zstd(level=1), "gzip": numcodecs.GZip(level=1), "zlib": numcodecs.Zlib(level=1),
        "lz4": numcodecs.LZ4(), "bz2": numcodecs.BZ2(level=1), "blosc": numcodecs.Blosc("lz4", 5, numcodecs.Blosc.SHUFFLE)},
}


def make(path, values, chunks, codec="zstd", version=3, name=None, **more):
    """An array by zarr-python."""
    if version == 2 and more.get("filters") is None:
        more.pop("filters", None)
    if more.get("fill_value") is None:
        more["fill_value"] = np.zeros((), values.dtype)[()]
    array = zarr.create_array(path, name=name, shape=values.shape, dtype=values.dtype, chunks=chunks, zarr_format=version,
                              compressors=COMPRESSORS[version][codec], **more)
    array[...] = values
    return array


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))


def v3_metadata(shape, chunks, data_type="uint16", codecs=None, **more):
    """Of an array without compression, to be changed by a test."""
    codecs = codecs or [{"name": "bytes", "configuration": {"endian": "little"}}]
    return {"zarr_format": 3, "node_type": "array", "shape": list(shape), "data_type": data_type,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunks)}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "fill_value": 0, "codecs": codecs, **more}


def v2_metadata(shape, chunks, dtype="<u2", **more):
    return {"zarr_format": 2, "shape": list(shape), "chunks": list(chunks), "dtype": dtype, "compressor": None, "fill_value": 0,
            "order": "C", "filters": None, **more}


def other_grid(shape, chunks=()):
    """Some chunks that are not these."""
    found = [max(1, (2 * n) // 3) for n in shape]
    if tuple(found) == tuple(chunks):
        found = [max(1, n // 2) for n in shape]
    return tuple(found)


def written_chunks(chunks):
    """As options; nothing for an array of no axes."""
    return ("--chunks", ",".join(map(str, chunks))) if chunks else ()


def grid_cells(shape, chunks):
    return list(itertools.product(*(range(-(-n // c)) for n, c in zip(shape, chunks))))


# ---- the files of others ----------------------------------------------------------------------------------------


def unpacked(name, tmp_path_factory):
    """A folder with the files of other projects that are in this archive."""
    folder = Path(os.environ.get("RESPLIT_FIXTURES", ROOT.parent / "shared" / "fixtures"))
    archive = folder / f"{name}.tar.zst"
    if not archive.is_file():
        pytest.skip(f"there is no '{archive}'; RESPLIT_FIXTURES says where such files are")
    place = tmp_path_factory.mktemp(name)
    data = bytes(numcodecs.Zstd().decode(archive.read_bytes()))
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        tar.extractall(place, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))  # Python 3.11.2 has none
    return place


def arrays_below(folder):
    """Folders that are Zarr arrays, in order."""
    found = []
    for at, folders, names in os.walk(folder):
        folders.sort()
        if ".zarray" in names:
            found.append(Path(at))
        elif "zarr.json" in names and json.loads((Path(at) / "zarr.json").read_text()).get("node_type") == "array":
            found.append(Path(at))
    return sorted(found)
