/* SPDX-License-Identifier: BSD-3-Clause */
/* unpack.c - unpacks sources and packs targets that are compressed and larger than memory. */
#include "engine/unpack.h"

#include "codec/gunzip.h"
#include "engine/io.h"
#include "engine/output.h"
#include "engine/system.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PART = 256 << 10, /* bytes unpacked at once */
    MEMBER = 4 << 20, /* bytes in a member of what is packed */
    LEAST_MEMBER = 64 << 10,
    CODER = 1 << 20,   /* what a compressor takes, about */
    MOST_MEMBERS = 8,  /* packed at once */
    REPORT = 32 << 20, /* bytes between two reports */
};

/* Bytes of a block when it is plain. */
static int64_t plain_bytes(const resplit_array *array, const int64_t *index)
{
    rs_box box = rs_layout_stored(&array->layout, index);
    return rs_array_block_offset(array, index) + rs_box_volume(array->layout.ndim, &box) * array->dtype.itemsize;
}

/* Nothing counts as done yet, or all does; but whoever waits can stop us. */
static resplit_status report(const resplit_run_options *options, int64_t done, int64_t total, resplit_error *err)
{
    bool stop =
        options != NULL && options->progress != NULL && options->progress(done, total, 0, options->payload) != 0;
    return stop ? rs_fail(err, RESPLIT_ECANCELED, "cancelled") : RESPLIT_OK;
}

static void count(resplit_cost *cost, int64_t bytes)
{
    cost->read_seeks++;
    cost->write_seeks++;
    cost->bytes_read += bytes;
    cost->bytes_written += bytes;
    cost->temp_bytes += bytes;
}

/* ---- Unpacking ------------------------------------------------------------------------------- */

typedef struct input {
    int fd;
    const char *path;
} input;

static resplit_status read_stored(void *payload, char *bytes, int64_t room, int64_t *n, resplit_error *err)
{
    const input *in = payload;
    ssize_t got;
    do {
        got = read(in->fd, bytes, (size_t)room);
    } while (got < 0 && errno == EINTR);
    *n = got;
    return got >= 0 ? RESPLIT_OK : rs_fail_errno(err, errno, "cannot read '%s'", in->path);
}

/* All of a stream, which must have `bytes`. */
static resplit_status unpack_stream(rs_gunzip *gunzip, const char *from, int fd, const char *to, int64_t bytes,
                                    char *buffer, const resplit_run_options *options, resplit_error *err)
{
    int64_t done = 0, got = PART, told = 0;
    while (got == PART) {
        RS_TRY(rs_gunzip_read(gunzip, buffer, PART, &got, err));
        if (done + got > bytes) {
            return rs_fail(err, RESPLIT_EFORMAT, "'%s' has more than the %lld bytes that its header says", from,
                           (long long)bytes);
        }
        RS_TRY(rs_file_write(fd, to, buffer, got, done, err));
        done += got;
        if (done - told >= REPORT) {
            told = done;
            RS_TRY(report(options, 0, bytes, err));
        }
    }
    return done == bytes ? RESPLIT_OK
                         : rs_fail(err, RESPLIT_EFORMAT, "'%s' ends after %lld bytes, but its header says %lld", from,
                                   (long long)done, (long long)bytes);
}

