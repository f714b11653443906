/* SPDX-License-Identifier: BSD-3-Clause */
/* test_apart.c - work done by a child: what comes of it, however it ends, and that nothing is left of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/apart.h"

/* Their allocators may be locked by another thread when a child is made, and are then locked in it for ever; and what
   they say is to be seen. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static resplit_error err;

/* What the work is told, and what it makes. */
typedef struct thing {
    char *text;    /* owned */
    char *nothing; /* owned */
    rs_text more;  /* owned */
    int64_t n;
    int64_t *numbers; /* owned; n of them */
    pid_t by;
} thing;

static void release(thing *t)
{
    free(t->text);
    free(t->nothing);
    free(t->numbers);
    rs_text_release(&t->more);
    *t = (thing){0};
}

static resplit_status make(void *payload, resplit_error *why)
{
    thing *t = payload;
    t->text = rs_strdup("text");
    t->numbers = malloc((size_t)t->n * sizeof *t->numbers);
    for (int64_t i = 0; i < t->n; i++) {
        t->numbers[i] = i * i;
    }
    t->by = getpid();
    return rs_text_add(&t->more, why, "%s of %d", "more", 7);
}

static void pass(rs_wire *wire, void *payload)
{
    thing *t = payload;
    rs_wire_bytes(wire, t, sizeof *t);
    rs_wire_string(wire, &t->text);
    rs_wire_string(wire, &t->nothing);
    rs_wire_text(wire, &t->more);
    rs_wire_owned(wire, (void **)&t->numbers, t->n * (int64_t)sizeof *t->numbers);
}

static resplit_status run(resplit_status (*work)(void *, resplit_error *), thing *t)
{
    rs_apart task = {.subject = "x.h5", .library = "libx", .work = work, .pass = pass, .payload = t, .lock = &lock};
    memset(&err, 0, sizeof err);
    return rs_apart_run(&task, NULL, &err);
}

static int count_descriptors(void)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir) != NULL) {
        n++;
    }
    closedir(dir);
    return n;
}

static void check_made(thing *t, int64_t n)
{
    assert_string_equal(t->text, "text");
    assert_null(t->nothing);
    assert_string_equal(t->more.s, "more of 7");
    assert_int_equal(t->more.n, 9);
    assert_int_equal(t->n, n);
    assert_int_not_equal(t->by, getpid());
    for (int64_t i = 0; i < n; i++) {
        assert_int_equal(t->numbers[i], i * i);
    }
    release(t);
}

static void test_what_a_child_makes_comes_here(void **state)
{
    (void)state;
    int before = count_descriptors();
    const int64_t sizes[] = {1, 100, 2048, 2049, 1 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        thing t = {.n = sizes[i]};
        assert_int_equal(run(make, &t), RESPLIT_OK);
        check_made(&t, sizes[i]);
    }
    assert_int_equal(count_descriptors(), before);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nothing to wait for */
    assert_int_equal(errno, ECHILD);
}

static resplit_status refuse(void *payload, resplit_error *why)
{
    (void)payload;
    return rs_fail(why, RESPLIT_EUNSUPPORTED, "it has %d of them", 3);
}

static void test_an_error_comes_here(void **state)
{
    (void)state;
    thing t = {.n = 1};
    assert_int_equal(run(refuse, &t), RESPLIT_EUNSUPPORTED);
    assert_string_equal(err.message, "it has 3 of them");
    assert_null(t.text);
}

static resplit_status crash(void *payload, resplit_error *why)
{
    (void)payload;
    (void)why;
    return raise(SIGSEGV) == 0 ? RESPLIT_OK : RESPLIT_EINTERNAL;
}

static resplit_status give_up(void *payload, resplit_error *why)
{
    (void)payload;
    (void)why;
    abort();
}

static resplit_status leave(void *payload, resplit_error *why)
{
    (void)payload;
    (void)why;
    _exit(3);
}

