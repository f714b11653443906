/* SPDX-License-Identifier: BSD-3-Clause */
/* picture_frame.c - two axes in an area: what of them is shown, where it lies, and the lines of a grid. */
#include "plan/picture_parts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const rs_axis *rs_axis_at(const rs_axis *axes, int d)
{
    static const rs_axis one = {.extent = 1, .n = 1, .last = 1, .step = 1};
    return d < 0 ? &one : &axes[d];
}

/* The stretch of axis d that is shown. Source blocks that reach out of a region are shown a little beyond it. */
static rs_span shown(const rs_picture *picture, rs_limits limits, int d)
{
    const rs_axis *source = rs_axis_at(picture->problem->source.axis, d);
    int64_t extent = source->extent, lo = 0, hi = extent;
    bool limited = false;
    for (int i = 0; i < 2; i++) {
        limited |= limits.axes[i] != NULL && rs_axis_at(limits.axes[i], d)->n > limits.most;
    }
    if (limited && limits.focus != NULL && d >= 0) {
        const rs_axis *target = rs_axis_at(picture->problem->target.axis, d);
        lo = rs_axis_floor(target, rs_axis_span(&picture->plan->buffer[d], limits.focus[d]).lo);
        lo = lo > 0 ? rs_axis_floor(target, lo - 1) : 0;
    }
    for (int i = 0; limited && i < 2; i++) {
        const rs_axis *axis = limits.axes[i] != NULL ? rs_axis_at(limits.axes[i], d) : NULL;
        if (axis != NULL) {
            hi = rs_min(hi, rs_axis_cut(axis, rs_min(axis->n, rs_axis_find(axis, lo) + limits.most)));
        }
    }
    int64_t beyond = rs_max(1, (hi - lo) / 8);
    return (rs_span){lo == 0 ? rs_max(source->first, -beyond) : lo,
                     hi == extent ? rs_min(source->last, extent + beyond) : hi};
}

rs_frame rs_frame_make(const rs_picture *picture, rs_limits limits, rs_area box)
{
    rs_frame frame = {.v = shown(picture, limits, picture->v), .h = shown(picture, limits, picture->h)};
    double rows = (double)(frame.v.hi - frame.v.lo), columns = (double)(frame.h.hi - frame.h.lo);
    int w = box.w - RS_MARGIN, h = box.h - RS_HEADING - RS_FOOTING;
    double scale = w / columns < h / rows ? w / columns : h / rows;
    bool all = frame.v.hi - frame.v.lo >= rs_axis_at(picture->problem->source.axis, picture->v)->extent
               && frame.h.hi - frame.h.lo >= rs_axis_at(picture->problem->source.axis, picture->h)->extent;
    /* A sliver shows nothing: then the scales differ. */
    int least_w = all ? h / 3 : h * 9 / 10, least_h = all ? w / 5 : w / 2;
    frame.area.w = picture->v < 0 ? w : (int)rs_max((int)(columns * scale), rs_min(w, least_w));
    frame.area.h = picture->v < 0 ? 60 * PX : (int)rs_max((int)(rows * scale), rs_min(h, least_h));
    frame.area.x = box.x + RS_MARGIN;
    frame.area.y = box.y + RS_HEADING;
    return frame;
}

static int64_t clamp(int64_t position, rs_span span)
{
    return rs_min(rs_max(position, span.lo), span.hi);
}

static int place(int64_t position, rs_span span, int from, int length)
{
    return from + (int)((double)(clamp(position, span) - span.lo) / (double)(span.hi - span.lo) * length + 0.5);
}

int rs_frame_x(const rs_frame *frame, int64_t position)
{
    return place(position, frame->h, frame->area.x, frame->area.w);
}

static int frame_y(const rs_frame *frame, int64_t position)
{
    return place(position, frame->v, frame->area.y, frame->area.h);
}

