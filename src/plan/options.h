/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * options.h - the ways in which one axis may be cut into buffers, each with all that it costs apart from the other
 * axes, computed once.
 */
#ifndef RS_OPTIONS_H
#define RS_OPTIONS_H

#include "plan/held.h"
#include "plan/plan.h"

typedef struct rs_option {
    rs_axis axis;  /* borrows from cuts */
    int64_t *cuts; /* owned; NULL: even */
    bool kept;     /* target blocks wait along this axis, and some of them have to */
    rs_pieces source, target;
    int64_t longest;        /* buffer */
    rs_stretches stretches; /* owned; made when they are first asked for: most options are too dear for that */
} rs_option;

typedef struct rs_options {
    rs_option *at; /* owned */
    int n, room;
    int64_t shortest; /* least `longest` of all */
} rs_options;

/*
 * All ways to cut axis d if it is short; else those that argument and experience suggest: groups of blocks, blocks in
 * equal parts, even buffers.
 */
resplit_status rs_options_make(const rs_problem *problem, int d, rs_options *out, resplit_error *err);
void rs_options_release(rs_options *options);

/* Of an option of axis d. NULL without memory. */
const rs_stretches *rs_option_stretches(const rs_problem *problem, int d, rs_option *option);

#endif
