/* SPDX-License-Identifier: BSD-3-Clause */
/* copy_sink.c - a sink that is the target's files. */
#include "engine/block.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Puts the head of the block before its first elements, to be written together; or writes it, where there
   is no room. */
static resplit_status write_head(rs_worker *worker, const rs_step *step, const rs_block_file *file, char *memory,
                                 int64_t *joined, resplit_error *err)
{
    rs_text head = {0};
    resplit_status rc = rs_array_block_head(worker->run->target, step->index, &head, err);
    int64_t n = (int64_t)head.n;
    if (rc == RESPLIT_OK && n > 0 && n <= worker->before) {
        memcpy(memory - n, head.s, head.n);
        *joined = n;
    } else if (rc == RESPLIT_OK && n > 0) {
        rc = rs_file_write(file->fd, file->path, head.s, n, 0, err);
    }
    rs_text_release(&head);
    return rc;
}

/* What is full of the fill value need not be there; but a part of a block says nothing of the rest. */
static bool may_be_absent(const rs_run *run, const rs_step *step, int64_t n)
{
    const resplit_array *target = run->target;
    return target->fill != NULL && (!target->write_empty || n == 0) && step->opens && step->closes
           && n == rs_box_volume(run->problem->ndim, &step->box);
}

static bool is_filled(const rs_run *run, const char *memory, int64_t n)
{
    return rs_is_filled(memory, n * run->problem->itemsize, run->target->fill, run->problem->itemsize);
}

/* As good as written. */
static void pass_over(rs_worker *worker, const rs_step *step, const rs_box *box)
{
    rs_block_file none = {.layout = &worker->run->problem->target, .stored = &step->stored};
    if (rs_box_volume(worker->run->problem->ndim, box) > 0) {
        rs_file_count(&none, box, &worker->cursor);
    }
}

/* A block at the border may reach out of the array; its file is as long as the others. */
static resplit_status set_length(const rs_worker *worker, const rs_step *step, const rs_block_file *file,
                                 resplit_error *err)
{
    int64_t n = rs_files_bytes(&worker->run->targets, step->index);
    bool padded = false;
    for (int d = 0; d < worker->run->problem->ndim; d++) {
        padded = padded || step->stored.hi[d] > worker->run->problem->shape[d];
    }
    return !padded || ftruncate(file->fd, n) == 0
               ? RESPLIT_OK
               : rs_fail_errno(err, errno, "cannot make '%s' %lld bytes long", file->path, (long long)n);
}

/* In staging, where there is room for the longer type. What is written counts in the type that is planned with. */
static resplit_status write_cast(rs_worker *worker, const rs_block_file *file, const rs_box *box, char *memory,
                                 resplit_error *err)
{
    const rs_run *run = worker->run;
    rs_cursor *cursor = &worker->cursor;
    int64_t n = rs_box_volume(run->problem->ndim, box), before = cursor->bytes;
    rs_cast_run(&run->target->cast, memory, memory, n, &worker->losses);
    RS_TRY(rs_file_write_box(&worker->io, file, box, memory, 0, cursor, err));
    cursor->stored += cursor->bytes - before;
    cursor->bytes = before + n * run->problem->itemsize;
    return RESPLIT_OK;
}

/* A unit may come in slices: the head goes before the first slice of the block's first unit. */
resplit_status rs_copy_unit(rs_worker *worker, const rs_step *step, const rs_box *box, char *memory, resplit_error *err)
{
    rs_block_file file;
    resplit_status rc = RESPLIT_OK;
    bool last = true;
    int64_t head = 0;
    int64_t n = rs_box_volume(worker->run->problem->ndim, box);
    if (may_be_absent(worker->run, step, n) && is_filled(worker->run, memory, n)) {
        pass_over(worker, step, box);
        return RESPLIT_OK;
    }
    for (int d = 0; d < worker->run->problem->ndim; d++) {
        last = last && box->hi[d] == step->box.hi[d];
    }
    RS_TRY(rs_run_open_target(worker, step, &file, err));
    if (step->opens && worker->cursor.next < 0) {
        rc = set_length(worker, step, &file, err);
        if (rc == RESPLIT_OK) {
            rc = write_head(worker, step, &file, memory, &head, err);
        }
    }
    if (rc == RESPLIT_OK) {
        rc = rs_run_casts(worker->run) ? write_cast(worker, &file, box, memory, err)
                                       : rs_file_write_box(&worker->io, &file, box, memory, head, &worker->cursor, err);
    }
    rs_files_put(&worker->run->targets, &file, step->opens && step->closes && last);
    return rc;
}

/* ---- From elsewhere -------------------------------------------------------------------------- */

/* A unit as bytes of its file: the head of the block, if it is the first, and its elements. */
typedef struct unit_bytes {
    rs_run *run;
    const rs_step *step;
    const rs_piece *pieces;
    rs_text head;
    uint64_t fingerprint; /* with the lock of the run */
} unit_bytes;

/* Puts the elements of a range together, and sums them up. */
static void bring_range(const unit_bytes *unit, int64_t from, int64_t end, char *to, uint64_t *sum)
{
    const rs_problem *problem = unit->run->problem;
    rs_range range = {problem->ndim, problem->target.order, unit->step->box, from, end};
    rs_box box;
    while (rs_range_next(&range, &box)) {
        rs_run_gather(unit->run, unit->pieces, &box, to);
        rs_view view = rs_view_of(problem->ndim, problem->target.order, &box, problem->itemsize, to);
        *sum = rs_fingerprint_add(*sum, rs_fingerprint_box(&unit->run->weights, problem->ndim, &box, &view));
        to += rs_box_volume(problem->ndim, &box) * problem->itemsize;
    }
}

