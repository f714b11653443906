/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * budget.h - the only allocator of array data.
 *
 *     limit >= peak >= used            used: handed out, rounding included
 *     limit >= used + idle             idle: given back, kept mapped for the next caller of that size
 *
 * Large blocks are mappings of their own, so that giving them back really gives them back and no fragmentation can
 * push the process over its limit. Fresh pages are slow on virtual machines, so freed mappings are kept
 * for reuse as long as the limit allows.
 */
#ifndef RS_BUDGET_H
#define RS_BUDGET_H

#include "base/base.h"

typedef struct rs_budget rs_budget;

/* memory: the whole budget of the run, of which `limit` is left for what is allocated here. Not thread safe. */
resplit_status rs_budget_new(int64_t memory, int64_t limit, rs_budget **out, resplit_error *err);
void rs_budget_free(rs_budget *budget);

/* RESPLIT_EINTERNAL over the limit: the planner promised that this does not happen. Contents are unspecified. */
resplit_status rs_budget_alloc(rs_budget *budget, int64_t bytes, void **out, resplit_error *err);
void rs_budget_release(rs_budget *budget, void *block, int64_t bytes);

/* What an allocation of `bytes` takes from a budget of `memory`: what the planner counts with. Monotone in bytes. */
int64_t rs_budget_charge(int64_t memory, int64_t bytes);

/* What is left, and what an allocation of `bytes` would take of it. */
int64_t rs_budget_room(const rs_budget *budget);
int64_t rs_budget_cost(const rs_budget *budget, int64_t bytes);

int64_t rs_budget_used(const rs_budget *budget);
int64_t rs_budget_peak(const rs_budget *budget);

#endif
