/* SPDX-License-Identifier: BSD-3-Clause */
/* cuts.c - buffer axes made of whole blocks, or of elements. */
#include "plan/plan.h"

/* Uneven buffers: keeps those cuts of `blocks` at which `enough` says a buffer is long enough. */
static void collect(rs_plan *plan, int d, const rs_axis *blocks, int64_t n, int64_t length)
{
    int64_t *cuts = plan->cuts[d];
    int64_t count = 0, since = 0;
    cuts[0] = 0;
    for (int64_t i = 0; i < blocks->n; i++) {
        int64_t end = rs_axis_span(blocks, i).hi;
        since++;
        if (end == blocks->extent || (since >= n && end - cuts[count] >= length)) {
            cuts[++count] = end;
            since = 0;
        }
    }
    plan->buffer[d] = rs_axis_uneven(cuts, count);
}

static void cut_blocks(rs_plan *plan, int d, const rs_axis *blocks, int64_t n, int64_t length)
{
    if (blocks->step == 0) {
        collect(plan, d, blocks, n, length);
        return;
    }
    /* Evenly cut blocks stay so in groups; the first group starts where the first block does, seen or not. The last
       block, which may be longer than the others, belongs to the last group. */
    int64_t group = rs_max(n, rs_ceil_div(length, blocks->step));
    rs_axis axis = *blocks;
    group = rs_min(group, axis.n);
    axis.step *= group;
    axis.n = rs_ceil_div(blocks->n, group);
    plan->buffer[d] = axis;
}

void rs_plan_cut_groups(rs_plan *plan, int d, const rs_axis *blocks, int64_t n)
{
    cut_blocks(plan, d, blocks, n, 1);
}

void rs_plan_cut_cover(rs_plan *plan, int d, const rs_axis *blocks, int64_t length)
{
    cut_blocks(plan, d, blocks, 1, length);
}

void rs_plan_cut_even(rs_plan *plan, int d, int64_t length)
{
    plan->buffer[d] = rs_axis_even(plan->buffer[d].extent, length);
}
