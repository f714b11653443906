/* SPDX-License-Identifier: BSD-3-Clause */
/* drivers.h - the drivers of this build, for the table in format.c. */
#ifndef RS_DRIVERS_H
#define RS_DRIVERS_H

#include "format/format.h"

extern const rs_format rs_format_npy;
extern const rs_format rs_format_raw;
extern const rs_format rs_format_zarr2, rs_format_zarr3; /* no files with blocks of their own: see zarr_array.h */

extern const rs_format rs_format_hdf5;
extern const rs_format rs_format_minc2;
extern const rs_format rs_format_nifti;                    /* any version, by suffix */
extern const rs_format rs_format_nifti1, rs_format_nifti2; /* what it turns out to be */

/* The drivers by number, from 0; NULL past the last. */
const rs_format *rs_format_at(int i);

/* RESPLIT_EINVAL: there is no such format; says which there are. */
resplit_status rs_fail_format(const char *name, resplit_error *err);

/* Whether a file begins like a .npy file: content decides, the suffix is only a hint. */
resplit_status rs_npy_probe(int fd, const char *path, bool *out, resplit_error *err);

/* Whether a file begins like a NIfTI file that is not compressed. */
resplit_status rs_nifti_probe_file(int fd, const char *path, bool *out, resplit_error *err);

/*
 * Elements of a shape, and their bytes. False when they do not fit an int64_t; an axis of no length does not excuse the
 * others, so that every partial product is safe.
 */
bool rs_shape_count(int ndim, const int64_t *shape, int64_t itemsize, int64_t *n_elements, int64_t *bytes);

#endif
