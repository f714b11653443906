/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cmd_resplit.c - `resplit SRC DST`, split, merge and extract: one implementation, a table of what each insists on.
 */
#include <stdio.h>
#include <unistd.h>

#include "commands.h"
#include "job.h"
#include "progress.h"

static const struct manner {
    enum cli_command_id id;
    bool needs_one_source; /* SRC must be one block                                  */
    bool needs_chunks;     /* even when DST names one file                           */
    bool may_be_one_block; /* a folder without --chunks gets one block               */
    bool needs_roi;
} MANNERS[] = {
    {.id = CLI_CONVERT},
    {.id = CLI_SPLIT, .needs_one_source = true, .needs_chunks = true},
    {.id = CLI_MERGE, .may_be_one_block = true},
    {.id = CLI_EXTRACT, .may_be_one_block = true, .needs_roi = true},
};

static const struct manner *manner_of(enum cli_command_id id)
{
    size_t i = 0;

    while (MANNERS[i].id != id)
        i++;
    return &MANNERS[i];
}

/* What can be said before anything is opened. */
static int check_options(const struct manner *manner, const struct cli_args *args, resplit_error *err)
{
    const struct cli_options *options = &args->options;
    const char *target = args->words[1];
    bool has_chunks = options->chunks.ndim > 0;

    if (manner->needs_roi && options->roi.ndim == 0) {
        cli_fail(err, RESPLIT_EINVAL, "--roi is missing: name the region, one slice per axis, as --roi 10:20,:,0:512");
        return CLI_USAGE;
    }
    if (manner->needs_chunks && !has_chunks) {
        cli_fail(err, RESPLIT_EINVAL,
                 "--chunks is missing: say how to cut the array, one length per axis, as --chunks 64,64,64");
        return CLI_USAGE;
    }
    if (!has_chunks && !manner->may_be_one_block && !cli_is_file_name(target)) {
        cli_fail(
            err, RESPLIT_EINVAL,
            "--chunks is missing: '%.200s' is to be a folder of blocks, so say how to cut it, one length per axis, "
            "as --chunks 64,64,64; for one file, name it '%.200s.npy'",
            target, target);
        return CLI_USAGE;
    }
    return CLI_DONE;
}

static int check_source(const struct manner *manner, const struct cli_args *args, const struct cli_job *job,
                        resplit_error *err)
{
    const resplit_info *source = resplit_array_info(job->source);

    if (!manner->needs_one_source || source->n_blocks <= 1)
        return CLI_DONE;
    cli_fail(
        err, RESPLIT_EINVAL,
        "'%.200s' is a grid of %lld blocks and 'split' takes one: 'resplit SRC DST --chunks ...' cuts any grid anew",
        args->words[0], (long long)source->n_blocks);
    return CLI_USAGE;
}

static int run_job(const struct cli_args *args, const struct cli_job *job, resplit_cost *actual, double *seconds,
                   resplit_error *err)
{
    struct cli_progress progress;
    bool was_there = access(args->words[1], F_OK) == 0;

    cli_progress_begin(&progress, !args->options.quiet);
    double start = cli_now();
    resplit_run_options options = {.progress = cli_progress_step, .payload = &progress};
    resplit_status status = resplit_run(job->plan, job->source, job->target, &options, actual, err);
    *seconds = cli_now() - start;
    cli_progress_end(&progress);
    if (status == RESPLIT_ECANCELED && was_there)
        cli_fail(err, status, "interrupted: '%.500s' is as it was", args->words[1]);
    else if (status == RESPLIT_ECANCELED)
        cli_fail(err, status, "interrupted: nothing was left at '%.500s'", args->words[1]);
    return status == RESPLIT_OK ? CLI_DONE : CLI_FAILED;
}

static int report(const struct cli_args *args, const struct cli_job *job, const resplit_cost *actual, double seconds,
                  resplit_error *err)
{
    struct cli_result result = cli_job_result(job, actual, seconds);

    if (args->options.json)
        return cli_json_result(&result, err) ? CLI_DONE : CLI_FAILED;
    if (!args->options.quiet)
        cli_report_result(&result);
    return CLI_DONE;
}

int cli_cmd_resplit(const struct cli_args *args, resplit_error *err)
{
    const struct manner *manner = manner_of(args->id);
    const struct cli_options *options = &args->options;
    const struct cli_chunks *chunks = options->chunks.ndim ? &options->chunks : NULL;
    struct cli_job job = {0};
    resplit_cost actual = {0};
    double seconds = 0;

    int code = check_options(manner, args, err);
    if (code == CLI_DONE)
        code = cli_job_source(&job, args->words[0], options, err);
    if (code == CLI_DONE)
        code = check_source(manner, args, &job, err);
    if (code == CLI_DONE)
        code = cli_job_target(&job, args->words[1], options, chunks, options->overwrite, err);
    if (code == CLI_DONE)
        code = cli_job_plan(&job, options, err);
    if (code == CLI_DONE)
        code = run_job(args, &job, &actual, &seconds, err);
    if (code == CLI_DONE)
        code = report(args, &job, &actual, seconds, err);
    cli_job_close(&job);
    return code;
}
