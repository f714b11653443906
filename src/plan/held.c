/* SPDX-License-Identifier: BSD-3-Clause */
/* held.c - the exact peak of READ - DONE, by convex hulls. */
#include "plan/held.h"

#include <stdlib.h>

/* ---- Hulls --------------------------------------------------------------------------------- */

typedef struct point {
    int64_t gain, loss; /* maximised: x * gain - y * loss, for whatever x, y >= 0 */
} point;

typedef struct hull {
    point *at;
    size_t n, room;
} hull;

static int by_gain_then_loss(const void *a, const void *b)
{
    const point *p = a, *q = b;
    if (p->gain != q->gain) {
        return p->gain < q->gain ? -1 : 1;
    }
    return (p->loss > q->loss) - (p->loss < q->loss);
}

/* Is b on or above the line from a to c, so that for any weights one of them is as good? a.gain < b.gain < c.gain. */
static bool is_above(point a, point b, point c)
{
    return (__int128)(b.loss - a.loss) * (c.gain - a.gain) >= (__int128)(c.loss - a.loss) * (b.gain - a.gain);
}

/* Keeps the points that are best for some weights: the lower right chain of the convex hull. */
static size_t reduce(point *at, size_t n)
{
    size_t kept = 0;
    if (n < 2) {
        return n;
    }
    qsort(at, n, sizeof *at, by_gain_then_loss);
    for (size_t i = 0; i < n; i++) {
        point p = at[i];
        if (kept > 0 && at[kept - 1].gain == p.gain) {
            continue; /* the same gain with less loss came first */
        }
        while (kept > 0 && at[kept - 1].loss >= p.loss) {
            kept--;
        }
        while (kept > 1 && is_above(at[kept - 2], at[kept - 1], p)) {
            kept--;
        }
        at[kept++] = p;
    }
    return kept;
}

