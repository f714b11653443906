# SPDX-License-Identifier: BSD-3-Clause
"""The Python package: what each function takes, gives and refuses. The oracle is NumPy, or the format's own reader."""

import errno
import json
import os
import pickle
import subprocess
import sys
import threading

import h5py
import numpy as np
import pytest
import zarr

import resplit
from conftest import ROOT, check_blocks, sample, same, write_blocks

QUICK = {"memory": "8MiB", "sync": "none"}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def array():
    return sample((20, 30, 25), "<i2")


# ---- What arrays tell ----------------------------------------------------------------------------


def test_a_grid_of_files(folder, array):
    write_blocks(folder / "grid", array, (8, [10, 5, 15], -1), "{0}_{1}_{2}.npy")
    opened = resplit.open("grid")
    assert (opened.shape, opened.ndim, opened.size, opened.nbytes, opened.itemsize) == ((20, 30, 25), 3, 15000, 30000, 2)
    assert opened.chunks == ((8, 8, 4), (10, 5, 15), (25,)) and opened.chunksize == (8, 15, 25) and opened.n_blocks == 9
    assert (opened.format, opened.order, opened.codec, opened.shards, opened.path) == ("npy", "C", None, None, "grid")
    assert opened.dtype == array.dtype and opened.pattern == "{0}_{1}_{2}.npy" and opened.fingerprint is None
    assert repr(opened) == "<resplit.Array 'grid': (20, 30, 25) int16, npy, 9 blocks of (8, 15, 25)>"
    assert same(np.asarray(opened), array)


def test_a_zarr_array(array):
    made = zarr.create_array("a.zarr", shape=array.shape, chunks=(5, 6, 5), shards=(10, 12, 25), dtype="i2",
                             attributes={"unit": "K", "list": [1, 2.5, None], "nan": float("nan")})
    made[...] = array
    opened = resplit.open(made)
    assert opened.shards == (10, 12, 25) and opened.chunksize == (5, 6, 5) and opened.codec and opened.format == "zarr3"
    assert opened.attrs["unit"] == "K" and opened.attrs["list"] == [1, 2.5, None] and np.isnan(opened.attrs["nan"])
    assert "shards of (10, 12, 25)" in repr(opened)


def test_attributes_of_hdf5():
    attrs = {"int": -3, "big": np.uint64(2**64 - 1), "float": 0.1, "text": "ü\n\"", "bytes": np.bytes_(b"abc"), "yes": True,
             "numbers": np.arange(6, dtype=">i2").reshape(2, 3), "texts": ["a", "b"], "inf": -np.inf, "none": h5py.Empty("f4"),
             "single": np.float32(0.1), "no": np.array([False, True])}
    with h5py.File("a.h5", "w") as file:
        data = file.create_dataset("x", data=np.zeros(3))
        for name, value in attrs.items():
            data.attrs[name] = value
        data.attrs["record"] = np.zeros(1, "i4,f4")  # which JSON has no word for
        data.attrs["reference"] = data.ref
        read = {name: data.attrs[name] for name in attrs}
    got = resplit.open("a.h5").attrs
    assert set(got) == set(attrs)
    for name, value in read.items():
        if isinstance(value, h5py.Empty):
            assert got[name] is None
        elif isinstance(value, np.bytes_):
            assert got[name] == value.decode()
        elif isinstance(value, np.ndarray):
            assert got[name] == value.tolist()
        else:
            assert got[name] == value and isinstance(got[name], (int, float, str, bool))


def test_attributes_of_others(array):
    np.save("a.npy", array)
    assert resplit.open("a.npy").attrs == {}


