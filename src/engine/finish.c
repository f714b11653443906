/* SPDX-License-Identifier: BSD-3-Clause */
/* finish.c - partitions become one array: all are there, they are of one job, and their sums add up. */
#include "engine/part.h"
#include "engine/parts.h"

#include "geometry/fingerprint.h"

#include <string.h>
#include <unistd.h>

enum { MOST_NAMED = 12 }; /* of the partitions that are missing */

/* ---- Adding up ------------------------------------------------------------------------------- */

static void add_up(rs_done *total, const rs_done *one)
{
    resplit_cost *sum = &total->cost;
    const resplit_cost *cost = &one->cost;
    total->fingerprint = rs_fingerprint_add(total->fingerprint, one->fingerprint);
    total->verbatim |= one->verbatim;
    sum->read_seeks += cost->read_seeks;
    sum->write_seeks += cost->write_seeks;
    sum->bytes_read += cost->bytes_read;
    sum->bytes_written += cost->bytes_written;
    sum->temp_bytes += cost->temp_bytes;
    sum->held_bytes = rs_max(sum->held_bytes, cost->held_bytes);
    sum->peak_bytes = rs_max(sum->peak_bytes, cost->peak_bytes);
    total->stored_read += one->stored_read;
    total->stored_written += one->stored_written;
    total->losses.n_values += one->losses.n_values;
    total->losses.n_out_of_range += one->losses.n_out_of_range;
    total->losses.n_not_a_number += one->losses.n_not_a_number;
    total->losses.n_rounded += one->losses.n_rounded;
}

/* What a partition did is what this version of resplit would have it do: else some may lie between two. */
static resplit_status check_box(const rs_division *division, const rs_done *done, resplit_error *err)
{
    rs_share share = rs_partition_find(division, done->number);
    size_t n = (size_t)division->problem->ndim * sizeof share.box.lo[0];
    bool same = memcmp(share.box.lo, done->box.lo, n) == 0 && memcmp(share.box.hi, done->box.hi, n) == 0;
    return same ? RESPLIT_OK
                : rs_fail(err, RESPLIT_EFORMAT,
                          "partition %lld of %lld was cut otherwise, by another version of resplit: run it again",
                          (long long)done->number + 1, (long long)done->n);
}

typedef struct missing {
    int64_t n;
    rs_text names;
} missing;

static resplit_status add_missing(missing *m, int64_t number, resplit_error *err)
{
    return m->n++ < MOST_NAMED ? rs_text_add(&m->names, err, "%s%lld", m->n > 1 ? ", " : "", (long long)number + 1)
                               : RESPLIT_OK;
}

static resplit_status gather(const rs_output *output, const rs_division *division, rs_done *total, missing *m,
                             resplit_error *err)
{
    int64_t elements = 0;
    for (int64_t i = 0; i < division->n; i++) {
        rs_done done;
        bool complete;
        RS_TRY(rs_parts_read_done(output, i, division->n, &done, &complete, err));
        if (!complete) {
            RS_TRY(add_missing(m, i, err));
            continue;
        }
        RS_TRY(check_box(division, &done, err));
        elements += rs_box_volume(division->problem->ndim, &done.box);
        add_up(total, &done);
    }
    if (m->n > 0) {
        return rs_fail(err, RESPLIT_EINVAL, "partition%s %s%s of %lld %s not complete: run %s, then finish",
                       m->n > 1 ? "s" : "", m->names.s, m->n > MOST_NAMED ? " and more" : "", (long long)division->n,
                       m->n > 1 ? "are" : "is", m->n > 1 ? "them" : "it");
    }
    return elements == division->problem->n_elements
               ? RESPLIT_OK
               : rs_fail(err, RESPLIT_EINTERNAL, "partitions have %lld elements of %lld", (long long)elements,
                         (long long)division->problem->n_elements);
}

/* ---- Finishing ------------------------------------------------------------------------------- */

