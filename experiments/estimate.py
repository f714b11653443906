# SPDX-License-Identifier: BSD-3-Clause
"""Experiment 6: the drafts' own planner. Where its estimate of memory fails, and what exact memory buys.

Writes estimate.csv, the problems of the papers: what it proposes, what that really holds, and the seeks of its plan, of the best of its
plans that does fit, and of the library's keep and best in the same memory; and equation1.csv, Equation 1 against the truth for random
problems whose buffer is the aggregate.
"""

import random

import exact
from common import plan, shown, write_csv
from computed import BUDGETS
from drafts import aggregate, equation_1, stretch
from papers import CASES

IN_ORDER, ALL = (0, 1, 2), {0, 1, 2}
STEP = 0.9 # of what the planner is told, until what it proposes fits
N_STEPS = 80
BESIDE = 80 << 20 # what a run takes besides data
SIZES = [12, 16, 18, 20, 24, 30, 32, 36, 40, 48, 54, 60]


def truth(case, draft):
    """(seeks, elements held) of a proposal."""
    held = exact.held(case.shape, case.target, draft.buffer, IN_ORDER, draft.kept)
    return sum(exact.seeks(case.shape, case.source, case.target, draft.buffer, draft.kept)), held


def honest(case, m):
    """The first of its proposals that fits m, when it is told of less and less memory."""
    told = float(m)
    for _ in range(N_STEPS):
        draft = stretch(case.shape, case.source, case.target, int(told))
        seeks, held = truth(case, draft)
        if held <= m:
            return {"told": int(told), "buffer": shown(draft.buffer), "seeks": seeks}
        if draft.buffer[:2] == (1, 1):
            break # it can do no smaller
        told *= STEP
    return {"told": "", "buffer": "", "seeks": ""}


def in_data(case, strategy, memory):
    """The library's plan that holds at most so much data. Its budget is for everything, the drafts' m is for data only: so it gets a little
    more, if it does not hold more then."""
    made = plan(case, strategy, memory + memory // 50 + BESIDE)
    return made if made and made.predicted.held_bytes <= memory else plan(case, strategy, memory)


def row_of(case, memory):
    m = memory // case.itemsize
    draft = stretch(case.shape, case.source, case.target, m)
    seeks, held = truth(case, draft)
    safe = honest(case, m)
    keep, best = (in_data(case, strategy, memory) for strategy in ("keep", "best"))
    return {"group": case.group, "case": case.name, "budget_bytes": memory, "budget_elements": m, "stage": draft.stage,
            "buffer": shown(draft.buffer), "estimate_elements": draft.estimate, "held_elements": held,
            "held_by_budget": f"{held / m:.4f}", "draft_seeks": seeks, "fitting_told_elements": safe["told"],
            "fitting_buffer": safe["buffer"], "fitting_draft_seeks": safe["seeks"],
            "keep_seeks": keep.seeks if keep else "", "keep_held_elements": keep.predicted.held_bytes // case.itemsize if keep else "",
            "best_seeks": best.seeks if best else "", "best_held_elements": best.predicted.held_bytes // case.itemsize if best else ""}


def divisors(n):
    return [d for d in range(2, n + 1) if n % d == 0]


def draw(rnd, sizes=None):
    """A random problem as the drafts want them: blocks divide the array."""
    shape = tuple(rnd.choice(sizes or SIZES) for _ in range(3))
    return shape, *(tuple(rnd.choice(divisors(n)) for n in shape) for _ in range(2))


def random_rows(n, seed=1):
    rnd = random.Random(seed)
    while n:
        shape, source, target = draw(rnd)
        buffer = aggregate(shape, source, target)
        held = exact.held(shape, target, buffer, IN_ORDER, ALL)
        if held == exact.volume([(0, b) for b in buffer]):
            continue # nothing is left over: there is nothing to estimate
        n -= 1
        estimate = equation_1(shape, target, buffer)
        yield {"shape": shown(shape), "from": shown(source), "to": shown(target), "buffer": shown(buffer), "equation_1": estimate,
               "held": held, "held_by_estimate": f"{held / estimate:.4f}"}


def main(options=None):
    few = getattr(options, "quick", False)
    write_csv("estimate", [row_of(case, memory) for case in CASES for memory in (BUDGETS[4:6] if few else BUDGETS)])
    write_csv("equation1", list(random_rows(200 if few else 3000)))


if __name__ == "__main__":
    main()
