/* SPDX-License-Identifier: BSD-3-Clause */
/* test_seats.c - never more than there are seats, and everybody gets one in the end. */
#include "base/seats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { THREADS = 16, TIMES = 2000, SEATS = 3 };

typedef struct room {
    rs_seats seats;
    atomic_int n_inside, most, n_times;
} room;

static void *come_and_go(void *argument)
{
    room *r = argument;
    for (int i = 0; i < TIMES; i++) {
        rs_seats_take(&r->seats);
        int n = atomic_fetch_add(&r->n_inside, 1) + 1, most = atomic_load(&r->most);
        while (n > most && !atomic_compare_exchange_weak(&r->most, &most, n)) {
        }
        (void)atomic_fetch_add(&r->n_times, 1);
        (void)atomic_fetch_sub(&r->n_inside, 1);
        rs_seats_leave(&r->seats);
    }
    return NULL;
}

static void test_no_more_than_there_are(void **state)
{
    pthread_t thread[THREADS];
    room r = {.n_inside = 0};
    (void)state;
    rs_seats_init(&r.seats, SEATS);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, come_and_go, &r), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    }
    assert_int_equal(r.n_times, THREADS * TIMES);
    assert_in_range(r.most, 1, SEATS);
    assert_int_equal(r.seats.n_free, SEATS);
    rs_seats_destroy(&r.seats);
}

/* As many as there are may sit at the same time. */
static void test_as_many_as_there_are(void **state)
{
    rs_seats seats;
    (void)state;
    rs_seats_init(&seats, SEATS);
    for (int i = 0; i < SEATS; i++) {
        rs_seats_take(&seats);
    }
    assert_int_equal(seats.n_free, 0);
    for (int i = 0; i < SEATS; i++) {
        rs_seats_leave(&seats);
    }
    rs_seats_take(NULL); /* no seats: nobody waits */
    rs_seats_leave(NULL);
    rs_seats_destroy(&seats);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_more_than_there_are),
                                       cmocka_unit_test(test_as_many_as_there_are)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
