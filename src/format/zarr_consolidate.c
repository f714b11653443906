/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zarr_consolidate.c - copies of metadata that groups hold for what is below them. Readers believe them without looking
 * further, so an old copy is worse than none.
 *
 *     v2  .zmetadata   {"metadata": {".zgroup": ..., "a/.zarray": ..., "a/.zattrs": ...}, "zarr_consolidated_format": 1}
 *     v3  zarr.json    {..., "consolidated_metadata": {"kind": "inline", "must_understand": false, "metadata": {"a": ...}}}
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/textfile.h"
#include "format/zarr_parts.h"

#define CONSOLIDATED "consolidated_metadata"

static resplit_status join(rs_text *out, const char *folder, const char *name, resplit_error *err)
{
    out->n = 0;
    return *name == '\0' ? rs_text_add(out, err, "%s", folder) : rs_text_add(out, err, "%s/%s", folder, name);
}

/* Appends an object without its consolidated metadata, and with `more` in their place. */
static resplit_status add_without(rs_text *out, const rs_json *object, const char *more, resplit_error *err)
{
    const char *comma = "\n  ";
    RS_TRY(rs_text_add(out, err, "{"));
    for (const rs_json *v = object->first; v != NULL; v = v->next) {
        if (!rs_json_key_is(v, CONSOLIDATED)) {
            RS_TRY(rs_text_add(out, err, "%s%.*s: %.*s", comma, (int)v->key_n, v->key, (int)v->n, v->text));
            comma = ",\n  ";
        }
    }
    if (*more != '\0') {
        RS_TRY(rs_text_add(out, err, "%s\"" CONSOLIDATED "\": %s", comma, more));
    }
    return rs_text_add(out, err, "\n}");
}

bool rs_zarr_has_consolidated(const char *path)
{
    rs_text text = {0}, file = {0};
    rs_json_document *document = NULL;
    bool found = false, has = false;
    if (join(&file, path, ".zmetadata", NULL) == RESPLIT_OK) {
        has = access(file.s, F_OK) == 0;
    }
    if (!has && rs_zarr_load(path, "zarr.json", &text, &document, &found, NULL) == RESPLIT_OK && found) {
        const rs_json *value = rs_json_get(rs_json_root(document), CONSOLIDATED);
        has = value != NULL && value->kind != RS_JSON_NULL;
    }
    rs_json_free(document);
    rs_text_release(&text);
    rs_text_release(&file);
    return has;
}

/* ---- Making them ---- */

typedef struct collector {
    const char *root;
    int version;
    rs_text text; /* entries, each after a comma but for the first */
} collector;

/* One entry: the file `name` of the node `node`, when it is there. */
static resplit_status add_entry(collector *c, const char *node, const char *name, resplit_error *err)
{
    rs_text folder = {0}, key = {0}, text = {0};
    rs_json_document *document = NULL;
    bool found = false;
    resplit_status rc = join(&folder, c->root, node, err);
    rc = rc != RESPLIT_OK ? rc : rs_zarr_load(folder.s, name, &text, &document, &found, err);
    if (rc != RESPLIT_OK || !found) {
        goto out;
    }
    const rs_json *root = rs_json_root(document);
    rc = c->version == 3 ? rs_text_add(&key, err, "%s", node)
                         : rs_text_add(&key, err, "%s%s%s", node, *node == '\0' ? "" : "/", name);
    rc = rc != RESPLIT_OK ? rc : rs_text_add(&c->text, err, c->text.n > 0 ? ",\n    " : "\n    ");
    rc = rc != RESPLIT_OK ? rc : rs_json_write_string(&c->text, key.s, err);
    rc = rc != RESPLIT_OK ? rc : rs_text_add(&c->text, err, ": ");
    if (rc == RESPLIT_OK && c->version == 3 && root->kind == RS_JSON_OBJECT) {
        /* zarr-python puts an empty one into groups: what is in them is in this list */
        const char *empty = "{\"kind\": \"inline\", \"must_understand\": false, \"metadata\": {}}";
        rc = add_without(&c->text, root, rs_json_is(rs_json_get(root, "node_type"), "group") ? empty : "", err);
    } else if (rc == RESPLIT_OK) {
        rc = rs_text_add_bytes(&c->text, root->text, root->n, err);
    }
out:
    rs_json_free(document);
    rs_text_release(&folder);
    rs_text_release(&key);
    rs_text_release(&text);
    return rc;
}

static resplit_status collect(const char *name, bool is_array, int version, void *payload, resplit_error *err)
{
    collector *c = payload;
    if (version != c->version) { /* also groups that have no metadata */
        return RESPLIT_OK;
    }
    if (version == 3) {
        return *name == '\0' ? RESPLIT_OK : add_entry(c, name, "zarr.json", err);
    }
    RS_TRY(add_entry(c, name, is_array ? ".zarray" : ".zgroup", err));
    return add_entry(c, name, ".zattrs", err);
}