def test_raw_files_are_described(folder, array):
    array.tofile("a.raw")
    (folder / "b.raw").write_bytes(b"header" + array.tobytes())
    assert same(resplit.open("a.raw", shape=array.shape, dtype="int16")[...], array)
    assert same(resplit.open("b.raw", shape=array.shape, dtype=array.dtype, skip=6)[...], array)
    assert resplit.open("a.raw", shape=(25, 30, 20), dtype="<i2", order="F")[...].T.tobytes() == array.tobytes()
    write_blocks(folder / "grid", array, (10, 10, 10), "x{2}_{1}_{0}.raw")
    opened = resplit.open("grid", shape=array.shape, dtype="<i2", chunks=10, pattern="x{2}_{1}_{0}.raw")
    assert same(opened[...], array)
    with pytest.raises(resplit.InvalidError, match="shape"):
        resplit.open("a.raw")


def test_arrays_are_pickled_by_path(array):
    array.tofile("a.raw")
    opened = resplit.open("a.raw", shape=array.shape, dtype="<i2")
    assert same(pickle.loads(pickle.dumps(opened))[3:5], array[3:5])
    with pytest.raises(TypeError):
        pickle.dumps(resplit.open(array))


def test_what_is_stored_can_change_after_it_was_opened(array):
    np.save("a.npy", array)
    opened = resplit.open("a.npy")
    os.truncate("a.npy", 1000)
    with pytest.raises(resplit.ResplitError):
        opened[...]


# ---- Sources -------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", [lambda a: a, lambda a: np.asfortranarray(a), lambda a: a[::-2, 3:, ::3], lambda a: a.T,
                                  lambda a: np.broadcast_to(a[:1], a.shape), lambda a: a[:0], lambda a: a[3, 4, 5:6]])
@pytest.mark.parametrize("codec", ["none", "zstd:1"])
def test_memory_of_any_strides(array, view, codec):
    values = view(array)
    done = resplit.resplit(values, "a.zarr", chunks=7, codec=codec, **QUICK)
    assert same(np.asarray(zarr.open_array("a.zarr")[...]), np.ascontiguousarray(values))
    assert done.cost.read_seeks == 0 and done.cost.bytes_read == 0
    assert resplit.verify(values, "a.zarr") and done.fingerprint == resplit.fingerprint(values)


@pytest.mark.parametrize("dtype", ["?", ">f2", "<M8[ns]", "S3", "<U2", "V5", [("a", "u1"), ("b", ">f8", (2, 2))]])
def test_memory_of_any_type(dtype):
    values = sample((5, 6), dtype)
    resplit.resplit(values, "a", chunks=(2, 5), **QUICK)
    resplit.merge("a", "a.npy", **QUICK)
    assert same(np.load("a.npy"), values)


def test_types_that_are_not_numpys_own():
    with pytest.raises(TypeError, match="objects"):
        resplit.resplit(np.array([{}], object), "a.npy")
    ml_dtypes = pytest.importorskip("ml_dtypes")
    with pytest.raises(TypeError, match="bfloat16"):
        resplit.resplit(np.zeros(3, ml_dtypes.bfloat16), "a.npy")


def test_memory_that_is_a_file(array):
    np.save("a.npy", array)
    mapped = np.load("a.npy", mmap_mode="r")
    opened = resplit.open(mapped)
    assert opened.format == "raw" and opened.path.endswith("a.npy") and same(opened[...], array)
    fortran = np.memmap("f.raw", "<i2", "w+", shape=array.shape, order="F")
    fortran[...] = array
    assert resplit.open(fortran).path.endswith("f.raw") and same(resplit.open(fortran)[...], array)
    # a part of a file is memory, and so is what others do not see
    assert resplit.open(mapped[3:]).format == "memory"
    copied = np.load("a.npy", mmap_mode="c")
    copied[0] = 7
    assert resplit.open(copied).format == "memory"
    resplit.resplit(copied, "b.npy", **QUICK)
    assert (np.load("b.npy")[0] == 7).all()


