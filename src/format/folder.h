/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * folder.h - the steps of opening a folder of blocks:
 *
 *     resplit.json ------------------------------------------+
 *     info (a Dask stack) --> pattern --+                    v
 *     the user's pattern ---> pattern --+--> derive axes --> census of names --> verify every block
 *     names --- detect -----> pattern --+
 *
 * Nothing is kept per block but the offset of its data, and that only where offsets differ.
 */
#ifndef RS_FOLDER_H
#define RS_FOLDER_H

#include "format/array.h"

typedef struct rs_folder {
    const char *path;         /* for messages */
    int fd;                   /* open for openat */
    const resplit_spec *spec; /* never NULL */
} rs_folder;

/* Calls visit with every name that is not hidden, in no order; stops at the first failure. */
typedef resplit_status (*rs_folder_visit)(const char *name, void *payload, resplit_error *err);
resplit_status rs_folder_list(const rs_folder *folder, rs_folder_visit visit, void *payload, resplit_error *err);

/* "folder/name" for messages, cut when too long. */
enum { RS_SHOWN_PATH = 600 };
const char *rs_folder_show(const rs_folder *folder, const char *name, char shown[RS_SHOWN_PATH]);

/* The axis of a Dask npy stack (its file `info`); *found is false when this is none. */
resplit_status rs_stack_axis(const rs_folder *folder, bool *found, int *axis, resplit_error *err);

/* A pattern that the names in the folder follow; the caller frees *pattern. */
resplit_status rs_names_detect(const rs_folder *folder, char **pattern, resplit_error *err);

/* Format, type and axes of the array from array->pattern, the names and the headers. */
resplit_status rs_folder_derive(const rs_folder *folder, resplit_array *array, resplit_error *err);

/* Every name that follows the pattern belongs to the grid; *n receives how many there are. */
resplit_status rs_folder_census(const rs_folder *folder, const resplit_array *array, int64_t *n, resplit_error *err);

/* Every block of a finished array is there and is what it should be. Records offsets; finds the order when array->order
 * is 0. n_files as counted by the census. */
resplit_status rs_folder_verify(const rs_folder *folder, resplit_array *array, int64_t n_files, resplit_error *err);

#endif
