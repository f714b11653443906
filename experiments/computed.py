# SPDX-License-Identifier: BSD-3-Clause
"""Experiment 1: every problem of the papers at its full size, every strategy, budgets over three decades. Nothing is run.

Writes computed.csv: seeks, memory, and predicted seconds on four devices. Seconds are those of the plan with the fewest seeks;
`auto`, which minimizes seconds, is asked once for each device.
"""

from multiprocessing import Pool

from common import DEVICES, plan, seconds_on, shown, write_csv
from papers import BRAIN_BUDGETS, CASES, GB

BUDGETS = [int(n * GB) for n in (0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256)]
STRATEGIES = ("naive", "clustered", "multiple", "keep", "best", "spill")


def budgets_of(case):
    return sorted(BUDGETS + BRAIN_BUDGETS) if case.group == "bigbrain" else BUDGETS


def row_of(case, memory, strategy, made):
    row = {"group": case.group, "case": case.name, "shape": shown(case.shape), "from": shown(case.source), "to": shown(case.target),
           "itemsize": case.itemsize, "strategy": strategy, "budget_bytes": memory}
    cost = made.predicted if made else None
    for name in ("seeks", "read_seeks", "write_seeks", "bytes_moved", "held_bytes", "peak_bytes", "temp_bytes"):
        row[name] = getattr(cost, name) if cost else ""
    row["floor_seeks"] = made.floor.seeks if made else ""
    for device in DEVICES:
        row["seconds_" + device] = f"{seconds_on(device, cost):.6g}" if cost else ""
    return row


def rows_of(case):
    return list(each_row(case))


def each_row(case):
    for memory in budgets_of(case):
        for strategy in STRATEGIES:
            made = plan(case, strategy, memory)
            if made or strategy in ("naive", "keep", "best"): # the others are not for every problem
                yield row_of(case, memory, strategy, made)
        row = row_of(case, memory, "auto", None)
        for device in DEVICES:
            made = plan(case, "auto", memory, device, "seconds")
            row["seconds_" + device] = f"{made.seconds:.6g}" if made else ""
        yield row


def main(_options=None):
    with Pool() as pool: # most of the time is auto's, which is asked for every device
        write_csv("computed", [row for rows in pool.imap(rows_of, CASES) for row in rows])


if __name__ == "__main__":
    main()
