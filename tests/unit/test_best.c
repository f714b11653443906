/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_best.c - the search: never worse than any strategy, as good as an enumeration of everything on small problems,
 * and at least as good as what a smaller search found on the papers' configurations.
 */
#include "support/plan_check.h"
#include "plan/device.h"
#include "plan/steps.h"
#include "support/problems.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static uint64_t state = 2026;

static int64_t random_in(int64_t lo, int64_t hi)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return lo + (int64_t)((state >> 33) % (uint64_t)(hi - lo + 1));
}

static rs_problem random_problem(int ndim, int64_t most, char source_order, char target_order)
{
    static const int64_t origin[RS_MAX_NDIM];
    int64_t shape[RS_MAX_NDIM], from[RS_MAX_NDIM], to[RS_MAX_NDIM];
    for (int d = 0; d < ndim; d++) {
        shape[d] = random_in(1, most);
        from[d] = random_in(1, shape[d]);
        to[d] = random_in(1, shape[d]);
    }
    rs_layout source = even_layout(ndim, shape, from, 1, source_order);
    rs_layout target = even_layout(ndim, shape, to, 1, target_order);
    rs_problem problem;
    assert_int_equal(rs_problem_make(&source, &target, origin, NULL, &problem, NULL), RESPLIT_OK);
    return problem;
}

/* ---- Everything, enumerated ---- */

typedef struct everything {
    const rs_problem *problem;
    int64_t memory, seeks;
    int64_t cuts[3][8];
    int loop[3];
} everything;

static void set_cuts(int64_t extent, int bits, int64_t *cuts, int64_t *n)
{
    *n = 0;
    cuts[0] = 0;
    for (int64_t x = 1; x <= extent; x++) {
        if (x == extent || (bits >> (x - 1) & 1) != 0) {
            cuts[++*n] = x;
        }
    }
}

/* Every loop order and every set of kept axes for the cuts at hand, each asked whether it fits, by the
   plan's own rule. */
static void try_orders(everything *e, rs_plan *plan)
{
    static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    int ndim = e->problem->ndim;
    for (uint32_t kept = 0; kept < 1U << ndim; kept++) {
        for (int o = 0; o < 6; o++) {
            int n = 0;
            for (int i = 0; i < 3; i++) {
                if (orders[o][i] < ndim) {
                    plan->loop[n++] = orders[o][i];
                }
            }
            plan->kept = kept;
            if (rs_plan_predict(e->problem, plan)) {
                e->seeks = rs_min(e->seeks, total_seeks(&plan->predicted));
            }
        }
    }
}

static void try_cuts(everything *e, rs_plan *plan, int d)
{
    if (d == e->problem->ndim) {
        try_orders(e, plan);
        return;
    }
    int64_t extent = e->problem->shape[d], n;
    for (int bits = 0; bits < 1 << (extent - 1); bits++) {
        set_cuts(extent, bits, e->cuts[d], &n);
        plan->buffer[d] = rs_axis_uneven(e->cuts[d], n);
        try_cuts(e, plan, d + 1);
    }
}

static int64_t seeks_of_everything(const rs_problem *problem, int64_t memory)
{
    everything e = {.problem = problem, .memory = memory, .seeks = INT64_MAX};
    rs_plan plan = {.ndim = problem->ndim, .memory = memory, .n_staging = 1};
    try_cuts(&e, &plan, 0);
    return e.seeks;
}

static int64_t seeks_by(const rs_problem *problem, const char *strategy, int64_t memory)
{
    rs_plan plan;
    rs_request request = {.strategy = strategy, .memory = memory};
    resplit_error err = {0};
    resplit_status rc = rs_plan_make(problem, &request, &plan, &err);
    if (rc != RESPLIT_OK) {
        assert_true(rc == RESPLIT_EBUDGET || rc == RESPLIT_EUNSUPPORTED);
        return INT64_MAX;
    }
    if (strcmp(strategy, "best") == 0 && problem->n_elements < 100000) {
        assert_int_equal(plan_check(problem, &plan, &err), RESPLIT_OK);
    }
    int64_t seeks = total_seeks(&plan.predicted);
    rs_plan_release(&plan);
    return seeks;
}

