/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lz4_hdf5.c - LZ4 as the filter of HDF5 has it, big endian:
 *
 *     8 bytes: of all | 4: of a block | 4: of the first block, compressed | block | 4 | block ...
 *
 * A block that would not get smaller is stored as it is, which its size tells.
 */
#include <lz4.h>

#include <string.h>

#include "codec/stage.h"

enum { BLOCK, HEAD = 12, SIZE = 4, USUAL_BLOCK = 1 << 30, MAX_BLOCK = LZ4_MAX_INPUT_SIZE };

static resplit_status configure(rs_stage *stage, int version, const rs_json *config, resplit_error *err)
{
    (void)version;
    stage->set.number[BLOCK] = 0;
    return rs_take_int(stage->codec, config, "blocksize", 0, MAX_BLOCK, &stage->set.number[BLOCK], err);
}

static int64_t block_of(const rs_stage *stage, int64_t n)
{
    int64_t own = stage->set.number[BLOCK];
    return rs_max(1, rs_min(own > 0 ? own : USUAL_BLOCK, n));
}

static int64_t bound(const rs_stage *stage, int64_t n)
{
    int64_t blocks;
    if (n > INT64_MAX / 8) {
        return -1;
    }
    blocks = rs_ceil_div(n, block_of(stage, n));
    return HEAD + n + blocks * SIZE;
}

static void store(uint8_t *p, uint64_t value, int n)
{
    for (int i = 0; i < n; i++) {
        p[i] = (uint8_t)(value >> 8 * (n - 1 - i));
    }
}

static uint64_t load(const uint8_t *p, int n)
{
    uint64_t value = 0;
    for (int i = 0; i < n; i++) {
        value = value << 8 | p[i];
    }
    return value;
}

static resplit_status encode(const rs_stage *stage, void *context, rs_pass *pass, resplit_error *err)
{
    int64_t block = block_of(stage, pass->n_in);
    uint8_t *out = pass->out + HEAD;
    (void)err;
    store(pass->out, (uint64_t)pass->n_in, 8);
    store(pass->out + 8, (uint64_t)block, SIZE);
    for (int64_t at = 0; at < pass->n_in; at += block) {
        int some = (int)rs_min(block, pass->n_in - at);
        const char *in = (const char *)pass->in + at;
        /* room for one byte less than it has: else it is not worth it */
        int n = LZ4_compress_fast_extState(context, in, (char *)out + SIZE, some, some - 1, 1);
        if (n <= 0) {
            memcpy(out + SIZE, in, (size_t)some);
            n = some;
        }
        store(out, (uint64_t)n, SIZE);
        out += SIZE + n;
    }
    pass->n_out = out - pass->out;
    return RESPLIT_OK;
}

static resplit_status damaged(const rs_pass *pass, int64_t at, resplit_error *err)
{
    return rs_fail(err, RESPLIT_EFORMAT, "%lld bytes of 'lz4-hdf5' are damaged, or end too early, at byte %lld",
                   (long long)pass->n_in, (long long)at);
}

static resplit_status decode(const rs_stage *stage, void *context, rs_pass *pass, resplit_error *err)
{
    (void)context;
    if (pass->n_in < HEAD) {
        return damaged(pass, 0, err);
    }
    uint64_t all = load(pass->in, 8), block = load(pass->in + 8, SIZE);
    int64_t at = HEAD;
    if (all > (uint64_t)pass->room) {
        return rs_fail_room(stage, pass, err);
    }
    pass->n_out = 0;
    while ((uint64_t)pass->n_out < all) {
        uint64_t some = all - (uint64_t)pass->n_out < block ? all - (uint64_t)pass->n_out : block;
        uint64_t n = pass->n_in - at >= SIZE ? load(pass->in + at, SIZE) : UINT64_MAX;
        at += SIZE;
        if (some == 0 || some > MAX_BLOCK || n > INT32_MAX || (int64_t)n > pass->n_in - at) {
            return damaged(pass, at, err);
        }
        if (n == some) {
            memcpy(pass->out + pass->n_out, pass->in + at, n);
        } else if (LZ4_decompress_safe((const char *)pass->in + at, (char *)pass->out + pass->n_out, (int)n, (int)some)
                   != (int)some) {
            return damaged(pass, at, err);
        }
        at += (int64_t)n;
        pass->n_out += (int64_t)some;
    }
    return RESPLIT_OK;
}

static resplit_status print(const rs_stage *stage, int version, rs_text *out, resplit_error *err)
{
    (void)version;
    return rs_text_add(out, err, "\"blocksize\": %lld", (long long)stage->set.number[BLOCK]);
}

static void describe(const rs_stage *stage, char *text, size_t room)
{
    if (stage->set.number[BLOCK] == 0) {
        rs_describe_id(stage, text, room);
    } else {
        rs_describe_level(stage, text, room);
    }
}

static const char *const keys[] = {"blocksize", NULL};

const rs_codec rs_codec_lz4_hdf5 = {
    .id = "lz4-hdf5",
    .kind = RS_COMPRESSOR,
    .keys = keys,
    .is_hdf5 = true,
    .is_lossless = true,
    .configure = configure,
    .print = print,
    .describe = describe,
    .bound = bound,
    .memory = rs_lz4_memory,
    .speed = rs_lz4_speed,
    .open = rs_lz4_open,
    .close = rs_lz4_close,
    .encode = encode,
    .decode = decode,
};
