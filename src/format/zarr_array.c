/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zarr_array.c - a Zarr array as an array: its chunks are the blocks.
 *
 *     zarr.json -- zarr_read.c --> rs_zarr --+--> layout: chunks as long at the border as elsewhere, their order of axes
 *                                            +--> chain, fill value, shards
 *     files ----- census ------------------------> the largest stored block, what there is, a stamp
 *
 * Blocks that are stored as they are can be read and written in parts, like any others. All others are encoded:
 * compressed, in shards, or at the border of an array whose fill value is not zero, so that what lies outside has to be
 * written too. So are those of a target whose values are cast: only a block that is cast as a whole can be seen to be
 * empty, and be left out.
 */
#include "format/zarr_array.h"

#include "format/drivers.h"
#include "format/hdf5_array.h"
#include "format/nifti_array.h"
#include "format/parallel.h"
#include "format/shard.h"
#include "format/zarr_space.h"
#include "format/zarr_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const rs_format rs_format_zarr2 = {.name = "zarr2", .suffixes = (const char *const[]){NULL}, .has_header = true};
const rs_format rs_format_zarr3 = {.name = "zarr3", .suffixes = (const char *const[]){NULL}, .has_header = true};

/* ---- Layout ---------------------------------------------------------------------------------- */

int64_t rs_zarr_chunk_bytes(const rs_zarr *zarr)
{
    int64_t n = zarr->dtype.itemsize; /* fits: checked when the metadata was read */
    for (int d = 0; d < zarr->ndim; d++) {
        n *= zarr->chunk[d];
    }
    return n;
}

static resplit_status cut_axis(const rs_zarr *zarr, int d, rs_axis *out, resplit_error *err)
{
    int64_t extent = zarr->shape[d], chunk = zarr->chunk[d];
    *out = rs_axis_even(extent, chunk);
    if (extent > 0 && !rs_mul(out->n, chunk, &out->last)) {
        return rs_fail(err, RESPLIT_EFORMAT, "%" PRId64 " chunks of %" PRId64 " along axis %d are too many", out->n,
                       chunk, d);
    }
    return RESPLIT_OK;
}

resplit_status rs_zarr_array_layout(resplit_array *array, resplit_error *err)
{
    const rs_zarr *zarr = array->zarr;
    array->format = zarr->version == 2 ? &rs_format_zarr2 : &rs_format_zarr3;
    array->chain = zarr->chain;
    for (int d = 0; d < zarr->ndim; d++) {
        if (zarr->edges[d] != NULL) {
            return rs_fail(err, RESPLIT_EUNSUPPORTED,
                           "axis %d has a rectilinear grid of chunks, which is not supported", d);
        }
    }
    array->layout.ndim = zarr->ndim;
    array->order = rs_order_name(zarr->ndim, zarr->order);
    RS_TRY(rs_dtype_copy(&zarr->dtype, &array->dtype, err));
    for (int d = 0; d < zarr->ndim; d++) {
        RS_TRY(cut_axis(zarr, d, &array->layout.axis[d], err));
        array->shard[d] = zarr->n_levels > 0 ? zarr->level[0].chunk[d] / zarr->chunk[d] : 0;
    }
    array->fill = malloc((size_t)zarr->dtype.itemsize);
    if (array->fill == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for a fill value");
    }
    memcpy(array->fill, zarr->fill, (size_t)zarr->dtype.itemsize);
    RS_TRY(rs_array_finish(array, err));
    memcpy(array->layout.order, zarr->order, sizeof array->layout.order);
    array->info.order = array->order = rs_order_name(zarr->ndim, zarr->order); /* of one axis or none too */
    array->info.codec = zarr->chain.n > 0 ? rs_chain_text(&zarr->chain, array->codec) : NULL;
    array->info.shards = zarr->n_levels > 0 ? zarr->level[0].chunk : NULL;
    return RESPLIT_OK;
}

/* ---- What the files say ---------------------------------------------------------------------- */

typedef struct survey {
    resplit_array *array;
    int folder;
    pthread_mutex_t lock; /* of what follows */
    rs_shard_census found;
    uint64_t stamp;
} survey;

/* Index of the first block in a file. */
static void first_of(const resplit_array *array, int64_t number, int64_t *index)
{
    for (int d = array->layout.ndim - 1; d >= 0; d--) {
        int64_t each = rs_max(1, array->shard[d]), n = rs_ceil_div(array->layout.axis[d].n, each);
        index[d] = number % n * each;
        number /= n;
    }
}

static resplit_status check_size(const resplit_array *array, const char *path, int64_t size, resplit_error *err)
{
    int64_t n = rs_zarr_chunk_bytes(array->zarr);
    if (array->encoded || array->zarr->opaque.code != RESPLIT_OK || size == n) {
        return RESPLIT_OK;
    }
    return rs_blockfile_check_size(path, size, 0, n, err);
}

