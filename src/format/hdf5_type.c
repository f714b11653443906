/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hdf5_type.c - types of HDF5 in NumPy's words, as h5py has them, and back. A type that has no such words (odd bits,
 * arrays, times) is foreign: its elements are bytes to us, which only another HDF5 file can hold.
 */
#include "format/hdf5.h"

#include "format/literal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 8, MAX_MEMBERS = 4096 };

/* A type as it is read: words are added until something turns out to have none. */
typedef struct reading {
    rs_text words;
    bool foreign;
    const char *refused; /* what elements cannot be, in words; NULL: nothing */
} reading;

static char order_of(hid_t type)
{
    return H5Tget_size(type) == 1 ? '|' : H5Tget_order(type) == H5T_ORDER_BE ? '>' : '<';
}

/* All bits are used, in an order that NumPy has. */
static bool is_plain(hid_t type)
{
    size_t size = H5Tget_size(type);
    H5T_order_t order = H5Tget_order(type);
    return H5Tget_precision(type) == 8 * size && H5Tget_offset(type) == 0
           && (order == H5T_ORDER_LE || order == H5T_ORDER_BE || size == 1);
}

static resplit_status add_integer(hid_t type, reading *r, resplit_error *err)
{
    size_t size = H5Tget_size(type);
    bool is_signed = H5Tget_class(type) != H5T_BITFIELD && H5Tget_sign(type) == H5T_SGN_2;
    r->foreign = r->foreign || !is_plain(type) || (size != 1 && size != 2 && size != 4 && size != 8);
    return rs_text_add(&r->words, err, "%c%c%zu", order_of(type), is_signed ? 'i' : 'u', size);
}

/* IEEE 754, and the long double of this machine. */
static bool is_float(hid_t type)
{
    static const struct {
        size_t size, sign, exponent_at, exponent, mantissa, bias;
    } known[] = {{2, 15, 10, 5, 10, 15}, {4, 31, 23, 8, 23, 127}, {8, 63, 52, 11, 52, 1023}};
    size_t sign, exponent_at, exponent, mantissa_at, mantissa, size = H5Tget_size(type);
    if (H5Tequal(type, H5T_NATIVE_LDOUBLE) > 0) {
        return size == 16;
    }
    if (!is_plain(type) || H5Tget_fields(type, &sign, &exponent_at, &exponent, &mantissa_at, &mantissa) < 0
        || H5Tget_norm(type) != H5T_NORM_IMPLIED) {
        return false;
    }
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (known[i].size == size) {
            return sign == known[i].sign && exponent_at == known[i].exponent_at && exponent == known[i].exponent
                   && mantissa_at == 0 && mantissa == known[i].mantissa && H5Tget_ebias(type) == known[i].bias;
        }
    }
    return false;
}

static resplit_status add_float(hid_t type, reading *r, resplit_error *err)
{
    r->foreign = r->foreign || !is_float(type);
    return rs_text_add(&r->words, err, "%cf%zu", order_of(type), H5Tget_size(type));
}

/* As h5py writes booleans: an enumeration of bytes, FALSE and TRUE. */
static bool is_boolean(hid_t type)
{
    signed char no = 1, yes = 0;
    return H5Tget_size(type) == 1 && H5Tget_nmembers(type) == 2 && H5Tenum_valueof(type, "FALSE", &no) >= 0
           && H5Tenum_valueof(type, "TRUE", &yes) >= 0 && no == 0 && yes == 1;
}

static resplit_status add_enum(hid_t type, reading *r, resplit_error *err)
{
    if (is_boolean(type)) {
        return rs_text_add(&r->words, err, "|b1");
    }
    hid_t base = H5Tget_super(type);
    resplit_status rc = base >= 0 ? add_integer(base, r, err)
                                  : rs_hdf5_fail(err, RESPLIT_EFORMAT, "cannot read the type of an enumeration");
    rs_hdf5_close(base);
    return rc;
}

/* h5py keeps times as opaque bytes with the name of NumPy's type as a tag. */
static resplit_status add_opaque(hid_t type, reading *r, resplit_error *err)
{
    static const char prefix[] = "NUMPY:";
    char *tag = H5Tget_tag(type);
    bool time = tag != NULL && strncmp(tag, prefix, sizeof prefix - 1) == 0 && strpbrk(tag, "'\\\"") == NULL;
    rs_dtype dtype = {0};
    if (time && rs_dtype_parse(tag + sizeof prefix - 1, &dtype, NULL) == RESPLIT_OK) {
        time = dtype.itemsize == (int64_t)H5Tget_size(type) && (dtype.kind == 'M' || dtype.kind == 'm');
    } else {
        time = false;
    }
    resplit_status rc =
        time ? rs_text_add(&r->words, err, "%s", dtype.descr) : rs_text_add(&r->words, err, "|V%zu", H5Tget_size(type));
    rs_dtype_release(&dtype);
    (void)H5free_memory(tag);
    return rc;
}

