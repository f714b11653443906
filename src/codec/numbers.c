/* SPDX-License-Identifier: BSD-3-Clause */
/* numbers.c - elements as numbers and back. */
#include "codec/numbers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Types ------------------------------------------------------------------------------------- */

static bool is_big_machine(void)
{
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
}

static int64_t pack_type(rs_type type)
{
    return type.kind | (int64_t)type.size << 8 | (int64_t)type.swap << 16;
}

rs_type rs_type_unpack(int64_t packed)
{
    return (rs_type){(char)(packed & 0xff), (int)(packed >> 8 & 0xff), (packed >> 16 & 1) != 0};
}

static char order_of(rs_type type)
{
    return type.size == 1 ? '|' : type.swap != is_big_machine() ? '>' : '<';
}

static rs_element element_of(rs_type type)
{
    return (rs_element){type.kind, type.size, order_of(type)};
}

const char *rs_type_text(rs_type type, char text[8])
{
    (void)snprintf(text, 8, "%c%c%d", order_of(type), type.kind, type.size);
    return text;
}

static bool is_number(char kind, int64_t size)
{
    bool is_power = size == 1 || size == 2 || size == 4 || size == 8;
    return (kind == 'b' && size == 1) || ((kind == 'i' || kind == 'u') && is_power)
           || (kind == 'f' && is_power && size > 1);
}

static rs_type make_type(char kind, int64_t size, char order)
{
    return (rs_type){kind, (int)size, size > 1 && order != '|' && (order == '>') != is_big_machine()};
}

/* NumPy's other names: bool, int8, uint16, float64. */
static bool find_named(const rs_json *value, rs_type *out)
{
    static const struct {
        const char *name;
        char kind;
        int size;
    } all[] = {{"bool", 'b', 1},   {"int8", 'i', 1},    {"int16", 'i', 2},   {"int32", 'i', 4},
               {"int64", 'i', 8},  {"uint8", 'u', 1},   {"uint16", 'u', 2},  {"uint32", 'u', 4},
               {"uint64", 'u', 8}, {"float16", 'f', 2}, {"float32", 'f', 4}, {"float64", 'f', 8}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (rs_json_is(value, all[i].name)) {
            *out = (rs_type){all[i].kind, all[i].size, false};
            return true;
        }
    }
    return false;
}

/* "<i4" or "i4", in quotes. */
static bool find_typestr(const rs_json *value, rs_type *out)
{
    const char *s = value->text + 1, *end = value->text + value->n - 1;
    char order = '=';
    if (value->kind != RS_JSON_STRING || value->n < 4) {
        return false;
    }
    if (strchr("<>|=", *s) != NULL) {
        order = *s++;
    }
    if (end - s != 2 || s[1] < '0' || s[1] > '9' || !is_number(s[0], s[1] - '0')) {
        return false;
    }
    *out = make_type(s[0], s[1] - '0', order == '=' ? (is_big_machine() ? '>' : '<') : order);
    return true;
}

resplit_status rs_take_type(const rs_stage *stage, const rs_json *config, const char *key, int version, int64_t *out,
                            resplit_error *err)
{
    const rs_json *value = config == NULL ? NULL : rs_json_get(config, key);
    rs_type type = {0};
    if (value == NULL || value->kind == RS_JSON_NULL) {
        return RESPLIT_OK;
    }
    if (!find_typestr(value, &type) && !find_named(value, &type)) {
        return rs_fail(
            err, RESPLIT_EUNSUPPORTED,
            "codec '%s' has %s %.*s; booleans, integers and floating-point numbers up to 8 bytes can be used",
            stage->codec->id, key, (int)rs_min((int64_t)value->n, 40), value->text);
    }
    /* In version 3 such a stage comes before the elements get their byte order. */
    if (version == 3 && type.size > 1 && stage->element.byteorder != '|') {
        type = make_type(type.kind, type.size, stage->element.byteorder);
    }
    *out = pack_type(type);
    return RESPLIT_OK;
}

