/* SPDX-License-Identifier: BSD-3-Clause */
/* literal.c - the tokens of a Python literal. See literal.h. */
#include "format/literal.h"

#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

/* at points to the quote. */
static rs_token scan_string(rs_scanner *scanner)
{
    char quote = *scanner->at++;
    rs_token token = {.kind = RS_TOKEN_BAD, .text = scanner->at, .mark = quote};

    while (scanner->at < scanner->end) {
        char c = *scanner->at;
        if (c == quote) {
            token.kind = RS_TOKEN_STRING;
            token.n = (size_t)(scanner->at - token.text);
            scanner->at++;
            return token;
        }
        if (c == '\n' || c == '\0') {
            return token;
        }
        scanner->at += c == '\\' && scanner->end - scanner->at > 1 ? 2 : 1;
    }
    return token;
}

static rs_token scan_number(rs_scanner *scanner)
{
    rs_token token = {.kind = RS_TOKEN_BAD, .text = scanner->at};
    bool negative = *scanner->at == '-';
    int64_t value = 0;

    scanner->at += negative;
    if (scanner->at == scanner->end || !is_digit(*scanner->at)) {
        return token;
    }
    for (; scanner->at < scanner->end && is_digit(*scanner->at); scanner->at++) {
        if (!rs_mul(value, 10, &value) || !rs_add(value, *scanner->at - '0', &value)) {
            return token;
        }
    }
    if (scanner->at < scanner->end && *scanner->at == 'L') {
        scanner->at++;
    }
    if (scanner->at < scanner->end && (is_letter(*scanner->at) || *scanner->at == '.')) {
        return token;
    }
    token.kind = RS_TOKEN_NUMBER;
    token.n = (size_t)(scanner->at - token.text);
    token.number = negative ? -value : value;
    return token;
}

rs_token rs_scanner_next(rs_scanner *scanner)
{
    while (scanner->at < scanner->end && is_space(*scanner->at)) {
        scanner->at++;
    }
    if (scanner->at >= scanner->end) {
        return (rs_token){.kind = RS_TOKEN_END, .text = scanner->end};
    }

    char c = *scanner->at;
    if (c == '\'' || c == '"') {
        return scan_string(scanner);
    }
    if (is_digit(c) || c == '-') {
        return scan_number(scanner);
    }

    rs_token token = {.kind = RS_TOKEN_BAD, .text = scanner->at, .n = 1, .mark = c};
    if (is_letter(c)) {
        while (scanner->at < scanner->end && (is_letter(*scanner->at) || is_digit(*scanner->at))) {
            scanner->at++;
        }
        token.kind = RS_TOKEN_NAME;
        token.n = (size_t)(scanner->at - token.text);
        /* Python 2 programs wrote u'name' */
        if (token.n == 1 && c == 'u' && scanner->at < scanner->end && (*scanner->at == '\'' || *scanner->at == '"')) {
            return scan_string(scanner);
        }
        return token;
    }
    scanner->at++;
    if (c != '\0' && strchr("{}[](),:", c) != NULL) {
        token.kind = RS_TOKEN_MARK;
    }
    return token;
}

rs_token rs_scanner_peek(const rs_scanner *scanner)
{
    rs_scanner copy = *scanner;
    return rs_scanner_next(&copy);
}

bool rs_scanner_take(rs_scanner *scanner, char mark)
{
    rs_scanner copy = *scanner;
    rs_token token = rs_scanner_next(&copy);
    if (token.kind != RS_TOKEN_MARK || token.mark != mark) {
        return false;
    }
    *scanner = copy;
    return true;
}

bool rs_utf8_is_valid(const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    const unsigned char *end = s + n;

    while (s < end) {
        int more = *s < 0x80                  ? 0
                   : *s >= 0xc2 && *s <= 0xdf ? 1
                   : (*s & 0xf0) == 0xe0      ? 2
                   : *s >= 0xf0 && *s <= 0xf4 ? 3
                                              : -1;
        if (more < 0 || end - s <= more) {
            return false;
        }
        uint32_t point = more == 0 ? *s : more == 1 ? *s & 0x1fu : more == 2 ? *s & 0x0fu : *s & 0x07u;
        s++;
        for (int i = 0; i < more; i++, s++) {
            if ((*s & 0xc0) != 0x80) {
                return false;
            }
            point = point << 6 | (*s & 0x3fu);
        }
        /* no longer form than needed, no surrogates, nothing past the last plane */
        if ((more == 2 && point < 0x800) || (more == 3 && (point < 0x10000 || point > 0x10ffff))
            || (point >= 0xd800 && point <= 0xdfff)) {
            return false;
        }
    }
    return true;
}
