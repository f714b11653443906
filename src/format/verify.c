/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verify.c - are the files in a folder exactly the blocks of the grid: none missing, none left over, each of the right
 * type, shape, order and size. Whatever told the grid (a manifest, names, the user), nothing is believed until here.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "format/drivers.h"
#include "format/folder.h"
#include "format/hdf5_join.h"
#include "format/minc_array.h"
#include "format/nifti_array.h"
#include "format/parallel.h"

/* ---- Census: every name that follows the pattern belongs to the grid ---- */

typedef struct census {
    const rs_folder *folder;
    const resplit_array *array;
    rs_pattern pattern;
    int64_t n;
} census;

/* The block that a name claims to be; false when there is none. */
static bool find_block(const census *c, const rs_fields *fields, int64_t *index)
{
    const rs_layout *layout = &c->array->layout;
    int64_t rest = fields->offset;
    for (int d = layout->ndim - 1; d >= 0; d--) {
        const rs_axis *axis = &layout->axis[d];
        int64_t start = fields->start[d];
        if (start < 0 && fields->offset >= 0) {
            start = d == 0 ? rest : rest % rs_max(1, axis->extent);
        }
        rest /= rs_max(1, axis->extent);
        if (fields->index[d] >= 0) {
            index[d] = fields->index[d];
        } else if (start >= 0) {
            index[d] = start < rs_max(1, axis->extent) ? rs_axis_find(axis, start) : axis->n;
        } else {
            index[d] = 0;
        }
        if (index[d] >= axis->n) {
            return false;
        }
    }
    return true;
}

static resplit_status count_name(const char *name, void *payload, resplit_error *err)
{
    census *c = payload;
    const rs_layout *layout = &c->array->layout;
    rs_fields fields;
    int64_t index[RS_MAX_NDIM] = {0};
    char exact[RS_NAME_MAX];

    rs_match match = rs_pattern_match(&c->pattern, name, &fields);
    if (match == RS_MATCH_NONE) {
        return RESPLIT_OK;
    }
    if (match == RS_MATCH_LOOSE) {
        return rs_fail(err, RESPLIT_EFORMAT,
                       "'%s' in '%s' and the pattern '%s' disagree: duplicate or differently padded name", name,
                       c->folder->path, c->array->pattern);
    }
    bool belongs = find_block(c, &fields, index);
    if (belongs) {
        fields = rs_fields_of_block(layout, index);
        RS_TRY(rs_pattern_render(&c->pattern, &fields, exact, err));
        belongs = strcmp(exact, name) == 0;
    }
    if (!belongs) {
        int64_t grid[RS_MAX_NDIM];
        char text[RS_SHAPE_TEXT];
        for (int d = 0; d < layout->ndim; d++) {
            grid[d] = layout->axis[d].n;
        }
        return rs_fail(err, RESPLIT_EFORMAT,
                       "'%s' in '%s' does not belong to the grid of %s blocks: remove it, or give a pattern", name,
                       c->folder->path, rs_shape_text(layout->ndim, grid, text));
    }
    c->n++;
    return RESPLIT_OK;
}

resplit_status rs_folder_census(const rs_folder *folder, const resplit_array *array, int64_t *n, resplit_error *err)
{
    census c = {.folder = folder, .array = array};
    RS_TRY(rs_pattern_parse(array->pattern, array->layout.ndim, &c.pattern, err));
    RS_TRY(rs_folder_list(folder, count_name, &c, err));
    *n = c.n;
    return RESPLIT_OK;
}

/* ---- Verification: every block is there and as it should be ---- */

/* Several threads read files at the same time; what was read is checked with the lock. */
typedef struct inspection {
    const rs_folder *folder;
    resplit_array *array;
    rs_pattern pattern;
    bool complete; /* as many files as blocks: worth a table of offsets */
    char first[RS_SHOWN_PATH];
    int64_t most, all;    /* bytes of the largest file, and of all */
    rs_hdf5_joint *joint; /* what blocks are in files of HDF5; else NULL */
    pthread_mutex_t lock; /* of the array */
} inspection;

/* Positions in names that do not fit the lengths in headers deserve more than "wrong shape". */
static resplit_status wrong_shape(const inspection *v, const char *shown, const int64_t *index, const rs_box *box,
                                  const rs_head *head, resplit_error *err)
{
    int64_t expected[RS_MAX_NDIM];
    char has[RS_SHAPE_TEXT], wants[RS_SHAPE_TEXT];
    for (int d = 0; d < v->array->layout.ndim; d++) {
        expected[d] = box->hi[d] - box->lo[d];
        bool positioned = v->pattern.has_start[d] || v->pattern.has_offset;
        if (head->ndim == v->array->layout.ndim && positioned && head->shape[d] != expected[d]) {
            return rs_fail(err, RESPLIT_EFORMAT,
                           "'%s' starts at %lld along axis %d and has length %lld, but %s at %lld: they %s", shown,
                           (long long)box->lo[d], d, (long long)head->shape[d],
                           index[d] + 1 < v->array->layout.axis[d].n ? "the next block starts" : "the array ends",
                           (long long)box->hi[d], head->shape[d] > expected[d] ? "overlap" : "leave a gap");
        }
    }
    return rs_fail(err, RESPLIT_EFORMAT, "'%s' has shape %s, but its place in the grid has %s", shown,
                   rs_shape_text(head->ndim, head->shape, has), rs_shape_text(v->array->layout.ndim, expected, wants));
}

