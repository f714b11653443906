/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spill_run.c - runs a spill (plan/strategy_spill.c).
 *
 *     pass 1   source block -> staging -> slice by slice, target block by target block:
 *                  resident: into its memory
 *                  spilled:  appended to its group's buffer -> temporary file, when the buffer is full
 *     pass 2   for each group: the same slices and target blocks again, their bytes now from the temporary file
 *
 * Each group has a stretch of the file that is exactly as long as its blocks. Nothing is indexed: both passes walk the same
 * slices in the same order, so what was appended n-th is read n-th.
 */
#include "engine/run.h"

#include "geometry/slices.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

typedef struct group {
    char *buffer;   /* append_bytes of them */
    int64_t filled; /* bytes in it */
    int64_t at;     /* where in the temporary file it goes */
} group;

typedef struct spilling {
    rs_run *run;
    rs_worker *worker; /* the only one: both passes go forward in one order */
    const rs_problem *problem;
    const rs_spill *plan;
    const char *folder;
    int fd;        /* the temporary file, which has no name; -1: none */
    group *groups; /* of pass 1 */
    char **blocks; /* memory of the target blocks [first, first + n): the residents, or a group */
    int64_t first, n;
    int64_t next, end; /* pass 2: what is to be read of the temporary file for this group */
    int64_t ahead;     /* pass 2: bytes that were read and are not used yet, at `used` in staging[1] */
    int64_t used;
} spilling;

/* What becomes of the elements of `box`, which lie in target block `number`; `slice` is what staging holds (pass 1). */
typedef resplit_status spill_piece(spilling *s, int64_t number, const rs_box *box, const rs_view *slice,
                                   resplit_error *err);

/* ---- The temporary file -------------------------------------------------------------------- */

static resplit_status open_temp(spilling *s, resplit_error *err)
{
    char path[RS_PATH_MAX];
    struct statvfs fs;
    int64_t bytes = s->run->plan->predicted.temp_bytes, available;
    if (statvfs(s->folder, &fs) != 0) {
        return rs_fail_errno(err, errno, "cannot look at the file system of '%s'", s->folder);
    }
    if (rs_mul((int64_t)fs.f_bavail, (int64_t)fs.f_frsize, &available) && bytes > available) {
        return rs_fail(err, RESPLIT_EIO, "the temporary file needs %lld bytes, but only %lld are free in '%s'",
                       (long long)bytes, (long long)available, s->folder);
    }
    RS_TRY(rs_path_join(s->folder, "resplit-spill-XXXXXX", path, err));
#ifdef O_TMPFILE
    s->fd = open(s->folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
#endif
    if (s->fd < 0) { /* not every file system has files without a name */
        s->fd = mkostemp(path, O_CLOEXEC);
        if (s->fd < 0) {
            return rs_fail_errno(err, errno, "cannot make a temporary file in '%s'", s->folder);
        }
        (void)unlink(path); /* gone when it is closed, whatever happens */
    }
    int why = bytes > 0 ? posix_fallocate(s->fd, 0, bytes) : 0;
    if (why != 0 && why != EOPNOTSUPP && why != EINVAL) {
        return rs_fail_errno(err, why, "cannot reserve %lld bytes for a temporary file in '%s'", (long long)bytes,
                             s->folder);
    }
    return RESPLIT_OK;
}

static resplit_status flush(spilling *s, group *g, resplit_error *err)
{
    if (g->filled == 0) {
        return RESPLIT_OK;
    }
    RS_TRY(rs_file_write(s->fd, "temporary file", g->buffer, g->filled, g->at, err));
    s->run->actual.write_seeks++;
    s->run->actual.bytes_written += g->filled;
    s->run->actual.temp_bytes += g->filled;
    g->at += g->filled;
    g->filled = 0;
    return RESPLIT_OK;
}

/* Appends the elements of `box` to a group, in the target's order; as bytes, which may fall into two appends. */
static resplit_status append(spilling *s, group *g, const rs_box *box, const rs_view *slice, resplit_error *err)
{
    const rs_problem *problem = s->problem;
    char *bytes = s->worker->staging[1];
    int64_t n = rs_box_volume(problem->ndim, box) * problem->itemsize;
    rs_view place = rs_view_of(problem->ndim, problem->target.order, box, problem->itemsize, bytes);
    rs_view_copy(problem->ndim, problem->itemsize, box, &place, slice);
    while (n > 0) {
        int64_t fits = rs_min(n, s->plan->append_bytes - g->filled);
        memcpy(g->buffer + g->filled, bytes, (size_t)fits);
        g->filled += fits;
        bytes += fits;
        n -= fits;
        if (g->filled == s->plan->append_bytes) {
            RS_TRY(flush(s, g, err));
        }
    }
    return RESPLIT_OK;
}

/* The next n bytes of the temporary file, n being no more than a staging area. */
static resplit_status read_next(spilling *s, int64_t n, char **out, resplit_error *err)
{
    char *window = s->worker->staging[1];
    while (s->ahead < n) {
        memmove(window, window + s->used, (size_t)s->ahead);
        s->used = 0;
        int64_t ask = rs_min(s->run->plan->staging_bytes - s->ahead, s->end - s->next);
        ssize_t got = pread(s->fd, window + s->ahead, (size_t)ask, s->next);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return rs_fail_errno(err, got < 0 ? errno : EIO, "cannot read the temporary file back");
        }
        s->next += got;
        s->ahead += got;
        s->run->actual.bytes_read += got;
    }
    *out = window + s->used;
    s->used += n;
    s->ahead -= n;
    return RESPLIT_OK;
}

