/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hdf5_record.c - NumPy's records as compound types: "[('a', '<i4'), ('', '|V4'), ('b', '<f8', (2,))]". The text is
 * that of an rs_dtype, which was parsed once; what has no name is a gap.
 */
#include "format/hdf5.h"

#include "format/literal.h"

#include <stdio.h>
#include <string.h>

enum { MAX_DEPTH = 16, MAX_NAME = 256 };

/* A field as it is read: its type, once with its shape. */
typedef struct field {
    char name[MAX_NAME];
    hid_t type;
} field;

static resplit_status fail_record(resplit_error *err)
{
    return rs_hdf5_fail(err, RESPLIT_EUNSUPPORTED, "elements of this type of record cannot be written as HDF5");
}

/* 'name' or ('title', 'name') */
static resplit_status take_name(rs_scanner *scanner, field *f, resplit_error *err)
{
    bool titled = rs_scanner_take(scanner, '(');
    rs_token token = rs_scanner_next(scanner);
    if (titled) {
        (void)rs_scanner_take(scanner, ',');
        token = rs_scanner_next(scanner);
        (void)rs_scanner_take(scanner, ',');
        (void)rs_scanner_take(scanner, ')');
    }
    if (token.kind != RS_TOKEN_STRING || token.n >= MAX_NAME || memchr(token.text, '\\', token.n) != NULL) {
        return fail_record(err);
    }
    memcpy(f->name, token.text, token.n);
    f->name[token.n] = '\0';
    return rs_scanner_take(scanner, ',') ? RESPLIT_OK : fail_record(err);
}

static resplit_status make_simple(const rs_token *token, hid_t *out, resplit_error *err)
{
    char text[64];
    rs_dtype dtype;
    if (token->n >= sizeof text) {
        return fail_record(err);
    }
    memcpy(text, token->text, token->n);
    text[token->n] = '\0';
    RS_TRY(rs_dtype_parse(text, &dtype, err));
    resplit_status rc = rs_hdf5_make_type(&dtype, out, err);
    rs_dtype_release(&dtype);
    return rc;
}

/* (2, 3) after the type: an array of them. */
static resplit_status take_shape(rs_scanner *scanner, field *f, resplit_error *err)
{
    hsize_t shape[H5S_MAX_RANK];
    unsigned n = 0;
    bool tuple = rs_scanner_take(scanner, '(');
    while (rs_scanner_peek(scanner).kind == RS_TOKEN_NUMBER && n < H5S_MAX_RANK) {
        shape[n++] = (hsize_t)rs_scanner_next(scanner).number;
        if (!tuple) {
            break;
        }
        (void)rs_scanner_take(scanner, ',');
    }
    if (tuple && !rs_scanner_take(scanner, ')')) {
        return fail_record(err);
    }
    if (n > 0) {
        hid_t array = H5Tarray_create2(f->type, n, shape);
        rs_hdf5_close(f->type);
        f->type = array;
    }
    return f->type >= 0 ? RESPLIT_OK : fail_record(err);
}

static resplit_status make_list(rs_scanner *scanner, int depth, hid_t *out, resplit_error *err);

static resplit_status take_field(rs_scanner *scanner, int depth, field *f, resplit_error *err)
{
    if (!rs_scanner_take(scanner, '(')) {
        return fail_record(err);
    }
    RS_TRY(take_name(scanner, f, err));
    rs_token token = rs_scanner_peek(scanner);
    if (token.kind == RS_TOKEN_STRING) {
        (void)rs_scanner_next(scanner);
        RS_TRY(make_simple(&token, &f->type, err));
    } else {
        RS_TRY(make_list(scanner, depth + 1, &f->type, err));
    }
    if (rs_scanner_take(scanner, ',') && rs_scanner_peek(scanner).mark != ')') {
        RS_TRY(take_shape(scanner, f, err));
        (void)rs_scanner_take(scanner, ',');
    }
    return rs_scanner_take(scanner, ')') ? RESPLIT_OK : fail_record(err);
}

/* Recursion is bounded by MAX_DEPTH. */
static resplit_status make_list(rs_scanner *scanner, int depth, hid_t *out, resplit_error *err)
{
    size_t end = 0;
    resplit_status rc = RESPLIT_OK;
    *out = depth <= MAX_DEPTH && rs_scanner_take(scanner, '[') ? H5Tcreate(H5T_COMPOUND, INT32_MAX) : -1;
    if (*out < 0) {
        return fail_record(err);
    }
    while (rc == RESPLIT_OK && !rs_scanner_take(scanner, ']')) {
        field f = {.type = -1};
        rc = take_field(scanner, depth, &f, err);
        if (rc == RESPLIT_OK && f.name[0] != '\0' && H5Tinsert(*out, f.name, end, f.type) < 0) {
            rc = fail_record(err);
        }
        end += f.type >= 0 ? H5Tget_size(f.type) : 0;
        rs_hdf5_close(f.type);
        (void)rs_scanner_take(scanner, ',');
    }
    if (rc == RESPLIT_OK && (H5Tget_nmembers(*out) < 1 || H5Tset_size(*out, end) < 0)) {
        rc = fail_record(err);
    }
    if (rc != RESPLIT_OK) {
        rs_hdf5_close(*out);
        *out = -1;
    }
    return rc;
}

resplit_status rs_hdf5_make_record(const char *descr, hid_t *out, resplit_error *err)
{
    rs_scanner scanner = {descr, descr + strlen(descr)};
    return make_list(&scanner, 1, out, err);
}
