/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * budget.h - the only allocator of array data.
 *
 *     limit >= peak >= used            used: handed out, rounding included
 *     limit >= used + idle             idle: given back, kept for the next caller
 *
 * Large blocks come from an arena (arena.h). What is free there is given back to the system when there is no other room
 * below the limit, so that no fragmentation can push the process over it.
 */
#ifndef RS_BUDGET_H
#define RS_BUDGET_H

#include "base/base.h"

typedef struct rs_budget rs_budget;

/* Disks like huge pages, which are slow to get where the machine is a virtual one: what stays in
   memory does without. */
typedef enum rs_use { RS_FOR_DATA, RS_FOR_DISK, RS_N_USES } rs_use;

/* memory: the whole budget of the run, of which `limit` is left for what is allocated here. Not thread safe. */
resplit_status rs_budget_new(int64_t memory, int64_t limit, rs_budget **out, resplit_error *err);
void rs_budget_free(rs_budget *budget);

/* RESPLIT_EINTERNAL over the limit: the planner promised that this does not happen. Contents are unspecified. */
resplit_status rs_budget_alloc(rs_budget *budget, rs_use use, int64_t bytes, void **out, resplit_error *err);
void rs_budget_release(rs_budget *budget, void *block, int64_t bytes);

/* What an allocation of `bytes` takes from a budget of `memory`: what the planner counts with. Monotone in bytes. */
int64_t rs_budget_charge(int64_t memory, int64_t bytes);

/* What is left, and what an allocation of `bytes` would take of it. */
int64_t rs_budget_room(const rs_budget *budget);
int64_t rs_budget_cost(const rs_budget *budget, int64_t bytes);

int64_t rs_budget_used(const rs_budget *budget);
int64_t rs_budget_peak(const rs_budget *budget);

#endif
