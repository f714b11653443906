/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * derive.c - where the axes of a folder are cut, from the numbers in the names and the headers of few blocks.
 *
 *     names with starts or offsets   the numbers are the cuts; the extent comes from the last header, or the user
 *     names with indices             lengths come from the headers along each axis (i,0,0) (0,j,0) (0,0,k), or the user
 *
 * So a grid of a million blocks costs a few hundred headers here. verify.c then looks at every block.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/drivers.h"
#include "format/folder.h"
#include "format/numbers.h"

typedef struct derivation {
    const rs_folder *folder;
    rs_pattern pattern;
    const rs_format *format;
    int64_t n; /* names that match */
    char first[RS_NAME_MAX];
    rs_numbers index[RS_MAX_NDIM], start[RS_MAX_NDIM], offset;
    rs_head head; /* of the first block, with header */
    int ndim;
} derivation;

static resplit_status collect(const char *name, void *payload, resplit_error *err)
{
    derivation *v = payload;
    rs_fields fields;
    if (rs_pattern_match(&v->pattern, name, &fields) != RS_MATCH_EXACT) {
        return RESPLIT_OK; /* the census complains about names that almost match */
    }
    if (v->n++ == 0 || strcmp(name, v->first) < 0) {
        memcpy(v->first, name, strlen(name) + 1);
    }
    for (int d = 0; d < RS_MAX_NDIM; d++) {
        if (fields.index[d] >= 0) {
            RS_TRY(rs_numbers_add(&v->index[d], fields.index[d], err));
        }
        if (fields.start[d] >= 0) {
            RS_TRY(rs_numbers_add(&v->start[d], fields.start[d], err));
        }
    }
    return fields.offset < 0 ? RESPLIT_OK : rs_numbers_add(&v->offset, fields.offset, err);
}

static resplit_status find_format(derivation *v, const char *pattern, resplit_error *err)
{
    char shown[RS_SHOWN_PATH];
    bool is_npy = false;
    v->format =
        v->folder->spec->format != NULL ? rs_format_by_name(v->folder->spec->format) : rs_format_by_suffix(pattern);
    if (v->format != NULL) {
        return RESPLIT_OK;
    }
    (void)rs_folder_show(v->folder, v->first, shown);
    int fd = openat(v->folder->fd, v->first, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return rs_fail_errno(err, errno, "cannot open '%s'", shown);
    }
    resplit_status rc = rs_npy_probe(fd, shown, &is_npy, err);
    close(fd);
    v->format = is_npy ? &rs_format_npy : &rs_format_raw;
    return rc;
}

/* Number of axes and type: from a header, or the user. */
static resplit_status find_type(derivation *v, resplit_array *array, resplit_error *err)
{
    const resplit_spec *spec = v->folder->spec;
    char shown[RS_SHOWN_PATH];
    rs_blockfile file;
    if (!v->format->has_header) {
        if (spec->shape == NULL || spec->dtype == NULL) {
            return rs_fail(err, RESPLIT_EINVAL, "'%s' holds raw files: give --shape and --dtype", v->folder->path);
        }
        v->ndim = spec->ndim;
        array->data_offset = spec->skip;
        return rs_dtype_parse(spec->dtype, &array->dtype, err);
    }
    (void)rs_folder_show(v->folder, v->first, shown);
    RS_TRY(rs_blockfile_read(v->format, v->folder->fd, v->first, shown, &file, NULL, err));
    v->head = file.head; /* moved */
    v->ndim = v->head.ndim;
    array->format = v->format = v->head.format != NULL ? v->head.format : v->format;
    if (spec->shape != NULL && spec->ndim != v->ndim) {
        return rs_fail(err, RESPLIT_EINVAL, "'%s' has %d axes, but a shape of %d was given", shown, v->ndim,
                       spec->ndim);
    }
    return rs_dtype_copy(&v->head.dtype, &array->dtype, err);
}

