/* SPDX-License-Identifier: BSD-3-Clause */
/* options.c - candidate cuts along one axis. */
#include "plan/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHORT_AXIS = 7,       /* up to here all 2^(n-1) lists of cuts are tried */
    MOST_CUTS = 4 * 1024, /* in one list: a plan should not need memory to save memory */
};

/* ---- Adding one ---------------------------------------------------------------------------- */

static void release_option(rs_option *option)
{
    free(option->cuts);
    rs_stretches_release(&option->stretches);
}

static bool is_same_axis(const rs_axis *a, const rs_axis *b)
{
    if (a->n != b->n || a->step != b->step || a->first != b->first || a->last != b->last) {
        return false;
    }
    return a->step > 0 || memcmp(a->cuts, b->cuts, (size_t)(a->n + 1) * sizeof *a->cuts) == 0;
}

static bool is_known(const rs_options *options, const rs_axis *axis)
{
    for (int i = 0; i < options->n; i++) {
        if (is_same_axis(&options->at[i].axis, axis)) {
            return true;
        }
    }
    return false;
}

/* An axis whose cuts live elsewhere becomes an option with cuts of its own. */
static resplit_status add_variant(rs_options *options, const rs_problem *problem, int d, const rs_axis *axis, bool kept,
                                  resplit_error *err)
{
    if (options->n == options->room) {
        int room = options->room < 32 ? 32 : 2 * options->room;
        rs_option *at = realloc(options->at, (size_t)room * sizeof *at);
        if (at == NULL) {
            return rs_fail_errno(err, ENOMEM, "cannot allocate %d ways to cut an axis", room);
        }
        options->at = at;
        options->room = room;
    }
    rs_option option = {.axis = *axis, .kept = kept, .longest = rs_max(1, rs_axis_longest(axis))};
    if (axis->step == 0) {
        size_t bytes = (size_t)(axis->n + 1) * sizeof *option.cuts;
        option.cuts = malloc(bytes);
        if (option.cuts == NULL) {
            return rs_fail_errno(err, ENOMEM, "cannot allocate %lld cuts", (long long)axis->n);
        }
        memcpy(option.cuts, axis->cuts, bytes);
        option.axis.cuts = option.cuts;
    }
    option.source = rs_pieces_count(&problem->source.axis[d], axis);
    option.target = rs_pieces_count(&problem->target.axis[d], kept ? NULL : axis);
    options->shortest = options->n == 0 ? option.longest : rs_min(options->shortest, option.longest);
    options->at[options->n++] = option;
    return RESPLIT_OK;
}

/* Without leftovers there is nothing to keep; with leftovers there is the choice, unless blocks are
   only written whole. */
static resplit_status add_axis(rs_options *options, const rs_problem *problem, int d, const rs_axis *axis,
                               resplit_error *err)
{
    if (is_known(options, axis)) {
        return RESPLIT_OK;
    }
    rs_plan plan = {.ndim = problem->ndim};
    plan.buffer[d] = *axis;
    bool left_over = rs_plan_leftover(problem, &plan, d) > 0;
    if (!left_over || !problem->target.atomic) {
        RS_TRY(add_variant(options, problem, d, axis, false, err));
    }
    return left_over ? add_variant(options, problem, d, axis, true, err) : RESPLIT_OK;
}

/* ---- Families ------------------------------------------------------------------------------ */

typedef struct maker {
    rs_options *options;
    const rs_problem *problem;
    int d;
    int64_t *cuts; /* room for MOST_CUTS + 1 */
} maker;

/* Small numbers one by one, larger ones in growing steps. */
static int64_t next_count(int64_t n)
{
    return n < 8 ? n + 1 : n + n / 3;
}

static resplit_status add_cuts(const maker *m, int64_t n, resplit_error *err)
{
    rs_axis axis = rs_axis_uneven(m->cuts, n);
    return add_axis(m->options, m->problem, m->d, &axis, err);
}

