# SPDX-License-Identifier: BSD-3-Clause
"""Advice: chunks that are proposed for a way of reading, and shapes near the one that was asked for."""

import re

import numpy as np
import pytest

from conftest import sample, same, write_blocks, written

MAPS = ("--shape", "8760,721,1440", "--dtype", "float32", "--from", "1,-1,-1")
CUBES = ("--shape", "3500,3500,3500", "--dtype", "uint16", "--from", "875,875,875")


def propose(run, *args):
    plan = run.json("plan", *args, "--chunks", "auto", "--quiet")
    assert plan["chunks_to"] == plan["proposal"]["chunks"]
    assert plan["proposal"]["block_bytes"] == np.prod(plan["chunks_to"]) * plan["itemsize"]
    return plan


# ---- --chunks auto ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1 << 20, 4 << 20, 16 << 20])
@pytest.mark.parametrize("source", [MAPS, CUBES], ids=["maps", "cubes"])
def test_a_proposal_has_about_the_size_and_suits_the_reader(run, source, size):
    shape = [int(n) for n in source[1].split(",")]
    for access in ("cubes", "series:0", "series:2", "slices:0", "slices:1"):
        plan = propose(run, *source, "--memory", "1GiB", "--for", access, "--block-size", size)
        chunks, n_bytes = plan["chunks_to"], plan["proposal"]["block_bytes"]
        assert plan["proposal"]["for"] == access and plan["proposal"]["tried"] >= 1
        assert size / 2 <= n_bytes <= 2 * size, (access, chunks)
        if access == "cubes":
            assert max(chunks) <= 4 * min(chunks), chunks
        elif access.startswith("series"):
            axis = int(access[-1])
            others = [c for d, c in enumerate(chunks) if d != axis]
            assert chunks[axis] == shape[axis] and max(others) <= 4 * min(others), (access, chunks)
        else:
            axis = int(access[-1])
            whole = all(c == n for d, (c, n) in enumerate(zip(chunks, shape)) if d != axis)
            assert whole or chunks[axis] == 1, (access, chunks)


def test_a_proposal_is_no_dearer_than_what_comes_to_mind_first(run):
    """4 MiB of uint16 as a cube is 128 on a side: the cuts of the source are met instead, for less."""
    args = (*CUBES, "--memory", "256MiB", "--device", "hdd")
    advised = propose(run, *args)
    plain = run.json("plan", *args, "--chunks", "128,128,128")
    assert advised["predicted_seconds"] <= plain["predicted_seconds"]
    assert advised["predicted"]["seeks"] < plain["predicted"]["seeks"]
    assert any(875 % c == 0 for c in advised["chunks_to"])


def test_minimize_decides_between_shapes(run):
    args = (*CUBES, "--memory", "256MiB")
    fewest = propose(run, *args, "--minimize", "seeks")["predicted"]["seeks"]
    assert fewest <= propose(run, *args)["predicted"]["seeks"]


def test_the_default_is_cubes_of_4_mebibytes(run):
    a, b = propose(run, *CUBES, "--memory", "1GiB"), propose(run, *CUBES, "--memory", "1GiB", "--for", "cubes",
                                                             "--block-size", "4MiB")
    assert a["proposal"] == b["proposal"] and a["proposal"]["for"] == "cubes"


def test_a_proposal_is_used_and_told(run, tmp_path):
    array = sample((70, 60, 50))
    write_blocks(tmp_path / "a", array, (7, 60, 50), "{0}_{1}_{2}.npy")
    done = run("a", "b", "--chunks", "auto", "--for", "series:0", "--block-size", "20KB", "--memory", "1MiB")
    told = re.fullmatch(r"chunks: (70,\d+,\d+) \([\d.]+ KiB a block, for series:0; the cheapest of \d+\)\n", done.stderr)
    assert told, done.stderr
    assert run.json("info", "b")["chunks"] == [int(n) for n in told.group(1).split(",")]
    run("merge", "b", "c.npy", "--memory", "1MiB", "--quiet")
    assert same(np.load(tmp_path / "c.npy"), array)
    quiet = run("a", "d", "--chunks", "auto", "--memory", "1MiB", "--quiet")
    assert quiet.stderr == quiet.stdout == ""


