/* SPDX-License-Identifier: BSD-3-Clause */
/* zarr_fill_print.c - fill values, from the bytes of one element to JSON; and base64. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/zarr_parts.h"

static const char digits64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

resplit_status rs_base64_read(const char *text, size_t n, rs_text *out, bool *good, resplit_error *err)
{
    *good = n % 4 == 0;
    for (size_t i = 0; *good && i < n; i += 4) {
        uint32_t bits = 0;
        int pads = i + 4 < n ? 0 : (text[i + 3] == '=') + (text[i + 3] == '=' && text[i + 2] == '=');
        for (int k = 0; k < 4; k++) {
            const char *digit = k >= 4 - pads                 ? digits64
                                : text[i + (size_t)k] == '\0' ? NULL
                                                              : strchr(digits64, text[i + (size_t)k]);
            *good = *good && digit != NULL;
            bits = bits << 6 | (digit == NULL ? 0 : (uint32_t)(digit - digits64));
        }
        unsigned char bytes[3] = {(unsigned char)(bits >> 16), (unsigned char)(bits >> 8), (unsigned char)bits};
        RS_TRY(rs_text_add_bytes(out, bytes, (size_t)(3 - pads), err));
    }
    return RESPLIT_OK;
}

static resplit_status base64_print(const char *bytes, size_t n, rs_text *out, resplit_error *err)
{
    for (size_t i = 0; i < n; i += 3) {
        uint32_t bits = 0;
        char text[4];
        for (size_t k = 0; k < 3; k++) {
            bits = bits << 8 | (i + k < n ? (unsigned char)bytes[i + k] : 0);
        }
        for (size_t k = 0; k < 4; k++) {
            text[k] = i + k <= n ? digits64[bits >> (18 - 6 * k) & 63] : '=';
        }
        RS_TRY(rs_text_add_bytes(out, text, 4, err));
    }
    return RESPLIT_OK;
}

/* As few digits as printf needs to make `value` again; whatever the locale puts between them is left out. */
static int shortest(double value, char digits[20])
{
    char text[64], *e = text;
    for (int precision = 0; precision < 17; precision++) {
        (void)snprintf(text, sizeof text, "%.*e", precision, value);
        if (strtod(text, NULL) == value) {
            break;
        }
    }
    int n = 0;
    for (char *s = text; *s != 'e' && *s != '\0'; s++, e = s) {
        if (*s >= '0' && *s <= '9' && n < 19) {
            digits[n++] = *s;
        }
    }
    digits[n] = '\0';
    return *e == 'e' ? (int)strtol(e + 1, NULL, 10) : 0;
}

resplit_status rs_real_print(double value, rs_text *out, resplit_error *err)
{
    char digits[20];
    int exponent = shortest(fabs(value), digits), n = (int)strlen(digits);
    const char *sign = signbit(value) ? "-" : "";
    if (exponent < -4 || exponent >= 16) {
        return n == 1 ? rs_text_add(out, err, "%s%se%+03d", sign, digits, exponent)
                      : rs_text_add(out, err, "%s%c.%se%+03d", sign, digits[0], digits + 1, exponent);
    }
    if (exponent < 0) {
        return rs_text_add(out, err, "%s0.%.*s%s", sign, -exponent - 1, "000", digits);
    }
    int whole = exponent + 1;
    if (n <= whole) {
        return rs_text_add(out, err, "%s%s%.*s.0", sign, digits, whole - n, "0000000000000000");
    }
    return rs_text_add(out, err, "%s%.*s.%s", sign, whole, digits, digits + whole);
}

static uint64_t get_bits(const char *bytes, int64_t size, char order)
{
    uint64_t bits = 0;
    for (int64_t i = 0; i < size; i++) {
        bits = bits << 8 | (unsigned char)bytes[order == '>' ? i : size - 1 - i];
    }
    return bits;
}

