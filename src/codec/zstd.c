/* SPDX-License-Identifier: BSD-3-Clause */
/* zstd.c - Zstandard: one or several frames, with or without their size. */
#define ZSTD_STATIC_LINKING_ONLY /* for the sizes of contexts */
#include <zstd.h>
#include <zstd_errors.h>

#include <stdio.h>
#include <string.h>

#include "codec/stage.h"

enum { LEVEL, CHECKSUM, SLACK = 8192 /* what malloc adds */ };

/* Above the highest level is the highest, below the lowest the lowest: as numcodecs does. */
static int usable(int64_t level)
{
    return (int)rs_max(rs_min(level, ZSTD_maxCLevel()), ZSTD_minCLevel());
}

static int level_of(const rs_stage *stage)
{
    return usable(stage->set.number[LEVEL]);
}

static resplit_status configure(rs_stage *stage, int version, const rs_json *config, resplit_error *err)
{
    bool checksum = false;
    const rs_json *value = config == NULL ? NULL : rs_json_get(config, "checksum");
    (void)version;
    RS_TRY(rs_take_int(stage->codec, config, "level", INT32_MIN, INT32_MAX, &stage->set.number[LEVEL], err));
    if (value != NULL && !rs_json_bool(value, &checksum)) {
        return rs_fail(err, RESPLIT_EFORMAT, "codec 'zstd' has checksum %.*s; true or false is needed",
                       (int)rs_min((int64_t)value->n, 40), value->text);
    }
    stage->set.number[CHECKSUM] = checksum;
    return RESPLIT_OK;
}

static resplit_status print(const rs_stage *stage, int version, rs_text *out, resplit_error *err)
{
    bool checksum = stage->set.number[CHECKSUM] != 0;
    RS_TRY(rs_print_level(stage, version, out, err));
    /* Older readers of version 2 do not know the key. */
    return version == 2 && !checksum ? RESPLIT_OK
                                     : rs_text_add(out, err, ", \"checksum\": %s", checksum ? "true" : "false");
}

static void describe(const rs_stage *stage, char *text, size_t room)
{
    (void)snprintf(text, room, "zstd:%lld%s", (long long)stage->set.number[LEVEL],
                   stage->set.number[CHECKSUM] != 0 ? ":true" : "");
}

static int64_t bound(const rs_stage *stage, int64_t n)
{
    (void)stage;
    return n > INT64_MAX / 2 ? -1 : (int64_t)ZSTD_compressBound((size_t)n);
}

int64_t rs_zstd_bytes(int level, int64_t n)
{
    /* The library takes the same parameters: the size of what it is given is known to it. */
    size_t bytes = ZSTD_estimateCCtxSize_usingCParams(ZSTD_getCParams(usable(level), (unsigned long long)n, 0));
    return ZSTD_isError(bytes) || bytes > INT64_MAX / 2 ? -1 : (int64_t)bytes + SLACK;
}

static int64_t memory(const rs_stage *stage, int64_t n, bool encode)
{
    return encode ? rs_zstd_bytes(level_of(stage), n) : (int64_t)ZSTD_estimateDCtxSize() + SLACK;
}

/* One core of a server of 2023, smooth 16-bit data with 3 bits of noise, 1 MiB at a time; rounded. */
static double speed(const rs_stage *stage, bool encode)
{
    static const struct {
        int level;
        double speed;
    } steps[] = {{-1, 1000e6}, {1, 430e6}, {2, 280e6},  {3, 140e6}, {4, 105e6}, {6, 80e6},
                 {9, 42e6},    {12, 18e6}, {15, 5.5e6}, {19, 3e6},  {22, 2e6}};
    int i = 0, level = level_of(stage) == 0 ? ZSTD_CLEVEL_DEFAULT : level_of(stage);
    while (steps[i].level < level) {
        i++;
    }
    return encode ? steps[i].speed : 900e6;
}

static resplit_status open(const rs_stage *stage, int64_t n, bool encode, void **context, resplit_error *err)
{
    (void)n;
    if (!encode) {
        *context = ZSTD_createDCtx();
    } else if ((*context = ZSTD_createCCtx()) != NULL) {
        size_t rc = ZSTD_CCtx_setParameter(*context, ZSTD_c_compressionLevel, level_of(stage));
        if (!ZSTD_isError(rc)) {
            rc = ZSTD_CCtx_setParameter(*context, ZSTD_c_checksumFlag, (int)stage->set.number[CHECKSUM]);
        }
        if (ZSTD_isError(rc)) {
            return rs_fail(err, RESPLIT_EINTERNAL, "codec 'zstd' cannot be set up: %s", ZSTD_getErrorName(rc));
        }
    }
    return *context != NULL ? RESPLIT_OK : rs_fail(err, RESPLIT_ENOMEM, "no memory for codec 'zstd'");
}

static void close(void *context, bool encode)
{
    if (encode) {
        (void)ZSTD_freeCCtx(context);
    } else {
        (void)ZSTD_freeDCtx(context);
    }
}

static resplit_status encode(const rs_stage *stage, void *context, rs_pass *pass, resplit_error *err)
{
    size_t n = ZSTD_compress2(context, pass->out, (size_t)pass->room, pass->in, (size_t)pass->n_in);
    (void)stage;
    if (ZSTD_isError(n)) {
        return rs_fail(err, ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation ? RESPLIT_ENOMEM : RESPLIT_EINTERNAL,
                       "cannot compress %lld bytes by 'zstd': %s", (long long)pass->n_in, ZSTD_getErrorName(n));
    }
    pass->n_out = (int64_t)n;
    return RESPLIT_OK;
}

/*
 * Frame by frame, and no old formats: their decoders take memory that nobody counted. A frame is decoded to its place
 * at once, so that its window, whatever it claims, is never allocated.
 */
static resplit_status decode(const rs_stage *stage, void *context, rs_pass *pass, resplit_error *err)
{
    const uint8_t *in = pass->in, *end = pass->in + pass->n_in;
    do {
        uint32_t magic = end - in >= 4 ? rs_load32(in) : 0;
        if (magic != ZSTD_MAGICNUMBER && (magic & ZSTD_MAGIC_SKIPPABLE_MASK) != ZSTD_MAGIC_SKIPPABLE_START) {
            return rs_fail(err, RESPLIT_EFORMAT, "no frame of 'zstd' at byte %lld of %lld", (long long)(in - pass->in),
                           (long long)pass->n_in);
        }
        size_t size = ZSTD_findFrameCompressedSize(in, (size_t)(end - in));
        size_t n = ZSTD_isError(size) ? size
                                      : ZSTD_decompressDCtx(context, pass->out + pass->n_out,
                                                            (size_t)(pass->room - pass->n_out), in, size);
        if (ZSTD_isError(n)) {
            return ZSTD_getErrorCode(n) == ZSTD_error_dstSize_tooSmall
                       ? rs_fail_room(stage, pass, err)
                       : rs_fail(err, RESPLIT_EFORMAT, "cannot decompress the 'zstd' frame at byte %lld of %lld: %s",
                                 (long long)(in - pass->in), (long long)pass->n_in, ZSTD_getErrorName(n));
        }
        pass->n_out += (int64_t)n;
        in += size;
    } while (in < end);
    return RESPLIT_OK;
}

static const char *const keys[] = {"level", "checksum", NULL};

const rs_codec rs_codec_zstd = {
    .id = "zstd",
    .name = "zstd",
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
    .close = close,
    .encode = encode,
    .decode = decode,
};
