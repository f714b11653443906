/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hand_out.c - walks the steps of a plan of buffers, and hands out what is to be done next. Everything here is called
 * with the lock of the run.
 *
 *     step --> READ: slice after slice, when all units that it touches have their memory
 *          --> WRITE: its unit is put into the ring of outgoing ones
 */
#include "engine/block.h"

#include <stdlib.h>
#include <string.h>

int64_t rs_unit_key(const rs_problem *problem, const rs_box *unit)
{
    int64_t key = 0;
    for (int d = 0; d < problem->ndim; d++) {
        key = key * problem->shape[d] + unit->lo[d];
    }
    return key;
}

/* Heads are written together with the elements behind them, for which there must be room before these. */
static bool have_heads(const resplit_array *target)
{
    const int64_t first[RS_MAX_NDIM] = {0};
    rs_text head = {0};
    resplit_error why;
    bool none = rs_array_block_head(target, first, &head, &why) == RESPLIT_OK && head.n == 0;
    rs_text_release(&head);
    return !none;
}

bool rs_run_takes_trays(const rs_run *run)
{
    const rs_problem *problem = run->problem;
    int64_t meeting = problem->itemsize, n_units = 1;
    for (int d = 0; d < problem->ndim; d++) {
        int64_t buffer = rs_axis_longest(&run->plan->buffer[d]), unit = rs_axis_longest(&problem->target.axis[d]);
        meeting *= rs_min(buffer, rs_min(unit, rs_axis_longest(&problem->source.axis[d])));
        n_units *= rs_ceil_div(buffer, rs_max(1, unit));
    }
    /* of a run that goes on, some units of a buffer may be left out */
    return run->plan->kind == RS_PLAN_BUFFERS && run->plan->kept == 0 && !rs_run_is_resumed(run)
           && meeting <= RS_SHORT_MEETING && n_units >= RS_MANY_UNITS && !have_heads(run->target);
}

typedef enum handing { HANDED, BLOCKED, ENDED } handing;

static void hold(rs_run *run, int64_t volume)
{
    run->held += volume * run->problem->itemsize;
    run->actual.held_bytes = rs_max(run->actual.held_bytes, run->held);
}

static void begin_reading(rs_run *run)
{
    const rs_problem *problem = run->problem;
    const rs_step *step = &run->step;
    int64_t most = rs_run_staging_items(run), volume = rs_box_volume(problem->ndim, &step->box);
    const rs_box *access = problem->source.atomic ? &step->stored : &step->box;
    if (volume > 0) {
        if (run->source->encoded || rs_run_spills(run)) { /* decoded as a whole; read back in the same slices */
            most = rs_min(rs_plan_slice_items(problem, run->plan), rs_box_volume(problem->ndim, access));
        } else if (run->sources.direct != RS_DIRECT_OFF) {
            most = rs_file_slice_items(&problem->source, &step->stored, access, most);
        }
        rs_slices_init(&run->slices, problem->ndim, problem->source.order, access, most);
        run->next.kind = RS_JOB_READ;
        run->next.step = *step;
        run->next.buffer = run->steps.buffer;
        run->next.cursor = (rs_cursor){.next = -1};
        run->at = RS_AT_SLICE;
    }
    if (!rs_run_spills(run)) {
        hold(run, volume);
    }
}

static void next_step(rs_run *run)
{
    if (!rs_steps_next(&run->steps, &run->step)) {
        run->at = RS_AT_END;
    } else if (run->step.kind == RS_STEP_WRITE) {
        run->at = RS_AT_WRITE;
    } else if (run->step.group >= 0 && !run->turned) {
        run->at = RS_AT_TURN;
    } else {
        begin_reading(run);
    }
}

/* Nothing is read back before all of it was written. */
static handing turn(rs_run *run)
{
    if (run->n_reading > 0) {
        return BLOCKED;
    }
    rs_spill_turn(run);
    run->turned = true;
    run->at = RS_AT_STEP;
    begin_reading(run);
    return HANDED;
}

