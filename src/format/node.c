/* SPDX-License-Identifier: BSD-3-Clause */
/* node.c - what a folder is in a Zarr hierarchy, and whether all that is in it belongs to it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "format/format.h"
#include "format/zarr.h"

enum { MAX_DEPTH = 64 }; /* of folders in folders; bounds recursion */

bool rs_node_is_named(const char *path)
{
    const char *at = path == NULL ? NULL : strstr(path, ".zarr");
    return at != NULL && (at[5] == '\0' || at[5] == '/');
}

/* Ends a walk at the first node. */
static resplit_status stop(const char *name, bool is_array, int version, void *payload, resplit_error *err)
{
    bool *found = payload;
    (void)name;
    (void)is_array;
    (void)version;
    *found = true;
    return rs_fail(err, RESPLIT_ECANCELED, "one is enough");
}

rs_node rs_node_at(const char *path)
{
    struct stat status;
    bool below = false;
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode)) {
        return RS_NODE_NONE;
    }
    if (rs_zarr_probe(path) != 0) {
        return RS_NODE_ARRAY;
    }
    if (rs_zarr_is_group(path) == 0 && rs_node_is_named(path)) {
        (void)rs_zarr_walk(path, stop, &below, NULL);
    }
    return below || rs_zarr_is_group(path) != 0 ? RS_NODE_GROUP : RS_NODE_NONE;
}

int rs_node_version_above(const char *path)
{
    char *above = rs_strdup(path);
    char *end = above == NULL ? NULL : above + strlen(above);
    int version = 0;
    while (version == 0 && end != NULL && rs_node_is_named(above)) {
        while (end > above && end[-1] == '/') {
            *--end = '\0';
        }
        end = strrchr(above, '/');
        if (end != NULL) {
            *end = '\0';
            version = rs_zarr_is_group(above);
        }
    }
    free(above);
    return version;
}

resplit_status rs_node_forget_copies(const char *path, resplit_error *err)
{
    return rs_zarr_unconsolidate(path, err);
}

/* ---- What belongs to a node ------------------------------------------------------------------ */

typedef struct owner {
    rs_text path;   /* of the folder at hand */
    size_t root_n;  /* bytes of it that are the array's */
    rs_zarr *array; /* NULL: in a group */
    int depth;
    resplit_error *err;
} owner;

static bool is_metadata(const char *name)
{
    static const char *const names[] = {".zarray", ".zattrs", ".zgroup", ".zmetadata", "zarr.json"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return strcmp(name, rs_manifest_name(NULL)) == 0;
}

static resplit_status foreign(const owner *o, resplit_error *err)
{
    return rs_fail(
        err, RESPLIT_EEXISTS,
        "'%.700s' is neither metadata nor a chunk, and would be lost: move it away before what it lies in is "
        "replaced",
        o->path.s);
}

static resplit_status own_folder(owner *o);

/* An array below a group: its names are looked at by its own metadata. */
static resplit_status own_array(owner *o)
{
    rs_zarr array;
    size_t before = o->root_n;
    resplit_error why;
    resplit_status rc = rs_zarr_open(o->path.s, &array, &why);
    if (rc != RESPLIT_OK) {
        rc = rs_fail(o->err, RESPLIT_EEXISTS, "it cannot be told what of '%.300s' is the array, to replace it: %.500s",
                     o->path.s, why.message);
    } else {
        o->array = &array;
        o->root_n = o->path.n;
        rc = own_folder(o);
        o->array = NULL;
        o->root_n = before;
    }
    rs_zarr_release(&array);
    return rc;
}

/* The entry that o->path names. */
static resplit_status own_entry(owner *o, const char *name, bool folder)
{
    if (o->array != NULL) {
        const char *key = o->path.s + o->root_n + 1;
        bool known = rs_zarr_is_key(o->array, key, folder) || (!folder && strcmp(key, name) == 0 && is_metadata(name));
        return !known ? foreign(o, o->err) : folder ? own_folder(o) : RESPLIT_OK;
    }
    if (!folder) {
        return is_metadata(name) ? RESPLIT_OK : foreign(o, o->err);
    }
    return rs_zarr_probe(o->path.s) != 0 ? own_array(o) : own_folder(o);
}

/* Recursion ends at MAX_DEPTH. */
static resplit_status own_folder(owner *o)
{
    size_t end = o->path.n;
    struct dirent *entry;
    struct stat status;
    resplit_status rc = RESPLIT_OK;
    DIR *folder = o->depth < MAX_DEPTH ? opendir(o->path.s) : (errno = ELOOP, NULL);
    if (folder == NULL) {
        return rs_fail_errno(o->err, errno, "cannot list '%s'", o->path.s);
    }
    o->depth++;
    while (rc == RESPLIT_OK && (errno = 0, entry = readdir(folder)) != NULL) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
            continue;
        }
        rc = rs_text_add(&o->path, o->err, "/%s", name);
        if (rc == RESPLIT_OK && fstatat(dirfd(folder), name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
            rc = rs_fail_errno(o->err, errno, "cannot look at '%s'", o->path.s);
        }
        rc = rc != RESPLIT_OK ? rc : own_entry(o, name, S_ISDIR(status.st_mode));
        o->path.n = end;
        o->path.s[end] = '\0';
    }
    if (rc == RESPLIT_OK && errno != 0) {
        rc = rs_fail_errno(o->err, errno, "cannot list '%s'", o->path.s);
    }
    (void)closedir(folder);
    o->depth--;
    return rc;
}

resplit_status rs_node_check_own(const char *path, resplit_error *err)
{
    owner o = {.err = err};
    resplit_status rc = rs_text_add(&o.path, err, "%s", path);
    while (o.path.n > 1 && o.path.s[o.path.n - 1] == '/') {
        o.path.s[--o.path.n] = '\0';
    }
    rc = rc != RESPLIT_OK ? rc : rs_zarr_probe(path) != 0 ? own_array(&o) : own_folder(&o);
    rs_text_release(&o.path);
    return rc;
}
