/* SPDX-License-Identifier: BSD-3-Clause */
/* output.c - grows an array beside its place, and puts it there when it is whole. */
#include "engine/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define PART_SUFFIX ".resplit-part"

/* ---- Removing ------------------------------------------------------------------------------ */

/* Removes the files of a folder. A folder inside it is an error: we never make one. */
static resplit_status empty_folder(const char *path, resplit_error *err)
{
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return rs_fail_errno(err, errno, "cannot open the folder '%s'", path);
    }
    resplit_status rc = RESPLIT_OK;
    for (struct dirent *entry = readdir(folder); entry != NULL && rc == RESPLIT_OK; entry = readdir(folder)) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0
            && unlinkat(dirfd(folder), entry->d_name, 0) != 0) {
            rc = rs_fail_errno(err, errno, "cannot remove '%s/%s'", path, entry->d_name);
        }
    }
    (void)closedir(folder);
    return rc;
}

/* A file, or a folder of files. */
static resplit_status remove_array(const char *path, resplit_error *err)
{
    struct stat st;
    if (lstat(path, &st) != 0) {
        return rs_fail_errno(err, errno, "cannot look at '%s'", path);
    }
    bool folder = S_ISDIR(st.st_mode);
    if (folder) {
        RS_TRY(empty_folder(path, err));
    }
    if ((folder ? rmdir(path) : unlink(path)) != 0) {
        return rs_fail_errno(err, errno, "cannot remove '%s'", path);
    }
    return RESPLIT_OK;
}

/* ---- Checks before anything is written ------------------------------------------------------- */

/* Where `path` really is, also when it does not exist yet. */
static resplit_status real_path(const char *path, char out[RS_PATH_MAX], resplit_error *err)
{
    char parent[RS_PATH_MAX], real[RS_PATH_MAX];
    if (realpath(path, out) != NULL) {
        return RESPLIT_OK;
    }
    RS_TRY(rs_path_parent(path, parent, err));
    if (realpath(parent, real) == NULL) {
        return rs_fail_errno(err, errno, "cannot make '%s': no folder '%s'", path, parent);
    }
    const char *name = strrchr(path, '/');
    return rs_path_join(real, name != NULL ? name + 1 : path, out, err);
}

static bool lies_in(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static resplit_status check_places(const resplit_array *array, const resplit_array *source, resplit_error *err)
{
    char to[RS_PATH_MAX], from[RS_PATH_MAX];
    RS_TRY(real_path(array->path, to, err));
    RS_TRY(real_path(source->path, from, err));
    if (strcmp(to, from) == 0) {
        return rs_fail(err, RESPLIT_EINVAL, "source and target are the same: '%s'", array->path);
    }
    if (lies_in(to, from) || lies_in(from, to)) {
        return rs_fail(err, RESPLIT_EINVAL, "source '%s' and target '%s' lie one inside the other", source->path,
                       array->path);
    }
    return RESPLIT_OK;
}

static resplit_status check_space(const resplit_array *array, resplit_error *err)
{
    char parent[RS_PATH_MAX];
    struct statvfs fs;
    RS_TRY(rs_path_parent(array->path, parent, err));
    if (statvfs(parent, &fs) != 0) {
        return rs_fail_errno(err, errno, "cannot look at the file system of '%s'", parent);
    }
    int64_t unit = fs.f_frsize > 0 ? (int64_t)fs.f_frsize : 4096;
    int64_t heads, needed, available;
    if (!rs_mul(array->info.n_blocks, array->data_offset, &heads) || !rs_add(heads, array->info.bytes, &needed)) {
        needed = INT64_MAX;
    }
    if (!rs_mul((int64_t)fs.f_bavail, unit, &available)) {
        available = INT64_MAX;
    }
    if (needed > available) {
        return rs_fail(err, RESPLIT_EIO, "'%s' needs %lld bytes, but only %lld are free in '%s'", array->path,
                       (long long)needed, (long long)available, parent);
    }
    if (fs.f_files > 0 && array->info.n_blocks + 2 > (int64_t)fs.f_favail) {
        return rs_fail(err, RESPLIT_EIO, "'%s' needs %lld files, but only %lld inodes are free in '%s'", array->path,
                       (long long)array->info.n_blocks, (long long)fs.f_favail, parent);
    }
    return RESPLIT_OK;
}

static resplit_status count_entries(const char *path, int64_t *n, resplit_error *err)
{
    *n = 0;
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return rs_fail_errno(err, errno, "cannot open the folder '%s'", path);
    }
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        *n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    (void)closedir(folder);
    return RESPLIT_OK;
}

