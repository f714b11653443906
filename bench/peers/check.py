# SPDX-License-Identifier: BSD-3-Clause
"""Is what a peer wrote what it was asked for? By zarr-python: shape, type, grid, codec, that every chunk is there, and the values of
some boxes, bit by bit.

usage: check.py SRC DST CHUNKS CODEC [SHARDS] [--one-chunk-shards]

Prints what is wrong, and exits with 1. --one-chunk-shards: shards of one chunk each are as good as none.
"""

import sys

import numpy as np
import zarr
import zarrs # noqa: F401

N_BOXES = 6
BOX_BYTES = 8 << 20 # of one box
WHOLE_BYTES = 64 << 20 # an array that is compared whole


def codecs_of(array):
    """(name, level) of what compresses, whatever the version and the nesting."""
    if array.metadata.zarr_format == 2:
        c = array.metadata.compressor
        return [(c.codec_id, c.level)] if c else []
    found, todo = [], list(array.metadata.to_dict()["codecs"])
    while todo:
        codec = todo.pop(0)
        inner = codec.get("configuration", {}).get("codecs")
        if inner:
            todo += inner
        elif codec["name"] not in ("bytes", "crc32c"):
            found.append((codec["name"], codec["configuration"].get("level")))
    return found


def boxes(shape, itemsize, unit):
    """The two far corners, and some boxes around corners of the target's grid."""
    rng = np.random.default_rng(5)
    size = [min(n, u) for n, u in zip(shape, unit)]
    while int(np.prod(size)) * itemsize > BOX_BYTES:
        d = int(np.argmax(size))
        size[d] = -(-size[d] // 2)
    places = [[0] * len(shape), [n - s for n, s in zip(shape, size)]]
    for _ in range(N_BOXES - 2):
        corner = [u * int(rng.integers(0, -(-n // u))) for n, u in zip(shape, unit)]
        places.append([max(0, min(c - s // 2, n - s)) for c, s, n in zip(corner, size, shape)])
    return [tuple(slice(p, p + s) for p, s in zip(place, size)) for place in places]


def problems(src, dst, chunks, shards, codec, one_chunk_shards):
    if dst.shape != src.shape or dst.dtype != src.dtype:
        return f"{dst.shape} of {dst.dtype} instead of {src.shape} of {src.dtype}"
    if dst.chunks != chunks:
        return f"chunks {dst.chunks} instead of {chunks}"
    if dst.shards != shards and not (one_chunk_shards and dst.shards == chunks):
        return f"shards {dst.shards} instead of {shards}"
    wanted = [] if codec == "none" else [(codec.partition(":")[0], int(codec.partition(":")[2]))]
    if codecs_of(dst) != wanted:
        return f"codecs {codecs_of(dst)} instead of {wanted}"
    unit = shards or chunks
    n_units = int(np.prod([-(-n // u) for n, u in zip(dst.shape, unit)]))
    n_stored = dst._nshards_initialized if hasattr(dst, "_nshards_initialized") else dst.nchunks_initialized
    if dst.metadata.zarr_format == 3 and n_stored < n_units:
        return f"only {n_stored} of {n_units} chunks are there"
    whole = dst.nbytes <= WHOLE_BYTES
    for box in [tuple(slice(0, n) for n in dst.shape)] if whole else boxes(dst.shape, dst.dtype.itemsize, unit):
        if np.ascontiguousarray(src[box]).tobytes() != np.ascontiguousarray(dst[box]).tobytes():
            return f"other values at {[(b.start, b.stop) for b in box]}"
    return None


def main():
    words = [word for word in sys.argv[1:] if word != "--one-chunk-shards"]
    chunks = tuple(int(n) for n in words[2].split(","))
    shards = tuple(int(n) for n in words[4].split(",")) if len(words) > 4 else None
    zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline", "codec_pipeline.strict": False})
    src, dst = (zarr.open_array(path, mode="r") for path in words[:2])
    found = problems(src, dst, chunks, shards, words[3], len(words) != len(sys.argv) - 1)
    if found:
        sys.exit(f"check: {found}")


if __name__ == "__main__":
    main()
