/* SPDX-License-Identifier: BSD-3-Clause */
/* nifti_parse.c - reads NIfTI headers: every number that is used later is checked here. */
#include "format/nifti.h"

#include <inttypes.h>
#include <string.h>

#include "format/drivers.h"

enum {
    EXTENDER = 4,       /* bytes after the header that tell whether extensions follow */
    EXTENSION = 8,      /* size and code */
    CIFTI_CODE = 32,    /* of an extension */
    CIFTI_FIRST = 3000, /* of an intent */
    CIFTI_LAST = 3099,
};

/* ---- Types ----------------------------------------------------------------------------------- */

/*
 * As nibabel has them, without byte order; colours are records. Reals of 16 bytes are IEEE's, which few machines have
 * and NumPy's long doubles are not: their bytes are kept, whatever they mean.
 */
static const struct {
    int code, bitpix;
    const char *descr;
} types[] = {
    {2, 8, "u1"},
    {4, 16, "i2"},
    {8, 32, "i4"},
    {16, 32, "f4"},
    {32, 64, "c8"},
    {64, 64, "f8"},
    {128, 24, "[('R', '|u1'), ('G', '|u1'), ('B', '|u1')]"},
    {256, 8, "i1"},
    {512, 16, "u2"},
    {768, 32, "u4"},
    {1024, 64, "i8"},
    {1280, 64, "u8"},
    {RS_NIFTI_FLOAT128, 128, "V16"},
    {1792, 128, "c16"},
    {RS_NIFTI_COMPLEX256, 256, "V32"},
    {2304, 32, "[('R', '|u1'), ('G', '|u1'), ('B', '|u1'), ('A', '|u1')]"},
};

enum { N_TYPES = sizeof types / sizeof types[0] };

int rs_nifti_code(const rs_dtype *dtype, int *bitpix)
{
    const char *descr = dtype->descr + (dtype->swap_size > 0 ? 1 : 0);
    for (int i = 0; i < N_TYPES; i++) {
        if (strcmp(types[i].descr, descr) == 0) {
            *bitpix = types[i].bitpix;
            return types[i].code;
        }
    }
    return 0;
}

static int find_type(int64_t code)
{
    int i = 0;
    while (i < N_TYPES && types[i].code != code) {
        i++;
    }
    return i < N_TYPES ? i : -1;
}

resplit_status rs_nifti_dtype(const rs_nifti *nifti, const char *path, rs_dtype *out, resplit_error *err)
{
    int64_t code = rs_nifti_int(nifti, RS_NI_DATATYPE, 0), bitpix = rs_nifti_int(nifti, RS_NI_BITPIX, 0);
    int i = find_type(code);
    rs_text descr = {0};
    *out = (rs_dtype){0};
    if (code == 1) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED,
                       "'%s' has voxels of one bit (datatype 1), which is not handled: convert it to uint8 first",
                       path);
    }
    if (i < 0) {
        return rs_fail(err, RESPLIT_EFORMAT, "bad header in '%s': datatype %" PRId64 " is none of NIfTI", path, code);
    }
    if (bitpix != types[i].bitpix) {
        return rs_fail(err, RESPLIT_EFORMAT, "bad header in '%s': bitpix is %" PRId64 ", but datatype %d has %d bits",
                       path, bitpix, types[i].code, types[i].bitpix);
    }
    bool record = types[i].descr[0] == '[';
    resplit_status rc = record ? rs_text_add(&descr, err, "%s", types[i].descr)
                               : rs_text_add(&descr, err, "%c%s", nifti->byteorder, types[i].descr);
    if (rc == RESPLIT_OK) {
        rc = rs_dtype_parse(descr.s, out, err);
    }
    rs_text_release(&descr);
    return rc;
}

/* ---- Which kind ------------------------------------------------------------------------------ */

static const char magics[2][2][8] = {{"n+1", "ni1"}, {"n+2\0\r\n\032\n", "ni2\0\r\n\032\n"}};

static size_t magic_bytes(int version)
{
    return version == 1 ? 4 : 8;
}

static const char *magic_of(const char *bytes, int version)
{
    return bytes + rs_nifti_fields[RS_NI_MAGIC].in[version - 1].at;
}

