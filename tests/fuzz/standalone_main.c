/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * standalone_main.c - runs a fuzz target over a corpus, without a fuzzer.
 *
 * usage: fuzz_NAME FILE_OR_FOLDER...
 *
 * Every file is given to the target whole and, because truncated files are what really happens, cut at every length (of
 * the first 4 KiB). Each input is an allocation of its exact size, so that a sanitizer sees the first byte read
 * beyond it. An empty corpus is a failure: it would pass in silence.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PREFIX_MAX = 4096 };

static void give(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL) {
        fprintf(stderr, "no memory for %zu bytes\n", size);
        exit(1);
    }
    if (size > 0) {
        memcpy(copy, data, size);
    }
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static long run_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = NULL;
    size_t size = 0, room = 0;

    if (f == NULL) {
        perror(path);
        exit(1);
    }
    do {
        if (size == room) {
            room = room * 2 + 4096;
            uint8_t *more = realloc(data, room);
            if (more == NULL) {
                fprintf(stderr, "%s: no memory\n", path);
                exit(1);
            }
            data = more;
        }
        size += fread(data + size, 1, room - size, f);
    } while (!feof(f) && !ferror(f));
    if (ferror(f)) {
        perror(path);
        exit(1);
    }
    fclose(f);

    for (size_t n = 0; n < size && n < PREFIX_MAX; n++) {
        give(data, n);
    }
    give(data, size);
    free(data);
    return 1;
}

static long run_path(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        perror(path);
        exit(1);
    }
    if (!S_ISDIR(st.st_mode)) {
        return run_file(path);
    }

    DIR *dir = opendir(path);
    if (dir == NULL) {
        perror(path);
        exit(1);
    }
    long n = 0;
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        char name[4096];
        if (entry->d_name[0] == '.') {
            continue;
        }
        if (snprintf(name, sizeof name, "%s/%s", path, entry->d_name) >= (int)sizeof name) {
            fprintf(stderr, "%s: name too long\n", entry->d_name);
            exit(1);
        }
        n += run_path(name);
    }
    closedir(dir);
    return n;
}

int main(int argc, char **argv)
{
    long n = 0;
    for (int i = 1; i < argc; i++) {
        n += run_path(argv[i]);
    }
    printf("%ld files\n", n);
    return n > 0 ? 0 : 1;
}
