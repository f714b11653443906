/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_folder.c - arrays on disk: one file, folders of blocks by names, manifest or Dask stack; and arrays to be made.
 * Blocks are written by the helpers in files.h, never by the library.
 */
#include "files.h"

#include "format/array.h"

static resplit_array *opened(const char *path, const resplit_spec *spec)
{
    resplit_array *array;
    resplit_error err;
    assert_works(rs_array_open(path, spec, &array, &err), err);
    return array;
}

#define assert_refused(path, spec, code, text)                                                                         \
    do {                                                                                                               \
        resplit_error err_ = {0};                                                                                      \
        resplit_array *array_ = (resplit_array *)1;                                                                    \
        assert_fails(rs_array_open((path), (spec), &array_, &err_), (code), err_, (text));                             \
        assert_null(array_);                                                                                           \
    } while (0)

/* A 3 x 2 grid of uint16 blocks, cut at 4, 4, 1 and 3, 5: shape 9 x 8. Names by `format`, filled with the index. */
static const int grid_rows[] = {4, 4, 1}, grid_columns[] = {3, 5};

static void write_grid(const void *folder, const char *format)
{
    char name[100];
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 2; j++) {
            (void)snprintf(name, sizeof name, format, i, j);
            write_block(in(folder, name), grid_rows[i], grid_columns[j]);
        }
    }
}

static void assert_grid(const resplit_array *array, const char *pattern)
{
    const resplit_info *info = &array->info;
    assert_string_equal(info->pattern, pattern);
    assert_true(info->folder);
    assert_int_equal(info->ndim, 2);
    assert_int_equal(info->shape[0], 9);
    assert_int_equal(info->shape[1], 8);
    assert_int_equal(info->chunks[0].count, 0);
    assert_int_equal(info->chunks[0].length, 4);
    assert_int_equal(info->chunks[1].count, 2);
    assert_int_equal(info->chunks[1].lengths[0], 3);
    assert_int_equal(info->chunks[1].lengths[1], 5);
    assert_int_equal(info->n_blocks, 6);
    assert_int_equal(info->n_elements, 72);
    assert_int_equal(info->bytes, 144);
    assert_string_equal(info->dtype, "<u2");
    assert_string_equal(info->format, "npy");
    assert_int_equal(info->itemsize, 2);
    assert_int_equal(info->order, 'C');
}

/* ---- One file ---- */

static void a_npy_file_tells_all_about_itself(void **state)
{
    const char *path = in(*state, "a.npy");
    write_npy(path, 1, "{'descr': '>f4', 'fortran_order': True, 'shape': (3, 4), }", 48);
    resplit_array *array = opened(path, NULL);
    assert_string_equal(array->info.path, path);
    assert_string_equal(array->info.dtype, ">f4");
    assert_int_equal(array->info.order, 'F');
    assert_int_equal(array->layout.order[0], 1);
    assert_int_equal(array->info.n_blocks, 1);
    assert_int_equal(array->info.bytes, 48);
    assert_int_equal(array->info.chunks[1].length, 4);
    assert_false(array->info.folder);
    assert_null(array->info.pattern);
    int64_t index[] = {0, 0};
    char name[RS_NAME_MAX];
    assert_int_equal(rs_array_block_name(array, index, name, NULL), RESPLIT_OK);
    assert_string_equal(name, "");
    assert_int_equal(rs_array_block_offset(array, index), 128);
    rs_array_close(array);
}

static void content_decides_not_the_suffix(void **state)
{
    write_block(in(*state, "a.raw"), 2, 2);
    resplit_array *array = opened(in(*state, "a.raw"), NULL);
    assert_string_equal(array->info.format, "npy");
    rs_array_close(array);
    write_zeros(in(*state, "b.npy"), 100);
    assert_refused(in(*state, "b.npy"), NULL, RESPLIT_EFORMAT, "is not a .npy file");
}

static void scalars_and_empty_arrays_are_arrays(void **state)
{
    write_npy(in(*state, "s.npy"), 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (), }", 8);
    resplit_array *array = opened(in(*state, "s.npy"), NULL);
    assert_int_equal(array->info.ndim, 0);
    assert_int_equal(array->info.n_elements, 1);
    assert_int_equal(array->info.n_blocks, 1);
    rs_array_close(array);
    write_npy(in(*state, "e.npy"), 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 5), }", 0);
    array = opened(in(*state, "e.npy"), NULL);
    assert_int_equal(array->info.n_elements, 0);
    assert_int_equal(array->info.n_blocks, 1);
    assert_int_equal(array->info.bytes, 0);
    rs_array_close(array);
}

static void sizes_are_exact(void **state)
{
    const char *path = in(*state, "a.npy");
    write_block(path, 3, 4); /* 128 + 24 */
    assert_int_equal(truncate(path, 151), 0);
    assert_refused(path, NULL, RESPLIT_EFORMAT, "has 151 bytes, expected 152");
    assert_int_equal(truncate(path, 153), 0);
    assert_refused(path, NULL, RESPLIT_EFORMAT, "too long");
}

