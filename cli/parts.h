/* SPDX-License-Identifier: BSD-3-Clause */
/* parts.h - arrays that are made in partitions: what that costs, and what became of it. */
#ifndef RS_CLI_PARTS_H
#define RS_CLI_PARTS_H

#include "job.h"

/* Plans all partitions of a job (--parts), and prints what they come to. */
int cli_parts_report(const struct cli_job *job, const struct cli_options *options, resplit_error *err);

/* Says that all partitions of a job are one array now. */
int cli_parts_finished(const struct cli_job *job, const struct cli_options *options, const resplit_result *done,
                       resplit_error *err);

#endif
