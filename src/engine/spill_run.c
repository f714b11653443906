/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spill_run.c - runs a spill (plan/strategy_spill.c): the steps of run.c, and a temporary file between two of them.
 *
 *     READ, the source   slices -> resident blocks; what belongs to others, group by group -> temporary file
 *     WRITE              resident blocks
 *     READ, group g      what slices left for it <- temporary file -> blocks of the group
 *     WRITE              blocks of the group ...
 *
 * Each group has a part of the file, and slices have stretches of it in their order. Nothing is indexed: both times
 * slices are handed out in the same order, and the places follow from their sizes. Where stretches are long they are
 * whole sectors, so that they pass by the page cache; between them are gaps then, of less than a sector each.
 *
 * Packed, a stretch goes behind the last one that its group has, and a table has its place.
 */
#include "engine/block.h"

#include "base/past.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum {
    PART = 1 << 20,
    OVERHEAD = 64, /* of a stretch that cannot be packed */
};

/* Where a packed stretch is. */
typedef struct stretch {
    int64_t at, n;
} stretch;

_Static_assert(sizeof(stretch) == RS_STRETCH_BYTES, "plans count on it");
_Static_assert(RS_SHEAF * sizeof(rs_job) + RS_CACHE_LINE <= RS_SHEAF_BYTES, "RS_SHEAF_BYTES is too small");

struct rs_spilling {
    int fd, direct; /* the temporary file, which has no name */
    int64_t grain;  /* stretches begin at multiples of this */
    /* with the run's lock: */
    int64_t *next;    /* where the next stretch of each group goes, and where it is read back from */
    int64_t *reading; /* slices of each group that are being read back */
    int64_t n_over;   /* groups that nobody needs any more */
    /* of a packed spill: */
    rs_chain chain;
    int64_t *end;   /* of what each group has: with the run's lock */
    stretch *table; /* by source block and group; each is written by one worker, and read when all was written */
};

/* ---- Handing out: with the lock -------------------------------------------------------------- */

static int64_t round_up(const rs_spilling *s, int64_t bytes)
{
    return (bytes + s->grain - 1) / s->grain * s->grain;
}

/* A part of the file is as long as the blocks of its group, and as slices can make it by rounding up. It begins
   at a sector: between two, its first stretch would lose the rest of the first, and its last one would reach
   into the next part. */
static int64_t group_begin(const rs_run *run, int64_t g)
{
    const rs_spill *spill = &run->plan->spill;
    int64_t bytes = rs_spill_bytes_before(run->problem, spill->resident + g * spill->group)
                    - rs_spill_bytes_before(run->problem, spill->resident);
    int64_t most = run->spilling->grain - 1 + (spill->packed ? OVERHEAD : 0);
    return round_up(run->spilling, bytes + g * spill->n_slices * most);
}

static stretch *stretch_of(const rs_run *run, const rs_step *step, int64_t group)
{
    int64_t number = rs_layout_block_number(&run->problem->source, step->block);
    return &run->spilling->table[number * run->plan->spill.n_groups + group];
}

void rs_spill_leave(rs_run *run, rs_job *job, int64_t group, int64_t bytes)
{
    rs_spilling *s = run->spilling;
    if (job->n_groups == 0) {
        job->first_group = group;
    }
    while (job->first_group + job->n_groups <= group) { /* groups between have nothing of this slice */
        int64_t *next = &s->next[job->first_group + job->n_groups];
        *next = round_up(s, *next);
        job->left[job->n_groups++] = (rs_left){.at = *next};
    }
    s->next[group] += bytes;
    job->left[group - job->first_group].bytes += bytes;
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
    if (job->temp_bytes > 0) {
        job->temp_at = round_up(run->spilling, *next);
        *next = job->temp_at + job->temp_bytes;
    }
}

void rs_spill_begin(rs_run *run, const rs_job *job)
{
    run->spilling->reading[job->step.group]++;
}

int64_t rs_spill_end(rs_run *run, const rs_job *job)
{
    rs_spilling *s = run->spilling;
    int64_t g = s->n_over, round = run->steps.group;
    s->reading[job->step.group]--;
    bool all_began = round > g || (round == g && run->step.kind == RS_STEP_WRITE);
    return all_began && s->reading[g] == 0 ? s->n_over++ : -1;
}

/* ---- Moving: without ------------------------------------------------------------------------- */

