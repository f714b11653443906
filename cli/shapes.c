/* SPDX-License-Identifier: BSD-3-Clause */
/* shapes.c - candidate lengths per axis, and the few combinations of them that are worth a plan. */
#include "shapes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Lengths to choose from along one axis, the most promising first. */
enum { MOST_OPTIONS = 6, MOST_COMBINATIONS = 1 << 16, MOST_SUBSET_AXES = 4 };

/* What a length that does not meet the source's cuts is set back by, when there are too many shapes to try them all. */
#define UNALIGNED 0.5

struct option {
    int64_t length;
    double distance;
};

struct axis_options {
    int n;
    struct option option[MOST_OPTIONS];
};

bool cli_parse_access(const char *text, struct cli_access *out, resplit_error *err)
{
    *out = (struct cli_access){0};
    if (strcmp(text, "cubes") == 0) {
        out->kind = CLI_CUBES;
        return true;
    }
    bool series = strncmp(text, "series:", 7) == 0;
    if (series || strncmp(text, "slices:", 7) == 0) {
        char *end;
        long axis = strtol(text + 7, &end, 10);
        if (text[7] >= '0' && text[7] <= '9' && *end == '\0' && axis < RESPLIT_MAX_NDIM) {
            out->kind = series ? CLI_SERIES : CLI_SLICES;
            out->axis = (int)axis;
            return true;
        }
    }
    return cli_fail(err, RESPLIT_EINVAL, "'%.60s' is not a way to read an array: write series:0, slices:0 or cubes",
                    text);
}

static int64_t extent_of(const struct cli_cutting *cutting, int d)
{
    return cutting->shape[d] > 1 ? cutting->shape[d] : 1;
}

/* ---- The ideal ------------------------------------------------------------------------------------------------ */

/* Equal lengths of together about `elements` along the axes that have none yet; what is shorter is taken whole. */
static void fill_equal(const struct cli_cutting *cutting, double elements, int64_t *lengths)
{
    for (bool again = true; again;) {
        double side, left = elements;
        int n = 0;

        for (int d = 0; d < cutting->ndim; d++) {
            n += lengths[d] == 0;
            left /= lengths[d] > 0 ? (double)lengths[d] : 1;
        }
        if (n == 0)
            return;
        /* A little more, so that the root of 64^3 is 64. */
        side = pow(left > 1 ? left : 1, 1.0 / n) * (1 + 1e-9);
        again = false;
        for (int d = 0; d < cutting->ndim; d++) {
            if (lengths[d] == 0 && (double)extent_of(cutting, d) <= side) {
                lengths[d] = extent_of(cutting, d);
                again = true;
            }
        }
        for (int d = 0; d < cutting->ndim && !again; d++) {
            if (lengths[d] == 0)
                lengths[d] = (int64_t)side;
        }
    }
}

/* The fastest axes whole as far as that goes: what is cut is cut into bands that lie together in a file. */
static void fill_fastest(const struct cli_cutting *cutting, double elements, int64_t *lengths)
{
    for (int i = 0; i < cutting->ndim; i++) {
        int d = cutting->order == 'F' ? i : cutting->ndim - 1 - i;

        if (lengths[d] > 0)
            continue;
        double most = elements > 1 ? elements : 1;
        lengths[d] = (double)extent_of(cutting, d) <= most ? extent_of(cutting, d) : (int64_t)most;
        elements /= (double)lengths[d];
    }
}

void cli_shape_ideal(const struct cli_cutting *cutting, const struct cli_access *access, int64_t bytes,
                     int64_t lengths[RESPLIT_MAX_NDIM])
{
    double elements = (double)bytes / (double)(cutting->itemsize > 0 ? cutting->itemsize : 1), slice = 1;

    memset(lengths, 0, RESPLIT_MAX_NDIM * sizeof *lengths);
    if (access->kind == CLI_SERIES) {
        int64_t extent = extent_of(cutting, access->axis);
        lengths[access->axis] = (double)extent <= elements ? extent : elements > 1 ? (int64_t)elements : 1;
    }
    if (access->kind != CLI_SLICES) {
        fill_equal(cutting, elements, lengths);
        return;
    }
    for (int d = 0; d < cutting->ndim; d++)
        slice *= d == access->axis ? 1 : (double)extent_of(cutting, d);
    double thick = elements / slice, most = (double)extent_of(cutting, access->axis);
    lengths[access->axis] = (int64_t)(thick > most ? most : thick > 1 ? thick : 1);
    fill_fastest(cutting, elements / (double)lengths[access->axis], lengths);
}

