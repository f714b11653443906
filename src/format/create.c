/* SPDX-License-Identifier: BSD-3-Clause */
/* create.c - arrays that do not exist yet: described by a spec, or about to be made from a source. Touches no file. */
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "format/array.h"
#include "format/drivers.h"
#include "format/hdf5_array.h"
#include "format/literal.h"
#include "format/minc_array.h"
#include "format/nifti_array.h"
#include "format/space.h"
#include "format/zarr_array.h"

/* A name whose suffix says one format must not hold the other. */
static resplit_status check_suffix(const rs_format *format, const char *name, resplit_error *err)
{
    const rs_format *named = name == NULL ? NULL : rs_format_by_suffix(name);
    if (named != NULL && named != format && named != format->family) {
        return rs_fail(err, RESPLIT_EINVAL, "'%.300s' is the name of a %s file, but the format is %s", name,
                       named->name, format->name);
    }
    return RESPLIT_OK;
}

/* By name, by the group it will be in, by the suffix of the path, by that of the pattern, else as the source. */
static resplit_status choose_format(const char *path, const resplit_array *source, const resplit_target *target,
                                    const rs_format **out, resplit_error *err)
{
    *out = source->memory == NULL ? source->format : &rs_format_npy;
    if (target->format != NULL) {
        *out = rs_format_by_name(target->format);
        if (*out == NULL) {
            return rs_fail_format(target->format, err);
        }
    } else if (rs_node_is_named(path)) {
        int version = rs_node_version_above(path); /* readers of a group see nodes of its version only */
        *out = version == 2                           ? &rs_format_zarr2
               : version == 3 || source->zarr == NULL ? &rs_format_zarr3
                                                      : source->format;
    } else if (path != NULL && rs_format_by_suffix(path) != NULL) {
        *out = rs_format_by_suffix(path);
    } else if (target->pattern != NULL && rs_format_by_suffix(target->pattern) != NULL) {
        *out = rs_format_by_suffix(target->pattern);
    }
    RS_TRY(check_suffix(*out, target->folder ? NULL : path, err));
    return check_suffix(*out, target->pattern, err);
}

/* The box of the source that becomes the target. */
static resplit_status set_box(const resplit_array *source, const resplit_target *target, resplit_array *array,
                              int64_t *shape, resplit_error *err)
{
    int ndim = source->layout.ndim;
    bool lists = target->chunks != NULL || target->roi_start != NULL || target->roi_stop != NULL;
    if (lists && target->ndim != ndim) {
        return rs_fail(err, RESPLIT_EINVAL, "the source has %d axes, but %d were given for the target", ndim,
                       target->ndim);
    }
    for (int d = 0; d < ndim; d++) {
        int own = array->turned ? array->turn[d] : d; /* regions are of the source, along its own axes */
        int64_t extent = source->layout.axis[own].extent;
        int64_t start = target->roi_start == NULL ? 0 : target->roi_start[own];
        int64_t stop = target->roi_stop == NULL ? extent : target->roi_stop[own];
        if (start < 0 || start > stop || stop > extent) {
            return rs_fail(err, RESPLIT_EINVAL, "region %lld:%lld of axis %d is not within 0:%lld", (long long)start,
                           (long long)stop, own, (long long)extent);
        }
        array->origin[d] = start;
        shape[d] = stop - start;
    }
    return RESPLIT_OK;
}

static resplit_status one_file_only(const char *path, const resplit_array *array, resplit_error *err)
{
    int64_t lengths[RS_MAX_NDIM], whole[RS_MAX_NDIM], n = 1;
    char cut[RS_SHAPE_TEXT], uncut[RS_SHAPE_TEXT];
    for (int d = 0; d < array->layout.ndim; d++) {
        lengths[d] = rs_axis_longest(&array->layout.axis[d]);
        whole[d] = -1;
        if (!rs_mul(n, array->layout.axis[d].n, &n)) {
            n = INT64_MAX;
        }
    }
    if (n == 1) {
        return RESPLIT_OK;
    }
    return rs_fail(err, RESPLIT_EINVAL,
                   "'%s' is one file, but chunks %s make %lld blocks: give a folder name or --chunks %s", path,
                   rs_shape_text(array->layout.ndim, lengths, cut), (long long)n,
                   rs_shape_text(array->layout.ndim, whole, uncut));
}

