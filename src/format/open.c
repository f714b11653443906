/* SPDX-License-Identifier: BSD-3-Clause */
/* open.c - opens an array: decides between one file and a folder, and reads one file. Folders are in folder.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/array.h"
#include "format/drivers.h"
#include "format/hdf5_array.h"
#include "format/manifest.h"
#include "format/minc_array.h"
#include "format/nifti_array.h"
#include "format/zarr_array.h"

/* An open regular file; a device or a pipe is refused without waiting for it. */
static resplit_status open_regular(int folder, const char *name, const char *path, int *fd, int64_t *size,
                                   uint64_t *stamp, bool *missing, resplit_error *err)
{
    struct stat status;
    *fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*fd < 0) {
        if (errno == ENOENT && missing != NULL) {
            *missing = true;
            return RESPLIT_OK;
        }
        return rs_fail_errno(err, errno, "cannot open '%s'", path);
    }
    resplit_status rc = RESPLIT_OK;
    if (fstat(*fd, &status) != 0) {
        rc = rs_fail_errno(err, errno, "cannot look at '%s'", path);
    } else if (!S_ISREG(status.st_mode)) {
        rc = rs_fail(err, RESPLIT_EFORMAT, "'%s' is not a regular file", path);
    }
    if (rc != RESPLIT_OK) {
        close(*fd);
        *fd = -1;
        return rc;
    }
    *size = (int64_t)status.st_size;
    *stamp = rs_mix(rs_mix(rs_mix(0, status.st_size), status.st_mtim.tv_sec), status.st_mtim.tv_nsec);
    return RESPLIT_OK;
}

static bool is_compressed(const char *name)
{
    size_t n = strlen(name);
    return n > 3 && strcmp(name + n - 3, ".gz") == 0;
}

/* From the file that has it, which for some formats is beside the one with the data. */
static resplit_status read_head(const rs_format *format, int folder, const char *name, const char *path, int fd,
                                rs_blockfile *out, resplit_error *err)
{
    rs_text beside = {0}, shown = {0};
    int head_fd = fd;
    int64_t size = out->size;
    uint64_t stamp = 0;
    bool missing = false;
    resplit_status rc = format->head_name == NULL ? RESPLIT_OK : format->head_name(name, &beside, err);
    bool apart = beside.n > 0;
    if (rc == RESPLIT_OK && apart) {
        rc = format->head_name(path, &shown, err);
    }
    if (rc == RESPLIT_OK && apart) {
        rc = open_regular(folder, beside.s, shown.s, &head_fd, &size, &stamp, &missing, err);
    }
    if (rc == RESPLIT_OK && missing) {
        rc = rs_fail(err, RESPLIT_EFORMAT, "'%s' has no header: '%s' is missing", path, shown.s);
    }
    if (rc == RESPLIT_OK) {
        rc = format->parse_head(head_fd, size, apart ? shown.s : path, &out->head, err);
    }
    if (rc == RESPLIT_OK && out->head.apart != apart) {
        rc = rs_fail(err, RESPLIT_EFORMAT, "the header in '%s' says that the voxels are in %s", apart ? shown.s : path,
                     apart ? "the same file" : "another file, so that it would have to be named .hdr");
        rs_head_release(&out->head);
    }
    if (rc == RESPLIT_OK && apart) {
        out->stamp = rs_mix(out->stamp, (int64_t)stamp);
        out->head.encoded = is_compressed(name);
    }
    if (apart && head_fd >= 0) {
        close(head_fd);
    }
    rs_text_release(&beside);
    rs_text_release(&shown);
    return rc;
}

resplit_status rs_blockfile_read(const rs_format *format, int folder, const char *name, const char *path,
                                 rs_blockfile *out, bool *missing, resplit_error *err)
{
    int fd;
    *out = (rs_blockfile){0};
    if (missing != NULL) {
        *missing = false;
    }
    RS_TRY(open_regular(folder, name, path, &fd, &out->size, &out->stamp, missing, err));
    if (fd < 0) {
        return RESPLIT_OK;
    }
    resplit_status rc = RESPLIT_OK;
    if (format->parse_head != NULL) {
        rc = read_head(format, folder, name, path, fd, out, err);
    }
    close(fd);
    return rc;
}

void rs_blockfile_release(rs_blockfile *file)
{
    rs_head_release(&file->head);
    *file = (rs_blockfile){0};
}

resplit_status rs_blockfile_check_size(const char *path, int64_t size, int64_t offset, int64_t bytes,
                                       resplit_error *err)
{
    int64_t expected;
    if (!rs_add(offset, bytes, &expected)) {
        return rs_fail(err, RESPLIT_EFORMAT, "'%s' would have to be larger than a file can be", path);
    }
    if (size != expected) {
        return rs_fail(err, RESPLIT_EFORMAT,
                       "'%s' has %lld bytes, expected %lld (%lld before the data, %lld of data): it is %s", path,
                       (long long)size, (long long)expected, (long long)offset, (long long)bytes,
                       size < expected ? "truncated" : "too long");
    }
    return RESPLIT_OK;
}