static resplit_status be_killed(void *payload, resplit_error *why)
{
    (void)payload;
    (void)why;
    return raise(SIGKILL) == 0 ? RESPLIT_OK : RESPLIT_EINTERNAL;
}

static void test_a_child_that_dies_is_an_error(void **state)
{
    (void)state;
    thing t = {.n = 1};
    assert_int_equal(run(crash, &t), RESPLIT_EFORMAT);
    assert_string_equal(err.message, "'x.h5' is damaged: libx fails on it, by signal 11");
    assert_int_equal(run(give_up, &t), RESPLIT_EFORMAT);
    assert_string_equal(err.message, "'x.h5' is damaged: libx fails on it, by signal 6");
    assert_int_equal(run(leave, &t), RESPLIT_EFORMAT);
    assert_string_equal(err.message, "'x.h5' is damaged: libx fails on it, without a word");
    assert_int_equal(run(be_killed, &t), RESPLIT_EIO);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static resplit_status complain(void *payload, resplit_error *why)
{
    (void)payload;
    (void)why;
    (void)!write(STDERR_FILENO, "why", 3);
    abort();
}

/* A file of ours may have the number of stderr, where the program has none. */
static resplit_status write_there(void *payload, resplit_error *why)
{
    (void)payload;
    (void)why;
    (void)!write(STDERR_FILENO, "data", 4);
    return RESPLIT_OK;
}

static void test_what_a_library_says_is_not_heard(void **state)
{
    (void)state;
#ifdef IS_SANITIZED
    skip();
#endif
    int heard[2], own = dup(STDERR_FILENO);
    char text[8] = "";
    thing t = {.n = 1};
    assert_int_equal(pipe2(heard, O_NONBLOCK), 0);
    assert_int_equal(dup2(heard[1], STDERR_FILENO), STDERR_FILENO);
    resplit_status rc = run(complain, &t);
    ssize_t n = read(heard[0], text, sizeof text);
    (void)fcntl(STDERR_FILENO, F_SETFD, FD_CLOEXEC);
    resplit_status wrote = run(write_there, &t);
    ssize_t m = read(heard[0], text, sizeof text);
    (void)dup2(own, STDERR_FILENO);
    (void)close(own);
    (void)close(heard[0]);
    (void)close(heard[1]);
    release(&t);
    assert_int_equal(rc, RESPLIT_EFORMAT);
    assert_int_equal(n, -1);
    assert_int_equal(wrote, RESPLIT_OK);
    assert_int_equal(m, 4);
}

/* What the program does with signals is not for a child that crashes; and children may be nobody's to wait for. */
static void ignore(int number)
{
    (void)number;
}

static void test_handlers_of_the_program_do_not_matter(void **state)
{
    (void)state;
    thing t = {.n = 5};
    (void)signal(SIGSEGV, ignore);
    (void)signal(SIGCHLD, SIG_IGN);
    assert_int_equal(run(crash, &t), RESPLIT_EFORMAT);
    assert_string_equal(err.message, "'x.h5' is damaged: libx fails on it, without a word"); /* nobody knows how */
    t = (thing){.n = 5};
    assert_int_equal(run(make, &t), RESPLIT_OK);
    check_made(&t, 5);
    (void)signal(SIGCHLD, SIG_DFL);
    (void)signal(SIGSEGV, SIG_DFL);
}

/* Dies in the middle of what it passes. */
static void pass_half(rs_wire *wire, void *payload)
{
    thing *t = payload;
    rs_wire_bytes(wire, t, sizeof *t);
    rs_wire_string(wire, &t->text);
    if (wire->sends) {
        rs_wire_flush(wire);
        _exit(0);
    }
    rs_wire_text(wire, &t->more);
    rs_wire_owned(wire, (void **)&t->numbers, t->n * (int64_t)sizeof *t->numbers);
}

static void test_half_of_it_owns_nothing_of_the_other_half(void **state)
{
    (void)state;
    thing t = {.n = 1000};
    rs_apart task = {.subject = "x", .library = "y", .work = make, .pass = pass_half, .payload = &t, .lock = &lock};
    assert_int_equal(rs_apart_run(&task, NULL, &err), RESPLIT_EFORMAT);
    assert_string_equal(t.text, "text");
    assert_null(t.numbers);
    release(&t); /* what is there is ours */
}

/* ---- One that stays ------------------------------------------------------------------------------------------- */

static void answer(rs_wire *wire, void *payload)
{
    int64_t question;
    const thing *t = payload;
    while (rs_wire_get(wire, &question, sizeof question)) {
        resplit_error why = {0};
        int64_t sum = question + t->n;
        if (question == -2) {
            (void)raise(SIGSEGV);
        }
        resplit_status rc = question < 0 ? rs_fail(&why, RESPLIT_EINVAL, "less than nothing") : RESPLIT_OK;
        rs_wire_answer(wire, rc, &why, &sum, sizeof sum);
    }
}

static resplit_status ask(rs_child *child, int64_t question, int64_t *sum)
{
    memset(&err, 0, sizeof err);
    return rs_child_ask(child, &question, sizeof question, sum, sizeof *sum, &err);
}

static void test_a_child_that_stays_is_asked(void **state)
{
    (void)state;
    int before = count_descriptors();
    int64_t sum = 0;
    thing t = {.n = 40};
    rs_child *child = NULL;
    rs_apart task = {.subject = "x.h5",
                     .library = "libx",
                     .work = make,
                     .pass = pass,
                     .answer = answer,
                     .payload = &t,
                     .lock = &lock};
    assert_int_equal(rs_apart_run(&task, &child, &err), RESPLIT_OK);
    assert_non_null(child);
    check_made(&t, 40);
    for (int64_t i = 0; i < 1000; i++) {
        assert_int_equal(ask(child, i, &sum), RESPLIT_OK);
        assert_int_equal(sum, 40 + i);
    }
    assert_int_equal(ask(child, -1, &sum), RESPLIT_EINVAL);
    assert_string_equal(err.message, "less than nothing");
    assert_int_equal(ask(child, 2, &sum), RESPLIT_OK);
    assert_int_equal(ask(child, -2, &sum), RESPLIT_EFORMAT);
    assert_string_equal(err.message, "'x.h5' is damaged: libx fails on it, by signal 11");
    assert_int_equal(ask(child, 2, &sum), RESPLIT_EFORMAT); /* and so it stays */
    rs_child_end(child);
    assert_int_equal(rs_apart_run(&task, &child, &err), RESPLIT_OK);
    release(&t);
    rs_child_end(child); /* while it waits */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(count_descriptors(), before);
}

/* ---- From several threads -------------------------------------------------------------------------------------- */

static void *run_often(void *argument)
{
    for (int i = 0; i < 20; i++) {
        thing t = {.n = 3000};
        rs_apart task = {.subject = "x", .library = "y", .work = make, .pass = pass, .payload = &t, .lock = &lock};
        if (rs_apart_run(&task, NULL, NULL) != RESPLIT_OK || t.numbers == NULL || t.numbers[2999] != 2999 * 2999) {
            return argument; /* not NULL */
        }
        release(&t);
    }
    return NULL;
}

static void test_threads_have_children_of_their_own(void **state)
{
    (void)state;
#ifdef IS_SANITIZED
    skip();
#endif
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, run_often, &lock), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_child_makes_comes_here),
        cmocka_unit_test(test_an_error_comes_here),
        cmocka_unit_test(test_a_child_that_dies_is_an_error),
        cmocka_unit_test(test_what_a_library_says_is_not_heard),
        cmocka_unit_test(test_handlers_of_the_program_do_not_matter),
        cmocka_unit_test(test_half_of_it_owns_nothing_of_the_other_half),
        cmocka_unit_test(test_a_child_that_stays_is_asked),
        cmocka_unit_test(test_threads_have_children_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
