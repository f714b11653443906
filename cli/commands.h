/* SPDX-License-Identifier: BSD-3-Clause */
/* commands.h - what the table in main.c points to. Each returns a cli_exit; failures have their sentence in `err`. */
#ifndef RS_CLI_COMMANDS_H
#define RS_CLI_COMMANDS_H

#include "options.h"

struct cli_job;

/* SRC is opened and DST described, as the command wants them. */
int cli_open_both(const struct cli_args *args, struct cli_job *job, resplit_error *err);

int cli_cmd_resplit(const struct cli_args *args, resplit_error *err);
int cli_cmd_plan(const struct cli_args *args, resplit_error *err);
int cli_cmd_run(const struct cli_args *args, resplit_error *err);
int cli_cmd_finish(const struct cli_args *args, resplit_error *err);
int cli_cmd_info(const struct cli_args *args, resplit_error *err);
int cli_cmd_fingerprint(const struct cli_args *args, resplit_error *err);
int cli_cmd_verify(const struct cli_args *args, resplit_error *err);
int cli_cmd_bench_disk(const struct cli_args *args, resplit_error *err);

#endif
