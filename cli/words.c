/* SPDX-License-Identifier: BSD-3-Clause */
/* words.c - words that a user may write, and which one was probably meant. */
#include "words.h"

#include <string.h>

bool cli_is_choice(const char *word, const char *choices)
{
    size_t n = strchr(word, '|') ? 0 : strlen(word);

    for (const char *p = choices; n > 0 && p; p = strchr(p, '|') ? strchr(p, '|') + 1 : NULL) {
        if (strncmp(p, word, n) == 0 && (p[n] == '|' || p[n] == '\0'))
            return true;
    }
    return false;
}

#define WORD_MAX 32

static int least(int a, int b)
{
    return a < b ? a : b;
}

int cli_distance(const char *a, const char *b)
{
    size_t na = strlen(a), nb = strlen(b);
    int rows[WORD_MAX + 1][WORD_MAX + 1];

    if (na > WORD_MAX || nb > WORD_MAX)
        return na == nb && strcmp(a, b) == 0 ? 0 : WORD_MAX + 1;
    for (size_t i = 0; i <= na; i++)
        rows[i][0] = (int)i;
    for (size_t j = 0; j <= nb; j++)
        rows[0][j] = (int)j;
    for (size_t i = 1; i <= na; i++) {
        for (size_t j = 1; j <= nb; j++) {
            int best = rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            best = least(best, least(rows[i - 1][j], rows[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = least(best, rows[i - 2][j - 2] + 1);
            rows[i][j] = best;
        }
    }
    return rows[na][nb];
}

const char *cli_nearest(const char *word, const char *const *names)
{
    const char *nearest = NULL;
    int limit = (int)least((int)strnlen(word, WORD_MAX), 9) / 3 + 1; /* "rio" may be "roi", "x" may be nothing much */
    int best = limit + 1;

    for (; *names; names++) {
        int distance = cli_distance(word, *names);
        if (distance < best && distance < (int)strlen(*names)) {
            best = distance;
            nearest = *names;
        }
    }
    return nearest;
}
