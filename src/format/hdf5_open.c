/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hdf5_open.c - a dataset that is there, as an array. Its chunks are the blocks; one that has none is one block.
 *
 *     contiguous        elements as they are, from some byte on
 *     chunked           as they are, each from a byte of its own; or, with filters, encoded
 *     compact           inside of the metadata: kept in memory, since it is never more than 64 KiB
 *
 * What is not allocated is full of the fill value.
 */
#include "format/hdf5.h"

#include "format/drivers.h"
#include "format/hdf5_array.h"
#include "format/minc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- What the dataset is --------------------------------------------------------------------- */

/* Open, as long as it is looked at. */
typedef struct opening {
    const char *path;
    hid_t file, dataset, space, type, creation;
    int64_t size;
    resplit_array *array;
    rs_hdf5 *hdf5;
    bool elsewhere; /* not in this file */
    hsize_t chunk[RS_MAX_NDIM];
    int64_t chunk_bytes;
} opening;

static void end_opening(opening *o)
{
    rs_hdf5_close(o->creation);
    rs_hdf5_close(o->type);
    rs_hdf5_close(o->space);
    rs_hdf5_close(o->dataset);
    rs_hdf5_close(o->file);
}

static resplit_status open_parts(opening *o, resplit_error *err)
{
    o->dataset = H5Dopen2(o->file, o->hdf5->dataset, H5P_DEFAULT);
    if (o->dataset >= 0) {
        o->space = H5Dget_space(o->dataset);
        o->type = H5Dget_type(o->dataset);
        o->creation = H5Dget_create_plist(o->dataset);
    }
    return o->space >= 0 && o->type >= 0 && o->creation >= 0
               ? RESPLIT_OK
               : rs_hdf5_fail(err, RESPLIT_EFORMAT, "cannot open dataset '%s' of '%s'", o->hdf5->dataset, o->path);
}

static resplit_status read_shape(opening *o, int64_t *shape, resplit_error *err)
{
    hsize_t dims[H5S_MAX_RANK], most[H5S_MAX_RANK];
    int ndim = H5Sget_simple_extent_ndims(o->space);
    if (H5Sget_simple_extent_type(o->space) == H5S_NULL) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "dataset '%s' of '%s' has no elements and no shape", o->hdf5->dataset,
                       o->path);
    }
    if (ndim < 0 || H5Sget_simple_extent_dims(o->space, dims, most) < 0) {
        return rs_hdf5_fail(err, RESPLIT_EFORMAT, "cannot read the shape of '%s'", o->path);
    }
    if (ndim > RS_MAX_NDIM) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "'%s' has %d axes; at most %d are handled", o->path, ndim,
                       RS_MAX_NDIM);
    }
    for (int d = 0; d < ndim; d++) {
        if (dims[d] > INT64_MAX / 2 || dims[d] > most[d]) { /* no limit is the largest number */
            return rs_fail(err, RESPLIT_EFORMAT, "axis %d of '%s' is too long: %llu", d, o->path,
                           (unsigned long long)dims[d]);
        }
        shape[d] = (int64_t)dims[d];
        o->hdf5->maximum[d] = most[d] == H5S_UNLIMITED || most[d] > INT64_MAX ? -1 : (int64_t)most[d];
    }
    o->array->layout.ndim = ndim;
    return RESPLIT_OK;
}

static resplit_status read_fill(opening *o, resplit_error *err)
{
    H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
    o->array->fill = calloc(1, (size_t)o->array->dtype.itemsize);
    if (o->array->fill == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for a fill value");
    }
    bool failed =
        H5Pfill_value_defined(o->creation, &defined) < 0
        || (defined == H5D_FILL_VALUE_USER_DEFINED && H5Pget_fill_value(o->creation, o->type, o->array->fill) < 0);
    return failed ? rs_hdf5_fail(err, RESPLIT_EFORMAT, "cannot read the fill value of '%s'", o->path) : RESPLIT_OK;
}

