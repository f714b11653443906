/* SPDX-License-Identifier: BSD-3-Clause */
/* budget.c - allocates array data under a limit. Small blocks come from malloc, large ones are mappings that are reused. */
#include "base/budget.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
    PAGE = 4096,
    SMALL_ROUND = 16,         /* what malloc rounds to, and about what it adds */
    MAP_FROM = 64 * 1024,     /* smaller blocks would waste too much of a page */
    MAX_MAPPINGS = 16 * 1024, /* systems allow about 65,000 mappings in a process */
};

/* A freed mapping; the record lives in the mapping itself. */
typedef struct idle_block {
    struct idle_block *next;
    int64_t bytes;
} idle_block;

struct rs_budget {
    int64_t limit, used, peak;
    int64_t idle_bytes;
    idle_block *idle; /* most recently freed first */
};

static bool is_mapped(int64_t limit, int64_t bytes)
{
    return bytes >= rs_max(MAP_FROM, limit / MAX_MAPPINGS);
}

int64_t rs_budget_charge(int64_t limit, int64_t bytes)
{
    if (is_mapped(limit, bytes)) {
        return rs_ceil_div(bytes, PAGE) * PAGE;
    }
    return rs_ceil_div(bytes, SMALL_ROUND) * SMALL_ROUND + SMALL_ROUND;
}

resplit_status rs_budget_new(int64_t limit, rs_budget **out, resplit_error *err)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL) {
        return rs_fail_errno(err, ENOMEM, "cannot allocate a memory budget");
    }
    (*out)->limit = limit;
    return RESPLIT_OK;
}

/* Unmaps idle blocks, all of them or until `bytes` more fit. */
static void trim(rs_budget *budget, int64_t bytes)
{
    while (budget->idle != NULL && budget->used + budget->idle_bytes + bytes > budget->limit) {
        idle_block *block = budget->idle;
        budget->idle = block->next;
        budget->idle_bytes -= block->bytes;
        (void)munmap(block, (size_t)block->bytes);
    }
}

void rs_budget_free(rs_budget *budget)
{
    if (budget == NULL) {
        return;
    }
    budget->limit = 0;
    trim(budget, 0);
    free(budget);
}

static void *map_block(rs_budget *budget, int64_t charge)
{
    for (idle_block **link = &budget->idle; *link != NULL; link = &(*link)->next) {
        if ((*link)->bytes == charge) {
            idle_block *block = *link;
            *link = block->next;
            budget->idle_bytes -= charge;
            return block;
        }
    }
    trim(budget, charge);
    void *block = mmap(NULL, (size_t)charge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return block == MAP_FAILED ? NULL : block;
}

resplit_status rs_budget_alloc(rs_budget *budget, int64_t bytes, void **out, resplit_error *err)
{
    *out = NULL;
    int64_t charge = rs_budget_charge(budget->limit, bytes);
    if (charge > budget->limit - budget->used) {
        return rs_fail(err, RESPLIT_EINTERNAL,
                       "the plan promised to stay inside %lld bytes, but %lld are in use and %lld more are asked for",
                       (long long)budget->limit, (long long)budget->used, (long long)charge);
    }
    if (is_mapped(budget->limit, bytes)) {
        *out = map_block(budget, charge);
    } else {
        trim(budget, charge);
        *out = malloc((size_t)bytes + (bytes == 0));
    }
    if (*out == NULL) {
        return rs_fail_errno(err, ENOMEM, "cannot allocate %lld bytes inside the budget of %lld", (long long)bytes,
                             (long long)budget->limit);
    }
    budget->used += charge;
    budget->peak = rs_max(budget->peak, budget->used);
    return RESPLIT_OK;
}

void rs_budget_release(rs_budget *budget, void *block, int64_t bytes)
{
    if (block == NULL) {
        return;
    }
    int64_t charge = rs_budget_charge(budget->limit, bytes);
    budget->used -= charge;
    if (!is_mapped(budget->limit, bytes)) {
        free(block);
        return;
    }
    idle_block *idle = block;
    idle->bytes = charge;
    idle->next = budget->idle;
    budget->idle = idle;
    budget->idle_bytes += charge;
}

int64_t rs_budget_used(const rs_budget *budget)
{
    return budget->used;
}

int64_t rs_budget_peak(const rs_budget *budget)
{
    return budget->peak;
}
