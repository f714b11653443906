/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run.h - executes the steps of a plan.
 *
 *     READ step:  source block --- slices ---> staging --- scatter ---> pending units
 *     WRITE step: pending unit --- gather (when in pieces) ---> sink:  the target's file, or a comparison with it
 */
#ifndef RS_RUN_H
#define RS_RUN_H

#include "engine/files.h"
#include "engine/pending.h"
#include "plan/steps.h"

enum { RS_LONG_RUN = 256 * 1024 }; /* bytes */

typedef struct rs_run rs_run;

/* What becomes of a complete unit. `memory` holds `box` in the target's order and may be changed. */
typedef resplit_status rs_sink(rs_run *run, const rs_step *step, const rs_box *box, void *memory, resplit_error *err);

struct rs_run {
    const rs_problem *problem;
    const rs_plan *plan;
    const resplit_array *source, *target;
    const resplit_run_options *options; /* may be NULL */
    rs_sink *sink;
    bool sliced; /* the sink wants no more than a staging area at a time */
    void *sink_state;

    rs_files sources, targets;
    rs_cursor cursor; /* of the current step */
    rs_budget *budget;
    rs_pending pending;
    void *staging[2];
    int64_t held; /* bytes */
    int64_t done; /* bytes handed to the sink */
    int64_t last_report;
    resplit_cost actual;
};

/* Runs all steps of a plan of buffers. The caller has filled the first group of fields and opened `targets`. */
resplit_status rs_run_steps(rs_run *run, resplit_error *err);

/* The same for the other kinds of plan. temp: folder for a temporary file. */
resplit_status rs_run_blocks(rs_run *run, resplit_error *err);
resplit_status rs_run_spill(rs_run *run, const char *temp, resplit_error *err);

/* What all kinds share: budget, staging and source files; the source block of a step, open, with a fresh cursor; telling the
   caller how far we are. rs_run_end also after a begin that failed. */
resplit_status rs_run_begin(rs_run *run, resplit_error *err);
void rs_run_end(rs_run *run);
resplit_status rs_run_open_source(rs_run *run, const rs_step *step, rs_block_file *file, resplit_error *err);
resplit_status rs_run_report(rs_run *run, resplit_error *err);

/* Copies the source into the target: checks, runs, publishes. temp: folder for a temporary file; NULL: beside the target. */
resplit_status rs_run_copy(const rs_problem *problem, const rs_plan *plan, const resplit_array *source,
                           const resplit_array *target, const char *temp, const resplit_run_options *options,
                           resplit_cost *actual, resplit_error *err);

/* Compares the values of two arrays of the same shape and type. */
resplit_status rs_run_compare(const rs_problem *problem, const rs_plan *plan, const resplit_array *a,
                              const resplit_array *b, const resplit_run_options *options, resplit_difference *out,
                              resplit_error *err);

#endif
