/* SPDX-License-Identifier: BSD-3-Clause */
/* test_parse.c - what users write after an option. Regions are compared with the rules of Python's slices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "parse.h"
#include "words.h"

static resplit_error err;

/* ---- Sizes ---------------------------------------------------------------------------------------------------- */

static void test_sizes_are_read_exactly(void **state)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } CASES[] = {
        {"0", 0},
        {"1", 1},
        {"4096", 4096},
        {"12B", 12},
        {"1KB", 1000},
        {"1kB", 1000},
        {"1KiB", 1024},
        {"512MiB", INT64_C(536870912)},
        {"512 MiB", INT64_C(536870912)},
        {" 3GB", INT64_C(3000000000)},
        {"3gib", INT64_C(3221225472)},
        {"2TB", INT64_C(2000000000000)},
        {"2TiB", INT64_C(2199023255552)},
        {"1.5GiB", INT64_C(1610612736)},
        {"0.001KB", 1},
        {"0.0009KB", 0},
        {"1.000000001GB", INT64_C(1000000001)},
        {"1.0000000019GB", INT64_C(1000000001)},
        {"0.999999999TiB", INT64_C(1099511626676)}, /* 2^40 - 1099.511..., cut */
        {"9223372036854775807", INT64_MAX},
        {"8388607TiB", INT64_C(8388607) * (INT64_C(1) << 40)},
    };

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        int64_t bytes = -1;
        if (!cli_parse_size(CASES[i].text, &bytes, &err) || bytes != CASES[i].bytes)
            fail_msg("'%s' gives %lld", CASES[i].text, (long long)bytes);
    }
}

static void test_what_is_not_a_size_is_refused_with_a_way_out(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } CASES[] = {
        {"12x", "'12x' is not a size: write a number and B, KB, MB, GB, KiB, MiB or GiB"},
        {"", "'' is not a size: write a number and B, KB, MB, GB, KiB, MiB or GiB"},
        {"-5MB", "'-5MB' is not a size: write a number and B, KB, MB, GB, KiB, MiB or GiB"},
        {"MB", "'MB' is not a size: write a number and B, KB, MB, GB, KiB, MiB or GiB"},
        {"1.MB", "'1.MB' is not a size: write a number and B, KB, MB, GB, KiB, MiB or GiB"},
        {"1e9", "'1e9' is not a size: write a number and B, KB, MB, GB, KiB, MiB or GiB"},
        {"1MBs", "'1MBs' is not a size: write a number and B, KB, MB, GB, KiB, MiB or GiB"},
        {"1,5GB", "'1,5GB' is not a size: write a number and B, KB, MB, GB, KiB, MiB or GiB"},
        {"4K", "'4K' has two meanings: write KB (powers of 1000) or KiB (powers of 1024)"},
        {"4m", "'4m' has two meanings: write MB (powers of 1000) or MiB (powers of 1024)"},
        {"1.5G", "'1.5G' has two meanings: write GB (powers of 1000) or GiB (powers of 1024)"},
        {"4Gi", "'4Gi' has two meanings: write GB (powers of 1000) or GiB (powers of 1024)"},
        {"1.5", "'1.5' is not a whole number of bytes"},
        {"1.5B", "'1.5B' is not a whole number of bytes"},
        {"9223372036854775808", "'9223372036854775808' is too large: sizes end below 8 EiB"},
        {"8388608TiB", "'8388608TiB' is too large: sizes end below 8 EiB"},
        {"99999999999999999999999GB", "'99999999999999999999999GB' is too large: sizes end below 8 EiB"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        int64_t bytes = -1;
        assert_false(cli_parse_size(CASES[i].text, &bytes, &err));
        assert_string_equal(err.message, CASES[i].message);
        assert_int_equal(err.code, RESPLIT_EINVAL);
        assert_int_equal(bytes, 0);
    }
}

/* ---- Shapes --------------------------------------------------------------------------------------------------- */

static void test_shapes(void **state)
{
    struct cli_shape shape;

    (void)state;
    assert_true(cli_parse_shape("3500, 3025,3850", &shape, &err));
    assert_int_equal(shape.ndim, 3);
    assert_int_equal(shape.extent[0], 3500);
    assert_int_equal(shape.extent[1], 3025);
    assert_int_equal(shape.extent[2], 3850);
    assert_true(cli_parse_shape("7", &shape, &err));
    assert_int_equal(shape.ndim, 1);
    assert_true(cli_parse_shape("1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", &shape, &err));
    assert_int_equal(shape.ndim, 16);
    assert_false(cli_parse_shape("1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", &shape, &err));
    assert_non_null(strstr(err.message, "more than 16 axes"));
    assert_int_equal(shape.ndim, 0);
}

