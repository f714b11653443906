/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shuffle.c - first all first bytes of the elements, then all second bytes, and so on.
 *
 * Elements of 2, 4 and 8 bytes go by vectors, others byte by byte, in tiles that stay in the first-level cache.
 */
#include <string.h>

#include "codec/stage.h"

enum { SIZE, MAX_SIZE = 1 << 20, TILE = 1024, LANES = 16 /* elements */ };

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

/* Measured as in zstd.c. */
static double speed(const rs_stage *stage, bool encode)
{
    int64_t size = stage->set.number[SIZE];
    (void)encode;
    return size <= 1 ? 20e9 : size == 2 || size == 4 || size == 8 ? 7.5e9 : 1.8e9;
}

/* Elements from..count, byte by byte. */
static void split(const uint8_t *in, uint8_t *out, int64_t from, int64_t count, int64_t size)
{
    for (int64_t at = from; at < count; at += TILE) {
        int64_t n = rs_min(count - at, TILE);
        for (int64_t byte = 0; byte < size; byte++) {
            for (int64_t i = 0; i < n; i++) {
                out[byte * count + at + i] = in[(at + i) * size + byte];
            }
        }
    }
}

static void join(const uint8_t *in, uint8_t *out, int64_t from, int64_t count, int64_t size)
{
    for (int64_t at = from; at < count; at += TILE) {
        int64_t n = rs_min(count - at, TILE);
        for (int64_t byte = 0; byte < size; byte++) {
            for (int64_t i = 0; i < n; i++) {
                out[(at + i) * size + byte] = in[byte * count + at + i];
            }
        }
    }
}

#ifdef __has_builtin
#if __has_builtin(__builtin_shufflevector)
#define HAS_VECTORS
#endif
#endif

#ifdef HAS_VECTORS

typedef uint8_t vector __attribute__((vector_size(LANES)));

static inline vector even(vector a, vector b)
{
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
}

static inline vector odd(vector a, vector b)
{
    return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
}

static inline vector low(vector a, vector b)
{
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}

static inline vector high(vector a, vector b)
{
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

/*
 * 16 elements of 2, 4 or 8 bytes at a time, in as many vectors. Each round sorts the bytes by one more bit of their
 * place in the element, the lowest bit first, as a radix sort does. Joining undoes it. Returns how many elements are
 * done.
 */
static inline __attribute__((always_inline)) int64_t split_lanes(const uint8_t *in, uint8_t *out, int64_t count,
                                                                 const int size)
{
    int64_t at = 0;
    for (; at + LANES <= count; at += LANES) {
        vector v[8], w[8];
        memcpy(v, in + at * size, (size_t)(LANES * size));
        for (int round = size; round > 1; round /= 2) {
#pragma GCC unroll 4
            for (int i = 0; i < size / 2; i++) {
                w[i] = even(v[2 * i], v[2 * i + 1]);
                w[size / 2 + i] = odd(v[2 * i], v[2 * i + 1]);
            }
            memcpy(v, w, (size_t)(LANES * size));
        }
#pragma GCC unroll 8
        for (int byte = 0; byte < size; byte++) {
            memcpy(out + byte * count + at, &v[byte], LANES);
        }
    }
    return at;
}

static inline __attribute__((always_inline)) int64_t join_lanes(const uint8_t *in, uint8_t *out, int64_t count,
                                                                const int size)
{
    int64_t at = 0;
    for (; at + LANES <= count; at += LANES) {
        vector v[8], w[8];
#pragma GCC unroll 8
        for (int byte = 0; byte < size; byte++) {
            memcpy(&v[byte], in + byte * count + at, LANES);
        }
        for (int round = size; round > 1; round /= 2) {
#pragma GCC unroll 4
            for (int i = 0; i < size / 2; i++) {
                w[2 * i] = low(v[i], v[size / 2 + i]);
                w[2 * i + 1] = high(v[i], v[size / 2 + i]);
            }
            memcpy(v, w, (size_t)(LANES * size));
        }
        memcpy(out + at * size, v, (size_t)(LANES * size));
    }
    return at;
}

static int64_t run_lanes(const rs_pass *pass, int64_t count, int64_t size)
{
    const uint8_t *in = pass->in;
    uint8_t *out = pass->out;
    switch (size) {
    case 2: return pass->encode ? split_lanes(in, out, count, 2) : join_lanes(in, out, count, 2);
    case 4: return pass->encode ? split_lanes(in, out, count, 4) : join_lanes(in, out, count, 4);
    case 8: return pass->encode ? split_lanes(in, out, count, 8) : join_lanes(in, out, count, 8);
    default: return 0;
    }
}

#else

static int64_t run_lanes(const rs_pass *pass, int64_t count, int64_t size)
{
    (void)pass;
    (void)count;
    (void)size;
    return 0;
}

#endif

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

static resplit_status run(const rs_stage *stage, void *context, rs_pass *pass, resplit_error *err)
{
    int64_t size = rs_max(stage->set.number[SIZE], 1), count = pass->n_in / size;
    (void)context;
    RS_TRY(check(stage, pass, err));
    pass->n_out = pass->n_in;
    if (size == 1 && count > 0) {
        memcpy(pass->out, pass->in, (size_t)count);
    } else {
        int64_t done = run_lanes(pass, count, size);
        (pass->encode ? split : join)(pass->in, pass->out, done, count, size);
    }
    return RESPLIT_OK;
}

static const char *const keys[] = {"elementsize", NULL};

const rs_codec rs_codec_shuffle = {
    .id = "shuffle",
    .item = 1 + SIZE,
    .kind = RS_ON_BYTES,
    .keys = keys,
    .decides = 1u << SIZE,
    .is_sized = true,
    .is_lossless = true,
    .configure = configure,
    .print = rs_print_level,
    .describe = describe,
    .speed = speed,
    .encode = run,
    .decode = run,
};
