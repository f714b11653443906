/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * strategy_keep.c - the algorithm of the papers, in N dimensions, with exact memory (docs/algorithm.md section 5).
 *
 * The buffer starts as one element. Axis by axis, the fastest on disk first, it is stretched up to the aggregate: the
 * fewest source blocks that cover a target block. Along a stretched axis leftovers are kept until their target block is
 * complete. The first axis that memory does not let reach the aggregate gets as far as it can, and ends the search.
 * When all have reached it, the buffer grows beyond, one source block at a time, along the axis of the largest leftover
 * first.
 */
#include "plan/plan.h"

/*
 * The papers' order of loops: the axis with the largest leftover volume is the innermost. Volumes of buffers that
 * differ only in which axis is left over compare as leftover / buffer length; ties are walked in the source's order.
 */
static void order_loops(const rs_problem *problem, rs_plan *plan)
{
    int64_t left[RS_MAX_NDIM], length[RS_MAX_NDIM];
    for (int d = 0; d < plan->ndim; d++) {
        left[d] = (plan->kept >> d & 1) != 0 ? rs_plan_leftover(problem, plan, d) : 0;
        length[d] = rs_max(1, rs_axis_longest(&plan->buffer[d]));
    }
    for (int i = 0; i < plan->ndim; i++) {
        int d = problem->source.order[i], j = i;
        for (; j > 0; j--) {
            int before = plan->loop[j - 1];
            if ((__int128)left[before] * length[d] <= (__int128)left[d] * length[before]) {
                break;
            }
            plan->loop[j] = before;
        }
        plan->loop[j] = d;
    }
}

static bool fits(const rs_problem *problem, rs_plan *plan)
{
    order_loops(problem, plan);
    return rs_plan_fits(problem, plan);
}

/* Buffers of the fewest source blocks that cover `length` along d, leftovers kept or not. */
static bool try_cover(const rs_problem *problem, rs_plan *plan, int d, int64_t length, bool keep)
{
    rs_plan_cut_cover(plan, d, &problem->source.axis[d], length);
    plan->kept = keep ? plan->kept | 1U << d : plan->kept & ~(1U << d);
    return fits(problem, plan);
}

/* Buffers of `length` elements along d. */
static bool try_even(const rs_problem *problem, rs_plan *plan, int d, int64_t length, bool keep)
{
    rs_plan_cut_even(plan, d, length);
    plan->kept = keep ? plan->kept | 1U << d : plan->kept & ~(1U << d);
    return fits(problem, plan);
}

/*
 * As far along d as memory allows, up to the aggregate, leftovers along d written at once. They are kept after all if
 * there is memory for it and it saves seeks. One element along d is known to fit.
 */
static void stretch_part(const rs_problem *problem, rs_plan *plan, int d, int64_t aggregate)
{
    int64_t enough = 1, too_long = aggregate + 1;
    while (too_long - enough > 1) {
        int64_t length = enough + (too_long - enough) / 2;
        if (try_even(problem, plan, d, length, false)) {
            enough = length;
        } else {
            too_long = length;
        }
    }
    (void)try_even(problem, plan, d, enough, false);
    (void)rs_plan_predict(problem, plan);
    int64_t seeks = plan->predicted.write_seeks;
    bool kept = try_even(problem, plan, d, enough, true) && rs_plan_predict(problem, plan)
                && plan->predicted.write_seeks < seeks;
    if (!kept) {
        (void)try_even(problem, plan, d, enough, false);
    }
}

/* What the buffers cover at least along d when they are aggregates: the longest target block. */
static int64_t aggregate_cover(const rs_problem *problem, int d)
{
    return rs_max(1, rs_axis_longest(&problem->target.axis[d]));
}

/* Up to the aggregate, the fastest axis first. False when memory ended it before. */
static bool stretch_to_aggregate(const rs_problem *problem, rs_plan *plan)
{
    for (int i = plan->ndim - 1; i >= 0; i--) {
        int d = problem->source.order[i];
        int64_t cover = aggregate_cover(problem, d);
        if (try_cover(problem, plan, d, cover, true)) {
            continue;
        }
        int64_t aggregate = rs_axis_longest(&plan->buffer[d]);
        if (!try_cover(problem, plan, d, cover, false)) {
            stretch_part(problem, plan, d, aggregate);
        }
        return false;
    }
    return true;
}

/* Source blocks are added along d as long as they fit: one, then two, four, ..., and fewer again when those
   are too many. */
static void stretch_axis(const rs_problem *problem, rs_plan *plan, int d)
{
    int64_t cover = aggregate_cover(problem, d), block = rs_max(1, rs_axis_longest(&problem->source.axis[d])), n = 1;
    while (n > 0 && plan->buffer[d].n > 1 && cover < problem->shape[d]) {
        int64_t step = plan->buffer[d].step;
        int64_t more = 1 + (step > 0 ? step : rs_axis_longest(&plan->buffer[d])) + (n - 1) * block;
        more = rs_min(more, problem->shape[d]);
        if (try_cover(problem, plan, d, more, true)) {
            cover = more;
            n *= 2;
        } else {
            (void)try_cover(problem, plan, d, cover, true);
            n /= 2;
        }
    }
}

/* Beyond the aggregate: the axis of the largest leftover, which is the innermost loop, first. */
static void stretch_beyond(const rs_problem *problem, rs_plan *plan)
{
    int axes[RS_MAX_NDIM] = {0};
    for (int i = 0; i < plan->ndim; i++) {
        axes[i] = plan->loop[plan->ndim - 1 - i];
    }
    for (int i = 0; i < plan->ndim; i++) {
        stretch_axis(problem, plan, axes[i]);
    }
}

static resplit_status propose(const rs_problem *problem, rs_plan *plan, resplit_error *err)
{
    for (int d = 0; d < plan->ndim; d++) {
        rs_plan_cut_even(plan, d, 1);
    }
    if (!fits(problem, plan)) {
        return rs_plan_refuse(problem, plan, err);
    }
    if (stretch_to_aggregate(problem, plan)) {
        stretch_beyond(problem, plan);
    }
    for (int d = 0; d < plan->ndim; d++) { /* an axis without leftovers keeps nothing */
        if (rs_plan_leftover(problem, plan, d) == 0) {
            plan->kept &= ~(1U << d);
        }
    }
    order_loops(problem, plan);
    return rs_plan_predict(problem, plan) ? RESPLIT_OK : rs_plan_refuse(problem, plan, err);
}

const rs_strategy rs_strategy_keep = {"keep", false, NULL, NULL, propose};
