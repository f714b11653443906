/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bz2.c - bzip2: one or several streams. As Python does, what follows a stream and is none is not looked at.
 *
 * The library knows no way to use a context again; what it allocates in each call is little beside the time that it
 * takes.
 */
#include <bzlib.h>

#include <string.h>

#include "codec/stage.h"

enum { LEVEL, AT_ONCE = 1 << 30 }; /* the library counts by unsigned int */

static resplit_status configure(rs_stage *stage, int version, const rs_json *config, resplit_error *err)
{
    (void)version;
    stage->set.number[LEVEL] = 1;
    return rs_take_int(stage->codec, config, "level", 1, 9, &stage->set.number[LEVEL], err);
}

/* The manual of bzip2: 1% and 600 bytes. */
static int64_t bound(const rs_stage *stage, int64_t n)
{
    (void)stage;
    return n > INT64_MAX / 2 ? -1 : n + n / 100 + 600;
}

/* Its manual again: 400 kB and 8 times the block, or 100 kB and 4 times; decoding, the stream says which block, at
   most 900 kB. */
static int64_t memory(const rs_stage *stage, int64_t n, bool encode)
{
    (void)n;
    return encode ? 400000 + 800000 * stage->set.number[LEVEL] + 65536 : 100000 + 4 * 900000 + 65536;
}

/* Measured as in zstd.c. */
static double speed(const rs_stage *stage, bool encode)
{
    return encode ? 15e6 : stage->set.number[LEVEL] < 4 ? 40e6 : 13e6; /* decoding, a large block misses the caches */
}

static resplit_status fail_memory(resplit_error *err)
{
    return rs_fail(err, RESPLIT_ENOMEM, "no memory for codec 'bz2'");
}

/* Points the stream at what is left of both sides. */
static void refill(bz_stream *stream, const rs_pass *pass, int64_t at)
{
    stream->next_in = (char *)(uintptr_t)(pass->in + at);
    stream->avail_in = (unsigned)rs_min(pass->n_in - at, AT_ONCE);
    stream->next_out = (char *)(pass->out + pass->n_out);
    stream->avail_out = (unsigned)rs_min(pass->room - pass->n_out, AT_ONCE);
}

static resplit_status encode(const rs_stage *stage, void *context, rs_pass *pass, resplit_error *err)
{
    bz_stream stream;
    int64_t at = 0;
    int rc;
    (void)context;
    memset(&stream, 0, sizeof stream);
    rc = BZ2_bzCompressInit(&stream, (int)stage->set.number[LEVEL], 0, 0);
    if (rc != BZ_OK) {
        return fail_memory(err);
    }
    do {
        refill(&stream, pass, at);
        unsigned in = stream.avail_in, out = stream.avail_out;
        bool is_last = at + in == pass->n_in;
        rc = BZ2_bzCompress(&stream, is_last ? BZ_FINISH : BZ_RUN);
        at += in - stream.avail_in;
        pass->n_out += out - stream.avail_out;
    } while ((rc == BZ_RUN_OK || rc == BZ_FINISH_OK) && pass->n_out < pass->room);
    (void)BZ2_bzCompressEnd(&stream);
    return rc == BZ_STREAM_END ? RESPLIT_OK
                               : rs_fail(err, RESPLIT_EINTERNAL, "cannot compress %lld bytes by 'bz2': error %d",
                                         (long long)pass->n_in, rc);
}

/* One stream, from *at on; BZ_STREAM_END when it is complete. */
static int decode_stream(rs_pass *pass, int64_t *at)
{
    bz_stream stream;
    int rc;
    memset(&stream, 0, sizeof stream);
    rc = BZ2_bzDecompressInit(&stream, 0, 0);
    if (rc != BZ_OK) {
        return rc;
    }
    do {
        refill(&stream, pass, *at);
        unsigned in = stream.avail_in, out = stream.avail_out;
        rc = BZ2_bzDecompress(&stream);
        *at += in - stream.avail_in;
        pass->n_out += out - stream.avail_out;
        if (rc == BZ_OK && in == stream.avail_in && out == stream.avail_out) {
            rc = out == 0 ? BZ_OUTBUFF_FULL : BZ_UNEXPECTED_EOF; /* neither side moved */
        }
    } while (rc == BZ_OK);
    (void)BZ2_bzDecompressEnd(&stream);
    return rc;
}

static resplit_status decode(const rs_stage *stage, void *context, rs_pass *pass, resplit_error *err)
{
    int64_t at = 0;
    (void)context;
    while (at < pass->n_in) {
        int64_t start = at, before = pass->n_out;
        int rc = decode_stream(pass, &at);
        if (rc == BZ_MEM_ERROR) {
            return fail_memory(err);
        }
        if (rc == BZ_OUTBUFF_FULL) {
            return rs_fail_room(stage, pass, err);
        }
        if (rc != BZ_STREAM_END && rc != BZ_UNEXPECTED_EOF && start > 0) {
            pass->n_out = before;
            break;
        }
        if (rc != BZ_STREAM_END) {
            return rs_fail(err, RESPLIT_EFORMAT, "the 'bz2' stream at byte %lld of %lld %s", (long long)start,
                           (long long)pass->n_in, rc == BZ_UNEXPECTED_EOF ? "ends too early" : "is damaged");
        }
    }
    return RESPLIT_OK;
}

static const char *const keys[] = {"level", NULL};

const rs_codec rs_codec_bz2 = {
    .id = "bz2",
    .kind = RS_COMPRESSOR,
    .keys = keys,
    .is_lossless = true,
    .configure = configure,
    .print = rs_print_level,
    .describe = rs_describe_level,
    .bound = bound,
    .memory = memory,
    .speed = speed,
    .encode = encode,
    .decode = decode,
};
