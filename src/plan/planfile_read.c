/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * planfile_read.c - strictly reads the text of a plan. Tables say which keys an object has and of which type they are: a key
 * that is missing, unknown or of another type is refused before any value is looked at. Numbers are 64-bit integers, never
 * doubles.
 */
#include "plan/planfile.h"

#include <json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NESTING = 8 }; /* of JSON in JSON */

typedef struct key {
    const char *name;
    enum json_type type;
    bool optional;
} key;

static const key root_keys[] = {
    {"resplit_plan", json_type_int, false}, {"source", json_type_object, false},
    {"target", json_type_object, false},    {"strategy", json_type_string, false},
    {"memory", json_type_int, false},       {"buffer", json_type_array, true},
    {"loop_order", json_type_array, true},  {"kept_axes", json_type_array, true},
    {"predicted", json_type_object, false}, {"device", json_type_object, false},
    {"temp", json_type_string, true},       {"problem_hash", json_type_string, false},
    {NULL, json_type_null, false},
};
static const key source_keys[] = {
    {"path", json_type_string, false},  {"format", json_type_string, false}, {"pattern", json_type_string, true},
    {"chunks", json_type_array, false}, {"dtype", json_type_string, false},  {"order", json_type_string, true},
    {"shape", json_type_array, false},  {"skip", json_type_int, false},      {NULL, json_type_null, false},
};
static const key target_keys[] = {
    {"path", json_type_string, false},        {"format", json_type_string, false}, {"pattern", json_type_string, true},
    {"chunks", json_type_array, false},       {"roi", json_type_array, true},      {"dtype", json_type_string, true},
    {"order", json_type_string, true},        {"codec", json_type_string, true},   {"shards", json_type_array, true},
    {"write_empty", json_type_boolean, true}, {NULL, json_type_null, false},
};

/* ---- Keys and values ----------------------------------------------------------------------- */

static const key *find_key(const key *keys, const char *name)
{
    for (; keys->name != NULL; keys++) {
        if (strcmp(keys->name, name) == 0) {
            return keys;
        }
    }
    return NULL;
}

static resplit_status check_keys(const char *path, const char *of, struct json_object *object, const key *keys,
                                 resplit_error *err)
{
    struct json_object_iterator at = json_object_iter_begin(object), end = json_object_iter_end(object);
    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        const char *name = json_object_iter_peek_name(&at);
        const key *known = find_key(keys, name);
        if (known == NULL) {
            return rs_fail(err, RESPLIT_EFORMAT, "bad plan file '%s': \"%.60s\" in %s is not known", path, name, of);
        }
        if (json_object_get_type(json_object_iter_peek_value(&at)) != known->type) {
            return rs_fail(err, RESPLIT_EFORMAT, "bad plan file '%s': \"%s\" in %s must be of type %s", path, name, of,
                           json_type_to_name(known->type));
        }
    }
    for (; keys->name != NULL; keys++) {
        if (!keys->optional && !json_object_object_get_ex(object, keys->name, NULL)) {
            return rs_fail(err, RESPLIT_EFORMAT, "bad plan file '%s': \"%s\" is missing in %s", path, keys->name, of);
        }
    }
    return RESPLIT_OK;
}

/* An integer from `least` to `most`. */
static resplit_status get_integer(const char *path, const char *name, struct json_object *value, int64_t least,
                                  int64_t most, int64_t *out, resplit_error *err)
{
    *out = 0;
    if (!json_object_is_type(value, json_type_int)) {
        return rs_fail(err, RESPLIT_EFORMAT, "bad plan file '%s': \"%s\" must hold whole numbers", path, name);
    }
    *out = json_object_get_int64(value);
    if (*out < least || *out > most || (*out >= 0 && json_object_get_uint64(value) > INT64_MAX)) {
        return rs_fail(err, RESPLIT_EFORMAT, "bad plan file '%s': \"%s\" holds %s, which is out of range", path, name,
                       json_object_get_string(value));
    }
    return RESPLIT_OK;
}

