/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * picture_seeks.c - seeks in each block, as numbers and tints. With more than two axes a panel is a layer of blocks; layers
 * that look the same are drawn once, with how many there are.
 */
#include "plan/picture_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    BLOCKS_MOST = 24, /* along an axis */
    KINDS_MOST = 64,  /* of layers that are told apart */
    KINDS_DRAWN = 3,
};

/* A layer by the index of its blocks along the axes that are not drawn. */
typedef struct kind {
    int64_t index[RS_MAX_NDIM];
    int64_t count; /* layers like this one */
    int64_t seeks; /* in one of them */
} kind;

typedef struct side {
    rs_step_kind step;
    const rs_layout *layout;
    const rs_axis *v, *h;
    kind kinds[KINDS_MOST];
    int n_kinds;
    int64_t n_layers;
    bool all; /* every layer is of one of the kinds */
} side;

/* With the block along the two axes put in. */
static int64_t seeks_at(const rs_picture *picture, const side *s, const int64_t *index, int64_t i, int64_t j)
{
    int64_t at[RS_MAX_NDIM];
    memcpy(at, index, sizeof at);
    if (picture->v >= 0) {
        at[picture->v] = i;
    }
    if (picture->h >= 0) {
        at[picture->h] = j;
    }
    return rs_survey_seeks(&picture->survey, picture->problem, picture->plan, s->step, at);
}

static bool same_layer(const rs_picture *picture, const side *s, const int64_t *a, const int64_t *b)
{
    for (int64_t i = 0; i < s->v->n; i++) {
        for (int64_t j = 0; j < s->h->n; j++) {
            if (seeks_at(picture, s, a, i, j) != seeks_at(picture, s, b, i, j)) {
                return false;
            }
        }
    }
    return true;
}

static int64_t sum_layer(const rs_picture *picture, const side *s, const int64_t *index)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < s->v->n; i++) {
        for (int64_t j = 0; j < s->h->n; j++) {
            sum += seeks_at(picture, s, index, i, j);
        }
    }
    return sum;
}

static void add_layer(const rs_picture *picture, side *s, const int64_t *index)
{
    for (int k = 0; k < s->n_kinds; k++) {
        if (same_layer(picture, s, s->kinds[k].index, index)) {
            s->kinds[k].count++;
            return;
        }
    }
    if (s->n_kinds == KINDS_MOST) {
        s->all = false;
        return;
    }
    kind *k = &s->kinds[s->n_kinds++];
    memcpy(k->index, index, sizeof k->index);
    k->count = 1;
    k->seeks = sum_layer(picture, s, index);
}

/* Without a walk there may be any number of layers and of blocks in one: then the first stands for all. */
static void find_kinds(const rs_picture *picture, side *s)
{
    int64_t lo[RS_MAX_NDIM] = {0}, hi[RS_MAX_NDIM], index[RS_MAX_NDIM] = {0};
    s->n_layers = 1;
    for (int d = 0; d < s->layout->ndim; d++) {
        hi[d] = d == picture->v || d == picture->h ? 1 : s->layout->axis[d].n;
        s->n_layers *= hi[d];
    }
    s->all = true;
    if (!picture->survey.walked) {
        s->n_kinds = 1;
        s->kinds[0] = (kind){.count = 1};
        s->all = false;
        return;
    }
    do {
        add_layer(picture, s, index);
    } while (rs_index_next(s->layout->ndim, lo, hi, index));
}

/* Tints by orders of magnitude: 1, 2-3, 4-15, 16-127, 128 and more. */
static int tint_of(int64_t seeks)
{
    static const int64_t ABOVE[] = {1, 3, 15, 127};
    int tint = 0;
    while (tint < 4 && seeks > ABOVE[tint]) {
        tint++;
    }
    return tint;
}

static void draw_blocks(rs_picture *picture, const side *s, const kind *k, const rs_frame *frame)
{
    bool reads = s->step == RS_STEP_READ;
    for (int64_t i = rs_axis_find(s->v, 0); i < s->v->n && rs_axis_span(s->v, i).lo < frame->v.hi; i++) {
        for (int64_t j = rs_axis_find(s->h, 0); j < s->h->n && rs_axis_span(s->h, j).lo < frame->h.hi; j++) {
            rs_area box = rs_frame_box(frame, rs_axis_stored(s->v, i), rs_axis_stored(s->h, j));
            rs_area seen = rs_frame_box(frame, rs_axis_span(s->v, i), rs_axis_span(s->h, j));
            int64_t seeks = seeks_at(picture, s, k->index, i, j);
            rs_svg_add(&picture->svg,
                       "<rect class=\"%s s%d\" data-%s=\"%" PRId64 "\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n",
                       reads ? "cell" : "cellt", tint_of(seeks), reads ? "reads" : "writes", seeks, box.x, box.y, box.w,
                       box.h);
            rs_svg_number(&picture->svg, seen, seeks, 12 * PX);
        }
    }
}

