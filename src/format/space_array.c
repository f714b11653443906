/* SPDX-License-Identifier: BSD-3-Clause */
/* space_array.c - from the space of a source to that of a target: what its format keeps of it, in which order it lists
   axes, what is lost. */
#include <string.h>

#include "format/drivers.h"
#include "format/minc.h"
#include "format/nifti_array.h"
#include "format/space.h"
#include "format/zarr_space.h"

static bool is_zarr(const rs_format *format)
{
    return format == &rs_format_zarr2 || format == &rs_format_zarr3;
}

resplit_status rs_array_space(const resplit_array *array, rs_space **out, rs_text *notes, resplit_error *err)
{
    *out = NULL;
    return array->nifti != NULL   ? rs_nifti_space(array->nifti, out, err)
           : array->minc != NULL  ? rs_minc_space(array->minc, &array->dtype, out, notes, err)
           : array->space != NULL ? rs_space_copy(array->space, out, err)
                                  : RESPLIT_OK;
}

/* "z by 2, y by 2, x by 2 millimeter, at x -90, y -126, z -72" */
resplit_status rs_space_describe(const rs_space *space, rs_text *out, resplit_error *err)
{
    const char *unit = "";
    for (int d = 0; d < space->ndim; d++) {
        const rs_space_axis *axis = &space->axis[d];
        bool spatial = axis->kind == RS_KIND_SPACE;
        RS_TRY(rs_text_add(out, err, "%s%s by %.6g", d > 0 ? ", " : "", axis->name,
                           spatial ? rs_space_step(space, d) : axis->step));
        RS_TRY(spatial ? RESPLIT_OK : rs_text_add(out, err, " %s", axis->unit));
        unit = spatial ? axis->unit : unit;
    }
    RS_TRY(rs_text_add(out, err, " %s", unit));
    if (space->placed) {
        RS_TRY(rs_text_add(out, err, ", at x %.6g, y %.6g, z %.6g", space->affine[0][space->ndim],
                           space->affine[1][space->ndim], space->affine[2][space->ndim]));
    }
    return space->scaling == RS_SCALED ? rs_text_add(out, err, ", slope %.9g, inter %.9g", space->slope, space->inter)
                                       : RESPLIT_OK;
}

/* ---- OME-Zarr ------------------------------------------------------------------------------------- */

/* Time, one axis of channels or another kind, two or three in space. */
static bool is_image(const rs_space *space)
{
    int n[4] = {0};
    for (int d = 0; d < space->ndim; d++) {
        n[space->axis[d].kind]++;
    }
    return n[RS_KIND_TIME] <= 1 && n[RS_KIND_CHANNEL] + n[RS_KIND_OTHER] <= 1 && n[RS_KIND_SPACE] >= 2
           && n[RS_KIND_SPACE] <= 3;
}

static resplit_status parse_names(const char *text, size_t n, rs_space *space, resplit_error *err)
{
    rs_json_document *document;
    RS_TRY(rs_json_parse(text, n, "names of axes", &document, err));
    resplit_status rc = rs_space_parse_axes(rs_json_root(document), space, err);
    rs_json_free(document);
    return rc;
}

/* Of a source that says nothing of space: the names that a Zarr array gives its axes, or the usual ones for as many.
   what: that is to be made. */
static resplit_status guess(const resplit_array *source, const char *what, rs_space **out, resplit_error *err)
{
    static const char *const usual[] = {
        [2] = "[\"y\", \"x\"]", [3] = "[\"z\", \"y\", \"x\"]", [5] = "[\"t\", \"c\", \"z\", \"y\", \"x\"]"};
    int ndim = source->layout.ndim;
    const char *names = ndim < (int)(sizeof usual / sizeof usual[0]) ? usual[ndim] : NULL;
    RS_TRY(rs_space_new(ndim, out, err));
    const rs_text *own = source->zarr != NULL ? &source->zarr->names : NULL;
    bool named = own != NULL && own->n > 0 && parse_names(own->s, own->n, *out, NULL) == RESPLIT_OK && is_image(*out);
    if (!named && names == NULL) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED,
                       "which of the %d axes is time, channel or space is not known: %s is made of 2, 3 or 5 axes, or "
                       "of a Zarr array that names them",
                       ndim, what);
    }
    if (!named) {
        RS_TRY(parse_names(names, strlen(names), *out, err));
    }
    rs_space_keep_steps(*out);
    return RESPLIT_OK;
}

