/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * job.h - from options to a source, a target and a plan: what running and planning have in common.
 *
 *     options -- cli_job_source --> source -- cli_job_target --> target -- cli_job_plan --> plan
 *
 * Each step returns a cli_exit and, when that is not CLI_DONE, one sentence in `err`. cli_job_close ends whatever was
 * made so far.
 */
#ifndef RS_CLI_JOB_H
#define RS_CLI_JOB_H

#include "options.h"
#include "progress.h"
#include "report.h"

struct cli_job {
    resplit_array *source;
    resplit_array *target;
    resplit_plan *plan;
    resplit_device device;
    resplit_plan_options how;     /* memory 0: not yet known */
    struct cli_proposal proposal; /* of --chunks auto */
    struct cli_chunks proposed;   /* the same, as chunks */
    bool in_group;                /* one array of several: what is left of a run is for the group to say */
    const char *path;             /* of the target, borrowed; NULL: none, or not yet known */
    bool has_roi;
    int64_t roi_start[RESPLIT_MAX_NDIM];
    int64_t roi_stop[RESPLIT_MAX_NDIM];
};

/* Opens `path`; NULL: only describes the source by --shape, --dtype, --from. */
int cli_job_source(struct cli_job *job, const char *path, const struct cli_options *options, resplit_error *err);

/* The target of a job, cut by `chunks` (NULL: one block). `path` may be NULL. */
int cli_job_target(struct cli_job *job, const char *path, const struct cli_options *options,
                   const struct cli_chunks *chunks, bool overwrite, resplit_error *err);

/*
 * Another target for the same source, by the same rules, without a path: for planning only. `chunks` has as many
 * lengths as the source has axes. The region of interest must have been resolved.
 */
resplit_status cli_job_try(const struct cli_job *job, const struct cli_options *options, const resplit_chunks *chunks,
                           resplit_array **target, resplit_error *err);

/* The region of interest, from the options. */
int cli_job_region(struct cli_job *job, const struct cli_options *options, resplit_error *err);

/* Memory, device and the rest of what a planner is told: job->how, once. `path` is the target's, or NULL. */
int cli_job_how(struct cli_job *job, const char *path, const struct cli_options *options, resplit_error *err);

/* The same, when memory and job->device are known. */
void cli_job_set_how(struct cli_job *job, const struct cli_options *options, int64_t memory);

/* Makes a plan, or takes that of the run to resume. */
int cli_job_plan(struct cli_job *job, const struct cli_options *options, resplit_error *err);

/* How to run, as the options say. */
resplit_run_options cli_run_options(const struct cli_options *options, struct cli_progress *progress);

/* Runs the plan, with a bar on a terminal; then prints what was done, unless it is to be quiet. */
int cli_job_run(const struct cli_job *job, const struct cli_options *options, resplit_result *done, resplit_error *err);
int cli_job_report(const struct cli_job *job, const struct cli_options *options, const resplit_result *done,
                   resplit_error *err);

/* Says in `err` what a run that did not come to its end left at `path`, and how to go on. */
void cli_job_left(const char *path, bool was_there, resplit_error *err);

void cli_job_close(struct cli_job *job);

/* What there is to report about a job; `done` is NULL when it was not run. */
struct cli_result cli_job_result(const struct cli_job *job, const resplit_result *done);

/* The description of a raw source, from the options. Borrows from them. */
int cli_spec(const struct cli_options *options, resplit_spec *spec, resplit_error *err);

/* --memory, or the default, which is told on stderr. */
int cli_memory(const struct cli_options *options, int64_t *memory, resplit_error *err);

/* Will the target be Zarr or HDF5, which keeps the chunks of its source when none are given? */
bool cli_is_store(const char *path, const struct cli_options *options);

/* Would this path hold one file, by its suffix? The rule is resplit_target.folder's. */
bool cli_is_file_name(const char *path);

#endif
