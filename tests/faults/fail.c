/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fail.c - makes one call fail. Loaded with LD_PRELOAD, driven by the environment (tests/python/test_faults.py):
 *
 *     RESPLIT_FAIL_ROOT    only files under this folder are counted; allocations are counted wherever they are
 *     RESPLIT_FAIL_REPORT  file that gets the counts: one uint64_t per kind, then how often a call was made to fail. It
 *                          is mapped, so that it is right whatever becomes of the program
 *     RESPLIT_FAIL_KIND    which calls: a name of kind_names
 *     RESPLIT_FAIL_AT      the n-th of them, from 1; 0: none, they are only counted
 *     RESPLIT_FAIL_ERRNO   what it says
 *     RESPLIT_FAIL_SHORT   1: reads and writes do not fail but move about half of what was asked for
 *     RESPLIT_FAIL_LASTING 1: all that follow fail too, as on a disk that is full
 *     RESPLIT_FAIL_KILL    1: the program does not come back from the call, nor is it made: SIGKILL
 *     RESPLIT_FAIL_SLEEP   so many microseconds are lost before each write, as on a slow disk
 */
#undef _FORTIFY_SOURCE
#include "watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

typedef enum kind { READ, WRITE, OPEN, CLOSE, RENAME, SYNC, ALLOC, TRUNCATE, MKDIR, UNLINK, LINK, N_KINDS } kind;

static const char *const kind_names[N_KINDS] = {
    [READ] = "read",     [WRITE] = "write",   [OPEN] = "open",   [CLOSE] = "close",
    [RENAME] = "rename", [SYNC] = "fsync",    [ALLOC] = "alloc", [TRUNCATE] = "truncate",
    [MKDIR] = "mkdir",   [UNLINK] = "unlink", [LINK] = "link",
};

typedef struct report {
    _Atomic uint64_t calls[N_KINDS];
    _Atomic uint64_t fired;
} report;

static report *told; /* NULL: nothing is counted yet, or at all */
static kind chosen = N_KINDS;
static uint64_t chosen_at;
static int chosen_errno;
static bool is_short, is_lasting, is_deadly;
static unsigned slept_us;

/* libc's own names: to look malloc up would take memory. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *memory, size_t n);
void *__libc_memalign(size_t alignment, size_t n);

__attribute__((constructor)) static void begin(void)
{
    const char *name = getenv("RESPLIT_FAIL_KIND"), *path = getenv("RESPLIT_FAIL_REPORT");
    if (path == NULL) {
        return;
    }
    for (int i = 0; name != NULL && i < N_KINDS; i++) {
        chosen = strcmp(name, kind_names[i]) == 0 ? (kind)i : chosen;
    }
    if (name != NULL && chosen == N_KINDS) {
        watch_die("RESPLIT_FAIL_KIND names no kind");
    }
    chosen_at = (uint64_t)watch_number("RESPLIT_FAIL_AT", 0);
    chosen_errno = (int)watch_number("RESPLIT_FAIL_ERRNO", EIO);
    is_short = watch_number("RESPLIT_FAIL_SHORT", 0) != 0;
    is_lasting = watch_number("RESPLIT_FAIL_LASTING", 0) != 0;
    is_deadly = watch_number("RESPLIT_FAIL_KILL", 0) != 0;
    slept_us = (unsigned)watch_number("RESPLIT_FAIL_SLEEP", 0);
    int fd = REAL(open)(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 || REAL(ftruncate)(fd, (off_t)sizeof *told) != 0) {
        watch_die("RESPLIT_FAIL_REPORT cannot be written");
    }
    void *memory = REAL(mmap)(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        watch_die("RESPLIT_FAIL_REPORT cannot be mapped");
    }
    (void)REAL(close)(fd);
    watch_begin("RESPLIT_FAIL_ROOT");
    told = memory;
}

/* Counts a call. Is it the one? */
static bool is_hit(kind what)
{
    if (told == NULL) {
        return false;
    }
    uint64_t n = atomic_fetch_add(&told->calls[what], 1) + 1;
    if (what != chosen || chosen_at == 0 || (is_lasting ? n < chosen_at : n != chosen_at)) {
        return false;
    }
    (void)atomic_fetch_add(&told->fired, 1);
    if (is_deadly) {
        (void)raise(SIGKILL);
    }
    return true;
}

