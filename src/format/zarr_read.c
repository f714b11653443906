/* SPDX-License-Identifier: BSD-3-Clause */
/* zarr_read.c - opens arrays; what both versions have in common, and version 2. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/textfile.h"
#include "format/literal.h"
#include "format/zarr_parts.h"
#include "format/drivers.h"

/* ---- Helpers ---- */

const char *rs_zarr_show(const rs_json *value, char shown[RS_ZARR_SHOWN])
{
    size_t n = 0, i = 0;
    for (; i < value->n && n < 60; i++) {
        bool space = strchr(" \t\r\n", value->text[i]) != NULL;
        if (!space || (n > 0 && shown[n - 1] != ' ')) {
            shown[n++] = space ? ' ' : value->text[i];
        }
    }
    while (i < value->n && n > 0 && ((unsigned char)value->text[i] & 0xc0) == 0x80) { /* no half characters */
        n--;
        i--;
    }
    (void)snprintf(shown + n, 4, "%s", i < value->n ? "..." : "");
    return shown;
}

resplit_status rs_zarr_bad(const char *path, const char *key, const rs_json *value, const char *reason,
                           resplit_error *err)
{
    char shown[RS_ZARR_SHOWN];
    if (value == NULL) {
        return rs_fail(err, RESPLIT_EFORMAT, "bad metadata '%s': \"%s\" is missing", path, key);
    }
    return rs_fail(err, RESPLIT_EFORMAT, "bad metadata '%s': \"%s\" is %s, %s", path, key, rs_zarr_show(value, shown),
                   reason);
}

resplit_status rs_zarr_named(const char *path, const char *key, const rs_json *value, rs_text *name,
                             const rs_json **config, resplit_error *err)
{
    const rs_json *text = value;
    *config = NULL;
    if (value != NULL && value->kind == RS_JSON_OBJECT) {
        text = rs_json_get(value, "name");
        *config = rs_json_get(value, "configuration");
    }
    if (text == NULL || text->kind != RS_JSON_STRING || (*config != NULL && (*config)->kind != RS_JSON_OBJECT)) {
        return rs_zarr_bad(path, key, value, "but it is a name, or an object with \"name\" and \"configuration\"", err);
    }
    return rs_json_add_string(text, name, err);
}

bool rs_zarr_is_named(const rs_json *value, const char *name)
{
    return rs_json_is(value, name) || rs_json_is(rs_json_get(value, "name"), name);
}

resplit_status rs_zarr_extents(const char *path, const char *key, const rs_json *value, int64_t least, int *n,
                               int64_t *out, resplit_error *err)
{
    if (value == NULL || value->kind != RS_JSON_ARRAY) {
        return rs_zarr_bad(path, key, value, "but it is a list of integers", err);
    }
    int64_t count = rs_json_count(value);
    if (count > RS_MAX_NDIM) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "'%s': \"%s\" has %lld axes; at most %d are handled", path, key,
                       (long long)count, RS_MAX_NDIM);
    }
    *n = 0;
    for (const rs_json *v = value->first; v != NULL; v = v->next, ++*n) {
        if (!rs_json_int64(v, &out[*n]) || out[*n] < least) {
            return rs_zarr_bad(
                path, key, value,
                least > 0 ? "but its entries are integers from 1" : "but its entries are integers from 0", err);
        }
    }
    return RESPLIT_OK;
}

resplit_status rs_zarr_keep(rs_text *out, const rs_json *value, resplit_error *err)
{
    out->n = 0;
    return value == NULL ? RESPLIT_OK : rs_text_add_bytes(out, value->text, value->n, err);
}

static rs_element element_of(const rs_dtype *dtype)
{
    return (rs_element){.kind = dtype->kind, .itemsize = dtype->itemsize, .byteorder = dtype->byteorder};
}