static resplit_status unpack_file(const char *from, const char *to, int64_t bytes, const resplit_run_options *options,
                                  resplit_error *err)
{
    input in = {.fd = open(from, O_RDONLY | O_CLOEXEC), .path = from};
    int fd = in.fd < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    rs_gunzip *gunzip = NULL;
    char *buffer = malloc(PART);
    resplit_status rc = in.fd < 0        ? rs_fail_errno(err, errno, "cannot open '%s'", from)
                        : fd < 0         ? rs_fail_errno(err, errno, "cannot make '%s'", to)
                        : buffer == NULL ? rs_fail_errno(err, ENOMEM, "cannot unpack '%s'", from)
                                         : RESPLIT_OK;
    int full = rc == RESPLIT_OK ? posix_fallocate(fd, 0, bytes) : 0; /* a full disk is noticed early */
    if (full == ENOSPC) {
        rc = rs_fail_errno(err, full,
                           "cannot unpack '%s' into '%s', which takes %lld bytes: name another folder by --temp", from,
                           to, (long long)bytes);
    }
    if (rc == RESPLIT_OK) {
        rc = rs_gunzip_open(read_stored, &in, from, &gunzip, err);
    }
    if (rc == RESPLIT_OK) {
        rc = unpack_stream(gunzip, from, fd, to, bytes, buffer, options, err);
    }
    rs_gunzip_close(gunzip);
    free(buffer);
    if (in.fd >= 0) {
        (void)close(in.fd);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return rc;
}

static resplit_status make_folder(rs_unpacked *unpacked, const char *temp, const char *part, resplit_error *err)
{
    RS_TRY(rs_path_join(temp != NULL ? temp : part, temp != NULL ? "resplit-unpacked-XXXXXX" : RS_UNPACKED_NAME,
                        unpacked->folder, err));
    bool made =
        temp != NULL ? mkdtemp(unpacked->folder) != NULL : mkdir(unpacked->folder, 0700) == 0 || errno == EEXIST;
    if (!made) {
        resplit_status rc = rs_fail_errno(err, errno, "cannot make the folder '%s'", unpacked->folder);
        unpacked->folder[0] = '\0';
        return rc;
    }
    return RESPLIT_OK;
}

resplit_status rs_unpack_source(rs_unpacked *unpacked, const rs_problem *problem, const resplit_array *source,
                                const char *temp, const char *part, const resplit_run_options *options,
                                resplit_cost *cost, resplit_error *err)
{
    static const int64_t zero[RS_MAX_NDIM];
    int64_t at[RS_MAX_NDIM] = {0}, n[RS_MAX_NDIM], index[RS_MAX_NDIM] = {0};
    rs_array_plain(source, &unpacked->array);
    unpacked->folder[0] = '\0';
    RS_TRY(make_folder(unpacked, temp, part, err));
    RS_TRY(rs_path_join(unpacked->folder, source->pattern == NULL ? "data" : "", unpacked->path, err));
    unpacked->array.path = unpacked->path;
    for (int d = 0; d < problem->ndim; d++) {
        n[d] = problem->source.axis[d].n;
    }
    do {
        char name[RS_NAME_MAX], from[RS_PATH_MAX], to[RS_PATH_MAX];
        for (int d = 0; d < problem->ndim; d++) {
            index[d] = at[d] + problem->source_index[d];
        }
        RS_TRY(rs_array_block_name(source, index, name, err));
        RS_TRY(rs_path_join(source->path, name, from, err));
        RS_TRY(rs_path_join(unpacked->path, name, to, err));
        RS_TRY(unpack_file(from, to, plain_bytes(source, index), options, err));
        count(cost, plain_bytes(source, index) - rs_array_block_offset(source, index));
    } while (rs_index_next(problem->ndim, zero, n, at));
    return RESPLIT_OK;
}

void rs_unpack_end(const rs_unpacked *unpacked)
{
    if (unpacked->folder[0] != '\0') {
        rs_path_remove(unpacked->folder);
    }
}

/* ---- Packing --------------------------------------------------------------------------------- */

typedef struct member {
    rs_coder *coder;
    char *in, *out;
    int64_t n_in, n_out;
    resplit_status rc;
    resplit_error why;
    pthread_t thread;
} member;

typedef struct packing {
    int n; /* members at once */
    int64_t room, bound;
    member members[MOST_MEMBERS];
} packing;

static void *pack_member(void *argument)
{
    member *m = argument;
    rs_coder_fit(m->coder, m->n_in);
    m->rc = rs_encode(m->coder, m->in, m->out, &m->n_out, &m->why);
    return NULL;
}

static resplit_status packing_begin(packing *p, const rs_chain *chain, int64_t memory, resplit_error *err)
{
    *p = (packing){.n = (int)rs_max(1, rs_min(MOST_MEMBERS, rs_system_processors()))};
    while (p->n > 1 && memory / p->n < 2 * MEMBER + 2 * CODER) {
        p->n--;
    }
    p->room = rs_max(LEAST_MEMBER, rs_min(MEMBER, (memory / p->n - 2 * CODER) / 2));
    p->bound = rs_chain_bound(chain, p->room);
    for (int i = 0; i < p->n; i++) {
        member *m = &p->members[i];
        m->in = malloc((size_t)p->room);
        m->out = malloc((size_t)p->bound);
        if (m->in == NULL || m->out == NULL) {
            return rs_fail_errno(err, ENOMEM, "cannot allocate %lld bytes to compress", (long long)p->room);
        }
        RS_TRY(rs_coder_new(chain, p->room, true, &m->coder, err));
    }
    return RESPLIT_OK;
}

static void packing_end(packing *p)
{
    for (int i = 0; i < p->n; i++) {
        rs_coder_free(p->members[i].coder);
        free(p->members[i].in);
        free(p->members[i].out);
    }
}

/* Some members at once: read one after the other, packed by threads, written one after the other. */
static resplit_status pack_some(packing *p, int from, const char *path, int64_t *at, int64_t bytes, int to,
                                const char *to_path, int64_t *written, resplit_error *err)
{
    int n = 0, n_threads = 0;
    static rs_io plain = {.backend = &rs_io_threads};
    for (; n < p->n && *at < bytes; n++) {
        member *m = &p->members[n];
        m->n_in = rs_min(p->room, bytes - *at);
        rs_transfer all = {.fd = from, .memory = m->in, .n = m->n_in, .at = *at, .least = m->n_in};
        RS_TRY(rs_io_move(&plain, &all, 1, path, err));
        *at += m->n_in;
    }
    while (n_threads + 1 < n
           && pthread_create(&p->members[n_threads + 1].thread, NULL, pack_member, &p->members[n_threads + 1]) == 0) {
        n_threads++;
    }
    (void)pack_member(&p->members[0]);
    for (int i = n_threads + 1; i < n; i++) { /* fewer threads than wanted are enough */
        (void)pack_member(&p->members[i]);
    }
    for (int i = 1; i <= n_threads; i++) {
        (void)pthread_join(p->members[i].thread, NULL);
    }
    for (int i = 0; i < n; i++) {
        if (p->members[i].rc != RESPLIT_OK) {
            return rs_fail_with(err, &p->members[i].why);
        }
        RS_TRY(rs_file_write(to, to_path, p->members[i].out, p->members[i].n_out, *written, err));
        *written += p->members[i].n_out;
    }
    return RESPLIT_OK;
}

static resplit_status pack_open(packing *p, int from, const char *path, int64_t bytes, int to, const char *to_path,
                                const resplit_run_options *options, resplit_error *err)
{
    int64_t at = 0, written = 0, told = 0;
    while (at < bytes) {
        RS_TRY(pack_some(p, from, path, &at, bytes, to, to_path, &written, err));
        if (at - told >= REPORT) {
            told = at;
            RS_TRY(report(options, bytes, bytes, err));
        }
    }
    return RESPLIT_OK;
}

/* Is it as an earlier run left it, packed? A plain header begins otherwise. */
static bool is_packed(int fd)
{
    char start[3];
    return pread(fd, start, sizeof start, 0) == (ssize_t)sizeof start && rs_gunzip_is(start, sizeof start);
}

static resplit_status pack_file(packing *p, const char *path, int64_t bytes, const resplit_run_options *options,
                                resplit_error *err)
{
    char packed[RS_PATH_MAX];
    int n = snprintf(packed, sizeof packed, "%s-packed", path);
    int from = n < RS_PATH_MAX ? open(path, O_RDONLY | O_CLOEXEC) : (errno = ENAMETOOLONG, -1);
    if (from < 0) {
        return rs_fail_errno(err, errno, "cannot open '%s'", path);
    }
    if (is_packed(from)) {
        (void)close(from);
        return RESPLIT_OK;
    }
    resplit_status rc = RESPLIT_OK;
    int to = open(packed, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (to < 0) {
        rc = rs_fail_errno(err, errno, "cannot make '%s'", packed);
    } else {
        rc = pack_open(p, from, path, bytes, to, packed, options, err);
    }
    (void)close(from);
    if (to >= 0 && close(to) != 0 && rc == RESPLIT_OK) {
        rc = rs_fail_errno(err, errno, "cannot close '%s'", packed);
    }
    if (rc == RESPLIT_OK && rename(packed, path) != 0) {
        rc = rs_fail_errno(err, errno, "cannot rename '%s' to '%s'", packed, path);
    }
    if (rc != RESPLIT_OK && to >= 0) {
        (void)unlink(packed);
    }
    return rc;
}

resplit_status rs_pack_target(const rs_problem *problem, const resplit_array *target, const char *root, int64_t memory,
                              const resplit_run_options *options, resplit_cost *cost, resplit_error *err)
{
    int64_t index[RS_MAX_NDIM] = {0}, end[RS_MAX_NDIM];
    packing p;
    resplit_status rc = packing_begin(&p, &target->chain, memory, err);
    for (int d = 0; d < problem->ndim; d++) {
        index[d] = problem->target_index[d];
        end[d] = index[d] + problem->target.axis[d].n;
    }
    bool more = rc == RESPLIT_OK;
    while (more) {
        char name[RS_NAME_MAX], path[RS_PATH_MAX];
        rc = rs_array_block_name(target, index, name, err);
        rc = rc == RESPLIT_OK ? rs_path_join(root, name, path, err) : rc;
        rc = rc == RESPLIT_OK ? pack_file(&p, path, plain_bytes(target, index), options, err) : rc;
        count(cost, plain_bytes(target, index) - rs_array_block_offset(target, index));
        more = rc == RESPLIT_OK && rs_index_next(problem->ndim, problem->target_index, end, index);
    }
    packing_end(&p);
    return rc;
}
