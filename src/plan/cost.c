/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cost.c - what a plan costs, exactly and without walking it. Proofs are in docs/algorithm.md, sections 3 and 4.
 *
 * Seeks. Buffer borders cut blocks into pieces; a piece that is a whole block long is "full". With `full` and `part`
 * counted along each axis, slowest first,
 *
 *     runs = prod(full) + sum over t of  prod(extent before t) * part[t] * prod(full after t)
 *
 * Memory: held.h for the data, and what an engine needs beside it.
 */
#include "base/budget.h"
#include "plan/device.h"
#include "plan/held.h"
#include "plan/plan.h"

#include <inttypes.h>

/* ---- Seeks --------------------------------------------------------------------------------- */

/* Adds the pieces of the blocks [from, to), `times` over. */
static void add_pieces(const rs_axis *blocks, const rs_axis *buffers, int64_t from, int64_t to, int64_t times,
                       rs_pieces *count)
{
    int64_t first = 0, last = 0; /* buffers of a block */
    for (int64_t i = from; i < to; i++) {
        rs_span seen = rs_axis_span(blocks, i), stored = rs_axis_stored(blocks, i);
        if (buffers != NULL) {
            first = rs_axis_find_from(buffers, seen.lo, last);
            last = rs_axis_find_from(buffers, seen.hi - 1, first);
        }
        int64_t n = last - first + 1;
        bool full = n == 1 && seen.lo == stored.lo && seen.hi == stored.hi;
        *(full ? &count->full : &count->part) += n * times;
        count->touched += n * (stored.hi - stored.lo) * times;
    }
}

rs_pieces rs_pieces_count(const rs_axis *blocks, const rs_axis *buffers)
{
    rs_pieces count = {0};
    int64_t n = blocks->n, period = 1, from = 1;
    if (buffers != NULL) {
        period = rs_axis_period(blocks, buffers);
    } else if (blocks->step == 0) {
        period = 0;
    }
    add_pieces(blocks, buffers, 0, 1, 1, &count);
    if (period > 0 && (n - 1) / period > 4) { /* whole periods at once, but for the last two */
        int64_t times = (n - 1) / period - 2;
        add_pieces(blocks, buffers, 1, 1 + period, times, &count);
        from = 1 + times * period;
    }
    add_pieces(blocks, buffers, from, n, 1, &count);
    return count;
}

int64_t rs_pieces_runs(const rs_layout *layout, const rs_pieces *pieces)
{
    int64_t full = 1, runs = 0; /* of the axes faster than the one at hand */
    if (layout->in_memory) {
        return 0;
    }
    if (layout->atomic) {
        for (int d = 0; d < layout->ndim; d++) {
            full *= pieces[d].full + pieces[d].part;
        }
        return full;
    }
    for (int i = layout->ndim - 1; i >= 0; i--) {
        int d = layout->order[i];
        runs = layout->axis[d].extent * runs + pieces[d].part * full;
        full *= pieces[d].full;
    }
    return runs + full;
}

int64_t rs_pieces_bytes(const rs_layout *layout, const rs_pieces *pieces)
{
    int64_t bytes = layout->in_memory ? 0 : layout->itemsize;
    for (int d = 0; d < layout->ndim; d++) {
        bytes = rs_mul_most(bytes, layout->atomic ? pieces[d].touched : layout->axis[d].extent);
    }
    return bytes;
}

/* Fills seeks and bytes; along axes in `uncut` the buffers do not cut. */
static void count_access(const rs_layout *layout, const rs_plan *plan, uint32_t uncut, int64_t *seeks, int64_t *bytes)
{
    rs_pieces pieces[RS_MAX_NDIM];
    bool empty = false; /* nothing is asked for, so nothing is touched */
    for (int d = 0; d < layout->ndim; d++) {
        empty = empty || layout->axis[d].extent == 0;
        pieces[d] = rs_pieces_count(&layout->axis[d], (uncut >> d & 1) != 0 ? NULL : &plan->buffer[d]);
    }
    *bytes = empty ? 0 : rs_pieces_bytes(layout, pieces);
    *seeks = empty ? 0 : rs_pieces_runs(layout, pieces);
}

/* ---- What blocks allow --------------------------------------------------------------------- */

