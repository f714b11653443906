/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lzma.c - LZMA in its three wrappings: .xz, the older .lzma ("alone"), and none at all ("raw").
 *
 * Filters are LZMA, or a delta and then LZMA; those for machine code are refused. As Python does, what follows a stream
 * and is none is not looked at. A stream says how much memory it needs to be decoded: up to what preset 9 needs is
 * given.
 */
#include <lzma.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/stage.h"

/* Settings; of the filter: -1 where its preset decides. */
enum { FORMAT, CHECK, PRESET, DISTANCE, FILTER, FILTER_PRESET, DICT, LC_LP_PB, MODE, NICE, FINDER, DEPTH };

enum { XZ = 1, ALONE = 2, RAW = 3, USUAL = LZMA_PRESET_DEFAULT, AT_ONCE = 1 << 30, MIB = 1 << 20 };

static const struct {
    const char *key;
    int set;
    int shift; /* lc, lp and pb share a number, a byte each, 255 where the preset decides; -1: a number of its own */
    int64_t hi;
} options[] = {{"preset", FILTER_PRESET, -1, UINT32_MAX},
               {"dict_size", DICT, -1, 1536 * MIB},
               {"lc", LC_LP_PB, 0, 4},
               {"lp", LC_LP_PB, 8, 4},
               {"pb", LC_LP_PB, 16, 4},
               {"mode", MODE, -1, 2},
               {"nice_len", NICE, -1, 273},
               {"mf", FINDER, -1, 0x14},
               {"depth", DEPTH, -1, INT32_MAX}};

enum { N_OPTIONS = sizeof options / sizeof options[0] };

/* ---- Settings -------------------------------------------------------------------------------- */

static int64_t get_option(const rs_stage *stage, int i)
{
    int64_t number = stage->set.number[options[i].set];
    int64_t byte = options[i].shift < 0 ? 0 : number >> options[i].shift & 255;
    return options[i].shift < 0 ? number : byte == 255 ? -1 : byte;
}

static void set_option(rs_stage *stage, int i, int64_t value)
{
    int64_t *number = &stage->set.number[options[i].set];
    int shift = options[i].shift;
    *number = shift < 0 ? value : (*number & ~((int64_t)255 << shift)) | value << shift;
}

static resplit_status take_options(rs_stage *stage, const rs_json *filter, resplit_error *err)
{
    for (int i = 0; i < N_OPTIONS; i++) {
        int64_t value = get_option(stage, i);
        RS_TRY(rs_take_int(stage->codec, filter, options[i].key, 0, options[i].hi, &value, err));
        if (value >= 0) {
            set_option(stage, i, value);
        }
    }
    return RESPLIT_OK;
}

static resplit_status take_filter(rs_stage *stage, const rs_json *filter, bool is_last, resplit_error *err)
{
    uint64_t id = 0;
    (void)rs_json_uint64(rs_json_get(filter, "id"), &id);
    if (id == LZMA_FILTER_DELTA && !is_last && stage->set.number[DISTANCE] == 0) {
        stage->set.number[DISTANCE] = 1;
        return rs_take_int(stage->codec, filter, "dist", 1, LZMA_DELTA_DIST_MAX, &stage->set.number[DISTANCE], err);
    }
    if (!is_last || (id != LZMA_FILTER_LZMA2 && id != LZMA_FILTER_LZMA1)) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED,
                       "codec 'lzma' has filters that are not known; LZMA is, and delta before it");
    }
    stage->set.number[FILTER] = (int64_t)id;
    return take_options(stage, filter, err);
}

static bool fill_filters(const rs_stage *stage, lzma_options_lzma *lzma, lzma_options_delta *delta, lzma_filter *out)
{
    int64_t preset = stage->set.number[FILTER] != 0 ? stage->set.number[FILTER_PRESET] : stage->set.number[PRESET];
    int n = 0;
    if (lzma_lzma_preset(lzma, preset < 0 ? USUAL : (uint32_t)preset)) {
        return false;
    }
    if (stage->set.number[FILTER] != 0) {
        uint32_t *const into[] = {NULL, &lzma->dict_size, &lzma->lc, &lzma->lp,   &lzma->pb,
                                  NULL, &lzma->nice_len,  NULL,      &lzma->depth};
        for (int i = 0; i < N_OPTIONS; i++) {
            if (into[i] != NULL && get_option(stage, i) >= 0) {
                *into[i] = (uint32_t)get_option(stage, i);
            }
        }
        lzma->mode = stage->set.number[MODE] < 0 ? lzma->mode : (lzma_mode)stage->set.number[MODE];
        lzma->mf = stage->set.number[FINDER] < 0 ? lzma->mf : (lzma_match_finder)stage->set.number[FINDER];
    }
    if (stage->set.number[DISTANCE] > 0) {
        *delta = (lzma_options_delta){.type = LZMA_DELTA_TYPE_BYTE, .dist = (uint32_t)stage->set.number[DISTANCE]};
        out[n++] = (lzma_filter){LZMA_FILTER_DELTA, delta};
    }
    bool is_one = stage->set.number[FORMAT] == ALONE;
    lzma_vli id = stage->set.number[FILTER] != 0 ? (lzma_vli)stage->set.number[FILTER]
                  : is_one                       ? LZMA_FILTER_LZMA1
                                                 : LZMA_FILTER_LZMA2;
    out[n++] = (lzma_filter){id, lzma};
    out[n] = (lzma_filter){LZMA_VLI_UNKNOWN, NULL};
    return true;
}