static resplit_status look_at_file(survey *s, const char *name, const char *path, int64_t number, resplit_error *err)
{
    const resplit_array *array = s->array;
    rs_shard_census found = {0};
    struct stat st;
    int fd = openat(s->folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return errno == ENOENT ? RESPLIT_OK : rs_fail_errno(err, errno, "cannot open '%s'", path);
    }
    resplit_status rc = RESPLIT_OK;
    if (fstat(fd, &st) != 0) {
        rc = rs_fail_errno(err, errno, "cannot look at '%s'", path);
    } else if (!S_ISREG(st.st_mode)) {
        rc = rs_fail(err, RESPLIT_EFORMAT, "'%s' is not a regular file", path);
    } else if (array->zarr->n_levels > 0) {
        rc = rs_shard_check(array, 0, fd, path, 0, (int64_t)st.st_size, &found, err);
    } else {
        found = (rs_shard_census){1, (int64_t)st.st_size, (int64_t)st.st_size};
        rc = check_size(array, path, (int64_t)st.st_size, err);
    }
    (void)close(fd);
    if (rc != RESPLIT_OK) {
        return rc;
    }
    uint64_t stamp = rs_mix(rs_mix(rs_mix(rs_mix(0, number), st.st_size), st.st_mtim.tv_sec), st.st_mtim.tv_nsec);
    (void)pthread_mutex_lock(&s->lock);
    s->found.n += found.n;
    s->found.bytes += found.bytes;
    s->found.most = rs_max(s->found.most, found.most);
    s->stamp += stamp; /* in any order */
    (void)pthread_mutex_unlock(&s->lock);
    return RESPLIT_OK;
}

static resplit_status look(int64_t number, void *payload, resplit_error *err)
{
    survey *s = payload;
    int64_t index[RS_MAX_NDIM] = {0};
    char name[RS_NAME_MAX];
    rs_text path = {0};
    first_of(s->array, number, index);
    RS_TRY(rs_array_block_name(s->array, index, name, err));
    RS_TRY(rs_text_add(&path, err, "%.600s/%s", s->array->path, name));
    resplit_status rc = look_at_file(s, name, path.s, number, err);
    rs_text_release(&path);
    return rc;
}

static resplit_status take_census(resplit_array *array, rs_shard_census *found, resplit_error *err)
{
    survey s = {.array = array};
    if (array->info.n_elements == 0) {
        return RESPLIT_OK;
    }
    s.folder = open(array->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s.folder < 0) {
        return rs_fail_errno(err, errno, "cannot open the folder '%s'", array->path);
    }
    (void)pthread_mutex_init(&s.lock, NULL);
    resplit_status rc = rs_look_at_all(0, rs_array_file_count(array), false, look, &s, err);
    (void)pthread_mutex_destroy(&s.lock);
    (void)close(s.folder);
    *found = s.found;
    array->stamp = s.stamp;
    return rc;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static resplit_status open_array(const char *path, const resplit_spec *spec, resplit_array *array, resplit_error *err)
{
    rs_shard_census found = {0};
    array->path = rs_strdup(path);
    array->zarr = calloc(1, sizeof *array->zarr);
    if (array->path == NULL || array->zarr == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for an array");
    }
    RS_TRY(rs_zarr_open(path, array->zarr, err));
    array->encoded = array->zarr->chain.n > 0 || array->zarr->n_levels > 0;
    RS_TRY(rs_zarr_space(path, array->zarr, &array->space, &array->notes, err));
    RS_TRY(rs_zarr_array_layout(array, err));
    RS_TRY(rs_array_agree(array, spec, err));
    RS_TRY(take_census(array, &found, err));
    array->most_stored = found.most;
    array->info.stored_bytes = found.bytes;
    array->info.n_stored = found.n;
    array->fingerprint = rs_manifest_fingerprint(path);
    array->info.fingerprint = array->fingerprint;
    if (array->zarr->opaque.code != RESPLIT_OK) {
        array->encoded = array->layout.atomic = true;
        return RESPLIT_OK;
    }
    if (array->encoded) {
        double bytes = (double)found.n * (double)rs_zarr_chunk_bytes(array->zarr);
        return rs_array_set_coding(array, false, found.most, bytes > 0 ? (double)found.bytes / bytes : 1, err);
    }
    return RESPLIT_OK;
}

resplit_status rs_zarr_array_open(const char *path, const resplit_spec *spec, resplit_array **out, resplit_error *err)
{
    RS_TRY(rs_array_new(out, err));
    resplit_status rc = open_array(path, spec, *out, err);
    if (rc != RESPLIT_OK) {
        rs_array_close(*out);
        *out = NULL;
    }
    return rc;
}

/* ---- Questions ------------------------------------------------------------------------------- */

static bool is_text(const rs_text *a, const rs_text *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->s, b->s, a->n) == 0);
}

bool rs_array_is_coded_alike(const resplit_array *a, const resplit_array *b)
{
    const rs_zarr *x = a->zarr, *y = b->zarr;
    return x != NULL && y != NULL && rs_array_is_verbatim(a, b) && x->version == y->version
           && is_text(&x->raw_type, &y->raw_type) && is_text(&x->raw_fill, &y->raw_fill)
           && is_text(&x->raw_codecs, &y->raw_codecs) && memcmp(a->shard, b->shard, sizeof a->shard) == 0;
}
