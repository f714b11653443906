# SPDX-License-Identifier: BSD-3-Clause
"""What the command does to files, with NumPy as the only judge."""

import os

import numpy as np
import pytest
import zarr

from conftest import check_blocks, same, sample, write_blocks, written

GRIDS = [
    ((100,), (7,)),
    ((100,), (-1,)),
    ((20, 30), (6, 30)),
    ((20, 30, 17), (8, 8, 8)),
    ((20, 30, 17), (-1, 5, -1)),
    ((20, 30, 17), ((3, 4, 13), 10, (1, 16))),
    ((5, 6, 7, 8), (2, 4, 7, 3)),
    ((2, 1, 3, 2, 1, 4), (1, 1, 2, 2, 1, 3)),
]
DTYPES = ["bool", "int8", "uint16", ">i2", "<f4", ">f8", "complex128", "S5", "V12", [("a", "<i2"), ("b", ">f4")]]


def underscored(ndim, suffix):
    return "_".join(f"{{{d}}}" for d in range(ndim)) + suffix


# ---- split, merge and back -------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape, chunks", GRIDS)
@pytest.mark.parametrize("order", "CF")
def test_npy_split_and_merge(run, tmp_path, shape, chunks, order):
    array = sample(shape)
    np.save(tmp_path / "in.npy", np.asarray(array, order=order))
    run("split", "in.npy", "blocks", "--chunks", written(chunks), "--memory", "1MiB")
    check_blocks(tmp_path / "blocks", array, chunks, underscored(len(shape), ".npy"))
    run("merge", "blocks", "out.npy", "--memory", "1MiB")
    assert same(np.load(tmp_path / "out.npy"), array)
    assert (tmp_path / "out.npy").read_bytes() == (tmp_path / "in.npy").read_bytes()


@pytest.mark.parametrize("shape, chunks", GRIDS)
@pytest.mark.parametrize("order", "CF")
def test_raw_split_and_merge(run, tmp_path, shape, chunks, order):
    array = sample(shape, "<f4")
    (tmp_path / "in.raw").write_bytes(array.tobytes(order))
    run("split", "in.raw", "blocks", "--chunks", written(chunks), "--memory", "1MiB", "--dtype", "float32", "--shape",
        written(shape), "--order", order)
    check_blocks(tmp_path / "blocks", array, chunks, underscored(len(shape), ".raw"), order)
    run("merge", "blocks", "out.raw", "--memory", "1MiB")
    assert (tmp_path / "out.raw").read_bytes() == array.tobytes(order)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_type_keeps_its_bits(run, tmp_path, dtype):
    array = sample((9, 10, 11), dtype)
    np.save(tmp_path / "in.npy", array)
    run("in.npy", "blocks", "--chunks", "4,4,4", "--memory", "1MiB")
    run("blocks", "others", "--chunks", "5,3,11", "--memory", "1MiB")
    run("merge", "others", "out.npy", "--memory", "1MiB")
    assert same(np.load(tmp_path / "out.npy"), array)


@pytest.mark.parametrize("strategy", ["auto", "naive", "keep"])
def test_any_grid_to_any_other(run, tmp_path, strategy):
    array = sample((31, 29, 37))
    write_blocks(tmp_path / "a", array, (10, 7, 12), "{0}_{1}_{2}.npy")
    result = run.json("a", "b", "--chunks", "4,13,9", "--memory", "96KiB", "--strategy", strategy)
    check_blocks(tmp_path / "b", array, (4, 13, 9), "{0}_{1}_{2}.npy")
    assert strategy in ("auto", result["strategy"])


@pytest.mark.parametrize("strategy", ["naive", "clustered", "multiple", "keep"])
def test_every_strategy_splits_and_merges(run, tmp_path, strategy):
    array = sample((31, 29, 37))
    np.save(tmp_path / "in.npy", array)
    options = ("--memory", "96KiB", "--strategy", strategy)
    assert run.json("split", "in.npy", "b", "--chunks", "8,13,9", *options)["strategy"] == strategy
    check_blocks(tmp_path / "b", array, (8, 13, 9), "{0}_{1}_{2}.npy")
    assert run.json("merge", "b", "out.npy", *options)["strategy"] == strategy
    assert same(np.load(tmp_path / "out.npy"), array)


