/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * files.h - the open block files of one array, shared by all workers: a few descriptors, the least recently used one
 * that nobody works on is closed when room is needed. Opening and closing happen outside the lock, so that workers do
 * it at the same time.
 */
#ifndef RS_FILES_H
#define RS_FILES_H

#include "engine/file.h"
#include "format/format.h"

#include <pthread.h>

enum { RS_OPEN_FILES = 64 };

typedef struct rs_open_file {
    int64_t block; /* number of the file; -1: free */
    int fd, direct;
    int users;
    bool opening;
    uint64_t used; /* when, in opens */
} rs_open_file;

typedef enum rs_direct { RS_DIRECT_AUTO, RS_DIRECT_ON, RS_DIRECT_OFF } rs_direct;

typedef struct rs_files {
    const resplit_array *array;
    const char *root; /* where the array is, or is being made; borrowed */
    bool write;       /* blocks are made when they are not there */
    rs_direct direct;
    bool few; /* little of each is read: not worth asking what of it is in the page cache, nor reading ahead */
    struct rs_files *other; /* of the same run; NULL: none */
    pthread_mutex_t lock;
    pthread_cond_t change;
    uint64_t clock;
    resplit_status closed; /* the first failure that the system told only when a file was closed */
    resplit_error why;
    rs_open_file file[RS_OPEN_FILES];
} rs_files;

void rs_files_init(rs_files *files, const resplit_array *array, const char *root, bool write, rs_direct direct);

/* Closes all. A failure that the system only tells now, or told earlier when it closed a file, is an error. */
resplit_status rs_files_release(rs_files *files, resplit_error *err);

/*
 * The file of block `index`, open, until it is put back. `path` gets its path, which the block borrows. bytes: how long
 * it will be, when it is written; 0: that is not known yet.
 */
resplit_status rs_files_get(rs_files *files, const int64_t *index, int64_t bytes, char path[RS_PATH_MAX],
                            rs_block_file *out, resplit_error *err);

/* How long the file of a block is that is stored as it is. */
int64_t rs_files_bytes(const rs_files *files, const int64_t *index);

/* done: it will not be asked for again. */
void rs_files_put(rs_files *files, const rs_block_file *file, bool done);

#endif
