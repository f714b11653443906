# SPDX-License-Identifier: BSD-3-Clause
"""Any array, wherever it lies, to any other format and grid, through the Python package.

Sources are written, and targets read, by NumPy, zarr-python, h5py and nibabel alone. 350 examples by default, 7000 with RESPLIT_FULL=1;
RESPLIT_SEED for others.
"""

import os
import shutil
import tempfile
from pathlib import Path

import h5py
import nibabel as nib
import numpy as np
import pytest
import zarr
from hypothesis import HealthCheck, event, given, note, seed, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import minc_support
import resplit
from conftest import blocks_of, check_blocks, sample, same, write_blocks

FULL = os.environ.get("RESPLIT_FULL", "") not in ("", "0")
SEED = int(os.environ.get("RESPLIT_SEED", "20261115"))
N_EXAMPLES = 1000 if FULL else 50  # for each format of targets

PLAIN = ["|u1", "<i2", "<u2", "<i4", "<f4", "<f8"]  # that every format has
TYPES = PLAIN + ["?", "|i1", ">i2", ">u8", "<f2", ">f4", ">c8", "<c16"]
NUMPY_TYPES = TYPES + ["|S5", "<U3", "|V7", "<M8[ns]", [("a", "<i2"), ("b", ">f8", (2,))]]
CODECS = {"zarr": ["none", "zstd:1", "gzip:1", "blosc:lz4:5:shuffle"], "hdf5": ["none", "zlib:1", "shuffle+zlib:1", "zstd:1"]}

pytestmark = pytest.mark.filterwarnings("ignore")


# ---- Grids ---------------------------------------------------------------------------------------


@st.composite
def lengths(draw, extent, most=None):
    """An even cut of an axis, or, for formats that have them, an uneven one."""
    if extent > 1 and most is None and draw(st.integers(0, 3)) == 0:
        cuts = draw(st.sets(st.integers(1, extent - 1), max_size=4))
        return [b - a for a, b in zip([0, *sorted(cuts)], [*sorted(cuts), extent])]
    return draw(st.integers(1, max(1, extent + (most or 0))))


@st.composite
def regions(draw, shape, least):
    """A box in the array, as pairs, of so many elements along each axis at least; None for all of it."""
    if draw(st.booleans()):
        return None
    starts = [draw(st.integers(0, max(0, n - least))) for n in shape]
    return [(a, draw(st.integers(min(n, a + least), n))) for a, n in zip(starts, shape)]


def box_of(roi, shape):
    return tuple(slice(a, b) for a, b in roi or [(0, n) for n in shape])


# ---- Sources -------------------------------------------------------------------------------------


def from_memory(draw, folder, array):
    turn = tuple(slice(None, None, draw(st.sampled_from([1, -1]))) for _ in array.shape)
    gap = tuple(slice(None, None, draw(st.sampled_from([1, 1, 2]))) for _ in array.shape)
    room = np.empty([n * (s.step or 1) for n, s in zip(array.shape, gap)], array.dtype, order=draw(st.sampled_from("CF")))
    view = room[(*gap, ...)][(*turn, ...)]
    view[...] = array
    return view


def from_npy(draw, folder, array):
    np.save(folder / "in.npy", np.asarray(array, order=draw(st.sampled_from("CF"))))
    return draw(st.sampled_from([folder / "in.npy", np.load(folder / "in.npy", mmap_mode="r")]))


def from_raw(draw, folder, array):
    order, skip = draw(st.sampled_from("CF")), draw(st.integers(0, 20))
    (folder / "in.raw").write_bytes(bytes(skip) + array.tobytes(order))
    return resplit.open(folder / "in.raw", shape=array.shape, dtype=array.dtype, order=order, skip=skip)


def from_grid(draw, folder, array):
    chunks = [draw(lengths(n)) for n in array.shape]
    if 0 in array.shape or not array.ndim:
        return from_npy(draw, folder, array)
    write_blocks(folder / "in", array, chunks, "_".join(f"{{{d}}}" for d in range(array.ndim)) + ".npy")
    return folder / "in"


