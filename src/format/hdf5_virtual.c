/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hdf5_virtual.c - a target that has no data but says where they are: a virtual dataset over the files of the source.
 *
 *     grid/0_0.h5:/data, grid/0_1.h5:/data, ...   or   x.h5:/data   --- one mapping each --->   whole.h5:/data
 *
 * Files below the folder of the target are named relative to it, so that both can be moved together; others by their
 * whole path.
 */
#include "format/hdf5.h"

#include "format/drivers.h"
#include "format/hdf5_array.h"
#include "format/minc.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Before it is made -------------------------------------------------------------------------- */

/* Nothing is stored, so nothing can be asked of how. */
static resplit_status check_wishes(const resplit_target *target, const resplit_array *array, resplit_error *err)
{
    const char *what = target->chunks != NULL  ? "chunks"
                       : target->codec != NULL ? "a codec"
                       : target->dtype != NULL ? "a type"
                       : target->write_empty   ? "blocks that are empty"
                       : array->minc != NULL   ? "metadata of MINC"
                                               : NULL;
    return what == NULL
               ? RESPLIT_OK
               : rs_fail(err, RESPLIT_EINVAL, "'%s' is to be virtual, and has no data of its own: it cannot have %s",
                         array->path, what);
}

static resplit_status check_source(const resplit_array *source, resplit_error *err)
{
    const char *why = source->path == NULL                               ? "it has no files"
                      : !rs_format_is_hdf5(source->format)               ? "it is not HDF5"
                      : source->hdf5 != NULL && source->hdf5->is_virtual ? "it is virtual, too"
                                                                         : NULL;
    return why == NULL ? RESPLIT_OK
                       : rs_fail(err, RESPLIT_EUNSUPPORTED, "a virtual dataset cannot be made of '%s': %s",
                                 source->path != NULL ? source->path : "the source", why);
}

static resplit_status copy_text(const char *from, char **to, resplit_error *err)
{
    *to = from != NULL ? rs_strdup(from) : NULL;
    return from == NULL || *to != NULL ? RESPLIT_OK : rs_fail(err, RESPLIT_ENOMEM, "no memory for a name");
}

/* Of the source, what its files are and where they lie. */
static resplit_status copy_parts(const resplit_array *array, resplit_array *parts, resplit_error *err)
{
    const resplit_array *source = array->files != NULL ? array->files : array;
    parts->format = source->format;
    parts->layout = source->layout;
    RS_TRY(copy_text(source->path, &parts->path, err));
    RS_TRY(copy_text(source->pattern, &parts->pattern, err));
    for (int d = 0; d < parts->layout.ndim; d++) {
        rs_axis *axis = &parts->layout.axis[d];
        if (source->pattern == NULL) { /* its chunks are not parts */
            *axis = rs_axis_even(axis->extent, rs_max(1, axis->extent));
        } else if (axis->step == 0) {
            size_t bytes = ((size_t)axis->n + 1) * sizeof *axis->cuts;
            parts->cuts[d] = malloc(bytes);
            if (parts->cuts[d] == NULL) {
                return rs_fail(err, RESPLIT_ENOMEM, "no memory for %lld cuts", (long long)axis->n);
            }
            memcpy(parts->cuts[d], axis->cuts, bytes);
            axis->cuts = parts->cuts[d];
        }
    }
    return RESPLIT_OK;
}

resplit_status rs_hdf5_set_parts(const resplit_array *source, const resplit_target *target, resplit_array *array,
                                 resplit_error *err)
{
    RS_TRY(check_wishes(target, array, err));
    RS_TRY(check_source(source, err));
    RS_TRY(rs_array_new(&array->hdf5->parts, err));
    return copy_parts(source, array->hdf5->parts, err);
}

/* ---- Names of files ------------------------------------------------------------------------------ */

typedef struct mapping {
    const resplit_array *array; /* the target */
    const resplit_array *parts;
    char folder[PATH_MAX];         /* of the target, as the system has it */
    char file[PATH_MAX], *dataset; /* of a part; the name is owned */
    const char *name;              /* as it is written: inside of file */
    rs_box box;                    /* of the part that is in the target, in elements of the source */
    int64_t start[RS_MAX_NDIM];    /* of that in the part */
    hsize_t shape[RS_MAX_NDIM];    /* of the part */
} mapping;

static resplit_status find_folder(mapping *m, resplit_error *err)
{
    const char *path = m->array->path, *slash = strrchr(path, '/');
    char above[PATH_MAX];
    (void)snprintf(above, sizeof above, "%.*s", slash == NULL ? 1 : (int)rs_min(PATH_MAX - 1, slash - path + 1),
                   slash == NULL ? "." : path);
    return realpath(above, m->folder) != NULL ? RESPLIT_OK
                                              : rs_fail_errno(err, errno, "cannot find the folder of '%s'", path);
}

