/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * minc_draft.c - what a MINC image has to say of an array that comes from another format. Places: MINC has a direction
 * for each axis in space, of length 1 and at any angle to the others, a step along it, and where the first voxel is
 * along it; the columns of an affine, and its last one seen along them, are that. Values: valid_range is stretched to
 * image-min and image-max, so one slope and intercept become these where that is exact.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "format/minc.h"
#include "format/space.h"

static const double FLAT = 1e-6; /* of a determinant of directions: what is less is no space */

/* ---- Names and units ------------------------------------------------------------------------------ */

static bool is_name(const char *text)
{
    return *text != '\0' && strpbrk(text, "/,. ") == NULL;
}

static void name_axis(const rs_space *space, int d, rs_minc_draft *out)
{
    static const char *const spaces[] = {"xspace", "yspace", "zspace"};
    const rs_space_axis *axis = &space->axis[d];
    rs_minc_dimension *own = &out->dimension[d];
    own->in_space = axis->kind == RS_KIND_SPACE && axis->row >= 0;
    const char *name = own->in_space                   ? spaces[axis->row]
                       : axis->kind == RS_KIND_TIME    ? "time"
                       : axis->kind == RS_KIND_CHANNEL ? "vector_dimension"
                                                       : axis->name;
    bool taken = !is_name(name);
    for (int e = 0; e < d; e++) {
        taken = taken || strcmp(out->dimension[e].name, name) == 0;
    }
    if (taken) {
        (void)snprintf(own->name, sizeof own->name, "axis%d", d);
        own->in_space = false;
    } else {
        (void)snprintf(own->name, sizeof own->name, "%s", name);
    }
}

/* Programs take numbers for millimetres and seconds: known units become these. */
static resplit_status choose_unit(const rs_space_axis *axis, const char *symbol, rs_minc_dimension *own, double *factor,
                                  rs_text *notes, resplit_error *err)
{
    const rs_unit *unit = rs_unit_find(axis->unit);
    *factor = 1;
    (void)snprintf(own->unit, sizeof own->unit, "%s", axis->unit);
    if (unit == NULL || unit->kind != axis->kind || symbol == NULL) {
        return RESPLIT_OK;
    }
    *factor = unit->factor;
    (void)snprintf(own->unit, sizeof own->unit, "%s", symbol);
    return unit->factor == 1 ? RESPLIT_OK
                             : rs_text_add_line(notes, err, "axis %s, in units of a %s, is in %s in MINC", own->name,
                                                axis->unit, symbol);
}

/* ---- Places --------------------------------------------------------------------------------------- */

static double determinant(double c[3][3])
{
    return c[0][0] * (c[1][1] * c[2][2] - c[1][2] * c[2][1]) - c[0][1] * (c[1][0] * c[2][2] - c[1][2] * c[2][0])
           + c[0][2] * (c[1][0] * c[2][1] - c[1][1] * c[2][0]);
}

/* A direction at right angles to those that are there, for each that is not. */
static void complete(double c[3][3], const int *axis)
{
    for (int k = 0; k < 3; k++) {
        int a = (k + 1) % 3, b = (k + 2) % 3;
        double length = 0;
        if (axis[k] >= 0) {
            continue;
        }
        for (int r = 0; r < 3; r++) {
            c[r][k] = r == k; /* until it is known that the others lead elsewhere */
        }
        double cross[3];
        for (int r = 0; r < 3; r++) {
            cross[r] = c[(r + 1) % 3][a] * c[(r + 2) % 3][b] - c[(r + 2) % 3][a] * c[(r + 1) % 3][b];
            length += cross[r] * cross[r];
        }
        for (int r = 0; r < 3 && length > 0; r++) {
            c[r][k] = cross[r] / sqrt(length);
        }
    }
}

/* Where the first voxel is along each direction: those times these are the last column of the affine. */
static resplit_status solve(double c[3][3], const double *place, double *start, resplit_error *err)
{
    double whole = determinant(c);
    if (!(fabs(whole) >= FLAT)) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED,
                       "the axes in space lie in a plane, %.3g %.3g %.3g, %.3g %.3g %.3g and %.3g %.3g %.3g, and MINC "
                       "cannot tell where the image is along them: write NIfTI, HDF5 or Zarr",
                       c[0][0], c[1][0], c[2][0], c[0][1], c[1][1], c[2][1], c[0][2], c[1][2], c[2][2]);
    }
    for (int k = 0; k < 3; k++) {
        double m[3][3];
        memcpy(m, c, sizeof m);
        for (int r = 0; r < 3; r++) {
            m[r][k] = place[r];
        }
        start[k] = determinant(m) / whole + 0.0;
    }
    return RESPLIT_OK;
}

/* Directions lead to where the axis is called by, steps backwards are negative. */
static void set_direction(const rs_space *space, int d, double factor, rs_minc_dimension *own)
{
    int row = space->axis[d].row;
    double length = rs_space_step(space, d), sign = space->affine[row][d] < 0 ? -1 : 1;
    for (int r = 0; r < 3; r++) {
        own->cosines[r] = (length > 0 ? sign * space->affine[r][d] / length : r == row) + 0.0; /* no zero below 0 */
    }
    own->step = length > 0 ? sign * length * factor : 1;
}

