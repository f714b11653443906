/* SPDX-License-Identifier: BSD-3-Clause */
/* manifest.c - strictly reads resplit.json. Numbers are 64-bit integers throughout, never doubles. */
#include "format/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "format/drivers.h"
#include "format/literal.h"

enum {
    MAX_BYTES = 16 << 20, /* of a manifest: about two million uneven cuts */
};

typedef struct reader {
    const char *path; /* for messages */
    const rs_json *root;
    rs_text text; /* the one that get_text gave last */
    resplit_error *err;
} reader;

/* An integer of at least `least` that fits an int64_t. */
static resplit_status get_integer(const reader *r, const char *key, const rs_json *value, int64_t least, int64_t *out)
{
    if (!rs_json_is_integer(value)) {
        return rs_fail(r->err, RESPLIT_EFORMAT, "bad manifest '%s': \"%s\" must hold whole numbers", r->path, key);
    }
    if (!rs_json_int64(value, out) || *out < least) {
        return rs_fail(r->err, RESPLIT_EFORMAT, "bad manifest '%s': \"%s\" holds %.*s, which is out of range", r->path,
                       key, rs_shown(value->n), value->text);
    }
    return RESPLIT_OK;
}

/* The text of a key, NULL when it is absent; borrowed until the next text is asked for. */
static resplit_status get_text(reader *r, const char *key, const char **out)
{
    const rs_json *value = rs_json_get(r->root, key);
    *out = NULL;
    if (value == NULL) {
        return RESPLIT_OK;
    }
    r->text.n = 0;
    resplit_status rc = rs_json_add_string(value, &r->text, r->err);
    if (rc == RESPLIT_EFORMAT) {
        return rs_fail(r->err, RESPLIT_EFORMAT, "bad manifest '%s': \"%s\" must be text", r->path, key);
    }
    *out = r->text.s;
    return rc;
}

/* A copy of it that the caller owns. */
static resplit_status copy_text(reader *r, const char *key, char **out)
{
    const char *text;
    RS_TRY(get_text(r, key, &text));
    *out = text == NULL ? NULL : rs_strdup(text);
    return text == NULL || *out != NULL ? RESPLIT_OK
                                        : rs_fail(r->err, RESPLIT_ENOMEM, "no memory for manifest '%s'", r->path);
}

/* A list of at most one entry per axis, NULL when it is absent. */
static resplit_status get_list(const reader *r, const char *key, const rs_json **out)
{
    *out = rs_json_get(r->root, key);
    if (*out == NULL) {
        return RESPLIT_OK;
    }
    if ((*out)->kind != RS_JSON_ARRAY) {
        return rs_fail(r->err, RESPLIT_EFORMAT, "bad manifest '%s': \"%s\" must be a list", r->path, key);
    }
    int64_t n = rs_json_count(*out);
    if (n > RS_MAX_NDIM) {
        return rs_fail(r->err, RESPLIT_EUNSUPPORTED, "bad manifest '%s': \"%s\" has %lld axes; at most %d are handled",
                       r->path, key, (long long)n, RS_MAX_NDIM);
    }
    return RESPLIT_OK;
}

/* One entry of "chunks": a number, or a list of lengths; what they add up to is checked when the array is made. */
static resplit_status get_chunks(const reader *r, const rs_json *value, int d, rs_manifest *out)
{
    resplit_chunks *chunks = &out->chunks[d];
    if (value->kind != RS_JSON_ARRAY) {
        return get_integer(r, "chunks", value, -1, &chunks->length);
    }
    int64_t n = rs_json_count(value), i = 0;
    if (n == 0) {
        return rs_fail(r->err, RESPLIT_EFORMAT, "bad manifest '%s': the chunks of axis %d are an empty list", r->path,
                       d);
    }
    out->lengths[d] = calloc((size_t)n, sizeof *out->lengths[d]); /* released with the manifest, failure or not */
    if (out->lengths[d] == NULL) {
        return rs_fail(r->err, RESPLIT_ENOMEM, "no memory for %lld chunks of '%s'", (long long)n, r->path);
    }
    for (const rs_json *length = value->first; length != NULL; length = length->next) {
        RS_TRY(get_integer(r, "chunks", length, 0, &out->lengths[d][i++]));
    }
    chunks->count = n;
    chunks->lengths = out->lengths[d];
    return RESPLIT_OK;
}

static resplit_status get_geometry(const reader *r, rs_manifest *out)
{
    const rs_json *shape, *chunks;
    int d = 0;
    RS_TRY(get_list(r, "shape", &shape));
    RS_TRY(get_list(r, "chunks", &chunks));
    if (shape == NULL) {
        return chunks == NULL
                   ? RESPLIT_OK
                   : rs_fail(r->err, RESPLIT_EFORMAT, "bad manifest '%s': it has chunks but no shape", r->path);
    }
    out->spec.ndim = (int)rs_json_count(shape);
    out->spec.shape = out->shape;
    for (const rs_json *extent = shape->first; extent != NULL; extent = extent->next) {
        RS_TRY(get_integer(r, "shape", extent, 0, &out->shape[d++]));
    }
    if (chunks == NULL) {
        return RESPLIT_OK;
    }
    if (rs_json_count(chunks) != out->spec.ndim) {
        return rs_fail(r->err, RESPLIT_EFORMAT, "bad manifest '%s': the shape has %d axes, the chunks have %lld",
                       r->path, out->spec.ndim, (long long)rs_json_count(chunks));
    }
    d = 0;
    for (const rs_json *axis = chunks->first; axis != NULL; axis = axis->next) {
        RS_TRY(get_chunks(r, axis, d++, out));
    }
    out->spec.chunks = out->chunks;
    return RESPLIT_OK;
}

