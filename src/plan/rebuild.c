/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rebuild.c - from a plan to its description, and from a description that nobody vouches for to a plan.
 *
 * Buffers, loops and kept axes are all there is to most plans; how units are stored and how large staging is follow
 * from them and the memory, and are computed again. Other kinds of plans have no description of their own: their
 * strategy is asked again, which gives the same plan, because planning is pure.
 */
#include "plan/device.h"
#include "plan/planfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Describing ---------------------------------------------------------------------------- */

static resplit_status describe_axis(const rs_axis *axis, rs_planfile_cuts *out, resplit_error *err)
{
    int64_t whole = rs_max(1, axis->extent), length = axis->n == 1 ? whole : rs_min(axis->step, whole);
    bool even = axis->n == 1 || (rs_axis_is_regular(axis) && axis->n == rs_axis_even(axis->extent, length).n);
    if (even) {
        *out = (rs_planfile_cuts){.step = length};
        return RESPLIT_OK;
    }
    int64_t *cuts = calloc((size_t)axis->n + 1, sizeof *cuts);
    if (cuts == NULL) {
        return rs_fail_errno(err, ENOMEM, "cannot allocate %lld cuts", (long long)axis->n);
    }
    for (int64_t i = 0; i < axis->n; i++) {
        cuts[i + 1] = rs_axis_span(axis, i).hi;
    }
    *out = (rs_planfile_cuts){.n = axis->n, .cuts = cuts};
    return RESPLIT_OK;
}

static bool is_same_but_peak(const resplit_cost *a, const resplit_cost *b)
{
    resplit_cost one = *a, other = *b;
    one.peak_bytes = other.peak_bytes = 0;
    bool same = true;
    for (int i = 0; i < RS_N_COST_FIELDS; i++) {
        same = same && *rs_cost_at(&one, i) == *rs_cost_at(&other, i);
    }
    return same;
}

/*
 * The prediction that is written down is the one that reading the file will arrive at. Its peak may be a little lower
 * than that of the plan at hand: lists of cuts are looked at more closely than even steps.
 */
static resplit_status describe_cost(const rs_problem *problem, const rs_plan *plan, rs_planfile *out,
                                    resplit_error *err)
{
    rs_plan again;
    RS_TRY(rs_planfile_rebuild(out, problem, &again, err));
    out->predicted = again.predicted;
    rs_plan_release(&again);
    if (!is_same_but_peak(&out->predicted, &plan->predicted)) {
        return rs_fail(err, RESPLIT_EINTERNAL, "a plan of strategy '%s' is not what its description says",
                       plan->strategy);
    }
    return RESPLIT_OK;
}

resplit_status rs_planfile_describe(const rs_problem *problem, const rs_plan *plan, rs_planfile *out,
                                    resplit_error *err)
{
    out->ndim = plan->ndim;
    out->memory = plan->memory;
    out->crew = rs_problem_coder(problem) > 0 ? plan->crew : 0;
    out->problem_hash = rs_problem_hash(problem);
    out->strategy = rs_strdup(plan->strategy);
    if (out->strategy == NULL) {
        return rs_fail_errno(err, ENOMEM, "cannot allocate a name");
    }
    out->has_buffers = plan->kind == RS_PLAN_BUFFERS;
    for (int d = 0; out->has_buffers && d < plan->ndim; d++) {
        RS_TRY(describe_axis(&plan->buffer[d], &out->buffer[d], err));
    }
    memcpy(out->loop, plan->loop, sizeof out->loop);
    out->kept = plan->kept;
    return describe_cost(problem, plan, out, err);
}

/* ---- Rebuilding ---------------------------------------------------------------------------- */

/* The name as the table of strategies has it, which outlives the description. */
static resplit_status find_strategy(const char *name, const char **out, resplit_error *err)
{
    for (int i = 0; rs_strategy_at(i) != NULL; i++) {
        *out = rs_strategy_at(i)->name;
        if (strcmp(*out, name) == 0) {
            return RESPLIT_OK;
        }
    }
    return rs_fail(err, RESPLIT_EINVAL, "there is no strategy '%.40s'", name);
}