bool rs_type_of(const rs_element *element, rs_type *out)
{
    *out = make_type(element->kind, element->itemsize, element->byteorder);
    return is_number(element->kind, element->itemsize);
}

resplit_status rs_own_type(const rs_stage *stage, int64_t *out, resplit_error *err)
{
    const rs_element *element = &stage->element;
    rs_type type;
    if (!rs_type_of(element, &type)) {
        return rs_fail(
            err, RESPLIT_EUNSUPPORTED,
            "codec '%s' is for booleans, integers and floating-point numbers up to 8 bytes, not for '%c%lld'",
            stage->codec->id, element->kind, (long long)element->itemsize);
    }
    *out = pack_type(type);
    return RESPLIT_OK;
}

resplit_status rs_take_types(rs_stage *stage, const rs_json *config, int version, resplit_error *err)
{
    int64_t *set = stage->set.number;
    RS_TRY(rs_take_type(stage, config, "dtype", version, &set[0], err));
    if (set[0] == 0) {
        RS_TRY(rs_own_type(stage, &set[0], err));
    }
    set[1] = set[0];
    return rs_take_type(stage, config, "astype", version, &set[1], err);
}

resplit_status rs_print_types(const rs_stage *stage, rs_text *out, resplit_error *err)
{
    char a[8], b[8];
    return rs_text_add(out, err, "\"dtype\": \"%s\", \"astype\": \"%s\"",
                       rs_type_text(rs_type_unpack(stage->set.number[0]), a),
                       rs_type_text(rs_type_unpack(stage->set.number[1]), b));
}

bool rs_type_holds(rs_type type, int64_t value)
{
    int bits = 8 * type.size;
    if (type.kind == 'u') {
        return value >= 0 && (bits == 64 || value >> bits == 0);
    }
    return bits == 64 || (value >= -(INT64_C(1) << (bits - 1)) && value < INT64_C(1) << (bits - 1));
}

resplit_status rs_count_elements(const rs_stage *stage, const rs_pass *pass, rs_type in, rs_type out, int64_t *count,
                                 resplit_error *err)
{
    *count = pass->n_in / in.size;
    if (pass->n_in % in.size != 0) {
        return rs_fail(err, RESPLIT_EFORMAT, "'%s' has %lld bytes, no multiple of its elements of %d bytes",
                       stage->codec->id, (long long)pass->n_in, in.size);
    }
    return *count > pass->room / out.size ? rs_fail_room(stage, pass, err) : RESPLIT_OK;
}

int64_t rs_types_bound(const rs_stage *stage, int64_t n)
{
    rs_type in = rs_type_unpack(stage->set.number[0]), out = rs_type_unpack(stage->set.number[1]);
    int64_t bytes;
    return n % in.size == 0 && rs_mul(n / in.size, out.size, &bytes) ? bytes : -1;
}

rs_element rs_types_element(const rs_stage *stage)
{
    return element_of(rs_type_unpack(stage->set.number[1]));
}

bool rs_types_have_half(const rs_stage *stage)
{
    rs_type a = rs_type_unpack(stage->set.number[0]), b = rs_type_unpack(stage->set.number[1]);
    return (a.kind == 'f' && a.size == 2) || (b.kind == 'f' && b.size == 2);
}

/* ---- Half precision ---------------------------------------------------------------------------- */

static double from_half(uint16_t h)
{
    int exponent = h >> 10 & 31, fraction = h & 1023;
    double value = exponent == 31  ? (fraction == 0 ? (double)INFINITY : (double)NAN)
                   : exponent == 0 ? ldexp(fraction, -24)
                                   : ldexp(fraction + 1024, exponent - 25);
    return (h & 0x8000) != 0 ? -value : value;
}

