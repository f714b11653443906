/* SPDX-License-Identifier: BSD-3-Clause */
/* many.c - a machine with RESPLIT_PROCESSORS processors. Loaded with LD_PRELOAD (tests/python/test_memory.py). */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set)
{
    const char *text = getenv("RESPLIT_PROCESSORS");
    long n = text != NULL ? strtol(text, NULL, 10) : 1;
    (void)pid;
    memset(set, 0, bytes);
    for (long i = 0; i < n; i++) {
        CPU_SET_S((size_t)i, bytes, set);
    }
    return 0;
}
