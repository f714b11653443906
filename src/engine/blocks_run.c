/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blocks_run.c - runs a copy: every block from one file into another, as it is, decoded, encoded, or both, where they
 * are encoded in different ways.
 */
#include "engine/block.h"

#include <string.h>

/* Of a block that is missing, what it is full of. */
static resplit_status read_slice(rs_worker *worker, const rs_block_file *from, const rs_box *slice, char **data,
                                 rs_cursor *reading, resplit_error *err)
{
    const rs_problem *problem = worker->run->problem;
    int64_t n = rs_box_volume(problem->ndim, slice) * problem->itemsize;
    *data = worker->staging[0];
    rs_stream *stream = worker->stream[0] != NULL ? worker->stream[0] : worker->run->stream;
    if (stream != NULL) { /* of one block, so nobody else reads */
        return rs_stream_read(stream, -1, from, slice, *data, reading, err);
    }
    if (!from->missing) {
        return rs_file_read_box(&worker->io, from, slice, worker->staging[0], data, reading, err);
    }
    *data = worker->staging[0];
    rs_fill(*data, n, from->array->fill, problem->itemsize);
    rs_file_count(from, slice, reading);
    return RESPLIT_OK;
}

static uint64_t sum_up(const rs_run *run, const rs_box *box, const rs_view *view)
{
    return run->unsummed ? 0 : rs_fingerprint_box(&run->weights, run->problem->ndim, box, view);
}

/* A block that is missing, and means the same when it is missing in the target. */
static bool stays_missing(const rs_run *run)
{
    const resplit_array *source = run->source, *target = run->target;
    return !run->only_reads && !run->hands_over && target->fill != NULL && !target->write_empty
           && memcmp(source->fill, target->fill, (size_t)run->problem->itemsize) == 0;
}

/* Reads and writes go forward together; each file has a cursor of its own. */
static resplit_status copy_slices(rs_worker *worker, const rs_block_file *from, rs_outgoing *outgoing,
                                  rs_cursor *reading, resplit_error *err)
{
    const rs_run *run = worker->run;
    const rs_problem *problem = run->problem;
    const rs_step *write = &outgoing->step;
    int64_t items = rs_run_sink_items(run);
    rs_slices slices;
    rs_box slice;
    char *data;
    if (run->sources.direct != RS_DIRECT_OFF) {
        items = rs_file_slice_items(&problem->source, from->stored, &write->box, items);
    }
    rs_slices_init(&slices, problem->ndim, problem->target.order, &write->box, items);
    while (rs_slices_next(&slices, &slice)) {
        RS_TRY(read_slice(worker, from, &slice, &data, reading, err));
        rs_view view = rs_view_of(problem->ndim, problem->target.order, &slice, problem->itemsize, data);
        outgoing->fingerprint = rs_fingerprint_add(outgoing->fingerprint, sum_up(run, &slice, &view));
        if (from->missing && stays_missing(run)) {
            rs_block_file none = {.layout = &problem->target, .stored = &write->stored};
            rs_file_count(&none, &slice, &worker->cursor);
        } else {
            RS_TRY(run->sink(worker, write, &slice, data, err));
        }
    }
    return RESPLIT_OK;
}

/* What of a block lies in the array, moved together to its beginning. */
static void close_ranks(const rs_problem *problem, const rs_box *stored, const rs_box *box, char *memory)
{
    int64_t items, strides[RS_MAX_NDIM];
    char *to = memory;
    rs_slices runs;
    rs_box run;
    (void)rs_box_runs(problem->ndim, problem->source.order, stored, box, &items);
    rs_box_strides(problem->ndim, problem->source.order, stored, strides);
    rs_slices_init(&runs, problem->ndim, problem->source.order, box, items);
    while (rs_slices_next(&runs, &run)) {
        int64_t n = rs_box_volume(problem->ndim, &run) * problem->itemsize;
        int64_t at = rs_box_offset(problem->ndim, stored, strides, run.lo) * problem->itemsize;
        if (to != memory + at) {
            memmove(to, memory + at, (size_t)n);
        }
        to += n;
    }
}

/* A block that was decoded, and its fingerprint; what lies outside the array has no meaning, so it has no
   part in that. */
typedef struct decoded {
    const rs_box *stored, *box;
    bool together; /* what lies in the array is wanted without gaps */
    uint64_t fingerprint;
} decoded;

