/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unpack.h - blocks that are compressed and larger than memory. They go through files where they are plain, forwards,
 * in bounded memory:
 *
 *     source --- unpack ---> scratch file ... the run, as of plain blocks ... plain target --- pack ---> target
 *
 * Packing works in parallel: a gzip stream may have many members.
 */
#ifndef RS_UNPACK_H
#define RS_UNPACK_H

#include "engine/file.h"
#include "plan/plan.h"
#include "format/format.h"

#define RS_UNPACKED_NAME "unpacked"  /* in the part */
#define RS_PACKED_NAME "data-packed" /* the same: what becomes its data, when that is one file */

typedef struct rs_unpacked {
    resplit_array array;    /* the source as if it were plain: borrows all but its path */
    char path[RS_PATH_MAX]; /* where it is now */
    char folder[RS_PATH_MAX];
} rs_unpacked;

/* Unpacks the blocks that a problem reads into a new folder, in `temp`, or, when that is NULL, in `part`. End it also
   after a failure. */
resplit_status rs_unpack_source(rs_unpacked *unpacked, const rs_problem *problem, const resplit_array *source,
                                const char *temp, const char *part, const resplit_run_options *options,
                                resplit_cost *cost, resplit_error *err);
void rs_unpack_end(const rs_unpacked *unpacked);

/* Packs the files of a target in their place, where an earlier run has not done it. */
resplit_status rs_pack_target(const rs_problem *problem, const resplit_array *target, const char *root, int64_t memory,
                              const resplit_run_options *options, resplit_cost *cost, resplit_error *err);

#endif
