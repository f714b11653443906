/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5_grid.c - HDF5 as one of the formats, and grids of HDF5 files with a dataset in each. */
#include "format/drivers.h"
#include "format/hdf5_array.h"

const rs_format rs_format_hdf5 = {
    .name = "hdf5",
    .suffixes = (const char *const[]){".h5", ".hdf5", ".he5", ".nc", ".nc4", NULL},
    .has_header = true,
};
