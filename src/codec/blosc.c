/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blosc.c - Blosc 1: a header of 16 bytes, then blocks, each shuffled and compressed by one of several libraries.
 *
 *     0 version  1 version of the library  2 flags  3 type size  4 bytes  8 block size  12 compressed bytes     little endian
 *
 * Only calls that have their own context: they read no BLOSC_ variables of the environment, keep nothing, and start no
 * threads. Each allocates a context and two blocks and gives them back.
 */
#include <blosc.h>

#include <stdio.h>
#include <string.h>

#include "codec/stage.h"

enum {
    CNAME,
    CLEVEL,
    SHUFFLE,
    BLOCK,
    TYPE,
    AUTO_SHUFFLE = -1,
    HEADER = BLOSC_MIN_HEADER_LENGTH,
    AUTO_BLOCK = 1 << 20,   /* the most that this library chooses */
    FOREIGN_BLOCK = 4 << 20 /* what others may have chosen */
};

/* By their numbers in the library. */
static const char *const names[] = {"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd", NULL};
static const char *const shuffles[] = {"noshuffle", "shuffle", "bitshuffle", "autoshuffle", NULL};

/* Version 2 has numbers, version 3 words. */
static resplit_status take_shuffle(rs_stage *stage, const rs_json *config, resplit_error *err)
{
    const rs_json *value = config == NULL ? NULL : rs_json_get(config, "shuffle");
    int64_t *shuffle = &stage->set.number[SHUFFLE];
    *shuffle = BLOSC_SHUFFLE;
    if (value == NULL || value->kind != RS_JSON_STRING) {
        return rs_take_int(stage->codec, config, "shuffle", AUTO_SHUFFLE, BLOSC_BITSHUFFLE, shuffle, err);
    }
    RS_TRY(rs_take_word(stage->codec, config, "shuffle", shuffles, shuffle, err));
    *shuffle = *shuffle > BLOSC_BITSHUFFLE ? AUTO_SHUFFLE : *shuffle;
    return RESPLIT_OK;
}

static resplit_status configure(rs_stage *stage, int version, const rs_json *config, resplit_error *err)
{
    int64_t *set = stage->set.number;
    (void)version;
    set[CNAME] = BLOSC_LZ4;
    set[CLEVEL] = 5;
    set[TYPE] = stage->element.itemsize;
    RS_TRY(rs_take_word(stage->codec, config, "cname", names, &set[CNAME], err));
    RS_TRY(rs_take_int(stage->codec, config, "clevel", 0, 9, &set[CLEVEL], err));
    RS_TRY(take_shuffle(stage, config, err));
    RS_TRY(rs_take_int(stage->codec, config, "blocksize", 0, BLOSC_MAX_BLOCKSIZE, &set[BLOCK], err));
    RS_TRY(rs_take_int(stage->codec, config, "typesize", 1, INT32_MAX, &set[TYPE], err));
    return RESPLIT_OK;
}

static int shuffle_of(const rs_stage *stage)
{
    int64_t shuffle = stage->set.number[SHUFFLE];
    return (int)(shuffle != AUTO_SHUFFLE ? shuffle : stage->set.number[TYPE] == 1 ? BLOSC_BITSHUFFLE : BLOSC_SHUFFLE);
}

static resplit_status print(const rs_stage *stage, int version, rs_text *out, resplit_error *err)
{
    const int64_t *set = stage->set.number;
    RS_TRY(rs_text_add(out, err, "\"cname\": \"%s\", \"clevel\": %lld, ", names[set[CNAME]], (long long)set[CLEVEL]));
    if (version == 2) {
        return rs_text_add(out, err, "\"shuffle\": %lld, \"blocksize\": %lld", (long long)set[SHUFFLE],
                           (long long)set[BLOCK]);
    }
    return rs_text_add(out, err, "\"shuffle\": \"%s\", \"typesize\": %lld, \"blocksize\": %lld",
                       shuffles[shuffle_of(stage)], (long long)set[TYPE], (long long)set[BLOCK]);
}

static void describe(const rs_stage *stage, char *text, size_t room)
{
    const int64_t *set = stage->set.number;
    int n = snprintf(text, room, "blosc:%s:%lld:%s", names[set[CNAME]], (long long)set[CLEVEL],
                     shuffles[set[SHUFFLE] == AUTO_SHUFFLE ? 3 : set[SHUFFLE]]);
    if (set[BLOCK] != 0 && n > 0 && (size_t)n < room) {
        (void)snprintf(text + n, room - (size_t)n, ":%lld", (long long)set[BLOCK]);
    }
}

static int64_t bound(const rs_stage *stage, int64_t n)
{
    (void)stage;
    return n > BLOSC_MAX_BUFFERSIZE ? -1 : n + BLOSC_MAX_OVERHEAD;
}

/* The largest block of n bytes that is not refused. */
static int64_t largest_block(const rs_stage *stage, int64_t n, bool encode)
{
    int64_t own = stage->set.number[BLOCK], usual = encode && own == 0 ? AUTO_BLOCK : FOREIGN_BLOCK;
    return rs_min(rs_max(n, 1), rs_max(own, usual));
}

/*
 * Two blocks, with 4 bytes for each byte of the type, and what the library inside allocates for a block: lz4hc 256 KiB,
 * zlib 268 KB (its manual), zstd by its level. Decoding, nobody knows which one it will be.
 */
