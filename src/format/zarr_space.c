/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zarr_space.c - where the elements of a Zarr array are. Told by its attributes "space" and "nifti", and by the
 * OME-Zarr image that it is a level of, in the attributes of the group around it:
 *
 *     image.zarr/zarr.json      ome.multiscales[].axes, .datasets[].path, .coordinateTransformations     (version 2: .zattrs)
 *     image.zarr/0/zarr.json    attributes.space, attributes.nifti
 *
 * An image that says something else than the attributes was changed by somebody who did not know them: it counts.
 * Whatever is wrong with all this, the array can be read: there is a note then, not an error.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/nifti.h"
#include "format/space.h"
#include "format/zarr_parts.h"
#include "format/zarr_space.h"

enum { MOST_ABOVE = 4 }; /* groups between an image and its level */

static resplit_status not_used(const char *what, const resplit_error *why, rs_text *notes, resplit_error *err)
{
    return why->code == RESPLIT_ENOMEM ? rs_fail_with(err, why)
                                       : rs_text_add_line(notes, err, "%s is not used: %.300s", what, why->message);
}

/* ---- OME-Zarr ------------------------------------------------------------------------------------ */

/* What transformations do to an index, axis by axis. */
typedef struct along {
    double scale[RS_MAX_NDIM], translation[RS_MAX_NDIM];
} along;

static bool get_numbers(const rs_json *list, int n, double *out)
{
    int d = 0;
    for (const rs_json *v = list != NULL ? list->first : NULL; v != NULL && d < n; v = v->next) {
        if (!rs_json_double(v, &out[d]) || !isfinite(out[d])) {
            return false;
        }
        d++;
    }
    return d == n && rs_json_count(list) == n;
}

static resplit_status apply(const rs_json *list, int ndim, along *to, resplit_error *err)
{
    for (const rs_json *one = list != NULL ? list->first : NULL; one != NULL; one = one->next) {
        const rs_json *type = rs_json_get(one, "type");
        bool scale = rs_json_is(type, "scale"), translation = rs_json_is(type, "translation");
        double numbers[RS_MAX_NDIM] = {0};
        if (rs_json_is(type, "identity")) {
            continue;
        }
        if (!(scale || translation) || !get_numbers(rs_json_get(one, scale ? "scale" : "translation"), ndim, numbers)) {
            return rs_fail(err, RESPLIT_EFORMAT,
                           "a coordinate transformation is no scale and no translation of %d finite numbers", ndim);
        }
        for (int d = 0; d < ndim; d++) {
            to->scale[d] *= scale ? numbers[d] : 1;
            to->translation[d] = scale ? to->translation[d] * numbers[d] : to->translation[d] + numbers[d];
        }
    }
    return RESPLIT_OK;
}

/* One unit for all axes in space: the one that they have, or millimetres. */
static resplit_status agree_on_units(rs_space *space, along *to, resplit_error *err)
{
    const char *first = NULL;
    bool same = true;
    for (int d = 0; d < space->ndim; d++) {
        if (space->axis[d].kind == RS_KIND_SPACE) {
            first = first == NULL ? space->axis[d].unit : first;
            same = same && strcmp(first, space->axis[d].unit) == 0;
        }
    }
    for (int d = 0; d < space->ndim && !same; d++) {
        const rs_unit *unit = rs_unit_find(space->axis[d].unit);
        if (space->axis[d].kind != RS_KIND_SPACE) {
            continue;
        }
        if (unit == NULL) {
            return rs_fail(err, RESPLIT_EFORMAT, "its axes in space have different units, and '%s' is not known",
                           space->axis[d].unit);
        }
        to->scale[d] *= unit->factor;
        to->translation[d] *= unit->factor;
        rs_space_set_unit(&space->axis[d], "millimeter");
    }
    return RESPLIT_OK;
}

