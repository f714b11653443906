/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hdf5_create.c - a dataset that is to be made. Blocks that are not encoded lie one behind the other in a place that is
 * known beforehand; encoded ones are appended as they become ready, like those of a shard. Touches no file.
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

static resplit_status set_origin(const char *file, const char *dataset, rs_hdf5 *hdf5, resplit_error *err)
{
    hdf5->origin_file = rs_strdup(file);
    hdf5->origin = rs_strdup(dataset);
    return hdf5->origin_file != NULL && hdf5->origin != NULL ? RESPLIT_OK
                                                             : rs_fail(err, RESPLIT_ENOMEM, "no memory for a name");
}

static resplit_status set_names(const resplit_array *source, const char *dataset, rs_hdf5 *hdf5, resplit_error *err)
{
    const rs_hdf5 *from = source->path != NULL ? source->hdf5 : NULL;
    const char *file = from == NULL ? NULL : source->files != NULL ? from->origin_file : source->path;
    const char *origin = from == NULL ? NULL : source->files != NULL ? from->origin : from->dataset;
    const char *name = dataset != NULL                         ? dataset
                       : from != NULL && from->dataset != NULL ? from->dataset
                                                               : RS_HDF5_USUAL_NAME;
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
    return origin != NULL ? set_origin(file, origin, hdf5, err) : RESPLIT_OK;
}

/* ---- Type and fill value ----------------------------------------------------------------------- */

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

/*
 * Of those in the files of a grid: as asked for, where files and chunks both were; else a file is one chunk, if it is
 * to be compressed. Only the last along an axis may end inside of a chunk.
 */
