/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hdf5_grid.c - HDF5 as one of the formats, and grids of HDF5 files with a dataset in each, which are plain bytes behind a head:
 *
 *     [ superblock, root group, header of the dataset | elements ]
 *
 * The head is a whole file that libhdf5 makes in memory, but for the elements, which it is told are behind it.
 */
#include "format/drivers.h"
#include "format/hdf5.h"
#include "format/hdf5_array.h"

#include <stdlib.h>

/* ---- Reading ----------------------------------------------------------------------------------- */

typedef struct looking {
    const char *path;
    int64_t size;
    hid_t file, dataset, space, type, creation;
    char *name; /* of the dataset; owned */
} looking;

static resplit_status read_shape(const looking *l, rs_head *out, resplit_error *err)
{
    hsize_t dims[H5S_MAX_RANK], most[H5S_MAX_RANK];
    out->ndim = H5Sget_simple_extent_ndims(l->space);
    if (out->ndim < 0 || out->ndim > RS_MAX_NDIM || H5Sget_simple_extent_dims(l->space, dims, most) < 0) {
        return rs_hdf5_fail(err, RESPLIT_EUNSUPPORTED,
                            "the dataset of '%s' has %d axes, of which at most %d are handled", l->path, out->ndim,
                            RS_MAX_NDIM);
    }
    for (int d = 0; d < out->ndim; d++) {
        if (dims[d] > INT64_MAX / 2 || dims[d] > most[d]) { /* no limit is the largest number */
            return rs_fail(err, RESPLIT_EFORMAT, "axis %d of '%s' is too long: %llu", d, l->path,
                           (unsigned long long)dims[d]);
        }
        out->shape[d] = (int64_t)dims[d];
    }
    out->order = 'C';
    return RESPLIT_OK;
}

/* Elements that lie together, in this file. */
static resplit_status find_data(const looking *l, rs_head *out, resplit_error *err)
{
    int64_t n_elements, bytes;
    H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
    haddr_t at = H5Dget_offset(l->dataset);
    if (!rs_shape_count(out->ndim, out->shape, out->dtype.itemsize, &n_elements, &bytes)) {
        return rs_fail(err, RESPLIT_EFORMAT, "the dataset of '%s' is larger than a file can be", l->path);
    }
    if (H5Pget_layout(l->creation) != H5D_CONTIGUOUS || H5Pget_external_count(l->creation) > 0) {
        return rs_fail(
            err, RESPLIT_EUNSUPPORTED,
            "the dataset of '%s' is neither contiguous nor in chunks, as those of a grid of files have to be: h5repack "
            "-l CONTI makes it so",
            l->path);
    }
    bool there = H5Dget_space_status(l->dataset, &status) >= 0 && status == H5D_SPACE_STATUS_ALLOCATED;
    if (bytes > 0 && (!there || at > (haddr_t)l->size || bytes > l->size - (int64_t)at)) {
        return rs_fail(err, RESPLIT_EFORMAT, "'%s' has not the %lld bytes that its dataset should have", l->path,
                       (long long)bytes);
    }
    out->data_offset = bytes > 0 ? (int64_t)at : 0;
    return RESPLIT_OK;
}

/* As an array of its own. */
static resplit_status read_chunks(const looking *l, rs_head *out, resplit_error *err)
{
    RS_TRY(rs_array_new(&out->stored, err));
    RS_TRY(rs_hdf5_read_dataset(l->file, l->path, l->size, l->name, out->stored, err));
    return !out->stored->hdf5->through
               ? RESPLIT_OK
               : rs_fail(err, RESPLIT_EUNSUPPORTED,
                         "the dataset of '%s' has filters that only libhdf5 can undo: h5repack -f can write it with "
                         "another, as GZIP=1",
                         l->path);
}

static resplit_status look_at(looking *l, const char *dataset, rs_head *out, resplit_error *err)
{
    bool foreign = false;
    RS_TRY(rs_hdf5_find(l->file, l->path, dataset, &l->name, err));
    l->dataset = H5Dopen2(l->file, l->name, H5P_DEFAULT);
    l->space = l->dataset >= 0 ? H5Dget_space(l->dataset) : -1;
    l->type = l->dataset >= 0 ? H5Dget_type(l->dataset) : -1;
    l->creation = l->dataset >= 0 ? H5Dget_create_plist(l->dataset) : -1;
    if (l->space < 0 || l->type < 0 || l->creation < 0) {
        return rs_hdf5_fail(err, RESPLIT_EFORMAT, "cannot open the dataset of '%s'", l->path);
    }
    RS_TRY(rs_hdf5_read_type(l->type, l->path, &out->dtype, &foreign, err));
    if (foreign) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "the dataset of '%s' has a type that only HDF5 has", l->path);
    }
    RS_TRY(read_shape(l, out, err));
    return H5Pget_layout(l->creation) == H5D_CHUNKED ? read_chunks(l, out, err) : find_data(l, out, err);
}

