/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nifti_array.c - NIfTI images as arrays. An array keeps the header of the whole image; the header of a block is made
 * from it by where the block is, and when blocks are opened each must have the header that the first one's becomes at
 * its place.
 */
#include "format/nifti_array.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/drivers.h"
#include "format/space.h"

bool rs_format_is_nifti(const rs_format *format)
{
    return format == &rs_format_nifti || format->family == &rs_format_nifti;
}

/* ---- Blocks of a folder ---------------------------------------------------------------------- */

static void whole_shape(const resplit_array *array, int64_t *shape)
{
    for (int d = 0; d < array->layout.ndim; d++) {
        shape[d] = array->layout.axis[d].extent;
    }
}

/*
 * The manifest has the header that the image had. It counts if the first block is what that becomes there, byte for
 * byte: somebody may have changed the blocks since. It has what a piece cannot keep, as the order of slices.
 */
static resplit_status keep_known(resplit_array *array, const rs_box *box, const rs_nifti *first, bool *kept,
                                 resplit_error *err)
{
    rs_nifti piece;
    int64_t shape[RS_MAX_NDIM];
    rs_nifti *known = array->nifti;
    size_t n = known != NULL ? known->head.n : 0;
    *kept = false;
    if (known == NULL || known->ndim != array->layout.ndim || n > first->head.n) {
        return RESPLIT_OK;
    }
    for (int d = 0; d < known->ndim; d++) {
        shape[d] = box->hi[d] - box->lo[d];
    }
    resplit_status rc = rs_nifti_piece(known, box->lo, shape, &piece, err);
    *kept = rc == RESPLIT_OK && memcmp(piece.head.s, first->head.s, n) == 0;
    if (*kept) {
        rc = rs_text_add_bytes(&known->head, first->head.s + n, first->head.n - n, err);
    }
    rs_nifti_release(&piece);
    return rc;
}

/* The header of the first block becomes that of the whole, and is looked at from there. */
static resplit_status widen(resplit_array *array, const rs_box *box, const int64_t *shape, resplit_error *err)
{
    rs_nifti first;
    rs_nifti_difference found = {.exact = false};
    resplit_status rc = rs_nifti_copy(array->nifti, &first, err);
    if (rc == RESPLIT_OK) {
        rs_nifti_widen(array->nifti, shape);
        rc = rs_nifti_compare(array->nifti, box->lo, first.shape, &first, &found, err);
    }
    array->exact_heads = found.exact;
    rs_nifti_release(&first);
    return rc;
}

static resplit_status take_first(resplit_array *array, const rs_box *box, const char *shown, rs_head *head,
                                 resplit_error *err)
{
    int64_t shape[RS_MAX_NDIM];
    bool kept = false;
    if (array->format->family != NULL && array->format != head->format) {
        return rs_fail(err, RESPLIT_EFORMAT, "'%s' has format %s, but %s was expected", shown, head->format->name,
                       array->format->name);
    }
    array->format = head->format;
    array->encoded = head->encoded;
    RS_TRY(keep_known(array, box, head->nifti, &kept, err));
    array->exact_heads = kept;
    if (!kept) {
        if (array->nifti != NULL) {
            rs_nifti_release(array->nifti);
            free(array->nifti);
        }
        array->nifti = head->nifti;
        head->nifti = NULL;
        whole_shape(array, shape);
        return widen(array, box, shape, err);
    }
    return RESPLIT_OK;
}

resplit_status rs_nifti_check_block(resplit_array *array, int64_t number, const rs_box *box, const char *shown,
                                    const char *first, rs_head *head, resplit_error *err)
{
    rs_nifti_difference found;
    int64_t shape[RS_MAX_NDIM];
    if (number == 0) {
        return take_first(array, box, shown, head, err);
    }
    for (int d = 0; d < array->layout.ndim; d++) {
        shape[d] = box->hi[d] - box->lo[d];
    }
    if (head->encoded != array->encoded) {
        return rs_fail(err, RESPLIT_EFORMAT, "'%s' is %scompressed, but '%s' is %s", shown, head->encoded ? "" : "not ",
                       first, head->encoded ? "not" : "compressed");
    }
    RS_TRY(rs_nifti_compare(array->nifti, box->lo, shape, head->nifti, &found, err));
    array->exact_heads = array->exact_heads && found.exact;
    if (found.field != NULL) {
        return rs_fail(
            err, RESPLIT_EFORMAT,
            "'%s' does not belong to the same image as '%s': it has %s %s, and at its place that would be %s", shown,
            first, found.field, found.has, found.wants);
    }
    if (found.noted != NULL && array->notes.n == 0) {
        return rs_text_add(&array->notes, err, "blocks differ in %s ('%s'): that of the first, '%s', is kept",
                           found.noted, shown, first);
    }
    return RESPLIT_OK;
}

