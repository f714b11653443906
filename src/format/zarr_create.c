/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zarr_create.c - a Zarr array that is about to be made: its grid, shards, codecs and fill value, what its attributes
 * say of space, and the group around it where it is an OME-Zarr image.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/drivers.h"
#include "format/zarr_array.h"
#include "format/zarr_parts.h"
#include "format/zarr_space.h"

/* Lengths of the chunks: what is asked for, else those of the source, where they are even. */
static resplit_status choose_chunks(const resplit_array *source, const resplit_target *target, const int64_t *shape,
                                    int64_t *chunk, resplit_error *err)
{
    for (int d = 0; d < source->layout.ndim; d++) {
        const resplit_chunks *asked = target->chunks != NULL ? &target->chunks[d] : &source->info.chunks[d];
        bool kept = target->chunks == NULL;
        if (asked->count > 0) {
            return rs_fail(err, RESPLIT_EUNSUPPORTED,
                           "axis %d is cut unevenly, but chunks of a Zarr array are all alike%s", d,
                           kept ? ": give --chunks" : "");
        }
        bool chunked = source->zarr != NULL || source->hdf5 != NULL; /* then chunks may be longer than the array */
        chunk[d] = kept && chunked ? rs_array_chunk(source, d) : asked->length;
        if (kept && !chunked) {
            chunk[d] = rs_min(chunk[d], shape[d]); /* of a region */
        }
        RS_TRY(rs_chunk_check(d, shape[d], &chunk[d], err));
        chunk[d] = rs_max(1, chunk[d]);
    }
    return RESPLIT_OK;
}

/* Asked for, or kept: a source with shards keeps them with its chunks, where the version has shards. */
static resplit_status choose_shards(const resplit_array *source, const resplit_target *target, const rs_zarr_wish *wish,
                                    int64_t *shard, bool *any, resplit_error *err)
{
    const rs_zarr *zarr = source->zarr;
    const int64_t *shape = wish->shape, *chunk = wish->chunk;
    bool kept = target->chunks == NULL && zarr != NULL && zarr->n_levels > 0 && wish->version == 3;
    *any = target->shards != NULL || kept;
    for (int d = 0; *any && d < source->layout.ndim; d++) {
        int64_t each = rs_max(1, chunk[d]);
        shard[d] = target->shards != NULL ? target->shards[d] : source->shard[d] * source->layout.axis[d].step;
        if (shard[d] == -1) {
            shard[d] = rs_ceil_div(rs_max(1, shape[d]), each) * each;
        }
        if (shard[d] < 1 || shard[d] % each != 0) {
            return rs_fail(err, RESPLIT_EINVAL, "axis %d: shards of %lld do not hold whole chunks of %lld", d,
                           (long long)shard[d], (long long)chunk[d]);
        }
    }
    return RESPLIT_OK;
}

static resplit_status parse_codec(const resplit_array *array, const char *text, rs_chain *chain, resplit_error *err)
{
    rs_element element = rs_dtype_element(&array->dtype);
    return rs_chain_parse(text, &element, chain, err);
}

/* What lies outside the array is zero where nobody writes it. */
static bool needs_padding(const resplit_array *array)
{
    bool ragged = false, zero = true;
    for (int d = 0; d < array->layout.ndim; d++) {
        ragged = ragged || array->layout.axis[d].last != array->layout.axis[d].extent;
    }
    for (int64_t i = 0; i < array->dtype.itemsize; i++) {
        zero = zero && array->fill[i] == 0;
    }
    return ragged && !zero;
}