/* Rounded to nearest, ties to even, once. */
static uint16_t to_half(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
    double size = fabs(value);
    if (isnan(value)) {
        return sign | 0x7e00;
    }
    if (size >= 65520) { /* half way to what would come after the largest */
        return sign | 0x7c00;
    }
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    int unit = exponent < -14 ? -24 : exponent - 10;      /* of the last place */
    uint32_t places = (uint32_t)rint(ldexp(size, -unit)); /* 11 bits; 12 when it was rounded up to the next power */
    uint32_t base = exponent < -14 ? 0 : (uint32_t)(exponent + 14) << 10;
    return (uint16_t)(sign | (base + places));
}

/* ---- Loading and storing ------------------------------------------------------------------------- */

static inline uint64_t swapped(uint64_t v, int size)
{
    return size == 2   ? __builtin_bswap16((uint16_t)v)
           : size == 4 ? __builtin_bswap32((uint32_t)v)
                       : __builtin_bswap64(v);
}

#define EACH(TYPE, MEMBER, VALUE)                                                                                      \
    for (int64_t k = 0; k < n; k++) {                                                                                  \
        TYPE v;                                                                                                        \
        memcpy(&v, in + k * (int64_t)sizeof v, sizeof v);                                                              \
        if (swap && sizeof v > 1) {                                                                                    \
            v = (TYPE)swapped((uint64_t)v, (int)sizeof v);                                                             \
        }                                                                                                              \
        out[k].MEMBER = (VALUE);                                                                                       \
    }                                                                                                                  \
    break

