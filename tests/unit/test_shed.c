/* SPDX-License-Identifier: BSD-3-Clause */
/* test_shed.c - memory is shed where a disk is faster then, and only there; and keeps what is in it. */
#include "engine/shed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BYTES = 512 << 10, QUEUE = 8, MANY = 20000 };

/* A disk that takes one read after the other, so many seconds each way, and always has some waiting. */
typedef struct disk {
    rs_shedding shedding;
    double time;
    double seconds[2];
} disk;

static void start(disk *d, double as_it_is, double shed)
{
    rs_shedding_start(&d->shedding);
    d->time = 1;
    d->seconds[0] = as_it_is;
    d->seconds[1] = shed;
    d->shedding.n_reading = QUEUE;
}

/* How many of n reads went into memory that was shed. */
static int serve(disk *d, int n)
{
    int n_shed = 0;
    for (int i = 0; i < n; i++) {
        bool sheds = d->shedding.sheds;
        n_shed += sheds;
        d->time += d->seconds[sheds];
        d->shedding.n_reading++; /* the next one has come */
        rs_shed_count(&d->shedding, BYTES, d->time);
    }
    return n_shed;
}

static void test_the_faster_way_is_taken(void **state)
{
    disk d;
    (void)state;
    start(&d, 2e-4, 1e-4);
    (void)serve(&d, 1000);
    assert_true(serve(&d, MANY) > MANY * 8 / 10);
    d.seconds[0] = 0.5e-4; /* who serves it went to another processor */
    (void)serve(&d, 2000);
    assert_true(serve(&d, MANY) < MANY * 2 / 10);
    d.seconds[0] = 2e-4;
    (void)serve(&d, 2000);
    assert_true(serve(&d, MANY) > MANY * 8 / 10);
    rs_shedding_stop(&d.shedding);
}

static void test_nothing_is_shed_for_little(void **state)
{
    disk d;
    (void)state;
    start(&d, 1e-4, 0.95e-4);
    assert_true(serve(&d, MANY) < MANY * 2 / 10);
    rs_shedding_stop(&d.shedding);
}

/* Writes between any two reads: nothing is known of how long a read takes. */
static void test_nothing_is_concluded_from_other_work(void **state)
{
    disk d;
    int n_shed = 0;
    (void)state;
    start(&d, 2e-4, 1e-4);
    for (int i = 0; i < MANY; i++) {
        rs_shed_interrupt(&d.shedding);
        n_shed += serve(&d, 1);
    }
    assert_true(n_shed < MANY * 2 / 10);
    assert_true(d.shedding.pace[0].bytes == 0 && d.shedding.pace[1].bytes == 0);
    rs_shedding_stop(&d.shedding);
}

/* One read at a time: the disk waits for us, not we for it. */
static void test_nothing_is_concluded_from_a_disk_that_waits(void **state)
{
    disk d;
    (void)state;
    start(&d, 2e-4, 1e-4);
    d.shedding.n_reading = 0;
    assert_true(serve(&d, MANY) < MANY * 2 / 10);
    assert_true(d.shedding.pace[0].bytes == 0 && d.shedding.pace[1].bytes == 0);
    rs_shedding_stop(&d.shedding);
}

static void test_bytes_stay(void **state)
{
    rs_shedding shedding;
    char *memory = malloc(BYTES), *copy = malloc(BYTES);
    (void)state;
    assert_true(memory != NULL && copy != NULL);
    for (int i = 0; i < BYTES; i++) {
        memory[i] = (char)(i % 251);
    }
    memcpy(copy, memory, BYTES);
    rs_shedding_start(&shedding);
    shedding.sheds = true;
    rs_shed_begin(&shedding, memory + 1, BYTES - 1); /* from within a line */
    rs_shed_end(&shedding, BYTES - 1);
    assert_memory_equal(memory, copy, BYTES);
    assert_int_equal(shedding.n_reading, 0);
    rs_shedding_stop(&shedding);
    free(memory);
    free(copy);
}

static void test_copies(void **state)
{
    enum { ROOM = 1024 };
    char from[ROOM], to[ROOM], expected[ROOM];
    (void)state;
    for (int i = 0; i < ROOM; i++) {
        from[i] = (char)(i * 7 % 251);
    }
    for (int64_t n = 0; n < 300; n += 13) {
        for (int64_t at = 0; at < 130; at += 3) {
            memset(to, 1, ROOM);
            memset(expected, 1, ROOM);
            memcpy(expected + at, from + n % 5, (size_t)n);
            rs_shed_copy(to + at, from + n % 5, n);
            assert_memory_equal(to, expected, ROOM);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_faster_way_is_taken),
        cmocka_unit_test(test_nothing_is_shed_for_little),
        cmocka_unit_test(test_nothing_is_concluded_from_other_work),
        cmocka_unit_test(test_nothing_is_concluded_from_a_disk_that_waits),
        cmocka_unit_test(test_bytes_stay),
        cmocka_unit_test(test_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