static resplit_status read_grid(opening *o, const int64_t *shape, resplit_error *err)
{
    rs_layout *layout = &o->array->layout;
    int64_t parts[RS_MAX_NDIM] = {0};
    o->chunk_bytes = o->array->dtype.itemsize;
    rs_hdf5_choose_blocks(layout->ndim, shape, o->chunk_bytes, parts);
    if (o->hdf5->chunked && H5Pget_chunk(o->creation, RS_MAX_NDIM, o->chunk) != layout->ndim) {
        return rs_hdf5_fail(err, RESPLIT_EFORMAT, "cannot read the chunks of '%s'", o->path);
    }
    for (int d = 0; d < layout->ndim; d++) {
        int64_t length = o->hdf5->chunked ? (int64_t)o->chunk[d] : o->elsewhere ? parts[d] : rs_max(1, shape[d]);
        layout->axis[d] = rs_axis_even(shape[d], rs_max(1, length));
        rs_axis *axis = &layout->axis[d];
        bool fits = length >= 1 && rs_mul(o->chunk_bytes, length, &o->chunk_bytes)
                    && (shape[d] == 0 || rs_mul(axis->n, length, &axis->last));
        if (!o->hdf5->chunked) {
            axis->last = shape[d]; /* a part at the border is shorter */
        } else if (!fits) {
            return rs_fail(err, RESPLIT_EFORMAT, "'%s' has chunks of %lld along axis %d, which cannot be", o->path,
                           (long long)length, d);
        }
        o->array->shard[d] = axis->n; /* all are in one file */
    }
    return RESPLIT_OK;
}

/* ---- Where it is ------------------------------------------------------------------------------ */

static resplit_status allocate(void **out, int64_t n, size_t size, resplit_error *err)
{
    rs_apart_go_on(0, n * (int64_t)size); /* at most RS_HDF5_MAX_CHUNKS of them */
    *out = calloc((size_t)rs_max(1, n), size);
    return *out != NULL ? RESPLIT_OK
                        : rs_fail(err, RESPLIT_ENOMEM, "no memory for the places of %lld chunks", (long long)n);
}

static resplit_status note_plain(void *payload, int64_t number, const rs_hdf5_chunk *chunk, resplit_error *err)
{
    opening *o = payload;
    if (chunk->bytes != o->chunk_bytes) {
        return rs_fail(err, RESPLIT_EFORMAT, "'%s' has a chunk of %lld bytes, where all have %lld", o->path,
                       (long long)chunk->bytes, (long long)o->chunk_bytes);
    }
    o->array->offsets[number] = chunk->offset;
    o->array->info.n_stored++;
    o->array->info.stored_bytes += chunk->bytes;
    return RESPLIT_OK;
}

static resplit_status note_encoded(void *payload, int64_t number, const rs_hdf5_chunk *chunk, resplit_error *err)
{
    opening *o = payload;
    (void)err;
    o->hdf5->chunk[number] = *chunk;
    o->hdf5->skips = o->hdf5->skips || chunk->skip != 0;
    o->array->most_stored = rs_max(o->array->most_stored, chunk->bytes);
    o->array->info.n_stored++;
    o->array->info.stored_bytes += chunk->bytes;
    return RESPLIT_OK;
}

/* Chunks that reach out of the array may have been left alone by all filters, without a word of it in their mask. */
static void mark_partial(opening *o)
{
    unsigned options = 0;
    const rs_layout *layout = &o->array->layout;
    int64_t lo[RS_MAX_NDIM] = {0}, hi[RS_MAX_NDIM], index[RS_MAX_NDIM] = {0}, number = 0;
    if (H5Pget_chunk_opts(o->creation, &options) < 0 || (options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) == 0) {
        return;
    }
    for (int d = 0; d < layout->ndim; d++) {
        hi[d] = layout->axis[d].n;
    }
    do {
        bool partial = false;
        for (int d = 0; d < layout->ndim; d++) {
            partial = partial || rs_axis_cut(&layout->axis[d], index[d] + 1) > layout->axis[d].extent;
        }
        if (partial && o->hdf5->chunk[number].bytes > 0) {
            o->hdf5->chunk[number].skip = UINT32_MAX;
            o->hdf5->skips = true;
        }
        number++;
    } while (rs_index_next(layout->ndim, lo, hi, index));
}

static resplit_status find_chunks(opening *o, resplit_error *err)
{
    resplit_array *array = o->array;
    int64_t n = array->info.n_blocks;
    if (n > RS_HDF5_MAX_CHUNKS) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "'%s' has a grid of %lld chunks; at most %d are handled", o->path,
                       (long long)n, RS_HDF5_MAX_CHUNKS);
    }
    if (!array->encoded) {
        RS_TRY(allocate((void **)&array->offsets, n, sizeof *array->offsets, err));
        for (int64_t i = 0; i < n; i++) {
            array->offsets[i] = -1;
        }
        return array->info.n_elements == 0
                   ? RESPLIT_OK
                   : rs_hdf5_chunks(o->file, o->dataset, &array->layout, o->size, o->path, note_plain, o, err);
    }
    RS_TRY(allocate((void **)&o->hdf5->chunk, n, sizeof *o->hdf5->chunk, err));
    if (array->info.n_elements > 0) {
        RS_TRY(rs_hdf5_chunks(o->file, o->dataset, &array->layout, o->size, o->path, note_encoded, o, err));
        mark_partial(o);
    }
    double bytes = (double)array->info.n_stored * (double)o->chunk_bytes;
    return rs_array_set_coding(array, false, array->most_stored,
                               bytes > 0 ? (double)array->info.stored_bytes / bytes : 1, err);
}

