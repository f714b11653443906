/* SPDX-License-Identifier: BSD-3-Clause */
/* arena.c - free ranges in a list by address; the smallest that is large enough is taken. */
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    HUGE_PAGE = 2 << 20,
    SPARE = 4, /* as many addresses as blocks need: free ranges that are all too short are passed by */
};

/* Warm at its begin; at its end there may be no memory behind it. */
typedef struct range {
    int64_t at, bytes, cold;
} range;

struct rs_arena {
    char *mapping, *begin; /* of all addresses; of those that are used, at a huge page */
    int64_t mapped, bytes;
    int64_t top, cold; /* bytes that blocks have reached, and of these such without memory */
    bool huge;
    int64_t n_huge; /* bytes of huge pages, which are all below the top */
    int64_t n_blocks;
    range *list; /* free ranges below the top, by address */
    int64_t n, room;
};

/* ---- Addresses ---------------------------------------------------------------------------------- */

static char *map(int64_t bytes)
{
    void *mapping =
        mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return mapping != MAP_FAILED ? mapping : NULL;
}

rs_arena *rs_arena_new(int64_t bytes, bool huge)
{
    rs_arena *arena = calloc(1, sizeof *arena);
    if (arena == NULL) {
        return NULL;
    }
    for (int64_t spare = SPARE; spare >= 1 && arena->mapping == NULL; spare /= 2) { /* addresses may be limited */
        if (rs_mul(bytes, spare, &arena->bytes) && rs_add(arena->bytes, 2 * HUGE_PAGE, &arena->mapped)) {
            arena->mapping = map(arena->mapped);
        }
    }
    if (arena->mapping == NULL) {
        free(arena);
        return NULL;
    }
    arena->begin = arena->mapping + (HUGE_PAGE - (uintptr_t)arena->mapping % HUGE_PAGE) % HUGE_PAGE;
    arena->bytes += HUGE_PAGE; /* at least so much is behind the begin */
    arena->huge = huge;
    return arena;
}

void rs_arena_free(rs_arena *arena)
{
    if (arena != NULL) {
        (void)munmap(arena->mapping, (size_t)arena->mapped);
        free(arena->list);
        free(arena);
    }
}

bool rs_arena_has(const rs_arena *arena, const void *block)
{
    uintptr_t at = (uintptr_t)block, begin = arena != NULL ? (uintptr_t)arena->begin : 0;
    return arena != NULL && at >= begin && at < begin + (uintptr_t)arena->bytes;
}

/* ---- Free ranges --------------------------------------------------------------------------------- */

static void remove_range(rs_arena *arena, int64_t i)
{
    memmove(&arena->list[i], &arena->list[i + 1], (size_t)(arena->n - i - 1) * sizeof *arena->list);
    arena->n--;
}

/* What is cold in the middle counts as warm from now on: that is too much, never too little. */
static void join(rs_arena *arena, int64_t i)
{
    range *a = &arena->list[i], *b = a + 1;
    if (i < 0 || i + 1 >= arena->n || a->at + a->bytes != b->at) {
        return;
    }
    arena->cold -= a->cold;
    a->bytes += b->bytes;
    a->cold = b->cold;
    remove_range(arena, i + 1);
}

/* There is room for it: one range for each block, and one more. */
static void insert(rs_arena *arena, range added)
{
    int64_t i = arena->n;
    while (i > 0 && arena->list[i - 1].at > added.at) {
        i--;
    }
    memmove(&arena->list[i + 1], &arena->list[i], (size_t)(arena->n - i) * sizeof *arena->list);
    arena->list[i] = added;
    arena->n++;
    join(arena, i);
    join(arena, i - 1);
}

/* Bytes that get memory when the first `bytes` of a range are taken; of all that are above the top. */
static int64_t growth(const rs_arena *arena, int64_t i, int64_t bytes)
{
    return i < 0 ? bytes : rs_max(0, bytes - (arena->list[i].bytes - arena->list[i].cold));
}

