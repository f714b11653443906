/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtype.c - element types in NumPy's words. A type is brought into one canonical spelling, so that two types are equal
 * when their texts are: "<u2", "|u1", "[('a', '<i4'), ('b', '<f8', (2,))]".
 */
#include "format/dtype.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "format/literal.h"

enum { MAX_DEPTH = 16 };                 /* of records in records; bounds the recursion below */
#define MAX_ITEMSIZE INT64_C(0x7fffffff) /* NumPy's own limit */

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static const char native_order = '<';
#else
static const char native_order = '>';
#endif

typedef struct word {
    const char *name;
    char kind;
    int64_t size;
} word;

/* clang-format off */
/* Names and one-letter codes; sizes are those of 64-bit Linux. */
static const word words[] = {
    {"bool", 'b', 1}, {"bool_", 'b', 1}, {"?", 'b', 1}, {"int8", 'i', 1}, {"int16", 'i', 2}, {"int32", 'i', 4},
    {"int64", 'i', 8}, {"uint8", 'u', 1}, {"uint16", 'u', 2}, {"uint32", 'u', 4}, {"uint64", 'u', 8},
    {"float16", 'f', 2}, {"float32", 'f', 4}, {"float64", 'f', 8}, {"float128", 'f', 16}, {"longdouble", 'f', 16},
    {"half", 'f', 2}, {"single", 'f', 4}, {"double", 'f', 8}, {"complex64", 'c', 8}, {"complex128", 'c', 16},
    {"complex256", 'c', 32}, {"clongdouble", 'c', 32}, {"byte", 'i', 1}, {"ubyte", 'u', 1}, {"short", 'i', 2},
    {"ushort", 'u', 2}, {"intc", 'i', 4}, {"uintc", 'u', 4}, {"int", 'i', 8}, {"uint", 'u', 8}, {"float", 'f', 8},
    {"complex", 'c', 16}, {"longlong", 'i', 8}, {"ulonglong", 'u', 8}, {"b", 'i', 1}, {"B", 'u', 1}, {"h", 'i', 2},
    {"H", 'u', 2}, {"i", 'i', 4}, {"I", 'u', 4}, {"l", 'i', 8}, {"L", 'u', 8}, {"q", 'i', 8}, {"Q", 'u', 8},
    {"e", 'f', 2}, {"f", 'f', 4}, {"d", 'f', 8}, {"g", 'f', 16}, {"F", 'c', 8}, {"D", 'c', 16}, {"G", 'c', 32},
    {"datetime64", 'M', 8}, {"timedelta64", 'm', 8}, {"M", 'M', 8}, {"m", 'm', 8},
};
/* clang-format on */

/* Kinds followed by a size in bytes, and the sizes there are. Long doubles of 32-bit machines have 12 bytes. */
static const word sized[] = {
    {"b", 'b', 1}, {"i", 'i', 1},  {"i", 'i', 2},  {"i", 'i', 4},  {"i", 'i', 8}, {"u", 'u', 1},  {"u", 'u', 2},
    {"u", 'u', 4}, {"u", 'u', 8},  {"f", 'f', 2},  {"f", 'f', 4},  {"f", 'f', 8}, {"f", 'f', 12}, {"f", 'f', 16},
    {"c", 'c', 8}, {"c", 'c', 16}, {"c", 'c', 24}, {"c", 'c', 32}, {"m", 'm', 8}, {"M", 'M', 8},
};

static resplit_status unknown_type(const char *s, size_t n, resplit_error *err)
{
    return rs_fail(err, RESPLIT_EINVAL, "unknown type '%.*s': give a NumPy type such as uint16, <f4 or V12",
                   rs_shown(n), s);
}

/* Digits only, at least one; false when there is anything else or the number is too large. */
static bool parse_size(const char *s, size_t n, int64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9' || !rs_mul(*out, 10, out) || !rs_add(*out, s[i] - '0', out)) {
            return false;
        }
    }
    return n > 0;
}

static size_t count_digits(const char *s, size_t n)
{
    size_t i = 0;
    while (i < n && s[i] >= '0' && s[i] <= '9') {
        i++;
    }
    return i;
}

/* The "[25us]" after a time type, brackets included; empty is generic time. */
static bool is_unit(const char *s, size_t n)
{
    static const char *const units[] = {"Y",  "M",  "W",  "D",  "h",  "m",  "s",
                                        "ms", "us", "ns", "ps", "fs", "as", "generic"};
    if (n == 0) {
        return true;
    }
    if (n < 3 || s[0] != '[' || s[n - 1] != ']') {
        return false;
    }
    s++;
    n -= 2;
    size_t digits = count_digits(s, n);
    s += digits;
    n -= digits;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strlen(units[i]) == n && memcmp(units[i], s, n) == 0) {
            return true;
        }
    }
    return false;
}

