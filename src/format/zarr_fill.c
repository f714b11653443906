/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zarr_fill.c - fill values, from JSON to the bytes of one element.
 *
 *     true   -3   18446744073709551615   0.1   "NaN"   "-Infinity"   "0x7fc00000"   [1.0, "NaN"]   "NaT"
 *     "YWI=" for S, V and records (base64)   [1, 2, 3] for V   "text" for U   {"x": 1, "y": 2} for records
 */
#include <math.h>
#include <string.h>

#include "format/literal.h"
#include "format/zarr_parts.h"

/* How a binary float is laid out. */
typedef struct real_kind {
    int size, mantissa, exponent; /* bytes; bits */
} real_kind;

static const real_kind reals[] = {{2, 10, 5}, {4, 23, 8}, {8, 52, 11}};
static const real_kind bfloat = {2, 7, 8};

static void put_bits(uint64_t bits, int size, char order, char *out)
{
    for (int i = 0; i < size; i++) {
        out[order == '>' ? size - 1 - i : i] = (char)(bits >> (8 * i) & 0xff);
    }
}

/* The nearest float of a kind, half to even; false: too large for it. */
static bool round_real(const real_kind *kind, double value, uint64_t *bits)
{
    const uint64_t top = ((UINT64_C(1) << kind->exponent) - 1) << kind->mantissa; /* infinity */
    const int least = 2 - (1 << (kind->exponent - 1)); /* exponent of the smallest normal one */
    uint64_t sign = signbit(value) ? UINT64_C(1) << (kind->size * 8 - 1) : 0;
    if (isnan(value)) {
        *bits = top | UINT64_C(1) << (kind->mantissa - 1);
        return true;
    }
    if (isinf(value) || value == 0.0) {
        *bits = sign | (isinf(value) ? top : 0);
        return true;
    }
    int e;
    (void)frexp(value, &e); /* 2^(e - 1) is the largest power in it */
    e = e - 1 > least ? e - 1 : least;
    double steps = ldexp(fabs(value), kind->mantissa - e); /* exact */
    uint64_t whole = (uint64_t)steps;
    double rest = steps - (double)whole;
    whole += rest > 0.5 || (rest == 0.5 && whole % 2 == 1);
    uint64_t size = ((uint64_t)(e - least) << kind->mantissa) + whole;
    *bits = sign | size;
    return size < top;
}

/* "0x7fc00000": exactly the bits. */
static bool take_hex(const rs_json *value, int size, uint64_t *bits)
{
    size_t digits = (size_t)size * 2;
    *bits = 0;
    if (value->kind != RS_JSON_STRING || value->n != digits + 4 || value->text[1] != '0'
        || (value->text[2] != 'x' && value->text[2] != 'X')) {
        return false;
    }
    for (size_t i = 0; i < digits; i++) {
        char c = value->text[i + 3];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) {
            return false;
        }
        *bits = *bits << 4 | (uint64_t)digit;
    }
    return true;
}

typedef struct fill_reader {
    const char *path;
    const rs_json *type;
    char endian;
    resplit_error *err;
} fill_reader;

static resplit_status refuse(const fill_reader *r, const rs_json *value, const char *reason)
{
    return rs_zarr_bad(r->path, "fill_value", value, reason, r->err);
}

static resplit_status read_real(const fill_reader *r, const rs_json *value, const real_kind *kind, char order,
                                char *out)
{
    static const struct {
        const char *word;
        double value;
    } words[] = {{"NaN", (double)NAN}, {"Infinity", HUGE_VAL}, {"-Infinity", -HUGE_VAL}};
    double real;
    uint64_t bits;
    bool found = rs_json_double(value, &real);
    if (found && isinf(real) && value->text[value->n - 1] != 'y') {
        return refuse(r, value, "which is out of range");
    }
    for (size_t i = 0; i < 3 && !found; i++) {
        found = rs_json_is(value, words[i].word);
        real = words[i].value;
    }
    if (found && !round_real(kind, real, &bits)) {
        return refuse(r, value, "which is out of range");
    }
    if (!found && !take_hex(value, kind->size, &bits)) {
        return refuse(r, value, "but it is a number, \"NaN\", \"Infinity\", \"-Infinity\" or its bits as \"0x...\"");
    }
    put_bits(bits, kind->size, order, out);
    return RESPLIT_OK;
}

