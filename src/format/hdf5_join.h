/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5_join.h - a grid of HDF5 files in chunks, put together. Nothing of libhdf5; private to this room. */
#ifndef RS_HDF5_JOIN_H
#define RS_HDF5_JOIN_H

#include "format/array.h"

typedef struct rs_hdf5_joint rs_hdf5_joint;

/*
 * Adds a file of a grid, with what it is as an array of its own, of which it takes what it keeps; *joint is made for
 * the first, number 0. RESPLIT_EUNSUPPORTED: its chunks do not go with those of others.
 */
resplit_status rs_hdf5_joint_add(rs_hdf5_joint **joint, const rs_layout *files, int64_t number, const int64_t *index,
                                 resplit_array **file, const char *shown, const char *first, resplit_error *err);

/* Makes of an array that is a grid of files one of their chunks, when all have been added. */
resplit_status rs_hdf5_join(rs_hdf5_joint *joint, resplit_array *array, resplit_error *err);

void rs_hdf5_joint_free(rs_hdf5_joint *joint);

#endif
