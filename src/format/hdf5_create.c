/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hdf5_create.c - a dataset that is to be made. Blocks that are not encoded lie one behind the other in a place that is known
 * beforehand; encoded ones are appended as they become ready, like those of a shard. Touches no file.
 */
#include "format/hdf5.h"

#include "format/drivers.h"
#include "format/hdf5_array.h"
#include "format/minc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t MOST_CHUNK = INT64_C(0xffffffff); /* bytes, and elements */

/* ---- Names ------------------------------------------------------------------------------------ */

static resplit_status set_names(const resplit_array *source, const char *dataset, rs_hdf5 *hdf5, resplit_error *err)
{
    bool one = source->hdf5 != NULL && source->files == NULL; /* a dataset, not a grid of files */
    const char *name = dataset != NULL ? dataset : one ? source->hdf5->dataset : RS_HDF5_USUAL_NAME;
    while (*name == '/') {
        name++;
    }
    size_t n = strlen(name);
    if (n == 0 || name[n - 1] == '/') {
        return rs_fail(err, RESPLIT_EINVAL, "'%s' is no name of a dataset: give one, as out.h5:/data", dataset);
    }
    hdf5->dataset = malloc(n + 2);
    if (hdf5->dataset == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for a name");
    }
    (void)snprintf(hdf5->dataset, n + 2, "/%s", name);
    if (one && source->path != NULL) {
        hdf5->origin_file = rs_strdup(source->path);
        hdf5->origin = rs_strdup(source->hdf5->dataset);
        if (hdf5->origin_file == NULL || hdf5->origin == NULL) {
            return rs_fail(err, RESPLIT_ENOMEM, "no memory for a name");
        }
    }
    return RESPLIT_OK;
}

/* ---- Type and codecs --------------------------------------------------------------------------- */

/* Where the source has none that can be kept, rs_hdf5_try makes one. */
static resplit_status keep_type(const resplit_array *source, resplit_array *array, resplit_error *err)
{
    rs_hdf5 *hdf5 = array->hdf5;
    bool image = array->minc != NULL && (source->hdf5 == NULL || source->minc == NULL);
    const rs_text *type = image                                                      ? &array->minc->type
                          : source->hdf5 != NULL && array->cast.kind == RS_CAST_NONE ? &source->hdf5->type
                                                                                     : NULL;
    hdf5->foreign = source->hdf5 != NULL && type != NULL && !image && source->hdf5->foreign;
    return type != NULL ? rs_text_add_bytes(&hdf5->type, type->s, type->n, err) : RESPLIT_OK;
}

/* Of the same bits, or of the value that the source's becomes. */
static resplit_status set_fill(const resplit_array *source, resplit_array *array, resplit_error *err)
{
    size_t n = (size_t)array->dtype.itemsize;
    resplit_losses ignored = {0};
    array->hdf5->fill = calloc(1, n);
    if (array->hdf5->fill == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for a fill value");
    }
    if (array->cast.kind != RS_CAST_NONE) {
        rs_cast_run(&array->cast, array->pad, array->hdf5->fill, 1, &ignored);
    } else if (source->fill != NULL) {
        memcpy(array->hdf5->fill, source->fill, n);
    }
    return RESPLIT_OK;
}

/* What others call gzip is a zlib stream in HDF5, and its lz4 has another head: the same compression in another envelope. */
static const struct {
    const char *word, *own;
    bool keep; /* the settings */
} same[] = {{"gzip", "zlib", true}, {"deflate", "zlib", true}, {"lz4", "lz4-hdf5", false}};

static resplit_status add_words(const char *codec, rs_text *out, resplit_error *err)
{
    for (const char *at = codec; *at != '\0';) {
        size_t word = strcspn(at, ":+"), all = strcspn(at, "+");
        const char *own = NULL;
        bool keep = true;
        for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
            if (strlen(same[i].word) == word && memcmp(same[i].word, at, word) == 0) {
                own = same[i].own;
                keep = same[i].keep;
            }
        }
        RS_TRY(own != NULL ? rs_text_add(out, err, "%s%.*s", own, keep ? (int)(all - word) : 0, at + word)
                           : rs_text_add(out, err, "%.*s", (int)all, at));
        at += all;
        if (*at == '+') {
            RS_TRY(rs_text_add(out, err, "+"));
            at++;
        }
    }
    return RESPLIT_OK;
}