/* [re, im]; a number alone is real. */
static resplit_status read_complex(const fill_reader *r, const rs_json *value, const real_kind *kind, char order,
                                   char *out)
{
    const rs_json *re = value, *im = NULL;
    if (value->kind == RS_JSON_ARRAY) {
        re = value->first;
        im = re == NULL ? NULL : re->next;
        if (im == NULL || im->next != NULL) {
            return refuse(r, value, "but it is [real, imaginary]");
        }
        RS_TRY(read_real(r, im, kind, order, out + kind->size));
    } else {
        memset(out + kind->size, 0, (size_t)kind->size);
    }
    return read_real(r, re, kind, order, out);
}

static const real_kind *find_real(int64_t size)
{
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        if (reals[i].size == size) {
            return &reals[i];
        }
    }
    return NULL;
}

/* 5.0 counts as 5, as it does for zarr-python. */
static bool take_integer(const rs_json *value, bool is_signed, uint64_t *bits)
{
    int64_t number;
    double real;
    if (is_signed && rs_json_int64(value, &number)) {
        *bits = (uint64_t)number;
        return true;
    }
    if (!is_signed && rs_json_uint64(value, bits)) {
        return true;
    }
    if (!rs_json_double(value, &real) || !(fabs(real) <= 0x1p53) || real != (double)(int64_t)real
        || (!is_signed && real < 0)) {
        return false;
    }
    *bits = (uint64_t)(int64_t)real;
    return true;
}

static resplit_status read_integer(const fill_reader *r, const rs_json *value, const rs_dtype *dtype, char *out)
{
    bool is_signed = dtype->kind != 'u', is_time = dtype->kind == 'm' || dtype->kind == 'M';
    int size = (int)dtype->itemsize;
    uint64_t bits;
    if (is_time && rs_json_is(value, "NaT")) {
        bits = UINT64_C(1) << 63;
    } else if (value->kind != RS_JSON_NUMBER) {
        return refuse(r, value, is_time ? "but it is an integer or \"NaT\"" : "but it is an integer");
    } else if (!take_integer(value, is_signed, &bits)) {
        return refuse(r, value, "which is no integer, or out of range");
    }
    if (size < 8 && is_signed) {
        int64_t limit = INT64_C(1) << (8 * size - 1), number = (int64_t)bits;
        if (number < -limit || number >= limit) {
            return refuse(r, value, "which is out of range");
        }
    } else if (size < 8 && bits >> (8 * size) != 0) {
        return refuse(r, value, "which is out of range");
    }
    put_bits(bits, size, dtype->byteorder, out);
    return RESPLIT_OK;
}

static resplit_status read_bool(const fill_reader *r, const rs_json *value, char *out)
{
    bool yes = false;
    int64_t number = 2;
    if (!rs_json_bool(value, &yes) && (!rs_json_int64(value, &number) || number < 0 || number > 1)) {
        return refuse(r, value, "but it is true or false");
    }
    out[0] = (char)(yes || number == 1);
    return RESPLIT_OK;
}

/* Old writers put 0 where the zeros of any type were meant. */
static bool is_zero(const rs_json *value)
{
    double real;
    return rs_json_double(value, &real) && real == 0.0;
}

