/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * journal.h - how far a run has come, in a file that survives it.
 *
 *     header   what is made from what, by which plan; a token to know the output again; in which boot of the system
 *     record   everything before this time is written, and this is its fingerprint; on disk, or only handed to the
 *              system
 *     record   ...
 *
 * A record that is torn, and all after it, count for nothing. What was only handed to the system survives the process
 * but not the machine: after another boot only records count that say "on disk".
 */
#ifndef RS_JOURNAL_H
#define RS_JOURNAL_H

#include "engine/file.h"
#include "plan/steps.h"

#define RS_JOURNAL_NAME "journal"
#define RS_JOURNAL_NEW "journal-new" /* what becomes it */

/* When data is brought to disk: never, every half minute and at the end, or before each record. */
typedef enum rs_sync { RS_SYNC_NONE, RS_SYNC_END, RS_SYNC_EACH } rs_sync;

typedef struct rs_progress {
    rs_time now; /* everything before is done */
    uint64_t fingerprint;
} rs_progress;

/* What a journal belongs to. */
typedef struct rs_job_id {
    uint64_t problem, plan, source; /* hashes of both grids, of the steps, of the source files' sizes and times */
    uint64_t token; /* drawn for this output; in its manifest too, to know it again whatever its name is now */
} rs_job_id;

typedef struct rs_journal {
    int fd; /* -1: none */
    int folder;
    rs_sync sync;
    uint64_t check;    /* of the header: part of each record's */
    int64_t at;        /* end of the file */
    int64_t noted_ms;  /* when there was a record last */
    int64_t synced_ms; /* when data was brought to disk last */
    bool busy;         /* a worker writes a record */
    rs_time noted;     /* by the last record */
} rs_journal;

/* A checksum of what is kept beside an output: `n` bytes, a multiple of eight. */
uint64_t rs_check_of(const void *bytes, size_t n, uint64_t seed);

/* A new journal in the open folder, with what is done already; an older one is replaced when the new one is on disk. */
resplit_status rs_journal_begin(rs_journal *journal, int folder, rs_sync sync, const rs_job_id *id,
                                const rs_progress *done, bool on_disk, resplit_error *err);
void rs_journal_end(rs_journal *journal);

/*
 * Reads the journal in an open folder. *found is false when there is none that can be used. *on_disk: what it says is
 * done is certainly on disk.
 */
resplit_status rs_journal_read(int folder, rs_job_id *id, rs_progress *done, bool *on_disk, bool *found,
                               resplit_error *err);

/* All before `now` is done: is a record due, and is it ours to write? Then call note, without the run's
   lock, and unclaim. */
bool rs_journal_claim(rs_journal *journal, rs_time now);
resplit_status rs_journal_note(rs_journal *journal, const rs_progress *progress, resplit_error *err);
void rs_journal_unclaim(rs_journal *journal);

#endif
