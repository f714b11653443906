/* SPDX-License-Identifier: BSD-3-Clause */
/* planner.c - the table of strategies, and the cheapest plan among what they propose. */
#include "plan/device.h"
#include "plan/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const rs_strategy *const strategies[] = {
    &rs_strategy_copy, &rs_strategy_best,     &rs_strategy_spill,     &rs_strategy_spill_lz4,
    &rs_strategy_keep, &rs_strategy_multiple, &rs_strategy_clustered, &rs_strategy_naive,
};

enum { N_STRATEGIES = sizeof strategies / sizeof strategies[0] };

const rs_strategy *rs_strategy_at(int i)
{
    return i >= 0 && i < N_STRATEGIES ? strategies[i] : NULL;
}

static const resplit_device *device_of(const rs_request *request)
{
    return request->device != NULL ? request->device : rs_device_find("ssd");
}

/* Of one byte of elements, by so many workers, as far as there are processors for them. */
static double coding_seconds(const rs_layout *layout, int64_t n_blocks, const rs_request *request, int n_workers)
{
    int64_t at_once = rs_min(request->processors, rs_min(n_workers, n_blocks)); /* a block is coded by one */
    return layout->coding.seconds / (double)rs_max(1, at_once);
}

static double stored_ratio(const rs_layout *layout)
{
    return layout->coding.ratio > 0 ? layout->coding.ratio : 1;
}

/* "auto" looks for seconds, a search by its own name for seeks, unless told otherwise. Bytes that are read more than
   once are the source's, so it is those that have a price. */
static rs_price price_of(const rs_problem *problem, const rs_request *request)
{
    const resplit_device *device = device_of(request);
    bool by_name = request->strategy != NULL && strcmp(request->strategy, "auto") != 0;
    const char *minimize = request->minimize != NULL ? request->minimize : by_name ? "seeks" : "seconds";
    if (strcmp(minimize, "seconds") == 0) {
        return (rs_price){device->latency / device->depth,
                          stored_ratio(&problem->source) / device->read_bandwidth
                              + coding_seconds(&problem->source, problem->n_source, request, RS_MOST_WORKERS)};
    }
    return strcmp(minimize, "bytes") == 0 ? (rs_price){1e-3, 1} : (rs_price){1, 0};
}

