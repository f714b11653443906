/* SPDX-License-Identifier: BSD-3-Clause */
/* read_run.c - a run whose sink is the caller's memory: blocks come one by one, and each puts what of it is wanted
   in its place. */
#include "engine/run.h"

/* What counts as done is what the plan counts: of an encoded block, all of it. */
static resplit_status put(rs_worker *worker, const rs_view *from, const rs_box *box)
{
    const rs_problem *problem = worker->run->problem;
    rs_view_copy(problem->ndim, problem->itemsize, box, worker->run->sink_state, from);
    worker->cursor.bytes += rs_box_volume(problem->ndim, &from->box) * problem->itemsize;
    return RESPLIT_OK;
}

static resplit_status put_unit(rs_worker *worker, const rs_step *step, const rs_box *box, char *memory,
                               resplit_error *err)
{
    const rs_problem *problem = worker->run->problem;
    rs_view from = rs_view_of(problem->ndim, problem->target.order, box, problem->itemsize, memory);
    (void)step;
    (void)err;
    return put(worker, &from, box);
}

/* One piece is all of the block; of it, what is in the box. */
static resplit_status put_whole(rs_worker *worker, const rs_step *step, const rs_piece *pieces, uint64_t *fingerprint,
                                resplit_error *err)
{
    (void)fingerprint; /* the run is a copy, and took it */
    (void)err;
    return put(worker, &pieces->view, &step->box);
}

resplit_status rs_run_read(const rs_problem *problem, const rs_plan *plan, const resplit_array *array,
                           const resplit_run_options *options, const rs_view *out, resplit_error *err)
{
    static const int64_t first[RS_MAX_NDIM];
    rs_view to = *out;
    rs_stream stream;
    resplit_array plain;
    bool streamed = (problem->seen & RS_STREAMED_SOURCE) != 0;
    if (streamed) {
        rs_array_plain(array, &plain);
        array = &plain;
    }
    rs_run run = {.problem = problem,
                  .plan = plan,
                  .source = array,
                  .target = array,
                  .options = options,
                  .sink = put_unit,
                  .whole_sink = put_whole,
                  .only_reads = true,
                  .unsummed = true,
                  .sink_state = &to};
    rs_direct direct;
    RS_TRY(rs_run_direct(options, &direct, err));
    if (streamed) {
        run.stream = &stream;
        resplit_status rc = rs_stream_open(&stream, array, first, err);
        if (rc != RESPLIT_OK) {
            rs_stream_close(&stream);
            return rc;
        }
    }
    rs_files_init(&run.sources, array, array->path, false, direct);
    run.sources.few = direct == RS_DIRECT_AUTO && plan->predicted.bytes_read < RS_DIRECT_BLOCK;
    rs_files_init(&run.targets, array, array->path, false, direct); /* none is opened */
    resplit_status rc = rs_run_blocks(&run, err);
    (void)rs_files_release(&run.targets, NULL);
    if (rc == RESPLIT_OK && streamed && problem->n_elements == array->info.n_elements) {
        rc = rs_stream_finish(&stream, rs_files_bytes(&run.sources, first), options, err);
    }
    if (streamed) {
        rs_stream_close(&stream);
    }
    return rc;
}
