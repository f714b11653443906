/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parallel.h - looks at many files at once. Files that nobody looked at for a while come from the disk, each with a
 * wait or two, so several threads look at the same time.
 */
#ifndef RS_PARALLEL_H
#define RS_PARALLEL_H

#include "base/base.h"

typedef resplit_status rs_look(int64_t number, void *payload, resplit_error *err);

/* Calls look with each of [first, n), from several threads, or one. Of several failures the one with the lowest
   number is told. */
resplit_status rs_look_at_all(int64_t first, int64_t n, bool alone, rs_look *look, void *payload, resplit_error *err);

#endif
