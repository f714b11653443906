/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nifti_patch.c - headers from headers: of a piece, of the whole, of another version.
 *
 * A piece lies elsewhere in space: both ways in which a header may say where (qform, a rotation and an offset; sform, a
 * matrix) are shifted, whichever a reader believes. Positions are computed in double and rounded once, from the header
 * of the whole image.
 */
#include "format/nifti.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { EXTENDER = 4, EXACT_FLOAT = 1 << 24, SLICES_UP = 1, SLICES_DOWN = 2 };

/* ---- Where a piece is ------------------------------------------------------------------------ */

void rs_nifti_rotation(const rs_nifti *nifti, double r[3][3])
{
    double b = rs_nifti_real(nifti, RS_NI_QUATERN_B, 0), c = rs_nifti_real(nifti, RS_NI_QUATERN_C, 0),
           d = rs_nifti_real(nifti, RS_NI_QUATERN_D, 0), a = 1 - (b * b + c * c + d * d);
    if (a < 1e-7) { /* half a turn: what is left of a is rounding */
        double scale = 1 / sqrt(b * b + c * c + d * d);
        b *= scale;
        c *= scale;
        d *= scale;
        a = 0;
    } else {
        a = sqrt(a);
    }
    const double of[3][3] = {
        {a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)},
        {2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)},
        {2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - b * b - c * c},
    };
    memcpy(r, of, sizeof of);
}

static void shift_qform(rs_nifti *nifti, const double start[3])
{
    double r[3][3], step[3];
    if (rs_nifti_int(nifti, RS_NI_QFORM_CODE, 0) <= 0) {
        return;
    }
    rs_nifti_rotation(nifti, r);
    for (int k = 0; k < 3; k++) {
        double size = rs_nifti_real(nifti, RS_NI_PIXDIM, k + 1);
        step[k] = start[k] * (size > 0 ? size : 1); /* as the NIfTI library */
    }
    step[2] = rs_nifti_real(nifti, RS_NI_PIXDIM, 0) < 0 ? -step[2] : step[2];
    for (int k = 0; k < 3; k++) {
        rs_nifti_id id = (rs_nifti_id)(RS_NI_QOFFSET_X + k);
        double by = r[k][0] * step[0] + r[k][1] * step[1] + r[k][2] * step[2];
        rs_nifti_set_real(nifti, id, 0, rs_nifti_real(nifti, id, 0) + by);
    }
}

static void shift_sform(rs_nifti *nifti, const double start[3])
{
    for (int k = 0; k < 3 && rs_nifti_int(nifti, RS_NI_SFORM_CODE, 0) > 0; k++) {
        rs_nifti_id row = (rs_nifti_id)(RS_NI_SROW_X + k);
        double at = rs_nifti_real(nifti, row, 3);
        for (int i = 0; i < 3; i++) {
            at += rs_nifti_real(nifti, row, i) * start[i];
        }
        rs_nifti_set_real(nifti, row, 3, at);
    }
}

static void shift(rs_nifti *nifti, const int64_t *start)
{
    double at[3] = {0};
    for (int k = 0; k < 3 && k < nifti->ndim; k++) {
        at[k] = (double)start[k];
    }
    if (at[0] != 0 || at[1] != 0 || at[2] != 0) {
        shift_qform(nifti, at);
        shift_sform(nifti, at);
    }
    if (nifti->ndim > 3 && start[3] > 0 && rs_nifti_real(nifti, RS_NI_PIXDIM, 4) > 0) {
        double by = (double)start[3] * rs_nifti_real(nifti, RS_NI_PIXDIM, 4);
        rs_nifti_set_real(nifti, RS_NI_TOFFSET, 0, rs_nifti_real(nifti, RS_NI_TOFFSET, 0) + by);
    }
}

/* ---- Slices ---------------------------------------------------------------------------------- */

/* The axis along which slices were taken; -1: the header does not say. */
static int slice_axis(const rs_nifti *nifti)
{
    int axis = (int)(rs_nifti_int(nifti, RS_NI_DIM_INFO, 0) >> 4 & 3) - 1;
    return axis < nifti->ndim ? axis : -1;
}

