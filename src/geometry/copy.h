/* SPDX-License-Identifier: BSD-3-Clause */
/* copy.h - strided N-D copy: the one inner loop that moves array data in memory. */
#ifndef RS_COPY_H
#define RS_COPY_H

#include "geometry/grid.h"

/* A box of elements somewhere in memory: `base` is the element at box.lo. Owns nothing. */
typedef struct rs_view {
    char *base;
    rs_box box;
    int64_t strides[RS_MAX_NDIM]; /* bytes */
} rs_view;

/* A view of memory that holds exactly `box`, its elements in `order`. */
rs_view rs_view_of(int ndim, const int *order, const rs_box *box, int64_t itemsize, void *memory);

/* Copies the elements of `box`, which lies in both views; or past the caches, as below. */
void rs_view_copy(int ndim, int64_t itemsize, const rs_box *box, const rs_view *dst, const rs_view *src);
void rs_view_copy_past(int ndim, int64_t itemsize, const rs_box *box, const rs_view *dst, const rs_view *src);

/* `n` bytes of one element over and over, and whether memory holds just that, bit for bit. n is a
   multiple of itemsize. */
void rs_fill(char *memory, int64_t n, const char *element, int64_t itemsize);
bool rs_is_filled(const char *memory, int64_t n, const char *element, int64_t itemsize);

/* Copies extent[0] x extent[1] x ... elements; strides in bytes, dst strides positive and not overlapping. */
void rs_copy(int ndim, const int64_t *extent, int64_t itemsize, char *dst, const int64_t *dst_strides, const char *src,
             const int64_t *src_strides);

/* The same, of up to twice as many axes, and past the caches where all rows are whole lines of them: for what nobody
   looks at soon. */
void rs_copy_past(int ndim, const int64_t *extent, int64_t itemsize, char *dst, const int64_t *dst_strides,
                  const char *src, const int64_t *src_strides);

#endif