/* S8, U4, V12: sizes that the type itself chooses. */
static resplit_status parse_flexible(const char *s, size_t n, rs_dtype *out, resplit_error *err)
{
    int64_t count = 0;
    out->kind = s[0] == 'a' ? 'S' : s[0];
    if (!parse_size(s + 1, n - 1, &count) && n > 1) {
        return unknown_type(s, n, err);
    }
    if (count == 0) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "type '%.*s' has elements of zero bytes: give it a size, as in %c8",
                       rs_shown(n), s, out->kind);
    }
    if (!rs_mul(count, out->kind == 'U' ? 4 : 1, &out->itemsize) || out->itemsize > MAX_ITEMSIZE) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "type '%.*s' is larger than %lld bytes", rs_shown(n), s,
                       (long long)MAX_ITEMSIZE);
    }
    return RESPLIT_OK;
}

/* Kind and size without byte order; *unit is where the text of a time unit begins. */
static resplit_status parse_kind(const char *s, size_t n, rs_dtype *out, size_t *unit, resplit_error *err)
{
    size_t stem = 0;
    while (stem < n && s[stem] != '[') {
        stem++;
    }
    *unit = stem;
    if (s[0] == 'O' || (stem == 6 && memcmp(s, "object", 6) == 0)) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED,
                       "type '%.*s' cannot be handled: object arrays hold pickles, not values", rs_shown(n), s);
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i].name) == stem && memcmp(words[i].name, s, stem) == 0) {
            out->kind = words[i].kind;
            out->itemsize = words[i].size;
            return RESPLIT_OK;
        }
    }
    if (s[0] == 'S' || s[0] == 'U' || s[0] == 'V' || s[0] == 'a') {
        return parse_flexible(s, n, out, err);
    }
    int64_t size;
    if (parse_size(s + 1, stem - 1, &size)) {
        for (size_t i = 0; i < sizeof sized / sizeof *sized; i++) {
            if (sized[i].kind == s[0] && sized[i].size == size) {
                out->kind = s[0];
                out->itemsize = size;
                return RESPLIT_OK;
            }
        }
    }
    return unknown_type(s, n, err);
}

/* One simple type. Appends its canonical text to `descr`; out->descr is left alone. */
static resplit_status parse_simple(const char *s, size_t n, rs_dtype *out, rs_text *descr, resplit_error *err)
{
    char order = native_order;
    if (n > 0 && (*s == '<' || *s == '>' || *s == '=' || *s == '|')) {
        order = *s == '<' || *s == '>' ? *s : native_order;
        s++;
        n--;
    }
    if (n == 0 || s[0] == '[') {
        return unknown_type(s, n, err);
    }
    size_t unit = n;
    RS_TRY(parse_kind(s, n, out, &unit, err));
    bool is_time = out->kind == 'm' || out->kind == 'M';
    if (unit < n && !(is_time && is_unit(s + unit, n - unit))) {
        return unknown_type(s, n, err);
    }
    bool bytewise = out->kind == 'S' || out->kind == 'V' || out->kind == 'b';
    out->swap_size = bytewise ? 1 : out->kind == 'U' ? 4 : out->kind == 'c' ? out->itemsize / 2 : out->itemsize;
    out->byteorder = out->swap_size == 1 ? '|' : order;
    return rs_text_add(descr, err, "%c%c%lld%.*s", out->byteorder, out->kind,
                       (long long)(out->kind == 'U' ? out->itemsize / 4 : out->itemsize), (int)(n - unit), s + unit);
}

static resplit_status bad_record(const rs_scanner *scanner, const char *expected, resplit_error *err)
{
    rs_token token = rs_scanner_peek(scanner);
    size_t rest = (size_t)(scanner->end - token.text);
    return rs_fail(err, RESPLIT_EINVAL, "bad record type: expected %s before '%.*s'", expected, rs_shown(rest),
                   token.text);
}

/* Quotes as Python's repr would, where that needs no rewriting of escapes. */
static resplit_status add_string(const rs_token *token, rs_text *descr, resplit_error *err)
{
    bool plain = memchr(token->text, '\'', token->n) == NULL && memchr(token->text, '\\', token->n) == NULL;
    char quote = plain ? '\'' : token->mark;
    return rs_text_add(descr, err, "%c%.*s%c", quote, (int)token->n, token->text, quote);
}

