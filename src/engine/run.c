/* SPDX-License-Identifier: BSD-3-Clause */
/* run.c - does what the steps of a plan of buffers ask for: reads, copies, writes. hand_out.c says what is next. */
#include "engine/block.h"

#include <stdlib.h>
#include <string.h>

/* ---- Reading ------------------------------------------------------------------------------- */

/* The target blocks that wait in memory for something of a slice, in their order: all that it has something of; in a
   spill, those of one group. */
typedef struct waiting {
    int64_t lo[RS_MAX_NDIM], hi[RS_MAX_NDIM], index[RS_MAX_NDIM];
    int i; /* how many were before */
} waiting;

/* Numbers grow along a slice: behind a group there is nothing more of it. */
static bool skip_others(const rs_run *run, const rs_job *job, waiting *w)
{
    int64_t group;
    while ((group = rs_run_group(run, w->index)) < job->step.group) {
        if (!rs_index_next(run->problem->ndim, w->lo, w->hi, w->index)) {
            return false;
        }
    }
    return group == job->step.group;
}

static bool first_waiting(const rs_run *run, const rs_job *job, waiting *w)
{
    rs_layout_range(&run->problem->target, &job->wanted, w->lo, w->hi);
    memcpy(w->index, w->lo, sizeof w->index);
    w->i = 0;
    return skip_others(run, job, w);
}

static bool next_waiting(const rs_run *run, const rs_job *job, waiting *w)
{
    w->i++;
    return rs_index_next(run->problem->ndim, w->lo, w->hi, w->index) && skip_others(run, job, w);
}

/* The unit of a block that waits. With the lock, when it must be looked up. */
static rs_touch find_touched(const rs_run *run, const rs_job *job, const waiting *w)
{
    const int64_t *index = w->index;
    if (w->i < job->n_touched) {
        return job->touched[w->i];
    }
    rs_box box = rs_unit_in(run->problem, run->plan, &job->buffer, index), common;
    (void)rs_box_intersect(run->problem->ndim, &box, &job->wanted, &common);
    rs_unit *unit = rs_pending_find(&run->pending, rs_unit_key(run->problem, &box));
    return (rs_touch){unit, unit != NULL ? rs_unit_piece(unit, run->problem->ndim, &common) : NULL};
}

/* The same, without the lock. */
static rs_touch touched_at(rs_run *run, const rs_job *job, const waiting *w)
{
    if (w->i < job->n_touched) {
        return job->touched[w->i];
    }
    (void)pthread_mutex_lock(&run->lock);
    rs_touch touch = find_touched(run, job, w);
    (void)pthread_mutex_unlock(&run->lock);
    return touch;
}

static uint64_t sum_up(const rs_run *run, const rs_box *box, const rs_view *view)
{
    return rs_fingerprint_box(&run->weights, run->problem->ndim, box, view);
}

static rs_tray tray_of(const rs_run *run, const rs_unit *unit)
{
    return (rs_tray){&run->problem->target, &unit->pieces->view.box, unit->pieces->view.base};
}

/* Copies what was read into the units, and adds up its fingerprint: at once, or of what is wanted when it goes on with
   an earlier run. */
static void scatter(rs_run *run, const rs_job *job, char *data, uint64_t *fingerprint)
{
    const rs_problem *problem = run->problem;
    waiting w;
    rs_view view = rs_view_of(problem->ndim, problem->source.order, &job->slice, problem->itemsize, data);
    bool all = !rs_run_is_resumed(run);
    *fingerprint = all ? sum_up(run, &job->wanted, &view) : 0;
    if (run->trays) {
        rs_tray tray = tray_of(run, job->touched[0].unit);
        rs_tray_fill(&tray, &job->wanted, &view);
        return;
    }
    for (bool more = first_waiting(run, job, &w); more; more = next_waiting(run, job, &w)) {
        rs_touch touch = touched_at(run, job, &w);
        if (touch.piece == NULL) {
            continue;
        }
        rs_box common;
        (void)rs_box_intersect(problem->ndim, &touch.piece->view.box, &job->wanted, &common);
        rs_view_copy(problem->ndim, problem->itemsize, &common, &touch.piece->view, &view);
        if (!all) {
            *fingerprint = rs_fingerprint_add(*fingerprint, sum_up(run, &common, &view));
        }
    }
}

