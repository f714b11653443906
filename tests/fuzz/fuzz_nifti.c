/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_nifti.c - any bytes as a NIfTI file, compressed or not: refused, or its header can be made those of pieces, of
 * the other version and of a pair, which are all read again; and pieces belong to the whole.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/format.h"
#include "format/nifti.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static resplit_status parse(const void *bytes, size_t n, rs_head *head)
{
    resplit_error err;
    int fd = memfd_create("fuzz_nifti", MFD_CLOEXEC);
    assert(fd >= 0);
    assert(n == 0 || write(fd, bytes, n) == (ssize_t)n);
    resplit_status rc = rs_format_by_name("nifti")->parse_head(fd, (int64_t)n, "fuzz.nii", head, &err);
    close(fd);
    return rc;
}

static void check_again(const rs_nifti *nifti)
{
    rs_head again;
    assert(parse(nifti->head.s, nifti->head.n, &again) == RESPLIT_OK);
    assert(again.ndim == nifti->ndim
           && memcmp(again.shape, nifti->shape, sizeof nifti->shape[0] * (size_t)nifti->ndim) == 0);
    assert(again.data_offset == nifti->vox_offset && again.apart == nifti->pair);
    rs_head_release(&again);
}

/* The second half along every axis that has one. */
static void check_piece(const rs_nifti *whole)
{
    int64_t start[RS_NIFTI_AXES], shape[RS_NIFTI_AXES];
    rs_nifti piece;
    rs_nifti_difference found;
    for (int d = 0; d < whole->ndim; d++) {
        start[d] = whole->shape[d] / 2;
        shape[d] = whole->shape[d] - start[d];
    }
    assert(rs_nifti_piece(whole, start, shape, &piece, NULL) == RESPLIT_OK);
    check_again(&piece);
    assert(rs_nifti_compare(whole, start, shape, &piece, &found, NULL) == RESPLIT_OK);
    assert(found.field == NULL && found.noted == NULL);
    rs_nifti_release(&piece);
}

static void check_conversions(const rs_nifti *nifti, const rs_dtype *dtype)
{
    for (int k = 0; k < 4; k++) {
        rs_nifti_wish wish = {.version = 1 + k / 2, .pair = k % 2 == 1, .dtype = dtype};
        rs_nifti other;
        resplit_status rc = rs_nifti_convert(nifti, &wish, &other, NULL);
        if (rc == RESPLIT_OK
            && (wish.version == 2 || nifti->version == 1)) { /* what is too long for 1 is set by pieces */
            check_again(&other);
        }
        rs_nifti_release(&other);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rs_head head;
    if (parse(data, size, &head) != RESPLIT_OK) {
        assert(head.dtype.descr == NULL && head.nifti == NULL);
        return 0;
    }
    assert(head.ndim >= 1 && head.ndim <= RS_NIFTI_AXES && head.dtype.itemsize > 0 && head.data_offset >= 0);
    check_again(head.nifti);
    check_piece(head.nifti);
    check_conversions(head.nifti, &head.dtype);
    rs_head_release(&head);
    return 0;
}
