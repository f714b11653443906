/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * probe.c - what a disk can do here and now, by a temporary file without a name.
 *
 * Every phase is a list of transfers that a few threads draw from one counter, until the list or its time is over:
 *
 *     write     pieces of 512 KiB, in order          -> write_bandwidth
 *     read      the same pieces                       -> read_bandwidth
 *     both      read one, write one, ...              -> both_bandwidth
 *     random    4 KiB here and there, one thread      -> latency
 *     random    the same by 2, 4, 8, 16 threads       -> depth: how many times more reads a second
 *
 * The page cache would be measured instead of the disk, so it is passed by (O_DIRECT), or else emptied before each
 * phase and waited for while writing.
 */
#include "resplit.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    PIECE = 512 << 10,      /* large enough to be limited by bandwidth, not by latency */
    PAGE = 4096,            /* of a random read */
    MOST_PIECES = 128,      /* 64 MiB */
    N_STREAMS = 4,          /* threads that move pieces, each with a buffer of its own: 2 MiB in all */
    MOST_THREADS = 16,      /* that read at random, from the same buffers */
    SYNC_PIECES = 8,        /* written between two syncs where the page cache cannot be passed by */
    MOST_READS = 4096,      /* random reads of a phase */
    STACK_BYTES = 64 << 10, /* of a thread: a few calls deep */
};

/* All phases together stay below two seconds, unless a single transfer takes longer. */
static const double stream_seconds = 0.35, latency_seconds = 0.15, depth_seconds = 0.08;

enum kind { WRITE, READ, BOTH, RANDOM };

typedef struct probe {
    int fd;
    bool direct;
    char *buffer;        /* N_STREAMS pieces, aligned for O_DIRECT */
    int64_t n_pieces;    /* that the file may have */
    int64_t n_written;   /* that it has: what was never written would be read without the disk */
    enum kind kind;      /* of this phase; from here on, one phase's */
    int64_t n_transfers; /* that the phase has at most */
    double deadline;
    atomic_int_fast64_t next, bytes, n_done;
    atomic_int failed; /* errno, or 0 */
} probe;

