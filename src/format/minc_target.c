/* SPDX-License-Identifier: BSD-3-Clause */
/* minc_target.c - what is known of the image that a target will be: that of its source, or one made of what
   another format says. */
#include "format/hdf5_array.h"
#include "format/minc.h"
#include "format/space.h"

/* "0:10,5:9" */
static resplit_status add_box(const rs_box *box, int ndim, rs_text *out, resplit_error *err)
{
    for (int d = 0; d < ndim; d++) {
        RS_TRY(rs_text_add(out, err, "%s%lld:%lld", d > 0 ? "," : "", (long long)box->lo[d], (long long)box->hi[d]));
    }
    return RESPLIT_OK;
}

/* The same in all files of a target, and nothing of who ran it, where or when. */
static resplit_status set_line(const resplit_array *source, const int64_t *shape, resplit_array *array,
                               resplit_error *err)
{
    rs_text *line = &array->minc->line;
    int ndim = source->layout.ndim;
    char text[RS_SHAPE_TEXT];
    rs_box box = {.lo = {0}};
    for (int d = 0; d < ndim; d++) {
        box.lo[d] = array->origin[d];
        box.hi[d] = array->origin[d] + shape[d];
    }
    RS_TRY(rs_text_add(line, err, "resplit %d.%d.%d: voxels ", RESPLIT_VERSION_MAJOR, RESPLIT_VERSION_MINOR,
                       RESPLIT_VERSION_PATCH));
    RS_TRY(add_box(&box, ndim, line, err));
    RS_TRY(rs_text_add(line, err, " of %s", rs_shape_text(ndim, array->minc->shape, text)));
    return source->minc != NULL ? RESPLIT_OK : rs_text_add(line, err, ", made from %s", source->format->name);
}

/* That of the source. */
static resplit_status take_image(const resplit_array *source, resplit_array *array, resplit_error *err)
{
    if (array->cast.kind != RS_CAST_NONE) {
        return rs_fail(
            err, RESPLIT_EUNSUPPORTED,
            "voxels of a MINC image are not cast: its ranges tell what they mean in type %.40s; write NIfTI, "
            "HDF5 or Zarr",
            source->dtype.descr);
    }
    RS_TRY(rs_minc_copy(source->minc, &array->minc, err));
    return source->minc->smaller ? rs_text_add_line(
               &array->notes, err,
               "the smaller images of the file (image/1 and so on) are not kept: they are of the whole")
                                 : RESPLIT_OK;
}

typedef struct request {
    const rs_minc_draft *draft;
    const rs_dtype *dtype;
    rs_minc *made;
} request;

static resplit_status make_here(void *payload, resplit_error *err)
{
    request *r = payload;
    rs_hdf5_session session;
    RS_TRY(rs_hdf5_enter(&session, err));
    resplit_status rc = rs_minc_make(r->draft, r->dtype, &r->made, err);
    rs_hdf5_leave(&session);
    return rc;
}

static void pass_image(rs_wire *wire, void *payload)
{
    request *r = payload;
    rs_wire_bytes(wire, r, sizeof *r);
    rs_minc_pass(wire, &r->made);
}

/* One of another format, by what that says of space. */
static resplit_status make_image(const resplit_array *source, const resplit_target *target, resplit_array *array,
                                 resplit_error *err)
{
    int64_t whole[RS_MAX_NDIM];
    rs_minc_draft draft;
    request r = {.draft = &draft, .dtype = &array->dtype};
    if (target->is_virtual) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "a virtual MINC file is made of MINC files only: give a .h5 path");
    }
    RS_TRY(rs_hdf5_check_plain(source, array->format, err));
    for (int d = 0; d < source->layout.ndim; d++) {
        whole[d] = source->layout.axis[d].extent;
    }
    RS_TRY(rs_minc_draft_of(array->space, whole, &array->dtype, &draft, &array->notes, err));
    rs_apart task = {.subject = "a MINC file", .work = make_here, .pass = pass_image, .payload = &r};
    resplit_status rc = rs_hdf5_apart(task, NULL, err);
    array->minc = r.made; /* or what came of it */
    return rc;
}

resplit_status rs_minc_array_begin(const resplit_array *source, const resplit_target *target, const int64_t *shape,
                                   resplit_array *array, resplit_error *err)
{
    for (int d = 0; d < source->layout.ndim; d++) {
        if (shape[d] == 0) {
            return rs_fail(err, RESPLIT_EUNSUPPORTED, "axis %d would have no voxels, which MINC does not allow", d);
        }
    }
    if (target->order == 'F' && source->layout.ndim > 1) {
        return rs_fail(err, RESPLIT_EINVAL, "MINC has voxels in C order only, but F was asked for");
    }
    RS_TRY(source->minc != NULL ? take_image(source, array, err) : make_image(source, target, array, err));
    return set_line(source, shape, array, err);
}
