/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * api_compare.c - the public functions that only read: verify and fingerprint. Blocks that are compressed as a whole
 * and larger than memory are read forwards, a slice at a time, where that can be done.
 */
#include "api.h"
#include "engine/run.h"

#include <stdlib.h>

static resplit_status check_comparable(const resplit_array *a, const resplit_array *b, resplit_error *err)
{
    if (!rs_dtype_same_values(&a->dtype, &b->dtype)
        || (a->dtype.byteorder != b->dtype.byteorder && a->dtype.swap_size == 0)) {
        return rs_fail(err, RESPLIT_EINVAL, "'%s' has elements of type %.100s, '%s' of type %.100s", rs_api_name(a),
                       a->dtype.descr, rs_api_name(b), b->dtype.descr);
    }
    if (a->layout.ndim != b->layout.ndim) {
        return rs_fail(err, RESPLIT_EINVAL, "'%s' has %d axes, '%s' has %d", rs_api_name(a), a->layout.ndim,
                       rs_api_name(b), b->layout.ndim);
    }
    for (int d = 0; d < a->layout.ndim; d++) {
        if (a->info.shape[d] != b->info.shape[d]) {
            return rs_fail(err, RESPLIT_EINVAL, "'%s' has %lld elements along axis %d, '%s' has %lld", rs_api_name(a),
                           (long long)a->info.shape[d], d, rs_api_name(b), (long long)b->info.shape[d]);
        }
    }
    return RESPLIT_OK;
}

/* ---- Comparing ------------------------------------------------------------------------------ */

/* A way to see two arrays: what of them is streamed, and by which strategy. */
typedef struct manner {
    uint32_t streamed;
    const char *strategy;
    bool swapped;
} manner;

static resplit_status compare_so(const manner *how, const resplit_array *a, const resplit_array *b, int64_t memory,
                                 const resplit_run_options *options, resplit_difference *out, resplit_error *err)
{
    static const int64_t origin[RS_MAX_NDIM];
    rs_problem problem;
    rs_plan plan = {0};
    rs_request request = {.strategy = how->strategy, .memory = memory, .n_staging = 2};
    RS_TRY(rs_problem_make(&a->layout, &b->layout, origin, NULL, &problem, err));
    rs_problem_see(&problem, how->streamed);
    resplit_status rc = rs_plan_make(&problem, &request, &plan, err);
    if (rc == RESPLIT_OK) {
        rc = rs_run_compare(&problem, &plan, a, b, options, out, err);
    } else if (rc == RESPLIT_EUNSUPPORTED) {
        rc = RESPLIT_EBUDGET; /* what it says is not about the arrays: another way may do */
    }
    rs_plan_release(&plan);
    rs_problem_release(&problem);
    return rc;
}

static bool is_one_stream(const resplit_array *array)
{
    return rs_array_can_be_plain(array) && array->info.n_blocks == 1;
}

/* Each block in memory, as a whole; both forwards, where they are cut alike; one of them forwards. What needs least is
   told if none fits. */
static resplit_status compare(const resplit_array *a, const resplit_array *b, int64_t memory,
                              const resplit_run_options *options, resplit_difference *out, resplit_error *err)
{
    uint32_t both =
        (rs_array_can_be_plain(a) ? RS_STREAMED_SOURCE : 0U) | (rs_array_can_be_plain(b) ? RS_STREAMED_TARGET : 0U);
    bool together = both != 0 && (!a->encoded || rs_array_can_be_plain(a)) && (!b->encoded || rs_array_can_be_plain(b));
    const struct {
        bool possible;
        manner how;
    } manners[] = {
        {true, {0, "best", false}},
        {together, {both, "copy", false}},
        {is_one_stream(a), {RS_STREAMED_SOURCE, "best", false}},
        {is_one_stream(b), {RS_STREAMED_SOURCE, "best", true}},
    };
    resplit_error least = {.code = RESPLIT_OK};
    for (size_t i = 0; i < sizeof manners / sizeof manners[0]; i++) {
        const manner *how = &manners[i].how;
        resplit_error why = {0};
        if (!manners[i].possible) {
            continue;
        }
        resplit_status rc = how->swapped ? compare_so(how, b, a, memory, options, out, &why)
                                         : compare_so(how, a, b, memory, options, out, &why);
        if (rc != RESPLIT_EBUDGET) {
            return rc == RESPLIT_OK ? rc : rs_fail_with(err, &why);
        }
        bool less =
            why.code == RESPLIT_EBUDGET && (least.code != RESPLIT_EBUDGET || why.needed_bytes < least.needed_bytes);
        least = less || least.code == RESPLIT_OK ? why : least;
    }
    return rs_fail_with(err, &least);
}