/* What every libhdf5 can undo: programs that read MINC load no plugins, and see zeros in the place of other chunks. */
static bool is_common(const char *codec)
{
    static const char *const common[] = {"none", "zlib", "gzip", "deflate", "shuffle", "fletcher32"};
    while (*codec != '\0') {
        size_t word = strcspn(codec, ":+");
        bool found = false;
        for (size_t i = 0; i < sizeof common / sizeof common[0]; i++) {
            found = found || (strlen(common[i]) == word && memcmp(common[i], codec, word) == 0);
        }
        if (!found) {
            return false;
        }
        codec += strcspn(codec, "+");
        codec += *codec == '+';
    }
    return true;
}

/* An image of another format is compressed as that was, where readers of MINC can undo it. */
static resplit_status choose_codec(const resplit_array *source, resplit_array *array, const char **codec,
                                   resplit_error *err)
{
    static const char usual[] = "zlib:4";
    char kept[200];
    if (*codec != NULL || array->minc == NULL || source->minc != NULL
        || is_common(rs_chain_text(&source->chain, kept))) {
        return RESPLIT_OK;
    }
    *codec = usual;
    return rs_text_add_line(&array->notes, err, "programs for MINC do not read %s: chunks are compressed by %s", kept,
                            usual);
}

static resplit_status set_chain(const resplit_array *source, const char *codec, resplit_array *array,
                                resplit_error *err)
{
    rs_element element = rs_dtype_element(&array->dtype);
    char kept[200];
    rs_text words = {0};
    RS_TRY(choose_codec(source, array, &codec, err));
    if (codec == NULL && source->hdf5 != NULL && array->cast.kind != RS_CAST_VALUES) {
        array->chain = source->chain; /* also what no words tell */
        return RESPLIT_OK;
    }
    const char *text = codec != NULL ? codec : rs_chain_text(&source->chain, kept);
    resplit_status rc = add_words(text, &words, err);
    if (rc == RESPLIT_OK) {
        rc = rs_chain_parse(words.s != NULL ? words.s : "none", &element, &array->chain, err);
    }
    rs_text_release(&words);
    return rc;
}

/* ---- Grid -------------------------------------------------------------------------------------- */

static bool keeps_chunks(const resplit_array *source)
{
    return source->zarr != NULL || (source->hdf5 != NULL && source->hdf5->chunked);
}

/* Lengths of chunks; *any: there are to be some. */
static resplit_status choose_chunks(const resplit_array *source, const resplit_target *target, const int64_t *shape,
                                    const rs_hdf5 *hdf5, int64_t *chunk, bool *any, resplit_error *err)
{
    *any = target->chunks != NULL || keeps_chunks(source);
    for (int d = 0; d < source->layout.ndim; d++) {
        const resplit_chunks *asked = target->chunks != NULL ? &target->chunks[d] : NULL;
        if (asked != NULL && asked->count > 0) {
            return rs_fail(err, RESPLIT_EUNSUPPORTED,
                           "axis %d is cut unevenly, but chunks of an HDF5 dataset are all alike", d);
        }
        chunk[d] = asked != NULL ? asked->length : *any ? rs_array_chunk(source, d) : shape[d];
        RS_TRY(rs_chunk_check(d, shape[d], &chunk[d], err));
        /* HDF5 wants no chunk to be longer than the axis can become */
        chunk[d] = rs_max(1, hdf5->maximum[d] >= 0 ? rs_min(chunk[d], hdf5->maximum[d]) : chunk[d]);
    }
    return RESPLIT_OK;
}

/* An axis can grow where that of the source can, as long as all of it is taken. */
static void set_maximum(const resplit_array *source, const int64_t *shape, rs_hdf5 *hdf5, bool grows)
{
    hdf5->all = source->hdf5 != NULL && source->files == NULL;
    for (int d = 0; d < source->layout.ndim; d++) {
        bool whole = shape[d] == source->layout.axis[d].extent;
        hdf5->all = hdf5->all && whole;
        hdf5->maximum[d] = source->hdf5 != NULL && whole && grows ? source->hdf5->maximum[d] : shape[d];
    }
}

