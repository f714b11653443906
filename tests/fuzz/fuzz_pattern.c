/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_pattern.c - a line with a pattern, a line with a name. A pattern is refused, or what it renders matches it
 * exactly; a name that matches exactly is rendered again from its numbers.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/pattern.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_name(const rs_pattern *pattern, const char *name)
{
    rs_fields fields;
    char exact[RS_NAME_MAX];
    rs_match match = rs_pattern_match(pattern, name, &fields);
    if (match == RS_MATCH_EXACT) {
        assert(rs_pattern_render(pattern, &fields, exact, NULL) == RESPLIT_OK);
        assert(strcmp(exact, name) == 0);
    }
}

static void try_render(const rs_pattern *pattern, int64_t base)
{
    rs_fields fields = {.offset = base}, read;
    char name[RS_NAME_MAX];
    for (int d = 0; d < RS_MAX_NDIM; d++) {
        fields.index[d] = base / (d + 1);
        fields.start[d] = base - d < 0 ? 0 : base - d;
    }
    if (rs_pattern_render(pattern, &fields, name, NULL) != RESPLIT_OK) {
        return;
    }
    assert(strchr(name, '/') == NULL && name[0] != '\0' && name[0] != '.');
    assert(rs_pattern_match(pattern, name, &read) == RS_MATCH_EXACT);
    for (int d = 0; d < RS_MAX_NDIM; d++) {
        assert(read.index[d] == (pattern->has_index[d] ? fields.index[d] : -1));
        assert(read.start[d] == (pattern->has_start[d] ? fields.start[d] : -1));
    }
    assert(read.offset == (pattern->has_offset ? fields.offset : -1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rs_pattern pattern;
    resplit_error err;
    char *text = malloc(size + 1);
    assert(text != NULL);
    if (size > 0) {
        memcpy(text, data, size);
    }
    text[size] = '\0';
    char *name = strchr(text, '\n');
    if (name != NULL) {
        *name++ = '\0';
    }
    if (rs_pattern_parse(text, -1, &pattern, &err) == RESPLIT_OK) {
        try_render(&pattern, 0);
        try_render(&pattern, 1234);
        try_render(&pattern, INT64_MAX);
        if (name != NULL) {
            try_name(&pattern, name);
        }
    }
    free(text);
    return 0;
}
