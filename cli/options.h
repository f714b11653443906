/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * options.h - the command line, turned into values; and the help text, made from the same table.
 *
 *     argv -- cli_line_read --> words, (option, value) pairs -- main.c picks the command -- cli_options_read --> values
 *
 * Two steps, because options may stand before the command, and `--pattern` is about the target in one command and
 * about PATH in another.
 */
#ifndef RS_CLI_OPTIONS_H
#define RS_CLI_OPTIONS_H

#include <stdio.h>

#include "parse.h"
#include "shapes.h"

/* What the process returns. */
enum cli_exit {
    CLI_DONE = 0,
    CLI_FAILED = 1, /* the library or the system refused           */
    CLI_USAGE = 2   /* the command line says what cannot be done   */
};

/* Commands as bits, for "this option belongs to these commands". CLI_CONVERT is `resplit SRC DST`. */
enum cli_command_id {
    CLI_CONVERT = 1 << 0,
    CLI_SPLIT = 1 << 1,
    CLI_MERGE = 1 << 2,
    CLI_EXTRACT = 1 << 3,
    CLI_PLAN = 1 << 4,
    CLI_INFO = 1 << 5,
    CLI_VERIFY = 1 << 6,
    CLI_RUN = 1 << 7,
    CLI_FINGERPRINT = 1 << 8,
    CLI_BENCH_DISK = 1 << 9,
    CLI_FINISH = 1 << 10,
    CLI_MPI = 1 << 11 /* resplit-mpi, a program of its own */
};

/* All that can be said on a command line. Zero or NULL: not said. Texts are borrowed from argv. */
struct cli_options {
    struct cli_chunks chunks; /* of the target               */
    struct cli_chunks to;     /* the same, in `plan`         */
    struct cli_roi roi;
    int64_t memory;
    const char *strategy;
    const char *device;       /* what seconds are predicted for; NULL: ssd */
    const char *minimize;     /* what "auto" looks for       */
    const char *temp;         /* folder for temporary files  */
    bool chunks_auto;         /* --chunks auto: to be proposed, for this access and size of a block */
    struct cli_access access; /* --for                       */
    int64_t block_size;
    int64_t size;         /* of a file to measure a disk with */
    struct cli_part part; /* only this one                */
    int64_t parts;        /* into so many; 0: not divided */
    const char *format;   /* of the target                     */
    const char *codec;
    struct cli_shape shards;
    const char *to_order;
    const char *to_dtype;
    bool write_empty;
    bool ome;
    bool is_virtual;
    bool all_levels;
    const char *pattern;
    const char *io; /* from here: how it is run           */
    const char *direct;
    const char *sync;
    int64_t threads;
    const char *save;    /* the plan, to this file                */
    const char *picture; /* of the plan, into this file       */

    const char *dtype; /* from here: what the source is      */
    const char *order;
    struct cli_shape shape;
    struct cli_chunks from;
    const char *from_format;
    const char *from_pattern;
    int64_t skip;

    bool curve;
    bool overwrite;
    bool resume;
    bool exact; /* verify: compare bytes */
    bool json;
    bool quiet;
};

/* Everything a command gets to see. */
struct cli_args {
    const char *command; /* as typed; NULL for the default action */
    enum cli_command_id id;
    int n_words;
    const char *const *words; /* what is neither the command nor an option */
    struct cli_options options;
};

/* One line of the list of commands, in main.c. */
struct cli_command {
    const char *name; /* NULL: the default action               */
    enum cli_command_id id;
    int n_needed;         /* words that must be there           */
    const char *words[2]; /* what they stand for; NULL: no more */
    const char *usage;    /* what stands behind "resplit "      */
    const char *summary;  /* one line                           */
    const char *text;     /* a paragraph or two, for its help   */
    int (*run)(const struct cli_args *args, resplit_error *err);
};

struct cli_pair {
    int option; /* row of the table by which it was recognised */
    const char *value;
};

/* argv, taken apart but not yet understood. */
struct cli_line {
    int n_words;
    const char **words;
    int n_literal; /* words behind "--": never a command */
    int n_pairs;
    struct cli_pair *pairs;
    bool help;
    bool version;
};

bool cli_line_read(int argc, char **argv, struct cli_line *line, resplit_error *err);
void cli_line_release(struct cli_line *line);

/* The pairs of a line as values, by the rules of one command. On failure `options` must still be released. */
bool cli_options_read(const struct cli_line *line, enum cli_command_id id, const char *name,
                      struct cli_options *options, resplit_error *err);
void cli_options_release(struct cli_options *options);

/* The options of a command, one per line. */
void cli_options_help(FILE *stream, enum cli_command_id id);

#endif
