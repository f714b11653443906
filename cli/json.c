/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json.c - results as one JSON object. The keys are a contract, written down in docs/man/resplit.1. An object is
 * printed when it is whole, or not at all.
 */
#include <json.h>
#include <stdio.h>
#include <string.h>

#include "parse.h"
#include "report.h"

static bool print_object(json_object *object, resplit_error *err)
{
    int style = JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE;
    const char *text = object ? json_object_to_json_string_ext(object, style) : NULL;
    bool ok = text != NULL;

    if (ok)
        printf("%s\n", text);
    else
        cli_fail(err, RESPLIT_ENOMEM, "no memory for the JSON output");
    json_object_put(object);
    return ok;
}

static void add_integer(json_object *object, const char *key, int64_t value)
{
    json_object_object_add(object, key, json_object_new_int64(value));
}

/* NULL becomes null. */
static void add_text(json_object *object, const char *key, const char *value)
{
    json_object_object_add(object, key, value ? json_object_new_string(value) : NULL);
}

/* An object of an array: in a list it begins with a name. */
static json_object *new_object(const struct cli_list *list)
{
    json_object *object = json_object_new_object();

    if (list)
        add_text(object, "name", list->name);
    return object;
}

/* Prints an object, or puts it into the list. */
static bool put_object(json_object *object, struct cli_list *list, resplit_error *err)
{
    if (!list)
        return print_object(object, err);
    if (!list->arrays)
        list->arrays = json_object_new_array();
    if (!list->arrays || json_object_array_add(list->arrays, object) != 0) {
        json_object_put(object);
        return cli_fail(err, RESPLIT_ENOMEM, "no memory for the JSON output");
    }
    return true;
}

static void add_number(json_object *object, const char *key, double value)
{
    char text[40];

    snprintf(text, sizeof text, "%.9g", value);
    json_object_object_add(object, key, json_object_new_double_s(value, text));
}

static json_object *list_of(int64_t n, const int64_t *values)
{
    json_object *list = json_object_new_array();

    for (int64_t i = 0; i < n; i++)
        json_object_array_add(list, json_object_new_int64(values[i]));
    return list;
}

static bool is_even(const resplit_chunks *axis, int64_t extent)
{
    return axis->count == 0 || cli_even_length(axis, extent) > 0;
}

/* Even axes as a number, uneven ones as the list of their lengths. */
static json_object *chunks_of(int ndim, const resplit_chunks *chunks, const int64_t *shape)
{
    json_object *list = json_object_new_array();

    for (int d = 0; d < ndim; d++) {
        json_object *axis = is_even(&chunks[d], shape[d]) ? json_object_new_int64(cli_even_length(&chunks[d], shape[d]))
                                                          : list_of(chunks[d].count, chunks[d].lengths);
        json_object_array_add(list, axis);
    }
    return list;
}

static void add_array(json_object *object, const resplit_info *info)
{
    char order[2] = {info->order, '\0'};

    json_object_object_add(object, "shape", list_of(info->ndim, info->shape));
    add_text(object, "dtype", info->dtype);
    add_integer(object, "itemsize", info->itemsize);
    add_text(object, "order", info->order ? order : NULL);
}

static void add_shards(json_object *object, const resplit_info *info)
{
    json_object_object_add(object, "shards", info->shards ? list_of(info->ndim, info->shards) : NULL);
}

/* ---- Plans and runs ------------------------------------------------------------------------------------------- */

/* Where an axis is cut by the buffers, both ends included. */
static json_object *cuts_of(const resplit_chunks *axis, int64_t extent)
{
    json_object *list = json_object_new_array();
    int64_t at = 0;

    json_object_array_add(list, json_object_new_int64(0));
    for (int64_t i = 0; at < extent; i++) {
        int64_t step = axis->count == 0 ? axis->length : i < axis->count ? axis->lengths[i] : extent - at;
        if (step <= 0 || step > extent - at)
            step = extent - at;
        at += step;
        json_object_array_add(list, json_object_new_int64(at));
    }
    return list;
}

/* `buffer` where every axis is evenly cut, else null and `buffer_cuts`. */
static void add_buffer(json_object *object, const resplit_plan_summary *plan)
{
    bool all_even = true;

    for (int d = 0; d < plan->ndim; d++)
        all_even = all_even && is_even(&plan->buffer[d], plan->shape[d]);
    json_object_object_add(object, "buffer", all_even ? chunks_of(plan->ndim, plan->buffer, plan->shape) : NULL);
    if (all_even)
        return;
    json_object *cuts = json_object_new_array();
    for (int d = 0; d < plan->ndim; d++)
        json_object_array_add(cuts, cuts_of(&plan->buffer[d], plan->shape[d]));
    json_object_object_add(object, "buffer_cuts", cuts);
}

