/* SPDX-License-Identifier: BSD-3-Clause */
/* test_advice.c - which lengths of a block are proposed. Expected shapes are worked out by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "shapes.h"

static resplit_error err;

static void assert_lengths(const int64_t *lengths, int64_t a, int64_t b, int64_t c)
{
    if (lengths[0] != a || lengths[1] != b || lengths[2] != c) {
        fail_msg("%lld x %lld x %lld, expected %lld x %lld x %lld", (long long)lengths[0], (long long)lengths[1],
                 (long long)lengths[2], (long long)a, (long long)b, (long long)c);
    }
}

/* ---- --for ---------------------------------------------------------------------------------------------------- */

static void test_ways_to_read_are_parsed(void **state)
{
    static const struct {
        const char *text;
        int kind, axis;
    } CASES[] = {{"cubes", CLI_CUBES, 0},
                 {"series:0", CLI_SERIES, 0},
                 {"slices:2", CLI_SLICES, 2},
                 {"series:15", CLI_SERIES, 15}};
    static const char *const WRONG[] = {"",
                                        "cube",
                                        "series",
                                        "series:",
                                        "series:-1",
                                        "slices:x",
                                        "slices:1x",
                                        "series:16",
                                        "slices: 1",
                                        "cubes:0",
                                        "series:99999999999999999999"};
    struct cli_access access;

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        assert_true(cli_parse_access(CASES[i].text, &access, &err));
        assert_int_equal(access.kind, CASES[i].kind);
        assert_int_equal(access.axis, CASES[i].axis);
    }
    for (size_t i = 0; i < sizeof WRONG / sizeof WRONG[0]; i++) {
        if (cli_parse_access(WRONG[i], &access, &err)) {
            fail_msg("'%s' is taken", WRONG[i]);
        }
        assert_non_null(strstr(err.message, "write series:0, slices:0 or cubes"));
        assert_int_equal(access.kind, CLI_ANY);
    }
}

/* ---- The ideal ------------------------------------------------------------------------------------------------ */

static const struct cli_cutting MAPS = {3, {8760, 721, 1440}, {1, 721, 1440}, 4, 'C'};

static void test_the_ideal_suits_the_reader(void **state)
{
    int64_t lengths[RESPLIT_MAX_NDIM];

    (void)state;
    /* 2^20 elements; the cube root is 101.6, the square root of 2^20 / 8760 is 10.9 */
    cli_shape_ideal(&MAPS, &(struct cli_access){CLI_CUBES, 0}, 4 << 20, lengths);
    assert_lengths(lengths, 101, 101, 101);
    cli_shape_ideal(&MAPS, &(struct cli_access){CLI_SERIES, 0}, 4 << 20, lengths);
    assert_lengths(lengths, 8760, 10, 10);
    /* one map is 721 * 1440 elements, 1.01 of them are 4 MiB; a hundred are 396 MiB */
    cli_shape_ideal(&MAPS, &(struct cli_access){CLI_SLICES, 0}, 4 << 20, lengths);
    assert_lengths(lengths, 1, 721, 1440);
    cli_shape_ideal(&MAPS, &(struct cli_access){CLI_SLICES, 0}, 400 << 20, lengths);
    assert_lengths(lengths, 100, 721, 1440);
    /* a slice along axis 2 is larger than a block: it is cut along its slowest axis, 2^20 / 721 = 1454.3 */
    cli_shape_ideal(&MAPS, &(struct cli_access){CLI_SLICES, 2}, 4 << 20, lengths);
    assert_lengths(lengths, 1454, 721, 1);
}

static void test_short_axes_are_taken_whole_and_leave_more_for_the_others(void **state)
{
    struct cli_cutting flat = {3, {4, 1000, 1000}, {4, 1000, 1000}, 1, 'C'};
    int64_t lengths[RESPLIT_MAX_NDIM];

    (void)state;
    cli_shape_ideal(&flat, &(struct cli_access){CLI_ANY, 0}, 64 * 64 * 4, lengths);
    assert_lengths(lengths, 4, 64, 64);
    cli_shape_ideal(&flat, &(struct cli_access){CLI_CUBES, 0}, INT64_MAX, lengths);
    assert_lengths(lengths, 4, 1000, 1000);
    /* less than an element: still a block */
    cli_shape_ideal(&flat, &(struct cli_access){CLI_SERIES, 1}, 1, lengths);
    assert_lengths(lengths, 1, 1, 1);
}

static void test_an_empty_axis_has_blocks_of_one(void **state)
{
    struct cli_cutting none = {3, {0, 5, 5}, {1, 5, 5}, 2, 'C'};
    int64_t lengths[RESPLIT_MAX_NDIM];
    struct cli_lengths shapes[CLI_MOST_SHAPES];

    (void)state;
    cli_shape_ideal(&none, &(struct cli_access){CLI_CUBES, 0}, 1 << 20, lengths);
    assert_lengths(lengths, 1, 5, 5);
    assert_int_equal(cli_shapes_near(&none, lengths, 1 << 20, shapes), 1);
    assert_int_equal(cli_shapes_neighbours(&none, lengths, shapes), 0);
}

/* ---- Shapes near the ideal ------------------------------------------------------------------------------------ */

static double bytes_of(const struct cli_cutting *cutting, const int64_t *lengths)
{
    double bytes = (double)cutting->itemsize;
    for (int d = 0; d < cutting->ndim; d++) {
        bytes *= (double)lengths[d];
    }
    return bytes;
}

static bool has(const struct cli_lengths *shapes, int n, int64_t a, int64_t b, int64_t c)
{
    for (int i = 0; i < n; i++) {
        if (shapes[i].length[0] == a && shapes[i].length[1] == b && shapes[i].length[2] == c) {
            return true;
        }
    }
    return false;
}

