/* SPDX-License-Identifier: BSD-3-Clause */
/* api_survey.c - what all partitions of a target come to. */
#include "api.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Many partitions differ only by where they are: each kind is planned once. */
typedef struct kind {
    uint64_t hash;
    resplit_cost predicted;
    double seconds;
} kind;

typedef struct kinds {
    int64_t n, room;
    kind *list;
} kinds;

static uint64_t hash_kind(const resplit_array *source, const resplit_array *target, const rs_api_part *part)
{
    rs_problem problem;
    if (rs_api_window(source, target, part, &problem, NULL) != RESPLIT_OK) {
        return 0;
    }
    memset(problem.start, 0, sizeof problem.start);
    memset(problem.source_index, 0, sizeof problem.source_index);
    uint64_t hash = rs_problem_hash(&problem);
    rs_problem_release(&problem);
    return hash;
}

static kind *find_kind(kinds *k, uint64_t hash)
{
    for (int64_t i = 0; i < k->n; i++) {
        if (k->list[i].hash == hash) {
            return &k->list[i];
        }
    }
    return NULL;
}

static resplit_status add_kind(kinds *k, const kind *one, resplit_error *err)
{
    if (k->n == k->room) {
        int64_t room = rs_max(16, 2 * k->room);
        kind *list = realloc(k->list, (size_t)room * sizeof *list);
        if (list == NULL) {
            return rs_fail_errno(err, ENOMEM, "cannot allocate %lld kinds of partitions", (long long)room);
        }
        k->list = list;
        k->room = room;
    }
    k->list[k->n++] = *one;
    return RESPLIT_OK;
}

static resplit_status predict(const resplit_array *source, const resplit_array *target, const rs_api_part *part,
                              const rs_request *request, kinds *k, kind *out, resplit_error *err)
{
    uint64_t hash = hash_kind(source, target, part);
    const kind *known = find_kind(k, hash);
    resplit_plan *plan = NULL;
    if (known != NULL) {
        *out = *known;
        return RESPLIT_OK;
    }
    RS_TRY(rs_api_make_plan(source, target, part, request, &plan, err));
    *out = (kind){.hash = hash, .predicted = plan->plan.predicted, .seconds = plan->plan.seconds};
    resplit_plan_free(plan);
    return add_kind(k, out, err);
}

static void add_part(resplit_parts *sum, const rs_share *share, const kind *one)
{
    resplit_cost *all = &sum->predicted;
    const resplit_cost *cost = &one->predicted;
    sum->n_empty += share->n_target == 0;
    sum->bytes_twice += share->source_bytes;
    sum->largest = rs_max(sum->largest, share->bytes);
    sum->smallest = share->n_target > 0 ? rs_min(sum->smallest, share->bytes) : sum->smallest;
    all->read_seeks += cost->read_seeks;
    all->write_seeks += cost->write_seeks;
    all->bytes_read += cost->bytes_read;
    all->bytes_written += cost->bytes_written;
    all->temp_bytes += cost->temp_bytes;
    all->held_bytes = rs_max(all->held_bytes, cost->held_bytes);
    all->peak_bytes = rs_max(all->peak_bytes, cost->peak_bytes);
    sum->seconds = one->seconds > sum->seconds ? one->seconds : sum->seconds;
}

static resplit_status survey(const resplit_array *source, const resplit_array *target, const rs_request *request,
                             const rs_division *division, kinds *k, resplit_parts *out, resplit_error *err)
{
    for (int64_t i = 0; i < division->n; i++) {
        kind one;
        rs_api_part part = {.part = i + 1, .n_parts = division->n, .share = rs_partition_find(division, i)};
        RS_TRY(predict(source, target, &part, request, k, &one, err));
        add_part(out, &part.share, &one);
    }
    return RESPLIT_OK;
}

resplit_status resplit_parts_survey(const resplit_array *source, const resplit_array *target,
                                    const resplit_plan_options *options, resplit_parts *out, resplit_error *err)
{
    rs_problem problem;
    rs_division division;
    kinds k = {.n = 0};
    *out = (resplit_parts){.n_parts = 0};
    if (source == NULL || target == NULL || options == NULL) {
        return rs_fail(err, RESPLIT_EINVAL, "partitions need a source, a target and a memory budget");
    }
    rs_request request = rs_api_request(options);
    resplit_array view;
    source = rs_array_turned(source, target, &view);
    RS_TRY(rs_api_divide(source, target, options->n_parts, &problem, &division, err));
    rs_share whole = rs_partition_whole(&division);
    *out = (resplit_parts){
        .n_parts = division.n, .bytes = whole.bytes, .bytes_twice = -whole.source_bytes, .smallest = whole.bytes};
    resplit_status rc = survey(source, target, &request, &division, &k, out, err);
    free(k.list);
    rs_problem_release(&problem);
    return rc;
}
