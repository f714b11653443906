/* SPDX-License-Identifier: BSD-3-Clause */
/* planfile.c - writes the text of a plan. Reading is in planfile_read.c. */
#include "plan/planfile.h"

#include <stdlib.h>

#include "base/json.h"

const rs_named rs_cost_fields[RS_N_COST_FIELDS] = {
    {"read_seeks", offsetof(resplit_cost, read_seeks)}, {"write_seeks", offsetof(resplit_cost, write_seeks)},
    {"bytes_read", offsetof(resplit_cost, bytes_read)}, {"bytes_written", offsetof(resplit_cost, bytes_written)},
    {"held_bytes", offsetof(resplit_cost, held_bytes)}, {"peak_bytes", offsetof(resplit_cost, peak_bytes)},
    {"temp_bytes", offsetof(resplit_cost, temp_bytes)},
};

const rs_named rs_device_fields[RS_N_DEVICE_FIELDS] = {
    {"latency", offsetof(resplit_device, latency)},
    {"depth", offsetof(resplit_device, depth)},
    {"read_bandwidth", offsetof(resplit_device, read_bandwidth)},
    {"write_bandwidth", offsetof(resplit_device, write_bandwidth)},
    {"both_bandwidth", offsetof(resplit_device, both_bandwidth)},
};

static void release_side(rs_planfile_side *side)
{
    free(side->path);
    free(side->format);
    free(side->pattern);
    free(side->dtype);
    free(side->codec);
    for (int d = 0; d < RS_MAX_NDIM; d++) {
        free(side->lengths[d]);
    }
}

void rs_planfile_release(rs_planfile *file)
{
    release_side(&file->source);
    release_side(&file->target);
    free(file->strategy);
    free(file->minimize);
    free(file->temp);
    for (int d = 0; d < RS_MAX_NDIM; d++) {
        free(file->buffer[d].cuts);
    }
    *file = (rs_planfile){0};
}

/* ---- Values -------------------------------------------------------------------------------- */

static resplit_status add_string(rs_text *out, const char *key, const char *value, resplit_error *err)
{
    RS_TRY(rs_text_add(out, err, "\"%s\": ", key));
    return rs_json_write_string(out, value, err);
}

static resplit_status add_double(rs_text *out, const char *key, double value, resplit_error *err)
{
    RS_TRY(rs_text_add(out, err, "\"%s\": ", key));
    return rs_json_write_double(out, value, err);
}

static resplit_status add_list(rs_text *out, int64_t n, const int64_t *values, resplit_error *err)
{
    RS_TRY(rs_text_add(out, err, "["));
    for (int64_t i = 0; i < n; i++) {
        RS_TRY(rs_text_add(out, err, i > 0 ? ", %lld" : "%lld", (long long)values[i]));
    }
    return rs_text_add(out, err, "]");
}

/* One entry per axis: a number where an axis is evenly cut, else a list. */
static resplit_status add_axis(rs_text *out, int d, int64_t even, int64_t n, const int64_t *values, resplit_error *err)
{
    RS_TRY(rs_text_add(out, err, "%s", d > 0 ? ", " : ""));
    return n == 0 ? rs_text_add(out, err, "%lld", (long long)even) : add_list(out, n, values, err);
}

/* ---- Objects ------------------------------------------------------------------------------- */

/* On a line of its own, when there is something to say. */
static resplit_status add_word(rs_text *out, const char *key, const char *value, resplit_error *err)
{
    if (value == NULL || *value == '\0') {
        return RESPLIT_OK;
    }
    RS_TRY(rs_text_add(out, err, ",\n    "));
    return add_string(out, key, value, err);
}

/* What both sides have: path, format, chunks and pattern. */
static resplit_status add_side(rs_text *out, int ndim, const rs_planfile_side *side, resplit_error *err)
{
    RS_TRY(rs_text_add(out, err, "{\n    "));
    RS_TRY(add_string(out, "path", side->path, err));
    RS_TRY(rs_text_add(out, err, ",\n    "));
    RS_TRY(add_string(out, "format", side->format, err));
    RS_TRY(add_word(out, "pattern", side->pattern, err));
    RS_TRY(rs_text_add(out, err, ",\n    \"chunks\": ["));
    for (int d = 0; d < ndim; d++) {
        const resplit_chunks *chunks = &side->chunks[d];
        RS_TRY(add_axis(out, d, chunks->length, chunks->count, chunks->lengths, err));
    }
    return rs_text_add(out, err, "]");
}

static resplit_status add_source(rs_text *out, const rs_planfile *file, resplit_error *err)
{
    const rs_planfile_side *side = &file->source;
    char order[2] = {side->order, '\0'};
    RS_TRY(rs_text_add(out, err, "  \"source\": "));
    RS_TRY(add_side(out, file->ndim, side, err));
    RS_TRY(add_word(out, "dtype", side->dtype, err));
    RS_TRY(add_word(out, "order", order, err));
    RS_TRY(rs_text_add(out, err, ",\n    \"shape\": "));
    RS_TRY(add_list(out, file->ndim, side->shape, err));
    return rs_text_add(out, err, ",\n    \"skip\": %lld\n  },\n", (long long)side->skip);
}

