/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hdf5_write.c - makes an HDF5 file of a file in which the engine has put blocks.
 *
 *     0            4096                                    floor
 *     [ superblock | blocks, as the engine has written them | groups, headers, attributes, index of chunks ]
 *
 * libhdf5 writes everything but the blocks: it is told where they are, and what it would write there is dropped by our
 * driver. The file has the oldest form of everything, which all readers know.
 */
#include "format/hdf5_seal.h"

#include "format/hdf5_array.h"
#include "format/minc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    STEP = 1 << 16, /* chunks that are indexed between two looks at the clock */
    MOST_TRIED =
        256 << 20, /* bytes of a trial, which leaves out what has more than LARGE, and what comes after ENOUGH */
    LARGE = 1 << 16,
    ENOUGH = 32 << 20,
};

/* ---- The dataset ------------------------------------------------------------------------------- */

static int64_t chunk_bytes(const resplit_array *array)
{
    rs_box box = rs_layout_stored(&array->layout, (const int64_t[RS_MAX_NDIM]){0});
    return rs_box_volume(array->layout.ndim, &box) * array->dtype.itemsize;
}

/* A dataset may be shorter than its chunk, in the last file of a grid, only if it can grow. */
static hid_t make_space(const rs_hdf5_sealing *s)
{
    const resplit_array *array = s->array;
    int ndim = array->layout.ndim;
    bool chunked = array->hdf5->chunked, grid = array->info.folder;
    hsize_t shape[RS_MAX_NDIM], most[RS_MAX_NDIM];
    for (int d = 0; d < ndim; d++) {
        int64_t length = s->at.box.hi[d] - s->at.box.lo[d];
        int64_t maximum = !chunked ? length
                          : grid   ? rs_max(length, array->layout.axis[d].step)
                                   : array->hdf5->maximum[d];
        shape[d] = (hsize_t)length;
        most[d] = maximum < 0 ? H5S_UNLIMITED : (hsize_t)maximum;
    }
    return ndim == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(ndim, shape, most);
}

/* What tells nothing of the layout stays as in the source: in which order attributes are listed, when fill
   values are written. */
static bool keep_properties(const rs_hdf5_sealing *s, hid_t creation)
{
    unsigned order = 0;
    H5D_fill_time_t when = H5D_FILL_TIME_IFSET;
    H5D_fill_value_t defined = H5D_FILL_VALUE_DEFAULT;
    hid_t old = s->origin >= 0 ? H5Dget_create_plist(s->origin) : -1;
    bool done = s->origin < 0
                || (old >= 0 && H5Pget_attr_creation_order(old, &order) >= 0
                    && H5Pset_attr_creation_order(creation, order) >= 0 && H5Pget_fill_time(old, &when) >= 0
                    && H5Pset_fill_time(creation, when) >= 0 && H5Pfill_value_defined(old, &defined) >= 0);
    rs_hdf5_close(old);
    const resplit_array *array = s->array;
    bool zero = true;
    for (int64_t i = 0; i < array->dtype.itemsize; i++) {
        zero = zero && array->hdf5->fill[i] == 0;
    }
    if (done && (defined == H5D_FILL_VALUE_USER_DEFINED || !zero)) {
        hid_t type = H5Tdecode(array->hdf5->type.s);
        done = type >= 0 && H5Pset_fill_value(creation, type, array->hdf5->fill) >= 0;
        rs_hdf5_close(type);
    }
    return done;
}

static resplit_status make_properties(const rs_hdf5_sealing *s, hid_t *out, resplit_error *err)
{
    const resplit_array *array = s->array;
    hsize_t chunk[RS_MAX_NDIM];
    hid_t creation = *out = H5Pcreate(H5P_DATASET_CREATE);
    for (int d = 0; d < array->layout.ndim; d++) {
        chunk[d] = (hsize_t)array->layout.axis[d].step;
    }
    bool done = creation >= 0 && keep_properties(s, creation);
    if (done && array->hdf5->parts != NULL) {
        return rs_hdf5_add_parts(array, creation, err);
    }
    if (done && array->hdf5->chunked) {
        done = H5Pset_chunk(creation, array->layout.ndim, chunk) >= 0
               && H5Pset_alloc_time(creation, H5D_ALLOC_TIME_INCR) >= 0;
    } else if (done) {
        /* allocated at once, where the data are, and not filled */
        done = H5Pset_layout(creation, H5D_CONTIGUOUS) >= 0 && H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY) >= 0
               && H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER) >= 0;
    }
    if (!done) {
        return rs_hdf5_fail(err, RESPLIT_EIO, "cannot describe dataset '%s' for '%s'", array->hdf5->dataset, s->path);
    }
    return array->encoded ? rs_hdf5_add_filters(creation, &array->chain, chunk_bytes(array), err) : RESPLIT_OK;
}

