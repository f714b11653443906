/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5_array.c - arrays that are datasets: how they are named, where their blocks are, and how they come from the
   process that opened them. */
#include "format/hdf5_array.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/drivers.h"
#include "format/hdf5.h"

/* ---- Names ----------------------------------------------------------------------------------- */

bool rs_format_is_hdf5(const rs_format *format)
{
    return format == &rs_format_hdf5 || format == &rs_format_minc2;
}

bool rs_hdf5_probe(int fd, int64_t size)
{
    static const char signature[8] = "\x89HDF\r\n\x1a\n";
    char bytes[sizeof signature];
    for (int64_t at = 0; at + (int64_t)sizeof bytes <= size; at = at == 0 ? 512 : 2 * at) {
        if (pread(fd, bytes, sizeof bytes, at) == (ssize_t)sizeof bytes
            && memcmp(bytes, signature, sizeof bytes) == 0) {
            return true;
        }
    }
    return false;
}

/* Where the name of a dataset begins; NULL: there is none. */
static const char *find_colon(const char *path, bool any)
{
    for (const char *at = strchr(path, ':'); at != NULL; at = strchr(at + 1, ':')) {
        char *file = strndup(path, (size_t)(at - path));
        bool found = file != NULL && (any || rs_format_by_suffix(file) == &rs_format_hdf5);
        free(file);
        if (found && at > path && at[1] != '\0') {
            return at;
        }
    }
    return NULL;
}

resplit_status rs_hdf5_split(const char *path, bool any, char **file, char **dataset, resplit_error *err)
{
    const char *colon = find_colon(path, false);
    *file = *dataset = NULL;
    if (colon == NULL && any) {
        colon = find_colon(path, true);
    }
    if (colon == NULL) {
        return RESPLIT_OK;
    }
    *file = strndup(path, (size_t)(colon - path));
    *dataset = rs_strdup(colon + 1);
    return *file != NULL && *dataset != NULL ? RESPLIT_OK : rs_fail(err, RESPLIT_ENOMEM, "no memory for a path");
}

/* ---- Opening ---------------------------------------------------------------------------------- */

typedef struct request {
    const char *path, *dataset;
    const resplit_spec *spec;
    resplit_array *array;
} request;

static resplit_status open_here(void *payload, resplit_error *err)
{
    const request *r = payload;
    rs_hdf5_session session;
    RS_TRY(rs_hdf5_enter(&session, err));
    resplit_status rc = rs_hdf5_open_here(r->path, r->dataset, r->spec, r->array, err);
    rs_hdf5_leave(&session);
    return rc;
}

static void pass(rs_wire *wire, void *payload)
{
    rs_array_pass(wire, ((request *)payload)->array);
}

static void answer(rs_wire *wire, void *payload)
{
    const resplit_array *array = ((request *)payload)->array;
    if (array->hdf5->through) {
        rs_hdf5_answer(wire, array);
    }
}

resplit_status rs_hdf5_array_open(const char *path, const char *dataset, const resplit_spec *spec, resplit_array **out,
                                  resplit_error *err)
{
    rs_child *child = NULL;
    if (spec != NULL && spec->pattern != NULL) {
        return rs_fail(err, RESPLIT_EINVAL, "'%s' is one file and has no pattern of names", path);
    }
    RS_TRY(rs_array_new(out, err));
    request r = {path, dataset, spec, *out};
    rs_apart task = {.subject = path, .work = open_here, .pass = pass, .answer = answer, .payload = &r};
    resplit_status rc = rs_hdf5_apart(task, &child, err);
    if (rc == RESPLIT_OK) {
        rc = rs_array_take(*out, err);
    }
    if (rc == RESPLIT_OK && (*out)->hdf5->through) {
        (*out)->hdf5->reader = child;
        child = NULL;
    }
    rs_child_end(child);
    if (rc != RESPLIT_OK) {
        rs_array_close(*out);
        *out = NULL;
    }
    return rc;
}

/* ---- Questions ------------------------------------------------------------------------------- */

