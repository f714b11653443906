/* SPDX-License-Identifier: BSD-3-Clause */
/* zarr_tree.c - hierarchies: the nodes below a folder, groups, and the levels of an image. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "format/format.h"
#include "format/literal.h"
#include "format/zarr_parts.h"

enum { MAX_TREE = 64 }; /* of folders in folders; bounds recursion */

typedef struct walker {
    rs_text path;          /* of the folder at hand; what follows the root is its name */
    size_t root_n;         /* bytes of the root in it */
    size_t told[MAX_TREE]; /* where the names of folders end that may be groups without metadata */
    int n_told, n_known;   /* folders on the way; those that were visited already */
    rs_zarr_visit *visit;
    void *payload;
    resplit_error *err;
} walker;

typedef struct name_list {
    char **name;
    size_t n, room;
} name_list;

static void release_names(name_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free(list->name[i]);
    }
    free(list->name);
    *list = (name_list){0};
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static resplit_status add_name(name_list *list, const char *name, resplit_error *err)
{
    if (list->n == list->room) {
        size_t room = list->room * 2 + 16;
        char **more = realloc(list->name, room * sizeof *more);
        if (more == NULL) {
            return rs_fail(err, RESPLIT_ENOMEM, "no memory for %zu names", room);
        }
        list->name = more;
        list->room = room;
    }
    list->name[list->n] = rs_strdup(name);
    return list->name[list->n++] != NULL ? RESPLIT_OK : rs_fail(err, RESPLIT_ENOMEM, "no memory for a name");
}

/* A link that leads to a node would be left out in silence, or lead anywhere: it is refused. */
static resplit_status check_link(const char *folder, const char *name, resplit_error *err)
{
    rs_text path = {0};
    resplit_status rc = rs_text_add(&path, err, "%s/%s", folder, name);
    if (rc == RESPLIT_OK && (rs_zarr_probe(path.s) != 0 || rs_zarr_is_group(path.s) != 0)) {
        rc = rs_fail(err, RESPLIT_EUNSUPPORTED,
                     "'%s' is a symbolic link to a Zarr node, and links are not followed: open what it leads to, or "
                     "put it in its place",
                     path.s);
    }
    rs_text_release(&path);
    return rc;
}

/* Hidden folders are none of the hierarchy, and neither is what grows in the part of an output. */
static bool is_outside(const char *name)
{
    size_t n = strlen(name), suffix = strlen(RS_PART_SUFFIX);
    return name[0] == '.' || (n > suffix && strcmp(name + n - suffix, RS_PART_SUFFIX) == 0);
}

/* The folders in a folder, in order. */
static resplit_status list_folders(const char *path, name_list *list, resplit_error *err)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    resplit_status rc = RESPLIT_OK;
    if (folder == NULL) {
        return rs_fail_errno(err, errno, "cannot list '%s'", path);
    }
    while (rc == RESPLIT_OK && (errno = 0, entry = readdir(folder)) != NULL) {
        struct stat status;
        if (is_outside(entry->d_name) || fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
            continue;
        }
        if (S_ISDIR(status.st_mode)) {
            rc = add_name(list, entry->d_name, err);
        } else if (S_ISLNK(status.st_mode)) {
            rc = check_link(path, entry->d_name, err);
        }
    }
    if (rc == RESPLIT_OK && errno != 0) {
        rc = rs_fail_errno(err, errno, "cannot list '%s'", path);
    }
    closedir(folder);
    if (rc == RESPLIT_OK && list->n > 1) {
        qsort(list->name, list->n, sizeof *list->name, compare_names);
    }
    return rc;
}

static resplit_status tell(walker *w, size_t end, bool is_array, int version)
{
    rs_text name = {0};
    size_t begin = w->root_n + (end > w->root_n);
    resplit_status rc = rs_text_add_bytes(&name, w->path.s + begin, end - begin, w->err);
    rc = rc != RESPLIT_OK ? rc : w->visit(name.s, is_array, version, w->payload, w->err);
    rs_text_release(&name);
    return rc;
}

/* A folder without metadata is a group when something is in it: it is told of before that. */
static resplit_status tell_parents(walker *w)
{
    for (; w->n_known < w->n_told; w->n_known++) {
        RS_TRY(tell(w, w->told[w->n_known], false, 0));
    }
    return RESPLIT_OK;
}

