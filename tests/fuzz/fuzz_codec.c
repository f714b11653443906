/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_codec.c - any bytes as a stored block: the first says of which codec, the next how large the block is. It is
 * refused, or all of the block is filled; what that is can be encoded and decoded again.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "codec/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const texts[] = {
    "none",
    "zstd:1",
    "zlib:1",
    "gzip:1",
    "lz4",
    "bz2:1",
    "lzma:0",
    "lzma:0:2",
    "blosc",
    "shuffle:4",
    "delta:u2:i4",
    "crc32c",
    "crc32",
    "adler32",
    "fletcher32",
    "packbits",
    "astype:f4:u2",
    "quantize:2:f4:f2",
    "zstd:1+crc32c",
    "shuffle:2+blosc:zstd:1",
    "lz4+zlib:1",
    "fixedscaleoffset:1:2:f4:i1",
    "delta:u2:u4+shuffle:4+gzip:1+fletcher32",
    "astype:i4:f2+bz2:1",
    "lzf",
    "lz4-hdf5",
    "bitround:4",
};

enum { N_TEXTS = sizeof texts / sizeof texts[0], GUARD = 64 };

/* Two are for elements of a kind. */
static rs_element element_for(const char *text)
{
    if (strcmp(text, "packbits") == 0) {
        return (rs_element){'b', 1, '|'};
    }
    return strcmp(text, "bitround:4") == 0 ? (rs_element){'f', 4, '<'} : (rs_element){'u', 2, '<'};
}

static void again(const rs_chain *chain, const uint8_t *block, int64_t n)
{
    rs_coder *in = NULL, *out = NULL;
    int64_t n_out = 0;
    uint8_t *stored = malloc((size_t)rs_chain_bound(chain, n) + 1), *back = malloc((size_t)n + 1);
    bool is_lossless = true;
    assert(stored != NULL && back != NULL);
    assert(rs_coder_new(chain, n, true, &in, NULL) == RESPLIT_OK);
    assert(rs_coder_new(chain, n, false, &out, NULL) == RESPLIT_OK);
    assert(rs_encode(in, block, stored, &n_out, NULL) == RESPLIT_OK);
    assert(n_out <= rs_chain_bound(chain, n));
    assert(rs_decode(out, stored, n_out, back, NULL) == RESPLIT_OK);
    for (int i = 0; i < chain->n; i++) {
        is_lossless = is_lossless && rs_stage_is_lossless(&chain->stage[i]);
    }
    assert(!is_lossless || memcmp(back, block, (size_t)n) == 0);
    rs_coder_free(in);
    rs_coder_free(out);
    free(stored);
    free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rs_chain chain;
    rs_coder *coder = NULL;
    resplit_error err = {0};
    if (size < 2) {
        return 0;
    }
    const char *text = texts[data[0] % N_TEXTS];
    rs_element element = element_for(text);
    int64_t n = 24 * (int64_t)data[1];
    uint8_t *block = malloc((size_t)n + GUARD); /* libraries are not watched by sanitizers: look what they do beyond */
    assert(block != NULL);
    memset(block + n, 0xa5, GUARD);
    assert(rs_chain_parse(text, &element, &chain, &err) == RESPLIT_OK);
    assert(rs_coder_new(&chain, n, false, &coder, &err) == RESPLIT_OK);
    resplit_status rc = rs_decode(coder, data + 2, (int64_t)size - 2, block, &err);
    assert(rc == RESPLIT_OK || ((rc == RESPLIT_EFORMAT || rc == RESPLIT_EUNSUPPORTED) && err.message[0] != '\0'));
    rs_coder_free(coder);
    for (int i = 0; i < GUARD; i++) {
        assert(block[n + i] == 0xa5);
    }
    if (rc == RESPLIT_OK) {
        again(&chain, block, n);
    }
    free(block);
    return 0;
}