/* Members r and i of one floating-point type, one behind the other: complex numbers as h5py writes them. */
static bool is_complex(hid_t type)
{
    bool found = false;
    if (H5Tget_nmembers(type) != 2) {
        return false;
    }
    char *names[2] = {H5Tget_member_name(type, 0), H5Tget_member_name(type, 1)};
    hid_t a = H5Tget_member_type(type, 0), b = H5Tget_member_type(type, 1);
    if (names[0] != NULL && names[1] != NULL && a >= 0 && b >= 0) {
        size_t size = H5Tget_size(a);
        found = strcmp(names[0], "r") == 0 && strcmp(names[1], "i") == 0 && H5Tequal(a, b) > 0
                && H5Tget_class(a) == H5T_FLOAT && is_float(a) && (size == 4 || size == 8 || size == 16)
                && H5Tget_member_offset(type, 0) == 0 && H5Tget_member_offset(type, 1) == size
                && H5Tget_size(type) == 2 * size;
    }
    rs_hdf5_close(a);
    rs_hdf5_close(b);
    (void)H5free_memory(names[0]);
    (void)H5free_memory(names[1]);
    return found;
}

static resplit_status add_complex(hid_t type, reading *r, resplit_error *err)
{
    hid_t part = H5Tget_member_type(type, 0);
    char order = H5Tget_order(part) == H5T_ORDER_BE ? '>' : '<';
    rs_hdf5_close(part);
    return rs_text_add(&r->words, err, "%cc%zu", order, H5Tget_size(type));
}

static resplit_status add_type(hid_t type, int depth, reading *r, resplit_error *err);

/* Bytes that belong to no member. */
static resplit_status add_gap(size_t bytes, reading *r, resplit_error *err)
{
    return bytes > 0 ? rs_text_add(&r->words, err, "('', '|V%zu'), ", bytes) : RESPLIT_OK;
}

/* The type of a member, which may be an array of others; its shape comes after it. */
static resplit_status add_member_type(hid_t type, int depth, reading *r, resplit_error *err)
{
    bool array = H5Tget_class(type) == H5T_ARRAY;
    hsize_t shape[H5S_MAX_RANK];
    hid_t base = array ? H5Tget_super(type) : type;
    int ndim = array ? H5Tget_array_ndims(type) : 0;
    resplit_status rc = RESPLIT_OK;
    if (base < 0 || ndim < 0 || (array && H5Tget_array_dims2(type, shape) < 0)) {
        return rs_hdf5_fail(err, RESPLIT_EFORMAT, "cannot read the type of an array in a record");
    }
    bool list = H5Tget_class(base) == H5T_COMPOUND && !is_complex(base);
    rc = rs_text_add(&r->words, err, "%s", list ? "" : "'");
    rc = rc == RESPLIT_OK ? add_type(base, depth + 1, r, err) : rc;
    rc = rc == RESPLIT_OK ? rs_text_add(&r->words, err, "%s%s", list ? "" : "'", array ? ", (" : "") : rc;
    for (int d = 0; d < ndim && rc == RESPLIT_OK; d++) {
        rc = rs_text_add(&r->words, err, "%llu,", (unsigned long long)shape[d]);
    }
    if (array) {
        rs_hdf5_close(base);
        rc = rc == RESPLIT_OK ? rs_text_add(&r->words, err, ")") : rc;
    }
    return rc;
}

static resplit_status add_member(hid_t type, unsigned i, int depth, reading *r, size_t *end, resplit_error *err)
{
    char *name = H5Tget_member_name(type, i);
    hid_t member = H5Tget_member_type(type, i);
    size_t offset = H5Tget_member_offset(type, i);
    resplit_status rc = RESPLIT_OK;
    if (name == NULL || member < 0) {
        rc = rs_hdf5_fail(err, RESPLIT_EFORMAT, "cannot read member %u of a record", i);
        goto out;
    }
    /* NumPy's list has no members that overlap, and ours no names that need quoting */
    r->foreign = r->foreign || offset < *end || name[0] == '\0' || strpbrk(name, "'\\\n") != NULL
                 || !rs_utf8_is_valid(name, strlen(name));
    if (r->foreign) {
        goto out;
    }
    rc = add_gap(offset - *end, r, err);
    rc = rc == RESPLIT_OK ? rs_text_add(&r->words, err, "('%s', ", name) : rc;
    rc = rc == RESPLIT_OK ? add_member_type(member, depth, r, err) : rc;
    rc = rc == RESPLIT_OK ? rs_text_add(&r->words, err, "), ") : rc;
    *end = offset + H5Tget_size(member);
out:
    rs_hdf5_close(member);
    (void)H5free_memory(name);
    return rc;
}

