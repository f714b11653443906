/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zarr.h - what the metadata of Zarr arrays and groups say, versions 2 and 3. Metadata only: no chunk is read or
 * written here.
 *
 *     v2   array/.zarray, .zattrs    group/.zgroup, .zattrs      consolidated: .zmetadata
 *     v3   array/zarr.json           group/zarr.json             consolidated: inside of the group's zarr.json
 *
 *     .zarray, zarr.json -- open --> rs_zarr -- derive --> rs_zarr of a target -- print --> .zarray, zarr.json
 *
 * What is not understood but may be carried (attributes, unknown keys, codecs nobody here knows) is carried byte for
 * byte.
 */
#ifndef RS_ZARR_H
#define RS_ZARR_H

#include "base/text.h"
#include "codec/codec.h"
#include "format/dtype.h"

enum {
    RS_MAX_LEVELS = 4,          /* of shards in shards */
    RS_ZARR_MAX_ITEM = 1 << 20, /* bytes of an element: its fill value is held in memory */
    RS_ZARR_MAX_BYTES = 1 << 26 /* of a metadata file */
};

/* One level of shards. Its parts are the shards of the next level, or the chunks. */
typedef struct rs_zarr_level {
    int64_t chunk[RS_MAX_NDIM]; /* extent of a shard of this level */
    int order[RS_MAX_NDIM];     /* axes from slowest to fastest in the index */
    bool index_first;           /* the index is at the beginning, not at the end */
    bool index_crc;             /* 4 bytes of crc32c follow the index */
    char index_order;           /* '<' or '>' */
    bool crc;                   /* 4 bytes of crc32c over the whole shard follow it */
} rs_zarr_level;

typedef struct rs_zarr {
    int version; /* 2 or 3 */
    int ndim;
    int64_t shape[RS_MAX_NDIM];
    int64_t chunk[RS_MAX_NDIM];   /* of the innermost chunks; the longest one where edges are given */
    int64_t *edges[RS_MAX_NDIM];  /* of a rectilinear grid: the lengths, owned, at least n_edges of them; else NULL */
    int64_t n_edges[RS_MAX_NDIM]; /* their sum is at least the shape */
    int n_levels;                 /* of shards, outermost first; 0: chunks are files */
    rs_zarr_level level[RS_MAX_LEVELS];
    rs_dtype dtype;         /* with the byte order of the chunks; V and a size for types that NumPy does not have */
    bool foreign;           /* a type that NumPy does not have: the bytes of an element are known, not what they mean */
    int order[RS_MAX_NDIM]; /* axes from slowest to fastest in a chunk: C, F and any transpose */
    char *fill;             /* itemsize bytes in that byte order, owned; zeros without a fill value */
    bool has_fill;          /* false: null in version 2 */
    char separator;         /* '.' or '/' */
    bool v2_keys;           /* "0.1", not "c/0/1" */
    char endian;            /* of the codec "bytes", for types that have no byte order of their own; 0: not given */
    rs_chain chain;         /* codecs of a chunk, without transpose and bytes */
    resplit_error opaque;   /* code != 0: why chunks cannot be decoded, so that they can only be copied as they are */
    bool guessed;           /* the separator is not in the metadata: names of chunks have a '/' */
    bool twin;              /* there is metadata of version 2 beside that of version 3 */
    /* As they were written, for what is carried over; n == 0: not there. */
    rs_text text;       /* all of .zarray or zarr.json */
    rs_text attributes; /* an object: .zattrs without white space around it, or the one in zarr.json */
    rs_text names;      /* dimension_names */
    rs_text raw_type;   /* data_type or dtype */
    rs_text raw_fill;
    rs_text raw_codecs; /* version 3: the list for innermost chunks; version 2: "filters": ..., "compressor": ... */
    rs_text extra;      /* other keys and their values, each after a comma and a line end */
} rs_zarr;

/* 2 or 3: an array is here (3, when both are). 0: none, or a group. What cannot be read counts: opening it says why. */
int rs_zarr_probe(const char *path);
int rs_zarr_is_group(const char *path);

