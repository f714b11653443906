/* SPDX-License-Identifier: BSD-3-Clause */
/* astype.c - the elements as another type of number. */
#include <stdio.h>

#include "codec/numbers.h"

enum { DECODED, ENCODED };

static resplit_status configure(rs_stage *stage, int version, const rs_json *config, resplit_error *err)
{
    int64_t *set = stage->set.number;
    RS_TRY(rs_need(stage->codec, config, "encode_dtype", err));
    RS_TRY(rs_take_type(stage, config, "decode_dtype", version, &set[DECODED], err));
    if (set[DECODED] == 0) {
        RS_TRY(rs_own_type(stage, &set[DECODED], err));
    }
    return rs_take_type(stage, config, "encode_dtype", version, &set[ENCODED], err);
}

static resplit_status print(const rs_stage *stage, int version, rs_text *out, resplit_error *err)
{
    char a[8], b[8];
    (void)version;
    return rs_text_add(out, err, "\"encode_dtype\": \"%s\", \"decode_dtype\": \"%s\"",
                       rs_type_text(rs_type_unpack(stage->set.number[ENCODED]), a),
                       rs_type_text(rs_type_unpack(stage->set.number[DECODED]), b));
}

static void describe(const rs_stage *stage, char *text, size_t room)
{
    char a[8], b[8];
    (void)snprintf(text, room, "astype:%s:%s", rs_type_text(rs_type_unpack(stage->set.number[ENCODED]), a),
                   rs_type_text(rs_type_unpack(stage->set.number[DECODED]), b));
}

/* Bits that a type holds exactly, without the sign. */
static int digits(rs_type type)
{
    return type.kind == 'f'   ? (type.size == 2   ? 11
                                 : type.size == 4 ? 24
                                                  : 53)
           : type.kind == 'b' ? 1
                              : 8 * type.size - (type.kind == 'i');
}

/* Every value comes back: integers also when they only wrap around, reals in wider ones. */
static bool lossless(const rs_stage *stage)
{
    rs_type from = rs_type_unpack(stage->set.number[DECODED]), to = rs_type_unpack(stage->set.number[ENCODED]);
    if (from.kind == to.kind) {
        return to.size >= from.size;
    }
    if (from.kind == 'f' || to.kind == 'b') {
        return false;
    }
    return to.kind == 'f' ? digits(to) >= digits(from) : to.size >= from.size;
}

/* Measured as in zstd.c. */
static double speed(const rs_stage *stage, bool encode)
{
    bool has_half = rs_types_have_half(stage);
    return has_half ? (encode ? 0.1e9 : 0.25e9) : 0.8e9;
}

static void step(rs_numbers *numbers)
{
    rs_numbers_convert(numbers->from, numbers->to, numbers->v, numbers->n);
}

static resplit_status run(const rs_stage *stage, void *context, rs_pass *pass, resplit_error *err)
{
    (void)context;
    return rs_numbers_run(stage, pass, step, err);
}

static const char *const keys[] = {"encode_dtype", "decode_dtype", NULL};

const rs_codec rs_codec_astype = {
    .id = "astype",
    .kind = RS_ON_ELEMENTS,
    .keys = keys,
    .decides = 1u << DECODED | 1u << ENCODED,
    .is_sized = true,
    .configure = configure,
    .print = print,
    .describe = describe,
    .element = rs_types_element,
    .lossless = lossless,
    .bound = rs_types_bound,
    .speed = speed,
    .encode = run,
    .decode = run,
};
