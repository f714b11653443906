/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slices.h - a box in slices of at most so many elements. Slices follow each other in the given order, so each is
 * contiguous in memory that holds the box in that order, and a file is walked forwards.
 */
#ifndef RS_SLICES_H
#define RS_SLICES_H

#include "geometry/grid.h"

typedef struct rs_slices {
    int ndim;
    int order[RS_MAX_NDIM];
    rs_box box;
    int level;      /* slices are cut along order[level]: one index of slower axes, all of faster ones */
    int64_t length; /* indices of that axis in a slice */
    int64_t at[RS_MAX_NDIM];
    bool done;
} rs_slices;

/* most >= 1. An empty box has no slices. */
void rs_slices_init(rs_slices *slices, int ndim, const int *order, const rs_box *box, int64_t most);
bool rs_slices_next(rs_slices *slices, rs_box *out);

/*
 * The elements [at, end) of a box, counted in the given order, as boxes: at most two for each axis but the slowest, and
 * one. They follow each other in that order. `order` is borrowed.
 */
typedef struct rs_range {
    int ndim;
    const int *order;
    rs_box box;
    int64_t at, end;
} rs_range;

bool rs_range_next(rs_range *range, rs_box *out);

#endif
