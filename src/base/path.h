/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * path.h - paths that are written into a file, so that the file and what lies below its folder can move together.
 *
 *     file /a/p.json, path /a/b/c    ->  "b/c"       and back: next to the file
 *     file /a/p.json, path /d        ->  "/d"        and back: as it is
 */
#ifndef RS_PATH_H
#define RS_PATH_H

#include "base/base.h"

/*
 * `path` as it is to be written into `file`: relative when it lies below the folder of `file`, else absolute. Both
 * folders must exist, what is in them need not. Links are followed on the way, a link at the end stays. The caller
 * frees *out.
 */
resplit_status rs_path_to_write(const char *file, const char *path, char **out, resplit_error *err);

/* What was written, as a path that can be opened from here. The caller frees *out. */
resplit_status rs_path_as_read(const char *file, const char *path, char **out, resplit_error *err);

/* A copy without the slashes at its end, as shells complete folders; NULL: no memory. The caller frees it. */
char *rs_path_trimmed(const char *path);

#endif
