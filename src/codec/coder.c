/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coder.c - runs a chain.
 *
 * Stages go in groups: one that transforms, and the frames that follow it. Only the transforming one moves bytes,
 * straight to where they belong inside of its frames:
 *
 *     shuffle | zstd crc32c        in --shuffle--> between[0] --zstd--> out, and crc32c adds its 4 bytes there
 *
 * The last group writes to `out`, those before it to two areas in turn. Frames at the very beginning have no
 * transforming stage: there, bytes are copied.
 */
#include <stdlib.h>
#include <string.h>

#include "codec/stage.h"

enum { SLACK = 8192 }; /* what malloc adds to two areas */

typedef struct group {
    int first, end; /* stages */
    int frames;     /* the first stage that is a frame */
} group;

struct rs_coder {
    const rs_chain *chain;
    bool encode;
    int n_groups;
    group groups[RS_MAX_STAGES];
    int64_t size[RS_MAX_STAGES + 1];  /* the most that goes into a stage; the last one: that comes out of the chain */
    bool is_exact[RS_MAX_STAGES + 1]; /* it is always that much */
    int64_t between_bytes[2];
    uint8_t *between[2];
    void *context[RS_MAX_STAGES];
};

static bool is_frame(const rs_stage *stage)
{
    return stage->codec->sum != NULL;
}

/* Groups and sizes; false: something is no int64_t, or more than a codec can do. */
static bool lay_out(rs_coder *coder, const rs_chain *chain, int64_t n, bool encode)
{
    memset(coder, 0, sizeof *coder);
    coder->chain = chain;
    coder->encode = encode;
    coder->size[0] = n;
    coder->is_exact[0] = true;
    for (int i = 0; i < chain->n; i++) {
        const rs_stage *stage = &chain->stage[i];
        coder->size[i + 1] = rs_stage_bound(stage, coder->size[i]);
        coder->is_exact[i + 1] = coder->is_exact[i] && (is_frame(stage) || stage->codec->is_sized);
        if (coder->size[i + 1] < 0) {
            return false;
        }
        if (i == 0 || !is_frame(stage)) {
            coder->groups[coder->n_groups++] = (group){i, i, is_frame(stage) ? i : i + 1};
        }
        coder->groups[coder->n_groups - 1].end = i + 1;
    }
    for (int g = 0; g + 1 < coder->n_groups; g++) {
        int64_t bytes = rs_max(coder->size[coder->groups[g].end], 1); /* decoding, the next group gives it back */
        coder->between_bytes[g % 2] = rs_max(coder->between_bytes[g % 2], bytes);
    }
    if (coder->n_groups > 2) { /* a stage that is left out changes whose turn it is */
        coder->between_bytes[0] = coder->between_bytes[1] = rs_max(coder->between_bytes[0], coder->between_bytes[1]);
    }
    return true;
}

int64_t rs_coder_bytes(const rs_chain *chain, int64_t n, bool encode)
{
    rs_coder coder;
    int64_t total = (int64_t)sizeof coder + SLACK;
    if (!lay_out(&coder, chain, n, encode) || !rs_add(total, coder.between_bytes[0], &total)
        || !rs_add(total, coder.between_bytes[1], &total)) {
        return -1;
    }
    for (int i = 0; i < chain->n; i++) {
        const rs_stage *stage = &chain->stage[i];
        int64_t bytes = stage->codec->memory == NULL ? 0 : stage->codec->memory(stage, coder.size[i], encode);
        if (bytes < 0 || !rs_add(total, bytes, &total)) {
            return -1;
        }
    }
    return total;
}

resplit_status rs_coder_new(const rs_chain *chain, int64_t n, bool encode, rs_coder **out, resplit_error *err)
{
    char text[200];
    resplit_status rc = RESPLIT_OK;
    rs_coder *coder = malloc(sizeof *coder);
    *out = NULL;
    if (coder == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for codec '%s'", rs_chain_text(chain, text));
    }
    if (!lay_out(coder, chain, n, encode)) {
        rc = rs_fail(err, RESPLIT_EUNSUPPORTED,
                     "a block of %lld bytes is more than codec '%s' can do; use smaller blocks", (long long)n,
                     rs_chain_text(chain, text));
        goto out;
    }
    for (int i = 0; i < 2 && rc == RESPLIT_OK; i++) {
        if (coder->between_bytes[i] > 0 && (coder->between[i] = malloc((size_t)coder->between_bytes[i])) == NULL) {
            rc = rs_fail(err, RESPLIT_ENOMEM, "no memory for %lld bytes between stages of codec '%s'",
                         (long long)coder->between_bytes[i], rs_chain_text(chain, text));
        }
    }
    for (int i = 0; i < chain->n && rc == RESPLIT_OK; i++) {
        if (chain->stage[i].codec->open != NULL) {
            rc = chain->stage[i].codec->open(&chain->stage[i], coder->size[i], encode, &coder->context[i], err);
        }
    }
out:
    if (rc != RESPLIT_OK) {
        rs_coder_free(coder);
        return rc;
    }
    *out = coder;
    return RESPLIT_OK;
}