/* ---- Compressed blocks ----------------------------------------------------------------------- */

resplit_status rs_nifti_set_coding(resplit_array *array, bool encode, int64_t stored, double ratio, resplit_error *err)
{
    static const int64_t sample = 1 << 20;
    int64_t bytes = rs_array_coded_bytes(array),
            held = rs_ceil_div(bytes, array->dtype.itemsize) * array->layout.itemsize;
    double scale = (double)array->dtype.itemsize / (double)array->layout.itemsize;
    rs_element element = {'V', 1, '|'};
    if (array->chain.n == 0) {
        RS_TRY(rs_chain_parse("gzip:6", &element, &array->chain, err));
    }
    if (encode) {
        stored = rs_chain_bound(&array->chain, bytes);
    }
    int64_t area = rs_elements_room(rs_max(bytes, held), encode);
    array->encoded = array->layout.atomic = true;
    array->layout.coding = (rs_coding){
        .staging = rs_stored_room(stored) + area,
        .area = area,
        .coder = rs_coder_bytes(&array->chain, bytes, encode),
        .seconds =
            scale * rs_chain_seconds(&array->chain, sample, encode) / (double)sample + rs_cast_seconds(&array->cast),
        .ratio = scale * ratio,
    };
    array->info.codec = encode ? rs_chain_text(&array->chain, array->codec) : "gzip";
    return stored >= 0 && array->layout.coding.coder >= 0
               ? RESPLIT_OK
               : rs_fail(err, RESPLIT_EUNSUPPORTED, "blocks of %" PRId64 " bytes are more than gzip can do", bytes);
}

resplit_status rs_array_set_encoded(resplit_array *array, int64_t most, int64_t all, resplit_error *err)
{
    array->most_stored = most;
    array->info.stored_bytes = all;
    array->info.n_stored = array->info.n_blocks;
    return rs_nifti_set_coding(array, false, most, (double)all / (double)rs_max(1, array->info.bytes), err);
}

/* Who names a level wants that one, which the files do not tell. */
static bool keeps_codec(const resplit_array *target)
{
    return target->wished_codec == NULL || strcmp(target->wished_codec, "gzip") == 0;
}

bool rs_nifti_is_verbatim(const resplit_array *source, const resplit_array *target)
{
    const rs_nifti *a = source->nifti, *b = target->nifti;
    bool same = source->encoded && target->encoded && source->exact_heads && source->offsets == NULL
                && source->data_offset == target->data_offset && target->cast.kind == RS_CAST_NONE
                && keeps_codec(target) && a->version == b->version && a->pair == b->pair && a->head.n == b->head.n
                && memcmp(a->head.s, b->head.s, a->head.n) == 0;
    for (int d = 0; d < source->layout.ndim; d++) {
        same = same && target->origin[d] == 0 && target->info.shape[d] == source->info.shape[d];
    }
    return same;
}

/* ---- Heads ----------------------------------------------------------------------------------- */

static resplit_status add_piece(const resplit_array *array, const rs_box *box, rs_text *out, resplit_error *err)
{
    int64_t start[RS_MAX_NDIM], shape[RS_MAX_NDIM];
    rs_nifti piece;
    for (int d = 0; d < array->layout.ndim; d++) {
        start[d] = array->origin[d] + box->lo[d];
        shape[d] = box->hi[d] - box->lo[d];
    }
    resplit_status rc = rs_nifti_piece(array->nifti, start, shape, &piece, err);
    if (rc == RESPLIT_OK) {
        rc = rs_text_add_bytes(out, piece.head.s, piece.head.n, err);
    }
    rs_nifti_release(&piece);
    return rc;
}

resplit_status rs_nifti_block_head(const resplit_array *array, const int64_t *index, rs_text *out, resplit_error *err)
{
    rs_box box = rs_layout_stored(&array->layout, index);
    return add_piece(array, &box, out, err);
}