/* Values that nobody saw as they are now have no fingerprint, or that which they had. */
static uint64_t fingerprint_of(const resplit_array *array, const resplit_array *source, const rs_done *total)
{
    bool all = array->info.n_elements == source->info.n_elements;
    if (total->verbatim != 0) {
        return all ? source->fingerprint : 0;
    }
    return array->cast.kind == RS_CAST_VALUES || !rs_chain_is_lossless(&array->chain)
               ? 0
               : rs_fingerprint_finish(total->fingerprint, array->dtype.descr, array->layout.ndim, array->info.shape);
}

/* What is at the target has the mark of this job. A file has none. */
static bool was_finished(const rs_output *output, const rs_job_id *whole, int64_t n)
{
    return output->site.folder && (uint32_t)rs_manifest_token(output->site.path) == rs_parts_mark(whole, n);
}

/* Only the part is left to remove. */
static resplit_status end_part(const rs_output *output, rs_done *total, resplit_error *err)
{
    total->fingerprint = output->site.folder ? rs_manifest_fingerprint(output->site.path) : 0;
    RS_TRY(rs_part_move_head(output, err));
    rs_part_remove(output, true);
    return RESPLIT_OK;
}

/* With the door. */
static resplit_status finish(rs_output *output, const resplit_array *source, const rs_division *division,
                             const rs_job_id *whole, rs_done *total, resplit_error *err)
{
    rs_job_id found;
    int64_t n;
    missing m = {.n = 0};
    RS_TRY(rs_part_restore(output, err));
    RS_TRY(rs_parts_read(output, &found, &n, err));
    if (n == 0) {
        return was_finished(output, whole, division->n)
                   ? end_part(output, total, err)
                   : rs_fail(err, RESPLIT_EINVAL, "there are no partitions in '%s' to finish", output->part);
    }
    RS_TRY(rs_parts_compare(output, whole, division->n, &found, n, err));
    output->token = found.token;
    if (rs_part_was_published(output, found.token)) {
        return end_part(output, total, err);
    }
    RS_TRY(rs_part_check_free(output, err));
    resplit_status rc = gather(output, division, total, &m, err);
    rs_text_release(&m.names);
    if (rc == RESPLIT_OK && !rs_array_is_sharded(output->array)) {
        rc = rs_array_seal(output->array, output->data, (rs_file_range){NULL, NULL}, NULL, NULL, err);
    }
    if (rc == RESPLIT_OK) {
        total->fingerprint = fingerprint_of(output->array, source, total);
        rc = rs_output_publish(output, total->fingerprint, err);
    }
    return rc;
}

resplit_status rs_parts_finish(const resplit_array *array, const resplit_array *source, const rs_division *division,
                               const rs_job_id *whole, rs_sync sync, rs_done *total, resplit_error *err)
{
    rs_output output = RS_NO_OUTPUT;
    int door;
    *total = (rs_done){.n = division->n};
    output.array = array;
    output.sync = sync;
    output.shared = true;
    output.site = (rs_site){.path = array->path, .folder = array->info.folder, .overwrite = array->overwrite};
    RS_TRY(rs_output_part(array->path, output.part, err));
    RS_TRY(rs_path_join(output.part, RS_DATA_NAME, output.data, err));
    if (!rs_part_is_there(output.part)) {
        bool done = was_finished(&output, whole, division->n);
        total->fingerprint = done ? rs_manifest_fingerprint(array->path) : 0;
        return done ? RESPLIT_OK
                    : rs_fail(err, RESPLIT_EINVAL, "there is nothing to finish: '%s' is not there", output.part);
    }
    resplit_status rc = rs_parts_enter(&output, &door, err);
    if (rc == RESPLIT_OK) {
        rc = finish(&output, source, division, whole, total, err);
        (void)close(door);
    }
    rs_output_abandon(&output, true);
    return rc;
}
