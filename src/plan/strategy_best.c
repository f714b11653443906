/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * strategy_best.c - the lowest price that memory allows, which is the fewest seeks unless bytes count too: a search
 * over cuts along every axis, kept axes and loop orders.
 *
 * Axes are decided from the fastest of the source to the slowest. Cutting an axis more never saves a seek, so the seeks
 * with all undecided axes uncut are a lower bound; a product of buffer lengths is one for memory. What the other
 * strategies propose is where the search starts, so it is never worse than any of them.
 *
 *   options  per axis, with pieces and stretches computed once (options.h)
 *   panels   along the slowest axis the seeks add up cut by cut, so the best cuts of a given thickness are found among all
 *            positions by dynamic programming
 *   orders   of loops, the one that holds the least (orders.h)
 */
#include "plan/options.h"
#include "plan/orders.h"
#include "plan/panels.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LONGEST_PANEL = 64 * 1024, /* axis that dynamic programming is used on */
    MOST_TIES = 1000,          /* plans that can only be as good in price, and better in memory */
    MOST_WORK = 2000000,       /* buffers whose peak is computed, before the best so far is taken */
};

typedef struct search {
    const rs_problem *problem;
    rs_plan *best; /* what was found, if anything was */
    bool found;
    bool thrifty; /* looks for the least memory instead of the lowest price */
    rs_price price;
    int64_t limit; /* elements that may be held */
    rs_options options[RS_MAX_NDIM];
    rs_pieces uncut_source[RS_MAX_NDIM], uncut_target[RS_MAX_NDIM];
    int decide[RS_MAX_NDIM];        /* axes in the order of decision */
    rs_option *chosen[RS_MAX_NDIM]; /* by axis; NULL: undecided */
    rs_option *taken[RS_MAX_NDIM];  /* what best is made of */
    bool known;                     /* `taken` holds: best is not another strategy's, nor made of panels */
    int64_t work, ties;             /* so far */
    int64_t *panel;                 /* room for rs_panels_cut, or NULL */
    resplit_status failed;
} search;

/* ---- Bounds -------------------------------------------------------------------------------- */

static double price_of(const search *s, const resplit_cost *cost)
{
    return s->price.seek * (double)(cost->read_seeks + cost->write_seeks)
           + s->price.byte * ((double)cost->bytes_read + (double)cost->bytes_written);
}

/* The price of what is chosen, everything undecided being uncut. */
static double price_so_far(const search *s)
{
    rs_pieces source[RS_MAX_NDIM], target[RS_MAX_NDIM];
    for (int d = 0; d < s->problem->ndim; d++) {
        source[d] = s->chosen[d] != NULL ? s->chosen[d]->source : s->uncut_source[d];
        target[d] = s->chosen[d] != NULL ? s->chosen[d]->target : s->uncut_target[d];
    }
    resplit_cost cost = {.read_seeks = rs_pieces_runs(&s->problem->source, source),
                         .write_seeks = rs_pieces_runs(&s->problem->target, target),
                         .bytes_read = rs_pieces_bytes(&s->problem->source, source),
                         .bytes_written = rs_pieces_bytes(&s->problem->target, target)};
    return price_of(s, &cost);
}

/* Elements of the largest buffer, undecided axes being as thin as they can be; saturates. */
static int64_t least_buffer(const search *s)
{
    int64_t n = 1;
    for (int d = 0; d < s->problem->ndim; d++) {
        if (!rs_mul(n, s->chosen[d] != NULL ? s->chosen[d]->longest : s->options[d].shortest, &n)) {
            return INT64_MAX;
        }
    }
    return n;
}

static double best_price(const search *s)
{
    return s->found ? price_of(s, &s->best->predicted) : HUGE_VAL;
}

/* Can a plan with at least this price and these buffers be better than what was found? */
static bool is_promising(const search *s, double price, int64_t buffer)
{
    if (buffer > s->limit || (!s->thrifty && price > best_price(s))) {
        return false;
    }
    const resplit_cost *best = &s->best->predicted;
    if (!s->found || (!s->thrifty && price < best_price(s))) {
        return true;
    }
    int64_t bytes = s->thrifty ? best->peak_bytes : best->held_bytes;
    return s->ties < MOST_TIES && buffer < bytes / s->problem->itemsize;
}

/* ---- Taking -------------------------------------------------------------------------------- */

