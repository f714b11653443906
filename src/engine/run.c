/* SPDX-License-Identifier: BSD-3-Clause */
/* run.c - the loop over steps. */
#include "engine/run.h"

#include "geometry/slices.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t staging_items(const rs_run *run)
{
    return run->plan->staging_bytes / run->problem->itemsize;
}

/* A unit is known by its first element. */
static int64_t unit_key(const rs_problem *problem, const rs_box *unit)
{
    int64_t key = 0;
    for (int d = 0; d < problem->ndim; d++) {
        key = key * problem->shape[d] + unit->lo[d];
    }
    return key;
}

/* ---- Reading ------------------------------------------------------------------------------- */

/* Copies the elements of `box` that staging holds in `slice` into the unit of target block `index`. */
static resplit_status scatter_to(rs_run *run, const rs_steps *steps, const int64_t *index, const rs_view *slice,
                                 const rs_box *box, resplit_error *err)
{
    int ndim = run->problem->ndim;
    rs_box unit = rs_steps_unit(steps, index), piece = unit, common;
    if (!rs_box_intersect(ndim, &unit, box, &common)) {
        return RESPLIT_OK;
    }
    if (!run->plan->whole_units) {
        (void)rs_box_intersect(ndim, &unit, &steps->buffer, &piece);
    }
    const rs_view *place;
    RS_TRY(rs_pending_place(&run->pending, unit_key(run->problem, &unit), &piece, &place, err));
    rs_view_copy(ndim, run->problem->itemsize, &common, place, slice);
    return RESPLIT_OK;
}

/* Staging holds `slice` of a source block; `wanted` is what this step is about. */
static resplit_status scatter(rs_run *run, const rs_steps *steps, const rs_box *slice, const rs_box *wanted,
                              resplit_error *err)
{
    const rs_problem *problem = run->problem;
    rs_view view = rs_view_of(problem->ndim, problem->source.order, slice, problem->itemsize, run->staging[0]);
    int64_t lo[RS_MAX_NDIM], hi[RS_MAX_NDIM], index[RS_MAX_NDIM];
    rs_box box;
    if (!rs_box_intersect(problem->ndim, slice, wanted, &box)) {
        return RESPLIT_OK;
    }
    rs_layout_range(&problem->target, &box, lo, hi);
    memcpy(index, lo, sizeof index);
    do {
        RS_TRY(scatter_to(run, steps, index, &view, &box, err));
    } while (rs_index_next(problem->ndim, lo, hi, index));
    return RESPLIT_OK;
}

resplit_status rs_run_open_source(rs_run *run, const rs_step *step, rs_block_file *file, resplit_error *err)
{
    int64_t index[RS_MAX_NDIM] = {0};
    for (int d = 0; d < run->problem->ndim; d++) {
        index[d] = step->block[d] + run->problem->source_index[d];
    }
    RS_TRY(rs_files_get(&run->sources, index, false, file, err));
    file->layout = &run->problem->source;
    file->stored = &step->stored;
    run->cursor = (rs_cursor){.next = -1};
    return RESPLIT_OK;
}

static resplit_status read_step(rs_run *run, const rs_steps *steps, const rs_step *step, resplit_error *err)
{
    const rs_problem *problem = run->problem;
    int64_t volume = rs_box_volume(problem->ndim, &step->box);
    if (volume == 0) {
        return RESPLIT_OK;
    }
    rs_block_file file;
    RS_TRY(rs_run_open_source(run, step, &file, err));
    const rs_box *access = problem->source.atomic ? &step->stored : &step->box;
    rs_slices slices;
    rs_box slice;
    rs_slices_init(&slices, problem->ndim, problem->source.order, access, staging_items(run));
    while (rs_slices_next(&slices, &slice)) {
        RS_TRY(rs_file_read_box(&file, &slice, run->staging[0], &run->cursor, err));
        RS_TRY(scatter(run, steps, &slice, &step->box, err));
    }
    run->actual.read_seeks += run->cursor.seeks;
    run->actual.bytes_read += run->cursor.bytes;
    run->held += volume * problem->itemsize;
    run->actual.held_bytes = rs_max(run->actual.held_bytes, run->held);
    return RESPLIT_OK;
}

/* ---- Writing ------------------------------------------------------------------------------- */

static void gather(rs_run *run, const rs_unit *unit, const rs_box *box)
{
    const rs_problem *problem = run->problem;
    rs_view slice = rs_view_of(problem->ndim, problem->target.order, box, problem->itemsize, run->staging[0]);
    for (const rs_piece *piece = unit->pieces; piece != NULL; piece = piece->next) {
        rs_box common;
        if (rs_box_intersect(problem->ndim, &piece->view.box, box, &common)) {
            rs_view_copy(problem->ndim, problem->itemsize, &common, &slice, &piece->view);
        }
    }
}

