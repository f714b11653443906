/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * steps.h - a plan unrolled, one step at a time. The printer, the checker and the engine all walk this one iterator, so
 * what is shown is what is run.
 *
 *     for each buffer, in loop order:
 *         READ   the part of each source block that lies in the buffer
 *         WRITE  each unit that is now complete: a target block, cut at buffer borders along the axes not kept
 *
 * A spill has one buffer. It reads the source and writes the resident blocks, then reads each group back and writes its
 * blocks.
 */
#ifndef RS_STEPS_H
#define RS_STEPS_H

#include "plan/plan.h"

typedef enum rs_step_kind { RS_STEP_READ, RS_STEP_WRITE } rs_step_kind;

typedef struct rs_step {
    rs_step_kind kind;
    int64_t block[RS_MAX_NDIM]; /* index of the source (READ) or target (WRITE) block, as the problem counts */
    int64_t index[RS_MAX_NDIM]; /* the same in the whole array */
    rs_box stored;              /* that block */
    rs_box box;                 /* what is read or written of it */
    int64_t group;              /* READ in a spill: what belongs to this group, from the temporary file; else -1 */
    bool opens, closes;         /* WRITE: the first unit of its block, the last that is seen of it */
} rs_step;

typedef struct rs_steps {
    const rs_problem *problem;
    const rs_plan *plan;
    int64_t at[RS_MAX_NDIM]; /* buffer index by axis */
    rs_box buffer;
    enum { RS_STEPS_START, RS_STEPS_READING, RS_STEPS_WRITING, RS_STEPS_DONE } phase;
    int64_t lo[RS_MAX_NDIM], hi[RS_MAX_NDIM]; /* blocks of the current phase */
    int64_t index[RS_MAX_NDIM];
    int64_t group; /* of a spill: -1 while the source is read */
} rs_steps;

/*
 * When a unit is written: with which buffer, counted in loop order, and among that buffer's units by the number of its
 * target block. Steps follow each other in this order, so what has been written so far is everything before some time.
 */
typedef struct rs_time {
    int64_t buffer, block;
} rs_time;

static inline bool rs_time_before(rs_time a, rs_time b)
{
    return a.buffer < b.buffer || (a.buffer == b.buffer && a.block < b.block);
}

void rs_steps_init(rs_steps *steps, const rs_problem *problem, const rs_plan *plan);
bool rs_steps_next(rs_steps *steps, rs_step *out);

/* The unit that the part of target block `index` inside the current buffer belongs to. */
rs_box rs_steps_unit(const rs_steps *steps, const int64_t *index);

/* The same in any buffer. */
rs_box rs_unit_in(const rs_problem *problem, const rs_plan *plan, const rs_box *buffer, const int64_t *index);

/* The smallest box that holds the target blocks of the round at hand, of a spill. */
rs_box rs_steps_round(const rs_steps *steps);

/* When that unit will be written. */
rs_time rs_steps_time(const rs_steps *steps, const int64_t *index, const rs_box *unit);

#endif
