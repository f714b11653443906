/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zarr_codecs.c - the codecs of version 3, and the type of elements, whose byte order is among them.
 *
 *     "codecs": [transpose, sharding_indexed {"codecs": [transpose, numcodecs.delta, bytes, zstd]}, crc32c]
 *                |-- order of the index --|             |- order -|-- chain --|endian|-chain-|   |- of the shard
 *
 * Each list has codecs on elements, one that makes bytes of them, and codecs on bytes.
 */
#include <string.h>

#include "format/zarr_parts.h"

typedef struct codec_reader {
    const char *path;
    rs_zarr *zarr;
    int order[RS_MAX_NDIM]; /* axes of the array at each place, after the transposes so far */
    char endian;            /* of the codec "bytes"; 0: not given */
    const rs_json *data_type;
    resplit_error *err;
} codec_reader;

static resplit_status opaque(codec_reader *r, const rs_json *codec, const char *why)
{
    resplit_error reason;
    char shown[RS_ZARR_SHOWN];
    const rs_json *name = codec->kind == RS_JSON_OBJECT ? rs_json_get(codec, "name") : NULL;
    resplit_status rc = rs_fail(&reason, RESPLIT_EUNSUPPORTED,
                                "'%s' has the codec %s, and %s: its chunks can only be copied as they are", r->path,
                                rs_zarr_show(name != NULL ? name : codec, shown), why);
    return rs_zarr_note_opaque(r->zarr, rc, &reason, r->err);
}

/* Axis i of what comes out is axis order[i] of what goes in. */
static resplit_status read_transpose(codec_reader *r, const rs_json *codec)
{
    int n = r->zarr->ndim, before[RS_MAX_NDIM];
    const rs_json *order = rs_json_get(rs_json_get(codec, "configuration"), "order");
    int64_t place[RS_MAX_NDIM];
    bool seen[RS_MAX_NDIM] = {false};
    memcpy(before, r->order, sizeof before);
    if (rs_json_is(order, "C") || rs_json_is(order, "F")) {
        for (int d = 0; d < n; d++) {
            place[d] = rs_json_is(order, "C") ? d : n - 1 - d;
        }
    } else {
        RS_TRY(rs_zarr_extents(r->path, "order", order, 0, &n, place, r->err));
    }
    for (int d = 0; d < n; d++) {
        if (n != r->zarr->ndim || place[d] >= n || seen[place[d]]) {
            return rs_zarr_bad(r->path, "order", order, "but it is a permutation of the axes", r->err);
        }
        seen[place[d]] = true;
        r->order[d] = before[place[d]];
    }
    return n == r->zarr->ndim ? RESPLIT_OK
                              : rs_zarr_bad(r->path, "order", order, "but it is a permutation of the axes", r->err);
}

/* little, big, or not given */
static resplit_status read_endian(const char *path, const rs_json *codec, char *out, resplit_error *err)
{
    const rs_json *endian = rs_json_get(rs_json_get(codec, "configuration"), "endian");
    *out = rs_json_is(endian, "little") ? '<' : rs_json_is(endian, "big") ? '>' : 0;
    if (endian != NULL && *out == 0 && endian->kind != RS_JSON_NULL) {
        return rs_zarr_bad(path, "endian", endian, "but it is \"little\" or \"big\"", err);
    }
    return RESPLIT_OK;
}

static bool is_bytes(const rs_json *codec)
{
    return rs_zarr_is_named(codec, "bytes") || rs_zarr_is_named(codec, "endian");
}

/* A codec that the codecs' room may know. */
static resplit_status read_stage(codec_reader *r, const rs_json *codec)
{
    rs_zarr *zarr = r->zarr;
    rs_text name = {0};
    const rs_json *config;
    resplit_status rc = rs_zarr_named(r->path, "codecs", codec, &name, &config, r->err);
    if (rc == RESPLIT_OK && zarr->opaque.code == RESPLIT_OK) {
        rc = rs_zarr_add_stage(r->path, zarr, name.s, config, r->err);
    }
    rs_text_release(&name);
    return rc;
}

