/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resplit.h - split, merge and resplit N-dimensional arrays that are larger than memory.
 *
 * An array is stored as a grid of blocks: one file, or a folder of files that each hold one
 * box of it. This library rewrites an array from one grid to another, inside a memory budget,
 * with few seeks, and tells what that will cost before anything is touched.
 *
 * Everything goes through three objects:
 *
 *     resplit_array   a grid of blocks somewhere: opened, or described, or about to be created
 *     resplit_plan    how to get from one array to another: a value, immutable, no I/O
 *     resplit_error   one code and one sentence, in the caller's storage
 *
 * A whole program:
 *
 *     resplit_error err;
 *     resplit_array *source = NULL, *target = NULL;
 *     resplit_plan *plan = NULL;
 *     resplit_chunks chunks[2] = {{.length = 64}, {.length = -1}};
 *
 *     if (resplit_array_open("in.npy", NULL, &source, &err) == RESPLIT_OK
 *         && resplit_array_create("out", source,
 *                &(resplit_target){.ndim = 2, .chunks = chunks}, &target, &err) == RESPLIT_OK
 *         && resplit_plan_make(source, target,
 *                &(resplit_plan_options){.memory = 64 << 20}, &plan, &err) == RESPLIT_OK
 *         && resplit_run(plan, source, target, NULL, NULL, &err) == RESPLIT_OK)
 *         puts("done");
 *     else
 *         fprintf(stderr, "%s\n", err.message);
 *     resplit_plan_free(plan);
 *     resplit_array_close(target);
 *     resplit_array_close(source);
 *
 * Rules that hold everywhere:
 *
 *   errors     Every function that can fail returns a resplit_status and takes a resplit_error
 *              as its last argument; NULL is accepted there. On failure, outputs are NULL or zero.
 *   ownership  `const T *` is borrowed until the call returns; `T **out` belongs to the caller, who
 *              ends it with the matching close or free; what a getter returns dies with its parent.
 *   threads    Two threads may use two different objects. A plan and an array that nobody closes
 *              may be read by several threads at once.
 *   silence    The library prints nothing, never exits, keeps no global state and reads no
 *              environment variable (but for RESPLIT_BOOT_ID, with which tests pretend another boot).
 *   processes  HDF5 and MINC files are looked at, and made complete, by child processes that are forked and end before
 *              the call does; one that reads what only libhdf5 can read (a virtual dataset) lives as long as its array.
 *              They call no handler of the program's for signals that end them, and nothing at exit. A program that
 *              waits for any child (wait, waitpid of -1) may see theirs; SIGCHLD may be ignored. A program that may not
 *              fork, or that holds locks of libhdf5 in other threads at the time, cannot open such files.
 *   options    Option structs are zero-initialised by the caller; zero means the default.
 *   axes       Axis 0 is the slowest in C order. Extents, offsets and bytes are int64_t.
 */
#ifndef RESPLIT_H
#define RESPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define RESPLIT_API __attribute__((visibility("default")))
#define RESPLIT_MUST_CHECK __attribute__((warn_unused_result))
#else
#define RESPLIT_API
#define RESPLIT_MUST_CHECK
#endif

/* ---- Version ------------------------------------------------------------------------------ */

#define RESPLIT_VERSION_MAJOR 0
#define RESPLIT_VERSION_MINOR 1
#define RESPLIT_VERSION_PATCH 0

/* "0.1.0": the version of the library that runs, which may differ from the header's. */
RESPLIT_API const char *resplit_version(void);

/* ---- Limits -------------------------------------------------------------------------------- */

#define RESPLIT_MAX_NDIM 16

/* ---- Errors -------------------------------------------------------------------------------- */

typedef enum resplit_status {
    RESPLIT_OK = 0,
    RESPLIT_EINVAL,       /* an argument is wrong                                              */
    RESPLIT_ENOMEM,       /* the system has no memory left                                     */
    RESPLIT_EBUDGET,      /* no plan fits the budget; error.needed_bytes would do              */
    RESPLIT_EFORMAT,      /* what is on disk is not what it should be                          */
    RESPLIT_EUNSUPPORTED, /* valid, but not something this build can handle                    */
    RESPLIT_EIO,          /* the system refused; error.sys_errno says why                      */
    RESPLIT_EEXISTS,      /* the target is there already, or another run is at work on it      */
    RESPLIT_ECANCELED,    /* the progress callback asked to stop                               */
    RESPLIT_EINTERNAL     /* a bug in this library                                             */
} resplit_status;

typedef struct resplit_error {
    resplit_status code;  /* what the function also returned                                  */
    int sys_errno;        /* errno of the failing call, else 0                                */
    int64_t needed_bytes; /* with RESPLIT_EBUDGET: the least memory that would do, else 0     */
    bool resumable;       /* a run failed, and what it did is kept: see resplit_run_options   */
    char message[1000];   /* one sentence, lower case, no full stop                           */
} resplit_error;

