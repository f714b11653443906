/* SPDX-License-Identifier: BSD-3-Clause */
/* crew.c - the workers of a run: begin, end, failing, waiting, reporting. */
#include "engine/run.h"

#include "engine/system.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    STACK_BYTES = 128 << 10, /* of a worker, and of a miller: some calls deep, with paths and sentences on it */
    THEIR_STACK = 4 << 20,   /* where it calls the caller; of which only what is used is there */
    REPORT_MS = 50,
    STEADY = 4 << 20, /* bytes that a second worker must have to do */
};

/* What plans set aside for a run of one worker, of two, and for each other, is enough. */
enum {
    FIRST = sizeof(rs_run) + sizeof(rs_worker) + RS_OUTGOING * sizeof(rs_outgoing),
    OTHER = STACK_BYTES + sizeof(rs_worker) + RS_OUTGOING_MANY * sizeof(rs_outgoing),
    PLACES = RS_TOUCHED * sizeof(rs_touch), /* of a worker, and of the slice that is handed out */
    MANY_PLACES = RS_TOUCHED_MANY * sizeof(rs_touch),
};
_Static_assert(FIRST + 2 * PLACES <= RS_FIXED_BYTES, "RS_FIXED_BYTES is too small");
_Static_assert(FIRST + OTHER + 3 * MANY_PLACES <= RS_FIXED_BYTES + RS_WORKER_BYTES, "both are too small for two");
_Static_assert(OTHER + MANY_PLACES <= RS_WORKER_BYTES, "RS_WORKER_BYTES is too small");
_Static_assert(STACK_BYTES + sizeof(pthread_t) <= RS_MILLER_BYTES, "RS_MILLER_BYTES is too small");

int64_t rs_run_staging_items(const rs_run *run)
{
    /* two sectors are for direct reads; small areas are never read directly */
    int64_t bytes = run->plan->staging_bytes;
    return rs_max(1, (bytes >= RS_FAIR_STAGING / 2 ? bytes - RS_DIRECT_EXTRA : bytes) / run->problem->itemsize);
}

int64_t rs_run_sink_items(const rs_run *run)
{
    int64_t held = run->problem->itemsize, stored = rs_run_casts(run) ? run->target->dtype.itemsize : held;
    return stored <= held ? rs_run_staging_items(run) : rs_max(1, rs_run_staging_items(run) * held / stored);
}

/* ---- Begin and end ------------------------------------------------------------------------- */

/* As many as the plan has room for and the work is worth: a disk wants more under way than there are processors. */
static int count_workers(const rs_run *run)
{
    const resplit_cost *cost = &run->plan->predicted;
    int64_t asked = run->options != NULL ? run->options->threads : 0;
    int64_t worth =
        1 + (cost->bytes_read + cost->bytes_written) / STEADY + (run->problem->n_source + run->problem->n_target) / 64;
    int64_t useful = rs_min(worth, rs_max(RS_DISK_WORKERS, rs_plan_crew(rs_system_processors())));
    return (int)rs_max(1, rs_min(asked > 0 ? asked : useful, run->plan->n_workers));
}

static resplit_status begin_job(const rs_run *run, rs_job *job, resplit_error *err)
{
    job->most_touched = run->plan->n_workers > 1 ? RS_TOUCHED_MANY : RS_TOUCHED;
    job->touched = calloc((size_t)job->most_touched, sizeof *job->touched);
    job->left =
        calloc((size_t)(rs_max(1, run->plan->spill.sheaf) * rs_max(1, run->plan->spill.n_groups)), sizeof *job->left);
    return job->touched != NULL && job->left != NULL
               ? RESPLIT_OK
               : rs_fail_errno(err, ENOMEM, "cannot allocate %d places", job->most_touched);
}

/* One for each stone, where somebody is left to move bytes meanwhile. */
static int count_millers(const rs_run *run)
{
    return run->n_workers > run->n_stones ? run->n_stones : 0;
}