static int64_t memory(const rs_stage *stage, int64_t n, bool encode)
{
    enum { MOST_INSIDE = 320 << 10, SLACK = 16 << 10 };
    int64_t block = largest_block(stage, n, encode), inside = MOST_INSIDE;
    if (encode && stage->set.number[CNAME] == BLOSC_ZSTD) {
        /* the level of Zstandard that Blosc makes of its own; 99: its highest */
        int level = stage->set.number[CLEVEL] < 9 ? 2 * (int)stage->set.number[CLEVEL] - 1 : 99;
        inside = rs_zstd_bytes(level, block);
        for (int64_t part = block; part > 256; part /= 2) { /* blocks may be split, and less is not always less */
            inside = rs_max(inside, rs_zstd_bytes(level, part));
        }
    }
    return 2 * block + inside + SLACK;
}

/* Measured as in zstd.c. */
static double speed(const rs_stage *stage, bool encode)
{
    static const struct {
        double encode[4], decode; /* at levels up to 2, 5, 8 and 9 */
    } all[] = {{{3.2e9, 4e9, 5e9, 6e9}, 12e9},     {{4.6e9, 5e9, 5e9, 5e9}, 14e9},
               {{159e6, 64e6, 57e6, 51e6}, 6e9},   {{2e9, 2e9, 2e9, 2e9}, 4e9}, /* snappy: not measured */
               {{96e6, 43e6, 38e6, 34e6}, 0.38e9}, {{0.84e9, 0.1e9, 30e6, 2e6}, 2.5e9}};
    int64_t cname = stage->set.number[CNAME], level = stage->set.number[CLEVEL];
    double speed = encode ? all[cname].encode[level <= 2 ? 0 : level <= 5 ? 1 : level <= 8 ? 2 : 3] : all[cname].decode;
    double bits = shuffle_of(stage) == BLOSC_BITSHUFFLE ? (encode ? 1.5e9 : 3e9) : 40e9; /* it comes on top */
    return level == 0 ? 20e9 : 1 / (1 / speed + 1 / bits);
}

static resplit_status open(const rs_stage *stage, int64_t n, bool encode, void **context, resplit_error *err)
{
    const char *name = names[stage->set.number[CNAME]];
    (void)n;
    *context = NULL;
    if (encode && blosc_compname_to_compcode(name) < 0) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "the blosc library of this build has no '%s'; use lz4 or zstd", name);
    }
    return RESPLIT_OK;
}

static resplit_status encode(const rs_stage *stage, void *context, rs_pass *pass, resplit_error *err)
{
    const int64_t *set = stage->set.number;
    (void)context;
    int n = blosc_compress_ctx((int)set[CLEVEL], shuffle_of(stage), (size_t)set[TYPE], (size_t)pass->n_in, pass->in,
                               pass->out, (size_t)pass->room, names[set[CNAME]], (size_t)set[BLOCK], 1);
    if (n <= 0) {
        return rs_fail(err, RESPLIT_EINTERNAL, "cannot compress %lld bytes by 'blosc': error %d", (long long)pass->n_in,
                       n);
    }
    pass->n_out = n;
    return RESPLIT_OK;
}

/* The library that the flags name, if this build has it. The call itself would print a complaint. */
static resplit_status check_library(uint8_t flags, resplit_error *err)
{
    static const char *const formats[8] = {"blosclz", "lz4", "snappy", "zlib", "zstd", "5", "6", "7"};
    const char *name = formats[flags >> 5];
    return (flags & BLOSC_MEMCPYED) != 0 || blosc_compname_to_compcode(name) >= 0
               ? RESPLIT_OK
               : rs_fail(err, RESPLIT_EUNSUPPORTED,
                         "'blosc' used '%s', which the blosc library of this build does not have", name);
}

static resplit_status decode(const rs_stage *stage, void *context, rs_pass *pass, resplit_error *err)
{
    size_t n = 0, compressed = 0, block = 0;
    (void)context;
    if (pass->n_in >= HEADER) {
        blosc_cbuffer_sizes(pass->in, &n, &compressed, &block);
    }
    /* What follows is not looked at, as by numcodecs. */
    if (compressed < HEADER || compressed > (size_t)pass->n_in
        || blosc_cbuffer_validate(pass->in, compressed, &n) < 0) {
        return rs_fail(err, RESPLIT_EFORMAT,
                       "%lld bytes of 'blosc' are damaged, or end too early: their header says %zu",
                       (long long)pass->n_in, compressed);
    }
    if (n > (size_t)pass->room) {
        return rs_fail_room(stage, pass, err);
    }
    if ((int64_t)block > largest_block(stage, pass->room, false)) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "'blosc' used blocks of %zu bytes for %zu; at most %d are read",
                       block, n, FOREIGN_BLOCK);
    }
    RS_TRY(check_library(pass->in[2], err));
    int got = blosc_decompress_ctx(pass->in, pass->out, n, 1);
    if (got < 0 || (size_t)got != n) {
        return rs_fail(err, RESPLIT_EFORMAT, "cannot decompress %lld bytes of 'blosc': error %d", (long long)pass->n_in,
                       got);
    }
    pass->n_out = got;
    return RESPLIT_OK;
}

static const char *const keys[] = {"cname", "clevel", "shuffle", "blocksize", "typesize", NULL};

const rs_codec rs_codec_blosc = {
    .id = "blosc",
    .item = 1 + TYPE,
    .name = "blosc",
    .kind = RS_COMPRESSOR,
    .keys = keys,
    .is_lossless = true,
    .configure = configure,
    .print = print,
    .describe = describe,
    .bound = bound,
    .memory = memory,
    .speed = speed,
    .open = open,
    .encode = encode,
    .decode = decode,
};