static void let_tray_go(rs_run *run, rs_unit *tray)
{
    if (--tray->busy > 0) {
        return;
    }
    for (int i = 0; i < run->n_outgoing; i++) {
        rs_outgoing *outgoing = &run->outgoing[(run->first_outgoing + i) % run->most_outgoing];
        if (outgoing->unit == tray && outgoing->state == RS_WAITS) {
            outgoing->state = RS_READY;
        }
    }
}

/* The slice is copied: units that waited for it may go. With the lock. */
static void let_go(rs_run *run, const rs_job *job)
{
    waiting w;
    if (run->trays) {
        let_tray_go(run, job->touched[0].unit);
        return;
    }
    for (bool more = first_waiting(run, job, &w); more; more = next_waiting(run, job, &w)) {
        rs_unit *unit = find_touched(run, job, &w).unit;
        if (unit != NULL && --unit->busy == 0 && unit->outgoing != NULL) {
            ((rs_outgoing *)unit->outgoing)->state = RS_READY;
        }
    }
}

/* Where the slice can be read straight into its unit: it lies there as it lies in the file. NULL: it must be copied. */
static char *find_straight(const rs_run *run, const rs_job *job)
{
    const rs_problem *problem = run->problem;
    int64_t strides[RS_MAX_NDIM];
    if (!job->any_wanted || job->n_touched != 1 || job->touched[0].piece == NULL || run->trays) {
        return NULL;
    }
    const rs_view *view = &job->touched[0].piece->view;
    rs_box_strides(problem->ndim, problem->source.order, &job->slice, strides);
    for (int d = 0; d < problem->ndim; d++) {
        bool inside = view->box.lo[d] <= job->slice.lo[d] && job->slice.hi[d] <= view->box.hi[d];
        bool dense = job->slice.hi[d] - job->slice.lo[d] == 1 || view->strides[d] == strides[d] * problem->itemsize;
        if (!inside || !dense || job->wanted.lo[d] != job->slice.lo[d] || job->wanted.hi[d] != job->slice.hi[d]) {
            return NULL;
        }
    }
    return view->base + rs_box_offset(problem->ndim, &view->box, view->strides, job->slice.lo);
}

/* Through the page cache into its place; nothing is left to copy. */
static resplit_status read_straight(rs_worker *worker, const rs_block_file *file, char *place, resplit_error *err)
{
    char *data;
    return rs_file_read_box(&worker->io, file, &worker->job.slice, place, &data, &worker->job.cursor, err);
}

static rs_view view_of_slice(const rs_run *run, const rs_job *job, char *data)
{
    const rs_problem *problem = run->problem;
    return rs_view_of(problem->ndim, problem->source.order, &job->slice, problem->itemsize, data);
}

static uint64_t sum_slice(const rs_run *run, const rs_job *job, char *place)
{
    rs_view view = view_of_slice(run, job, place);
    return sum_up(run, &job->slice, &view);
}

/* Of a block that is missing. It counts as if it were read. */
static resplit_status fill_slice(rs_worker *worker, char *place, char **data)
{
    const rs_run *run = worker->run;
    rs_job *job = &worker->job;
    rs_block_file file = {.layout = &run->problem->source, .stored = &job->step.stored};
    int64_t n = rs_box_volume(run->problem->ndim, &job->slice) * run->problem->itemsize;
    *data = place != NULL ? place : worker->staging[0];
    rs_fill(*data, n, run->source->fill, run->problem->itemsize);
    rs_file_count(&file, &job->slice, &job->cursor);
    return RESPLIT_OK;
}

/* Where a slice, that of a job at hand, is: in its unit already, or still to be copied. */
typedef struct arrival {
    int which;
    char *place; /* NULL: the latter */
    uint64_t fingerprint;
} arrival;

/* To the units that wait for it. */
static void take_in(rs_worker *worker, char *data, void *payload)
{
    arrival *a = payload;
    const rs_job *job = rs_worker_job(worker, a->which);
    if (a->place != NULL) {
        a->fingerprint = sum_slice(worker->run, job, a->place);
    } else if (job->any_wanted) {
        scatter(worker->run, job, data, &a->fingerprint);
    }
}

/* And for the temporary file. Who has decoded it does both, while it is in a cache of its own: workers would have to
   take every line from there. */
