/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_fingerprint.c - fingerprints of boxes, against the formula of docs/fingerprint.md written out element by
 * element.
 */
#include "geometry/fingerprint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t state = 42;

static int64_t random_in(int64_t lo, int64_t hi)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return lo + (int64_t)((state >> 33) % (uint64_t)(hi - lo + 1));
}

/* ---- The formula ---- */

/* Bit by bit, modulo x^64 + x^4 + x^3 + x + 1. */
static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t product = 0;
    for (; b != 0; b >>= 1) {
        product ^= b & 1 ? a : 0;
        a = (a << 1) ^ (a >> 63 ? 0x1b : 0);
    }
    return product;
}

static uint64_t splitmix64(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

static uint64_t key(uint64_t kind, uint64_t axis, uint64_t i)
{
    uint64_t x = splitmix64(splitmix64((kind << 32) + axis) + i * 0x9e3779b97f4a7c15ULL);
    return x != 0 ? x : 1;
}

typedef struct type {
    int64_t itemsize, swap_size;
    bool big;
} type;

/* Byte j of an element, counted from the least significant one of each number. */
static uint64_t value_byte(const type *t, const unsigned char *element, int64_t j)
{
    if (t->big && t->swap_size > 1) {
        int64_t number = j / t->swap_size, within = j % t->swap_size;
        return element[number * t->swap_size + t->swap_size - 1 - within];
    }
    return element[j];
}

/* Element i of a row. */
static uint64_t element_sum(const type *t, const unsigned char *element, int64_t i)
{
    uint64_t sum = 0, word = 0;
    for (int64_t k = 0; k < t->itemsize; k++) {
        const uint64_t b = (uint64_t)(i * t->itemsize + k), q = b / 8;
        word ^= value_byte(t, element, k) << b % 8 * 8;
        if (b % 8 == 7 || k == t->itemsize - 1) { /* all that this element has of it */
            sum ^= times(word, times(key(3, 0, q / 256), key(4, 0, q % 256)));
            word = 0;
        }
    }
    return sum;
}

static uint64_t expected_of(const type *t, int ndim, const rs_box *box, const rs_view *view)
{
    uint64_t sum = 0;
    int64_t at[RS_MAX_NDIM] = {0};
    for (int d = 0; d < ndim; d++) {
        if (box->lo[d] == box->hi[d]) {
            return 0;
        }
        at[d] = box->lo[d];
    }
    do {
        const char *from = view->base;
        uint64_t weight = 1;
        for (int d = 0; d < ndim; d++) {
            from += (at[d] - view->box.lo[d]) * view->strides[d];
            if (d < ndim - 1) {
                uint64_t high = key(1, (uint64_t)d, (uint64_t)at[d] / 256),
                         low = key(2, (uint64_t)d, (uint64_t)at[d] % 256);
                weight = times(weight, times(high, low));
            }
        }
        sum ^= times(weight, element_sum(t, (const unsigned char *)from, ndim > 0 ? at[ndim - 1] : 0));
    } while (rs_index_next(ndim, box->lo, box->hi, at));
    return sum;
}

/* ---- Random arrays ---- */

static const type types[] = {
    {1, 0, false}, {1, 1, true},    {2, 2, false},  {2, 2, true},    {3, 0, false},  {3, 1, true},    {4, 4, false},
    {4, 4, true},  {4, 2, true},    {6, 2, true},   {8, 8, false},   {8, 8, true},   {8, 4, true},    {8, 0, true},
    {12, 4, true}, {12, 0, false},  {16, 8, false}, {16, 8, true},   {16, 4, true},  {16, 16, true},  {63, 0, false},
    {64, 8, true}, {100, 4, false}, {100, 4, true}, {101, 0, false}, {600, 8, true}, {1030, 2, true}, {300, 100, true},
};

typedef struct sample {
    type type;
    int ndim;
    rs_box box;
    rs_view view;
    char *memory;
} sample;

/* Strides of an array of this shape, its axes in a random order (or C, or F), with gaps or without. */
static int64_t random_strides(int ndim, const rs_box *box, int64_t itemsize, int64_t *strides)
{
    int order[RS_MAX_NDIM] = {0}, how = (int)random_in(0, 2);
    for (int d = 0; d < ndim; d++) {
        int j = how == 0 ? d : how == 1 ? 0 : (int)random_in(0, d);
        memmove(&order[j + 1], &order[j], (size_t)(d - j) * sizeof order[0]);
        order[j] = d;
    }
    bool gaps = random_in(0, 2) == 0;
    int64_t stride = itemsize + (gaps && random_in(0, 1) ? random_in(1, 5) : 0);
    for (int i = 0; i < ndim; i++) {
        strides[order[i]] = stride;
        stride = stride * (box->hi[order[i]] - box->lo[order[i]]) + (gaps ? random_in(0, 9) : 0);
    }
    return stride + itemsize;
}

static sample random_sample(int ndim, const type *t, int64_t most)
{
    sample s = {.type = *t, .ndim = ndim};
    int64_t left = most;
    for (int d = 0; d < ndim; d++) {
        int64_t extent = random_in(0, 3) == 0 ? random_in(1, left) : random_in(1, rs_min(left, 9));
        s.box.lo[d] = random_in(0, 2) == 0 ? random_in(0, 1LL << 30) << random_in(0, 20) : random_in(0, 600);
        s.box.hi[d] = s.box.lo[d] + extent;
        left = rs_max(1, left / extent);
    }
    s.view.box = s.box;
    int64_t bytes = random_strides(ndim, &s.box, t->itemsize, s.view.strides), shift = random_in(0, 7);
    s.memory = malloc((size_t)(bytes + shift));
    for (int64_t i = 0; i < bytes + shift; i++) {
        s.memory[i] = (char)random_in(-128, 127);
    }
    s.view.base = s.memory + shift; /* of any alignment */
    return s;
}

static void make(const sample *s, rs_fingerprint *f)
{
    int last = s->ndim > 0 ? s->ndim - 1 : 0;
    int a = (int)random_in(0, last), b = (int)random_in(0, last);
    rs_fingerprint_init(f, s->type.itemsize, s->type.swap_size, s->type.big, a, b);
    int n = 0;
    while (rs_kernels_here(n) != NULL) {
        n++;
    }
    f->kernels = rs_kernels_here((int)random_in(0, n - 1));
}

static void boxes_give_what_the_formula_gives(void **state_)
{
    (void)state_;
    const int64_t n_types = (int64_t)(sizeof types / sizeof types[0]);
    for (int trial = 0; trial < 3000; trial++) {
        const type *t = &types[trial % n_types];
        sample s = random_sample((int)random_in(0, 5), t, t->itemsize > 16 ? 60 : random_in(0, 7) == 0 ? 6000 : 600);
        rs_fingerprint f;
        make(&s, &f);
        rs_box part = s.box;
        for (int d = 0; d < s.ndim && trial % 2 == 0; d++) { /* part of what the view has */
            part.lo[d] = random_in(s.box.lo[d], s.box.hi[d] - 1);
            part.hi[d] = random_in(part.lo[d] + 1, s.box.hi[d]);
        }
        uint64_t sum = rs_fingerprint_box(&f, s.ndim, &part, &s.view);
        assert_true(sum == expected_of(t, s.ndim, &part, &s.view));
        free(s.memory);
    }
}

/*
 * Shapes that go through each way of taking a box, with each kernel: rows that are long, short, inside a word, between
 * two words; columns, whole and in words that are put together. Memory ends where the box does.
 */
static void every_way_of_walking_gives_the_same(void **state_)
{
    (void)state_;
    static const int64_t shapes[][3] = {
        {1, 3, 700}, {40, 40, 8}, {5, 16, 129}, {40, 9, 100}, {1, 600, 8},  {600, 1, 3},
        {8, 8, 8},   {6, 50, 3},  {1, 1, 1},    {1, 1, 64},   {2, 64, 64},  {3, 1, 257},
        {1, 40, 16}, {300, 4, 4}, {9, 2, 29},   {300, 2, 1},  {4700, 1, 2},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        for (int64_t at = 0; at <= 250; at += 125) {
            for (size_t k = 0; k < sizeof types / sizeof types[0] && types[k].itemsize <= 16; k++) {
                const int64_t *n = shapes[i], bytes = n[0] * n[1] * n[2] * types[k].itemsize;
                sample s = {.type = types[k], .ndim = 3, .box = {{at, at, at}, {at + n[0], at + n[1], at + n[2]}}};
                s.memory = malloc((size_t)bytes);
                for (int64_t j = 0; j < bytes; j++) {
                    s.memory[j] = (char)random_in(-128, 127);
                }
                static int orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {0, 2, 1}};
                s.view = rs_view_of(3, orders[random_in(0, 3)], &s.box, types[k].itemsize, s.memory);
                const uint64_t expected = expected_of(&types[k], 3, &s.box, &s.view);
                rs_fingerprint f;
                make(&s, &f);
                for (int which = 0; rs_kernels_here(which) != NULL; which++) {
                    f.kernels = rs_kernels_here(which);
                    assert_true(rs_fingerprint_box(&f, 3, &s.box, &s.view) == expected);
                }
                free(s.memory);
            }
        }
    }
}

