# SPDX-License-Identifier: BSD-3-Clause
"""What `resplit plan` gives to decide by: strategies side by side, the knee, the curve, devices, and what is minimised."""

import json
import random
import re
import time

import numpy as np
import pytest

from conftest import sample, write_blocks, written

BIGBRAIN = ("plan", "--shape", "3500,3025,3850", "--dtype", "uint16", "--from", "700,605,770", "--to", "-1,-1,-1")
CUBES = ("plan", "--shape", "3500,3500,3500", "--dtype", "uint16", "--from", "875,875,875", "--to", "500,500,500")
ROW = {"strategy", "memory", "fits", "seeks", "seeks_x_floor", "seconds", "seconds_x_floor", "bytes_moved",
       "peak_bytes", "temp_bytes"}
DEVICES = ["hdd", "ssd", "nvme", "nfs"]
SEED = 20261115


def measure(row, minimize):
    return row[{"seconds": "seconds", "seeks": "seeks", "bytes": "bytes_moved", "memory": "peak_bytes"}[minimize]]


def random_problem(rnd):
    ndim = rnd.choice([1, 2, 3, 3])
    shape = [rnd.randint(4, {1: 4000, 2: 300, 3: 60}[ndim]) for _ in range(ndim)]
    cut = [[rnd.choice([-1, rnd.randint(1, n), rnd.randint(1, n)]) for n in shape] for _ in range(2)]
    return ("plan", "--shape", written(shape), "--dtype", "u2", "--from", written(cut[0]), "--to", written(cut[1]))


# ---- the table -------------------------------------------------------------------------------------------------


def test_every_strategy_that_applies_is_in_the_table(run):
    merge = run.json(*BIGBRAIN, "--memory", "3GiB")
    names = [row["strategy"] for row in merge["strategies"]]
    assert {"best", "keep", "multiple", "clustered", "naive"} <= set(names) and len(names) == len(set(names))
    resplit = [row["strategy"] for row in run.json(*CUBES, "--memory", "1GB")["strategies"]]
    assert "multiple" not in resplit and "clustered" not in resplit


def test_a_row_is_what_its_strategy_would_plan(run):
    plan = run.json(*CUBES, "--memory", "1GB", "--device", "hdd")
    chosen = [row for row in plan["strategies"] if row["chosen"]]
    assert len(chosen) == 1 and chosen[0]["strategy"] == plan["strategy"]
    for row in plan["strategies"]:
        if not row["fits"]:
            assert set(row) == {"strategy", "memory", "fits", "needed_bytes", "chosen"}
            continue
        assert set(row) == ROW | {"chosen"}
        alone = plan if row["chosen"] else run.json(*CUBES, "--memory", "1GB", "--device", "hdd", "--strategy",
                                                    row["strategy"])
        cost = alone["predicted"]
        assert row["seeks"] == cost["seeks"] and row["peak_bytes"] == cost["peak_bytes"] <= plan["memory"]
        assert row["bytes_moved"] == cost["bytes_read"] + cost["bytes_written"]
        assert row["temp_bytes"] == cost["temp_bytes"]
        assert row["seconds"] == pytest.approx(alone["predicted_seconds"])
        assert row["seeks_x_floor"] == pytest.approx(row["seeks"] / plan["floor"]["seeks"])
        assert row["seconds_x_floor"] == pytest.approx(row["seconds"] / plan["floor_seconds"])
        assert row["seconds_x_floor"] >= 0.999


def test_a_refused_strategy_says_what_it_needs(run):
    plan = run.json(*CUBES, "--memory", "1GB")
    refused = {row["strategy"]: row["needed_bytes"] for row in plan["strategies"] if not row["fits"]}
    assert refused["naive"] >= 875 ** 3 * 2  # it holds one source block
    run(*CUBES, "--memory", refused["naive"], "--strategy", "naive")
    run.error(*CUBES, "--memory", refused["naive"] - 1, "--strategy", "naive")
    assert f"({refused['naive']} bytes)" in run(*CUBES, "--memory", "1GB").stdout