static void take_in_decoded(rs_worker *worker, char *data, void *payload)
{
    arrival *a = payload;
    const rs_job *job = rs_worker_job(worker, a->which);
    take_in(worker, data, payload);
    if (job->n_groups > 0) {
        rs_view view = view_of_slice(worker->run, job, data);
        rs_spill_gather(worker, a->which, &view, rs_run_is_resumed(worker->run), &a->fingerprint);
    }
}

/* What a slice left for a group: its blocks' pieces, one after the other. */
static void put_back(rs_run *run, const rs_job *job, char *data)
{
    const rs_problem *problem = run->problem;
    waiting w;
    for (bool more = first_waiting(run, job, &w); more; more = next_waiting(run, job, &w)) {
        rs_box common;
        rs_touch touch = touched_at(run, job, &w);
        int64_t volume = rs_layout_overlap(&problem->target, w.index, &job->wanted, &common);
        rs_view piece = rs_view_of(problem->ndim, problem->target.order, &common, problem->itemsize, data);
        if (touch.piece != NULL) {
            rs_view_copy_past(problem->ndim, problem->itemsize, &common, &touch.piece->view, &piece);
        }
        data += volume * problem->itemsize;
    }
}

static resplit_status bring_back(rs_worker *worker, resplit_error *err)
{
    char *data[1 + RS_SHEAF];
    RS_TRY(rs_spill_back(worker, data, err));
    for (int i = 0; i <= worker->n_more; i++) {
        put_back(worker->run, rs_worker_job(worker, i), data[i]);
    }
    return RESPLIT_OK;
}

/* Of the source. What it leaves for a temporary file is in staging then, or all of it still is, at `left`. */
static resplit_status read_slice(rs_worker *worker, int which, char **left, uint64_t *fingerprint, resplit_error *err)
{
    rs_block_file file;
    rs_job *job = rs_worker_job(worker, which);
    char *data;
    RS_TRY(rs_run_open_source(worker, &job->step, &file, err));
    if (job->cursor.next >= 0) {
        job->cursor.next += file.offset;
    }
    rs_stream *stream = worker->run->stream;
    bool encoded = stream == NULL && worker->run->source->encoded;
    bool anywhere = file.direct < 0 || encoded || stream != NULL; /* direct reads want sectors */
    char *place = anywhere ? find_straight(worker->run, job) : NULL;
    arrival a = {.which = which, .place = place};
    data = worker->staging[0];
    resplit_status rc =
        stream != NULL
            ? rs_stream_read(stream, job->turn, &file, &job->slice, place != NULL ? place : data, &job->cursor, err)
        : encoded
            ? rs_block_read(worker, RS_OF_SOURCE, &file, data, place, take_in_decoded, &a, &data, &job->cursor, err)
        : file.missing ? fill_slice(worker, place, &data)
        : place != NULL
            ? read_straight(worker, &file, place, err)
            : rs_file_read_box(&worker->io, &file, &job->slice, worker->staging[0], &data, &job->cursor, err);
    rs_files_put(&worker->run->sources, &file, false);
    if (rc == RESPLIT_OK && !encoded) {
        take_in(worker, data, &a);
    }
    *left = encoded ? NULL : data;
    *fingerprint = rs_fingerprint_add(*fingerprint, a.fingerprint);
    return rc;
}

static resplit_status read_slices(rs_worker *worker, uint64_t *fingerprint, resplit_error *err)
{
    const rs_run *run = worker->run;
    char *left = NULL;
    bool any_left = false;
    if (worker->job.step.group >= 0) {
        return bring_back(worker, err);
    }
    for (int i = 0; i <= worker->n_more; i++) {
        RS_TRY(read_slice(worker, i, &left, fingerprint, err));
        any_left = any_left || rs_worker_job(worker, i)->n_groups > 0;
    }
    if (!any_left) {
        return RESPLIT_OK;
    }
    rs_view view = view_of_slice(run, &worker->job, left);
    return rs_spill_out(worker, left == NULL ? NULL : &view, rs_run_is_resumed(run), fingerprint, err);
}

/* Returns a group that nobody needs any more, or -1. With the lock. Units of what could not be read wait for ever:
   nobody may write them before the run is known to have failed. */
