/* SPDX-License-Identifier: BSD-3-Clause */
/* api_parts.c - the public functions for partitions: what they are, what they cost, run and finished. */
#include "api.h"
#include "engine/part.h"
#include "engine/parts.h"
#include "engine/run.h"
#include "plan/device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Which ----------------------------------------------------------------------------------- */

/* One file with nothing but elements behind its header: several can write in it, each in a stretch of its own. */
static bool is_open_to_all(const resplit_array *target)
{
    return target->info.n_blocks == 1 && !target->encoded && target->fill == NULL && target->hdf5 == NULL;
}

/* Where a target may be cut: between files; or, when there is only one that can be shared, along the slowest axis
   that is one. */
static void set_grain(const resplit_array *target, const rs_problem *problem, rs_axis *grain)
{
    for (int d = 0; d < problem->ndim; d++) {
        const rs_axis *axis = &problem->target.axis[d];
        grain[d] = rs_array_is_sharded(target) ? rs_axis_even(axis->extent, axis->step * target->shard[d]) : *axis;
    }
    for (int i = 0; is_open_to_all(target) && i < problem->ndim; i++) {
        int d = problem->target.order[i];
        if (problem->shape[d] > 1) {
            grain[d] = rs_axis_even(problem->shape[d], 1);
            break;
        }
    }
}

static resplit_status check_divisible(const resplit_array *target, int64_t n, resplit_error *err)
{
    if (n < 1 || n > RS_MOST_PARTITIONS) {
        return rs_fail(err, RESPLIT_EINVAL, "an array cannot be made in %lld partitions: give 1 to %d", (long long)n,
                       RS_MOST_PARTITIONS);
    }
    if (n > 1 && rs_array_is_virtual(target)) {
        return rs_fail(err, RESPLIT_EINVAL, "a virtual dataset is made at once, not in partitions");
    }
    return n == 1 || target->hdf5 == NULL || !target->encoded || rs_array_file_count(target) > 1
               ? RESPLIT_OK
               : rs_fail(err, RESPLIT_EUNSUPPORTED,
                         "'%.300s' is one file with compressed chunks, which one process writes: make it in one "
                         "partition, with --codec none, or as Zarr",
                         target->path != NULL ? target->path : "the target");
}

resplit_status rs_api_divide(const resplit_array *source, const resplit_array *target, int64_t n, rs_problem *problem,
                             rs_division *out, resplit_error *err)
{
    static const rs_api_part whole;
    RS_TRY(check_divisible(target, n, err));
    RS_TRY(rs_api_window(source, target, &whole, problem, err));
    *out = (rs_division){.problem = problem, .n = n};
    set_grain(target, problem, out->grain);
    return RESPLIT_OK;
}

resplit_status rs_api_find_part(const resplit_array *source, const resplit_array *target, int64_t part, int64_t n_parts,
                                rs_api_part *out, resplit_error *err)
{
    rs_problem problem;
    rs_division division;
    *out = (rs_api_part){.part = part, .n_parts = n_parts};
    if (n_parts == 0 && part == 0) {
        return RESPLIT_OK;
    }
    RS_TRY(check_divisible(target, n_parts, err));
    if (part < 0 || part > n_parts) {
        return rs_fail(err, RESPLIT_EINVAL, "there is no partition %lld of %lld: they are counted from 1",
                       (long long)part, (long long)n_parts);
    }
    if (part == 0) {
        return RESPLIT_OK;
    }
    RS_TRY(rs_api_divide(source, target, n_parts, &problem, &division, err));
    out->share = rs_partition_find(&division, part - 1);
    rs_problem_release(&problem);
    return RESPLIT_OK;
}

/* One, and not all of them or the whole. */
static resplit_status find_one(const resplit_array *source, const resplit_array *target, int64_t part, int64_t n_parts,
                               resplit_array *view, rs_api_part *out, resplit_error *err)
{
    if (source == NULL || target == NULL || part == 0) {
        return rs_fail(err, RESPLIT_EINVAL, "a partition needs a source, a target and a number, from 1");
    }
    return rs_api_find_part(rs_array_turned(source, target, view), target, part, n_parts, out, err);
}