static resplit_status find_contiguous(opening *o, resplit_error *err)
{
    haddr_t at = H5Dget_offset(o->dataset);
    int64_t bytes = o->array->info.bytes;
    /* behind a user block, 1.10 adds the length of that to the address that is none */
    H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
    bool there = H5Dget_space_status(o->dataset, &status) >= 0 && status != H5D_SPACE_STATUS_NOT_ALLOCATED;
    if (at == HADDR_UNDEF || bytes == 0 || !there) {
        (void)H5Eclear2(H5E_DEFAULT);
        RS_TRY(allocate((void **)&o->array->offsets, 1, sizeof *o->array->offsets, err));
        o->array->offsets[0] = -1;
        return RESPLIT_OK;
    }
    if (at > (haddr_t)o->size || bytes > o->size - (int64_t)at) {
        return rs_fail(err, RESPLIT_EFORMAT,
                       "'%s' has %lld bytes, too few for %lld bytes of dataset '%s' from byte %llu on", o->path,
                       (long long)o->size, (long long)bytes, o->hdf5->dataset, (unsigned long long)at);
    }
    o->array->data_offset = (int64_t)at;
    o->array->info.n_stored = 1;
    o->array->info.stored_bytes = bytes;
    return RESPLIT_OK;
}

static resplit_status read_inside(opening *o, resplit_error *err)
{
    enum { MOST = 1 << 16 };
    int64_t bytes = o->array->info.bytes;
    if (bytes > MOST) {
        return rs_fail(err, RESPLIT_EFORMAT, "'%s' says that %lld bytes are among its metadata; at most %d can be",
                       o->path, (long long)bytes, MOST);
    }
    if ((int64_t)H5Dget_storage_size(o->dataset) != bytes) { /* libhdf5 1.10 would believe the shape, and crash */
        return rs_hdf5_fail(err, RESPLIT_EFORMAT,
                            "'%s' is damaged: it has not the %lld bytes of dataset '%s' among its metadata", o->path,
                            (long long)bytes, o->hdf5->dataset);
    }
    o->hdf5->inside = calloc(1, (size_t)rs_max(1, bytes));
    if (o->hdf5->inside == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for %lld bytes", (long long)bytes);
    }
    if (bytes > 0 && H5Dread(o->dataset, o->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, o->hdf5->inside) < 0) {
        return rs_hdf5_fail(err, RESPLIT_EFORMAT, "cannot read dataset '%s' of '%s'", o->hdf5->dataset, o->path);
    }
    o->array->encoded = true;
    o->array->most_stored = o->array->info.stored_bytes = bytes;
    o->array->info.n_stored = 1;
    return rs_array_set_coding(o->array, false, bytes, 1, err);
}

/* ---- All of it -------------------------------------------------------------------------------- */

static resplit_status read_layout(opening *o, H5D_layout_t *layout, resplit_error *err)
{
    *layout = H5Pget_layout(o->creation);
    o->hdf5->chunked = *layout == H5D_CHUNKED;
    o->hdf5->is_virtual = *layout == H5D_VIRTUAL;
    o->elsewhere = o->hdf5->is_virtual || (*layout == H5D_CONTIGUOUS && H5Pget_external_count(o->creation) > 0);
    return *layout >= 0 && *layout < H5D_NLAYOUTS
               ? RESPLIT_OK
               : rs_hdf5_fail(err, RESPLIT_EFORMAT, "cannot read how dataset '%s' of '%s' is stored", o->hdf5->dataset,
                              o->path);
}

