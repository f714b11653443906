/* SPDX-License-Identifier: BSD-3-Clause */
/* api_seen.c - the problem of two arrays, and the ways in which their blocks can be seen (problem.h). */
#include "api.h"
#include "engine/run.h"

/* An empty partition has no blocks; and for plan and run a virtual target is an array without elements:
   nothing is moved. */
resplit_status rs_api_window(const resplit_array *source, const resplit_array *target, const rs_api_part *part,
                             rs_problem *out, resplit_error *err)
{
    const rs_box *box = part->part > 0 ? &part->share.box : NULL;
    bool nothing = rs_array_is_virtual(target) || (box != NULL && part->share.n_target == 0);
    if (!nothing) {
        return rs_problem_make(&source->layout, &target->layout, target->origin, box, out, err);
    }
    *out = (rs_problem){.ndim = target->layout.ndim, .itemsize = target->layout.itemsize};
    out->source = source->layout;
    out->target = target->layout;
    for (int d = 0; d < out->ndim; d++) {
        out->source.axis[d] = out->target.axis[d] = rs_axis_even(0, 1);
    }
    return RESPLIT_OK;
}

uint32_t rs_api_ways(const resplit_array *source, const resplit_array *target)
{
    bool plain = rs_array_can_be_plain(source), moved = !rs_array_is_verbatim(source, target);
    return (plain ? RS_UNPACKED_SOURCE : 0U) | (plain && source->info.n_blocks == 1 ? RS_STREAMED_SOURCE : 0U)
           | (rs_array_can_be_plain(target) ? RS_UNPACKED_TARGET : 0U)
           | (moved && rs_array_can_be_whole(source) ? RS_WHOLE_SOURCE : 0U)
           | (moved && rs_array_can_be_whole(target) ? RS_WHOLE_TARGET : 0U);
}

bool rs_api_next_way(uint32_t ways, uint32_t *seen)
{
    static const uint32_t both = RS_UNPACKED_SOURCE | RS_STREAMED_SOURCE;
    if (*seen == 0) {
        return false;
    }
    do {
        *seen = *seen == RS_NO_WAY ? ways : (*seen - 1) & ways; /* counts down through the subsets */
    } while ((*seen & both) == both);
    return true;
}

resplit_status rs_api_see(const resplit_array *source, const resplit_array *target, const rs_api_part *part,
                          uint32_t seen, rs_problem *out, resplit_error *err)
{
    resplit_array source_view, target_view;
    RS_TRY(rs_run_see(seen, &source, &target, &source_view, &target_view, err));
    RS_TRY(rs_api_window(source, target, part, out, err));
    rs_problem_see(out, seen);
    return RESPLIT_OK;
}

uint32_t rs_api_find_seen(const resplit_array *source, const resplit_array *target, const rs_api_part *part,
                          uint64_t hash)
{
    uint32_t ways = rs_api_ways(source, target), seen = RS_NO_WAY;
    bool same = false;
    while (!same && rs_api_next_way(ways, &seen)) {
        rs_problem problem;
        if (rs_api_see(source, target, part, seen, &problem, NULL) == RESPLIT_OK) {
            same = rs_problem_hash(&problem) == hash;
            rs_problem_release(&problem);
        }
    }
    return same ? seen : 0;
}

/* A target knows what is cast to its type, and a source of another type has other values. */
static resplit_status check_cast(const resplit_array *source, const resplit_array *target, resplit_error *err)
{
    const rs_element *from = &target->cast.from;
    bool same = from->kind == source->dtype.kind && from->itemsize == source->dtype.itemsize
                && from->byteorder == source->dtype.byteorder;
    return same || target->cast.kind == RS_CAST_NONE
               ? RESPLIT_OK
               : rs_fail(err, RESPLIT_EINVAL,
                         "this target casts elements of type '%c%c%lld', but the source has '%.100s'", from->byteorder,
                         from->kind, (long long)from->itemsize, source->dtype.descr);
}

resplit_status rs_api_problem(const resplit_array *source, const resplit_array *target, const rs_api_part *part,
                              bool copy, uint32_t seen, rs_problem *out, resplit_error *err)
{
    RS_TRY(check_cast(source, target, err));
    RS_TRY(rs_api_see(source, target, part, seen, out, err));
    out->verbatim = rs_array_is_virtual(target) || (copy && seen == 0 && rs_array_is_verbatim(source, target));
    if (out->verbatim) { /* nothing is decoded or encoded */
        out->source.coding = (rs_coding){.ratio = source->layout.coding.ratio};
        out->target.coding = out->source.coding;
        return RESPLIT_OK;
    }
    resplit_status rc = rs_api_check_readable(source, err);
    if (rc == RESPLIT_OK) {
        rc = rs_api_check_readable(target, err);
    }
    if (rc != RESPLIT_OK) {
        rs_problem_release(out);
    }
    return rc;
}
