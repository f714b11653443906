/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_array.c - arrays in the caller's memory, as sources and as targets. Every element holds a number made from its
 * position, so that where it ends up can be checked without another array.
 */
#include "resplit.h"
#include "unit/files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static uint64_t state = 1;

static int64_t random_in(int64_t lo, int64_t hi) /* splitmix64 */
{
    uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return lo + (int64_t)((z ^ (z >> 31)) % (uint64_t)(hi - lo + 1));
}

enum { MOST = 4, MOST_ITEMS = 12 * 12 * 12 * 12 };

/* A box of elements in memory, its axes in any order and direction, with gaps between them. */
typedef struct grid {
    int ndim;
    int64_t shape[MOST], strides[MOST];
    int32_t *all, *first;
} grid;

static void random_grid(grid *g, int ndim, const int64_t *shape)
{
    int axes[MOST] = {0, 1, 2, 3};
    int64_t step = sizeof *g->all, before = 0;
    g->ndim = ndim;
    for (int i = ndim - 1; i > 0; i--) {
        int j = (int)random_in(0, i), swap = axes[i];
        axes[i] = axes[j];
        axes[j] = swap;
    }
    for (int i = 0; i < ndim; i++) {
        int d = axes[i];
        bool backwards = random_in(0, 2) == 0;
        step *= random_in(0, 3) == 0 ? 2 : 1;
        g->shape[d] = shape[d];
        g->strides[d] = backwards ? -step : step;
        before += backwards && shape[d] > 0 ? step * (shape[d] - 1) : 0;
        step *= shape[d] > 0 ? shape[d] : 1;
    }
    g->all = calloc(1, (size_t)step);
    assert_non_null(g->all);
    g->first = (int32_t *)((char *)g->all + before);
}

static int32_t number_at(const int64_t *at)
{
    return (int32_t)(1 + at[0] + 12 * (at[1] + 12 * (at[2] + 12 * at[3])));
}

/* Visits every position of a box; false: there are no more. */
static bool next(const grid *g, int64_t *at)
{
    for (int d = g->ndim - 1; d >= 0; d--) {
        if (++at[d] < g->shape[d]) {
            return true;
        }
        at[d] = 0;
    }
    return false;
}

static int32_t *place(const grid *g, const int64_t *at)
{
    char *p = (char *)g->first;
    for (int d = 0; d < g->ndim; d++) {
        p += at[d] * g->strides[d];
    }
    return (int32_t *)p;
}

static bool is_empty(const grid *g)
{
    bool empty = false;
    for (int d = 0; d < g->ndim; d++) {
        empty = empty || g->shape[d] == 0;
    }
    return empty;
}

static void fill(const grid *g)
{
    int64_t at[MOST] = {0};
    if (!is_empty(g)) {
        do {
            *place(g, at) = number_at(at);
        } while (next(g, at));
    }
}

/* Is it the box of the numbers that begins at `start`? */
static void check(const grid *g, const int64_t *start)
{
    int64_t at[MOST] = {0};
    if (is_empty(g)) {
        return;
    }
    do {
        int64_t there[MOST] = {0};
        for (int d = 0; d < g->ndim; d++) {
            there[d] = at[d] + start[d];
        }
        assert_int_equal(*place(g, at), number_at(there));
    } while (next(g, at));
}

static resplit_array *wrap(const grid *g)
{
    resplit_array *array = NULL;
    resplit_error err;
    resplit_spec spec = {.ndim = g->ndim, .shape = g->shape, .dtype = "int32", .order = random_in(0, 1) ? 'F' : 'C'};
    resplit_status rc = resplit_array_wrap(g->first, g->strides, &spec, &array, &err);
    assert_int_equal(rc, RESPLIT_OK);
    assert_non_null(array);
    return array;
}

/* Any box of the array, into memory of any strides. */
static void read_a_box(const resplit_array *array)
{
    const resplit_info *info = resplit_array_info(array);
    int64_t start[MOST] = {0}, stop[MOST] = {0}, shape[MOST] = {0};
    grid g;
    resplit_error err = {.message = ""};
    for (int d = 0; d < info->ndim; d++) {
        start[d] = random_in(0, info->shape[d]);
        stop[d] = random_in(start[d], info->shape[d]);
        shape[d] = stop[d] - start[d];
    }
    random_grid(&g, info->ndim, shape);
    assert_int_equal(resplit_array_read(array, start, stop, g.first, g.strides, 1 << 20, NULL, &err), RESPLIT_OK);
    check(&g, start);
    free(g.all);
}

