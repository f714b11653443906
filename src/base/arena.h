/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * arena.h - blocks of memory out of one range of addresses, which the system backs by huge pages.
 *
 *     [ block | free | block | cold | block |                                    ]
 *       touched: there is memory behind it    top: nobody was here yet
 *
 * free: given back, and kept for who comes next, since fresh pages are slow; cold: given back to the system as well. A
 * disk that reads into huge pages, or writes from them, gets a few long stretches of memory where it would get hundreds
 * of short ones: on virtual machines it takes less than half the time. Blocks begin and end at pages; how many of them
 * share a huge page does not matter.
 */
#ifndef RS_ARENA_H
#define RS_ARENA_H

#include "base/base.h"

typedef struct rs_arena rs_arena;

/* For blocks of `bytes` at a time in all, in huge pages or as the system likes. NULL: it has no such range.
   Not thread safe. */
rs_arena *rs_arena_new(int64_t bytes, bool huge);
void rs_arena_free(rs_arena *arena);

/* Whole pages, of which `room` bytes may not have been touched before. NULL: there is no place.
   Contents are unspecified. */
void *rs_arena_take(rs_arena *arena, int64_t bytes, int64_t room);
void rs_arena_give(rs_arena *arena, void *block, int64_t bytes);

/* Is it one of these blocks? */
bool rs_arena_has(const rs_arena *arena, const void *block);

/* Bytes that have memory behind them; and makes them fewer, down to `most`, as far as they are free. */
int64_t rs_arena_touched(const rs_arena *arena);
void rs_arena_cool(rs_arena *arena, int64_t most);

#endif
