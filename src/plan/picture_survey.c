/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * picture_survey.c - the numbers of a picture. Counted by walking the steps, as a run would; a plan with too many of
 * them is looked at axis by axis, and memory buffer by buffer.
 */
#include "plan/picture_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LOOKS_PER_BIN = 4000 };

bool rs_is_kept(const rs_plan *plan, int d)
{
    return d >= 0 && (plan->kept >> d & 1) != 0;
}

int64_t rs_buffer_number(const rs_plan *plan, const int64_t *at)
{
    int64_t number = 0;
    for (int i = 0; i < plan->ndim; i++) {
        number = number * plan->buffer[plan->loop[i]].n + at[plan->loop[i]];
    }
    return number;
}

static void set_buffer(const rs_plan *plan, int64_t number, int64_t *at)
{
    for (int i = plan->ndim - 1; i >= 0; i--) {
        int d = plan->loop[i];
        at[d] = number % plan->buffer[d].n;
        number /= plan->buffer[d].n;
    }
}

/* First buffer of bin b: n * b / bins, without overflow. */
static int64_t bin_start(const rs_survey *survey, int b)
{
    int64_t n = survey->n_buffers, bins = survey->n_bins;
    return n / bins * b + n % bins * b / bins;
}

/* The bin of a buffer: the last that starts at or before it. */
static int bin_of(const rs_survey *survey, int64_t number)
{
    int lo = 0, hi = survey->n_bins;
    while (hi - lo > 1) {
        int mid = lo + (hi - lo) / 2;
        if (bin_start(survey, mid) <= number) {
            lo = mid;
        } else {
            hi = mid;
        }
    }
    return lo;
}

static void note_before(rs_survey *survey, int bin, int64_t number, int64_t held)
{
    survey->before[bin] = rs_max(survey->before[bin], held);
    if (held > survey->fullest.held) {
        survey->fullest.held = held;
        survey->fullest.buffer = number;
    }
}

static void note_after(rs_survey *survey, int bin, int64_t number, int64_t held)
{
    survey->after[bin] = rs_max(survey->after[bin], held);
    if (held > survey->waiting.held) {
        survey->waiting.held = held;
        survey->waiting.buffer = number;
    }
}

/* ---- By walking ---- */

static resplit_status walk(const rs_problem *problem, const rs_plan *plan, rs_survey *survey, resplit_error *err)
{
    const rs_layout *layouts[2] = {&problem->source, &problem->target};
    const int64_t n_blocks[2] = {problem->n_source, problem->n_target};
    int64_t held = 0, items, last = 0;
    rs_steps steps;
    rs_step step;
    for (int side = 0; side < 2; side++) {
        survey->seeks[side] = calloc((size_t)n_blocks[side], sizeof *survey->seeks[side]);
        if (survey->seeks[side] == NULL) {
            return rs_fail_errno(err, ENOMEM, "cannot allocate %lld numbers for a picture", (long long)n_blocks[side]);
        }
    }
    rs_steps_init(&steps, problem, plan);
    while (rs_steps_next(&steps, &step)) {
        int64_t number = rs_buffer_number(plan, steps.at), volume = rs_box_volume(problem->ndim, &step.box);
        const rs_layout *layout = layouts[step.kind == RS_STEP_WRITE];
        int64_t runs = rs_box_runs(problem->ndim, layout->order, &step.stored, &step.box, &items);
        survey->seeks[step.kind == RS_STEP_WRITE][rs_layout_block_number(layout, step.block)] += layout->in_memory ? 0
                                                                                                 : layout->atomic
                                                                                                     ? 1
                                                                                                     : runs;
        if (number != last) {
            note_after(survey, bin_of(survey, last), last, held);
            last = number;
        }
        held += step.kind == RS_STEP_READ ? volume : -volume;
        note_before(survey, bin_of(survey, number), number, held);
    }
    survey->complete = survey->walked = true;
    return RESPLIT_OK;
}

/* ---- By looking at the axes ---- */

/* held(t) = READ - DONE of held.h, before and after the writes of t. */
static void held_at(const rs_problem *problem, const rs_plan *plan, const int64_t *at, int64_t *before, int64_t *after)
{
    int64_t read = 1, done = 0, done_after = 1, inner = 1;
    for (int i = plan->ndim - 1; i >= 0; i--) {
        int d = plan->loop[i];
        rs_span span = rs_axis_span(&plan->buffer[d], at[d]), ends = span;
        if (rs_is_kept(plan, d)) {
            ends.lo = rs_axis_floor(&problem->target.axis[d], span.lo);
            ends.hi = rs_axis_floor(&problem->target.axis[d], span.hi);
        }
        read = span.lo * inner + (span.hi - span.lo) * read;
        done = ends.lo * inner + (ends.hi - ends.lo) * done;
        done_after = ends.lo * inner + (ends.hi - ends.lo) * done_after;
        inner *= problem->shape[d];
    }
    *before = read - done;
    *after = read - done_after;
}

