/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * delta.c - the first element, then what each differs from the one before.
 *
 * Differences are made in the type of the elements and stored in another one; sums are made in a type that holds both,
 * as NumPy does. Booleans do as in NumPy: a difference is "not the same", a sum is "or", so that they do not come back.
 */
#include <stdio.h>
#include <string.h>

#include "codec/numbers.h"

enum { DTYPE, ASTYPE };

static resplit_status configure(rs_stage *stage, int version, const rs_json *config, resplit_error *err)
{
    return rs_take_types(stage, config, version, err);
}

static resplit_status print(const rs_stage *stage, int version, rs_text *out, resplit_error *err)
{
    (void)version;
    return rs_print_types(stage, out, err);
}

static void describe(const rs_stage *stage, char *text, size_t room)
{
    char a[8], b[8];
    (void)snprintf(text, room, "delta:%s:%s", rs_type_text(rs_type_unpack(stage->set.number[DTYPE]), a),
                   rs_type_text(rs_type_unpack(stage->set.number[ASTYPE]), b));
}

/* Integers wrap around, and come back when what they are stored in is not smaller. */
static bool lossless(const rs_stage *stage)
{
    rs_type type = rs_type_unpack(stage->set.number[DTYPE]), stored = rs_type_unpack(stage->set.number[ASTYPE]);
    return (type.kind == 'i' || type.kind == 'u') && (stored.kind == 'i' || stored.kind == 'u')
           && stored.size >= type.size;
}

/* Measured as in zstd.c. */
static double speed(const rs_stage *stage, bool encode)
{
    bool is_plain = stage->set.number[DTYPE] == stage->set.number[ASTYPE] && lossless(stage);
    (void)encode;
    return is_plain ? 3.8e9 : 0.55e9;
}

/* ---- Integers of this machine, stored as they are ---------------------------------------------- */

#define PLAIN(NAME, TYPE)                                                                                              \
    static void difference_##NAME(const uint8_t *restrict in, uint8_t *restrict out, int64_t n)                        \
    {                                                                                                                  \
        memcpy(out, in, sizeof(TYPE));                                                                                 \
        for (int64_t k = 1; k < n; k++) {                                                                              \
            TYPE a, b;                                                                                                 \
            memcpy(&a, in + (k - 1) * (int64_t)sizeof a, sizeof a);                                                    \
            memcpy(&b, in + k * (int64_t)sizeof b, sizeof b);                                                          \
            b = (TYPE)(b - a);                                                                                         \
            memcpy(out + k * (int64_t)sizeof b, &b, sizeof b);                                                         \
        }                                                                                                              \
    }                                                                                                                  \
    static void sum_##NAME(const uint8_t *restrict in, uint8_t *restrict out, int64_t n)                               \
    {                                                                                                                  \
        TYPE total = 0;                                                                                                \
        for (int64_t k = 0; k < n; k++) {                                                                              \
            TYPE a;                                                                                                    \
            memcpy(&a, in + k * (int64_t)sizeof a, sizeof a);                                                          \
            total = (TYPE)(total + a);                                                                                 \
            memcpy(out + k * (int64_t)sizeof a, &total, sizeof a);                                                     \
        }                                                                                                              \
    }

PLAIN(8, uint8_t)
PLAIN(16, uint16_t)
PLAIN(32, uint32_t)
PLAIN(64, uint64_t)

static void run_plain(int size, const rs_pass *pass, int64_t n)
{
    static void (*const all[4][2])(const uint8_t *restrict in, uint8_t *restrict out, int64_t n) = {
        {sum_8, difference_8}, {sum_16, difference_16}, {sum_32, difference_32}, {sum_64, difference_64}};
    if (n > 0) {
        all[size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3][pass->encode](pass->in, pass->out, n);
    }
}

/* ---- All others -------------------------------------------------------------------------------- */

