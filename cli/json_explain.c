/* SPDX-License-Identifier: BSD-3-Clause */
/* json_explain.c - what explain.c prints, as keys of a plan's JSON object. The contract is docs/man/resplit.1. */
#include <stdio.h>
#include <string.h>

#include "report.h"

/* The distance to the floor, or null where that is zero. */
static void add_ratio(struct cli_out *out, const char *key, double value, double floor)
{
    if (floor > 0)
        cli_out_number(out, key, value / floor);
    else
        cli_out_null(out, key);
}

static void add_device(struct cli_out *out, const resplit_device *device)
{
    cli_out_open(out, "device", '{');
    cli_out_text(out, "name", device->name);
    cli_out_number(out, "latency", device->latency);
    cli_out_number(out, "depth", device->depth);
    cli_out_number(out, "read_bandwidth", device->read_bandwidth);
    cli_out_number(out, "write_bandwidth", device->write_bandwidth);
    cli_out_number(out, "both_bandwidth", device->both_bandwidth);
    cli_out_close(out, '}');
}

/* All but the bracket at the end: some have one key more. */
static void open_choice(struct cli_out *out, const struct cli_choices *choices, const struct cli_choice *choice)
{
    const resplit_cost *cost = &choice->predicted;
    int64_t seeks = cost->read_seeks + cost->write_seeks;

    cli_out_open(out, NULL, '{');
    cli_out_text(out, "strategy", choice->strategy);
    cli_out_integer(out, "memory", choice->memory);
    cli_out_bool(out, "fits", choice->needed == 0);
    if (choice->needed > 0) {
        cli_out_integer(out, "needed_bytes", choice->needed);
        return;
    }
    cli_out_integer(out, "seeks", seeks);
    add_ratio(out, "seeks_x_floor", (double)seeks, (double)(choices->floor.read_seeks + choices->floor.write_seeks));
    cli_out_number(out, "seconds", choice->seconds);
    add_ratio(out, "seconds_x_floor", choice->seconds, choices->floor_seconds);
    cli_out_integer(out, "bytes_moved", cost->bytes_read + cost->bytes_written);
    cli_out_integer(out, "peak_bytes", cost->peak_bytes);
    cli_out_integer(out, "temp_bytes", cost->temp_bytes);
}

static void add_choices(struct cli_out *out, const struct cli_choices *choices)
{
    cli_out_text(out, "minimize", choices->minimize);
    cli_out_open(out, "strategies", '[');
    for (int i = 0; i < choices->n_strategies; i++) {
        open_choice(out, choices, &choices->strategies[i]);
        cli_out_bool(out, "chosen", choices->strategies[i].chosen);
        cli_out_close(out, '}');
    }
    cli_out_close(out, ']');
    cli_out_open(out, "knee", '[');
    for (int i = 0; i < choices->n_knee; i++) {
        open_choice(out, choices, &choices->knee[i]);
        cli_out_number(out, "factor", choices->knee[i].factor);
        cli_out_close(out, '}');
    }
    cli_out_close(out, ']');
    if (choices->n_curve == 0)
        return;
    cli_out_open(out, "curve", '[');
    for (int i = 0; i < choices->n_curve; i++) {
        open_choice(out, choices, &choices->curve[i]);
        cli_out_close(out, '}');
    }
    cli_out_close(out, ']');
}

static void add_proposal(struct cli_out *out, const struct cli_proposal *proposal)
{
    char access[40];

    if (strcmp(proposal->access, "cubes") == 0)
        snprintf(access, sizeof access, "cubes");
    else
        snprintf(access, sizeof access, "%s:%d", proposal->access, proposal->axis);
    cli_out_open(out, "proposal", '{');
    cli_out_integers(out, "chunks", proposal->ndim, proposal->length);
    cli_out_text(out, "for", access);
    cli_out_integer(out, "block_bytes", proposal->block_bytes);
    cli_out_integer(out, "tried", proposal->n_tried);
    cli_out_close(out, '}');
}

static void add_neighbour(struct cli_out *out, const struct cli_neighbour *neighbour)
{
    cli_out_open(out, "nearby", '{');
    cli_out_integers(out, "chunks", neighbour->ndim, neighbour->length);
    cli_out_number(out, "saved", neighbour->saved);
    cli_out_number(out, "seconds", neighbour->seconds);
    cli_out_integer(out, "seeks", neighbour->seeks);
    cli_out_close(out, '}');
}

void cli_json_explain(struct cli_out *out, const struct cli_result *result)
{
    add_device(out, &result->plan->device);
    cli_out_number(out, "predicted_seconds", result->plan->seconds);
    cli_out_number(out, "floor_seconds", result->plan->floor_seconds);
    if (result->proposal)
        add_proposal(out, result->proposal);
    if (result->choices)
        add_choices(out, result->choices);
    if (result->neighbour && result->neighbour->ndim > 0)
        add_neighbour(out, result->neighbour);
}