resplit_status rs_hdf5_locate(const resplit_array *array, const int64_t *index, int fd, int64_t size, const char *path,
                              rs_place *out, resplit_error *err)
{
    const rs_hdf5 *hdf5 = array->hdf5;
    (void)fd;
    *out = (rs_place){.bytes = array->most_stored, .memory = hdf5->inside, .fetched = hdf5->through};
    if (hdf5->inside != NULL || hdf5->through) {
        return RESPLIT_OK;
    }
    int64_t number = rs_layout_block_number(&array->layout, index);
    rs_hdf5_chunk plain = {.bytes = 0};
    if (hdf5->chunk == NULL && array->offsets[number] >= 0) { /* without filters, but seen as whole */
        rs_box stored = rs_layout_stored(&array->layout, index);
        plain.offset = array->offsets[number];
        plain.bytes = rs_box_volume(array->layout.ndim, &stored) * array->dtype.itemsize;
    }
    const rs_hdf5_chunk *chunk = hdf5->chunk != NULL ? &hdf5->chunk[number] : &plain;
    *out =
        (rs_place){.missing = chunk->bytes == 0, .offset = chunk->offset, .bytes = chunk->bytes, .skip = chunk->skip};
    return out->missing || chunk->bytes <= size - chunk->offset
               ? RESPLIT_OK
               : rs_fail(err, RESPLIT_EIO, "'%s' has become shorter since it was opened: it has %lld bytes", path,
                         (long long)size);
}

int64_t rs_hdf5_blocks(const resplit_array *array)
{
    int64_t n = 1;
    for (int d = 0; d < array->layout.ndim; d++) {
        n *= rs_max(1, array->shard[d]); /* no more than there are blocks */
    }
    return n;
}

int64_t rs_hdf5_position(const resplit_array *array, const int64_t *index)
{
    int64_t lo[RS_MAX_NDIM], hi[RS_MAX_NDIM], position = 0;
    rs_array_file_range(array, index, lo, hi);
    for (int d = 0; d < array->layout.ndim; d++) {
        position = position * (hi[d] - lo[d]) + index[d] - lo[d];
    }
    return position;
}

char *rs_hdf5_fill(const resplit_array *target)
{
    return target->hdf5->fill;
}

bool rs_hdf5_is_uniform(const resplit_array *array)
{
    return !array->hdf5->skips && array->hdf5->inside == NULL && !array->hdf5->through;
}

bool rs_hdf5_is_virtual(const resplit_array *target)
{
    return target->hdf5->parts != NULL;
}

resplit_status rs_hdf5_check_plain(const resplit_array *source, const rs_format *format, resplit_error *err)
{
    return source->hdf5 == NULL || !source->hdf5->foreign
               ? RESPLIT_OK
               : rs_fail(
                   err, RESPLIT_EUNSUPPORTED,
                   "dataset '%s' of '%s' has a type that only HDF5 has, and format %s cannot hold it: give a .h5 path",
                   source->hdf5->dataset, source->path, format->name);
}

void rs_hdf5_free(rs_hdf5 *hdf5)
{
    if (hdf5 == NULL) {
        return;
    }
    rs_child_end(hdf5->reader);
    rs_array_close(hdf5->parts);
    free(hdf5->dataset);
    free(hdf5->origin_file);
    free(hdf5->origin);
    free(hdf5->chunk);
    free(hdf5->inside);
    free(hdf5->fill);
    rs_text_release(&hdf5->type);
    rs_text_release(&hdf5->attributes);
    free(hdf5);
}

/* ---- From one process to another --------------------------------------------------------------- */

/* Of an array that was opened; ids of libhdf5, and what is read through it, stay where they are. */
void rs_hdf5_pass(rs_wire *wire, const resplit_array *array, rs_hdf5 **hdf5)
{
    rs_wire_owned(wire, (void **)hdf5, sizeof **hdf5);
    rs_hdf5 *h = *hdf5;
    if (h == NULL) {
        return;
    }
    rs_wire_string(wire, &h->dataset);
    rs_wire_string(wire, &h->origin_file);
    rs_wire_string(wire, &h->origin);
    rs_wire_text(wire, &h->type);
    rs_wire_text(wire, &h->attributes);
    rs_wire_owned(wire, (void **)&h->chunk, array->info.n_blocks * (int64_t)sizeof *h->chunk);
    rs_wire_owned(wire, (void **)&h->inside, array->most_stored);
    if (!wire->sends) {
        h->file_id = h->dataset_id = -1;
    }
}
