/* SPDX-License-Identifier: BSD-3-Clause */
/* part.c - the folder in which an output grows: locked, filled, cleared. */
#include "engine/part.h"

#include "engine/parts.h"
#include "engine/shards.h"
#include "engine/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- Removing ------------------------------------------------------------------------------ */

/* A file, or a folder and all that is in it; links are removed, not followed. */
static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st;
    (void)where;
    return kind == FTW_DP || kind == FTW_D || kind == FTW_DNR ? rmdir(path) : unlink(path);
}

static resplit_status remove_array(const char *path, resplit_error *err)
{
    enum { DESCRIPTORS = 8 };
    return nftw(path, remove_one, DESCRIPTORS, FTW_DEPTH | FTW_PHYS) == 0
               ? RESPLIT_OK
               : rs_fail_errno(err, errno, "cannot remove '%s'", path);
}

void rs_path_remove(const char *path)
{
    (void)remove_array(path, NULL);
}

static resplit_status remove_if_there(const char *path, resplit_error *err)
{
    struct stat st;
    return lstat(path, &st) == 0 ? remove_array(path, err) : RESPLIT_OK;
}

static resplit_status remove_names(const rs_output *output, const char *const *names, resplit_error *err)
{
    for (; *names != NULL; names++) {
        char path[RS_PATH_MAX];
        RS_TRY(rs_path_join(output->part, *names, path, err));
        RS_TRY(remove_if_there(path, err));
    }
    return RESPLIT_OK;
}

/* What says that the data is good goes before the data; or last, when that has its name, which says it as well. */
resplit_status rs_part_clear(const rs_output *output, bool published, resplit_error *err)
{
    static const char *const first[] = {RS_PARTS_NAME, RS_JOURNAL_NAME, NULL};
    static const char *const names[] = {RS_JOURNAL_NEW, RS_DATA_NAME, RS_SHARDS_NAME, RS_HEAD_NAME, RS_UNPACKED_NAME,
                                        RS_PACKED_NAME, RS_OLD_NAME,  RS_PARTS_NEW,   NULL};
    static const char *const last[] = {RS_PLAN_NAME, RS_PARTS_NAME, RS_JOURNAL_NAME, NULL};
    if (!published) {
        RS_TRY(remove_names(output, first, err));
    }
    RS_TRY(remove_names(output, names, err));
    RS_TRY(rs_parts_remove(output, err));
    return remove_names(output, last, err);
}

void rs_part_end(const rs_output *output)
{
    char lock[RS_PATH_MAX];
    if (rs_path_join(output->part, RS_LOCK_NAME, lock, NULL) == RESPLIT_OK) {
        (void)unlink(lock);
    }
    (void)rmdir(output->part);
}

void rs_part_remove(const rs_output *output, bool published)
{
    if (rs_part_clear(output, published, NULL) == RESPLIT_OK) {
        rs_part_end(output);
    }
}

/* ---- The part ------------------------------------------------------------------------------ */

resplit_status rs_output_part(const char *path, char part[RS_PATH_MAX], resplit_error *err)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') {
        n--;
    }
    if (snprintf(part, RS_PATH_MAX, "%.*s%s", (int)n, path, RS_PART_SUFFIX) >= RS_PATH_MAX - 16) {
        return rs_fail(err, RESPLIT_EINVAL, "the path '%s' is too long", path);
    }
    return RESPLIT_OK;
}

bool rs_part_is_current(const rs_output *output)
{
    struct stat mine, there;
    return fstat(output->lock, &mine) == 0 && lstat(output->part, &there) == 0 && mine.st_ino == there.st_ino
           && mine.st_dev == there.st_dev;
}

