/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5_grid.c - HDF5 as one of the formats: the files of a grid, with a dataset in each. hdf5_join.c makes one
   array of them. */
#include "format/drivers.h"
#include "format/hdf5.h"

#include <stdlib.h>

/* A dataset that has no chunks is one. */
static resplit_status set_offset(resplit_array *array, resplit_error *err)
{
    if (array->encoded || array->offsets != NULL) {
        return RESPLIT_OK;
    }
    array->offsets = malloc(sizeof *array->offsets);
    if (array->offsets == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for the place of a block");
    }
    array->offsets[0] = array->data_offset;
    return RESPLIT_OK;
}

static resplit_status check_stored(const resplit_array *array, resplit_error *err)
{
    const rs_hdf5 *hdf5 = array->hdf5;
    if (hdf5->inside != NULL || (hdf5->through && !hdf5->chunked)) {
        return rs_fail(
            err, RESPLIT_EUNSUPPORTED,
            "the dataset of '%s' is neither contiguous nor in chunks, as those of a grid of files have to be: h5repack "
            "-l CONTI makes it so",
            array->path);
    }
    return !hdf5->through
               ? RESPLIT_OK
               : rs_fail(err, RESPLIT_EUNSUPPORTED,
                         "the dataset of '%s' has filters that only libhdf5 can undo: h5repack -f can write it with "
                         "another, as GZIP=1",
                         array->path);
}

/* As an array of its own, and what is compared before that is looked at. */
static resplit_status read_file(hid_t file, int64_t size, const char *path, const char *name, rs_head *out,
                                resplit_error *err)
{
    RS_TRY(rs_array_new(&out->stored, err));
    resplit_array *array = out->stored;
    RS_TRY(rs_hdf5_read_dataset(file, path, size, name, array, err));
    RS_TRY(check_stored(array, err));
    RS_TRY(set_offset(array, err));
    RS_TRY(rs_hdf5_list_attributes(file, name, path, &array->hdf5->attributes, err));
    out->ndim = array->layout.ndim;
    out->order = array->order;
    for (int d = 0; d < out->ndim; d++) {
        out->shape[d] = array->layout.axis[d].extent;
    }
    return rs_dtype_copy(&array->dtype, &out->dtype, err);
}

resplit_status rs_hdf5_parse_head(int fd, int64_t size, const char *path, const char *dataset, rs_hdf5_also *also,
                                  rs_head *out, resplit_error *err)
{
    rs_hdf5_session session;
    hid_t file = -1;
    char *name = NULL;
    RS_TRY(rs_hdf5_enter(&session, err));
    resplit_status rc = rs_hdf5_open_descriptor(fd, path, &file, err);
    rc = rc == RESPLIT_OK ? rs_hdf5_find(file, path, dataset, &name, err) : rc;
    rc = rc == RESPLIT_OK ? read_file(file, size, path, name, out, err) : rc;
    rc = rc == RESPLIT_OK && also != NULL ? also(file, path, out, err) : rc;
    rs_hdf5_close(file);
    rs_hdf5_leave(&session);
    free(name);
    return rc;
}

static resplit_status parse_head(int fd, int64_t size, const char *path, rs_head *out, resplit_error *err)
{
    return rs_hdf5_parse_head(fd, size, path, NULL, NULL, out, err);
}

const rs_format rs_format_hdf5 = {
    .name = "hdf5",
    .suffixes = (const char *const[]){".h5", ".hdf5", ".he5", ".nc", ".nc4", NULL},
    .has_header = true,
    .has_tail = true,
    .alone = true,
    .parse_head = parse_head,
};
