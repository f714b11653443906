# SPDX-License-Identifier: BSD-3-Clause
"""Arrays that other projects wrote: what resplit makes of them is what zarr-python reads from them."""

import warnings

import numpy as np
import pytest
import zarr

from zarr_support import arrays_below, below, equal, other_grid, read, unpacked, written_chunks

ARCHIVES = ("zarrita", "zarrs", "zarr_implementations")
MEMORY = ("--memory", "256MiB", "--quiet")

# What resplit refuses, by the end of the path in the archive: a fragment of what it says. Everything else has to work.
REFUSED = {
}


def refusal(path):
    text = path.as_posix()
    return next((message for end, message in REFUSED.items() if text.endswith(end)), None)


def oracle(path):
    """What zarr-python reads; None where it cannot, or where elements have no size of their own."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array = zarr.open_array(path, mode="r")
            values = read(path)
    except Exception:  # of any kind: codecs and types that are not installed
        return None, None
    return (array, values) if values.dtype.kind not in "OT" else (None, None)


@pytest.fixture(scope="module", params=ARCHIVES)
def archive(request, tmp_path_factory):
    return unpacked(request.param, tmp_path_factory)


def one(run, path, values, array, number):
    """None, or what is wrong."""
    grid, message = other_grid(array.shape, array.chunks), refusal(path)
    out, flat = run.folder / f"{number}.zarr", run.folder / f"{number}.npy"
    if message is not None:
        said = run.error(path, out, *written_chunks(grid), *MEMORY)
        return None if message in said and not out.exists() else f"refused otherwise: {said}"
    run(path, out, *written_chunks(grid), *MEMORY)
    made = zarr.open_array(out, mode="r")
    if made.chunks != grid:
        return f"chunks {made.chunks} instead of {grid}"
    if made.metadata.zarr_format != array.metadata.zarr_format:
        return "another version"
    if not equal(read(out), values):
        return "other values in another grid"
    run(path, flat, *MEMORY)
    return None if equal(np.load(flat), values) else "other values in .npy"


def test_what_others_wrote(run, archive):
    before, wrong, n_read = below(archive), [], 0
    for number, path in enumerate(arrays_below(archive)):
        array, values = oracle(path)
        if array is None:
            continue
        n_read += 1
        try:
            found = one(run, path, values, array, number)
        except AssertionError as e:
            found = str(e).partition("\n")[0]
        if found:
            wrong.append(f"{path.relative_to(archive)}: {found}")
    assert n_read >= 4
    assert not wrong, "\n".join([f"{len(wrong)} of {n_read}:", *wrong])
    assert below(archive) == before, "the source was touched"


def test_what_zarr_python_cannot_read_ends_well(run, archive):
    """Codecs and types that are not installed here: done, or refused in a sentence; nothing else."""
    for number, path in enumerate(arrays_below(archive)):
        if oracle(path)[0] is not None:
            continue
        out = run.folder / f"{number}.zarr"
        done = run.anyhow(path, out, "--chunks", "1", *MEMORY)
        assert done.returncode in (0, 1, 2), (path, done.returncode, done.stderr)
        if done.returncode:
            assert done.stderr.startswith("resplit: ") and not out.exists(), (path, done.stderr)


def test_a_copy_of_every_array_is_the_same(run, archive):
    """Without a new grid, chunks can stay as they are, whatever their codec."""
    wrong = []
    for number, path in enumerate(arrays_below(archive)):
        array, values = oracle(path)
        if array is None or refusal(path) is not None:
            continue
        out = run.folder / f"{number}.zarr"
        try:
            run(path, out, *MEMORY)
            made = zarr.open_array(out, mode="r")
            if made.chunks != array.chunks or made.shards != array.shards or not equal(read(out), values):
                wrong.append(str(path.relative_to(archive)))
        except AssertionError as e:
            wrong.append(f"{path.relative_to(archive)}: {str(e).partition(chr(10))[0]}")
    assert not wrong, "\n".join(wrong)
