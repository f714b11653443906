/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zarr_type.c - data types. Both versions become NumPy's words, which dtype.c reads:
 *
 *     v2  [["a", "<i4"], ["b", "<f8", [2]]]    ->  [('a', '<i4'), ('b', '<f8', (2,))]
 *     v3  "int32", with bytes in little        ->  <i4
 *     v3  "bfloat16"                           ->  |V2: bytes that are carried, of a size that is known
 */
#include <stdlib.h>
#include <string.h>

#include "format/literal.h"
#include "format/zarr_parts.h"

typedef struct type_word {
    const char *name;
    char kind;
    int size;
} type_word;

/* The first names of a kind and size are those that are written. */
static const type_word words[] = {
    {"bool", 'b', 1},
    {"int8", 'i', 1},
    {"int16", 'i', 2},
    {"int32", 'i', 4},
    {"int64", 'i', 8},
    {"uint8", 'u', 1},
    {"uint16", 'u', 2},
    {"uint32", 'u', 4},
    {"uint64", 'u', 8},
    {"float16", 'f', 2},
    {"float32", 'f', 4},
    {"float64", 'f', 8},
    {"complex64", 'c', 8},
    {"complex128", 'c', 16},
    {"complex_float32", 'c', 8},
    {"complex_float64", 'c', 16},
    /* no types of NumPy, but of a size that is certain */
    {"bfloat16", 'V', 2},
    {"complex_bfloat16", 'V', 4},
    {"complex_float16", 'V', 4},
    {"float8_e3m4", 'V', 1},
    {"float8_e4m3", 'V', 1},
    {"float8_e4m3b11fnuz", 'V', 1},
    {"float8_e4m3fnuz", 'V', 1},
    {"float8_e5m2", 'V', 1},
    {"float8_e5m2fnuz", 'V', 1},
    {"float8_e8m0fnu", 'V', 1},
};

/* Types with a length or a unit. */
static const struct {
    const char *name;
    char kind;
    int unit; /* bytes that a NumPy length counts; 0: a time */
} measured[] = {
    {"null_terminated_bytes", 'S', 1}, {"fixed_length_utf32", 'U', 4}, {"raw_bytes", 'V', 1},
    {"numpy.datetime64", 'M', 0},      {"numpy.timedelta64", 'm', 0},
};

/* A string in Python's quotes; names that would need escapes are left to those who know what they mean. */
static resplit_status add_quoted(const char *path, const char *key, const rs_json *value, rs_text *out,
                                 resplit_error *err)
{
    rs_text name = {0};
    resplit_status rc;
    if (value == NULL || value->kind != RS_JSON_STRING) {
        return rs_zarr_bad(path, key, value, "but the name of a field must be text", err);
    }
    rc = rs_json_add_string(value, &name, err);
    if (rc == RESPLIT_OK) {
        bool single = memchr(name.s, '\'', name.n) != NULL, other = memchr(name.s, '"', name.n) != NULL;
        bool odd = memchr(name.s, '\\', name.n) != NULL || (single && other);
        for (size_t i = 0; i < name.n; i++) {
            odd = odd || (unsigned char)name.s[i] < 0x20;
        }
        char quote = single ? '"' : '\'';
        rc = odd ? rs_fail(err, RESPLIT_EUNSUPPORTED,
                           "'%s' has a field %.*s: quotes and backslashes in names are not handled", path,
                           rs_shown(value->n), value->text)
                 : rs_text_add(out, err, "%c%s%c", quote, name.s, quote);
    }
    rs_text_release(&name);
    return rc;
}

/* [2, 3] as (2, 3), [2] or 2 as (2,) */
static resplit_status add_subshape(const char *path, const rs_json *value, rs_text *out, resplit_error *err)
{
    int64_t length;
    if (value->kind == RS_JSON_NUMBER && rs_json_int64(value, &length) && length >= 0) {
        return rs_text_add(out, err, "(%lld,)", (long long)length);
    }
    if (value->kind != RS_JSON_ARRAY) {
        return rs_zarr_bad(path, "dtype", value, "but the shape of a field is a list of lengths", err);
    }
    RS_TRY(rs_text_add(out, err, "("));
    for (const rs_json *v = value->first; v != NULL; v = v->next) {
        if (!rs_json_int64(v, &length) || length < 0) {
            return rs_zarr_bad(path, "dtype", v, "but lengths of a field are integers", err);
        }
        RS_TRY(rs_text_add(out, err, "%lld,", (long long)length));
    }
    return rs_text_add(out, err, ")");
}

