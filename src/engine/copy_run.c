/* SPDX-License-Identifier: BSD-3-Clause */
/* copy_run.c - a run whose sink is the target's files. */
#include "engine/output.h"
#include "engine/run.h"

#include <fcntl.h>

/* A unit may come in slices: the first one makes a new block, the last one, which holds the last corner, ends it. */
static resplit_status write_unit(rs_run *run, const rs_step *step, const rs_box *box, void *memory, resplit_error *err)
{
    rs_block_file file;
    bool first = run->cursor.next < 0, last = true;
    for (int d = 0; d < run->problem->ndim; d++) {
        last = last && box->hi[d] == step->box.hi[d];
    }
    RS_TRY(rs_files_get(&run->targets, step->block, step->opens && first, &file, err));
    file.layout = &run->problem->target;
    file.stored = &step->stored;
    RS_TRY(rs_file_write_box(&file, box, memory, &run->cursor, err));
    return step->closes && last ? rs_files_close(&run->targets, step->block, err) : RESPLIT_OK;
}

static resplit_status run_kind(rs_run *run, const char *temp, resplit_error *err)
{
    char beside[RS_PATH_MAX];
    switch (run->plan->kind) {
    case RS_PLAN_BUFFERS: return rs_run_steps(run, err);
    case RS_PLAN_COPY: return rs_run_blocks(run, err);
    case RS_PLAN_SPILL: break;
    }
    if (temp == NULL) {
        RS_TRY(rs_path_parent(run->target->path, beside, err));
        temp = beside;
    }
    return rs_run_spill(run, temp, err);
}

resplit_status rs_run_copy(const rs_problem *problem, const rs_plan *plan, const resplit_array *source,
                           const resplit_array *target, const char *temp, const resplit_run_options *options,
                           resplit_cost *actual, resplit_error *err)
{
    rs_output output;
    rs_run run = {
        .problem = problem, .plan = plan, .source = source, .target = target, .options = options, .sink = write_unit};
    resplit_status rc = rs_output_begin(&output, target, source, err);
    if (rc == RESPLIT_OK) {
        rs_files_init(&run.targets, target, output.part, O_WRONLY);
        rc = run_kind(&run, temp, err);
        rs_files_release(&run.targets);
    }
    if (rc == RESPLIT_OK) {
        rc = rs_output_publish(&output, err);
    }
    rs_output_abandon(&output);
    if (actual != NULL) {
        *actual = run.actual;
    }
    return rc;
}
