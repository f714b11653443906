/* SPDX-License-Identifier: BSD-3-Clause */
/* minc_array.h - arrays that are MINC 2: one file, or a grid of them. Nothing of libhdf5; private to this room. */
#ifndef RS_MINC_ARRAY_H
#define RS_MINC_ARRAY_H

#include "base/apart.h"
#include "format/array.h"

/* Fails with the way out when an open file is MINC 1, which is netCDF. */
resplit_status rs_minc_check_version(int fd, const char *path, resplit_error *err);

/* Is this the file of a block of the array? The first one, number 0, tells what the others are compared with. Takes
   what it keeps. */
resplit_status rs_minc_check_block(resplit_array *array, int64_t number, const rs_box *box, const char *shown,
                                   const char *first, rs_head *head, resplit_error *err);

/* A target gets what is known of the source's image. */
resplit_status rs_minc_array_begin(const resplit_array *source, const resplit_target *target, const int64_t *shape,
                                   resplit_array *array, resplit_error *err);

/* Says what another format does not keep of an image. */
resplit_status rs_minc_note_loss(const resplit_array *source, resplit_array *array, resplit_error *err);

/* What is known of an image, in a line, for the public view. */
resplit_status rs_minc_describe(const struct rs_minc *minc, rs_text *out, resplit_error *err);

/* To the process that had it opened by another one. */
void rs_minc_pass(rs_wire *wire, struct rs_minc **minc);

void rs_minc_free(struct rs_minc *minc);

#endif
