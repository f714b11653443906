/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fingerprint.h - a number for the values of an array, however it is cut, ordered or stored.
 *
 * A sum over all elements of value times weight, in the field of the prime 2^61 - 1. The weight of a position is a product
 * over the axes, so that boxes can be visited in any order and shape: their numbers add up. See docs/fingerprint.md.
 */
#ifndef RS_FINGERPRINT_H
#define RS_FINGERPRINT_H

#include "geometry/copy.h"

#define RS_FINGERPRINT_PRIME ((UINT64_C(1) << 61) - 1)

enum {
    RS_FINGERPRINT_DIGIT = 256, /* a position has two digits, the low one of this base, and a weight for each */
    RS_FINGERPRINT_SMALL = 64,  /* bytes; larger elements are taken one by one */
};

/* Weights below 2^61, cut in 31 and 30 bits so that products with 16 bits can be added up in 64. */
typedef struct rs_weights {
    uint32_t lo[RS_FINGERPRINT_DIGIT], hi[RS_FINGERPRINT_DIGIT];
} rs_weights;

/* Into sums[2k] and sums[2k + 1]: word k of each of n values, one after the other, times lo and times hi. */
typedef void rs_fingerprint_kernel(const char *src, int64_t n, const uint32_t *lo, const uint32_t *hi, uint64_t *sums);

/* What is the same for all boxes of an array: made once, then only read, by any number of threads. */
typedef struct rs_fingerprint {
    int64_t itemsize;
    int64_t swap;        /* bytes of a number that must be reversed before it is taken; 0: as they are */
    int fast[2];         /* the axes that have a table */
    rs_weights table[2]; /* of the low digit along them */
    uint64_t word[RS_FINGERPRINT_SMALL];  /* weights of the words of a small element */
    rs_fingerprint_kernel *const *kernel; /* for values of 1, 2, 4, 8 bytes */
    int whole;                            /* the kernel that takes an element at once; -1: none */
} rs_fingerprint;

/*
 * swap_size: bytes that form one number within an element, as in rs_dtype; 0 or 1 where there is no byte order.
 * big_endian: how those numbers are stored. fast_a, fast_b: axes that may be the fastest in memory; any other is right too,
 * at the price of a table per box.
 */
void rs_fingerprint_init(rs_fingerprint *f, int64_t itemsize, int64_t swap_size, bool big_endian, int fast_a,
                         int fast_b);

/* The same answers without the instructions that only some machines have: for tests. */
void rs_fingerprint_plain(rs_fingerprint *f);

/* The elements of `box`, which lies in `view`, at the positions of the box. Below the prime. */
uint64_t rs_fingerprint_box(const rs_fingerprint *f, int ndim, const rs_box *box, const rs_view *view);

/* The same for a box in which every element has the bytes `value` (stored as init said), without looking at each. */
uint64_t rs_fingerprint_constant(const rs_fingerprint *f, int ndim, const rs_box *box, const void *value);

/* Of two disjoint boxes, what both together have. */
static inline uint64_t rs_fingerprint_add(uint64_t a, uint64_t b)
{
    uint64_t sum = a + b;
    return sum >= RS_FINGERPRINT_PRIME ? sum - RS_FINGERPRINT_PRIME : sum;
}

/* 64 bits of the sum over the whole array, its shape and its type; the byte order of a simple type (<u2) is passed over. */
uint64_t rs_fingerprint_finish(uint64_t sum, const char *type, int ndim, const int64_t *shape);

#endif
