/* SPDX-License-Identifier: BSD-3-Clause */
/* test_tray.c - trays, element by element: each knows its place in the array. */
#include "geometry/tray.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_AXES = 4, MOST_CUTS = 16, LINE = 64 };

static uint64_t state = 7;

static int64_t random_in(int64_t lo, int64_t hi)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return lo + (int64_t)((state >> 33) % (uint64_t)(hi - lo + 1));
}

/* Cut evenly or not, and seen through a window or not. */
static rs_axis random_axis(int64_t most, int64_t *cuts, int64_t *room)
{
    int64_t extent = random_in(1, most), n = 0, skipped;
    rs_axis axis = rs_axis_even(extent, random_in(1, extent));
    if (random_in(0, 2) == 0) {
        for (cuts[0] = 0; cuts[n] < extent && n < MOST_CUTS - 2; n++) {
            cuts[n + 1] = random_in(cuts[n] + 1, extent);
        }
        cuts[n] = extent;
        axis = rs_axis_uneven(cuts, n);
    }
    if (axis.n > MOST_CUTS - 1 || random_in(0, 2) > 0) {
        return axis;
    }
    int64_t start = random_in(0, extent - 1);
    return rs_axis_window(&axis, start, random_in(start + 1, extent), room, &skipped);
}

static rs_box random_box(int ndim, const rs_box *in)
{
    rs_box box;
    for (int d = 0; d < ndim; d++) {
        box.lo[d] = random_in(in->lo[d], in->hi[d] - 1);
        box.hi[d] = random_in(box.lo[d] + 1, in->hi[d]);
    }
    return box;
}

/* The bytes of an element: its place in the array, and which byte it is. */
static void write_element(int ndim, const int64_t *at, int64_t size, char *to)
{
    uint64_t place = 0;
    for (int d = 0; d < ndim; d++) {
        place = place * 64 + (uint64_t)at[d];
    }
    for (int64_t i = 0; i < size; i++) {
        to[i] = (char)((place + 1) * (2 * (uint64_t)i + 2654435761U) >> 13);
    }
}

static char *element_of(int ndim, const rs_view *view, const int64_t *at)
{
    char *p = view->base;
    for (int d = 0; d < ndim; d++) {
        p += (at[d] - view->box.lo[d]) * view->strides[d];
    }
    return p;
}

/* Every element of the view as it must be: written there, or compared. */
static void each_element(int ndim, int64_t size, const rs_view *view, bool compare)
{
    int64_t at[RS_MAX_NDIM];
    char expected[2 * LINE];
    memcpy(at, view->box.lo, sizeof at);
    do {
        write_element(ndim, at, size, compare ? expected : element_of(ndim, view, at));
        if (compare) {
            assert_memory_equal(element_of(ndim, view, at), expected, (size_t)size);
        }
    } while (rs_index_next(ndim, view->box.lo, view->box.hi, at));
}

/* The box in two parts along a random axis, each out of memory that has some more around it. */
static void fill_in_parts(const rs_tray *tray, const rs_box *window, char order)
{
    const rs_layout *layout = tray->layout;
    int d = (int)random_in(0, layout->ndim - 1), by[RS_MAX_NDIM];
    int64_t cut = random_in(tray->box->lo[d], tray->box->hi[d]);
    rs_order_set(layout->ndim, order, by);
    for (int half = 0; half < 2; half++) {
        rs_box part = *tray->box, around;
        *(half == 0 ? &part.hi[d] : &part.lo[d]) = cut;
        if (part.lo[d] == part.hi[d]) {
            continue;
        }
        for (int i = 0; i < layout->ndim; i++) {
            around.lo[i] = random_in(window->lo[i], part.lo[i]);
            around.hi[i] = random_in(part.hi[i], window->hi[i]);
        }
        char *memory = malloc((size_t)(rs_box_volume(layout->ndim, &around) * layout->itemsize));
        assert_non_null(memory);
        rs_view view = rs_view_of(layout->ndim, by, &around, layout->itemsize, memory);
        each_element(layout->ndim, layout->itemsize, &view, false);
        rs_tray_fill(tray, &part, &view);
        free(memory);
    }
}

/* All blocks of the box are there, side by side in their order, with nothing between them. */
static void check_blocks(const rs_tray *tray)
{
    const rs_layout *layout = tray->layout;
    int64_t lo[RS_MAX_NDIM], hi[RS_MAX_NDIM], index[RS_MAX_NDIM];
    const char *next = tray->memory;
    rs_layout_range(layout, tray->box, lo, hi);
    memcpy(index, lo, sizeof index);
    do {
        rs_view view = rs_tray_view(tray, index);
        rs_box expected;
        int64_t n = rs_layout_overlap(layout, index, tray->box, &expected) * layout->itemsize;
        assert_memory_equal(view.box.lo, expected.lo, (size_t)layout->ndim * sizeof expected.lo[0]);
        assert_memory_equal(view.box.hi, expected.hi, (size_t)layout->ndim * sizeof expected.hi[0]);
        assert_ptr_equal(view.base, next);
        each_element(layout->ndim, layout->itemsize, &view, true);
        next += n;
    } while (rs_index_next(layout->ndim, lo, hi, index));
    assert_int_equal(next - tray->memory, rs_box_volume(layout->ndim, tray->box) * layout->itemsize);
}

static void blocks_lie_side_by_side_with_what_is_theirs(void **state_)
{
    (void)state_;
    static const int64_t sizes[] = {1, 2, 3, 4, 8, 16, 32, 64, 128};
    for (int trial = 0; trial < 3000; trial++) {
        int64_t cuts[MOST_AXES][MOST_CUTS], room[MOST_AXES][MOST_CUTS];
        rs_layout layout = {.ndim = (int)random_in(1, MOST_AXES), .itemsize = sizes[random_in(0, 8)]};
        rs_box window = {.lo = {0}};
        for (int d = 0; d < layout.ndim; d++) {
            layout.axis[d] = random_axis(layout.ndim > 2 ? 8 : 40, cuts[d], room[d]);
            window.hi[d] = layout.axis[d].extent;
        }
        rs_order_set(layout.ndim, random_in(0, 1) ? 'C' : 'F', layout.order);
        rs_box box = random_in(0, 1) ? window : random_box(layout.ndim, &window);
        int64_t n = rs_box_volume(layout.ndim, &box) * layout.itemsize, off = random_in(0, 1) * random_in(1, LINE);
        char *memory = aligned_alloc(LINE, (size_t)(n / LINE + 3) * LINE);
        assert_non_null(memory);
        memset(memory, 99, (size_t)(n / LINE + 3) * LINE);
        rs_tray tray = {&layout, &box, memory + off};
        fill_in_parts(&tray, &window, random_in(0, 1) ? 'C' : 'F');
        check_blocks(&tray);
        for (int64_t i = off + n; i < (n / LINE + 3) * LINE; i++) {
            assert_int_equal(memory[i], 99);
        }
        free(memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(blocks_lie_side_by_side_with_what_is_theirs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
