/* SPDX-License-Identifier: BSD-3-Clause */
/* job.c - the library's objects, made from the command line. Checks what only the command line can have wrong. */
#include "job.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "batch.h"
#include "progress.h"
#include "device.h"

/* A library call's answer as an exit code. */
static int exit_of(resplit_status status)
{
    return status == RESPLIT_OK ? CLI_DONE : CLI_FAILED;
}

bool cli_is_file_name(const char *path)
{
    static const char *const SUFFIXES[] = {".npy",    ".raw", ".bin", ".dat",    ".nii",
                                           ".nii.gz", ".img", ".hdr", ".img.gz", ".hdr.gz"};
    size_t n = strlen(path);

    for (size_t i = 0; i < sizeof SUFFIXES / sizeof SUFFIXES[0]; i++) {
        size_t k = strlen(SUFFIXES[i]);

        if (n > k && strcmp(path + n - k, SUFFIXES[i]) == 0)
            return true;
    }
    return false;
}

/* "a.h5", "a.h5:/b" */
static bool is_hdf5(const char *path)
{
    static const char *const SUFFIXES[] = {".h5", ".hdf5", ".he5", ".nc", ".nc4", ".mnc"};

    for (size_t i = 0; i < sizeof SUFFIXES / sizeof SUFFIXES[0]; i++) {
        size_t n = strlen(SUFFIXES[i]);
        for (const char *at = strstr(path, SUFFIXES[i]); at; at = strstr(at + 1, SUFFIXES[i])) {
            if (at > path && (at[n] == '\0' || at[n] == ':'))
                return true;
        }
    }
    return false;
}

