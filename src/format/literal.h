/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * literal.h - the tokens of a Python literal, as .npy headers and record types are written.
 *
 * Only what NumPy writes, or ever wrote: strings, integers (Python 2's 3L too), names, and single marks. A scanner
 * never reads outside [at, end) and never allocates.
 */
#ifndef RS_LITERAL_H
#define RS_LITERAL_H

#include "base/base.h"

typedef enum rs_token_kind {
    RS_TOKEN_END,
    RS_TOKEN_STRING, /* text between the quotes, escapes untouched; mark is the quote */
    RS_TOKEN_NUMBER, /* an integer that fits an int64_t                               */
    RS_TOKEN_NAME,   /* True, False                                                   */
    RS_TOKEN_MARK,   /* one of { } [ ] ( ) , :                                        */
    RS_TOKEN_BAD
} rs_token_kind;

typedef struct rs_token {
    rs_token_kind kind;
    const char *text; /* borrowed from the scanned text */
    size_t n;
    int64_t number;
    char mark;
} rs_token;

typedef struct rs_scanner {
    const char *at, *end;
} rs_scanner;

rs_token rs_scanner_next(rs_scanner *scanner);
rs_token rs_scanner_peek(const rs_scanner *scanner);

/* Takes the mark when it comes next; false: something else does, and nothing is taken. */
bool rs_scanner_take(rs_scanner *scanner, char mark);

/* The longest text shown in a message, for "%.*s". */
static inline int rs_shown(size_t n)
{
    return n < 60 ? (int)n : 60;
}

bool rs_utf8_is_valid(const char *text, size_t n);

#endif
