/* SPDX-License-Identifier: BSD-3-Clause */
/* output.c - begins an array beside its place, or goes on with what an earlier run left there. */
#include "engine/output.h"

#include "engine/part.h"
#include "engine/parts.h"

#include <unistd.h>

/* Data and plan before the journal: a part with a journal has everything that a resume needs. */
static resplit_status make_part(rs_output *output, const rs_job_id *id, const rs_text *plan, resplit_error *err)
{
    static const rs_progress nothing;
    rs_job_id mine = *id;
    mine.token = output->token = rs_part_token(output);
    RS_TRY(rs_part_clear(output, false, err));
    RS_TRY(rs_part_make_data(output, err));
    if (plan != NULL) {
        RS_TRY(rs_part_write(output->part, RS_PLAN_NAME, plan, output->sync != RS_SYNC_NONE, err));
    }
    return rs_journal_begin(&output->journal, output->folder, output->sync, &mine, &nothing, true, err);
}

static resplit_status begin(rs_output *output, const char *source, bool resume, const rs_job_id *id,
                            const rs_text *plan, rs_earlier *earlier, rs_progress *done, resplit_error *err)
{
    rs_job_id found = *id;
    bool on_disk = true;
    RS_TRY(rs_site_check_apart(&output->site, source, err));
    RS_TRY(rs_output_part(output->site.path, output->part, err));
    RS_TRY(rs_path_join(output->part, RS_DATA_NAME, output->data, err));
    RS_TRY(rs_path_join(output->part, "", output->own, err));
    if (!resume || access(output->part, F_OK) != 0) {
        RS_TRY(rs_part_check_free(output, err));
        RS_TRY(rs_part_check_space(output, err));
    }
    RS_TRY(rs_part_take(output, err));
    RS_TRY(rs_part_restore(output, err));
    output->folder = output->lock;
    RS_TRY(rs_parts_check_none(output, resume, err));
    if (resume) {
        RS_TRY(rs_part_look(output, id, earlier, done, &on_disk, &found, err));
        if (*earlier == RS_EARLIER_NONE) { /* killed while it was made, or removed: of no use to anybody */
            RS_TRY(rs_part_clear(output, false, err));
        }
    }
    if (*earlier == RS_EARLIER_ALL) {
        return RESPLIT_OK;
    }
    RS_TRY(rs_part_check_free(output, err)); /* another run may have published while we waited for its part */
    if (*earlier == RS_EARLIER_PART) {
        output->token = found.token;
        return rs_journal_begin(&output->journal, output->folder, output->sync, &found, done, on_disk, err);
    }
    *done = (rs_progress){{0, 0}, 0};
    RS_TRY(rs_part_check_space(output, err));
    resplit_status rc = make_part(output, id, plan, err);
    if (rc != RESPLIT_OK) {
        rs_part_remove(output, false);
    }
    return rc;
}

static resplit_status begin_at(rs_output *output, const char *source, bool resume, const rs_job_id *id,
                               const rs_text *plan, rs_earlier *earlier, rs_progress *done, resplit_error *err)
{
    output->lock = output->folder = output->own_lock = -1;
    output->journal.fd = -1;
    *earlier = RS_EARLIER_NONE;
    *done = (rs_progress){{0, 0}, 0};
    if (output->site.path == NULL) {
        return rs_fail(err, RESPLIT_EINVAL, "a target that is only described has no files to write");
    }
    RS_TRY(begin(output, source, resume, id, plan, earlier, done, err));
    if (*earlier == RS_EARLIER_ALL) { /* only the part is left to remove */
        RS_TRY(rs_part_move_head(output, err));
        rs_part_remove(output, true);
        (void)close(output->lock);
        output->lock = output->folder = -1;
    }
    return RESPLIT_OK;
}

resplit_status rs_output_begin(rs_output *output, const resplit_array *array, const resplit_array *source, bool resume,
                               const rs_job_id *id, const rs_text *plan, rs_earlier *earlier, rs_progress *done,
                               resplit_error *err)
{
    output->array = array;
    output->site = (rs_site){
        .path = array->path, .folder = array->info.folder, .group = array->ome, .overwrite = array->overwrite};
    return rs_array_is_there(source)
               ? begin_at(output, source->path, resume, id, plan, earlier, done, err)
               : rs_fail(err, RESPLIT_EINVAL, "an array that is only described has no elements to read");
}

resplit_status rs_output_begin_group(rs_output *output, const char *path, const char *source, bool overwrite,
                                     bool resume, const rs_job_id *id, rs_earlier *earlier, rs_progress *done,
                                     resplit_error *err)
{
    output->array = NULL;
    output->site = (rs_site){.path = path, .folder = true, .group = true, .overwrite = overwrite};
    return begin_at(output, source, resume, id, NULL, earlier, done, err);
}
