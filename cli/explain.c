/* SPDX-License-Identifier: BSD-3-Clause */
/* explain.c - what a person decides by: the strategies side by side, what memory would buy, and why this plan. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report.h"

/* Closer than this is the same: two decimals are printed. */
#define SAME 0.005

static int64_t seeks_of(const resplit_cost *cost)
{
    return cost->read_seeks + cost->write_seeks;
}

void cli_explain_device(const resplit_device *device)
{
    char latency[CLI_BYTES_TEXT];

    cli_format_seconds(device->latency, latency);
    printf("%-14s%s: %s a seek, %.0f at once; %.0f MB/s read, %.0f MB/s written, %.0f MB/s both\n", "device",
           device->name, latency, device->depth, device->read_bandwidth / 1e6, device->write_bandwidth / 1e6,
           device->both_bandwidth / 1e6);
}

/* ---- Tables --------------------------------------------------------------------------------------------------- */

static void print_ratio(double value, double floor)
{
    double ratio = value / floor;

    if (floor <= 0)
        printf("%9s", "-");
    else if (ratio < 9999.5)
        printf("%9.2f", ratio);
    else
        printf("%9.1e", ratio);
}

static void print_header(bool with_memory)
{
    printf("  ");
    if (with_memory)
        printf("%-12s", "memory");
    printf("%-10s%16s%9s%14s%9s%13s%13s%11s\n", "strategy", "seeks", "x floor", "time", "x floor", "bytes moved",
           "peak memory", "temporary");
}

static void print_choice(const struct cli_choices *choices, const struct cli_choice *choice, bool with_memory)
{
    const resplit_cost *cost = &choice->predicted;
    char text[CLI_BYTES_TEXT];

    printf("%s ", choice->chosen ? "*" : " ");
    if (with_memory) {
        cli_format_bytes(choice->memory, text);
        printf("%-12s", text);
    }
    printf("%-10s", choice->strategy);
    if (choice->needed > 0) {
        cli_format_bytes(choice->needed, text);
        printf("%16s  needs at least %s (%" PRId64 " bytes)\n", "refused", text, choice->needed);
        return;
    }
    cli_format_count(seeks_of(cost), text);
    printf("%16s", text);
    print_ratio((double)seeks_of(cost), (double)seeks_of(&choices->floor));
    cli_format_seconds(choice->seconds, text);
    printf("%14s", text);
    print_ratio(choice->seconds, choices->floor_seconds);
    cli_format_bytes(cost->bytes_read + cost->bytes_written, text);
    printf("%13s", text);
    cli_format_bytes(cost->peak_bytes, text);
    printf("%13s", text);
    cli_format_bytes(cost->temp_bytes, text);
    printf("%11s\n", text);
}

/* ---- Why ------------------------------------------------------------------------------------------------------ */

/* How a measure is spoken of. */
static const struct speech {
    const char *minimize;
    const char *first; /* "best " ...: what the first in the table is */
    const char *other; /* "keep would " ... " 1.40 x ": what another one would do */
    const char *what;  /* ... */
    const char *same;  /* "keep " ...: another one of equal measure */
} SPEECH[] = {
    {"seconds", "is the fastest", "take", "the time", "would be as fast"},
    {"seeks", "makes the fewest seeks", "make", "the seeks", "would make as many"},
    {"bytes", "moves the fewest bytes", "move", "the bytes", "would move as many"},
    {"memory", "needs the least memory", "need", "the memory", "would need as much"},
};

static const struct speech *speech_of(const char *minimize)
{
    size_t i = sizeof SPEECH / sizeof SPEECH[0] - 1;

    while (i > 0 && strcmp(SPEECH[i].minimize, minimize) != 0)
        i--;
    return &SPEECH[i];
}

static double measure_of(const struct cli_choices *choices, const struct cli_choice *choice)
{
    return cli_measure(&choice->predicted, choice->seconds, choices->minimize);
}

