# SPDX-License-Identifier: BSD-3-Clause
"""Plans in files: saved, run later or elsewhere, and refused when the file or the arrays were changed. NumPy is the judge."""

import json
import os

import numpy as np
import pytest

from zarr.codecs import TransposeCodec

from conftest import check_blocks, same, sample, write_blocks
from zarr_support import below, make, read

PREDICTED = ("read_seeks", "write_seeks", "bytes_read", "bytes_written", "temp_bytes")


@pytest.fixture
def saved(run, tmp_path):
    """An array, and a plan file to cut it."""
    array = sample((20, 30, 17))
    np.save(tmp_path / "in.npy", array)
    run("plan", "in.npy", "out", "--chunks", "8,8,8", "--memory", "60KB", "--save", "p.json")
    return array


def edit(path, change):
    """Changes the file as somebody with an editor would."""
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


# ---- run -------------------------------------------------------------------------------------------------------


def test_a_saved_plan_runs_later(run, tmp_path, saved):
    content = json.loads((tmp_path / "p.json").read_text())
    assert content["resplit_plan"] == 1
    assert content["source"]["path"] == "in.npy" and content["target"]["path"] == "out"
    done = run.json("run", "p.json")
    assert done["predicted"] == {**content["predicted"], "seeks": done["predicted"]["seeks"]}
    for key in PREDICTED:
        assert done["actual"][key] == done["predicted"][key], key
    assert done["actual"]["peak_bytes"] <= done["predicted"]["peak_bytes"] <= content["memory"] == 60000
    check_blocks(tmp_path / "out", saved, (8, 8, 8), "{0}_{1}_{2}.npy")


def test_the_report_is_that_of_a_run(run, tmp_path, saved):
    text = run("run", "p.json").stdout
    assert "predicted" in text and "actual" in text and "'out'" in text
    assert run("run", "p.json", "--overwrite", "--quiet").stdout == ""
    assert "is there already" in run.error("run", "p.json")
    check_blocks(tmp_path / "out", saved, (8, 8, 8), "{0}_{1}_{2}.npy")


@pytest.mark.parametrize("strategy", ["naive", "keep", "best", "auto", "spill"])
@pytest.mark.parametrize("roi", [None, "3:19,0:30,5:12"])
def test_every_strategy_and_a_region(run, tmp_path, strategy, roi):
    array = sample((20, 30, 17), "<f4")
    write_blocks(tmp_path / "in", array, (7, (11, 19), 17), "{0}_{1}_{2}.npy")
    args = ["--roi", roi] if roi else []
    run("plan", "in", "out", "--chunks", "6,13,5", *args, "--memory", "90KB", "--strategy", strategy, "--save", "p.json")
    done = run.json("run", "p.json")
    assert strategy in ("auto", done["strategy"])
    assert done.get("roi") == ([[3, 19], [0, 30], [5, 12]] if roi else None)
    for key in PREDICTED:
        assert done["actual"][key] == done["predicted"][key], key
    wanted = array[3:19, 0:30, 5:12] if roi else array
    check_blocks(tmp_path / "out", wanted, (6, 13, 5), "{0}_{1}_{2}.npy")


def test_copy_is_planned_again(run, tmp_path):
    array = sample((12, 12))
    write_blocks(tmp_path / "in", array, (5, 5), "{0}_{1}.npy")
    run("plan", "in", "out", "--chunks", "5,5", "--memory", "1MiB", "--strategy", "copy", "--save", "p.json")
    assert "buffer" not in json.loads((tmp_path / "p.json").read_text())
    assert run.json("run", "p.json")["strategy"] == "copy"
    check_blocks(tmp_path / "out", array, (5, 5), "{0}_{1}.npy")


@pytest.mark.parametrize("order", "CF")
def test_a_raw_source_needs_no_options_again(run, tmp_path, order):
    array = sample((9, 10, 11), ">i2")
    write_blocks(tmp_path / "in", array, (4, 5, (3, 8)), "b{2}-{1}-{0}.raw", order, b"header!")
    run("plan", "in", "out.npy", "--shape", "9,10,11", "--dtype", ">i2", "--order", order, "--skip", "7", "--from",
        "4,5,3+8", "--from-pattern", "b{2}-{1}-{0}.raw", "--memory", "1MiB", "--save", "p.json")
    run("run", "p.json")
    assert same(np.load(tmp_path / "out.npy"), array)


