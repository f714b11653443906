/* SPDX-License-Identifier: BSD-3-Clause */
/* site.h - where an output is to be: what is looked at there before anything is written. */
#ifndef RS_SITE_H
#define RS_SITE_H

#include "engine/file.h"
#include "format/format.h"

typedef struct rs_site {
    const char *path; /* borrowed */
    bool folder;      /* a folder, rather than one file */
    bool group;       /* a group of arrays */
    bool overwrite;   /* what is there may be replaced */
} rs_site;

/* The folder around it is there, and it is neither the source nor one inside the other. */
resplit_status rs_site_check_apart(const rs_site *site, const char *source, resplit_error *err);

/* Nothing is there, or what may be replaced: one array or group, and nothing else with it. */
resplit_status rs_site_check_free(const rs_site *site, resplit_error *err);

/* The file system has the bytes and the inodes. */
resplit_status rs_site_check_space(const resplit_array *array, resplit_error *err);

#endif
