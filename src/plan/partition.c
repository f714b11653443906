/* SPDX-License-Identifier: BSD-3-Clause */
/* partition.c - divides a target by recursive bisection. */
#include "plan/partition.h"

#include "plan/plan.h"

enum {
    SLACK = 50000,        /* millionths by which the largest share may exceed its part for the sake of a better cut */
    MOST_TRIED = 256,     /* borders to each side of the ideal cut */
    SEEK_BYTES = 64 << 10 /* a run more costs about as much as so many bytes: between what disks and networks say */
};

/* A box in units of the grain: files [lo, hi) along each axis; how many partitions it is for, and how
   large these are. */
typedef struct part {
    int64_t lo[RS_MAX_NDIM], hi[RS_MAX_NDIM], n;
    double load; /* of each, where 1 is an equal share of the whole */
} part;

typedef struct cut {
    int axis;
    int64_t at;   /* files of that axis before it */
    int64_t left; /* partitions on that side */
    double load[2];
    int64_t off; /* millionths by which the larger load exceeds an equal share */
    int64_t price;
} cut;

static rs_span span_of(const rs_division *v, const part *p, int d)
{
    return (rs_span){rs_axis_span(&v->grain[d], p->lo[d]).lo, rs_axis_span(&v->grain[d], p->hi[d] - 1).hi};
}

static int64_t count_files(const rs_division *v, const part *p)
{
    int64_t n = 1;
    for (int d = 0; d < v->problem->ndim; d++) {
        n = rs_mul_most(n, p->hi[d] - p->lo[d]);
    }
    return n;
}

/* ---- What a box costs ------------------------------------------------------------------------ */

/* The blocks of an axis that meet [lo, hi), as cost.c counts them: all of them in it, or cut off by it. */
static rs_pieces pieces_in(const rs_axis *axis, rs_span span)
{
    if (span.lo >= span.hi) {
        return (rs_pieces){.full = 1};
    }
    int64_t a = rs_axis_find(axis, span.lo), b = rs_axis_find(axis, span.hi - 1);
    rs_span first = rs_axis_stored(axis, a), last = rs_axis_stored(axis, b);
    bool lo = first.lo<span.lo, hi = last.hi> span.hi;
    int64_t n_cut = a == b ? (lo || hi) : lo + hi;
    return (rs_pieces){.full = b - a + 1 - n_cut, .part = n_cut, .touched = last.hi - first.lo};
}

/* What a part comes to; *runs: in which it is read. */
static rs_share weigh(const rs_division *v, const part *p, int64_t *runs)
{
    const rs_problem *problem = v->problem;
    rs_layout source = problem->source;
    rs_pieces pieces[RS_MAX_NDIM];
    rs_share share = {.n_source = 1, .n_target = 1, .bytes = problem->itemsize};
    for (int d = 0; d < problem->ndim; d++) {
        rs_span span = span_of(v, p, d);
        rs_pieces target = pieces_in(&problem->target.axis[d], span);
        share.box.lo[d] = span.lo;
        share.box.hi[d] = span.hi;
        pieces[d] = pieces_in(&problem->source.axis[d], span);
        source.axis[d].extent = span.hi - span.lo;
        share.bytes *= span.hi - span.lo;
        share.n_source *= pieces[d].full + pieces[d].part;
        share.n_target *= target.full + target.part;
    }
    share.source_bytes = share.bytes > 0 ? rs_pieces_bytes(&source, pieces) : 0;
    *runs = share.bytes > 0 ? rs_pieces_runs(&source, pieces) : 0;
    return share;
}

/* Bytes that are read for a part, and what it takes to get to them. */
static int64_t price_of(const rs_division *v, const part *p)
{
    int64_t runs;
    rs_share share = weigh(v, p, &runs);
    return rs_add_most(share.source_bytes, rs_mul_most(runs, SEEK_BYTES));
}

/* ---- Where to cut ---------------------------------------------------------------------------- */

/* Partitions are given to the two sides by their bytes, but none is left without a file as long as
   another has several. */
static int64_t count_left(const rs_division *v, const part *p, int d, int64_t at, double share)
{
    int64_t twice = (int64_t)(2 * (double)p->n * share), left = rs_max(1, rs_min(p->n - 1, (twice + 1) / 2));
    int64_t all = count_files(v, p), across = all / (p->hi[d] - p->lo[d]);
    if (all == INT64_MAX) {
        return left;
    }
    int64_t a = across * (at - p->lo[d]), b = p->n - across * (p->hi[d] - at);
    return rs_max(rs_min(a, b), rs_min(left, rs_max(a, b)));
}

/* Only products and quotients, which all machines round alike. */
static cut make_cut(const rs_division *v, const part *p, int d, int64_t at)
{
    rs_span span = span_of(v, p, d);
    double length = (double)rs_max(1, span.hi - span.lo);
    double before = (double)(rs_axis_cut(&v->grain[d], at) - span.lo) / length;
    double after = (double)(span.hi - rs_axis_cut(&v->grain[d], at)) / length;
    cut c = {.axis = d, .at = at, .left = count_left(v, p, d, at, before), .price = INT64_MAX};
    c.load[0] = p->load * before * (double)p->n / (double)c.left;
    c.load[1] = p->load * after * (double)p->n / (double)(p->n - c.left);
    c.off = (int64_t)(1e6 * (c.load[0] > c.load[1] ? c.load[0] : c.load[1])) - 1000000;
    return c;
}