resplit_status rs_zarr_note_opaque(rs_zarr *zarr, resplit_status rc, const resplit_error *why, resplit_error *err)
{
    if (rc != RESPLIT_OK && rc != RESPLIT_EUNSUPPORTED) {
        return rs_fail_with(err, why);
    }
    if (rc == RESPLIT_EUNSUPPORTED && zarr->opaque.code == RESPLIT_OK) {
        zarr->opaque = *why;
    }
    return RESPLIT_OK;
}

resplit_status rs_zarr_add_stage(const char *path, rs_zarr *zarr, const char *name, const rs_json *config,
                                 resplit_error *err)
{
    resplit_error why, reason;
    int n = zarr->chain.n;
    rs_element element = n > 0 ? rs_stage_element(&zarr->chain.stage[n - 1]) : element_of(&zarr->dtype);
    resplit_status rc = rs_chain_add(&zarr->chain, zarr->version, name, config, &element, &why);
    if (rc == RESPLIT_EUNSUPPORTED) {
        rc = rs_fail(&reason, rc, "'%s' can only be copied chunk by chunk as it is: %s", path, why.message);
    } else if (rc != RESPLIT_OK) {
        rc = rs_fail(&reason, rc, "bad metadata '%s': %s", path, why.message);
    }
    return rs_zarr_note_opaque(zarr, rc, &reason, err);
}

/* Every partial product is safe, whatever the extents are. */
static resplit_status check_count(const char *path, const char *what, int ndim, const int64_t *extent, int64_t itemsize,
                                  resplit_error *err)
{
    int64_t n, bytes;
    if (rs_shape_count(ndim, extent, itemsize, &n, &bytes)) {
        return RESPLIT_OK;
    }
    return rs_fail(err, RESPLIT_EFORMAT,
                   "bad metadata '%s': the %s has more elements or bytes than 64 bits can count (axis 0 has %lld of "
                   "them)",
                   path, what, ndim > 0 ? (long long)extent[0] : 1LL);
}

/* A shard holds whole parts, and its index is countable. */
static resplit_status check_level(const char *path, const rs_zarr *zarr, int i, resplit_error *err)
{
    const int64_t *outer = zarr->level[i].chunk;
    const int64_t *inner = i + 1 < zarr->n_levels ? zarr->level[i + 1].chunk : zarr->chunk;
    int64_t parts[RS_MAX_NDIM];
    for (int d = 0; d < zarr->ndim; d++) {
        if (outer[d] % inner[d] != 0) {
            return rs_fail(err, RESPLIT_EFORMAT,
                           "bad metadata '%s': shards of %lld along axis %d cannot hold whole chunks of %lld", path,
                           (long long)outer[d], d, (long long)inner[d]);
        }
        parts[d] = outer[d] / inner[d];
    }
    RS_TRY(check_count(path, "shard", zarr->ndim, outer, zarr->dtype.itemsize, err));
    return check_count(path, "index of a shard", zarr->ndim, parts, 32, err);
}

resplit_status rs_zarr_check(const char *path, const rs_zarr *zarr, resplit_error *err)
{
    int64_t grid[RS_MAX_NDIM], padded;
    RS_TRY(check_count(path, "array", zarr->ndim, zarr->shape, zarr->dtype.itemsize, err));
    RS_TRY(check_count(path, "chunk", zarr->ndim, zarr->chunk, zarr->dtype.itemsize, err));
    for (int i = 0; i < zarr->n_levels; i++) {
        RS_TRY(check_level(path, zarr, i, err));
    }
    for (int d = 0; d < zarr->ndim; d++) {
        int64_t outer = zarr->n_levels > 0 ? zarr->level[0].chunk[d] : zarr->chunk[d];
        grid[d] = rs_ceil_div(zarr->shape[d], zarr->chunk[d]);
        if (!rs_mul(rs_ceil_div(zarr->shape[d], outer), outer, &padded)) {
            return rs_fail(err, RESPLIT_EFORMAT,
                           "bad metadata '%s': axis %d has %lld elements in chunks of %lld, which 64 bits cannot count",
                           path, d, (long long)zarr->shape[d], (long long)outer);
        }
    }
    return check_count(path, "grid of chunks", zarr->ndim, grid, 1, err);
}

