/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_zarr.c - any text as metadata of an array: refused, or an array whose own metadata describe the same array, in
 * its own version and, where that can say it, in the other one. The first byte chooses the version.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/zarr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static resplit_status parse_again(const char *name, const rs_text *text, void *payload, resplit_error *err)
{
    if (strcmp(name, ".zattrs") == 0) {
        return RESPLIT_OK;
    }
    return rs_zarr_parse(strcmp(name, ".zarray") == 0 ? 2 : 3, text->s, text->n, name, payload, err);
}

static void assert_same(const rs_zarr *a, const rs_zarr *b)
{
    size_t n = (size_t)a->ndim;
    assert(a->ndim == b->ndim && memcmp(a->shape, b->shape, n * sizeof *a->shape) == 0);
    assert(memcmp(a->chunk, b->chunk, n * sizeof *a->chunk) == 0);
    assert(memcmp(a->order, b->order, n * sizeof *a->order) == 0);
    assert(a->n_levels == b->n_levels && a->dtype.itemsize == b->dtype.itemsize);
    assert(a->dtype.kind == b->dtype.kind && a->dtype.byteorder == b->dtype.byteorder);
    assert(a->chain.n == b->chain.n && (a->opaque.code != 0) == (b->opaque.code != 0));
    for (int i = 0; i < a->n_levels; i++) {
        assert(memcmp(a->level[i].chunk, b->level[i].chunk, n * sizeof *a->chunk) == 0);
        assert(memcmp(a->level[i].order, b->level[i].order, n * sizeof *a->order) == 0);
        assert(a->level[i].crc == b->level[i].crc && a->level[i].index_order == b->level[i].index_order);
    }
    assert(a->opaque.code != 0 || memcmp(a->fill, b->fill, (size_t)a->dtype.itemsize) == 0);
}

static void try_version(const rs_zarr *zarr, int version)
{
    rs_zarr out, again = {0};
    resplit_error err;
    rs_zarr_wish wish = {.version = version};
    if (rs_zarr_derive(zarr, NULL, 0, &wish, &out, &err) == RESPLIT_OK) {
        assert(rs_zarr_print(&out, parse_again, &again, &err) == RESPLIT_OK);
        assert_same(&out, &again);
        rs_zarr_release(&again);
    }
    rs_zarr_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rs_zarr zarr, again = {0};
    resplit_error err;
    char name[400];
    int version = size > 0 && data[0] == '2' ? 2 : 3;
    if (size == 0) {
        return 0;
    }
    if (rs_zarr_parse(version, (const char *)data + 1, size - 1, "fuzz", &zarr, &err) == RESPLIT_OK) {
        assert(zarr.dtype.itemsize > 0 && zarr.fill != NULL && zarr.ndim <= RS_MAX_NDIM);
        assert(rs_zarr_key(&zarr, zarr.shape, name, sizeof name, &err) == RESPLIT_OK);
        assert(rs_zarr_print(&zarr, parse_again, &again, &err) == RESPLIT_OK);
        assert_same(&zarr, &again);
        rs_zarr_release(&again);
        try_version(&zarr, 2);
        try_version(&zarr, 3);
    } else {
        assert(err.code == RESPLIT_EFORMAT || err.code == RESPLIT_EUNSUPPORTED);
    }
    rs_zarr_release(&zarr);
    return 0;
}
