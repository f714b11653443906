/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * output.h - an array in the making, or a group of them. It grows beside its final place and appears there only when it
 * is whole:
 *
 *     out.resplit-part/   locked while a run is at work on it
 *         data            a folder of blocks, or one file; of a group: its arrays, each with a part of its own until it is whole
 *         plan            what is being done, to go on with it
 *         journal         how far it is
 *         head            of a file that has its header in another one: that, which is renamed last
 *     out                 the data, renamed, when everything is written and on disk
 *
 * A run that dies leaves only the part, which no reader takes for an array. The next run goes on with it or removes it.
 */
#ifndef RS_OUTPUT_H
#define RS_OUTPUT_H

#include "engine/file.h"
#include "engine/journal.h"
#include "engine/site.h"

typedef struct rs_output {
    rs_site site;
    const resplit_array *array; /* NULL: a group of arrays */
    rs_sync sync;
    char part[RS_PATH_MAX];
    char data[RS_PATH_MAX]; /* where it grows */
    char own[RS_PATH_MAX];  /* where a run keeps its journal: the part, or a partition's own folder in it */
    uint64_t token;         /* to know it again */
    int lock;               /* descriptor of the part, locked; -1: none */
    bool shared;            /* with other partitions: parts.h */
    int folder;             /* of a partition: descriptors of its own folder, and of the lock in it; -1: none */
    int own_lock;
    rs_journal journal;
} rs_output;

#define RS_NO_OUTPUT                                                                                                   \
    {                                                                                                                  \
        .lock = -1, .folder = -1, .own_lock = -1, .journal = {.fd = -1 }                                               \
    }

/* Removes a file, or a folder and all that is in it. */
void rs_path_remove(const char *path);

/* What there is of an earlier run. */
typedef enum rs_earlier { RS_EARLIER_NONE, RS_EARLIER_PART, RS_EARLIER_ALL } rs_earlier;

/* Where the part of a target is. */
resplit_status rs_output_part(const char *path, char part[RS_PATH_MAX], resplit_error *err);

/*
 * Checks what can be checked before anything is written (places, free space, free inodes, what is there already,
 * another run at work), then makes an empty part with a journal. With `resume`, goes on with the part of an earlier run
 * of the same job: *done says how far it came; RS_EARLIER_ALL: it was published, there is nothing left to do. plan:
 * what is kept for that; may be NULL.
 */
resplit_status rs_output_begin(rs_output *output, const resplit_array *array, const resplit_array *source, bool resume,
                               const rs_job_id *id, const rs_text *plan, rs_earlier *earlier, rs_progress *done,
                               resplit_error *err);

/*
 * The same for a group of arrays, which the caller makes in output->data: the time of its journal is the number of
 * those that are complete. Strings are borrowed until the output is ended.
 */
resplit_status rs_output_begin_group(rs_output *output, const char *path, const char *source, bool overwrite,
                                     bool resume, const rs_job_id *id, rs_earlier *earlier, rs_progress *done,
                                     resplit_error *err);

/* Writes the manifest, brings everything to disk and publishes it. The output is then ended. */
resplit_status rs_output_publish(rs_output *output, uint64_t fingerprint, resplit_error *err);

/* Ends an output that was not published: keeps the part, for a resume, or removes it. Does nothing after a publish. */
void rs_output_abandon(rs_output *output, bool keep);

#endif
