/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * picture.c - the page: which axes are drawn, which panels there are and where they stand.
 *
 *     1, 2 axes   A problem   B buffers        3 and more   A source   B target   C buffers   (boxes)
 *                 C held      F memory                      layers of what is held, up to six
 *                 D reads     E writes                      D reads    (kinds of layers)
 *                 legend                                    E writes   (kinds of layers)
 *                                                           F memory, legend
 */
#include "plan/picture_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    WIDTH = 1160 * PX,
    EDGE = 30 * PX,
    GAP = 20 * PX,
    ROW_GAP = 16 * PX,
    WIDE = (WIDTH - 2 * EDGE - GAP) / 2,
    NARROW = (WIDTH - 2 * EDGE - 2 * GAP) / 3,
    LAYERS_MOST = 6,
};

/* ---- Which axes ---- */

static int64_t cuts_along(const rs_picture *picture, int d)
{
    return picture->problem->source.axis[d].n + picture->problem->target.axis[d].n + picture->plan->buffer[d].n;
}

/* Of more than three axes the three that are cut most; the first loop that turns among them goes into the depth. */
static void choose_axes(rs_picture *picture)
{
    const rs_plan *plan = picture->plan;
    int chosen[3] = {-1, -1, -1}, n = (int)rs_min(plan->ndim, 3);
    uint32_t taken = 0;
    for (int i = 0; i < n; i++) {
        for (int d = 0; d < plan->ndim; d++) {
            bool better = chosen[i] < 0 || cuts_along(picture, d) > cuts_along(picture, chosen[i]);
            chosen[i] = (taken >> d & 1) == 0 && better ? d : chosen[i];
        }
        taken |= 1U << chosen[i];
    }
    picture->s = picture->v = picture->h = -1;
    if (n == 3) {
        for (int i = plan->ndim - 1; i >= 0; i--) {
            bool is_drawn = (taken >> plan->loop[i] & 1) != 0;
            bool turns = plan->buffer[plan->loop[i]].n > 1;
            if (is_drawn && (turns || picture->s < 0 || plan->buffer[picture->s].n == 1)) {
                picture->s = plan->loop[i];
            }
        }
    }
    for (int d = plan->ndim - 1; d >= 0; d--) {
        if ((taken >> d & 1) != 0 && d != picture->s) {
            *(picture->h < 0 ? &picture->h : &picture->v) = d;
        }
    }
    picture->small = n == 3;
}

/* ---- Above the panels ---- */

static int draw_title(rs_picture *picture)
{
    const rs_problem *problem = picture->problem;
    const rs_plan *plan = picture->plan;
    const resplit_cost *cost = &plan->predicted;
    resplit_cost floor = rs_plan_floor(problem);
    char a[200], b[200], c[200], w[7][RS_WORD];
    rs_axis shape[RS_MAX_NDIM];
    for (int d = 0; d < problem->ndim; d++) {
        shape[d] = rs_axis_even(problem->shape[d], rs_max(1, problem->shape[d]));
    }
    rs_words_blocks(problem->ndim, shape, a, sizeof a);
    rs_words_blocks(problem->ndim, problem->source.axis, b, sizeof b);
    rs_words_blocks(problem->ndim, problem->target.axis, c, sizeof c);
    rs_svg_text(&picture->svg, "title", EDGE, 34 * PX, "%s, from %s to %s", a, b, c);
    rs_svg_text(&picture->svg, "line", EDGE, 55 * PX,
                "strategy %s   \u00B7   budget %s   \u00B7   %s seeks: %s reading, %s writing   \u00B7   floor %s   \u00B7   "
                "held at most %s, allocated %s",
                plan->strategy, rs_word_bytes(plan->memory, w[0]),
                rs_word_count(cost->read_seeks + cost->write_seeks, w[1]), rs_word_count(cost->read_seeks, w[2]),
                rs_word_count(cost->write_seeks, w[3]), rs_word_count(floor.read_seeks + floor.write_seeks, w[4]),
                rs_word_bytes(cost->held_bytes, w[5]), rs_word_bytes(cost->peak_bytes, w[6]));
    return 66 * PX;
}