/* One type of version 2 as Python would write it. Depth is limited. */
static resplit_status add_v2(const char *path, const rs_json *value, int depth, rs_text *out, resplit_error *err)
{
    if (value->kind == RS_JSON_STRING) {
        return add_quoted(path, "dtype", value, out, err);
    }
    if (value->kind != RS_JSON_ARRAY || depth > RS_MAX_RECORDS) {
        return rs_zarr_bad(path, "dtype", value, "but types are text, or lists of fields that are not nested too deep",
                           err);
    }
    RS_TRY(rs_text_add(out, err, "["));
    for (const rs_json *field = value->first; field != NULL; field = field->next) {
        const rs_json *name = field->first, *type = name == NULL ? NULL : name->next;
        if (field->kind != RS_JSON_ARRAY || type == NULL || (type->next != NULL && type->next->next != NULL)) {
            return rs_zarr_bad(path, "dtype", field, "but fields are [name, type] or [name, type, shape]", err);
        }
        RS_TRY(rs_text_add(out, err, "("));
        RS_TRY(add_quoted(path, "dtype", name, out, err));
        RS_TRY(rs_text_add(out, err, ", "));
        RS_TRY(add_v2(path, type, depth + 1, out, err));
        if (type->next != NULL) {
            RS_TRY(rs_text_add(out, err, ", "));
            RS_TRY(add_subshape(path, type->next, out, err));
        }
        RS_TRY(rs_text_add(out, err, "), "));
    }
    return rs_text_add(out, err, "]");
}

/* Reads NumPy's word; what is wrong with it is said of the file. */
static resplit_status parse_descr(const char *path, const char *key, const char *descr, rs_dtype *out,
                                  resplit_error *err)
{
    resplit_error why;
    resplit_status rc = rs_dtype_parse(descr, out, &why);
    if (rc == RESPLIT_OK && out->itemsize > RS_ZARR_MAX_ITEM) {
        rc = rs_fail(&why, RESPLIT_EUNSUPPORTED, "they have %lld bytes, and at most %d are handled",
                     (long long)out->itemsize, RS_ZARR_MAX_ITEM);
        rs_dtype_release(out);
    }
    if (rc == RESPLIT_OK || rc == RESPLIT_ENOMEM) {
        return rc == RESPLIT_OK ? rc : rs_fail_with(err, &why);
    }
    return rc == RESPLIT_EUNSUPPORTED
               ? rs_fail(err, rc, "'%s' has elements that can only be copied as they are: %s", path, why.message)
               : rs_fail(err, RESPLIT_EFORMAT, "bad metadata '%s': \"%s\": %s", path, key, why.message);
}

resplit_status rs_zarr_type_v2(const char *path, const rs_json *value, rs_dtype *out, resplit_error *err)
{
    rs_text descr = {0};
    resplit_status rc;
    if (value == NULL || (value->kind != RS_JSON_STRING && value->kind != RS_JSON_ARRAY)) {
        return rs_zarr_bad(path, "dtype", value, "but a type is text or a list of fields", err);
    }
    rc = value->kind == RS_JSON_STRING ? rs_json_add_string(value, &descr, err) : add_v2(path, value, 1, &descr, err);
    rc = rc != RESPLIT_OK ? rc : parse_descr(path, "dtype", descr.s, out, err);
    rs_text_release(&descr);
    return rc;
}

/* r24: a number of bits */
static bool take_bits(const char *name, int64_t *bytes)
{
    *bytes = 0;
    if (name[0] != 'r' || name[1] < '1' || name[1] > '9') {
        return false;
    }
    for (const char *s = name + 1; *s != '\0'; s++) {
        if (*s < '0' || *s > '9' || !rs_mul(*bytes, 10, bytes) || !rs_add(*bytes, *s - '0', bytes)) {
            return false;
        }
    }
    bool whole = *bytes % 8 == 0;
    *bytes /= 8;
    return whole;
}

