/* SPDX-License-Identifier: BSD-3-Clause */
/* test_pattern.c - names of blocks. Expected names are written by hand from the grammar in resplit.h. */
#include "files.h"

#include "format/pattern.h"

static rs_layout layout_of(int ndim, const int64_t *shape, const int64_t *chunks)
{
    rs_layout layout = {.ndim = ndim, .itemsize = 1};
    for (int d = 0; d < ndim; d++) {
        layout.axis[d] = rs_axis_even(shape[d], chunks[d]);
    }
    return layout;
}

static void names_are_rendered_from_index_start_and_offset(void **state)
{
    static const struct {
        const char *pattern, *name;
    } all[] = {
        {"{0}_{1}_{2}.npy", "1_2_0.npy"},
        {"brain_{2}_{1}_{0}.raw", "brain_0_2_1.raw"},
        {"{0:03}_{1:01}_{2:05}", "001_2_00000"},
        {"{0.start}_{1.start:04}_{2.start}", "10_0010_0"},
        {"b{offset}", "b1300"}, /* 10 * 12 * 10 + 10 * 10 + 0 */
        {"{offset:012}.raw", "000000001300.raw"},
        {"{{{0}}}-{1}{{{2}", "{1}-2{0"},
        {"plain", "plain"},
    };
    const int64_t shape[] = {20, 12, 10}, chunks[] = {10, 5, 10}, index[] = {1, 2, 0};
    rs_layout layout = layout_of(3, shape, chunks);
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rs_pattern pattern;
        rs_fields read;
        resplit_error err;
        char name[RS_NAME_MAX];
        assert_works(rs_pattern_parse(all[i].pattern, 3, &pattern, &err), err);
        rs_fields fields = rs_fields_of_block(&layout, index);
        assert_works(rs_pattern_render(&pattern, &fields, name, &err), err);
        assert_string_equal(name, all[i].name);
        assert_int_equal(rs_pattern_match(&pattern, name, &read), RS_MATCH_EXACT);
    }
}

static void a_name_is_read_back_into_its_numbers(void **state)
{
    rs_pattern pattern;
    rs_fields fields;
    (void)state;
    assert_int_equal(rs_pattern_parse("x{1:03}_{0.start}_{offset}.raw", 2, &pattern, NULL), RESPLIT_OK);
    assert_int_equal(rs_pattern_match(&pattern, "x007_12_9223372036854775807.raw", &fields), RS_MATCH_EXACT);
    assert_int_equal(fields.index[0], -1);
    assert_int_equal(fields.index[1], 7);
    assert_int_equal(fields.start[0], 12);
    assert_int_equal(fields.start[1], -1);
    assert_true(fields.offset == INT64_MAX);
    assert_int_equal(rs_pattern_match(&pattern, "x1234_12_0.raw", &fields), RS_MATCH_EXACT);
}

