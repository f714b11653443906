/* SPDX-License-Identifier: BSD-3-Clause */
/* memory.c - an array in the memory of the program that we are in: one block, which is read where it lies. */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "format/array.h"
#include "format/drivers.h"

static const char *const suffixes[] = {NULL};

/* Not in the table of drivers: nobody opens or makes it by name. */
static const rs_format rs_format_memory = {.name = "memory", .suffixes = suffixes};

/* No two are the same: what memory held when a run was killed, nobody knows. */
static uint64_t draw_stamp(const void *memory)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return rs_mix(rs_mix(rs_mix(rs_mix(1, getpid()), now.tv_sec), now.tv_nsec), (int64_t)(intptr_t)memory);
}

/* Where elements are, when nobody says it: one after the other, in the order of the array. */
static void set_strides(resplit_array *array, const int64_t *strides)
{
    const rs_layout *layout = &array->layout;
    rs_box all = rs_layout_stored(layout, (const int64_t[RS_MAX_NDIM]){0});
    rs_box_strides(layout->ndim, layout->order, &all, array->strides);
    for (int d = 0; d < layout->ndim; d++) {
        array->strides[d] = strides != NULL ? strides[d] : array->strides[d] * layout->itemsize;
    }
}

static resplit_status fill(const void *memory, const int64_t *strides, const resplit_spec *spec, resplit_array *array,
                           resplit_error *err)
{
    if (spec->chunks != NULL || spec->pattern != NULL || spec->skip != 0 || spec->format != NULL) {
        return rs_fail(err, RESPLIT_EINVAL,
                       "an array in memory has shape, type and order, and no chunks, pattern, skipped bytes or format");
    }
    array->format = &rs_format_memory;
    array->order = spec->order == '\0' ? 'C' : spec->order;
    RS_TRY(rs_dtype_parse(spec->dtype, &array->dtype, err));
    RS_TRY(rs_array_cut(array, spec->ndim, spec->shape, NULL, err));
    RS_TRY(rs_array_finish(array, err));
    if (memory == NULL && array->info.n_elements > 0) {
        return rs_fail(err, RESPLIT_EINVAL, "an array of %lld elements cannot be at address 0",
                       (long long)array->info.n_elements);
    }
    array->memory = memory != NULL ? memory : "";
    array->layout.in_memory = true;
    array->stamp = draw_stamp(memory);
    set_strides(array, strides);
    return RESPLIT_OK;
}

resplit_status rs_array_wrap(const void *memory, const int64_t *strides, const resplit_spec *spec, resplit_array **out,
                             resplit_error *err)
{
    *out = NULL;
    if (spec == NULL || spec->shape == NULL || spec->dtype == NULL) {
        return rs_fail(err, RESPLIT_EINVAL, "an array in memory is described by a shape and a type: give both");
    }
    RS_TRY(rs_spec_check(spec, err));
    RS_TRY(rs_array_new(out, err));
    resplit_status rc = fill(memory, strides, spec, *out, err);
    if (rc != RESPLIT_OK) {
        rs_array_close(*out);
        *out = NULL;
    }
    return rc;
}
