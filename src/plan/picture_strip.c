/* SPDX-License-Identifier: BSD-3-Clause */
/* picture_strip.c - memory over the buffers: what is held when a buffer is in, and what stays after its writes. */
#include "plan/picture_parts.h"

#include <inttypes.h>
#include <stdio.h>

enum { LOOPS_MOST = 30, LEFT = 62 * PX, TALLEST = 3 /* a line is drawn up to this many times the most that is held */ };

typedef struct chart {
    rs_area area;
    double most;  /* bytes at its top */
    int64_t bins; /* columns */
} chart;

static int y_of(const chart *c, int64_t bytes)
{
    return c->area.y + c->area.h - (int)((double)bytes / c->most * c->area.h + 0.5);
}

static int x_of(const chart *c, double bin)
{
    return c->area.x + (int)(bin / (double)c->bins * c->area.w + 0.5);
}

/* 1, 2 or 5 times a power of ten, in hundredths of the unit, with at most five steps to the top. */
static void draw_scale(rs_picture *picture, const chart *c)
{
    static const char *const UNITS[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double unit = 1;
    int k = 0;
    for (; c->most / unit >= 1024 && k < 6; k++) {
        unit *= 1024;
    }
    int64_t step = k == 0 ? 100 : 10;
    for (int i = 0; c->most / unit * 100 > 5.0 * (double)step; i++) {
        step = i % 3 == 1 ? step / 2 * 5 : step * 2;
    }
    for (int64_t at = 0; (double)at / 100 * unit <= c->most; at += step) {
        int y = y_of(c, (int64_t)((double)at / 100 * unit));
        rs_svg_add(&picture->svg, "<path class=\"grid\" d=\"M%d %dh%d\"/>\n", c->area.x, y, c->area.w);
        if (at % 100 == 0) {
            rs_svg_text(&picture->svg, "axe", c->area.x - 6 * PX, y + 4 * PX, "%" PRId64 " %s", at / 100, UNITS[k]);
        } else {
            rs_svg_text(&picture->svg, "axe", c->area.x - 6 * PX, y + 4 * PX, "%" PRId64 ".%" PRId64 " %s", at / 100,
                        at % 100 / 10, UNITS[k]);
        }
    }
}

static void draw_buffers_axis(rs_picture *picture, const chart *c)
{
    int64_t n = picture->survey.n_buffers, step = 1;
    int y = c->area.y + c->area.h;
    for (int i = 0; n / step > 10; i++) {
        step = i % 3 == 1 ? step / 2 * 5 : step * 2;
    }
    for (int64_t t = 1; t <= n; t = t == 1 && step > 1 ? step : t + step) {
        int x = x_of(c, ((double)t - 0.5) / (double)n * (double)c->bins);
        char word[RS_WORD];
        rs_svg_add(&picture->svg, "<path class=\"frame\" d=\"M%d %dv40\"/>\n", x, y);
        rs_svg_text(&picture->svg, "axm", x, y + 15 * PX, "%s", rs_word_count(t, word));
    }
    rs_svg_text(&picture->svg, "axm", c->area.x + c->area.w / 2, y + 29 * PX, "buffers, in visiting order");
}

/* Where the outermost loop that turns begins again. */
static void draw_loops(rs_picture *picture, const chart *c)
{
    const rs_plan *plan = picture->plan;
    int64_t n = 1;
    for (int i = 0; i < plan->ndim && n == 1; i++) {
        n = plan->buffer[plan->loop[i]].n;
    }
    for (int64_t i = 1; i < n && n <= LOOPS_MOST && n < picture->survey.n_buffers; i++) {
        rs_svg_add(&picture->svg, "<path class=\"loop\" d=\"M%d %dv%d\"/>\n",
                   x_of(c, (double)i / (double)n * (double)c->bins), c->area.y, c->area.h);
    }
}

static void draw_steps(rs_picture *picture, const chart *c, const int64_t *held, const char *name)
{
    int floor = c->area.y + c->area.h;
    rs_svg_add(&picture->svg, "<path class=\"%s\" d=\"M%d %d", name, c->area.x, floor);
    for (int64_t b = 0; b < c->bins; b++) {
        rs_svg_add(&picture->svg, "V%dH%d", y_of(c, held[b] * picture->problem->itemsize), x_of(c, (double)b + 1));
    }
    rs_svg_add(&picture->svg, "V%dZ\"/>\n", floor);
}

/* A line across, and above the chart what it stands for. Returns where the next word goes. */
static int draw_level(rs_picture *picture, const chart *c, const char *name, const char *what, int64_t bytes, int x)
{
    char word[RS_WORD], words[200];
    bool above = (double)bytes > c->most;
    int y = c->area.y - 9 * PX;
    int n =
        snprintf(words, sizeof words, "%s %s%s", what, rs_word_bytes(bytes, word), above ? " (above this chart)" : "");
    rs_svg_add(&picture->svg, "<path class=\"%s\" d=\"M%d %dh%d\"/>\n", name, x, y, 24 * PX);
    rs_svg_text(&picture->svg, "key", x + 29 * PX, y + 4 * PX, "%s", words);
    if (!above) {
        rs_svg_add(&picture->svg, "<path class=\"%s\" d=\"M%d %dh%d\"/>\n", name, c->area.x, y_of(c, bytes), c->area.w);
    }
    return x + 29 * PX + n * 68 + 14 * PX;
}

static void draw_peak(rs_picture *picture, const chart *c)
{
    const rs_survey *survey = &picture->survey;
    int64_t held = survey->fullest.held * picture->problem->itemsize;
    double at = ((double)survey->fullest.buffer + 0.5) / (double)survey->n_buffers;
    rs_svg_add(&picture->svg,
               "<circle class=\"ring\" id=\"fullest\" data-held=\"%" PRId64 "\" cx=\"%d\" cy=\"%d\" r=\"40\"/>\n", held,
               x_of(c, at * (double)c->bins), y_of(c, held));
}

int rs_panel_strip(rs_picture *picture, rs_area box)
{
    const rs_survey *survey = &picture->survey;
    const rs_plan *plan = picture->plan;
    int64_t held = rs_max(1, plan->predicted.held_bytes);
    chart c = {.area = {box.x + LEFT, box.y + RS_HEADING + 16 * PX, box.w - LEFT, box.h - RS_HEADING - 62 * PX},
               .most = (double)held,
               .bins = survey->n_bins};
    const int64_t levels[] = {plan->predicted.peak_bytes, plan->memory};
    for (int i = 0; i < 2; i++) {
        if (levels[i] / TALLEST <= held) {
            c.most = (double)rs_max((int64_t)c.most, levels[i]);
        }
    }
    c.most *= 1.12;
    char many[100] = "";
    if (survey->n_buffers > survey->n_bins) {
        (void)snprintf(many, sizeof many, "; the most in each of %d stretches%s", survey->n_bins,
                       survey->complete ? "" : ", sampled");
    }
    rs_frame_heading(picture, box, "Array data in memory",
                     "filled: when the buffer is in; hatched: what stays after its writes%s", many);
    rs_svg_add(&picture->svg, "<g id=\"strip\">\n");
    draw_scale(picture, &c);
    draw_steps(picture, &c, survey->before, "before");
    draw_steps(picture, &c, survey->after, "after");
    draw_loops(picture, &c);
    rs_svg_rect(&picture->svg, "frame", c.area);
    int x = c.area.x;
    x = draw_level(picture, &c, "budget", "budget", plan->memory, x);
    x = draw_level(picture, &c, "alloc", "allocated", plan->predicted.peak_bytes, x);
    x = draw_level(picture, &c, "max", "held at most", plan->predicted.held_bytes, x);
    rs_svg_add(&picture->svg, "<circle class=\"ring\" cx=\"%d\" cy=\"%d\" r=\"40\"/>\n", x + 4 * PX, c.area.y - 9 * PX);
    rs_svg_text(&picture->svg, "key", x + 14 * PX, c.area.y - 5 * PX, "at buffer %s",
                rs_word_count(survey->fullest.buffer + 1, many));
    draw_peak(picture, &c);
    rs_svg_add(&picture->svg, "</g>\n");
    draw_buffers_axis(picture, &c);
    return box.y + box.h;
}
