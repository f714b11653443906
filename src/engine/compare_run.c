/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare_run.c - a run whose sink is a comparison: where a copy would write a unit, the other array's bytes are read
 * and compared. So two arrays of any grids are compared in bounded memory by a plan like any other.
 */
#include "engine/block.h"

#include <string.h>

typedef struct comparison {
    int64_t swap_size; /* bytes to reverse in the first array's elements; 0: same byte order */
    resplit_difference *found;
} comparison;

static void swap_bytes(char *memory, int64_t bytes, int64_t size)
{
    for (char *item = memory; item < memory + bytes; item += size) {
        for (char *a = item, *b = item + size - 1; a < b; a++, b--) {
            char byte = *a;
            *a = *b;
            *b = byte;
        }
    }
}

/* Position of the i-th element of a box, in the target's order. */
static void locate(const rs_problem *problem, const rs_box *box, int64_t i, int64_t *index)
{
    for (int o = problem->ndim - 1; o >= 0; o--) {
        int d = problem->target.order[o];
        int64_t extent = box->hi[d] - box->lo[d];
        index[d] = box->lo[d] + i % extent;
        i /= extent;
    }
}

static void count_different(rs_run *run, const rs_box *box, const char *a, const char *b)
{
    const rs_problem *problem = run->problem;
    const comparison *c = run->sink_state;
    int64_t n = rs_box_volume(problem->ndim, box), size = problem->itemsize;
    (void)pthread_mutex_lock(&run->lock);
    for (int64_t i = 0; i < n; i++) {
        if (memcmp(a + i * size, b + i * size, (size_t)size) != 0) {
            if (c->found->equal) {
                locate(problem, box, i, c->found->index);
            }
            c->found->equal = false;
            c->found->n_different++;
        }
    }
    (void)pthread_mutex_unlock(&run->lock);
}

static resplit_status compare_unit(rs_worker *worker, const rs_step *step, const rs_box *box, char *memory,
                                   resplit_error *err)
{
    rs_run *run = worker->run;
    const comparison *c = run->sink_state;
    int64_t bytes = rs_box_volume(run->problem->ndim, box) * run->problem->itemsize;
    rs_block_file file;
    char *other;
    if (bytes == 0) {
        return RESPLIT_OK;
    }
    RS_TRY(rs_run_open_target(worker, step, &file, err));
    resplit_status rc = RESPLIT_OK;
    if (file.missing) {
        other = worker->staging[1];
        rs_fill(other, bytes, run->target->fill, run->problem->itemsize);
    } else if (worker->stream[1] != NULL) {
        other = worker->staging[1];
        rc = rs_stream_read(worker->stream[1], -1, &file, box, other, &worker->cursor, err);
    } else {
        rc = rs_file_read_box(&worker->io, &file, box, worker->staging[1], &other, &worker->cursor, err);
    }
    rs_files_put(&run->targets, &file, false);
    if (rc != RESPLIT_OK) {
        return rc;
    }
    if (c->swap_size > 0) {
        swap_bytes(memory, bytes, c->swap_size);
    }
    if (memcmp(memory, other, (size_t)bytes) != 0) {
        count_different(run, box, memory, other);
    }
    return RESPLIT_OK;
}

/* The other array's block, decoded; outside the array both are what it is there. */
static resplit_status compare_whole(rs_worker *worker, const rs_step *step, const rs_piece *pieces,
                                    uint64_t *fingerprint, resplit_error *err)
{
    rs_run *run = worker->run;
    const comparison *c = run->sink_state;
    int64_t bytes = rs_box_volume(run->problem->ndim, &step->stored) * run->problem->itemsize;
    rs_block_file file;
    char *other;
    RS_TRY(rs_run_open_target(worker, step, &file, err));
    resplit_status rc =
        rs_block_read(worker, RS_OF_TARGET, &file, worker->staging[1], NULL, NULL, NULL, &other, &worker->cursor, err);
    rs_files_put(&run->targets, &file, false);
    if (rc != RESPLIT_OK) {
        return rc;
    }
    if (c->swap_size > 0) {
        swap_bytes(other, bytes, c->swap_size);
    }
    const char *memory = rs_block_assemble(worker, step, pieces, other, worker->staging[0], fingerprint);
    if (memcmp(memory, other, (size_t)bytes) != 0) {
        count_different(run, &step->stored, memory, other);
    }
    return RESPLIT_OK;
}

/* Of a source that is one stream, for all workers; its end is looked at, too. */
static resplit_status run_steps(rs_run *run, resplit_error *err)
{
    static const int64_t first[RS_MAX_NDIM];
    rs_stream stream;
    if (!run->problem->source.sequential) {
        return rs_run_steps(run, err);
    }
    run->stream = &stream;
    resplit_status rc = rs_stream_open(&stream, run->source, first, err);
    rc = rc == RESPLIT_OK ? rs_run_steps(run, err) : rc;
    rc = rc == RESPLIT_OK ? rs_stream_finish(&stream, rs_files_bytes(&run->sources, first), run->options, err) : rc;
    rs_stream_close(&stream);
    run->stream = NULL;
    return rc;
}

resplit_status rs_run_compare(const rs_problem *problem, const rs_plan *plan, const resplit_array *a,
                              const resplit_array *b, const resplit_run_options *options, resplit_difference *out,
                              resplit_error *err)
{
    comparison c = {.swap_size = a->dtype.byteorder == b->dtype.byteorder ? 0 : a->dtype.swap_size, .found = out};
    resplit_array plain[2];
    rs_run run = {.problem = problem,
                  .plan = plan,
                  .source = rs_array_seen(a, problem->source.sequential, &plain[0]),
                  .target = rs_array_seen(b, problem->target.sequential, &plain[1]),
                  .options = options,
                  .sink = compare_unit,
                  .whole_sink = compare_whole,
                  .sliced = true,
                  .compares = true,
                  .sink_state = &c};
    rs_direct direct;
    *out = (resplit_difference){.equal = true};
    RS_TRY(rs_run_direct(options, &direct, err));
    rs_files_init(&run.sources, run.source, a->path, false, direct);
    rs_files_init(&run.targets, run.target, b->path, false, direct);
    resplit_status rc = plan->kind == RS_PLAN_COPY ? rs_run_blocks(&run, err) : run_steps(&run, err);
    (void)rs_files_release(&run.targets, NULL);
    return rc;
}