/* A short name for a status, as "EBUDGET". Never NULL. */
RESPLIT_API const char *resplit_status_name(resplit_status status);

/* ---- Arrays -------------------------------------------------------------------------------- */

/*
 * How one axis is cut. Evenly: `length`, the last block may be shorter; -1 is the whole axis. Unevenly:
 * `count` lengths that add up to the extent of the axis (then `length` is ignored).
 */
typedef struct resplit_chunks {
    int64_t length;
    int64_t count;
    const int64_t *lengths;
} resplit_chunks;

/*
 * What an array is, where the files do not say it themselves. Everything is optional; what a file says about
 * itself must agree with what is given here.
 *
 *   format   a name that resplit_format_name has: "raw", "npy", "zarr3", ...; NULL: by content and name
 *   dtype    NumPy's words: "uint16", "float32", "<f4", ">i2", "|V12", "complex128"; raw needs it
 *   order    'C' (last axis fastest) or 'F' (first axis fastest); 0: C, or what the file says
 *   ndim     length of `shape` and of `chunks`; 0 when neither is given
 *   shape    extents of the whole array; raw needs it
 *   chunks   how the array is cut into files; a folder of raw files named by index needs it
 *   pattern  names of the files in a folder: "brain_{2}_{1}_{0}.raw". {0} is the block index along axis 0,
 *            {0.start} its first element along axis 0, {offset} the position of its first element in the
 *            flattened (C order) array; {0:03} pads with zeros to three digits
 *   skip     bytes before the data of each raw file
 */
typedef struct resplit_spec {
    const char *format;
    const char *dtype;
    char order;
    int ndim;
    const int64_t *shape;
    const resplit_chunks *chunks;
    const char *pattern;
    int64_t skip;
} resplit_spec;

/*
 * What a target should be. `ndim` is the length of the lists given and must equal the source's when any is.
 *
 *   format     "raw", "npy", "zarr2", "zarr3", "nifti1", "nifti2", or "nifti" for either, "minc2"; NULL: by the suffix
 *              of the path (.zarr: the version of the group it is in, or the source's, or 3), else as the source
 *   chunks     how the target is cut; NULL: one block (a merge), or, of a Zarr array, as the source
 *   roi_start, the box of the source that becomes the target; NULL: all of it. Start is included,
 *   roi_stop   stop is not; both are within the source's extents
 *   pattern    names of the files in a folder, as in resplit_spec; NULL: "{0}_{1}_{2}" and the suffix
 *   folder     true: a folder even when there is only one block. A path that ends in ".npy", ".raw", ".bin", ".nii",
 *              ".nii.gz", ".hdr" or ".img" is one file, and needs chunks that make one block; any other path is a
 *              folder
 *   overwrite  true: an array that is already there is replaced, when the new one is complete
 *   codec      of a Zarr array: "zstd:3", "blosc:lz4:5:bitshuffle", "shuffle+zlib:6", "none"; of HDF5 and MINC what
 *              they have filters for; of NIfTI files "gzip:6" or "none"; NULL: as the source, none for a folder of HDF5
 *              or MINC files
 *   shards     of a Zarr array of version 3, and of a folder of HDF5 or MINC files: lengths of a file, multiples of its
 *              chunks; -1 is the whole axis; NULL: none, or as the source where chunks is NULL too. Without it, a file
 *              of such a folder is one chunk, if there is a codec, else contiguous
 *   order      'C' or 'F', of the elements in a block; 0: as the source
 *   dtype      that values are cast to, as NumPy's astype does; NULL: as the source. What an integer type does not hold
 *              becomes the nearest that it does, NaN 0; resplit_result.losses says how many values changed. Booleans,
 *              integers, reals of up to 8 bytes, all of these to complex; any type to its other byte order
 *   write_empty  also blocks of a Zarr array that hold nothing but its fill value; false: they are left out
 *   ome        an OME-Zarr image: a group, with the array as its only level, "0"; so is one whose path ends in
 *              ".ome.zarr". Its axes are listed as t, c, z, y, x, those of a NIfTI file made from Zarr or MINC as x, y,
 *              z, t, c, and those of a MINC file as t, z, y, x, c: resplit_info.axes tells from which of the source.
 *              chunks and shards count the target's axes, roi_start and roi_stop the source's
 *   is_virtual  of one HDF5 file: a virtual dataset over the files of the source, which are HDF5, too, and stay where
 *              they are. Nothing is copied, so chunks, codec and dtype cannot be given
 *   whole      of an HDF5 file, for resplit_deliver alone: chunks are handed over whole, also those that are not
 *              encoded
 */
