/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * picture.c - the page: which axes are drawn, which panels there are and where they stand.
 *
 *     1, 2 axes    problem    buffers           3 and more    source, target and buffers as boxes
 *                  held, at up to two moments                 buffers of a slab, held data in layers
 *                  reads      writes                          reads and writes, by kinds of layers
 *                  memory, legend                             memory, legend
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
    LAYERS_MOST = 5,
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
    int n = (int)rs_min(plan->ndim, 3);
    bool taken[RS_MAX_NDIM] = {false};
    for (int i = 0; i < n; i++) {
        int most = -1;
        for (int d = 0; d < plan->ndim; d++) {
            bool better = most < 0 || cuts_along(picture, d) > cuts_along(picture, most);
            most = !taken[d] && better ? d : most;
        }
        taken[rs_max(0, most)] = true;
    }
    picture->s = picture->v = picture->h = -1;
    for (int i = plan->ndim - 1; i >= 0 && n == 3; i--) {
        int d = plan->loop[i];
        if (taken[d] && (plan->buffer[d].n > 1 || picture->s < 0 || plan->buffer[picture->s].n == 1)) {
            picture->s = d;
        }
    }
    for (int d = plan->ndim - 1; d >= 0; d--) {
        if (taken[d] && d != picture->s) {
            *(picture->h < 0 ? &picture->h : &picture->v) = d;
        }
    }
    if (picture->v >= 0) {
        /* Three panels in a row unless the array is wide. */
        double rows = (double)picture->problem->shape[picture->v],
               columns = (double)picture->problem->shape[picture->h];
        picture->small = picture->s >= 0 || columns < 1.6 * rows;
    }
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
    rs_svg_text(&picture->svg, "title", EDGE, 34 * PX, "%s elements of %s %s, from blocks of %s to %s", a,
                rs_word_count(problem->itemsize, w[0]), problem->itemsize == 1 ? "byte" : "bytes", b, c);
    rs_svg_text(
        &picture->svg, "line", EDGE, 55 * PX,
        "strategy %s   \u00B7   budget %s   \u00B7   %s seeks: %s reading, %s writing   \u00B7   floor %s   \u00B7   "
        "held at most %s, allocated %s",
        plan->strategy, rs_word_bytes(plan->memory, w[0]), rs_word_count(cost->read_seeks + cost->write_seeks, w[1]),
        rs_word_count(cost->read_seeks, w[2]), rs_word_count(cost->write_seeks, w[3]),
        rs_word_count(floor.read_seeks + floor.write_seeks, w[4]), rs_word_bytes(cost->held_bytes, w[5]),
        rs_word_bytes(cost->peak_bytes, w[6]));
    return 66 * PX;
}

/* Which axes a problem of more than three is drawn by, and where it is along the others. */
static void note_axes(rs_picture *picture, int y)
{
    const rs_plan *plan = picture->plan;
    char drawn[RS_WORD] = "", others[300] = "";
    size_t n = 0, m = 0;
    for (int d = 0; d < plan->ndim && n < sizeof others; d++) {
        if (d == picture->s || d == picture->v || d == picture->h) {
            m += (size_t)snprintf(drawn + m, sizeof drawn - m, "%s%d", m > 0 ? ", " : "", d);
        } else {
            n += (size_t)snprintf(others + n, sizeof others - n, "%saxis %d at %" PRId64, n > 0 ? ", " : "", d,
                                  rs_axis_span(&plan->buffer[d], picture->survey.fullest.at[d]).hi - 1);
        }
    }
    rs_svg_text(&picture->svg, "note", EDGE, y,
                "%d axes: drawn are %s, which are cut most; what is held is shown for %s", plan->ndim, drawn, others);
}

static int draw_notes(rs_picture *picture, int y)
{
    const rs_plan *plan = picture->plan;
    char count[RS_WORD], bytes[RS_WORD];
    if (plan->ndim > 3) {
        note_axes(picture, y += 14 * PX);
    }
    if (plan->kind == RS_PLAN_COPY) {
        rs_svg_text(&picture->svg, "note", EDGE, y += 14 * PX,
                    "both grids are the same: blocks are copied one by one, nothing waits in memory");
    } else if (plan->kind == RS_PLAN_SPILL) {
        int64_t seeks = 2 * plan->spill.n_stretches;
        rs_svg_text(&picture->svg, "note", EDGE, y += 14 * PX,
                    "%s go through a temporary file, at %s seeks that the panels below do not show",
                    rs_word_bytes(plan->predicted.temp_bytes, bytes), rs_word_count(seeks, count));
    }
    if (!picture->survey.walked) {
        rs_svg_text(&picture->svg, "note", EDGE, y += 14 * PX,
                    "%s steps are too many to walk: numbers are computed axis by axis%s",
                    rs_word_count(picture->survey.n_steps, count),
                    picture->survey.complete ? "" : ", and the fullest moment is the fullest of those looked at");
    }
    return y + 24 * PX;
}

/* ---- Rows of panels ---- */

void rs_flow_took(rs_flow *flow, int end)
{
    flow->end = (int)rs_max(flow->end, end);
    flow->n++;
    flow->next.x += flow->next.w + GAP;
    if (flow->n % flow->columns == 0) {
        flow->next.x = flow->left;
        flow->next.y = flow->end + ROW_GAP;
    }
}

