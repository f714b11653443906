/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * measure.c - what a disk can do here and now: quickly, for a plan, and thoroughly, to compare programs with. Both go
 * through the same phases:
 *
 *     write     in order, sync included
 *     read      the same
 *     both      read and write at the same time
 *     random    4 KiB here and there, one thread      -> latency
 *     random    the same by 2, 4, 8, ... threads      -> how many times more reads a second
 */
#include "engine/probe.h"

#include <errno.h>
#include <math.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

enum { QUICK_PIECE = 512 << 10, QUICK_PIECES = 128, PIECE = 1 << 20, DEFAULT_PIECES = 1024 };

typedef struct manner {
    rs_probe probe;   /* the caller's part of it */
    int most_threads; /* that read at random */
    int64_t most_reads;
    bool reads_on; /* each random phase goes on where the one before ended, so that no cache has seen its pages */
    double stream_seconds, latency_seconds, depth_seconds; /* of a phase at most */
} manner;

/* 64 MiB and 2 MiB of buffers; all phases together stay below two seconds, unless a single transfer takes longer. */
static const manner quick = {
    .probe = {.piece = QUICK_PIECE, .n_streams = 4, .n_pieces = QUICK_PIECES, .least_pieces = 2, .sync_pieces = 8},
    .most_threads = 16,
    .most_reads = 4096,
    .stream_seconds = 0.35,
    .latency_seconds = 0.15,
    .depth_seconds = 0.08,
};

/* As much as is asked for, however long it takes. 8 MiB under way keep a fast device busy, 16 were no faster. */
static const manner thorough = {
    .probe = {.piece = PIECE, .n_streams = 8, .n_pieces = DEFAULT_PIECES, .has_other = true},
    .most_threads = RS_PROBE_MOST_THREADS,
    .most_reads = INT64_MAX,
    .reads_on = true,
    .stream_seconds = INFINITY,
    .latency_seconds = 1,
    .depth_seconds = 0.5,
};

typedef struct findings {
    bool direct;
    rs_probe_result write, read, both;
    double alone; /* random reads per second, one at a time ... */
    double most;  /* ... and so many at once as is best, */
    int depth;    /* which is this */
} findings;

/* ---- Phases -------------------------------------------------------------------------------- */

static int run_stream(const manner *how, rs_probe *p, rs_probe_kind kind, int64_t n_transfers, rs_probe_result *out)
{
    rs_probe_phase phase = {
        .kind = kind, .n_threads = p->n_streams, .n_transfers = n_transfers, .seconds = how->stream_seconds};
    return rs_probe_run(p, &phase, out);
}

static int run_random(const manner *how, rs_probe *p, findings *out)
{
    int64_t n_pages = p->n_written * (int64_t)(p->piece / RS_PROBE_PAGE);
    rs_probe_phase phase = {.kind = RS_PROBE_RANDOM, .n_transfers = rs_min(n_pages, how->most_reads)};
    for (int n = 1; n <= how->most_threads; n *= 2) {
        rs_probe_result result;
        phase.n_threads = n;
        phase.seconds = n == 1 ? how->latency_seconds : how->depth_seconds;
        int code = rs_probe_run(p, &phase, &result);
        if (code != 0) {
            return code;
        }
        double rate = (double)result.n_transfers / result.seconds;
        if (n == 1) {
            out->alone = rate;
        }
        if (rate > out->most) {
            out->most = rate;
            out->depth = result.n_threads;
        }
        phase.first += how->reads_on ? result.n_transfers : 0;
    }
    return 0;
}

/* Zero, or errno. `p` is the caller's part of how->probe, with the size that is wanted. */
static int measure(const manner *how, rs_probe *p, const char *folder, findings *out)
{
    *out = (findings){0};
    int code = rs_probe_open(p, folder);
    out->direct = p->direct;
    if (code == 0) {
        code = run_stream(how, p, RS_PROBE_WRITE, p->n_pieces, &out->write);
    }
    if (code == 0) {
        code = run_stream(how, p, RS_PROBE_READ, p->n_written, &out->read);
    }
    if (code == 0) {
        code = run_stream(how, p, RS_PROBE_BOTH, p->has_other ? 2 * p->n_written : p->n_written / 2 * 2, &out->both);
    }
    if (code == 0) {
        code = run_random(how, p, out);
    }
    rs_probe_close(p);
    return code;
}