/* One file or a folder, and the names in it. */
static resplit_status choose_names(const char *path, const char *pattern, bool folder, resplit_array *array,
                                   resplit_error *err)
{
    bool file = !folder && path != NULL && rs_format_by_suffix(path) != NULL;
    if (file) {
        if (pattern != NULL) {
            return rs_fail(err, RESPLIT_EINVAL, "'%s' is one file and needs no pattern: give a folder name", path);
        }
        return one_file_only(path, array, err);
    }
    bool several = false;
    for (int d = 0; d < array->layout.ndim; d++) {
        several = several || array->layout.axis[d].n > 1;
    }
    if (path == NULL && !folder && pattern == NULL && !several) {
        return RESPLIT_OK;
    }
    if (pattern == NULL) {
        const char *suffix = array->suffix != NULL ? array->suffix : array->format->suffixes[0];
        return rs_pattern_default(array->layout.ndim, suffix, &array->pattern, err);
    }
    if (!rs_utf8_is_valid(pattern, strlen(pattern))) {
        return rs_fail(err, RESPLIT_EINVAL, "bad pattern '%s': it is not UTF-8, so no manifest could hold it", pattern);
    }
    array->pattern = rs_strdup(pattern);
    return array->pattern != NULL ? RESPLIT_OK : rs_fail(err, RESPLIT_ENOMEM, "no memory for a pattern");
}

/* What only Zarr can do. */
static resplit_status check_plain(const resplit_target *target, const rs_format *format, resplit_error *err)
{
    if (target->codec != NULL && strcmp(target->codec, "none") != 0) {
        return rs_fail(err, RESPLIT_EINVAL, "files of format %s are not compressed: give a .zarr path, or no codec",
                       format->name);
    }
    return target->shards == NULL ? RESPLIT_OK
                                  : rs_fail(err, RESPLIT_EINVAL,
                                            "only Zarr, and HDF5 or MINC files in a folder, have shards: give a .zarr "
                                            "path, --format hdf5, or no shards");
}

/* The type, and how values get it. */
static resplit_status choose_type(const resplit_array *source, const char *wanted, resplit_array *array,
                                  resplit_error *err)
{
    if (wanted == NULL) {
        return rs_dtype_copy(&source->dtype, &array->dtype, err);
    }
    RS_TRY(rs_dtype_parse(wanted, &array->dtype, err));
    RS_TRY(rs_dtype_cast(&source->dtype, &array->dtype, &array->cast, err));
    if (array->cast.kind == RS_CAST_NONE) {
        return RESPLIT_OK;
    }
    array->pad = calloc(1, (size_t)source->dtype.itemsize);
    if (array->pad == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for an element");
    }
    if (source->fill != NULL) {
        memcpy(array->pad, source->fill, (size_t)source->dtype.itemsize);
    }
    return RESPLIT_OK;
}

static void set_cast_cost(resplit_array *array)
{
    if (array->cast.kind != RS_CAST_NONE) {
        array->layout.coding = (rs_coding){
            .item = array->dtype.itemsize,
            .seconds = rs_cast_seconds(&array->cast),
            .ratio = (double)array->cast.to.itemsize / (double)array->cast.from.itemsize,
        };
    }
}

/* One file of HDF5, rather than a folder of them. */
static bool is_dataset(const char *path, const char *dataset, const resplit_target *target, const rs_format *format)
{
    return rs_format_is_hdf5(format) && path != NULL && !target->folder
           && (dataset != NULL || rs_format_by_suffix(path) == format);
}

/* An OME-Zarr image is asked for, by an option or by its name; an array in the making of a group is one of its own. */
static resplit_status choose_image(const char *path, const resplit_target *target, resplit_array *array,
                                   resplit_error *err)
{
    static const char suffix[] = ".ome.zarr";
    size_t n = path != NULL ? strlen(path) : 0, k = sizeof suffix - 1;
    while (n > 1 && path[n - 1] == '/') {
        n--;
    }
    bool zarr = array->format == &rs_format_zarr2 || array->format == &rs_format_zarr3;
    bool named = n > k && strncmp(path + n - k, suffix, k) == 0 && !rs_is_in_part(path);
    array->ome = target->ome || (named && zarr);
    return !array->ome || zarr ? RESPLIT_OK
                               : rs_fail(err, RESPLIT_EINVAL,
                                         "an OME-Zarr image is Zarr, and the target would be %s: give a .zarr path",
                                         array->format->name);
}

