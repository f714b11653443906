/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fingerprint.c - sums of values times weights over boxes.
 *
 * A box is taken as lines, of which many form a plane: the sum over a plane is what a kernel computes. A line is one of
 * two things. Where memory runs along the last axis, it is the bytes of a row, in words of eight. Where it runs along
 * another axis, or where the whole row is part of one word, it is a line of values, each inside one word, that are
 * weighed by their position along that axis. Lines and planes are cut so that all their positions share a high digit,
 * and the weights of the low one come from a table.
 */
#include "geometry/fingerprint.h"

#include <string.h>

#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

enum {
    DIGIT = RS_FINGERPRINT_DIGIT,
    WORD_BITS = 3,
    WORD = 1 << WORD_BITS, /* bytes */
    MOST = DIGIT * WORD,   /* bytes of a row that share a high digit */
    SEGMENTS = 16,         /* of a long line that are taken at once */
};

/* Which weights: of the high and the low digit of a position along an axis, and of a word in a row. */
enum { KIND_HIGH = 1, KIND_LOW = 2, KIND_WORD_HIGH = 3, KIND_WORD_LOW = 4 };

/* ---- Pseudo-random elements of the field ---- */

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

/* Output i of splitmix64 started at `stream`, and never 0. */
static uint64_t weight_of(uint64_t stream, int64_t i)
{
    uint64_t x = mix(stream + (uint64_t)i * GOLDEN);
    return x != 0 ? x : 1;
}

static void make_table(uint64_t stream, uint64_t *table)
{
    for (int64_t i = 0; i < DIGIT; i++) {
        table[i] = weight_of(stream, i);
    }
}

/* ---- Sides: axes as a box has them ---- */

typedef struct side {
    int axis;
    int64_t lo, hi, stride;
    int64_t bytes;      /* the last axis: of a position, whose weight is that of its place in a word; else 0 */
    uint64_t high, low; /* streams of weights */
} side;

/* Of byte b of a row, as part of its word. */
static uint64_t byte_low(const rs_fingerprint *f, int64_t b)
{
    const uint64_t weight = f->word[b / WORD % DIGIT];
    const int shift = (int)(b % WORD) * 8;
    return shift == 0 ? weight : rs_field_reduce(weight >> (64 - shift), weight << shift);
}

static uint64_t side_low(const rs_fingerprint *f, const side *s, int64_t i)
{
    return s->bytes > 0 ? byte_low(f, i * s->bytes) : weight_of(s->low, i % DIGIT);
}

static uint64_t side_high(const side *s, int64_t i)
{
    return weight_of(s->high, s->bytes > 0 ? i * s->bytes / MOST : i / DIGIT);
}

/* The weights of low digits along a side that is not the last: from the tables there are, or made in `room`. */
static const uint64_t *low_table(const rs_fingerprint *f, const side *s, uint64_t *room)
{
    for (int which = 0; which < 2; which++) {
        if (s->axis == f->fast[which]) {
            return f->table[which];
        }
    }
    for (int64_t i = s->lo; i < rs_min(s->hi, s->lo + DIGIT); i++) {
        room[i % DIGIT] = weight_of(s->low, i % DIGIT);
    }
    return room;
}

/* ---- Walking over the sides that are stepped through, the slowest first ---- */

typedef struct walk {
    int n;
    side side[RS_MAX_NDIM];
    int64_t at[RS_MAX_NDIM];
    uint64_t weight[RS_MAX_NDIM + 1]; /* of the position along the first d sides */
    const char *src;
} walk;

/* Of sides `from` and after. */
static void walk_weigh(const rs_fingerprint *f, walk *w, int from)
{
    for (int d = from; d < w->n; d++) {
        const uint64_t high = f->kernels->mul(w->weight[d], side_high(&w->side[d], w->at[d]));
        w->weight[d + 1] = f->kernels->mul(high, side_low(f, &w->side[d], w->at[d]));
    }
}

