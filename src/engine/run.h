/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run.h - executes the steps of a plan, by a crew of workers.
 *
 *     READ step:  source block --- slices ---> staging --- scatter ---> pending units
 *     WRITE step: pending unit --- gather (when in pieces) ---> sink:  the target's file, or a comparison with it
 *
 * Steps are handed out in their order, under one lock, with the memory that they need: so whatever the workers do at
 * the same time, what waits for memory waits only for what was handed out before it, and that can always be finished.
 * Where the budget has room, slices are read while units of earlier buffers are still being written.
 *
 *     handed out:    slice  slice  slice  UNIT  UNIT  slice  slice ...
 *     workers:       [read, copy]  [read, copy]  [write]  [read, copy] ...
 *     written:       in any order; counted as done in the order of the steps, so that what is done is all before some time
 */
#ifndef RS_RUN_H
#define RS_RUN_H

#include "base/mill.h"
#include "engine/files.h"
#include "engine/journal.h"
#include "engine/pending.h"
#include "geometry/fingerprint.h"
#include "engine/shards.h"
#include "engine/stream.h"
#include "engine/together.h"
#include "geometry/slices.h"
#include "geometry/tray.h"
#include "plan/steps.h"

#include <pthread.h>

typedef struct rs_run rs_run;
typedef struct rs_worker rs_worker;
typedef struct rs_spilling rs_spilling;
struct rs_member; /* parts.h */

enum {
    RS_TOUCHED = 64, /* units of a slice that are remembered, where there is little memory; others are looked up */
    RS_TOUCHED_MANY = 2048,      /* the same, where there is room for several workers: see RS_WORKER_BYTES */
    RS_OUTGOING = 3,             /* writes that are under way or not yet counted as done: of the first worker, */
    RS_OUTGOING_MANY = 32,       /* and of each other, who has memory for it: RS_WORKER_BYTES */
    RS_SHEAF = 12,               /* slices whose stretches are written, or read back, together, beside the first */
    RS_SHORT_MEETING = 16 << 10, /* bytes: where slices and units have no more in common, */
    RS_MANY_UNITS = 32,          /* and a buffer has so many of them, they are in trays */
};

/* A unit of which all was asked for, on its way out. */
typedef struct rs_outgoing {
    enum { RS_WAITS, RS_READY, RS_WRITING, RS_DONE } state;
    rs_step step;
    rs_time time;
    rs_unit *unit; /* NULL: nothing is in it */
    uint64_t fingerprint;
} rs_outgoing;

/* Where a slice goes; NULL: to a unit that was written by an earlier run. */
typedef struct rs_touch {
    rs_unit *unit;
    rs_piece *piece;
} rs_touch;

/* What a slice leaves for a group, and where in the temporary file that goes. */
typedef struct rs_left {
    int64_t at, bytes;
} rs_left;

/* One thing to do. */
typedef struct rs_job {
    enum { RS_JOB_READ, RS_JOB_WRITE, RS_JOB_HELP } kind;
    rs_step step;
    rs_box buffer;        /* READ: the one that the step belongs to */
    rs_box slice, wanted; /* READ: what of the block, and the part of it that the step is about */
    bool any_wanted;
    rs_cursor cursor;      /* READ: where the slice before it ended */
    int64_t turn;          /* READ: of a stream: how many slices were handed out before */
    rs_outgoing *outgoing; /* WRITE */
    rs_stint stint;        /* HELP: of another worker's write */
    int n_touched, most_touched;
    rs_touch *touched; /* READ: by the target's blocks that wait for it, in their order; kept from job to job */
    /* Of a spill. The source: groups from the first that a slice has something of; owned, kept. A group: where it is in
       the temporary file. */
    int64_t first_group, n_groups;
    rs_left *left;
    int64_t temp_at, temp_bytes;
} rs_job;

/* What it takes to compute, of each miller, or of each worker where there are none. Owned by the run. */
typedef enum rs_coder_of { RS_OF_SOURCE, RS_OF_TARGET, RS_TO_PACK, RS_TO_UNPACK, RS_N_CODERS } rs_coder_of;

typedef struct rs_stone {
    rs_coder *coder[RS_N_CODERS]; /* NULL: there is nothing to code */
    char *area;                   /* for elements of a block that nobody else sees; NULL: they are in staging */
} rs_stone;

