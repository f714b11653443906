/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * block.h - encoded blocks, which are read and written whole.
 *
 *     file --- stored bytes ---> | staging: stored | elements | --- scatter ---> units
 *     unit --- (padded:) ------> |          stored | elements | --- stored bytes ---> file, or appended to a shard
 *
 * Elements that only who computes needs are in an area of its stone instead: few areas, which stay in the caches.
 *
 * A block that is missing is full of the array's fill value, and one that is full of it is not written.
 */
#ifndef RS_BLOCK_H
#define RS_BLOCK_H

#include "engine/run.h"

/* What becomes of a decoded block. */
typedef void rs_block_use(rs_worker *worker, char *data, void *payload);

/*
 * Reads and decodes the block `file`, in the layout's order, `stored` long. Into `place`, or, when that is NULL, into
 * staging or where stones have areas for it; *data says where. `use` is called by who has decoded it, while it is in a
 * cache, and in an area afterwards there is nothing any more; NULL: nothing is done with it.
 */
resplit_status rs_block_read(rs_worker *worker, rs_coder_of whose, const rs_block_file *file, char *staging,
                             char *place, rs_block_use *use, void *payload, char **data, rs_cursor *cursor,
                             resplit_error *err);

/*
 * The target block of a step in one place, in its order and as long as it is stored: where its only piece is, if that
 * is all of it; else in `area`. What lies outside the array is taken from `background`, or is the fill value. Adds its
 * fingerprint, unless that is NULL.
 */
char *rs_block_assemble(const rs_worker *worker, const rs_step *step, const rs_piece *pieces, const char *background,
                        char *area, uint64_t *fingerprint);

/* The target block of a step as it is stored, in staging. 0 bytes: it is full of the fill value, and need
   not be stored. */
resplit_status rs_block_encode(rs_worker *worker, const rs_step *step, const rs_piece *pieces, char *staging,
                               uint64_t *fingerprint, int64_t *n_stored, resplit_error *err);

/* Encodes and writes the target block of a step. */
resplit_status rs_block_write(rs_worker *worker, const rs_step *step, const rs_piece *pieces, char *staging,
                              uint64_t *fingerprint, resplit_error *err);

/* The stored bytes of one block as they are, through staging. */
resplit_status rs_block_copy(rs_worker *worker, const rs_block_file *from, const rs_step *step, rs_cursor *reading,
                             resplit_error *err);

#endif
