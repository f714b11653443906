/* SPDX-License-Identifier: BSD-3-Clause */
/* chain.c - lists of stages: from metadata, from a user, and back. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/stage.h"

static const rs_codec *const codecs[] = {
    &rs_codec_blosc,    &rs_codec_zstd,       &rs_codec_zlib,     &rs_codec_gzip,
    &rs_codec_lz4,      &rs_codec_bz2,        &rs_codec_lzma,     &rs_codec_shuffle,
    &rs_codec_delta,    &rs_codec_astype,     &rs_codec_bitround, &rs_codec_quantize,
    &rs_codec_crc32,    &rs_codec_crc32c,     &rs_codec_adler32,  &rs_codec_fixedscaleoffset,
    &rs_codec_packbits, &rs_codec_fletcher32, &rs_codec_lzf,      &rs_codec_lz4_hdf5,
};

enum { N_CODECS = sizeof codecs / sizeof codecs[0], SETTINGS = 12 };

static const char prefix[] = "numcodecs.";

const char *rs_codec_id(int i)
{
    return i >= 0 && i < N_CODECS ? codecs[i]->id : NULL;
}

/* By "id" of version 2, or by name of version 3; NULL: not known. */
static const rs_codec *find_codec(int version, const char *name)
{
    size_t skip = version == 3 && strncmp(name, prefix, sizeof prefix - 1) == 0 ? sizeof prefix - 1 : 0;
    for (int i = 0; i < N_CODECS; i++) {
        const char *own = version == 3 && skip == 0 ? codecs[i]->name : codecs[i]->id;
        bool foreign = codecs[i]->is_hdf5 && version >= 2;
        if (own != NULL && !foreign && strcmp(own, name + skip) == 0) {
            return codecs[i];
        }
    }
    return NULL;
}

/* ---- From metadata and back -------------------------------------------------------------------- */

resplit_status rs_chain_add(rs_chain *chain, int version, const char *name, const rs_json *config,
                            const rs_element *element, resplit_error *err)
{
    const rs_codec *codec = find_codec(version, name);
    if (codec == NULL) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "codec '%.60s' is not known", name);
    }
    if (chain->n == RS_MAX_STAGES) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "there are more than %d codecs in a row", RS_MAX_STAGES);
    }
    RS_TRY(rs_check_keys(codec, config, err));

    rs_stage *stage = &chain->stage[chain->n];
    memset(stage, 0, sizeof *stage); /* settings that a codec does not have are compared, too */
    stage->codec = codec;
    stage->element = *element;
    RS_TRY(codec->configure(stage, version, config, err));
    chain->n++;
    return RESPLIT_OK;
}

/* Whether version 3 itself has this codec as it is set up. Its checksum is at the end. */
static bool has_own_name(const rs_stage *stage)
{
    return stage->codec->name != NULL && rs_stage_head(stage) == 0;
}

resplit_status rs_stage_print(const rs_stage *stage, int version, rs_text *out, resplit_error *err)
{
    rs_text inner = {0};
    resplit_status rc = stage->codec->print(stage, version, &inner, err);
    if (rc == RESPLIT_OK) {
        const char *settings = inner.n > 0 ? inner.s : "";
        if (version == 2) {
            rc = rs_text_add(out, err, "{\"id\": \"%s\"%s%s}", stage->codec->id, inner.n > 0 ? ", " : "", settings);
        } else if (inner.n > 0 || !has_own_name(stage)) {
            rc = rs_text_add(out, err, "{\"name\": \"%s%s\", \"configuration\": {%s}}",
                             has_own_name(stage) ? "" : prefix,
                             has_own_name(stage) ? stage->codec->name : stage->codec->id, settings);
        } else {
            rc = rs_text_add(out, err, "{\"name\": \"%s\"}", stage->codec->name);
        }
    }
    rs_text_release(&inner);
    return rc;
}

/* ---- From a user and back ---------------------------------------------------------------------- */

