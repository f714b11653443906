/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hdf5_seal.c - the files of a target become HDF5, when their blocks are written: one child process makes all of them.
 * Before anything is touched, another one tries the first, in memory.
 */
#include "format/hdf5_seal.h"

#include "format/hdf5_array.h"
#include "format/minc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- All files --------------------------------------------------------------------------------- */

/* Where a file is in the array, by the index of one of its blocks. */
static void find_box(rs_hdf5_sealing *s, const int64_t *index)
{
    const rs_layout *layout = &s->array->layout;
    int64_t lo[RS_MAX_NDIM] = {0}, hi[RS_MAX_NDIM] = {0};
    rs_array_file_range(s->array, index, lo, hi);
    for (int d = 0; d < layout->ndim; d++) {
        s->at.first[d] = lo[d];
        s->at.n[d] = hi[d] - lo[d];
        s->at.box.lo[d] = rs_axis_cut(&layout->axis[d], lo[d]);
        s->at.box.hi[d] = rs_min(rs_axis_cut(&layout->axis[d], hi[d]), layout->axis[d].extent);
    }
}

/* Behind the blocks. A file in which all are missing is not there yet. */
static resplit_status find_floor(rs_hdf5_sealing *s, resplit_error *err)
{
    const resplit_array *array = s->array;
    struct stat st;
    int fd = open(s->at.path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    bool done = fd >= 0 && fstat(fd, &st) == 0;
    int why = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    if (!done) {
        return rs_fail_errno(err, why, "cannot look at '%s'", s->at.path);
    }
    int64_t bytes = rs_box_volume(array->layout.ndim, &s->at.box) * array->dtype.itemsize;
    for (int d = 0; d < array->layout.ndim && array->hdf5->chunked; d++) {
        bytes = d == 0 ? array->stride * s->at.n[d] : bytes * s->at.n[d];
    }
    bool here = array->hdf5->parts == NULL;
    int64_t end = !here ? 0 : rs_array_is_sharded(array) ? (int64_t)st.st_size : RS_HDF5_BEGIN + bytes;
    s->at.floor = here ? (rs_max(RS_HDF5_BEGIN, end) + 7) / 8 * 8 : 0;
    return RESPLIT_OK;
}

static resplit_status seal_file(rs_hdf5_sealing *s, const int64_t *index, resplit_error *err)
{
    char name[RS_NAME_MAX];
    rs_text path = {0};
    s->at = (rs_hdf5_sealed){.floor = RS_HDF5_BEGIN};
    find_box(s, index);
    resplit_status rc = rs_array_block_name(s->array, index, name, err);
    rc = rc == RESPLIT_OK ? rs_text_add(&path, err, name[0] != '\0' ? "%s/%s" : "%s", s->data, name) : rc;
    s->at.path = path.s;
    if (rc == RESPLIT_OK && s->memory == NULL) {
        rc = find_floor(s, err);
    }
    rc = rc == RESPLIT_OK ? rs_hdf5_write_file(s, err) : rc;
    rs_text_release(&path);
    return rc;
}

/* By the first block of each. */
static resplit_status seal_files(rs_hdf5_sealing *s, resplit_error *err)
{
    const resplit_array *array = s->array;
    int64_t lo[RS_MAX_NDIM] = {0}, hi[RS_MAX_NDIM] = {0}, file[RS_MAX_NDIM], index[RS_MAX_NDIM] = {0};
    for (int d = 0; d < array->layout.ndim; d++) {
        lo[d] = s->files.lo != NULL ? s->files.lo[d] : 0;
        hi[d] = s->files.hi != NULL ? s->files.hi[d] : rs_array_files_along(array, d);
    }
    memcpy(file, lo, sizeof file);
    do {
        for (int d = 0; d < array->layout.ndim; d++) {
            index[d] = file[d] * rs_max(1, array->shard[d]);
        }
        rs_apart_go_on(0, 0);
        RS_TRY(seal_file(s, index, err));
    } while (s->memory == NULL && rs_index_next(array->layout.ndim, lo, hi, file));
    return RESPLIT_OK;
}

static resplit_status open_origin(rs_hdf5_sealing *s, resplit_error *err)
{
    const rs_hdf5 *hdf5 = s->array->hdf5;
    const rs_minc *minc = s->array->minc;
    if (minc == NULL && hdf5->origin_file == NULL) {
        return RESPLIT_OK;
    }
    RS_TRY(minc != NULL ? rs_minc_open(minc, &s->origin_file, err)
                        : rs_hdf5_open_file(hdf5->origin_file, &s->origin_file, err));
    s->origin = H5Dopen2(s->origin_file, minc != NULL ? RS_MINC_IMAGE : hdf5->origin, H5P_DEFAULT);
    return s->origin >= 0 ? RESPLIT_OK
                          : rs_hdf5_fail(err, RESPLIT_EIO, "cannot open dataset '%s' of '%s' again", hdf5->origin,
                                         hdf5->origin_file);
}

/* Something that is neither the dataset nor a group that it is in. */
static herr_t find_other(hid_t root, const char *name, const rs_hdf5_link *info, void *payload)
{
    const char *dataset = (const char *)payload + 1; /* behind the slash */
    size_t n = strlen(name);
    (void)root;
    (void)info;
    bool above = strncmp(name, dataset, n) == 0 && (dataset[n] == '/' || dataset[n] == '\0');
    return above ? 0 : 1;
}

static bool leaves_others(const rs_hdf5_sealing *s)
{
    const rs_hdf5 *hdf5 = s->array->hdf5;
    bool none = s->origin_file < 0 || hdf5->all || s->array->minc != NULL;
    return !none && rs_hdf5_visit_links(s->origin_file, H5_INDEX_NAME, H5_ITER_INC, find_other, hdf5->origin) > 0;
}

static resplit_status seal_here(void *payload, resplit_error *err)
{
    rs_hdf5_sealing *s = payload;
    rs_hdf5_session session;
    RS_TRY(rs_hdf5_enter(&session, err));
    resplit_status rc = open_origin(s, err);
    rc = rc == RESPLIT_OK ? seal_files(s, err) : rc;
    s->leaves = s->memory != NULL && rc == RESPLIT_OK && leaves_others(s);
    rs_hdf5_close(s->origin);
    rs_hdf5_close(s->origin_file);
    rs_hdf5_leave(&session);
    return rc;
}

/* In a process of its own, for which a file that another is made of is to blame. */
static resplit_status seal_apart(rs_hdf5_sealing *s, rs_apart task, resplit_error *err)
{
    const char *origin = s->array->hdf5->origin_file;
    s->origin_file = s->origin = s->file = s->dataset = -1;
    task.subject = origin != NULL ? origin : s->path;
    task.payload = s;
    return rs_hdf5_apart(task, NULL, err);
}

/* Reads back what a virtual dataset is made of. */
static resplit_status check_here(void *payload, resplit_error *err)
{
    rs_hdf5_sealing *s = payload;
    rs_hdf5_session session;
    RS_TRY(rs_hdf5_enter(&session, err));
    resplit_status rc = rs_hdf5_open_file(s->data, &s->file, err);
    if (rc == RESPLIT_OK) {
        s->dataset = H5Dopen2(s->file, s->array->hdf5->dataset, H5P_DEFAULT);
        rc = s->dataset >= 0 ? rs_hdf5_check_parts(s->array, s->dataset, err)
                             : rs_hdf5_fail(err, RESPLIT_EIO, "cannot read '%s' back", s->path);
    }
    rc = rs_hdf5_close_sealed(s, rc, err);
    rs_hdf5_leave(&session);
    return rc;
}

resplit_status rs_hdf5_seal(const resplit_array *array, const char *path, rs_file_range files, rs_array_entry *entry,
                            void *payload, resplit_error *err)
{
    rs_hdf5_sealing s = {
        .array = array, .path = array->path, .data = path, .files = files, .entry = entry, .payload = payload};
    RS_TRY(seal_apart(&s, (rs_apart){.work = seal_here, .writes = true}, err));
    return array->hdf5->parts == NULL ? RESPLIT_OK : seal_apart(&s, (rs_apart){.work = check_here}, err);
}

/* ---- Before ------------------------------------------------------------------------------------- */

static resplit_status make_type(const resplit_array *array, rs_text *out, resplit_error *err)
{
    rs_hdf5_session session;
    hid_t type = -1;
    RS_TRY(rs_hdf5_enter(&session, err));
    resplit_status rc = rs_hdf5_make_type(&array->dtype, &type, err);
    rc = rc == RESPLIT_OK ? rs_hdf5_encode_type(type, out, err) : rc;
    rs_hdf5_close(type);
    rs_hdf5_leave(&session);
    return rc;
}

static resplit_status try_here(void *payload, resplit_error *err)
{
    rs_hdf5_sealing *s = payload;
    if (!s->typed) {
        RS_TRY(make_type(s->array, &s->array->hdf5->type, err));
    }
    return seal_here(s, err);
}

static void pass_trial(rs_wire *wire, void *payload)
{
    rs_hdf5_sealing *s = payload;
    rs_text *type = &s->array->hdf5->type;
    rs_wire_bytes(wire, &s->leaves, sizeof s->leaves);
    if (!s->typed) {
        rs_wire_bytes(wire, type, sizeof *type);
        rs_wire_text(wire, type);
    }
}

resplit_status rs_hdf5_try(resplit_array *array, resplit_error *err)
{
    rs_text memory = {0};
    rs_hdf5_sealing s = {.array = array, .path = array->path, .data = array->path, .memory = &memory};
    s.typed = array->hdf5->type.n > 0;
    RS_TRY(seal_apart(&s, (rs_apart){.work = try_here, .pass = pass_trial}, err));
    return !s.leaves
               ? RESPLIT_OK
               : rs_text_add_line(&array->notes, err,
                                  "other objects of '%s' do not go along: they do with all of a dataset, to one file",
                                  array->hdf5->origin_file);
}
