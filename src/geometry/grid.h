/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * grid.h - boxes, grids of blocks, and layouts: a grid together with the order of the elements inside a block.
 *
 * Everything here is a plain value of at most RS_MAX_NDIM axes; nothing allocates.
 */
#ifndef RS_GRID_H
#define RS_GRID_H

#include "geometry/axis.h"

typedef struct rs_box {
    int64_t lo[RS_MAX_NDIM], hi[RS_MAX_NDIM]; /* [lo, hi) along each axis */
} rs_box;

/* What it takes to read or write an encoded block, or one of another type; all zero: blocks are stored as they are. */
typedef struct rs_coding {
    int64_t staging; /* bytes of staging that a worker needs for an encoded one, */
    int64_t area;    /* of them, those for its elements; 0: they have to be there, whoever computes */
    int64_t item;    /* bytes of an element in the files, when it is cast; else 0 */
    int64_t coder;   /* and for its codecs */
    int64_t library; /* and all of them together, for a library that moves no data */
    double seconds;  /* of one processor, per byte of elements */
    double ratio;    /* stored bytes per byte of elements, about */
    int64_t
        packer; /* of a source: bytes that a worker needs to pack its elements for a temporary file, and to unpack them */
    double packing; /* and seconds for both, as above */
} rs_coding;

typedef struct rs_layout {
    int ndim;
    int64_t itemsize;
    rs_axis axis[RS_MAX_NDIM];
    int order[RS_MAX_NDIM]; /* axes from the slowest to the fastest in a block: 0,1,2 is C order */
    bool atomic;            /* a block can only be read or written whole, as when it is compressed */
    bool sequential;        /* a block can only be read forwards, once, as a stream */
    bool in_memory;         /* of a source: nothing is read from a file, so nothing is a seek */
    rs_coding coding;       /* of atomic blocks that are encoded */
} rs_layout;

/* order = 'C' or 'F' */
void rs_order_set(int ndim, char order, int *out);

/* 'C', 'F', or 0: neither. Of fewer than two axes it is C. */
char rs_order_name(int ndim, const int *order);

int64_t rs_box_volume(int ndim, const rs_box *box);
bool rs_box_intersect(int ndim, const rs_box *a, const rs_box *b, rs_box *out); /* false: empty */

/* Number of blocks and of elements; false when they do not fit an int64_t (elements: times itemsize). */
bool rs_layout_count(const rs_layout *layout, int64_t *n_blocks, int64_t *n_elements);

/* Elements of the longest block as it is stored: those at the ends may reach out of the array. */
int64_t rs_layout_longest(const rs_layout *layout);

/* Position of a block in C order of the grid. */
int64_t rs_layout_block_number(const rs_layout *layout, const int64_t *index);

/* The box of block `index`: as stored, and the part inside the window. */
rs_box rs_layout_stored(const rs_layout *layout, const int64_t *index);
rs_box rs_layout_box(const rs_layout *layout, const int64_t *index);

/* What of block `index` lies in `box`, which meets it. Returns the number of elements. Only the layout's axes of
   *out are set. */
int64_t rs_layout_overlap(const rs_layout *layout, const int64_t *index, const rs_box *box, rs_box *out);

/* The same of a box of blocks, all of which meet `box`. */
int64_t rs_layout_overlap_all(const rs_layout *layout, const rs_box *blocks, const rs_box *box, rs_box *out);

/*
 * Counts through all indices [lo, hi) in C order: start with index = lo, then
 * while (rs_index_next(ndim, lo, hi, index)). Every range must hold at least one index.
 */
bool rs_index_next(int ndim, const int64_t *lo, const int64_t *hi, int64_t *index);

/* The indices of blocks that meet a box: [lo, hi) along each axis. */
void rs_layout_range(const rs_layout *layout, const rs_box *box, int64_t *lo, int64_t *hi);

/*
 * The most blocks that follow one another in C order of the indices [lo, hi), from `index` on, are a box of the grid and
 * have numbers below `end`: their indices go to *blocks, and index becomes that of the next one. False: there is none.
 */
bool rs_layout_take(const rs_layout *layout, const int64_t *lo, const int64_t *hi, int64_t end, int64_t *index,
                    rs_box *blocks);

/*
 * Contiguous runs of `box` inside the stored block `block`, elements in `order`:
 * a box that is the whole block is one run; a box whose last cut axis (towards the fastest) is t has one run per
 * index of the axes before t. *run_items receives the length of each.
 */
int64_t rs_box_runs(int ndim, const int *order, const rs_box *block, const rs_box *box, int64_t *run_items);

/* Contiguous runs of all blocks together, each as far as it lies in the window: accesses that it takes to see
   every element once. */
int64_t rs_layout_runs(const rs_layout *layout);

/* Element strides of a box stored by itself in `order`. */
void rs_box_strides(int ndim, const int *order, const rs_box *box, int64_t *strides);

/* Element offset of position `at` in a box with those strides. */
int64_t rs_box_offset(int ndim, const rs_box *box, const int64_t *strides, const int64_t *at);

#endif
