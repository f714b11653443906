/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * validate.c - a proof that a plan moves every element once, without looking at any: for plans from outside, of any
 * size. check.c proves more (seeks and memory too) by walking, which only small arrays allow.
 *
 * What is checked, of what steps.c unrolls:
 *
 *   (a) along each axis the buffers, cut off at the window, are not empty and follow each other from 0 to the extent
 *   (b) the loops are a permutation of the axes
 *   (c) no axis is kept that is not there
 *   (d) all counts fit an int64_t
 *
 * Why that is enough:
 *
 *   Read once.     By (a) each position along an axis lies in exactly one interval, so each element lies in exactly one
 *                  buffer, the product of its intervals. By (b) the nested loops visit each combination of intervals
 *                  once. Source blocks tile the array too, so the parts of them in a buffer are the buffer, each
 *                  element once.
 *   Written once.  A unit is a product of intervals as well: along a kept axis those of the target, along the others
 *                  what the buffers cut them into. Both tile the axis, so units tile the array. Along an axis, a unit
 *                  meets a run of buffers, and is written with the buffer that is the last of these along every axis:
 *                  there is exactly one, and by (b) it is visited exactly once.
 *   In time.       Nested loops visit, of the buffers that meet a unit, the one that is last along every axis after all
 *                  others, whatever the order of the loops. So all of a unit has been read when it is written.
 */
#include "plan/plan.h"

static resplit_status bad_axis(int d, const char *what, int64_t i, int64_t at, int64_t extent, resplit_error *err)
{
    return rs_fail(err, RESPLIT_EINVAL, "the buffers of axis %d %s: cut %lld is at %lld, the axis has %lld elements", d,
                   what, (long long)i, (long long)at, (long long)extent);
}

/* Evenly spaced cuts are looked at by their ends: the first two and the last two. */
static resplit_status check_even(int d, const rs_axis *axis, resplit_error *err)
{
    int64_t reach, before_last; /* of the cuts that are computed: 0 to n - 1 */
    if (!rs_mul(axis->n - 1, axis->step, &reach) || !rs_add(axis->first, reach, &before_last)) {
        return rs_fail(err, RESPLIT_EINVAL, "axis %d: %lld buffers of %lld elements cannot be counted", d,
                       (long long)axis->n, (long long)axis->step);
    }
    if (axis->n > 1 && axis->first + axis->step <= 0) {
        return bad_axis(d, "start with an empty one", 1, axis->first + axis->step, axis->extent, err);
    }
    if (axis->n > 1 && before_last >= axis->extent) {
        return bad_axis(d, "end with an empty one", axis->n - 1, before_last, axis->extent, err);
    }
    return RESPLIT_OK;
}

static resplit_status check_uneven(int d, const rs_axis *axis, resplit_error *err)
{
    if (axis->cuts == NULL || axis->cuts[axis->n] != axis->last) {
        return rs_fail(err, RESPLIT_EINVAL, "the buffers of axis %d have no cuts, or others than they say", d);
    }
    if (axis->cuts[0] > 0) {
        return bad_axis(d, "do not start at 0", 0, axis->cuts[0], axis->extent, err);
    }
    for (int64_t i = 1; i < axis->n; i++) { /* the ones between lie inside, each after the one before */
        if (axis->cuts[i] <= rs_max(0, axis->cuts[i - 1]) || axis->cuts[i] >= axis->extent) {
            return bad_axis(d, "do not follow each other", i, axis->cuts[i], axis->extent, err);
        }
    }
    return RESPLIT_OK;
}

static resplit_status check_axis(int d, int64_t extent, const rs_axis *axis, resplit_error *err)
{
    if (axis->extent != extent || axis->n < 1 || axis->step < 0) {
        return rs_fail(err, RESPLIT_EINVAL, "axis %d has %lld elements, its %lld buffers are for %lld", d,
                       (long long)extent, (long long)axis->n, (long long)axis->extent);
    }
    if (axis->first > 0 || axis->last < extent) {
        return rs_fail(err, RESPLIT_EINVAL,
                       "the buffers of axis %d reach from %lld to %lld, the axis has %lld elements", d,
                       (long long)axis->first, (long long)axis->last, (long long)extent);
    }
    if (extent == 0 && axis->n != 1) {
        return rs_fail(err, RESPLIT_EINVAL, "axis %d is empty and has %lld buffers instead of one", d,
                       (long long)axis->n);
    }
    return axis->step > 0 ? check_even(d, axis, err) : check_uneven(d, axis, err);
}

static resplit_status check_loops(const rs_plan *plan, resplit_error *err)
{
    uint32_t seen = 0;
    for (int i = 0; i < plan->ndim; i++) {
        int d = plan->loop[i];
        if (d < 0 || d >= plan->ndim || (seen >> d & 1) != 0) {
            return rs_fail(err, RESPLIT_EINVAL, "loop %d is over axis %d, which is not there or has a loop already", i,
                           d);
        }
        seen |= UINT32_C(1) << d;
    }
    if (plan->kept >> plan->ndim != 0) {
        return rs_fail(err, RESPLIT_EINVAL, "an axis is kept that is not there: there are %d", plan->ndim);
    }
    return RESPLIT_OK;
}

resplit_status rs_plan_validate(const rs_problem *problem, const rs_plan *plan, resplit_error *err)
{
    int64_t n_buffers = 1;
    if (plan->ndim != problem->ndim || plan->memory <= 0) {
        return rs_fail(err, RESPLIT_EINVAL, "a plan for %d axes and %lld bytes of memory does not fit %d axes",
                       plan->ndim, (long long)plan->memory, problem->ndim);
    }
    RS_TRY(check_loops(plan, err));
    for (int d = 0; d < plan->ndim; d++) {
        RS_TRY(check_axis(d, problem->shape[d], &plan->buffer[d], err));
        if (!rs_mul(n_buffers, plan->buffer[d].n, &n_buffers)) { /* more buffers than elements: the array is empty */
            return rs_fail(err, RESPLIT_EINVAL, "there are more buffers than can be counted");
        }
    }
    return RESPLIT_OK;
}
