/* SPDX-License-Identifier: BSD-3-Clause */
/* steps.c - a plan unrolled. Keeps no list: position and block ranges follow from the buffer's index. */
#include "plan/steps.h"

#include <string.h>

static bool is_kept(const rs_plan *plan, int d)
{
    return (plan->kept >> d & 1) != 0;
}

static void set_buffer(rs_steps *steps)
{
    for (int d = 0; d < steps->plan->ndim; d++) {
        rs_span span = rs_axis_span(&steps->plan->buffer[d], steps->at[d]);
        steps->buffer.lo[d] = span.lo;
        steps->buffer.hi[d] = span.hi;
    }
}

static bool next_buffer(rs_steps *steps)
{
    for (int i = steps->plan->ndim - 1; i >= 0; i--) {
        int d = steps->plan->loop[i];
        if (++steps->at[d] < steps->plan->buffer[d].n) {
            set_buffer(steps);
            return true;
        }
        steps->at[d] = 0;
    }
    return false;
}

static void start_reading(rs_steps *steps)
{
    steps->phase = RS_STEPS_READING;
    rs_layout_range(&steps->problem->source, &steps->buffer, steps->lo, steps->hi);
    memcpy(steps->index, steps->lo, sizeof steps->index);
}

/* Target blocks that are complete along every kept axis once this buffer has been read. False: there are none. */
static bool start_writing(rs_steps *steps)
{
    steps->phase = RS_STEPS_WRITING;
    rs_layout_range(&steps->problem->target, &steps->buffer, steps->lo, steps->hi);
    for (int d = 0; d < steps->plan->ndim; d++) {
        const rs_axis *target = &steps->problem->target.axis[d];
        if (is_kept(steps->plan, d) && steps->buffer.hi[d] < target->extent) {
            steps->hi[d] = rs_axis_find(target, steps->buffer.hi[d]);
        }
        if (steps->lo[d] >= steps->hi[d]) {
            return false;
        }
    }
    memcpy(steps->index, steps->lo, sizeof steps->index);
    return true;
}

void rs_steps_init(rs_steps *steps, const rs_problem *problem, const rs_plan *plan)
{
    memset(steps, 0, sizeof *steps);
    steps->problem = problem;
    steps->plan = plan;
    steps->group = -1;
    set_buffer(steps);
}

rs_box rs_unit_in(const rs_problem *problem, const rs_plan *plan, const rs_box *buffer, const int64_t *index)
{
    rs_box unit = rs_layout_box(&problem->target, index);
    for (int d = 0; d < plan->ndim; d++) {
        if (!is_kept(plan, d)) {
            unit.lo[d] = rs_max(unit.lo[d], buffer->lo[d]);
            unit.hi[d] = rs_min(unit.hi[d], buffer->hi[d]);
        }
    }
    return unit;
}

rs_box rs_steps_unit(const rs_steps *steps, const int64_t *index)
{
    return rs_unit_in(steps->problem, steps->plan, &steps->buffer, index);
}

rs_time rs_steps_time(const rs_steps *steps, const int64_t *index, const rs_box *unit)
{
    int64_t buffer = 0;
    for (int i = 0; i < steps->plan->ndim; i++) {
        int d = steps->plan->loop[i];
        const rs_axis *axis = &steps->plan->buffer[d];
        /* complete when its last element along every kept axis has been read */
        bool waits = is_kept(steps->plan, d) && unit->hi[d] > unit->lo[d];
        buffer = buffer * axis->n + (waits ? rs_axis_find(axis, unit->hi[d] - 1) : steps->at[d]);
    }
    return (rs_time){buffer, rs_layout_block_number(&steps->problem->target, index)};
}

static void make_read(const rs_steps *steps, rs_step *out)
{
    rs_box seen = rs_layout_box(&steps->problem->source, steps->index);
    out->kind = RS_STEP_READ;
    out->stored = rs_layout_stored(&steps->problem->source, steps->index);
    (void)rs_box_intersect(steps->plan->ndim, &seen, &steps->buffer, &out->box);
    out->opens = out->closes = false;
}

static void make_write(const rs_steps *steps, rs_step *out)
{
    out->kind = RS_STEP_WRITE;
    out->stored = rs_layout_stored(&steps->problem->target, steps->index);
    out->box = rs_steps_unit(steps, steps->index);
    /* Units of a block become complete in loop order, so the one with its first corner is the first of them, and the
       one with its last corner the last. A partition may begin inside a block: another one opens that. */
    rs_box seen = rs_layout_box(&steps->problem->target, steps->index);
    out->opens = out->closes = true;
    for (int d = 0; d < steps->plan->ndim; d++) {
        out->opens = out->opens && out->box.lo[d] == out->stored.lo[d];
        out->closes = out->closes && out->box.hi[d] == seen.hi[d];
    }
}

