/* SPDX-License-Identifier: BSD-3-Clause */
/* zarr_array.h - arrays that are Zarr. Private to this room. */
#ifndef RS_ZARR_ARRAY_H
#define RS_ZARR_ARRAY_H

#include "format/array.h"
#include "format/zarr.h"

resplit_status rs_zarr_array_open(const char *path, const resplit_spec *spec, resplit_array **out, resplit_error *err);

/* Fills a target whose format, type, order and origin are set. shape: of the target. */
resplit_status rs_zarr_array_fill(const resplit_array *source, const resplit_target *target, const int64_t *shape,
                                  resplit_array *array, resplit_error *err);

/* Everything of an array that its metadata, array->zarr, say. */
resplit_status rs_zarr_array_layout(resplit_array *array, resplit_error *err);

int64_t rs_zarr_chunk_bytes(const rs_zarr *zarr);

/* rs_array_metadata, of an array that is the level of an image: those of its group too. */
resplit_status rs_zarr_image_metadata(const resplit_array *array, rs_add_file *add, void *payload, resplit_error *err);

#endif
