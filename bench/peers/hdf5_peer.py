# SPDX-License-Identifier: BSD-3-Clause
"""h5py: a loop over panels of whole target chunks that take half of the memory; the rest is for caches of chunks."""

import h5py

from common import arguments, panel_shape, panels

options = arguments()
more = {"compression": "gzip", "compression_opts": options.level} if options.level else {}
with h5py.File(options.src, "r", rdcc_nbytes=options.memory // 4) as f, h5py.File(options.dst, "w", rdcc_nbytes=options.memory // 8) as g:
    src = f["data"]
    dst = g.create_dataset("data", shape=src.shape, dtype=src.dtype, chunks=options.chunks, **more)
    panel = panel_shape(src.shape, src.dtype.itemsize, src.chunks, options.chunks, options.memory // 2)
    for box in panels(src.shape, panel):
        dst[box] = src[box]