static bool fails(kind what)
{
    if (!is_hit(what)) {
        return false;
    }
    errno = chosen_errno;
    return true;
}

static bool fails_fd(kind what, int fd)
{
    return told != NULL && watch_fd(fd) && fails(what);
}

static bool fails_path(kind what, int folder, const char *path)
{
    char inside[PATH_MAX];
    return told != NULL && watch_path(folder, path, inside) && fails(what);
}

/* ---- Memory -------------------------------------------------------------------------------- */

void *malloc(size_t n)
{
    return fails(ALLOC) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    return fails(ALLOC) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *memory, size_t n)
{
    return fails(ALLOC) ? NULL : __libc_realloc(memory, n);
}

void *aligned_alloc(size_t alignment, size_t n)
{
    return fails(ALLOC) ? NULL : __libc_memalign(alignment, n);
}

void *memalign(size_t alignment, size_t n);
void *memalign(size_t alignment, size_t n)
{
    return fails(ALLOC) ? NULL : __libc_memalign(alignment, n);
}

int posix_memalign(void **out, size_t alignment, size_t n)
{
    int error = errno;
    void *memory = fails(ALLOC) ? NULL : __libc_memalign(alignment, n);
    errno = error;
    if (memory == NULL) {
        return ENOMEM;
    }
    *out = memory;
    return 0;
}

#define MAP(name, offset_type)                                                                                         \
    void *name(void *at, size_t n, int protection, int flags, int fd, offset_type offset)                              \
    {                                                                                                                  \
        bool memory = (flags & MAP_ANONYMOUS) != 0;                                                                    \
        return memory && fails(ALLOC) ? MAP_FAILED : REAL(name)(at, n, protection, flags, fd, offset);                 \
    }
MAP(mmap, off_t)
MAP(mmap64, off64_t)

/* ---- Reading and writing ------------------------------------------------------------------- */

enum { DONE = 0, FAILED = -1, SHORT = 1 };

static int transfer(kind what, int fd)
{
    if (told == NULL || !watch_fd(fd)) {
        return DONE;
    }
    if (what == WRITE && slept_us > 0) {
        (void)usleep(slept_us);
    }
    if (!is_hit(what)) {
        return DONE;
    }
    errno = chosen_errno;
    return is_short ? SHORT : FAILED;
}

/* About half, and whole sectors where there are some: direct I/O is cut there. */
static size_t half(size_t n)
{
    return n >= 1024 ? n / 2 / 512 * 512 : (n + 1) / 2;
}

#define MOVE(what, name, memory)                                                                                       \
    ssize_t name(int fd, memory bytes, size_t n)                                                                       \
    {                                                                                                                  \
        int how = transfer(what, fd);                                                                                  \
        return how == FAILED ? -1 : REAL(name)(fd, bytes, how == SHORT ? half(n) : n);                                 \
    }
#define MOVE_AT(what, name, memory, offset_type)                                                                       \
    ssize_t name(int fd, memory bytes, size_t n, offset_type at)                                                       \
    {                                                                                                                  \
        int how = transfer(what, fd);                                                                                  \
        return how == FAILED ? -1 : REAL(name)(fd, bytes, how == SHORT ? half(n) : n, at);                             \
    }
/* A short one moves half of the first area. */
#define MOVE_VECTOR(what, name, parameters, arguments)                                                                 \
    ssize_t name parameters                                                                                            \
    {                                                                                                                  \
        int how = n > 0 ? transfer(what, fd) : DONE;                                                                   \
        struct iovec first;                                                                                            \
        if (how == SHORT) {                                                                                            \
            first = (struct iovec){areas[0].iov_base, half(areas[0].iov_len)};                                         \
            areas = &first;                                                                                            \
            n = 1;                                                                                                     \
        }                                                                                                              \
        return how == FAILED ? -1 : REAL(name) arguments;                                                              \
    }
