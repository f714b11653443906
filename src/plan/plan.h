/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan.h - a plan is a value: where the buffers are cut, in which order they are visited, along which axes target
 * blocks wait in memory until they are complete, and what that will cost. It lists no steps; steps.h unrolls it.
 *
 *     problem --- strategy ---> plan --- steps ---> read, write, read, read, write ...
 *                                |
 *                                +-- cost.c: predicted, in closed form, without a walk
 *
 * tests/support/plan_check.c proves plans, by a walk that shares no arithmetic with cost.c.
 */
#ifndef RS_PLAN_H
#define RS_PLAN_H

#include "plan/problem.h"

/* What a search minimizes: so much for a seek, so much for a byte. */
typedef struct rs_price {
    double seek, byte;
} rs_price;

/* How a plan is run. */
typedef enum rs_plan_kind {
    RS_PLAN_BUFFERS, /* buffer by buffer, units written when they are complete */
    RS_PLAN_COPY,    /* block by block, bytes as they are: source and target have the same grid and encoding */
    RS_PLAN_SPILL,   /* the source once; what does not fit goes through a temporary file */
} rs_plan_kind;

/*
 * Target blocks by number: the first `resident` wait in memory while the source is read, the others are spilled, in
 * groups that each fit memory when they are read back.
 *
 *     0 ........ resident | group 0 ........ | group 1 ........ | ...
 */
typedef struct rs_spill {
    int64_t resident; /* blocks */
    int64_t group;    /* blocks in a group */
    int64_t n_groups;
    int64_t n_slices;    /* in which the source is read */
    int64_t n_stretches; /* of the temporary file: what of one slice belongs to one group */
    int64_t most_left;   /* of these one slice has, at most */
    int sheaf;   /* slices that a worker decodes before it writes what they left, as one stretch for each group */
    bool packed; /* stretches are compressed */
} rs_spill;

typedef struct rs_plan {
    rs_plan_kind kind;
    rs_spill spill;
    const char *strategy; /* a name of the table, or of whoever made the plan by hand */
    int ndim;
    int64_t memory; /* the budget */
    rs_axis buffer[RS_MAX_NDIM];
    int loop[RS_MAX_NDIM]; /* axes, outermost first */
    uint32_t kept;         /* bit d: target blocks are held until complete along axis d */
    bool whole_units;      /* a unit has all its memory from its first piece on; else pieces are stored apart */
    int64_t n_pieces;      /* pieces held at once, at most */
    int crew;              /* workers that the machine has use for: rs_plan_crew */
    int n_workers;         /* at most: what the budget has room for */
    int n_staging;         /* staging areas of each: 1 to copy, 2 to compare or to spill, 3 to spill packed */
    int64_t staging_bytes; /* of each area */
    bool thrifty;          /* takes no memory that would only make it faster */
    resplit_cost predicted;
    double seconds;             /* predicted, on the device of the request */
    rs_price price;             /* what it was chosen by */
    int64_t *cuts[RS_MAX_NDIM]; /* owned room for uneven buffers along an axis whose blocks are uneven, else NULL */
} rs_plan;

/* What is asked of a planner. */
typedef struct rs_request {
    const char *strategy; /* NULL or "auto": the cheapest that fits */
    int64_t memory;
    int n_staging;                /* 0 counts as 1 */
    const char *minimize;         /* NULL: "seconds" */
    const resplit_device *device; /* NULL: "ssd" */
    int processors;               /* that decode and encode; 0 counts as 1 */
} rs_request;

typedef struct rs_strategy {
    const char *name;
    bool by_auto;       /* "auto" asks it; what the others propose is where best starts from */
    const char *is_for; /* what it applies to, as the end of a sentence; NULL, as the function: anything */
    bool (*applies)(const rs_problem *problem);
    /* Fills a plan that was just initialised. RESPLIT_EBUDGET, with err->needed_bytes, when nothing fits. */
    resplit_status (*propose)(const rs_problem *problem, rs_plan *plan, resplit_error *err);
} rs_strategy;

static inline bool rs_strategy_applies(const rs_strategy *strategy, const rs_problem *problem)
{
    return strategy->applies == NULL || strategy->applies(problem);
}

extern const rs_strategy rs_strategy_copy, rs_strategy_best, rs_strategy_spill, rs_strategy_spill_lz4,
    rs_strategy_naive, rs_strategy_clustered, rs_strategy_multiple, rs_strategy_keep;

/* ---- planner.c ---- */

const rs_strategy *rs_strategy_at(int i); /* NULL past the last */

/* The plan that the request asks for, or the one of all that fit which is best by what it minimizes. */
resplit_status rs_plan_make(const rs_problem *problem, const rs_request *request, rs_plan *out, resplit_error *err);

