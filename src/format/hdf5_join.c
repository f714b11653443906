/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hdf5_join.c - a grid of HDF5 files whose datasets are in chunks, as one array: its blocks are the chunks of all files.
 *
 *     files      |      0      |      1      |    2    |        each cut by its own chunks; of the files along an axis
 *     chunks     |   |   |   | |   |   |   | |   |   |..         only those at the end may have chunks that reach out
 *
 * So blocks are as long as they are stored, but for the last along an axis, which may reach out of the array as those of one dataset
 * do. Files are looked at in any order, by several threads, with the lock of who does so.
 */
#include "format/hdf5_join.h"

#include <stdlib.h>
#include <string.h>

#include "format/hdf5.h"
#include "format/hdf5_array.h"

/* Chunks of one file, in C order of its own grid. */
typedef struct file_chunks {
    int64_t *offsets;     /* owned; -1: missing */
    rs_hdf5_chunk *chunk; /* the same of encoded ones */
} file_chunks;

struct rs_hdf5_joint {
    int64_t n_files;
    file_chunks *file;            /* by number; owned */
    resplit_array *model;         /* the first file, as an array; owned */
    int64_t *length[RS_MAX_NDIM]; /* of chunks, by the index of the file along the axis; 0: not known yet; owned */
    int64_t n_stored, stored_bytes, most_stored;
    bool skips;
};

void rs_hdf5_joint_free(rs_hdf5_joint *joint)
{
    if (joint == NULL) {
        return;
    }
    for (int64_t i = 0; joint->file != NULL && i < joint->n_files; i++) {
        free(joint->file[i].offsets);
        free(joint->file[i].chunk);
    }
    for (int d = 0; d < RS_MAX_NDIM; d++) {
        free(joint->length[d]);
    }
    free(joint->file);
    rs_array_close(joint->model);
    free(joint);
}

/* NULL: there is no memory. */
static rs_hdf5_joint *begin(const rs_layout *files, int64_t n_files)
{
    rs_hdf5_joint *joint = calloc(1, sizeof *joint);
    if (joint == NULL) {
        return NULL;
    }
    joint->n_files = n_files;
    joint->file = calloc((size_t)n_files, sizeof *joint->file);
    bool done = joint->file != NULL;
    for (int d = 0; d < files->ndim && done; d++) {
        joint->length[d] = calloc((size_t)files->axis[d].n, sizeof *joint->length[d]);
        done = joint->length[d] != NULL;
    }
    if (!done) {
        rs_hdf5_joint_free(joint);
        return NULL;
    }
    return joint;
}

/* ---- One file ----------------------------------------------------------------------------------- */

/* Chunks of all files mean the same. */
static resplit_status check_alike(const resplit_array *model, const resplit_array *file, const char *shown,
                                  const char *first, resplit_error *err)
{
    const char *what = file->encoded != model->encoded || !rs_chain_decodes_like(&file->chain, &model->chain)
                           ? "other filters"
                       : memcmp(file->fill, model->fill, (size_t)model->dtype.itemsize) != 0 ? "another fill value"
                       : file->hdf5->type.n != model->hdf5->type.n
                               || memcmp(file->hdf5->type.s, model->hdf5->type.s, model->hdf5->type.n) != 0
                           ? "another type"
                           : NULL;
    return what == NULL ? RESPLIT_OK
                        : rs_fail(err, RESPLIT_EUNSUPPORTED, "the chunks of '%s' have %s than those of '%s'", shown,
                                  what, first);
}

/* Files side by side are cut in the same places. */
static resplit_status note_lengths(rs_hdf5_joint *joint, const resplit_array *file, const int64_t *index,
                                   const char *shown, resplit_error *err)
{
    for (int d = 0; d < file->layout.ndim && joint->length[d] != NULL; d++) { /* as many axes as all have */
        int64_t *length = &joint->length[d][index[d]], step = file->layout.axis[d].step;
        if (*length != 0 && *length != step) {
            return rs_fail(err, RESPLIT_EUNSUPPORTED,
                           "'%s' has chunks of length %lld along axis %d, where another file beside it has %lld: "
                           "h5repack -l CHUNK can make them alike",
                           shown, (long long)step, d, (long long)*length);
        }
        *length = step;
    }
    return RESPLIT_OK;
}

