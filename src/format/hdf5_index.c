/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hdf5_index.c - where the chunks of a dataset are.
 *
 * The calls that are meant to tell it walk the whole index for each chunk (1.10: 2 ms, of 65 536 chunks). H5Dread_chunk
 * looks one chunk up, and our driver notes what it would have read. How many chunks there are is asked once: fewer that
 * are found mean an index that is damaged, not chunks that are missing.
 */
#include "format/hdf5.h"

enum { STEP = 1 << 16 }; /* chunks that are looked up between two looks at the clock */

bool rs_hdf5_find_chunk(hid_t dataset, rs_hdf5_io *io, const hsize_t *at, rs_hdf5_chunk *out)
{
    char nothing;
    uint32_t skip = 0;
    io->offset = -1;
    io->noting = true;
    herr_t rc = H5Dread_chunk(dataset, H5P_DEFAULT, at, &skip, &nothing);
    io->noting = false;
    *out = (rs_hdf5_chunk){.offset = io->offset, .bytes = io->bytes, .skip = skip};
    return rc >= 0 && io->offset >= 0;
}

static resplit_status check(const rs_hdf5_chunk *chunk, int64_t size, const char *path, resplit_error *err)
{
    return chunk->bytes > 0 && chunk->offset <= size && chunk->bytes <= size - chunk->offset
               ? RESPLIT_OK
               : rs_fail(err, RESPLIT_EFORMAT,
                         "'%s' is damaged: a chunk of %lld bytes begins at %lld, but the file has %lld", path,
                         (long long)chunk->bytes, (long long)chunk->offset, (long long)size);
}

static resplit_status too_many(const rs_layout *layout, const char *path, resplit_error *err)
{
    int64_t grid[RS_MAX_NDIM];
    char text[RS_SHAPE_TEXT];
    for (int d = 0; d < layout->ndim; d++) {
        grid[d] = layout->axis[d].n;
    }
    return rs_fail(err, RESPLIT_EUNSUPPORTED, "'%s' has a grid of %s chunks, of which at most %d are handled", path,
                   rs_shape_text(layout->ndim, grid, text), RS_HDF5_MAX_CHUNKS);
}

resplit_status rs_hdf5_chunks(hid_t file, hid_t dataset, const rs_layout *layout, int64_t size, const char *path,
                              rs_hdf5_visit *visit, void *payload, resplit_error *err)
{
    int64_t n_blocks, n_elements, lo[RS_MAX_NDIM] = {0}, hi[RS_MAX_NDIM], index[RS_MAX_NDIM] = {0};
    hsize_t n = 0, n_found = 0;
    rs_hdf5_io *io = rs_hdf5_io_of(file);
    rs_apart_go_on(size, 0);
    hid_t space = H5Dget_space(dataset);
    herr_t counted = H5Dget_num_chunks(dataset, space, &n);
    rs_hdf5_close(space);
    if (counted < 0 || io == NULL) {
        return rs_hdf5_fail(err, RESPLIT_EFORMAT, "cannot count the chunks of '%s'", path);
    }
    if (!rs_layout_count(layout, &n_blocks, &n_elements) || n_blocks > RS_HDF5_MAX_CHUNKS) {
        return too_many(layout, path, err);
    }
    for (int d = 0; d < layout->ndim; d++) {
        hi[d] = layout->axis[d].n;
    }
    int64_t number = 0;
    bool more = n > 0;
    for (; more && n_found < n; number++, more = rs_index_next(layout->ndim, lo, hi, index)) {
        hsize_t at[RS_MAX_NDIM];
        rs_hdf5_chunk chunk;
        if (number % STEP == 0) {
            rs_apart_go_on(0, 0);
        }
        for (int d = 0; d < layout->ndim; d++) {
            at[d] = (hsize_t)(index[d] * layout->axis[d].step);
        }
        if (rs_hdf5_find_chunk(dataset, io, at, &chunk)) {
            n_found++;
            RS_TRY(check(&chunk, size, path, err));
            RS_TRY(visit(payload, number, &chunk, err));
        }
    }
    return n_found == n ? RESPLIT_OK
                        : rs_hdf5_fail(err, RESPLIT_EFORMAT,
                                       "'%s' is damaged: its index has %llu chunks, of which %llu can be found", path,
                                       (unsigned long long)n, (unsigned long long)n_found);
}

/* What a dataset in chunks says of them. */
typedef struct index_facts {
    const char *path;
    rs_layout layout;
    bool empty;
    int64_t bytes; /* of a chunk; 0: they have filters, and bytes of their own */
} index_facts;

static resplit_status check_bytes(void *payload, int64_t number, const rs_hdf5_chunk *chunk, resplit_error *err)
{
    const index_facts *f = payload;
    (void)number;
    return f->bytes == 0 || chunk->bytes == f->bytes
               ? RESPLIT_OK
               : rs_fail(err, RESPLIT_EFORMAT, "'%s' has a chunk of %lld bytes, where all have %lld", f->path,
                         (long long)chunk->bytes, (long long)f->bytes);
}

/* Shape, and chunks where it has some. False: libhdf5 has failed, or a number is too large. */
static bool read_facts(hid_t dataset, hid_t creation, bool chunked, index_facts *out)
{
    hsize_t dims[H5S_MAX_RANK], most[H5S_MAX_RANK], chunk[H5S_MAX_RANK];
    hid_t space = H5Dget_space(dataset), type = H5Dget_type(dataset);
    int ndim = space >= 0 ? H5Sget_simple_extent_ndims(space) : -1;
    bool done = type >= 0 && ndim >= 0 && ndim <= RS_MAX_NDIM && H5Sget_simple_extent_dims(space, dims, most) >= 0
                && (!chunked || H5Pget_chunk(creation, ndim, chunk) == ndim);
    out->layout = (rs_layout){.ndim = ndim, .itemsize = 1};
    out->bytes = chunked && H5Pget_nfilters(creation) == 0 && type >= 0 ? (int64_t)H5Tget_size(type) : 0;
    for (int d = 0; d < ndim && done; d++) {
        done = dims[d] <= INT64_MAX / 2 && dims[d] <= most[d]
               && (!chunked || (chunk[d] > 0 && rs_mul(out->bytes, (int64_t)chunk[d], &out->bytes)));
        out->layout.axis[d] = done && chunked ? rs_axis_even((int64_t)dims[d], (int64_t)chunk[d]) : (rs_axis){0};
        out->empty = out->empty || dims[d] == 0;
    }
    rs_hdf5_close(type);
    rs_hdf5_close(space);
    return done;
}

resplit_status rs_hdf5_check_index(hid_t file, hid_t dataset, const char *path, resplit_error *err)
{
    index_facts facts = {.path = path};
    hsize_t size = 0;
    hid_t creation = H5Dget_create_plist(dataset);
    bool chunked = creation >= 0 && H5Pget_layout(creation) == H5D_CHUNKED;
    bool known = creation >= 0 && read_facts(dataset, creation, chunked, &facts) && H5Fget_filesize(file, &size) >= 0;
    rs_hdf5_close(creation);
    if (!known) {
        return rs_hdf5_fail(err, RESPLIT_EFORMAT, "'%s' is damaged: its dataset cannot have the shape that it says",
                            path);
    }
    return !chunked || facts.empty
               ? RESPLIT_OK
               : rs_hdf5_chunks(file, dataset, &facts.layout, (int64_t)size, path, check_bytes, &facts, err);
}