/* "t, z, y, x" or "3, 2, 1, 0" */
static resplit_status list_axes(const rs_space *space, const int *turn, rs_text *out, resplit_error *err)
{
    for (int d = 0; d < space->ndim; d++) {
        RS_TRY(rs_text_add(out, err, "%s", d > 0 ? ", " : ""));
        RS_TRY(turn != NULL ? rs_text_add(out, err, "%d", turn[d]) : rs_text_add(out, err, "%s", space->axis[d].name));
    }
    return RESPLIT_OK;
}

static resplit_status check_image(const rs_space *space, resplit_error *err)
{
    rs_text names = {0};
    if (is_image(space)) {
        return RESPLIT_OK;
    }
    resplit_status rc = list_axes(space, NULL, &names, err);
    rc = rc == RESPLIT_OK ? rs_fail(err, RESPLIT_EUNSUPPORTED,
                                    "an OME-Zarr image has two or three axes in space, at most one of time and one of "
                                    "another kind, and the array has %s: make it a .zarr, without --ome",
                                    names.s)
                          : rc;
    rs_text_release(&names);
    return rc;
}

/* ---- What is lost ----------------------------------------------------------------------------------- */

static resplit_status note_scaling(const rs_space *space, const resplit_array *array, rs_text *notes,
                                   resplit_error *err)
{
    if (space->scaling == RS_SCALED) {
        return rs_text_add_line(notes, err, "values are as stored, not scaled: slope %.9g, inter %.9g", space->slope,
                                space->inter);
    }
    if (space->scaling == RS_SCALED_NOT) {
        return RESPLIT_OK;
    }
    return rs_format_is_nifti(array->format)
               ? rs_fail(err, RESPLIT_EUNSUPPORTED,
                         "slices are scaled one by one (image-min, image-max), and NIfTI has one scaling for all: "
                         "mincreshape -float makes reals of them, or write Zarr or HDF5")
               : rs_text_add_line(notes, err,
                                  "values are as stored, and what they mean (image-min, image-max), which differs from "
                                  "slice to slice, is not kept");
}

static resplit_status note_extensions(const resplit_array *source, rs_text *notes, resplit_error *err)
{
    const rs_nifti *nifti = source->nifti;
    size_t header = nifti != NULL ? (size_t)rs_nifti_header_bytes(nifti) : 0;
    return nifti != NULL && nifti->head.n > header && nifti->head.s[header] != 0
               ? rs_text_add_line(notes, err, "the extensions of the NIfTI header are not kept")
               : RESPLIT_OK;
}

static resplit_status note_others(const resplit_array *source, const resplit_array *array, rs_text *notes,
                                  resplit_error *err)
{
    const char *format = array->format->name;
    if (source->nifti != NULL && array->format == &rs_format_minc2) {
        return rs_text_add_line(
            notes, err, "of the NIfTI header, MINC keeps places of voxels and the scaling, not the other fields");
    }
    RS_TRY(note_extensions(source, notes, err));
    return source->minc != NULL
               ? rs_text_add_line(notes, err,
                                  "of MINC, format %s keeps places of voxels and one scaling, not the other attributes",
                                  format)
               : RESPLIT_OK;
}

/* A format without a place for it. */
static resplit_status note_all(const rs_space *space, const resplit_array *source, resplit_array *array,
                               resplit_error *err)
{
    const char *what = source->nifti != NULL  ? "the NIfTI header (place in space, units, extensions) is"
                       : source->minc != NULL ? "of MINC, names, places and steps of axes and other attributes are"
                                              : "place in space, names and units of axes are";
    RS_TRY(
        rs_text_add_line(&array->notes, err, "%s not kept: format %s has no place for it", what, array->format->name));
    return note_scaling(space, array, &array->notes, err);
}