static resplit_status place_axes(const rs_space *space, double factor, rs_minc_draft *out, rs_text *notes,
                                 resplit_error *err)
{
    double c[3][3] = {{0}}, place[3], start[3] = {0};
    int axis[3] = {-1, -1, -1};
    for (int d = 0; d < space->ndim; d++) {
        if (out->dimension[d].in_space) {
            int k = space->axis[d].row;
            axis[k] = d;
            set_direction(space, d, factor, &out->dimension[d]);
            for (int r = 0; r < 3; r++) {
                c[r][k] = out->dimension[d].cosines[r];
            }
        }
    }
    for (int r = 0; r < 3; r++) {
        place[r] = space->placed ? space->affine[r][space->ndim] * factor : 0;
    }
    complete(c, axis);
    RS_TRY(solve(c, place, start, err));
    for (int k = 0; k < 3; k++) {
        if (axis[k] >= 0) {
            out->dimension[axis[k]].start = start[k];
        } else if (start[k] != 0) {
            RS_TRY(rs_text_add_line(notes, err, "that the image is at %.9g along %c is not kept: it has no such axis",
                                    start[k], "xyz"[k]));
        }
    }
    return space->placed
               ? RESPLIT_OK
               : rs_text_add_line(notes, err, "where the image is, is not known: it begins at 0 along every axis");
}

static resplit_status draft_axes(const rs_space *space, rs_minc_draft *out, rs_text *notes, resplit_error *err)
{
    double in_space = 1;
    for (int d = 0; d < space->ndim; d++) {
        const rs_space_axis *axis = &space->axis[d];
        rs_minc_dimension *own = &out->dimension[d];
        double factor;
        name_axis(space, d, out);
        RS_TRY(choose_unit(axis,
                           own->in_space                ? "mm"
                           : axis->kind == RS_KIND_TIME ? "s"
                                                        : NULL,
                           own, &factor, notes, err));
        if (own->in_space) {
            in_space = factor; /* the same of all */
        }
        own->start = axis->start * factor;
        own->step = axis->step * factor;
        own->placed = axis->kind != RS_KIND_CHANNEL || own->start != 0 || own->step != 1;
    }
    return place_axes(space, in_space, out, notes, err);
}

/* ---- Values --------------------------------------------------------------------------------------- */

static resplit_status other_type(const rs_dtype *dtype, resplit_error *err)
{
    return rs_fail(err, RESPLIT_EUNSUPPORTED,
                   "MINC has integers of 1, 2 and 4 bytes and reals of 4 and 8, no voxels of type %.40s: give "
                   "--to-dtype, or write NIfTI, HDF5 or Zarr",
                   dtype->descr);
}

/* Numbers that readers would compute the same slope and intercept from. */
static bool is_exact(const rs_minc_draft *draft, double slope, double inter)
{
    double back = (draft->real[1] - draft->real[0]) / (draft->range[1] - draft->range[0]);
    return back == slope && draft->real[0] - draft->range[0] * back == inter;
}

static resplit_status draft_values(const rs_space *space, const rs_dtype *dtype, rs_minc_draft *out, resplit_error *err)
{
    bool whole = dtype->kind == 'i' || dtype->kind == 'u', real = dtype->kind == 'f';
    double bits = 8 * (double)dtype->itemsize;
    if (!(whole && dtype->itemsize <= 4) && !(real && (dtype->itemsize == 4 || dtype->itemsize == 8))) {
        return other_type(dtype, err);
    }
    bool scaled = space->scaling == RS_SCALED;
    if (real) {
        out->real[1] = 1; /* of no meaning, but readers want them */
        return !scaled ? RESPLIT_OK
                       : rs_fail(err, RESPLIT_EUNSUPPORTED,
                                 "values are scaled, by slope %.9g and inter %.9g, but real numbers of MINC are what "
                                 "they are: write NIfTI, HDF5 or Zarr",
                                 space->slope, space->inter);
    }
    out->ranged = true;
    out->range[0] = dtype->kind == 'i' ? -ldexp(1, (int)bits - 1) : 0;
    out->range[1] = ldexp(1, (int)bits - (dtype->kind == 'i')) - 1;
    for (int i = 0; i < 2; i++) {
        out->real[i] = scaled ? out->range[i] * space->slope + space->inter : out->range[i];
    }
    return !scaled || is_exact(out, space->slope, space->inter)
               ? RESPLIT_OK
               : rs_fail(err, RESPLIT_EUNSUPPORTED,
                         "slope %.17g and inter %.17g do not come out the same of image-min and image-max, which MINC "
                         "has in their place: write NIfTI, HDF5 or Zarr",
                         space->slope, space->inter);
}

resplit_status rs_minc_draft_of(const rs_space *space, const int64_t *shape, const rs_dtype *dtype, rs_minc_draft *out,
                                rs_text *notes, resplit_error *err)
{
    *out = (rs_minc_draft){.ndim = space->ndim};
    if (space->ndim < 1) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "an array without axes is no MINC image");
    }
    memcpy(out->shape, shape, (size_t)space->ndim * sizeof *shape);
    if (space->scaling == RS_SCALED_BY_PARTS) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "parts of the image are scaled differently");
    }
    RS_TRY(draft_values(space, dtype, out, err));
    return draft_axes(space, out, notes, err);
}