static resplit_status set_target_coding(const resplit_array *source, resplit_array *array, resplit_error *err)
{
    int64_t bound = rs_chain_bound(&array->chain, rs_zarr_chunk_bytes(array->zarr));
    double ratio = source->layout.coding.ratio > 0 ? source->layout.coding.ratio : 0.5; /* a guess */
    if (array->zarr->opaque.code != RESPLIT_OK) {
        array->encoded = array->layout.atomic = true;
        return RESPLIT_OK;
    }
    array->encoded =
        array->chain.n > 0 || array->zarr->n_levels > 0 || array->cast.kind != RS_CAST_NONE || needs_padding(array);
    return array->encoded ? rs_array_set_coding(array, true, bound, array->chain.n > 0 ? ratio : 1, err) : RESPLIT_OK;
}

static resplit_status check_chain(const rs_chain *chain, resplit_error *err)
{
    char text[200];
    for (int i = 0; i < chain->n; i++) {
        if (rs_stage_is_hdf5(&chain->stage[i])) {
            return rs_fail(err, RESPLIT_EUNSUPPORTED, "Zarr has no codec '%s': give another, as --codec zstd",
                           rs_chain_text(chain, text));
        }
    }
    return RESPLIT_OK;
}

/* Filters of HDF5 are codecs of Zarr. */
static void inherit_chain(const resplit_array *source, const resplit_array *array, rs_chain *chain)
{
    rs_element from = rs_dtype_element(&source->dtype), to = rs_dtype_element(&array->dtype);
    *chain = source->chain;
    rs_chain_retype(chain, &from, &to);
}

/* The metadata that a target's are made from; of a source whose axes are turned they mean something else. */
static const rs_zarr *model_of(const resplit_array *source)
{
    return source->of == NULL ? source->zarr : NULL;
}

/* Fill value and codecs of a source that is no such model, if it has any. */
static bool has_coding(const resplit_array *source)
{
    return model_of(source) == NULL && (source->hdf5 != NULL || source->zarr != NULL);
}

/* The fill value as JSON; nothing for zero, which is what there is without a word, and after a cast. */
static resplit_status inherit_fill(const resplit_array *source, const resplit_array *array, int version, rs_text *out,
                                   resplit_error *err)
{
    bool zero = true;
    for (int64_t i = 0; has_coding(source) && i < source->dtype.itemsize; i++) {
        zero = zero && source->fill[i] == 0;
    }
    return zero || array->cast.kind != RS_CAST_NONE
               ? RESPLIT_OK
               : rs_zarr_fill_print(&source->dtype, source->fill, version, out, err);
}

static bool is_whole(const resplit_array *source, const int64_t *shape)
{
    bool whole = true;
    for (int d = 0; d < source->layout.ndim; d++) {
        whole = whole && shape[d] == source->layout.axis[d].extent;
    }
    return whole;
}

/*
 * Attributes and names that tell of space. Those of a Zarr source stay byte for byte where they are still right, and in
 * a group that is made anew, which tells it as before.
 */
static resplit_status describe_space(const resplit_array *source, const int64_t *shape, resplit_array *array,
                                     rs_text *attributes, rs_text *names, resplit_error *err)
{
    const rs_zarr *zarr = source->zarr;
    bool told = zarr != NULL && zarr->attributes.n > 0 && strstr(zarr->attributes.s, "\"space\"") != NULL;
    bool in_group = array->path != NULL && rs_is_in_part(array->path);
    rs_space *region = NULL;
    if (array->space == NULL
        || (model_of(source) != NULL && !array->ome && is_whole(source, shape) && (told || in_group))) {
        return RESPLIT_OK;
    }
    RS_TRY(rs_space_region(array->space, array->origin, shape, &region, err));
    resplit_status rc = rs_zarr_space_attributes(zarr != NULL ? &zarr->attributes : NULL, region, attributes, err);
    if (rc == RESPLIT_OK && (model_of(source) == NULL || array->ome)) {
        rc = rs_zarr_space_names(region, names, err);
    }
    rs_space_free(region);
    return rc;
}

