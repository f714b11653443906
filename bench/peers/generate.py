# SPDX-License-Identifier: BSD-3-Clause
"""Writes a Zarr v3 array of smooth data with three bits of noise, as the benchmark's input.

usage: generate.py PATH SHAPE DTYPE CHUNKS CODEC [SHARDS]          as in: generate.py x.zarr 1024,1024,1024 uint16 1,1024,1024 zstd:1

Values are those of smooth.py. PATH.v2 is the same array under Zarr v2 metadata, its chunks hard links to those of PATH, for the peers that know
nothing else; not with shards.
"""

import itertools
import json
import os
import sys

import numpy as np
import zarr
import zarrs # noqa: F401
from zarr.codecs import ZstdCodec

from smooth import slab_of, values


def twin(path, array, level):
    """The same chunks under other metadata."""
    metadata = {"zarr_format": 2, "shape": array.shape, "chunks": array.chunks, "dtype": array.dtype.str, "fill_value": 0, "order": "C",
                "filters": None, "dimension_separator": "/", "compressor": {"id": "zstd", "level": level} if level else None}
    other = path + ".v2"
    os.mkdir(other)
    with open(os.path.join(other, ".zarray"), "w", encoding="ascii") as f:
        json.dump(metadata, f)
    for folder, _, names in os.walk(os.path.join(path, "c")):
        there = os.path.join(other, os.path.relpath(folder, os.path.join(path, "c")))
        os.makedirs(there, exist_ok=True)
        for name in names:
            os.link(os.path.join(folder, name), os.path.join(there, name))


def main():
    path, dtype, codec = sys.argv[1], np.dtype(sys.argv[3]), sys.argv[5]
    shape, chunks = (tuple(int(n) for n in text.split(",")) for text in (sys.argv[2], sys.argv[4]))
    shards = tuple(int(n) for n in sys.argv[6].split(",")) if len(sys.argv) > 6 else None
    level = 0 if codec == "none" else int(codec.partition(":")[2])
    zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})
    array = zarr.create_array(path, shape=shape, dtype=dtype, chunks=chunks, shards=shards, fill_value=0, zarr_format=3,
                              compressors=ZstdCodec(level=level) if level else None)
    unit = shards or chunks
    rng = np.random.default_rng(1)
    step = slab_of(shape, unit)
    for at in itertools.product(*(range(0, n, s) for n, s in zip(shape, step))):
        box = tuple(slice(a, min(n, a + s)) for a, n, s in zip(at, shape, step))
        array[box] = values(shape, box, dtype, rng)
    if not shards:
        twin(path, array, level)


if __name__ == "__main__":
    main()
