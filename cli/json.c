/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json.c - results as one JSON object. The keys are a contract, written down in docs/man/resplit.1. An object is
 * printed when it is whole, or not at all.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "parse.h"
#include "report.h"

/* Prints what is whole, and releases it. */
bool cli_json_print(struct cli_out *out, resplit_error *err)
{
    bool ok = !out->failed;

    if (ok)
        printf("%s\n", out->text);
    else
        cli_fail(err, RESPLIT_ENOMEM, "no memory for the JSON output");
    cli_out_release(out);
    return ok;
}

/* Where the object of an array goes: to `own`, which is printed, or to the list, where it begins with a name. */
static struct cli_out *begin_object(struct cli_list *list, struct cli_out *own)
{
    struct cli_out *out = list ? &list->arrays : own;

    if (list && out->n == 0)
        cli_out_open(out, NULL, '[');
    cli_out_open(out, NULL, '{');
    if (list)
        cli_out_text(out, "name", list->name);
    return out;
}

static bool end_object(struct cli_out *out, const struct cli_list *list, resplit_error *err)
{
    cli_out_close(out, '}');
    if (!list)
        return cli_json_print(out, err);
    return !out->failed || cli_fail(err, RESPLIT_ENOMEM, "no memory for the JSON output");
}

static bool is_even(const resplit_chunks *axis, int64_t extent)
{
    return axis->count == 0 || cli_even_length(axis, extent) > 0;
}

/* Even axes as a number, uneven ones as the list of their lengths. */
static void add_chunks(struct cli_out *out, const char *key, int ndim, const resplit_chunks *chunks,
                       const int64_t *shape)
{
    cli_out_open(out, key, '[');
    for (int d = 0; d < ndim; d++) {
        if (is_even(&chunks[d], shape[d]))
            cli_out_integer(out, NULL, cli_even_length(&chunks[d], shape[d]));
        else
            cli_out_integers(out, NULL, chunks[d].count, chunks[d].lengths);
    }
    cli_out_close(out, ']');
}

static void add_array(struct cli_out *out, const resplit_info *info)
{
    char order[2] = {info->order, '\0'};

    cli_out_integers(out, "shape", info->ndim, info->shape);
    cli_out_text(out, "dtype", info->dtype);
    cli_out_integer(out, "itemsize", info->itemsize);
    cli_out_text(out, "order", info->order ? order : NULL);
}

static void add_shards(struct cli_out *out, const resplit_info *info)
{
    if (info->shards)
        cli_out_integers(out, "shards", info->ndim, info->shards);
    else
        cli_out_null(out, "shards");
}

/* ---- Plans and runs ------------------------------------------------------------------------------------------- */

/* Where an axis is cut by the buffers, both ends included. */
static void add_cuts(struct cli_out *out, const resplit_chunks *axis, int64_t extent)
{
    int64_t at = 0;

    cli_out_open(out, NULL, '[');
    cli_out_integer(out, NULL, 0);
    for (int64_t i = 0; at < extent; i++) {
        int64_t step = axis->count == 0 ? axis->length : i < axis->count ? axis->lengths[i] : extent - at;
        if (step <= 0 || step > extent - at)
            step = extent - at;
        at += step;
        cli_out_integer(out, NULL, at);
    }
    cli_out_close(out, ']');
}

/* `buffer` where every axis is evenly cut, else null and `buffer_cuts`. */
static void add_buffer(struct cli_out *out, const resplit_plan_summary *plan)
{
    bool all_even = true;

    for (int d = 0; d < plan->ndim; d++)
        all_even = all_even && is_even(&plan->buffer[d], plan->shape[d]);
    if (all_even) {
        add_chunks(out, "buffer", plan->ndim, plan->buffer, plan->shape);
        return;
    }
    cli_out_null(out, "buffer");
    cli_out_open(out, "buffer_cuts", '[');
    for (int d = 0; d < plan->ndim; d++)
        add_cuts(out, &plan->buffer[d], plan->shape[d]);
    cli_out_close(out, ']');
}

static void add_loops(struct cli_out *out, const resplit_plan_summary *plan)
{
    cli_out_open(out, "loop_order", '[');
    for (int d = 0; d < plan->ndim; d++)
        cli_out_integer(out, NULL, plan->loop_order[d]);
    cli_out_close(out, ']');
    cli_out_open(out, "kept_axes", '[');
    for (int d = 0; d < plan->ndim; d++) {
        if (plan->kept[d])
            cli_out_integer(out, NULL, d);
    }
    cli_out_close(out, ']');
}

