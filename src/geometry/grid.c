/* SPDX-License-Identifier: BSD-3-Clause */
/* grid.c - boxes and grids of blocks. */
#include "geometry/grid.h"

void rs_order_set(int ndim, char order, int *out)
{
    for (int d = 0; d < ndim; d++) {
        out[d] = order == 'F' ? ndim - 1 - d : d;
    }
}

char rs_order_name(int ndim, const int *order)
{
    bool c = true, f = true;
    for (int d = 0; d < ndim; d++) {
        c = c && order[d] == d;
        f = f && order[d] == ndim - 1 - d;
    }
    return c ? 'C' : f ? 'F' : '\0';
}

int64_t rs_box_volume(int ndim, const rs_box *box)
{
    int64_t volume = 1;
    for (int d = 0; d < ndim; d++) {
        volume *= box->hi[d] - box->lo[d];
    }
    return volume;
}

bool rs_box_intersect(int ndim, const rs_box *a, const rs_box *b, rs_box *out)
{
    bool meet = true;
    for (int d = 0; d < ndim; d++) {
        out->lo[d] = rs_max(a->lo[d], b->lo[d]);
        out->hi[d] = rs_min(a->hi[d], b->hi[d]);
        meet = meet && out->lo[d] < out->hi[d];
    }
    return meet;
}

bool rs_layout_count(const rs_layout *layout, int64_t *n_blocks, int64_t *n_elements)
{
    int64_t bytes = layout->itemsize;
    *n_blocks = *n_elements = 1;
    bool empty = false;
    for (int d = 0; d < layout->ndim; d++) {
        empty = empty || layout->axis[d].extent == 0;
    }
    for (int d = 0; d < layout->ndim; d++) {
        int64_t extent = empty ? rs_min(1, layout->axis[d].extent) : layout->axis[d].extent;
        if (!rs_mul(*n_blocks, layout->axis[d].n, n_blocks) || !rs_mul(*n_elements, extent, n_elements)
            || !rs_mul(bytes, extent, &bytes)) {
            return false;
        }
    }
    return true;
}

int64_t rs_layout_longest(const rs_layout *layout)
{
    int64_t items = 1;
    for (int d = 0; d < layout->ndim; d++) {
        const rs_axis *axis = &layout->axis[d];
        rs_span first = rs_axis_stored(axis, 0), last = rs_axis_stored(axis, axis->n - 1);
        items *= rs_max(rs_axis_longest(axis), rs_max(first.hi - first.lo, last.hi - last.lo));
    }
    return items;
}

int64_t rs_layout_block_number(const rs_layout *layout, const int64_t *index)
{
    int64_t number = 0;
    for (int d = 0; d < layout->ndim; d++) {
        number = number * layout->axis[d].n + index[d];
    }
    return number;
}

rs_box rs_layout_stored(const rs_layout *layout, const int64_t *index)
{
    rs_box box = {{0}, {0}};
    for (int d = 0; d < layout->ndim; d++) {
        rs_span span = rs_axis_stored(&layout->axis[d], index[d]);
        box.lo[d] = span.lo;
        box.hi[d] = span.hi;
    }
    return box;
}

rs_box rs_layout_box(const rs_layout *layout, const int64_t *index)
{
    rs_box box = {{0}, {0}};
    for (int d = 0; d < layout->ndim; d++) {
        rs_span span = rs_axis_span(&layout->axis[d], index[d]);
        box.lo[d] = span.lo;
        box.hi[d] = span.hi;
    }
    return box;
}

int64_t rs_layout_overlap(const rs_layout *layout, const int64_t *index, const rs_box *box, rs_box *out)
{
    int64_t volume = 1;
    for (int d = 0; d < layout->ndim; d++) {
        rs_span span = rs_axis_span(&layout->axis[d], index[d]);
        out->lo[d] = rs_max(span.lo, box->lo[d]);
        out->hi[d] = rs_min(span.hi, box->hi[d]);
        volume *= out->hi[d] - out->lo[d];
    }
    return volume;
}

int64_t rs_layout_overlap_all(const rs_layout *layout, const rs_box *blocks, const rs_box *box, rs_box *out)
{
    int64_t volume = 1;
    for (int d = 0; d < layout->ndim; d++) {
        const rs_axis *axis = &layout->axis[d];
        out->lo[d] = rs_max(rs_axis_span(axis, blocks->lo[d]).lo, box->lo[d]);
        out->hi[d] = rs_min(rs_axis_span(axis, blocks->hi[d] - 1).hi, box->hi[d]);
        volume *= out->hi[d] - out->lo[d];
    }
    return volume;
}

