/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * format.h - where the bytes of an array are.
 *
 * An array is a layout (geometry, the only thing the planner sees), a type, and an answer to one question: in which
 * file and at which offset are the bytes of block i. The engine asks it and moves the bytes itself; a format never
 * does.
 *
 *     path/                         resplit_array
 *       resplit.json  -- manifest --> layout, dtype, pattern
 *       0_0.npy       -- driver   --> head: dtype, shape, order, offset of the data
 *       0_1.npy
 *
 * A driver knows one kind of block file. What is common to all grids of files (names, manifest, checks) is in
 * folder.c, once.
 */
#ifndef RS_FORMAT_H
#define RS_FORMAT_H

#include <string.h>

#include "base/text.h"
#include "codec/codec.h"
#include "format/dtype.h"
#include "geometry/grid.h"

#define RS_OME_LEVEL "0" /* the array in an OME-Zarr image that we make */

enum { RS_NAME_MAX = 256 }; /* bytes of a block's file name, NUL included */

/* What the header of one block file says. */
typedef struct rs_head {
    rs_dtype dtype; /* owned: rs_head_release */
    int ndim;
    int64_t shape[RS_MAX_NDIM];
    char order;                     /* 'C' or 'F' */
    int64_t data_offset;            /* bytes before the data */
    const struct rs_format *format; /* which of a family it is; NULL: the one that was asked */
    struct rs_nifti *nifti;         /* owned; NULL: not NIfTI */
    struct rs_minc *minc;           /* owned; NULL: not MINC */
    struct resplit_array *stored;   /* owned; its blocks, when they are parts of the file; NULL: it is one */
    bool apart;                     /* this is a header alone: the data is in another file */
    bool encoded;                   /* compressed, and the data with it */
} rs_head;

void rs_head_release(rs_head *head);

typedef struct rs_format {
    const char *name;               /* "npy": printed, and the word on the command line        */
    const char *const *suffixes;    /* NULL-terminated; the first one names new blocks          */
    bool has_header;                /* the file describes itself                                */
    bool has_tail;                  /* other things may follow the data                         */
    bool alone;                     /* headers are read by one thread at a time: others would only take memory */
    const struct rs_format *family; /* the one that stands for all versions of it; NULL: has none */
    /* Parses the header of an open file of `size` bytes; every number is checked. NULL without header. */
    resplit_status (*parse_head)(int fd, int64_t size, const char *path, rs_head *out, resplit_error *err);
    /* Appends the bytes that stand before the data of a block. NULL without header. */
    resplit_status (*make_head)(const rs_head *head, rs_text *out, resplit_error *err);
    /* Appends the name of the file that has the header of block file `name`; nothing: that file
       itself. NULL: always. */
    resplit_status (*head_name)(const char *name, rs_text *out, resplit_error *err);
} rs_format;

const rs_format *rs_format_by_name(const char *name);   /* NULL: none */
const rs_format *rs_format_by_suffix(const char *path); /* NULL: none */