/* Only a folder that holds one array and nothing else may be replaced: nobody's notes are lost. */
static resplit_status check_replaceable(const resplit_array *array, resplit_error *err)
{
    resplit_array *old = NULL;
    int64_t entries, expected;
    char manifest[RS_PATH_MAX];
    RS_TRY(rs_path_join(array->path, RS_MANIFEST_NAME, manifest, err));
    RS_TRY(count_entries(array->path, &entries, err));
    resplit_status rc = rs_array_open(array->path, NULL, &old, NULL);
    if (rc != RESPLIT_OK) {
        return rs_fail(err, RESPLIT_EEXISTS,
                       "'%s' is there and is not an array that can be replaced: remove it, or choose another name",
                       array->path);
    }
    expected = old->info.n_blocks + (access(manifest, F_OK) == 0);
    rs_array_close(old);
    if (entries != expected) {
        return rs_fail(err, RESPLIT_EEXISTS,
                       "'%s' holds %lld files, of which %lld are the array: move the others away before it is replaced",
                       array->path, (long long)entries, (long long)expected);
    }
    return RESPLIT_OK;
}

/* An empty folder is as good as none. */
static resplit_status check_target(const resplit_array *array, resplit_error *err)
{
    struct stat st;
    if (lstat(array->path, &st) != 0) {
        return errno == ENOENT ? RESPLIT_OK : rs_fail_errno(err, errno, "cannot look at '%s'", array->path);
    }
    bool folder = S_ISDIR(st.st_mode);
    if (folder && array->info.folder) {
        int64_t entries;
        RS_TRY(count_entries(array->path, &entries, err));
        if (entries == 0) {
            return RESPLIT_OK;
        }
    }
    if (!array->overwrite) {
        return rs_fail(err, RESPLIT_EEXISTS,
                       "'%s' is there already: choose another name, or replace it with --overwrite", array->path);
    }
    if (!folder && !S_ISREG(st.st_mode)) {
        return rs_fail(err, RESPLIT_EEXISTS, "'%s' is neither a file nor a folder: it is not replaced", array->path);
    }
    return folder ? check_replaceable(array, err) : RESPLIT_OK;
}

/* ---- The part ------------------------------------------------------------------------------ */

/* Opens and locks the part, made when it is not there. *again: it was published or removed meanwhile. */
static resplit_status lock_part(rs_output *output, bool *again, resplit_error *err)
{
    const resplit_array *array = output->array;
    *again = false;
    if (array->info.folder && mkdir(output->part, 0777) != 0 && errno != EEXIST) {
        return rs_fail_errno(err, errno, "cannot make the folder '%s'", output->part);
    }
    int flags = array->info.folder ? O_RDONLY | O_DIRECTORY : O_RDWR | O_CREAT;
    output->lock = open(output->part, flags | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (output->lock < 0) {
        if (errno == ENOENT) {
            *again = true;
            return RESPLIT_OK;
        }
        return rs_fail_errno(err, errno, "cannot open '%s'", output->part);
    }
    if (flock(output->lock, LOCK_EX | LOCK_NB) != 0) {
        int why = errno;
        (void)close(output->lock);
        output->lock = -1;
        if (why == EWOULDBLOCK) {
            return rs_fail(err, RESPLIT_EEXISTS, "another run is at work on '%s'", array->path);
        }
        return rs_fail_errno(err, why, "cannot lock '%s'", output->part);
    }
    struct stat mine, there;
    if (fstat(output->lock, &mine) != 0 || lstat(output->part, &there) != 0 || mine.st_ino != there.st_ino
        || mine.st_dev != there.st_dev) {
        (void)close(output->lock);
        output->lock = -1;
        *again = true;
    }
    return RESPLIT_OK;
}

/* A part of the other kind (file, folder) than is wanted now: a run that died, with another target of this name. */
static resplit_status remove_other_kind(const rs_output *output, resplit_error *err)
{
    struct stat st;
    bool other = lstat(output->part, &st) == 0 && S_ISDIR(st.st_mode) != output->array->info.folder;
    return other ? remove_array(output->part, err) : RESPLIT_OK;
}

resplit_status rs_output_begin(rs_output *output, const resplit_array *array, const resplit_array *source,
                               resplit_error *err)
{
    *output = (rs_output){.array = array, .lock = -1};
    if (array->path == NULL || source->path == NULL) {
        return rs_fail(err, RESPLIT_EINVAL, "an array that is only described has no files to read or write");
    }
    RS_TRY(check_places(array, source, err));
    RS_TRY(check_target(array, err));
    RS_TRY(check_space(array, err));
    size_t n = strlen(array->path);
    while (n > 1 && array->path[n - 1] == '/') {
        n--;
    }
    if (snprintf(output->part, sizeof output->part, "%.*s%s", (int)n, array->path, PART_SUFFIX) >= RS_PATH_MAX) {
        return rs_fail(err, RESPLIT_EINVAL, "the path '%s' is too long", array->path);
    }
    RS_TRY(remove_other_kind(output, err));
    bool again = true;
    for (int tries = 0; again && tries < 100; tries++) {
        RS_TRY(lock_part(output, &again, err));
    }
    if (again) {
        return rs_fail(err, RESPLIT_EEXISTS, "other runs are at work on '%s'", array->path);
    }
    RS_TRY(check_target(array, err)); /* another run may have published while we waited for its part */
    return array->info.folder ? empty_folder(output->part, err) : RESPLIT_OK;
}

/* ---- Publishing ---------------------------------------------------------------------------- */

static resplit_status write_manifest(const rs_output *output, resplit_error *err)
{
    char path[RS_PATH_MAX];
    rs_text text = {0};
    RS_TRY(rs_path_join(output->part, RS_MANIFEST_NAME, path, err));
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0) {
        return rs_fail_errno(err, errno, "cannot create '%s'", path);
    }
    resplit_status rc = rs_manifest_write(output->array, &text, err);
    if (rc == RESPLIT_OK) {
        rc = rs_file_write(fd, path, text.s, (int64_t)text.n, 0, err);
    }
    if (close(fd) != 0 && rc == RESPLIT_OK) {
        rc = rs_fail_errno(err, errno, "cannot close '%s'", path);
    }
    rs_text_release(&text);
    return rc;
}