/* Buffers that are stretches of the source's order, visited in that order: (1, .., 1, n, all, .., all). */
static bool is_forward(const rs_problem *problem, const rs_plan *plan)
{
    bool inside = false; /* an axis faster than this one is cut */
    for (int i = problem->ndim - 1; i >= 0; i--) {
        int d = problem->source.order[i];
        if (plan->loop[i] != d || (inside && rs_axis_longest(&plan->buffer[d]) > 1)) {
            return false;
        }
        inside = inside || plan->buffer[d].n > 1;
    }
    return true;
}

bool rs_plan_is_allowed(const rs_problem *problem, const rs_plan *plan)
{
    for (int d = 0; d < problem->ndim; d++) {
        bool kept = (plan->kept >> d & 1) != 0;
        if (problem->target.atomic && !kept && rs_plan_leftover(problem, plan, d) > 0) {
            return false;
        }
    }
    if (!problem->source.sequential) {
        return true;
    }
    bool cut = false; /* a source block is read in more than one buffer */
    for (int d = 0; d < problem->ndim; d++) {
        rs_pieces pieces = rs_pieces_count(&problem->source.axis[d], &plan->buffer[d]);
        cut = cut || pieces.full + pieces.part > problem->source.axis[d].n;
    }
    return !cut || (problem->n_source == 1 && is_forward(problem, plan));
}

/* ---- Held elements ------------------------------------------------------------------------- */

/* Most elements held at once; INT64_MAX without memory to find out. */
static int64_t count_held(const rs_problem *problem, const rs_plan *plan, rs_storage storage)
{
    rs_stretches stretches[RS_MAX_NDIM] = {{0}};
    const rs_stretches *loops[RS_MAX_NDIM] = {0};
    int64_t extents[RS_MAX_NDIM], held = INT64_MAX;
    bool ok = true;
    for (int i = 0; ok && i < plan->ndim; i++) {
        int d = plan->loop[i];
        bool kept = (plan->kept >> d & 1) != 0;
        ok = rs_stretches_make(&plan->buffer[d], &problem->target.axis[d], kept, storage, &stretches[i]);
        loops[i] = &stretches[i];
        extents[i] = problem->shape[d];
    }
    if (ok) {
        held = rs_held_peak(plan->ndim, loops, extents);
    }
    for (int i = 0; i < plan->ndim; i++) {
        rs_stretches_release(&stretches[i]);
    }
    return held;
}

/* Of the blocks [from, to): along each block, the last buffer border inside it leaves most. */
static int64_t most_left(const rs_axis *buffers, const rs_axis *target, int64_t from, int64_t to)
{
    int64_t most = 0;
    for (int64_t i = rs_max(0, from); i < to; i++) {
        rs_span span = rs_axis_span(target, i);
        if (span.hi > 0) {
            most = rs_max(most, rs_axis_floor(buffers, span.hi - 1) - span.lo);
        }
    }
    return most;
}

int64_t rs_plan_leftover(const rs_problem *problem, const rs_plan *plan, int d)
{
    const rs_axis *buffers = &plan->buffer[d], *target = &problem->target.axis[d];
    int64_t n = target->n, period = rs_axis_period(target, buffers);
    if (buffers->n < n) { /* fewer borders than blocks: look at those */
        int64_t most = 0;
        for (int64_t t = 1; t < buffers->n; t++) {
            int64_t border = rs_axis_span(buffers, t).lo;
            most = rs_max(most, border - rs_axis_floor(target, border));
        }
        return most;
    }
    if (period > 0 && n > 3 * period + 4) {
        return rs_max(most_left(buffers, target, 0, period + 2), most_left(buffers, target, n - period - 2, n));
    }
    return most_left(buffers, target, 0, n);
}

/* ---- Bytes --------------------------------------------------------------------------------- */

/* The most intervals of `b` that meet one interval of `a`: exact where an axis is uneven, else at most one too many. */
static int64_t most_overlaps(const rs_axis *a, const rs_axis *b)
{
    if (a->step > 0 && b->step > 0) {
        return rs_min(b->n, (rs_axis_longest(a) + b->step - 2) / b->step + 1);
    }
    int64_t most = 1;
    for (int64_t i = 0; i < a->n && most < b->n; i++) {
        rs_span span = rs_axis_span(a, i);
        most = rs_max(most, rs_axis_find(b, span.hi - 1) - rs_axis_find(b, span.lo) + 1);
    }
    return most;
}

