/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_npy.c - headers of .npy files. Good ones are written here as NumPy's format page (numpy.lib.format) describes
 * them; the bytes expected of our own headers are those of np.save.
 */
#include "files.h"

#include "format/format.h"

static resplit_status parse(const char *path, rs_head *head, resplit_error *err)
{
    struct stat status;
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0 && fstat(fd, &status) == 0);
    resplit_status rc = rs_format_by_name("npy")->parse_head(fd, status.st_size, path, head, err);
    close(fd);
    return rc;
}

typedef struct good {
    int major;
    const char *dict, *descr;
    char order;
    int ndim;
    int64_t shape[3];
} good;

static void headers_of_every_version_and_style_are_read(void **state)
{
    static const good all[] = {
        {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (3, 4), }", "<u2", 'C', 2, {3, 4}},
        {2, "{'descr': '<u2', 'fortran_order': True, 'shape': (3, 4), }", "<u2", 'F', 2, {3, 4}},
        {3,
         "{'descr': [('\xc3\xa9', '<u2')], 'fortran_order': False, 'shape': (3,), }",
         "[('\xc3\xa9', '<u2')]",
         'C',
         1,
         {3}},
        {1,
         "{'descr': [('\xe9', '<u2')], 'fortran_order': False, 'shape': (3,), }",
         "[('\xc3\xa9', '<u2')]",
         'C',
         1,
         {3}},
        {1, "{\"shape\": (2, 3, 4), \"fortran_order\": False, \"descr\": \">f8\"}", ">f8", 'C', 3, {2, 3, 4}},
        {1, "{'shape': (3L, 4L), 'descr': '|u1', 'fortran_order': False}", "|u1", 'C', 2, {3, 4}},
        {1, "{'descr': '<i4', 'fortran_order': False, 'shape': ()}", "<i4", 'C', 0, {0}},
        {1, "{'descr': '<i4', 'fortran_order': True, 'shape': (5,)}", "<i4", 'C', 1, {5}},
        {1, "{ 'descr' :\n'<i4' ,'fortran_order':True,'shape':(0,7,),}  ", "<i4", 'F', 2, {0, 7}},
        {1,
         "{'descr': [('a', '<i4'), ('b', '<f8', (2,))], 'fortran_order': False, 'shape': (2, 2)}",
         "[('a', '<i4'), ('b', '<f8', (2,))]",
         'C',
         2,
         {2, 2}},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rs_head head;
        resplit_error err;
        const char *path = in(*state, "x.npy");
        write_npy(path, all[i].major, all[i].dict, 0);
        assert_works(parse(path, &head, &err), err);
        assert_string_equal(head.dtype.descr, all[i].descr);
        assert_int_equal(head.order, all[i].order);
        assert_int_equal(head.ndim, all[i].ndim);
        assert_memory_equal(head.shape, all[i].shape, (size_t)head.ndim * sizeof(int64_t));
        assert_int_equal(head.data_offset % 64, 0);
        rs_head_release(&head);
    }
}

