/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * record.c - writes down every call that changes files under a folder, in the order in which they took effect. Loaded
 * with LD_PRELOAD, read by tests/python/powerloss.py:
 *
 *     RESPLIT_RECORD_ROOT  the folder
 *     RESPLIT_RECORD_LOG   the log, which lies elsewhere: an `entry`, two paths and data, again and again
 *
 * One lock is held around each call and its entry, so that the log is a total order also when there are threads. Calls
 * that failed changed nothing and are left out. What is not seen (stdio, io_uring) shows as a difference when the log
 * is replayed in full, which every test does, or as another size of a file that is removed. A shared mapping ends the
 * program.
 */
#undef _FORTIFY_SOURCE
#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

typedef enum what { CREATE = 1, WRITE, TRUNCATE, ALLOCATE, MKDIR, RENAME, LINK, REMOVE, SYNC, SYNC_ALL } what;

typedef struct entry {
    uint32_t what;
    uint32_t flags; /* WRITE: 1, it is on disk; ALLOCATE: the mode; RENAME: its flags */
    uint64_t file;  /* inode number */
    int64_t at, n;  /* bytes; TRUNCATE: n is the new size; REMOVE: the size it had, -1: a folder */
    uint32_t path_bytes, to_bytes;
    uint64_t data_bytes;
} entry;

static int log_fd = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("RESPLIT_RECORD_LOG");
    if (path == NULL) {
        return;
    }
    int fd = REAL(open)(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    log_fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 500); /* out of the way of the program's own */
    if (log_fd < 0) {
        watch_die("RESPLIT_RECORD_LOG cannot be written");
    }
    (void)close(fd);
    watch_begin("RESPLIT_RECORD_ROOT");
}

static void put(const void *bytes, size_t n)
{
    for (size_t done = 0; done < n;) {
        long put = syscall(SYS_write, log_fd, (const char *)bytes + done, n - done);
        if (put <= 0) {
            watch_die("RESPLIT_RECORD_LOG cannot be written");
        }
        done += (size_t)put;
    }
}

static void note(entry e, const char *path, const char *to, const void *data)
{
    int error = errno;
    e.path_bytes = (uint32_t)strlen(path);
    e.to_bytes = (uint32_t)strlen(to);
    put(&e, sizeof e);
    put(path, e.path_bytes);
    put(to, e.to_bytes);
    if (data != NULL) {
        put(data, e.data_bytes);
    }
    errno = error;
}

static uint64_t inode_of(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 ? (uint64_t)st.st_ino : 0;
}

/* ---- Data ---------------------------------------------------------------------------------- */

/* Where the n bytes that were just written went; `at` < 0: where the position is now. */
static int64_t place_of(int fd, int64_t at, int64_t n)
{
    struct stat st;
    if ((fcntl(fd, F_GETFL) & O_APPEND) != 0 && fstat(fd, &st) == 0) {
        return (int64_t)st.st_size - n;
    }
    return at >= 0 ? at : (int64_t)lseek(fd, 0, SEEK_CUR) - n;
}

static bool is_synced(int fd, int flags)
{
    return (flags & (RWF_DSYNC | RWF_SYNC)) != 0 || (fcntl(fd, F_GETFL) & O_DSYNC) != 0;
}

static void note_write(int fd, const struct iovec *areas, int64_t at, ssize_t done, int flags)
{
    if (done <= 0) {
        return;
    }
    int error = errno;
    entry e = {.what = WRITE, .flags = is_synced(fd, flags), .file = inode_of(fd), .n = done};
    e.at = place_of(fd, at, done);
    e.data_bytes = (uint64_t)done;
    note(e, "", "", NULL);
    for (size_t left = (size_t)done; left > 0; areas++) {
        size_t n = areas->iov_len < left ? areas->iov_len : left;
        put(areas->iov_base, n);
        left -= n;
    }
    errno = error;
}

