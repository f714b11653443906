/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5_seal.h - metadata around the blocks of a target: hdf5_seal.c goes from file to file, hdf5_write.c does one.
   Private to both. */
#ifndef RS_HDF5_SEAL_H
#define RS_HDF5_SEAL_H

#include "format/hdf5.h"

/* One file of the array, which may be all of it. */
typedef struct rs_hdf5_sealed {
    const char *path;                           /* where it grows */
    int64_t floor;                              /* behind its blocks */
    rs_box box;                                 /* in elements of the array */
    int64_t first[RS_MAX_NDIM], n[RS_MAX_NDIM]; /* its blocks */
} rs_hdf5_sealed;

typedef struct rs_hdf5_sealing {
    const resplit_array *array;
    const char *path; /* of the target, for messages */
    const char *data; /* where it grows */
    rs_file_range files;
    rs_text *memory; /* only a trial: the first file is here, without blocks; else NULL */
    rs_array_entry *entry;
    void *payload;
    hid_t origin_file, origin; /* -1: the source is not HDF5 */
    bool typed;                /* a trial: the type of elements is known without it */
    bool leaves;         /* a trial has found that other objects are in the source's file, which do not go along */
    rs_hdf5_sealed at;   /* the file at hand, */
    hid_t file, dataset; /* which is open */
} rs_hdf5_sealing;

/* Makes the file at hand, and closes it. */
resplit_status rs_hdf5_write_file(rs_hdf5_sealing *s, resplit_error *err);

/* Closes what is open of it, with the error that there was, if any. */
resplit_status rs_hdf5_close_sealed(rs_hdf5_sealing *s, resplit_status rc, resplit_error *err);

#endif
