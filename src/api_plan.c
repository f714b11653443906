/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * api_plan.c - plans in files: what is saved of two arrays and their plan, and how little of it is believed when it is
 * loaded.
 *
 *     file -- parse --> description -- open, create --> arrays -- problem, hash --> rebuild, validate, predict, compare --> plan
 */
#include "api.h"
#include "base/path.h"
#include "base/textfile.h"
#include "engine/output.h"
#include "format/zarr.h"
#include "plan/planfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static resplit_status copy_text(const char *from, char **to, resplit_error *err)
{
    if (from == NULL) {
        return RESPLIT_OK;
    }
    *to = rs_strdup(from);
    return *to != NULL ? RESPLIT_OK : rs_fail_errno(err, ENOMEM, "cannot allocate %zu bytes of text", strlen(from));
}

/* ---- Saving -------------------------------------------------------------------------------- */

/* "a.h5:/b" */
static resplit_status add_dataset(const char *dataset, char **path, resplit_error *err)
{
    rs_text text = {0};
    if (dataset == NULL || *path == NULL) {
        return RESPLIT_OK;
    }
    resplit_status rc = rs_text_add(&text, err, "%s:%s", *path, dataset);
    if (rc == RESPLIT_OK) {
        free(*path);
        *path = text.s; /* moved */
    }
    return rc;
}

static resplit_status describe_side(const char *path, const resplit_array *array, rs_planfile_side *out,
                                    resplit_error *err)
{
    const resplit_info *info = &array->info;
    RS_TRY(rs_path_to_write(path, info->path, &out->path, err));
    RS_TRY(
        add_dataset(array->minc == NULL ? info->dataset : NULL, &out->path, err)); /* an image is at one place only */
    RS_TRY(copy_text(info->format, &out->format, err));
    RS_TRY(copy_text(info->pattern, &out->pattern, err));
    for (int d = 0; d < info->ndim; d++) {
        out->chunks[d] = info->chunks[d];
        if (info->chunks[d].count > 0) {
            size_t bytes = (size_t)info->chunks[d].count * sizeof *out->lengths[d];
            out->lengths[d] = malloc(bytes);
            if (out->lengths[d] == NULL) {
                return rs_fail_errno(err, ENOMEM, "cannot allocate %zu bytes of chunks", bytes);
            }
            memcpy(out->lengths[d], info->chunks[d].lengths, bytes);
            out->chunks[d].lengths = out->lengths[d];
        }
    }
    return RESPLIT_OK;
}

static resplit_status describe_source(const char *path, const resplit_array *array, rs_planfile_side *out,
                                      resplit_error *err)
{
    RS_TRY(describe_side(path, array, out, err));
    RS_TRY(copy_text(array->info.dtype, &out->dtype, err));
    out->order = array->order;
    out->skip = array->format->has_header ? 0 : array->data_offset;
    memcpy(out->shape, array->info.shape, sizeof out->shape);
    return RESPLIT_OK;
}

static resplit_status describe_target(const char *path, const resplit_array *array, const resplit_array *source,
                                      rs_planfile_side *out, resplit_error *err)
{
    RS_TRY(describe_side(path, array, out, err));
    for (int d = 0; d < array->info.ndim; d++) {
        int own = array->info.axes[d]; /* of the source, which a region is of */
        out->roi_start[own] = array->origin[d];
        out->roi_stop[own] = array->origin[d] + array->info.shape[d];
        out->has_roi = out->has_roi || array->info.shape[d] != source->info.shape[own];
        bool even = array->layout.axis[d].step > 0;
        if ((array->zarr != NULL || array->hdf5 != NULL) && even) { /* chunks may be longer than the array */
            out->chunks[d].length = array->layout.axis[d].step;
        }
    }
    out->order = array->wished_order;
    out->write_empty = array->write_empty;
    out->ome = array->ome;
    out->is_virtual = rs_array_is_virtual(array);
    out->has_shards = array->info.shards != NULL;
    if (out->has_shards) {
        memcpy(out->shards, array->info.shards, (size_t)array->info.ndim * sizeof *out->shards);
    }
    RS_TRY(copy_text(array->wished_codec, &out->codec, err));
    return copy_text(array->cast.kind != RS_CAST_NONE ? array->info.dtype : NULL, &out->dtype, err);
}

