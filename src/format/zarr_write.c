/* SPDX-License-Identifier: BSD-3-Clause */
/* zarr_write.c - the metadata files of an array, with the keys and in the order of zarr-python. */
#include <string.h>

#include "format/zarr_parts.h"
#include "geometry/grid.h"

static resplit_status add_list(rs_text *out, int n, const int64_t *values, resplit_error *err)
{
    RS_TRY(rs_text_add(out, err, "["));
    for (int i = 0; i < n; i++) {
        RS_TRY(rs_text_add(out, err, i > 0 ? ", %lld" : "%lld", (long long)values[i]));
    }
    return rs_text_add(out, err, "]");
}

static resplit_status add_raw(rs_text *out, const rs_text *raw, resplit_error *err)
{
    return rs_text_add_bytes(out, raw->s, raw->n, err);
}

static resplit_status add_type(const rs_zarr *zarr, rs_text *out, resplit_error *err)
{
    return zarr->raw_type.n > 0 ? add_raw(out, &zarr->raw_type, err)
                                : rs_zarr_type_print(&zarr->dtype, zarr->version, out, err);
}

static resplit_status add_fill(const rs_zarr *zarr, rs_text *out, resplit_error *err)
{
    if (zarr->raw_fill.n > 0) {
        return add_raw(out, &zarr->raw_fill, err);
    }
    return zarr->has_fill || zarr->version == 3 ? rs_zarr_fill_print(&zarr->dtype, zarr->fill, zarr->version, out, err)
                                                : rs_text_add(out, err, "null");
}

/* ---- Version 3 ---- */

/* The transpose that leads from one order of axes to another, and a comma; nothing when they are the same. */
static resplit_status add_transpose(int ndim, const int *from, const int *to, rs_text *out, resplit_error *err)
{
    int64_t place[RS_MAX_NDIM] = {0};
    if (memcmp(from, to, (size_t)ndim * sizeof *from) == 0) {
        return RESPLIT_OK;
    }
    for (int i = 0; i < ndim; i++) {
        for (int k = 0; k < ndim; k++) {
            place[i] = from[k] == to[i] ? k : place[i];
        }
    }
    RS_TRY(rs_text_add(out, err, "{\"name\": \"transpose\", \"configuration\": {\"order\": "));
    RS_TRY(add_list(out, ndim, place, err));
    return rs_text_add(out, err, "}}, ");
}

static const char *endian_word(char order)
{
    return order == '>' ? "big" : "little";
}

/* The codecs of a chunk, in shards whose axes are in the order `from`. */
static resplit_status add_chunk_codecs(const rs_zarr *zarr, const int *from, rs_text *out, resplit_error *err)
{
    int i = 0;
    if (zarr->raw_codecs.n > 0) {
        return add_raw(out, &zarr->raw_codecs, err);
    }
    RS_TRY(rs_text_add(out, err, "["));
    RS_TRY(add_transpose(zarr->ndim, from, zarr->order, out, err));
    for (; i < zarr->chain.n && rs_stage_is_on_elements(&zarr->chain.stage[i]); i++) {
        RS_TRY(rs_stage_print(&zarr->chain.stage[i], 3, out, err));
        RS_TRY(rs_text_add(out, err, ", "));
    }
    RS_TRY(zarr->endian == 0 ? rs_text_add(out, err, "{\"name\": \"bytes\"}")
                             : rs_text_add(out, err, "{\"name\": \"bytes\", \"configuration\": {\"endian\": \"%s\"}}",
                                           endian_word(zarr->endian)));
    for (; i < zarr->chain.n; i++) {
        if (rs_stage_is_on_elements(&zarr->chain.stage[i])) {
            return rs_fail(err, RESPLIT_EUNSUPPORTED,
                           "Zarr version 3 cannot have a codec on elements after one on bytes: give other codecs");
        }
        RS_TRY(rs_text_add(out, err, ", "));
        RS_TRY(rs_stage_print(&zarr->chain.stage[i], 3, out, err));
    }
    return rs_text_add(out, err, "]");
}

