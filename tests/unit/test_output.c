/* SPDX-License-Identifier: BSD-3-Clause */
/* test_output.c - what is checked before a run, what a failed or killed run leaves, and what overwriting may remove. */
#include "engine/output.h"
#include "unit/files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

static resplit_array *open_source(const char *folder)
{
    static const int64_t shape[] = {4};
    char path[512];
    snprintf(path, sizeof path, "%s/in.raw", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("abcd", file);
    fclose(file);
    resplit_array *source;
    resplit_spec spec = {.ndim = 1, .shape = shape, .dtype = "u1"};
    assert_int_equal(rs_array_open(path, &spec, &source, NULL), RESPLIT_OK);
    return source;
}

static resplit_array *create_target(const char *folder, const resplit_array *source, bool overwrite)
{
    static const resplit_chunks chunks[] = {{.length = 2}};
    char path[512];
    snprintf(path, sizeof path, "%s/out", folder);
    resplit_array *target;
    resplit_target wanted = {.ndim = 1, .chunks = chunks, .overwrite = overwrite};
    assert_int_equal(rs_array_create(path, source, &wanted, &target, NULL), RESPLIT_OK);
    return target;
}

static bool exists(const char *folder, const char *name)
{
    char path[512];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return stat(path, &st) == 0;
}

static void add_file(const char *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("xy", file);
    fclose(file);
}

typedef struct scene {
    char folder[64];
    resplit_array *source, *target;
} scene;

static void set_scene(scene *s, bool overwrite)
{
    strcpy(s->folder, "/tmp/test_output.XXXXXX");
    assert_non_null(mkdtemp(s->folder));
    s->source = open_source(s->folder);
    s->target = create_target(s->folder, s->source, overwrite);
}

static void end_scene(scene *s)
{
    rs_array_close(s->source);
    rs_array_close(s->target);
    remove_tree(s->folder);
}

static void add_folder(const scene *s, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", s->folder, name);
    assert_int_equal(mkdir(path, 0777), 0);
}

static resplit_status begin(rs_output *output, const resplit_array *target, const resplit_array *source,
                            resplit_error *err)
{
    static const rs_job_id id;
    rs_earlier earlier;
    rs_progress done;
    *output = (rs_output)RS_NO_OUTPUT;
    output->sync = RS_SYNC_END;
    return rs_output_begin(output, target, source, false, &id, NULL, &earlier, &done, err);
}

static void an_abandoned_output_leaves_nothing(void **state)
{
    (void)state;
    scene s;
    rs_output output;
    set_scene(&s, false);
    assert_int_equal(begin(&output, s.target, s.source, NULL), RESPLIT_OK);
    assert_true(exists(s.folder, "out.resplit-part"));
    add_file(s.folder, "out.resplit-part/data/0.raw");
    rs_output_abandon(&output, false);
    assert_false(exists(s.folder, "out.resplit-part"));
    assert_false(exists(s.folder, "out"));
    end_scene(&s);
}

static void what_a_killed_run_left_is_cleared_away(void **state)
{
    (void)state;
    scene s;
    rs_output output;
    set_scene(&s, false);
    add_folder(&s, "out.resplit-part");
    add_folder(&s, "out.resplit-part/data");
    add_file(s.folder, "out.resplit-part/data/9.raw");
    assert_int_equal(begin(&output, s.target, s.source, NULL), RESPLIT_OK);
    assert_false(exists(s.folder, "out.resplit-part/data/9.raw"));
    assert_int_equal(rs_output_publish(&output, 0, NULL), RESPLIT_OK);
    assert_true(exists(s.folder, "out/resplit.json"));
    assert_false(exists(s.folder, "out/9.raw"));
    end_scene(&s);
}

static void two_runs_on_one_target_are_refused(void **state)
{
    (void)state;
    scene s;
    rs_output output;
    set_scene(&s, false);
    assert_int_equal(begin(&output, s.target, s.source, NULL), RESPLIT_OK);
    pid_t child = fork(); /* another process: locks belong to open files, but let it be as it is in life */
    if (child == 0) {
        rs_output other;
        resplit_error err;
        bool refused = begin(&other, s.target, s.source, &err) == RESPLIT_EEXISTS
                       && strstr(err.message, "another run is at work") != NULL;
        _exit(refused ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    assert_true(exists(s.folder, "out.resplit-part"));
    rs_output_abandon(&output, false);
    end_scene(&s);
}

static void an_existing_target_is_refused(void **state)
{
    (void)state;
    scene s;
    rs_output output;
    resplit_error err;
    set_scene(&s, false);
    add_folder(&s, "out");
    add_file(s.folder, "out/0.raw");
    assert_int_equal(begin(&output, s.target, s.source, &err), RESPLIT_EEXISTS);
    assert_non_null(strstr(err.message, "is there already"));
    rs_output_abandon(&output, false);
    assert_true(exists(s.folder, "out/0.raw"));
    assert_false(exists(s.folder, "out.resplit-part"));
    end_scene(&s);
}

static void an_empty_folder_is_as_good_as_none(void **state)
{
    (void)state;
    scene s;
    rs_output output;
    set_scene(&s, false);
    add_folder(&s, "out");
    assert_int_equal(begin(&output, s.target, s.source, NULL), RESPLIT_OK);
    assert_int_equal(rs_output_publish(&output, 0, NULL), RESPLIT_OK);
    assert_true(exists(s.folder, "out/resplit.json"));
    end_scene(&s);
}

static void overwriting_never_removes_what_is_not_the_array(void **state)
{
    (void)state;
    scene s;
    rs_output output;
    resplit_error err;
    set_scene(&s, true);
    add_folder(&s, "out");
    add_file(s.folder, "out/notes.txt"); /* no array at all */
    assert_int_equal(begin(&output, s.target, s.source, &err), RESPLIT_EEXISTS);
    assert_true(exists(s.folder, "out/notes.txt"));
    end_scene(&s);

    set_scene(&s, true); /* an array, and something else */
    assert_int_equal(begin(&output, s.target, s.source, NULL), RESPLIT_OK);
    add_file(s.folder, "out.resplit-part/data/0.raw");
    add_file(s.folder, "out.resplit-part/data/1.raw");
    assert_int_equal(rs_output_publish(&output, 0, NULL), RESPLIT_OK);
    add_file(s.folder, "out/notes.txt");
    assert_int_equal(begin(&output, s.target, s.source, &err), RESPLIT_EEXISTS);
    assert_non_null(strstr(err.message, "holds 4 files, of which 3 are the array"));
    end_scene(&s);
}

static void overwriting_keeps_the_old_array_until_the_new_one_is_there(void **state)
{
    (void)state;
    scene s;
    rs_output output;
    set_scene(&s, true);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(begin(&output, s.target, s.source, NULL), RESPLIT_OK);
        assert_int_equal(exists(s.folder, "out/resplit.json"), i > 0);
        add_file(s.folder, "out.resplit-part/data/0.raw");
        add_file(s.folder, "out.resplit-part/data/1.raw");
        assert_int_equal(rs_output_publish(&output, 0, NULL), RESPLIT_OK);
        assert_true(exists(s.folder, "out/1.raw"));
        assert_false(exists(s.folder, "out.resplit-part"));
    }
    end_scene(&s);
}

static void source_and_target_may_not_lie_in_each_other(void **state)
{
    (void)state;
    scene s;
    rs_output output;
    resplit_error err;
    set_scene(&s, true);
    resplit_array inside = *s.target;
    char path[512];
    snprintf(path, sizeof path, "%s", s.folder);
    inside.path = path; /* the folder that holds the source */
    assert_int_equal(begin(&output, &inside, s.source, &err), RESPLIT_EINVAL);
    assert_non_null(strstr(err.message, "one inside the other"));
    snprintf(path, sizeof path, "%s/./in.raw", s.folder);
    assert_int_equal(begin(&output, &inside, s.source, &err), RESPLIT_EINVAL);
    assert_non_null(strstr(err.message, "are the same"));
    snprintf(path, sizeof path, "%s/nowhere/out", s.folder);
    assert_int_equal(begin(&output, &inside, s.source, &err), RESPLIT_EIO);
    assert_non_null(strstr(err.message, "no folder"));
    end_scene(&s);
}

static void too_little_space_is_noticed_before_anything_is_written(void **state)
{
    (void)state;
    scene s;
    rs_output output;
    resplit_error err;
    set_scene(&s, false);
    resplit_array large = *s.target;
    large.info.bytes = INT64_MAX / 2;
    assert_int_equal(begin(&output, &large, s.source, &err), RESPLIT_EIO);
    assert_non_null(strstr(err.message, "are free in"));
    assert_false(exists(s.folder, "out.resplit-part"));
    end_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_abandoned_output_leaves_nothing),
        cmocka_unit_test(what_a_killed_run_left_is_cleared_away),
        cmocka_unit_test(two_runs_on_one_target_are_refused),
        cmocka_unit_test(an_existing_target_is_refused),
        cmocka_unit_test(an_empty_folder_is_as_good_as_none),
        cmocka_unit_test(overwriting_never_removes_what_is_not_the_array),
        cmocka_unit_test(overwriting_keeps_the_old_array_until_the_new_one_is_there),
        cmocka_unit_test(source_and_target_may_not_lie_in_each_other),
        cmocka_unit_test(too_little_space_is_noticed_before_anything_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