/* While others encode: at the end, all of the file at once, everybody would wait. Not every file system can do it. */
void rs_spill_drop(rs_run *run, int64_t group)
{
#if defined(__linux__) && defined(FALLOC_FL_PUNCH_HOLE)
    int64_t begin = group_begin(run, group), end = group_begin(run, group + 1);
    (void)fallocate(run->spilling->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, begin, end - begin);
#else
    (void)run;
    (void)group;
#endif
}

/* A file system may take the flag and refuse the transfer. */
static resplit_status move_some(rs_worker *worker, rs_transfer *list, int n, resplit_error *err)
{
    const rs_spilling *s = worker->run->spilling;
    rs_transfer again[RS_IO_DEPTH];
    resplit_error why;
    memcpy(again, list, (size_t)n * sizeof *list); /* a backend may change what it is given */
    resplit_status rc = rs_io_move(&worker->io, list, n, "temporary file", &why);
    if (rc != RESPLIT_EIO || why.sys_errno != EINVAL || again[0].fd == s->fd) {
        return rc == RESPLIT_OK ? RESPLIT_OK : rs_fail_with(err, &why);
    }
    for (int i = 0; i < n; i++) {
        again[i].fd = s->fd;
    }
    return rs_io_move(&worker->io, again, n, "temporary file", err);
}

/* Transfers that are made together. */
typedef struct batch {
    int n;
    rs_transfer list[RS_IO_DEPTH];
} batch;

static resplit_status flush(rs_worker *worker, batch *b, resplit_error *err)
{
    int n = b->n;
    b->n = 0;
    return n > 0 ? move_some(worker, b->list, n, err) : RESPLIT_OK;
}

/* Makes the last transfer longer, if this one goes on where it ends. */
static bool lengthen(batch *b, const rs_transfer *by)
{
    rs_transfer *last = b->n > 0 ? &b->list[b->n - 1] : NULL;
    if (last == NULL || last->at + last->n != by->at || last->memory + last->n != by->memory
        || last->n + by->n > PART) {
        return false;
    }
    last->least = by->least > 0 ? last->n + by->least : last->least;
    last->n += by->n;
    return true;
}

/* Whole sectors, where that is how stretches lie: what follows them in memory and in the file is nobody's. */
static resplit_status add(rs_worker *worker, batch *b, bool write, char *memory, int64_t n, int64_t at,
                          resplit_error *err)
{
    const rs_spilling *s = worker->run->spilling;
    bool direct = s->direct >= 0;
    int64_t end = direct ? round_up(s, n) : n;
    for (int64_t done = 0; done < end; done += PART) {
        rs_transfer part = {.fd = direct ? s->direct : s->fd,
                            .write = write,
                            .memory = memory + done,
                            .n = rs_min(PART, end - done),
                            .at = at + done};
        part.least = write ? 0 : rs_max(0, rs_min(part.n, n - done));
        if (lengthen(b, &part)) {
            continue;
        }
        if (b->n == RS_IO_DEPTH) {
            RS_TRY(flush(worker, b, err));
        }
        b->list[b->n++] = part;
    }
    return RESPLIT_OK;
}

/* A stretch that is packed, or unpacked, and the outcome. */
typedef struct packing {
    const rs_stone *stones;
    char *in, *out;
    int64_t n_in, n_out;
    resplit_error *err;
    resplit_status rc;
} packing;

static void pack(void *what, int by)
{
    packing *p = what;
    rs_coder *packer = p->stones[by].coder[RS_TO_PACK];
    rs_coder_fit(packer, p->n_in);
    p->rc = rs_encode(packer, p->in, p->out, &p->n_out, p->err);
}

static void unpack(void *what, int by)
{
    packing *p = what;
    rs_coder *unpacker = p->stones[by].coder[RS_TO_UNPACK];
    rs_coder_fit(unpacker, p->n_out);
    p->rc = rs_decode(unpacker, p->in, p->n_in, p->out, p->err);
}

