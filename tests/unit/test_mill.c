/* SPDX-License-Identifier: BSD-3-Clause */
/* test_mill.c - everything that is handed in is done once, by no more threads than there are millers, each with a
   number of its own, before its owner goes on. */
#include "base/mill.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { OWNERS = 16, TIMES = 2000, MILLERS = 3, STACK = 128 << 10 };

typedef struct place {
    rs_mill mill;
    atomic_int n_inside, most, n_unfinished, n_clashes;
    atomic_bool busy[MILLERS]; /* by number */
} place;

typedef struct sack {
    place *at;
    int n; /* without a lock: its owner waits meanwhile */
    pthread_t by;
    int number;
} sack;

static void fill(void *what, int by)
{
    sack *s = what;
    bool clash = by < 0 || by >= MILLERS || atomic_exchange(&s->at->busy[by], true);
    (void)atomic_fetch_add(&s->at->n_clashes, clash);
    int n = atomic_fetch_add(&s->at->n_inside, 1) + 1, most = atomic_load(&s->at->most);
    while (n > most && !atomic_compare_exchange_weak(&s->at->most, &most, n)) {
    }
    s->n++;
    s->by = pthread_self();
    s->number = by;
    (void)atomic_fetch_sub(&s->at->n_inside, 1);
    if (!clash) {
        atomic_store(&s->at->busy[by], false);
    }
}

static void *hand_in(void *argument)
{
    sack s = {.at = argument};
    for (int i = 1; i <= TIMES; i++) {
        rs_mill_do(&s.at->mill, fill, &s, -1);
        if (s.n != i || pthread_equal(s.by, pthread_self())) {
            (void)atomic_fetch_add(&s.at->n_unfinished, 1);
        }
    }
    return NULL;
}

static void test_all_is_done(void **state)
{
    pthread_t thread[OWNERS];
    place p = {.n_inside = 0};
    (void)state;
    rs_mill_start(&p.mill, MILLERS, STACK);
    assert_int_equal(p.mill.n_millers, MILLERS);
    for (int i = 0; i < OWNERS; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, hand_in, &p), 0);
    }
    for (int i = 0; i < OWNERS; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    }
    assert_int_equal(p.n_unfinished, 0);
    assert_int_equal(p.n_clashes, 0);
    assert_in_range(p.most, 1, MILLERS);
    rs_mill_stop(&p.mill);
}

/* Without millers, and where none can be started, who asks does it. */
static void test_nobody_there(void **state)
{
    static const struct {
        int n;
        size_t stack;
    } rows[] = {{0, STACK}, {2, SIZE_MAX / 4096 * 4096}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        place p = {.n_inside = 0};
        sack s = {.at = &p};
        rs_mill_start(&p.mill, rows[i].n, rows[i].stack);
        assert_int_equal(p.mill.n_millers, 0);
        rs_mill_do(&p.mill, fill, &s, 2);
        assert_int_equal(s.n, 1);
        assert_int_equal(s.number, 2);
        assert_true(pthread_equal(s.by, pthread_self()));
        rs_mill_stop(&p.mill);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_is_done), cmocka_unit_test(test_nobody_there)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