static void a_raw_file_needs_shape_and_type(void **state)
{
    const int64_t shape[] = {3, 4}, wrong[] = {3, 5};
    resplit_spec spec = {.ndim = 2, .shape = shape, .dtype = "uint16", .skip = 10};
    const char *path = in(*state, "x.raw");
    write_zeros(path, 34);
    assert_refused(path, NULL, RESPLIT_EINVAL, "is a raw file: give --shape and --dtype");
    resplit_array *array = opened(path, &spec);
    assert_int_equal(array->data_offset, 10);
    assert_int_equal(array->info.bytes, 24);
    assert_string_equal(array->info.format, "raw");
    rs_array_close(array);
    spec.shape = wrong;
    assert_refused(path, &spec, RESPLIT_EFORMAT, "has 34 bytes, expected 40");
    const resplit_chunks chunks[] = {{.length = 1}, {.length = -1}};
    spec.shape = shape;
    spec.chunks = chunks;
    assert_refused(path, &spec, RESPLIT_EINVAL, "chunks given make 3");
    spec.chunks = NULL;
    spec.pattern = "{0}.raw";
    assert_refused(path, &spec, RESPLIT_EINVAL, "is one file and has no pattern");
}

static void a_raw_file_may_have_a_note_beside_it(void **state)
{
    const int64_t wrong[] = {4, 3};
    resplit_spec spec = {.ndim = 2, .shape = wrong};
    write_zeros(in(*state, "x.raw"), 34);
    write_text(in(*state, "x.raw.json"), "{\"shape\": [3, 4], \"dtype\": \">u2\", \"order\": \"F\", \"skip\": 10}");
    resplit_array *array = opened(in(*state, "x.raw"), NULL);
    assert_string_equal(array->info.dtype, ">u2");
    assert_int_equal(array->info.order, 'F');
    assert_int_equal(array->info.shape[0], 3);
    assert_int_equal(array->data_offset, 10);
    rs_array_close(array);
    assert_refused(in(*state, "x.raw"), &spec, RESPLIT_EINVAL, "has shape 3,4, but 4,3 was given");
    write_text(in(*state, "x.raw.json"), "{\"shape\": [3, 4");
    assert_refused(in(*state, "x.raw"), NULL, RESPLIT_EFORMAT, "is not valid JSON");
}

static void what_the_user_says_must_agree(void **state)
{
    const int64_t shape[] = {3, 5}, right[] = {3, 4};
    const char *path = in(*state, "a.npy");
    write_npy(path, 1, "{'descr': '>u2', 'fortran_order': False, 'shape': (3, 4), }", 24);
    assert_refused(path, &((resplit_spec){.ndim = 2, .shape = shape}), RESPLIT_EINVAL,
                   "has shape 3,4, but 3,5 was given");
    assert_refused(path, &((resplit_spec){.ndim = 1, .shape = shape}), RESPLIT_EINVAL,
                   "has shape 3,4, but 3 was given");
    assert_refused(path, &((resplit_spec){.dtype = "int16"}), RESPLIT_EINVAL, "has type >u2, but int16 was given");
    assert_refused(path, &((resplit_spec){.dtype = "<u2"}), RESPLIT_EINVAL, "has type >u2, but <u2 was given");
    assert_refused(path, &((resplit_spec){.order = 'F'}), RESPLIT_EINVAL, "has order C, but F was given");
    assert_refused(path, &((resplit_spec){.skip = 5}), RESPLIT_EINVAL, "only raw files can skip");
    assert_refused(path, &((resplit_spec){.dtype = "nonsense"}), RESPLIT_EINVAL, "unknown type");
    assert_refused(path, &((resplit_spec){.format = "tiff"}), RESPLIT_EINVAL, "unknown format 'tiff'");
    assert_refused(path, &((resplit_spec){.order = 'K'}), RESPLIT_EINVAL, "neither C nor F");
    /* no byte order was given: the file decides */
    rs_array_close(opened(path, &((resplit_spec){.dtype = "uint16", .ndim = 2, .shape = right, .order = 'C'})));
}

static void what_cannot_be_opened_is_an_io_error(void **state)
{
    resplit_array *array;
    resplit_error err;
    assert_fails(rs_array_open(in(*state, "none"), NULL, &array, &err), RESPLIT_EIO, err, "No such file");
    assert_int_equal(err.sys_errno, 2);
    assert_int_equal(mkfifo(in(*state, "pipe.npy"), 0600), 0);
    assert_refused(in(*state, "pipe.npy"), NULL, RESPLIT_EFORMAT, "is not a regular file");
    assert_refused("", NULL, RESPLIT_EINVAL, "empty");
}

/* ---- Folders by names ---- */