/* The same for bytes that the system moved by itself: read back, with what the descriptor allows. */
static void note_moved(int fd, int64_t at, int64_t n)
{
    char name[32];
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    int again = REAL(open)(name, O_RDONLY | O_CLOEXEC);
    char *bytes = malloc((size_t)n);
    if (again < 0 || bytes == NULL || pread(again, bytes, (size_t)n, at) != n) {
        watch_die("cannot read back what was moved");
    }
    note((entry){.what = WRITE, .file = inode_of(fd), .at = at, .n = n, .data_bytes = (uint64_t)n}, "", "", bytes);
    free(bytes);
    (void)close(again);
}

#define RECORDED_WRITE(name, parameters, arguments, areas, at, flags)                                                  \
    ssize_t name parameters                                                                                            \
    {                                                                                                                  \
        if (!watch_fd(fd)) {                                                                                           \
            return REAL(name) arguments;                                                                               \
        }                                                                                                              \
        pthread_mutex_lock(&lock);                                                                                     \
        ssize_t done = REAL(name) arguments;                                                                           \
        note_write(fd, areas, at, done, flags);                                                                        \
        pthread_mutex_unlock(&lock);                                                                                   \
        return done;                                                                                                   \
    }
#define BYTES int fd, const void *bytes, size_t n
#define AREAS int fd, const struct iovec *areas, int n
#define ONE (&(struct iovec){(void *)(uintptr_t)bytes, n})

RECORDED_WRITE(write, (BYTES), (fd, bytes, n), ONE, -1, 0)
RECORDED_WRITE(pwrite, (BYTES, off_t at), (fd, bytes, n, at), ONE, at, 0)
RECORDED_WRITE(pwrite64, (BYTES, off64_t at), (fd, bytes, n, at), ONE, at, 0)
RECORDED_WRITE(writev, (AREAS), (fd, areas, n), areas, -1, 0)
RECORDED_WRITE(pwritev, (AREAS, off_t at), (fd, areas, n, at), areas, at, 0)
RECORDED_WRITE(pwritev64, (AREAS, off64_t at), (fd, areas, n, at), areas, at, 0)
RECORDED_WRITE(pwritev2, (AREAS, off_t at, int flags), (fd, areas, n, at, flags), areas, at, flags)
RECORDED_WRITE(pwritev64v2, (AREAS, off64_t at, int flags), (fd, areas, n, at, flags), areas, at, flags)

ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *to_at, size_t n, unsigned flags)
{
    bool watched = watch_fd(to);
    pthread_mutex_lock(&lock);
    int64_t place = to_at != NULL ? *to_at : lseek(to, 0, SEEK_CUR);
    ssize_t done = REAL(copy_file_range)(from, at, to, to_at, n, flags);
    if (watched && done > 0) {
        note_moved(to, place, done);
    }
    pthread_mutex_unlock(&lock);
    return done;
}

ssize_t sendfile(int to, int from, off_t *at, size_t n)
{
    bool watched = watch_fd(to);
    pthread_mutex_lock(&lock);
    int64_t place = lseek(to, 0, SEEK_CUR);
    ssize_t done = REAL(sendfile)(to, from, at, n);
    if (watched && done > 0) {
        note_moved(to, place, done);
    }
    pthread_mutex_unlock(&lock);
    return done;
}

/* A file that shares the blocks of another one was written. */
int ioctl(int fd, unsigned long request, ...)
{
    va_list list;
    va_start(list, request);
    void *argument = va_arg(list, void *);
    va_end(list);
    bool clones = (request == FICLONE || request == FICLONERANGE) && watch_fd(fd);
    struct stat st;
    if (!clones) {
        return REAL(ioctl)(fd, request, argument);
    }
    pthread_mutex_lock(&lock);
    int failed = REAL(ioctl)(fd, request, argument);
    if (failed == 0 && fstat(fd, &st) == 0 && st.st_size > 0) {
        note_moved(fd, 0, (int64_t)st.st_size);
    }
    pthread_mutex_unlock(&lock);
    return failed;
}

#define MAP(name, offset_type)                                                                                         \
    void *name(void *at, size_t n, int protection, int flags, int fd, offset_type offset)                              \
    {                                                                                                                  \
        if ((flags & MAP_SHARED) != 0 && (protection & PROT_WRITE) != 0 && watch_fd(fd)) {                             \
            watch_die("what is written through a mapping cannot be recorded");                                         \
        }                                                                                                              \
        return REAL(name)(at, n, protection, flags, fd, offset);                                                       \
    }