static resplit_status get_member(const char *path, struct json_object *object, const char *name, int64_t least,
                                 int64_t *out, resplit_error *err)
{
    return get_integer(path, name, json_object_object_get(object, name), least, INT64_MAX, out, err);
}

/* A copy of the text of a key, NULL when the key is absent. Refuses an empty text, and one with a NUL inside. */
static resplit_status get_text(const char *path, struct json_object *object, const char *name, char **out,
                               resplit_error *err)
{
    struct json_object *value;
    if (!json_object_object_get_ex(object, name, &value)) {
        return RESPLIT_OK;
    }
    const char *text = json_object_get_string(value);
    if (*text == '\0' || strlen(text) != (size_t)json_object_get_string_len(value)) {
        return rs_fail(err, RESPLIT_EFORMAT, "bad plan file '%s': \"%s\" is empty or holds a NUL", path, name);
    }
    *out = rs_strdup(text);
    return *out != NULL ? RESPLIT_OK : rs_fail(err, RESPLIT_ENOMEM, "no memory for plan file '%s'", path);
}

/* A list of one entry per axis. */
static resplit_status get_list(const char *path, struct json_object *object, const char *name, int ndim,
                               struct json_object **out, resplit_error *err)
{
    *out = json_object_object_get(object, name);
    if (json_object_array_length(*out) != (size_t)ndim) {
        return rs_fail(err, RESPLIT_EFORMAT, "bad plan file '%s': \"%s\" has %zu entries for %d axes", path, name,
                       json_object_array_length(*out), ndim);
    }
    return RESPLIT_OK;
}

/* Numbers of a list into memory that the caller owns, failure or not. */
static resplit_status get_numbers(const char *path, const char *name, struct json_object *list, int64_t least,
                                  int64_t **out, resplit_error *err)
{
    size_t n = json_object_array_length(list);
    *out = calloc(n + 1, sizeof **out);
    if (*out == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for %zu numbers of plan file '%s'", n, path);
    }
    for (size_t i = 0; i < n; i++) {
        RS_TRY(get_integer(path, name, json_object_array_get_idx(list, i), least, INT64_MAX, &(*out)[i], err));
    }
    return RESPLIT_OK;
}

/* ---- Sides --------------------------------------------------------------------------------- */

static resplit_status get_chunks(const char *path, struct json_object *object, int ndim, rs_planfile_side *out,
                                 resplit_error *err)
{
    struct json_object *list;
    RS_TRY(get_list(path, object, "chunks", ndim, &list, err));
    for (int d = 0; d < ndim; d++) {
        struct json_object *value = json_object_array_get_idx(list, (size_t)d);
        if (!json_object_is_type(value, json_type_array)) {
            RS_TRY(get_integer(path, "chunks", value, 0, INT64_MAX, &out->chunks[d].length, err));
            continue;
        }
        RS_TRY(get_numbers(path, "chunks", value, 0, &out->lengths[d], err));
        out->chunks[d] =
            (resplit_chunks){.count = (int64_t)json_object_array_length(value), .lengths = out->lengths[d]};
        if (out->chunks[d].count == 0) {
            return rs_fail(err, RESPLIT_EFORMAT, "bad plan file '%s': the chunks of axis %d are an empty list", path,
                           d);
        }
    }
    return RESPLIT_OK;
}

static resplit_status get_words(const char *path, struct json_object *object, rs_planfile_side *out, resplit_error *err)
{
    RS_TRY(get_text(path, object, "path", &out->path, err));
    RS_TRY(get_text(path, object, "format", &out->format, err));
    return get_text(path, object, "pattern", &out->pattern, err);
}

/* C, F, or not there. */
static resplit_status get_order(const char *path, struct json_object *object, char *out, resplit_error *err)
{
    struct json_object *value;
    if (!json_object_object_get_ex(object, "order", &value)) {
        return RESPLIT_OK;
    }
    const char *order = json_object_get_string(value);
    *out = order[0];
    return strcmp(order, "C") == 0 || strcmp(order, "F") == 0
               ? RESPLIT_OK
               : rs_fail(err, RESPLIT_EFORMAT, "bad plan file '%s': order is '%.40s', not C or F", path, order);
}