/* Level i around the codecs of what is in its shards. */
static resplit_status add_level(const rs_zarr *zarr, int i, const int *from, const rs_text *inner, rs_text *out,
                                resplit_error *err)
{
    const rs_zarr_level *level = &zarr->level[i];
    const int64_t *chunk = i + 1 < zarr->n_levels ? zarr->level[i + 1].chunk : zarr->chunk;
    int64_t part[RS_MAX_NDIM];
    for (int d = 0; d < zarr->ndim; d++) {
        part[d] = chunk[level->order[d]];
    }
    RS_TRY(rs_text_add(out, err, "["));
    RS_TRY(add_transpose(zarr->ndim, from, level->order, out, err));
    RS_TRY(rs_text_add(out, err, "{\"name\": \"sharding_indexed\", \"configuration\": {\"chunk_shape\": "));
    RS_TRY(add_list(out, zarr->ndim, part, err));
    RS_TRY(rs_text_add(out, err, ", \"codecs\": "));
    RS_TRY(add_raw(out, inner, err));
    RS_TRY(rs_text_add(out, err,
                       ", \"index_codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"%s\"}}%s], "
                       "\"index_location\": \"%s\"}}%s]",
                       endian_word(level->index_order), level->index_crc ? ", {\"name\": \"crc32c\"}" : "",
                       level->index_first ? "start" : "end", level->crc ? ", {\"name\": \"crc32c\"}" : ""));
    return RESPLIT_OK;
}

static resplit_status add_codecs(const rs_zarr *zarr, rs_text *out, resplit_error *err)
{
    int plain[RS_MAX_NDIM];
    rs_text inner = {0}, outer = {0};
    resplit_status rc;
    for (int d = 0; d < RS_MAX_NDIM; d++) {
        plain[d] = d;
    }
    rc = add_chunk_codecs(zarr, zarr->n_levels > 0 ? zarr->level[zarr->n_levels - 1].order : plain, &inner, err);
    for (int i = zarr->n_levels - 1; rc == RESPLIT_OK && i >= 0; i--) {
        rc = add_level(zarr, i, i > 0 ? zarr->level[i - 1].order : plain, &inner, &outer, err);
        rs_text_release(&inner);
        inner = outer;
        outer = (rs_text){0};
    }
    rc = rc != RESPLIT_OK ? rc : add_raw(out, &inner, err);
    rs_text_release(&inner);
    rs_text_release(&outer);
    return rc;
}

static resplit_status add_grid(const rs_zarr *zarr, rs_text *out, resplit_error *err)
{
    const int64_t *chunk = zarr->n_levels > 0 ? zarr->level[0].chunk : zarr->chunk;
    bool even = true;
    for (int d = 0; d < zarr->ndim; d++) {
        even = even && zarr->edges[d] == NULL;
    }
    if (even) {
        RS_TRY(rs_text_add(out, err, "{\"name\": \"regular\", \"configuration\": {\"chunk_shape\": "));
        RS_TRY(add_list(out, zarr->ndim, chunk, err));
        return rs_text_add(out, err, "}}");
    }
    RS_TRY(rs_text_add(out, err,
                       "{\"name\": \"rectilinear\", \"configuration\": {\"kind\": \"inline\", \"chunk_shapes\": ["));
    for (int d = 0; d < zarr->ndim; d++) {
        RS_TRY(rs_text_add(out, err, "%s", d > 0 ? ", " : ""));
        RS_TRY(zarr->edges[d] != NULL ? add_list(out, (int)zarr->n_edges[d], zarr->edges[d], err)
                                      : rs_text_add(out, err, "%lld", (long long)chunk[d]));
    }
    return rs_text_add(out, err, "]}}");
}

static resplit_status print_v3(const rs_zarr *zarr, rs_text *out, resplit_error *err)
{
    RS_TRY(rs_text_add(out, err, "{\n  \"shape\": "));
    RS_TRY(add_list(out, zarr->ndim, zarr->shape, err));
    RS_TRY(rs_text_add(out, err, ",\n  \"data_type\": "));
    RS_TRY(add_type(zarr, out, err));
    RS_TRY(rs_text_add(out, err, ",\n  \"chunk_grid\": "));
    RS_TRY(add_grid(zarr, out, err));
    RS_TRY(rs_text_add(out, err,
                       ",\n  \"chunk_key_encoding\": {\"name\": \"%s\", \"configuration\": {\"separator\": \"%c\"}},\n "
                       " \"fill_value\": ",
                       zarr->v2_keys ? "v2" : "default", zarr->separator));
    RS_TRY(add_fill(zarr, out, err));
    RS_TRY(rs_text_add(out, err, ",\n  \"codecs\": "));
    RS_TRY(add_codecs(zarr, out, err));
    RS_TRY(rs_text_add(out, err, ",\n  \"attributes\": "));
    RS_TRY(zarr->attributes.n > 0 ? add_raw(out, &zarr->attributes, err) : rs_text_add(out, err, "{}"));
    if (zarr->names.n > 0) {
        RS_TRY(rs_text_add(out, err, ",\n  \"dimension_names\": "));
        RS_TRY(add_raw(out, &zarr->names, err));
    }
    RS_TRY(
        rs_text_add(out, err, ",\n  \"zarr_format\": 3,\n  \"node_type\": \"array\",\n  \"storage_transformers\": []"));
    RS_TRY(rs_text_add_bytes(out, zarr->extra.s == NULL ? "" : zarr->extra.s, zarr->extra.n, err));
    return rs_text_add(out, err, "\n}\n");
}

