/* SPDX-License-Identifier: BSD-3-Clause */
/* test_geometry.c - axes, boxes, slices and the strided copy, against lists and loops written out by hand. */
#include "geometry/copy.h"
#include "geometry/slices.h"

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

/* ---- Axes ---- */

static void check_axis(const rs_axis *axis, const int64_t *cuts, int64_t n, int64_t extent)
{
    assert_int_equal(axis->n, n);
    assert_int_equal(axis->extent, extent);
    int64_t longest = 0;
    for (int64_t i = 0; i <= n; i++) {
        assert_int_equal(rs_axis_cut(axis, i), cuts[i]);
        if (i < n) {
            longest = rs_max(longest, rs_min(extent, cuts[i + 1]) - rs_max(0, cuts[i]));
        }
    }
    assert_int_equal(rs_axis_longest(axis), longest);
    for (int64_t x = 0; x <= extent; x++) { /* every question, for every position, by looking at the list */
        int64_t below = 0, above = extent;
        for (int64_t i = 0; i <= n; i++) {
            int64_t cut = rs_min(extent, rs_max(0, cuts[i]));
            if (cut <= x && cut > below) {
                below = cut;
            }
            if (cut >= x && cut < above) {
                above = cut;
            }
            if (i < n && cuts[i] <= x && x < cuts[i + 1] && x < extent) {
                assert_int_equal(rs_axis_find(axis, x), i);
            }
        }
        assert_int_equal(rs_axis_floor(axis, x), below);
        assert_int_equal(rs_axis_ceil(axis, x), above);
    }
}

static void an_even_axis_has_a_short_last_interval(void **state_)
{
    (void)state_;
    rs_axis axis = rs_axis_even(10, 4);
    check_axis(&axis, (int64_t[]){0, 4, 8, 10}, 3, 10);
    axis = rs_axis_even(8, 4);
    check_axis(&axis, (int64_t[]){0, 4, 8}, 2, 8);
    axis = rs_axis_even(3, 100);
    check_axis(&axis, (int64_t[]){0, 3}, 1, 3);
}

static void an_empty_axis_has_one_empty_interval(void **state_)
{
    (void)state_;
    rs_axis axis = rs_axis_even(0, 5);
    assert_int_equal(axis.n, 1);
    assert_int_equal(rs_axis_find(&axis, 0), 0);
    assert_int_equal(rs_axis_span(&axis, 0).hi, 0);
    assert_int_equal(rs_axis_longest(&axis), 0);
}

static void uneven_cuts_that_are_even_are_recognised(void **state_)
{
    (void)state_;
    assert_true(rs_axis_is_regular(&(rs_axis){.step = 1}));
    int64_t even[] = {0, 3, 6, 8}, uneven[] = {0, 3, 5, 8}, longer[] = {0, 3, 7};
    rs_axis axis = rs_axis_uneven(even, 3);
    assert_int_equal(axis.step, 3);
    check_axis(&axis, even, 3, 8);
    axis = rs_axis_uneven(uneven, 3);
    assert_int_equal(axis.step, 0);
    check_axis(&axis, uneven, 3, 8);
    axis = rs_axis_uneven(longer, 2);
    assert_int_equal(axis.step, 0);
    check_axis(&axis, longer, 2, 7);
}

static void a_window_keeps_the_stored_borders(void **state_)
{
    (void)state_;
    int64_t room[20], skipped;
    for (int i = 0; i < 2000; i++) {
        int64_t n = random_in(1, 8), cuts[9] = {0};
        bool even = random_in(0, 1) == 0;
        int64_t step = random_in(1, 5);
        for (int64_t k = 1; k <= n; k++) {
            cuts[k] = cuts[k - 1] + (even && k < n ? step : even ? random_in(1, step) : random_in(1, 6));
        }
        rs_axis axis = rs_axis_uneven(cuts, n);
        int64_t start = random_in(0, cuts[n] - 1), stop = random_in(start + 1, cuts[n]);
        rs_axis seen = rs_axis_window(&axis, start, stop, room, &skipped);
        int64_t expected[9], m = 0, before = 0;
        for (int64_t k = 0; k < n; k++) {
            before += cuts[k + 1] <= start;
            if (cuts[k + 1] > start && cuts[k] < stop) {
                expected[m++] = cuts[k] - start;
                expected[m] = cuts[k + 1] - start;
            }
        }
        assert_int_equal(skipped, before);
        check_axis(&seen, expected, m, stop - start);
    }
}