/* The source tells the number of axes. */
static resplit_status get_source(const char *path, struct json_object *root, rs_planfile *out, resplit_error *err)
{
    struct json_object *object = json_object_object_get(root, "source"), *shape;
    RS_TRY(check_keys(path, "\"source\"", object, source_keys, err));
    shape = json_object_object_get(object, "shape");
    if (json_object_array_length(shape) > RS_MAX_NDIM) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "plan file '%s' is for %zu axes; at most %d are handled", path,
                       json_object_array_length(shape), RS_MAX_NDIM);
    }
    out->ndim = (int)json_object_array_length(shape);
    for (int d = 0; d < out->ndim; d++) {
        RS_TRY(get_integer(path, "shape", json_object_array_get_idx(shape, (size_t)d), 0, INT64_MAX,
                           &out->source.shape[d], err));
    }
    RS_TRY(get_order(path, object, &out->source.order, err));
    RS_TRY(get_words(path, object, &out->source, err));
    RS_TRY(get_text(path, object, "dtype", &out->source.dtype, err));
    RS_TRY(get_member(path, object, "skip", 0, &out->source.skip, err));
    return get_chunks(path, object, out->ndim, &out->source, err);
}

/* What a Zarr target has, and a cast. */
static resplit_status get_encoding(const char *path, struct json_object *object, int ndim, rs_planfile_side *out,
                                   resplit_error *err)
{
    struct json_object *list;
    RS_TRY(get_text(path, object, "dtype", &out->dtype, err));
    RS_TRY(get_text(path, object, "codec", &out->codec, err));
    RS_TRY(get_order(path, object, &out->order, err));
    out->write_empty = json_object_get_boolean(json_object_object_get(object, "write_empty"));
    out->has_shards = json_object_object_get_ex(object, "shards", NULL);
    if (!out->has_shards) {
        return RESPLIT_OK;
    }
    RS_TRY(get_list(path, object, "shards", ndim, &list, err));
    for (int d = 0; d < ndim; d++) {
        RS_TRY(get_integer(path, "shards", json_object_array_get_idx(list, (size_t)d), 1, INT64_MAX, &out->shards[d],
                           err));
    }
    return RESPLIT_OK;
}

static resplit_status get_target(const char *path, struct json_object *root, rs_planfile *out, resplit_error *err)
{
    struct json_object *object = json_object_object_get(root, "target"), *roi;
    rs_planfile_side *side = &out->target;
    RS_TRY(check_keys(path, "\"target\"", object, target_keys, err));
    RS_TRY(get_words(path, object, side, err));
    RS_TRY(get_encoding(path, object, out->ndim, side, err));
    RS_TRY(get_chunks(path, object, out->ndim, side, err));
    side->has_roi = json_object_object_get_ex(object, "roi", NULL);
    if (!side->has_roi) {
        return RESPLIT_OK;
    }
    RS_TRY(get_list(path, object, "roi", out->ndim, &roi, err));
    for (int d = 0; d < out->ndim; d++) {
        struct json_object *pair = json_object_array_get_idx(roi, (size_t)d);
        if (!json_object_is_type(pair, json_type_array) || json_object_array_length(pair) != 2) {
            return rs_fail(err, RESPLIT_EFORMAT, "bad plan file '%s': \"roi\" must hold pairs [start, stop]", path);
        }
        RS_TRY(get_integer(path, "roi", json_object_array_get_idx(pair, 0), 0, INT64_MAX, &side->roi_start[d], err));
        RS_TRY(get_integer(path, "roi", json_object_array_get_idx(pair, 1), side->roi_start[d], INT64_MAX,
                           &side->roi_stop[d], err));
    }
    return RESPLIT_OK;
}

/* ---- The plan ------------------------------------------------------------------------------ */