struct rs_worker {
    rs_run *run;
    pthread_t thread;
    rs_io io;
    char *staging[3];
    char path[2][RS_PATH_MAX];
    rs_stream *stream[2];  /* of a copy: the block at hand of source and target, read forwards; else NULL */
    rs_cursor cursor;      /* of the write at hand */
    rs_cursor spilled;     /* by the read at hand */
    resplit_losses losses; /* by casts */
    int64_t before;        /* bytes that are free before the memory of the unit at hand */
    rs_job job;
    rs_job *more; /* the rest of a sheaf, which share what the first one has for touched units; NULL: there is none */
    int n_more;
};

/* The jobs at hand: the first, and the rest of a sheaf. */
static inline rs_job *rs_worker_job(rs_worker *worker, int i)
{
    return i == 0 ? &worker->job : &worker->more[i - 1];
}

/* What becomes of a complete unit. `memory` holds `box` in the target's order and may be changed; with a cast
   it is in staging. */
typedef resplit_status rs_sink(rs_worker *worker, const rs_step *step, const rs_box *box, char *memory,
                               resplit_error *err);

/* The same for a unit that is to be written from somewhere else than where it is: asks for its bytes, which are summed
   up while they are brought. *done: it has been; else it is for the sink above. */
typedef resplit_status rs_long_sink(rs_worker *worker, const rs_step *step, const rs_piece *pieces,
                                    uint64_t *fingerprint, bool *done, resplit_error *err);

/* The same for a block that is encoded as a whole: all its pieces, of which one may be the whole block. *fingerprint:
   what they hold is added, if it is encoded or compared; NULL: nobody asks. */
typedef resplit_status rs_whole_sink(rs_worker *worker, const rs_step *step, const rs_piece *pieces,
                                     uint64_t *fingerprint, resplit_error *err);

struct rs_run {
    const rs_problem *problem;
    const rs_plan *plan;
    const resplit_array *source, *target;
    const resplit_run_options *options; /* may be NULL */
    rs_sink *sink;
    rs_long_sink *long_sink;   /* of targets that are not; NULL: all units are for the one above */
    rs_whole_sink *whole_sink; /* of encoded targets */
    rs_shards *shards;         /* of a target that has them; else NULL */
    rs_spilling *spilling;     /* of a plan that spills; else NULL */
    rs_stream *stream;         /* of a source that is read as one; else NULL */
    bool sliced;               /* the sink wants no more than a staging area at a time */
    bool only_reads;           /* the target stands for the source: none of its blocks is coded */
    bool unsummed;             /* nobody asks for the fingerprint */
    bool compares;             /* the sink reads the target */
    bool hands_over;           /* the sink is the caller's, and gets everything, also what need not be stored */
    void *sink_state;
    rs_journal *journal; /* NULL: none is kept */
    rs_progress resumed; /* what an earlier run had done */

    rs_files sources, targets;
    rs_layout in_files; /* the target's, of elements of its own type */
    rs_fingerprint weights;
    rs_worker *workers;
    int n_workers;
    const char *io_name;

    rs_mill mill; /* where blocks are coded */
    rs_stone *stones;
    int n_stones;

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t change;
    rs_together together;
    rs_shedding shedding;
    rs_gate gate;
    rs_budget *budget;
    rs_pending pending;
    rs_steps steps;
    bool trays;   /* the units of a buffer are in one: rs_run_takes_trays */
    rs_job next;  /* the slice that is being handed out */
    rs_step step; /* the step at hand */
    enum { RS_AT_STEP, RS_AT_TURN, RS_AT_SLICE, RS_AT_PLACE, RS_AT_WRITE, RS_AT_END } at;
    rs_slices slices;
    int64_t place_lo[RS_MAX_NDIM], place_hi[RS_MAX_NDIM], place_at[RS_MAX_NDIM];
    bool turned;           /* of a spill: the source is read */
    bool unwanted;         /* nothing in the slice is for a unit that is still to be written */
    rs_outgoing *outgoing; /* a ring */
    int first_outgoing, n_outgoing, most_outgoing;
    int n_reading, n_writing;
    bool failed;
    resplit_error why;

    int64_t held; /* bytes */
    int64_t done; /* bytes handed to the sink */
    int64_t last_report;
    rs_time now; /* everything before is done */
    uint64_t read_fingerprint, written_fingerprint;
    resplit_cost actual;
    int64_t stored_read, stored_written; /* bytes of encoded blocks, as they are on disk; also of those that are cast */
    resplit_losses losses;               /* by casts, when all is done */
};

/* Runs all steps of a plan of buffers. The caller has filled the first group of fields and opened `targets`. */
resplit_status rs_run_steps(rs_run *run, resplit_error *err);

/* The same for the other kinds of plan. temp: folder for a temporary file. */
resplit_status rs_run_blocks(rs_run *run, resplit_error *err);
resplit_status rs_run_spill(rs_run *run, const char *temp, resplit_error *err);

