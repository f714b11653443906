/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_plan.c - `resplit plan`: what a run would do and cost, for files that are there or only described. */
#include "advice.h"
#include "commands.h"
#include "job.h"
#include "parts.h"

static int check_options(const struct cli_args *args, const struct cli_chunks *chunks, resplit_error *err)
{
    const struct cli_options *options = &args->options;

    if (args->n_words == 0 && (options->shape.ndim == 0 || !options->dtype)) {
        cli_fail(
            err, RESPLIT_EINVAL,
            "nothing to plan for: name files, as SRC DST, or describe them, as --shape 3500,3025,3850 --dtype uint16 "
            "--from 700,605,770 --to -1,-1,-1");
        return CLI_USAGE;
    }
    /* one file is one block; a store keeps the chunks of the source */
    bool may_do_without =
        args->n_words == 2 && (cli_is_file_name(args->words[1]) || cli_is_store(args->words[1], options));
    if (!chunks && !options->chunks_auto && !may_do_without) {
        cli_fail(err, RESPLIT_EINVAL,
                 "--chunks is missing: say how the target is to be cut, one length per axis, as --chunks 64,64,64 "
                 "(-1: the whole axis), or --chunks auto");
        return CLI_USAGE;
    }
    if (options->save && args->n_words < 2) {
        cli_fail(err, RESPLIT_EINVAL, "--save needs files: name SRC and DST, or nobody could run the plan");
        return CLI_USAGE;
    }
    return CLI_DONE;
}

static int report(const struct cli_args *args, const struct cli_job *job, resplit_error *err)
{
    struct cli_result result = cli_job_result(job, NULL);
    struct cli_choices choices;
    struct cli_neighbour neighbour;

    if (!cli_choices_make(job->source, job->target, &job->how, job->plan, &choices, err))
        return CLI_FAILED;
    if (args->options.curve && !cli_choices_curve(job->source, job->target, &job->how, &choices, err))
        return CLI_FAILED;
    int code = cli_advise_neighbour(job, &args->options, &neighbour, err);
    if (code != CLI_DONE)
        return code;
    result.choices = &choices;
    result.neighbour = args->options.chunks_auto ? NULL : &neighbour;
    if (args->options.json)
        return cli_json_result(&result, NULL, err) ? CLI_DONE : CLI_FAILED;
    cli_report_result(&result);
    return CLI_DONE;
}

int cli_cmd_plan(const struct cli_args *args, resplit_error *err)
{
    const struct cli_options *options = &args->options;
    const struct cli_chunks *chunks = options->to.ndim ? &options->to : options->chunks.ndim ? &options->chunks : NULL;
    struct cli_job job = {0};

    int code = check_options(args, chunks, err);
    if (code == CLI_DONE)
        code = cli_job_source(&job, args->n_words > 0 ? args->words[0] : NULL, options, err);
    if (code == CLI_DONE)
        code = cli_advise_chunks(&job, args->n_words > 1 ? args->words[1] : NULL, options, &chunks, err);
    /* A target that is already there does not change what a run would cost. */
    if (code == CLI_DONE)
        code = cli_job_target(&job, args->n_words > 1 ? args->words[1] : NULL, options, chunks, true, err);
    if (code == CLI_DONE)
        code = cli_job_plan(&job, options, err);
    if (code == CLI_DONE && options->save
        && resplit_plan_save(job.plan, job.source, job.target, options->save, err) != RESPLIT_OK)
        code = CLI_FAILED;
    if (code == CLI_DONE && options->picture && resplit_plan_picture(job.plan, options->picture, err) != RESPLIT_OK)
        code = CLI_FAILED;
    if (code == CLI_DONE)
        code = options->parts > 0    ? cli_parts_report(&job, options, err)
               : options->part.n > 0 ? cli_job_report(&job, options, NULL, err)
                                     : report(args, &job, err);
    cli_job_close(&job);
    return code;
}
