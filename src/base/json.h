/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json.h - JSON that loses nothing: every value knows the text it was written as, so that what is not understood, and
 * numbers that no C type holds, can be written again byte for byte.
 *
 *     {"a": [1, 1e400], "b": NaN}      object -- first --> "a" array -- next --> "b" number
 *                                                            |
 *                                                          first --> number -- next --> number
 *
 * Python's NaN, Infinity and -Infinity are numbers. Depth, size and number of values are limited.
 */
#ifndef RS_JSON_H
#define RS_JSON_H

#include "base/text.h"

typedef enum rs_json_kind {
    RS_JSON_NULL,
    RS_JSON_FALSE,
    RS_JSON_TRUE,
    RS_JSON_NUMBER,
    RS_JSON_STRING,
    RS_JSON_ARRAY,
    RS_JSON_OBJECT
} rs_json_kind;

/* A value. Borrowed from its document, which borrows the text. */
typedef struct rs_json {
    rs_json_kind kind;
    const char *text; /* as it was written, quotes and brackets included */
    size_t n;
    const char *key; /* in an object: the text of its key, quotes included; else NULL */
    size_t key_n;
    const struct rs_json *first; /* of an array or object; NULL: empty */
    const struct rs_json *next;  /* in the same array or object; NULL: the last */
} rs_json;

typedef struct rs_json_document rs_json_document;

/* Parses all of `text`, which must outlive the document. `path` is for messages: RESPLIT_EFORMAT, with
   line and column. */
resplit_status rs_json_parse(const char *text, size_t n, const char *path, rs_json_document **out, resplit_error *err);
void rs_json_free(rs_json_document *document);
const rs_json *rs_json_root(const rs_json_document *document);

/* The value of a key; the last one of several, as Python takes it. NULL: none, or not an object. */
const rs_json *rs_json_get(const rs_json *object, const char *key);

/* Number of values in an array or object. */
int64_t rs_json_count(const rs_json *value);

/* Whether it is a number that is written as digits only, however large: 2.0, 1e3 and NaN are none. */
bool rs_json_is_integer(const rs_json *value);

/* True for an integer that fits, for any number (NaN and infinities too), for true and false. */
bool rs_json_int64(const rs_json *value, int64_t *out);
bool rs_json_uint64(const rs_json *value, uint64_t *out);
bool rs_json_double(const rs_json *value, double *out);
bool rs_json_bool(const rs_json *value, bool *out);

/* Whether it is this string, escapes undone. NULL is not. */
bool rs_json_is(const rs_json *value, const char *string);
bool rs_json_key_is(const rs_json *value, const char *key);

/* Appends the string, escapes undone, in UTF-8. RESPLIT_EFORMAT for anything but a string, and for a NUL in it. */
resplit_status rs_json_add_string(const rs_json *value, rs_text *out, resplit_error *err);

/* Appends a JSON string with quotes and escapes. */
resplit_status rs_json_write_string(rs_text *out, const char *string, resplit_error *err);

/*
 * Appends a number with 15 digits, so that what was written with as many, as 9e-05, is written so again; with a point
 * or an exponent, in every locale. RESPLIT_EINVAL for NaN and infinities.
 */
resplit_status rs_json_write_double(rs_text *out, double value, resplit_error *err);

#endif
