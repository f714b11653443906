/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parse.c - sizes, shapes, chunks and regions. Knows no option and no array: what a value is for is said by
 * options.c, whether it fits an array by job.c and the library.
 */
#include "parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* How much of the user's text a message repeats. */
#define QUOTE "'%.120s'"

bool cli_fail(resplit_error *err, resplit_status code, const char *format, ...)
{
    va_list args;

    err->code = code;
    err->sys_errno = 0;
    err->needed_bytes = 0;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return false;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *skip_spaces(const char *p)
{
    while (*p == ' ')
        p++;
    return p;
}

/* Digits into *value; moves *at behind them. False when there are none or they exceed int64_t. */
static bool take_digits(const char **at, int64_t *value)
{
    const char *p = *at;
    int64_t v = 0;

    if (!is_digit(*p))
        return false;
    for (; is_digit(*p); p++) {
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *p - '0', &v))
            return false;
    }
    *at = p;
    *value = v;
    return true;
}

/* The same with an optional minus sign. The least int64_t is not reached: nobody writes it. */
static bool take_integer(const char **at, int64_t *value)
{
    const char *p = *at;
    bool negative = *p == '-';

    if (negative)
        p++;
    if (!take_digits(&p, value))
        return false;
    if (negative)
        *value = -*value;
    *at = p;
    return true;
}

/* ---- Sizes ---------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int64_t bytes;
} UNITS[] = {
    {"", 1},
    {"B", 1},
    {"KB", 1000},
    {"MB", 1000000},
    {"GB", 1000000000},
    {"TB", 1000000000000},
    {"KiB", INT64_C(1) << 10},
    {"MiB", INT64_C(1) << 20},
    {"GiB", INT64_C(1) << 30},
    {"TiB", INT64_C(1) << 40},
};

static bool fail_size(const char *text, resplit_error *err)
{
    return cli_fail(err, RESPLIT_EINVAL, QUOTE " is not a size: write a number and B, KB, MB, GB, KiB, MiB or GiB",
                    text);
}

/* Digits behind the point, as billionths; further digits are read and dropped. */
static bool take_fraction(const char **at, int64_t *billionths)
{
    const char *p = *at;
    int64_t v = 0;
    int n = 0;

    if (!is_digit(*p))
        return false;
    for (; is_digit(*p); p++) {
        if (n < 9) {
            v = v * 10 + (*p - '0');
            n++;
        }
    }
    for (; n < 9; n++)
        v *= 10;
    *at = p;
    *billionths = v;
    return true;
}

/* The bytes of a unit, or 0. K, M, G, T alone mean two things, so they mean nothing here. */
static int64_t unit_bytes(const char *name)
{
    for (size_t i = 0; i < sizeof UNITS / sizeof UNITS[0]; i++) {
        if (strcasecmp(name, UNITS[i].name) == 0)
            return UNITS[i].bytes;
    }
    return 0;
}

static bool is_bare_prefix(const char *name)
{
    return name[0] != '\0' && strchr("kKmMgGtT", name[0]) && (name[1] == '\0' || strcasecmp(name + 1, "i") == 0);
}

bool cli_parse_count(const char *text, int64_t *count, resplit_error *err)
{
    const char *p = text;

    if (!is_digit(*p) || !take_digits(&p, count) || *p != '\0' || *count < 1 || *count > 1024)
        return cli_fail(err, RESPLIT_EINVAL, QUOTE " is not a whole number from 1 to 1024", text);
    return true;
}

bool cli_parse_parts(const char *text, int64_t *count, resplit_error *err)
{
    const char *p = text;

    if (!is_digit(*p) || !take_digits(&p, count) || *p != '\0' || *count < 1 || *count > CLI_MOST_PARTS)
        return cli_fail(err, RESPLIT_EINVAL, QUOTE " is not a whole number from 1 to %d", text, CLI_MOST_PARTS);
    return true;
}

bool cli_parse_part(const char *text, struct cli_part *out, resplit_error *err)
{
    const char *p = text;

    if (is_digit(*p) && take_digits(&p, &out->part) && *p++ == '/' && is_digit(*p) && take_digits(&p, &out->n)
        && *p == '\0' && out->part >= 1 && out->part <= out->n && out->n <= CLI_MOST_PARTS)
        return true;
    *out = (struct cli_part){0};
    return cli_fail(err, RESPLIT_EINVAL, QUOTE " is not a partition, as 3/16 is: the third of sixteen", text);
}

