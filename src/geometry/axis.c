/* SPDX-License-Identifier: BSD-3-Clause */
/* axis.c - cut positions along one axis. */
#include "geometry/axis.h"

rs_axis rs_axis_even(int64_t extent, int64_t step)
{
    return (rs_axis){
        .extent = extent,
        .n = rs_max(1, rs_ceil_div(extent, step)),
        .last = extent,
        .step = step,
    };
}

rs_axis rs_axis_uneven(const int64_t *cuts, int64_t n)
{
    int64_t extent = cuts[n];
    int64_t step = n == 0 ? 0 : cuts[1];
    bool even = n <= 1 || cuts[n] - cuts[n - 1] <= step;
    for (int64_t i = 1; i < n && even; i++) {
        even = cuts[i] == i * step;
    }
    if (even) {
        return rs_axis_even(extent, rs_max(1, step));
    }
    return (rs_axis){.extent = extent, .n = n, .last = extent, .cuts = cuts};
}

rs_axis rs_axis_window(const rs_axis *axis, int64_t start, int64_t stop, int64_t *room, int64_t *skipped)
{
    if (axis->extent == 0) {
        *skipped = 0;
        return *axis;
    }
    int64_t a = rs_axis_find(axis, rs_min(start, axis->extent - 1));
    int64_t b = stop > start ? rs_axis_find(axis, stop - 1) : a;
    rs_axis seen = {.extent = stop - start, .n = b - a + 1, .step = axis->step};
    seen.first = rs_axis_cut(axis, a) - start;
    seen.last = rs_axis_cut(axis, b + 1) - start;
    if (axis->step == 0) {
        for (int64_t i = 0; i <= seen.n; i++) {
            room[i] = axis->cuts[a + i] - start;
        }
        seen.cuts = room;
    }
    *skipped = a;
    return seen;
}

int64_t rs_axis_find(const rs_axis *axis, int64_t x)
{
    return rs_axis_find_from(axis, x, 0);
}

/* In longer and longer strides, then halving the last one: who looks for one after the other finds the next at once. */
int64_t rs_axis_find_from(const rs_axis *axis, int64_t x, int64_t from)
{
    if (axis->step > 0) {
        return rs_min((x - axis->first) / axis->step, axis->n - 1);
    }
    int64_t lo = from, stride = 1; /* cuts[lo] <= x */
    while (lo + stride < axis->n && axis->cuts[lo + stride] <= x) {
        lo += stride;
        stride *= 2;
    }
    int64_t hi = rs_min(axis->n, lo + stride); /* x < cuts[hi] */
    while (hi - lo > 1) {
        int64_t mid = lo + (hi - lo) / 2;
        *(axis->cuts[mid] <= x ? &lo : &hi) = mid;
    }
    return lo;
}

int64_t rs_axis_floor(const rs_axis *axis, int64_t x)
{
    if (x >= axis->extent) {
        return axis->extent;
    }
    return rs_max(0, rs_axis_cut(axis, rs_axis_find(axis, x)));
}

int64_t rs_axis_ceil(const rs_axis *axis, int64_t x)
{
    if (x <= 0) {
        return 0;
    }
    return rs_min(axis->extent, rs_axis_cut(axis, rs_axis_find(axis, x - 1) + 1));
}

int64_t rs_axis_longest(const rs_axis *axis)
{
    if (axis->step > 0 && axis->n > 2) { /* an interval that is neither first nor last has full length */
        rs_span end = rs_axis_span(axis, axis->n - 1);
        return rs_max(axis->step, end.hi - end.lo);
    }
    int64_t longest = 0;
    for (int64_t i = 0; i < axis->n; i++) {
        rs_span span = rs_axis_span(axis, i);
        longest = rs_max(longest, span.hi - span.lo);
    }
    return longest;
}

int64_t rs_axis_period(const rs_axis *a, const rs_axis *b)
{
    return a->step > 0 && b->step > 0 ? b->step / rs_gcd(a->step, b->step) : 0;
}
