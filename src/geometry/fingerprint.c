/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fingerprint.c - sums of values times weights over boxes.
 *
 * The work is done a segment at a time: at most 256 elements whose weights are in a table, times one weight that they
 * share. A segment is a stretch of the fastest axis, the table that of its low digit; where that axis is short, a few rows
 * of the next axis are taken along, with a table made for the box. Inside a segment there are only products of 16 by 31
 * bits added up in 64 bits, which vectorise; the field is entered once at its end.
 */
#include "geometry/fingerprint.h"

#include <endian.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define HAVE_AVX2 1
#endif

#define PRIME RS_FINGERPRINT_PRIME
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

enum { DIGIT = RS_FINGERPRINT_DIGIT, SMALL = RS_FINGERPRINT_SMALL };

/* All measured. */
enum {
    WORTH_A_TABLE = 32, /* ends of rows that cost as much as a table of 256 weights */
    SHORT = 32,         /* elements of a row that cost as much as its end */
    PAGES = 256,        /* places in memory that can be visited in turn without forgetting the first */
};

/* Which weights: of the high and the low digit of a position along an axis, of a word in an element. */
enum { KIND_HIGH = 1, KIND_LOW = 2, KIND_WORD = 3 };

/* ---- The field, and its pseudo-random elements ---- */

/* Any number in one below 2^61 + 8 that is the same in the field, where 2^61 is 1. */
static uint64_t fold(uint64_t x)
{
    return (x & PRIME) + (x >> 61);
}

/* Inputs below 2^62; the result is below 2^61 + 8. Branches would be taken at random, so there are none. */
static uint64_t field_mul(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return fold(((uint64_t)product & PRIME) + (uint64_t)(product >> 61));
}

/* The one number below the prime. */
static uint64_t reduce(uint64_t x)
{
    return rs_fingerprint_add(fold(fold(x)), 0);
}

