/* SPDX-License-Identifier: BSD-3-Clause */
/* space.c - where elements are, as a value. */
#include "format/space.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/nifti.h"

/* ---- Values ------------------------------------------------------------------------------------ */

resplit_status rs_space_new(int ndim, rs_space **out, resplit_error *err)
{
    rs_space *space = *out = calloc(1, sizeof *space);
    if (space == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for the axes of an image");
    }
    space->ndim = ndim;
    space->slope = 1;
    for (int d = 0; d < ndim; d++) {
        space->axis[d].step = 1;
        space->axis[d].row = -1;
        space->header_axis[d] = d;
    }
    return RESPLIT_OK;
}

static resplit_status copy_header(const rs_nifti *from, rs_nifti **out, resplit_error *err)
{
    *out = calloc(1, sizeof **out);
    return *out != NULL ? rs_nifti_copy(from, *out, err) : rs_fail(err, RESPLIT_ENOMEM, "no memory for a header");
}

resplit_status rs_space_copy(const rs_space *from, rs_space **out, resplit_error *err)
{
    rs_space *to = *out = malloc(sizeof *to);
    if (to == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for the axes of an image");
    }
    *to = *from;
    to->header = NULL;
    return from->header != NULL ? copy_header(from->header, &to->header, err) : RESPLIT_OK;
}

void rs_space_free(rs_space *space)
{
    if (space != NULL) {
        rs_nifti_release(space->header);
        free(space->header);
        free(space);
    }
}

bool rs_space_is_finite(const rs_space *space)
{
    bool finite = isfinite(space->slope) && isfinite(space->inter);
    for (int d = 0; d <= space->ndim; d++) {
        for (int k = 0; k < 3; k++) {
            finite = finite && isfinite(space->affine[k][d]);
        }
        finite = finite && (d == space->ndim || (isfinite(space->axis[d].start) && isfinite(space->axis[d].step)));
    }
    return finite;
}

/* ---- Directions -------------------------------------------------------------------------------- */

double rs_space_step(const rs_space *space, int axis)
{
    return hypot(hypot(space->affine[0][axis], space->affine[1][axis]), space->affine[2][axis]);
}

void rs_space_keep_steps(rs_space *space)
{
    space->placed = false;
    for (int d = 0; d <= space->ndim; d++) {
        bool along = d < space->ndim && space->axis[d].row >= 0;
        double step = along ? rs_space_step(space, d) : 0;
        for (int k = 0; k < 3; k++) {
            space->affine[k][d] = along && k == space->axis[d].row ? (step > 0 && isfinite(step) ? step : 1) : 0;
        }
        if (d < space->ndim && !(isfinite(space->axis[d].start) && isfinite(space->axis[d].step))) {
            space->axis[d].start = 0;
            space->axis[d].step = 1;
        }
    }
}

/* The first three axes in space; how many there are. */
static int axes_in_space(const rs_space *space, int axes[3])
{
    int n = 0;
    for (int d = 0; d < space->ndim && n < 3; d++) {
        if (space->axis[d].kind == RS_KIND_SPACE) {
            axes[n++] = d;
        }
    }
    return n;
}

void rs_space_name_axes(rs_space *space)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    int axes[3], n = axes_in_space(space, axes), chosen = 0;
    double best = -1;
    for (int i = 0; i < 6; i++) {
        double sum = 0;
        for (int k = 0; k < n; k++) {
            double step = rs_space_step(space, axes[k]);
            sum += step > 0 ? fabs(space->affine[orders[i][k]][axes[k]]) / step : 0;
        }
        if (sum > best + 1e-9) { /* of equals the first, x, y, z */
            best = sum;
            chosen = i;
        }
    }
    for (int k = 0; k < n; k++) {
        rs_space_axis *axis = &space->axis[axes[k]];
        axis->row = orders[chosen][k];
        (void)snprintf(axis->name, sizeof axis->name, "%c", "xyz"[axis->row]);
    }
}

void rs_space_shift(rs_space *space, const int64_t *start)
{
    for (int d = 0; d < space->ndim; d++) {
        for (int k = 0; k < 3; k++) {
            space->affine[k][space->ndim] += space->affine[k][d] * (double)start[d];
        }
        space->axis[d].start += space->axis[d].step * (double)start[d];
    }
}

void rs_space_turn(rs_space *space, const int *turn)
{
    rs_space before = *space;
    for (int d = 0; d < space->ndim; d++) {
        space->axis[d] = before.axis[turn[d]];
        space->header_axis[d] = before.header_axis[turn[d]];
        for (int k = 0; k < 3; k++) {
            space->affine[k][d] = before.affine[k][turn[d]];
        }
    }
}

/* In place. */
static resplit_status cut_header(rs_space *space, const int64_t *start, const int64_t *shape, resplit_error *err)
{
    int64_t from[RS_NIFTI_AXES], length[RS_NIFTI_AXES];
    rs_nifti piece;
    for (int d = 0; d < space->ndim; d++) { /* as many as the header has */
        from[space->header_axis[d]] = start[d];
        length[space->header_axis[d]] = shape[d];
    }
    resplit_status rc = rs_nifti_piece(space->header, from, length, &piece, err);
    if (rc != RESPLIT_OK) {
        rs_nifti_release(&piece);
        return rc;
    }
    rs_nifti_release(space->header);
    *space->header = piece;
    return RESPLIT_OK;
}