MAP(mmap, off_t)
MAP(mmap64, off64_t)

/* ---- Calls on a descriptor ----------------------------------------------------------------- */

#define ON_FD(name, parameters, arguments, ...)                                                                        \
    int name parameters                                                                                                \
    {                                                                                                                  \
        if (!watch_fd(fd)) {                                                                                           \
            return REAL(name) arguments;                                                                               \
        }                                                                                                              \
        pthread_mutex_lock(&lock);                                                                                     \
        int failed = REAL(name) arguments;                                                                             \
        if (failed == 0) {                                                                                             \
            note((entry){.file = inode_of(fd), __VA_ARGS__}, "", "", NULL);                                            \
        }                                                                                                              \
        pthread_mutex_unlock(&lock);                                                                                   \
        return failed;                                                                                                 \
    }

ON_FD(ftruncate, (int fd, off_t n), (fd, n), .what = TRUNCATE, .n = n)
ON_FD(ftruncate64, (int fd, off64_t n), (fd, n), .what = TRUNCATE, .n = n)
ON_FD(fallocate, (int fd, int mode, off_t at, off_t n), (fd, mode, at, n), .what = ALLOCATE, .flags = (uint32_t)mode,
      .at = at, .n = n)
ON_FD(fallocate64, (int fd, int mode, off64_t at, off64_t n), (fd, mode, at, n), .what = ALLOCATE,
      .flags = (uint32_t)mode, .at = at, .n = n)
ON_FD(posix_fallocate, (int fd, off_t at, off_t n), (fd, at, n), .what = ALLOCATE, .at = at, .n = n)
ON_FD(posix_fallocate64, (int fd, off64_t at, off64_t n), (fd, at, n), .what = ALLOCATE, .at = at, .n = n)
ON_FD(fsync, (int fd), (fd), .what = SYNC)
ON_FD(fdatasync, (int fd), (fd), .what = SYNC)
ON_FD(syncfs, (int fd), (fd), .what = SYNC_ALL)

void sync(void)
{
    pthread_mutex_lock(&lock);
    REAL(sync)();
    if (log_fd >= 0) {
        note((entry){.what = SYNC_ALL}, "", "", NULL);
    }
    pthread_mutex_unlock(&lock);
}

/* ---- Calls on a path ----------------------------------------------------------------------- */

