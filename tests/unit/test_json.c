/* SPDX-License-Identifier: BSD-3-Clause */
/* test_json.c - what is JSON (RFC 8259, and Python's three words) and what it means. Values are worked out by hand. */
#include "files.h"

#include <locale.h>
#include <math.h>

#include "base/json.h"

static resplit_status parse(const char *text, rs_json_document **out, resplit_error *err)
{
    return rs_json_parse(text, strlen(text), "a.json", out, err);
}

static void every_value_knows_its_text_and_its_neighbours(void **state)
{
    static const char text[] = " {\"a\": [1, 1e400 , {} ], \"b\":NaN,\"a\":\"x\\u00e9\" }\n";
    rs_json_document *document;
    resplit_error err;
    (void)state;
    assert_works(parse(text, &document, &err), err);
    const rs_json *root = rs_json_root(document), *list = root->first;
    assert_int_equal(root->kind, RS_JSON_OBJECT);
    assert_ptr_equal(root->text, text + 1);
    assert_int_equal(root->n, sizeof text - 3);
    assert_int_equal(rs_json_count(root), 3);
    assert_null(root->next);
    assert_null(root->key);
    assert_int_equal(list->kind, RS_JSON_ARRAY);
    assert_memory_equal(list->key, "\"a\"", list->key_n);
    assert_int_equal(list->n, strlen("[1, 1e400 , {} ]"));
    assert_memory_equal(list->text, "[1, 1e400 , {} ]", list->n);
    assert_int_equal(rs_json_count(list), 3);
    assert_int_equal(list->first->next->n, 5);
    assert_memory_equal(list->first->next->text, "1e400", 5);
    assert_null(list->first->next->next->first);
    assert_null(list->first->next->next->next);
    assert_int_equal(rs_json_count(list->first->next->next), 0);
    assert_true(rs_json_is(rs_json_get(root, "a"), "x\xc3\xa9")); /* the last one of two */
    assert_int_equal(rs_json_get(root, "b")->kind, RS_JSON_NUMBER);
    assert_null(rs_json_get(root, "c"));
    assert_null(rs_json_get(list, "a"));
    assert_null(rs_json_get(NULL, "a"));
    rs_json_free(document);
    rs_json_free(NULL);
}

