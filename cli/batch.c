/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * batch.c - limits that only the environment tells. Control groups and resource limits are the library's: it may not
 * read the environment, so what batch systems write there is read here. Many sites kill a job by these numbers without
 * any control group.
 */
#include "batch.h"

#include <errno.h>
#include <stdlib.h>

#include "resplit.h"

/* A limit is variable × scale, or variable × scale × `times` where that is another variable. */
static const struct {
    const char *variable;
    int64_t scale;
    const char *times;
} LIMITS[] = {
    {"SLURM_MEM_PER_NODE", INT64_C(1) << 20, NULL}, /* Slurm counts in MiB and calls them megabytes */
    {"SLURM_MEM_PER_CPU", INT64_C(1) << 20, "SLURM_CPUS_ON_NODE"},
    {"PBS_RESC_MEM", 1, NULL},
    {"LSB_CG_MEMLIMIT", 1, NULL}, /* hexadecimal, with 0x */
};

/* The value of a variable, or 0 where it is missing, is not a number, or means "no limit". */
static int64_t number_in_environment(const char *name)
{
    const char *text = getenv(name);
    char *end;

    if (!text || *text == '\0')
        return 0;
    errno = 0;
    long long value = strtoll(text, &end, 0);
    return errno == 0 && *end == '\0' && value > 0 ? value : 0;
}

int64_t cli_memory_default(const char **source)
{
    int64_t available = resplit_memory_available();

    *source = "what is available";
    for (size_t i = 0; i < sizeof LIMITS / sizeof LIMITS[0]; i++) {
        int64_t limit = number_in_environment(LIMITS[i].variable);
        int64_t factor = LIMITS[i].times ? number_in_environment(LIMITS[i].times) : 1;

        if (__builtin_mul_overflow(limit, LIMITS[i].scale, &limit) || __builtin_mul_overflow(limit, factor, &limit))
            continue;
        if (limit > 0 && (available <= 0 || limit < available)) {
            available = limit;
            *source = LIMITS[i].variable;
        }
    }
    return available / 2;
}
