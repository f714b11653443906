/* SPDX-License-Identifier: BSD-3-Clause */
/* nifti_target.c - NIfTI images that are to be made: names, version and header, before there are blocks. */
#include "format/nifti_array.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/drivers.h"
#include "format/space.h"

/* The end of a name that says how blocks are stored; NULL: none. */
static const char *suffix_of(const char *name)
{
    for (const char *const *suffix = rs_format_nifti.suffixes; name != NULL && *suffix != NULL; suffix++) {
        size_t n = strlen(name), k = strlen(*suffix);
        if (n > k && strcmp(name + n - k, *suffix) == 0) {
            return *suffix;
        }
    }
    return NULL;
}

static bool is_compressed(const char *suffix)
{
    return strcmp(suffix + strlen(suffix) - 3, ".gz") == 0;
}

/* By the path of one file, by the pattern, by what is asked for, as the source. */
static resplit_status choose_suffix(const char *path, const resplit_array *source, const resplit_target *target,
                                    resplit_array *array, resplit_error *err)
{
    const char *codec = target->codec, *named = target->folder ? NULL : suffix_of(path);
    bool wants = codec != NULL && strcmp(codec, "none") != 0;
    named = named != NULL ? named : suffix_of(target->pattern);
    const char *suffix = named;
    if (suffix == NULL && source->nifti != NULL) {
        suffix = suffix_of(source->pattern != NULL ? source->pattern : source->path);
    }
    suffix = suffix != NULL ? suffix : ".nii";
    if (codec != NULL && named == NULL) {
        bool apart = strncmp(suffix, ".img", 4) == 0;
        suffix = apart ? (wants ? ".img.gz" : ".img") : wants ? ".nii.gz" : ".nii";
    }
    if (codec != NULL && wants != is_compressed(suffix)) {
        return rs_fail(err, RESPLIT_EINVAL, "codec '%.60s' does not go with files that end in %s", codec, suffix);
    }
    if (wants && strncmp(codec, "gzip", 4) != 0) {
        return rs_fail(err, RESPLIT_EINVAL, "NIfTI files are compressed by gzip only, not by '%.60s'", codec);
    }
    array->suffix = suffix;
    return RESPLIT_OK;
}

static resplit_status check_axes(const resplit_array *source, const resplit_target *target, const int64_t *shape,
                                 resplit_error *err)
{
    int ndim = source->layout.ndim;
    if (ndim < 1 || ndim > RS_NIFTI_AXES) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "NIfTI has 1 to %d axes, and the array has %d: write npy or Zarr",
                       RS_NIFTI_AXES, ndim);
    }
    for (int d = 0; d < ndim; d++) {
        if (shape[d] == 0) {
            return rs_fail(err, RESPLIT_EUNSUPPORTED, "axis %d has no elements, which NIfTI cannot say", d);
        }
    }
    return target->order == 'C' && ndim > 1
               ? rs_fail(err, RESPLIT_EINVAL,
                         "in NIfTI files the first axis is the fastest: order C is not possible, leave --to-order out")
               : RESPLIT_OK;
}

resplit_status rs_nifti_array_begin(const char *path, const resplit_array *source, const resplit_target *target,
                                    const int64_t *shape, resplit_array *array, resplit_error *err)
{
    rs_element element = {'V', 1, '|'};
    RS_TRY(check_axes(source, target, shape, err));
    if (target->shards != NULL) {
        return rs_fail(err, RESPLIT_EINVAL,
                       "only Zarr, and HDF5 or MINC files in a folder, have shards: give a .zarr path, --format hdf5, "
                       "or no shards");
    }
    array->order = 'F';
    RS_TRY(choose_suffix(path, source, target, array, err));
    array->encoded = is_compressed(array->suffix);
    const char *codec = target->codec != NULL ? target->codec : "gzip:6";
    return array->encoded ? rs_chain_parse(codec, &element, &array->chain, err) : RESPLIT_OK;
}

/* Does an intent say that the fifth axis holds the numbers of one thing? */
static bool is_vector(int64_t intent)
{
    static const int ranges[][2] = {{2, 24}, {1004, 1010}, {2003, 2004}};
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        if (intent >= ranges[i][0] && intent <= ranges[i][1]) {
            return true;
        }
    }
    return false;
}

/* The header that a target's is made from: the source's, or the one that was kept with its space; NULL:
   there is none. */
static const rs_nifti *model_of(const resplit_array *source, const resplit_array *array)
{
    return source->nifti != NULL ? source->nifti : array->space != NULL ? array->space->header : NULL;
}

