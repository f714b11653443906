/* SPDX-License-Identifier: BSD-3-Clause */
/* lz4.c - LZ4 as numcodecs has it: the size of what comes out in 4 bytes, little endian, then one block of LZ4. */
#include <lz4.h>

#include <stdlib.h>

#include "codec/stage.h"

enum { ACCELERATION, HEAD = 4 };

static resplit_status configure(rs_stage *stage, int version, const rs_json *config, resplit_error *err)
{
    (void)version;
    stage->set.number[ACCELERATION] = 1;
    return rs_take_int(stage->codec, config, "acceleration", INT32_MIN, INT32_MAX, &stage->set.number[ACCELERATION],
                       err);
}

static int64_t bound(const rs_stage *stage, int64_t n)
{
    (void)stage;
    return n > LZ4_MAX_INPUT_SIZE ? -1 : LZ4_compressBound((int)n) + HEAD;
}

int64_t rs_lz4_memory(const rs_stage *stage, int64_t n, bool encode)
{
    (void)stage;
    (void)n;
    return encode ? LZ4_sizeofState() : 0;
}

/* Measured as in zstd.c. */
double rs_lz4_speed(const rs_stage *stage, bool encode)
{
    (void)stage;
    return encode ? 800e6 : 4e9;
}

resplit_status rs_lz4_open(const rs_stage *stage, int64_t n, bool encode, void **context, resplit_error *err)
{
    (void)n;
    if (encode && (*context = malloc((size_t)LZ4_sizeofState())) == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for codec '%s'", stage->codec->id);
    }
    return RESPLIT_OK;
}

void rs_lz4_close(void *context, bool encode)
{
    (void)encode;
    free(context);
}

static resplit_status encode(const rs_stage *stage, void *context, rs_pass *pass, resplit_error *err)
{
    int64_t acceleration = rs_max(stage->set.number[ACCELERATION], 1);
    int n = LZ4_compress_fast_extState(context, (const char *)pass->in, (char *)pass->out + HEAD, (int)pass->n_in,
                                       (int)(pass->room - HEAD), (int)acceleration);
    if (n <= 0) {
        return rs_fail(err, RESPLIT_EINTERNAL, "cannot compress %lld bytes by 'lz4'", (long long)pass->n_in);
    }
    rs_store32(pass->out, (uint32_t)pass->n_in);
    pass->n_out = n + HEAD;
    return RESPLIT_OK;
}

static resplit_status decode(const rs_stage *stage, void *context, rs_pass *pass, resplit_error *err)
{
    int64_t want = pass->n_in < HEAD ? -1 : (int64_t)rs_load32(pass->in);
    (void)context;
    if (want < 0 || pass->n_in > INT32_MAX) {
        return rs_fail(err, RESPLIT_EFORMAT, "%lld bytes are no block of 'lz4': %d to %lld are", (long long)pass->n_in,
                       HEAD, (long long)INT32_MAX);
    }
    if (want > pass->room) {
        return rs_fail_room(stage, pass, err);
    }
    int n = LZ4_decompress_safe((const char *)pass->in + HEAD, (char *)pass->out, (int)(pass->n_in - HEAD), (int)want);
    if (n != want) {
        return rs_fail(err, RESPLIT_EFORMAT,
                       "%lld bytes of 'lz4' are damaged: they do not give the %lld bytes they promise",
                       (long long)pass->n_in, (long long)want);
    }
    pass->n_out = n;
    return RESPLIT_OK;
}

static const char *const keys[] = {"acceleration", NULL};

const rs_codec rs_codec_lz4 = {
    .id = "lz4",
    .kind = RS_COMPRESSOR,
    .keys = keys,
    .is_lossless = true,
    .configure = configure,
    .print = rs_print_level,
    .describe = rs_describe_level,
    .bound = bound,
    .memory = rs_lz4_memory,
    .speed = rs_lz4_speed,
    .open = rs_lz4_open,
    .close = rs_lz4_close,
    .encode = encode,
    .decode = decode,
};
