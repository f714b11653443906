/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hdf5_array.h - what the rest of this room knows of HDF5; nothing of libhdf5.
 *
 * Over files that are damaged libhdf5 may crash. So whatever it does, it does in a child process (base/apart.h): a
 * dataset is opened there, and a grid of files; a target is tried there before anything is touched, and sealed.
 */
#ifndef RS_HDF5_ARRAY_H
#define RS_HDF5_ARRAY_H

#include "base/apart.h"
#include "format/format.h"

enum {
    RS_HDF5_BEGIN = 4096,      /* of data in a file that we make: behind a sector that has the superblock */
    RS_HDF5_LIBRARY = 6 << 20, /* bytes that libhdf5 takes where it is loaded during a run, with what it brings along */
};

/* Has work done apart. rs_apart_run, with all but its library and lock. */
resplit_status rs_hdf5_apart(rs_apart task, rs_child **child, resplit_error *err);

/* HDF5, or MINC, whose files are HDF5, too. NULL is neither. */
bool rs_format_is_hdf5(const rs_format *format);

/* Whether an open file of `size` bytes is HDF5, also behind a user block. */
bool rs_hdf5_probe(int fd, int64_t size);

/*
 * "a.h5:/b" is dataset b in a.h5. False: the path names no dataset; *file and *dataset are then NULL. The caller frees
 * both. With `any`, the file may have any name.
 */
resplit_status rs_hdf5_split(const char *path, bool any, char **file, char **dataset, resplit_error *err);

resplit_status rs_hdf5_array_open(const char *path, const char *dataset, const resplit_spec *spec, resplit_array **out,
                                  resplit_error *err);

/*
 * Everything of a target: array->format, dtype, cast and path are set; and the layout and pattern of its files, when it
 * is a grid of them. dataset NULL: as the source's.
 */
resplit_status rs_hdf5_array_fill(const resplit_array *source, const resplit_target *target, const int64_t *shape,
                                  const char *dataset, resplit_array *array, resplit_error *err);

resplit_status rs_hdf5_locate(const resplit_array *array, const int64_t *index, int fd, int64_t size, const char *path,
                              rs_place *out, resplit_error *err);

/* The most blocks of a file, and the position of a block among those of its file, in C order. */
int64_t rs_hdf5_blocks(const resplit_array *array);
int64_t rs_hdf5_position(const resplit_array *array, const int64_t *index);

/* Of a target: the element that is put where there are none. */
char *rs_hdf5_fill(const resplit_array *target);

/* A block that only libhdf5 can read, as long as it is stored; what lies outside the array is left as it is. */
resplit_status rs_hdf5_fetch(const resplit_array *array, const int64_t *index, char *out, resplit_error *err);

/* Every stored block is what the chain makes of it: no stage was left out for any. */
bool rs_hdf5_is_uniform(const resplit_array *array);

/* The attributes of a dataset that is there, as a JSON object; what JSON has no word for is left out. */
resplit_status rs_hdf5_attributes(const resplit_array *array, rs_text *out, resplit_error *err);
/* A target that says where the data of its source are. */
bool rs_hdf5_is_virtual(const resplit_array *target);

/* What a target will be, in words, for those who compare. */
resplit_status rs_hdf5_describe(const resplit_array *array, rs_text *out, resplit_error *err);

/* RESPLIT_EUNSUPPORTED: a source of elements that no other format has. */
resplit_status rs_hdf5_check_plain(const resplit_array *source, const rs_format *format, resplit_error *err);

/*
 * Makes of files with the blocks of a target in them HDF5 files: rs_array_seal. Everything else of the source's file
 * goes there too, when all of its dataset goes to one file.
 */
resplit_status rs_hdf5_seal(const resplit_array *array, const char *path, rs_file_range files, rs_array_entry *entry,
                            void *payload, resplit_error *err);

/* To the process that had it opened by another one. */
void rs_hdf5_pass(rs_wire *wire, const resplit_array *array, struct rs_hdf5 **hdf5);

void rs_hdf5_free(struct rs_hdf5 *hdf5);

#endif
