/* SPDX-License-Identifier: BSD-3-Clause */
/* parts.h - arrays that are made in partitions: what that costs, and what became of it. */
#ifndef RS_CLI_PARTS_H
#define RS_CLI_PARTS_H

#include "job.h"

/* Plans all partitions of a job (--parts), and prints what they come to. */
int cli_parts_report(const struct cli_job *job, const struct cli_options *options, resplit_error *err);

/* Says that all `n` partitions of a job are one array now; ranks: that made them just now, 0: others did. */
int cli_parts_finished(const struct cli_job *job, const struct cli_options *options, int64_t n, int ranks,
                       const resplit_result *done, resplit_error *err);

#endif
