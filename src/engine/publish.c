/* SPDX-License-Identifier: BSD-3-Clause */
/* publish.c - puts an array at its place when it is whole. */
#include "engine/output.h"

#include "engine/part.h"
#include "engine/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static resplit_status add_file(const char *name, const rs_text *text, void *payload, resplit_error *err)
{
    const rs_output *output = payload;
    const char *slash = strchr(name, '/');
    if (slash != NULL) { /* an array without any block has no folder yet */
        char folder[RS_PATH_MAX];
        RS_TRY(rs_path_join(output->data, name, folder, err));
        folder[strlen(folder) - strlen(slash)] = '\0';
        if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
            return rs_fail_errno(err, errno, "cannot make the folder '%s'", folder);
        }
    }
    return rs_part_write(output->data, name, text, false, err);
}

static resplit_status add_head(const char *name, const rs_text *text, void *payload, resplit_error *err)
{
    const rs_output *output = payload;
    (void)name;
    return rs_part_write(output->part, RS_HEAD_NAME, text, false, err);
}

static resplit_status write_manifest(rs_output *output, uint64_t fingerprint, resplit_error *err)
{
    rs_text text = {0};
    resplit_status rc = output->array != NULL ? rs_array_metadata(output->array, add_file, output, err) : RESPLIT_OK;
    if (rc == RESPLIT_OK) {
        rc = rs_manifest_write(output->array, fingerprint, output->token, &text, err);
    }
    if (rc == RESPLIT_OK) {
        rc = rs_part_write(output->data, rs_manifest_name(output->array), &text, false, err);
    }
    if (rc == RESPLIT_OK && output->array != NULL && output->array->ome) { /* the level is an array of its own */
        char folder[RS_PATH_MAX];
        rc = rs_path_join(output->data, RS_OME_LEVEL, folder, err);
        rc = rc == RESPLIT_OK ? rs_part_write(folder, rs_manifest_name(output->array), &text, false, err) : rc;
    }
    rs_text_release(&text);
    return rc;
}

/* Everything that was written is on disk before it gets its name. One call for all files where the system has it. */
static resplit_status sync_part(const rs_output *output, resplit_error *err)
{
    if (output->sync == RS_SYNC_NONE) {
        return RESPLIT_OK;
    }
#ifdef __linux__
    int failed = syncfs(output->lock);
#else
    int failed = fsync(output->lock);
    sync();
#endif
    return failed == 0 ? RESPLIT_OK : rs_fail_errno(err, errno, "cannot bring '%s' to disk", output->part);
}

/* The old array and the new one change places in one move, where the system can. The old one goes with the part. */
static resplit_status replace(const rs_output *output, resplit_error *err)
{
    const char *path = output->site.path;
    if (!output->site.folder && rename(output->data, path) == 0) {
        return RESPLIT_OK;
    }
#ifdef RENAME_EXCHANGE
    if (renameat2(AT_FDCWD, output->data, AT_FDCWD, path, RENAME_EXCHANGE) == 0) {
        return RESPLIT_OK;
    }
    if (errno != EINVAL && errno != ENOSYS && errno != ENOENT) {
        return rs_fail_errno(err, errno, "cannot replace '%s'", path);
    }
#endif
    char old[RS_PATH_MAX];
    RS_TRY(rs_path_join(output->part, RS_OLD_NAME, old, err));
    if (rename(path, old) != 0 && errno != ENOENT) {
        return rs_fail_errno(err, errno, "cannot move '%s' away", path);
    }
    if (rename(output->data, path) != 0) {
        int why = errno;
        (void)rename(old, path);
        return rs_fail_errno(err, why, "cannot rename '%s' to '%s'", output->data, path);
    }
    return RESPLIT_OK;
}

/* What appeared meanwhile is not replaced. */
static resplit_status move_in(const rs_output *output, resplit_error *err)
{
    const char *path = output->site.path;
#ifdef RENAME_NOREPLACE
    bool empty = output->site.folder; /* a folder with nothing in it may be there: then rename is right */
    int failed =
        empty ? rename(output->data, path) : renameat2(AT_FDCWD, output->data, AT_FDCWD, path, RENAME_NOREPLACE);
    if (failed != 0 && (errno == EINVAL || errno == ENOSYS)
        && !rs_part_is_there(path)) { /* not every file system can */
        failed = rename(output->data, path);
    }
#else
    int failed = !output->site.folder && rs_part_is_there(path) ? (errno = EEXIST, -1) : rename(output->data, path);
#endif
    if (failed == 0) {
        return RESPLIT_OK;
    }
    return errno == EEXIST || errno == ENOTEMPTY
               ? rs_fail(err, RESPLIT_EEXISTS, "'%s' appeared during the run: it is not replaced", path)
               : rs_fail_errno(err, errno, "cannot rename '%s' to '%s'", output->data, path);
}

/* The new name is on disk before anything is removed. Some file systems cannot do that for a folder. */
static resplit_status sync_parent(const char *path, resplit_error *err)
{
    char parent[RS_PATH_MAX];
    RS_TRY(rs_path_parent(path, parent, err));
    int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int failed = fd < 0 || fsync(fd) != 0 ? errno : 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    return failed == 0 || failed == EINVAL || failed == ENOTSUP || failed == EBADF
               ? RESPLIT_OK
               : rs_fail_errno(err, failed, "'%s' is complete, but its name may not survive a loss of power", path);
}

/*
 * Groups above may hold copies of metadata, and readers believe them: they go before what they tell of changes. What
 * grows in a part has none above it: the groups around the part are for the publishing of the whole.
 */
static resplit_status forget_copies(const rs_output *output, resplit_error *err)
{
    const char *path = output->site.path;
    bool zarr = output->array == NULL || rs_array_is_node(output->array) || rs_node_at(path) != RS_NODE_NONE;
    return zarr && strstr(path, RS_PART_SUFFIX "/" RS_DATA_NAME "/") == NULL ? rs_node_forget_copies(path, err)
                                                                             : RESPLIT_OK;
}

resplit_status rs_output_publish(rs_output *output, uint64_t fingerprint, resplit_error *err)
{
    if (output->site.folder) {
        RS_TRY(write_manifest(output, fingerprint, err));
    } else {
        RS_TRY(rs_array_metadata(output->array, add_head, output, err));
    }
    RS_TRY(sync_part(output, err));
    RS_TRY(forget_copies(output, err));
    struct stat st;
    bool there = lstat(output->site.path, &st) == 0;
    RS_TRY(there && output->site.overwrite ? replace(output, err) : move_in(output, err));
    RS_TRY(rs_part_move_head(output, err));
    resplit_status rc = output->sync != RS_SYNC_NONE ? sync_parent(output->site.path, err) : RESPLIT_OK;
    resplit_error why;
    if (rc == RESPLIT_OK && rs_part_clear(output, true, &why) != RESPLIT_OK) {
        rc = rs_fail(err, why.code, "'%.300s' is complete, but what is left beside it must be removed by hand: %.500s",
                     output->site.path, why.message);
    }
    if (rc == RESPLIT_OK) {
        rs_part_end(output);
    }
    rs_output_abandon(output, true);
    return rc;
}

void rs_output_abandon(rs_output *output, bool keep)
{
    rs_journal_end(&output->journal);
    if (output->shared) {
        rs_parts_leave(output, keep);
    } else if (output->lock >= 0) {
        if (keep) {
            (void)rmdir(output->part); /* when it is empty */
        } else {
            rs_part_remove(output, false);
        }
    }
    if (output->lock >= 0) {
        (void)close(output->lock);
    }
    output->lock = output->folder = -1;
}