static bool cuts_slices(const rs_nifti *whole, const int64_t *start, const int64_t *shape)
{
    int axis = slice_axis(whole);
    return axis >= 0 && (start[axis] != 0 || shape[axis] != whole->shape[axis]);
}

/* One after the other, up or down, is so for some of the slices too; all other orders are of all of them. */
static bool is_plain_order(int64_t code)
{
    return code == 0 || code == SLICES_UP || code == SLICES_DOWN;
}

bool rs_nifti_loses_slices(const rs_nifti *whole, const int64_t *start, const int64_t *shape)
{
    return cuts_slices(whole, start, shape) && !is_plain_order(rs_nifti_int(whole, RS_NI_SLICE_CODE, 0));
}

/* Slices [slice_start, slice_end] were acquired, the others are padding; those of them that are in the piece. */
static void cut_slices(rs_nifti *nifti, const rs_nifti *whole, const int64_t *start, const int64_t *shape)
{
    int64_t from = rs_nifti_int(whole, RS_NI_SLICE_START, 0), to = rs_nifti_int(whole, RS_NI_SLICE_END, 0);
    int64_t code = rs_nifti_int(whole, RS_NI_SLICE_CODE, 0);
    if (!cuts_slices(whole, start, shape)) {
        return;
    }
    int axis = slice_axis(whole);
    if (!is_plain_order(code)) {
        code = 0;
    }
    if (from >= 0 && from <= to && to > 0 && to < whole->shape[axis]) {
        int64_t last = start[axis] + shape[axis] - 1;
        bool any = from <= last && to >= start[axis];
        rs_nifti_set_int(nifti, RS_NI_SLICE_START, 0, any ? rs_max(from, start[axis]) - start[axis] : 0);
        rs_nifti_set_int(nifti, RS_NI_SLICE_END, 0, any ? rs_min(to, last) - start[axis] : 0);
        code = any ? code : 0;
    }
    rs_nifti_set_int(nifti, RS_NI_SLICE_CODE, 0, code);
}

/* ---- Pieces and wholes ----------------------------------------------------------------------- */

static void set_shape(rs_nifti *nifti, const int64_t *shape)
{
    for (int d = 0; d < nifti->ndim; d++) {
        nifti->shape[d] = shape[d];
        rs_nifti_set_int(nifti, RS_NI_DIM, d + 1, shape[d]);
    }
}

resplit_status rs_nifti_piece(const rs_nifti *whole, const int64_t *start, const int64_t *shape, rs_nifti *out,
                              resplit_error *err)
{
    RS_TRY(rs_nifti_copy(whole, out, err));
    set_shape(out, shape);
    shift(out, start);
    cut_slices(out, whole, start, shape);
    return RESPLIT_OK;
}

/* What the first block says of slices holds for its own: where they end in the whole, it says only if
   they end within. */
void rs_nifti_widen(rs_nifti *first, const int64_t *shape)
{
    int axis = slice_axis(first);
    bool to_the_end = axis >= 0 && rs_nifti_int(first, RS_NI_SLICE_END, 0) == first->shape[axis] - 1
                      && rs_nifti_int(first, RS_NI_SLICE_END, 0) > 0;
    if (to_the_end) {
        rs_nifti_set_int(first, RS_NI_SLICE_END, 0, shape[axis] - 1);
    }
    set_shape(first, shape);
}

/* ---- Other versions and types ---------------------------------------------------------------- */

static void set_text(rs_nifti *to, rs_nifti_id id, const rs_nifti *from)
{
    const char *text = rs_nifti_bytes(from, id);
    memcpy(to->head.s + rs_nifti_fields[id].in[to->version - 1].at, text, (size_t)rs_nifti_fields[id].n);
}

static void copy_field(rs_nifti *to, rs_nifti_id id, const rs_nifti *from)
{
    const rs_nifti_field *field = &rs_nifti_fields[id];
    if (rs_nifti_is_text(id)) {
        set_text(to, id, from);
        return;
    }
    for (int i = 0; i < field->n; i++) {
        if (rs_nifti_is_real(id)) {
            rs_nifti_set_real(to, id, i, rs_nifti_real(from, id, i));
        } else {
            rs_nifti_set_int(to, id, i, rs_nifti_int(from, id, i));
        }
    }
}