static resplit_status describe(const resplit_plan *plan, const resplit_array *source, const resplit_array *target,
                               const char *path, rs_planfile *out, resplit_error *err)
{
    RS_TRY(describe_source(path, source, &out->source, err));
    RS_TRY(describe_target(path, target, source, &out->target, err));
    if (plan->temp != NULL) {
        RS_TRY(rs_path_to_write(path, plan->temp, &out->temp, err));
    }
    out->device = plan->summary.device;
    out->part = plan->part;
    out->n_parts = plan->n_parts;
    if (!rs_planfile_is_of_parts(out)) {
        return rs_planfile_describe(&plan->problem, &plan->plan, out, err);
    }
    out->ndim = plan->plan.ndim;
    out->memory = plan->plan.memory;
    out->problem_hash = plan->summary.problem_hash;
    RS_TRY(copy_text(plan->plan.strategy, &out->strategy, err));
    return copy_text(plan->minimize, &out->minimize, err);
}

/* Is what stands at `path` ours to replace: nothing, an empty file, or a plan that was saved earlier? */
static resplit_status check_replaceable(const char *path, resplit_error *err)
{
    struct stat status;
    rs_text text = {0};
    rs_planfile earlier = {0};
    if (stat(path, &status) != 0) {
        return errno == ENOENT ? RESPLIT_OK : rs_fail_errno(err, errno, "cannot look at '%s'", path);
    }
    bool ours = S_ISREG(status.st_mode) && status.st_size == 0;
    if (!ours && rs_textfile_read(path, RS_PLANFILE_BYTES, &text, NULL) == RESPLIT_OK) {
        ours = rs_planfile_parse(text.s, text.n, path, &earlier, NULL) == RESPLIT_OK;
    }
    rs_planfile_release(&earlier);
    rs_text_release(&text);
    return ours ? RESPLIT_OK
                : rs_fail(err, RESPLIT_EEXISTS, "'%s' is there already and is not a plan file: choose another name",
                          path);
}

/* The text of a plan file, read back: a path that is not UTF-8, for one, would make a file that nobody can load. */
static resplit_status write_readable(const rs_planfile *file, const char *path, rs_text *out, resplit_error *err)
{
    rs_planfile again;
    resplit_error why = {0};
    resplit_status rc = rs_planfile_write(file, out, &why);
    if (rc == RESPLIT_OK) {
        rc = rs_planfile_parse(out->s, out->n, path, &again, &why);
        rs_planfile_release(&again);
    }
    if (rc == RESPLIT_OK || rc == RESPLIT_ENOMEM || rc == RESPLIT_EUNSUPPORTED) {
        return rc == RESPLIT_OK ? rc : rs_fail_with(err, &why);
    }
    return rs_fail(err, RESPLIT_EUNSUPPORTED, "cannot save this plan, it could not be read again: %.600s", why.message);
}

resplit_status resplit_plan_save(const resplit_plan *plan, const resplit_array *source, const resplit_array *target,
                                 const char *path, resplit_error *err)
{
    rs_planfile file = {0};
    rs_text text = {0};
    if (plan == NULL || source == NULL || target == NULL || path == NULL || *path == '\0') {
        return rs_fail(err, RESPLIT_EINVAL, "saving a plan needs a plan, a source, a target and a path");
    }
    if (source->path == NULL || target->path == NULL) {
        return rs_fail(err, RESPLIT_EINVAL, "cannot save a plan for arrays without files: nobody could run it");
    }
    resplit_array view;
    RS_TRY(rs_api_check_belongs(plan, rs_array_turned(source, target, &view), target, err));
    RS_TRY(check_replaceable(path, err));
    resplit_status rc = describe(plan, source, target, path, &file, err);
    if (rc == RESPLIT_OK) {
        rc = write_readable(&file, path, &text, err);
    }
    if (rc == RESPLIT_OK) {
        rc = rs_textfile_write(path, &text, err);
    }
    rs_text_release(&text);
    rs_planfile_release(&file);
    return rc;
}

/* What a run keeps beside its part. A plan that cannot be written in a file, as when a path is not
   UTF-8, gives none. */
