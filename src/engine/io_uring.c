/* SPDX-License-Identifier: BSD-3-Clause */
/* io_uring.c - the backend that has all transfers of a call under way at once. */
#include "engine/io.h"

#ifndef RESPLIT_HAVE_URING

const rs_io_backend *const rs_io_uring = NULL;

#else

#include <errno.h>
#include <liburing.h>
#include <stdlib.h>

enum {
    PATIENCE = 5,     /* seconds without a sign of any transfer */
    LONG = 512 << 10, /* bytes that a disk is given on their own */
};

/* What is done is told when all that is waited for is done, to the one thread that uses the ring. Else a worker wakes up
   for each transfer. Kernels before 6.1 do not know it. */
#ifdef IORING_SETUP_DEFER_TASKRUN
#define AT_ONCE (IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_R_DISABLED)
#else
#define AT_ONCE 0
#endif

typedef struct state {
    struct io_uring ring;
    bool asleep; /* the thread that wakes it up is the one that uses it: not the one that makes it */
} state;

/* Minus errno. By its number: not every liburing has the function for it. */
static int wake(struct io_uring *ring)
{
#ifdef IORING_SETUP_DEFER_TASKRUN
    return io_uring_register((unsigned)ring->ring_fd, IORING_REGISTER_ENABLE_RINGS, NULL, 0);
#else
    (void)ring;
    return 0;
#endif
}

static int start(rs_io *io)
{
    state *s = calloc(1, sizeof *s);
    const unsigned depth = 2 * RS_IO_DEPTH; /* the transfers of a call, and what asks them back */
    if (s == NULL) {
        return ENOMEM;
    }
    s->asleep = AT_ONCE != 0;
    int code = -io_uring_queue_init(depth, &s->ring, AT_ONCE);
    if (code == EINVAL && s->asleep) {
        s->asleep = false;
        code = -io_uring_queue_init(depth, &s->ring, 0);
    }
    if (code != 0) {
        free(s);
        return code;
    }
    io->state = s;
    return 0;
}

static void stop(rs_io *io)
{
    state *s = io->state;
    io_uring_queue_exit(&s->ring);
    free(s);
}

/* What a transfer still has to do, kept in the transfer itself. */
static void prepare(struct io_uring *ring, rs_transfer *t)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(ring); /* there is one for each transfer of a call */
    if (t->write) {
        io_uring_prep_write(sqe, t->fd, t->memory, (unsigned)t->n, (uint64_t)t->at);
    } else {
        io_uring_prep_read(sqe, t->fd, t->memory, (unsigned)t->n, (uint64_t)t->at);
    }
    io_uring_sqe_set_data(sqe, t);
}

/*
 * Long ones one by one: what a kernel is told of at once, and lies side by side, it makes one request of. A disk was
 * seen that takes a fifth longer for 2 or 4 MiB at a time than for 1 MiB.
 */
static void begin(struct io_uring *ring, rs_transfer *list, int n)
{
    for (int i = 0; i < n; i++) {
        prepare(ring, &list[i]);
        if (list[i].n >= LONG) {
            (void)io_uring_submit(ring); /* what it does not take now, it takes when it is waited for */
        }
    }
}

/* Takes note of what came. Returns whether the transfer must go on; *code is set when it failed. */
static bool goes_on(rs_transfer *t, int result, int *code)
{
    if (result == -EINTR || result == -EAGAIN) {
        return true;
    }
    if (result < 0) {
        *code = -result;
        return false;
    }
    if (result == 0 && t->n > 0) {
        *code = t->write ? EIO : t->least > 0 ? ENODATA : 0;
        return false;
    }
    t->memory += result;
    t->at += result;
    t->n -= result;
    t->least -= result;
    /* a direct read that ends off a sector cannot be continued */
    return t->n > 0 && (t->write || t->least > 0);
}

/*
 * Kernels were seen (6.18) that take a request and never begin it: the thread that was to do it was not made. Who waits
 * for it waits for ever. So what nothing was heard of is asked back; what had not begun comes back as ECANCELED.
 */
static void ask_back(struct io_uring *ring, rs_transfer *list, int n, const bool *is_done)
{
    for (int i = 0; i < n; i++) {
        struct io_uring_sqe *sqe = is_done[i] ? NULL : io_uring_get_sqe(ring);
        if (sqe != NULL) {
            io_uring_prep_cancel(sqe, &list[i], 0);
            io_uring_sqe_set_data(sqe, NULL);
        }
    }
    (void)io_uring_submit(ring); /* now: left for later, they would ask back the transfers of another call */
}

/* For all that is under way. */
static void submit_and_wait(struct io_uring *ring, rs_transfer *list, int n, const bool *is_done, int under_way)
{
    struct __kernel_timespec patience = {.tv_sec = PATIENCE};
    struct io_uring_cqe *cqe;
    int code = io_uring_submit_and_wait_timeout(ring, &cqe, (unsigned)under_way, &patience, NULL);
    if (code == -ETIME && io_uring_cq_ready(ring) == 0) {
        ask_back(ring, list, n, is_done);
    } else if (code < 0 && code != -ETIME && code != -EINTR && code != -EAGAIN && code != -EBUSY) {
        abort(); /* the kernel holds our memory and cannot be asked any more */
    }
}

static int move(rs_io *io, rs_transfer *list, int n, int *failed)
{
    state *s = io->state;
    struct io_uring *ring = &s->ring;
    struct io_uring_cqe *cqe;
    bool is_done[RS_IO_DEPTH] = {false};
    int under_way = n, first = 0;
    if (s->asleep) {
        first = -wake(ring);
        *failed = 0;
        if (first != 0) {
            return first;
        }
        s->asleep = false;
    }
    begin(ring, list, n);
    while (under_way > 0) {
        submit_and_wait(ring, list, n, is_done, under_way);
        while (io_uring_peek_cqe(ring, &cqe) == 0) {
            rs_transfer *t = io_uring_cqe_get_data(cqe);
            int result = cqe->res, why = 0, ignored;
            io_uring_cqe_seen(ring, cqe);
            if (t == NULL) { /* something was asked back */
                continue;
            }
            if (result == -ECANCELED) {
                why = rs_io_threads.move(io, t, 1, &ignored);
            } else if (goes_on(t, result, &why) && first == 0) {
                prepare(ring, t);
                continue;
            }
            is_done[t - list] = true;
            under_way--;
            if (why != 0 && first == 0) {
                first = why;
                *failed = (int)(t - list);
            }
        }
    }
    return first;
}

static const rs_io_backend backend = {"uring", start, stop, move};
const rs_io_backend *const rs_io_uring = &backend;

#endif
