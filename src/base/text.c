/* SPDX-License-Identifier: BSD-3-Clause */
/* text.c - a string that grows. */
#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static resplit_status grow(rs_text *text, size_t more, resplit_error *err)
{
    size_t need = text->n + more + 1;
    if (need <= text->room) {
        return RESPLIT_OK;
    }
    size_t room = need < 256 ? 256 : need + need / 2;
    char *s = realloc(text->s, room);
    if (s == NULL) {
        return rs_fail_errno(err, ENOMEM, "cannot allocate %zu bytes of text", room);
    }
    text->s = s;
    text->room = room;
    return RESPLIT_OK;
}

static resplit_status add(rs_text *text, const char *format, va_list args, resplit_error *err)
{
    va_list again;
    va_copy(again, args); /* a list can be walked once */
    int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (n < 0) {
        return rs_fail_errno(err, errno, "cannot format text '%s'", format); /* numbers may take memory */
    }
    RS_TRY(grow(text, (size_t)n, err));
    (void)vsnprintf(text->s + text->n, (size_t)n + 1, format, args);
    text->n += (size_t)n;
    return RESPLIT_OK;
}

resplit_status rs_text_add(rs_text *text, resplit_error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    resplit_status rc = add(text, format, args, err);
    va_end(args);
    return rc;
}

resplit_status rs_text_add_line(rs_text *text, resplit_error *err, const char *format, ...)
{
    va_list args;
    RS_TRY(text->n > 0 ? rs_text_add_bytes(text, "\n", 1, err) : RESPLIT_OK);
    va_start(args, format);
    resplit_status rc = add(text, format, args, err);
    va_end(args);
    return rc;
}

resplit_status rs_text_add_bytes(rs_text *text, const void *bytes, size_t n, resplit_error *err)
{
    RS_TRY(grow(text, n, err));
    memcpy(text->s + text->n, bytes, n);
    text->n += n;
    text->s[text->n] = '\0';
    return RESPLIT_OK;
}

void rs_text_release(rs_text *text)
{
    free(text->s);
    *text = (rs_text){0};
}

char *rs_strdup(const char *s)
{
    size_t n = strlen(s) + 1;
    char *copy = malloc(n);
    if (copy != NULL) {
        memcpy(copy, s, n);
    }
    return copy;
}
