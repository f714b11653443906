/* SPDX-License-Identifier: BSD-3-Clause */
/* budget.c - allocates array data under a limit. Small blocks come from malloc, large ones from an arena. */
#include "base/budget.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/arena.h"

enum {
    PAGE = 4096,
    SMALL_ROUND = 16,       /* what malloc rounds to, and about what it adds */
    LARGE_FROM = 64 * 1024, /* smaller blocks would waste too much of a page */
    MAX_LARGE = 16 * 1024,  /* blocks: the arena looks through a list of them */
    SLACK = 1 << 20,
};

struct rs_budget {
    int64_t memory; /* what decides how large blocks are rounded */
    int64_t limit, used, peak;
    int64_t outside;            /* of that, what is not in the arena */
    rs_arena *arena[RS_N_USES]; /* for large blocks, by what they are used for; NULL: the system has none */
};

static bool is_large(int64_t memory, int64_t bytes)
{
    return bytes >= rs_max(LARGE_FROM, memory / MAX_LARGE);
}

int64_t rs_budget_charge(int64_t memory, int64_t bytes)
{
    if (is_large(memory, bytes)) {
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
    (*out)->arena[RS_FOR_DATA] = rs_arena_new(limit, false);
    (*out)->arena[RS_FOR_DISK] = rs_arena_new(limit, true);
    return RESPLIT_OK;
}

void rs_budget_free(rs_budget *budget)
{
    if (budget != NULL) {
        rs_arena_free(budget->arena[RS_FOR_DATA]);
        rs_arena_free(budget->arena[RS_FOR_DISK]);
        free(budget);
    }
}

int64_t rs_budget_room(const rs_budget *budget)
{
    return budget->limit - budget->used;
}

int64_t rs_budget_cost(const rs_budget *budget, int64_t bytes)
{
    return rs_budget_charge(budget->memory, bytes);
}

/* What may still get memory behind it. */
static int64_t fresh_room(const rs_budget *budget)
{
    return budget->limit - budget->outside - rs_arena_touched(budget->arena[RS_FOR_DATA])
           - rs_arena_touched(budget->arena[RS_FOR_DISK]);
}

/* Has free memory given back to the system until so much more may be touched, as far as there is some. */
static void make_room(rs_budget *budget, int64_t bytes)
{
    for (int i = 0; i < RS_N_USES && fresh_room(budget) < bytes; i++) {
        int64_t touched = rs_arena_touched(budget->arena[i]);
        rs_arena_cool(budget->arena[i], touched - (bytes - fresh_room(budget)));
    }
}

/* Something is left for small blocks, if it can be: they would have memory given back again and again. */
static void *take_inside(rs_budget *budget, rs_use use, int64_t charge)
{
    void *block = rs_arena_take(budget->arena[use], charge, fresh_room(budget) - SLACK);
    if (block == NULL) {
        make_room(budget, charge);
        block = rs_arena_take(budget->arena[use], charge, fresh_room(budget));
    }
    return block;
}

/* Beside the arenas. NULL: there is no memory. */
static void *take_outside(rs_budget *budget, int64_t bytes, int64_t charge)
{
    make_room(budget, charge);
    if (!is_large(budget->memory, bytes)) {
        return malloc((size_t)bytes + (bytes == 0));
    }
    void *block = mmap(NULL, (size_t)charge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return block != MAP_FAILED ? block : NULL;
}

resplit_status rs_budget_alloc(rs_budget *budget, rs_use use, int64_t bytes, void **out, resplit_error *err)
{
    *out = NULL;
    int64_t charge = rs_budget_charge(budget->memory, bytes);
    if (charge > budget->limit - budget->used) {
        return rs_fail(err, RESPLIT_EINTERNAL,
                       "the plan promised to stay inside %lld bytes, but %lld are in use and %lld more are asked for",
                       (long long)budget->limit, (long long)budget->used, (long long)charge);
    }
    if (is_large(budget->memory, bytes)) {
        *out = take_inside(budget, use, charge);
    }
    if (*out == NULL) {
        *out = take_outside(budget, bytes, charge);
        budget->outside += *out != NULL ? charge : 0;
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
    int64_t charge = rs_budget_charge(budget->memory, bytes);
    if (block == NULL) {
        return;
    }
    budget->used -= charge;
    for (int i = 0; i < RS_N_USES; i++) {
        if (rs_arena_has(budget->arena[i], block)) {
            rs_arena_give(budget->arena[i], block, charge);
            return;
        }
    }
    budget->outside -= charge;
    if (is_large(budget->memory, bytes)) {
        (void)munmap(block, (size_t)charge);
    } else {
        free(block);
    }
}

int64_t rs_budget_used(const rs_budget *budget)
{
    return budget->used;
}

int64_t rs_budget_peak(const rs_budget *budget)
{
    return budget->peak;
}
