# SPDX-License-Identifier: BSD-3-Clause
"""The experiments of docs/experiments, those that only count: against what was published, and against walks over every buffer."""

import csv
import random
import sys

import pytest

from conftest import ROOT

sys.path.append(str(ROOT / "experiments"))
TABLES = ROOT / "docs" / "experiments"

import common  # noqa: E402
import computed  # noqa: E402
import drafts  # noqa: E402
import estimate  # noqa: E402
import exact  # noqa: E402
import ordering  # noqa: E402
import papers  # noqa: E402
import published  # noqa: E402
import splitmerge  # noqa: E402

GB = papers.GB
ALL = {0, 1, 2}


def kept_of(plan):
    return {d for d, kept in enumerate(plan.kept) if kept}


def table(name):
    """A table of the page, as text."""
    with open(TABLES / f"{name}.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def as_text(row):
    return {name: "" if value is None else str(value) for name, value in row.items()}


# ---- what the experiments count with -----------------------------------------------------------------------------


def random_cut(rnd, n):
    if rnd.random() < 0.7:
        return rnd.randint(1, n)
    lengths = []
    while sum(lengths) < n:
        lengths.append(rnd.randint(1, n - sum(lengths)))
    return tuple(lengths)


def test_seeks_and_memory_are_those_of_a_walk_over_every_buffer():
    rnd = random.Random(11)
    for _ in range(400):
        shape = [rnd.randint(1, 8) for _ in range(rnd.choice([1, 2, 3]))]
        source, target, buffer = ([random_cut(rnd, n) for n in shape] for _ in range(3))
        order = list(range(len(shape)))
        rnd.shuffle(order)
        kept = {d for d in order if rnd.random() < 0.6}
        found = (*exact.seeks(shape, source, target, buffer, kept), exact.held(shape, target, buffer, order, kept))
        assert found == exact.walk(shape, source, target, buffer, order, kept), (shape, source, target, buffer, order, kept)


@pytest.mark.parametrize("strategy", ["naive", "clustered", "multiple", "keep", "best"])
def test_the_library_predicts_what_is_counted_apart_from_it(strategy):
    n_plans = 0
    for case in papers.CASES:
        for memory in (GB, 4 * GB, 16 * GB):
            plan = common.plan(case, strategy, memory)
            if plan is None:
                continue
            n_plans += 1
            seeks = exact.seeks(case.shape, case.source, case.target, plan.buffer, kept_of(plan))
            assert seeks == (plan.predicted.read_seeks, plan.predicted.write_seeks), (case, memory)
            held = exact.held(case.shape, case.target, plan.buffer, plan.loop_order, kept_of(plan))
            assert held * case.itemsize == plan.predicted.held_bytes, (case, memory)
    assert n_plans >= 6


def test_seconds_are_the_commands_on_every_device():
    case = papers.AUGUST[2]
    for device in common.DEVICES:
        plan = common.plan(case, "keep", 4 * GB, device)
        assert common.seconds_on(device, plan.predicted) == pytest.approx(plan.seconds)


# ---- 1 and 3: what was published ---------------------------------------------------------------------------------


@pytest.mark.parametrize("case", papers.CASES, ids=lambda c: f"{c.group} {c.name}")
def test_counts_of_the_papers(case):
    assert common.plan(case, "naive", 256 * GB).seeks == case.naive
    buffer = drafts.aggregate(case.shape, case.source, case.target)
    if case.held:
        assert exact.held(case.shape, case.target, buffer, (0, 1, 2), ALL) == case.held
        keep = common.plan(case, "keep", 256 * GB)
        assert keep.seeks == keep.floor.seeks == sum(exact.seeks(case.shape, case.source, case.target, buffer, ALL))


def test_every_published_count_is_found_again_by_the_rule_of_those_who_published_it():
    rows = [*published.bigbrain_rows(), *published.august_rows(), *published.large_rows(), *published.october_rows()]
    n_counts = 0
    for row in rows:
        if row["what"] != "elements held" and row["published"] != "":
            assert row["published"] == row["same_rule"], row
            n_counts += 1
    assert n_counts >= 2 + 20 + 6 + 28 + 16 + 23
    assert [as_text(row) for row in rows] == table("published")


def test_elements_held_in_october_are_those_that_were_logged():
    for row in published.october_rows():
        if row["what"] == "elements held" and row["published"] != "":
            assert row["published"] == row["ours"], row


def test_the_numbers_that_the_design_was_measured_by():
    """best in 4, 1 and 0.25 GB, from a search over a short list of cuts: ours may only be better."""
    expected = {"0": (96, 288, 1056), "1": (196, 392, 1308), "2": (1441, 1784, 6254), "3": (3744, 4344, 9088)}
    for case in papers.AUGUST[:4]:
        for memory, seeks in zip((4 * GB, GB, GB // 4), expected[case.name]):
            assert common.plan(case, "best", memory).seeks <= seeks, (case.name, memory)


def test_the_table_of_the_page_is_what_is_computed():
    found = {(r["group"], r["case"], r["strategy"], r["budget_bytes"]): r for r in table("computed")}
    for case in (papers.BIGBRAIN[0], *papers.AUGUST, papers.OCTOBER[6]):
        for memory in (GB, 8 * GB, 256 * GB):
            for strategy in ("naive", "multiple", "keep", "best"):
                row = found.get((case.group, case.name, strategy, str(memory)))
                plan = common.plan(case, strategy, memory)
                if plan is not None:
                    assert as_text(computed.row_of(case, memory, strategy, plan)) == row


# ---- 4: split and merge ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", papers.BIGBRAIN, ids=lambda c: c.name)
@pytest.mark.parametrize("slices", [7, 30, 140])
def test_keep_is_multiple_where_memory_is_a_whole_number_of_slices(case, slices):
    memory = splitmerge.memory_for(case, slices)
    multiple, keep = (common.plan(case, name, memory) for name in ("multiple", "keep"))
    assert splitmerge.slices_of(multiple) == splitmerge.slices_of(keep) == slices
    assert splitmerge.slices_of(common.plan(case, "multiple", memory - 1)) == slices - 1
    assert keep.seeks == multiple.seeks if 3500 % slices == 0 else keep.seeks <= multiple.seeks


# ---- 6: the drafts' planner --------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape, m, buffer", [
    ((1, 120, 120), 3200, (1, 40, 60)), ((1, 120, 120), 6800, (1, 60, 60)), ((120, 120, 120), 272000, (40, 60, 60)),
    ((120, 120, 120), 6800, (1, 60, 60)), ((120, 120, 120), 632000, (60, 60, 60))])
def test_the_drafts_planner_gives_the_buffers_of_its_authors_program(shape, m, buffer):
    source, target = (tuple(min(n, edge) for n in shape) for edge in (60, 40))
    draft = drafts.stretch(shape, source, target, m)
    assert draft.buffer == buffer and draft.estimate <= m


@pytest.mark.parametrize("case, m, buffer, times", [
    (papers.AUGUST[1], 2 * GB, (470, 875, 875), 3.1), (papers.AUGUST[2], 2 * GB, (409, 700, 700), 3.0),
    (papers.AUGUST[3], 2 * GB, (301, 350, 350), 1.34), (papers.AUGUST[5], 2 * GB, (433, 875, 700), 2.9)],
    ids=lambda value: getattr(value, "name", None))
def test_what_it_proposes_holds_more_than_it_may(case, m, buffer, times):
    draft = drafts.stretch(case.shape, case.source, case.target, m)
    assert draft.buffer == buffer
    assert estimate.truth(case, draft)[1] / m == pytest.approx(times, abs=0.05)


def test_equation_1_is_no_upper_bound():
    shape, source, target = (12, 30, 30), (6, 2, 6), (6, 5, 5)
    buffer = drafts.aggregate(shape, source, target)
    assert drafts.equation_1(shape, target, buffer) == 984
    assert exact.held(shape, target, buffer, (0, 1, 2), ALL) == 1020


# ---- 7: ordering -------------------------------------------------------------------------------------------------


def test_the_best_of_all_loops_holds_what_was_worked_out():
    for number, held in ((1, 2_465_312_500), (5, 1_662_500_000), (6, 153_125_000)):
        case = papers.AUGUST[number]
        buffer = drafts.aggregate(case.shape, case.source, case.target)
        assert exact.best_order(case.shape, case.target, buffer, ALL)[0] == held


def test_equal_volumes_leave_the_drafts_rule_open():
    shape, source, target = (48, 60, 12), (8, 3, 6), (6, 2, 4)
    buffer = drafts.aggregate(shape, source, target)
    held = [exact.held(shape, target, buffer, order, ALL) for order in drafts.rule_orders(shape, target, buffer)]
    assert max(held) == 6048 and exact.best_order(shape, target, buffer, ALL)[0] == 768


def test_no_order_holds_less_than_what_is_found_for_any_order():
    """All orders of up to six buffers, one by one."""
    from itertools import permutations

    rnd = random.Random(5)
    n_tried = 0
    while n_tried < 40:
        shape = (rnd.randint(2, 4), rnd.randint(2, 4))
        target, buffer = (tuple(rnd.randint(1, n) for n in shape) for _ in range(2))
        kept = {d for d in range(2) if rnd.random() < 0.7}
        sizes, units = ordering.taken_apart(shape, target, buffer, kept)
        if len(sizes) > 6:
            continue
        n_tried += 1
        assert ordering.any_order(sizes, units) == min(peak_of(order, sizes, units) for order in permutations(range(len(sizes))))


def peak_of(order, sizes, units):
    seen = now = most = 0
    for buffer in order:
        now += sizes[buffer]
        most = max(most, now)
        now -= sum(n for n, needs in units if needs & ~seen == 1 << buffer)
        seen |= 1 << buffer
    return most


def test_loops_hold_at_least_as_much_as_any_order_and_at_most_as_much_as_the_rule():
    for row in ordering.any_rows(4, seed=9):
        seeks = [row[name] for name in ("any_seeks", "loops_seeks", "rule_seeks") if row[name] != ""]
        assert seeks == sorted(seeks)
        assert float(row["worst_loops_by_any"]) >= 1 and float(row["worst_rule_by_loops"]) >= 1


# ---- the page ----------------------------------------------------------------------------------------------------


def test_the_page_is_what_its_tables_and_its_text_make():
    import page

    assert (TABLES / "README.md").read_text(encoding="utf-8") == page.made()
