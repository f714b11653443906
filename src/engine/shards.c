/* SPDX-License-Identifier: BSD-3-Clause */
/* shards.c - appended blocks, and an index of them. */
#include "engine/shards.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    ENTRY = 16,           /* bytes of an entry: offset and bytes, in this machine's order */
    MOST_ROOM = 64 << 20, /* ahead of what is written of a shard */
};

/* Index of the first block of a shard. */
static void first_of(const rs_shards *shards, int64_t number, int64_t *index)
{
    for (int d = shards->array->layout.ndim - 1; d >= 0; d--) {
        int64_t n = shards->hi[d] - shards->lo[d];
        index[d] = (shards->lo[d] + number % n) * shards->array->shard[d];
        number /= n;
    }
}

static int64_t number_of(const rs_shards *shards, const int64_t *index)
{
    int64_t number = 0;
    for (int d = 0; d < shards->array->layout.ndim; d++) {
        number = number * (shards->hi[d] - shards->lo[d]) + index[d] / shards->array->shard[d] - shards->lo[d];
    }
    return number;
}

/* Where the entry of a block is. */
static int64_t entry_of(const rs_shards *shards, const int64_t *index)
{
    return ENTRY
           * (number_of(shards, index) * rs_array_shard_blocks(shards->array)
              + rs_array_shard_position(shards->array, index));
}

/* Those that have blocks of the problem. */
static void set_range(rs_shards *shards, const rs_problem *problem)
{
    shards->n = 1;
    for (int d = 0; d < shards->array->layout.ndim; d++) {
        int64_t from = problem->target_index[d], to = from + problem->target.axis[d].n;
        shards->lo[d] = from / shards->array->shard[d];
        shards->hi[d] = rs_ceil_div(to, shards->array->shard[d]);
        shards->n *= shards->hi[d] - shards->lo[d]; /* no more than there are blocks */
    }
}

static resplit_status path_of(const rs_shards *shards, int64_t number, char path[RS_PATH_MAX], resplit_error *err)
{
    int64_t index[RS_MAX_NDIM] = {0};
    char name[RS_NAME_MAX];
    first_of(shards, number, index);
    RS_TRY(rs_array_block_name(shards->array, index, name, err));
    return rs_path_join(shards->root, name, path, err);
}

/* ---- Beginning ------------------------------------------------------------------------------- */

/* Of the blocks of a shard that were noted: where the last one ends. */
static resplit_status find_noted(const rs_shards *shards, int64_t number, int64_t *end, resplit_error *err)
{
    uint64_t entries[512];
    int64_t bytes = rs_array_shard_blocks(shards->array) * ENTRY;
    for (int64_t done = 0; done < bytes;) {
        size_t want = (size_t)rs_min(bytes - done, (int64_t)sizeof entries);
        ssize_t got = pread(shards->fd, entries, want, number * bytes + done);
        if (got < 0 && errno != EINTR) {
            return rs_fail_errno(err, errno, "cannot read the index of the shards of '%s'", shards->root);
        }
        if (got >= 0 && got < ENTRY) {
            break;
        }
        for (ssize_t i = 0; i < got / ENTRY; i++) {
            *end = rs_max(*end, (int64_t)(entries[2 * i] + entries[2 * i + 1]));
        }
        done += got > 0 ? got / ENTRY * ENTRY : 0;
    }
    return RESPLIT_OK;
}

/* What is behind the last block of a shard goes: room, blocks that nobody noted, and what a run wrote that was killed
   at the end. */
static resplit_status cut_off(const char *path, int64_t end, resplit_error *err)
{
    struct stat st;
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT) {
        return RESPLIT_OK; /* none of its blocks is there */
    }
    int failed = fd < 0 || fstat(fd, &st) != 0 || ((int64_t)st.st_size > end && ftruncate(fd, end) != 0) ? errno : 0;
    if (fd >= 0 && close(fd) != 0 && failed == 0) {
        failed = errno;
    }
    return failed == 0 ? RESPLIT_OK : rs_fail_errno(err, failed, "cannot shorten '%s'", path);
}

/*
 * Where the next block of a shard goes: behind all that an earlier run noted, of which no more is true than there are
 * bytes. What it did not note is written again, and is cut off: that also waits for what a killed run has under way in
 * the file.
 */
