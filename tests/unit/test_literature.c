/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_literature.c - the counts that the papers and their repositories published, computed by our planner.
 *
 * Sources: Hayot-Sasson et al. 2017 (BigBrain), the 3500^3 and 8000^3 configurations of August 2020, the twelve cases
 * of October 2020 and the twelve that were written down and never run. A seek is a contiguous run (docs/algorithm.md,
 * section 1).
 */
#include "support/problems.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const int64_t GiB = 1LL << 30, GB = 1000000000;

typedef struct shape3 {
    int64_t at[3];
} shape3;

static int64_t seeks_of(const rs_problem *problem, const char *strategy, int64_t memory)
{
    rs_plan plan;
    resplit_error err;
    rs_request request = {.strategy = strategy, .memory = memory};
    if (rs_plan_make(problem, &request, &plan, &err) != RESPLIT_OK) {
        print_error("%s: %s\n", strategy, err.message);
        return -1;
    }
    assert_true(plan.predicted.peak_bytes <= memory);
    int64_t seeks = total_seeks(&plan.predicted);
    rs_plan_release(&plan);
    return seeks;
}

/* ---- BigBrain, 2017 ---- */

static void check_bigbrain(const rs_problem *problem)
{
    static const struct {
        int64_t memory, clustered, multiple;
    } rows[] = {{3, 21175125, 776}, {6, 17625, 438}, {9, 10625, 334}, {12, 7125, 282}, {16, 130, 230}};
    assert_int_equal(seeks_of(problem, "naive", 3 * GiB), 52937625);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(seeks_of(problem, "clustered", rows[i].memory * GiB), rows[i].clustered);
        assert_int_equal(seeks_of(problem, "multiple", rows[i].memory * GiB), rows[i].multiple);
    }
}

static const int64_t brain[] = {3500, 3025, 3850}, brain_block[] = {700, 605, 770};

static void bigbrain_merge_counts_of_2017(void **state)
{
    (void)state;
    rs_problem problem = even_problem(3, brain, brain_block, brain, 2);
    check_bigbrain(&problem);
    rs_problem_release(&problem);
}

static void bigbrain_split_is_the_mirror_image(void **state)
{
    (void)state;
    rs_problem problem = even_problem(3, brain, brain, brain_block, 2);
    check_bigbrain(&problem);
    rs_problem_release(&problem);
}

/* ---- The configurations of August 2020 ---- */

typedef struct configuration {
    int64_t edge;
    shape3 from, to;
    int64_t naive;
    int64_t held; /* elements, buffers of the aggregate, loops in C order, everything kept */
} configuration;

static const configuration configurations[] = {
    {3500, {{875, 875, 875}}, {{875, 1750, 875}}, 56064, 1339843750},
    {3500, {{875, 875, 875}}, {{700, 875, 700}}, 73500128, 7288750000},
    {3500, {{350, 350, 350}}, {{500, 500, 500}}, 196001000, 5464000000},
    {3500, {{350, 350, 350}}, {{250, 250, 250}}, 196337792, 2524875000},
    {3500, {{175, 175, 175}}, {{250, 250, 250}}, 392008000, 2524875000},
    {3500, {{350, 875, 350}}, {{500, 875, 500}}, 196000400, 5337500000},
    {3500, {{350, 875, 350}}, {{350, 500, 350}}, 210800, 566562500},
    {8000, {{2000, 2000, 2000}}, {{2000, 4000, 2000}}, 128064, 16000000000},
    {8000, {{2000, 2000, 2000}}, {{1600, 1600, 1600}}, 384096096, 93952000000},
    {8000, {{800, 800, 800}}, {{1000, 1000, 1000}}, 1024001000, 59872000000},
    {8000, {{800, 800, 800}}, {{500, 500, 500}}, 1025026536, 27244000000},
    {8000, {{200, 200, 200}}, {{250, 250, 250}}, 4096064000, 13145500000},
    {8000, {{200, 200, 200}}, {{160, 160, 160}}, 3849696000, 7777792000},
    {8000, {{400, 400, 400}}, {{500, 500, 500}}, 2048008000, 27244000000},
    {8000, {{400, 400, 400}}, {{250, 250, 250}}, 2052116288, 13145500000},
};

enum { N_CONFIGURATIONS = sizeof configurations / sizeof configurations[0] };

static rs_problem cube_problem(int64_t edge, shape3 from, shape3 to, int64_t itemsize)
{
    int64_t shape[3] = {edge, edge, edge};
    return even_problem(3, shape, from.at, to.at, itemsize);
}

