/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hdf5.h - a dataset in an HDF5 file, as an array.
 *
 *     file.h5:/data -- libhdf5 --> shape, type, layout, filters, address of every chunk --> layout, chain, places
 *     source, wishes ------------> a dataset to be made  --> the engine writes blocks --> libhdf5 puts metadata around them
 *
 * libhdf5 reads and writes metadata only (hdf5_driver.h); data are moved by the engine and coded by our codecs. Every
 * call of libhdf5 is between rs_hdf5_enter and rs_hdf5_leave, one thread of the process at a time; files of others are
 * opened in child processes only (hdf5_array.h). Private to this room.
 */
#ifndef RS_HDF5_H
#define RS_HDF5_H

#include "format/array.h"
#include "format/hdf5_driver.h"

#define RS_HDF5_USUAL_NAME "data" /* of a dataset that nobody gave one */

enum {
    RS_HDF5_MAX_CHUNKS = 1 << 28,
};

typedef struct rs_hdf5_chunk {
    int64_t offset, bytes; /* 0 bytes: it is missing */
    uint32_t skip;         /* stages that were left out for it */
} rs_hdf5_chunk;

typedef struct rs_hdf5 {
    char *dataset; /* "/data"; owned; NULL: a source in a grid of files, which have several names for it */
    char *origin_file,
        *origin;          /* whose attributes it has: of a target, what it is made from, when that is HDF5; of a grid of
                                   files, the first one and the dataset in it; owned; else NULL */
    rs_text attributes;   /* a source in a grid of files: those, as JSON */
    resplit_array *parts; /* a target that is virtual: what is known of its source; owned; else NULL */
    bool chunked;
    bool is_virtual;              /* a source: made of others */
    bool all;                     /* a target: of all of its source, whose other objects it gets too */
    bool foreign;                 /* elements are of a type that NumPy has not */
    int64_t maximum[RS_MAX_NDIM]; /* extents that the dataset may grow to; -1: any */
    int64_t file[RS_MAX_NDIM];    /* a target in chunks: lengths of a file */
    rs_text type;                 /* of elements, as H5Tencode writes it */
    rs_hdf5_chunk *chunk;         /* of an encoded source, by number; owned */
    bool skips;                   /* some of them do */
    char *fill;                   /* a target: of missing elements, whether or not its blocks may be missing; owned */
    bool through;                 /* a source that only libhdf5 can read, in the process that has opened it */
    hid_t file_id, dataset_id;    /* there; else -1 */
    rs_child *reader;             /* and elsewhere, that process; owned */
    char *inside;                 /* the data of a compact dataset, owned; else NULL */
} rs_hdf5;

/* ---- The library: hdf5_lib.c ---- */

typedef struct rs_hdf5_session {
    H5E_auto2_t print; /* how the program that we are in has errors printed */
    void *payload;
    unsigned plugins; /* which kinds of them it may load: we need none, since all data are coded by us */
} rs_hdf5_session;

/* Without success nothing is entered. */
resplit_status rs_hdf5_enter(rs_hdf5_session *session, resplit_error *err);
void rs_hdf5_leave(rs_hdf5_session *session);

