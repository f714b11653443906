/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * partition.h - a problem divided among several who do not know of each other: boxes of the target that share no file
 * of it.
 *
 *     n = 5       +-------+-----+     each cut divides a box, and the number of partitions with it, about in half; it goes where
 *                 |   1   |  3  |     the fewest bytes are read by both sides, among the borders of target files that leave
 *                 +-------+--+--+     them with about equal shares
 *                 |   2   |4 |5 |
 *                 +-------+--+--+
 *
 * Pure, and in integers: whoever asks, on whatever machine, gets the same boxes.
 */
#ifndef RS_PARTITION_H
#define RS_PARTITION_H

#include "plan/problem.h"

enum {
    RS_MOST_PARTITIONS = 1 << 20,
    RS_PARTITION_VERSION = 1, /* of the way they are cut: partitions of two versions do not belong together */
};

typedef struct rs_division {
    const rs_problem *problem;  /* of the whole */
    rs_axis grain[RS_MAX_NDIM]; /* where the target may be cut: between its files */
    int64_t n;                  /* partitions */
} rs_division;

/* What one partition comes to. */
typedef struct rs_share {
    rs_box box;           /* of the target; of an empty one, nothing but zeros */
    int64_t n_source;     /* blocks of the source that it reads of */
    int64_t n_target;     /* and blocks of the target; 0: it is empty, there are fewer files than partitions */
    int64_t bytes;        /* of its elements */
    int64_t source_bytes; /* that it has to read for them: all of a block that can only be read whole */
} rs_share;

/* Partition `i` of a division, from 0. */
rs_share rs_partition_find(const rs_division *division, int64_t i);

/* What it would be if nothing was divided. */
rs_share rs_partition_whole(const rs_division *division);

#endif
