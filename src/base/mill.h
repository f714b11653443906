/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mill.h - threads that compute, as many as there are processors, for others that move bytes.
 *
 *     worker   read ---> [ hands it in, waits ........ ] ---> write
 *     miller             ...][ decode, copy ][ encode ][ ...
 *
 * There are more workers than processors, so that the disk has something to do meanwhile. If they computed themselves,
 * they would share the processors, be done at the same time, and wait for the disk together; and taking turns with a
 * semaphore, the processor of who is done is idle until who is next wakes up. A miller has its next work at hand, and
 * what it works with stays in the caches of its processor.
 */
#ifndef RS_MILL_H
#define RS_MILL_H

#include <pthread.h>
#include <stdbool.h>

typedef struct rs_mill {
    pthread_mutex_t lock;
    pthread_cond_t change;
    struct rs_mill_task *first, **last; /* a queue; of the workers' stacks */
    bool ends;
    int n_millers, n_begun; /* of these so many have taken their numbers */
    pthread_t *millers;
} rs_mill;

/* Fewer than asked for are enough; without one, who asks computes. */
void rs_mill_start(rs_mill *mill, int n_millers, size_t stack_bytes);

/* When nobody waits any more. */
void rs_mill_stop(rs_mill *mill);

/* `by`: the number of who does it, from 0, of whom each does one thing at a time. */
typedef void rs_mill_work(void *what, int by);

/* Has a miller do it, and returns when it is done; without one who asks does it, who has number `me` then. What is done
   must wait for nobody who may be waiting here. */
void rs_mill_do(rs_mill *mill, rs_mill_work *work, void *what, int me);

#endif
