/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * group.c - whole Zarr groups, array by array.
 *
 * A group is resplit in two passes: the first opens, creates and plans every array and touches nothing, so that what
 * cannot be done is told before anything is written; the second does it.
 */
#include "group.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "progress.h"

void cli_group_name_it(const char *name, resplit_error *err)
{
    resplit_error why = *err;
    size_t n = strlen(name);

    for (const char *at = strchr(why.message, '/'); at; at = strchr(at + 1, '/')) {
        if (strncmp(at + 1, name, n) == 0 && strchr("'/", at[n + 1]))
            return; /* a path says it already */
    }
    cli_fail(err, why.code, "array '%.200s': %.700s", name, why.message);
    err->sys_errno = why.sys_errno;
    err->needed_bytes = why.needed_bytes;
    err->resumable = why.resumable;
}

int cli_group_each(const struct cli_args *args, cli_visit *visit, void *payload, resplit_error *err)
{
    resplit_group *group = NULL;
    struct cli_list list = {0};
    int code = CLI_DONE;

    if (resplit_group_open(args->words[0], &group, err) != RESPLIT_OK)
        return CLI_FAILED;
    for (int64_t i = 0; code == CLI_DONE && i < resplit_group_count(group); i++) {
        struct cli_job job = {0};

        list.name = resplit_group_name(group, i);
        code = cli_job_source(&job, resplit_group_place(group, i), &args->options, err);
        if (code == CLI_DONE)
            code = visit(args, list.name, &job, &list, payload, err);
        if (code != CLI_DONE)
            cli_group_name_it(list.name, err);
        cli_job_close(&job);
    }
    if (code == CLI_DONE && args->options.json && !cli_json_list(&list, args->words[0], NULL, err))
        code = CLI_FAILED;
    cli_list_release(&list);
    resplit_group_close(group);
    return code;
}

/* ---- resplit SRC DST ---------------------------------------------------------------------------------------------- */

struct work {
    const struct cli_args *args;
    resplit_group *source;
    resplit_group *target;
    struct cli_job how; /* memory and device, found once for all arrays */
    struct cli_list list;
    int64_t n_done;
    int64_t n_cut; /* arrays that --chunks and --shards apply to */
};

/* What is said about one array cannot be said about all of a group. */
static int check_options(const struct cli_args *args, resplit_error *err)
{
    const struct cli_options *o = &args->options;
    const struct {
        bool given;
        const char *option;
    } ONE_ARRAY[] = {
        {o->roi.ndim > 0, "--roi"},
        {o->chunks_auto, "--chunks auto"},
        {o->pattern, "--pattern"},
        {o->shape.ndim > 0, "--shape"},
        {o->from.ndim > 0, "--from"},
        {o->dtype, "--dtype"},
        {o->order, "--order"},
        {o->from_pattern, "--from-pattern"},
        {o->skip > 0, "--skip"},
        {o->from_format, "--from-format"},
        {o->ome, "--ome"},
    };

    for (size_t i = 0; i < sizeof ONE_ARRAY / sizeof ONE_ARRAY[0]; i++) {
        if (ONE_ARRAY[i].given) {
            cli_fail(err, RESPLIT_EINVAL, "'%.300s' is a group, and %s is about one array: give one, as %.300s/NAME",
                     args->words[0], ONE_ARRAY[i].option, args->words[0]);
            return CLI_USAGE;
        }
    }
    if (cli_is_file_name(args->words[1])) {
        cli_fail(err, RESPLIT_EINVAL, "'%.300s' is a group of arrays, and '%.300s' would be one file: name a .zarr",
                 args->words[0], args->words[1]);
        return CLI_USAGE;
    }
    return CLI_DONE;
}

/* What is asked for of one array: chunks and shards when it has as many axes; with --all-levels,
   nothing of other arrays. */
static struct cli_options options_of(const struct work *work, int64_t i, int ndim)
{
    struct cli_options mine = work->args->options;
    bool is_level = resplit_group_is_level(work->source, i);

    mine.format = resplit_group_format(work->target, i);
    if (mine.all_levels && !is_level) {
        mine.codec = mine.to_order = mine.to_dtype = NULL;
        mine.chunks.ndim = mine.shards.ndim = 0;
    } else if (!mine.all_levels) {
        mine.chunks.ndim = mine.chunks.ndim == ndim ? ndim : 0;
        mine.shards.ndim = mine.shards.ndim == ndim ? ndim : 0;
    }
    return mine;
}

/* Source and target of array i. */
static int prepare(struct work *work, int64_t i, struct cli_job *job, resplit_error *err)
{
    job->in_group = true;
    job->device = work->how.device;
    job->how = work->how.how;
    job->how.device = &job->device;
    int code = cli_job_source(job, resplit_group_place(work->source, i), &work->args->options, err);
    if (code != CLI_DONE)
        return code;
    struct cli_options mine = options_of(work, i, resplit_array_info(job->source)->ndim);
    work->n_cut += mine.chunks.ndim > 0 || mine.shards.ndim > 0;
    return cli_job_target(job, resplit_group_place(work->target, i), &mine, mine.chunks.ndim ? &mine.chunks : NULL,
                          true, err);
}

