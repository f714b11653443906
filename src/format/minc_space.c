/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * minc_space.c - where the voxels of a MINC image are: along each axis in space at start + step * index, in the
 * direction of its cosines. What stored integers mean: valid_range is stretched to image-min and image-max.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "format/literal.h"
#include "format/minc.h"
#include "format/space.h"

/* Up to `most` numbers of an attribute; how many there are. */
static int numbers_of(const rs_minc *minc, const char *object, const char *name, int most, double *out)
{
    const rs_minc_field *field = rs_minc_find_field(minc, object, name);
    int n = field == NULL || field->text ? 0 : (int)rs_min((int64_t)(field->value.n / sizeof *out), most);
    if (n > 0) {
        memcpy(out, field->value.s, (size_t)n * sizeof *out);
    }
    for (int i = 0; i < n; i++) {
        if (!isfinite(out[i])) {
            return 0;
        }
    }
    return n;
}

/* ---- Axes --------------------------------------------------------------------------------------- */

/* That everybody can write. */
static bool is_word(const char *text, size_t n)
{
    return n > 0 && n < RS_SPACE_NAME && rs_utf8_is_valid(text, n);
}

static void name_axis(const rs_minc *minc, int d, rs_space_axis *out)
{
    static const struct {
        const char *minc, *name;
        rs_axis_kind kind;
        int row;
    } known[] = {
        {"xspace", "x", RS_KIND_SPACE, 0},
        {"yspace", "y", RS_KIND_SPACE, 1},
        {"zspace", "z", RS_KIND_SPACE, 2},
        {"time", "t", RS_KIND_TIME, -1},
        {"vector_dimension", "c", RS_KIND_CHANNEL, -1},
    };
    const char *name = minc->axis[d].name;
    if (is_word(name, strlen(name))) {
        memcpy(out->name, name, strlen(name) + 1);
    } else {
        (void)snprintf(out->name, sizeof out->name, "axis%d", d);
    }
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i].minc, name) == 0) {
            memcpy(out->name, known[i].name, 2);
            out->kind = known[i].kind;
            out->row = known[i].row;
        }
    }
}

/* A direction, and where its first voxel is along it; the one that the axis is called by where the file
   does not say. */
static void place_axis(const rs_minc *minc, int d, const char *object, rs_space *out)
{
    double cosine[3];
    const rs_minc_axis *axis = &minc->axis[d];
    bool told = numbers_of(minc, object, "direction_cosines", 3, cosine) == 3
                && (cosine[0] != 0 || cosine[1] != 0 || cosine[2] != 0);
    for (int k = 0; k < 3; k++) {
        double c = told ? cosine[k] : k == out->axis[d].row;
        out->affine[k][d] = c * axis->step;
        out->affine[k][out->ndim] += c * axis->start;
    }
    out->placed = true;
}

static resplit_status read_axis(const rs_minc *minc, int d, rs_space *out, rs_text *notes, resplit_error *err)
{
    char object[RS_MINC_PATH];
    rs_space_axis *axis = &out->axis[d];
    (void)snprintf(object, sizeof object, "/minc-2.0/dimensions/%s", minc->axis[d].name);
    const rs_minc_field *unit = rs_minc_find_field(minc, object, "units");
    name_axis(minc, d, axis);
    if (unit != NULL && unit->text && is_word(unit->value.s, unit->value.n)) {
        rs_space_set_unit(axis, unit->value.s);
    }
    if (axis->kind == RS_KIND_SPACE) {
        place_axis(minc, d, object, out);
    } else if (minc->axis[d].placed) {
        axis->start = minc->axis[d].start;
        axis->step = minc->axis[d].step;
    }
    return minc->axis[d].irregular ? rs_text_add_line(
               notes, err, "the coordinates of %s, which is irregular, are not kept", minc->axis[d].name)
                                   : RESPLIT_OK;
}

/* One unit for all axes in space, which is all that MINC knows: millimetres. */
static void agree_on_units(rs_space *space)
{
    const char *first = NULL;
    for (int d = 0; d < space->ndim; d++) {
        if (space->axis[d].kind == RS_KIND_SPACE) {
            first = first == NULL ? space->axis[d].unit : first;
            if (strcmp(first, space->axis[d].unit) != 0) {
                memcpy(space->axis[d].unit, first, sizeof space->axis[d].unit);
            }
        }
    }
}

/* ---- Values -------------------------------------------------------------------------------------- */

/* Of one number for all, or the same for all slices. */
static bool get_one(const rs_minc *minc, const char *name, double *out)
{
    for (int i = 0; i < minc->n_tables; i++) {
        const rs_minc_table *table = &minc->table[i];
        int64_t n = 1;
        if (strcmp(strrchr(table->name, '/') + 1, name) != 0) {
            continue;
        }
        for (int k = 0; k < table->ndim; k++) {
            n *= minc->shape[table->axis[k]]; /* of what is held in memory */
        }
        *out = n > 0 ? table->value[0] : 0;
        for (int64_t k = 1; k < n; k++) {
            if (table->value[k] != *out) {
                return false;
            }
        }
    }
    return true;
}

static void get_range(const rs_minc *minc, const rs_dtype *dtype, double range[2])
{
    double bits = 8 * (double)dtype->itemsize;
    range[0] = dtype->kind == 'i' ? -ldexp(1, (int)bits - 1) : 0;
    range[1] = ldexp(1, (int)bits - (dtype->kind == 'i')) - 1;
    double told[2];
    if (numbers_of(minc, RS_MINC_IMAGE, "valid_range", 2, told) == 2 && told[0] != told[1]) {
        range[0] = fmin(told[0], told[1]);
        range[1] = fmax(told[0], told[1]);
    }
}

/* Reals are what they are. */
static void read_scaling(const rs_minc *minc, const rs_dtype *dtype, rs_space *out)
{
    double least = 0, most = 1, range[2];
    bool any = false;
    for (int i = 0; i < minc->n_tables; i++) {
        any = any || strstr(minc->table[i].name, "/image-max") != NULL;
    }
    if (!any || (dtype->kind != 'i' && dtype->kind != 'u')) {
        return;
    }
    if (!get_one(minc, "image-min", &least) || !get_one(minc, "image-max", &most)) {
        out->scaling = RS_SCALED_BY_PARTS;
        return;
    }
    get_range(minc, dtype, range);
    double slope = (most - least) / (range[1] - range[0]), inter = least - range[0] * slope;
    if (isfinite(slope) && isfinite(inter) && (slope != 1 || inter != 0)) {
        out->scaling = RS_SCALED;
        out->slope = slope;
        out->inter = inter;
    }
}

resplit_status rs_minc_space(const rs_minc *minc, const rs_dtype *dtype, rs_space **out, rs_text *notes,
                             resplit_error *err)
{
    RS_TRY(rs_space_new(minc->ndim, out, err));
    rs_space *space = *out;
    resplit_status rc = RESPLIT_OK;
    bool regular = true;
    for (int d = 0; d < minc->ndim && rc == RESPLIT_OK; d++) {
        rc = read_axis(minc, d, space, notes, err);
        regular = regular && !(minc->axis[d].irregular && space->axis[d].kind == RS_KIND_SPACE)
                  && (space->axis[d].kind != RS_KIND_SPACE || rs_space_step(space, d) > 0);
    }
    agree_on_units(space);
    read_scaling(minc, dtype, space);
    space->placed = space->placed && regular && rs_space_is_finite(space);
    if (!space->placed) {
        rs_space_keep_steps(space);
    }
    if (rc != RESPLIT_OK) {
        rs_space_free(space);
        *out = NULL;
    }
    return rc;
}
