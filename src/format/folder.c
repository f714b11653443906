/* SPDX-License-Identifier: BSD-3-Clause */
/* folder.c - opens a folder of blocks; the steps are in folder.h. */
#include "format/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/drivers.h"
#include "format/hdf5_array.h"
#include "format/manifest.h"
#include "format/nifti_array.h"

resplit_status rs_folder_list(const rs_folder *folder, rs_folder_visit visit, void *payload, resplit_error *err)
{
    resplit_status rc = RESPLIT_OK;
    /* a new open folder each time: a duplicated one would share its position */
    int fd = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL) {
        int error = errno;
        if (fd >= 0) {
            close(fd);
        }
        return rs_fail_errno(err, error, "cannot list '%s'", folder->path);
    }
    while (rc == RESPLIT_OK) {
        errno = 0;
        struct dirent *entry = readdir(dir);
        if (entry == NULL) {
            rc = errno == 0 ? RESPLIT_OK : rs_fail_errno(err, errno, "cannot list '%s'", folder->path);
            break;
        }
        if (entry->d_name[0] != '.') {
            rc = visit(entry->d_name, payload, err);
        }
    }
    closedir(dir);
    return rc;
}

const char *rs_folder_show(const rs_folder *folder, const char *name, char shown[RS_SHOWN_PATH])
{
    size_t n = strlen(folder->path);
    const char *slash = n > 0 && folder->path[n - 1] == '/' ? "" : "/";
    if (snprintf(shown, RS_SHOWN_PATH, "%s%s%s", folder->path, slash, name) >= RS_SHOWN_PATH) {
        (void)snprintf(shown, RS_SHOWN_PATH, ".../%.500s", name);
    }
    return shown;
}

/* What the manifest says becomes the array; a number that makes no sense is the manifest's fault. */
static resplit_status fill_from_manifest(const rs_manifest *manifest, resplit_array *array, resplit_error *err)
{
    const resplit_spec *spec = &manifest->spec;
    array->format = rs_format_by_name(spec->format);
    array->order = spec->order == '\0' ? 'C' : spec->order;
    array->fingerprint = manifest->fingerprint;
    array->data_offset = array->format->has_header ? 0 : spec->skip;
    array->pattern = rs_strdup(spec->pattern);
    if (array->pattern == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for a pattern");
    }
    if (manifest->header != NULL && rs_format_is_nifti(array->format)) {
        RS_TRY(rs_nifti_from_hex(manifest->header, RS_MANIFEST_NAME, array, err));
    }
    RS_TRY(rs_dtype_parse(spec->dtype, &array->dtype, err));
    RS_TRY(rs_array_cut(array, spec->ndim, spec->shape, spec->chunks, err));
    return rs_array_finish(array, err);
}

static resplit_status open_by_manifest(const rs_folder *folder, resplit_array *array, bool *found, resplit_error *err)
{
    rs_manifest manifest;
    resplit_error inner = {0};
    char shown[RS_SHOWN_PATH];

    (void)rs_folder_show(folder, RS_MANIFEST_NAME, shown);
    RS_TRY(rs_manifest_load(folder->fd, RS_MANIFEST_NAME, shown, false, &manifest, found, err));
    if (!*found) {
        return RESPLIT_OK;
    }
    resplit_status rc = fill_from_manifest(&manifest, array, &inner);
    rs_manifest_release(&manifest);
    if (rc != RESPLIT_OK) {
        return rs_fail(err, rc == RESPLIT_EINVAL ? RESPLIT_EFORMAT : rc, "bad manifest '%s': %.300s", shown,
                       inner.message);
    }
    return rs_format_is_hdf5(array->format) ? RESPLIT_OK /* their chunks may be the blocks: see open_files */
                                            : rs_array_agree(array, folder->spec, err);
}

/* The pattern of names: the user's, a Dask stack's, or what the names look like. */
static resplit_status find_pattern(const rs_folder *folder, resplit_array *array, resplit_error *err)
{
    bool stack = false;
    int axis = 0;
    if (folder->spec->pattern != NULL) {
        array->pattern = rs_strdup(folder->spec->pattern);
        return array->pattern != NULL ? RESPLIT_OK : rs_fail(err, RESPLIT_ENOMEM, "no memory for a pattern");
    }
    RS_TRY(rs_stack_axis(folder, &stack, &axis, err));
    if (!stack) {
        return rs_names_detect(folder, &array->pattern, err);
    }
    array->pattern = malloc(RS_NAME_MAX);
    if (array->pattern == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for a pattern");
    }
    (void)snprintf(array->pattern, RS_NAME_MAX, "{%d}.npy", axis);
    return RESPLIT_OK;
}