/* 'name' or ('title', 'name') */
static resplit_status parse_name(rs_scanner *scanner, rs_text *descr, resplit_error *err)
{
    bool titled = rs_scanner_take(scanner, '(');
    rs_token token = rs_scanner_peek(scanner);
    if (token.kind != RS_TOKEN_STRING) {
        return bad_record(scanner, "a field name", err);
    }
    (void)rs_scanner_next(scanner);
    RS_TRY(rs_text_add(descr, err, "%s", titled ? "(" : ""));
    RS_TRY(add_string(&token, descr, err));
    if (!titled) {
        return RESPLIT_OK;
    }
    if (!rs_scanner_take(scanner, ',') || (token = rs_scanner_peek(scanner)).kind != RS_TOKEN_STRING) {
        return bad_record(scanner, "a name after the title", err);
    }
    (void)rs_scanner_next(scanner);
    RS_TRY(rs_text_add(descr, err, ", "));
    RS_TRY(add_string(&token, descr, err));
    (void)rs_scanner_take(scanner, ',');
    if (!rs_scanner_take(scanner, ')')) {
        return bad_record(scanner, "')' after title and name", err);
    }
    return rs_text_add(descr, err, ")");
}

/* The shape of a subarray, 2 or (2, 3); multiplies *size by it. */
static resplit_status parse_subshape(rs_scanner *scanner, rs_text *descr, int64_t *size, resplit_error *err)
{
    bool tuple = rs_scanner_take(scanner, '(');
    int n = 0;
    RS_TRY(rs_text_add(descr, err, "%s", tuple ? "(" : ""));
    while (!(tuple && rs_scanner_take(scanner, ')'))) {
        rs_token token = rs_scanner_peek(scanner);
        if (token.kind != RS_TOKEN_NUMBER || token.number < 0) {
            return bad_record(scanner, "a length of a subarray", err);
        }
        (void)rs_scanner_next(scanner);
        if (!rs_mul(*size, token.number, size) || *size > MAX_ITEMSIZE) {
            return rs_fail(err, RESPLIT_EUNSUPPORTED, "a record is larger than %lld bytes", (long long)MAX_ITEMSIZE);
        }
        RS_TRY(rs_text_add(descr, err, n > 0 ? ", %lld" : "%lld", (long long)token.number));
        n++;
        if (!tuple) {
            return RESPLIT_OK;
        }
        if (!rs_scanner_take(scanner, ',') && rs_scanner_peek(scanner).mark != ')') {
            return bad_record(scanner, "',' or ')' in the shape of a subarray", err);
        }
    }
    return rs_text_add(descr, err, n == 1 ? ",)" : ")");
}

static resplit_status parse_list(rs_scanner *scanner, int depth, rs_text *descr, int64_t *size, resplit_error *err);

/* ('name', type) or ('name', type, shape); the '(' is taken already. Recursion is bounded by MAX_DEPTH. */
static resplit_status parse_field(rs_scanner *scanner, int depth, rs_text *descr, int64_t *size, resplit_error *err)
{
    RS_TRY(rs_text_add(descr, err, "("));
    RS_TRY(parse_name(scanner, descr, err));
    if (!rs_scanner_take(scanner, ',')) {
        return bad_record(scanner, "',' after a field name", err);
    }
    RS_TRY(rs_text_add(descr, err, ", "));
    rs_token token = rs_scanner_peek(scanner);
    if (token.kind == RS_TOKEN_STRING) {
        (void)rs_scanner_next(scanner);
        rs_dtype simple = {0};
        RS_TRY(rs_text_add(descr, err, "'"));
        RS_TRY(parse_simple(token.text, token.n, &simple, descr, err));
        RS_TRY(rs_text_add(descr, err, "'"));
        *size = simple.itemsize;
    } else if (token.kind == RS_TOKEN_MARK && token.mark == '[') {
        RS_TRY(parse_list(scanner, depth + 1, descr, size, err));
    } else {
        return bad_record(scanner, "the type of a field", err);
    }
    if (rs_scanner_take(scanner, ',') && rs_scanner_peek(scanner).mark != ')') {
        RS_TRY(rs_text_add(descr, err, ", "));
        RS_TRY(parse_subshape(scanner, descr, size, err));
        (void)rs_scanner_take(scanner, ',');
    }
    if (!rs_scanner_take(scanner, ')')) {
        return bad_record(scanner, "')' after a field", err);
    }
    return rs_text_add(descr, err, ")");
}

