/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * picture.h - a plan as an SVG page, in the manner of the papers' figures: both grids and the aggregate, the buffers in
 * visiting order, what is held when memory is fullest, the seeks in each block, and memory over the buffers.
 */
#ifndef RS_PICTURE_H
#define RS_PICTURE_H

#include "base/text.h"
#include "plan/plan.h"

/* A line of every page, by which it is known again. */
#define RS_PICTURE_MARK "<!-- resplit plan -->"

/* Adds the page to `out`. No I/O; the same plan gives the same page. At most about a megabyte, whatever the problem. */
resplit_status rs_plan_picture(const rs_problem *problem, const rs_plan *plan, rs_text *out, resplit_error *err);

#endif
