/* SPDX-License-Identifier: BSD-3-Clause */
/* manifest.c - writes and strictly reads resplit.json. Numbers are 64-bit integers throughout, never doubles. */
#include "format/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/drivers.h"

enum {
    VERSION = 1,
    MAX_BYTES = 16 << 20, /* of a manifest: about two million uneven cuts */
    MAX_NESTING = 8,      /* of JSON in JSON */
};

/* ---- Writing ---- */

static resplit_status add_string(rs_text *out, const char *key, const char *value, resplit_error *err)
{
    resplit_status rc;
    struct json_object *string = json_object_new_string(value);
    const char *quoted =
        string == NULL
            ? NULL
            : json_object_to_json_string_ext(string, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
    if (quoted == NULL) {
        rc = rs_fail(err, RESPLIT_ENOMEM, "no memory for a manifest");
    } else {
        rc = rs_text_add(out, err, "  \"%s\": %s,\n", key, quoted);
    }
    json_object_put(string);
    return rc;
}

static resplit_status add_chunks(rs_text *out, const resplit_chunks *chunks, resplit_error *err)
{
    if (chunks->count == 0) {
        return rs_text_add(out, err, "%lld", (long long)chunks->length);
    }
    RS_TRY(rs_text_add(out, err, "["));
    for (int64_t i = 0; i < chunks->count; i++) {
        RS_TRY(rs_text_add(out, err, i > 0 ? ", %lld" : "%lld", (long long)chunks->lengths[i]));
    }
    return rs_text_add(out, err, "]");
}

static resplit_status add_hex(rs_text *out, const char *key, uint64_t value, resplit_error *err)
{
    return value == 0 ? RESPLIT_OK : rs_text_add(out, err, "  \"%s\": \"%016llx\",\n", key, (unsigned long long)value);
}

const char *rs_manifest_name(const resplit_array *array)
{
    return array == NULL || array->zarr != NULL ? "." RS_MANIFEST_NAME : RS_MANIFEST_NAME;
}

/* In Zarr the array is described by its own metadata; what is left to say of it is what we know and others do not. */
static resplit_status write_short(uint64_t fingerprint, uint64_t token, rs_text *out, resplit_error *err)
{
    RS_TRY(rs_text_add(out, err, "{\n"));
    RS_TRY(add_hex(out, "fingerprint", fingerprint, err));
    RS_TRY(add_hex(out, "run", token, err));
    return rs_text_add(out, err, "  \"resplit\": %d\n}\n", VERSION);
}

resplit_status rs_manifest_write(const resplit_array *array, uint64_t fingerprint, uint64_t token, rs_text *out,
                                 resplit_error *err)
{
    if (array == NULL || array->zarr != NULL) {
        return write_short(fingerprint, token, out, err);
    }
    char order[2] = {array->order, '\0'};
    const resplit_info *info = &array->info;
    RS_TRY(rs_text_add(out, err, "{\n  \"resplit\": %d,\n", VERSION));
    RS_TRY(add_string(out, "format", array->format->name, err));
    RS_TRY(add_string(out, "dtype", array->dtype.descr, err));
    RS_TRY(add_string(out, "order", order, err));
    RS_TRY(rs_text_add(out, err, "  \"shape\": ["));
    for (int d = 0; d < info->ndim; d++) {
        RS_TRY(rs_text_add(out, err, d > 0 ? ", %lld" : "%lld", (long long)info->shape[d]));
    }
    RS_TRY(rs_text_add(out, err, "],\n  \"chunks\": ["));
    for (int d = 0; d < info->ndim; d++) {
        RS_TRY(rs_text_add(out, err, "%s", d > 0 ? ", " : ""));
        RS_TRY(add_chunks(out, &info->chunks[d], err));
    }
    RS_TRY(rs_text_add(out, err, "],\n"));
    if (array->pattern != NULL) {
        RS_TRY(add_string(out, "pattern", array->pattern, err));
    }
    RS_TRY(add_hex(out, "fingerprint", fingerprint, err));
    RS_TRY(add_hex(out, "run", token, err));
    return rs_text_add(out, err, "  \"data_offset\": %lld\n}\n", (long long)array->data_offset);
}

/* ---- Reading ---- */

/* An integer of at least `least` that fits an int64_t. */
static resplit_status get_integer(const char *path, const char *key, struct json_object *value, int64_t least,
                                  int64_t *out, resplit_error *err)
{
    if (!json_object_is_type(value, json_type_int)) {
        return rs_fail(err, RESPLIT_EFORMAT, "bad manifest '%s': \"%s\" must hold whole numbers", path, key);
    }
    *out = json_object_get_int64(value);
    if (*out < least || (*out >= 0 && json_object_get_uint64(value) > INT64_MAX)) {
        return rs_fail(err, RESPLIT_EFORMAT, "bad manifest '%s': \"%s\" holds %s, which is out of range", path, key,
                       json_object_get_string(value));
    }
    return RESPLIT_OK;
}

/* The text of a key, NULL when it is absent; borrowed from the tree. */
static resplit_status get_text(const char *path, struct json_object *root, const char *key, const char **out,
                               resplit_error *err)
{
    struct json_object *value;
    *out = NULL;
    if (!json_object_object_get_ex(root, key, &value)) {
        return RESPLIT_OK;
    }
    if (!json_object_is_type(value, json_type_string)
        || strlen(json_object_get_string(value)) != (size_t)json_object_get_string_len(value)) {
        return rs_fail(err, RESPLIT_EFORMAT, "bad manifest '%s': \"%s\" must be text", path, key);
    }
    *out = json_object_get_string(value);
    return RESPLIT_OK;
}

/* A list of at most one entry per axis, NULL when it is absent. */
static resplit_status get_list(const char *path, struct json_object *root, const char *key, struct json_object **out,
                               resplit_error *err)
{
    *out = NULL;
    if (!json_object_object_get_ex(root, key, out)) {
        return RESPLIT_OK;
    }
    if (!json_object_is_type(*out, json_type_array)) {
        return rs_fail(err, RESPLIT_EFORMAT, "bad manifest '%s': \"%s\" must be a list", path, key);
    }
    if (json_object_array_length(*out) > RS_MAX_NDIM) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "bad manifest '%s': \"%s\" has %zu axes; at most %d are handled",
                       path, key, json_object_array_length(*out), RS_MAX_NDIM);
    }
    return RESPLIT_OK;
}

