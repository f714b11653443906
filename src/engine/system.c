/* SPDX-License-Identifier: BSD-3-Clause */
/* system.c - how much memory this process may use: the system's, its control groups' and its own limits;
   and the like. */
#include "engine/system.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static int64_t physical_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (int64_t)pages * size : INT64_MAX;
}

/* The number after `key` in the first line of a file that starts with it; INT64_MAX where there is none ("max"). */
static int64_t read_number(const char *path, const char *key)
{
    int64_t value = INT64_MAX;
    char line[256];
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0) {
            char *end, *digits = line + strlen(key);
            long long number = strtoll(digits, &end, 10);
            value = end != digits && number >= 0 ? number : INT64_MAX;
            break;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return value;
}

static int64_t available_memory(void)
{
    int64_t kib = read_number("/proc/meminfo", "MemAvailable:");
    return kib < INT64_MAX / 1024 ? kib * 1024 : physical_memory();
}

/* What is left in one control group and in all that contain it; `root` is where the hierarchy is mounted. */
static int64_t left_in_groups(const char *root, char *group, const char *limit, const char *used)
{
    int64_t least = INT64_MAX;
    for (;;) {
        char path[4096];
        (void)snprintf(path, sizeof path, "%s%s/%s", root, group, limit);
        int64_t most = read_number(path, "");
        (void)snprintf(path, sizeof path, "%s%s/%s", root, group, used);
        int64_t now = read_number(path, "");
        if (most != INT64_MAX && most < physical_memory()) {
            /* Page cache counts as used, and gives way: so at least half of the limit is taken to be free. */
            int64_t left = now == INT64_MAX || now > most / 2 ? most / 2 : most - now;
            least = rs_min(least, left);
        }
        char *slash = strrchr(group, '/');
        if (slash == NULL || group[0] == '\0') {
            return least;
        }
        *slash = '\0';
    }
}

static int64_t left_in_control_groups(void)
{
    int64_t least = INT64_MAX;
    char line[4096];
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char *names = strchr(line, ':');
        char *group = names != NULL ? strchr(names + 1, ':') : NULL;
        if (group == NULL) {
            continue;
        }
        *group++ = '\0';
        if (names[1] == '\0') {
            least = rs_min(least, left_in_groups("/sys/fs/cgroup", group, "memory.max", "memory.current"));
        } else if (strstr(names, "memory") != NULL) {
            least = rs_min(least, left_in_groups("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes",
                                                 "memory.usage_in_bytes"));
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return least;
}

static int64_t soft_limit(const struct rlimit *limit)
{
    bool none = limit->rlim_cur == RLIM_INFINITY || limit->rlim_cur > (rlim_t)INT64_MAX;
    return none ? INT64_MAX : (int64_t)limit->rlim_cur;
}

int64_t rs_system_memory(void)
{
    struct rlimit space = {RLIM_INFINITY, RLIM_INFINITY}, data = space;
    (void)getrlimit(RLIMIT_AS, &space);
    (void)getrlimit(RLIMIT_DATA, &data);
    int64_t least = rs_min(available_memory(), left_in_control_groups());
    return rs_min(least, rs_min(soft_limit(&space), soft_limit(&data)));
}

int rs_system_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        return CPU_COUNT(&set);
    }
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

bool rs_system_is_cached(int fd, int64_t bytes)
{
    enum { CACHESTAT = 451 }; /* since Linux 6.5; no wrapper in the C library yet */
    struct {
        uint64_t at, n;
    } range = {0, (uint64_t)bytes};
    struct {
        uint64_t cached, dirty, writeback, evicted, recently_evicted;
    } pages = {0};
    long size = sysconf(_SC_PAGESIZE);
    return size > 0 && syscall(CACHESTAT, fd, &range, &pages, 0U) == 0 && (int64_t)pages.cached >= bytes / size / 4 * 3
           && pages.cached > 0;
}
