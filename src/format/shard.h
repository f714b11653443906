/* SPDX-License-Identifier: BSD-3-Clause */
/* shard.h - what is in a shard. Private to this room; format.h has the rest. */
#ifndef RS_SHARD_H
#define RS_SHARD_H

#include "format/format.h"
#include "format/zarr.h"

typedef struct rs_shard_census {
    int64_t n, bytes, most; /* blocks that are there: how many, their stored bytes, and those of the largest */
} rs_shard_census;

/* Checks the index of a shard, and of the shards in it, and adds up what they hold. */
resplit_status rs_shard_check(const resplit_array *array, int level, int fd, const char *path, int64_t offset,
                              int64_t bytes, rs_shard_census *census, resplit_error *err);

#endif
