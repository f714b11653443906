/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * together.h - a long write, made by everybody who has time for it.
 *
 *     one worker:    rs_together_write(256 MiB) --- stints, until none is left; waits for those that others have
 *     the others:    rs_together_take, rs_together_make
 *
 * One worker alone would have no more under way than one staging area: a disk does 1.2 GB/s that way and 2.6 with six of them.
 */
#ifndef RS_TOGETHER_H
#define RS_TOGETHER_H

#include "engine/io.h"

#include <pthread.h>

enum { RS_TOGETHER_LEAST = 4 << 20 }; /* bytes; shorter ones are written before anybody came to help */

typedef struct rs_long_write rs_long_write;

/* Long writes of which stints are left, the oldest first. Lock and condition are the crew's. */
typedef struct rs_together {
    pthread_mutex_t *lock;
    pthread_cond_t *change;
    rs_long_write *first;
} rs_together;

typedef struct rs_stint {
    rs_long_write *whole;
    rs_transfer transfer;
} rs_stint;

/* A stint to make; false: there is none. With the lock. */
bool rs_together_take(rs_together *together, rs_stint *out);

/* Makes it, through io->through. Who asked for the whole gets to know of a failure. Without the lock. */
void rs_together_make(rs_together *together, rs_io *io, rs_stint *stint);

/* Returns when all of it is written, or what went wrong first. `all` begins at a sector. Without the lock. */
resplit_status rs_together_write(rs_together *together, rs_io *io, const rs_transfer *all, const char *path,
                                 resplit_error *err);

#endif