static double as_float(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

void rs_numbers_load(rs_type type, const uint8_t *in, int64_t n, rs_number *out)
{
    bool swap = type.swap;
    switch (type.kind << 8 | type.size) {
    case 'b' << 8 | 1: EACH(uint8_t, i, v != 0);
    case 'i' << 8 | 1: EACH(uint8_t, i, (v ^ 0x80) - 0x80);
    case 'i' << 8 | 2: EACH(uint16_t, i, (int16_t)v);
    case 'i' << 8 | 4: EACH(uint32_t, i, (int32_t)v);
    case 'u' << 8 | 1: EACH(uint8_t, i, v);
    case 'u' << 8 | 2: EACH(uint16_t, i, v);
    case 'u' << 8 | 4: EACH(uint32_t, i, v);
    case 'f' << 8 | 2: EACH(uint16_t, f, from_half(v));
    case 'f' << 8 | 4: EACH(uint32_t, f, as_float(v));
    default: EACH(uint64_t, i, (int64_t)v); /* i8, u8, f8: the bits */
    }
}

#define EACH_STORED(TYPE, GET)                                                                                         \
    for (int64_t k = 0; k < n; k++) {                                                                                  \
        TYPE v = (GET);                                                                                                \
        if (swap && sizeof v > 1) {                                                                                    \
            v = (TYPE)swapped((uint64_t)v, (int)sizeof v);                                                             \
        }                                                                                                              \
        memcpy(out + k * (int64_t)sizeof v, &v, sizeof v);                                                             \
    }                                                                                                                  \
    break

static uint32_t float_bits(double value)
{
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

void rs_numbers_store(rs_type type, const rs_number *in, int64_t n, uint8_t *out)
{
    bool swap = type.swap;
    if (type.kind == 'f') {
        switch (type.size) {
        case 2: EACH_STORED(uint16_t, to_half(in[k].f));
        case 4: EACH_STORED(uint32_t, float_bits(in[k].f));
        default: EACH_STORED(uint64_t, (uint64_t)in[k].i);
        }
        return;
    }
    switch (type.size) {
    case 1: EACH_STORED(uint8_t, (uint8_t)in[k].i);
    case 2: EACH_STORED(uint16_t, (uint16_t)in[k].i);
    case 4: EACH_STORED(uint32_t, (uint32_t)in[k].i);
    default: EACH_STORED(uint64_t, (uint64_t)in[k].i);
    }
}

/* ---- Converting -------------------------------------------------------------------------------- */

double rs_round_to(rs_type type, double value)
{
    return type.size == 2 ? from_half(to_half(value)) : type.size == 4 ? (double)(float)value : value;
}

int64_t rs_wrap_to(rs_type type, int64_t value)
{
    int shift = 64 - 8 * type.size;
    uint64_t top = (uint64_t)value << shift;
    return type.kind == 'b' ? value != 0 : type.kind == 'i' ? (int64_t)top >> shift : (int64_t)(top >> shift);
}

/*
 * Toward zero. What no value of the type comes near is undefined in C and NumPy; here it is what x86-64 does: the
 * lowest number of the register that is converted to.
 */
static int64_t to_integer(rs_type to, double value)
{
    const double two63 = 9223372036854775808.0;
    if (to.kind == 'b') {
        return value != 0; /* NaN is true */
    }
    if (to.kind == 'u' && to.size == 8 && value >= two63) {
        return value < 2 * two63 ? (int64_t)(uint64_t)value : 0;
    }
    bool is_wide = to.size == 8 || (to.kind == 'u' && to.size == 4);
    double limit = is_wide ? two63 : 2147483648.0;
    int64_t whole = value > -limit - (is_wide ? 0 : 1) && value < limit ? (int64_t)value
                    : is_wide                                           ? INT64_MIN
                                                                        : INT32_MIN;
    return rs_wrap_to(to, whole);
}

/* From an integer, with one rounding; half precision is made of single precision, as NumPy does. */
static double from_integer(rs_type from, rs_type to, int64_t value)
{
    if (from.kind == 'u' && value < 0) {
        return to.size == 8 ? (double)(uint64_t)value : (double)(float)(uint64_t)value;
    }
    return to.size == 8 ? (double)value : (double)(float)value;
}

void rs_numbers_convert(rs_type from, rs_type to, rs_number *numbers, int64_t n)
{
    bool was_real = from.kind == 'f', is_real = to.kind == 'f';
    if (was_real && is_real) {
        for (int64_t k = 0; to.size < from.size && k < n; k++) {
            numbers[k].f = rs_round_to(to, numbers[k].f);
        }
    } else if (was_real) {
        for (int64_t k = 0; k < n; k++) {
            numbers[k].i = to_integer(to, numbers[k].f);
        }
    } else if (is_real) {
        for (int64_t k = 0; k < n; k++) {
            numbers[k].f = rs_round_to(to, from_integer(from, to, numbers[k].i));
        }
    } else {
        int shift = 64 - 8 * to.size;
        for (int64_t k = 0; to.kind == 'i' && k < n; k++) {
            numbers[k].i = (int64_t)((uint64_t)numbers[k].i << shift) >> shift;
        }
        for (int64_t k = 0; to.kind != 'i' && k < n; k++) {
            numbers[k].i = rs_wrap_to(to, numbers[k].i);
        }
    }
}

/* ---- Filters ----------------------------------------------------------------------------------- */

resplit_status rs_numbers_run(const rs_stage *stage, rs_pass *pass, void (*step)(rs_numbers *numbers),
                              resplit_error *err)
{
    const int64_t *set = stage->set.number;
    rs_numbers numbers = {.stage = stage,
                          .encode = pass->encode,
                          .from = rs_type_unpack(set[pass->encode ? 0 : 1]),
                          .to = rs_type_unpack(set[pass->encode ? 1 : 0])};
    int64_t count;
    RS_TRY(rs_count_elements(stage, pass, numbers.from, numbers.to, &count, err));
    for (; numbers.at < count; numbers.at += RS_PIECE) {
        numbers.n = rs_min(count - numbers.at, RS_PIECE);
        rs_numbers_load(numbers.from, pass->in + numbers.at * numbers.from.size, numbers.n, numbers.v);
        step(&numbers);
        rs_numbers_store(numbers.to, numbers.v, numbers.n, pass->out + numbers.at * numbers.to.size);
    }
    pass->n_out = count * numbers.to.size;
    return RESPLIT_OK;
}
