/* SPDX-License-Identifier: BSD-3-Clause */
/* picture_grid.c - panels of two axes: both grids, the buffers in their order, what is held at the fullest moment. */
#include "plan/picture_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    LINES_MOST = 30,                 /* intervals along an axis where only lines are drawn */
    BUFFERS_MOST = 24,               /* buffers along an axis */
    ARROWS_MOST = 60,                /* steps of the path through the buffers */
    CUTS_MOST = 2 * BUFFERS_MOST + 4 /* target and buffer borders along an axis of what is held */
};

static int end_of(const rs_frame *frame)
{
    return frame->area.y + frame->area.h + RS_FOOTING;
}

/* ---- The problem: both grids and the aggregate ---- */

/* Along an axis, the fewest source blocks that cover the first target block. */
static rs_span aggregate(const rs_problem *problem, int d)
{
    const rs_axis *source = rs_axis_at(problem->source.axis, d), *target = rs_axis_at(problem->target.axis, d);
    return rs_axis_span(source, 0).hi >= rs_axis_span(target, 0).hi
               ? rs_axis_span(source, 0)
               : (rs_span){0, rs_axis_ceil(source, rs_axis_span(target, 0).hi)};
}

static void draw_ticks(rs_picture *picture, const rs_frame *frame)
{
    const struct {
        const rs_axis *axes;
        const char *name;
        int y;
    } rows[] = {
        {picture->problem->target.axis, "tt", frame->area.y - 4 * PX},
        {picture->problem->source.axis, "st", frame->area.y + frame->area.h + 11 * PX},
    };
    for (int r = 0; r < 2; r++) {
        const rs_axis *axis = rs_axis_at(rows[r].axes, picture->h);
        int64_t from, to;
        if (!rs_frame_range(axis, frame->h, frame->area.w / 9, &from, &to)) {
            continue;
        }
        for (int64_t i = from; i <= to; i++) {
            int64_t at = rs_axis_cut(axis, i);
            if (at >= rs_max(0, frame->h.lo) && at <= rs_min(axis->extent, frame->h.hi)) {
                rs_svg_text(&picture->svg, rows[r].name, rs_frame_x(frame, at), rows[r].y, "%" PRId64, at);
            }
        }
    }
}

int rs_panel_problem(rs_picture *picture, rs_area box)
{
    const rs_problem *problem = picture->problem;
    rs_limits limits = {.axes = {problem->source.axis, problem->target.axis}, .most = LINES_MOST};
    rs_frame frame = rs_frame_make(picture, limits, box);
    rs_span v = aggregate(problem, picture->v), h = aggregate(problem, picture->h);
    const rs_axis *tv = rs_axis_at(problem->target.axis, picture->v),
                  *th = rs_axis_at(problem->target.axis, picture->h);
    char source[RS_WORD], target[RS_WORD];
    rs_frame_heading(picture, box, "Source and target", "%s source %s, %s target %s",
                     rs_word_count(problem->n_source, source), problem->n_source == 1 ? "block" : "blocks",
                     rs_word_count(problem->n_target, target), problem->n_target == 1 ? "block" : "blocks");
    rs_svg_add(&picture->svg, "<g id=\"problem\">\n");
    rs_svg_rect(&picture->svg, "inagg", rs_frame_box(&frame, v, h));
    rs_svg_rect(&picture->svg, "block1", rs_frame_box(&frame, rs_axis_span(tv, 0), rs_axis_span(th, 0)));
    rs_frame_outside(picture, &frame);
    rs_frame_lines(picture, &frame, problem->source.axis, "source");
    rs_svg_rect(&picture->svg, "aggregate", rs_frame_box(&frame, v, h));
    rs_frame_lines(picture, &frame, problem->target.axis, "target");
    rs_svg_add(&picture->svg, "</g>\n");
    draw_ticks(picture, &frame);
    frame.area.h += 11 * PX; /* and for the source's */
    rs_frame_axes(picture, &frame);
    bool many = problem->n_source > problem->n_target;
    return end_of(&frame)
           + rs_frame_note(picture, &frame, many ? problem->source.axis : problem->target.axis,
                           many ? "source blocks" : "target blocks");
}