static int draw_notes(rs_picture *picture, int y)
{
    const rs_plan *plan = picture->plan;
    char count[RS_WORD];
    if (plan->ndim > 3) {
        char where[300] = "";
        size_t n = 0;
        for (int d = 0; d < plan->ndim && n < sizeof where; d++) {
            if (d != picture->s && d != picture->v && d != picture->h) {
                n += (size_t)snprintf(where + n, sizeof where - n, "%s%d at %" PRId64, n > 0 ? ", axis " : "axis ", d,
                                      rs_axis_span(&plan->buffer[d], picture->survey.peak_at[d]).hi - 1);
            }
        }
        y += 14 * PX;
        rs_svg_text(&picture->svg, "note", EDGE, y, "%d axes: shown are %d, %d and %d, which are cut most; held data with %s",
                    plan->ndim, (int)rs_min(picture->s, rs_min(picture->v, picture->h)),
                    picture->s + picture->v + picture->h - (int)rs_min(picture->s, rs_min(picture->v, picture->h))
                        - (int)rs_max(picture->s, rs_max(picture->v, picture->h)),
                    (int)rs_max(picture->s, rs_max(picture->v, picture->h)), where);
    }
    if (!picture->survey.walked) {
        y += 14 * PX;
        rs_svg_text(&picture->svg, "note", EDGE, y,
                    "%s steps are too many to walk: numbers are computed axis by axis%s",
                    rs_word_count(picture->survey.n_steps, count),
                    picture->survey.complete ? "" : ", and the fullest moment is the fullest of those looked at");
    }
    return y + 24 * PX;
}

/* ---- Rows of panels ---- */

static int draw_flat(rs_picture *picture, int y)
{
    rs_area left = {EDGE, y, WIDE, 330 * PX}, right = {EDGE + WIDE + GAP, y, WIDE, 330 * PX};
    int a = rs_panel_problem(picture, left), b = rs_panel_buffers(picture, right);
    left.y = right.y = (int)rs_max(a, b) + ROW_GAP;
    a = rs_panel_held(picture, left, "C  The fullest moment", (rs_span){0, 1});
    right.h = (int)rs_max(210 * PX, a - left.y);
    b = rs_panel_strip(picture, right);
    left.y = right.y = (int)rs_max(a, b) + ROW_GAP;
    left.h = right.h = 330 * PX;
    a = rs_panels_seeks(picture, RS_STEP_READ, left);
    b = rs_panels_seeks(picture, RS_STEP_WRITE, right);
    return (int)rs_max(a, b) + ROW_GAP;
}

/*
 * What is held, layer by layer of the depth: between two borders of buffers or target blocks everything is the same. What is
 * held lies between the last border that is done and the end of the fullest buffer; at least three layers are drawn.
 */
static int draw_layers(rs_picture *picture, int y)
{
    const rs_survey *survey = &picture->survey;
    const rs_axis *buffers = &picture->plan->buffer[picture->s], *target = &picture->problem->target.axis[picture->s];
    rs_span now = rs_axis_span(buffers, survey->peak_at[picture->s]);
    int64_t at = rs_is_kept(picture->plan, picture->s) ? rs_axis_floor(target, now.lo) : now.lo;
    char number[RS_WORD], bytes[RS_WORD], title[100];
    int n = 0, end = y, row = y + 24 * PX;
    rs_svg_text(&picture->svg, "head", EDGE, y + 12 * PX,
                "The fullest moment, in layers: buffer %s is read and nothing of it written: %s are held",
                rs_word_count(survey->peak + 1, number),
                rs_word_bytes(survey->peak_held * picture->problem->itemsize, bytes));
    for (; at < target->extent && n < LAYERS_MOST && (at < now.hi || n < 3); n++) {
        int64_t slab = rs_axis_find(buffers, at);
        int64_t next = rs_min(rs_axis_span(buffers, slab).hi, rs_axis_span(target, rs_axis_find(target, at)).hi);
        if (n == 3) {
            row = end + ROW_GAP;
        }
        (void)snprintf(title, sizeof title, "slab %" PRId64 " of %" PRId64 "%s", slab + 1, buffers->n,
                       at >= now.hi ? ", not read yet" : "");
        int bottom = rs_panel_held(picture, (rs_area){EDGE + n % 3 * (NARROW + GAP), row, NARROW, 270 * PX}, title,
                                   (rs_span){at, next});
        end = (int)rs_max(end, bottom);
        at = next;
    }
    if (at < now.hi) {
        rs_svg_text(&picture->svg, "cap", EDGE, end + 8 * PX, "\u2026 and more layers, up to element %" PRId64, now.hi);
        end += 14 * PX;
    }
    return end + ROW_GAP;
}

