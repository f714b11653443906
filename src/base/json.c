/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json.c - one pass over the text, with a stack of open arrays and objects instead of recursion. Values lie in chunks
 * that never move, so a link is right as soon as it is made.
 */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_DEPTH = 64,      /* of values in values */
    MAX_BYTES = 1 << 26, /* of text */
    MAX_VALUES = 1 << 22,
    CHUNK = 256, /* values allocated at once */
};

typedef struct chunk {
    struct chunk *before;
    rs_json value[CHUNK];
} chunk;

struct rs_json_document {
    chunk *last;
    size_t n; /* values in all chunks */
    const rs_json *root;
};

typedef struct parser {
    const char *begin, *at, *end;
    const char *path;
    rs_json_document *document;
    int depth;
    struct {
        rs_json *value; /* open array or object */
        rs_json *last;  /* in it; NULL: none yet */
    } open[MAX_DEPTH];
    const char *key; /* of the next value */
    size_t key_n;
    resplit_status failure; /* of new_value */
    resplit_error *err;
} parser;

static resplit_status bad(const parser *p, const char *at, const char *what)
{
    size_t line = 1, column = 1;
    for (const char *s = p->begin; s < at; s++) {
        line += *s == '\n';
        column = *s == '\n' ? 1 : column + 1;
    }
    return rs_fail(p->err, RESPLIT_EFORMAT, "'%s' is not valid JSON: %s in line %zu, column %zu", p->path, what, line,
                   column);
}

/* ---- Characters ---- */

/* Bytes of the UTF-8 character at `at`; 0: it is none (too long, a surrogate, above 10FFFF, cut off). */
static size_t utf8_length(const char *at, const char *end)
{
    const unsigned char *s = (const unsigned char *)at;
    size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
    if (n > (size_t)(end - at)) {
        return 0;
    }
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool wrong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90)
                 || (s[0] == 0xf4 && s[1] > 0x8f);
    return wrong ? 0 : n;
}

/* What may follow a backslash, and what it means; also u and four hexadecimal digits. */
static const char escaped[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";

static bool is_hex4(const char *at, const char *end)
{
    for (int i = 0; i < 4; i++) {
        char c = at + i < end ? at[i] : '\0';
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))) {
            return false;
        }
    }
    return true;
}

/* ---- Parsing ---- */

static void skip_space(parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\t' || *p->at == '\r')) {
        p->at++;
    }
}

/* Past a string, which begins at p->at with a quote. */
static resplit_status scan_string(parser *p)
{
    for (p->at++; p->at < p->end && *p->at != '"';) {
        if ((unsigned char)*p->at < 0x20) {
            return bad(p, p->at, "a control character that is not escaped");
        }
        if (*p->at != '\\') {
            size_t n = utf8_length(p->at, p->end);
            if (n == 0) {
                return bad(p, p->at, "a byte that is no UTF-8");
            }
            p->at += n;
            continue;
        }
        char c = p->end - p->at > 1 ? p->at[1] : '\0';
        if (c == '\0' || (c == 'u' ? !is_hex4(p->at + 2, p->end) : strchr(escaped, c) == NULL)) {
            return bad(p, p->at, "a wrong escape");
        }
        p->at += c == 'u' ? 6 : 2;
    }
    if (p->at == p->end) {
        return bad(p, p->at, "a string that does not end");
    }
    p->at++;
    return RESPLIT_OK;
}

static size_t count_digits(const char *s, const char *end)
{
    size_t n = 0;
    while (s + n < end && s[n] >= '0' && s[n] <= '9') {
        n++;
    }
    return n;
}

/* Past a number: -12.5e-3, with digits wherever there is a place for some, and no 0 before other digits. */
static resplit_status scan_number(parser *p)
{
    const char *begin = p->at, *s = begin + (*begin == '-');
    size_t n = count_digits(s, p->end);
    bool good = n == 1 || (n > 1 && *s != '0');
    s += n;
    if (good && s < p->end && *s == '.') {
        n = count_digits(++s, p->end);
        good = n > 0;
        s += n;
    }
    if (good && s < p->end && (*s == 'e' || *s == 'E')) {
        s++;
        s += s < p->end && (*s == '+' || *s == '-');
        n = count_digits(s, p->end);
        good = n > 0;
        s += n;
    }
    if (!good) {
        return bad(p, begin, "a wrong number");
    }
    p->at = s;
    return RESPLIT_OK;
}