static bool on_elements(const rs_zarr *zarr)
{
    return zarr->chain.n > 0 && rs_stage_is_on_elements(&zarr->chain.stage[zarr->chain.n - 1]);
}

/* The index of a shard: bytes, and perhaps crc32c after it. *known is false for anything else. */
static resplit_status read_index_codecs(codec_reader *r, const rs_json *list, rs_zarr_level *level, bool *known)
{
    const rs_json *bytes = list == NULL ? NULL : list->first, *crc = bytes == NULL ? NULL : bytes->next;
    if (list == NULL || list->kind != RS_JSON_ARRAY || bytes == NULL) {
        return rs_zarr_bad(r->path, "index_codecs", list, "but it is a list of codecs", r->err);
    }
    *known = is_bytes(bytes) && (crc == NULL || (rs_zarr_is_named(crc, "crc32c") && crc->next == NULL));
    if (!*known) {
        return RESPLIT_OK;
    }
    RS_TRY(read_endian(r->path, bytes, &level->index_order, r->err));
    level->index_crc = crc != NULL;
    return level->index_order != 0
               ? RESPLIT_OK
               : rs_zarr_bad(r->path, "index_codecs", list, "but \"bytes\" needs an \"endian\"", r->err);
}

/* A level of shards; *inner is the list for what is in them, NULL when shards cannot be looked into. */
static resplit_status read_sharding(codec_reader *r, const rs_json *codec, const rs_json **inner)
{
    rs_zarr *zarr = r->zarr;
    const rs_json *config = rs_json_get(codec, "configuration"), *after = codec->next;
    const rs_json *where = rs_json_get(config, "index_location");
    rs_zarr_level level = {.index_first = where != NULL && rs_json_is(where, "start")};
    int64_t part[RS_MAX_NDIM];
    int n;
    bool known = false;
    *inner = NULL;
    RS_TRY(rs_zarr_extents(r->path, "chunk_shape", rs_json_get(config, "chunk_shape"), 1, &n, part, r->err));
    if (n != zarr->ndim) {
        return rs_zarr_bad(r->path, "chunk_shape", rs_json_get(config, "chunk_shape"),
                           "but it has one entry for each axis", r->err);
    }
    if (where != NULL && !level.index_first && !rs_json_is(where, "end")) {
        return rs_zarr_bad(r->path, "index_location", where, "but it is \"start\" or \"end\"", r->err);
    }
    RS_TRY(read_index_codecs(r, rs_json_get(config, "index_codecs"), &level, &known));
    if (!known) {
        return opaque(r, codec, "the codecs of the index of its shards are not handled");
    }
    level.crc = after != NULL && rs_zarr_is_named(after, "crc32c");
    if (after != NULL && (!level.crc || after->next != NULL)) {
        return opaque(r, after, "it follows sharding_indexed");
    }
    if (zarr->n_levels == RS_MAX_LEVELS) {
        return opaque(r, codec, "more levels of shards than are handled");
    }
    memcpy(level.chunk, zarr->chunk, sizeof level.chunk);
    memcpy(level.order, r->order, sizeof level.order);
    for (int d = 0; d < n; d++) {
        zarr->chunk[r->order[d]] = part[d];
    }
    zarr->level[zarr->n_levels++] = level;
    *inner = rs_json_get(config, "codecs");
    if (*inner == NULL || (*inner)->kind != RS_JSON_ARRAY || (*inner)->first == NULL) {
        return rs_zarr_bad(r->path, "codecs", *inner, "but it is a list with at least one codec", r->err);
    }
    return RESPLIT_OK;
}

/* The codec that makes bytes of elements; NULL: there is none that is known to. */
static const rs_json *find_bytes(const rs_json *list)
{
    const rs_json *v = list->first;
    while (v != NULL && !is_bytes(v) && !rs_zarr_is_named(v, "sharding_indexed")) {
        v = v->next;
    }
    return v;
}

