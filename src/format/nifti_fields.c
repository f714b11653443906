/* SPDX-License-Identifier: BSD-3-Clause */
/* nifti_fields.c - where the fields of NIfTI headers are, and how their numbers are stored. */
#include "format/nifti.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
const rs_nifti_field rs_nifti_fields[RS_NI_FIELDS] = {
    [RS_NI_SIZEOF_HDR]     = {"sizeof_hdr",     1,  {{'i', 0},   {'i', 0}},   RS_NI_OWN},
    [RS_NI_DIM_INFO]       = {"dim_info",       1,  {{'b', 39},  {'b', 524}}, RS_NI_SAME},
    [RS_NI_DIM]            = {"dim",            8,  {{'h', 40},  {'q', 16}},  RS_NI_OWN},
    [RS_NI_INTENT_P1]      = {"intent_p1",      1,  {{'f', 56},  {'d', 80}},  RS_NI_SAME},
    [RS_NI_INTENT_P2]      = {"intent_p2",      1,  {{'f', 60},  {'d', 88}},  RS_NI_SAME},
    [RS_NI_INTENT_P3]      = {"intent_p3",      1,  {{'f', 64},  {'d', 96}},  RS_NI_SAME},
    [RS_NI_INTENT_CODE]    = {"intent_code",    1,  {{'h', 68},  {'i', 504}}, RS_NI_SAME},
    [RS_NI_INTENT_NAME]    = {"intent_name",    16, {{'c', 328}, {'c', 508}}, RS_NI_SAME},
    [RS_NI_DATATYPE]       = {"datatype",       1,  {{'h', 70},  {'h', 12}},  RS_NI_SAME},
    [RS_NI_BITPIX]         = {"bitpix",         1,  {{'h', 72},  {'h', 14}},  RS_NI_SAME},
    [RS_NI_PIXDIM]         = {"pixdim",         8,  {{'f', 76},  {'d', 104}}, RS_NI_SAME},
    [RS_NI_VOX_OFFSET]     = {"vox_offset",     1,  {{'f', 108}, {'q', 168}}, RS_NI_OWN},
    [RS_NI_SCL_SLOPE]      = {"scl_slope",      1,  {{'f', 112}, {'d', 176}}, RS_NI_SAME},
    [RS_NI_SCL_INTER]      = {"scl_inter",      1,  {{'f', 116}, {'d', 184}}, RS_NI_SAME},
    [RS_NI_SLICE_START]    = {"slice_start",    1,  {{'h', 74},  {'q', 224}}, RS_NI_OWN},
    [RS_NI_SLICE_END]      = {"slice_end",      1,  {{'h', 120}, {'q', 232}}, RS_NI_OWN},
    [RS_NI_SLICE_CODE]     = {"slice_code",     1,  {{'b', 122}, {'i', 496}}, RS_NI_OWN},
    [RS_NI_SLICE_DURATION] = {"slice_duration", 1,  {{'f', 132}, {'d', 208}}, RS_NI_FIRST},
    [RS_NI_XYZT_UNITS]     = {"xyzt_units",     1,  {{'b', 123}, {'i', 500}}, RS_NI_SAME},
    [RS_NI_CAL_MAX]        = {"cal_max",        1,  {{'f', 124}, {'d', 192}}, RS_NI_FIRST},
    [RS_NI_CAL_MIN]        = {"cal_min",        1,  {{'f', 128}, {'d', 200}}, RS_NI_FIRST},
    [RS_NI_TOFFSET]        = {"toffset",        1,  {{'f', 136}, {'d', 216}}, RS_NI_OWN},
    [RS_NI_DESCRIP]        = {"descrip",        80, {{'c', 148}, {'c', 240}}, RS_NI_FIRST},
    [RS_NI_AUX_FILE]       = {"aux_file",       24, {{'c', 228}, {'c', 320}}, RS_NI_FIRST},
    [RS_NI_QFORM_CODE]     = {"qform_code",     1,  {{'h', 252}, {'i', 344}}, RS_NI_SAME},
    [RS_NI_SFORM_CODE]     = {"sform_code",     1,  {{'h', 254}, {'i', 348}}, RS_NI_SAME},
    [RS_NI_QUATERN_B]      = {"quatern_b",      1,  {{'f', 256}, {'d', 352}}, RS_NI_OWN},
    [RS_NI_QUATERN_C]      = {"quatern_c",      1,  {{'f', 260}, {'d', 360}}, RS_NI_OWN},
    [RS_NI_QUATERN_D]      = {"quatern_d",      1,  {{'f', 264}, {'d', 368}}, RS_NI_OWN},
    [RS_NI_QOFFSET_X]      = {"qoffset_x",      1,  {{'f', 268}, {'d', 376}}, RS_NI_OWN},
    [RS_NI_QOFFSET_Y]      = {"qoffset_y",      1,  {{'f', 272}, {'d', 384}}, RS_NI_OWN},
    [RS_NI_QOFFSET_Z]      = {"qoffset_z",      1,  {{'f', 276}, {'d', 392}}, RS_NI_OWN},
    [RS_NI_SROW_X]         = {"srow_x",         4,  {{'f', 280}, {'d', 400}}, RS_NI_OWN},
    [RS_NI_SROW_Y]         = {"srow_y",         4,  {{'f', 296}, {'d', 432}}, RS_NI_OWN},
    [RS_NI_SROW_Z]         = {"srow_z",         4,  {{'f', 312}, {'d', 464}}, RS_NI_OWN},
    [RS_NI_MAGIC]          = {"magic",          4,  {{'c', 344}, {'c', 4}},   RS_NI_OWN},
};
/* clang-format on */

