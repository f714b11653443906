/* SPDX-License-Identifier: BSD-3-Clause */
/* api.h - what the files of the public functions share. */
#ifndef RS_API_H
#define RS_API_H

#include "format/format.h"
#include "plan/plan.h"

struct resplit_plan {
    rs_problem problem;
    rs_plan plan;
    char *temp;                    /* owned; folder for a temporary file, or NULL */
    int64_t *lengths[RS_MAX_NDIM]; /* owned; of uneven buffers, for the summary */
    resplit_plan_summary summary;
};

/*
 * What is to be moved from one array to the other. copy: blocks may be copied as they are stored, where that is possible. unpacked:
 * sides, of those that can be, whose compressed blocks go through files where they are plain.
 */
resplit_status rs_api_problem(const resplit_array *source, const resplit_array *target, bool copy, uint32_t unpacked,
                              rs_problem *out, resplit_error *err);

/* The next way to stage two arrays, from 0 on; false: there are no more. */
bool rs_api_next_unpacked(const resplit_array *source, const resplit_array *target, uint32_t *unpacked);

/* The way in which the problem of two arrays has this hash; 0, too, if none has. */
uint32_t rs_api_find_unpacked(const resplit_array *source, const resplit_array *target, uint64_t hash);

/* What cannot be decoded can only be copied. */
resplit_status rs_api_check_readable(const resplit_array *array, resplit_error *err);

/* Fills the public view of a problem and its plan. */
resplit_status rs_api_summarize(resplit_plan *plan, const resplit_device *device, resplit_error *err);

/* A plan belongs to the two arrays it was made for. */
resplit_status rs_api_check_belongs(const resplit_plan *plan, const resplit_array *source, const resplit_array *target,
                                    resplit_error *err);

/* A plan as it is kept beside the part of its target. */
resplit_status rs_api_plan_text(const resplit_plan *plan, const resplit_array *source, const resplit_array *target,
                                rs_text *out, resplit_error *err);

#endif
