/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_fingerprint.c - `resplit fingerprint`: a number for the values of an array, whatever its layout. */
#include "commands.h"
#include "group.h"
#include "progress.h"

static int take(const struct cli_options *options, const resplit_array *array, uint64_t *out, resplit_error *err)
{
    struct cli_progress progress;
    int64_t memory;
    int code = cli_memory(options, &memory, err);

    if (code != CLI_DONE)
        return code;
    cli_progress_begin(&progress, !options->quiet);
    resplit_run_options how = cli_run_options(options, &progress);
    resplit_status status = resplit_fingerprint(array, memory, &how, out, err);
    cli_progress_end(&progress);
    if (status == RESPLIT_ECANCELED)
        cli_fail(err, status, "interrupted: not everything was read");
    return status == RESPLIT_OK ? CLI_DONE : CLI_FAILED;
}

static int take_one(const struct cli_args *args, const char *name, const struct cli_job *job, struct cli_list *list,
                    void *payload, resplit_error *err)
{
    uint64_t fingerprint = 0;
    int code = take(&args->options, job->source, &fingerprint, err);

    (void)payload;
    if (name && code == CLI_FAILED && err->code == RESPLIT_EUNSUPPORTED)
        code = CLI_DONE; /* among others, one that cannot be decoded has none */
    if (code == CLI_DONE && args->options.json)
        code = cli_json_fingerprint(resplit_array_info(job->source), fingerprint, list, err) ? CLI_DONE : CLI_FAILED;
    else if (code == CLI_DONE)
        cli_report_fingerprint(resplit_array_info(job->source), fingerprint);
    return code;
}

int cli_cmd_fingerprint(const struct cli_args *args, resplit_error *err)
{
    struct cli_job job = {0};
    struct cli_args mine = *args; /* with the memory, so that it is told of once */
    int code = CLI_DONE;

    if (resplit_is_group(args->words[0])) {
        code = cli_memory(&args->options, &mine.options.memory, err);
        return code == CLI_DONE ? cli_group_each(&mine, take_one, NULL, err) : code;
    }
    code = cli_job_source(&job, args->words[0], &args->options, err);
    if (code == CLI_DONE)
        code = take_one(args, NULL, &job, NULL, NULL, err);
    cli_job_close(&job);
    return code;
}
