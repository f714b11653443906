/* SPDX-License-Identifier: BSD-3-Clause */
/* quantize.c - reals rounded to a multiple of a power of two that keeps so many decimal digits; decoding only
   changes the type. */
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

static void step(rs_numbers *numbers)
{
    rs_type type = numbers->from;
    double scale = rs_round_to(type, scale_of(numbers->stage));
    for (int64_t k = 0; k < numbers->n && numbers->encode; k++) {
        double *value = &numbers->v[k].f;
        *value = rs_round_to(type, rint(rs_round_to(type, scale * *value)) / scale);
    }
    rs_numbers_convert(numbers->from, numbers->to, numbers->v, numbers->n);
}

static resplit_status run(const rs_stage *stage, void *context, rs_pass *pass, resplit_error *err)
{
    (void)context;
    return rs_numbers_run(stage, pass, step, err);
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
    .encode = run,
    .decode = run,
};