/* Everything that was written is on disk before it gets its name. One call for all files where the system has it. */
static resplit_status sync_part(const rs_output *output, resplit_error *err)
{
#ifdef __linux__
    int failed = output->array->info.folder ? syncfs(output->lock) : fsync(output->lock);
#else
    int failed = fsync(output->lock);
    sync();
#endif
    return failed == 0 ? RESPLIT_OK : rs_fail_errno(err, errno, "cannot bring '%s' to disk", output->part);
}

/* The old array and the new one change places in one move, where the system can; then the old one goes. */
static resplit_status replace(const rs_output *output, resplit_error *err)
{
    const char *path = output->array->path;
#ifdef RENAME_EXCHANGE
    if (renameat2(AT_FDCWD, output->part, AT_FDCWD, path, RENAME_EXCHANGE) == 0) {
        return remove_array(output->part, err);
    }
    if (errno != EINVAL && errno != ENOSYS && errno != ENOENT) {
        return rs_fail_errno(err, errno, "cannot replace '%s'", path);
    }
#endif
    char old[RS_PATH_MAX];
    if (snprintf(old, sizeof old, "%.*s.resplit-old", (int)(strlen(output->part) - strlen(PART_SUFFIX)), output->part)
        >= RS_PATH_MAX) {
        return rs_fail(err, RESPLIT_EINVAL, "the path '%s' is too long", path);
    }
    if (rename(path, old) != 0 && errno != ENOENT) {
        return rs_fail_errno(err, errno, "cannot move '%s' away", path);
    }
    if (rename(output->part, path) != 0) {
        int why = errno;
        (void)rename(old, path);
        return rs_fail_errno(err, why, "cannot rename '%s' to '%s'", output->part, path);
    }
    return access(old, F_OK) == 0 ? remove_array(old, err) : RESPLIT_OK;
}

/* A file that appeared meanwhile is not replaced. A folder cannot be renamed onto one that is not empty. */
static resplit_status move_in(const rs_output *output, resplit_error *err)
{
    const char *path = output->array->path;
    int failed = -1;
    if (!output->array->info.folder) {
        failed = link(output->part, path);
        if (failed == 0) {
            (void)unlink(output->part);
            return RESPLIT_OK;
        }
        if (errno == EEXIST) {
            return rs_fail(err, RESPLIT_EEXISTS, "'%s' appeared during the run: it is not replaced", path);
        }
    }
    failed = rename(output->part, path); /* also where the file system has no links */
    return failed == 0 ? RESPLIT_OK : rs_fail_errno(err, errno, "cannot rename '%s' to '%s'", output->part, path);
}

static void sync_parent(const char *path)
{
    char parent[RS_PATH_MAX];
    if (rs_path_parent(path, parent, NULL) == RESPLIT_OK) {
        int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0) {
            (void)fsync(fd); /* some file systems cannot; the rename is ordered after the data all the same */
            (void)close(fd);
        }
    }
}

resplit_status rs_output_publish(rs_output *output, resplit_error *err)
{
    if (output->array->info.folder) {
        RS_TRY(write_manifest(output, err));
    }
    RS_TRY(sync_part(output, err));
    struct stat st;
    bool there = lstat(output->array->path, &st) == 0;
    RS_TRY(there && output->array->overwrite ? replace(output, err) : move_in(output, err));
    sync_parent(output->array->path);
    (void)close(output->lock);
    output->lock = -1;
    return RESPLIT_OK;
}

void rs_output_abandon(rs_output *output)
{
    if (output->lock < 0) {
        return;
    }
    (void)remove_array(output->part, NULL);
    (void)close(output->lock);
    output->lock = -1;
}
