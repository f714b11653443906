/* SPDX-License-Identifier: BSD-3-Clause */
/* group.c - the nodes of a group, and what of it is not arrays made anew. */
#include "format/group.h"

#include "base/textfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- The list -------------------------------------------------------------------------------- */

static resplit_status add_member(const char *name, bool is_array, int version, void *payload, resplit_error *err)
{
    rs_group *group = payload;
    if (group->n == group->room) {
        size_t room = group->room * 2 + 16;
        rs_member *more = realloc(group->member, room * sizeof *more);
        if (more == NULL) {
            return rs_fail(err, RESPLIT_ENOMEM, "no memory for %zu nodes", room);
        }
        group->member = more;
        group->room = room;
    }
    rs_member *member = &group->member[group->n];
    *member = (rs_member){.name = rs_strdup(name), .is_array = is_array, .version = version};
    if (member->name == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for a name");
    }
    group->n++;
    return RESPLIT_OK;
}

static resplit_status set_path(rs_group *group, const char *path, resplit_error *err)
{
    *group = (rs_group){.path = rs_strdup(path)};
    return group->path != NULL ? RESPLIT_OK : rs_fail(err, RESPLIT_ENOMEM, "no memory for a path");
}

resplit_status rs_group_open(const char *path, rs_group *out, resplit_error *err)
{
    RS_TRY(set_path(out, path, err));
    return rs_zarr_walk(path, add_member, out, err);
}

resplit_status rs_group_copy(const rs_group *group, rs_group *out, resplit_error *err)
{
    RS_TRY(set_path(out, group->path, err));
    for (size_t i = 0; i < group->n; i++) {
        const rs_member *member = &group->member[i];
        RS_TRY(add_member(member->name, member->is_array, member->version, out, err));
        out->member[i].is_level = member->is_level;
    }
    return RESPLIT_OK;
}

void rs_group_release(rs_group *group)
{
    for (size_t i = 0; i < group->n; i++) {
        free(group->member[i].name);
    }
    free(group->member);
    free(group->path);
    *group = (rs_group){0};
}

static resplit_status add_level(const char *name, bool is_array, int version, void *payload, resplit_error *err)
{
    const rs_group *group = payload;
    (void)version;
    for (size_t i = 0; i < group->n; i++) {
        if (is_array && strcmp(group->member[i].name, name) == 0) {
            group->member[i].is_level = true;
            return RESPLIT_OK;
        }
    }
    return rs_fail(err, RESPLIT_EFORMAT, "'%s' names a level '%s' of its image, and there is no such array",
                   group->path, name);
}

resplit_status rs_group_levels(rs_group *group, resplit_error *err)
{
    bool any = false;
    RS_TRY(rs_zarr_multiscale(group->path, add_level, group, err));
    for (size_t i = 0; i < group->n; i++) {
        any = any || group->member[i].is_level;
    }
    return any ? RESPLIT_OK
               : rs_fail(err, RESPLIT_EINVAL,
                         "'%s' is no multiscale image: its attributes have no \"multiscales\" with levels",
                         group->path);
}

/* ---- Made anew ------------------------------------------------------------------------------- */

static resplit_status join(const char *folder, const char *name, rs_text *out, resplit_error *err)
{
    out->n = 0;
    return rs_text_add(out, err, "%s%s%s", folder, *name == '\0' ? "" : "/", name);
}

/* What becomes of the metadata of groups: files, or a hash. */
typedef struct printer {
    rs_text path; /* of the group that is made */
    rs_text file; /* in it */
    uint64_t *hash;
} printer;

static resplit_status print_group(const rs_group *group, const rs_member *member, int version, rs_zarr_file *add,
                                  printer *p, resplit_error *err)
{
    rs_text from = {0};
    resplit_status rc = join(group->path, member->name, &from, err);
    rc = rc != RESPLIT_OK ? rc : rs_zarr_group_print(from.s, version, add, p, err);
    rs_text_release(&from);
    return rc;
}

static void mix_text(const char *s, size_t n, uint64_t *hash)
{
    for (size_t i = 0; i < n; i++) {
        *hash = rs_mix(*hash, s[i]);
    }
    *hash = rs_mix(*hash, (int64_t)n);
}

static resplit_status mix_file(const char *name, const rs_text *text, void *payload, resplit_error *err)
{
    const printer *p = payload;
    (void)err;
    mix_text(name, strlen(name), p->hash);
    mix_text(text->s, text->n, p->hash);
    return RESPLIT_OK;
}

resplit_status rs_group_hash(const rs_group *group, int version, uint64_t *hash, resplit_error *err)
{
    printer p = {.hash = hash};
    for (size_t i = 0; i < group->n; i++) {
        const rs_member *member = &group->member[i];
        mix_text(member->name, strlen(member->name), hash);
        *hash = rs_mix(*hash, member->is_array);
        if (!member->is_array && member->version != 0) {
            RS_TRY(print_group(group, member, version, mix_file, &p, err));
        }
    }
    return RESPLIT_OK;
}

static resplit_status write_file(const char *name, const rs_text *text, void *payload, resplit_error *err)
{
    printer *p = payload;
    RS_TRY(join(p->path.s, name, &p->file, err));
    return rs_textfile_write(p->file.s, text, err);
}

resplit_status rs_group_make(const rs_group *group, int version, const char *folder, resplit_error *err)
{
    printer p = {.hash = NULL};
    resplit_status rc = RESPLIT_OK;
    for (size_t i = 0; rc == RESPLIT_OK && i < group->n; i++) {
        const rs_member *member = &group->member[i];
        if (member->is_array) {
            continue;
        }
        rc = join(folder, member->name, &p.path, err);
        if (rc == RESPLIT_OK && mkdir(p.path.s, 0777) != 0 && errno != EEXIST) {
            rc = rs_fail_errno(err, errno, "cannot make the folder '%s'", p.path.s);
        }
        if (rc == RESPLIT_OK && member->version != 0) {
            rc = print_group(group, member, version, write_file, &p, err);
        }
    }
    rs_text_release(&p.path);
    rs_text_release(&p.file);
    return rc;
}

resplit_status rs_group_consolidate(const rs_group *group, const char *folder, resplit_error *err)
{
    rs_text from = {0}, to = {0};
    resplit_status rc = RESPLIT_OK;
    for (size_t i = 0; rc == RESPLIT_OK && i < group->n; i++) {
        const rs_member *member = &group->member[i];
        if (member->is_array || member->version == 0) {
            continue;
        }
        rc = join(group->path, member->name, &from, err);
        if (rc == RESPLIT_OK && rs_zarr_has_consolidated(from.s)) {
            rc = join(folder, member->name, &to, err);
            rc = rc != RESPLIT_OK ? rc : rs_zarr_consolidate(to.s, err);
        }
    }
    rs_text_release(&from);
    rs_text_release(&to);
    return rc;
}