bool cli_parse_size(const char *text, int64_t *bytes, resplit_error *err)
{
    const char *p = skip_spaces(text);
    int64_t whole, billionths = 0, value;

    *bytes = 0;
    if (!is_digit(*p))
        return fail_size(text, err);
    if (!take_digits(&p, &whole))
        return cli_fail(err, RESPLIT_EINVAL, QUOTE " is too large: sizes end below 8 EiB", text);
    bool has_point = *p == '.';
    p += has_point;
    if (has_point && !take_fraction(&p, &billionths))
        return fail_size(text, err);
    p = skip_spaces(p);
    if (is_bare_prefix(p)) {
        char prefix = (char)(p[0] & ~0x20);
        return cli_fail(err, RESPLIT_EINVAL,
                        QUOTE " has two meanings: write %cB (powers of 1000) or %ciB (powers of 1024)", text, prefix,
                        prefix);
    }
    int64_t unit = unit_bytes(p);
    if (unit == 0)
        return fail_size(text, err);
    if (has_point && unit == 1)
        return cli_fail(err, RESPLIT_EINVAL, QUOTE " is not a whole number of bytes", text);
    /* billionths < 1e9 and unit <= 2^40 could overflow together: take the unit's billions first. */
    int64_t part = unit / 1000000000 * billionths + unit % 1000000000 * billionths / 1000000000;
    if (__builtin_mul_overflow(whole, unit, &value) || __builtin_add_overflow(value, part, &value))
        return cli_fail(err, RESPLIT_EINVAL, QUOTE " is too large: sizes end below 8 EiB", text);
    *bytes = value;
    return true;
}

/* ---- Shapes and chunks ---------------------------------------------------------------------------------------- */

static bool fail_ndim(const char *text, resplit_error *err)
{
    return cli_fail(err, RESPLIT_EINVAL, QUOTE " has more than %d axes", text, RESPLIT_MAX_NDIM);
}

/* Behind one axis: the end, or a comma and another axis. */
static bool take_comma(const char **at)
{
    const char *p = skip_spaces(*at);

    if (*p != ',')
        return false;
    *at = skip_spaces(p + 1);
    return true;
}

/* One length per axis, from 0; or, where it may be the whole axis, from 1, or -1. */
static bool parse_lengths(const char *text, bool may_be_whole, const char *refusal, struct cli_shape *out,
                          resplit_error *err)
{
    const char *p = skip_spaces(text);

    *out = (struct cli_shape){0};
    struct cli_shape shape = {0};
    do {
        if (shape.ndim == RESPLIT_MAX_NDIM)
            return fail_ndim(text, err);
        int64_t *length = &shape.extent[shape.ndim];
        bool good = may_be_whole ? take_integer(&p, length) && (*length > 0 || *length == -1) : take_digits(&p, length);
        if (!good)
            return cli_fail(err, RESPLIT_EINVAL, QUOTE " %s", text, refusal);
        shape.ndim++;
    } while (take_comma(&p));
    if (*skip_spaces(p) != '\0')
        return cli_fail(err, RESPLIT_EINVAL, QUOTE " %s", text, refusal);
    *out = shape;
    return true;
}

bool cli_parse_shape(const char *text, struct cli_shape *out, resplit_error *err)
{
    return parse_lengths(text, false, "is not a shape: write one length per axis, as 250,250,100", out, err);
}

bool cli_parse_shards(const char *text, struct cli_shape *out, resplit_error *err)
{
    return parse_lengths(text, true, "is no list of lengths: write one per axis, as 256,256,-1", out, err);
}

void cli_chunks_release(struct cli_chunks *chunks)
{
    free(chunks->lengths);
    *chunks = (struct cli_chunks){0};
}

/* One axis: "64", "-1" or "10+20+30". Lengths of an uneven axis go to `room`, which holds enough. */
static bool take_axis_chunks(const char **at, resplit_chunks *axis, int64_t *room)
{
    int64_t n = 0, length;

    do {
        if (!take_integer(at, &length) || length == 0)
            return false;
        room[n++] = length;
        if (length < 0 && (length != -1 || n > 1 || **at == '+'))
            return false;
    } while (**at == '+' && (*at)++);
    *axis = n == 1 ? (resplit_chunks){.length = room[0]} : (resplit_chunks){.count = n, .lengths = room};
    return true;
}