/* Values at the same indices. */
static resplit_status verify(const resplit_array *a, const resplit_array *b, int64_t memory,
                             const resplit_run_options *options, resplit_difference *out, resplit_error *err)
{
    RS_TRY(check_comparable(a, b, err));
    if (rs_array_opaque(a) != NULL && rs_array_is_coded_alike(a, b)) {
        RS_TRY(rs_compare_stored(a, b, &out->equal, out->index, err));
        return out->equal
                   ? RESPLIT_OK
                   : rs_fail(err, RESPLIT_EUNSUPPORTED,
                             "'%.300s' and '%.300s' are not stored as the same bytes, and their values cannot be "
                             "compared: %.300s",
                             a->path, b->path, rs_array_opaque(a)->message);
    }
    RS_TRY(rs_api_check_readable(a, err));
    RS_TRY(rs_api_check_readable(b, err));
    return compare(a, b, memory, options, out, err);
}

resplit_status resplit_verify(const resplit_array *a, const resplit_array *b, int64_t memory,
                              const resplit_run_options *options, resplit_difference *out, resplit_error *err)
{
    resplit_array view;
    const resplit_array *aligned = a;
    *out = (resplit_difference){0};
    if (a == NULL || b == NULL || !rs_array_is_there(a) || !rs_array_is_there(b)) {
        return rs_fail(err, RESPLIT_EINVAL, "two arrays with elements are needed to compare them");
    }
    if (a->layout.ndim == b->layout.ndim) {
        RS_TRY(rs_array_align(a, b, &view, &aligned, err));
    }
    return verify(aligned, b, memory, options, out, err);
}

/* ---- Fingerprints --------------------------------------------------------------------------- */

static resplit_status fingerprint_so(uint32_t streamed, const resplit_array *array, int64_t memory,
                                     const resplit_run_options *options, uint64_t *out, resplit_error *err)
{
    static const int64_t origin[RS_MAX_NDIM];
    rs_problem problem;
    rs_plan plan = {0};
    rs_request request = {.strategy = "copy", .memory = memory};
    RS_TRY(rs_problem_make_reading(&array->layout, origin, array->info.shape, &problem, err));
    rs_problem_see(&problem, streamed);
    resplit_status rc = rs_plan_make(&problem, &request, &plan, err);
    if (rc == RESPLIT_OK) {
        rc = rs_run_fingerprint(&problem, &plan, array, options, out, err);
    }
    rs_plan_release(&plan);
    rs_problem_release(&problem);
    return rc;
}

resplit_status resplit_fingerprint(const resplit_array *array, int64_t memory, const resplit_run_options *options,
                                   uint64_t *out, resplit_error *err)
{
    *out = 0;
    if (array == NULL || !rs_array_is_there(array)) {
        return rs_fail(err, RESPLIT_EINVAL, "an array with elements is needed to read its values");
    }
    RS_TRY(rs_api_check_readable(array, err));
    resplit_status rc = fingerprint_so(0, array, memory, options, out, err);
    return rc == RESPLIT_EBUDGET && rs_array_can_be_plain(array)
               ? fingerprint_so(RS_STREAMED_SOURCE | RS_STREAMED_TARGET, array, memory, options, out, err)
               : rc;
}
