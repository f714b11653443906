/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cmd_resplit.c - `resplit SRC DST`, split, merge and extract: one implementation, a table of what each insists on.
 */
#include "advice.h"
#include "commands.h"
#include "group.h"

static const struct manner {
    enum cli_command_id id;
    bool needs_one_source; /* SRC must be one block                                  */
    bool needs_chunks;     /* even when DST names one file                           */
    bool may_be_one_block; /* a folder without --chunks gets one block               */
    bool needs_roi;
} MANNERS[] = {
    {.id = CLI_CONVERT},
    {.id = CLI_MPI},
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
    bool has_chunks = options->chunks.ndim > 0 || options->chunks_auto;

    if (manner->needs_roi && options->roi.ndim == 0) {
        cli_fail(err, RESPLIT_EINVAL, "--roi is missing: name the region, one slice per axis, as --roi 10:20,:,0:512");
        return CLI_USAGE;
    }
    if (manner->needs_chunks && !has_chunks) {
        cli_fail(err, RESPLIT_EINVAL,
                 "--chunks is missing: say how to cut the array, one length per axis, as --chunks 64,64,64");
        return CLI_USAGE;
    }
    if (!has_chunks && !manner->may_be_one_block && !cli_is_file_name(target) && !cli_is_store(target, options)) {
        cli_fail(
            err, RESPLIT_EINVAL,
            "--chunks is missing: '%.200s' is to be a folder of blocks, so say how to cut it, one length per axis, "
            "as --chunks 64,64,64; for one file, name it '%.200s.npy'",
            target, target);
        return CLI_USAGE;
    }
    if (options->all_levels) {
        cli_fail(err, RESPLIT_EINVAL,
                 "--all-levels is about the levels of an image, which is a Zarr group, and '%.300s' is none",
                 args->words[0]);
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

int cli_open_both(const struct cli_args *args, struct cli_job *job, resplit_error *err)
{
    const struct manner *manner = manner_of(args->id);
    const struct cli_options *options = &args->options;
    const struct cli_chunks *chunks = options->chunks.ndim ? &options->chunks : NULL;

    int code = check_options(manner, args, err);
    if (code == CLI_DONE)
        code = cli_job_source(job, args->words[0], options, err);
    if (code == CLI_DONE)
        code = check_source(manner, args, job, err);
    if (code == CLI_DONE)
        code = cli_advise_chunks(job, args->words[1], options, &chunks, err);
    if (code == CLI_DONE)
        code = cli_job_target(job, args->words[1], options, chunks, options->overwrite, err);
    return code;
}

int cli_cmd_resplit(const struct cli_args *args, resplit_error *err)
{
    const struct cli_options *options = &args->options;
    struct cli_job job = {0};
    resplit_result done = {0};

    if (args->id == CLI_CONVERT && resplit_is_group(args->words[0])) {
        if (options->part.n == 0)
            return cli_group_resplit(args, err);
        cli_fail(err, RESPLIT_EINVAL, "'%.300s' is a group, and partitions are of one array: name an array in it",
                 args->words[0]);
        return CLI_USAGE;
    }
    int code = cli_open_both(args, &job, err);
    if (code == CLI_DONE)
        code = cli_job_plan(&job, options, err);
    if (code == CLI_DONE)
        code = cli_job_run(&job, options, &done, err);
    if (code == CLI_DONE)
        code = cli_job_report(&job, options, &done, err);
    cli_job_close(&job);
    return code;
}
