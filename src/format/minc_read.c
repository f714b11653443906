/* SPDX-License-Identifier: BSD-3-Clause */
/* minc_read.c - axes, tables and attributes of a MINC 2 file. Files that are strange but clear enough are read,
   with a note. */
#include "format/minc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reading {
    hid_t file;
    const char *path;
    rs_minc *minc;
} reading;

static bool is_dataset(hid_t file, const char *name)
{
    H5O_type_t type;
    uint64_t address;
    unsigned n_links;
    return rs_hdf5_look(file, name, &type, &address, &n_links) && type == H5O_TYPE_DATASET;
}

bool rs_minc_is(hid_t file)
{
    return is_dataset(file, RS_MINC_IMAGE);
}

/* Begins a line of what is strange. */
static resplit_status next_note(reading *r, resplit_error *err)
{
    return r->minc->notes.n > 0 ? rs_text_add(&r->minc->notes, err, "\n") : RESPLIT_OK;
}

/* ---- The image and the names of its axes --------------------------------------------------------- */

static resplit_status name_axes(reading *r, hid_t image, resplit_error *err)
{
    rs_minc *minc = r->minc;
    rs_text order = {0};
    char names[RS_MAX_NDIM + 1][RS_MINC_NAME];
    int n = rs_minc_text(image, "dimorder", &order) ? rs_minc_names(order.s, names, RS_MAX_NDIM + 1) : 0;
    resplit_status rc = n == minc->ndim ? RESPLIT_OK
                                        : rs_fail(err, RESPLIT_EFORMAT,
                                                  "the image of '%s' has %d axes, but its dimorder is '%.100s': it can "
                                                  "be read as HDF5, by that format's name",
                                                  r->path, minc->ndim, order.n > 0 ? order.s : "");
    for (int d = 0; d < n && rc == RESPLIT_OK; d++) {
        memcpy(minc->axis[d].name, names[d], sizeof names[d]);
        for (int e = 0; e < d; e++) {
            if (strcmp(names[e], names[d]) == 0) {
                rc = rs_fail(err, RESPLIT_EFORMAT, "two axes of the image of '%s' are %s", r->path, names[d]);
            }
        }
    }
    rs_text_release(&order);
    return rc;
}

static resplit_status read_image(reading *r, resplit_error *err)
{
    hsize_t dims[H5S_MAX_RANK];
    rs_minc *minc = r->minc;
    hid_t image = H5Dopen2(r->file, RS_MINC_IMAGE, H5P_DEFAULT), space = image >= 0 ? H5Dget_space(image) : -1;
    hid_t type = image >= 0 ? H5Dget_type(image) : -1;
    int n = space >= 0 ? H5Sget_simple_extent_ndims(space) : -1;
    resplit_status rc = RESPLIT_OK;
    if (type < 0 || n < 1 || n > RS_MAX_NDIM || H5Sget_simple_extent_dims(space, dims, NULL) < 0) {
        rc = rs_hdf5_fail(err, RESPLIT_EUNSUPPORTED, "the image of '%s' has %d axes; 1 to %d are handled", r->path, n,
                          RS_MAX_NDIM);
        n = 0;
    }
    for (int d = 0; d < n; d++) {
        minc->shape[d] = (int64_t)rs_min((int64_t)(dims[d] & INT64_MAX), INT64_MAX / 2);
    }
    minc->ndim = n;
    rc = rc == RESPLIT_OK ? rs_hdf5_encode_type(type, &minc->type, err) : rc;
    rc = rc == RESPLIT_OK ? name_axes(r, image, err) : rc;
    rs_hdf5_close(type);
    rs_hdf5_close(space);
    rs_hdf5_close(image);
    return rc;
}

/* ---- Tables -------------------------------------------------------------------------------------- */

static int rank_of(hid_t dataset, hsize_t *dims)
{
    hid_t space = H5Dget_space(dataset);
    int n = space >= 0 ? H5Sget_simple_extent_ndims(space) : -1;
    if (n > RS_MAX_NDIM || (n > 0 && H5Sget_simple_extent_dims(space, dims, NULL) < 0)) {
        n = -1;
    }
    rs_hdf5_close(space);
    return n;
}