void rs_nifti_release(rs_nifti *nifti)
{
    if (nifti != NULL) {
        rs_text_release(&nifti->head);
    }
}

resplit_status rs_nifti_copy(const rs_nifti *from, rs_nifti *out, resplit_error *err)
{
    *out = *from;
    out->head = (rs_text){0};
    return rs_text_add_bytes(&out->head, from->head.s, from->head.n, err);
}

bool rs_nifti_is_text(rs_nifti_id id)
{
    return rs_nifti_fields[id].in[0].kind == 'c';
}

bool rs_nifti_is_real(rs_nifti_id id)
{
    return rs_nifti_fields[id].in[1].kind == 'd';
}

static int bytes_of(char kind)
{
    switch (kind) {
    case 'h': return 2;
    case 'i':
    case 'f': return 4;
    case 'q':
    case 'd': return 8;
    default: return 1;
    }
}

static char kind_of(const rs_nifti *nifti, rs_nifti_id id)
{
    return rs_nifti_fields[id].in[nifti->version - 1].kind;
}

static unsigned char *place_of(const rs_nifti *nifti, rs_nifti_id id, int i)
{
    int at = rs_nifti_fields[id].in[nifti->version - 1].at + i * bytes_of(kind_of(nifti, id));
    return (unsigned char *)nifti->head.s + at;
}

/* Bit position of byte i of `n`. */
static int shift_of(const rs_nifti *nifti, int i, int n)
{
    return 8 * (nifti->byteorder == '<' ? i : n - 1 - i);
}

static uint64_t load(const rs_nifti *nifti, rs_nifti_id id, int i)
{
    const unsigned char *at = place_of(nifti, id, i);
    int n = bytes_of(kind_of(nifti, id));
    uint64_t bits = 0;
    for (int k = 0; k < n; k++) {
        bits |= (uint64_t)at[k] << shift_of(nifti, k, n);
    }
    return bits;
}

static void store(rs_nifti *nifti, rs_nifti_id id, int i, uint64_t bits)
{
    unsigned char *at = place_of(nifti, id, i);
    int n = bytes_of(kind_of(nifti, id));
    for (int k = 0; k < n; k++) {
        at[k] = (unsigned char)(bits >> shift_of(nifti, k, n));
    }
}

double rs_nifti_real(const rs_nifti *nifti, rs_nifti_id id, int i)
{
    uint64_t bits = load(nifti, id, i);
    uint32_t low = (uint32_t)bits;
    float narrow;
    double wide;
    switch (kind_of(nifti, id)) {
    case 'f': memcpy(&narrow, &low, sizeof narrow); return (double)narrow;
    case 'd': memcpy(&wide, &bits, sizeof wide); return wide;
    default: return (double)rs_nifti_int(nifti, id, i);
    }
}

/* A real that is no int64_t is the least one, which no field may be. */
static int64_t whole_number(double value)
{
    return value >= -0x1p63 && value < 0x1p63 && value == (double)(int64_t)value ? (int64_t)value : INT64_MIN;
}

int64_t rs_nifti_int(const rs_nifti *nifti, rs_nifti_id id, int i)
{
    uint64_t bits = load(nifti, id, i);
    switch (kind_of(nifti, id)) {
    case 'h': return (int16_t)(uint16_t)bits;
    case 'i': return (int32_t)(uint32_t)bits;
    case 'f':
    case 'd': return whole_number(rs_nifti_real(nifti, id, i));
    default: return (int64_t)bits;
    }
}

const char *rs_nifti_bytes(const rs_nifti *nifti, rs_nifti_id id)
{
    return (const char *)place_of(nifti, id, 0);
}

void rs_nifti_set_real(rs_nifti *nifti, rs_nifti_id id, int i, double value)
{
    double old = rs_nifti_real(nifti, id, i);
    float narrow = (float)value;
    uint32_t low;
    uint64_t bits;
    if (rs_nifti_same(old, value)) {
        return;
    }
    memcpy(&low, &narrow, sizeof low);
    memcpy(&bits, &value, sizeof bits);
    store(nifti, id, i, kind_of(nifti, id) == 'f' ? low : bits);
}

void rs_nifti_set_int(rs_nifti *nifti, rs_nifti_id id, int i, int64_t value)
{
    if (rs_nifti_int(nifti, id, i) == value) {
        return;
    }
    if (kind_of(nifti, id) == 'f') {
        rs_nifti_set_real(nifti, id, i, (double)value);
    } else {
        store(nifti, id, i, (uint64_t)value);
    }
}