/* Turns numbers into differences to the one before; *last is that one. Integers are wrapped when they are converted. */
static void differences(rs_type type, rs_number *v, int64_t n, rs_number *last)
{
    rs_number before = *last;
    for (int64_t k = 0; type.kind == 'f' && k < n; k++) {
        rs_number next = v[k];
        v[k].f = rs_round_to(type, next.f - before.f);
        before = next;
    }
    for (int64_t k = 0; type.kind != 'f' && k < n; k++) {
        rs_number next = v[k];
        v[k].i = type.kind == 'b' ? next.i != before.i : (int64_t)((uint64_t)next.i - (uint64_t)before.i);
        before = next;
    }
    *last = before;
}

static void sums(rs_type type, rs_number *v, int64_t n, rs_number *last)
{
    rs_number total = *last;
    for (int64_t k = 0; type.kind == 'f' && k < n; k++) {
        total.f = rs_round_to(type, total.f + v[k].f);
        v[k] = total;
    }
    for (int64_t k = 0; type.kind != 'f' && k < n; k++) {
        total.i = type.kind == 'b' ? total.i | v[k].i : (int64_t)((uint64_t)total.i + (uint64_t)v[k].i);
        v[k] = total;
    }
    *last = total;
}

/* NumPy's promote_types. */
static rs_type common_type(rs_type a, rs_type b)
{
    if (a.kind == b.kind) {
        return (rs_type){a.kind, a.size > b.size ? a.size : b.size, false};
    }
    if (a.kind == 'b' || b.kind == 'b') {
        return (rs_type){a.kind == 'b' ? b.kind : a.kind, a.kind == 'b' ? b.size : a.size, false};
    }
    if (a.kind == 'f' || b.kind == 'f') {
        int real = a.kind == 'f' ? a.size : b.size, whole = a.kind == 'f' ? b.size : a.size;
        int holds = whole == 1 ? 2 : whole == 2 ? 4 : 8;
        return (rs_type){'f', real > holds ? real : holds, false};
    }
    int with = a.kind == 'i' ? a.size : b.size, without = a.kind == 'i' ? b.size : a.size;
    return without == 8     ? (rs_type){'f', 8, false}
           : with > without ? (rs_type){'i', with, false}
                            : (rs_type){'i', 2 * without, false};
}

static void step(rs_numbers *numbers)
{
    rs_type in = numbers->encode ? numbers->from : common_type(numbers->from, numbers->to); /* what is calculated in */
    rs_number *v = numbers->v;
    int64_t n = numbers->n, first = numbers->at == 0; /* which stays as it is: from nothing, -0 would become 0 */
    rs_numbers_convert(numbers->from, in, v, n);
    numbers->last = first ? v[0] : numbers->last;
    (numbers->encode ? differences : sums)(in, v + first, n - first, &numbers->last);
    rs_numbers_convert(in, in, v, n);
    rs_numbers_convert(in, numbers->to, v, n);
}

static bool is_plain(rs_type type)
{
    return type.kind != 'f' && type.kind != 'b' && !type.swap;
}

static resplit_status run(const rs_stage *stage, void *context, rs_pass *pass, resplit_error *err)
{
    rs_type type = rs_type_unpack(stage->set.number[DTYPE]), stored = rs_type_unpack(stage->set.number[ASTYPE]);
    int64_t count;
    (void)context;
    if (!is_plain(type) || !is_plain(stored) || type.size != stored.size) {
        return rs_numbers_run(stage, pass, step, err);
    }
    RS_TRY(rs_count_elements(stage, pass, type, stored, &count, err));
    run_plain(type.size, pass, count);
    pass->n_out = pass->n_in;
    return RESPLIT_OK;
}

static const char *const keys[] = {"dtype", "astype", NULL};

const rs_codec rs_codec_delta = {
    .id = "delta",
    .kind = RS_ON_ELEMENTS,
    .keys = keys,
    .decides = 1u << DTYPE | 1u << ASTYPE,
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
