/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jsonout.h - JSON, written into memory value by value:
 *
 *     cli_out_open(&out, NULL, '{');                      {
 *     cli_out_text(&out, "path", "a");                    { "path": "a"
 *     cli_out_integers(&out, "shape", 2, shape);          { "path": "a", "shape": [ 4, 6 ]
 *     cli_out_close(&out, '}');                           { "path": "a", "shape": [ 4, 6 ] }
 *
 * In an object every value has a key, in a list none: NULL. Without memory nothing more is added; who uses the text
 * asks for `failed` first.
 */
#ifndef RS_CLI_JSONOUT_H
#define RS_CLI_JSONOUT_H

#include "resplit.h"

/* Zero-initialised is empty. */
struct cli_out {
    char *text; /* NUL-terminated, owned; NULL while empty */
    size_t n;
    size_t room;
    bool failed;
};

void cli_out_release(struct cli_out *out);

void cli_out_open(struct cli_out *out, const char *key, char bracket);
void cli_out_close(struct cli_out *out, char bracket);

/* What is JSON already. */
void cli_out_raw(struct cli_out *out, const char *key, const char *json);

/* NULL becomes null. Bytes that are no UTF-8, as paths may have, are written as they are. */
void cli_out_text(struct cli_out *out, const char *key, const char *value);
void cli_out_integer(struct cli_out *out, const char *key, int64_t value);
void cli_out_bool(struct cli_out *out, const char *key, bool value);
void cli_out_null(struct cli_out *out, const char *key);

/* With 9 digits, and with 6 behind the point; what is not finite becomes null. */
void cli_out_number(struct cli_out *out, const char *key, double value);
void cli_out_fixed(struct cli_out *out, const char *key, double value);

void cli_out_integers(struct cli_out *out, const char *key, int64_t n, const int64_t *values);

#endif