static resplit_status add_target(rs_text *out, const rs_planfile *file, resplit_error *err)
{
    const rs_planfile_side *side = &file->target;
    char order[2] = {side->order, '\0'};
    RS_TRY(rs_text_add(out, err, "  \"target\": "));
    RS_TRY(add_side(out, file->ndim, side, err));
    if (side->has_roi) {
        RS_TRY(rs_text_add(out, err, ",\n    \"roi\": ["));
        for (int d = 0; d < file->ndim; d++) {
            RS_TRY(rs_text_add(out, err, "%s[%lld, %lld]", d > 0 ? ", " : "", (long long)side->roi_start[d],
                               (long long)side->roi_stop[d]));
        }
        RS_TRY(rs_text_add(out, err, "]"));
    }
    RS_TRY(add_word(out, "dtype", side->dtype, err));
    RS_TRY(add_word(out, "order", order, err));
    RS_TRY(add_word(out, "codec", side->codec, err));
    if (side->has_shards) {
        RS_TRY(rs_text_add(out, err, ",\n    \"shards\": "));
        RS_TRY(add_list(out, file->ndim, side->shards, err));
    }
    return rs_text_add(out, err, "%s%s%s\n  },\n", side->write_empty ? ",\n    \"write_empty\": true" : "",
                       side->ome ? ",\n    \"ome\": true" : "", side->is_virtual ? ",\n    \"virtual\": true" : "");
}

static resplit_status add_buffers(rs_text *out, const rs_planfile *file, resplit_error *err)
{
    int64_t loop[RS_MAX_NDIM], kept[RS_MAX_NDIM], n_kept = 0;
    RS_TRY(rs_text_add(out, err, "  \"buffer\": ["));
    for (int d = 0; d < file->ndim; d++) {
        const rs_planfile_cuts *cuts = &file->buffer[d];
        RS_TRY(add_axis(out, d, cuts->step, cuts->step > 0 ? 0 : cuts->n + 1, cuts->cuts, err));
        loop[d] = file->loop[d];
        if ((file->kept >> d & 1) != 0) {
            kept[n_kept++] = d;
        }
    }
    RS_TRY(rs_text_add(out, err, "],\n  \"loop_order\": "));
    RS_TRY(add_list(out, file->ndim, loop, err));
    RS_TRY(rs_text_add(out, err, ",\n  \"kept_axes\": "));
    RS_TRY(add_list(out, n_kept, kept, err));
    return rs_text_add(out, err, ",\n");
}

static resplit_status add_device(rs_text *out, const rs_planfile *file, resplit_error *err)
{
    resplit_device device = file->device;
    RS_TRY(rs_text_add(out, err, "  \"device\": {\n    "));
    RS_TRY(add_string(out, "name", device.name, err));
    for (int i = 0; i < RS_N_DEVICE_FIELDS; i++) {
        RS_TRY(rs_text_add(out, err, ",\n    "));
        RS_TRY(add_double(out, rs_device_fields[i].name, *rs_device_number(&device, i), err));
    }
    return rs_text_add(out, err, "\n  },\n");
}

static resplit_status add_parts(rs_text *out, const rs_planfile *file, resplit_error *err)
{
    if (file->n_parts > 0) {
        RS_TRY(rs_text_add(out, err, "  \"parts\": %lld,\n", (long long)file->n_parts));
    }
    if (file->part > 0) {
        RS_TRY(rs_text_add(out, err, "  \"part\": %lld,\n", (long long)file->part));
    }
    if (file->minimize != NULL) {
        RS_TRY(rs_text_add(out, err, "  "));
        RS_TRY(add_string(out, "minimize", file->minimize, err));
        RS_TRY(rs_text_add(out, err, ",\n"));
    }
    return RESPLIT_OK;
}

static resplit_status add_predicted(rs_text *out, const rs_planfile *file, resplit_error *err)
{
    resplit_cost predicted = file->predicted;
    RS_TRY(rs_text_add(out, err, "  \"predicted\": {"));
    for (int i = 0; i < RS_N_COST_FIELDS; i++) {
        RS_TRY(rs_text_add(out, err, "%s\n    \"%s\": %lld", i > 0 ? "," : "", rs_cost_fields[i].name,
                           (long long)*rs_cost_at(&predicted, i)));
    }
    return rs_text_add(out, err, "\n  },\n");
}

resplit_status rs_planfile_write(const rs_planfile *file, rs_text *out, resplit_error *err)
{
    RS_TRY(rs_text_add(out, err, "{\n  \"resplit_plan\": %d,\n", RS_PLANFILE_VERSION));
    RS_TRY(add_source(out, file, err));
    RS_TRY(add_target(out, file, err));
    RS_TRY(rs_text_add(out, err, "  "));
    RS_TRY(add_string(out, "strategy", file->strategy, err));
    RS_TRY(rs_text_add(out, err, ",\n  \"memory\": %lld,\n", (long long)file->memory));
    if (file->crew > RS_CODING_WORKERS) {
        RS_TRY(rs_text_add(out, err, "  \"workers\": %lld,\n", (long long)file->crew));
    }
    if (file->temp != NULL) {
        RS_TRY(rs_text_add(out, err, "  "));
        RS_TRY(add_string(out, "temp", file->temp, err));
        RS_TRY(rs_text_add(out, err, ",\n"));
    }
    RS_TRY(add_device(out, file, err));
    RS_TRY(add_parts(out, file, err));
    if (file->has_buffers) {
        RS_TRY(add_buffers(out, file, err));
    }
    if (!rs_planfile_is_of_parts(file)) {
        RS_TRY(add_predicted(out, file, err));
    }
    RS_TRY(rs_text_add(out, err, "  \"problem_hash\": \"%016llx\"\n}\n", (unsigned long long)file->problem_hash));
    if (out->n > RS_PLANFILE_BYTES) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED,
                       "the plan has too many cuts for a file: %zu bytes, at most %d are read", out->n,
                       RS_PLANFILE_BYTES);
    }
    return RESPLIT_OK;
}
