/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file.h - the I/O backend: everything that the engine asks of the operating system. Errors name the file and the numbers.
 */
#ifndef RS_FILE_H
#define RS_FILE_H

#include "geometry/grid.h"

enum { RS_PATH_MAX = 4096 };

/* A block's data in an open file. Borrowed: path dies with the caller's storage. */
typedef struct rs_block_file {
    int fd;
    const char *path;
    int64_t offset; /* of the data */
    const rs_layout *layout;
    const rs_box *stored;
} rs_block_file;

/* Where the last transfer of a step ended, and how many runs there were: a transfer that does not continue the one before
   it is a seek. next starts as -1. */
typedef struct rs_cursor {
    int64_t next, seeks, bytes;
} rs_cursor;

/* Moves the elements of `box` between the file and memory that holds the box in the layout's order. */
resplit_status rs_file_read_box(const rs_block_file *file, const rs_box *box, void *memory, rs_cursor *cursor,
                                resplit_error *err);
resplit_status rs_file_write_box(const rs_block_file *file, const rs_box *box, const void *memory, rs_cursor *cursor,
                                 resplit_error *err);

/* Long runs will be read from this file, from its beginning to its end: the system may read far ahead. */
void rs_file_will_stream(int fd);

resplit_status rs_file_write(int fd, const char *path, const void *bytes, int64_t n, int64_t at, resplit_error *err);

/* path = folder/name, or folder alone when name is "". */
resplit_status rs_path_join(const char *folder, const char *name, char path[RS_PATH_MAX], resplit_error *err);

/* The folder that `path` lies in. */
resplit_status rs_path_parent(const char *path, char parent[RS_PATH_MAX], resplit_error *err);

#endif