typedef struct resplit_target {
    const char *format;
    int ndim;
    const resplit_chunks *chunks;
    const int64_t *roi_start;
    const int64_t *roi_stop;
    const char *pattern;
    bool folder;
    bool overwrite;
    const char *codec;
    const int64_t *shards;
    char order;
    const char *dtype;
    bool write_empty;
    bool ome;
    bool is_virtual;
    bool whole;
} resplit_target;

/* What is known about an array; see resplit_array_info. */
typedef struct resplit_info {
    const char *path;    /* NULL when only described, or in memory                             */
    const char *format;  /* see resplit_format_name                                            */
    const char *dtype;   /* as in a .npy header: "<u2"; a list of fields for records           */
    int64_t itemsize;    /* bytes of one element                                               */
    char order;          /* 'C' or 'F'; 0: of a Zarr array, any other                          */
    bool folder;         /* a folder of blocks rather than one file                            */
    const char *pattern; /* names in the folder; NULL for one file                            */
    int ndim;
    int64_t shape[RESPLIT_MAX_NDIM];
    int64_t origin[RESPLIT_MAX_NDIM];        /* of a target: where it lies in its source       */
    int axes[RESPLIT_MAX_NDIM];              /* of a target: which axis of its source each is  */
    resplit_chunks chunks[RESPLIT_MAX_NDIM]; /* even: length, count 0; uneven: count, lengths  */
    int64_t n_blocks;
    int64_t n_elements;
    int64_t bytes;         /* of the array data                                                 */
    const char *codec;     /* of encoded blocks: "zstd:3"; NULL: stored as they are             */
    const int64_t *shards; /* lengths of a file that holds several blocks; NULL: it does not  */
    int64_t n_stored;      /* of a Zarr array that was opened: blocks that are there           */
    int64_t stored_bytes;  /* and what they have on disk                                        */
    uint64_t fingerprint;  /* as it was stored with the array; 0: it was not                    */
    const char *dataset;   /* of an HDF5 file: "/data"; NULL: not HDF5                          */
    const char *header;    /* what an image says of places and values, in words; else NULL      */
    const char *notes;     /* what is not kept, or was chosen, one sentence a line; NULL: nothing */
} resplit_info;

/* The formats by number, from 0: "npy", "raw", "zarr2", "zarr3", "hdf5", "nifti", "nifti1", "nifti2", "minc2"; and the
   codecs of Zarr arrays, "zstd"; NULL past the last. */
RESPLIT_API const char *resplit_format_name(int i);
RESPLIT_API const char *resplit_codec_name(int i);

typedef struct resplit_array resplit_array;

/*
 * Opens the array at `path`: a raw, .npy or NIfTI file, or a folder of them, a Zarr array, or a dataset of an HDF5
 * file, as "x.h5:/data" or, where there is only one, "x.h5". Reads headers, sizes and names, never data. Every block is
 * checked: a missing, truncated, oversized, duplicate or overlapping one is RESPLIT_EFORMAT. `spec` may be NULL.
 */
RESPLIT_API RESPLIT_MUST_CHECK resplit_status resplit_array_open(const char *path, const resplit_spec *spec,
                                                                 resplit_array **out, resplit_error *err);

/* An array that exists only as a description, for plans without files. Shape and dtype are needed. */
RESPLIT_API RESPLIT_MUST_CHECK resplit_status resplit_array_describe(const resplit_spec *spec, resplit_array **out,
                                                                     resplit_error *err);

/*
 * The array that resplit_run will make at `path` from `source`. Touches nothing. `path` may be NULL when the
 * target is only planned for. Keeps no pointer to `source`.
 */
RESPLIT_API RESPLIT_MUST_CHECK resplit_status resplit_array_create(const char *path, const resplit_array *source,
                                                                   const resplit_target *target, resplit_array **out,
                                                                   resplit_error *err);

/* Lets a target replace the array that is at its path, when the new one is complete: for targets
   that resplit_plan_load made. */
RESPLIT_API void resplit_array_overwrite(resplit_array *target);

/*
 * An array in the caller's memory, as a source or to compare with: of `spec`, shape, dtype and order count. `strides`,
 * in bytes, one for each axis, of any sign, say where elements are from `memory` on, which is the first; NULL: one
 * after the other. Borrows the memory, and reads it while a call uses the array; nobody may change it meanwhile. Its
 * elements are no seeks and no bytes read. A run from memory cannot be resumed.
 */
RESPLIT_API RESPLIT_MUST_CHECK resplit_status resplit_array_wrap(const void *memory, const int64_t *strides,
                                                                 const resplit_spec *spec, resplit_array **out,
                                                                 resplit_error *err);

/* Borrowed; lives as long as the array. */
RESPLIT_API const resplit_info *resplit_array_info(const resplit_array *array);

