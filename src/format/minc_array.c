/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * minc_array.c - MINC images as arrays. An array keeps what is known of the whole image; the metadata of a file are
 * made from it by where the file is, and when blocks are opened each must be what the first one becomes at its place.
 * Numbers that scale slices are put together from all of them.
 */
#include "format/minc_array.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/hdf5_array.h"
#include "format/minc.h"

/* ---- Blocks of a folder -------------------------------------------------------------------------- */

static resplit_status other_image(const char *shown, const char *other, const char *field, const char *has,
                                  const char *wants, resplit_error *err)
{
    return rs_fail(err, RESPLIT_EFORMAT,
                   "'%s' does not belong to the same image as '%s': it has %s %s, and at its place that would be %s",
                   shown, other, field, has, wants);
}

/* A millionth of a voxel, or what rounding does to a position: programs compute it in other ways. */
static resplit_status check_starts(const rs_minc *whole, const rs_minc *block, const rs_box *box, const char *shown,
                                   const char *first, resplit_error *err)
{
    for (int d = 0; d < whole->ndim; d++) {
        const rs_minc_axis *axis = &whole->axis[d];
        double wants = rs_minc_start(whole, d, box->lo[d]), has = block->axis[d].start;
        double tolerance = fmax(1e-6 * fabs(axis->step), 0x1p-49 * fmax(fabs(axis->start), fabs(wants)));
        if (!axis->irregular && axis->placed && !(has == wants || fabs(has - wants) <= tolerance)) {
            char texts[2][32], field[RS_MINC_NAME + 16];
            (void)snprintf(texts[0], sizeof texts[0], "%.17g", has);
            (void)snprintf(texts[1], sizeof texts[1], "%.17g", wants);
            (void)snprintf(field, sizeof field, "start of %s", axis->name);
            return other_image(shown, first, field, texts[0], texts[1], err);
        }
    }
    return RESPLIT_OK;
}

static resplit_status unequal(const resplit_array *array, const rs_minc_table *table, int64_t cell, double has,
                              const char *shown, resplit_error *err)
{
    char other[RS_NAME_MAX];
    int64_t index[RS_MAX_NDIM] = {0}, number = table->by[cell] - 1;
    for (int d = array->layout.ndim - 1; d >= 0; d--) {
        index[d] = number % array->layout.axis[d].n;
        number /= array->layout.axis[d].n;
    }
    RS_TRY(rs_array_block_name(array, index, other, err));
    return rs_fail(
        err, RESPLIT_EFORMAT,
        "'%s' and '%s' differ in %s, %.17g and %.17g: voxels that are stored alike would not mean the same, and "
        "blocks that are scaled one by one cannot become one image as they are",
        shown, other, strrchr(table->name, '/') + 1, has, table->value[cell]);
}

/* Zeros are the same by their sign, and NaNs by what they carry. */
static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* What a block says of a table goes to its place; where another block has said something, it must be the same. */
static resplit_status paste(const resplit_array *array, rs_minc_table *table, const rs_minc_table *part, int64_t number,
                            const rs_box *box, const char *shown, resplit_error *err)
{
    rs_box own = rs_minc_table_box(table, box), image = {.lo = {0}};
    memcpy(image.hi, array->minc->shape, sizeof array->minc->shape);
    rs_view to = rs_minc_view(table, &image, table->value), from = rs_minc_view(table, box, part->value);
    int64_t at[RS_MAX_NDIM];
    memcpy(at, own.lo, sizeof at);
    do {
        int64_t cell = rs_box_offset(table->ndim, &to.box, to.strides, at) / (int64_t)sizeof(double);
        const char *value = from.base + rs_box_offset(table->ndim, &from.box, from.strides, at);
        double has;
        memcpy(&has, value, sizeof has);
        if (table->by[cell] > 0 && bits_of(has) != bits_of(table->value[cell])) {
            return unequal(array, table, cell, has, shown, err);
        }
        table->value[cell] = has;
        table->by[cell] = number + 1;
    } while (rs_index_next(table->ndim, own.lo, own.hi, at));
    return RESPLIT_OK;
}

static const rs_minc_table *find_table(const rs_minc *minc, const rs_minc_table *like)
{
    for (int i = 0; i < minc->n_tables; i++) {
        const rs_minc_table *table = &minc->table[i];
        if (strcmp(table->name, like->name) == 0 && table->ndim == like->ndim
            && memcmp(table->axis, like->axis, sizeof table->axis) == 0) {
            return table;
        }
    }
    return NULL;
}

static resplit_status paste_all(resplit_array *array, const rs_minc *block, int64_t number, const rs_box *box,
                                const char *shown, const char *first, resplit_error *err)
{
    rs_minc *whole = array->minc;
    if (block->n_tables != whole->n_tables) {
        return rs_fail(err, RESPLIT_EFORMAT, "'%s' has other scalings or coordinates than '%s'", shown, first);
    }
    for (int i = 0; i < whole->n_tables; i++) {
        const rs_minc_table *part = find_table(block, &whole->table[i]);
        if (part == NULL) {
            return rs_fail(err, RESPLIT_EFORMAT, "'%s' has not '%s' along the axes that '%s' has it along", shown,
                           whole->table[i].name, first);
        }
        RS_TRY(paste(array, &whole->table[i], part, number, box, shown, err));
    }
    return RESPLIT_OK;
}