def test_objects_of_zarr_and_h5py(array):
    for version in (2, 3):
        group = zarr.open_group(f"g{version}.zarr", mode="w", zarr_format=version)
        made = group.create_array("sub/x", shape=array.shape, chunks=(7, 7, 7), dtype="i2")
        made[...] = array
        resplit.resplit(made, f"from{version}.npy", **QUICK)
        assert same(np.load(f"from{version}.npy"), array)
    with h5py.File("a.h5", "w") as file:
        data = file.create_dataset("deep/x", data=array, chunks=(7, 7, 7))
        resplit.resplit(data, "from.npy", **QUICK)  # not yet closed
    assert same(np.load("from.npy"), array)


def test_objects_that_are_nowhere():
    with pytest.raises(ValueError, match="MemoryStore is no folder"):
        resplit.resplit(zarr.create_array(zarr.storage.MemoryStore(), shape=(3,), dtype="i2"), "a.npy")
    with pytest.raises(TypeError, match="list is no array"):
        resplit.resplit([1, 2], "a.npy")


# ---- Targets -------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunks, lengths", [
    (8, (8, 8, 8)), ((8, -1, 5), (8, 30, 5)), ((8, None, 5), (8, 30, 5)), ([[10, 10], 7, 25], ([10, 10], 7, 25)),
    ({0: 6}, (6, 30, 25)), ({-1: 5, 1: (20, 10)}, (20, [20, 10], 5)), (np.array([4, 30, 25]), (4, 30, 25))], ids=str)
def test_chunks(folder, array, chunks, lengths):
    resplit.resplit(array, "out", chunks=chunks, **QUICK)
    check_blocks(folder / "out", array, lengths, "{0}_{1}_{2}.npy")


def test_chunks_by_axis_keep_the_others(folder, array):
    resplit.resplit(array, "a", chunks=(5, 6, 25), **QUICK)
    resplit.resplit("a", "b", chunks={1: 10}, **QUICK)
    check_blocks(folder / "b", array, (5, 10, 25), "{0}_{1}_{2}.npy")


@pytest.mark.parametrize("chunks, error", [("auto", "one length per axis"), ((1, 2), "3 axes, but 2"), (0, "at least 1"),
                                           ({5: 1}, "axis 5"), ((1.5, 2, 3), "integer"), (((5, 5), 3, 3), "add up")])
def test_wrong_chunks(array, chunks, error):
    with pytest.raises((ValueError, TypeError), match=error):
        resplit.resplit(array, "out", chunks=chunks)
    assert not os.path.exists("out")


def test_all_that_a_target_can_be(array):
    resplit.resplit(array, "a.zarr", chunks=(5, 6, 5), shards=(10, 12, 25), codec="blosc:lz4:5:bitshuffle", **QUICK)
    made = zarr.open_array("a.zarr")
    assert (made.chunks, made.shards, made.metadata.zarr_format) == ((5, 6, 5), (10, 12, 25), 3)
    assert same(np.asarray(made[...]), array)
    resplit.resplit("a.zarr", "b", format="zarr2", order="F", dtype="f8", chunks=10, **QUICK)
    made = zarr.open_array("b")
    assert made.metadata.zarr_format == 2 and made.order == "F" and same(np.asarray(made[...]), array.astype("f8"))
    resplit.resplit("a.zarr", "c.h5:/x", codec="shuffle+zlib:4", **QUICK)
    with h5py.File("c.h5") as file:
        assert file["x"].chunks == (5, 6, 5) and file["x"].compression == "gzip" and same(file["x"][...], array)
    resplit.resplit("a.zarr", "d", pattern="v{0}-{1}-{2:03}.raw", chunks=(20, 10, 25), **QUICK)
    assert sorted(os.listdir("d")) == ["resplit.json", "v0-0-000.raw", "v0-1-000.raw", "v0-2-000.raw"]


def test_losses_are_counted():
    values = np.array([0.0, 1.5, 300.0, -1.0, np.nan], "f4")
    done = resplit.resplit(values, "a.npy", dtype=np.uint8, **QUICK)
    assert np.load("a.npy").tolist()[0] == 0 and np.load("a.npy")[2] == 255
    assert (done.losses.n_values, done.losses.n_out_of_range, done.losses.n_not_a_number, done.losses.n_rounded) == (5, 2, 1, 1)
    assert done.losses.n_changed == 4 and done.fingerprint is None and "4 of 5 values" in repr(done)


