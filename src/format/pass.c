/* SPDX-License-Identifier: BSD-3-Clause */
/* pass.c - an array that was opened in another process: its values as they are, and what they own. */
#include "format/array.h"
#include "format/hdf5_array.h"
#include "format/hdf5.h"
#include "format/minc_array.h"

static void pass_texts(rs_wire *wire, resplit_array *a)
{
    rs_wire_string(wire, &a->path);
    rs_wire_string(wire, &a->dtype.descr);
    rs_wire_string(wire, &a->pattern);
    rs_wire_string(wire, &a->wished_codec);
    rs_wire_text(wire, &a->notes);
    rs_wire_text(wire, &a->words);
}

/* In the memory of uneven cuts are n + 1 positions and n lengths. */
static void pass_tables(rs_wire *wire, resplit_array *a)
{
    for (int d = 0; d < RS_MAX_NDIM; d++) {
        rs_axis *axis = &a->layout.axis[d];
        rs_wire_owned(wire, (void **)&a->cuts[d], (2 * axis->n + 1) * (int64_t)sizeof *a->cuts[d]);
        axis->cuts = axis->step > 0 ? NULL : a->cuts[d];
    }
    rs_wire_owned(wire, (void **)&a->offsets, a->info.n_blocks * (int64_t)sizeof *a->offsets);
    rs_wire_owned(wire, (void **)&a->fill, a->dtype.itemsize);
    rs_wire_owned(wire, (void **)&a->pad, a->dtype.itemsize);
}

void rs_array_pass(rs_wire *wire, void *array)
{
    resplit_array *a = array;
    rs_wire_bytes(wire, a, sizeof *a);
    pass_texts(wire, a);
    pass_tables(wire, a);
    rs_hdf5_pass(wire, a, &a->hdf5);
    rs_minc_pass(wire, &a->minc);
    rs_wire_owned(wire, (void **)&a->files, sizeof *a->files);
    if (a->files != NULL) { /* which has none */
        rs_array_pass(wire, a->files);
    }
}

/* The public view borrows from all of it. */
resplit_status rs_array_take(resplit_array *array, resplit_error *err)
{
    array->info.codec = array->info.codec != NULL ? array->codec : NULL;
    array->info.dataset = array->hdf5 != NULL && array->files == NULL ? array->hdf5->dataset : NULL;
    return rs_array_finish(array, err);
}
