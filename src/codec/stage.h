/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stage.h - what a codec is, inside of this room: a row of functions, and what they share.
 *
 * There are two sorts. A transforming codec makes other bytes, from `in` to `out`. A frame adds some bytes before or
 * after what it is given and leaves that alone (checksums): nothing is copied for it, the stage before writes to its
 * place at once.
 *
 *     encode   in --transform--> [head|payload|tail] <-- seal         payload stays where it is
 *     decode   [head|payload|tail] -- check --> payload --transform--> out
 */
#ifndef RS_CODEC_STAGE_H
#define RS_CODEC_STAGE_H

#include "codec/codec.h"

enum { RS_BY_USER = 0 }; /* a version: settings that a user wrote; the others are those of Zarr, and RS_BY_HDF5 */

typedef enum rs_codec_kind { RS_ON_ELEMENTS, RS_ON_BYTES, RS_COMPRESSOR } rs_codec_kind;

/* One call: all of `in` to `out`, which has `room` bytes; n_out of them are filled. */
typedef struct rs_pass {
    const uint8_t *in;
    int64_t n_in;
    uint8_t *out;
    int64_t room, n_out;
    bool encode; /* for those that do both in one function */
} rs_pass;

struct rs_codec {
    const char *id;   /* in version 2, and after "numcodecs." in version 3 */
    const char *name; /* in version 3, for the codecs of its specification; else NULL */
    rs_codec_kind kind;
    const char *const *keys; /* all settings, NULL at the end; a user writes them in this order, after colons */
    uint32_t decides;        /* bit i: set.number[i] matters for decoding */
    int item;                /* 1 + the setting that is the size of an element; 0: there is none */
    bool is_sized;           /* what comes out has the size that bound says */
    bool is_hdf5;            /* only HDF5 has it */
    bool is_lossless;        /* when there is no function that knows better */

    resplit_status (*configure)(rs_stage *stage, int version, const rs_json *config, resplit_error *err);
    /* Appends the settings as members of a JSON object: "\"level\": 3, ...". Nothing for none. */
    resplit_status (*print)(const rs_stage *stage, int version, rs_text *out, resplit_error *err);
    /* As a user writes it: "zstd:3". */
    void (*describe)(const rs_stage *stage, char *text, size_t room);
    rs_element (*element)(const rs_stage *stage); /* NULL: bytes */
    bool (*lossless)(const rs_stage *stage);

    int64_t (*bound)(const rs_stage *stage, int64_t n); /* -1: cannot be done; NULL: n */
    int64_t (*memory)(const rs_stage *stage, int64_t n,
                      bool encode);                      /* what `open`, and each call, allocate; NULL: nothing */
    double (*speed)(const rs_stage *stage, bool encode); /* bytes of elements in a second */

    /* A context for blocks of at most n bytes; NULL: none is needed. */
    resplit_status (*open)(const rs_stage *stage, int64_t n, bool encode, void **context, resplit_error *err);
    void (*close)(void *context, bool encode);

    resplit_status (*encode)(const rs_stage *stage, void *context, rs_pass *pass, resplit_error *err);
    resplit_status (*decode)(const rs_stage *stage, void *context, rs_pass *pass, resplit_error *err);

    uint32_t (*sum)(const uint8_t *bytes, int64_t n); /* of a frame; then there is no encode and no decode */
};

extern const rs_codec rs_codec_blosc, rs_codec_zstd, rs_codec_zlib, rs_codec_gzip, rs_codec_lz4, rs_codec_bz2,
    rs_codec_lzma, rs_codec_shuffle, rs_codec_delta, rs_codec_fixedscaleoffset, rs_codec_quantize, rs_codec_bitround,
    rs_codec_astype, rs_codec_packbits, rs_codec_crc32, rs_codec_crc32c, rs_codec_adler32, rs_codec_fletcher32,
    rs_codec_lzf, rs_codec_lz4_hdf5;

/* Bytes that a frame puts before what it is given. Its number[0] says where: 0 is before. */
int64_t rs_stage_head(const rs_stage *stage);

/* The most that n bytes become in one stage, -1 as in rs_chain_bound. */
int64_t rs_stage_bound(const rs_stage *stage, int64_t n);

/* What Zstandard allocates to compress n bytes; -1 as in rs_coder_bytes. */
int64_t rs_zstd_bytes(int level, int64_t n);

/* ---- Settings -------------------------------------------------------------------------------- */

/* RESPLIT_EUNSUPPORTED for a key that is none of codec->keys. */
resplit_status rs_check_keys(const rs_codec *codec, const rs_json *config, resplit_error *err);

/* An integer from lo to hi. Without the key, or with null, *out is not changed. */
resplit_status rs_take_int(const rs_codec *codec, const rs_json *config, const char *key, int64_t lo, int64_t hi,
                           int64_t *out, resplit_error *err);

/* One of `words` (NULL at the end), as its index. The same without the key. */
resplit_status rs_take_word(const rs_codec *codec, const rs_json *config, const char *key, const char *const *words,
                            int64_t *out, resplit_error *err);

/* A value that must be there. */
resplit_status rs_need(const rs_codec *codec, const rs_json *config, const char *key, resplit_error *err);

/* For codecs that have a level at number[0] and nothing else. */
resplit_status rs_print_level(const rs_stage *stage, int version, rs_text *out, resplit_error *err);
void rs_describe_level(const rs_stage *stage, char *text, size_t room);
void rs_describe_id(const rs_stage *stage, char *text, size_t room);

/* For codecs without settings. */
resplit_status rs_print_nothing(const rs_stage *stage, int version, rs_text *out, resplit_error *err);

/* More came out than there is room for. */
resplit_status rs_fail_room(const rs_stage *stage, const rs_pass *pass, resplit_error *err);

static inline uint32_t rs_load32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline void rs_store32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
    p[2] = (uint8_t)(v >> 16);
    p[3] = (uint8_t)(v >> 24);
}

/* ---- lz4.c: what both of its codecs have ---- */

int64_t rs_lz4_memory(const rs_stage *stage, int64_t n, bool encode);
double rs_lz4_speed(const rs_stage *stage, bool encode);
resplit_status rs_lz4_open(const rs_stage *stage, int64_t n, bool encode, void **context, resplit_error *err);
void rs_lz4_close(void *context, bool encode);

#endif
