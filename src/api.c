/* SPDX-License-Identifier: BSD-3-Clause */
/* api.c - the public functions: arguments checked, rooms called. */
#include "api.h"
#include "base/textfile.h"
#include "engine/run.h"
#include "engine/system.h"
#include "format/drivers.h"
#include "plan/device.h"
#include "plan/picture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_OF(x) #x
#define VERSION(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *resplit_version(void)
{
    return VERSION(RESPLIT_VERSION_MAJOR, RESPLIT_VERSION_MINOR, RESPLIT_VERSION_PATCH);
}

int64_t resplit_memory_available(void)
{
    return rs_system_memory();
}

const char *resplit_format_name(int i)
{
    const rs_format *format = rs_format_at(i);
    return format != NULL ? format->name : NULL;
}

const char *resplit_codec_name(int i)
{
    return rs_codec_id(i);
}

/* ---- Arrays -------------------------------------------------------------------------------- */

resplit_status resplit_array_open(const char *path, const resplit_spec *spec, resplit_array **out, resplit_error *err)
{
    *out = NULL;
    if (path == NULL) {
        return rs_fail(err, RESPLIT_EINVAL, "no path is given");
    }
    return rs_array_open(path, spec, out, err);
}

resplit_status resplit_array_describe(const resplit_spec *spec, resplit_array **out, resplit_error *err)
{
    *out = NULL;
    if (spec == NULL) {
        return rs_fail(err, RESPLIT_EINVAL, "an array cannot be described by nothing: give shape and dtype");
    }
    return rs_array_describe(spec, out, err);
}

resplit_status resplit_array_create(const char *path, const resplit_array *source, const resplit_target *target,
                                    resplit_array **out, resplit_error *err)
{
    static const resplit_target one_block;
    *out = NULL;
    if (source == NULL) {
        return rs_fail(err, RESPLIT_EINVAL, "a target needs a source");
    }
    return rs_array_create(path, source, target != NULL ? target : &one_block, out, err);
}

void resplit_array_overwrite(resplit_array *target)
{
    target->overwrite = true;
}

const resplit_info *resplit_array_info(const resplit_array *array)
{
    return &array->info;
}

void resplit_array_close(resplit_array *array)
{
    rs_array_close(array);
}

/* ---- Devices ------------------------------------------------------------------------------- */

const char *resplit_device_name(int i)
{
    const resplit_device *device = rs_device_at(i);
    return device != NULL ? device->name : NULL;
}

resplit_status resplit_device_find(const char *name, resplit_device *out, resplit_error *err)
{
    const resplit_device *device = rs_device_find(name);
    *out = device != NULL ? *device : (resplit_device){.depth = 1};
    return device != NULL ? RESPLIT_OK : rs_fail(err, RESPLIT_EINVAL, "there is no device '%s'", name);
}

/* ---- Plans --------------------------------------------------------------------------------- */

const char *resplit_strategy_name(int i)
{
    const rs_strategy *strategy = rs_strategy_at(i);
    return strategy != NULL ? strategy->name : NULL;
}

/* Lengths of the buffers along d, as the public view wants them. */
static resplit_status set_buffer(resplit_plan *plan, int d, resplit_error *err)
{
    resplit_plan_summary *summary = &plan->summary;
    const rs_axis *axis = &plan->plan.buffer[d];
    summary->n_buffers *= axis->n;
    if (rs_axis_is_regular(axis)) {
        summary->buffer[d].length = rs_min(axis->step, rs_max(1, axis->extent));
        return RESPLIT_OK;
    }
    int64_t *lengths = plan->lengths[d] = calloc((size_t)rs_max(1, axis->n), sizeof *lengths);
    if (lengths == NULL) {
        return rs_fail_errno(err, ENOMEM, "cannot allocate %lld buffer lengths", (long long)axis->n);
    }
    for (int64_t i = 0; i < axis->n; i++) {
        rs_span span = rs_axis_span(axis, i);
        lengths[i] = span.hi - span.lo;
    }
    summary->buffer[d] = (resplit_chunks){.count = axis->n, .lengths = lengths};
    return RESPLIT_OK;
}

resplit_status rs_api_summarize(resplit_plan *plan, const resplit_device *device, resplit_error *err)
{
    resplit_plan_summary *summary = &plan->summary;
    rs_request request = {.device = device, .processors = rs_system_processors()};
    *summary = (resplit_plan_summary){.strategy = plan->plan.strategy,
                                      .memory = plan->plan.memory,
                                      .ndim = plan->plan.ndim,
                                      .n_buffers = 1,
                                      .predicted = plan->plan.predicted,
                                      .seconds = plan->plan.seconds,
                                      .floor = rs_plan_floor(&plan->problem),
                                      .floor_seconds = rs_plan_floor_seconds(&plan->problem, &request),
                                      .device = *device,
                                      .part = plan->part,
                                      .n_parts = plan->n_parts,
                                      .problem_hash = rs_problem_hash(&plan->problem)};
    for (int d = 0; d < plan->plan.ndim; d++) {
        summary->shape[d] = plan->problem.shape[d];
        summary->start[d] = plan->problem.start[d];
        summary->loop_order[d] = plan->plan.loop[d];
        summary->kept[d] = (plan->plan.kept >> d & 1) != 0;
        RS_TRY(set_buffer(plan, d, err));
    }
    return RESPLIT_OK;
}