/* ---- Runs ---- */

static void runs_are_counted_from_the_last_cut_axis(void **state_)
{
    (void)state_;
    const int c_order[] = {0, 1, 2}, f_order[] = {2, 1, 0};
    rs_box block = {{0, 0, 0}, {4, 5, 6}};
    static const struct {
        rs_box box;
        int64_t c_runs, c_items, f_runs, f_items;
    } rows[] = {
        {{{0, 0, 0}, {4, 5, 6}}, 1, 120, 1, 120}, /* whole */
        {{{1, 0, 0}, {3, 5, 6}}, 1, 60, 30, 2},   /* slowest cut */
        {{{0, 1, 0}, {4, 3, 6}}, 4, 12, 6, 8},    /* middle cut */
        {{{0, 0, 2}, {4, 5, 5}}, 20, 3, 1, 60},   /* fastest cut */
        {{{1, 2, 3}, {2, 3, 4}}, 1, 1, 1, 1},     /* one element */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t items;
        assert_int_equal(rs_box_runs(3, c_order, &block, &rows[i].box, &items), rows[i].c_runs);
        assert_int_equal(items, rows[i].c_items);
        assert_int_equal(rs_box_runs(3, f_order, &block, &rows[i].box, &items), rows[i].f_runs);
        assert_int_equal(items, rows[i].f_items);
    }
}

/* Block by block, with axes whose ends lie inside of blocks. */
static void runs_of_a_layout_are_those_of_its_blocks(void **state_)
{
    (void)state_;
    for (int trial = 0; trial < 3000; trial++) {
        rs_layout layout = {.ndim = (int)random_in(1, 4), .itemsize = 1};
        int64_t zero[RS_MAX_NDIM] = {0}, n[RS_MAX_NDIM], index[RS_MAX_NDIM] = {0}, room[4][16], skipped, items,
                runs = 0;
        rs_order_set(layout.ndim, random_in(0, 1) ? 'C' : 'F', layout.order);
        for (int d = 0; d < layout.ndim; d++) {
            rs_axis whole = rs_axis_even(60, random_in(5, 30));
            int64_t start = random_in(0, 59), stop = random_in(start + 1, 60);
            layout.axis[d] = rs_axis_window(&whole, start, stop, room[d], &skipped);
            n[d] = layout.axis[d].n;
        }
        do {
            rs_box stored = rs_layout_stored(&layout, index), box = rs_layout_box(&layout, index);
            runs += rs_box_runs(layout.ndim, layout.order, &stored, &box, &items);
        } while (rs_index_next(layout.ndim, zero, n, index));
        assert_int_equal(rs_layout_runs(&layout), runs);
    }
}

/* ---- Slices ---- */

static void slices_cover_a_box_in_order(void **state_)
{
    (void)state_;
    for (int trial = 0; trial < 3000; trial++) {
        int ndim = (int)random_in(0, 4), order[4];
        rs_box box = {{0}, {0}};
        for (int d = 0; d < ndim; d++) {
            box.lo[d] = random_in(0, 3);
            box.hi[d] = box.lo[d] + random_in(1, 5);
        }
        rs_order_set(ndim, random_in(0, 1) ? 'C' : 'F', order);
        int64_t most = random_in(1, 40), strides[4], next = 0;
        rs_box_strides(ndim, order, &box, strides);
        rs_slices slices;
        rs_box slice;
        rs_slices_init(&slices, ndim, order, &box, most);
        while (rs_slices_next(&slices, &slice)) {
            int64_t volume = rs_box_volume(ndim, &slice), items;
            assert_true(volume >= 1 && volume <= most);
            assert_int_equal(rs_box_offset(ndim, &box, strides, slice.lo), next);
            assert_int_equal(rs_box_runs(ndim, order, &box, &slice, &items), 1); /* contiguous in the box */
            next += volume;
        }
        assert_int_equal(next, rs_box_volume(ndim, &box));
    }
}

