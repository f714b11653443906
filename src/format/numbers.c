/* SPDX-License-Identifier: BSD-3-Clause */
/* numbers.c - a set of numbers. A million names of a 100 x 100 x 100 grid give three sets of 100. */
#include "format/numbers.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

void rs_numbers_sort(rs_numbers *numbers)
{
    int64_t kept = 0;
    if (numbers->n == 0) {
        return;
    }
    qsort(numbers->v, (size_t)numbers->n, sizeof *numbers->v, compare);
    for (int64_t i = 1; i < numbers->n; i++) {
        if (numbers->v[i] != numbers->v[kept]) {
            numbers->v[++kept] = numbers->v[i];
        }
    }
    numbers->n = kept + 1;
}

resplit_status rs_numbers_add(rs_numbers *numbers, int64_t value, resplit_error *err)
{
    if (numbers->n == numbers->room) {
        rs_numbers_sort(numbers);
        /* grow only when most were distinct, else sorting again soon would cost more than it saves */
        if (2 * numbers->n >= numbers->room) {
            int64_t room = numbers->room == 0 ? 64 : 2 * numbers->room;
            int64_t *v = realloc(numbers->v, (size_t)room * sizeof *v);
            if (v == NULL) {
                return rs_fail(err, RESPLIT_ENOMEM, "no memory for %lld numbers", (long long)room);
            }
            numbers->v = v;
            numbers->room = room;
        }
    }
    numbers->v[numbers->n++] = value;
    return RESPLIT_OK;
}

void rs_numbers_release(rs_numbers *numbers)
{
    free(numbers->v);
    *numbers = (rs_numbers){0};
}
