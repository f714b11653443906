/* SPDX-License-Identifier: BSD-3-Clause */
/* parts.c - one partition of an output: joins the others, and says when it is complete. */
#include "engine/parts.h"

#include "engine/files.h"
#include "engine/part.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define DONE_NAME "done"
#define MAGIC UINT64_C(0x3173747261707372) /* "rsparts1" */

enum { FOLDER_MAX = 48 }; /* "3-of-16" */

/* ---- Small records -------------------------------------------------------------------------- */

typedef struct header {
    uint64_t magic;
    rs_job_id whole;
    int64_t n;
    uint64_t check;
} header;

typedef struct record {
    rs_done done;
    uint64_t check;
} record;

/* Whole, on disk and by its name at once, or not at all. */
static resplit_status write_record(int folder, const char *name, const void *bytes, size_t n, resplit_error *err)
{
    char fresh[64];
    (void)snprintf(fresh, sizeof fresh, "%s-new", name);
    int fd = openat(folder, fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0) {
        return rs_fail_errno(err, errno, "cannot make '%s'", fresh);
    }
    resplit_status rc = rs_file_write(fd, fresh, bytes, (int64_t)n, 0, err);
    if (rc == RESPLIT_OK && fsync(fd) != 0) {
        rc = rs_fail_errno(err, errno, "cannot bring '%s' to disk", fresh);
    }
    if (close(fd) != 0 && rc == RESPLIT_OK) {
        rc = rs_fail_errno(err, errno, "cannot close '%s'", fresh);
    }
    if (rc == RESPLIT_OK && renameat(folder, fresh, folder, name) != 0) {
        rc = rs_fail_errno(err, errno, "cannot rename '%s' to '%s'", fresh, name);
    }
    (void)fsync(folder); /* not every file system can */
    return rc;
}

/* *found false: it is not there. What cannot be read is an error, and not taken for that. One that is cut short is all
 * zero, which no check allows: padded, it would be whole wherever it ends in zeros. */
static resplit_status read_record(int folder, const char *name, void *bytes, size_t n, bool *found, resplit_error *err)
{
    memset(bytes, 0, n);
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    *found = fd >= 0;
    if (fd < 0) {
        return errno == ENOENT ? RESPLIT_OK : rs_fail_errno(err, errno, "cannot open '%s'", name);
    }
    ssize_t got;
    do {
        got = pread(fd, bytes, n, 0);
    } while (got < 0 && errno == EINTR);
    resplit_status rc = got >= 0 ? RESPLIT_OK : rs_fail_errno(err, errno, "cannot read '%s'", name);
    if (got < (ssize_t)n) {
        memset(bytes, 0, n);
    }
    (void)close(fd);
    return rc;
}

static uint64_t check_header(const header *h)
{
    return rs_check_of(h, offsetof(header, check), MAGIC);
}

static uint64_t check_record(const record *r)
{
    return rs_check_of(r, offsetof(record, check), MAGIC);
}

static void name_folder(int64_t number, int64_t n, char out[FOLDER_MAX])
{
    (void)snprintf(out, FOLDER_MAX, "%lld-of-%lld", (long long)number + 1, (long long)n);
}

/* ---- What all share -------------------------------------------------------------------------- */

uint32_t rs_parts_mark(const rs_job_id *whole, int64_t n)
{
    return (uint32_t)rs_mix(rs_mix(rs_mix(RS_PARTITION_VERSION, (int64_t)whole->problem), (int64_t)whole->source), n);
}

resplit_status rs_parts_read(const rs_output *output, rs_job_id *whole, int64_t *n, resplit_error *err)
{
    header h;
    bool found;
    *n = 0;
    RS_TRY(read_record(output->lock, RS_PARTS_NAME, &h, sizeof h, &found, err));
    if (!found) {
        return RESPLIT_OK;
    }
    if (h.magic != MAGIC || h.check != check_header(&h) || h.n < 1 || h.n > RS_MOST_PARTITIONS) {
        return rs_fail(err, RESPLIT_EFORMAT, "'%s/%s' is damaged: remove '%s' to start anew", output->part,
                       RS_PARTS_NAME, output->part);
    }
    *whole = h.whole;
    *n = h.n;
    return RESPLIT_OK;
}

