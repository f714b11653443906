/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * space_json.c - where elements are, as JSON:
 *
 *     {"axes": [{"name": "z", "type": "space", "unit": "millimeter"}, ..., {"name": "t", "type": "time", "step": 2.5, "start": 0.0}],
 *      "affine": [[0.0, 0.0, 2.0, -90.0], ...], "placed": true, "slope": 0.5, "inter": 0.0}
 *
 * A row of the affine has a number for each axis of the array, in its order, and one more: x, y or z of an element is
 * the row times its index and 1. An axis in space that is not called x, y or z says "along" which it is.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "format/space.h"
#include "format/zarr_parts.h"

/* 0, 1, 2 for x, y, z; -1: another name. */
static int row_of(const char *name)
{
    const char *at = strlen(name) == 1 ? strchr("xyz", name[0]) : NULL;
    return at != NULL ? (int)(at - "xyz") : -1;
}

/* ---- Writing ----------------------------------------------------------------------------------- */

resplit_status rs_space_print_numbers(const double *numbers, int n, rs_text *out, resplit_error *err)
{
    RS_TRY(rs_text_add(out, err, "["));
    for (int i = 0; i < n; i++) {
        RS_TRY(rs_text_add(out, err, "%s", i > 0 ? ", " : ""));
        RS_TRY(rs_real_print(numbers[i] + 0.0, out, err)); /* no zero with a sign */
    }
    return rs_text_add(out, err, "]");
}

static const char *word_of(rs_axis_kind kind)
{
    static const char *const words[] = {
        [RS_KIND_OTHER] = "other", [RS_KIND_TIME] = "time", [RS_KIND_CHANNEL] = "channel", [RS_KIND_SPACE] = "space"};
    return words[kind];
}

static resplit_status print_axis(const rs_space_axis *axis, bool steps, rs_text *out, resplit_error *err)
{
    RS_TRY(rs_text_add(out, err, "{\"name\": "));
    RS_TRY(rs_json_write_string(out, axis->name, err));
    RS_TRY(rs_text_add(out, err, ", \"type\": \"%s\"", word_of(axis->kind)));
    if (axis->unit[0] != '\0') {
        RS_TRY(rs_text_add(out, err, ", \"unit\": "));
        RS_TRY(rs_json_write_string(out, axis->unit, err));
    }
    if (steps && axis->row >= 0 && row_of(axis->name) < 0) {
        RS_TRY(rs_text_add(out, err, ", \"along\": \"%c\"", "xyz"[axis->row]));
    }
    if (steps && axis->kind != RS_KIND_SPACE) {
        RS_TRY(rs_text_add(out, err, ", \"step\": "));
        RS_TRY(rs_real_print(axis->step, out, err));
        RS_TRY(rs_text_add(out, err, ", \"start\": "));
        RS_TRY(rs_real_print(axis->start + 0.0, out, err));
    }
    return rs_text_add(out, err, "}");
}

resplit_status rs_space_print_axes(const rs_space *space, bool steps, rs_text *out, resplit_error *err)
{
    RS_TRY(rs_text_add(out, err, "["));
    for (int d = 0; d < space->ndim; d++) {
        RS_TRY(rs_text_add(out, err, "%s", d > 0 ? ", " : ""));
        RS_TRY(print_axis(&space->axis[d], steps, out, err));
    }
    return rs_text_add(out, err, "]");
}

resplit_status rs_space_print(const rs_space *space, rs_text *out, resplit_error *err)
{
    RS_TRY(rs_text_add(out, err, "{\"axes\": "));
    RS_TRY(rs_space_print_axes(space, true, out, err));
    RS_TRY(rs_text_add(out, err, ", \"affine\": ["));
    for (int k = 0; k < 3; k++) {
        RS_TRY(rs_text_add(out, err, "%s", k > 0 ? ", " : ""));
        RS_TRY(rs_space_print_numbers(space->affine[k], space->ndim + 1, out, err));
    }
    RS_TRY(rs_text_add(out, err, "], \"placed\": %s", space->placed ? "true" : "false"));
    if (space->scaling == RS_SCALED) {
        RS_TRY(rs_text_add(out, err, ", \"slope\": "));
        RS_TRY(rs_real_print(space->slope, out, err));
        RS_TRY(rs_text_add(out, err, ", \"inter\": "));
        RS_TRY(rs_real_print(space->inter, out, err));
    }
    return rs_text_add(out, err, "}");
}

/* ---- Reading ----------------------------------------------------------------------------------- */

static resplit_status bad(const char *what, resplit_error *err)
{
    return rs_fail(err, RESPLIT_EFORMAT, "%s", what);
}

/* A text that fits; false: another one. */
static bool get_text(const rs_json *value, char out[RS_SPACE_NAME])
{
    rs_text text = {0};
    bool good = value != NULL && value->kind == RS_JSON_STRING && rs_json_add_string(value, &text, NULL) == RESPLIT_OK
                && text.n < RS_SPACE_NAME;
    (void)snprintf(out, RS_SPACE_NAME, "%s", good && text.n > 0 ? text.s : "");
    rs_text_release(&text);
    return good;
}

