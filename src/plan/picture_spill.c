/* SPDX-License-Identifier: BSD-3-Clause */
/* picture_spill.c - a plan that spills: which target blocks stay in memory, which go through the temporary file. */
#include "plan/picture_parts.h"

#include <inttypes.h>
#include <stdio.h>

enum { GROUPS_MOST = 40, ROW = 46 * PX };

/* A bar of target blocks [from, to) in number order. */
static void draw_part(rs_picture *picture, rs_area bar, int64_t from, int64_t to, const char *name)
{
    double n = (double)picture->problem->n_target;
    int x = bar.x + (int)((double)from / n * bar.w), end = bar.x + (int)((double)to / n * bar.w);
    rs_svg_add(&picture->svg,
               "<rect class=\"%s\" data-blocks=\"%" PRId64 "\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", name,
               to - from, x, bar.y, end - x, bar.h);
    rs_svg_rect(&picture->svg, "frame", (rs_area){x, bar.y, end - x, bar.h});
}

int rs_panel_spill(rs_picture *picture, rs_area box)
{
    static const char *const SHADES[] = {"new", "old"};
    const rs_spill *spill = &picture->plan->spill;
    int64_t n = picture->problem->n_target, from = spill->resident;
    rs_area bar = {box.x + RS_MARGIN, box.y + RS_HEADING, box.w - RS_MARGIN, ROW};
    char w[3][RS_WORD];
    rs_frame_heading(picture, box, "Target blocks, by number",
                     "%s of %s wait in memory, the others in %s groups on disk", rs_word_count(spill->resident, w[0]),
                     rs_word_count(n, w[1]), rs_word_count(spill->n_groups, w[2]));
    rs_svg_add(&picture->svg, "<g id=\"spill\">\n");
    draw_part(picture, bar, 0, spill->resident, "complete");
    for (int64_t g = 0; g < spill->n_groups && spill->n_groups <= GROUPS_MOST; g++) {
        int64_t to = rs_min(n, from + spill->group);
        draw_part(picture, bar, from, to, SHADES[g % 2]);
        from = to;
    }
    if (from < n) {
        draw_part(picture, bar, from, n, "old");
    }
    rs_svg_add(&picture->svg, "</g>\n");
    int y = bar.y + bar.h + 16 * PX;
    rs_svg_text(&picture->svg, "ax", bar.x, y, "dotted: in memory while the source is read");
    rs_svg_text(&picture->svg, "ax", bar.x, y + 14 * PX,
                "hatched: through a temporary file in %s stretches, read back group by group",
                rs_word_count(spill->n_stretches, w[0]));
    return y + 24 * PX;
}