bool cli_parse_chunks(const char *text, struct cli_chunks *out, resplit_error *err)
{
    const char *p = skip_spaces(text);
    size_t n_numbers = 1;

    cli_chunks_release(out);
    for (const char *q = text; *q; q++)
        n_numbers += *q == ',' || *q == '+';
    int64_t *room = malloc(n_numbers * sizeof *room);
    if (!room)
        return cli_fail(err, RESPLIT_ENOMEM, "no memory for a list of %zu chunk lengths", n_numbers);
    out->lengths = room;
    do {
        if (out->ndim == RESPLIT_MAX_NDIM) {
            cli_chunks_release(out);
            return fail_ndim(text, err);
        }
        resplit_chunks *axis = &out->axis[out->ndim];
        if (!take_axis_chunks(&p, axis, room))
            goto refuse;
        room += axis->count;
        out->ndim++;
    } while (take_comma(&p));
    if (*skip_spaces(p) == '\0')
        return true;
refuse:
    cli_chunks_release(out);
    return cli_fail(err, RESPLIT_EINVAL,
                    QUOTE " is not a list of chunk lengths: write one per axis, as 64,64,-1 (-1: the whole axis; "
                          "10+20+30: an uneven axis)",
                    text);
}

/* ---- Regions -------------------------------------------------------------------------------------------------- */

static bool take_slice(const char **at, struct cli_slice *slice)
{
    slice->has_start = take_integer(at, &slice->start);
    slice->is_index = slice->has_start && **at != ':';
    if (slice->is_index)
        return true;
    if (**at != ':')
        return false;
    (*at)++;
    slice->has_stop = take_integer(at, &slice->stop);
    return true;
}

bool cli_parse_roi(const char *text, struct cli_roi *out, resplit_error *err)
{
    const char *p = skip_spaces(text);

    *out = (struct cli_roi){0};
    struct cli_roi roi = {0};
    do {
        if (roi.ndim == RESPLIT_MAX_NDIM)
            return fail_ndim(text, err);
        if (!take_slice(&p, &roi.axis[roi.ndim]))
            goto refuse;
        if (*p == ':')
            return cli_fail(err, RESPLIT_EINVAL, QUOTE " has a step: a region is a box, write start:stop", text);
        roi.ndim++;
    } while (take_comma(&p));
    if (*skip_spaces(p) != '\0')
        goto refuse;
    *out = roi;
    return true;
refuse:
    return cli_fail(err, RESPLIT_EINVAL, QUOTE " is not a region: write one slice per axis, as 10:20,:,5", text);
}

/* Where a bound lies on an axis of length n, by the rules of Python's slices. */
static int64_t clip(int64_t bound, int64_t n)
{
    if (bound < 0)
        bound += n;
    return bound < 0 ? 0 : bound > n ? n : bound;
}

bool cli_roi_resolve(const struct cli_roi *roi, int ndim, const int64_t *shape, int64_t *start, int64_t *stop,
                     resplit_error *err)
{
    if (roi->ndim != ndim)
        return cli_fail(err, RESPLIT_EINVAL, "--roi names %d %s and the array has %d: write ':' for a whole axis",
                        roi->ndim, roi->ndim == 1 ? "axis" : "axes", ndim);
    for (int d = 0; d < ndim; d++) {
        const struct cli_slice *s = &roi->axis[d];
        long long n = shape[d];

        if (s->is_index) {
            if (s->start >= n || s->start < -n)
                return cli_fail(err, RESPLIT_EINVAL, "--roi: index %lld is outside axis %d, which has length %lld",
                                (long long)s->start, d, n);
            start[d] = clip(s->start, n);
            stop[d] = start[d] + 1;
            continue;
        }
        start[d] = s->has_start ? clip(s->start, n) : 0;
        stop[d] = s->has_stop ? clip(s->stop, n) : n;
        if (start[d] >= stop[d] && n > 0)
            return cli_fail(err, RESPLIT_EINVAL, "--roi is empty: from %lld to %lld on axis %d, which has length %lld",
                            (long long)start[d], (long long)stop[d], d, n);
    }
    return true;
}
