/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fingerprint_kernels.c - carry-less multiplication: portable, and with the instructions of x86-64.
 *
 * Products have 127 bits. They are added up as they are, and brought back to 64 bits at the end.
 */
#include "geometry/fingerprint_kernels.h"

#include "base/base.h"

#include <endian.h>
#include <stddef.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define HAVE_CLMUL 1
#endif

/* ---- Values ---- */

static inline uint64_t load_2(const char *from)
{
    uint16_t value;
    memcpy(&value, from, sizeof value);
    return le16toh(value);
}

static inline uint64_t load_4(const char *from)
{
    uint32_t value;
    memcpy(&value, from, sizeof value);
    return le32toh(value);
}

/* 1 to 8 bytes, by two loads that may overlap. */
static inline uint64_t load_bytes(const char *from, int size)
{
    if (size >= 4) {
        return load_4(from) | load_4(from + size - 4) << 8 * (size - 4);
    }
    if (size >= 2) {
        return load_2(from) | load_2(from + size - 2) << 8 * (size - 2);
    }
    return (unsigned char)*from;
}

/* Numbers of `swap` bytes reversed. */
static inline uint64_t reverse(uint64_t x, int swap)
{
    switch (swap) {
    case 2: return (x >> 8 & UINT64_C(0x00ff00ff00ff00ff)) | (x & UINT64_C(0x00ff00ff00ff00ff)) << 8;
    case 4: return __builtin_bswap64(x) >> 32 | __builtin_bswap64(x) << 32;
    case 8: return __builtin_bswap64(x);
    default: return x;
    }
}

static inline uint64_t value_at(const rs_plane *p, const char *from, int size)
{
    uint64_t value = load_bytes(from, size);
    for (int k = 1; p->weave != 0 && k < 8 / size; k++) {
        value |= load_bytes(from + k * p->weave, size) << 8 * size * k;
    }
    return reverse(value, p->swap);
}

/* ---- Portable ---- */

typedef unsigned __int128 product;

/*
 * Integer products of every fifth bit: at most 13 ones meet in a place, and what they carry ends before the next place
 * that counts. A diagonal is all products that end at places k, k + 5, ..
 */
static inline product multiply(uint64_t a, uint64_t b)
{
#define FIFTH UINT64_C(0x1084210842108421)
#define PLACES ((product)(FIFTH << 1) << 64 | FIFTH) /* 0, 5, .., 60, 65, .., 125 */
#define TERM(i, k) ((product)(a & FIFTH << (i)) * (b & FIFTH << ((k) + 5 - (i)) % 5))
#define DIAGONAL(k) ((TERM(0, k) ^ TERM(1, k) ^ TERM(2, k) ^ TERM(3, k) ^ TERM(4, k)) & PLACES << (k))
    return DIAGONAL(0) ^ DIAGONAL(1) ^ DIAGONAL(2) ^ DIAGONAL(3) ^ DIAGONAL(4);
}

static inline uint64_t reduce(product x)
{
    return rs_field_reduce((uint64_t)(x >> 64), (uint64_t)x);
}

static uint64_t mul_portable(uint64_t a, uint64_t b)
{
    return reduce(multiply(a, b));
}

static uint64_t plane_portable(const rs_plane *p)
{
    product sum = 0;
    for (int64_t r = 0; r < p->rows; r++) {
        const char *from = p->src + r * p->row_stride;
        product row = 0;
        if (p->head > 0) {
            row = multiply(value_at(p, from, p->head) << p->shift, p->weights[-1]);
            from += p->head;
        }
        for (int64_t i = 0; i < p->n; i++) {
            row ^= multiply(value_at(p, from + i * p->stride, p->size), p->weights[i]);
        }
        if (p->tail > 0) {
            row ^= multiply(value_at(p, from + p->n * p->stride, p->tail), p->weights[p->n]);
        }
        sum ^= multiply(reduce(row), p->row_weights[r]);
    }
    return reduce(sum);
}

static const rs_kernels portable = {mul_portable, plane_portable};

/* ---- x86-64 with PCLMULQDQ: a product of two halves of 128 bits ---- */

