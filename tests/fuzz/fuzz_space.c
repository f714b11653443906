/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_space.c - any JSON as the attributes that tell where elements are: refused, or written again, turned and as
 * those of a region, and read back the same. The same for the fields of a NIfTI header, and for an OME-Zarr image.
 */
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/nifti.h"
#include "format/zarr_space.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static rs_space *read_back(const rs_text *text, const char *key, int ndim)
{
    rs_json_document *document = NULL;
    rs_space *space = NULL;
    assert(rs_json_parse(text->s, text->n, "fuzz", &document, NULL) == RESPLIT_OK);
    const rs_json *root = rs_json_root(document);
    assert(rs_space_parse(key != NULL ? rs_json_get(root, key) : root, ndim, &space, NULL) == RESPLIT_OK);
    rs_json_free(document);
    return space;
}

static void check_same(const rs_space *a, const rs_space *b)
{
    assert(a->ndim == b->ndim && a->placed == b->placed && a->scaling == b->scaling);
    for (int d = 0; d <= a->ndim; d++) {
        for (int k = 0; k < 3; k++) {
            assert(a->affine[k][d] == b->affine[k][d]);
        }
        assert(d == a->ndim || (strcmp(a->axis[d].name, b->axis[d].name) == 0 && a->axis[d].row == b->axis[d].row));
    }
}

/* Written and read again, in the orders of both formats. */
static void check_space(rs_space *space)
{
    double scale[RS_MAX_NDIM], translation[RS_MAX_NDIM];
    int turn[RS_MAX_NDIM], n = space->ndim;
    for (int order = RS_ORDER_OME; order <= RS_ORDER_NIFTI; order++) {
        rs_text text = {0};
        rs_space_sort(space, (rs_space_order)order, turn);
        rs_space_turn(space, turn);
        assert(rs_zarr_space_attributes(NULL, space, &text, NULL) == RESPLIT_OK);
        rs_space *again = read_back(&text, "space", n);
        check_same(space, again);
        rs_space_free(again);
        rs_text_release(&text);
    }
    (void)rs_space_split(space, scale, translation);
    rs_space_shift(space, (const int64_t[RS_MAX_NDIM]){1, 2, 3, 4, 5});
}

static void check_header(const rs_json *root)
{
    rs_nifti *nifti = NULL, *again = NULL;
    int axes[RS_NIFTI_AXES], same[RS_NIFTI_AXES];
    rs_space *space = NULL;
    rs_text text = {0};
    rs_json_document *document = NULL;
    if (rs_nifti_unprint(root, axes, &nifti, NULL) != RESPLIT_OK) {
        assert(nifti == NULL);
        return;
    }
    assert(rs_nifti_print(nifti, axes, &text, NULL) == RESPLIT_OK);
    assert(rs_json_parse(text.s, text.n, "fuzz", &document, NULL) == RESPLIT_OK);
    assert(rs_nifti_unprint(rs_json_root(document), same, &again, NULL) == RESPLIT_OK);
    assert(nifti->head.n == again->head.n && memcmp(axes, same, sizeof axes[0] * (size_t)nifti->ndim) == 0);
    assert(rs_nifti_space(nifti, &space, NULL) == RESPLIT_OK && rs_space_is_finite(space));
    rs_space_turn(space, axes);
    check_space(space);
    rs_space_free(space);
    rs_json_free(document);
    rs_text_release(&text);
    rs_nifti_release(nifti);
    rs_nifti_release(again);
    free(nifti);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rs_json_document *document = NULL;
    resplit_error err;
    int ndim = size > 0 ? data[0] % 6 : 0;
    if (size < 1 || rs_json_parse((const char *)data + 1, size - 1, "fuzz", &document, &err) != RESPLIT_OK) {
        return 0;
    }
    rs_space *space = NULL;
    if (rs_space_parse(rs_json_root(document), ndim, &space, &err) == RESPLIT_OK) {
        check_space(space);
    }
    rs_space_free(space);
    if (rs_zarr_level_space(rs_json_root(document), "0", ndim, &space, &err) == RESPLIT_OK && space != NULL) {
        check_space(space);
    }
    rs_space_free(space);
    check_header(rs_json_root(document));
    rs_json_free(document);
    return 0;
}