@pytest.mark.parametrize("shape, chunks", [((), None), ((0, 5), "2,5"), ((1,), "1")])
def test_odd_shapes(run, tmp_path, shape, chunks):
    array = sample(shape)
    np.save(tmp_path / "in.npy", array)
    args = ["out", "--chunks", chunks] if chunks else ["out.npy"]
    run("plan", "in.npy", *args, "--memory", "1MiB", "--save", "p.json")
    run("run", "p.json")
    assert run("verify", "in.npy", args[0]).stdout.strip() == "equal"


# ---- Zarr and casts --------------------------------------------------------------------------------------------

ZARR = [
    (["--chunks", "8,8,20"], {}),  # longer than the array, where it is 17
    (["--chunks", "8,8,8", "--codec", "blosc:lz4:5:bitshuffle"], {"codec": "blosc:lz4:5:bitshuffle"}),
    (["--format", "zarr3", "--chunks", "4,4,4", "--shards", "8,16,-1", "--codec", "zstd:1+crc32c"], {"codec": "zstd:1+crc32c", "shards": [8, 16, 20]}),
    (["--to-order", "F", "--codec", "none", "--to-dtype", ">f4"], {"order": "F", "codec": "none", "dtype": ">f4"}),
    (["--chunks", "5,5,5", "--write-empty", "--to-dtype", "u1"], {"write_empty": True, "dtype": "|u1"}),
    (["--roi", "2:18,:,3:12", "--format", "zarr2", "--codec", "zlib:1"], {"codec": "zlib:1"}),
    ([], {}),
]


@pytest.mark.parametrize("source", ["in.npy", "2.zarr", "3.zarr"])
@pytest.mark.parametrize("args, kept", ZARR)
def test_a_zarr_target_is_made_as_planned(run, tmp_path, source, args, kept):
    array = sample((20, 30, 17))
    array[4:, :8] = 0
    np.save(tmp_path / "in.npy", array)
    make(tmp_path / "2.zarr", array, (6, 7, 8), version=2, codec="blosc", order="F")
    make(tmp_path / "3.zarr", array, (6, 7, 8), version=3, shards=(12, 14, 24))
    run(source, "now.zarr", *args, "--memory", "4MiB")
    run("plan", source, "later.zarr", *args, "--memory", "4MiB", "--save", "p.json")
    target = json.loads((tmp_path / "p.json").read_text())["target"]
    assert {k: target.get(k) for k in kept} == kept
    done = run.json("run", "p.json")
    for key in PREDICTED:
        assert done["actual"][key] == done["predicted"][key], key
    now, later = below(tmp_path / "now.zarr"), below(tmp_path / "later.zarr")
    now.pop(".resplit.json"), later.pop(".resplit.json")  # which has a number of its own
    if "--shards" not in args and source != "3.zarr":  # blocks are in a shard as they were finished
        assert now == later
    assert now.keys() == later.keys()
    assert now.get("zarr.json") == later.get("zarr.json") and now.get(".zarray") == later.get(".zarray")
    assert same(read(tmp_path / "now.zarr"), read(tmp_path / "later.zarr"))
    run("run", "p.json", "--overwrite", "--quiet")
    assert same(read(tmp_path / "now.zarr"), read(tmp_path / "later.zarr"))


@pytest.mark.parametrize("name, order", [("out", "F"), ("out.npy", None)])
def test_type_and_order_of_a_folder_are_kept(run, tmp_path, name, order):
    array = sample((20, 30, 17), "<i4")
    make(tmp_path / "in.zarr", array, (6, 7, 8))
    args = (["--chunks", "8,30,17", "--format", "npy"] if name == "out" else []) + (["--to-order", order] if order else [])
    run("plan", "in.zarr", name, *args, "--to-dtype", "<f8", "--memory", "4MiB", "--save", "p.json")
    assert run.json("run", "p.json")["cast"]["changed"] == 0
    info = run.json("info", name)
    assert (info["dtype"], info["order"]) == ("<f8", order or "C")
    run("merge", name, "all.npy", "--memory", "4MiB")
    assert same(np.ascontiguousarray(np.load(tmp_path / "all.npy")), array.astype("<f8"))


def test_a_source_in_an_order_that_is_neither_c_nor_f(run, tmp_path):
    array = sample((6, 7, 8))
    make(tmp_path / "in.zarr", array, (3, 4, 5), filters=[TransposeCodec(order=(1, 0, 2))])
    run("plan", "in.zarr", "out.npy", "--memory", "4MiB", "--save", "p.json")
    assert "order" not in json.loads((tmp_path / "p.json").read_text())["source"]
    run("run", "p.json")
    assert same(np.ascontiguousarray(np.load(tmp_path / "out.npy")), array)