/* ---- Quickly ------------------------------------------------------------------------------- */

static double bandwidth(const rs_probe_result *result)
{
    return (double)result->bytes / result->seconds;
}

resplit_status resplit_device_measure(const char *folder, resplit_device *out, resplit_error *err)
{
    rs_probe probe = quick.probe;
    findings found;
    *out = (resplit_device){.depth = 1};
    if (folder == NULL || folder[0] == '\0') {
        return rs_fail(err, RESPLIT_EINVAL, "no folder is given to measure the file system of");
    }
    int code = measure(&quick, &probe, folder, &found);
    if (code != 0) {
        return rs_fail_errno(err, code, "cannot measure the file system of '%s' with a temporary file", folder);
    }
    *out = (resplit_device){.name = "measured",
                            .latency = 1 / found.alone,
                            .depth = found.most / found.alone,
                            .read_bandwidth = bandwidth(&found.read),
                            .write_bandwidth = bandwidth(&found.write),
                            .both_bandwidth = bandwidth(&found.both)};
    return RESPLIT_OK;
}

/* ---- Thoroughly ---------------------------------------------------------------------------- */

/* Is there a folder, and space in it for two files? */
static resplit_status check_folder(const char *folder, int64_t bytes, resplit_error *err)
{
    struct stat st;
    struct statvfs fs;
    int64_t available;
    int why = stat(folder, &st) != 0 ? errno : S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
    if (why != 0) {
        return rs_fail_errno(err, why, "cannot measure the disk of '%s'", folder);
    }
    if (statvfs(folder, &fs) != 0) {
        return rs_fail_errno(err, errno, "cannot look at the file system of '%s'", folder);
    }
    /* A file system that does not know how large it is says 0. */
    if (fs.f_blocks > 0 && rs_mul((int64_t)fs.f_bavail, (int64_t)fs.f_frsize, &available) && 2 * bytes > available) {
        return rs_fail(err, RESPLIT_EIO,
                       "two temporary files of %lld bytes need %lld bytes, but only %lld are free in '%s': measure "
                       "with less",
                       (long long)bytes, (long long)(2 * bytes), (long long)available, folder);
    }
    return RESPLIT_OK;
}

resplit_status resplit_disk_measure(const char *folder, int64_t bytes, resplit_disk *out, resplit_error *err)
{
    rs_probe probe = thorough.probe;
    findings found;
    *out = (resplit_disk){0};
    if (folder == NULL || folder[0] == '\0') {
        return rs_fail(err, RESPLIT_EINVAL, "no folder is given to measure the disk of");
    }
    if (bytes < 0 || bytes > INT64_MAX / 4) {
        return rs_fail(err, RESPLIT_EINVAL, "cannot measure a disk with a file of %lld bytes", (long long)bytes);
    }
    probe.n_pieces = bytes > 0 ? rs_ceil_div(bytes, PIECE) : DEFAULT_PIECES;
    probe.least_pieces = probe.n_pieces;
    bytes = probe.n_pieces * PIECE;
    RS_TRY(check_folder(folder, bytes, err));
    int code = measure(&thorough, &probe, folder, &found);
    if (code != 0) {
        return rs_fail_errno(err, code, "cannot measure the disk of '%s' with two temporary files of %lld bytes",
                             folder, (long long)bytes);
    }
    *out = (resplit_disk){.direct = found.direct,
                          .bytes = bytes,
                          .write_seconds = found.write.seconds,
                          .read_seconds = found.read.seconds,
                          .both_seconds = found.both.seconds,
                          .random_latency = 1 / found.alone,
                          .random_rate = found.most,
                          .random_depth = found.depth};
    return RESPLIT_OK;
}