/* Attributes of Zarr, in a file that has none. */
static resplit_status note_attributes(const resplit_array *source, resplit_array *array, resplit_error *err)
{
    rs_json_document *document = NULL;
    bool others = false;
    const rs_text *text = source->zarr != NULL ? &source->zarr->attributes : NULL;
    bool minc = array->format == &rs_format_minc2;
    if (text == NULL || text->n == 0 || !(minc || rs_format_is_nifti(array->format))) {
        return RESPLIT_OK;
    }
    RS_TRY(rs_json_parse(text->s, text->n, "attributes", &document, err));
    for (const rs_json *v = rs_json_root(document)->first; v != NULL; v = v->next) {
        others = others || !(rs_zarr_tells_space(v) || rs_json_key_is(v, "_ARRAY_DIMENSIONS"));
    }
    rs_json_free(document);
    return others ? rs_text_add_line(&array->notes, err,
                                     "attributes of the Zarr array are not kept: %s has no place for them",
                                     minc ? "MINC" : "NIfTI")
                  : RESPLIT_OK;
}

/* ---- Targets ---------------------------------------------------------------------------------------- */

/* Which axis of the source each is; what is not in the order of the source is said. */
static resplit_status turn_axes(rs_space *space, rs_space_order order, resplit_array *array, resplit_error *err)
{
    static const char *const names[] = {
        [RS_ORDER_OME] = "OME-Zarr", [RS_ORDER_NIFTI] = "NIfTI", [RS_ORDER_MINC] = "MINC"};
    rs_space_sort(space, order, array->turn);
    for (int d = 0; d < space->ndim; d++) {
        array->turned = array->turned || array->turn[d] != d;
    }
    if (!array->turned) {
        return RESPLIT_OK;
    }
    rs_space_turn(space, array->turn);
    RS_TRY(rs_text_add_line(&array->notes, err, "axes are "));
    RS_TRY(list_axes(space, NULL, &array->notes, err));
    RS_TRY(rs_text_add(&array->notes, err, ", as %s lists them: axes ", names[order]));
    RS_TRY(list_axes(space, array->turn, &array->notes, err));
    return rs_text_add(&array->notes, err, " of the source");
}

static resplit_status fit(const resplit_array *source, rs_space *space, resplit_array *array, resplit_error *err)
{
    double scale[RS_MAX_NDIM], translation[RS_MAX_NDIM];
    bool nifti = rs_format_is_nifti(array->format), minc = array->format == &rs_format_minc2;
    if (array->ome) {
        RS_TRY(check_image(space, err));
    }
    if (array->ome || nifti || minc) {
        RS_TRY(turn_axes(space, array->ome ? RS_ORDER_OME : nifti ? RS_ORDER_NIFTI : RS_ORDER_MINC, array, err));
    }
    bool kept = source->zarr != NULL || nifti || minc; /* also by those who read the target */
    if (!kept || space->scaling == RS_SCALED_BY_PARTS) {
        RS_TRY(note_scaling(space, array, &array->notes, err));
    }
    RS_TRY(note_others(source, array, &array->notes, err));
    return array->ome && space->placed && !rs_space_split(space, scale, translation) ? rs_text_add_line(
               &array->notes, err,
               "the affine is more than a scale and a translation along each axis, which is all that "
               "OME-Zarr can say: attribute \"space\" of the array has it")
                                                                                     : RESPLIT_OK;
}

resplit_status rs_array_set_space(const resplit_array *source, bool one, resplit_array *array, resplit_error *err)
{
    bool nifti = rs_format_is_nifti(array->format), minc = array->format == &rs_format_minc2;
    rs_space *space = NULL;
    RS_TRY(note_attributes(source, array, err));
    if ((source->nifti != NULL && nifti)
        || (source->minc != NULL && (minc || one))) { /* these keep all in their own way */
        return RESPLIT_OK;
    }
    RS_TRY(rs_array_space(source, &space, &array->notes, err));
    if (space == NULL && !array->ome && !minc) {
        return RESPLIT_OK;
    }
    resplit_status rc =
        space == NULL ? guess(source, minc ? "a MINC image" : "an OME-Zarr image", &space, err) : RESPLIT_OK;
    if (rc == RESPLIT_OK && !is_zarr(array->format) && !nifti && !minc) {
        rc = note_all(space, source, array, err);
        rs_space_free(space);
        return rc;
    }
    array->space = space; /* released with the array */
    return rc == RESPLIT_OK ? fit(source, space, array, err) : rc;
}
