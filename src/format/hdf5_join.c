/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hdf5_join.c - a grid of HDF5 files as one array: its blocks are the chunks of all files.
 *
 *     files      |      0      |      1      |    2    |        each cut by its own chunks; of the files along an axis
 *     chunks     |   |   |   | |   |   |   | |   |   |..         only those at the end may have chunks that reach out
 *
 * A file whose dataset is contiguous has one. Everything else is that of the first file: type, filters, attributes.
 *
 * So blocks are as long as they are stored, but for the last along an axis, which may reach out of the array as those
 * of one dataset do. Files are looked at in any order, by several threads, with the lock of who does so.
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
    char *other;  /* a file that has other attributes than the first; owned; NULL: none */
    bool renamed; /* datasets have more than one name */
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
    free(joint->other);
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

/* However old the files are that tell of it. */
static resplit_status is_same_type(const rs_text *a, const rs_text *b, bool *out, resplit_error *err)
{
    rs_hdf5_session session;
    *out = a->n == b->n && memcmp(a->s, b->s, a->n) == 0;
    if (*out) {
        return RESPLIT_OK;
    }
    RS_TRY(rs_hdf5_enter(&session, err));
    hid_t x = H5Tdecode(a->s), y = H5Tdecode(b->s);
    *out = x >= 0 && y >= 0 && H5Tequal(x, y) > 0;
    rs_hdf5_close(x);
    rs_hdf5_close(y);
    rs_hdf5_leave(&session);
    return RESPLIT_OK;
}

/* Of missing chunks; and of data that are not there, where files have none. */
static bool needs_fill(const resplit_array *file)
{
    return file->hdf5->chunked || (file->offsets != NULL && file->offsets[0] < 0);
}

/* Chunks of all files mean the same. */
static resplit_status check_alike(const resplit_array *model, const resplit_array *file, const char *shown,
                                  const char *first, resplit_error *err)
{
    bool same_type, chunked = file->hdf5->chunked;
    if (chunked != model->hdf5->chunked) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "'%s' is in chunks, and '%s' is not", chunked ? shown : first,
                       chunked ? first : shown);
    }
    RS_TRY(is_same_type(&file->hdf5->type, &model->hdf5->type, &same_type, err));
    bool same_chain = file->encoded == model->encoded && rs_chain_decodes_like(&file->chain, &model->chain);
    bool same_fill = !needs_fill(file) || memcmp(file->fill, model->fill, (size_t)model->dtype.itemsize) == 0;
    const char *what = !same_chain  ? "other filters"
                       : !same_fill ? "another fill value"
                       : !same_type ? "another type"
                                    : NULL;
    return what == NULL ? RESPLIT_OK
                        : rs_fail(err, RESPLIT_EUNSUPPORTED, "the chunks of '%s' have %s than those of '%s'", shown,
                                  what, first);
}

/* Unlike what is above, no reason to refuse them. */
static resplit_status compare_names(rs_hdf5_joint *joint, const resplit_array *file, const char *shown,
                                    resplit_error *err)
{
    joint->renamed = joint->renamed || strcmp(file->hdf5->dataset, joint->model->hdf5->dataset) != 0;
    const rs_text *has = &file->hdf5->attributes, *wants = &joint->model->hdf5->attributes;
    if (joint->other != NULL || (has->n == wants->n && memcmp(has->s, wants->s, has->n) == 0)) {
        return RESPLIT_OK;
    }
    joint->other = rs_strdup(shown);
    return joint->other != NULL ? RESPLIT_OK : rs_fail(err, RESPLIT_ENOMEM, "no memory for a name");
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
        RS_TRY(compare_names(j, array, shown, err));
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

/* The first file stands for all of them. */
static resplit_status set_origin(resplit_array *array, bool renamed, resplit_error *err)
{
    static const int64_t first[RS_MAX_NDIM];
    rs_hdf5 *hdf5 = array->hdf5;
    char name[RS_NAME_MAX];
    rs_text path = {0};
    hdf5->origin = hdf5->dataset;
    hdf5->dataset = renamed ? NULL : rs_strdup(hdf5->origin);
    if (!renamed && hdf5->dataset == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for a name");
    }
    RS_TRY(rs_array_block_name(array->files, first, name, err));
    RS_TRY(rs_text_add(&path, err, "%s/%s", array->path, name));
    hdf5->origin_file = path.s; /* moved */
    return RESPLIT_OK;
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
    RS_TRY(set_origin(array, joint->renamed, err));
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
    RS_TRY(rs_array_move_files(array, err));
    const rs_layout *files = &array->files->layout;
    RS_TRY(cut_all(array, files, joint, err));
    array->hdf5 = joint->model->hdf5; /* it may have several blocks: borrowed until take_model */
    resplit_status rc = rs_array_finish(array, err);
    array->hdf5 = NULL;
    RS_TRY(rc);
    RS_TRY(take_model(array, joint, err));
    array->info.n_stored = joint->n_stored;
    array->info.stored_bytes = joint->stored_bytes;
    if (joint->other != NULL && array->minc == NULL) { /* which compares them itself */
        RS_TRY(rs_text_add_line(&array->notes, err,
                                "files differ in their attributes ('%s'): those of the first, '%s', are kept",
                                joint->other, array->hdf5->origin_file));
    }
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