/* Whether the library can do what the settings say, both ways. */
static resplit_status check_settings(const rs_stage *stage, const rs_json *config, resplit_error *err)
{
    const int64_t *set = stage->set.number;
    lzma_options_lzma lzma;
    lzma_options_delta delta;
    lzma_filter filters[3];
    if (set[FORMAT] == RAW && set[FILTER] == 0) {
        return rs_fail(err, RESPLIT_EFORMAT, "codec 'lzma' has format 3, raw, and no filters: it needs them");
    }
    if (set[FILTER] != 0 && set[PRESET] >= 0) {
        return rs_fail(err, RESPLIT_EFORMAT, "codec 'lzma' has a preset and filters; only one of them can be");
    }
    if (set[FORMAT] != XZ && set[CHECK] > 0) {
        return rs_fail(err, RESPLIT_EFORMAT, "codec 'lzma' has check %lld, which only format 1 knows",
                       (long long)set[CHECK]);
    }
    bool is_one = set[FILTER] == (int64_t)LZMA_FILTER_LZMA1;
    bool fits = set[FORMAT] == RAW || set[FILTER] == 0 || (set[FORMAT] == XZ && !is_one)
                || (set[FORMAT] == ALONE && is_one && set[DISTANCE] == 0);
    if (!fits || !fill_filters(stage, &lzma, &delta, filters) || lzma_raw_encoder_memusage(filters) == UINT64_MAX
        || lzma_raw_decoder_memusage(filters) == UINT64_MAX
        || (set[CHECK] >= 0 && !lzma_check_is_supported((lzma_check)set[CHECK]))) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "codec 'lzma' has settings that cannot be used: %.*s",
                       config == NULL ? 0 : (int)rs_min((int64_t)config->n, 200), config == NULL ? "" : config->text);
    }
    return RESPLIT_OK;
}

static resplit_status configure(rs_stage *stage, int version, const rs_json *config, resplit_error *err)
{
    int64_t *set = stage->set.number;
    const rs_json *filters = config == NULL ? NULL : rs_json_get(config, "filters");
    (void)version;
    set[FORMAT] = XZ;
    set[CHECK] = set[PRESET] = set[FILTER_PRESET] = set[DICT] = set[MODE] = set[NICE] = set[FINDER] = set[DEPTH] = -1;
    set[LC_LP_PB] = 0xffffff;
    RS_TRY(rs_take_int(stage->codec, config, "format", XZ, RAW, &set[FORMAT], err));
    RS_TRY(rs_take_int(stage->codec, config, "check", -1, LZMA_CHECK_ID_MAX, &set[CHECK], err));
    RS_TRY(rs_take_int(stage->codec, config, "preset", 0, UINT32_MAX, &set[PRESET], err));
    if (filters != NULL && filters->kind != RS_JSON_NULL) {
        if (filters->kind != RS_JSON_ARRAY || filters->first == NULL) {
            return rs_fail(err, RESPLIT_EFORMAT, "codec 'lzma' has filters that are no list");
        }
        for (const rs_json *filter = filters->first; filter != NULL; filter = filter->next) {
            RS_TRY(take_filter(stage, filter, filter->next == NULL, err));
        }
    }
    return check_settings(stage, config, err);
}

