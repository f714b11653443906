/* SPDX-License-Identifier: BSD-3-Clause */
/* job.c - the library's objects, made from the command line. Checks what only the command line can have wrong. */
#include "job.h"

#include <stdio.h>
#include <string.h>

#include "batch.h"

/* A library call's answer as an exit code. */
static int exit_of(resplit_status status)
{
    return status == RESPLIT_OK ? CLI_DONE : CLI_FAILED;
}

bool cli_is_file_name(const char *path)
{
    static const char *const SUFFIXES[] = {".npy", ".raw", ".bin"};
    size_t n = strlen(path);

    for (size_t i = 0; i < sizeof SUFFIXES / sizeof SUFFIXES[0]; i++) {
        if (n > 4 && strcmp(path + n - 4, SUFFIXES[i]) == 0)
            return true;
    }
    return false;
}

int cli_memory(const struct cli_options *options, int64_t *memory, resplit_error *err)
{
    const char *source;
    char text[CLI_BYTES_TEXT];

    *memory = options->memory;
    if (*memory > 0)
        return CLI_DONE;
    *memory = cli_memory_default(&source);
    if (*memory <= 0) {
        cli_fail(err, RESPLIT_EINVAL,
                 "cannot tell how much memory is available: say how much to use, as --memory 1GiB");
        return CLI_FAILED;
    }
    cli_format_bytes(*memory, text);
    if (!options->quiet)
        fprintf(stderr, "memory: %s (half of %s)\n", text, source);
    return CLI_DONE;
}

int cli_spec(const struct cli_options *options, resplit_spec *spec, resplit_error *err)
{
    const struct cli_shape *shape = &options->shape;
    const struct cli_chunks *from = &options->from;

    *spec = (resplit_spec){0};
    if (shape->ndim && from->ndim && shape->ndim != from->ndim) {
        cli_fail(err, RESPLIT_EINVAL, "--shape has %d %s and --from has %d", shape->ndim,
                 shape->ndim == 1 ? "axis" : "axes", from->ndim);
        return CLI_USAGE;
    }
    spec->format = options->from_format;
    spec->dtype = options->dtype;
    spec->order = options->order ? options->order[0] : 0;
    spec->ndim = shape->ndim ? shape->ndim : from->ndim;
    spec->shape = shape->ndim ? shape->extent : NULL;
    spec->chunks = from->ndim ? from->axis : NULL;
    spec->pattern = options->from_pattern;
    spec->skip = options->skip;
    return CLI_DONE;
}

int cli_job_source(struct cli_job *job, const char *path, const struct cli_options *options, resplit_error *err)
{
    resplit_spec spec;
    int code = cli_spec(options, &spec, err);

    if (code != CLI_DONE)
        return code;
    if (path)
        return exit_of(resplit_array_open(path, &spec, &job->source, err));
    return exit_of(resplit_array_describe(&spec, &job->source, err));
}

int cli_job_target(struct cli_job *job, const char *path, const struct cli_options *options,
                   const struct cli_chunks *chunks, bool overwrite, resplit_error *err)
{
    const resplit_info *source = resplit_array_info(job->source);
    resplit_target target = {.format = options->format, .pattern = options->pattern, .overwrite = overwrite};

    if (chunks && chunks->ndim != source->ndim) {
        cli_fail(err, RESPLIT_EINVAL, "--chunks has %d %s and the array has %d %s: write one length per axis",
                 chunks->ndim, chunks->ndim == 1 ? "length" : "lengths", source->ndim,
                 source->ndim == 1 ? "axis" : "axes");
        return CLI_USAGE;
    }
    job->has_roi = options->roi.ndim > 0;
    if (job->has_roi) {
        if (!cli_roi_resolve(&options->roi, source->ndim, source->shape, job->roi_start, job->roi_stop, err))
            return CLI_USAGE;
        target.roi_start = job->roi_start;
        target.roi_stop = job->roi_stop;
    }
    target.chunks = chunks ? chunks->axis : NULL;
    target.ndim = chunks || job->has_roi ? source->ndim : 0;
    return exit_of(resplit_array_create(path, job->source, &target, &job->target, err));
}

int cli_job_plan(struct cli_job *job, const struct cli_options *options, resplit_error *err)
{
    resplit_plan_options plan_options = {.strategy = options->strategy};
    int code = cli_memory(options, &plan_options.memory, err);

    if (code != CLI_DONE)
        return code;
    return exit_of(resplit_plan_make(job->source, job->target, &plan_options, &job->plan, err));
}

void cli_job_close(struct cli_job *job)
{
    resplit_plan_free(job->plan);
    resplit_array_close(job->target);
    resplit_array_close(job->source);
    *job = (struct cli_job){0};
}

struct cli_result cli_job_result(const struct cli_job *job, const resplit_cost *actual, double seconds)
{
    return (struct cli_result){
        .source = resplit_array_info(job->source),
        .target = resplit_array_info(job->target),
        .plan = resplit_plan_info(job->plan),
        .roi_start = job->has_roi ? job->roi_start : NULL,
        .roi_stop = job->has_roi ? job->roi_stop : NULL,
        .actual = actual,
        .seconds = seconds,
    };
}