/*
 * An upper bound of the pieces (units cut at every buffer border) held at once: the bound of docs/algorithm.md section
 * 4, in pieces instead of elements: prod(w) + sum over p of prod(w, outer) * leftover[p] * prod(n, inner).
 */
static int64_t bound_pieces(const rs_problem *problem, const rs_plan *plan)
{
    int64_t bound = 1, n_inner = 1; /* of the inner loops: held, and in all */
    for (int i = plan->ndim - 1; i >= 0; i--) {
        int d = plan->loop[i];
        const rs_axis *buffers = &plan->buffer[d], *target = &problem->target.axis[d];
        bool left_over = (plan->kept >> d & 1) != 0 && rs_plan_leftover(problem, plan, d) > 0;
        int64_t left = left_over ? most_overlaps(target, buffers) - 1 : 0;
        bound = rs_add_most(rs_mul_most(most_overlaps(buffers, target), bound), rs_mul_most(left, n_inner));
        n_inner = rs_mul_most(n_inner, buffers->n + target->n - 1);
    }
    return bound;
}

/* Bytes charged for `n` allocations of together `bytes`: large ones are rounded up to pages, very large
   ones begin where their place in the file begins in its page. One record more than there are pieces pays
   for the smallest table. */
int64_t rs_plan_charge(int64_t bytes, int64_t n)
{
    int64_t pages = rs_min(n, bytes / (64 * 1024)) + rs_min(n, bytes / (256 * 1024));
    return rs_add_most(bytes, rs_add_most(rs_mul_most(pages, 4096), rs_mul_most(rs_add_most(n, 1), RS_PIECE_BYTES)));
}

int rs_plan_stones(const rs_plan *plan, int n_workers)
{
    return (int)rs_min(n_workers, rs_max(RS_CODING_WORKERS, plan->crew) / 2);
}

/* Elements that are used by who decodes, or made by who encodes, and by nobody else. */
static bool passes_through(const rs_plan *plan)
{
    return plan->kind == RS_PLAN_SPILL || (plan->kind == RS_PLAN_BUFFERS && plan->n_staging == 1);
}

int64_t rs_plan_area_bytes(const rs_problem *problem, const rs_plan *plan)
{
    return passes_through(plan) ? rs_problem_area(problem) : 0;
}

/* Of one stone: its codecs, and the stack of a miller. */
static int64_t coder_bytes(const rs_problem *problem, const rs_plan *plan)
{
    int64_t coder = rs_problem_coder(problem), packer = plan->spill.packed ? problem->source.coding.packer : 0;
    return coder > 0 ? rs_add_most(rs_add_most(coder - rs_problem_streams(problem), packer), RS_MILLER_BYTES) : packer;
}

/* The same with its area. */
static int64_t stone_bytes(const rs_problem *problem, const rs_plan *plan)
{
    int64_t area = rs_plan_area_bytes(problem, plan);
    return rs_add_most(coder_bytes(problem, plan), area > 0 ? rs_budget_charge(plan->memory, area) : 0);
}

static int64_t stones_bytes(const rs_problem *problem, const rs_plan *plan, int64_t n_workers)
{
    return rs_mul_most(rs_plan_stones(plan, (int)n_workers), stone_bytes(problem, plan));
}

/* A staging area of a worker, at its least. */
static int64_t least_area(const rs_problem *problem, const rs_plan *plan)
{
    int64_t least = rs_max(RS_LEAST_STAGING, rs_problem_staging(problem, !passes_through(plan)));
    return plan->kind == RS_PLAN_SPILL ? rs_max(least, rs_spill_area_bytes(problem, plan)) : least;
}

/* Of one worker: its areas, its stone, and its streams. */
static int64_t least_staging(const rs_problem *problem, const rs_plan *plan)
{
    int64_t area = rs_budget_charge(plan->memory, least_area(problem, plan));
    return rs_add_most(rs_add_most(stone_bytes(problem, plan), rs_problem_streams(problem)),
                       rs_mul_most(plan->n_staging, area));
}

int64_t rs_plan_fixed(const rs_problem *problem, const rs_plan *plan)
{
    return rs_add_most(rs_problem_fixed(problem), least_staging(problem, plan));
}

int64_t rs_plan_beside(const rs_problem *problem, const rs_plan *plan, int n)
{
    int64_t workers = rs_mul_most(n - 1, RS_WORKER_BYTES) + rs_mul_most(n, rs_problem_streams(problem));
    int64_t codecs = rs_mul_most(rs_plan_stones(plan, n), coder_bytes(problem, plan));
    return rs_add_most(rs_add_most(rs_problem_fixed(problem), rs_spill_table_bytes(problem, plan)),
                       rs_add_most(workers, codecs));
}

