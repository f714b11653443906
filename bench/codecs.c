/* SPDX-License-Identifier: BSD-3-Clause */
/* codecs.c - what the codecs of a conversion cost by themselves, on all cores: a floor for every program that has to decode
 * the chunks of one Zarr array and to encode those of another.
 *
 * usage: codecs FOLDER ITEMSIZE SHAPE CHUNKS LEVEL TO_CHUNKS TO_LEVEL THREADS
 *        as in: codecs x.zarr 2 1024,1024,1024 1,1024,1024 1 128,128,128 1 2
 *
 * FOLDER is a Zarr v3 array without shards whose keys are c/0/0/0. A level is that of zstd; 0: not compressed. The whole array is
 * held in memory. Only the calls of zstd are timed, as CPU time of their thread, while all threads do the same; what they took
 * together, divided by the number of threads, is printed as JSON with the bytes of both sides.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

enum { MOST_AXES = 8, MOST_THREADS = 256 };

struct grid {
    int64_t chunks[MOST_AXES];
    int64_t counts[MOST_AXES];
    int64_t n;
    size_t bytes; /* of a whole chunk */
    int level;
};

struct work {
    const char *folder;
    int n_axes;
    size_t itemsize;
    int64_t shape[MOST_AXES];
    unsigned char *array;
    struct grid from, to;
    atomic_llong next;
};

struct worker {
    struct work *work;
    pthread_t thread;
    double seconds;
    int64_t stored;
};

static void die(const char *what, const char *subject)
{
    fprintf(stderr, "codecs: '%s': %s\n", subject, what);
    exit(1);
}

static void *need(size_t n)
{
    void *p = calloc(n ? n : 1, 1);
    if (!p)
        die("out of memory", "the array");
    return p;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int numbers(const char *text, int64_t *out)
{
    int n = 0;
    for (const char *at = text;; at++) {
        char *end;
        if (n == MOST_AXES)
            die("too many axes", text);
        out[n++] = strtoll(at, &end, 10);
        if (end == at || out[n - 1] < 1 || (*end && *end != ','))
            die("not a list of lengths", text);
        if (!*end)
            return n;
        at = end;
    }
}

static void grid_init(struct grid *g, const struct work *w, const char *chunks, const char *level)
{
    if (numbers(chunks, g->chunks) != w->n_axes)
        die("not as many axes as the shape", chunks);
    g->n = 1;
    g->bytes = w->itemsize;
    for (int d = 0; d < w->n_axes; d++) {
        g->counts[d] = (w->shape[d] + g->chunks[d] - 1) / g->chunks[d];
        g->n *= g->counts[d];
        g->bytes *= (size_t)g->chunks[d];
    }
    g->level = (int)strtol(level, NULL, 10);
}

/* The cell of a grid that has this number, in C order. */
static void cell(const struct grid *g, int n_axes, int64_t number, int64_t *index)
{
    for (int d = n_axes - 1; d >= 0; d--) {
        index[d] = number % g->counts[d];
        number /= g->counts[d];
    }
}

/* Copies a chunk to its place in the array or, if out, from there. */
static void move(const struct work *w, const struct grid *g, const int64_t *index, unsigned char *chunk, int out)
{
    int64_t begin[MOST_AXES], length[MOST_AXES], at[MOST_AXES] = {0};
    const int last = w->n_axes - 1;

    for (int d = 0; d <= last; d++) {
        begin[d] = index[d] * g->chunks[d];
        length[d] = w->shape[d] - begin[d] < g->chunks[d] ? w->shape[d] - begin[d] : g->chunks[d];
    }
    const size_t n = (size_t)length[last] * w->itemsize;
    for (;;) {
        size_t there = 0, here = 0;
        for (int d = 0; d <= last; d++) {
            there = there * (size_t)w->shape[d] + (size_t)(begin[d] + at[d]);
            here = here * (size_t)g->chunks[d] + (size_t)at[d];
        }
        unsigned char *a = w->array + there * w->itemsize, *c = chunk + here * w->itemsize;
        memcpy(out ? c : a, out ? a : c, n);
        int d = last - 1;
        while (d >= 0 && ++at[d] == length[d])
            at[d--] = 0;
        if (d < 0)
            return;
    }
}

static size_t load(const struct work *w, const int64_t *index, unsigned char *buffer, size_t room)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/c", w->folder);
    for (int d = 0; d < w->n_axes; d++)
        n += snprintf(path + n, sizeof path - (size_t)n, "/%lld", (long long)index[d]);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        die(strerror(errno), path);
    size_t total = 0;
    for (ssize_t got; (got = read(fd, buffer + total, room - total)) != 0; total += (size_t)got)
        if (got < 0)
            die(strerror(errno), path);
    close(fd);
    return total;
}

