/* SPDX-License-Identifier: BSD-3-Clause */
/* codecs.c - what the codecs of a conversion cost by themselves, on all cores: a floor for every program that has to decode
 * the chunks of one array and to encode those of another.
 *
 * usage: codecs FILE ITEMSIZE SHAPE CHUNKS CODEC TO_CHUNKS TO_CODEC THREADS
 *        as in: codecs x.raw 2 1024,1024,1024 1,1024,1024 zstd:1 128,128,128 zstd:1 2
 *
 * FILE has the elements of the array in C order. A codec is none, zstd or zlib and a level; zlib is coded by libdeflate, the fastest
 * there is, but a source in it is what zlib makes, as in every file that libhdf5 wrote: that takes longer to decode than what
 * libdeflate makes. All chunks lie ready in memory before the clock starts, and what becomes of one is written over by the next:
 * every program has to take each chunk from memory once. The time is that of the clock, from the first call of any thread to the
 * end of the last one, since so is the time of the programs that it is compared with. Printed as JSON, with the bytes of both sides.
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
#include <zlib.h>
#include <zstd.h>

enum { MOST_AXES = 8, MOST_THREADS = 256 };

struct grid {
    int64_t chunks[MOST_AXES];
    int64_t counts[MOST_AXES];
    int64_t n;
    size_t bytes; /* of a whole chunk */
    enum { NONE, ZSTD, ZLIB } codec;
    int level;
    unsigned char *input; /* what the codec is timed with, for all chunks, at the same distance */
    size_t room;          /* that distance */
    size_t *length;       /* of the input of each */
    size_t most_stored;
};

struct work {
    int n_axes;
    size_t itemsize;
    int64_t shape[MOST_AXES];
    unsigned char *array;
    struct grid from, to;
    pthread_barrier_t start;
    atomic_llong next;
};

struct coder;
struct worker {
    struct work *work;
    const struct grid *grid;
    void (*step)(struct worker *me, struct coder *c, int64_t chunk);
    pthread_t thread;
    double began, ended;
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
    clock_gettime(CLOCK_MONOTONIC, &t);
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
    g->most_stored = g->codec == ZSTD ? ZSTD_compressBound(g->bytes) : libdeflate_zlib_compress_bound(NULL, g->bytes);
    g->most_stored =
        g->codec == ZLIB && compressBound(g->bytes) > g->most_stored ? compressBound(g->bytes) : g->most_stored;
    g->room = g->most_stored > g->bytes ? g->most_stored : g->bytes;
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
    unsigned char *chunk, *stored;
};

static void coder_init(struct coder *c, const struct grid *g)
{
    *c = (struct coder){.chunk = need(g->bytes), .stored = need(g->most_stored)};
    if (g->codec == ZSTD) {
        c->zc = ZSTD_createCCtx();
        c->zd = ZSTD_createDCtx();
    } else if (g->codec == ZLIB) {
        c->lc = libdeflate_alloc_compressor(g->level);
        c->ld = libdeflate_alloc_decompressor();
    }
    memset(c->stored, 1, g->most_stored); /* no page faults in what is timed */
    memset(c->chunk, 1, g->bytes);
}

static void coder_free(struct coder *c)
{
    ZSTD_freeCCtx(c->zc);
    ZSTD_freeDCtx(c->zd);
    libdeflate_free_compressor(c->lc);
    libdeflate_free_decompressor(c->ld);
    free(c->chunk);
    free(c->stored);
}

static size_t encode_chunk(struct coder *c, const struct grid *g, const unsigned char *chunk, unsigned char *stored)
{
    const size_t n = g->codec == ZSTD ? ZSTD_compressCCtx(c->zc, stored, g->most_stored, chunk, g->bytes, g->level)
                                      : libdeflate_zlib_compress(c->lc, chunk, g->bytes, stored, g->most_stored);
    if (n == 0 || (g->codec == ZSTD && ZSTD_isError(n)))
        die("cannot be encoded", "chunk");
    return n;
}

static size_t with_zlib(const struct grid *g, const unsigned char *chunk, unsigned char *stored)
{
    uLongf n = g->room;
    if (compress2(stored, &n, chunk, g->bytes, g->level) != Z_OK)
        die("cannot be encoded", "chunk");
    return n;
}

static void decode_chunk(struct coder *c, const struct grid *g, const unsigned char *stored, size_t n)
{
    size_t got = g->bytes;
    if (g->codec == ZSTD)
        got = ZSTD_decompressDCtx(c->zd, c->chunk, g->bytes, stored, n);
    else if (libdeflate_zlib_decompress(c->ld, stored, n, c->chunk, g->bytes, &got) != LIBDEFLATE_SUCCESS)
        got = 0;
    if (got != g->bytes)
        die("not decoded to what was encoded", "chunk");
}

