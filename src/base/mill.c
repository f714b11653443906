/* SPDX-License-Identifier: BSD-3-Clause */
/* mill.c - a queue of what is to be computed, and threads that take from it. */
#include "base/mill.h"

#include <semaphore.h>
#include <stdlib.h>

/* Lies where its owner waits for it. */
typedef struct rs_mill_task {
    rs_mill_work *work;
    void *what;
    sem_t done; /* without the lock: who wakes up would wait for that, and go to sleep again */
    struct rs_mill_task *next;
} task;

/* With the lock. NULL: it ends. */
static task *take(rs_mill *mill)
{
    while (mill->first == NULL && !mill->ends) {
        (void)pthread_cond_wait(&mill->change, &mill->lock);
    }
    task *t = mill->first;
    if (t != NULL) {
        mill->first = t->next;
        mill->last = mill->first != NULL ? mill->last : &mill->first;
    }
    return t;
}

static void *grind(void *argument)
{
    rs_mill *mill = argument;
    task *t;
    (void)pthread_mutex_lock(&mill->lock);
    int number = mill->n_begun++;
    while ((t = take(mill)) != NULL) {
        (void)pthread_mutex_unlock(&mill->lock);
        t->work(t->what, number);
        (void)sem_post(&t->done); /* from here on it is gone */
        (void)pthread_mutex_lock(&mill->lock);
    }
    (void)pthread_mutex_unlock(&mill->lock);
    return NULL;
}

void rs_mill_start(rs_mill *mill, int n_millers, size_t stack_bytes)
{
    pthread_attr_t attributes;
    *mill = (rs_mill){.last = &mill->first};
    (void)pthread_mutex_init(&mill->lock, NULL);
    (void)pthread_cond_init(&mill->change, NULL);
    mill->millers = n_millers > 0 ? calloc((size_t)n_millers, sizeof *mill->millers) : NULL;
    if (mill->millers == NULL || pthread_attr_init(&attributes) != 0) {
        return;
    }
    (void)pthread_attr_setstacksize(&attributes, stack_bytes);
    while (mill->n_millers < n_millers
           && pthread_create(&mill->millers[mill->n_millers], &attributes, grind, mill) == 0) {
        mill->n_millers++;
    }
    (void)pthread_attr_destroy(&attributes);
}

void rs_mill_stop(rs_mill *mill)
{
    (void)pthread_mutex_lock(&mill->lock);
    mill->ends = true;
    (void)pthread_cond_broadcast(&mill->change);
    (void)pthread_mutex_unlock(&mill->lock);
    for (int i = 0; i < mill->n_millers; i++) {
        (void)pthread_join(mill->millers[i], NULL);
    }
    free(mill->millers);
    (void)pthread_cond_destroy(&mill->change);
    (void)pthread_mutex_destroy(&mill->lock);
}

void rs_mill_do(rs_mill *mill, rs_mill_work *work, void *what, int me)
{
    task t = {.work = work, .what = what};
    if (mill->n_millers == 0) {
        work(what, me);
        return;
    }
    (void)sem_init(&t.done, 0, 0);
    (void)pthread_mutex_lock(&mill->lock);
    *mill->last = &t;
    mill->last = &t.next;
    (void)pthread_mutex_unlock(&mill->lock);
    (void)pthread_cond_signal(&mill->change);
    while (sem_wait(&t.done) != 0) { /* a signal came */
    }
    (void)sem_destroy(&t.done);
}