static resplit_status begin_coders(const rs_run *run, rs_stone *stone, resplit_error *err)
{
    const resplit_array *source = run->source, *target = run->target;
    rs_coder **of = stone->coder;
    if (source->encoded) {
        RS_TRY(rs_coder_new(&source->chain, rs_array_coded_bytes(source), false, &of[RS_OF_SOURCE], err));
    }
    if (target->encoded && !run->only_reads) { /* a target that is only compared with is decoded */
        RS_TRY(rs_coder_new(&target->chain, rs_array_coded_bytes(target), run->targets.write, &of[RS_OF_TARGET], err));
    }
    return run->spilling != NULL ? rs_spill_coders(run, stone, err) : RESPLIT_OK;
}

/* One for each processor, if there are so many workers and the plan has room for them. */
static resplit_status begin_stones(rs_run *run, resplit_error *err)
{
    int64_t area = rs_plan_area_bytes(run->problem, run->plan);
    if (rs_problem_coder(run->problem) == 0 || run->problem->verbatim) {
        run->n_stones = run->n_workers; /* nobody asks for them */
        return RESPLIT_OK;
    }
    run->n_stones = (int)rs_min(rs_system_processors(), rs_plan_stones(run->plan, run->n_workers));
    run->stones = calloc((size_t)run->n_stones, sizeof *run->stones);
    if (run->stones == NULL) {
        return rs_fail_errno(err, ENOMEM, "cannot allocate what %d need to compute", run->n_stones);
    }
    for (int i = 0; i < run->n_stones; i++) {
        void *memory = NULL;
        RS_TRY(begin_coders(run, &run->stones[i], err));
        RS_TRY(area > 0 ? rs_budget_alloc(run->budget, RS_FOR_DISK, area, &memory, err) : RESPLIT_OK);
        run->stones[i].area = memory;
    }
    return RESPLIT_OK;
}

static void end_stones(rs_run *run)
{
    for (int i = 0; run->stones != NULL && i < run->n_stones; i++) {
        rs_stone *stone = &run->stones[i];
        for (int k = 0; k < RS_N_CODERS; k++) {
            rs_coder_free(stone->coder[k]);
        }
        if (stone->area != NULL) {
            rs_budget_release(run->budget, stone->area, rs_plan_area_bytes(run->problem, run->plan));
        }
    }
    free(run->stones);
}

void rs_run_compute(rs_worker *worker, rs_mill_work *work, void *what)
{
    rs_mill_do(&worker->run->mill, work, what, (int)(worker - worker->run->workers));
}

/* Or does the mill, or nobody? */
static bool workers_compute(const rs_run *run)
{
    return rs_problem_coder(run->problem) == 0 && !run->problem->verbatim;
}

/*
 * A ring of io_uring takes half a millisecond to make, which a few elements are not worth. And beside a mill workers do
 * nothing but wait: one transfer of each is enough for the disk. Of more it may tell only when all are done, while
 * nobody has anything to compute.
 */
static const char *io_of(const rs_run *run)
{
    const char *asked = run->options != NULL ? run->options->io : NULL;
    bool chosen = asked != NULL && strcmp(asked, "auto") != 0;
    bool few = run->only_reads && run->plan->predicted.bytes_read < STEADY;
    bool milled = rs_problem_coder(run->problem) > 0 && !run->problem->verbatim && count_millers(run) > 0;
    return !chosen && (few || milled) ? "threads" : asked;
}

static resplit_status begin_worker(rs_run *run, rs_worker *worker, resplit_error *err)
{
    void *memory;
    worker->run = run;
    RS_TRY(begin_job(run, &worker->job, err));
    RS_TRY(rs_io_start(&worker->io, io_of(run), err));
    run->io_name = run->io_name != NULL ? run->io_name : worker->io.backend->name; /* the first one's */
    worker->io.shedding = &run->shedding;
    worker->io.gate = workers_compute(run) ? &run->gate : NULL;
    for (int i = 0; i < run->plan->n_staging; i++) {
        RS_TRY(rs_budget_alloc(run->budget, RS_FOR_DISK, run->plan->staging_bytes, &memory, err));
        worker->staging[i] = memory;
    }
    worker->more = rs_spill_sheaf(worker);
    return RESPLIT_OK;
}