static void what_is_no_json_is_refused_with_the_place(void **state)
{
    static const struct {
        const char *text, *place;
    } all[] = {
        {"", "empty"},
        {"  ", "the end where a value is expected in line 1, column 3"},
        {"[1,]", "no value in line 1, column 4"},
        {"[1\n 2]", "neither ',' nor ']' in line 2, column 2"},
        {"[1", "neither ',' nor ']' in line 1, column 3"},
        {"{\"a\":1,}", "no key"},
        {"{\"a\" 1}", "no ':'"},
        {"{\"a\":1 \"b\":2}", "neither ',' nor '}'"},
        {"{a:1}", "no key"},
        {"{\"a\":}", "no value"},
        {"[}", "no value"},
        {"{]", "no key"},
        {"]", "no value"},
        {"1 2", "something after the value in line 1, column 3"},
        {"01", "wrong number"},
        {"-", "wrong number"},
        {"-a", "wrong number"},
        {"1.", "wrong number"},
        {"1.e5", "wrong number"},
        {"1e", "wrong number"},
        {"1e+", "wrong number"},
        {".5", "no value"},
        {"+1", "no value"},
        {"0x10", "something after"},
        {"nul", "no value"},
        {"nullx", "something after"},
        {"True", "no value"},
        {"-NaN", "wrong number"},
        {"'a'", "no value"},
        {"\"a", "does not end"},
        {"\"a\\", "wrong escape"},
        {"\"\\x\"", "wrong escape"},
        {"\"\\u12g4\"", "wrong escape"},
        {"\"\\u12", "wrong escape"},
        {"\"a\nb\"", "control character"},
        {"\"\xff\"", "no UTF-8"},
        {"\"\xc0\x80\"", "no UTF-8"},
        {"\"\xed\xa0\x80\"", "no UTF-8"},
        {"\"\xf4\x90\x80\x80\"", "no UTF-8"},
        {"\"\xe2\x82\"", "no UTF-8"},
        {"\xef\xbb\xbf{}", "no value"},
        {"// a\n1", "no value"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rs_json_document *document;
        resplit_error err;
        assert_fails(parse(all[i].text, &document, &err), RESPLIT_EFORMAT, err, all[i].place);
        assert_non_null(strstr(err.message, "'a.json'"));
        assert_null(document);
    }
    rs_json_document *document;
    resplit_error err;
    assert_fails(rs_json_parse("[1,\0]", 5, "a.json", &document, &err), RESPLIT_EFORMAT, err, "column 4");
}

static void depth_and_number_of_values_are_limited(void **state)
{
    char deep[130];
    rs_json_document *document;
    resplit_error err;
    (void)state;
    memset(deep, '[', 65);
    memset(deep + 65, ']', 65);
    assert_works(rs_json_parse(deep + 1, 128, "a.json", &document, &err), err);
    rs_json_free(document);
    assert_fails(rs_json_parse(deep, 130, "a.json", &document, &err), RESPLIT_EFORMAT, err, "more than 64 deep");

    size_t n = (4U << 20) * 2 + 1;
    char *many = malloc(n);
    assert_non_null(many);
    for (size_t i = 0; i < n; i++) {
        many[i] = i % 2 ? '0' : ',';
    }
    many[0] = '[';
    many[n - 1] = ']';
    assert_fails(rs_json_parse(many, n, "a.json", &document, &err), RESPLIT_EFORMAT, err, "4194304");
    memset(many + n - 3, ' ', 2); /* one value less */
    assert_works(rs_json_parse(many, n, "a.json", &document, &err), err);
    assert_int_equal(rs_json_count(rs_json_root(document)), (4 << 20) - 1);
    rs_json_free(document);
    free(many);
    assert_fails(rs_json_parse("1", (1U << 26) + 1, "a.json", &document, &err), RESPLIT_EFORMAT, err, "67108865 bytes");
}

static void integers_are_exact_or_none(void **state)
{
    static const struct {
        const char *text;
        bool is_signed, is_unsigned;
        uint64_t bits;
    } all[] = {
        {"0", true, true, 0},
        {"-0", true, true, 0},
        {"9223372036854775807", true, true, INT64_MAX},
        {"9223372036854775808", false, true, UINT64_C(1) << 63},
        {"-9223372036854775808", true, false, UINT64_C(1) << 63},
        {"-9223372036854775809", false, false, 0},
        {"18446744073709551615", false, true, UINT64_MAX},
        {"18446744073709551616", false, false, 0},
        {"99999999999999999999999999", false, false, 0},
        {"2.0", false, false, 0},
        {"1e3", false, false, 0},
        {"NaN", false, false, 0},
        {"-Infinity", false, false, 0},
        {"true", false, false, 0},
        {"\"1\"", false, false, 0},
        {"-1", true, false, UINT64_MAX},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rs_json_document *document;
        resplit_error err;
        int64_t a = 0;
        uint64_t b = 0;
        assert_works(parse(all[i].text, &document, &err), err);
        assert_int_equal(rs_json_is_integer(rs_json_root(document)),
                         strspn(all[i].text, "-0123456789") == strlen(all[i].text));
        assert_int_equal(rs_json_int64(rs_json_root(document), &a), all[i].is_signed);
        assert_true(!all[i].is_signed || (uint64_t)a == all[i].bits);
        assert_int_equal(rs_json_uint64(rs_json_root(document), &b), all[i].is_unsigned);
        assert_true(!all[i].is_unsigned || b == all[i].bits);
        rs_json_free(document);
    }
    assert_false(rs_json_is_integer(NULL) || rs_json_int64(NULL, &(int64_t){0}));
}

static double real(const char *text)
{
    rs_json_document *document;
    resplit_error err;
    double out;
    assert_works(parse(text, &document, &err), err);
    assert_true(rs_json_double(rs_json_root(document), &out));
    rs_json_free(document);
    return out;
}

static void numbers_are_the_nearest_doubles_in_every_locale(void **state)
{
    static const struct {
        const char *text;
        double want;
    } all[] = {
        {"0", 0.0},
        {"1", 1.0},
        {"-1.5", -1.5},
        {"0.1", 0.1},
        {"0.0001", 1e-4},
        {"123.456e-2", 1.23456},
        {"1E3", 1000.0},
        {"0e99999999999999999999", 0.0},
        {"0.000e5", 0.0},
        {"1e-400", 0.0},
        {"5e-324", 0x1p-1074},
        {"1.7976931348623157e308", 0x1.fffffffffffffp1023},
        {"9007199254740993", 9007199254740992.0}, /* half way: to even */
        {"9007199254740993.0000000000000000001", 9007199254740994.0},
        {"100000000000000000000000", 1e23},
    };
    (void)state;
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
            assert_true(real(all[i].text) == all[i].want);
        }
        assert_true(signbit(real("-0.0")) && signbit(real("-0")));
        assert_true(isnan(real("NaN")));
        assert_true(real("Infinity") > 0 && isinf(real("Infinity")));
        assert_true(real("-Infinity") < 0 && isinf(real("-Infinity")));
        assert_true(isinf(real("1e400")) && isinf(real("-1e99999999999999999999")));
        (void)(setlocale(LC_NUMERIC, "de_DE.UTF-8") || setlocale(LC_NUMERIC, "fr_FR.UTF-8"));
    }
    (void)setlocale(LC_NUMERIC, "C");
    /* a thousand digits, of which the last one decides */
    char far[1100] = "9007199254740993.", *end = far + strlen(far);
    memset(end, '0', 1000);
    assert_true(real(far) == 9007199254740992.0);
    end[999] = '1';
    assert_true(real(far) == 9007199254740994.0);
    memset(far, '7', 1000);
    far[1000] = '\0';
    assert_true(isinf(real(far)));
    memcpy(far + 1000, "e-999", 6);
    assert_true(real(far) == 7.777777777777778);
    double none;
    assert_false(rs_json_double(NULL, &none));
}