/* Copies an axis into a plan that will own its cuts. */
static resplit_status set_axis(rs_plan *plan, int d, const rs_axis *axis)
{
    plan->buffer[d] = *axis;
    if (axis->step > 0) {
        return RESPLIT_OK;
    }
    size_t bytes = (size_t)(axis->n + 1) * sizeof *axis->cuts;
    int64_t *cuts = malloc(bytes);
    if (cuts == NULL) {
        return RESPLIT_ENOMEM;
    }
    memcpy(cuts, axis->cuts, bytes);
    free(plan->cuts[d]);
    plan->cuts[d] = cuts;
    plan->buffer[d].cuts = cuts;
    return RESPLIT_OK;
}

static bool is_better(const search *s, const resplit_cost *a)
{
    const resplit_cost *b = &s->best->predicted;
    if (!s->found) {
        return true;
    }
    if (s->thrifty) {
        return a->peak_bytes < b->peak_bytes;
    }
    return price_of(s, a) != price_of(s, b) ? price_of(s, a) < price_of(s, b) : a->held_bytes < b->held_bytes;
}

/* Makes a plan of what is chosen and, if it fits and is better, takes it. */
static void take_chosen(search *s, const int *loop)
{
    rs_plan plan = {.strategy = s->best->strategy,
                    .ndim = s->problem->ndim,
                    .memory = s->best->memory,
                    .crew = s->best->crew,
                    .n_staging = s->best->n_staging,
                    .thrifty = s->best->thrifty,
                    .price = s->price};
    for (int d = 0; d < plan.ndim && s->failed == RESPLIT_OK; d++) {
        plan.loop[d] = loop[d];
        plan.kept |= (uint32_t)s->chosen[d]->kept << d;
        s->failed = set_axis(&plan, d, &s->chosen[d]->axis);
    }
    bool fits = s->failed == RESPLIT_OK && rs_plan_predict(s->problem, &plan);
    if (s->thrifty) { /* nothing fits one byte: then peak_bytes is what it takes */
        fits = s->failed == RESPLIT_OK && rs_plan_is_allowed(s->problem, &plan);
    }
    if (fits && is_better(s, &plan.predicted)) {
        rs_plan_release(s->best);
        *s->best = plan;
        s->found = s->known = true;
        memcpy(s->taken, s->chosen, sizeof s->taken);
        return;
    }
    rs_plan_release(&plan);
}

/* Can what is chosen be better, as it holds so many elements? It costs a lot to find out whether it is. */
static bool is_worth(const search *s, double price, int64_t peak)
{
    const resplit_cost *best = &s->best->predicted;
    int64_t bytes = rs_mul_most(peak, s->problem->itemsize);
    if (!s->found) {
        return true;
    }
    if (s->thrifty) {
        return bytes < best->peak_bytes;
    }
    return price < best_price(s) || (price == best_price(s) && bytes < best->held_bytes);
}

static void try_leaf(search *s)
{
    int loop[RS_MAX_NDIM] = {0};
    double price = price_so_far(s);
    s->ties += s->found && price == best_price(s);
    int64_t peak = rs_orders_find(s->problem, s->chosen, loop, &s->work);
    if (peak < INT64_MAX && peak <= s->limit && is_worth(s, price, peak)) { /* without memory there is no order */
        take_chosen(s, loop);
    }
}

/* ---- Panels -------------------------------------------------------------------------------- */

/* With all axes but d decided, d slowest on both sides and nothing waiting along it: as thick as memory allows. */
static void try_panels(search *s, int d)
{
    int loop[RS_MAX_NDIM];
    int64_t source_weight = 1, target_weight = 1, extent = s->problem->shape[d];
    if (s->panel == NULL) {
        return;
    }
    int64_t peak = rs_orders_find(s->problem, s->chosen, loop, &s->work);
    int64_t thickness = peak > 0 ? rs_min(s->limit / peak, extent) : extent;
    if (thickness < 1) {
        return;
    }
    for (int e = 0; e < s->problem->ndim; e++) {
        source_weight *= e == d ? 1 : s->chosen[e]->source.full;
        target_weight *= e == d ? 1 : s->chosen[e]->target.full;
    }
    rs_panels panels = {&s->problem->source.axis[d], &s->problem->target.axis[d], source_weight, target_weight};
    int64_t n = rs_panels_cut(&panels, thickness, s->panel);
    rs_option option = {.axis = rs_axis_uneven(s->panel, n)};
    option.source = rs_pieces_count(&s->problem->source.axis[d], &option.axis);
    option.target = rs_pieces_count(&s->problem->target.axis[d], &option.axis);
    option.longest = rs_axis_longest(&option.axis);
    s->chosen[d] = &option;
    if (is_promising(s, price_so_far(s), least_buffer(s))) {
        double price = best_price(s);
        try_leaf(s);
        s->known = s->known && price == best_price(s) && s->taken[d] != &option;
    }
    rs_stretches_release(&option.stretches);
    s->chosen[d] = NULL;
}