static void walk_start(const rs_fingerprint *f, walk *w, const char *src)
{
    w->src = src;
    w->weight[0] = 1;
    for (int d = 0; d < w->n; d++) {
        w->at[d] = w->side[d].lo;
    }
    walk_weigh(f, w, 0);
}

static bool walk_next(const rs_fingerprint *f, walk *w)
{
    for (int d = w->n - 1; d >= 0; d--) {
        const side *s = &w->side[d];
        w->src += s->stride;
        if (++w->at[d] < s->hi) {
            walk_weigh(f, w, d);
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

static void walk_insert(walk *w, side s)
{
    int i = w->n++;
    for (; i > 0 && side_rank(&w->side[i - 1]) < side_rank(&s); i--) {
        w->side[i] = w->side[i - 1];
    }
    w->side[i] = s;
}

/* ---- Lines ---- */

/* Values with weights from a table. */
typedef struct line {
    int64_t lo, hi;        /* positions: those of values, or bytes of a row */
    int bits;              /* 2^bits positions are a value: 0, or WORD_BITS for bytes */
    int64_t stride;        /* bytes from value to value */
    int size;              /* bytes of a value, or of its parts */
    int64_t weave;         /* bytes from part to part; 0: values are whole */
    uint64_t high;         /* stream of weights */
    const uint64_t *table; /* of the low digit */
} line;

static uint64_t line_high(const line *l, int64_t at)
{
    return weight_of(l->high, (at >> l->bits) / DIGIT);
}

/* Sets the plane to what lies along a line from `at` to the next high digit, which is returned. */
static int64_t next_segment(const line *l, int64_t at, rs_plane *p)
{
    const int64_t unit = INT64_C(1) << l->bits, first = at >> l->bits, before = at & (unit - 1);
    const int64_t end = rs_min(l->hi, (first / DIGIT + 1) * DIGIT << l->bits);
    p->head = before > 0 ? (int)rs_min(unit - before, end - at) : 0;
    p->shift = (int)before * 8;
    p->n = (end - at - p->head) >> l->bits;
    p->tail = (int)((end - at - p->head) & (unit - 1));
    p->weights = l->table + first % DIGIT + (p->head > 0);
    p->stride = l->stride;
    p->size = l->size;
    p->weave = l->weave;
    return end;
}

/* Where byte b of a row is: numbers may have to be reversed. */
static int64_t stored_at(const rs_fingerprint *f, int64_t b)
{
    return f->swap == 0 ? b : b - b % f->swap + (f->swap - 1 - b % f->swap);
}

/* Numbers that a kernel cannot reverse, as they may be part of two words. */
static bool odd_numbers(const rs_fingerprint *f)
{
    return f->swap != 0 && WORD % f->swap != 0;
}

static const char *line_at(const line *l, int64_t at, const char *src)
{
    return src + (at - l->lo) * (l->bits == 0 ? l->stride : 1);
}

/* The bytes [at, end) of a row, numbers in order. */
static void put_in_order(const rs_fingerprint *f, const line *l, int64_t at, int64_t end, const char *src, char *room)
{
    for (int64_t b = at; b < end; b++) {
        room[b - at] = src[stored_at(f, b) - l->lo];
    }
}

/* One line, for which those of its segments that are whole are the rows of planes. */
static uint64_t sum_line(const rs_fingerprint *f, const line *l, const char *src)
{
    const int64_t whole = (int64_t)DIGIT << l->bits;
    uint64_t sum = 0, high[SEGMENTS];
    for (int64_t at = l->lo, end; at < l->hi; at = end) {
        char room[MOST];
        rs_plane p = {.src = line_at(l, at, src), .row_stride = DIGIT * l->stride, .swap = (int)f->swap};
        end = next_segment(l, at, &p);
        high[p.rows++] = line_high(l, at);
        if (odd_numbers(f)) {
            put_in_order(f, l, at, end, src, room);
            p.src = room;
            p.swap = 0;
        } else if (end - at == whole) {
            for (; p.rows < SEGMENTS && end + whole <= l->hi; end += whole) {
                high[p.rows++] = line_high(l, end);
            }
        }
        p.row_weights = high;
        sum ^= f->kernels->plane(&p);
    }
    return sum;
}

/* The lines of a plane, of which p has what does not depend on the place in a line. */
static uint64_t sum_lines(const rs_fingerprint *f, const line *l, rs_plane *p, const char *src)
{
    uint64_t sum = 0;
    for (int64_t at = l->lo, end; at < l->hi; at = end) {
        end = next_segment(l, at, p);
        p->src = line_at(l, at, src);
        sum ^= f->kernels->mul(f->kernels->plane(p), line_high(l, at));
    }
    return sum;
}

/* ---- Boxes ---- */

/* All lines, one by one. */
static uint64_t sum_long(const rs_fingerprint *f, walk *w, const line *l, const char *src)
{
    uint64_t sum = 0;
    walk_start(f, w, src);
    do {
        sum ^= f->kernels->mul(sum_line(f, l, w->src), w->weight[w->n]);
    } while (walk_next(f, w));
    return sum;
}

/* All lines; where they are short, those side by side along the fastest side of the walk are planes. */
static uint64_t sum_planes(const rs_fingerprint *f, walk *w, const line *l, const char *src)
{
    if (w->n == 0 || odd_numbers(f) || (l->hi - l->lo) >> l->bits > DIGIT) {
        return sum_long(f, w, l, src);
    }
    const side rows = w->side[--w->n];
    uint64_t sum = 0, room[DIGIT];
    const uint64_t *table = rows.bytes > 0 ? room : low_table(f, &rows, room);
    rs_plane p = {.row_stride = rows.stride, .swap = (int)f->swap};
    walk_start(f, w, src);
    do {
        for (int64_t i = rows.lo; i < rows.hi; i += p.rows) {
            p.rows = rs_min(DIGIT - i % DIGIT, rows.hi - i);
            p.row_weights = rows.bytes > 0 ? room : table + i % DIGIT;
            for (int64_t k = 0; rows.bytes > 0 && k < p.rows; k++) {
                room[k] = side_low(f, &rows, i + k);
            }
            const uint64_t weight = f->kernels->mul(w->weight[w->n], side_high(&rows, i));
            sum ^= f->kernels->mul(sum_lines(f, l, &p, w->src + (i - rows.lo) * rows.stride), weight);
        }
    } while (walk_next(f, w));
    return sum;
}

/* Values of `size` bytes, each inside a word; lines along the fastest side that is not the last axis: there is one. */
static uint64_t sum_values(const rs_fingerprint *f, walk *w, int64_t size, int64_t weave, const char *src)
{
    uint64_t room[DIGIT];
    const int fastest = w->n - (w->side[w->n - 1].bytes > 0 ? 2 : 1);
    const side s = w->side[fastest];
    w->n--;
    w->side[fastest] = w->side[w->n];
    const line l = {s.lo, s.hi, 0, s.stride, (int)size, weave, s.high, low_table(f, &s, room)};
    return sum_planes(f, w, &l, src);
}

/* Bytes [lo, hi) of the rows along the last axis, which is not in the walk. */
static uint64_t sum_bytes(const rs_fingerprint *f, const walk *others, int64_t lo, int64_t hi, const char *src)
{
    walk w = *others;
    const uint64_t high = stream_of(KIND_WORD_HIGH, 0);
    if (w.n > 0 && lo / WORD == (hi - 1) / WORD && !odd_numbers(f)) { /* all in one word: a value */
        const uint64_t weight = f->kernels->mul(weight_of(high, lo / MOST), byte_low(f, lo));
        return f->kernels->mul(weight, sum_values(f, &w, hi - lo, 0, src));
    }
    const line l = {lo, hi, WORD_BITS, WORD, WORD, 0, high, f->word};
    return sum_planes(f, &w, &l, src);
}

/* Elements that are a part of a word each, where memory does not run along the last axis; words are put together. */
static uint64_t sum_elements(const rs_fingerprint *f, const walk *others, const side *last, const char *src)
{
    const int64_t parts = last->stride != 0 ? WORD / f->itemsize : 1, to = last->hi / parts * parts;
    const int64_t from = rs_min(to, (last->lo + parts - 1) / parts * parts);
    const int64_t cuts[] = {last->lo, rs_max(last->lo, from), rs_max(last->lo, to), last->hi};
    uint64_t sum = 0;
    for (int k = 0; k < 3; k++) {
        if (cuts[k] < cuts[k + 1]) {
            const int64_t n = k == 1 ? parts : 1;
            walk w = *others;
            walk_insert(&w, (side){last->axis, cuts[k] / n, cuts[k + 1] / n, last->stride * n, f->itemsize * n,
                                   last->high, last->low});
            sum ^= sum_values(f, &w, f->itemsize, n > 1 ? last->stride : 0, src + (cuts[k] - last->lo) * last->stride);
        }
    }
    return sum;
}

uint64_t rs_fingerprint_box(const rs_fingerprint *f, int ndim, const rs_box *box, const rs_view *view)
{
    const int64_t size = f->itemsize;
    const char *src = view->base;
    side last = {.lo = 0, .hi = 1, .stride = size};
    walk w = {.n = 0};
    for (int d = 0; d < ndim; d++) {
        const int64_t lo = box->lo[d] + f->start[d], hi = box->hi[d] + f->start[d], stride = view->strides[d];
        if (lo >= hi) {
            return 0;
        }
        src += (box->lo[d] - view->box.lo[d]) * stride;
        if (d == ndim - 1) {
            last = (side){d, lo, hi, stride, size, stream_of(KIND_WORD_HIGH, 0), 0};
        } else {
            walk_insert(&w, (side){d, lo, hi, stride, 0, stream_of(KIND_HIGH, d), stream_of(KIND_LOW, d)});
        }
    }
    const bool along = w.n == 0 || side_rank(&last) < side_rank(&w.side[w.n - 1]); /* memory runs along the last axis */
    const bool dense = last.hi - last.lo == 1 || last.stride == size;
    if (w.n > 0 && !(along && dense) && WORD % size == 0) {
        return sum_elements(f, &w, &last, src);
    }
    const int64_t n = dense ? last.hi - last.lo : 1; /* elements that lie together */
    uint64_t sum = 0;
    for (int64_t i = last.lo; i < last.hi; i += n) {
        sum ^= sum_bytes(f, &w, i * size, (i + n) * size, src + (i - last.lo) * last.stride);
    }
    return sum;
}

/* ---- Beginning and end ---- */

void rs_fingerprint_init(rs_fingerprint *f, int64_t itemsize, int64_t swap_size, bool big_endian, int fast_a,
                         int fast_b)
{
    const bool numbers = swap_size > 1 && itemsize % swap_size == 0;
    memset(f, 0, sizeof *f);
    f->itemsize = itemsize;
    f->swap = numbers && big_endian ? swap_size : 0;
    f->kernels = rs_kernels_here(0);
    f->fast[0] = fast_a;
    f->fast[1] = fast_b;
    make_table(stream_of(KIND_LOW, fast_a), f->table[0]);
    make_table(stream_of(KIND_LOW, fast_b), f->table[1]);
    make_table(stream_of(KIND_WORD_LOW, 0), f->word);
}

void rs_fingerprint_plain(rs_fingerprint *f)
{
    for (int i = 0; rs_kernels_here(i) != NULL; i++) {
        f->kernels = rs_kernels_here(i);
    }
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