static part side_of(const part *p, const cut *c, bool right)
{
    part side = *p;
    *(right ? &side.lo[c->axis] : &side.hi[c->axis]) = c->at;
    side.n = right ? p->n - c->left : c->left;
    side.load = c->load[right];
    return side;
}

/* Elements of the source block that a border goes through; 0: it is a border of the source, too. */
static int64_t straddled(const rs_axis *source, int64_t x)
{
    rs_span block = rs_axis_stored(source, rs_axis_find(source, x));
    return block.lo == x ? 0 : block.hi - block.lo;
}

/* The border near the ideal one, and no further off than `slack`, that goes through the smallest source blocks. */
static int64_t find_clean(const rs_division *v, const part *p, int d, int64_t ideal, int64_t slack)
{
    const rs_axis *source = &v->problem->source.axis[d], *grain = &v->grain[d];
    int64_t period = rs_axis_period(grain, source); /* further off, all is as it was */
    int64_t most = period > 0 ? rs_min(period, MOST_TRIED) : MOST_TRIED, best = ideal;
    for (int64_t k = 1; k <= 2 * most && straddled(source, rs_axis_cut(grain, best)) > 0; k++) {
        int64_t at = ideal + (k % 2 == 0 ? k / 2 : -(k / 2) - 1);
        if (at > p->lo[d] && at < p->hi[d] && make_cut(v, p, d, at).off <= slack
            && straddled(source, rs_axis_cut(grain, at)) < straddled(source, rs_axis_cut(grain, best))) {
            best = at;
        }
    }
    return best;
}

/* Along an axis: the borders to both sides of where it would be halved, and the best one near them.
   Returns how many. */
static int find_cuts(const rs_division *v, const part *p, int d, int64_t slack, cut *out)
{
    rs_span span = span_of(v, p, d);
    int64_t length = span.hi - span.lo, half = p->n / 2;
    int64_t ideal = span.lo + length / p->n * half + length % p->n * half / p->n;
    if (p->hi[d] - p->lo[d] < 2 || length < 2) {
        return 0;
    }
    int64_t below = rs_max(p->lo[d] + 1, rs_min(p->hi[d] - 1, rs_axis_find(&v->grain[d], ideal)));
    int64_t above = rs_min(p->hi[d] - 1, below + 1);
    out[0] = make_cut(v, p, d, below);
    out[1] = make_cut(v, p, d, above);
    out[2] = make_cut(v, p, d, find_clean(v, p, d, out[1].off < out[0].off ? above : below, slack));
    return 3;
}

static bool is_better(const rs_problem *problem, const cut *a, const cut *b)
{
    if (a->price != b->price) {
        return a->price < b->price;
    }
    return a->off != b->off ? a->off < b->off : problem->shape[a->axis] > problem->shape[b->axis];
}

/* The cheapest cut of those that are balanced, or as balanced as any. False: there is none, all is one file. */
static bool find_cut(const rs_division *v, const part *p, int64_t slack, cut *best)
{
    cut cuts[3 * RS_MAX_NDIM];
    bool found = false;
    int n = 0;
    for (int d = 0; d < v->problem->ndim; d++) {
        n += find_cuts(v, p, d, slack, cuts + n);
    }
    int64_t least = INT64_MAX;
    for (int i = 0; i < n; i++) {
        least = rs_min(least, cuts[i].off);
    }
    slack = rs_max(slack, least);
    for (int i = 0; i < n; i++) {
        if (cuts[i].off > slack) {
            continue;
        }
        part left = side_of(p, &cuts[i], false), right = side_of(p, &cuts[i], true);
        cuts[i].price = rs_add_most(price_of(v, &left), price_of(v, &right));
        if (!found || is_better(v->problem, &cuts[i], best)) {
            *best = cuts[i];
            found = true;
        }
    }
    return found;
}

/* ---- Partitions ------------------------------------------------------------------------------ */

static part all_of(const rs_division *v)
{
    part p = {.n = v->n, .load = 1};
    for (int d = 0; d < v->problem->ndim; d++) {
        p.hi[d] = v->grain[d].n;
    }
    return p;
}

rs_share rs_partition_whole(const rs_division *division)
{
    part all = all_of(division);
    int64_t runs;
    return weigh(division, &all, &runs);
}

rs_share rs_partition_find(const rs_division *division, int64_t i)
{
    part p = all_of(division);
    cut c;
    int64_t depth = 1, runs;
    while (INT64_C(1) << depth < division->n) {
        depth++;
    }
    for (int64_t k = 1; p.n > 1 && find_cut(division, &p, SLACK * rs_min(k, depth) / depth, &c); k++) {
        bool right = i >= c.left;
        p = side_of(&p, &c, right);
        i -= right ? c.left : 0;
    }
    return i == 0 ? weigh(division, &p, &runs) : (rs_share){.n_target = 0};
}
