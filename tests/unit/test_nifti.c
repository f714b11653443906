/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_nifti.c - NIfTI headers as bytes: what is read of them, and what becomes of them in a piece. Offsets of fields
 * are those of nifti1.h and nifti2.h; positions were computed by hand for rotations by quarters and halves of a turn.
 */
#include "files.h"

#include "format/nifti.h"

/* A header of version 1, 4 x 5 x 6 of int16, voxels of 2 x 3 x 4, either byte order. */
typedef struct plain {
    unsigned char bytes[352];
    bool big;
} plain;

static void put(plain *p, int at, const void *value, int n)
{
    const unsigned char *from = value; /* of this machine, which is little-endian where these tests run */
    for (int i = 0; i < n; i++) {
        p->bytes[at + i] = from[p->big ? n - 1 - i : i];
    }
}

static void put16(plain *p, int at, int value)
{
    int16_t v = (int16_t)value;
    put(p, at, &v, 2);
}

static void put_float(plain *p, int at, float value)
{
    put(p, at, &value, 4);
}

static plain make_plain(bool big)
{
    plain p = {.big = big};
    const int32_t size = 348;
    const int dim[] = {3, 4, 5, 6, 1, 1, 1, 1};
    const float pixdim[] = {1, 2, 3, 4, 0.5f, 1, 1, 1};
    put(&p, 0, &size, 4);
    for (int i = 0; i < 8; i++) {
        put16(&p, 40 + 2 * i, dim[i]);
        put_float(&p, 76 + 4 * i, pixdim[i]);
    }
    put16(&p, 70, 4);
    put16(&p, 72, 16);
    put_float(&p, 108, 352);
    put16(&p, 252, 1); /* qform_code */
    put16(&p, 254, 2); /* sform_code */
    put_float(&p, 268, 10);
    put_float(&p, 272, 20);
    put_float(&p, 276, 30);
    memcpy(p.bytes + 344, "n+1", 4);
    return p;
}

static rs_nifti parse(const plain *p)
{
    rs_nifti nifti;
    int64_t total;
    resplit_error err;
    assert_works(rs_nifti_parse(p->bytes, sizeof p->bytes, "x.nii", &nifti, &total, &err), err);
    assert_int_equal(total, 352);
    return nifti;
}

static void fields_are_read_in_both_byte_orders(void **state)
{
    (void)state;
    for (int big = 0; big < 2; big++) {
        plain p = make_plain(big != 0);
        rs_nifti nifti = parse(&p);
        rs_dtype dtype;
        resplit_error err;
        assert_int_equal(nifti.byteorder, big != 0 ? '>' : '<');
        assert_int_equal(nifti.ndim, 3);
        assert_int_equal(nifti.shape[2], 6);
        assert_true(rs_nifti_real(&nifti, RS_NI_PIXDIM, 3) == 4);
        assert_true(rs_nifti_real(&nifti, RS_NI_QOFFSET_Y, 0) == 20);
        assert_works(rs_nifti_dtype(&nifti, "x.nii", &dtype, &err), err);
        assert_string_equal(dtype.descr, big != 0 ? ">i2" : "<i2");
        rs_dtype_release(&dtype);
        rs_nifti_release(&nifti);
    }
}

/* quaternion, qfac, and where the voxel (1, 1, 2) is */
static const struct turn {
    float b, c, d, qfac, at[3];
} turns[] = {
    {0, 0, 0, 1, {12, 23, 38}},                     /* not at all */
    {0, 0, 0, -1, {12, 23, 22}},                    /* k points the other way */
    {1, 0, 0, 1, {12, 17, 22}},                     /* half around x */
    {0, 1, 0, 1, {8, 23, 22}},                      /* half around y */
    {0, 0, 0.70710678118654752f, 1, {7, 22, 38}},   /* a quarter around z: x to y, y to -x */
    {0.70710678118654752f, 0, 0, -1, {12, 28, 33}}, /* a quarter around x, k the other way: y to z, -z to y */
};