void rs_coder_fit(rs_coder *coder, int64_t n)
{
    coder->size[0] = n;
    for (int i = 0; i < coder->chain->n; i++) { /* no more than before: contexts and areas are large enough */
        coder->size[i + 1] = rs_stage_bound(&coder->chain->stage[i], coder->size[i]);
    }
}

void rs_coder_free(rs_coder *coder)
{
    if (coder == NULL) {
        return;
    }
    for (int i = 0; i < coder->chain->n; i++) {
        if (coder->context[i] != NULL) {
            coder->chain->stage[i].codec->close(coder->context[i], coder->encode);
        }
    }
    free(coder->between[0]);
    free(coder->between[1]);
    free(coder);
}

static void copy(rs_pass *pass)
{
    if (pass->n_in > 0) {
        memcpy(pass->out, pass->in, (size_t)pass->n_in);
    }
    pass->n_out = pass->n_in;
}

/* ---- Encoding ---------------------------------------------------------------------------------- */

/* Puts the sum of a payload beside it; *payload becomes where the frame begins. */
static int64_t seal(const rs_stage *stage, uint8_t **payload, int64_t n)
{
    uint32_t sum = stage->codec->sum(*payload, n);
    rs_store32(rs_stage_head(stage) > 0 ? *payload - 4 : *payload + n, sum);
    *payload -= rs_stage_head(stage);
    return n + 4;
}

static resplit_status encode_group(rs_coder *coder, const group *g, const uint8_t **in, int64_t *n, uint8_t *out,
                                   resplit_error *err)
{
    const rs_stage *stage = coder->chain->stage;
    int64_t head = 0;
    for (int i = g->frames; i < g->end; i++) {
        head += rs_stage_head(&stage[i]);
    }
    rs_pass pass = {.in = *in, .n_in = *n, .out = out + head, .room = coder->size[g->frames], .encode = true};
    if (g->first == g->frames) {
        copy(&pass);
    } else {
        RS_TRY(stage[g->first].codec->encode(&stage[g->first], coder->context[g->first], &pass, err));
    }
    for (int i = g->frames; i < g->end; i++) {
        pass.n_out = seal(&stage[i], &pass.out, pass.n_out);
    }
    *in = pass.out;
    *n = pass.n_out;
    return RESPLIT_OK;
}

resplit_status rs_encode(rs_coder *coder, const void *in, void *out, int64_t *n_out, resplit_error *err)
{
    const uint8_t *at = in;
    int64_t n = coder->size[0];
    if (coder->n_groups == 0) {
        rs_pass pass = {.in = in, .n_in = n, .out = out, .room = n};
        copy(&pass);
    }
    for (int g = 0; g < coder->n_groups; g++) {
        bool is_last = g + 1 == coder->n_groups;
        RS_TRY(encode_group(coder, &coder->groups[g], &at, &n, is_last ? out : coder->between[g % 2], err));
    }
    *n_out = n;
    return RESPLIT_OK;
}

/* ---- Decoding ---------------------------------------------------------------------------------- */

/* Checks the sum of a frame; *in and *n become its payload. */
static resplit_status unseal(const rs_stage *stage, const uint8_t **in, int64_t *n, resplit_error *err)
{
    if (*n < 4) {
        return rs_fail(err, RESPLIT_EFORMAT, "there are %lld bytes, too few for the checksum of '%s', which has 4",
                       (long long)*n, stage->codec->id);
    }
    const uint8_t *payload = *in + rs_stage_head(stage);
    uint32_t stored = rs_load32(rs_stage_head(stage) > 0 ? *in : *in + *n - 4);
    uint32_t computed = stage->codec->sum(payload, *n - 4);
    if (stored != computed) {
        return rs_fail(err, RESPLIT_EFORMAT, "the checksum '%s' is 0x%08lx, but that of the %lld bytes is 0x%08lx",
                       stage->codec->id, (unsigned long)stored, (long long)(*n - 4), (unsigned long)computed);
    }
    *in = payload;
    *n -= 4;
    return RESPLIT_OK;
}

