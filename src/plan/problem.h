/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * problem.h - what a planner sees: two layouts of the same box of elements, and nothing else.
 *
 * Positions are relative to the region of interest, so `shape` is the region's and source blocks may reach out of it.
 * The problem of a partition is a part of it: positions are then relative to the partition. It has whole target blocks,
 * unless there is only one, which then reaches out too.
 */
#ifndef RS_PROBLEM_H
#define RS_PROBLEM_H

#include "geometry/grid.h"

typedef struct rs_problem {
    int ndim;
    int64_t itemsize;
    int64_t n_elements;
    int64_t shape[RS_MAX_NDIM];
    rs_layout source;                  /* seen through the region of interest                        */
    rs_layout target;                  /* covers it exactly                                          */
    int64_t source_index[RS_MAX_NDIM]; /* index, in the whole source, of the first block that is seen */
    int64_t target_index[RS_MAX_NDIM]; /* the same of the target: not 0 in a partition only          */
    int64_t start[RS_MAX_NDIM];        /* where it lies in the whole target: the same                 */
    int64_t n_source, n_target;        /* blocks                                                     */
    int64_t *cuts;                     /* owned; what uneven axes borrow                             */
    uint32_t seen; /* in which way blocks are seen that could be seen in another: a set of those below */
    bool verbatim; /* stored bytes of a block mean the same on both sides: they can be copied */
} rs_problem;

enum {
    RS_UNPACKED_SOURCE = 1,      /* compressed, and unpacked into a file: unpack.h of the engine */
    RS_UNPACKED_TARGET = 2,      /* written plain, then packed */
    RS_STREAMED_SOURCE = 4,      /* each block is read forwards, once */
    RS_STREAMED_TARGET = 8,      /* the same, of one that is compared with */
    RS_WHOLE_SOURCE = 16,        /* stored as they are, but read whole: those at the border are cut into many runs */
    RS_WHOLE_TARGET = 32,        /* the same, written */
    RS_STREAM_BYTES = 192 << 10, /* that a stream takes */
};

/*
 * The region of `source` that starts at `origin` and has the shape of `target`; or, of that, what lies in `box`, which
 * is not empty unless the target is, and NULL for all of it. Copies all it needs.
 */
resplit_status rs_problem_make(const rs_layout *source, const rs_layout *target, const int64_t *origin,
                               const rs_box *box, rs_problem *out, resplit_error *err);
void rs_problem_release(rs_problem *problem);

/* The box [start, start + shape) of an array, to be read block by block: the target is cut as the source, and its
   blocks are not coded. */
resplit_status rs_problem_make_reading(const rs_layout *array, const int64_t *start, const int64_t *shape,
                                       rs_problem *out, resplit_error *err);

/* Sees blocks so. The layouts of those that are whole say it already. */
void rs_problem_see(rs_problem *problem, uint32_t seen);

/* Staging that a worker needs at least, with the elements of encoded blocks or without; what they
   need elsewhere then. */
int64_t rs_problem_staging(const rs_problem *problem, bool whole);
int64_t rs_problem_area(const rs_problem *problem);

/* What codecs need beside; and of that what each worker needs, for blocks that are streams. */
int64_t rs_problem_coder(const rs_problem *problem);
int64_t rs_problem_streams(const rs_problem *problem);

/* RS_FIXED_BYTES, and libraries that are loaded during a run. */
int64_t rs_problem_fixed(const rs_problem *problem);

/* Two problems with the same hash have the same plans. */
uint64_t rs_problem_hash(const rs_problem *problem);

#endif