struct resplit_array {
    const rs_format *format;
    char *path; /* owned; NULL when only described, or in memory */
    rs_dtype dtype;
    rs_layout layout; /* the whole array; axes borrow from cuts */
    char order;       /* 'C' or 'F', the same as layout.order */
    bool encoded;     /* blocks are read and written whole, through the chain, as long as the grid is */
    bool exact_heads; /* of NIfTI that was opened: block files have, byte for byte, the heads that are made for them */
    bool ome;         /* a target: a group that is an OME-Zarr image, and the array its level RS_OME_LEVEL */
    bool turned;      /* a target: its axes are those of the source in another order */
    const char *memory;           /* borrowed; the first element of an array in memory; NULL: it is not */
    int64_t strides[RS_MAX_NDIM]; /* of such an array, in bytes; any sign */
    int64_t *cuts[RS_MAX_NDIM];   /* owned positions of uneven axes, else NULL */
    char *pattern;                /* owned; NULL: one file, the path itself */
    int64_t data_offset;          /* of every block, when offsets is NULL */
    int64_t *offsets;             /* owned; per block in C order, when they differ; -1: it is missing */
    int64_t origin[RS_MAX_NDIM];  /* a target: where it lies in its source */
    uint64_t stamp;               /* of an array that was opened: changes when a block file is written */
    uint64_t fingerprint;         /* of the values, as the manifest says; 0: it does not */
    rs_chain chain;               /* how the elements of a block become stored bytes; none: as they are */
    char *fill;                   /* owned; the element that missing blocks are full of; NULL: none may be missing */
    rs_cast cast;        /* a target: how values become its own; until then, and in its layout, they are the source's */
    char *pad;           /* owned; with a cast, the source's element that is put outside the array; else NULL */
    char *wished_codec;  /* owned; a target: as it was asked for; NULL: as the source */
    char wished_order;   /* the same; 0: as the source */
    bool overwrite;      /* a target: replace what is there */
    bool write_empty;    /* a target: also blocks that are full of it */
    bool whole;          /* a target that is handed over: in whole blocks, encoded or not */
    bool wished_format;  /* a target: the format was asked for by name */
    int64_t most_stored; /* a source that is encoded: bytes of its largest stored block */
    int64_t shard[RS_MAX_NDIM];  /* blocks in a file along each axis, when a file holds several; else 0 */
    struct rs_zarr *zarr;        /* owned; NULL: not Zarr */
    struct rs_hdf5 *hdf5;        /* owned; NULL: not a dataset of an HDF5 file */
    struct resplit_array *files; /* owned; the grid of files, when blocks are parts of them; else NULL */
    int64_t stride;         /* blocks that are not encoded, several in a file: bytes from one to the next; else 0 */
    struct rs_nifti *nifti; /* owned; the header of the whole image that it is, or is a part of; NULL: not NIfTI */
    struct rs_minc *minc;   /* owned; what is known of such an image; NULL: not MINC */
    struct rs_space *space; /* owned; where elements are, as Zarr metadata say; of a target: of its whole source, along
                                   the target's axes; NULL: nobody knows */
    int turn[RS_MAX_NDIM];  /* of a target that is turned: of each axis, which one of the source's it is */
    const struct resplit_array *of; /* of a source that is seen with its axes turned: the array itself; else NULL */
    const char *suffix;             /* of new blocks; NULL: the first of the format */
    rs_text notes;                  /* what is not kept, for the public view */
    rs_text words;                  /* what its header says, for the same */
    char codec[200];                /* the chain in words, for info */
    resplit_info info;              /* the public view of all this */
};

resplit_status rs_array_open(const char *path, const resplit_spec *spec, resplit_array **out, resplit_error *err);
resplit_status rs_array_describe(const resplit_spec *spec, resplit_array **out, resplit_error *err);
resplit_status rs_array_create(const char *path, const resplit_array *source, const resplit_target *target,
                               resplit_array **out, resplit_error *err);
resplit_status rs_array_wrap(const void *memory, const int64_t *strides, const resplit_spec *spec, resplit_array **out,
                             resplit_error *err);
void rs_array_close(resplit_array *array);

/* Has it elements, in files or in memory, or is it only described? */
static inline bool rs_array_is_there(const resplit_array *array)
{
    return array->path != NULL || array->memory != NULL;
}
/*
 * The source of a target, its axes in the order of the target's. A view borrows everything, and is only read from; the
 * source itself where axes are not turned.
 */
const resplit_array *rs_array_turned(const resplit_array *source, const resplit_array *target, resplit_array *view);

/* An array with its axes in the order in which another one lists those of the same names, as far as both know names:
   itself, or a view. */
resplit_status rs_array_align(const resplit_array *a, const resplit_array *b, resplit_array *view,
                              const resplit_array **out, resplit_error *err);

/* Name, inside the folder, of the file that a block is in; "" for an array that is one file. `index` counts blocks of
   the whole array. */
resplit_status rs_array_block_name(const resplit_array *array, const int64_t *index, char name[RS_NAME_MAX],
                                   resplit_error *err);

/* Which file that is, in the grid of files. */
void rs_array_file_index(const resplit_array *array, const int64_t *index, int64_t *file);

/* The number of that file: of the block, where each has its own. */
int64_t rs_array_file_number(const resplit_array *array, const int64_t *index);

int64_t rs_array_file_count(const resplit_array *array);
int64_t rs_array_files_along(const resplit_array *array, int d);

