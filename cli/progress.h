/* SPDX-License-Identifier: BSD-3-Clause */
/* progress.h - a bar on the terminal, and the keys that stop a run. */
#ifndef RS_CLI_PROGRESS_H
#define RS_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct cli_progress {
    bool visible;
    int n_drawn;       /* characters on the line now           */
    double start;      /* seconds, as cli_now                  */
    double last_drawn; /* the same                             */
};

/* Seconds since some fixed moment. */
double cli_now(void);

/* From here on Ctrl-C asks the run to stop (a second one kills). The bar appears if stderr is a terminal. */
void cli_progress_begin(struct cli_progress *progress, bool is_wanted);

/* The callback of resplit_run_options; payload is a struct cli_progress. */
int cli_progress_step(int64_t done_bytes, int64_t total_bytes, int64_t memory_in_use, void *payload);

/* Wipes the bar. */
void cli_progress_end(struct cli_progress *progress);

#endif
