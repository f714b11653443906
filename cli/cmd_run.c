/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_run.c - `resplit run PLAN`: does what `resplit plan --save PLAN` predicted, after the library has checked all of it. */
#include "commands.h"
#include "job.h"

/* The region, for the report: the public view of a target says where it lies in its source. */
static void set_roi(struct cli_job *job)
{
    const resplit_info *source = resplit_array_info(job->source), *target = resplit_array_info(job->target);

    for (int d = 0; d < target->ndim; d++) {
        job->roi_start[d] = target->origin[d];
        job->roi_stop[d] = target->origin[d] + target->shape[d];
        job->has_roi = job->has_roi || target->shape[d] != source->shape[d];
    }
}

int cli_cmd_run(const struct cli_args *args, resplit_error *err)
{
    struct cli_job job = {0};
    resplit_result done = {0};

    if (resplit_plan_load(args->words[0], &job.source, &job.target, &job.plan, err) != RESPLIT_OK)
        return CLI_FAILED;
    set_roi(&job);
    if (args->options.overwrite) /* which a plan file cannot allow, only whoever runs it */
        resplit_array_overwrite(job.target);
    int code = cli_job_run(&job, &args->options, &done, err);
    if (code == CLI_DONE)
        code = cli_job_report(&job, &args->options, &done, err);
    cli_job_close(&job);
    return code;
}
