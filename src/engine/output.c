/* SPDX-License-Identifier: BSD-3-Clause */
/* output.c - grows an array beside its place, and puts it there when it is whole. */
#include "engine/output.h"

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

#define PLAN_NAME "plan"
#define HEAD_NAME "head"
#define OLD_NAME "old" /* an array that is being replaced where the system cannot exchange two names */

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

/* What an earlier run left in the part. Anything else in it is not ours, and stays. */
static resplit_status clear_part(const rs_output *output, resplit_error *err)
{
    static const char *const names[] = {"journal",        "journal-new",  PLAN_NAME, /* what makes it whole first */
                                        RS_DATA_NAME,     RS_SHARDS_NAME, HEAD_NAME,
                                        RS_UNPACKED_NAME, RS_PACKED_NAME, OLD_NAME};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[RS_PATH_MAX];
        RS_TRY(rs_path_join(output->part, names[i], path, err));
        RS_TRY(remove_if_there(path, err));
    }
    return RESPLIT_OK;
}

static void remove_part(const rs_output *output)
{
    (void)clear_part(output, NULL);
    (void)rmdir(output->part);
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
    if (flock(output->lock, LOCK_EX | LOCK_NB) != 0) {
        int why = errno;
        (void)close(output->lock);
        output->lock = -1;
        if (why == EWOULDBLOCK) {
            return rs_fail(err, RESPLIT_EEXISTS, "another run is at work on '%s'", output->site.path);
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

/* A run that was killed between two renames left the old array in the part: it goes back to its place. */
static resplit_status restore_old(const rs_output *output, resplit_error *err)
{
    char old[RS_PATH_MAX];
    struct stat st;
    RS_TRY(rs_path_join(output->part, OLD_NAME, old, err));
    if (lstat(old, &st) != 0 || lstat(output->site.path, &st) == 0) {
        return RESPLIT_OK;
    }
    return rename(old, output->site.path) == 0 ? RESPLIT_OK
                                               : rs_fail_errno(err, errno, "cannot move '%s' back to its place", old);
}

static resplit_status take_part(rs_output *output, resplit_error *err)
{
    bool again = true;
    for (int tries = 0; again && tries < 100; tries++) {
        RS_TRY(lock_part(output, &again, err));
    }
    if (again) {
        return rs_fail(err, RESPLIT_EEXISTS, "other runs are at work on '%s'", output->site.path);
    }
    return restore_old(output, err);
}

static bool is_there(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

/*
 * Did the run that left this journal publish its output? A folder is known by its token, since it may have changed places with
 * the one it replaced; a file takes the place of another by being renamed, and then is no longer in the part.
 */
static bool was_published(const rs_output *output, const rs_job_id *id)
{
    const char *path = output->site.path;
    return output->site.folder ? rs_manifest_token(path) == id->token : is_there(path) && !is_there(output->data);
}

/* Is there something to go on with? What belongs to another job is an error: it is not for us to throw it away. */
static resplit_status look_at_earlier(rs_output *output, const rs_job_id *id, rs_earlier *earlier, rs_progress *done,
                                      bool *on_disk, rs_job_id *found_id, resplit_error *err)
{
    bool found;
    RS_TRY(rs_journal_read(output->lock, found_id, done, on_disk, &found, err));
    if (!found) {
        return RESPLIT_OK;
    }
    const char *what = found_id->problem != id->problem ? "was made for other arrays"
                       : found_id->source != id->source ? "was made from other data: the source was changed meanwhile"
                       : found_id->plan != id->plan     ? "was made by another plan"
                                                        : NULL;
    if (what != NULL) {
        return rs_fail(err, RESPLIT_EEXISTS, "what an earlier run left in '%s' %s: run without --resume to start anew",
                       output->part, what);
    }
    if (was_published(output, found_id)) {
        *earlier = RS_EARLIER_ALL;
    } else if (is_there(output->data)) {
        *earlier = RS_EARLIER_PART;
    }
    return RESPLIT_OK;
}

static resplit_status make_data(const rs_output *output, resplit_error *err)
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

/* ---- A header beside the data ----------------------------------------------------------------- */

/* Nothing is there, or what may be replaced; nor at the place of the header. */
static resplit_status check_free(const rs_output *output, resplit_error *err)
{
    rs_text path = {0};
    RS_TRY(rs_site_check_free(&output->site, err));
    resplit_status rc = output->array != NULL ? rs_array_head_path(output->array, &path, err) : RESPLIT_OK;
    if (rc == RESPLIT_OK && path.n > 0 && is_there(path.s) && !output->site.overwrite) {
        rc = rs_fail(err, RESPLIT_EEXISTS, "'%s' is there already: choose another name, or replace it with --overwrite",
                     path.s);
    }
    rs_text_release(&path);
    return rc;
}

/* To its place, after the data: who looks for a header finds both. Two files cannot appear at once. */
static resplit_status move_head(const rs_output *output, resplit_error *err)
{
    rs_text path = {0};
    char head[RS_PATH_MAX];
    RS_TRY(rs_path_join(output->part, HEAD_NAME, head, err));
    if (output->array == NULL || !is_there(head)) {
        return RESPLIT_OK;
    }
    resplit_status rc = rs_array_head_path(output->array, &path, err);
    if (rc == RESPLIT_OK && path.n > 0 && rename(head, path.s) != 0) {
        rc = rs_fail_errno(err, errno, "cannot rename '%s' to '%s'", head, path.s);
    }
    rs_text_release(&path);
    return rc;
}

/* A number that no other output has. */
static uint64_t draw_token(const rs_output *output)
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

static resplit_status write_text(const char *folder, const char *name, const rs_text *text, bool sync,
                                 resplit_error *err)
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

/* Data and plan before the journal: a part with a journal has everything that a resume needs. */
static resplit_status make_part(rs_output *output, const rs_job_id *id, const rs_text *plan, resplit_error *err)
{
    static const rs_progress nothing;
    rs_job_id mine = *id;
    mine.token = output->token = draw_token(output);
    RS_TRY(clear_part(output, err));
    RS_TRY(make_data(output, err));
    if (plan != NULL) {
        RS_TRY(write_text(output->part, PLAN_NAME, plan, output->sync != RS_SYNC_NONE, err));
    }
    return rs_journal_begin(&output->journal, output->lock, output->sync, &mine, &nothing, true, err);
}

/* The arrays of a group look for room themselves. */
static resplit_status check_space(const rs_output *output, resplit_error *err)
{
    return output->array != NULL ? rs_site_check_space(output->array, err) : RESPLIT_OK;
}

static resplit_status begin(rs_output *output, const char *source, bool resume, const rs_job_id *id,
                            const rs_text *plan, rs_earlier *earlier, rs_progress *done, resplit_error *err)
{
    rs_job_id found = *id;
    bool on_disk = true;
    RS_TRY(rs_site_check_apart(&output->site, source, err));
    RS_TRY(rs_output_part(output->site.path, output->part, err));
    RS_TRY(rs_path_join(output->part, RS_DATA_NAME, output->data, err));
    if (!resume || access(output->part, F_OK) != 0) {
        RS_TRY(check_free(output, err));
        RS_TRY(check_space(output, err));
    }
    RS_TRY(take_part(output, err));
    if (resume) {
        RS_TRY(look_at_earlier(output, id, earlier, done, &on_disk, &found, err));
    }
    if (*earlier == RS_EARLIER_ALL) {
        return RESPLIT_OK;
    }
    RS_TRY(check_free(output, err)); /* another run may have published while we waited for its part */
    if (*earlier == RS_EARLIER_PART) {
        output->token = found.token;
        return rs_journal_begin(&output->journal, output->lock, output->sync, &found, done, on_disk, err);
    }
    *done = (rs_progress){{0, 0}, 0};
    RS_TRY(check_space(output, err));
    resplit_status rc = make_part(output, id, plan, err);
    if (rc != RESPLIT_OK) {
        remove_part(output);
    }
    return rc;
}

static resplit_status begin_at(rs_output *output, const char *source, bool resume, const rs_job_id *id,
                               const rs_text *plan, rs_earlier *earlier, rs_progress *done, resplit_error *err)
{
    output->lock = -1;
    output->journal.fd = -1;
    *earlier = RS_EARLIER_NONE;
    *done = (rs_progress){{0, 0}, 0};
    if (output->site.path == NULL || source == NULL) {
        return rs_fail(err, RESPLIT_EINVAL, "an array that is only described has no files to read or write");
    }
    RS_TRY(begin(output, source, resume, id, plan, earlier, done, err));
    if (*earlier == RS_EARLIER_ALL) { /* only the part is left to remove */
        RS_TRY(move_head(output, err));
        remove_part(output);
        (void)close(output->lock);
        output->lock = -1;
    }
    return RESPLIT_OK;
}

resplit_status rs_output_begin(rs_output *output, const resplit_array *array, const resplit_array *source, bool resume,
                               const rs_job_id *id, const rs_text *plan, rs_earlier *earlier, rs_progress *done,
                               resplit_error *err)
{
    output->array = array;
    output->site = (rs_site){
        .path = array->path, .folder = array->info.folder, .group = array->ome, .overwrite = array->overwrite};
    return begin_at(output, source->path, resume, id, plan, earlier, done, err);
}

resplit_status rs_output_begin_group(rs_output *output, const char *path, const char *source, bool overwrite,
                                     bool resume, const rs_job_id *id, rs_earlier *earlier, rs_progress *done,
                                     resplit_error *err)
{
    output->array = NULL;
    output->site = (rs_site){.path = path, .folder = true, .group = true, .overwrite = overwrite};
    return begin_at(output, source, resume, id, NULL, earlier, done, err);
}

/* ---- Publishing ---------------------------------------------------------------------------- */

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
    return write_text(output->data, name, text, false, err);
}

static resplit_status add_head(const char *name, const rs_text *text, void *payload, resplit_error *err)
{
    const rs_output *output = payload;
    (void)name;
    return write_text(output->part, HEAD_NAME, text, false, err);
}

static resplit_status write_manifest(rs_output *output, uint64_t fingerprint, resplit_error *err)
{
    rs_text text = {0};
    resplit_status rc = output->array != NULL ? rs_array_metadata(output->array, add_file, output, err) : RESPLIT_OK;
    if (rc == RESPLIT_OK) {
        rc = rs_manifest_write(output->array, fingerprint, output->token, &text, err);
    }
    if (rc == RESPLIT_OK) {
        rc = write_text(output->data, rs_manifest_name(output->array), &text, false, err);
    }
    if (rc == RESPLIT_OK && output->array != NULL && output->array->ome) { /* the level is an array of its own */
        char folder[RS_PATH_MAX];
        rc = rs_path_join(output->data, RS_OME_LEVEL, folder, err);
        rc = rc == RESPLIT_OK ? write_text(folder, rs_manifest_name(output->array), &text, false, err) : rc;
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
    RS_TRY(rs_path_join(output->part, OLD_NAME, old, err));
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
    if (failed != 0 && (errno == EINVAL || errno == ENOSYS) && !is_there(path)) { /* not every file system can */
        failed = rename(output->data, path);
    }
#else
    int failed = !output->site.folder && is_there(path) ? (errno = EEXIST, -1) : rename(output->data, path);
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
 * Groups above may hold copies of metadata, and readers believe them: they go before what they tell of changes. What grows in a
 * part has none above it: the groups around the part are for the publishing of the whole.
 */
static resplit_status forget_copies(const rs_output *output, resplit_error *err)
{
    const char *path = output->site.path;
    bool zarr = output->array == NULL || output->array->zarr != NULL || rs_node_at(path) != RS_NODE_NONE;
    return zarr && !rs_is_in_part(path) ? rs_node_forget_copies(path, err) : RESPLIT_OK;
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
    RS_TRY(move_head(output, err));
    resplit_status rc = output->sync != RS_SYNC_NONE ? sync_parent(output->site.path, err) : RESPLIT_OK;
    resplit_error why;
    if (rc == RESPLIT_OK && clear_part(output, &why) != RESPLIT_OK) {
        rc = rs_fail(err, why.code, "'%.300s' is complete, but what is left beside it must be removed by hand: %.500s",
                     output->site.path, why.message);
    }
    rs_output_abandon(output, rc != RESPLIT_OK);
    return rc;
}

void rs_output_abandon(rs_output *output, bool keep)
{
    rs_journal_end(&output->journal);
    if (output->lock < 0) {
        return;
    }
    if (!keep) {
        (void)clear_part(output, NULL);
    }
    (void)rmdir(output->part); /* when it is empty */
    (void)close(output->lock);
    output->lock = -1;
}