/* Fails with a sentence, and what libhdf5 says is wrong. */
resplit_status rs_hdf5_fail(resplit_error *err, resplit_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Only to read. The caller closes it. */
resplit_status rs_hdf5_open_file(const char *path, hid_t *out, resplit_error *err);

/* The same for one that is open, and stays so; `path` is for messages. */
resplit_status rs_hdf5_open_descriptor(int fd, const char *path, hid_t *out, resplit_error *err);

/* Closes an id, whatever it is of; does nothing with one that is none. */
void rs_hdf5_close(hid_t id);

/* The dataset `name` of a file, or, when that is NULL, the only one; *found gets its path, which the caller frees. */
resplit_status rs_hdf5_find(hid_t file, const char *path, const char *name, char **found, resplit_error *err);

/* What an object is, a number that it has whatever its name, and how many names it has. False: there is none. */
bool rs_hdf5_look(hid_t place, const char *name, H5O_type_t *type, uint64_t *address, unsigned *n_links);

/* What a walk along all links tells of one: of another name in later versions. */
#if H5_VERSION_GE(1, 12, 0)
typedef H5L_info1_t rs_hdf5_link;
#define rs_hdf5_visit_links H5Lvisit1
#else
typedef H5L_info_t rs_hdf5_link;
#define rs_hdf5_visit_links H5Lvisit
#endif
typedef herr_t rs_hdf5_on_link(hid_t root, const char *name, const rs_hdf5_link *info, void *payload);

/* ---- Types: hdf5_type.c ---- */

/* RESPLIT_EUNSUPPORTED: elements of no size of their own, or that mean something in this file only. */
resplit_status rs_hdf5_read_type(hid_t type, const char *path, rs_dtype *out, bool *foreign, resplit_error *err);

/* As H5Tencode writes it. */
resplit_status rs_hdf5_encode_type(hid_t type, rs_text *out, resplit_error *err);

/* The type of a dataset of such elements. */
resplit_status rs_hdf5_make_type(const rs_dtype *dtype, hid_t *out, resplit_error *err);

/* The same for records, whose type is a list: hdf5_record.c. */
resplit_status rs_hdf5_make_record(const char *descr, hid_t *out, resplit_error *err);

/* ---- Filters: hdf5_filters.c, hdf5_chain.c ---- */

/* The chain of a target: as asked for in the words of all formats, or as near to the source's as there is;
   NULL: as that. */
resplit_status rs_hdf5_set_chain(const resplit_array *source, const char *codec, resplit_array *array,
                                 resplit_error *err);

/* The filters of a list of creation properties. RESPLIT_EUNSUPPORTED names one that we lack. */
resplit_status rs_hdf5_read_filters(hid_t creation, const char *path, const rs_element *element, rs_chain *out,
                                    resplit_error *err);

/* Adds them to one. RESPLIT_EUNSUPPORTED: HDF5 has no filter for a stage. */
resplit_status rs_hdf5_add_filters(hid_t creation, const rs_chain *chain, int64_t bytes, resplit_error *err);

/* ---- Targets: hdf5_seal.c ---- */

/*
 * Has everything done that sealing a target will ask of libhdf5, but for its blocks and what is large, in memory: what
 * cannot be is known before anything is touched. Fills in the type.
 */
resplit_status rs_hdf5_try(resplit_array *array, resplit_error *err);

/* ---- Targets that are virtual: hdf5_virtual.c ---- */

/* Whether that can be, and what it will be made of. */
resplit_status rs_hdf5_set_parts(const resplit_array *source, const resplit_target *target, resplit_array *array,
                                 resplit_error *err);

/* Adds a mapping for every part to a list of creation properties; looks at each part once more. */
resplit_status rs_hdf5_add_parts(const resplit_array *array, hid_t creation, resplit_error *err);

/* Of the dataset that was made: all is there, and nothing twice. */
resplit_status rs_hdf5_check_parts(const resplit_array *array, hid_t dataset, resplit_error *err);

/* ---- Files of a grid: hdf5_grid.c ---- */

/* The dataset of such a file, as an array; NULL: the only one. `also`, which may be NULL, looks at what else is
   in the file. */
typedef resplit_status rs_hdf5_also(hid_t file, const char *path, rs_head *out, resplit_error *err);
resplit_status rs_hdf5_parse_head(int fd, int64_t size, const char *path, const char *dataset, rs_hdf5_also *also,
                                  rs_head *out, resplit_error *err);

/* ---- One dataset: hdf5_open.c ---- */

/* In a child process, as a new array; dataset NULL: the only one, or the image of MINC. */
resplit_status rs_hdf5_open_here(const char *path, const char *dataset, const resplit_spec *spec, resplit_array *array,
                                 resplit_error *err);

/* Of a file of `size` bytes that is open, as a new array. */
resplit_status rs_hdf5_read_dataset(hid_t file, const char *path, int64_t size, const char *name, resplit_array *array,
                                    resplit_error *err);

/* ---- Chunks: hdf5_index.c ---- */

/* The one that begins at this element, as it is noted; false: it is missing. */
bool rs_hdf5_find_chunk(hid_t dataset, rs_hdf5_io *io, const hsize_t *at, rs_hdf5_chunk *out);

/* Called for each chunk that is there, by its number in C order. */
typedef resplit_status rs_hdf5_visit(void *payload, int64_t number, const rs_hdf5_chunk *chunk, resplit_error *err);
resplit_status rs_hdf5_chunks(hid_t file, hid_t dataset, const rs_layout *layout, int64_t size, const char *path,
                              rs_hdf5_visit *visit, void *payload, resplit_error *err);

/* Of a dataset that libhdf5 reads, which would take chunks that it does not find for missing: all that its index
   counts are there. */
resplit_status rs_hdf5_check_index(hid_t file, hid_t dataset, const char *path, resplit_error *err);

/* ---- What only libhdf5 can read: hdf5_through.c ---- */

/* Whether it has all filters of a list of creation properties. */
bool rs_hdf5_can_decode(hid_t creation);

/* Lengths of blocks for a dataset that has no chunks. */
void rs_hdf5_choose_blocks(int ndim, const int64_t *shape, int64_t itemsize, int64_t *length);

/* Has the blocks of an array, of at most so many bytes, read by libhdf5. RESPLIT_EFORMAT, EUNSUPPORTED, EIO: what is
   virtual is not all there. */
resplit_status rs_hdf5_read_through(resplit_array *array, hid_t file, hid_t creation, int64_t block,
                                    resplit_error *err);

/* Reads blocks for another process, as long as that asks. */
void rs_hdf5_answer(rs_wire *wire, const resplit_array *array);

/* ---- Other objects: hdf5_attributes.c, hdf5_json.c, hdf5_tree.c ---- */

/* Appends the attributes of a dataset as a JSON object: rs_hdf5_attributes. */
resplit_status rs_hdf5_list_attributes(hid_t file, const char *dataset, const char *path, rs_text *out,
                                       resplit_error *err);

/* Is an object, of this name from the root, not to be copied? What is in a group that is not must not be, too. */
typedef bool rs_hdf5_leaves(const char *name, const void *payload);

/* Two files, and the dataset that has another name in the second. */
typedef struct rs_hdf5_names {
    hid_t from, to;
    const char *origin, *made; /* both begin with a slash */
    rs_hdf5_leaves *leaves;    /* NULL: everything is copied */
    const void *payload;
    bool trial; /* the second is in memory, and gets no dataset that is large */
} rs_hdf5_names;

/* What is attached to an object, to another of its kind; values that are references are left out. all: also what tells
   of its shape. */
resplit_status rs_hdf5_copy_attributes(hid_t from, hid_t to, bool all, const char *path, resplit_error *err);

/* Those values too, by the names of what they refer to. */
resplit_status rs_hdf5_map_attributes(hid_t from, hid_t to, const rs_hdf5_names *names, const char *path,
                                      resplit_error *err);

/* All of a file but the dataset, whose place is taken by `dataset`, which has no name yet. */
resplit_status rs_hdf5_copy_tree(const rs_hdf5_names *names, hid_t dataset, const char *path, resplit_error *err);

/* How the root of a file was made: in which order it lists its links, above all. Negative: libhdf5 has failed. */
hid_t rs_hdf5_root_properties(hid_t file);

/* Properties of a link, by which the groups above it are made. Negative: libhdf5 has failed. */
hid_t rs_hdf5_make_links(void);

#endif
