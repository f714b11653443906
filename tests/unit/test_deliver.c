/* SPDX-License-Identifier: BSD-3-Clause */
/* test_deliver.c - blocks that are handed to the caller: all of them, once, by several workers; and when it does
   not want them. */
#include "unit/files.h"

enum { ROWS = 96, COLUMNS = 160, BLOCK = 32 };

typedef struct receiver {
    uint16_t values[ROWS][COLUMNS];
    int times[ROWS][COLUMNS];
    int n_pieces, refuse_from;
} receiver;

static int take(const resplit_piece *piece, void *payload)
{
    receiver *r = payload;
    const uint16_t *from = piece->bytes;
    assert_false(piece->encoded);
    assert_int_equal(piece->n_bytes, 2 * piece->shape[0] * piece->shape[1]);
    for (int64_t i = 0; i < piece->shape[0]; i++) {
        for (int64_t j = 0; j < piece->shape[1]; j++) {
            r->values[piece->start[0] + i][piece->start[1] + j] = *from++;
            r->times[piece->start[0] + i][piece->start[1] + j]++;
        }
    }
    return ++r->n_pieces >= r->refuse_from;
}

typedef struct scene {
    uint16_t values[ROWS][COLUMNS];
    resplit_array *source, *target;
    resplit_plan *plan;
} scene;

static void set_scene(scene *s)
{
    static const int64_t shape[] = {ROWS, COLUMNS};
    static const resplit_chunks chunks[] = {{.length = BLOCK}, {.length = BLOCK}};
    resplit_error err;
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        s->values[i / COLUMNS][i % COLUMNS] = (uint16_t)(7 * i);
    }
    resplit_spec spec = {.ndim = 2, .shape = shape, .dtype = "u2"};
    resplit_target wanted = {.ndim = 2, .chunks = chunks, .format = "raw"};
    assert_works(resplit_array_wrap(s->values, NULL, &spec, &s->source, &err), err);
    assert_works(resplit_array_create(NULL, s->source, &wanted, &s->target, &err), err);
    assert_works(resplit_plan_make(s->source, s->target, &(resplit_plan_options){.memory = 16 << 20}, &s->plan, &err),
                 err);
}

static void end_scene(scene *s)
{
    resplit_plan_free(s->plan);
    resplit_array_close(s->target);
    resplit_array_close(s->source);
}

static void every_element_comes_once(void **state)
{
    static scene s;
    static receiver r = {.refuse_from = INT32_MAX};
    resplit_result result;
    resplit_error err;
    (void)state;
    set_scene(&s);
    assert_works(
        resplit_deliver(s.plan, s.source, s.target, take, &r, &(resplit_run_options){.threads = 4}, &result, &err),
        err);
    assert_memory_equal(r.values, s.values, sizeof s.values);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        assert_int_equal(r.times[i / COLUMNS][i % COLUMNS], 1);
    }
    assert_int_equal(result.cost.bytes_written, sizeof s.values);
    end_scene(&s);
}

static void who_refuses_is_not_asked_again(void **state)
{
    static scene s;
    static receiver r = {.refuse_from = 3};
    resplit_error err;
    (void)state;
    set_scene(&s);
    assert_fails(
        resplit_deliver(s.plan, s.source, s.target, take, &r, &(resplit_run_options){.threads = 1}, NULL, &err),
        RESPLIT_ECANCELED, err, "who takes the blocks");
    assert_int_equal(r.n_pieces, 3);
    end_scene(&s);
}

static void what_is_missing_is_said(void **state)
{
    static scene s;
    resplit_error err;
    (void)state;
    set_scene(&s);
    assert_fails(resplit_deliver(s.plan, s.source, s.target, NULL, NULL, NULL, NULL, &err), RESPLIT_EINVAL, err,
                 "who takes its blocks");
    assert_fails(
        resplit_deliver(s.plan, s.source, s.target, take, NULL, &(resplit_run_options){.resume = true}, NULL, &err),
        RESPLIT_EINVAL, err, "no resume");
    end_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_comes_once),
        cmocka_unit_test(who_refuses_is_not_asked_again),
        cmocka_unit_test(what_is_missing_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