/* A worker with as much staging as is fair, beside its stone. */
static int64_t fair_bytes(const rs_problem *problem, const rs_plan *plan)
{
    int64_t staging = rs_mul_most(plan->n_staging, rs_max(RS_FAIR_STAGING, least_area(problem, plan) + 4096));
    return rs_add_most(RS_WORKER_BYTES + rs_problem_streams(problem), staging);
}

int64_t rs_plan_workers(const rs_problem *problem, const rs_plan *plan, int n)
{
    int64_t stones = rs_mul_most(rs_plan_stones(plan, n + 1) - 1, stone_bytes(problem, plan));
    return rs_add_most(rs_mul_most(n, fair_bytes(problem, plan)), stones);
}

/* As many workers as fit. */
static int64_t count_workers(const rs_problem *problem, const rs_plan *plan, int64_t room)
{
    int64_t most = rs_problem_coder(problem) > 0 ? rs_max(RS_CODING_WORKERS, plan->crew) : RS_DISK_WORKERS;
    int64_t fair = fair_bytes(problem, plan), n = plan->thrifty ? 1 : most;
    while (n > 1 && rs_add_most(rs_mul_most(n, fair), stones_bytes(problem, plan, n)) > room) {
        n--;
    }
    return n;
}

int64_t rs_plan_slice_items(const rs_problem *problem, const rs_plan *plan)
{
    int64_t bytes = plan->staging_bytes;
    if (problem->source.coding.staging > 0) {
        return INT64_MAX;
    }
    /* small areas are never read directly */
    return rs_max(1, (bytes >= RS_FAIR_STAGING / 2 ? bytes - RS_DIRECT_EXTRA : bytes) / problem->itemsize);
}

void rs_plan_set_staging(const rs_problem *problem, rs_plan *plan, int64_t peak, int64_t ahead)
{
    int64_t itemsize = problem->itemsize, least = least_area(problem, plan);
    int64_t rest = peak - least_staging(problem, plan), left = plan->memory - rest;
    int64_t n = count_workers(problem, plan, left);
    /* beside staging; the first has no stack of ours */
    int64_t beside = (n - 1) * RS_WORKER_BYTES + n * rs_problem_streams(problem) + stones_bytes(problem, plan, n);
    /* beyond what is fair, staging shares with what is read ahead */
    int64_t share = (left - beside) / (n * plan->n_staging);
    share = n > 1 ? rs_max(rs_min(share, RS_FAIR_STAGING), share / 2) : share;
    int64_t bytes = rs_max(least, rs_min(rs_max(RS_MOST_STAGING, itemsize), share - 4096));
    plan->n_workers = (int)n;
    plan->staging_bytes = rs_max(least, bytes - bytes % itemsize);
    peak = rest + beside + n * plan->n_staging * rs_budget_charge(plan->memory, plan->staging_bytes);
    plan->predicted.peak_bytes = plan->thrifty ? peak : rs_max(peak, rs_min(plan->memory, peak + ahead));
}

bool rs_plan_fits(const rs_problem *problem, rs_plan *plan)
{
    int64_t held = count_held(problem, plan, RS_PIECES);
    int64_t whole = plan->kept != 0 ? count_held(problem, plan, RS_WHOLE_UNITS) : held;
    int64_t fixed = rs_plan_fixed(problem, plan);
    plan->n_pieces = rs_min(bound_pieces(problem, plan), rs_max(1, held));
    int64_t peak = rs_add_most(fixed, rs_plan_charge(rs_mul_most(held, problem->itemsize), plan->n_pieces));
    int64_t peak_whole = rs_add_most(fixed, rs_plan_charge(rs_mul_most(whole, problem->itemsize), plan->n_pieces));
    /*
     * Whole units cost less work where blocks are encoded (no gathering before that), so they are taken wherever they
     * fit beside a crew, since that is more work than gathering; and where pieces are short. Long pieces of plain
     * blocks are gathered on their way through staging, which all takes, and memory that is not touched costs nothing.
     */
    int64_t crew =
        rs_problem_coder(problem) > 0 && !plan->thrifty ? rs_plan_workers(problem, plan, RS_GOOD_WORKERS - 1) : 0;
    bool apart =
        !problem->target.atomic && rs_mul_most(held, problem->itemsize) > rs_mul_most(plan->n_pieces, RS_LONG_PIECE);
    plan->whole_units = peak_whole <= peak || (!apart && rs_add_most(peak_whole, crew) <= plan->memory);
    plan->predicted.held_bytes = rs_mul_most(held, problem->itemsize);
    plan->predicted.peak_bytes = plan->whole_units ? peak_whole : peak;
    return plan->predicted.peak_bytes <= plan->memory && rs_plan_is_allowed(problem, plan);
}

