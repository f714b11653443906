/* SPDX-License-Identifier: BSD-3-Clause */
/* cast.c - values as another type of number, and what is lost on the way. */
#include "codec/cast.h"

#include "codec/numbers.h"

#include <math.h>
#include <string.h>

/* What became of a value; of the two parts of a complex number the worse one counts. */
enum { KEPT, ROUNDED, OUT_OF_RANGE, NOT_A_NUMBER, N_FATES };

/* ---- Which casts there are ---------------------------------------------------------------------- */

/* The type of a number, or of one part of a complex number. */
static bool part_type(const rs_element *element, rs_type *out)
{
    rs_element part = *element;
    if (part.kind == 'c') {
        part.kind = 'f';
        part.itemsize /= 2;
    }
    return rs_type_of(&part, out) && (element->kind != 'c' || part.itemsize >= 4);
}

rs_cast rs_cast_swap(const rs_element *element, int64_t swap_size)
{
    rs_cast cast = {.kind = RS_CAST_SWAP, .from = *element, .to = *element, .swap_size = swap_size};
    cast.to.byteorder = element->byteorder == '<' ? '>' : '<';
    return cast;
}

bool rs_cast_make(const rs_element *from, const rs_element *to, rs_cast *out)
{
    rs_type ignored;
    *out = (rs_cast){.kind = RS_CAST_VALUES, .from = *from, .to = *to};
    return part_type(from, &ignored) && part_type(to, &ignored) && (from->kind != 'c' || to->kind == 'c');
}

/* Measured as in zstd.c. */
double rs_cast_seconds(const rs_cast *cast)
{
    bool half =
        (cast->from.kind == 'f' && cast->from.itemsize == 2) || (cast->to.kind == 'f' && cast->to.itemsize == 2);
    double items = cast->kind == RS_CAST_SWAP ? 1e9 : half ? 0.05e9 : 0.25e9; /* in a second */
    return cast->kind == RS_CAST_NONE ? 0 : 1 / (items * (double)cast->from.itemsize);
}

/* ---- Numbers ------------------------------------------------------------------------------------ */

static double lowest(rs_type type)
{
    return type.kind == 'i' ? -ldexp(1, 8 * type.size - 1) : 0;
}

/* The first whole number that is too large. */
static double beyond(rs_type type)
{
    return ldexp(1, 8 * type.size - (type.kind == 'i'));
}

static uint64_t highest(rs_type type)
{
    return UINT64_MAX >> (64 - 8 * type.size + (type.kind == 'i'));
}

static void to_truth(rs_type from, rs_number *v, int64_t n, uint8_t *fate)
{
    for (int64_t k = 0; from.kind == 'f' && k < n; k++) {
        double f = v[k].f;
        v[k].i = f != 0; /* NaN is true, as in NumPy */
        fate[k] = isnan(f) ? NOT_A_NUMBER : f == 0 || f == 1 ? KEPT : f > 0 && f < 1 ? ROUNDED : OUT_OF_RANGE;
    }
    for (int64_t k = 0; from.kind != 'f' && k < n; k++) {
        int64_t truth = v[k].i != 0;
        fate[k] = v[k].i == truth ? KEPT : OUT_OF_RANGE;
        v[k].i = truth;
    }
}

static void whole_to_whole(rs_type from, rs_type to, rs_number *v, int64_t n, uint8_t *fate)
{
    bool is_signed = from.kind == 'i';
    int64_t lo = to.kind == 'i' ? -1 - (int64_t)highest(to) : 0;
    uint64_t hi = highest(to);
    for (int64_t k = 0; k < n; k++) {
        int64_t i = v[k].i, less = rs_max(i, lo);
        uint64_t more = (uint64_t)i < hi ? (uint64_t)i : hi;
        v[k].i = is_signed && i < 0 ? less : (int64_t)more;
        fate[k] = v[k].i == i ? KEPT : OUT_OF_RANGE;
    }
}

/* Toward zero. */
static void real_to_whole(rs_type to, rs_number *v, int64_t n, uint8_t *fate)
{
    double lo = lowest(to), end = beyond(to);
    int64_t lo_i = to.kind == 'i' ? -1 - (int64_t)highest(to) : 0, hi_i = (int64_t)highest(to);
    bool is_wide = to.kind == 'u' && to.size == 8;
    for (int64_t k = 0; k < n; k++) {
        double f = v[k].f, whole = trunc(f);
        if (whole >= lo && whole < end) {
            v[k].i = is_wide ? (int64_t)(uint64_t)whole : (int64_t)whole;
            fate[k] = whole == f ? KEPT : ROUNDED;
        } else {
            v[k].i = isnan(f) ? 0 : f < 0 ? lo_i : hi_i;
            fate[k] = isnan(f) ? NOT_A_NUMBER : OUT_OF_RANGE;
        }
    }
}

