/* SPDX-License-Identifier: BSD-3-Clause */
/* tray.c - a box becomes zones of blocks that are alike, and a zone one strided copy: along blocks, and inside them. */
#include "geometry/tray.h"

/* Blocks along one axis that follow one another: as long in the tray, with the same part in what is copied. */
typedef struct zone {
    int64_t n, next;        /* blocks, and the one behind them */
    int64_t before, length; /* elements of the tray's box before the first one, and of each */
    int64_t from, to;       /* the part, in a block */
} zone;

/* The first zone of blocks [block, end), of which the first one has something in `part`. */
static zone zone_at(const rs_tray *tray, int d, rs_span part, int64_t block, int64_t end)
{
    const rs_span all = {tray->box->lo[d], tray->box->hi[d]};
    zone z = {.n = 0};
    for (int64_t i = block; i < end; i++) {
        rs_span span = rs_axis_span(&tray->layout->axis[d], i);
        int64_t lo = rs_max(span.lo, all.lo), length = rs_min(span.hi, all.hi) - lo;
        int64_t from = rs_max(lo, part.lo) - lo, to = rs_min(lo + length, part.hi) - lo;
        if (i == block) {
            z = (zone){.before = lo - all.lo, .length = length, .from = from, .to = to};
        } else if (length != z.length || from != z.from || to != z.to) {
            break;
        }
        z.n++;
    }
    z.next = block + z.n;
    return z;
}

/* Where the first blocks of zones begin. pace: bytes from one element to the next along an axis, if blocks were as
   long as that. */
static char *place_of(const rs_tray *tray, const zone *zones, int64_t *pace)
{
    const int ndim = tray->layout->ndim;
    int64_t faster = rs_box_volume(ndim, tray->box), slower = tray->layout->itemsize;
    char *place = tray->memory;
    for (int d = 0; d < ndim; d++) {
        faster /= tray->box->hi[d] - tray->box->lo[d];
        pace[d] = slower * faster;
        place += zones[d].before * pace[d];
        slower *= zones[d].length;
    }
    return place;
}

rs_view rs_tray_view(const rs_tray *tray, const int64_t *index)
{
    const rs_layout *layout = tray->layout;
    zone zones[RS_MAX_NDIM];
    int64_t pace[RS_MAX_NDIM];
    rs_box box;
    for (int d = 0; d < layout->ndim; d++) {
        rs_span all = {tray->box->lo[d], tray->box->hi[d]};
        zones[d] = zone_at(tray, d, all, index[d], index[d] + 1);
        box.lo[d] = tray->box->lo[d] + zones[d].before;
        box.hi[d] = box.lo[d] + zones[d].length;
    }
    return rs_view_of(layout->ndim, layout->order, &box, layout->itemsize, place_of(tray, zones, pace));
}

static void fill_zones(const rs_tray *tray, const zone *zones, const rs_view *from)
{
    const rs_layout *layout = tray->layout;
    const int ndim = layout->ndim;
    int64_t extent[2 * RS_MAX_NDIM], to[2 * RS_MAX_NDIM], by[2 * RS_MAX_NDIM];
    const char *src = from->base;
    char *dst = place_of(tray, zones, to);
    rs_box shape = {.lo = {0}};
    for (int d = 0; d < ndim; d++) {
        shape.hi[d] = zones[d].length;
    }
    rs_view block = rs_view_of(ndim, layout->order, &shape, layout->itemsize, dst);
    for (int d = 0; d < ndim; d++) {
        const zone *z = &zones[d];
        src += (tray->box->lo[d] + z->before + z->from - from->box.lo[d]) * from->strides[d];
        dst += z->from * block.strides[d];
        extent[d] = z->n;
        to[d] *= z->length;
        by[d] = z->length * from->strides[d];
        extent[ndim + d] = z->to - z->from;
        to[ndim + d] = block.strides[d];
        by[ndim + d] = from->strides[d];
    }
    rs_copy_past(2 * ndim, extent, layout->itemsize, dst, to, src, by);
}

void rs_tray_fill(const rs_tray *tray, const rs_box *box, const rs_view *from)
{
    zone zones[RS_MAX_NDIM];
    int64_t lo[RS_MAX_NDIM], hi[RS_MAX_NDIM];
    rs_layout_range(tray->layout, box, lo, hi);
    for (int d = 0; d < tray->layout->ndim; d++) {
        zones[d] = zone_at(tray, d, (rs_span){box->lo[d], box->hi[d]}, lo[d], hi[d]);
    }
    for (bool more = true; more;) {
        fill_zones(tray, zones, from);
        more = false;
        for (int d = tray->layout->ndim - 1; d >= 0 && !more; d--) { /* the next one, or the first one again */
            more = zones[d].next < hi[d];
            zones[d] = zone_at(tray, d, (rs_span){box->lo[d], box->hi[d]}, more ? zones[d].next : lo[d], hi[d]);
        }
    }
}