/* The chosen one, and the cheapest of the others that fit; NULL where there is none. */
static const struct cli_choice *chosen_of(const struct cli_choices *choices, const struct cli_choice **second)
{
    const struct cli_choice *chosen = NULL;

    *second = NULL;
    for (int i = 0; i < choices->n_strategies; i++) {
        const struct cli_choice *choice = &choices->strategies[i];
        if (choice->chosen)
            chosen = choice;
        else if (choice->needed == 0 && (!*second || measure_of(choices, choice) < measure_of(choices, *second)))
            *second = choice;
    }
    return chosen;
}

static void say_second(const struct cli_choices *choices, const struct cli_choice *chosen,
                       const struct cli_choice *second, const struct speech *speech)
{
    double here = measure_of(choices, chosen), there = measure_of(choices, second);
    double memory = (double)second->predicted.peak_bytes / (double)chosen->predicted.peak_bytes;

    if (here > 0 && (there / here > 1 + SAME || there / here < 1 - SAME))
        printf("; %s would %s %.*f x %s", second->strategy, speech->other, there / here < 9.95 ? 2 : 0, there / here,
               speech->what);
    else if (memory > 1 + SAME || memory < 1 - SAME)
        printf("; %s %s, with %.2f x the memory", second->strategy, speech->same, memory);
    else
        printf("; %s %s", second->strategy, speech->same);
}

static void say_why(const struct cli_choices *choices)
{
    const struct speech *speech = speech_of(choices->minimize);
    const struct cli_choice *second, *chosen = chosen_of(choices, &second);
    double floor = cli_measure(&choices->floor, choices->floor_seconds, choices->minimize);
    char text[CLI_BYTES_TEXT];

    if (!chosen)
        return;
    printf("%s %s", chosen->strategy,
           choices->asked ? "was asked for"
           : second       ? speech->first
                          : "is the only one that fits");
    if (floor > 0 && strcmp(choices->minimize, "memory") != 0) {
        double ratio = measure_of(choices, chosen) / floor;
        if (ratio < 1 + SAME)
            printf(", at the floor");
        else
            printf(", %.2f x the floor", ratio);
    }
    if (second)
        say_second(choices, chosen, second, speech);
    if (choices->floor_seconds > 0 && chosen->seconds > choices->floor_seconds * (1 + SAME)) {
        cli_format_seconds(chosen->seconds - choices->floor_seconds, text);
        printf("; more memory would save at most %s", text);
    } else {
        printf("; more memory would save nothing");
    }
    printf("\n");
}

void cli_explain_choices(const struct cli_choices *choices)
{
    printf("\n");
    if (choices->n_curve > 0) {
        cli_explain_curve(choices);
        return;
    }
    print_header(false);
    for (int i = 0; i < choices->n_strategies; i++)
        print_choice(choices, &choices->strategies[i], false);
    say_why(choices);
    if (choices->n_knee == 0)
        return;
    printf("\n");
    print_header(true);
    for (int i = 0; i < choices->n_knee; i++) {
        /* The plan itself between half and twice its memory. */
        for (int k = 0; k < choices->n_strategies && i > 0 && choices->knee[i - 1].factor < 1; k++) {
            if (choices->strategies[k].chosen)
                print_choice(choices, &choices->strategies[k], true);
        }
        print_choice(choices, &choices->knee[i], true);
    }
}

void cli_explain_curve(const struct cli_choices *choices)
{
    print_header(true);
    for (int i = 0; i < choices->n_curve; i++)
        print_choice(choices, &choices->curve[i], true);
}

void cli_explain_neighbour(const struct cli_neighbour *neighbour)
{
    char seconds[CLI_BYTES_TEXT], seeks[CLI_BYTES_TEXT];
    bool any = false;

    if (neighbour->ndim == 0)
        return;
    printf("\n");
    for (int d = 0; d < neighbour->ndim; d++) {
        if (neighbour->length[d] == neighbour->wanted[d])
            continue;
        printf("%s%" PRId64 " instead of %" PRId64 " along axis %d", any ? ", " : "", neighbour->length[d],
               neighbour->wanted[d], d);
        any = true;
    }
    cli_format_seconds(neighbour->seconds, seconds);
    cli_format_count(neighbour->seeks, seeks);
    printf(" would save %.0f %% of %s: %s seeks, %s\n", neighbour->saved * 100, speech_of(neighbour->minimize)->what,
           seeks, seconds);
}