@pytest.mark.parametrize("change, why", [({"shards": [8]}, "1 entries for 3 axes"), ({"shards": [8, 8, 0]}, "out of range"),
                                         ({"codec": 3}, "type string"), ({"write_empty": 1}, "type boolean"),
                                         ({"order": "K"}, "not C or F"), ({"codec": "quux"}, "'quux' is not known"),
                                         ({"dtype": "S3"}, "only booleans"), ({"shards": [3, 8, 8]}, "do not hold whole chunks")])
def test_bad_encodings_are_refused(run, tmp_path, change, why):
    np.save(tmp_path / "in.npy", sample((20, 30, 17)))
    run("plan", "in.npy", "out.zarr", "--chunks", "8,8,8", "--memory", "4MiB", "--save", "p.json")
    edit(tmp_path / "p.json", lambda content: content["target"].update(change))
    assert why in run.error("run", "p.json")
    assert not (tmp_path / "out.zarr").exists()


# ---- paths -----------------------------------------------------------------------------------------------------


def test_a_moved_folder_works(run, tmp_path, saved):
    (tmp_path / "there").mkdir()
    for name in ("in.npy", "p.json"):
        (tmp_path / name).rename(tmp_path / "there" / name)
    run("run", "there/p.json")
    check_blocks(tmp_path / "there" / "out", saved, (8, 8, 8), "{0}_{1}_{2}.npy")
    assert not (tmp_path / "out").exists()


def test_paths_outside_the_folder_are_absolute(run, tmp_path):
    array = sample((6, 7))
    np.save(tmp_path / "in.npy", array)
    (tmp_path / "plans").mkdir()
    run("plan", "in.npy", "plans/out", "--chunks", "4,4", "--memory", "1MiB", "--save", "plans/p.json")
    content = json.loads((tmp_path / "plans" / "p.json").read_text())
    assert content["source"]["path"] == str(tmp_path.resolve() / "in.npy") and content["target"]["path"] == "out"
    (tmp_path / "plans").rename(tmp_path / "other")
    run("run", "other/p.json")
    check_blocks(tmp_path / "other" / "out", array, (4, 4), "{0}_{1}.npy")


# ---- refused ---------------------------------------------------------------------------------------------------


def resize(tmp_path):
    np.save(tmp_path / "in.npy", sample((20, 30, 16)))


def retype(tmp_path):
    np.save(tmp_path / "in.npy", sample((20, 30, 17), "uint32"))


def reorder(tmp_path):
    np.save(tmp_path / "in.npy", np.asfortranarray(np.load(tmp_path / "in.npy")))


@pytest.mark.parametrize("change", [resize, retype, reorder])
def test_a_changed_source_is_refused(run, tmp_path, saved, change):
    change(tmp_path)
    assert "the arrays are not those the plan 'p.json' was made for: 'in.npy'" in run.error("run", "p.json")
    assert not (tmp_path / "out").exists()


def test_a_missing_source_is_named(run, tmp_path, saved):
    (tmp_path / "in.npy").unlink()
    assert "'in.npy'" in run.error("run", "p.json")


def put(*where):
    """A change that puts the last of `where` at the place that the others name."""
    *path, key, value = where

    def change(content):
        for name in path:
            content = content[name]
        content[key] = value

    return change


def drop(key):
    return lambda content: content.pop(key)


EDITS = [
    (put("memory", 30000), "it names 30000 bytes of memory and needs"),
    (put("memory", 61000), "it promises peak_bytes"),
    (put("memory", -1), "out of range"),
    (put("memory", 2**63), "out of range"),
    (put("memory", "60KB"), "must be of type int"),
    (put("buffer", [20, 30, 17]), "it "),
    (put("buffer", [1, 1, 1]), "it promises"),
    (put("buffer", [[0, 9, 8, 20], 30, 17]), "do not follow each other: cut 2 is at 8"),
    (put("buffer", [[0, 9, 19], 30, 17]), "end at 19, the axis has 20"),
    (put("buffer", [[0, 9, 21], 30, 17]), "end at 21, the axis has 20"),
    (put("buffer", [0, 30, 17]), "out of range"),
    (put("loop_order", [0, 1, 1]), "which is not there or has a loop already"),
    (put("loop_order", [0, 1]), "2 entries for 3 axes"),
    (put("kept_axes", [7]), "out of range"),
    (put("strategy", "magic"), "there is no strategy 'magic'"),
    (put("predicted", "write_seeks", 1), "it promises write_seeks of 1"),
    (put("predicted", "held_bytes", 0), "it promises held_bytes of 0"),
    (put("target", "chunks", [8, 8, 7]), "the arrays are not those the plan 'p.json' was made for: their hash"),
    (put("target", "roi", [[0, 20], [0, 30], [0, 99]]), "is not within 0:17"),
    (put("target", "overwrite", True), '"overwrite" in "target" is not known'),
    (put("source", "dtype", "<f4"), "'in.npy' has type <u2"),
    (put("source", "path", "none.npy"), "'none.npy'"),
    (put("problem_hash", "0" * 16), "the file has 0000000000000000"),
    (put("resplit_plan", 2), "of version 2; only 1 can be read"),
    (drop("predicted"), '"predicted" is missing'),
    (drop("buffer"), "belong together"),
]