/* Puts elements together at *to, some at a time, so that they are still in a cache when they are summed up. Where
   memory is shed, that is not at *to: who serves the disk has these lines. */
static uint64_t bring_elements(const unit_bytes *unit, int64_t from, int64_t end, char **to)
{
    enum { AT_ONCE = 128 << 10, ASIDE = 32 << 10 };
    char aside[ASIDE];
    int64_t size = unit->run->problem->itemsize;
    bool sheds = unit->run->shedding.sheds && size <= ASIDE;
    uint64_t sum = 0;
    for (int64_t some = rs_max(1, (sheds ? ASIDE : AT_ONCE) / size); from < end; from += some) {
        int64_t stop = rs_min(end, from + some), n = (stop - from) * size;
        bring_range(unit, from, stop, sheds ? aside : *to, &sum);
        if (sheds) {
            rs_shed_copy(*to, aside, n);
        }
        *to += n;
    }
    return sum;
}

/* An element that does not end where bytes are asked for goes on behind them, and one that did not begin there begins
   before them: it was summed up with those. */
static void bring_unit(void *payload, int64_t from, int64_t n, char *to)
{
    unit_bytes *unit = payload;
    int64_t size = unit->run->problem->itemsize, head = (int64_t)unit->head.n;
    int64_t n_head = rs_max(0, rs_min(n, head - from));
    if (n_head > 0) {
        memcpy(to, unit->head.s + from, (size_t)n_head);
    }
    int64_t at = from + n_head - head, end = rs_ceil_div(at + n - n_head, size);
    char *place = to + n_head - at % size;
    if (at % size > 0) {
        (void)bring_elements(unit, at / size, at / size + 1, &place);
    }
    uint64_t sum = bring_elements(unit, rs_ceil_div(at, size), end, &place);
    (void)pthread_mutex_lock(&unit->run->lock);
    unit->fingerprint = rs_fingerprint_add(unit->fingerprint, sum);
    (void)pthread_mutex_unlock(&unit->run->lock);
}

static bool is_all_filled(const rs_run *run, const rs_piece *pieces)
{
    bool filled = true;
    for (; filled && pieces != NULL; pieces = pieces->next) {
        filled = is_filled(run, pieces->view.base, rs_box_volume(run->problem->ndim, &pieces->view.box));
    }
    return filled;
}

/* What stands before the elements goes with them, if it lies there; else it is written first. */
static resplit_status begin_block(rs_worker *worker, const rs_step *step, const rs_block_file *file, rs_text *head,
                                  resplit_error *err)
{
    RS_TRY(set_length(worker, step, file, err));
    RS_TRY(rs_array_block_head(worker->run->target, step->index, head, err));
    if (head->n > 0 && (int64_t)head->n != rs_file_place(file, &step->box)) {
        RS_TRY(rs_file_write(file->fd, file->path, head->s, (int64_t)head->n, 0, err));
        rs_text_release(head);
    }
    return RESPLIT_OK;
}

static resplit_status write_long(rs_worker *worker, const rs_block_file *file, unit_bytes *unit, resplit_error *err)
{
    if (unit->step->opens) {
        RS_TRY(begin_block(worker, unit->step, file, &unit->head, err));
    }
    return rs_file_write_long(&worker->run->together, &worker->io, rs_run_area(worker), file, &unit->step->box,
                              (int64_t)unit->head.n, (rs_bringer){bring_unit, unit}, &worker->cursor, err);
}

resplit_status rs_copy_long(rs_worker *worker, const rs_step *step, const rs_piece *pieces, uint64_t *fingerprint,
                            bool *done, resplit_error *err)
{
    rs_run *run = worker->run;
    rs_cursor before = worker->cursor;
    rs_block_file file;
    resplit_error why;
    unit_bytes unit = {.run = run, .step = step, .pieces = pieces};
    int64_t n = rs_box_volume(run->problem->ndim, &step->box), size = run->problem->itemsize;
    *done = false;
    if (n * size < RS_DIRECT_WRITE || size > RS_SECTOR || (may_be_absent(run, step, n) && is_all_filled(run, pieces))) {
        return RESPLIT_OK;
    }
    RS_TRY(rs_run_open_target(worker, step, &file, err));
    *done = rs_file_is_long(&file, &step->box);
    resplit_status rc = *done ? write_long(worker, &file, &unit, &why) : RESPLIT_OK;
    if (rc != RESPLIT_OK && rs_file_try_cached(&file, rc, &why)) {
        *done = false;
        worker->cursor = before;
        rc = RESPLIT_OK;
    }
    if (*done) {
        *fingerprint = unit.fingerprint;
    }
    rs_text_release(&unit.head);
    rs_files_put(&run->targets, &file, *done && step->opens && step->closes);
    return rc == RESPLIT_OK ? RESPLIT_OK : rs_fail_with(err, &why);
}

/* ---- Encoded --------------------------------------------------------------------------------- */

resplit_status rs_copy_whole(rs_worker *worker, const rs_step *step, const rs_piece *pieces, uint64_t *fingerprint,
                             resplit_error *err)
{
    char *staging = worker->staging[worker->run->plan->kind == RS_PLAN_COPY ? 1 : 0];
    return rs_block_write(worker, step, pieces, staging, fingerprint, err);
}
