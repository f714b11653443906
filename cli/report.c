/* SPDX-License-Identifier: BSD-3-Clause */
/* report.c - results as text for people. Programs read json.c's output; this one may change its looks. */
#include "report.h"

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

static void print_shape(int ndim, const int64_t *shape)
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

static void print_chunks(int ndim, const resplit_chunks *chunks, const int64_t *shape)
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
        print_shape(info->ndim, info->shards);
    }
}

static void print_blocks(const resplit_info *info)
{
    char count[CLI_BYTES_TEXT];

    cli_format_count(info->n_blocks, count);
    printf("%s %s of ", count, info->n_blocks == 1 ? "block" : "blocks");
    print_chunks(info->ndim, info->chunks, info->shape);
    printf(", ");
    print_format(info);
}

static void print_grid(const resplit_info *info)
{
    print_blocks(info);
    if (info->path)
        printf(", '%s%s%s'", info->path, info->dataset ? ":" : "", info->dataset ? info->dataset : "");
    printf("\n");
}

/* One sentence a line. */
static void print_notes(const resplit_info *info)
{
    const char *at = info->notes;

    while (at && *at) {
        int n = (int)strcspn(at, "\n");

        printf("%-14s%.*s\n", "note", n, at);
        at += n + (at[n] == '\n');
    }
}

static void print_array(const char *label, const resplit_info *info)
{
    char bytes[CLI_BYTES_TEXT];

    cli_format_bytes(info->bytes, bytes);
    printf("%-14s", label);
    print_shape(info->ndim, info->shape);
    char order[] = {info->order, '\0'};
    printf(" of %s in %s order, %s\n", info->dtype, info->order ? order : "neither C nor F", bytes);
}

/* ---- Plans and runs ------------------------------------------------------------------------------------------- */

static void print_axes(const resplit_plan_summary *plan, bool kept_only)
{
    bool any = false;

    for (int i = 0; i < plan->ndim; i++) {
        int d = kept_only ? i : plan->loop_order[i];
        if (kept_only && !plan->kept[d])
            continue;
        printf("%s%d", any ? ", " : "", d);
        any = true;
    }
    printf("%s\n", any ? "" : "none");
}

void cli_print_box(int ndim, const int64_t *start, const int64_t *shape)
{
    for (int d = 0; d < ndim; d++)
        printf("%s%" PRId64 ":%" PRId64, d ? ", " : "", start[d], start[d] + shape[d]);
    printf("\n");
}

/* "partition     3 of 16: 0:100, 50:100 of the target" */
static void print_part(const resplit_plan_summary *plan)
{
    if (plan->n_parts == 0)
        return;
    printf("%-14s%" PRId64 " of %" PRId64 ": ", "partition", plan->part, plan->n_parts);
    if (plan->floor.write_seeks == 0)
        printf("empty, there are fewer files than partitions\n");
    else
        cli_print_box(plan->ndim, plan->start, plan->shape);
}

static void print_how(const struct cli_result *result)
{
    const resplit_plan_summary *plan = result->plan;
    char count[CLI_BYTES_TEXT];

    cli_format_count(plan->n_buffers, count);
    printf("%-14s%s\n", "strategy", plan->strategy);
    printf("%-14s%s of ", "buffers", count);
    print_chunks(plan->ndim, plan->buffer, plan->shape);
    printf("\n%-14s", "loops");
    print_axes(plan, false);
    printf("%-14s", "kept axes");
    print_axes(plan, true);
}