/* A codec that loses digits may well be what the user wants, but nobody should find out later. */
static resplit_status note_codec(resplit_array *array, resplit_error *err)
{
    char text[200];
    return rs_chain_is_lossless(&array->chain)
               ? RESPLIT_OK
               : rs_text_add(&array->notes, err, "%scodec '%s' does not keep every value as it is",
                             array->notes.n > 0 ? "\n" : "", rs_chain_text(&array->chain, text));
}

/* What is asked for, as it was asked for. */
static resplit_status take_wishes(const char *path, const resplit_target *target, resplit_array *array,
                                  resplit_error *err)
{
    array->overwrite = target->overwrite;
    array->wished_order = target->order;
    array->wished_format = target->format != NULL;
    if (target->codec != NULL && (array->wished_codec = rs_strdup(target->codec)) == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for a codec");
    }
    if (path != NULL) {
        if (*path == '\0') {
            return rs_fail(err, RESPLIT_EINVAL, "the path of the target is empty");
        }
        array->path = rs_path_trimmed(path); /* what grows beside it is named after it */
        if (array->path == NULL) {
            return rs_fail(err, RESPLIT_ENOMEM, "no memory for a path");
        }
    }
    return RESPLIT_OK;
}

/* Files, or one file, of a format that has no chunks of its own. */
static resplit_status fill_files(const char *path, const resplit_array *source, const resplit_target *target,
                                 const int64_t *shape, resplit_array *array, resplit_error *err)
{
    bool nifti = rs_format_is_nifti(array->format);
    RS_TRY(rs_hdf5_check_plain(source, array->format, err));
    RS_TRY(nifti ? rs_nifti_array_begin(path, source, target, shape, array, err)
                 : check_plain(target, array->format, err));
    array->order = array->order == '\0' ? 'C' : array->order; /* of a Zarr array: neither C nor F */
    RS_TRY(rs_array_cut(array, source->layout.ndim, shape, target->chunks, err));
    RS_TRY(choose_names(path, target->pattern, target->folder, array, err));
    RS_TRY(nifti ? rs_nifti_array_head(source, shape, array, err) : rs_array_set_offset(array, err));
    RS_TRY(rs_array_finish(array, err));
    set_cast_cost(array);
    return nifti ? rs_nifti_array_end(source, array, err) : RESPLIT_OK;
}

/* A dataset, or a grid of files with one in each: lengths of files are asked for as shards, when they have chunks. */
static resplit_status fill_hdf5(const char *path, const char *dataset, bool one, const resplit_array *source,
                                const resplit_target *target, const int64_t *shape, resplit_array *array,
                                resplit_error *err)
{
    resplit_chunks files[RS_MAX_NDIM] = {0};
    array->order = 'C';
    for (int d = 0; d < source->layout.ndim && target->shards != NULL; d++) {
        files[d].length = target->shards[d];
    }
    if (!one) {
        RS_TRY(rs_array_cut(array, source->layout.ndim, shape, target->shards != NULL ? files : target->chunks, err));
        RS_TRY(choose_names(path, target->pattern, target->folder, array, err));
    }
    RS_TRY(rs_hdf5_array_fill(source, target, shape, dataset, array, err));
    if (!array->encoded) {
        set_cast_cost(array);
    }
    return RESPLIT_OK;
}

