/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nifti_json.c - a NIfTI header as the fields of a JSON object, which a Zarr array keeps as its attribute "nifti": what
 * does not belong to a file (type, place of voxels, extensions) is left out. Texts are of bytes, which become
 * characters of the same number.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/nifti.h"
#include "format/space.h"
#include "format/zarr_parts.h"

/* Of the file, not of the image; or told by others. */
static bool is_left_out(rs_nifti_id id)
{
    static const rs_nifti_id ids[] = {RS_NI_SIZEOF_HDR, RS_NI_DIM,        RS_NI_DATATYPE,
                                      RS_NI_BITPIX,     RS_NI_VOX_OFFSET, RS_NI_MAGIC};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        if (ids[i] == id) {
            return true;
        }
    }
    return false;
}

/* ---- Writing ------------------------------------------------------------------------------------ */

static resplit_status print_text(const rs_nifti *nifti, rs_nifti_id id, rs_text *out, resplit_error *err)
{
    const char *bytes = rs_nifti_bytes(nifti, id);
    size_t n = strnlen(bytes, (size_t)rs_nifti_fields[id].n);
    rs_text text = {0};
    resplit_status rc = rs_text_add(&text, err, "%s", "");
    for (size_t i = 0; i < n && rc == RESPLIT_OK; i++) {
        unsigned char c = (unsigned char)bytes[i];
        char two[2] = {(char)(0xc0 | c >> 6), (char)(0x80 | (c & 0x3f))};
        rc = c < 0x80 ? rs_text_add_bytes(&text, &c, 1, err) : rs_text_add_bytes(&text, two, 2, err);
    }
    rc = rc == RESPLIT_OK ? rs_json_write_string(out, text.s, err) : rc;
    rs_text_release(&text);
    return rc;
}

static resplit_status print_number(const rs_nifti *nifti, rs_nifti_id id, int i, rs_text *out, resplit_error *err)
{
    if (!rs_nifti_is_real(id)) {
        return rs_text_add(out, err, "%" PRId64, rs_nifti_int(nifti, id, i));
    }
    double value = rs_nifti_real(nifti, id, i);
    return isnan(value)   ? rs_text_add(out, err, "\"NaN\"")
           : isinf(value) ? rs_text_add(out, err, value > 0 ? "\"Infinity\"" : "\"-Infinity\"")
                          : rs_real_print(value, out, err);
}

static resplit_status print_field(const rs_nifti *nifti, rs_nifti_id id, rs_text *out, resplit_error *err)
{
    const rs_nifti_field *field = &rs_nifti_fields[id];
    RS_TRY(rs_text_add(out, err, ", \"%s\": ", field->name));
    if (rs_nifti_is_text(id)) {
        return print_text(nifti, id, out, err);
    }
    RS_TRY(rs_text_add(out, err, "%s", field->n > 1 ? "[" : ""));
    for (int i = 0; i < field->n; i++) {
        RS_TRY(rs_text_add(out, err, "%s", i > 0 ? ", " : ""));
        RS_TRY(print_number(nifti, id, i, out, err));
    }
    return rs_text_add(out, err, "%s", field->n > 1 ? "]" : "");
}

resplit_status rs_nifti_print(const rs_nifti *nifti, const int *axes, rs_text *out, resplit_error *err)
{
    RS_TRY(rs_text_add(out, err, "{\"version\": %d, \"axes\": [", nifti->version));
    for (int d = 0; d < nifti->ndim; d++) {
        RS_TRY(rs_text_add(out, err, "%s%d", d > 0 ? ", " : "", axes[d]));
    }
    RS_TRY(rs_text_add(out, err, "], \"dim\": [%d", nifti->ndim));
    for (int d = 0; d < nifti->ndim; d++) {
        RS_TRY(rs_text_add(out, err, ", %" PRId64, nifti->shape[d]));
    }
    RS_TRY(rs_text_add(out, err, "]"));
    for (int id = 0; id < RS_NI_FIELDS; id++) {
        if (!is_left_out((rs_nifti_id)id)) {
            RS_TRY(print_field(nifti, (rs_nifti_id)id, out, err));
        }
    }
    return rs_text_add(out, err, "}");
}

/* ---- Reading ------------------------------------------------------------------------------------ */

static resplit_status bad(const char *key, resplit_error *err)
{
    return rs_fail(err, RESPLIT_EFORMAT, "its \"%s\" is not what that field of a NIfTI header can be", key);
}

static resplit_status set_text(rs_nifti *nifti, rs_nifti_id id, const rs_json *value, resplit_error *err)
{
    rs_text text = {0};
    const rs_nifti_field *field = &rs_nifti_fields[id];
    char *to = nifti->head.s + field->in[nifti->version - 1].at;
    size_t n = 0;
    bool good = value->kind == RS_JSON_STRING && rs_json_add_string(value, &text, NULL) == RESPLIT_OK;
    for (size_t i = 0; good && i < text.n; i++) {
        unsigned char c = (unsigned char)text.s[i];
        if (c >= 0x80) { /* two bytes, of a number below 256 */
            good = (c & 0xfe) == 0xc2;
            c = (unsigned char)((c & 3) << 6 | (text.s[++i] & 0x3f)); /* there is one: it is UTF-8 */
        }
        good = good && n < (size_t)field->n;
        if (good) {
            to[n++] = (char)c;
        }
    }
    rs_text_release(&text);
    return good ? RESPLIT_OK : bad(field->name, err);
}

