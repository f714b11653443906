/* SPDX-License-Identifier: BSD-3-Clause */
/* report.c - numbers, arrays and disks as text for people. Programs read json.c's output; this one may
   change its looks. */
#include "report.h"
#include "report_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* More lengths of an uneven axis than this are cut short: the text is to be read by a person. */
#define LENGTHS_SHOWN 8

void cli_format_bytes(int64_t bytes, char out[CLI_BYTES_TEXT])
{
    static const char *const UNITS[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes / 1024;
    size_t i = 0;

    if (bytes < 1024) {
        snprintf(out, CLI_BYTES_TEXT, "%" PRId64 " B", bytes);
        return;
    }
    /* 1023.95 would be printed as 1024.0 */
    for (; value >= 1023.95 && i + 1 < sizeof UNITS / sizeof UNITS[0]; i++)
        value /= 1024;
    snprintf(out, CLI_BYTES_TEXT, "%.1f %s", value, UNITS[i]);
}

void cli_format_count(int64_t count, char out[CLI_BYTES_TEXT])
{
    char digits[24];
    size_t n = (size_t)snprintf(digits, sizeof digits, "%" PRId64, count), used = 0;

    for (size_t i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0 && digits[i - 1] != '-')
            out[used++] = ',';
        out[used++] = digits[i];
    }
    out[used] = '\0';
}

void cli_format_seconds(double seconds, char out[CLI_BYTES_TEXT])
{
    if (seconds < 0.9995)
        snprintf(out, CLI_BYTES_TEXT, "%.3g ms", seconds * 1e3);
    else if (seconds < 99.95)
        snprintf(out, CLI_BYTES_TEXT, "%.1f s", seconds);
    else if (seconds < 7200)
        snprintf(out, CLI_BYTES_TEXT, "%d min %02d s", (int)seconds / 60, (int)seconds % 60);
    else if (seconds < 2 * 86400)
        snprintf(out, CLI_BYTES_TEXT, "%d h %02d min", (int)seconds / 3600, (int)seconds / 60 % 60);
    else
        snprintf(out, CLI_BYTES_TEXT, "%.1f days", seconds / 86400);
}

/* ---- Shapes --------------------------------------------------------------------------------------------------- */

void cli_print_shape(int ndim, const int64_t *shape)
{
    for (int d = 0; d < ndim; d++)
        printf("%s%" PRId64, d ? " x " : "", shape[d]);
    if (ndim == 0)
        printf("no axes");
}

int64_t cli_even_length(const resplit_chunks *axis, int64_t extent)
{
    if (axis->count == 0)
        return axis->length < 0 || axis->length > extent ? extent : axis->length;
    for (int64_t i = 1; i < axis->count; i++) {
        bool is_last = i == axis->count - 1;
        if (axis->lengths[i] > axis->lengths[0] || (axis->lengths[i] < axis->lengths[0] && !is_last))
            return 0;
    }
    return axis->lengths[0];
}

/* One axis of a grid: "64" or "(10+20+30)". */
static void print_axis(const resplit_chunks *axis, int64_t extent)
{
    int64_t length = cli_even_length(axis, extent);

    if (length > 0 || axis->count == 0) {
        printf("%" PRId64, length);
        return;
    }
    printf("(");
    for (int64_t i = 0; i < axis->count && i < LENGTHS_SHOWN; i++)
        printf("%s%" PRId64, i ? "+" : "", axis->lengths[i]);
    if (axis->count > LENGTHS_SHOWN)
        printf("+... %" PRId64 " in all", axis->count);
    printf(")");
}

void cli_print_chunks(int ndim, const resplit_chunks *chunks, const int64_t *shape)
{
    for (int d = 0; d < ndim; d++) {
        printf("%s", d ? " x " : "");
        print_axis(&chunks[d], shape[d]);
    }
}

bool cli_is_encoded(const resplit_info *info)
{
    return info->dataset || info->codec || (info->format && strncmp(info->format, "zarr", 4) == 0);
}

/* "zarr3, zstd:3, in shards of 64 x 64" */
static void print_format(const resplit_info *info)
{
    printf("%s", info->format ? info->format : "raw");
    if (cli_is_encoded(info))
        printf(", %s", info->codec ? info->codec : "not compressed");
    if (info->shards) {
        printf(", in shards of ");
        cli_print_shape(info->ndim, info->shards);
    }
}

static void print_blocks(const resplit_info *info)
{
    char count[CLI_BYTES_TEXT];

    cli_format_count(info->n_blocks, count);
    printf("%s %s of ", count, info->n_blocks == 1 ? "block" : "blocks");
    cli_print_chunks(info->ndim, info->chunks, info->shape);
    printf(", ");
    print_format(info);
}

void cli_print_grid(const resplit_info *info)
{
    print_blocks(info);
    if (info->path)
        printf(", '%s%s%s'", info->path, info->dataset ? ":" : "", info->dataset ? info->dataset : "");
    printf("\n");
}

/* One sentence a line. */
void cli_print_notes(const resplit_info *info)
{
    const char *at = info->notes;

    while (at && *at) {
        int n = (int)strcspn(at, "\n");

        printf("%-14s%.*s\n", "note", n, at);
        at += n + (at[n] == '\n');
    }
}

