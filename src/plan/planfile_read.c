/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * planfile_read.c - strictly reads the text of a plan. Tables say which keys an object has and of which type they are:
 * a key that is missing, unknown or of another type is refused before any value is looked at. Numbers are 64-bit
 * integers, never doubles.
 */
#include "plan/planfile.h"

#include "plan/partition.h"
#include "plan/planfile_fields.h"

#include <stdlib.h>
#include <string.h>

static const rs_field root_keys[] = {
    {"resplit_plan", RS_FIELD_INTEGER, false}, {"source", RS_FIELD_OBJECT, false},
    {"target", RS_FIELD_OBJECT, false},        {"strategy", RS_FIELD_STRING, false},
    {"memory", RS_FIELD_INTEGER, false},       {"buffer", RS_FIELD_ARRAY, true},
    {"loop_order", RS_FIELD_ARRAY, true},      {"kept_axes", RS_FIELD_ARRAY, true},
    {"predicted", RS_FIELD_OBJECT, true},      {"device", RS_FIELD_OBJECT, false},
    {"temp", RS_FIELD_STRING, true},           {"problem_hash", RS_FIELD_STRING, false},
    {"parts", RS_FIELD_INTEGER, true},         {"part", RS_FIELD_INTEGER, true},
    {"minimize", RS_FIELD_STRING, true},       {"workers", RS_FIELD_INTEGER, true},
    {NULL, RS_FIELD_BOOLEAN, false},
};
static const rs_field source_keys[] = {
    {"path", RS_FIELD_STRING, false},  {"format", RS_FIELD_STRING, false}, {"pattern", RS_FIELD_STRING, true},
    {"chunks", RS_FIELD_ARRAY, false}, {"dtype", RS_FIELD_STRING, false},  {"order", RS_FIELD_STRING, true},
    {"shape", RS_FIELD_ARRAY, false},  {"skip", RS_FIELD_INTEGER, false},  {NULL, RS_FIELD_BOOLEAN, false},
};
static const rs_field target_keys[] = {
    {"path", RS_FIELD_STRING, false},        {"format", RS_FIELD_STRING, false}, {"pattern", RS_FIELD_STRING, true},
    {"chunks", RS_FIELD_ARRAY, false},       {"roi", RS_FIELD_ARRAY, true},      {"dtype", RS_FIELD_STRING, true},
    {"order", RS_FIELD_STRING, true},        {"codec", RS_FIELD_STRING, true},   {"shards", RS_FIELD_ARRAY, true},
    {"write_empty", RS_FIELD_BOOLEAN, true}, {"ome", RS_FIELD_BOOLEAN, true},    {"virtual", RS_FIELD_BOOLEAN, true},
    {NULL, RS_FIELD_BOOLEAN, false},
};

/* ---- Sides --------------------------------------------------------------------------------- */

static resplit_status get_chunks(const rs_fields *r, const rs_json *object, int ndim, rs_planfile_side *out)
{
    const rs_json *list;
    int d = 0;
    RS_TRY(rs_fields_list(r, object, "chunks", ndim, &list));
    for (const rs_json *value = list->first; value != NULL; value = value->next, d++) {
        if (value->kind != RS_JSON_ARRAY) {
            RS_TRY(rs_fields_integer(r, "chunks", value, 0, INT64_MAX, &out->chunks[d].length));
            continue;
        }
        int64_t n;
        RS_TRY(rs_fields_numbers(r, "chunks", value, &n, &out->lengths[d]));
        out->chunks[d] = (resplit_chunks){.count = n, .lengths = out->lengths[d]};
        if (n == 0) {
            return rs_fields_bad(r, "the chunks of axis %d are an empty list", d);
        }
    }
    return RESPLIT_OK;
}

static resplit_status get_words(const rs_fields *r, const rs_json *object, rs_planfile_side *out)
{
    RS_TRY(rs_fields_text(r, object, "path", &out->path));
    RS_TRY(rs_fields_text(r, object, "format", &out->format));
    return rs_fields_text(r, object, "pattern", &out->pattern);
}