/* A setting as JSON: numbers, true and false as they are, all else as a string. */
static resplit_status add_setting(rs_text *json, const char *key, const char *text, size_t n, resplit_error *err)
{
    char word[64], *end = NULL;
    if (n == 0 || n >= sizeof word) {
        return rs_fail(err, RESPLIT_EINVAL, "bad setting '%.*s' of a codec: from 1 to %zu characters",
                       (int)rs_min((int64_t)n, 60), text, sizeof word - 1);
    }
    for (size_t i = 0; i < n; i++) {
        if (!isalnum((unsigned char)text[i]) && strchr("+-._<>|", text[i]) == NULL) {
            return rs_fail(err, RESPLIT_EINVAL, "bad setting '%.*s' of a codec", (int)n, text);
        }
    }
    memcpy(word, text, n);
    word[n] = '\0';
    (void)strtod(word, &end);
    bool is_bare = (*end == '\0' && (isdigit((unsigned char)word[0]) || word[0] == '-')) || strcmp(word, "true") == 0
                   || strcmp(word, "false") == 0;
    return rs_text_add(json, err, is_bare ? ", \"%s\": %s" : ", \"%s\": \"%s\"", key, word);
}

/* "blosc:lz4:5" as the JSON object that version 2 would have. `text` ends at n. */
static resplit_status add_json(rs_text *json, const rs_codec *codec, const char *text, size_t n, resplit_error *err)
{
    size_t at = strlen(codec->id);
    RS_TRY(rs_text_add(json, err, "{\"id\": \"%s\"", codec->id));
    for (int i = 0; at < n; i++) {
        size_t length = strcspn(text + at + 1, ":+");
        if (codec->keys[i] == NULL) {
            return rs_fail(err, RESPLIT_EINVAL, "codec '%.*s' has too many settings: %s has %d",
                           (int)rs_min((int64_t)n, 60), text, codec->id, i);
        }
        RS_TRY(add_setting(json, codec->keys[i], text + at + 1, length, err));
        at += 1 + length;
    }
    return rs_text_add(json, err, "}");
}

static resplit_status fail_unknown(const char *name, resplit_error *err)
{
    char all[300] = "";
    for (int i = 0; i < N_CODECS; i++) {
        size_t n = strlen(all);
        (void)snprintf(all + n, sizeof all - n, " %s", codecs[i]->id);
    }
    return rs_fail(err, RESPLIT_EINVAL, "codec '%s' is not known; there are%s, and none", name, all);
}

static resplit_status parse_stage(rs_chain *out, const char *text, size_t n, const rs_element *element,
                                  resplit_error *err)
{
    char name[32];
    rs_text json = {0};
    rs_json_document *document = NULL;
    resplit_error inner = {0};

    (void)snprintf(name, sizeof name, "%.*s", (int)rs_min((int64_t)strcspn(text, ":+"), 31), text);
    const rs_codec *codec = find_codec(RS_BY_USER, name);
    if (codec == NULL) {
        return fail_unknown(name, err);
    }
    resplit_status rc = add_json(&json, codec, text, n, &inner);
    if (rc == RESPLIT_OK) {
        rc = rs_json_parse(json.s, json.n, "codec", &document, &inner);
    }
    if (rc == RESPLIT_OK) {
        rc = rs_chain_add(out, RS_BY_USER, codec->id, rs_json_root(document), element, &inner);
        rs_json_free(document);
    }
    rs_text_release(&json);
    if (rc != RESPLIT_OK) {
        inner.code = rc == RESPLIT_EFORMAT ? RESPLIT_EINVAL : rc; /* not a file is wrong, but what was asked for */
        return rs_fail_with(err, &inner);
    }
    return RESPLIT_OK;
}

resplit_status rs_chain_parse(const char *text, const rs_element *element, rs_chain *out, resplit_error *err)
{
    rs_element at = *element;
    memset(out, 0, sizeof *out);
    if (strcmp(text, "none") == 0) {
        return RESPLIT_OK;
    }
    for (const char *p = text;; p++) {
        size_t n = strcspn(p, "+");
        RS_TRY(parse_stage(out, p, n, &at, err));
        at = rs_stage_element(&out->stage[out->n - 1]);
        p += n;
        if (*p == '\0') {
            return RESPLIT_OK;
        }
    }
}

resplit_status rs_chain_for_temp(const rs_element *element, rs_chain *out, resplit_error *err)
{
    static const rs_element bytes = {'V', 1, '|'};
    return rs_chain_parse("blosc:lz4:5:bitshuffle", element->itemsize < 256 ? element : &bytes, out, err);
}

