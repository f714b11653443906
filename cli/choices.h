/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * choices.h - what else could be done: other strategies, other memory. Made by planning again and again, with the
 * public API; explain.c prints it, json_explain.c too.
 */
#ifndef RS_CLI_CHOICES_H
#define RS_CLI_CHOICES_H

#include "resplit.h"

/* One way to go about it. */
struct cli_choice {
    char strategy[32]; /* when refused: the one that was asked for                    */
    bool chosen;       /* this is the plan itself                                      */
    double factor;     /* of the memory that was given                                */
    int64_t memory;
    int64_t needed; /* > 0: refused; this much memory would do. Then nothing below */
    resplit_cost predicted;
    double seconds;
};

enum { CLI_MOST_STRATEGIES = 16, CLI_KNEE = 3, CLI_CURVE = 16 };

struct cli_choices {
    const char *minimize; /* never NULL */
    bool asked;           /* the strategy was asked for, not chosen */
    resplit_cost floor;
    double floor_seconds;
    int n_strategies;
    struct cli_choice strategies[CLI_MOST_STRATEGIES]; /* that apply, in the library's order */
    int n_knee;
    struct cli_choice knee[CLI_KNEE]; /* half, twice and four times the memory */
    int n_curve;
    struct cli_choice curve[CLI_CURVE]; /* from the least memory that works to where more brings nothing */
};

/* Lengths of a target block that were found for --chunks auto. */
struct cli_proposal {
    int ndim; /* 0: none */
    int64_t length[RESPLIT_MAX_NDIM];
    const char *access; /* what it is for: "series", "slices", "cubes" */
    int axis;           /* of series and slices */
    int64_t block_bytes;
    int n_tried;
};

/* A shape of the target's blocks near the one that was asked for, and what it would save. */
struct cli_neighbour {
    int ndim; /* 0: none is worth a word */
    int64_t wanted[RESPLIT_MAX_NDIM];
    int64_t length[RESPLIT_MAX_NDIM];
    const char *minimize; /* what is saved: "seconds", "seeks", ... */
    double saved;         /* of that, between 0 and 1 */
    double seconds;
    int64_t seeks;
};

/* What a plan is judged by: seconds, seeks, bytes moved or peak memory. */
double cli_measure(const resplit_cost *cost, double seconds, const char *minimize);

/* Seconds after which no more plans are made only to compare with. */
#define CLI_PATIENCE 2.0

/* The table of strategies and the knee, around the plan that was made with `how`. */
bool cli_choices_make(const resplit_array *source, const resplit_array *target, const resplit_plan_options *how,
                      const resplit_plan *plan, struct cli_choices *out, resplit_error *err);

/* Cost against memory. Fills n_curve and curve. */
bool cli_choices_curve(const resplit_array *source, const resplit_array *target, const resplit_plan_options *how,
                       struct cli_choices *out, resplit_error *err);

#endif
