/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * axis.h - one axis of an array and the positions where it is cut.
 *
 *          first          0                              extent      last
 *            |............|--------------------------------|...........|
 *          cut 0        cut 1        cut 2        cut 3              cut 4 = cut n
 *            [ interval 0 ][ interval 1 ][ interval 2 ][   interval 3  ]
 *
 * The window [0, extent) is what is looked at. Intervals are the stored lengths of blocks: the first and the last may
 * reach out of the window (a region of interest cuts through them), the ones between lie inside. Cuts are evenly
 * spaced, except that the last interval may have any length, or an explicit list.
 *
 * An empty axis (extent 0) has one interval of length 0, so that an array without elements still has one block.
 */
#ifndef RS_AXIS_H
#define RS_AXIS_H

#include "base/base.h"

typedef struct rs_axis {
    int64_t extent;
    int64_t n;           /* intervals, at least 1                                  */
    int64_t first, last; /* first <= 0, last >= extent                             */
    int64_t step;        /* even: cut i is first + i * step for i < n; uneven: 0   */
    const int64_t *cuts; /* uneven: n + 1 increasing positions, borrowed           */
} rs_axis;

typedef struct rs_span {
    int64_t lo, hi; /* [lo, hi) */
} rs_span;

/* Evenly cut from 0, the last interval clipped. extent >= 0, step >= 1. */
rs_axis rs_axis_even(int64_t extent, int64_t step);

/* Cut at n + 1 increasing positions, the first 0 and the last the extent. Even ones are recognised. Borrows cuts. */
rs_axis rs_axis_uneven(const int64_t *cuts, int64_t n);

/*
 * The same cuts seen through the window [start, stop) of the axis, 0 <= start <= stop <= extent: only intervals that
 * meet the window remain, positions are relative to start. *skipped receives how many were left out before the first.
 * An uneven axis needs room for the shifted cuts: `room` holds axis->n + 1 positions and is borrowed.
 */
rs_axis rs_axis_window(const rs_axis *axis, int64_t start, int64_t stop, int64_t *room, int64_t *skipped);

/* Position of cut i, 0 <= i <= n. May lie outside the window for the first and the last. */
static inline int64_t rs_axis_cut(const rs_axis *axis, int64_t i)
{
    if (i >= axis->n) {
        return axis->last;
    }
    return axis->step > 0 ? axis->first + i * axis->step : axis->cuts[i];
}

/* The interval that contains position x, 0 <= x < extent (interval 0 of an empty axis). */
int64_t rs_axis_find(const rs_axis *axis, int64_t x);

/* The same, of an x that is in interval `from` or in a later one: quick where it is near. */
int64_t rs_axis_find_from(const rs_axis *axis, int64_t x, int64_t from);

/* Interval i as stored, and the part of it inside the window. */
static inline rs_span rs_axis_stored(const rs_axis *axis, int64_t i)
{
    return (rs_span){rs_axis_cut(axis, i), rs_axis_cut(axis, i + 1)};
}

static inline rs_span rs_axis_span(const rs_axis *axis, int64_t i)
{
    return (rs_span){rs_max(0, rs_axis_cut(axis, i)), rs_min(axis->extent, rs_axis_cut(axis, i + 1))};
}

/* Nearest cut at or below x, at or above x, for 0 <= x <= extent, clipped to the window. */
int64_t rs_axis_floor(const rs_axis *axis, int64_t x);
int64_t rs_axis_ceil(const rs_axis *axis, int64_t x);

/*
 * Two evenly cut axes meet in a pattern that repeats: every `period` intervals of a, from interval 1 on, the borders of
 * b lie the same way, except near the end. Returns how many intervals of a that is, or 0 when an axis is not even.
 */
int64_t rs_axis_period(const rs_axis *a, const rs_axis *b);

/* Longest interval inside the window. */
int64_t rs_axis_longest(const rs_axis *axis);

/* Even from 0, every interval but the last of the same length: can be written as one number. */
static inline bool rs_axis_is_regular(const rs_axis *axis)
{
    return axis->step > 0 && axis->first == 0;
}

#endif
