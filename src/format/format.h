/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * format.h - where the bytes of an array are.
 *
 * An array is a layout (geometry, the only thing the planner sees), a type, and an answer to one question: in which file
 * and at which offset are the bytes of block i. The engine asks it and moves the bytes itself; a format never does.
 *
 *     path/                         resplit_array
 *       resplit.json  -- manifest --> layout, dtype, pattern
 *       0_0.npy       -- driver   --> head: dtype, shape, order, offset of the data
 *       0_1.npy
 *
 * A driver knows one kind of block file. What is common to all grids of files (names, manifest, checks) is in
 * folder.c, once.
 */
#ifndef RS_FORMAT_H
#define RS_FORMAT_H

#include "base/text.h"
#include "format/dtype.h"
#include "geometry/grid.h"

enum { RS_NAME_MAX = 256 }; /* bytes of a block's file name, NUL included */

/* What the header of one block file says. */
typedef struct rs_head {
    rs_dtype dtype; /* owned: rs_head_release */
    int ndim;
    int64_t shape[RS_MAX_NDIM];
    char order;          /* 'C' or 'F' */
    int64_t data_offset; /* bytes before the data */
} rs_head;

void rs_head_release(rs_head *head);

typedef struct rs_format {
    const char *name;            /* "npy": printed, and the word on the command line        */
    const char *const *suffixes; /* NULL-terminated; the first one names new blocks          */
    bool has_header;             /* the file describes itself                                */
    /* Parses the header of an open file of `size` bytes; every number is checked. NULL without header. */
    resplit_status (*parse_head)(int fd, int64_t size, const char *path, rs_head *out, resplit_error *err);
    /* Appends the bytes that stand before the data of a block. NULL without header. */
    resplit_status (*make_head)(const rs_head *head, rs_text *out, resplit_error *err);
} rs_format;

const rs_format *rs_format_by_name(const char *name);   /* NULL: none */
const rs_format *rs_format_by_suffix(const char *path); /* NULL: none */

struct resplit_array {
    const rs_format *format;
    char *path; /* owned; NULL when only described */
    rs_dtype dtype;
    rs_layout layout;            /* the whole array; axes borrow from cuts */
    char order;                  /* 'C' or 'F', the same as layout.order */
    int64_t *cuts[RS_MAX_NDIM];  /* owned positions of uneven axes, else NULL */
    char *pattern;               /* owned; NULL: one file, the path itself */
    int64_t data_offset;         /* of every block, when offsets is NULL */
    int64_t *offsets;            /* owned; per block in C order, when they differ */
    int64_t origin[RS_MAX_NDIM]; /* a target: where it lies in its source */
    bool overwrite;              /* a target: replace what is there */
    uint64_t stamp;              /* of an array that was opened: changes when a block file is written */
    uint64_t fingerprint;        /* of the values, as the manifest says; 0: it does not */
    resplit_info info;           /* the public view of all this */
};

resplit_status rs_array_open(const char *path, const resplit_spec *spec, resplit_array **out, resplit_error *err);
resplit_status rs_array_describe(const resplit_spec *spec, resplit_array **out, resplit_error *err);
resplit_status rs_array_create(const char *path, const resplit_array *source, const resplit_target *target,
                               resplit_array **out, resplit_error *err);
void rs_array_close(resplit_array *array);

/* File name of a block inside the folder; "" for an array that is one file. `index` counts blocks of the whole array. */
resplit_status rs_array_block_name(const resplit_array *array, const int64_t *index, char name[RS_NAME_MAX],
                                   resplit_error *err);

/* Bytes before the data of a block. */
int64_t rs_array_block_offset(const resplit_array *array, const int64_t *index);

/* Appends the header that a new block file starts with (nothing for raw): exactly rs_array_block_offset bytes. */
resplit_status rs_array_block_head(const resplit_array *array, const int64_t *index, rs_text *out, resplit_error *err);

/* The manifest of a folder: its file name, and its text. fingerprint: of the values, token: of the run; 0: none. */
#define RS_MANIFEST_NAME "resplit.json"
resplit_status rs_manifest_write(const resplit_array *array, uint64_t fingerprint, uint64_t token, rs_text *out,
                                 resplit_error *err);

/* The token in the manifest of the folder `path`; 0: none. */
uint64_t rs_manifest_token(const char *path);

#endif