static resplit_status add_record(hid_t type, int depth, reading *r, resplit_error *err)
{
    int n = H5Tget_nmembers(type);
    size_t end = 0;
    if (is_complex(type)) {
        return add_complex(type, r, err);
    }
    if (n < 1 || n > MAX_MEMBERS) {
        r->foreign = true;
        return RESPLIT_OK;
    }
    RS_TRY(rs_text_add(&r->words, err, "["));
    for (int i = 0; i < n && !r->foreign && r->refused == NULL; i++) {
        RS_TRY(add_member(type, (unsigned)i, depth, r, &end, err));
    }
    size_t size = H5Tget_size(type);
    if (size > end) {
        RS_TRY(add_gap(size - end, r, err));
    }
    return rs_text_add(&r->words, err, "]");
}

/* Recursion is bounded by MAX_DEPTH. */
static resplit_status add_type(hid_t type, int depth, reading *r, resplit_error *err)
{
    if (depth > MAX_DEPTH) {
        r->foreign = true;
        return RESPLIT_OK;
    }
    switch (H5Tget_class(type)) {
    case H5T_INTEGER:
    case H5T_BITFIELD: return add_integer(type, r, err);
    case H5T_FLOAT: return add_float(type, r, err);
    case H5T_ENUM: return add_enum(type, r, err);
    case H5T_OPAQUE: return add_opaque(type, r, err);
    case H5T_COMPOUND: return add_record(type, depth, r, err);
    case H5T_STRING: return rs_text_add(&r->words, err, "|S%zu", H5Tget_size(type));
    case H5T_VLEN: r->refused = "elements of varying length"; return RESPLIT_OK;
    case H5T_REFERENCE: r->refused = "references, which mean something in one file only"; return RESPLIT_OK;
    default: r->foreign = true; return RESPLIT_OK;
    }
}

resplit_status rs_hdf5_read_type(hid_t type, const char *path, rs_dtype *out, bool *foreign, resplit_error *err)
{
    reading r = {.foreign = false};
    size_t size = H5Tget_size(type);
    resplit_status rc = RESPLIT_OK;
    *foreign = false;
    if (H5Tdetect_class(type, H5T_VLEN) > 0 || H5Tis_variable_str(type) > 0) {
        r.refused = "elements of varying length";
    } else if (H5Tdetect_class(type, H5T_REFERENCE) > 0) {
        r.refused = "references, which mean something in one file only";
    } else if (size == 0 || size > INT32_MAX) {
        rc = rs_hdf5_fail(err, RESPLIT_EFORMAT, "'%s' has elements of %zu bytes", path, size);
    } else {
        rc = add_type(type, 0, &r, err);
    }
    if (rc == RESPLIT_OK && r.refused != NULL) {
        rc = rs_fail(err, RESPLIT_EUNSUPPORTED, "'%s' has %s: only elements of one size can be moved", path, r.refused);
    }
    if (rc == RESPLIT_OK && !r.foreign) {
        r.foreign = rs_dtype_parse(r.words.s, out, NULL) != RESPLIT_OK;
        if (!r.foreign && out->itemsize != (int64_t)size) {
            rs_dtype_release(out);
            r.foreign = true;
        }
    }
    if (rc == RESPLIT_OK && r.foreign) {
        char words[32];
        (void)snprintf(words, sizeof words, "V%zu", size);
        *foreign = true;
        rc = rs_dtype_parse(words, out, err);
    }
    rs_text_release(&r.words);
    return rc;
}

resplit_status rs_hdf5_encode_type(hid_t type, rs_text *out, resplit_error *err)
{
    size_t n = 0;
    char *bytes = H5Tencode(type, NULL, &n) >= 0 && n > 0 ? malloc(n) : NULL;
    resplit_status rc = bytes != NULL && H5Tencode(type, bytes, &n) >= 0
                            ? rs_text_add_bytes(out, bytes, n, err)
                            : rs_hdf5_fail(err, RESPLIT_EFORMAT, "cannot keep the type of a dataset");
    free(bytes);
    return rc;
}