def test_default_action_merges_into_one_file(run, tmp_path):
    array = sample((10, 11))
    write_blocks(tmp_path / "a", array, (4, 4), "{0}_{1}.npy")
    run("a", "out.npy", "--memory", "1MiB")
    assert same(np.load(tmp_path / "out.npy"), array)


def test_format_can_change_on_the_way(run, tmp_path):
    array = sample((10, 11))
    np.save(tmp_path / "in.npy", array)
    run("split", "in.npy", "a", "--chunks", "4,4", "--format", "raw", "--memory", "1MiB")
    check_blocks(tmp_path / "a", array, (4, 4), "{0}_{1}.raw")
    run("merge", "a", "out.npy", "--memory", "1MiB")
    assert same(np.load(tmp_path / "out.npy"), array)
    run("merge", "a", "out.raw", "--memory", "1MiB")
    assert (tmp_path / "out.raw").read_bytes() == array.tobytes()


# ---- names and descriptions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern",
                         ["b_{1}_{0}.npy", "x{0:03}-{1:02}.npy", "{0.start}+{1.start}.npy", "v_{offset}.npy"])
def test_patterns_name_the_target_and_find_the_source(run, tmp_path, pattern):
    array = sample((10, 11))
    np.save(tmp_path / "in.npy", array)
    run("in.npy", "a", "--chunks", "4,5", "--pattern", pattern, "--memory", "1MiB")
    check_blocks(tmp_path / "a", array, (4, 5), pattern)
    os.remove(tmp_path / "a" / "resplit.json")
    shape = ("--shape", "10,11") if "offset" in pattern else ()  # an offset means nothing without the shape
    run("merge", "a", "out.npy", "--from-pattern", pattern, "--memory", "1MiB", *shape)
    assert same(np.load(tmp_path / "out.npy"), array)
    assert run.json("info", "a", "--pattern", pattern, *shape)["shape"] == [10, 11]


@pytest.mark.parametrize("order", "CF")
def test_raw_blocks_of_another_program(run, tmp_path, order):
    array = sample((10, 11, 12), ">i2")
    write_blocks(tmp_path / "a", array, (4, 5, 12), "brain_{2}_{1}_{0}.raw", order, skip=b"header!")
    described = ("--shape", "10,11,12", "--dtype", ">i2", "--order", order, "--from", "4,5,-1", "--skip", "7")
    run("merge", "a", "out.npy", *described, "--from-pattern", "brain_{2}_{1}_{0}.raw", "--memory", "1MiB")
    assert same(np.load(tmp_path / "out.npy"), array)
    info = run.json("info", "a", *described, "--pattern", "brain_{2}_{1}_{0}.raw")
    assert info["chunks"] == [4, 5, 12] and info["order"] == order and info["n_blocks"] == 9


def test_unequal_files_can_be_merged(run, tmp_path):
    array = sample((10, 11))
    write_blocks(tmp_path / "a", array, ((3, 1, 6), (5, 6)), "{0}_{1}.npy")
    assert run.json("info", "a")["chunks"] == [[3, 1, 6], [5, 6]] or run.json("info", "a")["chunks"] == [[3, 1, 6], 5]
    run("merge", "a", "out.npy", "--memory", "1MiB")
    assert same(np.load(tmp_path / "out.npy"), array)


