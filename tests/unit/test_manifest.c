/* SPDX-License-Identifier: BSD-3-Clause */
/* test_manifest.c - resplit.json: what is read, what is refused, and that what is written can be read again. */
#include "files.h"

#include "format/array.h"
#include "format/manifest.h"

#define GOOD_HEAD "{\"resplit\": 1, \"format\": \"npy\", \"dtype\": \"<u2\", \"order\": \"C\", "
#define GOOD_TAIL ", \"pattern\": \"{0}_{1}.npy\", \"data_offset\": 128}"

static resplit_status parse(const char *text, bool partial, rs_manifest *out, resplit_error *err)
{
    return rs_manifest_parse(text, strlen(text), "m.json", partial, out, err);
}

static void a_whole_manifest_is_read(void **state)
{
    rs_manifest m;
    resplit_error err;
    (void)state;
    assert_works(parse(GOOD_HEAD
                       "\"shape\": [100, 60], \"chunks\": [64, [10, 20, 30]], \"later\": {\"x\": [1]}" GOOD_TAIL,
                       false, &m, &err),
                 err);
    assert_string_equal(m.spec.format, "npy");
    assert_string_equal(m.spec.dtype, "<u2");
    assert_string_equal(m.spec.pattern, "{0}_{1}.npy");
    assert_int_equal(m.spec.order, 'C');
    assert_int_equal(m.spec.ndim, 2);
    assert_int_equal(m.spec.shape[0], 100);
    assert_int_equal(m.spec.shape[1], 60);
    assert_int_equal(m.spec.chunks[0].length, 64);
    assert_int_equal(m.spec.chunks[0].count, 0);
    assert_int_equal(m.spec.chunks[1].count, 3);
    assert_int_equal(m.spec.chunks[1].lengths[2], 30);
    assert_int_equal(m.spec.skip, 128);
    rs_manifest_release(&m);
}

static void numbers_beyond_doubles_are_kept(void **state)
{
    rs_manifest m;
    resplit_error err;
    (void)state;
    /* 2^53 + 1 is no double */
    assert_works(
        parse(GOOD_HEAD "\"shape\": [9007199254740993], \"chunks\": [9223372036854775807]" GOOD_TAIL, false, &m, &err),
        err);
    assert_true(m.spec.shape[0] == INT64_C(9007199254740993));
    assert_true(m.spec.chunks[0].length == INT64_MAX);
    rs_manifest_release(&m);
}

static void a_partial_one_says_what_it_says(void **state)
{
    rs_manifest m;
    resplit_error err;
    (void)state;
    assert_works(parse("{\"dtype\": \">f4\", \"skip\": 352}", true, &m, &err), err);
    assert_null(m.spec.shape);
    assert_string_equal(m.spec.dtype, ">f4");
    assert_int_equal(m.spec.order, 0);
    assert_true(m.has_skip);
    assert_int_equal(m.spec.skip, 352);
    rs_manifest_release(&m);
    assert_works(parse("{}", true, &m, &err), err);
    assert_false(m.has_skip);
    rs_manifest_release(&m);
}

#define DEEP "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["

