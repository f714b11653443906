/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * prop_gap.c - what nested loops cost. On tiny arrays, every list of cuts and every set of kept axes is combined with
 * the best of all orders in which buffers can be visited (a minimax over sets of buffers, not over loops), and compared
 * with `best`, whose buffers are visited by nested loops. Memory is in elements: the buffer just read and the
 * leftovers.
 *
 * Prints the gap that docs/algorithm.md reports; fails only if loops beat all orders, which cannot be.
 */
#include "plan/held.h"
#include "support/problems.h"

#include <inttypes.h>
#include <string.h>

enum { MOST = 4, MOST_BUFFERS = MOST * MOST };

static uint64_t state = 7;

static int64_t random_in(int64_t lo, int64_t hi)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return lo + (int64_t)((state >> 33) % (uint64_t)(hi - lo + 1));
}

typedef struct tiny {
    int64_t shape[2], from[2], to[2];
    rs_problem problem;
} tiny;

/* A plan's cuts along both axes, as bits: bit x-1 set is a cut at x. */
typedef struct cuts {
    int bits[2];
} cuts;

static int buffer_along(int bits, int64_t x)
{
    int n = 0;
    for (int64_t y = 1; y <= x; y++) {
        n += bits >> (y - 1) & 1;
    }
    return n;
}

/* The buffer of each element, and for each unit the set of its buffers, found element by element. */
typedef struct picture {
    int n_buffers, n_units;
    int size[MOST_BUFFERS];
    uint32_t needs[MOST * MOST];
    int unit_size[MOST * MOST];
} picture;

static picture look(const tiny *t, cuts c, uint32_t kept)
{
    picture p = {0};
    int64_t names[MOST * MOST];
    p.n_buffers = (buffer_along(c.bits[0], t->shape[0] - 1) + 1) * (buffer_along(c.bits[1], t->shape[1] - 1) + 1);
    for (int64_t i = 0; i < t->shape[0]; i++) {
        for (int64_t j = 0; j < t->shape[1]; j++) {
            int bi = buffer_along(c.bits[0], i), bj = buffer_along(c.bits[1], j);
            int buffer = bi * (buffer_along(c.bits[1], t->shape[1] - 1) + 1) + bj;
            int64_t name = (i / t->to[0]) * 1000 + j / t->to[1];
            name = name * 1000 + ((kept & 1) != 0 ? 0 : bi + 1) * 30 + ((kept & 2) != 0 ? 0 : bj + 1);
            int u = 0;
            while (u < p.n_units && names[u] != name) {
                u++;
            }
            if (u == p.n_units) {
                names[p.n_units++] = name;
            }
            p.size[buffer]++;
            p.unit_size[u]++;
            p.needs[u] |= 1U << buffer;
        }
    }
    return p;
}

/* Least peak over all orders: the best way into each set of buffers that have been read. */
static int peak_of_all_orders(const picture *p)
{
    static int best[1 << MOST_BUFFERS], held[1 << MOST_BUFFERS];
    uint32_t all = (1U << p->n_buffers) - 1;
    for (uint32_t s = 0; s <= all; s++) {
        held[s] = 0;
        for (int b = 0; b < p->n_buffers; b++) {
            held[s] += (s >> b & 1) != 0 ? p->size[b] : 0;
        }
        for (int u = 0; u < p->n_units; u++) {
            held[s] -= (p->needs[u] & ~s) == 0 ? p->unit_size[u] : 0;
        }
        best[s] = s == 0 ? 0 : 1 << 30;
        for (int b = 0; b < p->n_buffers; b++) {
            if ((s >> b & 1) != 0) {
                uint32_t before = s & ~(1U << b);
                int peak = held[before] + p->size[b];
                peak = peak > best[before] ? peak : best[before];
                best[s] = peak < best[s] ? peak : best[s];
            }
        }
    }
    return best[all];
}

static rs_axis axis_of(int64_t extent, int bits, int64_t *room)
{
    int64_t n = 0;
    room[0] = 0;
    for (int64_t x = 1; x <= extent; x++) {
        if (x == extent || (bits >> (x - 1) & 1) != 0) {
            room[++n] = x;
        }
    }
    return rs_axis_uneven(room, n);
}

