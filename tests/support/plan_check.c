/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_check.c - an independent proof that a plan does what it says. Walks every step and every element, with two bits
 * for each: was it read, was it written. Shares no arithmetic with cost.c: runs are counted by looking for gaps.
 */
#include "support/plan_check.h"

#include "geometry/slices.h"
#include "plan/steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct check {
    const rs_problem *problem;
    uint8_t *read, *written; /* bitmaps, elements in C order */
    int64_t held, most_held;
    int64_t read_seeks, write_seeks;
    int64_t opened, closed; /* target blocks */
} check;

/* Sets the bit; false when it was set already. */
static bool mark(uint8_t *bits, int64_t i)
{
    uint8_t bit = (uint8_t)(1U << (i & 7));
    bool fresh = (bits[i >> 3] & bit) == 0;
    bits[i >> 3] |= bit;
    return fresh;
}

static int64_t number_of(const rs_problem *problem, const int64_t *at)
{
    int64_t number = 0;
    for (int d = 0; d < problem->ndim; d++) {
        number = number * problem->shape[d] + at[d];
    }
    return number;
}

/* Where an element stands in the file of its block. */
static int64_t place_of(const rs_layout *layout, const rs_box *stored, const int64_t *at)
{
    int64_t place = 0;
    for (int i = 0; i < layout->ndim; i++) {
        int d = layout->order[i];
        place = place * (stored->hi[d] - stored->lo[d]) + (at[d] - stored->lo[d]);
    }
    return place;
}

static bool next_in_order(const rs_layout *layout, const rs_box *box, int64_t *at)
{
    for (int i = layout->ndim - 1; i >= 0; i--) {
        int d = layout->order[i];
        if (++at[d] < box->hi[d]) {
            return true;
        }
        at[d] = box->lo[d];
    }
    return false;
}

static resplit_status check_bounds(const check *c, const rs_step *step, resplit_error *err)
{
    for (int d = 0; d < c->problem->ndim; d++) {
        int64_t lo = rs_max(0, step->stored.lo[d]), hi = rs_min(c->problem->shape[d], step->stored.hi[d]);
        if (step->box.lo[d] < lo || step->box.hi[d] > hi || step->box.lo[d] > step->box.hi[d]) {
            return rs_fail(err, RESPLIT_EINTERNAL, "a step goes out of its block along axis %d: %lld:%lld in %lld:%lld",
                           d, (long long)step->box.lo[d], (long long)step->box.hi[d], (long long)lo, (long long)hi);
        }
    }
    return RESPLIT_OK;
}

/* Visits the elements of a step in the order of the file, marks them and counts runs. */
static resplit_status check_step(check *c, const rs_step *step, resplit_error *err)
{
    bool reads = step->kind == RS_STEP_READ;
    const rs_layout *layout = reads ? &c->problem->source : &c->problem->target;
    RS_TRY(check_bounds(c, step, err));
    c->opened += step->opens;
    c->closed += step->closes;
    if (rs_box_volume(c->problem->ndim, &step->box) == 0) {
        return RESPLIT_OK;
    }
    int64_t at[RS_MAX_NDIM], last = -2, elements = 0, runs = 0;
    memcpy(at, step->box.lo, sizeof at);
    do {
        int64_t number = number_of(c->problem, at), place = place_of(layout, &step->stored, at);
        if (!mark(reads ? c->read : c->written, number)) {
            return rs_fail(err, RESPLIT_EINTERNAL, "element %lld is %s twice", (long long)number,
                           reads ? "read" : "written");
        }
        if (!reads && (c->read[number >> 3] >> (number & 7) & 1) == 0) {
            return rs_fail(err, RESPLIT_EINTERNAL, "element %lld is written before it is read", (long long)number);
        }
        runs += layout->in_memory ? 0 : layout->atomic ? elements == 0 : place != last + 1;
        last = place;
        elements++;
    } while (next_in_order(layout, &step->box, at));
    c->held += reads ? elements : -elements;
    c->most_held = rs_max(c->most_held, c->held);
    *(reads ? &c->read_seeks : &c->write_seeks) += runs;
    return RESPLIT_OK;
}

static resplit_status compare(const char *what, int64_t found, int64_t said, resplit_error *err)
{
    if (found == said) {
        return RESPLIT_OK;
    }
    return rs_fail(err, RESPLIT_EINTERNAL, "%s: the plan says %lld, its steps give %lld", what, (long long)said,
                   (long long)found);
}

/* Target blocks that begin in what is seen of them. */
static int64_t count_opened(const rs_problem *problem)
{
    int64_t n = 1;
    for (int d = 0; d < problem->ndim; d++) {
        n *= problem->target.axis[d].n - (problem->target.axis[d].first < 0);
    }
    return n;
}