/* ---- Version 2 ---- */

static resplit_status read_order(const char *path, const rs_json *value, rs_zarr *zarr, resplit_error *err)
{
    bool fortran = rs_json_is(value, "F");
    if (!fortran && !rs_json_is(value, "C")) {
        return rs_zarr_bad(path, "order", value, "but it is \"C\" or \"F\"", err);
    }
    for (int d = 0; d < zarr->ndim; d++) {
        zarr->order[d] = fortran ? zarr->ndim - 1 - d : d;
    }
    return RESPLIT_OK;
}

static resplit_status read_separator(const char *path, const rs_json *value, rs_zarr *zarr, resplit_error *err)
{
    zarr->v2_keys = true;
    zarr->separator = value != NULL && rs_json_is(value, "/") ? '/' : '.';
    if (value != NULL && zarr->separator == '.' && !rs_json_is(value, ".")) {
        return rs_zarr_bad(path, "dimension_separator", value, "but it is \".\" or \"/\"", err);
    }
    return RESPLIT_OK;
}

/* A filter or the compressor. */
static resplit_status read_stage(const char *path, const char *key, const rs_json *value, rs_zarr *zarr,
                                 resplit_error *err)
{
    rs_text id = {0};
    const rs_json *name = rs_json_get(value, "id");
    if (name == NULL || name->kind != RS_JSON_STRING) {
        return rs_zarr_bad(path, key, value, "but codecs are objects with an \"id\"", err);
    }
    resplit_status rc = rs_json_add_string(name, &id, err);
    if (rc == RESPLIT_OK && zarr->opaque.code == RESPLIT_OK) {
        rc = rs_zarr_add_stage(path, zarr, id.s, value, err);
    }
    rs_text_release(&id);
    return rc;
}

static resplit_status read_v2_codecs(const char *path, const rs_json *root, rs_zarr *zarr, resplit_error *err)
{
    const rs_json *filters = rs_json_get(root, "filters"), *compressor = rs_json_get(root, "compressor");
    if (filters != NULL && filters->kind != RS_JSON_NULL && filters->kind != RS_JSON_ARRAY) {
        return rs_zarr_bad(path, "filters", filters, "but it is a list or null", err);
    }
    for (const rs_json *v = filters == NULL ? NULL : filters->first; v != NULL; v = v->next) {
        RS_TRY(read_stage(path, "filters", v, zarr, err));
    }
    if (compressor != NULL && compressor->kind != RS_JSON_NULL) {
        RS_TRY(read_stage(path, "compressor", compressor, zarr, err));
    }
    RS_TRY(rs_text_add(&zarr->raw_codecs, err, "\"filters\": %.*s,\n  \"compressor\": %.*s",
                       filters == NULL || filters->first == NULL ? 4 : (int)filters->n,
                       filters == NULL || filters->first == NULL ? "null" : filters->text,
                       compressor == NULL ? 4 : (int)compressor->n, compressor == NULL ? "null" : compressor->text));
    return RESPLIT_OK;
}

static resplit_status read_v2_fill(const char *path, const rs_json *value, rs_zarr *zarr, resplit_error *err)
{
    resplit_error why;
    RS_TRY(rs_zarr_keep(&zarr->raw_fill, value, err));
    zarr->fill = calloc(1, (size_t)zarr->dtype.itemsize);
    if (zarr->fill == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for an element of %lld bytes", (long long)zarr->dtype.itemsize);
    }
    zarr->has_fill = value != NULL && value->kind != RS_JSON_NULL;
    if (!zarr->has_fill
        && (zarr->dtype.kind == 'M' || zarr->dtype.kind == 'm')) { /* not a time, as zarr-python has it */
        zarr->fill[zarr->dtype.byteorder == '>' ? 0 : zarr->dtype.itemsize - 1] = (char)0x80;
    }
    if (!zarr->has_fill || zarr->opaque.code != RESPLIT_OK) {
        return RESPLIT_OK;
    }
    resplit_status rc = rs_zarr_fill_read(path, value, &zarr->dtype, NULL, 0, zarr->fill, &why);
    return rs_zarr_note_opaque(zarr, rc, &why, err);
}

