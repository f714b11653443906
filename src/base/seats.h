/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * seats.h - how many threads compute at a time, of those that also move bytes.
 *
 *     read ---> [ take a seat, decode, leave it ] ---> write
 *
 * There are more workers than processors, so that the disk has something to do meanwhile. If all of them computed at the same time,
 * they would share the processors, be done at the same time, and wait for the disk together, while no processor has anything to do: in
 * step, to the end. One after the other they spread out (2 GiB encoded anew: 3.0 s without, 2.4 s with).
 */
#ifndef RS_SEATS_H
#define RS_SEATS_H

#include <pthread.h>

typedef struct rs_seats {
    pthread_mutex_t lock;
    pthread_cond_t change;
    int n_free;
} rs_seats;

void rs_seats_init(rs_seats *seats, int n);
void rs_seats_destroy(rs_seats *seats);

/* Waits for a seat. Who has one must not wait for somebody who may be waiting here. NULL: there is room for everybody. */
void rs_seats_take(rs_seats *seats);
void rs_seats_leave(rs_seats *seats);

#endif