/* C, F, or not there. */
static resplit_status get_order(const rs_fields *r, const rs_json *object, char *out)
{
    const rs_json *value = rs_json_get(object, "order");
    *out = rs_json_is(value, "C") ? 'C' : rs_json_is(value, "F") ? 'F' : '\0';
    return value == NULL || *out != '\0' ? RESPLIT_OK
                                         : rs_fields_bad(r, "order is '%.*s', not C or F",
                                                         (int)rs_min(40, (int64_t)value->n - 2), value->text + 1);
}

/* The source tells the number of axes. */
static resplit_status get_source(const rs_fields *r, const rs_json *root, rs_planfile *out)
{
    const rs_json *object = rs_json_get(root, "source");
    RS_TRY(rs_fields_check(r, "\"source\"", object, source_keys));
    int64_t ndim = rs_json_count(rs_json_get(object, "shape"));
    if (ndim > RS_MAX_NDIM) {
        return rs_fail(r->err, RESPLIT_EUNSUPPORTED, "plan file '%s' is for %lld axes; at most %d are handled", r->path,
                       (long long)ndim, RS_MAX_NDIM);
    }
    out->ndim = (int)ndim;
    RS_TRY(rs_fields_per_axis(r, object, "shape", out->ndim, 0, INT64_MAX, out->source.shape));
    RS_TRY(get_order(r, object, &out->source.order));
    RS_TRY(get_words(r, object, &out->source));
    RS_TRY(rs_fields_text(r, object, "dtype", &out->source.dtype));
    RS_TRY(rs_fields_member(r, object, "skip", 0, &out->source.skip));
    return get_chunks(r, object, out->ndim, &out->source);
}

/* What a Zarr target has, and a cast. */
static resplit_status get_encoding(const rs_fields *r, const rs_json *object, int ndim, rs_planfile_side *out)
{
    RS_TRY(rs_fields_text(r, object, "dtype", &out->dtype));
    RS_TRY(rs_fields_text(r, object, "codec", &out->codec));
    RS_TRY(get_order(r, object, &out->order));
    (void)rs_json_bool(rs_json_get(object, "write_empty"), &out->write_empty);
    (void)rs_json_bool(rs_json_get(object, "ome"), &out->ome);
    (void)rs_json_bool(rs_json_get(object, "virtual"), &out->is_virtual);
    out->has_shards = rs_json_get(object, "shards") != NULL;
    return out->has_shards ? rs_fields_per_axis(r, object, "shards", ndim, 1, INT64_MAX, out->shards) : RESPLIT_OK;
}

static resplit_status get_roi(const rs_fields *r, const rs_json *object, int ndim, rs_planfile_side *out)
{
    const rs_json *roi;
    int d = 0;
    out->has_roi = rs_json_get(object, "roi") != NULL;
    if (!out->has_roi) {
        return RESPLIT_OK;
    }
    RS_TRY(rs_fields_list(r, object, "roi", ndim, &roi));
    for (const rs_json *pair = roi->first; pair != NULL; pair = pair->next, d++) {
        if (pair->kind != RS_JSON_ARRAY || rs_json_count(pair) != 2) {
            return rs_fields_bad(r, "\"roi\" must hold pairs [start, stop]");
        }
        RS_TRY(rs_fields_integer(r, "roi", pair->first, 0, INT64_MAX, &out->roi_start[d]));
        RS_TRY(rs_fields_integer(r, "roi", pair->first->next, out->roi_start[d], INT64_MAX, &out->roi_stop[d]));
    }
    return RESPLIT_OK;
}

static resplit_status get_target(const rs_fields *r, const rs_json *root, rs_planfile *out)
{
    const rs_json *object = rs_json_get(root, "target");
    rs_planfile_side *side = &out->target;
    RS_TRY(rs_fields_check(r, "\"target\"", object, target_keys));
    RS_TRY(get_words(r, object, side));
    RS_TRY(get_encoding(r, object, out->ndim, side));
    RS_TRY(get_chunks(r, object, out->ndim, side));
    return get_roi(r, object, out->ndim, side);
}

/* ---- The plan ------------------------------------------------------------------------------ */

