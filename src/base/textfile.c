/* SPDX-License-Identifier: BSD-3-Clause */
/* textfile.c - small files: read whole, and written whole or not at all. */
#include "base/textfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static resplit_status read_all(int fd, const char *path, size_t most, rs_text *out, resplit_error *err)
{
    char bytes[16 * 1024];
    for (;;) {
        ssize_t n = read(fd, bytes, sizeof bytes);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return rs_fail_errno(err, errno, "cannot read '%s'", path);
        }
        if (n == 0) {
            return RESPLIT_OK;
        }
        if ((size_t)n > most - out->n) { /* it grew since it was looked at */
            return rs_fail(err, RESPLIT_EFORMAT, "'%s' has more than the %zu bytes that are read", path, most);
        }
        RS_TRY(rs_text_add_bytes(out, bytes, (size_t)n, err));
    }
}

resplit_status rs_textfile_read(const char *path, size_t most, rs_text *out, resplit_error *err)
{
    struct stat status;
    resplit_status rc;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a pipe is refused, not waited for */
    *out = (rs_text){0};
    if (fd < 0) {
        return rs_fail_errno(err, errno, "cannot open '%s'", path);
    }
    if (fstat(fd, &status) != 0) {
        rc = rs_fail_errno(err, errno, "cannot look at '%s'", path);
    } else if (!S_ISREG(status.st_mode)) {
        rc = rs_fail(err, RESPLIT_EFORMAT, "'%s' is not a regular file", path);
    } else if ((uint64_t)status.st_size > most) {
        rc = rs_fail(err, RESPLIT_EFORMAT, "'%s' has %lld bytes; at most %zu are read", path, (long long)status.st_size,
                     most);
    } else {
        rc = read_all(fd, path, most, out, err);
    }
    close(fd);
    return rc;
}

static resplit_status write_all(int fd, const char *path, const rs_text *text, resplit_error *err)
{
    size_t done = 0;
    while (done < text->n) {
        ssize_t n = write(fd, text->s + done, text->n - done);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return rs_fail_errno(err, errno, "cannot write '%s'", path);
        }
        done += (size_t)n;
    }
    return fsync(fd) == 0 ? RESPLIT_OK : rs_fail_errno(err, errno, "cannot bring '%s' to disk", path);
}

resplit_status rs_textfile_write(const char *path, const rs_text *text, resplit_error *err)
{
    rs_text part = {0};
    resplit_status rc = rs_text_add(&part, err, "%s.resplit-new", path);
    int fd = -1;
    if (rc != RESPLIT_OK) {
        goto out;
    }
    fd = open(part.s, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0) {
        rc = rs_fail_errno(err, errno, "cannot write '%s'", path);
        goto out;
    }
    rc = write_all(fd, path, text, err);
    if (close(fd) != 0 && rc == RESPLIT_OK) {
        rc = rs_fail_errno(err, errno, "cannot write '%s'", path);
    }
    if (rc == RESPLIT_OK && rename(part.s, path) != 0) {
        rc = rs_fail_errno(err, errno, "cannot write '%s'", path);
    }
    if (rc != RESPLIT_OK) {
        (void)unlink(part.s);
    }
out:
    rs_text_release(&part);
    return rc;
}