static resplit_status choose_codecs(const resplit_array *source, const resplit_target *target,
                                    const resplit_array *array, rs_chain *chain, bool *any, resplit_error *err)
{
    *any = target->codec != NULL || has_coding(source);
    if (target->codec != NULL) {
        RS_TRY(parse_codec(array, target->codec, chain, err));
    } else if (*any) {
        inherit_chain(source, array, chain);
    }
    if (source->of != NULL && rs_array_opaque(source) != NULL) { /* cannot be turned without being read */
        return rs_fail_with(err, rs_array_opaque(source));
    }
    return check_chain(chain, err);
}

static resplit_status derive(const resplit_array *source, const int64_t *shape, rs_zarr_wish *wish,
                             resplit_array *array, resplit_error *err)
{
    rs_text fill = {0}, attributes = {0}, names = {0};
    resplit_status rc = inherit_fill(source, array, wish->version, &fill, err);
    rc = rc == RESPLIT_OK ? describe_space(source, shape, array, &attributes, &names, err) : rc;
    if (rc == RESPLIT_OK) {
        wish->fill = fill.s;
        wish->attributes = attributes.s;
        wish->names = names.s;
        wish->separator = array->ome ? '/' : '\0';
        rc = rs_zarr_derive(model_of(source), &array->dtype, source->layout.ndim, wish, array->zarr, err);
    }
    rs_text_release(&fill);
    rs_text_release(&attributes);
    rs_text_release(&names);
    return rc;
}

resplit_status rs_zarr_array_fill(const resplit_array *source, const resplit_target *target, const int64_t *shape,
                                  resplit_array *array, resplit_error *err)
{
    int64_t chunk[RS_MAX_NDIM] = {0}, shard[RS_MAX_NDIM];
    rs_chain chain = {0};
    bool sharded, coded;
    rs_zarr_wish wish = {.version = array->format == &rs_format_zarr2 ? 2 : 3, .shape = shape, .chunk = chunk};
    RS_TRY(choose_chunks(source, target, shape, chunk, err));
    RS_TRY(choose_shards(source, target, &wish, shard, &sharded, err));
    RS_TRY(choose_codecs(source, target, array, &chain, &coded, err));
    wish.shard = sharded ? shard : NULL;
    wish.chain = coded ? &chain : NULL;
    wish.has_order = target->order != '\0' || model_of(source) == NULL;
    if (wish.has_order) {
        rs_order_set(source->layout.ndim, array->order == '\0' ? 'C' : array->order, wish.order);
    }
    wish.dtype = array->cast.kind != RS_CAST_NONE ? array->dtype.descr : NULL;
    array->write_empty = target->write_empty;
    array->zarr = calloc(1, sizeof *array->zarr);
    if (array->zarr == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for an array");
    }
    RS_TRY(derive(source, shape, &wish, array, err));
    rs_dtype_release(&array->dtype);
    RS_TRY(rs_zarr_array_layout(array, err));
    return set_target_coding(source, array, err);
}

/* ---- The group around an image ------------------------------------------------------------------- */

/* Files of the level of an image, which are below its group's. */
typedef struct below {
    rs_add_file *add;
    void *payload;
} below;

static resplit_status add_below(const char *name, const rs_text *text, void *payload, resplit_error *err)
{
    const below *b = payload;
    char path[RS_NAME_MAX];
    (void)snprintf(path, sizeof path, "%s/%.200s", RS_OME_LEVEL, name);
    return b->add(path, text, b->payload, err);
}

resplit_status rs_zarr_image_metadata(const resplit_array *array, rs_add_file *add, void *payload, resplit_error *err)
{
    int64_t shape[RS_MAX_NDIM];
    rs_space *region = NULL;
    below b = {add, payload};
    memcpy(shape, array->info.shape, sizeof shape);
    RS_TRY(rs_space_region(array->space, array->origin, shape, &region, err));
    resplit_status rc =
        rs_zarr_ome_print(region, array->zarr->version, array->path != NULL ? array->path : "image", add, payload, err);
    rs_space_free(region);
    return rc == RESPLIT_OK ? rs_zarr_print(array->zarr, add_below, &b, err) : rc;
}