static resplit_status fill_from_image(const rs_json *image, const rs_json *level, rs_space *out, resplit_error *err)
{
    static const char usual[] = "[\"t\", \"c\", \"z\", \"y\", \"x\"]"; /* before 0.3 */
    along to = {{0}, {0}};
    rs_json_document *document = NULL;
    const rs_json *axes = rs_json_get(image, "axes");
    for (int d = 0; d < out->ndim; d++) {
        to.scale[d] = 1;
        to.translation[d] = 0;
    }
    if (axes == NULL) {
        RS_TRY(rs_json_parse(usual, sizeof usual - 1, "axes", &document, err));
    }
    resplit_status rc = rs_space_parse_axes(axes != NULL ? axes : rs_json_root(document), out, err);
    rs_json_free(document);
    RS_TRY(rc);
    RS_TRY(apply(rs_json_get(level, "coordinateTransformations"), out->ndim, &to, err));
    RS_TRY(apply(rs_json_get(image, "coordinateTransformations"), out->ndim, &to, err));
    RS_TRY(agree_on_units(out, &to, err));
    for (int d = 0; d < out->ndim; d++) {
        rs_space_axis *axis = &out->axis[d];
        axis->step = to.scale[d];
        axis->start = to.translation[d];
        if (axis->kind == RS_KIND_SPACE) {
            out->affine[axis->row][d] = to.scale[d];
            out->affine[axis->row][out->ndim] = to.translation[d];
            if (to.scale[d] == 0) {
                return rs_fail(err, RESPLIT_EFORMAT, "the scale of axis %s is 0", axis->name);
            }
        }
    }
    if (!rs_space_is_finite(out)) {
        return rs_fail(err, RESPLIT_EFORMAT, "its scales and translations are larger than numbers can be");
    }
    out->placed = rs_json_get(level, "coordinateTransformations") != NULL;
    return RESPLIT_OK;
}

resplit_status rs_zarr_level_space(const rs_json *attributes, const char *name, int ndim, rs_space **out,
                                   resplit_error *err)
{
    const rs_json *images = rs_zarr_images(attributes);
    resplit_status rc = RESPLIT_OK;
    *out = NULL;
    for (const rs_json *image = images != NULL ? images->first : NULL; image != NULL; image = image->next) {
        const rs_json *levels = rs_json_get(image, "datasets");
        for (const rs_json *v = levels != NULL ? levels->first : NULL; v != NULL && *out == NULL && rc == RESPLIT_OK;
             v = v->next) {
            if (!rs_json_is(rs_json_get(v, "path"), name)) {
                continue;
            }
            rc = rs_space_new(ndim, out, err);
            rc = rc == RESPLIT_OK ? fill_from_image(image, v, *out, err) : rc;
        }
    }
    if (rc != RESPLIT_OK) {
        rs_space_free(*out);
        *out = NULL;
    }
    return rc;
}

/* The level of this name in the image that a group is; *out NULL: it has none. */
static resplit_status find_level(const char *group, const char *name, int ndim, rs_space **out, rs_text *notes,
                                 resplit_error *err)
{
    rs_text text = {0};
    rs_json_document *document = NULL;
    resplit_error why = {0};
    resplit_status rc = rs_zarr_group_attributes(group, &text, &why);
    rc = rc == RESPLIT_OK && text.n > 0 ? rs_json_parse(text.s, text.n, group, &document, &why) : rc;
    if (rc == RESPLIT_OK && document != NULL) {
        rc = rs_zarr_level_space(rs_json_root(document), name, ndim, out, &why);
    }
    rs_json_free(document);
    rs_text_release(&text);
    return rc == RESPLIT_OK ? rc : not_used("what the OME-Zarr image says of places", &why, notes, err);
}

static resplit_status look_above(const char *path, size_t n, int ndim, rs_space **out, rs_text *notes,
                                 resplit_error *err)
{
    rs_text group = {0}, name = {0};
    resplit_status rc = RESPLIT_OK;
    size_t at = n;
    for (int i = 0; i < MOST_ABOVE && rc == RESPLIT_OK && *out == NULL && (i == 0 || at > 1); i++) {
        for (at -= i > 0; at > 0 && path[at - 1] != '/'; at--) {
        }
        group.n = name.n = 0;
        rc = rs_text_add_bytes(&name, path + at, n - at, err);
        rc = rc != RESPLIT_OK ? rc : at > 0 ? rs_text_add_bytes(&group, path, at, err) : rs_text_add(&group, err, ".");
        if (rc != RESPLIT_OK || rs_zarr_is_group(group.s) == 0) {
            break;
        }
        rc = find_level(group.s, name.s, ndim, out, notes, err);
    }
    rs_text_release(&group);
    rs_text_release(&name);
    return rc;
}

/* Looks at the groups above an array. */
static resplit_status find_image(const char *path, int ndim, rs_space **out, rs_text *notes, resplit_error *err)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') {
        n--;
    }
    return look_above(path, n, ndim, out, notes, err);
}

/* ---- Attributes ----------------------------------------------------------------------------------- */

static bool is_near(double a, double b, double scale)
{
    return fabs(a - b) <= 1e-6 * (fabs(a) + fabs(b) + scale);
}

/* Does the attribute say of each axis what the image says? */
static bool agrees(const rs_space *own, const rs_space *image)
{
    along a = {{0}, {0}}, b = {{0}, {0}};
    bool same = own->ndim == image->ndim;
    (void)rs_space_split(own, a.scale, a.translation);
    (void)rs_space_split(image, b.scale, b.translation);
    for (int d = 0; d < own->ndim && same; d++) {
        same = strcmp(own->axis[d].name, image->axis[d].name) == 0 && is_near(a.scale[d], b.scale[d], 0)
               && is_near(a.translation[d], b.translation[d], fabs(a.scale[d]));
    }
    return same;
}

