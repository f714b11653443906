/* SPDX-License-Identifier: BSD-3-Clause */
/* pattern.c - names of block files: parse, check, render, match. See pattern.h. */
#include "format/pattern.h"

#include <stdio.h>
#include <string.h>

enum { MAX_WIDTH = 20 }; /* digits of the largest number, and one more */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static resplit_status bad_field(const char *text, const char *field, resplit_error *err)
{
    size_t n = strcspn(field, "}");
    return rs_fail(err, RESPLIT_EINVAL,
                   "bad field '%.*s}' in pattern '%.200s': give {0}, {0.start} or {offset}, with a width as in {0:03}",
                   n < 40 ? (int)n : 40, field, text);
}

/* Up to three digits. */
static bool take_small(const char **s, int *out)
{
    const char *from = *s;
    *out = 0;
    while (is_digit(**s) && *s - from < 3) {
        *out = *out * 10 + (*(*s)++ - '0');
    }
    return *s > from && !is_digit(**s);
}

/* *s points to the '{' of a field and is moved past its '}'. */
static resplit_status parse_field(const char *text, const char **s, int ndim, rs_pattern *out, resplit_error *err)
{
    const char *field = *s;
    rs_piece piece = {.kind = RS_PIECE_INDEX};

    ++*s;
    if (strncmp(*s, "offset", 6) == 0) {
        piece.kind = RS_PIECE_OFFSET;
        *s += 6;
    } else {
        if (!take_small(s, &piece.axis)) {
            return bad_field(text, field, err);
        }
        if (strncmp(*s, ".start", 6) == 0) {
            piece.kind = RS_PIECE_START;
            *s += 6;
        }
    }
    if (**s == ':' && (++*s, !take_small(s, &piece.width) || piece.width > MAX_WIDTH)) {
        return bad_field(text, field, err);
    }
    if (**s != '}') {
        return bad_field(text, field, err);
    }
    ++*s;
    if (piece.axis >= (ndim < 0 ? RS_MAX_NDIM : ndim)) {
        return rs_fail(err, RESPLIT_EINVAL, "pattern '%.200s' names axis %d, but the array has %d axes, counted from 0",
                       text, piece.axis, ndim < 0 ? RS_MAX_NDIM : ndim);
    }
    if (is_digit(**s) || (**s == '{' && (*s)[1] != '{')) {
        return rs_fail(err, RESPLIT_EINVAL,
                       "pattern '%.200s' has a number that runs into the next one: put a letter or '_' after '%.*s'",
                       text, (int)(*s - field), field);
    }
    out->has_index[piece.axis] |= piece.kind == RS_PIECE_INDEX;
    out->has_start[piece.axis] |= piece.kind == RS_PIECE_START;
    out->has_offset |= piece.kind == RS_PIECE_OFFSET;
    out->piece[out->n_pieces++] = piece;
    return RESPLIT_OK;
}

static resplit_status check_whole(const char *text, resplit_error *err)
{
    size_t n = strlen(text);
    if (n == 0) {
        return rs_fail(err, RESPLIT_EINVAL, "the pattern is empty: give one such as {0}_{1}.npy");
    }
    if (n >= 2 * RS_NAME_MAX) {
        return rs_fail(err, RESPLIT_EINVAL, "the pattern has %zu bytes; at most %d are allowed", n,
                       2 * RS_NAME_MAX - 1);
    }
    if (strchr(text, '/') != NULL) {
        return rs_fail(err, RESPLIT_EINVAL, "pattern '%.200s' contains '/': blocks lie directly in one folder", text);
    }
    if (text[0] == '.') {
        return rs_fail(err, RESPLIT_EINVAL, "pattern '%.200s' begins with '.': blocks are not hidden files", text);
    }
    return RESPLIT_OK;
}

resplit_status rs_pattern_parse(const char *text, int ndim, rs_pattern *out, resplit_error *err)
{
    const char *s = text;
    int used = 0;

    *out = (rs_pattern){0};
    RS_TRY(check_whole(text, err));
    while (*s != '\0') {
        if (out->n_pieces == RS_PATTERN_PIECES) {
            return rs_fail(err, RESPLIT_EINVAL, "pattern '%.200s' has more than %d parts", text, RS_PATTERN_PIECES);
        }
        if (*s == '{' && s[1] != '{') {
            RS_TRY(parse_field(text, &s, ndim, out, err));
            continue;
        }
        rs_piece *piece = &out->piece[out->n_pieces++];
        *piece = (rs_piece){.kind = RS_PIECE_TEXT, .at = used};
        while (*s != '\0' && !(*s == '{' && s[1] != '{')) {
            if (*s == '}' && s[1] != '}') {
                return rs_fail(err, RESPLIT_EINVAL, "pattern '%.200s' has a single '}': write '}}' for a brace", text);
            }
            if (used == RS_NAME_MAX - 1) {
                return rs_fail(err, RESPLIT_EINVAL, "pattern '%.200s' makes names of more than %d bytes", text,
                               RS_NAME_MAX - 1);
            }
            out->text[used++] = *s;
            s += *s == '{' || *s == '}' ? 2 : 1;
        }
        piece->n = used - piece->at;
    }
    return RESPLIT_OK;
}