/* Writes zarr.json of a group anew, with `more` as its consolidated metadata; nothing when that changes nothing. */
static resplit_status rewrite_v3(const char *path, const char *more, resplit_error *err)
{
    rs_text file = {0}, text = {0}, out = {0};
    rs_json_document *document = NULL;
    bool found = false;
    resplit_status rc = join(&file, path, "zarr.json", err);
    rc = rc != RESPLIT_OK ? rc : rs_zarr_load(path, "zarr.json", &text, &document, &found, err);
    if (rc == RESPLIT_OK && found && (*more != '\0' || rs_json_get(rs_json_root(document), CONSOLIDATED) != NULL)) {
        rc = add_without(&out, rs_json_root(document), more, err);
        rc = rc != RESPLIT_OK ? rc : rs_text_add(&out, err, "\n");
        rc = rc != RESPLIT_OK ? rc : rs_textfile_write(file.s, &out, err);
    }
    rs_json_free(document);
    rs_text_release(&file);
    rs_text_release(&text);
    rs_text_release(&out);
    return rc;
}

static resplit_status write_v2(const char *path, const rs_text *entries, resplit_error *err)
{
    rs_text file = {0}, out = {0};
    resplit_status rc = join(&file, path, ".zmetadata", err);
    rc = rc != RESPLIT_OK
             ? rc
             : rs_text_add(&out, err, "{\n  \"metadata\": {%s\n  },\n  \"zarr_consolidated_format\": 1\n}\n",
                           entries->n > 0 ? entries->s : "");
    rc = rc != RESPLIT_OK ? rc : rs_textfile_write(file.s, &out, err);
    rs_text_release(&file);
    rs_text_release(&out);
    return rc;
}

resplit_status rs_zarr_consolidate(const char *path, resplit_error *err)
{
    collector c = {.root = path, .version = rs_zarr_is_group(path)};
    rs_text more = {0};
    if (c.version == 0) {
        return rs_fail(err, RESPLIT_EFORMAT, "'%s' is no Zarr group: there is nothing to consolidate", path);
    }
    resplit_status rc = rs_zarr_walk(path, collect, &c, err);
    if (rc == RESPLIT_OK && c.version == 2) {
        rc = write_v2(path, &c.text, err);
    } else if (rc == RESPLIT_OK) {
        rc = rs_text_add(&more, err, "{\"kind\": \"inline\", \"must_understand\": false, \"metadata\": {%s}}",
                         c.text.n > 0 ? c.text.s : "");
        rc = rc != RESPLIT_OK ? rc : rewrite_v3(path, more.s, err);
    }
    rs_text_release(&c.text);
    rs_text_release(&more);
    return rc;
}

/* ---- Removing them ---- */

static resplit_status unconsolidate(const char *path, resplit_error *err)
{
    rs_text file = {0};
    struct stat status;
    resplit_status rc = join(&file, path, ".zmetadata", err);
    /* looked at first: on a file system that cannot be written to, removing what is not there fails too */
    if (rc == RESPLIT_OK && lstat(file.s, &status) == 0 && unlink(file.s) != 0 && errno != ENOENT) {
        rc = rs_fail_errno(err, errno, "cannot remove '%s', which would be out of date", file.s);
    }
    if (rc == RESPLIT_OK && rs_zarr_is_group(path) == 3) {
        rc = rewrite_v3(path, "", err);
    }
    rs_text_release(&file);
    return rc;
}

/* The nearest folder above `path` that is there, from the root on; the caller frees *out. */
static resplit_status find_parent(const char *path, char **out, resplit_error *err)
{
    rs_text text = {0};
    resplit_status rc = rs_text_add(&text, err, "%s%s", *path == '/' ? "" : "./", path);
    *out = NULL;
    while (rc == RESPLIT_OK && *out == NULL) {
        while (text.n > 1 && text.s[text.n - 1] == '/') {
            text.s[--text.n] = '\0';
        }
        while (text.n > 1 && text.s[text.n - 1] != '/') {
            text.s[--text.n] = '\0';
        }
        *out = realpath(text.s, NULL);
        if (*out == NULL && (errno != ENOENT || text.n <= 1)) {
            rc = rs_fail_errno(err, errno, "cannot look at '%s'", text.s);
        }
    }
    rs_text_release(&text);
    return rc;
}

resplit_status rs_zarr_unconsolidate(const char *array_path, resplit_error *err)
{
    char *parent;
    resplit_status rc = find_parent(array_path, &parent, err);
    /* groups need not have metadata of their own, so all folders are looked at, up to the root */
    while (rc == RESPLIT_OK && parent[0] == '/' && parent[1] != '\0') {
        rc = unconsolidate(parent, err);
        *strrchr(parent, '/') = '\0';
    }
    free(parent);
    return rc;
}
