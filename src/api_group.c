/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * api_group.c - the public functions for Zarr groups.
 *
 *     out.zarr.resplit-part/   locked
 *         journal              what the group is made of, and how many of its arrays are complete
 *         data/                becomes out.zarr by one rename
 *             zarr.json, a/, b.resplit-part/
 *
 * Which arrays need not be made again when a run is resumed? Arrays are made in the order of their names, and after
 * each the journal says how many are complete. It counts only when the group is made from the same nodes, of the same
 * sources (their stamps) to the same targets (grids and metadata) as before: one hash over all of them. If one differs,
 * the part is refused, as that of an array would be. An array that was completed but not yet counted is made again,
 * over the first one.
 */
#include "base/path.h"
#include "engine/output.h"
#include "engine/run.h"
#include "format/group.h"
#include "format/zarr.h"
#include "plan/problem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One of the arrays of a group. */
typedef struct entry {
    const rs_member *member; /* of the list */
    char *place;             /* owned; where it is, or grows */
} entry;

struct resplit_group {
    rs_group list; /* of the source, where this one is to be made */
    char *path;
    int64_t n;
    entry *array; /* those of the list that are arrays */
    /* Of one that is to be made. */
    bool is_new, overwrite, resumed, published;
    int version;  /* 0: every node as it is */
    rs_job_id id; /* without groups until it is begun */
    int64_t n_expected, n_done;
    rs_output output;
};

static resplit_status no_memory(resplit_error *err)
{
    return rs_fail_errno(err, ENOMEM, "cannot allocate a group");
}

/* ---- Opening --------------------------------------------------------------------------------- */

resplit_status resplit_group_attributes(const resplit_group *group, char **out, resplit_error *err)
{
    rs_text text = {0};
    *out = NULL;
    if (group == NULL) {
        return rs_fail(err, RESPLIT_EINVAL, "attributes are those of a group");
    }
    resplit_status rc = rs_zarr_group_attributes(group->list.path, &text, err);
    if (rc != RESPLIT_OK) {
        rs_text_release(&text);
        return rc;
    }
    *out = text.s; /* moved */
    return RESPLIT_OK;
}

bool resplit_is_group(const char *path)
{
    return path != NULL && rs_node_at(path) == RS_NODE_GROUP;
}

/* The arrays among the nodes, each below `folder`. */
static resplit_status set_arrays(resplit_group *group, const char *path, const char *folder, resplit_error *err)
{
    group->path = rs_path_trimmed(path);
    group->array = calloc(group->list.n + 1, sizeof *group->array);
    if (group->path == NULL || group->array == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < group->list.n; i++) {
        const rs_member *member = &group->list.member[i];
        char place[RS_PATH_MAX];
        if (!member->is_array) {
            continue;
        }
        RS_TRY(rs_path_join(folder, member->name, place, err));
        entry *array = &group->array[group->n++];
        *array = (entry){member, rs_strdup(place)};
        if (array->place == NULL) {
            return no_memory(err);
        }
    }
    return RESPLIT_OK;
}

static resplit_group *new_group(void)
{
    resplit_group *group = calloc(1, sizeof *group);
    if (group != NULL) {
        group->output.lock = group->output.journal.fd = -1;
    }
    return group;
}

static resplit_status close_failed(resplit_group **out, resplit_status rc)
{
    if (rc != RESPLIT_OK) {
        resplit_group_close(*out);
        *out = NULL;
    }
    return rc;
}

resplit_status resplit_group_open(const char *path, resplit_group **out, resplit_error *err)
{
    *out = NULL;
    if (!resplit_is_group(path)) {
        return rs_fail(err, RESPLIT_EINVAL, "'%s' is no Zarr group", path != NULL ? path : "");
    }
    *out = new_group();
    if (*out == NULL) {
        return no_memory(err);
    }
    resplit_status rc = rs_group_open(path, &(*out)->list, err);
    if (rc == RESPLIT_OK) {
        rc = set_arrays(*out, path, path, err);
    }
    return close_failed(out, rc);
}

int64_t resplit_group_count(const resplit_group *group)
{
    return group->n;
}

const char *resplit_group_name(const resplit_group *group, int64_t i)
{
    return i >= 0 && i < group->n ? group->array[i].member->name : NULL;
}

const char *resplit_group_place(const resplit_group *group, int64_t i)
{
    return i >= 0 && i < group->n ? group->array[i].place : NULL;
}

const char *resplit_group_format(const resplit_group *group, int64_t i)
{
    if (i < 0 || i >= group->n) {
        return NULL;
    }
    return (group->version != 0 ? group->version : group->array[i].member->version) == 2 ? "zarr2" : "zarr3";
}

resplit_status resplit_group_levels(resplit_group *group, resplit_error *err)
{
    return rs_group_levels(&group->list, err);
}

bool resplit_group_is_level(const resplit_group *group, int64_t i)
{
    return i >= 0 && i < group->n && group->array[i].member->is_level;
}

/* ---- Making one ------------------------------------------------------------------------------ */

/* By name, by the group that it will be in; 0: every node as it is. */
static resplit_status choose_version(const char *path, const char *format, int *version, resplit_error *err)
{
    *version = format == NULL                 ? rs_node_version_above(path)
               : strcmp(format, "zarr2") == 0 ? 2
               : strcmp(format, "zarr3") == 0 ? 3
                                              : -1;
    return *version >= 0
               ? RESPLIT_OK
               : rs_fail(err, RESPLIT_EINVAL,
                         "a group of arrays is Zarr, not %.40s: give zarr2 or zarr3, or one of its arrays", format);
}

