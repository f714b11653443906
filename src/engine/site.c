/* SPDX-License-Identifier: BSD-3-Clause */
/* site.c - looks at the place of an output. Touches nothing. */
#include "engine/site.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* ---- Around it ------------------------------------------------------------------------------- */

/* Names the outermost folder that is missing. None is made: a group is more than a folder. */
static resplit_status no_parent(const char *path, const char *parent, resplit_error *err)
{
    char missing[RS_PATH_MAX], above[RS_PATH_MAX];
    int why = errno;
    RS_TRY(rs_path_join(parent, "", missing, err));
    RS_TRY(rs_path_parent(missing, above, err));
    while (access(above, F_OK) != 0 && strlen(above) < strlen(missing)) {
        memcpy(missing, above, sizeof missing);
        RS_TRY(rs_path_parent(missing, above, err));
    }
    return rs_node_at(above) == RS_NODE_GROUP
               ? rs_fail_errno(err, why, "cannot make '%s': no group '%s', which has to be made first", path, missing)
               : rs_fail_errno(err, why, "cannot make '%s': no folder '%s'", path, missing);
}

/* Where `path` really is, also when it does not exist yet. */
static resplit_status real_path(const char *path, char out[RS_PATH_MAX], resplit_error *err)
{
    char parent[RS_PATH_MAX], real[RS_PATH_MAX];
    if (realpath(path, out) != NULL) {
        return RESPLIT_OK;
    }
    RS_TRY(rs_path_parent(path, parent, err));
    if (realpath(parent, real) == NULL) {
        return no_parent(path, parent, err);
    }
    const char *name = strrchr(path, '/');
    return rs_path_join(real, name != NULL ? name + 1 : path, out, err);
}

static bool lies_in(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

resplit_status rs_site_check_apart(const rs_site *site, const char *source, resplit_error *err)
{
    char to[RS_PATH_MAX], from[RS_PATH_MAX], parent[RS_PATH_MAX];
    RS_TRY(real_path(site->path, to, err));
    if (source != NULL) {
        RS_TRY(real_path(source, from, err));
    }
    if (source != NULL && strcmp(to, from) == 0) {
        return rs_fail(err, RESPLIT_EINVAL, "source and target are the same: '%s'", site->path);
    }
    if (source != NULL && (lies_in(to, from) || lies_in(from, to))) {
        return rs_fail(err, RESPLIT_EINVAL, "source '%s' and target '%s' lie one inside the other", source, site->path);
    }
    RS_TRY(rs_path_parent(to, parent, err));
    if (rs_node_at(parent) == RS_NODE_ARRAY) {
        return rs_fail(err, RESPLIT_EINVAL, "cannot make '%s': '%s' is a Zarr array, which holds its chunks only",
                       site->path, parent);
    }
    return RESPLIT_OK;
}

/* ---- On the disk ------------------------------------------------------------------------------ */

resplit_status rs_site_check_space(const resplit_array *array, resplit_error *err)
{
    char parent[RS_PATH_MAX];
    struct statvfs fs;
    RS_TRY(rs_path_parent(array->path, parent, err));
    if (statvfs(parent, &fs) != 0) {
        return rs_fail_errno(err, errno, "cannot look at the file system of '%s'", parent);
    }
    int64_t n_files = rs_array_file_count(array) + rs_array_head_count(array);
    int64_t unit = fs.f_frsize > 0 ? (int64_t)fs.f_frsize : 4096;
    int64_t heads, needed, available;
    if (!rs_mul(n_files, array->data_offset, &heads) || !rs_add(heads, array->info.bytes, &needed)) {
        needed = INT64_MAX;
    }
    if (!rs_mul((int64_t)fs.f_bavail, unit, &available)) {
        available = INT64_MAX;
    }
    if (needed > available && !array->encoded) { /* what is encoded may become less */
        return rs_fail(err, RESPLIT_EIO, "'%s' needs %lld bytes, but only %lld are free in '%s'", array->path,
                       (long long)needed, (long long)available, parent);
    }
    if (fs.f_files > 0 && n_files + 2 > (int64_t)fs.f_favail) {
        return rs_fail(err, RESPLIT_EIO, "'%s' needs %lld files, but only %lld inodes are free in '%s'", array->path,
                       (long long)n_files, (long long)fs.f_favail, parent);
    }
    return RESPLIT_OK;
}

/* ---- What is there already ------------------------------------------------------------------- */

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
static resplit_status check_replaceable(const rs_site *site, resplit_error *err)
{
    resplit_array *old = NULL;
    int64_t entries, expected;
    char manifest[RS_PATH_MAX];
    rs_node node = rs_node_at(site->path);
    if (node == RS_NODE_GROUP && !site->group) {
        return rs_fail(
            err, RESPLIT_EEXISTS,
            "'%s' is a group of arrays, and one array does not replace it: remove it, or choose another name",
            site->path);
    }
    if (node != RS_NODE_NONE) {
        return rs_node_check_own(site->path, err);
    }
    RS_TRY(rs_path_join(site->path, RS_MANIFEST_NAME, manifest, err));
    RS_TRY(count_entries(site->path, &entries, err));
    resplit_status rc = rs_array_open(site->path, NULL, &old, NULL);
    if (rc != RESPLIT_OK) {
        return rs_fail(err, RESPLIT_EEXISTS,
                       "'%s' is there and is not an array that can be replaced: remove it, or choose another name",
                       site->path);
    }
    expected = rs_array_file_count(old) + rs_array_head_count(old) + (access(manifest, F_OK) == 0);
    rs_array_close(old);
    if (entries != expected) {
        return rs_fail(err, RESPLIT_EEXISTS,
                       "'%s' holds %lld files, of which %lld are the array: move the others away before it is replaced",
                       site->path, (long long)entries, (long long)expected);
    }
    return RESPLIT_OK;
}

/* An empty folder is as good as none. */
resplit_status rs_site_check_free(const rs_site *site, resplit_error *err)
{
    struct stat st;
    if (lstat(site->path, &st) != 0) {
        return errno == ENOENT ? RESPLIT_OK : rs_fail_errno(err, errno, "cannot look at '%s'", site->path);
    }
    bool folder = S_ISDIR(st.st_mode);
    if (folder && site->folder) {
        int64_t entries;
        RS_TRY(count_entries(site->path, &entries, err));
        if (entries == 0) {
            return RESPLIT_OK;
        }
    }
    if (!site->overwrite) {
        return rs_fail(err, RESPLIT_EEXISTS,
                       "'%s' is there already: choose another name, or replace it with --overwrite", site->path);
    }
    if (!folder && !S_ISREG(st.st_mode)) {
        return rs_fail(err, RESPLIT_EEXISTS, "'%s' is neither a file nor a folder: it is not replaced", site->path);
    }
    return folder ? check_replaceable(site, err) : RESPLIT_OK;
}
