# SPDX-License-Identifier: BSD-3-Clause
"""dask: `from_zarr(...).rechunk(...).to_zarr(...)` with threads, as in its manual. --how panels: no rechunking, but blocks that are
panels of whole target chunks, so many at once as there are threads, in half of the memory together. --how p2p: the shuffle of
distributed, with a worker per core that shares the memory."""

import sys

import dask
import dask.array as da
import zarr
from zarr.codecs import ZstdCodec

from common import CORES, arguments, panel_shape

if "p2p" in sys.argv:
    from distributed import Client, LocalCluster


def main():
    options = arguments(how=("user", "panels", "p2p"))
    src = zarr.open_array(options.src, mode="r")
    dst = zarr.create_array(options.dst, shape=src.shape, dtype=src.dtype, chunks=options.chunks, shards=options.shards, fill_value=0,
                            zarr_format=3, compressors=ZstdCodec(level=options.level) if options.level else None)
    if options.how == "panels":
        room = options.memory // 2 // CORES
        panel = panel_shape(src.shape, src.dtype.itemsize, src.shards or src.chunks, options.unit, room)
        with dask.config.set(scheduler="threads", num_workers=CORES):
            da.store(da.from_array(src, chunks=panel), dst, lock=False)
        return
    if options.how == "user":
        da.store(da.from_array(src, chunks=src.shards or src.chunks).rechunk(options.unit), dst, lock=False)
        return
    dask.config.set({"array.rechunk.method": "p2p", "distributed.logging.distributed": "error"})
    with LocalCluster(n_workers=CORES, threads_per_worker=1, memory_limit=options.memory // CORES, dashboard_address=None,
                      local_directory=options.dst + ".p2p") as cluster, Client(cluster):
        da.store(da.from_array(src, chunks=src.shards or src.chunks).rechunk(options.unit), dst, lock=False)


if __name__ == "__main__":
    main()
