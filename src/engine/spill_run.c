/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spill_run.c - runs a spill (plan/strategy_spill.c): the steps of run.c, and a temporary file between two of them.
 *
 *     READ, the source   slice -> resident blocks; what belongs to others, group by group -> temporary file
 *     WRITE              resident blocks
 *     READ, group g      what slices left for it <- temporary file -> blocks of the group
 *     WRITE              blocks of the group ...
 *
 * Each group has a part of the file that is exactly as long as its blocks, and slices have stretches of it in their order.
 * Nothing is indexed: both times slices are handed out in the same order, and the places follow from their sizes.
 */
#include "engine/block.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

struct rs_spilling {
    int fd, direct; /* the temporary file, which has no name */
    int64_t *next;  /* where the next stretch of each group goes, and where it is read back from: with the run's lock */
};

/* ---- Handing out: with the lock -------------------------------------------------------------- */

static int64_t group_begin(const rs_run *run, int64_t g)
{
    const rs_spill *spill = &run->plan->spill;
    return rs_spill_bytes_before(run->problem, spill->resident + g * spill->group)
           - rs_spill_bytes_before(run->problem, spill->resident);
}

void rs_spill_leave(rs_run *run, rs_job *job, int64_t group, int64_t bytes)
{
    rs_spilling *s = run->spilling;
    if (job->n_groups == 0) {
        job->first_group = group;
    }
    while (job->first_group + job->n_groups <= group) { /* groups between have nothing of this slice */
        job->group_at[job->n_groups] = s->next[job->first_group + job->n_groups];
        job->n_groups++;
    }
    s->next[group] += bytes;
}

void rs_spill_turn(rs_run *run)
{
    for (int64_t g = 0; g < run->plan->spill.n_groups; g++) {
        run->spilling->next[g] = group_begin(run, g);
    }
}

void rs_spill_fetch(rs_run *run, rs_job *job)
{
    int64_t *next = &run->spilling->next[job->step.group];
    job->temp_at = *next;
    *next += job->temp_bytes;
}

/* ---- Moving: without ------------------------------------------------------------------------- */

/* Bytes of the temporary file, as a block of them. */
static rs_block_file temp_file(const rs_spilling *s, int64_t at, int64_t n, rs_layout *layout, rs_box *box)
{
    *layout = (rs_layout){.ndim = 1, .itemsize = 1, .axis = {rs_axis_even(n, rs_max(1, n))}};
    *box = (rs_box){.lo = {0}, .hi = {n}};
    return (rs_block_file){
        .fd = s->fd, .direct = s->direct, .path = "temporary file", .offset = at, .layout = layout, .stored = box};
}

static resplit_status write_stretch(rs_worker *worker, int64_t at, const char *bytes, int64_t n, resplit_error *err)
{
    rs_layout layout;
    rs_box box;
    rs_block_file file = temp_file(worker->run->spilling, at, n, &layout, &box);
    rs_cursor moved = {.next = -1};
    RS_TRY(rs_file_write_box(&worker->io, &file, &box, bytes, 0, &moved, err));
    worker->spilled.seeks++;
    worker->spilled.bytes += n;
    return RESPLIT_OK;
}

/* A stretch in the making. */
typedef struct stretch {
    int64_t group; /* -1: none */
    char *bytes;
    int64_t n;
} stretch;

static resplit_status end_stretch(rs_worker *worker, stretch *s, resplit_error *err)
{
    const rs_job *job = &worker->job;
    resplit_status rc = RESPLIT_OK;
    if (s->group >= 0) {
        rc = write_stretch(worker, job->group_at[s->group - job->first_group], s->bytes, s->n, err);
    }
    s->group = -1;
    return rc;
}

/* Direct writes want memory to begin as far from a page's beginning as its place in the file. */
static void begin_stretch(rs_worker *worker, stretch *s, int64_t group)
{
    const rs_job *job = &worker->job;
    int64_t most = worker->run->plan->staging_bytes;
    int64_t lead = rs_file_lead(job->group_at[group - job->first_group]);
    *s = (stretch){.group = group, .bytes = worker->staging[1] + (most >= RS_DIRECT_WRITE ? lead : 0)};
}