static int64_t end_read(rs_run *run, const rs_job *job, resplit_status rc)
{
    if (rc == RESPLIT_OK && job->any_wanted) {
        let_go(run, job);
    }
    run->n_reading--;
    rs_run_count(run, &job->cursor, NULL);
    return job->step.group >= 0 ? rs_spill_end(run, job) : -1;
}

static resplit_status do_read(rs_worker *worker, resplit_error *err)
{
    rs_run *run = worker->run;
    uint64_t fingerprint = 0;
    worker->spilled = (rs_cursor){.next = -1};
    resplit_status rc = read_slices(worker, &fingerprint, err);
    (void)pthread_mutex_lock(&run->lock);
    run->read_fingerprint = rs_fingerprint_add(run->read_fingerprint, fingerprint);
    run->actual.write_seeks += worker->spilled.seeks;
    run->actual.bytes_written += worker->spilled.bytes;
    run->actual.temp_bytes += worker->spilled.bytes;
    int64_t over = -1, last = -1;
    for (int i = 0; i <= worker->n_more; i++) {
        int64_t group = end_read(run, rs_worker_job(worker, i), rc);
        over = over >= 0 ? over : group;
        last = group >= 0 ? group : last;
    }
    (void)pthread_cond_broadcast(&run->change);
    (void)pthread_mutex_unlock(&run->lock);
    for (; over >= 0 && over <= last; over++) {
        rs_spill_drop(run, over);
    }
    return rc;
}

/* ---- Writing ------------------------------------------------------------------------------- */

void rs_run_gather(const rs_run *run, const rs_piece *pieces, const rs_box *box, char *memory)
{
    const rs_problem *problem = run->problem;
    rs_view slice = rs_view_of(problem->ndim, problem->target.order, box, problem->itemsize, memory);
    for (const rs_piece *piece = pieces; piece != NULL; piece = piece->next) {
        rs_box common;
        if (rs_box_intersect(problem->ndim, &piece->view.box, box, &common)) {
            rs_view_copy(problem->ndim, problem->itemsize, &common, &slice, &piece->view);
        }
    }
}

static resplit_status hand_over(rs_worker *worker, const rs_step *step, const rs_box *box, char *memory,
                                uint64_t *fingerprint, resplit_error *err)
{
    rs_run *run = worker->run;
    const rs_problem *problem = run->problem;
    rs_view view = rs_view_of(problem->ndim, problem->target.order, box, problem->itemsize, memory);
    *fingerprint = rs_fingerprint_add(*fingerprint, sum_up(run, box, &view));
    return run->sink(worker, step, box, memory, err);
}

/* Its pieces; of a unit in a tray, one that is made here. */
static const rs_piece *pieces_of(const rs_run *run, const rs_outgoing *outgoing, rs_piece *room)
{
    if (!run->trays) {
        return outgoing->unit->pieces;
    }
    rs_tray tray = tray_of(run, outgoing->unit);
    *room = (rs_piece){.view = rs_tray_view(&tray, outgoing->step.block)};
    room->memory = room->view.base;
    return room;
}

rs_area rs_run_area(const rs_worker *worker)
{
    int64_t bytes = worker->run->plan->staging_bytes / RS_SECTOR * RS_SECTOR - 2 * RS_SECTOR;
    bool fits = bytes >= RS_DIRECT_WRITE / 2 && (uintptr_t)worker->staging[0] % RS_SECTOR == 0;
    return fits ? (rs_area){worker->staging[0] + RS_SECTOR, bytes} : (rs_area){NULL, 0};
}

/* The sink that writes from elsewhere, if there is one and it likes to. */
static resplit_status try_long(rs_worker *worker, rs_outgoing *outgoing, const rs_piece *pieces, bool *done,
                               resplit_error *err)
{
    const rs_run *run = worker->run;
    *done = false;
    return run->long_sink != NULL && !rs_run_casts(run) && rs_run_area(worker).memory != NULL
               ? run->long_sink(worker, &outgoing->step, pieces, &outgoing->fingerprint, done, err)
               : RESPLIT_OK;
}