static void bad_dictionaries_are_refused_with_the_place(void **state)
{
    static const struct {
        const char *dict;
        resplit_status code;
        const char *sentence;
    } all[] = {
        {"", RESPLIT_EFORMAT, "expected '{'"},
        {"{'descr': '<u2', 'fortran_order': False}", RESPLIT_EFORMAT, "'shape' is missing"},
        {"{'descr': '<u2', 'shape': (1,)}", RESPLIT_EFORMAT, "'fortran_order' is missing"},
        {"{'descr': '<u2', 'descr': '<u2', 'fortran_order': False, 'shape': (1,)}", RESPLIT_EFORMAT, "once each"},
        {"{'other': 1, 'descr': '<u2', 'fortran_order': False, 'shape': (1,)}", RESPLIT_EFORMAT, "once each"},
        {"{'descr': '<u2', 'fortran_order': 0, 'shape': (1,)}", RESPLIT_EFORMAT, "True or False"},
        {"{'descr': '<u2', 'fortran_order': Falsey, 'shape': (1,)}", RESPLIT_EFORMAT, "True or False"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (3)}", RESPLIT_EFORMAT, "a shape such as (3,)"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (-3,)}", RESPLIT_EFORMAT, "a length of the shape"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (3 4)}", RESPLIT_EFORMAT, "',' or ')'"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (3.5,)}", RESPLIT_EFORMAT, "a length of the shape"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (3,", RESPLIT_EFORMAT, "a length of the shape"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (99999999999999999999,)}", RESPLIT_EFORMAT,
         "a length of the shape"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (4611686018427387904, 2)}", RESPLIT_EFORMAT,
         "more bytes than a file"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (0, 4611686018427387904, 4)}", RESPLIT_EFORMAT,
         "more bytes"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}", RESPLIT_EUNSUPPORTED,
         "more than 16 axes"},
        {"{'descr': '<u3', 'fortran_order': False, 'shape': (1,)}", RESPLIT_EFORMAT, "unknown type"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", RESPLIT_EUNSUPPORTED, "pickles"},
        {"{'descr': '|S0', 'fortran_order': False, 'shape': (1,)}", RESPLIT_EUNSUPPORTED, "zero bytes"},
        {"{'descr': '<u2, 'fortran_order': False, 'shape': (1,)}", RESPLIT_EFORMAT, "unknown type"},
        {"{'descr': '<u2' 'fortran_order': False, 'shape': (1,)}", RESPLIT_EFORMAT, "',' or '}'"},
        {"{'descr': [('a', '<u2'), 'fortran_order': False, 'shape': (1,)}", RESPLIT_EFORMAT, "a type"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (1,)} + 1", RESPLIT_EFORMAT, "expected nothing"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rs_head head;
        resplit_error err = {0};
        const char *path = in(*state, "bad.npy");
        write_npy(path, 1, all[i].dict, 0);
        assert_fails(parse(path, &head, &err), all[i].code, err, all[i].sentence);
        assert_non_null(strstr(err.message, "bad.npy"));
        assert_null(head.dtype.descr);
    }
}

static void a_file_that_is_cut_or_foreign_is_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        resplit_status code;
        const char *sentence;
    } all[] = {
        {"", 0, RESPLIT_EFORMAT, "is not a .npy file"},
        {"\x93NUMP", 5, RESPLIT_EFORMAT, "is not a .npy file"},
        {"PK\x03\x04....................", 24, RESPLIT_EFORMAT, "is not a .npy file"},
        {"\x93NUMPY", 6, RESPLIT_EFORMAT, "ends within its header"},
        {"\x93NUMPY\x01\x00\x10", 9, RESPLIT_EFORMAT, "ends within its header"},
        {"\x93NUMPY\x01\x00\x10\x00{'descr'", 18, RESPLIT_EFORMAT, "expected 26 bytes, got 18"},
        {"\x93NUMPY\x04\x00\x10\x00\x00\x00....", 16, RESPLIT_EUNSUPPORTED, "version 4.0; 1.0, 2.0 and 3.0"},
        {"\x93NUMPY\x02\x00\x01\x00\x01\x00....", 16, RESPLIT_EUNSUPPORTED, "65537 bytes; at most 65536"},
        {"\x93NUMPY\x02\x00\xff\xff\xff\xff....", 16, RESPLIT_EUNSUPPORTED, "4294967295 bytes; at most 65536"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rs_head head;
        resplit_error err = {0};
        const char *path = in(*state, "cut.npy");
        write_file(path, all[i].bytes, all[i].n);
        assert_fails(parse(path, &head, &err), all[i].code, err, all[i].sentence);
    }
}

