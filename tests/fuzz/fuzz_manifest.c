/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_manifest.c - any text as a manifest: refused, or an array whose own manifest describes the same array. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "format/format.h"
#include "format/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_array(const rs_manifest *manifest)
{
    resplit_array *array, *again;
    resplit_error err;
    rs_text text = {0};
    rs_manifest second;
    if (manifest->spec.shape == NULL || manifest->spec.dtype == NULL
        || rs_array_describe(&manifest->spec, &array, &err) != RESPLIT_OK) {
        return;
    }
    assert(array->info.n_blocks >= 1 && array->info.bytes >= 0);
    assert(rs_manifest_write(array, 0, 0, &text, &err) == RESPLIT_OK);
    assert(rs_manifest_parse(text.s, text.n, "again", true, &second, &err) == RESPLIT_OK);
    assert(rs_array_describe(&second.spec, &again, &err) == RESPLIT_OK);
    assert(strcmp(array->dtype.descr, again->dtype.descr) == 0 && array->order == again->order);
    assert(array->info.n_blocks == again->info.n_blocks && array->info.bytes == again->info.bytes);
    for (int d = 0; d < array->layout.ndim; d++) {
        const rs_axis *a = &array->layout.axis[d], *b = &again->layout.axis[d];
        assert(a->extent == b->extent && a->n == b->n && rs_axis_cut(a, a->n / 2) == rs_axis_cut(b, b->n / 2));
    }
    rs_array_close(again);
    rs_manifest_release(&second);
    rs_text_release(&text);
    rs_array_close(array);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int partial = 0; partial < 2; partial++) {
        rs_manifest manifest;
        resplit_error err;
        if (rs_manifest_parse((const char *)data, size, "fuzz.json", partial, &manifest, &err) == RESPLIT_OK) {
            try_array(&manifest);
        }
        rs_manifest_release(&manifest);
    }
    return 0;
}
