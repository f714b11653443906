/* SPDX-License-Identifier: BSD-3-Clause */
/* group.h - what the commands do with a whole Zarr group: for each of its arrays what they do for one. */
#ifndef RS_CLI_GROUP_H
#define RS_CLI_GROUP_H

#include "job.h"

/* Does something with one array, which is open; its name is in the list, into which JSON goes. */
typedef int cli_visit(const struct cli_args *args, const char *name, const struct cli_job *job, struct cli_list *list,
                      void *payload, resplit_error *err);

/* For all arrays of the group at the first word; prints the list when JSON is wanted. */
int cli_group_each(const struct cli_args *args, cli_visit *visit, void *payload, resplit_error *err);

/* `resplit SRC DST` of a group. */
int cli_group_resplit(const struct cli_args *args, resplit_error *err);

/* The same sentence, about one array of a group; what else is in `err` stays. */
void cli_group_name_it(const char *name, resplit_error *err);

#endif
