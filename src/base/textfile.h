/* SPDX-License-Identifier: BSD-3-Clause */
/* textfile.h - small files: read whole, and written whole or not at all. */
#ifndef RS_TEXTFILE_H
#define RS_TEXTFILE_H

#include "base/text.h"

/* A regular file of at most `most` bytes; anything else is RESPLIT_EFORMAT. Release `out` also after a failure. */
resplit_status rs_textfile_read(const char *path, size_t most, rs_text *out, resplit_error *err);

/* Grows beside `path` and takes its place by one rename, when it is on disk. */
resplit_status rs_textfile_write(const char *path, const rs_text *text, resplit_error *err);

#endif
