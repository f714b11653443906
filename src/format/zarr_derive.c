/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zarr_derive.c - the metadata of a target from those of its source. What the version and the wish leave as it is keeps
 * its text; the rest is written anew from the values.
 */
#include <stdlib.h>
#include <string.h>

#include "format/zarr_parts.h"

typedef struct deriver {
    const rs_zarr *source; /* NULL: not Zarr */
    const rs_zarr_wish *wish;
    rs_zarr *out;
    bool same_version;
    bool cast;    /* other values */
    bool swapped; /* the same values in another byte order */
} deriver;

static resplit_status copy_text(rs_text *out, const rs_text *in, resplit_error *err)
{
    return in->n > 0 ? rs_text_add_bytes(out, in->s, in->n, err) : RESPLIT_OK;
}

static void derive_grid(const deriver *d)
{
    rs_zarr *out = d->out;
    const rs_zarr *source = d->source;
    size_t bytes = (size_t)out->ndim * sizeof *out->shape;
    memcpy(out->shape, d->wish->shape != NULL ? d->wish->shape : source->shape, bytes);
    memcpy(out->chunk, d->wish->chunk != NULL ? d->wish->chunk : source->chunk, bytes);
    for (int i = 0; i < out->ndim; i++) {
        out->order[i] = d->wish->has_order ? d->wish->order[i] : source != NULL ? source->order[i] : i;
        out->level[0].order[i] = i;
    }
    if (d->wish->shard != NULL) {
        out->n_levels = 1;
        memcpy(out->level[0].chunk, d->wish->shard, bytes);
        out->level[0].index_first = source != NULL && source->n_levels > 0 && source->level[0].index_first;
        out->level[0].index_crc = true;
        out->level[0].index_order = '<';
    }
}

static resplit_status check_grid(const deriver *d, resplit_error *err)
{
    const rs_zarr *out = d->out;
    for (int i = 0; i < out->ndim; i++) {
        if (out->shape[i] < 0 || out->chunk[i] < 1 || (out->n_levels > 0 && out->level[0].chunk[i] < 1)) {
            return rs_fail(err, RESPLIT_EINVAL, "chunks and shards have at least one element along axis %d", i);
        }
        if (d->wish->chunk == NULL && d->source->edges[i] != NULL) {
            return rs_fail(err, RESPLIT_EINVAL,
                           "the source has chunks of different lengths along axis %d: give a length", i);
        }
    }
    return rs_zarr_check("target", out, err);
}

static resplit_status derive_type(deriver *d, const rs_dtype *dtype, resplit_error *err)
{
    rs_zarr *out = d->out;
    const rs_dtype *before = d->source != NULL ? &d->source->dtype : dtype;
    RS_TRY(d->wish->dtype != NULL ? rs_dtype_parse(d->wish->dtype, &out->dtype, err)
                                  : rs_dtype_copy(before, &out->dtype, err));
    if (out->dtype.itemsize > RS_ZARR_MAX_ITEM) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED,
                       "elements of %lld bytes cannot be written as Zarr; at most %d are handled",
                       (long long)out->dtype.itemsize, RS_ZARR_MAX_ITEM);
    }
    d->cast = d->source != NULL && !rs_dtype_same_values(before, &out->dtype);
    d->swapped = d->source != NULL && !d->cast && before->byteorder != out->dtype.byteorder;
    out->foreign = d->source != NULL && d->source->foreign && !d->cast;
    if (out->foreign && !d->same_version) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "Zarr version 2 has no type %.*s: give version 3",
                       (int)rs_min(60, (int64_t)d->source->raw_type.n), d->source->raw_type.s);
    }
    out->endian = out->dtype.byteorder != '|'                   ? out->dtype.byteorder
                  : d->source != NULL && d->source->endian != 0 ? d->source->endian
                  : out->dtype.descr[0] == '['                  ? '<'
                                                                : 0;
    if (out->dtype.itemsize == 1) {
        out->endian = 0;
    }
    bool keep = d->source != NULL && d->same_version && !d->cast && !(d->swapped && out->version == 2);
    return keep ? copy_text(&out->raw_type, &d->source->raw_type, err) : RESPLIT_OK;
}

static bool order_is(const rs_zarr *a, const rs_zarr *b)
{
    return memcmp(a->order, b->order, (size_t)a->ndim * sizeof *a->order) == 0;
}