/* ---- crew.c: what all kinds share ---- */

/* Budget, workers with their staging, source files. rs_run_end also after a begin that failed. */
resplit_status rs_run_begin(rs_run *run, resplit_error *err);
void rs_run_end(rs_run *run);

/* Has every worker do `work`, this thread among them, and waits. Returns the first failure. */
resplit_status rs_run_crew(rs_run *run, void *(*work)(void *worker), resplit_error *err);

/* Notes a failure; the others stop as soon as they can. With the lock. */
void rs_run_fail(rs_run *run, const resplit_error *why);

/* Waits for a change, with the lock; the caller's thread no longer than a report may wait. */
void rs_run_wait(rs_worker *worker);

/* Tells the caller how far we are, if this is its thread. With the lock, which is let go meanwhile. */
void rs_run_report(rs_worker *worker);

/* The source block of a step, open. */
resplit_status rs_run_open_source(rs_worker *worker, const rs_step *step, rs_block_file *file, resplit_error *err);

/* The target block of a step, open, until it is put back. */
resplit_status rs_run_open_target(rs_worker *worker, const rs_step *step, rs_block_file *file, resplit_error *err);

int64_t rs_run_staging_items(const rs_run *run);

/* As many as fit staging in the target's type too: they are cast in their place. */
int64_t rs_run_sink_items(const rs_run *run);

static inline bool rs_run_casts(const rs_run *run)
{
    return run->target->cast.kind != RS_CAST_NONE;
}

/* Where a worker makes stints of long writes, with a sector before it and one behind it; no memory: staging is too
   small for that. */
rs_area rs_run_area(const rs_worker *worker);

/* Puts the elements of `box` together that pieces hold, in the target's order. */
void rs_run_gather(const rs_run *run, const rs_piece *pieces, const rs_box *box, char *memory);

/* Has somebody compute for a worker, who waits; `by` is the number of a stone. */
void rs_run_compute(rs_worker *worker, rs_mill_work *work, void *what);

/* Adds what was read, or written, to what the run did. With the lock. */
void rs_run_count(rs_run *run, const rs_cursor *read, const rs_cursor *written);

/* ---- spill_run.c: what does not fit, through a temporary file ---- */

/* With the lock. `bytes` of a slice of the source belong to a group; all was read, and is to be read back from the
   beginning; a slice is to be read back. */
void rs_spill_leave(rs_run *run, rs_job *job, int64_t group, int64_t bytes);
void rs_spill_turn(rs_run *run);
void rs_spill_fetch(rs_run *run, rs_job *job);

/* The same: it begins to be read back; that is done. The latter returns a group that nobody needs any more, or -1. */
void rs_spill_begin(rs_run *run, const rs_job *job);
int64_t rs_spill_end(rs_run *run, const rs_job *job);

/* Of a stone, where stretches are packed. */
resplit_status rs_spill_coders(const rs_run *run, rs_stone *stone, resplit_error *err);

/* Without it. What of a decoded slice, that of job `which`, belongs to groups is put together in staging, by who decoded
   it, beside what others of the sheaf left; adds up its fingerprint, if `sum`. */
void rs_spill_gather(rs_worker *worker, int which, const rs_view *slice, bool sum, uint64_t *fingerprint);

/* It goes to the file, of all jobs at hand. NULL: it has been gathered; else it is, as much at a time as there is room
   for. */
resplit_status rs_spill_out(rs_worker *worker, const rs_view *slice, bool sum, uint64_t *fingerprint,
                            resplit_error *err);

/* Gives back the part of the file that a group had. */
void rs_spill_drop(rs_run *run, int64_t group);

/* Where the rest of a sheaf is noted, or NULL. */
rs_job *rs_spill_sheaf(const rs_worker *worker);

/* Is there room for what one more slice leaves, or left, beside that of the jobs at hand? With the lock. */
bool rs_spill_has_room(const rs_worker *worker);

/* What the slices of the jobs at hand left for their group: of each its pieces, one after the other. */
resplit_status rs_spill_back(rs_worker *worker, char *data[1 + RS_SHEAF], resplit_error *err);

/* ---- hand_out.c ---- */

static inline bool rs_run_is_resumed(const rs_run *run)
{
    return run->resumed.now.buffer > 0 || run->resumed.now.block > 0;
}

static inline bool rs_run_spills(const rs_run *run)
{
    return run->plan->kind == RS_PLAN_SPILL;
}

