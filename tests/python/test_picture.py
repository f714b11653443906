# SPDX-License-Identifier: BSD-3-Clause
"""The picture of a plan: well-formed, and its numbers are those of `plan --json`."""

import time
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from conftest import sample, write_blocks

SVG = "{http://www.w3.org/2000/svg}"

# Blocks of elements of 1000 bytes, so that the budget is about data rather than about tables.
FLAT = {
    "resplit": ("--shape", "12,30", "--from", "6,4", "--to", "5,7", "--memory", "300KB"),
    "split": ("--shape", "60,80", "--from", "-1,-1", "--to", "20,16", "--memory", "1.3MB"),
    "merge": ("--shape", "60,80", "--from", "15,20", "--to", "-1,-1", "--memory", "1.3MB"),
    "line": ("--shape", "100", "--from", "12", "--to", "17", "--memory", "100KB"),
    "uneven": ("--shape", "40,50", "--from", "5+10+25,20+7+23", "--to", "10+30,15+15+20", "--memory", "1.1MB"),
    "fortran": ("--shape", "12,30", "--from", "6,4", "--to", "5,7", "--memory", "300KB", "--order", "F"),
}
DEEP = {
    "cubes": ("--shape", "24,24,24", "--from", "6,6,6", "--to", "8,8,8", "--memory", "2MB"),
    "papers": ("--shape", "3500,3500,3500", "--from", "350,350,350", "--to", "500,500,500", "--memory", "500GB"),
    "four": ("--shape", "12,12,12,6", "--from", "3,4,6,6", "--to", "4,12,4,3", "--memory", "9MB"),
}


def draw(run, *args, name="plan.svg"):
    plan = run.json("plan", "--dtype", "|V1000", *args, "--picture", name)
    return plan, ElementTree.parse(run.folder / name).getroot()


def values(node, attribute):
    return [int(each.get(attribute)) for each in node.iter() if each.get(attribute) is not None]


def words(page):
    return [each.text for each in page.iter(SVG + "text")]


def count_buffers(plan):
    if plan["buffer"] is None:
        return int(np.prod([len(cuts) - 1 for cuts in plan["buffer_cuts"]]))
    return int(np.prod([-(-n // b) for n, b in zip(plan["shape"], plan["buffer"])]))


@pytest.mark.parametrize("strategy", ["keep", "best", "naive"])
@pytest.mark.parametrize("name", FLAT)
def test_two_axes_are_drawn_exactly(run, name, strategy):
    plan, page = draw(run, *FLAT[name], "--strategy", strategy)
    assert sum(values(page, "data-reads")) == plan["predicted"]["read_seeks"]
    assert sum(values(page, "data-writes")) == plan["predicted"]["write_seeks"]
    assert values(page, "data-held") == [plan["predicted"]["held_bytes"]]
    if count_buffers(plan) <= 16:  # along one axis, even if all lie there
        assert sorted(values(page, "data-number")) == list(range(1, count_buffers(plan) + 1))
    numbers = [text for text in words(page) if text.isdigit()]
    assert len(numbers) >= len(values(page, "data-reads"))


def test_blocks_of_the_sample_are_all_there(run):
    plan, page = draw(run, *FLAT["resplit"], "--strategy", "keep")
    assert len(values(page, "data-reads")) == 2 * 8 and len(values(page, "data-writes")) == 3 * 5
    assert "12 \u00d7 30 elements of 1,000 bytes, from blocks of 6 \u00d7 4 to 5 \u00d7 7" in words(page)
    assert "16 source blocks, 15 target blocks" in words(page)
    assert plan["predicted"]["seeks"] >= plan["floor"]["seeks"]


@pytest.mark.parametrize("name", DEEP)
def test_layers_stand_for_all_blocks(run, name):
    plan, page = draw(run, *DEEP[name], "--strategy", "keep")
    seeks = {"reads": 0, "writes": 0}
    for group in page.iter(SVG + "g"):
        kind = group.get("class")
        if kind in seeks:
            seeks[kind] += int(group.get("data-layers")) * sum(values(group, f"data-{kind}"))
    assert not any("with other numbers" in text for text in words(page))
    assert seeks == {"reads": plan["predicted"]["read_seeks"], "writes": plan["predicted"]["write_seeks"]}
    blocks = [int(group.get("data-count")) for group in page.iter(SVG + "g") if group.get("class") == "cube"]
    assert blocks[2] == count_buffers(plan)


def test_a_region_of_files(run, tmp_path):
    write_blocks(tmp_path / "in", sample((60, 70)), (20, 25), "{0}_{1}.npy")
    plan = run.json("plan", "in", "out", "--chunks", "15,15", "--roi", "7:51,13:66", "--memory", "64KB", "--strategy",
                    "naive", "--picture", "p.svg")
    page = ElementTree.parse(tmp_path / "p.svg").getroot()
    assert sum(values(page, "data-reads")) == plan["predicted"]["read_seeks"]
    assert len(values(page, "data-writes")) == 3 * 4
    assert any(each.get("class") == "outside" for each in page.iter())


def test_a_large_problem_makes_a_small_picture(run, tmp_path):
    began = time.monotonic()
    run("plan", "--shape", "100000,100000", "--dtype", "u2", "--from", "100,100", "--to", "150,130",
        "--memory", "100MB", "--strategy", "keep", "--picture", "p.svg")
    assert time.monotonic() - began < 20
    assert (tmp_path / "p.svg").stat().st_size < 1_000_000
    texts = words(ElementTree.parse(tmp_path / "p.svg").getroot())
    assert any("steps are too many to walk" in text for text in texts)
    assert any(text.startswith("showing ") and " of 1,000 \u00d7 1,000 " in text for text in texts)


def test_only_pictures_are_replaced(run, tmp_path):
    args = ("plan", "--dtype", "u2", *FLAT["resplit"], "--picture")
    run(*args, "p.svg")
    first = (tmp_path / "p.svg").read_bytes()
    run(*args, "p.svg")
    assert (tmp_path / "p.svg").read_bytes() == first  # the same plan, the same picture
    (tmp_path / "data.raw").write_bytes(b"\0" * 100)
    assert "is not a picture" in run.error(*args, "data.raw")
    assert (tmp_path / "data.raw").read_bytes() == b"\0" * 100
    assert "'nowhere/p.svg'" in run.error(*args, "nowhere/p.svg")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.raw", "p.svg"]


def test_only_plan_draws(run):
    assert "it belongs to: plan" in run.error("merge", "a", "b.npy", "--picture", "p.svg", code=2)