/* `end` is beyond all values of the type, so that the number can be taken back. */
static bool is_same(rs_type from, double end, int64_t whole, double real)
{
    return real < end && (from.kind == 'u' ? (uint64_t)real == (uint64_t)whole : (int64_t)real == whole);
}

static void to_real(rs_type from, rs_type to, rs_number *v, int64_t n, uint8_t *fate)
{
    rs_number before[RS_PIECE];
    memcpy(before, v, (size_t)n * sizeof *v);
    rs_numbers_convert(from, to, v, n);
    if (from.kind == 'f') {
        for (int64_t k = 0; k < n; k++) {
            bool kept = v[k].f == before[k].f || isnan(before[k].f);
            fate[k] = kept ? KEPT : isinf(v[k].f) ? OUT_OF_RANGE : ROUNDED;
        }
        return;
    }
    double end = beyond(from);
    for (int64_t k = 0; k < n; k++) {
        fate[k] = isinf(v[k].f) ? OUT_OF_RANGE : is_same(from, end, before[k].i, v[k].f) ? KEPT : ROUNDED;
    }
}

static void convert(rs_type from, rs_type to, rs_number *v, int64_t n, uint8_t *fate)
{
    if (to.kind == 'f') {
        to_real(from, to, v, n, fate);
    } else if (to.kind == 'b') {
        to_truth(from, v, n, fate);
    } else if (from.kind == 'f') {
        real_to_whole(to, v, n, fate);
    } else {
        whole_to_whole(from, to, v, n, fate);
    }
}

/* ---- Elements ----------------------------------------------------------------------------------- */

static void count(const uint8_t *fate, int64_t n, int parts, resplit_losses *losses)
{
    int64_t found[N_FATES] = {0};
    uint8_t any = KEPT;
    for (int64_t k = 0; k < n; k++) {
        any |= fate[k];
    }
    for (int64_t k = 0; any != KEPT && k < n; k += parts) {
        found[rs_max(fate[k], fate[k + parts - 1])]++;
    }
    losses->n_values += n / parts;
    losses->n_rounded += found[ROUNDED];
    losses->n_out_of_range += found[OUT_OF_RANGE];
    losses->n_not_a_number += found[NOT_A_NUMBER];
}

/* Real parts, and zeros between them. */
static void spread(rs_number *v, int64_t n)
{
    for (int64_t k = n - 1; k >= 0; k--) {
        v[2 * k].f = v[k].f;
        v[2 * k + 1].f = 0;
    }
}

/* `n` elements, which have at most RS_PIECE parts; all are read before any is written. */
static void cast_piece(const rs_cast *cast, const uint8_t *in, uint8_t *out, int64_t n, resplit_losses *losses)
{
    rs_number v[RS_PIECE];
    uint8_t fate[RS_PIECE];
    rs_type from = {0}, to = {0};
    int parts = cast->from.kind == 'c' ? 2 : 1;
    (void)part_type(&cast->from, &from);
    (void)part_type(&cast->to, &to);
    rs_numbers_load(from, in, n * parts, v);
    convert(from, to, v, n * parts, fate);
    count(fate, n * parts, parts, losses);
    if (cast->to.kind == 'c') {
        if (parts == 1) {
            spread(v, n);
        }
        n *= 2;
    }
    rs_numbers_store(to, v, n, out);
}

static void swap_bytes(const uint8_t *in, uint8_t *out, int64_t bytes, int64_t size)
{
    for (int64_t at = 0; at < bytes; at += size) {
        for (int64_t a = at, b = at + size - 1; a < b; a++, b--) {
            uint8_t first = in[a];
            out[a] = in[b];
            out[b] = first;
        }
    }
}

void rs_cast_run(const rs_cast *cast, const void *in, void *out, int64_t n, resplit_losses *losses)
{
    const int64_t each = RS_PIECE / 2, from = cast->from.itemsize, to = cast->to.itemsize;
    const uint8_t *a = in;
    uint8_t *b = out;
    if (cast->kind == RS_CAST_SWAP) {
        swap_bytes(a, b, n * from, cast->swap_size);
        losses->n_values += n;
        return;
    }
    for (int64_t at = 0; to <= from && at < n; at += each) {
        cast_piece(cast, a + at * from, b + at * to, rs_min(each, n - at), losses);
    }
    /* what becomes longer from its end, so that nothing is overwritten before it was read */
    for (int64_t at = (n - 1) / each * each; to > from && n > 0 && at >= 0; at -= each) {
        cast_piece(cast, a + at * from, b + at * to, rs_min(each, n - at), losses);
    }
}