bool rs_nifti_probe(const void *bytes, size_t n)
{
    for (int version = 1; version <= 2 && n >= RS_NIFTI1_BYTES; version++) {
        for (int k = 0; k < 2; k++) {
            if (memcmp(magic_of(bytes, version), magics[version - 1][k], 4) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* The first number is the length of the header, in the byte order of everything. False: it is none. */
static bool find_version(const unsigned char *bytes, rs_nifti *out)
{
    static const int lengths[2] = {RS_NIFTI1_BYTES, RS_NIFTI2_BYTES};
    for (int i = 0; i < 2; i++) {
        unsigned char low = (unsigned char)(lengths[i] & 0xff), high = (unsigned char)(lengths[i] >> 8);
        if (bytes[0] == low && bytes[1] == high && bytes[2] == 0 && bytes[3] == 0) {
            *out = (rs_nifti){.version = i + 1, .byteorder = '<'};
            return true;
        }
        if (bytes[3] == low && bytes[2] == high && bytes[1] == 0 && bytes[0] == 0) {
            *out = (rs_nifti){.version = i + 1, .byteorder = '>'};
            return true;
        }
    }
    return false;
}

static resplit_status check_magic(const char *bytes, const char *path, rs_nifti *out, resplit_error *err)
{
    const char *magic = magic_of(bytes, out->version);
    for (int k = 0; k < 2; k++) {
        if (memcmp(magic, magics[out->version - 1][k], magic_bytes(out->version)) == 0) {
            out->pair = k == 1;
            return RESPLIT_OK;
        }
    }
    if (out->version == 1 && magic[0] != 'n') {
        return rs_fail(
            err, RESPLIT_EUNSUPPORTED,
            "'%s' has an Analyze 7.5 header, not one of NIfTI, and Analyze does not say where its voxels are "
            "in space: convert it to NIfTI first",
            path);
    }
    return rs_fail(err, RESPLIT_EFORMAT, "bad header in '%s': its magic bytes are not those of NIfTI-%d%s", path,
                   out->version, memcmp(magic, "n+2", 3) == 0 ? "; it was changed as if it were text" : "");
}

/* ---- Numbers --------------------------------------------------------------------------------- */

static resplit_status check_shape(const char *path, rs_nifti *out, resplit_error *err)
{
    int64_t ndim = rs_nifti_int(out, RS_NI_DIM, 0), n_elements, bytes;
    if (ndim < 1 || ndim > RS_NIFTI_AXES) {
        return rs_fail(err, RESPLIT_EFORMAT, "bad header in '%s': dim[0] is %" PRId64 ", and there are 1 to %d axes",
                       path, ndim, RS_NIFTI_AXES);
    }
    if (out->version == 1 && rs_nifti_int(out, RS_NI_DIM, 1) == -1) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED,
                       "'%s' has dim[1] = -1, by which FreeSurfer means more than %d: only FreeSurfer reads that; "
                       "convert it to NIfTI-2 first",
                       path, RS_NIFTI1_LONGEST);
    }
    out->ndim = (int)ndim;
    for (int d = 0; d < out->ndim; d++) {
        out->shape[d] = rs_nifti_int(out, RS_NI_DIM, d + 1);
        if (out->shape[d] < 1) {
            return rs_fail(err, RESPLIT_EFORMAT,
                           "bad header in '%s': dim[%d] is %" PRId64 ", and an axis has at least 1", path, d + 1,
                           out->shape[d]);
        }
    }
    if (!rs_shape_count(out->ndim, out->shape, 32, &n_elements, &bytes)) { /* no type has more than 32 bytes */
        return rs_fail(err, RESPLIT_EFORMAT, "bad header in '%s': the shape has more bytes than a file can hold", path);
    }
    return RESPLIT_OK;
}

/* Where the voxels begin; 0, in a single file, means right after the header. */
static resplit_status check_offset(const char *path, rs_nifti *out, resplit_error *err)
{
    int64_t offset = rs_nifti_int(out, RS_NI_VOX_OFFSET, 0);
    int64_t least = out->pair ? 0 : rs_nifti_header_bytes(out) + EXTENDER;
    out->vox_offset = offset == 0 ? least : offset;
    if (offset == INT64_MIN) {
        return rs_fail(err, RESPLIT_EFORMAT, "bad header in '%s': vox_offset is %g, which is no whole number", path,
                       rs_nifti_real(out, RS_NI_VOX_OFFSET, 0));
    }
    if (out->vox_offset < least) {
        return rs_fail(err, RESPLIT_EFORMAT,
                       "bad header in '%s': vox_offset is %" PRId64 ", but voxels begin at %" PRId64 " or later", path,
                       offset, least);
    }
    if (!out->pair && out->vox_offset > RS_NIFTI_MAX_HEAD) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED,
                       "'%s' has %" PRId64 " bytes before its voxels (vox_offset); at most %d are handled", path,
                       out->vox_offset, RS_NIFTI_MAX_HEAD);
    }
    return RESPLIT_OK;
}

