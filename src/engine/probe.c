/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * probe.c - phases of transfers on temporary files without a name.
 *
 * Every phase is a list of transfers that a few threads draw from one counter, until the list or its time is over:
 *
 *     write     pieces, in order
 *     read      the same pieces
 *     both      read one, write one, ...
 *     random    a page here and there
 *
 * The page cache would be measured instead of the disk, so it is passed by (O_DIRECT), or else emptied before each
 * phase and waited for while writing.
 */
#include "engine/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    STRIDE = 10007,        /* pages from one random read to the next: a prime */
    STACK_BYTES = 64 << 10 /* of a thread: a few calls deep */
};

/* A phase under way. */
typedef struct phase {
    const rs_probe *probe;
    rs_probe_kind kind;
    int64_t n_transfers, first;
    double deadline;
    atomic_int_fast64_t next, bytes, n_done;
    atomic_int failed; /* errno, or 0 */
} phase;

typedef struct worker {
    phase *phase;
    char *buffer;
} worker;

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- Transfers ----------------------------------------------------------------------------- */

/* Zero, or what went wrong. A transfer that ends early is a full disk, or a file that somebody cut. */
static int move(int fd, bool writing, char *buffer, size_t n, int64_t at)
{
    ssize_t done;
    do {
        done = writing ? pwrite(fd, buffer, n, (off_t)at) : pread(fd, buffer, n, (off_t)at);
    } while (done < 0 && errno == EINTR);
    if (done < 0) {
        return errno;
    }
    return (size_t)done == n ? 0 : writing ? ENOSPC : EIO;
}

/* The file that a phase of this kind writes to. */
static int written_fd(const rs_probe *p, rs_probe_kind kind)
{
    return kind == RS_PROBE_BOTH ? p->other : p->fd;
}

/* A stride that does not divide the number of pages visits every one of them once, and never the next one. */
static int64_t random_page(const rs_probe *p, int64_t i)
{
    int64_t n_pages = p->n_written * (int64_t)(p->piece / RS_PROBE_PAGE);
    return i * STRIDE % (n_pages % STRIDE == 0 ? n_pages - 1 : n_pages);
}

/* The i-th transfer of the phase. */
static int transfer(const phase *f, char *buffer, int64_t i)
{
    const rs_probe *p = f->probe;
    int64_t piece = (int64_t)p->piece, half = p->other == p->fd ? p->n_written / 2 : 0;
    switch (f->kind) {
    case RS_PROBE_WRITE: return move(p->fd, true, buffer, p->piece, i * piece);
    case RS_PROBE_READ: return move(p->fd, false, buffer, p->piece, i * piece);
    case RS_PROBE_BOTH:
        return i % 2 == 1 ? move(p->other, true, buffer, p->piece, (i / 2 + half) * piece)
                          : move(p->fd, false, buffer, p->piece, i / 2 * piece);
    case RS_PROBE_RANDOM: break;
    }
    return move(p->fd, false, buffer, RS_PROBE_PAGE, random_page(p, f->first + i) * RS_PROBE_PAGE);
}

static bool is_sync_due(const phase *f, int64_t i)
{
    const rs_probe *p = f->probe;
    bool writes = f->kind == RS_PROBE_WRITE || (f->kind == RS_PROBE_BOTH && i % 2 == 1);
    return writes && !p->direct && p->sync_pieces > 0 && i % p->sync_pieces == p->sync_pieces - 1;
}

static void *work(void *argument)
{
    worker *w = argument;
    phase *f = w->phase;
    int64_t size = f->kind == RS_PROBE_RANDOM ? RS_PROBE_PAGE : (int64_t)f->probe->piece;
    while (atomic_load(&f->failed) == 0) {
        int64_t i = atomic_fetch_add(&f->next, 1);
        /* Two transfers are made however late it is: there must be something to divide by, on either side. */
        if (i >= f->n_transfers || (i > 1 && now() > f->deadline)) {
            break;
        }
        int code = transfer(f, w->buffer, i);
        if (code == 0 && is_sync_due(f, i) && fdatasync(written_fd(f->probe, f->kind)) != 0) {
            code = errno;
        }
        if (code != 0) {
            atomic_store(&f->failed, code);
            break;
        }
        (void)atomic_fetch_add(&f->bytes, size);
        (void)atomic_fetch_add(&f->n_done, 1);
    }
    return NULL;
}

/* ---- Phases -------------------------------------------------------------------------------- */