/* The next slice of the block, whose place in memory is looked for from now on. */
static void next_slice(rs_run *run)
{
    rs_job *job = &run->next;
    if (!rs_slices_next(&run->slices, &job->slice)) {
        run->at = RS_AT_STEP;
        return;
    }
    /* of a block that can only be read whole, some slices are not wanted, and are read all the same */
    job->any_wanted = rs_box_intersect(run->problem->ndim, &job->slice, &job->step.box, &job->wanted);
    if (job->any_wanted && job->step.group >= 0) { /* what is far from the group need not be looked at block by block */
        rs_box near = rs_steps_round(&run->steps), wanted = job->wanted;
        job->any_wanted = rs_box_intersect(run->problem->ndim, &wanted, &near, &job->wanted);
    }
    job->n_touched = 0;
    job->n_groups = job->temp_bytes = 0;
    run->unwanted = job->any_wanted;
    if (job->any_wanted) {
        rs_layout_range(&run->problem->target, &job->wanted, run->place_lo, run->place_hi);
        memcpy(run->place_at, run->place_lo, sizeof run->place_at);
    }
    run->at = RS_AT_PLACE;
}

/* Where the slice's part of target block `index` goes: the unit and the piece of it. */
static rs_box piece_of(const rs_run *run, const rs_box *unit)
{
    rs_box piece = *unit;
    if (!run->plan->whole_units) {
        (void)rs_box_intersect(run->problem->ndim, unit, &run->steps.buffer, &piece);
    }
    return piece;
}

/* Where in its file a unit begins, if it lies there in one piece: there memory should begin too. */
static int64_t lead_of(const rs_run *run, const rs_box *unit)
{
    const rs_problem *problem = run->problem;
    rs_box stored = rs_layout_stored(&problem->target, run->place_at);
    int64_t index[RS_MAX_NDIM] = {0};
    for (int d = 0; d < problem->ndim; d++) {
        index[d] = run->place_at[d] + problem->target_index[d];
    }
    rs_block_file file = {
        .layout = &problem->target, .stored = &stored, .offset = rs_array_block_offset(run->target, index)};
    return rs_file_lead(rs_file_place(&file, unit));
}

static bool remember(rs_job *job, rs_unit *unit, rs_piece *piece)
{
    if (job->n_touched < job->most_touched) {
        job->touched[job->n_touched++] = (rs_touch){unit, piece};
    }
    return true;
}

/* Elements of the slice that lie in the target block at hand. */
static int64_t shared_volume(const rs_run *run)
{
    rs_box common;
    return rs_layout_overlap(&run->problem->target, run->place_at, &run->next.wanted, &common);
}

/* Blocks that do not wait in memory now: they are spilled, or another group's. False: these were the last. */
static bool pass_by(rs_run *run, int64_t group)
{
    const rs_problem *problem = run->problem;
    rs_job *job = &run->next;
    rs_box blocks, part;
    bool more = rs_layout_take(&problem->target, run->place_lo, run->place_hi, rs_spill_end_of(run->plan, group),
                               run->place_at, &blocks);
    if (job->step.group < 0) {
        int64_t volume = rs_layout_overlap_all(&problem->target, &blocks, &job->wanted, &part);
        rs_spill_leave(run, job, group, volume * problem->itemsize);
        run->unwanted = false;
    }
    return more;
}

/*
 * The unit of the target block at hand, if it has its memory already, all of it. A map that becomes series meets every
 * series: this is asked millions of times, with the lock, so it makes no boxes.
 */
static rs_unit *find_waiting(const rs_run *run)
{
    const rs_problem *problem = run->problem;
    int64_t key = 0;
    for (int d = 0; d < problem->ndim; d++) {
        bool kept = (run->plan->kept >> d & 1) != 0;
        int64_t lo = rs_axis_span(&problem->target.axis[d], run->place_at[d]).lo;
        key = key * problem->shape[d] + (kept ? lo : rs_max(lo, run->steps.buffer.lo[d]));
    }
    return rs_pending_find(&run->pending, key);
}

/* Memory for a piece of a unit, unless it has it already. False: there is no room now. */
static bool find_room(rs_run *run, const rs_box *unit, const rs_box *piece, int64_t lead, rs_unit **at, rs_piece **to)
{
    resplit_error why;
    resplit_status rc = rs_pending_place(&run->pending, rs_unit_key(run->problem, unit), piece, lead, at, to, &why);
    if (rc == RESPLIT_OK && *to == NULL) {
        if (run->n_reading > 0 || run->n_outgoing > 0) {
            return false;
        }
        rc = rs_fail(&why, RESPLIT_EINTERNAL, "the plan promised to stay inside %lld bytes",
                     (long long)run->plan->memory);
    }
    if (rc != RESPLIT_OK) {
        rs_run_fail(run, &why);
    }
    return rc == RESPLIT_OK;
}