static resplit_status get_cuts(const char *path, struct json_object *root, rs_planfile *out, resplit_error *err)
{
    struct json_object *list;
    RS_TRY(get_list(path, root, "buffer", out->ndim, &list, err));
    for (int d = 0; d < out->ndim; d++) {
        struct json_object *value = json_object_array_get_idx(list, (size_t)d);
        rs_planfile_cuts *cuts = &out->buffer[d];
        if (!json_object_is_type(value, json_type_array)) {
            RS_TRY(get_integer(path, "buffer", value, 1, INT64_MAX, &cuts->step, err));
            continue;
        }
        RS_TRY(get_numbers(path, "buffer", value, 0, &cuts->cuts, err));
        cuts->n = (int64_t)json_object_array_length(value) - 1;
        if (cuts->n < 1) {
            return rs_fail(err, RESPLIT_EFORMAT, "bad plan file '%s': the buffers of axis %d have no two cuts", path,
                           d);
        }
    }
    return RESPLIT_OK;
}

static resplit_status get_buffers(const char *path, struct json_object *root, rs_planfile *out, resplit_error *err)
{
    struct json_object *loop, *kept;
    int n_there = json_object_object_get_ex(root, "buffer", NULL) + json_object_object_get_ex(root, "loop_order", NULL)
                  + json_object_object_get_ex(root, "kept_axes", NULL);
    if (n_there == 0) {
        return RESPLIT_OK;
    }
    if (n_there != 3) {
        return rs_fail(err, RESPLIT_EFORMAT,
                       "bad plan file '%s': \"buffer\", \"loop_order\" and \"kept_axes\" belong together", path);
    }
    out->has_buffers = true;
    RS_TRY(get_cuts(path, root, out, err));
    RS_TRY(get_list(path, root, "loop_order", out->ndim, &loop, err));
    kept = json_object_object_get(root, "kept_axes");
    for (int i = 0; i < out->ndim; i++) {
        int64_t d;
        RS_TRY(get_integer(path, "loop_order", json_object_array_get_idx(loop, (size_t)i), 0, out->ndim - 1, &d, err));
        out->loop[i] = (int)d;
    }
    for (size_t i = 0; i < json_object_array_length(kept); i++) {
        int64_t d;
        RS_TRY(get_integer(path, "kept_axes", json_object_array_get_idx(kept, i), 0, out->ndim - 1, &d, err));
        if ((out->kept >> d & 1) != 0) {
            return rs_fail(err, RESPLIT_EFORMAT, "bad plan file '%s': axis %d is kept twice", path, (int)d);
        }
        out->kept |= UINT32_C(1) << d;
    }
    return RESPLIT_OK;
}

static resplit_status get_predicted(const char *path, struct json_object *root, rs_planfile *out, resplit_error *err)
{
    struct json_object *object = json_object_object_get(root, "predicted");
    key keys[RS_N_COST_FIELDS + 1] = {{NULL, json_type_null, false}};
    for (int i = 0; i < RS_N_COST_FIELDS; i++) {
        keys[i] = (key){rs_cost_fields[i].name, json_type_int, false};
    }
    RS_TRY(check_keys(path, "\"predicted\"", object, keys, err));
    for (int i = 0; i < RS_N_COST_FIELDS; i++) {
        RS_TRY(get_member(path, object, keys[i].name, 0, rs_cost_at(&out->predicted, i), err));
    }
    return RESPLIT_OK;
}