static resplit_status get_cuts(const rs_fields *r, const rs_json *root, rs_planfile *out)
{
    const rs_json *list;
    int d = 0;
    RS_TRY(rs_fields_list(r, root, "buffer", out->ndim, &list));
    for (const rs_json *value = list->first; value != NULL; value = value->next, d++) {
        rs_planfile_cuts *cuts = &out->buffer[d];
        if (value->kind != RS_JSON_ARRAY) {
            RS_TRY(rs_fields_integer(r, "buffer", value, 1, INT64_MAX, &cuts->step));
            continue;
        }
        int64_t n;
        RS_TRY(rs_fields_numbers(r, "buffer", value, &n, &cuts->cuts));
        cuts->n = n - 1;
        if (cuts->n < 1) {
            return rs_fields_bad(r, "the buffers of axis %d have no two cuts", d);
        }
    }
    return RESPLIT_OK;
}

static resplit_status get_kept(const rs_fields *r, const rs_json *root, rs_planfile *out)
{
    for (const rs_json *value = rs_json_get(root, "kept_axes")->first; value != NULL; value = value->next) {
        int64_t d;
        RS_TRY(rs_fields_integer(r, "kept_axes", value, 0, out->ndim - 1, &d));
        if ((out->kept >> d & 1) != 0) {
            return rs_fields_bad(r, "axis %d is kept twice", (int)d);
        }
        out->kept |= UINT32_C(1) << d;
    }
    return RESPLIT_OK;
}

static resplit_status get_buffers(const rs_fields *r, const rs_json *root, rs_planfile *out)
{
    int64_t loop[RS_MAX_NDIM];
    int n_there = (rs_json_get(root, "buffer") != NULL) + (rs_json_get(root, "loop_order") != NULL)
                  + (rs_json_get(root, "kept_axes") != NULL);
    if (n_there == 0) {
        return RESPLIT_OK;
    }
    if (n_there != 3) {
        return rs_fields_bad(r, "\"buffer\", \"loop_order\" and \"kept_axes\" belong together");
    }
    out->has_buffers = true;
    RS_TRY(get_cuts(r, root, out));
    RS_TRY(rs_fields_per_axis(r, root, "loop_order", out->ndim, 0, out->ndim - 1, loop));
    for (int i = 0; i < out->ndim; i++) {
        out->loop[i] = (int)loop[i];
    }
    return get_kept(r, root, out);
}

/* A plan of all partitions has nothing of a plan of one, or of the whole, and the other way round. */
static resplit_status get_parts(const rs_fields *r, const rs_json *root, rs_planfile *out)
{
    const rs_json *n = rs_json_get(root, "parts"), *part = rs_json_get(root, "part");
    if (n != NULL) {
        RS_TRY(rs_fields_integer(r, "parts", n, 1, RS_MOST_PARTITIONS, &out->n_parts));
    }
    if (part != NULL) {
        RS_TRY(rs_fields_integer(r, "part", part, 1, out->n_parts, &out->part));
    }
    RS_TRY(rs_fields_text(r, root, "minimize", &out->minimize));
    bool all = rs_planfile_is_of_parts(out), predicted = rs_json_get(root, "predicted") != NULL;
    if (all && (out->has_buffers || predicted)) {
        return rs_fields_bad(r, "a plan of %lld parts has no buffers and no prediction", (long long)out->n_parts);
    }
    if (!all && !predicted) {
        return rs_fields_bad(r, "\"predicted\" is missing in the plan");
    }
    return out->minimize == NULL || all ? RESPLIT_OK : rs_fields_bad(r, "\"minimize\" is for a plan of all parts");
}

static resplit_status get_predicted(const rs_fields *r, const rs_json *root, rs_planfile *out)
{
    const rs_json *object = rs_json_get(root, "predicted");
    rs_field keys[RS_N_COST_FIELDS + 1] = {{NULL, RS_FIELD_BOOLEAN, false}};
    for (int i = 0; i < RS_N_COST_FIELDS; i++) {
        keys[i] = (rs_field){rs_cost_fields[i].name, RS_FIELD_INTEGER, false};
    }
    RS_TRY(rs_fields_check(r, "\"predicted\"", object, keys));
    for (int i = 0; i < RS_N_COST_FIELDS; i++) {
        RS_TRY(rs_fields_member(r, object, keys[i].name, 0, rs_cost_at(&out->predicted, i)));
    }
    return RESPLIT_OK;
}

static resplit_status get_device_name(const rs_fields *r, const rs_json *value, resplit_device *out)
{
    rs_text name = {0};
    resplit_status rc = rs_fields_add_text(r, "name", value, &name);
    if (rc == RESPLIT_OK && name.n >= sizeof out->name) {
        rc = rs_fields_bad(r, "the name of the device is too long");
    }
    if (rc == RESPLIT_OK) {
        memcpy(out->name, name.s, name.n + 1);
    }
    rs_text_release(&name);
    return rc;
}

