/* SPDX-License-Identifier: BSD-3-Clause */
/* test_planfile.c - a plan as text and back: the same plan for the same problem, and nothing else passes. */
#include "files.h"
#include "support/problems.h"

#include "base/path.h"
#include "support/plan_check.h"
#include "plan/planfile.h"

static uint64_t seed = 7;

static int64_t random_in(int64_t lo, int64_t hi)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return lo + (int64_t)((seed >> 33) % (uint64_t)(hi - lo + 1));
}

/* ---- There and back ---- */

static rs_axis random_axis(int64_t extent, int64_t *cuts)
{
    if (random_in(0, 1)) {
        return rs_axis_even(extent, random_in(1, extent));
    }
    int64_t n = 0;
    cuts[0] = 0;
    while (cuts[n] < extent) {
        cuts[n + 1] = rs_min(extent, cuts[n] + random_in(1, 1 + extent / 3));
        n++;
    }
    return rs_axis_uneven(cuts, n);
}

/* Regions, uneven blocks, both orders. */
static rs_problem random_problem(void)
{
    int ndim = (int)random_in(1, 4);
    int64_t origin[RS_MAX_NDIM], cuts[8][32];
    rs_layout source = {.ndim = ndim, .itemsize = 2}, target = source;
    rs_problem problem;
    for (int d = 0; d < ndim; d++) {
        int64_t whole = random_in(1, 20);
        origin[d] = random_in(0, 1) ? 0 : random_in(0, whole - 1);
        source.axis[d] = random_axis(whole, cuts[d]);
        target.axis[d] = random_axis(random_in(1, whole - origin[d]), cuts[4 + d]);
    }
    rs_order_set(ndim, random_in(0, 1) ? 'C' : 'F', source.order);
    rs_order_set(ndim, random_in(0, 1) ? 'C' : 'F', target.order);
    assert_int_equal(rs_problem_make(&source, &target, origin, NULL, &problem, NULL), RESPLIT_OK);
    return problem;
}

static char *copy_of(const char *text)
{
    char *copy = rs_strdup(text);
    assert_non_null(copy);
    return copy;
}

/* Two sides that hold just enough to be written and read. */
static void fill_sides(rs_planfile *file, int ndim)
{
    file->source = (rs_planfile_side){.order = 'C', .skip = 5};
    file->source.path = copy_of("a \"b\"/\xc3\xa9\n.raw");
    file->source.format = copy_of("raw");
    file->source.dtype = copy_of("[('x', '<u2')]");
    file->target = (rs_planfile_side){.has_roi = true};
    file->target.path = copy_of("/out");
    file->target.format = copy_of("npy");
    file->target.pattern = copy_of("{0}.npy");
    file->device = (resplit_device){"some disk", 9e-5, 1, 2e8, 1.5e8, 1.0 / 3};
    for (int d = 0; d < ndim; d++) {
        file->source.shape[d] = file->source.chunks[d].length = INT64_MAX - d;
        file->target.chunks[d].length = 1;
        file->target.roi_stop[d] = 20;
    }
}

static bool is_same_axis(const rs_axis *a, const rs_axis *b)
{
    bool same = a->n == b->n && a->extent == b->extent;
    for (int64_t i = 0; same && i < a->n; i++) {
        same = rs_axis_span(a, i).hi == rs_axis_span(b, i).hi;
    }
    return same;
}

