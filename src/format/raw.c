/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * raw.c - driver for files that hold elements and nothing else. What they are is told by the user, a manifest, or a
 * `<file>.json` beside one file.
 */
#include "format/drivers.h"

static const char *const suffixes[] = {".raw", ".bin", ".dat", NULL};

const rs_format rs_format_raw = {
    .name = "raw",
    .suffixes = suffixes,
    .has_header = false,
    .parse_head = NULL,
    .make_head = NULL,
};