/* One step of splitmix64 (Steele, Lea, Flood 2014) from state x. */
static uint64_t mix(uint64_t x)
{
    x += GOLDEN;
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t stream_of(int kind, int axis)
{
    return mix(((uint64_t)kind << 32) | (uint64_t)axis);
}

/* Output i of splitmix64 started at `stream`, brought to 1 .. PRIME - 1. */
static uint64_t weight_of(uint64_t stream, uint64_t i)
{
    uint64_t x = mix(stream + i * GOLDEN) >> 3;
    return x >= PRIME - 1 ? x - (PRIME - 2) : x + 1;
}

static uint64_t weight_high(uint64_t stream, int64_t i)
{
    return weight_of(stream, (uint64_t)i / DIGIT);
}

static uint64_t weight_low(uint64_t stream, int64_t i)
{
    return weight_of(stream, (uint64_t)i % DIGIT);
}

static void set_weight(rs_weights *table, int64_t i, uint64_t weight)
{
    weight = reduce(weight);
    table->lo[i] = (uint32_t)(weight & 0x7fffffff);
    table->hi[i] = (uint32_t)(weight >> 31);
}

/* lo + 2^31 hi, below 2^62; lo < 2^56 and hi < 2^55, as 256 words give. */
static uint64_t join(uint64_t lo, uint64_t hi)
{
    return lo + ((hi & 0x3fffffff) << 31) + (hi >> 30);
}

/* ---- Kernels ---- */

/* Values are taken least significant byte first: LITTLE is nothing on most machines. */
#define PLAIN_KERNEL(name, TYPE, WORDS, LITTLE)                                                                        \
    static void name(const char *src, int64_t n, const uint32_t *lo, const uint32_t *hi, uint64_t *sums)               \
    {                                                                                                                  \
        for (int k = 0; k < (WORDS); k++) {                                                                            \
            uint64_t sum_lo = 0, sum_hi = 0;                                                                           \
            for (int64_t i = 0; i < n; i++) {                                                                          \
                TYPE value;                                                                                            \
                memcpy(&value, src + i * (int64_t)sizeof value, sizeof value);                                         \
                uint64_t word = (uint16_t)(LITTLE(value) >> (16 * k));                                                 \
                sum_lo += word * lo[i];                                                                                \
                sum_hi += word * hi[i];                                                                                \
            }                                                                                                          \
            sums[2 * k] = sum_lo;                                                                                      \
            sums[2 * k + 1] = sum_hi;                                                                                  \
        }                                                                                                              \
    }

PLAIN_KERNEL(plain_1, uint8_t, 1, )
PLAIN_KERNEL(plain_2, uint16_t, 1, le16toh)
PLAIN_KERNEL(plain_4, uint32_t, 2, le32toh)
PLAIN_KERNEL(plain_8, uint64_t, 4, le64toh)

static rs_fingerprint_kernel *const plain_kernels[] = {plain_1, plain_2, plain_4, plain_8};

/* Numbers of `size` bytes reversed, in place or from elsewhere. */
static void reverse_plain(char *dst, const char *src, int64_t bytes, int64_t size)
{
    for (int64_t at = 0; at < bytes; at += size) {
        for (int64_t i = at, j = at + size - 1; i <= j; i++, j--) {
            char byte = src[i];
            dst[i] = src[j];
            dst[j] = byte;
        }
    }
}

#ifdef HAVE_AVX2

#define AVX2 __attribute__((target("avx2")))

/* Four sums each. */
typedef struct pair {
    __m256i lo, hi;
} pair;

AVX2 static inline __m128i load_16(const void *from)
{
    return _mm_loadu_si128(from);
}

AVX2 static inline __m256i load_32(const void *from)
{
    return _mm256_loadu_si256(from);
}

/* Ones in the last n of eight 32-bit lanes. */
AVX2 static inline __m256i last_lanes(int64_t n)
{
    static const int32_t lanes[16] = {0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1};
    return load_32(lanes + n);
}

/* Four words: multiplication takes the lower halves of 64 bits. */
AVX2 static inline void add_4(pair *sum, __m256i word, __m256i lo, __m256i hi)
{
    sum->lo = _mm256_add_epi64(sum->lo, _mm256_mul_epu32(word, lo));
    sum->hi = _mm256_add_epi64(sum->hi, _mm256_mul_epu32(word, hi));
}

/* Eight words in lanes of 32 bits: the even ones, then the odd ones. */
AVX2 static inline void add_8(pair *sum, __m256i word, __m256i lo, __m256i hi)
{
    add_4(sum, word, lo, hi);
    add_4(sum, _mm256_srli_epi64(word, 32), _mm256_srli_epi64(lo, 32), _mm256_srli_epi64(hi, 32));
}

AVX2 static inline void put(const pair *sum, uint64_t *sums)
{
    __m256i both = _mm256_add_epi64(_mm256_unpacklo_epi64(sum->lo, sum->hi), _mm256_unpackhi_epi64(sum->lo, sum->hi));
    _mm_storeu_si128((void *)sums, _mm_add_epi64(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1)));
}

/* What is left after the last whole step is taken by a step that ends there, without what was taken before. */

AVX2 static void avx2_1(const char *src, int64_t n, const uint32_t *lo, const uint32_t *hi, uint64_t *sums)
{
    if (n < 8) {
        plain_1(src, n, lo, hi, sums);
        return;
    }
    pair sum = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        add_8(&sum, _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)(src + i))), load_32(lo + i), load_32(hi + i));
    }
    if (i < n) {
        __m256i word = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)(src + n - 8)));
        add_8(&sum, _mm256_and_si256(word, last_lanes(n - i)), load_32(lo + n - 8), load_32(hi + n - 8));
    }
    put(&sum, sums);
}

AVX2 static void avx2_2(const char *src, int64_t n, const uint32_t *lo, const uint32_t *hi, uint64_t *sums)
{
    if (n < 8) {
        plain_2(src, n, lo, hi, sums);
        return;
    }
    pair sum = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        add_8(&sum, _mm256_cvtepu16_epi32(load_16(src + 2 * i)), load_32(lo + i), load_32(hi + i));
    }
    if (i < n) {
        __m256i word = _mm256_cvtepu16_epi32(load_16(src + 2 * (n - 8)));
        add_8(&sum, _mm256_and_si256(word, last_lanes(n - i)), load_32(lo + n - 8), load_32(hi + n - 8));
    }
    put(&sum, sums);
}

