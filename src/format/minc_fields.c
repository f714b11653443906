/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * minc_fields.c - attributes of MINC files, as texts and doubles: programs write the same in strings of other lengths,
 * and numbers of other types.
 */
#include "format/minc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t MOST_BYTES = 16 << 20; /* of an attribute: histories are the longest */

/* ---- Reading ----------------------------------------------------------------------------------- */

static bool read_fixed(hid_t attribute, hid_t type, rs_text *out)
{
    size_t n = H5Tget_size(type);
    char *bytes = n > 0 && n <= (size_t)MOST_BYTES ? calloc(1, n + 1) : NULL;
    bool done = bytes != NULL && H5Aread(attribute, type, bytes) >= 0
                && rs_text_add_bytes(out, bytes, strlen(bytes), NULL) == RESPLIT_OK;
    free(bytes);
    return done;
}

static bool read_varying(hid_t attribute, hid_t type, hid_t space, rs_text *out)
{
    char *bytes = NULL;
    bool done = H5Aread(attribute, type, &bytes) >= 0 && bytes != NULL;
    done = done && rs_text_add_bytes(out, bytes, strnlen(bytes, (size_t)MOST_BYTES), NULL) == RESPLIT_OK;
    if (bytes != NULL) {
        (void)H5Dvlen_reclaim(type, space, H5P_DEFAULT, &bytes);
    }
    return done;
}

static bool read_text(hid_t attribute, rs_text *out)
{
    hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    bool one = type >= 0 && space >= 0 && H5Tget_class(type) == H5T_STRING && H5Sget_simple_extent_npoints(space) == 1;
    bool done = one
                && (H5Tis_variable_str(type) > 0 ? read_varying(attribute, type, space, out)
                                                 : read_fixed(attribute, type, out));
    rs_hdf5_close(space);
    rs_hdf5_close(type);
    return done;
}

/* How many there are; the caller frees *out. */
static int64_t read_numbers(hid_t attribute, double **out)
{
    hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    H5T_class_t class = type >= 0 ? H5Tget_class(type) : H5T_NO_CLASS;
    hssize_t n = space >= 0 && (class == H5T_INTEGER || class == H5T_FLOAT) ? H5Sget_simple_extent_npoints(space) : 0;
    *out = n > 0 && n <= MOST_BYTES / 8 ? calloc((size_t)n, sizeof **out) : NULL;
    bool done = *out != NULL && H5Aread(attribute, H5T_NATIVE_DOUBLE, *out) >= 0;
    rs_hdf5_close(space);
    rs_hdf5_close(type);
    if (!done) {
        free(*out);
        *out = NULL;
    }
    return done ? (int64_t)n : 0;
}

static hid_t open_attribute(hid_t object, const char *name)
{
    return H5Aexists(object, name) > 0 ? H5Aopen(object, name, H5P_DEFAULT) : -1;
}

bool rs_minc_text(hid_t object, const char *name, rs_text *out)
{
    hid_t attribute = open_attribute(object, name);
    bool done = attribute >= 0 && read_text(attribute, out);
    rs_hdf5_close(attribute);
    return done && out->n > 0;
}

int rs_minc_numbers(hid_t object, const char *name, int most, double *out)
{
    double *all = NULL;
    hid_t attribute = open_attribute(object, name);
    int64_t n = attribute >= 0 ? read_numbers(attribute, &all) : 0;
    for (int64_t i = 0; i < n && i < most; i++) {
        out[i] = all[i];
    }
    free(all);
    rs_hdf5_close(attribute);
    return (int)rs_min(n, INT32_MAX);
}

/* ---- All of an object ---------------------------------------------------------------------------- */

typedef struct listing {
    const char *object;
    rs_minc *minc;
    resplit_error *err;
    resplit_status rc;
} listing;

/* Of the kinds that MINC has; others are nothing to compare by. */
static resplit_status read_value(hid_t attribute, rs_minc_field *field, resplit_error *err)
{
    double *numbers = NULL;
    field->text = read_text(attribute, &field->value);
    if (field->text) {
        return RESPLIT_OK;
    }
    int64_t n = read_numbers(attribute, &numbers);
    resplit_status rc =
        n > 0 ? rs_text_add_bytes(&field->value, numbers, (size_t)n * sizeof *numbers, err) : RESPLIT_OK;
    free(numbers);
    return rc;
}

/* A new one without a value; NULL: there is no memory. */
static rs_minc_field *new_field(rs_minc *minc, const char *object, const char *name)
{
    rs_minc_field *more = realloc(minc->field, (size_t)(minc->n_fields + 1) * sizeof *more);
    if (more == NULL) {
        return NULL;
    }
    minc->field = more;
    rs_minc_field *field = &more[minc->n_fields++];
    *field = (rs_minc_field){.text = false};
    (void)snprintf(field->object, sizeof field->object, "%s", object);
    (void)snprintf(field->name, sizeof field->name, "%s", name);
    return field;
}

resplit_status rs_minc_add_field(rs_minc *minc, const char *object, const char *name, const void *bytes, size_t n,
                                 resplit_error *err)
{
    rs_minc_field *field = new_field(minc, object, name);
    return field == NULL ? rs_fail(err, RESPLIT_ENOMEM, "no memory for attributes")
           : n > 0       ? rs_text_add_bytes(&field->value, bytes, n, err)
                         : RESPLIT_OK;
}

static resplit_status add_field(listing *l, hid_t object, const char *name)
{
    rs_minc_field *field = new_field(l->minc, l->object, name);
    if (field == NULL) {
        return rs_fail(l->err, RESPLIT_ENOMEM, "no memory for attributes");
    }
    hid_t attribute = open_attribute(object, name);
    resplit_status rc = attribute >= 0 ? read_value(attribute, field, l->err) : RESPLIT_OK;
    rs_hdf5_close(attribute);
    return rc;
}

