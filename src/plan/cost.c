/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cost.c - what a plan costs, exactly and without walking it. Proofs are in docs/algorithm.md, sections 3 and 4.
 *
 * Seeks. Buffer borders cut blocks into pieces; a piece that is a whole block long is "full". With `full` and `part`
 * counted along each axis, slowest first,
 *
 *     runs = prod(full) + sum over t of  prod(extent before t) * part[t] * prod(full after t)
 *
 * Memory. After buffer t has been read, what is held is what was read so far less the units completed before:
 *
 *     held(t) = READ(t) - DONE(t),    both counted in loop order, so both are mixed-radix numbers:
 *
 *     READ = lo*N + w*READ'           lo: elements before the buffer, w: in it         READ' of the inner loops, 1 at last
 *     DONE = F(lo)*N + (F(hi)-F(lo))*DONE'    F: nearest block border below           DONE' of the inner loops, 0 at last
 *
 * where N is the number of elements of the inner loops, and F(x) = x along axes that are not kept. The largest held(t) is
 * found from the innermost loop outwards: of all pairs (READ, DONE) that the inner loops can give only the convex hull can
 * lead to a maximum, since every outer loop combines them linearly.
 */
#include "base/budget.h"
#include "plan/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Seeks --------------------------------------------------------------------------------- */

typedef struct piece_count {
    int64_t full, part;
} piece_count;

/* Pieces of the blocks along one axis, cut at the buffers' borders, or not at all when buffers is NULL. */
static piece_count count_pieces(const rs_axis *blocks, const rs_axis *buffers)
{
    piece_count count = {0, 0};
    for (int64_t i = 0; i < blocks->n; i++) {
        rs_span seen = rs_axis_span(blocks, i), stored = rs_axis_stored(blocks, i);
        int64_t n = 1;
        if (buffers != NULL) {
            n = rs_axis_find(buffers, seen.hi - 1) - rs_axis_find(buffers, seen.lo) + 1;
        }
        if (n == 1 && seen.lo == stored.lo && seen.hi == stored.hi) {
            count.full++;
        } else {
            count.part += n;
        }
    }
    return count;
}

/* Runs over all blocks of a layout; along axes in `uncut` the buffers do not cut. No sum can overflow: there are no more
   runs than elements. */
static int64_t count_runs(const rs_layout *layout, const rs_plan *plan, uint32_t uncut)
{
    int64_t full = 1, runs = 0; /* of the axes faster than the one at hand */
    for (int i = layout->ndim - 1; i >= 0; i--) {
        int d = layout->order[i];
        piece_count count = count_pieces(&layout->axis[d], (uncut >> d & 1) != 0 ? NULL : &plan->buffer[d]);
        runs = layout->axis[d].extent * runs + count.part * full;
        full *= count.full;
    }
    return runs + full;
}

/* ---- Held elements ------------------------------------------------------------------------- */

typedef struct point {
    int64_t read, done;
} point;

typedef struct hull {
    point *at;
    size_t n, room;
} hull;

static int by_read_then_done(const void *a, const void *b)
{
    const point *p = a, *q = b;
    if (p->read != q->read) {
        return p->read < q->read ? -1 : 1;
    }
    return (p->done > q->done) - (p->done < q->done);
}

/* Is b on or above the line from a to c (no better than the better of the two for any weights)? a.read < b.read < c.read. */
static bool is_above(point a, point b, point c)
{
    return (__int128)(b.done - a.done) * (c.read - a.read) >= (__int128)(c.done - a.done) * (b.read - a.read);
}

/* Keeps the points that maximise x * read - y * done for some x, y >= 0: the lower right chain of the convex hull. */
static void hull_reduce(hull *h)
{
    if (h->n < 2) {
        return;
    }
    qsort(h->at, h->n, sizeof *h->at, by_read_then_done);
    size_t n = 0;
    for (size_t i = 0; i < h->n; i++) {
        point p = h->at[i];
        if (n > 0 && h->at[n - 1].read == p.read) {
            continue; /* the same read with less done came first */
        }
        while (n > 0 && h->at[n - 1].done >= p.done) {
            n--;
        }
        while (n > 1 && is_above(h->at[n - 2], h->at[n - 1], p)) {
            n--;
        }
        h->at[n++] = p;
    }
    h->n = n;
}

static bool hull_add(hull *h, point p)
{
    if (h->n == h->room) {
        hull_reduce(h);
        if (h->n >= h->room / 2) {
            size_t room = h->room < 64 ? 64 : 2 * h->room;
            point *at = realloc(h->at, room * sizeof *at);
            if (at == NULL) {
                return false;
            }
            h->at = at;
            h->room = room;
        }
    }
    h->at[h->n++] = p;
    return true;
}

/* Which elements count as taken up once a buffer's border is at x: those read, or all of every unit that was begun. */
typedef enum storage_kind { PIECES, WHOLE_UNITS } storage_kind;

typedef struct loop_axis {
    const rs_axis *buffers, *target;
    bool kept;
    storage_kind storage;
    int64_t inner; /* elements of all inner loops */
} loop_axis;

