# SPDX-License-Identifier: BSD-3-Clause
"""zarrs_reencode, with --cache a cache of MEMORY for decoded chunks. $PEER_PROGRAM is the program.

Version 0.8.1 ignores --chunk-shape without --shard-shape and says nothing: where there are to be no shards and the grid changes, it
is asked for shards of one chunk each."""

import json
import os

from common import arguments

options = arguments("cache")
codecs = [{"name": "zstd", "configuration": {"level": options.level, "checksum": False}}] if options.level else []


def listed(shape):
    return ",".join(map(str, shape))


with open(os.path.join(options.src, "zarr.json"), encoding="utf-8") as f:
    before = tuple(json.load(f)["chunk_grid"]["configuration"]["chunk_shape"])
command = [os.environ["PEER_PROGRAM"], "--bytes-to-bytes-codecs", json.dumps(codecs)]
if options.shards or before != options.chunks:
    command += ["--chunk-shape", listed(options.chunks), "--shard-shape", listed(options.unit)]
if options.cache:
    command += ["--cache-size", str(options.memory)]
command += [options.src, options.dst]
os.execv(command[0], command)