static resplit_status choose_in_files(const resplit_target *target, const resplit_array *array, int64_t *chunk,
                                      bool *any, resplit_error *err)
{
    *any = target->shards != NULL || array->chain.n > 0;
    for (int d = 0; d < array->layout.ndim; d++) {
        const rs_axis *files = &array->layout.axis[d];
        int64_t length = rs_axis_longest(files);
        const resplit_chunks *asked = target->shards != NULL && target->chunks != NULL ? &target->chunks[d] : NULL;
        chunk[d] = asked != NULL ? asked->length : length;
        if (*any && (files->step == 0 || (asked != NULL && asked->count > 0))) {
            return rs_fail(
                err, RESPLIT_EUNSUPPORTED,
                "axis %d is cut unevenly, which files with chunks cannot be: give one length, or --codec none", d);
        }
        RS_TRY(rs_chunk_check(d, files->extent, &chunk[d], err));
        chunk[d] = rs_max(1, rs_min(chunk[d], length));
        if (files->n > 1 && length % chunk[d] != 0) {
            return rs_fail(err, RESPLIT_EINVAL, "files of %lld along axis %d are not whole chunks of %lld",
                           (long long)length, d, (long long)chunk[d]);
        }
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

static resplit_status set_chunks(const int64_t *shape, const int64_t *chunk, resplit_array *array, resplit_error *err)
{
    for (int d = 0; d < array->layout.ndim; d++) {
        rs_axis *axis = &array->layout.axis[d];
        *axis = rs_axis_even(shape[d], chunk[d]);
        if (shape[d] > 0 && !rs_mul(axis->n, chunk[d], &axis->last)) {
            return rs_fail(err, RESPLIT_EINVAL, "%lld chunks of %lld along axis %d are too many", (long long)axis->n,
                           (long long)chunk[d], d);
        }
        const rs_axis *files = array->files != NULL ? &array->files->layout.axis[d] : NULL;
        bool several = files != NULL && files->n > 1;
        array->shard[d] = several ? files->step / chunk[d] : axis->n;
        array->hdf5->file[d] = several ? files->step : shape[d];
    }
    return RESPLIT_OK;
}

/* Blocks are chunks, or files. */
static resplit_status set_grid(const int64_t *shape, const int64_t *chunk, resplit_array *array, resplit_error *err)
{
    bool grid = array->pattern != NULL;
    if (array->hdf5->chunked) {
        RS_TRY(grid ? rs_array_move_files(array, err) : RESPLIT_OK);
        RS_TRY(set_chunks(shape, chunk, array, err));
    }
    for (int d = 0; d < array->layout.ndim && !array->hdf5->chunked && !grid; d++) {
        array->layout.axis[d] = rs_axis_even(shape[d], rs_max(1, shape[d]));
        array->shard[d] = 1;
    }
    array->order = 'C';
    return rs_array_finish(array, err);
}

/* ---- All of it --------------------------------------------------------------------------------- */

static resplit_status check_wishes(const resplit_target *target, const resplit_array *array, resplit_error *err)
{
    if (target->order == 'F') {
        return rs_fail(err, RESPLIT_EINVAL, "HDF5 has elements in C order only, but F was asked for");
    }
    if (target->shards != NULL && array->pattern == NULL) {
        return rs_fail(err, RESPLIT_EINVAL,
                       "'%s' is one file: give a folder name for files of their own lengths, or no shards",
                       array->path);
    }
    return target->pattern == NULL || array->pattern != NULL
               ? RESPLIT_OK
               : rs_fail(err, RESPLIT_EINVAL, "'%s' is one file and needs no pattern: give a folder name", array->path);
}

/* Where blocks are, when they are not encoded. */
static resplit_status set_places(resplit_array *array, resplit_error *err)
{
    rs_box box = rs_layout_stored(&array->layout, (const int64_t[RS_MAX_NDIM]){0});
    int64_t bytes = rs_box_volume(array->layout.ndim, &box) * array->dtype.itemsize, total;
    array->data_offset = RS_HDF5_BEGIN;
    array->stride = array->hdf5->chunked ? bytes : 0;
    return rs_mul(bytes, array->info.n_blocks, &total) && rs_add(total, RS_HDF5_BEGIN, &total)
               ? RESPLIT_OK
               : rs_fail(err, RESPLIT_EINVAL, "%lld chunks of %lld bytes are more than a file can hold",
                         (long long)array->info.n_blocks, (long long)bytes);
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

/* Those of the dataset, or of the datasets in the files of a grid. */
static resplit_status fill_grid(const resplit_array *source, const resplit_target *target, const int64_t *shape,
                                resplit_array *array, resplit_error *err)
{
    int64_t chunk[RS_MAX_NDIM] = {0};
    bool any = false;
    rs_hdf5 *hdf5 = array->hdf5;
    array->layout.ndim = source->layout.ndim;
    RS_TRY(array->pattern != NULL ? choose_in_files(target, array, chunk, &any, err)
                                  : choose_chunks(source, target, shape, hdf5, chunk, &any, err));
    bool alone = array->pattern == NULL; /* a file that is one chunk has chunks */
    hdf5->chunked = is_chunked(array->layout.ndim, shape, chunk, hdf5, any, array->chain.n + !alone);
    if (!hdf5->chunked && array->chain.n > 0) {
        if (target->codec != NULL && !any) {
            return rs_fail(err, RESPLIT_EINVAL, "'%s' can be compressed only in chunks: give --chunks", array->path);
        }
        array->chain.n = 0; /* there is nothing to compress */
    }
    if (hdf5->chunked) {
        RS_TRY(check_chunk(array->layout.ndim, chunk, array->dtype.itemsize, err));
    }
    return set_grid(shape, chunk, array, err);
}

resplit_status rs_hdf5_array_fill(const resplit_array *source, const resplit_target *target, const int64_t *shape,
                                  const char *dataset, resplit_array *array, resplit_error *err)
{
    bool one = array->pattern == NULL, made = array->minc != NULL && source->minc == NULL;
    RS_TRY(check_wishes(target, array, err));
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
    RS_TRY(rs_hdf5_set_chain(source, one || target->codec != NULL ? target->codec : "none", array, err));
    set_maximum(source, shape, array->hdf5, one && !made);
    array->hdf5->all = array->hdf5->all && one;
    if (source->minc != NULL && array->minc == NULL && !array->hdf5->all) {
        RS_TRY(rs_minc_note_loss(source, array, err));
    }
    RS_TRY(fill_grid(source, target, shape, array, err));
    array->write_empty = target->write_empty;
    array->whole = target->whole;
    array->encoded = array->chain.n > 0 || (array->whole && array->hdf5->chunked);
    array->info.codec = array->chain.n > 0 ? rs_chain_text(&array->chain, array->codec) : NULL;
    array->info.shards = rs_hdf5_blocks(array) > 1 && array->files != NULL ? array->hdf5->file : NULL;
    array->info.dataset = one ? array->hdf5->dataset : NULL;
    RS_TRY(array->encoded ? set_coding(source, array, err) : set_places(array, err));
    return array->path != NULL ? rs_hdf5_try(array, err) : RESPLIT_OK; /* without one, it is only planned with */
}

resplit_status rs_hdf5_describe(const resplit_array *array, rs_text *out, resplit_error *err)
{
    char codec[200];
    RS_TRY(rs_text_add(out, err, "%s %s %d ", array->hdf5->dataset, rs_chain_text(&array->chain, codec),
                       array->hdf5->parts != NULL ? -1 : array->hdf5->chunked));
    for (int d = 0; d < array->layout.ndim; d++) {
        RS_TRY(rs_text_add(out, err, "%lld ", (long long)array->shard[d]));
    }
    return rs_text_add_bytes(out, array->hdf5->type.s, array->hdf5->type.n, err);
}
