/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * codec.h - how the elements of a block become stored bytes.
 *
 *     elements --- stage 0 ---> --- stage 1 ---> ... ---> stored bytes      encode
 *     elements <--- stage 0 --- <--- stage 1 --- ... <--- stored bytes      decode
 *
 * A chain is a plain value, a list of stages; an empty one stores elements as they are. Order of axes and byte order
 * are no stages: they belong to the layout and the type of an array. A coder is what one thread needs to run a chain.
 *
 * What is decoded is not trusted: whatever the bytes say, nothing is written outside of `out`, and no memory is taken
 * that rs_coder_bytes did not count.
 */
#ifndef RS_CODEC_H
#define RS_CODEC_H

#include "base/json.h"

enum { RS_MAX_STAGES = 8, RS_BY_HDF5 = 1 /* a version, for codecs that only HDF5 has, too */ };

/* The type of an element, as far as codecs need it: NumPy's kind and byte order. */
typedef struct rs_element {
    char kind;
    int64_t itemsize;
    char byteorder; /* '<', '>' or '|' */
} rs_element;

typedef struct rs_codec rs_codec; /* one row of the table: see stage.h, private to this room */

typedef struct rs_stage {
    const rs_codec *codec;
    rs_element element; /* what goes in when it encodes */
    union {
        int64_t number[12];
        double real[12];
    } set; /* what its configuration says, as the codec understands it */
} rs_stage;

typedef struct rs_chain {
    int n;
    rs_stage stage[RS_MAX_STAGES];
} rs_chain;

/*
 * Adds a stage as metadata describes it. version 2: `name` is the "id" of a filter or compressor, `config` the object
 * that has it; version 3: the "name" of a codec and its "configuration" (NULL: none), "numcodecs." names too. `element`
 * is what the array's elements are, or what the stage before made of them. RESPLIT_EUNSUPPORTED: a codec, or a setting,
 * that is not known; RESPLIT_EFORMAT: a setting that is wrong.
 */
resplit_status rs_chain_add(rs_chain *chain, int version, const char *name, const rs_json *config,
                            const rs_element *element, resplit_error *err);

/* A chain as a user writes it: "none", "zstd", "zstd:3", "blosc:lz4:5:bitshuffle",
   "shuffle+zlib:6", "zstd:3+crc32c". */
resplit_status rs_chain_parse(const char *text, const rs_element *element, rs_chain *out, resplit_error *err);

/* What packs temporary data: the fastest that is worth it. Elements longer than its shuffle can do count as bytes. */
resplit_status rs_chain_for_temp(const rs_element *element, rs_chain *out, resplit_error *err);

/* Appends the JSON object of a stage: {"id": "zlib", "level": 1}, {"name": "zstd", "configuration": {...}}. */
resplit_status rs_stage_print(const rs_stage *stage, int version, rs_text *out, resplit_error *err);

/* The element that comes out of a stage; kind V and one byte for a stage that makes bytes. */
rs_element rs_stage_element(const rs_stage *stage);

/* Version 2 has filters and then at most one compressor; version 3 has stages on elements before those on bytes. */
bool rs_stage_is_compressor(const rs_stage *stage);
bool rs_stage_is_on_elements(const rs_stage *stage);

/* Zarr has no such codec. */
bool rs_stage_is_hdf5(const rs_stage *stage);

/* Decoding gives back what was encoded, bit for bit. Not: quantize, bitround, fixedscaleoffset, some astype. */
bool rs_stage_is_lossless(const rs_stage *stage);
bool rs_chain_is_lossless(const rs_chain *chain);

/* The chain for elements of another type, where it works on bytes: what is told of the size of an element follows. */
void rs_chain_retype(rs_chain *chain, const rs_element *from, const rs_element *to);

/* The same bytes mean the same elements. Levels do not matter. */
bool rs_chain_decodes_like(const rs_chain *a, const rs_chain *b);

/* The same settings too. */
bool rs_chain_is(const rs_chain *a, const rs_chain *b);

/* The codecs by number, from 0; NULL past the last. */
const char *rs_codec_id(int i);

/* "zstd:3", "shuffle+zlib:1", "none": for messages and reports. */
const char *rs_chain_text(const rs_chain *chain, char text[200]);

/* The most that `n` bytes of elements can become; -1 when that is no int64_t, or more than the codec can do. */
int64_t rs_chain_bound(const rs_chain *chain, int64_t n);

/* Seconds that one processor needs, roughly; for plans. */
double rs_chain_seconds(const rs_chain *chain, int64_t n, bool encode);

/* ---- Running a chain ---- */

typedef struct rs_coder rs_coder;

/*
 * Everything that a coder allocates, also inside the libraries: contexts, and room for what is between two stages, for
 * blocks of `n` bytes. Upper bounds. -1: no int64_t.
 */
int64_t rs_coder_bytes(const rs_chain *chain, int64_t n, bool encode);

/* For one thread, one direction, and blocks of exactly `n` bytes of elements. Borrows the chain. */
resplit_status rs_coder_new(const rs_chain *chain, int64_t n, bool encode, rs_coder **out, resplit_error *err);
void rs_coder_free(rs_coder *coder);

/* The next block has `n` bytes of elements: no more than the coder was made for. */
void rs_coder_fit(rs_coder *coder, int64_t n);

/* `out` has room for rs_chain_bound bytes; *n_out of them are filled. `in` is not changed. A chain
   without stages copies. */
resplit_status rs_encode(rs_coder *coder, const void *in, void *out, int64_t *n_out, resplit_error *err);

/*
 * Fills all `n` bytes of `out`, or fails: RESPLIT_EFORMAT, with what is wrong and the numbers; the caller knows which
 * block it is and says so. `in` has n_in bytes.
 */
resplit_status rs_decode(rs_coder *coder, const void *in, int64_t n_in, void *out, resplit_error *err);

/* The same for a block for which some stages were left out: bit i of `skip` for stage i. */
resplit_status rs_decode_skipping(rs_coder *coder, uint32_t skip, const void *in, int64_t n_in, void *out,
                                  resplit_error *err);

#endif