#ifdef HAVE_CLMUL

#define XMM __attribute__((target("pclmul,sse4.1")))
#define XMM_INLINE XMM __attribute__((always_inline)) static inline

XMM_INLINE __m128i from_u64(uint64_t x)
{
    return _mm_cvtsi64_si128((long long)x);
}

XMM_INLINE uint64_t reduce_xmm(__m128i x)
{
    return rs_field_reduce((uint64_t)_mm_extract_epi64(x, 1), (uint64_t)_mm_cvtsi128_si64(x));
}

XMM_INLINE __m128i multiply_xmm(uint64_t a, uint64_t b)
{
    return _mm_clmulepi64_si128(from_u64(a), from_u64(b), 0);
}

XMM static uint64_t mul_xmm(uint64_t a, uint64_t b)
{
    return reduce_xmm(multiply_xmm(a, b));
}

/* Of products that were not reduced: the lower and the upper halves of sums, times what they share. */
XMM_INLINE uint64_t reduce_halves(__m128i lo, __m128i hi)
{
    return reduce_xmm(_mm_xor_si128(lo, multiply_xmm(reduce_xmm(hi), 0x1b))); /* x^64 */
}

/* For a shuffle that reverses numbers. */
XMM_INLINE __m128i order_of(int swap)
{
    const __m128i same = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return swap > 1 ? _mm_xor_si128(same, _mm_set1_epi8((char)(swap - 1))) : same;
}

/* Four pairs of two bytes that are `weave` apart. */
XMM_INLINE __m128i load_4_pairs(const char *from, int64_t weave)
{
    return _mm_unpacklo_epi8(_mm_cvtsi32_si128((int)load_4(from)), _mm_cvtsi32_si128((int)load_4(from + weave)));
}

/* Halves of four words: their lower or upper 32 bits. */
XMM_INLINE __m128i load_4_halves(const char *from, int size, int64_t weave)
{
    switch (size) {
    case 1: return _mm_unpacklo_epi16(load_4_pairs(from, weave), load_4_pairs(from + 2 * weave, weave));
    case 2:
        return _mm_unpacklo_epi16(_mm_loadl_epi64((const void *)from), _mm_loadl_epi64((const void *)(from + weave)));
    default: return _mm_loadu_si128((const void *)from);
    }
}

/* Products of two values: those of the lower halves, those of the upper halves. */
typedef struct pair_xmm {
    __m128i lo, hi;
} pair_xmm;

XMM_INLINE void add_2(pair_xmm *sum, __m128i value, const uint64_t *weights)
{
    const __m128i weight = _mm_loadu_si128((const void *)weights);
    sum->lo = _mm_xor_si128(sum->lo, _mm_clmulepi64_si128(value, weight, 0x00));
    sum->hi = _mm_xor_si128(sum->hi, _mm_clmulepi64_si128(value, weight, 0x11));
}

/* Values one by one; this serves any size and stride. */
XMM_INLINE __m128i add_values(const rs_plane *p, const char *from, int64_t i, __m128i sum)
{
    for (; i < p->n; i++) {
        const uint64_t value = value_at(p, from + i * p->stride, p->size);
        sum = _mm_xor_si128(sum, multiply_xmm(value, p->weights[i]));
    }
    return sum;
}

XMM_INLINE __m128i add_ends(const rs_plane *p, const char *from, __m128i sum)
{
    if (p->head > 0) {
        sum = _mm_xor_si128(sum, multiply_xmm(value_at(p, from, p->head) << p->shift, p->weights[-1]));
    }
    if (p->tail > 0) {
        const uint64_t value = value_at(p, from + p->head + p->n * p->stride, p->tail);
        sum = _mm_xor_si128(sum, multiply_xmm(value, p->weights[p->n]));
    }
    return sum;
}