/* One entry of "chunks": a number, or a list of lengths; what they add up to is checked when the array is made. */
static resplit_status get_chunks(const char *path, struct json_object *value, int d, rs_manifest *out,
                                 resplit_error *err)
{
    resplit_chunks *chunks = &out->chunks[d];
    if (!json_object_is_type(value, json_type_array)) {
        return get_integer(path, "chunks", value, -1, &chunks->length, err);
    }
    size_t n = json_object_array_length(value);
    if (n == 0) {
        return rs_fail(err, RESPLIT_EFORMAT, "bad manifest '%s': the chunks of axis %d are an empty list", path, d);
    }
    out->lengths[d] = calloc(n, sizeof *out->lengths[d]); /* released with the manifest, failure or not */
    if (out->lengths[d] == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for %zu chunks of '%s'", n, path);
    }
    for (size_t i = 0; i < n; i++) {
        RS_TRY(get_integer(path, "chunks", json_object_array_get_idx(value, i), 0, &out->lengths[d][i], err));
    }
    chunks->count = (int64_t)n;
    chunks->lengths = out->lengths[d];
    return RESPLIT_OK;
}

static resplit_status get_geometry(const char *path, struct json_object *root, rs_manifest *out, resplit_error *err)
{
    struct json_object *shape, *chunks;
    RS_TRY(get_list(path, root, "shape", &shape, err));
    RS_TRY(get_list(path, root, "chunks", &chunks, err));
    if (shape == NULL) {
        return chunks == NULL ? RESPLIT_OK
                              : rs_fail(err, RESPLIT_EFORMAT, "bad manifest '%s': it has chunks but no shape", path);
    }
    out->spec.ndim = (int)json_object_array_length(shape);
    out->spec.shape = out->shape;
    for (int d = 0; d < out->spec.ndim; d++) {
        RS_TRY(get_integer(path, "shape", json_object_array_get_idx(shape, (size_t)d), 0, &out->shape[d], err));
    }
    if (chunks == NULL) {
        return RESPLIT_OK;
    }
    if ((int)json_object_array_length(chunks) != out->spec.ndim) {
        return rs_fail(err, RESPLIT_EFORMAT, "bad manifest '%s': the shape has %d axes, the chunks have %zu", path,
                       out->spec.ndim, json_object_array_length(chunks));
    }
    for (int d = 0; d < out->spec.ndim; d++) {
        RS_TRY(get_chunks(path, json_object_array_get_idx(chunks, (size_t)d), d, out, err));
    }
    out->spec.chunks = out->chunks;
    return RESPLIT_OK;
}