def test_a_region_is_cut_by_itself(run, tmp_path):
    np.save(tmp_path / "in.npy", sample((70, 60, 50)))
    run("extract", "in.npy", "out", "--roi", "10:50,:,5:25", "--chunks", "auto", "--for", "slices:1", "--block-size",
        "8000B", "--memory", "1MiB", "--quiet")
    assert run.json("info", "out")["chunks"] == [40, 5, 20]


def test_small_arrays_get_one_block(run):
    plan = propose(run, "--shape", "10,20,30", "--dtype", "u2", "--from", "1,-1,-1", "--memory", "1MiB")
    assert plan["chunks_to"] == [10, 20, 30]


def test_advice_with_too_little_memory_says_how_much_is_needed(run):
    message = run.error("plan", *CUBES, "--chunks", "auto", "--memory", "10B")
    assert re.search(r"at least \d+ bytes", message)


@pytest.mark.parametrize("args, fragment", [
    (("--chunks", "auto", "--for", "banana"), "'banana' is not a way to read an array: write series:0, slices:0 or"),
    (("--chunks", "auto", "--for", "series:7"), "--for names axis 7 and the array has 3 axes"),
    (("--chunks", "1,1,1", "--for", "cubes"), "--for and --block-size are for --chunks auto"),
    (("--chunks", "1,1,1", "--block-size", "1MiB"), "--for and --block-size are for --chunks auto"),
    (("--chunks", "auto", "--to", "1,1,1"), "--chunks and --to are the same"),
])
def test_usage_errors_name_the_way_out(run, args, fragment):
    assert fragment in run.error("plan", *CUBES, "--memory", "1GB", *args, code=2)


def test_one_file_cannot_be_cut(run, tmp_path):
    np.save(tmp_path / "in.npy", sample((7, 6)))
    message = run.error("in.npy", "out.npy", "--chunks", "auto", "--memory", "1MiB", code=2)
    assert "'out.npy' is one file" in message and not (tmp_path / "out.npy").exists()


# ---- a shape near the one that was asked for -------------------------------------------------------------------

# Bands of 525 rows into bands of 500, with room for neither: each target is written in several parts.
BANDS = ("plan", "--shape", "4200,4200", "--dtype", "u2", "--memory", "1MiB", "--device", "hdd", "--from", "-1,525")


def test_a_nearby_shape_that_saves_much_is_named(run):
    plan = run.json(*BANDS, "--to", "-1,500")
    nearby = plan["nearby"]
    assert nearby["chunks"] == [4200, 525]
    better = run.json(*BANDS, "--to", written(nearby["chunks"]))
    assert better["predicted"]["seeks"] == nearby["seeks"] < plan["predicted"]["seeks"]
    assert better["predicted_seconds"] == pytest.approx(nearby["seconds"])
    assert nearby["saved"] == pytest.approx(1 - better["predicted_seconds"] / plan["predicted_seconds"]) and 0.2 <= nearby["saved"]
    text = run(*BANDS, "--to", "-1,500").stdout
    assert re.search(r"^525 instead of 500 along axis 1 would save \d\d % of the time: [\d,]+ seeks, ", text, re.M)


def test_what_saves_little_is_not_named(run):
    for args in (("--to", "-1,525"), ("--to", "-1,300"), ("--to", "-1,500", "--device", "nvme", "--memory", "1GiB")):
        plan = run.json(*BANDS, *args)
        assert "nearby" not in plan
        assert "instead of" not in run(*BANDS, *args).stdout


def test_uneven_chunks_are_left_alone(run):
    assert "nearby" not in run.json(*BANDS, "--to", "-1,500+500+3200")