static void test_near_shapes_meet_the_cuts_of_the_source(void **state)
{
    struct cli_cutting cutting = {3, {3500, 3500, 3500}, {875, 875, 100}, 2, 'C'};
    struct cli_lengths shapes[CLI_MOST_SHAPES];
    int64_t ideal[RESPLIT_MAX_NDIM];

    (void)state;
    cli_shape_ideal(&cutting, &(struct cli_access){CLI_CUBES, 0}, 4 << 20, ideal);
    assert_lengths(ideal, 128, 128, 128);
    int n = cli_shapes_near(&cutting, ideal, 4 << 20, shapes);
    assert_in_range(n, 2, CLI_MOST_SHAPES);
    assert_lengths(shapes[0].length, 128, 128, 128);
    /* 875 has the divisors 125 and 175, 100 the multiples 100 and 200 */
    assert_true(has(shapes, n, 125, 125, 100));
    assert_true(has(shapes, n, 175, 125, 100));
    for (int i = 0; i < n; i++) {
        double ratio = bytes_of(&cutting, shapes[i].length) / (4 << 20);
        assert_true(ratio >= 0.5 && ratio <= 2);
        for (int j = 0; j < i; j++) {
            assert_memory_not_equal(shapes[i].length, shapes[j].length, 3 * sizeof(int64_t));
        }
    }
}

static void test_axes_that_the_pattern_fixes_stay(void **state)
{
    struct cli_lengths shapes[CLI_MOST_SHAPES];
    int64_t ideal[RESPLIT_MAX_NDIM];

    (void)state;
    cli_shape_ideal(&MAPS, &(struct cli_access){CLI_SERIES, 0}, 4 << 20, ideal);
    int n = cli_shapes_near(&MAPS, ideal, 4 << 20, shapes);
    for (int i = 0; i < n; i++) {
        assert_int_equal(shapes[i].length[0], 8760);
    }
    cli_shape_ideal(&MAPS, &(struct cli_access){CLI_SLICES, 2}, 4 << 20, ideal);
    n = cli_shapes_near(&MAPS, ideal, 4 << 20, shapes);
    for (int i = 0; i < n; i++) {
        assert_int_equal(shapes[i].length[1], 721);
        assert_int_equal(shapes[i].length[2], 1);
    }
}

static void test_sixteen_axes_are_no_trouble(void **state)
{
    struct cli_cutting many = {.ndim = RESPLIT_MAX_NDIM, .itemsize = 1, .order = 'F'};
    struct cli_lengths shapes[CLI_MOST_SHAPES];
    int64_t ideal[RESPLIT_MAX_NDIM];

    (void)state;
    for (int d = 0; d < RESPLIT_MAX_NDIM; d++) {
        many.shape[d] = 10;
        many.source[d] = 4;
    }
    cli_shape_ideal(&many, &(struct cli_access){CLI_CUBES, 0}, 50000000, ideal); /* 3.03 ^ 16 */
    assert_int_equal(ideal[7], 3);
    assert_int_equal(cli_shapes_near(&many, ideal, 50000000, shapes), CLI_MOST_SHAPES);
    assert_memory_equal(shapes[0].length, ideal, sizeof ideal);
    assert_int_equal(cli_shapes_neighbours(&many, ideal, shapes), 0); /* 2 and 4 are farther than a quarter */
}

/* ---- Neighbours of what was asked for ------------------------------------------------------------------------- */

static void test_neighbours_are_within_a_quarter_and_meet_the_source(void **state)
{
    struct cli_cutting cutting = {3, {4200, 4200, 4200}, {525, 525, 525}, 2, 'C'};
    struct cli_lengths shapes[CLI_MOST_SHAPES];
    const int64_t wanted[3] = {500, 525, 1000};

    (void)state;
    int n = cli_shapes_neighbours(&cutting, wanted, shapes);
    /* 525 for 500, 1050 for 1000, both; axis 1 is well as it is */
    assert_int_equal(n, 3);
    assert_true(has(shapes, n, 525, 525, 1000));
    assert_true(has(shapes, n, 500, 525, 1050));
    assert_true(has(shapes, n, 525, 525, 1050));
    assert_true(fabs(shapes[0].distance - log(1.05)) < 1e-12);
}

static void test_an_aligned_or_whole_axis_has_no_neighbours(void **state)
{
    struct cli_cutting cutting = {3, {4000, 4000, 17}, {500, 500, 17}, 2, 'C'};
    struct cli_lengths shapes[CLI_MOST_SHAPES];

    (void)state;
    assert_int_equal(cli_shapes_neighbours(&cutting, (const int64_t[3]){250, 1500, 17}, shapes), 0);
    assert_int_equal(cli_shapes_neighbours(&cutting, (const int64_t[3]){4000, 4000, 17}, shapes), 0);
    /* and one that has nothing within a quarter */
    assert_int_equal(cli_shapes_neighbours(&cutting, (const int64_t[3]){750, 500, 17}, shapes), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ways_to_read_are_parsed),
        cmocka_unit_test(test_the_ideal_suits_the_reader),
        cmocka_unit_test(test_short_axes_are_taken_whole_and_leave_more_for_the_others),
        cmocka_unit_test(test_an_empty_axis_has_blocks_of_one),
        cmocka_unit_test(test_near_shapes_meet_the_cuts_of_the_source),
        cmocka_unit_test(test_axes_that_the_pattern_fixes_stay),
        cmocka_unit_test(test_sixteen_axes_are_no_trouble),
        cmocka_unit_test(test_neighbours_are_within_a_quarter_and_meet_the_source),
        cmocka_unit_test(test_an_aligned_or_whole_axis_has_no_neighbours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
