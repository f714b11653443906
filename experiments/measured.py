# SPDX-License-Identifier: BSD-3-Clause
"""Experiment 2: scaled copies of the seven configurations, run.

Writes measured.csv: seconds from a cold cache, with memory and page cache capped together and without; slow.csv: the same on a slow
disk; slowdisk.csv: what that disk does; times.csv: published times and ours, as ratios.
"""

from common import shown, write_csv
from papers import AUGUST
from running import STRATEGIES, budget_of, scaled, workshop
from slow import slow_rows

BUDGETS = (4, 8) # GB, of the papers' array


def times_rows(rows, edges):
    """What the authors' programs took, and what ours do, as ratios: arrays and machines differ."""
    seconds = {(r["shape"], r["case"], r["budget_bytes"], r["strategy"]): float(r["seconds"])
               for r in rows if r["seconds"] and r["cache"] == "capped"}
    for case in AUGUST:
        for gigabytes in BUDGETS:
            baseline, keep = case.published["seconds"][gigabytes]
            for edge in edges:
                small = scaled(case, edge)
                ours = [seconds.get((shown(small.shape), case.name, budget_of(gigabytes, edge), name)) for name in STRATEGIES]
                if all(ours):
                    yield {"case": case.name, "budget_gb": gigabytes, "published_baseline_seconds": baseline, "published_keep_seconds": keep,
                           "published_ratio": f"{baseline / keep:.2f}", "edge": edge, **{f"{n}_seconds": s for n, s in zip(STRATEGIES, ours)},
                           "keep_ratio": f"{ours[0] / ours[1]:.2f}", "best_ratio": f"{ours[0] / ours[2]:.2f}"}


def cases_of(edge, options):
    return [scaled(case, edge) for case in AUGUST if int(case.name) in options.configs]


def main(options):
    small, large = options.edges
    rows = []
    with workshop(options) as shop:
        for case in cases_of(small, options):
            for gigabytes in BUDGETS:
                rows += shop.contest(case, STRATEGIES, budget_of(gigabytes, small), capped=True)
            rows += shop.contest(case, STRATEGIES, budget_of(BUDGETS[0], small), capped=False)
        shop.forget()
        for case in cases_of(large, options):
            rows += shop.contest(case, STRATEGIES, budget_of(BUDGETS[0], large), capped=True, most=1)
            shop.forget()
    write_csv("measured", rows)
    write_csv("times", list(times_rows(rows, options.edges)))
    if options.slow:
        problems = [(case, [budget_of(BUDGETS[0], small)], STRATEGIES) for case in cases_of(small, options)]
        rows, probe = slow_rows(options, problems)
        write_csv("slow", rows)
        write_csv("slowdisk", [probe])
