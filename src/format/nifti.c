/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nifti.c - driver for NIfTI files: .nii and .img with their .hdr, also compressed by gzip. The bytes decide what a
 * file is, but for an .img, which holds voxels and nothing else.
 */
#include "format/nifti_array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codec/gunzip.h"
#include "format/drivers.h"

enum { PART = 64 << 10 };

/* A file that is read from its beginning on, decompressed where it is compressed. */
typedef struct input {
    int fd;
    const char *path;
    int64_t at;
    rs_gunzip *gunzip; /* NULL: not compressed */
} input;

static resplit_status read_file(void *payload, char *bytes, int64_t room, int64_t *n, resplit_error *err)
{
    input *in = payload;
    *n = 0;
    while (*n < room) {
        ssize_t k = pread(in->fd, bytes + *n, (size_t)(room - *n), (off_t)in->at);
        if (k < 0 && errno == EINTR) {
            continue;
        }
        if (k < 0) {
            return rs_fail_errno(err, errno, "cannot read '%s'", in->path);
        }
        if (k == 0) {
            break;
        }
        *n += k;
        in->at += k;
    }
    return RESPLIT_OK;
}

static resplit_status read_next(input *in, char *bytes, int64_t n, int64_t *got, resplit_error *err)
{
    return in->gunzip != NULL ? rs_gunzip_read(in->gunzip, bytes, n, got, err) : read_file(in, bytes, n, got, err);
}

static resplit_status input_open(input *in, int fd, const char *path, resplit_error *err)
{
    char start[3];
    int64_t got;
    *in = (input){.fd = fd, .path = path};
    RS_TRY(read_file(in, start, sizeof start, &got, err));
    in->at = 0;
    return rs_gunzip_is(start, (size_t)got) ? rs_gunzip_open(read_file, in, path, &in->gunzip, err) : RESPLIT_OK;
}

resplit_status rs_nifti_probe_file(int fd, const char *path, bool *out, resplit_error *err)
{
    char start[RS_NIFTI1_BYTES];
    input in = {.fd = fd, .path = path};
    int64_t got;
    *out = false;
    RS_TRY(read_file(&in, start, sizeof start, &got, err));
    *out = rs_nifti_probe(start, (size_t)got);
    return RESPLIT_OK;
}

/* Adds what follows to a head: up to `total` bytes, or, with -1, all there is. */
static resplit_status read_rest(input *in, int64_t total, rs_text *head, resplit_error *err)
{
    char part[4096];
    int64_t most = total < 0 ? RS_NIFTI_MAX_HEAD + 1 : total, got = 1;
    while ((int64_t)head->n < most && got > 0) {
        RS_TRY(read_next(in, part, rs_min((int64_t)sizeof part, most - (int64_t)head->n), &got, err));
        RS_TRY(rs_text_add_bytes(head, part, (size_t)got, err));
    }
    if (total >= 0 && (int64_t)head->n < total) {
        return rs_fail(err, RESPLIT_EFORMAT, "'%s' ends before its voxels: they are at %lld, and it has %zu bytes",
                       in->path, (long long)total, head->n);
    }
    if ((int64_t)head->n > RS_NIFTI_MAX_HEAD) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "the header of '%s' has more than %d bytes", in->path,
                       RS_NIFTI_MAX_HEAD);
    }
    return RESPLIT_OK;
}

/* As many bytes as the longer header has, if the first ones say that it is one. */
static resplit_status read_header(input *in, rs_nifti *out, resplit_error *err)
{
    char start[RS_NIFTI2_BYTES];
    int64_t got = 0, more = 0, total;
    RS_TRY(read_next(in, start, RS_NIFTI1_BYTES, &got, err));
    bool second =
        got == RS_NIFTI1_BYTES && (memcmp(start, "\x1c\x02", 2) == 0 || memcmp(start + 2, "\x02\x1c", 2) == 0);
    if (second) {
        RS_TRY(read_next(in, start + got, RS_NIFTI2_BYTES - RS_NIFTI1_BYTES, &more, err));
    }
    RS_TRY(rs_nifti_parse(start, (size_t)(got + more), in->path, out, &total, err));
    RS_TRY(read_rest(in, total, &out->head, err));
    return rs_nifti_check_extensions(out, in->path, err);
}

static resplit_status parse_head(int fd, int64_t size, const char *path, rs_head *out, resplit_error *err)
{
    input in;
    resplit_status rc;
    (void)size; /* compared with the shape by whoever opens the file, for all drivers alike */
    *out = (rs_head){0};
    RS_TRY(input_open(&in, fd, path, err));
    rs_nifti *nifti = out->nifti = calloc(1, sizeof *nifti);
    if (nifti == NULL) {
        rs_gunzip_close(in.gunzip);
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for a header");
    }
    rc = read_header(&in, nifti, err);
    if (rc == RESPLIT_OK) {
        rc = rs_nifti_dtype(nifti, path, &out->dtype, err);
    }
    if (rc == RESPLIT_OK) {
        out->format = nifti->version == 1 ? &rs_format_nifti1 : &rs_format_nifti2;
        out->ndim = nifti->ndim;
        memcpy(out->shape, nifti->shape, sizeof nifti->shape);
        out->order = nifti->ndim < 2 ? 'C' : 'F';
        out->data_offset = nifti->vox_offset;
        out->apart = nifti->pair;
        out->encoded = in.gunzip != NULL;
    } else {
        rs_head_release(out);
    }
    rs_gunzip_close(in.gunzip);
    return rc;
}

/* ---- Pairs ----------------------------------------------------------------------------------- */

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), k = strlen(end);
    return n > k && strcmp(name + n - k, end) == 0;
}

static resplit_status exchange_end(const char *name, const char *from, const char *to, rs_text *out, resplit_error *err)
{
    return rs_text_add(out, err, "%.*s%s", (int)(strlen(name) - strlen(from)), name, to);
}

static resplit_status head_name(const char *name, rs_text *out, resplit_error *err)
{
    return ends_with(name, ".img")      ? exchange_end(name, ".img", ".hdr", out, err)
           : ends_with(name, ".img.gz") ? exchange_end(name, ".img.gz", ".hdr.gz", out, err)
                                        : RESPLIT_OK;
}

resplit_status rs_nifti_data_name(const char *path, rs_text *out, resplit_error *err)
{
    return ends_with(path, ".hdr")      ? exchange_end(path, ".hdr", ".img", out, err)
           : ends_with(path, ".hdr.gz") ? exchange_end(path, ".hdr.gz", ".img.gz", out, err)
                                        : rs_text_add(out, err, "%s", path);
}

static const char *const suffixes[] = {".nii", ".nii.gz", ".img", ".img.gz", NULL}, *const none[] = {NULL};

const rs_format rs_format_nifti = {
    .name = "nifti",
    .suffixes = suffixes,
    .has_header = true,
    .parse_head = parse_head,
    .head_name = head_name,
};

const rs_format rs_format_nifti1 = {
    .name = "nifti1",
    .suffixes = none,
    .has_header = true,
    .family = &rs_format_nifti,
    .parse_head = parse_head,
    .head_name = head_name,
};

const rs_format rs_format_nifti2 = {
    .name = "nifti2",
    .suffixes = none,
    .has_header = true,
    .family = &rs_format_nifti,
    .parse_head = parse_head,
    .head_name = head_name,
};
