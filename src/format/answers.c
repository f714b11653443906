/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * answers.c - the table of kinds of arrays: how blocks are named and found, and what is written around them.
 *
 *     files with a block each     their names by a pattern, a header in each
 *     NIfTI                       the same; the header of a block is made from that of the whole image
 *     Zarr                        files by key, each with a block, or a shard with an index; metadata beside them
 *     HDF5, MINC                  one file, or a grid of them; metadata around the blocks, when they are there
 */
#include "format/answers.h"

#include <stdio.h>

#include "format/hdf5_array.h"
#include "format/minc_array.h"
#include "format/nifti_array.h"
#include "format/shard.h"
#include "format/space.h"
#include "format/zarr_array.h"

/* ---- Files with a block each ------------------------------------------------------------------- */

static resplit_status name_by_pattern(const resplit_array *array, const int64_t *index, char name[RS_NAME_MAX],
                                      resplit_error *err)
{
    rs_pattern pattern;
    if (array->files != NULL) {
        int64_t file[RS_MAX_NDIM] = {0};
        rs_array_file_index(array, index, file);
        return rs_array_block_name(array->files, file, name, err);
    }
    if (array->pattern == NULL) {
        return RESPLIT_OK;
    }
    RS_TRY(rs_pattern_parse(array->pattern, array->layout.ndim, &pattern, err));
    rs_fields fields = rs_fields_of_block(&array->layout, index);
    return rs_pattern_render(&pattern, &fields, name, err);
}

static resplit_status whole_file(const resplit_array *array, const int64_t *index, int fd, int64_t size,
                                 const char *path, rs_place *out, resplit_error *err)
{
    (void)array;
    (void)index;
    (void)fd;
    (void)path;
    (void)err;
    *out = (rs_place){.bytes = size};
    return RESPLIT_OK;
}

static resplit_status head_of_file(const resplit_array *array, const int64_t *index, rs_text *out, resplit_error *err)
{
    /* borrows the type: not released */
    rs_head head = {.dtype = array->dtype, .ndim = array->layout.ndim, .order = array->order};
    if (array->format->make_head == NULL) {
        return RESPLIT_OK;
    }
    rs_box box = rs_layout_stored(&array->layout, index);
    for (int d = 0; d < head.ndim; d++) {
        head.shape[d] = box.hi[d] - box.lo[d];
    }
    head.data_offset = rs_array_block_offset(array, index);
    return array->format->make_head(&head, out, err);
}

static resplit_status no_head(const resplit_array *array, const int64_t *index, rs_text *out, resplit_error *err)
{
    (void)array;
    (void)index;
    (void)out;
    (void)err;
    return RESPLIT_OK;
}

static resplit_status no_metadata(const resplit_array *array, rs_add_file *add, void *payload, resplit_error *err)
{
    (void)array;
    (void)add;
    (void)payload;
    (void)err;
    return RESPLIT_OK;
}

static resplit_status no_attributes(const resplit_array *array, rs_text *out, resplit_error *err)
{
    (void)array;
    return rs_text_add(out, err, "{}");
}

static resplit_status no_words(const resplit_array *array, rs_text *out, resplit_error *err)
{
    (void)array;
    (void)out;
    (void)err;
    return RESPLIT_OK;
}

static bool never(const resplit_array *array)
{
    (void)array;
    return false;
}

static bool encoded(const resplit_array *array)
{
    return array->encoded;
}

static const rs_answers of_files = {
    .name = name_by_pattern,
    .locate = whole_file,
    .head = head_of_file,
    .metadata = no_metadata,
    .attributes = no_attributes,
    .words = no_words,
    .is_uniform = encoded,
    .is_sharded = never,
};

/* ---- NIfTI ------------------------------------------------------------------------------------- */

static resplit_status nifti_head(const resplit_array *array, const int64_t *index, rs_text *out, resplit_error *err)
{
    return array->nifti->pair ? RESPLIT_OK : rs_nifti_block_head(array, index, out, err);
}

static resplit_status nifti_metadata(const resplit_array *array, rs_add_file *add, void *payload, resplit_error *err)
{
    return array->nifti->pair ? rs_nifti_add_heads(array, add, payload, err) : RESPLIT_OK;
}