/* One buffer of the whole array, loops in the source's order, nothing kept; with room for uneven cuts. */
resplit_status rs_plan_init(const rs_problem *problem, const char *strategy, const rs_request *request, rs_plan *out,
                            resplit_error *err);
void rs_plan_release(rs_plan *plan);

resplit_cost rs_plan_floor(const rs_problem *problem);

/* Its seconds, with what is stored as it is stored and codecs on all processors of the request. */
double rs_plan_floor_seconds(const rs_problem *problem, const rs_request *request);

/* Is even the least that a plan of this problem can take more than `best` does? And is `a` cheaper by what
   the request minimizes? */
bool rs_plan_is_hopeless(const rs_problem *problem, const rs_request *request, const rs_plan *best);
bool rs_plan_is_cheaper(const rs_request *request, const rs_plan *a, const rs_plan *b);

/* Two plans with the same hash unroll to the same steps. */
uint64_t rs_plan_hash(const rs_plan *plan);

/* ---- cuts.c: the buffer axes that strategies choose from ---- */

/* Buffers of n source (or target) blocks along d. */
void rs_plan_cut_groups(rs_plan *plan, int d, const rs_axis *blocks, int64_t n);
/* Buffers of the fewest source blocks that are together at least `length` long. */
void rs_plan_cut_cover(rs_plan *plan, int d, const rs_axis *blocks, int64_t length);
/* Buffers of `length` elements. */
void rs_plan_cut_even(rs_plan *plan, int d, int64_t length);

/* ---- cost.c ---- */

/* Pieces into which cuts divide the blocks along an axis: as long as the stored block, or not. */
typedef struct rs_pieces {
    int64_t full, part;
    int64_t touched; /* stored elements along the axis, each block as often as it has pieces: what atomic blocks cost */
} rs_pieces;

/* Pieces of `blocks` cut by `buffers`; NULL: not cut. */
rs_pieces rs_pieces_count(const rs_axis *blocks, const rs_axis *buffers);

/* Bytes of the stored elements that are accessed; saturates. */
int64_t rs_pieces_bytes(const rs_layout *layout, const rs_pieces *pieces);

/*
 * Runs over all blocks of a layout whose axes are cut into these pieces. Cannot overflow: no more runs than elements.
 * Atomic blocks are touched whole, once for each piece.
 */
int64_t rs_pieces_runs(const rs_layout *layout, const rs_pieces *pieces);

/* Fills plan->predicted, chooses how units are stored and how large the staging area is. True when it
   fits the budget. */
bool rs_plan_predict(const rs_problem *problem, rs_plan *plan);

/* The same without the seeks, for searching. predicted.held_bytes and peak_bytes are set. */
bool rs_plan_fits(const rs_problem *problem, rs_plan *plan);

/*
 * Whether the blocks can be accessed as the plan wants: atomic target blocks whole, sequential source blocks once and
 * forwards.
 */
bool rs_plan_is_allowed(const rs_problem *problem, const rs_plan *plan);

/* Memory for `n` allocations of together `bytes` of array data, with their records; and for everything else,
   staging at its least. */
int64_t rs_plan_charge(int64_t bytes, int64_t n);
int64_t rs_plan_fixed(const rs_problem *problem, const rs_plan *plan);

/*
 * Stones are what it takes to compute: codecs, and where blocks only pass through it an area for their elements, else
 * of 0 bytes. There is one for each worker, but no more than processors, which are half as many as workers that the
 * machine has use for.
 */
int rs_plan_stones(const rs_plan *plan, int n_workers);
int64_t rs_plan_area_bytes(const rs_problem *problem, const rs_plan *plan);

/* What `n` workers take beside array data, staging and areas: the fixed part, codecs, and where stretches of a
   packed spill are. */
int64_t rs_plan_beside(const rs_problem *problem, const rs_plan *plan, int n);

/* What `n` workers more need, with as much staging as is fair. */
int64_t rs_plan_workers(const rs_problem *problem, const rs_plan *plan, int n);

/*
 * Gives what is left of the budget, when the plan needs `peak` with one worker and staging at its least, to what makes
 * a run faster: more staging, more workers, at most `ahead` bytes for reading on while units are still being written.
 * Sets predicted.peak_bytes.
 */
void rs_plan_set_staging(const rs_problem *problem, rs_plan *plan, int64_t peak, int64_t ahead);

/* Largest leftover along an axis: elements of a block that is not complete at a buffer's end. */
int64_t rs_plan_leftover(const rs_problem *problem, const rs_plan *plan, int d);