/* Works with up to n threads, this one among them; fewer where the system allows no more. Returns their number. */
static int work_together(phase *f, int n_threads)
{
    pthread_t threads[RS_PROBE_MOST_THREADS];
    worker workers[RS_PROBE_MOST_THREADS] = {{f, f->probe->buffer}};
    pthread_attr_t attributes;
    int n = 0;
    bool has_attributes = pthread_attr_init(&attributes) == 0;
    if (has_attributes) {
        (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    }
    for (int i = 1; i < n_threads; i++) {
        size_t size = f->kind == RS_PROBE_RANDOM ? (size_t)RS_PROBE_PAGE : f->probe->piece;
        workers[i] = (worker){f, f->probe->buffer + (size_t)i * size};
    }
    while (n + 1 < n_threads
           && pthread_create(&threads[n], has_attributes ? &attributes : NULL, work, &workers[n + 1]) == 0) {
        n++;
    }
    (void)work(&workers[0]);
    for (int i = 0; i < n; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    if (has_attributes) {
        (void)pthread_attr_destroy(&attributes);
    }
    return n + 1;
}

int rs_probe_run(rs_probe *p, const rs_probe_phase *wanted, rs_probe_result *out)
{
    rs_probe_kind kind = wanted->kind;
    if (!p->direct && kind != RS_PROBE_WRITE) {
        (void)posix_fadvise(p->fd, 0, 0, POSIX_FADV_DONTNEED);
        (void)posix_fadvise(p->fd, 0, 0, kind == RS_PROBE_RANDOM ? POSIX_FADV_RANDOM : POSIX_FADV_SEQUENTIAL);
    }
    double start = now();
    phase f = {.probe = p,
               .kind = kind,
               .n_transfers = wanted->n_transfers,
               .first = wanted->first,
               .deadline = start + wanted->seconds};
    out->n_threads = work_together(&f, wanted->n_threads);
    if ((kind == RS_PROBE_WRITE || kind == RS_PROBE_BOTH) && f.failed == 0 && fdatasync(written_fd(p, kind)) != 0) {
        f.failed = errno;
    }
    double took = now() - start;
    out->seconds = took > 1e-6 ? took : 1e-6;
    out->bytes = f.bytes;
    out->n_transfers = f.n_done;
    if (kind == RS_PROBE_WRITE) {
        p->n_written = f.n_done;
    }
    return f.failed;
}

/* ---- The files ----------------------------------------------------------------------------- */

/* A file that gets a name and loses it again. No signal may come between. */
static int open_unlinked(const char *folder)
{
    char path[4096];
    sigset_t all, before;
    if (snprintf(path, sizeof path, "%s/.resplit-probe-XXXXXX", folder) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int fd = mkostemp(path, O_CLOEXEC), why = errno;
    if (fd >= 0) {
        (void)unlink(path);
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = why;
    return fd;
}

/* A file that has no name, or has it only until this function returns. Negative: errno says why. */
static int open_nameless(const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || errno == EACCES || errno == EROFS || errno == ENOSPC || errno == EDQUOT || errno == EMFILE) {
        return fd;
    }
    return open_unlinked(folder); /* not every file system can do without */
}

/* Opens one file, direct where that works, and finds out how large it may be. */
static int open_file(rs_probe *p, const char *folder, int *fd)
{
    *fd = open_nameless(folder);
    if (*fd < 0) {
        return errno;
    }
    /* Not when it is opened: where that is refused, the refused file would stay. */
    p->direct = fcntl(*fd, F_SETFL, O_DIRECT) == 0;
    /* Space first, so that a disk that is nearly full is noticed; not every file system can do that. */
    while (fallocate(*fd, 0, 0, p->n_pieces * (int64_t)p->piece) != 0 && errno == ENOSPC) {
        p->n_pieces /= 2;
        if (p->n_pieces < p->least_pieces) {
            return ENOSPC;
        }
    }
    int code = move(*fd, true, p->buffer, p->piece, 0);
    if (code == EINVAL && p->direct) { /* it may be opened, but not used, that way */
        p->direct = false;
        code = fcntl(*fd, F_SETFL, 0) == 0 ? move(*fd, true, p->buffer, p->piece, 0) : errno;
    }
    return code;
}

/* Bytes that no disk can make smaller than they are. */
static void fill(char *buffer, size_t n)
{
    uint64_t x = UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i + sizeof x <= n; i += sizeof x) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        memcpy(buffer + i, &x, sizeof x);
    }
}

int rs_probe_open(rs_probe *p, const char *folder)
{
    size_t bytes = (size_t)p->n_streams * p->piece;
    p->fd = p->other = -1;
    p->n_written = 0;
    p->arena = rs_arena_new((int64_t)bytes, true);
    p->buffer = rs_arena_take(p->arena, (int64_t)bytes, (int64_t)bytes);
    if (p->buffer == NULL) {
        return ENOMEM;
    }
    fill(p->buffer, bytes);
    int code = open_file(p, folder, &p->fd);
    if (code == 0 && p->has_other) {
        return open_file(p, folder, &p->other);
    }
    p->other = p->fd;
    return code;
}

void rs_probe_close(rs_probe *p)
{
    if (p->other >= 0 && p->other != p->fd) {
        (void)close(p->other);
    }
    if (p->fd >= 0) {
        (void)close(p->fd);
    }
    rs_arena_free(p->arena);
    p->fd = p->other = -1;
    p->buffer = NULL;
    p->arena = NULL;
}