/* size, a constant where this is inlined: 8, words as they are; 1, 2, 4, words of such parts; 0, one by one. */
XMM_INLINE __m128i add_row_xmm(const rs_plane *p, const char *row, int size, __m128i order)
{
    const char *from = row + p->head;
    pair_xmm sum = {_mm_setzero_si128(), _mm_setzero_si128()};
    int64_t i = 0;
    for (; size == 8 && i + 2 <= p->n; i += 2) {
        add_2(&sum, _mm_shuffle_epi8(_mm_loadu_si128((const void *)(from + i * 8)), order), p->weights + i);
    }
    for (; size % 8 != 0 && i + 4 <= p->n; i += 4) {
        const __m128i lo = load_4_halves(from + i * size, size, p->weave);
        const __m128i hi = load_4_halves(from + i * size + 4 / size * p->weave, size, p->weave);
        add_2(&sum, _mm_shuffle_epi8(_mm_unpacklo_epi32(lo, hi), order), p->weights + i);
        add_2(&sum, _mm_shuffle_epi8(_mm_unpackhi_epi32(lo, hi), order), p->weights + i + 2);
    }
    return add_ends(p, row, add_values(p, from, i, _mm_xor_si128(sum.lo, sum.hi)));
}

XMM_INLINE uint64_t rows_xmm(const rs_plane *p, int size)
{
    const __m128i order = order_of(p->swap);
    pair_xmm sum = {_mm_setzero_si128(), _mm_setzero_si128()};
    for (int64_t r = 0; r < p->rows; r++) {
        const __m128i all = add_row_xmm(p, p->src + r * p->row_stride, size, order);
        const __m128i weight = from_u64(p->row_weights[r]);
        sum.lo = _mm_xor_si128(sum.lo, _mm_clmulepi64_si128(all, weight, 0x00));
        sum.hi = _mm_xor_si128(sum.hi, _mm_clmulepi64_si128(all, weight, 0x01));
    }
    return reduce_halves(sum.lo, sum.hi);
}

/* Of values, or parts, that lie one after the other and have a load of their own; else 0. */
static inline int dense_size(const rs_plane *p)
{
    return p->stride == p->size && (p->size & (p->size - 1)) == 0 ? p->size : 0;
}

XMM static uint64_t plane_xmm(const rs_plane *p)
{
    switch (p->weave != 0 || p->size == 8 ? dense_size(p) : 0) {
    case 1: return rows_xmm(p, 1);
    case 2: return rows_xmm(p, 2);
    case 4: return rows_xmm(p, 4);
    case 8: return rows_xmm(p, 8);
    default: return rows_xmm(p, 0);
    }
}

static const rs_kernels xmm = {mul_xmm, plane_xmm};

/* ---- With VPCLMULQDQ: two at once ---- */

#define YMM __attribute__((target("pclmul,avx2,vpclmulqdq")))
#define YMM_INLINE YMM __attribute__((always_inline)) static inline

typedef struct pair_ymm {
    __m256i lo, hi;
} pair_ymm;

YMM_INLINE __m256i load_4_values(const char *from, int size)
{
    switch (size) {
    case 1: return _mm256_cvtepu8_epi64(_mm_cvtsi32_si128((int)load_4(from)));
    case 2: return _mm256_cvtepu16_epi64(_mm_loadl_epi64((const void *)from));
    case 4: return _mm256_cvtepu32_epi64(_mm_loadu_si128((const void *)from));
    default: return _mm256_loadu_si256((const void *)from);
    }
}

YMM_INLINE __m256i load_4_woven(const char *from, int size, int64_t weave)
{
    const __m128i lo = load_4_halves(from, size, weave), hi = load_4_halves(from + 4 / size * weave, size, weave);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_unpacklo_epi32(lo, hi)), _mm_unpackhi_epi32(lo, hi), 1);
}

YMM_INLINE void add_4(pair_ymm *sum, __m256i value, const uint64_t *weights)
{
    const __m256i weight = _mm256_loadu_si256((const void *)weights);
    sum->lo = _mm256_xor_si256(sum->lo, _mm256_clmulepi64_epi128(value, weight, 0x00));
    sum->hi = _mm256_xor_si256(sum->hi, _mm256_clmulepi64_epi128(value, weight, 0x11));
}