/* Elements held with buffers of the aggregate, everything kept, loops in the given order. */
static int64_t held_at_aggregate(const rs_problem *problem, const int *loop)
{
    rs_plan plan;
    rs_request request = {.memory = INT64_MAX};
    assert_int_equal(rs_plan_init(problem, "by hand", &request, &plan, NULL), RESPLIT_OK);
    for (int d = 0; d < 3; d++) {
        rs_plan_cut_cover(&plan, d, &problem->source.axis[d], rs_axis_longest(&problem->target.axis[d]));
        plan.loop[d] = loop[d];
    }
    plan.kept = 7;
    (void)rs_plan_predict(problem, &plan);
    int64_t held = plan.predicted.held_bytes / problem->itemsize;
    assert_int_equal(total_seeks(&plan.predicted), problem->n_source + problem->n_target);
    rs_plan_release(&plan);
    return held;
}

static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

static void naive_counts_of_2020(void **state)
{
    (void)state;
    for (int i = 0; i < N_CONFIGURATIONS; i++) {
        const configuration *c = &configurations[i];
        rs_problem problem = cube_problem(c->edge, c->from, c->to, 2);
        assert_int_equal(seeks_of(&problem, "naive", 256 * GB), c->naive);
        rs_problem_release(&problem);
    }
}

static void keep_reaches_the_floor_with_enough_memory(void **state)
{
    (void)state;
    for (int i = 0; i < N_CONFIGURATIONS; i++) {
        const configuration *c = &configurations[i];
        rs_problem problem = cube_problem(c->edge, c->from, c->to, 2);
        assert_int_equal(seeks_of(&problem, "keep", 256 * GB), problem.n_source + problem.n_target);
        rs_problem_release(&problem);
    }
}

static void held_elements_at_the_aggregate(void **state)
{
    (void)state;
    for (int i = 0; i < N_CONFIGURATIONS; i++) {
        const configuration *c = &configurations[i];
        rs_problem problem = cube_problem(c->edge, c->from, c->to, 2);
        assert_int_equal(held_at_aggregate(&problem, orders[0]), c->held);
        rs_problem_release(&problem);
    }
}

static void held_elements_in_the_best_order(void **state)
{
    (void)state;
    static const struct {
        int configuration;
        int64_t held;
    } rows[] = {{1, 2465312500}, {5, 1662500000}, {6, 153125000}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const configuration *c = &configurations[rows[i].configuration];
        rs_problem problem = cube_problem(c->edge, c->from, c->to, 2);
        int64_t best = INT64_MAX;
        for (int o = 0; o < 6; o++) {
            best = rs_min(best, held_at_aggregate(&problem, orders[o]));
        }
        assert_int_equal(best, rows[i].held);
        rs_problem_release(&problem);
    }
}

/* ---- October 2020: 1 byte an element, cubic blocks; a: from `small` to `large`, b: the reverse ---- */

typedef struct october {
    int64_t edge, from, to;
    int64_t naive, keep, held;
} october;

static const october octobers[] = {
    {3500, 350, 1750, 122501000, 1008, 5359375000},  {3500, 1750, 350, 1008, 1008, 5359375000},
    {3500, 350, 875, 147001000, 1064, 8778656250},   {3500, 875, 350, 49112832, 1064, 3022687500},
    {3500, 350, 700, 122501000, 1125, 343000000},    {3500, 700, 350, 1125, 1125, 343000000},
    {3500, 350, 500, 196001000, 1343, 5464000000},   {3500, 500, 350, 147168599, 1343, 3896000000},
    {3500, 350, 250, 196337792, 3744, 2524875000},   {3500, 250, 350, 269502744, 3744, 3896000000},
    {3500, 350, 175, 9000, 9000, 42875000},          {3500, 175, 350, 245008000, 9000, 42875000},
    {6000, 1000, 3000, 216000216, 224, 27000000000}, {6000, 3000, 1000, 224, 224, 27000000000},
    {6000, 1000, 2000, 216000216, 243, 8000000000},  {6000, 2000, 1000, 243, 243, 8000000000},
    {6000, 1000, 1500, 288000216, 280, 49500000000}, {6000, 1500, 1000, 144096192, 280, 23500000000},
    {6000, 1000, 1200, 360000216, 341, 44608000000}, {6000, 1200, 1000, 288096165, 341, 34160000000},
    {6000, 1000, 750, 288192408, 728, 20062500000},  {6000, 750, 1000, 432000512, 728, 23500000000},
    {6000, 1000, 600, 288288720, 1216, 17216000000}, {6000, 600, 1000, 504001000, 1216, 34160000000},
};

static void the_twenty_four_cases_of_october_2020(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof octobers / sizeof octobers[0]; i++) {
        const october *o = &octobers[i];
        rs_problem problem =
            cube_problem(o->edge, (shape3){{o->from, o->from, o->from}}, (shape3){{o->to, o->to, o->to}}, 1);
        assert_int_equal(seeks_of(&problem, "naive", 256 * GB), o->naive);
        assert_int_equal(seeks_of(&problem, "keep", 256 * GB), o->keep);
        assert_int_equal(held_at_aggregate(&problem, orders[0]), o->held);
        rs_problem_release(&problem);
    }
}