static resplit_status check_head(const inspection *v, const char *shown, const int64_t *index, const rs_box *box,
                                 const rs_head *head, resplit_error *err)
{
    resplit_array *array = v->array;
    bool same = head->ndim == array->layout.ndim;
    for (int d = 0; d < array->layout.ndim && same; d++) {
        same = head->shape[d] == box->hi[d] - box->lo[d];
    }
    if (!same) {
        return wrong_shape(v, shown, index, box, head, err);
    }
    if (strcmp(head->dtype.descr, array->dtype.descr) != 0) {
        return rs_fail(err, RESPLIT_EFORMAT, "'%s' has type %.200s, but the array has %.200s", shown, head->dtype.descr,
                       array->dtype.descr);
    }
    char order = rs_head_order(head);
    if (order != '\0' && array->order == '\0') {
        array->order = order;
    }
    if (order != '\0' && order != array->order) {
        return rs_fail(err, RESPLIT_EFORMAT, "'%s' has order %c, but the array has %c", shown, order, array->order);
    }
    return RESPLIT_OK;
}

/* Offsets take memory only when they differ. Block 0 comes first. */
static resplit_status record_offset(inspection *v, int64_t number, int64_t offset, resplit_error *err)
{
    resplit_array *array = v->array;
    int64_t n = array->info.n_blocks;
    if (number == 0) {
        array->data_offset = offset;
    }
    if (array->offsets == NULL && offset != array->data_offset && v->complete) {
        array->offsets = calloc((size_t)n, sizeof *array->offsets);
        if (array->offsets == NULL) {
            return rs_fail(err, RESPLIT_ENOMEM, "no memory for the offsets of %lld blocks", (long long)n);
        }
        for (int64_t i = 0; i < n; i++) {
            array->offsets[i] = array->data_offset;
        }
    }
    if (array->offsets != NULL) {
        array->offsets[number] = offset;
    }
    return RESPLIT_OK;
}

/* With the lock: is the file what its place in the grid wants? */
static resplit_status check_file(inspection *v, int64_t number, const int64_t *index, const char *shown,
                                 rs_blockfile *file, resplit_error *err)
{
    resplit_array *array = v->array;
    rs_box box = rs_layout_stored(&array->layout, index);
    int64_t bytes = rs_box_volume(array->layout.ndim, &box) * array->layout.itemsize; /* within the whole, which fits */
    int64_t offset = array->format->has_header ? file->head.data_offset : array->data_offset;
    if (array->format->has_header) {
        RS_TRY(check_head(v, shown, index, &box, &file->head, err));
    }
    if (file->head.nifti != NULL) {
        RS_TRY(rs_nifti_check_block(array, number, &box, shown, v->first, &file->head, err));
    }
    if (file->head.minc != NULL) {
        RS_TRY(rs_minc_check_block(array, number, &box, shown, v->first, &file->head, err));
    }
    if (file->head.stored != NULL) {
        RS_TRY(rs_hdf5_joint_add(&v->joint, &array->layout, number, index, &file->head.stored, shown, v->first, err));
    }
    if (!file->head.encoded && !array->format->has_tail) {
        RS_TRY(rs_blockfile_check_size(shown, file->size, offset, bytes, err));
    }
    v->most = rs_max(v->most, file->size);
    v->all += file->size;
    array->stamp += rs_mix(rs_mix(0, number), (int64_t)file->stamp); /* in any order */
    return record_offset(v, number, offset, err);
}

static void index_of(const rs_layout *layout, int64_t number, int64_t *index)
{
    for (int d = layout->ndim - 1; d >= 0; d--) {
        index[d] = number % layout->axis[d].n;
        number /= layout->axis[d].n;
    }
}

static resplit_status check_block(int64_t number, void *payload, resplit_error *err)
{
    inspection *v = payload;
    resplit_array *array = v->array;
    char name[RS_NAME_MAX], shown[RS_SHOWN_PATH];
    int64_t index[RS_MAX_NDIM] = {0};
    rs_blockfile file;
    bool missing;
    index_of(&array->layout, number, index);
    rs_fields fields = rs_fields_of_block(&array->layout, index);
    RS_TRY(rs_pattern_render(&v->pattern, &fields, name, err));
    (void)rs_folder_show(v->folder, name, shown);
    RS_TRY(rs_blockfile_read(array->format, v->folder->fd, name, shown, &file, &missing, err));
    if (missing) {
        char text[RS_SHAPE_TEXT];
        return rs_fail(err, RESPLIT_EFORMAT, "block '%s' is missing (index %s)", shown,
                       rs_shape_text(array->layout.ndim, index, text));
    }
    (void)pthread_mutex_lock(&v->lock);
    if (number == 0) {
        memcpy(v->first, shown, sizeof v->first);
    }
    resplit_status rc = check_file(v, number, index, shown, &file, err);
    (void)pthread_mutex_unlock(&v->lock);
    rs_blockfile_release(&file);
    return rc;
}

resplit_status rs_folder_verify(const rs_folder *folder, resplit_array *array, int64_t n_files, resplit_error *err)
{
    int64_t n = array->info.n_blocks;
    inspection v = {.folder = folder, .array = array, .complete = n_files == n};
    RS_TRY(rs_pattern_parse(array->pattern, array->layout.ndim, &v.pattern, err));
    (void)pthread_mutex_init(&v.lock, NULL);
    resplit_status rc = check_block(0, &v, err); /* what it says, the others are compared with */
    if (rc == RESPLIT_OK) {
        rc = rs_look_at_all(1, n, array->format->alone, check_block, &v, err);
    }
    if (rc == RESPLIT_OK && array->encoded) {
        rc = rs_array_set_encoded(array, v.most, v.all, err);
    }
    if (rc == RESPLIT_OK && v.joint != NULL) {
        rc = rs_hdf5_join(v.joint, array, err);
    }
    rs_hdf5_joint_free(v.joint);
    (void)pthread_mutex_destroy(&v.lock);
    return rc;
}