static void test_what_is_not_a_shape_is_refused(void **state)
{
    static const char *const CASES[] = {"", ",", "1,", ",1", "1,,2", "-1", "1x2", "1.5", "9223372036854775808", "a"};
    struct cli_shape shape;

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        assert_false(cli_parse_shape(CASES[i], &shape, &err));
        assert_non_null(strstr(err.message, "is not a shape: write one length per axis, as 250,250,100"));
        assert_int_equal(shape.ndim, 0);
    }
}

/* ---- Chunks --------------------------------------------------------------------------------------------------- */

static void test_chunks_even_whole_and_uneven(void **state)
{
    struct cli_chunks chunks = {0};

    (void)state;
    assert_true(cli_parse_chunks("64,-1,10+20+30,5+5", &chunks, &err));
    assert_int_equal(chunks.ndim, 4);
    assert_int_equal(chunks.axis[0].length, 64);
    assert_int_equal(chunks.axis[0].count, 0);
    assert_int_equal(chunks.axis[1].length, -1);
    assert_int_equal(chunks.axis[1].count, 0);
    assert_int_equal(chunks.axis[2].count, 3);
    assert_int_equal(chunks.axis[2].lengths[0], 10);
    assert_int_equal(chunks.axis[2].lengths[1], 20);
    assert_int_equal(chunks.axis[2].lengths[2], 30);
    assert_int_equal(chunks.axis[3].count, 2);
    assert_int_equal(chunks.axis[3].lengths[0], 5);
    assert_int_equal(chunks.axis[3].lengths[1], 5);
    /* Given twice, the last one counts, and nothing leaks (the sanitizers look). */
    assert_true(cli_parse_chunks("8", &chunks, &err));
    assert_int_equal(chunks.ndim, 1);
    cli_chunks_release(&chunks);
    assert_int_equal(chunks.ndim, 0);
    cli_chunks_release(&chunks);
}

static void test_an_uneven_axis_may_have_many_lengths(void **state)
{
    enum { N = 5000 };
    struct cli_chunks chunks = {0};
    char *text = malloc(2 * N);

    (void)state;
    assert_non_null(text);
    for (int i = 0; i < N; i++)
        memcpy(text + 2 * i, "7+", 2);
    text[2 * N - 1] = '\0';
    assert_true(cli_parse_chunks(text, &chunks, &err));
    assert_int_equal(chunks.axis[0].count, N);
    assert_int_equal(chunks.axis[0].lengths[N - 1], 7);
    cli_chunks_release(&chunks);
    free(text);
}

static void test_what_is_not_a_list_of_chunks_is_refused(void **state)
{
    static const char *const CASES[] = {
        "",     "0",     "-2",    "64,",   ",64",  "64,,64", "10+",  "+10",
        "10++", "10+-1", "-1+10", "-1+-1", "10+0", "64x64",  "auto", "9223372036854775808"};
    struct cli_chunks chunks = {0};

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        if (cli_parse_chunks(CASES[i], &chunks, &err))
            fail_msg("'%s' is accepted", CASES[i]);
        assert_non_null(strstr(err.message, "is not a list of chunk lengths: write one per axis"));
        assert_int_equal(chunks.ndim, 0);
        assert_null(chunks.lengths);
    }
    assert_false(cli_parse_chunks("1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", &chunks, &err));
    assert_non_null(strstr(err.message, "more than 16 axes"));
    assert_null(chunks.lengths);
}

/* ---- Regions -------------------------------------------------------------------------------------------------- */

/* Expected values: Python, `list(range(10)[text])` and its first and last element. */
static void test_regions_follow_numpy(void **state)
{
    static const struct {
        const char *text;
        int64_t start, stop;
    } CASES[] = {
        {":", 0, 10},
        {"2:", 2, 10},
        {":7", 0, 7},
        {"2:7", 2, 7},
        {"-3:", 7, 10},
        {":-3", 0, 7},
        {"-7:-2", 3, 8},
        {"5:100", 5, 10},
        {"-99:4", 0, 4},
        {"-99:99", 0, 10},
        {"0:9223372036854775807", 0, 10},
        {"5", 5, 6},
        {"0", 0, 1},
        {"9", 9, 10},
        {"-1", 9, 10},
        {"-10", 0, 1},
        {" 3:4 ", 3, 4},
    };

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct cli_roi roi;
        int64_t shape = 10, start = -1, stop = -1;

        if (!cli_parse_roi(CASES[i].text, &roi, &err) || !cli_roi_resolve(&roi, 1, &shape, &start, &stop, &err))
            fail_msg("'%s': %s", CASES[i].text, err.message);
        if (start != CASES[i].start || stop != CASES[i].stop)
            fail_msg("'%s' gives %lld:%lld", CASES[i].text, (long long)start, (long long)stop);
    }
}

