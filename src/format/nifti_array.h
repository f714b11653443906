/* SPDX-License-Identifier: BSD-3-Clause */
/* nifti_array.h - arrays that are NIfTI: one file, a pair, or a grid of them. Private to this room. */
#ifndef RS_NIFTI_ARRAY_H
#define RS_NIFTI_ARRAY_H

#include "format/array.h"
#include "format/nifti.h"

bool rs_format_is_nifti(const rs_format *format);

/* "x.hdr" is a name of what is in "x.img": appends the latter, or the path as it is. */
resplit_status rs_nifti_data_name(const char *path, rs_text *out, resplit_error *err);

/* Is this the header of a block of the array? The first one, number 0, tells what the others are compared with. Takes
   what it keeps. */
resplit_status rs_nifti_check_block(resplit_array *array, int64_t number, const rs_box *box, const char *shown,
                                    const char *first, rs_head *head, resplit_error *err);

/* Are blocks of a target, on the grid of its source, the same files? */
bool rs_nifti_is_verbatim(const resplit_array *source, const resplit_array *target);

/* Memory and time of compressed blocks, once they are known. stored: bytes of the largest one. */
resplit_status rs_nifti_set_coding(resplit_array *array, bool encode, int64_t stored, double ratio, resplit_error *err);

/* nifti_target.c: fills what is special to a target. Before it is cut and named: order, compression; then its header;
   when it is finished: costs. */
resplit_status rs_nifti_array_begin(const char *path, const resplit_array *source, const resplit_target *target,
                                    const int64_t *shape, resplit_array *array, resplit_error *err);
resplit_status rs_nifti_array_head(const resplit_array *source, const int64_t *shape, resplit_array *array,
                                   resplit_error *err);
resplit_status rs_nifti_array_end(const resplit_array *source, resplit_array *array, resplit_error *err);

/* What the header says, in a line, for the public view. */
resplit_status rs_nifti_describe(const rs_nifti *nifti, rs_text *out, resplit_error *err);

/* Appends the header of a block. */
resplit_status rs_nifti_block_head(const resplit_array *array, const int64_t *index, rs_text *out, resplit_error *err);

/* Of pairs: calls add(name, text) for each header. */
resplit_status rs_nifti_add_heads(const resplit_array *array, rs_add_file *add, void *payload, resplit_error *err);

/* The header in the manifest, as hexadecimal digits, and back. */
resplit_status rs_nifti_to_hex(const resplit_array *array, rs_text *out, resplit_error *err);
resplit_status rs_nifti_from_hex(const char *text, const char *path, resplit_array *array, resplit_error *err);

#endif