# ---- regions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("roi", ["10:20,:,0:12", ":,:,:", "5,:,-3:", "-7:-2,3:4,:-1", "0:99,-99:5,16", " 2:3 ,:, 4"])
@pytest.mark.parametrize("chunks", [None, (4, 4, 4), (-1, (1, -1), 2)])
def test_extract_follows_numpy(run, tmp_path, roi, chunks):
    array = sample((20, 30, 17))
    box = []
    for extent, text in zip(array.shape, roi.split(",")):
        bounds = [int(t) if t.strip() else None for t in text.split(":")]
        start = bounds[0] % extent if len(bounds) == 1 else None
        box.append(slice(start, start + 1) if len(bounds) == 1 else slice(*bounds))
    expected = array[tuple(box)]
    write_blocks(tmp_path / "a", array, (7, 11, 5), "{0}_{1}_{2}.npy")
    if chunks is None:
        run("extract", "a", "out.npy", "--roi", roi, "--memory", "1MiB")
        assert same(np.load(tmp_path / "out.npy"), expected)
        return
    if isinstance(chunks[1], tuple):
        rest = expected.shape[1] - 1
        chunks = (chunks[0], (1, rest) if rest else 1, chunks[2])
    run("extract", "a", "out", f"--roi={roi}", "--chunks", written(chunks), "--memory", "1MiB")
    check_blocks(tmp_path / "out", expected, chunks, "{0}_{1}_{2}.npy")


def test_a_region_by_the_default_action(run, tmp_path):
    array = sample((20, 30))
    np.save(tmp_path / "in.npy", array)
    result = run.json("in.npy", "out", "--roi", "3:,-8:", "--chunks", "5,-1", "--memory", "1MiB")
    check_blocks(tmp_path / "out", array[3:, -8:], (5, -1), "{0}_{1}.npy")
    assert result["roi"] == [[3, 20], [22, 30]]
    assert result["shape"] == [20, 30]


# ---- what is already there -------------------------------------------------------------------------------------


def test_an_existing_file_is_refused_and_replaced_on_request(run, tmp_path):
    old, new = sample((4, 5), seed=1), sample((4, 5), seed=2)
    np.save(tmp_path / "in.npy", new)
    np.save(tmp_path / "out.npy", old)
    assert "out.npy" in run.error("in.npy", "out.npy", "--memory", "1MiB")
    assert same(np.load(tmp_path / "out.npy"), old)
    run("in.npy", "out.npy", "--memory", "1MiB", "--overwrite")
    assert same(np.load(tmp_path / "out.npy"), new)


def test_an_existing_folder_is_refused_and_replaced_on_request(run, tmp_path):
    old, new = sample((8, 8), seed=1), sample((9, 9), seed=2)
    np.save(tmp_path / "old.npy", old)
    np.save(tmp_path / "new.npy", new)
    run("old.npy", "out", "--chunks", "2,2", "--memory", "1MiB")
    assert "out" in run.error("new.npy", "out", "--chunks", "5,5", "--memory", "1MiB")
    check_blocks(tmp_path / "out", old, (2, 2), "{0}_{1}.npy")
    run("new.npy", "out", "--chunks", "5,5", "--memory", "1MiB", "--overwrite")
    check_blocks(tmp_path / "out", new, (5, 5), "{0}_{1}.npy")


@pytest.mark.parametrize("options", [(), ("--overwrite",)])
def test_a_folder_with_foreign_files_is_never_touched(run, tmp_path, options):
    np.save(tmp_path / "in.npy", sample((8, 8)))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("years of work")
    assert "out" in run.error("in.npy", "out", "--chunks", "4,4", "--memory", "1MiB", *options)
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["thesis.txt"]


def test_source_and_target_the_same_is_refused(run, tmp_path):
    array = sample((8, 8))
    np.save(tmp_path / "in.npy", array)
    run.error("in.npy", "./in.npy", "--memory", "1MiB", "--overwrite")
    assert same(np.load(tmp_path / "in.npy"), array)


# ---- what is wrong with the source -----------------------------------------------------------------------------


def break_blocks(folder, how):
    victim = folder / "1_0.npy"
    if how == "missing":
        victim.unlink()
    elif how == "truncated":
        victim.write_bytes(victim.read_bytes()[:-1])
    elif how == "oversized":
        victim.write_bytes(victim.read_bytes() + b"x")
    elif how == "type":
        np.save(victim, np.load(victim).astype("float64"))
    elif how == "empty":
        victim.write_bytes(b"")