char rs_head_order(const rs_head *head)
{
    int n_long = 0;
    for (int d = 0; d < head->ndim; d++) {
        if (head->shape[d] == 0) {
            return '\0';
        }
        n_long += head->shape[d] > 1;
    }
    return n_long > 1 ? head->order : '\0';
}

static resplit_status fill_from_head(const char *path, resplit_array *array, const resplit_spec *spec,
                                     resplit_error *err)
{
    rs_blockfile file;
    resplit_status rc = rs_blockfile_read(array->format, AT_FDCWD, path, path, &file, NULL, err);
    if (rc != RESPLIT_OK) {
        goto out;
    }
    array->order = file.head.order;
    if (rs_head_order(&file.head) == '\0' && spec != NULL && spec->order != '\0') {
        array->order = spec->order; /* both are true */
    }
    array->data_offset = file.head.data_offset;
    array->dtype = file.head.dtype; /* moved */
    file.head.dtype = (rs_dtype){0};
    array->nifti = file.head.nifti; /* moved */
    array->exact_heads = array->nifti != NULL;
    file.head.nifti = NULL;
    array->format = file.head.format != NULL ? file.head.format : array->format;
    rc = rs_array_cut(array, file.head.ndim, file.head.shape, NULL, err);
    if (rc == RESPLIT_OK) {
        rc = rs_array_finish(array, err);
    }
    if (rc == RESPLIT_OK) {
        rc = file.head.encoded ? rs_array_set_encoded(array, file.size, file.size, err)
                               : rs_blockfile_check_size(path, file.size, array->data_offset, array->info.bytes, err);
    }
    array->stamp = file.stamp;
out:
    rs_blockfile_release(&file);
    return rc;
}

/* What a raw file is: what the file beside it says, else what the user says. */
static resplit_status fill_raw(const char *path, resplit_array *array, const resplit_spec *spec,
                               const rs_manifest *beside, resplit_error *err)
{
    static const resplit_spec nothing = {0};
    const resplit_spec *user = spec == NULL ? &nothing : spec;
    const resplit_spec *shaped = beside->spec.shape != NULL ? &beside->spec : user;
    const char *dtype = beside->spec.dtype != NULL ? beside->spec.dtype : user->dtype;
    char order = beside->spec.order != '\0' ? beside->spec.order : user->order;
    rs_blockfile file;

    if (shaped->shape == NULL || dtype == NULL) {
        return rs_fail(
            err, RESPLIT_EINVAL,
            rs_format_by_suffix(path) != NULL
                ? "'%s' is a raw file: give --shape and --dtype"
                : "'%s' is neither .npy nor Zarr, HDF5, NIfTI or MINC 2; if it is a raw file, give --shape and --dtype",
            path);
    }
    array->order = order == '\0' ? 'C' : order;
    array->data_offset = beside->has_skip ? beside->spec.skip : user->skip;
    RS_TRY(rs_dtype_parse(dtype, &array->dtype, err));
    RS_TRY(rs_array_cut(array, shaped->ndim, shaped->shape, NULL, err));
    RS_TRY(rs_array_finish(array, err));
    RS_TRY(rs_array_agree(array, spec, err));
    RS_TRY(rs_blockfile_read(array->format, AT_FDCWD, path, path, &file, NULL, err));
    array->stamp = file.stamp;
    return rs_blockfile_check_size(path, file.size, array->data_offset, array->info.bytes, err);
}

static resplit_status fill_from_raw(const char *path, resplit_array *array, const resplit_spec *spec,
                                    resplit_error *err)
{
    rs_manifest beside = {.has_skip = false};
    rs_text name = {0};
    bool found;
    resplit_status rc = rs_text_add(&name, err, "%s.json", path);
    if (rc == RESPLIT_OK) {
        rc = rs_manifest_load(AT_FDCWD, name.s, name.s, true, &beside, &found, err);
    }
    if (rc == RESPLIT_OK) {
        rc = fill_raw(path, array, spec, &beside, err);
    }
    rs_manifest_release(&beside);
    rs_text_release(&name);
    return rc;
}

/* By what the user says, by content, by suffix: in that order. */
static resplit_status find_format(const char *path, const resplit_spec *spec, const rs_format **out, resplit_error *err)
{
    int fd;
    int64_t size;
    uint64_t stamp;
    bool is_npy = false, is_nifti = false;
    *out = NULL;
    if (spec != NULL && spec->format != NULL) {
        *out = rs_format_by_name(spec->format);
        return RESPLIT_OK;
    }
    RS_TRY(open_regular(AT_FDCWD, path, path, &fd, &size, &stamp, NULL, err));
    resplit_status rc = rs_npy_probe(fd, path, &is_npy, err);
    if (rc == RESPLIT_OK) {
        rc = rs_nifti_probe_file(fd, path, &is_nifti, err);
    }
    close(fd);
    /* a .npy file without magic goes to its driver too, which says what is wrong with it */
    const rs_format *named = rs_format_by_suffix(path);
    *out = is_npy ? &rs_format_npy : is_nifti ? &rs_format_nifti : named != NULL ? named : &rs_format_raw;
    return rc;
}