static resplit_status check_totals(const check *c, const rs_plan *plan, resplit_error *err)
{
    int64_t read = 0, written = 0, n = c->problem->n_elements;
    for (int64_t i = 0; i < n; i++) {
        read += c->read[i >> 3] >> (i & 7) & 1;
        written += c->written[i >> 3] >> (i & 7) & 1;
    }
    RS_TRY(compare("elements read", read, n, err));
    RS_TRY(compare("elements written", written, n, err));
    RS_TRY(compare("blocks opened", c->opened, count_opened(c->problem), err));
    RS_TRY(compare("blocks closed", c->closed, c->problem->n_target, err));
    if (plan->kind == RS_PLAN_BUFFERS) { /* a copy holds no more than its staging */
        RS_TRY(compare("bytes held", c->most_held * c->problem->itemsize, plan->predicted.held_bytes, err));
    }
    RS_TRY(compare("read seeks", c->read_seeks, plan->predicted.read_seeks, err));
    RS_TRY(compare("write seeks", c->write_seeks, plan->predicted.write_seeks, err));
    if (plan->predicted.held_bytes > plan->predicted.peak_bytes || plan->predicted.peak_bytes > plan->memory) {
        return rs_fail(err, RESPLIT_EINTERNAL, "held %lld, peak %lld and budget %lld bytes are out of order",
                       (long long)plan->predicted.held_bytes, (long long)plan->predicted.peak_bytes,
                       (long long)plan->memory);
    }
    return RESPLIT_OK;
}

/* Groups that a slice of the source has something of, counted block by block. */
static int64_t count_groups(const rs_problem *problem, const rs_plan *plan, const rs_box *slice)
{
    int64_t lo[RS_MAX_NDIM] = {0}, hi[RS_MAX_NDIM] = {0}, index[RS_MAX_NDIM], n = 0, last = -1;
    rs_layout_range(&problem->target, slice, lo, hi);
    memcpy(index, lo, sizeof index);
    do {
        int64_t number = rs_layout_block_number(&problem->target, index), g = -1;
        if (number >= plan->spill.resident) {
            g = (number - plan->spill.resident) / plan->spill.group;
        }
        n += g > last;
        last = rs_max(last, g);
    } while (rs_index_next(problem->ndim, lo, hi, index));
    return n;
}

/* The source is read once and every target block written once, in the order of their numbers; what is not resident goes
   through the temporary file, and comes back in the same stretches. */
static resplit_status check_spill(const rs_problem *problem, const rs_plan *plan, resplit_error *err)
{
    int64_t temp = 0, stretches = 0, most = 0, written = 0, read = 0, wrong = 0, opened = 0;
    rs_steps steps;
    rs_step step;
    rs_steps_init(&steps, problem, plan);
    while (rs_steps_next(&steps, &step)) {
        int64_t volume = rs_box_volume(problem->ndim, &step.box),
                number = rs_layout_block_number(&problem->target, step.block);
        if (step.kind == RS_STEP_WRITE) {
            wrong += number != written++ || !step.closes;
            opened += step.opens;
            temp += number >= plan->spill.resident ? volume * problem->itemsize : 0;
        } else if (step.group < 0) {
            rs_slices slices;
            rs_box slice, wanted;
            read += volume;
            rs_slices_init(&slices, problem->ndim, problem->source.order,
                           problem->source.atomic ? &step.stored : &step.box, rs_plan_slice_items(problem, plan));
            while (rs_slices_next(&slices, &slice)) {
                int64_t n = rs_box_intersect(problem->ndim, &slice, &step.box, &wanted)
                                ? count_groups(problem, plan, &wanted)
                                : 0;
                stretches += n;
                most = rs_max(most, n);
            }
        }
    }
    RS_TRY(compare("blocks out of order", wrong, 0, err));
    RS_TRY(compare("blocks opened", opened, count_opened(problem), err));
    RS_TRY(compare("blocks written", written, problem->n_target, err));
    RS_TRY(compare("elements read", read, problem->n_elements, err));
    RS_TRY(compare("temporary bytes", temp, plan->predicted.temp_bytes, err));
    RS_TRY(compare("stretches of a slice", most, plan->spill.most_left, err));
    return compare("stretches", stretches, plan->spill.n_stretches, err);
}

resplit_status plan_check(const rs_problem *problem, const rs_plan *plan, resplit_error *err)
{
    if (plan->kind == RS_PLAN_SPILL) {
        return check_spill(problem, plan, err);
    }
    size_t bytes = (size_t)problem->n_elements / 8 + 1;
    check c = {.problem = problem, .read = calloc(1, bytes), .written = calloc(1, bytes)};
    resplit_status rc = RESPLIT_OK;
    rs_steps steps;
    rs_step step;
    if (c.read == NULL || c.written == NULL) {
        rc = rs_fail_errno(err, ENOMEM, "cannot allocate %zu bytes to check a plan", 2 * bytes);
        goto out;
    }
    rs_steps_init(&steps, problem, plan);
    while (rc == RESPLIT_OK && rs_steps_next(&steps, &step)) {
        rc = check_step(&c, &step, err);
    }
    if (rc == RESPLIT_OK) {
        rc = check_totals(&c, plan, err);
    }
out:
    free(c.read);
    free(c.written);
    return rc;
}
