/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_finish.c - `resplit finish PLAN|DST`: partitions become one array. */
#include "commands.h"
#include "parts.h"

#include <sys/stat.h>

/* Partitions beside the path say what they are; else it is a plan of them. */
static resplit_status load(const char *path, struct cli_job *job, resplit_error *err)
{
    struct stat st;
    int64_t n;
    resplit_status status = resplit_parts_found(path, &n, err);

    if (status != RESPLIT_OK)
        return status;
    if (n > 0)
        return resplit_parts_load(path, &job->source, &job->target, &job->plan, err);
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) {
        cli_fail(err, RESPLIT_EINVAL,
                 "there are no partitions to finish beside '%.500s': it was finished, or none was run", path);
        return RESPLIT_EINVAL;
    }
    status = resplit_plan_load(path, &job->source, &job->target, &job->plan, err);
    if (status == RESPLIT_OK && resplit_plan_info(job->plan)->n_parts == 0) {
        cli_fail(err, RESPLIT_EINVAL, "the plan '%.500s' is of the whole, not of partitions: 'resplit run' runs it",
                 path);
        return RESPLIT_EINVAL;
    }
    return status;
}

int cli_cmd_finish(const struct cli_args *args, resplit_error *err)
{
    struct cli_job job = {0};
    resplit_result done = {0};
    resplit_run_options how = {.sync = args->options.sync};
    int code = load(args->words[0], &job, err) == RESPLIT_OK ? CLI_DONE : CLI_FAILED;
    int64_t n = code == CLI_DONE ? resplit_plan_info(job.plan)->n_parts : 0;

    if (code == CLI_DONE && args->options.overwrite)
        resplit_array_overwrite(job.target);
    if (code == CLI_DONE && resplit_finish(job.source, job.target, n, &how, &done, err) != RESPLIT_OK)
        code = CLI_FAILED;
    if (code == CLI_DONE)
        code = cli_parts_finished(&job, &args->options, n, 0, &done, err);
    cli_job_close(&job);
    return code;
}