/* The blocks that are in the same file as a block, of an array that is in files of HDF5: from `lo` to before `hi`. */
void rs_array_file_range(const resplit_array *array, const int64_t *index, int64_t *lo, int64_t *hi);

/* Files beside that of the blocks themselves: headers that have files of their own. */
int64_t rs_array_head_count(const resplit_array *array);

/* Of an array that is one file: appends the path of the file that has its header; nothing: that file itself. */
resplit_status rs_array_head_path(const resplit_array *array, rs_text *out, resplit_error *err);

/* Where the stored bytes of an encoded block are in its file, which is open and has `size` bytes. */
typedef struct rs_place {
    bool missing; /* it is full of array->fill */
    int64_t offset, bytes;
    uint32_t skip;      /* bit i: stage i of the chain was left out */
    const char *memory; /* the bytes are here; NULL: in the file */
    bool fetched;       /* they are not for us to decode: rs_array_fetch does both */
} rs_place;
resplit_status rs_array_locate(const resplit_array *array, const int64_t *index, int fd, int64_t size, const char *path,
                               rs_place *out, resplit_error *err);

/* All elements of such a block, as long as it is stored. */
resplit_status rs_array_fetch(const resplit_array *array, const int64_t *index, char *out, resplit_error *err);

/* Staging for stored bytes that are read or written directly: whole sectors around them, wherever they begin. */
static inline int64_t rs_stored_room(int64_t bytes)
{
    return (bytes + 4095) / 4096 * 4096 + 2 * 4096;
}

/* For their elements, of which decoded ones may begin anywhere in a sector: so they are written from there. */
static inline int64_t rs_elements_room(int64_t bytes, bool encode)
{
    return (bytes + 4095) / 4096 * 4096 + (encode ? 0 : 4096);
}

/* Why blocks cannot be decoded; NULL: they can. */
const resplit_error *rs_array_opaque(const resplit_array *array);

/* Blocks of two arrays on the same grid mean the same, byte for byte as they are stored. */
bool rs_array_is_verbatim(const resplit_array *a, const resplit_array *b);

/* Two arrays that cannot be decoded: do their metadata say the same of elements, codecs and what is missing? */
bool rs_array_is_coded_alike(const resplit_array *a, const resplit_array *b);

/* Metadata of a folder, but for its manifest: calls add(name, text) for every file of it; also for a header
   beside one file. */
typedef resplit_status rs_add_file(const char *name, const rs_text *text, void *payload, resplit_error *err);
resplit_status rs_array_metadata(const resplit_array *array, rs_add_file *add, void *payload, resplit_error *err);

/* Appends the attributes of an array as a JSON object; {}: it has none, or its format has none. */
resplit_status rs_array_attributes(const resplit_array *array, rs_text *out, resplit_error *err);

/* ---- Nodes: Zarr arrays, and groups of nodes ---- */

static inline bool rs_array_is_node(const resplit_array *array)
{
    return array->zarr != NULL;
}

typedef enum rs_node { RS_NODE_NONE, RS_NODE_ARRAY, RS_NODE_GROUP } rs_node;

/* What a folder is. A group needs no metadata of its own where the path says Zarr: then it is one when a
   node is below. */
rs_node rs_node_at(const char *path);

/* "a.zarr" and "a.zarr/b/c" */
bool rs_node_is_named(const char *path);

/* The version of the Zarr group that a path is in; 0: none. */
int rs_node_version_above(const char *path);

/* Is there nothing in a node's folder but the node and those below it? RESPLIT_EEXISTS names something else. */
resplit_status rs_node_check_own(const char *path, resplit_error *err);

/* Removes what the groups above `path` hold as copies of metadata below them. */
resplit_status rs_node_forget_copies(const char *path, resplit_error *err);

/* ---- Shards: files that hold several encoded blocks, and an index of them ---- */

bool rs_array_is_sharded(const resplit_array *array);

/* Whether a file that is not there stands for blocks that are full of the fill value. */
static inline bool rs_array_may_lack_files(const resplit_array *array)
{
    return array->fill != NULL && array->hdf5 == NULL;
}

/* Blocks in a file, and the position of a block among those of its file, in C order. */
int64_t rs_array_shard_blocks(const resplit_array *array);
int64_t rs_array_shard_position(const resplit_array *array, const int64_t *index);

