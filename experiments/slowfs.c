/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slowfs.c - a folder as if it lay on a slow disk, by FUSE.
 *
 * usage: slowfs FOLDER MOUNTPOINT STATISTICS SEEK_SECONDS BYTES_PER_SECOND        stays in the foreground; end it by unmounting
 *
 * The disk has one head. A read or write that does not go on where the last one ended, in the same file, waits for a seek;
 * every one waits for its bytes. Requests are served one after the other. Names, sizes and such cost nothing. What was counted is
 * written to STATISTICS, as JSON, when the file system is unmounted. FOLDER should be in memory, so that nothing else is slow.
 */
#define FUSE_USE_VERSION 31
#define _GNU_SOURCE

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, REQUEST_BYTES = 1 << 20 };

static struct {
    int root;
    double seek_seconds, bandwidth;
    uint64_t head_inode; /* where the last request ended */
    int64_t head_offset;
    struct timespec free_at; /* when the disk has done what it was asked for */
    int64_t n_requests, n_seeks, n_read, n_written;
} disk;

/* ---- The disk ---- */

static void add_seconds(struct timespec *time, double seconds)
{
    int64_t nanoseconds = time->tv_nsec + (int64_t)(seconds * 1e9);
    time->tv_sec += nanoseconds / 1000000000;
    time->tv_nsec = nanoseconds % 1000000000;
}

static void wait_for_disk(int file, int64_t offset, int64_t n_bytes)
{
    struct stat found;
    struct timespec now;
    fstat(file, &found);
    double seconds = (double)n_bytes / disk.bandwidth;
    disk.n_requests++;
    if (found.st_ino != disk.head_inode || offset != disk.head_offset) {
        disk.n_seeks++;
        seconds += disk.seek_seconds;
    }
    disk.head_inode = found.st_ino;
    disk.head_offset = offset + n_bytes;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec > disk.free_at.tv_sec || (now.tv_sec == disk.free_at.tv_sec && now.tv_nsec > disk.free_at.tv_nsec)) {
        disk.free_at = now;
    }
    add_seconds(&disk.free_at, seconds);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &disk.free_at, NULL) == EINTR) {
    }
}

static int slow_read(const char *path, char *data, size_t size, off_t offset, struct fuse_file_info *info)
{
    (void)path;
    ssize_t n = pread((int)info->fh, data, size, offset);
    if (n > 0) { /* the end of a file is known without a look at the disk */
        wait_for_disk((int)info->fh, offset, n);
        disk.n_read += n;
    }
    return n < 0 ? -errno : (int)n;
}

static int slow_write(const char *path, const char *data, size_t size, off_t offset, struct fuse_file_info *info)
{
    (void)path;
    ssize_t n = pwrite((int)info->fh, data, size, offset);
    if (n > 0) {
        wait_for_disk((int)info->fh, offset, n);
        disk.n_written += n;
    }
    return n < 0 ? -errno : (int)n;
}

/* ---- Everything else, as it is ---- */

static const char *inside(const char *path)
{
    return path[1] != 0 ? path + 1 : ".";
}

static int result(int code)
{
    return code < 0 ? -errno : 0;
}

static int slow_getattr(const char *path, struct stat *found, struct fuse_file_info *info)
{
    return result(info ? fstat((int)info->fh, found) : fstatat(disk.root, inside(path), found, AT_SYMLINK_NOFOLLOW));
}

static int open_there(const char *path, int flags, mode_t mode, struct fuse_file_info *info)
{
    int file = openat(disk.root, inside(path), flags & ~(O_DIRECT | O_APPEND), mode);
    info->fh = (uint64_t)file;
    return result(file);
}

static int slow_open(const char *path, struct fuse_file_info *info)
{
    return open_there(path, info->flags, 0, info);
}

static int slow_create(const char *path, mode_t mode, struct fuse_file_info *info)
{
    return open_there(path, info->flags | O_CREAT, mode, info);
}

static int slow_release(const char *path, struct fuse_file_info *info)
{
    (void)path;
    return result(close((int)info->fh));
}

static int slow_truncate(const char *path, off_t size, struct fuse_file_info *info)
{
    struct fuse_file_info opened = {0};
    if (info != NULL) {
        return result(ftruncate((int)info->fh, size));
    }
    int code = open_there(path, O_WRONLY, 0, &opened);
    if (code == 0) {
        code = result(ftruncate((int)opened.fh, size));
        close((int)opened.fh);
    }
    return code;
}