/* A new unit, or a piece of one, unless it has a place, or was written by an earlier run. False: there is
   no room now. */
static bool add_place(rs_run *run, rs_unit **at, rs_piece **to)
{
    if (*to != NULL) {
        return true;
    }
    rs_box unit = rs_steps_unit(&run->steps, run->place_at), piece = piece_of(run, &unit);
    if (rs_time_before(rs_steps_time(&run->steps, run->place_at, &unit), run->resumed.now)) {
        return true;
    }
    return find_room(run, &unit, &piece, lead_of(run, &unit), at, to);
}

/* False: there is no room now. */
static bool place_one(rs_run *run)
{
    rs_job *job = &run->next;
    rs_unit *at = run->plan->whole_units ? find_waiting(run) : NULL;
    rs_piece *to = at != NULL ? at->pieces : NULL;
    if (!add_place(run, &at, &to)) {
        return false;
    }
    if (at != NULL) {
        at->busy++;
        run->unwanted = false;
    }
    if (rs_run_spills(run)) {
        int64_t volume = shared_volume(run);
        hold(run, volume);
        job->temp_bytes += job->step.group >= 0 ? volume * run->problem->itemsize : 0;
    }
    return remember(job, at, to);
}

static int64_t count_units(const rs_run *run)
{
    int64_t lo[RS_MAX_NDIM], hi[RS_MAX_NDIM], n = 1;
    rs_layout_range(&run->problem->target, &run->steps.buffer, lo, hi);
    for (int d = 0; d < run->problem->ndim; d++) {
        n *= hi[d] - lo[d];
    }
    return n;
}

/* All units at once. False: there is no room now. */
static bool place_tray(rs_run *run)
{
    const rs_box *buffer = &run->steps.buffer;
    bool is_new = rs_pending_find(&run->pending, rs_unit_key(run->problem, buffer)) == NULL;
    rs_unit *tray;
    rs_piece *to;
    if (!find_room(run, buffer, buffer, 0, &tray, &to)) {
        return false;
    }
    if (is_new) {
        tray->n_writes = count_units(run);
    }
    tray->busy++;
    run->unwanted = false;
    return remember(&run->next, tray, to);
}

/* What is left of a job's memory stays its own. */
static void copy_job(rs_job *to, const rs_job *from)
{
    const rs_job own = *to;
    *to = *from;
    to->touched = own.touched;
    to->most_touched = own.most_touched;
    to->n_touched = (int)rs_min(from->n_touched, own.most_touched);
    to->left = own.left;
    if (own.left != NULL) { /* what is read back leaves nothing */
        memcpy(to->left, from->left, (size_t)from->n_groups * sizeof *to->left);
    }
    memcpy(to->touched, from->touched, (size_t)to->n_touched * sizeof *to->touched);
}

/* Memory for all of the slice; then it can be read. */
static handing place(rs_run *run, rs_job *out)
{
    bool more = run->next.any_wanted;
    while (more) {
        int64_t group = rs_run_group(run, run->place_at);
        if (group != run->next.step.group) {
            more = pass_by(run, group);
            continue;
        }
        if (!(run->trays ? place_tray(run) : place_one(run))) {
            return BLOCKED;
        }
        more = !run->trays && rs_index_next(run->problem->ndim, run->place_lo, run->place_hi, run->place_at);
    }
    run->at = RS_AT_SLICE;
    if (run->next.step.group >= 0) {
        rs_spill_fetch(run, &run->next);
    }
    if (run->unwanted || (run->next.step.group >= 0 && run->next.temp_bytes == 0)) {
        return ENDED;
    }
    copy_job(out, &run->next);
    run->next.turn++;
    run->n_reading++;
    if (out->step.group >= 0) {
        rs_spill_begin(run, out);
    }
    rs_block_file file = {.layout = &run->problem->source, .stored = &out->step.stored};
    run->next.cursor.next = rs_file_end(&file, &out->slice);
    return HANDED;
}