static resplit_status get_device(const char *path, struct json_object *root, rs_planfile *out, resplit_error *err)
{
    struct json_object *object = json_object_object_get(root, "device");
    key keys[RS_N_DEVICE_FIELDS + 2] = {{"name", json_type_string, false}};
    for (int i = 0; i < RS_N_DEVICE_FIELDS; i++) {
        keys[i + 1] = (key){rs_device_fields[i].name, json_type_double, false};
    }
    RS_TRY(check_keys(path, "\"device\"", object, keys, err));
    const char *name = json_object_get_string(json_object_object_get(object, "name"));
    if (snprintf(out->device.name, sizeof out->device.name, "%s", name) >= (int)sizeof out->device.name) {
        return rs_fail(err, RESPLIT_EFORMAT, "bad plan file '%s': the name of the device is too long", path);
    }
    for (int i = 0; i < RS_N_DEVICE_FIELDS; i++) {
        double value = json_object_get_double(json_object_object_get(object, rs_device_fields[i].name));
        if (!(value > 0 && value < 1e18)) { /* not a number is refused too */
            return rs_fail(err, RESPLIT_EFORMAT, "bad plan file '%s': \"%s\" is %g, which is out of range", path,
                           rs_device_fields[i].name, value);
        }
        *rs_device_number(&out->device, i) = value;
    }
    return RESPLIT_OK;
}

/* Sixteen lower-case digits, as they are written. */
static resplit_status get_hash(const char *path, struct json_object *root, uint64_t *out, resplit_error *err)
{
    const char *text = json_object_get_string(json_object_object_get(root, "problem_hash"));
    if (strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16) {
        return rs_fail(err, RESPLIT_EFORMAT, "bad plan file '%s': \"problem_hash\" must be 16 hexadecimal digits",
                       path);
    }
    *out = strtoull(text, NULL, 16);
    return RESPLIT_OK;
}

static resplit_status get_all(const char *path, struct json_object *root, rs_planfile *out, resplit_error *err)
{
    struct json_object *value;
    int64_t version;
    if (!json_object_is_type(root, json_type_object) || !json_object_object_get_ex(root, "resplit_plan", &value)) {
        return rs_fail(err, RESPLIT_EFORMAT, "'%s' is not a plan file: it is no JSON object with \"resplit_plan\"",
                       path);
    }
    RS_TRY(get_integer(path, "resplit_plan", value, 0, INT64_MAX, &version, err));
    if (version != RS_PLANFILE_VERSION) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "plan file '%s' is of version %lld; only %d can be read", path,
                       (long long)version, RS_PLANFILE_VERSION);
    }
    RS_TRY(check_keys(path, "the plan", root, root_keys, err));
    RS_TRY(get_source(path, root, out, err));
    RS_TRY(get_target(path, root, out, err));
    RS_TRY(get_text(path, root, "strategy", &out->strategy, err));
    RS_TRY(get_text(path, root, "temp", &out->temp, err));
    RS_TRY(get_member(path, root, "memory", 1, &out->memory, err));
    RS_TRY(get_device(path, root, out, err));
    RS_TRY(get_buffers(path, root, out, err));
    RS_TRY(get_predicted(path, root, out, err));
    return get_hash(path, root, &out->problem_hash, err);
}

resplit_status rs_planfile_parse(const char *text, size_t n, const char *path, rs_planfile *out, resplit_error *err)
{
    resplit_status rc;
    struct json_object *root = NULL;
    struct json_tokener *tokener = json_tokener_new_ex(MAX_NESTING);

    *out = (rs_planfile){0};
    if (tokener == NULL) {
        rc = rs_fail(err, RESPLIT_ENOMEM, "no memory for plan file '%s'", path);
        goto out;
    }
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    root = n > RS_PLANFILE_BYTES ? NULL : json_tokener_parse_ex(tokener, text, (int)n);
    if (root == NULL) {
        enum json_tokener_error error = json_tokener_get_error(tokener);
        rc = rs_fail(err, RESPLIT_EFORMAT, "bad plan file '%s': %s at byte %zu", path,
                     error == json_tokener_continue  ? "it ends too early"
                     : error == json_tokener_success ? "it is empty or too large"
                                                     : json_tokener_error_desc(error),
                     json_tokener_get_parse_end(tokener));
        goto out;
    }
    rc = get_all(path, root, out, err);
out:
    json_object_put(root);
    if (tokener != NULL) {
        json_tokener_free(tokener);
    }
    if (rc != RESPLIT_OK) {
        rs_planfile_release(out);
    }
    return rc;
}