/* Byte order and type: the type is needed by every codec, and the byte order is in one that comes late. */
static resplit_status read_type(codec_reader *r, const rs_json *list)
{
    const rs_json *maker = find_bytes(list);
    resplit_error why;
    for (int depth = 0; maker != NULL && rs_zarr_is_named(maker, "sharding_indexed") && depth < 64; depth++) {
        list = rs_json_get(rs_json_get(maker, "configuration"), "codecs");
        maker = list == NULL || list->kind != RS_JSON_ARRAY ? NULL : find_bytes(list);
    }
    if (maker != NULL && is_bytes(maker)) {
        RS_TRY(read_endian(r->path, maker, &r->zarr->endian, r->err));
    }
    /* without the codec "bytes" nothing can be decoded, so any byte order will do */
    char order = maker == NULL ? '<' : r->zarr->endian;
    resplit_status rc = rs_zarr_type_v3(r->path, r->data_type, order, &r->zarr->dtype, &why);
    RS_TRY(rs_zarr_note_opaque(r->zarr, rc, &why, r->err));
    r->zarr->foreign = rs_zarr_type_is_foreign(r->data_type);
    return rc == RESPLIT_OK ? rc : rs_dtype_parse("V1", &r->zarr->dtype, r->err);
}

/* One list; *inner is the list in its shards, or NULL. */
static resplit_status read_list(codec_reader *r, const rs_json *list, const rs_json **inner)
{
    const rs_json *maker = find_bytes(list), *v = list->first;
    rs_zarr *zarr = r->zarr;
    *inner = NULL;
    if (maker == NULL) {
        return opaque(r, list->first, "no \"bytes\" or \"sharding_indexed\" with it");
    }
    for (; v != maker; v = v->next) {
        if (rs_zarr_is_named(v, "transpose")) {
            RS_TRY(zarr->chain.n > 0 ? opaque(r, v, "it follows another codec on elements") : read_transpose(r, v));
            continue;
        }
        if (rs_zarr_is_named(maker, "sharding_indexed")) {
            return opaque(r, v, "it comes before sharding_indexed");
        }
        RS_TRY(read_stage(r, v));
        if (zarr->opaque.code == RESPLIT_OK && !on_elements(zarr)) {
            return rs_zarr_bad(r->path, "codecs", list, "but codecs on bytes come after \"bytes\"", r->err);
        }
    }
    if (rs_zarr_is_named(maker, "sharding_indexed")) {
        return read_sharding(r, maker, inner);
    }
    if (zarr->chain.n > 0) {
        char made = rs_stage_element(&zarr->chain.stage[zarr->chain.n - 1]).byteorder;
        if (zarr->endian != 0 && made != '|' && made != zarr->endian) {
            RS_TRY(opaque(r, maker, "its byte order is not that of the codec before it"));
        }
    }
    for (v = maker->next; v != NULL; v = v->next) {
        RS_TRY(read_stage(r, v));
        if (zarr->opaque.code == RESPLIT_OK && on_elements(zarr)) {
            return rs_zarr_bad(r->path, "codecs", list, "but codecs on elements come before \"bytes\"", r->err);
        }
    }
    return RESPLIT_OK;
}

resplit_status rs_zarr_read_codecs(const char *path, const rs_json *root, rs_zarr *zarr, resplit_error *err)
{
    codec_reader r = {.path = path, .zarr = zarr, .data_type = rs_json_get(root, "data_type"), .err = err};
    const rs_json *list = rs_json_get(root, "codecs"), *inner = list;
    if (list == NULL || list->kind != RS_JSON_ARRAY || list->first == NULL) {
        return rs_zarr_bad(path, "codecs", list, "but it is a list with at least one codec", err);
    }
    for (int d = 0; d < zarr->ndim; d++) {
        r.order[d] = d;
    }
    RS_TRY(read_type(&r, list));
    while (inner != NULL) { /* JSON is 64 deep at most */
        list = inner;
        RS_TRY(read_list(&r, list, &inner));
    }
    memcpy(zarr->order, r.order, sizeof zarr->order);
    return rs_zarr_keep(&zarr->raw_codecs, list, err);
}
