/* SPDX-License-Identifier: BSD-3-Clause */
/* zarr_space.h - where the elements of Zarr arrays are. Private to this room. */
#ifndef RS_ZARR_SPACE_H
#define RS_ZARR_SPACE_H

#include "format/space.h"
#include "format/zarr.h"

/* What attributes, and the OME-Zarr image that the array is a level of, say; *out NULL: nothing. What is wrong in it
   goes to `notes`. */
resplit_status rs_zarr_space(const char *path, const rs_zarr *zarr, rs_space **out, rs_text *notes, resplit_error *err);

/* What the attributes of a group say of the level of this name, of `ndim` axes; *out NULL: it is none. RESPLIT_EFORMAT:
   what makes no sense. */
resplit_status rs_zarr_level_space(const rs_json *attributes, const char *name, int ndim, rs_space **out,
                                   resplit_error *err);

/* Is this member of attributes one that tells it? */
bool rs_zarr_tells_space(const rs_json *member);

/* Attributes, which may be NULL, with those that tell of `space` in place of what they said of it. */
resplit_status rs_zarr_space_attributes(const rs_text *attributes, const rs_space *space, rs_text *out,
                                        resplit_error *err);

/* The names of the axes as a JSON list. */
resplit_status rs_zarr_space_names(const rs_space *space, rs_text *out, resplit_error *err);

/* The metadata of the group at `path` that is an OME-Zarr image of one level: 0.4 in version 2, 0.5 in version 3. */
resplit_status rs_zarr_ome_print(const rs_space *space, int version, const char *path, rs_zarr_file *add, void *payload,
                                 resplit_error *err);

#endif
