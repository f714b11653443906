/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_validate.c - the proof without a walk, against the proof by a walk: what one accepts, the other must find sound,
 * whatever plan it is; and what is not a plan is refused, however large its numbers.
 */
#include "support/plan_check.h"
#include "support/problems.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static uint64_t state = 42;

static int64_t random_in(int64_t lo, int64_t hi)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return lo + (int64_t)((state >> 33) % (uint64_t)(hi - lo + 1));
}

/* 1 to 3 axes, a region of interest, either order. */
static rs_problem random_problem(void)
{
    int ndim = (int)random_in(1, 3);
    int64_t whole[RS_MAX_NDIM], shape[RS_MAX_NDIM], from[RS_MAX_NDIM], to[RS_MAX_NDIM], origin[RS_MAX_NDIM];
    for (int d = 0; d < ndim; d++) {
        whole[d] = random_in(1, 9);
        origin[d] = random_in(0, whole[d] - 1);
        shape[d] = random_in(1, whole[d] - origin[d]);
        from[d] = random_in(1, whole[d]);
        to[d] = random_in(1, shape[d]);
    }
    rs_layout source = even_layout(ndim, whole, from, 1, random_in(0, 1) ? 'C' : 'F');
    rs_layout target = even_layout(ndim, shape, to, 1, random_in(0, 1) ? 'C' : 'F');
    rs_problem problem;
    assert_int_equal(rs_problem_make(&source, &target, origin, NULL, &problem, NULL), RESPLIT_OK);
    return problem;
}

/* Cuts that are sometimes sound: mostly increasing, mostly from 0 to the extent, now and then an even axis
   that is off. */
static rs_axis random_axis(int64_t extent, int64_t *cuts)
{
    if (random_in(0, 2) == 0) {
        int64_t step = random_in(1, extent + 1), first = random_in(0, 3) ? 0 : -random_in(0, step);
        int64_t n = rs_ceil_div(extent - first, step) + (random_in(0, 5) ? 0 : random_in(-1, 1));
        return (rs_axis){.extent = extent, .n = n, .first = first, .last = extent, .step = step};
    }
    int64_t n = 0;
    cuts[0] = random_in(0, 9) ? 0 : random_in(-2, 2);
    while (cuts[n] < extent && n < 12) {
        cuts[n + 1] = cuts[n] + random_in(random_in(0, 9) ? 1 : 0, 4);
        n++;
    }
    cuts[n] = random_in(0, 9) ? extent : cuts[n];
    return (rs_axis){.extent = extent, .n = n, .first = rs_min(0, cuts[0]), .last = cuts[n], .cuts = cuts};
}

static void what_it_accepts_is_proved_by_walking(void **unused)
{
    int accepted = 0, refused = 0;
    (void)unused;
    for (int i = 0; i < 20000; i++) {
        rs_problem problem = random_problem();
        int64_t cuts[3][16];
        resplit_error err = {0};
        rs_plan plan = {.strategy = "by hand", .ndim = problem.ndim, .memory = 1 << 20, .n_staging = 1};
        for (int d = 0; d < plan.ndim; d++) {
            plan.buffer[d] = random_axis(problem.shape[d], cuts[d]);
            plan.loop[d] = random_in(0, 4) ? (d + i) % plan.ndim : (int)random_in(-1, plan.ndim);
        }
        plan.kept = (uint32_t)random_in(0, random_in(0, 9) ? (1 << plan.ndim) - 1 : 31);
        if (rs_plan_validate(&problem, &plan, &err) == RESPLIT_OK) {
            assert_true(rs_plan_predict(&problem, &plan));
            if (plan_check(&problem, &plan, &err) != RESPLIT_OK) {
                fail_msg("problem %d: %s", i, err.message);
            }
            accepted++;
        } else {
            assert_int_equal(err.code, RESPLIT_EINVAL);
            refused++;
        }
        rs_problem_release(&problem);
    }
    assert_true(accepted > 2000 && refused > 2000);
}

static void what_strategies_propose_is_accepted(void **unused)
{
    (void)unused;
    for (int i = 0; i < 500; i++) {
        rs_problem problem = random_problem();
        for (int s = 0; rs_strategy_at(s) != NULL; s++) {
            rs_plan plan;
            resplit_error err = {0};
            rs_request request = {.strategy = rs_strategy_at(s)->name, .memory = 32 * 1024 + random_in(0, 20000)};
            if (rs_plan_make(&problem, &request, &plan, &err) == RESPLIT_OK) {
                if (rs_plan_validate(&problem, &plan, &err) != RESPLIT_OK) {
                    fail_msg("%s, problem %d: %s", request.strategy, i, err.message);
                }
                rs_plan_release(&plan);
            }
        }
        rs_problem_release(&problem);
    }
}

/* ---- What is wrong, one thing at a time ---- */

static const int64_t good[] = {0, 3, 10}, twice[] = {0, 3, 3, 10}, back[] = {0, 5, 3, 10}, late[] = {1, 3, 10},
                     early[] = {0, 3, 9}, beyond[] = {0, 12, 10}, at_end[] = {0, 10, 10}, at_start[] = {0, 0, 10},
                     before[] = {-2, -1, 10};

