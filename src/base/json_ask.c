/* SPDX-License-Identifier: BSD-3-Clause */
/* json_ask.c - what the values of a parsed text mean. The text is known to be right, so nothing is checked twice. */
#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DIGITS = 800 }; /* of a number: more cannot change the nearest double, except that they are not all 0 */

/* ---- Escapes ---- */

static size_t utf8_put(unsigned code, char out[4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, code >>= 6) {
        out[i] = (char)(0x80 | (code & 0x3f));
    }
    out[0] = (char)((0xf00U >> n & 0xf0U) | code); /* 110....., 1110...., 11110... */
    return n;
}

/* Four hexadecimal digits. */
static int hex4(const char *at)
{
    int code = 0;
    for (int i = 0; i < 4; i++) {
        unsigned char c = (unsigned char)at[i];
        code = code * 16 + (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return code;
}

static bool is_surrogate(int code, int first)
{
    return code >= first && code < first + 0x400;
}

static char simple_escape(char c)
{
    switch (c) {
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return c; /* quote, backslash, slash */
    }
}

/*
 * The next character inside a string that was parsed, escapes undone: its bytes go to `out`. Other characters come byte
 * by byte. 0: half of a surrogate pair, which is no character.
 */
static size_t unescape(const char **at, const char *end, char out[4])
{
    const char *s = *at;
    if (s[0] != '\\') {
        out[0] = s[0];
        *at = s + 1;
        return 1;
    }
    if (s[1] != 'u') {
        out[0] = simple_escape(s[1]);
        *at = s + 2;
        return 1;
    }
    int code = hex4(s + 2), low = -1;
    *at = s + 6;
    if (is_surrogate(code, 0xd800) && end - s >= 12 && s[6] == '\\' && s[7] == 'u') {
        low = hex4(s + 8);
    }
    if (is_surrogate(low, 0xdc00)) {
        *at = s + 12;
        return utf8_put(0x10000U + ((unsigned)(code - 0xd800) << 10) + (unsigned)(low - 0xdc00), out);
    }
    return code >= 0xd800 && code < 0xe000 ? 0 : utf8_put((unsigned)code, out);
}

/* ---- Asking ---- */

/* Whether the quoted text [s, s + n) means `string`. */
static bool means(const char *s, size_t n, const char *string)
{
    const char *end = s + n - 1;
    char c[4];
    for (s++; s < end;) {
        size_t k = unescape(&s, end, c);
        if (k == 0 || strncmp(c, string, k) != 0 || c[0] == '\0') {
            return false;
        }
        string += k;
    }
    return *string == '\0';
}

bool rs_json_is(const rs_json *value, const char *string)
{
    return value != NULL && value->kind == RS_JSON_STRING && means(value->text, value->n, string);
}

bool rs_json_key_is(const rs_json *value, const char *key)
{
    return value != NULL && value->key != NULL && means(value->key, value->key_n, key);
}

const rs_json *rs_json_get(const rs_json *object, const char *key)
{
    const rs_json *found = NULL;
    if (object == NULL || object->kind != RS_JSON_OBJECT) {
        return NULL;
    }
    for (const rs_json *value = object->first; value != NULL; value = value->next) {
        if (rs_json_key_is(value, key)) {
            found = value;
        }
    }
    return found;
}

int64_t rs_json_count(const rs_json *value)
{
    int64_t n = 0;
    for (const rs_json *v = value == NULL ? NULL : value->first; v != NULL; v = v->next) {
        n++;
    }
    return n;
}

bool rs_json_is_integer(const rs_json *value)
{
    if (value == NULL || value->kind != RS_JSON_NUMBER) {
        return false;
    }
    for (size_t i = *value->text == '-'; i < value->n; i++) {
        if (value->text[i] < '0' || value->text[i] > '9') {
            return false;
        }
    }
    return true;
}

/* Sign and size of an integer; false: another number, or too large. */
static bool take_integer(const rs_json *value, bool *negative, uint64_t *size)
{
    if (!rs_json_is_integer(value)) {
        return false;
    }
    *negative = *value->text == '-';
    *size = 0;
    for (size_t i = *negative; i < value->n; i++) {
        if (__builtin_mul_overflow(*size, 10U, size)
            || __builtin_add_overflow(*size, (uint64_t)(value->text[i] - '0'), size)) {
            return false;
        }
    }
    return true;
}

bool rs_json_int64(const rs_json *value, int64_t *out)
{
    bool negative;
    uint64_t size;
    if (!take_integer(value, &negative, &size) || size > (uint64_t)INT64_MAX + negative) {
        return false;
    }
    *out = !negative ? (int64_t)size : size == 0 ? 0 : -(int64_t)(size - 1) - 1;
    return true;
}

bool rs_json_uint64(const rs_json *value, uint64_t *out)
{
    bool negative;
    return take_integer(value, &negative, out) && (!negative || *out == 0);
}

/* The digits of a number as a whole number with an exponent: strtod reads that the same way in every locale. */
static double to_double(const char *s, const char *end)
{
    char digits[MOST_DIGITS + 32];
    size_t n = 0;
    int64_t exponent = 0, more = 0;
    bool fraction = false, cut = false;
    digits[n++] = *s == '-' ? '-' : '+';
    digits[n++] = '0';
    for (s += *s == '-'; s < end && *s != 'e' && *s != 'E'; s++) {
        if (*s == '.') {
            fraction = true;
            continue;
        }
        exponent -= fraction;
        if (n > MOST_DIGITS) {
            cut = cut || *s != '0';
            exponent++;
        } else if (*s != '0' || n > 2) {
            digits[n++] = *s;
        }
    }
    if (cut) {
        digits[n++] = '1'; /* a little more than what was kept */
        exponent--;
    }
    bool down = s < end && s[1] == '-';
    for (s += s < end ? 1 + (s[1] == '-' || s[1] == '+') : 0; s < end && more < INT32_MAX; s++) {
        more = more * 10 + (*s - '0');
    }
    exponent = rs_max(-99999999, rs_min(99999999, exponent + (down ? -more : more)));
    char *at = digits + n;
    int64_t rest = exponent < 0 ? -exponent : exponent;
    *at++ = 'e';
    *at++ = exponent < 0 ? '-' : '+';
    for (int64_t ten = 10000000; ten > 0; ten /= 10) {
        *at++ = (char)('0' + rest / ten % 10);
    }
    *at = '\0';
    return strtod(digits, NULL);
}

bool rs_json_double(const rs_json *value, double *out)
{
    if (value == NULL || value->kind != RS_JSON_NUMBER) {
        return false;
    }
    bool negative = *value->text == '-';
    char c = value->text[negative];
    *out = c == 'N'   ? (double)NAN
           : c != 'I' ? to_double(value->text, value->text + value->n)
           : negative ? -HUGE_VAL
                      : HUGE_VAL;
    return true;
}

bool rs_json_bool(const rs_json *value, bool *out)
{
    if (value == NULL || (value->kind != RS_JSON_TRUE && value->kind != RS_JSON_FALSE)) {
        return false;
    }
    *out = value->kind == RS_JSON_TRUE;
    return true;
}

/* ---- Strings ---- */

static resplit_status add_unescaped(const char *text, size_t text_n, rs_text *out, resplit_error *err)
{
    const char *end = text + text_n - 1;
    for (const char *s = text + 1; s < end;) {
        const char *plain = s;
        char c[4];
        while (s < end && *s != '\\') {
            s++;
        }
        RS_TRY(rs_text_add_bytes(out, plain, (size_t)(s - plain), err));
        if (s == end) {
            break;
        }
        size_t n = unescape(&s, end, c);
        if (n == 0 || c[0] == '\0') {
            return rs_fail(err, RESPLIT_EFORMAT, "the JSON string %.*s has %s in it", text_n < 60 ? (int)text_n : 60,
                           text, n == 0 ? "half of a surrogate pair" : "a NUL");
        }
        RS_TRY(rs_text_add_bytes(out, c, n, err));
    }
    return rs_text_add_bytes(out, "", 0, err); /* an empty string is a string too */
}

resplit_status rs_json_add_string(const rs_json *value, rs_text *out, resplit_error *err)
{
    if (value == NULL || value->kind != RS_JSON_STRING) {
        return rs_fail(err, RESPLIT_EFORMAT, "a JSON string is expected, not %.*s",
                       value == NULL ? 7 : (int)rs_min(60, (int64_t)value->n), value == NULL ? "nothing" : value->text);
    }
    return add_unescaped(value->text, value->n, out, err);
}