def from_zarr(draw, folder, array):
    version = draw(st.sampled_from([2, 3]))
    chunks = tuple(draw(lengths(n, most=3)) for n in array.shape)
    shards = tuple(c * draw(st.integers(1, 3)) for c in chunks) if version == 3 and array.ndim and draw(st.booleans()) else None
    options = {"compressors": draw(st.sampled_from([None, "auto"]))}
    if version == 2:
        options["order"] = draw(st.sampled_from("CF"))
    made = zarr.create_array(folder / "in.zarr", name="sub/x", shape=array.shape, chunks=chunks, shards=shards, dtype=array.dtype,
                             zarr_format=version, fill_value=np.zeros((), array.dtype)[()], **options)
    made[...] = array
    return draw(st.sampled_from([made, folder / "in.zarr/sub/x"]))


def from_hdf5(draw, folder, array):
    options = {}
    if array.ndim and 0 not in array.shape and draw(st.booleans()):
        options = {"chunks": tuple(draw(st.integers(1, n)) for n in array.shape), "shuffle": draw(st.booleans()),
                   "compression": draw(st.sampled_from([None, "gzip", "lzf"]))}
    with h5py.File(folder / "in.h5", "w") as file:
        file.create_dataset("g/x", data=array, **options)
    return f"{folder}/in.h5:/g/x"


def from_nifti(draw, folder, array):
    path = folder / draw(st.sampled_from(["in.nii", "in.nii.gz", "in.img"]))
    make = nib.Nifti1Pair if path.suffix == ".img" else draw(st.sampled_from([nib.Nifti1Image, nib.Nifti2Image]))
    image = make(array, np.eye(4), dtype=array.dtype)
    nib.save(image, path)
    return path


def from_minc(draw, folder, array):
    minc_support.write(folder / "in.mnc", array, minc_support.plain(array.shape))
    return folder / "in.mnc"


SOURCES = {"memory": from_memory, "npy": from_npy, "raw": from_raw, "grid": from_grid, "zarr": from_zarr, "hdf5": from_hdf5,
           "nifti": from_nifti, "minc": from_minc}


# ---- Targets: what is asked for, and what its own reader finds ------------------------------------


def grid(draw, shape, uneven=True):
    return [draw(lengths(n, None if uneven else 2)) for n in shape]


class ToFile:
    def __init__(self, suffix):
        self.suffix = suffix

    def ask(self, draw, folder, shape):
        return folder / f"out{self.suffix}", {"order": draw(st.sampled_from([None, "C", "F"]))}

    def check(self, path, wanted, asked, done):
        order = resplit.open(path, shape=wanted.shape, dtype=wanted.dtype).order if self.suffix == ".raw" and not asked["order"] else None
        if self.suffix == ".npy":
            assert same(np.load(path), wanted)
        elif asked["order"] or wanted.ndim < 2:
            assert path.read_bytes() == wanted.tobytes(asked["order"] or "C")
        else:  # as the source
            assert path.read_bytes() in (wanted.tobytes("C"), wanted.tobytes("F")) and order


class ToGrid:
    def ask(self, draw, folder, shape):
        suffix = draw(st.sampled_from([".npy", ".raw"]))
        return folder / "out", {"chunks": grid(draw, shape), "order": "C",
                                "pattern": "-".join(f"b{{{d}}}" for d in range(len(shape))) + suffix}

    def check(self, path, wanted, asked, done):
        if 0 in wanted.shape:
            assert resplit.open(path).shape == wanted.shape
        else:
            check_blocks(path, wanted, asked["chunks"], asked["pattern"])


class ToZarr:
    def __init__(self, version):
        self.version = version

    def ask(self, draw, folder, shape):
        asked = {"format": f"zarr{self.version}", "codec": draw(st.sampled_from(CODECS["zarr"])),
                 "chunks": grid(draw, shape, uneven=False), "write_empty": draw(st.booleans()),
                 "order": draw(st.sampled_from([None, "C", "F"]))}
        if self.version == 3 and shape and draw(st.booleans()):
            asked["shards"] = [c * draw(st.integers(1, 3)) for c in asked["chunks"]]
        return folder / "out.zarr", asked

    def check(self, path, wanted, asked, done):
        made = zarr.open_array(path, mode="r")
        values = np.asarray(made[...])
        assert values.shape == wanted.shape and values.astype(wanted.dtype).tobytes() == wanted.tobytes()
        assert made.metadata.zarr_format == self.version and made.chunks == tuple(asked["chunks"])
        assert made.shards == (tuple(asked["shards"]) if "shards" in asked else None)


