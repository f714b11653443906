/* SPDX-License-Identifier: BSD-3-Clause */
/* zarr_parts.h - what the files of zarr.h share among themselves. */
#ifndef RS_ZARR_PARTS_H
#define RS_ZARR_PARTS_H

#include "base/json.h"
#include "format/zarr.h"

enum { RS_MAX_RECORDS = 16 }; /* of records in records; bounds recursion */

/* A value in a message: cut when it is long, and in one line. */
enum { RS_ZARR_SHOWN = 72 };
const char *rs_zarr_show(const rs_json *value, char shown[RS_ZARR_SHOWN]);

/* bad metadata 'path': "key" is <value>, reason. The value may be NULL: it is missing. */
resplit_status rs_zarr_bad(const char *path, const char *key, const rs_json *value, const char *reason,
                           resplit_error *err);

/* Of an object {"name": ..., "configuration": {...}}, or of a bare string: the name, and the configuration or NULL. */
resplit_status rs_zarr_named(const char *path, const char *key, const rs_json *value, rs_text *name,
                             const rs_json **config, resplit_error *err);

bool rs_zarr_is_named(const rs_json *value, const char *name);

/* A list of at most RS_MAX_NDIM integers of at least `least`. */
resplit_status rs_zarr_extents(const char *path, const char *key, const rs_json *value, int64_t least, int *n,
                               int64_t *out, resplit_error *err);

/* A copy of how a value was written. */
resplit_status rs_zarr_keep(rs_text *out, const rs_json *value, resplit_error *err);

/* Reads a file that may not be there: *found. Release text and document also after a failure. */
resplit_status rs_zarr_load(const char *folder, const char *name, rs_text *text, rs_json_document **document,
                            bool *found, resplit_error *err);

/* The images of OME-Zarr that the attributes of a group tell of; NULL: none. */
const rs_json *rs_zarr_images(const rs_json *attributes);

/* For a version 2 array without a separator in its metadata: what the names in its folder have. */
void rs_zarr_guess_separator(const char *path, rs_zarr *zarr);

/* Fills `zarr` from the root of its metadata, of version 3. */
resplit_status rs_zarr_read_v3(const char *path, const rs_json *root, rs_zarr *zarr, resplit_error *err);

/* Codecs and data_type of version 3; shape and chunks are there, and chunks become those of the innermost shards. */
resplit_status rs_zarr_read_codecs(const char *path, const rs_json *root, rs_zarr *zarr, resplit_error *err);

/* Shape, chunks and levels fit each other, and every count is an int64_t. */
resplit_status rs_zarr_check(const char *path, const rs_zarr *zarr, resplit_error *err);

/* Notes why chunks cannot be decoded, when `rc` says that something is not known; other failures are passed on. */
resplit_status rs_zarr_note_opaque(rs_zarr *zarr, resplit_status rc, const resplit_error *why, resplit_error *err);

/* Adds a codec to the chain, or notes that it is not known. */
resplit_status rs_zarr_add_stage(const char *path, rs_zarr *zarr, const char *name, const rs_json *config,
                                 resplit_error *err);

/* ---- Types ---- */

/* RESPLIT_EUNSUPPORTED: one of no fixed size, or not known. `order` is the byte order of the codec "bytes", or 0. */
resplit_status rs_zarr_type_v2(const char *path, const rs_json *value, rs_dtype *out, resplit_error *err);
resplit_status rs_zarr_type_v3(const char *path, const rs_json *value, char order, rs_dtype *out, resplit_error *err);

/* bfloat16 and the like, which become V. */
bool rs_zarr_type_is_foreign(const rs_json *type);

/* Appends the JSON of a type; the second one that of a simple type in version 3. */
resplit_status rs_zarr_type_print(const rs_dtype *dtype, int version, rs_text *out, resplit_error *err);
resplit_status rs_zarr_type_print_simple(const rs_dtype *dtype, rs_text *out, resplit_error *err);

/* ---- Fill values ---- */

/*
 * Fills `out`, itemsize bytes. RESPLIT_EUNSUPPORTED: how a type writes its values is not known. `type` is the data_type
 * as it is written, and `endian` its byte order, for those that NumPy does not have; NULL: none of them.
 */
resplit_status rs_zarr_fill_read(const char *path, const rs_json *value, const rs_dtype *dtype, const rs_json *type,
                                 char endian, char *out, resplit_error *err);
resplit_status rs_zarr_fill_print(const rs_dtype *dtype, const char *fill, int version, rs_text *out,
                                  resplit_error *err);

/* Base64 with its padding. False: something else; `out` is released by the caller all the same. */
resplit_status rs_base64_read(const char *text, size_t n, rs_text *out, bool *good, resplit_error *err);

/* A double in the manner of Python: digits that make it again, and always a point or an exponent. */
resplit_status rs_real_print(double value, rs_text *out, resplit_error *err);

#endif
