/* SPDX-License-Identifier: BSD-3-Clause */
/* nifti_space.c - where the voxels of a NIfTI image are: from its header, and into a new one. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/nifti.h"
#include "format/space.h"

enum { TIME = 3, FIFTH = 4, UNITS_IN_SPACE = 7, UNITS_IN_TIME = 0x38, SCANNER = 1 };

/* ---- From a header ------------------------------------------------------------------------------ */

/* What counts is the sform, as for most readers, then the qform; without both there are only steps. */
static void read_sform(const rs_nifti *nifti, rs_space *out)
{
    for (int k = 0; k < 3; k++) {
        rs_nifti_id row = (rs_nifti_id)(RS_NI_SROW_X + k);
        for (int d = 0; d < 3 && d < out->ndim; d++) {
            out->affine[k][d] = rs_nifti_real(nifti, row, d);
        }
        out->affine[k][out->ndim] = rs_nifti_real(nifti, row, 3);
    }
}

/* As the NIfTI library does where a size makes no sense. */
static double size_of(const rs_nifti *nifti, int d)
{
    double size = rs_nifti_real(nifti, RS_NI_PIXDIM, d + 1);
    return size > 0 && isfinite(size) ? size : 1;
}

static void read_qform(const rs_nifti *nifti, rs_space *out)
{
    double turn[3][3];
    rs_nifti_rotation(nifti, turn);
    for (int k = 0; k < 3; k++) {
        for (int d = 0; d < 3 && d < out->ndim; d++) {
            bool mirrored = d == 2 && rs_nifti_real(nifti, RS_NI_PIXDIM, 0) < 0;
            out->affine[k][d] = turn[k][d] * size_of(nifti, d) * (mirrored ? -1 : 1);
        }
        out->affine[k][out->ndim] = rs_nifti_real(nifti, (rs_nifti_id)(RS_NI_QOFFSET_X + k), 0);
    }
}

static void read_steps(const rs_nifti *nifti, rs_space *out)
{
    memset(out->affine, 0, sizeof out->affine);
    for (int d = 0; d < 3 && d < out->ndim; d++) {
        out->affine[d][d] = size_of(nifti, d);
    }
}

static bool is_sound(const rs_space *space)
{
    bool sound = rs_space_is_finite(space);
    for (int d = 0; d < 3 && d < space->ndim; d++) {
        sound = sound && rs_space_step(space, d) > 0;
    }
    return sound;
}

static void read_places(const rs_nifti *nifti, rs_space *out)
{
    if (rs_nifti_int(nifti, RS_NI_SFORM_CODE, 0) > 0) {
        read_sform(nifti, out);
        out->placed = is_sound(out);
    }
    if (!out->placed && rs_nifti_int(nifti, RS_NI_QFORM_CODE, 0) > 0) {
        read_qform(nifti, out);
        out->placed = is_sound(out);
    }
    if (!out->placed) {
        read_steps(nifti, out);
    }
    rs_space_name_axes(out);
}

static void read_axis(const rs_nifti *nifti, int d, rs_space_axis *out)
{
    static const char *const names[RS_NIFTI_AXES] = {"x", "y", "z", "t", "c", "u", "v"};
    int code = (int)rs_nifti_int(nifti, RS_NI_XYZT_UNITS, 0);
    const rs_unit *unit = rs_unit_of_code(code & (d < TIME ? UNITS_IN_SPACE : UNITS_IN_TIME));
    out->kind = d < TIME ? RS_KIND_SPACE : d == TIME ? RS_KIND_TIME : d == FIFTH ? RS_KIND_CHANNEL : RS_KIND_OTHER;
    rs_space_set_unit(out, unit != NULL && d <= TIME ? unit->name : "");
    memcpy(out->name, names[d], strlen(names[d]) + 1);
    if (d == TIME && unit != NULL && unit->kind == RS_KIND_OTHER) { /* spectra */
        out->kind = RS_KIND_OTHER;
        out->name[0] = 'f';
    }
    if (d >= TIME) {
        double start = d == TIME ? rs_nifti_real(nifti, RS_NI_TOFFSET, 0) : 0;
        out->step = size_of(nifti, d);
        out->start = isfinite(start) ? start : 0;
    }
}

resplit_status rs_nifti_space(const rs_nifti *nifti, rs_space **out, resplit_error *err)
{
    double slope = rs_nifti_real(nifti, RS_NI_SCL_SLOPE, 0), inter = rs_nifti_real(nifti, RS_NI_SCL_INTER, 0);
    RS_TRY(rs_space_new(nifti->ndim, out, err));
    rs_space *space = *out;
    for (int d = 0; d < nifti->ndim; d++) {
        read_axis(nifti, d, &space->axis[d]);
    }
    read_places(nifti, space);
    if (isfinite(slope) && isfinite(inter) && slope != 0 && (slope != 1 || inter != 0)) {
        space->scaling = RS_SCALED;
        space->slope = slope;
        space->inter = inter;
    }
    space->header = calloc(1, sizeof *space->header);
    resplit_status rc = space->header != NULL ? rs_nifti_copy(nifti, space->header, err)
                                              : rs_fail(err, RESPLIT_ENOMEM, "no memory for a header");
    if (rc != RESPLIT_OK) {
        rs_space_free(space);
        *out = NULL;
    }
    return rc;
}

