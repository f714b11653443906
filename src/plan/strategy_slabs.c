/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * strategy_slabs.c - clustered and multiple, for a split or a merge: one big block on one side, small ones on the
 * other.
 *
 * Both cut the big block into slabs that are as contiguous in it as memory allows: as many whole slices as fit; with
 * less memory than a slice, as many whole rows of one slice; and so on. They differ in what they count with:
 *
 *   clustered  whole small blocks: each is touched once, and all jumps happen in the big one
 *   multiple   elements: the big block is touched strictly in order, small ones are returned to as often as needed
 *
 * (Hayot-Sasson et al. 2017: cases 3 to 1 of clustered, 5 to 1 of multiple, here in N dimensions.)
 */
#include "plan/plan.h"

typedef struct slabs {
    const rs_layout *big, *small;
    bool by_blocks;
} slabs;

static bool applies(const rs_problem *problem)
{
    return problem->n_source == 1 || problem->n_target == 1;
}

static int64_t count_along(const slabs *s, int d)
{
    return s->by_blocks ? s->small->axis[d].n : rs_max(1, s->big->axis[d].extent);
}

/* Slabs of n along the level-th slowest axis of the big block: everything along faster axes, one along slower ones. */
static bool try_slabs(const rs_problem *problem, rs_plan *plan, const slabs *s, int level, int64_t n)
{
    for (int i = 0; i < plan->ndim; i++) {
        int d = s->big->order[i];
        int64_t count = i < level ? 1 : i == level ? n : count_along(s, d);
        plan->loop[i] = d;
        if (s->by_blocks) {
            rs_plan_cut_groups(plan, d, &s->small->axis[d], count);
        } else {
            rs_plan_cut_even(plan, d, count);
        }
    }
    return rs_plan_fits(problem, plan);
}

static resplit_status propose(const rs_problem *problem, rs_plan *plan, bool by_blocks, resplit_error *err)
{
    bool split = problem->n_source == 1;
    slabs s = {split ? &problem->source : &problem->target, split ? &problem->target : &problem->source, by_blocks};
    int level = 0;
    while (level < plan->ndim - 1 && !try_slabs(problem, plan, &s, level, 1)) {
        level++;
    }
    int64_t fits = 1, too_many = plan->ndim > 0 ? count_along(&s, s.big->order[level]) + 1 : 2;
    while (too_many - fits > 1) {
        int64_t n = fits + (too_many - fits) / 2;
        if (try_slabs(problem, plan, &s, level, n)) {
            fits = n;
        } else {
            too_many = n;
        }
    }
    (void)try_slabs(problem, plan, &s, level, fits);
    return rs_plan_predict(problem, plan) ? RESPLIT_OK : rs_plan_refuse(problem, plan, err);
}

static resplit_status propose_clustered(const rs_problem *problem, rs_plan *plan, resplit_error *err)
{
    return propose(problem, plan, true, err);
}

static resplit_status propose_multiple(const rs_problem *problem, rs_plan *plan, resplit_error *err)
{
    return propose(problem, plan, false, err);
}

#define IS_FOR "a split or a merge, one block on one side"

const rs_strategy rs_strategy_clustered = {"clustered", false, IS_FOR, applies, propose_clustered};
const rs_strategy rs_strategy_multiple = {"multiple", false, IS_FOR, applies, propose_multiple};
