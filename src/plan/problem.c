/* SPDX-License-Identifier: BSD-3-Clause */
/* problem.c - two layouts become one problem. */
#include "plan/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int64_t room_needed(const rs_layout *layout)
{
    int64_t n = 0;
    for (int d = 0; d < layout->ndim; d++) {
        n += layout->axis[d].step == 0 ? layout->axis[d].n + 1 : 0;
    }
    return n;
}

/* Looks at `layout` through the box [start, start + shape); shifted cuts go to *room, which moves on. */
static void set_window(const rs_layout *layout, const int64_t *start, const int64_t *shape, rs_layout *out,
                       int64_t *skipped, int64_t **room)
{
    *out = *layout;
    for (int d = 0; d < layout->ndim; d++) {
        out->axis[d] = rs_axis_window(&layout->axis[d], start[d], start[d] + shape[d], *room, &skipped[d]);
        *room += layout->axis[d].step == 0 ? layout->axis[d].n + 1 : 0;
    }
}

/* Both sides, seen through a box of this shape that starts where they say. */
static resplit_status make(const rs_layout *source, const int64_t *start, const rs_layout *target,
                           const int64_t *target_start, const int64_t *shape, rs_problem *out, resplit_error *err)
{
    *out = (rs_problem){.ndim = target->ndim, .itemsize = target->itemsize};
    for (int d = 0; d < target->ndim; d++) {
        out->shape[d] = shape[d];
        if (start[d] < 0 || shape[d] < 0 || shape[d] > source->axis[d].extent - start[d]) {
            return rs_fail(err, RESPLIT_EINVAL, "axis %d: %lld elements from %lld on are outside the source's %lld", d,
                           (long long)shape[d], (long long)start[d], (long long)source->axis[d].extent);
        }
    }
    int64_t room = room_needed(source) + room_needed(target);
    out->cuts = calloc((size_t)room + 1, sizeof *out->cuts);
    if (out->cuts == NULL) {
        return rs_fail_errno(err, ENOMEM, "cannot allocate %lld cut positions", (long long)room);
    }
    int64_t *next = out->cuts;
    set_window(source, start, out->shape, &out->source, out->source_index, &next);
    set_window(target, target_start, out->shape, &out->target, out->target_index, &next);
    out->target.in_memory = false;
    int64_t n_elements;
    if (!rs_layout_count(&out->source, &out->n_source, &n_elements)
        || !rs_layout_count(&out->target, &out->n_target, &out->n_elements)) {
        rs_problem_release(out);
        return rs_fail(err, RESPLIT_EINVAL, "the array is too large: bytes and blocks must fit 63 bits");
    }
    return RESPLIT_OK;
}

resplit_status rs_problem_make(const rs_layout *source, const rs_layout *target, const int64_t *origin,
                               const rs_box *box, rs_problem *out, resplit_error *err)
{
    int64_t from[RS_MAX_NDIM] = {0}, start[RS_MAX_NDIM] = {0}, shape[RS_MAX_NDIM] = {0};
    *out = (rs_problem){0};
    if (source->ndim != target->ndim || source->itemsize != target->itemsize) {
        return rs_fail(err, RESPLIT_EINVAL, "source has %d axes of %lld bytes an element, target %d of %lld",
                       source->ndim, (long long)source->itemsize, target->ndim, (long long)target->itemsize);
    }
    for (int d = 0; d < target->ndim; d++) {
        start[d] = box != NULL ? box->lo[d] : 0;
        shape[d] = box != NULL ? box->hi[d] - box->lo[d] : target->axis[d].extent;
        from[d] = origin[d] + start[d];
    }
    RS_TRY(make(source, from, target, start, shape, out, err));
    for (int d = 0; d < target->ndim; d++) {
        out->start[d] = start[d];
    }
    return RESPLIT_OK;
}

resplit_status rs_problem_make_reading(const rs_layout *array, const int64_t *start, const int64_t *shape,
                                       rs_problem *out, resplit_error *err)
{
    RS_TRY(make(array, start, array, start, shape, out, err));
    for (int d = 0; d < array->ndim; d++) {
        out->target_index[d] = 0; /* no partition: what is read is all there is */
    }
    out->target.coding = (rs_coding){0};
    return RESPLIT_OK;
}

void rs_problem_release(rs_problem *problem)
{
    free(problem->cuts);
    *problem = (rs_problem){0};
}

void rs_problem_see(rs_problem *problem, uint32_t seen)
{
    rs_layout *sides[2] = {&problem->source, &problem->target};
    problem->seen = seen;
    for (int i = 0; i < 2; i++) {
        if ((seen >> i & 1) != 0) {
            sides[i]->atomic = false;
            sides[i]->coding = (rs_coding){.item = sides[i]->coding.item};
        }
    }
    for (int i = 0; i < 2; i++) {
        if ((seen & (i == 0 ? RS_STREAMED_SOURCE : RS_STREAMED_TARGET)) != 0) {
            sides[i]->atomic = false;
            sides[i]->sequential = true;
            sides[i]->coding = (rs_coding){.coder = RS_STREAM_BYTES, .ratio = sides[i]->coding.ratio};
        }
    }
}

int64_t rs_problem_staging(const rs_problem *problem, bool whole)
{
    const rs_coding *source = &problem->source.coding, *target = &problem->target.coding;
    int64_t item = rs_max(problem->itemsize, target->item); /* it is cast in its place */
    int64_t read = source->staging - (whole ? 0 : source->area), written = target->staging - (whole ? 0 : target->area);
    return rs_max(item, rs_max(read, written));
}

int64_t rs_problem_area(const rs_problem *problem)
{
    return rs_max(problem->source.coding.area, problem->target.coding.area);
}

int64_t rs_problem_coder(const rs_problem *problem)
{
    return problem->source.coding.coder + problem->target.coding.coder;
}

int64_t rs_problem_streams(const rs_problem *problem)
{
    return (problem->source.sequential ? problem->source.coding.coder : 0)
           + (problem->target.sequential ? problem->target.coding.coder : 0);
}

int64_t rs_problem_fixed(const rs_problem *problem)
{
    return RS_FIXED_BYTES + problem->source.coding.library + problem->target.coding.library;
}

static uint64_t mix_layout(uint64_t hash, const rs_layout *layout)
{
    for (int d = 0; d < layout->ndim; d++) {
        const rs_axis *axis = &layout->axis[d];
        hash = rs_mix(rs_mix(rs_mix(rs_mix(hash, axis->n), axis->first), axis->last), axis->step);
        for (int64_t i = 0; axis->step == 0 && i <= axis->n; i++) {
            hash = rs_mix(hash, axis->cuts[i]);
        }
        hash = rs_mix(hash, layout->order[d]);
    }
    hash = layout->atomic ? rs_mix(hash, layout->atomic) : hash;
    return layout->in_memory ? rs_mix(hash, 2) : hash;
}

uint64_t rs_problem_hash(const rs_problem *problem)
{
    uint64_t hash = rs_mix(rs_mix(0, problem->ndim), problem->itemsize);
    for (int d = 0; d < problem->ndim; d++) {
        hash = rs_mix(rs_mix(hash, problem->shape[d]), problem->source_index[d]);
        hash = problem->start[d] != 0 ? rs_mix(rs_mix(hash, d), problem->start[d]) : hash;
    }
    hash = problem->seen != 0 ? rs_mix(hash, problem->seen) : hash;
    return mix_layout(mix_layout(hash, &problem->source), &problem->target);
}