/* `dataset` NULL: the path names none. */
static resplit_status fill_target(const char *path, const char *dataset, const resplit_array *given,
                                  const resplit_target *target, resplit_array *array, resplit_error *err)
{
    int64_t shape[RS_MAX_NDIM];
    resplit_array view;
    RS_TRY(take_wishes(path, target, array, err));
    RS_TRY(choose_type(given, target->dtype, array, err));
    RS_TRY(choose_format(path, given, target, &array->format, err));
    RS_TRY(choose_image(path, target, array, err));
    bool one = is_dataset(path, dataset, target, array->format);
    RS_TRY(rs_array_set_space(given, one, array, err));
    RS_TRY(set_box(given, target, array, shape, err));
    const resplit_array *source = rs_array_turned(given, array, &view);
    array->order = target->order != '\0' ? target->order : source->order;
    RS_TRY(array->format == &rs_format_minc2 ? rs_minc_array_begin(source, target, shape, array, err) : RESPLIT_OK);
    if (target->is_virtual && !one) {
        return rs_fail(err, RESPLIT_EINVAL, "only one HDF5 file can be virtual: give a .h5 path");
    }
    if (array->format == &rs_format_zarr2 || array->format == &rs_format_zarr3) {
        RS_TRY(rs_hdf5_check_plain(source, array->format, err));
        return rs_zarr_array_fill(source, target, shape, array, err);
    }
    return rs_format_is_hdf5(array->format) ? fill_hdf5(path, dataset, one, source, target, shape, array, err)
                                            : fill_files(path, source, target, shape, array, err);
}

static bool names_hdf5(const resplit_target *target)
{
    return target != NULL && target->format != NULL && strcmp(target->format, rs_format_hdf5.name) == 0;
}

resplit_status rs_array_create(const char *path, const resplit_array *source, const resplit_target *target,
                               resplit_array **out, resplit_error *err)
{
    static const resplit_target plain = {0};
    *out = NULL;
    if (source == NULL) {
        return rs_fail(err, RESPLIT_EINVAL, "a target needs a source");
    }
    char *file = NULL, *dataset = NULL;
    RS_TRY(rs_array_new(out, err));
    rs_text data = {0}; /* the header of a NIfTI pair is a name for both */
    resplit_status rc = path != NULL ? rs_hdf5_split(path, names_hdf5(target), &file, &dataset, err) : RESPLIT_OK;
    if (rc == RESPLIT_OK && path != NULL) {
        rc = rs_nifti_data_name(file != NULL ? file : path, &data, err);
    }
    if (rc == RESPLIT_OK) {
        rc = fill_target(data.s, dataset, source, target == NULL ? &plain : target, *out, err);
    }
    if (rc == RESPLIT_OK) {
        rc = note_codec(*out, err);
        (*out)->info.notes = (*out)->notes.n > 0 ? (*out)->notes.s : NULL; /* some come late */
    }
    rs_text_release(&data);
    free(file);
    free(dataset);
    if (rc != RESPLIT_OK) {
        rs_array_close(*out);
        *out = NULL;
    }
    return rc;
}

static resplit_status fill_described(const resplit_spec *spec, resplit_array *array, resplit_error *err)
{
    if (spec == NULL || spec->shape == NULL || spec->dtype == NULL) {
        return rs_fail(err, RESPLIT_EINVAL, "an array is described by a shape and a type: give both");
    }
    RS_TRY(rs_spec_check(spec, err));
    array->format = spec->format != NULL    ? rs_format_by_name(spec->format)
                    : spec->pattern != NULL ? rs_format_by_suffix(spec->pattern)
                                            : NULL;
    if (array->format == NULL) {
        array->format = &rs_format_raw;
    }
    array->suffix = rs_format_is_nifti(array->format) ? ".nii" : NULL;
    array->order = spec->order == '\0' ? 'C' : spec->order;
    RS_TRY(rs_dtype_parse(spec->dtype, &array->dtype, err));
    RS_TRY(rs_array_cut(array, spec->ndim, spec->shape, spec->chunks, err));
    RS_TRY(choose_names(NULL, spec->pattern, false, array, err));
    array->data_offset = spec->skip;
    if (array->format->make_head != NULL) {
        RS_TRY(rs_array_set_offset(array, err));
    }
    return rs_array_finish(array, err);
}

resplit_status rs_array_describe(const resplit_spec *spec, resplit_array **out, resplit_error *err)
{
    *out = NULL;
    RS_TRY(rs_array_new(out, err));
    resplit_status rc = fill_described(spec, *out, err);
    if (rc != RESPLIT_OK) {
        rs_array_close(*out);
        *out = NULL;
    }
    return rc;
}
