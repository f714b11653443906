/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_picture.c - what is drawn is what the plan says: blocks, buffers, seeks and held elements are counted in the
 * text of the page and compared with the prediction, for random problems; large ones make small pages.
 */
#include "plan/picture_parts.h"
#include "support/problems.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static uint64_t state = 7;

static int64_t random_in(int64_t lo, int64_t hi)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return lo + (int64_t)((state >> 33) % (uint64_t)(hi - lo + 1));
}

/* A region of a random grid, in orders that may differ. */
static rs_problem random_problem(int ndim, int64_t most)
{
    int64_t shape[RS_MAX_NDIM], inner[RS_MAX_NDIM], from[RS_MAX_NDIM], to[RS_MAX_NDIM], origin[RS_MAX_NDIM];
    for (int d = 0; d < ndim; d++) {
        shape[d] = random_in(1, most);
        inner[d] = random_in(0, 2) == 0 ? random_in(1, shape[d]) : shape[d];
        origin[d] = random_in(0, shape[d] - inner[d]);
        from[d] = random_in(1, shape[d]);
        to[d] = random_in(1, inner[d]);
    }
    rs_layout source = even_layout(ndim, shape, from, 100, random_in(0, 3) == 0 ? 'F' : 'C');
    rs_layout target = even_layout(ndim, inner, to, 100, random_in(0, 3) == 0 ? 'F' : 'C');
    rs_problem problem;
    assert_int_equal(rs_problem_make(&source, &target, origin, NULL, &problem, NULL), RESPLIT_OK);
    return problem;
}

/* A plan with little memory to spare, by one of the strategies that apply to everything. */
static rs_plan random_plan(const rs_problem *problem)
{
    const char *const names[] = {"keep", "best", "naive"};
    rs_request request = {.strategy = names[random_in(0, 2)], .memory = 1};
    rs_plan plan = {0};
    resplit_error err = {0};
    assert_int_equal(rs_plan_make(problem, &request, &plan, &err), RESPLIT_EBUDGET);
    request.memory = err.needed_bytes + random_in(0, 2000) * 20;
    assert_int_equal(rs_plan_make(problem, &request, &plan, &err), RESPLIT_OK);
    return plan;
}

static int64_t count_buffers(const rs_plan *plan)
{
    int64_t n = 1;
    for (int d = 0; d < plan->ndim; d++) {
        n *= plan->buffer[d].n;
    }
    return n;
}

static rs_text draw(const rs_problem *problem, const rs_plan *plan)
{
    rs_text page = {0};
    resplit_error err = {0};
    if (rs_plan_picture(problem, plan, &page, &err) != RESPLIT_OK) {
        fail_msg("%s", err.message);
    }
    assert_memory_equal(page.s, "<?xml", 5);
    assert_string_equal(page.s + page.n - 7, "</svg>\n");
    return page;
}

typedef struct tally {
    int64_t n, sum;
} tally;

/* How often an attribute stands in [from, to), and the sum of its values. */
static tally count_values(const char *from, const char *to, const char *attribute)
{
    tally found = {0};
    size_t n = strlen(attribute);
    for (const char *at = strstr(from, attribute); at != NULL && at < to; at = strstr(at + n, attribute)) {
        found.n++;
        found.sum += strtoll(at + n, NULL, 10);
    }
    return found;
}

static tally count_all(const rs_text *page, const char *attribute)
{
    return count_values(page->s, page->s + page->n, attribute);
}

/* Elements of boxes of a class in [from, to). */
static int64_t count_elements(const char *from, const char *to, const char *name)
{
    char start[60];
    int64_t sum = 0;
    (void)snprintf(start, sizeof start, "class=\"%s\" data-box=\"", name);
    for (const char *at = strstr(from, start); at != NULL && at < to; at = strstr(at + 1, start)) {
        long long v0, v1, h0, h1;
        assert_int_equal(sscanf(at + strlen(start), "%lld:%lld,%lld:%lld", &v0, &v1, &h0, &h1), 4);
        sum += (v1 - v0) * (h1 - h0);
    }
    return sum;
}