static resplit_status open_file(const char *path, const resplit_spec *spec, resplit_array *array, resplit_error *err)
{
    if (spec != NULL && spec->pattern != NULL) {
        return rs_fail(err, RESPLIT_EINVAL, "'%s' is one file and has no pattern of names", path);
    }
    RS_TRY(find_format(path, spec, &array->format, err));
    array->path = rs_strdup(path);
    if (array->path == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for a path");
    }
    if (array->format->parse_head == NULL) {
        return fill_from_raw(path, array, spec, err);
    }
    RS_TRY(fill_from_head(path, array, spec, err));
    return rs_array_agree(array, spec, err);
}

static resplit_status take_array(const char *name, bool is_array, int version, void *payload, resplit_error *err)
{
    char **first = payload;
    (void)version;
    if (!is_array) {
        return RESPLIT_OK;
    }
    *first = rs_strdup(name);
    return rs_fail(err, RESPLIT_ECANCELED, "one is enough");
}

static resplit_status is_group(const char *path, resplit_error *err)
{
    char *first = NULL;
    (void)rs_zarr_walk(path, take_array, &first, NULL);
    (void)rs_fail(err, RESPLIT_EINVAL, "'%s' is a group of arrays: give one of them, as %s/%s", path, path,
                  first != NULL ? first : "NAME");
    free(first);
    return RESPLIT_EINVAL;
}

/* By what the user says, else by content. */
static resplit_status is_hdf5(const char *path, const resplit_spec *spec, bool *out, resplit_error *err)
{
    int fd = -1;
    int64_t size = 0;
    uint64_t stamp;
    if (spec != NULL && spec->format != NULL) {
        const rs_format *asked = rs_format_by_name(spec->format);
        *out = rs_format_is_hdf5(asked);
        return RESPLIT_OK;
    }
    RS_TRY(open_regular(AT_FDCWD, path, path, &fd, &size, &stamp, NULL, err));
    const rs_format *named = rs_format_by_suffix(path);
    *out = rs_hdf5_probe(fd, size) || rs_format_is_hdf5(named);
    resplit_status rc = named == &rs_format_minc2 ? rs_minc_check_version(fd, path, err) : RESPLIT_OK;
    close(fd);
    return rc;
}

/* "a.h5:/b", where no file has such a name. */
static resplit_status open_dataset(const char *path, const resplit_spec *spec, resplit_array **out, resplit_error *err)
{
    char *file = NULL, *dataset = NULL;
    struct stat status;
    int failed = errno;
    resplit_status rc = rs_hdf5_split(path, true, &file, &dataset, err);
    if (rc == RESPLIT_OK) {
        rc = file == NULL               ? rs_fail_errno(err, failed, "cannot open '%s'", path)
             : stat(file, &status) != 0 ? rs_fail_errno(err, errno, "cannot open '%s'", file)
                                        : rs_hdf5_array_open(file, dataset, spec, out, err);
    }
    free(file);
    free(dataset);
    return rc;
}

/* The header of a pair is a name for both. */
static resplit_status open_pair(const char *path, const resplit_spec *spec, resplit_array *array, resplit_error *err)
{
    rs_text data = {0};
    resplit_status rc = spec != NULL && spec->format != NULL && !rs_format_is_nifti(rs_format_by_name(spec->format))
                            ? rs_text_add(&data, err, "%s", path)
                            : rs_nifti_data_name(path, &data, err);
    if (rc == RESPLIT_OK) {
        rc = open_file(data.s, spec, array, err);
    }
    rs_text_release(&data);
    return rc;
}

resplit_status rs_array_open(const char *path, const resplit_spec *spec, resplit_array **out, resplit_error *err)
{
    bool hdf5 = false;
    struct stat status;
    *out = NULL;
    if (path == NULL || *path == '\0') {
        return rs_fail(err, RESPLIT_EINVAL, "the path of an array is empty");
    }
    RS_TRY(rs_spec_check(spec, err));
    if (stat(path, &status) != 0) {
        return open_dataset(path, spec, out, err);
    }
    if (S_ISDIR(status.st_mode)) {
        if (rs_zarr_probe(path) != 0) {
            return rs_zarr_array_open(path, spec, out, err);
        }
        if (rs_node_at(path) == RS_NODE_GROUP) {
            return is_group(path, err);
        }
        return rs_folder_open(path, spec, out, err);
    }
    RS_TRY(is_hdf5(path, spec, &hdf5, err));
    if (hdf5) {
        return rs_hdf5_array_open(path, NULL, spec, out, err);
    }
    RS_TRY(rs_array_new(out, err));
    resplit_status rc = open_pair(path, spec, *out, err);
    if (rc != RESPLIT_OK) {
        rs_array_close(*out);
        *out = NULL;
    }
    return rc;
}