static int slow_fallocate(const char *path, int mode, off_t offset, off_t size, struct fuse_file_info *info)
{
    (void)path;
    return result(fallocate((int)info->fh, mode, offset, size));
}

static int slow_readdir(const char *path, void *out, fuse_fill_dir_t add, off_t offset, struct fuse_file_info *info,
                        enum fuse_readdir_flags flags)
{
    (void)offset, (void)info, (void)flags;
    int folder = openat(disk.root, inside(path), O_RDONLY | O_DIRECTORY);
    DIR *opened = folder < 0 ? NULL : fdopendir(folder);
    if (opened == NULL) {
        return -errno;
    }
    for (struct dirent *entry = readdir(opened); entry != NULL; entry = readdir(opened)) {
        add(out, entry->d_name, NULL, 0, 0);
    }
    closedir(opened);
    return 0;
}

static int slow_mkdir(const char *path, mode_t mode)
{
    return result(mkdirat(disk.root, inside(path), mode));
}

static int slow_unlink(const char *path)
{
    return result(unlinkat(disk.root, inside(path), 0));
}

static int slow_rmdir(const char *path)
{
    return result(unlinkat(disk.root, inside(path), AT_REMOVEDIR));
}

static int slow_rename(const char *from, const char *to, unsigned flags)
{
    return result(renameat2(disk.root, inside(from), disk.root, inside(to), flags));
}

static int slow_chmod(const char *path, mode_t mode, struct fuse_file_info *info)
{
    (void)info;
    return result(fchmodat(disk.root, inside(path), mode, 0));
}

static int slow_utimens(const char *path, const struct timespec times[2], struct fuse_file_info *info)
{
    (void)info;
    return result(utimensat(disk.root, inside(path), times, AT_SYMLINK_NOFOLLOW));
}

static int slow_fsync(const char *path, int data_only, struct fuse_file_info *info)
{
    (void)path, (void)data_only, (void)info;
    return 0; /* a write has reached the disk when it returns */
}

static int slow_statfs(const char *path, struct statvfs *found)
{
    (void)path;
    return result(fstatvfs(disk.root, found));
}

static void *slow_init(struct fuse_conn_info *connection, struct fuse_config *config)
{
    connection->max_write = REQUEST_BYTES;
    config->use_ino = 1;
    config->nullpath_ok = 0;
    return NULL;
}

static const struct fuse_operations operations = {
    .init = slow_init,
    .getattr = slow_getattr,
    .open = slow_open,
    .create = slow_create,
    .release = slow_release,
    .read = slow_read,
    .write = slow_write,
    .truncate = slow_truncate,
    .fallocate = slow_fallocate,
    .readdir = slow_readdir,
    .mkdir = slow_mkdir,
    .unlink = slow_unlink,
    .rmdir = slow_rmdir,
    .rename = slow_rename,
    .chmod = slow_chmod,
    .utimens = slow_utimens,
    .fsync = slow_fsync,
    .fsyncdir = slow_fsync,
    .statfs = slow_statfs,
};

/* ---- Start and end ---- */

static int write_statistics(const char *path)
{
    FILE *out = fopen(path, "w");
    if (out == NULL) {
        return 1;
    }
    fprintf(out,
            "{\"requests\": %" PRId64 ", \"seeks\": %" PRId64 ", \"read\": %" PRId64 ", \"written\": %" PRId64 "}\n",
            disk.n_requests, disk.n_seeks, disk.n_read, disk.n_written);
    return fclose(out) != 0;
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: %s FOLDER MOUNTPOINT STATISTICS SEEK_SECONDS BYTES_PER_SECOND\n", argv[0]);
        return 2;
    }
    static char statistics[PATH_BYTES];
    int log = open(argv[3], O_WRONLY | O_CREAT | O_TRUNC, 0644);
    disk.root = open(argv[1], O_RDONLY | O_DIRECTORY);
    disk.seek_seconds = strtod(argv[4], NULL);
    disk.bandwidth = strtod(argv[5], NULL);
    if (disk.root < 0 || log < 0 || realpath(argv[3], statistics) == NULL || disk.bandwidth <= 0) {
        fprintf(stderr, "slowfs: '%s' or '%s' cannot be opened, or a bandwidth of 0: %s\n", argv[1], argv[3],
                strerror(errno));
        return 1;
    }
    close(log);
    char *options[] = {argv[0], "-f", "-s", "-o", "fsname=slowfs", argv[2], NULL};
    int code = fuse_main(6, options, &operations, NULL);
    return code != 0 ? code : write_statistics(statistics);
}