static resplit_status find_end(const rs_shards *shards, int64_t number, bool anew, int64_t *end, resplit_error *err)
{
    char path[RS_PATH_MAX];
    struct stat st;
    *end = 0;
    RS_TRY(path_of(shards, number, path, err));
    if (anew && shards->array->info.folder && unlink(path) != 0 && errno != ENOENT) {
        return rs_fail_errno(err, errno, "cannot remove '%s'", path);
    }
    if (!anew && lstat(path, &st) == 0) {
        RS_TRY(find_noted(shards, number, end, err));
        *end = rs_min(*end, (int64_t)st.st_size);
        RS_TRY(cut_off(path, *end, err));
    }
    *end = rs_max(*end, rs_array_shard_begin(shards->array));
    return RESPLIT_OK;
}

resplit_status rs_shards_begin(rs_shards *shards, const rs_problem *problem, const resplit_array *array,
                               const char *root, int folder, bool anew, resplit_error *err)
{
    int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (anew ? O_TRUNC : 0);
    *shards = (rs_shards){.array = array, .root = root, .lock = PTHREAD_MUTEX_INITIALIZER};
    set_range(shards, problem);
    shards->fd = openat(folder, RS_SHARDS_NAME, flags, 0666);
    if (shards->fd < 0) {
        return rs_fail_errno(err, errno, "cannot make an index of the shards of '%s'", root);
    }
    shards->next = calloc((size_t)shards->n, sizeof *shards->next);
    shards->room = calloc((size_t)shards->n, sizeof *shards->room);
    if (shards->next == NULL || shards->room == NULL) {
        return rs_fail_errno(err, ENOMEM, "cannot allocate the ends of %lld shards", (long long)shards->n);
    }
    for (int64_t i = 0; i < shards->n; i++) {
        int64_t end;
        RS_TRY(find_end(shards, i, anew, &end, err));
        atomic_init(&shards->next[i], end);
        atomic_init(&shards->room[i], end);
    }
    return RESPLIT_OK;
}

void rs_shards_end(rs_shards *shards)
{
    if (shards->fd >= 0) {
        (void)close(shards->fd);
    }
    free((void *)shards->next);
    free((void *)shards->room);
    shards->fd = -1;
    shards->next = shards->room = NULL;
}

static int64_t whole_sectors(int64_t bytes)
{
    return rs_ceil_div(bytes, RS_SECTOR) * RS_SECTOR;
}

int64_t rs_shards_reserve(rs_shards *shards, const int64_t *index, int64_t bytes)
{
    _Atomic int64_t *next = &shards->next[number_of(shards, index)];
    bool is_long = bytes >= RS_DIRECT_WRITE;
    int64_t end = atomic_load(next), begin;
    do {
        begin = is_long ? whole_sectors(end) : end;
    } while (!atomic_compare_exchange_weak(next, &end, begin + (is_long ? whole_sectors(bytes) : bytes)));
    return begin;
}

/* As much as its other blocks will need, if they are like this one. Without it, on a full disk for instance, writes
   make the file longer themselves, or say why not. */
void rs_shards_make_room(rs_shards *shards, const rs_block_file *file, int64_t offset, int64_t bytes)
{
#ifdef __linux__
    int64_t i = number_of(shards, file->index), end = offset + bytes;
    if (file->direct < 0 || bytes < RS_DIRECT_WRITE || end <= atomic_load(&shards->room[i])) {
        return;
    }
    (void)pthread_mutex_lock(&shards->lock);
    int64_t from = atomic_load(&shards->room[i]), others = rs_array_shard_blocks(shards->array);
    if (end > from) {
        int64_t room = end + (bytes < MOST_ROOM / others ? bytes * others : MOST_ROOM);
        (void)fallocate(file->fd, 0, from, room - from);
        atomic_store(&shards->room[i], room);
    }
    (void)pthread_mutex_unlock(&shards->lock);
#else /* others fill a file with zeros, where they cannot make room, and would overwrite what is there */
    (void)shards, (void)file, (void)offset, (void)bytes;
#endif
}

resplit_status rs_shards_note(rs_shards *shards, const int64_t *index, int64_t offset, int64_t bytes,
                              resplit_error *err)
{
    uint64_t entry[2] = {(uint64_t)offset, (uint64_t)bytes};
    return rs_file_write(shards->fd, "the index of the shards", entry, ENTRY, entry_of(shards, index), err);
}