static herr_t visit(hid_t object, const char *name, const H5A_info_t *info, void *payload)
{
    listing *l = payload;
    (void)info;
    if (strlen(name) < RS_MINC_NAME) { /* MINC has none that are longer */
        l->rc = add_field(l, object, name);
    }
    return l->rc == RESPLIT_OK ? 0 : -1;
}

resplit_status rs_minc_add_fields(hid_t file, const char *object, rs_minc *out, resplit_error *err)
{
    H5O_type_t type;
    uint64_t address;
    unsigned n_links;
    listing l = {.object = object, .minc = out, .err = err};
    hid_t id = rs_hdf5_look(file, object, &type, &address, &n_links) ? H5Oopen(file, object, H5P_DEFAULT) : -1;
    if (id >= 0 && H5Aiterate2(id, H5_INDEX_NAME, H5_ITER_INC, NULL, visit, &l) < 0 && l.rc == RESPLIT_OK) {
        l.rc = rs_hdf5_fail(err, RESPLIT_EFORMAT, "cannot read the attributes of '%s'", object);
    }
    rs_hdf5_close(id);
    return l.rc;
}

/* ---- Names of axes -------------------------------------------------------------------------------- */

static bool is_name(const char *text, size_t n)
{
    return n > 0 && n < RS_MINC_NAME && text[0] != '.' && memchr(text, '/', n) == NULL;
}

int rs_minc_names(const char *text, char names[][RS_MINC_NAME], int most)
{
    int n = 0;
    for (const char *at = text; *at != '\0' && n < most;) {
        size_t k = strcspn(at, ", ");
        if (!is_name(at, k)) {
            return -1;
        }
        (void)snprintf(names[n++], RS_MINC_NAME, "%.*s", (int)k, at);
        at += k + strspn(at + k, ", ");
    }
    return n;
}

/* ---- Comparing ----------------------------------------------------------------------------------- */

/* Of the image and its axes: without these being the same, blocks are not of one image. Of others that of the
   first is kept. */
static bool must_be_same(const char *object, const char *name)
{
    static const char dimensions[] = "/minc-2.0/dimensions/";
    if (strcmp(object, RS_MINC_IMAGE) != 0 && strncmp(object, dimensions, sizeof dimensions - 1) != 0) {
        return false;
    }
    static const char *const names[] = {"step",      "direction_cosines", "units",    "spacing",
                                        "spacetype", "alignment",         "dimorder", "valid_range",
                                        "valid_max", "valid_min",         "signtype"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Every block has its own: what is looked at by what it means, and by whom and when it was made. */
static bool is_own(const rs_minc_field *field)
{
    static const char *const own[][2] = {{"/minc-2.0", "history"}, {"/minc-2.0", "ident"}};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (strcmp(field->object, own[i][0]) == 0 && strcmp(field->name, own[i][1]) == 0) {
            return true;
        }
    }
    return strcmp(field->name, "start") == 0 || strcmp(field->name, "length") == 0;
}

const rs_minc_field *rs_minc_find_field(const rs_minc *minc, const char *object, const char *name)
{
    for (int i = 0; i < minc->n_fields; i++) {
        if (strcmp(minc->field[i].name, name) == 0 && strcmp(minc->field[i].object, object) == 0) {
            return &minc->field[i];
        }
    }
    return NULL;
}

static bool is_same(const rs_minc_field *a, const rs_minc_field *b)
{
    return a != NULL && b != NULL && a->text == b->text && a->value.n == b->value.n
           && (a->value.n == 0 || memcmp(a->value.s, b->value.s, a->value.n) == 0);
}

static void say_value(const rs_minc_field *field, char out[80])
{
    double number;
    size_t used = 0;
    out[0] = '\0';
    if (field == NULL) {
        (void)snprintf(out, 80, "nothing");
    } else if (field->text) {
        (void)snprintf(out, 80, "'%.70s'", field->value.s != NULL ? field->value.s : "");
    } else {
        for (size_t i = 0; i < field->value.n / sizeof number && i < 3; i++) {
            memcpy(&number, field->value.s + i * sizeof number, sizeof number);
            used += (size_t)snprintf(out + used, 80 - used, "%s%.17g", i > 0 ? " " : "", number);
        }
    }
}

/* `either` is the one that is there; the other one may be NULL. */
static void compare(const rs_minc_field *either, const rs_minc_field *wants, const rs_minc_field *has,
                    rs_minc_difference *out)
{
    if (is_own(either) || is_same(wants, has)) {
        return;
    }
    const char *object = strrchr(either->object, '/');
    char *place = must_be_same(either->object, either->name) ? out->field : out->noted;
    if (place[0] != '\0') {
        return;
    }
    object = object != NULL ? object + 1 : either->object;
    (void)snprintf(place, sizeof out->field, "%s%s%s", either->name, either->name[0] != '\0' ? " of " : "", object);
    if (place == out->field) {
        say_value(has, out->has);
        say_value(wants, out->wants);
    }
}

void rs_minc_compare_fields(const rs_minc *wants, const rs_minc *has, rs_minc_difference *out)
{
    *out = (rs_minc_difference){.field = ""};
    for (int i = 0; i < wants->n_fields; i++) {
        compare(&wants->field[i], &wants->field[i],
                rs_minc_find_field(has, wants->field[i].object, wants->field[i].name), out);
    }
    for (int i = 0; i < has->n_fields; i++) {
        if (rs_minc_find_field(wants, has->field[i].object, has->field[i].name) == NULL) {
            compare(&has->field[i], NULL, &has->field[i], out);
        }
    }
}