/*
 * The attributes of a Zarr array or of a dataset of an HDF5 file, as the text of a JSON object, in which NaN and
 * Infinity may occur as numbers; "{}" for other formats. Of HDF5, texts, numbers and truth values are told, others are
 * left out. The caller frees *out with free().
 */
RESPLIT_API RESPLIT_MUST_CHECK resplit_status resplit_array_attributes(const resplit_array *array, char **out,
                                                                       resplit_error *err);

RESPLIT_API void resplit_array_close(resplit_array *array);

/* ---- Devices ------------------------------------------------------------------------------- */

/* What a disk can do, as far as predicted seconds depend on it. */
typedef struct resplit_device {
    char name[32];
    double latency;         /* seconds of one seek                                             */
    double depth;           /* seeks that can be under way at once                             */
    double read_bandwidth;  /* bytes per second                                                */
    double write_bandwidth; /* bytes per second                                                */
    double both_bandwidth;  /* bytes per second read and written together, at the same time    */
} resplit_device;

/* The known devices by number, from 0: "hdd", "ssd", "nvme", "nfs"; NULL past the last. */
RESPLIT_API const char *resplit_device_name(int i);

/* A known device. RESPLIT_EINVAL for an unknown name. */
RESPLIT_API RESPLIT_MUST_CHECK resplit_status resplit_device_find(const char *name, resplit_device *out,
                                                                  resplit_error *err);

/* Measures the file system that `folder` lies on, with a temporary file there: takes a second or two. */
RESPLIT_API RESPLIT_MUST_CHECK resplit_status resplit_device_measure(const char *folder, resplit_device *out,
                                                                     resplit_error *err);

/* What resplit_disk_measure found. Writing includes the sync. */
typedef struct resplit_disk {
    bool direct;           /* the page cache was passed by; else it was emptied before each phase */
    int64_t bytes;         /* of a file                                                        */
    double write_seconds;  /* to write one file                                                */
    double read_seconds;   /* to read it                                                       */
    double both_seconds;   /* to read it and write another one of the same size, both at once  */
    double random_latency; /* seconds of one read of 4 KiB at random, one at a time            */
    double random_rate;    /* such reads per second, with as many under way at once as is best */
    int random_depth;      /* and how many that are                                            */
} resplit_disk;

/*
 * Measures the disk that `folder` lies on with two temporary files there, each of `bytes`, rounded up to whole MiB; 0:
 * 1 GiB. Takes as long as it takes to write them both and to read one twice, and some five seconds. The files have no
 * names: nothing is left, even by a process that is killed. Uses less than 20 MiB.
 */
RESPLIT_API RESPLIT_MUST_CHECK resplit_status resplit_disk_measure(const char *folder, int64_t bytes, resplit_disk *out,
                                                                   resplit_error *err);

/* ---- Plans --------------------------------------------------------------------------------- */

/*
 * What a plan costs. A seek is one contiguous run of bytes that is read or written in one block: a block accessed
 * whole costs one, a box inside a block as many as it has runs, each return to a block costs again.
 */
typedef struct resplit_cost {
    int64_t read_seeks;
    int64_t write_seeks;
    int64_t bytes_read;
    int64_t bytes_written;
    int64_t held_bytes; /* array data held at most: incomplete targets and the buffer just read */
    int64_t peak_bytes; /* everything allocated at most: data, staging, tables                  */
    int64_t temp_bytes; /* written to temporary files                                          */
} resplit_cost;

/*
 *   strategy  NULL or "auto", or one of resplit_strategy_name
 *   memory    the budget in bytes
 *   minimize  what "auto" looks for among the plans that fit: "seconds" (NULL), "seeks", "bytes" or "memory"
 *   device    what seconds are predicted for; NULL: "ssd". Copied
 *   temp      folder for a temporary file, should the plan need one; NULL: beside the target. Copied
 *   part,     of the `n_parts` partitions of the target, plan this one, from 1: see "Partitions". part 0: all of them,
 *             each to be
 *   n_parts   planned by resplit_plan_part; both 0: the whole, at once
 */
typedef struct resplit_plan_options {
    const char *strategy;
    int64_t memory;
    const char *minimize;
    const resplit_device *device;
    const char *temp;
    int64_t part;
    int64_t n_parts;
} resplit_plan_options;