static void set_magic(rs_nifti *nifti)
{
    static const char rest[] = "\r\n\032\n";
    char *at = nifti->head.s + rs_nifti_fields[RS_NI_MAGIC].in[nifti->version - 1].at;
    at[0] = 'n';
    at[1] = nifti->pair ? 'i' : '+';
    at[2] = (char)('0' + nifti->version);
    at[3] = '\0';
    if (nifti->version == 2) {
        memcpy(at + 4, rest, 4);
    }
}

/* Values are told by slope and intercept: a version that would round them changes all values. */
static resplit_status check_scaling(const rs_nifti *from, const rs_nifti *to, resplit_error *err)
{
    static const rs_nifti_id exact[] = {RS_NI_SCL_SLOPE, RS_NI_SCL_INTER};
    for (int k = 0; k < 2; k++) {
        double has = rs_nifti_real(from, exact[k], 0), gets = rs_nifti_real(to, exact[k], 0);
        if (has != gets && !(isnan(has) && isnan(gets))) {
            return rs_fail(err, RESPLIT_EUNSUPPORTED,
                           "%s is %.17g, which NIfTI-1 would round to %.9g, and all values with it: write NIfTI-2",
                           rs_nifti_fields[exact[k]].name, has, gets);
        }
    }
    return RESPLIT_OK;
}

/* An empty header of the wanted kind. */
static resplit_status begin(const rs_nifti_wish *wish, rs_nifti *out, resplit_error *err)
{
    static const char zeros[RS_NIFTI2_BYTES];
    int bitpix = 0, code = rs_nifti_code(wish->dtype, &bitpix);
    *out = (rs_nifti){.version = wish->version, .pair = wish->pair, .byteorder = wish->dtype->byteorder};
    if (out->byteorder == '|') {
        out->byteorder = '<';
    }
    bool opaque = wish->dtype->byteorder == '|' && (code == RS_NIFTI_FLOAT128 || code == RS_NIFTI_COMPLEX256);
    if (code == 0 || opaque) { /* of NIfTI images those have a byte order here, of others nobody knows what they mean */
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "NIfTI has no type '%.100s': cast it, as --to-dtype %s",
                       wish->dtype->descr, wish->dtype->kind == 'f' ? "float32" : "uint8");
    }
    RS_TRY(rs_text_add_bytes(&out->head, zeros, (size_t)rs_nifti_header_bytes(out), err));
    rs_nifti_set_int(out, RS_NI_SIZEOF_HDR, 0, rs_nifti_header_bytes(out));
    rs_nifti_set_int(out, RS_NI_DATATYPE, 0, code);
    rs_nifti_set_int(out, RS_NI_BITPIX, 0, bitpix);
    set_magic(out);
    return RESPLIT_OK;
}

/* What follows a header: extensions, or at least the 4 bytes that say that there are none; and where
   voxels begin then. */
static resplit_status add_rest(const rs_nifti *from, rs_nifti *out, resplit_error *err)
{
    static const char none[EXTENDER];
    size_t header = from != NULL ? (size_t)rs_nifti_header_bytes(from) : 0;
    if (from != NULL && from->head.n >= header + EXTENDER) {
        RS_TRY(rs_text_add_bytes(&out->head, from->head.s + header, from->head.n - header, err));
    } else {
        RS_TRY(rs_text_add_bytes(&out->head, none, EXTENDER, err));
    }
    out->vox_offset = out->pair ? 0 : (int64_t)out->head.n;
    if (out->version == 1 && out->vox_offset > EXACT_FLOAT) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED,
                       "extensions of %" PRId64 " bytes are more than NIfTI-1 can say exactly: write NIfTI-2",
                       out->vox_offset);
    }
    rs_nifti_set_int(out, RS_NI_VOX_OFFSET, 0, out->vox_offset);
    return RESPLIT_OK;
}