@pytest.mark.parametrize("minimize", ["seconds", "seeks", "bytes", "memory"])
@pytest.mark.parametrize("device", ["hdd", "nvme"])
def test_the_chosen_one_is_the_least_by_what_was_asked(run, minimize, device):
    rnd = random.Random(f"{SEED}{minimize}{device}")
    for _ in range(15):
        problem = (*random_problem(rnd), "--memory", f"{rnd.choice([64, 80, 120, 300])}KiB")
        plan = run.json(*problem, "--minimize", minimize, "--device", device)
        fitting = [row for row in plan["strategies"] if row["fits"]]
        chosen = next(row for row in fitting if row["chosen"])
        assert plan["minimize"] == minimize
        for row in fitting:
            assert measure(chosen, minimize) <= measure(row, minimize) * (1 + 1e-9), (problem, minimize, row)


def test_the_table_for_people(run):
    text = run(*CUBES, "--memory", "1GB", "--device", "hdd").stdout
    assert re.search(r"^\* best +[\d,]+ +[\d.]+ +\d+ min \d\d s +[\d.]+ +[\d.]+ GiB +[\d.]+ MiB +0 B$", text, re.M)
    assert re.search(r"^  naive +refused  needs at least 1\.2 GiB \(\d+ bytes\)$", text, re.M)
    assert len(re.findall(r"^\* ", text, re.M)) == 2  # in the table and between half and twice its memory
    assert re.search(r"^device +hdd: 8 ms a seek, 1 at once; 180 MB/s read", text, re.M)
    assert re.search(r"^time +\d+ min \d\d s +\d+ min \d\d s +\d\.\d\d$", text, re.M)


@pytest.mark.parametrize("options, sentence", [
    (("--device", "hdd"), r"best is the fastest, [\d.]+ x the floor; \w+ would .*; more memory would save at most "),
    (("--minimize", "seeks"), r"best makes the fewest seeks, 3\.\d\d x the floor; keep would make 1\.\d\d x the seeks"),
    (("--minimize", "memory"), r"\w+ needs the least memory; \w+ would need "),
    (("--strategy", "keep"), r"keep was asked for, "),
])
def test_one_sentence_says_why(run, options, sentence):
    assert re.search("^" + sentence, run(*CUBES, "--memory", "1GB", *options).stdout, re.M)


def test_a_plan_at_the_floor_says_that_more_memory_is_for_nothing(run):
    text = run("plan", "--shape", "60,60", "--dtype", "u2", "--from", "20,20", "--to", "30,30", "--memory", "1MiB").stdout
    assert "at the floor" in text and "more memory would save nothing" in text


# ---- the knee --------------------------------------------------------------------------------------------------


def test_the_knee_is_what_other_memory_would_give(run):
    memory = 10 ** 9
    knee = run.json(*CUBES, "--memory", memory)["knee"]
    assert [row["factor"] for row in knee] == [0.5, 2, 4]
    for row in knee:
        assert row["memory"] == memory * row["factor"]
        plan = run.json(*CUBES, "--memory", row["memory"])
        assert row["seeks"] == plan["predicted"]["seeks"] and row["strategy"] == plan["strategy"]
        assert row["seconds"] == pytest.approx(plan["predicted_seconds"])


def test_half_of_the_least_memory_is_refused_in_the_knee(run):
    problem = ("plan", "--shape", "60,60", "--dtype", "u2", "--from", "20,20", "--to", "30,30")
    least = int(re.search(r"at least (\d+)", run.error(*problem, "--memory", "1B")).group(1))
    half = run.json(*problem, "--memory", least)["knee"][0]
    assert not half["fits"] and half["needed_bytes"] == least


# ---- the curve -------------------------------------------------------------------------------------------------

CURVES = [
    ("plan", "--shape", "600,600,600", "--dtype", "u2", "--from", "150,150,150", "--to", "100,100,100"),
    ("plan", "--shape", "4000,3000", "--dtype", "f4", "--from", "-1,300", "--to", "400,-1"),
    ("plan", "--shape", "350,302,385", "--dtype", "u2", "--from", "70,60,77", "--to", "-1,-1,-1"),
    ("plan", "--shape", "300,302,385", "--dtype", "u2", "--from", "70,60,77", "--to", "50,50,50", "--roi",
     "10:290,3:300,:"),
]