/* What is in a plan; see resplit_plan_info. */
typedef struct resplit_plan_summary {
    const char *strategy;
    int64_t memory; /* the budget it was made for                                              */
    int ndim;
    int64_t shape[RESPLIT_MAX_NDIM];         /* of the box that is moved                     */
    int64_t start[RESPLIT_MAX_NDIM];         /* where it lies in the target: of a partition  */
    int64_t part, n_parts;                   /* as in the options                            */
    resplit_chunks buffer[RESPLIT_MAX_NDIM]; /* even: length, count 0; uneven: lengths */
    int64_t n_buffers;
    int loop_order[RESPLIT_MAX_NDIM]; /* axes, outermost loop first                            */
    bool kept[RESPLIT_MAX_NDIM];      /* target blocks are held until complete along this axis */
    resplit_cost predicted;
    double seconds;     /* predicted, on the device                                            */
    resplit_cost floor; /* no plan can do with less: one seek per block, every byte once       */
    double floor_seconds;
    resplit_device device;
    uint64_t problem_hash;
} resplit_plan_summary;

typedef struct resplit_plan resplit_plan;

/*
 * Finds a plan that moves `source` into `target`. Pure: no I/O, and the same problem gives the same plan.
 * RESPLIT_EBUDGET when nothing fits `memory`: err->needed_bytes would, and one byte less would not.
 * RESPLIT_EUNSUPPORTED when the strategy asked for does not apply to this problem.
 */
RESPLIT_API RESPLIT_MUST_CHECK resplit_status resplit_plan_make(const resplit_array *source,
                                                                const resplit_array *target,
                                                                const resplit_plan_options *options, resplit_plan **out,
                                                                resplit_error *err);

/* Borrowed; lives as long as the plan. */
RESPLIT_API const resplit_plan_summary *resplit_plan_info(const resplit_plan *plan);

RESPLIT_API void resplit_plan_free(resplit_plan *plan);

/*
 * Writes a plan for two arrays with files to the file `path`, to be run later; docs/plan-file.md has the fields. Paths
 * below the folder of the file are written relative to it, others absolute. An earlier plan file is replaced, any other
 * file is RESPLIT_EEXISTS.
 */
RESPLIT_API RESPLIT_MUST_CHECK resplit_status resplit_plan_save(const resplit_plan *plan, const resplit_array *source,
                                                                const resplit_array *target, const char *path,
                                                                resplit_error *err);

/*
 * Reads a plan file, which need not be trusted: opens the source, creates the target, proves that the plan moves every
 * element once and predicts its cost anew. RESPLIT_EFORMAT when the file is not a sound plan or does not cost what it
 * says, RESPLIT_EINVAL when the arrays are not those it was made for. The target does not overwrite, whatever it did
 * when the plan was saved, unless resplit_array_overwrite is called. The caller ends all three.
 */
RESPLIT_API RESPLIT_MUST_CHECK resplit_status resplit_plan_load(const char *path, resplit_array **source,
                                                                resplit_array **target, resplit_plan **out,
                                                                resplit_error *err);

/* Draws a plan as an SVG page, into the file `path`. An earlier picture is replaced, any other
   file is RESPLIT_EEXISTS. */
RESPLIT_API RESPLIT_MUST_CHECK resplit_status resplit_plan_picture(const resplit_plan *plan, const char *path,
                                                                   resplit_error *err);

/* The strategies by number, from 0; NULL past the last. */
RESPLIT_API const char *resplit_strategy_name(int i);

/* ---- Running ------------------------------------------------------------------------------- */

/*
 *   progress  called from time to time, by the thread that called resplit_run, with the bytes written so far, the bytes
 *             to write and the memory in use; a return other than 0 cancels the run
 *   io        "uring", "threads", or "auto" (NULL): io_uring where it is there and allowed
 *   direct    "on", "off", or "auto" (NULL): long transfers pass by the page cache, unless they are in it already
 *   sync      when data is brought to disk: "end" (NULL) before the target gets its name, and every half minute; "each"
 *             time that progress is noted; "none" leaves it to the system
 *   threads   workers that read, copy and write, at most; 0: by the machine. The plan's budget may have room for fewer
 *   resume    go on with what a run of the same plan left that failed or was killed; without such a run, start anew
 */
typedef struct resplit_run_options {
    int (*progress)(int64_t done_bytes, int64_t total_bytes, int64_t memory_in_use, void *payload);
    void *payload;
    const char *io;
    const char *direct;
    const char *sync;
    int threads;
    bool resume;
} resplit_run_options;

/* What a cast did to values. Each that came out as another one counts once; a NaN that stays one did not. */
typedef struct resplit_losses {
    int64_t n_values;       /* that were cast; 0: there was no cast                             */
    int64_t n_out_of_range; /* integers became the nearest that the type has, reals infinite     */
    int64_t n_not_a_number; /* NaN became 0, or true                                            */
    int64_t n_rounded;      /* lost a fraction, or digits                                       */
} resplit_losses;