/* 16 hexadecimal digits; 0 where there are none. */
static resplit_status get_hex(const char *path, struct json_object *root, const char *key, uint64_t *out,
                              resplit_error *err)
{
    const char *text;
    char *end;
    *out = 0;
    RS_TRY(get_text(path, root, key, &text, err));
    if (text == NULL) {
        return RESPLIT_OK;
    }
    if (strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16) {
        return rs_fail(err, RESPLIT_EFORMAT, "bad manifest '%s': %s is '%.40s', not 16 hexadecimal digits", path, key,
                       text);
    }
    *out = strtoull(text, &end, 16);
    return RESPLIT_OK;
}

static resplit_status get_words(const char *path, struct json_object *root, rs_manifest *out, resplit_error *err)
{
    const char *format, *dtype, *order, *pattern;
    RS_TRY(get_text(path, root, "format", &format, err));
    RS_TRY(get_text(path, root, "dtype", &dtype, err));
    RS_TRY(get_text(path, root, "order", &order, err));
    RS_TRY(get_text(path, root, "pattern", &pattern, err));
    if (format != NULL) {
        const rs_format *known = rs_format_by_name(format);
        if (known == NULL) {
            return rs_fail(err, RESPLIT_EUNSUPPORTED, "manifest '%s' is for format '%.40s', which is not known", path,
                           format);
        }
        out->spec.format = known->name;
    }
    if (order != NULL && strcmp(order, "C") != 0 && strcmp(order, "F") != 0) {
        return rs_fail(err, RESPLIT_EFORMAT, "bad manifest '%s': order is '%.40s', not C or F", path, order);
    }
    out->spec.order = order == NULL ? '\0' : order[0];
    if ((dtype != NULL && (out->dtype = rs_strdup(dtype)) == NULL)
        || (pattern != NULL && (out->pattern = rs_strdup(pattern)) == NULL)) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for manifest '%s'", path);
    }
    out->spec.dtype = out->dtype;
    out->spec.pattern = out->pattern;
    return RESPLIT_OK;
}

static resplit_status get_all(const char *path, struct json_object *root, bool partial, rs_manifest *out,
                              resplit_error *err)
{
    struct json_object *value;
    int64_t version = VERSION;

    if (!json_object_is_type(root, json_type_object)) {
        return rs_fail(err, RESPLIT_EFORMAT, "bad manifest '%s': it is not a JSON object", path);
    }
    if (json_object_object_get_ex(root, "resplit", &value)) {
        RS_TRY(get_integer(path, "resplit", value, 0, &version, err));
    } else if (!partial) {
        return rs_fail(err, RESPLIT_EFORMAT, "bad manifest '%s': \"resplit\" is missing", path);
    }
    if (version != VERSION) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "manifest '%s' is of version %lld; only %d can be read", path,
                       (long long)version, VERSION);
    }
    RS_TRY(get_words(path, root, out, err));
    RS_TRY(get_geometry(path, root, out, err));
    RS_TRY(get_hex(path, root, "fingerprint", &out->fingerprint, err));
    RS_TRY(get_hex(path, root, "run", &out->token, err));
    out->has_skip = json_object_object_get_ex(root, "data_offset", &value)
                    || (partial && json_object_object_get_ex(root, "skip", &value));
    if (out->has_skip) {
        RS_TRY(get_integer(path, "data_offset", value, 0, &out->spec.skip, err));
    }
    const resplit_spec *spec = &out->spec;
    const char *lack = spec->format == NULL    ? "format"
                       : spec->dtype == NULL   ? "dtype"
                       : spec->shape == NULL   ? "shape"
                       : spec->chunks == NULL  ? "chunks"
                       : spec->pattern == NULL ? "pattern"
                                               : NULL;
    if (lack != NULL && !partial) {
        return rs_fail(err, RESPLIT_EFORMAT, "bad manifest '%s': \"%s\" is missing", path, lack);
    }
    return RESPLIT_OK;
}

