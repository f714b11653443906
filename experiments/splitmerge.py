# SPDX-License-Identifier: BSD-3-Clause
"""Experiment 4: keep against multiple and clustered where these are at home, splitting and merging BigBrain.

Writes splitmerge.csv, counts at full size where memory is a whole number of slices and no byte more; splitmerge_runs.csv, seconds
of a copy a fifth as long; splitmerge_slow.csv, the same on the slow disk.
"""

from common import plan, write_csv
from papers import BIGBRAIN, BRAIN, BRAIN_BLOCK, BRAIN_BUDGETS, Case
from running import EDGE, workshop
from slow import slow_rows

STRATEGIES = ("clustered", "multiple", "keep", "best")
DIVIDE = (1, 2, 4, 5, 7, 10, 14, 20, 25, 28, 35, 50, 70, 100, 125, 140, 175, 250, 350, 500, 700) # the 3500 slices of BigBrain
DO_NOT = (3, 8, 30, 60, 135, 240, 300, 600)


def slices_of(made):
    """Whole slices that a plan takes at once; 0 if it cuts them."""
    def length(cut):
        return max(cut) if isinstance(cut, tuple) else cut
    return length(made.buffer[0]) if made and tuple(map(length, made.buffer[1:])) == tuple(made.shape[1:]) else 0


def memory_for(case, slices):
    """The least memory with which multiple takes so many slices at once."""
    too_little, enough = 0, 2 * case.n_bytes
    while enough - too_little > 1:
        middle = (too_little + enough) // 2
        if slices_of(plan(case, "multiple", middle)) >= slices:
            enough = middle
        else:
            too_little = middle
    return enough


def counted_rows():
    for case in BIGBRAIN:
        for slices in sorted(DIVIDE + DO_NOT):
            memory = memory_for(case, slices)
            found = {name: plan(case, name, memory) for name in ("naive", *STRATEGIES)}
            yield {"direction": case.name, "slices": slices, "divides": "yes" if BRAIN[0] % slices == 0 else "no", "budget_bytes": memory,
                   **{name: made.seeks if made else "" for name, made in found.items()},
                   "keep_slices": slices_of(found["keep"]), "floor": found["keep"].floor.seeks}


def smaller(case, edge):
    """The same grid of blocks, each shorter; the array is as long as they are together."""
    block = tuple(max(1, round(n * edge / EDGE)) for n in BRAIN_BLOCK)
    whole = tuple(b * (n // m) for b, n, m in zip(block, BRAIN, BRAIN_BLOCK))
    merge = case.name == "merge"
    return Case(case.name, case.group, whole, block if merge else whole, whole if merge else block)


def budgets_of(case):
    """To the copy what the five of 2017 are to BigBrain."""
    return [memory * case.n_bytes // BIGBRAIN[0].n_bytes for memory in BRAIN_BUDGETS]


def main(options):
    write_csv("splitmerge", list(counted_rows()))
    if not options.runs:
        return
    cases = [smaller(case, options.edges[0]) for case in BIGBRAIN]
    rows = []
    with workshop(options) as shop:
        for case in cases:
            for budget in budgets_of(case):
                rows += shop.contest(case, ("naive", *STRATEGIES), budget, capped=True, most=1)
            shop.forget()
    write_csv("splitmerge_runs", rows)
    if options.slow:
        write_csv("splitmerge_slow", slow_rows(options, [(case, budgets_of(case)[::2], ("naive", *STRATEGIES)) for case in cases])[0])