static int64_t least_memory(const rs_problem *problem)
{
    rs_plan plan;
    rs_request request = {.strategy = "best", .memory = 1};
    resplit_error err;
    assert_int_equal(rs_plan_make(problem, &request, &plan, &err), RESPLIT_EBUDGET);
    return err.needed_bytes;
}

/* One byte an element and hundreds for records: memory is scaled up so that data decides, as it does in life. */
static void compare_with_everything(int ndim, int64_t most, int trials)
{
    for (int i = 0; i < trials; i++) {
        rs_problem problem = random_problem(ndim, most, random_in(0, 3) ? 'C' : 'F', random_in(0, 3) ? 'C' : 'F');
        problem.itemsize = problem.source.itemsize = problem.target.itemsize = 4000;
        int64_t least = least_memory(&problem);
        int64_t memory = least + random_in(0, problem.n_elements * problem.itemsize);
        int64_t found = seeks_by(&problem, "best", memory), there_is = seeks_of_everything(&problem, memory);
        if (found != there_is) {
            fail_msg("trial %d of %d-D: best finds %" PRId64 ", there is %" PRId64, i, ndim, found, there_is);
        }
        rs_problem_release(&problem);
    }
}

static void best_is_the_best_there_is_in_2d(void **unused)
{
    (void)unused;
    compare_with_everything(2, 6, 150);
}

static void best_is_the_best_there_is_in_3d(void **unused)
{
    (void)unused;
    compare_with_everything(3, 4, 60);
}

static void best_is_never_worse_than_another_strategy(void **unused)
{
    (void)unused;
    static const char *const others[] = {"keep", "multiple", "clustered", "naive"};
    for (int i = 0; i < 2000; i++) {
        rs_problem problem = random_problem((int)random_in(1, 4), 25, random_in(0, 2) ? 'C' : 'F', 'C');
        problem.itemsize = problem.source.itemsize = problem.target.itemsize = 1000;
        int64_t memory =
            least_memory(&problem) + random_in(0, problem.n_elements * problem.itemsize / random_in(1, 20));
        int64_t best = seeks_by(&problem, "best", memory);
        assert_true(best >= problem.n_source + problem.n_target);
        for (size_t s = 0; s < sizeof others / sizeof others[0]; s++) {
            assert_true(best <= seeks_by(&problem, others[s], memory));
        }
        rs_problem_release(&problem);
    }
}

/* ---- What auto takes ---- */

static void check_auto_on(const rs_problem *problem, int64_t memory, const resplit_device *device)
{
    rs_plan chosen, plan;
    rs_request request = {.memory = memory, .device = device};
    assert_int_equal(rs_plan_make(problem, &request, &chosen, NULL), RESPLIT_OK);
    for (int k = 0; rs_strategy_at(k) != NULL; k++) {
        request.strategy = rs_strategy_at(k)->name;
        if (rs_plan_make(problem, &request, &plan, NULL) == RESPLIT_OK) {
            /* memory that is touched for the first time takes time too, and so does gathering units from pieces */
            double memory_seconds = (double)plan.predicted.peak_bytes / 2e9;
            double copy_seconds = (double)plan.predicted.bytes_written / 2e9;
            assert_true(chosen.seconds <= plan.seconds + memory_seconds + copy_seconds);
            rs_plan_release(&plan);
        }
    }
    rs_plan_release(&chosen);
}

static void check_auto(const rs_problem *problem, int64_t memory)
{
    for (int i = 0; rs_device_at(i) != NULL; i++) {
        check_auto_on(problem, memory, rs_device_at(i));
    }
}

static void auto_is_never_slower_than_a_strategy(void **unused)
{
    (void)unused;
    for (int i = 0; i < 300; i++) {
        rs_problem problem = random_problem((int)random_in(1, 3), 25, random_in(0, 2) ? 'C' : 'F', 'C');
        problem.itemsize = problem.source.itemsize = problem.target.itemsize = 1000;
        problem.source.atomic = random_in(0, 3) == 0;
        int64_t memory =
            least_memory(&problem) + random_in(0, problem.n_elements * problem.itemsize / random_in(1, 20));
        check_auto(&problem, memory);
        rs_problem_release(&problem);
    }
}

