/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shed.h - memory that is shed, thrown out of the processors' caches, before the disk writes to it again: where that
 * pays.
 *
 *     rs_shed_begin(shedding, memory, n);   read into memory;   rs_shed_end(shedding, n);
 *
 * The disk of a virtual machine is a thread of its host, which copies. What it copies to was looked at by our
 * processors before, and lies in their caches: where that thread runs on a processor that has no cache in common with
 * ours, each line is taken from them first, and reads take twice as long. Memory that was shed costs it less than that,
 * but more than lines in a cache that both have. Where the thread runs changes within seconds. So all reads of a run go
 * one way for a while, then some the other way, and then whichever was faster:
 *
 *     as it is ... | try: shed | as it is ...................... | try: shed | shed .............................. | try: as it is | ...
 *
 * How fast is told by how long it is from the end of one read to that of the next, while others wait: a disk that takes
 * one after the other serves it in that time. One that takes many at once has the same for both ways, and nothing is
 * shed.
 */
#ifndef RS_SHED_H
#define RS_SHED_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/base.h"

/* Of a run: for all its workers. */
typedef struct rs_shedding {
    pthread_mutex_t lock;
    bool able;         /* is there a way to do it here? */
    atomic_bool sheds; /* the way that reads go now */
    bool tries;        /* it is only tried */
    int n_left;        /* reads until that changes */
    int n_mixed;       /* of these, some that may have begun before it was so */
    int n_reading;     /* under way */
    double last;       /* when a read ended; 0: something else was done since */
    struct {
        double seconds;
        int64_t bytes;
    } pace[2]; /* of reads: as it is, and shed */
} rs_shedding;

void rs_shedding_start(rs_shedding *shedding);
void rs_shedding_stop(rs_shedding *shedding);

/* Before and after a read into memory, past the page cache. */
void rs_shed_begin(rs_shedding *shedding, char *memory, int64_t n);
void rs_shed_end(rs_shedding *shedding, int64_t n);

/* Copies past the caches: to what the disk is to read next, and has read before. */
void rs_shed_copy(char *to, const char *from, int64_t n);

/* The disk did something else. */
void rs_shed_interrupt(rs_shedding *shedding);

/* A read of n bytes has ended at this time. With the lock. */
void rs_shed_count(rs_shedding *shedding, int64_t n, double time);

#endif
