/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * panels.c - dynamic programming over positions: f(x) = cost of a cut at x + min f(y) over x - thickness <= y < x. A
 * queue holds the positions that may still be the minimum, so each is looked at a constant number of times.
 */
#include "plan/panels.h"

int64_t rs_panels_room(int64_t extent)
{
    return 4 * (extent + 2);
}

static int64_t cost_at(const rs_panels *panels, int64_t x)
{
    int64_t cost = 0;
    if (x < panels->source->extent) { /* the end is there anyway */
        cost += rs_axis_floor(panels->source, x) == x ? 0 : panels->source_weight;
        cost += rs_axis_floor(panels->target, x) == x ? 0 : panels->target_weight;
    }
    return cost;
}

int64_t rs_panels_cut(const rs_panels *panels, int64_t thickness, int64_t *room)
{
    int64_t extent = panels->source->extent, head = 0, tail = 0, n = 0;
    int64_t *cuts = room, *cost = cuts + extent + 2, *previous = cost + extent + 2, *queue = previous + extent + 2;
    cost[0] = previous[0] = 0;
    queue[tail++] = 0;
    for (int64_t x = 1; x <= extent; x++) {
        while (queue[head] < x - thickness) {
            head++;
        }
        previous[x] = queue[head];
        cost[x] = cost[queue[head]] + cost_at(panels, x);
        while (tail > head && cost[queue[tail - 1]] >= cost[x]) { /* of equals the later one reaches farther */
            tail--;
        }
        queue[tail++] = x;
    }
    for (int64_t x = extent; x > 0; x = previous[x]) {
        cuts[n++] = x;
    }
    cuts[n] = 0;
    for (int64_t a = 0, b = n; a < b; a++, b--) {
        int64_t swap = cuts[a];
        cuts[a] = cuts[b];
        cuts[b] = swap;
    }
    return n;
}