static void new_headers_are_the_bytes_of_numpy(void **state)
{
    /* np.save(f, np.zeros((3, 4), '<u2')): 128 bytes, 118 = 0x76 after the length */
    static const char dict[] = "{'descr': '<u2', 'fortran_order': False, 'shape': (3, 4), }";
    rs_head head = {.ndim = 2, .shape = {3, 4}, .order = 'C'};
    rs_text text = {0};
    (void)state;
    assert_int_equal(rs_dtype_parse("<u2", &head.dtype, NULL), RESPLIT_OK);
    assert_int_equal(rs_format_by_name("npy")->make_head(&head, &text, NULL), RESPLIT_OK);
    assert_int_equal(text.n, 128);
    assert_memory_equal(text.s, "\x93NUMPY\x01\x00\x76\x00", 10);
    assert_memory_equal(text.s + 10, dict, strlen(dict));
    for (size_t i = 10 + strlen(dict); i < 127; i++) {
        assert_int_equal(text.s[i], ' ');
    }
    assert_int_equal(text.s[127], '\n');
    rs_text_release(&text);
    rs_head_release(&head);
}

static void new_headers_say_what_they_should(void **state)
{
    static const struct {
        const char *dtype;
        char order;
        int ndim;
        int major;
        int64_t offset; /* wanted */
        int64_t bytes;
        const char *dict;
    } all[] = {
        {"<f4", 'F', 2, 1, 0, 128, "{'descr': '<f4', 'fortran_order': True, 'shape': (7, 8), }"},
        {"<f4", 'F', 1, 1, 0, 128, "{'descr': '<f4', 'fortran_order': False, 'shape': (7,), }"},
        {"<f4", 'C', 0, 1, 0, 128, "{'descr': '<f4', 'fortran_order': False, 'shape': (), }"},
        {"<f4", 'C', 0, 1, 192, 192, "{'descr': '<f4', 'fortran_order': False, 'shape': (), }"},
        {"[('a', '<i4')]", 'C', 1, 1, 0, 128, "{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (7,), }"},
        {"[('\xc3\xa9', '<i4')]", 'C', 1, 3, 0, 128,
         "{'descr': [('\xc3\xa9', '<i4')], 'fortran_order': False, 'shape': (7,), }"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rs_head head = {.ndim = all[i].ndim, .shape = {7, 8}, .order = all[i].order, .data_offset = all[i].offset};
        rs_text text = {0};
        int start = all[i].major == 1 ? 10 : 12;
        assert_int_equal(rs_dtype_parse(all[i].dtype, &head.dtype, NULL), RESPLIT_OK);
        assert_int_equal(rs_format_by_name("npy")->make_head(&head, &text, NULL), RESPLIT_OK);
        assert_int_equal(text.n, all[i].bytes);
        assert_int_equal(text.s[6], all[i].major);
        assert_int_equal((unsigned char)text.s[8], (int)all[i].bytes - start);
        assert_memory_equal(text.s + start, all[i].dict, strlen(all[i].dict));
        assert_int_equal(text.s[text.n - 1], '\n');
        rs_text_release(&text);
        rs_head_release(&head);
    }
}

static void suffixes_and_names_find_the_driver(void **state)
{
    (void)state;
    assert_string_equal(rs_format_by_suffix("a/b.npy")->name, "npy");
    assert_string_equal(rs_format_by_suffix("b.raw")->name, "raw");
    assert_string_equal(rs_format_by_suffix("b.bin")->name, "raw");
    assert_string_equal(rs_format_by_suffix("b.dat")->name, "raw");
    assert_null(rs_format_by_suffix("b.npy/"));
    assert_null(rs_format_by_suffix(".npy"));
    assert_null(rs_format_by_suffix("npy"));
    assert_null(rs_format_by_name("tiff"));
    assert_true(rs_format_by_name("npy")->has_header);
    assert_false(rs_format_by_name("raw")->has_header);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(headers_of_every_version_and_style_are_read, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(bad_dictionaries_are_refused_with_the_place, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(a_file_that_is_cut_or_foreign_is_refused, make_folder, drop_folder),
        cmocka_unit_test(new_headers_are_the_bytes_of_numpy),
        cmocka_unit_test(new_headers_say_what_they_should),
        cmocka_unit_test(suffixes_and_names_find_the_driver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
