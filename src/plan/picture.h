/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * picture.h - a plan as an SVG page, in the manner of the papers' figures: both grids and the aggregate, the buffers in
 * visiting order, what is held when memory is fullest, the seeks in each block, and memory over the buffers.
 */
#ifndef RS_PICTURE_H
#define RS_PICTURE_H

#include "base/text.h"
#include "plan/plan.h"

/* Adds the page to `out`. No I/O, and the same plan gives the same page; at most about a megabyte, whatever the problem. */
resplit_status rs_plan_picture(const rs_problem *problem, const rs_plan *plan, rs_text *out, resplit_error *err);

#endif
