/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * panels.h - the cheapest cuts along an axis on which cuts simply add up: the slowest axis on both sides.
 */
#ifndef RS_PANELS_H
#define RS_PANELS_H

#include "geometry/axis.h"

typedef struct rs_panels {
    const rs_axis *source, *target;
    int64_t source_weight, target_weight; /* seeks that a cut inside a source block, inside a target block costs */
} rs_panels;

/* Numbers of room that rs_panels_cut needs for an axis of this extent. */
int64_t rs_panels_room(int64_t extent);

/*
 * Cuts, at any positions, into panels of at most `thickness` elements, as cheaply as can be. Returns the number of
 * panels n; the first n + 1 numbers of `room` are their cuts.
 */
int64_t rs_panels_cut(const rs_panels *panels, int64_t thickness, int64_t *room);

#endif