/* The one that grows least, and the smallest of those; -1: none is large enough. */
static int64_t find(const rs_arena *arena, int64_t bytes)
{
    int64_t best = -1;
    for (int64_t i = 0; i < arena->n; i++) {
        if (arena->list[i].bytes < bytes) {
            continue;
        }
        int64_t more = growth(arena, i, bytes) - (best >= 0 ? growth(arena, best, bytes) : INT64_MAX);
        if (more < 0 || (more == 0 && arena->list[i].bytes < arena->list[best].bytes)) {
            best = i;
        }
    }
    return best;
}

int64_t rs_arena_touched(const rs_arena *arena)
{
    return arena != NULL ? arena->top - arena->cold : 0;
}

/* Whole huge pages, as far as there are some. `but`: not of this range. */
static void cool(rs_arena *arena, int64_t most, int64_t but)
{
    for (int64_t i = arena->n - 1; i >= 0 && rs_arena_touched(arena) > most; i--) {
        range *r = &arena->list[i];
        int64_t end = r->at + r->bytes - r->cold, from = end - (rs_arena_touched(arena) - most);
        from = rs_max(r->at, from / HUGE_PAGE * HUGE_PAGE);
        if (i != but && from < end && madvise(arena->begin + from, (size_t)(end - from), MADV_DONTNEED) == 0) {
            r->cold += end - from;
            arena->cold += end - from;
        }
    }
}

void rs_arena_cool(rs_arena *arena, int64_t most)
{
    if (arena != NULL) {
        cool(arena, most, -1);
    }
}

/* ---- Blocks -------------------------------------------------------------------------------------- */

/* Each block that is given back may become a range of its own. */
static bool make_room(rs_arena *arena)
{
    int64_t wanted = arena->n_blocks + 2;
    if (wanted <= arena->room) {
        return true;
    }
    range *list = realloc(arena->list, (size_t)(2 * wanted) * sizeof *list);
    if (list == NULL) {
        return false;
    }
    arena->list = list;
    arena->room = 2 * wanted;
    return true;
}

/* From the beginning of a free range. */
static void *cut(rs_arena *arena, int64_t i, int64_t bytes)
{
    range *r = &arena->list[i];
    char *block = arena->begin + r->at;
    int64_t more = growth(arena, i, bytes);
    arena->cold -= more;
    r->cold -= more;
    r->at += bytes;
    r->bytes -= bytes;
    if (r->bytes == 0) {
        remove_range(arena, i);
    }
    return block;
}

/* As large as all blocks together and no larger: the last one would have memory behind it that nobody counts. */
static void ask_for_huge_pages(rs_arena *arena)
{
#ifdef MADV_HUGEPAGE
    int64_t end = arena->top / HUGE_PAGE * HUGE_PAGE;
    if (arena->huge && end > arena->n_huge) {
        (void)madvise(arena->begin + arena->n_huge, (size_t)(end - arena->n_huge), MADV_HUGEPAGE);
        arena->n_huge = end;
    }
#else
    (void)arena;
#endif
}

/* Where nobody was before. */
static void *grow(rs_arena *arena, int64_t bytes)
{
    char *block = arena->begin + arena->top;
    arena->top += bytes;
    ask_for_huge_pages(arena);
    return block;
}

void *rs_arena_take(rs_arena *arena, int64_t bytes, int64_t room)
{
    if (arena == NULL || !make_room(arena)) {
        return NULL;
    }
    int64_t i = find(arena, bytes), more = growth(arena, i, bytes), most = rs_arena_touched(arena) + room;
    if (i < 0 && arena->bytes - arena->top < bytes) {
        return NULL;
    }
    if (more > 0 && more > room) { /* what was touched before is no reason to give something else back */
        cool(arena, most - more, i);
    }
    if (more > 0 && rs_arena_touched(arena) > most - more) {
        return NULL;
    }
    arena->n_blocks++;
    return i >= 0 ? cut(arena, i, bytes) : grow(arena, bytes);
}

void rs_arena_give(rs_arena *arena, void *block, int64_t bytes)
{
    arena->n_blocks--;
    insert(arena, (range){.at = (char *)block - arena->begin, .bytes = bytes});
}
