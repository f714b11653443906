/* SPDX-License-Identifier: BSD-3-Clause */
/* shed.c - tries now and then whether it pays to throw memory out of the caches, and does it. */
#include "engine/shed.h"

#include "base/past.h"

#include <string.h>
#include <time.h>

enum {
    FIRST = 32, /* reads until the other way is tried for the first time */
    HOLD = 768, /* and until it is tried again */
    TRY = 64,
    MIXED = 16, /* as many as may be under way */
};

/* Less than this of the time: below that it is chance, and shedding takes a processor's time too. */
static const double GAIN = 0.88;

/* ---- Throwing out ---------------------------------------------------------------------------- */

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#include <immintrin.h>

static bool can_shed(void)
{
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_CLFLUSHOPT) != 0;
}

__attribute__((target("clflushopt"))) static void shed(char *memory, int64_t n)
{
    for (int64_t at = 0; at < n; at += RS_CACHE_LINE) {
        _mm_clflushopt(memory + at);
    }
}

#else
static bool can_shed(void)
{
    return false;
}

static void shed(char *memory, int64_t n)
{
    (void)memory;
    (void)n;
}
#endif

void rs_shed_copy(char *to, const char *from, int64_t n)
{
    int64_t head = rs_min(n, (int64_t)(-(uintptr_t)to % RS_CACHE_LINE)), end = n - (n - head) % RS_CACHE_LINE;
    memcpy(to, from, (size_t)head);
    rs_past_lines(to + head, from + head, end - head);
    rs_past_end();
    memcpy(to + end, from + end, (size_t)(n - end));
}

/* ---- Trying ---------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void rs_shedding_start(rs_shedding *shedding)
{
    *shedding = (rs_shedding){.able = can_shed(), .n_left = FIRST};
    (void)pthread_mutex_init(&shedding->lock, NULL);
}

void rs_shedding_stop(rs_shedding *shedding)
{
    (void)pthread_mutex_destroy(&shedding->lock);
}

/* Where one of them was never seen to keep the disk busy there is nothing to gain. */
static bool pays(const rs_shedding *shedding)
{
    double as_it_is = shedding->pace[0].seconds * (double)shedding->pace[1].bytes;
    double shed = shedding->pace[1].seconds * (double)shedding->pace[0].bytes;
    return shed < GAIN * as_it_is;
}

static void take_turns(rs_shedding *shedding)
{
    bool before = shedding->sheds, after = shedding->tries ? pays(shedding) : !before;
    shedding->tries = !shedding->tries;
    shedding->sheds = after;
    shedding->pace[after].seconds = 0;
    shedding->pace[after].bytes = 0;
    shedding->n_mixed = after != before ? MIXED : 0;
    shedding->n_left = shedding->tries ? MIXED + TRY : HOLD;
}

void rs_shed_count(rs_shedding *shedding, int64_t n, double time)
{
    shedding->n_reading--;
    if (shedding->last > 0 && shedding->n_mixed == 0) {
        shedding->pace[shedding->sheds].seconds += time - shedding->last;
        shedding->pace[shedding->sheds].bytes += n;
    }
    shedding->n_mixed -= shedding->n_mixed > 0;
    shedding->last = shedding->n_reading > 0 ? time : 0; /* else the disk has nothing to do */
    if (--shedding->n_left == 0) {
        take_turns(shedding);
    }
}

void rs_shed_begin(rs_shedding *shedding, char *memory, int64_t n)
{
    if (!shedding->able) {
        return;
    }
    if (atomic_load(&shedding->sheds)) {
        shed(memory, n);
    }
    (void)pthread_mutex_lock(&shedding->lock);
    shedding->n_reading++;
    (void)pthread_mutex_unlock(&shedding->lock);
}

void rs_shed_end(rs_shedding *shedding, int64_t n)
{
    if (!shedding->able) {
        return;
    }
    (void)pthread_mutex_lock(&shedding->lock);
    rs_shed_count(shedding, n, now());
    (void)pthread_mutex_unlock(&shedding->lock);
}

void rs_shed_interrupt(rs_shedding *shedding)
{
    (void)pthread_mutex_lock(&shedding->lock);
    shedding->last = 0;
    (void)pthread_mutex_unlock(&shedding->lock);
}