/* The list of codecs of a chunk means the same where the shards have their axes in order. */
static bool keeps_codecs(const deriver *d)
{
    if (d->source == NULL || !d->same_version || d->wish->chain != NULL || d->cast || d->swapped
        || (d->out->version == 3 && !order_is(d->source, d->out))) {
        return false;
    }
    const rs_zarr *source = d->source;
    for (int i = 0; i < source->ndim && source->n_levels > 0; i++) {
        if (source->level[source->n_levels - 1].order[i] != i) {
            return false;
        }
    }
    return true;
}

static resplit_status derive_codecs(deriver *d, resplit_error *err)
{
    rs_zarr *out = d->out;
    const rs_zarr *source = d->source;
    bool keep = keeps_codecs(d);
    if (source != NULL && source->opaque.code != RESPLIT_OK) {
        if (!keep || !order_is(source, out)
            || memcmp(source->chunk, out->chunk, (size_t)out->ndim * sizeof *out->chunk) != 0) {
            return rs_fail_with(err, &source->opaque);
        }
        out->opaque = source->opaque;
    }
    if (d->wish->chain != NULL) {
        out->chain = *d->wish->chain;
    } else if (source != NULL) {
        out->chain = source->chain;
        for (int i = 0; (d->cast || d->swapped) && i < out->chain.n; i++) {
            if (rs_stage_is_on_elements(&out->chain.stage[i])) {
                return rs_fail(
                    err, RESPLIT_EUNSUPPORTED,
                    "the codecs of the source work on elements of type '%s', and the target has '%s': give the "
                    "codecs of the target",
                    source->dtype.descr, out->dtype.descr);
            }
        }
        if (d->cast) {
            rs_element from = rs_dtype_element(&source->dtype), to = rs_dtype_element(&out->dtype);
            rs_chain_retype(&out->chain, &from, &to);
        }
    }
    return keep ? copy_text(&out->raw_codecs, &source->raw_codecs, err) : RESPLIT_OK;
}

/* From JSON, for the type of the target. */
static resplit_status fill_from_text(const deriver *d, const char *text, size_t n, resplit_error *err)
{
    rs_json_document *document;
    RS_TRY(rs_json_parse(text, n, "fill value", &document, err));
    resplit_status rc = rs_zarr_fill_read("target", rs_json_root(document), &d->out->dtype, NULL, 0, d->out->fill, err);
    rs_json_free(document);
    return rc;
}

/* The bytes become those that a reader of the target will have: version 2 has one NaN only. */
static resplit_status settle_fill(const deriver *d, resplit_error *err)
{
    rs_text text = {0};
    resplit_status rc = rs_zarr_fill_print(&d->out->dtype, d->out->fill, d->out->version, &text, err);
    rc = rc != RESPLIT_OK ? rc : fill_from_text(d, text.s, text.n, err);
    rs_text_release(&text);
    return rc;
}

static resplit_status derive_fill(const deriver *d, resplit_error *err)
{
    rs_zarr *out = d->out;
    const rs_zarr *source = d->source;
    int64_t size = out->dtype.itemsize, swap = out->dtype.swap_size;
    out->fill = calloc(1, (size_t)size);
    if (out->fill == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for an element of %lld bytes", (long long)size);
    }
    out->has_fill = true;
    if (d->wish->fill != NULL) {
        return fill_from_text(d, d->wish->fill, strlen(d->wish->fill), err);
    }
    if (source == NULL) {
        return RESPLIT_OK;
    }
    out->has_fill = source->has_fill;
    if (d->cast) {
        rs_cast cast;
        resplit_losses ignored = {0};
        RS_TRY(rs_dtype_cast(&source->dtype, &out->dtype, &cast, err));
        rs_cast_run(&cast, source->fill, out->fill, 1, &ignored);
        return out->has_fill ? settle_fill(d, err) : RESPLIT_OK;
    }
    for (int64_t i = 0; i < size; i++) {
        out->fill[i] = source->fill[d->swapped && swap > 0 ? i / swap * swap + swap - 1 - i % swap : i];
    }
    return d->same_version ? copy_text(&out->raw_fill, &source->raw_fill, err) : settle_fill(d, err);
}