static void kernels_multiply_in_the_field(void **state_)
{
    (void)state_;
    rs_fingerprint plain;
    rs_fingerprint_init(&plain, 1, 0, false, 0, 0);
    rs_fingerprint_plain(&plain);
    for (int which = 0; rs_kernels_here(which) != NULL; which++) {
        const rs_kernels *kernels = rs_kernels_here(which);
        assert_true((kernels == plain.kernels) == (rs_kernels_here(which + 1) == NULL));
        for (uint64_t i = 0; i < 2000; i++) {
            uint64_t a = key(5, 0, i) >> i % 64, b = key(6, 0, i) << i / 64 % 64;
            assert_true(kernels->mul(a, b) == times(a, b));
        }
        assert_true(kernels->mul(UINT64_MAX, UINT64_MAX) == times(UINT64_MAX, UINT64_MAX));
    }
}

/* ---- Cuts ---- */

/* The sum over a random partition; each part is copied to memory of its own, in its own order and byte order. */
static uint64_t sum_of_parts(const sample *s, const rs_box *box, int depth)
{
    int d = s->ndim > 0 ? (int)random_in(0, s->ndim - 1) : 0;
    if (s->ndim > 0 && depth > 0 && box->hi[d] - box->lo[d] > 1) {
        rs_box a = *box, b = *box;
        a.hi[d] = b.lo[d] = random_in(box->lo[d] + 1, box->hi[d] - 1);
        uint64_t second = sum_of_parts(s, &b, depth - 1);
        return rs_fingerprint_add(sum_of_parts(s, &a, depth - 1), second);
    }
    sample part = {.type = s->type, .ndim = s->ndim, .box = *box, .view = {.box = *box}};
    part.memory = malloc((size_t)random_strides(s->ndim, box, s->type.itemsize, part.view.strides));
    part.view.base = part.memory;
    rs_view_copy(s->ndim, s->type.itemsize, box, &part.view, &s->view);
    if (s->type.swap_size > 1 && random_in(0, 1)) {
        part.type.big = !s->type.big;
        int64_t at[RS_MAX_NDIM], size = s->type.swap_size;
        memcpy(at, box->lo, sizeof at);
        do {
            char *element = part.memory + rs_box_offset(s->ndim, box, part.view.strides, at);
            for (int64_t k = 0; k < s->type.itemsize; k++) {
                int64_t from = k - k % size, mirror = from + size - 1 - k % size;
                if (k < mirror) {
                    char byte = element[k];
                    element[k] = element[mirror];
                    element[mirror] = byte;
                }
            }
        } while (rs_index_next(s->ndim, box->lo, box->hi, at));
    }
    rs_fingerprint f;
    make(&part, &f);
    uint64_t sum = rs_fingerprint_box(&f, s->ndim, box, &part.view);
    free(part.memory);
    return sum;
}

