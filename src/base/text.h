/* SPDX-License-Identifier: BSD-3-Clause */
/* text.h - a string that grows. Zero-initialised is empty. */
#ifndef RS_TEXT_H
#define RS_TEXT_H

#include "base/base.h"

typedef struct rs_text {
    char *s; /* NUL-terminated, owned; NULL while empty */
    size_t n;
    size_t room;
} rs_text;

resplit_status rs_text_add(rs_text *text, resplit_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same in a line of its own: after a line end, where there is something already. */
resplit_status rs_text_add_line(rs_text *text, resplit_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
resplit_status rs_text_add_bytes(rs_text *text, const void *bytes, size_t n, resplit_error *err);
void rs_text_release(rs_text *text);

/* A copy that the caller frees, or NULL without memory. */
char *rs_strdup(const char *s);

#endif