static resplit_status read_values(reading *r, hid_t dataset, rs_minc_table *table, resplit_error *err)
{
    int64_t n = 1;
    bool fits = true;
    for (int k = 0; k < table->ndim; k++) {
        fits = fits && rs_mul(n, r->minc->shape[table->axis[k]], &n);
    }
    if (!fits || n > RS_MINC_MOST_CELLS) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "'%s' of '%s' has more than %d numbers", table->name, r->path,
                       RS_MINC_MOST_CELLS);
    }
    table->value = calloc((size_t)rs_max(1, n), sizeof *table->value);
    if (table->value == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for a table of %lld numbers", (long long)n);
    }
    return n == 0 || H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, table->value) >= 0
               ? RESPLIT_OK
               : rs_hdf5_fail(err, RESPLIT_EFORMAT, "cannot read '%s' of '%s'", table->name, r->path);
}

static resplit_status add_table(reading *r, hid_t dataset, const char *name, int ndim, const int *axis,
                                resplit_error *err)
{
    rs_minc_table *table = &r->minc->table[r->minc->n_tables++];
    (void)snprintf(table->name, sizeof table->name, "%s", name);
    table->ndim = ndim;
    for (int k = 0; k < ndim; k++) {
        table->axis[k] = axis[k];
    }
    return read_values(r, dataset, table, err);
}

static int find_axis(const rs_minc *minc, const char *name)
{
    for (int d = 0; d < minc->ndim; d++) {
        if (strcmp(minc->axis[d].name, name) == 0) {
            return d;
        }
    }
    return -1;
}

static bool has_lengths(const rs_minc *minc, int n, const int *axis, const hsize_t *dims)
{
    for (int k = 0; k < n; k++) {
        if (axis[k] < 0 || (hsize_t)minc->shape[axis[k]] != dims[k]) {
            return false;
        }
    }
    return true;
}

/* By its own dimorder; where that is wrong, as old ones are, by the first axes of the image, to which
   libminc applies it. */
static bool find_axes(const rs_minc *minc, hid_t dataset, int n, const hsize_t *dims, int *axis)
{
    rs_text order = {0};
    char names[RS_MAX_NDIM + 1][RS_MINC_NAME];
    bool named = rs_minc_text(dataset, "dimorder", &order) && rs_minc_names(order.s, names, RS_MAX_NDIM + 1) == n;
    rs_text_release(&order);
    for (int k = 0; k < n; k++) {
        axis[k] = named ? find_axis(minc, names[k]) : -1;
        for (int e = 0; e < k; e++) {
            named = named && axis[e] != axis[k];
        }
    }
    if (named && has_lengths(minc, n, axis, dims)) {
        return true;
    }
    for (int k = 0; k < n; k++) {
        axis[k] = k;
    }
    return n <= minc->ndim && has_lengths(minc, n, axis, dims);
}

static resplit_status read_scaling(reading *r, const char *name, resplit_error *err)
{
    hsize_t dims[H5S_MAX_RANK];
    int axis[RS_MAX_NDIM];
    hid_t dataset = is_dataset(r->file, name) ? H5Dopen2(r->file, name, H5P_DEFAULT) : -1;
    if (dataset < 0) {
        return RESPLIT_OK;
    }
    int n = rank_of(dataset, dims);
    resplit_status rc =
        n >= 0 && find_axes(r->minc, dataset, n, dims, axis)
            ? add_table(r, dataset, name, n, axis, err)
            : rs_fail(err, RESPLIT_EFORMAT, "'%s' of '%s' is not along axes of the image", name, r->path);
    rs_hdf5_close(dataset);
    return rc;
}

/* ---- Dimensions ---------------------------------------------------------------------------------- */

/* A number for each voxel along axis d. */
static resplit_status read_along(reading *r, int d, const char *name, bool needed, resplit_error *err)
{
    hsize_t dims[H5S_MAX_RANK] = {0};
    hid_t dataset = is_dataset(r->file, name) ? H5Dopen2(r->file, name, H5P_DEFAULT) : -1;
    int n = dataset >= 0 ? rank_of(dataset, dims) : -1;
    resplit_status rc = RESPLIT_OK;
    if (n == 1 && (hsize_t)r->minc->shape[d] == dims[0]) {
        rc = add_table(r, dataset, name, 1, &d, err);
    } else if (needed) {
        rc = rs_fail(err, RESPLIT_EFORMAT,
                     "axis %s of '%s' is irregular, but has not a coordinate for each of %lld voxels",
                     r->minc->axis[d].name, r->path, (long long)r->minc->shape[d]);
    }
    rs_hdf5_close(dataset);
    return rc;
}