/* RESPLIT_EFORMAT names file, key and value. Release `out` also after a failure. */
resplit_status rs_zarr_open(const char *path, rs_zarr *out, resplit_error *err);

/* The same from the text of .zarray or zarr.json alone; `path` is for messages. */
resplit_status rs_zarr_parse(int version, const char *text, size_t n, const char *path, rs_zarr *out,
                             resplit_error *err);
void rs_zarr_release(rs_zarr *zarr);

/* The file of a chunk (of an outermost shard, with levels), relative to the array's folder: "c/0/1", "0.1". */
resplit_status rs_zarr_key(const rs_zarr *zarr, const int64_t *index, char *name, size_t room, resplit_error *err);

/* Is this the name of such a file, or with `folder` of a folder on the way to one? */
bool rs_zarr_is_key(const rs_zarr *zarr, const char *name, bool folder);

/* What a target is to be. Zero-initialised but for shape and chunk: as the source is, but for shards. */
typedef struct rs_zarr_wish {
    int version;           /* 0: as the source, or 3 */
    const int64_t *shape;  /* NULL: as the source */
    const int64_t *chunk;  /* NULL: as the source */
    const int64_t *shard;  /* NULL: none, chunks are files */
    const rs_chain *chain; /* NULL: as the source's, or none */
    bool has_order;        /* else as the source, or C */
    int order[RS_MAX_NDIM];
    const char *dtype;      /* a NumPy type after a cast; NULL: as the source */
    const char *fill;       /* JSON; NULL: as the source, or 0 */
    const char *attributes; /* JSON object; NULL: as the source's, or none */
    const char *names;      /* JSON list; NULL: as the source's, or none */
    char separator;         /* 0: as the source's, or '/' in version 3 and '.' in version 2 */
} rs_zarr_wish;

/*
 * `source` NULL: not Zarr; then dtype and ndim say what the elements are, else they are not looked at.
 * RESPLIT_EUNSUPPORTED: the version cannot say that. Release `out` also after a failure.
 */
resplit_status rs_zarr_derive(const rs_zarr *source, const rs_dtype *dtype, int ndim, const rs_zarr_wish *wish,
                              rs_zarr *out, resplit_error *err);

/* Metadata files: add(name, text) for ".zarray", ".zattrs", ".zgroup" or "zarr.json". */
typedef resplit_status rs_zarr_file(const char *name, const rs_text *text, void *payload, resplit_error *err);
resplit_status rs_zarr_print(const rs_zarr *zarr, rs_zarr_file *add, void *payload, resplit_error *err);

/* A node by its path below the one asked for, "" for that one itself. Version 0: a group that has no metadata
   of its own. */
typedef resplit_status rs_zarr_visit(const char *name, bool is_array, int version, void *payload, resplit_error *err);

/* The nodes of a hierarchy, parents first, names in order. Links are not followed: one that leads to a node
   is an error. */
resplit_status rs_zarr_walk(const char *path, rs_zarr_visit *visit, void *payload, resplit_error *err);

/* The levels of an OME-Zarr multiscale image: multiscales[].datasets[].path in the attributes or in their "ome". */
resplit_status rs_zarr_multiscale(const char *path, rs_zarr_visit *visit, void *payload, resplit_error *err);

/* The group at `path` for a store of this version (0: as it is): attributes byte for byte, no consolidated metadata. */
resplit_status rs_zarr_group_print(const char *path, int version, rs_zarr_file *add, void *payload, resplit_error *err);

/* Its attributes: an object. */
resplit_status rs_zarr_group_attributes(const char *path, rs_text *out, resplit_error *err);

bool rs_zarr_has_consolidated(const char *path);

/* Writes the consolidated metadata of the group at `path`, from what is on disk. */
resplit_status rs_zarr_consolidate(const char *path, resplit_error *err);

/* Removes that of every group above an array, which need not be there yet. */
resplit_status rs_zarr_unconsolidate(const char *array_path, resplit_error *err);

#endif
