/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * planfile_read.c - strictly reads the text of a plan. Tables say which keys an object has and of which type they are: a key
 * that is missing, unknown or of another type is refused before any value is looked at. Numbers are 64-bit integers, never
 * doubles.
 */
#include "plan/planfile.h"

#include "plan/partition.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

typedef struct reader {
    const char *path; /* for messages */
    resplit_error *err;
} reader;

static resplit_status __attribute__((format(printf, 2, 3))) bad(const reader *r, const char *format, ...)
{
    char why[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return rs_fail(r->err, RESPLIT_EFORMAT, "bad plan file '%s': %s", r->path, why);
}

/* What a value must be; the names are for messages. */
typedef enum type { BOOLEAN, INTEGER, DOUBLE, STRING, ARRAY, OBJECT } type;

static const char *const type_names[] = {
    [BOOLEAN] = "boolean", [INTEGER] = "int", [DOUBLE] = "double",
    [STRING] = "string",   [ARRAY] = "array", [OBJECT] = "object",
};

typedef struct key {
    const char *name;
    type type;
    bool optional;
} key;

static const key root_keys[] = {
    {"resplit_plan", INTEGER, false}, {"source", OBJECT, false},  {"target", OBJECT, false},
    {"strategy", STRING, false},      {"memory", INTEGER, false}, {"buffer", ARRAY, true},
    {"loop_order", ARRAY, true},      {"kept_axes", ARRAY, true}, {"predicted", OBJECT, true},
    {"device", OBJECT, false},        {"temp", STRING, true},     {"problem_hash", STRING, false},
    {"parts", INTEGER, true},         {"part", INTEGER, true},    {"minimize", STRING, true},
    {NULL, BOOLEAN, false},
};
static const key source_keys[] = {
    {"path", STRING, false},  {"format", STRING, false}, {"pattern", STRING, true},
    {"chunks", ARRAY, false}, {"dtype", STRING, false},  {"order", STRING, true},
    {"shape", ARRAY, false},  {"skip", INTEGER, false},  {NULL, BOOLEAN, false},
};
static const key target_keys[] = {
    {"path", STRING, false}, {"format", STRING, false},      {"pattern", STRING, true}, {"chunks", ARRAY, false},
    {"roi", ARRAY, true},    {"dtype", STRING, true},        {"order", STRING, true},   {"codec", STRING, true},
    {"shards", ARRAY, true}, {"write_empty", BOOLEAN, true}, {"ome", BOOLEAN, true},    {"virtual", BOOLEAN, true},
    {NULL, BOOLEAN, false},
};

/* ---- Keys and values ----------------------------------------------------------------------- */

/* A double is a number with a point or an exponent, as it is written; NaN and infinities are refused by their range. */
static bool is_of_type(const rs_json *value, type wanted)
{
    switch (value->kind) {
    case RS_JSON_FALSE:
    case RS_JSON_TRUE: return wanted == BOOLEAN;
    case RS_JSON_NUMBER: return wanted == (rs_json_is_integer(value) ? INTEGER : DOUBLE);
    case RS_JSON_STRING: return wanted == STRING;
    case RS_JSON_ARRAY: return wanted == ARRAY;
    case RS_JSON_OBJECT: return wanted == OBJECT;
    default: return false;
    }
}

static bool is_known(const rs_json *value, const key *keys)
{
    while (keys->name != NULL && !rs_json_key_is(value, keys->name)) {
        keys++;
    }
    return keys->name != NULL;
}

static resplit_status check_keys(const reader *r, const char *of, const rs_json *object, const key *keys)
{
    for (const rs_json *value = object->first; value != NULL; value = value->next) {
        if (!is_known(value, keys)) {
            return bad(r, "\"%.*s\" in %s is not known", (int)rs_min(60, (int64_t)value->key_n - 2), value->key + 1,
                       of);
        }
    }
    for (; keys->name != NULL; keys++) {
        const rs_json *value = rs_json_get(object, keys->name);
        if (value == NULL && !keys->optional) {
            return bad(r, "\"%s\" is missing in %s", keys->name, of);
        }
        if (value != NULL && !is_of_type(value, keys->type)) {
            return bad(r, "\"%s\" in %s must be of type %s", keys->name, of, type_names[keys->type]);
        }
    }
    return RESPLIT_OK;
}

/* An integer from `least` to `most`. */
static resplit_status get_integer(const reader *r, const char *name, const rs_json *value, int64_t least, int64_t most,
                                  int64_t *out)
{
    *out = 0;
    if (!rs_json_is_integer(value)) {
        return bad(r, "\"%s\" must hold whole numbers", name);
    }
    if (!rs_json_int64(value, out) || *out < least || *out > most) {
        return bad(r, "\"%s\" holds %.*s, which is out of range", name, (int)rs_min(60, (int64_t)value->n),
                   value->text);
    }
    return RESPLIT_OK;
}

static resplit_status get_member(const reader *r, const rs_json *object, const char *name, int64_t least, int64_t *out)
{
    return get_integer(r, name, rs_json_get(object, name), least, INT64_MAX, out);
}

/* The text of a string, appended. Refuses what no C string holds. */
static resplit_status add_text(const reader *r, const char *name, const rs_json *value, rs_text *out)
{
    resplit_status rc = rs_json_add_string(value, out, r->err);
    return rc != RESPLIT_EFORMAT ? rc : bad(r, "\"%s\" holds a NUL or half a character", name);
}

/* A copy of the text of a key, NULL when the key is absent. Refuses an empty text. */
static resplit_status get_text(const reader *r, const rs_json *object, const char *name, char **out)
{
    const rs_json *value = rs_json_get(object, name);
    rs_text text = {0};
    if (value == NULL) {
        return RESPLIT_OK;
    }
    resplit_status rc = add_text(r, name, value, &text);
    if (rc == RESPLIT_OK && text.n == 0) {
        rc = bad(r, "\"%s\" is empty", name);
    }
    if (rc == RESPLIT_OK) {
        *out = text.s;
    } else {
        rs_text_release(&text);
    }
    return rc;
}

/* A list of one entry per axis. */
static resplit_status get_list(const reader *r, const rs_json *object, const char *name, int ndim, const rs_json **out)
{
    *out = rs_json_get(object, name);
    int64_t n = rs_json_count(*out);
    if (n != ndim) {
        return bad(r, "\"%s\" has %lld entries for %d axes", name, (long long)n, ndim);
    }
    return RESPLIT_OK;
}

/* The integers of a list of one entry per axis. */
static resplit_status get_per_axis(const reader *r, const rs_json *object, const char *name, int ndim, int64_t least,
                                   int64_t most, int64_t *out)
{
    const rs_json *list;
    RS_TRY(get_list(r, object, name, ndim, &list));
    for (const rs_json *value = list->first; value != NULL; value = value->next) {
        RS_TRY(get_integer(r, name, value, least, most, out++));
    }
    return RESPLIT_OK;
}

/* Numbers of a list into memory that the caller owns, failure or not. */
static resplit_status get_numbers(const reader *r, const char *name, const rs_json *list, int64_t *n, int64_t **out)
{
    int64_t i = 0;
    *n = rs_json_count(list);
    *out = calloc((size_t)*n + 1, sizeof **out);
    if (*out == NULL) {
        return rs_fail(r->err, RESPLIT_ENOMEM, "no memory for %lld numbers of plan file '%s'", (long long)*n, r->path);
    }
    for (const rs_json *value = list->first; value != NULL; value = value->next) {
        RS_TRY(get_integer(r, name, value, 0, INT64_MAX, &(*out)[i++]));
    }
    return RESPLIT_OK;
}

/* ---- Sides --------------------------------------------------------------------------------- */

static resplit_status get_chunks(const reader *r, const rs_json *object, int ndim, rs_planfile_side *out)
{
    const rs_json *list;
    int d = 0;
    RS_TRY(get_list(r, object, "chunks", ndim, &list));
    for (const rs_json *value = list->first; value != NULL; value = value->next, d++) {
        if (value->kind != RS_JSON_ARRAY) {
            RS_TRY(get_integer(r, "chunks", value, 0, INT64_MAX, &out->chunks[d].length));
            continue;
        }
        int64_t n;
        RS_TRY(get_numbers(r, "chunks", value, &n, &out->lengths[d]));
        out->chunks[d] = (resplit_chunks){.count = n, .lengths = out->lengths[d]};
        if (n == 0) {
            return bad(r, "the chunks of axis %d are an empty list", d);
        }
    }
    return RESPLIT_OK;
}

static resplit_status get_words(const reader *r, const rs_json *object, rs_planfile_side *out)
{
    RS_TRY(get_text(r, object, "path", &out->path));
    RS_TRY(get_text(r, object, "format", &out->format));
    return get_text(r, object, "pattern", &out->pattern);
}

/* C, F, or not there. */
static resplit_status get_order(const reader *r, const rs_json *object, char *out)
{
    const rs_json *value = rs_json_get(object, "order");
    *out = rs_json_is(value, "C") ? 'C' : rs_json_is(value, "F") ? 'F' : '\0';
    return value == NULL || *out != '\0'
               ? RESPLIT_OK
               : bad(r, "order is '%.*s', not C or F", (int)rs_min(40, (int64_t)value->n - 2), value->text + 1);
}

/* The source tells the number of axes. */
static resplit_status get_source(const reader *r, const rs_json *root, rs_planfile *out)
{
    const rs_json *object = rs_json_get(root, "source");
    RS_TRY(check_keys(r, "\"source\"", object, source_keys));
    int64_t ndim = rs_json_count(rs_json_get(object, "shape"));
    if (ndim > RS_MAX_NDIM) {
        return rs_fail(r->err, RESPLIT_EUNSUPPORTED, "plan file '%s' is for %lld axes; at most %d are handled", r->path,
                       (long long)ndim, RS_MAX_NDIM);
    }
    out->ndim = (int)ndim;
    RS_TRY(get_per_axis(r, object, "shape", out->ndim, 0, INT64_MAX, out->source.shape));
    RS_TRY(get_order(r, object, &out->source.order));
    RS_TRY(get_words(r, object, &out->source));
    RS_TRY(get_text(r, object, "dtype", &out->source.dtype));
    RS_TRY(get_member(r, object, "skip", 0, &out->source.skip));
    return get_chunks(r, object, out->ndim, &out->source);
}

/* What a Zarr target has, and a cast. */
static resplit_status get_encoding(const reader *r, const rs_json *object, int ndim, rs_planfile_side *out)
{
    RS_TRY(get_text(r, object, "dtype", &out->dtype));
    RS_TRY(get_text(r, object, "codec", &out->codec));
    RS_TRY(get_order(r, object, &out->order));
    (void)rs_json_bool(rs_json_get(object, "write_empty"), &out->write_empty);
    (void)rs_json_bool(rs_json_get(object, "ome"), &out->ome);
    (void)rs_json_bool(rs_json_get(object, "virtual"), &out->is_virtual);
    out->has_shards = rs_json_get(object, "shards") != NULL;
    return out->has_shards ? get_per_axis(r, object, "shards", ndim, 1, INT64_MAX, out->shards) : RESPLIT_OK;
}

static resplit_status get_roi(const reader *r, const rs_json *object, int ndim, rs_planfile_side *out)
{
    const rs_json *roi;
    int d = 0;
    out->has_roi = rs_json_get(object, "roi") != NULL;
    if (!out->has_roi) {
        return RESPLIT_OK;
    }
    RS_TRY(get_list(r, object, "roi", ndim, &roi));
    for (const rs_json *pair = roi->first; pair != NULL; pair = pair->next, d++) {
        if (pair->kind != RS_JSON_ARRAY || rs_json_count(pair) != 2) {
            return bad(r, "\"roi\" must hold pairs [start, stop]");
        }
        RS_TRY(get_integer(r, "roi", pair->first, 0, INT64_MAX, &out->roi_start[d]));
        RS_TRY(get_integer(r, "roi", pair->first->next, out->roi_start[d], INT64_MAX, &out->roi_stop[d]));
    }
    return RESPLIT_OK;
}

static resplit_status get_target(const reader *r, const rs_json *root, rs_planfile *out)
{
    const rs_json *object = rs_json_get(root, "target");
    rs_planfile_side *side = &out->target;
    RS_TRY(check_keys(r, "\"target\"", object, target_keys));
    RS_TRY(get_words(r, object, side));
    RS_TRY(get_encoding(r, object, out->ndim, side));
    RS_TRY(get_chunks(r, object, out->ndim, side));
    return get_roi(r, object, out->ndim, side);
}

/* ---- The plan ------------------------------------------------------------------------------ */

static resplit_status get_cuts(const reader *r, const rs_json *root, rs_planfile *out)
{
    const rs_json *list;
    int d = 0;
    RS_TRY(get_list(r, root, "buffer", out->ndim, &list));
    for (const rs_json *value = list->first; value != NULL; value = value->next, d++) {
        rs_planfile_cuts *cuts = &out->buffer[d];
        if (value->kind != RS_JSON_ARRAY) {
            RS_TRY(get_integer(r, "buffer", value, 1, INT64_MAX, &cuts->step));
            continue;
        }
        int64_t n;
        RS_TRY(get_numbers(r, "buffer", value, &n, &cuts->cuts));
        cuts->n = n - 1;
        if (cuts->n < 1) {
            return bad(r, "the buffers of axis %d have no two cuts", d);
        }
    }
    return RESPLIT_OK;
}

static resplit_status get_kept(const reader *r, const rs_json *root, rs_planfile *out)
{
    for (const rs_json *value = rs_json_get(root, "kept_axes")->first; value != NULL; value = value->next) {
        int64_t d;
        RS_TRY(get_integer(r, "kept_axes", value, 0, out->ndim - 1, &d));
        if ((out->kept >> d & 1) != 0) {
            return bad(r, "axis %d is kept twice", (int)d);
        }
        out->kept |= UINT32_C(1) << d;
    }
    return RESPLIT_OK;
}

static resplit_status get_buffers(const reader *r, const rs_json *root, rs_planfile *out)
{
    int64_t loop[RS_MAX_NDIM];
    int n_there = (rs_json_get(root, "buffer") != NULL) + (rs_json_get(root, "loop_order") != NULL)
                  + (rs_json_get(root, "kept_axes") != NULL);
    if (n_there == 0) {
        return RESPLIT_OK;
    }
    if (n_there != 3) {
        return bad(r, "\"buffer\", \"loop_order\" and \"kept_axes\" belong together");
    }
    out->has_buffers = true;
    RS_TRY(get_cuts(r, root, out));
    RS_TRY(get_per_axis(r, root, "loop_order", out->ndim, 0, out->ndim - 1, loop));
    for (int i = 0; i < out->ndim; i++) {
        out->loop[i] = (int)loop[i];
    }
    return get_kept(r, root, out);
}

/* A plan of all partitions has nothing of a plan of one, or of the whole, and the other way round. */
static resplit_status get_parts(const reader *r, const rs_json *root, rs_planfile *out)
{
    const rs_json *n = rs_json_get(root, "parts"), *part = rs_json_get(root, "part");
    if (n != NULL) {
        RS_TRY(get_integer(r, "parts", n, 1, RS_MOST_PARTITIONS, &out->n_parts));
    }
    if (part != NULL) {
        RS_TRY(get_integer(r, "part", part, 1, out->n_parts, &out->part));
    }
    RS_TRY(get_text(r, root, "minimize", &out->minimize));
    bool all = rs_planfile_is_of_parts(out), predicted = rs_json_get(root, "predicted") != NULL;
    if (all && (out->has_buffers || predicted)) {
        return bad(r, "a plan of %lld parts has no buffers and no prediction", (long long)out->n_parts);
    }
    if (!all && !predicted) {
        return bad(r, "\"predicted\" is missing in the plan");
    }
    return out->minimize == NULL || all ? RESPLIT_OK : bad(r, "\"minimize\" is for a plan of all parts");
}

static resplit_status get_predicted(const reader *r, const rs_json *root, rs_planfile *out)
{
    const rs_json *object = rs_json_get(root, "predicted");
    key keys[RS_N_COST_FIELDS + 1] = {{NULL, BOOLEAN, false}};
    for (int i = 0; i < RS_N_COST_FIELDS; i++) {
        keys[i] = (key){rs_cost_fields[i].name, INTEGER, false};
    }
    RS_TRY(check_keys(r, "\"predicted\"", object, keys));
    for (int i = 0; i < RS_N_COST_FIELDS; i++) {
        RS_TRY(get_member(r, object, keys[i].name, 0, rs_cost_at(&out->predicted, i)));
    }
    return RESPLIT_OK;
}

static resplit_status get_device_name(const reader *r, const rs_json *value, resplit_device *out)
{
    rs_text name = {0};
    resplit_status rc = add_text(r, "name", value, &name);
    if (rc == RESPLIT_OK && name.n >= sizeof out->name) {
        rc = bad(r, "the name of the device is too long");
    }
    if (rc == RESPLIT_OK) {
        memcpy(out->name, name.s, name.n + 1);
    }
    rs_text_release(&name);
    return rc;
}

static resplit_status get_device(const reader *r, const rs_json *root, rs_planfile *out)
{
    const rs_json *object = rs_json_get(root, "device");
    key keys[RS_N_DEVICE_FIELDS + 2] = {{"name", STRING, false}};
    for (int i = 0; i < RS_N_DEVICE_FIELDS; i++) {
        keys[i + 1] = (key){rs_device_fields[i].name, DOUBLE, false};
    }
    RS_TRY(check_keys(r, "\"device\"", object, keys));
    RS_TRY(get_device_name(r, rs_json_get(object, "name"), &out->device));
    for (int i = 0; i < RS_N_DEVICE_FIELDS; i++) {
        double value = 0;
        (void)rs_json_double(rs_json_get(object, rs_device_fields[i].name), &value);
        if (!(value > 0 && value < 1e18)) { /* not a number is refused too */
            return bad(r, "\"%s\" is %g, which is out of range", rs_device_fields[i].name, value);
        }
        *rs_device_number(&out->device, i) = value;
    }
    return RESPLIT_OK;
}

/* Sixteen lower-case digits, as they are written. */
static resplit_status get_hash(const reader *r, const rs_json *root, uint64_t *out)
{
    const rs_json *value = rs_json_get(root, "problem_hash");
    if (value->n != 18 || strspn(value->text + 1, "0123456789abcdef") != 16) {
        return bad(r, "\"problem_hash\" must be 16 hexadecimal digits");
    }
    *out = strtoull(value->text + 1, NULL, 16);
    return RESPLIT_OK;
}

static resplit_status get_all(const reader *r, const rs_json *root, rs_planfile *out)
{
    const rs_json *value = rs_json_get(root, "resplit_plan");
    int64_t version;
    if (value == NULL) {
        return rs_fail(r->err, RESPLIT_EFORMAT, "'%s' is not a plan file: it is no JSON object with \"resplit_plan\"",
                       r->path);
    }
    RS_TRY(get_integer(r, "resplit_plan", value, 0, INT64_MAX, &version));
    if (version != RS_PLANFILE_VERSION) {
        return rs_fail(r->err, RESPLIT_EUNSUPPORTED, "plan file '%s' is of version %lld; only %d can be read", r->path,
                       (long long)version, RS_PLANFILE_VERSION);
    }
    RS_TRY(check_keys(r, "the plan", root, root_keys));
    RS_TRY(get_source(r, root, out));
    RS_TRY(get_target(r, root, out));
    RS_TRY(get_text(r, root, "strategy", &out->strategy));
    RS_TRY(get_text(r, root, "temp", &out->temp));
    RS_TRY(get_member(r, root, "memory", 1, &out->memory));
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
    resplit_status rc = get_all(&(reader){path, err}, rs_json_root(document), out);
    rs_json_free(document);
    if (rc != RESPLIT_OK) {
        rs_planfile_release(out);
    }
    return rc;
}