/* What a run did. */
typedef struct resplit_result {
    resplit_cost cost;      /* counted; what an earlier run did is not in it                     */
    double seconds;         /* from the call to its end                                          */
    int64_t stored_read;    /* of encoded blocks, bytes as they are on disk; cost counts elements */
    int64_t stored_written; /* the same, and of all blocks with a cast; cost counts the source's type */
    uint64_t fingerprint; /* of the values: see resplit_fingerprint; 0: not known, as after a cast, or of a partition */
    bool resumed;         /* went on with what an earlier run had done                         */
    int threads;          /* workers                                                           */
    const char *io;       /* "uring" or "threads"; NULL: there was nothing to do               */
    resplit_losses losses; /* of a cast; what an earlier run did is not in it                  */
} resplit_result;

/*
 * Runs a plan that was made for these two arrays. The target appears at its path only when it is complete; an array
 * that was to be overwritten is untouched until then. A run that fails or is killed leaves nothing there but a folder
 * PATH.resplit-part, if anything was done: err->resumable. `result` (may be NULL) is filled whether or not the run
 * succeeded. `options` may be NULL.
 */
RESPLIT_API RESPLIT_MUST_CHECK resplit_status resplit_run(const resplit_plan *plan, const resplit_array *source,
                                                          const resplit_array *target,
                                                          const resplit_run_options *options, resplit_result *result,
                                                          resplit_error *err);

/*
 * A piece of a target that is handed to the caller instead of being written.
 *
 *   encoded  a whole block, as its file would have it, where blocks are encoded; its box may reach out of the array.
 *            Else elements, in the target's order, of a block or of a part of it
 */
typedef struct resplit_piece {
    int64_t start[RESPLIT_MAX_NDIM]; /* of its box in the target */
    int64_t shape[RESPLIT_MAX_NDIM];
    const void *bytes; /* until the function returns */
    int64_t n_bytes;
    bool encoded;
} resplit_piece;

/* Called by workers of the run, one at a time; a return other than 0 stops it. */
typedef int resplit_take(const resplit_piece *piece, void *payload);

/*
 * Runs a plan, but hands what it would write to `take`: for targets that only somebody else can write to. Every element
 * comes exactly once, in the order of the plan's writes, more or less. Nothing is made at the target's path; temporary
 * data goes to the plan's folder, or beside that path. Cannot be resumed. RESPLIT_EUNSUPPORTED, before anything was
 * handed over: shards, virtual targets, casts, images that are compressed as a whole, and blocks that would be copied
 * as they are stored.
 */
RESPLIT_API RESPLIT_MUST_CHECK resplit_status resplit_deliver(const resplit_plan *plan, const resplit_array *source,
                                                              const resplit_array *target, resplit_take *take,
                                                              void *payload, const resplit_run_options *options,
                                                              resplit_result *result, resplit_error *err);

/*
 * The plan of the run that left a part of `target`, to be run again with options->resume. *out is NULL, without an
 * error, when there is none. RESPLIT_EINVAL when it was for other arrays.
 */
RESPLIT_API RESPLIT_MUST_CHECK resplit_status resplit_plan_resume(const resplit_array *source,
                                                                  const resplit_array *target, resplit_plan **out,
                                                                  resplit_error *err);

/* ---- Partitions ---------------------------------------------------------------------------- */

/*
 * A target can be made in partitions, by processes that know nothing of each other, on one machine or on many that see
 * the same files:
 *
 *     each of them, with the same arrays and n_parts, for one or more parts from 1 to n_parts:
 *         resplit_plan_make with part and n_parts, resplit_run
 *     when all are done, one of them:
 *         resplit_finish
 *
 * A partition is a box of the target that has files to itself, so nobody waits for anybody. All share the folder
 * PATH.resplit-part; who comes first makes it. A partition that was killed goes on with resplit_plan_resume_part and
 * options->resume, on any machine; one that is complete is not made again. Each has the memory that it is planned for.
 * Boxes follow from the arrays and n_parts alone.
 */
typedef struct resplit_partition {
    int64_t part, n_parts;
    int64_t start[RESPLIT_MAX_NDIM]; /* of its box in the target                               */
    int64_t stop[RESPLIT_MAX_NDIM];
    int64_t n_blocks;        /* of the target; 0: it is empty, there are fewer files than partitions */
    int64_t n_source_blocks; /* that it reads of                                               */
    int64_t bytes;           /* of its elements                                                */
    int64_t bytes_read;      /* at least: all of a source block that can only be read whole    */
    bool done;               /* there are files, and it is complete                           */
} resplit_partition;

/* RESPLIT_EUNSUPPORTED: this target can only be made as a whole. */
RESPLIT_API RESPLIT_MUST_CHECK resplit_status resplit_partition_info(const resplit_array *source,
                                                                     const resplit_array *target, int64_t part,
                                                                     int64_t n_parts, resplit_partition *out,
                                                                     resplit_error *err);