static void check_round(const rs_problem *problem, const rs_plan *plan)
{
    rs_planfile file = {0}, again;
    rs_text text = {0}, second = {0};
    resplit_error err = {0};
    rs_plan rebuilt;
    fill_sides(&file, problem->ndim);
    assert_works(rs_planfile_describe(problem, plan, &file, &err), err);
    assert_works(rs_planfile_write(&file, &text, &err), err);
    assert_works(rs_planfile_parse(text.s, text.n, "p.json", &again, &err), err);
    assert_works(rs_planfile_write(&again, &second, &err), err);
    assert_string_equal(text.s, second.s);
    assert_true(again.problem_hash == rs_problem_hash(problem));
    assert_works(rs_planfile_rebuild(&again, problem, &rebuilt, &err), err);
    assert_works(rs_planfile_compare(&again, &rebuilt, &err), err);
    assert_works(rs_plan_validate(problem, &rebuilt, &err), err);
    assert_string_equal(rebuilt.strategy, plan->strategy);
    assert_true(rebuilt.kept == plan->kept && rebuilt.memory == plan->memory && rebuilt.kind == plan->kind);
    assert_int_equal(rebuilt.n_workers, plan->n_workers);
    assert_true(rebuilt.predicted.held_bytes == plan->predicted.held_bytes);
    assert_true(total_seeks(&rebuilt.predicted) == total_seeks(&plan->predicted));
    assert_true(rebuilt.predicted.peak_bytes <= plan->memory && rebuilt.seconds > 0);
    for (int d = 0; d < plan->ndim; d++) {
        assert_int_equal(rebuilt.loop[d], plan->loop[d]);
        assert_true(is_same_axis(&rebuilt.buffer[d], &plan->buffer[d]));
    }
    if (plan->kind == RS_PLAN_BUFFERS) {
        assert_works(plan_check(problem, &rebuilt, &err), err);
    }
    rs_plan_release(&rebuilt);
    rs_planfile_release(&again);
    rs_planfile_release(&file);
    rs_text_release(&text);
    rs_text_release(&second);
}

/* A source of blocks that are compressed. */
static void encode_source(rs_problem *problem)
{
    problem->source.atomic = true;
    problem->source.coding = (rs_coding){.staging = 4096 + rs_layout_longest(&problem->source) * problem->itemsize,
                                         .coder = 500,
                                         .seconds = 1e-9,
                                         .ratio = 0.5,
                                         .packer = 700,
                                         .packing = 1e-9};
}

static void every_plan_comes_back(void **state)
{
    int n[16] = {0}, n_large = 0;
    (void)state;
    for (int i = 0; i < 400; i++) {
        rs_problem problem = random_problem();
        int64_t ample = i % 4 < 2 ? 0 : 64 << 20; /* for all workers that a machine has use for */
        if (i % 2 == 0) {
            encode_source(&problem);
        }
        for (int s = 0; rs_strategy_at(s) != NULL && s < 16; s++) {
            rs_plan plan;
            rs_request request = {.strategy = rs_strategy_at(s)->name,
                                  .processors = (int)random_in(0, 40),
                                  .memory =
                                      ample + 30 * 1024 + random_in(0, 40000) + 3 * problem.source.coding.staging};
            if (rs_plan_make(&problem, &request, &plan, NULL) == RESPLIT_OK) {
                check_round(&problem, &plan);
                assert_true(plan.n_workers <= (i % 2 == 0 ? rs_plan_crew(request.processors) : RS_DISK_WORKERS));
                n_large += plan.n_workers > RS_DISK_WORKERS;
                rs_plan_release(&plan);
                n[s]++;
            }
        }
        rs_problem_release(&problem);
    }
    assert_true(n_large > 0);
    for (int s = 0; rs_strategy_at(s) != NULL && s < 16; s++) {
        if (n[s] == 0) {
            fail_msg("no plan of strategy '%s' was tried", rs_strategy_at(s)->name);
        }
    }
}

/* ---- What is refused ---- */

/* Two axes, 10 x 10 bytes in blocks of 4 x 10 to 3 x 5, written by hand. */
#define SOURCE                                                                                                         \
    "\"source\": {\"path\": \"in\", \"format\": \"raw\", \"pattern\": \"{0}_{1}.raw\", \"chunks\": [4, 10], "          \
    "\"dtype\": \"|u1\", \"order\": \"C\", \"shape\": [10, 10], \"skip\": 0}, "
#define TARGET                                                                                                         \
    "\"target\": {\"path\": \"out\", \"format\": \"raw\", \"pattern\": \"{0}_{1}.raw\", \"chunks\": [3, 5]}, "