const char *rs_api_name(const resplit_array *array)
{
    return array->path != NULL ? array->path : array->memory != NULL ? "the array in memory" : "the array";
}

resplit_status rs_api_check_readable(const resplit_array *array, resplit_error *err)
{
    const resplit_error *why = rs_array_opaque(array);
    return why == NULL ? RESPLIT_OK
                       : rs_fail(err, RESPLIT_EUNSUPPORTED,
                                 "'%.300s' can only be copied with the chunks and codecs it has: %.600s",
                                 rs_api_name(array), why->message);
}

static bool may_copy(const char *strategy)
{
    return strategy == NULL || strcmp(strategy, "auto") == 0 || strcmp(strategy, "copy") == 0;
}

/* Nothing is done for an empty partition, at no cost. */
static resplit_status plan_problem(const rs_problem *problem, const rs_request *request, rs_plan *out,
                                   resplit_error *err)
{
    if (problem->n_target > 0) {
        return rs_plan_make(problem, request, out, err);
    }
    RS_TRY(rs_plan_init(problem, rs_strategy_copy.name, request, out, err));
    out->kind = RS_PLAN_COPY;
    out->n_workers = 1;
    return RESPLIT_OK;
}

/* *out is NULL, without an error, when no plan that is seen so can be better than `best`. */
static resplit_status make_seen(const resplit_array *source, const resplit_array *target, const rs_api_part *part,
                                const rs_request *request, uint32_t seen, const resplit_plan *best, resplit_plan **out,
                                resplit_error *err)
{
    resplit_plan *plan = calloc(1, sizeof *plan);
    *out = NULL;
    if (plan == NULL) {
        return rs_fail_errno(err, ENOMEM, "cannot allocate a plan");
    }
    plan->part = part->part;
    plan->n_parts = part->n_parts;
    resplit_status rc = rs_api_problem(source, target, part, may_copy(request->strategy), seen, &plan->problem, err);
    bool tried = rc == RESPLIT_OK && (best == NULL || !rs_plan_is_hopeless(&plan->problem, request, &best->plan));
    if (tried) {
        rc = plan_problem(&plan->problem, request, &plan->plan, err);
    }
    if (tried && rc == RESPLIT_OK) {
        rc = rs_api_summarize(plan, request->device != NULL ? request->device : rs_device_find("ssd"), err);
    }
    if (!tried || rc != RESPLIT_OK) {
        resplit_plan_free(plan);
        return rc;
    }
    *out = plan;
    return RESPLIT_OK;
}

/* What needs less memory is the better advice. */
static bool is_better_advice(const resplit_error *why, const resplit_error *than)
{
    return than->code == RESPLIT_OK
           || (why->code == RESPLIT_EBUDGET
               && (than->code != RESPLIT_EBUDGET || why->needed_bytes < than->needed_bytes));
}

/* Of all ways to see the blocks. What needs least is told if none fits. */
resplit_status rs_api_make_plan(const resplit_array *source, const resplit_array *target, const rs_api_part *part,
                                const rs_request *request, resplit_plan **out, resplit_error *err)
{
    resplit_error least = {.code = RESPLIT_OK};
    uint32_t ways = rs_api_ways(source, target), seen = RS_NO_WAY;
    *out = NULL;
    while (rs_api_next_way(ways, &seen)) {
        resplit_plan *plan = NULL;
        resplit_error why = {.code = RESPLIT_OK};
        resplit_status rc = make_seen(source, target, part, request, seen, *out, &plan, &why);
        if (rc == RESPLIT_OK && plan != NULL
            && (*out == NULL || rs_plan_is_cheaper(request, &plan->plan, &(*out)->plan))) {
            resplit_plan_free(*out);
            *out = plan;
        } else {
            resplit_plan_free(plan);
        }
        if (rc != RESPLIT_OK && is_better_advice(&why, &least)) {
            least = why;
        }
    }
    return *out != NULL ? RESPLIT_OK : rs_fail_with(err, &least);
}

rs_request rs_api_request(const resplit_plan_options *options)
{
    return (rs_request){.strategy = options->strategy,
                        .memory = options->memory,
                        .minimize = options->minimize,
                        .device = options->device,
                        .processors = rs_system_processors()};
}