static resplit_status read_dataset(opening *o, const resplit_spec *spec, resplit_error *err)
{
    resplit_array *array = o->array;
    int64_t shape[RS_MAX_NDIM] = {0};
    H5D_layout_t layout;
    RS_TRY(open_parts(o, err));
    RS_TRY(read_shape(o, shape, err));
    RS_TRY(rs_hdf5_read_type(o->type, o->path, &array->dtype, &o->hdf5->foreign, err));
    RS_TRY(rs_hdf5_encode_type(o->type, &o->hdf5->type, err));
    RS_TRY(read_fill(o, err));
    RS_TRY(read_layout(o, &layout, err));
    RS_TRY(read_grid(o, shape, err));
    array->order = 'C';
    RS_TRY(rs_array_finish(array, err));
    RS_TRY(rs_array_agree(array, spec, err));
    if (o->elsewhere) {
        return rs_hdf5_read_through(array, o->file, o->creation, rs_min(o->chunk_bytes, array->info.bytes), err);
    }
    if (layout == H5D_CONTIGUOUS) {
        return find_contiguous(o, err);
    }
    if (layout == H5D_COMPACT) {
        return read_inside(o, err);
    }
    rs_element element = rs_dtype_element(&array->dtype);
    resplit_status rc = rs_hdf5_read_filters(o->creation, o->path, &element, &array->chain, err);
    if (rc == RESPLIT_EUNSUPPORTED && rs_hdf5_can_decode(o->creation)) {
        array->chain.n = 0;
        return rs_hdf5_read_through(array, o->file, o->creation, o->chunk_bytes, err);
    }
    RS_TRY(rc);
    array->encoded = array->chain.n > 0;
    array->info.codec = array->encoded ? rs_chain_text(&array->chain, array->codec) : NULL;
    return find_chunks(o, err);
}

resplit_status rs_hdf5_read_dataset(hid_t file, const char *path, int64_t size, const char *name, resplit_array *array,
                                    resplit_error *err)
{
    opening o = {.path = path, .file = file, .dataset = -1, .space = -1, .type = -1, .creation = -1, .array = array};
    o.size = size;
    array->format = &rs_format_hdf5;
    array->path = rs_strdup(path);
    o.hdf5 = array->hdf5 = calloc(1, sizeof *array->hdf5);
    if (array->path == NULL || array->hdf5 == NULL || (array->hdf5->dataset = rs_strdup(name)) == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for an array");
    }
    resplit_status rc = read_dataset(&o, NULL, err);
    o.file = -1;
    end_opening(&o);
    return rc;
}

/* By what is in the file, unless the user says otherwise, or names a dataset. */
static resplit_status is_minc(const opening *o, const char *dataset, const resplit_spec *spec, bool *out,
                              resplit_error *err)
{
    const char *format = spec != NULL ? spec->format : NULL;
    bool there = rs_minc_is(o->file), asked = format != NULL && strcmp(format, rs_format_minc2.name) == 0;
    *out = asked || (there && dataset == NULL && format == NULL);
    return there || !asked ? RESPLIT_OK
                           : rs_fail(err, RESPLIT_EFORMAT, "'%s' is HDF5, but not MINC: it has no dataset '%s'",
                                     o->path, RS_MINC_IMAGE);
}

static resplit_status read_minc(const opening *o, resplit_error *err)
{
    resplit_array *array = o->array;
    array->format = &rs_format_minc2;
    RS_TRY(rs_minc_read(o->file, o->path, &array->minc, err));
    RS_TRY(rs_minc_take(o->file, o->path, array->minc, err));
    return array->minc->notes.n > 0 ? rs_text_add(&array->notes, err, "%s", array->minc->notes.s) : RESPLIT_OK;
}

resplit_status rs_hdf5_open_here(const char *path, const char *dataset, const resplit_spec *spec, resplit_array *array,
                                 resplit_error *err)
{
    struct stat st;
    opening o = {.path = path, .file = -1, .dataset = -1, .space = -1, .type = -1, .creation = -1, .array = array};
    array->format = &rs_format_hdf5;
    array->path = rs_strdup(path);
    o.hdf5 = array->hdf5 = calloc(1, sizeof *array->hdf5);
    if (array->path == NULL || array->hdf5 == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for an array");
    }
    if (stat(path, &st) != 0) {
        return rs_fail_errno(err, errno, "cannot open '%s'", path);
    }
    o.size = (int64_t)st.st_size;
    array->stamp = rs_mix(rs_mix(rs_mix(0, st.st_size), st.st_mtim.tv_sec), st.st_mtim.tv_nsec);
    resplit_status rc = rs_hdf5_open_file(path, &o.file, err);
    bool minc = false;
    if (rc == RESPLIT_OK) {
        rc = is_minc(&o, dataset, spec, &minc, err);
    }
    if (rc == RESPLIT_OK) {
        rc = rs_hdf5_find(o.file, path, minc ? RS_MINC_IMAGE : dataset, &array->hdf5->dataset, err);
    }
    if (rc == RESPLIT_OK && minc) {
        rc = read_minc(&o, err);
    }
    if (rc == RESPLIT_OK) {
        rc = read_dataset(&o, spec, err);
    }
    end_opening(&o);
    array->info.dataset = array->hdf5->dataset;
    return rc;
}
