/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5_driver.c - a driver of libhdf5 for a descriptor, or for memory. It locks nothing: sources are only read,
   targets are ours. */
#include "format/hdf5_driver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct driver_file {
    H5FD_t base; /* first: libhdf5 knows only this */
    rs_hdf5_io io;
    int fd; /* -1: in memory */
    haddr_t eoa, eof;
    dev_t device;
    ino_t inode;
} driver_file;

/* ---- Opening --------------------------------------------------------------------------------- */

static int open_descriptor(driver_file *file, const char *name, unsigned flags)
{
    struct stat st;
    bool write = (flags & H5F_ACC_RDWR) != 0;
    file->fd = file->io.has_fd ? fcntl(file->io.fd, F_DUPFD_CLOEXEC, 0)
                               : open(name, (write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file->fd < 0) {
        return errno;
    }
    if (fstat(file->fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        (void)close(file->fd);
        return EINVAL;
    }
    file->device = st.st_dev;
    file->inode = st.st_ino;
    /* a file that is made has data in it already, which libhdf5 is not to see: it would look for a superblock */
    file->eof = (flags & H5F_ACC_TRUNC) != 0 ? 0 : (haddr_t)st.st_size;
    return 0;
}

static H5FD_t *driver_open(const char *name, unsigned flags, hid_t access, haddr_t most)
{
    const rs_hdf5_io *io = H5Pget_driver_info(access);
    (void)most;
    driver_file *file = io == NULL ? NULL : calloc(1, sizeof *file);
    if (file == NULL) {
        return NULL;
    }
    file->io = *io;
    file->io.offset = file->io.place = -1;
    file->fd = -1;
    if (io->memory != NULL) {
        file->eof = (flags & H5F_ACC_TRUNC) != 0 ? 0 : io->memory->n;
    } else if (open_descriptor(file, name, flags) != 0) {
        free(file);
        return NULL;
    }
    return &file->base;
}

/* ---- What it is told ---------------------------------------------------------------------------- */

static void *copy_io(const void *io)
{
    rs_hdf5_io *out = malloc(sizeof *out);
    if (out != NULL) {
        memcpy(out, io, sizeof *out);
    }
    return out;
}

/* For files that libhdf5 opens on behalf of this one, by their names: what a virtual dataset is made of. */
static void *get_io(H5FD_t *base)
{
    (void)base;
    return copy_io(&(const rs_hdf5_io){.offset = -1, .place = -1});
}

static herr_t free_io(void *io)
{
    free(io);
    return 0;
}

static herr_t driver_close(H5FD_t *base)
{
    driver_file *file = (driver_file *)base;
    int failed = file->fd >= 0 ? close(file->fd) : 0;
    free(file);
    return failed == 0 || errno == EINTR ? 0 : -1;
}

/* Order does not matter, only whether two are the same file. */
static int driver_compare(const H5FD_t *a, const H5FD_t *b)
{
    const driver_file *x = (const driver_file *)a, *y = (const driver_file *)b;
    if (x->fd < 0 || y->fd < 0) {
        return x < y ? -1 : x > y;
    }
    if (x->device != y->device) {
        return x->device < y->device ? -1 : 1;
    }
    return x->inode < y->inode ? -1 : x->inode > y->inode;
}

static herr_t driver_query(const H5FD_t *base, unsigned long *flags)
{
    (void)base;
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA; /* raw data: never */
    return 0;
}

/* ---- Space ----------------------------------------------------------------------------------- */

static haddr_t driver_allocate(H5FD_t *base, H5FD_mem_t type, hid_t transfer, hsize_t size)
{
    driver_file *file = (driver_file *)base;
    (void)transfer;
    if (type == H5FD_MEM_DRAW && file->io.place >= 0) {
        haddr_t place = (haddr_t)file->io.place;
        file->io.place = -1;
        return place;
    }
    haddr_t floor = (haddr_t)rs_max(file->io.floor, 0), at = file->eoa > floor ? file->eoa : floor;
    haddr_t most = file->io.memory != NULL ? (haddr_t)rs_hdf5_most_memory(&file->io) : INT64_MAX;
    if (at > most || size > most - at) {
        return HADDR_UNDEF;
    }
    file->eoa = at + size;
    return at;
}

static haddr_t driver_get_eoa(const H5FD_t *base, H5FD_mem_t type)
{
    const driver_file *file = (const driver_file *)base;
    (void)type;
    return file->io.end > 0 && (haddr_t)file->io.end > file->eoa ? (haddr_t)file->io.end : file->eoa;
}

static herr_t driver_set_eoa(H5FD_t *base, H5FD_mem_t type, haddr_t address)
{
    (void)type;
    ((driver_file *)base)->eoa = address;
    return 0;
}

static haddr_t driver_get_eof(const H5FD_t *base, H5FD_mem_t type)
{
    (void)type;
    return ((const driver_file *)base)->eof;
}

static herr_t driver_handle(H5FD_t *base, hid_t access, void **out)
{
    (void)access;
    *out = &((driver_file *)base)->io;
    return 0;
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

/* What lies behind the end is zero, as in other drivers. */
static bool read_descriptor(int fd, haddr_t at, size_t n, char *out)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(fd, out + done, n - done, (off_t)(at + done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return false;
        }
        if (got == 0) {
            memset(out + done, 0, n - done);
            return true;
        }
        done += (size_t)got;
    }
    return true;
}

static bool write_descriptor(int fd, haddr_t at, size_t n, const char *bytes)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = pwrite(fd, bytes + done, n - done, (off_t)(at + done));
        if (got < 0 && errno != EINTR) {
            return false;
        }
        done += got > 0 ? (size_t)got : 0;
    }
    return true;
}