/* The borders that cost seeks: buffers, and for writes only along axes that are not kept. */
static void draw_cuts(rs_picture *picture, const side *s, const rs_frame *frame)
{
    rs_axis cuts[RS_MAX_NDIM];
    memcpy(cuts, picture->plan->buffer, sizeof cuts);
    for (int d = 0; d < picture->plan->ndim; d++) {
        if (s->step == RS_STEP_WRITE && rs_is_kept(picture->plan, d)) {
            cuts[d] = rs_axis_even(cuts[d].extent, cuts[d].extent);
        }
    }
    rs_frame_lines(picture, frame, cuts, "cut");
}

static void words_layer(const rs_picture *picture, const side *s, const kind *k, char *out, size_t room)
{
    char seeks[RS_WORD], count[RS_WORD];
    size_t n = 0;
    if (s->n_layers == 1) {
        (void)snprintf(out, room, "%s %s in %s %s; dotted: borders of buffers", rs_word_count(k->seeks, seeks),
                       k->seeks == 1 ? "seek" : "seeks", rs_word_count(s->v->n * s->h->n, count),
                       s->v->n * s->h->n == 1 ? "block" : "blocks");
        return;
    }
    for (int d = 0; d < s->layout->ndim && n < room; d++) {
        if (d != picture->v && d != picture->h) {
            n += (size_t)snprintf(out + n, room - n, "%sblock %" PRId64 " of axis %d", n > 0 ? ", " : "", k->index[d], d);
        }
    }
    if (n < room && picture->survey.walked) {
        (void)snprintf(out + n, room - n, ": %s seeks, \u00D7%s such layers", rs_word_count(k->seeks, seeks),
                       rs_word_count(k->count, count));
    }
}

static int draw_kind(rs_picture *picture, const side *s, const kind *k, const char *title, rs_area box)
{
    rs_limits limits = {.axes = {s->layout->axis, NULL}, .most = BLOCKS_MOST};
    rs_frame frame = rs_frame_make(picture, limits, box);
    char caption[300];
    if (picture->survey.walked || s->n_layers > 1) {
        words_layer(picture, s, k, caption, sizeof caption);
    } else {
        (void)snprintf(caption, sizeof caption, "dotted: borders of buffers");
    }
    rs_frame_heading(picture, box, title, "%s", caption);
    rs_svg_add(&picture->svg, "<g class=\"%s\" data-layers=\"%" PRId64 "\">\n",
               s->step == RS_STEP_READ ? "reads" : "writes", k->count);
    draw_blocks(picture, s, k, &frame);
    rs_frame_outside(picture, &frame);
    draw_cuts(picture, s, &frame);
    rs_svg_add(&picture->svg, "</g>\n");
    rs_frame_axes(picture, &frame);
    if (frame.v.hi < s->v->extent || frame.h.hi < s->h->extent) {
        rs_svg_text(&picture->svg, "axe", frame.area.x + frame.area.w, frame.area.y + frame.area.h + 13 * PX,
                    "first %" PRId64 " \u00D7 %" PRId64 " of %" PRId64 " \u00D7 %" PRId64 " blocks",
                    rs_min(s->v->n, BLOCKS_MOST), rs_min(s->h->n, BLOCKS_MOST), s->v->n, s->h->n);
    }
    return frame.area.y + frame.area.h + RS_FOOTING;
}

int rs_panels_seeks(rs_picture *picture, rs_step_kind step, rs_area box)
{
    bool reads = step == RS_STEP_READ;
    const rs_layout *layout = reads ? &picture->problem->source : &picture->problem->target;
    int64_t total = reads ? picture->plan->predicted.read_seeks : picture->plan->predicted.write_seeks;
    side s = {.step = step,
              .layout = layout,
              .v = rs_axis_at(layout->axis, picture->v),
              .h = rs_axis_at(layout->axis, picture->h)};
    char count[RS_WORD], title[120];
    int end = box.y;
    find_kinds(picture, &s);
    for (int k = 0; k < s.n_kinds && k < KINDS_DRAWN; k++) {
        (void)snprintf(title, sizeof title, "%s  %s: %s seeks in all", reads ? "D" : "E", reads ? "Reads" : "Writes",
                       rs_word_count(total, count));
        rs_area place = {box.x + k * (box.w + 20 * PX), box.y, box.w, box.h};
        int bottom = draw_kind(picture, &s, &s.kinds[k], k == 0 ? title : "", place);
        end = (int)rs_max(end, bottom);
    }
    if (s.n_layers > 1 && (!s.all || s.n_kinds > KINDS_DRAWN)) {
        int64_t left = s.n_layers;
        for (int k = 0; k < s.n_kinds && k < KINDS_DRAWN; k++) {
            left -= s.kinds[k].count;
        }
        rs_svg_text(&picture->svg, "cap", box.x, end + 8 * PX, "\u2026 and %s more layers of blocks%s",
                    rs_word_count(left, count), picture->survey.walked ? " with other numbers" : "");
        end += 14 * PX;
    }
    return end;
}