/* ---- Options along one axis ----------------------------------------------------------------------------------- */

static bool is_aligned(int64_t length, int64_t source, int64_t extent)
{
    return length >= extent || length % source == 0 || source % length == 0;
}

/* Adds a length if it is new and within [least, most] of `wanted`, in order of distance. */
static void add_option(struct axis_options *axis, int64_t length, int64_t wanted, double least, double most)
{
    struct option added = {length, fabs(log((double)length / (double)wanted))};
    int at = axis->n;

    if ((double)length < least * (double)wanted || (double)length > most * (double)wanted)
        return;
    for (int i = 0; i < axis->n; i++) {
        if (axis->option[i].length == length)
            return;
    }
    while (at > 0 && axis->option[at - 1].distance > added.distance)
        at--;
    if (at == MOST_OPTIONS)
        return;
    axis->n += axis->n < MOST_OPTIONS;
    for (int i = axis->n - 1; i > at; i--)
        axis->option[i] = axis->option[i - 1];
    axis->option[at] = added;
}

/* Lengths that meet the cuts of the source: its multiples and its divisors next to `wanted`, and the whole axis. */
static void add_aligned(struct axis_options *axis, int64_t wanted, int64_t source, int64_t extent, double least,
                        double most)
{
    int64_t below = 0, above = INT64_MAX;

    for (int64_t k = 1; k <= source / k; k++) {
        if (source % k != 0)
            continue;
        const int64_t pair[2] = {k, source / k};
        for (int i = 0; i < 2; i++) {
            below = pair[i] <= wanted && pair[i] > below ? pair[i] : below;
            above = pair[i] >= wanted && pair[i] < above ? pair[i] : above;
        }
    }
    if (below > 0)
        add_option(axis, below, wanted, least, most);
    if (above < extent)
        add_option(axis, above, wanted, least, most);
    if (wanted / source > 0)
        add_option(axis, wanted / source * source, wanted, least, most);
    if (source < extent && wanted / source + 1 <= extent / source)
        add_option(axis, (wanted / source + 1) * source, wanted, least, most);
    add_option(axis, extent, wanted, least, most);
}

/* ---- Shapes --------------------------------------------------------------------------------------------------- */

/* Keeps the most promising ones, in order; of equals the first stays first. */
static int insert(struct cli_lengths *out, double *ranks, int n, const struct cli_lengths *shape, double rank)
{
    int at = n;

    while (at > 0 && ranks[at - 1] > rank)
        at--;
    if (at == CLI_MOST_SHAPES)
        return n;
    n += n < CLI_MOST_SHAPES;
    for (int i = n - 1; i > at; i--) {
        out[i] = out[i - 1];
        ranks[i] = ranks[i - 1];
    }
    out[at] = *shape;
    ranks[at] = rank;
    return n;
}

static double bytes_of(const struct cli_cutting *cutting, const int64_t *lengths)
{
    double bytes = (double)cutting->itemsize;

    for (int d = 0; d < cutting->ndim; d++)
        bytes *= (double)lengths[d];
    return bytes;
}

/* The shape that a mixed-radix number stands for. Its rank sets back what does not meet the source's cuts. */
static double pick(const struct cli_cutting *cutting, const struct axis_options *axes, const int *digits,
                   struct cli_lengths *shape)
{
    double rank = 0;

    shape->distance = 0;
    for (int d = 0; d < cutting->ndim; d++) {
        const struct option *option = &axes[d].option[digits[d]];
        shape->length[d] = option->length;
        shape->distance += option->distance;
        rank += is_aligned(option->length, cutting->source[d], extent_of(cutting, d)) ? 0 : UNALIGNED;
    }
    return rank + shape->distance;
}

