/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * minc.h - what a MINC 2 file says of its image. It is an HDF5 file:
 *
 *     minc-2.0/                     history, ident
 *         dimensions/zspace         length, start, step, direction_cosines, units; irregular: a coordinate for each voxel
 *         dimensions/zspace-width
 *         image/0/image             the voxels; dimorder names its axes, the slowest first
 *         image/0/image-min, -max   what stored integers mean: one number, or one for each slice along some axes
 *         image/1 ...               the same image, smaller
 *         info/...                  anything
 *
 * An array keeps what the file of the whole image has, without its voxels, as a file in memory, the head. The file of a
 * piece is made from that: tables, which have a number for each position along some axes, are cut as the image is;
 * `start` and `length` become those of the piece; everything else is copied. Only with the lock of hdf5.h, but for
 * minc_array.c. Private to this room.
 */
#ifndef RS_MINC_H
#define RS_MINC_H

#include "format/hdf5.h"
#include "format/minc_array.h"
#include "geometry/copy.h"

#define RS_MINC_IMAGE "/minc-2.0/image/0/image"

enum {
    RS_MINC_NAME = 64,                        /* bytes of the name of an axis, NUL included */
    RS_MINC_PATH = 128,                       /* and of an object */
    RS_MINC_MAX_TABLES = 2 + 2 * RS_MAX_NDIM, /* image-min and -max; coordinates and widths of each axis */
    RS_MINC_MOST_CELLS = 1 << 22,             /* of a table: they are held in memory */
};

typedef struct rs_minc_axis {
    char name[RS_MINC_NAME];
    bool described; /* there is such a dimension: files may leave out that of vectors */
    bool placed;    /* its voxels are somewhere: not those of a vector, unless the file says so */
    bool irregular; /* a table has its coordinates */
    double start, step;
} rs_minc_axis;

/* Numbers along some axes of the image. */
typedef struct rs_minc_table {
    char name[RS_MINC_PATH]; /* of the object, from the root */
    int ndim;                /* 0: one number for all */
    int axis[RS_MAX_NDIM];
    double *value; /* C order; owned */
    int64_t *by;   /* while blocks are put together: 1 + number of the block that has said it; 0: none yet. Owned */
} rs_minc_table;

/* An attribute that blocks are compared by. */
typedef struct rs_minc_field {
    char object[RS_MINC_PATH], name[RS_MINC_NAME];
    rs_text value; /* the text, or doubles */
    bool text;
} rs_minc_field;

typedef struct rs_minc {
    int ndim;
    int64_t shape[RS_MAX_NDIM];
    rs_minc_axis axis[RS_MAX_NDIM];
    int n_tables;
    rs_minc_table table[RS_MINC_MAX_TABLES];
    rs_minc_field *field; /* owned, in no order */
    int n_fields;
    rs_text type;  /* of voxels, as H5Tencode writes it */
    rs_text head;  /* a file; empty: not taken yet */
    rs_text line;  /* of a target: what its history gets */
    bool smaller;  /* there are image/1 and so on */
    rs_text notes; /* what is strange in the file */
} rs_minc;

resplit_status rs_minc_copy(const rs_minc *from, rs_minc **out, resplit_error *err);

/* The box of a table that a box of the image has, along the table's own axes. */
rs_box rs_minc_table_box(const rs_minc_table *table, const rs_box *box);

/* A view of memory that has those numbers of a table. */
rs_view rs_minc_view(const rs_minc_table *table, const rs_box *box, double *values);

/* The table of the coordinates of an axis; NULL: none. */
const rs_minc_table *rs_minc_coordinates(const rs_minc *minc, int d);

/* Where the voxel `at` of an axis is along it: what `start` becomes for a piece that begins there. */
double rs_minc_start(const rs_minc *minc, int d, int64_t at);

/* ---- From other formats: minc_draft.c, minc_make.c ---- */

typedef struct rs_minc_dimension {
    char name[RS_MINC_NAME], unit[RS_MINC_NAME]; /* unit "": not known */
    bool in_space, placed;                       /* placed: it has a start and a step */
    double start, step, cosines[3];
} rs_minc_dimension;

/* What an image has to say, in the words of MINC. */
typedef struct rs_minc_draft {
    int ndim;
    int64_t shape[RS_MAX_NDIM];
    rs_minc_dimension dimension[RS_MAX_NDIM];
    bool ranged;              /* of integers: there is a range */
    double range[2], real[2]; /* valid_range; image-min and image-max */
} rs_minc_draft;

/* An image of it, its head taken. */
resplit_status rs_minc_make(const rs_minc_draft *draft, const rs_dtype *dtype, rs_minc **out, resplit_error *err);

/* ---- minc_fields.c: attributes ---- */

/* Up to its NUL. False: there is no such text. */
bool rs_minc_text(hid_t object, const char *name, rs_text *out);

/* The first `most` numbers; returns how many there are, 0 when it is no number. */
int rs_minc_numbers(hid_t object, const char *name, int most, double *out);

/* Adds those of an object; does nothing when there is none. */
resplit_status rs_minc_add_fields(hid_t file, const char *object, rs_minc *out, resplit_error *err);

/* One of any bytes. */
resplit_status rs_minc_add_field(rs_minc *minc, const char *object, const char *name, const void *bytes, size_t n,
                                 resplit_error *err);

/* ---- minc_others.c ---- */

/* Adds attributes and values of everything else that is in a file. */
resplit_status rs_minc_add_others(hid_t file, const char *path, rs_minc *minc, resplit_error *err);

/* ---- minc_fields.c, again: names and comparisons ---- */

/* "zspace,yspace,xspace" into names; how many there are, no more than `most`, -1 for what is no such list. */
int rs_minc_names(const char *text, char names[][RS_MINC_NAME], int most);

/* NULL: there is none. */
const rs_minc_field *rs_minc_find_field(const rs_minc *minc, const char *object, const char *name);

/* A field that is not the same in two files. */
typedef struct rs_minc_difference {
    char field[RS_MINC_PATH + RS_MINC_NAME + 8]; /* "": none */
    char has[80], wants[80];
    char noted[RS_MINC_PATH + RS_MINC_NAME + 8]; /* one that differs but may; "": none */
} rs_minc_difference;

void rs_minc_compare_fields(const rs_minc *wants, const rs_minc *has, rs_minc_difference *out);

/* ---- minc_read.c ---- */

/* Does an HDF5 file have the image of MINC 2? */
bool rs_minc_is(hid_t file);

/* Everything but the head. */
resplit_status rs_minc_read(hid_t file, const char *path, rs_minc **out, resplit_error *err);

/* ---- minc_write.c ---- */

/* Takes what is in a file, but for voxels and smaller images, as minc->head. */
resplit_status rs_minc_take(hid_t file, const char *path, rs_minc *minc, resplit_error *err);

/* A new file in memory; closing it keeps an error that there was before. */
resplit_status rs_minc_new_file(rs_text *memory, hid_t *out, resplit_error *err);
resplit_status rs_minc_close_file(hid_t file, resplit_status rc, resplit_error *err);

/* Sets an attribute. */
bool rs_minc_set_text(hid_t object, const char *name, const char *text);

/* Opens the head, only to read. */
resplit_status rs_minc_open(const rs_minc *minc, hid_t *out, resplit_error *err);

/*
 * Everything but the voxels of the piece `box` of the image, from the head, which is open as `from`, to a new file.
 * `dataset` is the piece's own, of which this file has no name yet.
 */
resplit_status rs_minc_put(const rs_minc *minc, const rs_box *box, hid_t from, hid_t to, hid_t dataset,
                           const char *path, resplit_error *err);

#endif