bool cli_is_store(const char *path, const struct cli_options *options)
{
    const char *at = strstr(path, ".zarr");

    if (options->format && strncmp(options->format, "zarr", 4) == 0)
        return true;
    if (options->format)
        return (strcmp(options->format, "hdf5") == 0 || strcmp(options->format, "minc2") == 0)
               && (is_hdf5(path) || strchr(path, ':'));
    return (at && (at[5] == '\0' || at[5] == '/')) || is_hdf5(path);
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

int cli_job_region(struct cli_job *job, const struct cli_options *options, resplit_error *err)
{
    const resplit_info *source = resplit_array_info(job->source);

    job->has_roi = options->roi.ndim > 0;
    if (job->has_roi
        && !cli_roi_resolve(&options->roi, source->ndim, source->shape, job->roi_start, job->roi_stop, err))
        return CLI_USAGE;
    return CLI_DONE;
}

static resplit_status create_target(const struct cli_job *job, const char *path, const struct cli_options *options,
                                    const resplit_chunks *chunks, bool overwrite, resplit_array **out,
                                    resplit_error *err)
{
    resplit_target target = {.format = options->format,
                             .pattern = options->pattern,
                             .overwrite = overwrite,
                             .chunks = chunks,
                             .codec = options->codec,
                             .shards = options->shards.ndim > 0 ? options->shards.extent : NULL,
                             .order = options->to_order ? options->to_order[0] : 0,
                             .dtype = options->to_dtype,
                             .write_empty = options->write_empty,
                             .ome = options->ome,
                             .is_virtual = options->is_virtual,
                             .folder = job->in_group, /* whatever its name ends in */
                             .roi_start = job->has_roi ? job->roi_start : NULL,
                             .roi_stop = job->has_roi ? job->roi_stop : NULL};

    target.ndim = chunks || job->has_roi ? resplit_array_info(job->source)->ndim : 0;
    return resplit_array_create(path, job->source, &target, out, err);
}

int cli_job_target(struct cli_job *job, const char *path, const struct cli_options *options,
                   const struct cli_chunks *chunks, bool overwrite, resplit_error *err)
{
    const resplit_info *source = resplit_array_info(job->source);

    if (chunks && chunks->ndim != source->ndim) {
        cli_fail(err, RESPLIT_EINVAL, "--chunks has %d %s and the array has %d %s: write one length per axis",
                 chunks->ndim, chunks->ndim == 1 ? "length" : "lengths", source->ndim,
                 source->ndim == 1 ? "axis" : "axes");
        return CLI_USAGE;
    }
    if (options->shards.ndim > 0 && options->shards.ndim != source->ndim) {
        cli_fail(err, RESPLIT_EINVAL, "--shards has %d lengths and the array has %d axes: write one length per axis",
                 options->shards.ndim, source->ndim);
        return CLI_USAGE;
    }
    job->path = path;
    int code = cli_job_region(job, options, err);
    if (code != CLI_DONE)
        return code;
    return exit_of(create_target(job, path, options, chunks ? chunks->axis : NULL, overwrite, &job->target, err));
}

resplit_status cli_job_try(const struct cli_job *job, const struct cli_options *options, const resplit_chunks *chunks,
                           resplit_array **target, resplit_error *err)
{
    /* the name of a store says that it holds chunks; any other would only stand in the way of a second block */
    const char *path = job->path && cli_is_store(job->path, options) ? job->path : NULL;

    return create_target(job, path, options, chunks, true, target, err);
}

void cli_job_set_how(struct cli_job *job, const struct cli_options *options, int64_t memory)
{
    job->how = (resplit_plan_options){.strategy = options->strategy,
                                      .memory = memory,
                                      .minimize = options->minimize,
                                      .device = &job->device,
                                      .temp = options->temp,
                                      .part = options->part.part,
                                      .n_parts = options->part.n > 0 ? options->part.n : options->parts};
}

int cli_job_how(struct cli_job *job, const char *path, const struct cli_options *options, resplit_error *err)
{
    int64_t memory;

    if (job->how.memory > 0)
        return CLI_DONE;
    int code = cli_memory(options, &memory, err);
    if (code != CLI_DONE)
        return code;
    if (!cli_device_find(options->device, path, &job->device, err))
        return CLI_FAILED;
    cli_job_set_how(job, options, memory);
    return CLI_DONE;
}

/* The run to go on with has a budget of its own; one that is given now must not be less. */
static int check_memory(const resplit_plan_summary *plan, const struct cli_options *options, resplit_error *err)
{
    if (options->memory == 0 || plan->predicted.peak_bytes <= options->memory)
        return CLI_DONE;
    cli_fail(err, RESPLIT_EBUDGET,
             "the run to go on with needs %lld bytes of memory: give it as much, or start anew without --resume",
             (long long)plan->predicted.peak_bytes);
    return CLI_FAILED;
}

int cli_job_plan(struct cli_job *job, const struct cli_options *options, resplit_error *err)
{
    int code = cli_job_how(job, resplit_array_info(job->target)->path, options, err);

    if (code != CLI_DONE)
        return code;
    if (options->resume) {
        resplit_status status =
            resplit_plan_resume_part(job->source, job->target, options->part.part, options->part.n, &job->plan, err);
        if (status != RESPLIT_OK)
            return exit_of(status);
        if (job->plan)
            return check_memory(resplit_plan_info(job->plan), options, err);
    }
    return exit_of(resplit_plan_make(job->source, job->target, &job->how, &job->plan, err));
}

resplit_run_options cli_run_options(const struct cli_options *options, struct cli_progress *progress)
{
    return (resplit_run_options){.progress = cli_progress_step,
                                 .payload = progress,
                                 .io = options->io,
                                 .direct = options->direct,
                                 .sync = options->sync,
                                 .threads = (int)options->threads,
                                 .resume = options->resume};
}

void cli_job_left(const char *path, bool was_there, resplit_error *err)
{
    resplit_error why = *err;
    const char *what = why.code == RESPLIT_ECANCELED ? "interrupted" : why.message;

    if (why.resumable)
        cli_fail(err, why.code, "%.600s; what is done is kept: go on by the same command with --resume", what);
    else if (why.code == RESPLIT_ECANCELED && was_there)
        cli_fail(err, why.code, "interrupted: '%.500s' is as it was", path);
    else if (why.code == RESPLIT_ECANCELED)
        cli_fail(err, why.code, "interrupted: nothing was left at '%.500s'", path);
}

int cli_job_run(const struct cli_job *job, const struct cli_options *options, resplit_result *done, resplit_error *err)
{
    struct cli_progress progress;
    const char *path = resplit_array_info(job->target)->path;
    bool was_there = access(path, F_OK) == 0;

    cli_progress_begin(&progress, !options->quiet);
    resplit_run_options run_options = cli_run_options(options, &progress);
    resplit_status status = resplit_run(job->plan, job->source, job->target, &run_options, done, err);
    cli_progress_end(&progress);
    if (status != RESPLIT_OK && !job->in_group)
        cli_job_left(path, was_there, err);
    return exit_of(status);
}

int cli_job_report(const struct cli_job *job, const struct cli_options *options, const resplit_result *done,
                   resplit_error *err)
{
    struct cli_result result = cli_job_result(job, done);

    if (options->json)
        return cli_json_result(&result, NULL, err) ? CLI_DONE : CLI_FAILED;
    if (!options->quiet)
        cli_report_result(&result);
    return CLI_DONE;
}

void cli_job_close(struct cli_job *job)
{
    resplit_plan_free(job->plan);
    resplit_array_close(job->target);
    resplit_array_close(job->source);
    cli_chunks_release(&job->proposed);
    *job = (struct cli_job){0};
}

struct cli_result cli_job_result(const struct cli_job *job, const resplit_result *done)
{
    return (struct cli_result){
        .source = resplit_array_info(job->source),
        .target = resplit_array_info(job->target),
        .plan = resplit_plan_info(job->plan),
        .roi_start = job->has_roi ? job->roi_start : NULL,
        .roi_stop = job->has_roi ? job->roi_stop : NULL,
        .done = done,
        .proposal = job->proposal.ndim > 0 ? &job->proposal : NULL,
    };
}
