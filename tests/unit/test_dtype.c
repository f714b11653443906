/* SPDX-License-Identifier: BSD-3-Clause */
/* test_dtype.c - element types. Expected sizes and spellings are NumPy's: np.dtype(text).descr, .str and .itemsize. */
#include "files.h"

#include "format/dtype.h"

typedef struct expectation {
    const char *text, *descr;
    int64_t itemsize;
    char kind, byteorder;
    int64_t swap_size;
} expectation;

static void check(const expectation *e)
{
    rs_dtype dtype;
    resplit_error err;
    assert_works(rs_dtype_parse(e->text, &dtype, &err), err);
    assert_string_equal(dtype.descr, e->descr);
    assert_int_equal(dtype.itemsize, e->itemsize);
    assert_int_equal(dtype.kind, e->kind);
    assert_int_equal(dtype.byteorder, e->byteorder);
    assert_int_equal(dtype.swap_size, e->swap_size);
    rs_dtype_release(&dtype);
}

static void simple_types_have_numpys_size_and_spelling(void **state)
{
    static const expectation all[] = {
        {"bool", "|b1", 1, 'b', '|', 1},        {"?", "|b1", 1, 'b', '|', 1},
        {"uint8", "|u1", 1, 'u', '|', 1},       {"<u1", "|u1", 1, 'u', '|', 1},
        {"int8", "|i1", 1, 'i', '|', 1},        {"uint16", "<u2", 2, 'u', '<', 2},
        {"=u2", "<u2", 2, 'u', '<', 2},         {"|u2", "<u2", 2, 'u', '<', 2},
        {">i2", ">i2", 2, 'i', '>', 2},         {"i4", "<i4", 4, 'i', '<', 4},
        {"int64", "<i8", 8, 'i', '<', 8},       {">u8", ">u8", 8, 'u', '>', 8},
        {"float16", "<f2", 2, 'f', '<', 2},     {"float32", "<f4", 4, 'f', '<', 4},
        {"d", "<f8", 8, 'f', '<', 8},           {"longdouble", "<f16", 16, 'f', '<', 16},
        {"float128", "<f16", 16, 'f', '<', 16}, {"complex64", "<c8", 8, 'c', '<', 4},
        {">c16", ">c16", 16, 'c', '>', 8},      {"c32", "<c32", 32, 'c', '<', 16},
        {"S8", "|S8", 8, 'S', '|', 1},          {"a3", "|S3", 3, 'S', '|', 1},
        {"U4", "<U4", 16, 'U', '<', 4},         {">U1", ">U1", 4, 'U', '>', 4},
        {"V12", "|V12", 12, 'V', '|', 1},       {"<V2", "|V2", 2, 'V', '|', 1},
        {"M8[ns]", "<M8[ns]", 8, 'M', '<', 8},  {">m8[25us]", ">m8[25us]", 8, 'm', '>', 8},
        {"m8", "<m8", 8, 'm', '<', 8},          {"datetime64[D]", "<M8[D]", 8, 'M', '<', 8},
        {">float32", ">f4", 4, 'f', '>', 4},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        check(&all[i]);
    }
}