/* Hands the unit to the sink: at once when it lies in one piece, else slice by slice. */
static resplit_status empty_unit(rs_worker *worker, rs_outgoing *outgoing, resplit_error *err)
{
    rs_run *run = worker->run;
    const rs_problem *problem = run->problem;
    const rs_step *step = &outgoing->step;
    if (outgoing->unit == NULL) {
        return run->sink(worker, step, &step->box, worker->staging[0], err);
    }
    rs_piece room;
    const rs_piece *pieces = pieces_of(run, outgoing, &room);
    if (run->target->encoded) {
        return run->whole_sink(worker, step, pieces, &outgoing->fingerprint, err);
    }
    bool done;
    RS_TRY(try_long(worker, outgoing, pieces, &done, err));
    if (done) {
        return RESPLIT_OK;
    }
    bool one_piece = pieces->next == NULL && !rs_run_casts(run);
    char *memory = pieces->view.base;
    worker->before = one_piece ? memory - (char *)pieces->memory : 0;
    if (one_piece && !run->sliced) {
        return hand_over(worker, step, &step->box, memory, &outgoing->fingerprint, err);
    }
    rs_slices slices;
    rs_box slice;
    rs_slices_init(&slices, problem->ndim, problem->target.order, &step->box, rs_run_sink_items(run));
    while (rs_slices_next(&slices, &slice)) {
        if (!one_piece) {
            memory = worker->staging[0];
            rs_run_gather(run, pieces, &slice, memory);
        }
        RS_TRY(hand_over(worker, step, &slice, memory, &outgoing->fingerprint, err));
        memory += rs_box_volume(problem->ndim, &slice) * problem->itemsize;
    }
    return RESPLIT_OK;
}

static resplit_status do_write(rs_worker *worker, resplit_error *err)
{
    rs_run *run = worker->run;
    rs_outgoing *outgoing = worker->job.outgoing;
    worker->cursor = (rs_cursor){.next = -1};
    worker->before = 0;
    resplit_status rc = empty_unit(worker, outgoing, err);
    (void)pthread_mutex_lock(&run->lock);
    run->n_writing--;
    rs_run_count(run, NULL, &worker->cursor);
    if (outgoing->unit != NULL && --outgoing->unit->n_writes == 0) {
        rs_pending_drop(&run->pending, outgoing->unit);
    }
    if (rc == RESPLIT_OK) {
        rs_outgoing_end(worker, outgoing);
    }
    (void)pthread_mutex_unlock(&run->lock);
    return rc;
}

static void do_help(rs_worker *worker)
{
    rs_run *run = worker->run;
    rs_together_make(&run->together, &worker->io, rs_run_area(worker), &worker->job.stint);
    (void)pthread_mutex_lock(&run->lock);
    run->n_writing--;
    (void)pthread_mutex_unlock(&run->lock);
}

/* ---- The loop ------------------------------------------------------------------------------ */

static resplit_status do_job(rs_worker *worker, resplit_error *err)
{
    switch (worker->job.kind) {
    case RS_JOB_READ: return do_read(worker, err);
    case RS_JOB_WRITE: return do_write(worker, err);
    case RS_JOB_HELP: do_help(worker); break;
    }
    return RESPLIT_OK; /* a failure is told to who is helped */
}

static void *work(void *argument)
{
    rs_worker *worker = argument;
    rs_run *run = worker->run;
    (void)pthread_mutex_lock(&run->lock);
    while (rs_run_next_job(worker)) {
        resplit_error why;
        (void)pthread_mutex_unlock(&run->lock);
        resplit_status rc = do_job(worker, &why);
        (void)pthread_mutex_lock(&run->lock);
        if (rc != RESPLIT_OK) {
            rs_run_fail(run, &why);
        }
        rs_run_report(worker);
    }
    (void)pthread_cond_broadcast(&run->change);
    (void)pthread_mutex_unlock(&run->lock);
    return NULL;
}

resplit_status rs_run_steps(rs_run *run, resplit_error *err)
{
    resplit_status rc = rs_run_begin(run, err);
    if (rc == RESPLIT_OK) {
        rc = rs_pending_init(&run->pending, run->budget, &run->problem->target, run->plan->n_pieces, err);
    }
    rs_steps_init(&run->steps, run->problem, run->plan);
    run->trays = rs_run_takes_trays(run);
    if (rc == RESPLIT_OK) {
        rc = rs_run_crew(run, work, err);
    }
    rs_pending_release(&run->pending);
    rs_run_end(run);
    return rc;
}