static void run(const resplit_array *source, const resplit_array *target)
{
    resplit_plan *plan = NULL;
    resplit_result done;
    resplit_error err = {.message = ""};
    resplit_plan_options how = {.memory = 200000};
    assert_int_equal(resplit_plan_make(source, target, &how, &plan, &err), RESPLIT_OK);
    assert_int_equal(resplit_run(plan, source, target, &(resplit_run_options){.sync = "none"}, &done, &err),
                     RESPLIT_OK);
    const resplit_cost *said = &resplit_plan_info(plan)->predicted;
    assert_int_equal(said->read_seeks, 0);
    assert_int_equal(said->bytes_read, 0);
    assert_int_equal(done.cost.read_seeks, 0);
    assert_int_equal(done.cost.bytes_read, 0);
    assert_int_equal(done.cost.write_seeks, said->write_seeks);
    assert_int_equal(done.cost.bytes_written, said->bytes_written);
    assert_true(done.cost.peak_bytes <= said->peak_bytes && said->peak_bytes <= how.memory);
    resplit_plan_free(plan);
}

static void from_memory_to_files_and_back(void **unused)
{
    (void)unused;
    char folder[] = "/tmp/test_array.XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < 300; i++) {
        int ndim = (int)random_in(0, MOST);
        int64_t shape[MOST] = {0};
        resplit_chunks chunks[MOST] = {{0}};
        grid g;
        for (int d = 0; d < ndim; d++) {
            shape[d] = random_in(random_in(0, 9) == 0 ? 0 : 1, 12);
            chunks[d].length = random_in(1, 12);
        }
        random_grid(&g, ndim, shape);
        fill(&g);
        resplit_array *source = wrap(&g), *target = NULL, *opened = NULL;
        resplit_error err = {.message = ""};
        resplit_target wanted = {.ndim = ndim, .chunks = ndim > 0 ? chunks : NULL, .order = "CF"[random_in(0, 1)]};
        snprintf(path, sizeof path, "%s/%d%s", folder, i, random_in(0, 1) ? ".zarr" : "");
        assert_int_equal(resplit_array_create(path, source, &wanted, &target, &err), RESPLIT_OK);
        run(source, target);
        assert_int_equal(resplit_array_open(path, NULL, &opened, &err), RESPLIT_OK);
        for (int k = 0; k < 4; k++) {
            read_a_box(opened);
            read_a_box(source);
        }
        resplit_difference difference;
        assert_int_equal(resplit_verify(opened, source, 1 << 20, NULL, &difference, &err), RESPLIT_OK);
        assert_true(difference.equal);
        uint64_t a, b;
        assert_int_equal(resplit_fingerprint(opened, 1 << 20, NULL, &a, &err), RESPLIT_OK);
        assert_int_equal(resplit_fingerprint(source, 1 << 20, NULL, &b, &err), RESPLIT_OK);
        assert_int_equal(a, b);
        resplit_array_close(opened);
        resplit_array_close(target);
        resplit_array_close(source);
        free(g.all);
    }
    remove_tree(folder);
}

static void a_whole_array_is_read_without_a_box(void **unused)
{
    (void)unused;
    static const int64_t shape[] = {2, 3};
    static const int16_t all[2][3] = {{1, 2, 3}, {4, 5, 6}};
    int16_t back[2][3] = {{0}};
    resplit_array *array = NULL;
    resplit_spec spec = {.ndim = 2, .shape = shape, .dtype = "int16"};
    assert_int_equal(resplit_array_wrap(all, NULL, &spec, &array, NULL), RESPLIT_OK);
    assert_string_equal(resplit_array_info(array)->format, "memory");
    assert_null(resplit_array_info(array)->path);
    assert_int_equal(resplit_array_read(array, NULL, NULL, back, NULL, 1 << 20, NULL, NULL), RESPLIT_OK);
    assert_memory_equal(back, all, sizeof all);
    resplit_array_close(array);
}

