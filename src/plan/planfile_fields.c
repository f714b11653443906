/* SPDX-License-Identifier: BSD-3-Clause */
/* planfile_fields.c - checks and takes the values of a plan file, one by one. */
#include "plan/planfile_fields.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const type_names[] = {
    [RS_FIELD_BOOLEAN] = "boolean", [RS_FIELD_INTEGER] = "int", [RS_FIELD_DOUBLE] = "double",
    [RS_FIELD_STRING] = "string",   [RS_FIELD_ARRAY] = "array", [RS_FIELD_OBJECT] = "object",
};

resplit_status rs_fields_bad(const rs_fields *r, const char *format, ...)
{
    char why[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return rs_fail(r->err, RESPLIT_EFORMAT, "bad plan file '%s': %s", r->path, why);
}

/* A double is a number with a point or an exponent, as it is written; NaN and infinities are refused by their range. */
static bool is_of_type(const rs_json *value, rs_field_type wanted)
{
    switch (value->kind) {
    case RS_JSON_FALSE:
    case RS_JSON_TRUE: return wanted == RS_FIELD_BOOLEAN;
    case RS_JSON_NUMBER: return wanted == (rs_json_is_integer(value) ? RS_FIELD_INTEGER : RS_FIELD_DOUBLE);
    case RS_JSON_STRING: return wanted == RS_FIELD_STRING;
    case RS_JSON_ARRAY: return wanted == RS_FIELD_ARRAY;
    case RS_JSON_OBJECT: return wanted == RS_FIELD_OBJECT;
    default: return false;
    }
}

static bool is_known(const rs_json *value, const rs_field *keys)
{
    while (keys->name != NULL && !rs_json_key_is(value, keys->name)) {
        keys++;
    }
    return keys->name != NULL;
}

resplit_status rs_fields_check(const rs_fields *r, const char *of, const rs_json *object, const rs_field *keys)
{
    for (const rs_json *value = object->first; value != NULL; value = value->next) {
        if (!is_known(value, keys)) {
            return rs_fields_bad(r, "\"%.*s\" in %s is not known", (int)rs_min(60, (int64_t)value->key_n - 2),
                                 value->key + 1, of);
        }
    }
    for (; keys->name != NULL; keys++) {
        const rs_json *value = rs_json_get(object, keys->name);
        if (value == NULL && !keys->optional) {
            return rs_fields_bad(r, "\"%s\" is missing in %s", keys->name, of);
        }
        if (value != NULL && !is_of_type(value, keys->type)) {
            return rs_fields_bad(r, "\"%s\" in %s must be of type %s", keys->name, of, type_names[keys->type]);
        }
    }
    return RESPLIT_OK;
}

/* An integer from `least` to `most`. */
resplit_status rs_fields_integer(const rs_fields *r, const char *name, const rs_json *value, int64_t least,
                                 int64_t most, int64_t *out)
{
    *out = 0;
    if (!rs_json_is_integer(value)) {
        return rs_fields_bad(r, "\"%s\" must hold whole numbers", name);
    }
    if (!rs_json_int64(value, out) || *out < least || *out > most) {
        return rs_fields_bad(r, "\"%s\" holds %.*s, which is out of range", name, (int)rs_min(60, (int64_t)value->n),
                             value->text);
    }
    return RESPLIT_OK;
}

resplit_status rs_fields_member(const rs_fields *r, const rs_json *object, const char *name, int64_t least,
                                int64_t *out)
{
    return rs_fields_integer(r, name, rs_json_get(object, name), least, INT64_MAX, out);
}

/* The text of a string, appended. Refuses what no C string holds. */
resplit_status rs_fields_add_text(const rs_fields *r, const char *name, const rs_json *value, rs_text *out)
{
    resplit_status rc = rs_json_add_string(value, out, r->err);
    return rc != RESPLIT_EFORMAT ? rc : rs_fields_bad(r, "\"%s\" holds a NUL or half a character", name);
}

/* A copy of the text of a key, NULL when the key is absent. Refuses an empty text. */
resplit_status rs_fields_text(const rs_fields *r, const rs_json *object, const char *name, char **out)
{
    const rs_json *value = rs_json_get(object, name);
    rs_text text = {0};
    if (value == NULL) {
        return RESPLIT_OK;
    }
    resplit_status rc = rs_fields_add_text(r, name, value, &text);
    if (rc == RESPLIT_OK && text.n == 0) {
        rc = rs_fields_bad(r, "\"%s\" is empty", name);
    }
    if (rc == RESPLIT_OK) {
        *out = text.s;
    } else {
        rs_text_release(&text);
    }
    return rc;
}

/* A list of one entry per axis. */
resplit_status rs_fields_list(const rs_fields *r, const rs_json *object, const char *name, int ndim,
                              const rs_json **out)
{
    *out = rs_json_get(object, name);
    int64_t n = rs_json_count(*out);
    if (n != ndim) {
        return rs_fields_bad(r, "\"%s\" has %lld entries for %d axes", name, (long long)n, ndim);
    }
    return RESPLIT_OK;
}

/* The integers of a list of one entry per axis. */
resplit_status rs_fields_per_axis(const rs_fields *r, const rs_json *object, const char *name, int ndim, int64_t least,
                                  int64_t most, int64_t *out)
{
    const rs_json *list;
    RS_TRY(rs_fields_list(r, object, name, ndim, &list));
    for (const rs_json *value = list->first; value != NULL; value = value->next) {
        RS_TRY(rs_fields_integer(r, name, value, least, most, out++));
    }
    return RESPLIT_OK;
}

/* Numbers of a list into memory that the caller owns, failure or not. */
resplit_status rs_fields_numbers(const rs_fields *r, const char *name, const rs_json *list, int64_t *n, int64_t **out)
{
    int64_t i = 0;
    *n = rs_json_count(list);
    *out = calloc((size_t)*n + 1, sizeof **out);
    if (*out == NULL) {
        return rs_fail(r->err, RESPLIT_ENOMEM, "no memory for %lld numbers of plan file '%s'", (long long)*n, r->path);
    }
    for (const rs_json *value = list->first; value != NULL; value = value->next) {
        RS_TRY(rs_fields_integer(r, name, value, 0, INT64_MAX, &(*out)[i++]));
    }
    return RESPLIT_OK;
}