resplit_status rs_manifest_parse(const char *text, size_t n, const char *path, bool partial, rs_manifest *out,
                                 resplit_error *err)
{
    resplit_status rc;
    struct json_object *root = NULL;
    struct json_tokener *tokener = json_tokener_new_ex(MAX_NESTING);

    *out = (rs_manifest){.has_skip = false};
    if (tokener == NULL) {
        rc = rs_fail(err, RESPLIT_ENOMEM, "no memory for manifest '%s'", path);
        goto out;
    }
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    root = n > MAX_BYTES ? NULL : json_tokener_parse_ex(tokener, text, (int)n);
    if (root == NULL) {
        enum json_tokener_error error = json_tokener_get_error(tokener);
        rc = rs_fail(err, RESPLIT_EFORMAT, "bad manifest '%s': %s at byte %zu", path,
                     error == json_tokener_continue  ? "it ends too early"
                     : error == json_tokener_success ? "it is empty or too large"
                                                     : json_tokener_error_desc(error),
                     json_tokener_get_parse_end(tokener));
        goto out;
    }
    rc = get_all(path, root, partial, out, err);
out:
    json_object_put(root);
    if (tokener != NULL) {
        json_tokener_free(tokener);
    }
    if (rc != RESPLIT_OK) {
        rs_manifest_release(out);
    }
    return rc;
}

/* Reads a whole file of known size; fewer bytes are an error, the file must not change meanwhile. */
static resplit_status read_whole(int fd, const char *path, char *buffer, size_t n, resplit_error *err)
{
    size_t got = 0;
    while (got < n) {
        ssize_t k = pread(fd, buffer + got, n - got, (off_t)got);
        if (k < 0 && errno == EINTR) {
            continue;
        }
        if (k < 0) {
            return rs_fail_errno(err, errno, "cannot read '%s'", path);
        }
        if (k == 0) {
            return rs_fail(err, RESPLIT_EFORMAT, "cannot read '%s': expected %zu bytes, got %zu", path, n, got);
        }
        got += (size_t)k;
    }
    return RESPLIT_OK;
}

resplit_status rs_manifest_load(int folder, const char *name, const char *path, bool partial, rs_manifest *out,
                                bool *found, resplit_error *err)
{
    struct stat status;
    char *text = NULL;
    resplit_status rc = RESPLIT_OK;

    *out = (rs_manifest){.has_skip = false};
    *found = false;
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return errno == ENOENT || errno == ENAMETOOLONG ? RESPLIT_OK
                                                        : rs_fail_errno(err, errno, "cannot open '%s'", path);
    }
    if (fstat(fd, &status) != 0) {
        rc = rs_fail_errno(err, errno, "cannot look at '%s'", path);
        goto out;
    }
    if (!S_ISREG(status.st_mode) || status.st_size > MAX_BYTES) {
        rc = rs_fail(err, RESPLIT_EFORMAT, "cannot use '%s' as a manifest: it must be a file of at most %d bytes", path,
                     MAX_BYTES);
        goto out;
    }
    text = malloc((size_t)status.st_size + 1);
    if (text == NULL) {
        rc = rs_fail(err, RESPLIT_ENOMEM, "no memory for '%s', which has %lld bytes", path, (long long)status.st_size);
        goto out;
    }
    rc = read_whole(fd, path, text, (size_t)status.st_size, err);
    if (rc == RESPLIT_OK) {
        rc = rs_manifest_parse(text, (size_t)status.st_size, path, partial, out, err);
    }
    *found = rc == RESPLIT_OK;
out:
    free(text);
    close(fd);
    return rc;
}

void rs_manifest_release(rs_manifest *manifest)
{
    free(manifest->dtype);
    free(manifest->pattern);
    for (int d = 0; d < RS_MAX_NDIM; d++) {
        free(manifest->lengths[d]);
    }
    *manifest = (rs_manifest){.has_skip = false};
}

/* Of a folder of blocks, or of a Zarr array: zeros where there is none. */
static void load_numbers(const char *path, uint64_t *fingerprint, uint64_t *token)
{
    static const char *const names[] = {RS_MANIFEST_NAME, "." RS_MANIFEST_NAME};
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *fingerprint = *token = 0;
    for (int i = 0; folder >= 0 && i < 2 && *token == 0; i++) {
        rs_manifest manifest;
        bool found = false;
        (void)rs_manifest_load(folder, names[i], path, i == 1, &manifest, &found, NULL);
        if (found) {
            *fingerprint = manifest.fingerprint;
            *token = manifest.token;
            rs_manifest_release(&manifest);
        }
    }
    if (folder >= 0) {
        (void)close(folder);
    }
}

uint64_t rs_manifest_token(const char *path)
{
    uint64_t fingerprint, token;
    load_numbers(path, &fingerprint, &token);
    return token;
}

uint64_t rs_manifest_fingerprint(const char *path)
{
    uint64_t fingerprint, token;
    load_numbers(path, &fingerprint, &token);
    return fingerprint;
}
