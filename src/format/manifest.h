/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * manifest.h - `resplit.json` in a folder of blocks, and the `<file>.json` beside a raw file.
 *
 *     {"resplit": 1, "format": "npy", "dtype": "<u2", "order": "C", "shape": [100, 60],
 *      "chunks": [64, [10, 20, 30]], "pattern": "{0}_{1}.npy", "fingerprint": "9f86d081884c7d65", "run": "0123456789abcdef",
 *      "header": "5c010000...", "data_offset": 128}
 *
 * A number in "chunks" cuts evenly, a list gives the lengths. Keys that are not known are ignored.
 */
#ifndef RS_MANIFEST_H
#define RS_MANIFEST_H

#include "format/format.h"

enum { RS_MANIFEST_VERSION = 1 };

/* What a manifest says, as a spec whose pointers it owns. */
typedef struct rs_manifest {
    resplit_spec spec; /* shape NULL where the manifest has none, and so on */
    bool has_skip;
    uint64_t fingerprint, token; /* 0: none */
    char *dtype;
    char *pattern;
    char *header; /* of a NIfTI image, in hexadecimal digits */
    int64_t shape[RS_MAX_NDIM];
    resplit_chunks chunks[RS_MAX_NDIM];
    int64_t *lengths[RS_MAX_NDIM];
} rs_manifest;

/* Parses `text`; `path` is for messages. A whole manifest needs its version, format, dtype, shape, chunks and pattern;
 * a partial one, beside a raw file, only says what it says. */
resplit_status rs_manifest_parse(const char *text, size_t n, const char *path, bool partial, rs_manifest *out,
                                 resplit_error *err);

/* The same from a file in an open folder (or AT_FDCWD); *found is false, and nothing fails, when there is none. */
resplit_status rs_manifest_load(int folder, const char *name, const char *path, bool partial, rs_manifest *out,
                                bool *found, resplit_error *err);

void rs_manifest_release(rs_manifest *manifest);

#endif
