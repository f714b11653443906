/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * watch.h - what the shims share: which calls are about files under one folder, the root, and the calls as they are
 * without us. A shim is loaded before libc (LD_PRELOAD) and defines the calls that it wants to see.
 */
#ifndef WATCH_H
#define WATCH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)

/* The next definition of a call: libc's. The lookup is repeated when two threads come at once, which harms nobody. */
#define REAL(name)                                                                                                     \
    ({                                                                                                                 \
        static __typeof__(&name) found;                                                                                \
        __typeof__(&name) real = __atomic_load_n(&found, __ATOMIC_RELAXED);                                            \
        if (real == NULL) {                                                                                            \
            real = (__typeof__(&name))watch_find(#name);                                                               \
            __atomic_store_n(&found, real, __ATOMIC_RELAXED);                                                          \
        }                                                                                                              \
        real;                                                                                                          \
    })

/* Has an open with these flags a mode after them? O_TMPFILE has the bit of O_DIRECTORY in it. */
#define NEEDS_MODE(flags) (((flags)&O_CREAT) != 0 || ((flags)&O_TMPFILE) == O_TMPFILE)

/* Like dlsym; ends the program when there is no such call. */
void *watch_find(const char *name);

/* An environment variable as a number; `otherwise` when it is not set. */
long watch_number(const char *variable, long otherwise);

/* Says what is wrong with the set-up and ends the program with 99. */
void watch_die(const char *what);

/* Takes the root from an environment variable. Without one, nothing is watched. */
void watch_begin(const char *variable);

/*
 * Where `path` is as seen from the open folder `folder` (or AT_FDCWD), relative to the root: "" is the root itself.
 * Returns false when it lies elsewhere. Links are not followed.
 */
bool watch_path(int folder, const char *path, char inside[PATH_MAX]);

/* Is this an open file or folder under the root? Also when it has lost its name. */
bool watch_fd(int fd);

#pragma GCC visibility pop

#endif
