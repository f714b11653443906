/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * probe.h - the phases by which a disk is measured, on temporary files without a name. measure.c says which phases, how
 * much and for how long.
 */
#ifndef RS_PROBE_H
#define RS_PROBE_H

#include "base/arena.h"

enum {
    RS_PROBE_PAGE = 4096,      /* of a random read */
    RS_PROBE_MOST_THREADS = 64 /* of a phase; as many pages must fit into the pieces of all streams */
};

typedef enum rs_probe_kind { RS_PROBE_WRITE, RS_PROBE_READ, RS_PROBE_BOTH, RS_PROBE_RANDOM } rs_probe_kind;

typedef struct rs_probe {
    /* The caller's. */
    size_t piece;         /* bytes of a transfer that is not random: limited by bandwidth, not by latency */
    int n_streams;        /* threads that move pieces, each with a buffer of its own */
    int64_t n_pieces;     /* that the file may have; halved where there is no space for them, ... */
    int64_t least_pieces; /* ... as long as so many are left */
    bool has_other;       /* "both" reads one file and writes another; else it reads one half and writes the other */
    int sync_pieces;      /* written between two syncs where the page cache cannot be passed by; 0: only at the end */
    /* From rs_probe_open on. */
    int fd, other; /* of the two files; the same where there is one */
    bool direct;
    rs_arena *arena;   /* memory as runs have it */
    char *buffer;      /* there: a piece for each stream, aligned for O_DIRECT */
    int64_t n_written; /* pieces that the file has: what was never written would be read without the disk */
} rs_probe;

/* One phase: at most so many transfers, by so many threads, for so many seconds. */
typedef struct rs_probe_phase {
    rs_probe_kind kind;
    int n_threads;
    int64_t n_transfers;
    int64_t first; /* number of the first random page: two phases that begin apart read different ones */
    double seconds;
} rs_probe_phase;

typedef struct rs_probe_result {
    double seconds; /* never 0 */
    int64_t bytes;
    int64_t n_transfers;
    int n_threads; /* fewer where the system allows no more */
} rs_probe_result;

/* Zero, or errno. To be closed in either case; nothing is left in the folder, then or when the process ends. */
int rs_probe_open(rs_probe *probe, const char *folder);
void rs_probe_close(rs_probe *probe);

/* Runs one phase, the sync of what it wrote included. The first is to be RS_PROBE_WRITE. Zero, or errno. */
int rs_probe_run(rs_probe *probe, const rs_probe_phase *phase, rs_probe_result *out);

#endif