static void add_loops(json_object *object, const resplit_plan_summary *plan)
{
    json_object *order = json_object_new_array(), *kept = json_object_new_array();

    for (int d = 0; d < plan->ndim; d++) {
        json_object_array_add(order, json_object_new_int(plan->loop_order[d]));
        if (plan->kept[d])
            json_object_array_add(kept, json_object_new_int(d));
    }
    json_object_object_add(object, "loop_order", order);
    json_object_object_add(object, "kept_axes", kept);
}

static void add_cost(json_object *object, const char *key, const resplit_cost *cost)
{
    json_object *o = json_object_new_object();

    add_integer(o, "read_seeks", cost->read_seeks);
    add_integer(o, "write_seeks", cost->write_seeks);
    add_integer(o, "seeks", cost->read_seeks + cost->write_seeks);
    add_integer(o, "bytes_read", cost->bytes_read);
    add_integer(o, "bytes_written", cost->bytes_written);
    add_integer(o, "held_bytes", cost->held_bytes);
    add_integer(o, "peak_bytes", cost->peak_bytes);
    add_integer(o, "temp_bytes", cost->temp_bytes);
    json_object_object_add(object, key, o);
}

static void add_floor(json_object *object, const resplit_cost *floor)
{
    json_object *o = json_object_new_object();

    add_integer(o, "seeks", floor->read_seeks + floor->write_seeks);
    add_integer(o, "bytes_read", floor->bytes_read);
    add_integer(o, "bytes_written", floor->bytes_written);
    json_object_object_add(object, "floor", o);
}

static void add_roi(json_object *object, const struct cli_result *result)
{
    json_object *list = json_object_new_array();

    for (int d = 0; d < result->source->ndim; d++)
        json_object_array_add(list, list_of(2, (int64_t[2]){result->roi_start[d], result->roi_stop[d]}));
    json_object_object_add(object, "roi", list);
}

static void add_double(json_object *object, const char *key, double value)
{
    char text[40];

    snprintf(text, sizeof text, "%.6f", value);
    json_object_object_add(object, key, json_object_new_double_s(value, text));
}

static void add_fingerprint(json_object *object, uint64_t fingerprint)
{
    char text[20];

    snprintf(text, sizeof text, "%016" PRIx64, fingerprint);
    add_text(object, "fingerprint", fingerprint ? text : NULL);
}

/* Only where blocks on disk are something else than their elements. */
static void add_stored(json_object *object, const struct cli_result *result)
{
    const resplit_info *source = result->source, *target = result->target;

    if (cli_is_encoded(target)) {
        add_text(object, "codec", target->codec);
        add_shards(object, target);
    }
    if (result->done
        && (cli_is_encoded(source) || cli_is_encoded(target) || strcmp(source->dtype, target->dtype) != 0)) {
        add_integer(object, "stored_read", result->done->stored_read);
        add_integer(object, "stored_written", result->done->stored_written);
    }
}

static void add_cast(json_object *object, const struct cli_result *result)
{
    const resplit_losses *losses = &result->done->losses;
    json_object *o = json_object_new_object();

    add_text(o, "from", result->source->dtype);
    add_text(o, "to", result->target->dtype);
    add_integer(o, "values", losses->n_values);
    add_integer(o, "changed", cli_n_changed(losses));
    add_integer(o, "out_of_range", losses->n_out_of_range);
    add_integer(o, "not_a_number", losses->n_not_a_number);
    add_integer(o, "rounded", losses->n_rounded);
    json_object_object_add(object, "cast", o);
}

static void add_done(json_object *object, const resplit_result *done, const resplit_info *target)
{
    add_cost(object, "actual", &done->cost);
    add_double(object, "seconds", done->seconds);
    add_double(object, "gigabytes_per_second", done->seconds > 0 ? (double)target->bytes / done->seconds / 1e9 : 0);
    add_integer(object, "threads", done->threads);
    add_text(object, "io", done->io);
    json_object_object_add(object, "resumed", json_object_new_boolean(done->resumed));
    add_fingerprint(object, done->fingerprint);
}

