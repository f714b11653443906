/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_dtype.c - any text as a type: refused, or its canonical text means the same. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/dtype.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rs_dtype dtype, again;
    resplit_error err;
    char *text = malloc(size + 1);
    assert(text != NULL);
    if (size > 0) {
        memcpy(text, data, size);
    }
    text[size] = '\0';
    if (rs_dtype_parse(text, &dtype, &err) == RESPLIT_OK) {
        assert(dtype.itemsize > 0 && dtype.descr != NULL);
        assert(dtype.swap_size == 0 || dtype.itemsize % dtype.swap_size == 0);
        assert(rs_dtype_parse(dtype.descr, &again, &err) == RESPLIT_OK);
        assert(strcmp(dtype.descr, again.descr) == 0 && dtype.itemsize == again.itemsize);
        assert(dtype.byteorder == again.byteorder && dtype.swap_size == again.swap_size);
        assert(rs_dtype_same_values(&dtype, &again));
        rs_dtype_release(&again);
    }
    rs_dtype_release(&dtype);
    free(text);
    return 0;
}
