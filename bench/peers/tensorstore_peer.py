# SPDX-License-Identifier: BSD-3-Clause
"""tensorstore: its own copy, as its documentation shows it, or (--panels) a loop over panels of whole target chunks that take half of
the memory: the other half is for chunks on their way."""

import tensorstore as ts

from common import CORES, arguments, panel_shape, panels

options = arguments("panels")
context = ts.Context({"data_copy_concurrency": {"limit": CORES}, "file_io_concurrency": {"limit": 4 * CORES}} if options.panels else {})


def spec(path):
    return {"driver": "zarr3", "kvstore": {"driver": "file", "path": path}}


src = ts.open(spec(options.src), context=context, open=True).result()
inner = [{"name": "bytes", "configuration": {"endian": "little"}}]
if options.level:
    inner.append({"name": "zstd", "configuration": {"level": options.level}})
if options.shards:
    codecs = [{"name": "sharding_indexed", "configuration": {
        "chunk_shape": options.chunks, "codecs": inner, "index_codecs": [
            {"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]}}]
else:
    codecs = inner
metadata = {"shape": src.shape, "data_type": src.dtype.name, "codecs": codecs, "fill_value": 0,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": options.unit}}}
dst = ts.open({**spec(options.dst), "metadata": metadata}, context=context, create=True, delete_existing=True).result()
if options.panels:
    itemsize = src.dtype.numpy_dtype.itemsize
    panel = panel_shape(src.shape, itemsize, src.chunk_layout.write_chunk.shape, options.unit, options.memory // 2)
    for box in panels(src.shape, panel):
        dst[box].write(src[box].read().result()).result()
else:
    dst.write(src).result()