AVX2 static inline void add_values_4(pair *sum, __m256i value, const uint32_t *lo, const uint32_t *hi)
{
    const __m256i l = load_32(lo), h = load_32(hi);
    add_8(&sum[0], _mm256_and_si256(value, _mm256_set1_epi32(0xffff)), l, h);
    add_8(&sum[1], _mm256_srli_epi32(value, 16), l, h);
}

AVX2 static void avx2_4(const char *src, int64_t n, const uint32_t *lo, const uint32_t *hi, uint64_t *sums)
{
    if (n < 8) {
        plain_4(src, n, lo, hi, sums);
        return;
    }
    const pair zero = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    pair sum[2] = {zero, zero};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        add_values_4(sum, load_32(src + 4 * i), lo + i, hi + i);
    }
    if (i < n) {
        __m256i value = _mm256_and_si256(load_32(src + 4 * (n - 8)), last_lanes(n - i));
        add_values_4(sum, value, lo + n - 8, hi + n - 8);
    }
    put(&sum[0], sums);
    put(&sum[1], sums + 2);
}

AVX2 static inline void add_values_8(pair *sum, __m256i value, const uint32_t *lo, const uint32_t *hi)
{
    const __m256i l = _mm256_cvtepu32_epi64(load_16(lo)), h = _mm256_cvtepu32_epi64(load_16(hi));
    const __m256i even = _mm256_and_si256(value, _mm256_set1_epi32(0xffff)), odd = _mm256_srli_epi32(value, 16);
    add_4(&sum[0], even, l, h);
    add_4(&sum[1], odd, l, h);
    add_4(&sum[2], _mm256_srli_epi64(even, 32), l, h);
    add_4(&sum[3], _mm256_srli_epi64(odd, 32), l, h);
}

AVX2 static void avx2_8(const char *src, int64_t n, const uint32_t *lo, const uint32_t *hi, uint64_t *sums)
{
    if (n < 4) {
        plain_8(src, n, lo, hi, sums);
        return;
    }
    const pair zero = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    pair sum[4] = {zero, zero, zero, zero};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        add_values_8(sum, load_32(src + 8 * i), lo + i, hi + i);
    }
    if (i < n) {
        __m256i value = _mm256_and_si256(load_32(src + 8 * (n - 4)), last_lanes(2 * (n - i)));
        add_values_8(sum, value, lo + n - 4, hi + n - 4);
    }
    put(&sum[0], sums);
    put(&sum[1], sums + 2);
    put(&sum[2], sums + 4);
    put(&sum[3], sums + 6);
}

static rs_fingerprint_kernel *const avx2_kernels[] = {avx2_1, avx2_2, avx2_4, avx2_8};

/* size 2, 4 or 8 */
AVX2 static void reverse_avx2(char *dst, const char *src, int64_t bytes, int64_t size)
{
    char order[32];
    for (int i = 0; i < 32; i++) {
        order[i] = (char)((i % 16) ^ (int)(size - 1));
    }
    const __m256i shuffle = load_32(order);
    int64_t at = 0;
    for (; at + 32 <= bytes; at += 32) {
        _mm256_storeu_si256((void *)(dst + at), _mm256_shuffle_epi8(load_32(src + at), shuffle));
    }
    reverse_plain(dst + at, src + at, bytes - at, size);
}

#endif

static rs_fingerprint_kernel *const *kernels_here(void)
{
#ifdef HAVE_AVX2
    if (__builtin_cpu_supports("avx2")) {
        return avx2_kernels;
    }
#endif
    return plain_kernels;
}

static void reverse(const rs_fingerprint *f, char *dst, const char *src, int64_t bytes)
{
#ifdef HAVE_AVX2
    if (f->kernel == avx2_kernels && (f->swap == 2 || f->swap == 4 || f->swap == 8)) {
        reverse_avx2(dst, src, bytes, f->swap);
        return;
    }
#endif
    reverse_plain(dst, src, bytes, f->swap);
}

/* ---- Segments ---- */

/* At most 256 elements, and the weights they do not share. */
typedef struct segment {
    int64_t extent[2], strides[2]; /* bytes; rows, and elements in a row */
    const uint32_t *lo, *hi;
} segment;