static bool get_real(const rs_json *value, double *out)
{
    *out = rs_json_is(value, "NaN")         ? NAN
           : rs_json_is(value, "Infinity")  ? INFINITY
           : rs_json_is(value, "-Infinity") ? -INFINITY
                                            : 0;
    return *out != 0 || rs_json_double(value, out);
}

static bool set_number(rs_nifti *nifti, rs_nifti_id id, int i, const rs_json *value)
{
    double real;
    int64_t number;
    if (rs_nifti_is_real(id)) {
        bool good = get_real(value, &real);
        if (good) {
            rs_nifti_set_real(nifti, id, i, real);
        }
        return good;
    }
    if (!rs_json_int64(value, &number)) {
        return false;
    }
    rs_nifti_set_int(nifti, id, i, number);
    return rs_nifti_int(nifti, id, i) == number;
}

/* What is not there stays as it is in a header that says nothing. */
static resplit_status set_field(rs_nifti *nifti, rs_nifti_id id, const rs_json *value, resplit_error *err)
{
    const rs_nifti_field *field = &rs_nifti_fields[id];
    int i = 0;
    if (value == NULL) {
        return RESPLIT_OK;
    }
    if (rs_nifti_is_text(id)) {
        return set_text(nifti, id, value, err);
    }
    if (field->n == 1) {
        return set_number(nifti, id, 0, value) ? RESPLIT_OK : bad(field->name, err);
    }
    for (const rs_json *v = value->first; v != NULL && i < field->n; v = v->next, i++) {
        if (!set_number(nifti, id, i, v)) {
            return bad(field->name, err);
        }
    }
    return i == field->n && rs_json_count(value) == i ? RESPLIT_OK : bad(field->name, err);
}

static resplit_status get_shape(const rs_json *value, int *ndim, int64_t *shape, resplit_error *err)
{
    int64_t n = 0;
    int d = 0;
    if (value == NULL || value->kind != RS_JSON_ARRAY || !rs_json_int64(value->first, &n) || n < 1 || n > RS_NIFTI_AXES
        || rs_json_count(value) != n + 1) {
        return bad("dim", err);
    }
    for (const rs_json *v = value->first->next; v != NULL; v = v->next) {
        if (!rs_json_int64(v, &shape[d]) || shape[d++] < 1) {
            return bad("dim", err);
        }
    }
    *ndim = (int)n;
    return RESPLIT_OK;
}

/* A permutation of all axes. */
static resplit_status get_axes(const rs_json *value, int ndim, int *axes, resplit_error *err)
{
    unsigned seen = 0;
    int d = 0;
    for (const rs_json *v = value != NULL ? value->first : NULL; v != NULL && d < ndim; v = v->next) {
        int64_t axis;
        if (!rs_json_int64(v, &axis) || axis < 0 || axis >= ndim) {
            return bad("axes", err);
        }
        seen |= 1U << axis;
        axes[d++] = (int)axis;
    }
    return seen == (1U << ndim) - 1 && d == ndim && rs_json_count(value) == d ? RESPLIT_OK : bad("axes", err);
}

static resplit_status unprint(const rs_json *value, int *axes, rs_nifti *out, resplit_error *err)
{
    int64_t shape[RS_NIFTI_AXES] = {0}, version = 0, total;
    int ndim = 0;
    rs_nifti again;
    rs_dtype dtype;
    RS_TRY(get_shape(rs_json_get(value, "dim"), &ndim, shape, err));
    RS_TRY(get_axes(rs_json_get(value, "axes"), ndim, axes, err));
    if (!rs_json_int64(rs_json_get(value, "version"), &version) || version < 1 || version > 2) {
        return bad("version", err);
    }
    RS_TRY(rs_dtype_parse("|u1", &dtype, err));
    rs_nifti_wish wish = {.version = (int)version, .dtype = &dtype};
    resplit_status rc = rs_nifti_make(&wish, ndim, shape, out, err);
    rs_dtype_release(&dtype);
    for (int id = 0; id < RS_NI_FIELDS && rc == RESPLIT_OK; id++) {
        if (!is_left_out((rs_nifti_id)id)) {
            rc = set_field(out, (rs_nifti_id)id, rs_json_get(value, rs_nifti_fields[id].name), err);
        }
    }
    RS_TRY(rc);
    rc = rs_nifti_parse(out->head.s, out->head.n, "attribute", &again, &total,
                        err); /* whatever else is checked of headers */
    rs_nifti_release(&again);
    return rc;
}

resplit_status rs_nifti_unprint(const rs_json *value, int *axes, rs_nifti **out, resplit_error *err)
{
    *out = calloc(1, sizeof **out);
    resplit_status rc =
        *out != NULL ? unprint(value, axes, *out, err) : rs_fail(err, RESPLIT_ENOMEM, "no memory for a header");
    if (rc != RESPLIT_OK) {
        rs_nifti_release(*out);
        free(*out);
        *out = NULL;
    }
    return rc;
}
