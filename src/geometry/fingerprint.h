/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fingerprint.h - a number for the values of an array, however it is cut, ordered or stored.
 *
 * A sum over all words of eight bytes of a row, over all rows, of word times weight, in the field GF(2^64). The weight
 * of a position is a product over the axes, so that boxes can be visited in any order and shape: their numbers add up.
 * See docs/fingerprint.md.
 */
#ifndef RS_FINGERPRINT_H
#define RS_FINGERPRINT_H

#include "geometry/copy.h"
#include "geometry/fingerprint_kernels.h"

enum { RS_FINGERPRINT_DIGIT = 256 }; /* a position has two digits, the low one of this base, and a weight for each */

/* What is the same for all boxes of an array: made once, then only read, by any number of threads. */
typedef struct rs_fingerprint {
    int64_t itemsize;
    int64_t swap; /* bytes of a number that must be reversed before it is taken; 0: as they are */
    int fast[2];  /* the axes that have a table */
    uint64_t table[2][RS_FINGERPRINT_DIGIT]; /* weights of the low digit along them */
    uint64_t word[RS_FINGERPRINT_DIGIT];     /* of the low digit of a word in its row */
    const rs_kernels *kernels;
    int64_t start[RS_MAX_NDIM]; /* position 0 of boxes is this one of the array; set it after init, where it is not 0 */
} rs_fingerprint;

/*
 * swap_size: bytes that form one number within an element, as in rs_dtype; 0 or 1 where there is no byte order.
 * big_endian: how those numbers are stored. fast_a, fast_b: axes that may be the fastest in memory; any other is right
 * too, at the price of a table per box.
 */
void rs_fingerprint_init(rs_fingerprint *f, int64_t itemsize, int64_t swap_size, bool big_endian, int fast_a,
                         int fast_b);

/* The same answers without the instructions that only some machines have: for tests. */
void rs_fingerprint_plain(rs_fingerprint *f);

/* The elements of `box`, which lies in `view`, at the positions of the box. */
uint64_t rs_fingerprint_box(const rs_fingerprint *f, int ndim, const rs_box *box, const rs_view *view);

/* Of two disjoint boxes, what both together have. */
static inline uint64_t rs_fingerprint_add(uint64_t a, uint64_t b)
{
    return a ^ b;
}

/* 64 bits of the sum over the whole array, its shape and its type; the byte order of a simple type
   (<u2) is passed over. */
uint64_t rs_fingerprint_finish(uint64_t sum, const char *type, int ndim, const int64_t *shape);

#endif