resplit_status rs_run_begin(rs_run *run, resplit_error *err)
{
    const rs_plan *plan = run->plan;
    run->in_files = run->problem->target;
    run->in_files.itemsize = run->target->dtype.itemsize;
    run->sources.other = &run->targets;
    run->targets.other = &run->sources;
    (void)pthread_mutex_init(&run->lock, NULL);
    (void)pthread_cond_init(&run->change, NULL);
    run->together = (rs_together){.lock = &run->lock, .change = &run->change};
    run->n_workers = count_workers(run);
    rs_shedding_start(&run->shedding);
    rs_gate_start(&run->gate, run->n_workers);
    rs_fingerprint_init(&run->weights, run->problem->itemsize, run->source->dtype.swap_size,
                        run->source->dtype.byteorder == '>',
                        run->problem->ndim > 0 ? run->problem->source.order[run->problem->ndim - 1] : 0,
                        run->problem->ndim > 0 ? run->problem->target.order[run->problem->ndim - 1] : 0);
    memcpy(run->weights.start, run->problem->start, sizeof run->weights.start);
    RS_TRY(rs_budget_new(plan->memory, plan->predicted.peak_bytes - rs_plan_beside(run->problem, plan, plan->n_workers),
                         &run->budget, err));
    run->workers = calloc((size_t)run->n_workers, sizeof *run->workers);
    run->most_outgoing = RS_OUTGOING + (run->n_workers - 1) * RS_OUTGOING_MANY;
    run->outgoing = calloc((size_t)run->most_outgoing, sizeof *run->outgoing);
    if (run->workers == NULL || run->outgoing == NULL) {
        return rs_fail_errno(err, ENOMEM, "cannot allocate %d workers", run->n_workers);
    }
    RS_TRY(begin_job(run, &run->next, err));
    RS_TRY(begin_stones(run, err));
    for (int i = 0; i < run->n_workers; i++) {
        RS_TRY(begin_worker(run, &run->workers[i], err));
    }
    return RESPLIT_OK;
}

static void add_losses(resplit_losses *sum, const resplit_losses *more)
{
    sum->n_values += more->n_values;
    sum->n_out_of_range += more->n_out_of_range;
    sum->n_not_a_number += more->n_not_a_number;
    sum->n_rounded += more->n_rounded;
}

void rs_run_end(rs_run *run)
{
    (void)rs_files_release(&run->sources, NULL);
    (void)pthread_cond_destroy(&run->change);
    (void)pthread_mutex_destroy(&run->lock);
    rs_shedding_stop(&run->shedding);
    rs_gate_stop(&run->gate);
    for (int i = 0; run->workers != NULL && i < run->n_workers; i++) {
        add_losses(&run->losses, &run->workers[i].losses);
        rs_io_stop(&run->workers[i].io);
        free(run->workers[i].job.touched);
        free(run->workers[i].job.left);
        for (int k = 0; k < run->plan->n_staging; k++) {
            rs_budget_release(run->budget, run->workers[i].staging[k], run->plan->staging_bytes);
        }
    }
    end_stones(run);
    if (run->budget != NULL) {
        run->actual.peak_bytes =
            rs_budget_peak(run->budget) + rs_plan_beside(run->problem, run->plan, (int)rs_max(1, run->n_workers));
    }
    free(run->next.touched);
    free(run->next.left);
    free(run->workers);
    free(run->outgoing);
    rs_budget_free(run->budget);
}

resplit_status rs_run_open_source(rs_worker *worker, const rs_step *step, rs_block_file *file, resplit_error *err)
{
    const rs_run *run = worker->run;
    int64_t bytes = run->source->encoded ? 0 : rs_files_bytes(&run->sources, step->index);
    RS_TRY(rs_files_get(&worker->run->sources, step->index, bytes, worker->path[0], file, err));
    file->layout = &run->problem->source;
    file->stored = &step->stored;
    return RESPLIT_OK;
}

