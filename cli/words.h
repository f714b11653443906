/* SPDX-License-Identifier: BSD-3-Clause */
/* words.h - words that a user may write, and which one was probably meant. */
#ifndef RS_CLI_WORDS_H
#define RS_CLI_WORDS_H

#include <stdbool.h>

/* Is `word` one of the words of `choices`, as "raw|npy"? */
bool cli_is_choice(const char *word, const char *choices);

/* Number of edits (insert, delete, replace, swap neighbours) between two words; words over 32 letters are far. */
int cli_distance(const char *a, const char *b);

/* The name that `word` was probably meant to be, or NULL. `names` ends with NULL. */
const char *cli_nearest(const char *word, const char *const *names);

#endif