static void ranges_are_made_of_few_boxes_in_order(void **state_)
{
    (void)state_;
    for (int trial = 0; trial < 3000; trial++) {
        int ndim = (int)random_in(0, 4), order[4], n = 0;
        rs_box box = {{0}, {0}}, out;
        for (int d = 0; d < ndim; d++) {
            box.lo[d] = random_in(0, 3);
            box.hi[d] = box.lo[d] + random_in(1, 5);
        }
        rs_order_set(ndim, random_in(0, 1) ? 'C' : 'F', order);
        int64_t all = rs_box_volume(ndim, &box), from = random_in(0, all), end = random_in(from, all), next = from;
        int64_t strides[4];
        rs_box_strides(ndim, order, &box, strides);
        rs_range range = {ndim, order, box, from, end};
        while (rs_range_next(&range, &out)) {
            int64_t items;
            assert_int_equal(rs_box_offset(ndim, &box, strides, out.lo), next);
            assert_int_equal(rs_box_runs(ndim, order, &box, &out, &items), 1);
            next += rs_box_volume(ndim, &out);
            n++;
        }
        assert_int_equal(next, end);
        assert_true(n <= rs_max(1, 2 * ndim - 1));
    }
}

/* Blocks of a range of indices, by numbers of the whole grid, in groups of so many. */
static void blocks_are_taken_in_few_boxes_in_order(void **state_)
{
    (void)state_;
    for (int trial = 0; trial < 3000; trial++) {
        rs_layout layout = {.ndim = (int)random_in(0, 4), .itemsize = 1};
        int64_t lo[4], hi[4], index[4], expected[4], group = random_in(1, 40), n = 0, before = -1;
        for (int d = 0; d < layout.ndim; d++) {
            layout.axis[d] = rs_axis_even(random_in(1, 6), 1);
            lo[d] = index[d] = expected[d] = random_in(0, layout.axis[d].n - 1);
            hi[d] = random_in(lo[d] + 1, layout.axis[d].n);
        }
        for (bool more = true, left = true; more;) {
            rs_box blocks;
            int64_t at[4], g = rs_layout_block_number(&layout, index) / group;
            more = rs_layout_take(&layout, lo, hi, (g + 1) * group, index, &blocks);
            n = g == before ? n + 1 : 1;
            before = g;
            assert_true(n <= rs_max(1, 2 * layout.ndim - 1));
            memcpy(at, blocks.lo, sizeof at);
            do {
                assert_true(left);
                assert_memory_equal(at, expected, (size_t)layout.ndim * sizeof *at);
                assert_int_equal(rs_layout_block_number(&layout, at) / group, g);
                left = rs_index_next(layout.ndim, lo, hi, expected);
            } while (rs_index_next(layout.ndim, blocks.lo, blocks.hi, at));
            assert_int_equal(more, left);
        }
    }
}

/* ---- Copies ---- */

/* Strides of a dense array of this shape whose axes are stored in a random order. */
static void random_strides(int ndim, const int64_t *shape, int64_t itemsize, int64_t *strides)
{
    int order[RS_MAX_NDIM];
    for (int d = 0; d < ndim; d++) {
        int j = (int)random_in(0, d);
        order[d] = order[j];
        order[j] = d;
    }
    int64_t stride = itemsize;
    for (int i = 0; i < ndim; i++) {
        strides[order[i]] = stride;
        stride *= shape[order[i]];
    }
}