typedef struct worker {
    probe *probe;
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

/* The i-th transfer of the phase. */
static int transfer(probe *p, char *buffer, int64_t i)
{
    int64_t half = p->n_written / 2;
    switch (p->kind) {
    case WRITE: return move(p->fd, true, buffer, PIECE, i * PIECE);
    case READ: return move(p->fd, false, buffer, PIECE, i * PIECE);
    case BOTH: return move(p->fd, i % 2 == 1, buffer, PIECE, (i / 2 + (i % 2 == 1 ? half : 0)) * PIECE);
    case RANDOM: break;
    }
    /* A stride that is odd and not small visits every page of a power of two once, and never the next one. */
    int64_t n_pages = p->n_written * (PIECE / PAGE);
    return move(p->fd, false, buffer, PAGE, i * 10007 % n_pages * PAGE);
}

static void *work(void *argument)
{
    worker *w = argument;
    probe *p = w->probe;
    int64_t size = p->kind == RANDOM ? PAGE : PIECE;
    while (atomic_load(&p->failed) == 0) {
        int64_t i = atomic_fetch_add(&p->next, 1);
        /* Two transfers are made however late it is: there must be something to divide by, on either side. */
        if (i >= p->n_transfers || (i > 1 && now() > p->deadline)) {
            break;
        }
        int code = transfer(p, w->buffer, i);
        bool writes = p->kind == WRITE || (p->kind == BOTH && i % 2 == 1);
        if (code == 0 && writes && !p->direct && i % SYNC_PIECES == SYNC_PIECES - 1 && fdatasync(p->fd) != 0) {
            code = errno;
        }
        if (code != 0) {
            atomic_store(&p->failed, code);
            break;
        }
        (void)atomic_fetch_add(&p->bytes, size);
        (void)atomic_fetch_add(&p->n_done, 1);
    }
    return NULL;
}

/* ---- Phases -------------------------------------------------------------------------------- */

/* Runs one phase with up to n threads, this one among them; fewer where the system allows no more. Returns seconds. */
static double run_phase(probe *p, enum kind kind, int n_threads, int64_t n_transfers, double seconds)
{
    pthread_t threads[MOST_THREADS];
    worker workers[MOST_THREADS];
    pthread_attr_t attributes;
    int n = 0;
    bool has_attributes = pthread_attr_init(&attributes) == 0;
    if (has_attributes) {
        (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    }
    if (!p->direct && kind != WRITE) {
        (void)posix_fadvise(p->fd, 0, 0, POSIX_FADV_DONTNEED);
        (void)posix_fadvise(p->fd, 0, 0, kind == RANDOM ? POSIX_FADV_RANDOM : POSIX_FADV_SEQUENTIAL);
    }
    p->kind = kind;
    p->n_transfers = n_transfers;
    atomic_store(&p->next, 0);
    atomic_store(&p->bytes, 0);
    atomic_store(&p->n_done, 0);
    double start = now();
    p->deadline = start + seconds;
    for (int i = 0; i < n_threads; i++) {
        size_t size = kind == RANDOM ? (size_t)PAGE : (size_t)PIECE;
        workers[i] = (worker){p, p->buffer + (size_t)i * size};
    }
    while (n + 1 < n_threads
           && pthread_create(&threads[n], has_attributes ? &attributes : NULL, work, &workers[n + 1]) == 0) {
        n++;
    }
    (void)work(&workers[0]);
    for (int i = 0; i < n; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    if ((kind == WRITE || kind == BOTH) && atomic_load(&p->failed) == 0 && fdatasync(p->fd) != 0) {
        atomic_store(&p->failed, errno);
    }
    if (has_attributes) {
        (void)pthread_attr_destroy(&attributes);
    }
    double took = now() - start;
    return took > 1e-6 ? took : 1e-6;
}

static double run_stream(probe *p, enum kind kind, int64_t n_transfers)
{
    double took = run_phase(p, kind, N_STREAMS, n_transfers, stream_seconds);
    return (double)atomic_load(&p->bytes) / took;
}

/* Random reads per second. */
static double run_random(probe *p, int n_threads, double seconds)
{
    int64_t n_pages = p->n_written * (PIECE / PAGE);
    double took = run_phase(p, RANDOM, n_threads, rs_min(n_pages, MOST_READS), seconds);
    return (double)atomic_load(&p->n_done) / took;
}

static int measure(probe *p, resplit_device *out)
{
    out->write_bandwidth = run_stream(p, WRITE, p->n_pieces);
    p->n_written = atomic_load(&p->n_done);
    if (atomic_load(&p->failed) == 0) {
        out->read_bandwidth = run_stream(p, READ, p->n_written);
    }
    if (atomic_load(&p->failed) == 0) {
        out->both_bandwidth = run_stream(p, BOTH, p->n_written / 2 * 2);
    }
    double alone = 1, most = 0;
    if (atomic_load(&p->failed) == 0) {
        most = alone = run_random(p, 1, latency_seconds);
    }
    for (int n = 2; n <= MOST_THREADS && atomic_load(&p->failed) == 0; n *= 2) {
        double rate = run_random(p, n, depth_seconds);
        most = rate > most ? rate : most;
    }
    out->latency = 1 / alone;
    out->depth = most / alone;
    return atomic_load(&p->failed);
}

/* ---- The file ------------------------------------------------------------------------------ */

/* A file that has no name, or has it only until this function returns. Negative: errno says why. */
static int open_nameless(const char *folder)
{
    char path[4096];
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || errno == EACCES || errno == EROFS || errno == ENOSPC || errno == EDQUOT || errno == EMFILE) {
        return fd;
    }
    /* Not every file system can do that. */
    if (snprintf(path, sizeof path, "%s/.resplit-probe-XXXXXX", folder) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0) {
        (void)unlink(path);
    }
    return fd;
}

/* Opens the file, direct where that works, and finds out how large it may be. */
static int prepare(probe *p, const char *folder)
{
    p->fd = open_nameless(folder);
    if (p->fd < 0) {
        return errno;
    }
    /* Not when it is opened: where that is refused, the refused file would stay. */
    p->direct = fcntl(p->fd, F_SETFL, O_DIRECT) == 0;
    /* Space first, so that a disk that is nearly full is measured with less; not every file system can do that. */
    for (p->n_pieces = MOST_PIECES; fallocate(p->fd, 0, 0, p->n_pieces * PIECE) != 0 && errno == ENOSPC;) {
        p->n_pieces /= 2;
        if (p->n_pieces < 2) {
            return ENOSPC;
        }
    }
    int code = move(p->fd, true, p->buffer, PIECE, 0);
    if (code == EINVAL && p->direct) { /* it may be opened, but not used, that way */
        p->direct = false;
        code = fcntl(p->fd, F_SETFL, 0) == 0 ? move(p->fd, true, p->buffer, PIECE, 0) : errno;
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

resplit_status resplit_device_measure(const char *folder, resplit_device *out, resplit_error *err)
{
    void *memory = NULL;
    *out = (resplit_device){.depth = 1};
    if (folder == NULL || folder[0] == '\0') {
        return rs_fail(err, RESPLIT_EINVAL, "no folder is given to measure the file system of");
    }
    if (posix_memalign(&memory, PAGE, (size_t)N_STREAMS * PIECE) != 0) {
        return rs_fail_errno(err, ENOMEM, "cannot allocate %d bytes to measure with", N_STREAMS * PIECE);
    }
    probe p = {.fd = -1, .buffer = memory};
    fill(p.buffer, (size_t)N_STREAMS * PIECE);
    int code = prepare(&p, folder);
    resplit_device found = {.name = "measured"};
    if (code == 0) {
        code = measure(&p, &found);
    }
    if (p.fd >= 0) {
        (void)close(p.fd);
    }
    free(memory);
    if (code != 0) {
        return rs_fail_errno(err, code, "cannot measure the file system of '%s' with a temporary file", folder);
    }
    *out = found;
    return RESPLIT_OK;
}
