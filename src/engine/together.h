/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * together.h - a long write, made by everybody who has time for it.
 *
 *     one worker:    rs_together_write(256 MiB) --- stints, until none is left; waits for those that others have
 *     the others:    rs_together_take, rs_together_make
 *
 * One worker alone would have no more under way than one staging area: a disk does 1.2 GB/s that way and 2.6 with six
 * of them. What is written is asked for stint by stint, and comes into memory that disks like. It need not lie in one
 * piece: stints are taken of one place after the other, and nobody waits in between.
 */
#ifndef RS_TOGETHER_H
#define RS_TOGETHER_H

#include "engine/io.h"

#include <pthread.h>

/* Bytes. Shorter ones are written forwards by one worker: a file system has less to note of a file that grows than of
   one with gaps. */
enum { RS_TOGETHER_LEAST = 8 << 20 };

typedef struct rs_long_write rs_long_write;

/* Long writes of which stints are left, the oldest first. Lock and condition are the crew's. */
typedef struct rs_together {
    pthread_mutex_t *lock;
    pthread_cond_t *change;
    rs_long_write *first;
} rs_together;

/* Puts the bytes [from, from + n) of what is written at `to`. Each is asked for once; by several workers at
   the same time. */
typedef void rs_bring(void *payload, int64_t from, int64_t n, char *to);

typedef struct rs_bringer {
    rs_bring *bring;
    void *payload;
} rs_bringer;

/* Whole sectors of a worker's memory, for a stint. */
typedef struct rs_area {
    char *memory;
    int64_t bytes;
} rs_area;

/* The bytes [from, from + n) of what is brought, and the sector `at` of a file where they go. */
typedef struct rs_long_place {
    int fd;
    const char *path;
    int64_t at, from, n;
} rs_long_place;

/* Where more of it goes; false: that was all. With the lock. */
typedef bool rs_next_place(void *payload, rs_long_place *out);

typedef struct rs_places {
    rs_next_place *next;
    void *payload;
    int64_t bytes; /* in all */
} rs_places;

typedef struct rs_stint {
    rs_long_write *whole;
    rs_long_place place;
} rs_stint;

/* A stint to make; false: there is none. With the lock. */
bool rs_together_take(rs_together *together, rs_stint *out);

/* Makes it. Who asked for the whole gets to know of a failure. Without the lock. */
void rs_together_make(rs_together *together, rs_io *io, rs_area area, const rs_stint *stint);

/* Returns when all of it is written, or what went wrong first. Areas of all workers are equally large.
   Without the lock. */
resplit_status rs_together_write(rs_together *together, rs_io *io, rs_area area, rs_places places, rs_bringer what,
                                 resplit_error *err);

#endif