static void a_grid_is_found_from_names_and_headers(void **state)
{
    static const struct {
        const char *format, *pattern;
    } all[] = {
        {"%d_%d.npy", "{0}_{1}.npy"},
        {"block_%d_%d.npy", "block_{0}_{1}.npy"},
        {"t1-%02d-%02d.npy", "t1-{0:02}-{1:02}.npy"},
        {"a{%d.%03d.npy", "a{{{0}.{1:03}.npy"},
        {"2024_%d_%d.npy", "2024_{0}_{1}.npy"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char *folder = strdup(in(*state, "g"));
        assert_int_equal(mkdir(folder, 0700), 0);
        write_grid(folder, all[i].format);
        write_text(in(folder, "readme.txt"), "not a block");
        write_text(in(folder, ".hidden.npy"), "not a block");
        resplit_array *array = opened(folder, NULL);
        assert_grid(array, all[i].pattern);
        assert_null(array->offsets);
        assert_int_equal(array->data_offset, 128);
        rs_array_close(array);
        remove_tree(folder);
        free(folder);
    }
}

static void first_elements_as_names_are_recognised(void **state)
{
    static const int rows[] = {0, 4, 8}, columns[] = {0, 3};
    char name[50];
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 2; j++) {
            (void)snprintf(name, sizeof name, "%d_%d.npy", rows[i], columns[j]);
            write_block(in(*state, name), grid_rows[i], grid_columns[j]);
        }
    }
    resplit_array *array = opened(*state, NULL);
    assert_grid(array, "{0.start}_{1.start}.npy");
    rs_array_close(array);
}

static void offsets_as_names_need_the_shape(void **state)
{
    static const int rows[] = {0, 4, 8}, columns[] = {0, 3};
    const int64_t shape[] = {9, 8};
    const resplit_spec spec = {.ndim = 2, .shape = shape};
    char name[50];
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 2; j++) {
            (void)snprintf(name, sizeof name, "b_%d.npy", rows[i] * 8 + columns[j]);
            write_block(in(*state, name), grid_rows[i], grid_columns[j]);
        }
    }
    assert_refused(*state, NULL, RESPLIT_EINVAL, "hold offsets, which need the shape");
    resplit_array *array = opened(*state, &spec);
    assert_grid(array, "b_{offset}.npy");
    rs_array_close(array);
}

static void a_pattern_from_the_user_selects_files(void **state)
{
    resplit_spec spec = {.pattern = "x_{1}_{0}.npy"};
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 2; j++) {
            char name[50];
            (void)snprintf(name, sizeof name, "x_%d_%d.npy", j, i);
            write_block(in(*state, name), grid_rows[i], grid_columns[j]);
        }
    }
    write_block(in(*state, "mask.npy"), 1, 1);
    assert_refused(*state, NULL, RESPLIT_EFORMAT, "are not named alike");
    resplit_array *array = opened(*state, &spec);
    assert_grid(array, "x_{1}_{0}.npy");
    rs_array_close(array);
    spec.pattern = "y_{1}_{0}.npy";
    assert_refused(*state, &spec, RESPLIT_EFORMAT, "holds no file with a name like 'y_{1}_{0}.npy'");
    spec.pattern = "x_{1}_{0}_{2}.npy";
    assert_refused(*state, &spec, RESPLIT_EFORMAT, "holds no file");
    spec.pattern = "x_{1}_{2}.npy";
    assert_refused(*state, &spec, RESPLIT_EINVAL, "names axis 2, but the array has 2 axes");
}

static void a_missing_block_is_named(void **state)
{
    write_grid(*state, "%d_%d.npy");
    assert_int_equal(unlink(in(*state, "1_1.npy")), 0);
    assert_refused(*state, NULL, RESPLIT_EFORMAT, "1_1.npy' is missing (index 1,1)");
    assert_int_equal(unlink(in(*state, "1_0.npy")), 0);
    /* now no name has 1 along axis 0 */
    assert_refused(*state, &((resplit_spec){.pattern = "{0}_{1}.npy"}), RESPLIT_EFORMAT, "'1_0.npy'");
}

static void a_duplicate_is_refused(void **state)
{
    write_grid(*state, "%d_%d.npy");
    write_block(in(*state, "01_1.npy"), 4, 5);
    assert_refused(*state, NULL, RESPLIT_EFORMAT,
                   "and the pattern '{0}_{1}.npy' disagree: duplicate or differently padded name");
}