static resplit_status parse_list(rs_scanner *scanner, int depth, rs_text *descr, int64_t *size, resplit_error *err)
{
    *size = 0;
    if (depth > MAX_DEPTH) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "records are nested more than %d deep", MAX_DEPTH);
    }
    if (!rs_scanner_take(scanner, '[')) {
        return bad_record(scanner, "'['", err);
    }
    RS_TRY(rs_text_add(descr, err, "["));
    for (int n = 0; !rs_scanner_take(scanner, ']'); n++) {
        int64_t field = 0;
        if (!rs_scanner_take(scanner, '(')) {
            return bad_record(scanner, "a field in parentheses", err);
        }
        RS_TRY(rs_text_add(descr, err, "%s", n > 0 ? ", " : ""));
        RS_TRY(parse_field(scanner, depth, descr, &field, err));
        if (!rs_add(*size, field, size) || *size > MAX_ITEMSIZE) {
            return rs_fail(err, RESPLIT_EUNSUPPORTED, "a record is larger than %lld bytes", (long long)MAX_ITEMSIZE);
        }
        if (!rs_scanner_take(scanner, ',') && rs_scanner_peek(scanner).mark != ']') {
            return bad_record(scanner, "',' or ']' after a field", err);
        }
    }
    return rs_text_add(descr, err, "]");
}

static resplit_status parse_record(const char *text, size_t n, rs_dtype *out, rs_text *descr, resplit_error *err)
{
    rs_scanner scanner = {text, text + n};
    if (!rs_utf8_is_valid(text, n)) {
        return rs_fail(err, RESPLIT_EINVAL, "bad record type: the names are not valid UTF-8");
    }
    RS_TRY(parse_list(&scanner, 1, descr, &out->itemsize, err));
    if (rs_scanner_peek(&scanner).kind != RS_TOKEN_END) {
        return bad_record(&scanner, "nothing", err);
    }
    if (out->itemsize == 0) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "type '%.*s' has elements of zero bytes", rs_shown(n), text);
    }
    out->kind = 'V';
    out->byteorder = '|';
    out->swap_size = 0;
    return RESPLIT_OK;
}

resplit_status rs_dtype_parse(const char *text, rs_dtype *out, resplit_error *err)
{
    rs_text descr = {0};
    resplit_status rc;

    *out = (rs_dtype){0};
    while (*text == ' ') {
        text++;
    }
    size_t n = strlen(text);
    rc = *text == '[' ? parse_record(text, n, out, &descr, err) : parse_simple(text, n, out, &descr, err);
    if (rc != RESPLIT_OK) {
        goto out;
    }
    out->descr = rs_strdup(descr.s);
    if (out->descr == NULL) {
        rc = rs_fail(err, RESPLIT_ENOMEM, "no memory for a type of %zu bytes", descr.n);
    }
out:
    rs_text_release(&descr);
    if (rc != RESPLIT_OK) {
        *out = (rs_dtype){0};
    }
    return rc;
}

resplit_status rs_dtype_copy(const rs_dtype *dtype, rs_dtype *out, resplit_error *err)
{
    *out = *dtype;
    out->descr = rs_strdup(dtype->descr);
    if (out->descr == NULL) {
        *out = (rs_dtype){0};
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for a type");
    }
    return RESPLIT_OK;
}

void rs_dtype_release(rs_dtype *dtype)
{
    if (dtype != NULL) {
        free(dtype->descr);
        *dtype = (rs_dtype){0};
    }
}

bool rs_dtype_same_values(const rs_dtype *a, const rs_dtype *b)
{
    /* The first character of a simple type is its byte order; the rest is kind, size and unit. */
    size_t skip = a->swap_size > 0 && b->swap_size > 0 ? 1 : 0;
    return strcmp(a->descr + skip, b->descr + skip) == 0;
}

resplit_status rs_dtype_cast(const rs_dtype *from, const rs_dtype *to, rs_cast *out, resplit_error *err)
{
    rs_element a = rs_dtype_element(from), b = rs_dtype_element(to);
    *out = (rs_cast){.kind = RS_CAST_NONE, .from = a, .to = b};
    if (strcmp(from->descr, to->descr) == 0) {
        return RESPLIT_OK;
    }
    if (rs_dtype_same_values(from, to)) { /* records have no byte order: they are equal or not */
        *out = rs_cast_swap(&a, from->swap_size);
        return RESPLIT_OK;
    }
    if (rs_cast_make(&a, &b, out)) {
        return RESPLIT_OK;
    }
    *out = (rs_cast){.kind = RS_CAST_NONE, .from = a, .to = b};
    return from->kind == 'c' && to->kind != 'c'
               ? rs_fail(err, RESPLIT_EUNSUPPORTED,
                         "elements of type '%.100s' cannot be cast to '%.100s': complex numbers would lose a part of "
                         "them; give a complex type",
                         from->descr, to->descr)
               : rs_fail(err, RESPLIT_EUNSUPPORTED,
                         "elements of type '%.100s' cannot be cast to '%.100s': only booleans, integers, "
                         "floating-point numbers of up to 8 bytes and complex numbers of up to 16 can be cast",
                         from->descr, to->descr);
}