/* n values of 2^kernel bytes, one after the other; `word` are the weights of their words. */
static inline uint64_t sum_values(const rs_fingerprint *f, int kernel, const char *src, int64_t n, const segment *s,
                                  const uint64_t *word)
{
    uint64_t sums[8];
    f->kernel[kernel](src, n, s->lo, s->hi, sums);
    uint64_t sum = field_mul(join(sums[0], sums[1]), word[0]);
    for (int k = 1; k < 1 << kernel >> 1; k++) {
        sum += field_mul(join(sums[2 * k], sums[2 * k + 1]), word[k]);
    }
    return fold(sum);
}

/* The elements one after the other, least significant byte first. */
static const char *make_dense(const rs_fingerprint *f, const segment *s, const char *src, char *room)
{
    const int64_t row = s->extent[1] * f->itemsize;
    if (s->strides[1] != f->itemsize || (s->extent[0] > 1 && s->strides[0] != row)) {
        rs_copy(2, s->extent, f->itemsize, room, (int64_t[]){row, f->itemsize}, src, s->strides);
        src = room;
    }
    if (f->swap != 0) {
        reverse(f, room, src, s->extent[0] * row);
        src = room;
    }
    return src;
}

/* Elements that must be brought into another form first, or are of a size for which there is no kernel. */
static uint64_t sum_parts(const rs_fingerprint *f, const segment *s, const char *src)
{
    char room[DIGIT * SMALL], parts[DIGIT * 8];
    const int64_t n = s->extent[0] * s->extent[1], size = f->itemsize;
    src = make_dense(f, s, src, room);
    if (f->whole >= 0) {
        return sum_values(f, f->whole, src, n, s, f->word);
    }
    uint64_t sum = 0;
    const uint64_t *word = f->word;
    for (int64_t at = 0; at < size;) {
        const int kernel = size % 2 != 0 ? 0 : size - at >= 8 ? 3 : size - at >= 4 ? 2 : 1;
        const int64_t part = INT64_C(1) << kernel;
        rs_copy(1, &n, part, parts, &part, src + at, &size);
        sum = fold(sum + sum_values(f, kernel, parts, n, s, word));
        word += rs_max(1, part / 2);
        at += part;
    }
    return sum;
}

/* Small elements only. */
static inline uint64_t sum_segment(const rs_fingerprint *f, const segment *s, const char *src)
{
    if (f->whole >= 0 && f->swap == 0 && s->extent[0] == 1 && s->strides[1] == f->itemsize) {
        return sum_values(f, f->whole, src, s->extent[1], s, f->word);
    }
    return sum_parts(f, s, src);
}

/* ---- Walking over a box ---- */

/* An axis as a box has it. */
typedef struct side {
    uint64_t high, low; /* streams of weights */
    int axis;
    int64_t lo, hi, stride;
} side;

/* The sides that are stepped through, the slowest first, and where we are. */
typedef struct walk {
    int n;
    side side[RS_MAX_NDIM];
    int64_t at[RS_MAX_NDIM];
    uint64_t weight[RS_MAX_NDIM + 1]; /* of the position along the first d sides */
    uint64_t digit[RS_MAX_NDIM];      /* weight[d] times that of the high digit of at[d] */
    const char *src;
} walk;

static uint64_t side_weight(const side *s, int64_t i)
{
    return field_mul(weight_high(s->high, i), weight_low(s->low, i));
}

/* Of sides `from` and after. */
static void walk_weigh(walk *w, int from)
{
    for (int d = from; d < w->n; d++) {
        w->digit[d] = field_mul(w->weight[d], weight_high(w->side[d].high, w->at[d]));
        w->weight[d + 1] = field_mul(w->digit[d], weight_low(w->side[d].low, w->at[d]));
    }
}

static void walk_start(walk *w, const char *src)
{
    w->src = src;
    w->weight[0] = 1;
    for (int d = 0; d < w->n; d++) {
        w->at[d] = w->side[d].lo;
    }
    walk_weigh(w, 0);
}

