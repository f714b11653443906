/* SPDX-License-Identifier: BSD-3-Clause */
/* advice.h - target blocks that are cheap to make: proposed for --chunks auto, or near the ones that were asked for. */
#ifndef RS_CLI_ADVICE_H
#define RS_CLI_ADVICE_H

#include "job.h"

/*
 * With --chunks auto: finds lengths by planning for the most promising ones, tells them on stderr, and sets *chunks to
 * job->proposal. Else nothing. `path` is the target's, NULL for none. Returns a cli_exit.
 */
int cli_advise_chunks(struct cli_job *job, const char *path, const struct cli_options *options,
                      const struct cli_chunks **chunks, resplit_error *err);

/* What a shape near the target's would save, if that is worth a sentence. Needs a plan. Returns a cli_exit. */
int cli_advise_neighbour(const struct cli_job *job, const struct cli_options *options, struct cli_neighbour *out,
                         resplit_error *err);

#endif
