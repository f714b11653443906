/* SPDX-License-Identifier: BSD-3-Clause */
/* test_together.c - several long writes at once, made by whoever comes: every byte arrives once, and a failure
   finds its owner. */
#include "engine/together.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { OWNERS = 3, HELPERS = 4, ROOM = 64 << 10, LENGTH = RS_TOGETHER_LEAST + 4096, SKIPPED = 12345, GAP = 8192 };

/* What is written goes to several places, with a gap before each; at some there is nothing. */
static const int64_t lengths[] = {0, 4096, 1 << 20, 5 * 4096, 0, LENGTH - (1 << 20) - 6 * 4096, 0};

enum { N_PLACES = sizeof lengths / sizeof lengths[0] };

/* A crew: owners, who write one file each, and helpers, who come and go until all owners are done. */
typedef struct crew {
    pthread_mutex_t lock;
    pthread_cond_t change;
    rs_together together;
    int n_owners; /* at work */
} crew;

typedef struct owner {
    crew *crew;
    int fd;
    char *bytes;
    int n_places; /* that were asked for */
    rs_long_place place;
    resplit_status rc;
    resplit_error err;
} owner;

static rs_area start_io(rs_io *io)
{
    resplit_error err;
    rs_area area = {malloc(ROOM), ROOM};
    assert_int_equal(rs_io_start(io, "threads", &err), RESPLIT_OK);
    assert_non_null(area.memory);
    return area;
}

static void stop_io(rs_io *io, rs_area area)
{
    free(area.memory);
    rs_io_stop(io);
}

/* What is written is not asked for from its beginning. */
static void bring(void *payload, int64_t from, int64_t n, char *to)
{
    const owner *o = payload;
    assert_true(from >= SKIPPED && n <= ROOM && from - SKIPPED + n <= LENGTH);
    memcpy(to, o->bytes + (from - SKIPPED), (size_t)n);
}

static bool next_place(void *payload, rs_long_place *out)
{
    owner *o = payload;
    if (o->n_places == N_PLACES) {
        return false;
    }
    o->place.from += o->place.n;
    o->place.at += o->place.n + GAP;
    o->place.n = lengths[o->n_places++];
    *out = o->place;
    return true;
}

static void *help(void *argument)
{
    crew *c = argument;
    rs_io io = {0};
    rs_stint stint;
    rs_area area = start_io(&io);
    (void)pthread_mutex_lock(&c->lock);
    while (c->n_owners > 0) {
        if (!rs_together_take(&c->together, &stint)) {
            (void)pthread_cond_wait(&c->change, &c->lock);
            continue;
        }
        (void)pthread_mutex_unlock(&c->lock);
        rs_together_make(&c->together, &io, area, &stint);
        (void)pthread_mutex_lock(&c->lock);
    }
    (void)pthread_mutex_unlock(&c->lock);
    stop_io(&io, area);
    return NULL;
}

static void *own(void *argument)
{
    owner *o = argument;
    crew *c = o->crew;
    rs_io io = {0};
    rs_area area = start_io(&io);
    rs_places places = {next_place, o, LENGTH};
    o->place = (rs_long_place){.fd = o->fd, .path = "the file", .from = SKIPPED};
    o->rc = rs_together_write(&c->together, &io, area, places, (rs_bringer){bring, o}, &o->err);
    (void)pthread_mutex_lock(&c->lock);
    c->n_owners--;
    (void)pthread_cond_broadcast(&c->change);
    (void)pthread_mutex_unlock(&c->lock);
    stop_io(&io, area);
    return NULL;
}

static void work(crew *c, owner *owners, int n_helpers)
{
    pthread_t threads[OWNERS + HELPERS];
    (void)pthread_mutex_init(&c->lock, NULL);
    (void)pthread_cond_init(&c->change, NULL);
    c->together = (rs_together){.lock = &c->lock, .change = &c->change};
    c->n_owners = OWNERS;
    for (int i = 0; i < OWNERS + n_helpers; i++) {
        bool owns = i < OWNERS;
        assert_int_equal(pthread_create(&threads[i], NULL, owns ? own : help, owns ? (void *)&owners[i] : (void *)c),
                         0);
    }
    for (int i = 0; i < OWNERS + n_helpers; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    assert_null(c->together.first);
    (void)pthread_cond_destroy(&c->change);
    (void)pthread_mutex_destroy(&c->lock);
}

static void begin(crew *c, owner *owners)
{
    for (int i = 0; i < OWNERS; i++) {
        FILE *file = tmpfile();
        assert_non_null(file);
        owners[i] = (owner){.crew = c, .fd = dup(fileno(file)), .bytes = malloc(LENGTH)};
        assert_non_null(owners[i].bytes);
        (void)fclose(file);
        for (int64_t k = 0; k < LENGTH; k++) {
            owners[i].bytes[k] = (char)(k * 31 + k / 4099 + i);
        }
    }
}

static void check_file(const owner *o)
{
    char *found = malloc(LENGTH);
    assert_non_null(found);
    assert_int_equal(o->rc, RESPLIT_OK);
    assert_int_equal(o->n_places, N_PLACES);
    int64_t from = 0, at = 0, last = 0;
    for (int i = 0; i < N_PLACES; i++) {
        at += GAP;
        assert_int_equal(pread(o->fd, found, (size_t)lengths[i], at), lengths[i]);
        assert_memory_equal(found, o->bytes + from, (size_t)lengths[i]);
        from += lengths[i];
        at += lengths[i];
        last = lengths[i] > 0 ? at : last;
    }
    assert_int_equal(from, LENGTH);
    assert_int_equal(lseek(o->fd, 0, SEEK_END), last);
    free(found);
}

static void end(owner *owners)
{
    for (int i = 0; i < OWNERS; i++) {
        (void)close(owners[i].fd);
        free(owners[i].bytes);
    }
}

static void every_byte_arrives(void **state)
{
    (void)state;
    for (int n_helpers = 0; n_helpers <= HELPERS; n_helpers++) {
        crew c = {0};
        owner owners[OWNERS];
        begin(&c, owners);
        work(&c, owners, n_helpers);
        for (int i = 0; i < OWNERS; i++) {
            check_file(&owners[i]);
        }
        end(owners);
    }
}

static void a_failure_is_its_owners(void **state)
{
    (void)state;
    for (int turn = 0; turn < 5; turn++) {
        crew c = {0};
        owner owners[OWNERS];
        begin(&c, owners);
        (void)close(owners[1].fd);
        owners[1].fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
        work(&c, owners, HELPERS);
        check_file(&owners[0]);
        check_file(&owners[2]);
        assert_int_equal(owners[1].rc, RESPLIT_EIO);
        assert_int_equal(owners[1].err.sys_errno, ENOSPC);
        assert_non_null(strstr(owners[1].err.message, "the file"));
        end(owners);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_arrives),
        cmocka_unit_test(a_failure_is_its_owners),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
