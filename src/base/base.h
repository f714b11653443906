/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * base.h - what every room needs: failing with a sentence, and arithmetic that does not overflow silently.
 */
#ifndef RS_BASE_H
#define RS_BASE_H

#include "resplit.h"

#define RS_MAX_NDIM RESPLIT_MAX_NDIM

/* Passes a failure on, adding nothing. Only in functions that hold nothing; the others have a label `out`. */
#define RS_TRY(expr)                                                                                                   \
    do {                                                                                                               \
        resplit_status rs_try_ = (expr);                                                                               \
        if (rs_try_ != RESPLIT_OK) {                                                                                   \
            return rs_try_;                                                                                            \
        }                                                                                                              \
    } while (0)

/* Writes code and sentence into err (which may be NULL) and returns code. */
resplit_status rs_fail(resplit_error *err, resplit_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a system call that failed: RESPLIT_EIO (ENOMEM for a lack of memory), with ": strerror" appended. */
resplit_status rs_fail_errno(resplit_error *err, int sys_errno, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Passes on a failure that was caught: err (which may be NULL) becomes a copy of `why`. */
resplit_status rs_fail_with(resplit_error *err, const resplit_error *why);

/* False on overflow; then *out is unspecified. */
static inline bool rs_mul(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static inline bool rs_add(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

/* The same for numbers that are only compared: what is too large is the largest there is. */
static inline int64_t rs_mul_most(int64_t a, int64_t b)
{
    int64_t product;
    return rs_mul(a, b, &product) ? product : INT64_MAX;
}

static inline int64_t rs_add_most(int64_t a, int64_t b)
{
    int64_t sum;
    return rs_add(a, b, &sum) ? sum : INT64_MAX;
}

static inline int64_t rs_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t rs_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Quotient rounded up; a >= 0, b > 0. */
static inline int64_t rs_ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

static inline int64_t rs_gcd(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* Adds a number to a hash (FNV-1a); 0 begins one. */
static inline uint64_t rs_mix(uint64_t hash, int64_t value)
{
    hash = hash == 0 ? UINT64_C(0xcbf29ce484222325) : hash;
    for (int i = 0; i < 8; i++) {
        hash = (hash ^ (((uint64_t)value >> (8 * i)) & 0xff)) * UINT64_C(0x100000001b3);
    }
    return hash;
}

#endif