static void *decode(void *argument)
{
    struct worker *me = argument;
    struct work *w = me->work;
    const size_t room = ZSTD_compressBound(w->from.bytes);
    unsigned char *stored = need(room), *chunk = need(w->from.bytes);
    ZSTD_DCtx *context = ZSTD_createDCtx();
    int64_t index[MOST_AXES];

    for (int64_t i; (i = atomic_fetch_add(&w->next, 1)) < w->from.n;) {
        cell(&w->from, w->n_axes, i, index);
        const size_t n = load(w, index, w->from.level ? stored : chunk, w->from.level ? room : w->from.bytes);
        me->stored += (int64_t)n;
        if (w->from.level) {
            const double start = now();
            const size_t got = ZSTD_decompressDCtx(context, chunk, w->from.bytes, stored, n);
            me->seconds += now() - start;
            if (got != w->from.bytes)
                die("a chunk of the wrong length", w->folder);
        }
        move(w, &w->from, index, chunk, 0);
    }
    ZSTD_freeDCtx(context);
    free(stored);
    free(chunk);
    return NULL;
}

static void *encode(void *argument)
{
    struct worker *me = argument;
    struct work *w = me->work;
    const size_t room = ZSTD_compressBound(w->to.bytes);
    unsigned char *stored = need(room), *chunk = need(w->to.bytes);
    ZSTD_CCtx *context = ZSTD_createCCtx();
    int64_t index[MOST_AXES];

    memset(stored, 1, room); /* no page faults in what is timed */
    for (int64_t i; (i = atomic_fetch_add(&w->next, 1)) < w->to.n;) {
        cell(&w->to, w->n_axes, i, index);
        size_t n = w->to.bytes;
        if (w->to.level) {
            move(w, &w->to, index, chunk, 1);
            const double start = now();
            n = ZSTD_compressCCtx(context, stored, room, chunk, w->to.bytes, w->to.level);
            me->seconds += now() - start;
            if (ZSTD_isError(n))
                die(ZSTD_getErrorName(n), "zstd");
        }
        me->stored += (int64_t)n;
    }
    ZSTD_freeCCtx(context);
    free(stored);
    free(chunk);
    return NULL;
}

static void phase(struct work *w, int n_threads, void *(*function)(void *), double *seconds, int64_t *stored)
{
    static struct worker workers[MOST_THREADS];

    memset(workers, 0, sizeof workers);
    atomic_store(&w->next, 0);
    for (int i = 0; i < n_threads; i++) {
        workers[i].work = w;
        if (pthread_create(&workers[i].thread, NULL, function, &workers[i]))
            die("cannot be started", "thread");
    }
    *seconds = 0;
    *stored = 0;
    for (int i = 0; i < n_threads; i++) {
        pthread_join(workers[i].thread, NULL);
        *seconds += workers[i].seconds / n_threads;
        *stored += workers[i].stored;
    }
}

int main(int argc, char **argv)
{
    static struct work w;
    double decoded, encoded;
    int64_t from, to;

    if (argc != 9)
        die("codecs FOLDER ITEMSIZE SHAPE CHUNKS LEVEL TO_CHUNKS TO_LEVEL THREADS", "usage");
    w.folder = argv[1];
    w.itemsize = (size_t)strtoull(argv[2], NULL, 10);
    w.n_axes = numbers(argv[3], w.shape);
    grid_init(&w.from, &w, argv[4], argv[5]);
    grid_init(&w.to, &w, argv[6], argv[7]);
    const int n_threads = (int)strtol(argv[8], NULL, 10);
    if (n_threads < 1 || n_threads > MOST_THREADS)
        die("not a number of threads", argv[8]);
    size_t bytes = w.itemsize;
    for (int d = 0; d < w.n_axes; d++)
        bytes *= (size_t)w.shape[d];
    w.array = need(bytes);
    phase(&w, n_threads, decode, &decoded, &from);
    phase(&w, n_threads, encode, &encoded, &to);
    printf("{\"decode_seconds\": %.6f, \"encode_seconds\": %.6f, \"seconds\": %.6f, \"source_bytes\": %lld, "
           "\"target_bytes\": %lld, "
           "\"zstd\": \"%s\"}\n",
           decoded, encoded, decoded + encoded, (long long)from, (long long)to, ZSTD_versionString());
    free(w.array);
    return 0;
}
