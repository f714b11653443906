/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_verify.c - `resplit verify`: do two arrays hold the same values, whatever their layouts? */
#include <sys/stat.h>

#include "commands.h"
#include "job.h"
#include "progress.h"

static bool is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/*
 * Opens one side. What describes itself is taken at its word; the options describe the raw sides only, since one set of
 * them cannot be true of two layouts. How it is cut and named is said of folders only.
 */
static int open_side(const char *path, const struct cli_options *options, resplit_array **out, resplit_error *err)
{
    resplit_spec spec;
    int code = cli_spec(options, &spec, err);

    if (code != CLI_DONE)
        return code;
    if (resplit_array_open(path, NULL, out, err) == RESPLIT_OK)
        return CLI_DONE;
    bool is_described = spec.ndim > 0 || spec.dtype || spec.order || spec.format || spec.pattern || spec.skip;
    if (!is_described)
        return CLI_FAILED;
    if (!is_folder(path)) {
        spec.pattern = NULL;
        spec.chunks = NULL;
        spec.ndim = spec.shape ? spec.ndim : 0;
    }
    return resplit_array_open(path, &spec, out, err) == RESPLIT_OK ? CLI_DONE : CLI_FAILED;
}

static bool look_alike(const resplit_info *a, const resplit_info *b)
{
    bool same = a->ndim == b->ndim && a->itemsize == b->itemsize;

    for (int d = 0; same && d < a->ndim; d++)
        same = a->shape[d] == b->shape[d];
    return same;
}

/* By fingerprints, which read each array in its own order; only when they differ are bytes compared, to say where. */
static resplit_status verify(const struct cli_options *options, int64_t memory, const resplit_run_options *how,
                             const resplit_array *a, const resplit_array *b, resplit_difference *difference,
                             resplit_error *err)
{
    uint64_t of_a = 0, of_b = 0;

    if (!options->exact && look_alike(resplit_array_info(a), resplit_array_info(b))) {
        resplit_status status = resplit_fingerprint(a, memory, how, &of_a, err);
        if (status == RESPLIT_OK)
            status = resplit_fingerprint(b, memory, how, &of_b, err);
        if (status != RESPLIT_OK || of_a == of_b) {
            *difference = (resplit_difference){.equal = true};
            return status;
        }
    }
    return resplit_verify(a, b, memory, how, difference, err);
}

static int compare(const struct cli_args *args, const resplit_array *a, const resplit_array *b,
                   resplit_difference *difference, resplit_error *err)
{
    struct cli_progress progress;
    int64_t memory;
    int code = cli_memory(&args->options, &memory, err);

    if (code != CLI_DONE)
        return code;
    cli_progress_begin(&progress, !args->options.quiet);
    resplit_run_options how = cli_run_options(&args->options, &progress);
    resplit_status status = verify(&args->options, memory, &how, a, b, difference, err);
    cli_progress_end(&progress);
    if (status == RESPLIT_ECANCELED)
        cli_fail(err, status, "interrupted: the comparison is not complete");
    return status == RESPLIT_OK ? CLI_DONE : CLI_FAILED;
}

int cli_cmd_verify(const struct cli_args *args, resplit_error *err)
{
    resplit_array *a = NULL, *b = NULL;
    resplit_difference difference = {0};

    int code = open_side(args->words[0], &args->options, &a, err);
    if (code == CLI_DONE)
        code = open_side(args->words[1], &args->options, &b, err);
    if (code == CLI_DONE)
        code = compare(args, a, b, &difference, err);
    if (code == CLI_DONE) {
        if (args->options.json)
            code = cli_json_difference(resplit_array_info(a), &difference, err) ? CLI_DONE : CLI_FAILED;
        else if (!args->options.quiet)
            cli_report_difference(resplit_array_info(a), &difference);
        /* Different is the answer, not an error: the code says so, there is no message. */
        if (code == CLI_DONE && !difference.equal)
            code = CLI_FAILED;
    }
    resplit_array_close(b);
    resplit_array_close(a);
    return code;
}
