/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * picture_parts.h - what the pages of picture.c are put together from.
 *
 *     picture_survey.c   the numbers: seeks by block, memory by buffer, the fullest moment
 *     picture_svg.c      words, lines and boxes as SVG; palette and hatching
 *     picture_frame.c    two axes in an area
 *     picture_grid.c     panels of two axes: grids, buffers, what is held
 *     picture_seeks.c    panels of two axes: seeks in each block
 *     picture_cube.c     panels of three axes
 *     picture_strip.c    memory over the buffers
 *     picture_spill.c    what goes through a temporary file
 *     picture.c          the page
 *
 * Coordinates are integers, tenths of a pixel: text is then the same in every locale.
 */
#ifndef RS_PICTURE_PARTS_H
#define RS_PICTURE_PARTS_H

#include "plan/picture.h"
#include "plan/steps.h"

/* ---- picture_svg.c ---- */

enum { PX = 10 };

/* A page in the making. The first failure stays, and what is added after it is dropped: nobody needs to check. */
typedef struct rs_svg {
    rs_text *text;
    resplit_status status;
    resplit_error *err;
} rs_svg;

typedef struct rs_area {
    int x, y, w, h;
} rs_area;

void rs_svg_add(rs_svg *svg, const char *format, ...) __attribute__((format(printf, 2, 3)));
void rs_svg_begin(rs_svg *svg, int width, int height);
void rs_svg_rect(rs_svg *svg, const char *name, rs_area area);
/* Text of a class, escaped: anchor and size come from the class. */
void rs_svg_text(rs_svg *svg, const char *name, int x, int y, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* A number in the middle of an area, exact or shortened (3.5k), as large as fits up to `size`; else left out. */
void rs_svg_number(rs_svg *svg, rs_area area, int64_t number, int size);

enum { RS_WORD = 64 };
const char *rs_word_count(int64_t count, char out[RS_WORD]); /* 1,234,567 */
const char *rs_word_bytes(int64_t bytes, char out[RS_WORD]); /* 1.5 MiB */
/* Lengths of blocks as "6 x 4"; uneven ones as (3+5+4). Shortened to fit. */
const char *rs_words_blocks(int ndim, const rs_axis *axes, char *out, size_t room);

/* ---- picture_survey.c ---- */

enum {
    RS_WALK_MOST = 200 * 1000, /* steps; beyond, numbers come from the axes alone */
    RS_BINS_MOST = 480,        /* points of the memory chart */
};

/* A buffer that has been read, with nothing of it written yet. */
typedef struct rs_moment {
    int64_t buffer, held;
    int64_t at[RS_MAX_NDIM];
} rs_moment;

typedef struct rs_survey {
    bool walked;
    int64_t n_steps, n_buffers;
    int64_t *seeks[2]; /* owned; by block number, source and target; NULL when not walked */
    int n_bins;
    int64_t before[RS_BINS_MOST]; /* most elements held in a bin of buffers, and after their writes */
    int64_t after[RS_BINS_MOST];
    bool complete;     /* every buffer was looked at */
    rs_moment fullest; /* most is held */
    rs_moment waiting; /* most stays when what is complete is written; `held` is what stays */
} rs_survey;

resplit_status rs_survey_make(const rs_problem *problem, const rs_plan *plan, rs_survey *out, resplit_error *err);
void rs_survey_release(rs_survey *survey);

/* Seeks in one block of the source (RS_STEP_READ) or the target (RS_STEP_WRITE). */
int64_t rs_survey_seeks(const rs_survey *survey, const rs_problem *problem, const rs_plan *plan, rs_step_kind side,
                        const int64_t *index);

/* Buffers are numbered from 0 in loop order. */
int64_t rs_buffer_number(const rs_plan *plan, const int64_t *at);

/* Where an element is at a moment. */
typedef enum rs_state {
    RS_UNREAD,
    RS_WRITTEN,
    RS_COMPLETE,  /* its unit is complete and about to be written */
    RS_WAITS_NEW, /* read just now, its unit is not complete */
    RS_WAITS_OLD, /* the same, read with an earlier buffer */
    RS_N_STATES
} rs_state;

rs_state rs_moment_state(const rs_moment *moment, const rs_problem *problem, const rs_plan *plan, const int64_t *at);

/* ---- The page ---- */

typedef struct rs_picture {
    rs_svg svg;
    const rs_problem *problem;
    const rs_plan *plan;
    rs_survey survey;
    int s, v, h; /* axes drawn in depth, downwards and to the right; -1: there is none */
    bool small;  /* three panels side by side rather than two */
} rs_picture;

/* Stands for an axis that is not there: one element, not cut. */
const rs_axis *rs_axis_at(const rs_axis *axes, int d);
bool rs_is_kept(const rs_plan *plan, int d);

/* Two axes in an area: what of them is shown, in elements. */
typedef struct rs_frame {
    rs_area area;
    rs_span v, h;
} rs_frame;

/* Which axes limit what is shown: no more than `most` of their intervals. */
typedef struct rs_limits {
    const rs_axis *axes[2]; /* lists of ndim axes; NULL: no limit */
    int64_t most;
    const int64_t *focus; /* a buffer that must be seen; NULL: begin at 0 */
} rs_limits;

/* Puts as much as the limits allow into a box of w x h, at one scale for both axes unless that is too lopsided. */
rs_frame rs_frame_make(const rs_picture *picture, rs_limits limits, rs_area box);
int rs_frame_x(const rs_frame *frame, int64_t position);
rs_area rs_frame_box(const rs_frame *frame, rs_span v, rs_span h);

/* The lines of a grid, unless they would be closer than a few pixels. `axes`: lists of ndim axes. */
void rs_frame_lines(rs_picture *picture, const rs_frame *frame, const rs_axis *axes, const char *name);
/* The same without lines that fall on one of `blocks`: where those are cut. */
void rs_frame_cuts(rs_picture *picture, const rs_frame *frame, const rs_axis *axes, const rs_axis *blocks,
                   const char *name);
void rs_frame_heading(rs_picture *picture, rs_area box, const char *title, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void rs_frame_axes(rs_picture *picture, const rs_frame *frame);
void rs_frame_outside(rs_picture *picture, const rs_frame *frame);
/* The cuts of an axis that are shown: [*from, *to]. False when they would be closer than three pixels in `length`. */
bool rs_frame_range(const rs_axis *axis, rs_span span, int length, int64_t *from, int64_t *to);
/* "20 x 20 of 1,000 x 1,000 blocks", when not all are shown. Returns the height of the note. */
int rs_frame_note(rs_picture *picture, const rs_frame *frame, const rs_axis *axes, const char *what);

enum { RS_HEADING = 44 * PX, RS_FOOTING = 22 * PX, RS_MARGIN = 18 * PX };

/* Each draws a panel into `box`, which is the most it may use, and returns the y at which it ends. */
int rs_panel_problem(rs_picture *picture, rs_area box);
int rs_panel_buffers(rs_picture *picture, rs_area box);
int rs_panel_held(rs_picture *picture, rs_area box, const char *title, const rs_moment *moment, rs_span layer);
int rs_panel_spill(rs_picture *picture, rs_area box);
int rs_panel_strip(rs_picture *picture, rs_area box);

/* Places for panels, from left to right and then in the next row. */
typedef struct rs_flow {
    rs_area next;  /* place and largest size of the next panel */
    int left, end; /* where a row begins; the lowest y that a panel of this row reached */
    int columns, n;
} rs_flow;

void rs_flow_took(rs_flow *flow, int end); /* a panel was drawn at flow->next */

/* Panels of seeks, one for each kind of layer. */
void rs_panels_seeks(rs_picture *picture, rs_step_kind side, rs_flow *flow);

/* The three grids as boxes, side by side. */
int rs_panels_cubes(rs_picture *picture, rs_area box);

#endif