def test_into_memory(array):
    resplit.resplit(array, "a.zarr", chunks=(7, 8, 9), **QUICK)
    out = np.zeros((40, 30, 25), "<i2")[::-2]
    done = resplit.resplit("a.zarr", out, memory="8MiB")
    assert np.array_equal(out, array) and done.path is None and done.cost.bytes_written == array.nbytes
    part = np.empty((2, 30, 1), "<i2")
    resplit.extract("a.zarr", part, np.s_[4:6, :, 7])
    assert same(part, array[4:6, :, 7:8])
    other = np.empty(array.shape, ">i2")
    resplit.resplit("a.zarr", other)
    assert np.array_equal(other, array)
    mapped = np.memmap("m.raw", "<i2", "w+", shape=array.shape)
    resplit.resplit("a.zarr", mapped)
    assert same(np.fromfile("m.raw", "<i2").reshape(array.shape), array)
    for wrong in (np.empty((3,), "<i2"), np.empty(array.shape, "f4")):
        with pytest.raises(ValueError, match="the target has shape"):
            resplit.resplit("a.zarr", wrong)
    with pytest.raises(ValueError, match="chunks is about arrays in files"):
        resplit.resplit("a.zarr", out, chunks=3)
    frozen = np.empty(array.shape, "<i2")
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="cannot be written"):
        resplit.resplit("a.zarr", frozen)


def test_split_merge_extract(folder, array):
    np.save("a.npy", array)
    resplit.split("a.npy", "blocks", (10, 10, 25), **QUICK)
    check_blocks(folder / "blocks", array, (10, 10, 25), "{0}_{1}_{2}.npy")
    resplit.merge("blocks", "back.npy", **QUICK)
    assert same(np.load("back.npy"), array)
    resplit.extract("blocks", "roi.npy", np.s_[2:9, ::, -3:], **QUICK)
    assert same(np.load("roi.npy"), array[2:9, :, -3:])
    with pytest.raises(ValueError, match="split takes one"):
        resplit.split("blocks", "again", (5, 5, 5))
    with pytest.raises(ValueError, match="folder of blocks"):
        resplit.resplit("blocks", "again")
    resplit.merge("blocks", "one", **QUICK)
    check_blocks(folder / "one", array, (-1, -1, -1), "{0}_{1}_{2}.npy")


@pytest.mark.parametrize("roi, error", [(np.s_[:, :], "2 axes"), (np.s_[::2, :, :], "step"), (np.s_[50, :, :], "outside")])
def test_wrong_regions(array, roi, error):
    with pytest.raises((ValueError, IndexError), match=error):
        resplit.extract(array, "out.npy", roi)


# ---- Plans ---------------------------------------------------------------------------------------


def test_a_plan_is_what_runs(array):
    np.save("a.npy", array)
    plan = resplit.plan("a.npy", "b", chunks=7, memory=100_000, strategy="keep")
    assert not os.path.exists("b") and plan.strategy == "keep" and plan.memory == 100_000
    done = plan.run(sync="none")
    for name in ("read_seeks", "write_seeks", "bytes_read", "bytes_written", "temp_bytes"):
        assert getattr(done.cost, name) == getattr(plan.predicted, name), name
    assert done.cost.peak_bytes <= plan.peak_bytes <= 100_000
    assert plan.floor.seeks == 1 + 3 * 5 * 4 and plan.seeks >= plan.floor.seeks and plan.seconds >= plan.floor_seconds
    assert plan.device.name == "ssd" and len(plan.kept) == len(plan.loop_order) == len(plan.buffer) == 3
    assert same(np.asarray(resplit.open("b")), array)
    text = repr(plan)
    assert "strategy     keep" in text and f"{plan.seeks:,}" in text and "97.7 KiB" in text
    assert all(f"{plan.seeks:,}" in part for part in (plan._repr_html_(), text)) and "<svg" in plan._repr_html_()