/* Room for what all blocks say. */
static resplit_status widen(resplit_array *array, rs_minc *minc, resplit_error *err)
{
    for (int d = 0; d < minc->ndim; d++) {
        minc->shape[d] = array->layout.axis[d].extent;
    }
    for (int i = 0; i < minc->n_tables; i++) {
        rs_minc_table *table = &minc->table[i];
        int64_t n = 1;
        bool fits = true;
        for (int k = 0; k < table->ndim; k++) {
            fits = fits && rs_mul(n, minc->shape[table->axis[k]], &n);
        }
        if (!fits || n > RS_MINC_MOST_CELLS) {
            return rs_fail(err, RESPLIT_EUNSUPPORTED, "'%s' would have more than %d numbers", table->name,
                           RS_MINC_MOST_CELLS);
        }
        free(table->value);
        table->value = calloc((size_t)rs_max(1, n), sizeof *table->value);
        table->by = calloc((size_t)rs_max(1, n), sizeof *table->by);
        if (table->value == NULL || table->by == NULL) {
            return rs_fail(err, RESPLIT_ENOMEM, "no memory for a table of %lld numbers", (long long)n);
        }
    }
    return RESPLIT_OK;
}

/* Everything else that a block's file has, of the first one. */
static resplit_status take_head(const resplit_array *array, const char *shown, resplit_error *err)
{
    rs_hdf5_session session;
    rs_text path = {0};
    char name[RS_NAME_MAX];
    hid_t file = -1;
    RS_TRY(rs_array_block_name(array, (const int64_t[RS_MAX_NDIM]){0}, name, err));
    RS_TRY(rs_text_add(&path, err, "%s/%s", array->path, name));
    resplit_status rc = rs_hdf5_enter(&session, err);
    if (rc == RESPLIT_OK) {
        rc = rs_hdf5_open_file(path.s, &file, err);
        rc = rc == RESPLIT_OK ? rs_minc_take(file, shown, array->minc, err) : rc;
        rs_hdf5_close(file);
        rs_hdf5_leave(&session);
    }
    rs_text_release(&path);
    return rc;
}

static resplit_status take_first(resplit_array *array, const rs_box *box, const char *shown, rs_head *head,
                                 resplit_error *err)
{
    rs_minc_free(array->minc);
    array->minc = head->minc;
    head->minc = NULL;
    RS_TRY(take_head(array, shown, err));                /* as long as its shape is that of the block */
    RS_TRY(rs_minc_copy(array->minc, &head->minc, err)); /* its tables go to their place as those of the others */
    RS_TRY(widen(array, array->minc, err));
    return paste_all(array, head->minc, 0, box, shown, shown, err);
}

resplit_status rs_minc_check_block(resplit_array *array, int64_t number, const rs_box *box, const char *shown,
                                   const char *first, rs_head *head, resplit_error *err)
{
    rs_minc_difference found;
    if (number == 0) {
        return take_first(array, box, shown, head, err);
    }
    rs_minc_compare_fields(array->minc, head->minc, &found);
    if (found.field[0] != '\0') {
        return other_image(shown, first, found.field, found.has, found.wants, err);
    }
    if (head->minc->type.n != array->minc->type.n
        || memcmp(head->minc->type.s, array->minc->type.s, array->minc->type.n) != 0) {
        return rs_fail(err, RESPLIT_EFORMAT, "'%s' has voxels of another type, or other labels, than '%s'", shown,
                       first);
    }
    RS_TRY(paste_all(array, head->minc, number, box, shown, first, err));
    RS_TRY(check_starts(array->minc, head->minc, box, shown, first, err));
    if (found.noted[0] != '\0' && array->notes.n == 0) {
        return rs_text_add(&array->notes, err, "blocks differ in %s ('%s'): that of the first, '%s', is kept",
                           found.noted, shown, first);
    }
    return RESPLIT_OK;
}

/* ---- Words ---------------------------------------------------------------------------------------- */

resplit_status rs_minc_note_loss(const resplit_array *source, resplit_array *array, resplit_error *err)
{
    return rs_text_add(&array->notes, err,
                       "of MINC, format %s does not keep names, places and steps of axes, nor what stored numbers mean "
                       "(image-min, image-max, valid_range): '%s' has them",
                       array->format->name, source->path != NULL ? source->path : "the source");
}

/* "zspace -72 by 9, yspace ..., image-max along zspace" */
resplit_status rs_minc_describe(const rs_minc *minc, rs_text *out, resplit_error *err)
{
    for (int d = 0; d < minc->ndim; d++) {
        const rs_minc_axis *axis = &minc->axis[d];
        RS_TRY(rs_text_add(out, err, "%s%s", d > 0 ? ", " : "", axis->name));
        if (axis->irregular) {
            RS_TRY(rs_text_add(out, err, " irregular from %.6g", rs_minc_coordinates(minc, d)->value[0]));
        } else if (axis->placed) {
            RS_TRY(rs_text_add(out, err, " from %.6g by %.6g", axis->start, axis->step));
        }
    }
    for (int i = 0; i < minc->n_tables; i++) {
        const rs_minc_table *table = &minc->table[i];
        const char *name = strrchr(table->name, '/') + 1;
        if (strcmp(name, "image-max") != 0) {
            continue;
        }
        RS_TRY(table->ndim > 0 ? rs_text_add(out, err, ", scaled along ")
                               : rs_text_add(out, err, ", image-max %.6g", table->value[0]));
        for (int k = 0; k < table->ndim; k++) {
            RS_TRY(rs_text_add(out, err, "%s%s", k > 0 ? " and " : "", minc->axis[table->axis[k]].name));
        }
    }
    return RESPLIT_OK;
}
