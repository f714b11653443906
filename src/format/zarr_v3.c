/* SPDX-License-Identifier: BSD-3-Clause */
/* zarr_v3.c - reads zarr.json of an array. */
#include <stdlib.h>

#include "format/literal.h"
#include "format/zarr_parts.h"

enum { MAX_EDGES = 1 << 22 }; /* of one axis of a rectilinear grid */

/* One axis of a rectilinear grid: a length, or a list of lengths and [length, count]. */
static resplit_status read_edges(const char *path, const rs_json *list, int d, rs_zarr *zarr, resplit_error *err)
{
    int64_t sum = 0, room = 0, n = 0;
    if (list->kind == RS_JSON_NUMBER) {
        return rs_json_int64(list, &zarr->chunk[d]) && zarr->chunk[d] > 0
                   ? RESPLIT_OK
                   : rs_zarr_bad(path, "chunk_shapes", list, "but lengths are integers from 1", err);
    }
    for (const rs_json *v = list->first; list->kind == RS_JSON_ARRAY && v != NULL; v = v->next) {
        int64_t length = 0, count = 1, all;
        bool pair = v->kind == RS_JSON_ARRAY && rs_json_count(v) == 2 && rs_json_int64(v->first->next, &count);
        if (!rs_json_int64(pair ? v->first : v, &length) || length < 1 || count < 1 || count > MAX_EDGES - n
            || !rs_mul(length, count, &all) || !rs_add(sum, all, &sum)) {
            return rs_zarr_bad(path, "chunk_shapes", v, "but it is a length, or [length, count], not too large", err);
        }
        if (n + count > room) {
            room = (n + count) * 2;
            int64_t *more = realloc(zarr->edges[d], (size_t)room * sizeof *more);
            if (more == NULL) {
                return rs_fail(err, RESPLIT_ENOMEM, "no memory for %lld chunks along axis %d", (long long)room, d);
            }
            zarr->edges[d] = more;
        }
        for (; count > 0; count--) {
            zarr->edges[d][n++] = length;
        }
        zarr->chunk[d] = rs_max(zarr->chunk[d], length);
    }
    zarr->n_edges[d] = n;
    return n > 0 && sum >= zarr->shape[d]
               ? RESPLIT_OK
               : rs_zarr_bad(path, "chunk_shapes", list, "but the lengths must cover the axis", err);
}

static resplit_status read_rectilinear(const char *path, const rs_json *config, rs_zarr *zarr, resplit_error *err)
{
    const rs_json *kind = rs_json_get(config, "kind"), *shapes = rs_json_get(config, "chunk_shapes");
    int d = 0;
    if (!rs_json_is(kind, "inline")) {
        return rs_zarr_bad(path, "kind", kind, "but only \"inline\" grids are handled", err);
    }
    if (shapes == NULL || shapes->kind != RS_JSON_ARRAY || rs_json_count(shapes) != zarr->ndim) {
        return rs_zarr_bad(path, "chunk_shapes", shapes, "but it has one entry for each axis", err);
    }
    for (const rs_json *v = shapes->first; v != NULL; v = v->next, d++) {
        RS_TRY(read_edges(path, v, d, zarr, err));
    }
    return RESPLIT_OK;
}

static resplit_status read_grid(const char *path, const rs_json *value, rs_zarr *zarr, resplit_error *err)
{
    char shown[RS_ZARR_SHOWN];
    const rs_json *config = rs_json_get(value, "configuration"), *chunk = rs_json_get(config, "chunk_shape");
    int n;
    if (rs_zarr_is_named(value, "rectilinear")) {
        return read_rectilinear(path, config, zarr, err);
    }
    if (value == NULL || rs_json_get(value, "name") == NULL) {
        return rs_zarr_bad(path, "chunk_grid", value, "but it is an object with \"name\" and \"configuration\"", err);
    }
    if (!rs_zarr_is_named(value, "regular")) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED,
                       "'%s' has the chunk grid %s; regular and rectilinear ones are handled", path,
                       rs_zarr_show(value, shown));
    }
    RS_TRY(rs_zarr_extents(path, "chunk_shape", chunk, 1, &n, zarr->chunk, err));
    return n == zarr->ndim
               ? RESPLIT_OK
               : rs_fail(err, RESPLIT_EFORMAT, "bad metadata '%s': the shape has %d axes, the chunks have %d", path,
                         zarr->ndim, n);
}

static resplit_status read_keys(const char *path, const rs_json *value, rs_zarr *zarr, resplit_error *err)
{
    char shown[RS_ZARR_SHOWN];
    const rs_json *separator = rs_json_get(rs_json_get(value, "configuration"), "separator");
    zarr->v2_keys = rs_zarr_is_named(value, "v2");
    if (value == NULL || (value->kind == RS_JSON_OBJECT && rs_json_get(value, "name") == NULL)) {
        return rs_zarr_bad(path, "chunk_key_encoding", value, "but it has a name", err);
    }
    if (!zarr->v2_keys && !rs_zarr_is_named(value, "default")) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED,
                       "'%s' names its chunks by the encoding %s; \"default\" and \"v2\" are handled", path,
                       rs_zarr_show(value, shown));
    }
    zarr->separator = zarr->v2_keys ? '.' : '/';
    if (separator != NULL && !rs_json_is(separator, ".") && !rs_json_is(separator, "/")) {
        return rs_zarr_bad(path, "separator", separator, "but it is \".\" or \"/\"", err);
    }
    zarr->separator = separator == NULL ? zarr->separator : separator->text[1] == '.' ? '.' : '/';
    return RESPLIT_OK;
}

