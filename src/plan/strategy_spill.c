/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * strategy_spill.c - the source once, in order, through a temporary file where memory is short.
 *
 * While the source is read, some target blocks are resident in memory; pieces of the others are collected, group by group, and
 * appended to the group's own stretch of one temporary file. Then each group is read back in one go, and its blocks are
 * written whole. As in a hybrid hash join, only what does not fit goes to disk twice: with a share s of the target resident,
 * 2 + 2 (1 - s) times the array is moved, however the two grids lie.
 *
 *     pass 1: resident blocks   + n_groups append buffers  + staging     <= memory
 *     pass 2: blocks of a group                            + staging     <= memory
 */
#include "base/budget.h"
#include "plan/plan.h"

enum {
    LEAST_APPEND = 4 * 1024,   /* one page: less would cost a seek for almost nothing */
    MOST_APPEND = 1024 * 1024, /* a disk does not get faster beyond this */
};

static bool applies(const rs_problem *problem)
{
    return problem->n_elements > 0 && problem->n_target > 1;
}

/* Of the largest target block. */
static int64_t block_bytes(const rs_problem *problem)
{
    int64_t bytes = problem->itemsize;
    for (int d = 0; d < problem->ndim; d++) {
        bytes *= rs_axis_longest(&problem->target.axis[d]);
    }
    return bytes;
}

/* The most blocks that fit into `memory` bytes with their records. */
static int64_t blocks_in(int64_t memory, int64_t block, int64_t most)
{
    int64_t fits = 0, too_many = most + 1;
    while (too_many - fits > 1) {
        int64_t n = fits + (too_many - fits) / 2, bytes;
        if (rs_mul(n, block, &bytes) && rs_plan_charge(bytes, n) <= memory) {
            fits = n;
        } else {
            too_many = n;
        }
    }
    return fits;
}

static int64_t append_memory(const rs_plan *plan, int64_t n_groups, int64_t append)
{
    int64_t one = rs_budget_charge(plan->memory, append) + RS_PIECE_BYTES, all;
    return rs_mul(one, n_groups, &all) ? all : INT64_MAX;
}

/* Groups as large as pass 2 allows, then as many residents as pass 1 allows. False: there is not enough memory. */
static bool divide(const rs_problem *problem, rs_plan *plan, int64_t memory)
{
    int64_t block = block_bytes(problem), n = problem->n_target;
    int64_t room = memory - rs_plan_fixed(problem, plan);
    rs_spill *spill = &plan->spill;
    spill->group = blocks_in(room, block, n);
    if (spill->group == 0) {
        return false;
    }
    /* A quarter of the memory collects pieces, if that makes appends large; the rest is for residents. */
    int64_t groups = rs_ceil_div(n, spill->group);
    int64_t append = rs_min(MOST_APPEND, room / 4 / groups / 4096 * 4096);
    spill->append_bytes = rs_max(LEAST_APPEND, append);
    int64_t appends = append_memory(plan, groups, spill->append_bytes);
    if (appends > room - rs_plan_charge(0, 0)) {
        return false;
    }
    spill->resident = blocks_in(room - appends, block, n);
    spill->n_groups = rs_ceil_div(n - spill->resident, spill->group);
    return true;
}

static int64_t least_memory(const rs_problem *problem, rs_plan *plan)
{
    int64_t too_little = 0, enough = INT64_MAX / 4;
    while (enough - too_little > 1) {
        int64_t memory = too_little + (enough - too_little) / 2;
        plan->memory = memory;
        *(divide(problem, plan, memory) ? &enough : &too_little) = memory;
    }
    return enough;
}

int64_t rs_spill_bytes_before(const rs_problem *problem, int64_t number)
{
    int64_t index[RS_MAX_NDIM], inner = 1, before = 0; /* elements */
    if (number >= problem->n_target) {
        return problem->n_elements * problem->itemsize;
    }
    for (int d = problem->ndim - 1; d >= 0; d--) {
        index[d] = number % problem->target.axis[d].n;
        number /= problem->target.axis[d].n;
    }
    for (int d = problem->ndim - 1; d >= 0; d--) { /* a mixed-radix number, as in held.h */
        rs_span span = rs_axis_span(&problem->target.axis[d], index[d]);
        before = span.lo * inner + (span.hi - span.lo) * before;
        inner *= problem->shape[d];
    }
    return before * problem->itemsize;
}

static int64_t bytes_of_blocks(const rs_problem *problem, int64_t from, int64_t to)
{
    return rs_spill_bytes_before(problem, to) - rs_spill_bytes_before(problem, from);
}

/* Exact: sizes of blocks at the border are what they are. */
static void predict(const rs_problem *problem, rs_plan *plan)
{
    const rs_spill *spill = &plan->spill;
    resplit_cost *cost = &plan->predicted;
    int64_t n = problem->n_target, resident = bytes_of_blocks(problem, 0, spill->resident), largest = resident;
    (void)rs_plan_predict(problem, plan); /* with one buffer of everything: each block once */
    cost->temp_bytes = 0;
    for (int64_t g = 0; g < spill->n_groups; g++) {
        int64_t from = spill->resident + g * spill->group;
        int64_t bytes = bytes_of_blocks(problem, from, rs_min(n, from + spill->group));
        cost->temp_bytes += bytes;
        cost->write_seeks += rs_ceil_div(bytes, spill->append_bytes);
        cost->read_seeks++;
        largest = rs_max(largest, bytes);
    }
    cost->bytes_read += cost->temp_bytes;
    cost->bytes_written += cost->temp_bytes;
    cost->held_bytes = largest;
    int64_t block = block_bytes(problem), fixed = rs_plan_fixed(problem, plan);
    int64_t first = rs_plan_charge(spill->resident * block, spill->resident)
                    + append_memory(plan, spill->n_groups, spill->append_bytes);
    int64_t second = spill->n_groups > 0 ? rs_plan_charge(spill->group * block, spill->group) : 0;
    rs_plan_set_staging(problem, plan, fixed + rs_max(first, second), 1, 0);
}

static resplit_status propose(const rs_problem *problem, rs_plan *plan, resplit_error *err)
{
    int64_t memory = plan->memory;
    plan->kind = RS_PLAN_SPILL;
    plan->n_staging = 2; /* a slice of the source, and its pieces one after the other */
    if (!divide(problem, plan, memory)) {
        plan->predicted.peak_bytes = least_memory(problem, plan);
        plan->memory = memory;
        return rs_plan_refuse(problem, plan, err);
    }
    predict(problem, plan);
    return RESPLIT_OK;
}

const rs_strategy rs_strategy_spill = {"spill", true, applies, propose};
