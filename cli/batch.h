/* SPDX-License-Identifier: BSD-3-Clause */
/* batch.h - the memory to use when the user does not say: a share of what this machine and this job have. */
#ifndef RS_CLI_BATCH_H
#define RS_CLI_BATCH_H

#include <stdint.h>

/*
 * Half of the available memory, in bytes; 0 when nobody can tell. `source` receives what it is half of, as
 * "what is available" or "SLURM_MEM_PER_NODE".
 */
int64_t cli_memory_default(const char **source);

#endif