static void what_makes_no_sense_is_refused(void **state)
{
    static const struct {
        const char *text;
        resplit_status code;
        const char *sentence;
    } all[] = {
        {"", RESPLIT_EFORMAT, "'m.json' is not valid JSON: it is empty"},
        {"{", RESPLIT_EFORMAT, "no key where one is expected in line 1, column 2"},
        {"[]", RESPLIT_EFORMAT, "not a JSON object"},
        {"{} x", RESPLIT_EFORMAT, "'m.json' is not valid JSON: something after the value"},
        {"{'resplit': 1}", RESPLIT_EFORMAT, "'m.json' is not valid JSON"},
        {"{\"resplit\": 1, /* one */ \"order\": \"C\"}", RESPLIT_EFORMAT, "'m.json' is not valid JSON"},
        {DEEP DEEP, RESPLIT_EFORMAT, "nested more than 64 deep"},
        {"{}", RESPLIT_EFORMAT, "\"resplit\" is missing"},
        {"{\"resplit\": 2}", RESPLIT_EUNSUPPORTED, "version 2; only 1 can be read"},
        {"{\"resplit\": 1}", RESPLIT_EFORMAT, "\"format\" is missing"},
        {"{\"resplit\": 1, \"format\": \"zarr\"}", RESPLIT_EUNSUPPORTED, "format 'zarr', which is not known"},
        {"{\"resplit\": 1, \"format\": 3}", RESPLIT_EFORMAT, "\"format\" must be text"},
        {"{\"resplit\": 1, \"dtype\": \"a\\u0000b\"}", RESPLIT_EFORMAT, "\"dtype\" must be text"},
        {"{\"resplit\": 1, \"order\": \"K\"}", RESPLIT_EFORMAT, "order is 'K', not C or F"},
        {GOOD_HEAD "\"shape\": [100, 60]" GOOD_TAIL, RESPLIT_EFORMAT, "\"chunks\" is missing"},
        {GOOD_HEAD "\"chunks\": [100, 60]" GOOD_TAIL, RESPLIT_EFORMAT, "chunks but no shape"},
        {GOOD_HEAD "\"shape\": 7, \"chunks\": [64, 1]" GOOD_TAIL, RESPLIT_EFORMAT, "\"shape\" must be a list"},
        {GOOD_HEAD "\"shape\": [100, 60], \"chunks\": [64]" GOOD_TAIL, RESPLIT_EFORMAT, "2 axes, the chunks have 1"},
        {GOOD_HEAD "\"shape\": [-1, 60], \"chunks\": [64, 1]" GOOD_TAIL, RESPLIT_EFORMAT,
         "holds -1, which is out of range"},
        {GOOD_HEAD "\"shape\": [1.5, 60], \"chunks\": [64, 1]" GOOD_TAIL, RESPLIT_EFORMAT, "whole numbers"},
        {GOOD_HEAD "\"shape\": [\"7\", 60], \"chunks\": [64, 1]" GOOD_TAIL, RESPLIT_EFORMAT, "whole numbers"},
        {GOOD_HEAD "\"shape\": [9223372036854775808, 60], \"chunks\": [64, 1]" GOOD_TAIL, RESPLIT_EFORMAT,
         "out of range"},
        {GOOD_HEAD "\"shape\": [99999999999999999999999, 60], \"chunks\": [64, 1]" GOOD_TAIL, RESPLIT_EFORMAT,
         "out of range"},
        {GOOD_HEAD "\"shape\": [NaN, 60], \"chunks\": [64, 1]" GOOD_TAIL, RESPLIT_EFORMAT, "whole numbers"},
        {GOOD_HEAD "\"shape\": [-Infinity, 60], \"chunks\": [64, 1]" GOOD_TAIL, RESPLIT_EFORMAT, "whole numbers"},
        {GOOD_HEAD "\"shape\": [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1], \"chunks\": []" GOOD_TAIL, RESPLIT_EUNSUPPORTED,
         "17 axes"},
        {GOOD_HEAD "\"shape\": [100, 60], \"chunks\": [-2, 1]" GOOD_TAIL, RESPLIT_EFORMAT, "out of range"},
        {GOOD_HEAD "\"shape\": [100, 60], \"chunks\": [[], 1]" GOOD_TAIL, RESPLIT_EFORMAT, "an empty list"},
        {GOOD_HEAD "\"shape\": [100, 60], \"chunks\": [[50, -50], 1]" GOOD_TAIL, RESPLIT_EFORMAT, "out of range"},
        {GOOD_HEAD "\"shape\": [100, 60], \"chunks\": [[[50], 50], 1]" GOOD_TAIL, RESPLIT_EFORMAT, "whole numbers"},
        {GOOD_HEAD "\"shape\": [100, 60], \"chunks\": [null, 1]" GOOD_TAIL, RESPLIT_EFORMAT, "whole numbers"},
        {"{\"resplit\": 1, \"data_offset\": -1}", RESPLIT_EFORMAT, "\"data_offset\" holds -1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rs_manifest m;
        resplit_error err = {0};
        assert_fails(parse(all[i].text, false, &m, &err), all[i].code, err, all[i].sentence);
        assert_null(m.dtype);
    }
}

static void what_is_written_is_read_again(void **state)
{
    const int64_t shape[] = {100, 60, 0}, lengths[] = {10, 20, 30};
    const resplit_chunks chunks[] = {{.length = 64}, {.count = 3, .lengths = lengths}, {.length = -1}};
    const resplit_spec spec = {.format = "npy",
                               .dtype = "[('a\"\\\\', '<i4')]",
                               .order = 'F',
                               .ndim = 3,
                               .shape = shape,
                               .chunks = chunks,
                               .pattern = "a{{\"{0}_{1.start:04}.npy"};
    resplit_array *array;
    resplit_error err;
    rs_text text = {0};
    rs_manifest m;
    (void)state;
    assert_works(rs_array_describe(&spec, &array, &err), err);
    assert_works(rs_manifest_write(array, 0, 0, &text, &err), err);
    assert_works(rs_manifest_parse(text.s, text.n, "m.json", false, &m, &err), err);
    assert_string_equal(m.spec.dtype, spec.dtype);
    assert_string_equal(m.spec.pattern, spec.pattern);
    assert_string_equal(m.spec.format, "npy");
    assert_int_equal(m.spec.order, 'F');
    assert_int_equal(m.spec.ndim, 3);
    assert_memory_equal(m.spec.shape, shape, sizeof shape);
    assert_int_equal(m.spec.chunks[0].length, 64);
    assert_int_equal(m.spec.chunks[1].count, 3);
    assert_memory_equal(m.spec.chunks[1].lengths, lengths, sizeof lengths);
    assert_int_equal(m.spec.chunks[2].length, 0);
    assert_int_equal(m.spec.skip, array->data_offset);
    rs_manifest_release(&m);
    rs_text_release(&text);
    rs_array_close(array);
}

static void a_manifest_file_is_found_or_not(void **state)
{
    rs_manifest m;
    resplit_error err;
    bool found;
    const char *path = in(*state, "m.json");
    assert_works(rs_manifest_load(AT_FDCWD, path, path, true, &m, &found, &err), err);
    assert_false(found);
    write_text(path, "{\"dtype\": \"<u2\"}\n");
    assert_works(rs_manifest_load(AT_FDCWD, path, path, true, &m, &found, &err), err);
    assert_true(found);
    rs_manifest_release(&m);
    assert_int_equal(truncate(path, (16 << 20) + 1), 0);
    assert_fails(rs_manifest_load(AT_FDCWD, path, path, true, &m, &found, &err), RESPLIT_EFORMAT, err,
                 "at most 16777216 bytes");
    assert_false(found);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_fails(rs_manifest_load(AT_FDCWD, path, path, true, &m, &found, &err), RESPLIT_EFORMAT, err,
                 "must be a file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_manifest_is_read),
        cmocka_unit_test(numbers_beyond_doubles_are_kept),
        cmocka_unit_test(a_partial_one_says_what_it_says),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test_setup_teardown(a_manifest_file_is_found_or_not, make_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
