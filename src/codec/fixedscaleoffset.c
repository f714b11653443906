/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fixedscaleoffset.c - (x - offset) * scale, rounded, as another type; decoded as x / scale + offset.
 *
 * The arithmetic is that of NumPy 2: a number of the configuration takes the type of the elements, except that a
 * fraction makes doubles of integers, and so does a division.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/numbers.h"

enum {
    DTYPE,
    ASTYPE,
    OFFSET,
    SCALE,
    IS_WHOLE
}; /* OFFSET and SCALE are reals, or integers where IS_WHOLE has their bit */

static const rs_type real8 = {'f', 8, false};

static resplit_status take_number(rs_stage *stage, const rs_json *config, const char *key, int at, resplit_error *err)
{
    const rs_json *value;
    RS_TRY(rs_need(stage->codec, config, key, err));
    value = rs_json_get(config, key);
    if (rs_json_int64(value, &stage->set.number[at])) {
        stage->set.number[IS_WHOLE] |= INT64_C(1) << at;
        return RESPLIT_OK;
    }
    return rs_json_double(value, &stage->set.real[at])
               ? RESPLIT_OK
               : rs_fail(err, RESPLIT_EFORMAT, "codec 'fixedscaleoffset' has %s %.*s, which is no number", key,
                         (int)rs_min((int64_t)value->n, 40), value->text);
}

static bool is_whole(const rs_stage *stage, int at)
{
    return (stage->set.number[IS_WHOLE] >> at & 1) != 0;
}

static double real_of(const rs_stage *stage, int at)
{
    return is_whole(stage, at) ? (double)stage->set.number[at] : stage->set.real[at];
}

/* The type after an operation with a setting. */
static rs_type after(const rs_stage *stage, rs_type type, int at)
{
    return type.kind != 'f' && !is_whole(stage, at) ? real8 : type;
}

static resplit_status check_holds(const rs_stage *stage, rs_type type, int at, const char *key, resplit_error *err)
{
    char text[8];
    if (type.kind == 'f' || !is_whole(stage, at) || rs_type_holds(type, stage->set.number[at])) {
        return RESPLIT_OK;
    }
    return rs_fail(err, RESPLIT_EUNSUPPORTED,
                   "codec 'fixedscaleoffset' has %s %lld, which its dtype '%s' does not hold", key,
                   (long long)stage->set.number[at], rs_type_text(type, text));
}

static resplit_status configure(rs_stage *stage, int version, const rs_json *config, resplit_error *err)
{
    RS_TRY(rs_take_types(stage, config, version, err));
    RS_TRY(take_number(stage, config, "offset", OFFSET, err));
    RS_TRY(take_number(stage, config, "scale", SCALE, err));
    rs_type type = rs_type_unpack(stage->set.number[DTYPE]);
    if (type.kind == 'b' || rs_type_unpack(stage->set.number[ASTYPE]).kind == 'b') {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "codec 'fixedscaleoffset' is not for booleans");
    }
    RS_TRY(check_holds(stage, type, OFFSET, "offset", err));
    return check_holds(stage, after(stage, type, OFFSET), SCALE, "scale", err);
}

/* With as few digits as bring it back, and so that it stays a real: 2.0, not 2. */
static void write_real(double value, char text[40])
{
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, 40, "%.*g", digits, value);
        if (strtod(text, NULL) == value) {
            break;
        }
    }
    if (strpbrk(text, ".en") == NULL) {
        (void)snprintf(text + strlen(text), 3, ".0");
    }
}

static void write_number(const rs_stage *stage, int at, char text[40])
{
    double value = stage->set.real[at];
    if (is_whole(stage, at)) {
        (void)snprintf(text, 40, "%lld", (long long)stage->set.number[at]);
    } else if (!isfinite(value)) {
        (void)snprintf(text, 40, "%s", isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
    } else {
        write_real(value, text);
    }
}

static resplit_status print(const rs_stage *stage, int version, rs_text *out, resplit_error *err)
{
    char scale[40], offset[40];
    (void)version;
    write_number(stage, SCALE, scale);
    write_number(stage, OFFSET, offset);
    RS_TRY(rs_text_add(out, err, "\"scale\": %s, \"offset\": %s, ", scale, offset));
    return rs_print_types(stage, out, err);
}

static void describe(const rs_stage *stage, char *text, size_t room)
{
    char a[8], b[8], scale[40], offset[40];
    write_number(stage, SCALE, scale);
    write_number(stage, OFFSET, offset);
    (void)snprintf(text, room, "fixedscaleoffset:%s:%s:%s:%s", offset, scale,
                   rs_type_text(rs_type_unpack(stage->set.number[DTYPE]), a),
                   rs_type_text(rs_type_unpack(stage->set.number[ASTYPE]), b));
}

/* Measured as in zstd.c. */
static double speed(const rs_stage *stage, bool encode)
{
    return rs_types_have_half(stage) ? 0.08e9 : encode ? 0.15e9 : 0.65e9;
}

/* x - offset, or x * scale. *type becomes that of the result. */
static void operate(const rs_stage *stage, int at, rs_type *type, rs_number *v, int64_t n)
{
    rs_type result = after(stage, *type, at);
    double real = rs_round_to(result, real_of(stage, at));
    uint64_t whole = (uint64_t)stage->set.number[at];
    if (result.kind == 'f' && type->kind != 'f') {
        rs_numbers_convert(*type, result, v, n);
    }
    for (int64_t k = 0; k < n; k++) {
        if (result.kind == 'f') {
            v[k].f = rs_round_to(result, at == OFFSET ? v[k].f - real : v[k].f * real);
        } else {
            uint64_t u = (uint64_t)v[k].i;
            v[k].i = rs_wrap_to(result, (int64_t)(at == OFFSET ? u - whole : u * whole));
        }
    }
    *type = result;
}

static void encode_piece(const rs_stage *stage, rs_type type, rs_type stored, rs_number *v, int64_t n)
{
    operate(stage, OFFSET, &type, v, n);
    operate(stage, SCALE, &type, v, n);
    for (int64_t k = 0; k < n && type.kind == 'f'; k++) {
        v[k].f = rint(v[k].f);
    }
    rs_numbers_convert(type, stored, v, n);
}

static void decode_piece(const rs_stage *stage, rs_type stored, rs_type type, rs_number *v, int64_t n)
{
    rs_type real = stored.kind == 'f' ? stored : real8;
    double scale = rs_round_to(real, real_of(stage, SCALE)), offset = rs_round_to(real, real_of(stage, OFFSET));
    if (stored.kind != 'f') {
        rs_numbers_convert(stored, real, v, n);
    }
    for (int64_t k = 0; k < n; k++) {
        v[k].f = rs_round_to(real, rs_round_to(real, v[k].f / scale) + offset);
    }
    rs_numbers_convert(real, type, v, n);
}

static void step(rs_numbers *numbers)
{
    (numbers->encode ? encode_piece : decode_piece)(numbers->stage, numbers->from, numbers->to, numbers->v, numbers->n);
}

static resplit_status run(const rs_stage *stage, void *context, rs_pass *pass, resplit_error *err)
{
    (void)context;
    return rs_numbers_run(stage, pass, step, err);
}

static const char *const keys[] = {"offset", "scale", "dtype", "astype", NULL};

const rs_codec rs_codec_fixedscaleoffset = {
    .id = "fixedscaleoffset",
    .kind = RS_ON_ELEMENTS,
    .keys = keys,
    .decides = ~0u,
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