resplit_status rs_plan_init(const rs_problem *problem, const char *strategy, const rs_request *request, rs_plan *out,
                            resplit_error *err)
{
    *out = (rs_plan){.strategy = strategy,
                     .ndim = problem->ndim,
                     .memory = request->memory,
                     .crew = rs_plan_crew(request->processors),
                     .price = price_of(problem, request),
                     .thrifty = request->minimize != NULL && strcmp(request->minimize, "memory") == 0,
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
    bool read = !problem->source.in_memory;
    return (resplit_cost){.read_seeks = read ? problem->n_source : 0,
                          .write_seeks = problem->n_target,
                          .bytes_read = read ? bytes : 0,
                          .bytes_written = bytes};
}

uint64_t rs_plan_hash(const rs_plan *plan)
{
    const rs_spill *spill = &plan->spill;
    uint64_t hash = rs_mix(rs_mix(rs_mix(0, plan->kind), plan->ndim), plan->kept);
    for (int d = 0; d < plan->ndim; d++) {
        const rs_axis *axis = &plan->buffer[d];
        hash = rs_mix(rs_mix(hash, plan->loop[d]), axis->n);
        for (int64_t i = 0; i < axis->n; i++) { /* even cuts may be written as uneven ones */
            hash = rs_mix(hash, rs_axis_span(axis, i).hi);
        }
    }
    hash = rs_mix(rs_mix(rs_mix(hash, spill->resident), spill->group), spill->n_groups);
    return spill->packed ? rs_mix(hash, 1) : hash;
}

/* ---- What is minimized ----------------------------------------------------------------------- */

static double seeks_of(const rs_plan *plan)
{
    return (double)(plan->predicted.read_seeks + plan->predicted.write_seeks);
}

static double bytes_of(const rs_plan *plan)
{
    return (double)plan->predicted.bytes_read + (double)plan->predicted.bytes_written;
}

static double memory_of(const rs_plan *plan)
{
    return (double)plan->predicted.peak_bytes;
}

/* Peaks differ by staging, which takes what is left: ties are decided by what a plan cannot do without. */
static double held_of(const rs_plan *plan)
{
    return (double)plan->predicted.held_bytes;
}

static double seconds_of(const rs_plan *plan)
{
    return plan->seconds;
}

typedef double measure(const rs_plan *plan);

/* What is looked at first, second and last. */
static const struct {
    const char *name;
    measure *by[3];
} measures[] = {
    {"seconds", {seconds_of, seeks_of, held_of}},
    {"seeks", {seeks_of, bytes_of, held_of}},
    {"bytes", {bytes_of, seeks_of, held_of}},
    {"memory", {memory_of, seeks_of, seconds_of}},
};

enum { N_MEASURES = sizeof measures / sizeof measures[0] };

static measure *const *find_measure(const char *name)
{
    for (int i = 0; i < N_MEASURES; i++) {
        if (name == NULL || strcmp(measures[i].name, name) == 0) {
            return measures[i].by;
        }
    }
    return NULL;
}

static bool is_cheaper(measure *const *by, const rs_plan *a, const rs_plan *b)
{
    for (int i = 0; i < 3; i++) {
        if (by[i](a) != by[i](b)) {
            return by[i](a) < by[i](b);
        }
    }
    return false;
}

/*
 * Seconds, and what the machine adds to the device's: to touch memory for the first time, to copy units once more when
 * they are in pieces and wanted whole, to copy while the disk waits, which it does the less the more workers there is
 * room for, and to go to a file.
 */
static double haste_of(const rs_problem *problem, const rs_plan *plan)
{
    static const double fresh_bandwidth = 2e9, copy_bandwidth = 4e9; /* bytes per second */
    static const double visit = 40e-6;                               /* seconds to open a file, or to go back to one */
    double written = (double)plan->predicted.bytes_written;
    double copied = written / plan->n_workers;
    if (plan->kind == RS_PLAN_BUFFERS && !plan->whole_units && problem->target.atomic) {
        copied += written;
    }
    double visits = (double)(plan->predicted.read_seeks + plan->predicted.write_seeks);
    return plan->seconds + (double)plan->predicted.held_bytes / fresh_bandwidth + copied / copy_bandwidth
           + visits * visit;
}

/* The device's, for what is stored, and the processors', for codecs. */
static double seconds_in_all(const rs_problem *problem, const rs_request *request, const rs_plan *plan)
{
    const resplit_cost *cost = &plan->predicted;
    const rs_coding *source = &problem->source.coding;
    resplit_cost stored = *cost;
    double temp = (double)cost->temp_bytes, packing = 0;
    if (plan->spill
            .packed) { /* a guess, so with care: it packs half as well as the source is, and helps one processor at a time */
        packing = temp * source->packing;
        temp *= (1 + stored_ratio(&problem->source)) / 2;
    }
    double read = (double)(cost->bytes_read - cost->temp_bytes),
           written = (double)(cost->bytes_written - cost->temp_bytes);
    stored.bytes_read = (int64_t)(temp + read * stored_ratio(&problem->source));
    stored.bytes_written = (int64_t)(temp + written * stored_ratio(&problem->target));
    return rs_device_seconds(device_of(request), &stored, false) + packing
           + read * coding_seconds(&problem->source, problem->n_source, request, plan->n_workers)
           + written * coding_seconds(&problem->target, problem->n_target, request, plan->n_workers);
}

double rs_plan_floor_seconds(const rs_problem *problem, const rs_request *request)
{
    rs_plan floor = {.predicted = rs_plan_floor(problem), .n_workers = RS_MOST_WORKERS};
    return seconds_in_all(problem, request, &floor);
}

bool rs_plan_is_hopeless(const rs_problem *problem, const rs_request *request, const rs_plan *best)
{
    rs_plan least = {.predicted = rs_plan_floor(problem), .n_workers = RS_MOST_WORKERS};
    if (!problem->source.atomic && !problem->source.sequential && !problem->source.in_memory) {
        least.predicted.read_seeks = rs_layout_runs(&problem->source);
    }
    if (!problem->target.atomic) {
        least.predicted.write_seeks = rs_layout_runs(&problem->target);
    }
    measure *const *by = find_measure(request->minimize);
    return by != NULL && by[0] == seconds_of && seconds_in_all(problem, request, &least) >= best->seconds;
}

bool rs_plan_is_cheaper(const rs_request *request, const rs_plan *a, const rs_plan *b)
{
    measure *const *by = find_measure(request->minimize);
    return by != NULL && is_cheaper(by, a, b);
}

/* ---- Making ---------------------------------------------------------------------------------- */

static resplit_status propose(const rs_strategy *strategy, const rs_problem *problem, const rs_request *request,
                              rs_plan *out, resplit_error *err)
{
    RS_TRY(rs_plan_init(problem, strategy->name, request, out, err));
    resplit_status rc = strategy->propose(problem, out, err);
    if (rc != RESPLIT_OK) {
        rs_plan_release(out);
        return rc;
    }
    out->seconds = seconds_in_all(problem, request, out);
    return RESPLIT_OK;
}

/* The same with less memory, if that is faster in all. What is left of the budget then goes to workers, and
   to reading ahead. */
static bool try_with(int64_t memory, const rs_strategy *strategy, const rs_problem *problem, const rs_request *request,
                     rs_plan *best)
{
    rs_request less = *request;
    rs_plan plan;
    less.memory = memory;
    if (memory <= 0 || propose(strategy, problem, &less, &plan, NULL) != RESPLIT_OK) {
        return false;
    }
    plan.memory = request->memory;
    bool fits = plan.kind != RS_PLAN_BUFFERS || rs_plan_predict(problem, &plan);
    plan.seconds = seconds_in_all(problem, request, &plan); /* with more workers */
    bool better = fits && haste_of(problem, &plan) < haste_of(problem, best);
    rs_plan_release(better ? best : &plan);
    if (better) {
        *best = plan;
    }
    return better;
}

/*
 * Memory that is touched for the first time is slow, so seeks that it saves must be worth it. A crew that decodes or
 * encodes needs much of it: first without that, then with half as much again and again.
 */
static void try_with_less(const rs_strategy *strategy, const rs_problem *problem, const rs_request *request,
                          rs_plan *best)
{
    int64_t least = rs_max(RS_LEAST_TRIED, rs_min(RS_LITTLE_MEMORY, request->memory / 2));
    if (rs_problem_coder(problem) > 0 && best->n_workers < RS_GOOD_WORKERS) {
        (void)try_with(request->memory - rs_plan_workers(problem, best, RS_GOOD_WORKERS), strategy, problem, request,
                       best);
    }
    for (int64_t memory = request->memory / 2; memory >= least; memory /= 2) {
        if (!try_with(memory, strategy, problem, request, best)) {
            return;
        }
    }
}

static resplit_status make_cheapest(const rs_problem *problem, const rs_request *request, rs_plan *out,
                                    resplit_error *err)
{
    resplit_error refused = {.needed_bytes = INT64_MAX};
    measure *const *by = find_measure(request->minimize);
    bool found = false;
    for (int i = 0; i < N_STRATEGIES; i++) {
        resplit_error why;
        rs_plan plan;
        /* best is the cheapest single pass, but not the one with the least memory */
        bool asked = strategies[i]->by_auto || by[0] == memory_of;
        if (!asked || !rs_strategy_applies(strategies[i], problem)
            || (problem->verbatim && strategies[i] != &rs_strategy_copy)) {
            continue;
        }
        resplit_status rc = propose(strategies[i], problem, request, &plan, &why);
        if (rc == RESPLIT_EUNSUPPORTED) {
            continue;
        }
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
        if (by[0] == seconds_of && strategies[i] == &rs_strategy_best) {
            try_with_less(strategies[i], problem, request, &plan);
        }
        if (!found || is_cheaper(by, &plan, out)) {
            rs_plan_release(out);
            *out = plan;
            found = true;
        } else {
            rs_plan_release(&plan);
        }
    }
    if (!found && err != NULL) {
        *err = refused;
    }
    return found ? RESPLIT_OK : RESPLIT_EBUDGET;
}

/* "auto, copy, best, ... or naive" */
static const char *list_names(char *text, size_t room)
{
    int n = snprintf(text, room, "auto");
    for (int i = 0; i < N_STRATEGIES && n >= 0 && (size_t)n < room; i++) {
        n += snprintf(text + n, room - (size_t)n, "%s%s", i + 1 < N_STRATEGIES ? ", " : " or ", strategies[i]->name);
    }
    return text;
}

static resplit_status make_named(const rs_problem *problem, const rs_request *request, rs_plan *out, resplit_error *err)
{
    char names[200];
    for (int i = 0; i < N_STRATEGIES; i++) {
        if (strcmp(strategies[i]->name, request->strategy) != 0) {
            continue;
        }
        if (!rs_strategy_applies(strategies[i], problem)) {
            return rs_fail(
                err, RESPLIT_EUNSUPPORTED, "strategy '%s' is for %s, not for these %lld source and %lld target blocks",
                request->strategy, strategies[i]->is_for, (long long)problem->n_source, (long long)problem->n_target);
        }
        return propose(strategies[i], problem, request, out, err);
    }
    return rs_fail(err, RESPLIT_EINVAL, "there is no strategy '%s': choose %s", request->strategy,
                   list_names(names, sizeof names));
}

resplit_status rs_plan_make(const rs_problem *problem, const rs_request *request, rs_plan *out, resplit_error *err)
{
    *out = (rs_plan){0};
    if (request->memory <= 0) {
        return rs_fail(err, RESPLIT_EINVAL, "a memory budget of %lld bytes is no budget", (long long)request->memory);
    }
    if (find_measure(request->minimize) == NULL) {
        return rs_fail(err, RESPLIT_EINVAL, "cannot minimize '%s': choose seconds, seeks, bytes or memory",
                       request->minimize);
    }
    if ((problem->seen & (RS_UNPACKED_SOURCE | RS_UNPACKED_TARGET)) != 0 && request->memory < RS_UNPACKED_BYTES) {
        resplit_status rc = rs_fail(
            err, RESPLIT_EBUDGET, "blocks are compressed, which needs at least %d bytes of memory", RS_UNPACKED_BYTES);
        if (err != NULL) {
            err->needed_bytes = RS_UNPACKED_BYTES;
        }
        return rc;
    }
    bool cheapest = request->strategy == NULL || strcmp(request->strategy, "auto") == 0;
    RS_TRY(cheapest ? make_cheapest(problem, request, out, err) : make_named(problem, request, out, err));
    rs_plan_add_unpacked(problem, device_of(request), request->processors, out);
    return RESPLIT_OK;
}