static void look_through(rs_worker *worker, char *data, void *payload)
{
    const rs_run *run = worker->run;
    const rs_problem *problem = run->problem;
    decoded *d = payload;
    rs_view view = rs_view_of(problem->ndim, problem->source.order, d->stored, problem->itemsize, data);
    d->fingerprint = sum_up(run, d->box, &view);
    if (d->together) {
        close_ranks(problem, d->stored, d->box, data);
    }
}

/* All of the block at once. */
static resplit_status transcode(rs_worker *worker, const rs_block_file *from, rs_outgoing *outgoing, rs_cursor *reading,
                                resplit_error *err)
{
    const rs_run *run = worker->run;
    const rs_problem *problem = run->problem;
    const rs_step *write = &outgoing->step;
    bool encoded = run->source->encoded; /* else it is summed up when it is encoded */
    const rs_box *box = encoded ? from->stored : &write->box;
    decoded d = {.stored = from->stored, .box = &write->box};
    rs_piece piece = {.next = NULL};
    char *data;
    RS_TRY(encoded ? rs_block_read(worker, RS_OF_SOURCE, from, worker->staging[0], NULL, look_through, &d, &data,
                                   reading, err)
                   : read_slice(worker, from, box, &data, reading, err));
    piece.view = rs_view_of(problem->ndim, problem->source.order, box, problem->itemsize, data);
    outgoing->fingerprint = d.fingerprint;
    return run->whole_sink(worker, write, &piece, encoded ? NULL : &outgoing->fingerprint, err);
}

/* Elements that lie in staging: at once, or as many as the sink likes. */
static resplit_status hand_over(rs_worker *worker, const rs_step *write, char *memory, resplit_error *err)
{
    const rs_run *run = worker->run;
    const rs_problem *problem = run->problem;
    int64_t items = run->sliced ? rs_run_sink_items(run) : INT64_MAX;
    rs_slices slices;
    rs_box slice;
    rs_slices_init(&slices, problem->ndim, problem->target.order, &write->box, items);
    while (rs_slices_next(&slices, &slice)) {
        RS_TRY(run->sink(worker, write, &slice, memory, err));
        memory += rs_box_volume(problem->ndim, &slice) * problem->itemsize;
    }
    return RESPLIT_OK;
}

/* Where a decoded block is to begin, so that it is written from there; NULL: behind the head that
   it is encoded with. */
static char *place_for(const rs_worker *worker, const rs_block_file *from, const rs_step *write)
{
    const rs_run *run = worker->run;
    rs_block_file to = {
        .layout = &run->in_files, .stored = &write->stored, .offset = rs_array_block_offset(run->target, write->index)};
    return rs_array_block_offset(from->array, from->index) > 0
               ? NULL
               : worker->staging[0] + rs_stored_room(from->array->most_stored)
                     + rs_file_lead(rs_file_place(&to, &write->box));
}

/* From where it was decoded to. What stood before it, as it was stored, is free then. */
static resplit_status unpack(rs_worker *worker, const rs_block_file *from, rs_outgoing *outgoing, rs_cursor *reading,
                             resplit_error *err)
{
    const rs_run *run = worker->run;
    const rs_problem *problem = run->problem;
    const rs_step *write = &outgoing->step;
    char *data, *place = place_for(worker, from, write);
    int64_t n = rs_box_volume(problem->ndim, from->stored) * problem->itemsize;
    if (place != NULL && place + n > worker->staging[0] + run->plan->staging_bytes) {
        return rs_fail(err, RESPLIT_EINTERNAL, "staging of %lld bytes has no room for a block of %lld",
                       (long long)run->plan->staging_bytes, (long long)n);
    }
    decoded d = {.stored = from->stored, .box = &write->box, .together = true};
    RS_TRY(rs_block_read(worker, RS_OF_SOURCE, from, worker->staging[0], place, look_through, &d, &data, reading, err));
    outgoing->fingerprint = d.fingerprint;
    worker->before = rs_run_casts(run) ? 0 : data - worker->staging[0];
    return hand_over(worker, write, data, err);
}

/* ---- Blocks that can only be read forwards ---- */

/* Of a worker, while it has such a block at hand. */
typedef struct streams {
    rs_stream of[2];
    int64_t bytes[2]; /* of the block, when it is plain */
} streams;

