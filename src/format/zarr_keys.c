/* SPDX-License-Identifier: BSD-3-Clause */
/* zarr_keys.c - names of chunks, and what kind of node a folder is. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "format/zarr_parts.h"

resplit_status rs_zarr_key(const rs_zarr *zarr, const int64_t *index, char *name, size_t room, resplit_error *err)
{
    size_t n = 0;
    char separator[2] = "";
    if (!zarr->v2_keys) {
        n = (size_t)snprintf(name, room, "c");
        separator[0] = zarr->separator;
    } else if (zarr->ndim == 0) {
        n = (size_t)snprintf(name, room, "0");
    }
    for (int d = 0; d < zarr->ndim && n < room; d++) {
        n += (size_t)snprintf(name + n, room - n, "%s%lld", separator, (long long)index[d]);
        separator[0] = zarr->separator;
    }
    return n < room ? RESPLIT_OK
                    : rs_fail(err, RESPLIT_EUNSUPPORTED, "the name of a chunk has more than %zu bytes", room);
}

/* How many there are along an axis. */
static int64_t key_count(const rs_zarr *zarr, int d)
{
    int64_t length = zarr->n_levels > 0 ? zarr->level[0].chunk[d] : zarr->chunk[d];
    return zarr->edges[d] != NULL ? zarr->n_edges[d] : rs_ceil_div(zarr->shape[d], length);
}

/* One index as rs_zarr_key writes it; NULL: something else. */
static const char *skip_index(const char *s, int64_t n)
{
    int64_t index = 0;
    const char *end = s + strspn(s, "0123456789");
    if (end == s || end - s > 18 || (*s == '0' && end - s > 1)) {
        return NULL;
    }
    for (; s < end; s++) {
        index = index * 10 + (*s - '0');
    }
    return index < n ? end : NULL;
}

bool rs_zarr_is_key(const rs_zarr *zarr, const char *name, bool folder)
{
    const char *s = name;
    if (zarr->v2_keys && zarr->ndim == 0) {
        return !folder && strcmp(name, "0") == 0;
    }
    if (!zarr->v2_keys && *s++ != 'c') {
        return false;
    }
    for (int d = 0; d < zarr->ndim; d++) {
        if (s > name && *s == '\0') {
            return folder && zarr->separator == '/';
        }
        if (s > name && *s++ != zarr->separator) {
            return false;
        }
        s = skip_index(s, key_count(zarr, d));
        if (s == NULL) {
            return false;
        }
    }
    return !folder && *s == '\0';
}

/* Old nested stores do not say so: the names of their chunks do. The first name that has an answer decides. */
void rs_zarr_guess_separator(const char *path, rs_zarr *zarr)
{
    DIR *folder = zarr->guessed && zarr->ndim > 1 ? opendir(path) : NULL;
    struct dirent *entry;
    struct stat status;
    bool decided = false;
    zarr->guessed = false;
    while (folder != NULL && !decided && (entry = readdir(folder)) != NULL) {
        const char *rest = entry->d_name + strspn(entry->d_name, "0123456789");
        if (rest == entry->d_name) {
            continue;
        }
        bool nested =
            *rest == '\0' && fstatat(dirfd(folder), entry->d_name, &status, 0) == 0 && S_ISDIR(status.st_mode);
        decided = nested || *rest == '.';
        if (nested) {
            zarr->separator = '/';
            zarr->guessed = true;
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

static bool has(const char *path, const char *name)
{
    rs_text file = {0};
    struct stat status;
    bool there = rs_text_add(&file, NULL, "%s/%s", path, name) == RESPLIT_OK && stat(file.s, &status) == 0
                 && !S_ISDIR(status.st_mode);
    rs_text_release(&file);
    return there;
}

/* What zarr.json is: 'a' an array, 'g' a group, '?' broken, 0 not there. */
static char kind_of_v3(const char *path)
{
    rs_text text;
    rs_json_document *document;
    bool found;
    if (!has(path, "zarr.json")) {
        return 0;
    }
    resplit_status rc = rs_zarr_load(path, "zarr.json", &text, &document, &found, NULL);
    const rs_json *type = rc == RESPLIT_OK && found ? rs_json_get(rs_json_root(document), "node_type") : NULL;
    char kind = rs_json_is(type, "group") ? 'g' : rs_json_is(type, "array") ? 'a' : '?';
    rs_json_free(document);
    rs_text_release(&text);
    return kind;
}

int rs_zarr_probe(const char *path)
{
    char kind = kind_of_v3(path);
    if (kind != 0) {
        return kind == 'g' ? 0 : 3;
    }
    return has(path, ".zarray") ? 2 : 0;
}

int rs_zarr_is_group(const char *path)
{
    char kind = kind_of_v3(path);
    if (kind != 0) {
        return kind == 'g' ? 3 : 0;
    }
    return !has(path, ".zarray") && has(path, ".zgroup") ? 2 : 0;
}