static void test_regions_of_several_axes(void **state)
{
    struct cli_roi roi;
    int64_t shape[3] = {30, 40, 600}, start[3], stop[3];

    (void)state;
    assert_true(cli_parse_roi("10:20, :,0:512", &roi, &err));
    assert_true(cli_roi_resolve(&roi, 3, shape, start, stop, &err));
    assert_int_equal(start[0], 10);
    assert_int_equal(stop[0], 20);
    assert_int_equal(start[1], 0);
    assert_int_equal(stop[1], 40);
    assert_int_equal(start[2], 0);
    assert_int_equal(stop[2], 512);
    assert_false(cli_roi_resolve(&roi, 2, shape, start, stop, &err));
    assert_string_equal(err.message, "--roi names 3 axes and the array has 2: write ':' for a whole axis");
}

static void test_regions_without_elements_or_outside_are_refused(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } CASES[] = {
        {"10", "--roi: index 10 is outside axis 0, which has length 10"},
        {"-11", "--roi: index -11 is outside axis 0, which has length 10"},
        {"7:7", "--roi is empty: from 7 to 7 on axis 0, which has length 10"},
        {"7:2", "--roi is empty: from 7 to 2 on axis 0, which has length 10"},
        {"10:", "--roi is empty: from 10 to 10 on axis 0, which has length 10"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct cli_roi roi;
        int64_t shape = 10, start, stop;

        assert_true(cli_parse_roi(CASES[i].text, &roi, &err));
        assert_false(cli_roi_resolve(&roi, 1, &shape, &start, &stop, &err));
        assert_string_equal(err.message, CASES[i].message);
    }
}

static void test_what_is_not_a_region_is_refused(void **state)
{
    static const char *const CASES[] = {"",    ",",    "1:2,", "a:b", "1-2", "1:2;3:4", "1:9223372036854775808",
                                        "...", "1.5:2"};
    struct cli_roi roi;

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        assert_false(cli_parse_roi(CASES[i], &roi, &err));
        assert_non_null(strstr(err.message, "is not a region: write one slice per axis, as 10:20,:,5"));
    }
    assert_false(cli_parse_roi("0:10:2", &roi, &err));
    assert_string_equal(err.message, "'0:10:2' has a step: a region is a box, write start:stop");
    assert_false(cli_parse_roi("::2", &roi, &err));
    assert_non_null(strstr(err.message, "has a step"));
}

/* ---- Words ---------------------------------------------------------------------------------------------------- */

static void test_distance_counts_edits(void **state)
{
    (void)state;
    assert_int_equal(cli_distance("plan", "plan"), 0);
    assert_int_equal(cli_distance("plann", "plan"), 1);
    assert_int_equal(cli_distance("paln", "plan"), 1);
    assert_int_equal(cli_distance("pln", "plan"), 1);
    assert_int_equal(cli_distance("kitten", "sitting"), 3);
    assert_int_equal(cli_distance("", "abc"), 3);
    assert_true(cli_distance("an-option-name-that-is-longer-than-any-of-ours", "roi") > 32);
}

static void test_nearest_name(void **state)
{
    static const char *const NAMES[] = {"split", "merge", "extract", "plan", "info", "verify", NULL};

    (void)state;
    assert_string_equal(cli_nearest("plann", NAMES), "plan");
    assert_string_equal(cli_nearest("mreg", NAMES), "merge");
    assert_string_equal(cli_nearest("extrat", NAMES), "extract");
    assert_string_equal(cli_nearest("spilt", NAMES), "split");
    assert_null(cli_nearest("banana", NAMES));
    assert_null(cli_nearest("", NAMES));
}

static void test_choices(void **state)
{
    (void)state;
    assert_true(cli_is_choice("raw", "raw|npy"));
    assert_true(cli_is_choice("npy", "raw|npy"));
    assert_false(cli_is_choice("np", "raw|npy"));
    assert_false(cli_is_choice("aw", "raw|npy"));
    assert_false(cli_is_choice("raw|npy", "raw|npy|zarr"));
    assert_false(cli_is_choice("", "raw|npy"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_are_read_exactly),
        cmocka_unit_test(test_what_is_not_a_size_is_refused_with_a_way_out),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_what_is_not_a_shape_is_refused),
        cmocka_unit_test(test_chunks_even_whole_and_uneven),
        cmocka_unit_test(test_an_uneven_axis_may_have_many_lengths),
        cmocka_unit_test(test_what_is_not_a_list_of_chunks_is_refused),
        cmocka_unit_test(test_regions_follow_numpy),
        cmocka_unit_test(test_regions_of_several_axes),
        cmocka_unit_test(test_regions_without_elements_or_outside_are_refused),
        cmocka_unit_test(test_what_is_not_a_region_is_refused),
        cmocka_unit_test(test_distance_counts_edits),
        cmocka_unit_test(test_nearest_name),
        cmocka_unit_test(test_choices),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
