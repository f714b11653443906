/* SPDX-License-Identifier: BSD-3-Clause */
/* test_gate.c - as many workers are inside as there are places: never more, and never kept out for nothing. */
#include "engine/gate.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>

#include <cmocka.h>

enum { N_WORKERS = 8, TIMES = 500 }; /* times that all places are taken */

typedef struct yard {
    rs_gate gate;
    pthread_barrier_t full;        /* of those inside: nobody comes out before all places are taken */
    atomic_int inside, most, left; /* left: times to go through, whoever does */
} yard;

static void *go_through(void *payload)
{
    yard *y = payload;
    while (atomic_fetch_sub(&y->left, 1) > 0) {
        rs_gate_enter(&y->gate);
        int now = atomic_fetch_add(&y->inside, 1) + 1, most = atomic_load(&y->most);
        while (now > most && !atomic_compare_exchange_weak(&y->most, &most, now)) {
        }
        (void)pthread_barrier_wait(&y->full);
        (void)atomic_fetch_sub(&y->inside, 1);
        rs_gate_leave(&y->gate);
    }
    return NULL;
}

/* Everybody goes through, so many at a time. */
static void check(int n_workers, int n_places)
{
    yard y = {.left = TIMES * n_places};
    pthread_t threads[N_WORKERS];
    rs_gate_start(&y.gate, n_workers);
    assert_int_equal(pthread_barrier_init(&y.full, NULL, (unsigned)n_places), 0);
    for (int i = 0; i < n_workers; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, go_through, &y), 0);
    }
    for (int i = 0; i < n_workers; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(y.most, n_places);
    (void)pthread_barrier_destroy(&y.full);
    rs_gate_stop(&y.gate);
}

static void test_half_of_them(void **state)
{
    (void)state;
    check(8, 4);
    check(7, 4);
    check(2, 1);
    check(1, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_half_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