/* What the inner loops can give, combined with buffer t of this one. */
static bool combine(const loop_axis *a, int64_t t, const hull *inner, hull *outer)
{
    rs_span span = rs_axis_span(a->buffers, t);
    int64_t begun_lo = span.lo, begun_hi = span.hi, done_lo = span.lo, done_hi = span.hi;
    if (a->kept) {
        done_lo = rs_axis_floor(a->target, span.lo);
        done_hi = rs_axis_floor(a->target, span.hi);
        if (a->storage == WHOLE_UNITS) {
            begun_lo = rs_axis_ceil(a->target, span.lo);
            begun_hi = rs_axis_ceil(a->target, span.hi);
        }
    }
    for (size_t i = 0; i < inner->n; i++) {
        point p = {begun_lo * a->inner + (begun_hi - begun_lo) * inner->at[i].read,
                   done_lo * a->inner + (done_hi - done_lo) * inner->at[i].done};
        if (!hull_add(outer, p)) {
            return false;
        }
    }
    return true;
}

/*
 * The buffers that can matter along one axis. Between two block borders nothing changes but lo, in which everything is
 * linear, so the first and the last buffer there suffice: those next to the buffers that hold a border.
 */
static bool combine_all(const loop_axis *a, const hull *inner, hull *outer)
{
    const rs_axis *marks = a->kept ? a->target : NULL;
    int64_t n = a->buffers->n, n_marks = marks != NULL ? marks->n : 0;
    if (a->buffers->step == 0 || n <= 3 * n_marks + 8) {
        for (int64_t t = 0; t < n; t++) {
            if (!combine(a, t, inner, outer)) {
                return false;
            }
        }
        return true;
    }
    int64_t done = -1; /* last buffer combined */
    for (int64_t i = -1; i <= n_marks; i++) {
        int64_t border = i < 0 ? 0 : i == n_marks ? a->buffers->extent : rs_axis_span(marks, i).hi;
        int64_t t = border > 0 ? rs_axis_find(a->buffers, border - 1) : 0;
        for (int64_t near = rs_max(done + 1, t - 2); near <= rs_min(n - 1, t + 2); near++) {
            if (!combine(a, near, inner, outer)) {
                return false;
            }
            done = near;
        }
    }
    return true;
}

/* Most elements held at once; INT64_MAX without memory to find out. */
static int64_t count_held(const rs_problem *problem, const rs_plan *plan, storage_kind storage)
{
    hull inner = {0}, outer = {0};
    int64_t elements = 1, held = INT64_MAX;
    bool ok = hull_add(&inner, (point){1, 0});
    for (int i = plan->ndim - 1; ok && i >= 0; i--) {
        int d = plan->loop[i];
        loop_axis axis = {&plan->buffer[d], &problem->target.axis[d], (plan->kept >> d & 1) != 0, storage, elements};
        outer.n = 0;
        ok = combine_all(&axis, &inner, &outer);
        hull_reduce(&outer);
        hull swap = inner;
        inner = outer;
        outer = swap;
        elements *= problem->shape[d];
    }
    if (ok) {
        held = 0;
        for (size_t i = 0; i < inner.n; i++) {
            held = rs_max(held, inner.at[i].read - inner.at[i].done);
        }
    }
    free(inner.at);
    free(outer.at);
    return held;
}

int64_t rs_plan_leftover(const rs_problem *problem, const rs_plan *plan, int d)
{
    int64_t most = 0;
    const rs_axis *buffers = &plan->buffer[d], *target = &problem->target.axis[d];
    if (target->n <= buffers->n) { /* along each block, the last buffer border inside it leaves most */
        for (int64_t i = 0; i < target->n; i++) {
            rs_span span = rs_axis_span(target, i);
            if (span.hi > 0) {
                most = rs_max(most, rs_axis_floor(buffers, span.hi - 1) - span.lo);
            }
        }
        return most;
    }
    for (int64_t t = 0; t + 1 < buffers->n; t++) {
        int64_t hi = rs_axis_span(buffers, t).hi;
        most = rs_max(most, hi - rs_axis_floor(target, hi));
    }
    return most;
}

/* ---- Bytes --------------------------------------------------------------------------------- */

static int64_t saturating_mul(int64_t a, int64_t b)
{
    int64_t product;
    return rs_mul(a, b, &product) ? product : INT64_MAX;
}

static int64_t saturating_add(int64_t a, int64_t b)
{
    int64_t sum;
    return rs_add(a, b, &sum) ? sum : INT64_MAX;
}

/* The most intervals of `b` that meet one interval of `a`: exact where an axis is uneven, else at most one too many. */
static int64_t most_overlaps(const rs_axis *a, const rs_axis *b)
{
    if (a->step > 0 && b->step > 0) {
        return rs_min(b->n, (rs_axis_longest(a) + b->step - 2) / b->step + 1);
    }
    int64_t most = 1;
    for (int64_t i = 0; i < a->n && most < b->n; i++) {
        rs_span span = rs_axis_span(a, i);
        most = rs_max(most, rs_axis_find(b, span.hi - 1) - rs_axis_find(b, span.lo) + 1);
    }
    return most;
}

