/* SPDX-License-Identifier: BSD-3-Clause */
/* parallel.c - some threads that each take the next number. */
#include "format/parallel.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

typedef struct looking {
    rs_look *look;
    void *payload;
    pthread_mutex_t lock; /* of what follows */
    int64_t next;
    int64_t failed; /* the first that failed; n: none */
    resplit_error why;
} looking;

static bool lacks_descriptors(resplit_status rc, const resplit_error *why)
{
    return rc != RESPLIT_OK && (why->sys_errno == EMFILE || why->sys_errno == ENFILE);
}

/* Looks until there are no more, or one failed. */
static void *look_on(void *argument)
{
    looking *l = argument;
    resplit_error why;
    (void)pthread_mutex_lock(&l->lock);
    while (l->next < l->failed) {
        int64_t number = l->next++;
        (void)pthread_mutex_unlock(&l->lock);
        resplit_status rc = l->look(number, l->payload, &why);
        for (int tries = 0; tries < 100 && lacks_descriptors(rc, &why); tries++) {
            (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); /* until another thread closes its file */
            rc = l->look(number, l->payload, &why);
        }
        (void)pthread_mutex_lock(&l->lock);
        if (rc != RESPLIT_OK && number < l->failed) {
            l->failed = number;
            l->why = why;
        }
    }
    (void)pthread_mutex_unlock(&l->lock);
    return NULL;
}

resplit_status rs_look_at_all(int64_t first, int64_t n, bool alone, rs_look *look, void *payload, resplit_error *err)
{
    enum { MOST_THREADS = 32, FILES_PER_THREAD = 16, STACK_BYTES = 128 << 10 };
    looking l = {.look = look, .payload = payload, .next = first, .failed = n};
    pthread_t threads[MOST_THREADS];
    pthread_attr_t small;
    int n_threads = 0;
    (void)pthread_mutex_init(&l.lock, NULL);
    bool has_small = pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, STACK_BYTES) == 0;
    while (!alone && n_threads < rs_min(MOST_THREADS, n / FILES_PER_THREAD)
           && pthread_create(&threads[n_threads], has_small ? &small : NULL, look_on, &l) == 0) {
        n_threads++;
    }
    (void)look_on(&l);
    for (int i = 0; i < n_threads; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    (void)pthread_attr_destroy(&small);
    (void)pthread_mutex_destroy(&l.lock);
    return l.failed < n ? rs_fail_with(err, &l.why) : RESPLIT_OK;
}
