/* SPDX-License-Identifier: BSD-3-Clause */
/* blocks_run.c - runs a copy: every block from one file into another, through staging, as it is. */
#include "engine/run.h"

#include "geometry/slices.h"

/* Reads and writes go forward together; each file has a cursor of its own. */
static resplit_status copy_block(rs_run *run, const rs_step *read, const rs_step *write, resplit_error *err)
{
    const rs_problem *problem = run->problem;
    int64_t items = run->plan->staging_bytes / problem->itemsize;
    rs_block_file from;
    rs_slices slices;
    rs_box slice;
    RS_TRY(rs_run_open_source(run, read, &from, err));
    rs_cursor reading = run->cursor, writing = {.next = -1};
    bool empty = rs_box_volume(problem->ndim, &write->box) == 0;
    rs_slices_init(&slices, problem->ndim, problem->target.order, &write->box, items);
    while (rs_slices_next(&slices, &slice)) {
        RS_TRY(rs_file_read_box(&from, &slice, run->staging[0], &reading, err));
        run->cursor = writing;
        RS_TRY(run->sink(run, write, &slice, run->staging[0], err));
        writing = run->cursor;
    }
    run->actual.read_seeks += reading.seeks;
    run->actual.bytes_read += reading.bytes;
    run->actual.write_seeks += writing.seeks;
    run->actual.bytes_written += writing.bytes;
    run->done += writing.bytes;
    return empty ? run->sink(run, write, &write->box, run->staging[0], err) : RESPLIT_OK;
}

resplit_status rs_run_blocks(rs_run *run, resplit_error *err)
{
    rs_steps steps;
    rs_step read, write;
    resplit_status rc = rs_run_begin(run, err);
    rs_steps_init(&steps, run->problem, run->plan);
    /* Buffers are blocks: each is one READ and one WRITE. */
    while (rc == RESPLIT_OK && rs_steps_next(&steps, &read) && rs_steps_next(&steps, &write)) {
        rc = copy_block(run, &read, &write, err);
        if (rc == RESPLIT_OK) {
            rc = rs_run_report(run, err);
        }
    }
    rs_run_end(run);
    return rc;
}
