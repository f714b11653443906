/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * names.c - finds the pattern that the names in a folder follow, when nobody told.
 *
 *     block_00_10.npy   prefix "block_", numbers 0 and 10, between them "_", suffix ".npy"
 *
 * One number per axis is an index (0, 1, 2 ... along every axis) or else the first element; a single number for several
 * axes is an offset. Nothing is guessed that the blocks could contradict unnoticed: whatever comes out is verified.
 */
#include <string.h>

#include "format/drivers.h"
#include "format/folder.h"
#include "format/numbers.h"

/* One number in the names. */
typedef struct field {
    char before; /* what separates it from the number before; 0 for the first */
    rs_numbers values;
    int least, most; /* digits */
    bool padded;     /* some number begins with a zero */
} field;

typedef struct survey {
    const rs_folder *folder;
    const rs_format *only; /* the format asked for, or NULL */
    int64_t n;
    char first[RS_NAME_MAX]; /* the smallest name, so that the outcome does not depend on the order of listing */
    const char *suffix;      /* of first */
    char other[RS_NAME_MAX]; /* one with another suffix, or empty */
    size_t prefix_n;
    int n_fields;
    field field[RS_MAX_NDIM];
    bool has_shape;
    int64_t shape[RS_MAX_NDIM]; /* of the first block, where a header tells */
} survey;

static const char *find_suffix(const char *name, const rs_format *only)
{
    size_t n = strlen(name);
    const rs_format *format;
    for (int i = 0; (format = rs_format_at(i)) != NULL; i++) {
        for (const char *const *suffix = format->suffixes; (only == NULL || only == format) && *suffix != NULL;
             suffix++) {
            size_t k = strlen(*suffix);
            if (n > k && strcmp(name + n - k, *suffix) == 0) {
                return *suffix;
            }
        }
    }
    return NULL;
}

