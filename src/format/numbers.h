/* SPDX-License-Identifier: BSD-3-Clause */
/* numbers.h - a set of numbers found in names. Zero-initialised is empty; holds each number about twice at most. */
#ifndef RS_NUMBERS_H
#define RS_NUMBERS_H

#include "base/base.h"

typedef struct rs_numbers {
    int64_t *v; /* owned; sorted and distinct after rs_numbers_sort */
    int64_t n, room;
} rs_numbers;

resplit_status rs_numbers_add(rs_numbers *numbers, int64_t value, resplit_error *err);
void rs_numbers_sort(rs_numbers *numbers);
void rs_numbers_release(rs_numbers *numbers);

/* Sorted, and exactly 0, 1, ... n - 1. */
static inline bool rs_numbers_is_dense(const rs_numbers *numbers)
{
    return numbers->n > 0 && numbers->v[0] == 0 && numbers->v[numbers->n - 1] == numbers->n - 1;
}

#endif
