/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nifti_compare.c - does a block belong to an image? Its header must be what that of the whole becomes at its place.
 * Fields are compared as numbers, so that blocks may differ in byte order; positions, which every program rounds in its
 * own way, by how far that can take them apart.
 */
#include "format/nifti.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void say(rs_nifti_difference *out, rs_nifti_id id, const rs_nifti *has, const rs_nifti *wants, int i)
{
    const rs_nifti_field *field = &rs_nifti_fields[id];
    out->field = field->name;
    if (rs_nifti_is_text(id)) {
        (void)snprintf(out->has, sizeof out->has, "'%.*s'", field->n < 70 ? field->n : 70, rs_nifti_bytes(has, id));
        (void)snprintf(out->wants, sizeof out->wants, "'%.*s'", field->n < 70 ? field->n : 70,
                       rs_nifti_bytes(wants, id));
    } else {
        const char *format = field->n > 1 ? "%.9g at %d" : "%.9g";
        (void)snprintf(out->has, sizeof out->has, format, rs_nifti_real(has, id, i), i);
        (void)snprintf(out->wants, sizeof out->wants, format, rs_nifti_real(wants, id, i), i);
    }
}

/* The first number of a field that is not the same; -1: none. Axes that the image does not have have no pixdim. */
static int find_other(rs_nifti_id id, const rs_nifti *a, const rs_nifti *b)
{
    const rs_nifti_field *field = &rs_nifti_fields[id];
    int n = id == RS_NI_PIXDIM ? a->ndim + 1 : field->n;
    if (rs_nifti_is_text(id)) {
        return strncmp(rs_nifti_bytes(a, id), rs_nifti_bytes(b, id), (size_t)n) == 0 ? -1 : 0;
    }
    for (int i = 0; i < n; i++) {
        if (!rs_nifti_same(rs_nifti_real(a, id, i), rs_nifti_real(b, id, i))) {
            return i;
        }
    }
    return -1;
}

/* ---- Positions ------------------------------------------------------------------------------- */

static const double ulp = 0x1p-23; /* of a float, relative */

static bool is_near(double a, double b, double tolerance)
{
    return rs_nifti_same(a, b) || fabs(a - b) <= tolerance;
}

/*
 * How far a rotation can be off: its quaternion is stored without its first number, a, which is the root of what is
 * left of 1. Near half a turn that root makes much of a little.
 */
static double rotation_error(const rs_nifti *nifti)
{
    double square = 1;
    for (int k = 0; k < 3; k++) {
        double q = rs_nifti_real(nifti, (rs_nifti_id)(RS_NI_QUATERN_B + k), 0);
        square -= q * q;
    }
    return 4 * ulp / sqrt(square > ulp ? square : ulp);
}

static bool same_qform(const rs_nifti *whole, const rs_nifti *wants, const rs_nifti *has, rs_nifti_difference *out)
{
    double scale = 0, moved = 0, voxel = INFINITY;
    if (rs_nifti_int(wants, RS_NI_QFORM_CODE, 0) <= 0) {
        return true;
    }
    for (int k = 0; k < 3; k++) {
        rs_nifti_id at = (rs_nifti_id)(RS_NI_QOFFSET_X + k);
        double from = rs_nifti_real(whole, at, 0), to = rs_nifti_real(wants, at, 0);
        scale = fmax(scale, fmax(fabs(from), fabs(to)));
        moved += fabs(to - from);
        voxel = fmin(voxel, fabs(rs_nifti_real(wants, RS_NI_PIXDIM, k + 1)));
    }
    double tolerance = 8 * ulp * scale + fmin(rotation_error(wants) * moved, voxel / 16);
    for (int k = 0; k < 3; k++) {
        rs_nifti_id turn = (rs_nifti_id)(RS_NI_QUATERN_B + k), at = (rs_nifti_id)(RS_NI_QOFFSET_X + k);
        if (!is_near(rs_nifti_real(has, turn, 0), rs_nifti_real(wants, turn, 0), 8 * ulp)) {
            say(out, turn, has, wants, 0);
            return false;
        }
        if (!is_near(rs_nifti_real(has, at, 0), rs_nifti_real(wants, at, 0), tolerance)) {
            say(out, at, has, wants, 0);
            return false;
        }
    }
    return true;
}