/* Base64, or a list of bytes: all of them for V and records, at most as many for S. */
static resplit_status read_bytes(const fill_reader *r, const rs_json *value, const rs_dtype *dtype, char *out)
{
    rs_text text = {0}, bytes = {0};
    bool good = value->kind == RS_JSON_STRING || value->kind == RS_JSON_ARRAY;
    resplit_status rc = RESPLIT_OK;
    if (value->kind == RS_JSON_STRING) {
        rc = rs_json_add_string(value, &text, r->err);
        rc = rc != RESPLIT_OK ? rc : rs_base64_read(text.s, text.n, &bytes, &good, r->err);
    }
    for (const rs_json *v = value->first; value->kind == RS_JSON_ARRAY && v != NULL && rc == RESPLIT_OK && good;
         v = v->next) {
        int64_t byte = -1;
        good = rs_json_int64(v, &byte) && byte >= 0 && byte < 256;
        rc = rs_text_add_bytes(&bytes, &(unsigned char){(unsigned char)byte}, 1, r->err);
    }
    if (rc == RESPLIT_OK && !good) {
        rc = refuse(r, value, "but it is bytes in base64, or a list of bytes");
    } else if (rc == RESPLIT_OK
               && ((int64_t)bytes.n > dtype->itemsize || (dtype->kind != 'S' && (int64_t)bytes.n != dtype->itemsize))) {
        rc =
            rs_fail(r->err, RESPLIT_EFORMAT, "bad metadata '%s': \"fill_value\" has %zu bytes, but an element has %lld",
                    r->path, bytes.n, (long long)dtype->itemsize);
    }
    if (rc == RESPLIT_OK && bytes.n > 0) {
        memcpy(out, bytes.s, bytes.n);
    }
    rs_text_release(&text);
    rs_text_release(&bytes);
    return rc;
}

/* The UTF-8 of a string as code points of four bytes. */
static resplit_status read_utf32(const fill_reader *r, const rs_json *value, const rs_dtype *dtype, char *out)
{
    rs_text text = {0};
    int64_t n = 0;
    if (value->kind != RS_JSON_STRING) {
        return refuse(r, value, "but it is text");
    }
    resplit_status rc = rs_json_add_string(value, &text, r->err);
    for (size_t i = 0; rc == RESPLIT_OK && i < text.n; n++) {
        unsigned char c = (unsigned char)text.s[i];
        size_t bytes = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
        uint64_t point = bytes == 1 ? c : c & (0x7fU >> bytes);
        for (size_t k = 1; k < bytes; k++) {
            point = point << 6 | ((unsigned char)text.s[i + k] & 0x3fU);
        }
        if (n * 4 >= dtype->itemsize) {
            rc = refuse(r, value, "which is longer than an element");
        } else {
            put_bits(point, 4, dtype->byteorder, out + n * 4);
        }
        i += bytes;
    }
    rs_text_release(&text);
    return rc;
}

/* Types that NumPy does not have. *done is false for plain bytes. */
static resplit_status read_foreign(const fill_reader *r, const rs_json *value, char *out, bool *done)
{
    static const struct {
        const char *name;
        const real_kind *kind;
        bool is_complex;
    } known[] = {{"bfloat16", &bfloat, false}, {"complex_bfloat16", &bfloat, true}, {"complex_float16", reals, true}};
    const rs_json *name = r->type != NULL && r->type->kind == RS_JSON_OBJECT ? rs_json_get(r->type, "name") : r->type;
    uint64_t bits;
    *done = true;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (rs_json_is(name, known[i].name)) {
            return (known[i].is_complex ? read_complex : read_real)(r, value, known[i].kind, r->endian, out);
        }
    }
    if (name != NULL && name->kind == RS_JSON_STRING && name->n > 7 && memcmp(name->text, "\"float8", 7) == 0) {
        if (!take_hex(value, 1, &bits) && !is_zero(value)) {
            return rs_fail(r->err, RESPLIT_EUNSUPPORTED,
                           "'%s' has a fill value %.*s of type %.*s, whose bits are not known", r->path,
                           rs_shown(value->n), value->text, rs_shown(name->n), name->text);
        }
        out[0] = (char)(is_zero(value) ? 0 : bits);
        return RESPLIT_OK;
    }
    *done = false;
    return RESPLIT_OK;
}

