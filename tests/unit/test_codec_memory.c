/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_codec_memory.c - a coder allocates no more than it said, also inside of the libraries, and no more stack than a
 * worker has.
 *
 * This program has its own malloc, which every library is bound to: it counts what is in use. Sanitizers want that
 * place for themselves; then there is nothing to test.
 */
#include "files.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>

#include "codec/codec.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define HAS_OWN_MALLOC 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_OWN_MALLOC 0
#endif
#endif
#ifndef HAS_OWN_MALLOC
#define HAS_OWN_MALLOC 1
#endif

static const rs_element u2 = {'u', 2, '<'};
static atomic_llong in_use, most;

#if HAS_OWN_MALLOC

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t alignment, size_t n);
extern void __libc_free(void *p);

static void *count(void *p)
{
    long long now =
        p == NULL ? 0 : atomic_fetch_add(&in_use, (long long)malloc_usable_size(p)) + (long long)malloc_usable_size(p);
    long long before = atomic_load(&most);
    while (now > before && !atomic_compare_exchange_weak(&most, &before, now)) {
    }
    return p;
}

static void forget(void *p)
{
    if (p != NULL) {
        atomic_fetch_sub(&in_use, (long long)malloc_usable_size(p));
    }
}

void *malloc(size_t n)
{
    return count(__libc_malloc(n));
}

void *calloc(size_t n, size_t size)
{
    return count(__libc_calloc(n, size));
}

void *realloc(void *p, size_t n)
{
    forget(p);
    return count(__libc_realloc(p, n));
}

void *memalign(size_t alignment, size_t n)
{
    return count(__libc_memalign(alignment, n));
}

void *aligned_alloc(size_t alignment, size_t n)
{
    return memalign(alignment, n);
}

int posix_memalign(void **out, size_t alignment, size_t n)
{
    *out = memalign(alignment, n);
    return *out == NULL ? 12 : 0;
}

void free(void *p)
{
    forget(p);
    __libc_free(p);
}

#endif

static const char *const texts[] = {"none",
                                    "zstd:-5",
                                    "zstd:1",
                                    "zstd:3",
                                    "zstd:9:true",
                                    "zstd:15",
                                    "zstd:19",
                                    "zstd:22",
                                    "zlib:0",
                                    "zlib:1",
                                    "zlib:6",
                                    "zlib:9",
                                    "gzip:6",
                                    "lz4",
                                    "bz2:1",
                                    "bz2:9",
                                    "lzma:0",
                                    "lzma:6",
                                    "lzma:1:2",
                                    "blosc:blosclz:9:shuffle",
                                    "blosc:lz4:1:shuffle",
                                    "blosc:lz4:9:bitshuffle",
                                    "blosc:lz4hc:9:shuffle",
                                    "blosc:zlib:1:shuffle",
                                    "blosc:zlib:9:noshuffle",
                                    "blosc:zstd:1:shuffle",
                                    "blosc:zstd:5:shuffle",
                                    "blosc:zstd:8:noshuffle",
                                    "blosc:zstd:9:shuffle",
                                    "blosc:zstd:9:bitshuffle:3000000",
                                    "shuffle:4",
                                    "delta:u2:i8",
                                    "crc32c",
                                    "delta:u2:u4+shuffle:4+zstd:3+crc32c+blosc:lz4:5+zlib:1",
                                    "astype:f8",
                                    "astype:f4+quantize:2+bitround:7"};

enum { N_TEXTS = sizeof texts / sizeof texts[0] };

/* Steps: what is allocated does not depend on the data, and these are compressed in no time. */
static uint8_t *make_data(int64_t n)
{
    uint8_t *data = malloc((size_t)n + 1);
    assert_non_null(data);
    for (int64_t i = 0; i < n; i++) {
        data[i] = (uint8_t)(i / 300);
    }
    return data;
}

