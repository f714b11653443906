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
    HUGE_FROM = 4 << 20,      /* larger blocks are worth huge pages, of which they hold some whole ones */
};

/* A freed mapping; the record lives in the mapping itself. */
typedef struct idle_block {
    struct idle_block *next;
    int64_t bytes;
} idle_block;

struct rs_budget {
    int64_t memory; /* what decides how large blocks are rounded */
    int64_t limit, used, peak;
    int64_t idle_bytes;
    idle_block *idle; /* most recently freed first */
};

static bool is_mapped(int64_t memory, int64_t bytes)
{
    return bytes >= rs_max(MAP_FROM, memory / MAX_MAPPINGS);
}

int64_t rs_budget_charge(int64_t memory, int64_t bytes)
{
    if (is_mapped(memory, bytes)) {
        return rs_ceil_div(bytes, PAGE) * PAGE;
    }
    return rs_ceil_div(bytes, SMALL_ROUND) * SMALL_ROUND + SMALL_ROUND;
}

resplit_status rs_budget_new(int64_t memory, int64_t limit, rs_budget **out, resplit_error *err)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL) {
        return rs_fail_errno(err, ENOMEM, "cannot allocate a memory budget");
    }
    (*out)->memory = memory;
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

/* Takes an idle block out of the list: the one whose size is nearest. */
static idle_block *take_nearest(rs_budget *budget, int64_t charge)
{
    idle_block **nearest = NULL;
    for (idle_block **link = &budget->idle; *link != NULL; link = &(*link)->next) {
        if (nearest == NULL || llabs((*link)->bytes - charge) < llabs((*nearest)->bytes - charge)) {
            nearest = link;
        }
        if ((*nearest)->bytes == charge) {
            break;
        }
    }
    if (nearest == NULL) {
        return NULL;
    }
    idle_block *block = *nearest;
    *nearest = block->next;
    budget->idle_bytes -= block->bytes;
    return block;
}

/* Pages that were touched before are kept where there are some, also when the size is another. */
static void *map_block(rs_budget *budget, int64_t charge)
{
    void *block = MAP_FAILED;
    idle_block *idle = take_nearest(budget, charge);
    if (idle != NULL && idle->bytes == charge) {
        return idle;
    }
    trim(budget, charge);
#ifdef __linux__
    if (idle != NULL) {
        block = mremap(idle, (size_t)idle->bytes, (size_t)charge, MREMAP_MAYMOVE);
    }
#endif
    if (block == MAP_FAILED) {
        if (idle != NULL) {
            (void)munmap(idle, (size_t)idle->bytes);
        }
        block = mmap(NULL, (size_t)charge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
#ifdef MADV_HUGEPAGE
    if (block != MAP_FAILED && charge >= HUGE_FROM) {
        (void)madvise(block, (size_t)charge, MADV_HUGEPAGE);
    }
#endif
    return block == MAP_FAILED ? NULL : block;
}

int64_t rs_budget_room(const rs_budget *budget)
{
    return budget->limit - budget->used;
}

int64_t rs_budget_cost(const rs_budget *budget, int64_t bytes)
{
    return rs_budget_charge(budget->memory, bytes);
}

resplit_status rs_budget_alloc(rs_budget *budget, int64_t bytes, void **out, resplit_error *err)
{
    *out = NULL;
    int64_t charge = rs_budget_charge(budget->memory, bytes);
    if (charge > budget->limit - budget->used) {
        return rs_fail(err, RESPLIT_EINTERNAL,
                       "the plan promised to stay inside %lld bytes, but %lld are in use and %lld more are asked for",
                       (long long)budget->limit, (long long)budget->used, (long long)charge);
    }
    if (is_mapped(budget->memory, bytes)) {
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
    int64_t charge = rs_budget_charge(budget->memory, bytes);
    budget->used -= charge;
    if (!is_mapped(budget->memory, bytes)) {
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