/* Relative to the folder of the target, where it is below that. */
static const char *name_below(const char *folder, const char *file)
{
    size_t n = strlen(folder);
    bool root = strcmp(folder, "/") == 0;
    return strncmp(folder, file, n) == 0 && (root || file[n] == '/') ? file + n + (root ? 0 : 1) : file;
}

static resplit_status find_file(mapping *m, const int64_t *index, resplit_error *err)
{
    struct stat part, target;
    char name[RS_NAME_MAX];
    rs_text path = {0};
    RS_TRY(rs_array_block_name(m->parts, index, name, err));
    RS_TRY(rs_text_add(&path, err, name[0] != '\0' ? "%s/%s" : "%s", m->parts->path, name));
    bool found = realpath(path.s, m->file) != NULL && stat(m->file, &part) == 0;
    resplit_status rc = found ? RESPLIT_OK : rs_fail_errno(err, errno, "cannot find '%s'", path.s);
    if (found && stat(m->array->path, &target) == 0 && target.st_ino == part.st_ino && target.st_dev == part.st_dev) {
        rc = rs_fail(err, RESPLIT_EINVAL, "'%s' cannot be made of itself: give another name", path.s);
    }
    rs_text_release(&path);
    m->name = name_below(m->folder, m->file);
    return rc;
}

/* ---- One part ----------------------------------------------------------------------------------- */

/* NULL: the only one of a file. */
static const char *wanted_name(const mapping *m)
{
    return m->parts->format == &rs_format_minc2 ? RS_MINC_IMAGE
           : m->parts->pattern == NULL          ? m->array->hdf5->origin
                                                : NULL;
}

/* What a part says of itself is still what was planned with. */
static resplit_status check_part(mapping *m, hid_t file, const rs_box *whole, resplit_error *err)
{
    int ndim = m->parts->layout.ndim;
    hsize_t dims[H5S_MAX_RANK];
    RS_TRY(rs_hdf5_find(file, m->file, wanted_name(m), &m->dataset, err));
    hid_t dataset = H5Dopen2(file, m->dataset, H5P_DEFAULT), space = dataset >= 0 ? H5Dget_space(dataset) : -1;
    hid_t type = dataset >= 0 ? H5Dget_type(dataset) : -1, own = H5Tdecode(m->array->hdf5->type.s);
    bool same = space >= 0 && H5Sget_simple_extent_ndims(space) == ndim
                && H5Sget_simple_extent_dims(space, dims, NULL) >= 0 && H5Tequal(type, own) > 0;
    for (int d = 0; d < ndim && same; d++) {
        m->shape[d] = dims[d];
        same = dims[d] == (hsize_t)(whole->hi[d] - whole->lo[d]);
    }
    rs_hdf5_close(own);
    rs_hdf5_close(type);
    rs_hdf5_close(space);
    rs_hdf5_close(dataset);
    if (same && (strchr(m->name, '%') != NULL || strchr(m->dataset, '%') != NULL)) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED,
                       "'%s:%s' has a %% in its name, which means a pattern in a virtual dataset", m->file, m->dataset);
    }
    return same ? RESPLIT_OK
                : rs_hdf5_fail(err, RESPLIT_EFORMAT, "dataset '%s' of '%s' has another shape or type than it had",
                               m->dataset, m->file);
}

static hid_t select_box(int ndim, const hsize_t *shape, const int64_t *start, const rs_box *box)
{
    hsize_t first[RS_MAX_NDIM], count[RS_MAX_NDIM];
    hid_t space = ndim == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(ndim, shape, NULL);
    for (int d = 0; d < ndim; d++) {
        first[d] = (hsize_t)start[d];
        count[d] = (hsize_t)(box->hi[d] - box->lo[d]);
    }
    if (ndim > 0 && space >= 0 && H5Sselect_hyperslab(space, H5S_SELECT_SET, first, NULL, count, NULL) < 0) {
        rs_hdf5_close(space);
        return -1;
    }
    return space;
}

static resplit_status map_part(const mapping *m, hid_t creation, resplit_error *err)
{
    int ndim = m->parts->layout.ndim;
    hsize_t shape[RS_MAX_NDIM];
    int64_t at[RS_MAX_NDIM];
    for (int d = 0; d < ndim; d++) {
        shape[d] = (hsize_t)m->array->layout.axis[d].extent;
        at[d] = m->box.lo[d] - m->array->origin[d];
    }
    hid_t to = select_box(ndim, shape, at, &m->box), from = select_box(ndim, m->shape, m->start, &m->box);
    herr_t rc = to >= 0 && from >= 0 ? H5Pset_virtual(creation, to, m->name, m->dataset, from) : -1;
    rs_hdf5_close(from);
    rs_hdf5_close(to);
    return rc >= 0 ? RESPLIT_OK : rs_hdf5_fail(err, RESPLIT_EIO, "cannot map '%s' in '%s'", m->file, m->array->path);
}