/* Recursion ends at MAX_TREE. */
static resplit_status walk_folder(walker *w)
{
    name_list list = {0};
    size_t end = w->path.n;
    int array = rs_zarr_probe(w->path.s), group = array != 0 ? 0 : rs_zarr_is_group(w->path.s);
    if (w->n_told == MAX_TREE) {
        return rs_fail(w->err, RESPLIT_EUNSUPPORTED, "'%s' is nested more than %d deep", w->path.s, MAX_TREE);
    }
    if (array != 0 || group != 0) {
        RS_TRY(tell_parents(w));
        RS_TRY(tell(w, end, array != 0, array + group));
    }
    if (array != 0) {
        return RESPLIT_OK;
    }
    w->told[w->n_told++] = end;
    w->n_known = group != 0 ? w->n_told : w->n_known;
    resplit_status rc = list_folders(w->path.s, &list, w->err);
    for (size_t i = 0; rc == RESPLIT_OK && i < list.n; i++) {
        rc = rs_text_add(&w->path, w->err, "/%s", list.name[i]);
        rc = rc != RESPLIT_OK ? rc : walk_folder(w);
        w->path.n = end;
        w->path.s[end] = '\0';
    }
    release_names(&list);
    w->n_told--;
    w->n_known = w->n_known < w->n_told ? w->n_known : w->n_told;
    return rc;
}

resplit_status rs_zarr_walk(const char *path, rs_zarr_visit *visit, void *payload, resplit_error *err)
{
    walker w = {.visit = visit, .payload = payload, .err = err};
    resplit_status rc = rs_text_add(&w.path, err, "%s", path);
    while (w.path.n > 1 && w.path.s[w.path.n - 1] == '/') {
        w.path.s[--w.path.n] = '\0';
    }
    w.root_n = w.path.n;
    rc = rc != RESPLIT_OK ? rc : walk_folder(&w);
    rs_text_release(&w.path);
    return rc;
}

/* ---- Groups ---- */

/* The attributes of a group, and its other keys when it is of version 3. */
static resplit_status group_texts(const char *path, int version, rs_text *attributes, rs_text *extra,
                                  resplit_error *err)
{
    static const char *const known[] = {"attributes", "zarr_format", "node_type", "consolidated_metadata"};
    rs_text text;
    rs_json_document *document;
    bool found;
    resplit_status rc = rs_zarr_load(path, version == 2 ? ".zattrs" : "zarr.json", &text, &document, &found, err);
    const rs_json *root = rc == RESPLIT_OK && found ? rs_json_root(document) : NULL;
    const rs_json *value = version == 2 ? root : rs_json_get(root, "attributes");
    if (value != NULL && value->kind != RS_JSON_OBJECT) {
        rc = rs_zarr_bad(path, "attributes", value, "but it is an object", err);
    }
    rc = rc != RESPLIT_OK ? rc : rs_zarr_keep(attributes, value, err);
    for (const rs_json *v = version == 3 && root != NULL ? root->first : NULL; rc == RESPLIT_OK && v != NULL;
         v = v->next) {
        bool is_known = false, must = true;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
            is_known = is_known || rs_json_key_is(v, known[i]);
        }
        (void)rs_json_bool(rs_json_get(v, "must_understand"), &must);
        if (!is_known && must) {
            rc = rs_fail(err, RESPLIT_EUNSUPPORTED, "'%s/zarr.json' has a key %.*s that must be understood, and is not",
                         path, rs_shown(v->key_n), v->key);
        } else if (!is_known) {
            rc = rs_text_add(extra, err, ",\n  %.*s: %.*s", (int)v->key_n, v->key, (int)v->n, v->text);
        }
    }
    rs_json_free(document);
    rs_text_release(&text);
    return rc;
}

resplit_status rs_zarr_group_attributes(const char *path, rs_text *out, resplit_error *err)
{
    rs_text extra = {0};
    int version = rs_zarr_is_group(path);
    resplit_status rc = version == 0 ? RESPLIT_OK : group_texts(path, version, out, &extra, err);
    rs_text_release(&extra);
    return rc == RESPLIT_OK && out->n == 0 ? rs_text_add(out, err, "{}") : rc;
}

/* Byte for byte what is on disk. */
static resplit_status print_as_it_is(const char *path, int version, rs_zarr_file *add, void *payload,
                                     resplit_error *err)
{
    static const char *const names[2][2] = {{".zgroup", ".zattrs"}, {"zarr.json", NULL}};
    resplit_status rc = RESPLIT_OK;
    for (int i = 0; rc == RESPLIT_OK && i < 2 && names[version - 2][i] != NULL; i++) {
        rs_text text;
        rs_json_document *document;
        bool found;
        rc = rs_zarr_load(path, names[version - 2][i], &text, &document, &found, err);
        rc = rc != RESPLIT_OK || !found ? rc : add(names[version - 2][i], &text, payload, err);
        rs_json_free(document);
        rs_text_release(&text);
    }
    return rc;
}