/* ---- Target blocks in memory --------------------------------------------------------------- */

static void index_of(const rs_problem *problem, int64_t number, int64_t *index)
{
    for (int d = problem->ndim - 1; d >= 0; d--) {
        index[d] = number % problem->target.axis[d].n;
        number /= problem->target.axis[d].n;
    }
}

static rs_box box_of(const rs_problem *problem, int64_t number)
{
    int64_t index[RS_MAX_NDIM];
    index_of(problem, number, index);
    return rs_layout_box(&problem->target, index);
}

static int64_t bytes_of(const rs_problem *problem, int64_t number)
{
    rs_box box = box_of(problem, number);
    return rs_box_volume(problem->ndim, &box) * problem->itemsize;
}

/* Gives all memory of the blocks back. */
static void drop_blocks(spilling *s)
{
    rs_budget *budget = s->run->budget;
    for (int64_t i = 0; s->blocks != NULL && i < s->n; i++) {
        rs_budget_release(budget, s->blocks[i], bytes_of(s->problem, s->first + i));
    }
    rs_budget_release(budget, s->blocks, s->n * (int64_t)sizeof(char *));
    s->blocks = NULL;
    s->run->held = 0;
}

/* Memory for the blocks [first, first + n), all of it now: they are complete only at the end of the pass. */
static resplit_status take_blocks(spilling *s, int64_t first, int64_t n, resplit_error *err)
{
    rs_run *run = s->run;
    void *memory;
    RS_TRY(rs_budget_alloc(run->budget, n * (int64_t)sizeof(char *), &memory, err));
    memset(memory, 0, (size_t)n * sizeof(char *));
    s->blocks = memory;
    s->first = first;
    s->n = n;
    for (int64_t i = 0; i < n; i++) {
        int64_t bytes = bytes_of(s->problem, first + i);
        RS_TRY(rs_budget_alloc(run->budget, bytes, &memory, err));
        s->blocks[i] = memory;
        run->held += bytes;
    }
    run->actual.held_bytes = rs_max(run->actual.held_bytes, run->held);
    return RESPLIT_OK;
}

/* Tells how far we are; a failure that came of it is ours. */
static resplit_status report(spilling *s, resplit_error *err)
{
    (void)pthread_mutex_lock(&s->run->lock);
    rs_run_report(s->worker);
    (void)pthread_mutex_unlock(&s->run->lock);
    return s->run->failed ? rs_fail_with(err, &s->run->why) : RESPLIT_OK;
}

static resplit_status write_block(spilling *s, const rs_step *step, char *memory, resplit_error *err)
{
    rs_run *run = s->run;
    const rs_problem *problem = run->problem;
    rs_time time = {0, rs_layout_block_number(&problem->target, step->block)};
    rs_view view = rs_view_of(problem->ndim, problem->target.order, &step->box, problem->itemsize, memory);
    if (rs_time_before(time, run->resumed.now)) {
        return RESPLIT_OK;
    }
    rs_outgoing *outgoing = rs_outgoing_add(run, step, time); /* there is room: one at a time */
    outgoing->fingerprint = rs_fingerprint_box(&run->weights, problem->ndim, &step->box, &view);
    s->worker->cursor = (rs_cursor){.next = -1};
    RS_TRY(run->sink(s->worker, step, &step->box, memory, err));
    run->actual.write_seeks += s->worker->cursor.seeks;
    run->actual.bytes_written += s->worker->cursor.bytes;
    run->done += s->worker->cursor.bytes;
    (void)pthread_mutex_lock(&run->lock);
    rs_outgoing_end(s->worker, outgoing);
    (void)pthread_mutex_unlock(&run->lock);
    return report(s, err);
}

static resplit_status write_blocks(spilling *s, resplit_error *err)
{
    for (int64_t i = 0; i < s->n; i++) {
        rs_step step = {.kind = RS_STEP_WRITE, .opens = true, .closes = true};
        index_of(s->problem, s->first + i, step.block);
        step.stored = rs_layout_stored(&s->problem->target, step.block);
        step.box = rs_layout_box(&s->problem->target, step.block);
        RS_TRY(write_block(s, &step, s->blocks[i], err));
    }
    return RESPLIT_OK;
}