/* The first pass over array i. */
static int try(struct work *work, int64_t i, resplit_error *err)
{
    struct cli_job job = {0};
    int code = prepare(work, i, &job, err);

    if (code == CLI_DONE && resplit_plan_make(job.source, job.target, &job.how, &job.plan, err) != RESPLIT_OK)
        code = CLI_FAILED;
    if (code == CLI_DONE && resplit_group_expect(work->target, job.source, job.target, err) != RESPLIT_OK)
        code = CLI_FAILED;
    if (code != CLI_DONE)
        cli_group_name_it(resplit_group_name(work->source, i), err);
    cli_job_close(&job);
    return code;
}

static int report(struct work *work, const struct cli_job *job, const resplit_result *done, resplit_error *err)
{
    struct cli_result result = cli_job_result(job, done);

    if (work->args->options.json)
        return cli_json_result(&result, &work->list, err) ? CLI_DONE : CLI_FAILED;
    if (!work->args->options.quiet)
        cli_report_change(work->list.name, &result);
    return CLI_DONE;
}

/* The second pass over array i. */
static int make(struct work *work, int64_t i, resplit_error *err)
{
    struct cli_job job = {0};
    resplit_result done = {0};
    int code = prepare(work, i, &job, err);

    work->list.name = resplit_group_name(work->source, i);
    if (code == CLI_DONE)
        code = cli_job_plan(&job, &work->args->options, err);
    if (code == CLI_DONE)
        code = cli_job_run(&job, &work->args->options, &done, err);
    if (code == CLI_DONE && resplit_group_done(work->target, err) != RESPLIT_OK)
        code = CLI_FAILED;
    if (code == CLI_DONE)
        code = report(work, &job, &done, err);
    if (code != CLI_DONE && err->code != RESPLIT_ECANCELED)
        cli_group_name_it(work->list.name, err);
    cli_job_close(&job);
    return code;
}

/* What an earlier run completed. */
static int skip(struct work *work, int64_t i, resplit_error *err)
{
    work->list.name = resplit_group_name(work->source, i);
    if (work->args->options.json)
        return cli_json_note("complete", &work->list, err) ? CLI_DONE : CLI_FAILED;
    if (!work->args->options.quiet)
        printf("%-20s  complete already\n", work->list.name);
    return CLI_DONE;
}

static int try_all(struct work *work, resplit_error *err)
{
    const struct cli_options *options = &work->args->options;
    int code = cli_job_how(&work->how, work->args->words[1], options, err);

    for (int64_t i = 0; code == CLI_DONE && i < resplit_group_count(work->source); i++)
        code = try(work, i, err);
    if (code == CLI_DONE && work->n_cut == 0 && (options->chunks.ndim > 0 || options->shards.ndim > 0)) {
        cli_fail(err, RESPLIT_EINVAL, "no array of '%.300s' has %d axes, as %s has lengths", work->args->words[0],
                 options->chunks.ndim > 0 ? options->chunks.ndim : options->shards.ndim,
                 options->chunks.ndim > 0 ? "--chunks" : "--shards");
        code = CLI_USAGE;
    }
    return code;
}

static int make_all(struct work *work, resplit_error *err)
{
    resplit_run_options how = cli_run_options(&work->args->options, NULL);
    const char *path = work->args->words[1];
    bool was_there = access(path, F_OK) == 0;
    int64_t n = resplit_group_count(work->source), i = 0;

    if (resplit_group_begin(work->target, &how, &work->n_done, err) != RESPLIT_OK)
        return CLI_FAILED;
    int code = CLI_DONE;
    for (; code == CLI_DONE && i < work->n_done; i++)
        code = skip(work, i, err);
    for (; code == CLI_DONE && i < n; i += code == CLI_DONE)
        code = make(work, i, err);
    if (code == CLI_DONE && resplit_group_finish(work->target, err) != RESPLIT_OK)
        code = CLI_FAILED;
    if (code != CLI_DONE) {
        err->resumable = err->resumable || i > 0;
        cli_job_left(path, was_there, err);
    }
    return code;
}

int cli_group_resplit(const struct cli_args *args, resplit_error *err)
{
    const struct cli_options *options = &args->options;
    struct work work = {.args = args};
    int code = check_options(args, err);

    if (code == CLI_DONE && resplit_group_open(args->words[0], &work.source, err) != RESPLIT_OK)
        code = CLI_FAILED;
    if (code == CLI_DONE && options->all_levels && resplit_group_levels(work.source, err) != RESPLIT_OK)
        code = CLI_FAILED;
    if (code == CLI_DONE
        && resplit_group_create(args->words[1], work.source, options->format, options->overwrite, &work.target, err)
               != RESPLIT_OK)
        code = CLI_FAILED;
    if (code == CLI_DONE)
        code = try_all(&work, err);
    if (code == CLI_DONE)
        code = make_all(&work, err);
    if (code == CLI_DONE && options->json && !cli_json_list(&work.list, args->words[1], NULL, err))
        code = CLI_FAILED;
    cli_list_release(&work.list);
    resplit_group_close(work.target);
    resplit_group_close(work.source);
    cli_job_close(&work.how);
    return code;
}
