/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * output.h - an array in the making. It grows beside its final place and appears there only when it is whole:
 *
 *     out.resplit-part/   a folder of blocks, or one file; locked while a run is at work on it
 *     out/                the same, renamed, when everything is written and on disk
 *
 * A run that dies leaves only the part, which no reader takes for an array and which the next run removes.
 */
#ifndef RS_OUTPUT_H
#define RS_OUTPUT_H

#include "engine/file.h"
#include "format/format.h"

typedef struct rs_output {
    const resplit_array *array;
    char part[RS_PATH_MAX]; /* where it grows */
    int lock;               /* descriptor of the part, locked; -1: none */
} rs_output;

/*
 * Checks what can be checked before anything is written (places, free space, free inodes, what is there already, another
 * run at work), then makes an empty part.
 */
resplit_status rs_output_begin(rs_output *output, const resplit_array *array, const resplit_array *source,
                               resplit_error *err);

/* Writes the manifest, brings everything to disk and publishes it. The output is then ended. */
resplit_status rs_output_publish(rs_output *output, resplit_error *err);

/* Removes the part. Does nothing after a publish. */
void rs_output_abandon(rs_output *output);

#endif
