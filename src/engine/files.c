/* SPDX-License-Identifier: BSD-3-Clause */
/* files.c - a small cache of open block files. */
#include "engine/files.h"

#include "engine/system.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST_TRIES = 500 }; /* to get a descriptor: half a second */

void rs_files_init(rs_files *files, const resplit_array *array, const char *root, bool write, rs_direct direct)
{
    *files = (rs_files){.array = array, .root = root, .write = write, .direct = direct};
    (void)pthread_mutex_init(&files->lock, NULL);
    (void)pthread_cond_init(&files->change, NULL);
    for (int i = 0; i < RS_OPEN_FILES; i++) {
        files->file[i].block = -1;
    }
}

/* Closes what an entry had open. A network file system may tell only now that a write failed. */
static void close_both(rs_files *files, rs_open_file old)
{
    bool failed = close(old.fd) != 0 && errno != EINTR;
    int why = errno;
    if (old.direct >= 0) {
        (void)close(old.direct);
    }
    if (failed && files->write) {
        (void)pthread_mutex_lock(&files->lock);
        if (files->closed == RESPLIT_OK) {
            files->closed = rs_fail_errno(&files->why, why, "cannot close a block of '%s'", files->root);
        }
        (void)pthread_mutex_unlock(&files->lock);
    }
}

resplit_status rs_files_release(rs_files *files, resplit_error *err)
{
    for (int i = 0; i < RS_OPEN_FILES; i++) {
        if (files->file[i].block >= 0) {
            close_both(files, files->file[i]);
        }
        files->file[i].block = -1;
    }
    (void)pthread_cond_destroy(&files->change);
    (void)pthread_mutex_destroy(&files->lock);
    return files->closed == RESPLIT_OK ? RESPLIT_OK : rs_fail_with(err, &files->why);
}

/* ---- Opening --------------------------------------------------------------------------------- */

/* What is in the page cache is read from there, which is faster. How long a shard will be, nobody knows. */
static bool wants_direct(const rs_files *files, int fd, int64_t bytes)
{
    bool small = bytes < RS_DIRECT_BLOCK && !(files->write && bytes == 0);
    if (files->direct == RS_DIRECT_OFF || files->few || small) {
        return false;
    }
    return files->write || files->direct == RS_DIRECT_ON || !rs_system_is_cached(fd, bytes);
}

/* Space first: a full disk is noticed early, and blocks do not end up in fragments. Not every file system
   can do that. */
static int reserve(int fd, int64_t bytes)
{
    struct stat st;
    if (bytes < RS_DIRECT_BLOCK || (fstat(fd, &st) == 0 && st.st_size == bytes)) {
        return 0;
    }
#ifdef __linux__
    int failed = fallocate(fd, 0, 0, bytes) != 0 ? errno : 0;
#else
    int failed = posix_fallocate(fd, 0, bytes);
#endif
    return failed == EOPNOTSUPP || failed == ENOSYS || failed == EINVAL ? 0 : failed;
}

int64_t rs_files_bytes(const rs_files *files, const int64_t *index)
{
    const resplit_array *array = files->array;
    rs_box box = rs_layout_stored(&array->layout, index);
    if (array->stride > 0) { /* several blocks are in a file */
        int64_t lo[RS_MAX_NDIM], hi[RS_MAX_NDIM], n = 1;
        rs_array_file_range(array, index, lo, hi);
        for (int d = 0; d < array->layout.ndim; d++) {
            n *= hi[d] - lo[d];
        }
        return array->data_offset + n * array->stride;
    }
    return rs_array_block_offset(array, index) + rs_box_volume(array->layout.ndim, &box) * array->dtype.itemsize;
}

/* Makes the folders between the root and a file. Others may be at it too. */
static int make_folders(const rs_files *files, const char *path)
{
    char folder[RS_PATH_MAX];
    for (size_t i = strlen(files->root) + 1; path[i] != '\0'; i++) {
        if (path[i] == '/') {
            memcpy(folder, path, i);
            folder[i] = '\0';
            if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
                return errno;
            }
        }
    }
    return 0;
}

