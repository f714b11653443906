/* SPDX-License-Identifier: BSD-3-Clause */
/* bitround.c - reals rounded to fewer bits, ties to even. What is stored is a real as before: decoding copies. */
#include <string.h>

#include "codec/numbers.h"

enum { KEEP, TYPE };

static int fraction_bits(rs_type type)
{
    return type.size == 2 ? 10 : type.size == 4 ? 23 : 52;
}

static resplit_status configure(rs_stage *stage, int version, const rs_json *config, resplit_error *err)
{
    (void)version;
    RS_TRY(rs_own_type(stage, &stage->set.number[TYPE], err));
    rs_type type = rs_type_unpack(stage->set.number[TYPE]);
    if (type.kind != 'f') {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "codec 'bitround' is for floating-point numbers only");
    }
    RS_TRY(rs_need(stage->codec, config, "keepbits", err));
    return rs_take_int(stage->codec, config, "keepbits", 0, fraction_bits(type), &stage->set.number[KEEP], err);
}

static bool lossless(const rs_stage *stage)
{
    return stage->set.number[KEEP] == fraction_bits(rs_type_unpack(stage->set.number[TYPE]));
}

static rs_element element(const rs_stage *stage)
{
    return stage->element;
}

/* Measured as in zstd.c. */
static double speed(const rs_stage *stage, bool encode)
{
    (void)stage;
    return encode ? 6.5e9 : 20e9;
}

#define ROUND(NAME, TYPE_OF)                                                                                           \
    static void NAME(const uint8_t *restrict in, uint8_t *restrict out, int64_t n, int drop, bool swap)                \
    {                                                                                                                  \
        const TYPE_OF half = (TYPE_OF)(((TYPE_OF)1 << (drop - 1)) - 1);                                                \
        const TYPE_OF mask = (TYPE_OF)((TYPE_OF) ~(TYPE_OF)0 << drop);                                                 \
        for (int64_t k = 0; k < n; k++) {                                                                              \
            TYPE_OF v;                                                                                                 \
            memcpy(&v, in + k * (int64_t)sizeof v, sizeof v);                                                          \
            v = swap ? NAME##_swap(v) : v;                                                                             \
            v = (TYPE_OF)((TYPE_OF)(v + (v >> drop & 1) + half) & mask);                                               \
            v = swap ? NAME##_swap(v) : v;                                                                             \
            memcpy(out + k * (int64_t)sizeof v, &v, sizeof v);                                                         \
        }                                                                                                              \
    }

#define round2_swap __builtin_bswap16
#define round4_swap __builtin_bswap32
#define round8_swap __builtin_bswap64

ROUND(round2, uint16_t)
ROUND(round4, uint32_t)
ROUND(round8, uint64_t)

static resplit_status decode(const rs_stage *stage, void *context, rs_pass *pass, resplit_error *err)
{
    rs_type type = rs_type_unpack(stage->set.number[TYPE]);
    int64_t count;
    (void)context;
    RS_TRY(rs_count_elements(stage, pass, type, type, &count, err));
    if (count > 0) {
        memcpy(pass->out, pass->in, (size_t)pass->n_in);
    }
    pass->n_out = pass->n_in;
    return RESPLIT_OK;
}

static resplit_status encode(const rs_stage *stage, void *context, rs_pass *pass, resplit_error *err)
{
    rs_type type = rs_type_unpack(stage->set.number[TYPE]);
    int drop = fraction_bits(type) - (int)stage->set.number[KEEP];
    int64_t count;
    if (drop == 0) {
        return decode(stage, context, pass, err);
    }
    RS_TRY(rs_count_elements(stage, pass, type, type, &count, err));
    (type.size == 2 ? round2 : type.size == 4 ? round4 : round8)(pass->in, pass->out, count, drop, type.swap);
    pass->n_out = pass->n_in;
    return RESPLIT_OK;
}

static int64_t bound(const rs_stage *stage, int64_t n)
{
    return n % rs_type_unpack(stage->set.number[TYPE]).size == 0 ? n : -1;
}

static const char *const keys[] = {"keepbits", NULL};

const rs_codec rs_codec_bitround = {
    .id = "bitround",
    .kind = RS_ON_ELEMENTS,
    .keys = keys,
    .is_sized = true,
    .configure = configure,
    .print = rs_print_level,
    .describe = rs_describe_level,
    .element = element,
    .lossless = lossless,
    .bound = bound,
    .speed = speed,
    .encode = encode,
    .decode = decode,
};