static void a_block_that_does_not_fit_is_named(void **state)
{
    write_grid(*state, "%d_%d.npy");
    write_block(in(*state, "1_1.npy"), 4, 4);
    assert_refused(*state, NULL, RESPLIT_EFORMAT, "1_1.npy' has shape 4,4, but its place in the grid has 4,5");
    write_npy(in(*state, "1_1.npy"), 1, "{'descr': '<i2', 'fortran_order': False, 'shape': (4, 5), }", 40);
    assert_refused(*state, NULL, RESPLIT_EFORMAT, "1_1.npy' has type <i2, but the array has <u2");
    write_npy(in(*state, "1_1.npy"), 1, "{'descr': '<u2', 'fortran_order': True, 'shape': (4, 5), }", 40);
    assert_refused(*state, NULL, RESPLIT_EFORMAT, "1_1.npy' has order F, but the array has C");
    write_npy(in(*state, "1_1.npy"), 1, "{'descr': '<u2', 'fortran_order': False, 'shape': (4, 5, 1), }", 40);
    assert_refused(*state, NULL, RESPLIT_EFORMAT, "1_1.npy' has shape 4,5,1");
    write_npy(in(*state, "1_1.npy"), 1, "{'descr': '<u2', 'fortran_order': False, 'shape': (4, 5), }", 39);
    assert_refused(*state, NULL, RESPLIT_EFORMAT, "1_1.npy' has 167 bytes, expected 168");
    assert_int_equal(unlink(in(*state, "1_1.npy")), 0);
    assert_int_equal(mkdir(in(*state, "1_1.npy"), 0700), 0);
    assert_refused(*state, NULL, RESPLIT_EFORMAT, "1_1.npy' is not a regular file");
}

static void overlaps_and_gaps_are_told_with_numbers(void **state)
{
    const resplit_spec spec = {.pattern = "{0.start}.npy"};
    write_block(in(*state, "0.npy"), 5, 2);
    write_block(in(*state, "4.npy"), 4, 2);
    assert_refused(*state, &spec, RESPLIT_EFORMAT,
                   "0.npy' starts at 0 along axis 0 and has length 5, but the next block starts at 4: they overlap");
    write_block(in(*state, "0.npy"), 3, 2);
    assert_refused(*state, &spec, RESPLIT_EFORMAT, "leave a gap");
    assert_int_equal(unlink(in(*state, "0.npy")), 0);
    assert_refused(*state, &spec, RESPLIT_EFORMAT, "starts at 0 along axis 0: the first starts at 4");
}

static void blocks_whose_order_makes_no_difference_fit_any(void **state)
{
    /* np.save calls a (1, 4) Fortran array C, because it is both */
    write_npy(in(*state, "0_0.npy"), 1, "{'descr': '<u2', 'fortran_order': False, 'shape': (1, 4), }", 8);
    write_npy(in(*state, "1_0.npy"), 1, "{'descr': '<u2', 'fortran_order': True, 'shape': (3, 4), }", 24);
    resplit_array *array = opened(*state, NULL);
    assert_int_equal(array->info.order, 'F');
    assert_int_equal(array->layout.order[0], 1);
    assert_int_equal(array->info.chunks[0].count, 2);
    rs_array_close(array);
}

static void headers_of_different_length_are_remembered(void **state)
{
    write_block(in(*state, "0_0.npy"), 2, 2);
    write_npy(in(*state, "0_1.npy"), 1,
              "{'descr': '<u2',                                                                          "
              "'fortran_order': False, 'shape': (2, 2), }",
              8);
    write_block(in(*state, "0_2.npy"), 2, 2);
    resplit_array *array = opened(*state, NULL);
    int64_t index[] = {0, 0};
    assert_int_equal(rs_array_block_offset(array, index), 128);
    index[1] = 1;
    assert_int_equal(rs_array_block_offset(array, index), 192);
    index[1] = 2;
    assert_int_equal(rs_array_block_offset(array, index), 128);
    rs_array_close(array);
}

static void names_that_say_too_little_are_refused(void **state)
{
    assert_refused(*state, NULL, RESPLIT_EFORMAT, "holds no blocks");
    write_block(in(*state, "0.npy"), 2, 2);
    write_block(in(*state, "1.npy"), 2, 2);
    assert_refused(*state, NULL, RESPLIT_EFORMAT, "with one number in their names");
    resplit_array *array = opened(*state, &((resplit_spec){.pattern = "{1}.npy"}));
    assert_int_equal(array->info.shape[0], 2);
    assert_int_equal(array->info.shape[1], 4);
    rs_array_close(array);
    write_zeros(in(*state, "2.raw"), 8);
    assert_refused(*state, NULL, RESPLIT_EFORMAT, "of different kinds, such as '0.npy' and '2.raw'");
}

static void a_file_without_number_is_a_grid_of_one(void **state)
{
    write_block(in(*state, "volume.npy"), 2, 3);
    resplit_array *array = opened(*state, NULL);
    assert_string_equal(array->info.pattern, "volume.npy");
    assert_int_equal(array->info.n_blocks, 1);
    rs_array_close(array);
}

static void raw_folders_need_shape_type_and_cuts(void **state)
{
    const int64_t shape[] = {5, 4};
    const resplit_chunks chunks[] = {{.length = 3}, {.length = -1}}, wrong[] = {{.length = 2}, {.length = -1}};
    resplit_spec spec = {.ndim = 2, .shape = shape, .dtype = "<u2", .skip = 2, .order = 'F'};
    write_zeros(in(*state, "0_0.raw"), 2 + 24);
    write_zeros(in(*state, "1_0.raw"), 2 + 16);
    assert_refused(*state, NULL, RESPLIT_EINVAL, "holds raw files: give --shape and --dtype");
    assert_refused(*state, &spec, RESPLIT_EINVAL, "numbered by index: say how they are cut");
    spec.chunks = chunks;
    resplit_array *array = opened(*state, &spec);
    assert_int_equal(array->info.n_blocks, 2);
    assert_int_equal(array->info.order, 'F');
    assert_int_equal(array->data_offset, 2);
    assert_string_equal(array->info.pattern, "{0}_{1}.raw");
    rs_array_close(array);
    spec.chunks = wrong;
    assert_refused(*state, &spec, RESPLIT_EFORMAT, "0_0.raw' has 26 bytes, expected 18");
}