static void parts_in_any_cut_and_order_add_up(void **state_)
{
    (void)state_;
    const int64_t n_types = (int64_t)(sizeof types / sizeof types[0]);
    for (int trial = 0; trial < 1000; trial++) {
        const type *t = &types[trial % n_types];
        sample s = random_sample((int)random_in(0, 5), t, t->itemsize > 16 ? 100 : 3000);
        rs_fingerprint f;
        make(&s, &f);
        uint64_t whole = rs_fingerprint_box(&f, s.ndim, &s.box, &s.view);
        assert_true(whole == sum_of_parts(&s, &s.box, 4));
        free(s.memory);
    }
}

static void nothing_and_zeros_are_zero(void **state_)
{
    (void)state_;
    static char zeros[600];
    rs_fingerprint f;
    rs_fingerprint_init(&f, 2, 2, false, 1, 0);
    rs_box box = {{5, 7}, {8, 107}}, empty = {{5, 7}, {5, 107}};
    rs_view view = rs_view_of(2, (int[]){0, 1}, &box, 2, zeros);
    assert_true(rs_fingerprint_box(&f, 2, &box, &view) == 0);
    view.base = NULL;
    assert_true(rs_fingerprint_box(&f, 2, &empty, &view) == 0);
}

/* ---- What is noticed ---- */