#define MEASURED(latency)                                                                                              \
    "\"device\": {\"name\": \"ssd\", \"latency\": " latency ", \"depth\": 16.0, \"read_bandwidth\": 5e8, "             \
    "\"write_bandwidth\": 5e8, \"both_bandwidth\": 5e8}, "
#define DEVICE MEASURED("9e-05")
#define DEEP "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
#define COST                                                                                                           \
    "\"predicted\": {\"read_seeks\": 3, \"write_seeks\": 8, \"bytes_read\": 100, \"bytes_written\": 100, "             \
    "\"held_bytes\": 60, \"peak_bytes\": 1, \"temp_bytes\": 0}, "
#define HEAD "{\"resplit_plan\": 1, " SOURCE TARGET "\"strategy\": \"keep\", \"memory\": 65536, " DEVICE
#define CUTS "\"buffer\": [4, 10], \"loop_order\": [0, 1], \"kept_axes\": [0], "
#define TAIL COST "\"problem_hash\": \"0123456789abcdef\"}"

static resplit_status parse(const char *text, rs_planfile *out, resplit_error *err)
{
    return rs_planfile_parse(text, strlen(text), "p.json", out, err);
}

static void texts_that_are_no_plans_are_refused(void **state)
{
    static const struct {
        const char *text, *sentence;
    } all[] = {
        {"", "'p.json' is not valid JSON: it is empty"},
        {HEAD CUTS, "no key where one is expected in line 1"},
        {"[]", "not a plan file"},
        {"{\"resplit\": 1}", "not a plan file"},
        {"{\"resplit_plan\": 2, \"anything\": 1}", "version 2"},
        {"{\"resplit_plan\": 1.0}", "whole numbers"},
        {"{\"resplit_plan\": -1}", "out of range"},
        {"{\"resplit_plan\": 1}", "\"source\" is missing in the plan"},
        {HEAD CUTS TAIL "x", "something after the value in line 1"},
        {HEAD CUTS "\"overwrite\": true, " TAIL, "\"overwrite\" in the plan is not known"},
        {HEAD "\"buffer\": 3, \"loop_order\": [0, 1], \"kept_axes\": [0], " TAIL, "must be of type array"},
        {HEAD "\"buffer\": [4], \"loop_order\": [0, 1], \"kept_axes\": [0], " TAIL, "1 entries for 2 axes"},
        {HEAD "\"buffer\": [4, 0], \"loop_order\": [0, 1], \"kept_axes\": [0], " TAIL,
         "holds 0, which is out of range"},
        {HEAD "\"buffer\": [4, -1], \"loop_order\": [0, 1], \"kept_axes\": [0], " TAIL, "out of range"},
        {HEAD "\"buffer\": [4, 1e3], \"loop_order\": [0, 1], \"kept_axes\": [0], " TAIL, "whole numbers"},
        {HEAD "\"buffer\": [4, 9223372036854775808], \"loop_order\": [0, 1], \"kept_axes\": [0], " TAIL,
         "out of range"},
        {HEAD "\"buffer\": [4, []], \"loop_order\": [0, 1], \"kept_axes\": [0], " TAIL, "no two cuts"},
        {HEAD "\"buffer\": [4, [0]], \"loop_order\": [0, 1], \"kept_axes\": [0], " TAIL, "no two cuts"},
        {HEAD "\"buffer\": [4, [0, [1]]], \"loop_order\": [0, 1], \"kept_axes\": [0], " TAIL, "whole numbers"},
        {HEAD "\"buffer\": [4, [-5, 10]], \"loop_order\": [0, 1], \"kept_axes\": [0], " TAIL, "out of range"},
        {HEAD "\"buffer\": [4, 10], \"loop_order\": [0, 2], \"kept_axes\": [0], " TAIL, "\"loop_order\" holds 2"},
        {HEAD "\"buffer\": [4, 10], \"loop_order\": [0], \"kept_axes\": [0], " TAIL, "1 entries for 2 axes"},
        {HEAD "\"buffer\": [4, 10], \"loop_order\": [0, 1], \"kept_axes\": [2], " TAIL, "\"kept_axes\" holds 2"},
        {HEAD "\"buffer\": [4, 10], \"loop_order\": [0, 1], \"kept_axes\": [0, 0], " TAIL, "kept twice"},
        {HEAD "\"buffer\": [4, 10], " TAIL, "belong together"},
        {HEAD CUTS "\"workers\": 0, " TAIL, "\"workers\" holds 0, which is out of range"},
        {HEAD CUTS "\"workers\": 65, " TAIL, "out of range"},
        {HEAD CUTS COST "\"problem_hash\": \"0123456789ABCDEF\"}", "16 hexadecimal digits"},
        {HEAD CUTS COST "\"problem_hash\": \"0123\"}", "16 hexadecimal digits"},
        {HEAD CUTS COST "\"problem_hash\": 5}", "must be of type string"},
        {HEAD CUTS "\"predicted\": {}, \"problem_hash\": \"0123456789abcdef\"}", "\"read_seeks\" is missing"},
        {"{\"resplit_plan\": 1, " SOURCE TARGET "\"strategy\": \"keep\", \"memory\": 0, " DEVICE CUTS TAIL,
         "out of range"},
        {"{\"resplit_plan\": 1, " SOURCE TARGET "\"strategy\": \"\", \"memory\": 1, " DEVICE CUTS TAIL, "is empty"},
        {"{\"resplit_plan\": 1, " SOURCE TARGET "\"strategy\": \"k\\u0000\", \"memory\": 1, " DEVICE CUTS TAIL,
         "a NUL"},
        {"{\"resplit_plan\": 1, " SOURCE TARGET "\"strategy\": \"keep\", \"memory\": 1, \"device\": {}, " CUTS TAIL,
         "\"name\" is missing"},
        {"{\"resplit_plan\": 1, \"target\": {\"path\": " DEEP DEEP, "nested more than 64 deep"},
        {"{\"resplit_plan\": NaN}", "whole numbers"},
        {"{\"resplit_plan\": 1, " SOURCE TARGET "\"strategy\": \"keep\", \"memory\": 1, " MEASURED("NaN") CUTS TAIL,
         "out of range"},
        {"{\"resplit_plan\": 1, " SOURCE TARGET "\"strategy\": \"keep\", \"memory\": 1, " MEASURED("Infinity")
             CUTS TAIL,
         "out of range"},
        {"{\"resplit_plan\": 1, " SOURCE TARGET "\"strategy\": \"keep\", \"memory\": 1, " MEASURED("1") CUTS TAIL,
         "\"latency\" in \"device\" must be of type double"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        rs_planfile file;
        resplit_error err = {0};
        resplit_status rc = parse(all[i].text, &file, &err);
        if ((rc != RESPLIT_EFORMAT && rc != RESPLIT_EUNSUPPORTED) || strstr(err.message, all[i].sentence) == NULL) {
            fail_msg("text %zu: '%s'", i, err.message);
        }
    }
}

static void plans_that_are_none_are_refused(void **state)
{
    static const struct {
        const char *cuts, *sentence; /* NULL: nothing is wrong but the cost */
        resplit_status code;
    } all[] = {
        {CUTS, NULL, RESPLIT_OK},
        {"\"buffer\": [4, [0, 4, 10]], \"loop_order\": [1, 0], \"kept_axes\": [], ", NULL, RESPLIT_OK},
        {"", NULL, RESPLIT_OK}, /* asks the strategy */
        {"\"buffer\": [4, [0, 9]], \"loop_order\": [0, 1], \"kept_axes\": [], ", "end at 9", RESPLIT_EINVAL},
        {"\"buffer\": [4, [0, 11]], \"loop_order\": [0, 1], \"kept_axes\": [], ", "end at 11", RESPLIT_EINVAL},
        {"\"buffer\": [4, [0, 5, 5, 10]], \"loop_order\": [0, 1], \"kept_axes\": [], ", "follow", RESPLIT_EINVAL},
        {"\"buffer\": [4, [0, 7, 5, 10]], \"loop_order\": [0, 1], \"kept_axes\": [], ", "follow", RESPLIT_EINVAL},
        {"\"buffer\": [4, [1, 10]], \"loop_order\": [0, 1], \"kept_axes\": [], ", "start at 0", RESPLIT_EINVAL},
        {"\"buffer\": [4, 10], \"loop_order\": [1, 1], \"kept_axes\": [], ", "loop 1", RESPLIT_EINVAL},
    };
    int64_t shape[] = {10, 10}, from[] = {4, 10}, to[] = {3, 5};
    rs_problem problem = even_problem(2, shape, from, to, 1);
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        rs_planfile file;
        rs_plan plan;
        char text[4096];
        resplit_error err = {0};
        (void)snprintf(text, sizeof text, "%s%s%s", HEAD, all[i].cuts, TAIL);
        assert_works(parse(text, &file, &err), err);
        if (all[i].sentence != NULL) {
            assert_fails(rs_planfile_rebuild(&file, &problem, &plan, &err), all[i].code, err, all[i].sentence);
        } else {
            assert_works(rs_planfile_rebuild(&file, &problem, &plan, &err), err);
            assert_fails(rs_planfile_compare(&file, &plan, &err), RESPLIT_EINVAL, err, "it promises");
            rs_plan_release(&plan);
            file.memory = 30000; /* less than anything needs */
            assert_int_equal(rs_planfile_rebuild(&file, &problem, &plan, &err), RESPLIT_EBUDGET);
            assert_true(err.needed_bytes > 30000);
        }
        rs_planfile_release(&file);
    }
    rs_problem_release(&problem);
}

