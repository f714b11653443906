/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pattern.h - names of block files.
 *
 *     brain_{2:03}_{0.start}.raw     pieces: "brain_"  index of axis 2, 3 digits  "_"  start of axis 0  ".raw"
 *
 *     {0}        block index along axis 0
 *     {0.start}  its first element along axis 0
 *     {offset}   position of its first element in the flattened (C order) array
 *     {0:03}     at least three digits, padded with zeros; also {0.start:05}, {offset:012}
 *     {{  }}     braces
 *
 * A number is never followed by a digit or another number, so a name can be read in one way only.
 */
#ifndef RS_PATTERN_H
#define RS_PATTERN_H

#include "format/format.h"

enum { RS_PATTERN_PIECES = 64 };

typedef enum rs_piece_kind { RS_PIECE_TEXT, RS_PIECE_INDEX, RS_PIECE_START, RS_PIECE_OFFSET } rs_piece_kind;

typedef struct rs_piece {
    rs_piece_kind kind;
    int axis;  /* index, start */
    int width; /* least number of digits */
    int at, n; /* text: where in rs_pattern.text */
} rs_piece;

/* A parsed pattern: a plain value. */
typedef struct rs_pattern {
    int n_pieces;
    rs_piece piece[RS_PATTERN_PIECES];
    char text[RS_NAME_MAX]; /* all literal text, one after another */
    bool has_index[RS_MAX_NDIM], has_start[RS_MAX_NDIM], has_offset;
} rs_pattern;

/* The numbers in a name; -1 where the pattern has no such field. */
typedef struct rs_fields {
    int64_t index[RS_MAX_NDIM], start[RS_MAX_NDIM], offset;
} rs_fields;

typedef enum rs_match {
    RS_MATCH_NONE,
    RS_MATCH_EXACT,
    RS_MATCH_LOOSE /* the pattern but for zero padding, or with a field that occurs twice and differs: a duplicate */
} rs_match;

/* `ndim` axes; -1 when that is not known yet. */
resplit_status rs_pattern_parse(const char *text, int ndim, rs_pattern *out, resplit_error *err);

/* Whether every block of the layout gets a name of its own that is short enough. */
resplit_status rs_pattern_check(const rs_pattern *pattern, const char *text, const rs_layout *layout,
                                resplit_error *err);

resplit_status rs_pattern_render(const rs_pattern *pattern, const rs_fields *fields, char name[RS_NAME_MAX],
                                 resplit_error *err);

rs_match rs_pattern_match(const rs_pattern *pattern, const char *name, rs_fields *out);

/* The fields of block `index` of a layout. */
rs_fields rs_fields_of_block(const rs_layout *layout, const int64_t *index);

/* Appends literal text, braces doubled. */
resplit_status rs_pattern_add_text(rs_text *out, const char *text, size_t n, resplit_error *err);

#endif