static resplit_status add_part(mapping *m, const int64_t *index, hid_t creation, resplit_error *err)
{
    hid_t file = -1;
    rs_box whole = rs_layout_stored(&m->parts->layout, index);
    for (int d = 0; d < m->parts->layout.ndim; d++) {
        m->start[d] = m->box.lo[d] - whole.lo[d];
    }
    RS_TRY(find_file(m, index, err));
    RS_TRY(rs_hdf5_open_file(m->file, &file, err));
    resplit_status rc = check_part(m, file, &whole, err);
    rs_hdf5_close(file);
    rc = rc == RESPLIT_OK ? map_part(m, creation, err) : rc;
    free(m->dataset);
    m->dataset = NULL;
    return rc;
}

/* ---- All of them -------------------------------------------------------------------------------- */

/* The region of the source that the target is. */
static rs_box region(const resplit_array *array)
{
    rs_box box = {.lo = {0}};
    for (int d = 0; d < array->layout.ndim; d++) {
        box.lo[d] = array->origin[d];
        box.hi[d] = array->origin[d] + array->layout.axis[d].extent;
    }
    return box;
}

resplit_status rs_hdf5_add_parts(const resplit_array *array, hid_t creation, resplit_error *err)
{
    int64_t lo[RS_MAX_NDIM] = {0}, hi[RS_MAX_NDIM] = {0}, index[RS_MAX_NDIM];
    const rs_layout *layout = &array->hdf5->parts->layout;
    rs_box box = region(array);
    if (array->info.n_elements == 0) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "'%s' would have no elements: it cannot be virtual", array->path);
    }
    mapping *m = calloc(1, sizeof *m);
    if (m == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for names of files");
    }
    m->array = array;
    m->parts = array->hdf5->parts;
    resplit_status rc = find_folder(m, err);
    rs_layout_range(layout, &box, lo, hi);
    memcpy(index, lo, sizeof index);
    do {
        if (rc == RESPLIT_OK) {
            (void)rs_layout_overlap(layout, index, &box, &m->box);
            rc = add_part(m, index, creation, err);
        }
    } while (rc == RESPLIT_OK && rs_index_next(layout->ndim, lo, hi, index));
    free(m);
    return rc;
}

/* ---- When it is made ----------------------------------------------------------------------------- */

/* A mapping leads, from where the target will be, to a file that is there. */
static resplit_status check_mapping(const resplit_array *array, const char *folder, hid_t creation, size_t i,
                                    int64_t *covered, resplit_error *err)
{
    char name[PATH_MAX], path[2 * PATH_MAX];
    struct stat st;
    hid_t to = H5Pget_virtual_vspace(creation, i), from = H5Pget_virtual_srcspace(creation, i);
    hssize_t n = to >= 0 ? H5Sget_select_npoints(to) : -1, m = from >= 0 ? H5Sget_select_npoints(from) : -1;
    ssize_t length = H5Pget_virtual_filename(creation, i, name, sizeof name);
    rs_hdf5_close(from);
    rs_hdf5_close(to);
    bool sound = n > 0 && n == m && length > 0 && length < (ssize_t)sizeof name;
    if (sound) {
        (void)snprintf(path, sizeof path, "%s%s%s", name[0] == '/' ? "" : folder, name[0] == '/' ? "" : "/", name);
        *covered += n;
    }
    return sound && stat(path, &st) == 0
               ? RESPLIT_OK
               : rs_hdf5_fail(err, RESPLIT_EINTERNAL, "mapping %zu of '%s' leads nowhere", i, array->path);
}

resplit_status rs_hdf5_check_parts(const resplit_array *array, hid_t dataset, resplit_error *err)
{
    mapping *m = calloc(1, sizeof *m);
    hid_t creation = H5Dget_create_plist(dataset);
    size_t n = 0;
    int64_t covered = 0;
    if (m == NULL) {
        rs_hdf5_close(creation);
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for names of files");
    }
    m->array = array;
    resplit_status rc = find_folder(m, err);
    if (rc == RESPLIT_OK && (creation < 0 || H5Pget_virtual_count(creation, &n) < 0)) {
        rc = rs_hdf5_fail(err, RESPLIT_EIO, "cannot read back what '%s' is made of", array->path);
    }
    for (size_t i = 0; i < n && rc == RESPLIT_OK; i++) {
        rc = check_mapping(array, m->folder, creation, i, &covered, err);
    }
    if (rc == RESPLIT_OK && covered != array->info.n_elements) {
        rc = rs_fail(err, RESPLIT_EINTERNAL, "the parts of '%s' have %lld elements, and it has %lld", array->path,
                     (long long)covered, (long long)array->info.n_elements);
    }
    rs_hdf5_close(creation);
    free(m);
    return rc;
}
