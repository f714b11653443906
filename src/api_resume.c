/* SPDX-License-Identifier: BSD-3-Clause */
/* api_resume.c - the plan that a run left beside its part, for whoever goes on with it. */
#include "api.h"
#include "base/textfile.h"
#include "engine/journal.h"
#include "plan/planfile.h"

#include <unistd.h>

static resplit_status check_is_for(const char *path, const rs_planfile *file, const resplit_array *source,
                                   const resplit_array *target, const rs_api_part *part, resplit_error *err)
{
    rs_problem problem;
    uint32_t seen = rs_api_find_seen(source, target, part, file->problem_hash);
    RS_TRY(rs_api_see(source, target, part, seen, &problem, err));
    bool same =
        file->part == part->part && file->n_parts == part->n_parts && rs_problem_hash(&problem) == file->problem_hash;
    rs_problem_release(&problem);
    return same ? RESPLIT_OK
                : rs_fail(err, RESPLIT_EINVAL,
                          "what an earlier run left with '%s' was made for other arrays: run without --resume to start "
                          "anew",
                          path);
}

/* The plan that stands at `path`; NULL, without an error: none could be kept. */
static resplit_status load_kept(const char *path, const resplit_array *source, const resplit_array *target,
                                const rs_api_part *part, resplit_plan **out, resplit_error *err)
{
    rs_text text = {0};
    rs_planfile file = {0};
    resplit_status rc = rs_textfile_read(path, RS_PLANFILE_BYTES, &text, err);
    if (rc == RESPLIT_OK && text.n > 0) { /* else it is made again, and the journal tells whether it is the same */
        rc = rs_planfile_parse(text.s, text.n, path, &file, err);
        if (rc == RESPLIT_OK) {
            rc = check_is_for(path, &file, source, target, part, err);
        }
        if (rc == RESPLIT_OK) {
            rc = rs_api_load_plan(path, &file, source, target, out, err);
        }
    }
    rs_planfile_release(&file);
    rs_text_release(&text);
    return rc;
}

resplit_status resplit_plan_resume_part(const resplit_array *source, const resplit_array *target, int64_t part,
                                        int64_t n_parts, resplit_plan **out, resplit_error *err)
{
    char path[RS_PATH_MAX], folder[RS_PATH_MAX], journal[RS_PATH_MAX];
    rs_api_part which;
    *out = NULL;
    if (source == NULL || target == NULL || source->path == NULL || target->path == NULL) {
        return rs_fail(err, RESPLIT_EINVAL, "going on with a run needs a source and a target with files");
    }
    resplit_array view;
    source = rs_array_turned(source, target, &view);
    RS_TRY(rs_api_find_part(source, target, part, n_parts, &which, err));
    RS_TRY(rs_api_kept_path(target->path, part, n_parts, path, err));
    RS_TRY(rs_path_parent(path, folder, err));
    RS_TRY(rs_path_join(folder, RS_JOURNAL_NAME, journal, err));
    bool kept = access(journal, F_OK) == 0  /* else there is nothing to go on with */
                && access(path, F_OK) == 0; /* it goes before the journal when everything is published */
    return kept ? load_kept(path, source, target, &which, out, err) : RESPLIT_OK;
}

resplit_status resplit_plan_resume(const resplit_array *source, const resplit_array *target, resplit_plan **out,
                                   resplit_error *err)
{
    return resplit_plan_resume_part(source, target, 0, 0, out, err);
}