static resplit_status open_by_names(const rs_folder *folder, resplit_array *array, resplit_error *err)
{
    RS_TRY(find_pattern(folder, array, err));
    RS_TRY(rs_folder_derive(folder, array, err));
    /* the blocks themselves tell the order where there is a header; until one has, C stands in */
    char order = array->format->has_header ? '\0' : folder->spec->order;
    array->order = order == '\0' ? 'C' : order;
    RS_TRY(rs_array_finish(array, err));
    if (array->format->has_header) {
        array->order = '\0';
    }
    return RESPLIT_OK;
}

/* ---- Files that are opened in another process ---- */

static resplit_status stop_at_hdf5(const char *name, void *payload, resplit_error *err)
{
    (void)payload;
    return rs_format_is_hdf5(rs_format_by_suffix(name)) ? rs_fail(err, RESPLIT_ECANCELED, "one is enough") : RESPLIT_OK;
}

/* Might files of the folder be HDF5? By what the user says, else by their names. */
static bool may_hold_hdf5(const rs_folder *folder)
{
    const resplit_spec *spec = folder->spec;
    const rs_format *format = spec->format != NULL    ? rs_format_by_name(spec->format)
                              : spec->pattern != NULL ? rs_format_by_suffix(spec->pattern)
                                                      : NULL;
    return format != NULL ? rs_format_is_hdf5(format)
                          : rs_folder_list(folder, stop_at_hdf5, NULL, NULL) == RESPLIT_ECANCELED;
}

/* ---- All of it ---- */

typedef struct opening {
    rs_folder folder;
    bool described;       /* by a manifest, from which the array is filled */
    resplit_array *array; /* that is filled */
    resplit_array *taken; /* that comes from another process */
} opening;

/* Everything that looks into files. */
static resplit_status open_files(void *payload, resplit_error *err)
{
    const opening *o = payload;
    const rs_folder *folder = &o->folder;
    resplit_array *array = o->array;
    int64_t n_files = 0;
    if (!o->described) {
        RS_TRY(open_by_names(folder, array, err));
    }
    RS_TRY(rs_folder_census(folder, array, &n_files, err));
    RS_TRY(rs_folder_verify(folder, array, n_files, err));
    if (array->order == '\0') { /* no block has two long axes: both orders are true */
        array->order = folder->spec->order == '\0' ? 'C' : folder->spec->order;
    }
    RS_TRY(rs_array_finish(array, err));
    return rs_array_agree(array, folder->spec, err);
}

static void pass(rs_wire *wire, void *payload)
{
    const opening *o = payload;
    rs_array_pass(wire, wire->sends ? o->array : o->taken);
}

/* One process for all files. */
static resplit_status open_apart(opening *o, resplit_error *err)
{
    rs_apart task = {.subject = o->folder.path, .work = open_files, .pass = pass, .payload = o};
    RS_TRY(rs_array_new(&o->taken, err));
    RS_TRY(rs_hdf5_apart(task, NULL, err));
    rs_array_close(o->array);
    o->array = o->taken;
    o->taken = NULL;
    return rs_array_take(o->array, err);
}

static resplit_status open_folder(opening *o, const char *path, resplit_error *err)
{
    RS_TRY(rs_array_new(&o->array, err));
    o->array->path = rs_strdup(path);
    if (o->array->path == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for a path");
    }
    o->folder.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (o->folder.fd < 0) {
        return rs_fail_errno(err, errno, "cannot open '%s'", path);
    }
    RS_TRY(open_by_manifest(&o->folder, o->array, &o->described, err));
    bool apart = o->described ? rs_format_is_hdf5(o->array->format) : may_hold_hdf5(&o->folder);
    return apart && !rs_is_apart() ? open_apart(o, err) : open_files(o, err);
}

resplit_status rs_folder_open(const char *path, const resplit_spec *spec, resplit_array **out, resplit_error *err)
{
    static const resplit_spec nothing = {0};
    opening o = {.folder = {.path = path, .fd = -1, .spec = spec == NULL ? &nothing : spec}};
    resplit_status rc = open_folder(&o, path, err);
    if (o.folder.fd >= 0) {
        close(o.folder.fd);
    }
    rs_array_close(o.taken);
    if (rc != RESPLIT_OK) {
        rs_array_close(o.array);
        o.array = NULL;
    }
    *out = o.array;
    return rc;
}
