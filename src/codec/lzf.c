/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lzf.c - LZF as the filter of h5py has it: no head, no size.
 *
 *     000nnnnn                        n + 1 bytes as they are follow
 *     nnnooooo oooooooo               n + 2 bytes from o + 1 bytes ago; n below 7
 *     111ooooo nnnnnnnn oooooooo      n + 9 bytes
 */
#include <stdlib.h>
#include <string.h>

#include "codec/stage.h"

enum {
    HASH_BITS = 14,
    MAX_LITERAL = 32,
    MAX_OFFSET = 1 << 13,
    MAX_MATCH = 264,
    MIN_MATCH = 3,
};

static resplit_status configure(rs_stage *stage, int version, const rs_json *config, resplit_error *err)
{
    (void)stage;
    (void)version;
    (void)config;
    (void)err;
    return RESPLIT_OK;
}

static int64_t bound(const rs_stage *stage, int64_t n)
{
    (void)stage;
    return n > INT64_MAX / 2 ? -1 : n + n / MAX_LITERAL + 1;
}

static int64_t memory(const rs_stage *stage, int64_t n, bool encode)
{
    (void)stage;
    (void)n;
    return encode ? (int64_t)sizeof(int64_t) << HASH_BITS : 0;
}

/* Measured as in zstd.c. */
static double speed(const rs_stage *stage, bool encode)
{
    (void)stage;
    return encode ? 300e6 : 800e6;
}

static resplit_status open(const rs_stage *stage, int64_t n, bool encode, void **context, resplit_error *err)
{
    (void)stage;
    (void)n;
    if (encode && (*context = malloc(sizeof(int64_t) << HASH_BITS)) == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for codec 'lzf'");
    }
    return RESPLIT_OK;
}

static void close(void *context, bool encode)
{
    (void)encode;
    free(context);
}

/* ---- Encoding ---------------------------------------------------------------------------------- */

static uint32_t hash_of(const uint8_t *p)
{
    uint32_t v = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
    return v * UINT32_C(2654435761) >> (32 - HASH_BITS);
}

static void put_literals(rs_pass *pass, int64_t from, int64_t to)
{
    while (from < to) {
        int64_t n = rs_min(to - from, MAX_LITERAL);
        pass->out[pass->n_out++] = (uint8_t)(n - 1);
        memcpy(pass->out + pass->n_out, pass->in + from, (size_t)n);
        pass->n_out += n;
        from += n;
    }
}

static void put_match(rs_pass *pass, int64_t length, int64_t distance)
{
    uint32_t n = (uint32_t)(length - 2), o = (uint32_t)(distance - 1);
    uint8_t *out = pass->out + pass->n_out;
    *out++ = (uint8_t)((n < 7 ? n : 7) << 5 | o >> 8);
    if (n >= 7) {
        *out++ = (uint8_t)(n - 7);
    }
    *out++ = (uint8_t)o;
    pass->n_out = out - pass->out;
}

static int64_t match_length(const rs_pass *pass, int64_t a, int64_t b)
{
    int64_t n = 0, most = rs_min(MAX_MATCH, pass->n_in - b);
    while (n < most && pass->in[a + n] == pass->in[b + n]) {
        n++;
    }
    return n;
}

/* The table has, for three bytes, where they were last; greedy. There is room for everything as literals, and a match
   is no longer. */
static resplit_status encode(const rs_stage *stage, void *context, rs_pass *pass, resplit_error *err)
{
    int64_t *last = context, done = 0, at = 0;
    (void)stage;
    (void)err;
    memset(last, 0xff, sizeof *last << HASH_BITS);
    pass->n_out = 0;
    while (at + MIN_MATCH <= pass->n_in) {
        uint32_t h = hash_of(pass->in + at);
        int64_t before = last[h];
        last[h] = at;
        int64_t n = before >= 0 && at - before <= MAX_OFFSET ? match_length(pass, before, at) : 0;
        if (n < MIN_MATCH) {
            at++;
            continue;
        }
        put_literals(pass, done, at);
        put_match(pass, n, at - before);
        done = at += n;
    }
    put_literals(pass, done, pass->n_in);
    return RESPLIT_OK;
}

/* ---- Decoding ---------------------------------------------------------------------------------- */

static resplit_status damaged(const rs_pass *pass, int64_t at, resplit_error *err)
{
    return rs_fail(err, RESPLIT_EFORMAT, "%lld bytes of 'lzf' are damaged, or end too early, at byte %lld",
                   (long long)pass->n_in, (long long)at);
}

static resplit_status decode(const rs_stage *stage, void *context, rs_pass *pass, resplit_error *err)
{
    const uint8_t *in = pass->in;
    int64_t at = 0;
    (void)context;
    pass->n_out = 0;
    while (at < pass->n_in) {
        int64_t control = in[at++], n = control < MAX_LITERAL ? control + 1 : control >> 5, distance = 0;
        if (control >= MAX_LITERAL) {
            if (at + (n == 7) >= pass->n_in) {
                return damaged(pass, at, err);
            }
            n += n == 7 ? in[at++] : 0;
            n += 2;
            distance = ((control & 0x1f) << 8 | in[at++]) + 1;
        }
        if (distance > pass->n_out || (distance == 0 && n > pass->n_in - at)) {
            return damaged(pass, at, err);
        }
        if (n > pass->room - pass->n_out) {
            return rs_fail_room(stage, pass, err);
        }
        uint8_t *out = pass->out + pass->n_out;
        if (distance == 0) {
            memcpy(out, in + at, (size_t)n);
            at += n;
        }
        for (int64_t i = 0; distance > 0 && i < n; i++) { /* may overlap: a run repeats itself */
            out[i] = out[i - distance];
        }
        pass->n_out += n;
    }
    return RESPLIT_OK;
}

static const char *const keys[] = {NULL};

const rs_codec rs_codec_lzf = {
    .id = "lzf",
    .kind = RS_COMPRESSOR,
    .keys = keys,
    .is_hdf5 = true,
    .is_lossless = true,
    .configure = configure,
    .print = rs_print_nothing,
    .describe = rs_describe_id,
    .bound = bound,
    .memory = memory,
    .speed = speed,
    .open = open,
    .close = close,
    .encode = encode,
    .decode = decode,
};