static resplit_status look(const char *name, void *payload, resplit_error *err)
{
    survey *s = payload;
    const char *suffix = find_suffix(name, s->only);
    (void)err;
    if (suffix == NULL || strlen(name) >= RS_NAME_MAX) {
        return RESPLIT_OK;
    }
    if (s->n > 0 && suffix != s->suffix) {
        memcpy(s->other, name, strlen(name) + 1);
    }
    if (s->n++ == 0 || strcmp(name, s->first) < 0) {
        if (s->n > 1 && suffix != s->suffix) {
            memcpy(s->other, s->first, sizeof s->other);
        }
        memcpy(s->first, name, strlen(name) + 1);
        s->suffix = suffix;
    }
    return RESPLIT_OK;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Splits the first name from its end into at most `most` numbers. */
static void split_first(survey *s, int most)
{
    size_t at = strlen(s->first) - strlen(s->suffix);
    int n = 0;
    char before[RS_MAX_NDIM] = {0};

    s->prefix_n = at;
    while (n < most && at > 0 && is_digit(s->first[at - 1])) {
        while (at > 0 && is_digit(s->first[at - 1])) {
            at--;
        }
        s->prefix_n = at;
        n++;
        if (n == most || at < 2 || strchr("_-.", s->first[at - 1]) == NULL) {
            break;
        }
        before[n - 1] = s->first[at - 1];
        at--;
    }
    s->n_fields = n;
    for (int i = 0; i < n; i++) {
        s->field[i].before = i == 0 ? '\0' : before[n - 1 - i];
    }
}

static resplit_status unlike(const survey *s, const char *name, resplit_error *err)
{
    return rs_fail(err, RESPLIT_EFORMAT,
                   "'%s' and '%s' in '%s' are not named alike: give their pattern, such as {0}_{1}%s", s->first, name,
                   s->folder->path, s->suffix);
}

/* Takes the numbers out of one name. */
static resplit_status take(const char *name, void *payload, resplit_error *err)
{
    survey *s = payload;
    if (find_suffix(name, s->only) == NULL) {
        return RESPLIT_OK;
    }
    if (strncmp(name, s->first, s->prefix_n) != 0) {
        return unlike(s, name, err);
    }
    const char *at = name + s->prefix_n;
    for (int i = 0; i < s->n_fields; i++) {
        field *f = &s->field[i];
        int64_t value = 0;
        int digits = 0;
        if (f->before != '\0' && *at++ != f->before) {
            return unlike(s, name, err);
        }
        f->padded |= *at == '0' && is_digit(at[1]);
        for (; is_digit(*at); at++, digits++) {
            if (!rs_mul(value, 10, &value) || !rs_add(value, *at - '0', &value)) {
                return unlike(s, name, err);
            }
        }
        if (digits == 0) {
            return unlike(s, name, err);
        }
        f->least = f->most == 0 || digits < f->least ? digits : f->least;
        f->most = digits > f->most ? digits : f->most;
        RS_TRY(rs_numbers_add(&f->values, value, err));
    }
    return strcmp(at, s->suffix) == 0 ? RESPLIT_OK : unlike(s, name, err);
}

/* Leading numbers that never change and are no index belong to the prefix: scan_2024_0.npy. */
static void absorb_constants(survey *s)
{
    while (s->n_fields > 1 && s->field[0].values.n == 1 && s->field[0].values.v[0] != 0
           && s->field[0].least == s->field[0].most) {
        s->prefix_n += (size_t)s->field[0].most + 1;
        rs_numbers_release(&s->field[0].values);
        s->n_fields--;
        memmove(&s->field[0], &s->field[1], (size_t)s->n_fields * sizeof s->field[0]);
        s->field[s->n_fields] = (field){0};
        s->field[0].before = '\0';
    }
}

/*
 * Numbers that are not 0, 1, 2 ... are positions, or blocks are missing. With headers the first block decides: the
 * second position is its length. Without, numbers that are at least 2 apart on average are positions.
 */
static bool are_starts(const survey *s)
{
    for (int i = 0; i < s->n_fields; i++) {
        const rs_numbers *values = &s->field[i].values;
        if (rs_numbers_is_dense(values)) {
            continue;
        }
        bool from_zero = values->n > 1 && values->v[0] == 0;
        if (s->has_shape && from_zero ? values->v[1] == s->shape[i] : values->v[values->n - 1] / 2 >= values->n - 1) {
            return true;
        }
    }
    return false;
}

static resplit_status add_field(const survey *s, int i, bool offset, bool starts, rs_text *out, resplit_error *err)
{
    const field *f = &s->field[i];
    if (f->before != '\0') {
        RS_TRY(rs_text_add(out, err, "%c", f->before));
    }
    if (offset) {
        RS_TRY(rs_text_add(out, err, "{offset"));
    } else {
        RS_TRY(rs_text_add(out, err, "{%d%s", i, starts ? ".start" : ""));
    }
    if (f->padded && f->least > 1) {
        RS_TRY(rs_text_add(out, err, ":0%d", f->least));
    }
    return rs_text_add(out, err, "}");
}

static resplit_status write_pattern(const survey *s, int ndim, rs_text *out, resplit_error *err)
{
    const char *path = s->folder->path;
    bool offset = s->n_fields == 1 && ndim > 1;
    if (s->n_fields == 0 && s->n > 1) {
        return rs_fail(err, RESPLIT_EFORMAT,
                       "'%s' holds %lld blocks, but '%s' has no number in its name: give their pattern", path,
                       (long long)s->n, s->first);
    }
    if (offset && s->n > 1 && rs_numbers_is_dense(&s->field[0].values)) {
        return rs_fail(err, RESPLIT_EFORMAT,
                       "'%s' has blocks of %d axes with one number in their names: give their pattern, such as {0}%s "
                       "for a stack along axis 0",
                       path, ndim, s->suffix);
    }
    if (s->n_fields != 0 && s->n_fields != ndim && !offset) {
        return rs_fail(err, RESPLIT_EFORMAT,
                       "'%s' has blocks of %d axes with %d numbers in their names: give their pattern", path, ndim,
                       s->n_fields);
    }
    bool starts = are_starts(s);
    RS_TRY(rs_pattern_add_text(out, s->first, s->prefix_n, err));
    for (int i = 0; i < s->n_fields; i++) {
        RS_TRY(add_field(s, i, offset, starts, out, err));
    }
    return rs_text_add(out, err, "%s", s->suffix);
}

/* How many axes the blocks have: a header says it, or the user. */
static resplit_status find_ndim(survey *s, int *ndim, resplit_error *err)
{
    const rs_format *format = rs_format_by_suffix(s->first);
    char shown[RS_SHOWN_PATH];
    rs_blockfile file;
    if (!format->has_header) {
        if (s->folder->spec->shape == NULL) {
            return rs_fail(err, RESPLIT_EINVAL, "'%s' holds raw files: give --shape and --dtype", s->folder->path);
        }
        *ndim = s->folder->spec->ndim;
        return RESPLIT_OK;
    }
    (void)rs_folder_show(s->folder, s->first, shown);
    RS_TRY(rs_blockfile_read(format, s->folder->fd, s->first, shown, &file, NULL, err));
    *ndim = file.head.ndim;
    s->has_shape = true;
    memcpy(s->shape, file.head.shape, sizeof s->shape);
    rs_blockfile_release(&file);
    return RESPLIT_OK;
}

static resplit_status detect(survey *s, rs_text *out, resplit_error *err)
{
    int ndim = 0;
    RS_TRY(rs_folder_list(s->folder, look, s, err));
    if (s->n == 0) {
        return rs_fail(err, RESPLIT_EFORMAT, "'%s' holds no blocks: no file ends in %s", s->folder->path,
                       s->only == NULL
                           ? ".npy, .raw, .bin, .dat, .nii, .nii.gz, .img, .mnc, .h5, .hdf5 or .nc; nor is it "
                             "a Zarr array, with a zarr.json or .zarray"
                           : s->only->suffixes[0]);
    }
    if (s->other[0] != '\0') {
        return rs_fail(err, RESPLIT_EFORMAT,
                       "'%s' holds files of different kinds, such as '%s' and '%s': give their pattern",
                       s->folder->path, s->first, s->other);
    }
    RS_TRY(find_ndim(s, &ndim, err));
    split_first(s, ndim);
    RS_TRY(rs_folder_list(s->folder, take, s, err));
    for (int i = 0; i < s->n_fields; i++) {
        rs_numbers_sort(&s->field[i].values);
    }
    absorb_constants(s);
    return write_pattern(s, ndim, out, err);
}

resplit_status rs_names_detect(const rs_folder *folder, char **pattern, resplit_error *err)
{
    rs_text text = {0};
    survey s = {.folder = folder};

    *pattern = NULL;
    s.only = folder->spec->format == NULL ? NULL : rs_format_by_name(folder->spec->format);
    s.only = s.only != NULL && s.only->family != NULL ? s.only->family : s.only; /* which has the suffixes */
    resplit_status rc = detect(&s, &text, err);
    if (rc == RESPLIT_OK && (*pattern = rs_strdup(text.s)) == NULL) {
        rc = rs_fail(err, RESPLIT_ENOMEM, "no memory for a pattern");
    }
    for (int i = 0; i < RS_MAX_NDIM; i++) {
        rs_numbers_release(&s.field[i].values);
    }
    rs_text_release(&text);
    return rc;
}
