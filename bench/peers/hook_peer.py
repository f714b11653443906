# SPDX-License-Identifier: BSD-3-Clause
"""Load, rechunk, store with dask, as in its manual, of a Zarr array or of the dataset /data of an HDF5 file: one program, as it is, with
--how hook under resplit.dask.optimize with MEMORY, and with --how workers by workers of distributed that have MEMORY each."""

import contextlib

import dask.array as da

from common import CORES, arguments


def from_zarr(options):
    import zarr
    from zarr.codecs import ZstdCodec

    codec = ZstdCodec(level=options.level) if options.level else None
    array = da.from_zarr(options.src)
    target = zarr.create_array(options.dst, shape=array.shape, dtype=array.dtype, chunks=options.chunks, compressors=codec, fill_value=0)
    array.rechunk(options.chunks).store(target, lock=False)


def from_hdf5(options):
    import h5py

    codec = {"compression": "gzip", "compression_opts": options.level} if options.level else {}
    with h5py.File(options.src, "r") as file:
        array = da.from_array(file["data"], chunks=file["data"].chunks)
        array.rechunk(options.chunks).to_hdf5(options.dst, "/data", **codec)


@contextlib.contextmanager
def setting(options):
    if options.how == "hook":
        import resplit.dask

        with resplit.dask.optimize(memory=options.memory):
            yield
        if resplit.dask.stats().runs != 1:
            raise SystemExit(f"hook_peer: {resplit.dask.explain()}")
    elif options.how == "workers":
        from distributed import Client, LocalCluster

        # objects of h5py stay in their process, so what uses them has a worker of threads
        shared = options.src.endswith(".h5")
        with LocalCluster(n_workers=1 if shared else CORES, threads_per_worker=CORES if shared else 1, processes=not shared,
                          memory_limit=options.memory, dashboard_address=None,
                          local_directory=options.dst + ".workers") as cluster, Client(cluster):
            yield
    else:
        yield


def main():
    options = arguments(how=("threads", "workers", "hook"))
    with setting(options):
        (from_hdf5 if options.src.endswith(".h5") else from_zarr)(options)


if __name__ == "__main__":
    main()
