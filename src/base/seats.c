/* SPDX-License-Identifier: BSD-3-Clause */
/* seats.c - a counting semaphore; not every system has one without a name. */
#include "base/seats.h"

void rs_seats_init(rs_seats *seats, int n)
{
    (void)pthread_mutex_init(&seats->lock, NULL);
    (void)pthread_cond_init(&seats->change, NULL);
    seats->n_free = n;
}

void rs_seats_destroy(rs_seats *seats)
{
    (void)pthread_cond_destroy(&seats->change);
    (void)pthread_mutex_destroy(&seats->lock);
}

void rs_seats_take(rs_seats *seats)
{
    if (seats == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&seats->lock);
    while (seats->n_free == 0) {
        (void)pthread_cond_wait(&seats->change, &seats->lock);
    }
    seats->n_free--;
    (void)pthread_mutex_unlock(&seats->lock);
}

void rs_seats_leave(rs_seats *seats)
{
    if (seats == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&seats->lock);
    seats->n_free++;
    (void)pthread_cond_signal(&seats->change);
    (void)pthread_mutex_unlock(&seats->lock);
}