/* Of a file; -1: it is none. */
static int64_t size_of(int folder, const char *path)
{
    struct stat st;
    int error = errno;
    bool is_file = fstatat(folder, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
    errno = error;
    return is_file ? (int64_t)st.st_size : -1;
}

/* One that makes, moves or removes a name: `path` is the one it is about, `to` its other one. */
static void note_name(what kind, int64_t size, int folder, const char *path, int to_folder, const char *to,
                      unsigned flags)
{
    char inside[PATH_MAX], to_inside[PATH_MAX] = "";
    struct stat st = {0};
    int error = errno;
    if (watch_path(folder, path, inside) && (to == NULL || watch_path(to_folder, to, to_inside))) {
        if (kind == MKDIR || kind == LINK || kind == CREATE) {
            (void)fstatat(folder, path, &st, AT_SYMLINK_NOFOLLOW);
        }
        note((entry){.what = kind, .flags = flags, .file = (uint64_t)st.st_ino, .n = size}, inside, to_inside, NULL);
    }
    errno = error;
}

#define ON_NAME(name, parameters, arguments, kind, folder, ...)                                                        \
    int name parameters                                                                                                \
    {                                                                                                                  \
        pthread_mutex_lock(&lock);                                                                                     \
        int64_t size = size_of(folder, path);                                                                          \
        int failed = REAL(name) arguments;                                                                             \
        if (failed == 0) {                                                                                             \
            note_name(kind, size, folder, path, __VA_ARGS__);                                                          \
        }                                                                                                              \
        pthread_mutex_unlock(&lock);                                                                                   \
        return failed;                                                                                                 \
    }
#define ALONE 0, NULL, 0

ON_NAME(mkdir, (const char *path, mode_t mode), (path, mode), MKDIR, AT_FDCWD, ALONE)
ON_NAME(mkdirat, (int at, const char *path, mode_t mode), (at, path, mode), MKDIR, at, ALONE)
ON_NAME(unlink, (const char *path), (path), REMOVE, AT_FDCWD, ALONE)
ON_NAME(unlinkat, (int at, const char *path, int flags), (at, path, flags), REMOVE, at, ALONE)
ON_NAME(rmdir, (const char *path), (path), REMOVE, AT_FDCWD, ALONE)
ON_NAME(remove, (const char *path), (path), REMOVE, AT_FDCWD, ALONE)
ON_NAME(link, (const char *old, const char *path), (old, path), LINK, AT_FDCWD, ALONE)
ON_NAME(linkat, (int from, const char *old, int at, const char *path, int flags), (from, old, at, path, flags), LINK,
        at, ALONE)
ON_NAME(rename, (const char *path, const char *to), (path, to), RENAME, AT_FDCWD, AT_FDCWD, to, 0)
ON_NAME(renameat, (int from, const char *path, int at, const char *to), (from, path, at, to), RENAME, from, at, to, 0)
ON_NAME(renameat2, (int from, const char *path, int at, const char *to, unsigned flags), (from, path, at, to, flags),
        RENAME, from, at, to, flags)

/* ---- Opening ------------------------------------------------------------------------------- */

/* After an open: was the file made, or emptied? */
static void note_open(int fd, int folder, const char *path, int flags, bool existed)
{
    if (fd < 0 || !watch_fd(fd)) {
        return;
    }
    if ((flags & O_TMPFILE) == O_TMPFILE) {
        note((entry){.what = CREATE, .file = inode_of(fd)}, "", "", NULL);
    } else if ((flags & O_CREAT) != 0 && !existed) {
        note_name(CREATE, 0, folder, path, 0, NULL, 0);
    } else if ((flags & O_TRUNC) != 0) {
        note((entry){.what = TRUNCATE, .file = inode_of(fd)}, "", "", NULL);
    }
}

#define ON_OPEN(name, parameters, folder, ...)                                                                         \
    int name parameters                                                                                                \
    {                                                                                                                  \
        struct stat st;                                                                                                \
        va_list list;                                                                                                  \
        va_start(list, flags);                                                                                         \
        mode_t mode = NEEDS_MODE(flags) ? va_arg(list, mode_t) : 0;                                                    \
        va_end(list);                                                                                                  \
        if (!NEEDS_MODE(flags) && (flags & O_TRUNC) == 0) {                                                            \
            return REAL(name)(__VA_ARGS__, mode);                                                                      \
        }                                                                                                              \
        pthread_mutex_lock(&lock);                                                                                     \
        bool existed = fstatat(folder, path, &st, AT_SYMLINK_NOFOLLOW) == 0;                                           \
        int fd = REAL(name)(__VA_ARGS__, mode);                                                                        \
        note_open(fd, folder, path, flags, existed);                                                                   \
        pthread_mutex_unlock(&lock);                                                                                   \
        return fd;                                                                                                     \
    }
#define ON_TEMPORARY(name, parameters, arguments)                                                                      \
    int name parameters                                                                                                \
    {                                                                                                                  \
        pthread_mutex_lock(&lock);                                                                                     \
        int fd = REAL(name) arguments;                                                                                 \
        note_open(fd, AT_FDCWD, path, O_CREAT, false);                                                                 \
        pthread_mutex_unlock(&lock);                                                                                   \
        return fd;                                                                                                     \
    }

ON_OPEN(open, (const char *path, int flags, ...), AT_FDCWD, path, flags)
ON_OPEN(open64, (const char *path, int flags, ...), AT_FDCWD, path, flags)
ON_OPEN(openat, (int folder, const char *path, int flags, ...), folder, folder, path, flags)
ON_OPEN(openat64, (int folder, const char *path, int flags, ...), folder, folder, path, flags)
ON_TEMPORARY(mkstemp, (char *path), (path))
ON_TEMPORARY(mkstemp64, (char *path), (path))
ON_TEMPORARY(mkostemp, (char *path, int flags), (path, flags))
ON_TEMPORARY(mkostemp64, (char *path, int flags), (path, flags))
