/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_run.c - `resplit run PLAN`: does what `resplit plan --save PLAN` predicted, after the library has checked
   all of it. */
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

/* Of a plan of all partitions the one that is asked for: as an earlier run left it, or planned now. */
static int take_part(struct cli_job *job, const struct cli_options *options, resplit_error *err)
{
    const resplit_plan_summary *plan = resplit_plan_info(job->plan);
    const struct cli_part *part = &options->part;
    resplit_plan *one = NULL;

    if (part->n == 0 && (plan->n_parts == 0 || plan->part > 0))
        return CLI_DONE;
    if (part->n == 0 || part->n != plan->n_parts || (plan->part > 0 && plan->part != part->part)) {
        cli_fail(err, RESPLIT_EINVAL,
                 plan->n_parts == 0 ? "this plan is of the whole: save one with --parts %lld to run it in partitions"
                                    : "this plan is of %lld partitions: run them one by one, as --part 1/%lld",
                 (long long)(plan->n_parts == 0 ? part->n : plan->n_parts), (long long)plan->n_parts);
        return CLI_USAGE;
    }
    if (plan->part > 0)
        return CLI_DONE;
    resplit_status status = options->resume
                                ? resplit_plan_resume_part(job->source, job->target, part->part, part->n, &one, err)
                                : RESPLIT_OK;
    if (status == RESPLIT_OK && !one)
        status = resplit_plan_part(job->plan, job->source, job->target, part->part, &one, err);
    if (status != RESPLIT_OK)
        return CLI_FAILED;
    resplit_plan_free(job->plan);
    job->plan = one;
    return CLI_DONE;
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
    int code = take_part(&job, &args->options, err);
    if (code == CLI_DONE)
        code = cli_job_run(&job, &args->options, &done, err);
    if (code == CLI_DONE)
        code = cli_job_report(&job, &args->options, &done, err);
    cli_job_close(&job);
    return code;
}
