/* SPDX-License-Identifier: BSD-3-Clause */
/* io_uring.c - the backend that has all transfers of a call under way at once. */
#include "engine/io.h"

#ifndef RESPLIT_HAVE_URING

const rs_io_backend *const rs_io_uring = NULL;

#else

#include <errno.h>
#include <liburing.h>
#include <stdlib.h>

static int start(rs_io *io)
{
    struct io_uring *ring = calloc(1, sizeof *ring);
    if (ring == NULL) {
        return ENOMEM;
    }
    int code = -io_uring_queue_init(RS_IO_DEPTH, ring, 0);
    if (code != 0) {
        free(ring);
        return code;
    }
    io->state = ring;
    return 0;
}

static void stop(rs_io *io)
{
    struct io_uring *ring = io->state;
    io_uring_queue_exit(ring);
    free(ring);
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

static int move(rs_io *io, rs_transfer *list, int n, int *failed)
{
    struct io_uring *ring = io->state;
    int under_way = n, first = 0;
    for (int i = 0; i < n; i++) {
        prepare(ring, &list[i]);
    }
    while (under_way > 0) {
        struct io_uring_cqe *cqe;
        int code = io_uring_submit_and_wait(ring, 1);
        if (code < 0 && code != -EINTR && code != -EAGAIN && code != -EBUSY) {
            abort(); /* the kernel holds our memory and cannot be asked any more */
        }
        while (io_uring_peek_cqe(ring, &cqe) == 0) {
            rs_transfer *t = io_uring_cqe_get_data(cqe);
            int result = cqe->res, why = 0;
            io_uring_cqe_seen(ring, cqe);
            if (goes_on(t, result, &why) && first == 0) {
                prepare(ring, t);
                continue;
            }
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
