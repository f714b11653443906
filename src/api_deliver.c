/* SPDX-License-Identifier: BSD-3-Clause */
/* api_deliver.c - runs that hand blocks to the caller. */
#include "api.h"
#include "engine/run.h"

resplit_status resplit_deliver(const resplit_plan *plan, const resplit_array *source, const resplit_array *target,
                               resplit_take *take, void *payload, const resplit_run_options *options,
                               resplit_result *result, resplit_error *err)
{
    resplit_result ignored;
    resplit_array view;
    result = result != NULL ? result : &ignored;
    *result = (resplit_result){.seconds = 0};
    if (plan == NULL || source == NULL || target == NULL || take == NULL) {
        return rs_fail(err, RESPLIT_EINVAL, "handing over needs a plan, a source, a target and who takes its blocks");
    }
    if (plan->n_parts > 0 || (options != NULL && options->resume)) {
        return rs_fail(err, RESPLIT_EINVAL,
                       "blocks are handed over of whole arrays, from the beginning: no partitions, no resume");
    }
    source = rs_array_turned(source, target, &view);
    RS_TRY(rs_api_check_belongs(plan, source, target, err));
    return rs_run_deliver(&plan->problem, &plan->plan, source, target, plan->temp, take, payload, options, result, err);
}