/* ---- Buffers ---- */

/* Buffers along the two axes, the others at `at`, each with its number from 1. */
static void draw_buffers(rs_picture *picture, const rs_frame *frame, const int64_t *at)
{
    const rs_axis *v = rs_axis_at(picture->plan->buffer, picture->v);
    const rs_axis *h = rs_axis_at(picture->plan->buffer, picture->h);
    int64_t index[RS_MAX_NDIM], v0, v1, h0, h1;
    memcpy(index, at, sizeof index);
    (void)rs_frame_range(v, frame->v, frame->area.h, &v0, &v1);
    (void)rs_frame_range(h, frame->h, frame->area.w, &h0, &h1);
    if (v1 - v0 > 2 * BUFFERS_MOST || h1 - h0 > 2 * BUFFERS_MOST) {
        return;
    }
    for (int64_t i = v0; i < v1; i++) {
        for (int64_t j = h0; j < h1; j++) {
            rs_area area = rs_frame_box(frame, rs_axis_span(v, i), rs_axis_span(h, j));
            char word[24];
            if (picture->v >= 0) {
                index[picture->v] = i;
            }
            if (picture->h >= 0) {
                index[picture->h] = j;
            }
            int n = snprintf(word, sizeof word, "%" PRId64, rs_buffer_number(picture->plan, index) + 1);
            rs_svg_add(&picture->svg,
                       "<rect class=\"buffer\" data-number=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n",
                       word, area.x, area.y, area.w, area.h);
            if (area.h >= 13 * PX && area.w >= n * 65 + 6 * PX) {
                rs_svg_text(&picture->svg, "b", area.x + 3 * PX, area.y + 11 * PX, "%s", word);
            }
        }
    }
}

/* The buffer that is visited after `at` among those that differ from it along the two axes only. */
static bool next_in_plane(const rs_picture *picture, int64_t *at)
{
    for (int i = picture->plan->ndim - 1; i >= 0; i--) {
        int d = picture->plan->loop[i];
        if (d != picture->v && d != picture->h) {
            continue;
        }
        if (++at[d] < picture->plan->buffer[d].n) {
            return true;
        }
        at[d] = 0;
    }
    return false;
}

/* The way through the first buffers, from centre to centre, as far as it stays in the frame. */
static void draw_order(rs_picture *picture, const rs_frame *frame, const int64_t *slab)
{
    int64_t at[RS_MAX_NDIM];
    int x = 0, y = 0, n = 0;
    memcpy(at, slab, sizeof at);
    for (int d = 0; d < picture->plan->ndim; d++) {
        at[d] = d == picture->v || d == picture->h ? 0 : at[d];
    }
    do {
        rs_span v = {0, 1}, h = {0, 1};
        v = picture->v >= 0 ? rs_axis_span(&picture->plan->buffer[picture->v], at[picture->v]) : v;
        h = picture->h >= 0 ? rs_axis_span(&picture->plan->buffer[picture->h], at[picture->h]) : h;
        if (v.lo < frame->v.lo || v.hi > frame->v.hi || h.lo < frame->h.lo || h.hi > frame->h.hi) {
            continue; /* not shown: the way goes on where it comes back */
        }
        rs_area box = rs_frame_box(frame, v, h);
        int to_x = box.x + box.w / 2, to_y = box.y + box.h / 2 + 2 * PX;
        if (n > 0) {
            bool roomy = box.w >= 10 * PX && box.h >= 10 * PX;
            rs_svg_add(&picture->svg, "<path class=\"order\"%s d=\"M%d %dL%d %d\"/>\n",
                       roomy ? " marker-end=\"url(#tip)\"" : "", x, y, to_x, to_y);
        } else {
            rs_svg_add(&picture->svg, "<circle class=\"dot\" cx=\"%d\" cy=\"%d\" r=\"35\"/>\n", to_x, to_y);
        }
        x = to_x;
        y = to_y;
    } while (n++ < ARROWS_MOST && next_in_plane(picture, at));
}