resplit_status rs_hdf5_parse_head(int fd, int64_t size, const char *path, const char *dataset, rs_hdf5_also *also,
                                  rs_head *out, resplit_error *err)
{
    rs_hdf5_session session;
    looking l = {.path = path, .size = size, .file = -1, .dataset = -1, .space = -1, .type = -1, .creation = -1};
    RS_TRY(rs_hdf5_enter(&session, err));
    resplit_status rc = rs_hdf5_open_descriptor(fd, path, &l.file, err);
    if (rc == RESPLIT_OK) {
        rc = look_at(&l, dataset, out, err);
    }
    if (rc == RESPLIT_OK && also != NULL) {
        rc = also(l.file, path, out, err);
    }
    rs_hdf5_close(l.creation);
    rs_hdf5_close(l.type);
    rs_hdf5_close(l.space);
    rs_hdf5_close(l.dataset);
    rs_hdf5_close(l.file);
    rs_hdf5_leave(&session);
    free(l.name);
    return rc;
}

static resplit_status parse_head(int fd, int64_t size, const char *path, rs_head *out, resplit_error *err)
{
    return rs_hdf5_parse_head(fd, size, path, NULL, NULL, out, err);
}

/* ---- Writing ----------------------------------------------------------------------------------- */

/* A dataset in the file, contiguous, with its elements at `place`. */
static bool make_dataset(hid_t file, hid_t type, const rs_head *head, int64_t place)
{
    hsize_t shape[RS_MAX_NDIM];
    rs_hdf5_io *io = rs_hdf5_io_of(file);
    for (int d = 0; d < head->ndim; d++) {
        shape[d] = (hsize_t)head->shape[d];
    }
    hid_t space = head->ndim == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(head->ndim, shape, NULL);
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE), dataset = -1;
    if (io != NULL && space >= 0 && creation >= 0 && H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY) >= 0
        && H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER) >= 0) {
        io->place = place;
        dataset = H5Dcreate_anon(file, type, space, creation, H5P_DEFAULT);
    }
    bool done = dataset >= 0 && H5Olink(dataset, file, RS_HDF5_USUAL_NAME, H5P_DEFAULT, H5P_DEFAULT) >= 0;
    rs_hdf5_close(dataset);
    rs_hdf5_close(creation);
    rs_hdf5_close(space);
    return done;
}

/* A whole file in memory, but for its elements; it says that they end at `end`. */
static resplit_status make_image(const rs_head *head, int64_t place, int64_t bytes, rs_text *image, resplit_error *err)
{
    rs_hdf5_io io = {.memory = image};
    hid_t type = -1;
    RS_TRY(rs_hdf5_make_type(&head->dtype, &type, err));
    hid_t access = rs_hdf5_access(&io, true),
          file = access >= 0 ? H5Fcreate("head", H5F_ACC_TRUNC, H5P_DEFAULT, access) : -1;
    bool done = file >= 0 && make_dataset(file, type, head, place);
    if (done && bytes > 0) {
        rs_hdf5_io_of(file)->end = place + bytes;
    }
    rs_hdf5_close(access);
    rs_hdf5_close(type);
    if (file >= 0 && H5Fclose(file) < 0) {
        done = false;
    }
    return done ? RESPLIT_OK : rs_hdf5_fail(err, RESPLIT_EINTERNAL, "cannot make the head of an HDF5 file");
}

static int64_t whole_sectors(int64_t n)
{
    return (n + RS_HDF5_BEGIN - 1) / RS_HDF5_BEGIN * RS_HDF5_BEGIN;
}

/* How long it is follows from rank and type, so that all blocks of an array have heads of one length. */
static resplit_status print_head(const rs_head *head, rs_text *out, resplit_error *err)
{
    int64_t n_elements, bytes, place = RS_HDF5_BEGIN;
    resplit_status rc = RESPLIT_OK;
    rs_text image = {0};
    if (!rs_shape_count(head->ndim, head->shape, head->dtype.itemsize, &n_elements, &bytes)) {
        return rs_fail(err, RESPLIT_EINVAL, "a block is larger than a file can be");
    }
    for (bool fits = false; !fits && rc == RESPLIT_OK;) {
        rs_text_release(&image);
        rc = make_image(head, place, bytes, &image, err);
        fits = (int64_t)image.n <= place;
        place = fits ? place : whole_sectors((int64_t)image.n);
    }
    if (rc == RESPLIT_OK) {
        rc = rs_text_add_bytes(out, image.s, image.n, err);
    }
    static const char zeros[64];
    for (int64_t left = place - (int64_t)image.n; left > 0 && rc == RESPLIT_OK; left -= (int64_t)sizeof zeros) {
        rc = rs_text_add_bytes(out, zeros, (size_t)rs_min(left, (int64_t)sizeof zeros), err);
    }
    rs_text_release(&image);
    return rc;
}

static resplit_status make_head(const rs_head *head, rs_text *out, resplit_error *err)
{
    rs_hdf5_session session;
    if (head->order == 'F' && head->ndim > 1) {
        return rs_fail(err, RESPLIT_EINVAL, "HDF5 has elements in C order only: give --to-order C");
    }
    RS_TRY(rs_hdf5_enter(&session, err));
    resplit_status rc = print_head(head, out, err);
    rs_hdf5_leave(&session);
    return rc;
}

const rs_format rs_format_hdf5 = {
    .name = "hdf5",
    .suffixes = (const char *const[]){".h5", ".hdf5", ".he5", ".nc", ".nc4", NULL},
    .has_header = true,
    .has_tail = true,
    .alone = true,
    .parse_head = parse_head,
    .make_head = make_head,
};