static resplit_status check_intent(const resplit_array *source, const resplit_array *array, resplit_error *err)
{
    enum { FIFTH = 4 };
    const rs_nifti *nifti = model_of(source, array);
    if (nifti == NULL || nifti->ndim <= FIFTH || nifti->shape[FIFTH] == 1) {
        return RESPLIT_OK;
    }
    const rs_axis *axis = &array->layout.axis[FIFTH];
    int64_t intent = rs_nifti_int(nifti, RS_NI_INTENT_CODE, 0);
    bool cut = axis->n > 1 || (axis->extent != nifti->shape[FIFTH] && axis->extent > 1);
    return cut && is_vector(intent)
               ? rs_fail(err, RESPLIT_EUNSUPPORTED,
                         "intent_code %" PRId64
                         " says that axis %d holds the numbers of one vector, matrix or statistic: it is not cut, give "
                         "-1 for it, or write npy or Zarr",
                         intent, FIFTH)
               : RESPLIT_OK;
}

/* The version that is asked for, or that of the source, or 2 where an axis is longer than 1 can say. */
static resplit_status choose_version(const resplit_array *source, resplit_array *array, resplit_error *err)
{
    const rs_format *asked = array->format;
    int version = asked == &rs_format_nifti2 ? 2 : asked == &rs_format_nifti1 ? 1 : 0;
    bool open = version == 0 || (asked == source->format && !array->wished_format);
    const rs_nifti *model = model_of(source, array);
    version = version != 0 ? version : model != NULL ? model->version : 1;
    for (int d = 0; d < array->layout.ndim && version == 1; d++) {
        int64_t longest = rs_axis_longest(&array->layout.axis[d]);
        if (longest <= RS_NIFTI1_LONGEST) {
            continue;
        }
        if (!open) {
            return rs_fail(err, RESPLIT_EUNSUPPORTED,
                           "axis %d has blocks of %" PRId64 " voxels, and NIfTI-1 ends at %d: write nifti2, or cut it",
                           d, longest, RS_NIFTI1_LONGEST);
        }
        version = 2;
        RS_TRY(rs_text_add_line(&array->notes, err,
                                "written as NIfTI-2: axis %d has %" PRId64 " voxels, and NIfTI-1 ends at %d", d,
                                longest, RS_NIFTI1_LONGEST));
    }
    array->format = version == 1 ? &rs_format_nifti1 : &rs_format_nifti2;
    return RESPLIT_OK;
}

static resplit_status note_slices(const resplit_array *array, rs_text *notes, resplit_error *err)
{
    int64_t shape[RS_MAX_NDIM];
    for (int d = 0; d < array->layout.ndim; d++) {
        shape[d] = rs_axis_longest(&array->layout.axis[d]);
    }
    return rs_nifti_loses_slices(array->nifti, array->origin, shape)
               ? rs_text_add_line(notes, err,
                                  "slice_code %" PRId64 " is of all slices, so it is 0 in files that have some of them",
                                  rs_nifti_int(array->nifti, RS_NI_SLICE_CODE, 0))
               : RESPLIT_OK;
}

resplit_status rs_nifti_array_head(const resplit_array *source, const int64_t *shape, resplit_array *array,
                                   resplit_error *err)
{
    RS_TRY(choose_version(source, array, err));
    RS_TRY(check_intent(source, array, err));
    rs_nifti_wish wish = {.version = array->format == &rs_format_nifti1 ? 1 : 2,
                          .pair = strncmp(array->suffix, ".img", 4) == 0,
                          .dtype = &array->dtype};
    array->nifti = calloc(1, sizeof *array->nifti);
    if (array->nifti == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for a header");
    }
    const rs_nifti *model = model_of(source, array);
    RS_TRY(model != NULL ? rs_nifti_convert(model, &wish, array->nifti, err)
                         : rs_nifti_make(&wish, source->layout.ndim, shape, array->nifti, err));
    if (model == NULL && array->space != NULL) {
        RS_TRY(rs_nifti_set_space(array->nifti, array->space, &array->notes, err));
    }
    array->data_offset = array->nifti->vox_offset;
    return note_slices(array, &array->notes, err);
}

resplit_status rs_nifti_array_end(const resplit_array *source, resplit_array *array, resplit_error *err)
{
    double ratio = source->layout.coding.ratio > 0 ? source->layout.coding.ratio : 0.5; /* a guess */
    return array->encoded ? rs_nifti_set_coding(array, true, 0, ratio, err) : RESPLIT_OK;
}
