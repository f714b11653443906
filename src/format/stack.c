/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stack.c - folders written by dask.array.to_npy_stack: 0.npy, 1.npy, ... stacked along one axis, and a file `info`.
 *
 * `info` is a pickle of {"chunks": ..., "dtype": ..., "axis": n}. A pickle is a program; it is never run here. The one
 * number that is needed stands right after the text "axis", whatever the protocol (2 to 5), and is looked for there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/folder.h"

enum { MAX_INFO = 16 << 20 };

/* Opcodes of pickle: text, notes to self, integers. */
enum {
    PROTO = 0x80,
    SHORT_BINUNICODE = 0x8c,
    BINUNICODE = 'X',
    MEMOIZE = 0x94,
    BINPUT = 'q',
    LONG_BINPUT = 'r',
    BININT1 = 'K',
    BININT2 = 'M',
    BININT = 'J',
};

/* The integer that is pushed at s, after an optional note; -1 when there is none. */
static int64_t pushed_integer(const unsigned char *s, const unsigned char *end)
{
    if (s < end && (*s == MEMOIZE || *s == BINPUT || *s == LONG_BINPUT)) {
        ptrdiff_t note = *s == MEMOIZE ? 1 : *s == BINPUT ? 2 : 5;
        if (end - s < note) {
            return -1;
        }
        s += note;
    }
    if (end - s >= 2 && *s == BININT1) {
        return s[1];
    }
    if (end - s >= 3 && *s == BININT2) {
        return s[1] | s[2] << 8;
    }
    if (end - s >= 5 && *s == BININT && s[4] < 0x80) {
        return s[1] | s[2] << 8 | s[3] << 16 | (int64_t)s[4] << 24;
    }
    return -1;
}

/* The last "axis" that an integer follows; the key stands last in what Dask writes. */
static int64_t find_axis(const unsigned char *s, size_t n)
{
    static const unsigned char brief[] = {SHORT_BINUNICODE, 4, 'a', 'x', 'i', 's'};
    static const unsigned char wide[] = {BINUNICODE, 4, 0, 0, 0, 'a', 'x', 'i', 's'};
    int64_t axis = -1;
    for (size_t i = 0; i < n; i++) {
        size_t k = n - i >= sizeof brief && memcmp(s + i, brief, sizeof brief) == 0 ? sizeof brief
                   : n - i >= sizeof wide && memcmp(s + i, wide, sizeof wide) == 0  ? sizeof wide
                                                                                    : 0;
        int64_t value = k == 0 ? -1 : pushed_integer(s + i + k, s + n);
        axis = value >= 0 ? value : axis;
    }
    return axis;
}

/* The file as a whole; *bytes is NULL when it is missing, no file, or no pickle. The caller frees it. */
static resplit_status load_info(const rs_folder *folder, const char *shown, unsigned char **bytes, size_t *n,
                                resplit_error *err)
{
    struct stat status;
    resplit_status rc = RESPLIT_OK;
    *bytes = NULL;
    int fd = openat(folder->fd, "info", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return errno == ENOENT ? RESPLIT_OK : rs_fail_errno(err, errno, "cannot open '%s'", shown);
    }
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size < 2 || status.st_size > MAX_INFO) {
        goto out;
    }
    *n = (size_t)status.st_size;
    *bytes = malloc(*n);
    if (*bytes == NULL) {
        rc = rs_fail(err, RESPLIT_ENOMEM, "no memory for '%s'", shown);
        goto out;
    }
    ssize_t got = pread(fd, *bytes, *n, 0); /* a regular file gives all of it at once */
    if (got < 0) {
        rc = rs_fail_errno(err, errno, "cannot read '%s'", shown);
    }
    if (got != (ssize_t)*n || (*bytes)[0] != PROTO) {
        free(*bytes);
        *bytes = NULL;
    }
out:
    close(fd);
    return rc;
}

resplit_status rs_stack_axis(const rs_folder *folder, bool *found, int *axis, resplit_error *err)
{
    char shown[RS_SHOWN_PATH];
    unsigned char *bytes;
    size_t n = 0;

    *found = false;
    *axis = 0;
    if (faccessat(folder->fd, "0.npy", F_OK, 0) != 0) {
        return RESPLIT_OK;
    }
    RS_TRY(load_info(folder, rs_folder_show(folder, "info", shown), &bytes, &n, err));
    if (bytes == NULL) {
        return RESPLIT_OK;
    }
    int64_t value = find_axis(bytes, n);
    free(bytes);
    if (value < 0 || value >= RS_MAX_NDIM) {
        return rs_fail(err, RESPLIT_EFORMAT, "'%s' does not tell the axis of a stack: give a pattern, such as {0}.npy",
                       shown);
    }
    *found = true;
    *axis = (int)value;
    return RESPLIT_OK;
}