static resplit_status nifti_words(const resplit_array *array, rs_text *out, resplit_error *err)
{
    bool known = array->path != NULL && array->nifti->head.n > 0;
    return known ? rs_nifti_describe(array->nifti, out, err) : RESPLIT_OK;
}

static const rs_answers of_nifti = {
    .name = name_by_pattern,
    .locate = whole_file,
    .head = nifti_head,
    .metadata = nifti_metadata,
    .attributes = no_attributes,
    .words = nifti_words,
    .is_uniform = never,
    .is_sharded = never,
};

/* ---- Zarr -------------------------------------------------------------------------------------- */

static resplit_status zarr_name(const resplit_array *array, const int64_t *index, char name[RS_NAME_MAX],
                                resplit_error *err)
{
    int64_t file[RS_MAX_NDIM];
    rs_array_file_index(array, index, file);
    size_t n = array->ome ? (size_t)snprintf(name, RS_NAME_MAX, "%s/", RS_OME_LEVEL) : 0;
    return rs_zarr_key(array->zarr, file, name + n, RS_NAME_MAX - n, err);
}

static resplit_status zarr_metadata(const resplit_array *array, rs_add_file *add, void *payload, resplit_error *err)
{
    return array->ome ? rs_zarr_image_metadata(array, add, payload, err)
                      : rs_zarr_print(array->zarr, add, payload, err);
}

static resplit_status zarr_attributes(const resplit_array *array, rs_text *out, resplit_error *err)
{
    const rs_text *kept = &array->zarr->attributes;
    return rs_text_add(out, err, "%s", kept->n > 0 ? kept->s : "{}");
}

static resplit_status zarr_words(const resplit_array *array, rs_text *out, resplit_error *err)
{
    return array->space != NULL ? rs_space_describe(array->space, out, err) : RESPLIT_OK;
}

static bool zarr_is_sharded(const resplit_array *array)
{
    return array->zarr->n_levels > 0;
}

static const rs_answers of_zarr = {
    .name = zarr_name,
    .locate = rs_shard_locate,
    .head = no_head,
    .metadata = zarr_metadata,
    .attributes = zarr_attributes,
    .words = zarr_words,
    .is_uniform = encoded,
    .is_sharded = zarr_is_sharded,
    .shard_blocks = rs_shard_blocks,
    .shard_position = rs_shard_position,
    .shard_begin = rs_shard_begin,
};

/* ---- HDF5, MINC: files are shards, whose index is metadata of HDF5 --------------------------------- */

static resplit_status hdf5_attributes(const resplit_array *array, rs_text *out, resplit_error *err)
{
    return array->path != NULL ? rs_hdf5_attributes(array, out, err) : no_attributes(array, out, err);
}

static resplit_status minc_words(const resplit_array *array, rs_text *out, resplit_error *err)
{
    return array->minc != NULL && array->path != NULL ? rs_minc_describe(array->minc, out, err) : RESPLIT_OK;
}

static bool hdf5_is_uniform(const resplit_array *array)
{
    return array->encoded && rs_hdf5_is_uniform(array);
}

static bool hdf5_is_sharded(const resplit_array *array)
{
    return array->encoded && array->stride == 0;
}

static int64_t hdf5_begin(const resplit_array *array)
{
    (void)array;
    return RS_HDF5_BEGIN;
}

static const rs_answers of_hdf5 = {
    .name = name_by_pattern,
    .locate = rs_hdf5_locate,
    .head = no_head,
    .metadata = no_metadata,
    .attributes = hdf5_attributes,
    .words = minc_words,
    .is_uniform = hdf5_is_uniform,
    .is_sharded = hdf5_is_sharded,
    .shard_blocks = rs_hdf5_blocks,
    .shard_position = rs_hdf5_position,
    .shard_begin = hdf5_begin,
};

/* MINC images are datasets of HDF5, too. */
const rs_answers *rs_answers_of(const resplit_array *array)
{
    return array->hdf5 != NULL    ? &of_hdf5
           : array->zarr != NULL  ? &of_zarr
           : array->nifti != NULL ? &of_nifti
                                  : &of_files;
}