static void raw_folders_by_start_or_offset_need_no_cuts(void **state)
{
    const int64_t shape[] = {5, 4};
    resplit_spec spec = {.ndim = 2, .shape = shape, .dtype = "<u2"};
    write_zeros(in(*state, "x_0.raw"), 24);
    write_zeros(in(*state, "x_12.raw"), 16);
    resplit_array *array = opened(*state, &spec);
    assert_string_equal(array->info.pattern, "x_{offset}.raw");
    assert_int_equal(array->info.chunks[0].length, 3);
    assert_int_equal(array->info.n_blocks, 2);
    rs_array_close(array);
    assert_int_equal(rename(in(*state, "x_0.raw"), in(*state, "x_0_0.raw")), 0);
    assert_int_equal(rename(in(*state, "x_12.raw"), in(*state, "x_3_0.raw")), 0);
    array = opened(*state, &spec);
    assert_string_equal(array->info.pattern, "x_{0.start}_{1.start}.raw");
    assert_int_equal(array->info.chunks[0].length, 3);
    rs_array_close(array);
    assert_int_equal(rename(in(*state, "x_3_0.raw"), in(*state, "x_5_0.raw")), 0);
    assert_refused(*state, &spec, RESPLIT_EFORMAT, "starts at 5 along axis 0, which leaves it 0 elements");
}

static void raw_slices_need_no_cuts(void **state)
{
    const int64_t shape[] = {3, 2, 4};
    const resplit_spec spec = {.ndim = 3, .shape = shape, .dtype = "<u2", .pattern = "slice{0:02}.raw"};
    write_zeros(in(*state, "slice00.raw"), 16);
    write_zeros(in(*state, "slice01.raw"), 16);
    write_zeros(in(*state, "slice02.raw"), 16);
    resplit_array *array = opened(*state, &spec);
    assert_int_equal(array->info.chunks[0].length, 1);
    assert_int_equal(array->info.n_blocks, 3);
    rs_array_close(array);
    assert_int_equal(truncate(in(*state, "slice01.raw"), 15), 0);
    assert_refused(*state, &spec, RESPLIT_EFORMAT, "slice01.raw' has 15 bytes, expected 16");
}

static void an_absurd_index_costs_no_memory(void **state)
{
    write_block(in(*state, "0_0.npy"), 2, 2);
    write_block(in(*state, "9223372036854775807_0.npy"), 2, 2);
    assert_refused(*state, &((resplit_spec){.pattern = "{0}_{1}.npy"}), RESPLIT_EFORMAT, "'1_0.npy' of");
    assert_refused(*state, NULL, RESPLIT_EFORMAT, "");
}

/* ---- Manifest, Dask ---- */

static const char manifest[] =
    "{\"resplit\": 1, \"format\": \"npy\", \"dtype\": \"<u2\", \"order\": \"C\", \"shape\": [9, 8], "
    "\"chunks\": [4, [3, 5]], \"pattern\": \"{0}_{1}.npy\", \"data_offset\": 128}";

static void a_manifest_is_believed_and_verified(void **state)
{
    const int64_t shape[] = {9, 9};
    write_grid(*state, "%d_%d.npy");
    write_block(in(*state, "other.npy"), 1, 1);
    write_text(in(*state, "resplit.json"), manifest);
    resplit_array *array = opened(*state, NULL);
    assert_grid(array, "{0}_{1}.npy");
    rs_array_close(array);
    assert_refused(*state, &((resplit_spec){.ndim = 2, .shape = shape}), RESPLIT_EINVAL,
                   "has shape 9,8, but 9,9 was given");
    assert_refused(*state, &((resplit_spec){.pattern = "{1}_{0}.npy"}), RESPLIT_EINVAL,
                   "has pattern '{0}_{1}.npy', but");
    write_block(in(*state, "3_0.npy"), 1, 3);
    assert_refused(*state, NULL, RESPLIT_EFORMAT, "'3_0.npy' in");
    assert_int_equal(unlink(in(*state, "3_0.npy")), 0);
    write_block(in(*state, "2_1.npy"), 1, 4);
    assert_refused(*state, NULL, RESPLIT_EFORMAT, "2_1.npy' has shape 1,4, but its place in the grid has 1,5");
    assert_int_equal(unlink(in(*state, "2_1.npy")), 0);
    assert_refused(*state, NULL, RESPLIT_EFORMAT, "2_1.npy' is missing (index 2,1)");
}

