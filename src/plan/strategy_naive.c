/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * strategy_naive.c - one source block at a time, every piece written at once. For a split (one source block) the mirror
 * image: one target block at a time.
 */
#include "plan/plan.h"

static resplit_status propose(const rs_problem *problem, rs_plan *plan, resplit_error *err)
{
    const rs_layout *blocks = problem->n_source == 1 ? &problem->target : &problem->source;
    for (int d = 0; d < plan->ndim; d++) {
        rs_plan_cut_groups(plan, d, &blocks->axis[d], 1);
        plan->loop[d] = blocks->order[d];
    }
    return rs_plan_predict(problem, plan) ? RESPLIT_OK : rs_plan_refuse(problem, plan, err);
}

const rs_strategy rs_strategy_naive = {"naive", false, NULL, NULL, propose};
