/* SPDX-License-Identifier: BSD-3-Clause */
/* report_parts.h - what reports of arrays and of runs have in common. */
#ifndef RS_CLI_REPORT_PARTS_H
#define RS_CLI_REPORT_PARTS_H

#include "resplit.h"

void cli_print_shape(int ndim, const int64_t *shape);
void cli_print_chunks(int ndim, const resplit_chunks *chunks, const int64_t *shape);
void cli_print_grid(const resplit_info *info);
void cli_print_notes(const resplit_info *info);
void cli_print_array(const char *label, const resplit_info *info);
void cli_print_ratio(int64_t bytes, int64_t stored);

#endif
