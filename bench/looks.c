/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * looks.c - the disk's time for a program that looks at what it reads and makes what it writes, one word of each cache
 * line, and does nothing else.
 *
 * usage: looks FOLDER SOURCE_BYTES TARGET_BYTES
 *
 * The disk of a virtual machine is a thread of the host that copies. Memory that nobody looks at stays in that thread's
 * cache, and is copied to faster than any that is used. Like `resplit bench-disk`, which looks at nothing: direct I/O
 * of 1 MiB by eight threads, through huge pages, both ways at once as far as both go, sync included. Prints {"seconds":
 * ...}.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PIECE = 1 << 20, LINE = 64, N_THREADS = 8 };

static int source, target;
static int64_t n_reads, n_writes; /* pieces */
static atomic_int_fast64_t next, seen;
static char *memory;

static void check(int holds, const char *what)
{
    if (!holds) {
        perror(what);
        exit(1);
    }
}

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void read_piece(char *buffer, int64_t i)
{
    uint64_t sum = 0, word;
    check(pread(source, buffer, PIECE, i * PIECE) == PIECE, "cannot read");
    for (int64_t at = 0; at < PIECE; at += LINE) {
        memcpy(&word, buffer + at, sizeof word);
        sum += word;
    }
    (void)atomic_fetch_add(&seen, (int_fast64_t)sum);
}

static void write_piece(int fd, char *buffer, int64_t i)
{
    uint64_t word = (uint64_t)i;
    for (int64_t at = 0; at < PIECE; at += LINE) {
        word = word * 6364136223846793005ULL + 1442695040888963407ULL;
        memcpy(buffer + at, &word, sizeof word);
    }
    check(pwrite(fd, buffer, PIECE, i * PIECE) == PIECE, "cannot write");
}

/* A read, a write, a read, a write, ...; then what is left of either. */
static void *work(void *buffer)
{
    for (;;) {
        int64_t i = atomic_fetch_add(&next, 1), both = 2 * (n_reads < n_writes ? n_reads : n_writes);
        if (i >= n_reads + n_writes) {
            return NULL;
        }
        int64_t piece = i < both ? i / 2 : i - both / 2;
        if (i < both ? i % 2 == 0 : n_reads > n_writes) {
            read_piece(buffer, piece);
        } else {
            write_piece(target, buffer, piece);
        }
    }
}

static int open_nameless(const char *folder, int64_t n)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_DIRECT, 0600);
    check(fd >= 0, folder);
    check(n == 0 || fallocate(fd, 0, 0, n * PIECE) == 0, "no space");
    return fd;
}

int main(int argc, char **argv)
{
    pthread_t threads[N_THREADS];
    if (argc != 4) {
        (void)fprintf(stderr, "usage: looks FOLDER SOURCE_BYTES TARGET_BYTES\n");
        return 2;
    }
    n_reads = (atoll(argv[2]) + PIECE - 1) / PIECE;
    n_writes = (atoll(argv[3]) + PIECE - 1) / PIECE;
    memory = mmap(NULL, (size_t)PIECE * N_THREADS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(memory != MAP_FAILED, "no memory");
    (void)madvise(memory, (size_t)PIECE * N_THREADS, MADV_HUGEPAGE);
    source = open_nameless(argv[1], n_reads);
    target = open_nameless(argv[1], n_writes);
    for (int64_t i = 0; i < n_reads; i++) {
        write_piece(source, memory, i);
    }
    check(fsync(source) == 0, "cannot sync");
    double start = now();
    for (int i = 0; i < N_THREADS; i++) {
        check(pthread_create(&threads[i], NULL, work, memory + (size_t)i * PIECE) == 0, "no thread");
    }
    for (int i = 0; i < N_THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    check(fdatasync(target) == 0, "cannot sync");
    (void)printf("{\"seconds\": %.6f}\n", now() - start);
    return 0;
}