/* The rows of the table of costs: two members are added, so that "seeks" is one of them. */
static const struct cost_row {
    const char *label;
    size_t member;
    size_t plus; /* NO_MEMBER: nothing to add */
    bool is_bytes;
    bool has_floor;
} COST_ROWS[] = {
#define AT(member) offsetof(resplit_cost, member)
#define NO_MEMBER SIZE_MAX
    {"read seeks", AT(read_seeks), NO_MEMBER, false, true},
    {"write seeks", AT(write_seeks), NO_MEMBER, false, true},
    {"seeks", AT(read_seeks), AT(write_seeks), false, true},
    {"bytes read", AT(bytes_read), NO_MEMBER, true, true},
    {"bytes written", AT(bytes_written), NO_MEMBER, true, true},
    {"held", AT(held_bytes), NO_MEMBER, true, false},
    {"peak memory", AT(peak_bytes), NO_MEMBER, true, false},
    {"temporary", AT(temp_bytes), NO_MEMBER, true, false},
};

static int64_t cost_value(const resplit_cost *cost, const struct cost_row *row)
{
    int64_t value;

    memcpy(&value, (const char *)cost + row->member, sizeof value);
    if (row->plus != NO_MEMBER) {
        int64_t more;
        memcpy(&more, (const char *)cost + row->plus, sizeof more);
        value += more;
    }
    return value;
}

static void print_cell(const resplit_cost *cost, const struct cost_row *row)
{
    char text[CLI_BYTES_TEXT];

    if (row->is_bytes)
        cli_format_bytes(cost_value(cost, row), text);
    else
        cli_format_count(cost_value(cost, row), text);
    printf("%18s", text);
}

static void print_costs(const struct cli_result *result)
{
    const resplit_cost *predicted = &result->plan->predicted, *floor = &result->plan->floor;
    const resplit_cost *latest = result->done ? &result->done->cost : predicted;

    printf("\n%-14s%18s", "", "predicted");
    if (result->done)
        printf("%18s", "actual");
    printf("%18s%10s\n", "floor", "x floor");
    for (size_t i = 0; i < sizeof COST_ROWS / sizeof COST_ROWS[0]; i++) {
        const struct cost_row *row = &COST_ROWS[i];

        printf("%-14s", row->label);
        print_cell(predicted, row);
        if (result->done)
            print_cell(latest, row);
        if (row->has_floor) {
            int64_t least = cost_value(floor, row);
            print_cell(floor, row);
            if (least > 0)
                printf("%10.2f", (double)cost_value(latest, row) / (double)least);
        }
        printf("\n");
    }
}

/* The last row: seconds are not counted but taken, so the prediction may be off. */
static void print_seconds(const struct cli_result *result)
{
    double predicted = result->plan->seconds, floor = result->plan->floor_seconds;
    double latest = result->done ? result->done->seconds : predicted;
    char text[CLI_BYTES_TEXT];

    cli_format_seconds(predicted, text);
    printf("%-14s%18s", "time", text);
    if (result->done) {
        cli_format_seconds(latest, text);
        printf("%18s", text);
    }
    cli_format_seconds(floor, text);
    printf("%18s", text);
    if (floor > 0)
        printf("%10.2f", latest / floor);
    printf("\n");
}

static void print_ratio(int64_t bytes, int64_t stored)
{
    if (stored > 0 && bytes >= stored)
        printf(", %.2f times less than the array", (double)bytes / (double)stored);
    else if (stored > 0 && bytes > 0)
        printf(", %.2f times the array", (double)stored / (double)bytes);
}

/* What encoded blocks had on disk: "stored        1.2 MiB read; 3.4 MiB written, 2.00 times less than the array" */
static void print_moved(const struct cli_result *result)
{
    const resplit_result *done = result->done;
    char bytes[CLI_BYTES_TEXT];

    if (done->stored_read == 0 && done->stored_written == 0)
        return;
    printf("%-14s", "stored");
    if (done->stored_read > 0) {
        cli_format_bytes(done->stored_read, bytes);
        printf("%s read%s", bytes, done->stored_written > 0 ? "; " : "");
    }
    if (done->stored_written > 0) {
        cli_format_bytes(done->stored_written, bytes);
        printf("%s written", bytes);
        if (!done->resumed && cli_is_encoded(result->target))
            print_ratio(cli_moved_bytes(result), done->stored_written);
    }
    printf("\n");
}

