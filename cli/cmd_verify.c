/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_verify.c - `resplit verify`: do two arrays hold the same values, whatever their layouts? */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "commands.h"
#include "group.h"
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

/* Two images may list their axes in different orders, and are compared by their names then:
   fingerprints do not tell. */
static bool may_be_turned(const resplit_info *a, const resplit_info *b)
{
    bool both_nifti = strncmp(a->format, "nifti", 5) == 0 && strncmp(b->format, "nifti", 5) == 0;

    return a->header && b->header && !both_nifti;
}

/*
 * By fingerprints, which read each array in its own order and in little memory; only when they differ are bytes
 * compared, to say where. That may need more memory than there is: *needed.
 */
static resplit_status verify(const struct cli_options *options, int64_t memory, const resplit_run_options *how,
                             const resplit_array *a, const resplit_array *b, resplit_difference *difference,
                             int64_t *needed, resplit_error *err)
{
    uint64_t of_a = 0, of_b = 0;
    bool known = false;

    *needed = 0;
    if (!options->exact && look_alike(resplit_array_info(a), resplit_array_info(b))) {
        resplit_status status = resplit_fingerprint(a, memory, how, &of_a, err);
        if (status == RESPLIT_OK)
            status = resplit_fingerprint(b, memory, how, &of_b, err);
        if (status != RESPLIT_EUNSUPPORTED && (status != RESPLIT_OK || of_a == of_b)) {
            *difference = (resplit_difference){.equal = true};
            return status;
        }
        known = status == RESPLIT_OK && !may_be_turned(resplit_array_info(a), resplit_array_info(b));
    }
    resplit_status status = resplit_verify(a, b, memory, how, difference, err);
    if (status != RESPLIT_EBUDGET || !known)
        return status;
    *difference = (resplit_difference){.equal = false};
    *needed = err->needed_bytes;
    return RESPLIT_OK;
}

static int compare(const struct cli_args *args, const resplit_array *a, const resplit_array *b,
                   resplit_difference *difference, int64_t *needed, resplit_error *err)
{
    struct cli_progress progress;
    int64_t memory;
    int code = cli_memory(&args->options, &memory, err);

    if (code != CLI_DONE)
        return code;
    cli_progress_begin(&progress, !args->options.quiet);
    resplit_run_options how = cli_run_options(&args->options, &progress);
    resplit_status status = verify(&args->options, memory, &how, a, b, difference, needed, err);
    cli_progress_end(&progress);
    if (status == RESPLIT_ECANCELED)
        cli_fail(err, status, "interrupted: the comparison is not complete");
    return status == RESPLIT_OK ? CLI_DONE : CLI_FAILED;
}

/* Both sides at once, and what came of it; different is an answer, not an error. */
static int verify_paths(const struct cli_args *args, const char *of_a, const char *of_b, struct cli_list *list,
                        bool *equal, resplit_error *err)
{
    resplit_array *a = NULL, *b = NULL;
    resplit_difference difference = {0};
    int64_t needed = 0;

    int code = open_side(of_a, &args->options, &a, err);
    if (code == CLI_DONE)
        code = open_side(of_b, &args->options, &b, err);
    if (code == CLI_DONE)
        code = compare(args, a, b, &difference, &needed, err);
    if (code == CLI_DONE && args->options.json) {
        code = cli_json_difference(resplit_array_info(a), &difference, needed, list, err) ? CLI_DONE : CLI_FAILED;
    } else if (code == CLI_DONE && !args->options.quiet) {
        printf("%s%s", list ? list->name : "", list ? ": " : "");
        cli_report_difference(resplit_array_info(a), &difference, needed);
    }
    *equal = difference.equal;
    resplit_array_close(b);
    resplit_array_close(a);
    return code;
}

/* ---- Groups --------------------------------------------------------------------------------------------------- */

static int64_t find_name(const resplit_group *group, const char *name)
{
    int64_t i = 0, n = resplit_group_count(group);

    while (i < n && strcmp(resplit_group_name(group, i), name) != 0)
        i++;
    return i < n ? i : -1;
}

/* Arrays of `a` that `b` does not have. */
static int tell_missing(const struct cli_args *args, const resplit_group *a, const resplit_group *b, const char *path,
                        struct cli_list *list, bool *equal, resplit_error *err)
{
    for (int64_t i = 0; i < resplit_group_count(a); i++) {
        list->name = resplit_group_name(a, i);
        if (find_name(b, list->name) >= 0)
            continue;
        *equal = false;
        if (args->options.json && !cli_json_note("missing", list, err))
            return CLI_FAILED;
        if (!args->options.json && !args->options.quiet)
            printf("%s: only in '%s'\n", list->name, path);
    }
    return CLI_DONE;
}

static int verify_groups(const struct cli_args *args, const resplit_group *a, const resplit_group *b,
                         struct cli_list *list, bool *equal, resplit_error *err)
{
    struct cli_args mine = *args; /* with the memory, so that it is told of once */
    int code = cli_memory(&args->options, &mine.options.memory, err);

    for (int64_t i = 0; code == CLI_DONE && i < resplit_group_count(a); i++) {
        int64_t other = find_name(b, resplit_group_name(a, i));
        bool same = true;

        list->name = resplit_group_name(a, i);
        if (other >= 0)
            code = verify_paths(&mine, resplit_group_place(a, i), resplit_group_place(b, other), list, &same, err);
        *equal = *equal && same;
    }
    if (code == CLI_DONE)
        code = tell_missing(args, a, b, args->words[0], list, equal, err);
    if (code == CLI_DONE)
        code = tell_missing(args, b, a, args->words[1], list, equal, err);
    return code;
}

static int verify_both_groups(const struct cli_args *args, bool *equal, resplit_error *err)
{
    resplit_group *a = NULL, *b = NULL;
    struct cli_list list = {0};
    int code = CLI_FAILED;

    *equal = true;
    if (resplit_group_open(args->words[0], &a, err) == RESPLIT_OK
        && resplit_group_open(args->words[1], &b, err) == RESPLIT_OK)
        code = verify_groups(args, a, b, &list, equal, err);
    if (code == CLI_DONE && args->options.json && !cli_json_list(&list, args->words[0], equal, err))
        code = CLI_FAILED;
    cli_list_release(&list);
    resplit_group_close(b);
    resplit_group_close(a);
    return code;
}

int cli_cmd_verify(const struct cli_args *args, resplit_error *err)
{
    bool equal = false;
    bool groups = resplit_is_group(args->words[0]) && resplit_is_group(args->words[1]);
    int code = groups ? verify_both_groups(args, &equal, err)
                      : verify_paths(args, args->words[0], args->words[1], NULL, &equal, err);

    if (code != CLI_DONE || equal)
        return code;
    /* Different is the answer, not an error: the code says so, there is no message. */
    err->message[0] = '\0';
    return CLI_FAILED;
}