static rs_axis_kind kind_of(const rs_json *type, const char *name)
{
    for (int kind = RS_KIND_TIME; kind <= RS_KIND_SPACE; kind++) {
        if (rs_json_is(type, word_of((rs_axis_kind)kind))) {
            return (rs_axis_kind)kind;
        }
    }
    return type != NULL             ? RS_KIND_OTHER
           : strcmp(name, "t") == 0 ? RS_KIND_TIME /* names alone, as OME-Zarr 0.3 has them */
           : strcmp(name, "c") == 0 ? RS_KIND_CHANNEL
           : strlen(name) == 1 && strchr("xyz", name[0]) != NULL ? RS_KIND_SPACE
                                                                 : RS_KIND_OTHER;
}

static bool get_real(const rs_json *object, const char *key, double *out)
{
    const rs_json *value = rs_json_get(object, key);
    return value == NULL || (rs_json_double(value, out) && isfinite(*out));
}

/* An object, or a name alone. */
static resplit_status parse_axis(const rs_json *value, rs_space_axis *out, resplit_error *err)
{
    char unit[RS_SPACE_NAME] = "", along[RS_SPACE_NAME] = "";
    const rs_json *name = value->kind == RS_JSON_STRING ? value : rs_json_get(value, "name");
    if (!get_text(name, out->name) || out->name[0] == '\0') {
        return bad("an axis has no name, or a long one", err);
    }
    const rs_json *of = rs_json_get(value, "unit");
    if (of != NULL && of->kind != RS_JSON_NULL && !get_text(of, unit)) {
        return bad("an axis has a strange unit", err);
    }
    rs_space_set_unit(out, unit);
    out->kind = kind_of(rs_json_get(value, "type"), out->name);
    bool told = row_of(out->name) < 0 && get_text(rs_json_get(value, "along"), along);
    out->row = out->kind == RS_KIND_SPACE ? row_of(told ? along : out->name) : -1;
    return get_real(value, "step", &out->step) && get_real(value, "start", &out->start)
               ? RESPLIT_OK
               : bad("an axis has a step or a start that is no number", err);
}

/* Axes that are called otherwise, and do not say along what they are, are z, y, x in that order, as far as these
   are not taken. */
static resplit_status set_rows(rs_space *space, resplit_error *err)
{
    bool taken[3] = {false, false, false};
    for (int d = 0; d < space->ndim; d++) {
        int row = space->axis[d].row;
        for (int e = 0; e < d; e++) {
            if (strcmp(space->axis[d].name, space->axis[e].name) == 0) {
                return bad("two axes have the same name", err);
            }
        }
        if (row >= 0 && taken[row]) {
            return bad("two axes are along the same", err);
        }
        if (row >= 0) {
            taken[row] = true;
        }
    }
    for (int d = space->ndim - 1, row = 0; d >= 0; d--) {
        for (; row < 3 && taken[row]; row++) {
        }
        if (space->axis[d].kind == RS_KIND_SPACE && space->axis[d].row < 0) {
            if (row == 3) {
                return bad("there are more than three axes in space", err);
            }
            space->axis[d].row = row++;
        }
    }
    return RESPLIT_OK;
}

resplit_status rs_space_parse_axes(const rs_json *list, rs_space *out, resplit_error *err)
{
    int d = 0;
    if (list == NULL || list->kind != RS_JSON_ARRAY || rs_json_count(list) != out->ndim) {
        return bad("there are other axes than the array has", err);
    }
    for (const rs_json *value = list->first; value != NULL; value = value->next) {
        RS_TRY(parse_axis(value, &out->axis[d++], err));
    }
    return set_rows(out, err);
}

static resplit_status parse_affine(const rs_json *list, rs_space *out, resplit_error *err)
{
    int k = 0;
    for (const rs_json *row = list != NULL ? list->first : NULL; row != NULL && k < 3; row = row->next, k++) {
        int d = 0;
        for (const rs_json *value = row->first; value != NULL && d <= out->ndim; value = value->next, d++) {
            if (!rs_json_double(value, &out->affine[k][d])) {
                return bad("its affine has something else than numbers", err);
            }
        }
        if (d != out->ndim + 1 || rs_json_count(row) != d) {
            return bad("its affine has rows of another length", err);
        }
    }
    for (int d = 0; d < out->ndim; d++) {
        if (out->axis[d].kind != RS_KIND_SPACE) {
            out->affine[0][d] = out->affine[1][d] = out->affine[2][d] = 0;
        } else if (!(rs_space_step(out, d) > 0)) {
            return bad("its affine has an axis without length", err);
        }
    }
    return k == 3 && rs_json_count(list) == 3 ? RESPLIT_OK : bad("its affine has not three rows", err);
}

static resplit_status parse(const rs_json *value, rs_space *out, resplit_error *err)
{
    RS_TRY(rs_space_parse_axes(rs_json_get(value, "axes"), out, err));
    RS_TRY(parse_affine(rs_json_get(value, "affine"), out, err));
    (void)rs_json_bool(rs_json_get(value, "placed"), &out->placed);
    bool scaled = rs_json_get(value, "slope") != NULL;
    if (!get_real(value, "slope", &out->slope) || !get_real(value, "inter", &out->inter)) {
        return bad("its slope or inter is no number", err);
    }
    out->scaling = scaled ? RS_SCALED : RS_SCALED_NOT;
    return rs_space_is_finite(out) ? RESPLIT_OK : bad("it has numbers that are not finite", err);
}

resplit_status rs_space_parse(const rs_json *value, int ndim, rs_space **out, resplit_error *err)
{
    RS_TRY(rs_space_new(ndim, out, err));
    resplit_status rc = parse(value, *out, err);
    if (rc != RESPLIT_OK) {
        rs_space_free(*out);
        *out = NULL;
    }
    return rc;
}