resplit_status resplit_partition_info(const resplit_array *source, const resplit_array *target, int64_t part,
                                      int64_t n_parts, resplit_partition *out, resplit_error *err)
{
    rs_api_part found;
    resplit_array view;
    *out = (resplit_partition){.part = 0};
    RS_TRY(find_one(source, target, part, n_parts, &view, &found, err));
    const rs_share *share = &found.share;
    *out = (resplit_partition){.part = part,
                               .n_parts = n_parts,
                               .n_blocks = share->n_target,
                               .n_source_blocks = share->n_source,
                               .bytes = share->bytes,
                               .bytes_read = share->source_bytes};
    memcpy(out->start, share->box.lo, sizeof out->start);
    memcpy(out->stop, share->box.hi, sizeof out->stop);
    return target->path != NULL ? rs_parts_is_done(target->path, part - 1, n_parts, &out->done, err) : RESPLIT_OK;
}

/* ---- Plans ----------------------------------------------------------------------------------- */

static const char *strategy_named(const char *name)
{
    for (int i = 0; name != NULL && rs_strategy_at(i) != NULL; i++) {
        if (strcmp(rs_strategy_at(i)->name, name) == 0) {
            return rs_strategy_at(i)->name;
        }
    }
    return name == NULL || strcmp(name, "auto") == 0 ? "auto" : NULL;
}

static const char *measure_named(const char *name)
{
    static const char *const names[] = {"seconds", "seeks", "bytes", "memory"};
    for (size_t i = 0; name != NULL && i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], name) == 0) {
            return names[i];
        }
    }
    return NULL;
}

resplit_status rs_api_plan_parts(const resplit_array *source, const resplit_array *target, const rs_request *request,
                                 int64_t n_parts, resplit_plan **out, resplit_error *err)
{
    static const rs_api_part whole;
    const char *strategy = strategy_named(request->strategy), *minimize = measure_named(request->minimize);
    const resplit_device *device = request->device != NULL ? request->device : rs_device_find("ssd");
    RS_TRY(check_divisible(target, n_parts, err));
    if (strategy == NULL || (minimize == NULL && request->minimize != NULL) || request->memory <= 0) {
        return rs_fail(err, RESPLIT_EINVAL, "cannot plan partitions by strategy '%.40s', for '%.40s', in %lld bytes",
                       request->strategy != NULL ? request->strategy : "auto",
                       request->minimize != NULL ? request->minimize : "seconds", (long long)request->memory);
    }
    resplit_plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) {
        return rs_fail_errno(err, ENOMEM, "cannot allocate a plan");
    }
    plan->n_parts = n_parts;
    plan->minimize = minimize;
    resplit_status rc = rs_api_window(source, target, &whole, &plan->problem, err);
    if (rc == RESPLIT_OK) {
        rc = rs_plan_init(&plan->problem, strategy, request, &plan->plan, err);
    }
    if (rc == RESPLIT_OK) {
        rc = rs_api_summarize(plan, device, err);
    }
    if (rc != RESPLIT_OK) {
        resplit_plan_free(plan);
        return rc;
    }
    *out = plan;
    return RESPLIT_OK;
}

resplit_status resplit_plan_part(const resplit_plan *plan, const resplit_array *source, const resplit_array *target,
                                 int64_t part, resplit_plan **out, resplit_error *err)
{
    *out = NULL;
    if (plan == NULL || plan->n_parts == 0 || plan->part != 0) {
        return rs_fail(err, RESPLIT_EINVAL, "this is no plan of partitions: make one with --parts");
    }
    resplit_array view;
    RS_TRY(rs_api_check_belongs(plan, rs_array_turned(source, target, &view), target, err));
    return resplit_plan_make(source, target,
                             &(resplit_plan_options){.strategy = plan->plan.strategy,
                                                     .memory = plan->plan.memory,
                                                     .minimize = plan->minimize,
                                                     .device = &plan->summary.device,
                                                     .temp = plan->temp,
                                                     .part = part,
                                                     .n_parts = plan->n_parts},
                             out, err);
}

/* ---- Running --------------------------------------------------------------------------------- */

resplit_status rs_api_kept_path(const char *target, int64_t part, int64_t n_parts, char path[RS_PATH_MAX],
                                resplit_error *err)
{
    char folder[RS_PATH_MAX], name[64];
    RS_TRY(rs_output_part(target, folder, err));
    (void)snprintf(name, sizeof name, "%lld-of-%lld/" RS_PLAN_NAME, (long long)part, (long long)n_parts);
    return rs_path_join(folder, part > 0 ? name : RS_PLAN_NAME, path, err);
}

