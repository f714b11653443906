/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sectors.c - cuts inside of plain target blocks, moved to where sectors begin.
 *
 * A block that is cut along its slowest axis is written in several long runs. Where two of them meet inside a sector,
 * both have to go through the page cache for it, and a file system has that end of a file to write last. What a cut
 * costs does not depend on where in the block it is, so it may as well be at a sector. That of the block's first byte,
 * which is not known here, is taken to begin one: so it is in Zarr.
 */
#include "plan/plan.h"

#include <stdlib.h>

enum {
    SECTOR = 4096,
    LEAST = 256 << 10, /* bytes of a buffer in a block: shorter ones are left to the system */
    MOST_CUTS = 4096,
};

/* Is axis d the slowest one that a unit does not span? Then `bytes` of it is what one index has in a target block. */
static bool cuts_runs(const rs_problem *problem, const rs_plan *plan, int d, int64_t *bytes)
{
    const rs_layout *target = &problem->target;
    *bytes = problem->itemsize;
    for (int i = problem->ndim - 1; target->order[i] != d; i--) {
        int e = target->order[i];
        bool whole = (plan->kept >> e & 1) != 0 || rs_plan_leftover(problem, plan, e) == 0;
        if (!whole || target->axis[e].step == 0) {
            return false;
        }
        *bytes = rs_mul_most(*bytes, target->axis[e].step);
    }
    return (plan->kept >> d & 1) == 0 && rs_plan_leftover(problem, plan, d) > 0;
}

/* Cuts at the next sector, or as they are, in `cuts`. False: they do not fit there. */
static bool move_cuts(const rs_axis *buffers, const rs_axis *blocks, int64_t grain, int64_t *cuts)
{
    cuts[0] = 0;
    for (int64_t i = 1; i <= buffers->n; i++) {
        int64_t x = i < buffers->n ? rs_axis_span(buffers, i).lo : buffers->extent, lo = rs_axis_floor(blocks, x);
        int64_t moved = lo + rs_ceil_div(x - lo, grain) * grain;
        cuts[i] = rs_axis_floor(blocks, rs_min(moved, blocks->extent)) > lo ? x : rs_min(moved, blocks->extent);
        if (cuts[i] <= cuts[i - 1]) {
            return false;
        }
    }
    return true;
}

static bool is_as_cheap(const resplit_cost *a, const resplit_cost *b)
{
    return a->read_seeks <= b->read_seeks && a->write_seeks <= b->write_seeks && a->bytes_read <= b->bytes_read
           && a->bytes_written <= b->bytes_written;
}

static void align_axis(const rs_problem *problem, rs_plan *plan, int d, int64_t grain)
{
    rs_plan before = *plan;
    int64_t *cuts = malloc((size_t)(plan->buffer[d].n + 1) * sizeof *cuts);
    if (cuts == NULL) {
        return; /* it is as good a plan without */
    }
    if (move_cuts(&plan->buffer[d], &problem->target.axis[d], grain, cuts)) {
        plan->cuts[d] = cuts;
        plan->buffer[d] = rs_axis_uneven(cuts, plan->buffer[d].n);
        if (rs_plan_predict(problem, plan) && is_as_cheap(&plan->predicted, &before.predicted)) {
            free(before.cuts[d]);
            return;
        }
    }
    free(cuts);
    *plan = before;
}

void rs_plan_align(const rs_problem *problem, rs_plan *plan)
{
    int64_t bytes;
    for (int d = 0; d < problem->ndim && !problem->target.atomic && problem->n_elements > 0; d++) {
        if (plan->buffer[d].n <= MOST_CUTS && cuts_runs(problem, plan, d, &bytes)) {
            int64_t grain = SECTOR / rs_min(SECTOR, bytes & -bytes), longest = rs_axis_longest(&plan->buffer[d]);
            if (grain > 1 && grain <= longest / 8 && rs_mul_most(bytes, longest) >= LEAST) {
                align_axis(problem, plan, d, grain);
            }
        }
    }
}