static bool is_chunked(int ndim, const int64_t *shape, const int64_t *chunk, const rs_hdf5 *hdf5, bool any,
                       int n_stages)
{
    bool several = false, grows = false, possible = ndim > 0;
    for (int d = 0; d < ndim; d++) {
        several = several || chunk[d] < shape[d];
        grows = grows || hdf5->maximum[d] != shape[d];
        possible = possible && (shape[d] > 0 || hdf5->maximum[d] != 0);
    }
    return possible && any && (several || grows || n_stages > 0);
}

static resplit_status check_chunk(int ndim, const int64_t *chunk, int64_t itemsize, resplit_error *err)
{
    int64_t bytes = itemsize;
    char text[RS_SHAPE_TEXT];
    bool fits = true;
    for (int d = 0; d < ndim; d++) {
        fits = fits && rs_mul(bytes, chunk[d], &bytes);
    }
    return fits && bytes <= MOST_CHUNK
               ? RESPLIT_OK
               : rs_fail(
                   err, RESPLIT_EUNSUPPORTED,
                   "chunks of %s elements of %lld bytes are 4 GiB or more, which HDF5 does not hold: give smaller ones",
                   rs_shape_text(ndim, chunk, text), (long long)itemsize);
}

static resplit_status set_grid(const int64_t *shape, const int64_t *chunk, resplit_array *array, resplit_error *err)
{
    rs_layout *layout = &array->layout;
    for (int d = 0; d < layout->ndim; d++) {
        int64_t length = array->hdf5->chunked ? chunk[d] : rs_max(1, shape[d]);
        rs_axis *axis = &layout->axis[d];
        *axis = rs_axis_even(shape[d], length);
        if (array->hdf5->chunked && shape[d] > 0 && !rs_mul(axis->n, length, &axis->last)) {
            return rs_fail(err, RESPLIT_EINVAL, "%lld chunks of %lld along axis %d are too many", (long long)axis->n,
                           (long long)length, d);
        }
        array->shard[d] = axis->n; /* all in one file */
    }
    array->order = 'C';
    return rs_array_finish(array, err);
}

/* ---- All of it --------------------------------------------------------------------------------- */

static resplit_status check_wishes(const resplit_target *target, const char *path, resplit_error *err)
{
    if (target->order == 'F') {
        return rs_fail(err, RESPLIT_EINVAL, "HDF5 has elements in C order only, but F was asked for");
    }
    if (target->shards != NULL) {
        return rs_fail(err, RESPLIT_EINVAL, "only Zarr has shards: give a .zarr path, or no shards");
    }
    return target->pattern == NULL
               ? RESPLIT_OK
               : rs_fail(err, RESPLIT_EINVAL, "'%s' is one file and needs no pattern: give a folder name", path);
}

/* Where blocks are, when they are not encoded. */
static resplit_status set_places(resplit_array *array, resplit_error *err)
{
    rs_box box = rs_layout_stored(&array->layout, (const int64_t[RS_MAX_NDIM]){0});
    int64_t total;
    array->data_offset = RS_HDF5_BEGIN;
    array->stride = rs_box_volume(array->layout.ndim, &box) * array->dtype.itemsize;
    return rs_mul(array->stride, array->info.n_blocks, &total) && rs_add(total, RS_HDF5_BEGIN, &total)
               ? RESPLIT_OK
               : rs_fail(err, RESPLIT_EINVAL, "%lld chunks of %lld bytes are more than a file can hold",
                         (long long)array->info.n_blocks, (long long)array->stride);
}