/* ---- Version 2 ---- */

/* Filters, and the last stage as compressor when it is one. */
static resplit_status add_filters(const rs_zarr *zarr, rs_text *out, resplit_error *err)
{
    int n = zarr->chain.n;
    const rs_stage *stage = zarr->chain.stage;
    if (zarr->raw_codecs.n > 0) {
        return add_raw(out, &zarr->raw_codecs, err);
    }
    bool compressed = n > 0 && rs_stage_is_compressor(&stage[n - 1]);
    n -= compressed;
    RS_TRY(rs_text_add(out, err, n > 0 ? "\"filters\": [" : "\"filters\": null"));
    for (int i = 0; i < n; i++) {
        RS_TRY(rs_text_add(out, err, "%s", i > 0 ? ", " : ""));
        RS_TRY(rs_stage_print(&stage[i], 2, out, err));
    }
    RS_TRY(rs_text_add(out, err, n > 0 ? "],\n  \"compressor\": " : ",\n  \"compressor\": "));
    return compressed ? rs_stage_print(&stage[n], 2, out, err) : rs_text_add(out, err, "null");
}

static resplit_status print_v2(const rs_zarr *zarr, rs_text *out, resplit_error *err)
{
    char order = rs_order_name(zarr->ndim, zarr->order);
    if (order == 0) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED,
                       "Zarr version 2 has elements in order C or F only: give one of them, or version 3");
    }
    if (zarr->n_levels > 0) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "Zarr version 2 has no shards: leave them out, or give version 3");
    }
    RS_TRY(rs_text_add(out, err, "{\n  \"shape\": "));
    RS_TRY(add_list(out, zarr->ndim, zarr->shape, err));
    RS_TRY(rs_text_add(out, err, ",\n  \"chunks\": "));
    RS_TRY(add_list(out, zarr->ndim, zarr->chunk, err));
    RS_TRY(rs_text_add(out, err, ",\n  \"dtype\": "));
    RS_TRY(add_type(zarr, out, err));
    RS_TRY(rs_text_add(out, err, ",\n  \"fill_value\": "));
    RS_TRY(add_fill(zarr, out, err));
    RS_TRY(rs_text_add(out, err, ",\n  \"order\": \"%c\",\n  \"dimension_separator\": \"%c\",\n  ", order,
                       zarr->separator));
    RS_TRY(add_filters(zarr, out, err));
    RS_TRY(rs_text_add(out, err, ",\n  \"zarr_format\": 2"));
    RS_TRY(rs_text_add_bytes(out, zarr->extra.s == NULL ? "" : zarr->extra.s, zarr->extra.n, err));
    return rs_text_add(out, err, "\n}\n");
}

/* Version 2 has no place for names of axes but the attribute that xarray made up; an own one wins. */
static resplit_status add_attributes(const rs_zarr *zarr, rs_text *out, resplit_error *err)
{
    static const char key[] = "\"_ARRAY_DIMENSIONS\"";
    const char *text = zarr->attributes.n > 0 ? zarr->attributes.s : "{}";
    if (zarr->names.n == 0 || strstr(text, key) != NULL || strstr(zarr->names.s, "null") != NULL) {
        return rs_text_add(out, err, "%s\n", text);
    }
    bool empty = text[1 + strspn(text + 1, " \t\r\n")] == '}';
    return rs_text_add(out, err, "{%s: %s%s%s\n", key, zarr->names.s, empty ? "" : ",", text + 1);
}

/* ---- Both ---- */

resplit_status rs_zarr_print(const rs_zarr *zarr, rs_zarr_file *add, void *payload, resplit_error *err)
{
    rs_text text = {0};
    resplit_status rc;
    if (zarr->version == 3) {
        rc = print_v3(zarr, &text, err);
        rc = rc != RESPLIT_OK ? rc : add("zarr.json", &text, payload, err);
        goto out;
    }
    rc = print_v2(zarr, &text, err);
    rc = rc != RESPLIT_OK ? rc : add(".zarray", &text, payload, err);
    if (rc == RESPLIT_OK && (zarr->attributes.n > 0 || zarr->names.n > 0)) {
        text.n = 0;
        rc = add_attributes(zarr, &text, err);
        rc = rc != RESPLIT_OK ? rc : add(".zattrs", &text, payload, err);
    }
out:
    rs_text_release(&text);
    return rc;
}