/* Opens and locks the part, made when it is not there. *again: it was published or removed meanwhile. */
static resplit_status lock_part(rs_output *output, bool *again, resplit_error *err)
{
    *again = false;
    if (mkdir(output->part, 0777) != 0 && errno != EEXIST) {
        return rs_fail_errno(err, errno, "cannot make the folder '%s'", output->part);
    }
    output->lock = open(output->part, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (output->lock < 0) {
        *again = errno == ENOENT;
        return *again ? RESPLIT_OK : rs_fail_errno(err, errno, "cannot open '%s'", output->part);
    }
    if (flock(output->lock, (output->shared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0) {
        int why = errno;
        (void)close(output->lock);
        output->lock = -1;
        if (why == EWOULDBLOCK) {
            return rs_fail(err, RESPLIT_EEXISTS, "another run is at work on '%s'", output->site.path);
        }
        return rs_fail_errno(err, why, "cannot lock '%s'", output->part);
    }
    if (!rs_part_is_current(output)) {
        (void)close(output->lock);
        output->lock = -1;
        *again = true;
    }
    return RESPLIT_OK;
}

resplit_status rs_part_restore(const rs_output *output, resplit_error *err)
{
    char old[RS_PATH_MAX];
    struct stat st;
    RS_TRY(rs_path_join(output->part, RS_OLD_NAME, old, err));
    if (lstat(old, &st) != 0 || lstat(output->site.path, &st) == 0) {
        return RESPLIT_OK;
    }
    return rename(old, output->site.path) == 0 ? RESPLIT_OK
                                               : rs_fail_errno(err, errno, "cannot move '%s' back to its place", old);
}

resplit_status rs_part_take(rs_output *output, resplit_error *err)
{
    bool again = true;
    for (int tries = 0; again && tries < 100; tries++) {
        RS_TRY(lock_part(output, &again, err));
    }
    if (again) {
        return rs_fail(err, RESPLIT_EEXISTS, "other runs are at work on '%s'", output->site.path);
    }
    return RESPLIT_OK;
}

bool rs_part_is_there(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

/* ---- What is in it --------------------------------------------------------------------------- */

resplit_status rs_part_make_data(const rs_output *output, resplit_error *err)
{
    int failed;
    if (output->site.folder) {
        failed = mkdir(output->data, 0777);
    } else {
        failed = open(output->data, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        failed = failed >= 0 ? close(failed) : -1;
    }
    return failed == 0 ? RESPLIT_OK : rs_fail_errno(err, errno, "cannot make '%s'", output->data);
}

/* A number that no other output has. */
uint64_t rs_part_token(const rs_output *output)
{
    struct timespec now;
    struct stat st = {0};
    uint64_t token = 0;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)fstat(output->lock, &st);
    if (getentropy(&token, sizeof token) != 0) {
        token = 0;
    }
    token = rs_mix(rs_mix(rs_mix((token | 1), now.tv_sec), now.tv_nsec), (int64_t)st.st_ino);
    return token | 1; /* 0 is none */
}

resplit_status rs_part_write(const char *folder, const char *name, const rs_text *text, bool sync, resplit_error *err)
{
    char path[RS_PATH_MAX];
    RS_TRY(rs_path_join(folder, name, path, err));
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0) {
        return rs_fail_errno(err, errno, "cannot create '%s'", path);
    }
    resplit_status rc = rs_file_write(fd, path, text->s, (int64_t)text->n, 0, err);
    if (rc == RESPLIT_OK && sync && fsync(fd) != 0) {
        rc = rs_fail_errno(err, errno, "cannot bring '%s' to disk", path);
    }
    if (close(fd) != 0 && rc == RESPLIT_OK) {
        rc = rs_fail_errno(err, errno, "cannot close '%s'", path);
    }
    return rc;
}

/* ---- The place ------------------------------------------------------------------------------ */

/* Nothing is there, or what may be replaced; nor at the place of the header. */
resplit_status rs_part_check_free(const rs_output *output, resplit_error *err)
{
    rs_text path = {0};
    RS_TRY(rs_site_check_free(&output->site, err));
    resplit_status rc = output->array != NULL ? rs_array_head_path(output->array, &path, err) : RESPLIT_OK;
    if (rc == RESPLIT_OK && path.n > 0 && rs_part_is_there(path.s) && !output->site.overwrite) {
        rc = rs_fail(err, RESPLIT_EEXISTS, "'%s' is there already: choose another name, or replace it with --overwrite",
                     path.s);
    }
    rs_text_release(&path);
    return rc;
}

/* The arrays of a group look for room themselves. */
resplit_status rs_part_check_space(const rs_output *output, resplit_error *err)
{
    return output->array != NULL ? rs_site_check_space(output->array, err) : RESPLIT_OK;
}

/* To its place, after the data: who looks for a header finds both. Two files cannot appear at once. */
resplit_status rs_part_move_head(const rs_output *output, resplit_error *err)
{
    rs_text path = {0};
    char head[RS_PATH_MAX];
    RS_TRY(rs_path_join(output->part, RS_HEAD_NAME, head, err));
    if (output->array == NULL || !rs_part_is_there(head)) {
        return RESPLIT_OK;
    }
    resplit_status rc = rs_array_head_path(output->array, &path, err);
    if (rc == RESPLIT_OK && path.n > 0 && rename(head, path.s) != 0) {
        rc = rs_fail_errno(err, errno, "cannot rename '%s' to '%s'", head, path.s);
    }
    rs_text_release(&path);
    return rc;
}

/*
 * Did the run that left this journal publish its output? A folder is known by its token, since it may have changed
 * places with the one it replaced; a file takes the place of another by being renamed, and then is no longer in the
 * part.
 */
bool rs_part_was_published(const rs_output *output, uint64_t token)
{
    const char *path = output->site.path;
    return output->site.folder ? rs_manifest_token(path) == token
                               : rs_part_is_there(path) && !rs_part_is_there(output->data);
}

resplit_status rs_part_look(rs_output *output, const rs_job_id *id, rs_earlier *earlier, rs_progress *done,
                            bool *on_disk, rs_job_id *found, resplit_error *err)
{
    bool any;
    RS_TRY(rs_journal_read(output->folder, found, done, on_disk, &any, err));
    if (!any) {
        return RESPLIT_OK;
    }
    bool published =
        rs_part_was_published(output, found->token); /* then its plan may be removed, and does not matter */
    const char *what = found->problem != id->problem ? "was made for other arrays"
                       : found->source != id->source ? "was made from other data: the source was changed meanwhile"
                       : found->plan != id->plan && !published ? "was made by another plan"
                                                               : NULL;
    if (what != NULL) {
        return rs_fail(err, RESPLIT_EEXISTS, "what an earlier run left in '%s' %s: run without --resume to start anew",
                       output->own, what);
    }
    if (published) {
        *earlier = RS_EARLIER_ALL;
    } else if (rs_part_is_there(output->data)) {
        *earlier = RS_EARLIER_PART;
    }
    return RESPLIT_OK;
}