void cli_json_cost(struct cli_out *out, const char *key, const resplit_cost *cost)
{
    cli_out_open(out, key, '{');
    cli_out_integer(out, "read_seeks", cost->read_seeks);
    cli_out_integer(out, "write_seeks", cost->write_seeks);
    cli_out_integer(out, "seeks", cost->read_seeks + cost->write_seeks);
    cli_out_integer(out, "bytes_read", cost->bytes_read);
    cli_out_integer(out, "bytes_written", cost->bytes_written);
    cli_out_integer(out, "held_bytes", cost->held_bytes);
    cli_out_integer(out, "peak_bytes", cost->peak_bytes);
    cli_out_integer(out, "temp_bytes", cost->temp_bytes);
    cli_out_close(out, '}');
}

static void add_floor(struct cli_out *out, const resplit_cost *floor)
{
    cli_out_open(out, "floor", '{');
    cli_out_integer(out, "seeks", floor->read_seeks + floor->write_seeks);
    cli_out_integer(out, "bytes_read", floor->bytes_read);
    cli_out_integer(out, "bytes_written", floor->bytes_written);
    cli_out_close(out, '}');
}

static void add_roi(struct cli_out *out, const struct cli_result *result)
{
    cli_out_open(out, "roi", '[');
    for (int d = 0; d < result->source->ndim; d++)
        cli_out_integers(out, NULL, 2, (int64_t[2]){result->roi_start[d], result->roi_stop[d]});
    cli_out_close(out, ']');
}

void cli_json_digits(struct cli_out *out, uint64_t fingerprint)
{
    char text[20];

    snprintf(text, sizeof text, "%016" PRIx64, fingerprint);
    cli_out_text(out, "fingerprint", fingerprint ? text : NULL);
}

/* Only where blocks on disk are something else than their elements. */
static void add_stored(struct cli_out *out, const struct cli_result *result)
{
    const resplit_info *source = result->source, *target = result->target;

    if (cli_is_encoded(target)) {
        cli_out_text(out, "codec", target->codec);
        add_shards(out, target);
    }
    if (result->done
        && (cli_is_encoded(source) || cli_is_encoded(target) || strcmp(source->dtype, target->dtype) != 0)) {
        cli_out_integer(out, "stored_read", result->done->stored_read);
        cli_out_integer(out, "stored_written", result->done->stored_written);
    }
}

static void add_cast(struct cli_out *out, const struct cli_result *result)
{
    const resplit_losses *losses = &result->done->losses;

    cli_out_open(out, "cast", '{');
    cli_out_text(out, "from", result->source->dtype);
    cli_out_text(out, "to", result->target->dtype);
    cli_out_integer(out, "values", losses->n_values);
    cli_out_integer(out, "changed", cli_n_changed(losses));
    cli_out_integer(out, "out_of_range", losses->n_out_of_range);
    cli_out_integer(out, "not_a_number", losses->n_not_a_number);
    cli_out_integer(out, "rounded", losses->n_rounded);
    cli_out_close(out, '}');
}

static void add_done(struct cli_out *out, const struct cli_result *result)
{
    const resplit_result *done = result->done;

    cli_json_cost(out, "actual", &done->cost);
    cli_out_fixed(out, "seconds", done->seconds);
    cli_out_fixed(out, "gigabytes_per_second",
                  done->seconds > 0 ? (double)cli_moved_bytes(result) / done->seconds / 1e9 : 0);
    cli_out_integer(out, "threads", done->threads);
    cli_out_text(out, "io", done->io);
    cli_out_bool(out, "resumed", done->resumed);
    cli_json_digits(out, done->fingerprint);
}

/* Where they are in another order than the source's. */
static void add_axes(struct cli_out *out, const resplit_info *target)
{
    int64_t axes[RESPLIT_MAX_NDIM];
    bool turned = false;

    for (int d = 0; d < target->ndim; d++) {
        axes[d] = target->axes[d];
        turned = turned || axes[d] != d;
    }
    if (turned)
        cli_out_integers(out, "axes", target->ndim, axes);
}

bool cli_json_result(const struct cli_result *result, struct cli_list *list, resplit_error *err)
{
    const resplit_info *source = result->source, *target = result->target;
    const resplit_plan_summary *plan = result->plan;
    struct cli_out own = {0}, *out = begin_object(list, &own);

    cli_out_text(out, "strategy", plan->strategy);
    add_array(out, source);
    if (result->roi_start)
        add_roi(out, result);
    add_chunks(out, "chunks_from", source->ndim, source->chunks, source->shape);
    add_chunks(out, "chunks_to", target->ndim, target->chunks, target->shape);
    add_axes(out, target);
    if (target->notes)
        cli_out_text(out, "notes", target->notes);
    add_buffer(out, plan);
    add_loops(out, plan);
    cli_out_integer(out, "memory", plan->memory);
    if (plan->n_parts > 0) {
        cli_out_integer(out, "part", plan->part);
        cli_out_integer(out, "parts", plan->n_parts);
        cli_out_integers(out, "part_start", plan->ndim, plan->start);
        cli_out_integers(out, "part_shape", plan->ndim, plan->shape);
    }
    cli_json_cost(out, "predicted", &plan->predicted);
    add_floor(out, &plan->floor);
    cli_json_explain(out, result);
    if (result->done)
        add_done(out, result);
    if (result->done && strcmp(source->dtype, target->dtype) != 0)
        add_cast(out, result);
    add_stored(out, result);
    return end_object(out, list, err);
}