static uint64_t sum_of_f8(int64_t rows, int64_t columns, const double *values)
{
    rs_fingerprint f;
    rs_fingerprint_init(&f, 8, 8, false, 1, 1);
    rs_box box = {{0, 0}, {rows, columns}};
    rs_view view = rs_view_of(2, (int[]){0, 1}, &box, 8, (void *)(uintptr_t)values);
    return rs_fingerprint_box(&f, 2, &box, &view);
}

enum { SIDE = 24 };

static void fill(double *values)
{
    for (int i = 0; i < SIDE * SIDE; i++) {
        values[i] = (double)random_in(-1000000, 1000000) / 7;
    }
}

static void every_single_bit_is_noticed(void **state_)
{
    (void)state_;
    double values[SIDE * SIDE];
    fill(values);
    uint64_t before = sum_of_f8(SIDE, SIDE, values);
    for (size_t bit = 0; bit < 8 * sizeof values; bit++) {
        ((unsigned char *)values)[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_true(sum_of_f8(SIDE, SIDE, values) != before);
        ((unsigned char *)values)[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    assert_true(sum_of_f8(SIDE, SIDE, values) == before);
}

static void signs_are_noticed(void **state_)
{
    (void)state_;
    double values[SIDE * SIDE];
    fill(values);
    uint64_t before = sum_of_f8(SIDE, SIDE, values);
    for (int i = 0; i < SIDE * SIDE; i++) { /* two of them: a sum of the top bits would not see it */
        for (int j = 0; j < i; j += 5) {
            values[i] = -values[i];
            values[j] = -values[j];
            assert_true(sum_of_f8(SIDE, SIDE, values) != before);
            values[i] = -values[i];
            values[j] = -values[j];
        }
    }
    assert_true(sum_of_f8(1, 1, (double[]){0.0}) == 0);
    assert_true(sum_of_f8(1, 1, (double[]){-0.0}) != 0);
}

/* Moves what is in one place to another in the ways in which code that moves arrays goes wrong. */
static void things_in_the_wrong_place_are_noticed(void **state_)
{
    (void)state_;
    double values[SIDE * SIDE], other[SIDE * SIDE];
    fill(values);
    const uint64_t before = sum_of_f8(SIDE, SIDE, values);
    for (int a = 0; a < SIDE; a++) { /* two rows */
        for (int b = 0; b < a; b++) {
            memcpy(other, values, sizeof values);
            memcpy(other + a * SIDE, values + b * SIDE, SIDE * sizeof(double));
            memcpy(other + b * SIDE, values + a * SIDE, SIDE * sizeof(double));
            assert_true(sum_of_f8(SIDE, SIDE, other) != before);
        }
    }
    for (int shift = 1; shift < SIDE; shift++) { /* rows, and what is in rows, further on, round the end */
        for (int i = 0; i < SIDE * SIDE; i++) {
            other[(i / SIDE + shift) % SIDE * SIDE + i % SIDE] = values[i];
        }
        assert_true(sum_of_f8(SIDE, SIDE, other) != before);
        for (int i = 0; i < SIDE * SIDE; i++) {
            other[i / SIDE * SIDE + (i + shift) % SIDE] = values[i];
        }
        assert_true(sum_of_f8(SIDE, SIDE, other) != before);
    }
    for (int i = 0; i < SIDE * SIDE; i++) { /* axes */
        other[i % SIDE * SIDE + i / SIDE] = values[i];
    }
    assert_true(sum_of_f8(SIDE, SIDE, other) != before);
    for (int a = 0; a < 9; a++) { /* two blocks of 8 x 8 */
        for (int b = 0; b < a; b++) {
            memcpy(other, values, sizeof values);
            for (int i = 0; i < 64; i++) {
                int from = (a / 3 * 8 + i / 8) * SIDE + a % 3 * 8 + i % 8,
                    to = (b / 3 * 8 + i / 8) * SIDE + b % 3 * 8 + i % 8;
                other[from] = values[to];
                other[to] = values[from];
            }
            assert_true(sum_of_f8(SIDE, SIDE, other) != before);
        }
    }
}

static void positions_256_apart_have_weights_of_their_own(void **state_)
{
    (void)state_;
    static unsigned char bytes[1 << 17];
    uint64_t sums[512];
    rs_fingerprint f;
    rs_fingerprint_init(&f, 1, 1, false, 0, 0);
    rs_box box = {{0}, {1 << 17}};
    rs_view view = rs_view_of(1, (int[]){0}, &box, 1, bytes);
    for (int i = 0; i < 512; i++) {
        bytes[i * 256] = 1;
        sums[i] = rs_fingerprint_box(&f, 1, &box, &view);
        bytes[i * 256] = 0;
        for (int j = 0; j < i; j++) {
            assert_true(sums[i] != sums[j]);
        }
    }
}

/* ---- Known answers ---- */

/*
 * Fingerprints are stored, so they must never change. From Python, which shares nothing with the code:
 *
 *   M, G = 2**64 - 1, 0x9e3779b97f4a7c15
 *   def mix(x):
 *       x = (x + G) & M; x = ((x ^ (x >> 30)) * 0xbf58476d1ce4e5b9) & M
 *       x = ((x ^ (x >> 27)) * 0x94d049bb133111eb) & M; return x ^ (x >> 31)
 *   def key(kind, axis, i): return mix((mix(kind << 32 | axis) + i * G) & M) or 1
 *   def mul(a, b):
 *       p = 0
 *       for i in range(64): p ^= a << i if b >> i & 1 else 0
 *       for i in range(127, 63, -1): p ^= (1 << 64 | 0x1b) << i - 64 if p >> i & 1 else 0
 *       return p
 *   def sum_of(rows):                                               # {position along all axes but the last: bytes}
 *       s = 0
 *       for at, b in rows.items():
 *           v = 0
 *           for q in range((len(b) + 7) // 8):
 *               v ^= mul(int.from_bytes(b[8*q:8*q+8], 'little'), mul(key(3, 0, q >> 8), key(4, 0, q & 255)))
 *           for d, i in enumerate(at): v = mul(v, mul(key(1, d, i >> 8), key(2, d, i & 255)))
 *           s ^= v
 *       return s
 *   def finish(s, name, shape):
 *       h = mix(mix(s))
 *       for v in [*name.encode(), 0, len(shape), *shape]: h = mix(h ^ mix(v))
 *       return h
 *   sum_of({(i,): struct.pack('<300H', *range(300*i, 300*i + 300)) for i in range(3)})
 *   sum_of({(): struct.pack('<1000d', *(i / 8 for i in range(1000)))})
 *   sum_of({(i, j): bytes((7*i + 5*j + 3*k + m) & 255 for k in range(6) for m in range(3))
 *           for i in range(4) for j in range(5)})
 *   sum_of({(i, j): bytes([i % 256]) for i in range(300) for j in range(2)})
 */
static void fingerprints_never_change(void **state_)
{
    (void)state_;
    rs_fingerprint f;

    unsigned char u2[3 * 300 * 2];
    for (int i = 0; i < 900; i++) {
        u2[2 * i] = (unsigned char)(i & 255);
        u2[2 * i + 1] = (unsigned char)(i >> 8);
    }
    rs_box box = {{0}, {3, 300}};
    rs_view view = rs_view_of(2, (int[]){0, 1}, &box, 2, u2);
    rs_fingerprint_init(&f, 2, 2, false, 1, 1);
    uint64_t sum = rs_fingerprint_box(&f, 2, &box, &view);
    assert_true(sum == 0x26f2ead966b3050f);
    assert_true(rs_fingerprint_finish(sum, "<u2", 2, (int64_t[]){3, 300}) == 0x75cff6cfc42d18a9);

    static double f8[1000];
    for (int i = 0; i < 1000; i++) {
        f8[i] = i / 8.0;
    }
    const uint16_t one = 1;
    box = (rs_box){{0}, {1000}};
    view = rs_view_of(1, (int[]){0}, &box, 8, f8);
    rs_fingerprint_init(&f, 8, 8, *(const char *)&one == 0, 0, 0);
    sum = rs_fingerprint_box(&f, 1, &box, &view);
    assert_true(sum == 0xa46472461a2a7f30);
    assert_true(rs_fingerprint_finish(sum, ">f8", 1, (int64_t[]){1000}) == 0x9f53cbaede76857b);

    unsigned char v3[4 * 5 * 6 * 3];
    for (int i = 0; i < 4 * 5 * 6 * 3; i++) {
        v3[i] = (unsigned char)(7 * (i / 90) + 5 * (i / 18 % 5) + 3 * (i / 3 % 6) + i % 3);
    }
    box = (rs_box){{0}, {4, 5, 6}};
    view = rs_view_of(3, (int[]){0, 1, 2}, &box, 3, v3);
    rs_fingerprint_init(&f, 3, 0, false, 2, 0);
    sum = rs_fingerprint_box(&f, 3, &box, &view);
    assert_true(sum == 0x8c5b69c439e2c4fe);
    assert_true(rs_fingerprint_finish(sum, "|V3", 3, (int64_t[]){4, 5, 6}) == 0x1c704fec58629788);

    unsigned char u1[300 * 2];
    for (int i = 0; i < 600; i++) {
        u1[i] = (unsigned char)(i / 2);
    }
    box = (rs_box){{0}, {300, 2, 1}};
    view = rs_view_of(3, (int[]){0, 1, 2}, &box, 1, u1);
    rs_fingerprint_init(&f, 1, 0, false, 2, 0);
    sum = rs_fingerprint_box(&f, 3, &box, &view);
    assert_true(sum == 0x0e742ba4ee7567e2);
    assert_true(rs_fingerprint_finish(sum, "|u1", 3, (int64_t[]){300, 2, 1}) == 0x58547a6d7179963c);
}

static void shape_and_type_count_and_byte_order_does_not(void **state_)
{
    (void)state_;
    const int64_t shape[] = {3, 4}, turned[] = {4, 3};
    uint64_t base = rs_fingerprint_finish(1, "<u2", 2, shape);
    assert_true(base == rs_fingerprint_finish(1, ">u2", 2, shape));
    assert_true(base == rs_fingerprint_finish(1, "=u2", 2, shape));
    assert_true(base == rs_fingerprint_finish(1, "u2", 2, shape));
    assert_true(base != rs_fingerprint_finish(1, "<i2", 2, shape));
    assert_true(base != rs_fingerprint_finish(1, "<u2", 1, shape));
    assert_true(base != rs_fingerprint_finish(1, "<u2", 2, turned));
    assert_true(base != rs_fingerprint_finish(2, "<u2", 2, shape));
    assert_true(rs_fingerprint_finish(0, "[('a', '<u2')]", 0, NULL)
                != rs_fingerprint_finish(0, "[('a', '>u2')]", 0, NULL));
    assert_true(rs_fingerprint_finish(0, "", 0, NULL) != base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_multiply_in_the_field),
        cmocka_unit_test(boxes_give_what_the_formula_gives),
        cmocka_unit_test(every_way_of_walking_gives_the_same),
        cmocka_unit_test(parts_in_any_cut_and_order_add_up),
        cmocka_unit_test(nothing_and_zeros_are_zero),
        cmocka_unit_test(every_single_bit_is_noticed),
        cmocka_unit_test(signs_are_noticed),
        cmocka_unit_test(things_in_the_wrong_place_are_noticed),
        cmocka_unit_test(positions_256_apart_have_weights_of_their_own),
        cmocka_unit_test(fingerprints_never_change),
        cmocka_unit_test(shape_and_type_count_and_byte_order_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