resplit_status rs_space_region(const rs_space *whole, const int64_t *start, const int64_t *shape, rs_space **out,
                               resplit_error *err)
{
    resplit_status rc = rs_space_copy(whole, out, err);
    if (rc == RESPLIT_OK && *out != NULL) {
        rs_space_shift(*out, start);
        rc = whole->header != NULL ? cut_header(*out, start, shape, err) : RESPLIT_OK;
    }
    if (rc != RESPLIT_OK) {
        rs_space_free(*out);
        *out = NULL;
    }
    return rc;
}

bool rs_space_split(const rs_space *space, double *scale, double *translation)
{
    static const double rounding = 0x1p-23; /* of a float, in which most affines were written */
    bool exact = true, has[3] = {false, false, false};
    for (int d = 0; d < space->ndim; d++) {
        int row = space->axis[d].row;
        scale[d] = space->axis[d].step;
        translation[d] = space->axis[d].start;
        if (space->axis[d].kind != RS_KIND_SPACE) {
            continue;
        }
        double step = rs_space_step(space, d);
        bool along = row >= 0;
        for (int k = 0; k < 3; k++) {
            along = along && (k == row || fabs(space->affine[k][d]) <= rounding * step);
        }
        has[row >= 0 ? row : 0] = true;
        scale[d] = along ? space->affine[row][d] : row >= 0 ? copysign(step, space->affine[row][d]) : step;
        translation[d] = row >= 0 ? space->affine[row][space->ndim] : 0;
        exact = exact && along;
    }
    for (int k = 0; k < 3; k++) { /* of an image in a plane: where that is */
        exact = exact && (has[k] || space->affine[k][space->ndim] == 0);
    }
    return exact;
}

/* ---- Orders ------------------------------------------------------------------------------------ */

/* Where an axis is listed among the others. */
static int rank_of(const rs_space *space, rs_space_order order, int d)
{
    static const int ranks[][4] = {
        [RS_ORDER_OME] = {[RS_KIND_TIME] = 0, [RS_KIND_CHANNEL] = 1, [RS_KIND_OTHER] = 2, [RS_KIND_SPACE] = 3},
        [RS_ORDER_NIFTI] = {[RS_KIND_SPACE] = 0, [RS_KIND_TIME] = 1, [RS_KIND_CHANNEL] = 2, [RS_KIND_OTHER] = 3},
        [RS_ORDER_MINC] = {[RS_KIND_OTHER] = 0, [RS_KIND_TIME] = 1, [RS_KIND_SPACE] = 2, [RS_KIND_CHANNEL] = 3},
    };
    const rs_space_axis *axis = &space->axis[d];
    if (order == RS_ORDER_NIFTI && space->header != NULL) {
        return space->header_axis[d];
    }
    int rank = 4 * ranks[order][axis->kind];
    return axis->row < 0 ? rank : order == RS_ORDER_NIFTI ? rank + axis->row : rank + 2 - axis->row;
}

void rs_space_sort(const rs_space *space, rs_space_order order, int *turn)
{
    for (int d = 0; d < space->ndim; d++) {
        int at = d;
        for (; at > 0 && rank_of(space, order, turn[at - 1]) > rank_of(space, order, d); at--) {
            turn[at] = turn[at - 1];
        }
        turn[at] = d;
    }
}

/* ---- Units ------------------------------------------------------------------------------------- */

static const rs_unit units[] = {
    {"meter", "m", 1e3, RS_KIND_SPACE, 1},
    {"millimeter", "mm", 1, RS_KIND_SPACE, 2},
    {"micrometer", "um", 1e-3, RS_KIND_SPACE, 3},
    {"micrometer", "\xc2\xb5m", 1e-3, RS_KIND_SPACE, 3},
    {"micrometer", "micron", 1e-3, RS_KIND_SPACE, 3},
    {"nanometer", "nm", 1e-6, RS_KIND_SPACE, 0},
    {"angstrom", "A", 1e-7, RS_KIND_SPACE, 0},
    {"picometer", "pm", 1e-9, RS_KIND_SPACE, 0},
    {"centimeter", "cm", 10, RS_KIND_SPACE, 0},
    {"inch", "in", 25.4, RS_KIND_SPACE, 0},
    {"second", "s", 1, RS_KIND_TIME, 8},
    {"second", "sec", 1, RS_KIND_TIME, 8},
    {"millisecond", "ms", 1e-3, RS_KIND_TIME, 16},
    {"microsecond", "us", 1e-6, RS_KIND_TIME, 24},
    {"minute", "min", 60, RS_KIND_TIME, 0},
    {"hour", "h", 3600, RS_KIND_TIME, 0},
    {"day", "d", 86400, RS_KIND_TIME, 0},
    {"hertz", "Hz", 1, RS_KIND_OTHER, 32},
    {"ppm", "ppm", 1, RS_KIND_OTHER, 40},
    {"radian per second", "rad/s", 1, RS_KIND_OTHER, 48},
};

const rs_unit *rs_unit_find(const char *text)
{
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(units[i].name, text) == 0 || strcmp(units[i].symbol, text) == 0) {
            return &units[i];
        }
    }
    return NULL;
}

const rs_unit *rs_unit_of_code(int code)
{
    for (size_t i = 0; code != 0 && i < sizeof units / sizeof units[0]; i++) {
        if (units[i].code == code) {
            return &units[i];
        }
    }
    return NULL;
}

void rs_space_set_unit(rs_space_axis *axis, const char *text)
{
    const rs_unit *unit = rs_unit_find(text);
    (void)snprintf(axis->unit, sizeof axis->unit, "%s", unit != NULL ? unit->name : text);
}
