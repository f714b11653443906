/* SPDX-License-Identifier: BSD-3-Clause */
/* problems.h - problems written as shapes, for tests. */
#ifndef RS_TEST_PROBLEMS_H
#define RS_TEST_PROBLEMS_H

#include "plan/plan.h"

#include <stdio.h>
#include <stdlib.h>

static inline rs_layout even_layout(int ndim, const int64_t *shape, const int64_t *block, int64_t itemsize, char order)
{
    rs_layout layout = {.ndim = ndim, .itemsize = itemsize};
    for (int d = 0; d < ndim; d++) {
        layout.axis[d] = rs_axis_even(shape[d], block[d]);
    }
    rs_order_set(ndim, order, layout.order);
    return layout;
}

/* The whole array, C order on both sides. */
static inline rs_problem even_problem(int ndim, const int64_t *shape, const int64_t *from, const int64_t *to,
                                      int64_t itemsize)
{
    static const int64_t origin[RS_MAX_NDIM];
    rs_layout source = even_layout(ndim, shape, from, itemsize, 'C');
    rs_layout target = even_layout(ndim, shape, to, itemsize, 'C');
    rs_problem problem;
    resplit_error err;
    if (rs_problem_make(&source, &target, origin, NULL, &problem, &err) != RESPLIT_OK) {
        fprintf(stderr, "%s\n", err.message);
        abort();
    }
    return problem;
}

static inline int64_t total_seeks(const resplit_cost *cost)
{
    return cost->read_seeks + cost->write_seeks;
}

#endif