static resplit_status get_device(const rs_fields *r, const rs_json *root, rs_planfile *out)
{
    const rs_json *object = rs_json_get(root, "device");
    rs_field keys[RS_N_DEVICE_FIELDS + 2] = {{"name", RS_FIELD_STRING, false}};
    for (int i = 0; i < RS_N_DEVICE_FIELDS; i++) {
        keys[i + 1] = (rs_field){rs_device_fields[i].name, RS_FIELD_DOUBLE, false};
    }
    RS_TRY(rs_fields_check(r, "\"device\"", object, keys));
    RS_TRY(get_device_name(r, rs_json_get(object, "name"), &out->device));
    for (int i = 0; i < RS_N_DEVICE_FIELDS; i++) {
        double value = 0;
        (void)rs_json_double(rs_json_get(object, rs_device_fields[i].name), &value);
        if (!(value > 0 && value < 1e18)) { /* not a number is refused too */
            return rs_fields_bad(r, "\"%s\" is %g, which is out of range", rs_device_fields[i].name, value);
        }
        *rs_device_number(&out->device, i) = value;
    }
    return RESPLIT_OK;
}

/* Sixteen lower-case digits, as they are written. */
static resplit_status get_hash(const rs_fields *r, const rs_json *root, uint64_t *out)
{
    const rs_json *value = rs_json_get(root, "problem_hash");
    if (value->n != 18 || strspn(value->text + 1, "0123456789abcdef") != 16) {
        return rs_fields_bad(r, "\"problem_hash\" must be 16 hexadecimal digits");
    }
    *out = strtoull(value->text + 1, NULL, 16);
    return RESPLIT_OK;
}

static resplit_status get_all(const rs_fields *r, const rs_json *root, rs_planfile *out)
{
    const rs_json *value = rs_json_get(root, "resplit_plan");
    int64_t version;
    if (value == NULL) {
        return rs_fail(r->err, RESPLIT_EFORMAT, "'%s' is not a plan file: it is no JSON object with \"resplit_plan\"",
                       r->path);
    }
    RS_TRY(rs_fields_integer(r, "resplit_plan", value, 0, INT64_MAX, &version));
    if (version != RS_PLANFILE_VERSION) {
        return rs_fail(r->err, RESPLIT_EUNSUPPORTED, "plan file '%s' is of version %lld; only %d can be read", r->path,
                       (long long)version, RS_PLANFILE_VERSION);
    }
    RS_TRY(rs_fields_check(r, "the plan", root, root_keys));
    RS_TRY(get_source(r, root, out));
    RS_TRY(get_target(r, root, out));
    RS_TRY(rs_fields_text(r, root, "strategy", &out->strategy));
    RS_TRY(rs_fields_text(r, root, "temp", &out->temp));
    RS_TRY(rs_fields_member(r, root, "memory", 1, &out->memory));
    value = rs_json_get(root, "workers");
    if (value != NULL) {
        RS_TRY(rs_fields_integer(r, "workers", value, 1, RS_MOST_WORKERS, &out->crew));
    }
    RS_TRY(get_device(r, root, out));
    RS_TRY(get_buffers(r, root, out));
    RS_TRY(get_parts(r, root, out));
    if (!rs_planfile_is_of_parts(out)) {
        RS_TRY(get_predicted(r, root, out));
    }
    return get_hash(r, root, &out->problem_hash);
}

resplit_status rs_planfile_parse(const char *text, size_t n, const char *path, rs_planfile *out, resplit_error *err)
{
    rs_json_document *document;
    *out = (rs_planfile){0};
    if (n > RS_PLANFILE_BYTES) {
        return rs_fail(err, RESPLIT_EFORMAT, "bad plan file '%s': it has %zu bytes; at most %d are read", path, n,
                       RS_PLANFILE_BYTES);
    }
    RS_TRY(rs_json_parse(text, n, path, &document, err));
    resplit_status rc = get_all(&(rs_fields){path, err}, rs_json_root(document), out);
    rs_json_free(document);
    if (rc != RESPLIT_OK) {
        rs_planfile_release(out);
    }
    return rc;
}