static void a_piece_is_where_the_rotation_takes_it(void **state)
{
    static const int64_t start[] = {1, 1, 2}, shape[] = {3, 4, 4};
    (void)state;
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
        plain p = make_plain(i % 2 != 0);
        rs_nifti whole, piece;
        put_float(&p, 256, turns[i].b);
        put_float(&p, 260, turns[i].c);
        put_float(&p, 264, turns[i].d);
        put_float(&p, 76, turns[i].qfac);
        whole = parse(&p);
        assert_int_equal(rs_nifti_piece(&whole, start, shape, &piece, NULL), RESPLIT_OK);
        for (int k = 0; k < 3; k++) {
            double at = rs_nifti_real(&piece, (rs_nifti_id)(RS_NI_QOFFSET_X + k), 0);
            if (at < turns[i].at[k] - 1e-5 || at > turns[i].at[k] + 1e-5) {
                fail_msg("turn %zu, axis %d: %g instead of %g", i, k, at, (double)turns[i].at[k]);
            }
            assert_int_equal(piece.shape[k], shape[k]);
        }
        rs_nifti_release(&piece);
        rs_nifti_release(&whole);
    }
}

static void the_first_piece_gives_the_whole_back(void **state)
{
    static const int64_t start[] = {0, 0, 0}, shape[] = {4, 2, 3}, all[] = {4, 5, 6};
    plain p = make_plain(false);
    rs_nifti whole, piece;
    (void)state;
    p.bytes[39] = 3 << 4; /* slices along k, 0 to 5, one after the other */
    put16(&p, 120, 5);
    p.bytes[122] = 1;
    whole = parse(&p);
    assert_int_equal(rs_nifti_piece(&whole, start, shape, &piece, NULL), RESPLIT_OK);
    assert_int_equal(rs_nifti_int(&piece, RS_NI_SLICE_END, 0), 2);
    rs_nifti_widen(&piece, all);
    assert_memory_equal(piece.head.s, p.bytes, 348);
    rs_nifti_release(&piece);
    rs_nifti_release(&whole);
}

static void nifti_2_has_the_same_and_comes_back(void **state)
{
    plain p = make_plain(true);
    rs_nifti one = parse(&p), two, again;
    rs_dtype dtype;
    resplit_error err;
    int64_t total;
    (void)state;
    assert_works(rs_nifti_dtype(&one, "x.nii", &dtype, &err), err);
    rs_nifti_wish wish = {.version = 2, .dtype = &dtype}, back = {.version = 1, .dtype = &dtype};
    assert_works(rs_nifti_convert(&one, &wish, &two, &err), err);
    assert_int_equal(two.head.n, 544);
    assert_memory_equal(two.head.s + 4, "n+2\0\r\n\032\n", 8);
    assert_int_equal((unsigned char)two.head.s[31], 4); /* dim[1], the last byte of eight at 24 */
    assert_works(rs_nifti_parse(two.head.s, two.head.n, "y.nii", &again, &total, &err), err);
    assert_int_equal(total, 544);
    assert_true(rs_nifti_real(&again, RS_NI_QOFFSET_Z, 0) == 30);
    rs_nifti_release(&again);
    assert_works(rs_nifti_convert(&two, &back, &again, &err), err);
    assert_memory_equal(again.head.s, p.bytes, 352);
    rs_nifti_release(&again);
    rs_nifti_release(&two);
    rs_nifti_release(&one);
    rs_dtype_release(&dtype);
}

static void a_position_that_is_off_is_told(void **state)
{
    static const int64_t start[] = {1, 0, 0}, shape[] = {3, 5, 6};
    plain p = make_plain(false);
    rs_nifti whole = parse(&p), piece;
    rs_nifti_difference found;
    (void)state;
    assert_int_equal(rs_nifti_piece(&whole, start, shape, &piece, NULL), RESPLIT_OK);
    assert_int_equal(rs_nifti_compare(&whole, start, shape, &piece, &found, NULL), RESPLIT_OK);
    assert_null(found.field);
    rs_nifti_set_real(&piece, RS_NI_QOFFSET_X, 0, 12.001);
    assert_int_equal(rs_nifti_compare(&whole, start, shape, &piece, &found, NULL), RESPLIT_OK);
    assert_string_equal(found.field, "qoffset_x");
    rs_nifti_set_real(&piece, RS_NI_QOFFSET_X, 0, 12.000001);
    assert_int_equal(rs_nifti_compare(&whole, start, shape, &piece, &found, NULL), RESPLIT_OK);
    assert_null(found.field);
    rs_nifti_release(&piece);
    rs_nifti_release(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_read_in_both_byte_orders),
        cmocka_unit_test(a_piece_is_where_the_rotation_takes_it),
        cmocka_unit_test(the_first_piece_gives_the_whole_back),
        cmocka_unit_test(nifti_2_has_the_same_and_comes_back),
        cmocka_unit_test(a_position_that_is_off_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
