/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_json.c - any text as JSON: refused, or values whose texts lie in one another and are themselves
   the same JSON. */
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A string that means something means the same when it is written anew. */
static void try_string(const rs_json *value)
{
    rs_text text = {0}, again = {0};
    rs_json_document *document;
    resplit_error err;
    if (rs_json_add_string(value, &text, &err) == RESPLIT_OK) {
        assert(strlen(text.s) == text.n && rs_json_is(value, text.s));
        assert(rs_json_write_string(&again, text.s, &err) == RESPLIT_OK);
        assert(rs_json_parse(again.s, again.n, "again", &document, &err) == RESPLIT_OK);
        assert(rs_json_is(rs_json_root(document), text.s));
        rs_json_free(document);
    } else {
        assert(err.code == RESPLIT_EFORMAT);
    }
    rs_text_release(&text);
    rs_text_release(&again);
}

static void try_number(const rs_json *value)
{
    int64_t a;
    uint64_t b;
    double real;
    assert(rs_json_double(value, &real));
    assert(!rs_json_int64(value, &a) || real == (double)a);
    assert(!rs_json_uint64(value, &b) || real == (double)b);
    if (value->text[0] != 'N' && value->n < 100 && memchr(value->text, 'I', value->n) == NULL) {
        char copy[101] = "";
        memcpy(copy, value->text, value->n);
        assert(strtod(copy, NULL) == real); /* in the locale "C" */
    }
}

/* Depth is limited to 64 by the parser. */
static void walk(const rs_json *value, const char *begin, const char *end)
{
    assert(value->text >= begin && value->text + value->n <= end && value->n > 0);
    assert(value->key == NULL || (value->key > begin && value->key + value->key_n <= value->text));
    if (value->kind == RS_JSON_STRING) {
        try_string(value);
    } else if (value->kind == RS_JSON_NUMBER) {
        try_number(value);
    }
    const char *from = value->text;
    for (const rs_json *v = value->first; v != NULL; v = v->next) {
        walk(v, from, value->text + value->n);
        from = v->text + v->n;
        assert((v->key != NULL) == (value->kind == RS_JSON_OBJECT));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rs_json_document *document, *again;
    resplit_error err;
    if (rs_json_parse((const char *)data, size, "fuzz.json", &document, &err) != RESPLIT_OK) {
        assert(err.code == RESPLIT_EFORMAT && document == NULL);
        return 0;
    }
    const rs_json *root = rs_json_root(document);
    walk(root, (const char *)data, (const char *)data + size);
    assert(rs_json_parse(root->text, root->n, "again.json", &again, &err) == RESPLIT_OK);
    assert(rs_json_root(again)->n == root->n && rs_json_root(again)->kind == root->kind);
    rs_json_free(again);
    rs_json_free(document);
    return 0;
}
