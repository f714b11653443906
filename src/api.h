/* SPDX-License-Identifier: BSD-3-Clause */
/* api.h - what the files of the public functions share. */
#ifndef RS_API_H
#define RS_API_H

#include "engine/file.h"
#include "format/format.h"
#include "plan/partition.h"
#include "plan/planfile.h"

struct resplit_plan {
    rs_problem problem;
    rs_plan plan;
    int64_t part,
        n_parts; /* of a partition, from 1; part 0 with n_parts: of all, and `plan` says only how to plan them */
    const char *minimize;          /* of all: what was asked for; NULL: as usual */
    char *temp;                    /* owned; folder for a temporary file, or NULL */
    int64_t *lengths[RS_MAX_NDIM]; /* owned; of uneven buffers, for the summary */
    resplit_plan_summary summary;
};

/* Which part of the problem a plan is about: all of it, or a partition. */
typedef struct rs_api_part {
    int64_t part, n_parts;
    rs_share share; /* of a partition: when part > 0 */
} rs_api_part;

/* Both layouts, seen through a part of the problem. */
resplit_status rs_api_window(const resplit_array *source, const resplit_array *target, const rs_api_part *part,
                             rs_problem *out, resplit_error *err);

/* The same, in one of the ways to see their blocks: a set of those in problem.h. */
resplit_status rs_api_see(const resplit_array *source, const resplit_array *target, const rs_api_part *part,
                          uint32_t seen, rs_problem *out, resplit_error *err);

/*
 * What there is for two arrays: compressed files as plain ones, or as streams; blocks at the border of an array whole,
 * unless all are copied as they are. And the next subset of it: all after RS_NO_WAY, none at last; false: there are no
 * more.
 */
#define RS_NO_WAY UINT32_MAX
uint32_t rs_api_ways(const resplit_array *source, const resplit_array *target);
bool rs_api_next_way(uint32_t ways, uint32_t *seen);

/* The way in which the problem of two arrays has this hash; 0, too, if none has. */
uint32_t rs_api_find_seen(const resplit_array *source, const resplit_array *target, const rs_api_part *part,
                          uint64_t hash);

/* What is to be moved from one array to the other. copy: blocks may be copied as they are stored, where
   that is possible. */
resplit_status rs_api_problem(const resplit_array *source, const resplit_array *target, const rs_api_part *part,
                              bool copy, uint32_t seen, rs_problem *out, resplit_error *err);

/* What is asked of the planner, on this machine. */
rs_request rs_api_request(const resplit_plan_options *options);

/* Of the ways to see blocks the plan that is cheapest by what the request minimizes. */
resplit_status rs_api_make_plan(const resplit_array *source, const resplit_array *target, const rs_api_part *part,
                                const rs_request *request, resplit_plan **out, resplit_error *err);

/* What an array is called in messages. */
const char *rs_api_name(const resplit_array *array);

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

/* The plan that a plan file describes, which stands at `path`, proved and predicted anew. */
resplit_status rs_api_load_plan(const char *path, const rs_planfile *file, const resplit_array *source,
                                const resplit_array *target, resplit_plan **out, resplit_error *err);

/* ---- api_parts.c ---- */

/* Partition `part` of `n_parts`; both 0: the whole. */
resplit_status rs_api_find_part(const resplit_array *source, const resplit_array *target, int64_t part, int64_t n_parts,
                                rs_api_part *out, resplit_error *err);

/* The whole problem, which the division borrows, divided. */
resplit_status rs_api_divide(const resplit_array *source, const resplit_array *target, int64_t n, rs_problem *problem,
                             rs_division *out, resplit_error *err);

/* A plan of all partitions, by a request. */
resplit_status rs_api_plan_parts(const resplit_array *source, const resplit_array *target, const rs_request *request,
                                 int64_t n_parts, resplit_plan **out, resplit_error *err);

/* Runs the plan of a partition. */
resplit_status rs_api_run_part(const resplit_plan *plan, const resplit_array *source, const resplit_array *target,
                               const rs_text *text, const resplit_run_options *options, resplit_result *result,
                               resplit_error *err);

/* Where a run for this target keeps its plan: in the part, or in a partition's folder in it. */
resplit_status rs_api_kept_path(const char *target, int64_t part, int64_t n_parts, char path[RS_PATH_MAX],
                                resplit_error *err);

#endif