/* ---- The search ---------------------------------------------------------------------------- */

typedef struct candidate {
    rs_option *option;
    double price;
    int64_t buffer;
} candidate;

static int by_price_then_buffer(const void *a, const void *b)
{
    const candidate *p = a, *q = b;
    if (p->price != q->price) {
        return p->price < q->price ? -1 : 1;
    }
    if (p->buffer != q->buffer) {
        return p->buffer < q->buffer ? -1 : 1;
    }
    return (p->option > q->option) - (p->option < q->option);
}

/* The options of axis d that may still lead somewhere, the most promising first. NULL without memory. */
static candidate *rank(search *s, int d, int *n)
{
    const rs_options *options = &s->options[d];
    candidate *ranked = malloc((size_t)options->n * sizeof *ranked);
    *n = 0;
    if (ranked == NULL) {
        s->failed = RESPLIT_ENOMEM;
        return NULL;
    }
    for (int i = 0; i < options->n; i++) {
        s->chosen[d] = &options->at[i];
        candidate c = {s->chosen[d], price_so_far(s), least_buffer(s)};
        if (is_promising(s, c.price, c.buffer)) {
            ranked[(*n)++] = c;
        }
    }
    s->chosen[d] = NULL;
    qsort(ranked, (size_t)*n, sizeof *ranked, by_price_then_buffer);
    return ranked;
}

/* Decides the axes from number `level` on. The depth of the recursion is the number of axes. */
static void decide(search *s, int level)
{
    if (level == s->problem->ndim) {
        try_leaf(s);
        return;
    }
    int d = s->decide[level], n;
    bool last = level == s->problem->ndim - 1;
    if (last && s->problem->source.order[0] == d && s->problem->target.order[0] == d) {
        try_panels(s, d);
    }
    candidate *ranked = rank(s, d, &n);
    for (int i = 0; i < n && s->failed == RESPLIT_OK && s->work < MOST_WORK; i++) {
        if (is_promising(s, ranked[i].price, ranked[i].buffer)) {
            s->chosen[d] = ranked[i].option;
            decide(s, level + 1);
        }
    }
    s->chosen[d] = NULL;
    free(ranked);
}

/* Ties are many and not all looked at: from the best plan on, one axis at a time, as long as that holds less. */
static void polish(search *s)
{
    int64_t before;
    do {
        before = s->best->predicted.held_bytes;
        for (int d = 0; d < s->problem->ndim && s->known && s->failed == RESPLIT_OK; d++) {
            memcpy(s->chosen, s->taken, sizeof s->chosen);
            for (int i = 0; i < s->options[d].n; i++) {
                s->chosen[d] = &s->options[d].at[i];
                if (price_so_far(s) <= best_price(s)
                    && least_buffer(s) < s->best->predicted.held_bytes / s->problem->itemsize) {
                    try_leaf(s);
                }
            }
        }
    } while (s->known && s->best->predicted.held_bytes < before);
    memset(s->chosen, 0, sizeof s->chosen);
}

/* One round of the other strategies with `memory`. err keeps the least that one of them needs. */
static void ask_others(search *s, int64_t memory, resplit_error *err)
{
    static const rs_strategy *const others[] = {&rs_strategy_keep, &rs_strategy_multiple, &rs_strategy_clustered,
                                                &rs_strategy_naive};
    int64_t budget = s->best->memory;
    rs_request request = {.memory = memory, .n_staging = s->best->n_staging};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        rs_plan plan;
        resplit_error why = {0};
        if (!rs_strategy_applies(others[i], s->problem)
            || rs_plan_init(s->problem, s->best->strategy, &request, &plan, NULL) != RESPLIT_OK) {
            continue;
        }
        plan.crew = s->best->crew;
        resplit_status rc = others[i]->propose(s->problem, &plan, &why);
        plan.memory = budget;
        plan.thrifty = s->best->thrifty;
        if (rc == RESPLIT_OK && rs_plan_predict(s->problem, &plan) && is_better(s, &plan.predicted)) {
            rs_plan_release(s->best);
            *s->best = plan;
            s->found = true;
            continue;
        }
        if (rc == RESPLIT_EBUDGET && why.needed_bytes < err->needed_bytes) {
            *err = why;
        }
        rs_plan_release(&plan);
    }
}