@pytest.mark.parametrize("manifest", [True, False])
@pytest.mark.parametrize("how", ["missing", "truncated", "oversized", "type", "empty"])
def test_a_bad_block_is_named_before_anything_is_written(run, tmp_path, how, manifest):
    np.save(tmp_path / "in.npy", sample((8, 8)))
    run("in.npy", "a", "--chunks", "4,4", "--memory", "1MiB")
    if not manifest:
        os.remove(tmp_path / "a" / "resplit.json")
    break_blocks(tmp_path / "a", how)
    message = run.error("merge", "a", "out.npy", "--memory", "1MiB")
    assert "1_0.npy" in message or (how == "missing" and not manifest)
    assert not (tmp_path / "out.npy").exists()
    run.error("info", "a")


def test_a_source_that_is_not_there_is_named(run):
    assert "'nowhere.npy'" in run.error("nowhere.npy", "out.npy", "--memory", "1MiB")


def test_links_in_the_source_are_followed(run, tmp_path):
    array = sample((8, 8))
    write_blocks(tmp_path / "store", array, (4, 4), "{0}_{1}.npy")
    (tmp_path / "a").mkdir()
    for path in (tmp_path / "store").iterdir():
        (tmp_path / "a" / path.name).symlink_to(path)
    run("merge", "a", "out.npy", "--memory", "1MiB")
    assert same(np.load(tmp_path / "out.npy"), array)


# ---- verify ----------------------------------------------------------------------------------------------------


def test_verify_equal_whatever_the_layout(run, tmp_path):
    array = sample((10, 11, 12), "<f4")
    np.save(tmp_path / "c.npy", array)
    np.save(tmp_path / "f.npy", np.asfortranarray(array))
    np.save(tmp_path / "swapped.npy", array.astype(">f4"))
    (tmp_path / "f.raw").write_bytes(array.tobytes("F"))
    write_blocks(tmp_path / "blocks", array, (4, (5, 6), 7), "{0}_{1}_{2}.npy")
    write_blocks(tmp_path / "raws", array, (4, 5, 7), "{0}_{1}_{2}.raw", "F")
    raw = ("--dtype", "float32", "--shape", "10,11,12", "--order", "F", "--from", "4,5,7")
    for other in ("f.npy", "blocks", "f.raw", "raws"):
        assert run("verify", "c.npy", other, "--memory", "1MiB", *raw).stdout == "equal\n"
        assert run("verify", other, "c.npy", "--memory", "1MiB", *raw).stdout == "equal\n"
    assert run.json("verify", "c.npy", "blocks", "--memory", "1MiB") == {"equal": True, "n_different": 0, "index": None}
    values = np.load(tmp_path / "swapped.npy")
    if values.astype("<f4").tobytes() == array.tobytes():  # NumPy may quieten a NaN on the way
        assert run("verify", "c.npy", "swapped.npy", "--memory", "1MiB").stdout == "equal\n"


def test_verify_counts_differences(run, tmp_path):
    array = sample((10, 11, 12))
    np.save(tmp_path / "a.npy", array)
    other = array.copy()
    other[3, 4, 5] ^= 1
    write_blocks(tmp_path / "b", other, (4, 5, 7), "{0}_{1}_{2}.npy")
    done = run("verify", "a.npy", "b", "--memory", "1MiB", code=1)
    assert done.stdout == "different at [3, 4, 5]; 1 of 1,320 elements differ\n"
    assert run("verify", "a.npy", "b", "--memory", "1MiB", "--quiet", code=1).stdout == ""
    other[7] ^= 1
    np.save(tmp_path / "c.npy", other)
    result = run.json("verify", "a.npy", "c.npy", "--memory", "1MiB", code=1)
    assert not result["equal"] and result["n_different"] == int((array != other).sum())
    assert array[tuple(result["index"])] != other[tuple(result["index"])]


def test_verify_is_about_bits(run, tmp_path):
    np.save(tmp_path / "a.npy", np.array([0.0, np.nan, 1.0]))
    np.save(tmp_path / "b.npy", np.array([0.0, np.nan, 1.0]))
    np.save(tmp_path / "c.npy", np.array([-0.0, np.nan, 1.0]))
    run("verify", "a.npy", "b.npy", "--memory", "1MiB")
    assert run.json("verify", "a.npy", "c.npy", "--memory", "1MiB", code=1)["n_different"] == 1