/* Behind what its group has. `place`: where in the third area, which is full of what the batch has before that. */
static resplit_status pack_stretch(rs_worker *worker, batch *b, int64_t group, char *bytes, int64_t n, char **place,
                                   resplit_error *err)
{
    rs_run *run = worker->run;
    rs_spilling *s = run->spilling;
    stretch *noted = stretch_of(run, &worker->job.step, group);
    const char *end = worker->staging[2] + run->plan->staging_bytes;
    int64_t most = round_up(s, rs_chain_bound(&s->chain, n));
    if (end - *place < most) {
        RS_TRY(flush(worker, b, err));
        *place = worker->staging[2];
    }
    if (end - *place < most) {
        return rs_fail(err, RESPLIT_EINTERNAL, "staging of %lld bytes has no room for %lld packed ones",
                       (long long)run->plan->staging_bytes, (long long)most);
    }
    packing p = {.stones = run->stones, .in = bytes, .n_in = n, .out = *place, .err = err};
    rs_run_compute(worker, pack, &p);
    RS_TRY(p.rc);
    noted->n = p.n_out;
    (void)pthread_mutex_lock(&run->lock);
    noted->at = s->end[group];
    s->end[group] += round_up(s, noted->n);
    (void)pthread_mutex_unlock(&run->lock);
    *place += round_up(s, noted->n);
    return add(worker, b, true, p.out, noted->n, noted->at, err);
}

/* Of what a job leaves for a group, in the second area. Packed, it leaves that before it is written. */
static int64_t bytes_between(const rs_run *run, const rs_job *job, int64_t group)
{
    if (group < job->first_group || group >= job->first_group + job->n_groups) {
        return 0;
    }
    int64_t bytes = job->left[group - job->first_group].bytes;
    return run->plan->spill.packed ? bytes : round_up(run->spilling, bytes);
}

/* The same of the first n jobs at hand. */
static int64_t bytes_of_jobs(rs_worker *worker, int n, int64_t group)
{
    int64_t bytes = 0;
    for (int i = 0; i < n; i++) {
        bytes += bytes_between(worker->run, rs_worker_job(worker, i), group);
    }
    return bytes;
}

/* Groups that the jobs at hand leave something for: [first, end). */
static void groups_at_hand(rs_worker *worker, int64_t *first, int64_t *end)
{
    *first = INT64_MAX;
    *end = 0;
    for (int i = 0; i <= worker->n_more; i++) {
        const rs_job *job = rs_worker_job(worker, i);
        if (job->n_groups > 0) {
            *first = rs_min(*first, job->first_group);
            *end = rs_max(*end, job->first_group + job->n_groups);
        }
    }
    *first = rs_min(*first, *end);
}

/* Of the second area; behind that are the jobs of a sheaf, where slices are decoded. */
static int64_t gathering_room(const rs_run *run)
{
    return run->plan->staging_bytes - (run->problem->source.coding.staging > 0 ? RS_SHEAF_BYTES : 0);
}

/* How far the groups [from, end) fit the second area together. */
static int64_t fit(rs_worker *worker, int64_t from, int64_t end)
{
    int64_t to = from, room = gathering_room(worker->run);
    while (to < end && (room -= bytes_of_jobs(worker, 1 + worker->n_more, to)) >= 0) {
        to++;
    }
    return to;
}

/* What is written counts as read: of blocks that an earlier run has not. */
static uint64_t sum_left(const rs_run *run, const rs_box *blocks, const rs_box *wanted, const rs_view *slice)
{
    const rs_problem *problem = run->problem;
    int64_t index[RS_MAX_NDIM];
    uint64_t sum = 0;
    memcpy(index, blocks->lo, sizeof index);
    do {
        rs_box common;
        if (!rs_time_before((rs_time){0, rs_layout_block_number(&problem->target, index)}, run->resumed.now)) {
            (void)rs_layout_overlap(&problem->target, index, wanted, &common);
            sum = rs_fingerprint_add(sum, rs_fingerprint_box(&run->weights, problem->ndim, &common, slice));
        }
    } while (rs_index_next(problem->ndim, blocks->lo, blocks->hi, index));
    return sum;
}

/* Into the second area: group by group, those of [from, to), and in each stretch behind stretch, as they lie in the
   file. */
static void gather(rs_worker *worker, int which, const rs_view *slice, int64_t from, int64_t to, bool sum,
                   uint64_t *fingerprint)
{
    const rs_run *run = worker->run;
    const rs_layout *target = &run->problem->target;
    const rs_job *job = rs_worker_job(worker, which);
    int64_t lo[RS_MAX_NDIM], hi[RS_MAX_NDIM], index[RS_MAX_NDIM], at_group = from;
    char *begin = worker->staging[1], *at = begin + bytes_of_jobs(worker, which, from);
    rs_layout_range(target, &job->wanted, lo, hi);
    memcpy(index, lo, sizeof index);
    for (bool more = true; more;) {
        rs_box blocks, part;
        int64_t group = rs_run_group(run, index);
        more = rs_layout_take(target, lo, hi, rs_spill_end_of(run->plan, group), index, &blocks);
        if (group < from || group >= to) {
            continue;
        }
        while (at_group < group) {
            begin += bytes_of_jobs(worker, 1 + worker->n_more, at_group++);
            at = begin + bytes_of_jobs(worker, which, at_group);
        }
        int64_t volume = rs_layout_overlap_all(target, &blocks, &job->wanted, &part);
        rs_tray tray = {target, &part, at}; /* one block behind the other, and all of these are a box */
        rs_tray_fill(&tray, &part, slice);
        at += volume * target->itemsize;
        if (sum) {
            *fingerprint = rs_fingerprint_add(*fingerprint, sum_left(run, &blocks, &job->wanted, slice));
        }
    }
}