/* What all partitions of a target come to. */
typedef struct resplit_parts {
    int64_t n_parts;
    int64_t n_empty;        /* there is nothing for them to do                                 */
    int64_t bytes;          /* of all elements                                                 */
    int64_t bytes_twice;    /* of the source, that are read by a second, third, .. partition   */
    int64_t largest;        /* bytes of the largest partition                                  */
    int64_t smallest;       /* and of the smallest that is not empty                           */
    resplit_cost predicted; /* of all together; held_bytes and peak_bytes are those of the one that needs most */
    double seconds;         /* of the slowest one, when it has the device for itself            */
} resplit_parts;

/* Plans every partition by these options, of which n_parts is given. Pure. */
RESPLIT_API RESPLIT_MUST_CHECK resplit_status resplit_parts_survey(const resplit_array *source,
                                                                   const resplit_array *target,
                                                                   const resplit_plan_options *options,
                                                                   resplit_parts *out, resplit_error *err);

/* The plan of one partition, by a plan of all: one that was made or loaded with part 0. */
RESPLIT_API RESPLIT_MUST_CHECK resplit_status resplit_plan_part(const resplit_plan *plan, const resplit_array *source,
                                                                const resplit_array *target, int64_t part,
                                                                resplit_plan **out, resplit_error *err);

/* As resplit_plan_resume, for one partition. */
RESPLIT_API RESPLIT_MUST_CHECK resplit_status resplit_plan_resume_part(const resplit_array *source,
                                                                       const resplit_array *target, int64_t part,
                                                                       int64_t n_parts, resplit_plan **out,
                                                                       resplit_error *err);

/* In how many partitions the array for `path` is being made, whether or not anybody is at work; 0: in none. */
RESPLIT_API RESPLIT_MUST_CHECK resplit_status resplit_parts_found(const char *path, int64_t *n_parts,
                                                                  resplit_error *err);

/* The plan of those partitions, and their arrays, as resplit_plan_load. */
RESPLIT_API RESPLIT_MUST_CHECK resplit_status resplit_parts_load(const char *path, resplit_array **source,
                                                                 resplit_array **target, resplit_plan **out,
                                                                 resplit_error *err);

/*
 * Publishes an array of which all partitions are complete; RESPLIT_EINVAL names those that are not. It can be killed
 * and called again at any time. n_parts 0: as many as there are. `options` may be NULL; of it, sync counts. `result`
 * (may be NULL) gets what the partitions did, each by its last run, and the fingerprint of the whole.
 */
RESPLIT_API RESPLIT_MUST_CHECK resplit_status resplit_finish(const resplit_array *source, const resplit_array *target,
                                                             int64_t n_parts, const resplit_run_options *options,
                                                             resplit_result *result, resplit_error *err);

/* ---- Groups -------------------------------------------------------------------------------- */

/*
 * A Zarr group and all that is below it: groups, and arrays, which are counted from 0 in the order of their names. A
 * whole group is made anew, around arrays that are cut anew, by
 *
 *     resplit_group_open(...), resplit_group_create(...)
 *     of every array i:    source: resplit_array_open at the source's place, target: resplit_array_create, overwriting, at
 *                          the new one's place, in its format; resplit_group_expect
 *     resplit_group_begin(...)
 *     of array i, from the number on that begin gave:    resplit_plan_make, resplit_run, resplit_group_done
 *     resplit_group_finish(...)
 *
 * Groups and attributes are kept byte for byte. Copies of metadata ("consolidated") are written anew where the source
 * had them.
 */
typedef struct resplit_group resplit_group;

/* Is this the folder of a Zarr group? */
RESPLIT_API bool resplit_is_group(const char *path);

/* Finds the arrays below `path`; does not open them. RESPLIT_EINVAL: it is no group. */
RESPLIT_API RESPLIT_MUST_CHECK resplit_status resplit_group_open(const char *path, resplit_group **out,
                                                                 resplit_error *err);

/*
 * The group that will be made at `path` from `source`. Touches nothing. `format` is "zarr2" or "zarr3"; NULL: that of
 * the group around `path`, else every node's own. `overwrite`: a group or array that is there is replaced, when the new
 * one is complete, and if there is nothing but Zarr in it. Keeps no pointer to `source`.
 */
RESPLIT_API RESPLIT_MUST_CHECK resplit_status resplit_group_create(const char *path, const resplit_group *source,
                                                                   const char *format, bool overwrite,
                                                                   resplit_group **out, resplit_error *err);

RESPLIT_API int64_t resplit_group_count(const resplit_group *group);

/* Of array i: its name below the group; the path where it is, or is to be made; "zarr2" or "zarr3". NULL
   past the last. */
RESPLIT_API const char *resplit_group_name(const resplit_group *group, int64_t i);
RESPLIT_API const char *resplit_group_place(const resplit_group *group, int64_t i);
RESPLIT_API const char *resplit_group_format(const resplit_group *group, int64_t i);

