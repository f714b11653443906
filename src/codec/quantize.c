/* SPDX-License-Identifier: BSD-3-Clause */
/* quantize.c - reals rounded to a multiple of a power of two that keeps so many decimal digits; decoding only changes the type. */
#include <math.h>
#include <stdio.h>

#include "codec/numbers.h"

enum { DTYPE, ASTYPE, DIGITS, MOST_DIGITS = 300 };

static resplit_status configure(rs_stage *stage, int version, const rs_json *config, resplit_error *err)
{
    RS_TRY(rs_take_types(stage, config, version, err));
    RS_TRY(rs_need(stage->codec, config, "digits", err));
    RS_TRY(rs_take_int(stage->codec, config, "digits", -MOST_DIGITS, MOST_DIGITS, &stage->set.number[DIGITS], err));
    if (rs_type_unpack(stage->set.number[DTYPE]).kind != 'f' || rs_type_unpack(stage->set.number[ASTYPE]).kind != 'f') {
        return rs_fail(err, RESPLIT_EFORMAT, "codec 'quantize' is for floating-point numbers only");
    }
    return RESPLIT_OK;
}

static resplit_status print(const rs_stage *stage, int version, rs_text *out, resplit_error *err)
{
    (void)version;
    RS_TRY(rs_text_add(out, err, "\"digits\": %lld, ", (long long)stage->set.number[DIGITS]));
    return rs_print_types(stage, out, err);
}

static void describe(const rs_stage *stage, char *text, size_t room)
{
    char a[8], b[8];
    (void)snprintf(text, room, "quantize:%lld:%s:%s", (long long)stage->set.number[DIGITS],
                   rs_type_text(rs_type_unpack(stage->set.number[DTYPE]), a),
                   rs_type_text(rs_type_unpack(stage->set.number[ASTYPE]), b));
}

/* Measured as in zstd.c. */
static double speed(const rs_stage *stage, bool encode)
{
    return rs_types_have_half(stage) ? 0.1e9 : encode ? 0.47e9 : 2.4e9;
}

/* Step by step as numcodecs has it: each of them rounds. */
static double scale_of(const rs_stage *stage)
{
    double precision = pow(10.0, -(double)stage->set.number[DIGITS]);
    double exponent = log10(precision);
    exponent = exponent < 0 ? floor(exponent) : ceil(exponent);
    return ldexp(1.0, (int)ceil(log2(pow(10.0, -exponent))));
}

static resplit_status run(const rs_stage *stage, bool encode, rs_pass *pass, resplit_error *err)
{
    rs_type type = rs_type_unpack(stage->set.number[DTYPE]), stored = rs_type_unpack(stage->set.number[ASTYPE]);
    rs_type from = encode ? type : stored, to = encode ? stored : type;
    double scale = rs_round_to(type, scale_of(stage));
    rs_number v[RS_PIECE];
    int64_t count;
    RS_TRY(rs_count_elements(stage, pass, from, to, &count, err));
    for (int64_t at = 0; at < count; at += RS_PIECE) {
        int64_t n = rs_min(count - at, RS_PIECE);
        rs_numbers_load(from, pass->in + at * from.size, n, v);
        for (int64_t k = 0; k < n && encode; k++) {
            v[k].f = rs_round_to(type, rint(rs_round_to(type, scale * v[k].f)) / scale);
        }
        rs_numbers_convert(from, to, v, n);
        rs_numbers_store(to, v, n, pass->out + at * to.size);
    }
    pass->n_out = count * to.size;
    return RESPLIT_OK;
}

static resplit_status encode(const rs_stage *stage, void *context, rs_pass *pass, resplit_error *err)
{
    (void)context;
    return run(stage, true, pass, err);
}

static resplit_status decode(const rs_stage *stage, void *context, rs_pass *pass, resplit_error *err)
{
    (void)context;
    return run(stage, false, pass, err);
}

static const char *const keys[] = {"digits", "dtype", "astype", NULL};

const rs_codec rs_codec_quantize = {
    .id = "quantize",
    .kind = RS_ON_ELEMENTS,
    .keys = keys,
    .decides = 1u << DTYPE | 1u << ASTYPE,
    .is_sized = true,
    .configure = configure,
    .print = print,
    .describe = describe,
    .element = rs_types_element,
    .bound = rs_types_bound,
    .speed = speed,
    .encode = encode,
    .decode = decode,
};