def test_plans_in_files(array, run):
    np.save("a.npy", array)
    resplit.plan("a.npy", "b", chunks=7, memory="1MiB").save("plan.json")
    assert json.load(open("plan.json"))["strategy"]
    loaded = resplit.load_plan("plan.json")
    assert loaded.source.shape == array.shape and loaded.run(sync="none").path.endswith("b")
    assert same(np.asarray(resplit.open("b")), array)
    with pytest.raises(resplit.ExistsError):
        resplit.load_plan("plan.json").run()
    assert resplit.load_plan("plan.json").run(overwrite=True, sync="none")
    run("plan", "a.npy", "c", "--chunks", "5,5,5", "--save", "other.json", "--memory", "1MiB")
    resplit.load_plan("other.json").run(sync="none")
    assert same(np.asarray(resplit.open("c")), array)
    resplit.plan("a.npy", "d", chunks=7).picture("plan.svg")
    assert open("plan.svg").read().lstrip().startswith("<")


def test_plans_without_files():
    volume = resplit.describe((3500, 3500, 3500), "uint16", chunks=350)
    plan = resplit.plan(volume, chunks=500, memory="1GB")
    assert plan.floor.seeks == 1000 + 343 and plan.predicted.peak_bytes <= 10**9
    slow = resplit.plan(volume, chunks=500, memory="1GB", device="hdd", strategy="naive")
    assert slow.seconds > plan.seconds and slow.device.name == "hdd"
    own = resplit.Device("mine", 1.0, 1.0, 1e9, 1e9, 1e9)
    assert resplit.plan(volume, chunks=500, memory="1GB", device=own).device == own
    with pytest.raises(resplit.InvalidError, match="device"):
        resplit.plan(volume, chunks=500, device="floppy")
    with pytest.raises(resplit.InvalidError):
        plan.save("plan.json")
    with pytest.raises(resplit.InvalidError, match="described"):
        resplit.plan(volume, "out", chunks=500, memory="1GB").run()


# ---- Failing -------------------------------------------------------------------------------------


def test_errors(array):
    np.save("a.npy", array)
    with pytest.raises(FileNotFoundError) as missing:
        resplit.open("nowhere.npy")
    assert isinstance(missing.value, resplit.MissingError) and missing.value.errno == errno.ENOENT
    assert missing.value.code == "EIO" and "'nowhere.npy'" in str(missing.value)
    open("bad.npy", "wb").write(open("a.npy", "rb").read()[:-1])
    with pytest.raises(ValueError) as bad:
        resplit.open("bad.npy")
    assert isinstance(bad.value, resplit.FormatError)
    with pytest.raises(FileExistsError, match="overwrite=True") as exists:
        resplit.resplit(array, "a.npy")
    assert isinstance(exists.value, resplit.ExistsError)
    with pytest.raises(MemoryError) as budget:
        resplit.resplit("a.npy", "b", chunks=7, memory="10KiB")
    assert isinstance(budget.value, resplit.BudgetError)
    resplit.resplit("a.npy", "b", chunks=7, memory=budget.value.needed, sync="none")
    with pytest.raises(NotImplementedError):
        resplit.resplit("a.npy", "c", chunks=7, strategy="copy")
    with pytest.raises(resplit.InvalidError, match="no strategy"):
        resplit.resplit("a.npy", "c", chunks=7, strategy="brute force")
    for error in (missing, bad, exists, budget):
        assert isinstance(error.value, resplit.ResplitError) and error.value.resumable is False


def test_words_of_the_command_are_translated():
    open("a.raw", "wb").write(b"1234")
    with pytest.raises(resplit.InvalidError) as error:
        resplit.open("a.raw")
    assert "--" not in str(error.value) and "shape=" in str(error.value)


