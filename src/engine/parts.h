/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parts.h - an output that is made in partitions (plan/partition.h), by processes that may be on different machines.
 * They share its part, and nothing else; the first to come makes it:
 *
 *     out.resplit-part/
 *         parts           what is made from what, in how many partitions; a token to know it again
 *         plan            of the whole, for whoever finishes it
 *         lock            held by whoever joins, for a moment, and by whoever finishes
 *         data            files of all partitions; no two have one in common
 *         3-of-16/        what one partition keeps for itself: lock, plan, journal, index of shards
 *             done        it is complete and on disk, and this is its fingerprint
 *
 * Who finishes it looks for all `done`, adds up the fingerprints and publishes.
 */
#ifndef RS_PARTS_H
#define RS_PARTS_H

#include "engine/output.h"
#include "plan/partition.h"

#define RS_PARTS_NAME "parts"
#define RS_PARTS_NEW "parts-new" /* what becomes it */

/* One partition of an output. */
typedef struct rs_member {
    int64_t number, n;   /* from 0, of so many */
    rs_box box;          /* of the target */
    rs_job_id whole;     /* what all partitions make of what; its plan and token are 0 */
    const rs_text *plan; /* of the whole; may be NULL */
} rs_member;

/* What a partition did, or all of them. Members have 8 bytes each, and are written as they are. */
typedef struct rs_done {
    uint64_t token;
    int64_t number, n;
    rs_box box;
    uint64_t fingerprint; /* of its elements: a sum, which is not finished */
    uint64_t verbatim;    /* 1: blocks were copied as they are, and nobody looked at their values */
    resplit_cost cost;
    int64_t stored_read, stored_written;
    resplit_losses losses;
} rs_done;

/* As rs_output_begin, for one partition. RS_EARLIER_ALL: it is complete, or all is published. */
resplit_status rs_parts_begin(rs_output *output, const resplit_array *array, const resplit_array *source, bool resume,
                              const rs_job_id *id, const rs_text *plan, const rs_member *member, rs_earlier *earlier,
                              rs_progress *done, resplit_error *err);

/* The partition is written: brings it to disk and says so. The output is then ended. */
resplit_status rs_parts_complete(rs_output *output, const rs_member *member, rs_done *done, resplit_error *err);

/* Ends the output of a partition that is not complete; keep: what is done, for a resume. */
void rs_parts_leave(rs_output *output, bool keep);

/* How many partitions are at work, or were, on the output for `path`; 0: none. */
resplit_status rs_parts_count(const char *path, int64_t *n, resplit_error *err);

/* Is partition `number` of the output for `path` complete? */
resplit_status rs_parts_is_done(const char *path, int64_t number, int64_t n, bool *complete, resplit_error *err);

/*
 * All partitions are complete: adds them up and publishes the array. RESPLIT_EINVAL names those that are not. Can be
 * repeated at any time. *total: what they did; its fingerprint is finished, and 0 where nobody knows it.
 */
resplit_status rs_parts_finish(const resplit_array *array, const resplit_array *source, const rs_division *division,
                               const rs_job_id *whole, rs_sync sync, rs_done *total, resplit_error *err);

/* ---- For those who know the part ---- */

/* A run of the whole does not take the place of partitions that are at work; nor, with `resume`, of others. */
resplit_status rs_parts_check_none(const rs_output *output, bool resume, resplit_error *err);

/* Removes the folders of all partitions. */
resplit_status rs_parts_remove(const rs_output *output, resplit_error *err);

/* ---- For finish.c ---- */

/* Locks the part, and in it the lock that lets one join or finish at a time: *door. */
resplit_status rs_parts_enter(rs_output *output, int *door, resplit_error *err);

/* What the part says it is of; *n 0: it is of no partitions. */
resplit_status rs_parts_read(const rs_output *output, rs_job_id *whole, int64_t *n, resplit_error *err);
resplit_status rs_parts_compare(const rs_output *output, const rs_job_id *whole, int64_t n, const rs_job_id *found,
                                int64_t n_found, resplit_error *err);

/* The low half of the token of a job, by which it is known when its part is gone. */
uint32_t rs_parts_mark(const rs_job_id *whole, int64_t n);

/* Reads what a partition of this output, by its token, says when it is complete; else *complete is false. */
resplit_status rs_parts_read_done(const rs_output *output, int64_t number, int64_t n, rs_done *out, bool *complete,
                                  resplit_error *err);

#endif
