# SPDX-License-Identifier: BSD-3-Clause
"""Arrays that zarr-python's own generators make, of any grid, to any other: what is read stays the same."""

import numpy as np
import zarr
from hypothesis import assume, note
from hypothesis import strategies as st
from zarr.storage import LocalStore
from zarr.testing import strategies as zst

from conftest import written
from property_support import examples
from zarr_support import MEMORY, check_readers, equal, read

KINDS = "biufcmM"  # elements of one size that mean the same to everyone
CODECS = ["none", "zstd:1", "gzip:1", "blosc:lz4:5:shuffle"]


@st.composite
def targets(draw, array, chunk_axes):
    """Options for a target, and the chunks, shards and version it is to have."""
    version = draw(st.sampled_from([2, 3]))
    chunks = tuple(draw(st.integers(1, n + 3)) for n in chunk_axes)
    shards = None
    if version == 3 and chunks and draw(st.booleans()):
        shards = tuple(c * draw(st.integers(1, 3)) for c in chunks)
    args = ["--format", f"zarr{version}", "--codec", draw(st.sampled_from(CODECS))]
    args += ["--chunks", written(chunks)] if chunks else []
    args += ["--shards", written(shards)] if shards else []
    if len(chunks) > 1 and draw(st.booleans()):
        args += ["--to-order", draw(st.sampled_from("CF"))]
    return args, version, chunks, shards


@examples(100)
def test_any_array_to_any_grid(run, folder, data):
    made = zst.numpy_arrays(shapes=zst.npst.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=9))
    array = data.draw(zst.arrays(stores=st.just(LocalStore(folder / "in.zarr")), paths=st.sampled_from(["/", "a", "a/b"]),
                                 array_names=st.sampled_from(["x", "y z", "0"]), attrs=st.none(),
                                 arrays=made.filter(lambda a: a.dtype.kind in KINDS)))
    assume(all(array.chunks)) # it makes chunks of no length for axes of none, which no specification allows
    source = folder / "in.zarr" / array.path
    values = read(source)
    note(f"{array.metadata.to_dict()}")
    args, version, chunks, shards = data.draw(targets(array, array.shape))
    run(source, "out.zarr", *args, *MEMORY)
    check_readers(folder / "out.zarr", values, args)
    result = zarr.open_array(folder / "out.zarr", mode="r")
    assert (result.metadata.zarr_format, result.chunks, result.shards) == (version, chunks, shards)
    run("out.zarr", "out.npy", *MEMORY)
    assert equal(np.load(folder / "out.npy"), values)
