/* SPDX-License-Identifier: BSD-3-Clause */
/* copy_run.c - a run whose sink is the target's files. */
#include "engine/block.h"
#include "engine/output.h"
#include "engine/unpack.h"

#include <errno.h>
#include <string.h>
#include <time.h>
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
static resplit_status write_unit(rs_worker *worker, const rs_step *step, const rs_box *box, char *memory,
                                 resplit_error *err)
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

static resplit_status write_whole(rs_worker *worker, const rs_step *step, const rs_piece *pieces, resplit_error *err)
{
    char *staging = worker->staging[worker->run->plan->kind == RS_PLAN_COPY ? 1 : 0];
    return rs_block_write(worker, step, pieces, staging, err);
}

static resplit_status run_kind(rs_run *run, const char *temp, resplit_error *err)
{
    char beside[RS_PATH_MAX];
    switch (run->plan->kind) {
    case RS_PLAN_BUFFERS: return rs_run_steps(run, err);
    case RS_PLAN_COPY: return rs_run_blocks(run, err);
    case RS_PLAN_SPILL: break;
    }
    if (temp == NULL) {
        RS_TRY(rs_path_parent(run->target->path, beside, err));
        temp = beside;
    }
    return rs_run_spill(run, temp, err);
}

/* ---- Options ------------------------------------------------------------------------------- */

/* The number of a word in a list that ends with NULL; the first is also what no word means. */
static resplit_status find_word(const char *what, const char *word, const char *const *words, int *out,
                                resplit_error *err)
{
    *out = 0;
    for (int i = 0; word != NULL && words[i] != NULL; i++) {
        if (strcmp(words[i], word) == 0) {
            *out = i;
            return RESPLIT_OK;
        }
    }
    return word == NULL ? RESPLIT_OK
                        : rs_fail(err, RESPLIT_EINVAL, "%s cannot be '%s': choose %s, %s or %s", what, word, words[0],
                                  words[1], words[2]);
}

static resplit_status read_options(const resplit_run_options *options, rs_direct *direct, rs_sync *sync,
                                   resplit_error *err)
{
    static const char *const directs[] = {"auto", "on", "off", NULL}, *const syncs[] = {"end", "none", "each", NULL};
    static const rs_sync sync_of[] = {RS_SYNC_END, RS_SYNC_NONE, RS_SYNC_EACH};
    int a = 0, b = 0;
    RS_TRY(find_word("direct", options != NULL ? options->direct : NULL, directs, &a, err));
    RS_TRY(find_word("sync", options != NULL ? options->sync : NULL, syncs, &b, err));
    *direct = (rs_direct)a;
    *sync = sync_of[b];
    return RESPLIT_OK;
}

resplit_status rs_run_direct(const resplit_run_options *options, rs_direct *direct, resplit_error *err)
{
    rs_sync ignored;
    return read_options(options, direct, &ignored, err);
}

/* ---- The whole ----------------------------------------------------------------------------- */

/* What was read is what was written, however it was cut on the way. */
static resplit_status check_fingerprint(const rs_run *run, resplit_error *err)
{
    return run->read_fingerprint == run->written_fingerprint
               ? RESPLIT_OK
               : rs_fail(err, RESPLIT_EINTERNAL,
                         "what was written is not what was read (fingerprints %016llx and %016llx): the memory of this "
                         "machine, or resplit, is at fault; nothing was published",
                         (unsigned long long)run->read_fingerprint, (unsigned long long)run->written_fingerprint);
}

/* A cast, or a codec that loses something: then values were summed up that are not in the target. */
static bool changes_values(const resplit_array *target)
{
    return target->cast.kind == RS_CAST_VALUES || !rs_chain_is_lossless(&target->chain);
}

static resplit_status run_all(rs_run *run, rs_output *output, const char *temp, const rs_progress *done,
                              uint64_t *fingerprint, resplit_error *err)
{
    run->journal = &output->journal;
    run->resumed = *done;
    run->now = done->now;
    rs_files_init(&run->targets, run->target, output->data, true, run->sources.direct);
    resplit_status rc = RESPLIT_OK;
    rs_shards shards = {.fd = -1};
    if (rs_array_is_sharded(run->target)) {
        run->shards = &shards;
        rc = rs_shards_begin(&shards, run->target, output->data, output->lock, err);
    }
    if (rc == RESPLIT_OK) {
        rc = run_kind(run, temp, err);
    }
    resplit_status closed = rs_files_release(&run->targets, rc == RESPLIT_OK ? err : NULL);
    if (rc == RESPLIT_OK) {
        rc = closed;
    }
    if (rc == RESPLIT_OK) {
        rc = run->shards != NULL ? rs_shards_finish(&shards, err)
                                 : rs_array_seal(run->target, output->data, NULL, NULL, err);
    }
    rs_shards_end(&shards);
    if (rc == RESPLIT_OK) {
        rc = check_fingerprint(run, err);
    }
    if (rc == RESPLIT_OK && run->stream != NULL && run->problem->n_elements == run->source->info.n_elements) {
        static const int64_t first[RS_MAX_NDIM]; /* also when an earlier run had read it: it did not see the end */
        rc = rs_stream_finish(run->stream, rs_files_bytes(&run->sources, first), err);
    }
    if (rc == RESPLIT_OK && (run->problem->unpacked & RS_UNPACKED_TARGET) != 0) {
        rc =
            rs_pack_target(run->problem, run->target, output->data, run->plan->memory, run->options, &run->actual, err);
    }
    /* what was copied as it is was not looked at */
    *fingerprint = changes_values(run->target) && !run->problem->verbatim ? 0
                   : run->problem->verbatim
                       ? run->source->fingerprint
                       : rs_fingerprint_finish(rs_run_progress(run).fingerprint, run->target->dtype.descr,
                                               run->problem->ndim, run->problem->shape);
    return rc == RESPLIT_OK ? rs_output_publish(output, *fingerprint, err) : rc;
}