/* Blocks and arrays of the papers: BigBrain, 3500^3, 8000^3. */
static const struct {
    int64_t shape[3], from[3], to[3];
} workloads[] = {
    {{3500, 3025, 3850}, {700, 605, 770}, {3500, 3025, 3850}},
    {{3500, 3025, 3850}, {3500, 3025, 3850}, {700, 605, 770}},
    {{3500, 3500, 3500}, {875, 875, 875}, {875, 1750, 875}},
    {{3500, 3500, 3500}, {875, 875, 875}, {700, 875, 700}},
    {{3500, 3500, 3500}, {350, 350, 350}, {500, 500, 500}},
    {{3500, 3500, 3500}, {350, 350, 350}, {250, 250, 250}},
    {{3500, 3500, 3500}, {175, 175, 175}, {250, 250, 250}},
    {{3500, 3500, 3500}, {350, 875, 350}, {500, 875, 500}},
    {{3500, 3500, 3500}, {350, 875, 350}, {350, 500, 350}},
    {{8000, 8000, 8000}, {2000, 2000, 2000}, {2000, 4000, 2000}},
    {{8000, 8000, 8000}, {2000, 2000, 2000}, {1600, 1600, 1600}},
    {{8000, 8000, 8000}, {800, 800, 800}, {1000, 1000, 1000}},
    {{8000, 8000, 8000}, {800, 800, 800}, {500, 500, 500}},
    {{8000, 8000, 8000}, {200, 200, 200}, {250, 250, 250}},
    {{8000, 8000, 8000}, {200, 200, 200}, {160, 160, 160}},
    {{8000, 8000, 8000}, {400, 400, 400}, {500, 500, 500}},
    {{8000, 8000, 8000}, {400, 400, 400}, {250, 250, 250}},
};

static void best_and_auto_are_never_worse_on_the_papers_workloads(void **unused)
{
    (void)unused;
    static const char *const others[] = {"keep", "multiple", "clustered", "naive"};
    for (size_t i = 0; i < sizeof workloads / sizeof workloads[0]; i++) {
        rs_problem problem = even_problem(3, workloads[i].shape, workloads[i].from, workloads[i].to, 2);
        for (int64_t memory = 250000000; memory <= 256000000000; memory *= 8) {
            int64_t best = seeks_by(&problem, "best", memory);
            for (size_t s = 0; s < sizeof others / sizeof others[0]; s++) {
                assert_true(best <= seeks_by(&problem, others[s], memory));
            }
            check_auto_on(&problem, memory, rs_device_find("hdd"));
        }
        rs_problem_release(&problem);
    }
}

/* ---- Blocks that can only be read forwards ---- */

/* Walks the steps: each source block is read in one step, or from its beginning to its end. */
static void check_forwards(const rs_problem *problem, const rs_plan *plan)
{
    rs_steps steps;
    rs_step step;
    int64_t last[4096];
    memset(last, 0, sizeof last);
    rs_steps_init(&steps, problem, plan);
    while (rs_steps_next(&steps, &step)) {
        if (step.kind != RS_STEP_READ) {
            continue;
        }
        int64_t strides[RS_MAX_NDIM], n = rs_layout_block_number(&problem->source, step.block), end[RS_MAX_NDIM];
        assert_true(n < 4096);
        rs_box_strides(problem->ndim, problem->source.order, &step.stored, strides);
        for (int d = 0; d < problem->ndim; d++) {
            end[d] = step.box.hi[d] - 1;
        }
        assert_true(rs_box_offset(problem->ndim, &step.stored, strides, step.box.lo) >= last[n]);
        last[n] = rs_box_offset(problem->ndim, &step.stored, strides, end) + 1;
    }
}

static void a_stream_is_only_read_forwards(void **unused)
{
    (void)unused;
    int planned = 0;
    for (int i = 0; i < 500; i++) {
        rs_problem problem = random_problem((int)random_in(1, 3), 12, 'C', random_in(0, 2) ? 'C' : 'F');
        problem.itemsize = problem.source.itemsize = problem.target.itemsize = 1000;
        problem.source.sequential = problem.source.atomic = true;
        if (random_in(0, 1) == 0) { /* one stream, as a compressed file is */
            for (int d = 0; d < problem.ndim; d++) {
                problem.source.axis[d] = rs_axis_even(problem.shape[d], problem.shape[d]);
            }
            problem.n_source = 1;
            problem.source.atomic = false;
        }
        for (int k = 0; rs_strategy_at(k) != NULL; k++) {
            rs_plan plan;
            rs_request request = {.strategy = rs_strategy_at(k)->name,
                                  .memory = 100000 + random_in(0, problem.n_elements * problem.itemsize)};
            if (rs_plan_make(&problem, &request, &plan, NULL) == RESPLIT_OK) {
                if (plan.kind == RS_PLAN_BUFFERS) {
                    check_forwards(&problem, &plan);
                }
                planned++;
                rs_plan_release(&plan);
            }
        }
        rs_problem_release(&problem);
    }
    assert_true(planned > 1000);
}

