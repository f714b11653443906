/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * space.h - where the elements of an array are: names and units of its axes, and an affine from indices to x, y and z.
 * The one description between formats: each reads what its files say into it, and writes of it what it can hold.
 *
 *     NIfTI header --+                        +--> NIfTI header: sform, qform, pixdim, units, scl_slope
 *     MINC axes -----+--> rs_space: turn -----+--> OME-Zarr: axes, scale, translation
 *     Zarr, OME -----+    and shift           +--> attributes "space" and "nifti" of any Zarr array
 *                                             +--> MINC axes, image-min and image-max
 *
 * It is of a whole array; what is written of a region is shifted by where it begins. Private to this room.
 */
#ifndef RS_SPACE_H
#define RS_SPACE_H

#include "base/json.h"
#include "format/format.h"

enum { RS_SPACE_NAME = 32 }; /* bytes of a name or a unit, NUL included */

typedef enum rs_axis_kind { RS_KIND_OTHER, RS_KIND_TIME, RS_KIND_CHANNEL, RS_KIND_SPACE } rs_axis_kind;

typedef struct rs_space_axis {
    char name[RS_SPACE_NAME]; /* "x" */
    char unit[RS_SPACE_NAME]; /* in the words of OME-Zarr: "millimeter"; "": not known; the same of all axes in space */
    rs_axis_kind kind;
    int row;            /* in space: 0, 1, 2 for x, y, z, to which it leads most nearly; else -1 */
    double start, step; /* of all others */
} rs_space_axis;

typedef enum rs_scaling { RS_SCALED_NOT, RS_SCALED, RS_SCALED_BY_PARTS } rs_scaling;

typedef struct rs_space {
    int ndim;
    rs_space_axis axis[RS_MAX_NDIM];
    bool placed; /* the affine tells places, not only steps */
    double affine[3]
                 [RS_MAX_NDIM + 1]; /* x, y, z of element i: row . (i0, i1, ..., 1); 0 for axes that are not in space */
    rs_scaling scaling;             /* what stored numbers mean: slope * number + inter, or several of these */
    double slope, inter;
    struct rs_nifti *header;      /* what a NIfTI header of these elements says besides; NULL: there is none. Owned */
    int header_axis[RS_MAX_NDIM]; /* which axis of that header each axis is */
} rs_space;

/* Nothing known but the number of axes: steps of 1. */
resplit_status rs_space_new(int ndim, rs_space **out, resplit_error *err);
resplit_status rs_space_copy(const rs_space *from, rs_space **out, resplit_error *err);
void rs_space_free(rs_space *space);

/* Is every number of it one that can be written? */
bool rs_space_is_finite(const rs_space *space);

/* Length of a step along an axis in space. */
double rs_space_step(const rs_space *space, int axis);

/* Forgets places: what is left of the affine are steps along the axes, 1 where there is none. */
void rs_space_keep_steps(rs_space *space);

/* Gives axes in space the rows, and the names, that the affine leads them to. */
void rs_space_name_axes(rs_space *space);

/* The same space, of an array that begins at `start`; of one whose axis d is axis turn[d]. */
void rs_space_shift(rs_space *space, const int64_t *start);
void rs_space_turn(rs_space *space, const int *turn);

/* The space of a region, and the header that a NIfTI file of it would have. The caller frees it. */
resplit_status rs_space_region(const rs_space *whole, const int64_t *start, const int64_t *shape, rs_space **out,
                               resplit_error *err);

/* What scale and translation along each axis can say of it. True: that is all. */
bool rs_space_split(const rs_space *space, double *scale, double *translation);

/* The order in which a format lists axes: which axis comes d-th. */
typedef enum rs_space_order { RS_ORDER_OME, RS_ORDER_NIFTI, RS_ORDER_MINC } rs_space_order;
void rs_space_sort(const rs_space *space, rs_space_order order, int *turn);

/* ---- Units ---- */

typedef struct rs_unit {
    const char *name, *symbol;
    double factor; /* in millimetres, in seconds */
    rs_axis_kind kind;
    int code; /* in xyzt_units of NIfTI; 0: none */
} rs_unit;

const rs_unit *rs_unit_find(const char *text);                 /* by name or symbol; NULL: not known */
const rs_unit *rs_unit_of_code(int code);                      /* of NIfTI */
void rs_space_set_unit(rs_space_axis *axis, const char *text); /* in our words where it is known */

/* ---- space_json.c ---- */

/* {"axes": [...], "affine": [...]} */
resplit_status rs_space_print(const rs_space *space, rs_text *out, resplit_error *err);

/* What such an object says of an array of `ndim` axes. RESPLIT_EFORMAT: it is none. */
resplit_status rs_space_parse(const rs_json *value, int ndim, rs_space **out, resplit_error *err);

/* Lists of numbers, and the axes as OME-Zarr has them: shared with zarr_space.c. */
resplit_status rs_space_print_numbers(const double *numbers, int n, rs_text *out, resplit_error *err);
resplit_status rs_space_print_axes(const rs_space *space, bool steps, rs_text *out, resplit_error *err);
resplit_status rs_space_parse_axes(const rs_json *list, rs_space *out, resplit_error *err);

/* ---- Formats ---- */

struct rs_nifti;
struct rs_minc;
struct rs_minc_draft;

/* What a header says. */
resplit_status rs_nifti_space(const struct rs_nifti *nifti, rs_space **out, resplit_error *err);

/* Puts into a new header what it can hold, axes in its order; what it cannot goes to `notes`. */
resplit_status rs_nifti_set_space(struct rs_nifti *nifti, const rs_space *space, rs_text *notes, resplit_error *err);

/* The fields of a header as a JSON object, and back. */
resplit_status rs_nifti_print(const struct rs_nifti *nifti, const int *axes, rs_text *out, resplit_error *err);
resplit_status rs_nifti_unprint(const rs_json *value, int *axes, struct rs_nifti **out, resplit_error *err);

/* What is strange or cannot be said goes to `notes`. */
resplit_status rs_minc_space(const struct rs_minc *minc, const rs_dtype *dtype, rs_space **out, rs_text *notes,
                             resplit_error *err);

/* What a MINC image of an array of this shape has to say. RESPLIT_EUNSUPPORTED: it cannot. What is lost
   goes to `notes`. */
resplit_status rs_minc_draft_of(const rs_space *space, const int64_t *shape, const rs_dtype *dtype,
                                struct rs_minc_draft *out, rs_text *notes, resplit_error *err);

/* ---- space_array.c ---- */

/* What is known of an array; *out NULL: nothing. The caller frees it. */
resplit_status rs_array_space(const resplit_array *array, rs_space **out, rs_text *notes, resplit_error *err);

/* Gives a target its space, and the order of its axes; notes what its format cannot hold. one: it is a dataset
   of a file. */
resplit_status rs_array_set_space(const resplit_array *source, bool one, resplit_array *array, resplit_error *err);

/* In a line, for the public view. */
resplit_status rs_space_describe(const rs_space *space, rs_text *out, resplit_error *err);

#endif