/*
 * What the other strategies find is where the search starts. They use what they are given; where half of it gives as
 * few seeks, half of it is enough.
 */
static void start_with_others(search *s, resplit_error *err)
{
    resplit_error ignored = {.needed_bytes = INT64_MAX};
    int64_t held;
    *err = ignored;
    ask_others(s, s->best->memory, err);
    do {
        held = s->best->predicted.held_bytes;
        if (s->found) {
            ask_others(s, s->best->predicted.held_bytes / 2, &ignored);
        }
    } while (s->found && s->best->predicted.held_bytes < held);
}

static resplit_status set_up(search *s, resplit_error *err)
{
    const rs_problem *problem = s->problem;
    for (int i = 0; i < problem->ndim; i++) {
        int d = problem->source.order[problem->ndim - 1 - i];
        s->decide[i] = d;
        s->uncut_source[d] = rs_pieces_count(&problem->source.axis[d], NULL);
        s->uncut_target[d] = rs_pieces_count(&problem->target.axis[d], NULL);
        RS_TRY(rs_options_make(problem, d, &s->options[d], err));
    }
    int64_t extent = problem->ndim > 0 ? problem->shape[problem->source.order[0]] : 0;
    if (extent > 0 && extent <= LONGEST_PANEL) {
        s->panel = malloc((size_t)rs_panels_room(extent) * sizeof *s->panel);
    }
    return RESPLIT_OK;
}

/*
 * Nothing was found within the work allowed, or nothing fits: looks for the plan with the least memory instead. Takes
 * it if it does fit, else the refusal names what it needs.
 */
static resplit_status find_least(search *s, resplit_error *err)
{
    int64_t memory = s->best->memory;
    s->thrifty = true;
    s->limit = INT64_MAX;
    s->best->memory = 1;
    s->work = s->ties = 0;
    decide(s, 0);
    s->best->memory = memory;
    if (!s->found) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "no plan in one pass can access these blocks as they must be");
    }
    return rs_plan_predict(s->problem, s->best) ? RESPLIT_OK : rs_plan_refuse(s->problem, s->best, err);
}

static resplit_status run_search(search *s, resplit_error *err)
{
    resplit_error refused;
    start_with_others(s, &refused);
    bool seeded = refused.needed_bytes != INT64_MAX;
    if (!s->found && seeded) { /* the least of the others is the least there is: one element at a time */
        if (err != NULL) {
            *err = refused;
        }
        return RESPLIT_EBUDGET;
    }
    if (s->problem->n_elements == 0) { /* nothing to search: the one buffer that the plan came with */
        bool fits = s->found || rs_plan_predict(s->problem, s->best);
        return fits ? RESPLIT_OK : rs_plan_refuse(s->problem, s->best, err);
    }
    RS_TRY(set_up(s, err));
    decide(s, 0);
    polish(s);
    if (s->failed != RESPLIT_OK) {
        return rs_fail_errno(err, ENOMEM, "cannot allocate a plan");
    }
    return s->found ? RESPLIT_OK : find_least(s, err);
}

static resplit_status propose(const rs_problem *problem, rs_plan *plan, resplit_error *err)
{
    search *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return rs_fail_errno(err, ENOMEM, "cannot allocate a search");
    }
    *s = (search){.problem = problem, .best = plan, .price = plan->price, .limit = plan->memory / problem->itemsize};
    resplit_status rc = run_search(s, err);
    if (rc == RESPLIT_OK) {
        rs_plan_align(problem, plan);
    }
    for (int d = 0; d < problem->ndim; d++) {
        rs_options_release(&s->options[d]);
    }
    free(s->panel);
    free(s);
    return rc;
}

const rs_strategy rs_strategy_best = {"best", true, NULL, NULL, propose};