/* Adds what it costs to unpack sources, or to pack targets, that are unpacked. */
void rs_plan_add_unpacked(const rs_problem *problem, const resplit_device *device, int processors, rs_plan *plan);

/* RESPLIT_EBUDGET with the number that plan->predicted.peak_bytes holds, or RESPLIT_EUNSUPPORTED where blocks do
   not allow it. */
resplit_status rs_plan_refuse(const rs_problem *problem, const rs_plan *plan, resplit_error *err);

/* Elements in a slice of the source: what fits staging; all of a block that is encoded. */
int64_t rs_plan_slice_items(const rs_problem *problem, const rs_plan *plan);

/* ---- strategy_spill.c ---- */

/* The group that target block `number` is spilled with; -1: it is resident. */
int64_t rs_spill_group(const rs_plan *plan, int64_t number);

/* The number behind those of a group, or of the resident blocks (-1). */
int64_t rs_spill_end_of(const rs_plan *plan, int64_t group);

/* A staging area in which all is put together that a decoded slice leaves for the temporary file, in whole sectors; 0:
   the source is not encoded, and slices may be put together in parts. */
int64_t rs_spill_area_bytes(const rs_problem *problem, const rs_plan *plan);

/* Where each stretch of a packed spill is, by source block and group; 0: it is not packed. */
int64_t rs_spill_table_bytes(const rs_problem *problem, const rs_plan *plan);

/* Bytes of the target blocks before block `number` in C order of the grid. */
int64_t rs_spill_bytes_before(const rs_problem *problem, int64_t number);

/* ---- sectors.c ---- */

/* Moves cuts inside of plain target blocks to where sectors begin, where that costs no more. */
void rs_plan_align(const rs_problem *problem, rs_plan *plan);

/* ---- validate.c ---- */

/*
 * Proves, without walking, that the steps read every element once and write it once, after it was read: for plans from
 * outside and of any size. Says nothing of what it costs; what it accepts can be predicted. RESPLIT_EINVAL if not.
 */
resplit_status rs_plan_validate(const rs_problem *problem, const rs_plan *plan, resplit_error *err);

/* ---- Memory that an engine needs beside the data: part of the contract between prediction and engine ---- */

enum {
    RS_FIXED_BYTES = 40 * 1024,  /* open files, paths, weights of the fingerprint, the run itself */
    RS_PIECE_BYTES = 768,        /* records of a piece and of its unit, and their slots in the table */
    RS_LEAST_STAGING = 4096,     /* or one element, if that is larger */
    RS_MOST_STAGING = 1 << 20,   /* stays in cache; larger transfers gain nothing */
    RS_FAIR_STAGING = 256 << 10, /* what a second worker needs to be worth its memory */
    RS_LONG_PIECE = 64 << 10,    /* worth a record of its own, and to be gathered */
    RS_DISK_WORKERS = 16,        /* keep any disk busy, however few the processors, while some of them copy */
    RS_CODING_WORKERS = 8,       /* where blocks are decoded or encoded, at least, */
    RS_MOST_WORKERS = 64,        /* and at most */
    RS_GOOD_WORKERS = 8,         /* fewer leave processors or the disk idle */
    RS_WORKER_BYTES = 256 << 10, /* of each but the first: stack, ring, the work at hand */
    RS_MILLER_BYTES = 132 << 10, /* with each stone, where blocks are coded: somebody who computes */
    RS_LEAST_TRIED = 4 << 20,    /* a run that has less than twice that is small anyway */
    RS_LITTLE_MEMORY = 48 << 20, /* less than that, or half of what there is, is no gain */
    RS_DIRECT_EXTRA = 2 * 4096,  /* of a staging area that is not small: room for the sectors around what is read */
    RS_LONG_STRETCH = 64 << 10,  /* of a spill, on average: they get whole sectors, a sixteenth more */
    RS_STRETCH_BYTES = 16,       /* of a packed spill: where a stretch is */
    RS_SHEAF_BYTES = 32 << 10,   /* of a spill: where the slices of a sheaf are noted, at the end of an area */
    RS_MOST_SHEAF = 2,           /* slices that are decoded for one; more gain little */
    RS_UNPACKED_BYTES = 2 << 20, /* to unpack or to pack */
    RS_MOST_AHEAD = 64 << 20,    /* memory that was never touched is slow, so no more of it than helps */
};

/* How many workers a machine has use for. Each coded block is one's, and while the disk works on it another codes. */
static inline int rs_plan_crew(int processors)
{
    return processors > RS_MOST_WORKERS / 2 ? RS_MOST_WORKERS : (int)rs_max(RS_CODING_WORKERS, 2 * processors);
}

#endif
