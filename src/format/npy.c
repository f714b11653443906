/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * npy.c - driver for NumPy's .npy files, versions 1, 2 and 3.
 *
 *     offset 0   \x93NUMPY              magic
 *     offset 6   major, minor           version, one byte each
 *     offset 8   header length          little endian, 2 bytes in version 1, 4 bytes later
 *     offset 10  {'descr': '<u2', 'fortran_order': False, 'shape': (3, 4), }
 *     or 12      spaces and a newline, so that the data starts at a multiple of 64
 *
 * The header is Latin-1 in versions 1 and 2, UTF-8 in version 3. In memory it is always UTF-8.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/drivers.h"
#include "format/literal.h"

enum {
    MAGIC_BYTES = 6,
    MAX_HEADER = 65536, /* bytes after the length; NumPy itself stops at 10000 unless told otherwise */
    ALIGN = 64,
};

static const char magic[MAGIC_BYTES] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

/* What the dictionary must hold, once each. */
enum { HAS_DESCR = 1, HAS_ORDER = 2, HAS_SHAPE = 4, HAS_ALL = 7 };

/* Reads up to n bytes at `offset`, fewer only at the end of the file. */
static resplit_status read_some(int fd, const char *path, char *buffer, size_t n, int64_t offset, size_t *got,
                                resplit_error *err)
{
    *got = 0;
    while (*got < n) {
        ssize_t k = pread(fd, buffer + *got, n - *got, (off_t)(offset + (int64_t)*got));
        if (k < 0 && errno == EINTR) {
            continue;
        }
        if (k < 0) {
            return rs_fail_errno(err, errno, "cannot read '%s'", path);
        }
        if (k == 0) {
            break;
        }
        *got += (size_t)k;
    }
    return RESPLIT_OK;
}

resplit_status rs_npy_probe(int fd, const char *path, bool *out, resplit_error *err)
{
    char start[MAGIC_BYTES];
    size_t got;
    *out = false;
    RS_TRY(read_some(fd, path, start, sizeof start, 0, &got, err));
    *out = got == sizeof start && memcmp(start, magic, sizeof magic) == 0;
    return RESPLIT_OK;
}

static resplit_status bad_header(const char *path, const rs_scanner *scanner, const char *expected, resplit_error *err)
{
    rs_token token = rs_scanner_peek(scanner);
    size_t rest = (size_t)(scanner->end - token.text);
    return rs_fail(err, RESPLIT_EFORMAT, "bad header in '%s': expected %s before '%.*s'", path, expected,
                   rs_shown(rest), token.text);
}

/* The text of a bracketed value, found by counting brackets; what is in it is the type parser's business. */
static bool skip_list(rs_scanner *scanner)
{
    int depth = 0;
    do {
        rs_token token = rs_scanner_next(scanner);
        if (token.kind == RS_TOKEN_END || token.kind == RS_TOKEN_BAD) {
            return false;
        }
        if (token.kind == RS_TOKEN_MARK) {
            depth += token.mark == '[' || token.mark == '(' ? 1 : token.mark == ']' || token.mark == ')' ? -1 : 0;
        }
    } while (depth > 0);
    return true;
}

static resplit_status parse_descr(const char *path, rs_scanner *scanner, rs_head *out, resplit_error *err)
{
    rs_token token = rs_scanner_peek(scanner);
    rs_scanner rest = *scanner;
    resplit_error inner = {0};

    if (token.kind == RS_TOKEN_STRING) {
        (void)rs_scanner_next(&rest);
    } else if (token.kind != RS_TOKEN_MARK || token.mark != '[' || !skip_list(&rest)) {
        return bad_header(path, scanner, "a type", err);
    } else {
        token.n = (size_t)(rest.at - token.text);
    }
    char *text = strndup(token.text, token.n);
    if (text == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for the header of '%s'", path);
    }
    resplit_status rc = rs_dtype_parse(text, &out->dtype, &inner);
    free(text);
    if (rc != RESPLIT_OK) {
        return rs_fail(err, rc == RESPLIT_EINVAL ? RESPLIT_EFORMAT : rc, "cannot use '%s': %s", path, inner.message);
    }
    *scanner = rest;
    return RESPLIT_OK;
}

static resplit_status parse_order(const char *path, rs_scanner *scanner, rs_head *out, resplit_error *err)
{
    rs_token token = rs_scanner_peek(scanner);
    bool is_true = token.kind == RS_TOKEN_NAME && token.n == 4 && memcmp(token.text, "True", 4) == 0;
    bool is_false = token.kind == RS_TOKEN_NAME && token.n == 5 && memcmp(token.text, "False", 5) == 0;
    if (!is_true && !is_false) {
        return bad_header(path, scanner, "True or False", err);
    }
    (void)rs_scanner_next(scanner);
    out->order = is_true ? 'F' : 'C';
    return RESPLIT_OK;
}