#define AREAS int fd, const struct iovec *areas, int n

MOVE(READ, read, void *)
MOVE(WRITE, write, const void *)
MOVE_AT(READ, pread, void *, off_t)
MOVE_AT(READ, pread64, void *, off64_t)
MOVE_AT(WRITE, pwrite, const void *, off_t)
MOVE_AT(WRITE, pwrite64, const void *, off64_t)
MOVE_VECTOR(READ, readv, (AREAS), (fd, areas, n))
MOVE_VECTOR(WRITE, writev, (AREAS), (fd, areas, n))
MOVE_VECTOR(READ, preadv, (AREAS, off_t at), (fd, areas, n, at))
MOVE_VECTOR(READ, preadv64, (AREAS, off64_t at), (fd, areas, n, at))
MOVE_VECTOR(READ, preadv2, (AREAS, off_t at, int flags), (fd, areas, n, at, flags))
MOVE_VECTOR(READ, preadv64v2, (AREAS, off64_t at, int flags), (fd, areas, n, at, flags))
MOVE_VECTOR(WRITE, pwritev, (AREAS, off_t at), (fd, areas, n, at))
MOVE_VECTOR(WRITE, pwritev64, (AREAS, off64_t at), (fd, areas, n, at))
MOVE_VECTOR(WRITE, pwritev2, (AREAS, off_t at, int flags), (fd, areas, n, at, flags))
MOVE_VECTOR(WRITE, pwritev64v2, (AREAS, off64_t at, int flags), (fd, areas, n, at, flags))

ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *to_at, size_t n, unsigned flags)
{
    int how = transfer(WRITE, to);
    return how == FAILED ? -1 : REAL(copy_file_range)(from, at, to, to_at, how == SHORT ? half(n) : n, flags);
}

ssize_t sendfile(int to, int from, off_t *at, size_t n)
{
    int how = transfer(WRITE, to);
    return how == FAILED ? -1 : REAL(sendfile)(to, from, at, how == SHORT ? half(n) : n);
}

/* Sharing the blocks of another file (FICLONE) is a way of writing. */
int ioctl(int fd, unsigned long request, ...)
{
    va_list list;
    va_start(list, request);
    void *argument = va_arg(list, void *);
    va_end(list);
    return transfer(WRITE, fd) == FAILED ? -1 : REAL(ioctl)(fd, request, argument);
}

/* ---- The rest: one line for each spelling -------------------------------------------------- */

#define ON_FD(what, name, parameters, arguments)                                                                       \
    int name parameters                                                                                                \
    {                                                                                                                  \
        return fails_fd(what, fd) ? -1 : REAL(name) arguments;                                                         \
    }
#define ON_PATH(what, result, name, parameters, arguments, folder, failure)                                            \
    result name parameters                                                                                             \
    {                                                                                                                  \
        return fails_path(what, folder, path) ? failure : REAL(name) arguments;                                        \
    }
#define ON_OPEN(name, parameters, folder, ...)                                                                         \
    int name parameters                                                                                                \
    {                                                                                                                  \
        va_list list;                                                                                                  \
        va_start(list, flags);                                                                                         \
        mode_t mode = NEEDS_MODE(flags) ? va_arg(list, mode_t) : 0;                                                    \
        va_end(list);                                                                                                  \
        return fails_path(OPEN, folder, path) ? -1 : REAL(name)(__VA_ARGS__, mode);                                    \
    }

