/* SPDX-License-Identifier: BSD-3-Clause */
/* codecs.c - what the codecs of a conversion cost by themselves, on all cores: a floor for every program that has to decode
 * the chunks of one array and to encode those of another.
 *
 * usage: codecs FILE ITEMSIZE SHAPE CHUNKS CODEC TO_CHUNKS TO_CODEC THREADS
 *        as in: codecs x.raw 2 1024,1024,1024 1,1024,1024 zstd:1 128,128,128 zstd:1 2
 *
 * FILE has the elements of the array in C order, all of which are held in memory. A codec is none, zstd or zlib (of libdeflate, the
 * fastest there is) and a level. Only their calls are timed, as CPU time of their thread, while all threads do the same; what they
 * took together, divided by the number of threads, is printed as JSON with the bytes of both sides.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
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
    enum { NONE, ZSTD, ZLIB } codec;
    int level;
};

struct work {
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

static void codec_init(struct grid *g, const char *text)
{
    static const char *const names[] = {"none", "zstd", "zlib"};
    const size_t n = strcspn(text, ":");

    for (int i = NONE; i <= ZLIB; i++) {
        if (strlen(names[i]) == n && memcmp(names[i], text, n) == 0) {
            g->codec = i;
            g->level = text[n] ? (int)strtol(text + n + 1, NULL, 10) : 1;
            return;
        }
    }
    die("none, zstd or zlib", text);
}

static void grid_init(struct grid *g, const struct work *w, const char *chunks, const char *codec)
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
    codec_init(g, codec);
}

/* The cell of a grid that has this number, in C order. */
static void cell(const struct grid *g, int n_axes, int64_t number, int64_t *index)
{
    for (int d = n_axes - 1; d >= 0; d--) {
        index[d] = number % g->counts[d];
        number /= g->counts[d];
    }
}

/* Copies a chunk from its place in the array; what of it is outside is zero. */
static void take(const struct work *w, const struct grid *g, int64_t number, unsigned char *chunk)
{
    int64_t index[MOST_AXES], begin[MOST_AXES], length[MOST_AXES], at[MOST_AXES] = {0};
    const int last = w->n_axes - 1;
    int whole = 1;

    cell(g, w->n_axes, number, index);
    for (int d = 0; d <= last; d++) {
        begin[d] = index[d] * g->chunks[d];
        length[d] = w->shape[d] - begin[d] < g->chunks[d] ? w->shape[d] - begin[d] : g->chunks[d];
        whole = whole && length[d] == g->chunks[d];
    }
    if (!whole)
        memset(chunk, 0, g->bytes);
    const size_t n = (size_t)length[last] * w->itemsize;
    for (;;) {
        size_t there = 0, here = 0;
        for (int d = 0; d <= last; d++) {
            there = there * (size_t)w->shape[d] + (size_t)(begin[d] + at[d]);
            here = here * (size_t)g->chunks[d] + (size_t)at[d];
        }
        memcpy(chunk + here * w->itemsize, w->array + there * w->itemsize, n);
        int d = last - 1;
        while (d >= 0 && ++at[d] == length[d])
            at[d--] = 0;
        if (d < 0)
            return;
    }
}

/* What one thread needs for one grid. */
struct coder {
    ZSTD_CCtx *zc;
    ZSTD_DCtx *zd;
    struct libdeflate_compressor *lc;
    struct libdeflate_decompressor *ld;
    unsigned char *chunk, *stored, *back;
    size_t room;
};

static void coder_init(struct coder *c, const struct grid *g)
{
    *c = (struct coder){.room = ZSTD_compressBound(g->bytes)};
    if (g->codec == ZSTD) {
        c->zc = ZSTD_createCCtx();
        c->zd = ZSTD_createDCtx();
    } else if (g->codec == ZLIB) {
        c->lc = libdeflate_alloc_compressor(g->level);
        c->ld = libdeflate_alloc_decompressor();
        c->room = libdeflate_zlib_compress_bound(c->lc, g->bytes);
    }
    c->chunk = need(g->bytes);
    c->stored = need(c->room);
    c->back = need(g->bytes);
    memset(c->stored, 1, c->room); /* no page faults in what is timed */
    memset(c->back, 1, g->bytes);
}

