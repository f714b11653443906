/* SPDX-License-Identifier: BSD-3-Clause */
/* copy_run.c - makes a target, or a partition of it: begins, runs, compares, publishes. */
#include "engine/output.h"
#include "engine/parts.h"
#include "engine/run.h"
#include "engine/unpack.h"

#include <string.h>
#include <time.h>

resplit_status rs_run_kind(rs_run *run, const char *temp, resplit_error *err)
{
    char beside[RS_PATH_MAX];
    switch (run->plan->kind) {
    case RS_PLAN_BUFFERS: return rs_run_steps(run, err);
    case RS_PLAN_COPY: return rs_run_blocks(run, err);
    case RS_PLAN_SPILL: break;
    }
    if (temp == NULL && run->target->path == NULL) {
        return rs_fail(err, RESPLIT_EINVAL, "a plan that spills needs a folder for its temporary file");
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

resplit_status rs_run_sync(const resplit_run_options *options, rs_sync *sync, resplit_error *err)
{
    rs_direct ignored;
    return read_options(options, &ignored, sync, err);
}

/* ---- The whole ----------------------------------------------------------------------------- */

/* What was read is what was written, however it was cut on the way. */
resplit_status rs_run_check(const rs_run *run, resplit_error *err)
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

/* The steps of the plan, into the target's files. */
static resplit_status run_steps(rs_run *run, const rs_output *output, const char *temp, bool anew, resplit_error *err)
{
    rs_shards shards = {.fd = -1};
    resplit_status rc = RESPLIT_OK;
    rs_files_init(&run->targets, run->target, output->data, true, run->sources.direct);
    if (rs_array_is_sharded(run->target)) {
        run->shards = &shards;
        rc = rs_shards_begin(&shards, run->problem, run->target, output->data, output->folder, anew, err);
    }
    if (rc == RESPLIT_OK && !rs_array_is_virtual(run->target)) {
        rc = rs_run_kind(run, temp, err);
    }
    resplit_status closed = rs_files_release(&run->targets, rc == RESPLIT_OK ? err : NULL);
    rc = rc == RESPLIT_OK ? closed : rc;
    if (rc == RESPLIT_OK && run->shards != NULL) {
        rc = rs_shards_finish(&shards, err);
    } else if (rc == RESPLIT_OK && !output->shared) {
        rc = rs_array_seal(run->target, output->data, (rs_file_range){NULL, NULL}, NULL, NULL, err);
    }
    rs_shards_end(&shards);
    return rc;
}

/* What comes when all is written. */
static resplit_status check_run(rs_run *run, const rs_output *output, resplit_error *err)
{
    static const int64_t first[RS_MAX_NDIM];
    RS_TRY(rs_run_check(run, err));
    if (run->stream
        != NULL) { /* also of a region, and when an earlier run had read it all: the checksum is at the end */
        RS_TRY(rs_stream_finish(run->stream, rs_files_bytes(&run->sources, first), run->options, err));
    }
    return (run->problem->seen & RS_UNPACKED_TARGET) != 0 ? rs_pack_target(
               run->problem, run->target, output->data, run->plan->memory, run->options, &run->actual, err)
                                                          : RESPLIT_OK;
}

/* What was copied as it is, or is virtual, was not looked at, and has the fingerprint that it had, if that is
   all of it. */
static uint64_t fingerprint_of(const rs_run *run)
{
    const rs_problem *problem = run->problem;
    if (problem->verbatim) {
        return run->target->info.n_elements == run->source->info.n_elements ? run->source->fingerprint : 0;
    }
    return changes_values(run->target) ? 0
                                       : rs_fingerprint_finish(rs_run_progress(run).fingerprint,
                                                               run->target->dtype.descr, problem->ndim, problem->shape);
}

static resplit_status complete(const rs_run *run, rs_output *output, const rs_member *member, resplit_error *err)
{
    rs_done done = {.fingerprint = rs_run_progress(run).fingerprint,
                    .verbatim = run->problem->verbatim,
                    .cost = run->actual,
                    .stored_read = run->stored_read,
                    .stored_written = run->stored_written,
                    .losses = run->losses};
    return rs_parts_complete(output, member, &done, err);
}

static resplit_status run_all(rs_run *run, rs_output *output, const rs_member *member, const char *temp, bool anew,
                              uint64_t *fingerprint, resplit_error *err)
{
    run->journal = &output->journal;
    if (member == NULL || run->problem->n_target > 0) { /* else it is an empty partition */
        RS_TRY(run_steps(run, output, temp, anew, err));
        RS_TRY(check_run(run, output, err));
    }
    if (member != NULL) {
        return complete(run, output, member, err);
    }
    *fingerprint = fingerprint_of(run);
    return rs_output_publish(output, *fingerprint, err);
}

static bool any_done(const rs_time now)
{
    return now.buffer > 0 || now.block > 0;
}

/*
 * Ends a run that failed: says in the journal how far it came, if it came far enough to go on from there. What may be
 * wrong (RESPLIT_EINTERNAL) is not kept, nor what came from memory, which may be another the next time.
 */
static void keep_what_is_done(const rs_run *run, rs_output *output, resplit_status rc, resplit_error *err)
{
    rs_progress now = rs_run_progress(run);
    bool keep = rc != RESPLIT_EINTERNAL && any_done(now.now) && output->journal.fd >= 0 && run->source->memory == NULL;
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

static void mix_text(const rs_text *text, uint64_t *hash)
{
    for (size_t i = 0; i < text->n; i++) {
        *hash = rs_mix(*hash, text->s[i]);
    }
}

/* Two targets that say different things of themselves are not the same job. */
static resplit_status mix_file(const char *name, const rs_text *text, void *payload, resplit_error *err)
{
    (void)name;
    (void)err;
    mix_text(text, payload);
    return RESPLIT_OK;
}

resplit_status rs_run_hash(const rs_problem *problem, const resplit_array *target, uint64_t *hash, resplit_error *err)
{
    rs_text identity = {0};
    *hash = rs_problem_hash(problem);
    mix_type(target, hash);
    resplit_status rc = rs_array_identity(target, &identity, err);
    mix_text(&identity, hash);
    rs_text_release(&identity);
    return rc == RESPLIT_OK ? rs_array_metadata(target, mix_file, hash, err) : rc;
}

/* A source that is compressed becomes one that is plain, or a stream of it. */
typedef struct opened {
    rs_unpacked unpacked;
    rs_stream stream;
} opened;

static resplit_status open_source(rs_run *run, opened *o, const char *temp, const rs_output *output, rs_direct direct,
                                  resplit_error *err)
{
    static const int64_t first[RS_MAX_NDIM];
    uint32_t how = run->problem->seen;
    const resplit_array *source = run->source;
    if ((how & RS_UNPACKED_SOURCE) != 0) {
        run->source = &o->unpacked.array;
        RS_TRY(
            rs_unpack_source(&o->unpacked, run->problem, source, temp, output->own, run->options, &run->actual, err));
    }
    if ((how & RS_STREAMED_SOURCE) != 0) {
        rs_array_plain(source, &o->unpacked.array);
        run->source = &o->unpacked.array;
        RS_TRY(rs_stream_open(&o->stream, source, first, err));
        run->stream = &o->stream;
    }
    rs_files_init(&run->sources, run->source, run->source->path, false, direct);
    return RESPLIT_OK;
}

static resplit_status begin_output(rs_output *output, const rs_run *run, const rs_member *member, const rs_text *text,
                                   rs_earlier *earlier, rs_progress *done, resplit_error *err)
{
    rs_job_id id = {.plan = rs_plan_hash(run->plan), .source = run->source->stamp};
    bool resume = run->options != NULL && run->options->resume;
    RS_TRY(rs_run_hash(run->problem, run->target, &id.problem, err));
    resplit_status rc =
        member != NULL ? rs_parts_begin(output, run->target, run->source, resume, &id, text, member, earlier, done, err)
                       : rs_output_begin(output, run->target, run->source, resume, &id, text, earlier, done, err);
    if (rc != RESPLIT_OK) {
        rs_output_abandon(output, true);
    }
    return rc;
}

void rs_run_tell(const rs_run *run, resplit_result *result)
{
    result->cost = run->actual;
    result->stored_read = run->stored_read;
    result->stored_written = run->stored_written;
    result->losses = run->losses;
    result->threads = run->n_workers;
    result->io = run->io_name;
}

resplit_status rs_run_see(uint32_t seen, const resplit_array **source, const resplit_array **target,
                          resplit_array *source_view, resplit_array *target_view, resplit_error *err)
{
    RS_TRY(rs_array_see_whole(source, (seen & RS_WHOLE_SOURCE) != 0, false, source_view, err));
    return rs_array_see_whole(target, (seen & RS_WHOLE_TARGET) != 0, true, target_view, err);
}

resplit_status rs_run_copy(const rs_problem *problem, const rs_plan *plan, const resplit_array *source,
                           const resplit_array *target, const rs_member *member, const char *temp,
                           const rs_text *plan_text, const resplit_run_options *options, resplit_result *result,
                           resplit_error *err)
{
    rs_output output = RS_NO_OUTPUT;
    opened o = {.unpacked = {.folder = ""}};
    resplit_array plain, source_view, target_view;
    RS_TRY(rs_run_see(problem->seen, &source, &target, &source_view, &target_view, err));
    if ((problem->seen & RS_UNPACKED_TARGET) != 0) {
        rs_array_plain(target, &plain);
        target = &plain;
    }
    rs_run run = {.problem = problem,
                  .plan = plan,
                  .source = source,
                  .target = target,
                  .options = options,
                  .sink = rs_copy_unit,
                  .long_sink = rs_copy_long,
                  .whole_sink = rs_copy_whole};
    rs_earlier earlier;
    rs_direct direct;
    double start = seconds_now();
    *result = (resplit_result){.seconds = 0};
    RS_TRY(read_options(options, &direct, &output.sync, err));
    RS_TRY(begin_output(&output, &run, member, plan_text, &earlier, &run.resumed, err));
    result->resumed = earlier != RS_EARLIER_NONE;
    resplit_status rc = RESPLIT_OK;
    if (earlier != RS_EARLIER_ALL) {
        run.now = run.resumed.now;
        rc = open_source(&run, &o, temp, &output, direct, err);
        if (rc == RESPLIT_OK) {
            rc = run_all(&run, &output, member, temp, earlier == RS_EARLIER_NONE, &result->fingerprint, err);
        }
        rs_unpack_end(&o.unpacked);
        if (run.stream != NULL) {
            rs_stream_close(&o.stream);
        }
        if (rc != RESPLIT_OK) {
            keep_what_is_done(&run, &output, rc, err);
        }
    }
    rs_run_tell(&run, result);
    result->seconds = seconds_now() - start;
    return rc;
}