void cli_print_array(const char *label, const resplit_info *info)
{
    char bytes[CLI_BYTES_TEXT];

    cli_format_bytes(info->bytes, bytes);
    printf("%-14s", label);
    cli_print_shape(info->ndim, info->shape);
    char order[] = {info->order, '\0'};
    printf(" of %s in %s order, %s\n", info->dtype, info->order ? order : "neither C nor F", bytes);
}

void cli_print_ratio(int64_t bytes, int64_t stored)
{
    if (stored > 0 && bytes >= stored)
        printf(", %.2f times less than the array", (double)bytes / (double)stored);
    else if (stored > 0 && bytes > 0)
        printf(", %.2f times the array", (double)stored / (double)bytes);
}

/* ---- Arrays --------------------------------------------------------------------------------------------------- */

/* "stored        1.2 MiB, 3.41 times less than the array; 12 of 16 blocks, 4 missing" */
static void print_stored(const resplit_info *info)
{
    char bytes[CLI_BYTES_TEXT], there[CLI_BYTES_TEXT], all[CLI_BYTES_TEXT], missing[CLI_BYTES_TEXT];

    cli_format_bytes(info->stored_bytes, bytes);
    cli_format_count(info->n_stored, there);
    cli_format_count(info->n_blocks, all);
    cli_format_count(info->n_blocks - info->n_stored, missing);
    printf("%-14s%s", "stored", bytes);
    cli_print_ratio(info->bytes, info->stored_bytes);
    printf("; %s of %s blocks, %s missing\n", there, all, missing);
}

void cli_report_info(const resplit_info *info)
{
    cli_print_array("array", info);
    printf("%-14s", "stored as");
    cli_print_grid(info);
    if (info->pattern)
        printf("%-14s%s\n", "names", info->pattern);
    if (cli_is_encoded(info))
        print_stored(info);
    if (info->header)
        printf("%-14s%s\n", "header", info->header);
    cli_print_notes(info);
    if (info->fingerprint)
        printf("%-14s%016" PRIx64 "\n", "fingerprint", info->fingerprint);
}

static void print_name(const char *name, const resplit_info *info)
{
    printf("%-20s  ", name);
    cli_print_shape(info->ndim, info->shape);
    printf(" of %s, ", info->dtype);
}

void cli_report_line(const char *name, const resplit_info *info)
{
    print_name(name, info);
    print_blocks(info);
    printf("\n");
}

void cli_report_change(const char *name, const struct cli_result *result)
{
    char seconds[CLI_BYTES_TEXT];

    cli_format_seconds(result->done->seconds, seconds);
    print_name(name, result->target);
    print_blocks(result->source);
    printf(" -> ");
    print_blocks(result->target);
    printf(", %s, %s\n", result->plan->strategy, seconds);
}

/* As checksum tools print it. */
void cli_report_fingerprint(const resplit_info *info, uint64_t fingerprint)
{
    if (fingerprint)
        printf("%016" PRIx64 "  %s\n", fingerprint, info->path);
    else
        printf("%-16s  %s\n", "-", info->path);
}

void cli_report_difference(const resplit_info *info, const resplit_difference *difference, int64_t needed)
{
    if (difference->equal) {
        printf("equal\n");
        return;
    }
    if (needed > 0) {
        printf("different; to say where takes --memory %" PRId64 "\n", needed);
        return;
    }
    char count[CLI_BYTES_TEXT], total[CLI_BYTES_TEXT];
    cli_format_count(difference->n_different, count);
    cli_format_count(info->n_elements, total);
    printf("different at [");
    for (int d = 0; d < info->ndim; d++)
        printf("%s%" PRId64, d ? ", " : "", difference->index[d]);
    printf("]; %s of %s elements differ\n", count, total);
}

/* ---- Disks ---------------------------------------------------------------------------------------------------- */

static void print_stream(const char *label, int64_t bytes, double seconds)
{
    char count[CLI_BYTES_TEXT];

    cli_format_count(bytes, count);
    printf("%-14s%20s%12.3f%12.0f\n", label, count, seconds, (double)bytes / seconds / 1e6);
}

void cli_report_disk(const char *folder, const resplit_disk *disk)
{
    char count[CLI_BYTES_TEXT];

    printf("%-14s'%s'\n", "disk of", folder);
    printf("%-14s%s\n\n", "page cache",
           disk->direct ? "passed by: O_DIRECT works here" : "emptied before each phase: O_DIRECT does not work here");
    printf("%-14s%20s%12s%12s\n", "", "bytes", "seconds", "MB/s");
    print_stream("write", disk->bytes, disk->write_seconds);
    print_stream("read", disk->bytes, disk->read_seconds);
    print_stream("both at once", 2 * disk->bytes, disk->both_seconds);
    cli_format_count((int64_t)disk->random_rate, count);
    printf("\n%-14sof 4 KiB: %.1f us at depth 1; at best %s per second, at depth %d\n", "random reads",
           disk->random_latency * 1e6, count, disk->random_depth);
}
