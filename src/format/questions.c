/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * questions.c - what an array is asked: where its blocks are, and what is around them. What is the same for all kinds
 * of arrays is here, what differs is in the table of answers.c. A view with its axes turned passes a question on to the
 * array itself.
 */
#include "format/answers.h"
#include "format/array.h"

#include <string.h>

#include "format/hdf5_array.h"
#include "format/nifti_array.h"
#include "format/zarr.h"

/* ---- Files ------------------------------------------------------------------------------------- */

void rs_array_file_index(const resplit_array *array, const int64_t *index, int64_t *file)
{
    for (int d = 0; d < array->layout.ndim; d++) {
        const rs_axis *axis = &array->layout.axis[d];
        file[d] = array->files != NULL ? rs_axis_find(&array->files->layout.axis[d], rs_axis_cut(axis, index[d]))
                                       : index[d] / rs_max(1, array->shard[d]);
    }
}

int64_t rs_array_files_along(const resplit_array *array, int d)
{
    return array->files != NULL ? array->files->layout.axis[d].n
                                : rs_ceil_div(array->layout.axis[d].n, rs_max(1, array->shard[d]));
}

int64_t rs_array_file_number(const resplit_array *array, const int64_t *index)
{
    int64_t number = 0, file[RS_MAX_NDIM], own[RS_MAX_NDIM];
    if (array->of != NULL) {
        return rs_array_file_number(array->of, rs_array_own_index(array, index, own));
    }
    rs_array_file_index(array, index, file);
    for (int d = 0; d < array->layout.ndim; d++) {
        number = number * rs_array_files_along(array, d) + file[d];
    }
    return number;
}

void rs_array_file_range(const resplit_array *array, const int64_t *index, int64_t *lo, int64_t *hi)
{
    int64_t file[RS_MAX_NDIM] = {0};
    if (array->files != NULL) {
        rs_array_file_index(array, index, file);
        rs_box box = rs_layout_box(&array->files->layout, file);
        rs_layout_range(&array->layout, &box, lo, hi);
        return;
    }
    for (int d = 0; d < array->layout.ndim; d++) { /* a file for each, or one for all */
        lo[d] = array->pattern != NULL ? index[d] : 0;
        hi[d] = array->pattern != NULL ? index[d] + 1 : array->layout.axis[d].n;
    }
}

int64_t rs_array_file_count(const resplit_array *array)
{
    int64_t n = 1;
    for (int d = 0; d < array->layout.ndim; d++) {
        n *= rs_array_files_along(array, d); /* no more than there are blocks */
    }
    return n;
}

resplit_status rs_array_block_name(const resplit_array *array, const int64_t *index, char name[RS_NAME_MAX],
                                   resplit_error *err)
{
    int64_t own[RS_MAX_NDIM];
    name[0] = '\0';
    return array->of != NULL ? rs_array_block_name(array->of, rs_array_own_index(array, index, own), name, err)
                             : rs_answers_of(array)->name(array, index, name, err);
}

/* ---- Blocks ------------------------------------------------------------------------------------ */

int64_t rs_array_block_offset(const resplit_array *array, const int64_t *index)
{
    int64_t own[RS_MAX_NDIM];
    if (array->hdf5 != NULL && array->encoded) { /* also where a plain one is seen so: what is decoded has no head */
        return 0;
    }
    if (array->offsets == NULL && array->stride == 0) {
        return array->data_offset;
    }
    if (array->of != NULL) {
        return rs_array_block_offset(array->of, rs_array_own_index(array, index, own));
    }
    return array->offsets != NULL ? array->offsets[rs_layout_block_number(&array->layout, index)]
                                  : rs_array_place_of(array, index);
}

int64_t rs_array_place_of(const resplit_array *array, const int64_t *index)
{
    return array->data_offset + rs_hdf5_position(array, index) * array->stride;
}

int64_t rs_array_coded_bytes(const resplit_array *array)
{
    int64_t n =
        rs_layout_longest(&array->layout) * array->dtype.itemsize; /* fits: no block is larger than the array's files */
    int64_t head = array->data_offset;
    for (int64_t i = 0; array->offsets != NULL && i < array->info.n_blocks; i++) {
        head = rs_max(head, array->offsets[i]);
    }
    return n + head;
}

resplit_status rs_array_locate(const resplit_array *array, const int64_t *index, int fd, int64_t size, const char *path,
                               rs_place *out, resplit_error *err)
{
    int64_t own[RS_MAX_NDIM];
    return array->of != NULL
               ? rs_array_locate(array->of, rs_array_own_index(array, index, own), fd, size, path, out, err)
               : rs_answers_of(array)->locate(array, index, fd, size, path, out, err);
}

resplit_status rs_array_fetch(const resplit_array *array, const int64_t *index, char *out, resplit_error *err)
{
    int64_t own[RS_MAX_NDIM];
    return array->of != NULL ? rs_hdf5_fetch(array->of, rs_array_own_index(array, index, own), out, err)
                             : rs_hdf5_fetch(array, index, out, err);
}

resplit_status rs_array_block_head(const resplit_array *array, const int64_t *index, rs_text *out, resplit_error *err)
{
    return rs_answers_of(array)->head(array, index, out, err);
}

