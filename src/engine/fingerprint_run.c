/* SPDX-License-Identifier: BSD-3-Clause */
/* fingerprint_run.c - a run that only reads: its sink forgets what it is given, whose fingerprint was taken
   on the way. */
#include "engine/run.h"

static resplit_status forget(rs_worker *worker, const rs_step *step, const rs_box *box, char *memory,
                             resplit_error *err)
{
    const rs_problem *problem = worker->run->problem;
    (void)step;
    (void)memory;
    (void)err;
    worker->cursor.bytes += rs_box_volume(problem->ndim, box) * problem->itemsize;
    return RESPLIT_OK;
}

static resplit_status forget_whole(rs_worker *worker, const rs_step *step, const rs_piece *pieces,
                                   uint64_t *fingerprint, resplit_error *err)
{
    (void)fingerprint;                                                  /* the run is a copy, and took it */
    return forget(worker, step, &step->stored, pieces->view.base, err); /* as the plan counts it */
}

resplit_status rs_run_fingerprint(const rs_problem *problem, const rs_plan *plan, const resplit_array *array,
                                  const resplit_run_options *options, uint64_t *out, resplit_error *err)
{
    resplit_array plain;
    array = rs_array_seen(array, problem->source.sequential, &plain);
    rs_run run = {.problem = problem,
                  .plan = plan,
                  .source = array,
                  .target = array,
                  .options = options,
                  .sink = forget,
                  .whole_sink = forget_whole,
                  .only_reads = true};
    rs_direct direct;
    RS_TRY(rs_run_direct(options, &direct, err));
    rs_files_init(&run.sources, array, array->path, false, direct);
    rs_files_init(&run.targets, array, array->path, false, direct); /* none is opened */
    resplit_status rc = rs_run_blocks(&run, err);
    (void)rs_files_release(&run.targets, NULL);
    *out = rs_fingerprint_finish(run.written_fingerprint, array->dtype.descr, problem->ndim, problem->shape);
    return rc;
}