static resplit_status read_spacing(reading *r, hid_t object, rs_minc_axis *axis, resplit_error *err)
{
    rs_text spacing = {0};
    resplit_status rc = RESPLIT_OK;
    if (rs_minc_text(object, "spacing", &spacing)) {
        axis->irregular = strncmp(spacing.s, "irregular", 9) == 0;
        if (!axis->irregular && strncmp(spacing.s, "regular", 7) != 0) {
            rc = next_note(r, err);
            rc = rc == RESPLIT_OK
                     ? rs_text_add(&r->minc->notes, err, "spacing '%.40s' of %s is not known: it is taken as regular",
                                   spacing.s, axis->name)
                     : rc;
        }
    }
    rs_text_release(&spacing);
    return rc;
}

static resplit_status read_axis(reading *r, int d, resplit_error *err)
{
    rs_minc_axis *axis = &r->minc->axis[d];
    char name[RS_MINC_PATH], width[RS_MINC_PATH];
    double length = 0;
    axis->step = 1;
    (void)snprintf(name, sizeof name, "/minc-2.0/dimensions/%s", axis->name);
    (void)snprintf(width, sizeof width, "/minc-2.0/dimensions/%s-width", axis->name);
    axis->described = is_dataset(r->file, name);
    if (!axis->described) {
        return RESPLIT_OK;
    }
    hid_t object = H5Oopen(r->file, name, H5P_DEFAULT);
    bool starts = rs_minc_numbers(object, "start", 1, &axis->start) > 0;
    axis->placed = starts || strcmp(axis->name, "vector_dimension") != 0;
    (void)rs_minc_numbers(object, "step", 1, &axis->step);
    int n = rs_minc_numbers(object, "length", 1, &length);
    resplit_status rc = read_spacing(r, object, axis, err);
    rs_hdf5_close(object);
    if (rc == RESPLIT_OK && n > 0 && length != (double)r->minc->shape[d]) {
        rc = next_note(r, err);
        rc = rc == RESPLIT_OK ? rs_text_add(&r->minc->notes, err, "length %.0f of %s is not that of the image, %lld",
                                            length, axis->name, (long long)r->minc->shape[d])
                              : rc;
    }
    RS_TRY(rc);
    RS_TRY(read_along(r, d, name, axis->irregular, err));
    RS_TRY(read_along(r, d, width, false, err));
    RS_TRY(rs_minc_add_fields(r->file, name, r->minc, err));
    return rs_minc_add_fields(r->file, width, r->minc, err);
}

/* ---- All of it ------------------------------------------------------------------------------------ */

static resplit_status read_all(reading *r, resplit_error *err)
{
    static const char *const scaling[] = {"/minc-2.0/image/0/image-min", "/minc-2.0/image/0/image-max"};
    RS_TRY(read_image(r, err));
    RS_TRY(rs_minc_add_fields(r->file, RS_MINC_IMAGE, r->minc, err));
    for (size_t i = 0; i < sizeof scaling / sizeof scaling[0]; i++) {
        RS_TRY(read_scaling(r, scaling[i], err));
    }
    for (int d = 0; d < r->minc->ndim; d++) {
        RS_TRY(read_axis(r, d, err));
    }
    r->minc->smaller = H5Lexists(r->file, "/minc-2.0/image/1", H5P_DEFAULT) > 0;
    return RESPLIT_OK;
}

resplit_status rs_minc_read(hid_t file, const char *path, rs_minc **out, resplit_error *err)
{
    reading r = {.file = file, .path = path, .minc = calloc(1, sizeof **out)};
    *out = r.minc;
    if (r.minc == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for what is known of an image");
    }
    resplit_status rc = read_all(&r, err);
    (void)H5Eclear2(H5E_DEFAULT);
    if (rc != RESPLIT_OK) {
        rs_minc_free(r.minc);
        *out = NULL;
    }
    return rc;
}