static resplit_status print_real(const char *bytes, int64_t size, char order, int version, rs_text *out,
                                 resplit_error *err)
{
    static const struct {
        int64_t size;
        int mantissa, exponent;
    } kinds[] = {{2, 10, 5}, {4, 23, 8}, {8, 52, 11}};
    size_t k = size == 2 ? 0 : size == 4 ? 1 : 2;
    uint64_t bits = get_bits(bytes, size, order), one = 1;
    uint64_t low = bits & ((one << kinds[k].mantissa) - 1);
    int e = (int)(bits >> kinds[k].mantissa & ((one << kinds[k].exponent) - 1)), top = (1 << kinds[k].exponent) - 1;
    bool negative = bits >> (8 * size - 1) & 1;
    if (e == top && low != 0) {
        bool plain = !negative && low == one << (kinds[k].mantissa - 1);
        /* version 2 has one word for all of them */
        return plain || version == 2 ? rs_text_add(out, err, "\"NaN\"")
                                     : rs_text_add(out, err, "\"0x%0*llx\"", (int)size * 2, (unsigned long long)bits);
    }
    if (e == top) {
        return rs_text_add(out, err, negative ? "\"-Infinity\"" : "\"Infinity\"");
    }
    int bias = (1 << (kinds[k].exponent - 1)) - 1;
    double value = e == 0 ? ldexp((double)low, 1 - bias - kinds[k].mantissa)
                          : ldexp((double)(low | one << kinds[k].mantissa), e - bias - kinds[k].mantissa);
    return rs_real_print(negative ? -value : value, out, err);
}

static resplit_status print_utf32(const rs_dtype *dtype, const char *fill, rs_text *out, resplit_error *err)
{
    rs_text text = {0};
    resplit_status rc = rs_text_add_bytes(&text, "", 0, err);
    int64_t n = dtype->itemsize;
    while (n > 0 && get_bits(fill + n - 4, 4, dtype->byteorder) == 0) {
        n -= 4;
    }
    for (int64_t i = 0; rc == RESPLIT_OK && i < n; i += 4) {
        uint64_t point = get_bits(fill + i, 4, dtype->byteorder);
        if (point == 0 || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) {
            rc = rs_fail(err, RESPLIT_EUNSUPPORTED, "a fill value with the character 0x%llx cannot be written as JSON",
                         (unsigned long long)point);
            break;
        }
        unsigned char c[4];
        size_t bytes = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
        for (size_t k = bytes; k-- > 1; point >>= 6) {
            c[k] = (unsigned char)(0x80 | (point & 0x3f));
        }
        c[0] = (unsigned char)(bytes == 1 ? point : (0xf00U >> bytes & 0xf0U) | point);
        rc = rs_text_add_bytes(&text, c, bytes, err);
    }
    rc = rc != RESPLIT_OK ? rc : rs_json_write_string(out, text.s, err);
    rs_text_release(&text);
    return rc;
}

static resplit_status print_base64(const char *fill, int64_t n, rs_text *out, resplit_error *err)
{
    RS_TRY(rs_text_add(out, err, "\""));
    RS_TRY(base64_print(fill, (size_t)n, out, err));
    return rs_text_add(out, err, "\"");
}

/* Floats of 12 bytes and more: only zero has a text that everybody reads the same way. */
static resplit_status print_long(const rs_dtype *dtype, const char *fill, rs_text *out, resplit_error *err)
{
    for (int64_t i = 0; i < dtype->itemsize; i++) {
        if (fill[i] != 0) {
            return rs_fail(err, RESPLIT_EUNSUPPORTED, "a fill value of type '%s' cannot be written as JSON",
                           dtype->descr);
        }
    }
    return rs_text_add(out, err, dtype->kind == 'c' ? "[0.0, 0.0]" : "0.0");
}

resplit_status rs_zarr_fill_print(const rs_dtype *dtype, const char *fill, int version, rs_text *out,
                                  resplit_error *err)
{
    int64_t size = dtype->itemsize, part = dtype->kind == 'c' ? size / 2 : size;
    char order = dtype->byteorder;
    uint64_t bits = size <= 8 ? get_bits(fill, size, order) : 0;
    switch (dtype->kind) {
    case 'b': return rs_text_add(out, err, fill[0] != 0 ? "true" : "false");
    case 'u': return rs_text_add(out, err, "%llu", (unsigned long long)bits);
    case 'i':
    case 'm':
    case 'M': {
        uint64_t sign = UINT64_C(1) << (8 * size - 1);
        return rs_text_add(out, err, "%lld", (long long)(int64_t)((bits ^ sign) - sign));
    }
    case 'f': return part > 8 ? print_long(dtype, fill, out, err) : print_real(fill, part, order, version, out, err);
    case 'c':
        if (part > 8) {
            return print_long(dtype, fill, out, err);
        }
        RS_TRY(rs_text_add(out, err, "["));
        RS_TRY(print_real(fill, part, order, version, out, err));
        RS_TRY(rs_text_add(out, err, ", "));
        RS_TRY(print_real(fill + part, part, order, version, out, err));
        return rs_text_add(out, err, "]");
    case 'U': return print_utf32(dtype, fill, out, err);
    case 'S':
        while (size > 0 && fill[size - 1] == 0) {
            size--;
        }
        return print_base64(fill, size, out, err);
    default: return print_base64(fill, size, out, err);
    }
}