class ToHdf5:
    def ask(self, draw, folder, shape):
        asked = {"codec": draw(st.sampled_from(CODECS["hdf5"]))}
        if not shape or 0 in shape:
            asked["codec"] = "none"
        else:
            asked["chunks"] = [draw(st.integers(1, n)) for n in shape]
        return f"{folder}/out.h5:/made/here", asked

    def check(self, path, wanted, asked, done):
        with h5py.File(path.split(":")[0]) as file:
            made = file["made/here"]
            assert same(made[()] if made.shape else np.asarray(made[()], made.dtype), wanted)
            one_block = asked.get("chunks") in (None, list(made.shape))  # need not be chunked
            assert one_block or made.chunks == tuple(asked["chunks"])


class ToNifti:
    def ask(self, draw, folder, shape):
        return folder / draw(st.sampled_from(["out.nii", "out.nii.gz", "out.img"])), {}

    def check(self, path, wanted, asked, done):
        image = nib.load(path)
        values = np.asarray(image.dataobj.get_unscaled())
        # axes of length 1 at the end are not told
        assert values.reshape(wanted.shape).astype(wanted.dtype).tobytes() == wanted.tobytes()


class ToMinc:
    def ask(self, draw, folder, shape):
        return folder / "out.mnc", {"chunks": [draw(st.integers(1, n)) for n in shape], "codec": draw(st.sampled_from([None, "zlib:1"]))}

    def check(self, path, wanted, asked, done):
        assert same(minc_support.stored(path), wanted)


class ToMemory:
    def ask(self, draw, folder, shape):
        return None, {}

    def check(self, path, wanted, asked, done):
        assert same(path, wanted)


ALL = ["memory", "npy", "raw", "grid", "zarr", "hdf5", "nifti", "minc"]
# target, sources, types, axes at least and at most
TARGETS = {
    "npy": (ToFile(".npy"), ALL, NUMPY_TYPES, 0, 4),
    "raw": (ToFile(".raw"), ALL, NUMPY_TYPES, 0, 4),
    "grid": (ToGrid(), ALL, NUMPY_TYPES, 1, 4),
    "zarr2": (ToZarr(2), ALL, TYPES, 0, 4),
    "zarr3": (ToZarr(3), ALL, TYPES, 0, 4),
    "hdf5": (ToHdf5(), ALL, TYPES, 0, 4),
    "nifti": (ToNifti(), ["memory", "npy", "zarr", "nifti"], PLAIN, 1, 5),
    "minc": (ToMinc(), ["minc"], PLAIN, 3, 3),
    "memory": (ToMemory(), ALL, TYPES, 0, 4),
}


NEVER_EMPTY = ("nifti", "minc")