resplit_status rs_spill_out(rs_worker *worker, const rs_view *slice, bool sum, uint64_t *fingerprint,
                            resplit_error *err)
{
    const rs_run *run = worker->run;
    const rs_problem *problem = run->problem;
    const rs_job *job = &worker->job;
    int64_t lo[RS_MAX_NDIM], hi[RS_MAX_NDIM], index[RS_MAX_NDIM];
    stretch s = {.group = -1};
    rs_layout_range(&problem->target, &job->wanted, lo, hi);
    memcpy(index, lo, sizeof index);
    do {
        int64_t number = rs_layout_block_number(&problem->target, index), group = rs_spill_group(run->plan, number);
        rs_box block = rs_layout_box(&problem->target, index), common;
        if (group < 0) {
            continue;
        }
        if (group != s.group) {
            RS_TRY(end_stretch(worker, &s, err));
            begin_stretch(worker, &s, group);
        }
        (void)rs_box_intersect(problem->ndim, &block, &job->wanted, &common);
        rs_view place = rs_view_of(problem->ndim, problem->target.order, &common, problem->itemsize, s.bytes + s.n);
        rs_view_copy(problem->ndim, problem->itemsize, &common, &place, slice);
        s.n += rs_box_volume(problem->ndim, &common) * problem->itemsize;
        if (sum && !rs_time_before((rs_time){0, number}, run->resumed.now)) { /* what is written counts as read */
            *fingerprint =
                rs_fingerprint_add(*fingerprint, rs_fingerprint_box(&run->weights, problem->ndim, &common, &place));
        }
    } while (rs_index_next(problem->ndim, lo, hi, index));
    return end_stretch(worker, &s, err);
}

resplit_status rs_spill_back(rs_worker *worker, char **data, resplit_error *err)
{
    rs_job *job = &worker->job;
    rs_layout layout;
    rs_box box;
    rs_block_file file = temp_file(worker->run->spilling, job->temp_at, job->temp_bytes, &layout, &box);
    rs_cursor moved = {.next = -1};
    RS_TRY(rs_file_read_box(&worker->io, &file, &box, worker->staging[0], data, &moved, err));
    job->cursor.seeks++;
    job->cursor.bytes += job->temp_bytes;
    return RESPLIT_OK;
}

/* ---- The temporary file ---------------------------------------------------------------------- */

static resplit_status make_file(rs_spilling *s, const char *folder, resplit_error *err)
{
    char path[RS_PATH_MAX];
    RS_TRY(rs_path_join(folder, "resplit-spill-XXXXXX", path, err));
#ifdef O_TMPFILE
    s->fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
#endif
    if (s->fd < 0) { /* not every file system has files without a name */
        s->fd = mkostemp(path, O_CLOEXEC);
        if (s->fd < 0) {
            return rs_fail_errno(err, errno, "cannot make a temporary file in '%s'", folder);
        }
        (void)unlink(path); /* gone when it is closed, whatever happens */
    }
    return RESPLIT_OK;
}

static resplit_status open_temp(rs_run *run, const char *folder, resplit_error *err)
{
    rs_spilling *s = run->spilling;
    struct statvfs fs;
    int64_t bytes = run->plan->predicted.temp_bytes, available;
    if (statvfs(folder, &fs) != 0) {
        return rs_fail_errno(err, errno, "cannot look at the file system of '%s'", folder);
    }
    if (rs_mul((int64_t)fs.f_bavail, (int64_t)fs.f_frsize, &available) && bytes > available) {
        return rs_fail(err, RESPLIT_EIO, "the temporary file needs %lld bytes, but only %lld are free in '%s'",
                       (long long)bytes, (long long)available, folder);
    }
    RS_TRY(make_file(s, folder, err));
    int why = bytes > 0 ? posix_fallocate(s->fd, 0, bytes) : 0;
    if (why != 0 && why != EOPNOTSUPP && why != EINVAL) {
        return rs_fail_errno(err, why, "cannot reserve %lld bytes for a temporary file in '%s'", (long long)bytes,
                             folder);
    }
#if defined(__linux__) && defined(O_DIRECT)
    if (run->sources.direct != RS_DIRECT_OFF
        && bytes >= RS_DIRECT_BLOCK) { /* the same file, without a name to open it by */
        char self[64];
        (void)snprintf(self, sizeof self, "/proc/self/fd/%d", s->fd);
        s->direct = open(self, O_RDWR | O_DIRECT | O_CLOEXEC);
    }
#endif
    return RESPLIT_OK;
}

resplit_status rs_run_spill(rs_run *run, const char *temp, resplit_error *err)
{
    rs_spilling s = {.fd = -1, .direct = -1};
    s.next = calloc((size_t)rs_max(1, run->plan->spill.n_groups), sizeof *s.next);
    resplit_status rc =
        s.next != NULL ? RESPLIT_OK : rs_fail_errno(err, ENOMEM, "cannot allocate the groups of a spill");
    run->spilling = &s;
    if (rc == RESPLIT_OK) {
        rs_spill_turn(run);
        rc = open_temp(run, temp, err);
    }
    if (rc == RESPLIT_OK) {
        rc = rs_run_steps(run, err);
    }
    if (s.direct >= 0) {
        (void)close(s.direct);
    }
    if (s.fd >= 0) {
        (void)close(s.fd);
    }
    free(s.next);
    run->spilling = NULL;
    return rc;
}