resplit_status resplit_group_create(const char *path, const resplit_group *source, const char *format, bool overwrite,
                                    resplit_group **out, resplit_error *err)
{
    char part[RS_PATH_MAX], folder[RS_PATH_MAX];
    int version;
    *out = NULL;
    if (path == NULL || *path == '\0' || source == NULL) {
        return rs_fail(err, RESPLIT_EINVAL, "a group is made at a path, from a group");
    }
    RS_TRY(choose_version(path, format, &version, err));
    RS_TRY(rs_output_part(path, part, err));
    RS_TRY(rs_path_join(part, RS_DATA_NAME, folder, err));
    *out = new_group();
    if (*out == NULL) {
        return no_memory(err);
    }
    (*out)->is_new = true;
    (*out)->overwrite = overwrite;
    (*out)->version = version;
    resplit_status rc = rs_group_copy(&source->list, &(*out)->list, err);
    if (rc == RESPLIT_OK) {
        rc = set_arrays(*out, path, folder, err);
    }
    return close_failed(out, rc);
}

resplit_status resplit_group_expect(resplit_group *group, const resplit_array *source, const resplit_array *target,
                                    resplit_error *err)
{
    rs_problem problem;
    uint64_t hash = 0;
    int64_t i = group->n_expected;
    if (!group->is_new || i >= group->n || target->path == NULL || strcmp(target->path, group->array[i].place) != 0) {
        return rs_fail(err, RESPLIT_EINVAL, "'%s' is not the array that comes next in the group '%s'",
                       target->path != NULL ? target->path : "", group->path);
    }
    RS_TRY(rs_problem_make(&source->layout, &target->layout, target->origin, NULL, &problem, err));
    resplit_status rc = rs_run_hash(&problem, target, &hash, err);
    rs_problem_release(&problem);
    group->id.problem = rs_mix(group->id.problem, (int64_t)hash);
    group->id.source = rs_mix(group->id.source, (int64_t)source->stamp);
    group->n_expected++;
    return rc;
}

static resplit_status begin(resplit_group *group, const resplit_run_options *options, resplit_error *err)
{
    rs_earlier earlier;
    rs_progress done;
    rs_job_id id = group->id;
    bool resume = options != NULL && options->resume;
    bool none = options != NULL && options->sync != NULL && strcmp(options->sync, "none") == 0;
    RS_TRY(rs_group_hash(&group->list, group->version, &id.problem, err));
    group->output.sync = none ? RS_SYNC_NONE : RS_SYNC_EACH; /* a complete array is on disk */
    resplit_status rc = rs_output_begin_group(&group->output, group->path, group->list.path, group->overwrite, resume,
                                              &id, &earlier, &done, err);
    if (rc != RESPLIT_OK) {
        rs_output_abandon(&group->output, true); /* what is there may be another run's */
        return rc;
    }
    group->resumed = earlier == RS_EARLIER_PART;
    group->published = earlier == RS_EARLIER_ALL;
    group->n_done = group->published ? group->n : done.now.buffer;
    return group->published ? RESPLIT_OK : rs_group_make(&group->list, group->version, group->output.data, err);
}

resplit_status resplit_group_begin(resplit_group *group, const resplit_run_options *options, int64_t *n_done,
                                   resplit_error *err)
{
    *n_done = 0;
    if (!group->is_new || group->output.lock >= 0 || group->published || group->n_expected != group->n) {
        return rs_fail(err, RESPLIT_EINVAL, "the group '%s' is begun once, when all its %lld arrays are expected",
                       group->path, (long long)group->n);
    }
    resplit_status rc = begin(group, options, err);
    *n_done = rc == RESPLIT_OK ? group->n_done : 0;
    return rc;
}

resplit_status resplit_group_done(resplit_group *group, resplit_error *err)
{
    if (group->output.lock < 0 || group->n_done >= group->n
        || rs_node_at(group->array[group->n_done].place) != RS_NODE_ARRAY) {
        return rs_fail(err, RESPLIT_EINVAL, "the next array of the group '%s' is not complete", group->path);
    }
    rs_progress now = {.now = {.buffer = group->n_done + 1}};
    RS_TRY(rs_journal_note(&group->output.journal, &now, err));
    group->n_done++;
    return RESPLIT_OK;
}

resplit_status resplit_group_finish(resplit_group *group, resplit_error *err)
{
    if (group->published) {
        return RESPLIT_OK;
    }
    if (group->output.lock < 0 || group->n_done != group->n) {
        return rs_fail(err, RESPLIT_EINVAL, "%lld of %lld arrays of the group '%s' are complete",
                       (long long)group->n_done, (long long)group->n, group->path);
    }
    RS_TRY(rs_group_consolidate(&group->list, group->output.data, err));
    RS_TRY(rs_output_publish(&group->output, 0, err));
    group->published = true;
    return RESPLIT_OK;
}

/* Is there something in the part that a run can go on with: complete arrays, or the part of the next one? */
static bool is_worth_keeping(const resplit_group *group)
{
    char part[RS_PATH_MAX];
    return group->n_done > 0 || group->resumed
           || (group->n > 0 && rs_output_part(group->array[0].place, part, NULL) == RESPLIT_OK
               && access(part, F_OK) == 0);
}

void resplit_group_close(resplit_group *group)
{
    if (group == NULL) {
        return;
    }
    rs_output_abandon(&group->output, group->output.lock >= 0 && is_worth_keeping(group));
    for (int64_t i = 0; i < group->n; i++) {
        free(group->array[i].place);
    }
    free(group->array);
    free(group->path);
    rs_group_release(&group->list);
    free(group);
}
