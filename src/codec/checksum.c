/* SPDX-License-Identifier: BSD-3-Clause */
/* checksum.c - frames: 4 bytes, little endian, before what they are the sum of, or after it. */
#include "codec/checksum.h"

#include <libdeflate.h>

#include <stdio.h>

enum { LOCATION, AT_START = 0, AT_END = 1 };

static const char *const places[] = {"start", "end", NULL};

/* What numcodecs takes when there is no location. Version 3 itself has crc32c at the end, and no choice. */
static int64_t usual_place(const rs_stage *stage)
{
    return stage->codec == &rs_codec_crc32c || stage->codec == &rs_codec_fletcher32 ? AT_END : AT_START;
}

static resplit_status configure(rs_stage *stage, int version, const rs_json *config, resplit_error *err)
{
    (void)version;
    stage->set.number[LOCATION] = usual_place(stage);
    return stage->codec->keys[0] == NULL
               ? RESPLIT_OK
               : rs_take_word(stage->codec, config, "location", places, &stage->set.number[LOCATION], err);
}

static resplit_status print(const rs_stage *stage, int version, rs_text *out, resplit_error *err)
{
    (void)version;
    return stage->set.number[LOCATION] == usual_place(stage)
               ? RESPLIT_OK
               : rs_text_add(out, err, "\"location\": \"%s\"", places[stage->set.number[LOCATION]]);
}

static void describe(const rs_stage *stage, char *text, size_t room)
{
    bool is_usual = stage->set.number[LOCATION] == usual_place(stage);
    (void)snprintf(text, room, "%s%s%s", stage->codec->id, is_usual ? "" : ":",
                   is_usual ? "" : places[stage->set.number[LOCATION]]);
}

/* Measured as in zstd.c. */
static double speed(const rs_stage *stage, bool encode)
{
    (void)encode;
    return stage->codec == &rs_codec_fletcher32 ? 3.4e9 : 10e9;
}

static uint32_t crc32(const uint8_t *bytes, int64_t n)
{
    return libdeflate_crc32(0, bytes, (size_t)n);
}

static uint32_t adler32(const uint8_t *bytes, int64_t n)
{
    return libdeflate_adler32(1, bytes, (size_t)n);
}

/* HDF5's variant: words with the high byte first, and sums folded, not reduced, so that 0xffff stays what it is. */
static uint32_t fletcher32(const uint8_t *p, int64_t n)
{
    enum { NO_OVERFLOW = 360 }; /* words until the second sum could overflow */
    uint32_t a = 0, b = 0;
    int64_t words = n / 2;
    while (words > 0) {
        int64_t some = rs_min(words, NO_OVERFLOW);
        words -= some;
        for (; some > 0; some--, p += 2) {
            a += (uint32_t)p[0] << 8 | p[1];
            b += a;
        }
        a = (a & 0xffff) + (a >> 16);
        b = (b & 0xffff) + (b >> 16);
    }
    if (n % 2 != 0) {
        a += (uint32_t)*p << 8;
        b += a;
        a = (a & 0xffff) + (a >> 16);
        b = (b & 0xffff) + (b >> 16);
    }
    a = (a & 0xffff) + (a >> 16);
    b = (b & 0xffff) + (b >> 16);
    return b << 16 | a;
}

static const char *const keys[] = {"location", NULL};
static const char *const no_keys[] = {NULL};

#define FRAME(ID, NAME, KEYS, SUM)                                                                                     \
    {                                                                                                                  \
        .id = (ID), .name = (NAME), .kind = RS_ON_BYTES, .keys = (KEYS), .decides = 1u << LOCATION, .is_sized = true,  \
        .is_lossless = true, .configure = configure, .print = print, .describe = describe, .speed = speed,             \
        .sum = (SUM)                                                                                                   \
    }

const rs_codec rs_codec_crc32 = FRAME("crc32", NULL, keys, crc32);
const rs_codec rs_codec_crc32c = FRAME("crc32c", "crc32c", keys, rs_crc32c);
const rs_codec rs_codec_adler32 = FRAME("adler32", NULL, keys, adler32);
const rs_codec rs_codec_fletcher32 = FRAME("fletcher32", NULL, no_keys, fletcher32);
