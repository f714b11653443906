/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * strategy_copy.c - source and target have the same grid: blocks move one by one, their bytes as they are, or decoded
 * and encoded anew.
 */
#include "plan/plan.h"

static bool has_same_cuts(const rs_axis *a, const rs_axis *b)
{
    bool same = a->n == b->n && a->extent == b->extent;
    for (int64_t i = 0; same && i <= a->n; i++) {
        same = rs_axis_cut(a, i) == rs_axis_cut(b, i);
    }
    return same;
}

/* Whole blocks that are decoded are written from where they lie, so they cannot become longer there. */
static bool applies(const rs_problem *problem)
{
    bool same = problem->target.atomic || !problem->source.atomic || problem->target.coding.item <= problem->itemsize;
    for (int d = 0; same && d < problem->ndim; d++) {
        same = has_same_cuts(&problem->source.axis[d], &problem->target.axis[d])
               && (problem->source.order[d] == problem->target.order[d] || problem->ndim == 1);
    }
    return same;
}

static resplit_status propose(const rs_problem *problem, rs_plan *plan, resplit_error *err)
{
    for (int d = 0; d < plan->ndim; d++) {
        rs_plan_cut_groups(plan, d, &problem->target.axis[d], 1);
    }
    plan->kind = RS_PLAN_COPY;
    if (problem->target.coding.staging > 0) {
        plan->n_staging = 2; /* decoded from one, encoded in the other */
    }
    int64_t fixed = rs_plan_fixed(problem, plan);
    (void)rs_plan_predict(problem, plan); /* buffers are blocks: each is accessed once */
    plan->predicted.held_bytes = 0;
    plan->predicted.peak_bytes = fixed;
    if (fixed > plan->memory) {
        return rs_plan_refuse(problem, plan, err);
    }
    rs_plan_set_staging(problem, plan, fixed, 0);
    return RESPLIT_OK;
}

const rs_strategy rs_strategy_copy = {"copy", true, "two equal grids", applies, propose};
