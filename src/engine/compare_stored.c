/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare_stored.c - compares arrays whose blocks nobody here can decode: byte for byte as they are stored. Same bytes
 * under the same metadata are the same values; different ones may be, but nobody can tell.
 */
#include "engine/run.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 1 << 15 }; /* bytes at once */

static resplit_status open_block(const resplit_array *array, const int64_t *index, int *fd, char path[RS_PATH_MAX],
                                 resplit_error *err)
{
    char name[RS_NAME_MAX];
    *fd = -1;
    RS_TRY(rs_array_block_name(array, index, name, err));
    RS_TRY(rs_path_join(array->path, name, path, err));
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    return *fd >= 0 || errno == ENOENT ? RESPLIT_OK : rs_fail_errno(err, errno, "cannot open '%s'", path);
}

/* As many bytes as there are, up to a piece. */
static resplit_status read_piece(int fd, const char *path, int64_t at, char *bytes, ssize_t *n, resplit_error *err)
{
    *n = 0;
    while (*n < PIECE) {
        ssize_t got = pread(fd, bytes + *n, (size_t)(PIECE - *n), at + *n);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return rs_fail_errno(err, errno, "cannot read '%s'", path);
        }
        if (got == 0) {
            break;
        }
        *n += got;
    }
    return RESPLIT_OK;
}

static resplit_status compare_files(const int fd[2], char path[2][RS_PATH_MAX], bool *equal, resplit_error *err)
{
    char bytes[2][PIECE];
    ssize_t n[2] = {PIECE, PIECE};
    *equal = (fd[0] < 0) == (fd[1] < 0);
    for (int64_t at = 0; *equal && fd[0] >= 0 && n[0] == PIECE; at += PIECE) {
        for (int i = 0; i < 2; i++) {
            RS_TRY(read_piece(fd[i], path[i], at, bytes[i], &n[i], err));
        }
        *equal = n[0] == n[1] && memcmp(bytes[0], bytes[1], (size_t)n[0]) == 0;
    }
    return RESPLIT_OK;
}

static resplit_status compare_block(const resplit_array *a, const resplit_array *b, const int64_t *index, bool *equal,
                                    resplit_error *err)
{
    char path[2][RS_PATH_MAX];
    int fd[2] = {-1, -1};
    *equal = false;
    resplit_status rc = open_block(a, index, &fd[0], path[0], err);
    rc = rc != RESPLIT_OK ? rc : open_block(b, index, &fd[1], path[1], err);
    rc = rc != RESPLIT_OK ? rc : compare_files(fd, path, equal, err);
    for (int i = 0; i < 2; i++) {
        if (fd[i] >= 0) {
            (void)close(fd[i]);
        }
    }
    return rc;
}

/* The next file's first block; false past the last. */
static bool next_file(const resplit_array *array, int64_t *index)
{
    for (int d = array->layout.ndim - 1; d >= 0; d--) {
        index[d] += rs_max(1, array->shard[d]);
        if (index[d] < array->layout.axis[d].n) {
            return true;
        }
        index[d] = 0;
    }
    return false;
}

resplit_status rs_compare_stored(const resplit_array *a, const resplit_array *b, bool *equal, int64_t *index,
                                 resplit_error *err)
{
    int64_t at[RS_MAX_NDIM] = {0};
    *equal = true;
    if (a->info.n_elements == 0) {
        return RESPLIT_OK;
    }
    do {
        RS_TRY(compare_block(a, b, at, equal, err));
    } while (*equal && next_file(a, at));
    for (int d = 0; d < a->layout.ndim && !*equal; d++) {
        index[d] = rs_axis_span(&a->layout.axis[d], at[d]).lo;
    }
    return RESPLIT_OK;
}
