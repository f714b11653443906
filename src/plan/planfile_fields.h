/* SPDX-License-Identifier: BSD-3-Clause */
/* planfile_fields.h - the values of a plan file: of which type they must be, and how they are taken. */
#ifndef RS_PLANFILE_FIELDS_H
#define RS_PLANFILE_FIELDS_H

#include "base/json.h"
#include "plan/planfile.h"

typedef struct rs_fields {
    const char *path; /* for messages */
    resplit_error *err;
} rs_fields;

typedef enum rs_field_type {
    RS_FIELD_BOOLEAN,
    RS_FIELD_INTEGER,
    RS_FIELD_DOUBLE,
    RS_FIELD_STRING,
    RS_FIELD_ARRAY,
    RS_FIELD_OBJECT
} rs_field_type;

/* A key of an object; a table of them ends with one that has no name. */
typedef struct rs_field {
    const char *name;
    rs_field_type type;
    bool optional;
} rs_field;

/* "bad plan file 'path': why" */
resplit_status rs_fields_bad(const rs_fields *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Has the object, which messages call `of`, these keys, of these types, and no others? */
resplit_status rs_fields_check(const rs_fields *r, const char *of, const rs_json *object, const rs_field *keys);

/* An integer from `least` to `most`; the same of a key. */
resplit_status rs_fields_integer(const rs_fields *r, const char *name, const rs_json *value, int64_t least,
                                 int64_t most, int64_t *out);
resplit_status rs_fields_member(const rs_fields *r, const rs_json *object, const char *name, int64_t least,
                                int64_t *out);

/* The text of a string, appended; refuses what no C string holds. A copy of the text of a key, NULL when it is absent,
   refused when empty. */
resplit_status rs_fields_add_text(const rs_fields *r, const char *name, const rs_json *value, rs_text *out);
resplit_status rs_fields_text(const rs_fields *r, const rs_json *object, const char *name, char **out);

/* A list of one entry per axis; and the integers of one. */
resplit_status rs_fields_list(const rs_fields *r, const rs_json *object, const char *name, int ndim,
                              const rs_json **out);
resplit_status rs_fields_per_axis(const rs_fields *r, const rs_json *object, const char *name, int ndim, int64_t least,
                                  int64_t most, int64_t *out);

/* Numbers of a list into memory that the caller owns, failure or not. */
resplit_status rs_fields_numbers(const rs_fields *r, const char *name, const rs_json *list, int64_t *n, int64_t **out);

#endif