static resplit_status print(const rs_stage *stage, int version, rs_text *out, resplit_error *err)
{
    const int64_t *set = stage->set.number;
    (void)version;
    RS_TRY(rs_text_add(out, err, "\"format\": %lld, \"check\": %lld, ", (long long)set[FORMAT], (long long)set[CHECK]));
    RS_TRY(set[PRESET] < 0 ? rs_text_add(out, err, "\"preset\": null, ")
                           : rs_text_add(out, err, "\"preset\": %lld, ", (long long)set[PRESET]));
    if (set[FILTER] == 0) {
        return rs_text_add(out, err, "\"filters\": null");
    }
    RS_TRY(rs_text_add(out, err, "\"filters\": ["));
    if (set[DISTANCE] > 0) {
        RS_TRY(rs_text_add(out, err, "{\"id\": 3, \"dist\": %lld}, ", (long long)set[DISTANCE]));
    }
    RS_TRY(rs_text_add(out, err, "{\"id\": %lld", (long long)set[FILTER]));
    for (int i = 0; i < N_OPTIONS; i++) {
        if (get_option(stage, i) >= 0) {
            RS_TRY(rs_text_add(out, err, ", \"%s\": %lld", options[i].key, (long long)get_option(stage, i)));
        }
    }
    return rs_text_add(out, err, "}]");
}

static void describe(const rs_stage *stage, char *text, size_t room)
{
    static const char *const formats[] = {"", "", ":2", ":3"};
    const int64_t *set = stage->set.number;
    int64_t preset = set[FILTER] != 0 ? set[FILTER_PRESET] : set[PRESET];
    if (preset < 0 && set[FORMAT] == XZ) {
        rs_describe_id(stage, text, room);
        return;
    }
    (void)snprintf(text, room, "lzma:%lld%s", preset < 0 ? (long long)USUAL : (long long)preset, formats[set[FORMAT]]);
}

/* ---- Sizes ------------------------------------------------------------------------------------- */

/* LZMA2 stores what does not become smaller; LZMA1 cannot, and its authors reckon with a third more. */
static int64_t bound(const rs_stage *stage, int64_t n)
{
    bool is_one = stage->set.number[FORMAT] == ALONE || stage->set.number[FILTER] == (int64_t)LZMA_FILTER_LZMA1;
    size_t most = n > INT64_MAX / 4 ? 0 : lzma_stream_buffer_bound((size_t)n);
    return most == 0 ? -1 : is_one ? n + n / 3 + 1024 : (int64_t)most + 1024;
}

/* What a decoder may take: what the settings say, but as much as preset 9 in any case. */
static uint64_t decoder_bytes(const rs_stage *stage)
{
    lzma_options_lzma lzma;
    lzma_options_delta delta;
    lzma_filter filters[3];
    bool works = fill_filters(stage, &lzma, &delta, filters);
    uint64_t own = works ? lzma_raw_decoder_memusage(filters) : UINT64_MAX;
    uint64_t usual = stage->set.number[FORMAT] == RAW ? 0 : lzma_easy_decoder_memusage(9);
    return own > usual ? own : usual;
}

static int64_t memory(const rs_stage *stage, int64_t n, bool encode)
{
    lzma_options_lzma lzma;
    lzma_options_delta delta;
    lzma_filter filters[3];
    (void)n;
    uint64_t bytes = decoder_bytes(stage);
    if (encode) {
        bytes = fill_filters(stage, &lzma, &delta, filters) ? lzma_raw_encoder_memusage(filters) : UINT64_MAX;
    }
    return bytes > INT64_MAX / 2 ? -1 : (int64_t)bytes + MIB / 4; /* wrapping, and what malloc adds */
}

/* Measured as in zstd.c. */
static double speed(const rs_stage *stage, bool encode)
{
    int64_t preset = stage->set.number[FILTER] != 0 ? stage->set.number[FILTER_PRESET] : stage->set.number[PRESET];
    return !encode ? 40e6 : preset == 0 ? 11e6 : preset == 1 ? 5e6 : 2e6;
}

/* ---- Running ----------------------------------------------------------------------------------- */

static resplit_status open(const rs_stage *stage, int64_t n, bool encode, void **context, resplit_error *err)
{
    lzma_stream *stream = malloc(sizeof *stream);
    (void)stage;
    (void)n;
    (void)encode;
    if (stream == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for codec 'lzma'");
    }
    *stream = (lzma_stream)LZMA_STREAM_INIT;
    *context = stream;
    return RESPLIT_OK;
}

static void close(void *context, bool encode)
{
    (void)encode;
    lzma_end(context);
    free(context);
}