static resplit_status add_measured(const char *path, size_t i, const rs_json *config, char order, rs_text *out,
                                   resplit_error *err)
{
    int64_t n = 1;
    rs_text unit = {0};
    if (measured[i].unit > 0) {
        const rs_json *length = rs_json_get(config, "length_bytes");
        if (!rs_json_int64(length, &n) || n < 1 || n % measured[i].unit != 0) {
            return rs_zarr_bad(path, "length_bytes", length, "but it is the bytes of an element", err);
        }
        return rs_text_add(out, err, "%c%c%lld", order, measured[i].kind, (long long)(n / measured[i].unit));
    }
    const rs_json *scale = rs_json_get(config, "scale_factor");
    if (scale != NULL && (!rs_json_int64(scale, &n) || n < 1 || n > INT32_MAX)) {
        return rs_zarr_bad(path, "scale_factor", scale, "but it is an integer from 1 to 2147483647", err);
    }
    const rs_json *value = rs_json_get(config, "unit");
    if (value == NULL || value->kind != RS_JSON_STRING) {
        return rs_zarr_bad(path, "unit", value, "but it is text", err);
    }
    resplit_status rc = rs_json_add_string(value, &unit, err);
    if (rc == RESPLIT_OK && (unit.n == 0 || unit.n > 8 || strspn(unit.s, "0123456789[]") > 0)) {
        rc = rs_zarr_bad(path, "unit", value, "but it is one of NumPy's units", err);
    }
    if (rc == RESPLIT_OK && strcmp(unit.s, "\xce\xbcs") == 0) { /* micro, as the registry also has it */
        unit.s[0] = 'u';
        unit.s[1] = 's';
        unit.s[2] = '\0';
    }
    if (rc == RESPLIT_OK && strcmp(unit.s, "generic") == 0) {
        rc = rs_text_add(out, err, "%c%c8", order, measured[i].kind);
    } else if (rc == RESPLIT_OK) {
        rc = n == 1 ? rs_text_add(out, err, "%c%c8[%s]", order, measured[i].kind, unit.s)
                    : rs_text_add(out, err, "%c%c8[%lld%s]", order, measured[i].kind, (long long)n, unit.s);
    }
    rs_text_release(&unit);
    return rc;
}

static resplit_status add_v3(const char *path, const rs_json *value, char order, int depth, rs_text *out,
                             resplit_error *err);

/* {"name": ..., "data_type": ...}, or ["name", type] as zarr-python writes it */
static resplit_status add_fields(const char *path, const rs_json *config, char order, int depth, rs_text *out,
                                 resplit_error *err)
{
    const rs_json *fields = rs_json_get(config, "fields");
    if (fields == NULL || fields->kind != RS_JSON_ARRAY || fields->first == NULL || depth > RS_MAX_RECORDS) {
        return rs_zarr_bad(path, "fields", fields, "but it is a list of fields that are not nested too deep", err);
    }
    RS_TRY(rs_text_add(out, err, "["));
    for (const rs_json *field = fields->first; field != NULL; field = field->next) {
        bool is_list = field->kind == RS_JSON_ARRAY && rs_json_count(field) == 2;
        const rs_json *name = is_list ? field->first : rs_json_get(field, "name");
        const rs_json *type = is_list ? field->first->next : rs_json_get(field, "data_type");
        if (type == NULL) {
            return rs_zarr_bad(path, "fields", field, "but a field has a name and a data type", err);
        }
        RS_TRY(rs_text_add(out, err, "("));
        RS_TRY(add_quoted(path, "fields", name, out, err));
        RS_TRY(rs_text_add(out, err, ", "));
        size_t at = out->n;
        RS_TRY(rs_text_add(out, err, "'"));
        RS_TRY(add_v3(path, type, order, depth + 1, out, err));
        if (out->s[at + 1] == '[') {
            out->s[at] = ' ';
        } else {
            RS_TRY(rs_text_add(out, err, "'"));
        }
        RS_TRY(rs_text_add(out, err, "), "));
    }
    return rs_text_add(out, err, "]");
}