static resplit_status set_coding(const resplit_array *source, resplit_array *array, resplit_error *err)
{
    rs_box box = rs_layout_stored(&array->layout, (const int64_t[RS_MAX_NDIM]){0});
    int64_t n = rs_box_volume(array->layout.ndim, &box) * array->dtype.itemsize;
    int64_t bound = rs_chain_bound(&array->chain, n);
    array->fill = malloc((size_t)array->dtype.itemsize);
    if (array->fill == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for a fill value");
    }
    memcpy(array->fill, array->hdf5->fill, (size_t)array->dtype.itemsize);
    double ratio = array->chain.n == 0 ? 1 : source->layout.coding.ratio > 0 ? source->layout.coding.ratio : 0.5;
    return rs_array_set_coding(array, true, bound, ratio, err);
}

/* Whether HDF5 has filters for all that: asked now, not when everything is written. */
/* It has one block, which nobody writes. */
static resplit_status fill_virtual(const resplit_array *source, const resplit_target *target, const int64_t *shape,
                                   resplit_array *array, resplit_error *err)
{
    RS_TRY(rs_hdf5_set_parts(source, target, array, err));
    RS_TRY(rs_text_add(&array->notes, err, "'%s' is virtual: its data stay in '%s'", array->path, source->path));
    array->layout.ndim = source->layout.ndim;
    for (int d = 0; d < source->layout.ndim; d++) {
        array->hdf5->maximum[d] = shape[d];
    }
    RS_TRY(set_grid(shape, shape, array, err));
    array->info.dataset = array->hdf5->dataset;
    return rs_hdf5_try(array, err);
}

resplit_status rs_hdf5_array_fill(const resplit_array *source, const resplit_target *target, const int64_t *shape,
                                  const char *dataset, resplit_array *array, resplit_error *err)
{
    int64_t chunk[RS_MAX_NDIM] = {0};
    bool any;
    RS_TRY(check_wishes(target, array->path, err));
    array->hdf5 = calloc(1, sizeof *array->hdf5);
    if (array->hdf5 == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for an array");
    }
    RS_TRY(set_names(source, array->minc != NULL ? RS_MINC_IMAGE : dataset, array->hdf5, err));
    RS_TRY(keep_type(source, array, err));
    RS_TRY(set_fill(source, array, err));
    if (target->is_virtual) {
        return fill_virtual(source, target, shape, array, err);
    }
    RS_TRY(set_chain(source, target->codec, array, err));
    set_maximum(source, shape, array->hdf5, array->minc == NULL || source->minc != NULL);
    if (source->minc != NULL && array->minc == NULL && !array->hdf5->all) {
        RS_TRY(rs_minc_note_loss(source, array, err));
    }
    RS_TRY(choose_chunks(source, target, shape, array->hdf5, chunk, &any, err));
    array->layout.ndim = source->layout.ndim;
    array->write_empty = target->write_empty;
    array->hdf5->chunked = is_chunked(array->layout.ndim, shape, chunk, array->hdf5, any, array->chain.n);
    if (!array->hdf5->chunked && array->chain.n > 0) {
        if (target->codec != NULL && !any) {
            return rs_fail(err, RESPLIT_EINVAL, "'%s' can be compressed only in chunks: give --chunks", array->path);
        }
        array->chain.n = 0; /* there is nothing to compress */
    }
    if (array->hdf5->chunked) {
        RS_TRY(check_chunk(array->layout.ndim, chunk, array->dtype.itemsize, err));
    }
    RS_TRY(set_grid(shape, chunk, array, err));
    array->whole = target->whole;
    array->encoded = array->chain.n > 0 || (array->whole && array->hdf5->chunked);
    array->info.codec = array->chain.n > 0 ? rs_chain_text(&array->chain, array->codec) : NULL;
    array->info.dataset = array->hdf5->dataset;
    RS_TRY(array->encoded ? set_coding(source, array, err) : set_places(array, err));
    return rs_hdf5_try(array, err);
}

resplit_status rs_hdf5_describe(const resplit_array *array, rs_text *out, resplit_error *err)
{
    char codec[200];
    RS_TRY(rs_text_add(out, err, "%s %s %d ", array->hdf5->dataset, rs_chain_text(&array->chain, codec),
                       array->hdf5->parts != NULL ? -1 : array->hdf5->chunked));
    return rs_text_add_bytes(out, array->hdf5->type.s, array->hdf5->type.n, err);
}