/* xarray's names of axes, for version 3 that has a place for them. */
static resplit_status names_from_attributes(rs_zarr *out, resplit_error *err)
{
    rs_json_document *document;
    RS_TRY(rs_json_parse(out->attributes.s, out->attributes.n, "attributes", &document, err));
    const rs_json *names = rs_json_get(rs_json_root(document), "_ARRAY_DIMENSIONS");
    bool good = names != NULL && names->kind == RS_JSON_ARRAY && rs_json_count(names) == out->ndim && out->ndim > 0;
    for (const rs_json *v = good ? names->first : NULL; v != NULL; v = v->next) {
        good = good && v->kind == RS_JSON_STRING;
    }
    resplit_status rc = good ? rs_zarr_keep(&out->names, names, err) : RESPLIT_OK;
    rs_json_free(document);
    return rc;
}

static resplit_status add_wished(rs_text *out, const char *text, rs_json_kind kind, const char *what,
                                 resplit_error *err)
{
    rs_json_document *document;
    RS_TRY(rs_json_parse(text, strlen(text), what, &document, err));
    resplit_status rc = rs_json_root(document)->kind == kind
                            ? rs_zarr_keep(out, rs_json_root(document), err)
                            : rs_fail(err, RESPLIT_EINVAL, "the %s must be %s", what,
                                      kind == RS_JSON_OBJECT ? "a JSON object" : "a JSON list");
    rs_json_free(document);
    return rc;
}

static resplit_status derive_others(const deriver *d, resplit_error *err)
{
    rs_zarr *out = d->out;
    const rs_zarr *source = d->source;
    if (d->wish->attributes != NULL) {
        RS_TRY(add_wished(&out->attributes, d->wish->attributes, RS_JSON_OBJECT, "attributes", err));
    } else if (source != NULL) {
        RS_TRY(copy_text(&out->attributes, &source->attributes, err));
    }
    if (d->wish->names != NULL) {
        RS_TRY(add_wished(&out->names, d->wish->names, RS_JSON_ARRAY, "names of the axes", err));
    } else if (source != NULL && source->names.n > 0) {
        RS_TRY(copy_text(&out->names, &source->names, err));
    } else if (out->version == 3 && !d->same_version && out->attributes.n > 0) {
        RS_TRY(names_from_attributes(out, err));
    }
    out->v2_keys = out->version == 2 || (source != NULL && source->version == 3 && source->v2_keys);
    out->separator = d->wish->separator != 0                                    ? d->wish->separator
                     : source != NULL && (d->same_version || out->version == 2) ? source->separator
                     : out->version == 2                                        ? '.'
                                                                                : '/';
    return d->same_version && source != NULL ? copy_text(&out->extra, &source->extra, err) : RESPLIT_OK;
}

/* What cannot be written, or would not be read again, is refused before anything is on disk. */
static resplit_status read_back(const char *name, const rs_text *text, void *payload, resplit_error *err)
{
    rs_zarr again;
    (void)payload;
    if (strcmp(name, ".zattrs") == 0) {
        return RESPLIT_OK;
    }
    resplit_status rc = rs_zarr_parse(strcmp(name, ".zarray") == 0 ? 2 : 3, text->s, text->n, "target", &again, err);
    rs_zarr_release(&again);
    return rc;
}

resplit_status rs_zarr_derive(const rs_zarr *source, const rs_dtype *dtype, int ndim, const rs_zarr_wish *wish,
                              rs_zarr *out, resplit_error *err)
{
    int version = wish->version != 0 ? wish->version : source != NULL ? source->version : 3;
    deriver d = {
        .source = source, .wish = wish, .out = out, .same_version = source != NULL && source->version == version};
    *out = (rs_zarr){.version = version, .ndim = source != NULL ? source->ndim : ndim};
    if (version != 2 && version != 3) {
        return rs_fail(err, RESPLIT_EINVAL, "there is no Zarr version %d: give 2 or 3", version);
    }
    if (source == NULL && (wish->shape == NULL || wish->chunk == NULL || ndim < 0 || ndim > RS_MAX_NDIM)) {
        return rs_fail(err, RESPLIT_EINVAL, "a Zarr array needs a shape and chunks, of at most %d axes", RS_MAX_NDIM);
    }
    derive_grid(&d);
    RS_TRY(derive_type(&d, dtype, err));
    RS_TRY(check_grid(&d, err));
    RS_TRY(derive_codecs(&d, err));
    RS_TRY(derive_fill(&d, err));
    RS_TRY(derive_others(&d, err));
    return rs_zarr_print(out, read_back, NULL, err);
}