static resplit_status decode_group(rs_coder *coder, const group *g, const uint8_t **in, int64_t *n, uint8_t *out,
                                   resplit_error *err)
{
    const rs_stage *stage = &coder->chain->stage[g->first];
    int64_t want = coder->size[g->first];
    for (int i = g->end - 1; i >= g->frames; i--) {
        RS_TRY(unseal(&coder->chain->stage[i], in, n, err));
    }
    rs_pass pass = {.in = *in, .n_in = *n, .out = out, .room = want};
    if (g->first < g->frames) {
        RS_TRY(stage->codec->decode(stage, coder->context[g->first], &pass, err));
    } else if (*n <= want) {
        copy(&pass);
    } else {
        pass.n_out = *n;
    }
    if (pass.n_out > want || (coder->is_exact[g->first] && pass.n_out != want)) {
        return rs_fail(err, RESPLIT_EFORMAT, "'%s' gives %lld bytes where there should be %lld", stage->codec->id,
                       (long long)pass.n_out, (long long)want);
    }
    *in = out;
    *n = pass.n_out;
    return RESPLIT_OK;
}

static resplit_status decode(rs_coder *coder, const void *in, int64_t n_in, void *out, resplit_error *err)
{
    const uint8_t *at = in;
    if (coder->n_groups == 0) {
        rs_pass pass = {.in = in, .n_in = n_in, .out = out, .room = n_in};
        if (n_in != coder->size[0]) {
            return rs_fail(err, RESPLIT_EFORMAT, "there are %lld bytes where there should be %lld", (long long)n_in,
                           (long long)coder->size[0]);
        }
        copy(&pass);
    }
    for (int g = coder->n_groups - 1; g >= 0; g--) {
        RS_TRY(decode_group(coder, &coder->groups[g], &at, &n_in, g == 0 ? out : coder->between[(g - 1) % 2], err));
    }
    return RESPLIT_OK;
}

/* ---- Decoding, with stages left out ------------------------------------------------------------ */

static bool is_skipped(uint32_t skip, int i)
{
    return (skip >> i & 1) != 0;
}

/* Where the next group decodes to: not where its input is. */
static uint8_t *other_area(const rs_coder *coder, const uint8_t *in)
{
    return coder->between[in == coder->between[0] ? 1 : 0];
}

/* Sizes in between are what they happen to be; only the last one is known. */
static resplit_status decode_group_skipping(rs_coder *coder, const group *g, uint32_t skip, const uint8_t **in,
                                            int64_t *n, uint8_t *out, resplit_error *err)
{
    const rs_stage *stage = &coder->chain->stage[g->first];
    for (int i = g->end - 1; i >= g->frames; i--) {
        if (!is_skipped(skip, i)) {
            RS_TRY(unseal(&coder->chain->stage[i], in, n, err));
        }
    }
    if (g->first == g->frames || is_skipped(skip, g->first)) {
        return RESPLIT_OK;
    }
    rs_pass pass = {.in = *in, .n_in = *n, .out = out, .room = coder->size[g->first]};
    RS_TRY(stage->codec->decode(stage, coder->context[g->first], &pass, err));
    if (pass.n_out > pass.room) {
        return rs_fail_room(stage, &pass, err);
    }
    *in = out;
    *n = pass.n_out;
    return RESPLIT_OK;
}

static resplit_status decode_skipping(rs_coder *coder, uint32_t skip, const void *in, int64_t n_in, void *out,
                                      resplit_error *err)
{
    const uint8_t *at = in;
    int64_t want = coder->size[0];
    for (int g = coder->n_groups - 1; g >= 0; g--) {
        uint8_t *area = g == 0 ? out : other_area(coder, at);
        RS_TRY(decode_group_skipping(coder, &coder->groups[g], skip, &at, &n_in, area, err));
    }
    if (n_in != want) {
        return rs_fail(err, RESPLIT_EFORMAT, "there are %lld bytes where there should be %lld", (long long)n_in,
                       (long long)want);
    }
    if (at != out) {
        memcpy(out, at, (size_t)n_in);
    }
    return RESPLIT_OK;
}

resplit_status rs_decode_skipping(rs_coder *coder, uint32_t skip, const void *in, int64_t n_in, void *out,
                                  resplit_error *err)
{
    return skip == 0 ? decode(coder, in, n_in, out, err) : decode_skipping(coder, skip, in, n_in, out, err);
}

resplit_status rs_decode(rs_coder *coder, const void *in, int64_t n_in, void *out, resplit_error *err)
{
    return rs_decode_skipping(coder, 0, in, n_in, out, err);
}
