/* SPDX-License-Identifier: BSD-3-Clause */
/* array.c - puts an array together. Opens nothing. */
#include "format/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/drivers.h"
#include "format/hdf5_array.h"
#include "format/minc_array.h"
#include "format/nifti_array.h"
#include "format/space.h"
#include "format/zarr.h"

const char *rs_shape_text(int ndim, const int64_t *shape, char text[RS_SHAPE_TEXT])
{
    size_t n = 0;
    text[0] = '\0';
    for (int d = 0; d < ndim; d++) {
        n += (size_t)snprintf(text + n, RS_SHAPE_TEXT - n, d > 0 ? ",%lld" : "%lld", (long long)shape[d]);
    }
    return ndim == 0 ? "()" : text;
}

resplit_status rs_array_new(resplit_array **out, resplit_error *err)
{
    *out = calloc(1, sizeof **out);
    return *out != NULL ? RESPLIT_OK : rs_fail(err, RESPLIT_ENOMEM, "no memory for an array");
}

void rs_array_close(resplit_array *array)
{
    if (array == NULL) {
        return;
    }
    if (array->zarr != NULL) {
        rs_zarr_release(array->zarr);
    }
    free(array->zarr);
    rs_hdf5_free(array->hdf5);
    rs_array_close(array->files);
    rs_nifti_release(array->nifti);
    free(array->nifti);
    rs_minc_free(array->minc);
    rs_space_free(array->space);
    rs_text_release(&array->notes);
    rs_text_release(&array->words);
    free(array->fill);
    free(array->pad);
    free(array->wished_codec);
    free(array->path);
    free(array->pattern);
    free(array->offsets);
    rs_dtype_release(&array->dtype);
    for (int d = 0; d < RS_MAX_NDIM; d++) {
        free(array->cuts[d]);
    }
    free(array);
}

/* Written as one number: every interval but the last has the same length, and the last is no longer. */
static bool is_even(const rs_axis *axis)
{
    return rs_axis_is_regular(axis) && axis->last - rs_axis_cut(axis, axis->n - 1) <= axis->step;
}

/*
 * Uneven lengths become n + 1 cuts, followed in the same memory by the n lengths, which the public view borrows.
 */
static resplit_status cut_unevenly(resplit_array *array, int d, int64_t extent, const resplit_chunks *chunks,
                                   resplit_error *err)
{
    int64_t n = chunks->count;
    size_t room;
    if (n > extent) { /* more lengths than elements: one is zero, or the sum is wrong */
        return rs_fail(err, RESPLIT_EINVAL, "axis %d has %lld chunks, but only %lld elements", d, (long long)n,
                       (long long)extent);
    }
    if (__builtin_mul_overflow(2 * (size_t)n + 1, sizeof(int64_t), &room)) {
        return rs_fail(err, RESPLIT_EINVAL, "axis %d has too many chunks: %lld", d, (long long)n);
    }
    int64_t *cuts = malloc(room);
    if (cuts == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for %lld chunks of axis %d", (long long)n, d);
    }
    free(array->cuts[d]);
    array->cuts[d] = cuts;
    cuts[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t length = chunks->lengths[i];
        if (length < 1) {
            return rs_fail(err, RESPLIT_EINVAL, "chunk %lld of axis %d has length %lld: every chunk holds at least 1",
                           (long long)i, d, (long long)length);
        }
        if (!rs_add(cuts[i], length, &cuts[i + 1]) || cuts[i + 1] > extent) {
            return rs_fail(err, RESPLIT_EINVAL, "the chunks of axis %d add up to more than its extent %lld", d,
                           (long long)extent);
        }
        cuts[n + 1 + i] = length;
    }
    if (cuts[n] != extent) {
        return rs_fail(err, RESPLIT_EINVAL, "the chunks of axis %d add up to %lld, but its extent is %lld", d,
                       (long long)cuts[n], (long long)extent);
    }
    array->layout.axis[d] = rs_axis_uneven(cuts, n);
    return RESPLIT_OK;
}

resplit_status rs_chunk_check(int d, int64_t extent, int64_t *length, resplit_error *err)
{
    if (*length == -1) {
        *length = extent;
    }
    if (*length < 0 || (*length == 0 && extent > 0)) {
        return rs_fail(err, RESPLIT_EINVAL, "axis %d has chunk length %lld: give at least 1, or -1 for the whole axis",
                       d, (long long)*length);
    }
    return RESPLIT_OK;
}

