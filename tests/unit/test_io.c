/* SPDX-License-Identifier: BSD-3-Clause */
/* test_io.c - what a kernel is given together, and transfers that it takes and never begins. */
#include "engine/io.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#ifdef RESPLIT_HAVE_URING
#include <liburing.h>
#include <poll.h>

static int never[2] = {-1, -1}; /* a pipe that nobody writes to */
static int n_stalled;           /* transfers that are to be held up */
static unsigned n_together;     /* that were given to the kernel when they were waited for */

/* Instead of liburing's: what is to be held up waits for the pipe. */
int io_uring_submit_and_wait_timeout(struct io_uring *ring, struct io_uring_cqe **cqe, unsigned n,
                                     struct __kernel_timespec *limit, sigset_t *mask)
{
    int (*real)(struct io_uring *, struct io_uring_cqe **, unsigned, struct __kernel_timespec *, sigset_t *);
    *(void **)&real = dlsym(RTLD_NEXT, "io_uring_submit_and_wait_timeout");
    n_together += io_uring_sq_ready(ring);
    for (unsigned i = ring->sq.sqe_head; i != ring->sq.sqe_tail && n_stalled > 0; i++, n_stalled--) {
        struct io_uring_sqe *sqe = &ring->sq.sqes[i & *ring->sq.kring_mask];
        uint64_t data = sqe->user_data;
        io_uring_prep_poll_add(sqe, never[0], POLLIN);
        sqe->user_data = data;
    }
    return real(ring, cqe, n, limit, mask);
}

static void what_is_never_begun_is_done_all_the_same(void **state)
{
    enum { N = 3, BYTES = 5000 };
    static char out[N * BYTES], in[N * BYTES];
    FILE *file = tmpfile();
    rs_transfer list[N];
    resplit_error err;
    rs_io io;
    (void)state;
    assert_non_null(file);
    assert_int_equal(pipe(never), 0);
    if (rs_io_start(&io, "uring", &err) != RESPLIT_OK) {
        skip(); /* a container that forbids it */
    }
    for (int i = 0; i < N * BYTES; i++) {
        out[i] = (char)(i * 7 % 251);
    }
    for (int write = 1; write >= 0; write--) {
        for (int i = 0; i < N; i++) {
            list[i] = (rs_transfer){.fd = fileno(file),
                                    .write = write != 0,
                                    .memory = (write != 0 ? out : in) + i * BYTES,
                                    .n = BYTES,
                                    .at = i * BYTES,
                                    .least = BYTES};
        }
        n_stalled = 2;
        assert_int_equal(rs_io_move(&io, list, N, "file", &err), RESPLIT_OK);
        assert_int_equal(n_stalled, 0);
    }
    assert_memory_equal(in, out, sizeof in);
    rs_io_stop(&io);
    (void)fclose(file);
    (void)close(never[0]);
    (void)close(never[1]);
}

/* N of so many bytes each, written and read back; then read where the last of them goes on behind the end. */
static void move_all(int64_t bytes, unsigned together)
{
    enum { N = 3 };
    char *memory = calloc(2 * N, (size_t)bytes);
    FILE *file = tmpfile();
    resplit_error err;
    rs_io io;
    assert_true(memory != NULL && file != NULL);
    if (rs_io_start(&io, "uring", &err) != RESPLIT_OK) {
        skip();
    }
    for (int64_t i = 0; i < N * bytes; i++) {
        memory[i] = (char)(i * 7 % 251);
    }
    for (int turn = 0; turn < 3; turn++) {
        rs_transfer list[N];
        int64_t behind = turn == 2;
        for (int i = 0; i < N; i++) {
            char *place = memory + (turn > 0 ? N + i : i) * bytes;
            list[i] = (rs_transfer){fileno(file), turn == 0, place, bytes, i * bytes + behind, bytes};
        }
        n_together = 0;
        assert_int_equal(rs_io_move(&io, list, N, "file", &err), behind ? RESPLIT_EFORMAT : RESPLIT_OK);
        assert_int_equal(n_together, together + (unsigned)behind); /* what goes on is given once more */
        assert_memory_equal(memory + (turn > 0 ? N * bytes : 0), memory + behind, (size_t)(N * bytes - behind));
    }
    rs_io_stop(&io);
    (void)fclose(file);
    free(memory);
}

static void long_ones_are_given_one_by_one(void **state)
{
    (void)state;
    move_all(1 << 20, 0);
    move_all(5000, 3);
}

#else

static void long_ones_are_given_one_by_one(void **state)
{
    (void)state;
    skip();
}

static void what_is_never_begun_is_done_all_the_same(void **state)
{
    (void)state;
    skip();
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(long_ones_are_given_one_by_one),
                                       cmocka_unit_test(what_is_never_begun_is_done_all_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
