/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hdf5_json.c - the attributes of a dataset as JSON: texts, integers, reals and truth values, one or a grid of them.
 * What JSON has no word for (references, records, lists of lists, long ones) is left out.
 */
#include "base/json.h"
#include "format/hdf5.h"
#include "format/hdf5_array.h"
#include "format/literal.h"

#include <endian.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t MOST_BYTES = 1 << 20; /* of an attribute, in memory */

/* ---- Values ------------------------------------------------------------------------------------ */

typedef enum value_kind { NONE, INTEGER, UNSIGNED, REAL, TRUTH, FIXED_TEXT, TEXT } value_kind;

/* How values are written, and the type by which they are read; the caller closes *memory. */
static value_kind kind_of(hid_t type, hid_t *memory)
{
    int8_t yes = 0, no = 0;
    *memory = -1;
    switch (H5Tget_class(type)) {
    case H5T_INTEGER:
        *memory = H5Tcopy(H5Tget_sign(type) == H5T_SGN_NONE ? H5T_STD_U64LE : H5T_STD_I64LE);
        return H5Tget_size(type) > 8 ? NONE : H5Tget_sign(type) == H5T_SGN_NONE ? UNSIGNED : INTEGER;
    case H5T_FLOAT: *memory = H5Tcopy(H5T_NATIVE_DOUBLE); return H5Tget_size(type) > 8 ? NONE : REAL;
    case H5T_STRING: *memory = H5Tcopy(type); return H5Tis_variable_str(type) > 0 ? TEXT : FIXED_TEXT;
    case H5T_ENUM: /* as h5py writes them */
        *memory = H5Tcopy(type);
        return H5Tget_size(type) == 1 && H5Tget_nmembers(type) == 2 && H5Tenum_valueof(type, "FALSE", &no) >= 0
                       && H5Tenum_valueof(type, "TRUE", &yes) >= 0 && no == 0 && yes == 1
                   ? TRUTH
                   : NONE;
    default: return NONE;
    }
}

/* The shortest that is read as the same number, in Python's words. */
static resplit_status add_real(double value, rs_text *out, resplit_error *err)
{
    char digits[40];
    if (isnan(value) || isinf(value)) {
        return rs_text_add(out, err, "%s", isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity");
    }
    for (int n = 15; n <= 17; n++) {
        (void)snprintf(digits, sizeof digits, "%.*g", n, value);
        if (strtod(digits, NULL) == value) {
            break;
        }
    }
    for (char *c = digits; *c != '\0'; c++) { /* in every locale */
        *c = *c == ',' ? '.' : *c;
    }
    return rs_text_add(out, err, "%s%s", digits, strpbrk(digits, ".e") == NULL ? ".0" : "");
}

/* False: it is no text. */
static bool add_text(const char *text, size_t n, rs_text *out)
{
    char *copy = rs_utf8_is_valid(text, n) ? strndup(text, n) : NULL;
    bool done = copy != NULL && rs_json_write_string(out, copy, NULL) == RESPLIT_OK;
    free(copy);
    return done;
}

static bool add_value(value_kind kind, const char *data, size_t size, rs_text *out)
{
    uint64_t integer = 0;
    double real;
    const char *text;
    switch (kind) {
    case INTEGER:
    case UNSIGNED:
        memcpy(&integer, data, sizeof integer);
        integer = le64toh(integer);
        return (kind == INTEGER ? rs_text_add(out, NULL, "%lld", (long long)(int64_t)integer)
                                : rs_text_add(out, NULL, "%llu", (unsigned long long)integer))
               == RESPLIT_OK;
    case REAL: memcpy(&real, data, sizeof real); return add_real(real, out, NULL) == RESPLIT_OK;
    case TRUTH: return rs_text_add(out, NULL, *data != 0 ? "true" : "false") == RESPLIT_OK;
    case FIXED_TEXT: return add_text(data, strnlen(data, size), out);
    case TEXT:
        memcpy(&text, data, sizeof text);
        return text == NULL ? add_text("", 0, out) : add_text(text, strlen(text), out);
    default: return false;
    }
}

/* Values in C order, in brackets: a list of lists for several axes. */
static bool add_values(value_kind kind, int ndim, const hsize_t *shape, const char *data, size_t size, int64_t n,
                       rs_text *out)
{
    bool done = true;
    if (n == 0) { /* lists of nothing, as deep as the first that has none */
        return rs_text_add(out, NULL, "[]") == RESPLIT_OK;
    }
    for (int64_t i = 0; done && i < n; i++) {
        int64_t inner = 1;
        int opens = 0, closes = 0;
        for (int d = ndim - 1; d >= 0; d--) {
            inner *= (int64_t)shape[d];
            opens += i % inner == 0;
            closes += (i + 1) % inner == 0;
        }
        done =
            rs_text_add(out, NULL, "%s%.*s", i > 0 ? ", " : "", opens, "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[") == RESPLIT_OK
            && add_value(kind, data + (size_t)i * size, size, out)
            && rs_text_add(out, NULL, "%.*s", closes, "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]") == RESPLIT_OK;
    }
    return done;
}

/* ---- Attributes -------------------------------------------------------------------------------- */

static bool read_values(hid_t attribute, value_kind kind, hid_t memory, hid_t space, rs_text *out)
{
    hsize_t shape[32] = {0};
    int ndim = H5Sget_simple_extent_ndims(space);
    hssize_t n = ndim >= 0 && ndim <= 32 ? H5Sget_simple_extent_npoints(space) : -1;
    size_t size = H5Tget_size(memory);
    if (n < 0 || size == 0 || n > MOST_BYTES / (int64_t)size || H5Sget_simple_extent_dims(space, shape, NULL) < 0) {
        return false;
    }
    char *data = calloc((size_t)n + 1, size);
    bool done = data != NULL && (n == 0 || H5Aread(attribute, memory, data) >= 0);
    bool read = done && n > 0;
    done = done && add_values(kind, ndim, shape, data, size, n, out);
    if (read && kind == TEXT) {
        (void)H5Dvlen_reclaim(memory, space, H5P_DEFAULT, data);
    }
    free(data);
    return done;
}

/* False: JSON has no word for it, and `out` is of no use. */
static bool add_attribute(hid_t object, const char *name, rs_text *out)
{
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT), memory = -1;
    hid_t type = attribute >= 0 ? H5Aget_type(attribute) : -1, space = attribute >= 0 ? H5Aget_space(attribute) : -1;
    value_kind kind = type >= 0 && space >= 0 ? kind_of(type, &memory) : NONE;
    bool done = add_text(name, strlen(name), out) && rs_text_add(out, NULL, ": ") == RESPLIT_OK;
    if (done && kind != NONE && H5Sget_simple_extent_type(space) == H5S_NULL) {
        done = rs_text_add(out, NULL, "null") == RESPLIT_OK;
    } else {
        done = done && kind != NONE && memory >= 0 && read_values(attribute, kind, memory, space, out);
    }
    rs_hdf5_close(memory);
    rs_hdf5_close(space);
    rs_hdf5_close(type);
    rs_hdf5_close(attribute);
    return done;
}

