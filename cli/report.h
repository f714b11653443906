/* SPDX-License-Identifier: BSD-3-Clause */
/* report.h - results, for people (report.c) and for programs (json.c). Everything here goes to stdout. */
#ifndef RS_CLI_REPORT_H
#define RS_CLI_REPORT_H

#include "choices.h"
#include "jsonout.h"
#include "resplit.h"

#define CLI_BYTES_TEXT 32

/* A plan, and what became of it. Borrows everything. */
struct cli_result {
    const resplit_info *source;
    const resplit_info *target;
    const resplit_plan_summary *plan;
    const int64_t *roi_start; /* NULL: the whole source */
    const int64_t *roi_stop;
    const resplit_result *done;            /* NULL: not run */
    const struct cli_proposal *proposal;   /* NULL: the chunks were given */
    const struct cli_choices *choices;     /* NULL: nothing to compare with */
    const struct cli_neighbour *neighbour; /* the same */
};

/* The length by which an axis is evenly cut (the last block may be shorter), or 0 when its lengths are uneven. */
int64_t cli_even_length(const resplit_chunks *axis, int64_t extent);

/* Blocks are more than their elements one after the other: codecs, shards, some missing. */
bool cli_is_encoded(const resplit_info *info);

/* Bytes of what a run makes: the target, or a partition of it. */
int64_t cli_moved_bytes(const struct cli_result *result);

/* Values that a cast changed, one way or another. */
int64_t cli_n_changed(const resplit_losses *losses);

/* "5.8 GiB". */
void cli_format_bytes(int64_t bytes, char out[CLI_BYTES_TEXT]);

/* "21,175,125". */
void cli_format_count(int64_t count, char out[CLI_BYTES_TEXT]);

/* "12.3 ms", "5 min 12 s". */
void cli_format_seconds(double seconds, char out[CLI_BYTES_TEXT]);

void cli_report_result(const struct cli_result *result);
void cli_report_info(const resplit_info *info);
void cli_report_fingerprint(const resplit_info *info, uint64_t fingerprint);
/* needed: memory that it takes to say where; 0: that is known. */
void cli_report_difference(const resplit_info *info, const resplit_difference *difference, int64_t needed);
void cli_report_disk(const char *folder, const resplit_disk *disk);

/* One array of several, in one line. */
void cli_report_line(const char *name, const resplit_info *info);
void cli_report_change(const char *name, const struct cli_result *result);

/* Results of several arrays, to be printed as one object. Zero-initialised, but for the name. */
struct cli_list {
    const char *name; /* of the array at hand */
    struct cli_out arrays;
};

/* Print one object and a newline, or with a list put it there, or print nothing and return false. */
bool cli_json_result(const struct cli_result *result, struct cli_list *list, resplit_error *err);
bool cli_json_info(const resplit_info *info, struct cli_list *list, resplit_error *err);
bool cli_json_fingerprint(const resplit_info *info, uint64_t fingerprint, struct cli_list *list, resplit_error *err);
bool cli_json_difference(const resplit_info *info, const resplit_difference *difference, int64_t needed,
                         struct cli_list *list, resplit_error *err);
bool cli_json_note(const char *key, struct cli_list *list, resplit_error *err); /* this is true of it */

/* Prints the list, and what all of it comes to; `equal` may be NULL. */
bool cli_json_list(struct cli_list *list, const char *path, const bool *equal, resplit_error *err);
void cli_list_release(struct cli_list *list);
bool cli_json_disk(const char *folder, const resplit_disk *disk, resplit_error *err);

/* Members of an object: a cost, a fingerprint. And prints what is whole, and releases it. */
void cli_json_cost(struct cli_out *out, const char *key, const resplit_cost *cost);
void cli_json_digits(struct cli_out *out, uint64_t fingerprint);
bool cli_json_print(struct cli_out *out, resplit_error *err);

/* "0:100, 50:100" */
void cli_print_box(int ndim, const int64_t *start, const int64_t *shape);

/* ---- explain.c, json_explain.c: the parts of a result that help to decide ---- */

void cli_explain_device(const resplit_device *device);
void cli_explain_choices(const struct cli_choices *choices);
void cli_explain_curve(const struct cli_choices *choices);
void cli_explain_neighbour(const struct cli_neighbour *neighbour);

void cli_json_explain(struct cli_out *out, const struct cli_result *result);

#endif
