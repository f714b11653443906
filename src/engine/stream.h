/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stream.h - a source of one compressed block, read forwards, once: slices are handed out in the order of the file, and
 * workers take what follows in the order in which slices were handed out.
 *
 *     worker 1:  [slice 0: decompress | copy ...]              [slice 2: ...
 *     worker 2:                       [slice 1: decompress | copy ...]
 */
#ifndef RS_STREAM_H
#define RS_STREAM_H

#include "codec/gunzip.h"
#include "engine/file.h"

#include <pthread.h>

typedef struct rs_stream {
    int fd;
    char path[RS_PATH_MAX];
    pthread_mutex_t lock;
    pthread_cond_t change;
    rs_gunzip *gunzip;
    int64_t at;   /* bytes that were decompressed */
    int64_t next; /* whose turn it is */
    bool aborted;
} rs_stream;

/* The file of a block. Close it also after a failure. */
resplit_status rs_stream_open(rs_stream *stream, const resplit_array *array, const int64_t *index, resplit_error *err);
void rs_stream_close(rs_stream *stream);

/* The elements of `box` into memory, in the file's order. Waits until `turn` comes; -1: nobody else reads. */
resplit_status rs_stream_read(rs_stream *stream, int64_t turn, const rs_block_file *file, const rs_box *box,
                              char *memory, rs_cursor *cursor, resplit_error *err);

/* Nobody waits any longer: somebody failed. */
void rs_stream_abort(rs_stream *stream);

/* Does the stream end after `bytes`, and is its checksum right? Reads what is left of it; options, which may be NULL,
   can stop that. */
resplit_status rs_stream_finish(rs_stream *stream, int64_t bytes, const resplit_run_options *options,
                                resplit_error *err);

#endif
