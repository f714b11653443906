/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * picture_cube.c - the three grids as boxes seen from the front, from above and from the right. The axis of the
 * outermost loop goes into the depth, so that the front is the first of the layers that the other panels show.
 */
#include "plan/picture_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { CUBE_MOST = 16, NUMBERS_MOST = 12 };

/* How elements become points: (depth, down, right), in elements from 0, to x and y. */
typedef struct cube {
    int x, y;         /* of the front's upper left corner */
    int w, h, dx, dy; /* of the front; of the edges that go into the depth */
    int64_t depth, rows, columns;
} cube;

typedef struct point {
    int x, y;
} point;

static point project(const cube *c, int64_t s, int64_t v, int64_t h)
{
    double in = (double)rs_min(s, c->depth) / (double)c->depth;
    double down = (double)rs_min(v, c->rows) / (double)c->rows,
           right = (double)rs_min(h, c->columns) / (double)c->columns;
    return (point){c->x + (int)(right * c->w + in * c->dx + 0.5), c->y + (int)(down * c->h - in * c->dy + 0.5)};
}

/* A face of the box from 0 to (s, v, h), as corners in units of these. */
typedef struct face {
    const char *name;
    int corner[4][3];
} face;

static const face FACES[] = {
    {"face", {{0, 0, 0}, {0, 0, 1}, {0, 1, 1}, {0, 1, 0}}},
    {"top", {{0, 0, 0}, {1, 0, 0}, {1, 0, 1}, {0, 0, 1}}},
    {"side", {{0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}}},
};

static void draw_box(rs_picture *picture, const cube *c, const int64_t *size, const char *name)
{
    for (int f = 0; f < 3; f++) {
        point p[4];
        for (int i = 0; i < 4; i++) {
            const int *at = FACES[f].corner[i];
            p[i] = project(c, at[0] * size[0], at[1] * size[1], at[2] * size[2]);
        }
        rs_svg_add(&picture->svg, "<path class=\"%s\" d=\"M%d %dL%d %dL%d %dL%d %dZ\"/>\n",
                   name != NULL ? name : FACES[f].name, p[0].x, p[0].y, p[1].x, p[1].y, p[2].x, p[2].y, p[3].x, p[3].y);
    }
}

/* A line of the grid at `cut` of one axis runs over the two visible faces that the axis lies in. */
static void draw_cut(rs_picture *picture, const cube *c, int axis, int64_t cut)
{
    int64_t S = c->depth, V = c->rows, H = c->columns;
    point p[3] = {project(c, cut, V, H), project(c, cut, 0, H), project(c, cut, 0, 0)}; /* side, then top */
    if (axis == 1) {
        p[0] = project(c, 0, cut, 0); /* front, then side */
        p[1] = project(c, 0, cut, H);
        p[2] = project(c, S, cut, H);
    } else if (axis == 2) {
        p[0] = project(c, 0, V, cut); /* front, then top */
        p[1] = project(c, 0, 0, cut);
        p[2] = project(c, S, 0, cut);
    }
    rs_svg_add(&picture->svg, "M%d %dL%d %dL%d %d", p[0].x, p[0].y, p[1].x, p[1].y, p[2].x, p[2].y);
}

/* Cuts of an axis that are drawn. */
static int64_t count_cuts(const rs_axis *axis)
{
    return rs_min(axis->n, CUBE_MOST);
}

static void draw_grid(rs_picture *picture, const cube *c, const rs_axis *axes, const char *name)
{
    const int drawn[3] = {picture->s, picture->v, picture->h}, lengths[3] = {c->dx, c->h, c->w};
    const int64_t shown[3] = {c->depth, c->rows, c->columns};
    int64_t spacing = 1000 * PX;
    for (int i = 0; i < 3; i++) {
        spacing = rs_min(spacing, lengths[i] / count_cuts(rs_axis_at(axes, drawn[i])));
    }
    rs_svg_add(&picture->svg, "<path class=\"%s\"", name);
    if (spacing < 10 * PX) {
        rs_svg_add(&picture->svg, " style=\"stroke-width:%dpx\"", (int)rs_max(3, spacing / 10));
    }
    rs_svg_add(&picture->svg, " d=\"");
    for (int i = 0; i < 3; i++) {
        const rs_axis *axis = rs_axis_at(axes, drawn[i]);
        for (int64_t j = 0; j <= count_cuts(axis); j++) {
            int64_t cut = rs_max(0, rs_min(rs_axis_cut(axis, j), axis->extent));
            if (cut <= shown[i]) {
                draw_cut(picture, c, i, cut);
            }
        }
    }
    rs_svg_add(&picture->svg, "\"/>\n");
}

/* Numbers on the buffers of the front. */
static void draw_numbers(rs_picture *picture, const cube *c)
{
    const rs_axis *v = rs_axis_at(picture->plan->buffer, picture->v),
                  *h = rs_axis_at(picture->plan->buffer, picture->h);
    int64_t index[RS_MAX_NDIM] = {0};
    for (int64_t i = 0; i < v->n && i < NUMBERS_MOST; i++) {
        for (int64_t j = 0; j < h->n && j < NUMBERS_MOST; j++) {
            point a = project(c, 0, rs_axis_span(v, i).lo, rs_axis_span(h, j).lo);
            point b = project(c, 0, rs_axis_span(v, i).hi, rs_axis_span(h, j).hi);
            index[picture->v] = i;
            index[picture->h] = j;
            rs_svg_number(&picture->svg, (rs_area){a.x, a.y, b.x - a.x, b.y - a.y},
                          rs_buffer_number(picture->plan, index) + 1, 11 * PX);
        }
    }
}