static void a_manifest_that_cannot_be_is_refused(void **state)
{
    write_text(in(*state, "resplit.json"), "{\"resplit\": 1, \"format\": \"npy\", \"dtype\": \"<u2\", \"shape\": [9], "
                                           "\"chunks\": [[4, 4]], \"pattern\": \"{0}\"}");
    assert_refused(*state, NULL, RESPLIT_EFORMAT, "the chunks of axis 0 add up to 8, but its extent is 9");
    write_text(in(*state, "resplit.json"), "{\"resplit\": 1, \"format\": \"npy\", \"dtype\": \"<u2\", \"shape\": [9], "
                                           "\"chunks\": [4], \"pattern\": \"../{0}\"}");
    assert_refused(*state, NULL, RESPLIT_EFORMAT, "contains '/'");
    write_text(in(*state, "resplit.json"), "{\"resplit\": 1, \"format\": \"npy\", \"dtype\": \"<u2\", \"shape\": "
                                           "[4611686018427387904], \"chunks\": [1], \"pattern\": \"{0}\"}");
    assert_refused(*state, NULL, RESPLIT_EFORMAT, "larger than a file can be");
}

static void a_dask_stack_is_read_without_running_its_pickle(void **state)
{
    /* pickle.dumps({'chunks': ((4,), (4, 2)), 'axis': 1}, protocol=2) and 5 */
    static const char old[] = "\x80\x02}q\x00(X\x06\x00\x00\x00"
                              "chunksq\x01K\x04\x85q\x02K\x04K\x02\x86q\x03\x86q\x04X\x04\x00\x00\x00"
                              "axisq\x05K\x01u.";
    static const char new[] = "\x80\x05\x95#\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x06"
                              "chunks\x94K\x04\x85\x94K\x04K\x02\x86\x94\x86\x94\x8c\x04"
                              "axis\x94K\x01u.";
    write_block(in(*state, "0.npy"), 4, 4);
    write_block(in(*state, "1.npy"), 4, 2);
    for (int i = 0; i < 2; i++) {
        write_file(in(*state, "info"), i == 0 ? old : new, i == 0 ? sizeof old - 1 : sizeof new - 1);
        resplit_array *array = opened(*state, NULL);
        assert_string_equal(array->info.pattern, "{1}.npy");
        assert_int_equal(array->info.shape[0], 4);
        assert_int_equal(array->info.shape[1], 6);
        assert_int_equal(array->info.chunks[1].length, 4);
        rs_array_close(array);
    }
    write_file(in(*state, "info"), "\x80\x05}.", 4);
    assert_refused(*state, NULL, RESPLIT_EFORMAT, "does not tell the axis of a stack");
    write_file(in(*state, "info"),
               "\x80\x04\x8c\x04"
               "axis\x94K\x63",
               11);
    assert_refused(*state, NULL, RESPLIT_EFORMAT, "does not tell the axis of a stack");
}

/* ---- Arrays to be made ---- */

static resplit_array *source_of(int ndim, const int64_t *shape, const char *dtype)
{
    resplit_array *array;
    resplit_error err;
    const resplit_spec spec = {.format = "npy", .dtype = dtype, .ndim = ndim, .shape = shape};
    assert_works(rs_array_describe(&spec, &array, &err), err);
    return array;
}

static void a_target_is_cut_from_a_region(void **state)
{
    const int64_t shape[] = {100, 50}, start[] = {10, 0}, stop[] = {40, 50}, lengths[] = {20, 30};
    const resplit_chunks chunks[] = {{.length = 16}, {.count = 2, .lengths = lengths}};
    const resplit_target target = {.ndim = 2, .chunks = chunks, .roi_start = start, .roi_stop = stop};
    resplit_array *source = source_of(2, shape, "<u2"), *array;
    resplit_error err;
    char name[RS_NAME_MAX];
    (void)state;
    assert_works(rs_array_create("out", source, &target, &array, &err), err);
    rs_array_close(source);
    assert_int_equal(array->info.shape[0], 30);
    assert_int_equal(array->origin[0], 10);
    assert_int_equal(array->info.n_blocks, 4);
    assert_string_equal(array->info.pattern, "{0}_{1}.npy");
    assert_int_equal(array->info.chunks[1].count, 2);
    assert_int_equal(array->info.chunks[1].lengths[1], 30);
    assert_int_equal(array->data_offset, 128);
    const int64_t index[] = {1, 1};
    assert_int_equal(rs_array_block_name(array, index, name, NULL), RESPLIT_OK);
    assert_string_equal(name, "1_1.npy");
    rs_text head = {0};
    assert_int_equal(rs_array_block_head(array, index, &head, NULL), RESPLIT_OK);
    assert_int_equal(head.n, 128);
    assert_non_null(strstr(head.s + 10, "'shape': (14, 30), }"));
    rs_text_release(&head);
    rs_array_close(array);
}