/* A list stays one, even if its cuts are evenly spaced, so that it costs the same wherever it is read. */
static resplit_status rebuild_axis(const rs_planfile_cuts *from, int d, int64_t extent, rs_plan *out,
                                   resplit_error *err)
{
    if (from->step > 0) {
        out->buffer[d] = rs_axis_even(extent, from->step);
        return RESPLIT_OK;
    }
    if (from->cuts[from->n] != extent) {
        return rs_fail(err, RESPLIT_EINVAL, "the buffers of axis %d end at %lld, the axis has %lld elements", d,
                       (long long)from->cuts[from->n], (long long)extent);
    }
    size_t bytes = ((size_t)from->n + 1) * sizeof *from->cuts;
    out->cuts[d] = malloc(bytes);
    if (out->cuts[d] == NULL) {
        return rs_fail_errno(err, ENOMEM, "cannot allocate %lld cuts", (long long)from->n);
    }
    memcpy(out->cuts[d], from->cuts, bytes);
    out->buffer[d] = (rs_axis){.extent = extent, .n = from->n, .last = extent, .cuts = out->cuts[d]};
    return RESPLIT_OK;
}

static resplit_status rebuild(const rs_planfile *file, const rs_problem *problem, rs_plan *out, resplit_error *err)
{
    RS_TRY(find_strategy(file->strategy, &out->strategy, err));
    out->ndim = file->ndim;
    out->memory = file->memory;
    out->crew = (int)file->crew;
    out->n_staging = 1;
    out->kept = file->kept;
    memcpy(out->loop, file->loop, sizeof out->loop);
    for (int d = 0; d < file->ndim; d++) {
        RS_TRY(rebuild_axis(&file->buffer[d], d, problem->shape[d], out, err));
    }
    RS_TRY(rs_plan_validate(problem, out, err));
    if (rs_plan_predict(problem, out)) {
        return RESPLIT_OK;
    }
    if (out->predicted.peak_bytes <= out->memory) {
        return rs_fail(err, RESPLIT_EINVAL, "its buffers cut blocks that can only be accessed whole, or in order");
    }
    resplit_status rc = rs_fail(err, RESPLIT_EBUDGET, "it names %lld bytes of memory and needs %lld",
                                (long long)out->memory, (long long)out->predicted.peak_bytes);
    if (err != NULL) {
        err->needed_bytes = out->predicted.peak_bytes;
    }
    return rc;
}

resplit_status rs_planfile_rebuild(const rs_planfile *file, const rs_problem *problem, rs_plan *out, resplit_error *err)
{
    resplit_status rc;
    *out = (rs_plan){0};
    if (file->ndim != problem->ndim) {
        return rs_fail(err, RESPLIT_EINVAL, "a plan for %d axes is none for %d", file->ndim, problem->ndim);
    }
    if (file->has_buffers) {
        rc = rebuild(file, problem, out, err);
        out->seconds = rs_device_seconds(&file->device, &out->predicted, false);
        if (rc == RESPLIT_OK) {
            rs_plan_add_unpacked(problem, &file->device, 1, out);
        }
    } else {
        rs_request request = {.memory = file->memory, .device = &file->device, .processors = (int)file->crew / 2};
        RS_TRY(find_strategy(file->strategy, &request.strategy, err));
        rc = rs_plan_make(problem, &request, out, err);
    }
    if (rc != RESPLIT_OK) {
        rs_plan_release(out);
    }
    return rc;
}

resplit_status rs_planfile_compare(const rs_planfile *file, const rs_plan *plan, resplit_error *err)
{
    resplit_cost said = file->predicted, found = plan->predicted;
    for (int i = 0; i < RS_N_COST_FIELDS; i++) {
        if (*rs_cost_at(&said, i) != *rs_cost_at(&found, i)) {
            return rs_fail(err, RESPLIT_EINVAL,
                           "it promises %s of %lld and has %lld: it was changed, or made by another "
                           "version; plan anew",
                           rs_cost_fields[i].name, (long long)*rs_cost_at(&said, i), (long long)*rs_cost_at(&found, i));
        }
    }
    return RESPLIT_OK;
}
