/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * held.h - how much array data a plan holds at most, exactly. Proof in docs/algorithm.md, section 4.
 *
 * After buffer t has been read, what is held is what was read so far less the units completed before:
 *
 *     held(t) = READ(t) - DONE(t),    both counted in loop order, so both are mixed-radix numbers:
 *
 *     READ = lo*N + w*READ'                   lo: elements before the buffer, w: in it       READ' of the inner loops
 *     DONE = F(lo)*N + (F(hi)-F(lo))*DONE'    F: nearest block border at or below            DONE' of the inner loops
 *
 * where N is the number of elements of the inner loops, and F(x) = x along axes that are not kept. The largest held(t)
 * is found from the innermost loop outwards: of all pairs (READ, DONE) that the inner loops can give only the convex
 * hull can lead to a maximum, since every outer loop combines them linearly.
 */
#ifndef RS_HELD_H
#define RS_HELD_H

#include "geometry/axis.h"

/* One buffer along an axis: read before it and in it, complete before it and in it. */
typedef struct rs_stretch {
    int64_t lo, width, done, ends;
} rs_stretch;

typedef struct rs_stretches {
    rs_stretch *at; /* owned */
    int64_t n, room;
} rs_stretches;

/* What counts as taken up: elements that were read, or all elements of units that were begun. */
typedef enum rs_storage { RS_PIECES, RS_WHOLE_UNITS } rs_storage;

/*
 * The buffers along one axis that can lead to a peak. Replaces what `out` held and keeps its room; release it at the
 * end. False without memory.
 */
bool rs_stretches_make(const rs_axis *buffers, const rs_axis *target, bool kept, rs_storage storage, rs_stretches *out);
void rs_stretches_release(rs_stretches *stretches);

/* Most elements held at once with these loops, outermost first; INT64_MAX without memory to find out. */
int64_t rs_held_peak(int n_loops, const rs_stretches *const *loops, const int64_t *extents);

#endif
