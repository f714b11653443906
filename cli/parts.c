/* SPDX-License-Identifier: BSD-3-Clause */
/* parts.c - reports of partitions. */
#include "parts.h"

#include <inttypes.h>
#include <stdio.h>

enum { MOST_LISTED = 4096 }; /* partitions in a JSON object */

/* ---- What they will cost -------------------------------------------------------------------------------------- */

static void print_bytes(const char *label, int64_t bytes, const char *behind)
{
    char text[CLI_BYTES_TEXT];

    cli_format_bytes(bytes, text);
    printf("%-14s%s%s\n", label, text, behind);
}

/* "balance       15.6 GiB in the largest, 1.02 times an equal share; 15.1 GiB in the smallest" */
static void print_balance(const resplit_parts *parts)
{
    char largest[CLI_BYTES_TEXT], smallest[CLI_BYTES_TEXT];
    double equal = (double)parts->bytes / (double)parts->n_parts;

    cli_format_bytes(parts->largest, largest);
    cli_format_bytes(parts->smallest, smallest);
    printf("%-14s%s in the largest", "balance", largest);
    if (equal > 0)
        printf(", %.3f times an equal share", (double)parts->largest / equal);
    printf("; %s in the smallest\n", smallest);
}

static void print_parts(const struct cli_job *job, const resplit_parts *parts)
{
    char text[CLI_BYTES_TEXT], behind[60];
    double share = parts->bytes > 0 ? 100 * (double)parts->bytes_twice / (double)parts->bytes : 0;

    cli_format_count(parts->n_parts, text);
    printf("%-14s%s", "partitions", text);
    if (parts->n_empty > 0)
        printf(", %" PRId64 " of them empty: there are fewer files than partitions", parts->n_empty);
    printf("\n");
    print_bytes("array", parts->bytes, "");
    print_balance(parts);
    snprintf(behind, sizeof behind, ", %.2f %% of the array", share);
    print_bytes("read twice", parts->bytes_twice, behind);
    print_bytes("bytes read", parts->predicted.bytes_read, " by all together");
    print_bytes("bytes written", parts->predicted.bytes_written, "");
    cli_format_count(parts->predicted.read_seeks + parts->predicted.write_seeks, text);
    printf("%-14s%s\n", "seeks", text);
    print_bytes("memory", job->how.memory, " for each");
    print_bytes("peak memory", parts->predicted.peak_bytes, " in the one that needs most");
    cli_explain_device(&job->device);
    cli_format_seconds(parts->seconds, text);
    printf("%-14s%s for the slowest, on a device of its own\n", "time", text);
}

static bool add_partition(struct cli_out *out, const struct cli_job *job, int64_t part, int64_t n, resplit_error *err)
{
    resplit_partition one;
    int ndim = resplit_array_info(job->target)->ndim;

    if (resplit_partition_info(job->source, job->target, part, n, &one, err) != RESPLIT_OK)
        return false;
    cli_out_open(out, NULL, '{');
    cli_out_integer(out, "part", part);
    cli_out_integers(out, "start", ndim, one.start);
    cli_out_integers(out, "stop", ndim, one.stop);
    cli_out_integer(out, "n_blocks", one.n_blocks);
    cli_out_integer(out, "n_source_blocks", one.n_source_blocks);
    cli_out_integer(out, "bytes", one.bytes);
    cli_out_integer(out, "bytes_read", one.bytes_read);
    cli_out_close(out, '}');
    return true;
}

static bool print_json(const struct cli_job *job, const resplit_parts *parts, resplit_error *err)
{
    struct cli_out out = {0};
    bool ok = true;

    cli_out_open(&out, NULL, '{');
    cli_out_integer(&out, "parts", parts->n_parts);
    cli_out_integer(&out, "empty", parts->n_empty);
    cli_out_integer(&out, "memory", job->how.memory);
    cli_out_integer(&out, "bytes", parts->bytes);
    cli_out_integer(&out, "bytes_twice", parts->bytes_twice);
    cli_out_integer(&out, "largest", parts->largest);
    cli_out_integer(&out, "smallest", parts->smallest);
    cli_json_cost(&out, "predicted", &parts->predicted);
    cli_out_fixed(&out, "predicted_seconds", parts->seconds);
    if (parts->n_parts <= MOST_LISTED) {
        cli_out_open(&out, "partitions", '[');
        for (int64_t i = 1; ok && i <= parts->n_parts; i++)
            ok = add_partition(&out, job, i, parts->n_parts, err);
        cli_out_close(&out, ']');
    }
    cli_out_close(&out, '}');
    if (ok)
        return cli_json_print(&out, err);
    cli_out_release(&out);
    return false;
}

int cli_parts_report(const struct cli_job *job, const struct cli_options *options, resplit_error *err)
{
    resplit_parts parts;

    if (resplit_parts_survey(job->source, job->target, &job->how, &parts, err) != RESPLIT_OK)
        return CLI_FAILED;
    if (options->json)
        return print_json(job, &parts, err) ? CLI_DONE : CLI_FAILED;
    print_parts(job, &parts);
    return CLI_DONE;
}

/* ---- What became of them -------------------------------------------------------------------------------------- */

static bool print_finished_json(const struct cli_job *job, int64_t n, int ranks, const resplit_result *done,
                                resplit_error *err)
{
    const resplit_info *target = resplit_array_info(job->target);
    struct cli_out out = {0};

    cli_out_open(&out, NULL, '{');
    cli_out_text(&out, "path", target->path);
    cli_out_integer(&out, "parts", n);
    cli_out_integer(&out, "bytes", target->bytes);
    cli_json_cost(&out, "actual", &done->cost);
    if (ranks > 0) {
        cli_out_integer(&out, "ranks", ranks);
        cli_out_fixed(&out, "seconds", done->seconds);
    }
    cli_json_digits(&out, done->fingerprint);
    cli_out_close(&out, '}');
    return cli_json_print(&out, err);
}

int cli_parts_finished(const struct cli_job *job, const struct cli_options *options, int64_t n, int ranks,
                       const resplit_result *done, resplit_error *err)
{
    const resplit_info *target = resplit_array_info(job->target);
    char bytes[CLI_BYTES_TEXT];

    if (options->json)
        return print_finished_json(job, n, ranks, done, err) ? CLI_DONE : CLI_FAILED;
    if (options->quiet)
        return CLI_DONE;
    cli_format_bytes(target->bytes, bytes);
    printf("%-14s%s, %s, of %" PRId64 " partition%s\n", "finished", target->path, bytes, n, n == 1 ? "" : "s");
    if (ranks > 0)
        printf("%-14s%.3f s, %.3f GB/s, by %d rank%s\n", "in all", done->seconds,
               done->seconds > 0 ? (double)target->bytes / done->seconds / 1e9 : 0, ranks, ranks == 1 ? "" : "s");
    if (done->losses.n_values > 0)
        printf("%-14s%s to %s; %" PRId64 " of %" PRId64 " values changed\n", "cast",
               resplit_array_info(job->source)->dtype, target->dtype, cli_n_changed(&done->losses),
               done->losses.n_values);
    if (done->fingerprint)
        printf("%-14s%016" PRIx64 "\n", "fingerprint", done->fingerprint);
    return CLI_DONE;
}