static bool next_block(rs_steps *steps)
{
    return rs_index_next(steps->plan->ndim, steps->lo, steps->hi, steps->index);
}

/* ---- Spill ------------------------------------------------------------------------------------- */

static void index_of(const rs_layout *layout, int64_t number, int64_t *index)
{
    for (int d = layout->ndim - 1; d >= 0; d--) {
        index[d] = number % layout->axis[d].n;
        number /= layout->axis[d].n;
    }
}

/* The target blocks that are written in this round: from, and behind the last. */
static rs_span round_of(const rs_steps *steps)
{
    const rs_spill *spill = &steps->plan->spill;
    int64_t from = spill->resident + steps->group * spill->group;
    return steps->group < 0 ? (rs_span){0, spill->resident}
                            : (rs_span){from, rs_min(steps->problem->n_target, from + spill->group)};
}

rs_box rs_steps_round(const rs_steps *steps)
{
    const rs_problem *problem = steps->problem;
    rs_span blocks = round_of(steps);
    int64_t first[RS_MAX_NDIM], last[RS_MAX_NDIM];
    bool apart = false; /* along a slower axis: then whole faster axes lie between */
    index_of(&problem->target, blocks.lo, first);
    index_of(&problem->target, blocks.hi - 1, last);
    rs_box a = rs_layout_box(&problem->target, first), b = rs_layout_box(&problem->target, last);
    for (int d = 0; d < problem->ndim; d++) {
        if (apart) {
            a.lo[d] = 0;
            b.hi[d] = problem->shape[d];
        }
        apart = apart || a.lo[d] != b.lo[d];
    }
    memcpy(a.hi, b.hi, sizeof a.hi);
    return a;
}

static void start_round(rs_steps *steps)
{
    rs_box all = steps->group >= 0 ? rs_steps_round(steps) : steps->buffer;
    steps->phase = RS_STEPS_READING;
    rs_layout_range(&steps->problem->source, &all, steps->lo, steps->hi);
    memcpy(steps->index, steps->lo, sizeof steps->index);
}

/* The next block of a round that is written. */
static bool next_of_round(rs_steps *steps, bool first)
{
    rs_span blocks = round_of(steps);
    int64_t number = first ? blocks.lo : rs_layout_block_number(&steps->problem->target, steps->index) + 1;
    steps->phase = RS_STEPS_WRITING;
    if (number >= blocks.hi) {
        return false;
    }
    index_of(&steps->problem->target, number, steps->index);
    return true;
}

static bool next_of_spill(rs_steps *steps)
{
    if (steps->phase == RS_STEPS_START) {
        start_round(steps);
        return true;
    }
    bool reading = steps->phase == RS_STEPS_READING;
    if ((reading && next_block(steps)) || next_of_round(steps, reading)) {
        return true;
    }
    if (++steps->group == steps->plan->spill.n_groups) {
        steps->phase = RS_STEPS_DONE;
        return false;
    }
    start_round(steps);
    return true;
}

static bool next_of_buffers(rs_steps *steps)
{
    bool more = steps->phase != RS_STEPS_START
                && (next_block(steps) || (steps->phase == RS_STEPS_READING && start_writing(steps)));
    if (more) {
        return true;
    }
    if (steps->phase != RS_STEPS_START && !next_buffer(steps)) {
        steps->phase = RS_STEPS_DONE;
        return false;
    }
    start_reading(steps);
    return true;
}

bool rs_steps_next(rs_steps *steps, rs_step *out)
{
    bool spills = steps->plan->kind == RS_PLAN_SPILL;
    if (steps->phase == RS_STEPS_DONE || !(spills ? next_of_spill(steps) : next_of_buffers(steps))) {
        return false;
    }
    bool reads = steps->phase == RS_STEPS_READING;
    const int64_t *first = reads ? steps->problem->source_index : steps->problem->target_index;
    memcpy(out->block, steps->index, sizeof out->block);
    for (int d = 0; d < RS_MAX_NDIM; d++) {
        out->index[d] = steps->index[d] + first[d];
    }
    out->group = steps->group;
    if (reads) {
        make_read(steps, out);
    } else {
        make_write(steps, out);
    }
    return true;
}