static void copies_are_what_a_plain_loop_gives(void **state_)
{
    (void)state_;
    static const int64_t sizes[] = {1, 2, 3, 4, 7, 8, 16, 24};
    for (int trial = 0; trial < 4000; trial++) {
        int ndim = (int)random_in(0, 5);
        int64_t size = sizes[random_in(0, 7)], shape[5], extent[5], lo[5], n = size;
        int64_t from[5], to[5];
        for (int d = 0; d < ndim; d++) {
            shape[d] = random_in(1, ndim > 3 ? 4 : 20);
            lo[d] = random_in(0, shape[d] - 1);
            extent[d] = random_in(1, shape[d] - lo[d]);
            n *= shape[d];
        }
        random_strides(ndim, shape, size, from);
        random_strides(ndim, shape, size, to);
        assert_true(n > 0 && n < 1 << 24);
        char *src = malloc((size_t)n), *dst = malloc((size_t)n), *expected = malloc((size_t)n);
        for (int64_t i = 0; i < n; i++) {
            src[i] = (char)random_in(-128, 127);
        }
        memset(dst, 99, (size_t)n);
        memset(expected, 99, (size_t)n);
        int64_t start_from = 0, start_to = 0, at[5] = {0};
        for (int d = 0; d < ndim; d++) {
            start_from += lo[d] * from[d];
            start_to += lo[d] * to[d];
        }
        for (;;) {
            int64_t a = start_from, b = start_to;
            for (int d = 0; d < ndim; d++) {
                a += at[d] * from[d];
                b += at[d] * to[d];
            }
            memcpy(expected + b, src + a, (size_t)size);
            int d = 0;
            while (d < ndim && ++at[d] == extent[d]) {
                at[d++] = 0;
            }
            if (d == ndim) {
                break;
            }
        }
        rs_copy(ndim, extent, size, dst + start_to, to, src + start_from, from);
        assert_memory_equal(dst, expected, (size_t)n);
        free(src);
        free(dst);
        free(expected);
    }
}

static void a_copy_of_nothing_touches_nothing(void **state_)
{
    (void)state_;
    char byte = 7;
    rs_copy(2, (int64_t[]){3, 0}, 1, &byte, (int64_t[]){1, 1}, NULL, (int64_t[]){1, 1});
    assert_int_equal(byte, 7);
}

/* ---- Counting ---- */

static void sizes_that_overflow_are_noticed(void **state_)
{
    (void)state_;
    int64_t blocks, elements;
    rs_layout layout = {.ndim = 2, .itemsize = 8};
    layout.axis[0] = rs_axis_even(1LL << 31, 1LL << 20);
    layout.axis[1] = rs_axis_even(1LL << 31, 1LL << 20);
    assert_false(rs_layout_count(&layout, &blocks, &elements)); /* 2^65 bytes */
    layout.itemsize = 1;
    assert_true(rs_layout_count(&layout, &blocks, &elements));
    assert_int_equal(blocks, 1LL << 22);
    assert_int_equal(elements, 1LL << 62);
    layout.axis[0] = rs_axis_even(INT64_MAX, INT64_MAX);
    layout.axis[1] = rs_axis_even(0, 1); /* no elements, however long the other axis is */
    assert_true(rs_layout_count(&layout, &blocks, &elements));
    assert_int_equal(elements, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_even_axis_has_a_short_last_interval),
        cmocka_unit_test(an_empty_axis_has_one_empty_interval),
        cmocka_unit_test(uneven_cuts_that_are_even_are_recognised),
        cmocka_unit_test(a_window_keeps_the_stored_borders),
        cmocka_unit_test(runs_are_counted_from_the_last_cut_axis),
        cmocka_unit_test(runs_of_a_layout_are_those_of_its_blocks),
        cmocka_unit_test(slices_cover_a_box_in_order),
        cmocka_unit_test(ranges_are_made_of_few_boxes_in_order),
        cmocka_unit_test(blocks_are_taken_in_few_boxes_in_order),
        cmocka_unit_test(copies_are_what_a_plain_loop_gives),
        cmocka_unit_test(a_copy_of_nothing_touches_nothing),
        cmocka_unit_test(sizes_that_overflow_are_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
