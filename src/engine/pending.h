/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pending.h - target data that has been read and not yet written.
 *
 *     table: key of a unit --> unit --> piece --> piece
 *                                       memory    memory       each a box of the unit, in the target's order
 *
 * A unit is kept whole (one piece, all its memory from the beginning) or in the pieces that buffers brought, as the
 * plan says. All memory comes from the budget.
 *
 * A tray (geometry/tray.h) has the place of a unit in the table: its one piece is the memory of all units of a buffer.
 */
#ifndef RS_PENDING_H
#define RS_PENDING_H

#include "base/budget.h"
#include "geometry/copy.h"

enum {
    RS_LARGE_PIECE = 256 << 10,
    RS_LEAD_MOST = 4096,
    RS_SHORT_LEAD = 192, /* fits into what is counted for the records of a piece */
};

typedef struct rs_piece {
    struct rs_piece *next;
    rs_view view;
    void *memory; /* where the view's begins, or a little before */
    int64_t bytes;
} rs_piece;

typedef struct rs_unit {
    struct rs_unit *next; /* in the same slot of the table */
    int64_t key;
    rs_piece *pieces; /* the newest first */
    int busy;         /* slices that are being copied into it, or will be */
    int64_t n_writes; /* still to be made of it: one, unless it is a tray */
    void *outgoing;   /* once all of it was asked for: the write that waits for it */
} rs_unit;

typedef struct rs_pending {
    rs_budget *budget;
    const rs_layout *target;
    rs_unit **slots; /* a power of two of them */
    int64_t n_slots;
} rs_pending;

/* A table for about `n` units. */
resplit_status rs_pending_init(rs_pending *pending, rs_budget *budget, const rs_layout *target, int64_t n,
                               resplit_error *err);
void rs_pending_release(rs_pending *pending);

/*
 * The piece for `box`, which is a unit or the part of it in the current buffer: made when it is not there. Large pieces
 * begin `lead` bytes after a page's beginning. *out is NULL when there is no room in the budget now.
 */
resplit_status rs_pending_place(rs_pending *pending, int64_t key, const rs_box *box, int64_t lead, rs_unit **unit,
                                rs_piece **out, resplit_error *err);

/* The unit with this key, or NULL. */
rs_unit *rs_pending_find(const rs_pending *pending, int64_t key);

/* The piece of a unit that holds `box`, or NULL. */
rs_piece *rs_unit_piece(const rs_unit *unit, int ndim, const rs_box *box);

void rs_pending_drop(rs_pending *pending, rs_unit *unit);

#endif