static void look(const rs_problem *problem, const rs_plan *plan, rs_survey *survey)
{
    survey->complete = true;
    for (int b = 0; b < survey->n_bins; b++) {
        int64_t from = bin_start(survey, b), to = bin_start(survey, b + 1);
        int64_t step = rs_max(1, rs_ceil_div(to - from, LOOKS_PER_BIN));
        survey->complete = survey->complete && step == 1;
        for (int64_t t = from; t < to; t += step) {
            int64_t at[RS_MAX_NDIM], before, after;
            set_buffer(plan, t, at);
            held_at(problem, plan, at, &before, &after);
            note_before(survey, b, t, before);
            note_after(survey, b, t, after);
        }
    }
}

static int64_t count_steps(const rs_problem *problem, const rs_plan *plan)
{
    int64_t reads = 1, writes = 1;
    for (int d = 0; d < problem->ndim; d++) {
        rs_pieces read = rs_pieces_count(&problem->source.axis[d], &plan->buffer[d]);
        rs_pieces write = rs_pieces_count(&problem->target.axis[d], rs_is_kept(plan, d) ? NULL : &plan->buffer[d]);
        if (!rs_mul(reads, read.full + read.part, &reads) || !rs_mul(writes, write.full + write.part, &writes)) {
            return INT64_MAX;
        }
    }
    return rs_add(reads, writes, &reads) ? reads : INT64_MAX;
}

resplit_status rs_survey_make(const rs_problem *problem, const rs_plan *plan, rs_survey *out, resplit_error *err)
{
    memset(out, 0, sizeof *out);
    out->n_buffers = 1;
    for (int d = 0; d < plan->ndim; d++) {
        out->n_buffers *= plan->buffer[d].n;
    }
    out->n_bins = (int)rs_min(out->n_buffers, RS_BINS_MOST);
    out->n_steps = count_steps(problem, plan);
    if (out->n_steps <= RS_WALK_MOST) {
        RS_TRY(walk(problem, plan, out, err));
    } else {
        look(problem, plan, out);
    }
    set_buffer(plan, out->fullest.buffer, out->fullest.at);
    set_buffer(plan, out->waiting.buffer, out->waiting.at);
    return RESPLIT_OK;
}

void rs_survey_release(rs_survey *survey)
{
    free(survey->seeks[0]);
    free(survey->seeks[1]);
}

int64_t rs_survey_seeks(const rs_survey *survey, const rs_problem *problem, const rs_plan *plan, rs_step_kind side,
                        const int64_t *index)
{
    bool writes = side == RS_STEP_WRITE;
    const rs_layout *layout = writes ? &problem->target : &problem->source;
    if (survey->walked) {
        return survey->seeks[writes][rs_layout_block_number(layout, index)];
    }
    rs_layout block = *layout; /* cut down to the one */
    rs_pieces pieces[RS_MAX_NDIM];
    memset(pieces, 0, sizeof pieces);
    for (int d = 0; d < problem->ndim; d++) {
        rs_span seen = rs_axis_span(&block.axis[d], index[d]), stored = rs_axis_stored(&block.axis[d], index[d]);
        bool cut = !writes || !rs_is_kept(plan, d);
        int64_t n = cut ? rs_axis_find(&plan->buffer[d], seen.hi - 1) - rs_axis_find(&plan->buffer[d], seen.lo) + 1 : 1;
        bool full = n == 1 && seen.lo == stored.lo && seen.hi == stored.hi;
        pieces[d].full = full;
        pieces[d].part = full ? 0 : n;
        block.axis[d].extent = seen.hi - seen.lo;
    }
    return rs_pieces_runs(&block, pieces);
}

/* Below, at or above 0: buffer a is visited before, at or after b. */
static int compare(const rs_plan *plan, const int64_t *a, const int64_t *b)
{
    for (int i = 0; i < plan->ndim; i++) {
        int d = plan->loop[i];
        if (a[d] != b[d]) {
            return a[d] < b[d] ? -1 : 1;
        }
    }
    return 0;
}

rs_state rs_moment_state(const rs_moment *moment, const rs_problem *problem, const rs_plan *plan, const int64_t *at)
{
    int64_t buffer[RS_MAX_NDIM], last[RS_MAX_NDIM]; /* of its unit */
    for (int d = 0; d < plan->ndim; d++) {
        const rs_axis *target = &problem->target.axis[d];
        buffer[d] = last[d] = rs_axis_find(&plan->buffer[d], at[d]);
        if (rs_is_kept(plan, d)) {
            last[d] = rs_axis_find(&plan->buffer[d], rs_axis_span(target, rs_axis_find(target, at[d])).hi - 1);
        }
    }
    int read = compare(plan, buffer, moment->at), ended = compare(plan, last, moment->at);
    if (read > 0) {
        return RS_UNREAD;
    }
    if (ended <= 0) {
        return ended < 0 ? RS_WRITTEN : RS_COMPLETE;
    }
    return read == 0 ? RS_WAITS_NEW : RS_WAITS_OLD;
}