static resplit_status keep_others(const rs_json *root, rs_zarr *zarr, resplit_error *err)
{
    static const char *const known[] = {"zarr_format", "shape",      "chunks",
                                        "dtype",       "order",      "filters",
                                        "compressor",  "fill_value", "dimension_separator"};
    for (const rs_json *v = root->first; v != NULL; v = v->next) {
        bool is_known = false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
            is_known = is_known || rs_json_key_is(v, known[i]);
        }
        if (!is_known) {
            RS_TRY(rs_text_add(&zarr->extra, err, ",\n  %.*s: %.*s", (int)v->key_n, v->key, (int)v->n, v->text));
        }
    }
    return RESPLIT_OK;
}

static resplit_status read_v2(const char *path, const rs_json *root, rs_zarr *zarr, resplit_error *err)
{
    int64_t version;
    int n = 0;
    resplit_error why;
    const rs_json *format = rs_json_get(root, "zarr_format"), *type = rs_json_get(root, "dtype");
    if (!rs_json_int64(format, &version) || version != 2) {
        return rs_zarr_bad(path, "zarr_format", format, "but it is 2 in a .zarray", err);
    }
    RS_TRY(rs_zarr_extents(path, "shape", rs_json_get(root, "shape"), 0, &zarr->ndim, zarr->shape, err));
    RS_TRY(rs_zarr_extents(path, "chunks", rs_json_get(root, "chunks"), 1, &n, zarr->chunk, err));
    if (n != zarr->ndim) {
        return rs_fail(err, RESPLIT_EFORMAT, "bad metadata '%s': the shape has %d axes, the chunks have %d", path,
                       zarr->ndim, n);
    }
    resplit_status rc = rs_zarr_type_v2(path, type, &zarr->dtype, &why);
    RS_TRY(rs_zarr_note_opaque(zarr, rc, &why, err));
    if (rc != RESPLIT_OK) { /* objects: a stand-in, chunks are copied as they are */
        RS_TRY(rs_dtype_parse("V1", &zarr->dtype, err));
    }
    RS_TRY(rs_zarr_keep(&zarr->raw_type, type, err));
    RS_TRY(read_order(path, rs_json_get(root, "order"), zarr, err));
    RS_TRY(read_separator(path, rs_json_get(root, "dimension_separator"), zarr, err));
    zarr->guessed = rs_json_get(root, "dimension_separator") == NULL; /* until the folder was looked at */
    RS_TRY(read_v2_codecs(path, root, zarr, err));
    RS_TRY(read_v2_fill(path, rs_json_get(root, "fill_value"), zarr, err));
    RS_TRY(keep_others(root, zarr, err));
    return rs_zarr_check(path, zarr, err);
}

/* ---- Both ---- */

resplit_status rs_zarr_parse(int version, const char *text, size_t n, const char *path, rs_zarr *out,
                             resplit_error *err)
{
    rs_json_document *document;
    *out = (rs_zarr){.version = version};
    RS_TRY(rs_json_parse(text, n, path, &document, err));
    const rs_json *root = rs_json_root(document);
    resplit_status rc = rs_text_add_bytes(&out->text, text, n, err);
    if (rc == RESPLIT_OK && root->kind != RS_JSON_OBJECT) {
        rc = rs_fail(err, RESPLIT_EFORMAT, "bad metadata '%s': it is no JSON object", path);
    }
    if (rc == RESPLIT_OK) {
        rc = version == 2 ? read_v2(path, root, out, err) : rs_zarr_read_v3(path, root, out, err);
    }
    rs_json_free(document);
    return rc;
}