static int open_path(const rs_files *files, const char *path)
{
    int flags = O_CLOEXEC | (files->write ? O_WRONLY | O_CREAT | O_NOFOLLOW : O_RDONLY);
    int fd = open(path, flags, 0666);
    if (fd < 0 && errno == ENOENT && files->write) {
        errno = make_folders(files, path);
        fd = errno == 0 ? open(path, flags, 0666) : -1;
    }
    return fd;
}

/* Opens both descriptors. Zero, or errno; then nothing is open. */
static int open_both(const rs_files *files, int64_t bytes, const char *path, rs_open_file *out)
{
    struct stat st;
    out->direct = -1;
    out->fd = open_path(files, path);
    if (out->fd < 0) {
        return errno;
    }
    if (!files->write && bytes == 0 && fstat(out->fd, &st) == 0) {
        bytes = (int64_t)st.st_size;
    }
    int failed = files->write ? reserve(out->fd, bytes) : 0;
#ifdef O_DIRECT
    if (failed == 0 && wants_direct(files, out->fd, bytes)) {
        out->direct = open(path, (files->write ? O_WRONLY : O_RDONLY) | O_CLOEXEC | O_DIRECT);
        failed = out->direct < 0 && files->direct == RS_DIRECT_ON ? errno : 0;
    }
#endif
    if (failed != 0) {
        (void)close(out->fd);
    } else if (!files->write && !files->few && out->direct < 0 && bytes >= RS_DIRECT_BLOCK) {
        (void)posix_fadvise(out->fd, 0, 0, POSIX_FADV_SEQUENTIAL); /* 4.5 s become 2.3 s */
    }
    return failed;
}

/* ---- The cache ------------------------------------------------------------------------------- */

static rs_open_file *find(rs_files *files, int64_t block)
{
    for (int i = 0; i < RS_OPEN_FILES; i++) {
        if (files->file[i].block == block) {
            return &files->file[i];
        }
    }
    return NULL;
}

/* A free entry, or the one that was not used for longest. NULL: all are in use. */
static rs_open_file *find_room(rs_files *files)
{
    rs_open_file *oldest = NULL;
    for (int i = 0; i < RS_OPEN_FILES; i++) {
        rs_open_file *file = &files->file[i];
        if (file->block < 0) {
            return file;
        }
        if (file->users == 0 && (oldest == NULL || file->used < oldest->used)) {
            oldest = file;
        }
    }
    return oldest;
}

/* Closes the file that nobody works on and was not used for longest. False: there is none. */
static bool close_idle(rs_files *files)
{
    rs_open_file *oldest = NULL, old = {.block = -1};
    (void)pthread_mutex_lock(&files->lock);
    for (int i = 0; i < RS_OPEN_FILES; i++) {
        rs_open_file *file = &files->file[i];
        if (file->block >= 0 && file->users == 0 && (oldest == NULL || file->used < oldest->used)) {
            oldest = file;
        }
    }
    if (oldest != NULL) {
        old = *oldest;
        oldest->block = -1;
    }
    (void)pthread_mutex_unlock(&files->lock);
    if (old.block >= 0) {
        close_both(files, old);
    }
    return old.block >= 0;
}