const char *rs_chain_text(const rs_chain *chain, char text[200])
{
    size_t n = 0;
    (void)snprintf(text, 200, "none");
    for (int i = 0; i < chain->n && n + 1 < 200; i++) {
        if (i > 0) {
            text[n++] = '+';
        }
        chain->stage[i].codec->describe(&chain->stage[i], text + n, 200 - n);
        n += strlen(text + n);
    }
    return text;
}

/* ---- Questions --------------------------------------------------------------------------------- */

rs_element rs_stage_element(const rs_stage *stage)
{
    return stage->codec->element != NULL ? stage->codec->element(stage) : (rs_element){'V', 1, '|'};
}

bool rs_stage_is_compressor(const rs_stage *stage)
{
    return stage->codec->kind == RS_COMPRESSOR;
}

bool rs_stage_is_on_elements(const rs_stage *stage)
{
    return stage->codec->kind == RS_ON_ELEMENTS;
}

bool rs_stage_is_hdf5(const rs_stage *stage)
{
    return stage->codec->is_hdf5;
}

bool rs_stage_is_lossless(const rs_stage *stage)
{
    return stage->codec->lossless != NULL ? stage->codec->lossless(stage) : stage->codec->is_lossless;
}

bool rs_chain_is_lossless(const rs_chain *chain)
{
    bool lossless = true;
    for (int i = 0; i < chain->n; i++) {
        lossless = lossless && rs_stage_is_lossless(&chain->stage[i]);
    }
    return lossless;
}

void rs_chain_retype(rs_chain *chain, const rs_element *from, const rs_element *to)
{
    for (int i = 0; i < chain->n; i++) {
        rs_stage *stage = &chain->stage[i];
        if (stage->element.kind != from->kind || stage->element.itemsize != from->itemsize) {
            return; /* from here on there are bytes */
        }
        stage->element = *to;
        if (stage->codec->item > 0 && stage->set.number[stage->codec->item - 1] == from->itemsize) {
            stage->set.number[stage->codec->item - 1] = to->itemsize;
        }
    }
}

static bool is_alike(const rs_chain *a, const rs_chain *b, bool decoding)
{
    for (int i = 0; i < a->n && a->n == b->n; i++) {
        const rs_stage *s = &a->stage[i], *t = &b->stage[i];
        uint32_t matters = decoding ? s->codec->decides : UINT32_MAX;
        if (s->codec != t->codec) {
            return false;
        }
        for (int k = 0; k < SETTINGS; k++) {
            if ((matters >> k & 1) != 0 && s->set.number[k] != t->set.number[k]) {
                return false;
            }
        }
    }
    return a->n == b->n;
}

bool rs_chain_decodes_like(const rs_chain *a, const rs_chain *b)
{
    return is_alike(a, b, true);
}

bool rs_chain_is(const rs_chain *a, const rs_chain *b)
{
    return is_alike(a, b, false);
}

int64_t rs_stage_head(const rs_stage *stage)
{
    return stage->codec->sum != NULL && stage->set.number[0] == 0 ? 4 : 0;
}

static int64_t tail_of(const rs_stage *stage)
{
    return stage->codec->sum != NULL && stage->set.number[0] != 0 ? 4 : 0;
}

int64_t rs_stage_bound(const rs_stage *stage, int64_t n)
{
    int64_t more = rs_stage_head(stage) + tail_of(stage);
    if (n < 0 || (stage->codec->bound == NULL && !rs_add(n, more, &n))) {
        return -1;
    }
    return stage->codec->bound == NULL ? n : stage->codec->bound(stage, n);
}

int64_t rs_chain_bound(const rs_chain *chain, int64_t n)
{
    for (int i = 0; i < chain->n && n >= 0; i++) {
        n = rs_stage_bound(&chain->stage[i], n);
    }
    return n;
}

double rs_chain_seconds(const rs_chain *chain, int64_t n, bool encode)
{
    double seconds = 0;
    for (int i = 0; i < chain->n && n >= 0; i++) {
        seconds += (double)n / chain->stage[i].codec->speed(&chain->stage[i], encode);
        n = rs_stage_bound(&chain->stage[i], n); /* no guess how well it compresses: plans shall not be too bold */
    }
    return seconds;
}
