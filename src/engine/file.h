/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file.h - boxes of elements in block files, as transfers. Errors name the file and the numbers.
 *
 * Long runs pass by the page cache where the file can: what is copied once is not worth caching, and the cache costs
 * more than the disk. Direct transfers are made of whole sectors, so
 *
 *     reading    the sectors around the run go to staging: the data begins somewhere in the first
 *     writing    the sectors inside the run go directly, the two ends through the cache; for that, memory must lie as
 *                far from a sector's beginning as its place in the file: rs_file_lead
 */
#ifndef RS_FILE_H
#define RS_FILE_H

#include "engine/together.h"
#include "geometry/grid.h"

enum {
    RS_PATH_MAX = 4096,
    RS_DIRECT_READ = 64 << 10,   /* shorter runs are read through the page cache, which reads ahead */
    RS_DIRECT_WRITE = 256 << 10, /* shorter runs are left to the system, which gathers them */
    RS_DIRECT_BLOCK = 256 << 10, /* smaller blocks are not worth a second descriptor */
};

/* A block's data in an open file. Borrowed: path dies with the caller's storage. */
typedef struct rs_block_file {
    int fd;
    int direct;  /* the same file, opened to pass by the page cache; -1: not */
    bool insist; /* on the latter */
    const char *path;
    int64_t offset; /* of the data */
    const rs_layout *layout;
    const rs_box *stored;
    const resplit_array *array;
    int64_t index[RS_MAX_NDIM]; /* in the whole array */
    bool missing;               /* there is no such file, which means a block full of array->fill */
    const char *memory;         /* the block is no file: its first element; else NULL */
    const int64_t *strides;     /* of it, in bytes */
} rs_block_file;

/* Where the last transfer of a step ended, and how many runs there were: a transfer that does not continue the one
   before it is a seek. next starts as -1. An encoded block is one seek, and as many bytes as its elements have; stored:
   what it has on disk. */
typedef struct rs_cursor {
    int64_t next, seeks, bytes, stored;
} rs_cursor;

/*
 * Reads the elements of `box` into staging; *data, in it, holds them in the layout's order. Staging has room for the
 * box, and for two sectors more when the file is direct.
 */
resplit_status rs_file_read_box(rs_io *io, const rs_block_file *file, const rs_box *box, char *staging, char **data,
                                rs_cursor *cursor, resplit_error *err);

/* Writes memory that holds the box in the layout's order; and the `head` bytes that stand before it, there and
   in the file. */
resplit_status rs_file_write_box(rs_io *io, const rs_block_file *file, const rs_box *box, const char *memory,
                                 int64_t head, rs_cursor *cursor, resplit_error *err);

/*
 * Would the runs of a box be written directly from somewhere else than where they are in memory? Then that is done by
 * the next one, which writes `head` bytes and the box behind them, as they are brought; others of the crew help.
 * Sectors go directly, ends through the cache.
 */
bool rs_file_is_long(const rs_block_file *file, const rs_box *box);
resplit_status rs_file_write_long(rs_together *together, rs_io *io, rs_area area, const rs_block_file *file,
                                  const rs_box *box, int64_t head, rs_bringer what, rs_cursor *cursor,
                                  resplit_error *err);

/* A file system may take the flag for direct transfers and refuse them: then they are to be made through the cache. */
bool rs_file_try_cached(const rs_block_file *file, resplit_status rc, const resplit_error *why);

/* Calls visit with every run of a box, forwards: where it is in the file, and its bytes. */
typedef resplit_status rs_run_visit(int64_t place, int64_t bytes, void *payload, resplit_error *err);
resplit_status rs_file_each_run(const rs_block_file *file, const rs_box *box, rs_run_visit *visit, void *payload,
                                resplit_error *err);

/* Counts the runs of a box as if they had been read. */
void rs_file_count(const rs_block_file *file, const rs_box *box, rs_cursor *cursor);

/* The elements of the longest slices of `box` that can be read directly: its runs, when they are long; else `most`. */
int64_t rs_file_slice_items(const rs_layout *layout, const rs_box *stored, const rs_box *box, int64_t most);

/* Where in the file the box begins, and where it ends. */
int64_t rs_file_place(const rs_block_file *file, const rs_box *box);
int64_t rs_file_end(const rs_block_file *file, const rs_box *box);

/* Bytes between the beginning of a sector and the place, where direct writes want memory to begin. */
static inline int64_t rs_file_lead(int64_t place)
{
    return place % RS_SECTOR;
}

/* Bytes that are no array data. */
resplit_status rs_file_write(int fd, const char *path, const void *bytes, int64_t n, int64_t at, resplit_error *err);

/* path = folder/name, or folder alone when name is "". */
resplit_status rs_path_join(const char *folder, const char *name, char path[RS_PATH_MAX], resplit_error *err);

/* The folder that `path` lies in. */
resplit_status rs_path_parent(const char *path, char parent[RS_PATH_MAX], resplit_error *err);

#endif
