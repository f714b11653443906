/* SPDX-License-Identifier: BSD-3-Clause */
/* path.c - paths relative to a file. */
#include "base/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Bytes of a path before its last part, trailing slashes aside; *n receives where the last part ends. */
static size_t last_part(const char *path, size_t *n)
{
    *n = strlen(path);
    while (*n > 1 && path[*n - 1] == '/') {
        (*n)--;
    }
    size_t start = *n;
    while (start > 0 && path[start - 1] != '/') {
        start--;
    }
    return start;
}

static resplit_status take(rs_text *text, char **out, resplit_error *err)
{
    RS_TRY(rs_text_add(text, err, "%s", "")); /* no text at all would be NULL */
    *out = text->s;
    *text = (rs_text){0};
    return RESPLIT_OK;
}

/* The folder that `path` lies in, resolved, and the last part of `path`, borrowed; "" for "/", "." and "..". */
static resplit_status resolve(const char *path, char **folder, const char **name, size_t *n_name, resplit_error *err)
{
    size_t n, start = last_part(path, &n);
    rs_text before = {0};
    *name = path + start;
    *n_name = n - start;
    bool is_folder = n == 1 && path[0] == '/';
    is_folder = is_folder || (*n_name == 1 && (*name)[0] == '.') || (*n_name == 2 && strncmp(*name, "..", 2) == 0);
    if (is_folder) {
        *n_name = 0;
        start = n;
    }
    resplit_status rc = start == 0 ? rs_text_add(&before, err, ".") : rs_text_add_bytes(&before, path, start, err);
    if (rc == RESPLIT_OK) {
        *folder = realpath(before.s, NULL);
        if (*folder == NULL) {
            rc = rs_fail_errno(err, errno, "cannot find the folder of '%s'", path);
        }
    }
    rs_text_release(&before);
    return rc;
}

resplit_status rs_path_to_write(const char *file, const char *path, char **out, resplit_error *err)
{
    char *home = NULL, *folder = NULL;
    const char *name, *ignored;
    size_t n_name, n_ignored;
    rs_text whole = {0};
    *out = NULL;
    resplit_status rc = resolve(file, &home, &ignored, &n_ignored, err);
    if (rc == RESPLIT_OK) {
        rc = resolve(path, &folder, &name, &n_name, err);
    }
    if (rc == RESPLIT_OK) {
        const char *slash = strcmp(folder, "/") == 0 || n_name == 0 ? "" : "/";
        rc = rs_text_add(&whole, err, "%s%s%.*s", folder, slash, (int)n_name, name);
    }
    if (rc == RESPLIT_OK) {
        size_t n = strlen(home);
        bool below = n > 1 && strncmp(whole.s, home, n) == 0 && whole.s[n] == '/';
        bool same = strcmp(whole.s, home) == 0;
        *out = rs_strdup(below ? whole.s + n + 1 : same ? "." : whole.s);
        if (*out == NULL) {
            rc = rs_fail_errno(err, ENOMEM, "cannot allocate a path");
        }
    }
    free(home);
    free(folder);
    rs_text_release(&whole);
    return rc;
}

resplit_status rs_path_as_read(const char *file, const char *path, char **out, resplit_error *err)
{
    rs_text text = {0};
    size_t n, start = last_part(file, &n);
    resplit_status rc = RESPLIT_OK;
    *out = NULL;
    if (path[0] != '/' && start > 0) {
        rc = rs_text_add_bytes(&text, file, start, err);
    }
    if (rc == RESPLIT_OK) {
        rc = rs_text_add(&text, err, "%s", path);
    }
    if (rc == RESPLIT_OK) {
        rc = take(&text, out, err);
    }
    rs_text_release(&text);
    return rc;
}

char *rs_path_trimmed(const char *path)
{
    size_t n;
    (void)last_part(path, &n);
    return strndup(path, n);
}
