/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turn.c - a source seen with its axes in another order. Formats differ in how they list axes: NIfTI has x, y, z, t, OME-Zarr wants t, z,
 * y, x. A view has the same blocks, in the same files, and only numbers its axes as the target does: planner and engine see layouts, whose
 * elements are in any order anyhow, and know nothing else about it.
 */
#include "format/array.h"

#include <string.h>

const int64_t *rs_array_own_index(const resplit_array *view, const int64_t *index, int64_t own[RS_MAX_NDIM])
{
    for (int d = 0; d < view->layout.ndim; d++) {
        own[view->turn[d]] = index[d];
    }
    return own;
}

const resplit_array *rs_array_turned(const resplit_array *source, const resplit_array *target, resplit_array *view)
{
    int ndim = source->layout.ndim, place[RS_MAX_NDIM] = {0};
    if (!target->turned || source->of != NULL) { /* not, or already */
        return source;
    }
    *view = *source;
    view->of = source;
    memcpy(view->turn, target->turn, sizeof view->turn);
    for (int d = 0; d < ndim; d++) {
        int own = view->turn[d];
        place[own] = d;
        view->layout.axis[d] = source->layout.axis[own];
        view->cuts[d] = source->cuts[own];
        view->shard[d] = source->shard[own];
        view->info.shape[d] = source->info.shape[own];
        view->info.chunks[d] = source->info.chunks[own];
    }
    for (int i = 0; i < ndim; i++) {
        view->layout.order[i] = place[source->layout.order[i]];
    }
    view->order = view->info.order = rs_order_name(ndim, view->layout.order);
    return view;
}