static void strings_come_without_escapes(void **state)
{
    static const struct {
        const char *text, *want;
    } all[] = {
        {"\"\"", ""},
        {"\"abc\"", "abc"},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
        {"\"\\u0041\\u00e9\\u20AC\"", "A\xc3\xa9\xe2\x82\xac"},
        {"\"\\ud83d\\ude00!\"", "\xf0\x9f\x98\x80!"},
        {"\"\\uDBFF\\uDFFF\"", "\xf4\x8f\xbf\xbf"},
        {"\"\xc3\xa9\"", "\xc3\xa9"},
    };
    static const char *const none[] = {"\"\\ud83d\"", "\"\\ud83dx\"", "\"\\ude00\"", "\"\\ud83d\\u0041\"",
                                       "\"a\\u0000\""};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rs_json_document *document, *again;
        resplit_error err;
        rs_text text = {0}, back = {0};
        assert_works(parse(all[i].text, &document, &err), err);
        assert_works(rs_json_add_string(rs_json_root(document), &text, &err), err);
        assert_string_equal(text.s, all[i].want);
        assert_true(rs_json_is(rs_json_root(document), all[i].want));
        assert_false(rs_json_is(rs_json_root(document), "ab"));
        assert_false(rs_json_is(rs_json_root(document), "abcd"));
        assert_works(rs_json_write_string(&back, text.s, &err), err);
        assert_works(parse(back.s, &again, &err), err);
        assert_true(rs_json_is(rs_json_root(again), all[i].want));
        rs_json_free(again);
        rs_json_free(document);
        rs_text_release(&text);
        rs_text_release(&back);
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        rs_json_document *document;
        resplit_error err;
        rs_text text = {0};
        assert_works(parse(none[i], &document, &err), err);
        assert_fails(rs_json_add_string(rs_json_root(document), &text, &err), RESPLIT_EFORMAT, err,
                     i < 4 ? "surrogate" : "NUL");
        assert_false(rs_json_is(rs_json_root(document), "a"));
        rs_json_free(document);
        rs_text_release(&text);
    }
}