/* The attributes of the group, as those of an array. Of one that is to be made, its source's. */
RESPLIT_API RESPLIT_MUST_CHECK resplit_status resplit_group_attributes(const resplit_group *group, char **out,
                                                                       resplit_error *err);

/* Finds out which arrays are levels of the OME-Zarr multiscale image that the group is. RESPLIT_EINVAL: it is none. */
RESPLIT_API RESPLIT_MUST_CHECK resplit_status resplit_group_levels(resplit_group *group, resplit_error *err);
RESPLIT_API bool resplit_group_is_level(const resplit_group *group, int64_t i);

/* Tells of the next array of a new group what it will be made from; to be called for each, in their
   order, before begin. */
RESPLIT_API RESPLIT_MUST_CHECK resplit_status resplit_group_expect(resplit_group *group, const resplit_array *source,
                                                                   const resplit_array *target, resplit_error *err);

/*
 * Checks the place, makes PATH.resplit-part and in it everything but the arrays. With options->resume, goes on with
 * what a run of the same group left: its first *n_done arrays are complete. `options` may be NULL; of it, resume and
 * sync count.
 */
RESPLIT_API RESPLIT_MUST_CHECK resplit_status resplit_group_begin(resplit_group *group,
                                                                  const resplit_run_options *options, int64_t *n_done,
                                                                  resplit_error *err);

/* The next array is complete: it is not made again when the run is resumed. */
RESPLIT_API RESPLIT_MUST_CHECK resplit_status resplit_group_done(resplit_group *group, resplit_error *err);

/* All arrays are complete: writes copies of metadata and publishes the group, by one rename. */
RESPLIT_API RESPLIT_MUST_CHECK resplit_status resplit_group_finish(resplit_group *group, resplit_error *err);

/* A group that was begun and not finished leaves PATH.resplit-part, for a resume, if anything was done. */
RESPLIT_API void resplit_group_close(resplit_group *group);

/* ---- Comparing ----------------------------------------------------------------------------- */

typedef struct resplit_difference {
    bool equal;
    int64_t n_different;             /* elements                                              */
    int64_t index[RESPLIT_MAX_NDIM]; /* one that differs, when not equal                      */
} resplit_difference;

/*
 * Do two arrays hold the same values, whatever their blocks, formats, orders and byte orders? Values are equal when
 * their bits are: NaN equals the same NaN, 0.0 differs from -0.0. Where both arrays name their axes, as images do, and
 * list the same ones in another order, axes of the same name are compared; `index` counts those of `b`. Arrays of
 * unequal shape or type are RESPLIT_EINVAL. Compressed NIfTI files are read forwards where they do not fit;
 * RESPLIT_EBUDGET where that is not enough. Arrays that cannot be decoded are equal when they are stored as the same
 * bytes, else RESPLIT_EUNSUPPORTED. Uses at most `memory` bytes. `options` may be NULL.
 */
RESPLIT_API RESPLIT_MUST_CHECK resplit_status resplit_verify(const resplit_array *a, const resplit_array *b,
                                                             int64_t memory, const resplit_run_options *options,
                                                             resplit_difference *out, resplit_error *err);

/*
 * A number for the values of an array: the same for the same values, shape and type, whatever the blocks, formats,
 * orders and byte orders; another one, but for a chance of less than 1 in 10^16, for others. docs/fingerprint.md says
 * how it is made. Reads everything once, with at most `memory` bytes. `options` may be NULL.
 */
RESPLIT_API RESPLIT_MUST_CHECK resplit_status resplit_fingerprint(const resplit_array *array, int64_t memory,
                                                                  const resplit_run_options *options, uint64_t *out,
                                                                  resplit_error *err);

/* ---- Reading ------------------------------------------------------------------------------- */

/*
 * Reads the box from `start` (included) to `stop` (not) of an array into the caller's memory, from `out` on: in C
 * order, or where `strides`, in bytes, one for each axis, say; no two elements may lie at the same place. Start NULL:
 * from the first, stop NULL: to the last. Elements are as they are stored, in the array's type and byte order. Uses at
 * most `memory` bytes beside. After a failure some of the elements have been read. `options` may be NULL.
 */
RESPLIT_API RESPLIT_MUST_CHECK resplit_status resplit_array_read(const resplit_array *array, const int64_t *start,
                                                                 const int64_t *stop, void *out, const int64_t *strides,
                                                                 int64_t memory, const resplit_run_options *options,
                                                                 resplit_error *err);

/* ---- This machine -------------------------------------------------------------------------- */

/*
 * Memory that this process may still use, in bytes: what the system calls available, no more than its control group
 * and resource limits leave. A sensible budget is half of it.
 */
RESPLIT_API int64_t resplit_memory_available(void);

#ifdef __cplusplus
}
#endif

#endif /* RESPLIT_H */
