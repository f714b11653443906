/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hdf5_driver.h - how libhdf5 gets at a file: through us, so that array data never go through it.
 *
 *     noting     raw data are neither read nor written, but noted: H5Dread_chunk then tells where a chunk is, in
 *                microseconds, where the calls that are meant for it take as long as there are chunks; and
 *                H5Dwrite_chunk makes the index of chunks that are in the file already
 *     placing    where the next raw data go is said by us, everything else goes behind a floor: so metadata are put
 *                around data that the engine has written
 *
 * Only with the lock of hdf5.h. Private to this room.
 */
#ifndef RS_HDF5_DRIVER_H
#define RS_HDF5_DRIVER_H

#include "base/text.h"
#include "format/hdf5_calls.h"

enum { RS_HDF5_MOST_MEMORY = 64 << 20 }; /* bytes of a file in memory: metadata are outside the budget */

typedef struct rs_hdf5_io {
    bool noting;
    int64_t offset, bytes; /* noted: in the file, from its very beginning; offset -1: nothing yet */
    int64_t place;         /* of the next raw data that are allocated; -1: behind everything else */
    int64_t floor;         /* a new file: what is not placed goes behind it */
    int64_t end;           /* a new file: what it says of where it ends, when that is behind everything else */
    bool has_fd;           /* it is open already, and stays so */
    int fd;
    rs_text *memory; /* the file is here; NULL: it is on disk */
    int64_t most;    /* bytes that it may have there; 0: RS_HDF5_MOST_MEMORY */
} rs_hdf5_io;

static inline int64_t rs_hdf5_most_memory(const rs_hdf5_io *io)
{
    return io->most > 0 ? io->most : RS_HDF5_MOST_MEMORY;
}

/* A list of access properties for files by this driver; `io` says how they begin. Negative: libhdf5 has failed.
   made: a new file. */
hid_t rs_hdf5_access(const rs_hdf5_io *io, bool made);

/* Of an open file; NULL: not by this driver. */
rs_hdf5_io *rs_hdf5_io_of(hid_t file);

#endif