resplit_status rs_run_open_target(rs_worker *worker, const rs_step *step, rs_block_file *file, resplit_error *err)
{
    const rs_run *run = worker->run;
    int64_t bytes = run->target->encoded ? 0 : rs_files_bytes(&run->targets, step->index);
    RS_TRY(rs_files_get(&worker->run->targets, step->index, bytes, worker->path[1], file, err));
    file->layout = &run->in_files;
    file->stored = &step->stored;
    return RESPLIT_OK;
}

void rs_run_count(rs_run *run, const rs_cursor *read, const rs_cursor *written)
{
    if (read != NULL) {
        run->actual.read_seeks += read->seeks;
        run->actual.bytes_read += read->bytes;
        run->stored_read += read->stored;
    }
    if (written != NULL) {
        run->actual.write_seeks += written->seeks;
        run->actual.bytes_written += written->bytes;
        run->stored_written += written->stored;
        run->done += written->bytes;
    }
}

/* ---- Working together ---------------------------------------------------------------------- */

resplit_status rs_run_crew(rs_run *run, void *(*work)(void *worker), resplit_error *err)
{
    pthread_attr_t attributes;
    int n = 1;
    bool small = pthread_attr_init(&attributes) == 0;
    if (small) {
        (void)pthread_attr_setstacksize(&attributes, run->hands_over ? THEIR_STACK : STACK_BYTES);
    }
    rs_mill_start(&run->mill, count_millers(run), STACK_BYTES);
    /* fewer workers than wanted are enough; and each of those who compute themselves needs a stone */
    int most = run->mill.n_millers > 0 ? run->n_workers : (int)rs_min(run->n_workers, run->n_stones);
    while (n < most
           && pthread_create(&run->workers[n].thread, small ? &attributes : NULL, work, &run->workers[n]) == 0) {
        n++;
    }
    (void)work(&run->workers[0]);
    for (int i = 1; i < n; i++) {
        (void)pthread_join(run->workers[i].thread, NULL);
    }
    rs_mill_stop(&run->mill);
    if (n > 1 && !run->failed) { /* others may have ended after the one that reports */
        (void)pthread_mutex_lock(&run->lock);
        rs_run_report(&run->workers[0]);
        (void)pthread_mutex_unlock(&run->lock);
    }
    if (small) {
        (void)pthread_attr_destroy(&attributes);
    }
    return run->failed ? rs_fail_with(err, &run->why) : RESPLIT_OK;
}

void rs_run_fail(rs_run *run, const resplit_error *why)
{
    if (!run->failed) {
        run->failed = true;
        run->why = *why;
    }
    if (run->stream != NULL) {
        rs_stream_abort(run->stream);
    }
    (void)pthread_cond_broadcast(&run->change);
}

static bool reports(const rs_worker *worker)
{
    const rs_run *run = worker->run;
    return worker == &run->workers[0] && run->options != NULL && run->options->progress != NULL;
}

void rs_run_wait(rs_worker *worker)
{
    rs_run *run = worker->run;
    if (!reports(worker)) {
        (void)pthread_cond_wait(&run->change, &run->lock);
        return;
    }
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += REPORT_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    (void)pthread_cond_timedwait(&run->change, &run->lock, &until);
    rs_run_report(worker);
}

/* Tells the caller how far we are, some twenty times a second. */
void rs_run_report(rs_worker *worker)
{
    rs_run *run = worker->run;
    if (!reports(worker)) {
        return;
    }
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000, total = run->plan->predicted.bytes_written;
    if (run->last_report != 0 && ms - run->last_report < REPORT_MS && run->done < total) {
        return;
    }
    int64_t done = run->done, used = rs_budget_used(run->budget);
    run->last_report = ms;
    (void)pthread_mutex_unlock(&run->lock);
    bool stop = run->options->progress(done, total, used, run->options->payload) != 0;
    (void)pthread_mutex_lock(&run->lock);
    if (stop) {
        resplit_error why;
        (void)rs_fail(&why, RESPLIT_ECANCELED, "cancelled");
        rs_run_fail(run, &why);
    }
}
