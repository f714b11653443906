/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_planfile.c - any text as a plan file: refused, or the same text again when it is written; and for the arrays it
 * describes, refused, or a plan that a walk over every element finds sound.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "format/format.h"
#include "support/plan_check.h"
#include "plan/planfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_ELEMENTS = 1 << 14 }; /* of an array that is walked over */

static void try_plan(const rs_planfile *file, const rs_problem *problem)
{
    rs_plan plan;
    resplit_error err = {0};
    if (rs_planfile_rebuild(file, problem, &plan, &err) != RESPLIT_OK) {
        assert(err.code != RESPLIT_OK && err.code != RESPLIT_EINTERNAL);
        return;
    }
    assert(plan.predicted.peak_bytes <= plan.memory);
    if (plan.kind == RS_PLAN_BUFFERS) {
        assert(rs_plan_validate(problem, &plan, &err) == RESPLIT_OK);
        assert(plan_check(problem, &plan, &err) == RESPLIT_OK);
    }
    (void)rs_planfile_compare(file, &plan, &err);
    rs_plan_release(&plan);
}

/* The arrays, without their files. */
static void try_arrays(const rs_planfile *file)
{
    const rs_planfile_side *from = &file->source, *to = &file->target;
    resplit_array *source = NULL, *target = NULL;
    rs_problem problem;
    resplit_spec spec = {.format = from->format,
                         .dtype = from->dtype,
                         .order = from->order,
                         .ndim = file->ndim,
                         .shape = from->shape,
                         .chunks = from->chunks,
                         .pattern = from->pattern};
    resplit_target wanted = {.format = to->format,
                             .ndim = file->ndim,
                             .chunks = to->chunks,
                             .roi_start = to->has_roi ? to->roi_start : NULL,
                             .roi_stop = to->has_roi ? to->roi_stop : NULL,
                             .pattern = to->pattern,
                             .folder = to->pattern != NULL};
    if (rs_array_describe(&spec, &source, NULL) == RESPLIT_OK && source->info.n_blocks <= MOST_ELEMENTS
        && rs_array_create(to->path, source, &wanted, &target, NULL) == RESPLIT_OK
        && target->info.n_elements <= MOST_ELEMENTS && target->info.n_blocks <= MOST_ELEMENTS
        && rs_problem_make(&source->layout, &target->layout, target->origin, NULL, &problem, NULL) == RESPLIT_OK) {
        if (problem.n_elements > 0) { /* without elements there may be no end of buffers */
            try_plan(file, &problem);
        }
        rs_problem_release(&problem);
    }
    rs_array_close(target);
    rs_array_close(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rs_planfile file, again;
    rs_text text = {0}, second = {0};
    if (rs_planfile_parse((const char *)data, size, "fuzz.json", &file, NULL) != RESPLIT_OK) {
        return 0;
    }
    if (rs_planfile_write(&file, &text, NULL) == RESPLIT_OK) { /* it may be too long now */
        assert(rs_planfile_parse(text.s, text.n, "again.json", &again, NULL) == RESPLIT_OK);
        assert(rs_planfile_write(&again, &second, NULL) == RESPLIT_OK);
        assert(text.n == second.n && memcmp(text.s, second.s, text.n) == 0);
        rs_planfile_release(&again);
    }
    try_arrays(&file);
    rs_text_release(&text);
    rs_text_release(&second);
    rs_planfile_release(&file);
    return 0;
}