/* NULL: p->failure says why. */
static rs_json *new_value(parser *p, rs_json_kind kind)
{
    rs_json_document *document = p->document;
    if (document->n == MAX_VALUES) {
        p->failure = rs_fail(p->err, RESPLIT_EFORMAT, "'%s' has more than the %d JSON values that are read", p->path,
                             MAX_VALUES);
        return NULL;
    }
    if (document->n % CHUNK == 0) {
        chunk *more = malloc(sizeof *more);
        if (more == NULL) {
            p->failure = rs_fail(p->err, RESPLIT_ENOMEM, "no memory for the JSON values of '%s'", p->path);
            return NULL;
        }
        more->before = document->last;
        document->last = more;
    }
    rs_json *value = &document->last->value[document->n++ % CHUNK];
    *value = (rs_json){.kind = kind, .text = p->at, .key = p->key, .key_n = p->key_n};
    p->key = NULL;
    p->key_n = 0;
    if (p->depth == 0) {
        document->root = value;
    } else if (p->open[p->depth - 1].last == NULL) {
        p->open[p->depth - 1].value->first = value;
    } else {
        p->open[p->depth - 1].last->next = value;
    }
    if (p->depth > 0) {
        p->open[p->depth - 1].last = value;
    }
    return value;
}

static bool take_word(parser *p, rs_json_kind *kind)
{
    static const struct {
        const char *word;
        rs_json_kind kind;
    } words[] = {
        {"null", RS_JSON_NULL},  {"false", RS_JSON_FALSE},     {"true", RS_JSON_TRUE},
        {"NaN", RS_JSON_NUMBER}, {"Infinity", RS_JSON_NUMBER}, {"-Infinity", RS_JSON_NUMBER},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i].word);
        if ((size_t)(p->end - p->at) >= n && memcmp(p->at, words[i].word, n) == 0) {
            *kind = words[i].kind;
            p->at += n;
            return true;
        }
    }
    return false;
}

static resplit_status open_value(parser *p, rs_json_kind kind)
{
    if (p->depth == MAX_DEPTH) {
        return rs_fail(p->err, RESPLIT_EFORMAT, "'%s' has JSON values that are nested more than %d deep", p->path,
                       MAX_DEPTH);
    }
    rs_json *value = new_value(p, kind);
    if (value == NULL) {
        return p->failure;
    }
    p->open[p->depth].value = value;
    p->open[p->depth++].last = NULL;
    p->at++;
    return RESPLIT_OK;
}

/* A value that stands alone, or the beginning of an array or object. */
static resplit_status take_value(parser *p)
{
    const char *begin = p->at;
    rs_json_kind kind = RS_JSON_STRING;
    if (begin < p->end && (*begin == '[' || *begin == '{')) {
        return open_value(p, *begin == '[' ? RS_JSON_ARRAY : RS_JSON_OBJECT);
    }
    if (begin < p->end && *begin == '"') {
        RS_TRY(scan_string(p));
    } else if (begin < p->end && !take_word(p, &kind)) {
        kind = RS_JSON_NUMBER;
        if (*begin != '-' && (*begin < '0' || *begin > '9')) {
            return bad(p, begin, "something that is no value");
        }
        RS_TRY(scan_number(p));
    } else if (begin == p->end) {
        return bad(p, begin, "the end where a value is expected");
    }
    size_t n = (size_t)(p->at - begin);
    p->at = begin;
    rs_json *value = new_value(p, kind);
    if (value == NULL) {
        return p->failure;
    }
    value->n = n;
    p->at = begin + n;
    return RESPLIT_OK;
}

/* "key" : */
static resplit_status take_key(parser *p)
{
    if (p->at == p->end || *p->at != '"') {
        return bad(p, p->at, "no key where one is expected");
    }
    p->key = p->at;
    RS_TRY(scan_string(p));
    p->key_n = (size_t)(p->at - p->key);
    skip_space(p);
    if (p->at == p->end || *p->at != ':') {
        return bad(p, p->at, "no ':' after a key");
    }
    p->at++;
    skip_space(p);
    return RESPLIT_OK;
}