/* ---- Finishing ------------------------------------------------------------------------------- */

/* Entries that nobody wrote read as zero: missing. */
static resplit_status read_entries(const rs_shards *shards, int64_t number, uint64_t *entries, bool *any,
                                   resplit_error *err)
{
    int64_t n = rs_array_shard_blocks(shards->array), want = n * ENTRY, got = 0;
    for (ssize_t part = 1; got < want && part != 0; got += part) {
        part = pread(shards->fd, (char *)entries + got, (size_t)(want - got), number * want + got);
        if (part < 0) {
            return rs_fail_errno(err, errno, "cannot read the index of the shards of '%s'", shards->root);
        }
    }
    for (int64_t i = got / ENTRY; i < n; i++) {
        entries[2 * i] = entries[2 * i + 1] = 0;
    }
    *any = false;
    for (int64_t i = 0; i < n; i++) {
        *any = *any || entries[2 * i + 1] != 0;
    }
    return RESPLIT_OK;
}

/* At its beginning, where there is a gap for it, or behind its blocks. */
static resplit_status write_index(const rs_shards *shards, int64_t number, const rs_text *index, resplit_error *err)
{
    char path[RS_PATH_MAX];
    RS_TRY(path_of(shards, number, path, err));
    RS_TRY(cut_off(path, atomic_load(&shards->next[number]), err));
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return rs_fail_errno(err, errno, "cannot open '%s'", path);
    }
    int64_t at = rs_array_shard_begin(shards->array) > 0 ? 0 : atomic_load(&shards->next[number]);
    resplit_status rc = rs_file_write(fd, path, index->s, (int64_t)index->n, at, err);
    if (close(fd) != 0 && rc == RESPLIT_OK) {
        rc = rs_fail_errno(err, errno, "cannot close '%s'", path);
    }
    return rc;
}

static resplit_status finish(rs_shards *shards, uint64_t *entries, resplit_error *err)
{
    for (int64_t i = 0; i < shards->n; i++) {
        rs_text index = {0};
        bool any = false;
        RS_TRY(read_entries(shards, i, entries, &any, err));
        if (!any) {
            continue;
        }
        resplit_status rc = rs_shard_index(shards->array, entries, &index, err);
        if (rc == RESPLIT_OK) {
            rc = write_index(shards, i, &index, err);
        }
        rs_text_release(&index);
        RS_TRY(rc);
    }
    return RESPLIT_OK;
}

/* Files that get more than an index. */
static resplit_status trim(const rs_shards *shards, resplit_error *err)
{
    char path[RS_PATH_MAX];
    for (int64_t i = 0; i < shards->n; i++) {
        RS_TRY(path_of(shards, i, path, err));
        RS_TRY(cut_off(path, atomic_load(&shards->next[i]), err));
    }
    return RESPLIT_OK;
}

/* Of their blocks. */
static resplit_status find_entry(void *payload, const int64_t *index, rs_place *out, resplit_error *err)
{
    const rs_shards *shards = payload;
    uint64_t entry[2] = {0, 0};
    ssize_t got;
    do {
        got = pread(shards->fd, entry, sizeof entry, entry_of(shards, index));
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return rs_fail_errno(err, errno, "cannot read the index of the blocks of '%s'", shards->root);
    }
    bool there = got == (ssize_t)sizeof entry && entry[1] != 0; /* what nobody wrote is missing */
    *out = (rs_place){.missing = !there, .offset = (int64_t)entry[0], .bytes = (int64_t)entry[1]};
    return RESPLIT_OK;
}

resplit_status rs_shards_finish(rs_shards *shards, resplit_error *err)
{
    if (rs_array_is_sealed(shards->array)) {
        RS_TRY(trim(shards, err));
        rs_file_range files = {shards->lo, shards->hi};
        return rs_array_seal(shards->array, shards->root, files, find_entry, shards, err);
    }
    int64_t n = rs_array_shard_blocks(shards->array);
    uint64_t *entries = calloc((size_t)n, ENTRY);
    if (entries == NULL) {
        return rs_fail_errno(err, ENOMEM, "cannot allocate an index of %lld blocks", (long long)n);
    }
    resplit_status rc = finish(shards, entries, err);
    free(entries);
    return rc;
}
