/* SPDX-License-Identifier: BSD-3-Clause */
/* planner.c - the table of strategies, and the cheapest plan among what they propose. */
#include "plan/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const rs_strategy *const strategies[] = {
    &rs_strategy_best, &rs_strategy_keep, &rs_strategy_multiple, &rs_strategy_clustered, &rs_strategy_naive,
};

enum { N_STRATEGIES = sizeof strategies / sizeof strategies[0] };

const rs_strategy *rs_strategy_at(int i)
{
    return i >= 0 && i < N_STRATEGIES ? strategies[i] : NULL;
}

resplit_status rs_plan_init(const rs_problem *problem, const char *strategy, const rs_request *request, rs_plan *out,
                            resplit_error *err)
{
    *out = (rs_plan){.strategy = strategy,
                     .ndim = problem->ndim,
                     .memory = request->memory,
                     .n_staging = request->n_staging > 0 ? request->n_staging : 1};
    memcpy(out->loop, problem->source.order, sizeof out->loop);
    for (int d = 0; d < problem->ndim; d++) {
        const rs_axis *source = &problem->source.axis[d], *target = &problem->target.axis[d];
        out->buffer[d] = rs_axis_even(problem->shape[d], rs_max(1, problem->shape[d]));
        if (source->step > 0 && target->step > 0) {
            continue;
        }
        out->cuts[d] = calloc((size_t)rs_max(source->n, target->n) + 1, sizeof *out->cuts[d]);
        if (out->cuts[d] == NULL) {
            rs_plan_release(out);
            return rs_fail_errno(err, ENOMEM, "cannot allocate cut positions");
        }
    }
    return RESPLIT_OK;
}

void rs_plan_release(rs_plan *plan)
{
    for (int d = 0; d < RS_MAX_NDIM; d++) {
        free(plan->cuts[d]);
    }
    *plan = (rs_plan){0};
}

resplit_cost rs_plan_floor(const rs_problem *problem)
{
    if (problem->n_elements == 0) {
        return (resplit_cost){0};
    }
    int64_t bytes = problem->n_elements * problem->itemsize;
    return (resplit_cost){
        .read_seeks = problem->n_source, .write_seeks = problem->n_target, .bytes_read = bytes, .bytes_written = bytes};
}

static bool is_cheaper(const resplit_cost *a, const resplit_cost *b)
{
    int64_t seeks_a = a->read_seeks + a->write_seeks, seeks_b = b->read_seeks + b->write_seeks;
    return seeks_a != seeks_b ? seeks_a < seeks_b : a->peak_bytes < b->peak_bytes;
}

static resplit_status propose(const rs_strategy *strategy, const rs_problem *problem, const rs_request *request,
                              rs_plan *out, resplit_error *err)
{
    RS_TRY(rs_plan_init(problem, strategy->name, request, out, err));
    resplit_status rc = strategy->propose(problem, out, err);
    if (rc != RESPLIT_OK) {
        rs_plan_release(out);
    }
    return rc;
}

/*
 * Strategies use what they are given. Where half of it gives as few seeks, half of it is enough: memory that is touched for
 * nothing is slow, and belongs to others.
 */
static void economise(const rs_strategy *strategy, const rs_problem *problem, const rs_request *request, rs_plan *plan)
{
    int64_t seeks = plan->predicted.read_seeks + plan->predicted.write_seeks;
    rs_request less = *request;
    rs_plan smaller;
    for (;;) {
        less.memory = plan->predicted.peak_bytes / 2;
        if (less.memory == 0 || propose(strategy, problem, &less, &smaller, NULL) != RESPLIT_OK) {
            return;
        }
        bool as_good = smaller.predicted.read_seeks + smaller.predicted.write_seeks <= seeks;
        rs_plan_release(as_good ? plan : &smaller);
        if (!as_good) {
            return;
        }
        *plan = smaller;
    }
}

static resplit_status make_cheapest(const rs_problem *problem, const rs_request *request, rs_plan *out,
                                    resplit_error *err)
{
    resplit_error refused = {.needed_bytes = INT64_MAX};
    const rs_strategy *found = NULL;
    for (int i = 0; i < N_STRATEGIES; i++) {
        if (!strategies[i]->applies(problem)) {
            continue;
        }
        resplit_error why;
        rs_plan plan;
        resplit_status rc = propose(strategies[i], problem, request, &plan, &why);
        if (rc == RESPLIT_EBUDGET) {
            refused = why.needed_bytes < refused.needed_bytes ? why : refused;
            continue;
        }
        if (rc != RESPLIT_OK) {
            rs_plan_release(out);
            if (err != NULL) {
                *err = why;
            }
            return rc;
        }
        if (found == NULL || is_cheaper(&plan.predicted, &out->predicted)) {
            rs_plan_release(out);
            *out = plan;
            found = strategies[i];
        } else {
            rs_plan_release(&plan);
        }
    }
    if (found == NULL) {
        if (err != NULL) {
            *err = refused;
        }
        return RESPLIT_EBUDGET;
    }
    economise(found, problem, request, out);
    out->memory = request->memory;
    (void)rs_plan_predict(problem, out); /* staging may have what is left of the whole budget */
    return RESPLIT_OK;
}

static resplit_status make_named(const rs_problem *problem, const rs_request *request, rs_plan *out, resplit_error *err)
{
    for (int i = 0; i < N_STRATEGIES; i++) {
        if (strcmp(strategies[i]->name, request->strategy) != 0) {
            continue;
        }
        if (!strategies[i]->applies(problem)) {
            return rs_fail(err, RESPLIT_EUNSUPPORTED,
                           "strategy '%s' is for a split or a merge (one block on one side); this problem has %lld "
                           "source and %lld target blocks",
                           request->strategy, (long long)problem->n_source, (long long)problem->n_target);
        }
        return propose(strategies[i], problem, request, out, err);
    }
    return rs_fail(err, RESPLIT_EINVAL, "there is no strategy '%s': choose auto, keep, multiple, clustered or naive",
                   request->strategy);
}

resplit_status rs_plan_make(const rs_problem *problem, const rs_request *request, rs_plan *out, resplit_error *err)
{
    *out = (rs_plan){0};
    if (request->memory <= 0) {
        return rs_fail(err, RESPLIT_EINVAL, "a memory budget of %lld bytes is no budget", (long long)request->memory);
    }
    if (request->strategy == NULL || strcmp(request->strategy, "auto") == 0) {
        return make_cheapest(problem, request, out, err);
    }
    return make_named(problem, request, out, err);
}