static resplit_status parse_shape(const char *path, rs_scanner *scanner, rs_head *out, resplit_error *err)
{
    bool comma = true;
    if (!rs_scanner_take(scanner, '(')) {
        return bad_header(path, scanner, "a shape in parentheses", err);
    }
    out->ndim = 0;
    while (!rs_scanner_take(scanner, ')')) {
        rs_token token = rs_scanner_peek(scanner);
        if (!comma || token.kind != RS_TOKEN_NUMBER || token.number < 0) {
            return bad_header(path, scanner, comma ? "a length of the shape" : "',' or ')' in the shape", err);
        }
        (void)rs_scanner_next(scanner);
        if (out->ndim == RS_MAX_NDIM) {
            return rs_fail(err, RESPLIT_EUNSUPPORTED, "'%s' has more than %d axes", path, RS_MAX_NDIM);
        }
        out->shape[out->ndim++] = token.number;
        comma = rs_scanner_take(scanner, ',');
    }
    if (out->ndim == 1 && !comma) { /* (3) is a number, not a tuple */
        return bad_header(path, scanner, "a shape such as (3,)", err);
    }
    return RESPLIT_OK;
}

/* { 'key': value, ... } and nothing after it but white space. */
static resplit_status parse_dict(const char *path, const char *text, size_t n, rs_head *out, resplit_error *err)
{
    static const struct {
        const char *key;
        int bit;
        resplit_status (*parse)(const char *path, rs_scanner *scanner, rs_head *out, resplit_error *err);
    } keys[] = {{"descr", HAS_DESCR, parse_descr},
                {"fortran_order", HAS_ORDER, parse_order},
                {"shape", HAS_SHAPE, parse_shape}};
    rs_scanner scanner = {text, text + n};
    int seen = 0;

    if (!rs_scanner_take(&scanner, '{')) {
        return bad_header(path, &scanner, "'{'", err);
    }
    while (!rs_scanner_take(&scanner, '}')) {
        rs_token token = rs_scanner_peek(&scanner);
        int k = 0;
        while (k < 3
               && !(token.kind == RS_TOKEN_STRING && token.n == strlen(keys[k].key)
                    && memcmp(token.text, keys[k].key, token.n) == 0)) {
            k++;
        }
        if (k == 3 || (seen & keys[k].bit) != 0) {
            return bad_header(path, &scanner, "'descr', 'fortran_order' and 'shape', once each,", err);
        }
        seen |= keys[k].bit;
        (void)rs_scanner_next(&scanner);
        if (!rs_scanner_take(&scanner, ':')) {
            return bad_header(path, &scanner, "':'", err);
        }
        RS_TRY(keys[k].parse(path, &scanner, out, err));
        if (!rs_scanner_take(&scanner, ',') && rs_scanner_peek(&scanner).mark != '}') {
            return bad_header(path, &scanner, "',' or '}'", err);
        }
    }
    if (seen != HAS_ALL) {
        return rs_fail(err, RESPLIT_EFORMAT, "bad header in '%s': %s is missing", path,
                       !(seen & HAS_DESCR)   ? "'descr'"
                       : !(seen & HAS_ORDER) ? "'fortran_order'"
                                             : "'shape'");
    }
    return rs_scanner_peek(&scanner).kind == RS_TOKEN_END ? RESPLIT_OK : bad_header(path, &scanner, "nothing", err);
}

/* Latin-1 to UTF-8: at most twice as long. `out` has room for 2 n bytes. */
static size_t utf8_from_latin1(const char *in, size_t n, char *out)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)in[i];
        if (c < 0x80) {
            out[k++] = (char)c;
        } else {
            out[k++] = (char)(0xc0 | c >> 6);
            out[k++] = (char)(0x80 | (c & 0x3f));
        }
    }
    return k;
}

/* Magic, version and length; *at receives where the dictionary begins. */
static resplit_status parse_preamble(const char *path, const char *start, size_t got, int *major, int64_t *at,
                                     int64_t *n, resplit_error *err)
{
    const unsigned char *u = (const unsigned char *)start;
    if (got < MAGIC_BYTES || memcmp(start, magic, MAGIC_BYTES) != 0) {
        return rs_fail(err, RESPLIT_EFORMAT, "'%s' is not a .npy file: it does not begin with the magic bytes", path);
    }
    *major = got > 6 ? u[6] : 0;
    *at = *major == 1 ? 10 : 12;
    if ((int64_t)got < *at) {
        return rs_fail(err, RESPLIT_EFORMAT, "'%s' ends within its header, after %zu bytes", path, got);
    }
    if (*major < 1 || *major > 3 || u[7] != 0) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "'%s' is a .npy file of version %d.%d; 1.0, 2.0 and 3.0 can be read",
                       path, *major, u[7]);
    }
    *n = *major == 1 ? u[8] | u[9] << 8
                     : (int64_t)(u[8] | (uint32_t)u[9] << 8 | (uint32_t)u[10] << 16 | (uint32_t)u[11] << 24);
    if (*n > MAX_HEADER) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "the header of '%s' has %lld bytes; at most %d are read", path,
                       (long long)*n, MAX_HEADER);
    }
    return RESPLIT_OK;
}

