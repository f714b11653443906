/* SPDX-License-Identifier: BSD-3-Clause */
/* slices.c - a box in contiguous slices, and ranges of its elements. */
#include "geometry/slices.h"

#include <string.h>

void rs_slices_init(rs_slices *slices, int ndim, const int *order, const rs_box *box, int64_t most)
{
    slices->ndim = ndim;
    memcpy(slices->order, order, (size_t)ndim * sizeof *order);
    slices->box = *box;
    memcpy(slices->at, box->lo, sizeof slices->at);
    slices->done = rs_box_volume(ndim, box) == 0;
    int64_t inner = 1; /* elements of the axes faster than level */
    slices->level = ndim - 1;
    while (!slices->done && slices->level > 0) {
        int d = order[slices->level];
        int64_t extent = box->hi[d] - box->lo[d];
        if (extent > most / inner) {
            break;
        }
        inner *= extent;
        slices->level--;
    }
    /* as few as fit, then as equal as can be: a short one at the end would take the disk as long as a long one */
    slices->length = rs_max(1, most / inner);
    if (!slices->done && ndim > 0) {
        int64_t extent = box->hi[order[slices->level]] - box->lo[order[slices->level]];
        slices->length = rs_ceil_div(extent, rs_ceil_div(extent, slices->length));
    }
}

bool rs_slices_next(rs_slices *slices, rs_box *out)
{
    if (slices->done) {
        return false;
    }
    *out = slices->box;
    slices->done = true;
    for (int i = slices->level; i >= 0; i--) {
        int d = slices->order[i];
        int64_t length = i == slices->level ? slices->length : 1;
        out->lo[d] = slices->at[d];
        out->hi[d] = slices->at[d] + rs_min(length, slices->box.hi[d] - slices->at[d]);
        if (!slices->done) {
            continue; /* a faster axis moved on already */
        }
        slices->at[d] = out->hi[d];
        if (slices->at[d] < slices->box.hi[d]) {
            slices->done = false;
        } else {
            slices->at[d] = slices->box.lo[d];
        }
    }
    return true;
}

/* One element, or as many indices as fit of the slowest axis that is at its beginning with all faster ones. */
bool rs_range_next(rs_range *range, rs_box *out)
{
    int64_t rest = range->end - range->at, index = range->at, inner = 1;
    bool grows = true; /* all faster axes are in it from end to end */
    if (rest <= 0) {
        return false;
    }
    *out = range->box;
    for (int i = range->ndim - 1; i >= 0; i--) {
        int d = range->order[i];
        int64_t extent = range->box.hi[d] - range->box.lo[d], at = index % extent;
        int64_t n = grows ? rs_max(1, rs_min(extent - at, rest / inner)) : 1;
        index /= extent;
        out->lo[d] = range->box.lo[d] + at;
        out->hi[d] = out->lo[d] + n;
        grows = grows && n == extent;
        inner *= n;
    }
    range->at += inner;
    return true;
}
