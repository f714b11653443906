/* SPDX-License-Identifier: BSD-3-Clause */
/* report_run.c - plans and runs as text for people: how it is done, what it costs, what came of it. */
#include "report.h"
#include "report_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
    cli_print_chunks(plan->ndim, plan->buffer, plan->shape);
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
            cli_print_ratio(cli_moved_bytes(result), done->stored_written);
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
    cli_print_array("array", result->target);
    if (result->roi_start) {
        printf("%-14s", "region");
        for (int d = 0; d < result->source->ndim; d++)
            printf("%s%" PRId64 ":%" PRId64, d ? ", " : "", result->roi_start[d], result->roi_stop[d]);
        printf(" of ");
        cli_print_shape(result->source->ndim, result->source->shape);
        printf("\n");
    }
    printf("%-14s", "from");
    cli_print_grid(result->source);
    printf("%-14s", "to");
    cli_print_grid(result->target);
    cli_print_notes(result->source);
    cli_print_notes(result->target);
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