static void keys_and_booleans_are_what_they_say(void **state)
{
    rs_json_document *document;
    resplit_error err;
    rs_text key = {0};
    bool yes = false;
    (void)state;
    assert_works(parse("{\"\\u0061/b\": true, \"c\": false, \"d\": 1}", &document, &err), err);
    const rs_json *root = rs_json_root(document);
    assert_true(rs_json_key_is(root->first, "a/b"));
    assert_fails(rs_json_add_string(root, &key, &err), RESPLIT_EFORMAT, err, "string is expected");
    assert_fails(rs_json_add_string(NULL, &key, &err), RESPLIT_EFORMAT, err, "not nothing");
    assert_true(rs_json_bool(root->first, &yes) && yes);
    assert_true(rs_json_bool(rs_json_get(root, "c"), &yes) && !yes);
    assert_false(rs_json_bool(rs_json_get(root, "d"), &yes));
    rs_json_free(document);
    rs_text_release(&key);
}

static void strings_are_written_as_json(void **state)
{
    rs_text text = {0};
    resplit_error err;
    (void)state;
    assert_works(rs_json_write_string(&text, "a\"\\/\n\x01\x7f\xc3\xa9", &err), err);
    assert_string_equal(text.s, "\"a\\\"\\\\/\\n\\u0001\x7f\xc3\xa9\"");
    assert_fails(rs_json_write_string(&text, "a\xff", &err), RESPLIT_EINVAL, err, "not UTF-8");
    rs_text_release(&text);
}

static void doubles_are_written_with_a_point_or_an_exponent_in_every_locale(void **state)
{
    static const struct {
        double value;
        const char *text;
    } all[] = {
        {0, "0.0"},
        {16, "16.0"},
        {-5e8, "-500000000.0"},
        {9e-05, "9e-05"},
        {0.1, "0.1"},
        {1.5e18, "1.5e+18"},
        {1e18, "1e+18"},
        {1234.5678, "1234.5678"},
        {1.0 / 3, "0.333333333333333"},
    };
    resplit_error err;
    rs_text text = {0};
    (void)state;
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
            text.n = 0;
            assert_works(rs_json_write_double(&text, all[i].value, &err), err);
            assert_string_equal(text.s, all[i].text);
        }
        (void)(setlocale(LC_NUMERIC, "de_DE.UTF-8") || setlocale(LC_NUMERIC, "fr_FR.UTF-8"));
    }
    (void)setlocale(LC_NUMERIC, "C");
    assert_fails(rs_json_write_double(&text, (double)NAN, &err), RESPLIT_EINVAL, err, "cannot be written as JSON");
    assert_fails(rs_json_write_double(&text, -HUGE_VAL, &err), RESPLIT_EINVAL, err, "-inf");
    rs_text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_knows_its_text_and_its_neighbours),
        cmocka_unit_test(what_is_no_json_is_refused_with_the_place),
        cmocka_unit_test(depth_and_number_of_values_are_limited),
        cmocka_unit_test(integers_are_exact_or_none),
        cmocka_unit_test(numbers_are_the_nearest_doubles_in_every_locale),
        cmocka_unit_test(strings_come_without_escapes),
        cmocka_unit_test(keys_and_booleans_are_what_they_say),
        cmocka_unit_test(strings_are_written_as_json),
        cmocka_unit_test(doubles_are_written_with_a_point_or_an_exponent_in_every_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