static resplit_status is_cifti(const char *path, const char *why, int64_t code, resplit_error *err)
{
    return rs_fail(err, RESPLIT_EUNSUPPORTED,
                   "'%s' is a CIFTI file (%s %" PRId64
                   "): its XML says what each row and column is, and would be wrong "
                   "for a part of them",
                   path, why, code);
}

resplit_status rs_nifti_parse(const void *bytes, size_t n, const char *path, rs_nifti *out, int64_t *total,
                              resplit_error *err)
{
    *out = (rs_nifti){0};
    *total = 0;
    if (n < 4 || !find_version(bytes, out)) {
        return rs_fail(err, RESPLIT_EFORMAT,
                       "'%s' is not a NIfTI file: it does not begin with 348 or 540, the length of a header", path);
    }
    size_t header = (size_t)rs_nifti_header_bytes(out);
    if (n < header) {
        return rs_fail(err, RESPLIT_EFORMAT, "'%s' ends within its header: expected %zu bytes, got %zu", path, header,
                       n);
    }
    RS_TRY(rs_text_add_bytes(&out->head, bytes, header, err));
    RS_TRY(check_magic(out->head.s, path, out, err));
    RS_TRY(check_shape(path, out, err));
    RS_TRY(check_offset(path, out, err));
    int64_t intent = rs_nifti_int(out, RS_NI_INTENT_CODE, 0);
    if (intent >= CIFTI_FIRST && intent <= CIFTI_LAST) {
        return is_cifti(path, "intent_code", intent, err);
    }
    *total = out->pair ? -1 : out->vox_offset;
    return RESPLIT_OK;
}

/* ---- Extensions ------------------------------------------------------------------------------ */

static int64_t load32(const rs_nifti *nifti, size_t at)
{
    const unsigned char *u = (const unsigned char *)nifti->head.s + at;
    uint32_t bits = 0;
    for (int k = 0; k < 4; k++) {
        bits |= (uint32_t)u[k] << 8 * (nifti->byteorder == '<' ? k : 3 - k);
    }
    return (int32_t)bits;
}

static bool is_zero(const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

resplit_status rs_nifti_check_extensions(const rs_nifti *nifti, const char *path, resplit_error *err)
{
    size_t end = nifti->head.n, at = (size_t)rs_nifti_header_bytes(nifti);
    if (end < at + EXTENDER || nifti->head.s[at] == 0) { /* a pair may end with the header itself */
        return RESPLIT_OK;
    }
    at += EXTENDER;
    while (end - at >= EXTENSION
           && !is_zero(nifti->head.s + at, end - at)) { /* zeros are only filled up to the voxels */
        int64_t size = load32(nifti, at), code = load32(nifti, at + 4);
        if (size < EXTENSION || size > (int64_t)(end - at)) {
            return rs_fail(err, RESPLIT_EFORMAT,
                           "bad extension in '%s': at byte %zu it says that it has %" PRId64
                           " bytes; there are %zu left",
                           path, at, size, end - at);
        }
        if (code == CIFTI_CODE) {
            return is_cifti(path, "extension", code, err);
        }
        at += (size_t)size;
    }
    return RESPLIT_OK;
}