/* "cast          <f8 to |u1; 12 of 1,000 values changed: 10 out of range, 2 rounded" */
static void print_cast(const struct cli_result *result)
{
    const resplit_losses *losses = &result->done->losses;
    const struct {
        int64_t n;
        const char *what;
    } rows[] = {{losses->n_out_of_range, "out of range"},
                {losses->n_not_a_number, "not a number"},
                {losses->n_rounded, "rounded"}};
    char changed[CLI_BYTES_TEXT], values[CLI_BYTES_TEXT];
    const char *between = ": ";

    if (losses->n_values == 0)
        return;
    cli_format_count(cli_n_changed(losses), changed);
    cli_format_count(losses->n_values, values);
    printf("%-14s%s to %s; %s of %s values changed", "cast", result->source->dtype, result->target->dtype, changed,
           values);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].n > 0) {
            cli_format_count(rows[i].n, changed);
            printf("%s%s %s", between, changed, rows[i].what);
            between = ", ";
        }
    }
    printf("\n");
}

int64_t cli_n_changed(const resplit_losses *losses)
{
    return losses->n_out_of_range + losses->n_not_a_number + losses->n_rounded;
}

int64_t cli_moved_bytes(const struct cli_result *result)
{
    return result->plan->n_parts > 0 ? result->plan->floor.bytes_written : result->target->bytes;
}

void cli_report_result(const struct cli_result *result)
{
    char memory[CLI_BYTES_TEXT];

    cli_format_bytes(result->plan->memory, memory);
    print_array("array", result->target);
    if (result->roi_start) {
        printf("%-14s", "region");
        for (int d = 0; d < result->source->ndim; d++)
            printf("%s%" PRId64 ":%" PRId64, d ? ", " : "", result->roi_start[d], result->roi_stop[d]);
        printf(" of ");
        print_shape(result->source->ndim, result->source->shape);
        printf("\n");
    }
    printf("%-14s", "from");
    print_grid(result->source);
    printf("%-14s", "to");
    print_grid(result->target);
    print_notes(result->source);
    print_notes(result->target);
    printf("%-14s%s\n", "memory", memory);
    cli_explain_device(&result->plan->device);
    print_part(result->plan);
    print_how(result);
    print_costs(result);
    print_seconds(result);
    if (result->choices)
        cli_explain_choices(result->choices);
    if (result->neighbour)
        cli_explain_neighbour(result->neighbour);
    if (result->done) {
        /* Of array data: each byte counts once, though it is read and written. */
        const resplit_result *done = result->done;
        double rate = done->seconds > 0 ? (double)cli_moved_bytes(result) / done->seconds / 1e9 : 0;
        printf("\n%-14s%.3f s, %.3f GB/s", "in all", done->seconds, rate);
        if (done->io)
            printf(", by %d worker%s (%s)", done->threads, done->threads == 1 ? "" : "s", done->io);
        printf("%s\n", done->resumed ? "; went on with an earlier run" : "");
        print_moved(result);
        print_cast(result);
        if (done->fingerprint)
            printf("%-14s%016" PRIx64 "\n", "fingerprint", done->fingerprint);
    }
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
    print_ratio(info->bytes, info->stored_bytes);
    printf("; %s of %s blocks, %s missing\n", there, all, missing);
}

void cli_report_info(const resplit_info *info)
{
    print_array("array", info);
    printf("%-14s", "stored as");
    print_grid(info);
    if (info->pattern)
        printf("%-14s%s\n", "names", info->pattern);
    if (cli_is_encoded(info))
        print_stored(info);
    if (info->header)
        printf("%-14s%s\n", "header", info->header);
    print_notes(info);
    if (info->fingerprint)
        printf("%-14s%016" PRIx64 "\n", "fingerprint", info->fingerprint);
}

static void print_name(const char *name, const resplit_info *info)
{
    printf("%-20s  ", name);
    print_shape(info->ndim, info->shape);
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
