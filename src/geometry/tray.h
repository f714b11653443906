/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tray.h - memory in which the blocks of a box lie side by side, each as it would lie by itself.
 *
 *     the box, and where       the tray:   a a a a a a | b b b b b b | c c c c | d d d d | e e ...
 *     its blocks are cut:
 *         a a a b b b c c      Blocks are in C order of the grid, and those at the ends of the box may be shorter. Nothing lies between
 *         a a a b b b c c      them: a tray is as long as the box. Where a block begins follows from numbers, and blocks
 *         d d d e e e f f      of the same shape are at equal distances. So what crosses hundreds of them is copied at once.
 */
#ifndef RS_TRAY_H
#define RS_TRAY_H

#include "geometry/copy.h"

/* Borrows everything. The box has elements. */
typedef struct rs_tray {
    const rs_layout *layout; /* whose blocks */
    const rs_box *box;
    char *memory;
} rs_tray;

/* What of block `index` lies in the tray's box, which it meets. */
rs_view rs_tray_view(const rs_tray *tray, const int64_t *index);

/* Puts the elements of `box`, which has some and lies in both, to their places, past the caches where it can. */
void rs_tray_fill(const rs_tray *tray, const rs_box *box, const rs_view *from);

#endif