/* Closes what ends here; with *more, another value of the innermost open one begins at p->at. */
static resplit_status take_marks(parser *p, bool *more)
{
    *more = false;
    while (p->depth > 0) {
        rs_json *value = p->open[p->depth - 1].value;
        bool first = p->open[p->depth - 1].last == NULL;
        skip_space(p);
        if (p->at < p->end && *p->at == (value->kind == RS_JSON_ARRAY ? ']' : '}')) {
            p->at++;
            p->depth--;
            value->n = (size_t)(p->at - value->text);
            continue;
        }
        if (!first && (p->at == p->end || *p->at != ',')) {
            return bad(p, p->at, value->kind == RS_JSON_ARRAY ? "neither ',' nor ']'" : "neither ',' nor '}'");
        }
        p->at += !first;
        skip_space(p);
        *more = true;
        return value->kind == RS_JSON_OBJECT ? take_key(p) : RESPLIT_OK;
    }
    return RESPLIT_OK;
}

static resplit_status parse_all(parser *p)
{
    bool more = true;
    skip_space(p);
    while (more) {
        RS_TRY(take_value(p));
        RS_TRY(take_marks(p, &more));
    }
    skip_space(p);
    return p->at == p->end ? RESPLIT_OK : bad(p, p->at, "something after the value");
}

resplit_status rs_json_parse(const char *text, size_t n, const char *path, rs_json_document **out, resplit_error *err)
{
    *out = NULL;
    if (n > MAX_BYTES) {
        return rs_fail(err, RESPLIT_EFORMAT, "'%s' has %zu bytes of JSON; at most %d are read", path, n, MAX_BYTES);
    }
    if (n == 0) {
        return rs_fail(err, RESPLIT_EFORMAT, "'%s' is not valid JSON: it is empty", path);
    }
    rs_json_document *document = calloc(1, sizeof *document);
    if (document == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for the JSON values of '%s'", path);
    }
    parser p = {.begin = text, .at = text, .end = text + n, .path = path, .document = document, .err = err};
    resplit_status rc = parse_all(&p);
    if (rc != RESPLIT_OK) {
        rs_json_free(document);
        return rc;
    }
    *out = document;
    return RESPLIT_OK;
}

void rs_json_free(rs_json_document *document)
{
    chunk *before;
    if (document == NULL) {
        return;
    }
    for (chunk *c = document->last; c != NULL; c = before) {
        before = c->before;
        free(c);
    }
    free(document);
}

const rs_json *rs_json_root(const rs_json_document *document)
{
    return document->root;
}

/* ---- Writing ---- */

resplit_status rs_json_write_string(rs_text *out, const char *string, resplit_error *err)
{
    RS_TRY(rs_text_add_bytes(out, "\"", 1, err));
    for (const char *end = string + strlen(string); string < end;) {
        size_t n = utf8_length(string, end);
        const char *known = n == 1 ? strchr(meant, *string) : NULL;
        if (n == 0) {
            return rs_fail(err, RESPLIT_EINVAL, "text that is not UTF-8 cannot be written as JSON: '%.60s'", string);
        }
        if (known != NULL && *known != '/') {
            char pair[2] = {'\\', escaped[known - meant]};
            RS_TRY(rs_text_add_bytes(out, pair, 2, err));
        } else if ((unsigned char)*string < 0x20) {
            RS_TRY(rs_text_add(out, err, "\\u%04x", (unsigned)(unsigned char)*string));
        } else {
            RS_TRY(rs_text_add_bytes(out, string, n, err));
        }
        string += n;
    }
    return rs_text_add_bytes(out, "\"", 1, err);
}

resplit_status rs_json_write_double(rs_text *out, double value, resplit_error *err)
{
    char text[40];
    (void)snprintf(text, sizeof text, "%.15g", value);
    if (!isfinite(value)) {
        return rs_fail(err, RESPLIT_EINVAL, "%s cannot be written as JSON", text);
    }
    size_t n = strspn(text, "-0123456789"),
           point = strcspn(text + n, "0123456789e"); /* the locale's, maybe several bytes */
    const char *ours = text[n] == '\0' ? ".0" : point > 0 ? "." : "";
    return rs_text_add(out, err, "%.*s%s%s", (int)n, text, ours, text + n + point);
}
