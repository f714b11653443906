# SPDX-License-Identifier: BSD-3-Clause
"""A run through a temporary file, from the command line: the values, the counts, and nothing left behind."""

import re

import numpy as np
import pytest

from conftest import check_blocks, sample


def least(run, *args):
    return int(re.search(r"at least (\d+) bytes", run.error(*args, "--memory", "1B")).group(1))


@pytest.mark.parametrize("more", [0, 3000, 20000])
@pytest.mark.parametrize("order", "CF")
def test_a_spill_moves_every_value(run, tmp_path, more, order):
    array = sample((40, 31, 22), "<f4")
    np.save(tmp_path / "in.npy", np.asarray(array, order=order))
    (tmp_path / "scratch").mkdir()
    args = ["in.npy", "out", "--chunks", "40,7,5", "--strategy", "spill", "--temp", "scratch"]
    budget = least(run, "plan", *args) + more
    done = run.json(*args, "--memory", f"{budget}B")
    check_blocks(tmp_path / "out", array, (40, 7, 5), "{0}_{1}_{2}.npy")
    assert done["strategy"] == "spill"
    assert done["actual"]["temp_bytes"] == done["predicted"]["temp_bytes"] > 0
    for key in ("read_seeks", "write_seeks", "bytes_read", "bytes_written", "held_bytes"):
        assert done["actual"][key] == done["predicted"][key], key
    assert done["actual"]["bytes_written"] == array.nbytes + done["predicted"]["temp_bytes"]
    assert done["actual"]["peak_bytes"] <= done["predicted"]["peak_bytes"] <= budget
    assert list((tmp_path / "scratch").iterdir()) == []
    assert {p.name for p in tmp_path.iterdir()} == {"in.npy", "out", "scratch"}


def test_a_scratch_folder_that_is_not_there_is_named(run, tmp_path):
    np.save(tmp_path / "in.npy", sample((40, 31, 22), "<f4"))
    args = ["in.npy", "out", "--chunks", "40,7,5", "--strategy", "spill", "--temp", "nowhere"]
    said = run.error(*args, "--memory", f"{least(run, 'plan', *args)}B")
    assert "'nowhere'" in said
    assert {p.name for p in tmp_path.iterdir()} == {"in.npy"}


def test_equal_grids_are_copied(run, tmp_path):
    array = sample((30, 20), "<u2")
    np.save(tmp_path / "in.npy", array)
    run("split", "in.npy", "a", "--chunks", "7,20", "--memory", "1MiB")
    done = run.json("a", "b", "--chunks", "7,20", "--memory", "1MiB")
    assert done["strategy"] == "copy"
    assert done["actual"]["read_seeks"] == done["actual"]["write_seeks"] == 5
    check_blocks(tmp_path / "b", array, (7, 20), "{0}_{1}.npy")