/* Offsets into positions along each axis; only the shape can tell, unless there is one axis or one block. */
static resplit_status unravel_offsets(derivation *v, resplit_error *err)
{
    const int64_t *shape = v->folder->spec->shape;
    rs_numbers_sort(&v->offset);
    if (shape == NULL && v->ndim > 1 && v->offset.n > 1) {
        return rs_fail(err, RESPLIT_EINVAL,
                       "the names in '%s' hold offsets, which need the shape of the whole: give --shape",
                       v->folder->path);
    }
    for (int64_t i = 0; i < v->offset.n; i++) {
        int64_t rest = v->offset.v[i];
        for (int d = v->ndim - 1; d > 0; d--) {
            int64_t extent = shape == NULL ? 1 : rs_max(1, shape[d]);
            RS_TRY(rs_numbers_add(&v->start[d], rest % extent, err));
            rest /= extent;
        }
        if (v->ndim > 0) {
            RS_TRY(rs_numbers_add(&v->start[0], rest, err));
        }
    }
    return RESPLIT_OK;
}

/* Length along axis d of the block i of that axis and 0 of the others, from its header. */
static resplit_status read_length(const derivation *v, int d, int64_t i, int64_t *length, resplit_error *err)
{
    rs_fields fields = {.offset = 0};
    char name[RS_NAME_MAX], shown[RS_SHOWN_PATH];
    rs_blockfile file;
    bool missing;

    fields.index[d] = i;
    fields.start[d] = v->start[d].n > 0 ? v->start[d].v[i] : 0;
    fields.offset = fields.start[d]; /* needed for one axis or one block only, see unravel_offsets */
    RS_TRY(rs_pattern_render(&v->pattern, &fields, name, err));
    (void)rs_folder_show(v->folder, name, shown);
    RS_TRY(rs_blockfile_read(v->format, v->folder->fd, name, shown, &file, &missing, err));
    if (missing) {
        return rs_fail(err, RESPLIT_EFORMAT, "block '%s' is missing (number %lld along axis %d, 0 along the others)",
                       shown, (long long)i, d);
    }
    resplit_status rc = RESPLIT_OK;
    if (file.head.ndim != v->ndim) {
        rc = rs_fail(err, RESPLIT_EFORMAT, "'%s' has %d axes, but '%s' has %d", shown, file.head.ndim, v->first,
                     v->ndim);
    } else {
        *length = file.head.shape[d];
    }
    rs_blockfile_release(&file);
    return rc;
}

/* Cuts an axis at lengths that were found, not given: what is wrong with them is wrong on disk. */
static resplit_status cut_at(const derivation *v, resplit_array *array, int d, int64_t extent, const int64_t *lengths,
                             int64_t n, resplit_error *err)
{
    resplit_error inner = {0};
    resplit_chunks chunks = {.count = n, .lengths = lengths};
    resplit_status rc = rs_array_cut_axis(array, d, extent, &chunks, &inner);
    if (rc != RESPLIT_OK) {
        return rs_fail(err, rc == RESPLIT_EINVAL ? RESPLIT_EFORMAT : rc,
                       "the blocks in '%s' do not make a grid: %.300s", v->folder->path, inner.message);
    }
    return rc;
}

static resplit_status cut_by_starts(const derivation *v, resplit_array *array, int d, resplit_error *err)
{
    const rs_numbers *start = &v->start[d];
    int64_t n = start->n, length = 0, extent = 0;
    const int64_t *shape = v->folder->spec->shape;

    if (start->v[0] != 0) {
        return rs_fail(err, RESPLIT_EFORMAT, "no block in '%s' starts at 0 along axis %d: the first starts at %lld",
                       v->folder->path, d, (long long)start->v[0]);
    }
    /* with headers the last block tells where the axis ends, and what the user said is compared later */
    if (v->format->has_header && (!v->pattern.has_offset || shape == NULL)) {
        RS_TRY(read_length(v, d, n - 1, &length, err));
    } else {
        length = shape[d] - start->v[n - 1];
    }
    if (length < (n > 1) || !rs_add(start->v[n - 1], length, &extent)) {
        return rs_fail(err, RESPLIT_EFORMAT,
                       "a block in '%s' starts at %lld along axis %d, which leaves it %lld elements", v->folder->path,
                       (long long)start->v[n - 1], d, (long long)length);
    }
    int64_t *lengths = calloc((size_t)n, sizeof *lengths);
    if (lengths == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for %lld cuts", (long long)n);
    }
    for (int64_t i = 0; i < n; i++) {
        lengths[i] = i < n - 1 ? start->v[i + 1] - start->v[i] : length;
    }
    resplit_status rc = cut_at(v, array, d, extent, lengths, n, err);
    free(lengths);
    return rc;
}