resplit_status rs_array_cut_axis(resplit_array *array, int d, int64_t extent, const resplit_chunks *chunks,
                                 resplit_error *err)
{
    int64_t length = chunks == NULL ? -1 : chunks->length;

    if (chunks != NULL && chunks->count != 0) {
        if (chunks->count < 0 || chunks->lengths == NULL) {
            return rs_fail(err, RESPLIT_EINVAL, "axis %d has %lld chunks, but no list of lengths", d,
                           (long long)chunks->count);
        }
        bool empty = extent == 0 && chunks->count == 1 && chunks->lengths[0] == 0;
        if (!empty) {
            return cut_unevenly(array, d, extent, chunks, err);
        }
        length = 0;
    }
    RS_TRY(rs_chunk_check(d, extent, &length, err));
    array->layout.axis[d] = rs_axis_even(extent, rs_max(1, rs_min(length, extent)));
    return RESPLIT_OK;
}

resplit_status rs_array_cut(resplit_array *array, int ndim, const int64_t *shape, const resplit_chunks *chunks,
                            resplit_error *err)
{
    array->layout.ndim = ndim;
    for (int d = 0; d < ndim; d++) {
        RS_TRY(rs_array_cut_axis(array, d, shape[d], chunks == NULL ? NULL : &chunks[d], err));
    }
    return RESPLIT_OK;
}

resplit_status rs_array_move_files(resplit_array *array, resplit_error *err)
{
    resplit_array *files;
    RS_TRY(rs_array_new(&files, err));
    array->files = files;
    files->format = array->format;
    files->layout = array->layout;
    files->order = array->order;
    files->pattern = array->pattern;
    files->path = array->path != NULL ? rs_strdup(array->path) : NULL;
    memcpy(files->cuts, array->cuts, sizeof files->cuts);
    memset(array->cuts, 0, sizeof array->cuts);
    array->pattern = NULL;
    if (array->path != NULL && files->path == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for a path");
    }
    RS_TRY(rs_dtype_copy(&array->dtype, &files->dtype, err));
    return rs_array_finish(files, err);
}

int64_t rs_array_chunk(const resplit_array *array, int d)
{
    rs_span first = rs_axis_stored(&array->layout.axis[d], 0);
    return array->layout.axis[d].step > 0 ? array->layout.axis[d].step : first.hi - first.lo;
}

resplit_status rs_pattern_default(int ndim, const char *suffix, char **out, resplit_error *err)
{
    rs_text text = {0};
    resplit_status rc = RESPLIT_OK;

    *out = NULL;
    for (int d = 0; d < ndim && rc == RESPLIT_OK; d++) {
        rc = rs_text_add(&text, err, d > 0 ? "_{%d}" : "{%d}", d);
    }
    if (rc == RESPLIT_OK) {
        rc = rs_text_add(&text, err, "%s%s", ndim == 0 ? "0" : "", suffix);
    }
    if (rc == RESPLIT_OK && (*out = rs_strdup(text.s)) == NULL) {
        rc = rs_fail(err, RESPLIT_ENOMEM, "no memory for a pattern");
    }
    rs_text_release(&text);
    return rc;
}

resplit_status rs_array_set_offset(resplit_array *array, resplit_error *err)
{
    rs_text text = {0};
    /* borrows the type: not released */
    rs_head head = {.dtype = array->dtype, .ndim = array->layout.ndim, .order = array->order};

    if (array->format->make_head == NULL) {
        return RESPLIT_OK;
    }
    for (int d = 0; d < head.ndim; d++) {
        head.shape[d] = rs_axis_longest(&array->layout.axis[d]);
    }
    resplit_status rc = array->format->make_head(&head, &text, err);
    array->data_offset = (int64_t)text.n;
    rs_text_release(&text);
    return rc;
}

/* Of blocks of `n` bytes. 0: they are too large for it. */
static resplit_status measure_packing(const resplit_array *array, int64_t n, rs_coding *out, resplit_error *err)
{
    static const int64_t sample = 1 << 20;
    rs_element element = {array->dtype.kind, array->layout.itemsize, '|'};
    rs_chain chain;
    RS_TRY(rs_chain_for_temp(&element, &chain, err));
    int64_t pack = rs_coder_bytes(&chain, n, true), unpack = rs_coder_bytes(&chain, n, false);
    if (rs_chain_bound(&chain, n) >= 0 && pack >= 0 && unpack >= 0) {
        out->packer = pack + unpack;
        out->packing =
            (rs_chain_seconds(&chain, sample, true) + rs_chain_seconds(&chain, sample, false)) / (double)sample;
    }
    return RESPLIT_OK;
}

