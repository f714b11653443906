/* SPDX-License-Identifier: BSD-3-Clause */
/* minc.c - driver for MINC 2 files, and what is known of an image as a value. */
#include "format/minc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/drivers.h"
#include "format/minc_array.h"

/* ---- Values -------------------------------------------------------------------------------------- */

void rs_minc_free(rs_minc *minc)
{
    if (minc == NULL) {
        return;
    }
    for (int i = 0; i < minc->n_tables; i++) {
        free(minc->table[i].value);
        free(minc->table[i].by);
    }
    for (int i = 0; i < minc->n_fields; i++) {
        rs_text_release(&minc->field[i].value);
    }
    free(minc->field);
    rs_text_release(&minc->type);
    rs_text_release(&minc->head);
    rs_text_release(&minc->line);
    rs_text_release(&minc->notes);
    free(minc);
}

static int64_t count_cells(const rs_minc *minc, const rs_minc_table *table)
{
    int64_t n = 1; /* at most RS_MINC_MOST_CELLS */
    for (int k = 0; k < table->ndim; k++) {
        n *= minc->shape[table->axis[k]];
    }
    return n;
}

/* Nothing is shared: fields, which only blocks are compared by, are left out. */
resplit_status rs_minc_copy(const rs_minc *from, rs_minc **out, resplit_error *err)
{
    rs_minc *to = *out = calloc(1, sizeof *to);
    if (to == NULL) {
        return rs_fail(err, RESPLIT_ENOMEM, "no memory for what is known of an image");
    }
    to->ndim = from->ndim;
    memcpy(to->shape, from->shape, sizeof to->shape);
    memcpy(to->axis, from->axis, sizeof to->axis);
    to->smaller = from->smaller;
    for (int i = 0; i < from->n_tables; i++) {
        size_t bytes = (size_t)count_cells(from, &from->table[i]) * sizeof(double);
        rs_minc_table *table = &to->table[to->n_tables++];
        *table = from->table[i];
        table->by = NULL;
        table->value = malloc(bytes > 0 ? bytes : 1);
        if (table->value == NULL) {
            return rs_fail(err, RESPLIT_ENOMEM, "no memory for a table of %zu bytes", bytes);
        }
        memcpy(table->value, from->table[i].value, bytes);
    }
    RS_TRY(rs_text_add_bytes(&to->type, from->type.s, from->type.n, err));
    return rs_text_add_bytes(&to->head, from->head.s, from->head.n, err);
}

rs_box rs_minc_table_box(const rs_minc_table *table, const rs_box *box)
{
    rs_box out = {.lo = {0}};
    for (int k = 0; k < table->ndim; k++) {
        out.lo[k] = box->lo[table->axis[k]];
        out.hi[k] = box->hi[table->axis[k]];
    }
    return out;
}

rs_view rs_minc_view(const rs_minc_table *table, const rs_box *box, double *values)
{
    int order[RS_MAX_NDIM];
    rs_box own = rs_minc_table_box(table, box);
    rs_order_set(table->ndim, 'C', order);
    return rs_view_of(table->ndim, order, &own, sizeof *values, values);
}

const rs_minc_table *rs_minc_coordinates(const rs_minc *minc, int d)
{
    char name[RS_MINC_PATH];
    (void)snprintf(name, sizeof name, "/minc-2.0/dimensions/%s", minc->axis[d].name);
    for (int i = 0; i < minc->n_tables; i++) {
        if (strcmp(minc->table[i].name, name) == 0) {
            return &minc->table[i];
        }
    }
    return NULL;
}

double rs_minc_start(const rs_minc *minc, int d, int64_t at)
{
    const rs_minc_axis *axis = &minc->axis[d];
    const rs_minc_table *table = axis->irregular ? rs_minc_coordinates(minc, d) : NULL;
    double moved = table == NULL ? axis->step * (double)at : table->value[at] - table->value[0];
    return at == 0 ? axis->start : axis->start + moved;
}

/* Without what only blocks are compared by. */
void rs_minc_pass(rs_wire *wire, rs_minc **minc)
{
    rs_wire_owned(wire, (void **)minc, sizeof **minc);
    rs_minc *m = *minc;
    if (m == NULL) {
        return;
    }
    rs_wire_owned(wire, (void **)&m->field, m->n_fields * (int64_t)sizeof *m->field);
    m->n_fields = m->field != NULL ? m->n_fields : 0;
    for (int i = 0; i < m->n_fields; i++) {
        rs_wire_text(wire, &m->field[i].value);
    }
    for (int i = 0; i < m->n_tables; i++) {
        rs_minc_table *table = &m->table[i];
        table->by = wire->sends ? table->by : NULL;
        rs_wire_owned(wire, (void **)&table->value, count_cells(m, table) * (int64_t)sizeof *table->value);
    }
    rs_wire_text(wire, &m->type);
    rs_wire_text(wire, &m->head);
    rs_wire_text(wire, &m->line);
    rs_wire_text(wire, &m->notes);
}

/* ---- Driver -------------------------------------------------------------------------------------- */

resplit_status rs_minc_check_version(int fd, const char *path, resplit_error *err)
{
    char start[4] = "";
    ssize_t n = pread(fd, start, sizeof start, 0);
    if (n < 0) {
        return rs_fail_errno(err, errno, "cannot read '%s'", path);
    }
    return n == (ssize_t)sizeof start && memcmp(start, "CDF", 3) == 0 && start[3] > 0 && start[3] < 8
               ? rs_fail(err, RESPLIT_EUNSUPPORTED,
                         "'%s' is MINC 1, which is not handled: mincconvert -2 makes MINC 2 of it", path)
               : RESPLIT_OK;
}

static resplit_status read_image(hid_t file, const char *path, rs_head *out, resplit_error *err)
{
    RS_TRY(rs_minc_read(file, path, &out->minc, err));
    resplit_status rc = rs_minc_add_others(file, path, out->minc, err);
    if (rc != RESPLIT_OK) {
        rs_minc_free(out->minc);
        out->minc = NULL;
    }
    return rc;
}

static resplit_status parse_head(int fd, int64_t size, const char *path, rs_head *out, resplit_error *err)
{
    RS_TRY(rs_minc_check_version(fd, path, err));
    return rs_hdf5_parse_head(fd, size, path, RS_MINC_IMAGE, read_image, out, err);
}

const rs_format rs_format_minc2 = {
    .name = "minc2",
    .suffixes = (const char *const[]){".mnc", NULL},
    .has_header = true,
    .has_tail = true,
    .alone = true,
    .parse_head = parse_head,
};