static const char *words_axes(const rs_plan *plan, bool kept_only, char *out, size_t room)
{
    size_t n = 0;
    out[0] = '\0';
    for (int i = 0; i < plan->ndim && n < room; i++) {
        int d = kept_only ? i : plan->loop[i];
        if (!kept_only || rs_is_kept(plan, d)) {
            n += (size_t)snprintf(out + n, room - n, "%s%d", n > 0 ? ", " : "", d);
        }
    }
    return n > 0 ? out : "none";
}

int rs_panel_buffers(rs_picture *picture, rs_area box)
{
    static const int64_t first[RS_MAX_NDIM];
    const rs_plan *plan = picture->plan;
    rs_limits limits = {.axes = {plan->buffer, NULL}, .most = picture->small ? BUFFERS_MOST * 2 / 3 : BUFFERS_MOST};
    rs_frame frame = rs_frame_make(picture, limits, box);
    char count[RS_WORD], loops[RS_WORD], kept[RS_WORD], lengths[200];
    if (picture->s >= 0) {
        rs_frame_heading(picture, box, "Buffers in visiting order", "slab 1 of %s; loops over axes %s; kept axes: %s",
                         rs_word_count(plan->buffer[picture->s].n, count), words_axes(plan, false, loops, sizeof loops),
                         words_axes(plan, true, kept, sizeof kept));
    } else {
        rs_frame_heading(picture, box, "Buffers in visiting order", "%s %s of %s; loops over axes %s; kept axes: %s",
                         rs_word_count(picture->survey.n_buffers, count),
                         picture->survey.n_buffers == 1 ? "buffer" : "buffers",
                         rs_words_blocks(plan->ndim, plan->buffer, lengths, sizeof lengths),
                         words_axes(plan, false, loops, sizeof loops), words_axes(plan, true, kept, sizeof kept));
    }
    rs_svg_add(&picture->svg, "<g id=\"buffers\">\n");
    rs_frame_outside(picture, &frame);
    rs_frame_lines(picture, &frame, picture->problem->source.axis, "faint");
    rs_frame_lines(picture, &frame, picture->problem->target.axis, "thintarget");
    draw_order(picture, &frame, first);
    draw_buffers(picture, &frame, first);
    rs_svg_add(&picture->svg, "</g>\n");
    rs_frame_axes(picture, &frame);
    return end_of(&frame) + rs_frame_note(picture, &frame, plan->buffer, "buffers");
}

/* ---- What is held ---- */

/* Borders of target blocks and buffers along an axis, inside what is shown, in order. */
static int held_cuts(const rs_picture *picture, int d, rs_span span, int64_t *out)
{
    const rs_axis *axes[2] = {rs_axis_at(picture->problem->target.axis, d), rs_axis_at(picture->plan->buffer, d)};
    int64_t at = rs_max(0, span.lo), end = rs_min(axes[0]->extent, span.hi);
    int n = 0;
    out[n++] = at;
    while (at < end && n < CUTS_MOST) {
        int64_t next = end;
        for (int i = 0; i < 2; i++) {
            next = rs_min(next, rs_axis_cut(axes[i], rs_axis_find(axes[i], at) + 1));
        }
        out[n++] = at = next;
    }
    return n;
}

static void draw_held_box(rs_picture *picture, const rs_frame *frame, rs_state state, rs_span v, rs_span h)
{
    static const char *const NAMES[RS_N_STATES] = {NULL, "written", "complete", "new", "old"};
    rs_area area = rs_frame_box(frame, v, h);
    if (NAMES[state] != NULL) {
        rs_svg_add(&picture->svg,
                   "<rect class=\"%s\" data-box=\"%" PRId64 ":%" PRId64 ",%" PRId64 ":%" PRId64
                   "\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n",
                   NAMES[state], v.lo, v.hi, h.lo, h.hi, area.x, area.y, area.w, area.h);
    }
}