/* ---- Making ---------------------------------------------------------------------------------- */

static hid_t half(void)
{
    hid_t type = H5Tcopy(H5T_IEEE_F32LE);
    bool done = type >= 0 && H5Tset_fields(type, 15, 10, 5, 0, 10) >= 0 && H5Tset_precision(type, 16) >= 0
                && H5Tset_ebias(type, 15) >= 0 && H5Tset_size(type, 2) >= 0;
    if (!done) {
        rs_hdf5_close(type);
    }
    return done ? type : -1;
}

static hid_t number(char kind, int64_t size)
{
    const struct {
        char kind;
        int64_t size;
        hid_t type;
    } known[] = {{'i', 1, H5T_STD_I8LE},   {'i', 2, H5T_STD_I16LE},      {'i', 4, H5T_STD_I32LE},
                 {'i', 8, H5T_STD_I64LE},  {'u', 1, H5T_STD_U8LE},       {'u', 2, H5T_STD_U16LE},
                 {'u', 4, H5T_STD_U32LE},  {'u', 8, H5T_STD_U64LE},      {'f', 4, H5T_IEEE_F32LE},
                 {'f', 8, H5T_IEEE_F64LE}, {'f', 16, H5T_NATIVE_LDOUBLE}};
    if (kind == 'f' && size == 2) {
        return half();
    }
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (known[i].kind == kind && known[i].size == size) {
            return H5Tcopy(known[i].type);
        }
    }
    return -1;
}

static hid_t boolean(void)
{
    const signed char no = 0, yes = 1;
    hid_t type = H5Tenum_create(H5T_STD_I8LE);
    if (type >= 0 && (H5Tenum_insert(type, "FALSE", &no) < 0 || H5Tenum_insert(type, "TRUE", &yes) < 0)) {
        rs_hdf5_close(type);
        return -1;
    }
    return type;
}

static hid_t complex_of(hid_t part, int64_t size)
{
    hid_t type = part >= 0 ? H5Tcreate(H5T_COMPOUND, (size_t)size) : -1;
    if (type >= 0 && (H5Tinsert(type, "r", 0, part) < 0 || H5Tinsert(type, "i", (size_t)size / 2, part) < 0)) {
        rs_hdf5_close(type);
        type = -1;
    }
    rs_hdf5_close(part);
    return type;
}

static hid_t ordered(hid_t type, char order)
{
    if (type >= 0 && order == '>' && H5Tset_order(type, H5T_ORDER_BE) < 0) {
        rs_hdf5_close(type);
        return -1;
    }
    return type;
}

static hid_t text_of(int64_t size)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    if (type >= 0 && (H5Tset_size(type, (size_t)size) < 0 || H5Tset_strpad(type, H5T_STR_NULLPAD) < 0)) {
        rs_hdf5_close(type);
        return -1;
    }
    return type;
}

/* Times with the tag that h5py knows them by. */
static hid_t bytes_of(const rs_dtype *dtype)
{
    char tag[100] = "";
    hid_t type = H5Tcreate(H5T_OPAQUE, (size_t)dtype->itemsize);
    if (dtype->kind != 'V') {
        (void)snprintf(tag, sizeof tag, "NUMPY:%.80s", dtype->descr);
    }
    if (type >= 0 && H5Tset_tag(type, tag) < 0) {
        rs_hdf5_close(type);
        return -1;
    }
    return type;
}

resplit_status rs_hdf5_make_type(const rs_dtype *dtype, hid_t *out, resplit_error *err)
{
    char order = dtype->byteorder;
    *out = -1;
    if (dtype->descr[0] == '[') {
        return rs_hdf5_make_record(dtype->descr, out, err);
    }
    if (dtype->kind == 'U') {
        return rs_fail(err, RESPLIT_EUNSUPPORTED,
                       "elements of type '%.100s' cannot be written as HDF5: it has no strings of 4-byte characters",
                       dtype->descr);
    }
    switch (dtype->kind) {
    case 'b': *out = boolean(); break;
    case 'S': *out = text_of(dtype->itemsize); break;
    case 'V':
    case 'm':
    case 'M': *out = bytes_of(dtype); break;
    case 'c': *out = complex_of(ordered(number('f', dtype->itemsize / 2), order), dtype->itemsize); break;
    default: *out = ordered(number(dtype->kind, dtype->itemsize), order); break;
    }
    return *out >= 0 ? RESPLIT_OK
                     : rs_hdf5_fail(err, RESPLIT_EUNSUPPORTED, "elements of type '%.100s' cannot be written as HDF5",
                                    dtype->descr);
}