resplit_status rs_zarr_group_print(const char *path, int version, rs_zarr_file *add, void *payload, resplit_error *err)
{
    rs_text attributes = {0}, extra = {0}, text = {0};
    int own = rs_zarr_is_group(path);
    resplit_status rc = own == 0 ? RESPLIT_OK : group_texts(path, own, &attributes, &extra, err);
    version = version != 0 ? version : own != 0 ? own : 3;
    if (rc != RESPLIT_OK) {
        goto out;
    }
    if (version == own && (version == 2 || !rs_zarr_has_consolidated(path))) {
        rc = print_as_it_is(path, version, add, payload, err);
        goto out;
    }
    if (version == 3) {
        rc = rs_text_add(&text, err,
                         "{\n  \"attributes\": %s,\n  \"zarr_format\": 3,\n  \"node_type\": \"group\"%s\n}\n",
                         attributes.n > 0 ? attributes.s : "{}", extra.n > 0 && own == 3 ? extra.s : "");
        rc = rc != RESPLIT_OK ? rc : add("zarr.json", &text, payload, err);
        goto out;
    }
    rc = rs_text_add(&text, err, "{\n  \"zarr_format\": 2\n}\n");
    rc = rc != RESPLIT_OK ? rc : add(".zgroup", &text, payload, err);
    if (rc == RESPLIT_OK && attributes.n > 0) {
        text.n = 0;
        rc = rs_text_add(&text, err, "%s\n", attributes.s);
        rc = rc != RESPLIT_OK ? rc : add(".zattrs", &text, payload, err);
    }
out:
    rs_text_release(&attributes);
    rs_text_release(&extra);
    rs_text_release(&text);
    return rc;
}

/* ---- Images ---- */

/* A path that stays in the store: no "..", not from the root. */
static bool stays_inside(const char *path)
{
    for (const char *s = path;; s++) {
        size_t n = strcspn(s, "/");
        if (n == 0 || (n == 1 && s[0] == '.') || (n == 2 && s[0] == '.' && s[1] == '.')) {
            return false;
        }
        s += n;
        if (*s == '\0') {
            return true;
        }
    }
}

static resplit_status visit_level(const char *path, const rs_json *dataset, rs_zarr_visit *visit, void *payload,
                                  resplit_error *err)
{
    rs_text name = {0}, full = {0};
    const rs_json *value = rs_json_get(dataset, "path");
    if (value == NULL || value->kind != RS_JSON_STRING) {
        return rs_zarr_bad(path, "path", value, "but it is the name of an array", err);
    }
    resplit_status rc = rs_json_add_string(value, &name, err);
    if (rc == RESPLIT_OK && !stays_inside(name.s)) {
        rc = rs_zarr_bad(path, "path", value, "which leads out of the image", err);
    }
    rc = rc != RESPLIT_OK ? rc : rs_text_add(&full, err, "%s/%s", path, name.s);
    if (rc == RESPLIT_OK) {
        int version = rs_zarr_probe(full.s);
        rc = visit(name.s, version != 0, version, payload, err);
    }
    rs_text_release(&name);
    rs_text_release(&full);
    return rc;
}

const rs_json *rs_zarr_images(const rs_json *attributes)
{
    const rs_json *ome = rs_json_get(attributes, "ome");
    return rs_json_get(rs_json_get(ome, "multiscales") != NULL ? ome : attributes, "multiscales");
}

resplit_status rs_zarr_multiscale(const char *path, rs_zarr_visit *visit, void *payload, resplit_error *err)
{
    rs_text attributes = {0};
    rs_json_document *document = NULL;
    resplit_status rc = rs_zarr_group_attributes(path, &attributes, err);
    if (rc == RESPLIT_OK && attributes.n > 0) {
        rc = rs_json_parse(attributes.s, attributes.n, path, &document, err);
    }
    if (rc == RESPLIT_OK && document != NULL) {
        const rs_json *images = rs_zarr_images(rs_json_root(document));
        for (const rs_json *image = images == NULL ? NULL : images->first; image != NULL; image = image->next) {
            const rs_json *levels = rs_json_get(image, "datasets");
            for (const rs_json *v = levels == NULL ? NULL : levels->first; rc == RESPLIT_OK && v != NULL; v = v->next) {
                rc = visit_level(path, v, visit, payload, err);
            }
        }
    }
    rs_json_free(document);
    rs_text_release(&attributes);
    return rc;
}
