/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * picture_seeks.c - seeks in each block, as numbers and tints. With more than two axes a panel is a layer of blocks;
 * layers that look the same are drawn once, with how many there are.
 */
#include "plan/picture_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    BLOCKS_MOST = 24, /* along an axis */
    KINDS_MOST = 16,  /* of layers that are told apart */
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

/* Boxes, or what is written on them: the lines between come first. */
typedef enum layer { BOXES, NUMBERS } layer;

static void draw_blocks(rs_picture *picture, const side *s, const kind *k, const rs_frame *frame, layer what)
{
    bool reads = s->step == RS_STEP_READ;
    for (int64_t i = rs_axis_find(s->v, 0); i < s->v->n && rs_axis_span(s->v, i).lo < frame->v.hi; i++) {
        for (int64_t j = rs_axis_find(s->h, 0); j < s->h->n && rs_axis_span(s->h, j).lo < frame->h.hi; j++) {
            rs_area box = rs_frame_box(frame, rs_axis_span(s->v, i), rs_axis_span(s->h, j));
            int64_t seeks = seeks_at(picture, s, k->index, i, j);
            if (what == NUMBERS) {
                rs_svg_number(&picture->svg, box, seeks, 12 * PX);
                continue;
            }
            rs_svg_add(&picture->svg,
                       "<rect class=\"s%d\" data-%s=\"%" PRId64 "\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n",
                       tint_of(seeks), reads ? "reads" : "writes", seeks, box.x, box.y, box.w, box.h);
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
    rs_frame_cuts(picture, frame, cuts, s->layout->axis, "cut");
}

static void words_layer(const rs_picture *picture, const side *s, const kind *k, char *out, size_t room)
{
    char seeks[RS_WORD], count[RS_WORD];
    size_t n = 0;
    if (s->n_layers == 1) {
        (void)snprintf(out, room, "%s %s in %s %s; dotted: where buffers cut them", rs_word_count(k->seeks, seeks),
                       k->seeks == 1 ? "seek" : "seeks", rs_word_count(s->v->n * s->h->n, count),
                       s->v->n * s->h->n == 1 ? "block" : "blocks");
        return;
    }
    for (int d = 0; d < s->layout->ndim && n < room; d++) {
        if (d != picture->v && d != picture->h) {
            n += (size_t)snprintf(out + n, room - n, "%sblock %" PRId64 " of axis %d", n > 0 ? ", " : "", k->index[d],
                                  d);
        }
    }
    if (n < room && picture->survey.walked) {
        (void)snprintf(out + n, room - n, ": %s %s, \u00D7%s such layers", rs_word_count(k->seeks, seeks),
                       k->seeks == 1 ? "seek" : "seeks", rs_word_count(k->count, count));
    }
}

static int draw_kind(rs_picture *picture, const side *s, const kind *k, const char *title, rs_area box)
{
    rs_limits limits = {.axes = {s->layout->axis, NULL}, .most = picture->small ? BLOCKS_MOST * 2 / 3 : BLOCKS_MOST};
    rs_frame frame = rs_frame_make(picture, limits, box);
    char caption[300];
    if (picture->survey.walked || s->n_layers > 1) {
        words_layer(picture, s, k, caption, sizeof caption);
    } else {
        (void)snprintf(caption, sizeof caption, "dotted: where buffers cut them");
    }
    rs_frame_heading(picture, box, title, "%s", caption);
    rs_svg_add(&picture->svg, "<g class=\"%s\" data-layers=\"%" PRId64 "\">\n",
               s->step == RS_STEP_READ ? "reads" : "writes", k->count);
    draw_blocks(picture, s, k, &frame, BOXES);
    rs_frame_outside(picture, &frame);
    rs_frame_lines(picture, &frame, s->layout->axis, s->step == RS_STEP_READ ? "source" : "target");
    draw_cuts(picture, s, &frame);
    draw_blocks(picture, s, k, &frame, NUMBERS);
    rs_svg_add(&picture->svg, "</g>\n");
    rs_frame_axes(picture, &frame);
    return frame.area.y + frame.area.h + RS_FOOTING + rs_frame_note(picture, &frame, s->layout->axis, "blocks");
}

/* Without what a spilling plan pays for its temporary file. */
static int64_t total_of(const rs_picture *picture, rs_step_kind step)
{
    const rs_plan *plan = picture->plan;
    bool spills = plan->kind == RS_PLAN_SPILL;
    if (step == RS_STEP_READ) {
        return plan->predicted.read_seeks - (spills ? plan->spill.n_stretches : 0);
    }
    return plan->predicted.write_seeks - (spills ? plan->spill.n_stretches : 0);
}

void rs_panels_seeks(rs_picture *picture, rs_step_kind step, rs_flow *flow)
{
    bool reads = step == RS_STEP_READ;
    const rs_layout *layout = reads ? &picture->problem->source : &picture->problem->target;
    side s = {.step = step,
              .layout = layout,
              .v = rs_axis_at(layout->axis, picture->v),
              .h = rs_axis_at(layout->axis, picture->h)};
    int64_t left;
    char count[RS_WORD], title[120];
    find_kinds(picture, &s);
    left = s.n_layers;
    for (int k = 0; k < s.n_kinds && k < KINDS_DRAWN; k++) {
        (void)snprintf(title, sizeof title, "%s: %s seek%s%s", reads ? "Reads" : "Writes",
                       rs_word_count(total_of(picture, step), count), total_of(picture, step) == 1 ? "" : "s",
                       k == 0 ? "" : ", continued");
        left -= s.kinds[k].count;
        int end = draw_kind(picture, &s, &s.kinds[k], title, flow->next);
        if (left > 0 && (k + 1 == KINDS_DRAWN || k + 1 == s.n_kinds)) {
            rs_svg_text(&picture->svg, "note", flow->next.x + RS_MARGIN, end + 6 * PX, "and %s more %s of blocks%s",
                        rs_word_count(left, count), left == 1 ? "layer" : "layers",
                        picture->survey.walked ? ", with other numbers" : "");
            end += 12 * PX;
        }
        rs_flow_took(flow, end);
    }
}