resplit_status rs_hdf5_joint_add(rs_hdf5_joint **joint, const rs_layout *files, int64_t number, const int64_t *index,
                                 resplit_array **file, const char *shown, const char *first, resplit_error *err)
{
    resplit_array *array = *file;
    int64_t n_files = 0, n_elements;
    (void)rs_layout_count(files, &n_files, &n_elements);
    *joint = *joint != NULL ? *joint : begin(files, n_files);
    rs_hdf5_joint *j = *joint;
    if (j == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for the chunks of %lld files", (long long)n_files);
    }
    if (j->model != NULL) {
        RS_TRY(check_alike(j->model, array, shown, first, err));
    }
    RS_TRY(note_lengths(j, array, index, shown, err));
    j->file[number] = (file_chunks){array->offsets, array->hdf5->chunk};
    array->offsets = NULL;
    array->hdf5->chunk = NULL;
    j->n_stored += array->info.n_stored;
    j->stored_bytes += array->info.stored_bytes;
    j->most_stored = rs_max(j->most_stored, array->most_stored);
    j->skips = j->skips || array->hdf5->skips;
    if (j->model == NULL) {
        j->model = array;
        *file = NULL;
    }
    return RESPLIT_OK;
}

/* ---- All of them -------------------------------------------------------------------------------- */

/* Lengths of blocks along an axis; the caller frees. Without them, counts. */
static int64_t list_lengths(const rs_axis *files, const int64_t *chunk, int64_t *lengths)
{
    int64_t n = 0;
    for (int64_t i = 0; i < files->n; i++) {
        rs_span span = rs_axis_span(files, i);
        for (int64_t at = span.lo; at < span.hi; at += chunk[i], n++) {
            if (lengths != NULL) {
                lengths[n] = rs_min(chunk[i], span.hi - at);
            }
        }
    }
    return n;
}

static resplit_status check_ends(const rs_axis *files, const int64_t *chunk, int d, const char *path,
                                 resplit_error *err)
{
    for (int64_t i = 0; i + 1 < files->n; i++) {
        rs_span span = rs_axis_span(files, i);
        if ((span.hi - span.lo) % chunk[i] != 0) {
            return rs_fail(err, RESPLIT_EUNSUPPORTED,
                           "files of '%s' end inside of a chunk: along axis %d they have %lld elements, and chunks of "
                           "%lld; h5repack -l CHUNK can cut them evenly, -l CONTI not at all",
                           path, d, (long long)(span.hi - span.lo), (long long)chunk[i]);
        }
    }
    return RESPLIT_OK;
}

static resplit_status cut_axis(resplit_array *array, int d, const rs_axis *files, const int64_t *chunk,
                               resplit_error *err)
{
    int64_t n = list_lengths(files, chunk, NULL), extent = files->extent;
    RS_TRY(check_ends(files, chunk, d, array->path, err));
    if (extent == 0) {
        return rs_array_cut_axis(array, d, 0, NULL, err);
    }
    if (n > RS_HDF5_MAX_CHUNKS) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "'%s' has %lld chunks along axis %d; at most %d are handled",
                       array->path, (long long)n, d, RS_HDF5_MAX_CHUNKS);
    }
    int64_t *lengths = malloc((size_t)rs_max(1, n) * sizeof *lengths);
    if (lengths == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for %lld cuts", (long long)n);
    }
    (void)list_lengths(files, chunk, lengths);
    resplit_chunks chunks = {.count = n, .lengths = lengths};
    resplit_status rc = rs_array_cut_axis(array, d, extent, &chunks, err);
    rs_axis *axis = &array->layout.axis[d];
    axis->last = rs_axis_cut(axis, n - 1) + chunk[files->n - 1]; /* as it is stored */
    free(lengths);
    return rc;
}

static resplit_status cut_all(resplit_array *array, const rs_layout *files, const rs_hdf5_joint *joint,
                              resplit_error *err)
{
    int64_t n = 1;
    for (int d = 0; d < files->ndim; d++) {
        RS_TRY(cut_axis(array, d, &files->axis[d], joint->length[d], err));
        if (!rs_mul(n, array->layout.axis[d].n, &n) || n > RS_HDF5_MAX_CHUNKS) {
            return rs_fail(err, RESPLIT_EUNSUPPORTED, "'%s' has more than %d chunks", array->path, RS_HDF5_MAX_CHUNKS);
        }
    }
    return RESPLIT_OK;
}

