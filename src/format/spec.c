/* SPDX-License-Identifier: BSD-3-Clause */
/* spec.c - what the user says about an array: is it sound, and is it what the files say. */
#include <string.h>

#include "format/array.h"
#include "format/drivers.h"

resplit_status rs_spec_check(const resplit_spec *spec, resplit_error *err)
{
    if (spec == NULL) {
        return RESPLIT_OK;
    }
    if (spec->format != NULL && rs_format_by_name(spec->format) == NULL) {
        return rs_fail_format(spec->format, err);
    }
    if (spec->order != '\0' && spec->order != 'C' && spec->order != 'F') {
        return rs_fail(err, RESPLIT_EINVAL, "order '%c' is neither C nor F", spec->order);
    }
    if (spec->ndim < 0 || spec->ndim > RS_MAX_NDIM) {
        return rs_fail(err, RESPLIT_EINVAL, "%d axes were given; at most %d are handled", spec->ndim, RS_MAX_NDIM);
    }
    for (int d = 0; spec->shape != NULL && d < spec->ndim; d++) {
        if (spec->shape[d] < 0) {
            return rs_fail(err, RESPLIT_EINVAL, "axis %d has negative extent %lld", d, (long long)spec->shape[d]);
        }
    }
    if (spec->skip < 0) {
        return rs_fail(err, RESPLIT_EINVAL, "%lld bytes cannot be skipped", (long long)spec->skip);
    }
    return RESPLIT_OK;
}

static resplit_status agree_dtype(const resplit_array *array, const char *given, const char *path, resplit_error *err)
{
    rs_dtype dtype;
    RS_TRY(rs_dtype_parse(given, &dtype, err));
    /* "uint16" leaves the byte order to the file; "<u2" does not */
    bool explicit_order = *given == '<' || *given == '>' || *given == '=';
    bool same =
        explicit_order ? strcmp(dtype.descr, array->dtype.descr) == 0 : rs_dtype_same_values(&dtype, &array->dtype);
    rs_dtype_release(&dtype);
    return same ? RESPLIT_OK
                : rs_fail(err, RESPLIT_EINVAL, "'%s' has type %.200s, but %.200s was given", path, array->dtype.descr,
                          given);
}

static bool same_cuts(const rs_axis *a, const rs_axis *b)
{
    bool same = a->n == b->n && a->extent == b->extent;
    if (same && a->step > 0 && b->step > 0) {
        return a->n == 1 || a->step == b->step;
    }
    for (int64_t i = 0; same && i < a->n; i++) { /* the last may reach out of the array */
        same = rs_axis_cut(a, i) == rs_axis_cut(b, i);
    }
    return same;
}

static resplit_status agree_chunks(const resplit_array *array, const resplit_spec *spec, const char *path,
                                   resplit_error *err)
{
    resplit_array *given = NULL; /* only its axes are used */
    resplit_status rc = rs_array_new(&given, err);
    for (int d = 0; d < array->layout.ndim && rc == RESPLIT_OK; d++) {
        const rs_axis *axis = &array->layout.axis[d];
        rc = rs_array_cut_axis(given, d, axis->extent, &spec->chunks[d], err);
        if (rc == RESPLIT_OK && !same_cuts(axis, &given->layout.axis[d])) {
            const rs_axis *other = &given->layout.axis[d];
            rc = rs_fail(
                err, RESPLIT_EINVAL,
                "'%s' has %lld blocks of up to %lld along axis %d, but the chunks given make %lld of up to %lld", path,
                (long long)axis->n, (long long)rs_axis_longest(axis), d, (long long)other->n,
                (long long)rs_axis_longest(other));
        }
    }
    rs_array_close(given);
    return rc;
}

static resplit_status agree_shape(const resplit_array *array, const resplit_spec *spec, const char *path,
                                  resplit_error *err)
{
    int64_t shape[RS_MAX_NDIM];
    bool same = spec->ndim == array->layout.ndim;
    for (int d = 0; d < array->layout.ndim; d++) {
        shape[d] = array->layout.axis[d].extent;
        same = same && (spec->shape == NULL || shape[d] == spec->shape[d]);
    }
    if (same) {
        return RESPLIT_OK;
    }
    char has[RS_SHAPE_TEXT], given[RS_SHAPE_TEXT];
    if (spec->shape == NULL) {
        return rs_fail(err, RESPLIT_EINVAL, "'%s' has %d axes, but chunks were given for %d", path, array->layout.ndim,
                       spec->ndim);
    }
    return rs_fail(err, RESPLIT_EINVAL, "'%s' has shape %s, but %s was given", path,
                   rs_shape_text(array->layout.ndim, shape, has), rs_shape_text(spec->ndim, spec->shape, given));
}

resplit_status rs_array_agree(const resplit_array *array, const resplit_spec *spec, resplit_error *err)
{
    const char *path = array->path;
    if (spec == NULL) {
        return RESPLIT_OK;
    }
    const rs_format *family = array->format->family;
    bool stands = spec->format != NULL && family != NULL && strcmp(spec->format, family->name) == 0;
    if (spec->format != NULL && !stands && strcmp(spec->format, array->format->name) != 0) {
        return rs_fail(err, RESPLIT_EINVAL, "'%s' has format %s, but %s was given", path, array->format->name,
                       spec->format);
    }
    if (spec->dtype != NULL) {
        RS_TRY(agree_dtype(array, spec->dtype, path, err));
    }
    if (spec->shape != NULL || spec->chunks != NULL) {
        RS_TRY(agree_shape(array, spec, path, err));
    }
    if (spec->chunks != NULL) {
        RS_TRY(agree_chunks(array, spec, path, err));
    }
    if (spec->order != '\0' && array->layout.ndim > 1 && spec->order != array->order) {
        return rs_fail(err, RESPLIT_EINVAL, "'%s' has order %c, but %c was given", path, array->order, spec->order);
    }
    if (spec->pattern != NULL && array->pattern != NULL && strcmp(spec->pattern, array->pattern) != 0) {
        return rs_fail(err, RESPLIT_EINVAL, "'%s' has pattern '%s', but '%s' was given", path, array->pattern,
                       spec->pattern);
    }
    if (spec->skip != 0 && array->format->has_header) {
        return rs_fail(err, RESPLIT_EINVAL, "'%s' has headers: only raw files can skip bytes, and %lld were given",
                       path, (long long)spec->skip);
    }
    if (spec->skip != 0 && spec->skip != array->data_offset) {
        return rs_fail(err, RESPLIT_EINVAL, "'%s' has data at byte %lld, but %lld was given", path,
                       (long long)array->data_offset, (long long)spec->skip);
    }
    return RESPLIT_OK;
}
