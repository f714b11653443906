/* SPDX-License-Identifier: BSD-3-Clause */
/* part.h - the folder in which an output grows (output.h): for those who begin it, share it and publish it. */
#ifndef RS_PART_H
#define RS_PART_H

#include "engine/output.h"

#define RS_PLAN_NAME "plan"
#define RS_HEAD_NAME "head"
#define RS_LOCK_NAME "lock" /* of a shared part, and of a partition */
#define RS_OLD_NAME "old"   /* an array that is being replaced where the system cannot exchange two names */

bool rs_part_is_there(const char *path);

/* Makes the part when it is not there, and locks it: output->lock. Alone, or, if the output is shared,
   with other partitions. */
resplit_status rs_part_take(rs_output *output, resplit_error *err);

/* Is what was locked still what is there? It may have been published, or removed. */
bool rs_part_is_current(const rs_output *output);

/* A run that was killed between two renames left the old array in the part: it goes back to its place. */
resplit_status rs_part_restore(const rs_output *output, resplit_error *err);

/* What does a journal in output->own say? What belongs to another job is an error: it is not for us to
   throw it away. */
resplit_status rs_part_look(rs_output *output, const rs_job_id *id, rs_earlier *earlier, rs_progress *done,
                            bool *on_disk, rs_job_id *found, resplit_error *err);

/* Removes what runs leave in a part, but for its lock; then that, and the part; or both. Anything else in it is not
   ours, and stays. */
resplit_status rs_part_clear(const rs_output *output, bool published, resplit_error *err);
void rs_part_end(const rs_output *output);
void rs_part_remove(const rs_output *output, bool published);

/* Nothing is at the target's place, or what may be replaced; the file system has room. */
resplit_status rs_part_check_free(const rs_output *output, resplit_error *err);
resplit_status rs_part_check_space(const rs_output *output, resplit_error *err);

/* The empty folder, or file, in which the array grows. */
resplit_status rs_part_make_data(const rs_output *output, resplit_error *err);

/* A number that no other output has; not 0. */
uint64_t rs_part_token(const rs_output *output);

resplit_status rs_part_write(const char *folder, const char *name, const rs_text *text, bool sync, resplit_error *err);

/* Did a run with this token publish its output? */
bool rs_part_was_published(const rs_output *output, uint64_t token);

/* A header that has a file of its own goes to its place, if there is one. */
resplit_status rs_part_move_head(const rs_output *output, resplit_error *err);

#endif
