/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shuffle.c - first all first bytes of the elements, then all second bytes, and so on.
 *
 * Elements go by tiles that stay in the first-level cache. Loops for 2, 4 and 8 bytes take words apart by shifts, which the compiler
 * turns into vector instructions; others go byte by byte.
 */
#include <string.h>

#include "codec/stage.h"

enum { SIZE, MAX_SIZE = 1 << 20, TILE = 1024 /* elements */ };

static resplit_status configure(rs_stage *stage, int version, const rs_json *config, resplit_error *err)
{
    stage->set.number[SIZE] = version == RS_BY_USER ? stage->element.itemsize : 4; /* 4: as numcodecs */
    return rs_take_int(stage->codec, config, "elementsize", 0, MAX_SIZE, &stage->set.number[SIZE], err);
}

static void describe(const rs_stage *stage, char *text, size_t room)
{
    if (stage->set.number[SIZE] == stage->element.itemsize) {
        rs_describe_id(stage, text, room);
    } else {
        rs_describe_level(stage, text, room);
    }
}

static double speed(const rs_stage *stage, bool encode)
{
    int64_t size = stage->set.number[SIZE];
    (void)encode;
    return size <= 1 ? 8e9 : size == 2 || size == 4 || size == 8 ? 4e9 : 0.8e9;
}

#define SPLIT(NAME, WORD, SIZE_OF)                                                                                     \
    static void NAME(const uint8_t *restrict in, uint8_t *restrict out, int64_t count)                                 \
    {                                                                                                                  \
        for (int64_t at = 0; at < count; at += TILE) {                                                                 \
            int64_t n = rs_min(count - at, TILE);                                                                      \
            for (int byte = 0; byte < SIZE_OF; byte++) {                                                               \
                const uint8_t *restrict from = in + at * SIZE_OF;                                                      \
                uint8_t *restrict to = out + byte * count + at;                                                        \
                for (int64_t i = 0; i < n; i++) {                                                                      \
                    WORD word;                                                                                         \
                    memcpy(&word, from + i * SIZE_OF, SIZE_OF);                                                        \
                    to[i] = (uint8_t)(word >> 8 * byte);                                                               \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

SPLIT(split2, uint16_t, 2)
SPLIT(split4, uint32_t, 4)
SPLIT(split8, uint64_t, 8)

static void split(const uint8_t *in, uint8_t *out, int64_t count, int64_t size)
{
    for (int64_t at = 0; at < count; at += TILE) {
        int64_t n = rs_min(count - at, TILE);
        for (int64_t byte = 0; byte < size; byte++) {
            for (int64_t i = 0; i < n; i++) {
                out[byte * count + at + i] = in[(at + i) * size + byte];
            }
        }
    }
}

static void join2(const uint8_t *restrict in, uint8_t *restrict out, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        uint16_t word = (uint16_t)(in[i] | in[count + i] << 8);
        memcpy(out + 2 * i, &word, 2);
    }
}

static void join4(const uint8_t *restrict in, uint8_t *restrict out, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        uint32_t word = in[i] | (uint32_t)in[count + i] << 8 | (uint32_t)in[2 * count + i] << 16
                        | (uint32_t)in[3 * count + i] << 24;
        memcpy(out + 4 * i, &word, 4);
    }
}

static void join8(const uint8_t *restrict in, uint8_t *restrict out, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        uint64_t word = 0;
        for (int byte = 0; byte < 8; byte++) {
            word |= (uint64_t)in[byte * count + i] << 8 * byte;
        }
        memcpy(out + 8 * i, &word, 8);
    }
}

static void join(const uint8_t *in, uint8_t *out, int64_t count, int64_t size)
{
    for (int64_t at = 0; at < count; at += TILE) {
        int64_t n = rs_min(count - at, TILE);
        for (int64_t byte = 0; byte < size; byte++) {
            for (int64_t i = 0; i < n; i++) {
                out[(at + i) * size + byte] = in[byte * count + at + i];
            }
        }
    }
}

/* Byte 0 of a word is its lowest where the words above are taken apart. */
static bool is_little(void)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
}

static resplit_status check(const rs_stage *stage, const rs_pass *pass, resplit_error *err)
{
    int64_t size = rs_max(stage->set.number[SIZE], 1);
    if (pass->n_in > pass->room) {
        return rs_fail_room(stage, pass, err);
    }
    return pass->n_in % size == 0
               ? RESPLIT_OK
               : rs_fail(err, RESPLIT_EFORMAT, "'shuffle' has %lld bytes, no multiple of its elements of %lld bytes",
                         (long long)pass->n_in, (long long)size);
}

static resplit_status run(const rs_stage *stage, rs_pass *pass, bool encode, resplit_error *err)
{
    int64_t size = rs_max(stage->set.number[SIZE], 1), count = pass->n_in / size;
    RS_TRY(check(stage, pass, err));
    pass->n_out = pass->n_in;
    if (size == 1 && count > 0) {
        memcpy(pass->out, pass->in, (size_t)count);
    } else if (size == 2 && is_little()) {
        (encode ? split2 : join2)(pass->in, pass->out, count);
    } else if (size == 4 && is_little()) {
        (encode ? split4 : join4)(pass->in, pass->out, count);
    } else if (size == 8 && is_little()) {
        (encode ? split8 : join8)(pass->in, pass->out, count);
    } else {
        (encode ? split : join)(pass->in, pass->out, count, size);
    }
    return RESPLIT_OK;
}

static resplit_status encode(const rs_stage *stage, void *context, rs_pass *pass, resplit_error *err)
{
    (void)context;
    return run(stage, pass, true, err);
}

static resplit_status decode(const rs_stage *stage, void *context, rs_pass *pass, resplit_error *err)
{
    (void)context;
    return run(stage, pass, false, err);
}

static const char *const keys[] = {"elementsize", NULL};

const rs_codec rs_codec_shuffle = {
    .id = "shuffle",
    .kind = RS_ON_BYTES,
    .keys = keys,
    .decides = 1u << SIZE,
    .is_sized = true,
    .is_lossless = true,
    .configure = configure,
    .print = rs_print_level,
    .describe = describe,
    .speed = speed,
    .encode = encode,
    .decode = decode,
};