/* Replaces a text by what the array's codec makes of it. */
static resplit_status compress(const resplit_array *array, rs_text *text, resplit_error *err)
{
    rs_coder *coder = NULL;
    int64_t n = rs_chain_bound(&array->chain, (int64_t)text->n);
    char *packed = malloc((size_t)rs_max(1, n));
    resplit_status rc = packed != NULL ? RESPLIT_OK : rs_fail(err, RESPLIT_ENOMEM, "no memory for a header");
    if (rc == RESPLIT_OK) {
        rc = rs_coder_new(&array->chain, (int64_t)text->n, true, &coder, err);
    }
    if (rc == RESPLIT_OK) {
        rc = rs_encode(coder, text->s, packed, &n, err);
    }
    if (rc == RESPLIT_OK) {
        text->n = 0;
        rc = rs_text_add_bytes(text, packed, (size_t)n, err);
    }
    rs_coder_free(coder);
    free(packed);
    return rc;
}

/* Of pairs: the files with the headers, beside those with the voxels. */
resplit_status rs_nifti_add_heads(const resplit_array *array, rs_add_file *add, void *payload, resplit_error *err)
{
    static const int64_t zero[RS_MAX_NDIM];
    int64_t index[RS_MAX_NDIM] = {0}, n[RS_MAX_NDIM];
    rs_text head = {0}, beside = {0};
    char name[RS_NAME_MAX];
    resplit_status rc;
    for (int d = 0; d < array->layout.ndim; d++) {
        n[d] = array->layout.axis[d].n;
    }
    do {
        head.n = beside.n = 0;
        rc = rs_array_block_name(array, index, name, err);
        rc =
            rc == RESPLIT_OK ? array->format->head_name(array->pattern != NULL ? name : array->path, &beside, err) : rc;
        rc = rc == RESPLIT_OK ? rs_nifti_block_head(array, index, &head, err) : rc;
        rc = rc == RESPLIT_OK && array->encoded ? compress(array, &head, err) : rc;
        rc = rc == RESPLIT_OK && beside.n > 0 ? add(beside.s, &head, payload, err) : rc;
    } while (rc == RESPLIT_OK && rs_index_next(array->layout.ndim, zero, n, index));
    rs_text_release(&head);
    rs_text_release(&beside);
    return rc;
}

resplit_status rs_nifti_to_hex(const resplit_array *array, rs_text *out, resplit_error *err)
{
    rs_text head = {0};
    rs_box all = {.lo = {0}};
    for (int d = 0; d < array->layout.ndim; d++) {
        all.hi[d] = array->layout.axis[d].extent;
        if (array->nifti->version == 1 && all.hi[d] > RS_NIFTI1_LONGEST) {
            return RESPLIT_OK; /* there is none for the whole */
        }
    }
    resplit_status rc = add_piece(array, &all, &head, err);
    for (int64_t i = 0; rc == RESPLIT_OK && i < rs_nifti_header_bytes(array->nifti); i++) {
        rc = rs_text_add(out, err, "%02x", (unsigned)(unsigned char)head.s[i]);
    }
    rs_text_release(&head);
    return rc;
}

static int digit(char c)
{
    const char *digits = "0123456789abcdef", *at = c != '\0' ? strchr(digits, c) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

resplit_status rs_nifti_from_hex(const char *text, const char *path, resplit_array *array, resplit_error *err)
{
    char bytes[RS_NIFTI2_BYTES];
    size_t n = strlen(text) / 2;
    int64_t total;
    for (size_t i = 0; i < n && n <= sizeof bytes; i++) {
        int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
        if (high < 0 || low < 0) {
            n = 0;
        } else {
            bytes[i] = (char)(high << 4 | low);
        }
    }
    if (*text == 0) {
        return RESPLIT_OK;
    }
    if ((n != RS_NIFTI1_BYTES && n != RS_NIFTI2_BYTES) || strlen(text) % 2 != 0) {
        return rs_fail(err, RESPLIT_EFORMAT, "its header is not %d or %d bytes in hexadecimal digits", RS_NIFTI1_BYTES,
                       RS_NIFTI2_BYTES);
    }
    array->nifti = calloc(1, sizeof *array->nifti);
    if (array->nifti == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for a header");
    }
    return rs_nifti_parse(bytes, n, path, array->nifti, &total, err);
}