resplit_status rs_pattern_render(const rs_pattern *pattern, const rs_fields *fields, char name[RS_NAME_MAX],
                                 resplit_error *err)
{
    size_t n = 0;
    for (int i = 0; i < pattern->n_pieces; i++) {
        const rs_piece *piece = &pattern->piece[i];
        size_t room = RS_NAME_MAX - n;
        int k;
        if (piece->kind == RS_PIECE_TEXT) {
            k = snprintf(name + n, room, "%.*s", piece->n, pattern->text + piece->at);
        } else {
            int64_t value = piece->kind == RS_PIECE_INDEX   ? fields->index[piece->axis]
                            : piece->kind == RS_PIECE_START ? fields->start[piece->axis]
                                                            : fields->offset;
            k = snprintf(name + n, room, "%0*lld", piece->width, (long long)value);
        }
        if (k < 0 || (size_t)k >= room) {
            name[0] = '\0';
            return rs_fail(err, RESPLIT_EINVAL, "the pattern makes names of more than %d bytes", RS_NAME_MAX - 1);
        }
        n += (size_t)k;
    }
    name[n] = '\0';
    return RESPLIT_OK;
}

/* Takes all digits; false when there are none or too many. */
static bool take_number(const char **s, int64_t *out)
{
    const char *from = *s;
    *out = 0;
    for (; is_digit(**s); ++*s) {
        if (!rs_mul(*out, 10, out) || !rs_add(*out, **s - '0', out)) {
            return false;
        }
    }
    return *s > from;
}

rs_match rs_pattern_match(const rs_pattern *pattern, const char *name, rs_fields *out)
{
    const char *s = name;
    char exact[RS_NAME_MAX];

    for (int d = 0; d < RS_MAX_NDIM; d++) {
        out->index[d] = out->start[d] = -1;
    }
    out->offset = -1;
    for (int i = 0; i < pattern->n_pieces; i++) {
        const rs_piece *piece = &pattern->piece[i];
        if (piece->kind == RS_PIECE_TEXT) {
            if (strncmp(s, pattern->text + piece->at, (size_t)piece->n) != 0) {
                return RS_MATCH_NONE;
            }
            s += piece->n;
            continue;
        }
        int64_t value;
        if (!take_number(&s, &value)) {
            return RS_MATCH_NONE;
        }
        int64_t *field = piece->kind == RS_PIECE_INDEX   ? &out->index[piece->axis]
                         : piece->kind == RS_PIECE_START ? &out->start[piece->axis]
                                                         : &out->offset;
        *field = value;
    }
    if (*s != '\0') {
        return RS_MATCH_NONE;
    }
    bool same = rs_pattern_render(pattern, out, exact, NULL) == RESPLIT_OK && strcmp(exact, name) == 0;
    return same ? RS_MATCH_EXACT : RS_MATCH_LOOSE;
}

rs_fields rs_fields_of_block(const rs_layout *layout, const int64_t *index)
{
    rs_fields fields = {.offset = 0};
    for (int d = 0; d < layout->ndim; d++) {
        fields.index[d] = index[d];
        fields.start[d] = rs_axis_cut(&layout->axis[d], index[d]);
        /* below the number of elements, which fits; an array without elements has only zeros here that matter */
        if (!rs_mul(fields.offset, layout->axis[d].extent, &fields.offset)
            || !rs_add(fields.offset, fields.start[d], &fields.offset)) {
            fields.offset = 0;
        }
    }
    return fields;
}

resplit_status rs_pattern_check(const rs_pattern *pattern, const char *text, const rs_layout *layout,
                                resplit_error *err)
{
    bool empty = false;
    int64_t last[RS_MAX_NDIM] = {0};
    char name[RS_NAME_MAX];

    for (int d = 0; d < layout->ndim; d++) {
        empty = empty || layout->axis[d].extent == 0;
        last[d] = layout->axis[d].n - 1;
    }
    for (int d = 0; d < layout->ndim; d++) {
        bool told = pattern->has_index[d] || pattern->has_start[d] || (pattern->has_offset && !empty);
        if (layout->axis[d].n > 1 && !told) {
            return rs_fail(err, RESPLIT_EINVAL,
                           "pattern '%.200s' gives one name to %lld blocks along axis %d: add {%d} or {%d.start}", text,
                           (long long)layout->axis[d].n, d, d, d);
        }
    }
    rs_fields fields = rs_fields_of_block(layout, last);
    return rs_pattern_render(pattern, &fields, name, err);
}

resplit_status rs_pattern_add_text(rs_text *out, const char *text, size_t n, resplit_error *err)
{
    for (size_t i = 0; i < n; i++) {
        RS_TRY(rs_text_add(out, err, "%c%s", text[i], text[i] == '{' ? "{" : text[i] == '}' ? "}" : ""));
    }
    return RESPLIT_OK;
}
