/* SPDX-License-Identifier: BSD-3-Clause */
/* json_explain.c - what explain.c prints, as keys of a plan's JSON object. The contract is docs/man/resplit.1. */
#include <json.h>
#include <stdio.h>
#include <string.h>

#include "report.h"

static void add_number(json_object *object, const char *key, double value)
{
    char text[40];

    snprintf(text, sizeof text, "%.9g", value);
    json_object_object_add(object, key, json_object_new_double_s(value, text));
}

static void add_integer(json_object *object, const char *key, int64_t value)
{
    json_object_object_add(object, key, json_object_new_int64(value));
}

/* The distance to the floor, or null where that is zero. */
static void add_ratio(json_object *object, const char *key, double value, double floor)
{
    if (floor > 0)
        add_number(object, key, value / floor);
    else
        json_object_object_add(object, key, NULL);
}

static json_object *device_of(const resplit_device *device)
{
    json_object *o = json_object_new_object();

    json_object_object_add(o, "name", json_object_new_string(device->name));
    add_number(o, "latency", device->latency);
    add_number(o, "depth", device->depth);
    add_number(o, "read_bandwidth", device->read_bandwidth);
    add_number(o, "write_bandwidth", device->write_bandwidth);
    add_number(o, "both_bandwidth", device->both_bandwidth);
    return o;
}

static json_object *choice_of(const struct cli_choices *choices, const struct cli_choice *choice)
{
    const resplit_cost *cost = &choice->predicted;
    int64_t seeks = cost->read_seeks + cost->write_seeks;
    json_object *o = json_object_new_object();

    json_object_object_add(o, "strategy", json_object_new_string(choice->strategy));
    add_integer(o, "memory", choice->memory);
    json_object_object_add(o, "fits", json_object_new_boolean(choice->needed == 0));
    if (choice->needed > 0) {
        add_integer(o, "needed_bytes", choice->needed);
        return o;
    }
    add_integer(o, "seeks", seeks);
    add_ratio(o, "seeks_x_floor", (double)seeks, (double)(choices->floor.read_seeks + choices->floor.write_seeks));
    add_number(o, "seconds", choice->seconds);
    add_ratio(o, "seconds_x_floor", choice->seconds, choices->floor_seconds);
    add_integer(o, "bytes_moved", cost->bytes_read + cost->bytes_written);
    add_integer(o, "peak_bytes", cost->peak_bytes);
    add_integer(o, "temp_bytes", cost->temp_bytes);
    return o;
}

static void add_choices(json_object *object, const struct cli_choices *choices)
{
    json_object *strategies = json_object_new_array(), *knee = json_object_new_array();

    for (int i = 0; i < choices->n_strategies; i++) {
        json_object *o = choice_of(choices, &choices->strategies[i]);
        json_object_object_add(o, "chosen", json_object_new_boolean(choices->strategies[i].chosen));
        json_object_array_add(strategies, o);
    }
    for (int i = 0; i < choices->n_knee; i++) {
        json_object *o = choice_of(choices, &choices->knee[i]);
        add_number(o, "factor", choices->knee[i].factor);
        json_object_array_add(knee, o);
    }
    json_object_object_add(object, "minimize", json_object_new_string(choices->minimize));
    json_object_object_add(object, "strategies", strategies);
    json_object_object_add(object, "knee", knee);
    if (choices->n_curve == 0)
        return;
    json_object *curve = json_object_new_array();
    for (int i = 0; i < choices->n_curve; i++)
        json_object_array_add(curve, choice_of(choices, &choices->curve[i]));
    json_object_object_add(object, "curve", curve);
}

static json_object *lengths_of(int ndim, const int64_t *lengths)
{
    json_object *list = json_object_new_array();

    for (int d = 0; d < ndim; d++)
        json_object_array_add(list, json_object_new_int64(lengths[d]));
    return list;
}

static void add_proposal(json_object *object, const struct cli_proposal *proposal)
{
    json_object *o = json_object_new_object();
    char access[40];

    if (strcmp(proposal->access, "cubes") == 0)
        snprintf(access, sizeof access, "cubes");
    else
        snprintf(access, sizeof access, "%s:%d", proposal->access, proposal->axis);
    json_object_object_add(o, "chunks", lengths_of(proposal->ndim, proposal->length));
    json_object_object_add(o, "for", json_object_new_string(access));
    add_integer(o, "block_bytes", proposal->block_bytes);
    add_integer(o, "tried", proposal->n_tried);
    json_object_object_add(object, "proposal", o);
}

static void add_neighbour(json_object *object, const struct cli_neighbour *neighbour)
{
    json_object *o = json_object_new_object();

    json_object_object_add(o, "chunks", lengths_of(neighbour->ndim, neighbour->length));
    add_number(o, "saved", neighbour->saved);
    add_number(o, "seconds", neighbour->seconds);
    add_integer(o, "seeks", neighbour->seeks);
    json_object_object_add(object, "nearby", o);
}

void cli_json_explain(json_object *object, const struct cli_result *result)
{
    json_object_object_add(object, "device", device_of(&result->plan->device));
    add_number(object, "predicted_seconds", result->plan->seconds);
    add_number(object, "floor_seconds", result->plan->floor_seconds);
    if (result->proposal)
        add_proposal(object, result->proposal);
    if (result->choices)
        add_choices(object, result->choices);
    if (result->neighbour && result->neighbour->ndim > 0)
        add_neighbour(object, result->neighbour);
}