/* No more panels in this row; the y below it. */
static int end_row(rs_flow *flow)
{
    flow->n = 0;
    flow->next.x = flow->left;
    flow->next.y = flow->end + ROW_GAP;
    return flow->next.y;
}

static rs_flow make_flow(int y, int columns, int h)
{
    return (rs_flow){.next = {EDGE, y, columns == 2 ? WIDE : NARROW, h}, .left = EDGE, .end = y, .columns = columns};
}

static int draw_strip(rs_picture *picture, int y)
{
    return rs_panel_strip(picture, (rs_area){EDGE, y, WIDTH - 2 * EDGE, 240 * PX}) + ROW_GAP;
}

/* How every page ends; returns where. */
static int draw_seeks_and_strip(rs_picture *picture, rs_flow *flow)
{
    rs_panels_seeks(picture, RS_STEP_READ, flow);
    rs_panels_seeks(picture, RS_STEP_WRITE, flow);
    int y = end_row(flow);
    return picture->plan->kind == RS_PLAN_BUFFERS ? draw_strip(picture, y) : y;
}

static int draw_flat(rs_picture *picture, int y)
{
    const rs_survey *survey = &picture->survey;
    int columns = picture->small ? 3 : 2;
    rs_flow flow = make_flow(y, columns, columns == 3 ? 360 * PX : 330 * PX);
    rs_flow_took(&flow, rs_panel_problem(picture, flow.next));
    if (picture->plan->kind == RS_PLAN_BUFFERS) {
        rs_flow_took(&flow, rs_panel_buffers(picture, flow.next));
        if (survey->waiting.held > 0 && survey->waiting.buffer != survey->fullest.buffer) {
            rs_flow_took(&flow, rs_panel_held(picture, flow.next, "Most leftovers", &survey->waiting, (rs_span){0, 1}));
        }
        rs_flow_took(&flow, rs_panel_held(picture, flow.next, "The fullest moment", &survey->fullest, (rs_span){0, 1}));
    } else if (picture->plan->kind == RS_PLAN_SPILL) {
        rs_flow_took(&flow, rs_panel_spill(picture, flow.next));
    }
    return draw_seeks_and_strip(picture, &flow);
}

/*
 * What is held, layer by layer of the depth: between two borders of buffers or target blocks everything is the same.
 * What is held lies between the last border that is done and the end of the fullest buffer.
 */
static void draw_layers(rs_picture *picture, rs_flow *flow)
{
    const rs_moment *moment = &picture->survey.fullest;
    const rs_axis *buffers = &picture->plan->buffer[picture->s], *target = &picture->problem->target.axis[picture->s];
    rs_span now = rs_axis_span(buffers, moment->at[picture->s]);
    int64_t at = rs_is_kept(picture->plan, picture->s) ? rs_axis_floor(target, now.lo) : now.lo;
    char number[RS_WORD], bytes[RS_WORD], title[160];
    for (int n = 0; at < now.hi && n < LAYERS_MOST; n++) {
        int64_t next = rs_axis_span(buffers, rs_axis_find(buffers, at)).hi;
        next = rs_min(next, rs_axis_span(target, rs_axis_find(target, at)).hi);
        (void)snprintf(title, sizeof title, "Fullest: buffer %s read, %s held",
                       rs_word_count(moment->buffer + 1, number),
                       rs_word_bytes(moment->held * picture->problem->itemsize, bytes));
        int end = rs_panel_held(picture, flow->next, title, moment, (rs_span){at, next});
        at = next;
        if (n + 1 == LAYERS_MOST && at < now.hi) {
            rs_svg_text(&picture->svg, "note", flow->next.x + RS_MARGIN, end + 6 * PX,
                        "and more layers, up to element %" PRId64 " of axis %d", now.hi, picture->s);
            end += 12 * PX;
        }
        rs_flow_took(flow, end);
    }
}

static int draw_deep(rs_picture *picture, int y)
{
    y = rs_panels_cubes(picture, (rs_area){EDGE, y, NARROW, 320 * PX}) + ROW_GAP;
    rs_flow flow = make_flow(y, 3, 350 * PX);
    if (picture->plan->kind == RS_PLAN_BUFFERS) {
        rs_flow_took(&flow, rs_panel_buffers(picture, flow.next));
        draw_layers(picture, &flow);
    } else if (picture->plan->kind == RS_PLAN_SPILL) {
        rs_flow_took(&flow, rs_panel_spill(picture, flow.next));
    }
    return draw_seeks_and_strip(picture, &flow);
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
        {"block1", NULL, "first target block"},
        {"inagg", "aggregate", "aggregate: source blocks that cover it"},
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
        (void)snprintf(name, sizeof name, "s%d", i);
        rs_svg_rect(&picture->svg, name, (rs_area){x, top, 28 * PX, 14 * PX});
        rs_svg_rect(&picture->svg, "frame", (rs_area){x, top, 28 * PX, 14 * PX});
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
            rs_svg_text(&picture.svg, "line", EDGE, y + 30 * PX,
                        "The array has no elements: there is nothing to move.");
            y += 60 * PX;
        } else {
            y = draw_notes(&picture, y);
            y = picture.s >= 0 ? draw_deep(&picture, y) : draw_flat(&picture, y);
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