static resplit_status read_v3_fill(const char *path, const rs_json *root, rs_zarr *zarr, resplit_error *err)
{
    const rs_json *value = rs_json_get(root, "fill_value");
    resplit_error why;
    zarr->fill = calloc(1, (size_t)zarr->dtype.itemsize);
    if (zarr->fill == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for an element of %lld bytes", (long long)zarr->dtype.itemsize);
    }
    if (value == NULL || (value->kind == RS_JSON_NULL && zarr->opaque.code == RESPLIT_OK)) {
        return rs_zarr_bad(path, "fill_value", value, "but it is a value of the array's type", err);
    }
    zarr->has_fill = true;
    RS_TRY(rs_zarr_keep(&zarr->raw_fill, value, err));
    if (zarr->opaque.code != RESPLIT_OK) {
        return RESPLIT_OK;
    }
    resplit_status rc =
        rs_zarr_fill_read(path, value, &zarr->dtype, rs_json_get(root, "data_type"), zarr->endian, zarr->fill, &why);
    return rs_zarr_note_opaque(zarr, rc, &why, err);
}

static resplit_status read_names(const char *path, const rs_json *value, rs_zarr *zarr, resplit_error *err)
{
    if (value == NULL || value->kind == RS_JSON_NULL) {
        return RESPLIT_OK;
    }
    bool good = value->kind == RS_JSON_ARRAY && rs_json_count(value) == zarr->ndim;
    for (const rs_json *v = value->first; good && v != NULL; v = v->next) {
        good = v->kind == RS_JSON_STRING || v->kind == RS_JSON_NULL;
    }
    return good ? rs_zarr_keep(&zarr->names, value, err)
                : rs_zarr_bad(path, "dimension_names", value, "but it has a name or null for each axis", err);
}

/* What must be understood is; what need not be is kept. */
static resplit_status read_others(const char *path, const rs_json *root, rs_zarr *zarr, resplit_error *err)
{
    static const char *const known[] = {
        "zarr_format",        "node_type",  "shape",  "data_type",  "chunk_grid",
        "chunk_key_encoding", "fill_value", "codecs", "attributes", "storage_transformers",
        "dimension_names"};
    bool must;
    for (const rs_json *v = root->first; v != NULL; v = v->next) {
        bool is_known = false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
            is_known = is_known || rs_json_key_is(v, known[i]);
        }
        if (is_known) {
            continue;
        }
        if (!rs_json_bool(rs_json_get(v, "must_understand"), &must) || must) {
            return rs_fail(err, RESPLIT_EUNSUPPORTED,
                           "'%s' has a key %.*s that must be understood, and is not: only keys with "
                           "\"must_understand\": false can be carried",
                           path, rs_shown(v->key_n), v->key);
        }
        RS_TRY(rs_text_add(&zarr->extra, err, ",\n  %.*s: %.*s", (int)v->key_n, v->key, (int)v->n, v->text));
    }
    return RESPLIT_OK;
}

static resplit_status check_head(const char *path, const rs_json *root, resplit_error *err)
{
    char shown[RS_ZARR_SHOWN];
    const rs_json *format = rs_json_get(root, "zarr_format"), *node = rs_json_get(root, "node_type");
    const rs_json *transformers = rs_json_get(root, "storage_transformers"),
                  *attributes = rs_json_get(root, "attributes");
    int64_t version;
    if (!rs_json_int64(format, &version) || version != 3) {
        return rs_zarr_bad(path, "zarr_format", format, "but it is 3 in a zarr.json", err);
    }
    if (!rs_json_is(node, "array")) {
        return rs_zarr_bad(path, "node_type", node, "but it is \"array\" for an array", err);
    }
    if (transformers != NULL && (transformers->kind != RS_JSON_ARRAY || transformers->first != NULL)) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "'%s' has the storage transformers %s; none are handled", path,
                       rs_zarr_show(transformers, shown));
    }
    if (attributes != NULL && attributes->kind != RS_JSON_OBJECT) {
        return rs_zarr_bad(path, "attributes", attributes, "but it is an object", err);
    }
    return RESPLIT_OK;
}

resplit_status rs_zarr_read_v3(const char *path, const rs_json *root, rs_zarr *zarr, resplit_error *err)
{
    RS_TRY(check_head(path, root, err));
    RS_TRY(read_others(path, root, zarr, err));
    RS_TRY(rs_zarr_extents(path, "shape", rs_json_get(root, "shape"), 0, &zarr->ndim, zarr->shape, err));
    RS_TRY(read_grid(path, rs_json_get(root, "chunk_grid"), zarr, err));
    RS_TRY(read_keys(path, rs_json_get(root, "chunk_key_encoding"), zarr, err));
    RS_TRY(rs_zarr_read_codecs(path, root, zarr, err));
    RS_TRY(read_v3_fill(path, root, zarr, err));
    RS_TRY(read_names(path, rs_json_get(root, "dimension_names"), zarr, err));
    RS_TRY(rs_zarr_keep(&zarr->raw_type, rs_json_get(root, "data_type"), err));
    RS_TRY(rs_zarr_keep(&zarr->attributes, rs_json_get(root, "attributes"), err));
    for (int d = 0; d < zarr->ndim; d++) {
        if (zarr->edges[d] != NULL && zarr->n_levels > 0) {
            return rs_fail(err, RESPLIT_EUNSUPPORTED, "'%s' has a rectilinear grid of shards, which is not handled",
                           path);
        }
    }
    return rs_zarr_check(path, zarr, err);
}