/* Extensions are told in the byte order of the header. */
static resplit_status check_order(const rs_nifti *from, const rs_nifti *to, resplit_error *err)
{
    bool any = from->head.n > (size_t)rs_nifti_header_bytes(from) && from->head.s[rs_nifti_header_bytes(from)] != 0;
    return from->byteorder == to->byteorder || !any
               ? RESPLIT_OK
               : rs_fail(err, RESPLIT_EUNSUPPORTED,
                         "the image has extensions, which cannot be carried to the other byte order: keep '%c'",
                         from->byteorder);
}

static void set_type(rs_nifti *nifti, const rs_dtype *dtype)
{
    int bitpix = 0, code = rs_nifti_code(dtype, &bitpix);
    rs_nifti_set_int(nifti, RS_NI_DATATYPE, 0, code);
    rs_nifti_set_int(nifti, RS_NI_BITPIX, 0, bitpix);
}

/* Patched where it differs: all else stays byte for byte. */
static resplit_status adapt(const rs_nifti *from, const rs_nifti_wish *wish, rs_nifti *out, resplit_error *err)
{
    RS_TRY(rs_nifti_copy(from, out, err));
    set_type(out, wish->dtype);
    if (out->pair == wish->pair) {
        return RESPLIT_OK;
    }
    out->pair = wish->pair;
    set_magic(out);
    out->head.n = (size_t)rs_nifti_header_bytes(out);
    return add_rest(from, out, err);
}

/* Field by field, into another version or byte order. */
static void translate(const rs_nifti *from, rs_nifti *out)
{
    for (int id = 0; id < RS_NI_FIELDS; id++) {
        if (id != RS_NI_MAGIC && id != RS_NI_DIM && id != RS_NI_SIZEOF_HDR) {
            copy_field(out, (rs_nifti_id)id, from);
        }
    }
    out->ndim = from->ndim;
    memcpy(out->shape, from->shape, sizeof out->shape);
    for (int d = 0; d <= RS_NIFTI_AXES; d++) { /* lengths are those of a piece in the end, which does fit */
        int64_t n = rs_nifti_int(from, RS_NI_DIM, d);
        rs_nifti_set_int(out, RS_NI_DIM, d, out->version == 2 || (n >= 0 && n <= RS_NIFTI1_LONGEST) ? n : 1);
    }
}

resplit_status rs_nifti_convert(const rs_nifti *from, const rs_nifti_wish *wish, rs_nifti *out, resplit_error *err)
{
    rs_dtype dtype = *wish->dtype;
    if (dtype.byteorder == '|') {
        dtype.byteorder = from->byteorder; /* one is as good as the other */
    }
    rs_nifti_wish sure = {.version = wish->version, .pair = wish->pair, .dtype = &dtype};
    RS_TRY(begin(&sure, out, err));
    if (from->version == wish->version && from->byteorder == dtype.byteorder) {
        rs_nifti_release(out);
        return adapt(from, &sure, out, err);
    }
    translate(from, out);
    set_type(out, &dtype);
    RS_TRY(check_scaling(from, out, err));
    RS_TRY(check_order(from, out, err));
    return add_rest(from, out, err);
}

resplit_status rs_nifti_make(const rs_nifti_wish *wish, int ndim, const int64_t *shape, rs_nifti *out,
                             resplit_error *err)
{
    RS_TRY(begin(wish, out, err));
    out->ndim = ndim;
    rs_nifti_set_int(out, RS_NI_DIM, 0, ndim);
    for (int d = 0; d < RS_NIFTI_AXES; d++) {
        rs_nifti_set_int(out, RS_NI_DIM, d + 1, d < ndim ? rs_min(shape[d], RS_NIFTI1_LONGEST) : 1);
        rs_nifti_set_real(out, RS_NI_PIXDIM, d + 1, 1);
    }
    rs_nifti_set_real(out, RS_NI_PIXDIM, 0, 1);
    rs_nifti_set_real(out, RS_NI_SCL_SLOPE, 0, 1);
    memcpy(out->shape, shape, (size_t)ndim * sizeof *shape);
    return add_rest(NULL, out, err);
}