/* ---- What the papers state ---- */

/* Section "A particular case": an input file covers whole output files. m is the memory for array data. */
static void particular_case_needs_one_input_file(void **state)
{
    (void)state;
    static const struct {
        shape3 shape, from, to;
    } rows[] = {
        {{{400, 400, 400}}, {{200, 200, 200}}, {{100, 100, 100}}},
        {{{400, 400, 400}}, {{200, 200, 200}}, {{200, 100, 50}}},
        {{{700, 600, 500}}, {{350, 300, 250}}, {{70, 300, 125}}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rs_problem problem = even_problem(3, rows[i].shape.at, rows[i].from.at, rows[i].to.at, 2);
        int64_t file = 2 * rows[i].from.at[0] * rows[i].from.at[1] * rows[i].from.at[2];
        rs_plan plan;
        rs_request request = {.strategy = "keep", .memory = file + file / 20};
        assert_int_equal(rs_plan_make(&problem, &request, &plan, NULL), RESPLIT_OK);
        assert_int_equal(total_seeks(&plan.predicted), problem.n_source + problem.n_target);
        assert_int_equal(plan.predicted.held_bytes, file);
        rs_plan_release(&plan);
        rs_problem_release(&problem);
    }
}

/* The least memory with which multiple takes slabs of `slices` slices. */
static int64_t memory_for_slices(const rs_problem *problem, int64_t slices)
{
    int64_t too_little = 0, enough = 1LL << 40;
    while (enough - too_little > 1) {
        rs_request request = {.strategy = "multiple", .memory = too_little + (enough - too_little) / 2};
        rs_plan plan;
        bool fits = rs_plan_make(problem, &request, &plan, NULL) == RESPLIT_OK;
        fits = fits && plan.buffer[0].step >= slices && plan.buffer[1].n == 1 && plan.buffer[2].n == 1;
        *(fits ? &enough : &too_little) = request.memory;
        rs_plan_release(&plan);
    }
    return enough;
}

/*
 * "it can also be used to split and merge data with the same behavior than the multiple strategy": the buffers are the
 * same, and so are the seeks where memory is a whole number of slices and nothing more: a last slab as long as the
 * others. Where it is shorter, keep uses what it leaves free to keep leftovers, and is better.
 */
static void keep_is_multiple_for_a_split_or_a_merge(void **state)
{
    (void)state;
    static const shape3 shapes[][2] = {
        {{{60, 50, 40}}, {{7, 9, 11}}}, {{{48, 20, 30}}, {{16, 20, 7}}}, {{{36, 35, 34}}, {{36, 5, 34}}}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const shape3 *shape = &shapes[i][0], *small = &shapes[i][1];
        for (int split = 0; split < 2; split++) {
            rs_problem problem =
                even_problem(3, shape->at, split ? shape->at : small->at, split ? small->at : shape->at, 2);
            for (int64_t slices = 1; slices <= shape->at[0]; slices++) {
                int64_t memory = memory_for_slices(&problem, slices);
                rs_plan multiple, keep;
                rs_request request = {.strategy = "multiple", .memory = memory};
                assert_int_equal(rs_plan_make(&problem, &request, &multiple, NULL), RESPLIT_OK);
                request.strategy = "keep";
                assert_int_equal(rs_plan_make(&problem, &request, &keep, NULL), RESPLIT_OK);
                for (int d = 0; d < 3; d++) {
                    assert_int_equal(keep.buffer[d].n, multiple.buffer[d].n);
                    assert_int_equal(rs_axis_longest(&keep.buffer[d]), rs_axis_longest(&multiple.buffer[d]));
                }
                assert_true(total_seeks(&keep.predicted) <= total_seeks(&multiple.predicted));
                if (shape->at[0] % slices == 0) {
                    assert_int_equal(total_seeks(&keep.predicted), total_seeks(&multiple.predicted));
                }
                rs_plan_release(&multiple);
                rs_plan_release(&keep);
            }
            rs_problem_release(&problem);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bigbrain_merge_counts_of_2017),
        cmocka_unit_test(bigbrain_split_is_the_mirror_image),
        cmocka_unit_test(naive_counts_of_2020),
        cmocka_unit_test(keep_reaches_the_floor_with_enough_memory),
        cmocka_unit_test(held_elements_at_the_aggregate),
        cmocka_unit_test(held_elements_in_the_best_order),
        cmocka_unit_test(the_twenty_four_cases_of_october_2020),
        cmocka_unit_test(particular_case_needs_one_input_file),
        cmocka_unit_test(keep_is_multiple_for_a_split_or_a_merge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
