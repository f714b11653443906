/* SPDX-License-Identifier: BSD-3-Clause */
/* shard.h - what is in a shard of Zarr. Private to this room; format.h has the rest. */
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

/* What rs_array_locate, rs_array_shard_blocks, _position and _begin answer for Zarr. A file without shards
   is a block. */
resplit_status rs_shard_locate(const resplit_array *array, const int64_t *index, int fd, int64_t size, const char *path,
                               rs_place *out, resplit_error *err);
int64_t rs_shard_blocks(const resplit_array *array);
int64_t rs_shard_position(const resplit_array *array, const int64_t *index);
int64_t rs_shard_begin(const resplit_array *array);

#endif
