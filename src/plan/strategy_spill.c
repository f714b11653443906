/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * strategy_spill.c - the source once, in order, through a temporary file where memory is short.
 *
 * While the source is read, some target blocks are resident in memory; what belongs to others goes to the temporary
 * file, slice by slice of the source, each group of blocks to its own part of the file. Then each group is read back,
 * and its blocks are written whole. As in a hybrid hash join, only what does not fit goes to disk twice: with a share s
 * of the target resident, 2 + 2 (1 - s) times the array is moved, however the two grids lie.
 *
 *     pass 1: resident blocks     + staging     <= memory
 *     pass 2: blocks of a group   + staging     <= memory, and room for the next group while one is written, where there is
 *
 * spill-lz4 is the same, but stretches are packed: less for the disk, more for the processors. Where they are is then
 * known only when they are written, and noted in a table.
 */
#include "geometry/slices.h"
#include "plan/plan.h"

#include <string.h>

enum { MOST_GROUPS = 256 }; /* that sheaves are noted for */

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

int64_t rs_spill_table_bytes(const rs_problem *problem, const rs_plan *plan)
{
    int64_t n, bytes;
    if (!plan->spill.packed) {
        return 0;
    }
    return rs_mul(problem->n_source, plan->spill.n_groups, &n) && rs_mul(n, RS_STRETCH_BYTES, &bytes) ? bytes
                                                                                                      : INT64_MAX / 4;
}

/* What the first worker's fellows need, of whom there are as many as do no harm: all memory could be filled with
   blocks, but one alone is slow. */
static int64_t room_for_others(const rs_problem *problem, const rs_plan *plan, int64_t memory, int64_t room)
{
    int64_t block = block_bytes(problem);
    for (int n = plan->thrifty ? 0 : RS_GOOD_WORKERS - 1; n > 0; n--) {
        int64_t bytes = rs_plan_workers(problem, plan, n);
        if (bytes <= memory / 4 && blocks_in(room - bytes, block, problem->n_target) > 0) {
            return bytes;
        }
    }
    return 0;
}

int64_t rs_spill_area_bytes(const rs_problem *problem, const rs_plan *plan)
{
    int64_t slice = rs_layout_longest(&problem->source) * problem->itemsize;
    int64_t all = rs_mul_most(rs_max(1, plan->spill.sheaf), slice + slice / 16);
    return problem->source.coding.staging > 0 ? rs_add_most(all, RS_SHEAF_BYTES + RS_DIRECT_EXTRA) : 0;
}

/* Half of the memory for a group, if it has room for a block; all for residents. False: there is not enough memory. */
static bool share_out(const rs_problem *problem, rs_plan *plan, int64_t memory)
{
    int64_t block = block_bytes(problem), n = problem->n_target;
    int64_t room = memory - rs_plan_fixed(problem, plan);
    rs_spill *spill = &plan->spill;
    room -= room_for_others(problem, plan, memory, room);
    spill->resident = blocks_in(room, block, n);
    spill->group = rs_max(blocks_in(room / 2, block, n), rs_min(1, spill->resident));
    if (spill->group == 0) {
        return false;
    }
    spill->n_groups = rs_ceil_div(n - spill->resident, spill->group);
    return true;
}

/* The same beside the table: more groups need a longer one. */
static bool divide(const rs_problem *problem, rs_plan *plan, int64_t memory)
{
    int64_t table = -1, needed = 0;
    while (needed > table) {
        table = needed;
        if (!share_out(problem, plan, memory - table)) {
            return false;
        }
        needed = rs_spill_table_bytes(problem, plan);
    }
    return true;
}

/* As many slices as take no more than a sixteenth of the memory from the resident blocks; packed stretches have no
   places that follow one another. */