YMM_INLINE __m256i load_step(const rs_plane *p, const char *from, int size, bool woven)
{
    return woven ? load_4_woven(from, size, p->weave) : load_4_values(from, size);
}

/* Four values at a time; what is left by a step that ends at the last, without what was taken before. */
YMM_INLINE __m256i add_row_ymm(const rs_plane *p, const char *from, int size, bool woven, __m256i order)
{
    static const int64_t lanes[8] = {0, 0, 0, 0, -1, -1, -1, -1};
    const int64_t ahead = p->rows > 1 ? p->row_stride : 512; /* bytes; to the same place in the next row */
    pair_ymm sum = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    int64_t i = 0;
    for (; i + 4 <= p->n; i += 4) {
        const char *at = from + i * size;
        if (woven) { /* short streams, which the machine does not foresee */
            __builtin_prefetch(at + ahead + i / 4 % (8 / size) * p->weave);
        } else {
            __builtin_prefetch(at + 2048);
        }
        add_4(&sum, _mm256_shuffle_epi8(load_step(p, at, size, woven), order), p->weights + i);
    }
    if (i < p->n) {
        const __m256i last = _mm256_loadu_si256((const void *)(lanes + (p->n - i)));
        const __m256i value = _mm256_and_si256(load_step(p, from + (p->n - 4) * size, size, woven), last);
        add_4(&sum, _mm256_shuffle_epi8(value, order), p->weights + p->n - 4);
    }
    return _mm256_xor_si256(sum.lo, sum.hi);
}

YMM_INLINE uint64_t rows_ymm(const rs_plane *p, int size, bool woven)
{
    const __m256i order = _mm256_broadcastsi128_si256(order_of(p->swap)), zero = _mm256_setzero_si256();
    pair_ymm sum = {zero, zero};
    for (int64_t r = 0; r < p->rows; r++) {
        const char *row = p->src + r * p->row_stride;
        __m256i all = add_row_ymm(p, row + p->head, size, woven, order);
        if (p->head + p->tail > 0) {
            all = _mm256_xor_si256(all, _mm256_inserti128_si256(zero, add_ends(p, row, _mm_setzero_si128()), 0));
        }
        const __m256i weight = _mm256_set1_epi64x((long long)p->row_weights[r]);
        sum.lo = _mm256_xor_si256(sum.lo, _mm256_clmulepi64_epi128(all, weight, 0x00));
        sum.hi = _mm256_xor_si256(sum.hi, _mm256_clmulepi64_epi128(all, weight, 0x01));
    }
    return reduce_halves(_mm_xor_si128(_mm256_castsi256_si128(sum.lo), _mm256_extracti128_si256(sum.lo, 1)),
                         _mm_xor_si128(_mm256_castsi256_si128(sum.hi), _mm256_extracti128_si256(sum.hi, 1)));
}

YMM static uint64_t plane_ymm(const rs_plane *p)
{
    const bool woven = p->weave != 0;
    switch (p->n >= 4 ? dense_size(p) : 0) {
    case 1: return woven ? rows_ymm(p, 1, true) : rows_ymm(p, 1, false);
    case 2: return woven ? rows_ymm(p, 2, true) : rows_ymm(p, 2, false);
    case 4: return woven ? rows_ymm(p, 4, true) : rows_ymm(p, 4, false);
    case 8: return rows_ymm(p, 8, false);
    default: return plane_xmm(p);
    }
}

static const rs_kernels ymm = {mul_xmm, plane_ymm};

/* ---- With AVX-512: four at once, and what rows have of their first and last word in the same vectors ---- */

#define ZMM __attribute__((target("pclmul,avx512f,avx512bw,vpclmulqdq")))
#define ZMM_INLINE ZMM __attribute__((always_inline)) static inline

enum { VECTOR = 64, WORDS = 8 }; /* bytes of a vector, words in it */

/* A row as vectors that begin at its first word: which of their bytes it has, and which weights. */
typedef struct shape_zmm {
    int64_t before, n; /* bytes of the first word that are not the row's; vectors */
    uint64_t first, last;
    uint8_t weights; /* of the last vector */
} shape_zmm;