static bool walk_next(walk *w)
{
    for (int d = w->n - 1; d >= 0; d--) {
        const side *s = &w->side[d];
        if (w->at[d] + 1 < s->hi) {
            w->src += s->stride;
            if (++w->at[d] % DIGIT == 0) {
                walk_weigh(w, d);
            } else {
                w->weight[d + 1] = field_mul(w->digit[d], weight_low(s->low, w->at[d]));
                walk_weigh(w, d + 1);
            }
            return true;
        }
        w->src -= s->stride * (w->at[d] - s->lo);
        w->at[d] = s->lo;
    }
    return false;
}

/* Sides are sorted by this, the largest first: the last is the one along which memory is read. */
static int64_t side_rank(const side *s)
{
    return s->hi - s->lo == 1 ? INT64_MAX : s->stride;
}

/* False: an empty box. */
static bool walk_init(walk *w, int ndim, const rs_box *box, const rs_view *view)
{
    w->n = 0;
    for (int d = 0; d < ndim; d++) {
        if (box->lo[d] >= box->hi[d]) {
            return false;
        }
        side s = {stream_of(KIND_HIGH, d), stream_of(KIND_LOW, d), d, box->lo[d], box->hi[d], view->strides[d]};
        int i = w->n++;
        for (; i > 0 && side_rank(&w->side[i - 1]) < side_rank(&s); i--) {
            w->side[i] = w->side[i - 1];
        }
        w->side[i] = s;
    }
    return true;
}

/* ---- Boxes ---- */

/* One segment for each position of the walk. */
static uint64_t sum_segments(const rs_fingerprint *f, walk *w, const segment *s, const char *src)
{
    uint64_t sum = 0;
    walk_start(w, src);
    do {
        sum = fold(sum + field_mul(w->weight[w->n], sum_segment(f, s, w->src)));
    } while (walk_next(w));
    return sum;
}

/* Short rows, some of `rows` together: their table is made here, and serves all other positions. */
static uint64_t sum_short(const rs_fingerprint *f, walk *w, const side *rows, const side *line, const char *src)
{
    const int64_t length = line->hi - line->lo, most = DIGIT / length;
    uint64_t sum = 0, weight[DIGIT];
    for (int64_t j = 0; j < length; j++) {
        weight[j] = side_weight(line, line->lo + j);
    }
    for (int64_t i = rows->lo; i < rows->hi; i += most) {
        rs_weights table;
        int64_t n = rs_min(most, rows->hi - i);
        for (int64_t k = 0; k < n; k++) {
            uint64_t row = side_weight(rows, i + k);
            for (int64_t j = 0; j < length; j++) {
                set_weight(&table, k * length + j, field_mul(row, weight[j]));
            }
        }
        segment s = {{n, length}, {rows->stride, line->stride}, table.lo, table.hi};
        sum = fold(sum + sum_segments(f, w, &s, src + (i - rows->lo) * rows->stride));
    }
    return sum;
}

/* The weights of the low digit along a side: from the tables there are, or made in `room`. */
static const rs_weights *low_weights(const rs_fingerprint *f, const side *s, rs_weights *room)
{
    for (int which = 0; which < 2; which++) {
        if (s->axis == f->fast[which]) {
            return &f->table[which];
        }
    }
    for (int64_t i = s->lo; i < rs_min(s->hi, s->lo + DIGIT); i++) {
        set_weight(room, i % DIGIT, weight_low(s->low, i));
    }
    return room;
}

/* What lies along a side from position i to the next high digit. */
static segment segment_at(const side *s, const rs_weights *table, int64_t i)
{
    const int64_t low = i % DIGIT, n = rs_min(DIGIT - low, s->hi - i);
    return (segment){{1, n}, {0, s->stride}, table->lo + low, table->hi + low};
}

/* Rows too short to be worth a segment, without other positions that would share a table: columns are gathered. */
static uint64_t sum_columns(const rs_fingerprint *f, walk *w, const side *rows, const char *src)
{
    rs_weights room;
    const rs_weights *table = low_weights(f, rows, &room);
    uint64_t sum = 0;
    for (int64_t i = rows->lo; i < rows->hi;) {
        const segment s = segment_at(rows, table, i);
        uint64_t part = sum_segments(f, w, &s, src + (i - rows->lo) * rows->stride);
        sum = fold(sum + field_mul(part, weight_high(rows->high, i)));
        i += s.extent[1];
    }
    return sum;
}