static resplit_status add_named(const char *path, const char *name, const rs_json *value, const rs_json *config,
                                char order, int depth, rs_text *out, resplit_error *err)
{
    char shown[RS_ZARR_SHOWN];
    int64_t bytes;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(words[i].name, name) == 0) {
            return rs_text_add(out, err, "%c%c%d", order, words[i].kind, words[i].size);
        }
    }
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        if (strcmp(measured[i].name, name) == 0) {
            return add_measured(path, i, config, order, out, err);
        }
    }
    if (take_bits(name, &bytes)) {
        return rs_text_add(out, err, "|V%lld", (long long)bytes);
    }
    if (strcmp(name, "struct") == 0 || strcmp(name, "structured") == 0) {
        return add_fields(path, config, order, depth, out, err);
    }
    return rs_fail(err, RESPLIT_EUNSUPPORTED,
                   "'%s' has elements of type %s, whose size is not fixed or not known: its chunks can only be copied "
                   "as they are",
                   path, rs_zarr_show(value, shown));
}

static resplit_status add_v3(const char *path, const rs_json *value, char order, int depth, rs_text *out,
                             resplit_error *err)
{
    rs_text name = {0};
    const rs_json *config;
    resplit_status rc = rs_zarr_named(path, "data_type", value, &name, &config, err);
    if (rc == RESPLIT_OK) {
        rc = add_named(path, name.s, value, config, order, depth, out, err);
    }
    rs_text_release(&name);
    return rc;
}

resplit_status rs_zarr_type_v3(const char *path, const rs_json *value, char order, rs_dtype *out, resplit_error *err)
{
    rs_text descr = {0};
    resplit_status rc = add_v3(path, value, order == 0 ? '<' : order, 1, &descr, err);
    rc = rc != RESPLIT_OK ? rc : parse_descr(path, "data_type", descr.s, out, err);
    if (rc == RESPLIT_OK && order == 0 && out->byteorder != '|') {
        rs_dtype_release(out);
        rc = rs_fail(err, RESPLIT_EFORMAT,
                     "bad metadata '%s': the codec \"bytes\" needs an \"endian\" for elements of type %.*s", path,
                     rs_shown(value->n), value->text);
    }
    rs_text_release(&descr);
    return rc;
}

bool rs_zarr_type_is_foreign(const rs_json *type)
{
    const rs_json *name = type != NULL && type->kind == RS_JSON_OBJECT ? rs_json_get(type, "name") : type;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (words[i].kind == 'V' && rs_json_is(name, words[i].name)) {
            return true;
        }
    }
    return false;
}

/* A time has its unit after the size in its NumPy name. */
resplit_status rs_zarr_type_print_simple(const rs_dtype *dtype, rs_text *out, resplit_error *err)
{
    const char *descr = dtype->descr;
    char kind = dtype->kind;
    int64_t itemsize = dtype->itemsize;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (words[i].kind == kind && words[i].size == itemsize && kind != 'V') {
            return rs_text_add(out, err, "\"%s\"", words[i].name);
        }
    }
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        if (measured[i].kind == kind && measured[i].unit > 0) {
            return rs_text_add(out, err, "{\"name\": \"%s\", \"configuration\": {\"length_bytes\": %lld}}",
                               measured[i].name, (long long)itemsize);
        }
        if (measured[i].kind == kind) {
            const char *bracket = strchr(descr, '['), *s = bracket == NULL ? "generic]" : bracket + 1;
            bool scaled = *s >= '0' && *s <= '9';
            long long scale = scaled ? strtoll(s, NULL, 10) : 1;
            if (scale < 1 || scale > INT32_MAX) {
                break;
            }
            s += strspn(s, "0123456789");
            return rs_text_add(out, err,
                               "{\"name\": \"%s\", \"configuration\": {\"unit\": \"%.*s\", \"scale_factor\": %lld}}",
                               measured[i].name, (int)(strlen(s) - 1), s, scale);
        }
    }
    return rs_fail(err, RESPLIT_EUNSUPPORTED, "Zarr version 3 has no type for elements of '%s'", descr);
}