/* One box for each stretch of a row that is in the same state. `at` has the position along the other axes. */
static void draw_held(rs_picture *picture, const rs_frame *frame, const rs_moment *moment, int64_t *at)
{
    int64_t v[CUTS_MOST + 1], h[CUTS_MOST + 1], spare;
    int rows = held_cuts(picture, picture->v, frame->v, v) - 1,
        columns = held_cuts(picture, picture->h, frame->h, h) - 1;
    for (int i = 0; i < rows; i++) {
        rs_state last = RS_N_STATES;
        int from = 0;
        *(picture->v >= 0 ? &at[picture->v] : &spare) = v[i];
        for (int j = 0; j <= columns; j++) {
            rs_state state = RS_N_STATES;
            if (j < columns) {
                *(picture->h >= 0 ? &at[picture->h] : &spare) = h[j];
                state = rs_moment_state(moment, picture->problem, picture->plan, at);
            }
            if (j > 0 && state != last) {
                draw_held_box(picture, frame, last, (rs_span){v[i], v[i + 1]}, (rs_span){h[from], h[j]});
                from = j;
            }
            last = state;
        }
    }
}

/* The position along the axes that are not drawn: the end of the moment's buffer, and the layer. */
static void set_layer(const rs_picture *picture, const rs_moment *moment, rs_span layer, int64_t *at)
{
    for (int d = 0; d < picture->plan->ndim; d++) {
        at[d] = rs_axis_span(&picture->plan->buffer[d], moment->at[d]).hi - 1;
    }
    if (picture->s >= 0) {
        at[picture->s] = layer.lo;
    }
}

static void draw_now(rs_picture *picture, const rs_frame *frame, const rs_moment *moment)
{
    rs_span v = {0, 1}, h = {0, 1};
    v = picture->v >= 0 ? rs_axis_span(&picture->plan->buffer[picture->v], moment->at[picture->v]) : v;
    h = picture->h >= 0 ? rs_axis_span(&picture->plan->buffer[picture->h], moment->at[picture->h]) : h;
    rs_svg_rect(&picture->svg, "now", rs_frame_box(frame, v, h));
}

int rs_panel_held(rs_picture *picture, rs_area box, const char *title, const rs_moment *moment, rs_span layer)
{
    const rs_plan *plan = picture->plan;
    rs_limits limits = {
        .axes = {plan->buffer, picture->problem->target.axis}, .most = BUFFERS_MOST, .focus = moment->at};
    rs_frame frame = rs_frame_make(picture, limits, box);
    int64_t at[RS_MAX_NDIM] = {0};
    bool is_now = true;
    set_layer(picture, moment, layer, at);
    if (picture->s >= 0) {
        is_now = rs_axis_find(&plan->buffer[picture->s], layer.lo) == moment->at[picture->s];
        rs_frame_heading(picture, box, title, "layer %" PRId64 ":%" PRId64 " of axis %d, %s", layer.lo, layer.hi,
                         picture->s, is_now ? "where the buffer is" : "read earlier");
    } else {
        char number[RS_WORD], bytes[RS_WORD];
        bool is_fullest = moment == &picture->survey.fullest;
        rs_frame_heading(picture, box, title, "buffer %s is read, none of it written: %s %s",
                         rs_word_count(moment->buffer + 1, number),
                         rs_word_bytes(moment->held * picture->problem->itemsize, bytes),
                         is_fullest ? "are held" : "will wait");
    }
    rs_svg_add(&picture->svg, "<g class=\"held\" data-buffer=\"%" PRId64 "\">\n", moment->buffer + 1);
    draw_held(picture, &frame, moment, at);
    rs_frame_outside(picture, &frame);
    rs_frame_lines(picture, &frame, picture->problem->source.axis, "faint");
    rs_frame_lines(picture, &frame, picture->problem->target.axis, "target");
    rs_frame_lines(picture, &frame, plan->buffer, "thin");
    if (is_now) {
        draw_now(picture, &frame, moment);
    }
    rs_svg_add(&picture->svg, "</g>\n");
    rs_frame_axes(picture, &frame);
    return end_of(&frame);
}