void rs_spill_gather(rs_worker *worker, int which, const rs_view *slice, bool sum, uint64_t *fingerprint)
{
    int64_t first, end;
    groups_at_hand(worker, &first, &end);
    gather(worker, which, slice, first, fit(worker, first, end), sum, fingerprint);
}

/* What was gathered, group by group: stretches of a group that follow one another are one transfer. */
static resplit_status write_out(rs_worker *worker, int64_t from, int64_t to, resplit_error *err)
{
    bool packed = worker->run->plan->spill.packed;
    char *bytes = worker->staging[1], *place = worker->staging[2];
    batch b = {.n = 0};
    for (int64_t g = from; g < to; g++) {
        for (int i = 0; i <= worker->n_more; i++) {
            const rs_job *job = rs_worker_job(worker, i);
            int64_t between = bytes_between(worker->run, job, g);
            if (between > 0) {
                const rs_left *left = &job->left[g - job->first_group];
                worker->spilled.seeks++;
                worker->spilled.bytes += left->bytes;
                RS_TRY(packed ? pack_stretch(worker, &b, g, bytes, left->bytes, &place, err)
                              : add(worker, &b, true, bytes, left->bytes, left->at, err));
            }
            bytes += between;
        }
    }
    return flush(worker, &b, err);
}

resplit_status rs_spill_out(rs_worker *worker, const rs_view *slice, bool sum, uint64_t *fingerprint,
                            resplit_error *err)
{
    int64_t from, end;
    groups_at_hand(worker, &from, &end);
    for (int64_t to; from < end; from = to) {
        to = fit(worker, from, end);
        if (to == from || (slice == NULL && to < end)) {
            return rs_fail(err, RESPLIT_EINTERNAL, "staging of %lld bytes has no room for what a slice leaves",
                           (long long)worker->run->plan->staging_bytes);
        }
        if (slice != NULL) {
            gather(worker, 0, slice, from, to, sum, fingerprint);
        }
        RS_TRY(write_out(worker, from, to, err));
    }
    return RESPLIT_OK;
}

/* At the end of the second area. Packed stretches lie where there was room for them, and are read one by one. */
rs_job *rs_spill_sheaf(const rs_worker *worker)
{
    const rs_plan *plan = worker->run->plan;
    bool fits = plan->kind == RS_PLAN_SPILL && plan->staging_bytes >= RS_SHEAF_BYTES;
    int64_t at = (plan->staging_bytes - RS_SHEAF_BYTES) / RS_CACHE_LINE * RS_CACHE_LINE;
    return fits && !plan->spill.packed ? (void *)(worker->staging[1] + at) : NULL;
}

bool rs_spill_has_room(const rs_worker *worker)
{
    const rs_run *run = worker->run;
    const rs_problem *problem = run->problem;
    if (worker->more == NULL || worker->n_more == RS_SHEAF) {
        return false;
    }
    if (worker->job.step.group < 0) { /* there is, for so many slices that are decoded */
        return worker->n_more + 1 < run->plan->spill.sheaf;
    }
    int64_t items = rs_min(rs_plan_slice_items(problem, run->plan), rs_layout_longest(&problem->source));
    int64_t room = run->plan->staging_bytes - round_up(run->spilling, worker->job.temp_bytes);
    for (int i = 0; i < worker->n_more; i++) {
        room -= round_up(run->spilling, worker->more[i].temp_bytes);
    }
    return room >= round_up(run->spilling, items * problem->itemsize);
}

/* Of one slice: there are no sheaves of these. */
static resplit_status back_packed(rs_worker *worker, char *data, resplit_error *err)
{
    const rs_job *job = &worker->job;
    stretch place = *stretch_of(worker->run, &job->step, job->step.group);
    packing p = {.stones = worker->run->stones,
                 .in = worker->staging[1],
                 .n_in = place.n,
                 .out = data,
                 .n_out = job->temp_bytes,
                 .err = err};
    batch b = {.n = 0};
    RS_TRY(add(worker, &b, false, p.in, place.n, place.at, err));
    RS_TRY(flush(worker, &b, err));
    rs_run_compute(worker, unpack, &p);
    return p.rc;
}

