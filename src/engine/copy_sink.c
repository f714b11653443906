/* SPDX-License-Identifier: BSD-3-Clause */
/* copy_sink.c - a sink that is the target's files. */
#include "engine/block.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Puts the head of the block before its first elements, to be written together; or writes it, where there is no room. */
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
static bool is_empty_block(const rs_run *run, const rs_step *step, const rs_box *box, const char *memory)
{
    const rs_problem *problem = run->problem;
    const resplit_array *target = run->target;
    int64_t n = rs_box_volume(problem->ndim, box);
    if (target->fill == NULL || (target->write_empty && n > 0)) {
        return false;
    }
    return step->opens && step->closes && n == rs_box_volume(problem->ndim, &step->box)
           && rs_is_filled(memory, n * problem->itemsize, target->fill, problem->itemsize);
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
    if (is_empty_block(worker->run, step, box, memory)) {
        rs_block_file none = {.layout = &worker->run->problem->target, .stored = &step->stored};
        if (rs_box_volume(worker->run->problem->ndim, box) > 0) {
            rs_file_count(&none, box, &worker->cursor); /* as good as written */
        }
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

resplit_status rs_copy_whole(rs_worker *worker, const rs_step *step, const rs_piece *pieces, resplit_error *err)
{
    char *staging = worker->staging[worker->run->plan->kind == RS_PLAN_COPY ? 1 : 0];
    return rs_block_write(worker, step, pieces, staging, err);
}