bool rs_plan_predict(const rs_problem *problem, rs_plan *plan)
{
    bool fits = rs_plan_fits(problem, plan);
    if (fits) {
        rs_plan_set_staging(problem, plan, plan->predicted.peak_bytes, RS_MOST_AHEAD);
    }
    resplit_cost *cost = &plan->predicted;
    count_access(&problem->source, plan, 0, &cost->read_seeks, &cost->bytes_read);
    count_access(&problem->target, plan, plan->kept, &cost->write_seeks, &cost->bytes_written);
    cost->temp_bytes = 0;
    return fits;
}

/* Bytes of all blocks that a layout shows, as they are stored. */
static int64_t stored_bytes(const rs_layout *layout)
{
    int64_t bytes = layout->itemsize;
    for (int d = 0; d < layout->ndim; d++) {
        bytes = rs_mul_most(bytes, rs_axis_stored(&layout->axis[d], layout->axis[d].n - 1).hi
                                       - rs_axis_stored(&layout->axis[d], 0).lo);
    }
    return bytes;
}

void rs_plan_add_unpacked(const rs_problem *problem, const resplit_device *device, int processors, rs_plan *plan)
{
    const double speed[2] = {300e6, 70e6 * (double)rs_max(1, processors)}; /* bytes a second, to unpack and to pack */
    const rs_layout *sides[2] = {&problem->source, &problem->target};
    const int64_t n_blocks[2] = {problem->n_source, problem->n_target};
    resplit_cost *cost = &plan->predicted, more = {0};
    for (int i = 0; i < 2; i++) {
        if ((problem->seen >> i & 1) == 0) {
            continue;
        }
        int64_t bytes = stored_bytes(sides[i]);
        more.read_seeks += n_blocks[i];
        more.write_seeks += n_blocks[i];
        more.bytes_read += bytes;
        more.bytes_written += bytes;
        more.temp_bytes += bytes;
        plan->seconds += (double)bytes / speed[i];
    }
    if ((problem->seen & RS_STREAMED_SOURCE) != 0) {
        plan->seconds += (double)stored_bytes(&problem->source) / speed[0];
    }
    if ((problem->seen & (RS_UNPACKED_SOURCE | RS_UNPACKED_TARGET)) == 0) {
        return;
    }
    plan->seconds += rs_device_seconds(device, &more, false);
    cost->read_seeks += more.read_seeks;
    cost->write_seeks += more.write_seeks;
    cost->bytes_read = rs_add_most(cost->bytes_read, more.bytes_read);
    cost->bytes_written = rs_add_most(cost->bytes_written, more.bytes_written);
    cost->temp_bytes = rs_add_most(cost->temp_bytes, more.temp_bytes);
    cost->peak_bytes = (problem->seen & RS_UNPACKED_TARGET) != 0 ? rs_max(cost->peak_bytes, plan->memory)
                                                                 : rs_max(cost->peak_bytes, RS_UNPACKED_BYTES);
}

resplit_status rs_plan_refuse(const rs_problem *problem, const rs_plan *plan, resplit_error *err)
{
    int64_t needed = plan->predicted.peak_bytes;
    if (plan->kind == RS_PLAN_BUFFERS && !rs_plan_is_allowed(problem, plan)) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "strategy '%s' would access blocks in parts that can only be %s",
                       plan->strategy, problem->target.atomic ? "written whole" : "read forwards");
    }
    /* Exact bytes, since that number works and one byte less does not. */
    resplit_status rc =
        rs_fail(err, RESPLIT_EBUDGET,
                "no plan fits %" PRId64 " bytes (strategy '%s'); this problem needs at least %" PRId64 " bytes",
                plan->memory, plan->strategy, needed);
    if (err != NULL) {
        err->needed_bytes = needed;
    }
    return rc;
}