/* What all partitions are of: the arrays, without how one or the other sees them. */
static resplit_status identify(const rs_problem *problem, const resplit_array *source, const resplit_array *target,
                               rs_job_id *out, resplit_error *err)
{
    *out = (rs_job_id){.source = source->stamp};
    return rs_run_hash(problem, target, &out->problem, err);
}

/* The plan of all partitions, as whoever finishes them finds it. */
static resplit_status write_whole(const resplit_plan *plan, const resplit_array *source, const resplit_array *target,
                                  rs_text *out, resplit_error *err)
{
    resplit_plan *all = NULL;
    rs_request request = {.memory = plan->plan.memory, .device = &plan->summary.device};
    RS_TRY(rs_api_plan_parts(source, target, &request, plan->n_parts, &all, err));
    /* as the source is found, not as the target sees it */
    resplit_status rc = rs_api_plan_text(all, source->of != NULL ? source->of : source, target, out, err);
    resplit_plan_free(all);
    return rc;
}

resplit_status rs_api_run_part(const resplit_plan *plan, const resplit_array *source, const resplit_array *target,
                               const rs_text *text, const resplit_run_options *options, resplit_result *result,
                               resplit_error *err)
{
    static const rs_api_part everything;
    rs_problem whole;
    rs_text all = {0};
    rs_api_part part;
    rs_member member = {.number = plan->part - 1, .n = plan->n_parts, .plan = &all};
    RS_TRY(rs_api_find_part(source, target, plan->part, plan->n_parts, &part, err));
    RS_TRY(rs_api_window(source, target, &everything, &whole, err));
    member.box = part.share.box;
    resplit_status rc = identify(&whole, source, target, &member.whole, err);
    if (rc == RESPLIT_OK) {
        rc = write_whole(plan, source, target, &all, err);
    }
    if (rc == RESPLIT_OK) {
        rc = rs_run_copy(&plan->problem, &plan->plan, source, target, &member, plan->temp, text, options, result, err);
    }
    rs_text_release(&all);
    rs_problem_release(&whole);
    return rc;
}

/* ---- Finishing ------------------------------------------------------------------------------- */

resplit_status resplit_parts_found(const char *path, int64_t *n_parts, resplit_error *err)
{
    *n_parts = 0;
    return path != NULL ? rs_parts_count(path, n_parts, err) : rs_fail(err, RESPLIT_EINVAL, "no path is given");
}

resplit_status resplit_parts_load(const char *path, resplit_array **source, resplit_array **target, resplit_plan **out,
                                  resplit_error *err)
{
    char kept[RS_PATH_MAX];
    int64_t n;
    *source = *target = NULL;
    *out = NULL;
    RS_TRY(resplit_parts_found(path, &n, err));
    if (n == 0) {
        return rs_fail(err, RESPLIT_EINVAL, "there are no partitions for '%s' beside it", path);
    }
    RS_TRY(rs_api_kept_path(path, 0, n, kept, err));
    return resplit_plan_load(kept, source, target, out, err);
}

resplit_status resplit_finish(const resplit_array *source, const resplit_array *target, int64_t n_parts,
                              const resplit_run_options *options, resplit_result *result, resplit_error *err)
{
    resplit_result ignored;
    rs_problem whole;
    rs_division division;
    rs_job_id id;
    rs_done total = {.n = 0};
    rs_sync sync;
    result = result != NULL ? result : &ignored;
    *result = (resplit_result){.seconds = 0};
    if (source == NULL || target == NULL || source->path == NULL || target->path == NULL) {
        return rs_fail(err, RESPLIT_EINVAL, "finishing needs a source and a target with files");
    }
    resplit_array view;
    source = rs_array_turned(source, target, &view);
    RS_TRY(rs_run_sync(options, &sync, err));
    if (n_parts == 0) {
        RS_TRY(rs_parts_count(target->path, &n_parts, err));
    }
    if (n_parts == 0) {
        return rs_fail(err, RESPLIT_EINVAL, "there are no partitions for '%s' to finish", target->path);
    }
    RS_TRY(rs_api_divide(source, target, n_parts, &whole, &division, err));
    resplit_status rc = identify(&whole, source, target, &id, err);
    if (rc == RESPLIT_OK) {
        rc = rs_parts_finish(target, source, &division, &id, sync, &total, err);
    }
    rs_problem_release(&whole);
    result->cost = total.cost;
    result->stored_read = total.stored_read;
    result->stored_written = total.stored_written;
    result->losses = total.losses;
    result->fingerprint = total.fingerprint;
    return rc;
}
