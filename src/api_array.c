/* SPDX-License-Identifier: BSD-3-Clause */
/* api_array.c - arrays and the caller's memory: from there, and into it. */
#include "api.h"
#include "engine/run.h"

#include <string.h>

resplit_status resplit_array_wrap(const void *memory, const int64_t *strides, const resplit_spec *spec,
                                  resplit_array **out, resplit_error *err)
{
    return rs_array_wrap(memory, strides, spec, out, err);
}

/* ---- Attributes ---------------------------------------------------------------------------- */

resplit_status resplit_array_attributes(const resplit_array *array, char **out, resplit_error *err)
{
    rs_text text = {0};
    *out = NULL;
    if (array == NULL) {
        return rs_fail(err, RESPLIT_EINVAL, "attributes are those of an array");
    }
    resplit_status rc = rs_array_attributes(array, &text, err);
    if (rc != RESPLIT_OK) {
        rs_text_release(&text);
        return rc;
    }
    *out = text.s; /* moved */
    return RESPLIT_OK;
}

/* ---- Reading ------------------------------------------------------------------------------- */

/* The box, checked, as where it starts and how long it is. */
static resplit_status set_box(const resplit_array *array, const int64_t *start, const int64_t *stop, int64_t *from,
                              int64_t *shape, resplit_error *err)
{
    for (int d = 0; d < array->info.ndim; d++) {
        int64_t extent = array->info.shape[d], to = stop != NULL ? stop[d] : extent;
        from[d] = start != NULL ? start[d] : 0;
        if (from[d] < 0 || from[d] > to || to > extent) {
            return rs_fail(err, RESPLIT_EINVAL, "region %lld:%lld of axis %d is not within 0:%lld", (long long)from[d],
                           (long long)to, d, (long long)extent);
        }
        shape[d] = to - from[d];
    }
    return RESPLIT_OK;
}

/* Where the elements of the box go: in C order, if nobody says otherwise. */
static rs_view view_of(const resplit_array *array, const int64_t *shape, void *memory, const int64_t *strides)
{
    int ndim = array->info.ndim, order[RS_MAX_NDIM];
    rs_box box = {.lo = {0}};
    memcpy(box.hi, shape, (size_t)ndim * sizeof *shape);
    rs_order_set(ndim, 'C', order);
    rs_view view = rs_view_of(ndim, order, &box, array->dtype.itemsize, memory);
    if (strides != NULL) {
        memcpy(view.strides, strides, (size_t)ndim * sizeof *strides);
    }
    return view;
}

static resplit_status read_as(const resplit_array *array, const int64_t *start, const int64_t *shape, uint32_t seen,
                              int64_t memory, const resplit_run_options *options, const rs_view *out,
                              resplit_error *err)
{
    rs_problem problem;
    rs_plan plan = {0};
    rs_request request = {.strategy = "copy", .memory = memory};
    RS_TRY(rs_problem_make_reading(&array->layout, start, shape, &problem, err));
    rs_problem_see(&problem, seen);
    resplit_status rc = rs_plan_make(&problem, &request, &plan, err);
    if (rc == RESPLIT_OK) {
        rc = rs_run_read(&problem, &plan, array, options, out, err);
    }
    rs_plan_release(&plan);
    rs_problem_release(&problem);
    return rc;
}

resplit_status resplit_array_read(const resplit_array *array, const int64_t *start, const int64_t *stop, void *out,
                                  const int64_t *strides, int64_t memory, const resplit_run_options *options,
                                  resplit_error *err)
{
    int64_t from[RS_MAX_NDIM] = {0}, shape[RS_MAX_NDIM] = {0};
    resplit_error why = {.code = RESPLIT_OK}, other = why;
    if (array == NULL || !rs_array_is_there(array)) {
        return rs_fail(err, RESPLIT_EINVAL, "an array with elements is needed to read them");
    }
    RS_TRY(set_box(array, start, stop, from, shape, err));
    RS_TRY(rs_api_check_readable(array, err));
    rs_view to = view_of(array, shape, out, strides);
    if (out == NULL && rs_box_volume(array->info.ndim, &to.box) > 0) {
        return rs_fail(err, RESPLIT_EINVAL, "elements cannot be read to address 0");
    }
    resplit_status rc = read_as(array, from, shape, 0, memory, options, &to, &why);
    /* one compressed file that is larger than memory is read forwards */
    if (rc == RESPLIT_EBUDGET && rs_array_can_be_plain(array) && array->info.n_blocks == 1) {
        rc = read_as(array, from, shape, RS_STREAMED_SOURCE, memory, options, &to, &other);
        why = rc != RESPLIT_EBUDGET || other.needed_bytes < why.needed_bytes ? other : why;
    }
    return rc == RESPLIT_OK ? rc : rs_fail_with(err, &why);
}
