/* SPDX-License-Identifier: BSD-3-Clause */
/* plan_check.h - an independent proof that a plan does what it says. */
#ifndef PLAN_CHECK_H
#define PLAN_CHECK_H

#include "plan/plan.h"

/*
 * Proves by walking the steps that every element is read once and written once, that what is written was read, that
 * blocks are opened before and closed after their units, and that held memory and seeks are what was predicted.
 * Needs two bits per element.
 */
resplit_status plan_check(const rs_problem *problem, const rs_plan *plan, resplit_error *err);

#endif