/* What is taken at most between two calls of this; `start` is what there was before. */
static void check(const char *text, int64_t n, bool encode, long long start, int64_t said)
{
    long long taken = atomic_load(&most) - start;
    if (getenv("RESPLIT_SHOW") != NULL) {
        printf("%-60s %9lld %s said %10lld took %10lld\n", text, (long long)n, encode ? "encode" : "decode",
               (long long)said, taken);
    }
    if (taken > said) {
        fail_msg("'%s' on %lld bytes, %s: took %lld bytes, said %lld", text, (long long)n, encode ? "encode" : "decode",
                 taken, (long long)said);
    }
}

static void run_both_ways(const char *text, int64_t n)
{
    rs_chain chain;
    rs_coder *coder = NULL;
    resplit_error err = {0};
    int64_t n_out = 0;
    assert_works(rs_chain_parse(text, &u2, &chain, &err), err);
    uint8_t *data = make_data(n), *back = malloc((size_t)n + 1), *out = malloc((size_t)rs_chain_bound(&chain, n) + 1);

    long long start = atomic_load(&in_use);
    atomic_store(&most, start);
    assert_works(rs_coder_new(&chain, n, true, &coder, &err), err);
    assert_works(rs_encode(coder, data, out, &n_out, &err), err);
    assert_works(rs_encode(coder, data, out, &n_out, &err), err);
    check(text, n, true, start, rs_coder_bytes(&chain, n, true));
    rs_coder_free(coder);
    assert_int_equal(atomic_load(&in_use), start);

    atomic_store(&most, start);
    assert_works(rs_coder_new(&chain, n, false, &coder, &err), err);
    assert_works(rs_decode(coder, out, n_out, back, &err), err);
    assert_works(rs_decode(coder, out, n_out, back, &err), err);
    check(text, n, false, start, rs_coder_bytes(&chain, n, false));
    rs_coder_free(coder);
    assert_int_equal(atomic_load(&in_use), start);
    free(out);
    free(back);
    free(data);
}

static void no_more_is_allocated_than_was_said(void **state)
{
    static const int64_t sizes[] = {64, 4096, 20000, 100000, 262144, 1 << 20, 9000000};
    (void)state;
    if (!HAS_OWN_MALLOC) {
        skip();
    }
    for (int i = 0; i < N_TEXTS; i++) {
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            run_both_ways(texts[i], sizes[k]);
        }
    }
}

enum { STACK = 128 << 10, PAINT = 0x5a };

static void *work(void *text)
{
    run_both_ways(text, 300000);
    return NULL;
}

/* A worker of a run has that much; see engine/crew.c. The stack is painted before, and looked at afterwards. */
static void a_worker_has_enough_stack(void **state)
{
    (void)state;
    if (!HAS_OWN_MALLOC) {
        skip();
    }
    for (int i = 0; i < N_TEXTS; i++) {
        pthread_attr_t attributes;
        pthread_t thread;
        size_t free_bytes = 0;
        uint8_t *stack = NULL;
        assert_int_equal(posix_memalign((void **)&stack, 4096, 4 * STACK), 0);
        memset(stack, PAINT, 4 * STACK);
        assert_int_equal(pthread_attr_init(&attributes), 0);
        assert_int_equal(pthread_attr_setstack(&attributes, stack, 4 * STACK), 0);
        assert_int_equal(pthread_create(&thread, &attributes, work, (void *)(uintptr_t)texts[i]), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        while (free_bytes < 4 * STACK && stack[free_bytes] == PAINT) {
            free_bytes++;
        }
        size_t used = 4 * STACK - free_bytes;
        if (getenv("RESPLIT_SHOW") != NULL) {
            printf("%-60s %zu bytes of stack\n", texts[i], used);
        }
        if (used > STACK - 16384) {
            fail_msg("'%s' took %zu bytes of stack", texts[i], used);
        }
        pthread_attr_destroy(&attributes);
        free(stack);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_more_is_allocated_than_was_said),
        cmocka_unit_test(a_worker_has_enough_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
