/* SPDX-License-Identifier: BSD-3-Clause */
/* parts_look.c - partitions as others see them: how many there are, whether they are complete, or at work. */
#include "engine/part.h"
#include "engine/parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* The part as it is now, not locked; its token is that of its partitions. */
static resplit_status peek(rs_output *output, const char *path, int64_t *n, resplit_error *err)
{
    rs_job_id found = {0};
    *n = 0;
    RS_TRY(rs_output_part(path, output->part, err));
    output->lock = open(output->part, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (output->lock < 0) {
        return errno == ENOENT ? RESPLIT_OK : rs_fail_errno(err, errno, "cannot open '%s'", output->part);
    }
    resplit_status rc = rs_parts_read(output, &found, n, err);
    output->token = found.token;
    return rc;
}

resplit_status rs_parts_count(const char *path, int64_t *n, resplit_error *err)
{
    rs_output output = RS_NO_OUTPUT;
    resplit_status rc = peek(&output, path, n, err);
    rs_parts_leave(&output, true);
    return rc;
}

resplit_status rs_parts_is_done(const char *path, int64_t number, int64_t n, bool *complete, resplit_error *err)
{
    rs_output output = RS_NO_OUTPUT;
    rs_done done;
    int64_t found;
    *complete = false;
    resplit_status rc = peek(&output, path, &found, err);
    if (rc == RESPLIT_OK && found == n) {
        rc = rs_parts_read_done(&output, number, n, &done, complete, err);
    }
    rs_parts_leave(&output, true);
    return rc;
}

/* Calls visit with the folder of every partition, whatever it is of; the first that fails ends it. */
static resplit_status each_folder(const rs_output *output,
                                  resplit_status (*visit)(const char *path, const char *name, resplit_error *err),
                                  resplit_error *err)
{
    resplit_status rc = RESPLIT_OK;
    DIR *folder = opendir(output->part);
    if (folder == NULL) {
        return errno == ENOENT ? RESPLIT_OK : rs_fail_errno(err, errno, "cannot open '%s'", output->part);
    }
    for (struct dirent *entry = readdir(folder); entry != NULL && rc == RESPLIT_OK; entry = readdir(folder)) {
        size_t a = strspn(entry->d_name, "0123456789"), b = strspn(entry->d_name + a, "-of");
        size_t c = strspn(entry->d_name + a + b, "0123456789");
        char path[RS_PATH_MAX];
        if (a > 0 && b == 4 && c > 0 && entry->d_name[a + b + c] == '\0'
            && strncmp(entry->d_name + a, "-of-", b) == 0) {
            rc = rs_path_join(output->part, entry->d_name, path, err);
            rc = rc == RESPLIT_OK ? visit(path, entry->d_name, err) : rc;
        }
    }
    (void)closedir(folder);
    return rc;
}

static resplit_status check_idle(const char *path, const char *name, resplit_error *err)
{
    char lock[RS_PATH_MAX];
    RS_TRY(rs_path_join(path, RS_LOCK_NAME, lock, err));
    int fd = open(lock, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    bool busy = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (fd >= 0) {
        (void)close(fd);
    }
    return busy ? rs_fail(err, RESPLIT_EEXISTS, "another run is at work on '%s', partition %s", path, name)
                : RESPLIT_OK;
}

resplit_status rs_parts_check_none(const rs_output *output, bool resume, resplit_error *err)
{
    rs_job_id found;
    int64_t n;
    RS_TRY(each_folder(output, check_idle, err));
    if (!resume) {
        return RESPLIT_OK;
    }
    RS_TRY(rs_parts_read(output, &found, &n, err));
    return n == 0 ? RESPLIT_OK
                  : rs_fail(err, RESPLIT_EEXISTS,
                            "'%s' holds %lld partitions: go on with those and finish them, or run without --resume to "
                            "start anew",
                            output->part, (long long)n);
}

static resplit_status remove_folder(const char *path, const char *name, resplit_error *err)
{
    (void)name;
    rs_path_remove(path);
    return rs_part_is_there(path) ? rs_fail(err, RESPLIT_EIO, "cannot remove '%s'", path) : RESPLIT_OK;
}

resplit_status rs_parts_remove(const rs_output *output, resplit_error *err)
{
    return each_folder(output, remove_folder, err);
}
