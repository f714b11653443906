/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * orders.c - in which order loops hold the least. Axes along which nothing waits go outside: there they multiply memory
 * by a buffer's length, inside by the whole axis. The others are tried in every order.
 */
#include "plan/orders.h"

#include <string.h>

enum { MOST_ORDERED = 5 }; /* waiting axes that are tried in every order: 120 */

static int64_t peak_of(const rs_problem *problem, rs_option *const *chosen, int n, const int *loop, int64_t *work)
{
    const rs_stretches *loops[RS_MAX_NDIM];
    int64_t extents[RS_MAX_NDIM];
    for (int i = 0; i < n; i++) {
        loops[i] = rs_option_stretches(problem, loop[i], chosen[loop[i]]);
        if (loops[i] == NULL) {
            return INT64_MAX;
        }
        *work += 4 + loops[i]->n;
        extents[i] = problem->shape[loop[i]];
    }
    return rs_held_peak(n, loops, extents);
}

static bool next_permutation(int *at, int n)
{
    int i = n - 2;
    while (i >= 0 && at[i] > at[i + 1]) {
        i--;
    }
    if (i < 0) {
        return false;
    }
    int j = n - 1;
    while (at[j] < at[i]) {
        j--;
    }
    int swap = at[i];
    at[i] = at[j];
    at[j] = swap;
    for (int a = i + 1, b = n - 1; a < b; a++, b--) {
        swap = at[a];
        at[a] = at[b];
        at[b] = swap;
    }
    return true;
}

int64_t rs_orders_find(const rs_problem *problem, rs_option *const *chosen, int *loop, int64_t *work)
{
    int n = 0, trial[RS_MAX_NDIM], waiting[RS_MAX_NDIM], n_waiting = 0;
    int64_t peak = INT64_MAX;
    for (int i = 0; i < problem->ndim; i++) {
        int d = problem->source.order[i];
        if (chosen[d] != NULL && !chosen[d]->kept) {
            trial[n++] = d;
        }
    }
    for (int d = 0; d < problem->ndim; d++) {
        if (chosen[d] != NULL && chosen[d]->kept) {
            waiting[n_waiting++] = d;
        }
    }
    do {
        memcpy(&trial[n], waiting, (size_t)n_waiting * sizeof *waiting);
        int64_t held = peak_of(problem, chosen, n + n_waiting, trial, work);
        if (held < peak) {
            peak = held;
            memcpy(loop, trial, (size_t)(n + n_waiting) * sizeof *trial);
        }
    } while (n_waiting <= MOST_ORDERED && next_permutation(waiting, n_waiting));
    return peak;
}