def test_verify_refuses_unequal_shapes_and_types(run, tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((3, 4), "u2"))
    np.save(tmp_path / "b.npy", np.zeros((4, 3), "u2"))
    np.save(tmp_path / "c.npy", np.zeros((3, 4), "i2"))
    run.error("verify", "a.npy", "b.npy", "--memory", "1MiB", "--json")
    run.error("verify", "a.npy", "c.npy", "--memory", "1MiB")


# ---- info ------------------------------------------------------------------------------------------------------


def test_info_describes_what_numpy_wrote(run, tmp_path):
    array = np.asfortranarray(sample((10, 11), ">i4"))
    np.save(tmp_path / "a.npy", array)
    info = run.json("info", "a.npy")
    assert info.pop("path").endswith("a.npy")
    assert info == {"shape": [10, 11], "dtype": ">i4", "itemsize": 4, "order": "F", "chunks": [10, 11], "n_blocks": 1,
                    "bytes": 440, "format": "npy", "pattern": None, "fingerprint": None}
    assert "10 x 11" in run("info", "a.npy").stdout


def test_info_describes_a_folder(run, tmp_path):
    np.save(tmp_path / "in.npy", sample((10, 11)))
    run("in.npy", "a", "--chunks", "3+7,4", "--memory", "1MiB")
    info = run.json("info", "a")
    assert info["chunks"] == [[3, 7], 4] and info["n_blocks"] == 6 and info["pattern"] == "{0}_{1}.npy"


def test_plan_and_info_touch_nothing(run, tmp_path):
    np.save(tmp_path / "in.npy", sample((20, 30)))
    run("in.npy", "a", "--chunks", "7,7", "--memory", "1MiB")

    def state():
        return sorted((str(p), p.stat().st_mtime_ns, p.stat().st_size) for p in [tmp_path, *tmp_path.rglob("*")])

    before = state()
    run("plan", "a", "b", "--chunks", "5,5", "--memory", "1MiB")
    run("plan", "a", "in.npy", "--memory", "1MiB")
    run("plan", "a", "--to", "5,5", "--memory", "1MiB", "--json")
    run("info", "a")
    run("verify", "a", "in.npy", "--memory", "1MiB")
    assert state() == before


def test_a_target_that_cannot_be_made_is_named(run, tmp_path):
    np.save(tmp_path / "in.npy", sample((20, 30)))
    assert "no/such" in run.error("in.npy", "no/such/out", "--chunks", "7,7", "--memory", "1MiB")
    assert "in.npy" in run.error("in.npy", "in.npy/out", "--chunks", "7,7", "--memory", "1MiB")
    assert [p.name for p in tmp_path.iterdir()] == ["in.npy"]


def test_names_of_folders_may_end_in_slashes(run, tmp_path):
    """As shells complete them."""
    array = sample((20, 30))
    write_blocks(tmp_path / "in", array, (5, 30), "{0}_{1}.npy")
    run("in/", "out/", "--chunks", "10,10", "--quiet")
    check_blocks(tmp_path / "out", array, (10, 10), "{0}_{1}.npy")
    run("out/", "parts//", "--chunks", "7,7", "--part", "1/1", "--quiet")
    run("finish", "parts/", "--quiet")
    check_blocks(tmp_path / "parts", array, (7, 7), "{0}_{1}.npy")
    zarr.create_group(tmp_path / "group.zarr").create_array("a", data=array, chunks=(5, 5))
    run("group.zarr/", "copy.zarr/", "--chunks", "10,10", "--quiet")
    assert same(zarr.open_array(tmp_path / "copy.zarr" / "a")[...], array)
    assert {p.name for p in tmp_path.iterdir()} == {"in", "out", "parts", "group.zarr", "copy.zarr"}


@pytest.mark.parametrize("suffix", ["raw", "bin", "dat"])
def test_raw_files_by_their_suffixes(run, tmp_path, suffix):
    array = np.arange(60, dtype="<i4").reshape(5, 12)
    np.save(tmp_path / "a.npy", array)
    run("a.npy", f"b.{suffix}", "--memory", "1MiB")
    assert (tmp_path / f"b.{suffix}").read_bytes() == array.tobytes()
