/* SPDX-License-Identifier: BSD-3-Clause */
/* past.h - copies past the processors' caches. Lines that are written as a whole need not be fetched first, from memory
   or from whoever has them. */
#ifndef RS_PAST_H
#define RS_PAST_H

#include <stdint.h>

enum { RS_CACHE_LINE = 64 };

#if defined(__x86_64__) && defined(__GNUC__)
#include <emmintrin.h>

/* Whole lines, of memory that begins with one. */
static inline void rs_past_lines(char *to, const char *from, int64_t n)
{
    for (int64_t at = 0; at < n; at += (int64_t)sizeof(__m128i)) {
        _mm_stream_si128((__m128i *)(void *)(to + at), _mm_loadu_si128((const __m128i *)(const void *)(from + at)));
    }
}

/* Before anybody is told that something was copied. */
static inline void rs_past_end(void)
{
    _mm_sfence();
}
#else
#include <string.h>

static inline void rs_past_lines(char *to, const char *from, int64_t n)
{
    memcpy(to, from, (size_t)n);
}

static inline void rs_past_end(void) {}
#endif

#endif
