/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy.c - strided N-D copy in reduced form.
 *
 * A copy is first brought to its simplest equivalent: axes of length 1 dropped, axes sorted so that the target is
 * walked forwards, neighbours fused where both sides are contiguous, a contiguous innermost axis swallowed by the
 * element. What remains is a few outer loops around one of two kernels: a line, or a tiled plane where one side is
 * transposed (walking a plane in tiles keeps the lines of both sides in cache).
 */
#include "geometry/copy.h"

#include "base/past.h"

#include <string.h>

typedef struct copy_axis {
    int64_t extent, dst, src; /* strides in bytes */
} copy_axis;

typedef struct copy_form {
    int n;
    int64_t size; /* bytes that move together */
    copy_axis axis[2 * RS_MAX_NDIM + 2];
} copy_form;

typedef void line_kernel(char *dst, const char *src, const copy_axis *line, int64_t size);

/* memcpy of a constant size is one move instruction, and needs no alignment. */
#define LINE_KERNEL(name, SIZE)                                                                                        \
    static void name(char *dst, const char *src, const copy_axis *line, int64_t size)                                  \
    {                                                                                                                  \
        (void)size;                                                                                                    \
        for (int64_t i = 0; i < line->extent; i++) {                                                                   \
            memcpy(dst, src, (size_t)(SIZE));                                                                          \
            dst += line->dst;                                                                                          \
            src += line->src;                                                                                          \
        }                                                                                                              \
    }

LINE_KERNEL(line_1, 1)
LINE_KERNEL(line_2, 2)
LINE_KERNEL(line_4, 4)
LINE_KERNEL(line_8, 8)
LINE_KERNEL(line_16, 16)

enum { AHEAD = 1 << 10, SHORT_ROW = 512 }; /* bytes */

static inline void fetch_row(const char *dst, const char *src, int64_t size)
{
    for (int64_t at = 0; at < size; at += RS_CACHE_LINE) {
        __builtin_prefetch(src + at, 0);
        __builtin_prefetch(dst + at, 1);
    }
}

/* Short rows are no stream that a processor foresees: it is told which ones follow. */
static void line_any(char *dst, const char *src, const copy_axis *line, int64_t size)
{
    const int64_t ahead = AHEAD / size + 1, fetched = size < SHORT_ROW ? line->extent - ahead : 0;
    for (int64_t i = 0; i < line->extent; i++) {
        if (i < fetched) {
            fetch_row(dst + ahead * line->dst, src + ahead * line->src, size);
        }
        memcpy(dst, src, (size_t)size);
        dst += line->dst;
        src += line->src;
    }
}

static void line_past(char *dst, const char *src, const copy_axis *line, int64_t size)
{
    for (int64_t i = 0; i < line->extent; i++) {
        rs_past_lines(dst, src, size);
        dst += line->dst;
        src += line->src;
    }
}

static bool are_lines(const copy_form *form, const char *dst)
{
    int64_t all = form->size | (int64_t)(uintptr_t)dst;
    for (int i = 0; i < form->n; i++) {
        all |= form->axis[i].dst;
    }
    return all % RS_CACHE_LINE == 0;
}

static line_kernel *kernel_for(int64_t size)
{
    switch (size) {
    case 1: return line_1;
    case 2: return line_2;
    case 4: return line_4;
    case 8: return line_8;
    case 16: return line_16;
    default: return line_any;
    }
}

static void add_axis(copy_form *form, copy_axis axis)
{
    int i = form->n++;
    for (; i > 0 && form->axis[i - 1].dst < axis.dst; i--) {
        form->axis[i] = form->axis[i - 1];
    }
    form->axis[i] = axis;
}

static void fuse(copy_form *form)
{
    int n = 0;
    for (int i = 0; i < form->n; i++) {
        copy_axis inner = form->axis[i];
        copy_axis *outer = n > 0 ? &form->axis[n - 1] : NULL;
        if (outer != NULL && outer->dst == inner.dst * inner.extent && outer->src == inner.src * inner.extent) {
            inner.extent *= outer->extent;
            *outer = inner;
        } else {
            form->axis[n++] = inner;
        }
    }
    form->n = n;
    if (n > 0 && form->axis[n - 1].dst == form->size && form->axis[n - 1].src == form->size) {
        form->size *= form->axis[n - 1].extent;
        form->n--;
    }
}

/* Moves the axis along which the source is fastest next to the innermost one. True when those two form
   a transposed plane. */
static bool find_plane(copy_form *form)
{
    int fast = form->n - 1;
    for (int i = 0; i < form->n; i++) {
        if (form->axis[i].src < form->axis[fast].src) {
            fast = i;
        }
    }
    if (fast == form->n - 1) {
        return false;
    }
    copy_axis axis = form->axis[fast];
    memmove(&form->axis[fast], &form->axis[fast + 1], (size_t)(form->n - 2 - fast) * sizeof axis);
    form->axis[form->n - 2] = axis;
    return true;
}

static void copy_plane(char *dst, const char *src, const copy_axis *plane, int64_t size, line_kernel *kernel)
{
    const int64_t tile = rs_max(8, 256 / size);
    for (int64_t i = 0; i < plane[0].extent; i += tile) {
        for (int64_t j = 0; j < plane[1].extent; j += tile) {
            copy_axis line = plane[1];
            line.extent = rs_min(tile, plane[1].extent - j);
            int64_t rows = rs_min(tile, plane[0].extent - i);
            for (int64_t r = i; r < i + rows; r++) {
                kernel(dst + r * plane[0].dst + j * plane[1].dst, src + r * plane[0].src + j * plane[1].src, &line,
                       size);
            }
        }
    }
}

