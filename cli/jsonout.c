/* SPDX-License-Identifier: BSD-3-Clause */
/* jsonout.c - JSON in one line. What stands last in the text tells whether a comma is due, so nothing else is kept. */
#include "jsonout.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cli_out_release(struct cli_out *out)
{
    free(out->text);
    *out = (struct cli_out){0};
}

static void put(struct cli_out *out, const char *bytes, size_t n)
{
    if (out->failed)
        return;
    if (out->room - out->n <= n) {
        size_t room = out->n + n + 256 + (out->n + n) / 2;
        char *text = realloc(out->text, room);

        if (!text) {
            out->failed = true;
            return;
        }
        out->text = text;
        out->room = room;
    }
    memcpy(out->text + out->n, bytes, n);
    out->n += n;
    out->text[out->n] = '\0';
}

/* The characters that JSON has a letter for, and the letters. */
static const char MEANT[] = "\"\\\b\f\n\r\t", LETTER[] = "\"\\bfnrt";

static void put_string(struct cli_out *out, const char *s)
{
    put(out, "\"", 1);
    for (; *s; s++) {
        const char *known = strchr(MEANT, *s);
        char escape[8] = {'\\', known ? LETTER[known - MEANT] : '\0'};

        if (!known && (unsigned char)*s < 0x20)
            snprintf(escape, sizeof escape, "\\u%04x", (unsigned)(unsigned char)*s);
        if (escape[1])
            put(out, escape, strlen(escape));
        else
            put(out, s, 1);
    }
    put(out, "\"", 1);
}

/* Up to where a value begins. A string ends with its quote, so a bracket at the end is one that was opened. */
static void begin(struct cli_out *out, const char *key)
{
    char last = out->n > 0 ? out->text[out->n - 1] : '\0';

    if (last == '[' || last == '{')
        put(out, " ", 1);
    else if (last)
        put(out, ", ", 2);
    if (key) {
        put_string(out, key);
        put(out, ": ", 2);
    }
}

void cli_out_open(struct cli_out *out, const char *key, char bracket)
{
    begin(out, key);
    put(out, &bracket, 1);
}

void cli_out_close(struct cli_out *out, char bracket)
{
    put(out, " ", 1);
    put(out, &bracket, 1);
}

void cli_out_raw(struct cli_out *out, const char *key, const char *json)
{
    begin(out, key);
    put(out, json, strlen(json));
}

void cli_out_text(struct cli_out *out, const char *key, const char *value)
{
    if (!value) {
        cli_out_null(out, key);
        return;
    }
    begin(out, key);
    put_string(out, value);
}

void cli_out_integer(struct cli_out *out, const char *key, int64_t value)
{
    char text[32];

    snprintf(text, sizeof text, "%" PRId64, value);
    cli_out_raw(out, key, text);
}

void cli_out_bool(struct cli_out *out, const char *key, bool value)
{
    cli_out_raw(out, key, value ? "true" : "false");
}

void cli_out_null(struct cli_out *out, const char *key)
{
    cli_out_raw(out, key, "null");
}

void cli_out_number(struct cli_out *out, const char *key, double value)
{
    char text[40];

    snprintf(text, sizeof text, "%.9g", value);
    cli_out_raw(out, key, isfinite(value) ? text : "null");
}

void cli_out_fixed(struct cli_out *out, const char *key, double value)
{
    char text[360]; /* the largest has 309 digits before the point */

    snprintf(text, sizeof text, "%.6f", value);
    cli_out_raw(out, key, isfinite(value) ? text : "null");
}

void cli_out_integers(struct cli_out *out, const char *key, int64_t n, const int64_t *values)
{
    cli_out_open(out, key, '[');
    for (int64_t i = 0; i < n; i++)
        cli_out_integer(out, NULL, values[i]);
    cli_out_close(out, ']');
}