/* Buffers of g blocks, for growing g. */
static resplit_status add_groups(const maker *m, const rs_axis *blocks, resplit_error *err)
{
    for (int64_t g = 1; g < blocks->n; g = next_count(g)) {
        int64_t n = 0;
        if (rs_ceil_div(blocks->n, g) > MOST_CUTS) {
            continue;
        }
        for (int64_t i = g; i < blocks->n; i += g) {
            m->cuts[++n] = rs_axis_span(blocks, i).lo;
        }
        m->cuts[++n] = blocks->extent;
        RS_TRY(add_cuts(m, n, err));
    }
    return RESPLIT_OK;
}

/* Each block in q nearly equal parts, for growing q. */
static resplit_status add_parts(const maker *m, const rs_axis *blocks, resplit_error *err)
{
    int64_t longest = rs_axis_longest(blocks);
    for (int64_t q = 2; q <= longest; q = next_count(q)) {
        int64_t n = 0;
        if (blocks->n > MOST_CUTS / q) {
            break;
        }
        for (int64_t i = 0; i < blocks->n; i++) {
            rs_span span = rs_axis_span(blocks, i);
            int64_t length = span.hi - span.lo, parts = rs_min(q, length);
            for (int64_t k = 1; k <= parts; k++) {
                m->cuts[++n] = span.lo + (int64_t)((__int128)length * k / parts);
            }
        }
        RS_TRY(add_cuts(m, n, err));
    }
    return RESPLIT_OK;
}

static resplit_status add_even(const maker *m, resplit_error *err)
{
    int64_t extent = m->problem->shape[m->d];
    for (int64_t step = rs_max(1, extent); step >= 1; step /= 2) {
        rs_axis axis = rs_axis_even(extent, step);
        RS_TRY(add_axis(m->options, m->problem, m->d, &axis, err));
    }
    return RESPLIT_OK;
}

/* Every list of cuts there is. */
static resplit_status add_all(const maker *m, resplit_error *err)
{
    int64_t extent = m->problem->shape[m->d];
    for (int bits = 0; bits < 1 << (extent - 1); bits++) {
        int64_t n = 0;
        for (int64_t x = 1; x < extent; x++) {
            if ((bits >> (x - 1) & 1) != 0) {
                m->cuts[++n] = x;
            }
        }
        m->cuts[++n] = extent;
        RS_TRY(add_cuts(m, n, err));
    }
    return RESPLIT_OK;
}

static resplit_status add_families(const maker *m, resplit_error *err)
{
    RS_TRY(add_even(m, err));
    const rs_axis *grids[] = {&m->problem->source.axis[m->d], &m->problem->target.axis[m->d]};
    for (int i = 0; i < 2; i++) {
        RS_TRY(add_groups(m, grids[i], err));
        RS_TRY(add_parts(m, grids[i], err));
    }
    return RESPLIT_OK;
}

resplit_status rs_options_make(const rs_problem *problem, int d, rs_options *out, resplit_error *err)
{
    int64_t extent = problem->shape[d];
    *out = (rs_options){0};
    maker m = {.options = out, .problem = problem, .d = d};
    m.cuts = calloc(MOST_CUTS + 2, sizeof *m.cuts);
    if (m.cuts == NULL) {
        return rs_fail_errno(err, ENOMEM, "cannot allocate room for cuts");
    }
    resplit_status rc = extent >= 1 && extent <= SHORT_AXIS ? add_all(&m, err) : add_families(&m, err);
    free(m.cuts);
    if (rc != RESPLIT_OK) {
        rs_options_release(out);
    }
    return rc;
}

void rs_options_release(rs_options *options)
{
    for (int i = 0; i < options->n; i++) {
        release_option(&options->at[i]);
    }
    free(options->at);
    *options = (rs_options){0};
}

const rs_stretches *rs_option_stretches(const rs_problem *problem, int d, rs_option *option)
{
    rs_stretches *stretches = &option->stretches;
    bool made = stretches->n > 0
                || rs_stretches_make(&option->axis, &problem->target.axis[d], option->kept, RS_PIECES, stretches);
    return made ? stretches : NULL;
}