/* Makes the chunks of the source ready, encoded. */
static void store_chunk(struct worker *me, struct coder *c, int64_t i)
{
    struct grid *g = &me->work->from;
    unsigned char *stored = g->input + (size_t)i * g->room;

    take(me->work, g, i, c->chunk);
    g->length[i] = g->codec == ZLIB ? with_zlib(g, c->chunk, stored) : encode_chunk(c, g, c->chunk, stored);
    memcpy(c->stored, c->chunk, g->bytes);
    decode_chunk(c, g, stored, g->length[i]);
    if (memcmp(c->stored, c->chunk, g->bytes) != 0)
        die("not decoded to what was encoded", "chunk");
}

static void cut_chunk(struct worker *me, struct coder *c, int64_t i)
{
    struct grid *g = &me->work->to;
    (void)c;
    take(me->work, g, i, g->input + (size_t)i * g->room);
}

static void decode(struct worker *me, struct coder *c, int64_t i)
{
    const struct grid *g = &me->work->from;
    decode_chunk(c, g, g->input + (size_t)i * g->room, g->length[i]);
    me->stored += (int64_t)g->length[i];
}

static void encode(struct worker *me, struct coder *c, int64_t i)
{
    const struct grid *g = &me->work->to;
    me->stored += (int64_t)encode_chunk(c, g, g->input + (size_t)i * g->room, c->stored);
}

static void *work_on(void *worker)
{
    struct worker *me = worker;
    const struct grid *g = me->grid;
    struct coder c;

    coder_init(&c, g);
    pthread_barrier_wait(&me->work->start);
    me->began = now();
    for (int64_t i; (i = atomic_fetch_add(&me->work->next, 1)) < g->n;)
        me->step(me, &c, i);
    me->ended = now();
    coder_free(&c);
    return NULL;
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

struct phase {
    double seconds;
    int64_t stored;
};

/* One step for every chunk of a grid, on all threads. */
static struct phase on_all(struct work *w, const struct grid *g, int n_threads,
                           void (*step)(struct worker *, struct coder *, int64_t))
{
    static struct worker workers[MOST_THREADS];
    struct phase all = {0};
    double began = 0, ended = 0;

    atomic_store(&w->next, 0);
    if (pthread_barrier_init(&w->start, NULL, (unsigned)n_threads))
        die("cannot be started", "thread");
    for (int i = 0; i < n_threads; i++) {
        workers[i] = (struct worker){.work = w, .grid = g, .step = step};
        if (pthread_create(&workers[i].thread, NULL, work_on, &workers[i]))
            die("cannot be started", "thread");
    }
    for (int i = 0; i < n_threads; i++) {
        pthread_join(workers[i].thread, NULL);
        began = i == 0 || workers[i].began < began ? workers[i].began : began;
        ended = workers[i].ended > ended ? workers[i].ended : ended;
        all.stored += workers[i].stored;
    }
    pthread_barrier_destroy(&w->start);
    all.seconds = ended - began;
    return all;
}

/* Makes the chunks ready, then takes the time; a grid without a codec takes none. */
static struct phase timed(struct work *w, struct grid *g, int n_threads,
                          void (*ready)(struct worker *, struct coder *, int64_t),
                          void (*step)(struct worker *, struct coder *, int64_t))
{
    if (g->codec == NONE)
        return (struct phase){.stored = g->n * (int64_t)g->bytes};
    g->input = need((size_t)g->n * g->room);
    g->length = need((size_t)g->n * sizeof *g->length);
    on_all(w, g, n_threads, ready);
    const struct phase all = on_all(w, g, n_threads, step);
    free(g->input);
    free(g->length);
    return all;
}

int main(int argc, char **argv)
{
    static struct work w;

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
    const struct phase decoded = timed(&w, &w.from, n_threads, store_chunk, decode);
    const struct phase encoded = timed(&w, &w.to, n_threads, cut_chunk, encode);
    printf("{\"decode_seconds\": %.6f, \"encode_seconds\": %.6f, \"seconds\": %.6f, \"source_bytes\": %lld, "
           "\"target_bytes\": %lld, "
           "\"zstd\": \"%s\", \"libdeflate\": \"%s\"}\n",
           decoded.seconds, encoded.seconds, decoded.seconds + encoded.seconds, (long long)decoded.stored,
           (long long)encoded.stored, ZSTD_versionString(), LIBDEFLATE_VERSION_STRING);
    free(w.array);
    return 0;
}
