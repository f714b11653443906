/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shards.h - files that hold several blocks, written as blocks become ready, in any order.
 *
 *     shard:   [block 7][block 0][block 3] ...        appended, each behind the one before it
 *     index:   offset and bytes of every block of every shard, in one file of the part
 *
 * When all blocks are written, each shard gets its own index, from that file. So no shard is ever held in memory, and
 * neither is an index; and a run that goes on with another finds both where that one left them. What was appended and
 * is not in the index is a gap, which readers skip.
 *
 * A file system lets one direct write at a time make a file longer, but many go where there is room already. So a shard
 * has room ahead of its end while it is written, which is given back before it gets its index.
 *
 * Long blocks have whole sectors to themselves, since those are written directly: the gap is half a sector in 64 and
 * more. With two blocks in one sector, each would write its end of it through the page cache, and the disk would have
 * twice as many writes.
 */
#ifndef RS_SHARDS_H
#define RS_SHARDS_H

#include "engine/files.h"
#include "plan/problem.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct rs_shards {
    const resplit_array *array;
    const char *root;                         /* of the shards; borrowed */
    int fd;                                   /* of the index */
    int64_t lo[RS_MAX_NDIM], hi[RS_MAX_NDIM]; /* shards along each axis: all, or those of a partition */
    int64_t n;                                /* and their number */
    _Atomic int64_t *next, *room;             /* where each ends, and how far there is room for it */
    pthread_mutex_t lock;                     /* of making room */
} rs_shards;

/*
 * Begins (anew: what is there is removed), or goes on where an earlier run ended. `folder` is open and has the index;
 * `root` gets the shards, which are those with the blocks of the problem.
 */
resplit_status rs_shards_begin(rs_shards *shards, const rs_problem *problem, const resplit_array *array,
                               const char *root, int folder, bool anew, resplit_error *err);
void rs_shards_end(rs_shards *shards);

/* Where the next `bytes` of the shard of a block go (long ones, of RS_DIRECT_WRITE and more, may fill their last
   sector), room for them in its file, where they are written directly, and, when they are there, the note of it. */
int64_t rs_shards_reserve(rs_shards *shards, const int64_t *index, int64_t bytes);
void rs_shards_make_room(rs_shards *shards, const rs_block_file *file, int64_t offset, int64_t bytes);
resplit_status rs_shards_note(rs_shards *shards, const int64_t *index, int64_t offset, int64_t bytes,
                              resplit_error *err);

/* Every shard gets its index. */
resplit_status rs_shards_finish(rs_shards *shards, resplit_error *err);

#define RS_SHARDS_NAME "index" /* in the part */

#endif