ZMM_INLINE shape_zmm shape_of(const rs_plane *p)
{
    const int64_t before = p->head > 0 ? p->shift / 8 : 0, end = before + p->head + 8 * p->n + p->tail;
    const int64_t n = (end + VECTOR - 1) / VECTOR, left = end - (n - 1) * VECTOR;
    shape_zmm s = {before, n, UINT64_MAX << before, UINT64_MAX >> (VECTOR - left), 0};
    s.weights = (uint8_t)(UINT8_MAX >> (WORDS - (left + 7) / 8));
    s.first &= n == 1 ? s.last : UINT64_MAX;
    return s;
}

typedef struct pair_zmm {
    __m512i lo, hi;
} pair_zmm;

ZMM_INLINE void add_8(pair_zmm *sum, __m512i value, __m512i weight)
{
    sum->lo = _mm512_xor_si512(sum->lo, _mm512_clmulepi64_epi128(value, weight, 0x00));
    sum->hi = _mm512_xor_si512(sum->hi, _mm512_clmulepi64_epi128(value, weight, 0x11));
}

ZMM_INLINE __m512i add_row_zmm(const char *from, const shape_zmm *s, const uint64_t *weights, __m512i order)
{
    pair_zmm sum = {_mm512_setzero_si512(), _mm512_setzero_si512()};
    const int64_t last = s->n - 1;
    uint64_t mask = s->first;
    for (int64_t i = 0; i < last; i++) {
        __builtin_prefetch(from + i * VECTOR + 2048);
        const __m512i value = _mm512_maskz_loadu_epi8(mask, from + i * VECTOR);
        add_8(&sum, _mm512_shuffle_epi8(value, order), _mm512_loadu_si512(weights + i * WORDS));
        mask = UINT64_MAX;
    }
    __builtin_prefetch(from + last * VECTOR + 2048);
    const __m512i value = _mm512_maskz_loadu_epi8(last > 0 ? s->last : s->first, from + last * VECTOR);
    add_8(&sum, _mm512_shuffle_epi8(value, order), _mm512_maskz_loadu_epi64(s->weights, weights + last * WORDS));
    return _mm512_xor_si512(sum.lo, sum.hi);
}

ZMM_INLINE __m128i fold(__m512i x)
{
    const __m256i half = _mm256_xor_si256(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1));
    return _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

/* Rows of words. */
ZMM static uint64_t rows_zmm(const rs_plane *p)
{
    const __m512i order = _mm512_broadcast_i32x4(order_of(p->swap));
    const shape_zmm s = shape_of(p);
    const uint64_t *weights = p->weights - (p->head > 0);
    pair_zmm sum = {_mm512_setzero_si512(), _mm512_setzero_si512()};
    for (int64_t r = 0; r < p->rows; r++) {
        const __m512i all = add_row_zmm(p->src + r * p->row_stride - s.before, &s, weights, order);
        const __m512i weight = _mm512_set1_epi64((long long)p->row_weights[r]);
        sum.lo = _mm512_xor_si512(sum.lo, _mm512_clmulepi64_epi128(all, weight, 0x00));
        sum.hi = _mm512_xor_si512(sum.hi, _mm512_clmulepi64_epi128(all, weight, 0x01));
    }
    return reduce_halves(fold(sum.lo), fold(sum.hi));
}

static uint64_t plane_zmm(const rs_plane *p)
{
    return dense_size(p) == 8 && p->rows > 0 ? rows_zmm(p) : plane_ymm(p);
}

static const rs_kernels zmm = {mul_xmm, plane_zmm};

#endif

const rs_kernels *rs_kernels_here(int i)
{
#ifdef HAVE_CLMUL
    const bool has_xmm = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
    const bool has_ymm = has_xmm && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("vpclmulqdq");
    const bool has_zmm = has_ymm && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
    if (has_zmm && i-- == 0) {
        return &zmm;
    }
    if (has_ymm && i-- == 0) {
        return &ymm;
    }
    if (has_xmm && i-- == 0) {
        return &xmm;
    }
#endif
    return i == 0 ? &portable : NULL;
}