/* ---- Walking ------------------------------------------------------------------------------- */

/* Every target block that meets `box`, in C order, with the elements they share. */
static resplit_status each_piece(spilling *s, const rs_box *box, const rs_view *slice, spill_piece *does,
                                 resplit_error *err)
{
    const rs_problem *problem = s->problem;
    int64_t lo[RS_MAX_NDIM], hi[RS_MAX_NDIM], index[RS_MAX_NDIM];
    rs_layout_range(&problem->target, box, lo, hi);
    memcpy(index, lo, sizeof index);
    do {
        rs_box block = rs_layout_box(&problem->target, index), common;
        (void)rs_box_intersect(problem->ndim, &block, box, &common);
        RS_TRY(does(s, rs_layout_block_number(&problem->target, index), &common, slice, err));
    } while (rs_index_next(problem->ndim, lo, hi, index));
    return RESPLIT_OK;
}

/* The slices of one source block, read (pass 1) or only walked again (pass 2). */
static resplit_status each_slice(spilling *s, const rs_step *step, const rs_block_file *file, spill_piece *does,
                                 rs_cursor *cursor, resplit_error *err)
{
    rs_run *run = s->run;
    const rs_problem *problem = s->problem;
    rs_slices slices;
    rs_box slice, box;
    const rs_box *access = problem->source.atomic ? &step->stored : &step->box;
    rs_slices_init(&slices, problem->ndim, problem->source.order, access, rs_run_staging_items(run));
    while (rs_slices_next(&slices, &slice)) {
        char *data = s->worker->staging[0];
        if (file != NULL) {
            RS_TRY(rs_file_read_box(&s->worker->io, file, &slice, data, &data, cursor, err));
        }
        rs_view view = rs_view_of(problem->ndim, problem->source.order, &slice, problem->itemsize, data);
        if (!rs_box_intersect(problem->ndim, &slice, &step->box, &box)) {
            continue;
        }
        RS_TRY(each_piece(s, &box, &view, does, err));
    }
    return RESPLIT_OK;
}

static resplit_status each_block(spilling *s, const rs_step *step, bool read, spill_piece *does, resplit_error *err)
{
    rs_run *run = s->run;
    rs_block_file file;
    rs_cursor cursor = {.next = -1};
    if (read) {
        RS_TRY(rs_run_open_source(s->worker, step, &file, err));
    }
    resplit_status rc = each_slice(s, step, read ? &file : NULL, does, &cursor, err);
    if (read) {
        rs_files_put(&run->sources, &file, true);
    }
    run->actual.read_seeks += cursor.seeks;
    run->actual.bytes_read += cursor.bytes;
    return rc == RESPLIT_OK ? report(s, err) : rc;
}

/* The source blocks that meet `box`, in C order. */
static resplit_status each_source(spilling *s, const rs_box *box, bool read, spill_piece *does, resplit_error *err)
{
    const rs_layout *source = &s->problem->source;
    int64_t lo[RS_MAX_NDIM] = {0}, hi[RS_MAX_NDIM] = {0};
    rs_step step = {.kind = RS_STEP_READ};
    rs_layout_range(source, box, lo, hi);
    memcpy(step.block, lo, sizeof step.block);
    do {
        step.stored = rs_layout_stored(source, step.block);
        step.box = rs_layout_box(source, step.block);
        RS_TRY(each_block(s, &step, read, does, err));
    } while (rs_index_next(source->ndim, lo, hi, step.block));
    return RESPLIT_OK;
}

/* ---- Pass 1 -------------------------------------------------------------------------------- */

static void put(spilling *s, int64_t number, const rs_box *box, const rs_view *from)
{
    const rs_problem *problem = s->problem;
    rs_box block = box_of(problem, number);
    rs_view place =
        rs_view_of(problem->ndim, problem->target.order, &block, problem->itemsize, s->blocks[number - s->first]);
    rs_view_copy(problem->ndim, problem->itemsize, box, &place, from);
}

static resplit_status keep_or_spill(spilling *s, int64_t number, const rs_box *box, const rs_view *slice,
                                    resplit_error *err)
{
    if (!rs_time_before((rs_time){0, number}, s->run->resumed.now)) { /* what is written counts as read */
        s->run->read_fingerprint = rs_fingerprint_add(
            s->run->read_fingerprint, rs_fingerprint_box(&s->run->weights, s->problem->ndim, box, slice));
    }
    if (number < s->plan->resident) {
        put(s, number, box, slice);
        return RESPLIT_OK;
    }
    return append(s, &s->groups[(number - s->plan->resident) / s->plan->group], box, slice, err);
}

