/* SPDX-License-Identifier: BSD-3-Clause */
/* choices.c - the same problem planned with every strategy, and with more and less memory. */
#include "choices.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "parse.h"
#include "progress.h"

/* Steps of halving, on a logarithmic scale, in the search for the end of a curve. */
enum { BISECTIONS = 10 };

static int64_t seeks_of(const resplit_cost *cost)
{
    return cost->read_seeks + cost->write_seeks;
}

double cli_measure(const resplit_cost *cost, double seconds, const char *minimize)
{
    if (minimize && strcmp(minimize, "seeks") == 0)
        return (double)seeks_of(cost);
    if (minimize && strcmp(minimize, "bytes") == 0)
        return (double)cost->bytes_read + (double)cost->bytes_written;
    if (minimize && strcmp(minimize, "memory") == 0)
        return (double)cost->peak_bytes;
    return seconds;
}

/* Both arrays and how to plan: what every plan here has in common. */
struct question {
    const resplit_array *source;
    const resplit_array *target;
    const resplit_plan_options *how;
};

static void set_choice(const resplit_plan_summary *plan, struct cli_choice *out)
{
    snprintf(out->strategy, sizeof out->strategy, "%s", plan->strategy);
    out->predicted = plan->predicted;
    out->seconds = plan->seconds;
}

/* Plans once. A refusal is an answer, and so is a strategy that does not apply: then *applies is false. */
static bool ask(const struct question *q, const char *strategy, int64_t memory, struct cli_choice *out, bool *applies,
                resplit_error *err)
{
    resplit_plan_options how = *q->how;
    resplit_plan *plan;
    resplit_error why;

    how.strategy = strategy;
    how.memory = memory;
    *applies = true;
    *out = (struct cli_choice){.memory = memory, .factor = (double)memory / (double)q->how->memory};
    snprintf(out->strategy, sizeof out->strategy, "%s", strategy ? strategy : "auto");
    resplit_status status = resplit_plan_make(q->source, q->target, &how, &plan, &why);
    if (status == RESPLIT_OK) {
        set_choice(resplit_plan_info(plan), out);
        resplit_plan_free(plan);
        return true;
    }
    if (status == RESPLIT_EBUDGET) {
        out->needed = why.needed_bytes;
        return true;
    }
    *applies = false;
    if (status == RESPLIT_EUNSUPPORTED)
        return true;
    *err = why;
    return false;
}

static bool make_strategies(const struct question *q, const resplit_plan_summary *plan, struct cli_choices *out,
                            resplit_error *err)
{
    for (int i = 0; resplit_strategy_name(i) && out->n_strategies < CLI_MOST_STRATEGIES; i++) {
        struct cli_choice *choice = &out->strategies[out->n_strategies];
        bool applies = true;

        if (strcmp(resplit_strategy_name(i), plan->strategy) == 0) {
            *choice = (struct cli_choice){.memory = q->how->memory, .factor = 1, .chosen = true};
            set_choice(plan, choice);
        } else if (!ask(q, resplit_strategy_name(i), q->how->memory, choice, &applies, err)) {
            return false;
        }
        out->n_strategies += applies;
    }
    return true;
}

static bool make_knee(const struct question *q, double start, struct cli_choices *out, resplit_error *err)
{
    static const double FACTORS[CLI_KNEE] = {0.5, 2, 4};

    for (int i = 0; i < CLI_KNEE; i++) {
        double memory = (double)q->how->memory * FACTORS[i];
        bool applies;

        if (memory < 1 || memory > (double)(INT64_MAX / 2) || cli_now() - start > CLI_PATIENCE)
            continue;
        if (!ask(q, q->how->strategy, (int64_t)memory, &out->knee[out->n_knee], &applies, err))
            return false;
        out->knee[out->n_knee].factor = FACTORS[i];
        out->n_knee += applies;
    }
    return true;
}

static void begin(const resplit_plan_options *how, struct cli_choices *out)
{
    *out = (struct cli_choices){.minimize = how->minimize ? how->minimize : "seconds",
                                .asked = how->strategy && strcmp(how->strategy, "auto") != 0};
}

bool cli_choices_make(const resplit_array *source, const resplit_array *target, const resplit_plan_options *how,
                      const resplit_plan *plan, struct cli_choices *out, resplit_error *err)
{
    struct question q = {source, target, how};
    const resplit_plan_summary *summary = resplit_plan_info(plan);
    double start = cli_now();

    begin(how, out);
    out->floor = summary->floor;
    out->floor_seconds = summary->floor_seconds;
    return make_strategies(&q, summary, out, err) && make_knee(&q, start, out, err);
}

/* ---- The curve ------------------------------------------------------------------------------------------------ */

/* The least memory that works: what a budget of nothing is refused with. */
static bool find_least(const struct question *q, int64_t *least, resplit_error *err)
{
    struct cli_choice choice;
    bool applies;

    if (!ask(q, q->how->strategy, 1, &choice, &applies, err))
        return false;
    if (!applies)
        return cli_fail(err, RESPLIT_EUNSUPPORTED, "strategy '%s' does not apply to this problem", q->how->strategy);
    *least = choice.needed > 0 ? choice.needed : 1;
    return true;
}

static bool is_as_good(const struct cli_choice *choice, const struct cli_choice *best, const char *minimize)
{
    double a = cli_measure(&choice->predicted, choice->seconds, minimize);
    double b = cli_measure(&best->predicted, best->seconds, minimize);

    return choice->needed == 0 && a <= b * (1 + 1e-9)
           && (strcmp(minimize, "memory") == 0 || seeks_of(&choice->predicted) <= seeks_of(&best->predicted));
}

/* About the least memory that is as good as all the memory there could be. */
static bool find_end(const struct question *q, const char *minimize, int64_t least, int64_t *end, resplit_error *err)
{
    int64_t bytes = resplit_array_info(q->source)->bytes;
    double low = (double)least, high = 2.5 * (double)bytes + 1.5 * (double)least + (double)(64 << 20);
    struct cli_choice best, choice;
    bool applies;

    high = high < (double)(INT64_MAX / 2) ? high : (double)(INT64_MAX / 2);
    if (!ask(q, q->how->strategy, (int64_t)high, &best, &applies, err))
        return false;
    for (int i = 0; i < BISECTIONS && high > low * 1.01; i++) {
        double middle = sqrt(low) * sqrt(high);
        if (!ask(q, q->how->strategy, (int64_t)middle, &choice, &applies, err))
            return false;
        if (is_as_good(&choice, &best, minimize))
            high = middle;
        else
            low = middle;
    }
    *end = (int64_t)high > least ? (int64_t)high : least;
    return true;
}

bool cli_choices_curve(const resplit_array *source, const resplit_array *target, const resplit_plan_options *how,
                       struct cli_choices *out, resplit_error *err)
{
    struct question q = {source, target, how};
    int64_t least = 1, end = 1;

    if (!find_least(&q, &least, err) || !find_end(&q, out->minimize, least, &end, err))
        return false;
    double step = pow((double)end / (double)least, 1.0 / (CLI_CURVE - 1));
    for (int i = 0; i < CLI_CURVE; i++) {
        int64_t memory = i == CLI_CURVE - 1 ? end : (int64_t)((double)least * pow(step, i));
        bool applies;

        memory = memory < least ? least : memory;
        if (out->n_curve > 0 && memory <= out->curve[out->n_curve - 1].memory)
            continue;
        if (!ask(&q, how->strategy, memory, &out->curve[out->n_curve], &applies, err))
            return false;
        out->n_curve += applies && out->curve[out->n_curve].needed == 0;
    }
    return true;
}