typedef struct listing {
    rs_text *out;
    resplit_error *err;
    resplit_status rc;
} listing;

static herr_t visit(hid_t object, const char *name, const H5A_info_t *info, void *payload)
{
    listing *l = payload;
    rs_text one = {0};
    (void)info;
    if (add_attribute(object, name, &one)) {
        l->rc = rs_text_add(l->out, l->err, "%s%s", l->out->n > 1 ? ", " : "", one.s);
    }
    rs_text_release(&one);
    return l->rc == RESPLIT_OK ? 0 : -1;
}

resplit_status rs_hdf5_list_attributes(hid_t file, const char *name, const char *path, rs_text *out, resplit_error *err)
{
    listing l = {.out = out, .err = err};
    hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    if (dataset < 0) {
        return rs_hdf5_fail(err, RESPLIT_EFORMAT, "cannot open dataset '%s' of '%s'", name, path);
    }
    l.rc = rs_text_add(out, err, "{");
    if (l.rc == RESPLIT_OK && H5Aiterate2(dataset, H5_INDEX_NAME, H5_ITER_INC, NULL, visit, &l) < 0
        && l.rc == RESPLIT_OK) {
        l.rc = rs_hdf5_fail(err, RESPLIT_EFORMAT, "cannot list the attributes of '%s' in '%s'", name, path);
    }
    rs_hdf5_close(dataset);
    return l.rc == RESPLIT_OK ? rs_text_add(out, err, "}") : l.rc;
}

/* What is asked, and what comes of it. */
typedef struct asked {
    const resplit_array *array;
    rs_text text;
} asked;

static resplit_status list_all(void *payload, resplit_error *err)
{
    asked *a = payload;
    rs_hdf5_session session;
    hid_t file = -1;
    RS_TRY(rs_hdf5_enter(&session, err));
    resplit_status rc = rs_hdf5_open_file(a->array->path, &file, err);
    if (rc == RESPLIT_OK) {
        rc = rs_hdf5_list_attributes(file, a->array->hdf5->dataset, a->array->path, &a->text, err);
    }
    rs_hdf5_close(file);
    rs_hdf5_leave(&session);
    return rc;
}

static void pass(rs_wire *wire, void *payload)
{
    asked *a = payload;
    rs_wire_bytes(wire, &a->text, sizeof a->text);
    rs_wire_text(wire, &a->text);
}

resplit_status rs_hdf5_attributes(const resplit_array *array, rs_text *out, resplit_error *err)
{
    asked a = {.array = array};
    if (array->hdf5->attributes.n > 0) { /* of a grid of files, known since it was opened */
        return rs_text_add_bytes(out, array->hdf5->attributes.s, array->hdf5->attributes.n, err);
    }
    rs_apart task = {.subject = array->path, .work = list_all, .pass = pass, .payload = &a};
    resplit_status rc = rs_hdf5_apart(task, NULL, err);
    if (rc == RESPLIT_OK) {
        rc = rs_text_add(out, err, "%s", a.text.s != NULL ? a.text.s : "{}");
    }
    rs_text_release(&a.text);
    return rc;
}