static resplit_status take_groups(spilling *s, resplit_error *err)
{
    void *memory;
    int64_t n = s->plan->n_groups, resident = rs_spill_bytes_before(s->problem, s->plan->resident);
    RS_TRY(rs_budget_alloc(s->run->budget, n * (int64_t)sizeof(group), &memory, err));
    memset(memory, 0, (size_t)n * sizeof(group));
    s->groups = memory;
    for (int64_t g = 0; g < n; g++) {
        RS_TRY(rs_budget_alloc(s->run->budget, s->plan->append_bytes, &memory, err));
        s->groups[g].buffer = memory;
        s->groups[g].at = rs_spill_bytes_before(s->problem, s->plan->resident + g * s->plan->group) - resident;
    }
    return RESPLIT_OK;
}

static void drop_groups(spilling *s)
{
    for (int64_t g = 0; s->groups != NULL && g < s->plan->n_groups; g++) {
        rs_budget_release(s->run->budget, s->groups[g].buffer, s->plan->append_bytes);
    }
    rs_budget_release(s->run->budget, s->groups, s->plan->n_groups * (int64_t)sizeof(group));
    s->groups = NULL;
}

static resplit_status first_pass(spilling *s, resplit_error *err)
{
    rs_box all = {{0}, {0}};
    memcpy(all.hi, s->problem->shape, sizeof all.hi);
    RS_TRY(take_blocks(s, 0, s->plan->resident, err));
    RS_TRY(take_groups(s, err));
    RS_TRY(each_source(s, &all, true, keep_or_spill, err));
    for (int64_t g = 0; g < s->plan->n_groups; g++) {
        RS_TRY(flush(s, &s->groups[g], err));
    }
    drop_groups(s);
    return write_blocks(s, err);
}

/* ---- Pass 2 -------------------------------------------------------------------------------- */

static resplit_status fetch(spilling *s, int64_t number, const rs_box *box, const rs_view *slice, resplit_error *err)
{
    (void)slice;
    if (number < s->first || number >= s->first + s->n) {
        return RESPLIT_OK;
    }
    char *bytes = NULL;
    const rs_problem *problem = s->problem;
    RS_TRY(read_next(s, rs_box_volume(problem->ndim, box) * problem->itemsize, &bytes, err));
    rs_view from = rs_view_of(problem->ndim, problem->target.order, box, problem->itemsize, bytes);
    put(s, number, box, &from);
    return RESPLIT_OK;
}

/* The smallest box that holds the blocks [first, first + n) of the target. */
static rs_box bounds(const rs_problem *problem, int64_t first, int64_t n)
{
    rs_box a = box_of(problem, first), b = box_of(problem, first + n - 1);
    bool apart = false; /* along a slower axis: then whole faster axes lie between */
    for (int d = 0; d < problem->ndim; d++) {
        if (apart) {
            a.lo[d] = 0;
            b.hi[d] = problem->shape[d];
        }
        apart = apart || a.lo[d] != b.lo[d];
    }
    memcpy(a.hi, b.hi, sizeof a.hi);
    return a;
}

static resplit_status second_pass(spilling *s, resplit_error *err)
{
    int64_t resident = rs_spill_bytes_before(s->problem, s->plan->resident);
    for (int64_t g = 0; g < s->plan->n_groups; g++) {
        int64_t first = s->plan->resident + g * s->plan->group;
        int64_t n = rs_min(s->plan->group, s->problem->n_target - first);
        drop_blocks(s);
        RS_TRY(take_blocks(s, first, n, err));
        s->next = rs_spill_bytes_before(s->problem, first) - resident;
        s->end = rs_spill_bytes_before(s->problem, first + n) - resident;
        s->ahead = s->used = 0;
        s->run->actual.read_seeks++;
        rs_box box = bounds(s->problem, first, n);
        RS_TRY(each_source(s, &box, false, fetch, err));
        RS_TRY(write_blocks(s, err));
    }
    return RESPLIT_OK;
}

resplit_status rs_run_spill(rs_run *run, const char *temp, resplit_error *err)
{
    spilling s = {.run = run, .problem = run->problem, .plan = &run->plan->spill, .folder = temp, .fd = -1};
    resplit_status rc = rs_run_begin(run, err);
    if (rc == RESPLIT_OK) {
        s.worker = &run->workers[0];
        rc = open_temp(&s, err);
    }
    if (rc == RESPLIT_OK) {
        rc = first_pass(&s, err);
    }
    if (rc == RESPLIT_OK) {
        rc = second_pass(&s, err);
    }
    if (run->budget != NULL) {
        drop_groups(&s);
        drop_blocks(&s);
    }
    if (s.fd >= 0) {
        (void)close(s.fd);
    }
    rs_run_end(run);
    return rc;
}