resplit_status resplit_plan_make(const resplit_array *source, const resplit_array *target,
                                 const resplit_plan_options *options, resplit_plan **out, resplit_error *err)
{
    *out = NULL;
    if (source == NULL || target == NULL || options == NULL) {
        return rs_fail(err, RESPLIT_EINVAL, "a plan needs a source, a target and a memory budget");
    }
    rs_request request = rs_api_request(options);
    resplit_array view;
    resplit_plan *plan = NULL;
    rs_api_part part;
    const resplit_array *turned = rs_array_turned(source, target, &view);
    RS_TRY(rs_api_find_part(turned, target, options->part, options->n_parts, &part, err));
    resplit_status rc = part.part == 0 && part.n_parts > 0
                            ? rs_api_plan_parts(turned, target, &request, part.n_parts, &plan, err)
                            : rs_api_make_plan(turned, target, &part, &request, &plan, err);
    if (rc != RESPLIT_OK || plan == NULL) {
        return rc;
    }
    plan->temp = options->temp != NULL ? rs_strdup(options->temp) : NULL;
    if (options->temp != NULL && plan->temp == NULL) {
        resplit_plan_free(plan);
        return rs_fail_errno(err, ENOMEM, "cannot allocate a plan");
    }
    *out = plan;
    return RESPLIT_OK;
}

const resplit_plan_summary *resplit_plan_info(const resplit_plan *plan)
{
    return &plan->summary;
}

void resplit_plan_free(resplit_plan *plan)
{
    if (plan == NULL) {
        return;
    }
    for (int d = 0; d < RS_MAX_NDIM; d++) {
        free(plan->lengths[d]);
    }
    rs_plan_release(&plan->plan);
    rs_problem_release(&plan->problem);
    free(plan->temp);
    free(plan);
}

/* Nothing, an empty file or an earlier picture: what a picture may take the place of. */
static resplit_status check_picture_place(const char *path, resplit_error *err)
{
    static const size_t most = 64 << 20;
    rs_text old = {0};
    if (access(path, F_OK) != 0) {
        return RESPLIT_OK;
    }
    resplit_status rc = rs_textfile_read(path, most, &old, NULL);
    bool ours = rc == RESPLIT_OK && (old.n == 0 || strstr(old.s, RS_PICTURE_MARK) != NULL);
    rs_text_release(&old);
    return ours
               ? RESPLIT_OK
               : rs_fail(err, RESPLIT_EEXISTS, "'%s' is there already and is not a picture: choose another name", path);
}

resplit_status resplit_plan_picture(const resplit_plan *plan, const char *path, resplit_error *err)
{
    rs_text page = {0};
    if (plan == NULL || path == NULL || *path == '\0') {
        return rs_fail(err, RESPLIT_EINVAL, "a picture needs a plan and a path");
    }
    if (plan->problem.n_target == 0 || (plan->n_parts > 0 && plan->part == 0)) {
        return rs_fail(err, RESPLIT_EINVAL, "there is nothing to draw: %s",
                       plan->part == 0 ? "a plan of all partitions has no buffers" : "the partition is empty");
    }
    RS_TRY(check_picture_place(path, err));
    resplit_status rc = rs_plan_picture(&plan->problem, &plan->plan, &page, err);
    if (rc == RESPLIT_OK) {
        rc = rs_textfile_write(path, &page, err);
    }
    rs_text_release(&page);
    return rc;
}

/* ---- Running ------------------------------------------------------------------------------- */

resplit_status rs_api_check_belongs(const resplit_plan *plan, const resplit_array *source, const resplit_array *target,
                                    resplit_error *err)
{
    rs_problem problem;
    rs_api_part part;
    RS_TRY(rs_api_find_part(source, target, plan->part, plan->n_parts, &part, err));
    RS_TRY(rs_api_see(source, target, &part, plan->problem.seen, &problem, err));
    bool same = rs_problem_hash(&problem) == plan->summary.problem_hash;
    rs_problem_release(&problem);
    return same ? RESPLIT_OK : rs_fail(err, RESPLIT_EINVAL, "this plan was made for other arrays");
}

resplit_status resplit_run(const resplit_plan *plan, const resplit_array *source, const resplit_array *target,
                           const resplit_run_options *options, resplit_result *result, resplit_error *err)
{
    resplit_result ignored;
    rs_text text = {0};
    result = result != NULL ? result : &ignored;
    *result = (resplit_result){.seconds = 0};
    if (plan == NULL || source == NULL || target == NULL) {
        return rs_fail(err, RESPLIT_EINVAL, "a run needs a plan, a source and a target");
    }
    if (plan->part == 0 && plan->n_parts > 0) {
        return rs_fail(err, RESPLIT_EINVAL, "this plan is of %lld partitions: run them one by one, as --part 1/%lld",
                       (long long)plan->n_parts, (long long)plan->n_parts);
    }
    if (target->whole) {
        return rs_fail(err, RESPLIT_EINVAL, "a target of whole blocks can be handed over, but not written");
    }
    resplit_array view;
    const resplit_array *turned = rs_array_turned(source, target, &view);
    RS_TRY(rs_api_check_belongs(plan, turned, target, err));
    resplit_status rc = rs_api_plan_text(plan, source, target, &text, err);
    if (rc == RESPLIT_OK) {
        rc = plan->n_parts > 0 ? rs_api_run_part(plan, turned, target, &text, options, result, err)
                               : rs_run_copy(&plan->problem, &plan->plan, turned, target, NULL, plan->temp, &text,
                                             options, result, err);
    }
    rs_text_release(&text);
    return rc;
}