/* With too few descriptors: gives one back, of either array, or waits a moment for other workers to do so. */
static void give_one_back(rs_files *files)
{
    if (!close_idle(files) && (files->other == NULL || !close_idle(files->other))) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

/* The entry of a block, ours alone to open (*fresh) or open already; `old` is to be closed first, when it
   has a block. */
static rs_open_file *take_entry(rs_files *files, int64_t block, bool *fresh, rs_open_file *old)
{
    rs_open_file *file;
    (void)pthread_mutex_lock(&files->lock);
    for (;;) {
        file = find(files, block);
        *fresh = file == NULL;
        if (file == NULL) {
            file = find_room(files);
        } else if (file->opening) {
            file = NULL;
        }
        if (file != NULL) {
            break;
        }
        (void)pthread_cond_wait(&files->change, &files->lock);
    }
    if (*fresh) {
        *old = *file;
        *file = (rs_open_file){.block = block, .opening = true, .fd = -1, .direct = -1};
    }
    file->users++;
    file->used = ++files->clock;
    (void)pthread_mutex_unlock(&files->lock);
    return file;
}

static void end_opening(rs_files *files, rs_open_file *file, const rs_open_file *opened)
{
    (void)pthread_mutex_lock(&files->lock);
    if (opened != NULL) {
        file->fd = opened->fd;
        file->direct = opened->direct;
    } else {
        file->block = -1;
        file->users = 0;
    }
    file->opening = false;
    (void)pthread_cond_broadcast(&files->change);
    (void)pthread_mutex_unlock(&files->lock);
}

resplit_status rs_files_get(rs_files *files, const int64_t *index, int64_t bytes, char path[RS_PATH_MAX],
                            rs_block_file *out, resplit_error *err)
{
    int64_t block = rs_array_file_number(files->array, index);
    char name[RS_NAME_MAX];
    bool fresh;
    rs_open_file old = {.block = -1}, opened;
    if (files->array->memory != NULL) {
        *out = (rs_block_file){.fd = -1, .direct = -1, .path = "memory", .array = files->array};
        out->memory = files->array->memory;
        out->strides = files->array->strides;
        return RESPLIT_OK;
    }
    RS_TRY(rs_array_block_name(files->array, index, name, err));
    RS_TRY(rs_path_join(files->root, name, path, err));
    *out = (rs_block_file){.fd = -1,
                           .direct = -1,
                           .insist = files->direct == RS_DIRECT_ON,
                           .path = path,
                           .offset = rs_array_block_offset(files->array, index),
                           .array = files->array};
    memcpy(out->index, index, sizeof out->index);
    out->missing = !files->write && out->offset < 0;
    if (out->missing) {
        return RESPLIT_OK;
    }
    rs_open_file *file = take_entry(files, block, &fresh, &old);
    if (fresh) {
        if (old.block >= 0) {
            close_both(files, old);
        }
        int failed = open_both(files, bytes, path, &opened);
        for (int tries = 0; (failed == EMFILE || failed == ENFILE) && tries < MOST_TRIES; tries++) {
            give_one_back(files);
            failed = open_both(files, bytes, path, &opened);
        }
        end_opening(files, file, failed == 0 ? &opened : NULL);
        out->missing = failed == ENOENT && !files->write && rs_array_may_lack_files(files->array);
        if (out->missing) {
            return RESPLIT_OK;
        }
        if (failed != 0) {
            return rs_fail_errno(err, failed, "cannot %s '%s'", files->write ? "make" : "open", path);
        }
    }
    out->fd = file->fd;
    out->direct = file->direct;
    return RESPLIT_OK;
}

void rs_files_put(rs_files *files, const rs_block_file *block, bool done)
{
    rs_open_file old = {.block = -1};
    if (block->missing || block->memory != NULL) {
        return;
    }
    (void)pthread_mutex_lock(&files->lock);
    for (int i = 0; i < RS_OPEN_FILES; i++) {
        rs_open_file *file = &files->file[i];
        if (file->block < 0 || file->opening || file->fd != block->fd) {
            continue;
        }
        if (--file->users == 0 && done && !rs_array_is_sealed(files->array)) { /* other blocks are in the same file */
            old = *file;
            file->block = -1;
        }
        (void)pthread_cond_broadcast(&files->change);
        break;
    }
    (void)pthread_mutex_unlock(&files->lock);
    if (old.block >= 0) {
        close_both(files, old);
    }
}