/* Begins a stream. What the last one of the same sort allocated is used again. */
static lzma_ret begin(const rs_stage *stage, lzma_stream *stream, bool encode)
{
    lzma_options_lzma lzma;
    lzma_options_delta delta;
    lzma_filter filters[3];
    int64_t format = stage->set.number[FORMAT], check = stage->set.number[CHECK];
    if (!fill_filters(stage, &lzma, &delta, filters)) {
        return LZMA_OPTIONS_ERROR;
    }
    if (encode) {
        return format == XZ ? lzma_stream_encoder(stream, filters, check < 0 ? LZMA_CHECK_CRC64 : (lzma_check)check)
               : format == ALONE ? lzma_alone_encoder(stream, &lzma)
                                 : lzma_raw_encoder(stream, filters);
    }
    return format == XZ      ? lzma_stream_decoder(stream, decoder_bytes(stage), 0)
           : format == ALONE ? lzma_alone_decoder(stream, decoder_bytes(stage))
                             : lzma_raw_decoder(stream, filters);
}

/*
 * One stream, from *at on: LZMA_STREAM_END when it is complete, LZMA_BUF_ERROR when one side came to its end before. A
 * decoder wants room to see the end of a stream, even when nothing more comes.
 */
static lzma_ret run(const rs_stage *stage, lzma_stream *stream, bool encode, rs_pass *pass, int64_t *at)
{
    lzma_ret rc = begin(stage, stream, encode);
    uint8_t spare;
    while (rc == LZMA_OK) {
        size_t in = (size_t)rs_min(pass->n_in - *at, AT_ONCE), out = (size_t)rs_min(pass->room - pass->n_out, AT_ONCE);
        bool is_full = out == 0;
        stream->next_in = pass->in + *at;
        stream->avail_in = in;
        stream->next_out = is_full ? &spare : pass->out + pass->n_out;
        stream->avail_out = is_full ? 1 : out;
        rc = lzma_code(stream, *at + (int64_t)in == pass->n_in && encode ? LZMA_FINISH : LZMA_RUN);
        *at += (int64_t)(in - stream->avail_in);
        if (is_full && stream->avail_out == 0) {
            return LZMA_BUF_ERROR;
        }
        pass->n_out += is_full ? 0 : (int64_t)(out - stream->avail_out);
    }
    return rc;
}

static resplit_status encode(const rs_stage *stage, void *context, rs_pass *pass, resplit_error *err)
{
    int64_t at = 0;
    lzma_ret rc = run(stage, context, true, pass, &at);
    if (rc != LZMA_STREAM_END) {
        return rs_fail(err, rc == LZMA_MEM_ERROR ? RESPLIT_ENOMEM : RESPLIT_EINTERNAL,
                       "cannot compress %lld bytes by 'lzma': error %d", (long long)pass->n_in, (int)rc);
    }
    return RESPLIT_OK;
}

static resplit_status fail_decode(const rs_stage *stage, lzma_stream *stream, lzma_ret rc, const rs_pass *pass,
                                  int64_t start, resplit_error *err)
{
    if (rc == LZMA_MEM_ERROR) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory to decompress 'lzma'");
    }
    if (rc == LZMA_MEMLIMIT_ERROR) {
        return rs_fail(err, RESPLIT_EUNSUPPORTED, "the 'lzma' stream needs %llu bytes of memory; %llu are allowed",
                       (unsigned long long)lzma_memusage(stream), (unsigned long long)decoder_bytes(stage));
    }
    if (rc == LZMA_BUF_ERROR && pass->n_out == pass->room) {
        return rs_fail_room(stage, pass, err);
    }
    return rs_fail(err, RESPLIT_EFORMAT, "the 'lzma' stream at byte %lld of %lld %s", (long long)start,
                   (long long)pass->n_in, rc == LZMA_BUF_ERROR ? "ends too early" : "is damaged");
}

static resplit_status decode(const rs_stage *stage, void *context, rs_pass *pass, resplit_error *err)
{
    int64_t at = 0;
    do {
        int64_t start = at, before = pass->n_out;
        lzma_ret rc = run(stage, context, false, pass, &at);
        if (rc == LZMA_STREAM_END) {
            continue;
        }
        if (start == 0 || rc == LZMA_MEM_ERROR || rc == LZMA_BUF_ERROR) {
            return fail_decode(stage, context, rc, pass, start, err);
        }
        pass->n_out = before;
        break;
    } while (at < pass->n_in);
    return RESPLIT_OK;
}

static const char *const keys[] = {"preset", "format", "check", "filters", NULL};

const rs_codec rs_codec_lzma = {
    .id = "lzma",
    .kind = RS_COMPRESSOR,
    .keys = keys,
    .decides = ~0u ^ (1u << CHECK | 1u << PRESET),
    .is_lossless = true,
    .configure = configure,
    .print = print,
    .describe = describe,
    .bound = bound,
    .memory = memory,
    .speed = speed,
    .open = open,
    .close = close,
    .encode = encode,
    .decode = decode,
};