def test_sizes():
    assert [resplit.parse_bytes(s) for s in (1, 1.5e3, "7", "1kB", "1KiB", "1.5 GiB", "2mb", "3TiB")] == [
        1, 1500, 7, 1000, 1024, 3 << 29, 2_000_000, 3 << 40]
    for wrong in ("", "MiB", "1 furlong", "1M", "-1", "1e9GB"):
        with pytest.raises(ValueError):
            resplit.parse_bytes(wrong)
    assert resplit.memory_available() > 0


def test_overwrite(array):
    np.save("a.npy", array)
    resplit.resplit(array[:5], "a.npy", overwrite=True, **QUICK)
    assert same(np.load("a.npy"), array[:5])


# ---- Comparing -----------------------------------------------------------------------------------


def test_verify(array):
    other = array.copy()
    other[3, 4, 5] += 1
    resplit.resplit(array, "a.zarr", chunks=9, **QUICK)
    assert resplit.verify("a.zarr", array)
    found = resplit.verify("a.zarr", other, memory="8MiB", threads=1)
    assert not found and (found.equal, found.n_different, found.index) == (False, 1, (3, 4, 5))
    assert resplit.verify(array.astype(">i2"), "a.zarr")
    with pytest.raises(ValueError):
        resplit.verify("a.zarr", array[:5])
    with pytest.raises(ValueError, match="type"):
        resplit.verify("a.zarr", array.astype("f4"))


def test_fingerprints_are_the_commands(array, run):
    np.save("a.npy", array)
    assert run("fingerprint", "a.npy").stdout.split()[0] == resplit.fingerprint("a.npy") == resplit.fingerprint(array.T.copy().T)
    done = resplit.resplit("a.npy", "b", chunks=7, **QUICK)
    assert done.fingerprint == resplit.open("b").fingerprint == resplit.fingerprint(array)


# ---- Progress, threads, signals ------------------------------------------------------------------


class Bar:
    """As much of tqdm as is asked for."""

    def __init__(self):
        self.n, self.total, self.calls = 0, None, 0

    def update(self, n=1):
        self.n += n
        self.calls += 1
        return True  # as tqdm does when it draws itself


def test_progress(array, capsys):
    told = []
    resplit.resplit(array, "a", chunks=7, progress=lambda done, total: told.append((done, total)), **QUICK)
    assert told[-1] == (array.nbytes, array.nbytes) and told == sorted(told)
    bar = Bar()
    resplit.resplit("a", "b", chunks=9, progress=bar, **QUICK)
    assert bar.n == bar.total == array.nbytes and bar.calls > 0
    resplit.resplit("a", "c", chunks=9, progress=True, **QUICK)
    assert "100%" in capsys.readouterr().err
    assert resplit.verify("a", "b", progress=Bar()) and resplit.fingerprint("a", progress=Bar())


def test_progress_comes_to_an_end(array):
    """Also where blocks are larger than the array, and only some of them are wanted."""
    resplit.resplit(array, "a.zarr", chunks=(7, 9, 11), codec="zstd:1", **QUICK)
    told = []
    for call in (lambda: resplit.open("a.zarr").read(np.s_[3:12, 5:, ::], progress=lambda *now: told.append(now)),
                 lambda: resplit.fingerprint("a.zarr", progress=lambda *now: told.append(now)),
                 lambda: resplit.verify("a.zarr", "a.zarr", progress=lambda *now: told.append(now)),
                 lambda: resplit.resplit("a.zarr", "b.zarr", chunks=8, progress=lambda *now: told.append(now), **QUICK)):
        told.clear()
        call()
        assert told[-1][0] == told[-1][1] > 0


def test_a_bar_of_nothing(array):
    from tqdm import tqdm

    with tqdm(total=0, disable=False, file=open(os.devnull, "w")) as bar:
        assert not bar
        resplit.resplit(array, "a", chunks=7, progress=bar, **QUICK)
        assert bar.n == bar.total == array.nbytes


