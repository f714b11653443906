/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turn.c - a source seen with its axes in another order. Formats differ in how they list axes: NIfTI has x, y, z, t,
 * OME-Zarr wants t, z, y, x. A view has the same blocks, in the same files, and only numbers its axes as the target
 * does: planner and engine see layouts, whose elements are in any order anyhow, and know nothing else about it.
 */
#include "format/array.h"

#include <string.h>

#include "format/space.h"

const int64_t *rs_array_own_index(const resplit_array *view, const int64_t *index, int64_t own[RS_MAX_NDIM])
{
    for (int d = 0; d < view->layout.ndim; d++) {
        own[view->turn[d]] = index[d];
    }
    return own;
}

static const resplit_array *turn_axes(const resplit_array *array, const int *turn, resplit_array *view)
{
    int ndim = array->layout.ndim, place[RS_MAX_NDIM] = {0};
    *view = *array;
    view->of = array;
    for (int d = 0; d < ndim; d++) {
        int own = view->turn[d] = turn[d];
        place[own] = d;
        view->layout.axis[d] = array->layout.axis[own];
        view->cuts[d] = array->cuts[own];
        view->shard[d] = array->shard[own];
        view->info.shape[d] = array->info.shape[own];
        view->info.chunks[d] = array->info.chunks[own];
    }
    for (int i = 0; i < ndim; i++) {
        view->layout.order[i] = place[array->layout.order[i]];
    }
    view->order = view->info.order = rs_order_name(ndim, view->layout.order);
    return view;
}

const resplit_array *rs_array_turned(const resplit_array *source, const resplit_array *target, resplit_array *view)
{
    bool turned = target->turned && source->of == NULL; /* and not yet */
    return turned ? turn_axes(source, target->turn, view) : source;
}

/* Which axis of `a` each of `b` is, by name; false: that is not known, or it is the same one. */
static bool match_names(const rs_space *a, const rs_space *b, int *turn)
{
    bool turned = false;
    for (int d = 0; d < b->ndim; d++) {
        turn[d] = -1;
        for (int e = 0; e < a->ndim; e++) {
            turn[d] = strcmp(a->axis[e].name, b->axis[d].name) == 0 ? e : turn[d];
        }
        if (turn[d] < 0) {
            return false;
        }
        turned = turned || turn[d] != d;
    }
    return turned && a->ndim == b->ndim; /* names are all different, so this is a permutation */
}

resplit_status rs_array_align(const resplit_array *a, const resplit_array *b, resplit_array *view,
                              const resplit_array **out, resplit_error *err)
{
    rs_space *of_a = NULL, *of_b = NULL;
    rs_text notes = {0};
    int turn[RS_MAX_NDIM];
    *out = a;
    if (a->nifti != NULL && b->nifti != NULL) { /* which list axes alike, wherever these lead */
        return RESPLIT_OK;
    }
    resplit_status rc = rs_array_space(a, &of_a, &notes, err);
    rc = rc == RESPLIT_OK ? rs_array_space(b, &of_b, &notes, err) : rc;
    if (rc == RESPLIT_OK && of_a != NULL && of_b != NULL && match_names(of_a, of_b, turn)) {
        *out = turn_axes(a, turn, view);
    }
    rs_space_free(of_a);
    rs_space_free(of_b);
    rs_text_release(&notes);
    return rc;
}
