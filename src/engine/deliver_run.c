/* SPDX-License-Identifier: BSD-3-Clause */
/* deliver_run.c - a run whose sink is a function of the caller: blocks are made as for files, and handed over. */
#include "engine/block.h"

/* One at a time: what a caller does with them is seldom made for several threads. */
typedef struct delivery {
    resplit_take *take;
    void *payload;
    pthread_mutex_t lock;
} delivery;

static resplit_status give(const rs_worker *worker, const rs_box *box, const char *bytes, int64_t n, bool encoded,
                           resplit_error *err)
{
    delivery *d = worker->run->sink_state;
    int ndim = worker->run->problem->ndim;
    resplit_piece piece = {.bytes = bytes, .n_bytes = n, .encoded = encoded};
    for (int i = 0; i < ndim; i++) {
        piece.start[i] = box->lo[i];
        piece.shape[i] = box->hi[i] - box->lo[i];
    }
    (void)pthread_mutex_lock(&d->lock);
    int refused = d->take(&piece, d->payload);
    (void)pthread_mutex_unlock(&d->lock);
    return refused == 0 ? RESPLIT_OK : rs_fail(err, RESPLIT_ECANCELED, "cancelled by who takes the blocks");
}

static resplit_status give_unit(rs_worker *worker, const rs_step *step, const rs_box *box, char *memory,
                                resplit_error *err)
{
    const rs_problem *problem = worker->run->problem;
    rs_block_file none = {.layout = &problem->target, .stored = &step->stored};
    int64_t n = rs_box_volume(problem->ndim, box);
    if (n == 0) {
        return RESPLIT_OK;
    }
    rs_file_count(&none, box, &worker->cursor);
    return give(worker, box, memory, n * problem->itemsize, false, err);
}

static resplit_status give_whole(rs_worker *worker, const rs_step *step, const rs_piece *pieces, uint64_t *fingerprint,
                                 resplit_error *err)
{
    const rs_run *run = worker->run;
    char *staging = worker->staging[run->plan->kind == RS_PLAN_COPY ? 1 : 0];
    int64_t n;
    RS_TRY(rs_block_encode(worker, step, pieces, staging, fingerprint, &n, err));
    worker->cursor.stored += n;
    return give(worker, &step->stored, staging, n, true, err);
}

/* What is more than blocks, each of which says all of itself. */
static resplit_status check_deliverable(const rs_problem *problem, const resplit_array *target, resplit_error *err)
{
    static const int64_t first[RS_MAX_NDIM];
    uint32_t unpacked = problem->seen & ~(uint32_t)(RS_WHOLE_SOURCE | RS_WHOLE_TARGET);
    const char *why = unpacked != 0 ? "is, or comes from, an image that is compressed as a whole"
                      : rs_array_is_sharded(target) && !rs_array_is_sealed(target)  ? "has shards"
                      : rs_array_is_virtual(target)                                 ? "is virtual"
                      : problem->verbatim                                           ? "is copied as it is stored"
                      : target->cast.kind != RS_CAST_NONE                           ? "has another type than its source"
                      : target->encoded && rs_array_block_offset(target, first) > 0 ? "has headers that are encoded"
                                                                                    : NULL;
    return why == NULL ? RESPLIT_OK
                       : rs_fail(err, RESPLIT_EUNSUPPORTED,
                                 "blocks of a target that %s cannot be handed over: run the plan", why);
}

resplit_status rs_run_deliver(const rs_problem *problem, const rs_plan *plan, const resplit_array *source,
                              const resplit_array *target, const char *temp, resplit_take *take, void *payload,
                              const resplit_run_options *options, resplit_result *result, resplit_error *err)
{
    delivery d = {.take = take, .payload = payload};
    resplit_array source_view, target_view;
    RS_TRY(rs_run_see(problem->seen, &source, &target, &source_view, &target_view, err));
    rs_run run = {.problem = problem,
                  .plan = plan,
                  .source = source,
                  .target = target,
                  .options = options,
                  .sink = give_unit,
                  .whole_sink = give_whole,
                  .hands_over = true,
                  .sink_state = &d};
    rs_direct direct;
    RS_TRY(check_deliverable(problem, target, err));
    RS_TRY(rs_run_direct(options, &direct, err));
    (void)pthread_mutex_init(&d.lock, NULL);
    rs_files_init(&run.sources, source, source->path, false, direct);
    rs_files_init(&run.targets, target, target->path, true, direct); /* none is opened */
    resplit_status rc = rs_run_kind(&run, temp, err);
    (void)rs_files_release(&run.targets, NULL);
    (void)pthread_mutex_destroy(&d.lock);
    rs_run_tell(&run, result);
    return rc == RESPLIT_OK ? rs_run_check(&run, err) : rc;
}