/* The unit of a WRITE step is on its way out, and written once the slices at work on it are copied. */
static handing send_out(rs_run *run)
{
    const rs_problem *problem = run->problem;
    const rs_step *step = &run->step;
    rs_time time = rs_steps_time(&run->steps, step->block, &step->box);
    int64_t volume = rs_box_volume(problem->ndim, &step->box);
    if (!rs_time_before(time, run->resumed.now)) {
        rs_outgoing *outgoing = rs_outgoing_add(run, step, time);
        if (outgoing == NULL) {
            return BLOCKED;
        }
        const rs_box *known_by = run->trays ? &run->steps.buffer : &step->box;
        outgoing->unit = volume > 0 ? rs_pending_find(&run->pending, rs_unit_key(problem, known_by)) : NULL;
        if (volume > 0 && outgoing->unit == NULL) {
            resplit_error why;
            (void)rs_fail(&why, RESPLIT_EINTERNAL, "a unit is to be written before anything of it was read");
            rs_run_fail(run, &why);
            return BLOCKED;
        }
        if (outgoing->unit != NULL) {
            outgoing->unit->outgoing = outgoing;
        }
        if (outgoing->unit == NULL || outgoing->unit->busy == 0) {
            outgoing->state = RS_READY;
        }
    }
    run->held -= volume * problem->itemsize;
    run->at = RS_AT_STEP;
    return HANDED;
}

/* Goes on through the steps until there is a slice to read. */
static handing next_read(rs_run *run, rs_job *out)
{
    while (!run->failed) {
        handing got = HANDED;
        switch (run->at) {
        case RS_AT_STEP: next_step(run); break;
        case RS_AT_TURN: got = turn(run); break;
        case RS_AT_SLICE: next_slice(run); break;
        case RS_AT_PLACE:
            got = place(run, out);
            if (got == HANDED) {
                return HANDED;
            }
            break;
        case RS_AT_WRITE: got = send_out(run); break;
        case RS_AT_END: return ENDED;
        }
        if (got == BLOCKED) {
            return BLOCKED;
        }
    }
    return BLOCKED;
}

/* Stretches of a group follow one another in the temporary file: a transfer for many of them. */
static void add_to_sheaf(rs_worker *worker)
{
    const rs_job *last = &worker->job;
    worker->n_more = 0;
    while (rs_spill_has_room(worker)) {
        rs_job *job = &worker->more[worker->n_more];
        job->left = last->step.group < 0 ? last->left + worker->run->plan->spill.n_groups : NULL;
        job->touched = last->touched + last->n_touched;
        job->most_touched = last->most_touched - last->n_touched;
        if (next_read(worker->run, job) != HANDED) {
            break;
        }
        worker->n_more++;
        last = job;
    }
}

/* The oldest write that is ready. */
static rs_outgoing *find_ready(const rs_run *run)
{
    for (int i = 0; i < run->n_outgoing; i++) {
        rs_outgoing *outgoing = &run->outgoing[(run->first_outgoing + i) % run->most_outgoing];
        if (outgoing->state == RS_READY) {
            return outgoing;
        }
    }
    return NULL;
}

/* A write, or a stint of one that is under way: who has a unit of its own fills its file forwards. */
static bool take_write(rs_run *run, rs_job *out)
{
    rs_outgoing *ready = find_ready(run);
    if (ready != NULL) {
        ready->state = RS_WRITING;
        out->kind = RS_JOB_WRITE;
        out->outgoing = ready;
    } else if (rs_together_take(&run->together, &out->stint)) {
        out->kind = RS_JOB_HELP;
    } else {
        return false;
    }
    run->n_writing++;
    return true;
}

/*
 * Something to do, or false when there is nothing more. All workers but one rather write than read, since that gives
 * memory back; the one reads on, since a disk that reads and writes at the same time is done sooner.
 */
bool rs_run_next_job(rs_worker *worker)
{
    rs_run *run = worker->run;
    rs_job *job = &worker->job;
    while (!run->failed) {
        if (run->n_writing < run->n_workers - 1 && take_write(run, job)) {
            return true;
        }
        handing got = next_read(run, job);
        if (got == HANDED) {
            add_to_sheaf(worker);
            return true;
        }
        if (take_write(run, job)) {
            return true;
        }
        if (run->failed || (got == ENDED && run->n_outgoing == 0 && run->n_reading == 0)) {
            break;
        }
        rs_run_wait(worker);
    }
    return false;
}