/* ---- Paths ---- */

static void check_path(const char *file, const char *path, const char *written)
{
    char *out;
    resplit_error err = {0};
    assert_works(rs_path_to_write(file, path, &out, &err), err);
    if (strcmp(out, written) != 0) {
        fail_msg("'%s' in '%s': '%s', expected '%s'", path, file, out, written);
    }
    free(out);
}

static void paths_below_the_file_are_relative(void **state)
{
    char *home = realpath(*state, NULL), *out;
    resplit_error err;
    assert_non_null(home);
    assert_int_equal(mkdir(in(home, "a"), 0777), 0);
    assert_int_equal(mkdir(in(home, "ab"), 0777), 0);
    assert_int_equal(symlink("ab", in(home, "link")), 0);
    check_path(in(home, "p.json"), in(home, "x.npy"), "x.npy");
    check_path(in(home, "p.json"), in(home, "a//x/"), "a/x");
    check_path(in(home, "p.json"), in(home, "a/../ab/x"), "ab/x");
    check_path(in(home, "p.json"), in(home, "link/x"), "ab/x");
    check_path(in(home, "p.json"), in(home, "link"), "link");
    check_path(in(home, "p.json"), in(home, "a/.."), ".");
    check_path(in(home, "a/p.json"), in(home, "a"), ".");
    check_path(in(home, "a/p.json"), in(home, "ab"), in(home, "ab"));
    check_path(in(home, "a/p.json"), "/", "/");
    check_path("/p.json", "/x", "/x");
    assert_fails(rs_path_to_write(in(home, "p.json"), in(home, "none/x"), &out, &err), RESPLIT_EIO, err, "none/x");
    assert_works(rs_path_as_read("p.json", "x", &out, &err), err);
    assert_string_equal(out, "x");
    free(out);
    assert_works(rs_path_as_read("a/p.json", "b/x", &out, &err), err);
    assert_string_equal(out, "a/b/x");
    free(out);
    assert_works(rs_path_as_read("a/p.json", "/x", &out, &err), err);
    assert_string_equal(out, "/x");
    free(out);
    free(home);
}