/* Bytes before the first block of a new shard. */
int64_t rs_array_shard_begin(const resplit_array *array);

/* Appends the index of a shard: offset and bytes of each of its blocks; 0 bytes: missing. */
resplit_status rs_shard_index(const resplit_array *array, const uint64_t *entries, rs_text *out, resplit_error *err);

/* ---- Files that have metadata around their blocks: HDF5 ---- */

/* They get it when all blocks are written, instead of an index in each shard. */
static inline bool rs_array_is_sealed(const resplit_array *array)
{
    return array->hdf5 != NULL;
}

/* Where a block was written. */
typedef resplit_status rs_array_entry(void *payload, const int64_t *index, rs_place *out, resplit_error *err);

/* A target that only says where the data of its source are: nobody reads or writes a block. */
bool rs_array_is_virtual(const resplit_array *target);

/* Files from `lo` to before `hi` in their grid; NULL: all of them. */
typedef struct rs_file_range {
    const int64_t *lo, *hi;
} rs_file_range;

/*
 * Puts them around, when all blocks of these files are written, which are, or lie, at `path`. `entry` is asked for
 * encoded blocks only. Other arrays need nothing.
 */
resplit_status rs_array_seal(const resplit_array *array, const char *path, rs_file_range files, rs_array_entry *entry,
                             void *payload, resplit_error *err);

/* Appends what a target is, as far as neither its layout nor files of metadata tell. */
resplit_status rs_array_identity(const resplit_array *array, rs_text *out, resplit_error *err);

/* The most bytes that a block has before it is encoded, or after it is decoded: its elements, and a
   head before them. */
int64_t rs_array_coded_bytes(const resplit_array *array);

/* The array as if its blocks were plain, not encoded: borrows everything. Only NIfTI files can be seen so. */
void rs_array_plain(const resplit_array *array, resplit_array *out);
static inline const resplit_array *rs_array_seen(const resplit_array *array, bool as_plain, resplit_array *plain)
{
    if (as_plain) {
        rs_array_plain(array, plain);
    }
    return as_plain ? plain : array;
}
static inline bool rs_array_can_be_plain(const resplit_array *array)
{
    return array->encoded && array->nifti != NULL;
}

/*
 * Are blocks at the border of the array, which are stored as long as all others, cut into runs by it? To read or write
 * them whole is one access. *array becomes a view of it that has only whole blocks, if `whole`; it borrows everything.
 */
bool rs_array_can_be_whole(const resplit_array *array);
resplit_status rs_array_see_whole(const resplit_array **array, bool whole, bool as_target, resplit_array *view,
                                  resplit_error *err);

/* Where a block is in its file, when that is known before it is written: array->stride is not 0. */
int64_t rs_array_place_of(const resplit_array *array, const int64_t *index);

/* Bytes before the data of a block; of an encoded one, when it is decoded. */
int64_t rs_array_block_offset(const resplit_array *array, const int64_t *index);

/* Appends the header that a new block file starts with (nothing for raw): exactly rs_array_block_offset bytes. */
resplit_status rs_array_block_head(const resplit_array *array, const int64_t *index, rs_text *out, resplit_error *err);

/* The manifest of a folder: its file name, and its text. fingerprint: of the values, token: of the run; 0: none. */
#define RS_MANIFEST_NAME "resplit.json"
const char *rs_manifest_name(const resplit_array *array); /* in Zarr, which others read too, one that is hidden */
/* `array` NULL, in both: of a group of arrays */
resplit_status rs_manifest_write(const resplit_array *array, uint64_t fingerprint, uint64_t token, rs_text *out,
                                 resplit_error *err);

/* A folder of this name beside an array is not part of a hierarchy: something grows in it. */
#define RS_PART_SUFFIX ".resplit-part"
#define RS_DATA_NAME "data" /* in it */

/* Is this the path of an array in a group that is being made? */
static inline bool rs_is_in_part(const char *path)
{
    return strstr(path, RS_PART_SUFFIX "/" RS_DATA_NAME "/") != NULL;
}

/* The token, or the fingerprint, in the manifest of the folder `path`; 0: none. */
uint64_t rs_manifest_token(const char *path);
uint64_t rs_manifest_fingerprint(const char *path);

#endif
