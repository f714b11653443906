/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shard.c - files that hold several blocks of a Zarr array, and an index of them:
 *
 *     [block][block][block] ... [offset, bytes of each, as 64-bit numbers][crc32c]       the index last, or first
 *
 * Blocks lie in any order, with gaps; those that are missing have the largest numbers. A block may be a shard itself:
 * levels. Whatever an index says is checked against the file before it is used.
 */
#include "format/shard.h"

#include "codec/checksum.h"
#include "format/array.h"
#include "format/hdf5_array.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { ENTRY = 16, CRC = 4, AT_ONCE = 512 * ENTRY };

/* A shard: a file, or a part of one. */
typedef struct shard {
    const resplit_array *array;
    int level;
    int fd;
    const char *path;
    int64_t offset, bytes; /* in the file, without a checksum of the whole */
} shard;

/* What a shard of this level holds. */
static const int64_t *inner_of(const rs_zarr *zarr, int level)
{
    return level + 1 < zarr->n_levels ? zarr->level[level + 1].chunk : zarr->chunk;
}

static int64_t count_inner(const rs_zarr *zarr, int level)
{
    int64_t n = 1; /* a block of one byte each would fit memory: checked when the array was opened */
    for (int d = 0; d < zarr->ndim; d++) {
        n *= zarr->level[level].chunk[d] / inner_of(zarr, level)[d];
    }
    return n;
}

static int64_t index_bytes(const rs_zarr *zarr, int level)
{
    return count_inner(zarr, level) * ENTRY + (zarr->level[level].index_crc ? CRC : 0);
}

static resplit_status read_at(const shard *s, void *bytes, int64_t n, int64_t at, resplit_error *err)
{
    for (int64_t done = 0; done < n;) {
        ssize_t got = pread(s->fd, (char *)bytes + done, (size_t)(n - done), s->offset + at + done);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got < 0 ? rs_fail_errno(err, errno, "cannot read '%s'", s->path)
                           : rs_fail(err, RESPLIT_EFORMAT, "'%s' ends inside its index", s->path);
        }
        done += got;
    }
    return RESPLIT_OK;
}

static uint64_t number_at(const unsigned char *bytes, char order)
{
    uint64_t n = 0;
    for (int i = 0; i < 8; i++) {
        n = n << 8 | bytes[order == '<' ? 7 - i : i];
    }
    return n;
}

/* A shard of a whole file, or of the block that an index of it names. */
static resplit_status shard_init(shard *s, const resplit_array *array, int level, int fd, const char *path,
                                 int64_t offset, int64_t bytes, resplit_error *err)
{
    int64_t needed = index_bytes(array->zarr, level);
    *s = (shard){.array = array, .level = level, .fd = fd, .path = path, .offset = offset, .bytes = bytes};
    s->bytes -= array->zarr->level[level].crc ? CRC : 0;
    return s->bytes >= needed ? RESPLIT_OK
                              : rs_fail(err, RESPLIT_EFORMAT,
                                        "'%s' is truncated: a shard of %" PRId64 " bytes, but its index has %" PRId64,
                                        path, bytes, needed);
}

static int64_t index_at(const shard *s)
{
    const rs_zarr *zarr = s->array->zarr;
    return zarr->level[s->level].index_first ? 0 : s->bytes - index_bytes(zarr, s->level);
}

/* An entry, with every number checked. */
static resplit_status read_entry(const shard *s, const unsigned char *bytes, rs_place *out, resplit_error *err)
{
    const rs_zarr_level *level = &s->array->zarr->level[s->level];
    uint64_t offset = number_at(bytes, level->index_order), n = number_at(bytes + 8, level->index_order);
    uint64_t from = 0, to = (uint64_t)s->bytes, index = (uint64_t)index_bytes(s->array->zarr, s->level);
    *out = (rs_place){.missing = offset == UINT64_MAX && n == UINT64_MAX};
    if (out->missing) {
        return RESPLIT_OK;
    }
    *(level->index_first ? &from : &to) = level->index_first ? index : to - index;
    if (offset < from || offset > to || n > to - offset) {
        return rs_fail(err, RESPLIT_EFORMAT,
                       "the index of '%s' says that a block of %" PRIu64 " bytes begins at %" PRIu64
                       ", which is outside of %" PRIu64 " to %" PRIu64,
                       s->path, n, offset, from, to);
    }
    out->offset = s->offset + (int64_t)offset;
    out->bytes = (int64_t)n;
    return RESPLIT_OK;
}

/* ---- One block ------------------------------------------------------------------------------- */

/* Which of a shard's blocks the block `index` is, or lies in. */
static int64_t position_in(const rs_zarr *zarr, int level, const int64_t *index)
{
    int64_t position = 0;
    for (int i = 0; i < zarr->ndim; i++) {
        int d = zarr->level[level].order[i];
        int64_t outer = zarr->level[level].chunk[d], inner = inner_of(zarr, level)[d];
        position = position * (outer / inner) + index[d] * zarr->chunk[d] % outer / inner;
    }
    return position;
}