static void one_offset_serves_all_new_blocks(void **state)
{
    /* 10 + 120 + 1 bytes before the data of shape (1000000, 1, 1), 6 fewer for (1, 1, 1): on both sides of 128 */
    const int64_t shape[] = {1000001, 1, 1};
    const resplit_chunks chunks[] = {{.length = 1000000}, {.length = -1}, {.length = -1}};
    resplit_array *source = source_of(3, shape, "[('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', '<u2'), ('b', '|u1')]"), *array;
    resplit_error err;
    (void)state;
    assert_works(rs_array_create("out/", source, &((resplit_target){.ndim = 3, .chunks = chunks}), &array, &err), err);
    for (int64_t i = 0; i < 2; i++) {
        const int64_t index[] = {i, 0, 0};
        rs_text head = {0};
        assert_int_equal(rs_array_block_head(array, index, &head, NULL), RESPLIT_OK);
        assert_int_equal(head.n, 192);
        assert_int_equal(array->data_offset, 192);
        assert_int_equal(head.s[head.n - 1], '\n');
        rs_text_release(&head);
    }
    rs_array_close(array);
    rs_array_close(source);
}

static void paths_decide_between_file_and_folder(void **state)
{
    const int64_t shape[] = {100, 50};
    const resplit_chunks chunks[] = {{.length = 64}, {.length = 64}};
    resplit_array *source = source_of(2, shape, "<u2"), *array;
    resplit_error err;
    (void)state;
    assert_works(rs_array_create("out.raw", source, NULL, &array, &err), err);
    assert_false(array->info.folder);
    assert_string_equal(array->info.format, "raw");
    assert_int_equal(array->data_offset, 0);
    rs_array_close(array);
    assert_works(rs_array_create("out", source, NULL, &array, &err), err);
    assert_true(array->info.folder);
    assert_string_equal(array->info.pattern, "{0}_{1}.npy");
    rs_array_close(array);
    assert_works(rs_array_create("out.npy", source, &((resplit_target){.folder = true, .ndim = 2, .chunks = chunks}),
                                 &array, &err),
                 err);
    assert_int_equal(array->info.n_blocks, 2);
    assert_int_equal(array->info.chunks[1].length, 50);
    rs_array_close(array);
    assert_works(
        rs_array_create(NULL, source, &((resplit_target){.ndim = 2, .chunks = chunks, .format = "raw"}), &array, &err),
        err);
    assert_null(array->info.path);
    assert_string_equal(array->info.pattern, "{0}_{1}.raw");
    rs_array_close(array);
    assert_works(
        rs_array_create("out", source, &((resplit_target){.pattern = "x{0}.bin", .overwrite = true}), &array, &err),
        err);
    assert_string_equal(array->info.format, "raw");
    assert_true(array->overwrite);
    rs_array_close(array);
    rs_array_close(source);
}

static void targets_that_cannot_be_are_refused(void **state)
{
    const int64_t shape[] = {100, 50}, low[] = {-1, 0}, high[] = {100, 51}, back[] = {20, 0}, ten[] = {10, 50};
    const int64_t sum[] = {20, 20}, zero[] = {50, 0};
    const resplit_chunks cut[] = {{.length = 64}, {.length = 25}}, none[] = {{.length = 0}, {.length = 1}};
    const resplit_chunks minus[] = {{.length = -2}, {.length = 1}},
                         bad_sum[] = {{.length = 1}, {.count = 2, .lengths = sum}};
    const resplit_chunks empty[] = {{.length = 1}, {.count = 2, .lengths = zero}},
                         no_list[] = {{.length = 1}, {.count = 2}};
    const struct {
        const char *path;
        resplit_target target;
        const char *sentence;
    } all[] = {
        {"out.npy",
         {.ndim = 2, .chunks = cut},
         "'out.npy' is one file, but chunks 64,25 make 4 blocks: give a folder name or --chunks -1,-1"},
        {"out", {.ndim = 2, .chunks = none}, "axis 0 has chunk length 0: give at least 1, or -1 for the whole axis"},
        {"out", {.ndim = 2, .chunks = minus}, "axis 0 has chunk length -2"},
        {"out", {.ndim = 2, .chunks = bad_sum}, "the chunks of axis 1 add up to 40, but its extent is 50"},
        {"out", {.ndim = 2, .chunks = empty}, "chunk 1 of axis 1 has length 0"},
        {"out", {.ndim = 2, .chunks = no_list}, "no list of lengths"},
        {"out", {.ndim = 1, .chunks = cut}, "the source has 2 axes, but 1 were given"},
        {"out", {.ndim = 2, .roi_start = low}, "region -1:100 of axis 0 is not within 0:100"},
        {"out", {.ndim = 2, .roi_stop = high}, "region 0:51 of axis 1"},
        {"out", {.ndim = 2, .roi_start = back, .roi_stop = ten}, "region 20:10 of axis 0"},
        {"out", {.format = "zarr"}, "unknown format 'zarr'"},
        {"out.npy", {.format = "raw"}, "is the name of a npy file, but the format is raw"},
        {"out.npy", {.pattern = "{0}.npy"}, "is one file and needs no pattern"},
        {"out", {.ndim = 2, .chunks = cut, .pattern = "{0}.npy"}, "gives one name to 2 blocks along axis 1"},
        {"out", {.pattern = "{5}.npy"}, "names axis 5"},
        {"", {.ndim = 0}, "empty"},
    };
    resplit_array *source = source_of(2, shape, "<u2");
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        resplit_array *array = (resplit_array *)1;
        resplit_error err = {0};
        assert_fails(rs_array_create(all[i].path, source, &all[i].target, &array, &err), RESPLIT_EINVAL, err,
                     all[i].sentence);
        assert_null(array);
    }
    rs_array_close(source);
}