static resplit_status read_simple(const fill_reader *r, const rs_json *value, const rs_dtype *dtype, char *out)
{
    const real_kind *kind = find_real(dtype->kind == 'c' ? dtype->itemsize / 2 : dtype->itemsize);
    bool done = false;
    switch (dtype->kind) {
    case 'b': return read_bool(r, value, out);
    case 'i':
    case 'u':
    case 'm':
    case 'M': return read_integer(r, value, dtype, out);
    case 'f':
    case 'c':
        if (kind != NULL) {
            return (dtype->kind == 'c' ? read_complex : read_real)(r, value, kind, dtype->byteorder, out);
        }
        return is_zero(value) ? RESPLIT_OK
                              : rs_fail(r->err, RESPLIT_EUNSUPPORTED,
                                        "'%s' has a fill value %.*s of type '%s', whose bits are not known", r->path,
                                        rs_shown(value->n), value->text, dtype->descr);
    case 'U': return is_zero(value) ? RESPLIT_OK : read_utf32(r, value, dtype, out);
    default: break;
    }
    RS_TRY(read_foreign(r, value, out, &done));
    return done || is_zero(value) ? RESPLIT_OK : read_bytes(r, value, dtype, out);
}

/* One field, whose type is the next token; *at moves behind it. Depth was limited when the type was parsed. */
static resplit_status read_field(const fill_reader *r, const rs_json *value, rs_scanner *scanner, char **at);

static resplit_status read_fields(const fill_reader *r, const rs_json *object, rs_scanner *scanner, char **at)
{
    (void)rs_scanner_take(scanner, '[');
    while (!rs_scanner_take(scanner, ']')) {
        char name[256];
        (void)rs_scanner_take(scanner, '(');
        rs_token token = rs_scanner_next(scanner);
        if (token.kind != RS_TOKEN_STRING || token.n >= sizeof name) {
            return refuse(r, object, "which cannot be matched with the fields of the type");
        }
        memcpy(name, token.text, token.n);
        name[token.n] = '\0';
        const rs_json *value = rs_json_get(object, name);
        if (value == NULL) {
            return rs_fail(r->err, RESPLIT_EFORMAT, "bad metadata '%s': \"fill_value\" has no field '%s'", r->path,
                           name);
        }
        (void)rs_scanner_take(scanner, ',');
        RS_TRY(read_field(r, value, scanner, at));
        if (!rs_scanner_take(scanner, ')')) { /* a shape */
            return rs_fail(r->err, RESPLIT_EUNSUPPORTED, "'%s' has a fill value for a field '%s' with a shape", r->path,
                           name);
        }
        (void)rs_scanner_take(scanner, ',');
    }
    return RESPLIT_OK;
}

static resplit_status read_field(const fill_reader *r, const rs_json *value, rs_scanner *scanner, char **at)
{
    char descr[64];
    rs_dtype type;
    fill_reader inner = {r->path, NULL, r->endian, r->err};
    if (rs_scanner_peek(scanner).mark == '[') {
        return read_fields(r, value, scanner, at);
    }
    rs_token token = rs_scanner_next(scanner);
    if (token.n >= sizeof descr) {
        return refuse(r, value, "which cannot be matched with the fields of the type");
    }
    memcpy(descr, token.text, token.n);
    descr[token.n] = '\0';
    RS_TRY(rs_dtype_parse(descr, &type, r->err));
    resplit_status rc = read_simple(&inner, value, &type, *at);
    *at += type.itemsize;
    rs_dtype_release(&type);
    return rc;
}

resplit_status rs_zarr_fill_read(const char *path, const rs_json *value, const rs_dtype *dtype, const rs_json *type,
                                 char endian, char *out, resplit_error *err)
{
    fill_reader r = {path, type, endian, err};
    memset(out, 0, (size_t)dtype->itemsize);
    if (dtype->descr[0] == '[' && value->kind == RS_JSON_OBJECT) {
        rs_scanner scanner = {dtype->descr, dtype->descr + strlen(dtype->descr)};
        return read_fields(&r, value, &scanner, &out);
    }
    return read_simple(&r, value, dtype, out);
}