/* The dictionary as UTF-8, in *text (the caller frees it). */
static resplit_status load_dict(int fd, const char *path, int major, int64_t at, int64_t n, char **text, size_t *text_n,
                                resplit_error *err)
{
    size_t length = (size_t)n, got = 0;
    resplit_status rc;
    char *raw = malloc(length + 1);
    char *wide = malloc(2 * length + 1);

    *text = NULL;
    if (raw == NULL || wide == NULL) {
        rc = rs_fail(err, RESPLIT_ENOMEM, "no memory for the header of '%s'", path);
        goto out;
    }
    rc = read_some(fd, path, raw, length, at, &got, err);
    if (rc != RESPLIT_OK) {
        goto out;
    }
    if (got < length) {
        rc = rs_fail(err, RESPLIT_EFORMAT, "'%s' ends within its header: expected %lld bytes, got %lld", path,
                     (long long)(at + n), (long long)(at + (int64_t)got));
        goto out;
    }
    if (major < 3) {
        *text_n = utf8_from_latin1(raw, length, wide);
        *text = wide;
        wide = NULL;
    } else {
        *text_n = length;
        *text = raw;
        raw = NULL;
    }
out:
    free(raw);
    free(wide);
    return rc;
}

static resplit_status parse_head(int fd, int64_t size, const char *path, rs_head *out, resplit_error *err)
{
    char start[12];
    char *text = NULL;
    size_t got = 0, text_n = 0;
    int major = 0;
    int64_t at = 0, n = 0, n_elements, bytes;
    resplit_status rc;

    (void)size; /* compared with the shape by whoever opens the file, for all drivers alike */
    *out = (rs_head){0};
    if ((rc = read_some(fd, path, start, sizeof start, 0, &got, err)) != RESPLIT_OK
        || (rc = parse_preamble(path, start, got, &major, &at, &n, err)) != RESPLIT_OK
        || (rc = load_dict(fd, path, major, at, n, &text, &text_n, err)) != RESPLIT_OK
        || (rc = parse_dict(path, text, text_n, out, err)) != RESPLIT_OK) {
        goto out;
    }
    if (!rs_shape_count(out->ndim, out->shape, out->dtype.itemsize, &n_elements, &bytes)) {
        rc = rs_fail(err, RESPLIT_EFORMAT, "bad header in '%s': the shape has more bytes than a file can hold", path);
        goto out;
    }
    if (out->ndim < 2) {
        out->order = 'C';
    }
    out->data_offset = at + n;
out:
    free(text);
    if (rc != RESPLIT_OK) {
        rs_head_release(out);
    }
    return rc;
}

static resplit_status add_dict(const rs_head *head, rs_text *out, resplit_error *err)
{
    const char *quote = head->dtype.swap_size == 0 ? "" : "'";
    bool fortran = head->order == 'F' && head->ndim > 1;
    RS_TRY(rs_text_add(out, err, "{'descr': %s%s%s, 'fortran_order': %s, 'shape': (", quote, head->dtype.descr, quote,
                       fortran ? "True" : "False"));
    for (int d = 0; d < head->ndim; d++) {
        RS_TRY(rs_text_add(out, err, d > 0 ? ", %lld" : "%lld", (long long)head->shape[d]));
    }
    return rs_text_add(out, err, "%s), }", head->ndim == 1 ? "," : "");
}

/* The data starts at head->data_offset, or at the first multiple of 64 when that is 0. */
static resplit_status make_head(const rs_head *head, rs_text *out, resplit_error *err)
{
    rs_text dict = {0};
    int64_t total, start = 10;
    int major = 1;
    resplit_status rc = add_dict(head, &dict, err);
    if (rc != RESPLIT_OK) {
        goto out;
    }
    for (size_t i = 0; i < dict.n; i++) {
        major = (unsigned char)dict.s[i] >= 0x80 ? 3 : major; /* field names outside ASCII: UTF-8 */
    }
    if (dict.n + 1 + ALIGN > MAX_HEADER) {
        rc = rs_fail(err, RESPLIT_EUNSUPPORTED, "a .npy header would need %zu bytes; at most %d are written", dict.n,
                     MAX_HEADER);
        goto out;
    }
    total = rs_ceil_div((major == 1 ? 10 : 12) + (int64_t)dict.n + 1, ALIGN) * ALIGN;
    total = rs_max(total, head->data_offset);
    if (major == 1 && total - start > 65535) {
        major = 2;
    }
    start = major == 1 ? 10 : 12;
    uint32_t n = (uint32_t)(total - start);
    rc = rs_text_add(out, err, "%.6s%c%c%c%c", magic, major, 0, (int)(n & 0xff), (int)(n >> 8 & 0xff));
    if (rc == RESPLIT_OK && major > 1) {
        rc = rs_text_add(out, err, "%c%c", (int)(n >> 16 & 0xff), (int)(n >> 24));
    }
    if (rc == RESPLIT_OK) {
        rc = rs_text_add(out, err, "%s%*s\n", dict.s, (int)(total - start - (int64_t)dict.n - 1), "");
    }
out:
    rs_text_release(&dict);
    return rc;
}

static const char *const suffixes[] = {".npy", NULL};

const rs_format rs_format_npy = {
    .name = "npy",
    .suffixes = suffixes,
    .has_header = true,
    .parse_head = parse_head,
    .make_head = make_head,
};