static const struct {
    rs_axis axis;
    const char *sentence; /* NULL: it is sound */
} axes[] = {
    {{.extent = 10, .n = 2, .last = 10, .cuts = good}, NULL},
    {{.extent = 10, .n = 4, .last = 10, .step = 3}, NULL},
    {{.extent = 10, .n = 1, .last = 10, .step = INT64_MAX}, NULL},
    {{.extent = 10, .n = 2, .first = -2, .last = 14, .step = 8}, NULL},
    {{.extent = 10, .n = 3, .last = 10, .cuts = twice}, "do not follow each other"},
    {{.extent = 10, .n = 3, .last = 10, .cuts = back}, "do not follow each other"},
    {{.extent = 10, .n = 2, .last = 10, .cuts = late}, "do not start at 0"},
    {{.extent = 10, .n = 2, .last = 9, .cuts = early}, "reach from 0 to 9"},
    {{.extent = 10, .n = 2, .last = 10, .cuts = early}, "others than they say"},
    {{.extent = 10, .n = 2, .last = 10, .cuts = beyond}, "cut 1 is at 12"},
    {{.extent = 10, .n = 2, .last = 10, .cuts = at_end}, "cut 1 is at 10"},
    {{.extent = 10, .n = 2, .last = 10, .cuts = at_start}, "cut 1 is at 0"},
    {{.extent = 10, .n = 2, .first = -2, .last = 10, .cuts = before}, "cut 1 is at -1"},
    {{.extent = 10, .n = 2, .last = 10}, "no cuts"},
    {{.extent = 10, .n = 0, .last = 10, .step = 3}, "0 buffers"},
    {{.extent = 10, .n = -1, .last = 10, .step = 3}, "-1 buffers"},
    {{.extent = 10, .n = 4, .last = 10, .step = -3}, "axis 0 has 10 elements"},
    {{.extent = 9, .n = 3, .last = 10, .step = 3}, "are for 9"},
    {{.extent = 10, .n = 4, .first = 1, .last = 10, .step = 3}, "reach from 1"},
    {{.extent = 10, .n = 5, .last = 10, .step = 3}, "end with an empty one"},
    {{.extent = 10, .n = 3, .first = -4, .last = 10, .step = 4}, "start with an empty one"},
    {{.extent = 10, .n = INT64_MAX, .last = 10, .step = 3}, "cannot be counted"},
    {{.extent = 10, .n = 3, .last = 10, .step = INT64_MAX}, "cannot be counted"},
    {{.extent = 10, .n = 4, .first = INT64_MIN, .last = 10, .step = 3}, "start with an empty one"},
};

static void wrong_axes_are_refused(void **unused)
{
    int64_t shape[] = {10}, block[] = {4};
    rs_problem problem = even_problem(1, shape, block, block, 1);
    (void)unused;
    for (size_t i = 0; i < sizeof axes / sizeof axes[0]; i++) {
        rs_plan plan = {.ndim = 1, .memory = 1 << 20, .n_staging = 1, .buffer = {axes[i].axis}};
        resplit_error err = {0};
        resplit_status rc = rs_plan_validate(&problem, &plan, &err);
        if (axes[i].sentence == NULL ? rc != RESPLIT_OK : strstr(err.message, axes[i].sentence) == NULL) {
            fail_msg("axis %zu: '%s'", i, err.message);
        }
    }
    rs_problem_release(&problem);
}

static void wrong_loops_and_kept_axes_are_refused(void **unused)
{
    int64_t shape[] = {10, 10}, block[] = {4, 4};
    rs_problem problem = even_problem(2, shape, block, block, 1);
    rs_plan sound = {.ndim = 2, .memory = 1 << 20, .n_staging = 1, .loop = {1, 0}, .kept = 3};
    (void)unused;
    sound.buffer[0] = sound.buffer[1] = rs_axis_even(10, 3);
    assert_int_equal(rs_plan_validate(&problem, &sound, NULL), RESPLIT_OK);
    static const int loops[][2] = {{0, 0}, {1, 1}, {0, 2}, {-1, 0}, {INT32_MAX, 0}, {INT32_MIN, 1}};
    for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++) {
        rs_plan plan = sound;
        memcpy(plan.loop, loops[i], sizeof loops[i]);
        assert_int_equal(rs_plan_validate(&problem, &plan, NULL), RESPLIT_EINVAL);
    }
    rs_plan plan = sound;
    plan.kept = 4;
    assert_int_equal(rs_plan_validate(&problem, &plan, NULL), RESPLIT_EINVAL);
    plan = sound;
    plan.ndim = 1;
    assert_int_equal(rs_plan_validate(&problem, &plan, NULL), RESPLIT_EINVAL);
    plan = sound;
    plan.memory = 0;
    assert_int_equal(rs_plan_validate(&problem, &plan, NULL), RESPLIT_EINVAL);
    rs_problem_release(&problem);
}

/* An array without elements may have any number of buffers along its other axes: their product must still
   be a number. */
static void more_buffers_than_can_be_counted_are_refused(void **unused)
{
    int64_t shape[] = {INT64_C(1) << 31, INT64_C(1) << 31, INT64_C(1) << 31, 0};
    rs_problem problem = {.ndim = 4, .itemsize = 1};
    rs_plan plan = {.ndim = 4, .memory = 1 << 20, .n_staging = 1, .loop = {0, 1, 2, 3}};
    (void)unused;
    for (int d = 0; d < 4; d++) {
        problem.shape[d] = shape[d];
        plan.buffer[d] = rs_axis_even(shape[d], 1);
    }
    assert_int_equal(rs_plan_validate(&problem, &plan, NULL), RESPLIT_EINVAL);
    plan.buffer[2] = rs_axis_even(shape[2], shape[2]);
    assert_int_equal(rs_plan_validate(&problem, &plan, NULL), RESPLIT_OK);
    plan.buffer[3].n = 2;
    assert_int_equal(rs_plan_validate(&problem, &plan, NULL), RESPLIT_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_it_accepts_is_proved_by_walking),
        cmocka_unit_test(what_strategies_propose_is_accepted),
        cmocka_unit_test(wrong_axes_are_refused),
        cmocka_unit_test(wrong_loops_and_kept_axes_are_refused),
        cmocka_unit_test(more_buffers_than_can_be_counted_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
