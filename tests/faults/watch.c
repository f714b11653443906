/* SPDX-License-Identifier: BSD-3-Clause */
/* watch.c - which calls are about files under the root. Allocates nothing: a shim may be inside malloc. */
#include "watch.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static char root[PATH_MAX];

void watch_die(const char *what)
{
    char line[256];
    int n = snprintf(line, sizeof line, "shim: %s\n", what);
    (void)syscall(SYS_write, 2, line, (size_t)n);
    _exit(99);
}

void *watch_find(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (found == NULL) {
        watch_die(name);
    }
    return found;
}

long watch_number(const char *variable, long otherwise)
{
    const char *text = getenv(variable);
    char *end;
    if (text == NULL || text[0] == '\0') {
        return otherwise;
    }
    long number = strtol(text, &end, 10);
    if (*end != '\0') {
        watch_die(variable);
    }
    return number;
}

void watch_begin(const char *variable)
{
    const char *text = getenv(variable);
    if (text == NULL) {
        return;
    }
    size_t n = strlen(text);
    if (text[0] != '/' || n < 2 || n >= sizeof root || text[n - 1] == '/') {
        watch_die(variable);
    }
    memcpy(root, text, n + 1);
}

/* The part of an absolute path below the root, or NULL. */
static const char *below(const char *path)
{
    size_t n = strlen(root);
    if (n == 0 || strncmp(path, root, n) != 0 || (path[n] != '/' && path[n] != '\0')) {
        return NULL;
    }
    return path[n] == '/' ? path + n + 1 : path + n;
}

/* Appends `path` to an absolute `out`, name by name, without '.', '..' and doubled slashes. */
static bool append(char out[PATH_MAX], const char *path)
{
    size_t n = strlen(out);
    while (*path != '\0') {
        size_t length = strcspn(path, "/");
        if (length == 2 && path[0] == '.' && path[1] == '.') {
            while (n > 0 && out[--n] != '/') {
            }
        } else if (length > 0 && !(length == 1 && path[0] == '.')) {
            if (n + length + 2 > PATH_MAX) {
                return false;
            }
            out[n++] = '/';
            memcpy(out + n, path, length);
            n += length;
        }
        out[n] = '\0';
        path += length + (path[length] == '/');
    }
    return true;
}

static bool path_of(int fd, char out[PATH_MAX])
{
    char name[32];
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    long n = syscall(SYS_readlinkat, AT_FDCWD, name, out, PATH_MAX - 1);
    out[n < 0 ? 0 : n] = '\0';
    return n > 0;
}

static bool find_path(int folder, const char *path, char inside[PATH_MAX])
{
    char start[PATH_MAX] = "", all[PATH_MAX] = "";
    if (path[0] != '/' && !(folder == AT_FDCWD ? getcwd(start, sizeof start) != NULL : path_of(folder, start))) {
        return false;
    }
    if (!append(all, start) || !append(all, path)) {
        return false;
    }
    const char *found = below(all);
    if (found != NULL) {
        memcpy(inside, found, strlen(found) + 1);
    }
    return found != NULL;
}

bool watch_path(int folder, const char *path, char inside[PATH_MAX])
{
    int error = errno;
    bool found = root[0] != '\0' && find_path(folder, path, inside);
    errno = error;
    return found;
}

bool watch_fd(int fd)
{
    char path[PATH_MAX];
    int error = errno;
    bool found = root[0] != '\0' && fd >= 0 && path_of(fd, path) && below(path) != NULL;
    errno = error;
    return found;
}
