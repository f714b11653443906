# SPDX-License-Identifier: BSD-3-Clause
"""rechunker, with MEMORY as max_mem, or (--careful) with its share for each of the threads that run at once and for what it reads
beside what it writes. It needs zarr-python 2: SRC is the same chunks under Zarr v2 metadata, and so is DST."""

import sys

import zarr
from numcodecs import Zstd
from rechunker import rechunk

from common import CORES, arguments

options = arguments("careful")
if options.shards:
    sys.exit("rechunker_peer: it knows no shards")
src = zarr.open_array(options.src, mode="r")
max_mem = options.memory // (2 * CORES) if options.careful else options.memory
compressor = Zstd(level=options.level) if options.level else None
plan = rechunk(src, options.chunks, max_mem, options.dst, temp_store=options.dst + ".temp",
               target_options={"compressor": compressor}, temp_options={"compressor": compressor})
plan.execute()