/* False: there is nothing to copy. */
static bool reduce(int ndim, const int64_t *extent, int64_t itemsize, const int64_t *dst_strides,
                   const int64_t *src_strides, copy_form *form)
{
    form->n = 0;
    form->size = itemsize;
    for (int d = 0; d < ndim; d++) {
        if (extent[d] == 0) {
            return false;
        }
        if (extent[d] > 1) {
            add_axis(form, (copy_axis){extent[d], dst_strides[d], src_strides[d]});
        }
    }
    fuse(form);
    return true;
}

/* All lines; or all planes, which are the last two axes. */
static void walk(copy_form *form, bool plane, line_kernel *kernel, char *dst, const char *src)
{
    int inner = plane ? 2 : 1;
    while (form->n < inner) { /* so that there is always a line */
        form->axis[form->n++] = (copy_axis){1, 0, 0};
    }
    int outer = form->n - inner;
    int64_t at[2 * RS_MAX_NDIM];
    for (int d = 0; d < outer; d++) {
        at[d] = 0;
    }
    for (;;) {
        if (plane) {
            copy_plane(dst, src, &form->axis[outer], form->size, kernel);
        } else {
            kernel(dst, src, &form->axis[outer], form->size);
        }
        int d = outer - 1;
        for (; d >= 0; d--) {
            dst += form->axis[d].dst;
            src += form->axis[d].src;
            if (++at[d] < form->axis[d].extent) {
                break;
            }
            dst -= form->axis[d].dst * at[d];
            src -= form->axis[d].src * at[d];
            at[d] = 0;
        }
        if (d < 0) {
            return;
        }
    }
}

static void walk_lines(copy_form *form, char *dst, const char *src)
{
    line_kernel *kernel = kernel_for(form->size);
    bool plane = find_plane(form);
    walk(form, plane, kernel, dst, src);
}

void rs_copy(int ndim, const int64_t *extent, int64_t itemsize, char *dst, const int64_t *dst_strides, const char *src,
             const int64_t *src_strides)
{
    copy_form form; /* most copies have few axes: to clear those of all would take longer than many a copy */
    if (reduce(ndim, extent, itemsize, dst_strides, src_strides, &form)) {
        walk_lines(&form, dst, src);
    }
}

void rs_copy_past(int ndim, const int64_t *extent, int64_t itemsize, char *dst, const int64_t *dst_strides,
                  const char *src, const int64_t *src_strides)
{
    copy_form form;
    bool any = reduce(ndim, extent, itemsize, dst_strides, src_strides, &form);
    if (any && are_lines(&form, dst)) {
        walk(&form, false, line_past, dst, src);
        rs_past_end();
    } else if (any) {
        walk_lines(&form, dst, src);
    }
}

rs_view rs_view_of(int ndim, const int *order, const rs_box *box, int64_t itemsize, void *memory)
{
    rs_view view;
    view.base = memory;
    rs_box_strides(ndim, order, box, view.strides);
    for (int d = 0; d < ndim; d++) {
        view.box.lo[d] = box->lo[d];
        view.box.hi[d] = box->hi[d];
        view.strides[d] *= itemsize;
    }
    return view;
}

/* An extent and two places of a box that lies in both views. */
typedef struct meeting {
    int64_t extent[RS_MAX_NDIM];
    char *to;
    const char *from;
} meeting;

static meeting meet(int ndim, const rs_box *box, const rs_view *dst, const rs_view *src)
{
    meeting m;
    for (int d = 0; d < ndim; d++) {
        m.extent[d] = box->hi[d] - box->lo[d];
    }
    m.to = dst->base + rs_box_offset(ndim, &dst->box, dst->strides, box->lo);
    m.from = src->base + rs_box_offset(ndim, &src->box, src->strides, box->lo);
    return m;
}

void rs_view_copy(int ndim, int64_t itemsize, const rs_box *box, const rs_view *dst, const rs_view *src)
{
    meeting m = meet(ndim, box, dst, src);
    rs_copy(ndim, m.extent, itemsize, m.to, dst->strides, m.from, src->strides);
}

void rs_view_copy_past(int ndim, int64_t itemsize, const rs_box *box, const rs_view *dst, const rs_view *src)
{
    meeting m = meet(ndim, box, dst, src);
    rs_copy_past(ndim, m.extent, itemsize, m.to, dst->strides, m.from, src->strides);
}

void rs_fill(char *memory, int64_t n, const char *element, int64_t itemsize)
{
    int64_t done = rs_min(n, itemsize);
    memcpy(memory, element, (size_t)done);
    while (done < n) { /* twice as much each time, until it no longer fits a cache */
        int64_t more = rs_min(n - done, rs_min(done, (64 << 10) / itemsize * itemsize + itemsize));
        memcpy(memory + done, memory, (size_t)more);
        done += more;
    }
}

bool rs_is_filled(const char *memory, int64_t n, const char *element, int64_t itemsize)
{
    if (n == 0 || memcmp(memory, element, (size_t)itemsize) != 0) {
        return n == 0;
    }
    /* every element is like the one before it */
    return memcmp(memory, memory + itemsize, (size_t)(n - itemsize)) == 0;
}