/* Hands the unit to the sink: at once when it lies in one piece, else slice by slice. */
static resplit_status empty_unit(rs_run *run, const rs_step *step, const rs_unit *unit, resplit_error *err)
{
    const rs_problem *problem = run->problem;
    bool one_piece = unit->pieces->next == NULL;
    if (one_piece && !run->sliced) {
        return run->sink(run, step, &step->box, unit->pieces->view.base, err);
    }
    rs_slices slices;
    rs_box slice;
    char *memory = unit->pieces->view.base;
    rs_slices_init(&slices, problem->ndim, problem->target.order, &step->box, staging_items(run));
    while (rs_slices_next(&slices, &slice)) {
        if (!one_piece) {
            memory = run->staging[0];
            gather(run, unit, &slice);
        }
        RS_TRY(run->sink(run, step, &slice, memory, err));
        memory += rs_box_volume(problem->ndim, &slice) * problem->itemsize;
    }
    return RESPLIT_OK;
}

static resplit_status write_step(rs_run *run, const rs_step *step, resplit_error *err)
{
    const rs_problem *problem = run->problem;
    int64_t volume = rs_box_volume(problem->ndim, &step->box);
    run->cursor = (rs_cursor){.next = -1};
    if (volume == 0) {
        return run->sink(run, step, &step->box, run->staging[0], err);
    }
    rs_unit *unit = rs_pending_find(&run->pending, unit_key(problem, &step->box));
    if (unit == NULL || unit->pieces == NULL) {
        return rs_fail(err, RESPLIT_EINTERNAL, "a unit is to be written before anything of it was read");
    }
    RS_TRY(empty_unit(run, step, unit, err));
    rs_pending_drop(&run->pending, unit);
    run->actual.write_seeks += run->cursor.seeks;
    run->actual.bytes_written += run->cursor.bytes;
    run->held -= volume * problem->itemsize;
    run->done += volume * problem->itemsize;
    return RESPLIT_OK;
}

/* ---- The loop ------------------------------------------------------------------------------ */

/* Tells the caller how far we are, some twenty times a second. */
resplit_status rs_run_report(rs_run *run, resplit_error *err)
{
    if (run->options == NULL || run->options->progress == NULL) {
        return RESPLIT_OK;
    }
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    if (run->last_report != 0 && ms - run->last_report < 50 && run->done < run->plan->predicted.bytes_written) {
        return RESPLIT_OK;
    }
    run->last_report = ms;
    if (run->options->progress(run->done, run->plan->predicted.bytes_written, rs_budget_used(run->budget),
                               run->options->payload)
        != 0) {
        return rs_fail(err, RESPLIT_ECANCELED, "cancelled");
    }
    return RESPLIT_OK;
}

resplit_status rs_run_begin(rs_run *run, resplit_error *err)
{
    const resplit_cost *cost = &run->plan->predicted;
    rs_files_init(&run->sources, run->source, run->source->path, O_RDONLY);
    /* Reading ahead helps long runs (4.5 s become 2.3 s) and would only get in the way of short ones. */
    run->sources.streams = cost->read_seeks > 0 && cost->bytes_read / cost->read_seeks >= RS_LONG_RUN;
    RS_TRY(rs_budget_new(run->plan->memory, &run->budget, err));
    for (int i = 0; i < run->plan->n_staging; i++) {
        RS_TRY(rs_budget_alloc(run->budget, run->plan->staging_bytes, &run->staging[i], err));
    }
    return RESPLIT_OK;
}

void rs_run_end(rs_run *run)
{
    rs_files_release(&run->sources);
    if (run->budget == NULL) {
        return;
    }
    for (int i = 0; i < run->plan->n_staging; i++) {
        rs_budget_release(run->budget, run->staging[i], run->plan->staging_bytes);
    }
    run->actual.peak_bytes = RS_FIXED_BYTES + rs_budget_peak(run->budget);
    rs_budget_free(run->budget);
}

resplit_status rs_run_steps(rs_run *run, resplit_error *err)
{
    rs_steps steps;
    rs_step step;
    resplit_status rc = rs_run_begin(run, err);
    if (rc == RESPLIT_OK) {
        rc = rs_pending_init(&run->pending, run->budget, &run->problem->target, run->plan->n_pieces, err);
    }
    rs_steps_init(&steps, run->problem, run->plan);
    while (rc == RESPLIT_OK && rs_steps_next(&steps, &step)) {
        rc = step.kind == RS_STEP_READ ? read_step(run, &steps, &step, err) : write_step(run, &step, err);
        if (rc == RESPLIT_OK) {
            rc = rs_run_report(run, err);
        }
    }
    rs_pending_release(&run->pending);
    rs_run_end(run);
    return rc;
}