/* What is shown of an axis: no more than CUBE_MOST intervals of this grid. */
static int64_t extent_shown(const rs_axis *axes, int d)
{
    const rs_axis *axis = rs_axis_at(axes, d);
    return axis->n > CUBE_MOST ? rs_axis_cut(axis, CUBE_MOST) : axis->extent;
}

/* A side of the box, in proportion unless it would be too thin to see. */
static int side_length(int64_t extent, int64_t most, int length)
{
    int fit = (int)((double)extent / (double)most * length);
    return (int)rs_max(fit, length / 4);
}

static cube make_cube(const rs_picture *picture, const rs_axis *axes, rs_area box)
{
    cube c = {.depth = extent_shown(axes, picture->s),
              .rows = extent_shown(axes, picture->v),
              .columns = extent_shown(axes, picture->h)};
    int64_t most = rs_max(c.depth, rs_max(c.rows, c.columns));
    int front = (int)rs_min(box.w * 62 / 100, (box.h - RS_HEADING - RS_FOOTING) * 68 / 100);
    c.w = side_length(c.columns, most, front);
    c.h = side_length(c.rows, most, front);
    c.dx = side_length(c.depth, most, front * 55 / 100);
    c.dy = c.dx * 75 / 100;
    c.x = box.x + RS_MARGIN;
    c.y = box.y + RS_HEADING + c.dy;
    return c;
}

/* "axis 1, 0:16 of 876" */
static void words_axis(const rs_picture *picture, int d, const char *arrow, int64_t shown, char out[RS_WORD])
{
    int n = snprintf(out, RS_WORD, "axis %d %s  0:%" PRId64, d, arrow, shown);
    if (shown < picture->problem->shape[d]) {
        (void)snprintf(out + n, RS_WORD - (size_t)n, " of %" PRId64, picture->problem->shape[d]);
    }
}

static void draw_axes(rs_picture *picture, const cube *c)
{
    int x = c->x, y = c->y + c->h;
    char words[RS_WORD];
    words_axis(picture, picture->h, "\u2192", c->columns, words);
    rs_svg_text(&picture->svg, "ax", x, y + 13 * PX, "%s", words);
    words_axis(picture, picture->v, "\u2192", c->rows, words);
    rs_svg_add(&picture->svg, "<text class=\"ax\" transform=\"translate(%d %d) rotate(90)\">%s</text>\n", x - 12 * PX,
               c->y, words);
    words_axis(picture, picture->s, "\u2197", c->depth, words);
    rs_svg_text(&picture->svg, "ax", x + c->w + c->dx / 2 + 8 * PX, y - c->dy / 2 + 8 * PX, "%s", words);
}

static int draw_panel(rs_picture *picture, rs_area box, int which)
{
    const rs_problem *problem = picture->problem;
    const struct {
        const rs_axis *axes;
        const char *title, *line, *box;
        int64_t count;
    } grids[] = {
        {problem->source.axis, "Source", "source", "aggregate", problem->n_source},
        {problem->target.axis, "Target", "target", "first", problem->n_target},
        {picture->plan->buffer, "Buffers", "buffer", "now", picture->survey.n_buffers},
    };
    const char *const words[] = {"blocks; the aggregate covers the first target block", "blocks; the first one hatched",
                                 "buffers; the first one bold"};
    cube c = make_cube(picture, grids[which].axes, box);
    const int drawn[3] = {picture->s, picture->v, picture->h};
    int64_t size[3];
    char count[RS_WORD];
    for (int i = 0; i < 3; i++) {
        const rs_axis *source = rs_axis_at(problem->source.axis, drawn[i]);
        rs_span first = rs_axis_span(rs_axis_at(grids[which == 0 ? 1 : which].axes, drawn[i]), 0);
        size[i] = which == 0 ? rs_axis_ceil(source, first.hi) : first.hi;
    }
    rs_frame_heading(picture, box, grids[which].title, "%s %s", rs_word_count(grids[which].count, count), words[which]);
    rs_svg_add(&picture->svg, "<g class=\"cube\" data-count=\"%" PRId64 "\">\n", grids[which].count);
    draw_box(picture, &c, (int64_t[3]){c.depth, c.rows, c.columns}, NULL);
    if (which < 2) {
        draw_box(picture, &c, size, which == 0 ? "inagg" : "block1");
    }
    draw_grid(picture, &c, grids[which].axes, grids[which].line);
    draw_box(picture, &c, size, grids[which].box);
    if (which == 2) {
        draw_numbers(picture, &c);
    }
    rs_svg_add(&picture->svg, "</g>\n");
    draw_axes(picture, &c);
    return c.y + c.h + RS_FOOTING;
}

int rs_panels_cubes(rs_picture *picture, rs_area box)
{
    int end = box.y;
    for (int i = 0; i < (picture->plan->kind == RS_PLAN_BUFFERS ? 3 : 2); i++) {
        int bottom = draw_panel(picture, (rs_area){box.x + i * (box.w + 20 * PX), box.y, box.w, box.h}, i);
        end = (int)rs_max(end, bottom);
    }
    return end;
}