static void records_add_up_their_fields(void **state)
{
    /* sizes from np.dtype(...).itemsize; texts from np.lib.format.dtype_to_descr */
    static const expectation all[] = {
        {"[('a', '<i4'), ('b', '<f8', (2,))]", "[('a', '<i4'), ('b', '<f8', (2,))]", 20, 'V', '|', 0},
        {"[ (\"a\" ,'<i4',),('b','>f8',(2 , 3)) ,]", "[('a', '<i4'), ('b', '>f8', (2, 3))]", 52, 'V', '|', 0},
        {"[('p', [('x', '|u1'), ('', '|V3'), ('y', '<f4')], (2L,))]",
         "[('p', [('x', '|u1'), ('', '|V3'), ('y', '<f4')], (2,))]", 16, 'V', '|', 0},
        {"[(('a title', 'n'), '|S3')]", "[(('a title', 'n'), '|S3')]", 3, 'V', '|', 0},
        {"[(\"it's\", '<u2'), ('b\\\\', '<u2', 3)]", "[(\"it's\", '<u2'), ('b\\\\', '<u2', 3)]", 8, 'V', '|', 0},
        {"[('\xc3\xa9', '<u2')]", "[('\xc3\xa9', '<u2')]", 2, 'V', '|', 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        check(&all[i]);
    }
}

static void what_is_no_fixed_size_type_is_refused(void **state)
{
    static const struct {
        const char *text;
        resplit_status code;
        const char *sentence;
    } all[] = {
        {"", RESPLIT_EINVAL, "unknown type ''"},
        {"<", RESPLIT_EINVAL, "unknown type"},
        {"uint12", RESPLIT_EINVAL, "unknown type 'uint12': give a NumPy type such as uint16"},
        {"i3", RESPLIT_EINVAL, "unknown type 'i3'"},
        {"f", RESPLIT_OK, ""},
        {"i4x", RESPLIT_EINVAL, "unknown"},
        {"i4[ns]", RESPLIT_EINVAL, "unknown"},
        {"M8[parsec]", RESPLIT_EINVAL, "unknown"},
        {"M8[ns", RESPLIT_EINVAL, "unknown"},
        {"O", RESPLIT_EUNSUPPORTED, "object arrays hold pickles, not values"},
        {"|O8", RESPLIT_EUNSUPPORTED, "object arrays hold pickles, not values"},
        {"object", RESPLIT_EUNSUPPORTED, "object arrays hold pickles, not values"},
        {"[('a', '<i4'), ('b', '|O')]", RESPLIT_EUNSUPPORTED, "object arrays hold pickles"},
        {"S0", RESPLIT_EUNSUPPORTED, "zero bytes"},
        {"V", RESPLIT_EUNSUPPORTED, "zero bytes"},
        {"U0", RESPLIT_EUNSUPPORTED, "zero bytes"},
        {"[]", RESPLIT_EUNSUPPORTED, "zero bytes"},
        {"S9999999999", RESPLIT_EUNSUPPORTED, "larger than 2147483647 bytes"},
        {"S99999999999999999999", RESPLIT_EINVAL, "unknown"},
        {"[('a', 'S2147483647'), ('b', 'S1')]", RESPLIT_EUNSUPPORTED, "larger than 2147483647"},
        {"[('a', '<i4', (2147483648, 2147483648))]", RESPLIT_EUNSUPPORTED, "larger than 2147483647"},
        {"[('a', '<i4', (-1,))]", RESPLIT_EINVAL, "a length of a subarray"},
        {"[('a', '<i4')", RESPLIT_EINVAL, "',' or ']' after a field"},
        {"[('a', '<i4'", RESPLIT_EINVAL, "')' after a field"},
        {"[('a', '<i4)]", RESPLIT_EINVAL, "the type of a field"},
        {"[('a')]", RESPLIT_EINVAL, "',' after a field name"},
        {"[('a', '<i4')] x", RESPLIT_EINVAL, "expected nothing"},
        {"[('\xff', '<i4')]", RESPLIT_EINVAL, "not valid UTF-8"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rs_dtype dtype;
        resplit_error err = {0};
        assert_fails(rs_dtype_parse(all[i].text, &dtype, &err), all[i].code, err, all[i].sentence);
        if (all[i].code != RESPLIT_OK) {
            assert_null(dtype.descr);
        }
        rs_dtype_release(&dtype);
    }
}

/* [('f', [('f', ... '<i4' ... )])] */
static char *nested(int depth)
{
    char *text = calloc((size_t)depth * 12 + 8, 1);
    assert_non_null(text);
    for (int i = 0; i < depth; i++) {
        strcat(text, "[('f', ");
    }
    strcat(text, "'<i4'");
    for (int i = 0; i < depth; i++) {
        strcat(text, ")]");
    }
    return text;
}

static void nesting_is_limited_and_not_the_stack(void **state)
{
    rs_dtype dtype;
    resplit_error err;
    (void)state;
    char *fine = nested(16), *deep = nested(17), *hostile = nested(5000);
    assert_works(rs_dtype_parse(fine, &dtype, &err), err);
    assert_int_equal(dtype.itemsize, 4);
    rs_dtype_release(&dtype);
    assert_fails(rs_dtype_parse(deep, &dtype, &err), RESPLIT_EUNSUPPORTED, err, "more than 16 deep");
    assert_fails(rs_dtype_parse(hostile, &dtype, &err), RESPLIT_EUNSUPPORTED, err, "more than 16 deep");
    free(fine);
    free(deep);
    free(hostile);
}

static bool same(const char *a, const char *b)
{
    rs_dtype x, y;
    assert_int_equal(rs_dtype_parse(a, &x, NULL), RESPLIT_OK);
    assert_int_equal(rs_dtype_parse(b, &y, NULL), RESPLIT_OK);
    bool result = rs_dtype_same_values(&x, &y);
    rs_dtype_release(&x);
    rs_dtype_release(&y);
    return result;
}

static void byte_order_does_not_change_values(void **state)
{
    (void)state;
    assert_true(same("<u2", ">u2"));
    assert_true(same("uint8", "|u1"));
    assert_false(same("<u2", "<i2"));
    assert_false(same("<u2", "<u4"));
    assert_false(same("M8[ns]", "M8[us]"));
    assert_true(same("<M8[ns]", ">M8[ns]"));
    assert_true(same("[('a','<i4')]", "[('a', '<i4')]"));
    assert_false(same("[('a', '<i4')]", "[('a', '>i4')]")); /* records cannot be swapped */
    assert_false(same("[('a', '<i4')]", "V4"));
}

static void a_copy_lives_on_its_own(void **state)
{
    rs_dtype a, b;
    (void)state;
    assert_int_equal(rs_dtype_parse("<f4", &a, NULL), RESPLIT_OK);
    assert_int_equal(rs_dtype_copy(&a, &b, NULL), RESPLIT_OK);
    rs_dtype_release(&a);
    assert_string_equal(b.descr, "<f4");
    assert_int_equal(b.itemsize, 4);
    rs_dtype_release(&b);
    rs_dtype_release(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simple_types_have_numpys_size_and_spelling),
        cmocka_unit_test(records_add_up_their_fields),
        cmocka_unit_test(what_is_no_fixed_size_type_is_refused),
        cmocka_unit_test(nesting_is_limited_and_not_the_stack),
        cmocka_unit_test(byte_order_does_not_change_values),
        cmocka_unit_test(a_copy_lives_on_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