void rs_array_plain(const resplit_array *array, resplit_array *out)
{
    *out = *array;
    out->encoded = out->layout.atomic = false;
    out->layout.coding = (rs_coding){.item = array->layout.coding.item};
}

bool rs_array_can_be_whole(const resplit_array *array)
{
    bool chunks = array->zarr != NULL || (array->hdf5 != NULL && (array->offsets != NULL || array->stride > 0));
    return chunks && !array->encoded && array->of == NULL && array->info.n_elements > 0
           && rs_layout_runs(&array->layout) > array->info.n_blocks;
}

resplit_status rs_array_see_whole(const resplit_array **array, bool whole, bool as_target, resplit_array *view,
                                  resplit_error *err)
{
    if (!whole) {
        return RESPLIT_OK;
    }
    *view = **array;
    *array = view;
    view->encoded = true;
    if (view->stride > 0) { /* a place that is known is read, whatever is there */
        view->write_empty = true;
        view->fill = rs_hdf5_fill(view);
    }
    view->most_stored = rs_layout_longest(&view->layout) * view->dtype.itemsize;
    return rs_array_set_coding(view, as_target, view->most_stored, 1, err);
}

/* ---- Shards ------------------------------------------------------------------------------------ */

bool rs_array_is_sharded(const resplit_array *array)
{
    return rs_answers_of(array)->is_sharded(array);
}

int64_t rs_array_shard_blocks(const resplit_array *array)
{
    return rs_answers_of(array)->shard_blocks(array);
}

int64_t rs_array_shard_position(const resplit_array *array, const int64_t *index)
{
    return rs_answers_of(array)->shard_position(array, index);
}

int64_t rs_array_shard_begin(const resplit_array *array)
{
    return rs_answers_of(array)->shard_begin(array);
}

/* ---- What is around blocks ----------------------------------------------------------------------- */

resplit_status rs_array_metadata(const resplit_array *array, rs_add_file *add, void *payload, resplit_error *err)
{
    return rs_answers_of(array)->metadata(array, add, payload, err);
}

resplit_status rs_array_attributes(const resplit_array *array, rs_text *out, resplit_error *err)
{
    return rs_answers_of(array)->attributes(array, out, err);
}

resplit_status rs_array_words(const resplit_array *array, rs_text *out, resplit_error *err)
{
    return rs_answers_of(array)->words(array, out, err);
}

int64_t rs_array_head_count(const resplit_array *array)
{
    return array->nifti != NULL && array->nifti->pair ? array->info.n_blocks : 0;
}

resplit_status rs_array_head_path(const resplit_array *array, rs_text *out, resplit_error *err)
{
    return rs_array_head_count(array) > 0 && array->pattern == NULL ? array->format->head_name(array->path, out, err)
                                                                    : RESPLIT_OK;
}

bool rs_array_is_virtual(const resplit_array *target)
{
    return target->hdf5 != NULL && rs_hdf5_is_virtual(target);
}

resplit_status rs_array_seal(const resplit_array *array, const char *path, rs_file_range files, rs_array_entry *entry,
                             void *payload, resplit_error *err)
{
    return rs_array_is_sealed(array) ? rs_hdf5_seal(array, path, files, entry, payload, err) : RESPLIT_OK;
}

resplit_status rs_array_identity(const resplit_array *array, rs_text *out, resplit_error *err)
{
    return array->hdf5 != NULL ? rs_hdf5_describe(array, out, err) : RESPLIT_OK;
}

/* ---- Two arrays ---------------------------------------------------------------------------------- */

const resplit_error *rs_array_opaque(const resplit_array *array)
{
    return array->zarr != NULL && array->zarr->opaque.code != RESPLIT_OK ? &array->zarr->opaque : NULL;
}

bool rs_array_is_verbatim(const resplit_array *a, const resplit_array *b)
{
    if (a->nifti != NULL && b->nifti != NULL) {
        return rs_nifti_is_verbatim(a, b);
    }
    if (!rs_answers_of(a)->is_uniform(a) || !rs_answers_of(b)->is_uniform(b) || a->layout.ndim != b->layout.ndim) {
        return false;
    }
    bool same = strcmp(a->dtype.descr, b->dtype.descr) == 0 && memcmp(a->fill, b->fill, (size_t)a->dtype.itemsize) == 0;
    for (int d = 0; same && d < a->layout.ndim; d++) {
        int64_t end = b->origin[d] + b->info.shape[d], step = a->layout.axis[d].step;
        /* nothing else gets into the padding */
        same = step > 0 && (end == a->info.shape[d] || b->info.shape[d] % step == 0) && step == b->layout.axis[d].step
               && a->layout.order[d] == b->layout.order[d] && b->origin[d] % step == 0;
    }
    bool opaque = rs_array_opaque(a) != NULL || rs_array_opaque(b) != NULL;
    /* what cannot be read goes only to where the metadata say the same */
    return same
           && (opaque ? rs_array_opaque(a) != NULL && rs_array_opaque(b) != NULL : rs_chain_is(&a->chain, &b->chain));
}
