# SPDX-License-Identifier: BSD-3-Clause
"""zarr-python: `zarr.create_array(data=...)`, which copies target chunk by target chunk, or (--panels) a loop over panels of whole
target chunks that take half of the memory; --pipeline zarrs for both with the codecs in Rust."""

import sys

import zarr
from zarr.codecs import ZstdCodec

from common import arguments, panel_shape, panels

if "zarrs" in sys.argv: # before --help ends it, which loads everything into the cache
    import zarrs # noqa: F401

options = arguments("panels", pipeline=("zarr", "zarrs"))
if options.pipeline == "zarrs":
    zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})

src = zarr.open_array(options.src, mode="r")
wanted = {"store": options.dst, "chunks": options.chunks, "shards": options.shards, "fill_value": 0, "zarr_format": 3,
          "compressors": ZstdCodec(level=options.level) if options.level else None}
if options.panels:
    dst = zarr.create_array(shape=src.shape, dtype=src.dtype, **wanted)
    stored = src.shards or src.chunks
    panel = panel_shape(src.shape, src.dtype.itemsize, stored, options.unit, options.memory // 2)
    for box in panels(src.shape, panel):
        dst[box] = src[box]
else:
    zarr.create_array(data=src, **wanted)
