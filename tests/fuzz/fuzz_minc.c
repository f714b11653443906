/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_minc.c - any text as a dimorder, and any numbers and texts as the attributes that libhdf5 would give us of its
 * axes: axes are named or refused, files are the same as themselves, and what is known of places can be written and
 * read again. libhdf5 is not called.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/minc.h"
#include "format/space.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct input {
    const uint8_t *data;
    size_t size;
} input;

static uint8_t take_byte(input *in)
{
    if (in->size == 0) {
        return 0;
    }
    in->size--;
    return *in->data++;
}

/* Any bits, NaN and infinities among them. */
static double take_number(input *in)
{
    uint8_t bytes[8];
    double value;
    for (int i = 0; i < 8; i++) {
        bytes[i] = take_byte(in);
    }
    memcpy(&value, bytes, sizeof value);
    return value;
}

static void add_field(rs_minc *minc, const char *object, const char *name, bool text, const void *bytes, size_t n)
{
    minc->field = realloc(minc->field, (size_t)(minc->n_fields + 1) * sizeof *minc->field);
    assert(minc->field != NULL);
    rs_minc_field *field = &minc->field[minc->n_fields++];
    *field = (rs_minc_field){.text = text};
    (void)snprintf(field->object, sizeof field->object, "%s", object);
    (void)snprintf(field->name, sizeof field->name, "%s", name);
    assert(rs_text_add_bytes(&field->value, bytes, n, NULL) == RESPLIT_OK);
}

static void describe_axis(rs_minc *minc, int d, input *in)
{
    rs_minc_axis *axis = &minc->axis[d];
    char object[RS_MINC_PATH], unit[8] = "";
    double cosines[3];
    uint8_t what = take_byte(in);
    (void)snprintf(object, sizeof object, "/minc-2.0/dimensions/%s", axis->name);
    minc->shape[d] = 1 + what % 4;
    axis->placed = (what & 4) != 0;
    axis->start = take_number(in);
    axis->step = take_number(in);
    for (int k = 0; k < 3; k++) {
        cosines[k] = take_number(in);
    }
    if ((what & 8) != 0) {
        add_field(minc, object, "direction_cosines", false, cosines, sizeof cosines);
    }
    for (int k = 0; k < 4; k++) {
        unit[k] = (char)take_byte(in);
    }
    add_field(minc, object, "units", (what & 16) != 0, unit, strlen(unit));
}

/* One number, or one for each position along the first axis. */
static void add_table(rs_minc *minc, const char *name, input *in)
{
    rs_minc_table *table = &minc->table[minc->n_tables++];
    int64_t n = take_byte(in) % 2 == 1 ? minc->shape[0] : 1;
    *table = (rs_minc_table){.ndim = n > 1, .value = calloc((size_t)n, sizeof(double))};
    assert(table->value != NULL);
    (void)snprintf(table->name, sizeof table->name, "/minc-2.0/image/0/%s", name);
    for (int64_t i = 0; i < n; i++) {
        table->value[i] = take_number(in);
    }
}

static void check_space(const rs_minc *minc, const char *type)
{
    rs_dtype dtype;
    rs_space *space = NULL, *again = NULL;
    rs_text notes = {0}, text = {0};
    rs_json_document *document = NULL;
    assert(rs_dtype_parse(type, &dtype, NULL) == RESPLIT_OK);
    assert(rs_minc_space(minc, &dtype, &space, &notes, NULL) == RESPLIT_OK);
    assert(space->ndim == minc->ndim && rs_space_is_finite(space));
    assert(rs_space_print(space, &text, NULL) == RESPLIT_OK);
    assert(rs_json_parse(text.s, text.n, "fuzz", &document, NULL) == RESPLIT_OK);
    resplit_status rc =
        rs_space_parse(rs_json_root(document), space->ndim, &again, NULL); /* unless names are the same */
    for (int i = 0; rc == RESPLIT_OK && i < 3 * (space->ndim + 1); i++) {
        assert(again->affine[i % 3][i / 3] == space->affine[i % 3][i / 3]);
    }
    rs_json_free(document);
    rs_space_free(again);
    rs_space_free(space);
    rs_text_release(&text);
    rs_text_release(&notes);
    rs_dtype_release(&dtype);
}

static void check_image(rs_minc *minc, input *in)
{
    static const char *const types[] = {"<i2", "u1", "<f4", ">i4"};
    rs_minc_difference found;
    double range[2] = {take_number(in), take_number(in)};
    for (int d = 0; d < minc->ndim; d++) {
        describe_axis(minc, d, in);
    }
    add_field(minc, RS_MINC_IMAGE, "valid_range", false, range, sizeof range);
    add_table(minc, "image-min", in);
    add_table(minc, "image-max", in);
    rs_minc_compare_fields(minc, minc, &found);
    assert(found.field[0] == '\0' && found.noted[0] == '\0');
    check_space(minc, types[take_byte(in) % 4]);
}

/* Which files may not have. */
static bool has_twins(char names[][RS_MINC_NAME], int n)
{
    for (int i = 0; i < n * n; i++) {
        if (i / n < i % n && strcmp(names[i / n], names[i % n]) == 0) {
            return true;
        }
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char order[512], names[RS_MAX_NDIM + 1][RS_MINC_NAME];
    const uint8_t *end = size > 0 ? memchr(data, '\n', size) : NULL;
    size_t n = end != NULL ? (size_t)(end - data) : size;
    if (n >= sizeof order) {
        return 0;
    }
    memcpy(order, data, n);
    order[n] = '\0';
    int n_names = rs_minc_names(order, names, RS_MAX_NDIM + 1);
    assert(n_names >= -1 && n_names <= RS_MAX_NDIM + 1);
    if (n_names < 1 || n_names > RS_MAX_NDIM || has_twins(names, n_names)) {
        return 0;
    }
    rs_minc *minc = calloc(1, sizeof *minc);
    assert(minc != NULL);
    minc->ndim = n_names;
    for (int d = 0; d < n_names; d++) {
        assert(names[d][0] != '\0' && strchr(names[d], '/') == NULL && strlen(names[d]) < RS_MINC_NAME);
        memcpy(minc->axis[d].name, names[d], sizeof names[d]);
    }
    input in = {data + n + (end != NULL), size - n - (end != NULL)};
    check_image(minc, &in);
    rs_minc_free(minc);
    return 0;
}
