/* SPDX-License-Identifier: BSD-3-Clause */
/* io.c - chooses a backend, says what went wrong; and the portable backend: one transfer after the other. */
#include "engine/io.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* ---- The portable backend -------------------------------------------------------------------- */

static int start_threads(rs_io *io)
{
    (void)io;
    return 0;
}

static void stop_threads(rs_io *io)
{
    (void)io;
}

static int move_one(const rs_transfer *t)
{
    for (int64_t done = 0; done < t->n;) {
        size_t n = (size_t)(t->n - done);
        ssize_t moved = t->write ? pwrite(t->fd, t->memory + done, n, t->at + done)
                                 : pread(t->fd, t->memory + done, n, t->at + done);
        if (moved < 0 && errno == EINTR) {
            continue;
        }
        if (moved < 0) {
            return errno;
        }
        if (moved == 0) {
            return t->write ? EIO : done >= t->least ? 0 : ENODATA;
        }
        done += moved;
        if (!t->write && done >= t->least) { /* a direct read that ends off a sector cannot be continued */
            return 0;
        }
    }
    return 0;
}

static int move_threads(rs_io *io, rs_transfer *list, int n, int *failed)
{
    (void)io;
    for (int i = 0; i < n; i++) {
        int code = move_one(&list[i]);
        if (code != 0) {
            *failed = i;
            return code;
        }
    }
    return 0;
}

const rs_io_backend rs_io_threads = {"threads", start_threads, stop_threads, move_threads};

/* ---- Choosing -------------------------------------------------------------------------------- */

resplit_status rs_io_start(rs_io *io, const char *name, resplit_error *err)
{
    bool any = name == NULL || strcmp(name, "auto") == 0;
    *io = (rs_io){.backend = &rs_io_threads};
    if (strcmp(any ? "uring" : name, "threads") == 0) {
        return RESPLIT_OK;
    }
    if (!any && strcmp(name, "uring") != 0) {
        return rs_fail(err, RESPLIT_EINVAL, "there is no way of input and output '%s': choose uring, threads or auto",
                       name);
    }
    int code = ENOSYS;
    if (rs_io_uring != NULL) {
        io->backend = rs_io_uring;
        code = io->backend->start(io);
    }
    if (code == 0) {
        return RESPLIT_OK;
    }
    *io = (rs_io){.backend = &rs_io_threads};
    if (any) { /* containers often forbid it */
        return RESPLIT_OK;
    }
    return rs_io_uring == NULL
               ? rs_fail(err, RESPLIT_EUNSUPPORTED, "this resplit was built without io_uring: choose --io threads")
               : rs_fail_errno(err, code, "io_uring cannot be used here: choose --io threads");
}

void rs_io_stop(rs_io *io)
{
    if (io->backend != NULL) {
        io->backend->stop(io);
    }
    io->backend = NULL;
}

static bool is_long(const rs_transfer *list, int n)
{
    int64_t bytes = 0;
    for (int i = 0; i < n; i++) {
        bytes += list[i].n;
    }
    return bytes >= RS_GATE_LEAST;
}

resplit_status rs_io_move(rs_io *io, rs_transfer *list, int n, const char *path, resplit_error *err)
{
    int failed = 0;
    bool gated = io->gate != NULL && is_long(list, n);
    if (gated) {
        rs_gate_enter(io->gate);
    }
    int code = io->backend->move(io, list, n, &failed);
    if (gated) {
        rs_gate_leave(io->gate);
    }
    if (list[0].write && io->shedding != NULL) {
        rs_shed_interrupt(io->shedding);
    }
    if (code == 0) {
        return RESPLIT_OK;
    }
    const rs_transfer *t = &list[failed];
    if (code == ENODATA) {
        return rs_fail(err, RESPLIT_EFORMAT, "'%s' ends before %lld: it shrank while it was read", path,
                       (long long)(t->at + t->least));
    }
    return rs_fail_errno(err, code, "cannot %s %lld bytes at %lld of '%s'", t->write ? "write" : "read",
                         (long long)t->n, (long long)t->at, path);
}