/* ---- Into a header ------------------------------------------------------------------------------ */

typedef double matrix[3][4]; /* columns of i, j, k, and where they begin */

static double dot(const matrix m, int a, int b)
{
    return m[0][a] * m[0][b] + m[1][a] * m[1][b] + m[2][a] * m[2][b];
}

/* A column that the array has no axis in space for: at right angles to the others, as long as the header says. */
static void fill_column(matrix m, int column, double step)
{
    int a = (column + 1) % 3, b = (column + 2) % 3;
    double length = 0;
    for (int k = 0; k < 3; k++) {
        m[k][column] = m[(k + 1) % 3][a] * m[(k + 2) % 3][b] - m[(k + 2) % 3][a] * m[(k + 1) % 3][b];
        length += m[k][column] * m[k][column];
    }
    for (int k = 0; k < 3; k++) {
        m[k][column] = step * (length > 0 ? m[k][column] / sqrt(length) : k == column);
    }
}

/* The affine of the first three axes, in a unit that NIfTI has. */
static void get_matrix(const rs_nifti *nifti, const rs_space *space, double factor, matrix out)
{
    for (int d = 0; d < 3; d++) {
        bool there = d < space->ndim && space->axis[d].kind == RS_KIND_SPACE;
        for (int k = 0; k < 3; k++) {
            out[k][d] = there ? space->affine[k][d] * factor : k == d;
        }
    }
    for (int d = 2; d >= 0; d--) {
        if (d >= space->ndim || space->axis[d].kind != RS_KIND_SPACE) {
            fill_column(out, d, size_of(nifti, d));
        }
    }
    for (int k = 0; k < 3; k++) {
        out[k][3] = space->affine[k][space->ndim] * factor;
    }
}

static bool is_rotation(const matrix m)
{
    static const double rounding = 0x1p-20; /* of floats that went through a quaternion */
    bool right = true;
    for (int d = 0; d < 3; d++) {
        int e = (d + 1) % 3;
        right = right && fabs(dot(m, d, e)) <= rounding * sqrt(dot(m, d, d) * dot(m, e, e));
    }
    return right;
}

/* The largest of its four numbers is found from the diagonal, the others from what stands beside it. */
static void set_quaternion(rs_nifti *nifti, double r[3][3])
{
    double q[4] = {1 + r[0][0] + r[1][1] + r[2][2], 1 + r[0][0] - r[1][1] - r[2][2], 1 - r[0][0] + r[1][1] - r[2][2],
                   1 - r[0][0] - r[1][1] + r[2][2]};
    const double product[4][4] = {
        {0, r[2][1] - r[1][2], r[0][2] - r[2][0], r[1][0] - r[0][1]},
        {r[2][1] - r[1][2], 0, r[0][1] + r[1][0], r[0][2] + r[2][0]},
        {r[0][2] - r[2][0], r[0][1] + r[1][0], 0, r[1][2] + r[2][1]},
        {r[1][0] - r[0][1], r[0][2] + r[2][0], r[1][2] + r[2][1], 0},
    };
    int largest = 0;
    for (int i = 1; i < 4; i++) {
        largest = q[i] > q[largest] ? i : largest;
    }
    double root = sqrt(q[largest]);
    for (int i = 0; i < 4; i++) {
        q[i] = i == largest ? root / 2 : product[largest][i] / (2 * root);
    }
    for (int i = 1; i < 4; i++) { /* the first is not stored, and taken as positive */
        rs_nifti_set_real(nifti, (rs_nifti_id)(RS_NI_QUATERN_B + i - 1), 0, q[0] < 0 ? -q[i] : q[i]);
    }
}

static void set_qform(rs_nifti *nifti, const matrix m)
{
    double r[3][3];
    for (int d = 0; d < 3; d++) {
        for (int k = 0; k < 3; k++) {
            r[k][d] = m[k][d] / sqrt(dot(m, d, d));
        }
    }
    double determinant = 0;
    for (int k = 0; k < 3; k++) {
        determinant += r[k][0] * (r[(k + 1) % 3][1] * r[(k + 2) % 3][2] - r[(k + 2) % 3][1] * r[(k + 1) % 3][2]);
    }
    for (int k = 0; k < 3; k++) {
        r[k][2] = determinant < 0 ? -r[k][2] : r[k][2];
        rs_nifti_set_real(nifti, (rs_nifti_id)(RS_NI_QOFFSET_X + k), 0, m[k][3]);
    }
    rs_nifti_set_real(nifti, RS_NI_PIXDIM, 0, determinant < 0 ? -1 : 1);
    set_quaternion(nifti, r);
    rs_nifti_set_int(nifti, RS_NI_QFORM_CODE, 0, SCANNER);
}