bool rs_index_next(int ndim, const int64_t *lo, const int64_t *hi, int64_t *index)
{
    for (int d = ndim - 1; d >= 0; d--) {
        if (++index[d] < hi[d]) {
            return true;
        }
        index[d] = lo[d];
    }
    return false;
}

void rs_layout_range(const rs_layout *layout, const rs_box *box, int64_t *lo, int64_t *hi)
{
    for (int d = 0; d < layout->ndim; d++) {
        const rs_axis *axis = &layout->axis[d];
        lo[d] = rs_axis_find(axis, box->lo[d]);
        hi[d] = box->hi[d] > box->lo[d] ? rs_axis_find(axis, box->hi[d] - 1) + 1 : lo[d] + 1;
    }
}

/* All of the faster axes and some of one: that one is looked for from the fastest on, as long as its first index with
   all that follow is below the end. */
bool rs_layout_take(const rs_layout *layout, const int64_t *lo, const int64_t *hi, int64_t end, int64_t *index,
                    rs_box *blocks)
{
    int64_t left = end - 1 - rs_layout_block_number(layout, index), step = 1, n = 1;
    int along = layout->ndim;
    for (int d = layout->ndim - 1; d >= 0 && left >= 0; d--) {
        along = d;
        n = rs_min(left / step + 1, hi[d] - index[d]);
        left = index[d] == lo[d] ? left - (hi[d] - 1 - lo[d]) * step : -1;
        step *= layout->axis[d].n;
    }
    for (int d = 0; d < layout->ndim; d++) {
        blocks->lo[d] = index[d];
        blocks->hi[d] = d < along ? index[d] + 1 : d == along ? index[d] + n : hi[d];
        index[d] = d < along ? index[d] : d == along ? index[d] + n - 1 : hi[d] - 1;
    }
    return rs_index_next(layout->ndim, lo, hi, index);
}

int64_t rs_box_runs(int ndim, const int *order, const rs_box *block, const rs_box *box, int64_t *run_items)
{
    int64_t runs = 1, items = 1;
    bool cut = false; /* an axis at least as fast as this one is cut, so every index of this one starts a new run */
    for (int i = ndim - 1; i >= 0; i--) {
        int d = order[i];
        int64_t extent = box->hi[d] - box->lo[d];
        if (cut) {
            runs *= extent;
        } else {
            items *= extent;
            cut = box->lo[d] != block->lo[d] || box->hi[d] != block->hi[d];
        }
    }
    *run_items = items;
    return items == 0 ? 0 : runs;
}

static bool is_cut(const rs_axis *axis, int64_t i)
{
    rs_span span = rs_axis_span(axis, i), stored = rs_axis_stored(axis, i);
    return span.lo != stored.lo || span.hi != stored.hi;
}

/* As above: what is cut first along axis d, from the fastest on, has a run for every index of the slower ones. */
int64_t rs_layout_runs(const rs_layout *layout)
{
    int64_t runs = 0, uncut = 1; /* blocks, along the axes so far */
    for (int i = layout->ndim - 1; i >= 0; i--) {
        const rs_axis *axis = &layout->axis[layout->order[i]];
        int64_t n_cut = axis->n > 0 && is_cut(axis, 0), slower = 1;
        n_cut += axis->n > 1 && is_cut(axis, axis->n - 1);
        for (int j = 0; j < i; j++) {
            slower = rs_mul_most(slower, layout->axis[layout->order[j]].extent);
        }
        runs = rs_add_most(runs, rs_mul_most(rs_mul_most(uncut, n_cut), slower));
        uncut = rs_mul_most(uncut, axis->n - n_cut);
    }
    return rs_add_most(runs, uncut);
}

void rs_box_strides(int ndim, const int *order, const rs_box *box, int64_t *strides)
{
    int64_t stride = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        strides[order[i]] = stride;
        stride *= box->hi[order[i]] - box->lo[order[i]];
    }
}

int64_t rs_box_offset(int ndim, const rs_box *box, const int64_t *strides, const int64_t *at)
{
    int64_t offset = 0;
    for (int d = 0; d < ndim; d++) {
        offset += (at[d] - box->lo[d]) * strides[d];
    }
    return offset;
}
