/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * files.h - the open block files of one array: a few descriptors, the least recently used one closed when room is needed.
 */
#ifndef RS_FILES_H
#define RS_FILES_H

#include "engine/file.h"
#include "format/format.h"

enum { RS_OPEN_FILES = 64 };

typedef struct rs_open_file {
    int64_t block; /* number of the block; -1: free */
    int fd;
    uint64_t used; /* when, in opens */
} rs_open_file;

typedef struct rs_files {
    const resplit_array *array;
    const char *root; /* where the array is, or is being made; borrowed */
    int flags;        /* of open(2) */
    bool streams;     /* blocks are read in long runs */
    uint64_t clock;
    char path[RS_PATH_MAX]; /* of the block that was asked for last */
    rs_open_file file[RS_OPEN_FILES];
} rs_files;

void rs_files_init(rs_files *files, const resplit_array *array, const char *root, int flags);
void rs_files_release(rs_files *files);

/* The block `index` of the array, open. `create` makes it, with its header. Borrowed until the next call. */
resplit_status rs_files_get(rs_files *files, const int64_t *index, bool create, rs_block_file *out, resplit_error *err);

/* Closes a block, if it is open. A failure that the system only tells now is an error. */
resplit_status rs_files_close(rs_files *files, const int64_t *index, resplit_error *err);

#endif