static void limit_options(struct axis_options *axes, int ndim)
{
    for (int most = MOST_OPTIONS; most > 1; most--) {
        double n = 1;

        for (int d = 0; d < ndim; d++)
            n *= axes[d].n < most ? axes[d].n : most;
        if (n <= MOST_COMBINATIONS || most == 2) {
            for (int d = 0; d < ndim; d++)
                axes[d].n = axes[d].n < most ? axes[d].n : most;
            return;
        }
    }
}

int cli_shapes_near(const struct cli_cutting *cutting, const int64_t *ideal, int64_t bytes,
                    struct cli_lengths out[CLI_MOST_SHAPES])
{
    struct axis_options axes[RESPLIT_MAX_NDIM] = {{0}};
    double ranks[CLI_MOST_SHAPES], whole = bytes_of(cutting, cutting->shape);
    double limit = whole < (double)bytes ? whole : (double)bytes;
    int digits[RESPLIT_MAX_NDIM] = {0}, n = 0, d = 0;
    struct cli_lengths shape = {{0}, 0};

    for (int i = 0; i < cutting->ndim; i++) {
        add_option(&axes[i], ideal[i], ideal[i], 1, 1);
        if (ideal[i] > 1 && ideal[i] < extent_of(cutting, i))
            add_aligned(&axes[i], ideal[i], cutting->source[i], extent_of(cutting, i), 0.5, 2);
    }
    limit_options(axes, cutting->ndim);
    do {
        double rank = pick(cutting, axes, digits, &shape), size = bytes_of(cutting, shape.length);
        bool is_ideal = memcmp(shape.length, ideal, (size_t)cutting->ndim * sizeof *ideal) == 0;

        if (is_ideal || (size >= limit / 2 && size <= limit * 2))
            n = insert(out, ranks, n, &shape, is_ideal ? -1 : rank);
        for (d = cutting->ndim - 1; d >= 0 && ++digits[d] == axes[d].n; d--)
            digits[d] = 0;
    } while (d >= 0);
    return n;
}

/* The nearest change along each of several axes; `axes_changed` has their bits. */
static struct cli_lengths change(const struct axis_options *axes, const int64_t *wanted, int ndim,
                                 unsigned axes_changed)
{
    struct cli_lengths shape = {{0}, 0};

    for (int d = 0; d < ndim; d++) {
        bool changed = (axes_changed >> d & 1) != 0;
        shape.length[d] = changed ? axes[d].option[0].length : wanted[d];
        shape.distance += changed ? axes[d].option[0].distance : 0;
    }
    return shape;
}

int cli_shapes_neighbours(const struct cli_cutting *cutting, const int64_t *wanted,
                          struct cli_lengths out[CLI_MOST_SHAPES])
{
    struct axis_options axes[RESPLIT_MAX_NDIM] = {{0}};
    unsigned changeable = 0;
    int n = 0, n_axes = 0;

    for (int d = 0; d < cutting->ndim; d++) {
        if (is_aligned(wanted[d], cutting->source[d], extent_of(cutting, d)))
            continue;
        add_aligned(&axes[d], wanted[d], cutting->source[d], extent_of(cutting, d), 0.75, 1.25);
        for (int i = 0; i < axes[d].n && n < CLI_MOST_SHAPES; i++) {
            out[n] = change(axes, wanted, cutting->ndim, 0);
            out[n].length[d] = axes[d].option[i].length;
            out[n++].distance = axes[d].option[i].distance;
        }
        if (axes[d].n > 0 && n_axes < MOST_SUBSET_AXES) {
            changeable |= 1U << d;
            n_axes++;
        }
    }
    /* Every set of two axes or more, each at its nearest length. */
    for (unsigned set = changeable; set > 0 && n < CLI_MOST_SHAPES; set = (set - 1) & changeable) {
        if ((set & (set - 1)) != 0)
            out[n++] = change(axes, wanted, cutting->ndim, set);
    }
    return n;
}