static void descriptions_are_checked(void **state)
{
    const int64_t shape[] = {4, 6}, huge[] = {INT64_MAX, 2}, negative[] = {-1, 2};
    const resplit_chunks chunks[] = {{.length = 2}, {.length = 6}};
    resplit_array *array;
    resplit_error err;
    (void)state;
    assert_works(rs_array_describe(&((resplit_spec){.dtype = "u2", .ndim = 2, .shape = shape}), &array, &err), err);
    assert_int_equal(array->info.n_blocks, 1);
    assert_false(array->info.folder);
    assert_null(array->info.path);
    rs_array_close(array);
    assert_works(
        rs_array_describe(&((resplit_spec){.dtype = "u2", .ndim = 2, .shape = shape, .chunks = chunks}), &array, &err),
        err);
    assert_int_equal(array->info.n_blocks, 2);
    rs_array_close(array);
    assert_works(rs_array_describe(&((resplit_spec){.dtype = "u2", .shape = shape}), &array, &err), err);
    assert_int_equal(array->info.ndim, 0);
    assert_int_equal(array->info.n_elements, 1);
    rs_array_close(array);
    assert_fails(rs_array_describe(NULL, &array, &err), RESPLIT_EINVAL, err, "a shape and a type");
    assert_fails(rs_array_describe(&((resplit_spec){.dtype = "u2"}), &array, &err), RESPLIT_EINVAL, err,
                 "a shape and a type");
    assert_fails(rs_array_describe(&((resplit_spec){.dtype = "u2", .ndim = 2, .shape = huge}), &array, &err),
                 RESPLIT_EINVAL, err, "larger than a file can be");
    assert_fails(rs_array_describe(&((resplit_spec){.dtype = "u2", .ndim = 2, .shape = negative}), &array, &err),
                 RESPLIT_EINVAL, err, "axis 0 has negative extent -1");
    assert_fails(rs_array_describe(&((resplit_spec){.dtype = "u2", .ndim = 17, .shape = huge}), &array, &err),
                 RESPLIT_EINVAL, err, "17 axes were given; at most 16");
}

#define ON_DISK(test) cmocka_unit_test_setup_teardown(test, make_folder, drop_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_DISK(a_npy_file_tells_all_about_itself),
        ON_DISK(content_decides_not_the_suffix),
        ON_DISK(scalars_and_empty_arrays_are_arrays),
        ON_DISK(sizes_are_exact),
        ON_DISK(a_raw_file_needs_shape_and_type),
        ON_DISK(a_raw_file_may_have_a_note_beside_it),
        ON_DISK(what_the_user_says_must_agree),
        ON_DISK(what_cannot_be_opened_is_an_io_error),
        ON_DISK(a_grid_is_found_from_names_and_headers),
        ON_DISK(first_elements_as_names_are_recognised),
        ON_DISK(offsets_as_names_need_the_shape),
        ON_DISK(a_pattern_from_the_user_selects_files),
        ON_DISK(a_missing_block_is_named),
        ON_DISK(a_duplicate_is_refused),
        ON_DISK(a_block_that_does_not_fit_is_named),
        ON_DISK(overlaps_and_gaps_are_told_with_numbers),
        ON_DISK(blocks_whose_order_makes_no_difference_fit_any),
        ON_DISK(headers_of_different_length_are_remembered),
        ON_DISK(names_that_say_too_little_are_refused),
        ON_DISK(a_file_without_number_is_a_grid_of_one),
        ON_DISK(raw_folders_need_shape_type_and_cuts),
        ON_DISK(raw_folders_by_start_or_offset_need_no_cuts),
        ON_DISK(raw_slices_need_no_cuts),
        ON_DISK(an_absurd_index_costs_no_memory),
        ON_DISK(a_manifest_is_believed_and_verified),
        ON_DISK(a_manifest_that_cannot_be_is_refused),
        ON_DISK(a_dask_stack_is_read_without_running_its_pickle),
        cmocka_unit_test(a_target_is_cut_from_a_region),
        cmocka_unit_test(one_offset_serves_all_new_blocks),
        cmocka_unit_test(paths_decide_between_file_and_folder),
        cmocka_unit_test(targets_that_cannot_be_are_refused),
        cmocka_unit_test(descriptions_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