static int draw_deep(rs_picture *picture, int y)
{
    rs_area box = {EDGE, y, NARROW, 300 * PX};
    y = rs_panels_cubes(picture, box) + ROW_GAP;
    box.y = draw_layers(picture, y);
    box.h = 270 * PX;
    box.y = rs_panels_seeks(picture, RS_STEP_READ, box) + ROW_GAP;
    box.y = rs_panels_seeks(picture, RS_STEP_WRITE, box) + ROW_GAP;
    return rs_panel_strip(picture, (rs_area){EDGE, box.y, WIDTH - 2 * EDGE, 240 * PX}) + ROW_GAP;
}

/* ---- Legend ---- */

static int draw_legend(rs_picture *picture, int y)
{
    /* Classes drawn over each other as a swatch, and what they stand for. */
    static const struct key {
        const char *under, *over, *words;
    } KEYS[] = {
        {"paper", "source", "border of a source block"},
        {"paper", "target", "border of a target block"},
        {"paper", "buffer", "border of a buffer, with its number"},
        {"inagg", "aggregate", "aggregate: fewest source blocks that"},
        {"block1", NULL, "the first target block"},
        {"paper", "order", "order in which buffers are visited"},
        {"paper", "now", "buffer in memory"},
        {"complete", NULL, "complete, written next"},
        {"new", NULL, "waits: read with this buffer"},
        {"old", NULL, "waits: kept from earlier buffers"},
        {"written", NULL, "written before"},
        {"paper", "frame", "not read yet"},
    };
    enum { COLUMNS = 4, N = sizeof KEYS / sizeof KEYS[0] };
    static const char *const TINTS[] = {"1", "2\u20133", "4\u201315", "16\u2013127", "128+"};
    rs_svg_add(&picture->svg, "<g id=\"legend\">\n<path class=\"loop\" d=\"M%d %dh%d\"/>\n", EDGE, y, WIDTH - 2 * EDGE);
    for (int i = 0; i < N; i++) {
        int x = EDGE + i % COLUMNS * ((WIDTH - 2 * EDGE) / COLUMNS), top = y + 14 * PX + i / COLUMNS * 22 * PX;
        rs_area swatch = {x, top, 28 * PX, 14 * PX};
        rs_svg_rect(&picture->svg, KEYS[i].under, swatch);
        if (KEYS[i].over != NULL && strcmp(KEYS[i].over, "order") == 0) {
            rs_svg_add(&picture->svg, "<path class=\"order\" marker-end=\"url(#tip)\" d=\"M%d %dh%d\"/>\n", x,
                       top + 7 * PX, 28 * PX);
        } else if (KEYS[i].over != NULL) {
            rs_svg_rect(&picture->svg, KEYS[i].over, swatch);
        }
        rs_svg_text(&picture->svg, "key", x + 36 * PX, top + 11 * PX, "%s", KEYS[i].words);
    }
    int x = EDGE, top = y + 14 * PX + (N + COLUMNS - 1) / COLUMNS * 22 * PX;
    for (int i = 0; i < 5; i++, x += 92 * PX) {
        char name[16];
        (void)snprintf(name, sizeof name, "cell s%d", i);
        rs_svg_rect(&picture->svg, name, (rs_area){x, top, 28 * PX, 14 * PX});
        rs_svg_text(&picture->svg, "key", x + 36 * PX, top + 11 * PX, "%s", TINTS[i]);
    }
    rs_svg_text(&picture->svg, "key", x, top + 11 * PX, "seeks in a block");
    rs_svg_add(&picture->svg, "</g>\n");
    return top + 34 * PX;
}

resplit_status rs_plan_picture(const rs_problem *problem, const rs_plan *plan, rs_text *out, resplit_error *err)
{
    rs_text body = {0};
    rs_picture picture = {.svg = {.text = &body, .err = err}, .problem = problem, .plan = plan};
    resplit_status rc = rs_survey_make(problem, plan, &picture.survey, err);
    if (rc == RESPLIT_OK) {
        choose_axes(&picture);
        int y = draw_title(&picture);
        if (problem->n_elements == 0) {
            rs_svg_text(&picture.svg, "line", EDGE, y + 30 * PX, "The array has no elements: there is nothing to move.");
            y += 60 * PX;
        } else {
            y = draw_notes(&picture, y);
            y = picture.small ? draw_deep(&picture, y) : draw_flat(&picture, y);
            y = draw_legend(&picture, y);
        }
        rs_svg page = {.text = out, .err = err, .status = picture.svg.status};
        rs_svg_begin(&page, WIDTH, y);
        if (page.status == RESPLIT_OK) {
            page.status = rs_text_add_bytes(out, body.s, body.n, err);
        }
        rs_svg_add(&page, "</svg>\n");
        rc = page.status;
    }
    rs_survey_release(&picture.survey);
    rs_text_release(&body);
    return rc;
}