static void names_that_almost_match_are_told_apart(void **state)
{
    static const struct {
        const char *pattern, *name;
        rs_match match;
    } all[] = {
        {"{0}_{1}.npy", "7_1.npy", RS_MATCH_EXACT},
        {"{0}_{1}.npy", "07_1.npy", RS_MATCH_LOOSE},
        {"{0:02}_{1}.npy", "07_1.npy", RS_MATCH_EXACT},
        {"{0:02}_{1}.npy", "7_1.npy", RS_MATCH_LOOSE},
        {"{0:02}_{1}.npy", "007_1.npy", RS_MATCH_LOOSE},
        {"{0:02}_{1}.npy", "107_1.npy", RS_MATCH_EXACT},
        {"{0}_{0}.npy", "1_2.npy", RS_MATCH_LOOSE},
        {"{0}_{1}.npy", "7_1.npy~", RS_MATCH_NONE},
        {"{0}_{1}.npy", "7_.npy", RS_MATCH_NONE},
        {"{0}_{1}.npy", "7-1.npy", RS_MATCH_NONE},
        {"{0}_{1}.npy", "-7_1.npy", RS_MATCH_NONE},
        {"{0}_{1}.npy", "+7_1.npy", RS_MATCH_NONE},
        {"{0}_{1}.npy", "", RS_MATCH_NONE},
        {"{0}_{1}.npy", "9223372036854775808_1.npy", RS_MATCH_NONE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rs_pattern pattern;
        rs_fields fields;
        assert_int_equal(rs_pattern_parse(all[i].pattern, 2, &pattern, NULL), RESPLIT_OK);
        assert_int_equal(rs_pattern_match(&pattern, all[i].name, &fields), all[i].match);
    }
}

static void bad_patterns_are_refused(void **state)
{
    static const struct {
        const char *pattern, *sentence;
    } all[] = {
        {"", "empty"},
        {"a/{0}", "contains '/'"},
        {".{0}", "begins with '.'"},
        {"..", "begins with '.'"},
        {"{0", "bad field"},
        {"{}", "bad field '{}'"},
        {"{x}", "bad field '{x}' in pattern '{x}': give {0}, {0.start} or {offset}"},
        {"{0.stop}", "bad field"},
        {"{0:}", "bad field"},
        {"{0:0x}", "bad field"},
        {"{0:021}", "bad field"},
        {"{0:9999999999}", "bad field"},
        {"{-1}", "bad field"},
        {"{99999999999}", "bad field"},
        {"{2}", "names axis 2, but the array has 2 axes"},
        {"{0}}", "single '}'"},
        {"{0}{1}", "runs into the next one"},
        {"{0:03}{1:03}", "runs into the next one"},
        {"{0}1", "runs into the next one"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rs_pattern pattern;
        resplit_error err = {0};
        assert_fails(rs_pattern_parse(all[i].pattern, 2, &pattern, &err), RESPLIT_EINVAL, err, all[i].sentence);
    }
}

static resplit_status check(const char *text, int64_t rows, int64_t columns, resplit_error *err)
{
    const int64_t shape[] = {rows, columns}, chunks[] = {5, 5};
    rs_layout layout = layout_of(2, shape, chunks);
    rs_pattern pattern;
    assert_int_equal(rs_pattern_parse(text, 2, &pattern, NULL), RESPLIT_OK);
    return rs_pattern_check(&pattern, text, &layout, err);
}

static void a_pattern_names_every_block_differently(void **state)
{
    resplit_error err;
    (void)state;
    assert_works(check("{0}_{1}", 10, 10, &err), err);
    assert_works(check("{1.start}_{0}", 10, 10, &err), err);
    assert_works(check("{offset}", 10, 10, &err), err);
    assert_works(check("{0}", 10, 5, &err), err);
    assert_works(check("only", 5, 5, &err), err);
    assert_fails(check("{0}", 10, 10, &err), RESPLIT_EINVAL, err,
                 "pattern '{0}' gives one name to 2 blocks along axis 1: add {1} or {1.start}");
    assert_fails(check("only", 10, 5, &err), RESPLIT_EINVAL, err, "2 blocks along axis 0");
    /* without elements every offset is 0 */
    assert_fails(check("{offset}", 10, 0, &err), RESPLIT_EINVAL, err, "2 blocks along axis 0");
}

static void a_name_has_at_most_255_bytes(void **state)
{
    char text[400];
    rs_pattern pattern;
    resplit_error err;
    char name[RS_NAME_MAX];
    rs_fields fields = {.offset = 10};
    (void)state;
    memset(text, 'a', sizeof text);
    memcpy(text + 253, "{offset}", 9);
    assert_works(rs_pattern_parse(text, 1, &pattern, &err), err);
    assert_works(rs_pattern_render(&pattern, &fields, name, &err), err);
    assert_int_equal(strlen(name), 255);
    fields.offset = 100;
    assert_fails(rs_pattern_render(&pattern, &fields, name, &err), RESPLIT_EINVAL, err, "more than 255 bytes");
    memset(text, 'a', 300);
    text[300] = '\0';
    assert_fails(rs_pattern_parse(text, 1, &pattern, &err), RESPLIT_EINVAL, err, "more than 255 bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_rendered_from_index_start_and_offset),
        cmocka_unit_test(a_name_is_read_back_into_its_numbers),
        cmocka_unit_test(names_that_almost_match_are_told_apart),
        cmocka_unit_test(bad_patterns_are_refused),
        cmocka_unit_test(a_pattern_names_every_block_differently),
        cmocka_unit_test(a_name_has_at_most_255_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