/* The first index that is left out, as a name. */
static resplit_status report_gap(const derivation *v, int d, resplit_error *err)
{
    rs_fields fields = {.offset = 0};
    char name[RS_NAME_MAX];
    int64_t gap = 0;
    while (gap < v->index[d].n && v->index[d].v[gap] == gap) {
        gap++;
    }
    fields.index[d] = gap;
    RS_TRY(rs_pattern_render(&v->pattern, &fields, name, err));
    return rs_fail(err, RESPLIT_EFORMAT,
                   "block '%s' of '%s' is missing: index %lld along axis %d, where the last is %lld", name,
                   v->folder->path, (long long)gap, d, (long long)v->index[d].v[v->index[d].n - 1]);
}

static resplit_status cut_by_index(const derivation *v, resplit_array *array, int d, resplit_error *err)
{
    const resplit_spec *spec = v->folder->spec;
    int64_t n = v->index[d].n, extent = 0;
    if (!v->format->has_header) {
        if (spec->chunks == NULL && n > 1 && n == spec->shape[d]) { /* one element each: slices */
            return rs_array_cut_axis(array, d, n, &(resplit_chunks){.length = 1}, err);
        }
        if (spec->chunks == NULL && n > 1) {
            return rs_fail(err, RESPLIT_EINVAL,
                           "'%s' holds raw files numbered by index: say how they are cut, as in --from 64,64",
                           v->folder->path);
        }
        return rs_array_cut_axis(array, d, spec->shape[d], spec->chunks == NULL ? NULL : &spec->chunks[d], err);
    }
    if (!rs_numbers_is_dense(&v->index[d])) {
        return report_gap(v, d, err);
    }
    int64_t *lengths = calloc((size_t)n, sizeof *lengths);
    if (lengths == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for %lld cuts", (long long)n);
    }
    resplit_status rc = RESPLIT_OK;
    for (int64_t i = 0; i < n && rc == RESPLIT_OK; i++) {
        rc = read_length(v, d, i, &lengths[i], err);
        if (rc == RESPLIT_OK && !rs_add(extent, lengths[i], &extent)) {
            rc = rs_fail(err, RESPLIT_EFORMAT, "axis %d of '%s' is longer than an int64 can tell", d, v->folder->path);
        }
    }
    if (rc == RESPLIT_OK) {
        rc = cut_at(v, array, d, extent, lengths, n, err);
    }
    free(lengths);
    return rc;
}

static resplit_status cut_axes(const derivation *v, resplit_array *array, resplit_error *err)
{
    array->layout.ndim = v->ndim;
    for (int d = 0; d < v->ndim; d++) {
        if (v->start[d].n > 0) {
            RS_TRY(cut_by_starts(v, array, d, err));
        } else if (v->index[d].n > 0) {
            RS_TRY(cut_by_index(v, array, d, err));
        } else {
            int64_t extent = v->format->has_header ? v->head.shape[d] : v->folder->spec->shape[d];
            RS_TRY(rs_array_cut_axis(array, d, extent, NULL, err));
        }
    }
    return RESPLIT_OK;
}

static resplit_status derive(derivation *v, resplit_array *array, resplit_error *err)
{
    RS_TRY(rs_pattern_parse(array->pattern, -1, &v->pattern, err));
    RS_TRY(rs_folder_list(v->folder, collect, v, err));
    if (v->n == 0) {
        return rs_fail(err, RESPLIT_EFORMAT, "'%s' holds no file with a name like '%s'", v->folder->path,
                       array->pattern);
    }
    RS_TRY(find_format(v, array->pattern, err));
    array->format = v->format;
    RS_TRY(find_type(v, array, err));
    RS_TRY(rs_pattern_parse(array->pattern, v->ndim, &v->pattern, err)); /* now the number of axes is known */
    RS_TRY(unravel_offsets(v, err));
    for (int d = 0; d < v->ndim; d++) {
        rs_numbers_sort(&v->index[d]);
        rs_numbers_sort(&v->start[d]);
    }
    return cut_axes(v, array, err);
}

resplit_status rs_folder_derive(const rs_folder *folder, resplit_array *array, resplit_error *err)
{
    derivation v = {.folder = folder};
    resplit_status rc = derive(&v, array, err);
    for (int d = 0; d < RS_MAX_NDIM; d++) {
        rs_numbers_release(&v.index[d]);
        rs_numbers_release(&v.start[d]);
    }
    rs_numbers_release(&v.offset);
    rs_head_release(&v.head);
    return rc;
}