/* The same places, whatever they are called? */
static bool is_same_place(const rs_space *a, const rs_space *b)
{
    bool same = a->placed == b->placed;
    for (int k = 0; k < 3; k++) {
        for (int d = 0; d < a->ndim; d++) {
            same = same && is_near(a->affine[k][d], b->affine[k][d], rs_space_step(a, d));
        }
        same = same && is_near(a->affine[k][a->ndim], b->affine[k][a->ndim], rs_space_step(a, 0));
    }
    return same;
}

/* Adds the header of "nifti" to what is known, or takes all from there. */
static resplit_status use_header(const rs_zarr *zarr, rs_nifti *header, const int *axes, rs_space **space,
                                 resplit_error *err)
{
    rs_space *of = NULL;
    bool same = header->ndim == zarr->ndim;
    for (int d = 0; d < header->ndim && same; d++) {
        same = header->shape[axes[d]] == zarr->shape[d];
    }
    if (!same) {
        return rs_fail(err, RESPLIT_EFORMAT, "its dim is not the shape of the array");
    }
    RS_TRY(rs_nifti_space(header, &of, err));
    rs_space_turn(of, axes);
    if (*space != NULL && !is_same_place(*space, of)) {
        rs_space_free(of);
        return rs_fail(err, RESPLIT_EFORMAT, "it has another place than the array");
    }
    if (*space == NULL) {
        *space = of;
        return RESPLIT_OK;
    }
    (*space)->header = of->header;
    memcpy((*space)->header_axis, of->header_axis, sizeof of->header_axis);
    of->header = NULL;
    rs_space_free(of);
    return RESPLIT_OK;
}

static resplit_status read_header(const rs_zarr *zarr, const rs_json *value, rs_space **space, rs_text *notes,
                                  resplit_error *err)
{
    rs_nifti *header = NULL;
    int axes[RS_NIFTI_AXES];
    resplit_error why = {0};
    resplit_status rc = rs_nifti_unprint(value, axes, &header, &why);
    rc = rc == RESPLIT_OK ? use_header(zarr, header, axes, space, &why) : rc;
    rs_nifti_release(header);
    free(header);
    return rc == RESPLIT_OK ? rc : not_used("attribute \"nifti\"", &why, notes, err);
}

static resplit_status read_attributes(const rs_zarr *zarr, const rs_json *root, rs_space *image, rs_space **out,
                                      rs_text *notes, resplit_error *err)
{
    const rs_json *own = rs_json_get(root, "space"), *header = rs_json_get(root, "nifti");
    resplit_error why = {0};
    resplit_status rc = RESPLIT_OK;
    if (own != NULL && rs_space_parse(own, zarr->ndim, out, &why) != RESPLIT_OK) {
        rc = not_used("attribute \"space\"", &why, notes, err);
    }
    if (rc == RESPLIT_OK && *out != NULL && image != NULL && !agrees(*out, image)) {
        rs_space_free(*out);
        *out = NULL;
        (void)rs_fail(&why, RESPLIT_EFORMAT, "the OME-Zarr image has other scales or translations");
        rc = not_used("attribute \"space\"", &why, notes, err);
    }
    if (rc == RESPLIT_OK && *out == NULL && image != NULL) {
        rc = rs_space_copy(image, out, err);
    }
    return rc == RESPLIT_OK && header != NULL ? read_header(zarr, header, out, notes, err) : rc;
}

resplit_status rs_zarr_space(const char *path, const rs_zarr *zarr, rs_space **out, rs_text *notes, resplit_error *err)
{
    rs_json_document *document = NULL;
    rs_space *image = NULL;
    *out = NULL;
    RS_TRY(find_image(path, zarr->ndim, &image, notes, err));
    resplit_status rc = zarr->attributes.n > 0
                            ? rs_json_parse(zarr->attributes.s, zarr->attributes.n, path, &document, err)
                            : RESPLIT_OK;
    rc = rc == RESPLIT_OK
             ? read_attributes(zarr, document != NULL ? rs_json_root(document) : NULL, image, out, notes, err)
             : rc;
    rs_json_free(document);
    rs_space_free(image);
    if (rc != RESPLIT_OK) {
        rs_space_free(*out);
        *out = NULL;
    }
    return rc;
}

bool rs_zarr_tells_space(const rs_json *member)
{
    return rs_json_key_is(member, "space") || rs_json_key_is(member, "nifti");
}