/* The code of a unit, and what numbers are multiplied by to have it. */
static int choose_unit(const char *name, const char *usual, const char *small, double *factor)
{
    const rs_unit *unit = rs_unit_find(name), *to;
    *factor = 1;
    if (unit == NULL || unit->code != 0) {
        return unit != NULL ? unit->code : 0;
    }
    to = rs_unit_find(unit->factor < 1e-3 ? small : usual);
    *factor = unit->factor / to->factor;
    return to->code;
}

static resplit_status note_unit(const rs_space_axis *axis, int code, rs_text *notes, resplit_error *err)
{
    return axis->unit[0] != '\0' && code == 0 ? rs_text_add_line(
               notes, err, "unit '%s' of axis %s is not kept: NIfTI has no such unit", axis->unit, axis->name)
                                              : RESPLIT_OK;
}

/* Which axis has which meaning is told by its place only. */
static resplit_status note_meaning(const rs_space *space, rs_text *notes, resplit_error *err)
{
    static const char *const meanings[] = {"space", "space", "space", "time"};
    for (int d = 0; d < space->ndim && d <= TIME; d++) {
        rs_axis_kind wants = d < TIME ? RS_KIND_SPACE : RS_KIND_TIME;
        if (space->axis[d].kind != wants) {
            RS_TRY(rs_text_add_line(notes, err, "axis %d is %s, which NIfTI takes for one in %s", d,
                                    space->axis[d].name, meanings[d]));
        }
    }
    return RESPLIT_OK;
}

static void set_places(rs_nifti *nifti, const rs_space *space, double factor)
{
    matrix m;
    get_matrix(nifti, space, factor, m);
    for (int k = 0; k < 3; k++) {
        for (int d = 0; d < 4; d++) {
            rs_nifti_set_real(nifti, (rs_nifti_id)(RS_NI_SROW_X + k), d, m[k][d]);
        }
    }
    rs_nifti_set_int(nifti, RS_NI_SFORM_CODE, 0, SCANNER);
    if (is_rotation(m)) {
        set_qform(nifti, m);
    }
}

/* Rounded, where a version has floats: all values are told by these two. */
static resplit_status set_scaling(rs_nifti *nifti, const rs_space *space, rs_text *notes, resplit_error *err)
{
    rs_nifti_set_real(nifti, RS_NI_SCL_SLOPE, 0, space->slope);
    rs_nifti_set_real(nifti, RS_NI_SCL_INTER, 0, space->inter);
    bool same = rs_nifti_real(nifti, RS_NI_SCL_SLOPE, 0) == space->slope
                && rs_nifti_real(nifti, RS_NI_SCL_INTER, 0) == space->inter;
    return same ? RESPLIT_OK
                : rs_text_add_line(notes, err,
                                   "scl_slope %.17g and scl_inter %.17g are rounded to floats: nifti2 keeps them",
                                   space->slope, space->inter);
}

resplit_status rs_nifti_set_space(rs_nifti *nifti, const rs_space *space, rs_text *notes, resplit_error *err)
{
    double in_space = 1, in_time = 1;
    int codes = 0, time = 0;
    for (int d = 0; d < space->ndim; d++) {
        const rs_space_axis *axis = &space->axis[d];
        bool spatial = axis->kind == RS_KIND_SPACE, fourth = d == TIME && !spatial;
        if (spatial && codes == 0) {
            codes = choose_unit(axis->unit, "millimeter", "micrometer", &in_space);
        } else if (fourth) {
            time = choose_unit(axis->unit, "second", "microsecond", &in_time);
        }
        RS_TRY(note_unit(axis, spatial ? codes : fourth ? time : 0, notes, err));
        rs_nifti_set_real(nifti, RS_NI_PIXDIM, d + 1,
                          spatial ? rs_space_step(space, d) * in_space : fabs(axis->step) * (fourth ? in_time : 1));
        if (fourth) {
            rs_nifti_set_real(nifti, RS_NI_TOFFSET, 0, axis->start * in_time);
        }
    }
    rs_nifti_set_int(nifti, RS_NI_XYZT_UNITS, 0, codes | time);
    if (space->placed) {
        set_places(nifti, space, in_space);
    }
    RS_TRY(note_meaning(space, notes, err));
    return space->scaling == RS_SCALED ? set_scaling(nifti, space, notes, err) : RESPLIT_OK;
}