static int choose_sheaf(const rs_problem *problem, rs_plan *plan)
{
    int chosen = 1;
    bool decoded = problem->source.coding.staging > 0 && !plan->spill.packed && !plan->thrifty;
    plan->spill.sheaf = 1;
    int64_t single = rs_plan_workers(problem, plan, RS_GOOD_WORKERS - 1);
    for (int n = 2; decoded && n <= RS_MOST_SHEAF; n++) {
        plan->spill.sheaf = n;
        bool fits = rs_plan_workers(problem, plan, RS_GOOD_WORKERS - 1) - single <= plan->memory / 16;
        chosen = fits ? n : chosen;
    }
    return chosen;
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

int64_t rs_spill_group(const rs_plan *plan, int64_t number)
{
    const rs_spill *spill = &plan->spill;
    return number < spill->resident ? -1 : (number - spill->resident) / spill->group;
}

int64_t rs_spill_end_of(const rs_plan *plan, int64_t group)
{
    return plan->spill.resident + (group + 1) * plan->spill.group;
}

/* Groups that a slice has something of. Numbers grow along it, so a group that was left does not come again. */
static int64_t groups_of(const rs_problem *problem, const rs_plan *plan, const rs_box *slice)
{
    int64_t lo[RS_MAX_NDIM] = {0}, hi[RS_MAX_NDIM] = {0}, index[RS_MAX_NDIM], n = 0, last = -1;
    int inner = problem->ndim - 1; /* a row of blocks at a time */
    rs_layout_range(&problem->target, slice, lo, hi);
    int64_t row = inner >= 0 ? hi[inner] - lo[inner] : 1;
    memcpy(index, lo, sizeof index);
    if (inner >= 0) {
        hi[inner] = lo[inner] + 1;
    }
    do {
        int64_t number = rs_layout_block_number(&problem->target, index);
        int64_t from = rs_max(last + 1, rs_spill_group(plan, number)), to = rs_spill_group(plan, number + row - 1);
        n += rs_max(0, to - rs_max(0, from) + 1);
        last = rs_max(last, to);
    } while (rs_index_next(problem->ndim, lo, hi, index));
    return n;
}

static void count_stretches(const rs_problem *problem, rs_plan *plan)
{
    const rs_layout *source = &problem->source;
    int64_t lo[RS_MAX_NDIM] = {0}, hi[RS_MAX_NDIM] = {0}, index[RS_MAX_NDIM] = {0};
    rs_spill *spill = &plan->spill;
    spill->n_slices = spill->n_stretches = spill->most_left = 0;
    for (int d = 0; d < problem->ndim; d++) {
        hi[d] = source->axis[d].n;
    }
    do {
        rs_slices slices;
        rs_box slice, wanted, seen = rs_layout_box(source, index), stored = rs_layout_stored(source, index);
        rs_slices_init(&slices, problem->ndim, source->order, source->atomic ? &stored : &seen,
                       rs_plan_slice_items(problem, plan));
        while (rs_slices_next(&slices, &slice)) {
            spill->n_slices++;
            if (rs_box_intersect(problem->ndim, &slice, &seen, &wanted)) {
                int64_t n = groups_of(problem, plan, &wanted);
                spill->n_stretches += n;
                spill->most_left = rs_max(spill->most_left, n);
            }
        }
    } while (rs_index_next(problem->ndim, lo, hi, index));
}

/* Exact: sizes of blocks at the border are what they are. */
static void predict(const rs_problem *problem, rs_plan *plan)
{
    rs_spill *spill = &plan->spill;
    resplit_cost *cost = &plan->predicted;
    int64_t n = problem->n_target, resident = bytes_of_blocks(problem, 0, spill->resident), largest = resident;
    int64_t block = block_bytes(problem), fixed = rs_plan_fixed(problem, plan);
    (void)rs_plan_predict(problem, plan); /* with one buffer of everything: each block once */
    for (int64_t g = 0; g < spill->n_groups; g++) {
        int64_t from = spill->resident + g * spill->group;
        largest = rs_max(largest, bytes_of_blocks(problem, from, rs_min(n, from + spill->group)));
    }
    int64_t waiting = rs_max(spill->resident, spill->n_groups > 0 ? spill->group : 0);
    plan->whole_units = true;
    plan->n_pieces = waiting;
    cost->held_bytes = largest;
    rs_plan_set_staging(problem, plan,
                        fixed + rs_spill_table_bytes(problem, plan) + rs_plan_charge(waiting * block, waiting),
                        RS_MOST_AHEAD);
    if (spill->n_groups > 0) {
        count_stretches(problem, plan);
    }
    cost->temp_bytes = bytes_of_blocks(problem, spill->resident, n);
    cost->bytes_read += cost->temp_bytes;
    cost->bytes_written += cost->temp_bytes;
    cost->read_seeks += spill->n_stretches;
    cost->write_seeks += spill->n_stretches;
}

static resplit_status make(const rs_problem *problem, bool packed, rs_plan *plan, resplit_error *err)
{
    int64_t memory = plan->memory;
    plan->kind = RS_PLAN_SPILL;
    plan->spill.packed = packed;
    plan->n_staging =
        packed ? 3 : 2; /* a slice of the source, what of it goes to the temporary file, and that packed */
    plan->kept = (UINT32_C(1) << plan->ndim) - 1;
    plan->spill.sheaf = choose_sheaf(problem, plan);
    if (!divide(problem, plan, memory) || plan->spill.n_groups > MOST_GROUPS) { /* of which each slice has a list */
        plan->spill.sheaf = 1;
    }
    if (!divide(problem, plan, memory)) {
        plan->predicted.peak_bytes = least_memory(problem, plan);
        plan->memory = memory;
        return rs_plan_refuse(problem, plan, err);
    }
    predict(problem, plan);
    return RESPLIT_OK;
}

static resplit_status propose(const rs_problem *problem, rs_plan *plan, resplit_error *err)
{
    return make(problem, false, plan, err);
}

/* Blocks that are decoded whole are slices that have a number, and have shown that they can be packed. */
static bool packs(const rs_problem *problem)
{
    return applies(problem) && problem->source.coding.staging > 0 && problem->source.coding.packer > 0;
}

static resplit_status propose_packed(const rs_problem *problem, rs_plan *plan, resplit_error *err)
{
    return make(problem, true, plan, err);
}

const rs_strategy rs_strategy_spill = {"spill", true, "several target blocks", applies, propose};
const rs_strategy rs_strategy_spill_lz4 = {
    "spill-lz4", true, "several target blocks, from a source whose blocks are compressed", packs, propose_packed};
