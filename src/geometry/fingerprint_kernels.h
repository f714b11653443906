/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fingerprint_kernels.h - sums of products in GF(2^64), by the instructions that this machine has.
 *
 * Elements of the field are polynomials over GF(2) modulo x^64 + x^4 + x^3 + x + 1, bit i the coefficient of x^i.
 * Addition is exclusive or.
 */
#ifndef RS_FINGERPRINT_KERNELS_H
#define RS_FINGERPRINT_KERNELS_H

#include <stdint.h>

/*
 * Rows of values, least significant byte first. A row is: the part of a value (`head` bytes, to be moved up by `shift`
 * bits, with the weight before the first), n whole values, the part of a value (`tail` bytes, with the weight after the
 * last).
 */
typedef struct rs_plane {
    const char *src;
    int64_t rows, row_stride; /* bytes */
    int64_t n, stride;        /* bytes */
    int size;                 /* bytes of a value, 1 to 8 */
    int64_t weave;            /* not 0: values are words of 8 / size parts of 1, 2, 4 bytes, so far from each other */
    int swap;                 /* bytes of a number that must be reversed first: 2, 4, 8, or 0 */
    int head, shift, tail;    /* head and tail: only where stride = size = 8 */
    const uint64_t *row_weights, *weights;
} rs_plane;

typedef struct rs_kernels {
    uint64_t (*mul)(uint64_t a, uint64_t b);
    uint64_t (*plane)(
        const rs_plane *p); /* the sum over all rows and values of value, its weight and that of its row */
} rs_kernels;

/* What this machine can do, the fastest first, then slower ones; the last one is portable, and NULL is after it. */
const rs_kernels *rs_kernels_here(int i);

/* The element hi x^64 + lo. */
static inline uint64_t rs_field_reduce(uint64_t hi, uint64_t lo)
{
    const uint64_t over = (hi >> 63) ^ (hi >> 61) ^ (hi >> 60); /* x^64 = x^4 + x^3 + x + 1, and once more */
    hi ^= over;
    return lo ^ hi ^ (hi << 1) ^ (hi << 3) ^ (hi << 4);
}

#endif