/* Whose steps a target block is read in: of a spill those of its group, else, and of a resident block, -1. */
static inline int64_t rs_run_group(const rs_run *run, const int64_t *index)
{
    return rs_run_spills(run) ? rs_spill_group(run->plan, rs_layout_block_number(&run->problem->target, index)) : -1;
}

/*
 * Where a slice has little for each of many units, to find their memory, one by one, takes longer than to copy. There
 * the units of a buffer are in a tray: one place for the slice to go to, and one that waits, until all of them are
 * written.
 */
bool rs_run_takes_trays(const rs_run *run);

/* A unit is known by its first element; a tray by that of its buffer. */
int64_t rs_unit_key(const rs_problem *problem, const rs_box *unit);

/* Something to do, in worker->job; false: there is nothing more. With the lock, which is let go while it waits. */
bool rs_run_next_job(rs_worker *worker);

/* ---- outgoing.c: writes in the order of their steps ---- */

/* Adds a write at the end, waiting; NULL when the ring is full. With the lock. */
rs_outgoing *rs_outgoing_add(rs_run *run, const rs_step *step, rs_time time);

/* What is done, with what an earlier run had done. With the lock, or when nobody works any more. */
rs_progress rs_run_progress(const rs_run *run);

/* It has been written: counts everything as done that is done without a gap, and takes note of it. With the lock. */
void rs_outgoing_end(rs_worker *worker, rs_outgoing *outgoing);

/* What a run is about: both grids, and what the target says of itself. */
resplit_status rs_run_hash(const rs_problem *problem, const resplit_array *target, uint64_t *hash, resplit_error *err);

/* Are the files of two arrays on the same grid the same, byte by byte? index: of the first element of one
   that is not. */
resplit_status rs_compare_stored(const resplit_array *a, const resplit_array *b, bool *equal, int64_t *index,
                                 resplit_error *err);

/* ---- copy_sink.c: sinks that write ---- */

rs_sink rs_copy_unit;
rs_long_sink rs_copy_long;
rs_whole_sink rs_copy_whole;

/* ---- copy_run.c ---- */

/* The arrays of a problem with whole blocks, where it sees them so: they become views, which borrow everything. */
resplit_status rs_run_see(uint32_t seen, const resplit_array **source, const resplit_array **target,
                          resplit_array *source_view, resplit_array *target_view, resplit_error *err);

/*
 * Copies the source into the target: checks, runs, publishes. member: the problem is that of a partition, which is not
 * published; else NULL. temp: folder for a temporary file; NULL: beside the target. plan_text: what is kept beside the
 * part for a resume.
 */
resplit_status rs_run_copy(const rs_problem *problem, const rs_plan *plan, const resplit_array *source,
                           const resplit_array *target, const struct rs_member *member, const char *temp,
                           const rs_text *plan_text, const resplit_run_options *options, resplit_result *result,
                           resplit_error *err);

/* The same, but blocks are given to `take`. */
resplit_status rs_run_deliver(const rs_problem *problem, const rs_plan *plan, const resplit_array *source,
                              const resplit_array *target, const char *temp, resplit_take *take, void *payload,
                              const resplit_run_options *options, resplit_result *result, resplit_error *err);

/* The steps of a plan of any kind. temp: as above. */
resplit_status rs_run_kind(rs_run *run, const char *temp, resplit_error *err);

/* When all steps are done: is what went out what came in? */
resplit_status rs_run_check(const rs_run *run, resplit_error *err);

/* Fills in what the run counted. */
void rs_run_tell(const rs_run *run, resplit_result *result);

/* When data is brought to disk, as the options say. */
resplit_status rs_run_sync(const resplit_run_options *options, rs_sync *sync, resplit_error *err);

/* Whether files are to pass by the page cache, as the options say. */
resplit_status rs_run_direct(const resplit_run_options *options, rs_direct *direct, resplit_error *err);

/* Reads the array block by block; the plan is a copy of it onto itself. */
resplit_status rs_run_fingerprint(const rs_problem *problem, const rs_plan *plan, const resplit_array *array,
                                  const resplit_run_options *options, uint64_t *out, resplit_error *err);

/* Reads the box of an array that the problem is about into the caller's memory. */
resplit_status rs_run_read(const rs_problem *problem, const rs_plan *plan, const resplit_array *array,
                           const resplit_run_options *options, const rs_view *out, resplit_error *err);

/* Compares the values of two arrays of the same shape and type. */
resplit_status rs_run_compare(const rs_problem *problem, const rs_plan *plan, const resplit_array *a,
                              const resplit_array *b, const resplit_run_options *options, resplit_difference *out,
                              resplit_error *err);

#endif