static uint64_t sum_row(const rs_fingerprint *f, const side *line, const rs_weights *table, const char *src)
{
    uint64_t sum = 0;
    for (int64_t i = line->lo; i < line->hi;) {
        const segment s = segment_at(line, table, i);
        uint64_t part = sum_segment(f, &s, src + (i - line->lo) * line->stride);
        sum = fold(sum + field_mul(part, weight_high(line->high, i)));
        i += s.extent[1];
    }
    return sum;
}

static uint64_t sum_rows(const rs_fingerprint *f, walk *w, const side *line, const char *src)
{
    rs_weights room;
    const rs_weights *table = low_weights(f, line, &room);
    uint64_t sum = 0;
    walk_start(w, src);
    do {
        sum = fold(sum + field_mul(w->weight[w->n], sum_row(f, line, table, w->src)));
    } while (walk_next(w));
    return sum;
}

/* Large elements: the words of one are the row. */
static uint64_t sum_large(const rs_fingerprint *f, walk *w, const char *src)
{
    const int64_t size = f->itemsize % 2 == 0 ? 2 : 1, most = DIGIT * size;
    const uint64_t stream = stream_of(KIND_WORD, 0);
    uint64_t sum = 0;
    for (int64_t at = 0; at < f->itemsize; at += most) {
        rs_weights table;
        char room[DIGIT * 2];
        const int64_t bytes = rs_min(most, f->itemsize - at);
        for (int64_t k = 0; k < bytes / size; k++) {
            set_weight(&table, k, weight_of(stream, (uint64_t)(at / size + k)));
        }
        walk_start(w, src);
        do {
            const char *from = w->src + at;
            if (f->swap != 0) {
                for (int64_t i = 0; i < bytes; i++) { /* byte i of a number is found as far from its end */
                    int64_t within = (at + i) % f->swap;
                    room[i] = from[i - within + (f->swap - 1 - within)];
                }
                from = room;
            }
            uint64_t sums[2];
            f->kernel[size - 1](from, bytes / size, table.lo, table.hi, sums);
            sum = fold(sum + field_mul(w->weight[w->n], join(sums[0], sums[1])));
        } while (walk_next(w));
    }
    return sum;
}

/* Each table is taken to all other positions, which are far apart in memory: to so many that their pages stay known. */
static uint64_t sum_slabs(const rs_fingerprint *f, walk *w, const side *rows, const side *line, const char *src)
{
    side *slowest = &w->side[0];
    while (slowest->hi - slowest->lo == 1 && slowest < &w->side[w->n - 1]) {
        slowest++;
    }
    const int64_t lo = slowest->lo, hi = slowest->hi;
    int64_t positions = 1; /* for each along the slowest side */
    for (const side *s = slowest + 1; s < &w->side[w->n]; s++) {
        positions *= s->hi - s->lo;
    }
    const int64_t step = rs_max(1, PAGES / positions);
    uint64_t sum = 0;
    for (int64_t i = lo; i < hi; i += step) {
        slowest->lo = i;
        slowest->hi = rs_min(hi, i + step);
        sum = fold(sum + sum_short(f, w, rows, line, src + (i - lo) * slowest->stride));
    }
    return sum;
}

static uint64_t sum_box(const rs_fingerprint *f, int ndim, const rs_box *box, const rs_view *view)
{
    walk w;
    if (!walk_init(&w, ndim, box, view)) {
        return 0;
    }
    const char *src = view->base + rs_box_offset(ndim, &view->box, view->strides, box->lo);
    if (f->itemsize > SMALL) {
        return sum_large(f, &w, src);
    }
    if (w.n == 0) {
        static const uint32_t one = 1, none = 0;
        return sum_segments(f, &w, &(segment){{1, 1}, {0, f->itemsize}, &one, &none}, src);
    }
    const side line = w.side[--w.n];
    const int64_t length = line.hi - line.lo;
    if (w.n == 0 || 2 * length > DIGIT) {
        return sum_rows(f, &w, &line, src);
    }
    const side rows = w.side[w.n - 1];
    const int64_t count = rows.hi - rows.lo, times = rs_box_volume(ndim, box) / count / length;
    const int64_t together = rs_min(count, DIGIT / length);
    const bool gaps = line.stride != f->itemsize || rows.stride != length * line.stride;
    if (times > 1 && (together - 1) * times >= WORTH_A_TABLE && (!gaps || length <= SHORT)) {
        w.n--;
        return sum_slabs(f, &w, &rows, &line, src);
    }
    if (2 * length <= SHORT && count > SHORT) {
        w.side[w.n - 1] = line;
        return sum_columns(f, &w, &rows, src);
    }
    return sum_rows(f, &w, &line, src);
}