/* Where the chunks of a file are in the whole: first, and how many along each axis. */
static void find_range(const resplit_array *array, const rs_layout *files, const int64_t *index, int64_t *lo,
                       int64_t *hi)
{
    rs_box box = rs_layout_box(files, index);
    rs_layout_range(&array->layout, &box, lo, hi);
}

static void place_chunks(resplit_array *array, const rs_layout *files, const rs_hdf5_joint *joint)
{
    int64_t zero[RS_MAX_NDIM] = {0}, n[RS_MAX_NDIM] = {0}, index[RS_MAX_NDIM] = {0}, number = 0;
    for (int d = 0; d < files->ndim; d++) {
        n[d] = files->axis[d].n;
    }
    do {
        int64_t lo[RS_MAX_NDIM], hi[RS_MAX_NDIM], at[RS_MAX_NDIM], k = 0;
        const file_chunks *file = &joint->file[number++];
        find_range(array, files, index, lo, hi);
        memcpy(at, lo, sizeof at);
        do {
            int64_t block = rs_layout_block_number(&array->layout, at);
            if (array->encoded) {
                array->hdf5->chunk[block] = file->chunk[k++];
            } else {
                array->offsets[block] = file->offsets[k++];
            }
        } while (rs_index_next(files->ndim, lo, hi, at));
    } while (rs_index_next(files->ndim, zero, n, index));
}

/* What was the array, a grid of files, becomes its `files`. */
static resplit_status move_files(resplit_array *array, resplit_error *err)
{
    resplit_array *files;
    RS_TRY(rs_array_new(&files, err));
    array->files = files;
    files->format = array->format;
    files->layout = array->layout;
    files->pattern = array->pattern;
    files->path = rs_strdup(array->path);
    memcpy(files->cuts, array->cuts, sizeof files->cuts);
    memset(array->cuts, 0, sizeof array->cuts);
    array->pattern = NULL;
    return files->path != NULL ? RESPLIT_OK : rs_fail(err, RESPLIT_ENOMEM, "no memory for a path");
}

/* Everything but the grid is that of the first file. */
static resplit_status take_model(resplit_array *array, rs_hdf5_joint *joint, resplit_error *err)
{
    resplit_array *model = joint->model;
    free(array->offsets);
    array->offsets = NULL;
    array->hdf5 = model->hdf5;
    array->fill = model->fill;
    array->chain = model->chain;
    array->encoded = model->encoded;
    array->data_offset = 0;
    array->most_stored = joint->most_stored;
    model->hdf5 = NULL;
    model->fill = NULL;
    free(array->hdf5->dataset); /* each file has its own */
    array->hdf5->dataset = NULL;
    array->hdf5->skips = joint->skips;
    for (int d = 0; d < array->layout.ndim; d++) {
        array->hdf5->maximum[d] = array->layout.axis[d].extent;
    }
    int64_t n = array->info.n_blocks;
    size_t size = array->encoded ? sizeof *array->hdf5->chunk : sizeof *array->offsets;
    rs_apart_go_on(0, n * (int64_t)size);
    void *table = calloc((size_t)rs_max(1, n), size);
    *(array->encoded ? (void **)&array->hdf5->chunk : (void **)&array->offsets) = table;
    return table != NULL ? RESPLIT_OK
                         : rs_fail(err, RESPLIT_ENOMEM, "no memory for the places of %lld chunks", (long long)n);
}

resplit_status rs_hdf5_join(rs_hdf5_joint *joint, resplit_array *array, resplit_error *err)
{
    RS_TRY(move_files(array, err));
    const rs_layout *files = &array->files->layout;
    RS_TRY(cut_all(array, files, joint, err));
    array->hdf5 = joint->model->hdf5; /* it may have several blocks: borrowed until take_model */
    resplit_status rc = rs_array_finish(array, err);
    array->hdf5 = NULL;
    RS_TRY(rc);
    RS_TRY(take_model(array, joint, err));
    array->info.n_stored = joint->n_stored;
    array->info.stored_bytes = joint->stored_bytes;
    if (array->info.n_elements > 0) {
        place_chunks(array, files, joint);
    } else if (!array->encoded) {
        array->offsets[0] = -1;
    }
    if (!array->encoded) {
        return RESPLIT_OK;
    }
    array->info.codec = rs_chain_text(&array->chain, array->codec);
    double bytes = (double)array->info.bytes;
    return rs_array_set_coding(array, false, array->most_stored,
                               bytes > 0 ? (double)array->info.stored_bytes / bytes : 1, err);
}
