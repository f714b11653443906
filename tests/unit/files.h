/* SPDX-License-Identifier: BSD-3-Clause */
/* files.h - files for tests: a temporary folder, and .npy files written byte by byte, not by the library. */
#ifndef TEST_FILES_H
#define TEST_FILES_H

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "resplit.h"

/* The call fails with this code, and its sentence holds this text. */
#define assert_fails(call, want, err, text)                                                                            \
    do {                                                                                                               \
        assert_int_equal((call), (want));                                                                              \
        assert_int_equal((err).code, (want));                                                                          \
        if (strstr((err).message, (text)) == NULL) {                                                                   \
            fail_msg("expected '%s' in '%s'", (text), (err).message);                                                  \
        }                                                                                                              \
    } while (0)

#define assert_works(call, err)                                                                                        \
    do {                                                                                                               \
        if ((call) != RESPLIT_OK) {                                                                                    \
            fail_msg("%s", (err).message);                                                                             \
        }                                                                                                              \
    } while (0)

/* setup and teardown of cmocka: *state is the path of a new folder, removed at the end with all that is in it. */
static inline int make_folder(void **state)
{
    char *path = strdup("/tmp/resplit-test-XXXXXX");
    *state = path;
    return path == NULL || mkdtemp(path) == NULL ? -1 : 0;
}

static inline void remove_tree(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    char inner[1024];
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            if (snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name) < (int)sizeof inner && unlink(inner) != 0) {
                remove_tree(inner); /* test folders are two deep */
            }
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    (void)rmdir(path);
}

static inline int drop_folder(void **state)
{
    remove_tree(*state);
    free(*state);
    return 0;
}

/* "folder/name", in one of four places that are used in turn. */
static inline const char *in(const void *folder, const char *name)
{
    static char paths[4][1024];
    static int turn;
    char *path = paths[turn++ % 4];
    (void)snprintf(path, sizeof paths[0], "%s/%s", (const char *)folder, name);
    return path;
}

static inline void write_file(const char *path, const void *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static inline void write_text(const char *path, const char *text)
{
    write_file(path, text, strlen(text));
}

static inline void write_zeros(const char *path, size_t n)
{
    char *bytes = calloc(n + 1, 1);
    assert_non_null(bytes);
    write_file(path, bytes, n);
    free(bytes);
}

/*
 * A .npy file as NumPy's format page describes it: magic, version, little-endian length of the header, the header, then
 * `data_bytes` zeros. The header is padded with spaces and a newline so that the data starts at a multiple of 64.
 */
static inline void write_npy(const char *path, int major, const char *dict, size_t data_bytes)
{
    size_t start = major == 1 ? 10 : 12, n = strlen(dict);
    size_t total = (start + n + 1 + 63) / 64 * 64;
    char *bytes = calloc(total + data_bytes, 1);
    assert_non_null(bytes);
    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = (char)major;
    for (size_t i = 8, length = total - start; i < start; i++, length >>= 8) {
        bytes[i] = (char)(length & 0xff);
    }
    memcpy(bytes + start, dict, n);
    memset(bytes + start + n, ' ', total - start - n - 1);
    bytes[total - 1] = '\n';
    write_file(path, bytes, total + data_bytes);
    free(bytes);
}

/* A 2-D block of uint16. */
static inline void write_block(const char *path, int rows, int columns)
{
    char dict[200];
    (void)snprintf(dict, sizeof dict, "{'descr': '<u2', 'fortran_order': False, 'shape': (%d, %d), }", rows, columns);
    write_npy(path, 1, dict, (size_t)rows * (size_t)columns * 2);
}

#endif