static int64_t seeks_of(const tiny *t, cuts c, uint32_t kept)
{
    rs_pieces source[2], target[2];
    int64_t room[MOST + 1];
    for (int d = 0; d < 2; d++) {
        rs_axis axis = axis_of(t->shape[d], c.bits[d], room);
        source[d] = rs_pieces_count(&t->problem.source.axis[d], &axis);
        target[d] = rs_pieces_count(&t->problem.target.axis[d], (kept >> d & 1) != 0 ? NULL : &axis);
    }
    return rs_pieces_runs(&t->problem.source, source) + rs_pieces_runs(&t->problem.target, target);
}

static int64_t peak_of_loops(const tiny *t, cuts c, uint32_t kept)
{
    int64_t least = INT64_MAX, room[2][MOST + 1];
    rs_stretches s[2] = {{0}};
    for (int d = 0; d < 2; d++) {
        rs_axis axis = axis_of(t->shape[d], c.bits[d], room[d]);
        (void)rs_stretches_make(&axis, &t->problem.target.axis[d], (kept >> d & 1) != 0, RS_PIECES, &s[d]);
    }
    for (int first = 0; first < 2; first++) {
        const rs_stretches *loops[] = {&s[first], &s[1 - first]};
        int64_t extents[] = {t->shape[first], t->shape[1 - first]};
        least = rs_min(least, rs_held_peak(2, loops, extents));
    }
    rs_stretches_release(&s[0]);
    rs_stretches_release(&s[1]);
    return least;
}

typedef struct totals {
    int problems, worse, memory_worse;
    double seeks_ratio, worst_seeks;
    int plans, plans_worse;
    double worst_peak;
} totals;

static void compare(const tiny *t, int64_t memory, totals *sum)
{
    int64_t loops = INT64_MAX, any = INT64_MAX;
    for (int a = 0; a < 1 << (t->shape[0] - 1); a++) {
        for (int b = 0; b < 1 << (t->shape[1] - 1); b++) {
            for (uint32_t kept = 0; kept < 4; kept++) {
                cuts c = {{a, b}};
                picture p = look(t, c, kept);
                int64_t seeks = seeks_of(t, c, kept), nested = peak_of_loops(t, c, kept),
                        free_peak = peak_of_all_orders(&p);
                if (free_peak > nested) {
                    fprintf(stderr, "loops beat all orders: %" PRId64 " < %" PRId64 "\n0 passed, 1 failed\n", nested,
                            free_peak);
                    exit(1);
                }
                sum->plans++;
                sum->plans_worse += nested > free_peak;
                double ratio = (double)nested / (double)free_peak;
                sum->worst_peak = ratio > sum->worst_peak ? ratio : sum->worst_peak;
                loops = nested <= memory ? rs_min(loops, seeks) : loops;
                any = free_peak <= memory ? rs_min(any, seeks) : any;
            }
        }
    }
    double ratio = (double)loops / (double)any;
    sum->problems++;
    sum->worse += loops > any;
    sum->seeks_ratio += ratio;
    sum->worst_seeks = ratio > sum->worst_seeks ? ratio : sum->worst_seeks;
}

int main(void)
{
    const char *count = getenv("RESPLIT_ITERS");
    int trials = count != NULL ? (int)strtol(count, NULL, 10) : 60;
    totals sum = {0};
    for (int i = 0; i < trials; i++) {
        tiny t;
        for (int d = 0; d < 2; d++) {
            t.shape[d] = random_in(2, MOST);
            t.from[d] = random_in(1, t.shape[d]);
            t.to[d] = random_in(1, t.shape[d]);
        }
        t.problem = even_problem(2, t.shape, t.from, t.to, 1);
        compare(&t, random_in(1, t.shape[0] * t.shape[1]), &sum);
        rs_problem_release(&t.problem);
    }
    printf("%d problems: any order has fewer seeks than loops in %d; mean ratio %.4f, worst %.2f\n", sum.problems,
           sum.worse, sum.seeks_ratio / sum.problems, sum.worst_seeks);
    printf("%d plans: any order holds less than loops in %d; worst ratio of peaks %.2f\n", sum.plans, sum.plans_worse,
           sum.worst_peak);
    printf("%d passed, 0 failed\n", trials);
    return 0;
}
