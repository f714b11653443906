/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cast.h - values as another type of number, and what is lost on the way.
 *
 * What the other type holds has the bits of NumPy's astype. What it does not hold, where C and NumPy leave the result
 * open, is the nearest integer that it does, and 0 for NaN; reals that are too large are infinite, as everywhere. Every
 * value that comes out as another one is counted, once.
 */
#ifndef RS_CODEC_CAST_H
#define RS_CODEC_CAST_H

#include "codec/codec.h"

typedef struct rs_cast {
    enum { RS_CAST_NONE, RS_CAST_SWAP, RS_CAST_VALUES } kind;
    rs_element from, to;
    int64_t swap_size; /* SWAP: bytes that are reversed together */
} rs_cast;

/* The same values in the other byte order. */
rs_cast rs_cast_swap(const rs_element *element, int64_t swap_size);

/*
 * Booleans, integers and reals of up to 8 bytes into each other, and into complex numbers. False: other types. Complex
 * numbers into complex numbers only.
 */
bool rs_cast_make(const rs_element *from, const rs_element *to, rs_cast *out);

/* n elements. `out` is where `in` is, with room for the larger of both types, or apart from it. Adds to
   what is lost. */
void rs_cast_run(const rs_cast *cast, const void *in, void *out, int64_t n, resplit_losses *losses);

/* Seconds of one processor for a byte of what goes in, roughly; for plans. */
double rs_cast_seconds(const rs_cast *cast);

#endif