/* ---- The papers' configurations: what a search over cuts aligned to one grid found ---- */

static void best_is_at_least_as_good_as_the_tables(void **unused)
{
    (void)unused;
    static const struct {
        int64_t from[3], to[3], memory, seeks; /* MB */
    } rows[] = {
        {{875, 875, 875}, {875, 1750, 875}, 4000, 96},  {{875, 875, 875}, {875, 1750, 875}, 1000, 288},
        {{875, 875, 875}, {875, 1750, 875}, 250, 1056}, {{875, 875, 875}, {700, 875, 700}, 4000, 196},
        {{875, 875, 875}, {700, 875, 700}, 1000, 392},  {{875, 875, 875}, {700, 875, 700}, 250, 1308},
        {{350, 350, 350}, {500, 500, 500}, 4000, 1441}, {{350, 350, 350}, {500, 500, 500}, 1000, 1784},
        {{350, 350, 350}, {500, 500, 500}, 250, 6254},  {{350, 350, 350}, {250, 250, 250}, 4000, 3744},
        {{350, 350, 350}, {250, 250, 250}, 2000, 4044}, {{350, 350, 350}, {250, 250, 250}, 1000, 4344},
        {{350, 350, 350}, {250, 250, 250}, 500, 4944},  {{350, 350, 350}, {250, 250, 250}, 250, 9088},
    };
    static const int64_t shape[] = {3500, 3500, 3500};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rs_problem problem = even_problem(3, shape, rows[i].from, rows[i].to, 2);
        int64_t seeks = seeks_by(&problem, "best", rows[i].memory * 1000000);
        print_message("%5" PRId64 " MB: %" PRId64 " seeks, table %" PRId64 "\n", rows[i].memory, seeks, rows[i].seeks);
        assert_true(seeks <= rows[i].seeks);
        rs_problem_release(&problem);
    }
}

/* Maps to series: three buffers along the series, of 1 KiB for each map. */
static void cuts_inside_of_blocks_are_at_sectors(void **state_)
{
    (void)state_;
    static const int64_t origin[RS_MAX_NDIM], shape[] = {2048, 512, 512}, from[] = {1, 512, 512}, to[] = {2048, 16, 16};
    rs_layout source = even_layout(3, shape, from, 4, 'C'), target = even_layout(3, shape, to, 4, 'C');
    rs_problem problem;
    rs_plan plan;
    rs_request request = {.strategy = "best", .memory = 512 << 20};
    assert_int_equal(rs_problem_make(&source, &target, origin, NULL, &problem, NULL), RESPLIT_OK);
    assert_int_equal(rs_plan_make(&problem, &request, &plan, NULL), RESPLIT_OK);
    assert_true(plan.buffer[0].n > 1);
    for (int64_t i = 0; i < plan.buffer[0].n; i++) {
        assert_int_equal(rs_axis_span(&plan.buffer[0], i).lo % 4, 0);
    }
    assert_int_equal(plan_check(&problem, &plan, NULL), RESPLIT_OK);
    rs_plan_release(&plan);
    rs_problem_release(&problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(best_is_the_best_there_is_in_2d),
        cmocka_unit_test(best_is_the_best_there_is_in_3d),
        cmocka_unit_test(best_is_never_worse_than_another_strategy),
        cmocka_unit_test(auto_is_never_slower_than_a_strategy),
        cmocka_unit_test(best_and_auto_are_never_worse_on_the_papers_workloads),
        cmocka_unit_test(a_stream_is_only_read_forwards),
        cmocka_unit_test(best_is_at_least_as_good_as_the_tables),
        cmocka_unit_test(cuts_inside_of_blocks_are_at_sectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