resplit_status rs_api_plan_text(const resplit_plan *plan, const resplit_array *source, const resplit_array *target,
                                rs_text *out, resplit_error *err)
{
    rs_planfile file = {0};
    if (source->path == NULL || target->path == NULL || plan->problem.n_target == 0) {
        return RESPLIT_OK;
    }
    /* The part is not there yet, so no path is below its folder: all are absolute. */
    resplit_status rc = describe(plan, source, target, "/", &file, err);
    if (rc == RESPLIT_OK) {
        rc = rs_planfile_write(&file, out, err);
    }
    if (rc != RESPLIT_OK && rc != RESPLIT_ENOMEM) {
        out->n = 0;
        rc = RESPLIT_OK;
    }
    rs_planfile_release(&file);
    return rc;
}

/* ---- Loading ------------------------------------------------------------------------------- */

/* What the arrays contradict is not the file's fault alone: both are named. Other failures are passed on. */
static resplit_status not_those(const char *path, resplit_status rc, const resplit_error *why, resplit_error *err)
{
    if (rc != RESPLIT_EINVAL && err != NULL) {
        *err = *why;
    }
    return rc != RESPLIT_EINVAL ? rc
                                : rs_fail(err, rc, "the arrays are not those the plan '%.300s' was made for: %.600s",
                                          path, why->message);
}

static resplit_status open_source(const char *path, const rs_planfile *file, resplit_array **out, resplit_error *err)
{
    const rs_planfile_side *side = &file->source;
    resplit_error why = {0};
    char *place = NULL;
    resplit_spec spec = {.format = side->format,
                         .dtype = side->dtype,
                         .order = side->order,
                         .ndim = file->ndim,
                         .shape = side->shape,
                         .chunks = side->chunks,
                         .pattern = side->pattern,
                         .skip = side->skip};
    RS_TRY(rs_path_as_read(path, side->path, &place, err));
    resplit_status rc = rs_array_open(place, &spec, out, &why);
    free(place);
    return rc == RESPLIT_OK ? rc : not_those(path, rc, &why, err);
}

static resplit_status create_target(const char *path, const rs_planfile *file, const resplit_array *source,
                                    resplit_array **out, resplit_error *err)
{
    const rs_planfile_side *side = &file->target;
    resplit_error why = {0};
    char *place = NULL;
    resplit_target target = {.format = side->format,
                             .ndim = file->ndim,
                             .chunks = side->is_virtual ? NULL : side->chunks,
                             .roi_start = side->has_roi ? side->roi_start : NULL,
                             .roi_stop = side->has_roi ? side->roi_stop : NULL,
                             .pattern = side->pattern,
                             .folder = side->pattern != NULL,
                             .codec = side->codec,
                             .shards = side->has_shards ? side->shards : NULL,
                             .order = side->order,
                             .dtype = side->dtype,
                             .write_empty = side->write_empty,
                             .ome = side->ome,
                             .is_virtual = side->is_virtual};
    RS_TRY(rs_path_as_read(path, side->path, &place, err));
    resplit_status rc = rs_array_create(place, source, &target, out, &why);
    free(place);
    return rc == RESPLIT_OK ? rc : not_those(path, rc, &why, err);
}

/* The plan itself; what is wrong with it is wrong with the file. */
static resplit_status rebuild(const char *path, const rs_planfile *file, resplit_plan *plan, resplit_error *err)
{
    resplit_error why = {0};
    uint64_t hash = rs_problem_hash(&plan->problem);
    if (hash != file->problem_hash) {
        (void)rs_fail(&why, RESPLIT_EINVAL, "their hash is %016llx, the file has %016llx", (unsigned long long)hash,
                      (unsigned long long)file->problem_hash);
        return not_those(path, RESPLIT_EINVAL, &why, err);
    }
    resplit_status rc = rs_planfile_rebuild(file, &plan->problem, &plan->plan, &why);
    if (rc == RESPLIT_OK) {
        rc = rs_planfile_compare(file, &plan->plan, &why);
    }
    if (rc == RESPLIT_OK) {
        return RESPLIT_OK;
    }
    bool bad = rc == RESPLIT_EINVAL || rc == RESPLIT_EBUDGET || rc == RESPLIT_EUNSUPPORTED;
    return rs_fail(err, bad ? RESPLIT_EFORMAT : rc, "bad plan file '%.300s': %.600s", path, why.message);
}

