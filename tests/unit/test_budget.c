/* SPDX-License-Identifier: BSD-3-Clause */
/* test_budget.c - blocks of any sizes in any order: none overlaps another, and memory stays below the limit, however it
   is cut up. */
#include "base/arena.h"
#include "base/budget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 400, PAGE = 4096 };

typedef struct block {
    char *memory;
    int64_t bytes;
    rs_use use;
    unsigned char mark;
} block;

static uint64_t state = 88172645463325252;

static int64_t below(int64_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int64_t)(state % (uint64_t)n);
}

/* Of the process, as the system counts it; of anonymous memory alone. */
static int64_t resident(void)
{
    static const char name[] = "RssAnon:";
    char line[200];
    int64_t kib = -1;
    FILE *file = fopen("/proc/self/status", "r");
    assert_non_null(file);
    while (kib < 0 && fgets(line, sizeof line, file) != NULL) {
        kib = strncmp(line, name, sizeof name - 1) == 0 ? strtoll(line + sizeof name - 1, NULL, 10) : -1;
    }
    (void)fclose(file);
    return kib * 1024;
}

static void check(const block *b)
{
    for (int64_t i = 0; i < b->bytes; i += PAGE) {
        assert_int_equal((unsigned char)b->memory[i], b->mark);
    }
    assert_int_equal((unsigned char)b->memory[b->bytes - 1], b->mark);
}

static void take(rs_budget *budget, block *b, int64_t most)
{
    resplit_error err;
    void *memory;
    int64_t bytes = below(4) == 0 ? 1 + below(1000) : (64 << 10) + below(most);
    if (rs_budget_cost(budget, bytes) > rs_budget_room(budget)) {
        return;
    }
    *b = (block){.bytes = bytes, .use = below(3) == 0 ? RS_FOR_DISK : RS_FOR_DATA, .mark = (unsigned char)below(256)};
    assert_int_equal(rs_budget_alloc(budget, b->use, bytes, &memory, &err), RESPLIT_OK);
    b->memory = memory;
    memset(memory, b->mark, (size_t)bytes);
}

static void give(rs_budget *budget, block *b)
{
    check(b);
    rs_budget_release(budget, b->memory, b->bytes);
    b->memory = NULL;
}

static void run(int64_t limit, int64_t most, int rounds)
{
    static block blocks[MOST];
    rs_budget *budget;
    resplit_error err;
    int64_t before = resident(), peak = 0;
    memset(blocks, 0, sizeof blocks);
    assert_int_equal(rs_budget_new(limit, limit, &budget, &err), RESPLIT_OK);
    for (int i = 0; i < rounds; i++) {
        block *b = &blocks[below(MOST)];
        if (b->memory != NULL) {
            give(budget, b);
        } else {
            take(budget, b, most);
        }
        peak = i % 16 == 0 ? rs_max(peak, resident() - before) : peak;
        assert_true(rs_budget_used(budget) <= limit && rs_budget_peak(budget) <= limit);
    }
    for (int i = 0; i < MOST; i++) {
        if (blocks[i].memory != NULL) {
            give(budget, &blocks[i]);
        }
    }
    assert_int_equal(rs_budget_used(budget), 0);
    rs_budget_free(budget);
    /* two arenas end inside of a huge page */
    assert_true(peak <= limit + (6 << 20));
}

static void blocks_stay_apart_and_below_the_limit(void **unused)
{
    (void)unused;
    for (int i = 0; i < 6; i++) {
        run(32 << 20, 1 << (16 + i), 4000);
    }
    run(8 << 20, 7 << 20, 2000);
}

/* Then each block is a mapping of its own. */
static void without_addresses_to_spare(void **unused)
{
    (void)unused;
    assert_null(rs_arena_new(INT64_C(1) << 60, true));
    assert_null(rs_arena_take(NULL, PAGE, PAGE));
    assert_false(rs_arena_has(NULL, &state));
}

/* What is free is found again, joined with its neighbours, and is not touched twice. */
static void free_ranges_are_joined(void **unused)
{
    (void)unused;
    char *b[4];
    rs_arena *arena = rs_arena_new(64 << 10, false);
    assert_non_null(arena);
    for (int i = 0; i < 4; i++) {
        b[i] = rs_arena_take(arena, 4 * PAGE, INT64_MAX / 4);
        assert_non_null(b[i]);
    }
    rs_arena_give(arena, b[0], 4 * PAGE);
    rs_arena_give(arena, b[2], 4 * PAGE);
    rs_arena_give(arena, b[1], 4 * PAGE);
    assert_int_equal(rs_arena_touched(arena), 16 * PAGE);
    assert_ptr_equal(rs_arena_take(arena, 12 * PAGE, 0), b[0]);
    assert_null(rs_arena_take(arena, PAGE, 0)); /* nothing is free, and nothing more may be touched */
    rs_arena_give(arena, b[0], 12 * PAGE);
    rs_arena_cool(arena, 8 * PAGE);
    assert_true(rs_arena_touched(arena) <= 8 * PAGE);
    assert_null(rs_arena_take(arena, 12 * PAGE, 0));
    assert_ptr_equal(rs_arena_take(arena, 12 * PAGE, 12 * PAGE), b[0]);
    rs_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_stay_apart_and_below_the_limit),
        cmocka_unit_test(without_addresses_to_spare),
        cmocka_unit_test(free_ranges_are_joined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