def test_progress_without_tqdm(array, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    resplit.resplit(array, "c", chunks=9, progress=True, **QUICK)
    assert "100%" in capsys.readouterr().err


@pytest.mark.parametrize("error", [RuntimeError, resplit.Canceled, KeyboardInterrupt])
def test_a_callback_that_raises_stops_the_run(array, error):
    def stop(done, total):
        if done > 0:
            raise error("enough")

    np.save("a.npy", np.zeros(4 << 20, "u1"))
    with pytest.raises(error, match="enough") as stopped:
        resplit.resplit("a.npy", "b", chunks=4096, threads=1, progress=stop, **QUICK)
    assert stopped.value.resumable is True and any("resume=True" in note for note in stopped.value.__notes__)
    assert not os.path.exists("b")
    done = resplit.resplit("a.npy", "b", chunks=4096, resume=True, **QUICK)
    assert done.resumed and done.cost.bytes_written < 4 << 20
    assert not np.asarray(resplit.open("b")).any()


def test_from_memory_nothing_is_kept():
    def stop(done, total):
        if done > 0:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError) as stopped:
        resplit.resplit(np.zeros(4 << 20, "u1"), "b", chunks=4096, threads=1, progress=stop, **QUICK)
    assert stopped.value.resumable is False and os.listdir(".") == []


def test_others_work_meanwhile():
    """Threads are never made to take turns, so the only turn there is comes with the interpreter that the library lets go."""
    values = np.zeros(64 << 20, "u1")
    ended = threading.Event()

    def work():
        resplit.fingerprint(values, threads=1)
        ended.set()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        meanwhile = not ended.is_set()
        thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert meanwhile


def test_several_threads(array):
    """Each with arrays of its own, and all with one."""
    shared = resplit.open(array)
    failed = []

    def work(i):
        try:
            resplit.resplit(shared, f"out{i}.zarr", chunks=5 + i, codec="zstd:1", **QUICK)
            assert same(np.asarray(resplit.open(f"out{i}.zarr")), array)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def peak_of(code, tmp_path):
    """Bytes by which a process grew while it ran the second part of some code, at most."""
    setup, work = code.split("# ----")
    script = (f"import resource, numpy as np, resplit\n{setup}\nfirst = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n{work}\n"
              "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - first) * 1024)")
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, capture_output=True, text=True)
    return int(done.stdout)


@pytest.mark.parametrize("work", [
    'resplit.open("a.zarr").read(out=out, memory="16MiB")', 'resplit.open("a.npy").read(out=out, memory="16MiB")',
    'resplit.open("a.zarr")[::2, ::3, 5]', 'resplit.resplit(out, "b.zarr", chunks=100, codec="zstd:1", memory="16MiB", sync="none")',
    'resplit.fingerprint(out, memory="16MiB")', 'resplit.verify("a.zarr", out, memory="16MiB")'])
def test_memory_is_kept(tmp_path, work):
    """64 MB in budgets of 16 MiB: what there is beside, of the interpreter for one, is small."""
    values = np.tile(np.arange(400, dtype="u1"), (400, 400, 1))
    np.save("a.npy", values)
    resplit.resplit(values, "a.zarr", chunks=(50, 50, 400), codec="zstd:1", **QUICK)
    setup = 'out = np.ones((400, 400, 400), "u1"); resplit.open("a.zarr")[0, 0, 0]; resplit.fingerprint(out[:2, :2, :2])'
    assert peak_of(f"{setup}\n# ----\n{work}", tmp_path) < (18 << 20)


def test_the_words_of_the_library():
    header = (ROOT / "include/resplit.h").read_text()
    assert f"RESPLIT_VERSION_MINOR {resplit.__version__.split('.')[1]}" in header
    assert "zarr3" in resplit.formats and "zstd" in resplit.codecs and "best" in resplit.strategies and "hdd" in resplit.devices