rs_area rs_frame_box(const rs_frame *frame, rs_span v, rs_span h)
{
    int x = rs_frame_x(frame, h.lo), y = frame_y(frame, v.lo);
    return (rs_area){x, y, rs_frame_x(frame, h.hi) - x, frame_y(frame, v.hi) - y};
}

bool rs_frame_range(const rs_axis *axis, rs_span span, int length, int64_t *from, int64_t *to)
{
    *from = rs_axis_find(axis, rs_max(0, span.lo));
    *to = rs_axis_find(axis, rs_min(axis->extent, span.hi) - 1) + 1;
    return (*to - *from) * 3 * PX <= length;
}

static bool is_border(const rs_axis *blocks, int d, int64_t cut)
{
    const rs_axis *axis = blocks != NULL ? rs_axis_at(blocks, d) : NULL;
    return axis != NULL && (cut <= 0 || cut >= axis->extent || rs_axis_floor(axis, cut) == cut);
}

/* Lines that are close to each other are drawn thinner, and in shorter dashes. */
static void begin_lines(rs_picture *picture, const char *name, int spacing)
{
    bool dashed = strncmp(name, "target", 6) == 0 || strncmp(name, "thintarget", 10) == 0;
    rs_svg_add(&picture->svg, "<path class=\"%s\"", name);
    if (spacing < 20 * PX) {
        rs_svg_add(&picture->svg, " style=\"stroke-width:%dpx", (int)rs_max(4, spacing / 14));
        if (dashed) {
            rs_svg_add(&picture->svg, ";stroke-dasharray:%d %d", (int)rs_max(20, spacing / 3),
                       (int)rs_max(12, spacing / 6));
        }
        rs_svg_add(&picture->svg, "\"");
    }
    rs_svg_add(&picture->svg, " d=\"");
}

void rs_frame_cuts(rs_picture *picture, const rs_frame *frame, const rs_axis *axes, const rs_axis *blocks,
                   const char *name)
{
    const rs_axis *v = rs_axis_at(axes, picture->v), *h = rs_axis_at(axes, picture->h);
    /* Only source blocks are seen beyond the region of interest. */
    bool stored = axes == picture->problem->source.axis;
    rs_span rows = stored ? (rs_span){v->first, v->last} : (rs_span){0, v->extent};
    rs_span columns = stored ? (rs_span){h->first, h->last} : (rs_span){0, h->extent};
    rs_area all = rs_frame_box(frame, rows, columns);
    int64_t v0, v1, h0, h1;
    bool has_rows = rs_frame_range(v, frame->v, frame->area.h, &v0, &v1);
    bool has_columns = rs_frame_range(h, frame->h, frame->area.w, &h0, &h1);
    begin_lines(picture, name, (int)rs_min(frame->area.h / (v1 - v0), frame->area.w / (h1 - h0)));
    for (int64_t i = v0; i <= v1 && has_rows; i++) {
        if (!is_border(blocks, picture->v, rs_axis_cut(v, i))) {
            rs_svg_add(&picture->svg, "M%d %dh%d", all.x, frame_y(frame, clamp(rs_axis_cut(v, i), rows)), all.w);
        }
    }
    for (int64_t i = h0; i <= h1 && has_columns; i++) {
        if (!is_border(blocks, picture->h, rs_axis_cut(h, i))) {
            rs_svg_add(&picture->svg, "M%d %dv%d", rs_frame_x(frame, clamp(rs_axis_cut(h, i), columns)), all.y, all.h);
        }
    }
    rs_svg_add(&picture->svg, "\"/>\n");
}

void rs_frame_lines(rs_picture *picture, const rs_frame *frame, const rs_axis *axes, const char *name)
{
    rs_frame_cuts(picture, frame, axes, NULL, name);
}