static resplit_status make_dataset(rs_hdf5_sealing *s, resplit_error *err)
{
    const resplit_array *array = s->array;
    rs_hdf5_io *io = rs_hdf5_io_of(s->file);
    hid_t creation = -1, space = make_space(s), type = H5Tdecode(array->hdf5->type.s);
    resplit_status rc = make_properties(s, &creation, err);
    if (rc == RESPLIT_OK) {
        bool here = array->hdf5->parts == NULL; /* there are data */
        io->place = here && !array->hdf5->chunked ? RS_HDF5_BEGIN : -1;
        io->noting = here;
        s->dataset = H5Dcreate_anon(s->file, type, space, creation, H5P_DEFAULT);
        io->noting = false;
        io->place = -1;
        if (s->dataset < 0) {
            rc = rs_hdf5_fail(err, RESPLIT_EIO, "cannot make dataset '%s' in '%s'", array->hdf5->dataset, s->path);
        }
    }
    rs_hdf5_close(type);
    rs_hdf5_close(space);
    rs_hdf5_close(creation);
    return rc;
}

/* ---- Its chunks -------------------------------------------------------------------------------- */

static resplit_status place_of(const rs_hdf5_sealing *s, const int64_t *index, rs_place *place, resplit_error *err)
{
    const resplit_array *array = s->array;
    if (array->stride > 0) {
        *place = (rs_place){.offset = rs_array_place_of(array, index), .bytes = array->stride};
        return RESPLIT_OK;
    }
    RS_TRY(s->entry(s->payload, index, place, err));
    return place->missing || (place->offset >= RS_HDF5_BEGIN && place->bytes <= s->at.floor - place->offset)
               ? RESPLIT_OK
               : rs_fail(err, RESPLIT_EINTERNAL, "a block of %lld bytes at %lld is outside of '%s', which has %lld",
                         (long long)place->bytes, (long long)place->offset, s->at.path, (long long)s->at.floor);
}

/* libhdf5 allocates the chunk, which is where we say, and writes it, which is dropped. */
static resplit_status index_chunk(const rs_hdf5_sealing *s, rs_hdf5_io *io, const hsize_t *at, const rs_place *place,
                                  resplit_error *err)
{
    static const char nothing;
    io->place = place->offset;
    herr_t rc = H5Dwrite_chunk(s->dataset, H5P_DEFAULT, 0, at, (size_t)place->bytes, &nothing);
    bool taken = io->place < 0;
    io->place = -1;
    return rc >= 0 && taken ? RESPLIT_OK : rs_hdf5_fail(err, RESPLIT_EIO, "cannot index a chunk of '%s'", s->path);
}

static resplit_status index_chunks(const rs_hdf5_sealing *s, resplit_error *err)
{
    const rs_layout *layout = &s->array->layout;
    rs_hdf5_io *io = rs_hdf5_io_of(s->file);
    int64_t lo[RS_MAX_NDIM] = {0}, index[RS_MAX_NDIM] = {0}, count = 0;
    resplit_status rc = RESPLIT_OK;
    io->noting = true;
    do {
        int64_t block[RS_MAX_NDIM] = {0}; /* of the array */
        hsize_t at[RS_MAX_NDIM];
        rs_place place;
        for (int d = 0; d < layout->ndim; d++) {
            at[d] = (hsize_t)(index[d] * layout->axis[d].step);
            block[d] = s->at.first[d] + index[d];
        }
        if (count++ % STEP == 0) {
            rs_apart_go_on(0, 0);
        }
        rc = place_of(s, block, &place, err);
        if (rc == RESPLIT_OK && !place.missing) {
            rc = index_chunk(s, io, at, &place, err);
        }
    } while (rc == RESPLIT_OK && rs_index_next(layout->ndim, lo, s->at.n, index));
    io->noting = false;
    return rc;
}