void rs_zarr_release(rs_zarr *zarr)
{
    if (zarr == NULL) {
        return;
    }
    rs_text_release(&zarr->text);
    rs_text_release(&zarr->attributes);
    rs_text_release(&zarr->names);
    rs_text_release(&zarr->raw_type);
    rs_text_release(&zarr->raw_fill);
    rs_text_release(&zarr->raw_codecs);
    rs_text_release(&zarr->extra);
    for (int d = 0; d < RS_MAX_NDIM; d++) {
        free(zarr->edges[d]);
    }
    rs_dtype_release(&zarr->dtype);
    free(zarr->fill);
    *zarr = (rs_zarr){0};
}

resplit_status rs_zarr_load(const char *folder, const char *name, rs_text *text, rs_json_document **document,
                            bool *found, resplit_error *err)
{
    rs_text path = {0};
    struct stat status;
    *document = NULL;
    *text = (rs_text){0};
    resplit_status rc = rs_text_add(&path, err, "%s/%s", folder, name);
    *found = rc == RESPLIT_OK && (stat(path.s, &status) == 0 || (errno != ENOENT && errno != ENOTDIR));
    if (*found) {
        rc = rs_textfile_read(path.s, RS_ZARR_MAX_BYTES, text, err);
        rc = rc != RESPLIT_OK ? rc : rs_json_parse(text->s, text->n, path.s, document, err);
    }
    rs_text_release(&path);
    return rc;
}

static resplit_status open_attributes(const char *path, rs_zarr *out, resplit_error *err)
{
    rs_text text;
    rs_json_document *document;
    bool found;
    resplit_status rc = rs_zarr_load(path, ".zattrs", &text, &document, &found, err);
    if (rc == RESPLIT_OK && found) {
        rc = rs_json_root(document)->kind == RS_JSON_OBJECT
                 ? rs_zarr_keep(&out->attributes, rs_json_root(document), err)
                 : rs_fail(err, RESPLIT_EFORMAT, "bad metadata '%s/.zattrs': it is no JSON object", path);
    }
    rs_json_free(document);
    rs_text_release(&text);
    return rc;
}

static bool exists(const char *path, const char *name)
{
    rs_text file = {0};
    struct stat status;
    bool there = rs_text_add(&file, NULL, "%s/%s", path, name) == RESPLIT_OK && stat(file.s, &status) == 0;
    rs_text_release(&file);
    return there;
}

resplit_status rs_zarr_open(const char *path, rs_zarr *out, resplit_error *err)
{
    rs_text text = {0}, file = {0};
    resplit_status rc;
    int version = rs_zarr_probe(path);
    *out = (rs_zarr){0};
    if (version == 0) {
        return rs_fail(err, RESPLIT_EFORMAT,
                       rs_zarr_is_group(path) ? "'%s' is a Zarr group, not an array"
                                              : "'%s' is no Zarr array: it has no .zarray and no zarr.json",
                       path);
    }
    rc = rs_text_add(&file, err, "%s/%s", path, version == 2 ? ".zarray" : "zarr.json");
    rc = rc != RESPLIT_OK ? rc : rs_textfile_read(file.s, RS_ZARR_MAX_BYTES, &text, err);
    rc = rc != RESPLIT_OK ? rc : rs_zarr_parse(version, text.s, text.n, file.s, out, err);
    if (rc == RESPLIT_OK && version == 2) {
        rc = open_attributes(path, out, err);
        rs_zarr_guess_separator(path, out);
    }
    out->twin = version == 3 && exists(path, ".zarray");
    rs_text_release(&text);
    rs_text_release(&file);
    return rc;
}