static void what_makes_no_sense_is_refused(void **unused)
{
    (void)unused;
    static const int64_t shape[] = {2, 3}, low[] = {-1, 0}, high[] = {2, 4}, less[] = {1, 0}, zero[] = {0, 0};
    static const resplit_chunks chunks[] = {{.length = 1}, {.length = 1}};
    char bytes[6] = "";
    resplit_array *array = NULL, *described = NULL;
    resplit_error err;
    resplit_spec spec = {.ndim = 2, .shape = shape, .dtype = "u1"}, cut = spec, typeless = spec;
    cut.chunks = chunks;
    typeless.dtype = NULL;
    assert_int_equal(resplit_array_wrap(bytes, NULL, NULL, &array, &err), RESPLIT_EINVAL);
    assert_int_equal(resplit_array_wrap(bytes, NULL, &typeless, &array, &err), RESPLIT_EINVAL);
    assert_int_equal(resplit_array_wrap(bytes, NULL, &cut, &array, &err), RESPLIT_EINVAL);
    assert_int_equal(resplit_array_wrap(NULL, NULL, &spec, &array, &err), RESPLIT_EINVAL);
    assert_null(array);
    assert_int_equal(resplit_array_wrap(bytes, NULL, &spec, &array, &err), RESPLIT_OK);
    assert_int_equal(resplit_array_read(array, low, NULL, bytes, NULL, 1 << 20, NULL, &err), RESPLIT_EINVAL);
    assert_int_equal(resplit_array_read(array, NULL, high, bytes, NULL, 1 << 20, NULL, &err), RESPLIT_EINVAL);
    assert_int_equal(resplit_array_read(array, less, zero, bytes, NULL, 1 << 20, NULL, &err), RESPLIT_EINVAL);
    assert_int_equal(resplit_array_read(array, NULL, NULL, NULL, NULL, 1 << 20, NULL, &err), RESPLIT_EINVAL);
    assert_int_equal(resplit_array_read(array, NULL, NULL, bytes, NULL, 100, NULL, &err), RESPLIT_EBUDGET);
    assert_true(err.needed_bytes > 100);
    assert_int_equal(resplit_array_read(NULL, NULL, NULL, bytes, NULL, 1 << 20, NULL, &err), RESPLIT_EINVAL);
    assert_int_equal(resplit_array_describe(&spec, &described, &err), RESPLIT_OK);
    assert_int_equal(resplit_array_read(described, NULL, NULL, bytes, NULL, 1 << 20, NULL, &err), RESPLIT_EINVAL);
    resplit_array_close(described);
    resplit_array_close(array);
}

static int stop_at_once(int64_t done, int64_t total, int64_t memory, void *payload)
{
    (void)total;
    (void)memory;
    (void)payload;
    return done > 0;
}

/* Memory may be another the next time, so that a part of what it held is of no use. */
static void a_run_from_memory_that_is_stopped_leaves_nothing(void **unused)
{
    (void)unused;
    enum { N = 4 << 20 };
    static const int64_t shape[] = {N};
    static const resplit_chunks chunks[] = {{.length = 1 << 12}};
    char folder[] = "/tmp/test_array.XXXXXX", path[64], part[80];
    char *bytes = calloc(1, N);
    resplit_array *source = NULL, *target = NULL;
    resplit_plan *plan = NULL;
    resplit_error err;
    struct stat st;
    resplit_spec spec = {.ndim = 1, .shape = shape, .dtype = "u1"};
    resplit_run_options options = {.progress = stop_at_once, .threads = 1};
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/out", folder);
    snprintf(part, sizeof part, "%s.resplit-part", path);
    assert_int_equal(resplit_array_wrap(bytes, NULL, &spec, &source, &err), RESPLIT_OK);
    resplit_target wanted = {.ndim = 1, .chunks = chunks};
    assert_int_equal(resplit_array_create(path, source, &wanted, &target, &err), RESPLIT_OK);
    assert_int_equal(resplit_plan_make(source, target, &(resplit_plan_options){.memory = 1 << 20}, &plan, &err),
                     RESPLIT_OK);
    assert_int_equal(resplit_run(plan, source, target, &options, NULL, &err), RESPLIT_ECANCELED);
    assert_false(err.resumable);
    assert_int_not_equal(stat(path, &st), 0);
    assert_int_not_equal(stat(part, &st), 0);
    resplit_plan_free(plan);
    resplit_array_close(target);
    resplit_array_close(source);
    free(bytes);
    remove_tree(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_memory_to_files_and_back),
        cmocka_unit_test(a_whole_array_is_read_without_a_box),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(a_run_from_memory_that_is_stopped_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