static void coder_free(struct coder *c)
{
    ZSTD_freeCCtx(c->zc);
    ZSTD_freeDCtx(c->zd);
    libdeflate_free_compressor(c->lc);
    libdeflate_free_decompressor(c->ld);
    free(c->chunk);
    free(c->stored);
    free(c->back);
}

static size_t encode_chunk(struct coder *c, const struct grid *g, double *seconds)
{
    const double start = now();
    const size_t n = g->codec == ZSTD ? ZSTD_compressCCtx(c->zc, c->stored, c->room, c->chunk, g->bytes, g->level)
                                      : libdeflate_zlib_compress(c->lc, c->chunk, g->bytes, c->stored, c->room);
    *seconds += now() - start;
    if (n == 0 || (g->codec == ZSTD && ZSTD_isError(n)))
        die("cannot be encoded", "chunk");
    return n;
}

static void decode_chunk(struct coder *c, const struct grid *g, size_t n, double *seconds)
{
    size_t got = g->bytes;
    const double start = now();
    if (g->codec == ZSTD)
        got = ZSTD_decompressDCtx(c->zd, c->back, g->bytes, c->stored, n);
    else if (libdeflate_zlib_decompress(c->ld, c->stored, n, c->back, g->bytes, &got) != LIBDEFLATE_SUCCESS)
        got = 0;
    *seconds += now() - start;
    if (got != g->bytes || memcmp(c->back, c->chunk, g->bytes) != 0)
        die("not decoded to what was encoded", "chunk");
}

/* Chunks of the source are encoded first, which does not count. */
static void *work_on(struct worker *me, const struct grid *g, int decodes)
{
    struct coder c;
    double ignored = 0;

    coder_init(&c, g);
    for (int64_t i; (i = atomic_fetch_add(&me->work->next, 1)) < g->n;) {
        size_t n = g->bytes;
        if (g->codec != NONE) {
            take(me->work, g, i, c.chunk);
            n = encode_chunk(&c, g, decodes ? &ignored : &me->seconds);
            if (decodes)
                decode_chunk(&c, g, n, &me->seconds);
        }
        me->stored += (int64_t)n;
    }
    coder_free(&c);
    return NULL;
}

static void *decode(void *me)
{
    return work_on(me, &((struct worker *)me)->work->from, 1);
}

static void *encode(void *me)
{
    return work_on(me, &((struct worker *)me)->work->to, 0);
}

static void load(struct work *w, const char *path, size_t bytes)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        die(strerror(errno), path);
    w->array = need(bytes);
    size_t total = 0;
    for (ssize_t got; total < bytes && (got = read(fd, w->array + total, bytes - total)) != 0; total += (size_t)got)
        if (got < 0)
            die(strerror(errno), path);
    close(fd);
    if (total != bytes)
        die("too short", path);
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
        die("codecs FILE ITEMSIZE SHAPE CHUNKS CODEC TO_CHUNKS TO_CODEC THREADS", "usage");
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
    load(&w, argv[1], bytes);
    phase(&w, n_threads, decode, &decoded, &from);
    phase(&w, n_threads, encode, &encoded, &to);
    printf("{\"decode_seconds\": %.6f, \"encode_seconds\": %.6f, \"seconds\": %.6f, \"source_bytes\": %lld, "
           "\"target_bytes\": %lld, "
           "\"zstd\": \"%s\", \"libdeflate\": \"%s\"}\n",
           decoded, encoded, decoded + encoded, (long long)from, (long long)to, ZSTD_versionString(),
           LIBDEFLATE_VERSION_STRING);
    free(w.array);
    return 0;
}