resplit_status rs_spill_back(rs_worker *worker, char *data[1 + RS_SHEAF], resplit_error *err)
{
    batch b = {.n = 0};
    bool packed = worker->run->plan->spill.packed;
    char *at = worker->staging[0];
    for (int i = 0; i <= worker->n_more; i++) {
        rs_job *job = rs_worker_job(worker, i);
        job->cursor.seeks++; /* each stretch is one, as it was when it was written */
        job->cursor.bytes += job->temp_bytes;
        data[i] = at;
        if (!packed) {
            RS_TRY(add(worker, &b, false, at, job->temp_bytes, job->temp_at, err));
        }
        at += round_up(worker->run->spilling, job->temp_bytes);
    }
    return packed ? back_packed(worker, data[0], err) : flush(worker, &b, err);
}

resplit_status rs_spill_coders(const rs_run *run, rs_stone *stone, resplit_error *err)
{
    int64_t n = rs_layout_longest(&run->problem->source) * run->problem->itemsize;
    if (!run->plan->spill.packed) {
        return RESPLIT_OK;
    }
    RS_TRY(rs_coder_new(&run->spilling->chain, n, true, &stone->coder[RS_TO_PACK], err));
    return rs_coder_new(&run->spilling->chain, n, false, &stone->coder[RS_TO_UNPACK], err);
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
#if defined(__linux__) && defined(O_DIRECT)
    if (s->grain > 1) { /* the same file, which has no name to open it by */
        char self[64];
        (void)snprintf(self, sizeof self, "/proc/self/fd/%d", s->fd);
        s->direct = open(self, O_RDWR | O_DIRECT | O_CLOEXEC);
        /* Where space is reserved, several may write at the same time; without it they are only slower. Packed, most of
           it would be for nothing. */
        if (!run->plan->spill.packed) {
            (void)fallocate(s->fd, 0, 0, group_begin(run, run->plan->spill.n_groups));
        }
    }
#endif
    return RESPLIT_OK;
}

static resplit_status make_groups(rs_run *run, resplit_error *err)
{
    rs_spilling *s = run->spilling;
    size_t n = (size_t)rs_max(1, run->plan->spill.n_groups);
    const rs_dtype *dtype = &run->source->dtype;
    s->next = calloc(n, 3 * sizeof *s->next);
    s->table = run->plan->spill.packed ? calloc(n * (size_t)run->problem->n_source, sizeof *s->table) : NULL;
    if (s->next == NULL || (run->plan->spill.packed && s->table == NULL)) {
        return rs_fail_errno(err, ENOMEM, "cannot allocate the groups of a spill");
    }
    s->reading = s->next + n;
    s->end = s->reading + n;
    rs_spill_turn(run);
    memcpy(s->end, s->next, n * sizeof *s->end);
    rs_element element = {dtype->kind, run->problem->itemsize, '|'};
    return run->plan->spill.packed ? rs_chain_for_temp(&element, &s->chain, err) : RESPLIT_OK;
}

/* Do stretches get whole sectors? One has to fit staging then; those of a decoded slice, all of them. */
static bool takes_sectors(const rs_run *run)
{
    const rs_problem *problem = run->problem;
    const rs_plan *plan = run->plan;
    int64_t bytes = plan->predicted.temp_bytes / rs_max(1, plan->spill.n_stretches);
    int64_t slice = rs_min(rs_plan_slice_items(problem, plan), rs_layout_longest(&problem->source)) * problem->itemsize;
    int64_t n = problem->source.coding.staging > 0 ? plan->spill.most_left : 1;
    return run->sources.direct != RS_DIRECT_OFF && bytes >= RS_LONG_STRETCH
           && plan->spill.sheaf * (slice + n * RS_SECTOR) <= gathering_room(run);
}

resplit_status rs_run_spill(rs_run *run, const char *temp, resplit_error *err)
{
    rs_spilling s = {.fd = -1, .direct = -1, .grain = takes_sectors(run) ? RS_SECTOR : 1};
    run->spilling = &s;
    resplit_status rc = make_groups(run, err);
    if (rc == RESPLIT_OK) {
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
    free(s.table);
    run->spilling = NULL;
    return rc;
}