resplit_status rs_api_load_plan(const char *path, const rs_planfile *file, const resplit_array *source,
                                const resplit_array *target, resplit_plan **out, resplit_error *err)
{
    resplit_plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) {
        return rs_fail_errno(err, ENOMEM, "cannot allocate a plan");
    }
    rs_api_part part;
    bool copy = strcmp(file->strategy, rs_strategy_copy.name) == 0;
    plan->part = file->part;
    plan->n_parts = file->n_parts;
    resplit_status rc = rs_api_find_part(source, target, file->part, file->n_parts, &part, err);
    if (rc == RESPLIT_OK) {
        uint32_t seen = rs_api_find_seen(source, target, &part, file->problem_hash);
        rc = rs_api_problem(source, target, &part, copy, seen, &plan->problem, err);
    }
    if (rc == RESPLIT_OK) {
        rc = rebuild(path, file, plan, err);
    }
    if (rc == RESPLIT_OK && file->temp != NULL) {
        rc = rs_path_as_read(path, file->temp, &plan->temp, err);
    }
    if (rc == RESPLIT_OK) {
        rc = rs_api_summarize(plan, &file->device, err);
    }
    if (rc != RESPLIT_OK) {
        resplit_plan_free(plan);
        return rc;
    }
    *out = plan;
    return RESPLIT_OK;
}

/* Of all partitions: each is planned when it is run, so there is nothing to rebuild. */
static resplit_status load_parts(const char *path, const rs_planfile *file, const resplit_array *source,
                                 const resplit_array *target, resplit_plan **out, resplit_error *err)
{
    resplit_error why = {0};
    rs_request request = {
        .strategy = file->strategy, .memory = file->memory, .minimize = file->minimize, .device = &file->device};
    resplit_status rc = rs_api_plan_parts(source, target, &request, file->n_parts, out, &why);
    if (rc == RESPLIT_OK && file->temp != NULL) {
        rc = rs_path_as_read(path, file->temp, &(*out)->temp, &why);
    }
    if (rc == RESPLIT_OK && (*out)->summary.problem_hash != file->problem_hash) {
        rc = rs_fail(&why, RESPLIT_EINVAL, "their hash is %016llx, the file has %016llx",
                     (unsigned long long)(*out)->summary.problem_hash, (unsigned long long)file->problem_hash);
    }
    if (rc != RESPLIT_OK) {
        resplit_plan_free(*out);
        *out = NULL;
        return not_those(path, rc, &why, err);
    }
    return RESPLIT_OK;
}

static resplit_status load_any(const char *path, const rs_planfile *file, const resplit_array *source,
                               const resplit_array *target, resplit_plan **out, resplit_error *err)
{
    return rs_planfile_is_of_parts(file) ? load_parts(path, file, source, target, out, err)
                                         : rs_api_load_plan(path, file, source, target, out, err);
}

static resplit_status load(const char *path, rs_planfile *file, resplit_array **source, resplit_array **target,
                           resplit_plan **out, resplit_error *err)
{
    RS_TRY(open_source(path, file, source, err));
    RS_TRY(create_target(path, file, *source, target, err));
    resplit_array view;
    return load_any(path, file, rs_array_turned(*source, *target, &view), *target, out, err);
}

resplit_status resplit_plan_load(const char *path, resplit_array **source, resplit_array **target, resplit_plan **out,
                                 resplit_error *err)
{
    rs_text text = {0};
    rs_planfile file = {0};
    *source = *target = NULL;
    *out = NULL;
    if (path == NULL || *path == '\0') {
        return rs_fail(err, RESPLIT_EINVAL, "no plan file is named");
    }
    resplit_status rc = rs_textfile_read(path, RS_PLANFILE_BYTES, &text, err);
    if (rc == RESPLIT_OK) {
        rc = rs_planfile_parse(text.s != NULL ? text.s : "", text.n, path, &file, err);
    }
    if (rc == RESPLIT_OK) {
        rc = load(path, &file, source, target, out, err);
    }
    if (rc != RESPLIT_OK) {
        rs_array_close(*target);
        rs_array_close(*source);
        *source = *target = NULL;
    }
    rs_planfile_release(&file);
    rs_text_release(&text);
    return rc;
}