/* ---- Files ---- */

static void a_plan_is_saved_and_loaded(void **state)
{
    resplit_error err = {0};
    resplit_array *source, *target, *source2, *target2;
    resplit_plan *plan, *loaded;
    resplit_chunks chunks[] = {{.length = 3}, {.length = 4}};
    write_block(in(*state, "in.npy"), 10, 12);
    assert_works(resplit_array_open(in(*state, "in.npy"), NULL, &source, &err), err);
    resplit_target wanted = {.ndim = 2, .chunks = chunks, .overwrite = true};
    assert_works(resplit_array_create(in(*state, "out"), source, &wanted, &target, &err), err);
    assert_works(resplit_plan_make(source, target, &(resplit_plan_options){.memory = 1 << 20}, &plan, &err), err);
    write_text(in(*state, "text"), "something else");
    assert_fails(resplit_plan_save(plan, source, target, in(*state, "text"), &err), RESPLIT_EEXISTS, err,
                 "another name");
    assert_fails(resplit_plan_save(plan, source, target, *state, &err), RESPLIT_EEXISTS, err, "not a plan file");
    assert_fails(resplit_plan_save(plan, target, target, in(*state, "p"), &err), RESPLIT_EINVAL, err, "other arrays");
    assert_works(resplit_plan_save(plan, source, target, in(*state, "p"), &err), err);
    assert_works(resplit_plan_save(plan, source, target, in(*state, "p"), &err), err); /* replaces itself */
    assert_works(resplit_plan_load(in(*state, "p"), &source2, &target2, &loaded, &err), err);
    assert_true(resplit_plan_info(loaded)->problem_hash == resplit_plan_info(plan)->problem_hash);
    assert_works(resplit_run(loaded, source2, target2, NULL, NULL, &err), err);
    assert_fails(resplit_run(loaded, source2, target2, NULL, NULL, &err), RESPLIT_EEXISTS, err, "out");
    resplit_plan_free(loaded);
    resplit_array_close(source2);
    resplit_array_close(target2);
    write_block(in(*state, "in.npy"), 12, 10);
    assert_fails(resplit_plan_load(in(*state, "p"), &source2, &target2, &loaded, &err), RESPLIT_EINVAL, err,
                 "the arrays are not those the plan");
    assert_null(source2);
    assert_null(target2);
    assert_null(loaded);
    assert_fails(resplit_plan_load(in(*state, "text"), &source2, &target2, &loaded, &err), RESPLIT_EFORMAT, err,
                 "text");
    assert_fails(resplit_plan_load(in(*state, "none"), &source2, &target2, &loaded, &err), RESPLIT_EIO, err, "none");
    resplit_plan_free(plan);
    resplit_array_close(source);
    resplit_array_close(target);
}

static void arrays_without_files_cannot_be_saved(void **state)
{
    resplit_error err = {0};
    resplit_array *source, *target;
    resplit_plan *plan;
    int64_t shape[] = {10, 12};
    resplit_spec spec = {.dtype = "u2", .ndim = 2, .shape = shape};
    assert_works(resplit_array_describe(&spec, &source, &err), err);
    assert_works(resplit_array_create(NULL, source, NULL, &target, &err), err);
    assert_works(resplit_plan_make(source, target, &(resplit_plan_options){.memory = 1 << 20}, &plan, &err), err);
    assert_fails(resplit_plan_save(plan, source, target, in(*state, "p"), &err), RESPLIT_EINVAL, err, "without files");
    resplit_plan_free(plan);
    resplit_array_close(source);
    resplit_array_close(target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_plan_comes_back),
        cmocka_unit_test(texts_that_are_no_plans_are_refused),
        cmocka_unit_test(plans_that_are_none_are_refused),
        cmocka_unit_test_setup_teardown(paths_below_the_file_are_relative, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(a_plan_is_saved_and_loaded, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(arrays_without_files_cannot_be_saved, make_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