static bool any_done(const rs_time now)
{
    return now.buffer > 0 || now.block > 0;
}

/*
 * Ends a run that failed: says in the journal how far it came, if it came far enough to go on from there. What may be wrong
 * (RESPLIT_EINTERNAL) is not kept.
 */
static void keep_what_is_done(const rs_run *run, rs_output *output, resplit_status rc, resplit_error *err)
{
    rs_progress now = rs_run_progress(run);
    bool keep = rc != RESPLIT_EINTERNAL && any_done(now.now) && output->journal.fd >= 0;
    if (keep && rs_time_before(output->journal.noted, now.now)) {
        (void)rs_journal_note(&output->journal, &now, NULL);
    }
    keep = keep && any_done(output->journal.noted);
    if (err != NULL && keep) {
        err->resumable = true;
    }
    rs_output_abandon(output, keep);
}

static double seconds_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Nor are two that have different types; without a cast the arrays have the same. */
static void mix_type(const resplit_array *target, uint64_t *hash)
{
    for (const char *c = target->dtype.descr; target->cast.kind != RS_CAST_NONE && *c != '\0'; c++) {
        *hash = rs_mix(*hash, *c);
    }
}

/* Two targets that say different things of themselves are not the same job. */
static resplit_status mix_file(const char *name, const rs_text *text, void *payload, resplit_error *err)
{
    uint64_t *hash = payload;
    (void)name;
    (void)err;
    for (size_t i = 0; i < text->n; i++) {
        *hash = rs_mix(*hash, text->s[i]);
    }
    return RESPLIT_OK;
}

resplit_status rs_run_hash(const rs_problem *problem, const resplit_array *target, uint64_t *hash, resplit_error *err)
{
    *hash = rs_problem_hash(problem);
    mix_type(target, hash);
    return rs_array_metadata(target, mix_file, hash, err);
}

resplit_status rs_run_copy(const rs_problem *problem, const rs_plan *plan, const resplit_array *source,
                           const resplit_array *target, const char *temp, const rs_text *plan_text,
                           const resplit_run_options *options, resplit_result *result, resplit_error *err)
{
    rs_output output = {.lock = -1, .journal = {.fd = -1}};
    rs_unpacked unpacked = {.folder = ""};
    rs_stream stream;
    resplit_array plain;
    if ((problem->unpacked & RS_UNPACKED_TARGET) != 0) {
        rs_array_plain(target, &plain);
        target = &plain;
    }
    rs_run run = {.problem = problem,
                  .plan = plan,
                  .source = source,
                  .target = target,
                  .options = options,
                  .sink = write_unit,
                  .whole_sink = write_whole};
    rs_job_id id = {.plan = rs_plan_hash(plan), .source = source->stamp};
    rs_progress done;
    rs_earlier earlier;
    rs_direct direct;
    double start = seconds_now();
    *result = (resplit_result){.seconds = 0};
    RS_TRY(read_options(options, &direct, &output.sync, err));
    RS_TRY(rs_run_hash(problem, target, &id.problem, err));
    resplit_status rc = rs_output_begin(&output, target, source, options != NULL && options->resume, &id, plan_text,
                                        &earlier, &done, err);
    if (rc != RESPLIT_OK) {
        rs_output_abandon(&output, true);
        return rc;
    }
    result->resumed = earlier != RS_EARLIER_NONE;
    if (earlier != RS_EARLIER_ALL) {
        resplit_cost unpacking = {0};
        run.resumed = done; /* whatever happens until it goes on */
        run.now = done.now;
        if ((problem->unpacked & RS_UNPACKED_SOURCE) != 0) {
            rc = rs_unpack_source(&unpacked, problem, source, temp, output.part, options, &unpacking, err);
            run.source = &unpacked.array;
        }
        run.actual = unpacking;
        if ((problem->unpacked & RS_STREAMED_SOURCE) != 0) {
            rs_array_plain(source, &unpacked.array);
            run.source = &unpacked.array;
            run.stream = &stream;
            rc = rs_stream_open(&stream, source->path, err);
        }
        if (rc == RESPLIT_OK) {
            rs_files_init(&run.sources, run.source, run.source->path, false, direct);
            rc = run_all(&run, &output, temp, &done, &result->fingerprint, err);
        }
        rs_unpack_end(&unpacked);
        if (run.stream != NULL) {
            rs_stream_close(&stream);
        }
        if (rc != RESPLIT_OK) {
            keep_what_is_done(&run, &output, rc, err);
        }
    }
    result->cost = run.actual;
    result->stored_read = run.stored_read;
    result->stored_written = run.stored_written;
    result->losses = run.losses;
    result->threads = run.n_workers;
    result->io = run.io_name;
    result->seconds = seconds_now() - start;
    return rc;
}