/* Ends a line of UTF-8 with three dots where it would leave its panel. */
static void cut_short(char *line, int most)
{
    int n = 0;
    for (char *at = line; *at != '\0'; at++) {
        n += ((unsigned char)*at & 0xC0) != 0x80; /* not in the middle of a character */
        if (n > most && ((unsigned char)*at & 0xC0) != 0x80) {
            *at = '\0';
            size_t end = strlen(line);
            (void)snprintf(line + end, 4, "\u2026"); /* there were more characters than one */
            return;
        }
    }
}

void rs_frame_heading(rs_picture *picture, rs_area box, const char *title, const char *format, ...)
{
    char caption[400 + 4];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(caption, sizeof caption - 4, format, args);
    va_end(args);
    cut_short(caption, box.w / 57 - 1);
    rs_svg_text(&picture->svg, "head", box.x, box.y + 12 * PX, "%s", title);
    rs_svg_text(&picture->svg, "cap", box.x, box.y + 28 * PX, "%s", caption);
}

/* "axis 1, 0:24 of 1000" */
static void words_axis(const rs_picture *picture, int d, rs_span span, char out[RS_WORD])
{
    int64_t extent = picture->problem->shape[d], lo = rs_max(0, span.lo), hi = rs_min(span.hi, extent);
    int n = snprintf(out, RS_WORD, "axis %d \u2192  %" PRId64 ":%" PRId64, d, lo, hi);
    if (lo > 0 || hi < extent) {
        (void)snprintf(out + n, RS_WORD - (size_t)n, " of %" PRId64, extent);
    }
}

void rs_frame_axes(rs_picture *picture, const rs_frame *frame)
{
    const rs_area *area = &frame->area;
    char words[RS_WORD];
    if (picture->h >= 0) {
        words_axis(picture, picture->h, frame->h, words);
        rs_svg_text(&picture->svg, "ax", area->x, area->y + area->h + 13 * PX, "%s", words);
    }
    if (picture->v >= 0) {
        words_axis(picture, picture->v, frame->v, words);
        rs_svg_add(&picture->svg, "<text class=\"ax\" transform=\"translate(%d %d) rotate(90)\">%s</text>\n",
                   area->x - 12 * PX, area->y, words);
    }
}

/* What lies in source blocks and is no part of the region of interest. */
void rs_frame_outside(rs_picture *picture, const rs_frame *frame)
{
    const rs_area *a = &frame->area;
    rs_span v = {0, rs_axis_at(picture->problem->source.axis, picture->v)->extent};
    rs_span h = {0, rs_axis_at(picture->problem->source.axis, picture->h)->extent};
    rs_area in = rs_frame_box(frame, v, h);
    if (in.w == a->w && in.h == a->h) {
        return;
    }
    rs_svg_add(&picture->svg,
               "<path class=\"outside\" fill-rule=\"evenodd\" d=\"M%d %dh%dv%dh%dzM%d %dh%dv%dh%dz\"/>\n", a->x, a->y,
               a->w, a->h, -a->w, in.x, in.y, in.w, in.h, -in.w);
}

/* How many intervals of an axis are shown. */
static int64_t count_shown(const rs_axis *axis, rs_span span)
{
    int64_t from, to;
    (void)rs_frame_range(axis, span, 0, &from, &to);
    return to - from;
}

int rs_frame_note(rs_picture *picture, const rs_frame *frame, const rs_axis *axes, const char *what)
{
    const rs_axis *v = rs_axis_at(axes, picture->v), *h = rs_axis_at(axes, picture->h);
    int64_t rows = count_shown(v, frame->v), columns = count_shown(h, frame->h);
    char w[4][RS_WORD];
    if (rows == v->n && columns == h->n) {
        return 0;
    }
    rs_svg_text(&picture->svg, "note", frame->area.x, frame->area.y + frame->area.h + 27 * PX,
                "showing %s \u00D7 %s of %s \u00D7 %s %s", rs_word_count(rows, w[0]), rs_word_count(columns, w[1]),
                rs_word_count(v->n, w[2]), rs_word_count(h->n, w[3]), what);
    return 14 * PX;
}