/* 16 hexadecimal digits; 0 where there are none. */
static resplit_status get_hex(reader *r, const char *key, uint64_t *out)
{
    const char *text;
    *out = 0;
    RS_TRY(get_text(r, key, &text));
    if (text == NULL) {
        return RESPLIT_OK;
    }
    if (strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16) {
        return rs_fail(r->err, RESPLIT_EFORMAT, "bad manifest '%s': %s is '%.40s', not 16 hexadecimal digits", r->path,
                       key, text);
    }
    *out = strtoull(text, NULL, 16);
    return RESPLIT_OK;
}

static resplit_status get_words(reader *r, rs_manifest *out)
{
    const char *format, *order;
    RS_TRY(get_text(r, "format", &format));
    if (format != NULL) {
        const rs_format *known = rs_format_by_name(format);
        if (known == NULL) {
            return rs_fail(r->err, RESPLIT_EUNSUPPORTED, "manifest '%s' is for format '%.40s', which is not known",
                           r->path, format);
        }
        out->spec.format = known->name;
    }
    RS_TRY(get_text(r, "order", &order));
    if (order != NULL && strcmp(order, "C") != 0 && strcmp(order, "F") != 0) {
        return rs_fail(r->err, RESPLIT_EFORMAT, "bad manifest '%s': order is '%.40s', not C or F", r->path, order);
    }
    out->spec.order = order == NULL ? '\0' : order[0];
    RS_TRY(copy_text(r, "dtype", &out->dtype));
    RS_TRY(copy_text(r, "pattern", &out->pattern));
    RS_TRY(copy_text(r, "header", &out->header));
    out->spec.dtype = out->dtype;
    out->spec.pattern = out->pattern;
    return RESPLIT_OK;
}

/* "resplit", the version; `partial`: it may be missing. */
static resplit_status check_version(const reader *r, bool partial)
{
    const rs_json *value = rs_json_get(r->root, "resplit");
    int64_t version = RS_MANIFEST_VERSION;
    if (r->root->kind != RS_JSON_OBJECT) {
        return rs_fail(r->err, RESPLIT_EFORMAT, "bad manifest '%s': it is not a JSON object", r->path);
    }
    if (value != NULL) {
        RS_TRY(get_integer(r, "resplit", value, 0, &version));
    } else if (!partial) {
        return rs_fail(r->err, RESPLIT_EFORMAT, "bad manifest '%s': \"resplit\" is missing", r->path);
    }
    return version == RS_MANIFEST_VERSION
               ? RESPLIT_OK
               : rs_fail(r->err, RESPLIT_EUNSUPPORTED, "manifest '%s' is of version %lld; only %d can be read", r->path,
                         (long long)version, RS_MANIFEST_VERSION);
}

static resplit_status get_all(reader *r, bool partial, rs_manifest *out)
{
    RS_TRY(check_version(r, partial));
    RS_TRY(get_words(r, out));
    RS_TRY(get_geometry(r, out));
    RS_TRY(get_hex(r, "fingerprint", &out->fingerprint));
    RS_TRY(get_hex(r, "run", &out->token));
    const rs_json *skip = rs_json_get(r->root, "data_offset");
    if (skip == NULL && partial) {
        skip = rs_json_get(r->root, "skip");
    }
    out->has_skip = skip != NULL;
    if (out->has_skip) {
        RS_TRY(get_integer(r, "data_offset", skip, 0, &out->spec.skip));
    }
    const resplit_spec *spec = &out->spec;
    const char *lack = spec->format == NULL    ? "format"
                       : spec->dtype == NULL   ? "dtype"
                       : spec->shape == NULL   ? "shape"
                       : spec->chunks == NULL  ? "chunks"
                       : spec->pattern == NULL ? "pattern"
                                               : NULL;
    if (lack != NULL && !partial) {
        return rs_fail(r->err, RESPLIT_EFORMAT, "bad manifest '%s': \"%s\" is missing", r->path, lack);
    }
    return RESPLIT_OK;
}

resplit_status rs_manifest_parse(const char *text, size_t n, const char *path, bool partial, rs_manifest *out,
                                 resplit_error *err)
{
    rs_json_document *document;
    *out = (rs_manifest){.has_skip = false};
    if (n > MAX_BYTES) {
        return rs_fail(err, RESPLIT_EFORMAT, "bad manifest '%s': it has %zu bytes; at most %d are read", path, n,
                       MAX_BYTES);
    }
    RS_TRY(rs_json_parse(text, n, path, &document, err));
    reader r = {.path = path, .root = rs_json_root(document), .err = err};
    resplit_status rc = get_all(&r, partial, out);
    rs_text_release(&r.text);
    rs_json_free(document);
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
    free(manifest->header);
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