static void read_memory(const rs_text *text, haddr_t at, size_t n, char *out)
{
    size_t there = at < text->n ? text->n - (size_t)at : 0;
    there = there < n ? there : n;
    memset(out, 0, n);
    if (there > 0) {
        memcpy(out, text->s + at, there);
    }
}

static bool grow(rs_text *text, haddr_t end)
{
    static const char zeros[512];
    while (text->n < end) {
        size_t more = end - text->n < sizeof zeros ? (size_t)(end - text->n) : sizeof zeros;
        if (rs_text_add_bytes(text, zeros, more, NULL) != RESPLIT_OK) {
            return false;
        }
    }
    return true;
}

static herr_t driver_read(H5FD_t *base, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t n, void *out)
{
    driver_file *file = (driver_file *)base;
    (void)transfer;
    if (at > INT64_MAX || n > INT64_MAX - at) {
        return -1;
    }
    if (file->io.noting && type == H5FD_MEM_DRAW) {
        file->io.offset = (int64_t)at;
        file->io.bytes = (int64_t)n;
        return 0;
    }
    if (file->fd < 0) {
        read_memory(file->io.memory, at, n, out);
        return 0;
    }
    return read_descriptor(file->fd, at, n, out) ? 0 : -1;
}

static herr_t driver_write(H5FD_t *base, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t n, const void *bytes)
{
    driver_file *file = (driver_file *)base;
    (void)transfer;
    if (at > INT64_MAX || n > INT64_MAX - at) {
        return -1;
    }
    if (file->io.noting && type == H5FD_MEM_DRAW) {
        return 0;
    }
    if (file->fd < 0) {
        if (!grow(file->io.memory, at + n)) {
            return -1;
        }
        memcpy(file->io.memory->s + at, bytes, n);
    } else if (!write_descriptor(file->fd, at, n, bytes)) {
        return -1;
    }
    file->eof = file->eof > at + n ? file->eof : at + n;
    return 0;
}

/* The file ends where what is allocated does. */
static herr_t driver_truncate(H5FD_t *base, hid_t transfer, hbool_t closing)
{
    driver_file *file = (driver_file *)base;
    (void)transfer;
    (void)closing;
    bool done = file->fd < 0 ? grow(file->io.memory, file->eoa) : ftruncate(file->fd, (off_t)file->eoa) == 0;
    file->eof = file->eoa;
    return done ? 0 : -1;
}

static const H5FD_class_t driver = {
#ifdef H5FD_CLASS_VERSION
    .version = H5FD_CLASS_VERSION,
    .value = (H5FD_class_value_t)(H5FD_VFD_RESERVED + 77), /* of drivers that are nowhere registered */
#endif
    .name = "resplit",
    .maxaddr = INT64_MAX,
    .fc_degree = H5F_CLOSE_STRONG,
    .fapl_size = sizeof(rs_hdf5_io),
    .fapl_get = get_io,
    .fapl_copy = copy_io,
    .fapl_free = free_io,
    .open = driver_open,
    .close = driver_close,
    .cmp = driver_compare,
    .query = driver_query,
    .alloc = driver_allocate,
    .get_eoa = driver_get_eoa,
    .set_eoa = driver_set_eoa,
    .get_eof = driver_get_eof,
    .get_handle = driver_handle,
    .read = driver_read,
    .write = driver_write,
    .truncate = driver_truncate,
    .fl_map = H5FD_FLMAP_DEFAULT,
};

/* Registered for good: version 1.10 forgets a driver that nobody else has when it closes a file, and then has it
   close the file. */
static hid_t driver_id(void)
{
    static hid_t id = -1;
    if (id < 0 || H5Iget_type(id) != H5I_VFL) { /* the program that we are in may have closed all of libhdf5 */
        id = H5FDregister(&driver);
    }
    return id;
}

/*
 * Of metadata that were read, 256 KiB are kept, where libhdf5 would keep up to 32 MiB: they are read in order, once. In
 * memory, nodes of an index of chunks take eight times as much.
 */
static bool limit_cache(hid_t access)
{
    H5AC_cache_config_t config = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};
    if (H5Pget_mdc_config(access, &config) < 0) {
        return false;
    }
    config.set_initial_size = true;
    config.initial_size = config.min_size = config.max_size = 256 << 10;
    return H5Pset_mdc_config(access, &config) >= 0;
}

/* Files that are made are closed with everything in them. Those of others are not: virtual datasets find
   them only so. */
hid_t rs_hdf5_access(const rs_hdf5_io *io, bool made)
{
    hid_t id = driver_id(), access = id >= 0 ? H5Pcreate(H5P_FILE_ACCESS) : -1;
    bool done = access >= 0 && H5Pset_driver(access, id, io) >= 0 && limit_cache(access)
                && H5Pset_fclose_degree(access, made ? H5F_CLOSE_STRONG : H5F_CLOSE_WEAK) >= 0;
    if (!done && access >= 0) {
        (void)H5Pclose(access);
    }
    return done ? access : -1;
}

rs_hdf5_io *rs_hdf5_io_of(hid_t file)
{
    void *io = NULL;
    return H5Fget_vfd_handle(file, H5P_DEFAULT, &io) >= 0 ? io : NULL;
}
