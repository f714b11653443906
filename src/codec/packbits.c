/* SPDX-License-Identifier: BSD-3-Clause */
/* packbits.c - booleans as bits, the first one highest; before them a byte that says how many bits at the
   end are none. */
#include "codec/stage.h"

static resplit_status configure(rs_stage *stage, int version, const rs_json *config, resplit_error *err)
{
    (void)version;
    (void)config;
    return stage->element.kind == 'b' && stage->element.itemsize == 1
               ? RESPLIT_OK
               : rs_fail(err, RESPLIT_EUNSUPPORTED, "codec 'packbits' is for booleans, not for '%c%lld'",
                         stage->element.kind, (long long)stage->element.itemsize);
}

static rs_element element(const rs_stage *stage)
{
    (void)stage;
    return (rs_element){'u', 1, '|'};
}

static int64_t bound(const rs_stage *stage, int64_t n)
{
    (void)stage;
    return rs_ceil_div(n, 8) + 1;
}

/* Measured as in zstd.c. */
static double speed(const rs_stage *stage, bool encode)
{
    (void)stage;
    (void)encode;
    return 1.5e9;
}

static resplit_status encode(const rs_stage *stage, void *context, rs_pass *pass, resplit_error *err)
{
    int64_t n = pass->n_in, whole = n / 8, rest = n % 8;
    (void)stage;
    (void)context;
    (void)err;
    pass->out[0] = rest > 0 ? (uint8_t)(8 - rest) : 0;
    for (int64_t k = 0; k < whole + (rest > 0); k++) {
        int bits = 0, here = k < whole ? 8 : (int)rest;
        for (int i = 0; i < here; i++) {
            bits |= (pass->in[8 * k + i] != 0) << (7 - i);
        }
        pass->out[1 + k] = (uint8_t)bits;
    }
    pass->n_out = 1 + whole + (rest > 0);
    return RESPLIT_OK;
}

static resplit_status decode(const rs_stage *stage, void *context, rs_pass *pass, resplit_error *err)
{
    (void)context;
    int64_t n = pass->n_in < 1 ? -1 : 8 * (pass->n_in - 1) - pass->in[0];
    if (n < 0 || pass->in[0] > 7) {
        return rs_fail(err, RESPLIT_EFORMAT,
                       "%lld bytes are none of 'packbits': they begin with the number of unused bits",
                       (long long)pass->n_in);
    }
    if (n > pass->room) {
        return rs_fail_room(stage, pass, err);
    }
    for (int64_t k = 0; k < n; k++) {
        pass->out[k] = pass->in[1 + k / 8] >> (7 - k % 8) & 1;
    }
    pass->n_out = n;
    return RESPLIT_OK;
}

static const char *const keys[] = {NULL};

const rs_codec rs_codec_packbits = {
    .id = "packbits",
    .kind = RS_ON_ELEMENTS,
    .keys = keys,
    .is_sized = true,
    .is_lossless = true,
    .configure = configure,
    .print = rs_print_nothing,
    .describe = rs_describe_id,
    .element = element,
    .bound = bound,
    .speed = speed,
    .encode = encode,
    .decode = decode,
};