uint64_t rs_fingerprint_box(const rs_fingerprint *f, int ndim, const rs_box *box, const rs_view *view)
{
    return reduce(sum_box(f, ndim, box, view));
}

/* The sum of the weights of all positions along a side. */
static uint64_t sum_of_weights(int axis, int64_t lo, int64_t hi)
{
    const uint64_t high = stream_of(KIND_HIGH, axis), low = stream_of(KIND_LOW, axis);
    uint64_t before[DIGIT + 1] = {0}, sum = 0; /* of the weights of the low digits before i */
    for (int64_t i = 0; i < DIGIT; i++) {
        before[i + 1] = rs_fingerprint_add(before[i], weight_low(low, i));
    }
    while (lo < hi) {
        const int64_t first = lo % DIGIT, last = rs_min(DIGIT, first + hi - lo);
        uint64_t part = rs_fingerprint_add(before[last], PRIME - before[first]);
        sum = fold(sum + field_mul(weight_high(high, lo), part));
        lo += last - first;
    }
    return sum;
}

uint64_t rs_fingerprint_constant(const rs_fingerprint *f, int ndim, const rs_box *box, const void *value)
{
    rs_view view = {.base = (char *)(uintptr_t)value};
    uint64_t sum = sum_box(f, 0, box, &view);
    for (int d = 0; d < ndim; d++) {
        sum = field_mul(sum, sum_of_weights(d, box->lo[d], box->hi[d]));
    }
    return reduce(sum);
}

/* ---- Beginning and end ---- */

void rs_fingerprint_init(rs_fingerprint *f, int64_t itemsize, int64_t swap_size, bool big_endian, int fast_a,
                         int fast_b)
{
    const bool numbers = swap_size > 1 && itemsize % swap_size == 0;
    memset(f, 0, sizeof *f);
    f->itemsize = itemsize;
    f->swap = numbers && big_endian ? swap_size : 0;
    f->whole = itemsize == 1 ? 0 : itemsize == 2 ? 1 : itemsize == 4 ? 2 : itemsize == 8 ? 3 : -1;
    f->kernel = kernels_here();
    f->fast[0] = fast_a;
    f->fast[1] = fast_b;
    for (int which = 0; which < 2; which++) {
        uint64_t stream = stream_of(KIND_LOW, f->fast[which]);
        for (int64_t i = 0; i < DIGIT; i++) {
            set_weight(&f->table[which], i, weight_low(stream, i));
        }
    }
    for (uint64_t k = 0; k < SMALL; k++) {
        f->word[k] = weight_of(stream_of(KIND_WORD, 0), k);
    }
}

void rs_fingerprint_plain(rs_fingerprint *f)
{
    f->kernel = plain_kernels;
}

static uint64_t absorb(uint64_t hash, uint64_t value)
{
    return mix(hash ^ mix(value));
}

uint64_t rs_fingerprint_finish(uint64_t sum, const char *type, int ndim, const int64_t *shape)
{
    uint64_t hash = absorb(0, sum);
    if (*type != '\0' && strchr("<>|=", *type) != NULL) {
        type++;
    }
    for (; *type != '\0'; type++) {
        hash = absorb(hash, (unsigned char)*type);
    }
    hash = absorb(hash, 0); /* the end of the name, which holds no zero */
    hash = absorb(hash, (uint64_t)ndim);
    for (int d = 0; d < ndim; d++) {
        hash = absorb(hash, (uint64_t)shape[d]);
    }
    return hash;
}
