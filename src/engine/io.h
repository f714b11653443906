/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * io.h - moves bytes between memory and files: the only place that does.
 *
 *     rs_io_move(io, {read 512 KiB at 0, read 512 KiB at 512 KiB, ...}, n)      all done, or an error
 *
 * Each worker has an rs_io of its own, so nothing here is shared but what is known of shedding, and the gate that long
 * transfers pass. What a backend adds is how many of the transfers of one call are under way at once: io_uring all of
 * them, the portable one a single one (then workers are what overlaps).
 */
#ifndef RS_IO_H
#define RS_IO_H

#include "engine/gate.h"
#include "engine/shed.h"

enum {
    RS_IO_DEPTH = 32, /* transfers in one call at most */
    RS_SECTOR = 4096, /* no device asks for more */
};

typedef struct rs_transfer {
    int fd;
    bool write;
    char *memory;
    int64_t n, at;
    int64_t least; /* a read: fewer bytes than n will do, down to this, when the file ends there */
} rs_transfer;

typedef struct rs_io rs_io;

typedef struct rs_io_backend {
    const char *name;
    /* Zero, or errno. */
    int (*start)(rs_io *io);
    void (*stop)(rs_io *io);
    /* Makes all transfers. Zero, or errno and which one failed; nothing is under way then. ENODATA: the file ended. */
    int (*move)(rs_io *io, rs_transfer *list, int n, int *failed);
} rs_io_backend;

struct rs_io {
    const rs_io_backend *backend;
    void *state;           /* the backend's */
    rs_shedding *shedding; /* of the run; NULL: nothing is shed */
    rs_gate *gate;         /* of the run; NULL: there is none */
};

extern const rs_io_backend rs_io_threads;
extern const rs_io_backend *const rs_io_uring; /* NULL: not built in */

/* name: "uring", "threads", or "auto" (NULL): the first that works here. */
resplit_status rs_io_start(rs_io *io, const char *name, resplit_error *err);
void rs_io_stop(rs_io *io);

/* Makes n <= RS_IO_DEPTH transfers, all in the file `path`. */
resplit_status rs_io_move(rs_io *io, rs_transfer *list, int n, const char *path, resplit_error *err);

#endif