static bool hull_add(hull *h, point p)
{
    if (h->n == h->room) {
        h->n = reduce(h->at, h->n);
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

/* ---- One axis ------------------------------------------------------------------------------ */

static bool add_stretch(rs_stretches *out, rs_stretch s)
{
    if (out->n == out->room) {
        int64_t room = rs_max(16, 2 * out->room);
        rs_stretch *at = realloc(out->at, (size_t)room * sizeof *at);
        if (at == NULL) {
            return false;
        }
        out->at = at;
        out->room = room;
    }
    out->at[out->n++] = s;
    return true;
}

static rs_stretch stretch_at(const rs_axis *buffers, const rs_axis *target, bool kept, rs_storage storage, int64_t t)
{
    rs_span span = rs_axis_span(buffers, t);
    int64_t lo = span.lo, hi = span.hi, done_lo = span.lo, done_hi = span.hi;
    if (kept) {
        done_lo = rs_axis_floor(target, span.lo);
        done_hi = rs_axis_floor(target, span.hi);
        if (storage == RS_WHOLE_UNITS) {
            lo = rs_axis_ceil(target, span.lo);
            hi = rs_axis_ceil(target, span.hi);
        }
    }
    return (rs_stretch){lo, hi - lo, done_lo, done_hi - done_lo};
}

static int by_width_and_ends(const void *a, const void *b)
{
    const rs_stretch *s = a, *t = b;
    if (s->width != t->width) {
        return s->width < t->width ? -1 : 1;
    }
    if (s->ends != t->ends) {
        return s->ends < t->ends ? -1 : 1;
    }
    return by_gain_then_loss(&(point){s->lo, s->done}, &(point){t->lo, t->done});
}

/* Of stretches that are alike but for where they lie, those on the hull of (lo, done) suffice. */
static void thin_out(rs_stretches *out)
{
    int64_t n = 0;
    qsort(out->at, (size_t)out->n, sizeof *out->at, by_width_and_ends);
    for (int64_t i = 0; i < out->n;) {
        int64_t first = n;
        rs_stretch like = out->at[i];
        for (; i < out->n && out->at[i].width == like.width && out->at[i].ends == like.ends; i++) {
            rs_stretch s = out->at[i];
            point p = {s.lo, s.done};
            if (n > first && out->at[n - 1].lo == s.lo) {
                continue;
            }
            while (n > first && out->at[n - 1].done >= s.done) {
                n--;
            }
            while (n > first + 1
                   && is_above((point){out->at[n - 2].lo, out->at[n - 2].done},
                               (point){out->at[n - 1].lo, out->at[n - 1].done}, p)) {
                n--;
            }
            out->at[n++] = s;
        }
    }
    out->n = n;
}

/* Adds the buffers [from, to). */
static bool add_range(const rs_axis *buffers, const rs_axis *target, bool kept, rs_storage storage, int64_t from,
                      int64_t to, rs_stretches *out)
{
    bool ok = true;
    for (int64_t t = from; ok && t < to; t++) {
        ok = add_stretch(out, stretch_at(buffers, target, kept, storage, t));
    }
    return ok;
}

/* Adds the buffers next to those that hold a border of `target`. */
static bool add_near_borders(const rs_axis *buffers, const rs_axis *target, rs_storage storage, rs_stretches *out)
{
    int64_t next = 0;
    bool ok = true;
    for (int64_t i = -1; ok && i < target->n; i++) {
        int64_t border = i < 0 ? 0 : rs_axis_span(target, i).hi;
        int64_t t = border > 0 ? rs_axis_find(buffers, border - 1) : 0, to = rs_min(buffers->n, t + 3);
        ok = add_range(buffers, target, true, storage, rs_max(next, t - 2), to, out);
        next = rs_max(next, to);
    }
    return ok;
}

/*
 * Two arguments keep the list short. Between two block borders nothing changes but lo, in which everything is linear:
 * the first and the last buffer there suffice. And where buffers and blocks are both even, what happens repeats with a
 * period, again but for a shift in which everything is linear: the first and the last period suffice.
 */
bool rs_stretches_make(const rs_axis *buffers, const rs_axis *target, bool kept, rs_storage storage, rs_stretches *out)
{
    int64_t n = buffers->n, period = kept ? rs_axis_period(buffers, target) : buffers->step > 0;
    bool ok;
    out->n = 0;
    if (period > 0 && n > 4 * period + 8) {
        ok = add_range(buffers, target, kept, storage, 0, period + 2, out)
             && add_range(buffers, target, kept, storage, n - 2 * period - 3, n, out);
    } else if (kept && buffers->step > 0 && n > 5 * target->n + 8) {
        ok = add_near_borders(buffers, target, storage, out);
    } else {
        ok = add_range(buffers, target, kept, storage, 0, n, out);
    }
    if (ok) {
        thin_out(out);
    }
    return ok;
}

void rs_stretches_release(rs_stretches *stretches)
{
    free(stretches->at);
    *stretches = (rs_stretches){0};
}

/* ---- All loops ----------------------------------------------------------------------------- */

/* What the inner loops can give, combined with each buffer of one loop around them. */
static bool combine(const rs_stretches *loop, int64_t n_inner, const hull *inner, hull *outer)
{
    outer->n = 0;
    for (int64_t t = 0; t < loop->n; t++) {
        const rs_stretch *s = &loop->at[t];
        for (size_t i = 0; i < inner->n; i++) {
            point p = {s->lo * n_inner + s->width * inner->at[i].gain, s->done * n_inner + s->ends * inner->at[i].loss};
            if (!hull_add(outer, p)) {
                return false;
            }
        }
    }
    outer->n = reduce(outer->at, outer->n);
    return true;
}

int64_t rs_held_peak(int n_loops, const rs_stretches *const *loops, const int64_t *extents)
{
    hull inner = {0}, outer = {0};
    int64_t n_inner = 1, held = INT64_MAX;
    bool ok = hull_add(&inner, (point){1, 0});
    for (int i = n_loops - 1; ok && i >= 0; i--) {
        ok = combine(loops[i], n_inner, &inner, &outer);
        hull swap = inner;
        inner = outer;
        outer = swap;
        n_inner *= extents[i];
    }
    if (ok) {
        held = 0;
        for (size_t i = 0; i < inner.n; i++) {
            held = rs_max(held, inner.at[i].gain - inner.at[i].loss);
        }
    }
    free(inner.at);
    free(outer.at);
    return held;
}
