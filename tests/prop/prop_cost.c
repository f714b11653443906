/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * prop_cost.c - seeks and held memory on axes with many blocks and buffers, where cost.c and held.c look at one period
 * only, against a walk over every element (support/plan_check.c). Regions of interest, mixed orders; no files.
 */
#include "support/plan_check.h"
#include "support/problems.h"

#include <inttypes.h>

static uint64_t state;

static int64_t random_in(int64_t lo, int64_t hi)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return lo + (int64_t)((state >> 33) % (uint64_t)(hi - lo + 1));
}

static rs_problem random_problem(int ndim)
{
    rs_layout source = {.ndim = ndim, .itemsize = 8}, target = source;
    int64_t origin[RS_MAX_NDIM] = {0};
    rs_problem problem;
    for (int d = 0; d < ndim; d++) {
        int64_t extent = ndim == 1 ? random_in(100, 900) : random_in(20, 90);
        origin[d] = random_in(0, extent / 4);
        source.axis[d] = rs_axis_even(extent, random_in(1, 12));
        target.axis[d] = rs_axis_even(random_in(1, extent - origin[d]), random_in(1, 12));
    }
    rs_order_set(ndim, random_in(0, 1) ? 'C' : 'F', source.order);
    rs_order_set(ndim, random_in(0, 1) ? 'C' : 'F', target.order);
    source.atomic = random_in(0, 4) == 0;
    if (rs_problem_make(&source, &target, origin, NULL, &problem, NULL) != RESPLIT_OK) {
        abort();
    }
    return problem;
}

/* Buffers of elements, or of blocks of either side, whose cuts may start before the region. */
static void random_plan(const rs_problem *problem, rs_plan *plan)
{
    rs_request request = {.memory = INT64_MAX};
    if (rs_plan_init(problem, "by hand", &request, plan, NULL) != RESPLIT_OK) {
        abort();
    }
    for (int d = 0; d < problem->ndim; d++) {
        const rs_axis *blocks = random_in(0, 1) ? &problem->source.axis[d] : &problem->target.axis[d];
        if (random_in(0, 1)) {
            rs_plan_cut_even(plan, d, random_in(1, 15));
        } else {
            rs_plan_cut_groups(plan, d, blocks, random_in(1, 3));
        }
        plan->loop[d] = d;
    }
    if (problem->ndim == 2 && random_in(0, 1)) {
        plan->loop[0] = 1;
        plan->loop[1] = 0;
    }
    plan->kept = (uint32_t)random_in(0, (1 << problem->ndim) - 1);
    (void)rs_plan_predict(problem, plan);
}

/* Every buffer border, looked at. */
static bool leftovers_are_right(const rs_problem *problem, const rs_plan *plan)
{
    for (int d = 0; d < problem->ndim; d++) {
        int64_t most = 0;
        for (int64_t t = 1; t < plan->buffer[d].n; t++) {
            int64_t border = rs_axis_span(&plan->buffer[d], t).lo;
            most = rs_max(most, border - rs_axis_floor(&problem->target.axis[d], border));
        }
        if (rs_plan_leftover(problem, plan, d) != most) {
            return false;
        }
    }
    return true;
}

int main(void)
{
    const char *given = getenv("RESPLIT_SEED"), *count = getenv("RESPLIT_ITERS");
    int iterations = count != NULL ? (int)strtol(count, NULL, 10) : 10000;
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : 20261115;
    state = seed;
    printf("seed %" PRIu64 ", %d plans\n", seed, iterations);
    for (int i = 0; i < iterations; i++) {
        rs_problem problem = random_problem((int)random_in(1, 2));
        rs_plan plan;
        resplit_error err;
        random_plan(&problem, &plan);
        (void)rs_fail(&err, RESPLIT_EINTERNAL, "leftovers differ");
        if (!leftovers_are_right(&problem, &plan) || plan_check(&problem, &plan, &err) != RESPLIT_OK) {
            printf("plan %d: %s\n%d passed, 1 failed\n", i, err.message, i);
            return 1;
        }
        rs_plan_release(&plan);
        rs_problem_release(&problem);
    }
    printf("%d passed, 0 failed\n", iterations);
    return 0;
}