/* The panel that shows a moment, and what is held in it. */
static int64_t count_held(const rs_text *page, int64_t buffer, bool waits_only)
{
    char start[60];
    (void)snprintf(start, sizeof start, "<g class=\"held\" data-buffer=\"%" PRId64 "\">", buffer + 1);
    const char *from = strstr(page->s, start);
    assert_non_null(from);
    const char *to = strstr(from, "</g>");
    return (waits_only ? 0 : count_elements(from, to, "complete")) + count_elements(from, to, "new")
           + count_elements(from, to, "old");
}

static void test_two_axes_are_exact(void **unused)
{
    (void)unused;
    for (int i = 0; i < 400; i++) {
        rs_problem problem = random_problem(1 + i % 2, 14);
        rs_plan plan = random_plan(&problem);
        rs_text page = draw(&problem, &plan);
        rs_survey survey;
        tally reads = count_all(&page, "data-reads=\""), writes = count_all(&page, "data-writes=\"");
        assert_int_equal(rs_survey_make(&problem, &plan, &survey, NULL), RESPLIT_OK);
        assert_true(survey.walked);
        assert_int_equal(reads.n, problem.n_source);
        assert_int_equal(reads.sum, plan.predicted.read_seeks);
        assert_int_equal(writes.n, problem.n_target);
        assert_int_equal(writes.sum, plan.predicted.write_seeks);
        assert_int_equal(count_all(&page, "data-number=\"").n, count_buffers(&plan));
        assert_int_equal(count_all(&page, "data-held=\"").sum, plan.predicted.held_bytes);
        assert_int_equal(count_held(&page, survey.fullest.buffer, false) * problem.itemsize, plan.predicted.held_bytes);
        if (survey.waiting.held > 0) {
            assert_int_equal(count_held(&page, survey.waiting.buffer, true), survey.waiting.held);
        }
        rs_survey_release(&survey);
        rs_text_release(&page);
        rs_plan_release(&plan);
        rs_problem_release(&problem);
    }
}

/* Numbers from the axes alone are those of the walk. */
static void test_no_walk_finds_the_same_seeks(void **unused)
{
    (void)unused;
    for (int i = 0; i < 200; i++) {
        rs_problem problem = random_problem(1 + i % 4, 9);
        rs_plan plan = random_plan(&problem);
        rs_survey survey;
        assert_int_equal(rs_survey_make(&problem, &plan, &survey, NULL), RESPLIT_OK);
        assert_int_equal(survey.fullest.held * problem.itemsize, plan.predicted.held_bytes);
        rs_survey blind = survey;
        blind.walked = false;
        for (int side = 0; side < 2; side++) {
            const rs_layout *layout = side == 0 ? &problem.source : &problem.target;
            rs_step_kind kind = side == 0 ? RS_STEP_READ : RS_STEP_WRITE;
            int64_t lo[RS_MAX_NDIM] = {0}, hi[RS_MAX_NDIM], index[RS_MAX_NDIM] = {0};
            for (int d = 0; d < problem.ndim; d++) {
                hi[d] = layout->axis[d].n;
            }
            do {
                assert_int_equal(rs_survey_seeks(&survey, &problem, &plan, kind, index),
                                 rs_survey_seeks(&blind, &problem, &plan, kind, index));
            } while (rs_index_next(problem.ndim, lo, hi, index));
        }
        rs_survey_release(&survey);
        rs_plan_release(&plan);
        rs_problem_release(&problem);
    }
}