@st.composite
def arrays(draw, source, target, types, least, most):
    """Any bits, of a type and a shape that both formats have."""
    numpy_only = {"memory", "npy", "raw", "grid"}
    types = [t for t in types if source in numpy_only or t in TYPES]
    if source in ("nifti", "minc"):
        types, least, most = PLAIN, max(least, 3 if source == "minc" else 1), min(most, 3 if source == "minc" else 5)
    dtype = np.dtype(draw(st.sampled_from(types)))
    side = 1 if source in NEVER_EMPTY or target in NEVER_EMPTY else draw(st.sampled_from([1, 1, 1, 0]))
    shape = draw(npst.array_shapes(min_dims=least, max_dims=most, min_side=side, max_side=9))
    array = sample(shape, dtype, draw(st.integers(0, 1000)))
    if dtype.kind == "U":  # not every number is a letter
        array = np.char.mod("%d", np.frombuffer(array.tobytes(), "u4")[: array.size] % 999).astype(dtype).reshape(shape)
    if draw(st.booleans()) and array.size:  # blocks of nothing but zeros
        array[tuple(slice(0, n // 2 + 1) for n in shape)] = np.zeros((), dtype)
    return array


# ---- The properties ------------------------------------------------------------------------------


def run_in_least_memory(plan_it, memory):
    """The plan, in so much memory, or in as little as there is one for."""
    try:
        return plan_it(memory)
    except resplit.BudgetError as refused:
        assert refused.needed > memory
        plan = plan_it(refused.needed)
        assert plan.peak_bytes <= refused.needed
        return plan


def check_counts(plan, done):
    for name in ("read_seeks", "write_seeks", "bytes_read", "bytes_written", "temp_bytes"):
        assert getattr(done.cost, name) == getattr(plan.predicted, name), name
    assert done.cost.peak_bytes <= plan.peak_bytes <= plan.memory


def check_reading(draw, opened, wanted):
    """Some of it, as NumPy's own slicing gives it."""
    key = draw(npst.basic_indices(wanted.shape, allow_newaxis=True, allow_ellipsis=True))
    got, expected = opened[key], wanted[key]
    assert got.shape == expected.shape and type(got) is type(expected)
    assert np.asarray(got, wanted.dtype).tobytes() == np.asarray(expected, wanted.dtype).tobytes()


def one(draw, folder, name):
    target, sources, types, least, most = TARGETS[name]
    kind = draw(st.sampled_from(sources))
    array = draw(arrays(kind, name, types, least, most))
    source = SOURCES[kind](draw, folder, array)
    roi = draw(regions(array.shape, 1 if name in NEVER_EMPTY else draw(st.sampled_from([0, 1, 1]))))
    kept = resplit.open(source).dtype  # not every format keeps the byte order
    assert kept.newbyteorder("=") == array.dtype.newbyteorder("=")
    wanted = array[(*box_of(roi, array.shape), ...)].astype(kept)
    path, asked = target.ask(draw, folder, wanted.shape)
    event(f"{kind} to {name}")
    note(f"{kind} {array.dtype} {array.shape} [{roi}] to {path} {asked}")
    memory = draw(st.sampled_from([20_000, 200_000, 4 << 20]))
    if path is None:
        out = np.empty(wanted.shape, wanted.dtype)
        resplit.resplit(source, out, roi=roi, threads=draw(st.sampled_from([None, 1, 3])))
        target.check(out, wanted, asked, None)
        return
    plan = run_in_least_memory(lambda n: resplit.plan(source, path, roi=roi, memory=n, **asked), memory)
    done = plan.run(threads=draw(st.sampled_from([None, 1, 3])), sync="none", io=draw(st.sampled_from([None, "threads"])))
    target.check(path, wanted, asked, done)
    check_counts(plan, done)
    spec = {"shape": wanted.shape, "dtype": wanted.dtype, "order": plan.target.order} if name == "raw" else {}
    opened = resplit.open(path, **spec)
    assert opened.shape == wanted.shape
    check_reading(draw, opened, wanted)
    if opened.dtype.kind != "V" or opened.dtype == wanted.dtype:
        assert resplit.verify(opened, wanted.astype(opened.dtype)) and resplit.fingerprint(opened) == resplit.fingerprint(
            wanted.astype(opened.dtype))
        assert done.fingerprint in (None, resplit.fingerprint(opened))


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.timeout(3600 if FULL else 300)
@seed(SEED)
@settings(max_examples=N_EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_array_to(tmp_path, name, data):
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    try:
        one(data.draw, folder, name)
    finally:
        shutil.rmtree(folder)


@seed(SEED)
@settings(max_examples=N_EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_one_element_that_differs_is_found(tmp_path, data):
    """So that what the tests above compare by is known to fail."""
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    try:
        array = data.draw(arrays("memory", "zarr3", TYPES, 1, 4).filter(lambda a: a.size > 0))
        at = tuple(data.draw(st.integers(0, n - 1)) for n in array.shape)
        other = array.copy()
        other[at] = np.frombuffer(bytes(b ^ 1 for b in array[at].tobytes()), array.dtype)[0]
        chunks = [data.draw(lengths(n, 2)) for n in array.shape]
        resplit.resplit(array, folder / "a.zarr", chunks=chunks, codec=data.draw(st.sampled_from(CODECS["zarr"])), sync="none",
                        memory="8MiB")
        found = resplit.verify(folder / "a.zarr", other.astype(resplit.open(folder / "a.zarr").dtype))
        assert (found.equal, found.n_different, found.index) == (False, 1, at)
        assert resplit.fingerprint(array) != resplit.fingerprint(other)
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("order", "CF")
def test_blocks_of_a_grid_are_those_of_numpy(tmp_path, order):
    """The oracle of the others, once more by hand."""
    array = sample((5, 7), "<u2")
    resplit.resplit(array, tmp_path / "out", chunks=([2, 3], 4), order=order, sync="none")
    for index, _, values in blocks_of(array, ([2, 3], 4)):
        block = np.load(tmp_path / "out" / "{}_{}.npy".format(*index))
        assert same(block, values) and (block.flags.f_contiguous if order == "F" else block.flags.c_contiguous)
