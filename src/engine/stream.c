/* SPDX-License-Identifier: BSD-3-Clause */
/* stream.c - one compressed block, forwards. */
#include "engine/stream.h"

#include "format/format.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum {
    SKIP = 16 << 10,   /* bytes passed over at once */
    REPORT = 32 << 20, /* bytes between two reports */
};

static resplit_status read_stored(void *payload, char *bytes, int64_t room, int64_t *n, resplit_error *err)
{
    const rs_stream *s = payload;
    ssize_t got;
    do {
        got = read(s->fd, bytes, (size_t)room);
    } while (got < 0 && errno == EINTR);
    *n = got;
    return got >= 0 ? RESPLIT_OK : rs_fail_errno(err, errno, "cannot read '%s'", s->path);
}

resplit_status rs_stream_open(rs_stream *s, const resplit_array *array, const int64_t *index, resplit_error *err)
{
    char name[RS_NAME_MAX];
    *s = (rs_stream){.fd = -1};
    (void)pthread_mutex_init(&s->lock, NULL);
    (void)pthread_cond_init(&s->change, NULL);
    RS_TRY(rs_array_block_name(array, index, name, err));
    RS_TRY(rs_path_join(array->path, name, s->path, err));
    s->fd = open(s->path, O_RDONLY | O_CLOEXEC);
    if (s->fd < 0) {
        return rs_fail_errno(err, errno, "cannot open '%s'", s->path);
    }
    (void)posix_fadvise(s->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return rs_gunzip_open(read_stored, s, s->path, &s->gunzip, err);
}

void rs_stream_close(rs_stream *s)
{
    rs_gunzip_close(s->gunzip);
    if (s->fd >= 0) {
        (void)close(s->fd);
    }
    (void)pthread_cond_destroy(&s->change);
    (void)pthread_mutex_destroy(&s->lock);
}

void rs_stream_abort(rs_stream *s)
{
    (void)pthread_mutex_lock(&s->lock);
    s->aborted = true;
    (void)pthread_cond_broadcast(&s->change);
    (void)pthread_mutex_unlock(&s->lock);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static resplit_status take(rs_stream *s, char *memory, int64_t n, resplit_error *err)
{
    int64_t got;
    RS_TRY(rs_gunzip_read(s->gunzip, memory, n, &got, err));
    s->at += got;
    return got == n ? RESPLIT_OK
                    : rs_fail(err, RESPLIT_EFORMAT, "'%s' ends after %lld bytes, but its header says more", s->path,
                              (long long)s->at);
}

typedef struct target {
    rs_stream *stream;
    char *memory;
} target;

/* What stands between two runs is passed over. */
static resplit_status take_run(int64_t place, int64_t bytes, void *payload, resplit_error *err)
{
    target *to = payload;
    rs_stream *s = to->stream;
    char skipped[SKIP];
    if (place < s->at) {
        return rs_fail(err, RESPLIT_EINTERNAL, "a stream was to be read backwards, from %lld to %lld", (long long)s->at,
                       (long long)place);
    }
    while (s->at < place) {
        RS_TRY(take(s, skipped, rs_min(SKIP, place - s->at), err));
    }
    RS_TRY(take(s, to->memory, bytes, err));
    to->memory += bytes;
    return RESPLIT_OK;
}

resplit_status rs_stream_read(rs_stream *s, int64_t turn, const rs_block_file *file, const rs_box *box, char *memory,
                              rs_cursor *cursor, resplit_error *err)
{
    target to = {s, memory};
    (void)pthread_mutex_lock(&s->lock);
    while (turn >= 0 && s->next != turn && !s->aborted) {
        (void)pthread_cond_wait(&s->change, &s->lock);
    }
    resplit_status rc =
        s->aborted ? rs_fail(err, RESPLIT_ECANCELED, "cancelled") : rs_file_each_run(file, box, take_run, &to, err);
    s->next++;
    s->aborted = s->aborted || rc != RESPLIT_OK;
    (void)pthread_cond_broadcast(&s->change);
    (void)pthread_mutex_unlock(&s->lock);
    if (rc == RESPLIT_OK) {
        rs_file_count(file, box, cursor);
    }
    return rc;
}

/* All that was asked for is done; but whoever waits can stop us. */
static resplit_status report(const resplit_run_options *options, resplit_error *err)
{
    bool stop = options != NULL && options->progress != NULL && options->progress(1, 1, 0, options->payload) != 0;
    return stop ? rs_fail(err, RESPLIT_ECANCELED, "cancelled") : RESPLIT_OK;
}

resplit_status rs_stream_finish(rs_stream *s, int64_t bytes, const resplit_run_options *options, resplit_error *err)
{
    char skipped[SKIP];
    int64_t got = 0, told = s->at;
    while (s->at < bytes) {
        RS_TRY(take(s, skipped, rs_min(SKIP, bytes - s->at), err));
        if (s->at - told >= REPORT) {
            told = s->at;
            RS_TRY(report(options, err));
        }
    }
    RS_TRY(rs_gunzip_read(s->gunzip, skipped, 1, &got, err));
    return got == 0 ? RESPLIT_OK
                    : rs_fail(err, RESPLIT_EFORMAT, "'%s' has more than the %lld bytes that its header says", s->path,
                              (long long)bytes);
}