/* Each layer of blocks stands for as many as it says: together they have all seeks, when all kinds are drawn. */
static void test_layers_of_more_axes(void **unused)
{
    int checked = 0;
    (void)unused;
    for (int i = 0; i < 100; i++) {
        rs_problem problem = random_problem(3 + i % 4, 7);
        rs_plan plan = random_plan(&problem);
        rs_text page = draw(&problem, &plan);
        int64_t sum[2] = {0};
        for (const char *at = strstr(page.s, "data-layers=\""); at != NULL; at = strstr(at + 1, "data-layers=\"")) {
            const char *end = strstr(at, "</g>");
            int64_t times = strtoll(at + strlen("data-layers=\""), NULL, 10);
            sum[0] += times * count_values(at, end, "data-reads=\"").sum;
            sum[1] += times * count_values(at, end, "data-writes=\"").sum;
        }
        if (strstr(page.s, " of blocks, with other numbers") == NULL) {
            assert_int_equal(sum[0], plan.predicted.read_seeks);
            assert_int_equal(sum[1], plan.predicted.write_seeks);
            checked++;
        }
        rs_text_release(&page);
        rs_plan_release(&plan);
        rs_problem_release(&problem);
    }
    assert_true(checked > 20);
}

static void test_large_problems_make_small_pages(void **unused)
{
    static const struct {
        int ndim;
        int64_t shape[4], from[4], to[4];
        int64_t memory;
    } large[] = {
        {2, {100000, 100000}, {100, 100}, {150, 130}, 100000000},
        {2, {2000, 2000}, {2, 3}, {3, 2}, 300000},
        {1, {100000000}, {7}, {11}, 1000000},
        {3, {2000, 2000, 2000}, {1, 2000, 2000}, {2000, 1, 2000}, 1 << 30},
        {4, {4000, 819, 819, 204}, {4, 64, 64, 64}, {400, 31, 37, 256}, 1LL << 33},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        rs_problem problem = even_problem(large[i].ndim, large[i].shape, large[i].from, large[i].to, 2);
        rs_request request = {.strategy = "keep", .memory = large[i].memory};
        rs_plan plan;
        rs_survey survey;
        assert_int_equal(rs_plan_make(&problem, &request, &plan, NULL), RESPLIT_OK);
        assert_int_equal(rs_survey_make(&problem, &plan, &survey, NULL), RESPLIT_OK);
        if (survey.complete) {
            assert_int_equal(survey.fullest.held * problem.itemsize, plan.predicted.held_bytes);
        }
        rs_text page = draw(&problem, &plan);
        assert_true(page.n < 1000000);
        rs_text_release(&page);
        rs_survey_release(&survey);
        rs_plan_release(&plan);
        rs_problem_release(&problem);
    }
}

/* Every kind of plan, no elements, no axes. */
static void test_odd_ones(void **unused)
{
    static const struct {
        int ndim;
        int64_t shape[3], from[3], to[3];
        const char *strategy, *expected;
    } odd[] = {
        {2, {0, 5}, {3, 3}, {2, 2}, "keep", "The array has no elements"},
        {0, {0}, {0}, {0}, "keep", "The fullest moment"},
        {2, {9, 9}, {3, 3}, {3, 3}, "copy", "both grids are the same"},
        {3, {90, 90, 9}, {1, 90, 9}, {90, 10, 1}, "spill", "go through a temporary file"},
        {1, {1}, {1}, {1}, "keep", "1 source block, 1 target block"},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        rs_problem problem = even_problem(odd[i].ndim, odd[i].shape, odd[i].from, odd[i].to, 2);
        rs_request request = {.strategy = odd[i].strategy, .memory = 100000};
        rs_plan plan;
        assert_int_equal(rs_plan_make(&problem, &request, &plan, NULL), RESPLIT_OK);
        rs_text page = draw(&problem, &plan);
        if (strstr(page.s, odd[i].expected) == NULL) {
            fail_msg("'%s' is not in the page of problem %zu", odd[i].expected, i);
        }
        rs_text_release(&page);
        rs_plan_release(&plan);
        rs_problem_release(&problem);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_axes_are_exact),
        cmocka_unit_test(test_no_walk_finds_the_same_seeks),
        cmocka_unit_test(test_layers_of_more_axes),
        cmocka_unit_test(test_large_problems_make_small_pages),
        cmocka_unit_test(test_odd_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