@pytest.mark.parametrize("problem", CURVES, ids=lambda p: p[6])
def test_more_memory_never_costs_seeks(run, problem):
    plan = run.json(*problem, "--memory", "100MiB", "--curve", "--minimize", "seeks")
    curve = plan["curve"]
    assert 8 <= len(curve) <= 16 and all(set(row) == ROW for row in curve)
    memories = [row["memory"] for row in curve]
    assert memories == sorted(set(memories))
    seeks = [row["seeks"] for row in curve]
    assert seeks == sorted(seeks, reverse=True)
    assert all(row["peak_bytes"] <= row["memory"] for row in curve)


@pytest.mark.parametrize("problem", CURVES, ids=lambda p: p[6])
def test_more_memory_never_costs_time(run, problem):
    seconds = [row["seconds"] for row in run.json(*problem, "--memory", "100MiB", "--curve", "--device", "hdd")["curve"]]
    # Memory that is touched for the first time takes time too, which auto weighs against seeks: 2 GB/s.
    assert all(b <= a + (100 << 20) / 2e9 for a, b in zip(seconds, seconds[1:]))


def test_the_curve_goes_from_the_least_memory_to_the_floor(run):
    problem = CURVES[0]
    least = int(re.search(r"at least (\d+)", run.error(*problem, "--memory", "1B")).group(1))
    plan = run.json(*problem, "--memory", "1GB", "--curve", "--minimize", "seeks")
    assert plan["curve"][0]["memory"] == least
    assert plan["curve"][-1]["seeks"] == plan["floor"]["seeks"]
    assert plan["curve"][-2]["seeks"] > plan["floor"]["seeks"]
    text = run(*problem, "--memory", "1GB", "--curve").stdout
    assert len(re.findall(r"^  [\d.]+ [KMG]iB +\w+ ", text, re.M)) == 16


def test_a_problem_without_a_curve_has_one_row(run):
    curve = run.json("plan", "--shape", "9,9", "--dtype", "u2", "--to", "-1,-1", "--memory", "1MiB", "--curve")["curve"]
    assert 1 <= len(curve) <= 16 and curve[-1]["seeks"] == 2


# ---- devices ---------------------------------------------------------------------------------------------------


def test_seconds_are_those_of_the_device(run):
    """Section 7 of docs/algorithm.md, for a plan without overlap."""
    seconds = {}
    for name in DEVICES:
        plan = run.json(*BIGBRAIN, "--memory", "3GiB", "--device", name, "--strategy", "naive")
        device, cost = plan["device"], plan["predicted"]
        assert device["name"] == name
        apart = cost["bytes_read"] / device["read_bandwidth"] + cost["bytes_written"] / device["write_bandwidth"]
        together = (cost["bytes_read"] + cost["bytes_written"]) / device["both_bandwidth"]
        seeks = cost["seeks"] * device["latency"] / device["depth"]
        assert seeks + min(apart, together) <= plan["predicted_seconds"] * 1.001
        assert plan["predicted_seconds"] <= (seeks + max(apart, together)) * 1.001
        assert plan["floor_seconds"] <= plan["predicted_seconds"]
        seconds[name] = plan["predicted_seconds"]
    assert seconds["nvme"] < seconds["ssd"] < seconds["nfs"] < seconds["hdd"]
    assert run.json(*BIGBRAIN, "--memory", "3GiB")["device"]["name"] == "ssd"


def test_unknown_devices_and_measures_are_refused(run):
    assert "'tape' is not one of hdd|ssd|nvme|nfs|measure" in run.error(*CUBES, "--device", "tape", code=2)
    assert "'joy' is not one of seconds|seeks|bytes|memory" in run.error(*CUBES, "--minimize", "joy", code=2)