resplit_status rs_array_set_coding(resplit_array *array, bool encode, int64_t stored, double ratio, resplit_error *err)
{
    static const int64_t sample = 1 << 20;
    int64_t items = rs_layout_longest(&array->layout), held;
    int64_t n = items * array->dtype.itemsize;
    double scale = (double)array->dtype.itemsize / (double)array->layout.itemsize;
    int64_t coder = rs_coder_bytes(&array->chain, n, encode);
    if (stored < 0 || coder < 0 || !rs_mul(items, array->layout.itemsize, &held)) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "blocks of %lld bytes are more than their codecs can do",
                       (long long)n);
    }
    int64_t area = rs_elements_room(rs_max(n, held), encode);
    rs_coding packed = {0};
    if (!encode) {
        RS_TRY(measure_packing(array, held, &packed, err));
    }
    /* the planner counts bytes as the engine holds them: before a cast */
    array->layout.atomic = true;
    array->layout.coding = (rs_coding){
        .staging = rs_stored_room(stored) + area,
        .area = area,
        .coder = coder,
        .seconds =
            scale * rs_chain_seconds(&array->chain, sample, encode) / (double)sample + rs_cast_seconds(&array->cast),
        .ratio = scale * ratio,
        .packer = packed.packer,
        .packing = packed.packing,
    };
    return RESPLIT_OK;
}

static void fill_info(resplit_array *array)
{
    resplit_info *info = &array->info;
    info->path = array->path;
    info->fingerprint = array->fingerprint;
    info->format = array->format->name;
    info->dtype = array->dtype.descr;
    info->itemsize = array->dtype.itemsize;
    info->order = array->order;
    info->folder = array->pattern != NULL || array->zarr != NULL || array->files != NULL;
    info->pattern = array->files != NULL ? array->files->pattern : array->pattern;
    info->notes = array->notes.n > 0 ? array->notes.s : NULL;
    info->ndim = array->layout.ndim;
    for (int d = 0; d < info->ndim; d++) {
        const rs_axis *axis = &array->layout.axis[d];
        info->shape[d] = axis->extent;
        info->origin[d] = array->origin[d];
        info->axes[d] = array->turned ? array->turn[d] : d;
        if (is_even(axis)) {
            free(array->cuts[d]);
            array->cuts[d] = NULL;
            info->chunks[d] = (resplit_chunks){.length = rs_min(axis->step, axis->extent)};
        } else {
            info->chunks[d] = (resplit_chunks){.count = axis->n, .lengths = array->cuts[d] + axis->n + 1};
        }
    }
}

/* An array is finished more than once: what its files say comes later. */
static resplit_status set_words(resplit_array *array, resplit_error *err)
{
    array->words.n = 0;
    RS_TRY(rs_array_words(array, &array->words, err));
    array->info.header = array->words.n > 0 ? array->words.s : NULL;
    return RESPLIT_OK;
}

resplit_status rs_array_finish(resplit_array *array, resplit_error *err)
{
    rs_layout *layout = &array->layout;
    int64_t shape[RS_MAX_NDIM], n_elements, bytes, n_blocks;
    rs_pattern pattern;

    layout->itemsize = array->cast.kind != RS_CAST_NONE ? array->cast.from.itemsize : array->dtype.itemsize;
    if (layout->ndim < 2) {
        array->order = 'C';
    }
    rs_order_set(layout->ndim, array->order, layout->order);
    for (int d = 0; d < layout->ndim; d++) {
        shape[d] = layout->axis[d].extent;
    }
    if (!rs_shape_count(layout->ndim, shape, array->dtype.itemsize, &n_elements, &bytes)
        || !rs_layout_count(layout, &n_blocks, &n_elements)) {
        char text[RS_SHAPE_TEXT];
        return rs_fail(err, RESPLIT_EINVAL, "shape %s of %lld bytes each is larger than a file can be",
                       rs_shape_text(layout->ndim, shape, text), (long long)array->dtype.itemsize);
    }
    if (array->pattern != NULL) {
        RS_TRY(rs_pattern_parse(array->pattern, layout->ndim, &pattern, err));
        RS_TRY(rs_pattern_check(&pattern, array->pattern, layout, err));
    } else if (n_blocks > 1 && !rs_array_is_node(array) && !rs_array_is_sealed(array)) {
        return rs_fail(err, RESPLIT_EINVAL, "one file cannot hold %lld blocks", (long long)n_blocks);
    }
    fill_info(array);
    array->info.n_blocks = n_blocks;
    array->info.n_elements = n_elements;
    array->info.bytes = bytes;
    return set_words(array, err);
}
