/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parse.h - what a user writes after an option, turned into values.
 *
 * Pure and total: every text gives either a value or one sentence that says what to write instead; no I/O, no
 * overflow, nothing read outside the text. Only cli_parse_chunks allocates.
 *
 *     "1.5GiB"        -> 1610612736
 *     "64,-1,10+20"   -> {64}, {-1}, {count 2: 10, 20}
 *     "10:20,:,-5"    -> {start 10, stop 20}, {}, {index -5}   -- resolved later, against a shape
 */
#ifndef RS_CLI_PARSE_H
#define RS_CLI_PARSE_H

#include "resplit.h"

#if defined(__GNUC__)
#define CLI_PRINTF(format_at, args_at) __attribute__((format(printf, format_at, args_at)))
#else
#define CLI_PRINTF(format_at, args_at)
#endif

struct cli_shape {
    int ndim; /* 0: not given */
    int64_t extent[RESPLIT_MAX_NDIM];
};

struct cli_chunks {
    int ndim; /* 0: not given */
    resplit_chunks axis[RESPLIT_MAX_NDIM];
    int64_t *lengths; /* owned: what the uneven axes point to */
};

/* One axis of a region as it was written; a bound that was left out has its `has_` false. */
struct cli_slice {
    bool has_start;
    bool has_stop;
    bool is_index; /* "5": start only, means 5:6 */
    int64_t start;
    int64_t stop;
};

enum { CLI_MOST_PARTS = 1 << 20 };

struct cli_part {
    int64_t part, n; /* 0: not given */
};

struct cli_roi {
    int ndim; /* 0: not given */
    struct cli_slice axis[RESPLIT_MAX_NDIM];
};

/* Writes the sentence, sets the code, returns false: `return cli_fail(err, RESPLIT_EINVAL, "...")`. */
bool cli_fail(resplit_error *err, resplit_status code, const char *format, ...) CLI_PRINTF(3, 4);

/* A whole number from 1 to 1024. */
bool cli_parse_count(const char *text, int64_t *count, resplit_error *err);

/* "3/16": partition 3 of 16. And how many, up to a million. */
bool cli_parse_part(const char *text, struct cli_part *out, resplit_error *err);
bool cli_parse_parts(const char *text, int64_t *count, resplit_error *err);

bool cli_parse_size(const char *text, int64_t *bytes, resplit_error *err);
bool cli_parse_shape(const char *text, struct cli_shape *out, resplit_error *err);

/* "256,256,-1": -1 is the whole axis. */
bool cli_parse_shards(const char *text, struct cli_shape *out, resplit_error *err);

/* `out` is zeroed or holds an earlier result, which is released first. */
bool cli_parse_chunks(const char *text, struct cli_chunks *out, resplit_error *err);
void cli_chunks_release(struct cli_chunks *chunks);

bool cli_parse_roi(const char *text, struct cli_roi *out, resplit_error *err);

/*
 * The region inside an array, by NumPy's rules: negative counts from the end, slices are clipped to the axis, an index
 * must lie in it. A region without elements is refused.
 */
bool cli_roi_resolve(const struct cli_roi *roi, int ndim, const int64_t *shape, int64_t *start, int64_t *stop,
                     resplit_error *err);

#endif