ON_OPEN(open, (const char *path, int flags, ...), AT_FDCWD, path, flags)
ON_OPEN(open64, (const char *path, int flags, ...), AT_FDCWD, path, flags)
ON_OPEN(openat, (int folder, const char *path, int flags, ...), folder, folder, path, flags)
ON_OPEN(openat64, (int folder, const char *path, int flags, ...), folder, folder, path, flags)
ON_PATH(OPEN, int, creat, (const char *path, mode_t mode), (path, mode), AT_FDCWD, -1)
ON_PATH(OPEN, int, creat64, (const char *path, mode_t mode), (path, mode), AT_FDCWD, -1)
ON_PATH(OPEN, int, mkstemp, (char *path), (path), AT_FDCWD, -1)
ON_PATH(OPEN, int, mkstemp64, (char *path), (path), AT_FDCWD, -1)
ON_PATH(OPEN, int, mkostemp, (char *path, int flags), (path, flags), AT_FDCWD, -1)
ON_PATH(OPEN, int, mkostemp64, (char *path, int flags), (path, flags), AT_FDCWD, -1)
ON_PATH(OPEN, FILE *, fopen, (const char *path, const char *mode), (path, mode), AT_FDCWD, NULL)
ON_PATH(OPEN, FILE *, fopen64, (const char *path, const char *mode), (path, mode), AT_FDCWD, NULL)
ON_PATH(OPEN, DIR *, opendir, (const char *path), (path), AT_FDCWD, NULL)

/* The file is closed all the same, as Linux does it. */
int close(int fd)
{
    bool hit = fails_fd(CLOSE, fd);
    int result = REAL(close)(fd);
    if (hit) {
        errno = chosen_errno;
    }
    return hit ? -1 : result;
}

ON_PATH(RENAME, int, rename, (const char *path, const char *to), (path, to), AT_FDCWD, -1)
ON_PATH(RENAME, int, renameat, (int from, const char *path, int at, const char *to), (from, path, at, to), from, -1)
ON_PATH(RENAME, int, renameat2, (int from, const char *path, int at, const char *to, unsigned flags),
        (from, path, at, to, flags), from, -1)
ON_PATH(LINK, int, link, (const char *from, const char *path), (from, path), AT_FDCWD, -1)
ON_PATH(LINK, int, linkat, (int from, const char *old, int at, const char *path, int flags),
        (from, old, at, path, flags), at, -1)
ON_PATH(LINK, int, symlink, (const char *from, const char *path), (from, path), AT_FDCWD, -1)
ON_PATH(MKDIR, int, mkdir, (const char *path, mode_t mode), (path, mode), AT_FDCWD, -1)
ON_PATH(MKDIR, int, mkdirat, (int at, const char *path, mode_t mode), (at, path, mode), at, -1)
ON_PATH(MKDIR, char *, mkdtemp, (char *path), (path), AT_FDCWD, NULL)
ON_PATH(UNLINK, int, unlink, (const char *path), (path), AT_FDCWD, -1)
ON_PATH(UNLINK, int, unlinkat, (int at, const char *path, int flags), (at, path, flags), at, -1)
ON_PATH(UNLINK, int, rmdir, (const char *path), (path), AT_FDCWD, -1)
ON_PATH(UNLINK, int, remove, (const char *path), (path), AT_FDCWD, -1)

ON_FD(SYNC, fsync, (int fd), (fd))
ON_FD(SYNC, fdatasync, (int fd), (fd))
ON_FD(SYNC, syncfs, (int fd), (fd))
ON_FD(TRUNCATE, ftruncate, (int fd, off_t n), (fd, n))
ON_FD(TRUNCATE, ftruncate64, (int fd, off64_t n), (fd, n))
ON_FD(TRUNCATE, fallocate, (int fd, int mode, off_t at, off_t n), (fd, mode, at, n))
ON_FD(TRUNCATE, fallocate64, (int fd, int mode, off64_t at, off64_t n), (fd, mode, at, n))
ON_PATH(TRUNCATE, int, truncate, (const char *path, off_t n), (path, n), AT_FDCWD, -1)
ON_PATH(TRUNCATE, int, truncate64, (const char *path, off64_t n), (path, n), AT_FDCWD, -1)

/* These return the error and leave errno alone. */
#define RESERVE(name, offset_type)                                                                                     \
    int name(int fd, offset_type at, offset_type n)                                                                    \
    {                                                                                                                  \
        return told != NULL && watch_fd(fd) && is_hit(TRUNCATE) ? chosen_errno : REAL(name)(fd, at, n);                \
    }
RESERVE(posix_fallocate, off_t)
RESERVE(posix_fallocate64, off64_t)