@pytest.mark.parametrize("change, fragment", EDITS, ids=[fragment[:40] for _, fragment in EDITS])
def test_an_edited_file_is_refused(run, tmp_path, saved, change, fragment):
    before = (tmp_path / "p.json").read_text()
    edit(tmp_path / "p.json", change)
    assert fragment in run.error("run", "p.json")
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "p.json"]
    (tmp_path / "p.json").write_text(before)  # it was the edit
    run("run", "p.json")


def test_any_truncation_is_refused(run, tmp_path, saved):
    text = (tmp_path / "p.json").read_text()
    for n in range(0, len(text) - 2, 61):
        (tmp_path / "p.json").write_text(text[:n])
        assert "p.json" in run.error("run", "p.json")


def test_other_plans_are_other_plans(run, tmp_path, saved):
    """Cuts that are sound and honestly priced are a plan, whoever wrote them."""
    mine = run.json("plan", "in.npy", "out", "--chunks", "8,8,8", "--memory", "1MiB", "--strategy", "naive")
    content = json.loads((tmp_path / "p.json").read_text())
    content.update(memory=2**20, buffer=mine["buffer"], loop_order=[2, 0, 1], kept_axes=[],
                   predicted={k: v for k, v in mine["predicted"].items() if k != "seeks"})
    (tmp_path / "p.json").write_text(json.dumps(content))
    run("run", "p.json")
    check_blocks(tmp_path / "out", saved, (8, 8, 8), "{0}_{1}_{2}.npy")


# ---- saving ----------------------------------------------------------------------------------------------------


def test_what_is_not_a_plan_file_is_not_replaced(run, tmp_path, saved):
    before = (tmp_path / "in.npy").read_bytes()
    message = run.error("plan", "in.npy", "out", "--chunks", "8,8,8", "--memory", "1MiB", "--save", "in.npy")
    assert "'in.npy' is there already and is not a plan file" in message
    assert (tmp_path / "in.npy").read_bytes() == before
    run("plan", "in.npy", "out", "--chunks", "5,5,5", "--memory", "1MiB", "--save", "p.json")
    assert json.loads((tmp_path / "p.json").read_text())["target"]["chunks"] == [5, 5, 5]


def test_saving_needs_files(run, tmp_path):
    described = ("plan", "--shape", "9,9", "--dtype", "u2", "--to", "3,3", "--memory", "1MiB", "--save", "p.json")
    assert "--save needs files" in run.error(*described, code=2)
    np.save(tmp_path / "in.npy", sample((6, 6)))
    assert "--save needs files" in run.error("plan", "in.npy", "--chunks", "3,3", "--save", "p.json", code=2)
    assert "'none/p.json'" in run.error("plan", "in.npy", "out", "--chunks", "3,3", "--memory", "1MiB", "--save",
                                        "none/p.json")
    assert os.listdir(tmp_path) == ["in.npy"]


def test_a_name_that_json_cannot_hold_is_refused(run, tmp_path):
    np.save(tmp_path / "in.npy", sample((6, 6)))
    os.rename(tmp_path / "in.npy", os.fsencode(tmp_path) + b"/in\xff.npy")
    message = run.error("plan", os.fsdecode(b"in\xff.npy"), "out", "--chunks", "3,3", "--memory", "1MiB", "--save",
                        "p.json", errors="surrogateescape")
    assert "could not be read again" in message
    assert not (tmp_path / "p.json").exists()


def test_a_pattern_that_no_manifest_could_hold_is_refused(run, tmp_path):
    """Before anything is written: an array with such a manifest could not be opened again."""
    np.save(tmp_path / "in.npy", sample((6, 6)))
    message = run.error("in.npy", "out", "--chunks", "3,3", "--memory", "1MiB", "--pattern",
                        os.fsdecode(b"\xff{0}_{1}.npy"), errors="surrogateescape")
    assert "it is not UTF-8, so no manifest could hold it" in message
    assert os.listdir(tmp_path) == ["in.npy"]
