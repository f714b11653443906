/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * array.h - how an array is put together, from wherever its facts come (a spec, headers, names, a manifest):
 *
 *     new -> format, dtype, order, path, pattern -> axes -> finish
 *
 * Private to this room.
 */
#ifndef RS_ARRAY_H
#define RS_ARRAY_H

#include "base/apart.h"
#include "format/format.h"
#include "format/pattern.h"

/* Everything zero; no axes yet. */
resplit_status rs_array_new(resplit_array **out, resplit_error *err);

/* The length that is asked for along axis d, in elements: -1 becomes the extent. */
resplit_status rs_chunk_check(int d, int64_t extent, int64_t *length, resplit_error *err);

/* How axis d of the given extent is cut. NULL: not at all. */
resplit_status rs_array_cut_axis(resplit_array *array, int d, int64_t extent, const resplit_chunks *chunks,
                                 resplit_error *err);

/* All axes of a spec with a shape. */
resplit_status rs_array_cut(resplit_array *array, int ndim, const int64_t *shape, const resplit_chunks *chunks,
                            resplit_error *err);

/* What was the array, a grid of files, becomes its `files`, which have parts that are blocks. */
resplit_status rs_array_move_files(resplit_array *array, resplit_error *err);

/* Length of the chunks along axis d, or of the first, when they differ. */
int64_t rs_array_chunk(const resplit_array *array, int d);

/* "{0}_{1}" and the suffix; the caller frees *out. */
resplit_status rs_pattern_default(int ndim, const char *suffix, char **out, resplit_error *err);

/* Bytes before the data of new blocks: one number that serves all, also the one with the longest header. */
resplit_status rs_array_set_offset(resplit_array *array, resplit_error *err);

/* The index that a block of a turned array has in the array itself. */
const int64_t *rs_array_own_index(const resplit_array *view, const int64_t *index, int64_t own[RS_MAX_NDIM]);

/* What it takes to read, or to write, encoded blocks of at most `stored` bytes. RESPLIT_EUNSUPPORTED: more than their
   codecs can do. */
resplit_status rs_array_set_coding(resplit_array *array, bool encode, int64_t stored, double ratio, resplit_error *err);

/* Appends what the header of an array that is there says, in a line, for the public view. */
resplit_status rs_array_words(const resplit_array *array, rs_text *out, resplit_error *err);

/* Checks that everything can be counted and named, and fills the public view. Last step. */
resplit_status rs_array_finish(resplit_array *array, resplit_error *err);

/* To the process that had a new array filled by another one. Only files, datasets of HDF5, and grids of
   them are passed. */
void rs_array_pass(rs_wire *wire, void *array);

/* And there, when it has come. */
resplit_status rs_array_take(resplit_array *array, resplit_error *err);

/* Whether a spec is in itself sound; NULL is. */
resplit_status rs_spec_check(const resplit_spec *spec, resplit_error *err);

/* Whether what the user said is what the files say; a contradiction is RESPLIT_EINVAL and names both. */
resplit_status rs_array_agree(const resplit_array *array, const resplit_spec *spec, resplit_error *err);

/* Size of a block file, and for drivers with header the header in it, against what the array expects. */
/* `stamp` changes when the file does: its size and when it was last written. */
typedef struct rs_blockfile {
    uint64_t stamp;
    int64_t size;
    rs_head head; /* zero without header */
} rs_blockfile;

/* Opens, looks, closes. `folder` is an open folder or AT_FDCWD; `path` is for messages. *missing (may be NULL) tells
 * that there is no such file, which is then no failure. */
resplit_status rs_blockfile_read(const rs_format *format, int folder, const char *name, const char *path,
                                 rs_blockfile *out, bool *missing, resplit_error *err);
void rs_blockfile_release(rs_blockfile *file);

/* Whether the size is what shape, type and offset say. */
resplit_status rs_blockfile_check_size(const char *path, int64_t size, int64_t offset, int64_t bytes,
                                       resplit_error *err);

/* 'C' or 'F', or 0 for a head to which it makes no difference: at most one axis is longer than 1. */
char rs_head_order(const rs_head *head);

/* Of an array that was opened, and is finished: its blocks are compressed; bytes of the largest, and of all of them. */
resplit_status rs_array_set_encoded(resplit_array *array, int64_t most, int64_t all, resplit_error *err);

/* A whole folder. */
resplit_status rs_folder_open(const char *path, const resplit_spec *spec, resplit_array **out, resplit_error *err);

/* "4,5,6" into room for any shape; for messages. */
enum { RS_SHAPE_TEXT = RS_MAX_NDIM * 21 + 1 };
const char *rs_shape_text(int ndim, const int64_t *shape, char text[RS_SHAPE_TEXT]);

#endif