static bool same_sform(const rs_nifti *whole, const rs_nifti *wants, const rs_nifti *has, rs_nifti_difference *out)
{
    double scale = 0, turn = 0;
    if (rs_nifti_int(wants, RS_NI_SFORM_CODE, 0) <= 0) {
        return true;
    }
    for (int k = 0; k < 12; k++) {
        rs_nifti_id row = (rs_nifti_id)(RS_NI_SROW_X + k / 4);
        double a = fabs(rs_nifti_real(whole, row, k % 4)), b = fabs(rs_nifti_real(wants, row, k % 4));
        double *most = k % 4 == 3 ? &scale : &turn;
        *most = fmax(*most, fmax(a, b));
    }
    for (int k = 0; k < 12; k++) {
        rs_nifti_id row = (rs_nifti_id)(RS_NI_SROW_X + k / 4);
        double tolerance = 8 * ulp * (k % 4 == 3 ? scale : turn);
        if (!is_near(rs_nifti_real(has, row, k % 4), rs_nifti_real(wants, row, k % 4), tolerance)) {
            say(out, row, has, wants, k % 4);
            return false;
        }
    }
    return true;
}

/* Shifted, as we write it, or that of the whole, as programs leave it that do not know about it. */
static bool same_time(const rs_nifti *whole, const rs_nifti *wants, const rs_nifti *has, rs_nifti_difference *out)
{
    double a = rs_nifti_real(has, RS_NI_TOFFSET, 0), b = rs_nifti_real(wants, RS_NI_TOFFSET, 0);
    double first = rs_nifti_real(whole, RS_NI_TOFFSET, 0);
    if (rs_nifti_same(a, first) || is_near(a, b, 8 * ulp * fmax(fabs(b), fabs(first)))) {
        return true;
    }
    say(out, RS_NI_TOFFSET, has, wants, 0);
    return false;
}

/* ---- All of it ------------------------------------------------------------------------------- */

static bool same_extensions(const rs_nifti *a, const rs_nifti *b)
{
    size_t x = (size_t)rs_nifti_header_bytes(a), y = (size_t)rs_nifti_header_bytes(b);
    size_t n = a->head.n - x;
    return b->head.n - y == n && memcmp(a->head.s + x, b->head.s + y, n) == 0;
}

static void compare_fields(const rs_nifti *wants, const rs_nifti *has, rs_nifti_difference *out)
{
    for (int k = 0; k < RS_NI_FIELDS; k++) {
        rs_nifti_id id = (rs_nifti_id)k;
        rs_nifti_rule rule = rs_nifti_fields[id].rule;
        int other = rule == RS_NI_OWN ? -1 : find_other(id, has, wants);
        if (other >= 0 && rule == RS_NI_SAME) {
            say(out, id, has, wants, other);
            return;
        }
        if (other >= 0 && out->noted == NULL) {
            out->noted = rs_nifti_fields[id].name;
        }
    }
    if (out->noted == NULL && !same_extensions(wants, has)) {
        out->noted = "extensions";
    }
}

/* Bytes that have an order which their type does not tell. */
static bool same_order(const rs_nifti *a, const rs_nifti *b)
{
    int64_t code = rs_nifti_int(a, RS_NI_DATATYPE, 0);
    return a->byteorder == b->byteorder || (code != RS_NIFTI_FLOAT128 && code != RS_NIFTI_COMPLEX256);
}

static void say_kind(rs_nifti_difference *out, const char *what, const rs_nifti *has, const rs_nifti *wants)
{
    out->field = what;
    (void)snprintf(out->has, sizeof out->has, "NIfTI-%d, %c", has->version, has->byteorder);
    (void)snprintf(out->wants, sizeof out->wants, "NIfTI-%d, %c", wants->version, wants->byteorder);
}

resplit_status rs_nifti_compare(const rs_nifti *whole, const int64_t *start, const int64_t *shape,
                                const rs_nifti *block, rs_nifti_difference *out, resplit_error *err)
{
    rs_nifti wants;
    *out = (rs_nifti_difference){.field = NULL};
    resplit_status rc = rs_nifti_piece(whole, start, shape, &wants, err);
    if (rc == RESPLIT_OK && (block->version != whole->version || !same_order(block, whole))) {
        say_kind(out, block->version != whole->version ? "version" : "byte order", block, whole);
    } else if (rc == RESPLIT_OK) {
        out->exact = wants.head.n == block->head.n && memcmp(wants.head.s, block->head.s, wants.head.n) == 0;
        compare_fields(&wants, block, out);
        (void)(out->field == NULL && same_qform(whole, &wants, block, out) && same_sform(whole, &wants, block, out)
               && same_time(whole, &wants, block, out));
    }
    rs_nifti_release(&wants);
    return rc;
}