/*
 * An upper bound of the pieces (units cut at every buffer border) held at once: the bound of docs/algorithm.md section 4,
 * in pieces instead of elements: prod(w) + sum over p of prod(w, outer) * leftover[p] * prod(n, inner).
 */
static int64_t bound_pieces(const rs_problem *problem, const rs_plan *plan)
{
    int64_t bound = 1, n_inner = 1; /* of the inner loops: held, and in all */
    for (int i = plan->ndim - 1; i >= 0; i--) {
        int d = plan->loop[i];
        const rs_axis *buffers = &plan->buffer[d], *target = &problem->target.axis[d];
        bool left_over = (plan->kept >> d & 1) != 0 && rs_plan_leftover(problem, plan, d) > 0;
        int64_t left = left_over ? most_overlaps(target, buffers) - 1 : 0;
        bound = saturating_add(saturating_mul(most_overlaps(buffers, target), bound), saturating_mul(left, n_inner));
        n_inner = saturating_mul(n_inner, buffers->n + target->n - 1);
    }
    return bound;
}

/* Bytes charged for `n` allocations of together `bytes`: only large ones are rounded up to pages. One record more than there
   are pieces pays for the smallest table. */
static int64_t charge(int64_t bytes, int64_t n)
{
    int64_t large = rs_min(n, bytes / (64 * 1024));
    return saturating_add(
        bytes, saturating_add(saturating_mul(large, 4096), saturating_mul(saturating_add(n, 1), RS_PIECE_BYTES)));
}

static int64_t least_staging(const rs_plan *plan, int64_t itemsize)
{
    return saturating_mul(plan->n_staging, rs_budget_charge(plan->memory, rs_max(RS_LEAST_STAGING, itemsize)));
}

/* What staging may have of what is left of the budget. */
static void set_staging(rs_plan *plan, int64_t itemsize, int64_t peak)
{
    int64_t least = rs_max(RS_LEAST_STAGING, itemsize);
    int64_t share = (plan->memory - (peak - least_staging(plan, itemsize))) / plan->n_staging;
    int64_t bytes = rs_max(least, rs_min(rs_max(RS_MOST_STAGING, itemsize), share - 4096));
    plan->staging_bytes = bytes - bytes % itemsize;
    peak += saturating_mul(plan->n_staging, rs_budget_charge(plan->memory, plan->staging_bytes));
    plan->predicted.peak_bytes = peak - least_staging(plan, itemsize);
}

bool rs_plan_fits(const rs_problem *problem, rs_plan *plan)
{
    int64_t held = count_held(problem, plan, PIECES);
    int64_t whole = plan->kept != 0 ? count_held(problem, plan, WHOLE_UNITS) : held;
    plan->n_pieces = rs_min(bound_pieces(problem, plan), rs_max(1, held));
    int64_t fixed = saturating_add(RS_FIXED_BYTES, least_staging(plan, problem->itemsize));
    int64_t peak = saturating_add(fixed, charge(saturating_mul(held, problem->itemsize), plan->n_pieces));
    int64_t peak_whole = saturating_add(fixed, charge(saturating_mul(whole, problem->itemsize), plan->n_pieces));
    /* Whole units cost less work (no gathering when they are written), so they are taken wherever they fit. */
    plan->whole_units = peak_whole <= plan->memory || peak_whole <= peak;
    plan->predicted.held_bytes = saturating_mul(held, problem->itemsize);
    plan->predicted.peak_bytes = plan->whole_units ? peak_whole : peak;
    return plan->predicted.peak_bytes <= plan->memory;
}

bool rs_plan_predict(const rs_problem *problem, rs_plan *plan)
{
    bool fits = rs_plan_fits(problem, plan);
    if (fits) {
        set_staging(plan, problem->itemsize, plan->predicted.peak_bytes);
    }
    bool empty = problem->n_elements == 0;
    plan->predicted.read_seeks = empty ? 0 : count_runs(&problem->source, plan, 0);
    plan->predicted.write_seeks = empty ? 0 : count_runs(&problem->target, plan, plan->kept);
    plan->predicted.bytes_read = problem->n_elements * problem->itemsize;
    plan->predicted.bytes_written = problem->n_elements * problem->itemsize;
    plan->predicted.temp_bytes = 0;
    return fits;
}

/* A size for people: exact bytes, since "that number works and one byte less does not". */
resplit_status rs_plan_refuse(const rs_plan *plan, resplit_error *err)
{
    int64_t needed = plan->predicted.peak_bytes;
    resplit_status rc =
        rs_fail(err, RESPLIT_EBUDGET,
                "no plan fits %" PRId64 " bytes (strategy '%s'); this problem needs at least %" PRId64 " bytes",
                plan->memory, plan->strategy, needed);
    if (err != NULL) {
        err->needed_bytes = needed;
    }
    return rc;
}