resplit_status rs_shard_locate(const resplit_array *array, const int64_t *index, int fd, int64_t size, const char *path,
                               rs_place *out, resplit_error *err)
{
    *out = (rs_place){.bytes = size};
    for (int level = 0; level < array->zarr->n_levels && !out->missing; level++) {
        unsigned char entry[ENTRY];
        shard s;
        RS_TRY(shard_init(&s, array, level, fd, path, out->offset, out->bytes, err));
        int64_t at = index_at(&s) + position_in(array->zarr, level, index) * ENTRY;
        RS_TRY(read_at(&s, entry, ENTRY, at, err));
        RS_TRY(read_entry(&s, entry, out, err));
    }
    return RESPLIT_OK;
}

/* ---- All of a shard -------------------------------------------------------------------------- */

static resplit_status check_entries(const shard *s, const unsigned char *bytes, int64_t n, rs_shard_census *census,
                                    resplit_error *err)
{
    const rs_zarr *zarr = s->array->zarr;
    for (int64_t i = 0; i < n; i++) {
        rs_place place;
        RS_TRY(read_entry(s, bytes + i * ENTRY, &place, err));
        if (place.missing) {
            continue;
        }
        if (s->level + 1 < zarr->n_levels) {
            RS_TRY(rs_shard_check(s->array, s->level + 1, s->fd, s->path, place.offset, place.bytes, census, err));
        } else {
            census->n++;
            census->bytes += place.bytes;
            census->most = rs_max(census->most, place.bytes);
        }
    }
    return RESPLIT_OK;
}

/* The index is read in parts, whatever it says of its length; as deep as there are levels. */
resplit_status rs_shard_check(const resplit_array *array, int level, int fd, const char *path, int64_t offset,
                              int64_t bytes, rs_shard_census *census, resplit_error *err)
{
    unsigned char part[AT_ONCE];
    shard s;
    RS_TRY(shard_init(&s, array, level, fd, path, offset, bytes, err));
    int64_t n = count_inner(array->zarr, level) * ENTRY, at = index_at(&s);
    uint32_t crc = 0;
    for (int64_t done = 0; done < n; done += AT_ONCE) {
        int64_t more = rs_min(AT_ONCE, n - done);
        RS_TRY(read_at(&s, part, more, at + done, err));
        crc = rs_crc32c_more(crc, part, more);
        RS_TRY(check_entries(&s, part, more / ENTRY, census, err));
    }
    if (!array->zarr->level[level].index_crc) {
        return RESPLIT_OK;
    }
    RS_TRY(read_at(&s, part, CRC, at + n, err));
    uint32_t said = (uint32_t)part[0] | (uint32_t)part[1] << 8 | (uint32_t)part[2] << 16 | (uint32_t)part[3] << 24;
    return crc == said
               ? RESPLIT_OK
               : rs_fail(err, RESPLIT_EFORMAT,
                         "the index of '%s' is damaged: its checksum is %08" PRIx32 ", but should be %08" PRIx32, path,
                         said, crc);
}

/* ---- Writing --------------------------------------------------------------------------------- */

int64_t rs_shard_blocks(const resplit_array *array)
{
    return count_inner(array->zarr, 0);
}

int64_t rs_shard_position(const resplit_array *array, const int64_t *index)
{
    return position_in(array->zarr, 0, index);
}

int64_t rs_shard_begin(const resplit_array *array)
{
    return array->zarr->level[0].index_first ? index_bytes(array->zarr, 0) : 0;
}

resplit_status rs_shard_index(const resplit_array *array, const uint64_t *entries, rs_text *out, resplit_error *err)
{
    const rs_zarr_level *level = &array->zarr->level[0];
    int64_t n = count_inner(array->zarr, 0) * 2;
    for (int64_t i = 0; i < n; i++) {
        uint64_t value = entries[i | 1] == 0 ? UINT64_MAX : entries[i];
        unsigned char bytes[8];
        for (int k = 0; k < 8; k++) {
            bytes[level->index_order == '<' ? k : 7 - k] = (unsigned char)(value >> (8 * k));
        }
        RS_TRY(rs_text_add_bytes(out, bytes, sizeof bytes, err));
    }
    if (level->index_crc) {
        uint32_t crc = rs_crc32c((const uint8_t *)out->s, (int64_t)out->n);
        unsigned char bytes[CRC] = {(unsigned char)crc, (unsigned char)(crc >> 8), (unsigned char)(crc >> 16),
                                    (unsigned char)(crc >> 24)};
        RS_TRY(rs_text_add_bytes(out, bytes, sizeof bytes, err));
    }
    return RESPLIT_OK;
}