resplit_status rs_parts_compare(const rs_output *output, const rs_job_id *whole, int64_t n, const rs_job_id *found,
                                int64_t n_found, resplit_error *err)
{
    if (n_found != n) {
        return rs_fail(err, RESPLIT_EEXISTS,
                       "'%s' holds %lld partitions, not %lld: go on with as many, or remove it to start anew",
                       output->part, (long long)n_found, (long long)n);
    }
    const char *what = found->problem != whole->problem ? "are of other arrays"
                       : found->source != whole->source ? "were made from other data: the source was changed meanwhile"
                                                        : NULL;
    return what == NULL ? RESPLIT_OK
                        : rs_fail(err, RESPLIT_EEXISTS, "the partitions in '%s' %s; remove it to start anew",
                                  output->part, what);
}

/* Waits, since nobody holds it for long. */
static resplit_status take_door(const rs_output *output, int *door, resplit_error *err)
{
    int failed;
    *door = openat(output->lock, RS_LOCK_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (*door < 0) {
        return rs_fail_errno(err, errno, "cannot make '%s/%s'", output->part, RS_LOCK_NAME);
    }
    do {
        failed = flock(*door, LOCK_EX) != 0 ? errno : 0;
    } while (failed == EINTR);
    if (failed != 0) {
        (void)close(*door);
        *door = -1;
        return rs_fail_errno(err, failed, "cannot lock '%s/%s'", output->part, RS_LOCK_NAME);
    }
    return RESPLIT_OK;
}

resplit_status rs_parts_enter(rs_output *output, int *door, resplit_error *err)
{
    *door = -1;
    for (int tries = 0; tries < 100; tries++) {
        RS_TRY(rs_part_take(output, err));
        RS_TRY(take_door(output, door, err));
        if (rs_part_is_current(output)) {
            return RESPLIT_OK;
        }
        (void)close(*door); /* it was published, or removed, while we waited */
        (void)close(output->lock);
        *door = output->lock = -1;
    }
    return rs_fail(err, RESPLIT_EEXISTS, "other runs are at work on '%s'", output->site.path);
}

/* The file at its size: who writes in the middle of it does not make it seem to end there. */
static resplit_status set_size(const rs_output *output, resplit_error *err)
{
    static const int64_t first[RS_MAX_NDIM];
    rs_files files = {.array = output->array};
    if (output->site.folder || output->array->encoded) {
        return RESPLIT_OK;
    }
    return truncate(output->data, rs_files_bytes(&files, first)) == 0
               ? RESPLIT_OK
               : rs_fail_errno(err, errno, "cannot make '%s' %lld bytes long", output->data,
                               (long long)rs_files_bytes(&files, first));
}

/* Everything before `parts`, which says that all of it is there. */
static resplit_status make_shared(rs_output *output, const rs_member *member, resplit_error *err)
{
    header h = {.magic = MAGIC, .whole = member->whole, .n = member->n};
    h.whole.token = rs_part_token(output) << 32 | rs_parts_mark(&member->whole, member->n);
    RS_TRY(rs_part_check_free(output, err));
    RS_TRY(rs_part_check_space(output, err));
    RS_TRY(rs_part_clear(output, false, err));
    RS_TRY(rs_part_make_data(output, err));
    RS_TRY(set_size(output, err));
    if (member->plan != NULL) {
        RS_TRY(rs_part_write(output->part, RS_PLAN_NAME, member->plan, true, err));
    }
    h.check = check_header(&h);
    output->token = h.whole.token;
    return write_record(output->lock, RS_PARTS_NAME, &h, sizeof h, err);
}

/* With the door. */
static resplit_status join(rs_output *output, const rs_member *member, bool resume, bool *published, resplit_error *err)
{
    rs_job_id found;
    int64_t n;
    char journal[RS_PATH_MAX];
    *published = false;
    RS_TRY(rs_part_restore(output, err));
    RS_TRY(rs_parts_read(output, &found, &n, err));
    if (n > 0) {
        RS_TRY(rs_parts_compare(output, &member->whole, member->n, &found, n, err));
        output->token = found.token;
        *published = rs_part_was_published(output, found.token);
        return *published ? RESPLIT_OK : rs_part_check_free(output, err);
    }
    RS_TRY(rs_path_join(output->part, RS_JOURNAL_NAME, journal, err));
    if (resume && rs_part_is_there(journal)) {
        return rs_fail(err, RESPLIT_EEXISTS,
                       "'%s' was left by a run of the whole: go on with that, or run without --resume to start anew",
                       output->part);
    }
    RS_TRY(rs_parts_check_none(output, false, err));
    return make_shared(output, member, err);
}

/* ---- A partition's own ----------------------------------------------------------------------- */

static resplit_status enter_own(rs_output *output, const rs_member *member, resplit_error *err)
{
    char name[FOLDER_MAX];
    name_folder(member->number, member->n, name);
    RS_TRY(rs_path_join(output->part, name, output->own, err));
    if (mkdir(output->own, 0777) != 0 && errno != EEXIST) {
        return rs_fail_errno(err, errno, "cannot make the folder '%s'", output->own);
    }
    output->folder = open(output->own, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (output->folder < 0) {
        return rs_fail_errno(err, errno, "cannot open '%s'", output->own);
    }
    output->own_lock = openat(output->folder, RS_LOCK_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (output->own_lock < 0) {
        return rs_fail_errno(err, errno, "cannot make '%s/%s'", output->own, RS_LOCK_NAME);
    }
    if (flock(output->own_lock, LOCK_EX | LOCK_NB) == 0) {
        return RESPLIT_OK;
    }
    return errno == EWOULDBLOCK
               ? rs_fail(err, RESPLIT_EEXISTS, "another run is at work on partition %lld of %lld of '%s'",
                         (long long)member->number + 1, (long long)member->n, output->site.path)
               : rs_fail_errno(err, errno, "cannot lock '%s/%s'", output->own, RS_LOCK_NAME);
}

/* The journal first, and for good: what it speaks of is written anew from now on. */
static resplit_status forget_earlier(const rs_output *output, resplit_error *err)
{
    static const char *const names[] = {RS_JOURNAL_NAME, RS_JOURNAL_NEW, RS_PLAN_NAME};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (unlinkat(output->folder, names[i], 0) != 0 && errno != ENOENT) {
            return rs_fail_errno(err, errno, "cannot remove '%s/%s'", output->own, names[i]);
        }
    }
    (void)fsync(output->folder);
    return RESPLIT_OK;
}

static resplit_status begin_own(rs_output *output, bool resume, const rs_job_id *id, const rs_text *plan,
                                rs_earlier *earlier, rs_progress *done, resplit_error *err)
{
    static const rs_progress nothing;
    rs_job_id mine = *id, found = *id;
    bool on_disk = true;
    if (resume) {
        RS_TRY(rs_part_look(output, id, earlier, done, &on_disk, &found, err));
    }
    mine.token = output->token;
    if (*earlier == RS_EARLIER_PART && found.token == mine.token) {
        return rs_journal_begin(&output->journal, output->folder, output->sync, &mine, done, on_disk, err);
    }
    *earlier = RS_EARLIER_NONE;
    *done = nothing;
    RS_TRY(forget_earlier(output, err));
    if (plan != NULL) {
        RS_TRY(rs_part_write(output->own, RS_PLAN_NAME, plan, output->sync != RS_SYNC_NONE, err));
    }
    return rs_journal_begin(&output->journal, output->folder, output->sync, &mine, &nothing, true, err);
}

static resplit_status begin(rs_output *output, const char *source, bool resume, const rs_member *member,
                            bool *published, resplit_error *err)
{
    int door;
    RS_TRY(rs_site_check_apart(&output->site, source, err));
    RS_TRY(rs_output_part(output->site.path, output->part, err));
    RS_TRY(rs_path_join(output->part, RS_DATA_NAME, output->data, err));
    if (!rs_part_is_there(output->part)) {
        RS_TRY(rs_part_check_free(output, err));
        RS_TRY(rs_part_check_space(output, err));
    }
    RS_TRY(rs_parts_enter(output, &door, err));
    resplit_status rc = join(output, member, resume, published, err);
    if (rc == RESPLIT_OK && !*published) {
        rc = enter_own(output, member, err);
    }
    (void)close(door);
    return rc;
}

resplit_status rs_parts_begin(rs_output *output, const resplit_array *array, const resplit_array *source, bool resume,
                              const rs_job_id *id, const rs_text *plan, const rs_member *member, rs_earlier *earlier,
                              rs_progress *done, resplit_error *err)
{
    rs_done ignored;
    bool published, complete = false;
    output->array = array;
    output->shared = true;
    output->site = (rs_site){.path = array->path, .folder = array->info.folder, .overwrite = array->overwrite};
    *earlier = RS_EARLIER_NONE;
    *done = (rs_progress){{0, 0}, 0};
    if (output->site.path == NULL || source->path == NULL) {
        return rs_fail(err, RESPLIT_EINVAL, "an array that is only described has no files to read or write");
    }
    RS_TRY(begin(output, source->path, resume, member, &published, err));
    if (!published) {
        RS_TRY(rs_parts_read_done(output, member->number, member->n, &ignored, &complete, err));
    }
    if (published || complete) {
        *earlier = RS_EARLIER_ALL;
        rs_parts_leave(output, true);
        return RESPLIT_OK;
    }
    return begin_own(output, resume, id, plan, earlier, done, err);
}

/* ---- Complete -------------------------------------------------------------------------------- */

/* Whatever `sync` says: others, perhaps on other machines, rely on what `done` says. */
resplit_status rs_parts_complete(rs_output *output, const rs_member *member, rs_done *done, resplit_error *err)
{
    record r = {.done = *done};
    r.done.token = output->token;
    r.done.number = member->number;
    r.done.n = member->n;
    r.done.box = member->box;
    r.check = check_record(&r);
#ifdef __linux__
    int failed = syncfs(output->folder);
#else
    int failed = 0;
    sync();
#endif
    if (failed != 0) {
        return rs_fail_errno(err, errno, "cannot bring '%s' to disk", output->data);
    }
    RS_TRY(write_record(output->folder, DONE_NAME, &r, sizeof r, err));
    rs_output_abandon(output, true);
    return RESPLIT_OK;
}

void rs_parts_leave(rs_output *output, bool keep)
{
    if (!keep && output->folder >= 0) {
        (void)forget_earlier(output, NULL);
    }
    int *fds[] = {&output->folder, &output->own_lock, &output->lock};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++) {
        if (*fds[i] >= 0) {
            (void)close(*fds[i]);
        }
        *fds[i] = -1;
    }
}

resplit_status rs_parts_read_done(const rs_output *output, int64_t number, int64_t n, rs_done *out, bool *complete,
                                  resplit_error *err)
{
    char name[FOLDER_MAX + sizeof DONE_NAME + 1], folder[FOLDER_MAX];
    record r;
    name_folder(number, n, folder);
    (void)snprintf(name, sizeof name, "%s/%s", folder, DONE_NAME);
    RS_TRY(read_record(output->lock, name, &r, sizeof r, complete, err));
    *complete = *complete && r.check == check_record(&r) && r.done.token == output->token && r.done.number == number
                && r.done.n == n;
    *out = r.done;
    return RESPLIT_OK;
}