/* ---- Arrays --------------------------------------------------------------------------------------------------- */

bool cli_json_info(const resplit_info *info, struct cli_list *list, resplit_error *err)
{
    struct cli_out own = {0}, *out = begin_object(list, &own);

    cli_out_text(out, "path", info->path);
    if (info->dataset)
        cli_out_text(out, "dataset", info->dataset);
    add_array(out, info);
    add_chunks(out, "chunks", info->ndim, info->chunks, info->shape);
    cli_out_integer(out, "n_blocks", info->n_blocks);
    cli_out_integer(out, "bytes", info->bytes);
    cli_out_text(out, "format", info->format);
    cli_out_text(out, "pattern", info->pattern);
    if (cli_is_encoded(info)) {
        cli_out_text(out, "codec", info->codec);
        add_shards(out, info);
        cli_out_integer(out, "n_stored", info->n_stored);
        cli_out_integer(out, "n_missing", info->n_blocks - info->n_stored);
        cli_out_integer(out, "stored_bytes", info->stored_bytes);
        if (info->stored_bytes > 0)
            cli_out_fixed(out, "ratio", (double)info->bytes / (double)info->stored_bytes);
        else
            cli_out_null(out, "ratio");
    }
    if (info->header)
        cli_out_text(out, "header", info->header);
    if (info->notes)
        cli_out_text(out, "notes", info->notes);
    cli_json_digits(out, info->fingerprint);
    return end_object(out, list, err);
}

bool cli_json_fingerprint(const resplit_info *info, uint64_t fingerprint, struct cli_list *list, resplit_error *err)
{
    struct cli_out own = {0}, *out = begin_object(list, &own);

    cli_out_text(out, "path", info->path);
    cli_json_digits(out, fingerprint);
    return end_object(out, list, err);
}

bool cli_json_difference(const resplit_info *info, const resplit_difference *difference, int64_t needed,
                         struct cli_list *list, resplit_error *err)
{
    struct cli_out own = {0}, *out = begin_object(list, &own);

    cli_out_bool(out, "equal", difference->equal);
    if (needed > 0)
        cli_out_null(out, "n_different");
    else
        cli_out_integer(out, "n_different", difference->n_different);
    if (difference->equal || needed > 0)
        cli_out_null(out, "index");
    else
        cli_out_integers(out, "index", info->ndim, difference->index);
    return end_object(out, list, err);
}

/* ---- Groups --------------------------------------------------------------------------------------------------- */

bool cli_json_note(const char *key, struct cli_list *list, resplit_error *err)
{
    struct cli_out own = {0}, *out = begin_object(list, &own);

    cli_out_bool(out, key, true);
    return end_object(out, list, err);
}

bool cli_json_list(struct cli_list *list, const char *path, const bool *equal, resplit_error *err)
{
    struct cli_out out = {0};

    if (list->arrays.n == 0)
        cli_out_open(&list->arrays, NULL, '[');
    cli_out_close(&list->arrays, ']');
    cli_out_open(&out, NULL, '{');
    cli_out_text(&out, "path", path);
    if (equal)
        cli_out_bool(&out, "equal", *equal);
    cli_out_raw(&out, "arrays", list->arrays.text ? list->arrays.text : "");
    cli_out_close(&out, '}');
    out.failed = out.failed || list->arrays.failed;
    cli_list_release(list);
    return cli_json_print(&out, err);
}

void cli_list_release(struct cli_list *list)
{
    cli_out_release(&list->arrays);
}

/* ---- Disks ---------------------------------------------------------------------------------------------------- */

bool cli_json_disk(const char *folder, const resplit_disk *disk, resplit_error *err)
{
    struct cli_out own = {0}, *out = begin_object(NULL, &own);
    double bytes = (double)disk->bytes;

    cli_out_text(out, "path", folder);
    cli_out_bool(out, "direct", disk->direct);
    cli_out_integer(out, "bytes", disk->bytes);
    cli_out_number(out, "write_seconds", disk->write_seconds);
    cli_out_number(out, "read_seconds", disk->read_seconds);
    cli_out_number(out, "both_seconds", disk->both_seconds);
    cli_out_number(out, "write_bandwidth", bytes / disk->write_seconds);
    cli_out_number(out, "read_bandwidth", bytes / disk->read_seconds);
    cli_out_number(out, "both_bandwidth", 2 * bytes / disk->both_seconds);
    cli_out_number(out, "random_latency", disk->random_latency);
    cli_out_number(out, "random_rate", disk->random_rate);
    cli_out_integer(out, "random_depth", disk->random_depth);
    return end_object(out, NULL, err);
}