/* ---- The file ---------------------------------------------------------------------------------- */

/* The root keeps the order of its links, which netCDF wants. */
static bool keep_root(const rs_hdf5_sealing *s, hid_t creation)
{
    unsigned links = 0, attributes = 0;
    if (s->origin_file < 0) {
        return true;
    }
    hid_t old = rs_hdf5_root_properties(s->origin_file);
    bool done = old >= 0 && H5Pget_link_creation_order(old, &links) >= 0
                && H5Pset_link_creation_order(creation, links) >= 0 && H5Pget_attr_creation_order(old, &attributes) >= 0
                && H5Pset_attr_creation_order(creation, attributes) >= 0;
    rs_hdf5_close(old);
    return done;
}

static resplit_status make_file(rs_hdf5_sealing *s, resplit_error *err)
{
    rs_hdf5_io io = {.floor = s->at.floor, .memory = s->memory, .most = MOST_TRIED};
    hid_t access = rs_hdf5_access(&io, true), creation = H5Pcreate(H5P_FILE_CREATE);
    if (access >= 0 && creation >= 0 && keep_root(s, creation)) {
        s->file = H5Fcreate(s->at.path, H5F_ACC_TRUNC, creation, access);
    }
    rs_hdf5_close(creation);
    rs_hdf5_close(access);
    return s->file >= 0 && rs_hdf5_io_of(s->file) != NULL
               ? RESPLIT_OK
               : rs_hdf5_fail(err, RESPLIT_EIO, "cannot make an HDF5 file of '%s'", s->path);
}

/* Its name, when there is nothing else to go into the file. */
static resplit_status link_dataset(const rs_hdf5_sealing *s, resplit_error *err)
{
    hid_t links = rs_hdf5_make_links();
    herr_t rc = links >= 0 ? H5Olink(s->dataset, s->file, s->array->hdf5->dataset, links, H5P_DEFAULT) : -1;
    rs_hdf5_close(links);
    return rc >= 0
               ? RESPLIT_OK
               : rs_hdf5_fail(err, RESPLIT_EIO, "cannot put dataset '%s' into '%s'", s->array->hdf5->dataset, s->path);
}

/* All that is known of the image, as it is of this part of it. */
static resplit_status put_minc(const rs_hdf5_sealing *s, resplit_error *err)
{
    const resplit_array *array = s->array;
    rs_box box = s->at.box;
    for (int d = 0; d < array->layout.ndim; d++) {
        box.lo[d] += array->origin[d];
        box.hi[d] += array->origin[d];
    }
    return rs_minc_put(array->minc, &box, s->origin_file, s->file, s->dataset, s->path, err);
}

static resplit_status write_all(rs_hdf5_sealing *s, resplit_error *err)
{
    const rs_hdf5 *hdf5 = s->array->hdf5;
    RS_TRY(make_file(s, err));
    RS_TRY(make_dataset(s, err));
    if (hdf5->chunked && s->array->info.n_elements > 0 && s->memory == NULL) {
        RS_TRY(index_chunks(s, err));
    }
    if (s->array->minc != NULL) {
        return put_minc(s, err);
    }
    if (s->origin >= 0) {
        RS_TRY(rs_hdf5_copy_attributes(s->origin, s->dataset, hdf5->all, s->path, err));
    }
    if (s->origin < 0 || !hdf5->all) {
        return link_dataset(s, err);
    }
    rs_hdf5_names names = {.from = s->origin_file,
                           .to = s->file,
                           .origin = hdf5->origin,
                           .made = hdf5->dataset,
                           .trial = s->memory != NULL};
    return rs_hdf5_copy_tree(&names, s->dataset, s->path, err);
}

resplit_status rs_hdf5_close_sealed(rs_hdf5_sealing *s, resplit_status rc, resplit_error *err)
{
    rs_hdf5_close(s->dataset);
    if (s->file >= 0 && H5Fclose(s->file) < 0 && rc == RESPLIT_OK) {
        rc = rs_hdf5_fail(err, RESPLIT_EIO, "cannot write the metadata of '%s'", s->path);
    }
    s->dataset = s->file = -1;
    return rc;
}

resplit_status rs_hdf5_write_file(rs_hdf5_sealing *s, resplit_error *err)
{
    return rs_hdf5_close_sealed(s, write_all(s, err), err);
}