static resplit_status open_streams(rs_worker *worker, const rs_block_file *from, const rs_step *write, streams *s,
                                   resplit_error *err)
{
    rs_run *run = worker->run;
    if (run->problem->source.sequential && run->stream == NULL) {
        worker->stream[0] = &s->of[0];
        s->bytes[0] = rs_files_bytes(&run->sources, from->index);
        RS_TRY(rs_stream_open(&s->of[0], run->source, from->index, err));
    }
    if (run->problem->target.sequential && run->compares) {
        worker->stream[1] = &s->of[1];
        s->bytes[1] = rs_files_bytes(&run->targets, write->index);
        RS_TRY(rs_stream_open(&s->of[1], run->target, write->index, err));
    }
    return RESPLIT_OK;
}

/* Looks at what is behind the elements, where nothing has failed: only there is the checksum. */
static resplit_status close_streams(rs_worker *worker, streams *s, resplit_status rc, resplit_error *err)
{
    for (int i = 0; i < 2; i++) {
        if (worker->stream[i] == NULL) {
            continue;
        }
        rc = rc == RESPLIT_OK ? rs_stream_finish(worker->stream[i], s->bytes[i], NULL, err) : rc;
        rs_stream_close(worker->stream[i]);
        worker->stream[i] = NULL;
    }
    return rc;
}

static resplit_status copy_block(rs_worker *worker, rs_outgoing *outgoing, rs_cursor *reading, resplit_error *err)
{
    const rs_step *read = &worker->job.step, *write = &outgoing->step;
    rs_run *run = worker->run;
    rs_block_file from;
    streams s;
    s.bytes[0] = s.bytes[1] = 0;
    worker->cursor = *reading = (rs_cursor){.next = -1};
    if (rs_box_volume(run->problem->ndim, &write->box) == 0) {
        return run->sink(worker, write, &write->box, worker->staging[0], err);
    }
    RS_TRY(rs_run_open_source(worker, read, &from, err));
    resplit_status rc = open_streams(worker, &from, write, &s, err);
    rc = rc != RESPLIT_OK         ? rc
         : run->problem->verbatim ? rs_block_copy(worker, &from, write, reading, err)
         : run->target->encoded   ? transcode(worker, &from, outgoing, reading, err)
         : run->source->encoded   ? unpack(worker, &from, outgoing, reading, err)
                                  : copy_slices(worker, &from, outgoing, reading, err);
    rc = close_streams(worker, &s, rc, err);
    rs_files_put(&run->sources, &from, true);
    return rc;
}

/* The next block, with the lock. Buffers are blocks: each is one READ and one WRITE. NULL: nothing
   more, or a failure. */
static rs_outgoing *next_block(rs_worker *worker)
{
    rs_run *run = worker->run;
    rs_step write;
    while (!run->failed) {
        if (run->n_outgoing == run->most_outgoing) {
            rs_run_wait(worker);
            continue;
        }
        if (!rs_steps_next(&run->steps, &worker->job.step) || !rs_steps_next(&run->steps, &write)) {
            return NULL;
        }
        rs_time time = rs_steps_time(&run->steps, write.block, &write.box);
        if (!rs_time_before(time, run->resumed.now)) {
            return rs_outgoing_add(run, &write, time);
        }
    }
    return NULL;
}

static void *work(void *argument)
{
    rs_worker *worker = argument;
    rs_run *run = worker->run;
    rs_outgoing *outgoing;
    (void)pthread_mutex_lock(&run->lock);
    while ((outgoing = next_block(worker)) != NULL) {
        resplit_error why;
        rs_cursor reading;
        (void)pthread_mutex_unlock(&run->lock);
        resplit_status rc = copy_block(worker, outgoing, &reading, &why);
        (void)pthread_mutex_lock(&run->lock);
        rs_run_count(run, &reading, &worker->cursor);
        run->read_fingerprint = rs_fingerprint_add(run->read_fingerprint, outgoing->fingerprint);
        if (rc == RESPLIT_OK) {
            rs_outgoing_end(worker, outgoing);
        } else {
            rs_run_fail(run, &why);
        }
        rs_run_report(worker);
    }
    (void)pthread_mutex_unlock(&run->lock);
    return NULL;
}

resplit_status rs_run_blocks(rs_run *run, resplit_error *err)
{
    resplit_status rc = rs_run_begin(run, err);
    rs_steps_init(&run->steps, run->problem, run->plan);
    if (rc == RESPLIT_OK) {
        rc = rs_run_crew(run, work, err);
    }
    rs_run_end(run);
    return rc;
}