@pytest.fixture
def cache(run, tmp_path):
    run.env = {**run.env, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    return tmp_path / "cache" / "resplit" / "devices.json"


SMALL = ("plan", "--shape", "60,60", "--dtype", "u2", "--from", "20,20", "--to", "30,30", "--memory", "1MiB")


def test_a_measured_device_is_remembered(run, tmp_path, cache):
    first = run.json(*SMALL, "--device", "measure")["device"]
    assert first["name"] == "measured" and all(first[k] > 0 for k in first if k != "name")
    assert [p.name for p in tmp_path.iterdir()] == ["cache"]  # and nothing else is left
    assert [p.name for p in cache.parent.iterdir()] == ["devices.json"]
    entry = json.loads(cache.read_text())["devices"]
    assert len(entry) == 1 and tmp_path.is_relative_to(entry[0]["mount"])
    start = time.monotonic()
    assert run.json(*SMALL, "--device", "measure")["device"] == first  # a new measurement would differ
    assert time.monotonic() - start < 30


@pytest.mark.parametrize("spoil", [
    lambda text: "",
    lambda text: text[: len(text) // 2],
    lambda text: "[1, 2]",
    lambda text: text.replace('"resplit":1', '"resplit":2').replace('"resplit": 1', '"resplit": 2'),
    lambda text: re.sub(r'"latency": ?[^,\n]+', '"latency": -1', text),
    lambda text: re.sub(r'"depth": ?[^,\n]+', '"depth": "many"', text),
    lambda text: re.sub(r'"measured": ?\d+', '"measured": 5', text),
    lambda text: re.sub(r'"measured": ?\d+', '"measured": 99999999999', text),
    lambda text: re.sub(r'"devices": ?\[', '"devices":[7, null, [], "x", ', text).replace('"id"', '"di"'),
], ids=["empty", "cut", "list", "version", "negative", "text", "old", "future", "junk"])
def test_a_spoilt_cache_is_ignored_and_written_anew(run, cache, spoil):
    run.json(*SMALL, "--device", "measure")
    good = cache.read_text()
    bad = spoil(good)
    assert bad != good
    cache.write_text(bad)
    assert run.json(*SMALL, "--device", "measure")["device"]["latency"] > 0
    entries = json.loads(cache.read_text())["devices"]
    assert len(entries) == 1 and entries[0]["latency"] > 0 and entries[0]["measured"] > time.time() - 3600


def test_without_a_place_for_a_cache_it_is_measured_all_the_same(run, tmp_path):
    (tmp_path / "file").touch()
    run.env = {**run.env, "XDG_CACHE_HOME": str(tmp_path / "file"), "HOME": str(tmp_path / "file")}
    assert run.json(*SMALL, "--device", "measure")["device"]["name"] == "measured"


def test_a_run_measures_where_its_target_will_be(run, tmp_path, cache):
    write_blocks(tmp_path / "a", sample((31, 29)), (10, 7), "{0}_{1}.npy")
    result = run.json("a", "deep.npy", "--device", "measure", "--memory", "1MiB")
    assert result["device"]["name"] == "measured" and result["actual"]["seeks"] == result["predicted"]["seeks"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "cache", "deep.npy"]


def test_temp_and_minimize_are_taken_by_a_run(run, tmp_path):
    array = sample((40, 30, 20))
    np.save(tmp_path / "in.npy", array)
    (tmp_path / "temp").mkdir()
    for minimize in ("seconds", "seeks", "bytes", "memory"):
        result = run.json("in.npy", "out", "--chunks", "9,8,7", "--memory", "64KiB", "--minimize", minimize, "--temp",
                          "temp", "--overwrite")
        assert result["actual"]["seeks"] == result["predicted"]["seeks"]
        assert result["predicted_seconds"] > 0 and "strategies" not in result
    assert run("verify", "in.npy", "out", "--memory", "1MiB").stdout == "equal\n"
    assert list((tmp_path / "temp").iterdir()) == []


# ---- speed -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", [BIGBRAIN, CUBES])
def test_explaining_is_fast(run, problem):
    start = time.monotonic()
    run(*problem, "--memory", "1GB", "--json")
    assert time.monotonic() - start < 5  # a tenth of a second on a quiet machine