bool cli_json_result(const struct cli_result *result, struct cli_list *list, resplit_error *err)
{
    const resplit_info *source = result->source, *target = result->target;
    const resplit_plan_summary *plan = result->plan;
    json_object *object = new_object(list);

    add_text(object, "strategy", plan->strategy);
    add_array(object, source);
    if (result->roi_start)
        add_roi(object, result);
    json_object_object_add(object, "chunks_from", chunks_of(source->ndim, source->chunks, source->shape));
    json_object_object_add(object, "chunks_to", chunks_of(target->ndim, target->chunks, target->shape));
    add_buffer(object, plan);
    add_loops(object, plan);
    add_integer(object, "memory", plan->memory);
    add_cost(object, "predicted", &plan->predicted);
    add_floor(object, &plan->floor);
    cli_json_explain(object, result);
    if (result->done)
        add_done(object, result->done, target);
    if (result->done && strcmp(source->dtype, target->dtype) != 0)
        add_cast(object, result);
    add_stored(object, result);
    return put_object(object, list, err);
}

/* ---- Arrays --------------------------------------------------------------------------------------------------- */

bool cli_json_info(const resplit_info *info, struct cli_list *list, resplit_error *err)
{
    json_object *object = new_object(list);

    add_text(object, "path", info->path);
    add_array(object, info);
    json_object_object_add(object, "chunks", chunks_of(info->ndim, info->chunks, info->shape));
    add_integer(object, "n_blocks", info->n_blocks);
    add_integer(object, "bytes", info->bytes);
    add_text(object, "format", info->format);
    add_text(object, "pattern", info->pattern);
    if (cli_is_encoded(info)) {
        add_text(object, "codec", info->codec);
        add_shards(object, info);
        add_integer(object, "n_stored", info->n_stored);
        add_integer(object, "n_missing", info->n_blocks - info->n_stored);
        add_integer(object, "stored_bytes", info->stored_bytes);
        if (info->stored_bytes > 0)
            add_double(object, "ratio", (double)info->bytes / (double)info->stored_bytes);
        else
            add_text(object, "ratio", NULL);
    }
    add_fingerprint(object, info->fingerprint);
    return put_object(object, list, err);
}

bool cli_json_fingerprint(const resplit_info *info, uint64_t fingerprint, struct cli_list *list, resplit_error *err)
{
    json_object *object = new_object(list);

    add_text(object, "path", info->path);
    add_fingerprint(object, fingerprint);
    return put_object(object, list, err);
}

bool cli_json_difference(const resplit_info *info, const resplit_difference *difference, struct cli_list *list,
                         resplit_error *err)
{
    json_object *object = new_object(list);

    json_object_object_add(object, "equal", json_object_new_boolean(difference->equal));
    add_integer(object, "n_different", difference->n_different);
    json_object_object_add(object, "index", difference->equal ? NULL : list_of(info->ndim, difference->index));
    return put_object(object, list, err);
}

/* ---- Groups --------------------------------------------------------------------------------------------------- */

bool cli_json_note(const char *key, struct cli_list *list, resplit_error *err)
{
    json_object *object = new_object(list);

    json_object_object_add(object, key, json_object_new_boolean(true));
    return put_object(object, list, err);
}

bool cli_json_list(struct cli_list *list, const char *path, const bool *equal, resplit_error *err)
{
    json_object *object = json_object_new_object();

    add_text(object, "path", path);
    if (equal)
        json_object_object_add(object, "equal", json_object_new_boolean(*equal));
    json_object_object_add(object, "arrays", list->arrays ? list->arrays : json_object_new_array());
    list->arrays = NULL;
    return print_object(object, err);
}

void cli_list_release(struct cli_list *list)
{
    json_object_put(list->arrays);
    list->arrays = NULL;
}

/* ---- Disks ---------------------------------------------------------------------------------------------------- */

bool cli_json_disk(const char *folder, const resplit_disk *disk, resplit_error *err)
{
    json_object *object = json_object_new_object();
    double bytes = (double)disk->bytes;

    add_text(object, "path", folder);
    json_object_object_add(object, "direct", json_object_new_boolean(disk->direct));
    add_integer(object, "bytes", disk->bytes);
    add_number(object, "write_seconds", disk->write_seconds);
    add_number(object, "read_seconds", disk->read_seconds);
    add_number(object, "both_seconds", disk->both_seconds);
    add_number(object, "write_bandwidth", bytes / disk->write_seconds);
    add_number(object, "read_bandwidth", bytes / disk->read_seconds);
    add_number(object, "both_bandwidth", 2 * bytes / disk->both_seconds);
    add_number(object, "random_latency", disk->random_latency);
    add_number(object, "random_rate", disk->random_rate);
    add_integer(object, "random_depth", disk->random_depth);
    return print_object(object, err);
}
